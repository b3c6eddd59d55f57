/* SPDX-License-Identifier: GPL-2.0 */
/* What the fast path reads of a packet, in registers; parse.c reads everything of any packet. */
#ifndef _SFC_PARSE_H
#define _SFC_PARSE_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/tcp.h>

#include "packet.h"

/*
 * The common case: TCP directly behind an IPv4 header without options or an IPv6 header without
 * extensions, in one piece, with Bolt's option where the stack and tcp_bolt put it, or
 * without.  Fill in what the fast path reads: the option's flags and place, and the band.
 * sfc_parse() would say the same, for four times the instructions.  Returns false if it is another
 * kind of packet, or malformed.
 */
static __always_inline bool sfc_parse_in_place(const struct sk_buff *skb, struct sfc_pkt *pkt)
{
	const u8 *l3 = skb_network_header(skb), *th, *opt;
	const struct ipv6hdr *ip6h = (const struct ipv6hdr *)l3;
	const struct iphdr *iph = (const struct iphdr *)l3;
	unsigned long off = l3 - skb->data, headlen = skb_headlen(skb);
	unsigned long l3_len = sizeof(*iph), hlen, tot;

	/* at the start, or right behind an Ethernet header that says so */
	if (off + sizeof(*iph) + sizeof(struct tcphdr) > headlen ||
	    (off && (off != ETH_HLEN ||
		     ((const struct ethhdr *)skb->data)->h_proto != skb->protocol)))
		return false;
	if (skb->protocol == htons(ETH_P_IP)) {
		if (l3[0] != 0x45 || iph->protocol != IPPROTO_TCP || ip_is_fragment(iph))
			return false;
		tot = ntohs(iph->tot_len);
		pkt->flow.family = 4;
		pkt->flow.dscp = ipv4_get_dsfield(iph) >> 2;
	} else {
		l3_len = sizeof(*ip6h);
		if (skb->protocol != htons(ETH_P_IPV6) || l3[0] >> 4 != 6 ||
		    ip6h->nexthdr != IPPROTO_TCP || !ip6h->payload_len ||
		    off + sizeof(*ip6h) + sizeof(struct tcphdr) > headlen)
			return false;
		tot = sizeof(*ip6h) + ntohs(ip6h->payload_len);
		pkt->flow.family = 6;
		pkt->flow.dscp = ipv6_get_dsfield(ip6h) >> 2;
	}
	th = l3 + l3_len;
	hlen = l3_len + (th[12] >> 2 & 0x3c);
	if (off + hlen > headlen || hlen > tot || off + tot > skb->len)
		return false;

	pkt->flags = 0;
	pkt->l4_off = off + l3_len;
	opt = l3 + hlen - BOLT_TCPOPT_LEN;
	if (hlen - l3_len != 20) {
		if (hlen - l3_len != 20 + BOLT_TCPOPT_LEN &&
		    (hlen - l3_len != 20 + 2 * BOLT_TCPOPT_LEN || !bolt_opt_at_ts(th + 20)))
			return false;
		if (bolt_opt_at_full(opt))
			pkt->flags = opt[BOLT_TCPOPT_OFF_FLAGS];
		else if (opt != th + 20 || !bolt_opt_at_ts(opt))
			return false;
		pkt->opt_off = off + hlen - BOLT_TCPOPT_LEN;
	}
	/* DATA without payload or departure time is malformed, which the slow path counts */
	if (pkt->flags & BOLT_F_DATA &&
	    (hlen == tot || !get_unaligned_be32(opt + BOLT_TCPOPT_OFF_TX)))
		return false;
	pkt->band = 0;
	if (hlen == tot &&
	    (th[13] & (TCPHDR_FIN | TCPHDR_SYN | TCPHDR_RST | TCPHDR_ACK)) == TCPHDR_ACK)
		pkt->band = SFC_BAND_HIGH;
	return true;
}

#endif /* _SFC_PARSE_H */
