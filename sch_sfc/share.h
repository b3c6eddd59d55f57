/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One port's supply for several queues (Bolt, Algorithm 3, where the link has more than one).
 *
 * Supply and demand are the port's, in one sfc_sm that the queues share under a lock.
 * A queue notes what arrives, and settles now and then: it gives back the tokens it has left, the
 * port takes in the demand as Algorithm 3 does, and the queue gets tokens for what may
 * arrive until it settles again.
 *
 *	settle: @batch bytes have arrived, or what is in hand is old (SFC_SHARE_OLD_NS)
 *
 * So of each queue the port does not know less than @batch and a packet, and each has at most as
 * much in hand that others could use:
 *
 *	tokens given <= supply - demand + cap + queues * (batch + a packet)
 *
 * A constant, however long it goes on.
 *
 * At the end, what the device below holds.  Pure, as decide.h.
 */
#ifndef _SFC_SHARE_H
#define _SFC_SHARE_H

#include "decide.h"

/*
 * Settle at least so often while packets arrive, half of SFC_SM_IDLE_NS: otherwise Algorithm 3
 * would take the time between two settlements for an idle link.
 */
#define SFC_SHARE_OLD_NS	(SFC_SM_IDLE_NS / 2)
#define SFC_SHARE_QUEUES	16	/* more queues do not make batches smaller, see below */

/* A queue's part */
struct sfc_share {
	u32	batch;		/* bytes */
	u32	demand;		/* bytes that arrived since @settled_ns */
	u64	settled_ns;	/* when */
};

/*
 * All queues together may hold what one may save up, by default 8 us of the link.  With more than
 * 16 queues they hold more, so that each takes the lock at most every 0.5 us, not for each packet.
 */
static inline u32 sfc_share_batch(const struct sfc_alg_cfg *cfg, u32 queues)
{
	return cfg->smcap / min_t(u32, queues, SFC_SHARE_QUEUES);
}

/* A packet of @size bytes arrives.  Is it time to settle? */
static inline bool sfc_share_add(struct sfc_share *s, u32 size, u64 now)
{
	s->demand += size;
	return s->demand >= s->batch || now - s->settled_ns >= SFC_SHARE_OLD_NS;
}

/*
 * Give back, update, take.  @port is the port's, locked; the rate is known; the packet's size is in
 * @s->demand already.  Another CPU may have settled with a later clock: time does not go back.
 */
static inline void sfc_share_settle(struct sfc_share *s, struct sfc_sm *own,
				    struct sfc_sm *port, const struct sfc_alg_cfg *cfg,
				    const struct sfc_alg_in *in)
{
	s64 most = sfc_bytes_to_tokens(s->batch + in->segs * cfg->mtu);
	struct sfc_alg_in at = *in;

	at.now = max(in->now, port->last_ns);
	port->token += own->token;
	sfc_sm_update(port, &cfg->rate, at.now, s->demand, sfc_supply_cap(cfg, port, &at),
		      cfg->floor);
	own->token = clamp_t(s64, port->token, 0, most);
	port->token -= own->token;
	s->demand = 0;
	s->settled_ns = in->now;
}

/* Are @bytes so far from @published that others must see it? */
static inline bool sfc_news(u32 bytes, u32 published, u32 grain)
{
	u32 off = bytes > published ? bytes - published : published - bytes;

	return off >= grain || (!bytes && published);
}

/* Must other queues of the port see @backlog?  Not if it is off by less than an eighth. */
static inline bool sfc_share_news(u32 backlog, u32 published, u32 grain)
{
	return sfc_news(backlog, published, max(grain, published >> 3));
}

/*
 * Bytes that the device holds, from its driver's byte queue limits (dql).
 *
 * Drivers report completions late and in batches, so most of the bytes that dql counts as in flight
 * may have left.  Between two reports assume that the link sends at its rate:
 *
 *	report	held = in flight		(queued - completed)
 *	then	held = in flight - rate * time, at least 0
 *
 * A report is noticed with the next packet.  So @held is wrong by what the link sends from one
 * packet to the next, and where the rate is not the link's, or several transmit queues share it,
 * by what the link sends from one report to the next.
 */
struct sfc_ring {
	bool	on;		/* it counts */
	/* of the port's queue that are there: what it holds, but for the packet on the wire */
	u32	bytes;
	u32	completed;	/* dql's, when last looked at */
	u32	sent;	/* of what was in flight then, bytes that have left since a report */
	u64	ns;		/* when */
};

/* Update with dql's counters at @now.  Returns the bytes that the device holds. */
static inline u32 sfc_ring_held(struct sfc_ring *r, const struct sfc_rate *rate, u32 queued,
				u32 completed, u64 now)
{
	s64 gap_ns = clamp_t(s64, now - r->ns, 0, SFC_IDLE_NS - 1);
	u32 flight = queued - completed;

	/* a driver that resets sets one counter to 0 before the other */
	if ((s32)flight < 0)
		flight = 0;
	if (completed != r->completed)
		r->sent = 0;
	else
		r->sent = min_t(u64, flight, r->sent + (sfc_supply(rate, gap_ns) >>
							SFC_TOKEN_SHIFT));
	r->completed = completed;
	r->ns = now;
	return flight - r->sent;
}

#endif /* _SFC_SHARE_H */
