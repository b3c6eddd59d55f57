/* SPDX-License-Identifier: GPL-2.0 */
/* The backlog as the algorithms see it, and the fast path of the accounting in queue.c. */
#ifndef _SFC_QUEUE_H
#define _SFC_QUEUE_H

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
	u32 high = q->qos.high_bytes, data = sch->qstats.backlog - high;

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
		return sfc_qos_queue(&q->qos, band - SFC_BAND_DATA, sfc_high_left(q));
	return sfc_backlog(sch);
}

/* ... for SFC: scaled by the band's share of the link, so that it measures the time to drain */
static inline u32 sfc_backlog_drain(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH && q->wait != SFC_WAIT_CPU)
		return sfc_qos_drain(&q->qos, band - SFC_BAND_DATA, sfc_high_left(q));
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

/* The high band may have half of the room.  Up to that, the fast path need not know the band. */
static inline u32 sfc_high_limit(const struct sfc_config *cfg)
{
	return cfg->limit / 2;
}

static inline u32 sfc_high_memory_limit(const struct sfc_config *cfg)
{
	return cfg->memory_limit / 2;
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
	if (band == SFC_BAND_HIGH) {
		q->qos.high_bytes += qdisc_pkt_len(skb);
		q->high_memory += skb->truesize;
	}
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
		if (band == SFC_BAND_HIGH) {
			q->qos.high_bytes -= qdisc_pkt_len(skb);
			q->high_memory -= sfc_skb_cb(skb)->memory;
		}
		if (unlikely(q->books))
			sfc_queue_unbook(q, band, skb);
	}
	return skb;
}

/*
 * A packet of the high band leaves.  What left while data waited is forgotten slowly: data that
 * comes a packet at a time has its turn as well.
 */
static __always_inline void sfc_high_sent(struct Qdisc *sch, u32 len)
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
	bool turns = unlikely(q->high_ahead == SFC_HIGH_BURST);
	struct sk_buff *skb = NULL;

	if (!turns)
		skb = sfc_queue_remove_from(sch, SFC_BAND_HIGH);
	if (!skb) {
		skb = sfc_has_bands(q) ? sfc_queue_remove_turn(sch) :
					 sfc_queue_remove_from(sch, SFC_BAND_DATA);
		if (skb && unlikely(q->high_ahead))
			q->high_ahead -= min(q->high_ahead, qdisc_pkt_len(skb));
		if (skb || !turns)
			return skb;
		/* no data, or none that PFC lets go */
		skb = sfc_queue_remove_from(sch, SFC_BAND_HIGH);
	}
	if (skb)
		sfc_high_sent(sch, qdisc_pkt_len(skb));
	return skb;
}

#endif /* _SFC_QUEUE_H */
