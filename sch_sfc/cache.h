/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pause cache (SFC, section 3.4): until when does the network want nothing more for a
 * destination?
 *
 * Keyed (destination, DSCP) as in section 4, and by VRF: two tenants may have the same addresses.
 * The whole key is compared, so a collision of hashes costs room and nothing else.  A bucket has a
 * few ways; an entry whose time is over is free.  Where all are taken the newcomer is not cached:
 * its senders get BTS from the congested switch, as without a cache.
 *
 * Pure; the buckets are locked by cache.c.
 */
#ifndef _SFC_CACHE_H
#define _SFC_CACHE_H

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#define SFC_CACHE_WAYS		4
#define SFC_CACHE_BUCKETS	256	/* 1024 entries; the paper saw 15 in use */

/* What is paused */
struct sfc_key {
	__be32	addr[4];	/* destination; IPv4: the first word, the others zero */
	u8	family;		/* 4 or 6 */
	u8	dscp;		/* 0..63 */
	u16	zero;		/* so that keys compare as bytes */
	u32	vrf;		/* ifindex of the VRF that the address is of, 0: none */
};

/* One destination */
struct sfc_entry {
	u64		end_ns;	/* of its pause; from then on the entry is free */
	struct sfc_key	key;
};

static inline bool sfc_key_equal(const struct sfc_key *a, const struct sfc_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Line 8: how long the pause of @key still lasts, ns; 0: there is none */
static inline u32 sfc_ways_find(const struct sfc_entry *ways, const struct sfc_key *key, u64 now)
{
	unsigned int i;

	for (i = 0; i < SFC_CACHE_WAYS; i++)
		if (ways[i].end_ns > now && sfc_key_equal(&ways[i].key, key))
			return min_t(u64, ways[i].end_ns - now, U32_MAX);
	return 0;
}

/* Line 5: the later of the end that is known and @end_ns.  False: there is no room. */
static inline bool sfc_ways_put(struct sfc_entry *ways, const struct sfc_key *key, u64 end_ns,
				u64 now)
{
	struct sfc_entry *room = NULL;
	unsigned int i;

	for (i = 0; i < SFC_CACHE_WAYS; i++) {
		if (ways[i].end_ns <= now) {
			room = room ?: &ways[i];
		} else if (sfc_key_equal(&ways[i].key, key)) {
			ways[i].end_ns = max(ways[i].end_ns, end_ns);
			return true;
		}
	}
	if (!room)
		return false;
	room->key = *key;
	room->end_ns = end_ns;
	return true;
}

/*
 * Age of a message from another switch.  The two clocks have an arbitrary offset, a small drift,
 * and stand still while a virtual machine is stopped.
 *
 *	offset = sent (by its clock) - received (by ours)
 *
 * differs by how long a message was on its way.  The largest is that of the quickest message, and a
 * message whose offset is less by a second is a second old: one that is sent again has no more
 * effect than the first time.
 *
 * The largest offset falls by a sixteenth of the time: a clock that runs slower than ours, or has
 * stopped for a second, is believed again within 16 seconds.  The first message of an unknown clock
 * counts as new.  A clock is not forgotten for another one within a minute, or recorded messages of
 * a few switches, sent in turns, would each count as the first: Documentation/trust.rst.
 */

#define SFC_CLOCK_WAYS		4
#define SFC_CLOCK_KEEP_NS	(60LL * NSEC_PER_SEC)
#define SFC_CLOCK_SLACK_SHIFT	4

/* Of a switch */
struct sfc_clock {
	u32	name;		/* a random number of 32 bits */
	u64	offset_ns;	/* the largest, at @heard_ns */
	u64	heard_ns;	/* 0: free */
};

/* The entry of @name; if there is none, replaces the one that was silent longest; NULL: none was */
static inline struct sfc_clock *sfc_clock_find_or_replace(struct sfc_clock *ways, u32 name, u64 now)
{
	struct sfc_clock *room = ways, *c;

	for (c = ways; c < ways + SFC_CLOCK_WAYS; c++) {
		if (c->heard_ns && c->name == name)
			return c;
		if (c->heard_ns < room->heard_ns)
			room = c;
	}
	if (room->heard_ns && (s64)(now - room->heard_ns) < SFC_CLOCK_KEEP_NS)
		return NULL;
	*room = (struct sfc_clock){ .name = name };
	return room;
}

/*
 * How long ago, ns, was a message sent?  @sent_ns: by the clock @name; @now: by ours, not 0.
 * U64_MAX: there is no room to know the clock.
 */
static inline u64 sfc_clock_age(struct sfc_clock *ways, u32 name, u64 sent_ns, u64 now)
{
	struct sfc_clock *c = sfc_clock_find_or_replace(ways, name, now);
	u64 offset = sent_ns - now, least;
	s64 silent_ns;

	if (!c)
		return U64_MAX;
	/* another CPU may have updated it a moment after @now */
	silent_ns = now - c->heard_ns;
	least = c->offset_ns - (silent_ns >> SFC_CLOCK_SLACK_SHIFT);
	/* either may be below zero; their difference says which is larger */
	if (c->heard_ns && (s64)(offset - least) < 0)
		return least - offset;
	c->offset_ns = offset;
	c->heard_ns = now;
	return 0;
}

#endif /* _SFC_CACHE_H */
