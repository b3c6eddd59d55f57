// SPDX-License-Identifier: GPL-2.0
/*
 * LOCAL_IN: the option is read from what arrives.
 *
 * Runs in softirq without the socket lock, before TCP.  What it learns goes into single words
 * of the per-socket object; the next packet sent and the next cong_control() look there.
 * Packets without the option cost a look at the length of the TCP header.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <net/inet_hashtables.h>
#include <net/inet6_hashtables.h>
#include <net/ipv6.h>

#include "bolt.h"

/* The connection this packet belongs to, with a reference; NULL when there is none. */
static struct sock *bolt_rx_sock(struct net *net, struct sk_buff *skb, const struct tcphdr *th,
				 bool ip6)
{
	struct inet_hashinfo *hi = net->ipv4.tcp_death_row.hashinfo;

#if IS_ENABLED(CONFIG_IPV6)
	if (ip6)
		return __inet6_lookup_established(net, hi, &ipv6_hdr(skb)->saddr, th->source,
						  &ipv6_hdr(skb)->daddr, ntohs(th->dest),
						  skb->dev->ifindex, inet6_sdif(skb));
#endif
	return __inet_lookup_established(net, hi, ip_hdr(skb)->saddr, th->source,
					 ip_hdr(skb)->daddr, ntohs(th->dest),
					 skb->dev->ifindex, inet_sdif(skb));
}

/* Section 3.2: count what the switches granted; remember what the next ACK reflects. */
static __always_inline void bolt_rx_data(struct bolt_flow *f, const struct bolt_opt *opt,
					 unsigned int segs, u8 ttl, u64 now_ns)
{
	bool dec = opt->flags & BOLT_F_DEC;

	if (opt->flags & BOLT_F_INC) {
		atomic_add(segs, &f->rx_inc);
		BOLT_ADD_STATS(f->bn, IncRx, segs);
	}
	if (dec)
		BOLT_ADD_STATS(f->bn, DecRx, segs);
	WRITE_ONCE(f->rx_dec, dec);
	WRITE_ONCE(f->rx_hops, bolt_hops_of_ttl(ttl));
	WRITE_ONCE(f->rx_at, (u32)now_ns);
	WRITE_ONCE(f->rx_t_data_tx, opt->t_data_tx);
}

/*
 * Would TCP look at this segment at all (RFC 9293, 3.10.7.4; RFC 5961, 5.2)? Without it the ports
 * alone would do to forge counts.  An ACK may be here before snd_nxt has moved; write_seq has.
 */
static __always_inline bool bolt_in_window(const struct tcp_sock *tp, u32 seq, u32 ack_seq,
					   bool data)
{
	u32 rcv_nxt = READ_ONCE(tp->rcv_nxt), wnd = max(READ_ONCE(tp->rcv_wnd), 1U << 16);

	if (after(ack_seq, READ_ONCE(tp->write_seq)) ||
	    before(ack_seq, READ_ONCE(tp->snd_una) - max(READ_ONCE(tp->max_window), 1U << 16)))
		return false;
	return !data || (!after(seq, rcv_nxt + wnd) && !before(seq, rcv_nxt - wnd));
}

static __always_inline void bolt_rx_ack(struct bolt_flow *f, const struct bolt_opt *opt, bool pure,
					u64 now_ns)
{
	u32 rtt_ns;

	WRITE_ONCE(f->ack_inc, opt->inc_count);
	if (pure) {
		/* DEC and the echo of a segment with payload are its own direction's */
		WRITE_ONCE(f->ack_dec, !!(opt->flags & BOLT_F_DEC));
		if (opt->t_data_tx && bolt_core_rtt_src(now_ns, opt->t_data_tx, &rtt_ns)) {
			WRITE_ONCE(f->ack_rq, opt->rq_delay);
			WRITE_ONCE(f->ack_at, (u32)now_ns);
			WRITE_ONCE(f->ack_rtt_ns, rtt_ns ?: 1);
		}
	}
	WRITE_ONCE(f->ack_stamp, tcp_jiffies32);
	WRITE_ONCE(f->ack_seen, 1);
}

/* Waiting for a SYN-ACK: after connect(), or after two SYNs that crossed */
static bool bolt_rx_wants_synack(const struct sock *sk)
{
	return sk->sk_state == TCP_SYN_SENT ||
	       (sk->sk_state == TCP_SYN_RECV && !rcu_access_pointer(tcp_sk(sk)->fastopen_rsk));
}

/* The peer accepted the offer.  The object is made here, as connect() may own the socket. */
static void bolt_rx_synack(struct bolt_net *bn, struct sock *sk, u32 ack_seq)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bolt_flow *f;

	bh_lock_sock(sk);
	/*
	 * TCP checks the acknowledgment later (RFC 9293, 3.10.7.3): a blind guess gets no object.
	 * On a short path the answer is here before tcp_connect() has moved snd_nxt.
	 */
	if (bolt_rx_wants_synack(sk) && bolt_sk_speaks(sk) &&
	    after(ack_seq, tp->snd_una) && !after(ack_seq, tp->write_seq)) {
		BOLT_INC_STATS(bn, SynAckRx);
		f = bolt_flow_create(sk);
		if (f) {
			f->syn_ack = ack_seq;
			f->syn_sport = inet_sk(sk)->inet_sport;
		} else {
			BOLT_INC_STATS(bn, NoMem);
		}
	}
	bh_unlock_sock(sk);
}

/* True when the option has served: nobody after us needs to see it. */
static __always_inline bool bolt_rx_full(struct bolt_flow *f, const struct sk_buff *skb,
					 unsigned int thoff, unsigned int off, bool ip6)
{
	const struct tcphdr *th = (const struct tcphdr *)(skb->data + thoff);
	u64 now_ns = ktime_get_ns();
	struct bolt_opt opt;
	unsigned int segs;
	bool data;

	bolt_opt_read((const u8 *)(th + 1) + off, &opt);
	data = opt.flags & BOLT_F_DATA;
	if (!bolt_in_window(tcp_sk(f->sk), ntohl(th->seq), ntohl(th->ack_seq), data)) {
		BOLT_INC_STATS(f->bn, OptWindow);
		return false;
	}
	segs = max_t(u16, skb_shinfo(skb)->gso_segs, 1);
	BOLT_ADD_STATS(f->bn, OptRx, segs);
	if (data)
		bolt_rx_data(f, &opt, segs, ip6 ? ipv6_hdr(skb)->hop_limit : ip_hdr(skb)->ttl,
			     now_ns);
	if (opt.flags & BOLT_F_ACK)
		bolt_rx_ack(f, &opt, !data, now_ns);
	return true;
}

/* Headers, towards the end of the buffer.  IPv4 with timestamps is what there is most of. */
static inline void bolt_rx_move(u8 *to, const u8 *from, unsigned int len)
{
	int i;

	if (len != BOLT_USUAL_HEADERS) {
		memmove(to, from, len);
		return;
	}
	/* each word is read before the one that lies 12 bytes further on is written over it */
	put_unaligned(get_unaligned((const u32 *)(from + 48)), (u32 *)(to + 48));
#pragma GCC unroll 6
	for (i = 40; i >= 0; i -= 8)
		put_unaligned(get_unaligned((const u64 *)(from + i)), (u64 *)(to + i));
}

/*
 * TCP's header prediction wants exactly the header that it sends itself, and its backlog merges
 * ACKs whose options are equal: so the option, at the end of the header, is taken out again when
 * it has been read.  Not of a packet whose header others hold (captures), nor before the checksum
 * has been verified: TCP passes over the option itself then.
 */
static __always_inline void bolt_rx_strip(struct sk_buff *skb, unsigned int thoff, unsigned int off,
					  bool ip6)
{
	struct tcphdr *th = (struct tcphdr *)(skb->data + thoff);
	struct ipv6hdr *ip6h = (struct ipv6hdr *)skb->data;
	struct iphdr *iph = (struct iphdr *)skb->data;

	if (!skb_csum_unnecessary(skb) || skb_shared(skb) || skb_header_cloned(skb) ||
	    (ip6 && !ip6h->payload_len))
		return;
	bolt_th_grow(th, -BOLT_TCPOPT_LEN);
	if (ip6) {
		be16_add_cpu(&ip6h->payload_len, -BOLT_TCPOPT_LEN);
	} else if (likely(iph->tot_len)) {
		/* not BIG TCP */
		be16_add_cpu(&iph->tot_len, -BOLT_TCPOPT_LEN);
		iph->check = csum16_add(iph->check, htons(BOLT_TCPOPT_LEN));
	}
	bolt_rx_move(skb->data + BOLT_TCPOPT_LEN, skb->data, thoff + sizeof(*th) + off);
	__skb_pull(skb, BOLT_TCPOPT_LEN);
	skb->network_header += BOLT_TCPOPT_LEN;
	skb->transport_header += BOLT_TCPOPT_LEN;
	if (skb->ip_summed == CHECKSUM_PARTIAL)
		skb->csum_start += BOLT_TCPOPT_LEN;
}

/* The object of a socket whose peer may send the option, or NULL; so is that of no full socket. */
static struct bolt_flow *bolt_flow_usable(const struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_lookup(sk);

	return f && !READ_ONCE(f->plain) ? f : NULL;
}

static noinline void bolt_rx_note(enum bolt_hs what, struct bolt_net *bn, struct sk_buff *skb,
				  const struct tcphdr *th, bool ip6)
{
	struct bolt_hs_key key;

	bolt_hs_key_of(&key, skb, th, bn->net, ip6);
	bolt_hs_put(what, &key);
}

/*
 * A handshake, no option of ours after all, or a socket that early demux did not look for: then its
 * object comes back, with a reference to the socket.
 */
static noinline struct bolt_flow *bolt_rx_other(struct bolt_net *bn, struct sk_buff *skb,
						const struct tcphdr *th, enum bolt_opt_form form,
						bool ip6)
{
	struct bolt_flow *f;
	struct sock *sk;

	if (form == BOLT_OPT_SYN && th->syn && !th->ack) {
		BOLT_INC_STATS(bn, SynRx);
		bolt_rx_note(BOLT_HS_SYN, bn, skb, th, ip6);
		return NULL;
	}
	/* the form of the handshake belongs there, and the full one nowhere else */
	if (form == BOLT_OPT_BAD || (th->syn ? form != BOLT_OPT_SYN : form != BOLT_OPT_FULL)) {
		BOLT_INC_STATS(bn, OptBad);
		return NULL;
	}

	sk = skb->sk ?: bolt_rx_sock(bn->net, skb, th, ip6);
	if (sk && sk_fullsock(sk) && sk->sk_state != TCP_LISTEN) {
		f = form == BOLT_OPT_FULL ? bolt_flow_usable(sk) : NULL;
		if (f)
			return f;
		if (form == BOLT_OPT_SYN)
			bolt_rx_synack(bn, sk, ntohl(th->ack_seq));
		/* another CPU is still making the socket, or ended it after we had found it */
		else if (!(1 << READ_ONCE(sk->sk_state) & (TCPF_SYN_RECV | TCPF_CLOSE)))
			BOLT_INC_STATS(bn, OptUnexpected);
	} else if (form == BOLT_OPT_FULL && (!sk || sk->sk_state == TCP_NEW_SYN_RECV)) {
		/* a request, or a cookie: the child is made from this very packet */
		bolt_rx_note(BOLT_HS_ESTABLISHED, bn, skb, th, ip6);
	}
	if (sk && sk != skb->sk)
		sock_gen_put(sk);
	return NULL;
}

/* What may carry the option, to be looked at closely */
static noinline unsigned int bolt_rx_look(struct sk_buff *skb, const struct nf_hook_state *state,
					  unsigned int thoff)
{
	bool ip6 = state->pf == NFPROTO_IPV6;
	struct bolt_flow *f = NULL;
	enum bolt_opt_form form;
	const struct tcphdr *th;
	unsigned int thlen, off;

	/* as TCP is about to do */
	if (!pskb_may_pull(skb, thoff + sizeof(*th)))
		return NF_ACCEPT;
	thlen = ((struct tcphdr *)(skb->data + thoff))->doff * 4;
	if (thlen < sizeof(*th) + BOLT_TCPOPT_LEN_SYN || !pskb_may_pull(skb, thoff + thlen))
		return NF_ACCEPT;
	th = (const struct tcphdr *)(skb->data + thoff);
	form = bolt_opt_find((const u8 *)(th + 1), thlen - sizeof(*th), &off);
	if (form == BOLT_OPT_FULL && !th->syn && skb->sk)
		f = bolt_flow_usable(skb->sk);
	if (!f) {
		if (form == BOLT_OPT_NONE)
			return NF_ACCEPT;
		/* a verdict of NFQUEUE continues here from a process */
		local_bh_disable();
		f = bolt_rx_other(bolt_net(state->net), skb, th, form, ip6);
		local_bh_enable();
		if (!f)
			return NF_ACCEPT;
	}
	/* at the end, and not behind extension headers, which are passed one by one */
	if (bolt_rx_full(f, skb, thoff, off, ip6) &&
	    sizeof(*th) + off + BOLT_TCPOPT_LEN == thlen && skb_network_header_len(skb) == thoff)
		bolt_rx_strip(skb, thoff, off, ip6);
	if (f->sk != skb->sk)
		sock_gen_put(f->sk);
	return NF_ACCEPT;
}

/* Timestamps and the option, of a connection that early demux has found: nearly all of them */
static __always_inline bool bolt_rx_is_usual(const struct sk_buff *skb, unsigned int thoff)
{
	const struct tcphdr *th = (const struct tcphdr *)(skb->data + thoff);

	return thoff + BOLT_USUAL_TCP <= skb_headlen(skb) && bolt_th_is(th, BOLT_USUAL_TCP) &&
	       bolt_opt_at_ts(th + 1) &&
	       bolt_opt_at_full((const u8 *)(th + 1) + TCPOLEN_TSTAMP_ALIGNED) && skb->sk;
}

static __always_inline unsigned int bolt_rx_packet(struct sk_buff *skb,
						   const struct nf_hook_state *state,
						   unsigned int thoff, bool ip6)
{
	struct bolt_flow *f = NULL;

	if (likely(bolt_rx_is_usual(skb, thoff)))
		f = bolt_flow_usable(skb->sk);
	if (unlikely(!f))
		return bolt_rx_look(skb, state, thoff);
	if (bolt_rx_full(f, skb, thoff, TCPOLEN_TSTAMP_ALIGNED, ip6))
		bolt_rx_strip(skb, thoff, TCPOLEN_TSTAMP_ALIGNED, ip6);
	return NF_ACCEPT;
}

static noinline unsigned int bolt_rx_packet4(struct sk_buff *skb, const struct nf_hook_state *state)
{
	return bolt_rx_packet(skb, state, sizeof(struct iphdr), false);
}

static noinline unsigned int bolt_rx_packet6(struct sk_buff *skb, const struct nf_hook_state *state)
{
	return bolt_rx_packet(skb, state, sizeof(struct ipv6hdr), true);
}

/* What the stack sends without ours: no option, or timestamps alone.  False: have a look. */
static bool bolt_rx_plain(const struct sk_buff *skb, unsigned int thoff)
{
	const struct tcphdr *th = (const struct tcphdr *)(skb->data + thoff);

	if (thoff + sizeof(*th) + TCPOLEN_TSTAMP_ALIGNED > skb_headlen(skb))
		return false;
	return th->doff == sizeof(*th) / 4 ||
	       (th->doff == (sizeof(*th) + TCPOLEN_TSTAMP_ALIGNED) / 4 &&
		bolt_opt_at_ts(th + 1));
}

/* TCP behind extension headers */
static noinline unsigned int bolt_rx_ip6_ext(struct sk_buff *skb,
					     const struct nf_hook_state *state)
{
	u8 proto = ipv6_hdr(skb)->nexthdr;
	__be16 frag;
	int thoff;

	thoff = ipv6_skip_exthdr(skb, sizeof(struct ipv6hdr), &proto, &frag);
	if (thoff >= 0 && proto == IPPROTO_TCP && !frag && !bolt_rx_plain(skb, thoff))
		bolt_rx_look(skb, state, thoff);
	return NF_ACCEPT;
}

unsigned int bolt_local_in4(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	unsigned int thoff = ip_hdrlen(skb);

	if (ip_hdr(skb)->protocol != IPPROTO_TCP || bolt_rx_plain(skb, thoff))
		return NF_ACCEPT;
	if (unlikely(thoff != sizeof(struct iphdr)))
		return bolt_rx_look(skb, state, thoff);
	return bolt_rx_packet4(skb, state);
}

unsigned int bolt_local_in6(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	if (ipv6_hdr(skb)->nexthdr != IPPROTO_TCP)
		return bolt_rx_ip6_ext(skb, state);
	if (bolt_rx_plain(skb, sizeof(struct ipv6hdr)))
		return NF_ACCEPT;
	return bolt_rx_packet6(skb, state);
}
