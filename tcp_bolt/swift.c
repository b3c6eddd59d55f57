// SPDX-License-Identifier: GPL-2.0
/*
 * Swift's controller on a flow: what the kernel knows goes in, swift.h decides, and its window
 * comes out as TCP's.
 *
 *   t1  departure, in the option             t2, t3  LOCAL_IN of the data (rx_at)
 *   t4  TCP answers it                       rq_delay = t4 - t2, on the ACK
 *   t5  LOCAL_IN of the ACK (ack_at)         t6  TCP takes it up
 *
 *   RTT = t6 - t1;  endpoint = rq_delay + (t6 - t5);  fabric = RTT - endpoint    (section 3.3)
 *
 * Without the option both delays are TCP's RTT, and the peer may delay its ACKs: the window is no
 * smaller than two packets then, as any TCP's, since one would run at the pace of its timer.
 *
 * A window below one packet leaves snd_cwnd at 1 and puts the next departure off in tcp_wstamp_ns,
 * TCP's own: its pacing timer does the rest.  When the window has changed, so has the departure.
 * It takes an operator who has said what the round trip of an empty path is (net.bolt.base_rtt_ns):
 * by a guess that the path has outgrown, a flow would starve.
 */

#include <net/tcp.h>

#include "bolt.h"

/* The congestion control of tcp_swift.ko while that is loaded */
struct tcp_congestion_ops *bolt_swift_ops;

void bolt_swift_register(struct tcp_congestion_ops *ops)
{
	WRITE_ONCE(bolt_swift_ops, ops);
}
EXPORT_SYMBOL_GPL(bolt_swift_register);

/* Under RCU */
static const struct swift_conf *bolt_swift_conf(const struct bolt_flow *f)
{
	return &rcu_dereference(f->bn->swift_conf)->c;
}

/*
 * The round trip of an empty path is what the operator says, else the smallest that TCP has seen.
 * The latter grows with a standing queue that outlasts net.ipv4.tcp_min_rtt_wlen.
 */
static struct swift_bounds bolt_swift_bounds(const struct sock *sk, const struct bolt_flow *f)
{
	struct swift_bounds b = {
		.rtt_ns = READ_ONCE(f->bn->base_rtt_ns),
		.max_q32 = (u64)f->max_cwnd << 32,
	};

	if (!b.rtt_ns) {
		b.rtt_ns = min_t(u64, (u64)tcp_min_rtt(tcp_sk(sk)) * NSEC_PER_USEC,
				 BOLT_RTT_SRC_MAX_NS);
		b.min_q32 = SWIFT_ONE;
	}
	if (f->plain)
		b.min_q32 = 2 * SWIFT_ONE;
	return b;
}

/* --- windows below one packet --- */

/* Whether tcp_wstamp_ns is where this put it: SFC may have paused the flow since */
static bool bolt_swift_paced(const struct tcp_sock *tp, const struct bolt_flow *f)
{
	return f->pace_ns && tp->tcp_wstamp_ns == f->pace_ns;
}

/* A data packet has left, at f->last_tx_ns: when may the next? */
void bolt_swift_depart(struct sock *sk, struct bolt_flow *f)
{
	u32 wait_ns = swift_pace_ns(&f->swift);
	struct tcp_sock *tp = tcp_sk(sk);

	f->pace_ns = 0;
	if (!wait_ns)
		return;
	BOLT_INC_STATS(f->bn, SwiftPaced);
	f->pace_ns = max(tp->tcp_wstamp_ns, f->last_tx_ns + wait_ns);
	tp->tcp_wstamp_ns = f->pace_ns;
}

/* The window has changed.  Never before the newest packet: fq may hold that still. */
void bolt_repace(struct sock *sk, struct bolt_flow *f, u64 due_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!bolt_swift_paced(tp, f))
		return;
	due_ns = max(due_ns, f->next_tx_ns);
	if (due_ns == f->pace_ns)
		return;
	tp->tcp_wstamp_ns = due_ns;
	f->pace_ns = due_ns;
	if (tcp_send_head(sk))
		bolt_pacing_timer(sk, due_ns);
}

static void bolt_swift_repace(struct sock *sk, struct bolt_flow *f)
{
	bolt_repace(sk, f, f->last_tx_ns + swift_pace_ns(&f->swift));
}

/* LOCAL_OUT: what leaves during the wait, but for new data that fq is to hold. */
void bolt_swift_pass(struct sock *sk, struct bolt_flow *f, struct sk_buff *skb,
		     struct tcphdr *th, bool data)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (bolt_swift_paced(tp, f) && f->pace_ns > tp->tcp_clock_cache &&
	    !(data && READ_ONCE(sk->sk_pacing_status) == SK_PACING_FQ))
		bolt_leaves_early(skb, sk, th, data, tp->tcp_clock_cache);
}

/* --- events --- */

static void bolt_swift_apply(struct sock *sk, struct bolt_flow *f)
{
	bolt_set_cwnd(sk, f, swift_packets(&f->swift));
	bolt_swift_repace(sk, f);
}

/* With the option: the ACK's own sample, unless data rode on it */
static bool bolt_swift_sample(struct sock *sk, struct bolt_flow *f, struct swift_ack *a)
{
	u32 rtt_ns = xchg(&f->ack_rtt_ns, 0);
	s32 local_ns;
	u16 rq;

	if (!rtt_ns)
		return false;
	bolt_rtt_sample(sk, f, rtt_ns);
	local_ns = (u32)a->now_ns - READ_ONCE(f->ack_at);
	rq = READ_ONCE(f->ack_rq);
	a->local_ns = max(local_ns, 0);
	a->rtt_ns = rtt_ns + a->local_ns;
	a->remote_ns = bolt_rq_delay_ns(rq);
	a->hops = bolt_rq_hops(rq);
	return true;
}

/* TCP's RTT is for the rest.  It says nothing where the ACK may have been delayed. */
static bool bolt_swift_sample_tcp(const struct bolt_flow *f, const struct rate_sample *rs,
				  struct swift_ack *a)
{
	if (rs->rtt_us < 0 || rs->is_ack_delayed)
		return false;
	a->rtt_ns = min_t(u64, max(rs->rtt_us, 1L) * (u64)NSEC_PER_USEC, BOLT_RTT_SRC_MAX_NS);
	BOLT_INC_STATS(f->bn, SwiftTcpRtt);
	return true;
}

static struct swift_ack bolt_swift_acked(const struct sock *sk, const struct bolt_flow *f,
					 const struct rate_sample *rs)
{
	u32 slack = READ_ONCE(f->bn->burst_segs) + 1;

	return (struct swift_ack) {
		.now_ns = tcp_sk(sk)->tcp_clock_cache,
		.acked = max(rs->acked_sacked, 0),
		/* a window that is not the limit says nothing when it grows */
		.limited = rs->prior_in_flight + slack >= tcp_snd_cwnd(tcp_sk(sk)),
	};
}

void bolt_swift_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs)
{
	struct swift_ack a = bolt_swift_acked(sk, f, rs);
	struct bolt_net *bn = f->bn;
	struct swift_bounds b;
	unsigned int dec;

	if (!bolt_swift_sample(sk, f, &a)) {
		if (!bolt_swift_sample_tcp(f, rs, &a))
			return;
		bolt_rtt_sample(sk, f, a.rtt_ns);
	}
	rcu_read_lock();
	b = bolt_swift_bounds(sk, f);
	dec = swift_on_ack(&f->swift, bolt_swift_conf(f), &b, &a);
	rcu_read_unlock();
	if (dec & SWIFT_DEC_FABRIC)
		BOLT_INC_STATS(bn, SwiftDec);
	if (dec & SWIFT_DEC_ENDPOINT)
		BOLT_INC_STATS(bn, SwiftEndDec);
	bolt_swift_apply(sk, f);
}
EXPORT_SYMBOL_GPL(bolt_swift_ack);

void bolt_swift_rto(struct sock *sk, struct bolt_flow *f)
{
	struct swift_bounds b = bolt_swift_bounds(sk, f);

	BOLT_INC_STATS(f->bn, RtoDec);
	f->count.rto_dec++;
	rcu_read_lock();
	swift_on_rto(&f->swift, bolt_swift_conf(f), &b, tcp_sk(sk)->tcp_clock_cache);
	rcu_read_unlock();
	bolt_swift_apply(sk, f);
}
EXPORT_SYMBOL_GPL(bolt_swift_rto);

void bolt_swift_recovery(struct sock *sk, struct bolt_flow *f)
{
	struct swift_bounds b = bolt_swift_bounds(sk, f);

	BOLT_INC_STATS(f->bn, LossDec);
	f->count.loss_dec++;
	rcu_read_lock();
	swift_on_recovery(&f->swift, bolt_swift_conf(f), &b, tcp_sk(sk)->tcp_clock_cache);
	rcu_read_unlock();
	bolt_swift_apply(sk, f);
}
EXPORT_SYMBOL_GPL(bolt_swift_recovery);

/* A loss episode begins; it may turn out that nothing was lost. */
void bolt_swift_remember(struct bolt_flow *f)
{
	f->prior_q32[0] = f->swift.fabric.cwnd_q32;
	f->prior_q32[1] = f->swift.endpoint.cwnd_q32;
}
EXPORT_SYMBOL_GPL(bolt_swift_remember);

void bolt_swift_undo(struct sock *sk, struct bolt_flow *f)
{
	f->swift.fabric.cwnd_q32 = max(f->swift.fabric.cwnd_q32, f->prior_q32[0]);
	f->swift.endpoint.cwnd_q32 = max(f->swift.endpoint.cwnd_q32, f->prior_q32[1]);
	bolt_swift_apply(sk, f);
}
EXPORT_SYMBOL_GPL(bolt_swift_undo);

/* --- beside Bolt (Bolt, section 6) --- */

void bolt_brown_start(struct bolt_flow *f)
{
	swift_beside_start(&f->swift);
}

/*
 * An ACK of a bolt socket, before Bolt looks at it.  Only where base_rtt_ns says what the round
 * trip of an empty path is: the smallest one seen may be that of a packet which overtook others.
 */
void bolt_brown_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs)
{
	struct swift_ack a = bolt_swift_acked(sk, f, rs);
	struct bolt_net *bn = f->bn;
	u32 told_ns, cwnd = tcp_snd_cwnd(tcp_sk(sk));
	struct swift_bounds b = {
		.rtt_ns = READ_ONCE(bn->base_rtt_ns),
		.min_q32 = SWIFT_ONE,
		.max_q32 = (u64)f->max_cwnd << 32,
	};

	if (!bolt_swift_sample(sk, f, &a) && !bolt_swift_sample_tcp(f, rs, &a))
		return;
	told_ns = swift_told_ns(&f->told, a.now_ns, a.rtt_ns);
	rcu_read_lock();
	if (swift_beside_ack(&f->swift, bolt_swift_conf(f), &b, &a, (u64)cwnd << 32,
			     READ_ONCE(f->ack_dec) ? told_ns : 0))
		BOLT_INC_STATS(bn, SwiftDec);
	rcu_read_unlock();
	if (f->swift.fabric.cwnd_q32 >> 32 < f->cwnd)
		BOLT_INC_STATS(bn, SwiftLimits);
}

/* --- start --- */

/* The queue that the largest target asks for */
static void bolt_swift_queue(struct bolt_flow *f)
{
	const struct swift_conf *c;

	rcu_read_lock();
	c = bolt_swift_conf(f);
	f->queue_ns = min_t(u64, U32_MAX, (u64)c->base_ns + (u64)SWIFT_HOPS_MAX * c->hop_ns +
			    c->fs_range_ns);
	rcu_read_unlock();
}

/* The option is on. */
void bolt_swift_start(struct sock *sk, struct bolt_flow *f)
{
	bolt_swift_queue(f);
	bolt_attach(sk, f);
	swift_start(&f->swift, tcp_snd_cwnd(tcp_sk(sk)));
	bolt_swift_remember(f);
}
EXPORT_SYMBOL_GPL(bolt_swift_start);

/* It is not: with TCP's window, departures and RTT. */
void bolt_swift_start_plain(struct sock *sk, struct bolt_flow *f)
{
	struct dst_entry *dst = __sk_dst_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	BOLT_INC_STATS(f->bn, SwiftPlain);
	bolt_event_fallback(sk, BOLT_MIB_SwiftPlain);
	WRITE_ONCE(f->plain, 1);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bolt_swift_queue(f);
	f->init_cwnd = tcp_snd_cwnd(tp);
	if (dst)
		bolt_cc_refresh_rate(sk, f, dst->dev->ifindex);
	else
		bolt_update_max_cwnd(sk, f);
	bolt_limit_bursts(sk, f);
	swift_start(&f->swift, f->init_cwnd);
	bolt_swift_remember(f);
}
EXPORT_SYMBOL_GPL(bolt_swift_start_plain);

/* It has gone in mid-flow. */
void bolt_swift_go_plain(struct sock *sk, struct bolt_flow *f)
{
	BOLT_INC_STATS(f->bn, SwiftPlain);
	bolt_event_fallback(sk, BOLT_MIB_SwiftPlain);
	WRITE_ONCE(f->plain, 1);
	bolt_unreserve(sk, f);
}
EXPORT_SYMBOL_GPL(bolt_swift_go_plain);
