/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SFC at the sender, for flows that are not TCP: which of them has this port sent, and until when
 * is each paused?
 *
 * A flow, by its addresses, ports, protocol and DSCP, is known by 64 bits of a keyed hash, so
 * none is taken for another.  When a pause ends, and the watchdog, are of bolt_pause.h, as for
 * TCP.  A packet without a sequence number cannot be shown to be in flight.  What can be: its flow
 * has sent something here lately.
 *
 * A set of the table that is full gives up the flow that is silent longest, but none of which
 * packets wait, or the watchdog has something to remember.  Where that is so of all of them, the
 * newcomer is not known, and so not held.
 *
 * Pure; locked by hold.c.
 */
#ifndef _SFC_HOLD_H
#define _SFC_HOLD_H

#ifdef __KERNEL__
#include "packet.h"
#endif
#include <bolt_pause.h>

#define SFC_HOLD_SETS		64
#define SFC_HOLD_WAYS		4
#define SFC_HOLD_FLOWS		(SFC_HOLD_SETS * SFC_HOLD_WAYS)
#define SFC_HOLD_SILENT_NS	(1ULL << 30)	/* silent for so long: nothing is in flight */

/* A flow that has sent */
struct sfc_hold_flow {
	u64			hash;		/* its own; 0: free */
	u64			sent_ns;	/* when its last packet left, or was held */
	struct bolt_pause_clock	clock;		/* its pause and watchdog */
	struct qdisc_skb_head	held;		/* packets that wait */
	struct list_head	list;		/* on sfc_hold.busy while packets are held */
};

/* The entry of a flow, or a free one for it; NULL: there is no room */
static inline struct sfc_hold_flow *sfc_hold_find(struct sfc_hold_flow *flows,
						  const struct bolt_pause_conf *c, u64 hash,
						  u64 now)
{
	struct sfc_hold_flow *set = flows + hash % SFC_HOLD_SETS * SFC_HOLD_WAYS;
	struct sfc_hold_flow *room = NULL, *f;

	for (f = set; f < set + SFC_HOLD_WAYS; f++) {
		if (f->hash == hash)
			return f;
		if (!f->held.qlen && !bolt_pause_keep(&f->clock, c, now) &&
		    (!room || f->sent_ns < room->sent_ns))
			room = f;
	}
	return room;
}

/* A packet of a flow leaves: find or create its entry. */
static inline struct sfc_hold_flow *sfc_hold_sent(struct sfc_hold_flow *flows,
						  const struct bolt_pause_conf *c, u64 hash,
						  u64 now)
{
	struct sfc_hold_flow *f = sfc_hold_find(flows, c, hash, now);

	if (!f)
		return NULL;
	if (f->hash != hash)
		*f = (struct sfc_hold_flow){ .hash = hash };
	f->sent_ns = now;
	return f;
}

/* May a packet of the flow be in flight?  @f is the result of sfc_hold_find(). */
static inline bool sfc_hold_has_sent(const struct sfc_hold_flow *f, u64 hash, u64 now)
{
	return f->hash == hash && now - f->sent_ns < SFC_HOLD_SILENT_NS;
}

#ifdef __KERNEL__
/* --- the qdisc --- */

/*
 * May so many packets of @bytes together wait?  A small packet takes many times its length.  The
 * child may drop packets and says how many, not what memory they took: each counts for the least.
 * Those @held may take all but an eighth of either.
 */
static inline bool sfc_hold_fits(u32 limit, u32 pkts, u64 bytes, bool held)
{
	u32 memory = sfc_config_memory_limit(limit);

	if (held) {
		limit -= limit >> 3;
		memory -= memory >> 3;
	}
	return bytes <= limit && bytes + (u64)pkts * SKB_TRUESIZE(0) <= memory;
}

#define SFC_HOLD_SHARE		95	/* default, per cent of SFC_HOLD_INTERVAL_NS */
#define SFC_HOLD_INTERVAL_NS	(200 * NSEC_PER_MSEC)	/* of the watchdog, and to recover */

/* As configured */
struct sfc_hold_config {
	u32			limit;		/* bytes */
	u32			maxpause_ns;
	u16			port;
	u8			share;		/* per cent */
	u8			minttl;
	bool			has_tagkey;	/* believe BTS with a tag under @keys */
	bool			notagkey;	/* believe any; without either none */
	struct bolt_keys	keys;
};

/* The qdisc */
struct sfc_hold {
	struct Qdisc			*child;	/* where packets wait that are not held */
	/* flows of which packets are held; the first of them that may go is the next */
	struct list_head		busy;
	u64				next_ns;	/* until then none of them may */
	/* the next packet is one of those let go, if there is any */
	bool				turn;
	struct qdisc_watchdog		watchdog;	/* until a pause is over */
	struct list_head		list;	/* on the namespace's */
	/* port that is open for it, 0: none; RTNL */
	u16				listening;
	spinlock_t			lock;	/* for all below, and @next_ns */
	struct sfc_hold_config		cfg;
	struct bolt_pause_conf		pause;
	struct tc_sfc_hold_xstats	stats;
	struct sfc_hold_flow		*flows;	/* SFC_HOLD_FLOWS of them */
};

/* What a flow is known by, to every sfc_hold of the namespace */
static inline u64 sfc_hold_hash(const struct net *net, const struct sfc_flow *f)
{
	return siphash(f, sizeof(*f), &sfc_switch_of(net)->hold_key) ?: 1;
}
#endif

#endif /* _SFC_HOLD_H */
