/* SPDX-License-Identifier: GPL-2.0 */
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
 *
 * Pure: numbers go in, a number comes out, so that KUnit runs the same code.
 */
#ifndef _TCP_BOLT_RECOVERY_H
#define _TCP_BOLT_RECOVERY_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

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

#endif /* _TCP_BOLT_RECOVERY_H */
