/* SPDX-License-Identifier: GPL-2.0 */
/* What tcp_bolt/core.h and sch_sfc/decide.h use of the kernel, in user space */
#ifndef _MODEL_KERNEL_H
#define _MODEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define NSEC_PER_SEC		1000000000L
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define min_t(t, a, b)		({ t _x = (a), _y = (b); _x < _y ? _x : _y; })
#define max_t(t, a, b)		({ t _x = (a), _y = (b); _x > _y ? _x : _y; })
#define clamp_t(t, v, lo, hi)	({ t _v = (v), _lo = (lo); _v < _lo ? _lo : min_t(t, _v, hi); })
#define min(a, b)		min_t(typeof((a) + (b)), a, b)
#define max(a, b)		max_t(typeof((a) + (b)), a, b)
#define min3(a, b, c)		({ typeof(a) _z = min(b, c); min(a, _z); })
#define div_u64(a, b)		((u64)(a) / (u32)(b))
#define div64_u64(a, b)		((u64)(a) / (u64)(b))
#define check_mul_overflow	__builtin_mul_overflow
#ifndef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#endif

static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int shift)
{
	__extension__ typedef __int128 s128;

	return (s128)a * b >> shift;
}

static inline u32 int_sqrt64(u64 x)
{
	u64 root = 0, bit;

	for (bit = 1ULL << 62; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root += bit << 1;
		}
		root >>= 1;
	}
	return root;
}

#endif /* _MODEL_KERNEL_H */
