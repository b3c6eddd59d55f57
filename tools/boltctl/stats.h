/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of the namespace, and what else stats-get of both families says. */
#ifndef _BOLTCTL_STATS_H
#define _BOLTCTL_STATS_H

#include <stdbool.h>
#include <stdint.h>

#define STATS_MAX	256

struct stats {
	bool bolt, sfc;		/* loaded */
	unsigned int port;
	bool port_open;
	uint64_t events_sent, events_lost;
	uint32_t cache_size, cache_entries;
	unsigned int n;
	struct {
		char name[32];
		uint64_t value;
	} c[STATS_MAX];
};

int stats_read(struct stats *s);
bool stats_value(const struct stats *s, const char *name, uint64_t *v);

#endif /* _BOLTCTL_STATS_H */
