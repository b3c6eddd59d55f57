// SPDX-License-Identifier: GPL-2.0
/*
 * Space for the option: reserved in the size of TCP's segments, and made in the headers of a packet
 * that TCP has built.
 */

#include <net/ipv6.h>

#include "bolt.h"

/*
 * TCP subtracts icsk_ext_hdr_len from the MSS, so add the option to it.  IPv4 changes the field by
 * the difference of its options, but IPv6 overwrites it with the length of its extension headers.
 * That is a multiple of eight, which it is not with the option.
 */
bool bolt_reserve_lost(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);

	return icsk->icsk_ext_hdr_len % 8 == 0 &&
	       icsk->icsk_af_ops->net_header_len == sizeof(struct ipv6hdr);
}

/* Also if it was lost.  Context: socket locked */
void bolt_reserve(struct sock *sk, struct bolt_flow *f)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	icsk->icsk_ext_hdr_len += BOLT_TCPOPT_LEN;
	f->reserved = 1;
	icsk->icsk_sync_mss(sk, icsk->icsk_pmtu_cookie);
}

void bolt_unreserve(struct sock *sk, struct bolt_flow *f)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (!f->reserved)
		return;
	f->reserved = 0;
	/* for a v4-mapped address IPv6 overwrites it as well, with an IPv4 header */
	if (bolt_reserve_lost(sk) || icsk->icsk_ext_hdr_len < BOLT_TCPOPT_LEN)
		return;
	icsk->icsk_ext_hdr_len -= BOLT_TCPOPT_LEN;
	if (sk->sk_state != TCP_CLOSE)
		icsk->icsk_sync_mss(sk, icsk->icsk_pmtu_cookie);
}

/* A D-SACK (RFC 2883): the first block lies below the ACK, or within the second. */
bool bolt_first_is_dsack(const u8 *opts, unsigned int len, u32 ack_seq)
{
	unsigned int off, size = bolt_opt_seek(opts, len, BOLT_TCPOPT_SACK, &off);
	u32 end;

	if (size < 2 + 8)
		return false;
	end = get_unaligned_be32(opts + off + 6);
	if (!after(end, ack_seq))
		return true;
	return size >= 2 + 2 * 8 &&
	       !before(get_unaligned_be32(opts + off + 2), get_unaligned_be32(opts + off + 10)) &&
	       !after(end, get_unaligned_be32(opts + off + 14));
}

/*
 * BIG TCP over IPv6: the length of a super-packet beyond 64 KB is in the last bytes of a hop-by-hop
 * header (RFC 2675).  Linux 7.x omits that header and only sets a length of 0; then this is NULL,
 * as for any other packet.
 */
#define BOLT_JUMBO_LEN	8

static __be32 *bolt_jumbo_len(const struct sk_buff *skb)
{
	struct ipv6hdr *ip6h = ipv6_hdr(skb);

	if (!bolt_is_ip6(skb) || ip6h->payload_len || ip6h->nexthdr != NEXTHDR_HOP)
		return NULL;
	return (__be32 *)((u8 *)(ip6h + 1) + BOLT_JUMBO_LEN) - 1;
}

/*
 * Update the lengths after the header has grown by @delta.  The checksum of a packet that is sent
 * is still only the sum of the pseudo header, of which only the length changes.  (It cannot be
 * computed anew: with a source route its destination is not that of the IP header.)
 */
static void bolt_fix_lengths(struct sk_buff *skb, int delta)
{
	__be32 *jumbo = bolt_jumbo_len(skb);
	u32 len = skb->len - sizeof(struct ipv6hdr);
	struct tcphdr *th = tcp_hdr(skb);
	struct iphdr *iph = ip_hdr(skb);

	if (jumbo) {
		be32_add_cpu(jumbo, delta);
	} else if (bolt_is_ip6(skb)) {
		ipv6_hdr(skb)->payload_len = htons(len <= IPV6_MAXPLEN ? len : 0);
	} else {
		__be16 was = iph->tot_len;

		iph_set_totlen(iph, skb->len);
		csum_replace2(&iph->check, was, iph->tot_len);
	}
	/* sums are modulo 65535, so this also works for lengths beyond 16 bits */
	if (delta >= 0)
		th->check = csum16_add(th->check, htons(delta));
	else
		th->check = csum16_sub(th->check, htons(-delta));
}

/*
 * Grow the TCP header by @delta bytes (shrink it, if negative).  The first @stay bytes of all
 * headers are kept and moved.  Returns a pointer to the byte after them.
 */
u8 *bolt_grow(struct sk_buff *skb, int delta, unsigned int stay)
{
	/* adjust the skb as __skb_push() does, or __skb_pull() for a negative @delta */
	memmove(skb->data - delta, skb->data, stay);
	skb->data -= delta;
	skb->len += delta;
	skb->network_header -= delta;
	skb->transport_header -= delta;
	skb->csum_start -= delta;
	tcp_hdr(skb)->doff += delta / 4;
	bolt_fix_lengths(skb, delta);
	return skb->data + stay;
}

/* bolt_push() if the options leave less than @need bytes: shorten or remove some of them. */
static u8 *bolt_push_crowded(struct bolt_net *bn, struct sk_buff *skb, unsigned int need)
{
	struct tcphdr *th = tcp_hdr(skb);
	unsigned int optlen = tcp_optlen(skb);
	u8 *opts = (u8 *)(th + 1);
	bool lost;
	int room;

	room = bolt_opt_make_room(opts, optlen,
				  bolt_first_is_dsack(opts, optlen, ntohl(th->ack_seq)),
				  need, &lost);
	if (room < 0) {
		BOLT_INC_STATS(bn, OptNoRoom);
		return NULL;
	}
	if (lost)
		BOLT_INC_STATS(bn, SackTrimmed);
	return bolt_grow(skb, room + need - optlen, opts + room - skb->data);
}

/* Would a segment of this packet still fit the path? */
static bool bolt_fits(const struct sk_buff *skb, unsigned int need)
{
	unsigned int size = skb->len;

	if (skb_is_gso(skb))
		size = skb_tcp_all_headers(skb) + skb_shinfo(skb)->gso_size;
	if (bolt_jumbo_len(skb)) {
		/* segments are sent without the hop-by-hop header */
		size -= BOLT_JUMBO_LEN;
	} else if (bolt_is_ip6(skb) && ipv6_hdr(skb)->payload_len &&
		   skb->len + need > sizeof(struct ipv6hdr) + IPV6_MAXPLEN) {
		/* the length would no longer fit 16 bits */
		return false;
	}
	return size + need <= dst_mtu(skb_dst(skb));
}

/*
 * Grow the TCP header by @need bytes at its end.  Returns a pointer to them, or NULL if there is no
 * room.  The headers move towards the front of the buffer, so the payload, with its fragments and
 * the segments of a TSO burst, stays in place.
 */
u8 *bolt_push(struct bolt_net *bn, struct sk_buff *skb, unsigned int need)
{
	if (!bolt_fits(skb, need)) {
		BOLT_INC_STATS(bn, OptNoMtu);
		return NULL;
	}
	if (skb_cow_head(skb, need)) {
		BOLT_INC_STATS(bn, OptNoMem);
		return NULL;
	}
	if (tcp_optlen(skb) + need > BOLT_TCPOPT_SPACE)
		return bolt_push_crowded(bn, skb, need);
	return bolt_grow(skb, need, skb_tcp_all_headers(skb));
}
