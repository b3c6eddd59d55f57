// SPDX-License-Identifier: GPL-2.0
/*
 * More bands of data than one: which of them a packet takes, and their configuration under
 * traffic.  qos.h says who is served.
 *
 * A packet's band is, in this order:
 * - the class that its skb->priority names (SO_PRIORITY, skbedit), as with any classful qdisc
 * - the class that a tc filter gives it: a super-packet is asked about once, before it is split
 * - the one that "levels" have for what its message has sent, as Bolt's option says
 * - the one that the map has for its DSCP
 * - the default
 * Whatever that is, ACKs and control messages queue in the high band.
 */
#include <net/pkt_cls.h>

#include "queue.h"

/*
 * Ask the filters about a packet or super-packet.  Returns a band of data, or SFC_BAND_HIGH: they
 * do not say; or, SFC_BANDS and more, what enqueue() has to return: by the verdict of an action,
 * @skb is not to be queued.
 */
int sfc_filter(struct sk_buff *skb, struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct tcf_result res = { };
	struct tcf_proto *filters;
	u32 id = skb->priority;

	if (TC_H_MAJ(id) != sch->handle) {
		filters = rcu_dereference_bh(q->filters);
		if (!filters)
			return SFC_BAND_HIGH;
		switch (tcf_classify(skb, NULL, filters, &res, false)) {
		case TC_ACT_UNSPEC:
			return SFC_BAND_HIGH;
		case TC_ACT_STOLEN:
		case TC_ACT_QUEUED:
		case TC_ACT_TRAP:
			return NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
		case TC_ACT_SHOT:
		case TC_ACT_REDIRECT:	/* not from a qdisc's filters */
			return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
		}
		id = res.classid;
	}
	id = TC_H_MIN(id);
	if (id >= 1 && id <= q->qos.n)
		return id - 1;
	return SFC_BAND_HIGH;
}

/* The band of a data packet; @band is the result of sfc_filter(). */
unsigned int sfc_band_of(const struct sfc_sched *q, const struct sfc_pkt *pkt, u8 band)
{
	if (band != SFC_BAND_HIGH)
		return band;
	if (q->cfg.levels[pkt->level])
		return q->cfg.levels[pkt->level] - 1;
	return sfc_band_of_dscp(q, pkt);
}

/*
 * Set up the bands of @cfg.  If their number or order changes, tokens and deficits are reset, and
 * the packets of removed bands move to the default band.
 * Context: tree locked, or the qdisc is not visible yet
 */
void sfc_qos_update(struct Qdisc *sch, const struct sfc_config *cfg, u32 mtu)
{
	u32 memory = sfc_queue_memory_limit(cfg, 0);
	struct sfc_sched *q = qdisc_priv(sch);
	bool ordered = cfg->levels[1];
	bool other = q->qos.n != cfg->bands || q->qos.ordered != ordered;
	unsigned int band;

	q->qos.ordered = ordered;
	sfc_qos_set(&q->qos, cfg->bands, cfg->weights, mtu, cfg->limit, memory);
	/* half of the room: up to that, the fast path need not know the band */
	q->qos.band[SFC_BAND_HIGH].limit = cfg->limit / 2;
	q->qos.band[SFC_BAND_HIGH].memory_limit = cfg->memory_limit / 2;
	if (!other)
		return;
	for (band = cfg->bands; band < TC_SFC_BANDS_MAX; band++)
		sfc_queue_move(q, band, cfg->defband - 1);
	sfc_qos_reset(&q->qos);
}

/* --- classes: names for the bands, PARENT:1 and on, without qdiscs of their own --- */

/* These two only for the message: without them the core refuses, and gives no reason. */
static int sfc_class_change(struct Qdisc *sch, u32 classid, u32 parent, struct nlattr **tca,
			    unsigned long *cl, struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG(extack, "the classes of sfc are its bands: change bands and weights of the qdisc");
	return -EOPNOTSUPP;
}

static int sfc_class_delete(struct Qdisc *sch, unsigned long cl, struct netlink_ext_ack *extack)
{
	return sfc_class_change(sch, 0, 0, NULL, &cl, extack);
}

static struct Qdisc *sfc_class_leaf(struct Qdisc *sch, unsigned long cl)
{
	return NULL;
}

/* Only for the message: without it the user reads what init() of the new qdisc had to say. */
static int sfc_class_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new,
			   struct Qdisc **old, struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG(extack, "a band of sfc has no place for another qdisc");
	return -EOPNOTSUPP;
}

static unsigned long sfc_class_find(struct Qdisc *sch, u32 classid)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	u32 id = TC_H_MIN(classid);

	return id >= 1 && id <= q->cfg.bands ? id : 0;
}

static unsigned long sfc_class_bind(struct Qdisc *sch, unsigned long parent, u32 classid)
{
	return sfc_class_find(sch, classid);
}

static void sfc_class_unbind(struct Qdisc *sch, unsigned long cl)
{
}

static struct tcf_block *sfc_class_block(struct Qdisc *sch, unsigned long cl,
					 struct netlink_ext_ack *extack)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (cl) {
		NL_SET_ERR_MSG(extack, "filters belong to the qdisc, not to a band of it");
		return NULL;
	}
	/* a warning */
	if (!sfc_has_bands(q))
		NL_SET_ERR_MSG(extack, "with one band, sfc does not ask its filters");
	return q->block;
}

static int sfc_class_dump(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			  struct tcmsg *tcm)
{
	tcm->tcm_parent = TC_H_ROOT;
	tcm->tcm_handle = TC_H_MAKE(sch->handle, cl);
	return 0;
}

static int sfc_class_stats(struct Qdisc *sch, unsigned long cl, struct gnet_dump *d)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_band_stats *st = &q->band_stats[cl - 1];
	const struct sfc_qos_band *band = &q->qos.band[cl - 1];
	struct tc_sfc_band app;
	u32 qlen;

	sch_tree_lock(sch);
	qlen = q->bands[cl - 1].qlen;
	st->qstats.backlog = band->bytes;
	app = st->app;
	app.backlog_peak = sfc_has_bands(q) ? band->peak : q->stats.backlog_peak;
	app.sm_token = sfc_sm_bytes(&band->state.sm);
	app.pru_token = band->state.pru_token;
	sch_tree_unlock(sch);
	app.type = TC_SFC_XSTATS_BAND;
	if (gnet_stats_copy_basic(d, NULL, &st->bstats, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &st->qstats, qlen) < 0)
		return -1;
	return nla_put_64bit(d->skb, TCA_STATS_APP, sizeof(app), &app, TCA_STATS_PAD);
}

static void sfc_class_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	unsigned int i;

	if (arg->stop || q->cfg.bands == 1)
		return;
	for (i = 1; i <= q->cfg.bands; i++)
		if (!tc_qdisc_stats_dump(sch, i, arg))
			break;
}

const struct Qdisc_class_ops sfc_class_ops = {
	.change		= sfc_class_change,
	.delete		= sfc_class_delete,
	.graft		= sfc_class_graft,
	.leaf		= sfc_class_leaf,
	.find		= sfc_class_find,
	.walk		= sfc_class_walk,
	.tcf_block	= sfc_class_block,
	.bind_tcf	= sfc_class_bind,
	.unbind_tcf	= sfc_class_unbind,
	.dump		= sfc_class_dump,
	.dump_stats	= sfc_class_stats,
};
