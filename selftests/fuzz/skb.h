/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of an sk_buff as sch_sfc/parse.c looks at: a linear part and one fragment, each exactly
 * as long as its memory.  Includes first what sch_sfc/sfc.h would bring.
 */
#ifndef _FUZZ_SKB_H
#define _FUZZ_SKB_H

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "kernel.h"
#include <bolt_option.h>
#include "../../sch_sfc/cache.h"

/* A constant, for switch() */
#undef htons
#define htons(x)		__builtin_bswap16(x)

#define NEXTHDR_HOP		0
#define NEXTHDR_ROUTING		43
#define NEXTHDR_FRAGMENT	44
#define NEXTHDR_AUTH		51
#define NEXTHDR_NONE		59
#define NEXTHDR_DEST		60
#define TCPHDR_FIN		0x01
#define TCPHDR_SYN		0x02
#define TCPHDR_RST		0x04
#define TCPHDR_ACK		0x10
#define TCPOPT_TIMESTAMP	8
#define TCPOLEN_TIMESTAMP	10
#define CHECKSUM_NONE		0
#define CHECKSUM_PARTIAL	3

struct net_device {
	unsigned short	type;
};

struct sk_buff {
	struct net_device *dev;
	u8		*data;
	u8		*frag;
	unsigned int	len;
	unsigned int	headlen;
	unsigned int	headroom;	/* before @data, of the same memory: aligns L3 */
	int		network_offset;
	int		skb_iif;
	__be16		protocol;
	u8		ip_summed;
};

/* What of the qdisc's own packet.h mentions and parse.c has no use for */
#define _SFC_H
#define SFC_SEGS_MAX	4096
#define SFC_BAND_HIGH	8
#define SFC_PFC_FRAME	60
#define TC_SFC_F_SRC	2
#define skb_is_gso(skb)	false
#define skb_shinfo(skb)	((struct { u32 gso_segs, gso_size; } *)NULL)
#define qdisc_cb_private_validate(skb, size)	((void)(skb))
#define qdisc_skb_cb(skb)	((struct { u8 data[8]; } *)(skb))

struct sfc_sched {
	struct { u32 flags; u8 dscp[64], defband; } cfg;
	struct { struct { u32 kbps; } rate; } alg;
};

struct Qdisc;
struct sfc_forward;

static inline int skb_network_offset(const struct sk_buff *skb)
{
	return skb->network_offset;
}

static inline u8 *skb_network_header(const struct sk_buff *skb)
{
	return skb->data + skb->network_offset;
}

static inline unsigned int skb_headlen(const struct sk_buff *skb)
{
	return skb->headlen;
}

#define VLAN_HLEN	4
#define VLAN_MAX_DEPTH	8

struct vlan_hdr {
	__be16	h_vlan_TCI;
	__be16	h_vlan_encapsulated_proto;
};

static inline bool eth_type_vlan(__be16 type)
{
	return type == htons(ETH_P_8021Q) || type == htons(ETH_P_8021AD);
}

static inline bool skb_shared(const struct sk_buff *skb)
{
	(void)skb;
	return false;
}

static inline int skb_copy_bits(const struct sk_buff *skb, int off, void *to, int len)
{
	u8 *p = to;

	if (off < 0 || len < 0 || (s64)off + len > skb->len)
		return -EFAULT;
	for (; len--; off++)
		*p++ = (u32)off < skb->headlen ? skb->data[off] : skb->frag[off - skb->headlen];
	return 0;
}

static inline void *skb_header_pointer(const struct sk_buff *skb, int off, int len, void *buf)
{
	if (off >= 0 && (s64)off + len <= skb->headlen)
		return skb->data + off;
	return skb_copy_bits(skb, off, buf, len) ? NULL : buf;
}

/* The linear part moves, as it may in the kernel. */
static inline int skb_ensure_writable(struct sk_buff *skb, unsigned int len)
{
	u8 *all;

	if (len > skb->len)
		return -ENOMEM;
	all = (u8 *)malloc(skb->headroom + skb->len) + skb->headroom;
	skb_copy_bits(skb, 0, all, skb->len);
	free(skb->data - skb->headroom);
	free(skb->frag);
	skb->data = all;
	skb->frag = NULL;
	skb->headlen = skb->len;
	return 0;
}

static inline bool ip_is_fragment(const struct iphdr *iph)
{
	return iph->frag_off & htons(0x3fff);
}

static inline u8 ipv4_get_dsfield(const struct iphdr *iph)
{
	return iph->tos;
}

static inline u8 ipv6_get_dsfield(const struct ipv6hdr *ip6h)
{
	const u8 *p = (const u8 *)ip6h;

	return p[0] << 4 | p[1] >> 4;
}

static inline bool ipv6_ext_hdr(u8 next)
{
	return next == NEXTHDR_HOP || next == NEXTHDR_ROUTING || next == NEXTHDR_FRAGMENT ||
	       next == NEXTHDR_AUTH || next == NEXTHDR_NONE || next == NEXTHDR_DEST;
}

static inline void ipv6_addr_set_v4mapped(__be32 addr, void *to)
{
	const __be32 words[] = { 0, 0, htonl(0xffff), addr };

	memcpy(to, words, sizeof(words));
}

static inline void csum_replace2(u16 *sum, __be16 old, __be16 new)
{
	u32 x = (u16)~*sum + (u16)~old + new;

	x = (x & 0xffff) + (x >> 16);
	*sum = ~(u16)(x + (x >> 16));
}

#endif /* _FUZZ_SKB_H */
