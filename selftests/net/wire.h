/* SPDX-License-Identifier: GPL-2.0 */
/* What several programs want: numbers in network order, the checksum of RFC 1071, the time. */
#ifndef _WIRE_H
#define _WIRE_H

#include <stdint.h>
#include <time.h>

static inline unsigned int be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline void put16(uint8_t *p, unsigned int v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

/* To be folded once more with what comes in @s; the complement is the caller's. */
static inline uint32_t sum(const uint8_t *p, unsigned int len, uint32_t s)
{
	for (; len > 1; p += 2, len -= 2)
		s += be16(p);
	if (len)
		s += p[0] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

#endif /* _WIRE_H */
