// SPDX-License-Identifier: GPL-2.0
/*
 * LOCAL_OUT: append the option to packets of bolt and swift sockets.
 *
 * TCP calls the hook with the socket locked, once per packet (or TSO burst), after it has built the
 * headers.  The departure time of the packet is known here, and that of the next one is set:
 *
 *   SYN              append the offer (4 bytes)
 *   SYN-ACK          append the acceptance, if the SYN of this softirq offered
 *   data             append the option; space the next departure at the link's rate
 *   pure ACK         append the option: INC count, echo, DEC
 *   any, if paused   see pause.c; with any congestion control
 *
 * A packet without room for the option is sent without it and counted, never dropped.
 */

#include "bolt.h"

/*
 * A message begins where all that the application has written is acknowledged, so that its first
 * packets, which a switch with levels lets pass, have none of this connection before them.  What is
 * sent again has the level of its place.
 */
static u8 bolt_out_level(const struct sock *sk, struct bolt_flow *f, u32 seq)
{
	if (!f->in_msg) {
		f->in_msg = 1;
		f->msg_seq = tcp_sk(sk)->snd_una;
	} else if (before(seq, f->msg_seq)) {
		f->msg_seq = seq - S32_MAX;
	}
	return bolt_level(seq - f->msg_seq);
}

static void bolt_out_data(struct sock *sk, struct bolt_flow *f, const struct sk_buff *skb,
			  u64 now_ns, struct bolt_opt *opt)
{
	u32 seq = ntohl(tcp_hdr(skb)->seq);

	if (unlikely(f->dev_ifindex != skb_dst(skb)->dev->ifindex ||
		     f->pkt_bytes != bolt_pkt_bytes(sk) ||
		     f->rate_gen != atomic_read(&f->bn->rate_gen)))
		bolt_refresh_rate(sk, f, skb_dst(skb)->dev);
	/* DEC suppresses SRC: a switch takes it that another one has sent it */
	opt->flags |= BOLT_F_DATA;
	opt->flags |= f->ctl->on_src ? bolt_data_flags(sk, f, seq, now_ns) : BOLT_F_DEC;
	/* packets of two windows at most: more are not in flight, or delivered and not granted */
	if (opt->flags & BOLT_F_INC && f->inc_sent < 2 * f->cwnd)
		f->inc_sent += max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	opt->t_data_tx = bolt_wire_clock(f, now_ns);
	opt->rq_delay = bolt_out_level(sk, f, seq);
	bolt_departures_add(&f->sent, opt->t_data_tx, seq);
	f->last_tx_ns = now_ns;
}

/* A FIN stays behind its data: it has a level, not an echo, and keeps its departure time. */
static void bolt_out_ack(const struct sock *sk, struct bolt_flow *f, struct sk_buff *skb,
			 struct bolt_opt *opt)
{
	s32 waited_ns = (u32)tcp_sk(sk)->tcp_clock_cache - READ_ONCE(f->rx_at);

	if (READ_ONCE(f->rx_dec))
		opt->flags |= BOLT_F_DEC;
	if (unlikely(tcp_hdr(skb)->fin)) {
		opt->rq_delay = bolt_out_level(sk, f, ntohl(tcp_hdr(skb)->seq));
		return;
	}
	/*
	 * Remote queueing of the newest data packet, and its hops, for Swift.  tcp_clock_cache is
	 * when TCP processed the packet, which may have waited in the socket's backlog, or when TCP
	 * sends this ACK later.
	 */
	opt->t_data_tx = READ_ONCE(f->rx_t_data_tx);
	if (opt->t_data_tx)
		opt->rq_delay = bolt_rq_pack(max(waited_ns, 0), READ_ONCE(f->rx_hops));
	/* TCP stamps an ACK with the departure time of the next data, so fq would delay it. */
	bolt_skb_leaves_now(skb);
}

/*
 * The departure time of this packet: the stamp of its segment in the retransmit queue, with which
 * control messages will be compared.  If the packet bypasses a gap or a pause, departure.c has
 * cleared skb->tstamp.
 */
static u64 bolt_stamp_ns(const struct sock *sk, const struct sk_buff *skb)
{
	const struct sk_buff *sent;

	if (likely(skb->tstamp))
		return bolt_skb_stamp_ns(sk, skb);
	sent = bolt_sent_segment(sk, ntohl(tcp_hdr(skb)->seq));
	return sent ? sent->skb_mstamp_ns : tcp_sk(sk)->tcp_clock_cache;
}

static void bolt_out_established(struct sk_buff *skb, struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	u32 payload = skb->len - skb_tcp_all_headers(skb);
	struct bolt_flow *f = bolt_flow_locked(sk);
	struct bolt_opt opt = {};
	u8 *p;

	if (!f || !f->reserved || bolt_sk_is_signed(sk))
		return;
	bolt_deferred_run(f, sk);
	if (unlikely(bolt_reserve_lost(sk)))
		bolt_reserve(sk, f);

	/* acknowledge every packet: no delayed ACK, and no wait for data to piggyback on */
	icsk->icsk_ack.quick = TCP_MAX_QUICKACKS;
	inet_csk_exit_pingpong_mode(sk);

	/* before options are moved: it changes TSval where TCP has put it */
	if (unlikely(f->gap_end_ns))
		bolt_tx_bypass_gap(sk, f, skb, tcp_hdr(skb), payload || tcp_hdr(skb)->fin);
	p = bolt_push(f->bn, skb, BOLT_TCPOPT_LEN);

	opt.inc_count = atomic_read(&f->rx_inc);
	opt.flags = BOLT_F_ACK;
	if (payload)
		bolt_out_data(sk, f, skb, bolt_stamp_ns(sk, skb), &opt);
	else
		bolt_out_ack(sk, f, skb, &opt);
	if (likely(p)) {
		bolt_opt_write(p, &opt);
		BOLT_INC_STATS(f->bn, OptTx);
	}
	if (!payload)
		return;
	bolt_depart(sk, f, skb);
	/* of an MTU probe, alone beyond the MSS, TCP takes one off the window behind us */
	if (unlikely(payload > tcp_sk(sk)->mss_cache && !skb_is_gso(skb) &&
		     tcp_snd_cwnd(tcp_sk(sk)) == 1))
		tcp_snd_cwnd_set(tcp_sk(sk), 2);
}

/* The TCP header of a packet that TCP built, linear; NULL if it is any other packet */
static struct tcphdr *bolt_out_th(const struct sk_buff *skb)
{
	struct tcphdr *th = tcp_hdr(skb);
	int thoff = bolt_thoff(skb);

	/* a tunnel may send its outer packet with the socket of the inner one */
	if (thoff < 0 || thoff != skb_transport_offset(skb) ||
	    thoff + sizeof(*th) > skb_headlen(skb) || th->doff * 4 < sizeof(*th))
		return NULL;
	return skb_tcp_all_headers(skb) <= skb_headlen(skb) ? th : NULL;
}

/* A packet of a socket that may be paused */
static unsigned int bolt_out_pause(struct sk_buff *skb, struct sock *sk, struct tcphdr *th)
{
	struct bolt_flow *f = bolt_flow_find(sk);

	if (!f)
		return NF_ACCEPT;
	if (!th->syn)
		bolt_deferred_run(f, sk);
	return bolt_pause_out(sk, f, skb, th);
}

/* The answer to a SYN: @sk is a listener, a request, or NULL */
static unsigned int bolt_out_reply(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk)
{
	const struct tcphdr *th = bolt_out_th(skb);

	if (th && !th->rst && th->syn && th->ack && skb->ip_summed == CHECKSUM_PARTIAL)
		bolt_hs_accept(bn, skb, sk);
	return NF_ACCEPT;
}

/* A packet of a bolt or swift socket.  Not inlined, so that a test can probe it. */
static noinline unsigned int bolt_out_flow(struct bolt_net *bn, struct sk_buff *skb,
					   struct sock *sk)
{
	bool lent = skb_dst_is_noref(skb);
	unsigned int verdict;
	struct tcphdr *th;

	/*
	 * TCP's packets use the socket's route without a reference.  If there is one, the packet
	 * was queued or rerouted: the socket may not be locked here, so do not touch it.
	 */
	if (!lent && !bolt_is_fastopen(sk))
		return NF_ACCEPT;
	th = bolt_out_th(skb);
	if (!th)
		return NF_ACCEPT;
	if (bolt_pause_any(bn)) {
		verdict = bolt_out_pause(skb, sk, th);
		if (verdict != NF_ACCEPT)
			return verdict;
	}
	if (th->rst || skb->ip_summed != CHECKSUM_PARTIAL)
		return NF_ACCEPT;
	if (th->syn && th->ack)
		bolt_hs_accept(bn, skb, sk);
	else if (th->syn)
		bolt_hs_offer(bn, skb, sk);
	/* a VRF calls LOCAL_OUT twice: the second time the option is there, as the last one */
	else if (lent && (tcp_optlen(skb) < BOLT_TCPOPT_LEN ||
			  !bolt_opt_at_full((u8 *)th + tcp_hdrlen(skb) - BOLT_TCPOPT_LEN)))
		bolt_out_established(skb, sk);
	return NF_ACCEPT;
}

unsigned int bolt_local_out(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct sock *sk = state->sk;
	struct bolt_net *bn = bolt_net(state->net);
	struct tcphdr *th;

	/*
	 * A VRF calls LOCAL_OUT for its own device first, and hides the verdict from TCP, so handle
	 * the second call, for the real device.
	 */
	if (unlikely(state->out != skb_dst(skb)->dev))
		return NF_ACCEPT;
	/* RST and TIME-WAIT replies have raw control sockets: check before inet_csk() */
	if (!sk || !sk_fullsock(sk))
		return bolt_out_reply(bn, skb, sk);
	if (!sk_is_tcp(sk))
		return NF_ACCEPT;
	if (READ_ONCE(sk->sk_state) == TCP_LISTEN)
		return bolt_out_reply(bn, skb, sk);
	/* the only check of the congestion control; all below may rely on icsk_ca_priv */
	if (bolt_sk_controller(sk))
		return bolt_out_flow(bn, skb, sk);
	if (skb_dst_is_noref(skb) && unlikely(sk->sk_state == TCP_SYN_SENT))
		bolt_hs_withdraw(sk);
	/* other congestion controls: only a pause matters.  Noref: see bolt_out_flow() */
	th = bolt_pause_any(bn) && skb_dst_is_noref(skb) ? bolt_out_th(skb) : NULL;
	return th ? bolt_out_pause(skb, sk, th) : NF_ACCEPT;
}
