/* SPDX-License-Identifier: GPL-2.0 */
/* How a packet joins a band; room, and moving or dropping what is queued: queue.c */
#ifndef _SFC_QUEUE_H
#define _SFC_QUEUE_H

#include "packet.h"

/* Small packets take many times their length.  An eighth is for the high band: it drains others. */
static inline u32 sfc_queue_memory_limit(const struct sfc_config *cfg, unsigned int band)
{
	return cfg->memory_limit - (band != SFC_BAND_HIGH ? cfg->memory_limit >> 3 : 0);
}

static __always_inline void sfc_band_add(struct sfc_sched *q, unsigned int band,
					 struct sk_buff *skb)
{
	struct sfc_skb_cb *cb = sfc_skb_cb(skb);

	__qdisc_enqueue_tail(skb, &q->bands[band]);
	cb->band = band;
	cb->arrival = q->qos.arrivals;
	q->qos.band[band].memory += cb->memory;
	sfc_qos_join(&q->qos, band, qdisc_pkt_len(skb));
}

static __always_inline void sfc_queue_add(struct Qdisc *sch, unsigned int band,
					  struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_skb_cb(skb)->memory = skb->truesize;
	q->memory_used += skb->truesize;
	sfc_band_add(q, band, skb);
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	if (sch->qstats.backlog + q->elsewhere_bytes > q->stats.backlog_peak)
		q->stats.backlog_peak = sch->qstats.backlog + q->elsewhere_bytes;
}

bool sfc_queue_has_room(struct Qdisc *sch, unsigned int band, const struct sk_buff *skb);
void sfc_queue_move(struct sfc_sched *q, unsigned int from, unsigned int to);
void sfc_queue_shrink(struct Qdisc *sch);
void sfc_queue_purge(struct Qdisc *sch);

#endif /* _SFC_QUEUE_H */
