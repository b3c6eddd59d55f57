// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages: may this packet be answered, build the answer, hand it over.
 *
 * A message is a UDP datagram that enters the stack as if it had arrived on the very device the
 * data was about to leave by: __netif_rx() queues it on this CPU, and a softirq routes it after the
 * qdisc's lock is released.  If nothing observes received packets, it skips reception.  Its source
 * is the data's destination (or a configured address), so that strict reverse-path filters accept
 * it; its destination is the data's source.  It is routed by the routing table, and uses the high
 * band of each sfc on its path.
 *
 * Its link-layer header is the data's, VLAN tags included, to where the data is from.  So
 * a router takes it for its own, a VLAN or macvlan device on top of this one
 * gets what is its, and a bridge forwards it to the port of the sender.  Its source is none of the
 * data's: a bridge would learn that the data's destination is behind this port.
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

#include "nat.h"
#include "trace.h"

#define SFC_SIGNAL_TOS	(48 << 2)	/* CS6, network control */

/* Where an answer goes, and what it says */
struct sfc_reply {
	u32		l2_len;	/* bytes of link-layer header to mirror, 0: the device has none */
	u32		l3_len;		/* bytes of its own IP header */
	u32		quote_len;	/* bytes of the causing packet, through eight of L4 */
	bool		translated;	/* @flow is not as the packet has it */
	struct sfc_flow	flow;		/* as its sender names it; the answer goes to @flow.saddr */
	/* address that the answer comes from; IPv4: the first word */
	__be32		source[4];
};

static bool sfc_is_host4(__be32 addr)
{
	return !ipv4_is_multicast(addr) && !ipv4_is_lbcast(addr) && !ipv4_is_zeronet(addr) &&
	       !ipv4_is_loopback(addr);
}

static bool sfc_is_host6(const void *addr)
{
	int type = ipv6_addr_type(addr);

	return type & IPV6_ADDR_UNICAST && !(type & IPV6_ADDR_LOOPBACK);
}

/* As RFC 1122 section 3.2.2 says of ICMP errors: never to, nor because of, more than one host. */
bool sfc_flow_may_be_answered(const struct sfc_flow *f)
{
	if (f->family == 4)
		return f->saddr[0] != f->daddr[0] &&
		       sfc_is_host4(f->saddr[0]) && sfc_is_host4(f->daddr[0]);
	return memcmp(f->saddr, f->daddr, sizeof(f->saddr)) &&
	       sfc_is_host6(f->saddr) && sfc_is_host6(f->daddr);
}

static bool sfc_reply_init(struct Qdisc *sch, const struct sk_buff *skb,
			   const struct sfc_pkt *pkt, struct sfc_reply *r)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	r->l2_len = 0;
	if (qdisc_dev(sch)->type == ARPHRD_ETHER) {
		if (!pkt->l3_off)
			return false;
		r->l2_len = pkt->l3_off;
	}
	r->quote_len = pkt->l4_off - pkt->l3_off + BOLT_CTL_L4_QUOTE;
	if (r->quote_len > BOLT_CTL_QUOTE_MAX || !sfc_flow_may_be_answered(&pkt->flow))
		return false;

	r->flow = pkt->flow;
	memcpy(r->source, r->flow.daddr, sizeof(r->source));
	if (r->flow.family == 4) {
		r->l3_len = sizeof(struct iphdr);
		r->source[0] = q->cfg.addr4 ?: r->source[0];
	} else {
		r->l3_len = sizeof(struct ipv6hdr);
		if (!ipv6_addr_any(&q->cfg.addr6))
			memcpy(r->source, &q->cfg.addr6, sizeof(r->source));
	}
	if (sfc_flow_is_nameless(skb, qdisc_dev(sch), &r->flow))
		return false;
	r->translated = sfc_flow_untranslate(skb, &r->flow);
	return true;
}

/*
 * The source of messages on Ethernet is an address that no host has, and not the device's, which a
 * bridge that receives it takes for a sign of a loop.  All queues of a device have the same, also
 * when its address changes; two devices have not, or a bridge would see it move: ports of a bond
 * share their address.  It is the same after each reload, and no secret.
 */
static void sfc_reply_source(const struct net_device *dev, u8 *addr)
{
	static const siphash_key_t key;

	u64_to_ether_addr(siphash_2u64(ether_addr_to_u64(dev->dev_addr), dev->ifindex, &key), addr);
	/* as eth_random_addr() */
	addr[0] &= 0xfe;
	addr[0] |= 0x02;
}

/* Mirror the link-layer header.  On return skb->data is at L3, as a driver leaves it. */
static void sfc_reply_link(struct sk_buff *n, const struct sk_buff *skb,
			   const struct sfc_reply *r, struct Qdisc *sch)
{
	struct net_device *dev = qdisc_dev(sch);
	struct ethhdr *eth;

	if (!r->l2_len) {
		n->dev = dev;
		skb_reset_mac_header(n);
		return;
	}

	eth = skb_push(n, r->l2_len);
	/* separately: the quote begins behind the link-layer header */
	skb_copy_bits(skb, 0, eth, r->l2_len);
	memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	sfc_reply_source(dev, eth->h_source);
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

/* Write all but the quote.  Returns the checksum without the pseudo header. */
static __always_inline __wsum sfc_reply_udp(const struct sfc_sched *q, struct udphdr *uh,
					    const struct bolt_msg *msg, u32 ulen)
{
	u32 len = ulen - sizeof(*uh);
	u8 *payload = (u8 *)(uh + 1);

	bolt_msg_build(payload, len, msg);
	if (msg->flags & BOLT_CTL_F_CACHEABLE)
		bolt_msg_put_tag(payload, bolt_msg_cache_end(msg->flags, len),
				 &q->cfg.switchkey.sign);
	if (msg->flags & BOLT_CTL_F_TAGGED)
		bolt_msg_put_tag(payload, len, &q->cfg.tagkey.sign);
	uh->source = htons(q->cfg.port);
	uh->dest = uh->source;
	uh->len = htons(ulen);
	uh->check = 0;
	return csum_partial(uh, ulen, 0);
}

/* Write the IP header, complete UDP's checksum (@csum: so far), set what the stack goes by. */
static __always_inline void sfc_reply_head(struct sk_buff *n, const struct sfc_reply *r, u8 ttl,
					   u32 ulen, __wsum csum)
{
	const __be32 *daddr = r->flow.saddr;
	struct ipv6hdr *ip6h = (struct ipv6hdr *)n->data;
	struct iphdr *iph = (struct iphdr *)n->data;
	__sum16 check;

	if (r->flow.family == 4) {
		*iph = (struct iphdr){
			.version = 4,
			.ihl = sizeof(*iph) / 4,
			.tos = SFC_SIGNAL_TOS,
			.tot_len = htons(sizeof(*iph) + ulen),
			.frag_off = htons(IP_DF),	/* atomic, so no id: RFC 6864 */
			.ttl = ttl,
			.protocol = IPPROTO_UDP,
			.saddr = r->source[0],
			.daddr = daddr[0],
		};
		iph->check = ip_fast_csum(iph, sizeof(*iph) / 4);
		check = csum_tcpudp_magic(r->source[0], daddr[0], ulen, IPPROTO_UDP, csum);
		n->protocol = htons(ETH_P_IP);
	} else {
		ip6_flow_hdr(ip6h, SFC_SIGNAL_TOS, 0);
		ip6h->payload_len = htons(ulen);
		ip6h->nexthdr = IPPROTO_UDP;
		ip6h->hop_limit = ttl;
		memcpy(&ip6h->saddr, r->source, sizeof(ip6h->saddr));
		memcpy(&ip6h->daddr, daddr, sizeof(ip6h->daddr));
		check = csum_ipv6_magic(&ip6h->saddr, &ip6h->daddr, ulen, IPPROTO_UDP, csum);
		n->protocol = htons(ETH_P_IPV6);
	}
	skb_reset_network_header(n);
	skb_set_transport_header(n, r->l3_len);
	udp_hdr(n)->check = check ?: CSUM_MANGLED_0;
	n->ip_summed = CHECKSUM_UNNECESSARY;
	n->priority = TC_PRIO_CONTROL;
	/* one packet each way would fill the table with flows that never answer */
	skb_set_nfct(n, IP_CT_UNTRACKED);
}

/* The head of the packet, as it was before this router translated it */
static void sfc_quote_untranslate(u8 *quote, const struct sfc_reply *r)
{
	__be16 *ports = (__be16 *)(quote + r->quote_len - BOLT_CTL_L4_QUOTE);
	struct ipv6hdr *ip6h = (struct ipv6hdr *)quote;
	struct iphdr *iph = (struct iphdr *)quote;

	if (r->flow.family == 4) {
		iph->saddr = r->flow.saddr[0];
		iph->daddr = r->flow.daddr[0];
		ip_send_check(iph);
	} else {
		memcpy(&ip6h->saddr, r->flow.saddr, sizeof(ip6h->saddr));
		memcpy(&ip6h->daddr, r->flow.daddr, sizeof(ip6h->daddr));
	}
	ports[0] = r->flow.sport;
	ports[1] = r->flow.dport;
}

/* Allocate from the page fragment cache, as drivers do for received packets.  Context: BH off */
static __always_inline struct sk_buff *sfc_reply_alloc(unsigned int head, unsigned int len)
{
	unsigned int size = SKB_DATA_ALIGN(head + len) +
			    SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct sk_buff *n;
	void *data;

	data = napi_alloc_frag(size);
	if (unlikely(!data))
		return NULL;
	n = napi_build_skb(data, size);
	if (unlikely(!n)) {
		skb_free_frag(data);
		return NULL;
	}
	skb_reserve(n, head);
	__skb_put(n, len);
	return n;
}

/* Build the packet, from its IP header on.  NULL: no memory; an error: there is no quote. */
static __always_inline struct sk_buff *
sfc_reply_build(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		const struct sfc_reply *r, const struct bolt_msg *msg, u32 ulen)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	struct bolt_msg quoted __uninitialized;
	struct udphdr *uh;
	const u8 *head;
	struct sk_buff *n;
	u8 *quote;

	n = sfc_reply_alloc(NET_SKB_PAD + NET_IP_ALIGN + r->l2_len, r->l3_len + ulen);
	if (!n)
		return NULL;
	uh = (struct udphdr *)(n->data + r->l3_len);
	quote = (u8 *)(uh + 1) + bolt_msg_quote_off(msg->type);

	/* the quote must be one that the other end can take apart: so is all IPv4 with ports */
	head = skb_header_pointer(skb, pkt->l3_off, r->quote_len, quote);
	if (!head || (r->flow.family == 6 &&
		      bolt_msg_read_quote(head, r->quote_len, &quoted) != r->quote_len)) {
		kfree_skb(n);
		return ERR_PTR(-EINVAL);
	}
	if (head != quote)
		memcpy(quote, head, r->quote_len);
	if (r->translated)
		sfc_quote_untranslate(quote, r);
	sfc_reply_head(n, r, q->cfg.ttl, ulen, sfc_reply_udp(q, uh, msg, ulen));
	return n;
}

/* --- the answer --- */

static __always_inline enum sfc_signal_verdict
sfc_reply_send(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
	       struct bolt_msg *msg, u64 now)
{
	struct net_device *dev = qdisc_dev(sch);
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_reply r __uninitialized;
	u32 ulen, most = skb->len - pkt->l3_off;
	struct sk_buff *n;

	if (!sfc_reply_init(sch, skb, pkt, &r))
		return SFC_SIGNAL_UNFIT;
	/*
	 * The source may be spoofed: never answer with more bytes than were received, in all
	 * messages about the packet together.
	 */
	ulen = sizeof(struct udphdr) + bolt_msg_len(msg->type, msg->flags, r.quote_len);
	if (msg->flags & BOLT_CTL_F_CACHEABLE && q->answered_bytes + r.l3_len + ulen > most) {
		/* without what is for switches it may fit */
		msg->flags &= ~BOLT_CTL_F_CACHEABLE;
		ulen = sizeof(struct udphdr) + bolt_msg_len(msg->type, msg->flags, r.quote_len);
	}
	if (q->answered_bytes + r.l3_len + ulen > most)
		return SFC_SIGNAL_UNFIT;
	if (!sfc_limiter_take(&q->msg_limiter, now))
		return SFC_SIGNAL_LIMITED;
	n = sfc_reply_build(sch, skb, pkt, &r, msg, ulen);
	if (IS_ERR_OR_NULL(n))
		return n ? SFC_SIGNAL_UNFIT : SFC_SIGNAL_NOMEM;
	q->answered_bytes += n->len;

	if (r.flow.family == 4 && r.l2_len <= ETH_HLEN && !skb_vlan_tag_present(skb) &&
	    sfc_forward(&q->forward, n, dev))
		return SFC_SIGNAL_SENT;
	sfc_reply_link(n, skb, &r, sch);
	return __netif_rx(n) == NET_RX_SUCCESS ? SFC_SIGNAL_SENT : SFC_SIGNAL_DROPPED;
}

/*
 * Answer a packet, which is read and not changed, with a control message: @msg has its type, flags
 * and numbers; what is the packet's and the port's is filled in here, and @msg is what was sent.
 *
 * A full input queue or a lack of memory must not delay the data; messages not sent are counted.
 * Context: qdisc locked, BH off
 */
enum sfc_signal_verdict sfc_send_msg(struct Qdisc *sch, const struct sk_buff *skb,
				     const struct sfc_pkt *pkt, struct bolt_msg *msg, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	enum sfc_signal_verdict verdict;

	msg->dscp = pkt->flow.dscp;
	msg->t_data_tx = pkt->t_data_tx;	/* Bolt, line 8 */
	msg->link_rate = q->alg.rate.kbps;
	msg->switch_id = q->cfg.switch_id;
	if (msg->flags & BOLT_CTL_F_CACHEABLE) {
		const struct sfc_switch *sw = sfc_switch_of_port(sch);

		msg->sent_ns = now + sw->ahead_ns;
		msg->clock = sw->clock;
	}
	if (q->cfg.has_tagkey)
		msg->flags |= BOLT_CTL_F_TAGGED;
	verdict = sfc_reply_send(sch, skb, pkt, msg, now);
	if (unlikely(verdict != SFC_SIGNAL_SENT)) {
		u64 *const unsent[] = {
			[SFC_SIGNAL_LIMITED] = &q->stats.msg_limited,
			[SFC_SIGNAL_NOMEM] = &q->stats.msg_nomem,
			[SFC_SIGNAL_DROPPED] = &q->stats.msg_dropped,
			[SFC_SIGNAL_UNFIT] = &q->stats.msg_unfit,
		};

		++*unsent[verdict];
	}
	return verdict;
}

/*
 * Bolt, Algorithm 1, lines 6-9, before the data packet joins the queue with @flags in its option.
 * Returns whether an SRC is on its way.
 */
bool sfc_send_src(struct Qdisc *sch, const struct sk_buff *skb,
		  const struct sfc_pkt *pkt, u32 queue, u8 flags, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct bolt_msg msg = {
		.type = BOLT_CTL_SRC,
		.flags = flags & BOLT_F_INC ? BOLT_CTL_F_GRANTED : 0,
		.queue_bytes = queue,			/* line 6 */
	};
	enum sfc_signal_verdict verdict;

	verdict = sfc_send_msg(sch, skb, pkt, &msg, now);	/* line 9 */
	trace_sfc_src(sch, pkt, &msg, verdict);
	if (verdict != SFC_SIGNAL_SENT)
		return false;
	q->band_stats[pkt->band].app.src_sent++;
	return true;
}
