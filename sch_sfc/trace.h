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

#include "events.h"

#define SFC_TRACE_PORT							\
		__field(int, ifindex)					\
		__field(__u32, handle)					\
		__field(__u8, proto)					\
		__field(__u16, sport)					\
		__field(__u16, dport)					\
		__array(__u8, saddr, 16)				\
		__array(__u8, daddr, 16)

#define SFC_TRACE_PORT_ASSIGN						\
		__entry->ifindex = e->ifindex;				\
		__entry->handle = e->handle;				\
		__entry->proto = e->proto;				\
		__entry->sport = e->sport;				\
		__entry->dport = e->dport;				\
		memcpy(__entry->saddr, &e->saddr, 16);			\
		memcpy(__entry->daddr, &e->daddr, 16);

#define SFC_TRACE_PORT_FMT	"ifindex=%d handle=%x: [%pI6c]:%u > [%pI6c]:%u proto=%u "
#define SFC_TRACE_PORT_ARGS						\
		__entry->ifindex, __entry->handle, __entry->saddr, __entry->sport, \
		__entry->daddr, __entry->dport, __entry->proto

#define SFC_TRACE_VERDICTS						\
		{ 0, "sent" }, { 1, "limited" }, { 2, "nomem" }, { 3, "dropped" }, \
		{ 4, "unfit" }, { 5, "malformed" }, { 6, "forged" }, { 7, "edge" }

DECLARE_EVENT_CLASS(sfc_message_class,

	TP_PROTO(const struct sfc_event *e),

	TP_ARGS(e),

	TP_STRUCT__entry(
		SFC_TRACE_PORT
		__field(__u8, dscp)
		__field(__u8, flags)
		__field(__u8, verdict)
		__field(__u32, queue_bytes)
		__field(__u32, link_kbps)
		__field(__u32, pause_ns)
	),

	TP_fast_assign(
		SFC_TRACE_PORT_ASSIGN
		__entry->dscp = e->dscp;
		__entry->flags = e->flags;
		__entry->verdict = e->verdict;
		__entry->queue_bytes = e->queue_bytes;
		__entry->link_kbps = e->link_kbps;
		__entry->pause_ns = e->pause_ns;
	),

	TP_printk(SFC_TRACE_PORT_FMT
		  "dscp=%u queue_bytes=%u link_kbps=%u pause_ns=%u flags=%x verdict=%s",
		  SFC_TRACE_PORT_ARGS, __entry->dscp, __entry->queue_bytes, __entry->link_kbps,
		  __entry->pause_ns, __entry->flags,
		  __print_symbolic(__entry->verdict, SFC_TRACE_VERDICTS))
);

#define SFC_TRACE_MESSAGE(name)						\
	DEFINE_EVENT(sfc_message_class, name,				\
		TP_PROTO(const struct sfc_event *e),			\
		TP_ARGS(e))

SFC_TRACE_MESSAGE(sfc_src);
SFC_TRACE_MESSAGE(sfc_bts);
SFC_TRACE_MESSAGE(sfc_cache_hit);
SFC_TRACE_MESSAGE(sfc_suppressed);
SFC_TRACE_MESSAGE(sfc_refusal);

#endif /* _SCH_SFC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
