/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BTS suppression (SFC, sections 3.2 and 4): which flows have been told in this period?
 *
 * A Bloom filter of three hashes, emptied every period.  Two flows that collide in it would
 * collide again in the next one, and the second would never hear anything, hence the
 * version: a number that changes every period is part of what is hashed (section 4).
 *
 * Beside the filter stands a small table with the flows themselves (32 bits of hash each).  It
 * decides nothing: it counts how often the filter was wrong.  Where a flow finds no room in it,
 * the count of that period would no longer be certain, and stops; so it is never too high.  At 150
 * flows in a period, the paper's worst case, everything fits.
 *
 * A period begins with the first packet that asks after the one before has ended: no
 * timer runs while nothing is congested, and no flow gets two BTS in less than a period
 * unless it asked across its end.
 *
 * Pure.
 */
#ifndef _SFC_BLOOM_H
#define _SFC_BLOOM_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/string.h>
#include <linux/types.h>
#endif

#define SFC_BLOOM_SHIFT		13			/* 8192 bits: 1e-4 false at 150 flows */
#define SFC_BLOOM_BITS		(1U << SFC_BLOOM_SHIFT)
#define SFC_BLOOM_HASHES	3			/* appendix B.2 */
#define SFC_EXACT_SLOTS		512
#define SFC_EXACT_PROBES	16

/**
 * struct sfc_bloom - one port's filter; all zero is a good beginning
 * @end_ns:	of the period
 * @version:	of the period
 * @uncertain:	a flow of this period is not in @exact
 * @exact:	flows of the period with this version
 * @bits:	the filter
 */
struct sfc_bloom {
	u64		end_ns;
	u32		version;
	bool		uncertain;
	struct {
		u32	flow;
		u32	version;
	}		exact[SFC_EXACT_SLOTS];
	unsigned long	bits[SFC_BLOOM_BITS / BITS_PER_LONG];
};

enum sfc_bloom_verdict {
	SFC_BLOOM_NEW,		/* not told yet: tell, and sfc_bloom_add() */
	SFC_BLOOM_TOLD,
	SFC_BLOOM_FALSE,	/* the filter says so, but it is wrong */
};

/* Flow and version become 64 bits that have nothing to do with those of the next version */
static inline u64 sfc_bloom_hash(const struct sfc_bloom *b, u64 flow)
{
	u64 h = flow + b->version * 0x9e3779b97f4a7c15ULL;

	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;	/* the finalizer of splitmix64 */
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
	return h ^ (h >> 31);
}

/* The lower 39 bits place the flow in the filter; its name in the exact table folds all 64 */
static inline u32 sfc_bloom_bit(u64 h, unsigned int i)
{
	return h >> (i * SFC_BLOOM_SHIFT) & (SFC_BLOOM_BITS - 1);
}

static inline u32 sfc_bloom_name(u64 h)
{
	return (h >> 32) * 0x9e3779b1U ^ (u32)h;
}

/* Before anything else: empty what belongs to a period that is over. */
static inline void sfc_bloom_tick(struct sfc_bloom *b, u64 now, u32 period_ns)
{
	if (now < b->end_ns)
		return;
	memset(b->bits, 0, sizeof(b->bits));
	b->version++;
	b->uncertain = false;
	b->end_ns = now + period_ns;
}

static inline bool sfc_exact_has(const struct sfc_bloom *b, u64 h)
{
	u32 name = sfc_bloom_name(h), i;

	for (i = 0; i < SFC_EXACT_PROBES; i++) {
		u32 slot = (name + i) % SFC_EXACT_SLOTS;

		if (b->exact[slot].version == b->version && b->exact[slot].flow == name)
			return true;
	}
	return false;
}

static inline void sfc_exact_add(struct sfc_bloom *b, u64 h)
{
	u32 name = sfc_bloom_name(h), i;

	for (i = 0; i < SFC_EXACT_PROBES; i++) {
		u32 slot = (name + i) % SFC_EXACT_SLOTS;

		if (b->exact[slot].version == b->version)
			continue;
		b->exact[slot].version = b->version;
		b->exact[slot].flow = name;
		return;
	}
	b->uncertain = true;
}

/* Line 13.  @flow: a hash of the 5-tuple, as good in all of its 64 bits */
static inline enum sfc_bloom_verdict sfc_bloom_ask(const struct sfc_bloom *b, u64 flow)
{
	u64 h = sfc_bloom_hash(b, flow);
	unsigned int i;

	for (i = 0; i < SFC_BLOOM_HASHES; i++)
		if (!test_bit(sfc_bloom_bit(h, i), b->bits))
			return SFC_BLOOM_NEW;
	if (b->uncertain || sfc_exact_has(b, h))
		return SFC_BLOOM_TOLD;
	return SFC_BLOOM_FALSE;
}

/* The flow has been told. */
static inline void sfc_bloom_add(struct sfc_bloom *b, u64 flow)
{
	u64 h = sfc_bloom_hash(b, flow);
	unsigned int i;

	for (i = 0; i < SFC_BLOOM_HASHES; i++)
		__set_bit(sfc_bloom_bit(h, i), b->bits);
	sfc_exact_add(b, h);
}

#endif /* _SFC_BLOOM_H */
