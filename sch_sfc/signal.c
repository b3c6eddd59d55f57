// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages: may this packet be answered, build the answer, hand it over.
 *
 * A message is a UDP datagram that enters the stack as if it had arrived on the very
 * device the data was about to leave by: __netif_rx() queues it on this CPU, and a
 * softirq routes it once the qdisc's lock is gone.  Where nobody would see it there, it goes the
 * same way, shorter (way.c).  It comes from where the data goes (or from a configured address),
 * so that strict reverse-path filters agree; it goes to the data's source, by the routing table,
 * through the high band of whatever sfc it meets.
 *
 * Its link-layer header is the data's with the addresses swapped, VLAN tags included.  So
 * a router takes it for its own, a VLAN or macvlan device on top of this one
 * gets what is its, and a bridge forwards it to the port of the sender.
 *
 * Where this router has translated the data's addresses (nat.h), the message goes to the sender
 * as it is known on its side, and quotes what it sent: nobody on the way would translate that
 * back.  It still comes from where the data goes to from here: what the data was sent to may be
 * an address of this router, and no packet with one as its source is let in.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>

#include <bolt_msg.h>
#include "events.h"
#include "nat.h"
#include "sfc.h"
#include "way.h"

#define SFC_SIGNAL_TOS	(48 << 2)	/* CS6, network control */

/* Ethernet and two tags; anything longer is not Ethernet as we know it */
#define SFC_L2_MAX	(ETH_HLEN + 2 * VLAN_HLEN)

/*
 * struct sfc_reply - where an answer goes, and what it says
 * @l2_len:	bytes of link-layer header to mirror, 0: the device has none
 * @l3_len:	bytes of its own IP header
 * @quote_len:	bytes of the causing packet, through eight of L4
 * @family:	AF_INET or AF_INET6
 * @translated:	@ends are not those of the packet
 * @ends:	the flow, as its sender names it
 * @src4, @dst4: with AF_INET
 * @src6, @dst6: with AF_INET6
 */
struct sfc_reply {
	u32		l2_len;
	u32		l3_len;
	u32		quote_len;
	u8		family;
	bool		translated;
	struct sfc_ends	ends;
	union {
		struct {
			__be32 src4, dst4;
		};
		struct {
			struct in6_addr src6, dst6;
		};
	};
};

/* As RFC 1122 section 3.2.2 says of ICMP errors: never to, nor because of, more than one host. */
static bool sfc_reply_ip4(const struct sfc_sched *q, const struct sk_buff *skb,
			  const struct sfc_pkt *pkt, struct sfc_reply *r)
{
	const struct iphdr *iph;
	struct iphdr buf;

	iph = skb_header_pointer(skb, pkt->l3_off, sizeof(buf), &buf);
	if (!iph || iph->saddr == iph->daddr)
		return false;
	if (ipv4_is_multicast(iph->saddr) || ipv4_is_lbcast(iph->saddr) ||
	    ipv4_is_zeronet(iph->saddr) || ipv4_is_loopback(iph->saddr))
		return false;
	if (ipv4_is_multicast(iph->daddr) || ipv4_is_lbcast(iph->daddr) ||
	    ipv4_is_zeronet(iph->daddr) || ipv4_is_loopback(iph->daddr))
		return false;

	r->ends.saddr.ip = iph->saddr;
	r->ends.daddr.ip = iph->daddr;
	r->translated = sfc_ends_untranslate(skb, &r->ends);
	r->l3_len = sizeof(*iph);
	r->dst4 = r->ends.saddr.ip;
	r->src4 = q->cfg.addr4 ?: iph->daddr;
	return true;
}

static bool sfc_reply_ip6(const struct sfc_sched *q, const struct sk_buff *skb,
			  const struct sfc_pkt *pkt, struct sfc_reply *r)
{
	const struct ipv6hdr *ip6h;
	struct ipv6hdr buf;

	ip6h = skb_header_pointer(skb, pkt->l3_off, sizeof(buf), &buf);
	if (!ip6h || ipv6_addr_equal(&ip6h->saddr, &ip6h->daddr))
		return false;
	if (!(ipv6_addr_type(&ip6h->saddr) & IPV6_ADDR_UNICAST) ||
	    !(ipv6_addr_type(&ip6h->daddr) & IPV6_ADDR_UNICAST) ||
	    ipv6_addr_loopback(&ip6h->saddr) || ipv6_addr_loopback(&ip6h->daddr))
		return false;

	r->ends.saddr.in6 = ip6h->saddr;
	r->ends.daddr.in6 = ip6h->daddr;
	r->translated = sfc_ends_untranslate(skb, &r->ends);
	r->l3_len = sizeof(*ip6h);
	r->dst6 = r->ends.saddr.in6;
	r->src6 = ipv6_addr_any(&q->cfg.addr6) ? ip6h->daddr : q->cfg.addr6;
	return true;
}

static bool sfc_reply_init(struct Qdisc *sch, const struct sk_buff *skb,
			   const struct sfc_pkt *pkt, struct sfc_reply *r)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	const __be16 *ports;
	__be16 buf[2];

	r->l2_len = 0;
	r->family = pkt->family;
	memset(&r->ends, 0, sizeof(r->ends));
	if (qdisc_dev(sch)->type == ARPHRD_ETHER) {
		if (pkt->l3_off < ETH_HLEN || pkt->l3_off > SFC_L2_MAX)
			return false;
		r->l2_len = pkt->l3_off;
	}
	r->quote_len = pkt->l4_off - pkt->l3_off + BOLT_CTL_L4_QUOTE;
	if (r->quote_len > BOLT_CTL_QUOTE_MAX)
		return false;
	ports = skb_header_pointer(skb, pkt->l4_off, sizeof(buf), buf);
	if (!ports)
		return false;
	r->ends.sport = ports[0];
	r->ends.dport = ports[1];

	return pkt->family == AF_INET ? sfc_reply_ip4(q, skb, pkt, r) :
					sfc_reply_ip6(q, skb, pkt, r);
}

/* Mirror the link-layer header.  On return skb->data is at L3, as a driver leaves it. */
static void sfc_reply_link(struct sk_buff *n, const struct sk_buff *skb,
			   const struct sfc_reply *r, struct net_device *dev)
{
	u8 addr[ETH_ALEN];
	struct ethhdr *eth;

	if (!r->l2_len) {
		n->dev = dev;
		skb_reset_mac_header(n);
		return;
	}

	eth = skb_push(n, r->l2_len);
	/* it lies before what was copied already */
	skb_copy_bits(skb, 0, eth, r->l2_len);
	memcpy(addr, eth->h_source, ETH_ALEN);
	memcpy(eth->h_source, eth->h_dest, ETH_ALEN);
	memcpy(eth->h_dest, addr, ETH_ALEN);
	n->protocol = eth_type_trans(n, dev);
	/*
	 * With nothing stacked on the device, the message is for this host, whatever
	 * address the data was sent from (NOARP links, packet sockets).
	 */
	if (!rcu_access_pointer(dev->rx_handler))
		n->pkt_type = PACKET_HOST;
	if (skb_vlan_tag_present(skb))
		__vlan_hwaccel_put_tag(n, skb->vlan_proto, skb_vlan_tag_get(skb));
}

/* What goes around the quote, the UDP header's checksum for the other to add its addresses to */
static __always_inline __wsum sfc_reply_udp(const struct sfc_sched *q, struct udphdr *uh,
					    const struct bolt_msg *msg, u8 flags, u32 ulen)
{
	u8 *payload = (u8 *)(uh + 1);

	bolt_msg_build(payload, msg);
	if (flags & BOLT_CTL_F_TAGGED)
		bolt_msg_put_tag(payload, ulen - sizeof(*uh), &q->cfg.key);
	uh->source = htons(q->cfg.port);
	uh->dest = uh->source;
	uh->len = htons(ulen);
	uh->check = 0;
	return csum_partial(uh, ulen, 0);
}

static __always_inline void sfc_reply_ip4_head(struct iphdr *iph, __be32 saddr, __be32 daddr,
					       u8 ttl, u32 ulen, __wsum csum)
{
	struct udphdr *uh = (struct udphdr *)(iph + 1);

	*iph = (struct iphdr){
		.version = 4,
		.ihl = sizeof(*iph) / 4,
		.tos = SFC_SIGNAL_TOS,
		.tot_len = htons(sizeof(*iph) + ulen),
		.frag_off = htons(IP_DF),	/* atomic, so no id: RFC 6864 */
		.ttl = ttl,
		.protocol = IPPROTO_UDP,
		.saddr = saddr,
		.daddr = daddr,
	};
	iph->check = ip_fast_csum(iph, sizeof(*iph) / 4);
	uh->check = csum_tcpudp_magic(saddr, daddr, ulen, IPPROTO_UDP, csum) ?: CSUM_MANGLED_0;
}

static void sfc_reply_ip6_head(struct ipv6hdr *ip6h, const struct sfc_reply *r, u8 ttl, u32 ulen,
			       __wsum csum)
{
	struct udphdr *uh = (struct udphdr *)(ip6h + 1);

	ip6_flow_hdr(ip6h, SFC_SIGNAL_TOS, 0);
	ip6h->payload_len = htons(ulen);
	ip6h->nexthdr = IPPROTO_UDP;
	ip6h->hop_limit = ttl;
	ip6h->saddr = r->src6;
	ip6h->daddr = r->dst6;
	uh->check = csum_ipv6_magic(&r->src6, &r->dst6, ulen, IPPROTO_UDP, csum) ?: CSUM_MANGLED_0;
}

/* What the stack is to know of it */
static __always_inline void sfc_reply_mark(struct sk_buff *n, __be16 protocol, u32 l3_len)
{
	n->protocol = protocol;
	skb_reset_network_header(n);
	skb_set_transport_header(n, l3_len);
	n->ip_summed = CHECKSUM_UNNECESSARY;
	n->priority = TC_PRIO_CONTROL;
	/* one packet each way would fill the table with flows that never answer */
	skb_set_nfct(n, IP_CT_UNTRACKED);
}

/* The head of the packet, as it was before this router translated it */
static void sfc_quote_untranslate(u8 *quote, const struct sfc_reply *r)
{
	__be16 *ports = (__be16 *)(quote + r->quote_len - BOLT_CTL_L4_QUOTE);

	if (r->family == AF_INET) {
		struct iphdr *iph = (struct iphdr *)quote;

		iph->saddr = r->ends.saddr.ip;
		iph->daddr = r->ends.daddr.ip;
		ip_send_check(iph);
	} else {
		struct ipv6hdr *ip6h = (struct ipv6hdr *)quote;

		ip6h->saddr = r->ends.saddr.in6;
		ip6h->daddr = r->ends.daddr.in6;
	}
	ports[0] = r->ends.sport;
	ports[1] = r->ends.dport;
}

/* A buffer as drivers have it for what comes in: with BH off, cut from a page */
static __always_inline struct sk_buff *sfc_reply_alloc(unsigned int head, unsigned int len)
{
	unsigned int size = SKB_DATA_ALIGN(head + len) +
			    SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct sk_buff *n;
	void *data;

	data = napi_alloc_frag(size);
	if (unlikely(!data))
		return NULL;
	n = build_skb(data, size);
	if (unlikely(!n)) {
		skb_free_frag(data);
		return NULL;
	}
	skb_reserve(n, head);
	__skb_put(n, len);
	return n;
}

/* Build the packet, from its IP header on.  NULL: no memory, or (*unfit) there is no quote. */
static struct sk_buff *sfc_reply_build(struct Qdisc *sch, const struct sk_buff *skb,
				       const struct sfc_pkt *pkt, const struct sfc_reply *r,
				       const struct bolt_msg *msg, bool *unfit)
{
	u32 ulen = sizeof(struct udphdr) + bolt_msg_len(msg->type, msg->flags, r->quote_len);
	const struct sfc_sched *q = qdisc_priv(sch);
	struct bolt_msg quoted;
	struct udphdr *uh;
	struct sk_buff *n;
	__wsum csum;
	u8 *quote;

	n = sfc_reply_alloc(NET_SKB_PAD + NET_IP_ALIGN + r->l2_len, r->l3_len + ulen);
	if (!n)
		return NULL;
	uh = (struct udphdr *)(n->data + r->l3_len);
	quote = (u8 *)(uh + 1) + bolt_msg_quote_off(msg->type);

	/* the quote must be one that the other end can take apart: so is all IPv4 with ports */
	if (skb_copy_bits(skb, pkt->l3_off, quote, r->quote_len) ||
	    (r->family == AF_INET6 && !bolt_msg_parse_quote(quote, r->quote_len, &quoted))) {
		*unfit = true;
		kfree_skb(n);
		return NULL;
	}
	if (r->translated)
		sfc_quote_untranslate(quote, r);
	csum = sfc_reply_udp(q, uh, msg, msg->flags, ulen);
	if (r->family == AF_INET) {
		sfc_reply_ip4_head((struct iphdr *)n->data, r->src4, r->dst4, q->cfg.ttl, ulen,
				   csum);
		sfc_reply_mark(n, htons(ETH_P_IP), r->l3_len);
	} else {
		sfc_reply_ip6_head((struct ipv6hdr *)n->data, r, q->cfg.ttl, ulen, csum);
		sfc_reply_mark(n, htons(ETH_P_IPV6), r->l3_len);
	}
	return n;
}

/* It came in through the port, as far as the stack would say, and goes on: */
static __always_inline bool sfc_reply_forward(struct Qdisc *sch, const struct sfc_way *way,
					      struct sk_buff *n)
{
	/* a switch does not remember its own BTS */
	n->skb_iif = qdisc_dev(sch)->ifindex;
	skb_dst_set(n, dst_clone(way->dst));
	return sfc_way_send(n);
}

/*
 * Answer a packet between hosts whose way is known: sfc_way_of().  @type and @flags are those of
 * @msg: as constants they say how long it is, and most of it is stores.
 */
static __always_inline enum sfc_signal_verdict
sfc_signal_near(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		const struct bolt_msg *msg, u8 type, u8 flags, const struct sfc_way *way)
{
	const u32 quote = sizeof(struct iphdr) + BOLT_CTL_L4_QUOTE;
	const u32 ulen = sizeof(struct udphdr) + bolt_msg_len(type, flags, quote);
	const struct net_device *out = READ_ONCE(way->dst->dev);
	const struct sfc_sched *q = qdisc_priv(sch);
	struct iphdr *iph;
	struct udphdr *uh;
	struct sk_buff *n;
	__wsum csum;

	n = sfc_reply_alloc(LL_RESERVED_SPACE(out), sizeof(*iph) + ulen);
	if (unlikely(!n))
		return SFC_SIGNAL_NOMEM;
	iph = (struct iphdr *)n->data;
	uh = (struct udphdr *)(iph + 1);
	memcpy((u8 *)(uh + 1) + bolt_msg_quote_off(type), skb->data + pkt->l3_off, quote);
	csum = sfc_reply_udp(q, uh, msg, flags, ulen);
	sfc_reply_ip4_head(iph, q->cfg.addr4 ?: way->daddr, way->saddr, q->cfg.ttl - 1, ulen, csum);
	sfc_reply_mark(n, htons(ETH_P_IP), sizeof(*iph));
	return sfc_reply_forward(sch, way, n) ? SFC_SIGNAL_SENT : SFC_SIGNAL_DROPPED;
}

/* ... that it is not known of, or any other packet.  @way: NULL, or what may be learnt. */
static noinline enum sfc_signal_verdict sfc_signal_far(struct Qdisc *sch, const struct sk_buff *skb,
						       const struct sfc_pkt *pkt,
						       const struct bolt_msg *msg,
						       struct sfc_way *way, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	bool unfit = false, sent;
	struct sfc_reply r;
	struct sk_buff *n;

	if (!sfc_reply_init(sch, skb, pkt, &r))
		return SFC_SIGNAL_UNFIT;
	if (!sfc_limiter_take(&q->src_limiter, now))
		return SFC_SIGNAL_LIMITED;
	n = sfc_reply_build(sch, skb, pkt, &r, msg, &unfit);
	if (!n)
		return unfit ? SFC_SIGNAL_UNFIT : SFC_SIGNAL_NOMEM;
	if (way && sfc_way_learn(sch, way, n)) {
		ip_decrease_ttl(ip_hdr(n));
		sent = sfc_reply_forward(sch, way, n);
	} else {
		sfc_reply_link(n, skb, &r, qdisc_dev(sch));
		sent = __netif_rx(n) == NET_RX_SUCCESS;
	}
	return sent ? SFC_SIGNAL_SENT : SFC_SIGNAL_DROPPED;
}

/**
 * sfc_signal() - answer a packet with a control message
 * @sch:	the port
 * @skb:	the packet; it is read, not changed
 * @pkt:	what it is
 * @msg:	type, flags and numbers; what is the port's is filled in here
 * @now:	ns
 *
 * Called with the qdisc locked and BH off; a full input queue or a lack of memory must not hold
 * up the data.
 */
enum sfc_signal_verdict sfc_signal(struct Qdisc *sch, const struct sk_buff *skb,
				   const struct sfc_pkt *pkt, struct bolt_msg *msg, u64 now)
{
	struct sfc_way *way = sfc_way_of(sch, skb, pkt);
	struct sfc_sched *q = qdisc_priv(sch);

	msg->family = pkt->family;
	msg->link_rate = q->alg.rate.kbps;
	msg->switch_id = q->cfg.switch_id;
	if (q->cfg.tagged)
		msg->flags |= BOLT_CTL_F_TAGGED;
	if (unlikely(!way || !way->near))
		return sfc_signal_far(sch, skb, pkt, msg, way, now);
	if (!sfc_limiter_take(&q->src_limiter, now))
		return SFC_SIGNAL_LIMITED;
	if (q->cfg.tagged)
		return sfc_signal_near(sch, skb, pkt, msg, msg->type, BOLT_CTL_F_TAGGED, way);
	if (msg->type == BOLT_CTL_SRC)
		return sfc_signal_near(sch, skb, pkt, msg, BOLT_CTL_SRC, 0, way);
	return sfc_signal_near(sch, skb, pkt, msg, BOLT_CTL_BTS, 0, way);
}

/*
 * Bolt, Algorithm 1, lines 6-9, before the data packet joins the queue.  Returns whether an SRC
 * is on its way.
 */
bool sfc_send_src(struct Qdisc *sch, const struct sk_buff *skb,
		  const struct sfc_pkt *pkt, u32 queue, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct bolt_msg msg = {
		.type = BOLT_CTL_SRC,
		.dscp = pkt->dscp,
		.queue_bytes = queue,			/* line 6 */
		.t_data_tx = pkt->t_data_tx,		/* line 8 */
	};
	enum sfc_signal_verdict verdict;

	verdict = sfc_signal(sch, skb, pkt, &msg, now);		/* line 9 */
	sfc_event(sch, skb, pkt, SFC_EVENT_TYPE_SRC, sfc_event_verdict(verdict), &msg);
	switch (verdict) {
	case SFC_SIGNAL_SENT:
		q->stats.src_sent++;
		return true;
	case SFC_SIGNAL_LIMITED:
		q->stats.src_limited++;
		break;
	case SFC_SIGNAL_NOMEM:
		q->stats.src_nomem++;
		break;
	case SFC_SIGNAL_DROPPED:
		q->stats.src_dropped++;
		break;
	case SFC_SIGNAL_UNFIT:
		q->stats.src_unfit++;
		break;
	}
	return false;
}
