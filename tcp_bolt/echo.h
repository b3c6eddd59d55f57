/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The newest departures of a flow, and the RTT sample of an ACK that echoes one.
 *
 * The receiver chooses what it echoes.  It gains by a sample that is too short, which hides a queue
 * from Swift, and by one that is too long, for which an SRC takes less off the window.  So what it
 * echoes has to be a departure, and no older than that of the newest packet that TCP knows to have
 * arrived.  A departure that is not among those kept has to be that packet's, or of a packet that
 * is in flight.
 *
 * Pure.  Times are on the wire's clock, in ns, modulo 2^32.
 */
#ifndef _TCP_BOLT_ECHO_H
#define _TCP_BOLT_ECHO_H

#include "core.h"

#define BOLT_DEPARTURES	64

struct bolt_departures {
	struct bolt_stamp {
		u32	t_data_tx, seq;
	} last[BOLT_DEPARTURES];
	u8	next;
};

static inline void bolt_departures_add(struct bolt_departures *d, u32 t_data_tx, u32 seq)
{
	struct bolt_stamp *s = &d->last[d->next++ % BOLT_DEPARTURES];

	/* softirq reads it while the user sends: bolt_echo_is_recent() */
	WRITE_ONCE(s->t_data_tx, t_data_tx);
	WRITE_ONCE(s->seq, seq);
}

/* A packet may be stamped with a departure so far ahead, in a pacing qdisc */
#define BOLT_AHEAD_NS	100000000U

/* An ACK */
struct bolt_echo {
	u32	at;		/* its arrival */
	u32	t_data_tx;	/* what it echoes, not 0 */
	/* departure of the newest packet known to have arrived, up to a us too early */
	u32	newest;
	bool	processed;	/* by TCP: else it may yet hear of a newer packet */
	/* it echoes a packet that TCP does not know to have arrived; if bolt_echo_is_older() */
	bool	in_flight;
};

/* Instead of a sample */
#define BOLT_ECHO_NONE	0	/* nothing to compare it with, or of more than a second */
#define BOLT_ECHO_FALSE	(-1)	/* no departure */
#define BOLT_ECHO_LATER	(-2)	/* ask again once the ACK is processed */

/* Has it departed among the last? */
static inline bool bolt_echo_is_kept(const struct bolt_departures *d, u32 t_data_tx)
{
	unsigned int i;

	for (i = 0; i < BOLT_DEPARTURES; i++)
		if (d->last[i].t_data_tx == t_data_tx)
			return true;
	return false;
}

/* Is it older than all of those? */
static inline bool bolt_echo_is_older(const struct bolt_departures *d, const struct bolt_echo *e)
{
	u32 oldest = d->last[d->next % BOLT_DEPARTURES].t_data_tx, age_ns = e->at - oldest;

	return oldest && (e->at - e->t_data_tx > age_ns || age_ns > -BOLT_AHEAD_NS);
}

/* The sample of @e, in ns, or BOLT_ECHO_* */
static inline s32 bolt_echo_rtt_ns(const struct bolt_departures *d, const struct bolt_echo *e)
{
	u32 rtt_ns = e->at - e->t_data_tx, most_ns = e->at - e->newest;
	bool older = bolt_echo_is_older(d, e) && !e->in_flight;

	if (!older && !e->in_flight && !bolt_echo_is_kept(d, e->t_data_tx))
		return BOLT_ECHO_FALSE;
	if (older && !e->processed)
		return BOLT_ECHO_LATER;
	/* also if the newest has departed after this ACK came: it is left over from before */
	if (rtt_ns > BOLT_RTT_SRC_MAX_NS || most_ns > BOLT_RTT_SRC_MAX_NS)
		return BOLT_ECHO_NONE;
	rtt_ns = min(rtt_ns, most_ns);
	if (older)
		rtt_ns = max_t(s32, rtt_ns, most_ns - 1000);
	return max_t(u32, rtt_ns, 1);
}

#endif /* _TCP_BOLT_ECHO_H */
