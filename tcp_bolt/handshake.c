// SPDX-License-Identifier: GPL-2.0
/*
 * Negotiation without state for half-open connections.
 *
 *   client                      server
 *   LOCAL_OUT creates the object
 *   SYN + offer        --->     LOCAL_IN notes (SYN, flow) for this CPU
 *                               the stack answers in the same softirq
 *                      <---     LOCAL_OUT takes the note: SYN-ACK + acceptance
 *   LOCAL_IN marks the object
 *   ACK + full option  --->     LOCAL_IN finds no full socket: notes (ESTABLISHED, flow, option)
 *                               the stack creates the child in the same softirq,
 *                               and CC init takes the note: the option is negotiated
 *
 * A note is valid from one hook to the next function of the same softirq on the same CPU.  It names
 * the flow and the sequence number.  If it is not taken (TCP dropped the packet), the next TCP
 * packet on this CPU clears it, and a timer does not take it.  SYN cookies work as well, since the
 * third packet carries the full option.
 *
 * With Fast Open (RFC 7413) the SYN creates the child.  CC init takes the note of the SYN, and the
 * SYN-ACK accepts if the child has an object, also when a timer retransmits it.  In a simultaneous
 * open each side's SYN-ACK answers the other's SYN, and both act as clients.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel_stat.h>
#include <linux/percpu.h>
#include <net/inet_hashtables.h>

#include "bolt.h"

/* Only the first SYNs of a connection offer the option; later retransmits do not */
#define BOLT_SYN_OFFERS		2

/* --- the notes --- */

struct bolt_hs_key {
	struct net	*net;
	__be32		saddr[4], daddr[4];	/* as in the received packet */
	__be16		sport, dport;
	u32		start;			/* of the data after the SYN or SYN-ACK */
};

struct bolt_hs_note {
	enum bolt_hs		what;
	unsigned int		timers;		/* timer softirqs on this CPU so far */
	struct bolt_hs_key	key;
	struct bolt_rx		rx;
};

static DEFINE_PER_CPU(struct bolt_hs_note, bolt_hs_note);

static void bolt_hs_key_set(struct bolt_hs_key *key, struct net *net, const void *saddr,
			    __be16 sport, const void *daddr, __be16 dport, u32 start, bool ip6)
{
	unsigned int len = ip6 ? sizeof(struct in6_addr) : sizeof(__be32);

	memset(key, 0, sizeof(*key));
	key->net = net;
	memcpy(key->saddr, saddr, len);
	memcpy(key->daddr, daddr, len);
	key->sport = sport;
	key->dport = dport;
	key->start = start;
}

static unsigned int bolt_hs_timers(void)
{
	return this_cpu_read(kstat.softirqs[TIMER_SOFTIRQ]);
}

bool bolt_hs_armed(void)
{
	return this_cpu_read(bolt_hs_note.what) != BOLT_HS_NONE;
}

/* LOCAL_IN: this is another TCP packet than the one that the note is about. */
void bolt_hs_forget(void)
{
	if (unlikely(bolt_hs_armed()))
		this_cpu_write(bolt_hs_note.what, BOLT_HS_NONE);
}

/* LOCAL_IN leaves a note; @rx: of a full option, or NULL.  Context: softirq */
void bolt_hs_note_packet(enum bolt_hs what, struct bolt_net *bn, const struct sk_buff *skb,
			 const struct tcphdr *th, const struct bolt_rx *rx, bool ip6)
{
	struct bolt_hs_note *note = this_cpu_ptr(&bolt_hs_note);

	note->what = what;
	note->timers = bolt_hs_timers();
	note->rx = rx ? *rx : (struct bolt_rx){};
	bolt_hs_key_set(&note->key, bn->net, BOLT_SADDR(skb, ip6), th->source,
			BOLT_DADDR(skb, ip6), th->dest,
			what == BOLT_HS_SYN ? ntohl(th->seq) + 1 : ntohl(th->ack_seq), ip6);
}

/*
 * Take the note of this softirq.  Returns NULL if there is no such note: it is of another packet,
 * or this is a timer, or setsockopt(TCP_CONGESTION).
 */
static const struct bolt_hs_note *bolt_hs_take(enum bolt_hs what, const struct bolt_hs_key *key)
{
	struct bolt_hs_note *note;

	if (!softirq_count())
		return NULL;
	note = this_cpu_ptr(&bolt_hs_note);
	if (note->what != what || note->timers != bolt_hs_timers() ||
	    memcmp(&note->key, key, sizeof(*key)))
		return NULL;
	note->what = BOLT_HS_NONE;
	return note;
}

/* --- offer and acceptance --- */

/*
 * The listener of a SYN-ACK.  The hook gets the listener itself, or the request, or NULL with IPv4
 * SYN cookies.  Context: RCU
 */
static struct sock *bolt_synack_listener(struct sk_buff *skb, struct sock *sk,
					 const struct bolt_hs_key *key)
{
	if (sk && sk_fullsock(sk))
		return sk;
	if (sk)
		return sk->sk_state == TCP_NEW_SYN_RECV ? inet_reqsk(sk)->rsk_listener : NULL;
	return bolt_lookup_listener(key->net, NULL, 0, key->saddr[0], key->sport, key->daddr[0],
				    ntohs(key->dport), skb_dst(skb)->dev->ifindex, 0);
}

/* Fast Open (RFC 7413): the SYN created the child.  The hook gets it, or for IPv4 the request. */
bool bolt_is_fastopen(const struct sock *sk)
{
	if (!sk)
		return false;
	if (sk->sk_state == TCP_NEW_SYN_RECV)
		return tcp_rsk(inet_reqsk(sk))->tfo_listener;
	return sk->sk_state == TCP_SYN_RECV && rcu_access_pointer(tcp_sk(sk)->fastopen_rsk);
}

/* The child has an object if the SYN offered; so retransmitted SYN-ACKs accept as well. */
static bool bolt_fastopen_accepts(struct sk_buff *skb, struct sock *sk,
				  const struct bolt_hs_key *key)
{
	const struct bolt_flow *f;
	struct sock *found = NULL;

	if (sk->sk_state == TCP_NEW_SYN_RECV) {
		found = bolt_lookup_established(key->net, key->saddr[0], key->sport, key->daddr[0],
						ntohs(key->dport), skb_dst(skb)->dev->ifindex, 0);
		sk = found;
	}
	f = sk ? bolt_flow_lookup(sk) : NULL;
	if (found)
		sock_gen_put(found);
	return f && READ_ONCE(f->speaks);
}

/*
 * The options of an MPTCP subflow (RFC 8684) leave no room for ours, and a signature was computed
 * without it.  Check the packet, not the listener, which may have keys for other peers only.
 */
static bool bolt_synack_excludes(const struct tcphdr *th)
{
	const u8 *opts = (const u8 *)(th + 1);
	unsigned int len = th->doff * 4 - sizeof(*th), off;

	return bolt_opt_seek(opts, len, BOLT_TCPOPT_MD5, &off) ||
	       bolt_opt_seek(opts, len, BOLT_TCPOPT_AO, &off) ||
	       bolt_opt_seek(opts, len, BOLT_TCPOPT_MPTCP, &off);
}

/* Append the four bytes of a handshake packet. */
static bool bolt_hs_append(struct bolt_net *bn, struct sk_buff *skb, unsigned int thoff, bool ip6)
{
	unsigned int thlen = ((struct tcphdr *)(skb->data + thoff))->doff * 4;
	u8 *p;

	/* never remove an option of the stack: in the handshake they are sent only once */
	if (thlen + BOLT_TCPOPT_LEN_SYN > sizeof(struct tcphdr) + BOLT_TCPOPT_SPACE) {
		BOLT_INC_STATS(bn, OptNoRoom);
		return false;
	}
	p = bolt_push(bn, skb, thoff, BOLT_TCPOPT_LEN_SYN, ip6);
	if (p)
		bolt_opt_write_syn(p);
	return p;
}

static void bolt_hs_accept(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk,
			   unsigned int thoff, bool ip6)
{
	const struct tcphdr *th = (struct tcphdr *)(skb->data + thoff);
	struct bolt_hs_key key;

	/* the note has the addresses of the SYN, which are the reverse of the SYN-ACK's */
	bolt_hs_key_set(&key, bn->net, BOLT_DADDR(skb, ip6), th->dest, BOLT_SADDR(skb, ip6),
			th->source, ntohl(th->ack_seq), ip6);
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
		/* selected by the listener, or by the route (congctl) */
		if (!bolt_sk_controller(sk) && !bolt_route_speaks(skb_dst(skb)))
			return;
	}
	if (bolt_hs_append(bn, skb, thoff, ip6))
		BOLT_INC_STATS(bn, SynAckTx);
}

static void bolt_hs_offer(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk,
			  unsigned int thoff, bool ip6)
{
	/* open the control port before the first SRC can arrive */
	if (bolt_sk_controller(sk)->on_src)
		bolt_control_want(bn);
	/* a middlebox may drop SYNs with unknown options */
	if (inet_csk(sk)->icsk_retransmits >= BOLT_SYN_OFFERS || bolt_sk_is_signed(sk))
		return;
	/* LOCAL_IN stores the answer there */
	if (!bolt_flow_create(sk)) {
		BOLT_INC_STATS(bn, NoMem);
		return;
	}
	/*
	 * From Linux 6.13 on TCP calls release() only if init() was called, which happens after the
	 * answer.  Pretend that it was, so that the object is released; bolt_cong_control() takes
	 * that back.
	 */
	inet_csk(sk)->icsk_ca_initialized = 1;
	if (bolt_hs_append(bn, skb, thoff, ip6))
		BOLT_INC_STATS(bn, SynTx);
}

/* LOCAL_OUT: a SYN; or a SYN-ACK, whose @sk is a listener, a request, a child or NULL */
void bolt_hs_out(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk,
		 const struct tcphdr *th, bool ip6)
{
	unsigned int thoff = (u8 *)th - skb->data;

	if (th->ack)
		bolt_hs_accept(bn, skb, sk, thoff, ip6);
	else
		bolt_hs_offer(bn, skb, sk, thoff, ip6);
}

/* --- the result --- */

/*
 * The flow of the packet from which this child is created.  At init() it has sent nothing, and with
 * Fast Open, received nothing.
 */
static void bolt_hs_key_child(struct bolt_hs_key *key, const struct sock *sk, bool fastopen)
{
	const void *saddr = &sk->sk_daddr, *daddr = &sk->sk_rcv_saddr;
	bool ip6 = false;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		saddr = &sk->sk_v6_daddr;
		daddr = &sk->sk_v6_rcv_saddr;
		ip6 = true;
	}
#endif
	bolt_hs_key_set(key, sock_net(sk), saddr, inet_sk(sk)->inet_dport, daddr,
			inet_sk(sk)->inet_sport,
			fastopen ? tcp_sk(sk)->rcv_nxt : tcp_sk(sk)->snd_una, ip6);
}

/* In CC init: returns the object if the option was negotiated, and creates a child's. */
struct bolt_flow *bolt_negotiated(struct sock *sk)
{
	struct bolt_net *bn = bolt_net(sock_net(sk));
	const struct bolt_hs_note *note;
	struct bolt_hs_key key;
	struct bolt_flow *f;
	bool fastopen;

	/* without the hooks the option cannot be negotiated */
	if (unlikely(!READ_ONCE(bn->hooks))) {
		BOLT_INC_STATS(bn, NoHooks);
		return NULL;
	}
	if (bolt_sk_is_signed(sk) || !bolt_mss_has_room(sock_net(sk), tcp_sk(sk)->rx_opt.mss_clamp))
		return NULL;
	rcu_read_lock();
	f = bolt_flow_lookup(sk);
	rcu_read_unlock();
	/* the SYN-ACK that LOCAL_IN saw must be the one that TCP accepted */
	if (f)
		return READ_ONCE(f->speaks) && READ_ONCE(f->syn_ack) == tcp_sk(sk)->snd_una ?
		       f : NULL;

	fastopen = rcu_access_pointer(tcp_sk(sk)->fastopen_rsk);
	bolt_hs_key_child(&key, sk, fastopen);
	note = bolt_hs_take(fastopen ? BOLT_HS_SYN : BOLT_HS_ESTABLISHED, &key);
	f = note ? bolt_flow_create(sk) : NULL;
	/* the third packet was lost, or deferred (TCP_DEFER_ACCEPT): this one has data */
	if (f)
		bolt_rx_data(f, &note->rx);
	return f;
}
