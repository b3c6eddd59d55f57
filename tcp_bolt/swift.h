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
 * Two windows run so, one for the fabric's delay and one for the endpoints'; the smaller wins.
 * (The paper calls two things beta; the multiplicative decrease constant is md here.)
 *
 * Plain structs and the time in; a window out.  No sk_buff and no socket, so that KUnit and user
 * space run the very same code.  Callers serialize.
 *
 * Units: times in ns.  Windows in packets, 32 fractional bits in 64 (_q32), from 0.001 to 2^20:
 * 0.001 is 4294968 units, and at 2^20 an ai of one packet still adds 4096 of them per ACK.
 */
#ifndef _TCP_BOLT_SWIFT_H
#define _TCP_BOLT_SWIFT_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#endif

#define SWIFT_ONE	(1ULL << 32)		/* a packet */
#define SWIFT_CWND_MIN	4294968ULL		/* 0.001 (section 3.4) */
#define SWIFT_CWND_MAX	(SWIFT_ONE << 20)
#define SWIFT_RETX_RESET	5		/* RETX_RESET_THRESHOLD; the paper gives no value */
/* Longest wait between two packets: a RTT gone wild must not stop a flow whose window is tiny */
#define SWIFT_PACE_MAX_NS	1000000000U
#define SWIFT_HOPS_MAX	15			/* what the option can say */

/**
 * struct swift_conf - what net.bolt.swift_* says, ready for use; see swift_conf_set()
 * @base_ns:	base target, without the round trip of an empty path, which is the caller's to add
 * @hop_ns:	per hop
 * @fs_range_ns: most that flow scaling adds
 * @fs_y_q26:	1 / sqrt(fs_max_cwnd)
 * @fs_dy_q26:	1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd)
 * @fs_scale_q32: fs_range / fs_dy
 * @endpoint_ns: target of the endpoints' delay
 * @ai_q16:	packets per RTT
 * @md_q16:	the decrease for a delay far beyond the target
 * @max_mdf_q16: the largest decrease
 * @min_q32:	smallest window
 */
struct swift_conf {
	u32	base_ns;
	u32	hop_ns;
	u32	fs_range_ns;
	u32	fs_y_q26;
	u32	fs_dy_q26;
	u64	fs_scale_q32;
	u32	endpoint_ns;
	u32	ai_q16;
	u32	md_q16;
	u32	max_mdf_q16;
	u64	min_q32;
};

/**
 * struct swift_bounds - what differs from flow to flow
 * @rtt_ns:	round trip of an empty path, part of the target
 * @min_q32:	smallest window, where larger than the configured one
 * @max_q32:	largest
 */
struct swift_bounds {
	u32	rtt_ns;
	u64	min_q32;
	u64	max_q32;
};

/**
 * struct swift_win - one of the two windows
 * @cwnd_q32:	packets
 * @last_dec_ns: t_last_decrease
 */
struct swift_win {
	u64	cwnd_q32;
	u64	last_dec_ns;
};

/**
 * struct swift - what Algorithm 1 remembers of one flow
 * @fabric:	fcwnd
 * @endpoint:	ecwnd
 * @endpoint_ns: EWMA of the endpoints' delay (gain 1/8; section 3.3 gives none); it is noisy
 * @rtt_ns:	newest RTT, not smoothed; 0: none yet
 * @retransmit_cnt: RTOs in a row
 */
struct swift {
	struct swift_win	fabric;
	struct swift_win	endpoint;
	u32			endpoint_ns;
	u32			rtt_ns;
	u8			retransmit_cnt;
};

/**
 * struct swift_ack - an ACK with a sample of delay
 * @now_ns:	monotonic clock
 * @rtt_ns:	t6 - t1 of Figure 2, not 0
 * @remote_ns:	remote queuing, as reflected
 * @local_ns:	local receive delay
 * @acked:	packets
 * @hops:	of the forward path, as reflected
 * @limited:	the window was what held the flow back; else it does not grow
 */
struct swift_ack {
	u64	now_ns;
	u32	rtt_ns;
	u32	remote_ns;
	u32	local_ns;
	u32	acked;
	u8	hops;
	bool	limited;
};

/**
 * swift_rsqrt_q26() - 1 / sqrt(cwnd)
 * @cwnd_q32:	SWIFT_CWND_MIN to SWIFT_CWND_MAX; clamped to that
 *
 * A table of 48 values of the mantissa, right to 1/64, and two steps of Newton's method
 * y' = y (3 - m y^2) / 2, each of which squares the error: 2^-11, 2^-22.  Within 2^-22 of the
 * exact value and one unit of 2^-26; so where the result is smallest (2^-10, of 2^20 packets) it is
 * right to 2^-16.
 *
 * Its square is 1 / cwnd: additive increase and pacing divide by nothing.
 */
static inline u32 swift_rsqrt_q26(u64 cwnd_q32)
{
	/* 2^16 / sqrt(m) in the middle of each sixteenth of 1 <= m < 4 */
	static const u16 table[48] = {
		64535, 62664, 60947, 59364, 57898, 56535, 55265, 54076,
		52961, 51912, 50923, 49989, 49104, 48265, 47467, 46707,
		45983, 45292, 44630, 43997, 43390, 42808, 42248, 41710,
		41192, 40693, 40211, 39746, 39297, 38863, 38443, 38036,
		37642, 37260, 36889, 36529, 36179, 35840, 35509, 35188,
		34875, 34571, 34274, 33985, 33703, 33427, 33159, 32897,
	};
	u64 x = clamp_t(u64, cwnd_q32, SWIFT_CWND_MIN, SWIFT_CWND_MAX);
	int k = (fls64(x) - 1 - 32) >> 1;	/* cwnd = m * 4^k */
	int shift = 2 + 2 * k, i;
	u32 m_q30 = shift >= 0 ? x >> shift : x << -shift;
	u32 y_q31 = (u32)table[(m_q30 >> 26) - 16] << 15;

	for (i = 0; i < 2; i++) {
		u64 my2_q30 = (((u64)y_q31 * y_q31 >> 32) * m_q30) >> 30;

		y_q31 = min_t(u64, (u64)y_q31 * (u32)((3U << 30) - my2_q30) >> 31, U32_MAX);
	}
	return y_q31 >> (5 + k);
}

/*
 * 1 / cwnd: the square, 32 fractional bits.  Never too large by 2^-20 of it, low by less than
 * 2^-11, and below one packet by less than 2^-20.
 */
static inline u64 swift_inverse_q32(u64 cwnd_q32)
{
	u64 y_q26 = swift_rsqrt_q26(cwnd_q32);

	return y_q26 * y_q26 >> 20;
}

/* --- configuration --- */

/* A window given in thousandths of a packet */
static inline u64 swift_milli_q32(u32 milli)
{
	return div_u64(((u64)milli << 32) + 999, 1000);
}

/**
 * struct swift_settings - what an operator says
 * @fs_min_milli: thousandths of a packet, as the others so named
 * @md_pct:	per cent, as the others so named
 */
struct swift_settings {
	u32	base_ns;
	u32	hop_ns;
	u32	fs_range_ns;
	u32	fs_min_milli;
	u32	fs_max_milli;
	u32	endpoint_ns;
	u32	ai_milli;
	u32	md_pct;
	u32	max_mdf_pct;
	u32	min_milli;
};

/* False where the settings contradict each other; @c is as before then. */
static inline bool swift_conf_set(struct swift_conf *c, const struct swift_settings *s)
{
	u32 y_min = swift_rsqrt_q26(swift_milli_q32(s->fs_min_milli));
	u32 y_max = swift_rsqrt_q26(swift_milli_q32(s->fs_max_milli));

	if (y_min <= y_max)
		return false;
	c->base_ns = s->base_ns;
	c->hop_ns = s->hop_ns;
	c->fs_range_ns = s->fs_range_ns;
	c->fs_y_q26 = y_max;
	c->fs_dy_q26 = y_min - y_max;
	/* rounded up: the whole of fs_dy is the whole range */
	c->fs_scale_q32 = div_u64(((u64)s->fs_range_ns << 32) + c->fs_dy_q26 - 1, c->fs_dy_q26);
	c->endpoint_ns = s->endpoint_ns;
	c->ai_q16 = div_u64((u64)s->ai_milli << 16, 1000);
	c->md_q16 = (s->md_pct << 16) / 100;
	c->max_mdf_q16 = (s->max_mdf_pct << 16) / 100;
	c->min_q32 = max(swift_milli_q32(s->min_milli), SWIFT_CWND_MIN);
	return true;
}

/* --- target delay --- */

/*
 * Flow scaling (section 3.5).  alpha / sqrt(cwnd) + beta is alpha * (1 / sqrt(cwnd) - 1 / sqrt(
 * fs_max_cwnd)), as beta is negative; the difference is clamped, so that nothing can overflow.
 */
static inline u32 swift_fs_ns(const struct swift_conf *c, u64 cwnd_q32)
{
	u32 y = swift_rsqrt_q26(cwnd_q32);
	u32 dy = y > c->fs_y_q26 ? min(y - c->fs_y_q26, c->fs_dy_q26) : 0;

	/* at most fs_range_ns << 32 */
	return dy * c->fs_scale_q32 >> 32;
}

static inline u32 swift_target_ns(const struct swift_conf *c, const struct swift_bounds *b,
				  u64 cwnd_q32, u8 hops)
{
	return min_t(u64, U32_MAX, (u64)b->rtt_ns + c->base_ns +
		     (u64)min_t(u32, hops, SWIFT_HOPS_MAX) * c->hop_ns + swift_fs_ns(c, cwnd_q32));
}

/* --- the windows --- */

/* Line 3 */
static inline bool swift_can_decrease(const struct swift_win *w, u64 now_ns, u32 rtt_ns)
{
	return now_ns - w->last_dec_ns >= rtt_ns;
}

/*
 * Lines 26-28.  The paper prints "cwnd <= cwnd_prev" in line 27; then every ACK that finds the
 * delay too large, but comes within a RTT of the decrease, would put the next one off, and there
 * would be no other as long as ACKs come: it must be less.
 */
static inline void swift_win_set(struct swift_win *w, const struct swift_conf *c,
				 const struct swift_bounds *b, u64 now_ns, u64 cwnd_q32)
{
	u64 least = max(c->min_q32, b->min_q32);

	cwnd_q32 = clamp(cwnd_q32, least, max(least, min(b->max_q32, SWIFT_CWND_MAX)));
	if (cwnd_q32 < w->cwnd_q32)
		w->last_dec_ns = now_ns;
	w->cwnd_q32 = cwnd_q32;
}

/* Lines 7-10: what @acked packets add */
static inline u64 swift_increase_q32(const struct swift_conf *c, u64 cwnd_q32, u32 acked)
{
	u64 one_q32 = SWIFT_ONE;

	if (cwnd_q32 >= SWIFT_ONE)
		one_q32 = swift_inverse_q32(cwnd_q32);
	/* ai is at most 2^7 packets */
	return (one_q32 * c->ai_q16 >> 16) * min_t(u32, acked, 1U << 20);
}

/* Lines 12-14: the share of the window that goes */
static inline u32 swift_decrease_q16(const struct swift_conf *c, u32 delay_ns, u32 target_ns)
{
	return min_t(u64, div_u64((u64)c->md_q16 * (delay_ns - target_ns), max(delay_ns, 1U)),
		     c->max_mdf_q16);
}

static inline u64 swift_less_q32(u64 cwnd_q32, u32 share_q16)
{
	return cwnd_q32 - mul_u64_u32_shr(cwnd_q32, share_q16, 16);
}

/* Lines 4-14 of one window.  True when it was decreased. */
static inline bool swift_win_ack(struct swift_win *w, const struct swift_conf *c,
				 const struct swift_bounds *b, const struct swift_ack *a,
				 u32 delay_ns, u32 target_ns)
{
	u64 prev = w->cwnd_q32, cwnd = prev;

	if (delay_ns < target_ns) {
		if (a->limited)
			cwnd += swift_increase_q32(c, cwnd, a->acked);
	} else if (swift_can_decrease(w, a->now_ns, a->rtt_ns)) {
		cwnd = swift_less_q32(cwnd, swift_decrease_q16(c, delay_ns, target_ns));
	}
	swift_win_set(w, c, b, a->now_ns, cwnd);
	return w->cwnd_q32 < prev;
}

/* --- events --- */

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

/* Packets that may be in flight; below one, swift_pace_ns() holds them apart. */
static inline u32 swift_packets(const struct swift *s)
{
	return max_t(u32, swift_cwnd_q32(s) >> 32, 1);
}

#define SWIFT_DEC_FABRIC	1
#define SWIFT_DEC_ENDPOINT	2

/* On receiving an ACK.  Which windows were decreased comes back. */
static inline unsigned int swift_on_ack(struct swift *s, const struct swift_conf *c,
					const struct swift_bounds *b, const struct swift_ack *a)
{
	u32 endpoint = min_t(u64, (u64)a->remote_ns + a->local_ns, a->rtt_ns);
	u32 target = swift_target_ns(c, b, s->fabric.cwnd_q32, a->hops);
	unsigned int ret = 0;

	s->retransmit_cnt = 0;
	s->rtt_ns = a->rtt_ns;
	s->endpoint_ns += ((s64)endpoint - s->endpoint_ns) / 8;
	if (swift_win_ack(&s->fabric, c, b, a, a->rtt_ns - endpoint, target))
		ret |= SWIFT_DEC_FABRIC;
	if (swift_win_ack(&s->endpoint, c, b, a, s->endpoint_ns, c->endpoint_ns))
		ret |= SWIFT_DEC_ENDPOINT;
	return ret;
}

/* --- beside Bolt (Bolt, section 6) --- */

/**
 * struct swift_told - what switches that send SRC have said they hold
 * @since_ns:	when the present round trip began
 * @ns:		longest queue reported in it, as the time it takes to drain
 * @prev_ns:	and in the one before
 *
 * An ACK comes after the SRC that its data packet caused, and less than a round trip after that.
 */
struct swift_told {
	u64	since_ns;
	u32	ns;
	u32	prev_ns;
};

static inline u32 swift_told_ns(struct swift_told *t, u64 now_ns, u32 rtt_ns)
{
	u64 age_ns = now_ns - t->since_ns;

	if (age_ns > rtt_ns) {
		t->prev_ns = age_ns > 2ULL * rtt_ns ? 0 : t->ns;
		t->ns = 0;
		t->since_ns = now_ns;
	}
	return max(t->ns, t->prev_ns);
}

/* An SRC */
static inline void swift_told(struct swift_told *t, u64 now_ns, u32 rtt_ns, u32 queue_bytes,
			      u32 link_kbps)
{
	/* bytes * 8 / (kbit/s) = 1e-6 ns */
	u64 ns = div_u64(queue_bytes * 8000000ULL, max(link_kbps, 1U));

	swift_told_ns(t, now_ns, rtt_ns);
	t->ns = max_t(u32, t->ns, min_t(u64, ns, U32_MAX));
}

/* No opinion: the window is whatever Bolt says, until a delay is beyond the target */
static inline void swift_beside_start(struct swift *s)
{
	s->fabric.cwnd_q32 = SWIFT_CWND_MAX;
}

/*
 * On receiving an ACK.  @sends_q32 is the window that the flow sends with, the smaller of Swift's
 * and Bolt's; @told_ns is the part of the delay that Bolt has been told of, and deals with.
 *
 * As section 3.3 has it of two windows of Swift's, the one that is not the limit grows up to its
 * ceiling.  But it was with the smaller that the delay was caused: a decrease is one of that.
 */
static inline bool swift_beside_ack(struct swift *s, const struct swift_conf *c,
				    const struct swift_bounds *b, const struct swift_ack *ack,
				    u64 sends_q32, u32 told_ns)
{
	u32 delay = ack->rtt_ns - min_t(u64, (u64)ack->remote_ns + ack->local_ns + told_ns,
					ack->rtt_ns);
	u32 target = swift_target_ns(c, b, min(s->fabric.cwnd_q32, sends_q32), ack->hops);
	struct swift_win *w = &s->fabric;
	struct swift_ack a = *ack;

	s->rtt_ns = a.rtt_ns;
	if (w->cwnd_q32 > sends_q32)
		a.limited = true;
	/* neither is a decrease yet */
	w->cwnd_q32 = min(w->cwnd_q32, b->max_q32);
	if (delay >= target && swift_can_decrease(w, a.now_ns, a.rtt_ns))
		w->cwnd_q32 = min(w->cwnd_q32, sends_q32);
	return swift_win_ack(w, c, b, &a, delay, target);
}

static inline void swift_win_loss(struct swift_win *w, const struct swift *s,
				  const struct swift_conf *c, const struct swift_bounds *b,
				  u64 now_ns)
{
	u64 cwnd = w->cwnd_q32;

	if (s->retransmit_cnt >= SWIFT_RETX_RESET)		/* lines 17, 18 */
		cwnd = 0;					/* clamped */
	else if (swift_can_decrease(w, now_ns, s->rtt_ns))	/* lines 20, 21; 24, 25 */
		cwnd = swift_less_q32(cwnd, c->max_mdf_q16);
	swift_win_set(w, c, b, now_ns, cwnd);
}

/* On a retransmission timeout: lines 15-21 */
static inline void swift_on_rto(struct swift *s, const struct swift_conf *c,
				const struct swift_bounds *b, u64 now_ns)
{
	if (s->retransmit_cnt < SWIFT_RETX_RESET)
		s->retransmit_cnt++;
	swift_win_loss(&s->fabric, s, c, b, now_ns);
	swift_win_loss(&s->endpoint, s, c, b, now_ns);
}

/* On fast recovery: lines 22-25 */
static inline void swift_on_recovery(struct swift *s, const struct swift_conf *c,
				     const struct swift_bounds *b, u64 now_ns)
{
	s->retransmit_cnt = 0;
	swift_win_loss(&s->fabric, s, c, b, now_ns);
	swift_win_loss(&s->endpoint, s, c, b, now_ns);
}

/*
 * Lines 29-32: how long after a packet the next one may leave, rtt / cwnd; 0: at once.
 */
static inline u32 swift_pace_ns(const struct swift *s)
{
	u64 cwnd_q32 = swift_cwnd_q32(s);

	if (cwnd_q32 >= SWIFT_ONE)
		return 0;
	return min_t(u64, mul_u64_u32_shr(swift_inverse_q32(cwnd_q32), s->rtt_ns, 32),
		     SWIFT_PACE_MAX_NS);
}

#endif /* _TCP_BOLT_SWIFT_H */
