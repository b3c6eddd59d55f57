// SPDX-License-Identifier: GPL-2.0
/*
 * The bands, and all accounting: a packet is counted in qlen and backlog from
 * sfc_queue_add() to sfc_queue_remove(), and while it is held; nowhere else.
 */
#include <linux/rtnetlink.h>

#include "sfc.h"

/* By weight, lest a band that heeds nothing leaves no room for the others */
static bool sfc_queue_band_full(const struct sfc_sched *q, unsigned int band, u32 len)
{
	const struct sfc_qos_band *b = &q->qos.band[band - SFC_BAND_DATA];

	return (u64)b->bytes + len > b->limit;
}

/*
 * Drop-tail over all bands.  The high band may use an eighth more: ACKs and control
 * messages are what empties the data band.
 */
bool sfc_queue_has_room(struct Qdisc *sch, unsigned int band, u32 len)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	u64 limit = q->cfg.limit;

	if (band == SFC_BAND_HIGH)
		limit += limit >> 3;
	else if (sfc_has_bands(q) && sfc_queue_band_full(q, band, len))
		return false;
	return (u64)sch->qstats.backlog + len <= limit;
}

static void sfc_queue_band_add(struct sfc_sched *q, unsigned int band, struct sk_buff *skb)
{
	unsigned int i = band - SFC_BAND_DATA;
	u32 len = qdisc_pkt_len(skb);

	sfc_skb_cb(skb)->band = band;
	if (band == SFC_BAND_HIGH) {
		q->qos.high_bytes += len;
		return;
	}
	sfc_qos_join(&q->qos, i, len);
	if (q->qos.band[i].bytes > q->stats.band[i].backlog_peak)
		q->stats.band[i].backlog_peak = q->qos.band[i].bytes;
}

static void sfc_queue_band_remove(struct sfc_sched *q, unsigned int band,
				  const struct sk_buff *skb)
{
	u32 len = qdisc_pkt_len(skb);

	if (band == SFC_BAND_HIGH)
		q->qos.high_bytes -= len;
	else
		sfc_qos_leave(&q->qos, band - SFC_BAND_DATA, len, !q->bands[band].qlen);
}

void sfc_queue_add(struct Qdisc *sch, unsigned int band, struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_queue_add_to(sch, band, skb);
	if (sfc_has_bands(q))
		sfc_queue_band_add(q, band, skb);
}

/* The oldest packet of a band, or NULL.  Sent, or dropped: the caller counts which. */
struct sk_buff *sfc_queue_remove_from(struct Qdisc *sch, unsigned int band)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = sfc_queue_take_from(sch, band);

	if (skb && sfc_has_bands(q))
		sfc_queue_band_remove(q, band, skb);
	return skb;
}

/* By deficit; the band pays before, since what is left then goes when it becomes empty */
static struct sk_buff *sfc_queue_remove_turn(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	unsigned int i, len;

	if (!q->qos.busy)
		return NULL;
	i = sfc_qos_next(&q->qos);
	len = qdisc_pkt_len(q->bands[SFC_BAND_DATA + i].head);
	sfc_qos_pay(&q->qos, i, len);
	return sfc_queue_remove_from(sch, SFC_BAND_DATA + i);
}

/* The next packet in order of service, with more bands of data than one */
struct sk_buff *sfc_queue_remove_any(struct Qdisc *sch)
{
	return sfc_queue_remove_from(sch, SFC_BAND_HIGH) ?: sfc_queue_remove_turn(sch);
}

/* A packet waits in @held, and counts all the same. */
void sfc_queue_hold(struct Qdisc *sch, struct qdisc_skb_head *held, struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);

	__qdisc_enqueue_tail(skb, held);
	qdisc_update_stats_at_enqueue(sch, qdisc_pkt_len(skb));
	q->held_pkts++;
	q->held_bytes += qdisc_pkt_len(skb);
	q->away += qdisc_pkt_len(skb);
}

/* The oldest packet of @held, or NULL; it counts no more. */
struct sk_buff *sfc_queue_unhold(struct Qdisc *sch, struct qdisc_skb_head *held)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = __qdisc_dequeue_head(held);

	if (skb) {
		q->held_bytes -= qdisc_pkt_len(skb);
		q->away -= qdisc_pkt_len(skb);
		q->held_pkts--;
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
	}
	return skb;
}

/* A band of data that must give way, as an index: one beyond its part, else any; -1: none must */
static int sfc_queue_overfull(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	int i;

	if (sfc_has_bands(q))
		for (i = 0; i < q->qos.n; i++)
			if (q->qos.band[i].bytes > q->qos.band[i].limit)
				return i;
	if (sch->qstats.backlog <= q->cfg.limit)
		return -1;
	return sfc_has_bands(q) && q->qos.busy ? __ffs(q->qos.busy) : 0;
}

/* The oldest of band @i, counted as dropped there */
static struct sk_buff *sfc_queue_drop_from(struct Qdisc *sch, int i)
{
	struct sk_buff *skb = sfc_queue_remove_from(sch, SFC_BAND_DATA + i);
	struct sfc_sched *q = qdisc_priv(sch);

	if (skb && sfc_has_bands(q))
		q->stats.band[i].drops++;
	return skb;
}

/*
 * After a change of the limit or the bands.  Call with the tree locked.  What a parent has peeked
 * at counts in backlog but is out of reach here, hence the end by NULL.  Data goes
 * before what empties it.
 */
void sfc_queue_shrink(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 pkts = 0, bytes = 0;
	struct sk_buff *skb;
	int i;

	while ((i = sfc_queue_overfull(sch)) >= 0) {
		skb = sfc_queue_drop_from(sch, i) ?:
		      sfc_hold_remove(sch) ?:
		      sfc_queue_remove_from(sch, SFC_BAND_HIGH);
		if (!skb)
			break;
		pkts++;
		bytes += qdisc_pkt_len(skb);
		qdisc_qstats_drop(sch);
		rtnl_kfree_skbs(skb, skb);
	}
	q->stats.drop_change += pkts;
	if (pkts)
		qdisc_tree_reduce_backlog(sch, pkts, bytes);
}

/* Everything must go; qdisc_reset() and the parents see to the totals. */
void sfc_queue_purge(struct Qdisc *sch)
{
	struct sk_buff *skb;

	while ((skb = sfc_queue_remove(sch) ?: sfc_hold_remove(sch)))
		rtnl_kfree_skbs(skb, skb);
}
