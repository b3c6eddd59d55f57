/* SPDX-License-Identifier: GPL-2.0 */
/* The packet buffer that the ports of a switch share, counted by port and by ingress */
#ifndef _SFC_BUFFER_H
#define _SFC_BUFFER_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>

#include "packet.h"

/*
 * A device with "pfc", and the neighbour at its other end.  Allocated objects live as long as the
 * namespace, so packets hold no reference.
 */
struct sfc_pfc {
	struct net_device	*dev;		/* NULL: deleted, and the slot may be reused */
	int			ifindex;	/* also when it has gone */
	u8			slot;	/* in sfc_skb_cb.ingress of packets that came in by it */
	struct sfc_pfc_config	cfg;		/* of its sfc: the last one configured */
	struct sfc_rate		rate;		/* of the link */

	/* what came in by this device and is queued, by priority: packets << 32 | bytes */
	atomic64_t		queued[SFC_PFC_PRIOS] ____cacheline_aligned_in_smp;
	u32			peak;		/* most of any priority */
	unsigned long		full;	/* priorities beyond xoff, and not yet below xon */
	/* of each priority, when a packet came in that met no congestion: srcc.c */
	u64			uncongested_ns[SFC_PFC_PRIOS];
	u64			used_ns;	/* when data came to a port of it with "srcc" */

	/* priorities that may have to wait */
	unsigned long		paused ____cacheline_aligned_in_smp;
	spinlock_t		lock;	/* of what follows, and of writes to @dev and @cfg */
	struct sfc_xoff		tx[SFC_PFC_PRIOS];	/* PAUSE frames sent */
	struct sfc_paused	rx[SFC_PFC_PRIOS];	/* PAUSE frames received */
	struct sfc_pfc_stats {
		u64		xoff, refresh, xon, failed;
		u64		heard, refused, ignored, trips;
		u64		asked, ask_refused;
	}			stats;
	/* sends frames, because they are triggered with a qdisc locked; @timer sends them again */
	struct tasklet_struct	task;
	struct hrtimer		timer;
};

static inline u32 sfc_pfc_bytes(const struct sfc_pfc *pfc, int prio)
{
	return atomic64_read(&pfc->queued[prio]);
}

static inline u32 sfc_pfc_packets(const struct sfc_pfc *pfc, int prio)
{
	return (u64)atomic64_read(&pfc->queued[prio]) >> 32;
}

/* buffer.c */
int sfc_pfc_slot_alloc(struct sfc_buffer *buf, const struct net_device *dev);
void sfc_buffer_set(struct Qdisc *sch, const struct sfc_config *cfg);
void sfc_pfc_start_or_stop(struct Qdisc *sch, struct sfc_pfc *old);
bool sfc_pfc_reconfigure(struct sfc_pfc *pfc);
void sfc_buffer_free(struct sfc_buffer *buf);
void sfc_buffer_add(struct Qdisc *sch, struct sk_buff *skb);
void sfc_buffer_remove(struct sfc_sched *q, const struct sk_buff *skb);
bool sfc_buffer_has_room(const struct sfc_sched *q, unsigned int band, u32 backlog, u32 len);
struct sfc_pfc *sfc_pfc_ingress(struct Qdisc *sch, const struct sk_buff *skb);
void sfc_buffer_stats(const struct sfc_sched *q, struct tc_sfc_xstats *st);

/* pfc.c */
void sfc_pfc_init(struct sfc_pfc *pfc);
void sfc_pfc_configure(struct sfc_pfc *pfc, const struct sfc_pfc_config *cfg,
		       u64 link_bps);
void sfc_pfc_begin(struct sfc_pfc *pfc, struct net_device *dev);
void sfc_pfc_end(struct sfc_pfc *pfc);
u32 sfc_pfc_stopped(struct Qdisc *sch);
bool sfc_pfc_request(struct sfc_pfc *pfc, u8 prio, u64 pause_ns, u64 now);
bool sfc_pfc_convert(struct sfc_pfc *pfc, const struct bolt_msg *m, u32 left_ns, u64 now);

/* Of data; what is not IP has the priority that the host gave it */
static __always_inline u8 sfc_prio_of(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	return pkt->flow.family ? pkt->flow.dscp >> 3 : skb->priority & 7;
}

/* Store the priority of a packet that was queued, and its ingress, and count it for both. */
static __always_inline void sfc_buffer_join(struct Qdisc *sch, struct sk_buff *skb,
					    const struct sfc_pkt *pkt)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_skb_cb *cb = sfc_skb_cb(skb);

	cb->prio = pkt->band == SFC_BAND_HIGH ? SFC_PFC_NO_PRIO : sfc_prio_of(skb, pkt);
	cb->ingress = 0;
	if (q->cfg.buffer || sfc_iif(q, skb))
		sfc_buffer_add(sch, skb);
}

static inline void sfc_buffer_leave(struct sfc_sched *q, const struct sk_buff *skb)
{
	if (q->cfg.buffer || sfc_skb_cb(skb)->ingress)
		sfc_buffer_remove(q, skb);
}

#endif /* _SFC_BUFFER_H */
