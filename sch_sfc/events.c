// SPDX-License-Identifier: GPL-2.0
/*
 * What a port does, as it does it: for tracepoints (trace.h), and as messages for who listens to
 * the group "events" of the family "sfc" (genl.c).  include/bolt_events.h says how they get there.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ipv6.h>

#include <bolt_msg.h>
#include "events.h"
#include "genl.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* More than all attributes of an event */
#define SFC_EVENT_SIZE	512

static void sfc_event_trace(const struct sfc_event *e)
{
	switch (e->type) {
	case SFC_EVENT_TYPE_SRC:
		trace_sfc_src(e);
		break;
	case SFC_EVENT_TYPE_BTS:
		trace_sfc_bts(e);
		break;
	case SFC_EVENT_TYPE_CACHE_HIT:
		trace_sfc_cache_hit(e);
		break;
	case SFC_EVENT_TYPE_SUPPRESSED:
		trace_sfc_suppressed(e);
		break;
	case SFC_EVENT_TYPE_REFUSAL:
		trace_sfc_refusal(e);
		break;
	}
}

/* The packet, as far as it says who talks with whom */
static void sfc_event_flow(struct sfc_event *e, const struct sk_buff *skb,
			   const struct sfc_pkt *pkt)
{
	const struct ipv6hdr *ip6h;
	const struct iphdr *iph;
	struct ipv6hdr buf;
	__be16 *ports, pbuf[2];

	e->family = pkt->family;
	e->proto = pkt->proto;
	e->dscp = pkt->dscp;
	if (pkt->family == AF_INET) {
		iph = skb_header_pointer(skb, pkt->l3_off, sizeof(*iph), &buf);
		if (iph) {
			ipv6_addr_set_v4mapped(iph->saddr, &e->saddr);
			ipv6_addr_set_v4mapped(iph->daddr, &e->daddr);
		}
	} else {
		ip6h = skb_header_pointer(skb, pkt->l3_off, sizeof(buf), &buf);
		if (ip6h) {
			e->saddr = ip6h->saddr;
			e->daddr = ip6h->daddr;
		}
	}
	ports = skb_header_pointer(skb, pkt->l4_off, sizeof(pbuf), pbuf);
	if (ports) {
		e->sport = ntohs(ports[0]);
		e->dport = ntohs(ports[1]);
	}
}

static void sfc_event_make(struct sfc_event *e, struct Qdisc *sch, const struct bolt_msg *msg)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	e->ifindex = qdisc_dev(sch)->ifindex;
	e->handle = sch->handle;
	e->link_kbps = q->alg.rate.kbps;
	if (!msg)
		return;
	e->queue_bytes = msg->queue_bytes;
	e->pause_ns = msg->pause_ns;
	if (msg->flags & BOLT_CTL_F_CACHEABLE)
		e->flags |= SFC_BTS_FLAG_CACHEABLE;
	if (msg->flags & BOLT_CTL_F_FROM_CACHE)
		e->flags |= SFC_BTS_FLAG_FROM_CACHE;
}

static int sfc_put_addr(struct sk_buff *skb, int type, u8 family, const struct in6_addr *a)
{
	if (family == AF_INET6)
		return nla_put_in6_addr(skb, type, a);
	return nla_put_in_addr(skb, type, a->s6_addr32[3]);
}

static int sfc_event_put(struct sk_buff *skb, const struct sfc_event *e, u64 now_ns, u32 lost)
{
	if (nla_put_u32(skb, SFC_A_EVENT_TYPE, e->type) ||
	    nla_put_u64_64bit(skb, SFC_A_EVENT_TIME_NS, now_ns, SFC_A_EVENT_PAD) ||
	    (lost && nla_put_u32(skb, SFC_A_EVENT_LOST, lost)) ||
	    nla_put_u32(skb, SFC_A_EVENT_IFINDEX, e->ifindex) ||
	    nla_put_u32(skb, SFC_A_EVENT_HANDLE, e->handle) ||
	    sfc_put_addr(skb, SFC_A_EVENT_SRC_ADDR, e->family, &e->saddr) ||
	    sfc_put_addr(skb, SFC_A_EVENT_DST_ADDR, e->family, &e->daddr) ||
	    nla_put_u16(skb, SFC_A_EVENT_SRC_PORT, e->sport) ||
	    nla_put_u16(skb, SFC_A_EVENT_DST_PORT, e->dport) ||
	    nla_put_u8(skb, SFC_A_EVENT_PROTOCOL, e->proto) ||
	    nla_put_u8(skb, SFC_A_EVENT_DSCP, e->dscp) ||
	    nla_put_u32(skb, SFC_A_EVENT_QUEUE_BYTES, e->queue_bytes) ||
	    nla_put_u32(skb, SFC_A_EVENT_LINK_RATE, e->link_kbps) ||
	    nla_put_u32(skb, SFC_A_EVENT_PAUSE_NS, e->pause_ns) ||
	    nla_put_u32(skb, SFC_A_EVENT_FLAGS, e->flags))
		return -EMSGSIZE;
	if (e->type == SFC_EVENT_TYPE_CACHE_HIT || e->type == SFC_EVENT_TYPE_SUPPRESSED)
		return 0;
	return nla_put_u32(skb, SFC_A_EVENT_VERDICT, e->verdict);
}

void sfc_event_tell(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		    enum sfc_event_type type, enum sfc_verdict verdict, const struct bolt_msg *msg)
{
	struct bolt_events *ev = sfc_net_events(dev_net(qdisc_dev(sch)));
	bool wanted = bolt_events_wanted(ev);
	struct sfc_event e;
	struct sk_buff *n;
	u64 now_ns;
	void *hdr;
	u32 lost;

	if (!wanted && !sfc_event_traced(type))
		return;
	e = (struct sfc_event){ .type = type, .verdict = verdict };
	sfc_event_flow(&e, skb, pkt);
	sfc_event_make(&e, sch, msg);
	sfc_event_trace(&e);
	if (!wanted)
		return;
	now_ns = ktime_get_ns();
	n = bolt_events_begin(ev, SFC_EVENT_SIZE, SFC_CMD_EVENT, now_ns, &hdr, &lost);
	if (n)
		bolt_events_end(ev, n, hdr, sfc_event_put(n, &e, now_ns, lost));
}
