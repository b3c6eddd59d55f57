/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SFC at the sender: the end of a flow's pause ("Source Flow Control", section 3.3), and a watchdog
 * so that a storm of BTS cannot stop the flow.
 *
 *   BTS:       pause_end = now + pause_time; a later BTS replaces it, longer or shorter.
 *              One of 0 ends it, and is none for the watchdog
 *   clamp:     pause_time <= max_ns
 *   watchdog:  time paused within an interval <= pct % of it.  A BTS that arrives when that is used
 *              up trips the watchdog: the flow ignores BTS for recovery_ns, then obeys them again
 *
 * Pure.  Callers serialize.
 */
#ifndef _BOLT_PAUSE_H
#define _BOLT_PAUSE_H

#include <linux/types.h>
#include <linux/minmax.h>
#include <linux/math64.h>

/* No switch has a queue that takes longer to drain: refuse such a message, do not clamp it. */
#define BOLT_PAUSE_ABSURD_NS	1000000000U

/* Settings */
struct bolt_pause_conf {
	u64	max_ns;		/* longest pause granted to one BTS */
	u64	interval_ns;	/* interval of the watchdog */
	u64	recovery_ns;	/* how long a flow ignores pauses after it tripped */
	u32	pct;		/* of an interval that a flow may be paused; 100: no watchdog */
};

/* The state of one flow, initially all zero */
struct bolt_pause_clock {
	u64	until_ns;		/* end of the pause; in the past: not paused */
	u64	mark_ns;		/* used_ns includes paused time up to here */
	u64	begin_ns;		/* start of the watchdog's interval; 0: there is none */
	u64	used_ns;		/* time paused within it, up to mark_ns */
	u64	ignore_until_ns;	/* pauses are ignored until then */
};

enum bolt_pause_what {
	BOLT_PAUSE_BEGUN,	/* a pause begins */
	BOLT_PAUSE_REPLACED,	/* a pause ends at another time, or none is there to end */
	BOLT_PAUSE_TRIPPED,	/* refused: the watchdog has just tripped */
	BOLT_PAUSE_IGNORED,	/* refused: the watchdog has not recovered yet */
};

static inline bool bolt_pause_active(const struct bolt_pause_clock *p, u64 now_ns)
{
	return p->until_ns > now_ns;
}

/* Add the part of the pause that has passed to @used_ns. */
static inline void bolt_pause_account(struct bolt_pause_clock *p, u64 now_ns)
{
	if (p->until_ns > p->mark_ns)
		p->used_ns += min(p->until_ns, now_ns) - p->mark_ns;
	p->mark_ns = now_ns;
}

/*
 * A BTS has arrived.  The pause granted is limited to @c->max_ns and to what the watchdog leaves of
 * @c->pct per cent of an interval.  An interval begins with a pause, so one stretch that spans two
 * intervals can be paused for twice as long.
 */
static inline enum bolt_pause_what bolt_pause_set(struct bolt_pause_clock *p,
						  const struct bolt_pause_conf *c,
						  u64 now_ns, u64 pause_ns)
{
	bool paused = bolt_pause_active(p, now_ns);
	u64 budget;

	bolt_pause_account(p, now_ns);
	if (now_ns < p->ignore_until_ns)
		return BOLT_PAUSE_IGNORED;
	if (!pause_ns) {
		p->until_ns = now_ns;
		return BOLT_PAUSE_REPLACED;
	}
	if (!p->begin_ns || now_ns - p->begin_ns >= c->interval_ns) {
		p->begin_ns = now_ns;
		p->used_ns = 0;
	}
	pause_ns = min(pause_ns, c->max_ns);
	if (c->pct < 100) {
		budget = div_u64(c->interval_ns * c->pct, 100);
		if (p->used_ns >= budget) {
			p->until_ns = min(p->until_ns, now_ns);
			p->ignore_until_ns = now_ns + c->recovery_ns;
			p->begin_ns = 0;
			return BOLT_PAUSE_TRIPPED;
		}
		pause_ns = min(pause_ns, budget - p->used_ns);
	}
	p->until_ns = now_ns + pause_ns;
	return paused ? BOLT_PAUSE_REPLACED : BOLT_PAUSE_BEGUN;
}

/* Remaining ns for which the state is needed; 0: it is equivalent to the initial state. */
static inline u64 bolt_pause_keep(const struct bolt_pause_clock *p,
				  const struct bolt_pause_conf *c, u64 now_ns)
{
	u64 end = max(p->until_ns, p->ignore_until_ns);

	if (p->begin_ns)
		end = max(end, p->begin_ns + c->interval_ns);
	return end > now_ns ? end - now_ns : 0;
}

#endif /* _BOLT_PAUSE_H */
