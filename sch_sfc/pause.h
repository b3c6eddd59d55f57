/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Source Flow Control at the switch: when a sender is told to pause, and for how long
 * ("SFC: Near-Source Congestion Signaling and Flow Control", Algorithm 1).
 *
 *	queue > Qth			BTS	(line 10)
 *	pause time = (queue - Qtg) / R		(section 3.3)
 *
 *	   queue
 *	   Qth = 2 BDP ------  beyond: pause the sender of each arriving packet
 *	   Qtg = 1 BDP ------  what the queue has drained to when they come back
 *
 * With Qtg of at least one feedback delay's worth, the first packet sent after a
 * pause arrives before the queue is empty (section 3.3).
 *
 * Pure: numbers in, numbers out.
 */
#ifndef _SFC_PAUSE_H
#define _SFC_PAUSE_H

#include "tokens.h"

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

/**
 * struct sfc_pause_cfg - a port, as SFC sees it
 * @qth_in:	BTS when a packet that arrives meets more bytes than these
 * @qth_out:	BTS when a packet that leaves has left more behind (section 2.3, egress BTS)
 * @qtg:	bytes the queue should drain to
 * @max_ns:	longest pause
 * @suppress_ns: a flow gets one BTS in so long; 0: as many as it has packets
 * @edge:	the port faces servers: others may cache what it says (line 25)
 */
struct sfc_pause_cfg {
	u32	qth_in;
	u32	qth_out;
	u32	qtg;
	u32	max_ns;
	u32	suppress_ns;
	bool	edge;
};

/* Section 3.3: T_P = (qd - Qtg) / R, rounded down, at most @max_ns.  Multiplies, never divides. */
static inline u32 sfc_pause_ns(const struct sfc_rate *r, u32 queue, u32 qtg, u32 max_ns)
{
	if (queue <= qtg || !r->bytes_ps)
		return 0;
	return min_t(u64, (u64)(queue - qtg) * r->time_mult >> r->time_shift, max_ns);
}

/* Bytes the link carries in @ns, at most @limit.  Configuration time only. */
static inline u32 sfc_bdp(const struct sfc_rate *r, u32 ns, u32 limit)
{
	return min_t(u64, sfc_supply(r, ns) >> SFC_TOKEN_SHIFT, limit);
}

/**
 * sfc_pause_thresholds() - what is in force where the configuration is silent
 * @r:		known rate
 * @rtt_ns:	base RTT
 * @mtu:	bytes of the largest packet
 * @limit:	bytes that fit in the queue; the thresholds stay below
 * @qth:	in: as configured, or 0; out: in force
 * @qtg:	likewise; always below @qth
 *
 * Two BDP and one (section 3.3).  A threshold that is given moves the other one.
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

#endif /* _SFC_PAUSE_H */
