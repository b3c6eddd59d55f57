/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the qdiscs "sfc" and "sfc_hold": their options (TCA_OPTIONS) and their
 * statistics (TCA_STATS_APP).  Specified by Documentation/netlink/specs/sfc.yaml, explained by
 * Documentation/sch_sfc.rst.
 */
#ifndef _UAPI_LINUX_PKT_SCH_SFC_H
#define _UAPI_LINUX_PKT_SCH_SFC_H

#include <linux/types.h>

enum {
	TCA_SFC_UNSPEC,
	TCA_SFC_PAD,
	TCA_SFC_FLAGS,		/* struct nla_bitfield32 of TC_SFC_F_* */
	TCA_SFC_RATE64,		/* u64, bytes/s; 0: the device is the link */
	TCA_SFC_LIMIT,		/* u32, bytes */
	TCA_SFC_CCTHRESH,	/* u32, bytes; 0: two MTU */
	TCA_SFC_SWITCH_ID,	/* u32 */
	TCA_SFC_MSGRATE,	/* u32, control messages/s */
	TCA_SFC_PORT,		/* u16, UDP port of control messages */
	TCA_SFC_TTL,		/* u8, TTL or hop limit of control messages */
	TCA_SFC_ADDR4,		/* be32, source of control messages; 0: the data's destination */
	TCA_SFC_ADDR6,		/* 16 bytes, likewise */
	TCA_SFC_TAGKEY,		/* 16 bytes of SipHash key, or none: no tag.  Never dumped. */
	TCA_SFC_OVERHEAD,	/* u32, bytes a packet costs on the link beyond its length */
	TCA_SFC_LINK64,		/* u64, bytes/s of the link, does not shape; 0: device's speed */
	TCA_SFC_SMCAP,		/* u32, bytes; 0: the bytes the link carries in 8 us */
	TCA_SFC_BTS,		/* u8, enum tc_sfc_bts */
	TCA_SFC_QTH,		/* u32, bytes; 0: two BDP of the link's rate and TCA_SFC_RTT */
	TCA_SFC_QTG,		/* u32, bytes; 0: one BDP */
	TCA_SFC_RTT,		/* u32, ns, base RTT of the network */
	TCA_SFC_SUPPRESS,	/* u32, ns; 0: half of TCA_SFC_RTT; or TC_SFC_SUPPRESS_OFF */
	TCA_SFC_MAXPAUSE,	/* u32, ns, longest pause to request */
	TCA_SFC_ECN,		/* u32, bytes of backlog beyond which CE is set; 0: off */
	TCA_SFC_ESTIMATOR,	/* u32, ns, tau of the incast estimator; 0: off */
	TCA_SFC_HOLDSHARE,	/* refused: TCA_SFC_HOLD_SHARE of sfc_hold */
	TCA_SFC_MINTTL,		/* refused: TCA_SFC_HOLD_MINTTL of sfc_hold */
	TCA_SFC_SERVERRATE64,	/* u64, bytes/s of a server's link (estimator); 0: as this one */
	TCA_SFC_BANDS,		/* u8, bands of data, 1..TC_SFC_BANDS_MAX */
	TCA_SFC_WEIGHTS,	/* u8 each, 1..TC_SFC_WEIGHT_MAX, as many as bands */
	TCA_SFC_DEFAULT,	/* u8, from 1: band of packets without a filter or DSCP entry */
	TCA_SFC_DSCP,		/* 64 u8, band of each DSCP, from 1; 0: the default */
	TCA_SFC_SRCPROB,	/* u8 each, per cent, 1..100, as many as bands */
	TCA_SFC_PRUTHRESH,	/* u32, bytes; 0: a quarter of the BDP of TCA_SFC_RTT */
	TCA_SFC_SWITCHKEY,	/* SipHash key of switches only, 16 bytes; two: 32; or none */
	TCA_SFC_BUFFER,		/* u32, bytes that the ports share; 0: not this one */
	TCA_SFC_ALPHA,		/* u32, of what is free there, in 1 / TC_SFC_ALPHA_ONE */
	TCA_SFC_PFC,		/* u8, priorities, a bit each; 0: no PFC */
	TCA_SFC_XOFF,		/* u32, bytes of one ingress and priority; beyond: pause */
	TCA_SFC_XON,		/* u32, bytes; below, it may go on; 0: half of TCA_SFC_XOFF */
	TCA_SFC_PFC_STUCK,	/* u32, ns, watchdog: a band stopped so long; 0: off */
	TCA_SFC_PFC_IGNORE,	/* u32, ns, ... no pause is heeded for so long */
	TCA_SFC_MEMORY_LIMIT,	/* u32, bytes of memory that packets may take; else 4 limits */
	TCA_SFC_LEVELS,		/* TC_SFC_LEVELS u8, band of each level, from 1; 0: not by it */
	TCA_SFC_SRCC,		/* u32, bytes; beyond: CNM; 0: off; or enum tc_sfc_srcc */
	TCA_SFC_SRCC_DELAY,	/* u32, ns, of a link; 0: an eighth of TCA_SFC_RTT */
	TCA_SFC_SRCC_WINDOW,	/* u32, ns; 0: three TCA_SFC_RTT */
	__TCA_SFC_MAX
};

#define TCA_SFC_MAX	(__TCA_SFC_MAX - 1)

#define TC_SFC_F_BOLT		(1U << 0)	/* Algorithm 1 of the Bolt paper */
#define TC_SFC_F_SRC		(1U << 1)	/* ... its sub-RTT control, section 3.1 */
#define TC_SFC_F_PRU		(1U << 2)	/* ... its proactive ramp-up, section 3.2 */
#define TC_SFC_F_SM		(1U << 3)	/* ... its supply matching, section 3.3 */
#define TC_SFC_F_SPLIT_GSO	(1U << 4)	/* queue segments, not super-packets */
#define TC_SFC_F_PAUSE		(1U << 5)	/* Algorithm 1 of the SFC paper */
#define TC_SFC_F_EDGE		(1U << 6)	/* the port faces servers: its BTS may be cached */
#define TC_SFC_F_CACHE		(1U << 7)	/* remember and use the BTS of other switches */
#define TC_SFC_F_HOLD		(1U << 8)	/* refused: the qdisc sfc_hold */
#define TC_SFC_F_PAPER		(1U << 9)	/* Algorithms 1, 3 of the Bolt paper, as printed */
#define TC_SFC_F_SFCP		(1U << 10)	/* a BTS to the host becomes a PAUSE frame */
#define TC_SFC_F_ALL		(((1U << 11) - 1) & ~TC_SFC_F_HOLD)

/* When a BTS is sent for a queue beyond qth */
enum tc_sfc_bts {
	TC_SFC_BTS_INGRESS,	/* when a packet is enqueued */
	TC_SFC_BTS_EGRESS,	/* when a packet is dequeued (SFC, section 2.3) */
	TC_SFC_BTS_OFF,		/* never */
};

/* How the threshold of SRCC is computed */
enum tc_sfc_srcc {
	TC_SFC_SRCC_MEASURED = 0xfffffffe,	/* by the growth of the queue */
	TC_SFC_SRCC_EQUATION = 0xffffffff,	/* by equation 6 of its paper */
};

#define TC_SFC_SUPPRESS_OFF	0xffffffffU
/* bytes: the least that four times TCA_SFC_LIMIT stands for */
#define TC_SFC_MEMORY_LIMIT	(64U << 20)

#define TC_SFC_RATE_MIN		1000ULL			/* bytes/s: 8 kbit/s */
#define TC_SFC_RATE_MAX		(0xffffffffULL * 125)	/* the most that link_rate can hold */
#define TC_SFC_OVERHEAD_MAX	256
#define TC_SFC_BANDS_MAX	8
#define TC_SFC_WEIGHT_MAX	255
#define TC_SFC_DSCPS		64
#define TC_SFC_LEVELS		33	/* 0 to BOLT_LEVEL_MAX; 0: the packet does not say it */
#define TC_SFC_ALPHA_ONE	1024
#define TC_SFC_ALPHA_MAX	(128 * TC_SFC_ALPHA_ONE)

/*
 * The type of a TCA_STATS_APP, the first field of either struct below.  New fields are appended.
 * If a field is removed, both get new numbers, so that tools of another version do not misread
 * them.
 */
enum tc_sfc_xstats_type {
	TC_SFC_XSTATS_QDISC = 2,	/* struct tc_sfc_xstats */
	TC_SFC_XSTATS_BAND,		/* struct tc_sfc_band */
};

/*
 * Statistics of a class, which is one of several data bands, in addition to those of any class:
 * packets and bytes sent, qlen and backlog, drops at its share of the limit or by a change.
 * Counters are this band's share of those in struct tc_sfc_xstats.
 */
struct tc_sfc_band {
	__u64	type;		/* TC_SFC_XSTATS_BAND */
	__s64	sm_token;
	__u64	pru_token;
	__u64	data;
	__u64	congested;
	__u64	src_sent;
	__u64	src_sampled_out;	/* congested packets without SRC because of srcprob */
	__u64	pru_added;
	__u64	inc_pru;
	__u64	inc_sm;
	__u64	backlog_peak;
};

/* Current state and counters of a port */
struct tc_sfc_xstats {
	__u64	type;		/* TC_SFC_XSTATS_QDISC */

	/* state; if @queues is not 0, tokens are those of the whole port */
	__u64	link_rate;	/* bytes/s, for tokens and SRC; 0: unknown */
	__u64	ccthresh;	/* bytes, in force */
	__u64	mtu;		/* bytes of the largest packet, including link header */
	__u64	backlog_peak;	/* largest backlog since the last change or reset, bytes */
	__s64	sm_token;	/* bytes, negative while demand exceeds supply */
	__u64	pru_token;	/* packets */
	__u64	tagged;		/* 1: control messages carry a tag */

	/* Algorithm 1, in packets (segments, when super-packets are split) */
	__u64	data;		/* with the option and DATA */
	__u64	congested;	/* ... that arrived at a queue of ccthresh or more */
	__u64	dec_set;	/* DEC set by this port, which has sent an SRC */
	__u64	dec_seen;	/* congested, but DEC was set before: no second SRC */
	__u64	pru_added;	/* tokens from LAST packets */
	__u64	inc_pru;	/* INC kept, paid by PRU tokens */
	__u64	inc_sm;		/* INC kept, paid by supply */
	__u64	inc_cleared;
	__u64	opt_bad;	/* option malformed, or DATA without payload or time; left as is */
	__u64	mark_failed;	/* no memory to make the header writable; left as is */

	/* control messages */
	__u64	src_sent;	/* SRC handed to the stack */
	__u64	msg_limited;	/* SRC, BTS or CNM not sent: msgrate */
	__u64	msg_nomem;	/* ... no memory */
	__u64	msg_dropped;	/* ... the CPU's input queue was full */
	__u64	msg_unfit;	/* ... packet too short, not quotable, or must not be answered */

	/* the queue */
	__u64	high;		/* packets of the high band */
	__u64	gso_split;	/* super-packets split */
	__u64	gso_segs;	/* ... into so many */
	__u64	gso_failed;	/* ... dropped because they could not be split */
	__u64	drop_data;	/* dropped at the limit */
	__u64	drop_high;	/* dropped at the limit, from the high band */

	/* SFC: state, then messages */
	__u64	qth;		/* bytes, in force; 0: no BTS from this port's queue */
	__u64	qtg;		/* bytes, in force */
	__u64	suppress_ns;	/* in force; 0: off */
	__u64	bts_sent;	/* handed to the stack */
	__u64	bts_suppressed;	/* not sent: flow was notified of nearly the same end */
	__u64	bts_cached;	/* of bts_sent, those with a pause from the cache */

	/* the pause cache: control messages that left by this port */
	__u64	cache_entries;	/* current pauses in the cache of the namespace */
	__u64	cache_hits;	/* data packets of this port whose destination was cached */
	__u64	cache_learned;	/* cached */
	__u64	cache_full;	/* not cached: no room */
	__u64	cache_refused;	/* ... malformed, false quote, not tagged by a switch, too old */
	__u64	cache_ignored;	/* ... from an edge port: this switch's own, or a server's */

	__u64	ecn_marked;	/* packets marked with CE by this port */
	__u64	estimator_hits;	/* data packets to a destination estimated as congested */

	/* several transmit queues at one link */
	__u64	queues;		/* of the port, including this one; 0: not shared */
	__u64	port_backlog;	/* bytes, sum of the backlogs that the queues published */
	__u64	port_writes;	/* writes of this queue to shared state */

	/* "buffer"; what all ports of the switch hold is known to a 64th of it */
	__u64	buffer_used;	/* bytes, of all ports, when asked */
	__u64	buffer_peak;	/* most of them ever */
	__u64	buffer_limit;	/* bytes that this port may hold by now */
	__u64	drop_buffer;	/* of drop_data and drop_high: the buffer had no room */

	/* "pfc", of the device: bytes that came in by it and wait */
	__u64	ingress_bytes;
	__u64	ingress_packets;
	__u64	ingress_peak;	/* most of one priority */

	/* PAUSE frames, a priority each */
	__u64	pfc_xoff;	/* sent: pause */
	__u64	pfc_refresh;	/* sent: go on pausing */
	__u64	pfc_xon;	/* sent: the pause is over */
	__u64	pfc_failed;	/* frames that could not be sent */
	__u64	pfc_heard;	/* came in, and are heeded */
	__u64	pfc_ignored;	/* came in without PFC for it, or while the watchdog ignores */
	__u64	pfc_refused;	/* frames malformed, or not for this link */
	__u64	pfc_unknown;	/* frames that came in by devices without "pfc" */
	__u64	pfc_trips;	/* watchdog: paused for too long */
	__u64	pfc_paused;	/* priorities that may have to wait, a bit each, when asked */

	/* SFC-P */
	__u64	sfcp_asked;	/* pauses that the host was to hear of by PAUSE frames */
	__u64	sfcp_refused;	/* BTS that went on to it: not in the cache, or no PFC for them */

	__u64	memory_used;	/* bytes of memory that queued packets take (truesize) */
	__u64	drop_memory;	/* of drop_data and drop_high: memory_limit */

	/* SRCC */
	__u64	srcc_flows;	/* to this port, by the newest packet of data; 0: off */
	__u64	srcc_qth;	/* bytes: the threshold of that packet */
	__u64	cnm_sent;	/* handed to the stack */
	__u64	cnm_suppressed;	/* not sent: the flow knows that rate */
	__u64	cnm_unshared;	/* ... nothing uncongested came in by the packet's ingress */
};

/* --- sfc_hold --- */

enum {
	TCA_SFC_HOLD_UNSPEC,
	TCA_SFC_HOLD_LIMIT,	/* u32, bytes, of held and queued packets */
	TCA_SFC_HOLD_MAXPAUSE,	/* u32, ns, longest pause to obey */
	TCA_SFC_HOLD_SHARE,	/* u8, per cent of an interval for which a flow may be held */
	TCA_SFC_HOLD_MINTTL,	/* u8, minimum TTL or hop limit of a BTS */
	TCA_SFC_HOLD_PORT,	/* u16, UDP port of control messages */
	TCA_SFC_HOLD_TAGKEY,	/* one SipHash key, 16 bytes, or two, 32, which are never dumped;
				 * empty: believe BTS without a tag
				 */
	__TCA_SFC_HOLD_MAX
};

#define TCA_SFC_HOLD_MAX	(__TCA_SFC_HOLD_MAX - 1)

/* Current state and counters of an sfc_hold */
struct tc_sfc_hold_xstats {
	__u64	held_pkts;	/* packets held now, included in qlen */
	__u64	held_bytes;	/* ... bytes, included in the backlog */
	__u64	paused;		/* flows paused */
	__u64	tagged;		/* 1: a BTS must carry a tag */

	/* BTS about flows of this port */
	__u64	bts;		/* accepted */
	__u64	pauses;		/* ... those that began a pause */
	__u64	pause_ns;	/* ... sum of the pauses granted */
	__u64	clamped;	/* ... granted less than requested */
	__u64	full;		/* refused: no room for the flow in the table */
	__u64	trips;		/* not obeyed: the watchdog tripped, the flow's share is used up */
	__u64	ignored;	/* ... these, and all until the watchdog has recovered */
	__u64	held;		/* packets held */
	__u64	released;	/* ... and released at the end of a pause */

	/* BTS refused; the first two by every sfc_hold of the namespace with that port */
	__u64	refused;	/* no valid tag, TTL, or quote of another host's packet */
	__u64	oversize;	/* request more than a second */
	__u64	stale;		/* the flow sent nothing by this port within a second; with
				 * several sfc_hold, all but one count it
				 */
};

#endif /* _UAPI_LINUX_PKT_SCH_SFC_H */
