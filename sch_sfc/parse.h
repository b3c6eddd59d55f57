/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packet that nearly all are: TCP right behind an IPv4 header without options or an IPv6
 * header without extensions, its header in one piece, with timestamps and Bolt's option where
 * the stack and tcp_bolt put them, or without.  It is read in place, and sfc_parse() would say the
 * same.
 */
#ifndef _SFC_PARSE_H
#define _SFC_PARSE_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ip.h>
#include <net/tcp.h>

#include "sfc.h"

/* A TCP header's length, as in its 13th byte: bare, with one of the two options, with both */
#define SFC_TCP_BARE	(20 << 2)
#define SFC_TCP_ONE	(32 << 2)
#define SFC_TCP_BOTH	(44 << 2)

/* First words of options: NOP, NOP, timestamps (RFC 7323, appendix A); Bolt's in full */
static inline bool sfc_opt_is_ts(const u8 *p)
{
	return get_unaligned((const __be32 *)p) ==
	       htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 | TCPOPT_TIMESTAMP << 8 |
		     TCPOLEN_TIMESTAMP);
}

static inline bool sfc_opt_is_bolt(const u8 *p)
{
	return get_unaligned((const __be32 *)p) ==
	       htonl((u32)BOLT_TCPOPT_KIND << 24 | BOLT_TCPOPT_LEN << 16 | BOLT_TCPOPT_EXID);
}

/* Fill in @pkt.  False: it is another kind of packet, or malformed; ask sfc_parse(). */
static __always_inline bool sfc_parse_plain(const struct sk_buff *skb, struct sfc_pkt *pkt)
{
	const u8 *l3 = skb_network_header(skb), *th, *opt = NULL;
	int l3_off = l3 - skb->data;
	int len = skb->len - l3_off;
	int linear = len - skb->data_len;
	int tot, head;

	if (unlikely(l3_off < 0 || linear < (int)(sizeof(struct iphdr) + sizeof(struct tcphdr))))
		return false;
	if (likely(skb->protocol == htons(ETH_P_IP))) {
		const struct iphdr *iph = (const struct iphdr *)l3;

		if (l3[0] != 0x45 || iph->protocol != IPPROTO_TCP || ip_is_fragment(iph))
			return false;
		pkt->family = AF_INET;
		pkt->dscp = iph->tos >> 2;
		tot = ntohs(iph->tot_len);
		head = sizeof(*iph);
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip6h = (const struct ipv6hdr *)l3;

		if (l3[0] >> 4 != 6 || ip6h->nexthdr != IPPROTO_TCP || !ip6h->payload_len ||
		    linear < (int)(sizeof(*ip6h) + sizeof(struct tcphdr)))
			return false;
		pkt->family = AF_INET6;
		pkt->dscp = ipv6_get_dsfield(ip6h) >> 2;
		tot = ntohs(ip6h->payload_len) + sizeof(*ip6h);
		head = sizeof(*ip6h);
	} else {
		return false;
	}

	th = l3 + head;
	pkt->l3_off = l3_off;
	pkt->l4_off = l3_off + head;
	pkt->proto = IPPROTO_TCP;
	pkt->band = SFC_BAND_HIGH;
	pkt->control = false;
	head += (th[12] & 0xf0) >> 2;
	if (unlikely(head > linear || head > tot || tot > len))
		return false;

	switch (th[12] & 0xf0) {
	case SFC_TCP_BARE:
		break;
	case SFC_TCP_ONE:
		if (likely(sfc_opt_is_bolt(th + 20)))
			opt = th + 20;
		else if (!sfc_opt_is_ts(th + 20))
			return false;
		break;
	case SFC_TCP_BOTH:
		if (!sfc_opt_is_ts(th + 20) || !sfc_opt_is_bolt(th + 32))
			return false;
		opt = th + 32;
		break;
	default:
		return false;
	}

	pkt->pausable = tot != head;
	pkt->high = !pkt->pausable && (th[13] & (TCPHDR_FIN | TCPHDR_SYN | TCPHDR_RST |
						 TCPHDR_ACK)) == TCPHDR_ACK;
	if (!opt) {
		pkt->flags = 0;
		pkt->t_data_tx = 0;
		pkt->form = BOLT_OPT_NONE;
		return true;
	}
	pkt->opt_off = opt - skb->data;
	pkt->flags = opt[BOLT_TCPOPT_OFF_FLAGS];
	pkt->t_data_tx = get_unaligned_be32(opt + BOLT_TCPOPT_OFF_TX);
	pkt->form = BOLT_OPT_FULL;
	/* a lie otherwise */
	return likely(!(pkt->flags & BOLT_F_DATA) || (pkt->t_data_tx && pkt->pausable));
}

#endif /* _SFC_PARSE_H */
