/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The incast estimator (SFC, section 3.4): what does this switch itself send towards one
 * destination?  Senders that start together are not in any cache yet.
 *
 *	X <- X * exp(-dt / tau) + bytes			a low-pass filter, DRE
 *	remote queue ~ X - tau * R
 *	pause time = (remote queue - Qtg) / R		as of any queue (section 3.3)
 *
 * R is what drains that queue: the rate of the receiver's link, and Qtg one BDP of it.  The port
 * that estimates is an uplink, often many times as fast.  A switch sees its own
 * senders only, so it underestimates, and never more.
 *
 * Time goes in ticks of a power of two ns, between tau/64 and tau/32, so that decay is a
 * multiplication by the same factor per tick; several ticks square it, none divides.  Within a tick
 * nothing decays: a flow at R reads between tau * R and a tick's worth more; the latter
 * is what is subtracted.
 * Pure.
 */
#ifndef _SFC_ESTIMATOR_H
#define _SFC_ESTIMATOR_H

#include "pause.h"

#define SFC_TAU_MIN_NS	1000U
#define SFC_TAU_MAX_NS	1000000000U

/* Tau, prepared */
struct sfc_dre_cfg {
	u32		decay;	/* per tick, 1/2^32; 0: there is no estimator */
	u32		shift;	/* a tick is 2^shift ns */
	u64		steady;	/* 1/1024 byte, of a destination that gets R */
	struct sfc_rate	rate;
	u32		qtg;	/* bytes of queue that are no reason to pause */
};

/* One destination */
struct sfc_dre {
	u64	x;		/* 1/1024 byte */
	/*
	 * beginning of the last packet's tick; not its number, which is another time as soon as
	 * tau is another, or that of the port that adds
	 */
	u64	since_ns;
};

/* Configuration time only.  @r: of the receivers.  @tau_ns: 0, or SFC_TAU_MIN_NS..SFC_TAU_MAX_NS */
static inline void sfc_dre_set(struct sfc_dre_cfg *cfg, const struct sfc_rate *r, u32 tau_ns,
			       u32 qtg)
{
	u64 y, y2;

	*cfg = (struct sfc_dre_cfg){ .rate = *r, .qtg = qtg };
	if (!tau_ns || !r->bytes_ps)
		return;
	while (2ULL << cfg->shift <= tau_ns / 32)
		cfg->shift++;
	/* exp(-y) = 1 - y + y^2/2 - y^3/6 + ..., y at most 1/31: the rest is below 2^-22 */
	y = div_u64((u64)1 << (cfg->shift + 32), tau_ns);
	y2 = y * y >> 32;
	cfg->decay = (1ULL << 32) - y + (y2 >> 1) - div_u64(y2 * y >> 32, 6);
	/* a geometric series: what one tick brings, over what one tick loses */
	cfg->steady = div64_u64(sfc_supply(r, 1ULL << cfg->shift) << 16,
				((1ULL << 32) - cfg->decay) >> 16);
}

static inline u64 sfc_dre_decayed(const struct sfc_dre_cfg *cfg, u64 x, u64 ticks)
{
	u32 factor = cfg->decay;

	if (ticks >= 2048)	/* 32 tau: nothing is left */
		return 0;
	for (; ticks && x; ticks >>= 1) {
		if (ticks & 1)
			x = mul_u64_u32_shr(x, factor, 32);
		factor = (u64)factor * factor >> 32;
	}
	return x;
}

/* A packet of @bytes leaves for the destination.  A clock that goes back counts as unchanged. */
static inline void sfc_dre_add(const struct sfc_dre_cfg *cfg, struct sfc_dre *d, u32 bytes, u64 now)
{
	u64 ticks;

	if (now > d->since_ns) {
		ticks = (now - d->since_ns) >> cfg->shift;
		d->x = sfc_dre_decayed(cfg, d->x, ticks);
		d->since_ns += ticks << cfg->shift;
	}
	d->x += (u64)bytes << SFC_TOKEN_SHIFT;
}

/* The estimate of the remote queue, bytes */
static inline u32 sfc_dre_queue(const struct sfc_dre_cfg *cfg, const struct sfc_dre *d)
{
	if (d->x <= cfg->steady)
		return 0;
	return min_t(u64, (d->x - cfg->steady) >> SFC_TOKEN_SHIFT, U32_MAX);
}

/* local_estimate: the pause for the estimated queue */
static inline u32 sfc_dre_pause_ns(const struct sfc_dre_cfg *cfg, const struct sfc_dre *d,
				   u32 max_ns)
{
	return sfc_pause_ns(&cfg->rate, sfc_dre_queue(cfg, d), cfg->qtg, max_ns);
}

/* Was the destination silent for so long that its entry may be reused? */
static inline bool sfc_dre_idle(const struct sfc_dre_cfg *cfg, const struct sfc_dre *d, u64 now)
{
	return now >= d->since_ns + (256ULL << cfg->shift);	/* 4 tau at least */
}

#endif /* _SFC_ESTIMATOR_H */
