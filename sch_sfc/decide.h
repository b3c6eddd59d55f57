/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bolt at the switch: Algorithm 1, for one packet at one port.
 *
 * Pure: what is known of the packet and the queue goes in, a decision comes out; the
 * only state is the port's tokens.
 *
 *	queue >= ccthresh       DEC not set: SRC unless NOSRC, set DEC; set: another switch did
 *	LAST                    not FIRST: one more PRU token; INC is gone
 *	else INC                kept if a PRU token or, below ccthresh, an MTU of supply pays,
 *	                        else gone
 *
 * Where this differs from the paper's listing, or fills it in:
 * - Supply and demand (line 3) are counted on every packet, not only on data: ACKs
 *   and traffic without the option use the link as well.
 * - Supply may be saved up beyond one MTU: see sfc_supply_cap().
 * - PRU tokens come and go while sfc_pru_counts(), not only below CC_THRESH (line 4).
 * - INC on a LAST packet is cleared.  Line 11 would let it pass unpaid; a sender
 *   never sets both.
 * - Congestion takes supply from INC even where no SRC can be sent (nosrc, unknown link rate,
 *   SRC limit), and DEC is set only when one was, or would have been but for NOSRC.
 * - A super-packet that was not split stands for @segs packets that share its flags:
 *   its receiver counts INC @segs times, so it pays @segs tokens, all or none, and may save
 *   up as many MTU of supply.
 */
#ifndef _SFC_DECIDE_H
#define _SFC_DECIDE_H

#include <uapi/linux/bolt.h>
#include "tokens.h"

/**
 * struct sfc_alg_cfg - a port, as the algorithm sees it
 * @rate:	of the link
 * @ccthresh:	CC_THRESH, bytes
 * @mtu:	bytes of the largest packet, counted as packets are
 * @smcap:	bytes of supply that may be saved up; at least what one grant costs
 * @floor:	bytes the supply token may fall below zero
 * @pru:	section 3.2 is on
 * @sm:		section 3.3 is on, and @rate known
 */
struct sfc_alg_cfg {
	struct sfc_rate	rate;
	u32		ccthresh;
	u32		mtu;
	u32		smcap;
	u32		floor;
	bool		pru;
	bool		sm;
};

/* More segments than any super-packet has at a sensible MSS; keeps segs * mtu in 32 bits */
#define SFC_SEGS_MAX	4096

#define SFC_SM_IDLE_NS	65536	/* a gap this long is an idle link */

/* What a port remembers */
struct sfc_alg_state {
	struct sfc_sm	sm;
	u32		pru_token;	/* packets, 0..SFC_PRU_MAX */
};

/**
 * struct sfc_alg_in - a packet that arrives
 * @now:	ns
 * @queue:	bytes waiting at the port, without this packet and without the one on the wire
 * @size:	bytes of this packet on the link
 * @segs:	packets it stands for, 1..SFC_SEGS_MAX
 * @flags:	BOLT_F_* of its option; 0 without
 * @can_src:	an SRC could be sent for it
 */
struct sfc_alg_in {
	u64	now;
	u32	queue;
	u32	size;
	u32	segs;
	u8	flags;
	bool	can_src;
};

/* What paid for the INC that was kept */
enum sfc_grant {
	SFC_GRANT_NONE,
	SFC_GRANT_PRU,
	SFC_GRANT_SM,
};

/**
 * struct sfc_decision - what to do with it
 * @flags:	its flags from now on
 * @src:	send SRC; when that fails, take DEC out of @flags
 * @data:	Algorithm 1 went past line 2
 * @congested:	line 4 held
 * @grant:	see enum
 * @pru_added:	tokens gained
 */
struct sfc_decision {
	u8		flags;
	bool		src;
	bool		data;
	bool		congested;
	enum sfc_grant	grant;
	u32		pru_added;
};

/*
 * How much supply may be saved up, in bytes.  The paper says one MTU (Algorithm 3, line 7),
 * so that what an idle link did not carry long ago is not handed out now.  ACK clocking gathers
 * each flow's window into a solid block, though.  When another flow has left, the blocks
 * that remain arrive at line rate with gaps between them: one MTU grants the first packet of each
 * block and no more, one packet per RTT.  So save up the gaps of a round trip, but nothing across
 * a gap that means an idle link; 65 us, as the paper takes it (section 4.1).
 */
static inline u32 sfc_supply_cap(const struct sfc_alg_cfg *cfg,
				 const struct sfc_alg_state *st,
				 const struct sfc_alg_in *in)
{
	u32 cap = in->segs * cfg->mtu;

	if (in->now - st->sm.last_ns < SFC_SM_IDLE_NS)
		cap = max(cap, cfg->smcap);
	return cap;
}

/*
 * How long a queue may be for PRU.  The paper has CC_THRESH: what ends makes room for the queue.
 * But the additive increase alone keeps a port above it for rtt_src / rtt of the time (Appendix A,
 * equation 1) with two or three packets.  All that end meanwhile would be lost, a third of the
 * window of a flow that ends; and tokens not handed out meanwhile come too late, as a token is the
 * room of one packet, one round trip later.
 */
static inline bool sfc_pru_counts(const struct sfc_alg_cfg *cfg, const struct sfc_alg_in *in)
{
	return cfg->pru && in->queue < max(cfg->ccthresh, 16 * cfg->mtu);
}

/* Lines 14-19: may the flow grow by as many packets as arrived here? */
static inline enum sfc_grant sfc_pay_inc(const struct sfc_alg_cfg *cfg, struct sfc_alg_state *st,
					 const struct sfc_alg_in *in, bool congested)
{
	if (sfc_pru_counts(cfg, in) && sfc_pru_take(&st->pru_token, in->segs))
		return SFC_GRANT_PRU;
	if (!congested && cfg->sm && sfc_sm_take(&st->sm, in->segs * cfg->mtu))
		return SFC_GRANT_SM;
	return SFC_GRANT_NONE;
}

/* Algorithm 1 but for line 3; inlined, nothing of it meets memory */
static __always_inline void sfc_decide_data(const struct sfc_alg_cfg *cfg,
					    struct sfc_alg_state *st,
					    const struct sfc_alg_in *in, struct sfc_decision *out)
{
	*out = (struct sfc_decision){ .flags = in->flags };

	if (!(in->flags & BOLT_F_DATA))					/* line 2 */
		return;
	out->data = true;

	/* nothing waits: known to the compiler where the caller says so, whatever ccthresh is */
	if (in->queue && in->queue >= cfg->ccthresh) {			/* line 4 */
		out->congested = true;
		if (!(in->flags & BOLT_F_DEC) && in->can_src) {		/* line 5 */
			out->src = !(in->flags & BOLT_F_NOSRC);		/* lines 6-9 */
			out->flags |= BOLT_F_DEC;			/* line 10 */
		}
	}
	if (in->flags & BOLT_F_LAST) {					/* line 11 */
		if (!(in->flags & BOLT_F_FIRST) &&			/* line 12 */
		    sfc_pru_counts(cfg, in))
			out->pru_added = sfc_pru_add(&st->pru_token, in->segs);
		out->flags &= ~BOLT_F_INC;
	} else if (out->flags & BOLT_F_INC) {				/* line 13 */
		out->grant = sfc_pay_inc(cfg, st, in, out->congested); /* lines 14-17 */
		if (out->grant == SFC_GRANT_NONE)
			out->flags &= ~BOLT_F_INC;			/* lines 10, 18-19 */
	}
}

/* Line 3, on every packet */
static __always_inline void sfc_decide_supply(const struct sfc_alg_cfg *cfg,
					      struct sfc_alg_state *st,
					      const struct sfc_alg_in *in)
{
	if (cfg->sm)
		sfc_sm_update(&st->sm, &cfg->rate, in->now, in->size,
			      sfc_supply_cap(cfg, st, in), cfg->floor);
}

/* Algorithm 1.  Call for every packet, before it joins the queue. */
static __always_inline void sfc_decide(const struct sfc_alg_cfg *cfg, struct sfc_alg_state *st,
				       const struct sfc_alg_in *in, struct sfc_decision *out)
{
	sfc_decide_supply(cfg, st, in);
	sfc_decide_data(cfg, st, in, out);
}

#endif /* _SFC_DECIDE_H */
