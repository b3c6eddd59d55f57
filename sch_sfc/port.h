/* SPDX-License-Identifier: GPL-2.0 */
/* State shared by the sfc on the transmit queues of one device: see port.c. */
#ifndef _SFC_PORT_H
#define _SFC_PORT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/spinlock.h>

#include "sfc.h"

/* A link with several transmit queues: in cache lines by how often packets read and write it */
struct sfc_port {
	u32			queues;		/* of the device that have an sfc; RTNL */

	/* bytes, of all queues: the sum of what they published; read for each packet */
	atomic_t		backlog ____cacheline_aligned_in_smp;
	u32			pru_token;	/* of all; written under @lock */

	/* once per batch */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	struct sfc_sm		sm;		/* supply; under @lock */

	/* sfc of each transmit queue, several below a classful root or in a replacement; RTNL */
	u32			members[];
};

/* Every sfc of all namespaces; RTNL */
extern struct list_head sfc_list;

struct sfc_port *sfc_port_prepare(struct Qdisc *sch, const struct sfc_config *cfg);
void sfc_port_update(struct Qdisc *sch, struct sfc_port *port);
void sfc_port_tune(struct Qdisc *sch);
void sfc_port_reset(struct Qdisc *sch);
void sfc_port_departure(struct Qdisc *sch);
void sfc_ring_update(struct Qdisc *sch, u64 now);
void sfc_ring_try_enable(struct Qdisc *sch, u64 now);
void sfc_port_stats(struct Qdisc *sch, struct tc_sfc_xstats *st);

void sfc_port_publish(struct Qdisc *sch, u32 backlog);
void sfc_port_settle(struct sfc_sched *q, u32 segs, u64 now);
u32 sfc_port_pru_take(struct sfc_sched *q, u32 pkts);
u32 sfc_port_pru_add(struct sfc_sched *q, u32 pkts);

/*
 * The root of the transmit queue if nothing but the link delays @sch: itself, or an sfc_hold right
 * above.  NULL if it is the leaf of a qdisc that schedules.
 */
static inline struct Qdisc *sfc_port_root(const struct Qdisc *sch)
{
	struct Qdisc *root = rcu_dereference_bh(sch->dev_queue->qdisc);

	/* the only qdisc of this module that has a child */
	return root == sch || (root->ops->owner == THIS_MODULE &&
			       root->handle == TC_H_MAJ(sch->parent)) ? root : NULL;
}

/* Read the backlog of the other queues and the device, which sfc_backlog() then includes. */
static inline void sfc_update_elsewhere(struct sfc_sched *q)
{
	q->elsewhere_bytes = q->ring.bytes;
	if (q->queue.port)
		q->elsewhere_bytes += (u32)atomic_read(&q->queue.port->backlog) -
				      q->queue.published_bytes;
}

#endif /* _SFC_PORT_H */
