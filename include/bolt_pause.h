/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SFC at the sender: until when a flow is paused ("Source Flow Control", section 3.3), and the
 * watchdog that keeps a storm of pauses from stopping it.
 *
 *   BTS:       pause_end = now + pause_time; a later BTS replaces it, longer or shorter
 *   clamp:     pause_time <= max_ns
 *   watchdog:  time paused within an interval <= pct % of it.  A BTS that comes when that is used
 *              up trips it: the flow is deaf to pauses for recovery_ns, then it starts again
 *
 * Plain structs and the time in; a decision out.  No sk_buff and no socket, so that KUnit and user
 * space run the very same code.  Callers serialize.
 */
#ifndef _BOLT_PAUSE_H
#define _BOLT_PAUSE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/minmax.h>
#include <linux/math64.h>
#endif

/* No switch has a queue that takes longer to drain: such a message is refused, not clamped. */
#define BOLT_PAUSE_ABSURD_NS	1000000000U

/**
 * struct bolt_pause_conf - what net.bolt.* says
 * @max_ns:	longest pause that one BTS can ask for
 * @interval_ns: of the watchdog
 * @recovery_ns: how long a flow is deaf after the watchdog tripped
 * @pct:	per cent of @interval_ns that a flow may be paused; 100: no watchdog
 */
struct bolt_pause_conf {
	u64	max_ns;
	u64	interval_ns;
	u64	recovery_ns;
	u32	pct;
};

/**
 * struct bolt_pause_clock - what is remembered of one flow; all zero to begin with
 * @until_ns:	the pause ends; in the past: not paused
 * @mark_ns:	accounted for up to here
 * @begin_ns:	the watchdog's interval began; 0: none is open
 * @used_ns:	time paused within it, up to @mark_ns
 * @deaf_ns:	pauses are ignored until then
 */
struct bolt_pause_clock {
	u64	until_ns;
	u64	mark_ns;
	u64	begin_ns;
	u64	used_ns;
	u64	deaf_ns;
};

enum bolt_pause_what {
	BOLT_PAUSE_BEGUN,	/* was not paused, is now (or asked for no pause at all) */
	BOLT_PAUSE_REPLACED,	/* was paused, has another end now */
	BOLT_PAUSE_TRIPPED,	/* refused: the watchdog has just tripped */
	BOLT_PAUSE_DEAF,	/* refused: it has not recovered yet */
};

static inline bool bolt_pause_active(const struct bolt_pause_clock *p, u64 now_ns)
{
	return p->until_ns > now_ns;
}

/* Put what has passed of the pause on the watchdog's account. */
static inline void bolt_pause_account(struct bolt_pause_clock *p, u64 now_ns)
{
	if (p->until_ns > p->mark_ns)
		p->used_ns += min(p->until_ns, now_ns) - p->mark_ns;
	p->mark_ns = now_ns;
}

/**
 * bolt_pause_set() - a BTS has arrived
 * @p:		the flow's
 * @c:		the configuration
 * @now_ns:	the monotonic clock
 * @pause_ns:	what the BTS asks for; 0: go on at once
 *
 * Granted is what the clamp and the watchdog's account leave, so that a flow is never paused for
 * more than @c->pct of an interval, whatever it is told.  Intervals begin with a pause; one stretch
 * that spans two of them can be twice as long.
 */
static inline enum bolt_pause_what bolt_pause_set(struct bolt_pause_clock *p,
						  const struct bolt_pause_conf *c,
						  u64 now_ns, u64 pause_ns)
{
	bool paused = bolt_pause_active(p, now_ns);
	u64 budget;

	bolt_pause_account(p, now_ns);
	if (now_ns < p->deaf_ns)
		return BOLT_PAUSE_DEAF;
	if (!p->begin_ns || now_ns - p->begin_ns >= c->interval_ns) {
		p->begin_ns = now_ns;
		p->used_ns = 0;
	}
	pause_ns = min(pause_ns, c->max_ns);
	if (c->pct < 100) {
		budget = div_u64(c->interval_ns * c->pct, 100);
		if (p->used_ns >= budget) {
			p->until_ns = min(p->until_ns, now_ns);
			p->deaf_ns = now_ns + c->recovery_ns;
			p->begin_ns = 0;
			return BOLT_PAUSE_TRIPPED;
		}
		pause_ns = min(pause_ns, budget - p->used_ns);
	}
	p->until_ns = now_ns + pause_ns;
	return paused ? BOLT_PAUSE_REPLACED : BOLT_PAUSE_BEGUN;
}

/* How long this still matters: 0 when a flow never paused would be treated the same. */
static inline u64 bolt_pause_keep(const struct bolt_pause_clock *p,
				  const struct bolt_pause_conf *c, u64 now_ns)
{
	u64 end = max(p->until_ns, p->deaf_ns);

	if (p->begin_ns)
		end = max(end, p->begin_ns + c->interval_ns);
	return end > now_ns ? end - now_ns : 0;
}

#endif /* _BOLT_PAUSE_H */
