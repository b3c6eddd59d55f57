/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of sch_sfc, in /sys/kernel/tracing/events/sfc while the module is loaded; what each
 * field means is in Documentation/tracing.rst.
 *
 * Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d; ports are in host order.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sfc

#if !defined(_SCH_SFC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SCH_SFC_TRACE_H

#include <linux/tracepoint.h>

#include <bolt_msg.h>
#include "packet.h"

#define SFC_TRACE_VERDICTS						\
		EM(SFC_SIGNAL_SENT, "sent") EM(SFC_SIGNAL_LIMITED, "limited") \
		EM(SFC_SIGNAL_NOMEM, "nomem") EM(SFC_SIGNAL_DROPPED, "dropped") \
		EM(SFC_SIGNAL_UNFIT, "unfit") EM(SFC_REFUSED_MALFORMED, "malformed") \
		EM(SFC_REFUSED_FORGED, "forged") EM(SFC_REFUSED_EDGE, "edge") \
		EM(SFC_REFUSED_STALE, "stale") EMe(SFC_SIGNAL_NONE, "none")

/* The format file has the numbers: perf and trace-cmd do not know the names of an enum. */
#undef EM
#undef EMe
#define EM(value, name)		TRACE_DEFINE_ENUM(value);
#define EMe(value, name)	TRACE_DEFINE_ENUM(value);
SFC_TRACE_VERDICTS
#undef EM
#undef EMe
#define EM(value, name)		{ value, name },
#define EMe(value, name)	{ value, name }

/*
 * @msg: the message about @pkt, sent or not; in a hit, its pause; in a refusal, @pkt's own, or NULL
 * if that is malformed.  @verdict: what became of it, enum sfc_signal_verdict
 */
#define SFC_TRACE_MESSAGE_PROTO						\
		TP_PROTO(struct Qdisc *sch, const struct sfc_pkt *pkt,	\
			 const struct bolt_msg *msg, u8 verdict)
#define SFC_TRACE_MESSAGE_ARGS	TP_ARGS(sch, pkt, msg, verdict)

DECLARE_EVENT_CLASS(sfc_message_class, SFC_TRACE_MESSAGE_PROTO, SFC_TRACE_MESSAGE_ARGS,

	TP_STRUCT__entry(
		__field(int, ifindex)
		__field(__u32, handle)
		__field(__u8, proto)
		__field(__u16, sport)
		__field(__u16, dport)
		__array(__u8, saddr, 16)
		__array(__u8, daddr, 16)
		__field(__u8, dscp)
		__field(__u8, flags)
		__field(__u8, verdict)
		__field(__u32, queue_bytes)
		__field(__u32, link_kbps)
		__field(__u32, pause_ns)
		__field(__u32, target_kbps)
	),

	TP_fast_assign(
		const struct sfc_sched *q = qdisc_priv(sch);
		const struct sfc_flow *f = &pkt->flow;

		__entry->ifindex = qdisc_dev(sch)->ifindex;
		__entry->handle = sch->handle;
		__entry->proto = f->proto;
		__entry->sport = ntohs(f->sport);
		__entry->dport = ntohs(f->dport);
		sfc_flow_addr6(__entry->saddr, f, f->saddr);
		sfc_flow_addr6(__entry->daddr, f, f->daddr);
		__entry->dscp = f->dscp;
		__entry->flags = msg ? msg->flags & (BOLT_CTL_F_CACHEABLE |
						     BOLT_CTL_F_FROM_CACHE) : 0;
		__entry->verdict = verdict;
		__entry->queue_bytes = msg ? msg->queue_bytes : 0;
		__entry->link_kbps = q->alg.rate.kbps;
		__entry->pause_ns = msg ? msg->pause_ns : 0;
		__entry->target_kbps = msg ? msg->target_rate : 0;
	),

	TP_printk("ifindex=%d handle=%x: [%pI6c]:%u > [%pI6c]:%u proto=%u dscp=%u queue_bytes=%u link_kbps=%u pause_ns=%u target_kbps=%u flags=%x verdict=%s",
		  __entry->ifindex, __entry->handle, __entry->saddr, __entry->sport,
		  __entry->daddr, __entry->dport, __entry->proto, __entry->dscp,
		  __entry->queue_bytes, __entry->link_kbps, __entry->pause_ns,
		  __entry->target_kbps, __entry->flags,
		  __print_symbolic(__entry->verdict, SFC_TRACE_VERDICTS))
);

#define SFC_TRACE_MESSAGE(name)						\
	DEFINE_EVENT(sfc_message_class, name, SFC_TRACE_MESSAGE_PROTO, SFC_TRACE_MESSAGE_ARGS)

SFC_TRACE_MESSAGE(sfc_src);
SFC_TRACE_MESSAGE(sfc_bts);
SFC_TRACE_MESSAGE(sfc_cnm);
SFC_TRACE_MESSAGE(sfc_cache_hit);
SFC_TRACE_MESSAGE(sfc_suppressed);
SFC_TRACE_MESSAGE(sfc_refusal);

#endif /* _SCH_SFC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
