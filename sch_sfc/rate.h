/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a link carries in a time, in supply tokens (Bolt, section 3.3), how long a packet holds the
 * link, and the limit on control messages.
 *
 * Pure; the qdisc's lock serializes the callers.
 *
 * Fixed point.  A rate of r bytes/s becomes two pairs of multiplier and shift:
 *
 *	supply tokens = ns * supply_mult >> supply_shift	(1/1024 byte)
 *	ns            = bytes * time_mult >> time_shift
 *
 * Multipliers are truncated 32-bit numbers, as precise as the shift allows: the
 * relative error is below 2^-22 from TC_SFC_RATE_MIN to TC_SFC_RATE_MAX, below
 * 2^-27 from 10 Mbit/s to 400 Gbit/s.  On top of that a supply loses less than 1/1024 byte per
 * packet by its own truncation; serialization loses nothing, it carries its fraction on.
 */
#ifndef _SFC_RATE_H
#define _SFC_RATE_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include <uapi/linux/pkt_sch_sfc.h>

#define SFC_TOKEN_SHIFT	10	/* supply tokens count 1/1024 byte */
/* A gap this long fills any token bucket; it also keeps the products within 64 bits. */
#define SFC_IDLE_NS	(1ULL << 32)
/* Packets count as this long at most: super-packets of BIG TCP fit; a size table may say more */
#define SFC_LEN_MAX	(1U << 20)

/* A link's rate, prepared */
struct sfc_rate {
	u64	bytes_ps;	/* bytes/s, 0: unknown */
	u32	kbps;		/* the same as control messages say it, never 0 for a known rate */
	u32	supply_mult;	/* see above */
	u32	time_mult;	/* see above */
	u8	supply_shift;	/* 0..32 */
	u8	time_shift;	/* 0..34 */
};

/* @factor / @divisor, with as many bits behind the point, up to @most, as there is room for */
static inline u32 sfc_rate_mult(u64 factor, u64 divisor, u8 most, u8 *shift)
{
	u64 mult = div64_u64(factor, divisor);

	for (*shift = 0; *shift < most && !(mult >> 31) && !(factor >> 63); ++*shift) {
		factor <<= 1;
		mult = div64_u64(factor, divisor);
	}
	return mult;
}

/* Configuration time only: divides.  @bytes_ps: 0, or TC_SFC_RATE_MIN..TC_SFC_RATE_MAX. */
static inline void sfc_rate_set(struct sfc_rate *r, u64 bytes_ps)
{
	*r = (struct sfc_rate){ .bytes_ps = bytes_ps };
	if (!bytes_ps)
		return;
	r->kbps = max_t(u64, div_u64(bytes_ps, 125), 1);
	r->supply_mult = sfc_rate_mult(bytes_ps << SFC_TOKEN_SHIFT, NSEC_PER_SEC, 32,
				       &r->supply_shift);
	r->time_mult = sfc_rate_mult(NSEC_PER_SEC, bytes_ps, 34, &r->time_shift);
}

/* What the link can carry in @ns (below SFC_IDLE_NS), in supply tokens. */
static inline u64 sfc_supply(const struct sfc_rate *r, u64 ns)
{
	return ns * r->supply_mult >> r->supply_shift;
}

static inline s64 sfc_bytes_to_tokens(u32 bytes)
{
	return (s64)bytes << SFC_TOKEN_SHIFT;
}

/*
 * How long a packet, of SFC_LEN_MAX bytes at most, holds the link.  @frac: fraction of a ns left
 * over from the packets before, 0 at first and after a change of rate
 */
static inline u64 sfc_serialize_ns(const struct sfc_rate *r, u32 bytes, u64 *frac)
{
	u64 t = (u64)min_t(u32, bytes, SFC_LEN_MAX) * r->time_mult + *frac;

	*frac = t & ((1ULL << r->time_shift) - 1);
	return t >> r->time_shift;
}

/* At most so many events per second */
struct sfc_limiter {
	u64	cost_ps;	/* what one event costs, in ps of time */
	u64	burst_ps;	/* most that can be saved up */
	u64	credit_ps;	/* saved up */
	u64	last_ns;	/* when */
};

#define SFC_LIMITER_BURST	32		/* events, or what a ms brings if that is more */
#define SFC_LIMITER_BURST_PS	1000000000ULL	/* a ms */
#define SFC_LIMITER_IDLE_NS	(1ULL << 36)	/* a gap this long brings any burst */

/* @per_sec: not 0.  The bucket starts full. */
static inline void sfc_limiter_set(struct sfc_limiter *l, u32 per_sec, u64 now)
{
	l->cost_ps = div_u64(1000ULL * NSEC_PER_SEC, per_sec);
	l->burst_ps = max_t(u64, l->cost_ps * SFC_LIMITER_BURST, SFC_LIMITER_BURST_PS);
	l->credit_ps = l->burst_ps;
	l->last_ns = now;
}

static inline bool sfc_limiter_take(struct sfc_limiter *l, u64 now)
{
	u64 gap = min_t(u64, now - l->last_ns, SFC_LIMITER_IDLE_NS);

	l->last_ns = now;
	l->credit_ps = min_t(u64, l->credit_ps + gap * 1000, l->burst_ps);
	if (l->credit_ps < l->cost_ps)
		return false;
	l->credit_ps -= l->cost_ps;
	return true;
}

#endif /* _SFC_RATE_H */
