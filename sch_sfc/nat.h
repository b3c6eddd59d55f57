/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A port of a router that translates addresses sees a packet after the translation; its sender
 * knows the flow by what was there before.  Connection tracking, where it is on, left its entry at
 * the packet: both names of the flow stand in it.
 */
#ifndef _SFC_NAT_H
#define _SFC_NAT_H

#include <linux/netfilter.h>
#include <linux/skbuff.h>
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/netfilter/nf_conntrack.h>
#endif

/**
 * struct sfc_ends - a flow's addresses and ports; of IPv4 the first word, zeros behind it
 */
struct sfc_ends {
	union nf_inet_addr	saddr;
	union nf_inet_addr	daddr;
	__be16			sport;
	__be16			dport;
};

#if IS_ENABLED(CONFIG_NF_CONNTRACK)
/* Does the packet look as the translator leaves it? It may not be through yet, or changed again. */
static inline bool sfc_ends_translated(const struct sfc_ends *ends,
				       const struct nf_conntrack_tuple *answer)
{
	return !memcmp(&ends->saddr, &answer->dst.u3, sizeof(ends->saddr)) &&
	       !memcmp(&ends->daddr, &answer->src.u3, sizeof(ends->daddr)) &&
	       ends->sport == answer->dst.u.all && ends->dport == answer->src.u.all;
}

/* Name the flow as its sender does.  Returns whether that is another name. */
static inline bool sfc_ends_untranslate(const struct sk_buff *skb, struct sfc_ends *ends)
{
	const struct nf_conntrack_tuple *t;
	enum ip_conntrack_info ctinfo;
	const struct nf_conn *ct = nf_ct_get(skb, &ctinfo);

	if (!ct || !(READ_ONCE(ct->status) & IPS_NAT_MASK))
		return false;
	if (!sfc_ends_translated(ends, nf_ct_tuple(ct, !CTINFO2DIR(ctinfo))))
		return false;
	t = nf_ct_tuple(ct, CTINFO2DIR(ctinfo));
	*ends = (struct sfc_ends){
		.saddr = t->src.u3, .daddr = t->dst.u3,
		.sport = t->src.u.all, .dport = t->dst.u.all,
	};
	return true;
}
#else
static inline bool sfc_ends_untranslate(const struct sk_buff *skb, struct sfc_ends *ends)
{
	return false;
}
#endif

#endif /* _SFC_NAT_H */
