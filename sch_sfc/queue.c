// SPDX-License-Identifier: GPL-2.0
/*
 * The bands, and all accounting: a packet is counted in qlen and backlog from
 * sfc_queue_add() to sfc_queue_remove(), and while it is held; nowhere else.
 */
#include <linux/rtnetlink.h>

#include "sfc.h"

/*
 * Drop-tail over all bands.  The high band may use an eighth more: ACKs and control
 * messages are what empties the data band.
 */
bool sfc_queue_has_room(struct Qdisc *sch, enum sfc_band_id band, u32 len)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	u64 limit = q->cfg.limit;

	if (band == SFC_BAND_HIGH)
		limit += limit >> 3;
	return (u64)sch->qstats.backlog + len <= limit;
}

void sfc_queue_add(struct Qdisc *sch, enum sfc_band_id band, struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);

	__qdisc_enqueue_tail(skb, &q->bands[band]);
	qdisc_update_stats_at_enqueue(sch, qdisc_pkt_len(skb));
	if (sfc_backlog(sch) > q->stats.backlog_peak)
		q->stats.backlog_peak = sfc_backlog(sch);
}

/* The oldest packet of a band, or NULL.  Sent, or dropped: the caller counts which. */
struct sk_buff *sfc_queue_remove_from(struct Qdisc *sch, enum sfc_band_id band)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = __qdisc_dequeue_head(&q->bands[band]);

	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
	}
	return skb;
}

/* The next packet in order of service */
struct sk_buff *sfc_queue_remove(struct Qdisc *sch)
{
	return sfc_queue_remove_from(sch, SFC_BAND_HIGH) ?:
	       sfc_queue_remove_from(sch, SFC_BAND_DATA);
}

/* A packet waits in @held, and counts all the same. */
void sfc_queue_hold(struct Qdisc *sch, struct qdisc_skb_head *held, struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);

	__qdisc_enqueue_tail(skb, held);
	qdisc_update_stats_at_enqueue(sch, qdisc_pkt_len(skb));
	q->held_pkts++;
	q->held_bytes += qdisc_pkt_len(skb);
}

/* The oldest packet of @held, or NULL; it counts no more. */
struct sk_buff *sfc_queue_unhold(struct Qdisc *sch, struct qdisc_skb_head *held)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = __qdisc_dequeue_head(held);

	if (skb) {
		q->held_bytes -= qdisc_pkt_len(skb);
		q->held_pkts--;
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
	}
	return skb;
}

/*
 * After a change of the limit.  Call with the tree locked.  What a parent has peeked
 * at counts in backlog but is out of reach here, hence the end by NULL.  Data goes
 * before what empties it.
 */
void sfc_queue_shrink(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 pkts = 0, bytes = 0;
	struct sk_buff *skb;

	while (sch->qstats.backlog > q->cfg.limit) {
		skb = sfc_queue_remove_from(sch, SFC_BAND_DATA) ?:
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
