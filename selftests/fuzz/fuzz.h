/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all fuzzers need: numbers from the input, and a way to fail that says why.
 *
 * An input that is used up goes on with bytes that follow from it, so that the shortest one is a
 * whole test already, and no corpus has to be kept.
 */
#ifndef _FUZZ_H
#define _FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

#define CHECK(that) do {							\
	if (!(that)) {								\
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #that); \
		abort();							\
	}									\
} while (0)

struct input {
	const u8 *p;
	size_t left;
	u64 more;
};

static inline struct input input_begin(const u8 *data, size_t len)
{
	const siphash_key_t key = { };

	return (struct input){ data, len, siphash(data, len, &key) };
}

static inline u8 take_u8(struct input *in)
{
	if (in->left) {
		in->left--;
		return *in->p++;
	}
	in->more = in->more * 6364136223846793005ULL + 1442695040888963407ULL;
	return in->more >> 56;
}

static inline u64 take_u64(struct input *in)
{
	u64 x = 0;
	int i;

	for (i = 0; i < 8; i++)
		x = x << 8 | take_u8(in);
	return x;
}

static inline void take_bytes(struct input *in, void *to, size_t len)
{
	u8 *p = to;

	while (len--)
		*p++ = take_u8(in);
}

/* True once in @n, up to 256 */
static inline bool take_once_in(struct input *in, unsigned int n)
{
	return take_u8(in) % n == 0;
}

/* One of 0 ... @n - 1, up to 2^16, all as often */
static inline u32 take_below(struct input *in, u32 n)
{
	return (take_u8(in) << 8 | take_u8(in)) % n;
}

/* From @lo to @hi: all magnitudes as often, and either end now and then */
static inline u64 take_range(struct input *in, u64 lo, u64 hi)
{
	unsigned int bits = take_u8(in) % 66;
	u64 x;

	if (bits > 64)
		return hi;
	if (!bits)
		return lo;
	x = take_u64(in) >> (64 - bits);
	if (hi - lo != U64_MAX)
		x = x % (hi - lo + 1);
	return lo + x;
}

#endif /* _FUZZ_H */
