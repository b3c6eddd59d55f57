/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Algorithm 4 (Bolt, Appendix B): the supply of each band.  Of the link's supply since its own last
 * packet a band is credited
 *
 *	w_i / w_effective,	w_effective = sum of w_j over j = i and all j with a queue
 *
 * Here the sum's reciprocal is looked up by the set of bands with a queue (the paper suggests a
 * table, for want of floating point).  What the high band has carried since is taken from all
 * bands in that proportion, since it is not theirs to serve.
 *
 * Pure: no sk_buff, no clock, no locks.
 */
#ifndef _SFC_ALGORITHM4_H
#define _SFC_ALGORITHM4_H

#include "qos.h"

/* Lines 4-7 and the fraction of line 8: w_i / w_effective in 2^-32, rounded down; 0: all of it */
static inline u32 sfc_qos_share(const struct sfc_qos *q, unsigned int i)
{
	u32 set = q->busy | 1U << i;

	if (set == 1U << i || q->ordered)
		return 0;
	return q->band[i].weight * q->recip[set];
}

/* @share as above */
static inline u64 sfc_qos_part(u64 whole, u32 share)
{
	return share ? mul_u64_u32_shr(whole, share, 32) : whole;
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
	u32 share = sfc_qos_share(q, i);
	u32 cap = in->segs * cfg->mtu;
	u64 gap = in->now - b->state.sm.last_ns;
	u64 above = sfc_qos_above(q, i), strict = above - b->strict_seen;
	s64 top;

	if (gap < SFC_SM_IDLE_NS)
		cap = max_t(u32, cap, sfc_qos_part(cfg->smcap, share));
	top = sfc_bytes_to_tokens(cap);
	b->state.sm.last_ns = in->now;					/* line 3 */
	b->strict_seen = above;
	if (gap >= SFC_IDLE_NS) {
		b->state.sm.token = top;
		return;
	}
	b->state.sm.token += sfc_qos_part(sfc_supply(&cfg->rate, gap), share);	/* lines 8, 10 */
	b->state.sm.token -= sfc_bytes_to_tokens(in->size);		/* lines 9, 10 */
	b->state.sm.token -= sfc_qos_part(min_t(u64, strict, U32_MAX) << SFC_TOKEN_SHIFT, share);
	b->state.sm.token = clamp_t(s64, b->state.sm.token,		/* line 11 */
				    -sfc_bytes_to_tokens(b->limit), top);
}

#endif /* _SFC_ALGORITHM4_H */
