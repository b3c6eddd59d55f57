// SPDX-License-Identifier: GPL-2.0
/*
 * The bands and their accounting.  A packet is counted in qlen and backlog while it is in a band;
 * only functions of this file and of queue.h add or remove it.  Then the path of a packet out of
 * the port: the high band, the data bands by weight or in their order, and the shaper.
 */
#include <linux/rtnetlink.h>

#include "memory.h"
#include "port.h"

/*
 * Each band has its share of the limits, so unresponsive traffic cannot lock out other bands: the
 * high band half.  With levels the first may take all: see sfc_qos_order().
 */
static bool sfc_queue_band_full(const struct sfc_sched *q, unsigned int band, u32 len)
{
	const struct sfc_qos_band *b;

	if (band == SFC_BAND_HIGH)
		return q->qos.high_bytes && q->qos.high_bytes + len > sfc_high_limit(&q->cfg);
	b = &q->qos.band[band - SFC_BAND_DATA];
	return b->bytes && sfc_qos_fill(&q->qos, band - SFC_BAND_DATA) + len > b->limit;
}

static bool sfc_queue_band_has_memory(const struct sfc_sched *q, unsigned int band, u32 truesize)
{
	const struct sfc_qos_band *b;

	if (band == SFC_BAND_HIGH)
		return !q->qos.high_bytes ||
		       q->high_memory + truesize <= sfc_high_memory_limit(&q->cfg);
	b = &q->qos.band[band - SFC_BAND_DATA];
	return !b->bytes ||
	       sfc_qos_memory(&q->qos, band - SFC_BAND_DATA) + truesize <= b->memory_limit;
}

/*
 * Drop-tail over all bands.  The high band may use an eighth more, because ACKs and control
 * messages drain the data bands.  A packet larger than the limit is queued when it is alone:
 * the MTU may have risen since, and tags, a size table and super-packets are beyond the MTU.
 */
bool sfc_queue_has_room(struct Qdisc *sch, unsigned int band, const struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);
	bool shares = band == SFC_BAND_HIGH || sfc_has_bands(q);
	u32 len = qdisc_pkt_len(skb);
	u64 limit = q->cfg.limit;

	if (band == SFC_BAND_HIGH)
		limit += limit >> 3;
	if (shares && sfc_queue_band_full(q, band, len))
		return false;
	if (q->mem && !sfc_memory_has_room(q, band, sch->qstats.backlog - q->excluded_bytes, len)) {
		q->stats.drop_buffer++;
		return false;
	}
	if (!sch->q.qlen)
		return true;
	if ((u64)sch->qstats.backlog + len > limit)
		return false;
	if ((u64)q->memory_used + skb->truesize > sfc_queue_memory_limit(&q->cfg, band) ||
	    (shares && !sfc_queue_band_has_memory(q, band, skb->truesize))) {
		q->stats.drop_memory++;
		return false;
	}
	return true;
}

/* Count a packet for its band, in addition to sfc_queue_add(), which counts it for the qdisc. */
void sfc_queue_band_add(struct sfc_sched *q, unsigned int band, struct sk_buff *skb)
{
	unsigned int i = band - SFC_BAND_DATA;
	u32 len = qdisc_pkt_len(skb);

	sfc_skb_cb(skb)->band = band;
	sfc_skb_cb(skb)->arrival = q->qos.arrivals++;
	if (band == SFC_BAND_HIGH)
		return;
	sfc_qos_join(&q->qos, i, len);
	q->qos.band[i].memory += sfc_skb_cb(skb)->memory;
	if (q->qos.band[i].bytes > q->band_stats[i].app.backlog_peak)
		q->band_stats[i].app.backlog_peak = q->qos.band[i].bytes;
}

static void sfc_queue_band_remove(struct sfc_sched *q, unsigned int band, const struct sk_buff *skb)
{
	unsigned int i = band - SFC_BAND_DATA;
	u32 len = qdisc_pkt_len(skb);

	if (band == SFC_BAND_HIGH)
		return;
	q->qos.band[i].memory -= sfc_skb_cb(skb)->memory;
	sfc_qos_leave(&q->qos, i, len, !q->bands[band].qlen);
}

/* A packet was added or removed: accounting besides qlen and backlog, for bands and memory */
void sfc_queue_book(struct sfc_sched *q, unsigned int band, struct sk_buff *skb)
{
	if (sfc_has_bands(q))
		sfc_queue_band_add(q, band, skb);
	if (q->mem)
		sfc_memory_add(q, skb);
}

void sfc_queue_unbook(struct sfc_sched *q, unsigned int band, const struct sk_buff *skb)
{
	if (sfc_has_bands(q))
		sfc_queue_band_remove(q, band, skb);
	if (q->mem)
		sfc_memory_remove(q, skb);
}

/* How many packets had joined before the head of data band @i, which is not empty */
static u32 sfc_queue_arrival(const struct sfc_sched *q, unsigned int i)
{
	return sfc_skb_cb(q->bands[SFC_BAND_DATA + i].head)->arrival;
}

/*
 * Levels: the first band that has a packet, but one in SFC_LEVELS_TURN packets is the oldest, so
 * that none waits for ever.  As a message only goes on to later bands, and the oldest has none of
 * its flow before it, neither reorders a flow.
 */
static unsigned int sfc_queue_next_level(struct sfc_sched *q)
{
	unsigned int first = __ffs(q->qos.busy), i;
	u32 set;

	if (!sfc_qos_is_turn(&q->qos))
		return first;
	for (set = q->qos.busy; set; set &= set - 1) {
		i = __ffs(set);
		if ((s32)(sfc_queue_arrival(q, i) - sfc_queue_arrival(q, first)) < 0)
			first = i;
	}
	return first;
}

/*
 * The next packet of the data bands, by deficit.  Charge the band before the packet is removed,
 * because a band that becomes empty loses its credit.
 */
struct sk_buff *sfc_queue_remove_turn(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	unsigned int i, len;

	if (!q->qos.busy)
		return NULL;
	if (q->qos.ordered)
		return sfc_queue_remove_from(sch, SFC_BAND_DATA + sfc_queue_next_level(q));
	i = sfc_qos_next(&q->qos);
	len = qdisc_pkt_len(q->bands[SFC_BAND_DATA + i].head);
	sfc_qos_pay(&q->qos, i, len);
	return sfc_queue_remove_from(sch, SFC_BAND_DATA + i);
}

/* Does more wait than one packet, and more than a changed limit allows? */
static bool sfc_queue_exceeds(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	return sch->q.qlen > 1 && (sch->qstats.backlog > q->cfg.limit ||
				   q->memory_used > q->cfg.memory_limit);
}

/* Index of a data band to drop from: one beyond its limit, else any; -1: none */
static int sfc_queue_overfull(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	int i;

	/* with levels a band is full because of others, which may be */
	if (sfc_has_bands(q) && !q->qos.ordered)
		for (i = 0; i < q->qos.n; i++)
			if (q->bands[SFC_BAND_DATA + i].qlen > 1 &&
			    (sfc_queue_band_full(q, SFC_BAND_DATA + i, 0) ||
			     !sfc_queue_band_has_memory(q, SFC_BAND_DATA + i, 0)))
				return i;
	if (!sfc_queue_exceeds(sch) &&
	    (sch->q.qlen <= 1 ||
	     q->memory_used - q->high_memory <= sfc_queue_memory_limit(&q->cfg, SFC_BAND_DATA)))
		return -1;
	if (sfc_has_bands(q))
		return (q->qos.ordered ? fls(q->qos.busy) : ffs(q->qos.busy)) - 1;
	return 0;
}

/*
 * Drop what exceeds a changed limit; data before ACKs and control messages, which drain the queue.
 * The last packet stays, as sfc_queue_has_room() would have it.
 * A packet that a parent has peeked at counts in the backlog, but is not in a band, so the bands
 * may be empty before the limit is met.  Context: tree locked
 */
void sfc_queue_shrink(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 bytes = sch->qstats.backlog;
	u32 pkts = sch->q.qlen;
	struct sk_buff *skb;
	int i;

	while ((i = sfc_queue_overfull(sch)) >= 0 &&
	       (skb = sfc_queue_remove_from(sch, SFC_BAND_DATA + i))) {
		if (sfc_has_bands(q))
			q->band_stats[i].qstats.drops++;
		rtnl_kfree_skbs(skb, skb);
	}
	while (sfc_queue_exceeds(sch) && (skb = sfc_queue_remove_from(sch, SFC_BAND_HIGH)))
		rtnl_kfree_skbs(skb, skb);

	pkts -= sch->q.qlen;
	bytes -= sch->qstats.backlog;
	__qdisc_qstats_drop(sch, pkts);
	if (pkts)
		qdisc_tree_reduce_backlog(sch, pkts, bytes);
}

/* Free all packets; qdisc_reset() and the parents correct the totals. */
void sfc_queue_purge(struct Qdisc *sch)
{
	struct sk_buff *skb;

	while ((skb = sfc_queue_remove(sch)))
		rtnl_kfree_skbs(skb, skb);
}

/* --- the way out: the shaper, and egress BTS about what a packet leaves behind --- */

#define SFC_NOT_YET	U64_MAX

/*
 * The packet occupies the link from the end of the previous one, or from SFC_CATCHUP_NS ago if that
 * is later; there is no credit for the time of a PFC pause.
 */
static void sfc_shape(struct sfc_sched *q, const struct sk_buff *skb, u64 now)
{
	u64 catchup = q->halted ? 0 : min_t(u64, now, SFC_CATCHUP_NS);
	u64 start = max_t(u64, q->next_ns, now - catchup);

	q->next_ns = start + sfc_serialize_ns(&q->alg.rate,
					      qdisc_pkt_len(skb) + sfc_segs(skb) * q->cfg.overhead,
					      &q->next_frac);
	q->halted = false;
}

/* Returns its band */
static unsigned int sfc_count_sent(struct sfc_sched *q, const struct sk_buff *skb)
{
	unsigned int band = sfc_skb_cb(skb)->band;

	if (band != SFC_BAND_HIGH)
		bstats_update(&q->band_stats[band - SFC_BAND_DATA].bstats, skb);
	return band;
}

/*
 * May the head packet leave now, in a port that is not a FIFO?  Publishes the backlog to the port's
 * other queues and asks the shaper.  Returns ktime if it was read, 0 if not, or SFC_NOT_YET if the
 * packet has to wait.
 */
static noinline u64 sfc_departure_ns(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u64 now;

	/* not if the queue will be empty and 0 is published; egress BTS need the others' backlog */
	if (q->queue.port && (sch->q.qlen > 1 || q->queue.published_bytes ||
			      q->pause.qth_out != SFC_QUEUE_NEVER))
		sfc_port_departure(sch);
	if (q->ring.on && q->pause.qth_out != SFC_QUEUE_NEVER)
		sfc_port_look_below(sch, ktime_get_ns());
	if (!q->cfg.rate_bps || !sch->q.qlen)
		return 0;
	now = ktime_get_ns();
	if (now >= q->next_ns)
		return now;
	qdisc_qstats_overlimit(sch);
	qdisc_watchdog_schedule_ns(&q->watchdog, q->next_ns);
	return SFC_NOT_YET;
}

/* The shaper, bands, and egress BTS go by what leaves. */
static noinline void sfc_departed(struct Qdisc *sch, const struct sk_buff *skb, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	unsigned int band = SFC_BAND_DATA;

	if (q->cfg.rate_bps)
		sfc_shape(q, skb, now);
	if (sfc_has_bands(q))
		band = sfc_count_sent(q, skb);
	if (unlikely(sfc_backlog_beyond(sch, band, q->pause.qth_out)))
		sfc_pause_departure(sch, skb, band, now ?: ktime_get_ns());
}

/*
 * The next packet whose priority the neighbour does not pause, or NULL: that may be with packets
 * left.  The high band is never paused: it is what empties queues.
 */
static noinline struct sk_buff *sfc_remove_unpaused(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 stopped = sfc_pfc_stopped(sch);
	struct sk_buff *skb;

	if (!stopped) {
		skb = sfc_queue_remove(sch);
	} else if (sfc_has_bands(q)) {
		q->qos.busy &= ~stopped;
		skb = sfc_queue_remove(sch);
		q->qos.busy |= stopped;
	} else {
		skb = sfc_queue_remove_from(sch, SFC_BAND_HIGH);
	}
	if (skb)
		sfc_pfc_sent(q->pfc, sfc_skb_cb(skb)->prio);
	return skb;
}

struct sk_buff *sfc_dequeue(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u64 now = 0;

	/* nothing waits, and the other queues of the port know */
	if (!sch->q.qlen && !q->queue.published_bytes) {
		q->wait = SFC_WAIT_NOTHING;
		return NULL;
	}
	if (!q->fifo)
		now = sfc_departure_ns(sch);
	if (now == SFC_NOT_YET)
		return NULL;
	skb = !q->fifo && q->pfc ? sfc_remove_unpaused(sch) : sfc_queue_remove(sch);
	if (!skb) {
		q->halted = sch->q.qlen;
		q->wait = q->halted ? SFC_WAIT_LINK : SFC_WAIT_NOTHING;
		return NULL;
	}
	if (BOLT_QDISC_BATCHES && q->wait == SFC_WAIT_BATCH)
		q->wait = SFC_WAIT_UNKNOWN;
	if (q->departs)
		sfc_departed(sch, skb, now);
	qdisc_bstats_update(sch, skb);
	return skb;
}
