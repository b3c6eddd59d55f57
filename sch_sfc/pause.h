/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Source Flow Control at the switch: when a sender has to pause, and for how long
 * ("SFC: Near-Source Congestion Signaling and Flow Control", Algorithm 1).
 *
 *	queue > Qth			BTS	(line 7)
 *	pause time = (queue - Qtg) / R		(section 3.3)
 *
 *	   queue
 *	   Qth = 2 BDP ------  beyond: pause the sender of each arriving packet
 *	   Qtg = 1 BDP ------  the queue when they resume
 *
 * With Qtg of at least one feedback delay's worth, the first packet sent after a
 * pause arrives before the queue is empty (section 3.3).
 * Pure.
 */
#ifndef _SFC_PAUSE_H
#define _SFC_PAUSE_H

#include "rate.h"

#define SFC_RTT_DEFAULT_NS	(10 * NSEC_PER_USEC)	/* the paper's base RTT, table 1 */
#define SFC_RTT_MIN_NS		(1 * NSEC_PER_USEC)
#define SFC_RTT_MAX_NS		(100 * NSEC_PER_MSEC)
#define SFC_PAUSE_MAX_NS	(10 * NSEC_PER_MSEC)	/* default; far below any RTO */
#define SFC_QUEUE_NEVER		U32_MAX			/* as a threshold: no queue exceeds it */

/*
 * Packets, not bytes, decide on slow links: one BDP of 1 Gb/s and 10 us is less than a packet,
 * and a queue of two is no congestion.
 */
#define SFC_QTG_MIN_PKTS	2

/* A port, as SFC sees it */
struct sfc_pause_cfg {
	u32	qth_in;		/* BTS when a packet that arrives meets more bytes than these */
	/* BTS when a packet that leaves has left more behind (section 2.3, egress BTS) */
	u32	qth_out;
	u32	qtg;		/* bytes the queue should drain to */
	u32	max_ns;		/* longest pause */
	u32	suppress_ns;	/* a flow gets one BTS in so long; 0: as many as it has packets */
	/*
	 * the port faces servers, and has the key of the switches: others may cache what it says
	 * (line 20)
	 */
	bool	cacheable;
};

/*
 * Section 3.3: T_P = (qd - Qtg) / R, rounded down, at most @max_ns.  At least 1 where there is one:
 * 0 in a BTS ends the pause that another switch has asked for.  Multiplies, never divides.
 */
static inline u32 sfc_pause_ns(const struct sfc_rate *r, u32 queue, u32 qtg, u32 max_ns)
{
	if (queue <= qtg || !r->bytes_ps)
		return 0;
	return min_t(u64, ((u64)(queue - qtg) * r->time_mult >> r->time_shift) ?: 1, max_ns);
}

/* Bytes the link carries in @ns, at most @limit.  Configuration time only. */
static inline u32 sfc_bdp(const struct sfc_rate *r, u32 ns, u32 limit)
{
	return min_t(u64, sfc_supply(r, ns) >> SFC_TOKEN_SHIFT, limit);
}

/*
 * What is in force where the configuration, in *@qth and *@qtg, is silent (0): two BDP and one
 * (section 3.3).  A threshold that is given moves the other one.  Both stay within @limit bytes,
 * and *@qtg is the smaller one.
 */
static inline void sfc_pause_thresholds(const struct sfc_rate *r, u32 rtt_ns, u32 mtu, u32 limit,
					u32 *qth, u32 *qtg)
{
	u32 bdp = max_t(u32, sfc_bdp(r, rtt_ns, limit), SFC_QTG_MIN_PKTS * mtu);

	if (!*qth)
		*qth = min_t(u64, 2ULL * max(bdp, *qtg), limit);
	if (!*qtg)
		*qtg = bdp < *qth ? bdp : *qth / 2;
}

/*
 * Suppression (SFC, sections 3.2 and 4): which flows know already that they have to pause?
 *
 * A flow is notified again after a period since its own last BTS, or if its pause would end later
 * than in that by a period and 1/32 of that pause.  Instead of the paper's Bloom filter (appendix
 * B.2; Documentation/sch_sfc.rst has what it would cost) there is a table of flows.  In a few slots
 * from its hash on a new one replaces that notified longest ago: of an incast of more flows than
 * there are slots some hear too often, none too seldom.
 */

#define SFC_SUPPRESS_SLOTS	1024	/* the paper's worst case: 150 flows in a period */
#define SFC_SUPPRESS_PROBES	16
#define SFC_SUPPRESS_SLACK_SHIFT 5	/* of a pause, 1/32 */

/* A flow that was notified to pause */
struct sfc_notified {
	/* a keyed hash of its addresses and ports, as good in all of its bits; 0: free */
	u64	flow;
	u64	notified_ns;	/* when */
	u64	until_ns;	/* until when to pause */
};

/* What the flows of a port know; all zero is empty */
struct sfc_suppress {
	struct sfc_notified	slots[SFC_SUPPRESS_SLOTS];
};

/* The slot of @flow; else a free one, or that of the flow notified longest ago */
static inline struct sfc_notified *sfc_suppress_slot(struct sfc_suppress *s, u64 flow)
{
	struct sfc_notified *room = NULL;
	unsigned int i;

	for (i = 0; i < SFC_SUPPRESS_PROBES; i++) {
		struct sfc_notified *t = &s->slots[(flow + i) % SFC_SUPPRESS_SLOTS];

		if (t->flow == flow)
			return t;
		if (!room || t->notified_ns < room->notified_ns)
			room = t;
	}
	return room;
}

/*
 * Line 10: is a BTS with the end @until_ns redundant for @flow, which is not 0?  It is if the flow
 * was notified of nearly the same end within @period_ns.
 */
static inline bool sfc_suppress_knows(struct sfc_suppress *s, u64 flow, u64 now, u64 until_ns,
				      u32 period_ns)
{
	const struct sfc_notified *t = sfc_suppress_slot(s, flow);
	u64 slack = period_ns + ((t->until_ns - t->notified_ns) >> SFC_SUPPRESS_SLACK_SHIFT);

	return t->flow == flow && now - t->notified_ns < period_ns &&
	       until_ns <= t->until_ns + slack;
}

/* The flow was notified to pause until @until_ns. */
static inline void sfc_suppress_add(struct sfc_suppress *s, u64 flow, u64 now, u64 until_ns)
{
	*sfc_suppress_slot(s, flow) = (struct sfc_notified){ flow, now, until_ns };
}

#endif /* _SFC_PAUSE_H */
