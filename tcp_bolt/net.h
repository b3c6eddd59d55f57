/* SPDX-License-Identifier: GPL-2.0 */
/* The per-namespace object, and its counters. */
#ifndef _TCP_BOLT_NET_H
#define _TCP_BOLT_NET_H

#include <linux/netfilter.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include <bolt_keys.h>
#include "swift.h"

/*
 * Counters: the name in /proc/net/bolt_stat and its meaning.  Documentation/counters.rst explains
 * them for users.  CtlShort to CtlQuote are in the order of enum bolt_msg_verdict, SrcDec to
 * SrcFloor in that of enum bolt_src_verdict.
 */
#define BOLT_MIB_LIST(X)							\
	X(SynTx)		/* SYNs sent with the offer */			\
	X(SynRx)		/* SYNs received with the offer */		\
	X(SynAckTx)		/* SYN-ACKs sent that accept it */		\
	X(SynAckRx)		/* SYN-ACKs received that accept it */		\
	X(Negotiated)		/* connections that carry the option */		\
	X(Fallback)		/* connections of bolt sockets that do not */	\
	X(FallbackLate)		/* bolt and swift: the option vanished from ACKs */ \
	X(NoHooks)		/* bolt and swift sockets begun with net.bolt.hooks=0 */ \
	X(OptTx)		/* packets sent with the option; a TSO burst is one */ \
	X(OptRx)		/* segments with the option, after the accepted one */ \
	X(OptBad)		/* our ExID: bad length, 4 bytes without SYN, or 12 with it */ \
	X(OptUnexpected)	/* on a socket that did not negotiate it */	\
	X(OptWindow)		/* on a segment outside the window, or an RST: ignored */ \
	X(OptEcho)		/* on an ACK that echoes no packet: no RTT sample */ \
	X(OptNoRoom)		/* packets without it: option space full */	\
	X(OptNoMtu)		/* packets without it: path MTU too small */	\
	X(OptNoMem)		/* packets without it: no header room */	\
	X(SackTrimmed)		/* SACK blocks or AccECN removed to make room */	\
	X(IncRx)		/* data packets that arrived with INC */	\
	X(DecRx)		/* data packets that arrived with DEC */	\
	X(IncGranted)		/* packets added to windows for INC */		\
	X(BelowTx)		/* data packets sent with a window below one */	\
	X(CtlRx)		/* datagrams on the control port but BTS that sfc_hold takes */ \
	X(SrcRx)		/* SRC accepted */				\
	X(SrcDec)		/* of those: the window became smaller */	\
	X(SrcHeld)		/* of those: the window did not */		\
	X(SrcFloor)		/* of those: the window was at its minimum */	\
	X(CtlShort)		/* refused: too short for a message */		\
	X(CtlLength)		/* refused: too long for a message */		\
	X(CtlVersion)		/* refused: unknown version */			\
	X(CtlType)		/* refused: unknown type */			\
	X(CtlFlags)		/* refused: unknown flag */			\
	X(CtlField)		/* refused: value out of range */		\
	X(CtlQuote)		/* refused: quote is not the head of a TCP packet */		\
	X(CtlTag)		/* refused: keyed tag missing or wrong */	\
	X(CtlTtl)		/* refused: TTL below net.bolt.min_ttl */	\
	X(CtlLocal)		/* refused: sent by this host itself */		\
	X(CtlPort)		/* refused: not sent from the control port */	\
	X(CtlNoSocket)		/* refused: no such connection */		\
	X(CtlNotBolt)		/* refused: connection does not use bolt */	\
	X(CtlDeferred)		/* deferred: a user owned the socket */	\
	X(CtlOverrun)		/* refused: too many were deferred */		\
	X(CtlSeq)		/* refused: no packet in flight begins there */	\
	X(CtlTime)		/* refused: the echo does not match that packet */ \
	X(CtlReplay)		/* refused: seen before */			\
	X(BtsRx)		/* BTS accepted */				\
	X(BtsClamped)		/* of those: pause shorter than requested */	\
	X(BtsOff)		/* BTS and CNM refused: net.bolt.sfc is 0 */	\
	X(BtsOversize)		/* refused: pause of more than a second */	\
	X(BtsIgnored)		/* refused: watchdog has tripped */		\
	X(WatchdogTrips)	/* flows paused for too much of an interval */	\
	X(Pauses)		/* pauses begun; a BTS during one replaces it */ \
	X(PausedNs)		/* time for which flows were paused, ns */	\
	X(PausePassed)		/* retransmits during a pause */		\
	X(CnmRx)		/* CNM accepted */				\
	X(CnmTx)		/* data packets, or bursts, that a CNM's rate left a gap behind */ \
	X(SwiftPlain)		/* connections of swift sockets without the option */ \
	X(SwiftLimits)		/* ACKs of bolt sockets with Swift's window smaller */ \
	X(SwiftTcpRtt)		/* ACKs for which only TCP's RTT was available */ \
	X(SwiftDec)		/* decreases of the fabric window for delay */	\
	X(LossDec)		/* episodes of fast recovery or ECE */		\
	X(RtoDec)		/* retransmission timeouts that are congestion */ \
	X(NoMem)		/* allocations that failed */

#define BOLT_MIB_ENUM(name)	BOLT_MIB_##name,
enum bolt_mib_item {
	BOLT_MIB_LIST(BOLT_MIB_ENUM)
	BOLT_MIB_MAX
};

struct bolt_mib {
	u64	v[BOLT_MIB_MAX];
};

/* A network namespace */
struct bolt_net {
	struct net		*net;
	struct bolt_mib __percpu *mib;
	struct xarray		rates;		/* ifindex -> Mbit/s from ethtool */
	struct work_struct	rate_work;	/* reads them from the devices */
	atomic_t		rate_gen;	/* changes with rates and settings */

	struct delayed_work	open_work;	/* opens the control sockets */
	bool			ctl_open;	/* the port is open, or shall not be again */
	unsigned long		ctl_retry;	/* jiffies: no attempt to open it before */
	struct mutex		ctl_lock;	/* protects ctl_open and port */

	struct mutex		hooks_lock;	/* protects hooks, and sfc, which needs them */

	spinlock_t		flow_lock;	/* protects bolt_flow.users and the next three */
	struct list_head	held;		/* objects with BOLT_FLOW_HELD */
	u32			bts_count;	/* of them with BOLT_FLOW_BTS: bolt_pause_any() */
	u32			flows;		/* number of objects with BOLT_FLOW_CC */

	/* net.bolt.* and net.bolt.debug.*, see sysctl.c: all are ints there */
	int			port;
	u32			base_rtt_ns;
	u32			rate_mbps;
	int			overhead;	/* bytes per packet; -1: derived from the device */
	u32			max_bdp_pct;
	u32			burst_segs;
	u32			min_cwnd_milli;
	u32			short_bdp;
	u32			max_pause_us;
	u32			watchdog_pct;
	u32			watchdog_interval_us;
	u32			watchdog_recovery_us;
	u32			sfc;
	u32			hooks;		/* the hooks are registered */
	u32			ai;
	u32			idle_restart;
	u32			paper;
	u32			brownfield;
	u32			min_ttl;
	struct bolt_keys __rcu	*tag_key;	/* NULL: messages need no tag */
	const struct tcp_congestion_ops __rcu *fallback;
	struct swift_conf	swift;
	struct ctl_table_header	*sysctl, *debug;
};

extern unsigned int bolt_net_id;

static inline struct bolt_net *bolt_net(const struct net *net)
{
	return net_generic(net, bolt_net_id);
}

#define BOLT_INC_STATS(bn, item)	this_cpu_inc((bn)->mib->v[BOLT_MIB_##item])
#define BOLT_ADD_STATS(bn, item, n)	this_cpu_add((bn)->mib->v[BOLT_MIB_##item], n)

#endif /* _TCP_BOLT_NET_H */
