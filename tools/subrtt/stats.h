/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of the namespace. */
#ifndef _SUBRTT_STATS_H
#define _SUBRTT_STATS_H

#include <stdbool.h>
#include <stdint.h>

#define STATS_MAX	256

struct stats {
	unsigned int n;
	struct {
		char name[32];
		uint64_t value;
	} c[STATS_MAX];
};

int stats_read(struct stats *s);
bool stats_value(const struct stats *s, const char *name, uint64_t *v);
/* Read now, and without a complaint */
bool stats_one(const char *name, uint64_t *v);
/* No count of what happened: it may be less than before */
bool stats_may_shrink(const char *name);

#endif /* _SUBRTT_STATS_H */
