/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Swift's reaction at the sender ("Swift: Delay is Simple and Effective for Congestion Control in
 * the Datacenter", SIGCOMM '20): Algorithm 1 and sections 3.2 to 3.5, in integers.
 *
 *   target = base + hops * per_hop + clamp(alpha / sqrt(cwnd) + beta, 0, fs_range)
 *            alpha = fs_range / (1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd))
 *            beta  = -alpha / sqrt(fs_max_cwnd)
 *
 *   ACK:   delay < target:   cwnd += ai * acked / cwnd         (cwnd < 1:  ai * acked)
 *          else, once a RTT: cwnd *= max(1 - md * (delay - target) / delay, 1 - max_mdf)
 *   RTO:   once a RTT:       cwnd *= 1 - max_mdf               (fifth in a row: min_cwnd)
 *   fast recovery, once a RTT: cwnd *= 1 - max_mdf
 *   cwnd < 1:  a packet every rtt / cwnd
 *
 * There are two such windows, one for the fabric's delay and one for the endpoints'.  The smaller
 * one applies.
 * (The paper calls two things beta; the multiplicative decrease constant is md here.)
 *
 * Pure.  Callers serialize.
 *
 * Units: times in ns.  Windows in packets, 32 fractional bits in 64 (_q32), from 0.001 to 2^20:
 * 0.001 is 4294968 units, and at 2^20 an ai of one packet still adds 4096 of them per ACK.
 */
#ifndef _TCP_BOLT_SWIFT_H
#define _TCP_BOLT_SWIFT_H

#include "core.h"

#define SWIFT_CWND_MIN	4294968ULL		/* 0.001 (section 3.4) */
#define SWIFT_CWND_MAX	(BOLT_ONE << 20)
#define SWIFT_RETX_RESET	5		/* RETX_RESET_THRESHOLD; the paper gives no value */
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

/* One of the two windows */
struct swift_win {
	u64	cwnd_q32;
	u64	last_dec_ns;	/* t_last_decrease */
};

/* The state of Algorithm 1 for one flow */
struct swift {
	struct swift_win	fabric;		/* fcwnd */
	struct swift_win	endpoint;	/* ecwnd */
	/* EWMA of the endpoints' delay (gain 1/8; section 3.3 gives none); it is noisy */
	u32			endpoint_ns;
	u32			rtt_ns;		/* newest RTT, not smoothed; 0: none yet */
	/* RTOs in a row; the caller resets it when an ACK delivers something (line 5) */
	u8			retransmit_cnt;
};

/* An ACK with a sample of delay */
struct swift_ack {
	u64	now_ns;		/* monotonic clock */
	u32	rtt_ns;		/* t6 - t1 of Figure 2, not 0 */
	u32	remote_ns;	/* remote queuing, as reflected */
	u32	local_ns;	/* local receive delay */
	u32	acked;		/* packets */
	u8	hops;		/* of the forward path, as reflected */
	bool	limited;	/* by the window; else it does not grow */
};

/* Line 3 */
static inline bool swift_can_decrease(const struct swift_win *w, u64 now_ns, u32 rtt_ns)
{
	return now_ns - w->last_dec_ns >= rtt_ns;
}

/*
 * Lines 26-28.  The paper prints "cwnd <= cwnd_prev" in line 27.  Then each ACK above the target
 * within an RTT of the decrease would set t_last_decrease, although it does not decrease, and as
 * long as ACKs arrive there would be no second decrease.  So it must be "<".
 */
static inline void swift_win_set(struct swift_win *w, const struct swift_bounds *b, u64 now_ns,
				 u64 cwnd_q32)
{
	u64 least = max(SWIFT_CWND_MIN, b->min_q32);

	cwnd_q32 = clamp(cwnd_q32, least, max(least, min(b->max_q32, SWIFT_CWND_MAX)));
	if (cwnd_q32 < w->cwnd_q32)
		w->last_dec_ns = now_ns;
	w->cwnd_q32 = cwnd_q32;
}

/* Lines 8-11: what @acked packets add; ai is one packet */
static inline u64 swift_increase_q32(u64 cwnd_q32, u32 acked)
{
	return div64_u64(U64_MAX, max(cwnd_q32, BOLT_ONE)) * min_t(u32, acked, 1U << 20);
}

/* Lines 12-14: the part of the window to take off */
static inline u32 swift_decrease_q16(u32 delay_ns, u32 target_ns)
{
	return min_t(u64, div_u64((u64)SWIFT_MD_Q16 * (delay_ns - target_ns), max(delay_ns, 1U)),
		     SWIFT_MAX_MDF_Q16);
}

static inline u64 swift_less_q32(u64 cwnd_q32, u32 share_q16)
{
	return cwnd_q32 - mul_u64_u32_shr(cwnd_q32, share_q16, 16);
}

/* Lines 4-14 for one window.  Returns true if it was decreased for @delay_ns. */
static inline bool swift_win_ack(struct swift_win *w, const struct swift_bounds *b,
				 const struct swift_ack *a, u32 delay_ns, u32 target_ns)
{
	u64 prev = w->cwnd_q32, cwnd = prev;

	if (delay_ns < target_ns) {
		if (a->limited)
			cwnd += swift_increase_q32(cwnd, a->acked);
	} else if (swift_can_decrease(w, a->now_ns, a->rtt_ns)) {
		cwnd = swift_less_q32(cwnd, swift_decrease_q16(delay_ns, target_ns));
	}
	swift_win_set(w, b, a->now_ns, cwnd);
	return max(cwnd, w->cwnd_q32) < prev;
}

static inline void swift_start(struct swift *s, u32 packets)
{
	*s = (struct swift){ };
	s->fabric.cwnd_q32 = (u64)packets << 32;
	s->endpoint.cwnd_q32 = s->fabric.cwnd_q32;
}

/* The effective window (section 3.3) */
static inline u64 swift_cwnd_q32(const struct swift *s)
{
	return min(s->fabric.cwnd_q32, s->endpoint.cwnd_q32);
}

/* Packets that may be in flight; below one packet, bolt_core_gap_ns() spaces them (lines 29-32). */
static inline u32 swift_packets(const struct swift *s)
{
	return max_t(u32, swift_cwnd_q32(s) >> 32, 1);
}

/*
 * The endpoints' delay of an ACK that does not say it: as it was, but no reason to decrease, and
 * less than the target by what the EWMA rounds off.
 */
static inline u32 swift_assumed_ns(const struct swift *s, const struct swift_conf *c)
{
	u32 target_ns = READ_ONCE(c->endpoint_ns);

	return min(s->endpoint_ns, target_ns - target_ns / 8);
}

/* On receiving an ACK.  Returns true if the fabric window was decreased for its delay. */
static inline bool swift_on_ack(struct swift *s, const struct swift_conf *c,
				const struct swift_bounds *b, const struct swift_ack *a)
{
	u32 endpoint = min_t(u64, (u64)a->remote_ns + a->local_ns, a->rtt_ns);
	u32 target = swift_target_ns(c, b, s->fabric.cwnd_q32, a->hops);

	s->rtt_ns = a->rtt_ns;
	s->endpoint_ns += ((s64)endpoint - s->endpoint_ns) / 8;
	swift_win_ack(&s->endpoint, b, a, s->endpoint_ns, READ_ONCE(c->endpoint_ns));
	return swift_win_ack(&s->fabric, b, a, a->rtt_ns - endpoint, target);
}

static inline void swift_win_loss(struct swift_win *w, const struct swift *s,
				  const struct swift_bounds *b, u64 now_ns)
{
	u64 cwnd = w->cwnd_q32;

	if (s->retransmit_cnt >= SWIFT_RETX_RESET)		/* lines 17, 18 */
		cwnd = 0;					/* clamped */
	else if (swift_can_decrease(w, now_ns, s->rtt_ns))	/* lines 20, 21; 24, 25 */
		cwnd = swift_less_q32(cwnd, SWIFT_MAX_MDF_Q16);
	swift_win_set(w, b, now_ns, cwnd);
}

/* A retransmission timeout (lines 15-21), or fast recovery (lines 22-25) */
static inline void swift_on_loss(struct swift *s, const struct swift_bounds *b, u64 now_ns,
				 bool rto)
{
	if (!rto)
		s->retransmit_cnt = 0;
	else if (s->retransmit_cnt < SWIFT_RETX_RESET)
		s->retransmit_cnt++;
	swift_win_loss(&s->fabric, s, b, now_ns);
	swift_win_loss(&s->endpoint, s, b, now_ns);
}

#endif /* _TCP_BOLT_SWIFT_H */
