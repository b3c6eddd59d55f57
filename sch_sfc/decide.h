/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bolt at the switch: Algorithms 1 and 3, for one packet at one port.
 *
 * Pure; the only state kept is the port's tokens.
 *
 *	queue >= ccthresh       DEC not set: SRC, set DEC; set: another switch did
 *	LAST                    not FIRST: one more PRU token; INC is cleared
 *	else INC                kept if a PRU token or, below ccthresh, an MTU of supply pays,
 *	                        else cleared
 *
 * Where this differs from the paper's listing, which the option "paper" has (@paper, and by
 * sfc_config_derive() @smcap, @floor and @pru_max), or fills it in:
 * - Supply and demand (line 3) are counted on every packet, not only on data: ACKs
 *   and traffic without the option use the link as well.
 * - Supply may be saved up beyond one MTU: see sfc_supply_cap().
 * - PRU tokens come and go while sfc_pru_counts(), not only below CC_THRESH (line 4).
 * - INC on a LAST packet is cleared.  Line 11 would let it pass unpaid; a sender
 *   never sets both.
 * - INC is cleared in a queue where DEC was set before as well, unless a token pays.  Line 5 would
 *   let it pass unpaid.
 * - Congestion takes supply from INC even where no SRC can be sent (nosrc, unknown link rate,
 *   SRC limit), and DEC is set only when one was.
 * - A super-packet that was not split stands for @segs packets that share its flags:
 *   its receiver counts INC @segs times, so it pays @segs tokens, all or none, and may save
 *   up as many MTU of supply.
 */
#ifndef _SFC_DECIDE_H
#define _SFC_DECIDE_H

#include <uapi/linux/bolt.h>
#include "rate.h"

#define SFC_PRU_MAX	256	/* tokens; the authors' simulator caps there as well */

/* --- tokens --- */

/*
 * Algorithm 1, line 12: @pkts packets will not come again.  Returns how many were taken in, of @max
 * in all.
 */
static inline u32 sfc_pru_add(u32 *pru_token, u32 pkts, u32 max)
{
	pkts = min(pkts, max - *pru_token);
	*pru_token += pkts;
	return pkts;
}

/* Algorithm 1, lines 14-15: all or nothing. */
static inline bool sfc_pru_take(u32 *pru_token, u32 pkts)
{
	if (*pru_token < pkts)
		return false;
	*pru_token -= pkts;
	return true;
}

/* Supply matching at a port */
struct sfc_sm {
	s64	token;		/* 1/1024 byte; positive: the link had room, negative: a queue */
	u64	last_ns;	/* arrival of the packet before */
};

/*
 * Algorithm 3: by @now the token has changed by @change; it may rise to @cap bytes (line 7), and
 * fall to @floor bytes below zero.
 *
 * The paper has no floor.  Ours is what the port can queue, since a deeper deficit is no queue but
 * demand that was dropped, or a link faster than it says; without it a minute of overload by
 * unresponsive traffic would disable supply matching for the next minute.
 */
static inline void sfc_sm_change(struct sfc_sm *sm, u64 now, s64 change, u32 cap, u32 floor)
{
	s64 top = sfc_bytes_to_tokens(cap);
	u64 gap = now - sm->last_ns;

	sm->last_ns = now;
	/* in so long a gap @change does not count its supply right */
	sm->token = gap >= SFC_IDLE_NS ? top :
		    clamp_t(s64, sm->token + change, -sfc_bytes_to_tokens(floor), top);
}

/* Algorithm 3 on every packet, of @demand bytes, that wants the link, whose rate is known */
static inline void sfc_sm_update(struct sfc_sm *sm, const struct sfc_rate *r, u64 now,
				 u32 demand, u32 cap, u32 floor)
{
	s64 change = sfc_supply(r, now - sm->last_ns) - sfc_bytes_to_tokens(demand);

	sfc_sm_change(sm, now, change, cap, floor);
}

/* Algorithm 1, lines 16-17: pay @bytes for the packet that INC will bring, if there is room. */
static inline bool sfc_sm_take(struct sfc_sm *sm, u32 bytes)
{
	if (sm->token < sfc_bytes_to_tokens(bytes))
		return false;
	sm->token -= sfc_bytes_to_tokens(bytes);
	return true;
}

static inline s64 sfc_sm_bytes(const struct sfc_sm *sm)
{
	return sm->token >> SFC_TOKEN_SHIFT;
}

/* --- the decision --- */

/* A port, as the algorithm sees it */
struct sfc_alg_cfg {
	struct sfc_rate	rate;		/* of the port: shaped, or the link's */
	u32		ccthresh;	/* CC_THRESH, bytes */
	u32		pruthresh;	/* queue in which PRU counts, bytes; at least @ccthresh */
	u32		mtu;		/* bytes of the largest packet, counted as packets are */
	/* bytes of supply that may be saved up; at least what one grant costs */
	u32		smcap;
	u32		floor;		/* bytes the supply token may fall below zero */
	u32		pru_max;	/* SFC_PRU_MAX, or no limit */
	bool		pru;		/* section 3.2 is on */
	bool		sm;		/* section 3.3 is on, and @rate known */
	bool		paper;		/* lines 4, 5 and 11 as printed, and line 3 of data only */
	u64		link_bps;	/* of the link, also below a shaper; bytes/s, for PFC */
};

/* No device has a larger MTU but those that take any; and more segments than any super-packet has
 * at a sensible MSS.  They keep segs * mtu in 32 bits.
 */
#define SFC_MTU_MAX	(1U << 19)
#define SFC_SEGS_MAX	4096

#define SFC_SM_IDLE_NS	65536	/* a gap this long is an idle link */

/* The tokens of a port */
struct sfc_alg_state {
	struct sfc_sm	sm;
	u32		pru_token;	/* packets, 0..@pru_max */
};

/* A packet that arrives */
struct sfc_alg_in {
	u64	now;		/* ns */
	/* bytes waiting at the port, without this packet and without the one on the wire */
	u32	queue;
	u32	size;		/* bytes of this packet on the link */
	u32	segs;		/* packets it stands for, 1..SFC_SEGS_MAX */
	u8	flags;		/* BOLT_F_* of its option; 0 without */
	bool	can_src;	/* an SRC could be sent for it */
};

/* What paid for the INC that was kept */
enum sfc_grant {
	SFC_GRANT_NONE,
	SFC_GRANT_PRU,
	SFC_GRANT_SM,
};

/* The decision */
struct sfc_decision {
	u8		flags;		/* the new flags of the option */
	bool		src;		/* send SRC; when that fails, take DEC out of @flags */
	bool		data;		/* Algorithm 1 went past line 2 */
	bool		congested;	/* line 4 held */
	enum sfc_grant	grant;
	u32		pru_added;	/* tokens gained */
};

/*
 * How much supply may be saved up, in bytes.  The paper says one MTU (Algorithm 3, line 7),
 * so that what an idle link did not carry long ago is not handed out now.  ACK clocking gathers
 * each flow's window into a solid block, though.  When another flow has left, the blocks
 * that remain arrive at line rate with gaps between them: one MTU grants the first packet of each
 * block and no more, one packet per RTT.  So save up the gaps of a round trip, but nothing across
 * a gap that means an idle link; 65 us, as the paper takes it (section 4.1).
 */
static inline u32 sfc_supply_cap(const struct sfc_alg_cfg *cfg, const struct sfc_sm *sm,
				 const struct sfc_alg_in *in)
{
	u32 cap = in->segs * cfg->mtu;

	if (in->now - sm->last_ns < SFC_SM_IDLE_NS)
		cap = max(cap, cfg->smcap);
	return cap;
}

/*
 * How long a queue may be for PRU: @pruthresh, by default a quarter of the BDP.  The paper has
 * CC_THRESH: what ends makes room for the queue.  But the additive increase alone keeps a port
 * above it for rtt_src / rtt of the time (Appendix A, equation 1) with two or three packets.  All
 * that end meanwhile would be lost, a third of the window of a flow that ends; and tokens not
 * handed out meanwhile come too late, as a token is the room of one packet, one round trip later.
 */
static inline bool sfc_pru_counts(const struct sfc_alg_cfg *cfg, const struct sfc_alg_in *in)
{
	return cfg->pru && in->queue < cfg->pruthresh;
}

/* Lines 2, 11, 13: does the packet request a token? */
static inline bool sfc_wants_grant(const struct sfc_alg_in *in)
{
	return (in->flags & (BOLT_F_DATA | BOLT_F_INC | BOLT_F_LAST)) == (BOLT_F_DATA | BOLT_F_INC);
}

/* Lines 14-19: may the flow grow by as many packets as arrived here? */
static inline enum sfc_grant sfc_pay_inc(const struct sfc_alg_cfg *cfg, struct sfc_alg_state *st,
					 const struct sfc_alg_in *in, bool congested)
{
	if (st->pru_token && sfc_pru_counts(cfg, in) && sfc_pru_take(&st->pru_token, in->segs))
		return SFC_GRANT_PRU;
	if (!congested && cfg->sm && sfc_sm_take(&st->sm, in->segs * cfg->mtu))
		return SFC_GRANT_SM;
	return SFC_GRANT_NONE;
}

/* Line 3, on every packet, but see @paper; where several queues share a link, share.h does it */
static __always_inline void sfc_decide_supply(const struct sfc_alg_cfg *cfg,
					      struct sfc_alg_state *st,
					      const struct sfc_alg_in *in)
{
	if (cfg->sm)
		sfc_sm_update(&st->sm, &cfg->rate, in->now, in->size,
			      sfc_supply_cap(cfg, &st->sm, in), cfg->floor);
}

/* The rest of Algorithm 1, for every packet before it joins the queue */
static __always_inline void sfc_decide(const struct sfc_alg_cfg *cfg, struct sfc_alg_state *st,
				       const struct sfc_alg_in *in, struct sfc_decision *out)
{
	*out = (struct sfc_decision){ .flags = in->flags };

	if (!(in->flags & BOLT_F_DATA))					/* line 2 */
		return;
	out->data = true;

	/* nothing waits: known to the compiler where the caller says so, whatever ccthresh is */
	if (in->queue && in->queue >= cfg->ccthresh) {			/* line 4 */
		out->congested = true;
		if (!(in->flags & BOLT_F_DEC)) {			/* line 5 */
			out->src = in->can_src;				/* lines 6-9 */
			if (out->src)
				out->flags |= BOLT_F_DEC;		/* line 10 */
			if (cfg->paper)
				out->flags &= ~BOLT_F_INC;
		}
		if (cfg->paper)
			return;
	}
	if (in->flags & BOLT_F_LAST) {					/* line 11 */
		if (!(in->flags & BOLT_F_FIRST) &&			/* line 12 */
		    sfc_pru_counts(cfg, in))
			out->pru_added = sfc_pru_add(&st->pru_token, in->segs, cfg->pru_max);
		if (!cfg->paper)
			out->flags &= ~BOLT_F_INC;
	} else if (out->flags & BOLT_F_INC) {				/* line 13 */
		out->grant = sfc_pay_inc(cfg, st, in, out->congested); /* lines 14-17 */
		if (out->grant == SFC_GRANT_NONE)
			out->flags &= ~BOLT_F_INC;			/* lines 10, 18-19 */
	}
}

#endif /* _SFC_DECIDE_H */
