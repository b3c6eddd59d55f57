// SPDX-License-Identifier: GPL-2.0
/*
 * LOCAL_OUT: the option goes onto what a bolt socket sends.
 *
 * TCP calls the hook with the socket locked, once per packet (or TSO burst), after it has built
 * the headers and before the device sees them.  So this is also where each ACK can be watched,
 * where a departure is known, and where the next one is set:
 *
 *   SYN              append the offer (4 bytes)
 *   SYN-ACK          append the acceptance, when this softirq's SYN offered
 *   data             append the option; space the next departure at the link's rate
 *   pure ACK         append the option: INC count, echo, DEC
 *   any, paused      see pause.c; of any congestion control
 *
 * A packet that has no room for the option goes without; it is counted, never dropped.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>

#include "bolt.h"

/* --- making room for it --- */

/*
 * TCP sizes its segments by icsk_ext_hdr_len, so what we append is taken off the MSS.  The field is
 * shared with IP options (which adjust it by differences) and IPv6 extension headers
 * (which overwrite it): remember how we left it.  Socket lock held.
 */
void bolt_reserve(struct sock *sk, struct bolt_flow *f)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	icsk->icsk_ext_hdr_len += BOLT_TCPOPT_LEN;
	f->hdr_reserved = icsk->icsk_ext_hdr_len;
	f->reserved = 1;
	icsk->icsk_sync_mss(sk, icsk->icsk_pmtu_cookie);
}

/* IPv6 sets the field to what its own extension headers take: our share has gone then. */
static bool bolt_reserve_lost(const struct sock *sk, const struct bolt_flow *f)
{
	unsigned int len = inet_csk(sk)->icsk_ext_hdr_len, own = 0;

	if (len == f->hdr_reserved || sk->sk_family != AF_INET6)
		return false;
#if IS_ENABLED(CONFIG_IPV6)
	rcu_read_lock();
	if (inet6_sk(sk)) {
		const struct ipv6_txoptions *opt = rcu_dereference(inet6_sk(sk)->opt);

		own = opt ? opt->opt_flen + opt->opt_nflen : 0;
	}
	rcu_read_unlock();
#endif
	return len == own;
}

void bolt_unreserve(struct sock *sk, struct bolt_flow *f)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (!f->reserved)
		return;
	f->reserved = 0;
	if (bolt_reserve_lost(sk, f))
		return;
	icsk->icsk_ext_hdr_len -= BOLT_TCPOPT_LEN;
	if (sk->sk_state != TCP_CLOSE)
		icsk->icsk_sync_mss(sk, icsk->icsk_pmtu_cookie);
}

/* Someone changed icsk_ext_hdr_len. */
static void bolt_reserve_again(struct sock *sk, struct bolt_flow *f)
{
	if (bolt_reserve_lost(sk, f))
		bolt_reserve(sk, f);
	else
		f->hdr_reserved = inet_csk(sk)->icsk_ext_hdr_len;
}

/* A D-SACK (RFC 2883): the first block lies below the ACK, or within the second. */
static bool bolt_first_is_dsack(const u8 *opts, unsigned int len, u32 ack_seq)
{
	unsigned int i = 0;

	while (i + 1 < len && opts[i] != BOLT_TCPOPT_EOL) {
		if (opts[i] == BOLT_TCPOPT_NOP) {
			i++;
			continue;
		}
		if (opts[i + 1] < 2)
			return false;
		if (opts[i] == BOLT_TCPOPT_SACK && opts[i + 1] >= 10 && i + opts[i + 1] <= len) {
			u32 end = get_unaligned_be32(opts + i + 6);

			if (!after(end, ack_seq))
				return true;
			return opts[i + 1] >= 18 &&
			       !before(get_unaligned_be32(opts + i + 2),
				       get_unaligned_be32(opts + i + 10)) &&
			       !after(end, get_unaligned_be32(opts + i + 14));
		}
		i += opts[i + 1];
	}
	return false;
}

/* BIG TCP over IPv6 (RFC 2675): the length of the super-packet is in a header of its own */
static struct hop_jumbo_hdr *bolt_jumbo(const struct sk_buff *skb)
{
	return ipv6_has_hopopt_jumbo(skb) ? (struct hop_jumbo_hdr *)(ipv6_hdr(skb) + 1) : NULL;
}

/*
 * Lengths follow the new header, which is @delta longer.  The checksum is the pseudo header's sum
 * so far: only its length changes.  (Its destination is not always the IP header's: source routes.)
 */
static __always_inline void bolt_fix_lengths(struct sk_buff *skb, struct tcphdr *th, int delta,
					     bool ip6)
{
	struct hop_jumbo_hdr *jumbo = ip6 ? bolt_jumbo(skb) : NULL;
	struct iphdr *iph = (struct iphdr *)skb->data;

	if (jumbo) {
		be32_add_cpu(&jumbo->jumbo_payload_len, delta);
	} else if (ip6) {
		ipv6_hdr(skb)->payload_len = htons(skb->len - sizeof(struct ipv6hdr));
	} else if (likely(skb->len <= IPV6_MAXPLEN && delta >= 0)) {
		be16_add_cpu(&iph->tot_len, delta);
		iph->check = csum16_sub(iph->check, htons(delta));
	} else {
		__be16 was = iph->tot_len;

		iph_set_totlen(iph, skb->len);
		csum_replace2(&iph->check, was, iph->tot_len);
	}
	/* sums are modulo 65535, so this holds for lengths beyond 16 bits as well */
	if (delta >= 0)
		th->check = csum16_add(th->check, htons(delta));
	else
		th->check = csum16_sub(th->check, htons(-delta));
}

/* Headers, towards the front of the buffer.  IPv4 with timestamps is what there is most of. */
static inline void bolt_move(u8 *to, const u8 *from, unsigned int len)
{
	int i;

	if (len != BOLT_USUAL_HEADERS) {
		memmove(to, from, len);
		return;
	}
	/* each word is read before one further on is written over it */
#pragma GCC unroll 6
	for (i = 0; i < 48; i += 8)
		put_unaligned(get_unaligned((const u64 *)(from + i)), (u64 *)(to + i));
	put_unaligned(get_unaligned((const u32 *)(from + 48)), (u32 *)(to + 48));
}

/*
 * The TCP header is @delta longer, the first @stay bytes of all headers are as they were.  Returns
 * what follows them.
 */
static __always_inline u8 *bolt_grow(struct sk_buff *skb, unsigned int thoff, int delta,
				     unsigned int stay, bool ip6)
{
	struct tcphdr *th;

	if (delta >= 0) {
		__skb_push(skb, delta);
		bolt_move(skb->data, skb->data + delta, stay);
	} else {
		memmove(skb->data - delta, skb->data, stay);
		__skb_pull(skb, -delta);
	}
	skb->network_header -= delta;
	skb->transport_header -= delta;
	skb->csum_start -= delta;
	th = (struct tcphdr *)(skb->data + thoff);
	bolt_th_grow(th, delta);
	bolt_fix_lengths(skb, th, delta, ip6);
	return skb->data + stay;
}

/* The options leave no room for @need bytes more: some of them go.  As bolt_push() */
static noinline u8 *bolt_push_crowded(struct bolt_net *bn, struct sk_buff *skb, unsigned int thoff,
				      unsigned int need, bool ip6)
{
	struct tcphdr *th = (struct tcphdr *)(skb->data + thoff);
	unsigned int optlen = th->doff * 4 - sizeof(*th);
	u8 opts[BOLT_TCPOPT_SPACE];
	int room;

	memcpy(opts, th + 1, optlen);
	room = bolt_opt_make_room(opts, optlen,
				  bolt_first_is_dsack(opts, optlen, ntohl(th->ack_seq)), need);
	if (room < 0) {
		BOLT_INC_STATS(bn, OptNoRoom);
		return NULL;
	}
	if ((unsigned int)room < (optlen & ~3U))
		BOLT_INC_STATS(bn, SackTrimmed);
	memcpy(th + 1, opts, room);
	return bolt_grow(skb, thoff, room + need - optlen, thoff + sizeof(*th) + room, ip6);
}

/*
 * Grow the TCP header of @thlen bytes by @need at its end; return where they start, or NULL.
 * Headers move towards the front of the buffer: the payload, and with it every fragment and
 * every segment to come, stays where it is.
 */
static __always_inline u8 *bolt_push(struct bolt_net *bn, struct sk_buff *skb, unsigned int thoff,
				     unsigned int thlen, unsigned int need, bool ip6)
{
	if (skb_cow_head(skb, need)) {
		BOLT_INC_STATS(bn, OptNoMem);
		return NULL;
	}
	if (unlikely(thlen + need > sizeof(struct tcphdr) + BOLT_TCPOPT_SPACE))
		return bolt_push_crowded(bn, skb, thoff, need, ip6);
	return bolt_grow(skb, thoff, need, thoff + thlen, ip6);
}

/* Would a segment of this packet still fit the path? */
static noinline bool bolt_fits(const struct sk_buff *skb, unsigned int hlen, unsigned int need,
			       bool ip6)
{
	unsigned int size = skb_is_gso(skb) ? hlen + skb_shinfo(skb)->gso_size : skb->len;

	if (ip6 && bolt_jumbo(skb)) {
		/* segments go without it */
		size -= sizeof(struct hop_jumbo_hdr);
	} else if (ip6 && skb->len + need > sizeof(struct ipv6hdr) + IPV6_MAXPLEN) {
		/* one is needed now, and was not when the headers were built */
		return false;
	}
	return size + need <= dst_mtu(skb_dst(skb));
}

/* The same by what TCP has taken for the path's MTU just now; false: have a look */
static bool bolt_fits_tcp(const struct sock *sk, const struct sk_buff *skb, unsigned int hlen)
{
	unsigned int size = skb_is_gso(skb) ? hlen + skb_shinfo(skb)->gso_size : skb->len;

	return size + BOLT_TCPOPT_LEN <= inet_csk(sk)->icsk_pmtu_cookie &&
	       skb->len + BOLT_TCPOPT_LEN <= IPV6_MAXPLEN;
}

/* --- handshake --- */

/* SYNs that offer, of one connection; later ones do without */
#define BOLT_SYN_OFFERS		2

/*
 * The listener behind a SYN-ACK: the hook sees it, or the request, or with IPv4 SYN cookies
 * nobody.  Under RCU.
 */
static struct sock *bolt_synack_listener(struct sk_buff *skb, struct sock *sk,
					 const struct bolt_hs_key *key)
{
	if (sk && sk_fullsock(sk))
		return sk;
	if (sk)
		return sk->sk_state == TCP_NEW_SYN_RECV ? inet_reqsk(sk)->rsk_listener : NULL;
	return __inet_lookup_listener(key->net, key->net->ipv4.tcp_death_row.hashinfo,
				      NULL, 0, key->saddr[0], key->sport, key->daddr[0],
				      ntohs(key->dport), skb_dst(skb)->dev->ifindex, 0);
}

/* Fast Open (RFC 7413): the SYN made the child, which the hook sees, or of IPv4 the request. */
static bool bolt_is_fastopen(const struct sock *sk)
{
	if (!sk)
		return false;
	if (sk->sk_state == TCP_NEW_SYN_RECV)
		return tcp_rsk(inet_reqsk(sk))->tfo_listener;
	return sk->sk_state == TCP_SYN_RECV && rcu_access_pointer(tcp_sk(sk)->fastopen_rsk);
}

/* The child knows whether the SYN offered, and keeps its word when a timer sends again. */
static bool bolt_fastopen_accepts(struct sk_buff *skb, struct sock *sk,
				  const struct bolt_hs_key *key)
{
	const struct bolt_flow *f;
	struct sock *found = NULL;

	if (sk->sk_state == TCP_NEW_SYN_RECV) {
		found = __inet_lookup_established(key->net,
						  key->net->ipv4.tcp_death_row.hashinfo,
						  key->saddr[0], key->sport, key->daddr[0],
						  ntohs(key->dport), skb_dst(skb)->dev->ifindex, 0);
		sk = found;
	}
	f = sk ? bolt_flow_lookup(sk) : NULL;
	if (found)
		sock_gen_put(found);
	return f;
}

/*
 * An MPTCP subflow's options (RFC 8684) leave no room for ours; a signature has been
 * computed without it.  The listener may have keys for other peers only.
 */
static bool bolt_synack_excludes(const struct tcphdr *th)
{
	const u8 *opts = (const u8 *)(th + 1);
	unsigned int len = th->doff * 4 - sizeof(*th);

	return bolt_opt_has(opts, len, BOLT_TCPOPT_MD5) ||
	       bolt_opt_has(opts, len, BOLT_TCPOPT_AO) ||
	       bolt_opt_has(opts, len, BOLT_TCPOPT_MPTCP);
}

/* Append the four bytes of a handshake packet. */
static bool bolt_out_short(struct bolt_net *bn, struct sk_buff *skb, unsigned int thoff, bool ip6)
{
	unsigned int thlen = ((struct tcphdr *)(skb->data + thoff))->doff * 4;
	u8 *p;

	/* never at the expense of an option of the stack: these are said once */
	if (thlen + BOLT_TCPOPT_LEN_SYN > sizeof(struct tcphdr) + BOLT_TCPOPT_SPACE) {
		BOLT_INC_STATS(bn, OptNoRoom);
		return false;
	}
	if (!bolt_fits(skb, thoff + thlen, BOLT_TCPOPT_LEN_SYN, ip6)) {
		BOLT_INC_STATS(bn, OptNoMtu);
		return false;
	}
	p = bolt_push(bn, skb, thoff, thlen, BOLT_TCPOPT_LEN_SYN, ip6);
	if (!p)
		return false;
	bolt_opt_write_syn(p);
	return true;
}

static bool bolt_route_speaks(const struct dst_entry *dst)
{
	const struct tcp_congestion_ops *swift = READ_ONCE(bolt_swift_ops);
	u32 key = dst_metric(dst, RTAX_CC_ALGO);

	return key == tcp_bolt.key || (swift && key == swift->key);
}

static void bolt_out_synack(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk,
			    unsigned int thoff, bool ip6)
{
	const struct tcphdr *th = (struct tcphdr *)(skb->data + thoff);
	struct bolt_hs_key key;

	/* the note is named after the SYN that this answers */
	bolt_hs_key_of(&key, skb, th, bn->net, ip6);
	bolt_hs_key_flip(&key);
	if (bolt_synack_excludes(th))
		return;
	if (bolt_is_fastopen(sk)) {
		if (!bolt_fastopen_accepts(skb, sk, &key))
			return;
	} else {
		if (!bolt_hs_take(BOLT_HS_SYN, &key))
			return;
		sk = bolt_synack_listener(skb, sk, &key);
		if (!sk)
			return;
		/* by the listener's own choice, or by the route's (congctl) */
		if (!bolt_sk_speaks(sk) && !bolt_route_speaks(skb_dst(skb)))
			return;
	}
	if (bolt_out_short(bn, skb, thoff, ip6))
		BOLT_INC_STATS(bn, SynAckTx);
}

static void bolt_out_syn(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk,
			 unsigned int thoff, bool ip6)
{
	/* some socket has to want SRC before there can be one */
	if (bolt_sk_uses(sk))
		bolt_control_want(bn);
	/* perhaps a middlebox drops what it does not know */
	if (inet_csk(sk)->icsk_retransmits >= BOLT_SYN_OFFERS)
		return;
	if (!bolt_sk_is_signed(sk) && bolt_out_short(bn, skb, thoff, ip6))
		BOLT_INC_STATS(bn, SynTx);
}

/* --- an established flow --- */

/*
 * LAST (section 3.2): what is left to send from here on fits in the window, so the flow has
 * nothing for the next RTT.  A bulk sender between two writes looks the same;
 * it gives itself away when it is blocked for space, has announced more, or is in
 * the middle of a write: TCP marks the end of each with a push.  (A FIN follows without.)
 */
static bool bolt_is_last(const struct sock *sk, u32 seq)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct socket *sock = READ_ONCE(sk->sk_socket);

	if (tp->write_seq - seq > (u64)tcp_snd_cwnd(tp) * tp->mss_cache)
		return false;
	if (tp->nonagle & TCP_NAGLE_CORK)
		return false;
	if (tp->pushed_seq != tp->write_seq && !(sk->sk_shutdown & SEND_SHUTDOWN))
		return false;
	return !sock || !test_bit(SOCK_NOSPACE, &sock->flags);
}

/* A new flow, or one that comes back after more than a round trip of silence */
static bool bolt_is_first(const struct sock *sk, const struct bolt_flow *f, u64 now_ns)
{
	u64 due_ns = max(f->last_tx_ns, f->pace_ns);

	if (!f->last_tx_ns)
		return true;
	return !tcp_sk(sk)->packets_out && now_ns > due_ns + 2ULL * f->core.min_rtt_ns &&
	       now_ns > f->last_ack_ns + f->core.wait_ns + f->core.min_rtt_ns;
}

/* FIRST, LAST or INC (sections 3.2 and 4.2): exactly one of them asks something of a switch. */
static u8 bolt_data_flags(struct bolt_net *bn, struct sock *sk, struct bolt_flow *f,
			  u32 seq, u32 end_seq, u64 now_ns)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 flags = 0;

	if (bolt_is_first(sk, f, now_ns)) {
		/* it sends at the link's rate again, whatever the round trip was */
		f->core.srtt_ns = 0;
		f->core.wait_ns = 0;
		bolt_core_ask_always(&f->core);
		/*
		 * It has nothing to catch up with: a second packet at once would wait in the NIC,
		 * where no SRC can take it back.  In a large window one packet is too
		 * little to matter, and makes up for what base_rtt_ns leaves out of the BDP: the
		 * time that links take to send.
		 */
		if (tcp_snd_cwnd(tp) <= BOLT_SMALL_CWND)
			f->next_tx_ns = now_ns;
		f->in_first = 1;
		f->first_end = seq + min_t(u64, (u64)tcp_snd_cwnd(tp) * tp->mss_cache,
					   1U << 30);
		f->last_open = 0;
	}
	if (f->in_first) {
		if (before(seq, f->first_end)) {
			flags |= BOLT_F_FIRST;
			BOLT_INC_STATS(bn, FirstTx);
		} else {
			f->in_first = 0;
		}
	}
	if (bolt_is_last(sk, seq)) {
		flags |= BOLT_F_LAST;
		BOLT_INC_STATS(bn, LastTx);
		f->last_open = 1;
		f->last_seq = end_seq;
	} else if (f->last_open && after(seq, f->last_seq)) {
		BOLT_INC_STATS(bn, LastFalse);
		f->last_open = 0;
	}
	/* a window that may not grow, or is not the limit, leaves the tokens to others */
	if (!(flags & (BOLT_F_FIRST | BOLT_F_LAST)) && f->cwnd <= tcp_snd_cwnd(tp) &&
	    (f->cwnd < f->max_cwnd || f->core.wait_ns))
		flags |= BOLT_F_INC;
	if (!bolt_core_asks(&f->core, tcp_snd_cwnd(tp), now_ns)) {
		flags |= BOLT_F_NOSRC;
		BOLT_INC_STATS(bn, NoSrcTx);
	}
	return flags;
}

/*
 * Departures are spaced at the rate of the sender's own link.  Otherwise a window that opens at
 * once sits in the NIC, where no SRC can take it back, and t_data_tx counts the wait there.
 * tcp_wstamp_ns is TCP's own earliest departure time; its pacing timer does the rest.
 */
static __always_inline void bolt_space(struct sock *sk, struct bolt_flow *f,
				       const struct sk_buff *skb, u64 now_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);
	unsigned int len = skb->len + ETH_HLEN;

	if (!f->ns_per_byte)
		return;
	if (skb_is_gso(skb))
		len += (skb_shinfo(skb)->gso_segs - 1) *
		       (skb_transport_offset(skb) + tcp_hdrlen(skb) + ETH_HLEN);
	f->next_tx_ns = bolt_core_next_tx(f->next_tx_ns, now_ns,
					  bolt_core_tx_ns(len, f->ns_per_byte, &f->tx_frac));
	if (f->next_tx_ns > tp->tcp_wstamp_ns)
		tp->tcp_wstamp_ns = f->next_tx_ns;
}

/*
 * What Swift wants to know of the newest data packet.  TCP has read the clock when it took it up,
 * after it may have waited for a user of the socket; or when it sent this late.
 */
static __always_inline u16 bolt_reflect(const struct tcp_sock *tp, const struct bolt_flow *f)
{
	s32 waited_ns = (u32)tp->tcp_clock_cache - READ_ONCE(f->rx_at);

	if (!READ_ONCE(f->rx_t_data_tx))
		return 0;
	return bolt_rq_pack(max(waited_ns, 0), READ_ONCE(f->rx_hops));
}

/* Room for the option, or NULL: the packet goes without */
static __always_inline u8 *bolt_out_room(struct bolt_net *bn, const struct sock *sk,
					 struct sk_buff *skb, unsigned int thoff,
					 unsigned int thlen, bool ip6)
{
	if (!bolt_fits_tcp(sk, skb, thoff + thlen) &&
	    !bolt_fits(skb, thoff + thlen, BOLT_TCPOPT_LEN, ip6)) {
		BOLT_INC_STATS(bn, OptNoMtu);
		return NULL;
	}
	return bolt_push(bn, skb, thoff, thlen, BOLT_TCPOPT_LEN, ip6);
}

/* Data or an ACK, its TCP header so far of @thlen bytes at @thoff */
static __always_inline void bolt_out_established(struct sk_buff *skb, struct sock *sk,
						 unsigned int thoff, unsigned int thlen, bool ip6)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	u32 seq, payload = skb->len - thoff - thlen;
	struct bolt_flow *f = bolt_flow_locked(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	bool by_src = bolt_sk_uses(sk);
	const struct tcphdr *th;
	struct bolt_opt opt = {};
	u64 now_ns;
	u8 *p;

	if (!f || !f->reserved || bolt_sk_is_signed(sk))
		return;
	if (unlikely(atomic_read(&f->pending)))
		bolt_flow_take_up(f, sk);
	if (unlikely(icsk->icsk_ext_hdr_len != f->hdr_reserved))
		bolt_reserve_again(sk, f);

	/* Every packet is acknowledged: no delayed ACK, no waiting for a reply to ride on */
	icsk->icsk_ack.quick = TCP_MAX_QUICKACKS;
	inet_csk_exit_pingpong_mode(sk);

	p = bolt_out_room(f->bn, sk, skb, thoff, thlen, ip6);
	th = (const struct tcphdr *)(skb->data + thoff);
	if (unlikely(f->pace_ns))
		bolt_swift_pass(sk, f, skb, tcp_hdr(skb), payload || th->fin);

	/* the departure of this very packet; one that passes a pause by has no other */
	now_ns = skb->tstamp ? tp->tcp_wstamp_ns : tp->tcp_clock_cache;
	opt.inc_count = atomic_read(&f->rx_inc);
	opt.flags = BOLT_F_ACK;
	if (payload) {
		if (unlikely(f->dev_ifindex != skb_dst(skb)->dev->ifindex ||
			     f->rate_gen != READ_ONCE(f->bn->rate_gen)))
			bolt_cc_refresh_rate(sk, f, skb_dst(skb)->dev->ifindex);
		/* swift has no use for SRC: no switch sends it for a packet that says it has */
		seq = ntohl(th->seq);
		opt.flags |= BOLT_F_DATA;
		opt.flags |= by_src ? bolt_data_flags(f->bn, sk, f, seq, seq + payload, now_ns) :
				      BOLT_F_DEC;
		opt.t_data_tx = (u32)now_ns ?: 1;
		f->last_tx_ns = now_ns;
	} else {
		opt.t_data_tx = READ_ONCE(f->rx_t_data_tx);
		if (READ_ONCE(f->rx_dec))
			opt.flags |= BOLT_F_DEC;
		opt.rq_delay = bolt_reflect(tp, f);
		/*
		 * TCP stamps it with the departure of the next data: fq would hold it that long.
		 * A FIN stays behind its data.
		 */
		if (!th->fin)
			bolt_skb_leaves_now(skb);
	}
	if (likely(p)) {
		bolt_opt_write(p, &opt);
		BOLT_INC_STATS(f->bn, OptTx);
	}
	if (payload) {
		bolt_space(sk, f, skb, now_ns);
		if (!by_src)
			bolt_swift_depart(sk, f);
		else if (unlikely(f->pace_ns || f->core.wait_ns))
			bolt_below_depart(sk, f);
	}
}

/* Behind extension headers.  Is it TCP, and where the skb says? */
static noinline bool bolt_out_ip6_tcp(const struct sk_buff *skb, unsigned int thoff)
{
	u8 proto = ipv6_hdr(skb)->nexthdr;
	__be16 frag;

	return ipv6_skip_exthdr(skb, sizeof(struct ipv6hdr), &proto, &frag) == thoff &&
	       proto == IPPROTO_TCP;
}

/* The TCP header of a packet TCP built itself, all of it; NULL when it is no such packet. */
static inline struct tcphdr *bolt_out_th(const struct sk_buff *skb, bool ip6)
{
	struct tcphdr *th = tcp_hdr(skb);
	unsigned int thoff = (u8 *)th - skb->data;

	/* a tunnel may pass its outer packet with the inner socket */
	if (!ip6 ? ip_hdr(skb)->protocol != IPPROTO_TCP :
		   ipv6_hdr(skb)->nexthdr != IPPROTO_TCP && !bolt_out_ip6_tcp(skb, thoff))
		return NULL;
	if (thoff < sizeof(struct iphdr) || thoff + sizeof(*th) > skb_headlen(skb))
		return NULL;
	return th->doff * 4 >= sizeof(*th) && thoff + th->doff * 4 <= skb_headlen(skb) ? th : NULL;
}

/* The answer to a SYN: of a listener, a request, or nobody */
static noinline unsigned int bolt_out_reply(struct sk_buff *skb, struct net *net, struct sock *sk,
					    bool ip6)
{
	const struct tcphdr *th;

	if (!bolt_hs_armed() && !bolt_is_fastopen(sk))
		return NF_ACCEPT;
	th = bolt_out_th(skb, ip6);
	if (th && !th->rst && th->syn && th->ack && skb->ip_summed == CHECKSUM_PARTIAL)
		bolt_out_synack(bolt_net(net), skb, sk, (u8 *)th - skb->data, ip6);
	return NF_ACCEPT;
}

static noinline void bolt_out_handshake(struct sk_buff *skb, struct sock *sk,
					const struct tcphdr *th, bool ip6)
{
	struct bolt_net *bn = bolt_net(sock_net(sk));
	unsigned int thoff = (u8 *)th - skb->data;

	if (th->ack)
		bolt_out_synack(bn, skb, sk, thoff, ip6);
	else
		bolt_out_syn(bn, skb, sk, thoff, ip6);
}

/* Anything of a connection that speaks the option, or of any while one is paused */
static noinline unsigned int bolt_out_look(struct sk_buff *skb, struct sock *sk, bool ip6)
{
	bool lent = skb_dst_is_noref(skb);
	unsigned int thlen, off;
	struct tcphdr *th;

	/*
	 * TCP lends its packets the socket's route; whoever queued or rerouted one took a
	 * reference.  Then this may be another context, and the socket not ours to touch.
	 */
	if (!lent && !bolt_is_fastopen(sk))
		return NF_ACCEPT;
	th = bolt_out_th(skb, ip6);
	if (!th)
		return NF_ACCEPT;
	thlen = th->doff * 4;
	if (bolt_pause_any()) {
		unsigned int payload = skb->data + skb->len - ((u8 *)th + thlen);
		unsigned int verdict = bolt_pause_out(skb, sk, th, payload);

		if (verdict != NF_ACCEPT || !bolt_sk_speaks(sk))
			return verdict;
	}
	if (th->rst || skb->ip_summed != CHECKSUM_PARTIAL)
		return NF_ACCEPT;
	if (th->syn)
		bolt_out_handshake(skb, sk, th, ip6);
	/* a VRF calls LOCAL_OUT again */
	else if (lent && bolt_opt_find((u8 *)(th + 1), thlen - sizeof(*th), &off) == BOLT_OPT_NONE)
		bolt_out_established(skb, sk, (u8 *)th - skb->data, thlen, ip6);
	return NF_ACCEPT;
}

/* What TCP builds most of the time: headers without options, but for timestamps */
static __always_inline bool bolt_out_is_usual(const struct sk_buff *skb, unsigned int thoff,
					      bool ip6)
{
	const struct tcphdr *th = (const struct tcphdr *)(skb->data + thoff);

	return skb_dst_is_noref(skb) && skb_transport_offset(skb) == thoff &&
	       (ip6 ? ipv6_hdr(skb)->nexthdr : ip_hdr(skb)->protocol) == IPPROTO_TCP &&
	       thoff + BOLT_USUAL_TCP - BOLT_TCPOPT_LEN <= skb_headlen(skb) &&
	       bolt_th_is(th, BOLT_USUAL_TCP - BOLT_TCPOPT_LEN) &&
	       bolt_opt_at_ts(th + 1) &&
	       skb->ip_summed == CHECKSUM_PARTIAL;
}

static __always_inline unsigned int bolt_out_flow(struct sk_buff *skb, struct sock *sk,
						  unsigned int thoff, bool ip6)
{
	if (unlikely(bolt_pause_any() || !bolt_out_is_usual(skb, thoff, ip6)))
		return bolt_out_look(skb, sk, ip6);
	bolt_out_established(skb, sk, thoff, BOLT_USUAL_TCP - BOLT_TCPOPT_LEN, ip6);
	return NF_ACCEPT;
}

static noinline unsigned int bolt_out_flow4(struct sk_buff *skb, struct sock *sk)
{
	return bolt_out_flow(skb, sk, sizeof(struct iphdr), false);
}

static noinline unsigned int bolt_out_flow6(struct sk_buff *skb, struct sock *sk)
{
	return bolt_out_flow(skb, sk, sizeof(struct ipv6hdr), true);
}

static __always_inline unsigned int bolt_out(struct sk_buff *skb, const struct nf_hook_state *state,
					     bool ip6)
{
	struct sock *sk = state->sk;

	/* RST and TIME-WAIT replies leave through raw control sockets: look before inet_csk() */
	if (!sk || !sk_fullsock(sk))
		return bolt_out_reply(skb, state->net, sk, ip6);
	if (!sk_is_tcp(sk))
		return NF_ACCEPT;
	if (sk->sk_state == TCP_LISTEN)
		return bolt_out_reply(skb, state->net, sk, ip6);
	if (!bolt_sk_speaks(sk) && !bolt_pause_any())
		return NF_ACCEPT;
	return ip6 ? bolt_out_flow6(skb, sk) : bolt_out_flow4(skb, sk);
}

unsigned int bolt_local_out4(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	return bolt_out(skb, state, false);
}

unsigned int bolt_local_out6(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	return bolt_out(skb, state, true);
}
