// SPDX-License-Identifier: GPL-2.0
/*
 * A link with several transmit queues, an sfc on each (below mq, mqprio, taprio): one port.
 *
 *	queue 1 --+-- backlog, told when it has changed ----> sum   (compared with every threshold)
 *	queue 2 --+-- LAST: a token ------------------------> PRU  -- INC takes one
 *	queue 3 --+-- demand of a batch of packets ---------> SM   -- supply for the next batch
 *
 * What is shared is read often and written seldom:
 * - the backlog, while packets wait: when it is off by a part of ccthresh or an eighth.  So the
 *   sum is off by less than ccthresh and an eighth of it, and a packet for each queue (told is
 *   what waited when a packet came or was asked for)
 * - PRU tokens, when a flow ends and when another takes its place: exact
 * - supply, once in a batch: share.h has the bound
 *
 * Which are queues of one port: all sfc on one device that do not shape and have one band of
 * data, if they belong to more than one transmit queue.  A classful qdisc as the root has one
 * transmit queue, whatever its classes.  One that is alone pays nothing: it has no port.
 *
 * Lists and membership are RTNL's.  What packets use of struct sfc_queue changes with the tree
 * locked, and a port is freed when the last has left, so packets hold no reference.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "port.h"

static LIST_HEAD(sfc_ports);

/* @backlog is news to the others. */
void sfc_port_tell(struct Qdisc *sch, u32 backlog)
{
	struct sfc_sched *q = qdisc_priv(sch);

	atomic_add(backlog - q->queue.told, &q->queue.port->backlog);
	q->queue.told = backlog;
	q->queue.writes++;
}

/*
 * A packet is asked for: what waits when it has left, lest each that passes through an empty queue
 * is news twice.
 */
void sfc_port_departure(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog - q->held_bytes;
	const struct sk_buff *next;

	next = q->bands[SFC_BAND_HIGH].head ?: q->bands[SFC_BAND_DATA].head;
	if (next)
		backlog -= qdisc_pkt_len(next);
	sfc_port_show(sch, backlog);
	sfc_port_look(q);
}

static void sfc_port_settle(struct sfc_sched *q, const struct sfc_alg_in *in)
{
	struct sfc_port *port = q->queue.port;

	spin_lock(&port->lock);
	sfc_share_settle(&q->queue.share, &q->state.sm, &port->state, &q->alg, in);
	spin_unlock(&port->lock);
	q->queue.writes++;
}

/* All or nothing */
static u32 sfc_port_pru_take(struct sfc_sched *q, u32 pkts)
{
	atomic_t *token = &q->queue.port->pru_token;
	int had = atomic_read(token);

	do {
		if (had < pkts)
			return 0;
	} while (!atomic_try_cmpxchg(token, &had, had - pkts));
	q->queue.writes++;
	return pkts;
}

/* Returns how many there was room for. */
static u32 sfc_port_pru_add(struct sfc_sched *q, u32 pkts)
{
	atomic_t *token = &q->queue.port->pru_token;
	int had = atomic_read(token);
	u32 now;

	do {
		now = had;
		if (now == SFC_PRU_MAX)
			return 0;
		sfc_pru_add(&now, pkts);
	} while (!atomic_try_cmpxchg(token, &had, now));
	q->queue.writes++;
	return now - had;
}

/* Algorithm 1 at one queue of several: tokens are the port's.  Line 3 ... */
void sfc_port_supply(struct sfc_sched *q, const struct sfc_alg_in *in)
{
	if (q->alg.sm && sfc_share_add(&q->queue.share, in->size, in->now))
		sfc_port_settle(q, in);
}

/* ... and the others */
void sfc_port_decide_data(struct sfc_sched *q, const struct sfc_alg_in *in,
			  struct sfc_decision *out)
{
	/* only for who will surely use it: line 14 */
	if ((in->flags & (BOLT_F_DATA | BOLT_F_INC | BOLT_F_LAST)) ==
	    (BOLT_F_DATA | BOLT_F_INC) && sfc_pru_counts(&q->alg, in))
		q->state.pru_token = sfc_port_pru_take(q, in->segs);
	sfc_decide_data(&q->alg, &q->state, in, out);
	if (out->pru_added) {						/* line 12 */
		out->pru_added = sfc_port_pru_add(q, out->pru_added);
		q->state.pru_token = 0;
	}
}

/* --- who belongs together; RTNL --- */

static bool sfc_port_wants(struct Qdisc *sch, const struct sfc_config *cfg)
{
	return netif_is_multiqueue(qdisc_dev(sch)) && !cfg->rate_bps && cfg->bands == 1;
}

/**
 * sfc_port_prepare() - the port of a configuration that is to be, if it may share one
 * @sch:	an sfc
 * @cfg:	what it is to have
 *
 * Returns it, NULL, or an error.  Give it to sfc_port_update(), which takes it from there, also
 * when nothing comes of the configuration.
 */
struct sfc_port *sfc_port_prepare(struct Qdisc *sch, const struct sfc_config *cfg)
{
	struct sfc_port *port;

	ASSERT_RTNL();
	if (!sfc_port_wants(sch, cfg))
		return NULL;
	list_for_each_entry(port, &sfc_ports, list)
		if (port->dev == qdisc_dev(sch))
			return port;

	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&port->members);
	port->dev = qdisc_dev(sch);
	spin_lock_init(&port->lock);
	list_add(&port->list, &sfc_ports);
	return port;
}

static struct Qdisc *sfc_port_sch(const struct sfc_queue *queue)
{
	return container_of(queue, struct sfc_sched, queue)->sch;
}

/* Tree locked.  Tokens begin anew, as with a change of bands. */
static void sfc_port_enter(struct sfc_sched *q, struct sfc_port *port)
{
	q->queue.port = port;
	q->queue.told = 0;
	q->queue.share = (struct sfc_share){ };
	q->state = (struct sfc_alg_state){ };
}

static void sfc_port_exit(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_port_reset(sch);
	q->queue.port = NULL;
	q->state = (struct sfc_alg_state){ };
	q->away = q->held_bytes;
}

/* What follows from the configuration and the number of queues.  Tree locked. */
void sfc_port_tune(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_choose(sch);
	if (!q->queue.port)
		return;
	q->queue.grain = max(q->alg.ccthresh / q->queue.port->queues, 1U);
	q->queue.share.batch = sfc_share_batch(&q->alg, q->queue.port->queues);
}

/* Is its transmit queue another's as well?  One is replaced by another while both are there. */
static bool sfc_port_doubled(const struct sfc_port *port, struct Qdisc *sch)
{
	const struct sfc_queue *queue;

	list_for_each_entry(queue, &port->members, member)
		if (sfc_port_sch(queue) != sch && sfc_port_sch(queue)->dev_queue == sch->dev_queue)
			return true;
	return false;
}

/* Somebody came or went: each by itself, since their locks are not one. */
static void sfc_port_recount(struct sfc_port *port, int more)
{
	struct sfc_queue *queue;

	port->queues += more;
	list_for_each_entry(queue, &port->members, member) {
		struct Qdisc *sch = sfc_port_sch(queue);

		sch_tree_lock(sch);
		if (port->queues > 1 && !queue->port)
			sfc_port_enter(qdisc_priv(sch), port);
		else if (port->queues < 2 && queue->port)
			sfc_port_exit(sch);
		sfc_port_tune(sch);
		sch_tree_unlock(sch);
	}
}

/* @port, of sfc_port_prepare() or NULL, is where @sch belongs from now on. */
void sfc_port_update(struct Qdisc *sch, struct sfc_port *port)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_port *old = q->queue.joined;

	ASSERT_RTNL();
	if (old == port)
		return;
	q->queue.joined = port;
	if (old) {
		list_del_init(&q->queue.member);
		sch_tree_lock(sch);
		if (q->queue.port)
			sfc_port_exit(sch);
		sfc_port_tune(sch);
		sch_tree_unlock(sch);
		sfc_port_recount(old, sfc_port_doubled(old, sch) ? 0 : -1);
	}
	if (port) {
		list_add_tail(&q->queue.member, &port->members);
		sfc_port_recount(port, sfc_port_doubled(port, sch) ? 0 : 1);
	}
	if (old && list_empty(&old->members)) {
		list_del(&old->list);
		kfree(old);
	}
}

/* Nothing waits here any more.  Also of a qdisc without a port. */
void sfc_port_reset(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (!q->queue.port)
		return;
	sfc_port_tell(sch, 0);
	q->queue.share.demand = 0;
	sfc_port_look(q);
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
	st->pru_token = atomic_read(&port->pru_token);
	spin_lock(&port->lock);
	st->sm_token = sfc_sm_bytes(&port->state.sm);
	spin_unlock(&port->lock);
}
