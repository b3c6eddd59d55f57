/* SPDX-License-Identifier: GPL-2.0 */
/* Swift as a cap on Bolt's window (Bolt, section 6), for queues of switches without SRC.  Pure. */
#ifndef _TCP_BOLT_BROWNFIELD_H
#define _TCP_BOLT_BROWNFIELD_H

#include "swift.h"

/*
 * Queueing delay reported by SRC.  An ACK arrives after the SRC that its data packet caused, and
 * within a round trip of it.
 */
struct swift_reported {
	u64	since_ns;	/* start of the current round trip */
	u32	ns;		/* largest queueing delay reported in it */
	u32	prev_ns;	/* the same of the round trip before */
};

static inline u32 swift_reported_ns(struct swift_reported *t, u64 now_ns, u32 rtt_ns)
{
	u64 age_ns = now_ns - t->since_ns;

	/* an SRC arrives later than TCP last read the clock, when a user owned the socket */
	if ((s64)age_ns > rtt_ns) {
		t->prev_ns = age_ns > 2ULL * rtt_ns ? 0 : t->ns;
		t->ns = 0;
		t->since_ns = now_ns;
	}
	return max(t->ns, t->prev_ns);
}

/* On receiving an SRC */
static inline void swift_report_queue(struct swift_reported *t, u64 now_ns, u32 rtt_ns,
				      u32 queue_ns)
{
	swift_reported_ns(t, now_ns, rtt_ns);
	t->ns = max(t->ns, queue_ns);
}

/* No cap until a delay exceeds the target */
static inline void swift_cap_start(struct swift *s)
{
	s->fabric.cwnd_q32 = SWIFT_CWND_MAX;
}

/*
 * On receiving an ACK.  @effective_q32 is the smaller of Swift's and Bolt's window, with which the
 * flow sends; @reported_ns is the part of the delay that SRC have reported, to which Bolt reacts.
 *
 * As with Swift's two windows (section 3.3), a window that is not the limit grows up to its
 * maximum.  But the delay was caused by the smaller window, so a decrease starts from that.
 */
static inline bool swift_cap_ack(struct swift *s, const struct swift_conf *c,
				 const struct swift_bounds *b, const struct swift_ack *ack,
				 u64 effective_q32, u32 reported_ns)
{
	u32 delay = ack->rtt_ns - min_t(u64, (u64)ack->remote_ns + ack->local_ns + reported_ns,
					ack->rtt_ns);
	u32 target = swift_target_ns(c, b, min(s->fabric.cwnd_q32, effective_q32), ack->hops);
	struct swift_win *w = &s->fabric;
	struct swift_ack a = *ack;

	s->rtt_ns = a.rtt_ns;
	if (w->cwnd_q32 > effective_q32)
		a.limited = true;
	/* neither of these is a decrease, so last_dec_ns does not change */
	w->cwnd_q32 = min(w->cwnd_q32, b->max_q32);
	if (delay >= target && swift_can_decrease(w, a.now_ns, a.rtt_ns))
		w->cwnd_q32 = min(w->cwnd_q32, effective_q32);
	return swift_win_ack(w, b, &a, delay, target);
}

#endif /* _TCP_BOLT_BROWNFIELD_H */
