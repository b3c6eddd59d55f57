// SPDX-License-Identifier: GPL-2.0
/*
 * TCP's window as the controllers set it, its limits, which depend on the path, and RTT samples.
 * Context: socket locked, or its spinlock held while no user owns it.
 */

#include "bolt.h"
#include "overhead.h"
#include "trace.h"

u32 bolt_clamp_cwnd(const struct sock *sk, const struct bolt_flow *f, u32 cwnd)
{
	return clamp_t(u32, cwnd, 1, min(f->max_cwnd, tcp_sk(sk)->snd_cwnd_clamp));
}

/* SRC may have cut the window long before: prior_cwnd alone can be less than what is in flight. */
void bolt_reduction_begin(const struct sock *sk, struct bolt_flow *f)
{
	f->recover_fs = max(tcp_sk(sk)->prior_cwnd, tcp_sk(sk)->packets_out);
}

/* The only place where the module changes TCP's window; in fast recovery it may exceed @cwnd. */
void bolt_write_cwnd(struct sock *sk, struct bolt_flow *f, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct bolt_recovery r = {
		.prior = f->recover_fs, .delivered = tp->prr_delivered, .out = tp->prr_out,
	};

	f->cwnd = cwnd;
	if (f->recovery)
		cwnd = bolt_recovery_cwnd(&r, cwnd, bolt_clamp_cwnd(sk, f, BOLT_RECOVERY_MIN),
					  tcp_packets_in_flight(tp));
	f->tcp_cwnd = cwnd;
	if (cwnd == tcp_snd_cwnd(tp))
		return;
	trace_bolt_cwnd(sk, f, cwnd);
	tcp_snd_cwnd_set(tp, cwnd);
}

/*
 * Set TCP's window and, for a window below one packet, the time between two departures.  The next
 * is not before the newest packet: fq may still hold that one, which must not be overtaken.
 */
void bolt_set_window(struct sock *sk, struct bolt_flow *f, u32 cwnd, u32 gap_ns)
{
	bolt_write_cwnd(sk, f, cwnd);
	f->gap_ns = gap_ns;
	bolt_move_gap(sk, f, f->last_tx_ns + gap_ns);
}

/*
 * Largest useful window: max_bdp_pct of NIC rate * min RTT; never below the initial window.  Swift
 * adds the queueing delay that its target allows.
 */
void bolt_update_max_cwnd(struct sock *sk, struct bolt_flow *f)
{
	u32 rtt_ns = f->core.min_rtt_ns;

	if (rtt_ns)
		rtt_ns = min_t(u64, U32_MAX, (u64)rtt_ns + f->queue_ns);
	WRITE_ONCE(f->max_cwnd,
		   max(f->init_cwnd, bolt_core_bdp_pkts(f->nic_kbps, rtt_ns, bolt_pkt_bytes(sk),
							READ_ONCE(f->bn->max_bdp_pct))));
}

/*
 * The flow's outgoing device, that device's rate or the size of full packets has changed.  The rate
 * may also become known only now: the first flow after a device came up may start before.
 */
void bolt_refresh_rate(struct sock *sk, struct bolt_flow *f, struct net_device *dev)
{
	const struct dst_entry *dst = __sk_dst_get(sk);
	u32 rtt_ns, pkt = bolt_pkt_bytes(sk), route_cwnd;
	struct bolt_net *bn = f->bn;

	f->dev_ifindex = dev->ifindex;
	f->pkt_bytes = pkt;
	/* before what it is of: who changes that meanwhile changes this behind it */
	f->rate_gen = atomic_read_acquire(&bn->rate_gen);
	rtt_ns = READ_ONCE(bn->base_rtt_ns);
	WRITE_ONCE(f->nic_kbps, bolt_rate_kbps(bn, dev->ifindex));
	f->link_bytes = bolt_link_bytes(dev, READ_ONCE(bn->overhead));
	/* the route's initcwnd is the path's BDP if set */
	route_cwnd = dst ? min_t(u32, dst_metric(dst, RTAX_INITCWND), 1U << 16) : 0;
	f->route_rtt_ns = bolt_core_queue_ns(min_t(u64, (u64)route_cwnd * pkt, U32_MAX),
					     f->nic_kbps);
	/* the paper's flows start at line rate: one BDP, the larger of the two */
	if (f->speaks && rtt_ns && f->nic_kbps)
		f->init_cwnd = max(route_cwnd, bolt_core_bdp_pkts(f->nic_kbps, rtt_ns, pkt, 100));
	bolt_update_max_cwnd(sk, f);
}

/*
 * TCP's RTT of the newest packet acknowledged, in ns; 0: there is none.  That of a retransmission
 * is of the timestamps, whose tick of 1 ms may be many round trips (Karn's rule).
 */
u32 bolt_rtt_of_tcp(const struct rate_sample *rs)
{
	if (rs->rtt_us < 0 || rs->is_retrans)
		return 0;
	return min_t(u64, max(rs->rtt_us, 1L) * (u64)NSEC_PER_USEC, BOLT_RTT_SRC_MAX_NS);
}

/* An RTT sample in ns, from the option or from TCP */
void bolt_rtt_sample(struct sock *sk, struct bolt_flow *f, u32 rtt_ns)
{
	u32 min_ns = f->core.min_rtt_ns;

	f->last_ack_ns = tcp_sk(sk)->tcp_clock_cache;
	bolt_core_rtt_sample(&f->core, tcp_sk(sk)->tcp_clock_cache, rtt_ns);
	if (f->core.min_rtt_ns != min_ns)
		bolt_update_max_cwnd(sk, f);
}
