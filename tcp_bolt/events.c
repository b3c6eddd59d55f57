// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to flows, as it happens: for tracepoints (trace.h), and as messages for who listens
 * to the group "events" of the family "bolt" (genl.c).  include/bolt_events.h says how they get
 * there.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>

#include "bolt.h"
#include "bolt_msg.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* More than all attributes of an event */
#define BOLT_EVENT_SIZE	512

struct bolt_event {
	struct bolt_events	*ev;
	struct sk_buff		*skb;
	void			*hdr;
};

static int bolt_put_sock(struct sk_buff *skb, struct sock *sk)
{
	struct nlattr *nest = nla_nest_start(skb, BOLT_A_EVENT_FLOW);

	if (!nest || bolt_genl_put_id(skb, sk))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static noinline bool bolt_event_new(struct bolt_event *e, struct bolt_net *bn, struct sock *sk,
				    enum bolt_event_type type)
{
	u64 now_ns;
	u32 lost;

	if (likely(!bolt_events_wanted(&bn->events)))
		return false;
	now_ns = ktime_get_ns();
	e->ev = &bn->events;
	e->skb = bolt_events_begin(e->ev, BOLT_EVENT_SIZE, BOLT_CMD_EVENT, now_ns, &e->hdr, &lost);
	if (!e->skb)
		return false;
	if (nla_put_u32(e->skb, BOLT_A_EVENT_TYPE, type) ||
	    nla_put_u64_64bit(e->skb, BOLT_A_EVENT_TIME_NS, now_ns, BOLT_A_EVENT_PAD) ||
	    (lost && nla_put_u32(e->skb, BOLT_A_EVENT_LOST, lost)) ||
	    (sk && bolt_put_sock(e->skb, sk))) {
		bolt_events_end(e->ev, e->skb, e->hdr, -EMSGSIZE);
		return false;
	}
	return true;
}

/* False when nobody listens, or the event is lost.  @sk may be NULL. */
static __always_inline bool bolt_event_begin(struct bolt_event *e, struct bolt_net *bn,
					     struct sock *sk, enum bolt_event_type type)
{
	return unlikely(READ_ONCE(bolt_genl_joined)) && bolt_event_new(e, bn, sk, type);
}

static void bolt_event_end(struct bolt_event *e, int err)
{
	bolt_events_end(e->ev, e->skb, e->hdr, err);
}

/* The socket's spinlock held */
void bolt_event_src(struct sock *sk, const struct bolt_flow *f)
{
	struct bolt_event e;

	trace_bolt_src(sk, f);
	if (!bolt_event_begin(&e, bolt_net(sock_net(sk)), sk, BOLT_EVENT_TYPE_SRC))
		return;
	bolt_event_end(&e, nla_put_u32(e.skb, BOLT_A_EVENT_QUEUE_BYTES, f->src.queue_bytes) ?:
		       nla_put_u32(e.skb, BOLT_A_EVENT_LINK_RATE, f->src.link_kbps) ?:
		       nla_put_u32(e.skb, BOLT_A_EVENT_RTT_SRC_NS, f->src.rtt_src_ns) ?:
		       nla_put_u32(e.skb, BOLT_A_EVENT_SWITCH_ID, f->src.switch_id) ?:
		       nla_put_u32(e.skb, BOLT_A_EVENT_VERDICT, f->src.verdict));
}

/* A pause, @m of which begins or moves it; @ns is what it lasts from now on, or has lasted */
void bolt_event_pause(struct sock *sk, enum bolt_event_type type, const struct bolt_msg *m, u64 ns)
{
	struct bolt_event e;
	int err;

	if (type == BOLT_EVENT_TYPE_PAUSE_BEGIN)
		trace_bolt_pause_begin(sk, m->pause_ns, ns, m->switch_id);
	else if (type == BOLT_EVENT_TYPE_PAUSE_CHANGE)
		trace_bolt_pause_change(sk, m->pause_ns, ns, m->switch_id);
	else if (type == BOLT_EVENT_TYPE_PAUSE_END)
		trace_bolt_pause_end(sk, 0, ns, 0);
	if (!bolt_event_begin(&e, bolt_net(sock_net(sk)), sk, type))
		return;
	err = nla_put_u64_64bit(e.skb, BOLT_A_EVENT_GRANTED_NS, ns, BOLT_A_EVENT_PAD);
	if (!err && m)
		err = nla_put_u32(e.skb, BOLT_A_EVENT_ASKED_NS, m->pause_ns) ?:
		      nla_put_u32(e.skb, BOLT_A_EVENT_SWITCH_ID, m->switch_id) ?:
		      nla_put_u32(e.skb, BOLT_A_EVENT_LINK_RATE, m->link_rate) ?:
		      nla_put_u32(e.skb, BOLT_A_EVENT_QUEUE_BYTES, m->queue_bytes);
	if (!err && m && m->flags & BOLT_CTL_F_FROM_CACHE)
		err = nla_put_flag(e.skb, BOLT_A_EVENT_FROM_CACHE);
	bolt_event_end(&e, err);
}

/* @skb is a control message that nobody believes; @sk, if not NULL, whom it is about */
void bolt_event_refusal(struct bolt_net *bn, const struct sk_buff *skb, struct sock *sk,
			enum bolt_mib_item item)
{
	struct bolt_event e;
	int err;

	if (!bolt_event_begin(&e, bn, sk, BOLT_EVENT_TYPE_REFUSAL))
		return;
	err = nla_put_string(e.skb, BOLT_A_EVENT_REASON, bolt_mib_name(item));
	if (!err && skb->protocol == htons(ETH_P_IPV6))
		err = nla_put_in6_addr(e.skb, BOLT_A_EVENT_SENDER, &ipv6_hdr(skb)->saddr);
	else if (!err)
		err = nla_put_in_addr(e.skb, BOLT_A_EVENT_SENDER, ip_hdr(skb)->saddr);
	bolt_event_end(&e, err);
}

void bolt_event_fallback(struct sock *sk, enum bolt_mib_item item)
{
	struct bolt_event e;

	if (bolt_event_begin(&e, bolt_net(sock_net(sk)), sk, BOLT_EVENT_TYPE_FALLBACK))
		bolt_event_end(&e, nla_put_string(e.skb, BOLT_A_EVENT_REASON, bolt_mib_name(item)));
}
