// SPDX-License-Identifier: GPL-2.0
/*
 * The short way of a message to the sender.
 *
 * A message that a port has made could have come in through it: the stack would route it and send
 * it on.  Where nobody looks at what comes in and goes on, all that the stack does about it is
 * known after the first one, as with a flow in netfilter's flow table: the route, which is
 * remembered for each pair of addresses and asked for again when it has changed.  So the message
 * goes to the neighbour, in the next softirq of this CPU: the qdisc is locked.
 *
 * Everything else takes the long way, by __netif_rx(): IPv6; what is for this host, goes through a
 * tunnel, or leaves by the port itself; bridges, macvlan and VRF at the port; tcpdump, tc filters
 * and netfilter, which are to see it as they always would.
 */
#include <linux/hash.h>
#include <linux/interrupt.h>
#include <net/ip.h>
#include <net/neighbour.h>
#include <net/route.h>

#include "way.h"

#define SFC_WAY_BITS	10	/* pairs of hosts; more of them ask more often */
#define SFC_OUTBOX_MAX	4096	/* messages of a CPU that wait; more than a softirq makes */

/* A route, and for whom: the message's addresses */
struct sfc_way {
	__be32			saddr;
	__be32			daddr;
	struct dst_entry	*dst;
};

/* What a CPU has yet to send.  Another one touches it when this one goes offline. */
struct sfc_outbox {
	struct sk_buff_head	queue;
	struct tasklet_struct	task;
};

static DEFINE_PER_CPU(struct sfc_outbox, sfc_outbox);

/* Does anybody look at, or take, what comes in through @dev, or what is forwarded? */
static bool sfc_way_watched(const struct net_device *dev)
{
	const struct net *net = dev_net(dev);

	return rcu_access_pointer(dev->rx_handler) || netif_is_l3_slave(dev) ||
	       !list_empty(&dev->ptype_all) || rcu_access_pointer(dev->xdp_prog) ||
	       sfc_dev_hooked(dev) || sfc_net_hooked(net) || sfc_net_encrypts(net);
}

/* The route that the stack would find, or NULL: none, or not to a neighbour's IPv4 address */
static struct dst_entry *sfc_way_find(struct sfc_sched *q, struct sk_buff *n,
				      struct net_device *dev)
{
	const struct iphdr *iph = ip_hdr(n);
	u32 hash = hash_32((__force u32)iph->daddr ^ rol32((__force u32)iph->saddr, 16),
			   SFC_WAY_BITS);
	struct sfc_way *way = &q->ways[hash];
	const struct rtable *rt;

	if (way->saddr != iph->saddr || way->daddr != iph->daddr || !way->dst ||
	    !dst_check(way->dst, 0)) {
		dst_release(way->dst);
		way->dst = NULL;
		n->dev = dev;
		if (ip_route_input_noref(n, iph->daddr, iph->saddr, iph->tos, dev))
			return NULL;
		skb_dst_force(n);
		way->saddr = iph->saddr;
		way->daddr = iph->daddr;
		way->dst = skb_dst(n);
		skb_dst_set(n, NULL);
	}
	if (!way->dst)
		return NULL;
	rt = container_of(way->dst, struct rtable, dst);
	return rt->rt_type == RTN_UNICAST && rt->dst.output == ip_output &&
	       rt->rt_gw_family != AF_INET6 && rt->dst.dev != dev ? way->dst : NULL;
}

static bool sfc_way_fits(const struct sk_buff *n, const struct dst_entry *dst)
{
	return ip_hdr(n)->ttl > 1 && n->len <= READ_ONCE(dst->dev->mtu) &&
	       LL_RESERVED_SPACE(dst->dev) <= skb_headroom(n);
}

/**
 * sfc_way_take() - send a message by the short way
 * @sch:	the port that made it, locked; BH off
 * @n:		it begins with its IP header
 */
enum sfc_way_verdict sfc_way_take(struct Qdisc *sch, struct sk_buff *n)
{
	struct net_device *dev = qdisc_dev(sch);
	struct sfc_outbox *box;
	struct dst_entry *dst;

	if (n->protocol != htons(ETH_P_IP) || sfc_way_watched(dev))
		return SFC_WAY_LONG;
	dst = sfc_way_find(qdisc_priv(sch), n, dev);
	if (!dst || !sfc_way_fits(n, dst))
		return SFC_WAY_LONG;

	/* where the stack would say that it came in: a switch does not remember its own BTS */
	n->skb_iif = dev->ifindex;
	ip_decrease_ttl(ip_hdr(n));
	skb_dst_set(n, dst_clone(dst));
	box = this_cpu_ptr(&sfc_outbox);
	spin_lock(&box->queue.lock);
	if (unlikely(skb_queue_len(&box->queue) >= SFC_OUTBOX_MAX)) {
		spin_unlock(&box->queue.lock);
		kfree_skb(n);
		return SFC_WAY_FULL;
	}
	__skb_queue_tail(&box->queue, n);
	spin_unlock(&box->queue.lock);
	tasklet_schedule(&box->task);
	return SFC_WAY_TAKEN;
}

/* A device that has gone since has left the blackhole in its place. */
static void sfc_outbox_send(struct tasklet_struct *t)
{
	struct sfc_outbox *box = from_tasklet(box, t, task);
	struct sk_buff_head list;
	struct sk_buff *n;
	__be32 nexthop;

	__skb_queue_head_init(&list);
	spin_lock(&box->queue.lock);
	skb_queue_splice_init(&box->queue, &list);
	spin_unlock(&box->queue.lock);

	rcu_read_lock();
	while ((n = __skb_dequeue(&list))) {
		nexthop = rt_nexthop(skb_rtable(n), ip_hdr(n)->daddr);
		n->dev = READ_ONCE(skb_dst(n)->dev);
		neigh_xmit(NEIGH_ARP_TABLE, n->dev, &nexthop, n);
	}
	rcu_read_unlock();
}

int sfc_ways_alloc(struct sfc_sched *q)
{
	q->ways = kvcalloc(1 << SFC_WAY_BITS, sizeof(*q->ways), GFP_KERNEL);
	return q->ways ? 0 : -ENOMEM;
}

/* Nobody sends through this port any more, if anybody ever did. */
void sfc_ways_free(struct sfc_sched *q)
{
	unsigned int i;

	for (i = 0; q->ways && i < 1 << SFC_WAY_BITS; i++)
		dst_release(q->ways[i].dst);
	kvfree(q->ways);
}

void sfc_way_init(void)
{
	struct sfc_outbox *box;
	int cpu;

	for_each_possible_cpu(cpu) {
		box = per_cpu_ptr(&sfc_outbox, cpu);
		skb_queue_head_init(&box->queue);
		tasklet_setup(&box->task, sfc_outbox_send);
	}
}

/* No port is left; what one has handed over last may yet wait. */
void sfc_way_exit(void)
{
	struct sfc_outbox *box;
	int cpu;

	for_each_possible_cpu(cpu) {
		box = per_cpu_ptr(&sfc_outbox, cpu);
		tasklet_kill(&box->task);
		skb_queue_purge(&box->queue);
	}
}
