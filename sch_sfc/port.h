/* SPDX-License-Identifier: GPL-2.0 */
/* What the sfc on the transmit queues of one device share: see port.c. */
#ifndef _SFC_PORT_H
#define _SFC_PORT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/spinlock.h>

#include "sfc.h"

/**
 * struct sfc_port - a link with several transmit queues
 * @list:	of all; RTNL
 * @members:	of struct sfc_queue; RTNL
 * @dev:	whose
 * @queues:	of it that have an sfc; RTNL
 * @backlog:	bytes, of all queues: the sum of what they told
 * @pru_token:	of all; 0..SFC_PRU_MAX
 * @lock:	of @state
 * @state:	supply.  Its pru_token rests
 *
 * Three lines of the cache: what nobody writes; what is written while packets wait or flows end,
 * and read for each packet; what is written once in a batch.
 */
struct sfc_port {
	struct list_head	list;
	struct list_head	members;
	const struct net_device	*dev;
	u32			queues;

	atomic_t		backlog ____cacheline_aligned_in_smp;
	atomic_t		pru_token;

	spinlock_t		lock ____cacheline_aligned_in_smp;
	struct sfc_alg_state	state;
};

struct sfc_port *sfc_port_prepare(struct Qdisc *sch, const struct sfc_config *cfg);
void sfc_port_update(struct Qdisc *sch, struct sfc_port *port);
void sfc_port_tune(struct Qdisc *sch);
void sfc_port_reset(struct Qdisc *sch);
void sfc_port_departure(struct Qdisc *sch);
void sfc_port_stats(struct Qdisc *sch, struct tc_sfc_xstats *st);

void sfc_port_tell(struct Qdisc *sch, u32 backlog);
void sfc_port_supply(struct sfc_sched *q, const struct sfc_alg_in *in);
void sfc_port_decide_data(struct sfc_sched *q, const struct sfc_alg_in *in,
			  struct sfc_decision *out);

static inline void sfc_port_decide(struct sfc_sched *q, const struct sfc_alg_in *in,
				   struct sfc_decision *out)
{
	sfc_port_supply(q, in);
	sfc_port_decide_data(q, in, out);
}

/* @backlog bytes wait here: for the others, if they have to hear of it */
static inline void sfc_port_show(struct Qdisc *sch, u32 backlog)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_share_news(backlog, q->queue.told, q->queue.grain))
		sfc_port_tell(sch, backlog);
}

/* What the others have: from here on sfc_backlog() says it. */
static inline void sfc_port_look(struct sfc_sched *q)
{
	q->away = q->held_bytes + q->queue.told - (u32)atomic_read(&q->queue.port->backlog);
}

/* A packet arrives. */
static inline void sfc_port_arrival(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_port_show(sch, sch->qstats.backlog - q->held_bytes);
	sfc_port_look(q);
}

#endif /* _SFC_PORT_H */
