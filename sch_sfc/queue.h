/* SPDX-License-Identifier: GPL-2.0 */
/* The backlog as the algorithms see it, and the fast path of the accounting in queue.c. */
#ifndef _SFC_QUEUE_H
#define _SFC_QUEUE_H

#include "packet.h"

/* Bytes of this qdisc that wait for the link */
static inline u32 sfc_backlog_here(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	return likely(q->wait != SFC_WAIT_CPU) ? sch->qstats.backlog : 0;
}

/*
 * The queue for the algorithms, bytes: this qdisc's backlog, that of the port's other queues and
 * of the device.  sch->qstats.backlog - excluded_bytes is that sum, modulo 2^32.
 */
static inline u32 sfc_backlog(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	return sfc_backlog_here(sch) - q->excluded_bytes;
}

/* ... for a data band: the bytes in that band and in the high band */
static inline u32 sfc_backlog_of(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH && q->wait != SFC_WAIT_CPU)
		return sfc_qos_queue(&q->qos, band - SFC_BAND_DATA);
	return sfc_backlog(sch);
}

/* ... for SFC: scaled by the band's share of the link, so that it measures the time to drain */
static inline u32 sfc_backlog_drain(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH && q->wait != SFC_WAIT_CPU)
		return sfc_qos_drain(&q->qos, band - SFC_BAND_DATA);
	return sfc_backlog(sch);
}

/* Lines 10 and 12 of SFC's Algorithm 1 */
static inline bool sfc_backlog_beyond(struct Qdisc *sch, unsigned int band, u32 threshold)
{
	return threshold != SFC_QUEUE_NEVER && sfc_backlog_drain(sch, band) > threshold;
}

/* Must SFC look at a packet?  This is all that it costs while nothing is congested. */
static inline bool sfc_pause_armed(struct Qdisc *sch, unsigned int band, u64 now)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	return unlikely(sfc_backlog_beyond(sch, band, q->pause.qth_in) ||	/* line 10 */
			now < READ_ONCE(*q->until_ns) ||		/* line 11 */
			q->dre.decay);
}

/*
 * Small packets take many times their length.  The last eighth of the memory is for the high band,
 * because ACKs and control messages drain the data bands.
 */
static inline u32 sfc_queue_memory_limit(const struct sfc_config *cfg, unsigned int band)
{
	return cfg->memory_limit - (band != SFC_BAND_HIGH ? cfg->memory_limit >> 3 : 0);
}

static __always_inline bool sfc_queue_has_memory(const struct sfc_sched *q, unsigned int band,
						 const struct sk_buff *skb)
{
	return (u64)q->memory_used + skb->truesize <= sfc_queue_memory_limit(&q->cfg, band);
}

bool sfc_queue_has_room(struct Qdisc *sch, unsigned int band, const struct sk_buff *skb);
void sfc_queue_band_add(struct sfc_sched *q, unsigned int band, struct sk_buff *skb);
void sfc_queue_book(struct sfc_sched *q, unsigned int band, struct sk_buff *skb);
void sfc_queue_unbook(struct sfc_sched *q, unsigned int band, const struct sk_buff *skb);
struct sk_buff *sfc_queue_remove_turn(struct Qdisc *sch);
void sfc_queue_shrink(struct Qdisc *sch);
void sfc_queue_purge(struct Qdisc *sch);

static __always_inline void sfc_queue_add(struct Qdisc *sch, unsigned int band,
					  struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);

	__qdisc_enqueue_tail(skb, &q->bands[band]);
	sfc_skb_cb(skb)->memory = skb->truesize;
	q->memory_used += skb->truesize;
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	if (sch->qstats.backlog - q->excluded_bytes > q->stats.backlog_peak)
		q->stats.backlog_peak = sch->qstats.backlog - q->excluded_bytes;
	if (unlikely(q->books))
		sfc_queue_book(q, band, skb);
}

/* Remove a band's head, NULL if empty.  The caller counts it as sent or dropped. */
static __always_inline struct sk_buff *sfc_queue_remove_from(struct Qdisc *sch, unsigned int band)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = __qdisc_dequeue_head(&q->bands[band]);

	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		q->memory_used -= sfc_skb_cb(skb)->memory;
		if (unlikely(q->books))
			sfc_queue_unbook(q, band, skb);
	}
	return skb;
}

/* The next packet in order of service, or NULL */
static __always_inline struct sk_buff *sfc_queue_remove(struct Qdisc *sch)
{
	struct sk_buff *skb = sfc_queue_remove_from(sch, SFC_BAND_HIGH);

	if (skb)
		return skb;
	return sfc_has_bands(qdisc_priv(sch)) ? sfc_queue_remove_turn(sch) :
						sfc_queue_remove_from(sch, SFC_BAND_DATA);
}

#endif /* _SFC_QUEUE_H */
