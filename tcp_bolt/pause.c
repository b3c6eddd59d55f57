// SPDX-License-Identifier: GPL-2.0
/*
 * SFC at the sender: a BTS pauses the flow it quotes ("Source Flow Control", section 3.3).  And
 * SRCC: a CNM limits the rate of the flow it quotes (cap.h), as if there was a pause behind each
 * packet.
 *
 * This works on any TCP socket, with any congestion control.  It uses TCP's own pacing: departure.c
 * sets the next departure to the end of the pause, and TCP's pacing timer resumes sending.  The
 * first data after the pause restores sk_pacing_status.
 *
 *   BTS -> control.c -> feedback.c
 *                          |  at once; while a user owns the socket, deferred to the next packet
 *                          |  sent or a work item
 *                       bolt_bts_apply()         computes the end of the pause (bolt_pause.h)
 *                       bolt_cnm_apply()         or the limit (cap.h)
 *                       bolt_pause_apply()       tells departure.c
 *   LOCAL_OUT -------------> bolt_pause_out()    refuses new data that bypassed the pacing check;
 *                                                stamps packets that must pass (ACK, RTO, probe,
 *                                                RST) as if there was no pause
 */

#include "bolt.h"
#include "bolt_msg.h"
#include "overhead.h"
#include "trace.h"

static void bolt_pause_conf(const struct bolt_net *bn, struct bolt_pause_conf *c)
{
	c->max_ns = READ_ONCE(bn->max_pause_us) * 1000ULL;
	c->interval_ns = READ_ONCE(bn->watchdog_interval_us) * 1000ULL;
	c->recovery_ns = READ_ONCE(bn->watchdog_recovery_us) * 1000ULL;
	c->pct = READ_ONCE(bn->watchdog_pct);
}

/* --- the socket.  Context: socket locked, or its spinlock held while no user owns it --- */

/* May the socket send data?  In other states tcp_wstamp_ns may be another connection's. */
bool bolt_pause_sends(const struct sock *sk)
{
	return (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_FIN_WAIT1 | TCPF_CLOSING |
				      TCPF_CLOSE_WAIT | TCPF_LAST_ACK);
}

/* Trace the end of a pause, once: with the first data after it, or when its state is dropped */
static void bolt_pause_trace_end(struct sock *sk, struct bolt_pause *p)
{
	u64 began_ns = p->unreported_ns, end_ns;

	if (!began_ns)
		return;
	p->unreported_ns = 0;
	end_ns = min(p->clock.until_ns, ktime_get_ns());
	trace_bolt_pause_end(sk, NULL, end_ns > began_ns ? end_ns - began_ns : 0);
}

static void bolt_pause_release(struct sock *sk, struct bolt_pause *p)
{
	bolt_pause_trace_end(sk, p);
	bolt_pause_edt_release(sk, &p->edt);
}

/* Give departure.c the current end of the pause, or of the gap behind the newest packet. */
static void bolt_pause_apply(struct sock *sk, struct bolt_flow *f)
{
	const struct bolt_pause *p = &f->pause;
	u64 until_ns = max(p->clock.until_ns, p->cap.next_ns);

	if (until_ns != p->edt.until_ns && bolt_pause_sends(sk))
		bolt_pause_edt_set(sk, f, until_ns);
}

/* Remaining ns for which the state is needed; 0: no pause, no watchdog interval, no limit */
u64 bolt_pause_left(struct sock *sk, struct bolt_flow *f)
{
	struct bolt_pause_conf conf;
	u64 now_ns = ktime_get_ns();

	bolt_pause_conf(f->bn, &conf);
	bolt_pause_apply(sk, f);
	return max(bolt_pause_keep(&f->pause.clock, &conf, now_ns),
		   bolt_cap_left(&f->pause.cap, now_ns));
}

/*
 * Cancel a pause and drop its state.  Data that a user who owns the socket is about to send still
 * waits for the end, and so does what a signed socket sends.  Context: socket's spinlock held
 */
void bolt_pause_end(struct sock *sk, struct bolt_flow *f)
{
	struct bolt_pause *p = &f->pause;

	if (p->edt.armed && !bolt_sk_is_owned(sk) && bolt_pause_sends(sk) &&
	    p->edt.until_ns > ktime_get_ns())
		bolt_pause_edt_set(sk, f, 0);
	bolt_pause_release(sk, p);
	memset(p, 0, sizeof(*p));
}

/* --- LOCAL_OUT.  Context: socket locked, RCU --- */

/* Changes with the ACK, and with the first block of a SACK, which is the newest (RFC 2018) */
static u32 bolt_pause_tells(const struct tcp_sock *tp, const struct tcphdr *th)
{
	const struct tcp_sack_block *b = &tp->selective_acks[0];

	return ntohl(th->ack_seq) + (tp->rx_opt.num_sacks ? b->start_seq + b->end_seq : 0);
}

/*
 * TCP takes an ACK for sent that was on a refused data packet.  Have the timer for compressed ACKs
 * send it (when the socket is released, if a user owns it).
 */
static void bolt_pause_ack(struct sock *sk)
{
	struct hrtimer *timer = &tcp_sk(sk)->compressed_ack_timer;

	tcp_sk(sk)->compressed_ack = 1;
	/* TCP may have queued it while its last run waited for the lock: that has a reference */
	if (hrtimer_is_queued(timer))
		return;
	sock_hold(sk);
	hrtimer_start(timer, 0, HRTIMER_MODE_REL_PINNED_SOFT);
}

/*
 * TCP has counted the refused packet, has told the peer with it that it heard ECE, or what came
 * twice, and may expect that the data of a reply acknowledges what comes: none of it has happened.
 */
static void bolt_pause_take_back(struct sock *sk, const struct bolt_flow *f,
				 const struct sk_buff *skb, const struct tcphdr *th)
{
	u32 payload = skb->len - skb_tcp_all_headers(skb);
	u16 segs = skb_shinfo(skb)->gso_segs;
	struct tcp_sock *tp = tcp_sk(sk);

	if (th->cwr)
		tp->ecn_flags |= TCP_ECN_QUEUE_CWR;
	/* TCP keeps the block */
	if (bolt_first_is_dsack((const u8 *)(th + 1), th->doff * 4 - sizeof(*th),
				ntohl(th->ack_seq)))
		tp->rx_opt.dsack = 1;
	if (f->reserved)
		inet_csk_exit_pingpong_mode(sk);
	if (payload) {
		WRITE_ONCE(tp->data_segs_out, tp->data_segs_out - segs);
		WRITE_ONCE(tp->bytes_sent, tp->bytes_sent - payload);
	}
	tp->segs_out -= segs;
	TCP_ADD_STATS(sock_net(sk), TCP_MIB_OUTSEGS, -(long)segs);
}

/* A data packet leaves: the limit, if there is one, puts a gap behind it. */
static void bolt_cap_out(struct sock *sk, struct bolt_flow *f, const struct sk_buff *skb)
{
	u64 now_ns = max(tcp_sk(sk)->tcp_clock_cache, bolt_skb_stamp_ns(sk, skb));

	if (!bolt_cap_kbps(&f->pause.cap, now_ns))
		return;
	/* the option is not in the packet yet */
	bolt_cap_sent(&f->pause.cap, now_ns,
		      bolt_wire_bytes(skb, (f->reserved ? BOLT_TCPOPT_LEN : 0) +
				      bolt_link_bytes(skb_dst(skb)->dev,
						      READ_ONCE(f->bn->overhead))));
	bolt_pause_apply(sk, f);
	BOLT_INC_STATS(f->bn, CnmTx);
}

/*
 * The socket connects again: pause and limit were another connection's, and delay no SYN, but a
 * signed one, whose TSval cannot be fixed.  Of a SYN with data (Fast Open), TCP's own copies keep
 * the stamp from the future: it writes it once more behind us, tcp_send_syn_data().
 */
static void bolt_pause_forget(struct sock *sk, struct bolt_flow *f, struct sk_buff *skb,
			      struct tcphdr *th)
{
	if (f->pause.edt.armed) {
		bolt_pause_edt_set(sk, f, 0);
		bolt_tx_bypass_pause(sk, f, skb, th, true);
	}
	bolt_pause_end(sk, f);
}

/*
 * A packet leaves a socket that may be paused.  Returns an NF verdict.
 *
 * New data gets here during a pause only if it bypassed TCP's pacing check: the BTS arrived while a
 * user owned the socket, fq has set sk_pacing_status to FQ (as it does with each packet that it
 * does not delay), or it is an MTU probe.  An error verdict leaves it at the head of TCP's queue.
 */
unsigned int bolt_pause_out(struct sock *sk, struct bolt_flow *f, struct sk_buff *skb,
			    struct tcphdr *th)
{
	bool data = th->fin || (u8 *)th + th->doff * 4 < skb->data + skb->len;
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bolt_pause *p = &f->pause;
	u32 told;

	if (th->syn) {
		if (!th->ack)
			bolt_pause_forget(sk, f, skb, th);
		return NF_ACCEPT;
	}
	told = p->told;
	p->told = bolt_pause_tells(tp, th);
	bolt_pause_apply(sk, f);
	if (!p->edt.armed || p->edt.until_ns <= tp->tcp_clock_cache) {
		if (data) {
			bolt_pause_release(sk, p);
			bolt_cap_out(sk, f, skb);
		}
		return NF_ACCEPT;
	}
	if (data) {
		if (!tcp_needs_internal_pacing(sk))
			bolt_pause_edt_force(sk);
		if (!before(ntohl(th->seq), tp->snd_nxt)) {
			bolt_pacing_timer(sk, tp->tcp_wstamp_ns);
			bolt_pause_take_back(sk, f, skb, th);
			if (p->told != told || tp->rx_opt.dsack)
				bolt_pause_ack(sk);
			p->told = told;
			return NF_DROP_ERR(-ENOBUFS);
		}
		BOLT_INC_STATS(f->bn, PausePassed);
	}
	bolt_tx_bypass_pause(sk, f, skb, th, data);
	if (data)
		bolt_cap_out(sk, f, skb);
	return NF_ACCEPT;
}

/* --- a BTS.  Context: socket locked, or its spinlock held while no user owns it --- */

enum bolt_mib_item bolt_bts_apply(struct sock *sk, struct bolt_flow *f, const struct bolt_msg *m,
				  u64 now_ns)
{
	struct bolt_pause *p = &f->pause;
	u64 old_ns = max(p->clock.until_ns, now_ns), left_ns, added_ns;
	struct bolt_pause_conf conf;
	enum bolt_pause_what what;
	struct bolt_net *bn = f->bn;

	if (!bolt_pause_active(&p->clock, now_ns))
		bolt_pause_trace_end(sk, p);
	bolt_pause_conf(bn, &conf);
	what = bolt_pause_set(&p->clock, &conf, now_ns, m->pause_ns);
	/* both wrap to a subtraction if the new end is earlier */
	added_ns = max(p->clock.until_ns, now_ns) - old_ns;
	BOLT_ADD_STATS(bn, PausedNs, added_ns);
	p->granted_ns += added_ns;
	if (what == BOLT_PAUSE_TRIPPED) {
		BOLT_INC_STATS(bn, WatchdogTrips);
		trace_bolt_watchdog(sk, m, 0);
		bolt_pause_apply(sk, f);
	}
	if (what == BOLT_PAUSE_TRIPPED || what == BOLT_PAUSE_IGNORED)
		return BOLT_MIB_BtsIgnored;

	left_ns = p->clock.until_ns - now_ns;
	BOLT_INC_STATS(bn, BtsRx);
	if (left_ns < m->pause_ns)
		BOLT_INC_STATS(bn, BtsClamped);
	p->asked_ns = m->pause_ns;
	p->switch_id = m->switch_id;
	p->from_cache = m->flags & BOLT_CTL_F_FROM_CACHE;
	if (what == BOLT_PAUSE_BEGUN) {
		BOLT_INC_STATS(bn, Pauses);
		WRITE_ONCE(p->begun, p->begun + 1);
		p->unreported_ns = now_ns;
		trace_bolt_pause_begin(sk, m, left_ns);
	} else {
		trace_bolt_pause_change(sk, m, left_ns);
	}
	bolt_pause_apply(sk, f);
	return BOLT_CTL_ACCEPTED;
}

void bolt_cnm_apply(struct sock *sk, struct bolt_flow *f, const struct bolt_msg *m, u64 now_ns)
{
	/* the flow's own round trip, without the queue that the CNM is about */
	u64 rtt_ns = (u64)tcp_min_rtt(tcp_sk(sk)) * NSEC_PER_USEC;
	const struct dst_entry *dst = __sk_dst_get(sk);
	struct bolt_cap *cap = &f->pause.cap;

	/* nothing has been acknowledged yet */
	if (tcp_min_rtt(tcp_sk(sk)) == ~0U)
		rtt_ns = NSEC_PER_MSEC;
	BOLT_INC_STATS(f->bn, CnmRx);
	bolt_cap_set(cap, now_ns, m->switch_id, m->target_rate, m->link_rate, rtt_ns);
	trace_bolt_cnm(sk, m, bolt_cap_left(cap, now_ns));
	/* the packet on its way is the first that a gap is behind */
	if (cap->next_ns < now_ns)
		bolt_cap_sent(cap, now_ns, bolt_pkt_bytes(sk) - ETH_HLEN +
			      (dst ? bolt_link_bytes(dst->dev, READ_ONCE(f->bn->overhead)) :
				     ETH_HLEN));
	bolt_pause_apply(sk, f);
}
