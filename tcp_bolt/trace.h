/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of tcp_bolt, in /sys/kernel/tracing/events/bolt while the module is loaded; what each
 * field means is in Documentation/tracing.rst.
 *
 * Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d; ports are in host order.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM bolt

#if !defined(_TCP_BOLT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TCP_BOLT_TRACE_H

#include <linux/tracepoint.h>
#include <net/ipv6.h>

#include "bolt.h"
#include "bolt_msg.h"

#ifndef _TCP_BOLT_TRACE_ADDR
#define _TCP_BOLT_TRACE_ADDR
/* Write the local or the peer's address to @addr, 16 bytes */
static inline void bolt_trace_addr(u8 *addr, const struct sock *sk, bool local)
{
	if (!sk) {
		memset(addr, 0, 16);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		memcpy(addr, local ? &sk->sk_v6_rcv_saddr : &sk->sk_v6_daddr, 16);
		return;
	}
#endif
	ipv6_addr_set_v4mapped(local ? sk->sk_rcv_saddr : sk->sk_daddr, (struct in6_addr *)addr);
}

/* Write the address of the sender of @msg to @addr, 16 bytes */
static inline void bolt_trace_sender(u8 *addr, const struct sk_buff *msg)
{
	if (!msg)
		memset(addr, 0, 16);
	else if (msg->protocol == htons(ETH_P_IPV6))
		memcpy(addr, &ipv6_hdr(msg)->saddr, 16);
	else
		ipv6_addr_set_v4mapped(ip_hdr(msg)->saddr, (struct in6_addr *)addr);
}
#endif

#define BOLT_TRACE_SK							\
		__field(__u64, netns)					\
		__field(const void *, skaddr)				\
		__field(__u16, sport)					\
		__field(__u16, dport)					\
		__array(__u8, saddr, 16)				\
		__array(__u8, daddr, 16)

#define BOLT_TRACE_SK_ASSIGN(net)					\
		__entry->netns = (net)->net_cookie;			\
		__entry->skaddr = sk;					\
		__entry->sport = sk ? sk->sk_num : 0;			\
		__entry->dport = sk ? ntohs(sk->sk_dport) : 0;		\
		bolt_trace_addr(__entry->saddr, sk, true);		\
		bolt_trace_addr(__entry->daddr, sk, false);

#define BOLT_TRACE_SK_FMT	"[%pI6c]:%u > [%pI6c]:%u "
#define BOLT_TRACE_SK_ARGS						\
		__entry->saddr, __entry->sport, __entry->daddr, __entry->dport

TRACE_EVENT(bolt_src,

	TP_PROTO(const struct sock *sk, const struct bolt_flow *f),

	TP_ARGS(sk, f),

	TP_STRUCT__entry(
		BOLT_TRACE_SK
		__field(__u32, queue_bytes)
		__field(__u32, link_kbps)
		__field(__u32, rtt_src_ns)
		__field(__u32, switch_id)
		__field(__u32, cwnd)
		__field(__u32, srtt_ns)
		__field(__u8, verdict)
	),

	TP_fast_assign(
		BOLT_TRACE_SK_ASSIGN(sock_net(sk))
		__entry->queue_bytes = f->src.queue_bytes;
		__entry->link_kbps = f->src.link_kbps;
		__entry->rtt_src_ns = f->src.rtt_src_ns;
		__entry->switch_id = f->src.switch_id;
		__entry->cwnd = tcp_sk(sk)->snd_cwnd;
		__entry->srtt_ns = f->core.srtt_ns;
		__entry->verdict = f->src.verdict;
	),

	TP_printk(BOLT_TRACE_SK_FMT
		  "queue_bytes=%u link_kbps=%u rtt_src_ns=%u switch_id=%u verdict=%s cwnd=%u srtt_ns=%u",
		  BOLT_TRACE_SK_ARGS, __entry->queue_bytes, __entry->link_kbps,
		  __entry->rtt_src_ns, __entry->switch_id,
		  __print_symbolic(__entry->verdict, { 0, "dec" }, { 1, "held" }, { 2, "floor" }),
		  __entry->cwnd, __entry->srtt_ns)
);

TRACE_EVENT(bolt_cwnd,

	TP_PROTO(const struct sock *sk, const struct bolt_flow *f, u32 cwnd),

	TP_ARGS(sk, f, cwnd),

	TP_STRUCT__entry(
		BOLT_TRACE_SK
		__field(__u32, old_cwnd)
		__field(__u32, cwnd)
		__field(__u32, max_cwnd)
		__field(__u32, srtt_ns)
		__field(__u32, inflight)
	),

	TP_fast_assign(
		BOLT_TRACE_SK_ASSIGN(sock_net(sk))
		__entry->old_cwnd = tcp_sk(sk)->snd_cwnd;
		__entry->cwnd = cwnd;
		__entry->max_cwnd = f->max_cwnd;
		__entry->srtt_ns = f->core.srtt_ns;
		__entry->inflight = tcp_packets_in_flight(tcp_sk(sk));
	),

	TP_printk(BOLT_TRACE_SK_FMT "old_cwnd=%u cwnd=%u max_cwnd=%u srtt_ns=%u inflight=%u",
		  BOLT_TRACE_SK_ARGS, __entry->old_cwnd, __entry->cwnd, __entry->max_cwnd,
		  __entry->srtt_ns, __entry->inflight)
);

/*
 * @msg: the BTS or CNM, NULL at the end of a pause; @ns: remaining pause, at the end its length, or
 * for how long the flow is limited
 */
#define BOLT_TRACE_PAUSE_PROTO						\
		TP_PROTO(const struct sock *sk, const struct bolt_msg *msg, u64 ns)
#define BOLT_TRACE_PAUSE_ARGS	TP_ARGS(sk, msg, ns)

DECLARE_EVENT_CLASS(bolt_pause_class, BOLT_TRACE_PAUSE_PROTO, BOLT_TRACE_PAUSE_ARGS,

	TP_STRUCT__entry(
		BOLT_TRACE_SK
		__field(__u32, asked_ns)
		__field(__u32, target_kbps)
		__field(__u32, switch_id)
		__field(__u64, ns)
		__field(__u32, queue_bytes)
		__field(__u32, link_kbps)
		__field(__u8, flags)
	),

	TP_fast_assign(
		BOLT_TRACE_SK_ASSIGN(sock_net(sk))
		__entry->asked_ns = msg ? msg->pause_ns : 0;
		__entry->target_kbps = msg ? msg->target_rate : 0;
		__entry->switch_id = msg ? msg->switch_id : 0;
		__entry->ns = ns;
		__entry->queue_bytes = msg ? msg->queue_bytes : 0;
		__entry->link_kbps = msg ? msg->link_rate : 0;
		__entry->flags = msg ? msg->flags : 0;
	),

	TP_printk(BOLT_TRACE_SK_FMT
		  "asked_ns=%u target_kbps=%u ns=%llu switch_id=%u queue_bytes=%u link_kbps=%u flags=%x",
		  BOLT_TRACE_SK_ARGS, __entry->asked_ns, __entry->target_kbps, __entry->ns,
		  __entry->switch_id, __entry->queue_bytes, __entry->link_kbps, __entry->flags)
);

#define BOLT_TRACE_PAUSE(name)						\
	DEFINE_EVENT(bolt_pause_class, name, BOLT_TRACE_PAUSE_PROTO, BOLT_TRACE_PAUSE_ARGS)

BOLT_TRACE_PAUSE(bolt_pause_begin);
BOLT_TRACE_PAUSE(bolt_pause_change);
BOLT_TRACE_PAUSE(bolt_pause_end);
BOLT_TRACE_PAUSE(bolt_watchdog);
BOLT_TRACE_PAUSE(bolt_cnm);

/* @item: the counter incremented; @sk: the socket that @msg is about; either may be NULL */
#define BOLT_TRACE_REASON_PROTO						\
		TP_PROTO(const struct net *net, const struct sock *sk,	\
			 const struct sk_buff *msg, enum bolt_mib_item item)
#define BOLT_TRACE_REASON_ARGS	TP_ARGS(net, sk, msg, item)

DECLARE_EVENT_CLASS(bolt_reason_class, BOLT_TRACE_REASON_PROTO, BOLT_TRACE_REASON_ARGS,

	TP_STRUCT__entry(
		BOLT_TRACE_SK
		__array(__u8, sender, 16)
		__array(char, reason, 16)
	),

	TP_fast_assign(
		BOLT_TRACE_SK_ASSIGN(net)
		bolt_trace_sender(__entry->sender, msg);
		strscpy(__entry->reason, bolt_mib_names[item], 16);
	),

	TP_printk(BOLT_TRACE_SK_FMT "reason=%s sender=[%pI6c]", BOLT_TRACE_SK_ARGS,
		  __entry->reason, __entry->sender)
);

#define BOLT_TRACE_REASON(name)						\
	DEFINE_EVENT(bolt_reason_class, name, BOLT_TRACE_REASON_PROTO, BOLT_TRACE_REASON_ARGS)

BOLT_TRACE_REASON(bolt_refusal);
BOLT_TRACE_REASON(bolt_fallback);

#endif /* _TCP_BOLT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
