/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A port of a router with NAT sees a packet after the translation, but the sender knows the flow by
 * its addresses before that.  With connection tracking, the packet refers to an entry that has
 * both.
 */
#ifndef _SFC_NAT_H
#define _SFC_NAT_H

#include "packet.h"

#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/addrconf.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/route.h>

/* Does the packet look as the translator leaves it? It may not be through yet, or changed again. */
static inline bool sfc_flow_is_translated(const struct sfc_flow *f,
					  const struct nf_conntrack_tuple *answer)
{
	return !memcmp(f->saddr, &answer->dst.u3, sizeof(f->saddr)) &&
	       !memcmp(f->daddr, &answer->src.u3, sizeof(f->daddr)) &&
	       f->sport == answer->dst.u.all && f->dport == answer->src.u.all;
}

static inline bool sfc_addr_is_local(const struct net_device *dev, const struct sfc_flow *f)
{
	if (f->family == 4)
		return inet_addr_type_dev_table(dev_net(dev), dev, f->saddr[0]) == RTN_LOCAL;
	/* with ipv6.disable=1 there is no table of addresses */
	return ipv6_mod_enabled() &&
	       ipv6_chk_addr(dev_net(dev), (const struct in6_addr *)f->saddr, dev, 0);
}

/*
 * Does nobody know the flow's name at its sender?  An nft flowtable leaves a packet without its
 * entry, and with an address of this router's if it has translated its source.  No packet with an
 * entry costs a lookup.
 */
static inline bool sfc_flow_is_nameless(const struct sk_buff *skb, const struct net_device *dev,
					const struct sfc_flow *f)
{
	const struct netns_nf *nf = &dev_net(dev)->nf;

	return !skb_get_nfct(skb) && skb->skb_iif && !skb->sk &&
	       rcu_access_pointer((f->family == 4 ? nf->hooks_ipv4 :
						    nf->hooks_ipv6)[NF_INET_PRE_ROUTING]) &&
	       sfc_addr_is_local(dev, f);
}

/* Name the flow as its sender does.  Returns whether that is another name. */
static inline bool sfc_flow_untranslate(const struct sk_buff *skb, struct sfc_flow *f)
{
	const struct nf_conntrack_tuple *t;
	enum ip_conntrack_info ctinfo;
	const struct nf_conn *ct = nf_ct_get(skb, &ctinfo);

	if (!ct || !(READ_ONCE(ct->status) & IPS_NAT_MASK) ||
	    !sfc_flow_is_translated(f, nf_ct_tuple(ct, !CTINFO2DIR(ctinfo))))
		return false;
	t = nf_ct_tuple(ct, CTINFO2DIR(ctinfo));
	memcpy(f->saddr, &t->src.u3, sizeof(f->saddr));
	memcpy(f->daddr, &t->dst.u3, sizeof(f->daddr));
	f->sport = t->src.u.all;
	f->dport = t->dst.u.all;
	return true;
}
#else
static inline bool sfc_flow_is_nameless(const struct sk_buff *skb, const struct net_device *dev,
					const struct sfc_flow *f)
{
	return false;
}

static inline bool sfc_flow_untranslate(const struct sk_buff *skb, struct sfc_flow *f)
{
	return false;
}
#endif

#endif /* _SFC_NAT_H */
