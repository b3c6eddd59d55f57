// SPDX-License-Identifier: GPL-2.0
/*
 * ECN as a data center switch does it: CE on what arrives at a queue beyond a threshold, by the
 * instantaneous queue (DCTCP, section 3.1), nothing is dropped.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/inet_ecn.h>

#include "sfc.h"

/* Returns whether the packet carries a CE that it did not carry before. */
bool sfc_mark_ce(struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	u32 hlen = pkt->family == AF_INET ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	void *l3;
	u8 tos;

	if (!pkt->family || skb_shared(skb) || skb_ensure_writable(skb, pkt->l3_off + hlen))
		return false;
	l3 = skb->data + pkt->l3_off;
	tos = pkt->family == AF_INET ? ipv4_get_dsfield(l3) : ipv6_get_dsfield(l3);
	if (INET_ECN_is_not_ect(tos) || INET_ECN_is_ce(tos))
		return false;
	return pkt->family == AF_INET ? IP_ECN_set_ce(l3) : IP6_ECN_set_ce(skb, l3);
}
