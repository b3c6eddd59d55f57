/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Data bands: which is served next, by weight (deficit round robin) or by level; their supply
 *
 *	              high: ACKs and control, first within SFC_HIGH_BURST
 *	link <-- { band 1  |----| w_1 }
 *	         { band 2  |----| w_2 }  data, by deficit; levels: the first that has a packet
 *	         { ...                }
 *
 * By weight a band is served while its deficit is positive, and charged afterwards; then the next
 * one gains its quantum.  The heaviest band's quantum is one MTU, not the lightest band's: with
 * quanta of several MTU a band would need several packets in its queue to use its turn, and Bolt
 * keeps queues at two or three packets.  A lighter band may have to wait for several turns.  A band
 * that becomes empty loses its credit, but keeps its debt of less than a packet.
 *
 * Pure.
 */
#ifndef _SFC_QOS_H
#define _SFC_QOS_H

#include "decide.h"

/* Bands of data are 0 to n - 1.  Of the high band only what waits counts, and how much may. */
#define SFC_BAND_HIGH	TC_SFC_BANDS_MAX
#define SFC_BANDS	(SFC_BAND_HIGH + 1)

/* A smaller MTU does not make smaller quanta: packets of BIG TCP would take a thousand rounds. */
#define SFC_QUANTUM_MIN	1514
/* The largest; with what rounding adds, less than TC_SFC_WEIGHT_MAX, an s32 holds many of them */
#define SFC_QUANTUM_MAX	(SFC_MTU_MAX + TC_SFC_OVERHEAD_MAX)

/* With levels, one in so many packets is the oldest of all */
#define SFC_LEVELS_TURN	8

struct sfc_qos_band {
	/* of Algorithm 1: supply and PRU tokens (section B: P x n registers) */
	struct sfc_alg_state	state;
	u64			strict_seen;	/* sfc_qos_above() at its last packet */
	u64			took;		/* levels: bytes that it ever took in */
	u32			bytes;		/* waiting */
	u32			peak;		/* most of them */
	u32			limit;		/* bytes that may wait */
	u32			memory;		/* that they take */
	u32			memory_limit;
	s32			deficit;	/* bytes; above zero: may send */
	s32			quantum;	/* bytes per round */
	u8			weight;		/* 1..TC_SFC_WEIGHT_MAX */
};

/* The bands of a port */
struct sfc_qos {
	u8			n;		/* how many */
	u8			cur;		/* whose turn it is */
	u8			busy;		/* those of data with a queue, bit 0 is the first */
	bool			ordered;	/* levels */
	u8			turn;		/* levels: packets while several had some */
	u32			arrivals;	/* packets that joined several bands */
	u64			strict;		/* bytes that the high band ever took in */
	struct sfc_qos_band	band[SFC_BANDS];
};

/*
 * Bands and their weights; what is queued and owed is left alone.  @limit: bytes that may wait in
 * all of them, @memory: what these may take.  A full band, whatever its weight, is as many seconds
 * deep as another.  Levels share both, and the last is refused first, when half of it is full.
 * Configuration time only: divides.
 */
static inline void sfc_qos_set(struct sfc_qos *q, u8 n, const u8 *weights, u32 mtu, u32 limit,
			       u32 memory)
{
	u32 unit, most = 0, sum = 0;
	u8 i;

	q->n = n;
	for (i = 0; i < n; i++) {
		sum += weights[i];
		most = max_t(u32, most, weights[i]);
	}
	unit = DIV_ROUND_UP(clamp_t(u32, mtu, SFC_QUANTUM_MIN, SFC_QUANTUM_MAX), most);
	for (i = 0; i < n; i++) {
		struct sfc_qos_band *b = &q->band[i];

		b->weight = weights[i];
		b->quantum = unit * weights[i];
		b->limit = q->ordered ? limit - div_u64((u64)limit * i, 2 * n) :
					div_u64((u64)limit * weights[i], sum);
		b->memory_limit = q->ordered ? memory - div_u64((u64)memory * i, 2 * n) :
					       div_u64((u64)memory * weights[i], sum);
	}
}

/* Tokens, peaks, and what bands owe each other, are forgotten. */
static inline void sfc_qos_reset(struct sfc_qos *q)
{
	unsigned int i;

	q->cur = 0;
	q->strict = 0;
	for (i = 0; i < TC_SFC_BANDS_MAX; i++) {
		q->band[i].state = (struct sfc_alg_state){ };
		q->band[i].strict_seen = 0;
		q->band[i].took = 0;
		q->band[i].deficit = 0;
		q->band[i].peak = q->band[i].bytes;
	}
}

/* A packet of @len bytes joins band @i. */
static inline void sfc_qos_join(struct sfc_qos *q, unsigned int i, u32 len)
{
	struct sfc_qos_band *b = &q->band[i];

	b->bytes += len;
	/* of one band nobody asks, the port has its own */
	if (q->n > 1) {
		b->peak = max(b->peak, b->bytes);
		q->arrivals++;
	}
	if (i != SFC_BAND_HIGH)
		q->busy |= 1U << i;
}

/* A packet of @len bytes leaves band @i, sent or dropped; @empty: it was the last there. */
static inline void sfc_qos_leave(struct sfc_qos *q, unsigned int i, u32 len, bool empty)
{
	struct sfc_qos_band *b = &q->band[i];

	b->bytes -= len;
	if (!empty || i == SFC_BAND_HIGH)
		return;
	q->busy &= ~(1U << i);
	if (b->deficit > 0)
		b->deficit = 0;
}

/*
 * If every band that has packets is several quanta in debt (light bands only, or super-packets),
 * grant them at once the rounds after which the first may send.
 */
static inline void sfc_qos_skip(struct sfc_qos *q)
{
	u32 set, i, rounds = U32_MAX;

	for (set = q->busy; set; set &= set - 1) {
		i = __ffs(set);
		if (q->band[i].deficit > 0)
			return;
		rounds = min_t(u32, rounds, -q->band[i].deficit / q->band[i].quantum);
	}
	for (set = q->busy; set; set &= set - 1) {
		i = __ffs(set);
		q->band[i].deficit += rounds * q->band[i].quantum;
	}
}

/* The band to serve; @q->busy is not empty.  The caller pays by sfc_qos_pay(). */
static inline unsigned int sfc_qos_next(struct sfc_qos *q)
{
	unsigned int turns = 0;
	u32 above;

	while (!(q->busy & 1U << q->cur) || q->band[q->cur].deficit <= 0) {
		if (turns++ == q->n)
			sfc_qos_skip(q);
		above = q->busy & ~((2U << q->cur) - 1);
		q->cur = __ffs(above ?: q->busy);
		q->band[q->cur].deficit += q->band[q->cur].quantum;
	}
	return q->cur;
}

static inline void sfc_qos_pay(struct sfc_qos *q, unsigned int i, u32 len)
{
	q->band[i].deficit -= min_t(u32, len, SFC_LEN_MAX);
}

/* Levels: is it the turn of the oldest packet, of those that wait in several bands? */
static inline bool sfc_qos_is_turn(struct sfc_qos *q)
{
	return q->busy & (q->busy - 1) && !(q->turn++ % SFC_LEVELS_TURN);
}

/* Bytes ever taken in that are served before band @i, whatever its weight */
static inline u64 sfc_qos_above(const struct sfc_qos *q, unsigned int i)
{
	u64 bytes = q->strict;

	while (q->ordered && i--)
		bytes += q->band[i].took;
	return bytes;
}

/* The bytes that wait in bands up to @i */
static inline u64 sfc_qos_until(const struct sfc_qos *q, unsigned int i)
{
	u64 bytes = q->band[i].bytes;

	while (i--)
		bytes += q->band[i].bytes;
	return bytes;
}

/* What counts against the limit of band @i */
static inline u64 sfc_qos_fill(const struct sfc_qos *q, unsigned int i)
{
	return q->ordered && i != SFC_BAND_HIGH ? sfc_qos_until(q, q->n - 1) : q->band[i].bytes;
}

/* What of the high band goes before @bytes of data: @left, and then as much as those */
static inline u32 sfc_qos_before(const struct sfc_qos *q, u64 bytes, u32 left)
{
	return min_t(u64, q->band[SFC_BAND_HIGH].bytes, left + bytes);
}

/* The queue of Algorithm 1: "the queue assigned by the QoS mechanism", and what goes before it */
static inline u32 sfc_qos_queue(const struct sfc_qos *q, unsigned int i, u32 left)
{
	return q->band[i].bytes + sfc_qos_before(q, q->band[i].bytes, left);
}

static inline u32 sfc_qos_weights(const struct sfc_qos *q, u32 set)
{
	u32 sum = 0;

	for (; set; set &= set - 1)
		sum += q->band[__ffs(set)].weight;
	return sum;
}

/*
 * The queue of band @i as the whole link would have to have it to take as long: SFC compares
 * that with Qth and Qtg, and it makes the pause what this band takes to drain.
 */
static inline u32 sfc_qos_drain(const struct sfc_qos *q, unsigned int i, u32 left)
{
	u32 set = q->busy | 1U << i;
	u64 bytes = q->band[i].bytes;

	if (q->ordered)
		bytes = sfc_qos_until(q, i);
	else if (set != 1U << i)
		bytes = div_u64(bytes * sfc_qos_weights(q, set), q->band[i].weight);
	return min_t(u64, bytes + sfc_qos_before(q, bytes, left), U32_MAX - 1);
}

/*
 * --- Algorithm 4 (Bolt, appendix B): the supply of each band ---
 *
 * Of the link's supply since its own last packet a band is credited
 *
 *	w_i / w_effective,	w_effective = sum of w_j over j = i and all j with a queue
 *
 * What the high band has carried since is taken from all bands in that proportion, since it is not
 * theirs to serve.
 */

/* Lines 4-8: of @whole, what is w_i / w_effective; rounded down */
static inline u64 sfc_qos_part(const struct sfc_qos *q, unsigned int i, u64 whole)
{
	u32 set = q->busy | 1U << i;

	if (set == 1U << i || q->ordered)
		return whole;
	return div_u64(whole * q->band[i].weight, sfc_qos_weights(q, set));
}

/*
 * Algorithm 4, for every packet of data, which is of band @i.  The rate is known.  The cap is
 * sfc_supply_cap()'s, the band's share of what is more than a packet; the floor the most it can
 * queue.
 */
static inline void sfc_qos_supply(struct sfc_qos *q, unsigned int i,
				  const struct sfc_alg_cfg *cfg, const struct sfc_alg_in *in)
{
	struct sfc_qos_band *b = &q->band[i];
	u32 cap = in->segs * cfg->mtu;
	u64 gap = in->now - b->state.sm.last_ns;
	u64 above = sfc_qos_above(q, i), strict = above - b->strict_seen;
	s64 change = sfc_qos_part(q, i, sfc_supply(&cfg->rate, gap));	/* line 8 */

	if (gap < SFC_SM_IDLE_NS)
		cap = max_t(u32, cap, sfc_qos_part(q, i, cfg->smcap));
	change -= sfc_bytes_to_tokens(in->size);			/* line 9 */
	change -= sfc_qos_part(q, i, min_t(u64, strict, U32_MAX) << SFC_TOKEN_SHIFT);
	b->strict_seen = above;
	sfc_sm_change(&b->state.sm, in->now, change, cap,
		      min(b->limit, cfg->floor));			/* lines 3, 10, 11 */
}

#endif /* _SFC_QOS_H */
