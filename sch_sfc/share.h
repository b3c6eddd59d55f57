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
 * Pure, as tokens.h.
 */
#ifndef _SFC_SHARE_H
#define _SFC_SHARE_H

#include "decide.h"

/*
 * Packets that are closer than this settle at less than SFC_SM_IDLE_NS: their gaps count as those
 * of one queue would, not as an idle link.
 */
#define SFC_SHARE_OLD_NS	(SFC_SM_IDLE_NS / 2)
#define SFC_SHARE_QUEUES	16	/* of more the batches get no smaller: see below */

/**
 * struct sfc_share - a queue's part
 * @batch:	bytes
 * @demand:	bytes that arrived since @settled_ns
 * @settled_ns:	when
 */
struct sfc_share {
	u32	batch;
	u32	demand;
	u64	settled_ns;
};

/*
 * What all queues may have in hand together is what one may save up, by default 8 us of the link.
 * With more than 16 it is more, lest they take the lock for each packet: every 0.5 us at most.
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

/**
 * sfc_share_settle() - give back, update, take
 * @s:		the queue
 * @own:	its tokens
 * @port:	the port's; locked
 * @cfg:	its rate is known
 * @in:		the packet that arrives, its size in @s->demand already
 *
 * Another CPU may have settled with a later clock: time does not go back.
 */
static inline void sfc_share_settle(struct sfc_share *s, struct sfc_sm *own,
				    struct sfc_alg_state *port, const struct sfc_alg_cfg *cfg,
				    const struct sfc_alg_in *in)
{
	s64 most = sfc_bytes_to_tokens(s->batch + in->segs * cfg->mtu);
	struct sfc_alg_in at = *in;

	at.now = max(in->now, port->sm.last_ns);
	port->sm.token += own->token;
	sfc_sm_update(&port->sm, &cfg->rate, at.now, s->demand, sfc_supply_cap(cfg, port, &at),
		      cfg->floor);
	own->token = clamp_t(s64, port->sm.token, 0, most);
	port->sm.token -= own->token;
	s->demand = 0;
	s->settled_ns = in->now;
}

/* Has a queue of @backlog bytes, which the others take for @told, to say so? */
static inline bool sfc_share_news(u32 backlog, u32 told, u32 grain)
{
	u32 off = backlog > told ? backlog - told : told - backlog;

	return off >= max(grain, told >> 3) || (!backlog && told);
}

#endif /* _SFC_SHARE_H */
