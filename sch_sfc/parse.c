// SPDX-License-Identifier: GPL-2.0
/*
 * What is this packet, of which flow, and what does it say if it is a control message?  Reads
 * headers in place or by copy, never changes the packet; the one function that does is at the end.
 *
 * High band (Bolt, section 3.1: ACK and SRC before data):
 * - TCP segments that carry an ACK and nothing that takes sequence space: payload, SYN
 *   and FIN must not overtake data of their own flow, nor must RST, which the receiver checks
 *   against the next sequence number (RFC 5961).
 * - Control messages: UDP, both ports the control port, no longer than one can be.
 * - PAUSE frames of the host itself (pfc.c)
 * All else, ARP and ICMP included, queues with the data, as in any FIFO.
 *
 * Fragments and packets in tunnels have no option as far as a port is concerned.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/dsfield.h>
#include <net/ip.h>

#include <bolt_ip6.h>
#include <bolt_keys.h>
#include "packet.h"

/* L3: find L4.  Returns its protocol and the bytes from l4_off on, or -1. */
static int sfc_parse_ip4(const struct sk_buff *skb, struct sfc_pkt *pkt, u32 *l4_len)
{
	const struct iphdr *iph;
	struct iphdr buf __uninitialized;
	u32 hlen, tot;

	iph = skb_header_pointer(skb, pkt->l3_off, sizeof(buf), &buf);
	if (!iph || iph->version != 4 || iph->ihl < 5)
		return -1;
	hlen = iph->ihl * 4;
	/* 0: BIG TCP.  Less than the rest: padded to the shortest frame. */
	tot = ntohs(iph->tot_len) ?: skb->len - pkt->l3_off;
	if (tot < hlen || tot > skb->len - pkt->l3_off)
		return -1;
	pkt->flow.family = 4;
	pkt->flow.dscp = ipv4_get_dsfield(iph) >> 2;
	pkt->flow.saddr[0] = iph->saddr;
	pkt->flow.daddr[0] = iph->daddr;
	if (ip_is_fragment(iph))
		return -1;
	pkt->l4_off = pkt->l3_off + hlen;
	*l4_len = tot - hlen;
	return iph->protocol;
}

static int sfc_parse_ip6(const struct sk_buff *skb, struct sfc_pkt *pkt, u32 *l4_len)
{
	const struct ipv6hdr *ip6h;
	struct ipv6hdr buf __uninitialized;
	u32 tot;
	u8 next;
	int off;

	ip6h = skb_header_pointer(skb, pkt->l3_off, sizeof(buf), &buf);
	if (!ip6h || ip6h->version != 6)
		return -1;
	/* 0: BIG TCP behind a jumbo option */
	tot = ntohs(ip6h->payload_len);
	tot = tot ? tot + sizeof(*ip6h) : skb->len - pkt->l3_off;
	if (tot > skb->len - pkt->l3_off)
		return -1;
	pkt->flow.family = 6;
	pkt->flow.dscp = ipv6_get_dsfield(ip6h) >> 2;
	memcpy(pkt->flow.saddr, &ip6h->saddr, sizeof(pkt->flow.saddr));
	memcpy(pkt->flow.daddr, &ip6h->daddr, sizeof(pkt->flow.daddr));
	next = ip6h->nexthdr;
	off = bolt_ip6_skip(skb, pkt->l3_off + sizeof(*ip6h), &next);
	if (off < 0 || off - pkt->l3_off > tot)
		return -1;
	pkt->l4_off = off;
	*l4_len = tot - (off - pkt->l3_off);
	return next;
}

static void sfc_parse_tcp(const struct sk_buff *skb, struct sfc_pkt *pkt, u32 l4_len)
{
	u8 opts[BOLT_TCPOPT_SPACE] __uninitialized;
	unsigned int off, hlen, opts_len;
	const struct tcphdr *th;
	struct bolt_opt opt;
	struct tcphdr buf __uninitialized;
	const u8 *p;

	th = skb_header_pointer(skb, pkt->l4_off, sizeof(buf), &buf);
	hlen = th ? th->doff * 4 : 0;
	if (hlen < sizeof(*th) || hlen > l4_len)
		return;
	pkt->flow.proto = IPPROTO_TCP;
	pkt->flow.sport = th->source;
	pkt->flow.dport = th->dest;
	pkt->pausable = hlen != l4_len;
	if (th->ack && !th->syn && !th->fin && !th->rst && !pkt->pausable)
		pkt->band = SFC_BAND_HIGH;

	opts_len = hlen - sizeof(*th);
	if (opts_len < BOLT_TCPOPT_LEN_SYN)
		return;
	p = skb_header_pointer(skb, pkt->l4_off + sizeof(*th), opts_len, opts);
	if (!p)
		return;
	/* where the stack and tcp_bolt put it, there is nothing to walk */
	off = opts_len >= 2 * BOLT_TCPOPT_LEN && bolt_opt_at_ts(p) ? BOLT_TCPOPT_LEN : 0;
	if (opts_len - off >= BOLT_TCPOPT_LEN && bolt_opt_at_full(p + off))
		pkt->form = BOLT_OPT_FULL;
	else
		pkt->form = bolt_opt_find(p, opts_len, &off);
	/* the connection's first packet, or the answer to it, is before any of its messages */
	if (pkt->form == BOLT_OPT_SYN && th->syn)
		pkt->level = 1;
	if (pkt->form != BOLT_OPT_FULL) {
		if (bolt_opt_seek(p, opts_len, TCPOPT_TIMESTAMP, &off) == TCPOLEN_TIMESTAMP)
			pkt->t_data_tx = get_unaligned_be32(p + off + 2);
		return;
	}

	bolt_opt_read(p + off, &opt);
	/* DATA on a segment without payload or departure time is malformed */
	if (opt.flags & BOLT_F_DATA && (!opt.t_data_tx || !pkt->pausable)) {
		pkt->form = BOLT_OPT_BAD;
		return;
	}
	pkt->opt_off = pkt->l4_off + sizeof(*th) + off;
	pkt->flags = opt.flags;
	pkt->t_data_tx = opt.t_data_tx;
	/* its low byte, but of what echoes the t_data_tx of data */
	pkt->level = opt.rq_delay;
	if ((!(opt.flags & BOLT_F_DATA) && opt.t_data_tx) || pkt->level > BOLT_LEVEL_MAX)
		pkt->level = 0;
}

/*
 * Offset of the L3 header, and its type in @type; -1: there is none.  On Ethernet both are what the
 * frame says: a bridge leaves skb's network header at an inner tag, a packet socket at any place.
 * A packet that ifb has from a device without Ethernet begins with L3.
 */
static int sfc_find_l3(const struct sk_buff *skb, __be16 *type)
{
	int off = skb_network_offset(skb), tags;
	const struct vlan_hdr *tag;
	const struct ethhdr *eth;
	struct vlan_hdr tag_buf;
	struct ethhdr buf __uninitialized;

	*type = skb->protocol;
	if (skb->dev->type != ARPHRD_ETHER || !off)
		return off;
	eth = skb_header_pointer(skb, 0, sizeof(buf), &buf);
	if (!eth || eth->h_proto != *type)
		return -1;
	off = ETH_HLEN;
	for (tags = 0; eth_type_vlan(*type); tags++) {
		tag = skb_header_pointer(skb, off, sizeof(tag_buf), &tag_buf);
		if (!tag || tags == VLAN_MAX_DEPTH)
			return -1;
		*type = tag->h_vlan_encapsulated_proto;
		off += VLAN_HLEN;
	}
	return off;
}

/* A header that begins with two ports: of a control message, if both are @port and it is short */
static void sfc_parse_ports(const struct sk_buff *skb, struct sfc_pkt *pkt, u8 proto, u32 l4_len,
			    u16 port)
{
	__be16 *ports, buf[2];

	ports = skb_header_pointer(skb, pkt->l4_off, sizeof(buf), buf);
	if (!ports || l4_len < BOLT_CTL_L4_QUOTE)
		return;
	pkt->flow.proto = proto;
	pkt->flow.sport = ports[0];
	pkt->flow.dport = ports[1];
	pkt->control = proto == IPPROTO_UDP && ports[0] == htons(port) && ports[1] == htons(port) &&
		       l4_len <= sizeof(struct udphdr) + BOLT_CTL_LEN_MAX;
	if (pkt->control)
		pkt->band = SFC_BAND_HIGH;
	pkt->pausable = !pkt->control;
}

/* Fill in @pkt.  @port is the control port in host byte order. */
void sfc_parse(const struct sk_buff *skb, u16 port, struct sfc_pkt *pkt)
{
	u32 l4_len = 0;
	__be16 type;
	int proto;

	*pkt = (struct sfc_pkt){ .l3_off = sfc_find_l3(skb, &type) };
	if (unlikely(pkt->l3_off < 0 || pkt->l3_off > skb->len))
		return;

	switch (type) {
	case htons(ETH_P_IP):
		proto = sfc_parse_ip4(skb, pkt, &l4_len);
		break;
	case htons(ETH_P_IPV6):
		proto = sfc_parse_ip6(skb, pkt, &l4_len);
		break;
	case htons(ETH_P_PAUSE):
		/* a bridge forwards those to an address of a host, of any length */
		if (!skb->skb_iif && skb->len <= SFC_PFC_FRAME)
			pkt->band = SFC_BAND_HIGH;
		return;
	default:
		return;
	}

	if (proto == IPPROTO_TCP)
		sfc_parse_tcp(skb, pkt, l4_len);
	else if (proto > 0 && bolt_msg_has_ports(proto))
		sfc_parse_ports(skb, pkt, proto, l4_len, port);
}

/*
 * Will a segment routing header send the packet on from its destination?  Its sender chooses the
 * segments, and what a message quotes is the flow to the last of them.
 */
bool sfc_has_segments(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	u8 head[BOLT_CTL_QUOTE_MAX - BOLT_CTL_L4_QUOTE];
	int len = pkt->l4_off - pkt->l3_off;
	struct bolt_msg m = { };

	return pkt->flow.family == 6 && len > (int)sizeof(struct ipv6hdr) &&
	       len <= (int)sizeof(head) && !skb_copy_bits(skb, pkt->l3_off, head, len) &&
	       bolt_msg_ip6_hdrlen(head, len, &m) && m.segments;
}

/*
 * Copy the payload of a UDP packet, of a super-packet that of the first, to @buf, of
 * BOLT_CTL_LEN_MAX.  Returns its bytes; 0: it is longer than that, or there is none.
 */
static unsigned int sfc_udp_payload(const struct sk_buff *skb, const struct sfc_pkt *pkt, u8 *buf)
{
	struct udphdr uh;
	int len;

	if (skb_copy_bits(skb, pkt->l4_off, &uh, sizeof(uh)))
		return 0;
	len = ntohs(uh.len) - (int)sizeof(uh);
	if (skb_is_gso(skb))
		len = skb_shinfo(skb)->gso_size;
	if (len <= 0 || len > BOLT_CTL_LEN_MAX ||
	    skb_copy_bits(skb, pkt->l4_off + sizeof(uh), buf, len))
		return 0;
	return len;
}

/* Is it a control message, on whatever port, and of whatever version? */
bool sfc_msg_is_form(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	u8 buf[BOLT_CTL_LEN_MAX];

	return pkt->flow.proto == IPPROTO_UDP &&
	       bolt_msg_is_form(buf, sfc_udp_payload(skb, pkt, buf));
}

/*
 * A control message, in @m unless it is malformed.  @keys: of the switches, to see whether it may
 * be cached, or NULL.
 */
enum sfc_signal_verdict sfc_msg_read(const struct sk_buff *skb, const struct sfc_pkt *pkt,
				     const struct bolt_keys *keys, struct bolt_msg *m)
{
	u8 buf[BOLT_CTL_LEN_MAX];
	unsigned int len = sfc_udp_payload(skb, pkt, buf);

	if (bolt_msg_parse(buf, len, m) != BOLT_MSG_OK)
		return SFC_REFUSED_MALFORMED;
	if (m->type != BOLT_CTL_BTS)
		return SFC_MSG_OTHER;
	/* the quoted flow must be one that the message's addressee sends */
	if (pkt->flow.family != m->family ||
	    memcmp(pkt->flow.daddr, m->saddr, sizeof(m->saddr)))
		return SFC_REFUSED_FORGED;
	if (!keys || !(m->flags & BOLT_CTL_F_CACHEABLE))
		return SFC_MSG_BTS;
	if (m->segments || !bolt_msg_cache_ok(buf, len, keys))
		return SFC_REFUSED_FORGED;
	return SFC_MSG_CACHEABLE;
}

/*
 * Put @flags into the option and update the TCP checksum (RFC 1624).  In 16-bit words of the
 * segment they are the high half, or the low one where the option is at an odd byte; the other half
 * cancels out.  The sum of CHECKSUM_COMPLETE stays, since the check field makes up for the flags.
 * Returns false, packet untouched, when the header cannot be made writable.
 */
bool sfc_write_flags(struct sk_buff *skb, int l4_off, int opt_off, u8 flags)
{
	int off = opt_off + BOLT_TCPOPT_OFF_FLAGS;
	unsigned int shift = (off - l4_off) & 1 ? 0 : 8;
	struct tcphdr *th;
	u8 *p;

	if (skb_shared(skb) || skb_ensure_writable(skb, off + 1))
		return false;

	th = (struct tcphdr *)(skb->data + l4_off);
	p = skb->data + off;
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		csum_replace2(&th->check, htons(*p << shift), htons(flags << shift));
	*p = flags;
	return true;
}
