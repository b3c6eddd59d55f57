/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bolt's reaction at the sender: Algorithm 2 of the paper, in integers.
 *
 *   HandleSrc:  rtt_src   = now - t_data_tx
 *               target_q  = queue / packet * flow.rate / link_rate    [packets]
 *               if rtt_src / target_q <= now - last_dec:  cwnd -= 1
 *   HandleAck:  if INC:                     cwnd += 1
 *               if one RTT since last AI:   cwnd += 1
 *
 * Plain structs and the time in; a decision out.  No sk_buff and no socket, so
 * that KUnit and user space run the very same code.  Callers serialize.
 *
 * Units: times in ns; rates in kbit/s (so 32 bits reach 4.2 Tbit/s); windows in
 * packets; fixed point with 16 fractional bits where a name ends in _q16.
 */
#ifndef _TCP_BOLT_CORE_H
#define _TCP_BOLT_CORE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/minmax.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#endif

/* Echoes older than this are not from this incarnation of the clock's low word. */
#define BOLT_RTT_SRC_MAX_NS	0x40000000U
/* The smallest RTT seen is forgotten after this long, so that a new path is learnt. */
#define BOLT_MIN_RTT_WIN_NS	(10ULL * 1000 * 1000 * 1000)

/* A window of so few packets is small: each of them matters */
#define BOLT_SMALL_CWND		16

/**
 * struct bolt_core - what Algorithm 2 remembers of one flow
 * @last_dec_ns:	last_dec_time: when an SRC last took a packet off cwnd; the flow's
 *			start before that
 * @min_rtt_stamp_ns:	when @min_rtt_ns was taken
 * @asked_ns:		when the newest packet left that wants SRC, while @ask_every_ns is not 0
 * @ask_ns:		SRC about packets that leave earlier will find no reaction due
 * @srtt_ns:		smoothed RTT (gain 1/8) from echoed t_data_tx; 0: no sample yet
 * @min_rtt_ns:		smallest sample of the last BOLT_MIN_RTT_WIN_NS; 0: none
 * @rtt_ns:		newest sample, not smoothed; 0: none yet
 * @wait_ns:		of a window below one packet, see below; else 0
 * @ai_seq:		seq_no_at_last_ai
 * @ask_every_ns:	between two packets that want SRC; 0: all do
 */
struct bolt_core {
	u64	last_dec_ns;
	u64	min_rtt_stamp_ns;
	u64	asked_ns;
	u64	ask_ns;
	u32	srtt_ns;
	u32	min_rtt_ns;
	u32	rtt_ns;
	u32	wait_ns;
	u32	ai_seq;
	u32	ask_every_ns;
};

/**
 * bolt_core_rate() - flow.rate: cwnd / srtt
 * @cwnd:	packets
 * @pkt_bytes:	bytes of a full packet on the wire
 * @srtt_ns:	0: no sample yet, the flow sends at @nic_kbps
 * @nic_kbps:	rate of the sender's own link; an upper bound; 0: unknown
 *
 * Returns kbit/s, saturating; error below one kbit/s.  Unknown altogether: U32_MAX, which the
 * caller's comparison with the congested link turns into a reaction factor of 1.
 */
static inline u32 bolt_core_rate(u32 cwnd, u32 pkt_bytes, u32 srtt_ns, u32 nic_kbps)
{
	u64 rate;

	if (!nic_kbps)
		nic_kbps = U32_MAX;
	if (!srtt_ns)
		return nic_kbps;
	/* bits per ms; 2^20 packets of 2^17 bytes and 2^3 * 10^6 stay below 2^64 */
	rate = (u64)min_t(u32, cwnd, 1U << 20) * min_t(u32, pkt_bytes, 1U << 17) * 8;
	rate = div_u64(rate * 1000000, srtt_ns);
	return min_t(u64, rate, nic_kbps);
}

/**
 * bolt_core_target_q() - Algorithm 2 lines 3-5
 *
 * Returns packets, 16 fractional bits.  The reaction factor is truncated to 2^-16, and so is
 * the result: with f the exact factor, the result is low by less than
 * queue / pkt_bytes * 2^-16 + 2^-16 packets.
 */
static inline u64 bolt_core_target_q(u32 queue_bytes, u32 pkt_bytes, u32 flow_kbps, u32 link_kbps)
{
	u64 factor_q16;

	/* no flow is responsible for more than the whole queue */
	if (flow_kbps >= link_kbps)
		factor_q16 = 1 << 16;
	else
		factor_q16 = div_u64((u64)flow_kbps << 16, link_kbps);
	return div_u64(queue_bytes * factor_q16, max_t(u32, pkt_bytes, 1));
}

/**
 * bolt_core_dec_due() - Algorithm 2 line 6: rtt_src / target_q <= now - last_dec
 *
 * Multiplied out, so nothing is divided.  @target_q16 of 0 (this flow has no part in the
 * queue, or the queue is empty) is never due.
 */
static inline bool bolt_core_dec_due(u32 rtt_src_ns, u64 target_q16, u64 since_dec_ns)
{
	u64 product;

	/* a product beyond 64 bits is beyond any rtt_src */
	return target_q16 && (check_mul_overflow(since_dec_ns, target_q16, &product) ||
			      (u64)rtt_src_ns << 16 <= product);
}

/**
 * bolt_core_src() - HandleSrc, Algorithm 2 lines 1-8
 * @c:		the flow
 * @now_ns:	the monotonic clock
 * @rtt_src_ns:	now - t_data_tx, checked by bolt_core_rtt_src()
 * @target_q16:	from bolt_core_target_q()
 *
 * Returns true when cwnd is to be one packet smaller; the moment is then taken as
 * last_dec_time, even where the caller has to put the subtraction off.
 */
static inline bool bolt_core_src(struct bolt_core *c, u64 now_ns, u32 rtt_src_ns, u64 target_q16)
{
	if (!bolt_core_dec_due(rtt_src_ns, target_q16, now_ns - c->last_dec_ns))
		return false;
	c->last_dec_ns = now_ns;
	return true;
}

/*
 * SRC that nobody asks for
 *
 * A flow reacts once in rtt_src / target_q (line 6), and a switch answers each packet.  Where five
 * flows share thirteen packets, the queue is hardly ever below CC_THRESH, and two of three SRC find
 * that a reaction has just been taken.  So a small window marks what leaves too early for its SRC
 * to find another due (NOSRC), and its ACK tells of congestion by DEC alone.  The interval is that
 * of the newest SRC; the queue may have grown since, so it is a round trip at the most.
 *
 * While a queue drains the interval grows: an SRC that was asked for by the old one comes just
 * before the new one is over, and the reaction waits for the next.  A window of a few packets takes
 * one or two of them off, and soon there.  One of more than half of what is small asks twice as
 * often, and by each packet while two packets of the queue are its own; a larger one always does.
 *
 * A sender that owns its socket and an SRC may be here at the same time; either's word will do.
 */

/**
 * bolt_core_ask_every() - the interval in ns, 0: every packet asks
 * @c:		the flow
 * @cwnd:	packets
 * @rtt_src_ns:	of the newest SRC
 * @target_q16:	by the newest SRC
 */
static inline u32 bolt_core_ask_every(const struct bolt_core *c, u32 cwnd, u32 rtt_src_ns,
				      u64 target_q16)
{
	bool few = cwnd <= BOLT_SMALL_CWND / 2;
	u64 every_ns = c->srtt_ns;

	if (cwnd > BOLT_SMALL_CWND || (!few && target_q16 >= 2 << 16))
		return 0;
	if (target_q16)
		every_ns = min_t(u64, every_ns, div64_u64((u64)rtt_src_ns << 16, target_q16));
	return few ? every_ns : every_ns / 2;
}

/*
 * After an SRC: the next that is of use comes @every_ns after last_dec_time.  More may be under way
 * that were asked for before.
 */
static inline void bolt_core_ask_after_src(struct bolt_core *c, u32 rtt_src_ns, u32 every_ns)
{
	WRITE_ONCE(c->ask_ns, c->last_dec_ns + every_ns - rtt_src_ns);
	WRITE_ONCE(c->ask_every_ns, every_ns);
}

static inline void bolt_core_ask_always(struct bolt_core *c)
{
	WRITE_ONCE(c->ask_every_ns, 0);
}

/* Does the packet that leaves now want an SRC? @cwnd as above: it may have grown meanwhile. */
static inline bool bolt_core_asks(struct bolt_core *c, u32 cwnd, u64 now_ns)
{
	u32 every_ns = READ_ONCE(c->ask_every_ns);
	u64 ask_ns = READ_ONCE(c->ask_ns);

	if (!every_ns || cwnd > BOLT_SMALL_CWND)
		return true;
	if (now_ns < ask_ns || (c->asked_ns >= ask_ns && now_ns < c->asked_ns + every_ns))
		return false;
	c->asked_ns = now_ns;
	return true;
}

/**
 * bolt_core_rtt_src() - Algorithm 2 line 2 on the 32 bits that travelled
 *
 * Returns false when the echo lies in the future or too far in the past.
 */
static inline bool bolt_core_rtt_src(u64 now_ns, u32 t_data_tx, u32 *rtt_ns)
{
	*rtt_ns = (u32)now_ns - t_data_tx;
	return *rtt_ns <= BOLT_RTT_SRC_MAX_NS;
}

/*
 * The oldest echo an SRC may bring: SRC is faster than the RTT, but for the time it and its cause
 * wait in queues.  Before the first sample anything the 32 bits can say.
 */
static inline u32 bolt_core_rtt_src_max(const struct bolt_core *c)
{
	if (!c->srtt_ns)
		return BOLT_RTT_SRC_MAX_NS;
	return min_t(u64, 16ULL * c->srtt_ns + 10 * 1000 * 1000, BOLT_RTT_SRC_MAX_NS);
}

/* A new RTT sample from an echoed t_data_tx. */
static inline void bolt_core_rtt_sample(struct bolt_core *c, u64 now_ns, u32 rtt_ns)
{
	rtt_ns = max_t(u32, rtt_ns, 1);
	c->rtt_ns = rtt_ns;
	if (!c->srtt_ns)
		c->srtt_ns = rtt_ns;
	else
		c->srtt_ns = max_t(u32, c->srtt_ns + ((s32)(rtt_ns - c->srtt_ns) / 8), 1);

	if (!c->min_rtt_ns || rtt_ns <= c->min_rtt_ns ||
	    now_ns - c->min_rtt_stamp_ns > BOLT_MIN_RTT_WIN_NS) {
		c->min_rtt_ns = rtt_ns;
		c->min_rtt_stamp_ns = now_ns;
	}
}

/**
 * bolt_core_ai_due() - Algorithm 2 line 12: a window has been acknowledged since the last
 * additive increase
 * @ack_seq:	first unacknowledged sequence number
 *
 * Sequence numbers wrap (RFC 1982).  The caller decides whether the increase is
 * taken now or postponed, and calls bolt_core_ai_taken() when it is.
 */
static inline bool bolt_core_ai_due(const struct bolt_core *c, u32 ack_seq)
{
	return (s32)(ack_seq - c->ai_seq) >= 0;
}

/* Algorithm 2 line 14 */
static inline void bolt_core_ai_taken(struct bolt_core *c, u32 snd_nxt)
{
	c->ai_seq = snd_nxt;
}

/*
 * Windows below one packet (Swift, section 3.4)
 *
 * One packet is in flight; once it is acknowledged the next one waits.  A packet leaves every
 *
 *   gap = rtt + wait		the window is rtt / gap, and 1 where wait is 0
 *
 *   SRC:	wait += min(queue, gap) / 2
 *   ACK:	wait -= gap / 16 + min_rtt / 4;  gap / 2 where queue < gap / 32
 *   INC:	wait = 0
 *
 * with the queue as the time that the link takes to send it.  It is Algorithm 2 by the gap instead
 * of the RTT, as a flow hears no more often than it sends: queue / gap is target_q, and no more of
 * the queue is a flow's than the one packet.  But an increase of a packet per gap would hold a
 * packet of each flow in the queue.  At a sixteenth, against half of target_q, the queue settles at
 * an eighth of one per flow, however many there are.  The larger window loses more by the same
 * queue, so windows become equal.  With a quarter of that queue, or none, others have left room,
 * and a flow may double.
 *
 * Beside larger windows, each of which takes a packet per RTT, a sixteenth is no match: what they
 * leave in the queue held one flow at half a packet where others had six.  Hence a quarter of the
 * round trip as well: no queue below half of one holds a flow there.  All queues are half a round
 * trip longer for it.  The balance still rises with the gap, so there is but one.
 *
 * The queue is also part of the RTT, and so of the gap: that damps the loop.  With time in gaps and
 * q the queue in packets per flow, the sum of rates r follows r' = -q / 2 and q' = r - 1 - q, half
 * a gap late on average: the gain is 1 at 1.1 rad, 0.6 rad before it oscillates.
 *
 * All is ns in 32 bits.  The smallest window is @milli thousandths of the smallest RTT seen, from
 * 0.001; no wait is longer than BOLT_WAIT_MAX_NS.
 */
#define BOLT_WAIT_MAX_NS	1000000000U
#define BOLT_WAIT_SRC_SHIFT	1
#define BOLT_WAIT_ACK_SHIFT	4
#define BOLT_WAIT_SHORT_SHIFT	5
#define BOLT_WAIT_RTT_SHIFT	2

/* Between two packets; 1 at the least, saturating */
static inline u32 bolt_core_gap_ns(const struct bolt_core *c)
{
	return clamp_t(u64, (u64)c->rtt_ns + c->wait_ns, 1, U32_MAX);
}

/* The window in packets, 32 bits of fraction, truncated: @cwnd, or what the wait makes of one */
static inline u64 bolt_core_window_q32(const struct bolt_core *c, u32 cwnd)
{
	if (!c->wait_ns)
		return (u64)cwnd << 32;
	return div_u64((u64)c->rtt_ns << 32, bolt_core_gap_ns(c));
}

/* How long a link takes to send a queue; truncated, saturating; 0 where its rate is unknown */
static inline u32 bolt_core_queue_ns(u32 queue_bytes, u32 link_kbps)
{
	if (!link_kbps)
		return 0;
	return min_t(u64, div_u64(8000000ULL * queue_bytes, link_kbps), U32_MAX);
}

/* The wait of the smallest window, @milli thousandths of a packet (1 to 1000); 0: there is none */
static inline u32 bolt_core_wait_max_ns(const struct bolt_core *c, u32 milli)
{
	return min_t(u64, div_u64((u64)c->min_rtt_ns * (1000 - milli), milli), BOLT_WAIT_MAX_NS);
}

/* SRC.  The increment is truncated to a ns, as are the others. */
static inline void bolt_core_wait_src(struct bolt_core *c, u32 queue_ns, u32 max_ns)
{
	u64 more = min(queue_ns, bolt_core_gap_ns(c)) >> BOLT_WAIT_SRC_SHIFT;

	c->wait_ns = min_t(u64, c->wait_ns + more, max_ns);
}

/* An ACK that finds data waiting; @queue_ns of the SRC that came for its packet, 0: none came */
static inline void bolt_core_wait_ack(struct bolt_core *c, u32 queue_ns)
{
	u32 gap_ns = bolt_core_gap_ns(c);
	u64 less = gap_ns >> 1;

	if (queue_ns >= gap_ns >> BOLT_WAIT_SHORT_SHIFT)
		less = (gap_ns >> BOLT_WAIT_ACK_SHIFT) +
		       (u64)(c->min_rtt_ns >> BOLT_WAIT_RTT_SHIFT);
	c->wait_ns -= min_t(u64, less, c->wait_ns);
}

/* Loss: half the window (Swift, Algorithm 1) */
static inline void bolt_core_wait_cut(struct bolt_core *c, u32 max_ns)
{
	c->wait_ns = min_t(u64, (u64)c->wait_ns + bolt_core_gap_ns(c), max_ns);
}

/*
 * A queue that lasts longer than a round trip: no window need grow for the link to stay full.
 */
static inline bool bolt_core_queue_is_long(const struct bolt_core *c, u32 queue_ns)
{
	return c->min_rtt_ns && queue_ns > c->min_rtt_ns;
}

/**
 * bolt_core_bdp_pkts() - packets that fill a path
 * @kbps:	rate of the sender's link, 0: unknown
 * @rtt_ns:	round trip without queues
 * @pct:	per cent of the BDP wanted
 *
 * Rounded up, at least 1; U32_MAX where @kbps or @rtt_ns is unknown.
 */
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

/* Departures are spaced at the link's rate: ns for @len bytes, from a reciprocal. */
#define BOLT_NS_SHIFT	20

/* ns per byte, BOLT_NS_SHIFT fractional bits; 0: unknown rate, no spacing */
static inline u32 bolt_core_ns_per_byte(u32 kbps)
{
	if (!kbps)
		return 0;
	return min_t(u64, div_u64(8000000ULL << BOLT_NS_SHIFT, kbps), U32_MAX);
}

/*
 * Time @len bytes (up to 2^20) hold the link.  @frac carries what is less than a ns from packet to
 * packet: at 400 Gb/s a packet takes 30.3 ns, and without the rest a flow sends 1 % too fast.
 */
static inline u32 bolt_core_tx_ns(u32 len, u32 ns_per_byte, u32 *frac)
{
	u64 t = (u64)len * ns_per_byte + *frac;

	*frac = t & ((1U << BOLT_NS_SHIFT) - 1);
	return min_t(u64, t >> BOLT_NS_SHIFT, 1U << 30);
}

/**
 * bolt_core_next_tx() - the earliest time the next packet may leave
 * @next_ns:	what this returned for the packet before
 * @now_ns:	departure of this packet
 * @tx_ns:	its serialization time
 *
 * A packet that leaves late may be caught up with by one packet time and no more: with no credit at
 * all each delay is capacity lost for good, with unbounded credit an idle flow bursts.
 */
static inline u64 bolt_core_next_tx(u64 next_ns, u64 now_ns, u32 tx_ns)
{
	return max_t(u64, next_ns, now_ns - min_t(u64, now_ns, tx_ns)) + tx_ns;
}

#endif /* _TCP_BOLT_CORE_H */
