// SPDX-License-Identifier: GPL-2.0
/*
 * When the next packet of a socket may leave.  Only this file of the module writes TCP's earliest
 * departure time (tcp_wstamp_ns) and sk_pacing_status; TCP's pacing timer does the rest.  There are
 * three constraints:
 *
 *   link    the sender's link has sent the previous packet (link_free_ns).  Otherwise a window
 *           that opens at once would queue in the NIC, where no SRC can take it back, and RTTs
 *           measured from t_data_tx would include that queue
 *   gap     with a window below one packet snd_cwnd stays at 1, and a packet leaves every rtt /
 *           cwnd (gap_end_ns).  If the window changes while the next packet waits, so does that
 *   pause   SFC's, of any TCP socket (struct bolt_pause_edt)
 *
 * The departure time is the latest of the three and of TCP's own, which SO_MAX_PACING_RATE or
 * another congestion control may have set since.
 *
 * TCP stamps all packets with this time, also ACKs and retransmits, which are not delayed by a gap
 * or a pause.  A time in the future must then be replaced in three places (TCP_TX_DELAY comes on
 * top, only in skb->tstamp):
 *
 *   skb->tstamp  fq would hold the packet
 *   TSval        a later packet may depart earlier, since the window has grown or a shorter pause
 *                has replaced this one.  It would carry an older TSval, and the peer would drop it
 *                (PAWS, RFC 7323)
 *   the stamp of a retransmitted segment in the retransmit queue.  The echo of its TSval would look
 *                older, so TCP would take the retransmit for spurious and undo it (RFC 3522)
 *
 * Context: socket locked, or its spinlock held while no user owns it.
 */

#include "bolt.h"

/* The segment in flight that holds @seq, or NULL */
struct sk_buff *bolt_sent_segment(const struct sock *sk, u32 seq)
{
	struct rb_node *node = sk->tcp_rtx_queue.rb_node;
	struct sk_buff *skb;

	while (node) {
		skb = rb_to_skb(node);
		if (!before(seq, TCP_SKB_CB(skb)->seq) && before(seq, TCP_SKB_CB(skb)->end_seq))
			return skb;
		node = before(seq, TCP_SKB_CB(skb)->seq) ? node->rb_left : node->rb_right;
	}
	return NULL;
}

/* --- packets that are not delayed by a gap or a pause (ACKs, retransmits) --- */

/* A timestamp in the unit of this connection's TSval */
u32 bolt_tsval(const struct sock *sk, u64 ns)
{
	/* for softirq, while a user owns the socket and may change other bits beside it */
	bool us = data_race((bool)bolt_tcp_usec_ts(tcp_sk(sk)));

	return div_u64(ns, us ? NSEC_PER_USEC : NSEC_PER_MSEC);
}

static void bolt_fix_tsval(const struct sock *sk, struct tcphdr *th, u64 stamp_ns, u64 now_ns)
{
	u32 by = bolt_tsval(sk, stamp_ns) - bolt_tsval(sk, now_ns);
	u8 *opt = (u8 *)(th + 1);
	unsigned int off;

	/* not where a signature covers it; the checksum is computed later */
	if (!bolt_sk_is_signed(sk) &&
	    bolt_opt_seek(opt, th->doff * 4 - sizeof(*th), TCPOPT_TIMESTAMP, &off) ==
	    TCPOLEN_TIMESTAMP)
		put_unaligned_be32(get_unaligned_be32(opt + off + 2) - by, opt + off + 2);
}

/* Stamp the packet as if there was no gap or pause. */
static void bolt_tx_bypass_edt(struct sk_buff *skb, struct sock *sk, struct tcphdr *th, bool data,
			       u64 now_ns)
{
	u64 stamp_ns = bolt_skb_stamp_ns(sk, skb);
	struct sk_buff *sent;

	/* done already: a VRF calls LOCAL_OUT twice */
	if (stamp_ns <= now_ns)
		return;
	bolt_fix_tsval(sk, th, stamp_ns, now_ns);
	/* a retransmit: the segment that this packet was cloned from */
	sent = data ? bolt_sent_segment(sk, ntohl(th->seq)) : NULL;
	if (sent)
		sent->skb_mstamp_ns = now_ns;
	bolt_skb_leaves_now(skb);
}

/* Have TCP try to send at @when, instead of when its pacing timer was set to. */
void bolt_pacing_timer(struct sock *sk, u64 when)
{
	struct hrtimer *timer = &tcp_sk(sk)->pacing_timer;
	int ret = hrtimer_try_to_cancel(timer);

	/*
	 * It runs, has sent a packet, and is queued again.  That holds a reference on the socket,
	 * and when it runs TCP looks at the departure time.
	 */
	if (ret < 0 && hrtimer_is_queued(timer))
		return;
	/* so did the one that was removed now */
	if (ret != 1)
		sock_hold(sk);
	hrtimer_start(timer, ns_to_ktime(when), HRTIMER_MODE_ABS_PINNED_SOFT);
}

/*
 * The departure time that TCP alone would choose.  After our hook TCP adds the packet's time at
 * SO_MAX_PACING_RATE to the stamp, which is ours by then: count that from the packet's departure.
 * TCP first takes off how far the stamp has moved, at most half of the time: give our move back.
 */
static u64 bolt_tcp_departure(const struct sock *sk, const struct bolt_flow *f)
{
	u64 stamp_ns = tcp_sk(sk)->tcp_wstamp_ns, added_ns = stamp_ns - f->wstamp_ns;

	return f->wstamp_ns ? f->last_tx_ns + added_ns + min(added_ns, f->our_move_ns) : stamp_ns;
}

static u64 bolt_flow_departure(const struct bolt_flow *f)
{
	return max(f->link_free_ns, f->gap_end_ns);
}

/* During a pause: the departure time that would apply without it */
static u64 bolt_departure_without_pause(const struct bolt_flow *f)
{
	return max(f->pause.edt.own_ns, bolt_flow_departure(f));
}

/* A constraint has changed.  If @waits, data is queued: restart the pacing timer. */
static void bolt_move_departure(struct sock *sk, struct bolt_flow *f, bool waits)
{
	u64 tcp_ns = bolt_tcp_departure(sk, f), next_ns = max(tcp_ns, bolt_flow_departure(f));

	if (f->pause.edt.armed)
		next_ns = max(f->pause.edt.until_ns, bolt_departure_without_pause(f));
	if (next_ns == tcp_sk(sk)->tcp_wstamp_ns)
		return;
	/* what TCP has added stays the difference */
	if (f->wstamp_ns) {
		f->wstamp_ns = next_ns - (tcp_ns - f->last_tx_ns);
		f->our_move_ns = 0;
	}
	tcp_sk(sk)->tcp_wstamp_ns = next_ns;
	if (waits)
		bolt_pacing_timer(sk, next_ns);
}

/* --- link and gap --- */

/* Bytes of a packet of TCP on a link with @link_bytes besides IP, when it has been segmented */
u32 bolt_wire_bytes(const struct sk_buff *skb, u32 link_bytes)
{
	u32 len = skb->len + link_bytes;

	if (skb_is_gso(skb))
		len += (skb_shinfo(skb)->gso_segs - 1) * (skb_tcp_all_headers(skb) + link_bytes);
	return len;
}

/* Change sk_pacing_status, or during a pause its saved value, from @old to @new. */
static bool bolt_pacing_change(struct sock *sk, struct bolt_flow *f, u32 old, u32 new)
{
	u32 *status = f->pause.edt.armed ? &f->pause.edt.status : &sk->sk_pacing_status;

	return cmpxchg(status, old, new) == old;
}

/* LOCAL_OUT: a data packet departs at f->last_tx_ns.  Set the earliest departure of the next. */
void bolt_depart(struct sock *sk, struct bolt_flow *f, const struct sk_buff *skb)
{
	u32 tx_ns = bolt_core_tx_ns(bolt_wire_bytes(skb, f->link_bytes), f->nic_kbps, &f->tx_frac);

	if (f->nic_kbps)
		f->link_free_ns = bolt_core_next_tx(f->link_free_ns, f->last_tx_ns, tx_ns);
	f->gap_end_ns = f->gap_ns ? f->last_tx_ns + f->gap_ns : 0;
	if (f->gap_ns)
		BOLT_INC_STATS(f->bn, BelowTx);
	/*
	 * fq sets it with a flow that is new to it, and nobody takes it back when another qdisc
	 * replaces fq.  The next congestion control keeps it: fq may not set it again.
	 */
	if (READ_ONCE(sk->sk_pacing_status) == SK_PACING_FQ && !f->pause.edt.armed &&
	    bolt_pacing_change(sk, f, SK_PACING_FQ, SK_PACING_NEEDED))
		f->pacing_ours = 0;
	f->wstamp_ns = max(tcp_sk(sk)->tcp_wstamp_ns, bolt_flow_departure(f));
	f->our_move_ns = f->wstamp_ns - tcp_sk(sk)->tcp_wstamp_ns;
	tcp_sk(sk)->tcp_wstamp_ns = f->wstamp_ns;
}

/* Move the end of the gap, if the next packet waits for one; 0: it does not wait any more. */
void bolt_move_gap(struct sock *sk, struct bolt_flow *f, u64 end_ns)
{
	if (likely(!f->gap_end_ns))
		return;
	f->gap_end_ns = end_ns;
	bolt_move_departure(sk, f, sk->sk_state != TCP_CLOSE && tcp_send_head(sk));
}

/*
 * LOCAL_OUT: any packet during a gap, except data that fq has to hold.  Also behind its end: what
 * TCP has added there may be taken back.
 */
void bolt_tx_bypass_gap(struct sock *sk, struct bolt_flow *f, struct sk_buff *skb,
			struct tcphdr *th, bool data)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!(data && READ_ONCE(sk->sk_pacing_status) == SK_PACING_FQ))
		bolt_tx_bypass_edt(skb, sk, th, data, tp->tcp_clock_cache);
}

void bolt_pacing_begin(struct sock *sk, struct bolt_flow *f)
{
	f->pacing_ours = bolt_pacing_change(sk, f, SK_PACING_NONE, SK_PACING_NEEDED);
}

/*
 * Another congestion control takes over: queued data may leave as soon as the link is free.  With a
 * departure time left in the future, packets would be stamped with it, and the next congestion
 * control would compute wrong RTTs.
 */
void bolt_pacing_end(struct sock *sk, struct bolt_flow *f)
{
	bolt_move_gap(sk, f, 0);
	/* keep it for a pause that ends early: the flow's own constraints are cleared */
	f->pause.edt.own_ns = bolt_departure_without_pause(f);
	f->link_free_ns = 0;
	f->wstamp_ns = 0;
	/* SO_MAX_PACING_RATE needs it as well */
	if (f->pacing_ours && READ_ONCE(sk->sk_max_pacing_rate) == ~0UL)
		bolt_pacing_change(sk, f, SK_PACING_NEEDED, SK_PACING_NONE);
}

/* --- a pause --- */

/* Make TCP obey departure times. */
void bolt_pause_edt_force(struct sock *sk)
{
	/* pairs with the acquire in tcp_needs_internal_pacing() */
	smp_store_release(&sk->sk_pacing_status, SK_PACING_NEEDED);
}

/* A pause begins, or its end changes; 0: it is over. */
void bolt_pause_edt_set(struct sock *sk, struct bolt_flow *f, u64 until_ns)
{
	struct bolt_pause_edt *e = &f->pause.edt;

	if (!e->armed) {
		e->own_ns = bolt_tcp_departure(sk, f);
		e->status = READ_ONCE(sk->sk_pacing_status);
		e->ops = inet_csk(sk)->icsk_ca_ops;
		e->armed = 1;
	}
	/* a signed TSval cannot be fixed: never depart earlier than one already sent */
	if (bolt_sk_is_signed(sk))
		e->own_ns = max(e->own_ns, tcp_sk(sk)->tcp_wstamp_ns);
	e->until_ns = until_ns;
	bolt_pause_edt_force(sk);
	bolt_move_departure(sk, f, tcp_send_head(sk) || !tcp_rtx_queue_empty(sk));
}

/* The pause is over, or was cancelled: restore sk_pacing_status. */
void bolt_pause_edt_release(struct sock *sk, struct bolt_pause_edt *e)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;

	if (!e->armed)
		return;
	e->armed = 0;
	if (e->status == SK_PACING_NEEDED)
		return;
	/*
	 * Needed by now: SO_MAX_PACING_RATE is set, or a congestion control that paces.  The module
	 * of a closed socket's may be unloaded.
	 */
	if (e->status == SK_PACING_NONE &&
	    (READ_ONCE(sk->sk_max_pacing_rate) != ~0UL ||
	     (ops != e->ops && (sk->sk_state == TCP_CLOSE || ops->cong_control))))
		return;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED, e->status);
}

/* LOCAL_OUT: an ACK or a retransmit during a pause */
void bolt_tx_bypass_pause(struct sock *sk, const struct bolt_flow *f, struct sk_buff *skb,
			  struct tcphdr *th, bool data)
{
	bolt_tx_bypass_edt(skb, sk, th, data,
			   max(tcp_sk(sk)->tcp_clock_cache, bolt_departure_without_pause(f)));
}
