/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BTS suppression (SFC, sections 3.2 and 4): which flows have been told in this period?
 *
 * A Bloom filter of three hashes, emptied every period.  Two flows that collide in it would
 * collide again in the next one, and the second would never hear anything, hence the
 * version: a number that changes every period is part of what is hashed (section 4).
 *
 * Beside the filter stands a small table with the flows themselves (32 bits of hash each), when
 * they were told, and the end of their pause.  It counts how often the filter was wrong, and it
 * finds flows that know too little, which are told again (sfc_exact_late()): after a period of
 * their own, or when the pause would end later than they know by a period and 1/32 of it.  Without
 * that the queue pays for what suppression saves.  The last packets before a pause know most,
 * and a queue that 128 senders fill grows by megabytes in half an RTT.  And all flows that are
 * told when the filter is emptied hear of the same end, come back as one, and stay together.
 *
 * So that a flow's own period can be over first, the filter remembers the period before
 * this one as well.
 *
 * A flow that finds no room in the table is as in the paper: told once, until the filter forgets
 * it.  The count of that period would no longer be certain, and stops; so it is never too high.
 * At 150 flows in a period, the paper's worst case, everything fits.
 *
 * A period begins with the first packet that asks after the one before has ended: no
 * timer runs while nothing is congested.
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
#define SFC_BLOOM_PERIODS	2			/* this one, and the one before */
#define SFC_EXACT_SLOTS		512
#define SFC_EXACT_PROBES	16
#define SFC_EXACT_SLACK_SHIFT	5			/* of a pause, 1/32 */

/**
 * struct sfc_bloom_period - the flows told in one period
 * @uncertain:	one of them is not in the exact table
 * @bits:	the filter
 */
struct sfc_bloom_period {
	bool		uncertain;
	unsigned long	bits[SFC_BLOOM_BITS / BITS_PER_LONG];
};

/**
 * struct sfc_bloom - one port's filter; all zero is a good beginning
 * @end_ns:	of this period
 * @version:	of this period; the one before has one less
 * @exact:	flows, with the version of the period, when they were told, and until when to pause
 * @period:	by version
 */
struct sfc_bloom {
	u64		end_ns;
	u32		version;
	struct sfc_exact {
		u32	flow;
		u32	version;
		u64	told_ns;
		u64	until_ns;
	}		exact[SFC_EXACT_SLOTS];
	struct sfc_bloom_period period[SFC_BLOOM_PERIODS];
};

enum sfc_bloom_verdict {
	SFC_BLOOM_NEW,		/* not told yet: tell, and sfc_bloom_add() */
	SFC_BLOOM_LATE,		/* told, but of too short a pause: likewise */
	SFC_BLOOM_TOLD,
	SFC_BLOOM_FALSE,	/* the filter says so, but it is wrong */
};

/* Flow and version become 64 bits that have nothing to do with those of the next version */
static inline u64 sfc_bloom_hash(u64 flow, u32 version)
{
	u64 h = flow + version * 0x9e3779b97f4a7c15ULL;

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

static inline struct sfc_bloom_period *sfc_bloom_period(struct sfc_bloom *b, u32 version)
{
	return &b->period[version % SFC_BLOOM_PERIODS];
}

/* Another period, in the place of the oldest */
static inline void sfc_bloom_next(struct sfc_bloom *b)
{
	memset(sfc_bloom_period(b, ++b->version), 0, sizeof(b->period[0]));
}

/* Nobody has been told anything. */
static inline void sfc_bloom_forget(struct sfc_bloom *b)
{
	unsigned int i;

	for (i = 0; i < SFC_BLOOM_PERIODS; i++)
		sfc_bloom_next(b);
	b->end_ns = 0;
}

/* Before anything else: forget what belongs to a period that is over. */
static inline void sfc_bloom_tick(struct sfc_bloom *b, u64 now, u32 period_ns)
{
	if (now < b->end_ns)
		return;
	if (!b->end_ns || now - b->end_ns >= period_ns)
		sfc_bloom_forget(b);
	else
		sfc_bloom_next(b);
	b->end_ns = now + period_ns;
}

/* The entry of a flow, by its hash of that version, or NULL */
static inline struct sfc_exact *sfc_exact_find(struct sfc_bloom *b, u64 h, u32 version)
{
	u32 name = sfc_bloom_name(h), i;

	for (i = 0; i < SFC_EXACT_PROBES; i++) {
		struct sfc_exact *e = &b->exact[(name + i) % SFC_EXACT_SLOTS];

		if (e->version == version && e->flow == name)
			return e;
	}
	return NULL;
}

/* The flow's entry of this period, or a free one, which becomes its; NULL: no room */
static inline struct sfc_exact *sfc_exact_get(struct sfc_bloom *b, u64 h)
{
	struct sfc_exact *e = sfc_exact_find(b, h, b->version);
	u32 name = sfc_bloom_name(h), i;

	for (i = 0; !e && i < SFC_EXACT_PROBES; i++) {
		e = &b->exact[(name + i) % SFC_EXACT_SLOTS];
		if (b->version - e->version < SFC_BLOOM_PERIODS) {
			e = NULL;
			continue;
		}
		e->version = b->version;
		e->flow = name;
	}
	return e;
}

/* Does the flow know too little of a pause until @until_ns? */
static inline bool sfc_exact_late(const struct sfc_exact *e, u64 now, u64 until_ns, u32 period_ns)
{
	u64 slack = period_ns + ((e->until_ns - e->told_ns) >> SFC_EXACT_SLACK_SHIFT);

	return now - e->told_ns >= period_ns || until_ns > e->until_ns + slack;
}

static inline enum sfc_bloom_verdict
sfc_bloom_ask_period(struct sfc_bloom *b, u64 flow, u32 version, u64 now, u64 until_ns,
		     u32 period_ns)
{
	const struct sfc_bloom_period *p = sfc_bloom_period(b, version);
	u64 h = sfc_bloom_hash(flow, version);
	const struct sfc_exact *e;
	unsigned int i;

	for (i = 0; i < SFC_BLOOM_HASHES; i++)
		if (!test_bit(sfc_bloom_bit(h, i), p->bits))
			return SFC_BLOOM_NEW;
	e = sfc_exact_find(b, h, version);
	if (!e)
		return p->uncertain ? SFC_BLOOM_TOLD : SFC_BLOOM_FALSE;
	return sfc_exact_late(e, now, until_ns, period_ns) ? SFC_BLOOM_LATE : SFC_BLOOM_TOLD;
}

/**
 * sfc_bloom_ask() - line 13: may the flow go without a message?
 * @b:		after sfc_bloom_tick()
 * @flow:	a hash of the 5-tuple, as good in all of its 64 bits
 * @now:	ns
 * @until_ns:	the end of the pause that it would be told
 * @period_ns:	as in sfc_bloom_tick()
 */
static inline enum sfc_bloom_verdict sfc_bloom_ask(struct sfc_bloom *b, u64 flow, u64 now,
						   u64 until_ns, u32 period_ns)
{
	enum sfc_bloom_verdict this, last;

	this = sfc_bloom_ask_period(b, flow, b->version, now, until_ns, period_ns);
	if (this == SFC_BLOOM_TOLD || this == SFC_BLOOM_LATE)
		return this;
	last = sfc_bloom_ask_period(b, flow, b->version - 1, now, until_ns, period_ns);
	return last == SFC_BLOOM_NEW ? this : last;
}

/* The flow has been told to pause until @until_ns. */
static inline void sfc_bloom_add(struct sfc_bloom *b, u64 flow, u64 now, u64 until_ns)
{
	struct sfc_bloom_period *p = sfc_bloom_period(b, b->version);
	u64 h = sfc_bloom_hash(flow, b->version);
	struct sfc_exact *e = sfc_exact_get(b, h);
	unsigned int i;

	for (i = 0; i < SFC_BLOOM_HASHES; i++)
		__set_bit(sfc_bloom_bit(h, i), p->bits);
	if (!e) {
		p->uncertain = true;
		return;
	}
	e->told_ns = now;
	e->until_ns = until_ns;
}

#endif /* _SFC_BLOOM_H */
