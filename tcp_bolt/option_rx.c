// SPDX-License-Identifier: GPL-2.0
/*
 * LOCAL_IN: read the option of received packets.
 *
 * This runs in softirq, or behind NFQUEUE in process context, before TCP and without the socket
 * lock.  So it stores what it reads in single words of the per-socket object, for the next packet
 * sent and the next cong_control().  A packet without options, or with timestamps only, costs one
 * check of the TCP header.
 */

#include "bolt_ip6.h"
#include "bolt.h"

/*
 * Would TCP accept this segment (RFC 9293, 3.10.7.4; RFC 5961, 5.2)?  Without this check an
 * attacker who knows only the ports could forge INC counts.  Compare with write_seq instead of
 * snd_nxt, since an ACK may arrive before TCP has advanced snd_nxt.  What was received before is
 * data sent again, whose echo TCP's answer carries: bolt_rx_full() believes no more of it.
 */
static bool bolt_in_window(const struct tcp_sock *tp, u32 seq, u32 ack_seq)
{
	u32 end = bolt_rcv_end(tp), rcv_nxt = READ_ONCE(tp->rcv_nxt);

	if (after(ack_seq, READ_ONCE(tp->write_seq)) ||
	    before(ack_seq, READ_ONCE(tp->snd_una) - max(READ_ONCE(tp->max_window), 1U << 16)))
		return false;
	/* rcv_nxt may be beyond the window, of which a peer does not know that it has shrunk */
	return !(after(seq, end) && after(seq, rcv_nxt)) &&
	       !before(seq, rcv_nxt - max(READ_ONCE(tp->rcv_wnd), 1U << 16));
}

static void bolt_rx_ack(struct bolt_flow *f, const struct bolt_opt *opt, bool pure, u32 ack_seq,
			u64 now_ns)
{
	WRITE_ONCE(f->ack_inc, opt->inc_count);
	if (pure) {
		/* on a segment with payload, DEC and t_data_tx are about that segment */
		WRITE_ONCE(f->ack_dec, !!(opt->flags & BOLT_F_DEC));
		if (opt->t_data_tx) {
			WRITE_ONCE(f->ack_rq, opt->rq_delay);
			WRITE_ONCE(f->ack_seq, ack_seq);
			/* one word, so that each echo keeps its arrival; behind its number */
			atomic64_set_release(&f->ack_echo, now_ns << 32 | opt->t_data_tx);
		}
	}
	WRITE_ONCE(f->ack_stamp, tcp_jiffies32);
}

/*
 * The peer accepted the offer; our SYN has created the object.  Do not create one here: a user may
 * own the socket, in connect() or while changing the congestion control.
 */
static void bolt_rx_synack(struct bolt_net *bn, struct sock *sk, u32 ack_seq)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bolt_flow *f = bolt_flow_lookup(sk);
	int state = READ_ONCE(sk->sk_state);

	/*
	 * It waits for a SYN-ACK: after connect(), or after two SYNs that crossed.  If init() was
	 * called, by setsockopt() since, it has begun without the option.
	 */
	if (!f || bolt_flow_controller(f) ||
	    (state != TCP_SYN_SENT && (state != TCP_SYN_RECV || bolt_is_fastopen(sk))))
		return;
	/*
	 * TCP checks the acknowledgment only later (RFC 9293, 3.10.7.3), so reject a blind guess
	 * here.  On a short path the SYN-ACK may arrive before tcp_connect() has advanced snd_nxt.
	 */
	if (!after(ack_seq, READ_ONCE(tp->snd_una)) || after(ack_seq, READ_ONCE(tp->write_seq)))
		return;
	BOLT_INC_STATS(bn, SynAckRx);
	WRITE_ONCE(f->syn_ack, ack_seq);
	WRITE_ONCE(f->speaks, 1);
}

/*
 * TCP verifies the checksum after this hook, unless the device has.  So do it here: the option of a
 * corrupt segment is not believed, and TCP drops it.  By ip_summed alone: csum_valid may be of an
 * outer header, and TCP clears it.
 */
static bool bolt_rx_is_intact(struct sk_buff *skb, const struct tcphdr *th)
{
	unsigned int thoff = (u8 *)th - skb->data;

	if (likely(skb->ip_summed == CHECKSUM_UNNECESSARY))
		return true;
	/* sent by this machine, and not computed yet */
	if (skb->ip_summed == CHECKSUM_PARTIAL)
		return skb_checksum_start_offset(skb) >= 0;
	if (nf_checksum(skb, NF_INET_LOCAL_IN, thoff, IPPROTO_TCP,
			bolt_is_ip6(skb) ? AF_INET6 : AF_INET))
		return false;
	/* TCP does not verify it once more, and could not without the option */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	return true;
}

static struct bolt_rx bolt_rx_read(const struct sk_buff *skb, const struct tcphdr *th,
				   unsigned int off)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	struct bolt_rx rx = {
		.at_ns = ktime_get_ns(),
		.payload = skb->len - ((u8 *)th - skb->data) - th->doff * 4,
		.ttl = bolt_is_ip6(skb) ? ipv6_hdr(skb)->hop_limit : ip_hdr(skb)->ttl,
	};

	bolt_opt_read((const u8 *)(th + 1) + off, &rx.opt);
	/* drivers of virtual machines (virtio, tun) leave gso_segs 0 */
	rx.segs = !info->gso_size ? 1 :
		  info->gso_segs ?: DIV_ROUND_UP(rx.payload, info->gso_size);
	return rx;
}

/* Returns true if the option was accepted, so that it may be removed from the packet. */
static bool bolt_rx_full(struct bolt_flow *f, struct sk_buff *skb, const struct tcphdr *th,
			 unsigned int off)
{
	const struct bolt_rx rx = bolt_rx_read(skb, th, off);

	if (!bolt_rx_is_intact(skb, th))
		return false;
	/* nor does TCP take what does not acknowledge, and most RST */
	if (!th->ack || th->rst ||
	    !bolt_in_window(tcp_sk(f->sk), ntohl(th->seq), ntohl(th->ack_seq))) {
		BOLT_INC_STATS(f->bn, OptWindow);
		return false;
	}
	BOLT_ADD_STATS(f->bn, OptRx, rx.segs);
	bolt_rx_data(f, &rx);
	/* tcp_sequence(): the ACK of an older segment is not processed */
	if (rx.opt.flags & BOLT_F_ACK &&
	    !before(ntohl(th->seq) + rx.payload + th->fin, READ_ONCE(tcp_sk(f->sk)->rcv_wup)))
		bolt_rx_ack(f, &rx.opt, !(rx.opt.flags & BOLT_F_DATA), ntohl(th->ack_seq),
			    rx.at_ns);
	return true;
}

/*
 * Remove the option after it was read, if it is at the end of the header, and not behind IPv6
 * extension headers.  TCP's header prediction needs exactly the header that TCP itself sends, and
 * the socket's backlog merges ACKs only if their options are equal.  Leave the option in a packet
 * whose header is shared (captures), and in BIG TCP over IPv6; TCP then skips it as an unknown one.
 */
static void bolt_rx_strip(struct sk_buff *skb, const struct tcphdr *th, unsigned int off)
{
	if (sizeof(*th) + off + BOLT_TCPOPT_LEN == th->doff * 4 &&
	    skb_transport_header(skb) == (u8 *)th &&
	    !skb_shared(skb) && !skb_header_cloned(skb) &&
	    (!bolt_is_ip6(skb) || ipv6_hdr(skb)->payload_len))
		bolt_grow(skb, -BOLT_TCPOPT_LEN, skb_tcp_all_headers(skb) - BOLT_TCPOPT_LEN);
}

/* The packet's socket or NULL, with a reference if early demux did not look it up */
static struct sock *bolt_rx_sock(struct bolt_net *bn, struct sk_buff *skb, const struct tcphdr *th)
{
	bool ip6 = bolt_is_ip6(skb);
	const void *saddr = ip6 ? (void *)&ipv6_hdr(skb)->saddr : &ip_hdr(skb)->saddr;
	const void *daddr = ip6 ? (void *)&ipv6_hdr(skb)->daddr : &ip_hdr(skb)->daddr;

	return skb->sk ?: bolt_find_sock(bn->net, skb, saddr, th->source, daddr, th->dest, ip6);
}

static void bolt_rx_sock_put(const struct sk_buff *skb, struct sock *sk)
{
	if (sk && sk != skb->sk)
		sock_gen_put(sk);
}

/* Not a listener, a request, or TIME-WAIT */
static bool bolt_rx_is_connection(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && READ_ONCE(sk->sk_state) != TCP_LISTEN;
}

/* A SYN that offers, or a SYN-ACK that accepts */
static void bolt_rx_handshake(struct bolt_net *bn, struct sk_buff *skb, const struct tcphdr *th)
{
	struct sock *sk;

	if (!th->ack) {
		BOLT_INC_STATS(bn, SynRx);
		bolt_hs_note_packet(BOLT_HS_SYN, bn, th, NULL);
		return;
	}
	sk = bolt_rx_sock(bn, skb, th);
	if (bolt_rx_is_connection(sk) && bolt_rx_is_intact(skb, th))
		bolt_rx_synack(bn, sk, ntohl(th->ack_seq));
	bolt_rx_sock_put(skb, sk);
}

/* A packet of an established connection, or the one that establishes it */
static void bolt_rx_established(struct bolt_net *bn, struct sk_buff *skb, const struct tcphdr *th,
				unsigned int off)
{
	struct sock *sk = bolt_rx_sock(bn, skb, th);
	struct bolt_flow *f;
	struct bolt_rx rx;

	if (bolt_rx_is_connection(sk)) {
		f = bolt_flow_lookup(sk);
		if (f && READ_ONCE(f->speaks)) {
			if (bolt_rx_full(f, skb, th, off))
				bolt_rx_strip(skb, th, off);
		/* in these states another CPU is creating the socket, or has just closed it */
		} else if (!(1 << READ_ONCE(sk->sk_state) & (TCPF_SYN_RECV | TCPF_CLOSE))) {
			BOLT_INC_STATS(bn, OptUnexpected);
		}
	} else {
		/*
		 * TCP creates the child from this packet: of a request, or with a SYN cookie, whose
		 * listener TPROXY may have looked up.  In TIME-WAIT it is nobody's, and the next
		 * packet clears the note.
		 */
		rx = bolt_rx_read(skb, th, off);
		bolt_hs_note_packet(BOLT_HS_ESTABLISHED, bn, th, &rx);
	}
	bolt_rx_sock_put(skb, sk);
}

/* A TCP header that may have the option.  Without memory to pull it TCP ignores the option. */
static unsigned int bolt_rx_packet(struct bolt_net *bn, struct sk_buff *skb, unsigned int thoff)
{
	enum bolt_opt_form form;
	const struct tcphdr *th;
	unsigned int thlen, off;

	if (!pskb_may_pull(skb, thoff + sizeof(*th)))
		return NF_ACCEPT;
	thlen = ((struct tcphdr *)(skb->data + thoff))->doff * 4;
	if (thlen < sizeof(*th) + BOLT_TCPOPT_LEN_SYN || !pskb_may_pull(skb, thoff + thlen))
		return NF_ACCEPT;
	th = (const struct tcphdr *)(skb->data + thoff);
	form = bolt_opt_find((const u8 *)(th + 1), thlen - sizeof(*th), &off);
	if (form == BOLT_OPT_NONE)
		return NF_ACCEPT;
	/* after a verdict of NFQUEUE, this is process context */
	local_bh_disable();
	/* the short form is for SYN and SYN-ACK, the full one for all other packets */
	if (form != (th->syn ? BOLT_OPT_SYN : BOLT_OPT_FULL))
		BOLT_INC_STATS(bn, OptBad);
	else if (th->syn)
		bolt_rx_handshake(bn, skb, th);
	else
		bolt_rx_established(bn, skb, th, off);
	local_bh_enable();
	return NF_ACCEPT;
}

/* Fast path: no option, or timestamps only, as stacks send without Bolt's option */
static bool bolt_rx_no_option(const struct sk_buff *skb, unsigned int thoff)
{
	const struct tcphdr *th = (const struct tcphdr *)(skb->data + thoff);

	if (thoff + sizeof(*th) + TCPOLEN_TSTAMP_ALIGNED > skb_headlen(skb))
		return false;
	return th->doff == sizeof(*th) / 4 ||
	       (th->doff == (sizeof(*th) + TCPOLEN_TSTAMP_ALIGNED) / 4 &&
		bolt_opt_at_ts(th + 1));
}

/* Offset of the TCP header; negative: there is none */
int bolt_thoff(const struct sk_buff *skb)
{
	int thoff = sizeof(struct ipv6hdr);
	u8 proto;

	if (!bolt_is_ip6(skb))
		return ip_hdr(skb)->protocol == IPPROTO_TCP ? ip_hdrlen(skb) : -1;
	proto = ipv6_hdr(skb)->nexthdr;
	if (proto != IPPROTO_TCP)
		thoff = bolt_ip6_skip(skb, thoff, &proto);
	return proto == IPPROTO_TCP ? thoff : -1;
}

unsigned int bolt_local_in(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	int thoff = bolt_thoff(skb);

	if (thoff < 0)
		return NF_ACCEPT;
	bolt_hs_forget();
	if (bolt_rx_no_option(skb, thoff))
		return NF_ACCEPT;
	return bolt_rx_packet(bolt_net(state->net), skb, thoff);
}
