// SPDX-License-Identifier: GPL-2.0
/*
 * Source Flow Control at a port: Algorithm 1 of the SFC paper around its pure parts.
 *
 *	paper (Fig. 3)			here
 *	A.1, A.2 queue > Qth		sfc_pause_arrival(), at enqueue
 *	A.3 cache			sfc_cache_find(), cache.c
 *	  "", estimator			sfc_estimate(), cache.c
 *	A.4 Bloom filter		sfc_suppress_knows(), pause.h
 *	A.5, A.6 mirror, build BTS	sfc_send_bts(), signal.c
 *
 * The paper's pipeline asks at the ingress for the depth of the egress queue.  A Linux
 * router has no ingress pipeline that knows the egress; enqueue is the first place that does,
 * and it is still before the packet joins the queue, which is what counts: N senders
 * that arrive at once are notified at once, not one per departure (section 2.3).
 */
#include "backlog.h"
#include "buffer.h"
#include "nat.h"
#include "trace.h"

/*
 * The 5-tuple, hashed, and never 0: a flow that changes its DSCP is the same, one of equal
 * addresses in another VRF (sfc_flow_key()) is not.
 */
u64 sfc_flow_hash(const struct sfc_sched *q, struct sfc_flow f, u32 vrf)
{
	f.dscp = 0;
	return (siphash(&f, sizeof(f), &q->flow_key) ^ vrf) ?: 1;
}

/*
 * Did IP bring the packet here, by its destination?  The sender of a frame that a bridge or Open
 * vSwitch forwards chooses its MAC address apart from the destination.  So does one that uses this
 * host's device (macvlan, ipvlan): its packets did not come in, or nobody knows where.
 */
static bool sfc_pause_is_routed(struct Qdisc *sch, const struct sk_buff *skb)
{
	const struct net_device *in = dev_get_by_index_rcu(dev_net(qdisc_dev(sch)),
							   sfc_iif(qdisc_priv(sch), skb));

	return in && skb->pkt_type == PACKET_HOST && !netif_is_bridge_port(in) &&
	       !netif_is_ovs_port(in);
}

/*
 * May other switches pause all senders to the packet's destination and DSCP?  Not if that does not
 * tell the queue: others of that DSCP may be in another band.  Filters may give them one even if
 * this packet is where its DSCP says.  Not if its sender could have chosen any destination, and
 * congest this port, as the sender of a segment routing header can.  Nor if this router has
 * translated the destination: what the packet was sent to may be several servers, of which one is
 * congested.
 */
static bool sfc_pause_is_cacheable(struct Qdisc *sch, const struct sk_buff *skb,
				   const struct sfc_pkt *pkt)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_flow sent = pkt->flow;

	if (!q->pause.cacheable || !sfc_pause_is_routed(sch, skb) || sfc_has_segments(skb, pkt) ||
	    q->qos.ordered || (sfc_has_bands(q) && rcu_access_pointer(q->filters)) ||
	    pkt->band != sfc_band_of_dscp(q, pkt))
		return false;
	return !sfc_flow_untranslate(skb, &sent) ||
	       !memcmp(sent.daddr, pkt->flow.daddr, sizeof(sent.daddr));
}

/*
 * Lines 10-20: send a BTS to the sender of @skb, of a flow in @vrf, unless it was notified already.
 * @cached_ns is the pause from the cache for its destination, @local_ns that of the estimator.
 */
static void sfc_send_bts(struct Qdisc *sch, const struct sk_buff *skb,
			 const struct sfc_pkt *pkt, u32 vrf, u32 cached_ns, u32 local_ns, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 queue = sfc_backlog_drain(sch, pkt->band);	/* line 16: the newest */
	struct bolt_msg msg = {
		.type = BOLT_CTL_BTS,
		.queue_bytes = queue,
		.pause_ns = sfc_pause_ns(&q->alg.rate, queue, q->pause.qtg, q->pause.max_ns),
	};
	u64 hash = sfc_flow_hash(q, pkt->flow, vrf);
	enum sfc_signal_verdict verdict;
	struct sfc_pfc *pfc;

	if (max(local_ns, cached_ns) > msg.pause_ns) {	/* lines 18-19 */
		msg.pause_ns = max(local_ns, cached_ns);
		msg.flags = BOLT_CTL_F_FROM_CACHE;
	} else if (sfc_pause_is_cacheable(sch, skb, pkt)) {	/* line 20 */
		msg.flags = BOLT_CTL_F_CACHEABLE;
	}

	/* SFC-P: PAUSE the NIC of the sender, if it is at a port of this switch that converts */
	pfc = sfc_pfc_ingress(sch, skb);
	if (pfc && READ_ONCE(pfc->cfg.convert) &&
	    sfc_pfc_request(pfc, sfc_prio_of(skb, pkt), msg.pause_ns, now))
		return;
	/* a BTS carries the rate of this link */
	if (!q->alg.rate.kbps)
		return;
	if (q->pause.suppress_ns &&
	    sfc_suppress_knows(q->suppress, hash, now, now + msg.pause_ns, q->pause.suppress_ns)) {
		q->stats.bts_suppressed++;
		trace_sfc_suppressed(sch, pkt, &msg, SFC_SIGNAL_NONE);
		return;
	}

	verdict = sfc_send_msg(sch, skb, pkt, &msg, now);
	trace_sfc_bts(sch, pkt, &msg, verdict);
	if (verdict != SFC_SIGNAL_SENT)
		return;
	q->stats.bts_sent++;
	if (msg.flags & BOLT_CTL_F_FROM_CACHE && cached_ns >= local_ns)
		q->stats.bts_cached++;
	if (q->pause.suppress_ns)
		sfc_suppress_add(q->suppress, hash, now, now + msg.pause_ns);
}

/*
 * Do not answer packets that this host itself could hold (hold.c): the queue would only move there,
 * and the link idle.  Do not answer control messages, by format instead of port: with different
 * ports or of different releases, two switches would answer each other's answers.
 */
static bool sfc_pause_answers(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	return pkt->pausable && (pkt->flow.proto == IPPROTO_TCP || skb->skb_iif) &&
	       !sfc_msg_is_form(skb, pkt);
}

/* A packet that arrives, before it joins the queue or is dropped */
void sfc_pause_arrival(struct Qdisc *sch, const struct sk_buff *skb,
		       const struct sfc_pkt *pkt, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	bool beyond = sfc_backlog_beyond(sch, pkt->band, q->pause.qth_in);	/* line 7 */
	bool cached = now < READ_ONCE(*q->until_ns);
	u32 cached_ns = 0, local_ns = 0;
	struct sfc_key key;

	if ((!beyond && !cached && !q->dre.decay) || !sfc_pause_answers(skb, pkt))
		return;
	key = sfc_flow_key(&pkt->flow, skb, sch);
	if (cached)								/* line 8 */
		cached_ns = sfc_cache_find(q->cache, &key, now);
	if (cached_ns) {
		const struct bolt_msg m = {
			.pause_ns = cached_ns, .queue_bytes = sfc_backlog(sch),
		};

		q->stats.cache_hits++;
		trace_sfc_cache_hit(sch, pkt, &m, SFC_SIGNAL_NONE);
	}
	/* section 3.4, local_estimate: the pause for the estimated remote queue */
	if (q->dre.decay)
		local_ns = sfc_estimate(sch, key, qdisc_pkt_len(skb), now);
	q->stats.estimator_hits += !!local_ns;
	if (cached_ns || local_ns || beyond)					/* line 9 */
		sfc_send_bts(sch, skb, pkt, key.vrf, cached_ns, local_ns, now);
}

/* A packet leaves a queue of more than Qth: egress BTS */
void sfc_pause_departure(struct Qdisc *sch, const struct sk_buff *skb, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_pkt pkt;

	sfc_parse(skb, q->cfg.port, &pkt);
	pkt.band = sfc_skb_cb(skb)->band;
	q->answered_bytes = sfc_skb_cb(skb)->answered_words * 4;
	if (sfc_pause_answers(skb, &pkt))
		sfc_send_bts(sch, skb, &pkt, sfc_flow_key(&pkt.flow, skb, sch).vrf, 0, 0, now);
}
