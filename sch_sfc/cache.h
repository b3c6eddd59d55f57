/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pause cache (SFC, section 3.4): until when does the network want nothing more for a
 * destination?
 *
 * Keyed (destination, DSCP) as in section 4; the whole key is compared, so a collision of
 * hashes costs room and nothing else.  A bucket has a few ways; an entry
 * whose time is over is free.  Where all are taken the newcomer is not cached: its
 * senders hear from the congested switch, as without a cache.
 *
 * Pure; the buckets are locked by cache.c.
 */
#ifndef _SFC_CACHE_H
#define _SFC_CACHE_H

#ifdef __KERNEL__
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#endif

#define SFC_CACHE_WAYS		4

/**
 * struct sfc_key - what is paused
 * @addr:	destination; IPv4: the first word, the others zero
 * @family:	4 or 6
 * @dscp:	0..63
 * @zero:	so that keys compare as bytes
 */
struct sfc_key {
	__be32	addr[4];
	u8	family;
	u8	dscp;
	u16	zero;
};

/**
 * struct sfc_entry - one destination
 * @end_ns:	of its pause; from then on the entry is free
 * @key:	which
 * @version:	BTS it is made of, for people
 * @hits:	data packets that met it, for people; written without the lock
 */
struct sfc_entry {
	u64		end_ns;
	struct sfc_key	key;
	u32		version;
	u32		hits;
};

enum sfc_put {
	SFC_PUT_UPDATED,
	SFC_PUT_INSERTED,
	SFC_PUT_FULL,
};

static inline bool sfc_key_equal(const struct sfc_key *a, const struct sfc_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Line 11: how long the pause in *@way still lasts, ns; 0: there is none */
static inline u32 sfc_ways_look(const struct sfc_entry *ways, const struct sfc_key *key, u64 now,
				unsigned int *way)
{
	unsigned int i;

	for (i = 0; i < SFC_CACHE_WAYS; i++) {
		if (ways[i].end_ns <= now || !sfc_key_equal(&ways[i].key, key))
			continue;
		*way = i;
		return min_t(u64, ways[i].end_ns - now, U32_MAX);
	}
	return 0;
}

static inline u32 sfc_ways_find(const struct sfc_entry *ways, const struct sfc_key *key, u64 now)
{
	unsigned int way;

	return sfc_ways_look(ways, key, now, &way);
}

/* Line 6: the later of the end that is known and @end_ns */
static inline enum sfc_put sfc_ways_put(struct sfc_entry *ways, const struct sfc_key *key,
					u64 end_ns, u64 now)
{
	struct sfc_entry *room = NULL;
	unsigned int i;

	for (i = 0; i < SFC_CACHE_WAYS; i++) {
		if (ways[i].end_ns <= now) {
			room = room ?: &ways[i];
		} else if (sfc_key_equal(&ways[i].key, key)) {
			ways[i].end_ns = max(ways[i].end_ns, end_ns);
			ways[i].version++;
			return SFC_PUT_UPDATED;
		}
	}
	if (!room)
		return SFC_PUT_FULL;
	room->key = *key;
	room->end_ns = end_ns;
	room->version = 1;
	room->hits = 0;
	return SFC_PUT_INSERTED;
}

#endif /* _SFC_CACHE_H */
