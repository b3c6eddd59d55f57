// SPDX-License-Identifier: GPL-2.0
/*
 * The qdisc "sfc": one port of a switch, as in "Bolt: Sub-RTT Congestion Control for
 * Ultra-Low Latency" (NSDI '23).
 *
 *	enqueue                                              dequeue
 *	  |  super-packet: split       +-> high: ACK, control -+
 *	  +-> Algorithm 1: tokens,     |                       +-> shaper -> device
 *	      INC, DEC, SRC -----------+-> data ---------------+
 *	               |
 *	               +- control message --> input queue of this CPU --> routing
 *
 * The queue the algorithm sees is everything that waits here: both bands (of several bands of
 * data the packet's own, and the high one), without the packet that is arriving and without the
 * one the device or the shaper has
 * taken.  Hence a device below that takes many packets at once hides its
 * queue from the algorithm; see Documentation/sch_sfc.rst.
 *
 * TCQ_F_CAN_BYPASS must stay clear: a bypassed packet would pass no decision.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/pkt_cls.h>

#include "genl.h"
#include "parse.h"
#include "port.h"
#include "sfc.h"
#include "way.h"

/* Every sfc, for events of its device.  Under RTNL. */
static LIST_HEAD(sfc_list);

/* Packets on the wire; a super-packet from an untrusted source may not have been counted. */
static u32 sfc_segs(const struct sk_buff *skb)
{
	u32 segs;

	if (!skb_is_gso(skb))
		return 1;
	segs = skb_shinfo(skb)->gso_segs ?: DIV_ROUND_UP(skb->len, skb_shinfo(skb)->gso_size);
	return clamp_t(u32, segs, 1, SFC_SEGS_MAX);
}

/* Algorithm 1 with bands: tokens are the band's; the high one has none, it takes from all. */
static void sfc_decide_band(struct sfc_sched *q, unsigned int band, const struct sfc_alg_in *in,
			    struct sfc_decision *out)
{
	unsigned int i = band - SFC_BAND_DATA;

	if (band == SFC_BAND_HIGH) {
		q->qos.strict += in->size;
		*out = (struct sfc_decision){ .flags = in->flags };
		return;
	}
	if (q->alg.sm)							/* line 3 */
		sfc_qos_supply(&q->qos, i, &q->alg, in);
	sfc_decide_data(&q->alg, &q->qos.band[i].state, in, out);

	/* Bolt, B.2: fewer SRC for some.  DEC as if none could be sent. */
	if (out->src && q->cfg.srcprob[i] < 100 &&
	    prandom_u32_state(&q->dice) % 100 >= q->cfg.srcprob[i]) {
		q->stats.band[i].src_spared += in->segs;
		out->src = false;
		out->flags &= ~BOLT_F_DEC;
	}
}

static void sfc_count_band(struct sfc_sched *q, const struct sfc_pkt *pkt,
			   const struct sfc_alg_in *in, const struct sfc_decision *out)
{
	struct tc_sfc_band *st = &q->stats.band[pkt->band - SFC_BAND_DATA];

	st->data += in->segs;
	st->congested += out->congested ? in->segs : 0;
	st->src_sent += out->src && out->flags & BOLT_F_DEC;
	st->pru_added += out->pru_added;
	st->inc_pru += out->grant == SFC_GRANT_PRU ? in->segs : 0;
	st->inc_sm += out->grant == SFC_GRANT_SM ? in->segs : 0;
}

/* What Algorithm 1 gave away, or took in */
static __always_inline void sfc_count(struct sfc_sched *q, const struct sfc_alg_in *in,
				      const struct sfc_decision *out)
{
	if (out->pru_added)
		q->stats.pru_added += out->pru_added;
	if (out->grant == SFC_GRANT_PRU)
		q->stats.inc_pru += in->segs;
	else if (out->grant == SFC_GRANT_SM)
		q->stats.inc_sm += in->segs;
}

/* Algorithm 1 and its consequences, but for the flags themselves: they are returned. */
static u8 sfc_run_bolt(struct Qdisc *sch, const struct sk_buff *skb,
		       const struct sfc_pkt *pkt, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_decision out;
	struct sfc_alg_in in = {
		.now = now,
		.queue = sfc_backlog_of(sch, pkt->band),
		.segs = sfc_segs(skb),
		.flags = pkt->flags,
		.can_src = sfc_can_src(q, pkt),
	};

	in.size = qdisc_pkt_len(skb) + in.segs * q->cfg.overhead;

	if (sfc_has_bands(q))
		sfc_decide_band(q, pkt->band, &in, &out);
	else if (q->queue.port)
		sfc_port_decide(q, &in, &out);
	else
		sfc_decide(&q->alg, &q->state, &in, &out);
	if (!out.data)
		return pkt->flags;

	q->stats.data += in.segs;
	sfc_count(q, &in, &out);
	if (out.congested) {
		q->stats.congested += in.segs;
		if (pkt->flags & BOLT_F_DEC)
			q->stats.dec_seen += in.segs;
		else if (!out.src && out.flags & BOLT_F_DEC)
			q->stats.src_unasked += in.segs;
		else if (out.src && !sfc_send_src(sch, skb, pkt, in.queue, now))
			out.flags &= ~BOLT_F_DEC;
	}
	if (sfc_has_bands(q))
		sfc_count_band(q, pkt, &in, &out);
	return out.flags;
}

static void sfc_mark(struct Qdisc *sch, struct sk_buff *skb, const struct sfc_pkt *pkt, u8 flags)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u8 changed = flags ^ pkt->flags;
	u32 segs;

	if (!changed)
		return;
	segs = sfc_segs(skb);
	if (!sfc_write_flags(skb, pkt, flags)) {
		q->stats.mark_failed += segs;
		return;
	}
	if (changed & BOLT_F_DEC)
		q->stats.dec_set += segs;
	if (changed & BOLT_F_INC)
		q->stats.inc_cleared += segs;
}

/* What both papers make of a packet that arrives.  Returns its flags from now on. */
static u8 sfc_run(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u8 flags = pkt->flags;

	if (q->cfg.flags & TC_SFC_F_BOLT)
		flags = sfc_run_bolt(sch, skb, pkt, now);
	if (unlikely(pkt->control) && q->cache)
		sfc_cache_feed(sch, skb, pkt, now);
	if (sfc_pause_armed(sch, pkt->band, now))
		sfc_pause_arrival(sch, skb, pkt, now);
	return flags;
}

static void sfc_join(struct sk_buff *skb, struct Qdisc *sch, const struct sfc_pkt *pkt, u8 flags)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_mark(sch, skb, pkt, flags);
	if (pkt->band == SFC_BAND_HIGH)
		q->stats.high++;
	else if (unlikely(sfc_backlog_of(sch, pkt->band) > q->ecn) && sfc_mark_ce(skb, pkt))
		q->stats.ecn_marked += sfc_segs(skb);
	sfc_queue_add(sch, pkt->band, skb);
}

/* No room for it, or it should have been held */
static void sfc_count_drop(struct sfc_sched *q, unsigned int band)
{
	if (band == SFC_BAND_HIGH) {
		q->stats.drop_high++;
		return;
	}
	q->stats.drop_data++;
	if (sfc_has_bands(q))
		q->stats.band[band - SFC_BAND_DATA].drops++;
}

/*
 * One packet, or one super-packet that stays whole: decide, and queue.  SRC goes out even for a
 * packet that finds no room, and before it joins the queue.  Returns false when
 * it was dropped; it is on @to_free then, and counted.  @band is sfc_filter()'s.
 */
static bool sfc_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, u8 band, u64 now,
			    struct sk_buff **to_free)
{
	enum sfc_hold_verdict hold = SFC_HOLD_PASS;
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_pkt pkt;
	u8 flags = 0;

	if (!sfc_parse_plain(skb, &pkt))
		sfc_parse(skb, q->cfg.port, &pkt);
	if (!pkt.high)
		pkt.band = sfc_has_bands(q) ? sfc_band_of(q, &pkt, band) : SFC_BAND_DATA;
	if (unlikely(pkt.form == BOLT_OPT_BAD))
		q->stats.opt_bad++;
	if (unlikely(q->hold)) {
		hold = sfc_hold_arrival(sch, skb, &pkt, now);
		if (hold == SFC_HOLD_HELD)
			return true;
	}
	if (hold == SFC_HOLD_PASS)
		flags = sfc_run(sch, skb, &pkt, now);

	if (unlikely(hold == SFC_HOLD_FULL ||
		     !sfc_queue_has_room(sch, pkt.band, qdisc_pkt_len(skb)))) {
		sfc_count_drop(q, pkt.band);
		qdisc_drop(skb, sch, to_free);
		return false;
	}
	sfc_join(skb, sch, &pkt, flags);
	return true;
}

/* an idle shaper saves nothing up */
static void sfc_shape_idle(struct Qdisc *sch, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (q->cfg.rate_bps && sch->q.qlen == q->held_pkts && q->next_ns < now) {
		q->next_ns = now;
		q->next_frac = 0;
	}
}

/*
 * A packet was held, and is in no queue at the moment: as if it came now.  Whether there is room
 * was asked when it did.  What was in the queue before is decided about twice.
 */
void sfc_readmit(struct sk_buff *skb, struct Qdisc *sch, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_pkt pkt;
	u8 flags;

	sfc_shape_idle(sch, now);
	sfc_parse(skb, q->cfg.port, &pkt);
	pkt.band = sfc_band_again(q, skb);
	flags = sfc_run(sch, skb, &pkt, now);
	sfc_join(skb, sch, &pkt, flags);
}

/*
 * A super-packet becomes its segments, each with its own decision, as from the NIC of a
 * switch.  Parents count one packet of @len on success; tell them what it became.
 */
static int sfc_enqueue_split(struct sk_buff *skb, struct Qdisc *sch, u8 band, u64 now,
			     struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb);
	unsigned int len = qdisc_pkt_len(skb), slen = 0;
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *segs, *next;
	int queued = 0;

	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs)) {
		q->stats.gso_failed++;
		return qdisc_drop(skb, sch, to_free);
	}

	q->stats.gso_split++;
	/*
	 * Only its shell by now, or (rx-gro-list) its own first segment with one reference too
	 * many: a packet that is shared cannot be marked.
	 */
	consume_skb(skb);
	skb_list_walk_safe(segs, segs, next) {
		unsigned int seg_len = segs->len;

		skb_mark_not_on_list(segs);
		qdisc_skb_cb(segs)->pkt_len = seg_len;
		q->stats.gso_segs++;
		if (sfc_enqueue_one(segs, sch, band, now, to_free)) {
			queued++;
			slen += seg_len;
		}
	}
	/* each segment counted as a drop */
	if (!queued)
		return NET_XMIT_DROP;
	qdisc_tree_reduce_backlog(sch, 1 - queued, len - slen);
	return NET_XMIT_SUCCESS;
}

/* A list of packets (rx-gro-list) has an option in each: there is no marking them all at once. */
static bool sfc_must_split(const struct sfc_sched *q, const struct sk_buff *skb)
{
	return skb_is_gso(skb) && (q->cfg.flags & TC_SFC_F_SPLIT_GSO ||
				   skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST);
}

/* An action of a filter has dropped it, or taken it elsewhere: what counts it, or not, is @err. */
static int sfc_enqueue_refused(struct sk_buff *skb, struct Qdisc *sch, int err,
			       struct sk_buff **to_free)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (err & __NET_XMIT_BYPASS) {
		q->stats.drop_filter++;
		qdisc_qstats_drop(sch);
	}
	__qdisc_drop(skb, to_free);
	return err;
}

/*
 * With this packet nothing waits here that anybody has to hear of, no pause is known, and there is
 * one band of data: most of the time.  Then a plain packet, which is TCP and so never held, asks
 * for tokens, and no more.  Nothing is elsewhere unless the port is @shared.
 */
static __always_inline bool sfc_calm(struct Qdisc *sch, const struct sk_buff *skb, bool shared,
				     u64 now)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	u64 queue = shared ? sfc_backlog(sch) : sch->qstats.backlog;

	return queue + qdisc_pkt_len(skb) <= q->calm && now >= READ_ONCE(*q->until_ns) &&
	       !skb_is_gso(skb);
}

/* Algorithm 1 where nothing is congested.  Returns the flags. */
static __always_inline u8 sfc_run_calm(struct Qdisc *sch, const struct sk_buff *skb, u8 flags,
				       bool shared, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_decision out = { };
	struct sfc_alg_in in = {
		.now = now,
		.size = qdisc_pkt_len(skb) + q->cfg.overhead,
		.segs = 1,
		.flags = flags,
	};

	if (!(q->cfg.flags & TC_SFC_F_BOLT))
		return flags;
	if (shared)
		sfc_port_supply(q, &in);
	else
		sfc_decide_supply(&q->alg, &q->state, &in);
	if (!(flags & BOLT_F_DATA))
		return flags;
	q->stats.data++;
	if (shared)
		sfc_port_decide_data(q, &in, &out);
	else
		sfc_decide_data(&q->alg, &q->state, &in, &out);
	sfc_count(q, &in, &out);
	return out.flags;
}

static noinline void sfc_mark_again(struct Qdisc *sch, struct sk_buff *skb, u8 flags)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_pkt pkt;

	sfc_parse(skb, q->cfg.port, &pkt);
	sfc_mark(sch, skb, &pkt, flags);
}

static noinline int sfc_enqueue_any(struct sk_buff *skb, struct Qdisc *sch, u64 now,
				    struct sk_buff **to_free)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u8 band = SFC_BAND_HIGH;
	int err;

	if (sfc_has_bands(q)) {
		err = sfc_filter(skb, sch, &band);
		if (err != NET_XMIT_SUCCESS)
			return sfc_enqueue_refused(skb, sch, err, to_free);
	}
	sfc_shape_idle(sch, now);
	if (sfc_must_split(q, skb))
		return sfc_enqueue_split(skb, sch, band, now, to_free);
	return sfc_enqueue_one(skb, sch, band, now, to_free) ? NET_XMIT_SUCCESS : NET_XMIT_DROP;
}

/*
 * Says and does of a plain packet for which the port is calm what sfc_enqueue_any() would, with a
 * fraction of the instructions: what is made of it is in registers.  Hence "= { }": the compiler
 * drops that, but not the zeros that CONFIG_INIT_STACK_ALL_ZERO gives a variable without.
 */
static __always_inline int sfc_enqueue_calm(struct sk_buff *skb, struct Qdisc *sch,
					    struct sk_buff **to_free, bool shaped, bool shared)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	struct sfc_pkt pkt = { };
	u8 flags;

	if (shared)
		sfc_port_arrival(sch);
	if (!sfc_calm(sch, skb, shared, now) || !sfc_parse_plain(skb, &pkt))
		return sfc_enqueue_any(skb, sch, now, to_free);

	if (shaped)
		sfc_shape_idle(sch, now);
	flags = sfc_run_calm(sch, skb, pkt.flags, shared, now);
	if (unlikely(flags != pkt.flags))
		sfc_mark_again(sch, skb, flags);
	if (pkt.high) {
		q->stats.high++;
		sfc_queue_add_to(sch, SFC_BAND_HIGH, skb);
	} else {
		sfc_queue_add_to(sch, SFC_BAND_DATA, skb);
	}
	return NET_XMIT_SUCCESS;
}

static int sfc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return sfc_enqueue_calm(skb, sch, to_free, false, false);
}

static int sfc_enqueue_shaped(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return sfc_enqueue_calm(skb, sch, to_free, true, false);
}

static int sfc_enqueue_shared(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return sfc_enqueue_calm(skb, sch, to_free, false, true);
}

/* The packet holds the link from when it was free, or from a little before now. */
static void sfc_shape(struct sfc_sched *q, const struct sk_buff *skb, u64 now)
{
	u64 start = max_t(u64, q->next_ns, now - min_t(u64, now, SFC_CATCHUP_NS));

	q->next_ns = start + sfc_serialize_ns(&q->alg.rate,
					      qdisc_pkt_len(skb) + sfc_segs(skb) * q->cfg.overhead,
					      &q->next_frac);
}

/* Returns its band */
static unsigned int sfc_count_sent(struct sfc_sched *q, const struct sk_buff *skb)
{
	unsigned int band = sfc_skb_cb(skb)->band;
	struct tc_sfc_band *st;

	if (band != SFC_BAND_HIGH) {
		st = &q->stats.band[band - SFC_BAND_DATA];
		st->sent += sfc_segs(skb);
		st->sent_bytes += qdisc_pkt_len(skb);
	}
	return band;
}

/* What else waits, here or in other queues of the port.  Returns the time if it had to know. */
static u64 sfc_look_beside(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	u64 now = 0;

	if (q->hold)
		now = sfc_hold_look(sch);
	/* unless nothing waits and the others know */
	if (q->queue.port && (sch->q.qlen || q->queue.told))
		sfc_port_departure(sch);
	return now;
}

/* The next packet of a port that shapes, shares, holds, has bands or tells who sends too much */
static struct sk_buff *sfc_dequeue_any(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	unsigned int band = SFC_BAND_DATA;
	u64 now = sfc_look_beside(sch);
	struct sk_buff *skb;

	if (unlikely(sch->q.qlen == q->held_pkts)) {
		if (q->held_pkts)
			sfc_hold_wait(sch);
		return NULL;
	}
	if (q->cfg.rate_bps) {
		now = now ?: ktime_get_ns();
		if (now < q->next_ns) {
			qdisc_qstats_overlimit(sch);
			qdisc_watchdog_schedule_ns(&q->watchdog, q->next_ns);
			return NULL;
		}
	}

	skb = sfc_queue_remove(sch);
	if (!skb)
		return NULL;
	if (q->cfg.rate_bps)
		sfc_shape(q, skb, now);
	if (sfc_has_bands(q))
		band = sfc_count_sent(q, skb);
	if (unlikely(sfc_backlog_beyond(sch, band, q->pause.qth_out)))
		sfc_pause_departure(sch, skb, band, now ?: ktime_get_ns());
	qdisc_bstats_update(sch, skb);
	return skb;
}

static struct sk_buff *sfc_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = sfc_queue_take(sch);

	if (skb)
		qdisc_bstats_update(sch, skb);
	return skb;
}

/* Packets meet what the configuration needs, and no more.  Tree locked. */
void sfc_choose(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (q->cfg.rate_bps)
		sch->enqueue = sfc_enqueue_shaped;
	else if (q->queue.port)
		sch->enqueue = sfc_enqueue_shared;
	else
		sch->enqueue = sfc_enqueue;

	if (q->cfg.rate_bps || q->queue.port || q->hold || q->multi ||
	    q->pause.qth_out != SFC_QUEUE_NEVER)
		sch->dequeue = sfc_dequeue_any;
	else
		sch->dequeue = sfc_dequeue;
}

/*
 * Some parents (cbs, netem) call what is the kind's, not what is the qdisc's.  Of the dequeues, the
 * kind's is the one that is right for all.
 */
static int sfc_enqueue_chosen(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return sch->enqueue(skb, sch, to_free);
}

static void sfc_reset(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	int i;

	qdisc_watchdog_cancel(&q->watchdog);
	sfc_queue_purge(sch);
	sfc_hold_reset(sch);
	q->state = (struct sfc_alg_state){ };
	sfc_port_reset(sch);
	sfc_qos_reset(&q->qos);
	sfc_bloom_forget(&q->told);
	q->next_ns = 0;
	q->next_frac = 0;
	q->stats.backlog_peak = 0;
	for (i = 0; i < TC_SFC_BANDS_MAX; i++)
		q->stats.band[i].backlog_peak = 0;
}

static int sfc_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct sfc_sched *q = qdisc_priv(sch);
	int err;

	/* destroy() runs even when the rest fails */
	qdisc_watchdog_init(&q->watchdog, sch);
	INIT_LIST_HEAD(&q->list);
	INIT_LIST_HEAD(&q->queue.member);
	q->sch = sch;
	sfc_config_default(&q->cfg);
	sfc_limiter_set(&q->src_limiter, q->cfg.srcrate, ktime_get_ns());
	get_random_bytes(&q->flow_key, sizeof(q->flow_key));
	prandom_seed_state(&q->dice, get_random_u64());

	err = sfc_ways_alloc(q);
	if (err)
		return err;
	err = tcf_block_get(&q->block, &q->filters, sch, extack);
	if (err)
		return err;
	err = sfc_change(sch, opt, extack);
	if (err)
		return err;
	list_add(&q->list, &sfc_list);
	return 0;
}

static void sfc_destroy(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	list_del_init(&q->list);
	sfc_port_update(sch, NULL);
	if (q->cfg.flags & TC_SFC_F_EDGE)
		sfc_net_unedge(sch);
	tcf_block_put(q->block);
	/* its BTS set the timer */
	sfc_hold_free(sch, q->hold);
	qdisc_watchdog_cancel(&q->watchdog);
	sfc_ways_free(q);
	memzero_explicit(&q->cfg.key, sizeof(q->cfg.key));
}

static struct Qdisc_ops sfc_qdisc_ops __read_mostly = {
	.id		= "sfc",
	.cl_ops		= &sfc_class_ops,
	.priv_size	= sizeof(struct sfc_sched),
	.enqueue	= sfc_enqueue_chosen,
	.dequeue	= sfc_dequeue_any,
	.peek		= qdisc_peek_dequeued,
	.init		= sfc_init,
	.reset		= sfc_reset,
	.destroy	= sfc_destroy,
	.change		= sfc_change,
	.dump		= sfc_dump,
	.dump_stats	= sfc_dump_stats,
	.owner		= THIS_MODULE,
};

/*
 * Speed is known, or another, when the link comes up; thresholds follow the MTU.  A bond has the
 * speed of the links that carry: while one of them does, only their events and a failover tell.
 */
static int sfc_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	const struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	const struct net_device *master, *own;
	struct sfc_sched *q;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGELOWERSTATE:
	case NETDEV_BONDING_FAILOVER:
		break;
	default:
		return NOTIFY_DONE;
	}

	ASSERT_RTNL();
	master = netdev_master_upper_dev_get((struct net_device *)dev);
	list_for_each_entry(q, &sfc_list, list) {
		own = qdisc_dev(q->sch);
		if (own == dev || own == master)
			sfc_config_refresh(q->sch);
	}
	return NOTIFY_DONE;
}

static struct notifier_block sfc_netdev_notifier = {
	.notifier_call	= sfc_netdev_event,
};

static int __init sfc_module_init(void)
{
	int err;

	sfc_way_init();
	err = sfc_genl_wq_init();
	if (err)
		return err;
	err = sfc_net_register();
	if (err)
		goto err_wq;
	err = register_netdevice_notifier(&sfc_netdev_notifier);
	if (err)
		goto err_net;
	err = register_qdisc(&sfc_qdisc_ops);
	if (err)
		goto err_notifier;
	err = sfc_genl_register();
	if (err)
		goto err_qdisc;
	return 0;

err_qdisc:
	unregister_qdisc(&sfc_qdisc_ops);
err_notifier:
	unregister_netdevice_notifier(&sfc_netdev_notifier);
err_net:
	sfc_net_unregister();
err_wq:
	sfc_genl_wq_exit();
	return err;
}

/* No sfc exists any more: each holds a reference on the module. */
static void __exit sfc_module_exit(void)
{
	sfc_genl_unregister();
	unregister_qdisc(&sfc_qdisc_ops);
	unregister_netdevice_notifier(&sfc_netdev_notifier);
	sfc_net_unregister();
	sfc_genl_wq_exit();
	sfc_way_exit();
}

module_init(sfc_module_init);
module_exit(sfc_module_exit);
MODULE_DESCRIPTION("Bolt and SFC at a switch port: SRC, ramp-up, supply matching, pauses");
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-sfc");
