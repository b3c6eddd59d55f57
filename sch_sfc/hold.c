// SPDX-License-Identifier: GPL-2.0
/*
 * The qdisc "sfc_hold": SFC at the sender, for flows that are not TCP.  The port of a host holds
 * the packets of a flow that a BTS has paused ("Source Flow Control", section 3.3).
 *
 *	packet -> enqueue -> child -> dequeue ----------------------> device
 *	                                 |                        ^
 *	                                 +-> paused: held, by flow +
 *	BTS ----> hear.c: until when (hold.h)
 *
 * TCP flows are paused by tcp_bolt: data that waits in the socket needs no memory here and does not
 * increase the RTT that TCP measures.
 *
 * A packet is held at dequeue.  So packets that were queued before the BTS arrived are held as
 * well, with any child, and each packet is parsed once.  Order: while packets of a flow are held,
 * later ones from the child queue behind them.  When their pause is over, they and the child take
 * turns, so neither waits for all packets of the other.
 *
 * A fragment is neither held nor answered: only the first one has ports, and to hold all fragments
 * to a host would let one user stall another.
 *
 * Accounting: qlen, backlog and the limit cover the child and the packets held.
 *
 * Locking: the qdisc's lock guards the queues, @lock inside it the flows.  A BTS takes @lock inside
 * the lock of the namespace's list.
 */
#include <linux/random.h>
#include <linux/rtnetlink.h>

#include <bolt_ctl.h>
#include "hold.h"

#define SFC_HOLD_KEPT	64	/* packets of paused flows that one dequeue moves */

/* --- packets; qdisc locked --- */

/*
 * Hold @skb, which was dequeued, if its flow is paused or has packets held.  Returns true if so, or
 * if it was dropped: the last eighth of the limit is for flows that are not paused.
 */
static bool sfc_hold_keep(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sfc_hold *h = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	struct sfc_hold_flow *f;
	struct sfc_pkt pkt;
	bool wait, drop;
	u64 now;

	sfc_parse(skb, h->cfg.port, &pkt);
	if (!pkt.pausable || pkt.flow.proto == IPPROTO_TCP)
		return false;

	spin_lock(&h->lock);
	now = ktime_get_ns();
	f = sfc_hold_sent(h->flows, &h->pause, sfc_hold_hash(dev_net(qdisc_dev(sch)), &pkt.flow),
			  now);
	wait = f && (f->held.qlen || bolt_pause_active(&f->clock, now));
	drop = wait && h->stats.held_pkts &&
	       !sfc_hold_fits(h->cfg.limit, h->stats.held_pkts + 1,
			      (u64)h->stats.held_bytes + len, true);
	if (wait && !drop) {
		if (!f->held.qlen)
			list_add_tail(&f->list, &h->busy);
		__qdisc_enqueue_tail(skb, &f->held);
		h->next_ns = min(h->next_ns, f->clock.until_ns);
		h->stats.held++;
		h->stats.held_pkts++;
		h->stats.held_bytes += len;
	}
	spin_unlock(&h->lock);
	if (drop) {
		/* what is held is still in qlen: no parent takes this for the end */
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		qdisc_qstats_drop(sch);
		qdisc_tree_reduce_backlog(sch, 1, len);
		kfree_skb_reason(skb, SKB_DROP_REASON_QDISC_DROP);
	}
	return wait;
}

/* The oldest held packet of @f, which moves to the end of the list.  Context: @lock held */
static struct sk_buff *sfc_hold_pop(struct sfc_hold *h, struct sfc_hold_flow *f)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&f->held);

	h->stats.held_pkts--;
	h->stats.held_bytes -= qdisc_pkt_len(skb);
	list_del(&f->list);
	if (f->held.qlen)
		list_add_tail(&f->list, &h->busy);
	return skb;
}

/* A packet whose pause is over, of each flow in turn; NULL: none, the watchdog is set. */
static struct sk_buff *sfc_hold_release(struct sfc_hold *h)
{
	u64 now, next = U64_MAX;
	struct sfc_hold_flow *f;
	struct sk_buff *skb = NULL;

	if (likely(list_empty(&h->busy)))
		return NULL;
	/* a BTS that brings the end forward sets the timer as well: hence under the lock */
	spin_lock(&h->lock);
	now = ktime_get_ns();
	if (now >= h->next_ns) {
		list_for_each_entry(f, &h->busy, list) {
			if (!bolt_pause_active(&f->clock, now)) {
				list_rotate_to_front(&f->list, &h->busy);
				skb = sfc_hold_pop(h, f);
				h->stats.released++;
				break;
			}
			next = min(next, f->clock.until_ns);
		}
		if (!skb)
			h->next_ns = next;
	}
	if (!skb)
		qdisc_watchdog_schedule_ns(&h->watchdog, h->next_ns);
	spin_unlock(&h->lock);
	return skb;
}

static int sfc_hold_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sfc_hold *h = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret;

	/* as in sfc_queue_has_room() */
	if (unlikely(sch->q.qlen && !sfc_hold_fits(h->cfg.limit, sch->q.qlen + 1,
						   (u64)sch->qstats.backlog + len, false)))
		return bolt_drop_overlimit(skb, sch, to_free);
	ret = qdisc_enqueue(skb, h->child, to_free);
	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *sfc_hold_dequeue(struct Qdisc *sch)
{
	struct sfc_hold *h = qdisc_priv(sch);
	struct sk_buff *skb = NULL;
	unsigned int kept = 0;

	h->turn = !h->turn;
	if (h->turn)
		skb = sfc_hold_release(h);
	while (!skb && kept < SFC_HOLD_KEPT && (skb = h->child->dequeue(h->child)))
		if (sfc_hold_keep(sch, skb)) {
			skb = NULL;
			kept++;
		}
	if (!skb)
		skb = sfc_hold_release(h);
	if (!skb) {
		/* there may be more, but others want the lock */
		if (kept == SFC_HOLD_KEPT)
			__netif_schedule(qdisc_root_bh(sch));
		return NULL;
	}
	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	return skb;
}

/* --- configuration and statistics --- */

static struct netlink_range_validation sfc_hold_maxpause_range = {
	.min = SFC_RTT_MIN_NS,
	.max = BOLT_PAUSE_ABSURD_NS,
};

static const struct nla_policy sfc_hold_policy[TCA_SFC_HOLD_MAX + 1] = {
	[TCA_SFC_HOLD_LIMIT]	= { .type = NLA_U32 },
	[TCA_SFC_HOLD_MAXPAUSE]	= NLA_POLICY_FULL_RANGE(NLA_U32, &sfc_hold_maxpause_range),
	[TCA_SFC_HOLD_SHARE]	= NLA_POLICY_RANGE(NLA_U8, 1, 100),
	[TCA_SFC_HOLD_MINTTL]	= { .type = NLA_U8 },
	[TCA_SFC_HOLD_PORT]	= NLA_POLICY_MIN(NLA_U16, 1),
	[TCA_SFC_HOLD_TAGKEY]	= { .type = NLA_BINARY, .len = sizeof(struct bolt_keys) },
};

static const struct sfc_value sfc_hold_values[TCA_SFC_HOLD_MAX + 1] = {
	[TCA_SFC_HOLD_LIMIT]	= SFC_VALUE(struct sfc_hold_config, limit),
	[TCA_SFC_HOLD_MAXPAUSE]	= SFC_VALUE(struct sfc_hold_config, maxpause_ns),
	[TCA_SFC_HOLD_SHARE]	= SFC_VALUE(struct sfc_hold_config, share),
	[TCA_SFC_HOLD_MINTTL]	= SFC_VALUE(struct sfc_hold_config, minttl),
	[TCA_SFC_HOLD_PORT]	= SFC_VALUE(struct sfc_hold_config, port),
};

/* May either refuse a BTS that the other does not?  If not, one of them asks for both: hear.c. */
static bool sfc_hold_differs(const struct sfc_hold *h, const struct sfc_hold *other)
{
	const struct sfc_hold_config *a = &h->cfg, *b = &other->cfg;

	return a->minttl != b->minttl || a->has_tagkey != b->has_tagkey ||
	       a->notagkey != b->notagkey || memcmp(&a->keys, &b->keys, sizeof(a->keys));
}

/* What is held beyond a lower limit stays until its pauses end; nothing is let in meanwhile. */
static void sfc_hold_commit(struct Qdisc *sch, const struct sfc_hold_config *cfg)
{
	struct sfc_switch *sw = sfc_switch_of_port(sch);
	struct sfc_hold *h = qdisc_priv(sch), *other;
	bool differ = false;

	sch_tree_lock(sch);
	spin_lock(&h->lock);
	h->cfg = *cfg;
	h->pause = (struct bolt_pause_conf){
		.max_ns = cfg->maxpause_ns,
		.interval_ns = SFC_HOLD_INTERVAL_NS,
		.recovery_ns = SFC_HOLD_INTERVAL_NS,
		.pct = cfg->share,
	};
	spin_unlock(&h->lock);
	sch_tree_unlock(sch);
	if (list_empty(&h->list))
		return;
	list_for_each_entry(other, &sw->holds, list)
		differ |= sfc_hold_differs(h, other);
	WRITE_ONCE(sw->holds_differ, differ);
}

static int sfc_hold_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_SFC_HOLD_MAX + 1] = { };
	struct sfc_hold *h = qdisc_priv(sch);
	struct net *net = dev_net(qdisc_dev(sch));
	struct sfc_hold_config cfg = h->cfg;
	int err = 0;

	if (opt)
		err = nla_parse_nested(tb, TCA_SFC_HOLD_MAX, opt, sfc_hold_policy, extack);
	if (err)
		goto out;
	sfc_values_parse(&cfg, sfc_hold_values, TCA_SFC_HOLD_MAX, tb);
	err = sfc_keys_parse(&cfg.keys, &cfg.has_tagkey, tb[TCA_SFC_HOLD_TAGKEY], extack);
	if (err)
		goto out;
	if (tb[TCA_SFC_HOLD_TAGKEY])
		cfg.notagkey = !cfg.has_tagkey;
	/* the MTU may have risen beyond a limit that is not asked for now */
	if ((list_empty(&h->list) || tb[TCA_SFC_HOLD_LIMIT]) &&
	    cfg.limit < sfc_mtu(qdisc_dev(sch))) {
		NL_SET_ERR_MSG(extack, "limit is below one packet of the device's MTU");
		err = -EINVAL;
		goto out;
	}
	if (cfg.port != h->listening) {
		err = bolt_ctl_open(net, cfg.port);
		if (err) {
			NL_SET_ERR_MSG(extack, "the control port cannot be opened");
			goto out;
		}
	}
	if (!cfg.has_tagkey && !cfg.notagkey)
		NL_SET_ERR_MSG(extack,
			       "no BTS is believed: give a tagkey, or notagkey to believe any that names a flow");
	sfc_hold_commit(sch, &cfg);
	if (h->listening && h->listening != cfg.port)
		bolt_ctl_close(net, h->listening);
	h->listening = cfg.port;
out:
	memzero_explicit(&cfg.keys, sizeof(cfg.keys));
	return err;
}

static int sfc_hold_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct sfc_hold *h = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start(skb, TCA_OPTIONS);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 1; i <= TCA_SFC_HOLD_MAX; i++)
		if (sfc_value_dump(skb, &h->cfg, &sfc_hold_values[i], i))
			return -EMSGSIZE;
	if (h->cfg.notagkey && nla_put(skb, TCA_SFC_HOLD_TAGKEY, 0, NULL))
		return -EMSGSIZE;
	return nla_nest_end(skb, nest);
}

static int sfc_hold_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sfc_hold *h = qdisc_priv(sch);
	struct tc_sfc_hold_xstats st;
	u64 now = ktime_get_ns();
	unsigned int i;

	sch_tree_lock(sch);
	spin_lock(&h->lock);
	st = h->stats;
	st.tagged = h->cfg.has_tagkey;
	for (i = 0; i < SFC_HOLD_FLOWS; i++)
		st.paused += bolt_pause_active(&h->flows[i].clock, now);
	spin_unlock(&h->lock);
	sch_tree_unlock(sch);
	/* once: see sfc_dump_stats() */
	return nla_put_64bit(d->skb, TCA_STATS_APP, sizeof(st), &st, TCA_STATS_PAD);
}

/* --- beginning and end; RTNL --- */

/* Context: qdisc locked; or not visible yet, then with softirqs on */
static void sfc_hold_reset(struct Qdisc *sch)
{
	struct sfc_hold *h = qdisc_priv(sch);
	struct sk_buff *skb;

	qdisc_watchdog_cancel(&h->watchdog);
	qdisc_reset(h->child);
	spin_lock_bh(&h->lock);
	while (!list_empty(&h->busy)) {
		skb = sfc_hold_pop(h, list_first_entry(&h->busy, struct sfc_hold_flow, list));
		rtnl_kfree_skbs(skb, skb);
	}
	/* qdisc_create_dflt() resets what init() had no memory for */
	if (h->flows)
		memset(h->flows, 0, SFC_HOLD_FLOWS * sizeof(*h->flows));
	spin_unlock_bh(&h->lock);
}

static int sfc_hold_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct sfc_hold *h = qdisc_priv(sch);
	struct sfc_switch *sw;
	struct Qdisc *child;
	int err;

	/* destroy() runs even when the rest fails */
	INIT_LIST_HEAD(&h->list);
	INIT_LIST_HEAD(&h->busy);
	spin_lock_init(&h->lock);
	qdisc_watchdog_init(&h->watchdog, sch);
	h->child = &noop_qdisc;
	h->cfg = (struct sfc_hold_config){
		.limit = SFC_LIMIT_DEFAULT,
		.port = BOLT_CTL_PORT,
		.maxpause_ns = SFC_PAUSE_MAX_NS,
		.share = SFC_HOLD_SHARE,
	};
	h->flows = kvcalloc(SFC_HOLD_FLOWS, sizeof(*h->flows), GFP_KERNEL);
	if (!h->flows)
		return -ENOMEM;
	err = sfc_hold_change(sch, opt, extack);
	if (err)
		return err;
	/* this qdisc enforces the limit, not its child */
	child = fifo_create_dflt(sch, &bfifo_qdisc_ops, UINT_MAX, extack);
	if (IS_ERR(child))
		return PTR_ERR(child);
	h->child = child;
	qdisc_hash_add(child, true);
	sw = sfc_switch_of_port(sch);
	if (list_empty(&sw->holds)) {
		get_random_bytes(&sw->hold_key, sizeof(sw->hold_key));
		WRITE_ONCE(sw->holds_differ, false);
	} else if (sfc_hold_differs(h, list_first_entry(&sw->holds, struct sfc_hold, list))) {
		WRITE_ONCE(sw->holds_differ, true);
	}
	spin_lock_bh(&sw->holds_lock);
	list_add_tail(&h->list, &sw->holds);
	spin_unlock_bh(&sw->holds_lock);
	return 0;
}

/* Close the control port, and remove the qdisc from the namespace's list. */
static void sfc_hold_close(struct Qdisc *sch)
{
	struct sfc_switch *sw = sfc_switch_of_port(sch);
	struct sfc_hold *h = qdisc_priv(sch);

	if (h->listening)
		bolt_ctl_close(dev_net(qdisc_dev(sch)), h->listening);
	h->listening = 0;
	/* no BTS looks at it any more, which would set the timer */
	spin_lock_bh(&sw->holds_lock);
	list_del_init(&h->list);
	spin_unlock_bh(&sw->holds_lock);
}

/*
 * @dev is about to leave its namespace.  A filter that is being configured may hold one of its
 * qdiscs beyond that.
 */
void sfc_hold_leave(struct net_device *dev)
{
	struct sfc_hold *h, *next;

	list_for_each_entry_safe(h, next, &sfc_switch_of(dev_net(dev))->holds, list)
		if (qdisc_dev(h->watchdog.qdisc) == dev)
			sfc_hold_close(h->watchdog.qdisc);
}

static void sfc_hold_destroy(struct Qdisc *sch)
{
	struct sfc_hold *h = qdisc_priv(sch);

	sfc_hold_close(sch);
	qdisc_watchdog_cancel(&h->watchdog);
	qdisc_put(h->child);
	kvfree(h->flows);
	memzero_explicit(&h->cfg.keys, sizeof(h->cfg.keys));
}

/* --- the child --- */

static int sfc_hold_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new,
			  struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct sfc_hold *h = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &h->child);
	return 0;
}

static struct Qdisc *sfc_hold_leaf(struct Qdisc *sch, unsigned long cl)
{
	struct sfc_hold *h = qdisc_priv(sch);

	return h->child;
}

static unsigned long sfc_hold_class_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void sfc_hold_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static int sfc_hold_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			       struct tcmsg *tcm)
{
	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = sfc_hold_leaf(sch, cl)->handle;
	return 0;
}

static const struct Qdisc_class_ops sfc_hold_class_ops = {
	.graft	= sfc_hold_graft,
	.leaf	= sfc_hold_leaf,
	.find	= sfc_hold_class_find,
	.walk	= sfc_hold_walk,
	.dump	= sfc_hold_dump_class,
};

struct Qdisc_ops sfc_hold_qdisc_ops __read_mostly = {
	.id		= "sfc_hold",
	.cl_ops		= &sfc_hold_class_ops,
	.priv_size	= sizeof(struct sfc_hold),
	.enqueue	= sfc_hold_enqueue,
	.dequeue	= sfc_hold_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= sfc_hold_init,
	.reset		= sfc_hold_reset,
	.destroy	= sfc_hold_destroy,
	.change		= sfc_hold_change,
	.dump		= sfc_hold_dump,
	.dump_stats	= sfc_hold_dump_stats,
	.owner		= THIS_MODULE,
};
