/* SPDX-License-Identifier: GPL-2.0 */
/* The backlog as the algorithms see it */
#ifndef _SFC_BACKLOG_H
#define _SFC_BACKLOG_H

#include "sfc.h"

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
 * of the device.  sch->qstats.backlog + elsewhere_bytes is that sum, or more.
 */
static inline u32 sfc_backlog(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	return sfc_backlog_here(sch) + q->elsewhere_bytes;
}

/* The queue for Algorithm 1: of several bands, bytes in @band, and in the high one before them */
static inline u32 sfc_backlog_of(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH && q->wait != SFC_WAIT_CPU)
		return sfc_qos_queue(&q->qos, band, sfc_high_left(q));
	return sfc_backlog(sch);
}

/* The queue for SFC: scaled by the band's share of the link, so it measures the time to drain */
static inline u32 sfc_backlog_drain(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH && q->wait != SFC_WAIT_CPU)
		return sfc_qos_drain(&q->qos, band, sfc_high_left(q));
	return sfc_backlog(sch);
}

/* Line 7 of SFC's Algorithm 1 */
static inline bool sfc_backlog_beyond(struct Qdisc *sch, unsigned int band, u32 threshold)
{
	return threshold != SFC_QUEUE_NEVER && sfc_backlog_drain(sch, band) > threshold;
}

#endif /* _SFC_BACKLOG_H */
