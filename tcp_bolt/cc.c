// SPDX-License-Identifier: GPL-2.0
/*
 * Bolt's controller on a flow: applies the reaction of core.h to TCP's window.
 *
 *   fast recovery      cwnd / 2, once per window        (Swift, Algorithm 1)
 *   RTO                cwnd / 2; at most half a packet after five in a row (likewise)
 *
 * With net.bolt.debug.paper=1 SRC and ACK are Algorithm 2 as printed (algorithm2.h).
 *
 * The window starts at the path's BDP, because the paper's flows start at line rate, if base_rtt_ns
 * and the link's rate or the route's initcwnd say what that is; otherwise where TCP's does.  Above
 * that it grows to max_bdp_pct of rate * min RTT: more would only queue at the sender's own link.
 *
 * For switches that send no SRC (section 6), Swift computes a fabric window as well (swift.c) if
 * base_rtt_ns is set, and TCP gets the smaller of the two.  While that is Swift's, an SRC decreases
 * from Swift's window, and Bolt's own window (core.cwnd_q32) gets no additive increase.
 */

#include <linux/random.h>

#include "bolt.h"
#include "algorithm2.h"

/* A window of at most so many packets is small: see bolt_data_flags() */
#define BOLT_SMALL_CWND		16

/* Section 6: TCP gets the smaller of Bolt's and Swift's window. */
static void bolt_apply(struct sock *sk, struct bolt_flow *f)
{
	bolt_set_window(sk, f,
			min_t(u64, bolt_core_packets(&f->core), f->swift.fabric.cwnd_q32 >> 32),
			bolt_core_gap_ns(f->core.cwnd_q32, f->core.min_rtt_ns));
}

/* The minimum window is one packet before the first RTT sample, and as in the paper with paper=1 */
static u64 bolt_cwnd_floor_q32(const struct bolt_flow *f)
{
	if (!f->core.min_rtt_ns || READ_ONCE(f->bn->paper))
		return BOLT_ONE;
	return bolt_min_cwnd_q32(f);
}

static void bolt_cc_set(struct sock *sk, struct bolt_flow *f, u64 cwnd_q32)
{
	u64 most_q32 = (u64)min(f->max_cwnd, tcp_sk(sk)->snd_cwnd_clamp) << 32;

	f->core.cwnd_q32 = clamp_t(u64, cwnd_q32, bolt_cwnd_floor_q32(f), most_q32);
	bolt_apply(sk, f);
}

/*
 * Do not grow a window that does not limit the flow (RFC 7661, congestion window validation).
 * Compare tcp_is_cwnd_limited().
 */
static bool bolt_is_cwnd_limited(const struct sock *sk, const struct bolt_flow *f, u32 in_flight)
{
	return READ_ONCE(f->bn->ai) && tcp_send_head(sk) &&
	       bolt_core_packets(&f->core) <= f->cwnd &&
	       in_flight + READ_ONCE(f->bn->burst_segs) > f->cwnd;
}

/*
 * Will the application write more?  It is blocked for send buffer space, has set TCP_CORK or
 * MSG_MORE, or is in the middle of a write: TCP sets PSH at the end of each, except before a FIN.
 */
static bool bolt_more_to_come(const struct sock *sk)
{
	const struct socket *sock = READ_ONCE(sk->sk_socket);
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->nonagle & TCP_NAGLE_CORK ||
	       (tp->pushed_seq != tp->write_seq && !(sk->sk_shutdown & SEND_SHUTDOWN)) ||
	       (sock && test_bit(SOCK_NOSPACE, &sock->flags));
}

/*
 * Algorithm 2 lines 10-11, for all ACKs since the last call: inc_count is cumulative.
 *
 * A receiver that overstates inc_count would grow its window without bound.  So grant at most one
 * packet per packet delivered, less those for which an SRC reported that INC was cleared, and no
 * more than have left with INC.  Unused credit is kept up to one window, and two windows of the
 * latter.  LOCAL_IN may read an inc_count before TCP processes the ACK that delivers those packets;
 * the difference is granted with a later ACK.
 */
static u32 bolt_grant_inc(struct bolt_flow *f, u32 delivered)
{
	u32 n;

	f->inc_room = min_t(s64, (s64)f->inc_room + delivered, f->cwnd);
	if (f->inc_room <= 0)
		return 0;
	n = min_t(u32, bolt_inc_delta(READ_ONCE(f->ack_inc), f->last_inc), f->inc_room);
	n = min(n, f->inc_sent);
	f->inc_sent -= n;
	f->inc_room -= n;
	f->last_inc += n;
	return n;
}

/*
 * If a round trip has ended, draw a new random number for rounding the window.  The caller then
 * applies the window to TCP before it is compared with TCP's (bolt_core_effective_cwnd_q32()).
 */
static bool bolt_new_round(struct sock *sk, struct bolt_flow *f)
{
	struct bolt_core *c = &f->core;

	if (!bolt_core_ai_due(c, tcp_sk(sk)->snd_una))
		return false;
	c->ai_seq = tcp_sk(sk)->snd_nxt;
	c->round = READ_ONCE(f->bn->paper) ? 0 : get_random_u32();
	return true;
}

/*
 * Of @acked packets, those that the window has not grown for.  By DEC the receiver says that an SRC
 * has added a packet's share.  It may hide DEC, so SRCs cannot have added more shares than there
 * are packets in flight: the rest is of packets acknowledged.
 */
static u32 bolt_acked_without_src(const struct sock *sk, struct bolt_flow *f, u32 acked)
{
	bool dec = READ_ONCE(f->ack_dec);
	u32 left = dec ? 0 : min(f->src_added, tcp_sk(sk)->packets_out);
	u32 added = min(acked, f->src_added - left);

	f->src_added -= added;
	return dec ? 0 : acked - added;
}

/*
 * Algorithm 2 lines 12-14: as printed, a packet at the end of a round trip in which the window was
 * the limit (@ai_due), whether or not INC has been granted.  Otherwise one share per acknowledged
 * packet, unless the window has just grown by a grant or by rounding: it is no longer the limit.
 */
static void bolt_additive_increase(struct sock *sk, struct bolt_flow *f,
				   const struct rate_sample *rs, bool ai_due)
{
	struct bolt_core *c = &f->core;
	u64 more_q32 = 0;
	u32 n;

	if (rs->acked_sacked <= 0)
		return;
	n = bolt_acked_without_src(sk, f, rs->acked_sacked);
	if (READ_ONCE(f->bn->paper))
		more_q32 = ai_due ? BOLT_ONE : 0;
	else if (n && bolt_is_cwnd_limited(sk, f, rs->prior_in_flight))
		more_q32 = min_t(u64, n * bolt_core_increase(c->cwnd_q32), BOLT_ONE);
	if (more_q32)
		bolt_cc_set(sk, f, c->cwnd_q32 + more_q32);
}

static void bolt_on_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs,
			const struct bolt_rtt *rtt)
{
	const struct bolt_net *bn = f->bn;
	bool ai_due;
	u32 inc;

	/* adopt a window that TCP has changed itself, as MTU probing does */
	if (unlikely(tcp_snd_cwnd(tcp_sk(sk)) != f->tcp_cwnd))
		bolt_cc_set(sk, f, (u64)tcp_snd_cwnd(tcp_sk(sk)) << 32);
	if (READ_ONCE(bn->brownfield) && READ_ONCE(bn->base_rtt_ns))
		bolt_swift_cap_ack(sk, f, rs, rtt);
	else
		swift_cap_start(&f->swift);
	ai_due = READ_ONCE(bn->paper) && bolt_is_cwnd_limited(sk, f, rs->prior_in_flight);
	ai_due &= bolt_new_round(sk, f);
	inc = bolt_grant_inc(f, max(rs->acked_sacked, 0));
	/* INC grants a whole packet, so the window becomes at least one */
	BOLT_ADD_STATS(bn, IncGranted, inc);
	if (inc)
		bolt_cc_set(sk, f, max_t(u64, f->core.cwnd_q32 + inc * BOLT_ONE, BOLT_ONE));
	else
		bolt_apply(sk, f);
	bolt_additive_increase(sk, f, rs, ai_due);
}

static u64 bolt_src_window(struct sock *sk, struct bolt_flow *f, u64 w_q32,
			   struct bolt_core_src *s, u32 queue_bytes, u32 link_kbps)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bdp_bytes = (u64)f->init_cwnd * tp->mss_cache;
	u32 pkt = bolt_pkt_bytes(sk), long_bytes;

	if (READ_ONCE(f->bn->paper)) {
		u32 cwnd = w_q32 >> 32, rate = bolt_core_rate(cwnd, pkt, f->core.srtt_ns,
							      f->nic_kbps);
		/* this flow's part of the queue is at most what it has in flight */
		u64 target_q16 = min_t(u64, (u64)cwnd << 16,
				       bolt_core_target_q(queue_bytes, pkt, rate, link_kbps));

		return bolt_core_src(&f->core, s->now_ns, s->rtt_src_ns, target_q16) ?
		       w_q32 - BOLT_ONE : w_q32;
	}
	s->pkt_ns = bolt_core_pkt_ns(w_q32, f->core.srtt_ns) ?:
		    bolt_core_queue_ns(pkt, f->nic_kbps);
	long_bytes = min_t(u64, READ_ONCE(f->bn->short_bdp) * bdp_bytes, U32_MAX);
	s->weight_q16 = bolt_more_to_come(sk) ? 1 << 16 :
			bolt_core_weight_q16(&f->core, tp->write_seq - tp->snd_una, long_bytes,
					     s->queue_ns);
	/* once per packet in flight, however many messages say so: bolt_acked_without_src() */
	s->grows = f->src_added < tp->packets_out &&
		   bolt_is_cwnd_limited(sk, f, tcp_packets_in_flight(tp));
	f->src_added += s->grows;
	return bolt_core_on_src(&f->core, w_q32, s);
}

/* HandleSrc, Algorithm 2 lines 1-8; @now_ns is when the SRC arrived. */
static enum bolt_src_verdict bolt_on_src(struct sock *sk, struct bolt_flow *f, u64 now_ns,
					 u32 rtt_src_ns, u32 queue_bytes, u32 link_kbps)
{
	struct bolt_core_src s = { .now_ns = now_ns, .rtt_src_ns = rtt_src_ns };
	u64 was_q32 = bolt_core_effective_cwnd_q32(&f->core, f->cwnd), new_q32;
	enum bolt_src_verdict verdict = BOLT_SRC_VERDICT_HELD;
	u64 floor_q32 = bolt_cwnd_floor_q32(f);

	s.queue_ns = bolt_core_queue_ns(queue_bytes, link_kbps);
	swift_report_queue(&f->reported, now_ns, max(f->swift.rtt_ns, rtt_src_ns), s.queue_ns);
	was_q32 = max(was_q32, floor_q32);
	new_q32 = max(bolt_src_window(sk, f, was_q32, &s, queue_bytes, link_kbps), floor_q32);
	bolt_cc_set(sk, f, new_q32);
	if (new_q32 < was_q32) {
		verdict = BOLT_SRC_VERDICT_DEC;
		/* undo gives back what the loss took, and not this */
		f->prior_q32.bolt -= min(f->prior_q32.bolt, was_q32 - new_q32);
	} else if (new_q32 == floor_q32) {
		verdict = BOLT_SRC_VERDICT_FLOOR;
	}
	BOLT_INC_STATS(f->bn, SrcRx);
	/* its counters are in the order of the verdicts */
	BUILD_BUG_ON(BOLT_MIB_SrcFloor - BOLT_MIB_SrcDec !=
		     BOLT_SRC_VERDICT_FLOOR - BOLT_SRC_VERDICT_DEC);
	this_cpu_inc(f->bn->mib->v[BOLT_MIB_SrcDec + verdict]);
	return verdict;
}

/* --- flags of a data packet (sections 3.2 and 4.2): FIRST, LAST or INC --- */

/*
 * LAST (section 3.2): the data from @seq on fits in the window, so the flow has nothing to send in
 * the next RTT.  This cannot be told from a bulk sender between two writes.
 */
static bool bolt_is_last(const struct sock *sk, const struct bolt_flow *f, u32 seq)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->write_seq - seq <= (u64)f->cwnd * tp->mss_cache &&
	       !bolt_more_to_come(sk);
}

/* A new flow, or one that resumes after it was idle for more than a round trip */
static bool bolt_is_first(const struct sock *sk, const struct bolt_flow *f, u64 now_ns)
{
	u64 idle_since_ns = max(f->last_tx_ns, f->gap_end_ns);

	if (!f->last_tx_ns)
		return true;
	return !tcp_sk(sk)->packets_out && now_ns > idle_since_ns + 2ULL * f->core.min_rtt_ns &&
	       now_ns > f->last_ack_ns + f->gap_ns + f->core.min_rtt_ns;
}

/* The flags of data from @seq on.  INC is never set together with FIRST or LAST. */
u8 bolt_data_flags(struct sock *sk, struct bolt_flow *f, u32 seq, u64 now_ns)
{
	u8 flags = 0;

	if (bolt_is_first(sk, f, now_ns)) {
		/* the smoothed RTT is from before the idle time, and so are the windows */
		WRITE_ONCE(f->core.srtt_ns, 0);
		if (READ_ONCE(f->bn->idle_restart)) {
			swift_cap_start(&f->swift);
			bolt_cc_set(sk, f, (u64)f->init_cwnd << 32);
		}
		/*
		 * A small window gets no credit for the time it was idle (bolt_core_next_tx()): a
		 * second packet at once would queue in the NIC, where no SRC can take it back.  A
		 * large window keeps the credit of one packet, which hardly matters there and makes
		 * up for the serialization times that base_rtt_ns leaves out of the BDP.
		 */
		if (f->cwnd <= BOLT_SMALL_CWND)
			f->link_free_ns = now_ns;
		f->in_first = 1;
		f->first_end = seq + min_t(u64, (u64)f->cwnd * tcp_sk(sk)->mss_cache, 1U << 30);
	}
	f->in_first = f->in_first && before(seq, f->first_end);
	if (f->in_first)
		flags |= BOLT_F_FIRST;
	if (bolt_is_last(sk, f, seq))
		flags |= BOLT_F_LAST;
	/* do not request INC at the maximum window, or while Swift's window is the smaller one */
	if (!flags && bolt_core_packets(&f->core) <= f->cwnd &&
	    bolt_core_packets(&f->core) < f->max_cwnd)
		flags |= BOLT_F_INC;
	return flags;
}

/*
 * TCP has set cwnd to the packets in flight, or to one after an RTO, so halve the window that was
 * saved before (Swift, max_mdf = 0.5), or what SRCs have left of it since.
 */
static void bolt_on_loss(struct sock *sk, struct bolt_flow *f, bool rto)
{
	f->loss_cwnd_q32 = min(f->loss_cwnd_q32, f->core.cwnd_q32);
	if (rto && ++f->swift.retransmit_cnt >= SWIFT_RETX_RESET)
		f->loss_cwnd_q32 = min_t(u64, f->loss_cwnd_q32, BOLT_ONE);
	f->loss_cwnd_q32 = max_t(u64, f->loss_cwnd_q32 / 2, 1);
	bolt_cc_set(sk, f, f->loss_cwnd_q32);
}

static void bolt_undo(struct sock *sk, struct bolt_flow *f)
{
	bolt_cc_set(sk, f, max(f->core.cwnd_q32, f->prior_q32.bolt));
}

static void bolt_start(struct sock *sk, struct bolt_flow *f)
{
	f->core.last_dec_ns = ktime_get_ns();	/* last_dec_time starts with the flow */
	f->core.ai_seq = tcp_sk(sk)->snd_nxt;
	swift_cap_start(&f->swift);
}

struct bolt_controller bolt_cc_bolt __read_mostly = {
	.name		= "bolt",
	.start		= bolt_start,
	.on_ack		= bolt_on_ack,
	.on_src		= bolt_on_src,
	.on_loss	= bolt_on_loss,
	.undo		= bolt_undo,
};
