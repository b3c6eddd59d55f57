/* SPDX-License-Identifier: GPL-2.0 */
/* The short way of a message to the sender: way.c */
#ifndef _SFC_WAY_H
#define _SFC_WAY_H

#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
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

enum sfc_way_verdict {
	SFC_WAY_LONG,		/* not by this one */
	SFC_WAY_TAKEN,		/* it is on its way, not the caller's any more */
	SFC_WAY_FULL,		/* it would be, but too many are: likewise */
};

enum sfc_way_verdict sfc_way_take(struct Qdisc *sch, struct sk_buff *n);
int sfc_ways_alloc(struct sfc_sched *q);
void sfc_ways_free(struct sfc_sched *q);
void sfc_way_init(void);
void sfc_way_exit(void);

#endif /* _SFC_WAY_H */
