/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bolt's reaction at the sender, in integers: Algorithm 2 of the paper, applied per packet, as
 * Documentation/tcp_bolt.rst derives it.  The algorithm as printed is in algorithm2.h.
 *
 *   SRC:   cwnd += 1 / cwnd - 3/2 excess_ns / rtt_src
 *   ACK:   cwnd += 1 / cwnd                   without DEC; with DEC, the SRC has added it
 *   INC:   cwnd += 1
 *
 * excess_ns is the queueing delay less the part of the queue that this flow's own decreases within
 * about the last rtt_src will drain: the SRC was sent before they took effect.  Without this
 * correction flows decrease several times for the same queue, and the link idles (when a third
 * flow joins two, the utilization falls to 82 % in the worst round trip).  With it, a factor of 1
 * would leave part of the queue to the next round trip; 3/2 drains the queue in two without idling
 * the link.
 *
 * Below one packet, where a packet leaves every rtt / cwnd, the increase is cwnd and the decrease
 * cwnd^1.5 * excess_ns / rtt_src.  At one packet both equal those above.
 *
 * Pure.  Callers serialize.
 *
 * Units: times in ns; rates in kbit/s (so 32 bits reach 4.2 Tbit/s); windows in
 * packets; fixed point with 16 or 32 fractional bits where a name ends in _q16 or _q32.
 */
#ifndef _TCP_BOLT_CORE_H
#define _TCP_BOLT_CORE_H

#include <linux/types.h>
#include <linux/minmax.h>
#include <linux/kernel.h>
#include <linux/math64.h>

/* A longer sample is not a round trip: the 32 bits of t_data_tx wrap after 4.3 s. */
#define BOLT_RTT_SRC_MAX_NS	0x40000000U
/* The minimum RTT expires after this long, so that a longer path is noticed. */
#define BOLT_MIN_RTT_WIN_NS	(10ULL * 1000 * 1000 * 1000)

#define BOLT_ONE		(1ULL << 32)	/* a packet */
/* Windows below so many packets are rounded at random: see bolt_core_packets() */
#define BOLT_ROUND_BELOW	4
/* One SRC takes at most 1/8 of the window */
#define BOLT_SRC_SHIFT		3
/* Longest gap: a single very large RTT sample must not stop a flow with a tiny window */
#define BOLT_GAP_MAX_NS		1000000000U

/* The state of one flow */
struct bolt_core {
	u64	cwnd_q32;		/* the window; swift: the smaller of its two */
	u64	removed_q32;		/* packets removed for SRC; they decay with rtt_src */
	u64	removed_ns;		/* when removed_q32 was last brought up to date */
	u64	last_dec_ns;		/* Algorithm 2's last_dec_time */
	u64	min_rtt_stamp_ns;	/* when min_rtt_ns was taken */
	u32	srtt_ns;		/* smoothed RTT (gain 1/8); 0: no sample yet */
	u32	min_rtt_ns;		/* the smallest of BOLT_MIN_RTT_WIN_NS; 0: none */
	u32	ai_seq;			/* a round trip ends when this is acknowledged */
	u32	round;			/* random fraction of this round trip's rounding */
};

/*
 * The window in whole packets, for TCP.  If windows were only rounded down, flows whose windows are
 * nearly equal would gain and lose their last packet at the same time.  With sixteen flows at MTU
 * 5000, one packet each is most of a BDP, and the link would idle.  So a small window is rounded at
 * random; in a large one a packet matters too little to justify the noise.
 */
static inline u32 bolt_core_packets(const struct bolt_core *c)
{
	u64 w = c->cwnd_q32;

	if (w < BOLT_ROUND_BELOW * BOLT_ONE)
		w += c->round;
	return max_t(u32, w >> 32, 1);
}

/*
 * The effective window: this one, or TCP's, if that is smaller because of Swift.  @tcp_cwnd must
 * have been set in this round trip.  Otherwise a window of 1.6 packets, for example, that was
 * rounded down in the last round trip and is rounded up in this one would be taken for one packet.
 */
static inline u64 bolt_core_effective_cwnd_q32(const struct bolt_core *c, u32 tcp_cwnd)
{
	return bolt_core_packets(c) <= tcp_cwnd ? c->cwnd_q32 : (u64)tcp_cwnd << 32;
}

/* Time between two departures of a window below one packet, rtt / cwnd; 0: ACK clocking */
static inline u32 bolt_core_gap_ns(u64 w_q32, u32 rtt_ns)
{
	if (w_q32 >= BOLT_ONE)
		return 0;
	return min_t(u64, div64_u64((u64)rtt_ns << 32, max_t(u64, w_q32, 1)), BOLT_GAP_MAX_NS);
}

/* Time a link takes to drain a queue, truncated, saturating; 0 if its rate is unknown */
static inline u32 bolt_core_queue_ns(u32 queue_bytes, u32 link_kbps)
{
	if (!link_kbps)
		return 0;
	return min_t(u64, div_u64(8000000ULL * queue_bytes, link_kbps), U32_MAX);
}

/* Additive increase per packet: one packet per round trip; below one packet it doubles */
static inline u64 bolt_core_increase(u64 w_q32)
{
	return w_q32 < BOLT_ONE ? w_q32 : div64_u64(U64_MAX, w_q32);
}

/* Decrease by @part_q32 packets; a window below one packet by that times w^1.5 */
static inline u64 bolt_core_decrease(u64 w_q32, u64 part_q32)
{
	if (w_q32 >= BOLT_ONE)
		return part_q32;
	return (part_q32 >> 16) * (w_q32 >> 16) * int_sqrt64(w_q32) >> 16;
}

/* Time between two packets of a flow; 0: no RTT sample yet, so it sends at the link's rate */
static inline u32 bolt_core_pkt_ns(u64 w_q32, u32 srtt_ns)
{
	return div64_u64((u64)srtt_ns << 32, max(w_q32, BOLT_ONE));
}

/* The part of a reported queue that earlier decreases of this flow will drain */
static inline u32 bolt_core_drained_ns(struct bolt_core *c, u64 now_ns, u32 rtt_src_ns, u32 pkt_ns)
{
	u64 age_ns = now_ns - c->removed_ns;

	if (age_ns >= rtt_src_ns)
		c->removed_q32 = 0;
	else
		c->removed_q32 -= div_u64(c->removed_q32, rtt_src_ns) * age_ns;
	c->removed_ns = now_ns;
	return min_t(u64, mul_u64_u32_shr(c->removed_q32, pkt_ns, 32), U32_MAX);
}

/*
 * Weight of a flow's decrease, by the bytes that it has @left to send or to have acknowledged:
 * sqrt(@left / @scale), at least 1/5; from @scale bytes on a message counts as long.  A short
 * message that is about to end decreases less and gets a larger share of the link; long flows lose
 * a few packets to it and get them back when it has ended.  Flows with equal bytes left still have
 * equal windows.  At a queueing delay of a minimum RTT or more all flows have full weight:
 * otherwise the queue of an incast of short messages would be several times as long.
 */
static inline u32 bolt_core_weight_q16(const struct bolt_core *c, u32 left, u32 scale,
				       u32 queue_ns)
{
	if (left >= scale || queue_ns >= c->min_rtt_ns)
		return 1 << 16;
	return max_t(u32, int_sqrt64(div_u64((u64)left << 32, scale)), (1 << 16) / 5);
}

/* An SRC */
struct bolt_core_src {
	u64	now_ns;		/* the monotonic clock */
	u32	rtt_src_ns;	/* now - t_data_tx (Algorithm 2 line 2) */
	u32	queue_ns;	/* the time the link takes to drain the reported queue */
	u32	pkt_ns;		/* between two packets of this flow */
	u32	weight_q16;	/* see bolt_core_weight_q16() */
	bool	grows;		/* the flow is limited by its window, which may grow */
};

/* The window after an SRC, given @w_q32 before; the caller clamps it. */
static inline u64 bolt_core_on_src(struct bolt_core *c, u64 w_q32, const struct bolt_core_src *s)
{
	u32 rtt_src_ns = max_t(u32, s->rtt_src_ns, 1);
	u32 drained_ns = bolt_core_drained_ns(c, s->now_ns, rtt_src_ns, s->pkt_ns);
	u64 up_q32 = s->grows ? bolt_core_increase(w_q32) : 0, down_q32 = 0;

	if (s->queue_ns > drained_ns)
		down_q32 = div_u64((u64)(s->queue_ns - drained_ns) << 32, rtt_src_ns);
	/* the bound keeps the products within 64 bits; less is taken off below anyway */
	down_q32 = (min_t(u64, down_q32, 64 * BOLT_ONE) * 3 >> 1) * s->weight_q16 >> 16;
	down_q32 = bolt_core_decrease(w_q32, down_q32);
	if (down_q32 <= up_q32)
		return w_q32 + up_q32 - down_q32;
	down_q32 = min3(down_q32 - up_q32, BOLT_ONE, w_q32 >> BOLT_SRC_SHIFT);
	c->removed_q32 += down_q32;
	return w_q32 - down_q32;
}

static inline void bolt_core_rtt_sample(struct bolt_core *c, u64 now_ns, u32 rtt_ns)
{
	rtt_ns = max_t(u32, rtt_ns, 1);
	if (!c->srtt_ns)
		WRITE_ONCE(c->srtt_ns, rtt_ns);
	else
		WRITE_ONCE(c->srtt_ns,
			   max_t(u32, c->srtt_ns + ((s32)(rtt_ns - c->srtt_ns) / 8), 1));

	if (!c->min_rtt_ns || rtt_ns <= c->min_rtt_ns ||
	    now_ns - c->min_rtt_stamp_ns > BOLT_MIN_RTT_WIN_NS) {
		WRITE_ONCE(c->min_rtt_ns, rtt_ns);
		c->min_rtt_stamp_ns = now_ns;
	}
}

/* Algorithm 2 line 12: a window has been acknowledged since the last additive increase */
static inline bool bolt_core_ai_due(const struct bolt_core *c, u32 ack_seq)
{
	return (s32)(ack_seq - c->ai_seq) >= 0;
}

/* Packets of @pct per cent of a BDP, rounded up; U32_MAX if rate or RTT is unknown (0) */
static inline u32 bolt_core_bdp_pkts(u32 kbps, u32 rtt_ns, u32 pkt_bytes, u32 pct)
{
	u64 bytes;

	if (!kbps || !rtt_ns)
		return U32_MAX;
	/* kbit/s * ns = 1e-6 bit */
	bytes = div_u64((u64)kbps * rtt_ns, 8 * 1000000);
	bytes = div_u64(bytes * pct, 100);
	bytes = div_u64(bytes + pkt_bytes - 1, max_t(u32, pkt_bytes, 1));
	return clamp_t(u64, bytes, 1, 1U << 20);
}

/* --- fast recovery --- */

/*
 * How many packets may be in flight in fast recovery: Proportional Rate Reduction (RFC 6937, and
 * tcp_cwnd_reduction()) towards a controller's window.
 *
 *   in flight > window:  sent <= window / prior * delivered, at least the first retransmission
 *   otherwise:           the window
 *
 * A controller cuts its window at once, often below what is in flight.  TCP would then retransmit
 * nothing until the ACKs of half a window have arrived, and where those are lost as well, until the
 * RTO.
 */

/* As in RFC 5681, equation 4, unless clamped; below one packet, departures are still spaced */
#define BOLT_RECOVERY_MIN	2

/* Packets, since recovery began */
struct bolt_recovery {
	/*
	 * in flight when it began, or cwnd before if that was more (RFC 6937, RecoverFS).  At most
	 * what is delivered is sent, even if the window has grown since
	 */
	u32	prior;
	u32	delivered;
	u32	out;		/* sent */
};

/* The snd_cwnd for a @window, at least @least, while @in_flight packets are in flight */
static inline u32 bolt_recovery_cwnd(const struct bolt_recovery *r, u32 window, u32 least,
				     u32 in_flight)
{
	u32 prior = max_t(u32, r->prior, 1);
	u32 share = min(window, prior);
	u64 allowed = r->out;

	window = max(window, least);
	if (in_flight < window)
		return window;
	if (in_flight > window)
		allowed = max(allowed, div_u64((u64)share * r->delivered + prior - 1, prior));
	return in_flight + max_t(u32, allowed - r->out, !r->out);
}

/* --- the spacing of departures, at the rate of the sender's link --- */

/* Fractional bits of the ns per byte */
#define BOLT_NS_SHIFT	20

/*
 * Serialization time of @len bytes (up to 2^20); 0: unknown rate, no spacing.  @frac carries the
 * fraction of a ns from packet to packet: at 400 Gb/s a packet takes 30.3 ns, and without the
 * fraction a flow sends 1 % too fast.
 */
static inline u32 bolt_core_tx_ns(u32 len, u32 kbps, u32 *frac)
{
	u64 per_byte, t;

	if (!kbps)
		return 0;
	per_byte = div_u64(8000000ULL << BOLT_NS_SHIFT, kbps);
	t = len * per_byte + *frac;
	*frac = t & ((1U << BOLT_NS_SHIFT) - 1);
	return min_t(u64, t >> BOLT_NS_SHIFT, 1U << 30);
}

/*
 * The earliest time the next packet may leave, given @next_ns, that of this one, which leaves at
 * @now_ns.  If that is late, the next one may make up for at most one packet time.  With no credit
 * at all each delay would be lost capacity; with unbounded credit an idle flow would burst.
 */
static inline u64 bolt_core_next_tx(u64 next_ns, u64 now_ns, u32 tx_ns)
{
	return max_t(u64, next_ns, now_ns - min_t(u64, now_ns, tx_ns)) + tx_ns;
}

#endif /* _TCP_BOLT_CORE_H */
