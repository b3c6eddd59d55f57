/* SPDX-License-Identifier: GPL-2.0 */
/* The short way of a message to the sender: way.c */
#ifndef _SFC_WAY_H
#define _SFC_WAY_H

#include <linux/hash.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <net/dst.h>
#include <net/net_namespace.h>

#include "sfc.h"

/* tc filters, BPF or nftables of the device look at what comes in. */
static inline bool sfc_dev_hooked(const struct net_device *dev)
{
#ifdef CONFIG_NETFILTER_INGRESS
	if (rcu_access_pointer(dev->nf_hooks_ingress))
		return true;
#endif
	return bolt_dev_ingress(dev);
}

/* netfilter looks at what is forwarded. */
static inline bool sfc_net_hooked(const struct net *net)
{
#ifdef CONFIG_NETFILTER
	return rcu_access_pointer(net->nf.hooks_ipv4[NF_INET_PRE_ROUTING]) ||
	       rcu_access_pointer(net->nf.hooks_ipv4[NF_INET_FORWARD]) ||
	       rcu_access_pointer(net->nf.hooks_ipv4[NF_INET_POST_ROUTING]);
#else
	return false;
#endif
}

/* IPsec has a say in what is forwarded. */
static inline bool sfc_net_encrypts(const struct net *net)
{
#ifdef CONFIG_XFRM
	return net->xfrm.policy_count[XFRM_POLICY_FWD] || net->xfrm.policy_count[XFRM_POLICY_OUT] ||
	       net->xfrm.policy_default[XFRM_POLICY_FWD] == XFRM_USERPOLICY_BLOCK ||
	       net->xfrm.policy_default[XFRM_POLICY_OUT] == XFRM_USERPOLICY_BLOCK;
#else
	return false;
#endif
}

/* Does anybody look at, or take, what comes in through @dev, or what is forwarded? */
static inline bool sfc_way_watched(const struct net_device *dev)
{
	const struct net *net = dev_net(dev);

	return rcu_access_pointer(dev->rx_handler) || netif_is_l3_slave(dev) ||
	       !list_empty(&dev->ptype_all) || rcu_access_pointer(dev->xdp_prog) ||
	       sfc_dev_hooked(dev) || sfc_net_hooked(net) || sfc_net_encrypts(net);
}

#define SFC_WAY_BITS	10	/* pairs of hosts; more of them ask more often */

/**
 * struct sfc_way - what is remembered of a pair of hosts
 * @saddr:	of data
 * @daddr:	likewise
 * @dst:	the route of a message to the sender, if one has been asked for
 * @near:	... which goes to a neighbour: it may be taken
 */
struct sfc_way {
	__be32			saddr;
	__be32			daddr;
	struct dst_entry	*dst;
	bool			near;
};

void sfc_way_forget(struct sfc_way *way);
bool sfc_way_learn(struct Qdisc *sch, struct sfc_way *way, struct sk_buff *n);
bool sfc_way_send(struct sk_buff *n);
int sfc_ways_alloc(struct sfc_sched *q);
void sfc_ways_forget(struct sfc_sched *q);
void sfc_ways_free(struct sfc_sched *q);
void sfc_way_init(void);
void sfc_way_exit(void);

/**
 * sfc_way_of() - what is remembered of the hosts of a packet
 * @sch:	the port, locked; BH off
 * @skb:	the packet
 * @pkt:	what it is
 *
 * NULL: the answer takes the long way.  Else the packet is IPv4 without options, in its usual link
 * header, as its sender sent it, and can be quoted from where it lies.
 */
static __always_inline struct sfc_way *sfc_way_of(struct Qdisc *sch, const struct sk_buff *skb,
						  const struct sfc_pkt *pkt)
{
	const struct net_device *dev = qdisc_dev(sch);
	const struct sfc_sched *q = qdisc_priv(sch);
	const struct iphdr *iph;
	struct sfc_way *way;
	u32 hash;

	if (pkt->family != AF_INET || pkt->l4_off != pkt->l3_off + (int)sizeof(*iph) ||
	    pkt->l4_off + BOLT_CTL_L4_QUOTE > skb_headlen(skb))
		return NULL;
	/* a tag is for a device on top of this one */
	if (skb_vlan_tag_present(skb) || skb_nfct(skb) ||
	    (dev->type == ARPHRD_ETHER && pkt->l3_off != ETH_HLEN) || sfc_way_watched(dev))
		return NULL;

	iph = (const struct iphdr *)(skb->data + pkt->l3_off);
	hash = hash_32((__force u32)iph->saddr ^ rol32((__force u32)iph->daddr, 16), SFC_WAY_BITS);
	way = &q->ways[hash];
	if (unlikely(way->saddr != iph->saddr || way->daddr != iph->daddr ||
		     (way->dst && !dst_check(way->dst, 0)))) {
		sfc_way_forget(way);
		way->saddr = iph->saddr;
		way->daddr = iph->daddr;
	}
	return way;
}

#endif /* _SFC_WAY_H */
