/* SPDX-License-Identifier: GPL-2.0 */
/* What the pure headers use of the kernel, in user space; the rest is in the model's kernel.h. */
#ifndef _FUZZ_KERNEL_H
#define _FUZZ_KERNEL_H

#include <endian.h>
#include <stddef.h>
#include <string.h>
#include <arpa/inet.h>
#include <linux/types.h>

#include "../../tools/model/kernel.h"

typedef uint16_t u16;
typedef int16_t s16;

#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define U8_MAX			UINT8_MAX
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define __uninitialized
#define fallthrough		__attribute__((__fallthrough__))
#define ARRAY_SIZE(x)		(sizeof(x) / sizeof((x)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL	DIV_ROUND_UP
#define max3(a, b, c)		max(max(a, b), c)
#define BIT_ULL(n)		(1ULL << (n))
#define clamp(v, lo, hi)	clamp_t(typeof((v) + (lo) + (hi)), v, lo, hi)
#define __ffs			__builtin_ctz
#define fls(x)			((x) ? 32 - __builtin_clz(x) : 0)
#define ilog2(x)		(fls(x) - 1)

/* What hold.h puts into a table and does not look into */
struct list_head { void *next, *prev; };
struct qdisc_skb_head { void *head, *tail; u32 qlen; };

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = p;

	return b[0] << 8 | b[1];
}

static inline u32 get_unaligned_be32(const void *p)
{
	return (u32)get_unaligned_be16(p) << 16 | get_unaligned_be16((const u8 *)p + 2);
}

static inline u64 get_unaligned_le64(const void *p)
{
	u64 x;

	memcpy(&x, p, sizeof(x));
	return le64toh(x);
}

static inline u64 get_unaligned_be64(const void *p)
{
	return (u64)get_unaligned_be32(p) << 32 | get_unaligned_be32((const u8 *)p + 4);
}

static inline void put_unaligned_be16(u16 x, void *p)
{
	u8 *b = p;

	b[0] = x >> 8;
	b[1] = x;
}

static inline void put_unaligned_be32(u32 x, void *p)
{
	put_unaligned_be16(x >> 16, p);
	put_unaligned_be16(x, (u8 *)p + 2);
}

static inline void put_unaligned_be64(u64 x, void *p)
{
	put_unaligned_be32(x >> 32, p);
	put_unaligned_be32(x, (u8 *)p + 4);
}

/* No secret is kept here: any function of all bytes and the key shows who forgets one of them. */
typedef struct { u64 key[2]; } siphash_key_t;

static inline u64 siphash(const void *data, size_t len, const siphash_key_t *key)
{
	u64 hash = 0xcbf29ce484222325ULL ^ key->key[0] ^ key->key[1] << 1;
	const u8 *p = data;

	while (len--)
		hash = (hash ^ *p++) * 0x100000001b3ULL;
	return hash;
}

#endif /* _FUZZ_KERNEL_H */
