/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SFC at the sender, for flows that are not TCP: which destinations are paused, and has this port
 * sent what a BTS quotes?
 *
 * Keyed (destination, DSCP) as the pause cache is (SFC, section 4); when a pause ends, and the
 * watchdog, are of bolt_pause.h, as for TCP.  A slot is free again when nothing waits in it and the
 * watchdog has nothing to remember.  Where all are taken, the newcomer is not held.
 *
 * A packet without a sequence number cannot be shown to be in flight.  What can be: its flow has
 * sent something here lately.  A table of the hashes of flows says so; a flow that another one has
 * driven out of it is not held.
 *
 * Pure; locked by hold.c.
 */
#ifndef _SFC_HOLD_H
#define _SFC_HOLD_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/time64.h>
#endif

#include <bolt_pause.h>
#include "cache.h"

#define SFC_HOLD_SLOTS		64	/* as many as a u64 has bits */
#define SFC_HOLD_SHARE		95	/* default, per cent of SFC_HOLD_INTERVAL_NS */
#define SFC_HOLD_INTERVAL_NS	(200 * NSEC_PER_MSEC)
#define SFC_HOLD_RECOVERY_NS	(200 * NSEC_PER_MSEC)

/**
 * struct sfc_hold_slot - one destination
 * @key:	which
 * @clock:	its pause, and the watchdog's memory
 */
struct sfc_hold_slot {
	struct sfc_key		key;
	struct bolt_pause_clock	clock;
};

/**
 * struct sfc_hold_table - the paused destinations of a port
 * @busy:	slots in which packets wait, a bit each
 * @tags:	a hash of the key, 0: never used.  Apart, to be read in one go
 * @slots:	the rest
 */
struct sfc_hold_table {
	u64			busy;
	u32			tags[SFC_HOLD_SLOTS];
	struct sfc_hold_slot	slots[SFC_HOLD_SLOTS];
};

/* Returns the slot of a destination, or -1.  @tag is a hash of @key, not 0. */
static inline int sfc_hold_find(const struct sfc_hold_table *t, u32 tag, const struct sfc_key *key)
{
	int i;

	for (i = 0; i < SFC_HOLD_SLOTS; i++)
		if (t->tags[i] == tag && sfc_key_equal(&t->slots[i].key, key))
			return i;
	return -1;
}

static inline bool sfc_hold_vacant(const struct sfc_hold_table *t,
				   const struct bolt_pause_conf *c, int i, u64 now)
{
	return !t->tags[i] || (!(t->busy & BIT_ULL(i)) &&
			       !bolt_pause_keep(&t->slots[i].clock, c, now));
}

/* The slot of a destination, a new one if it has none; -1: all are taken */
static inline int sfc_hold_take(struct sfc_hold_table *t, const struct bolt_pause_conf *c,
				u32 tag, const struct sfc_key *key, u64 now)
{
	int i = sfc_hold_find(t, tag, key);

	if (i >= 0)
		return i;
	for (i = 0; i < SFC_HOLD_SLOTS; i++) {
		if (!sfc_hold_vacant(t, c, i, now))
			continue;
		t->tags[i] = tag;
		t->slots[i] = (struct sfc_hold_slot){ .key = *key };
		return i;
	}
	return -1;
}

/* When the first of the packets that wait may go; U64_MAX: none waits */
static inline u64 sfc_hold_next(const struct sfc_hold_table *t)
{
	u64 busy, next = U64_MAX;

	for (busy = t->busy; busy; busy &= busy - 1)
		next = min(next, t->slots[__ffs64(busy)].clock.until_ns);
	return next;
}

/* --- what this port has sent --- */

#define SFC_SENT_SETS		512
#define SFC_SENT_WAYS		4
#define SFC_SENT_SHIFT		20	/* a tick is about a ms */
#define SFC_SENT_TICKS		1024U	/* a flow silent for so long has nothing in flight */

/**
 * struct sfc_sent - flows that have sent lately
 * @flows:	upper half: of the flow's hash; lower half: tick of its last packet.  In one word,
 *		so that a reader needs no lock.  0: none
 */
struct sfc_sent {
	u64	flows[SFC_SENT_SETS][SFC_SENT_WAYS];
};

static inline u32 sfc_sent_age(u64 e, u64 now)
{
	return (u32)(now >> SFC_SENT_SHIFT) - (u32)e;
}

/* A packet of a flow; @flow is its hash.  For want of room the flow goes that is silent longest. */
static inline void sfc_sent_add(struct sfc_sent *s, u64 flow, u64 now)
{
	u64 *set = s->flows[flow % SFC_SENT_SETS];
	unsigned int i, victim = 0;

	for (i = 0; i < SFC_SENT_WAYS; i++) {
		if (!set[i] || set[i] >> 32 == flow >> 32) {
			victim = i;
			break;
		}
		if (sfc_sent_age(set[i], now) > sfc_sent_age(set[victim], now))
			victim = i;
	}
	WRITE_ONCE(set[victim], (flow & ~(u64)U32_MAX) | (u32)(now >> SFC_SENT_SHIFT));
}

static inline bool sfc_sent_has(const struct sfc_sent *s, u64 flow, u64 now)
{
	const u64 *set = s->flows[flow % SFC_SENT_SETS];
	unsigned int i;
	u64 e;

	for (i = 0; i < SFC_SENT_WAYS; i++) {
		e = READ_ONCE(set[i]);
		if (e && e >> 32 == flow >> 32)
			return sfc_sent_age(e, now) < SFC_SENT_TICKS;
	}
	return false;
}

#endif /* _SFC_HOLD_H */
