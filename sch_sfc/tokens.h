/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rates and tokens of a port: supply matching (Bolt, Algorithm 3), proactive
 * ramp-up (section 3.2), serialization time, and the limit on SRC.
 *
 * Pure: plain structs and ns in, numbers out; no sk_buff, no clock, no locks (the
 * qdisc's lock serializes the callers).
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
#ifndef _SFC_TOKENS_H
#define _SFC_TOKENS_H

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>
#endif
#include <uapi/linux/pkt_sch_sfc.h>

#define SFC_TOKEN_SHIFT	10	/* supply tokens count 1/1024 byte */
/* A gap this long fills any token bucket; it also keeps the products within 64 bits. */
#define SFC_IDLE_NS	(1ULL << 32)
#define SFC_PRU_MAX	256	/* tokens; the authors' simulator caps there as well */
/* Packets are at most this long for sfc_serialize_ns(): super-packets of BIG TCP fit */
#define SFC_LEN_MAX	(1U << 20)

/**
 * struct sfc_rate - a link's rate, prepared
 * @bytes_ps:		bytes/s, 0: unknown
 * @kbps:		the same as control messages say it, never 0 for a known rate
 * @supply_mult:	see above
 * @time_mult:		see above
 * @supply_shift:	0..32
 * @time_shift:		0..34
 */
struct sfc_rate {
	u64	bytes_ps;
	u32	kbps;
	u32	supply_mult;
	u32	time_mult;
	u8	supply_shift;
	u8	time_shift;
};

/* Configuration time only: divides.  @bytes_ps: 0, or TC_SFC_RATE_MIN..TC_SFC_RATE_MAX. */
static inline void sfc_rate_set(struct sfc_rate *r, u64 bytes_ps)
{
	u64 factor, mult;
	u8 shift;

	*r = (struct sfc_rate){ .bytes_ps = bytes_ps };
	if (!bytes_ps)
		return;

	r->kbps = max_t(u64, div_u64(bytes_ps, 125), 1);

	/* as many bits as the multiplier and the product have room for */
	shift = 0;
	factor = bytes_ps << SFC_TOKEN_SHIFT;
	mult = div_u64(factor, NSEC_PER_SEC);
	while (shift < 32 && !(mult & (1U << 31)) && !(factor & (1ULL << 63))) {
		factor <<= 1;
		shift++;
		mult = div_u64(factor, NSEC_PER_SEC);
	}
	r->supply_mult = mult;
	r->supply_shift = shift;

	/* 10^9 < 2^30: 34 more bits fit */
	shift = 0;
	factor = NSEC_PER_SEC;
	mult = div64_u64(factor, bytes_ps);
	while (shift < 34 && !(mult & (1U << 31))) {
		factor <<= 1;
		shift++;
		mult = div64_u64(factor, bytes_ps);
	}
	r->time_mult = mult;
	r->time_shift = shift;
}

/* What the link can carry in @ns (below SFC_IDLE_NS), in supply tokens. */
static inline u64 sfc_supply(const struct sfc_rate *r, u64 ns)
{
	return ns * r->supply_mult >> r->supply_shift;
}

/**
 * sfc_serialize_ns() - time a packet holds the link
 * @r:		a known rate
 * @bytes:	its length, up to SFC_LEN_MAX
 * @frac:	fraction of a ns left over from the packets before; kept by the caller,
 *		0 at first and after a change of rate
 */
static inline u64 sfc_serialize_ns(const struct sfc_rate *r, u32 bytes, u64 *frac)
{
	u64 t = (u64)bytes * r->time_mult + *frac;

	*frac = t & ((1ULL << r->time_shift) - 1);
	return t >> r->time_shift;
}

/**
 * struct sfc_sm - supply matching at a port
 * @token:	1/1024 byte; positive: the link had room, negative: a queue
 * @last_ns:	arrival of the packet before
 */
struct sfc_sm {
	s64	token;
	u64	last_ns;
};

static inline s64 sfc_bytes_to_tokens(u32 bytes)
{
	return (s64)bytes << SFC_TOKEN_SHIFT;
}

/**
 * sfc_sm_update() - Algorithm 3, on every packet that wants the link
 * @sm:		state
 * @r:		the link's rate, known
 * @now:	ns
 * @demand:	bytes of this packet
 * @cap:	bytes the token may rise to (line 7)
 * @floor:	bytes the token may fall below zero
 *
 * The paper has no floor.  Ours is what the port can queue, since a deeper deficit is
 * no queue but demand that was dropped, or a link faster than it says; without
 * it a minute of overload by traffic that heeds nothing would disable supply
 * matching for the next minute.
 */
static inline void sfc_sm_update(struct sfc_sm *sm, const struct sfc_rate *r, u64 now,
				 u32 demand, u32 cap, u32 floor)
{
	s64 top = sfc_bytes_to_tokens(cap);
	u64 gap = now - sm->last_ns;

	sm->last_ns = now;
	if (gap >= SFC_IDLE_NS) {
		sm->token = top;
		return;
	}
	sm->token += (s64)sfc_supply(r, gap) - sfc_bytes_to_tokens(demand);
	sm->token = clamp_t(s64, sm->token, -sfc_bytes_to_tokens(floor), top);
}

/* Algorithm 1, lines 16-17: pay @bytes for the packet that INC will bring, if there is room. */
static inline bool sfc_sm_take(struct sfc_sm *sm, u32 bytes)
{
	if (sm->token < sfc_bytes_to_tokens(bytes))
		return false;
	sm->token -= sfc_bytes_to_tokens(bytes);
	return true;
}

/* Whole bytes, rounded down, for people. */
static inline s64 sfc_sm_bytes(const struct sfc_sm *sm)
{
	return sm->token >> SFC_TOKEN_SHIFT;
}

/* Algorithm 1, line 12: @pkts packets will not come again.  Returns how many were taken in. */
static inline u32 sfc_pru_add(u32 *pru_token, u32 pkts)
{
	u32 room = SFC_PRU_MAX - *pru_token;

	pkts = min(pkts, room);
	*pru_token += pkts;
	return pkts;
}

/* Algorithm 1, lines 14-15: all or nothing. */
static inline bool sfc_pru_take(u32 *pru_token, u32 pkts)
{
	if (*pru_token < pkts)
		return false;
	*pru_token -= pkts;
	return true;
}

/**
 * struct sfc_limiter - at most so many events per second
 * @cost_ps:	what one event costs, in ps of time
 * @burst_ps:	most that can be saved up
 * @credit_ps:	saved up
 * @last_ns:	when
 */
struct sfc_limiter {
	u64	cost_ps;
	u64	burst_ps;
	u64	credit_ps;
	u64	last_ns;
};

#define SFC_LIMITER_BURST	32		/* events, or ... */
#define SFC_LIMITER_BURST_PS	1000000000ULL	/* ... what a ms brings, whichever is more */
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
	u64 gap = now - l->last_ns;

	l->last_ns = now;
	if (gap >= SFC_LIMITER_IDLE_NS)
		l->credit_ps = l->burst_ps;
	else
		l->credit_ps = min_t(u64, l->credit_ps + gap * 1000, l->burst_ps);
	if (l->credit_ps < l->cost_ps)
		return false;
	l->credit_ps -= l->cost_ps;
	return true;
}

#endif /* _SFC_TOKENS_H */
