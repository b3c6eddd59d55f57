// SPDX-License-Identifier: GPL-2.0
/*
 * Reception of BTS by an sfc_hold, about flows of this host that are not TCP.
 * Context: softirq, RCU
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>

#include <bolt_ctl.h>
#include "hold.h"

static void sfc_hold_report(const struct sfc_hold *h, const struct sfc_flow *flow)
{
	struct in6_addr to;

	sfc_flow_addr6(&to, flow, flow->daddr);
	net_warn_ratelimited("sch_sfc: %s: watchdog: a flow to [%pI6c]:%u was held for %u %% of %lu ms\n",
			     qdisc_dev(h->watchdog.qdisc)->name, &to, ntohs(flow->dport),
			     h->cfg.share, SFC_HOLD_INTERVAL_NS / NSEC_PER_MSEC);
}

/* Pause @f, the entry of @flow, from @now on; 0 ends its pause.  Context: @lock held */
static void sfc_hold_pause(struct sfc_hold *h, struct sfc_hold_flow *f,
			   const struct sfc_flow *flow, u32 pause_ns, u64 now)
{
	u64 old_ns = max(f->clock.until_ns, now);

	if (!pause_ns && old_ns == now)
		return;
	switch (bolt_pause_set(&f->clock, &h->pause, now, pause_ns)) {
	case BOLT_PAUSE_TRIPPED:
		h->stats.trips++;
		sfc_hold_report(h, flow);
		fallthrough;
	case BOLT_PAUSE_IGNORED:
		h->stats.ignored++;
		break;
	case BOLT_PAUSE_BEGUN:
		h->stats.pauses++;
		fallthrough;
	case BOLT_PAUSE_REPLACED:
		h->stats.clamped += f->clock.until_ns - now < pause_ns;
		break;
	}
	/* wraps to a subtraction if the new end is earlier */
	h->stats.pause_ns += max(f->clock.until_ns, now) - old_ns;
	/* run the timer now: the pause may have become shorter, or ended */
	if (f->clock.until_ns < old_ns && f->held.qlen) {
		h->next_ns = now;
		qdisc_watchdog_schedule_ns(&h->watchdog, now);
	}
}

/* A BTS, and what every sfc_hold finds of it */
struct sfc_hold_bts {
	const u8		*p;
	unsigned int		len;
	struct bolt_msg		m;
	struct sfc_flow		flow;
	u64			hash;
	bool			own;	/* by another host, about a flow of the addressee */
	bool			refused;	/* whatever flows there are */
	u8			ttl;
	/* @tag_ok is under @keys, which are mostly those of the next sfc_hold as well */
	bool			judged;
	bool			tag_ok;
	struct bolt_keys	keys;
};

/* Context: @lock held */
static bool sfc_hold_tag_ok(const struct sfc_hold *h, struct sfc_hold_bts *b)
{
	if (!h->cfg.has_tagkey)
		return h->cfg.notagkey;
	if (!b->judged || memcmp(&b->keys, &h->cfg.keys, sizeof(b->keys))) {
		b->keys = h->cfg.keys;
		b->tag_ok = bolt_msg_tag_ok(b->p, b->len, &b->keys);
		b->judged = true;
	}
	return b->tag_ok;
}

/* Does the message quote a packet that its addressee has sent? */
static bool sfc_hold_own(const struct sk_buff *skb, const struct bolt_msg *m)
{
	if (skb->protocol == htons(ETH_P_IPV6))
		return m->family == 6 &&
		       !memcmp(&ipv6_hdr(skb)->daddr, m->saddr, sizeof(m->saddr));
	return m->family == 4 && ip_hdr(skb)->daddr == m->saddr[0];
}

/*
 * A BTS about a flow that is not TCP.  It is accepted if it was not sent by this host, its tag and
 * TTL are valid, it is addressed to the sender of the quoted packet, and the flow has sent a packet
 * by this port within a second.  A datagram has nothing to echo, so only a tag proves that the
 * sender has seen it.  The tag is verified first: without a key, counters tell nobody which flows
 * there are.  Returns the counter to increment; no message is ever answered.  Context: @lock held
 */
static u64 *sfc_hold_hear(struct sfc_hold *h, struct sfc_hold_bts *b)
{
	u64 now = ktime_get_ns();
	struct sfc_hold_flow *f;

	b->refused = true;
	if (!b->own || b->ttl < h->cfg.minttl || !sfc_hold_tag_ok(h, b))
		return &h->stats.refused;
	if (b->m.pause_ns > BOLT_PAUSE_ABSURD_NS)
		return &h->stats.oversize;
	b->refused = false;
	f = sfc_hold_find(h->flows, &h->pause, b->hash, now);
	if (!f)
		return &h->stats.full;
	if (!sfc_hold_has_sent(f, b->hash, now))
		return &h->stats.stale;
	sfc_hold_pause(h, f, &b->flow, b->m.pause_ns, now);
	return &h->stats.bts;
}

/*
 * May a message that came by @from be about flows through @dev?  Not if it is of another VRF.  Of a
 * device with others on top (VLANs), which VRF a flow is of is not known.
 */
static bool sfc_hold_same_vrf(const struct net_device *dev, const struct net_device *from)
{
	int vrf = l3mdev_master_ifindex_rcu(dev);
	bool any = !vrf && !list_empty(&dev->adj_list.upper);

	return any || vrf == l3mdev_master_ifindex_rcu(from);
}

/*
 * A bolt_ctl_receive.  Each sfc_hold with this control port handles the message, up to the first
 * that refuses it if the others would as well: a forged one takes one lock, however many there are.
 */
bool sfc_hold_receive(struct net *net, u16 port, struct sk_buff *skb, const u8 *p,
		      unsigned int len)
{
	struct sfc_hold_bts b = { .p = p, .len = len };
	struct sfc_switch *sw = sfc_switch_of(net);
	struct sfc_hold *h;
	bool ours = false;

	if (!p || udp_hdr(skb)->source != udp_hdr(skb)->dest ||
	    bolt_msg_parse(p, len, &b.m) != BOLT_MSG_OK ||
	    b.m.type != BOLT_CTL_BTS || b.m.protocol == IPPROTO_TCP)
		return false;
	/* nothing proves that our flow has met the queue: anybody could have chosen the segments */
	if (b.m.segments)
		return false;
	b.flow = sfc_msg_flow(&b.m);
	b.hash = sfc_hold_hash(net, &b.flow);
	b.own = !bolt_ctl_is_local(skb) && sfc_hold_own(skb, &b.m) &&
		sfc_flow_may_be_answered(&b.flow);
	b.ttl = bolt_ctl_ttl(skb);
	/*
	 * Not RCU: there would be a grace period, under RTNL, for each queue of a device that
	 * goes.  A message that is not refused takes the lock of each of them anyway.
	 */
	spin_lock(&sw->holds_lock);
	list_for_each_entry(h, &sw->holds, list) {
		if (!sfc_hold_same_vrf(qdisc_dev(h->watchdog.qdisc), skb->dev))
			continue;
		spin_lock(&h->lock);
		if (h->cfg.port == port) {
			++*sfc_hold_hear(h, &b);
			ours = true;
		}
		spin_unlock(&h->lock);
		if (b.refused && !(b.own && READ_ONCE(sw->holds_differ)))
			break;
	}
	spin_unlock(&sw->holds_lock);
	memzero_explicit(&b.keys, sizeof(b.keys));
	return ours;
}
