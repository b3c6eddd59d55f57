/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packet that nearly all are: TCP right behind an IPv4 header without options or an IPv6
 * header without extensions, its header in one piece, with timestamps and Bolt's option where
 * the stack and tcp_bolt put them, or without.  It is read in place, and sfc_parse() would say the
 * same.
 */
#ifndef _SFC_PARSE_H
#define _SFC_PARSE_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ip.h>
#include <net/tcp.h>

#include "packet.h"

/* A TCP header's length, as in its 13th byte: bare, with one of the two options, with both */
#define SFC_TCP_BARE	(20 << 2)
#define SFC_TCP_ONE	(32 << 2)
#define SFC_TCP_BOTH	(44 << 2)

/*
 * TCP behind @l3_len bytes of L3 at @l3, which says that all are @tot.  The headers are @head.
 * Bolt's option is @opt bytes behind the begin of TCP's; 0: there is none.
 */
static __always_inline bool sfc_parse_tcp_opt(const struct sk_buff *skb, const u8 *l3,
					      u32 l3_len, u32 head, u32 tot, u32 opt,
					      struct sfc_pkt *pkt)
{
	const u8 *th = l3 + l3_len;

	if (tot < head || pkt->l3_off + tot > skb->len)
		return false;
	pkt->l4_off = pkt->l3_off + l3_len;
	pkt->proto = IPPROTO_TCP;
	pkt->control = false;
	pkt->pausable = tot != head;
	pkt->high = !pkt->pausable && (th[13] & (TCPHDR_FIN | TCPHDR_SYN | TCPHDR_RST |
						 TCPHDR_ACK)) == TCPHDR_ACK;
	pkt->flags = 0;
	pkt->level = 0;
	pkt->t_data_tx = 0;
	pkt->form = BOLT_OPT_NONE;
	if (!opt)
		return true;
	pkt->opt_off = pkt->l4_off + opt;
	pkt->flags = th[opt + BOLT_TCPOPT_OFF_FLAGS];
	pkt->t_data_tx = get_unaligned_be32(th + opt + BOLT_TCPOPT_OFF_TX);
	pkt->level = sfc_level_of(pkt->flags, pkt->t_data_tx, th[opt + BOLT_TCPOPT_OFF_RQ + 1]);
	pkt->form = BOLT_OPT_FULL;
	/* a lie otherwise */
	return likely(!(pkt->flags & BOLT_F_DATA) || (pkt->t_data_tx && pkt->pausable));
}

/* The same; a bare header of TCP is there, in one piece. */
static __always_inline bool sfc_parse_tcp_in_place(const struct sk_buff *skb, const u8 *l3,
						   u32 l3_len, u32 tot, struct sfc_pkt *pkt)
{
	const u32 bare = l3_len + 20, one = l3_len + 32, both = l3_len + 44;
	const u8 *th = l3 + l3_len;

	switch (th[12] & 0xf0) {
	case SFC_TCP_BARE:
		return sfc_parse_tcp_opt(skb, l3, l3_len, bare, tot, 0, pkt);
	case SFC_TCP_ONE:
		if (pkt->l3_off + one > skb_headlen(skb))
			return false;
		if (bolt_opt_at_full(th + 20))
			return sfc_parse_tcp_opt(skb, l3, l3_len, one, tot, 20, pkt);
		return bolt_opt_at_ts(th + 20) &&
		       sfc_parse_tcp_opt(skb, l3, l3_len, one, tot, 0, pkt);
	case SFC_TCP_BOTH:
		return pkt->l3_off + both <= skb_headlen(skb) &&
		       bolt_opt_at_ts(th + 20) && bolt_opt_at_full(th + 32) &&
		       sfc_parse_tcp_opt(skb, l3, l3_len, both, tot, 32, pkt);
	}
	return false;
}

/* Fill in @pkt.  False: it is another kind of packet, or malformed; ask sfc_parse(). */
static __always_inline bool sfc_parse_in_place(const struct sk_buff *skb, struct sfc_pkt *pkt)
{
	const u8 *l3 = skb_network_header(skb);
	const struct ipv6hdr *ip6h = (const struct ipv6hdr *)l3;
	const struct iphdr *iph = (const struct iphdr *)l3;
	/* 64 bits: what is below zero is beyond any end */
	u64 off = (u32)(l3 - skb->data);

	if (off + sizeof(*iph) + sizeof(struct tcphdr) > skb_headlen(skb))
		return false;
	/* right behind an Ethernet header that says so */
	if (off && (off != ETH_HLEN ||
		    ((const struct ethhdr *)skb->data)->h_proto != skb->protocol))
		return false;
	pkt->l3_off = off;
	if (likely(skb->protocol == htons(ETH_P_IP))) {
		if (l3[0] != 0x45 || iph->protocol != IPPROTO_TCP || ip_is_fragment(iph))
			return false;
		pkt->family = AF_INET;
		pkt->dscp = iph->tos >> 2;
		return sfc_parse_tcp_in_place(skb, l3, sizeof(*iph), ntohs(iph->tot_len), pkt);
	}
	if (skb->protocol == htons(ETH_P_IPV6)) {
		if (off + sizeof(*ip6h) + sizeof(struct tcphdr) > skb_headlen(skb) ||
		    l3[0] >> 4 != 6 || ip6h->nexthdr != IPPROTO_TCP || !ip6h->payload_len)
			return false;
		pkt->family = AF_INET6;
		pkt->dscp = ipv6_get_dsfield(ip6h) >> 2;
		return sfc_parse_tcp_in_place(skb, l3, sizeof(*ip6h),
					   sizeof(*ip6h) + ntohs(ip6h->payload_len), pkt);
	}
	return false;
}

#endif /* _SFC_PARSE_H */
