// SPDX-License-Identifier: GPL-2.0
/*
 * Messages that skip reception.
 *
 * Reception and the route lookup are half of the price of an SRC.  Where nothing observes what
 * comes in through the port, an IPv4 message starts behind them, at dst_input(), in a tasklet,
 * because the qdisc is locked.  From there on it is forwarded as any other packet.
 */
#include <linux/hash.h>
#include <linux/inetdevice.h>
#include <linux/jiffies.h>
#include <net/ip.h>
#include <net/route.h>

#include "packet.h"

#define SFC_OUTBOX_MAX	4096	/* messages of a port that wait; more than a softirq makes */

/* A packet socket, or a protocol, that is bound to the device and to IPv4; not an LLDP daemon */
static bool sfc_forward_captured(struct net_device *dev)
{
	const struct packet_type *ptype;
	bool found = false;

	list_for_each_entry_rcu(ptype, &dev->ptype_specific, list, rcu_read_lock_bh_held())
		found |= ptype->type == htons(ETH_P_IP);
	return found;
}

/* Would netfilter, a capture, a bridge, XDP, a VRF or tc see what comes in through @dev? */
static bool sfc_forward_observed(struct net_device *dev)
{
	if (rcu_access_pointer(dev_net(dev)->nf.hooks_ipv4[NF_INET_PRE_ROUTING]))
		return true;
#ifdef CONFIG_NETFILTER_INGRESS
	if (rcu_access_pointer(dev->nf_hooks_ingress))
		return true;
#endif
	return dev_nit_active(dev) || sfc_forward_captured(dev) ||
	       rcu_access_pointer(dev->rx_handler) ||
	       rcu_access_pointer(dev->xdp_prog) || netif_is_l3_slave(dev) ||
	       bolt_dev_ingress(dev);
}

/*
 * NULL: it leads back to the port, where IP may have to send a redirect, or IP drops it.
 * "Unreachable" is a route, too.
 */
static struct dst_entry *sfc_forward_route(struct sfc_forward *f, struct sk_buff *n)
{
	const struct iphdr *iph = ip_hdr(n);
	u32 pair = (__force u32)iph->daddr ^ rol32((__force u32)iph->saddr, 16);
	struct sfc_route *r = &f->routes[hash_32(pair, SFC_ROUTE_BITS)];

	if (likely(r->saddr == iph->saddr && r->daddr == iph->daddr)) {
		if (likely(r->dst && dst_check(r->dst, 0)))
			return r->dst;
		/* reception looks it up itself: not twice for each message */
		if (!r->dst && time_before_eq(jiffies, r->refused))
			return NULL;
	}
	dst_release(r->dst);
	*r = (struct sfc_route){ .saddr = iph->saddr, .daddr = iph->daddr, .refused = jiffies };
	rcu_read_lock();
	if (!ip_route_input_noref(n, iph->daddr, iph->saddr, iph->tos, n->dev) &&
	    skb_dst(n)->dev != n->dev && skb_dst_force(n))
		r->dst = dst_clone(skb_dst(n));
	rcu_read_unlock();
	skb_dst_drop(n);
	return r->dst;
}

/*
 * Forward @n, an IPv4 packet that came in through @dev; false: use reception instead.
 * Context: qdisc locked, BH off
 */
bool sfc_forward(struct sfc_forward *f, struct sk_buff *n, struct net_device *dev)
{
	struct dst_entry *dst;

	if (sfc_forward_observed(dev))
		return false;
	n->dev = dev;
	/* empty, but set: before a84b6fedbc97 netfilter's LOG prints it in any case */
	skb_reset_mac_header(n);
	n->skb_iif = dev->ifindex;
	IPCB(n)->iif = n->skb_iif;
	dst = sfc_forward_route(f, n);
	if (llist_empty(&f->outbox))
		f->waiting = 0;
	if (unlikely(!dst || f->waiting == SFC_OUTBOX_MAX))
		return false;
	f->waiting++;
	skb_dst_set(n, dst_clone(dst));
	if (llist_add(&n->ll_node, &f->outbox))
		tasklet_schedule(&f->task);
	return true;
}

/* As the end of ip_rcv_finish(), for all that wait: what comes meanwhile is for the next run. */
static void sfc_forward_send(struct tasklet_struct *t)
{
	struct sfc_forward *f = from_tasklet(f, t, task);
	struct llist_node *list = llist_reverse_order(llist_del_all(&f->outbox));
	struct in_device *in_dev;
	struct sk_buff *n, *next;

	rcu_read_lock();
	llist_for_each_entry_safe(n, next, list, ll_node) {
		skb_mark_not_on_list(n);
		in_dev = __in_dev_get_rcu(n->dev);
		if (in_dev && IN_DEV_ORCONF(in_dev, NOPOLICY))
			IPCB(n)->flags |= IPSKB_NOPOLICY;
		dst_input(n);
	}
	rcu_read_unlock();
}

void sfc_forward_init(struct sfc_forward *f)
{
	init_llist_head(&f->outbox);
	tasklet_setup(&f->task, sfc_forward_send);
}

/* Nothing is added any more; what waits is forwarded. */
void sfc_forward_exit(struct sfc_forward *f)
{
	int i;

	tasklet_kill(&f->task);
	for (i = 0; i < ARRAY_SIZE(f->routes); i++)
		dst_release(f->routes[i].dst);
}
