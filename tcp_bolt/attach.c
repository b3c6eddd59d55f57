// SPDX-License-Identifier: GPL-2.0
/*
 * What the congestion controls that speak the option have in common: how they start and end on a
 * socket, the limits that follow its path, RTT samples, and how they notice that the option
 * has gone.
 */

#include <net/tcp.h>

#include "bolt.h"
#include "trace.h"

/* ACKs in a row without the option after which a middlebox must have begun to strip it */
#define BOLT_ACK_MISSING_MAX	16

/* --- limits that follow the path --- */

void bolt_set_cwnd(struct sock *sk, const struct bolt_flow *f, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	cwnd = clamp_t(u32, cwnd, 1, min(f->max_cwnd, tp->snd_cwnd_clamp));
	trace_bolt_cwnd(sk, f, cwnd);
	tcp_snd_cwnd_set(tp, cwnd);
}
EXPORT_SYMBOL_GPL(bolt_set_cwnd);

/*
 * Largest useful window: max_bdp_pct of NIC rate * min RTT; never below the initial window.  Swift
 * wants a queue as well.
 */
void bolt_update_max_cwnd(struct sock *sk, struct bolt_flow *f)
{
	struct bolt_net *bn = f->bn;
	u32 rtt_ns = f->core.min_rtt_ns;

	if (rtt_ns)
		rtt_ns = min_t(u64, U32_MAX, (u64)rtt_ns + f->queue_ns);
	f->max_cwnd = max(f->init_cwnd,
			  bolt_core_bdp_pkts(f->nic_kbps, rtt_ns, bolt_pkt_bytes(sk),
					     READ_ONCE(bn->max_bdp_pct)));
}

/* The flow leaves through another device now, or the device has another speed. */
void bolt_cc_refresh_rate(struct sock *sk, struct bolt_flow *f, int ifindex)
{
	struct bolt_net *bn = f->bn;

	f->dev_ifindex = ifindex;
	f->rate_gen = READ_ONCE(bn->rate_gen);
	f->nic_kbps = bolt_rate_kbps(bn, ifindex);
	f->ns_per_byte = bolt_core_ns_per_byte(f->nic_kbps);
	bolt_update_max_cwnd(sk, f);
}
EXPORT_SYMBOL_GPL(bolt_cc_refresh_rate);

/*
 * Bursts are the floor of the queue a switch sees.  min_tso_segs() is only a floor for TCP;
 * sk_gso_max_segs is a limit, but sk_setup_caps() resets it with every new route.
 */
void bolt_limit_bursts(struct sock *sk, const struct bolt_flow *f)
{
	u32 burst = READ_ONCE(f->bn->burst_segs);

	if (sk->sk_gso_max_segs > burst)
		sk->sk_gso_max_segs = burst;
}
EXPORT_SYMBOL_GPL(bolt_limit_bursts);

u32 bolt_min_tso_segs(struct sock *sk)
{
	return 1;
}
EXPORT_SYMBOL_GPL(bolt_min_tso_segs);

/* --- ACKs --- */

/* A RTT in ns from the wire, or from TCP */
void bolt_rtt_sample(struct sock *sk, struct bolt_flow *f, u32 rtt_ns)
{
	u32 min_ns = f->core.min_rtt_ns;

	f->last_ack_ns = tcp_sk(sk)->tcp_clock_cache;
	bolt_core_rtt_sample(&f->core, tcp_sk(sk)->tcp_clock_cache, rtt_ns);
	if (f->core.min_rtt_ns != min_ns)
		bolt_update_max_cwnd(sk, f);
}

/*
 * True when the option has vanished from the ACKs for good.  ACKs that waited in the backlog were
 * all seen by LOCAL_IN long before: hence the time since the last one as well.
 */
bool bolt_peer_silent(const struct sock *sk, struct bolt_flow *f)
{
	if (likely(tcp_jiffies32 - READ_ONCE(f->ack_stamp) <= inet_csk(sk)->icsk_rto)) {
		f->ack_missing = 0;
		return false;
	}
	return ++f->ack_missing >= BOLT_ACK_MISSING_MAX;
}
EXPORT_SYMBOL_GPL(bolt_peer_silent);

/* --- start and end --- */

/* The hooks are out: nobody has seen a handshake, nor will see a packet. */
static bool bolt_no_hooks(struct bolt_net *bn)
{
	if (likely(READ_ONCE(bn->hooks)))
		return false;
	BOLT_INC_STATS(bn, NoHooks);
	return true;
}

/* Was the option negotiated? Then the connection has an object, or gets it here. */
struct bolt_flow *bolt_negotiated(struct sock *sk)
{
	struct bolt_hs_key key = { .net = sock_net(sk) };
	struct bolt_flow *f;

	rcu_read_lock();
	f = bolt_flow_lookup(sk);
	rcu_read_unlock();
	if (bolt_no_hooks(bolt_net(sock_net(sk))) || bolt_sk_is_signed(sk))
		return NULL;
	/* The SYN-ACK that LOCAL_IN saw must be the one that TCP took */
	if (f)
		return f->syn_ack == tcp_sk(sk)->snd_una &&
		       f->syn_sport == inet_sk(sk)->inet_sport ? f : NULL;

	key.sport = inet_sk(sk)->inet_dport;
	key.dport = inet_sk(sk)->inet_sport;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		memcpy(key.saddr, &sk->sk_v6_daddr, 16);
		memcpy(key.daddr, &sk->sk_v6_rcv_saddr, 16);
		return bolt_hs_child(sk, &key) ? bolt_flow_create(sk) : NULL;
	}
#endif
	key.saddr[0] = sk->sk_daddr;
	key.daddr[0] = sk->sk_rcv_saddr;
	return bolt_hs_child(sk, &key) ? bolt_flow_create(sk) : NULL;
}
EXPORT_SYMBOL_GPL(bolt_negotiated);

/* The paper's flows start at line rate: one BDP, by net.bolt.base_rtt_ns or by the route. */
static void bolt_init_cwnd(struct sock *sk, struct bolt_flow *f)
{
	u32 rtt_ns = READ_ONCE(f->bn->base_rtt_ns);

	f->init_cwnd = tcp_snd_cwnd(tcp_sk(sk));	/* the route's initcwnd, or ten */
	if (rtt_ns && f->nic_kbps)
		f->init_cwnd = bolt_core_bdp_pkts(f->nic_kbps, rtt_ns, bolt_pkt_bytes(sk), 100);
	f->max_cwnd = max(f->max_cwnd, f->init_cwnd);
	bolt_set_cwnd(sk, f, f->init_cwnd);
}

/* From the congestion control's init(): the option is on. */
void bolt_attach(struct sock *sk, struct bolt_flow *f)
{
	struct dst_entry *dst = __sk_dst_get(sk);

	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bolt_reserve(sk, f);
	if (dst)
		bolt_cc_refresh_rate(sk, f, dst->dev->ifindex);
	else
		bolt_update_max_cwnd(sk, f);
	bolt_init_cwnd(sk, f);
	bolt_limit_bursts(sk, f);
	/*
	 * TCP's own pacing timer, with departures set by the LOCAL_OUT hook; nobody updates the
	 * rate that an earlier congestion control of this socket may have left.
	 */
	WRITE_ONCE(sk->sk_pacing_rate, READ_ONCE(sk->sk_max_pacing_rate));
	f->pacing_ours = cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
				 SK_PACING_NEEDED) == SK_PACING_NONE;
	f->ack_stamp = tcp_jiffies32;
	inet_csk(sk)->icsk_ack.quick = TCP_MAX_QUICKACKS;
	WRITE_ONCE(f->ready, 1);
}
EXPORT_SYMBOL_GPL(bolt_attach);

/* What bolt_attach() set on the socket is taken back. */
void bolt_detach(struct sock *sk, struct bolt_flow *f)
{
	struct dst_entry *dst = __sk_dst_get(sk);

	if (dst)
		sk->sk_gso_max_segs = max_t(u32, READ_ONCE(dst->dev->gso_max_segs), 1);
	/* SO_MAX_PACING_RATE needs it as well */
	if (f->pacing_ours && sk->sk_max_pacing_rate == ~0UL)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED, SK_PACING_NONE);
}
