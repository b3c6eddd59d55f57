/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SRCC at the switch: when a sender has to slow down, and to what rate ("SRCC: Sub-RTT Congestion
 * Control for Lossless Datacenter Networks", section III).
 *
 *	congested	the packet's egress has a queue of more than Q_cth (III-B, III-C)
 *	shared		within T, a packet to an uncongested egress came in as this one did (III-B)
 *	both		CNM: send at C / n or less, for n flows to this egress (III-D)
 *
 * III-B prints the second test inverted: "less than T" is to mean that the ingress is not shared.
 * Section V-B.3 shows what is meant: with a small T, flows that share the ingress "will not be
 * notified".
 *
 * The flows to an egress are counted in periods of T: those seen in this one, or in the one before
 * if they were more.  All flows to a congested egress are congested, so n is m of equation 6.
 *
 * Pure: plain structs, bytes and ns in, decisions out; the qdisc's lock serializes.
 */
#ifndef _SFC_SRCC_H
#define _SFC_SRCC_H

#include "rate.h"

#define SFC_SRCC_WINDOW_RTTS	3	/* T: Figure 8(b) */
#define SFC_SRCC_LINKS_IN_RTT	8	/* d: there and back, in two levels of switches */
#define SFC_SRCC_SLOTS		1024
#define SFC_SRCC_PROBES		16
#define SFC_SRCC_STAMPS		16	/* in T, of what ports share: writes, counts */
#define SFC_SRCC_NEWS_SHIFT	4	/* of the rate: less of a change may wait */
#define SFC_SRCC_KEEPS		16	/* a part of C is left to the flows always */

/* As configured, with the defaults filled in */
struct sfc_srcc_cfg {
	u32	threshold;	/* bytes, or enum tc_sfc_srcc */
	u32	floor;		/* the least that a computed threshold may be */
	u32	delay_ns;	/* d, of a link */
	u32	window_ns;	/* T */
};

/* A flow to this egress; zero: free */
struct sfc_srcc_flow {
	u64	hash;
	u64	notified_ns;	/* newest CNM */
	u32	notified_kbps;	/* 0: none */
	u32	period;		/* in which it was seen */
};

/* An egress port; all zero is empty */
struct sfc_srcc {
	/* those seen; if there is no room, the one seen longest ago is forgotten */
	struct sfc_srcc_flow	flows[SFC_SRCC_SLOTS];
	u32			period;		/* number of the current one */
	u64			begin_ns;	/* when it began */
	u32			seen;		/* flows seen in it */
	u32			before;		/* flows seen in the one before */
	u64			sample_ns;	/* when the queue was measured */
	u32			sample;		/* bytes */
	u32			growth;		/* by which it grew in @delay_ns before that */
	u64			counted_ns;	/* when the ports were counted */
	u32			ports;		/* M: those in use */
};

/* A packet of the flow @hash, not 0, has arrived. */
static inline struct sfc_srcc_flow *sfc_srcc_see(struct sfc_srcc *s, const struct sfc_srcc_cfg *cfg,
						 u64 hash, u64 now)
{
	struct sfc_srcc_flow *f, *room = NULL;
	unsigned int i;

	if (!s->period || now - s->begin_ns >= cfg->window_ns) {
		s->before = now - s->begin_ns < 2ULL * cfg->window_ns ? s->seen : 0;
		s->seen = 0;
		s->begin_ns = now;
		s->period++;
	}
	for (i = 0; i < SFC_SRCC_PROBES; i++) {
		f = &s->flows[(hash + i) % SFC_SRCC_SLOTS];
		if (f->hash == hash)
			break;
		if (!room || s->period - f->period > s->period - room->period)
			room = f;
	}
	if (i == SFC_SRCC_PROBES) {
		f = room;
		*f = (struct sfc_srcc_flow){ .hash = hash, .period = s->period - 1 };
	}
	if (f->period != s->period && s->seen < SFC_SRCC_SLOTS)
		s->seen++;
	f->period = s->period;
	return f;
}

/* The flows stay, and so does their number: a CNM names C / n. */
static inline void sfc_srcc_forget_notified(struct sfc_srcc *s)
{
	unsigned int i;

	for (i = 0; i < SFC_SRCC_SLOTS; i++)
		s->flows[i].notified_kbps = 0;
}

/* n, and m of equation 6 */
static inline u32 sfc_srcc_count(const struct sfc_srcc *s)
{
	return max3(s->seen, s->before, 1U);
}

/* Measure how fast the queue grows: dQ/dt. */
static inline void sfc_srcc_measure(struct sfc_srcc *s, const struct sfc_srcc_cfg *cfg, u32 queue,
				    u64 now)
{
	u64 gap = now - s->sample_ns;

	if (gap < cfg->delay_ns)
		return;
	s->growth = div64_u64((u64)(queue - min(queue, s->sample)) * cfg->delay_ns, gap);
	s->sample_ns = now;
	s->sample = queue;
}

/*
 * Q_cth.  Measured: Q_PFC / M - N * d * dQ/dt, equation 5 with what the queue does (III-A, item 2).
 * Equation 6, its value for m flows that each send at C: Q_PFC / M - N * d * C * (m - 1).
 * @qpfc: xoff of the ingress; @hops: N
 */
static inline u32 sfc_srcc_threshold(const struct sfc_srcc *s, const struct sfc_srcc_cfg *cfg,
				     const struct sfc_rate *rate, u32 qpfc, u32 hops)
{
	u64 grows, room = qpfc / max(s->ports, 1U);

	if (cfg->threshold < TC_SFC_SRCC_MEASURED)
		return cfg->threshold;
	if (cfg->threshold == TC_SFC_SRCC_MEASURED)
		grows = (u64)hops * s->growth;
	else
		grows = (DIV_ROUND_UP_ULL(sfc_supply(rate, cfg->delay_ns), 1 << SFC_TOKEN_SHIFT)) *
			hops * (sfc_srcc_count(s) - 1);
	return max(room - min(room, grows), min_t(u64, cfg->floor, room));
}

/*
 * III-D: "the average rate of the congested flows", C / n.  That keeps a queue as it is, so the
 * first packets of each flow that joins add up until PFC has to pause all the same.  Therefore what
 * exceeds the threshold, @excess bytes, is taken off what the link carries in T, but for a part.
 */
static inline u32 sfc_srcc_kbps(const struct sfc_srcc *s, const struct sfc_srcc_cfg *cfg,
				const struct sfc_rate *rate, u32 excess)
{
	u64 room = sfc_supply(rate, cfg->window_ns) >> SFC_TOKEN_SHIFT;
	u64 left = room - min(room, excess);
	u32 part = max_t(u64, room ? div64_u64(left << 16, room) : 0, (1 << 16) / SFC_SRCC_KEEPS);

	return max_t(u64, (u64)(rate->kbps / sfc_srcc_count(s)) * part >> 16, 1);
}

/*
 * Does the flow know the rate @kbps?  A rate holds for T, so the flow is notified again after
 * half of that, or if the rate has moved by a sixteenth, but not sooner than it can hear of it.
 */
static inline bool sfc_srcc_knows(const struct sfc_srcc_flow *f, const struct sfc_srcc_cfg *cfg,
				  u32 kbps, u64 now)
{
	u32 moved = max(kbps, f->notified_kbps) - min(kbps, f->notified_kbps);
	u64 age = now - f->notified_ns;

	return f->notified_kbps &&
	       (age < cfg->delay_ns || (age < cfg->window_ns / 2 &&
					moved < max(f->notified_kbps >> SFC_SRCC_NEWS_SHIFT, 1U)));
}

#endif /* _SFC_SRCC_H */
