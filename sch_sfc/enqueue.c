// SPDX-License-Identifier: GPL-2.0
/*
 * The path of a packet into the port, a function per stage.  The path out is at the end of queue.c.
 *
 *	enqueue: filter, split super-packets; then each packet
 *	  parse -> classify -> decide -> admit -> queue		 dequeue
 *	  |        |           |         |        +-> high: ACK, control -+
 *	  |        |           |         +- drop  +-> data ---------------+-> shaper -> device
 *	  |        +- band     +- Algorithm 1: tokens, INC, DEC, SRC; pause
 *	  +- struct sfc_pkt             |
 *					+- control message --> input of this CPU --> routing
 *
 * The queue the algorithm sees is what waits in both bands (of several bands of data the packet's
 * own; of the high one what goes before data), in the other transmit queues of the port and in the
 * device (port.c), without the packet that is arriving, the one on the wire, and what the shaper
 * has taken.  Hence a device below that takes many packets at once and has no byte queue limits
 * hides its queue from the algorithm; see Documentation/sch_sfc.rst.
 */
#include <net/inet_ecn.h>
#include <net/pkt_cls.h>

#include "backlog.h"
#include "buffer.h"
#include "parse.h"
#include "port.h"
#include "queue.h"

/*
 * Update q->wait: do packets wait for the link, or a CPU?  Packets that arrive while another CPU
 * runs the qdisc, with the device's queue open, wait for that CPU, or since 6.19 for the one that
 * enqueues a batch of other CPUs' packets before any is dequeued: this is lock contention, not
 * congestion, and is not signalled.  A port that shapes, or is the leaf of a qdisc that schedules,
 * always waits for the link.  The paper has no such distinction.
 */
static void sfc_update_wait(struct Qdisc *sch, const struct sk_buff *skb, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct Qdisc *root = sfc_port_root(sch);

	sfc_ring_try_enable(sch, now);
	if (q->alg.paper || !skb_queue_empty(&(root ?: sch)->gso_skb) ||
	    netif_xmit_frozen_or_stopped(skb_get_tx_queue(qdisc_dev(sch), skb)))
		q->wait = SFC_WAIT_LINK;
	else if (!q->cfg.rate_bps && root &&
		 (q->wait == SFC_WAIT_BATCH ||
		  (q->wait == SFC_WAIT_UNKNOWN && qdisc_is_running(root))))
		q->wait = SFC_WAIT_CPU;
}

/* The backlog exceeds @uncongested_bytes.  Does all of it wait for a CPU, and is there room? */
static noinline bool sfc_contended(struct Qdisc *sch, const struct sk_buff *skb, u64 now)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	u64 len = qdisc_pkt_len(skb);

	sfc_update_wait(sch, skb, now);
	return q->wait == SFC_WAIT_CPU && sfc_backlog(sch) + len <= q->uncongested_bytes &&
	       sch->qstats.backlog + len <= q->qos.band[SFC_BAND_HIGH].limit;
}

/* Fast path: no threshold or limit can be met, so Algorithm 1 may take the queue for empty. */
static __always_inline bool sfc_fastpath_check(struct Qdisc *sch, const struct sk_buff *skb,
					       u64 now)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	u32 queue = sch->qstats.backlog + q->elsewhere_bytes;

	return ((u64)queue + qdisc_pkt_len(skb) <= q->uncongested_bytes ||
		sfc_contended(sch, skb, now)) &&
	       now >= READ_ONCE(*q->until_ns) && !q->cfg.srcc &&
	       (u64)q->memory_used + skb->truesize <= q->qos.band[SFC_BAND_HIGH].memory_limit;
}

/* --- decide --- */

/*
 * Line 3.  With bands, the bytes of the high band are taken off the supply of each.  Transmit
 * queues that share a link (port.c) share its supply.
 */
static __always_inline void sfc_count_demand(struct sfc_sched *q, unsigned int band, bool fast,
					     const struct sfc_alg_in *in)
{
	if (!fast && sfc_has_bands(q) && band == SFC_BAND_HIGH) {
		q->qos.strict += in->size;
	} else if (!fast && sfc_has_bands(q)) {
		q->qos.band[band].took += in->size;
		if (q->alg.sm)
			sfc_qos_supply(&q->qos, band, &q->alg, in);
	} else if (!q->queue.port) {
		sfc_decide_supply(&q->alg, &q->qos.band[0].state, in);
	} else if (q->alg.sm && sfc_share_add(&q->queue.share, in->size, in->now)) {
		sfc_port_settle(q, in->segs, in->now);
	}
}

/*
 * Algorithm 1.  Each band of data has its own tokens; what takes the high band is no data.  A port
 * that is shared lends the band PRU tokens for this packet, if sfc_decide() will spend them all.
 */
static __always_inline void sfc_decide_packet(struct sfc_sched *q, unsigned int band, bool fast,
					      const struct sfc_alg_in *in,
					      struct sfc_decision *out)
{
	struct sfc_alg_state *st = &q->qos.band[band].state;

	if (fast || !q->alg.paper || in->flags & BOLT_F_DATA)
		sfc_count_demand(q, band, fast, in);
	if (q->queue.port && sfc_wants_grant(in) &&
	    READ_ONCE(q->queue.port->pru_token) >= in->segs && sfc_pru_counts(&q->alg, in))
		st->pru_token = sfc_port_pru_take(q, in->segs);
	sfc_decide(&q->alg, st, in, out);
	if (out->pru_added && q->queue.port) {				/* line 12 */
		out->pru_added = sfc_port_pru_add(q, out->pru_added);
		st->pru_token = 0;
	}
	/* Bolt, B.2: srcprob thins out a band's SRC.  Without an SRC, DEC stays clear. */
	if (out->src && q->cfg.srcprob[band] < 100 &&
	    prandom_u32_state(&q->prng) % 100 >= q->cfg.srcprob[band]) {
		q->band_stats[band].app.src_sampled_out += in->segs;
		out->src = false;
		out->flags &= ~BOLT_F_DEC;
	}
}

/*
 * Run Algorithm 1, send the SRC and count.  Returns the option's new flags.  @fast is a constant:
 * without a queue the compiler leaves out most of this, and keeps the rest in registers.
 */
static __always_inline u8 sfc_run_bolt(struct Qdisc *sch, const struct sk_buff *skb,
				       const struct sfc_pkt *pkt, bool fast, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	unsigned int band = fast ? 0 : pkt->band;
	struct tc_sfc_band *st = &q->band_stats[band].app;
	struct sfc_decision out;
	struct sfc_alg_in in = {
		.now = now,
		.queue = fast ? 0 : sfc_backlog_of(sch, pkt->band),
		.segs = fast ? 1 : sfc_segs(skb),
		.flags = pkt->flags,
		/* this port can send SRC, and the packet has a t_data_tx to echo */
		.can_src = !fast && q->cfg.flags & TC_SFC_F_SRC && q->alg.rate.kbps &&
			   pkt->t_data_tx,
	};

	in.size = qdisc_pkt_len(skb) + in.segs * q->cfg.overhead;
	sfc_decide_packet(q, band, fast, &in, &out);
	if (!out.data)
		return pkt->flags;

	st->data += in.segs;
	if (out.pru_added)
		st->pru_added += out.pru_added;
	if (out.grant == SFC_GRANT_PRU)
		st->inc_pru += in.segs;
	else if (out.grant == SFC_GRANT_SM)
		st->inc_sm += in.segs;
	if (!fast && out.congested) {
		st->congested += in.segs;
		if (pkt->flags & BOLT_F_DEC)
			q->stats.dec_seen += in.segs;
		else if (out.src && !sfc_send_src(sch, skb, pkt, in.queue, out.flags, now))
			out.flags &= ~BOLT_F_DEC;
	}
	return out.flags;
}

/* Write the new flags to the option. */
static noinline void sfc_mark(struct sfc_sched *q, struct sk_buff *skb, int l4_off, int opt_off,
			      u8 flags, u8 changed)
{
	u32 segs = sfc_segs(skb);

	if (!sfc_write_flags(skb, l4_off, opt_off, flags)) {
		q->stats.mark_failed += segs;
		return;
	}
	if (changed & BOLT_F_DEC)
		q->stats.dec_set += segs;
	if (changed & BOLT_F_INC)
		q->stats.inc_cleared += segs;
}

/* --- admit, and queue --- */

/* By the instantaneous queue, and nothing is dropped (DCTCP, section 3.1) */
static noinline void sfc_mark_ce(struct sfc_sched *q, struct sk_buff *skb,
				 const struct sfc_pkt *pkt)
{
	bool ip4 = pkt->flow.family == 4;
	u32 hlen = ip4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	u8 head[2], tos;
	void *l3;

	if (!pkt->flow.family || skb_copy_bits(skb, pkt->l3_off, head, sizeof(head)))
		return;
	tos = ip4 ? head[1] : head[0] << 4 | head[1] >> 4;
	if (INET_ECN_is_not_ect(tos) || INET_ECN_is_ce(tos))
		return;
	if (skb_shared(skb) || skb_ensure_writable(skb, pkt->l3_off + hlen)) {
		q->stats.mark_failed += sfc_segs(skb);
		return;
	}
	l3 = skb->data + pkt->l3_off;
	if (ip4)
		IP_ECN_set_ce(l3);
	else
		IP6_ECN_set_ce(skb, l3);
	q->stats.ecn_marked += sfc_segs(skb);
}

/*
 * What only a queue, a pause or an account of memory makes necessary: the algorithms of SFC and of
 * SRCC, and whether there is room.  Returns NET_XMIT_DROP when the packet was dropped; it is on
 * @to_free then, and counted; with __NET_XMIT_STOLEN when something else says what it said.
 */
static noinline int sfc_admit(struct sk_buff *skb, struct Qdisc *sch, const struct sfc_pkt *pkt,
			      u64 now, struct sk_buff **to_free)
{
	struct sfc_sched *q = qdisc_priv(sch);

	/* SFC-P: a BTS to a host whose NIC gets a PAUSE frame instead */
	if (unlikely(pkt->control) && q->cache && sfc_cache_arrival(sch, skb, pkt, now)) {
		__qdisc_drop(skb, to_free);
		return NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
	}
	if (q->cfg.flags & TC_SFC_F_PAUSE)
		sfc_pause_arrival(sch, skb, pkt, now);
	if (q->cfg.srcc)
		sfc_srcc_arrival(sch, skb, pkt, now);
	if (!sfc_queue_has_room(sch, pkt->band, skb)) {
		if (pkt->band == SFC_BAND_HIGH)
			q->stats.drop_high++;
		else
			q->stats.drop_data++;
		q->band_stats[pkt->band].qstats.drops++;
		return bolt_drop_overlimit(skb, sch, to_free);
	}
	sfc_skb_cb(skb)->answered_words = q->answered_bytes / 4;
	if (pkt->band != SFC_BAND_HIGH && sfc_backlog_of(sch, pkt->band) > q->ecn)
		sfc_mark_ce(q, skb, pkt);
	return NET_XMIT_SUCCESS;
}

/* Behind the parser.  An SRC is sent even for a packet that finds no room, and before it joins. */
static __always_inline int sfc_process(struct sk_buff *skb, struct Qdisc *sch,
				       const struct sfc_pkt *pkt, bool fast, u64 now,
				       struct sk_buff **to_free)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u8 flags = pkt->flags;
	int ret;

	if (q->cfg.flags & TC_SFC_F_BOLT)
		flags = sfc_run_bolt(sch, skb, pkt, fast, now);
	if (!fast) {
		ret = sfc_admit(skb, sch, pkt, now, to_free);
		if (ret != NET_XMIT_SUCCESS)
			return ret;
	}
	/* offsets by value: a pointer to @pkt would force it out of registers */
	if (unlikely(flags != pkt->flags))
		sfc_mark(q, skb, pkt->l4_off, pkt->opt_off, flags, flags ^ pkt->flags);
	if (pkt->band == SFC_BAND_HIGH) {
		q->stats.high++;
		sfc_queue_add(sch, SFC_BAND_HIGH, skb);
	} else {
		sfc_queue_add(sch, fast ? 0 : pkt->band, skb);
	}
	if (q->sw_buffer)
		sfc_buffer_join(sch, skb, pkt);
	return NET_XMIT_SUCCESS;
}

static noinline int sfc_process_slow(struct sk_buff *skb, struct Qdisc *sch, u8 band, u64 now,
				     struct sk_buff **to_free)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_pkt pkt __uninitialized;

	sfc_parse(skb, q->cfg.port, &pkt);
	if (unlikely(pkt.form == BOLT_OPT_BAD))
		q->stats.opt_bad++;
	if (sfc_has_bands(q) && pkt.band != SFC_BAND_HIGH)
		pkt.band = sfc_band_of(q, &pkt, band);
	q->answered_bytes = 0;
	return sfc_process(skb, sch, &pkt, false, now, to_free);
}

/*
 * One packet, or one super-packet that is not split.  @band is the result of sfc_filter(); returns
 * what sfc_admit() does.
 */
static __always_inline int sfc_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, u8 band, u64 now,
					   struct sk_buff **to_free)
{
	struct sfc_pkt pkt __uninitialized;	/* stays in registers */

	/* sfc_fastpath_check() also updates q->wait */
	if (!skb_is_gso(skb) && sfc_fastpath_check(sch, skb, now) && sfc_parse_in_place(skb, &pkt))
		return sfc_process(skb, sch, &pkt, true, now, to_free);
	return sfc_process_slow(skb, sch, band, now, to_free);
}

/*
 * Split a super-packet into segments with a decision each, as a switch would receive them.  Parents
 * count one packet of @len on success; correct that to the segments that were queued.
 */
static noinline int sfc_enqueue_split(struct sk_buff *skb, struct Qdisc *sch, u8 band, u64 now,
				      struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb);
	unsigned int len = qdisc_pkt_len(skb), slen = 0;
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *segs, *next;
	int ret = NET_XMIT_DROP, queued = 0;
	u32 reason = bolt_drop_reason(skb);

	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs)) {
		q->stats.gso_failed++;
		bolt_set_drop_reason(skb, reason);
		return qdisc_drop(skb, sch, to_free);
	}

	q->stats.gso_split++;
	/*
	 * The segments do not refer to the super-packet.  With rx-gro-list it is its own first
	 * segment: drop the extra reference, or that would count as shared and not be marked.
	 */
	consume_skb(skb);
	skb_list_walk_safe(segs, segs, next) {
		unsigned int seg_len = segs->len;

		skb_mark_not_on_list(segs);
		qdisc_skb_cb(segs)->pkt_len = seg_len;
		bolt_set_one_segment(segs);
		bolt_set_drop_reason(segs, reason);
		q->stats.gso_segs++;
		ret = sfc_enqueue_one(segs, sch, band, now, to_free);
		if (ret == NET_XMIT_SUCCESS) {
			queued++;
			slen += seg_len;
		}
	}
	/* each segment was counted: as a drop, or SFC-P has taken it */
	if (!queued)
		return ret;
	qdisc_tree_reduce_backlog(sch, 1 - queued, len - slen);
	return NET_XMIT_SUCCESS;
}

/* Has GRO merged control messages?  Each drains a queue, and counts for the cache and SFC-P. */
static bool sfc_is_messages(const struct sfc_sched *q, const struct sk_buff *skb)
{
	const __be16 port = htons(q->cfg.port);
	struct sfc_pkt pkt;

	if (!(skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4) ||
	    skb_shinfo(skb)->gso_size > BOLT_CTL_LEN_MAX)
		return false;
	sfc_parse(skb, q->cfg.port, &pkt);
	return pkt.flow.proto == IPPROTO_UDP && pkt.flow.sport == port && pkt.flow.dport == port;
}

/* To a port of several bands, or a super-packet */
static noinline int sfc_enqueue_special(struct sk_buff *skb, struct Qdisc *sch, u64 now,
					struct sk_buff **to_free)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	int band = SFC_BAND_HIGH;

	if (sfc_has_bands(q))
		band = sfc_filter(skb, sch);
	/* an action has dropped the packet, or taken it: is it a drop? */
	if (band >= SFC_BANDS) {
		if (band & __NET_XMIT_BYPASS)
			qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return band;
	}
	/* with rx-gro-list each packet of the list has its own option, so mark them one by one */
	if (skb_is_gso(skb) && (q->cfg.flags & TC_SFC_F_SPLIT_GSO ||
				skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST ||
				sfc_is_messages(q, skb)))
		return sfc_enqueue_split(skb, sch, band, now, to_free);
	/* there is no sfc_fastpath_check() to do so */
	sfc_update_wait(sch, skb, now);
	return sfc_process_slow(skb, sch, band, now, to_free);
}

/* Before a packet arrives: read the backlog elsewhere, and the clock of an idle shaper. */
static void sfc_refresh_backlog(struct Qdisc *sch, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (q->queue.port) {
		if (sch->q.qlen || q->queue.published_bytes)
			sfc_port_publish(sch, sfc_backlog_here(sch));
		sfc_update_elsewhere(q);
	}
	if (q->ring.on)
		sfc_ring_update(sch, now);
	/* a shaper gets no credit for the time it was idle */
	if (q->cfg.rate_bps && !sch->q.qlen && q->next_ns < now) {
		q->next_ns = now;
		q->next_frac = 0;
	}
}

int sfc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();

	if (q->needs_refresh)
		sfc_refresh_backlog(sch, now);
	if (sfc_has_bands(q) || skb_is_gso(skb))
		return sfc_enqueue_special(skb, sch, now, to_free);
	return sfc_enqueue_one(skb, sch, SFC_BAND_HIGH, now, to_free);
}
