/* SPDX-License-Identifier: GPL-2.0 */
/* The backlog as the algorithms see it; queue.c */
#ifndef _SFC_QUEUE_H
#define _SFC_QUEUE_H

#include "memory.h"
#include "packet.h"

/* What the high band may send before it has to take turns with data: sfc_queue_remove() */
static inline u32 sfc_high_left(const struct sfc_sched *q)
{
	return SFC_HIGH_BURST - q->high_ahead;
}

/* Bytes of this qdisc that wait for the link; of the high band, those that go before the data */
static inline u32 sfc_backlog_here(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	u32 high = q->qos.band[SFC_BAND_HIGH].bytes, data = sch->qstats.backlog - high;

	if (unlikely(q->wait == SFC_WAIT_CPU))
		return 0;
	return data + sfc_qos_before(&q->qos, data, sfc_high_left(q));
}

/*
 * The queue for the algorithms, bytes: this qdisc's backlog, that of the port's other queues and
 * of the device.  sch->qstats.backlog - excluded_bytes is that sum, modulo 2^32, or more.
 */
static inline u32 sfc_backlog(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	return sfc_backlog_here(sch) - q->excluded_bytes;
}

/* ... for a data band: the bytes in that band, and of the high band those that go before */
static inline u32 sfc_backlog_of(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH && q->wait != SFC_WAIT_CPU)
		return sfc_qos_queue(&q->qos, band, sfc_high_left(q));
	return sfc_backlog(sch);
}

/* ... for SFC: scaled by the band's share of the link, so that it measures the time to drain */
static inline u32 sfc_backlog_drain(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH && q->wait != SFC_WAIT_CPU)
		return sfc_qos_drain(&q->qos, band, sfc_high_left(q));
	return sfc_backlog(sch);
}

/* Line 10 of SFC's Algorithm 1 */
static inline bool sfc_backlog_beyond(struct Qdisc *sch, unsigned int band, u32 threshold)
{
	return threshold != SFC_QUEUE_NEVER && sfc_backlog_drain(sch, band) > threshold;
}

/*
 * Small packets take many times their length.  The last eighth of the memory is for the high band,
 * because ACKs and control messages drain the data bands.
 */
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
	if (sch->qstats.backlog - q->excluded_bytes > q->stats.backlog_peak)
		q->stats.backlog_peak = sch->qstats.backlog - q->excluded_bytes;
}

bool sfc_queue_has_room(struct Qdisc *sch, unsigned int band, const struct sk_buff *skb);
void sfc_queue_move(struct sfc_sched *q, unsigned int from, unsigned int to);
void sfc_queue_shrink(struct Qdisc *sch);
void sfc_queue_purge(struct Qdisc *sch);

#endif /* _SFC_QUEUE_H */
