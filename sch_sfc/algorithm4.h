/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Algorithm 4 (Bolt, Appendix B): the supply of each band.  Of the link's supply since its own last
 * packet a band is credited
 *
 *	w_i / w_effective,	w_effective = sum of w_j over j = i and all j with a queue
 *
 * What the high band has carried since is taken from all bands in that proportion, since it is not
 * theirs to serve.
 *
 * Pure: no sk_buff, no clock, no locks.
 */
#ifndef _SFC_ALGORITHM4_H
#define _SFC_ALGORITHM4_H

#include "qos.h"

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
	sfc_sm_change(&b->state.sm, in->now, change, cap, b->limit);	/* lines 3, 10, 11 */
}

#endif /* _SFC_ALGORITHM4_H */
