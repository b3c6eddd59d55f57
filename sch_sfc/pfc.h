/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packet buffer of a switch: the limit of a port that shares it, when a neighbour has to pause,
 * and how long a port obeys a neighbour's PAUSE.
 *
 * Shared buffer (dynamic thresholds, Choudhury and Hahne): a port may hold
 *
 *	alpha * (buffer - in use)
 *
 * so a lone port takes alpha / (1 + alpha) of it.  A port publishes what it holds when that is
 * off by a grain, a 64th of the buffer over the number of ports: what all hold is known to a 64th.
 *
 * PFC (IEEE 802.1Q, clause 36; the frame is annex 31D's of IEEE 802.3):
 *
 *	bytes of one ingress and priority
 *	   xoff ------  beyond: PAUSE, again before half of it is over
 *	   xon  ------  below: a PAUSE of no quanta
 *
 * A packet's priority is the first three bits of its DSCP: it is the same where a packet comes in,
 * where it goes out, and in what a message quotes, which PCP and skb->priority are not.
 * Pure.
 */
#ifndef _SFC_PFC_H
#define _SFC_PFC_H

#include <linux/string.h>

#include "rate.h"

/* --- shared buffer --- */

#define SFC_BUFFER_ERROR_SHIFT	6

/* What a port may hold, bytes; @alpha in 1 / TC_SFC_ALPHA_ONE */
static inline u64 sfc_buffer_limit(u32 buffer, u32 used, u32 alpha)
{
	return used < buffer ? div_u64((u64)(buffer - used) * alpha, TC_SFC_ALPHA_ONE) : 0;
}

/* How far a port's published bytes may be off.  Configuration time only. */
static inline u32 sfc_buffer_grain(u32 buffer, u32 ports)
{
	return max((buffer >> SFC_BUFFER_ERROR_SHIFT) / max(ports, 1U), 1U);
}

/* --- frames --- */

#define SFC_PFC_STUCK_NS	(200 * NSEC_PER_MSEC)	/* watchdog; SONiC's defaults */
#define SFC_PFC_IGNORE_NS	(200 * NSEC_PER_MSEC)

#define SFC_PFC_PRIOS		8
#define SFC_PFC_NO_PRIO		SFC_PFC_PRIOS	/* of what no pause stops */
#define SFC_PFC_OPCODE		0x0101
#define SFC_PFC_QUANTA_MAX	0xffffU
#define SFC_PFC_FRAME		60	/* without FCS */
#define SFC_PFC_HEAD		14	/* addresses and type */
#define SFC_PFC_BODY		20	/* opcode, class-enable vector, a time for each class */
#define SFC_PFC_DEST		{ 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 }

/* A quantum is 512 bit times: 64 bytes, so 2^16 supply tokens */
#define SFC_PFC_QUANTUM_SHIFT	6

/* @r: a known rate */
static inline u64 sfc_pfc_quanta_ns(const struct sfc_rate *r, u32 quanta)
{
	return ((u64)quanta << SFC_PFC_QUANTUM_SHIFT) * r->time_mult >> r->time_shift;
}

/* Quanta of at least @ns, or the maximum of a frame */
static inline u32 sfc_pfc_ns_quanta(const struct sfc_rate *r, u64 ns)
{
	const u32 shift = SFC_PFC_QUANTUM_SHIFT + SFC_TOKEN_SHIFT;
	u64 tokens = sfc_supply(r, min_t(u64, ns, SFC_IDLE_NS - 1));

	return min_t(u64, (tokens >> shift) + 1, SFC_PFC_QUANTA_MAX);
}

/* The priorities paused by a frame, and for how long */
struct sfc_pfc_frame {
	u8	vector;
	u16	quanta[SFC_PFC_PRIOS];
};

/* @p: SFC_PFC_FRAME bytes; @source: of the device */
static inline void sfc_pfc_build(u8 *p, const u8 *source, const struct sfc_pfc_frame *f)
{
	static const u8 dest[] = SFC_PFC_DEST;
	unsigned int i;

	memset(p, 0, SFC_PFC_FRAME);
	memcpy(p, dest, sizeof(dest));
	memcpy(p + 6, source, 6);
	put_unaligned_be16(0x8808, p + 12);
	p += SFC_PFC_HEAD;
	put_unaligned_be16(SFC_PFC_OPCODE, p);
	p[3] = f->vector;
	for (i = 0; i < SFC_PFC_PRIOS; i++)
		if (f->vector & 1U << i)
			put_unaligned_be16(f->quanta[i], p + 4 + 2 * i);
}

/*
 * @p: @len bytes from the opcode on.  False: it is no PFC, or cut off.  The vector's first byte is
 * reserved, and ignored (table 31D-1); so are times of classes that are not enabled.
 */
static inline bool sfc_pfc_parse(const u8 *p, unsigned int len, struct sfc_pfc_frame *f)
{
	unsigned int i;

	if (len < SFC_PFC_BODY || get_unaligned_be16(p) != SFC_PFC_OPCODE)
		return false;
	f->vector = p[3];
	for (i = 0; i < SFC_PFC_PRIOS; i++)
		f->quanta[i] = f->vector & 1U << i ? get_unaligned_be16(p + 4 + 2 * i) : 0;
	return true;
}

/* --- PAUSE frames to a neighbour --- */

/* One priority of a neighbour */
struct sfc_xoff {
	u64	until_ns;	/* end of the pause sent to it; in the past: it may send */
	u64	ask_ns;		/* SFC-P: end of the pause requested */
	bool	full;		/* the pause was sent because of bytes queued here */
};

/*
 * The quanta of the next PAUSE frame to send, 0 for XON; -1: none.  @full: more waits than xoff,
 * and not yet less than xon.  @again_ns becomes the time to ask again at the latest; 0: when
 * something changes.  A pause is sent again when the neighbour does not know of half of it, well
 * before it is over.
 */
static inline int sfc_xoff_next(struct sfc_xoff *t, const struct sfc_rate *r, bool full, u64 now,
				u64 *again_ns)
{
	u64 most = sfc_pfc_quanta_ns(r, SFC_PFC_QUANTA_MAX), end;
	u64 left = t->ask_ns > now ? t->ask_ns - now : 0;
	bool changed = full != t->full, longest = full || left > most;
	u32 quanta = 0;

	if (longest)
		quanta = SFC_PFC_QUANTA_MAX;
	else if (left)
		quanta = sfc_pfc_ns_quanta(r, left);
	end = now + sfc_pfc_quanta_ns(r, quanta);
	*again_ns = 0;
	t->full = full;
	if (changed ? quanta || t->until_ns > now :
	    end > t->until_ns && 2 * (end - t->until_ns) >= end - now && quanta) {
		t->until_ns = end;
		if (longest)
			*again_ns = end - most / 2;
		return quanta;
	}
	if (longest)
		*again_ns = t->until_ns - most / 2;
	else if (left && t->ask_ns > t->until_ns)
		*again_ns = 2 * t->until_ns - t->ask_ns;
	return -1;
}

/* --- PAUSE frames from a neighbour --- */

/* One priority of a port */
struct sfc_paused {
	u64	until_ns;	/* end of its pause */
	u64	ignore_ns;	/* PAUSE frames are ignored until then */
};

/* The watchdog of one band */
struct sfc_pfc_watch {
	u64	stuck_ns;	/* since when the packet at its head was stopped; 0: it was not */
	u64	ignore_ns;	/* no pause stops the band until then */
};

/* A frame requests @pause_ns.  Returns false if it is ignored. */
static inline bool sfc_paused_set(struct sfc_paused *p, u64 now, u64 pause_ns)
{
	if (now < p->ignore_ns)
		return false;
	p->until_ns = pause_ns ? now + pause_ns : 0;
	return true;
}

enum sfc_paused_verdict {
	SFC_PAUSED_NOT,
	SFC_PAUSED_TRIPPED,	/* the watchdog has just ended the pause */
	SFC_PAUSED,
};

/*
 * The head of a band is of this priority.  Watchdog: after @stuck_ns (0: off) without a packet of
 * the band sent, PAUSE frames for the priority, and for the band any, are ignored for @ignore_ns.
 */
static inline enum sfc_paused_verdict sfc_paused_stops(struct sfc_paused *p,
						       struct sfc_pfc_watch *w, u64 stuck_ns,
						       u64 ignore_ns, u64 now)
{
	/* another band's watchdog has freed the head that was stopped */
	if (w->stuck_ns && now < p->ignore_ns)
		w->ignore_ns = p->ignore_ns;
	if (now >= p->until_ns || now < w->ignore_ns)
		return SFC_PAUSED_NOT;
	if (!w->stuck_ns)
		w->stuck_ns = now;
	if (!stuck_ns || now - w->stuck_ns < stuck_ns)
		return SFC_PAUSED;
	p->until_ns = 0;
	w->stuck_ns = 0;
	p->ignore_ns = now + ignore_ns;
	w->ignore_ns = p->ignore_ns;
	return SFC_PAUSED_TRIPPED;
}

/* When to try again after SFC_PAUSED */
static inline u64 sfc_paused_wake_ns(const struct sfc_paused *p, const struct sfc_pfc_watch *w,
				     u64 stuck_ns)
{
	return stuck_ns ? min(p->until_ns, w->stuck_ns + stuck_ns) : p->until_ns;
}

#endif /* _SFC_PFC_H */
