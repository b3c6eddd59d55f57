/* SPDX-License-Identifier: GPL-2.0 */
/* The control port of a namespace, which tcp_bolt and sch_sfc share: see tcp_bolt/ctl.c. */
#ifndef _BOLT_CTL_H
#define _BOLT_CTL_H

#include <net/ip.h>
#include <net/ipv6.h>

/* In the order of the calls: sfc_hold takes its messages, tcp_bolt counts all others */
enum bolt_ctl_listener {
	BOLT_CTL_SFC_HOLD,
	BOLT_CTL_TCP_BOLT,
	BOLT_CTL_LISTENERS
};

/*
 * A datagram arrived on @port (host byte order).  Called in softirq under RCU, with @skb at its
 * UDP header and the checksum verified; its payload is @p, in one piece, or NULL if it is longer
 * than any message.  Returns false if it is not for this listener.  The caller frees @skb.
 */
typedef bool bolt_ctl_receive(struct net *net, u16 port, struct sk_buff *skb, const u8 *p,
			      unsigned int len);

void bolt_ctl_register(enum bolt_ctl_listener who, bolt_ctl_receive *receive);
void bolt_ctl_unregister(enum bolt_ctl_listener who);
int bolt_ctl_open(struct net *net, u16 port);
void bolt_ctl_close(struct net *net, u16 port);

/* To one host, as a switch's messages are?  What a process sends to others comes back to it. */
static inline bool bolt_ctl_is_unicast(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ?
	       !ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr) :
	       !(skb_rtable(skb)->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST));
}

/*
 * Could the message be this host's own, which is not a switch?  A packet received in a VRF has the
 * VRF's device, and in sdif the device by which it came in.  A packet sent within the VRF has no
 * other device in sdif.
 */
static inline bool bolt_ctl_is_local(const struct sk_buff *skb)
{
	int sdif = skb->protocol == htons(ETH_P_IPV6) ? inet6_sdif(skb) : inet_sdif(skb);

	return !bolt_ctl_is_unicast(skb) || skb->dev->flags & IFF_LOOPBACK ||
	       (netif_is_l3_master(skb->dev) && (!sdif || sdif == skb->dev->ifindex));
}

static inline u8 bolt_ctl_ttl(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ? ipv6_hdr(skb)->hop_limit : ip_hdr(skb)->ttl;
}

#endif /* _BOLT_CTL_H */
