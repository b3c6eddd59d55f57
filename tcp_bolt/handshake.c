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
 * ports and sequence number.  If it is not taken (TCP dropped the packet), the next TCP packet on
 * this CPU clears it, and a timer does not take it.  SYN cookies work as well, since the third
 * packet carries the full option.
 *
 * With Fast Open (RFC 7413) the SYN creates the child.  CC init takes the note of the SYN, and the
 * SYN-ACK accepts if the child has an object, also when a timer retransmits it.  In a simultaneous
 * open each side's SYN-ACK answers the other's SYN, and both act as clients.
 */

#include <linux/kernel_stat.h>

#include "bolt.h"

/* Only the first SYNs of a connection offer the option; later retransmits do not */
#define BOLT_SYN_OFFERS		2

/* Without padding: it is compared with memcmp() */
struct bolt_hs_key {
	const struct bolt_net	*bn;
	__be16			sport, dport;	/* as in the received packet */
	u32			start;		/* of the data after the SYN or SYN-ACK */
};

struct bolt_hs_note {
	enum bolt_hs		what;
	unsigned int		timers;		/* timer softirqs on this CPU so far */
	struct bolt_hs_key	key;
	struct bolt_rx		rx;
};

static DEFINE_PER_CPU(struct bolt_hs_note, bolt_hs_note);

static unsigned int bolt_hs_timers(void)
{
	return this_cpu_read(kstat.softirqs[TIMER_SOFTIRQ]);
}

/* LOCAL_IN: this is another TCP packet than the one that the note is about. */
void bolt_hs_forget(void)
{
	this_cpu_write(bolt_hs_note.what, BOLT_HS_NONE);
}

/* LOCAL_IN leaves a note; @rx: of a full option, or NULL.  Context: BH off */
void bolt_hs_note_packet(enum bolt_hs what, const struct bolt_net *bn, const struct tcphdr *th,
			 const struct bolt_rx *rx)
{
	struct bolt_hs_note *note = this_cpu_ptr(&bolt_hs_note);

	note->what = what;
	note->timers = bolt_hs_timers();
	note->rx = rx ? *rx : (struct bolt_rx){};
	note->key = (struct bolt_hs_key){
		.bn = bn, .sport = th->source, .dport = th->dest,
		.start = what == BOLT_HS_SYN ? ntohl(th->seq) + 1 : ntohl(th->ack_seq),
	};
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

/*
 * The listener of a SYN-ACK.  The hook gets the listener itself, or the request, or NULL with IPv4
 * SYN cookies.  Context: RCU
 */
static struct sock *bolt_synack_listener(const struct sk_buff *skb, struct sock *sk)
{
	const struct tcphdr *th = tcp_hdr(skb);

	if (sk && sk_fullsock(sk))
		return sk;
	if (sk)
		return sk->sk_state == TCP_NEW_SYN_RECV ? inet_reqsk(sk)->rsk_listener : NULL;
	return bolt_lookup(__inet_lookup_listener, dev_net(skb_dst(skb)->dev), NULL, 0,
			   ip_hdr(skb)->daddr, th->dest, ip_hdr(skb)->saddr, ntohs(th->source),
			   skb_dst(skb)->dev->ifindex,
			   l3mdev_master_ifindex_rcu(skb_dst(skb)->dev));
}

/* Fast Open (RFC 7413): the SYN created the child.  The hook gets it, or for IPv4 the request. */
bool bolt_is_fastopen(const struct sock *sk)
{
	int state = sk ? READ_ONCE(sk->sk_state) : TCP_CLOSE;

	if (state == TCP_NEW_SYN_RECV)
		return tcp_rsk(inet_reqsk(sk))->tfo_listener;
	return state == TCP_SYN_RECV && rcu_access_pointer(tcp_sk(sk)->fastopen_rsk);
}

/* The child has an object if the SYN offered; so retransmitted SYN-ACKs accept as well. */
static bool bolt_fastopen_accepts(const struct sk_buff *skb, struct sock *sk)
{
	const struct tcphdr *th = tcp_hdr(skb);
	const struct bolt_flow *f;
	struct sock *found = NULL;

	if (sk->sk_state == TCP_NEW_SYN_RECV) {
		found = bolt_lookup(__inet_lookup_established, sock_net(sk), ip_hdr(skb)->daddr,
				    th->dest, ip_hdr(skb)->saddr, ntohs(th->source),
				    skb_dst(skb)->dev->ifindex,
				    l3mdev_master_ifindex_rcu(skb_dst(skb)->dev));
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
static bool bolt_synack_excludes(const struct sk_buff *skb)
{
	const u8 *opts = (const u8 *)(tcp_hdr(skb) + 1);
	unsigned int len = tcp_optlen(skb), off;

	return bolt_opt_seek(opts, len, BOLT_TCPOPT_MD5, &off) ||
	       bolt_opt_seek(opts, len, BOLT_TCPOPT_AO, &off) ||
	       bolt_opt_seek(opts, len, BOLT_TCPOPT_MPTCP, &off);
}

/* Append the four bytes of a handshake packet. */
static bool bolt_hs_append(struct bolt_net *bn, struct sk_buff *skb)
{
	u8 *p;

	/* never remove an option of the stack: in the handshake they are sent only once */
	if (tcp_optlen(skb) + BOLT_TCPOPT_LEN_SYN > BOLT_TCPOPT_SPACE) {
		BOLT_INC_STATS(bn, OptNoRoom);
		return false;
	}
	p = bolt_push(bn, skb, BOLT_TCPOPT_LEN_SYN);
	if (p)
		bolt_opt_write_syn(p);
	return p;
}

/*
 * Will the connection have bolt or swift?  As tcp_ca_openreq_child() chooses: the route's, what the
 * listener was given by setsockopt, or else the namespace's default by then, whatever it was when
 * the listener was opened.
 */
static bool bolt_child_speaks(const struct sock *listener, const struct dst_entry *dst)
{
	const struct net *net = sock_net(listener);
	u32 key = dst ? dst_metric(dst, RTAX_CC_ALGO) : 0;

	if (key)
		return key == bolt_cc_bolt.tcp.key || key == bolt_cc_swift.tcp.key;
	if (inet_csk(listener)->icsk_ca_setsockopt)
		return bolt_sk_controller(listener);
	return bolt_controller_of(rcu_dereference(net->ipv4.tcp_congestion_control));
}

/* LOCAL_OUT: a SYN-ACK, whose @sk is a listener, a request, a child or NULL */
void bolt_hs_accept(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk)
{
	const struct tcphdr *th = tcp_hdr(skb);
	/* the note has the ports of the SYN, which are the reverse of the SYN-ACK's */
	const struct bolt_hs_key key = {
		.bn = bn, .sport = th->dest, .dport = th->source, .start = ntohl(th->ack_seq),
	};

	if (bolt_synack_excludes(skb))
		return;
	if (bolt_is_fastopen(sk)) {
		if (!bolt_fastopen_accepts(skb, sk))
			return;
	} else {
		if (!bolt_hs_take(BOLT_HS_SYN, &key))
			return;
		sk = bolt_synack_listener(skb, sk);
		if (!sk || !bolt_child_speaks(sk, skb_dst(skb)))
			return;
	}
	if (bolt_hs_append(bn, skb))
		BOLT_INC_STATS(bn, SynAckTx);
}

/* LOCAL_OUT: a SYN */
void bolt_hs_offer(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk)
{
	/* open the control port before the first SRC can arrive */
	if (bolt_sk_controller(sk)->on_src)
		bolt_control_want(bn);
	/* a middlebox may drop SYNs with unknown options */
	if (inet_csk(sk)->icsk_retransmits >= BOLT_SYN_OFFERS || bolt_sk_is_signed(sk))
		return;
	/* selected after connect(): init() was called, and goes on without the option */
	if (bolt_flow_locked(sk))
		return;
	/* LOCAL_IN stores the answer there */
	if (!bolt_flow_get(sk, BOLT_FLOW_CC)) {
		BOLT_INC_STATS(bn, NoMem);
		return;
	}
	/* as if init() had run, so that release() is called; bolt_cong_control() undoes that */
	if (BOLT_RELEASE_NEEDS_INIT)
		inet_csk(sk)->icsk_ca_initialized = 1;
	if (bolt_hs_append(bn, skb))
		BOLT_INC_STATS(bn, SynTx);
}

/*
 * LOCAL_OUT: a SYN of another congestion control, the route's.  When an LSM refused an earlier SYN
 * behind us, connect() failed without release().
 */
void bolt_hs_withdraw(struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_lookup(sk);

	if (likely(!f))
		return;
	/* its init() is due */
	if (BOLT_RELEASE_NEEDS_INIT)
		inet_csk(sk)->icsk_ca_initialized = 0;
	bolt_flow_drop(f);
}

/* In CC init: returns the object if the option was negotiated, and creates a child's. */
struct bolt_flow *bolt_negotiated(struct sock *sk)
{
	bool fastopen = rcu_access_pointer(tcp_sk(sk)->fastopen_rsk);
	struct bolt_net *bn = bolt_net(sock_net(sk));
	/* a child has sent nothing yet, and with Fast Open received nothing */
	const struct bolt_hs_key key = {
		.bn = bn, .sport = inet_sk(sk)->inet_dport, .dport = inet_sk(sk)->inet_sport,
		.start = fastopen ? tcp_sk(sk)->rcv_nxt : tcp_sk(sk)->snd_una,
	};
	const struct bolt_hs_note *note;
	struct bolt_flow *f;

	/* without the hooks the option cannot be negotiated */
	if (unlikely(!READ_ONCE(bn->hooks))) {
		BOLT_INC_STATS(bn, NoHooks);
		return NULL;
	}
	/* TCP sends no smaller segments than min_snd_mss, to which the option is added */
	if (bolt_sk_is_signed(sk) || tcp_sk(sk)->rx_opt.mss_clamp <
	    READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_snd_mss) + BOLT_TCPOPT_LEN)
		return NULL;
	rcu_read_lock();
	f = bolt_flow_lookup(sk);
	rcu_read_unlock();
	/* the SYN-ACK that LOCAL_IN saw must be the one that TCP accepted */
	if (f)
		return READ_ONCE(f->speaks) && READ_ONCE(f->syn_ack) == tcp_sk(sk)->snd_una ?
		       f : NULL;

	note = bolt_hs_take(fastopen ? BOLT_HS_SYN : BOLT_HS_ESTABLISHED, &key);
	if (!note)
		return NULL;
	f = bolt_flow_get(sk, BOLT_FLOW_CC);
	/* the third packet was lost, or deferred (TCP_DEFER_ACCEPT): this one has data */
	if (f)
		bolt_rx_data(f, &note->rx);
	else
		BOLT_INC_STATS(bn, NoMem);
	return f;
}
