// SPDX-License-Identifier: GPL-2.0
/*
 * More bands of data than one: which of them a packet takes, and their configuration under
 * traffic.  qos.h says who is served.
 *
 * A packet's band is, in this order:
 * - the class that its skb->priority names (SO_PRIORITY, skbedit), as with any classful qdisc
 * - the class that a tc filter gives it: a super-packet is asked about once, before it is split
 * - the one that the map has for its DSCP
 * - the default
 * Whatever that is, ACKs and control messages queue in the high band.
 */
#include <net/pkt_cls.h>

#include "sfc.h"

/**
 * sfc_filter() - ask the filters
 * @skb:	packet or super-packet
 * @sch:	a port with bands
 * @band:	out: SFC_BAND_DATA..., or SFC_BAND_HIGH: they do not say
 *
 * Returns NET_XMIT_SUCCESS, or what enqueue() has to return: by the verdict of an action, @skb is
 * not to be queued.
 */
int sfc_filter(struct sk_buff *skb, struct Qdisc *sch, u8 *band)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct tcf_result res = { };
	struct tcf_proto *filters;
	u32 id = skb->priority;

	*band = SFC_BAND_HIGH;
	if (TC_H_MAJ(id) != sch->handle) {
		filters = rcu_dereference_bh(q->filters);
		if (!filters)
			return NET_XMIT_SUCCESS;
		switch (tcf_classify(skb, NULL, filters, &res, false)) {
		case TC_ACT_UNSPEC:
			return NET_XMIT_SUCCESS;
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
		*band = SFC_BAND_DATA + id - 1;
	return NET_XMIT_SUCCESS;
}

static unsigned int sfc_band_default(const struct sfc_sched *q)
{
	return SFC_BAND_DATA + q->cfg.defband - 1;
}

/* Where a packet of data goes; @band is sfc_filter()'s. */
unsigned int sfc_band_of(const struct sfc_sched *q, const struct sfc_pkt *pkt, u8 band)
{
	if (band != SFC_BAND_HIGH)
		return band;
	if (pkt->family && q->cfg.dscp[pkt->dscp])
		return SFC_BAND_DATA + q->cfg.dscp[pkt->dscp] - 1;
	return sfc_band_default(q);
}

/* The band of a packet of data that was decided before; it may be gone since. */
unsigned int sfc_band_again(const struct sfc_sched *q, const struct sk_buff *skb)
{
	unsigned int band = sfc_skb_cb(skb)->band;

	if (!sfc_has_bands(q))
		return SFC_BAND_DATA;
	return band > SFC_BAND_HIGH && band < SFC_BAND_DATA + q->qos.n ? band : sfc_band_default(q);
}

/* What waits in bands that are no more goes to the default; it counts as before. */
static void sfc_qos_move(struct sfc_sched *q)
{
	unsigned int band, to = sfc_band_default(q);
	struct sk_buff *skb;

	for (band = SFC_BAND_DATA + q->qos.n; band < SFC_BANDS; band++)
		while ((skb = __qdisc_dequeue_head(&q->bands[band]))) {
			__qdisc_enqueue_tail(skb, &q->bands[to]);
			q->stats.bands_moved++;
		}
}

/* What is queued, counted afresh */
static void sfc_qos_count(struct sfc_sched *q)
{
	struct sk_buff *skb;
	unsigned int band;

	q->qos.busy = 0;
	q->qos.high_bytes = 0;
	for (band = SFC_BAND_HIGH; band < SFC_BAND_DATA + q->qos.n; band++) {
		if (band != SFC_BAND_HIGH)
			q->qos.band[band - SFC_BAND_DATA].bytes = 0;
		for (skb = q->bands[band].head; skb; skb = skb->next) {
			sfc_skb_cb(skb)->band = band;
			if (band == SFC_BAND_HIGH)
				q->qos.high_bytes += qdisc_pkt_len(skb);
			else
				sfc_qos_join(&q->qos, band - SFC_BAND_DATA, qdisc_pkt_len(skb));
		}
	}
}

/*
 * The bands of @cfg, which is in force.  Tree locked, or nobody knows the qdisc yet.  Tokens that
 * were counted for other bands, and what bands owe each other, are forgotten.
 */
void sfc_qos_update(struct Qdisc *sch, const struct sfc_config *cfg, u32 mtu)
{
	struct sfc_sched *q = qdisc_priv(sch);
	bool other = q->qos.n != cfg->bands;

	sfc_qos_set(&q->qos, cfg->bands, cfg->weights, mtu, cfg->limit);
	q->multi = cfg->bands > 1;
	if (!other)
		return;
	sfc_qos_reset(&q->qos);
	q->state = (struct sfc_alg_state){ };
	sfc_qos_move(q);
	sfc_qos_count(q);
}

/* State, for people.  Tree locked. */
void sfc_qos_stats(struct Qdisc *sch, struct tc_sfc_xstats *st)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	unsigned int i;

	st->bands = q->cfg.bands;
	for (i = 0; q->multi && i < q->qos.n; i++) {
		const struct sfc_qos_band *b = &q->qos.band[i];

		st->band[i].qlen = q->bands[SFC_BAND_DATA + i].qlen;
		st->band[i].backlog = b->bytes;
		st->band[i].sm_token = sfc_sm_bytes(&b->state.sm);
		st->band[i].pru_token = b->state.pru_token;
	}
}

/* --- classes: names for the bands, PARENT:1 and on, without qdiscs of their own --- */

static struct Qdisc *sfc_class_leaf(struct Qdisc *sch, unsigned long cl)
{
	return NULL;
}

/* There for its words: without it the user reads what init() of the new qdisc had to say. */
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
	const struct sfc_sched *q = qdisc_priv(sch);
	const struct tc_sfc_band *st = &q->stats.band[cl - 1];
	struct gnet_stats_basic_sync b;
	struct gnet_stats_queue qs = { };

	gnet_stats_basic_sync_init(&b);
	sch_tree_lock(sch);
	_bstats_update(&b, st->sent_bytes, st->sent);
	qs.qlen = q->bands[SFC_BAND_DATA + cl - 1].qlen;
	qs.backlog = q->qos.band[cl - 1].bytes;
	qs.drops = st->drops;
	sch_tree_unlock(sch);
	if (gnet_stats_copy_basic(d, NULL, &b, true) < 0)
		return -1;
	return gnet_stats_copy_queue(d, NULL, &qs, qs.qlen);
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
