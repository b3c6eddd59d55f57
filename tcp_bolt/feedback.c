// SPDX-License-Identifier: GPL-2.0
/*
 * Verification of control messages about a connection.
 *
 * A message has to prove that its sender saw the packet that it quotes: it echoes a value from that
 * packet which an off-path attacker cannot guess.  With the Bolt option this is t_data_tx, in ns of
 * a clock with a random offset per connection; without it, TCP's timestamp (RFC 7323), whose offset
 * is secret as well.  Either is compared with the stamp of that segment in TCP's retransmit queue.
 * The quoted sequence number must be the start of a packet, so that one packet is answered by one
 * message.  Documentation/trust.rst says what an attacker can still do.
 *
 * The retransmit queue cannot be read while a user owns the socket.  A message that arrives then is
 * deferred, until a packet is sent, an ACK is processed or a work item runs, whichever is first.
 */

#include "bolt.h"
#include "trace.h"

/*
 * Deferred messages per socket: more than arrive while one packet is sent.  Those whose echo is
 * probably false may take a part of the places, so that they do not keep a true one out.
 */
#define BOLT_DEFERRED_MAX	64
#define BOLT_DEFERRED_DOUBTFUL	32

/* When a control message arrived, and snd_una at that time */
struct bolt_arrival {
	u64	ns;
	u32	snd_una;
};

struct bolt_deferred_msg {
	struct llist_node	node;
	struct bolt_arrival	arrival;
	struct bolt_msg		msg;
};

/* --- verification.  Context: socket locked, or its spinlock held while no user owns it --- */

static bool bolt_echoes(const struct sock *sk, const struct bolt_flow *f,
			const struct sk_buff *skb, const struct bolt_msg *m)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (f && f->speaks)
		return m->t_data_tx == bolt_wire_clock(f, skb->skb_mstamp_ns);
	if (tp->rx_opt.tstamp_ok)
		return m->t_data_tx == bolt_tsval(sk, skb->skb_mstamp_ns) + tp->tsoffset;
	/* the packet had nothing to echo: only a tag can prove the sender */
	return !m->t_data_tx && m->verified;
}

/*
 * While a message is deferred, its packet may be acknowledged and leave the retransmit queue.  The
 * ring of the newest departures still has it.
 */
static bool bolt_was_in_flight(const struct sock *sk, const struct bolt_flow *f,
			       const struct bolt_msg *m, const struct bolt_arrival *a)
{
	unsigned int i;
	u32 off;

	/* t_data_tx of 0 would match an unused entry */
	if (!f || !m->t_data_tx || before(m->seq, a->snd_una) ||
	    !before(m->seq, READ_ONCE(tcp_sk(sk)->snd_nxt)))
		return false;
	for (i = 0; i < BOLT_DEPARTURES; i++) {
		off = m->seq - READ_ONCE(f->sent.last[i].seq);
		if (READ_ONCE(f->sent.last[i].t_data_tx) == m->t_data_tx &&
		    off < GSO_LEGACY_MAX_SIZE)
			return off % READ_ONCE(tcp_sk(sk)->mss_cache) == 0;
	}
	return false;
}

/* Has the sender of a message seen a packet that was in flight when the message arrived? */
static enum bolt_mib_item bolt_verify_echo(const struct sock *sk, const struct bolt_flow *f,
					   const struct bolt_msg *m, const struct bolt_arrival *a)
{
	const struct sk_buff *skb = bolt_sent_segment(sk, m->seq);
	u32 off;

	if (!skb)
		return bolt_was_in_flight(sk, f, m, a) ? BOLT_CTL_ACCEPTED : BOLT_MIB_CtlSeq;
	/* a TSO burst is cut into packets of its MSS, each of which may be quoted */
	off = m->seq - TCP_SKB_CB(skb)->seq;
	if (off && (!tcp_skb_mss(skb) || off % tcp_skb_mss(skb)))
		return BOLT_MIB_CtlSeq;
	return bolt_echoes(sk, f, skb, m) ? BOLT_CTL_ACCEPTED : BOLT_MIB_CtlTime;
}

/*
 * Was the same message accepted before?  A packet is answered by at most one SRC, since DEC in it
 * keeps other switches from a second; by at most one CNM and one BTS of a switch, and one BTS from
 * its cache.  A retransmit may be answered again: an SRC has its stamp.
 */
static bool bolt_seen_before(const struct sock *sk, struct bolt_flow *f, const struct bolt_msg *m)
{
	struct bolt_seen new = { .seq = m->seq, .t_data_tx = m->t_data_tx };
	struct bolt_seen_ring *ring = &f->seen;
	unsigned int i;

	if (m->type != BOLT_CTL_SRC) {
		ring = &f->pause.seen;
		new.switch_id = m->switch_id;
		new.retrans = READ_ONCE(tcp_sk(sk)->total_retrans) + 1;	/* 0: unused entry */
		new.flags = m->type << 8 | (m->flags & BOLT_CTL_F_FROM_CACHE);
	}
	for (i = 0; i < ARRAY_SIZE(ring->last); i++)
		if (!memcmp(&ring->last[i], &new, sizeof(new)))
			return true;
	ring->last[ring->next++ % ARRAY_SIZE(ring->last)] = new;
	return false;
}

static void bolt_src_apply(struct sock *sk, struct bolt_flow *f, const struct bolt_controller *ctl,
			   const struct bolt_msg *m, u64 now_ns)
{
	u32 rtt_src_ns = min(bolt_wire_clock(f, now_ns) - m->t_data_tx, BOLT_RTT_SRC_MAX_NS);

	f->src = (struct bolt_last_src){
		.at_ns = now_ns,
		.queue_bytes = m->queue_bytes,
		.link_kbps = m->link_rate,
		.rtt_src_ns = rtt_src_ns,
		.switch_id = m->switch_id,
		.verdict = ctl->on_src(sk, f, now_ns, rtt_src_ns, m->queue_bytes, m->link_rate),
	};
	if (!(m->flags & BOLT_CTL_F_GRANTED))
		f->inc_room = max_t(s32, f->inc_room - 1, -f->cwnd);
	trace_bolt_src(sk, f);
}

static enum bolt_mib_item bolt_msg_apply(struct sock *sk, const struct bolt_msg *m,
					 const struct bolt_arrival *a)
{
	struct bolt_flow *f = bolt_flow_lookup(sk);
	const struct bolt_controller *ctl = bolt_flow_controller(f);
	enum bolt_mib_item item;

	if (m->type == BOLT_CTL_SRC && (!ctl || !ctl->on_src))
		return BOLT_MIB_CtlNotBolt;
	item = bolt_verify_echo(sk, f, m, a);
	if (item != BOLT_CTL_ACCEPTED)
		return item;
	if (m->type != BOLT_CTL_SRC)
		f = bolt_flow_get(sk, BOLT_FLOW_HELD | BOLT_FLOW_BTS);
	if (!f)
		return BOLT_MIB_NoMem;
	if (bolt_seen_before(sk, f, m))
		return BOLT_MIB_CtlReplay;
	if (m->type == BOLT_CTL_BTS)
		return bolt_bts_apply(sk, f, m, a->ns);
	if (m->type == BOLT_CTL_CNM)
		bolt_cnm_apply(sk, f, m, a->ns);
	else
		bolt_src_apply(sk, f, ctl, m, a->ns);
	return BOLT_CTL_ACCEPTED;
}

/*
 * Is the echo of @m that of a recent packet: one of the newest departures, or a TSval no older than
 * the RTO?  The owner may be sending meanwhile, so this is no verdict; bolt_verify_echo() is.
 */
static bool bolt_echo_is_recent(const struct sock *sk, const struct bolt_flow *f,
				const struct bolt_msg *m, const struct bolt_arrival *a)
{
	u64 rto_ns = jiffies_to_nsecs(READ_ONCE(inet_csk(sk)->icsk_rto));
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 oldest;

	if (m->verified)
		return true;
	/* beside the first, TCP changes other bits */
	if (READ_ONCE(f->speaks) || !data_race((bool)tp->rx_opt.tstamp_ok))
		return bolt_was_in_flight(sk, f, m, a);
	oldest = bolt_tsval(sk, a->ns - rto_ns);
	return m->t_data_tx - tp->tsoffset - oldest <= bolt_tsval(sk, a->ns) - oldest;
}

/*
 * Context: the socket's spinlock held, a user owns the socket, so the retransmit queue cannot be
 * read.  At least check that @m's sequence number is unacknowledged and written: who knows only the
 * ports cannot fill the list.
 */
static enum bolt_mib_item bolt_deferred_add(struct sock *sk, const struct bolt_msg *m,
					    const struct bolt_arrival *a)
{
	struct bolt_deferred_msg *d;
	struct bolt_flow *f;
	int most;

	if (before(m->seq, a->snd_una) || !before(m->seq, READ_ONCE(tcp_sk(sk)->write_seq)))
		return BOLT_MIB_CtlSeq;
	f = bolt_flow_get(sk, BOLT_FLOW_HELD | (m->type != BOLT_CTL_SRC ? BOLT_FLOW_BTS : 0));
	if (!f)
		return BOLT_MIB_NoMem;
	most = bolt_echo_is_recent(sk, f, m, a) ? BOLT_DEFERRED_MAX : BOLT_DEFERRED_DOUBTFUL;
	if (atomic_read(&f->deferred_len) >= most)
		return BOLT_MIB_CtlOverrun;
	mod_delayed_work(bolt_wq, &f->work, 0);
	d = bolt_sk_zalloc(sk, sizeof(*d));
	if (!d)
		return BOLT_MIB_NoMem;
	d->arrival = *a;
	d->msg = *m;
	atomic_inc(&f->deferred_len);
	llist_add(&d->node, &f->deferred);
	return BOLT_MIB_CtlDeferred;
}

/* Count and trace a message that was refused; @skb is NULL if it was deferred before. */
void bolt_refuse(struct bolt_net *bn, const struct sk_buff *skb, struct sock *sk,
		 enum bolt_mib_item item)
{
	this_cpu_inc(bn->mib->v[item]);
	if (item != BOLT_MIB_CtlDeferred)
		trace_bolt_refusal(bn->net, sk, skb, item);
}

/* Apply the deferred messages in the order of arrival.  Context: socket locked */
void bolt_deferred_run(struct bolt_flow *f, struct sock *sk)
{
	struct bolt_deferred_msg *d, *next;
	enum bolt_mib_item item;

	if (llist_empty(&f->deferred))
		return;
	rcu_read_lock();
	llist_for_each_entry_safe(d, next, llist_reverse_order(llist_del_all(&f->deferred)), node) {
		atomic_dec(&f->deferred_len);
		item = bolt_msg_apply(sk, &d->msg, &d->arrival);
		if (item != BOLT_CTL_ACCEPTED)
			bolt_refuse(f->bn, NULL, sk, item);
		kfree(d);
	}
	rcu_read_unlock();
}

/* Free the deferred messages: the namespace exits. */
void bolt_deferred_drop(struct bolt_flow *f)
{
	struct bolt_deferred_msg *d, *next;

	llist_for_each_entry_safe(d, next, llist_del_all(&f->deferred), node)
		kfree(d);
}

/* A control message arrived.  Returns its counter.  Context: softirq, socket's spinlock held */
enum bolt_mib_item bolt_feedback(struct sock *sk, const struct bolt_msg *m)
{
	const struct bolt_arrival now = { ktime_get_ns(), READ_ONCE(tcp_sk(sk)->snd_una) };
	/* not by icsk_ca_priv: a user may be changing the congestion control */
	struct bolt_flow *f = bolt_flow_find(sk);

	if (m->pause_ns > BOLT_PAUSE_ABSURD_NS)
		return BOLT_MIB_BtsOversize;
	if (m->type == BOLT_CTL_SRC && !bolt_flow_controller(f))
		return BOLT_MIB_CtlNotBolt;
	if (m->type != BOLT_CTL_SRC && !bolt_pause_sends(sk))
		return BOLT_MIB_CtlSeq;
	if (bolt_sk_is_owned(sk))
		return bolt_deferred_add(sk, m, &now);
	/* earlier messages first: the time that the controller sees must not go back */
	if (f)
		bolt_deferred_run(f, sk);
	return bolt_msg_apply(sk, m, &now);
}
