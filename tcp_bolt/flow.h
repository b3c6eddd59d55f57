/* SPDX-License-Identifier: GPL-2.0 */
/* The per-socket object of the controllers bolt and swift, of an SFC pause, and of SRCC's limit. */
#ifndef _TCP_BOLT_FLOW_H
#define _TCP_BOLT_FLOW_H

#include <linux/llist.h>
#include <linux/rhashtable.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "bolt_pause.h"
#include "brownfield.h"
#include "cap.h"
#include "echo.h"
#include "net.h"

struct bolt_controller;

/* The newest SRC of a flow; at_ns is 0 if there was none */
struct bolt_last_src {
	u64	at_ns;
	u32	queue_bytes;
	u32	link_kbps;
	u32	rtt_src_ns;
	u32	switch_id;
	u32	verdict;	/* enum bolt_src_verdict */
};

/* The newest control messages accepted, so that a replay is refused: feedback.c */
struct bolt_seen_ring {
	struct bolt_seen {
		u32	seq, t_data_tx, switch_id, retrans, flags;
	} last[8];
	u8	next;
};

/*
 * The part of a pause, or of the gap that a CNM's rate leaves behind a packet, that departure.c
 * owns: its end, and what to restore when it is over
 */
struct bolt_pause_edt {
	u64	until_ns;	/* the end of the pause that TCP's departure time includes */
	u64	own_ns;		/* TCP's own departure time when the pause began */
	const struct tcp_congestion_ops *ops;	/* the congestion control at that time */
	u32	status;		/* sk_pacing_status without the pause */
	u8	armed;		/* tcp_wstamp_ns and sk_pacing_status are set for the pause */
};

/*
 * SFC and SRCC: the pause of a socket, and its limit; all 0 if it has none and had none lately.
 * Context: socket locked, or its spinlock held while no user owns it.
 */
struct bolt_pause {
	struct bolt_pause_clock	clock;
	struct bolt_cap		cap;
	struct bolt_seen_ring	seen;
	u64			unreported_ns;	/* start of a pause whose end is not traced yet */
	struct bolt_pause_edt	edt;
	u32			told;		/* by the newest packet sent, bolt_pause_tells() */

	/* statistics for netlink, genl.c */
	u64			granted_ns;	/* sum over all pauses */
	u32			asked_ns;	/* requested by the newest BTS */
	u32			switch_id;	/* sender of the newest BTS */
	u32			begun;		/* number of pauses */
	bool			from_cache;
};

/* Users of an object */
#define BOLT_FLOW_CC	1	/* bolt or swift: from the offer, or init(), to release() */
#define BOLT_FLOW_HELD	2	/* pause, limit, deferred messages, leaving; holds the socket */
#define BOLT_FLOW_BTS	4	/* besides HELD: BTS or CNM are among them, see bolt_pause_any() */

/**
 * struct bolt_flow - one socket
 *
 * Found by socket pointer, freed a grace period after its last user is gone: flow.c.
 * icsk_ca_priv only caches the pointer, for callers that hold the socket lock.
 */
struct bolt_flow {
	struct sock		*sk;		/* the key */
	struct rhash_head	node;
	struct bolt_net		*bn;		/* namespace of the socket, which keeps it alive */
	u8			users;		/* BOLT_FLOW_*; bn->flow_lock */
	u32			clock_offset;	/* of t_data_tx on the wire to our clock */

	/* control messages that arrived while a user owned the socket: feedback.c */
	struct llist_head	deferred;
	atomic_t		deferred_len;

	struct bolt_pause	pause;

	/* BOLT_FLOW_HELD */
	struct delayed_work	work;		/* runs deferred messages, ends a pause, leaves */
	unsigned int		leaving;	/* references on this module that it puts */
	struct list_head	list;		/* bn->held */
	struct rcu_head		rcu;

	/* --- BOLT_FLOW_CC: from here on zeroed when that user is added --- */

	/* Written by LOCAL_IN without the socket lock; single words, newest wins. */
	atomic_t		rx_inc;		/* data packets that arrived with INC */
	u32			rx_t_data_tx;	/* of the newest data packet, to be echoed */
	u32			rx_at;		/* its arrival, low bits of the clock in ns */
	/* of the newest ACK: its arrival, as rx_at, and what it echoes; 0: already used */
	atomic64_t		ack_echo;
	u32			ack_seq;	/* its acknowledgment number */
	u16			ack_rq;		/* its rq_delay, bolt_rq_pack() */
	u8			rx_hops;	/* of the newest data packet */
	u8			rx_dec;		/* newest data packet had DEC */
	u8			ack_inc;	/* newest ACK's inc_count, 0 before the first */
	u8			ack_dec;	/* newest ACK's DEC */
	u32			ack_stamp;	/* arrival of the newest such ACK, jiffies */

	/*
	 * Written with the socket locked: by a user who owns it, or in softirq with the spinlock
	 * held while no user owns it.
	 */
	struct bolt_controller	*ctl;		/* NULL: init() has not finished, or released */
	struct bolt_core	core;
	u32			cwnd;		/* the controller's window, in whole packets */
	u32			tcp_cwnd;	/* given to TCP; in recovery it may be more */
	u32			recover_fs;	/* struct bolt_recovery: prior */
	u8			last_inc;	/* inc_count up to which INC was granted */
	s32			inc_room;	/* packets that may have arrived with INC */
	u32			inc_sent;	/* packets that left with INC, less those granted */
	u32			src_added;	/* packets in flight whose SRC grew the window */
	u32			nic_kbps;	/* rate of the outgoing device; 0: unknown */
	u32			link_bytes;	/* bytes per packet on that link besides IP */
	u32			init_cwnd;	/* packets; the BDP if configured, or as found */
	u32			pkt_bytes;	/* of a full packet, when that was computed */
	u32			route_rtt_ns;	/* in which nic_kbps sends the route's initcwnd */
	u32			max_cwnd;	/* packets */
	u32			queue_ns;	/* swift: queueing delay that its target allows */
	u64			link_free_ns;	/* the link may take the next packet then */
	u32			tx_frac;	/* fraction of a ns to add to link_free_ns */
	u64			last_tx_ns;	/* departure of the newest data packet */
	u32			first_end;	/* data before this sequence number has FIRST */
	u32			msg_seq;	/* where the message begins that is being sent */
	int			dev_ifindex;	/* device whose rate nic_kbps is */
	int			rate_gen;	/* bolt_net.rate_gen when it was read */
	struct {
		u64		bolt, fabric, endpoint;
	}			prior_q32;	/* windows before the latest loss, for undo */
	u64			loss_cwnd_q32;	/* the window as cut in this loss episode */
	u32			syn_ack;	/* acknowledgment number of the SYN-ACK */
	u8			pacing_ours:1,	/* sk_pacing_status was NONE before us */
				in_first:1,
				in_msg:1,	/* a message begun, not all of it acknowledged */
				recovery:1,	/* TCP_CA_Recovery */
				reserved:1;	/* TCP leaves room for the option */
	u8			ack_missing;	/* ACKs in a row without the option */
	u8			speaks;		/* the option is negotiated: the peer may send it */
	struct swift_reported	reported;	/* bolt: queueing delay reported by SRC */

	struct swift		swift;

	/* departure.c, as link_free_ns to last_tx_ns above */
	u32			gap_ns;		/* below one packet: between departures; else 0 */
	u64			gap_end_ns;	/* end of the current gap; 0: there is none */
	u64			wstamp_ns;	/* tcp_wstamp_ns without what TCP adds behind us */
	u64			our_move_ns;	/* how far we moved that: TCP takes it for credit */

	u64			last_ack_ns;	/* bolt: newest ACK with an RTT sample */
	struct bolt_seen_ring	seen;		/* the newest SRC accepted */
	struct bolt_departures	sent;		/* an echo has to be one of them */
	struct bolt_last_src	src;
};

/* flow.c: the per-socket object */
extern struct rhashtable bolt_flows;
extern struct workqueue_struct *bolt_wq;

int bolt_flow_module_init(work_func_t work);
void bolt_flow_module_exit(void);
struct sock *bolt_find_sock(struct net *net, struct sk_buff *skb, const void *saddr, __be16 sport,
			    const void *daddr, __be16 dport, bool ip6);
struct bolt_flow *bolt_flow_find(const struct sock *sk);
struct bolt_flow *bolt_flow_lookup(const struct sock *sk);
struct bolt_flow *bolt_flow_get(struct sock *sk, u8 user);
void *bolt_sk_zalloc(struct sock *sk, size_t size);
void bolt_flow_await_init(struct sock *sk);
void bolt_flow_put(struct bolt_flow *f, u8 user);
void bolt_flow_drop(struct bolt_flow *f);

/* Our clock as sent in t_data_tx of this connection; never 0, which means "no timestamp" */
static inline u32 bolt_wire_clock(const struct bolt_flow *f, u64 ns)
{
	return (u32)ns + f->clock_offset ?: 1;
}

/* The object of a socket that uses bolt or swift; may be NULL.  Context: socket locked */
static inline struct bolt_flow *bolt_flow_locked(const struct sock *sk)
{
	return *(struct bolt_flow **)inet_csk_ca(sk);
}

/* The controller of @f between the end of init() and release(), otherwise NULL */
static inline struct bolt_controller *bolt_flow_controller(const struct bolt_flow *f)
{
	/* pairs with the release in bolt_init() */
	return f ? smp_load_acquire(&f->ctl) : NULL;
}

static inline void bolt_flow_set_locked(struct sock *sk, struct bolt_flow *f)
{
	*(struct bolt_flow **)inet_csk_ca(sk) = f;
}

/* Bytes of a full packet as a switch counts them: IP packet and Ethernet header */
static inline u32 bolt_pkt_bytes(const struct sock *sk)
{
	return tcp_sk(sk)->mss_cache + tcp_sk(sk)->tcp_header_len + BOLT_TCPOPT_LEN +
	       inet_csk(sk)->icsk_af_ops->net_header_len + ETH_HLEN;
}

/* The smallest window that net.bolt.debug.min_cwnd_milli allows */
static inline u64 bolt_min_cwnd_q32(const struct bolt_flow *f)
{
	return div_u64(BOLT_ONE * READ_ONCE(f->bn->min_cwnd_milli), 1000);
}

#endif /* _TCP_BOLT_FLOW_H */
