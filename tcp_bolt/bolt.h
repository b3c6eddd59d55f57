/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of tcp_bolt share: the per-socket object, the per-namespace
 * object, and who offers which function.
 */
#ifndef _TCP_BOLT_H
#define _TCP_BOLT_H

#include <linux/hash.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#include <uapi/linux/bolt_netlink.h>
#include "bolt_events.h"
#include "bolt_option.h"
#include "bolt_pause.h"
#include "core.h"
#include "mib.h"
#include "swift.h"

/* IPv4 and TCP with timestamps */
#define BOLT_USUAL_HEADERS	(20 + 20 + 12)
/* TCP with those and the option behind them */
#define BOLT_USUAL_TCP		(20 + 12 + BOLT_TCPOPT_LEN)

/* What happened to a flow, for people */
struct bolt_flow_count {
	u32	inc;		/* packets granted */
	u32	ai;
	u32	src;
	u32	src_dec;
	u32	loss_dec;
	u32	rto_dec;
	u32	pauses;
};

/* The newest SRC of a flow; at_ns is 0 when there was none */
struct bolt_last_src {
	u64	at_ns;
	u32	queue_bytes;
	u32	link_kbps;
	u32	rtt_src_ns;
	u32	switch_id;
	u8	verdict;	/* enum bolt_src_verdict */
};

/**
 * struct bolt_flow - what Bolt knows of one socket
 *
 * Made when a handshake carried the option (or swift does without), found by socket pointer, freed
 * after a grace period when the congestion control is released.  icsk_ca_priv only caches the
 * pointer, for callers that hold the socket lock.
 */
struct bolt_flow {
	/* Written by LOCAL_IN without the socket lock; single words, newest wins. */
	atomic_t		rx_inc;		/* data packets that arrived with INC */
	u32			rx_t_data_tx;	/* newest data packet's, to be echoed */
	u32			rx_at;		/* when it came, low bits of the clock in ns */
	u32			ack_rtt_ns;	/* newest RTT sample, 0: taken */
	u32			ack_at;		/* when it came, as rx_at */
	u16			ack_rq;		/* what it reflected, bolt_rq_pack() */
	u8			rx_hops;	/* of the newest data packet */
	u8			rx_dec;		/* newest data packet had DEC */
	u8			ack_inc;	/* newest ACK's inc_count */
	u8			ack_dec;	/* newest ACK's DEC */
	u8			ack_seen;	/* some ACK has carried the option */
	u32			ack_stamp;	/* jiffies of the newest that did */

	/* Packets on or off cwnd decided while a user owned the socket; taken up under the lock */
	atomic_t		pending;

	/* Under the socket's spinlock */
	struct bolt_core	core;
	u32			cwnd;		/* Bolt's own window; TCP's may be less: Swift's */
	u32			tcp_cwnd;	/* what we last made TCP's */
	u32			last_inc;	/* inc_count taken so far; > 255: none yet */
	struct bolt_flow_count	count;
	u32			nic_kbps;	/* rate of the device below; 0: unknown */
	u32			ns_per_byte;	/* of nic_kbps, see bolt_core_ns_per_byte() */
	u32			init_cwnd;	/* packets; the path's BDP as configured */
	u32			max_cwnd;	/* packets */
	u32			queue_ns;	/* the queue that the window aims at: swift */
	u64			next_tx_ns;	/* earliest departure of the next packet */
	u32			tx_frac;	/* and the part of a ns that belongs to it */
	u64			last_tx_ns;	/* departure of the newest data packet */
	u32			first_end;	/* FIRST before this sequence number */
	u32			last_seq;	/* LAST was set up to here */
	int			dev_ifindex;	/* device nic_kbps belongs to */
	u32			rate_gen;	/* bolt_net.rate_gen that nic_kbps is from */
	u32			prior_cwnd;	/* before the latest loss, for undo */
	u32			loss_cwnd;	/* what this loss episode has cut the window to */
	u32			syn_ack;	/* what the SYN-ACK acknowledged */
	__be16			syn_sport;	/* its port: the socket may have been reused */
	u16			hdr_reserved;	/* icsk_ext_hdr_len as we left it */
	u32			src_queue_ns;	/* of the newest SRC: the queue, as time */
	u8			ready;		/* init() is through; SRC may come */
	u8			own_queue;	/* the newest SRC: packets of the queue are ours */
	u8			ai_owed;	/* an additive increase waits for DEC to end */
	u8			reserved:1,	/* BOLT_TCPOPT_LEN is in icsk_ext_hdr_len */
				pacing_ours:1,	/* sk_pacing_status was NONE before us */
				in_first:1,
				last_open:1;	/* LAST was sent, and no proof yet it was true */
	u8			rto_count;	/* RTOs in a row (Swift, Algorithm 1) */
	u8			ack_missing;	/* ACKs in a row without the option */
	u8			plain;		/* swift on a connection without the option */
	struct swift_told	told;		/* by SRC: bolt */

	/* swift.c, under the socket lock */
	struct swift		swift;
	u32			prior_wait_ns;	/* before the latest loss, for undo: bolt */
	u64			prior_q32[2];	/* its windows before the latest loss, for undo */
	u64			pace_ns;	/* a departure that a window below one puts off */
	u64			last_ack_ns;	/* newest ACK that brought a RTT: bolt */

	/* Recent control messages, so that none counts twice */
	struct { u32 t_data_tx, seq; } seen[8];
	u8			seen_next;
	struct bolt_last_src	src;

	struct bolt_net		*bn;		/* of the socket, which keeps it */

	/* Cold */
	struct sock		*sk;		/* the key; not a reference */
	struct rhash_head	node;
	refcount_t		refcnt;
	struct work_struct	work;		/* takes pending up if nobody else does */
	struct hrtimer		ai_timer;
	struct rcu_head		rcu;
};

/* net.bolt.swift_*: name, default, least, most; units are in the names.  Sources: tcp_swift.rst */
#define BOLT_SWIFT_SET_LIST(X)						\
	X(base_ns,		10000,	0, 1000000000)			\
	X(hop_ns,		1000,	0, 10000000)			\
	X(fs_range_ns,		100000,	0, 1000000000)			\
	X(fs_min_cwnd_milli,	100,	1, 1000000000)			\
	X(fs_max_cwnd_milli,	256000,	1, 1000000000)			\
	X(endpoint_ns,		100000,	1, 1000000000)			\
	X(ai_milli,		1000,	1, 100000)			\
	X(beta_pct,		80,	1, 100)				\
	X(max_mdf_pct,		50,	1, 99)				\
	X(min_cwnd_milli,	1,	1, 1000000)

#define BOLT_SWIFT_SET_ENUM(name, ...)	BOLT_SWIFT_##name,
enum bolt_swift_set {
	BOLT_SWIFT_SET_LIST(BOLT_SWIFT_SET_ENUM)
	BOLT_SWIFT_SET_MAX
};

struct bolt_swift_conf {
	struct swift_conf	c;
	struct rcu_head		rcu;
};

/**
 * struct bolt_net - one network namespace
 */
struct bolt_net {
	struct net		*net;
	struct bolt_mib __percpu *mib;
	struct xarray		rates;		/* ifindex -> Mbit/s from ethtool */
	u32			rate_gen;	/* moves whenever one of them, or rate_mbps, does */

	struct work_struct	open_work;	/* opens the control sockets */
	unsigned long		open;		/* bit 0: asked for */
	struct socket		*ctl[2];	/* IPv4, IPv6 */
	struct mutex		ctl_lock;	/* ctl[] and the port they are bound to */

	struct mutex		hooks_lock;	/* hooks, and sfc, which needs them */
	u8			hooks_closing;	/* the namespace goes */

	struct list_head	pauses;		/* see pause.c */
	spinlock_t		pause_lock;
	u8			pause_closing;
	struct bolt_events	events;

	/* sysctls, net.bolt.*; see sysctl.c */
	int			port;
	u32			base_rtt_ns;
	u32			rate_mbps;
	u32			max_bdp_pct;
	u32			burst_segs;
	u32			min_cwnd_milli;
	u32			max_pause_us;
	u32			watchdog_pct;
	u32			watchdog_interval_us;
	u32			watchdog_recovery_us;
	u8			sfc;
	u8			hooks;		/* they are in */
	u8			ai;
	u8			ai_spread;
	u8			src_spare;
	u8			brownfield;
	u8			min_ttl;
	u8			tagged;
	siphash_key_t		tag_key;
	u32			swift_set[BOLT_SWIFT_SET_MAX];
	struct mutex		swift_lock;	/* swift_set[] and swift_conf together */
	struct bolt_swift_conf __rcu *swift_conf;
	struct ctl_table	*table;
	struct ctl_table_header	*sysctl;
};

extern unsigned int bolt_net_id;
extern struct workqueue_struct *bolt_wq;
extern struct tcp_congestion_ops tcp_bolt, tcp_bolt_fallback, *bolt_swift_ops;

struct nf_hook_state;

struct bolt_net *bolt_net(const struct net *net);
int bolt_hooks_set(struct bolt_net *bn, bool on);
int bolt_sfc_set(struct bolt_net *bn, bool on);

#define BOLT_INC_STATS(bn, item)	this_cpu_inc((bn)->mib->v[BOLT_MIB_##item])
#define BOLT_ADD_STATS(bn, item, n)	this_cpu_add((bn)->mib->v[BOLT_MIB_##item], n)

/* flow.c: the per-socket object */
int bolt_flow_module_init(void);
void bolt_flow_module_exit(void);
struct bolt_flow *bolt_flow_create(struct sock *sk);
struct bolt_flow *bolt_flow_lookup_table(const struct sock *sk);
void bolt_flow_release(struct sock *sk);
void bolt_flow_defer(struct bolt_flow *f, struct sock *sk, int packets);
bool bolt_flow_hold(struct bolt_flow *f);
void bolt_flow_put(struct bolt_flow *f);
void bolt_flow_take_up(struct bolt_flow *f, struct sock *sk);
struct rhashtable *bolt_flow_table(void);
unsigned int bolt_flow_buckets(void);

/*
 * The newest flow of those whose sockets' addresses agree in their hash: the others are looked up.
 * An entry is set before its flow is put in the table and cleared, at the latest, when it has been
 * taken out and its grace period is about to begin: so whoever sees it under RCU may look into it.
 */
#define BOLT_FLOW_HINT_BITS	12
#define BOLT_FLOW_HINTS		BIT(BOLT_FLOW_HINT_BITS)

extern struct bolt_flow __rcu *bolt_flow_hints[BOLT_FLOW_HINTS];

static inline struct bolt_flow __rcu **bolt_flow_hint(const struct sock *sk)
{
	return &bolt_flow_hints[hash_ptr(sk, BOLT_FLOW_HINT_BITS)];
}

/* Under RCU */
static inline struct bolt_flow *bolt_flow_lookup(const struct sock *sk)
{
	struct bolt_flow *f = rcu_dereference(*bolt_flow_hint(sk));

	return likely(f && f->sk == sk) ? f : bolt_flow_lookup_table(sk);
}

/* Of a socket whose lock is held and whose congestion control is bolt; may be NULL */
static inline struct bolt_flow *bolt_flow_locked(const struct sock *sk)
{
	return *(struct bolt_flow **)inet_csk_ca(sk);
}

static inline void bolt_flow_set_locked(struct sock *sk, struct bolt_flow *f)
{
	*(struct bolt_flow **)inet_csk_ca(sk) = f;
}

/* Whether bolt controls the socket now; without the lock an instant's answer. */
static inline bool bolt_sk_uses(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_ca_ops) == &tcp_bolt;
}

/* The same of any congestion control that speaks the option: bolt, or swift while it is loaded */
static inline bool bolt_sk_speaks(const struct sock *sk)
{
	const struct tcp_congestion_ops *ops = READ_ONCE(inet_csk(sk)->icsk_ca_ops);

	return ops == &tcp_bolt || ops == READ_ONCE(bolt_swift_ops);
}

/* Bytes of a full packet as a switch counts them: IP packet and Ethernet header */
static inline u32 bolt_pkt_bytes(const struct sock *sk)
{
	return tcp_sk(sk)->mss_cache + tcp_sk(sk)->tcp_header_len + BOLT_TCPOPT_LEN +
	       (sk->sk_family == AF_INET ? 20 : 40) + ETH_HLEN;
}

/* handshake.c: what one softirq passes from LOCAL_IN to LOCAL_OUT or to CC init */
enum bolt_hs { BOLT_HS_NONE, BOLT_HS_SYN, BOLT_HS_ESTABLISHED };

struct bolt_hs_key {
	struct net	*net;
	__be32		saddr[4], daddr[4];	/* as in the received packet */
	__be16		sport, dport;
};

void bolt_hs_key_of(struct bolt_hs_key *key, const struct sk_buff *skb, const struct tcphdr *th,
		    struct net *net, bool ip6);
void bolt_hs_key_flip(struct bolt_hs_key *key);
void bolt_hs_put(enum bolt_hs what, const struct bolt_hs_key *key);
bool bolt_hs_take(enum bolt_hs what, const struct bolt_hs_key *key);
bool bolt_hs_armed(void);
bool bolt_hs_child(const struct sock *sk, const struct bolt_hs_key *key);

/* option_tx.c, option_rx.c: the netfilter hooks */
unsigned int bolt_local_out4(void *priv, struct sk_buff *skb, const struct nf_hook_state *state);
unsigned int bolt_local_out6(void *priv, struct sk_buff *skb, const struct nf_hook_state *state);
unsigned int bolt_local_in4(void *priv, struct sk_buff *skb, const struct nf_hook_state *state);
unsigned int bolt_local_in6(void *priv, struct sk_buff *skb, const struct nf_hook_state *state);
void bolt_reserve(struct sock *sk, struct bolt_flow *f);
void bolt_unreserve(struct sock *sk, struct bolt_flow *f);

/* attach.c: what congestion controls that speak the option share; socket locked */
struct bolt_flow *bolt_negotiated(struct sock *sk);
void bolt_attach(struct sock *sk, struct bolt_flow *f);
void bolt_detach(struct sock *sk, struct bolt_flow *f);
void bolt_set_cwnd(struct sock *sk, const struct bolt_flow *f, u32 cwnd);
void bolt_update_max_cwnd(struct sock *sk, struct bolt_flow *f);
void bolt_cc_refresh_rate(struct sock *sk, struct bolt_flow *f, int ifindex);
void bolt_limit_bursts(struct sock *sk, const struct bolt_flow *f);
u32 bolt_min_tso_segs(struct sock *sk);
void bolt_rtt_sample(struct sock *sk, struct bolt_flow *f, u32 rtt_ns);
bool bolt_peer_silent(const struct sock *sk, struct bolt_flow *f);

/* swift.c: Swift's controller on a flow; socket locked */
void bolt_swift_register(struct tcp_congestion_ops *ops);
void bolt_swift_start(struct sock *sk, struct bolt_flow *f);
void bolt_swift_start_plain(struct sock *sk, struct bolt_flow *f);
void bolt_swift_go_plain(struct sock *sk, struct bolt_flow *f);
void bolt_swift_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs);
void bolt_swift_rto(struct sock *sk, struct bolt_flow *f);
void bolt_swift_recovery(struct sock *sk, struct bolt_flow *f);
void bolt_swift_remember(struct bolt_flow *f);
void bolt_swift_undo(struct sock *sk, struct bolt_flow *f);
void bolt_swift_pass(struct sock *sk, struct bolt_flow *f, struct sk_buff *skb,
		     struct tcphdr *th, bool data);
void bolt_swift_depart(struct sock *sk, struct bolt_flow *f);
void bolt_brown_start(struct bolt_flow *f);
void bolt_brown_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs);
void bolt_repace(struct sock *sk, struct bolt_flow *f, u64 due_ns);

/* below_one.c: bolt's windows below one packet; socket locked, or its spinlock held */
bool bolt_below_allowed(const struct sock *sk, const struct bolt_flow *f);
void bolt_below_depart(struct sock *sk, struct bolt_flow *f);
void bolt_below_src(struct sock *sk, struct bolt_flow *f);
bool bolt_below_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs, u32 inc);
void bolt_below_cut(struct sock *sk, struct bolt_flow *f);

/* cc.c: the congestion control; called with the socket's spinlock held */
enum bolt_src_verdict bolt_cc_src(struct sock *sk, struct bolt_flow *f, u64 now_ns, u32 rtt_src_ns,
				  u32 queue_bytes, u32 link_kbps);
void bolt_cc_adjust(struct sock *sk, struct bolt_flow *f, int packets);
void bolt_cc_flow_init(struct bolt_flow *f);
void bolt_cc_flow_stop(struct sock *sk, struct bolt_flow *f);

/* control.c: the UDP sockets SRC, BTS and CNM arrive on */
void bolt_control_init(struct bolt_net *bn);
void bolt_control_want(struct bolt_net *bn);
int bolt_control_need(struct bolt_net *bn);
int bolt_control_rebind(struct bolt_net *bn, int port);
void bolt_control_exit(struct bolt_net *bn);

/* pause.c: SFC's pause of any TCP socket */
struct bolt_msg;
extern atomic_t bolt_pause_count;

/* What pause.c knows of a socket, for people; see struct bolt_pause_clock */
struct bolt_pause_info {
	u64	until_ns;
	u64	deaf_ns;
	u64	granted_ns;	/* of all pauses */
	u32	asked_ns;	/* by the newest BTS */
	u32	switch_id;	/* whose that was */
	u32	begun;
	bool	from_cache;
};

unsigned int bolt_pause_out(struct sk_buff *skb, struct sock *sk, struct tcphdr *th,
			    unsigned int payload);
enum bolt_mib_item bolt_pause_bts(struct bolt_net *bn, struct sock *sk, const struct bolt_msg *m);
void bolt_leaves_early(struct sk_buff *skb, struct sock *sk, struct tcphdr *th, bool data,
		       u64 now_ns);
void bolt_pacing_timer(struct sock *sk, u64 when);
void bolt_pause_init(struct bolt_net *bn);
void bolt_pause_exit(struct bolt_net *bn);
struct rhashtable *bolt_pause_table(void);
struct sock *bolt_pause_sk(void *pause);
bool bolt_pause_is(void *pause, const struct sock *sk);
bool bolt_pause_look(const struct sock *sk, struct bolt_pause_info *i);
int bolt_pause_module_init(void);
void bolt_pause_module_exit(void);

/* Is any socket paused? One load for the packets of all the others. */
static inline bool bolt_pause_any(void)
{
	return unlikely(atomic_read(&bolt_pause_count));
}

/* rate.c: the speed of devices */
int bolt_rate_module_init(void);
void bolt_rate_module_exit(void);
u32 bolt_rate_kbps(struct bolt_net *bn, int ifindex);

/* sysctl.c */
int bolt_sysctl_init(struct bolt_net *bn);
void bolt_sysctl_exit(struct bolt_net *bn);

/* mib.c */
int bolt_mib_init(struct bolt_net *bn);
void bolt_mib_exit(struct bolt_net *bn);
const char *bolt_mib_name(enum bolt_mib_item item);
u64 bolt_mib_sum(const struct bolt_net *bn, enum bolt_mib_item item);

/* genl.c: generic netlink */
extern struct genl_family bolt_genl_family;
extern bool bolt_genl_on, bolt_genl_joined;
int bolt_genl_put_id(struct sk_buff *skb, struct sock *sk);
int bolt_genl_module_init(void);
void bolt_genl_module_exit(void);

/* events.c: what happens, for tracepoints and listeners; any context */
void bolt_event_src(struct sock *sk, const struct bolt_flow *f);
void bolt_event_pause(struct sock *sk, enum bolt_event_type type, const struct bolt_msg *m,
		      u64 ns);
void bolt_event_refusal(struct bolt_net *bn, const struct sk_buff *skb, struct sock *sk,
			enum bolt_mib_item item);
void bolt_event_fallback(struct sock *sk, enum bolt_mib_item item);

/*
 * It leaves now, whatever departure TCP stamped it with.  skb_clear_delivery_time() is for packets
 * received: while any socket wants timestamps it puts the wall clock there.  fq takes that for a
 * departure beyond its horizon, and drops the packet.
 */
static inline void bolt_skb_leaves_now(struct sk_buff *skb)
{
	skb_set_delivery_time(skb, 0, 0);
}

/* doff is the upper half of a byte: @bytes, a multiple of 4, more or less than there were */
static inline void bolt_th_grow(struct tcphdr *th, int bytes)
{
	((u8 *)th)[12] += bytes * 4;
}

/* A header of @len bytes, that neither opens nor resets the connection */
static inline bool bolt_th_is(const struct tcphdr *th, u32 len)
{
	return (tcp_flag_word(th) & (TCP_DATA_OFFSET | TCP_FLAG_RST | TCP_FLAG_SYN)) ==
	       htonl(len / 4 << 28);
}

/* Signed before our hook sees the packet (RFC 2385, RFC 5925): nothing may be added */
static inline bool bolt_sk_is_signed(const struct sock *sk)
{
#ifdef CONFIG_TCP_MD5SIG
	if (rcu_access_pointer(tcp_sk(sk)->md5sig_info))
		return true;
#endif
#if BOLT_TCP_AO
	if (rcu_access_pointer(tcp_sk(sk)->ao_info))
		return true;
#endif
	return false;
}

#endif /* _TCP_BOLT_H */
