// SPDX-License-Identifier: GPL-2.0
/*
 * Swift's controller on a flow: passes delay samples to swift.h, and its window to TCP.
 *
 *   t1  departure, in the option             t2, t3  LOCAL_IN of the data (rx_at)
 *   t4  TCP processes the data               rq_delay = t4 - t2, on the ACK
 *   t5  LOCAL_IN of the ACK                  t6  TCP processes the ACK
 *
 *   RTT = t6 - t1;  endpoint = rq_delay + (t6 - t5);  fabric = RTT - endpoint    (section 3.3)
 *
 * Without the option TCP's RTT is taken as the fabric delay, and the peer may delay its ACKs.  The
 * window is then at least two packets: with one packet, each round trip would wait for the peer's
 * delayed-ACK timer.
 *
 * A window below one packet leaves snd_cwnd at 1 and delays the next departure (departure.c).  It
 * is allowed only if the operator has configured the base RTT (net.bolt.base_rtt_ns, and for more
 * distant destinations a route's initcwnd): a flow would starve with an estimate that is too small,
 * because the path has become longer.
 */

#include "bolt.h"

/*
 * The base RTT is the configured one, else TCP's minimum RTT, which includes a standing queue that
 * has lasted for longer than net.ipv4.tcp_min_rtt_wlen.
 */
static struct swift_bounds bolt_swift_bounds(const struct sock *sk, const struct bolt_flow *f)
{
	u32 rtt_ns = READ_ONCE(f->bn->base_rtt_ns);
	struct swift_bounds b = {
		/* a more distant destination has its BDP as initcwnd: rtt is in ms / 8 */
		.rtt_ns = rtt_ns ? max(rtt_ns, f->route_rtt_ns) : 0,
		.min_q32 = bolt_min_cwnd_q32(f),
		.max_q32 = (u64)f->max_cwnd << 32,
	};

	if (!b.rtt_ns) {
		b.rtt_ns = min_t(u64, (u64)tcp_min_rtt(tcp_sk(sk)) * NSEC_PER_USEC,
				 BOLT_RTT_SRC_MAX_NS);
		b.min_q32 = BOLT_ONE;
	}
	if (!f->speaks)
		b.min_q32 = 2 * BOLT_ONE;
	return b;
}

static void bolt_swift_apply(struct sock *sk, struct bolt_flow *f)
{
	f->core.cwnd_q32 = swift_cwnd_q32(&f->swift);
	bolt_set_window(sk, f, bolt_clamp_cwnd(sk, f, swift_packets(&f->swift)),
			bolt_core_gap_ns(f->core.cwnd_q32, f->swift.rtt_ns));
}

/* What an ACK says of the delay, in *@a.  Returns false if it has no sample. */
static bool bolt_swift_acked(const struct sock *sk, const struct bolt_flow *f,
			     const struct rate_sample *rs, const struct bolt_rtt *rtt,
			     struct swift_ack *a)
{
	u32 slack = READ_ONCE(f->bn->burst_segs) + 1;
	u16 rq = READ_ONCE(f->ack_rq);
	s32 local_ns;

	*a = (struct swift_ack) {
		.now_ns = tcp_sk(sk)->tcp_clock_cache,
		.acked = max(rs->acked_sacked, 0),
		/* do not grow a window that does not limit the flow */
		.limited = rs->prior_in_flight + slack >= f->cwnd,
		/* the newest echoed, or else as many as on the way back */
		.hops = bolt_rq_hops(rq) ?: READ_ONCE(f->rx_hops),
	};
	if (rtt->ns) {
		local_ns = (u32)a->now_ns - rtt->arrived;
		a->local_ns = max(local_ns, 0);
		a->rtt_ns = rtt->ns + a->local_ns;
		a->remote_ns = bolt_rq_delay_ns(rq);
		return true;
	}
	/*
	 * Without the option, or with payload: TCP's RTT, unless the ACK may have been delayed.  In
	 * the backlog it has been, by who owned the socket (bolt_take_rtt()); a peer without the
	 * option has no other RTT.
	 */
	if (f->speaks && data_race(sk->sk_backlog.len))
		return false;
	a->rtt_ns = bolt_rtt_of_tcp(rs);
	if (!a->rtt_ns || rs->is_ack_delayed)
		return false;
	if (f->speaks)
		a->remote_ns = swift_assumed_ns(&f->swift, &f->bn->swift);
	BOLT_INC_STATS(f->bn, SwiftTcpRtt);
	return true;
}

static void bolt_swift_on_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs,
			      const struct bolt_rtt *rtt)
{
	struct swift_bounds b;
	struct swift_ack a;

	if (!bolt_swift_acked(sk, f, rs, rtt, &a))
		return;
	if (!rtt->ns)
		bolt_rtt_sample(sk, f, a.rtt_ns);
	b = bolt_swift_bounds(sk, f);
	if (swift_on_ack(&f->swift, &f->bn->swift, &b, &a))
		BOLT_INC_STATS(f->bn, SwiftDec);
	bolt_swift_apply(sk, f);
}

static void bolt_swift_on_loss(struct sock *sk, struct bolt_flow *f, bool rto)
{
	struct swift_bounds b = bolt_swift_bounds(sk, f);

	swift_on_loss(&f->swift, &b, tcp_sk(sk)->tcp_clock_cache, rto);
	bolt_swift_apply(sk, f);
}

static void bolt_swift_undo(struct sock *sk, struct bolt_flow *f)
{
	f->swift.fabric.cwnd_q32 = max(f->swift.fabric.cwnd_q32, f->prior_q32.fabric);
	f->swift.endpoint.cwnd_q32 = max(f->swift.endpoint.cwnd_q32, f->prior_q32.endpoint);
	bolt_swift_apply(sk, f);
}

static void bolt_swift_start(struct sock *sk, struct bolt_flow *f)
{
	const struct swift_bounds b = {};

	/* the largest target */
	f->queue_ns = swift_target_ns(&f->bn->swift, &b, SWIFT_CWND_MIN, SWIFT_HOPS_MAX);
	swift_start(&f->swift, f->cwnd);
}

struct bolt_controller bolt_cc_swift __read_mostly = {
	.name		= "swift",
	.no_option	= true,
	.start		= bolt_swift_start,
	.on_ack		= bolt_swift_on_ack,
	.on_loss	= bolt_swift_on_loss,
	.undo		= bolt_swift_undo,
};

/* --- as a cap on Bolt's window (Bolt, section 6) --- */

/*
 * An ACK of a bolt socket, before Bolt's reaction to it.  Only with a configured base RTT: the
 * minimum RTT may be that of a packet which overtook others.
 */
void bolt_swift_cap_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs,
			const struct bolt_rtt *rtt)
{
	struct swift_bounds b = bolt_swift_bounds(sk, f);
	struct swift_ack a;
	u32 reported_ns;

	if (!bolt_swift_acked(sk, f, rs, rtt, &a))
		return;
	b.min_q32 = BOLT_ONE;
	reported_ns = swift_reported_ns(&f->reported, a.now_ns, a.rtt_ns);
	if (swift_cap_ack(&f->swift, &f->bn->swift, &b, &a, (u64)f->cwnd << 32,
			  READ_ONCE(f->ack_dec) ? reported_ns : 0))
		BOLT_INC_STATS(f->bn, SwiftDec);
	if (f->swift.fabric.cwnd_q32 < f->core.cwnd_q32)
		BOLT_INC_STATS(f->bn, SwiftLimits);
}
