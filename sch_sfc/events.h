/* SPDX-License-Identifier: GPL-2.0 */
/* What a port does, told to tracepoints and listeners as it happens: events.c */
#ifndef _SFC_EVENTS_H
#define _SFC_EVENTS_H

#include <linux/in6.h>
#include <linux/tracepoint-defs.h>
#include <uapi/linux/sfc_netlink.h>

#include "sfc.h"

/**
 * struct sfc_event - one of them
 * @type:	what
 * @verdict:	what became of the message; of a hit, or a BTS suppressed, there is none
 * @family:	AF_INET or AF_INET6
 * @proto:	of the flow, as @saddr, @daddr (IPv4: mapped), @sport, @dport are
 * @flags:	SFC_BTS_FLAG_*
 * @ifindex:	the port, as @handle is
 */
struct sfc_event {
	enum sfc_event_type	type;
	enum sfc_verdict	verdict;
	u8			family;
	u8			proto;
	u8			dscp;
	u8			flags;
	u16			sport;
	u16			dport;
	struct in6_addr		saddr;
	struct in6_addr		daddr;
	u32			queue_bytes;
	u32			link_kbps;
	u32			pause_ns;
	int			ifindex;
	u32			handle;
};

struct bolt_msg;

/* What became of a message, in the words of the uapi header */
static inline enum sfc_verdict sfc_event_verdict(enum sfc_signal_verdict v)
{
	BUILD_BUG_ON((int)SFC_SIGNAL_SENT != (int)SFC_VERDICT_SENT ||
		     (int)SFC_SIGNAL_LIMITED != (int)SFC_VERDICT_LIMITED ||
		     (int)SFC_SIGNAL_NOMEM != (int)SFC_VERDICT_NOMEM ||
		     (int)SFC_SIGNAL_DROPPED != (int)SFC_VERDICT_DROPPED ||
		     (int)SFC_SIGNAL_UNFIT != (int)SFC_VERDICT_UNFIT);
	return (enum sfc_verdict)v;
}

/*
 * The qdisc is locked.  @msg: the message, sent or not; or what there is to say of a hit, a
 * refusal.
 */
void sfc_event_tell(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		    enum sfc_event_type type, enum sfc_verdict verdict, const struct bolt_msg *msg);

extern bool sfc_genl_joined;
DECLARE_TRACEPOINT(sfc_src);
DECLARE_TRACEPOINT(sfc_bts);
DECLARE_TRACEPOINT(sfc_cache_hit);
DECLARE_TRACEPOINT(sfc_suppressed);
DECLARE_TRACEPOINT(sfc_refusal);

static __always_inline bool sfc_event_traced(enum sfc_event_type type)
{
	switch (type) {
	case SFC_EVENT_TYPE_SRC:
		return tracepoint_enabled(sfc_src);
	case SFC_EVENT_TYPE_BTS:
		return tracepoint_enabled(sfc_bts);
	case SFC_EVENT_TYPE_CACHE_HIT:
		return tracepoint_enabled(sfc_cache_hit);
	case SFC_EVENT_TYPE_SUPPRESSED:
		return tracepoint_enabled(sfc_suppressed);
	case SFC_EVENT_TYPE_REFUSAL:
		return tracepoint_enabled(sfc_refusal);
	}
	return false;
}

/* One load and a test, while nobody has ever asked */
static __always_inline void sfc_event(struct Qdisc *sch, const struct sk_buff *skb,
				      const struct sfc_pkt *pkt, enum sfc_event_type type,
				      enum sfc_verdict verdict, const struct bolt_msg *msg)
{
	if (unlikely(READ_ONCE(sfc_genl_joined)) || sfc_event_traced(type))
		sfc_event_tell(sch, skb, pkt, type, verdict, msg);
}

#endif /* _SFC_EVENTS_H */
