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
#include <linux/interrupt.h>
#include <linux/llist.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/neighbour.h>
#include <net/route.h>

#include <bolt_msg.h>
#include "way.h"

#define SFC_OUTBOX_MAX	4096	/* messages of a CPU that wait; more than a softirq makes */

/*
 * struct sfc_outbox - what a CPU has yet to send
 * @list:	messages, newest first
 * @task:	sends them; on another CPU when this one has gone offline
 * @waiting:	on @list; a bound, which may be off by what this CPU adds while another one sends
 */
struct sfc_outbox {
	struct llist_head	list;
	struct tasklet_struct	task;
	unsigned int		waiting;
};

static DEFINE_PER_CPU(struct sfc_outbox, sfc_outbox);

/* Of these hosts, or of these no more, nothing is known. */
void sfc_way_forget(struct sfc_way *way)
{
	dst_release(way->dst);
	way->dst = NULL;
	way->near = false;
}

/*
 * May messages like this one go by it, the longest as well: a BTS, tagged, about a packet without
 * IP options?  A device whose MTU changes flushes the routes.
 */
static bool sfc_way_near(const struct dst_entry *dst, const struct sk_buff *n,
			 const struct net_device *dev)
{
	const struct rtable *rt = container_of(dst, struct rtable, dst);
	unsigned int len = sizeof(struct iphdr) + sizeof(struct udphdr) +
			   bolt_msg_len(BOLT_CTL_BTS, BOLT_CTL_F_TAGGED, BOLT_CTL_QUOTE_MIN);

	return rt->rt_type == RTN_UNICAST && dst->output == ip_output &&
	       rt->rt_gw_family != AF_INET6 && dst->dev != dev && ip_hdr(n)->ttl > 1 &&
	       len <= READ_ONCE(dst->dev->mtu);
}

/**
 * sfc_way_learn() - ask for the route that the stack would find
 * @sch:	the port, locked; BH off
 * @way:	sfc_way_of()'s
 * @n:		a message that could take it; it begins with its IP header
 *
 * Returns whether it may take it.
 */
bool sfc_way_learn(struct Qdisc *sch, struct sfc_way *way, struct sk_buff *n)
{
	const struct iphdr *iph = ip_hdr(n);

	if (way->dst)
		return false;
	n->dev = qdisc_dev(sch);
	if (ip_route_input_noref(n, iph->daddr, iph->saddr, iph->tos, n->dev))
		return false;
	skb_dst_force(n);
	way->dst = skb_dst(n);
	skb_dst_set(n, NULL);
	way->near = way->dst && sfc_way_near(way->dst, n, n->dev);
	return way->near && LL_RESERVED_SPACE(way->dst->dev) <= skb_headroom(n);
}

/**
 * sfc_way_send() - send a message
 * @n:	begins with its IP header, and knows its route; BH off
 *
 * False: too many wait.  It is not the caller's any more.
 */
bool sfc_way_send(struct sk_buff *n)
{
	struct sfc_outbox *box = this_cpu_ptr(&sfc_outbox);

	if (unlikely(READ_ONCE(box->waiting) >= SFC_OUTBOX_MAX)) {
		kfree_skb(n);
		return false;
	}
	WRITE_ONCE(box->waiting, box->waiting + 1);
	if (llist_add(&n->ll_node, &box->list))
		tasklet_schedule(&box->task);
	return true;
}

/* As ip_finish_output2() does.  A device that has gone since has left the blackhole behind. */
static void sfc_outbox_xmit(struct sk_buff *n)
{
	const struct rtable *rt = skb_rtable(n);
	struct neighbour *neigh;

	n->dev = READ_ONCE(rt->dst.dev);
	neigh = ip_neigh_gw4(n->dev, rt_nexthop(rt, ip_hdr(n)->daddr));
	if (IS_ERR(neigh))
		kfree_skb(n);
	else
		neigh_output(neigh, n, false);
}

static void sfc_outbox_send(struct tasklet_struct *t)
{
	struct sfc_outbox *box = from_tasklet(box, t, task);
	struct sk_buff *n, *next;
	struct llist_node *list;

	WRITE_ONCE(box->waiting, 0);
	list = llist_reverse_order(llist_del_all(&box->list));
	rcu_read_lock();
	llist_for_each_entry_safe(n, next, list, ll_node) {
		skb_mark_not_on_list(n);
		sfc_outbox_xmit(n);
	}
	rcu_read_unlock();
}

int sfc_ways_alloc(struct sfc_sched *q)
{
	q->ways = kvcalloc(1 << SFC_WAY_BITS, sizeof(*q->ways), GFP_KERNEL);
	return q->ways ? 0 : -ENOMEM;
}

/* The addresses, or the hops, of messages change. */
void sfc_ways_forget(struct sfc_sched *q)
{
	unsigned int i;

	for (i = 0; i < 1 << SFC_WAY_BITS; i++)
		sfc_way_forget(&q->ways[i]);
}

/* Nobody sends through this port any more, if anybody ever did. */
void sfc_ways_free(struct sfc_sched *q)
{
	if (q->ways)
		sfc_ways_forget(q);
	kvfree(q->ways);
}

void sfc_way_init(void)
{
	struct sfc_outbox *box;
	int cpu;

	for_each_possible_cpu(cpu) {
		box = per_cpu_ptr(&sfc_outbox, cpu);
		init_llist_head(&box->list);
		tasklet_setup(&box->task, sfc_outbox_send);
	}
}

/* No port is left; what one has handed over last may yet wait. */
void sfc_way_exit(void)
{
	struct sfc_outbox *box;
	struct sk_buff *n, *next;
	int cpu;

	for_each_possible_cpu(cpu) {
		box = per_cpu_ptr(&sfc_outbox, cpu);
		tasklet_kill(&box->task);
		llist_for_each_entry_safe(n, next, llist_del_all(&box->list), ll_node) {
			skb_mark_not_on_list(n);
			kfree_skb(n);
		}
	}
}
