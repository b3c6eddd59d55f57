/* SPDX-License-Identifier: GPL-2.0 */
/* Departures are spaced at the rate of the sender's link.  Pure, as core.h. */
#ifndef _TCP_BOLT_SPACING_H
#define _TCP_BOLT_SPACING_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/minmax.h>
#include <linux/math64.h>
#endif

/* Fractional bits of the ns per byte */
#define BOLT_NS_SHIFT	20

/* ns per byte, BOLT_NS_SHIFT fractional bits; 0: unknown rate, no spacing */
static inline u32 bolt_core_ns_per_byte(u32 kbps)
{
	if (!kbps)
		return 0;
	return min_t(u64, div_u64(8000000ULL << BOLT_NS_SHIFT, kbps), U32_MAX);
}

/*
 * Serialization time of @len bytes (up to 2^20).  @frac carries the fraction of a ns from packet to
 * packet: at 400 Gb/s a packet takes 30.3 ns, and without the fraction a flow sends 1 % too fast.
 */
static inline u32 bolt_core_tx_ns(u32 len, u32 ns_per_byte, u32 *frac)
{
	u64 t = (u64)len * ns_per_byte + *frac;

	*frac = t & ((1U << BOLT_NS_SHIFT) - 1);
	return min_t(u64, t >> BOLT_NS_SHIFT, 1U << 30);
}

/*
 * The earliest time the next packet may leave, given @next_ns, that of this one, which leaves at
 * @now_ns.  If that is late, the next one may make up for at most one packet time.  With no credit
 * at all each delay would be lost capacity; with unbounded credit an idle flow would burst.
 */
static inline u64 bolt_core_next_tx(u64 next_ns, u64 now_ns, u32 tx_ns)
{
	return max_t(u64, next_ns, now_ns - min_t(u64, now_ns, tx_ns)) + tx_ns;
}

#endif /* _TCP_BOLT_SPACING_H */
