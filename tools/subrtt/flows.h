/* SPDX-License-Identifier: GPL-2.0 */
/* What subrtt top and subrtt exporter want to know of a connection. */
#ifndef _SUBRTT_FLOWS_H
#define _SUBRTT_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

struct flow_gist {
	uint64_t cookie;
	char local[80], remote[80];
	char cc[16];
	uint64_t cwnd, window;		/* packets; the latter with 32 fractional bits */
	uint64_t srtt_ns, min_rtt_ns;
	uint64_t acked, retransmits;	/* bytes, segments, since it began */
	uint64_t pauses;
	bool paused, option;
};

/* Reads them anew; BC_ABSENT, and not a word, without tcp_bolt */
int flows_each(void (*fn)(const struct flow_gist *g, void *arg), void *arg);

#endif /* _SUBRTT_FLOWS_H */
