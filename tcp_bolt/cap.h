/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SRCC at the sender: the rate that switches limit a flow to ("SRCC: Sub-RTT Congestion Control for
 * Lossless Datacenter Networks", section III-E).
 *
 *	CNM:	the flow sends at its target rate from now on
 *		of several switches the lowest rate applies
 *
 * The paper does not say how a sender recovers.  Here a CNM holds for three round trips.  A switch
 * takes a flow for present for three of its "rtt", and repeats the CNM in half of that while the
 * congestion lasts: in time if "rtt" is at most twice the flow's round trip.  Then the rate doubles
 * each round trip, so that a flow whose CNM ends too soon hears of the next one before it is far
 * beyond its share, and the limit ends at the rate of the link that the CNM names.
 *
 * Pure.  Callers serialize.
 */
#ifndef _TCP_BOLT_CAP_H
#define _TCP_BOLT_CAP_H

#include <linux/log2.h>

#include "core.h"

#define BOLT_CAP_SWITCHES	4	/* congested, on a path; the least strict is forgotten */
#define BOLT_CAP_LIFE		3	/* round trips */
#define BOLT_CAP_RTT_MIN_NS	1000U
#define BOLT_CAP_RTT_MAX_NS	100000000U

/* One switch's CNM; kbps is 0: none */
struct bolt_cnm {
	u64	at_ns;
	u32	switch_id;
	u32	kbps;
	u32	rtt_ns;
	u8	doublings;	/* until it is the link's rate */
};

/* The limit of one flow, initially all zero */
struct bolt_cap {
	struct bolt_cnm	cnm[BOLT_CAP_SWITCHES];	/* the newest of each switch */
	u64		next_ns;		/* when the next packet may leave */
};

static inline u64 bolt_cnm_end_ns(const struct bolt_cnm *c)
{
	return c->kbps ? c->at_ns + (u64)c->rtt_ns * (BOLT_CAP_LIFE + c->doublings) : 0;
}

/* What a switch limits the flow to, kbit/s; 0: nothing */
static inline u64 bolt_cnm_kbps(const struct bolt_cnm *c, u64 now_ns)
{
	u64 rtts;

	if (now_ns >= bolt_cnm_end_ns(c))
		return 0;
	/* a packet may have been stamped before a message that waited for the socket came */
	rtts = div_u64(now_ns - min(now_ns, c->at_ns), c->rtt_ns);
	return (u64)c->kbps << (rtts < BOLT_CAP_LIFE ? 0 : rtts - BOLT_CAP_LIFE + 1);
}

/* The limit now, kbit/s; 0: there is none */
static inline u64 bolt_cap_kbps(const struct bolt_cap *cap, u64 now_ns)
{
	u64 least = 0, kbps;
	int i;

	for (i = 0; i < BOLT_CAP_SWITCHES; i++) {
		kbps = bolt_cnm_kbps(&cap->cnm[i], now_ns);
		if (kbps && (!least || kbps < least))
			least = kbps;
	}
	return least;
}

/* Remaining ns for which the state is needed */
static inline u64 bolt_cap_left(const struct bolt_cap *cap, u64 now_ns)
{
	u64 end_ns = 0;
	int i;

	for (i = 0; i < BOLT_CAP_SWITCHES; i++)
		end_ns = max(end_ns, bolt_cnm_end_ns(&cap->cnm[i]));
	return end_ns > now_ns ? end_ns - now_ns : 0;
}

/* The CNM that @switch_id's replaces: its own, else one that is over, else the least strict */
static inline struct bolt_cnm *bolt_cap_slot(struct bolt_cap *cap, u32 switch_id, u64 now_ns)
{
	struct bolt_cnm *room = cap->cnm;
	u64 most = 0, kbps;
	int i;

	for (i = 0; i < BOLT_CAP_SWITCHES; i++) {
		kbps = bolt_cnm_kbps(&cap->cnm[i], now_ns) ?: U64_MAX;
		if (cap->cnm[i].switch_id == switch_id && kbps != U64_MAX)
			return &cap->cnm[i];
		if (kbps > most) {
			most = kbps;
			room = &cap->cnm[i];
		}
	}
	return room;
}

/* A CNM has arrived: @kbps, not 0, for a flow whose round trip is @rtt_ns */
static inline void bolt_cap_set(struct bolt_cap *cap, u64 now_ns, u32 switch_id, u32 kbps,
				u32 link_kbps, u64 rtt_ns)
{
	*bolt_cap_slot(cap, switch_id, now_ns) = (struct bolt_cnm){
		.at_ns = now_ns,
		.switch_id = switch_id,
		.kbps = kbps,
		.rtt_ns = clamp_t(u64, rtt_ns, BOLT_CAP_RTT_MIN_NS, BOLT_CAP_RTT_MAX_NS),
		.doublings = kbps < link_kbps ? ilog2(link_kbps / kbps) : 0,
	};
}

/*
 * A packet of @len bytes leaves at @at_ns.  The next may when this has been sent at the limit, or
 * when that is over.
 */
static inline void bolt_cap_sent(struct bolt_cap *cap, u64 at_ns, u32 len)
{
	u64 kbps = bolt_cap_kbps(cap, at_ns), next_ns;

	if (!kbps)
		return;
	next_ns = max(cap->next_ns, at_ns) + bolt_core_queue_ns(len, kbps);
	/* a dump looks whether there is any */
	WRITE_ONCE(cap->next_ns, min(next_ns, at_ns + bolt_cap_left(cap, at_ns)));
}

#endif /* _TCP_BOLT_CAP_H */
