/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Swift's constants and settings, and the target delay of a window.  swift.h has the formula and
 * the units.  Pure, as swift.h.
 */
#ifndef _TCP_BOLT_SWIFT_TARGET_H
#define _TCP_BOLT_SWIFT_TARGET_H

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#endif

#define SWIFT_ONE	(1ULL << 32)		/* a packet */
#define SWIFT_CWND_MIN	4294968ULL		/* 0.001 (section 3.4) */
#define SWIFT_CWND_MAX	(SWIFT_ONE << 20)
#define SWIFT_RETX_RESET	5		/* RETX_RESET_THRESHOLD; the paper gives no value */
/* Longest gap: a single very large RTT sample must not stop a flow with a tiny window */
#define SWIFT_PACE_MAX_NS	1000000000U
#define SWIFT_HOPS_MAX	15			/* the most that the option can carry */
/*
 * As in the simulator of Bolt's authors: flow scaling applies to windows of 0.1 (fs_min_cwnd) to
 * 256 packets (fs_max_cwnd), md is 0.8 and max_mdf 0.5.
 */
#define SWIFT_FS_Y_Q26	4194304			/* 1 / sqrt(fs_max_cwnd) */
#define SWIFT_FS_DY_Q26	208022558		/* 1 / sqrt(fs_min_cwnd) less that */
#define SWIFT_MD_Q16	((80U << 16) / 100)
#define SWIFT_MAX_MDF_Q16	((50U << 16) / 100)

/* net.bolt.swift_*, which may change at any time */
struct swift_conf {
	u32	base_ns;	/* base target without the base RTT, which is swift_bounds.rtt_ns */
	u32	hop_ns;		/* per hop */
	u32	fs_range_ns;	/* most that flow scaling adds */
	u32	endpoint_ns;	/* target of the endpoints' delay */
};

/* What differs from flow to flow */
struct swift_bounds {
	u32	rtt_ns;		/* base RTT of the path, part of the target */
	u64	min_q32;	/* smallest window; SWIFT_CWND_MIN if that is larger */
	u64	max_q32;	/* largest window */
};

/*
 * 1 / sqrt(cwnd), for windows of SWIFT_CWND_MIN to SWIFT_CWND_MAX, clamped to that: the root has 21
 * fractional bits, so this is high by less than 2^-16, from 0.1 packets on than 2^-19.
 */
static inline u32 swift_rsqrt_q26(u64 cwnd_q32)
{
	return div_u64(1ULL << 47,
		       int_sqrt64(clamp(cwnd_q32, SWIFT_CWND_MIN, SWIFT_CWND_MAX) << 10));
}

/*
 * Flow scaling (section 3.5).  alpha / sqrt(cwnd) + beta is alpha * (1 / sqrt(cwnd) - 1 / sqrt(
 * fs_max_cwnd)), as beta is negative; the difference is clamped, so that nothing can overflow.
 */
static inline u32 swift_fs_ns(const struct swift_conf *c, u64 cwnd_q32)
{
	u32 y = swift_rsqrt_q26(cwnd_q32);
	u32 dy = y > SWIFT_FS_Y_Q26 ? min_t(u32, y - SWIFT_FS_Y_Q26, SWIFT_FS_DY_Q26) : 0;
	/* rounded up: the whole of fs_dy is the whole range */
	u64 scale_q32 = div_u64(((u64)READ_ONCE(c->fs_range_ns) << 32) + SWIFT_FS_DY_Q26 - 1,
				SWIFT_FS_DY_Q26);

	/* at most fs_range_ns << 32 */
	return dy * scale_q32 >> 32;
}

static inline u32 swift_target_ns(const struct swift_conf *c, const struct swift_bounds *b,
				  u64 cwnd_q32, u8 hops)
{
	u64 hops_ns = (u64)min_t(u32, hops, SWIFT_HOPS_MAX) * READ_ONCE(c->hop_ns);

	return min_t(u64, U32_MAX, (u64)b->rtt_ns + READ_ONCE(c->base_ns) + hops_ns +
		     swift_fs_ns(c, cwnd_q32));
}

#endif /* _TCP_BOLT_SWIFT_TARGET_H */
