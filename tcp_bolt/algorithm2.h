/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Algorithm 2 of the Bolt paper as printed (net.bolt.debug.paper=1):
 *
 *   HandleSrc:  rtt_src   = now - t_data_tx
 *               target_q  = queue / packet * flow.rate / link_rate    [packets]
 *               if rtt_src / target_q <= now - last_dec:  cwnd -= 1
 *   HandleAck:  if INC:                     cwnd += 1
 *               if one RTT since last AI:   cwnd += 1
 *
 * Units and callers as in core.h.
 */
#ifndef _TCP_BOLT_ALGORITHM2_H
#define _TCP_BOLT_ALGORITHM2_H

#include <linux/overflow.h>

#include "core.h"

/*
 * flow.rate, in kbit/s: cwnd / srtt, at most the rate of the sender's link, which is that of a flow
 * without an RTT sample; error below one kbit/s.  If both are unknown (0), U32_MAX, which
 * bolt_core_target_q() turns into a reaction factor of 1.
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

/*
 * Lines 3-5.  Returns packets.  The reaction factor is truncated to 2^-16, and so is the result: it
 * is low by less than queue / pkt_bytes * 2^-16 + 2^-16 packets.
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

/*
 * HandleSrc, lines 1-8.  Returns true if cwnd has to be decreased by one packet.  @now_ns is then
 * last_dec_time, even if the caller cannot decrease a window that is at its minimum.  With
 * @target_q16 of 0 (this flow has no part in the queue, or the queue is empty) that is never so.
 */
static inline bool bolt_core_src(struct bolt_core *c, u64 now_ns, u32 rtt_src_ns, u64 target_q16)
{
	u64 product;

	/* line 6, multiplied out; a product that overflows 64 bits exceeds any rtt_src */
	if (!target_q16 ||
	    (!check_mul_overflow(now_ns - c->last_dec_ns, target_q16, &product) &&
	     (u64)rtt_src_ns << 16 > product))
		return false;
	c->last_dec_ns = now_ns;
	return true;
}

#endif /* _TCP_BOLT_ALGORITHM2_H */
