/* SPDX-License-Identifier: GPL-2.0 */
/* SipHash-2-4 (Aumasson and Bernstein), for programs that tag messages */
#ifndef _SIPHASH_H
#define _SIPHASH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void sip_half(uint64_t *a, uint64_t *b, unsigned int by)
{
	*a += *b;
	*b = (*b << by | *b >> (64 - by)) ^ *a;
}

static inline void sip_rounds(uint64_t v[4], unsigned int n)
{
	while (n--) {
		sip_half(&v[0], &v[1], 13);
		v[0] = v[0] << 32 | v[0] >> 32;
		sip_half(&v[2], &v[3], 16);
		sip_half(&v[0], &v[3], 21);
		sip_half(&v[2], &v[1], 17);
		v[2] = v[2] << 32 | v[2] >> 32;
	}
}

/* Little-endian, of fewer than eight bytes the lower ones */
static inline uint64_t sip_word(const uint8_t *p, unsigned int n)
{
	uint64_t w = 0;

	while (n--)
		w = w << 8 | p[n];
	return w;
}

/* @hex: the key, 32 digits */
static inline uint64_t siphash24(const char *hex, const uint8_t *p, unsigned int len)
{
	uint64_t v[4], m, last = (uint64_t)len << 56;
	uint8_t key[16] = { 0 };
	unsigned int i;

	for (i = 0; i < 16 && strlen(hex) == 32; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1] };

		key[i] = strtoul(digits, NULL, 16);
	}
	v[0] = sip_word(key, 8) ^ 0x736f6d6570736575;
	v[1] = sip_word(key + 8, 8) ^ 0x646f72616e646f6d;
	v[2] = sip_word(key, 8) ^ 0x6c7967656e657261;
	v[3] = sip_word(key + 8, 8) ^ 0x7465646279746573;
	for (;; p += 8, len -= 8) {
		m = len < 8 ? last | sip_word(p, len) : sip_word(p, 8);
		v[3] ^= m;
		sip_rounds(v, 2);
		v[0] ^= m;
		if (len < 8)
			break;
	}
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif /* _SIPHASH_H */
