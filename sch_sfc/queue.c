// SPDX-License-Identifier: GPL-2.0
/*
 * The bands and their accounting.  A packet is counted in qlen and backlog while it is in a band;
 * only functions of this file and of queue.h add or remove it.  Then the path of a packet out of
 * the port: the high band, the data bands by weight or in their order, and the shaper.
 */
#include <linux/rtnetlink.h>

#include "backlog.h"
#include "buffer.h"
#include "port.h"
#include "queue.h"

static bool sfc_queue_band_has_memory(const struct sfc_sched *q, unsigned int band, u32 truesize)
{
	const struct sfc_qos_band *b = &q->qos.band[band];
	u64 used = b->memory;

	if (q->qos.ordered && band != SFC_BAND_HIGH)
		used = q->memory_used - q->qos.band[SFC_BAND_HIGH].memory;
	return !b->bytes || used + truesize <= b->memory_limit;
}

/*
 * Drop-tail over all bands, of which each has its share of the limits, so unresponsive traffic
 * cannot lock out other bands: the high band half.  With levels the first may take all: see
 * sfc_qos_set().  The high band, which drains the others, may use an eighth more.  A packet larger
 * than the limit is queued when it is alone: the MTU may have risen, and tags, a size table and
 * super-packets are beyond it.
 */
bool sfc_queue_has_room(struct Qdisc *sch, unsigned int band, const struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);
	const struct sfc_qos_band *b = &q->qos.band[band];
	u32 len = qdisc_pkt_len(skb);
	u64 limit = q->cfg.limit;

	if (band == SFC_BAND_HIGH)
		limit += limit >> 3;
	if (b->bytes && sfc_qos_fill(&q->qos, band) + len > b->limit)
		return false;
	/* the account of the buffer has no packets that the device has taken */
	if (q->sw_buffer &&
	    !sfc_buffer_has_room(q, band, sch->qstats.backlog + q->elsewhere_bytes - q->ring.bytes,
				 len)) {
		q->stats.drop_buffer++;
		return false;
	}
	if (!sch->q.qlen)
		return true;
	if ((u64)sch->qstats.backlog + len > limit)
		return false;
	if ((u64)q->memory_used + skb->truesize > sfc_queue_memory_limit(&q->cfg, band) ||
	    !sfc_queue_band_has_memory(q, band, skb->truesize)) {
		q->stats.drop_memory++;
		return false;
	}
	return true;
}

/* --- in and out of a band: all accounting --- */

static __always_inline struct sk_buff *sfc_band_remove(struct sfc_sched *q, unsigned int band)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&q->bands[band]);

	if (skb) {
		q->qos.band[band].memory -= sfc_skb_cb(skb)->memory;
		sfc_qos_leave(&q->qos, band, qdisc_pkt_len(skb), !q->bands[band].qlen);
		q->pfc_watch[band].stuck_ns = 0;
	}
	return skb;
}

/* To the end of another band, in order */
void sfc_queue_move(struct sfc_sched *q, unsigned int from, unsigned int to)
{
	struct sk_buff *skb;

	while ((skb = sfc_band_remove(q, from)))
		sfc_band_add(q, to, skb);
}

/* Remove a band's head, NULL if empty.  The caller counts it as sent or dropped. */
static __always_inline struct sk_buff *sfc_queue_remove_from(struct Qdisc *sch, unsigned int band)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = sfc_band_remove(q, band);

	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		q->memory_used -= sfc_skb_cb(skb)->memory;
		if (q->sw_buffer)
			sfc_buffer_leave(q, skb);
	}
	return skb;
}

/* --- order of service --- */

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
		if ((s32)(sfc_skb_cb(q->bands[i].head)->arrival -
			  sfc_skb_cb(q->bands[first].head)->arrival) < 0)
			first = i;
	}
	return first;
}

/*
 * The data band whose turn it is, of several.  By deficit, charge the band before the packet is
 * removed, because a band that becomes empty loses its credit.
 */
static noinline unsigned int sfc_queue_next_band(struct sfc_sched *q)
{
	unsigned int i;

	if (q->qos.ordered)
		return sfc_queue_next_level(q);
	i = sfc_qos_next(&q->qos);
	sfc_qos_pay(&q->qos, i, qdisc_pkt_len(q->bands[i].head));
	return i;
}

/*
 * A packet of the high band leaves.  What left while data waited is forgotten slowly: data that
 * comes a packet at a time has its turn as well.
 */
static void sfc_high_sent(struct Qdisc *sch, u32 len)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (sch->q.qlen != q->bands[SFC_BAND_HIGH].qlen)
		q->high_ahead = min_t(u32, q->high_ahead + len, SFC_HIGH_BURST);
	else
		q->high_ahead -= min(q->high_ahead, len >> 3);
}

/*
 * The next packet in order of service, or NULL.  The high band comes first, but no user can stop
 * data with it: when SFC_HIGH_BURST of it have left while data waited, it has half of the link.
 */
static __always_inline struct sk_buff *sfc_queue_remove(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (q->bands[SFC_BAND_HIGH].head && (q->high_ahead < SFC_HIGH_BURST || !q->qos.busy)) {
		skb = sfc_queue_remove_from(sch, SFC_BAND_HIGH);
		sfc_high_sent(sch, qdisc_pkt_len(skb));
		return skb;
	}
	if (!q->qos.busy)
		return NULL;
	if (sfc_has_bands(q))
		skb = sfc_queue_remove_from(sch, sfc_queue_next_band(q));
	else
		skb = sfc_queue_remove_from(sch, 0);
	if (skb && q->high_ahead)
		q->high_ahead -= min(q->high_ahead, qdisc_pkt_len(skb));
	return skb;
}

/*
 * Drop what exceeds a changed limit: of the last band of data that has some, since ACKs and control
 * messages drain the queue.  The last packet stays, as sfc_queue_has_room() would have it.
 * A packet that a parent has peeked at counts in the backlog, but is not in a band, so the bands
 * may be empty before the limit is met.  Context: tree locked
 */
void sfc_queue_shrink(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 bytes = sch->qstats.backlog;
	u32 pkts = sch->q.qlen;
	struct sk_buff *skb;
	unsigned int i;

	while (sch->q.qlen > 1 && (sch->qstats.backlog > q->cfg.limit ||
				   q->memory_used > q->cfg.memory_limit)) {
		i = q->qos.busy ? __fls(q->qos.busy) : SFC_BAND_HIGH;
		skb = sfc_queue_remove_from(sch, i);
		if (!skb)
			break;
		q->band_stats[i].qstats.drops++;
		rtnl_qdisc_drop(skb, sch);
	}

	pkts -= sch->q.qlen;
	bytes -= sch->qstats.backlog;
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

/* --- dequeue: the shaper, and egress BTS, sent for the queue that a packet leaves behind --- */

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

/*
 * May the head packet leave now?  Publishes the backlog to the port's other queues and asks the
 * shaper.  Returns ktime if it was read, 0 if not, or SFC_NOT_YET if the packet has to wait.
 */
static u64 sfc_departure_ns(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u64 now;

	/* not if the queue will be empty and 0 is published; egress BTS need the others' backlog */
	if (q->queue.port && (sch->q.qlen > 1 || q->queue.published_bytes ||
			      q->pause.qth_out != SFC_QUEUE_NEVER))
		sfc_port_departure(sch);
	if (q->ring.on && q->pause.qth_out != SFC_QUEUE_NEVER)
		sfc_ring_update(sch, ktime_get_ns());
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
static __always_inline void sfc_departed(struct Qdisc *sch, const struct sk_buff *skb, u64 now)
{
	unsigned int band = sfc_skb_cb(skb)->band;
	struct sfc_sched *q = qdisc_priv(sch);

	if (q->cfg.rate_bps)
		sfc_shape(q, skb, now);
	if (sfc_has_bands(q))
		bstats_update(&q->band_stats[band].bstats, skb);
	if (sfc_backlog_beyond(sch, band, q->pause.qth_out))
		sfc_pause_departure(sch, skb, now ?: ktime_get_ns());
	qdisc_bstats_update(sch, skb);
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

	q->qos.busy &= ~stopped;
	skb = sfc_queue_remove(sch);
	q->qos.busy |= stopped;
	return skb;
}

/* Something waits, or the other queues of the port do not know that nothing does. */
static noinline struct sk_buff *sfc_depart(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u64 now = 0;

	if (q->needs_refresh)
		now = sfc_departure_ns(sch);
	if (now == SFC_NOT_YET) {
		/* "rate" may have come while packets waited for a CPU */
		q->wait = SFC_WAIT_LINK;
		return NULL;
	}
	skb = q->pfc && READ_ONCE(q->pfc->paused) ? sfc_remove_unpaused(sch) :
						    sfc_queue_remove(sch);
	if (!skb) {
		q->halted = sch->q.qlen;
		q->wait = q->halted ? SFC_WAIT_LINK : SFC_WAIT_NOTHING;
		return NULL;
	}
	if (BOLT_QDISC_BATCHES && q->wait == SFC_WAIT_BATCH)
		q->wait = SFC_WAIT_UNKNOWN;
	sfc_departed(sch, skb, now);
	return skb;
}

/* The stack calls it once more after the last packet: that call does without a stack frame. */
struct sk_buff *sfc_dequeue(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (sch->q.qlen || q->queue.published_bytes)
		return sfc_depart(sch);
	q->wait = SFC_WAIT_NOTHING;
	return NULL;
}
