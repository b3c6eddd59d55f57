// SPDX-License-Identifier: GPL-2.0
/*
 * A link with several transmit queues, an sfc on each (below mq, mqprio, taprio): one port.
 *
 *	queue 1 --+-- backlog, when it has changed ---------> sum   (compared with every threshold)
 *	queue 2 --+-- LAST: a token ------------------------> PRU  -- INC takes one
 *	queue 3 --+-- demand of a batch of packets ---------> SM   -- supply for the next batch
 *
 * What is shared is read often and written seldom.  So the backlog is off by less than ccthresh and
 * an eighth of it, and a packet for each queue (what is published waited when a packet came or was
 * asked for); PRU tokens are exact; of supply, share.h has the bound.
 *
 * Which are queues of one port: all sfc on one device that do not shape, have one band of
 * data and are not the paper's, which keeps its state by queue (section 4.1), if they
 * belong to more than one transmit queue.  A classful qdisc as the root has one transmit queue,
 * whatever its classes.  A single sfc has no struct sfc_port, and so no cost.
 *
 * And the device below.  If the driver keeps byte queue limits, the bytes that it holds of a
 * transmit queue are part of the queue of the sfc there: share.h, sfc_ring_try_enable().
 *
 * Membership is protected by RTNL.  Members of struct sfc_queue that packets use change with the
 * tree locked, and a port is freed after its last member has left it, so packets need no reference.
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "backlog.h"
#include "port.h"

/* The one configured last is the first: of several sfc of a device, its "pfc" is in force. */
LIST_HEAD(sfc_list);

/* Make @backlog visible to the port's other queues, if it has changed enough. */
void sfc_port_publish(struct Qdisc *sch, u32 backlog)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (!sfc_share_news(backlog, q->queue.published_bytes, q->queue.grain))
		return;
	atomic_add(backlog - q->queue.published_bytes, &q->queue.port->backlog);
	q->queue.published_bytes = backlog;
	q->queue.writes++;
}

/*
 * Before a dequeue: publish the backlog that will remain.  Otherwise each packet through an empty
 * queue would change the published value twice (0 -> n -> 0).
 */
void sfc_port_departure(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 backlog = sfc_backlog_here(sch);
	const struct sk_buff *next;

	next = q->bands[SFC_BAND_HIGH].head ?: q->bands[0].head;
	if (next)
		backlog -= min(backlog, qdisc_pkt_len(next));
	sfc_port_publish(sch, backlog);
	sfc_update_elsewhere(q);
}

/* Algorithm 1, line 3, now and then: share.h */
void sfc_port_settle(struct sfc_sched *q, u32 segs, u64 now)
{
	const struct sfc_alg_in in = { .now = now, .segs = segs };
	struct sfc_port *port = q->queue.port;

	spin_lock(&port->lock);
	sfc_share_settle(&q->queue.share, &q->qos.band[0].state.sm, &port->sm, &q->alg, &in);
	spin_unlock(&port->lock);
	q->queue.writes++;
}

/* Lines 14-15: all or nothing */
u32 sfc_port_pru_take(struct sfc_sched *q, u32 pkts)
{
	struct sfc_port *port = q->queue.port;
	bool paid;

	spin_lock(&port->lock);
	paid = sfc_pru_take(&port->pru_token, pkts);
	spin_unlock(&port->lock);
	q->queue.writes++;
	return paid ? pkts : 0;
}

/* Line 12.  Returns the number of tokens added, up to the maximum. */
u32 sfc_port_pru_add(struct sfc_sched *q, u32 pkts)
{
	struct sfc_port *port = q->queue.port;

	spin_lock(&port->lock);
	pkts = sfc_pru_add(&port->pru_token, pkts, SFC_PRU_MAX);
	spin_unlock(&port->lock);
	q->queue.writes++;
	return pkts;
}

/* --- what the device holds --- */

/* The driver's counters; both stay 0 where it has no byte queue limits. */
static u32 sfc_ring_read(const struct netdev_queue *txq, u32 *completed)
{
#ifdef CONFIG_BQL
	/* first: what is completed was queued before */
	*completed = smp_load_acquire(&txq->dql.num_completed);
	return READ_ONCE(txq->dql.num_queued);
#else
	*completed = 0;
	return 0;
#endif
}

/* Read the device's byte counters, when a packet arrives, or leaves with egress BTS on. */
void sfc_ring_update(struct Qdisc *sch, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 queued, completed, held;

	queued = sfc_ring_read(sch->dev_queue, &completed);
	held = sfc_ring_held(&q->ring, &q->alg.rate, queued, completed, now);
	/* it may have become the leaf of another qdisc */
	if (!sfc_port_root(sch))
		held = 0;
	q->ring.bytes = held - min(held, q->alg.mtu);
	sfc_update_elsewhere(q);
}

/*
 * Enable ring accounting if the device's byte queue limits count only packets of this qdisc, and
 * the port knows its rate, does not shape and has one band (the device cannot tell bands apart).
 * Afterwards each arrival reads the ring.  No event says that a driver enables them,
 * and the counters are 0 before the first packet: a congested queue checks.
 */
void sfc_ring_try_enable(struct Qdisc *sch, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	const struct Qdisc *root;
	u32 completed;

	if (q->ring.on || !sfc_ring_read(sch->dev_queue, &completed))
		return;
	root = sfc_port_root(sch);
	if (q->cfg.rate_bps || sfc_has_bands(q) || !q->alg.rate.bytes_ps ||
	    !root || !(root->flags & TCQ_F_ONETXQUEUE))
		return;
	q->ring.on = true;
	q->needs_refresh = true;
	sfc_ring_update(sch, now);
}

/* --- the members of a port.  Context: RTNL --- */

/* Find or create the port of a new configuration; NULL if it cannot share one, or an error */
struct sfc_port *sfc_port_prepare(struct Qdisc *sch, const struct sfc_config *cfg)
{
	const struct sfc_sched *q;
	struct sfc_port *port;

	if (!netif_is_multiqueue(qdisc_dev(sch)) || cfg->rate_bps || cfg->bands > 1 ||
	    cfg->flags & TC_SFC_F_PAPER)
		return NULL;
	list_for_each_entry(q, &sfc_list, list)
		if (q->queue.joined && qdisc_dev(q->sch) == qdisc_dev(sch))
			return q->queue.joined;

	port = kvzalloc(struct_size(port, members, qdisc_dev(sch)->num_tx_queues), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&port->lock);
	return port;
}

static void sfc_port_exit(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_port_reset(sch);
	q->queue.port = NULL;
	q->qos.band[0].state = (struct sfc_alg_state){ };
	sfc_update_elsewhere(q);
}

/* Update what depends on configuration and number of queues.  Context: tree locked */
void sfc_port_tune(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	q->needs_refresh = q->queue.port || q->ring.on || q->cfg.rate_bps;
	if (!q->queue.port)
		return;
	q->queue.grain = max(q->alg.ccthresh / q->queue.port->queues, 1U);
	q->queue.share.batch = sfc_share_batch(&q->alg, q->queue.port->queues);
}

/* The number of queues has changed: update each member, which may be others, under its own lock. */
static void sfc_port_retune(struct sfc_port *port)
{
	struct sfc_sched *q;

	list_for_each_entry(q, &sfc_list, list) {
		if (q->queue.joined != port)
			continue;
		sch_tree_lock(q->sch);
		if (port->queues > 1 && !q->queue.port) {
			/* tokens are reset, as by a change of bands */
			q->queue.port = port;
			q->queue.published_bytes = 0;
			q->queue.share = (struct sfc_share){ };
			q->qos.band[0].state = (struct sfc_alg_state){ };
		} else if (port->queues < 2 && q->queue.port) {
			sfc_port_exit(q->sch);
		}
		sfc_port_tune(q->sch);
		sch_tree_unlock(q->sch);
	}
}

static u32 *sfc_port_members(const struct Qdisc *sch, struct sfc_port *port)
{
	return &port->members[sch->dev_queue - qdisc_dev(sch)->_tx];
}

/*
 * A device that goes takes the sfc of all its queues along, under one RTNL: so this examines no
 * others, unless one is left.  Grain and batch of several are smaller than need be, for now.
 */
static void sfc_port_leave(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_port *port = q->queue.joined;

	q->queue.joined = NULL;
	if (q->queue.port) {
		sch_tree_lock(sch);
		sfc_port_exit(sch);
		sch_tree_unlock(sch);
	}
	if (--*sfc_port_members(sch, port))
		return;
	port->queues--;
	if (port->queues == 1)
		sfc_port_retune(port);
	else if (!port->queues)
		kvfree(port);
}

/* Move @sch to @port, the result of sfc_port_prepare(), or to none if NULL. */
void sfc_port_update(struct Qdisc *sch, struct sfc_port *port)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (q->queue.joined == port)
		return;
	if (q->queue.joined)
		sfc_port_leave(sch);
	if (!port)
		return;
	q->queue.joined = port;
	port->queues += !(*sfc_port_members(sch, port))++;
	sfc_port_retune(port);
}

/* The queue is empty: publish that.  Also for a qdisc without a shared port. */
void sfc_port_reset(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	q->ring.bytes = 0;
	if (q->queue.port) {
		sfc_port_publish(sch, 0);
		q->queue.share.demand = 0;
	}
	sfc_update_elsewhere(q);
}

/* Tree locked */
void sfc_port_stats(struct Qdisc *sch, struct tc_sfc_xstats *st)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_port *port = q->queue.port;

	st->port_writes = q->queue.writes;
	if (!port)
		return;
	st->queues = port->queues;
	st->port_backlog = atomic_read(&port->backlog);
	spin_lock(&port->lock);
	st->pru_token = port->pru_token;
	st->sm_token = sfc_sm_bytes(&port->sm);
	spin_unlock(&port->lock);
}
