// SPDX-License-Identifier: GPL-2.0
/*
 * The qdisc "sfc": one port of a switch, as in "Bolt: Sub-RTT Congestion Control for Ultra-Low
 * Latency" (NSDI '23).  Its life here; what it does with packets is in enqueue.c and queue.c.
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/pkt_cls.h>

#include <bolt_ctl.h>
#include "buffer.h"
#include "port.h"
#include "queue.h"

static void sfc_reset(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	sfc_queue_purge(sch);
	sfc_port_reset(sch);
	sfc_qos_reset(&q->qos);
	sfc_forget_notified(q);
	if (q->srcc)
		memset(q->srcc, 0, sizeof(*q->srcc));
	q->next_ns = 0;
	q->next_frac = 0;
	q->high_ahead = 0;
	q->wait = SFC_WAIT_NOTHING;
	q->stats.backlog_peak = 0;
	q->stats.srcc_flows = 0;
	q->stats.srcc_qth = 0;
}

static int sfc_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct sfc_switch *sw = sfc_switch_of_port(sch);
	struct sfc_sched *q = qdisc_priv(sch);
	int i, err;

	/* destroy() runs even when the rest fails */
	qdisc_watchdog_init(&q->watchdog, sch);
	list_add(&q->list, &sfc_list);
	q->sch = sch;
	sfc_switch_add_port(sch);
	q->wait = SFC_WAIT_NOTHING;
	q->foreign = sfc_switch_has_foreign(qdisc_dev(sch));
	sfc_forward_init(&q->forward);
	sfc_config_default(&q->cfg, qdisc_dev(sch));
	get_random_bytes(&q->flow_key, sizeof(q->flow_key));
	prandom_seed_state(&q->prng, get_random_u64());
	/* one offset for all ports, from a key that never leaves the host: sfc_switch.clock */
	if (!sw->ahead_ns)
		sw->ahead_ns = siphash_1u32(sw->clock, &q->flow_key);
	for (i = 0; i < SFC_BANDS; i++)
		gnet_stats_basic_sync_init(&q->band_stats[i].bstats);

	err = tcf_block_get(&q->block, &q->filters, sch, extack);
	if (err)
		return err;
	return sfc_change(sch, opt, extack);
}

static void sfc_destroy(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_port_update(sch, NULL);
	sfc_config_leave(sch);
	tcf_block_put(q->block);
	qdisc_watchdog_cancel(&q->watchdog);
	sfc_forward_exit(&q->forward);
	kvfree(q->suppress);
	kvfree(q->srcc);
	sfc_config_forget_keys(&q->cfg);
	list_del(&q->list);
	hash_del(&q->by_dev);
}

static struct Qdisc_ops sfc_qdisc_ops __read_mostly = {
	.id		= "sfc",
	.cl_ops		= &sfc_class_ops,
	.priv_size	= sizeof(struct sfc_sched),
	.enqueue	= sfc_enqueue,
	.dequeue	= sfc_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= sfc_init,
	.reset		= sfc_reset,
	.destroy	= sfc_destroy,
	.change		= sfc_change,
	.dump		= sfc_dump,
	.dump_stats	= sfc_dump_stats,
	.owner		= THIS_MODULE,
};

static void sfc_refresh(struct work_struct *work)
{
	struct sfc_sched *q;

	rtnl_lock();
	list_for_each_entry(q, &sfc_list, list)
		if (q->stale) {
			q->stale = false;
			sfc_config_refresh(q->sch);
		}
	rtnl_unlock();
}

static DECLARE_WORK(sfc_refresh_work, sfc_refresh);

/*
 * The speed is known or changes when the link comes up; thresholds depend on the MTU.  The speed of
 * a bond is that of its active links, so watch their events and failovers too.  It is read from a
 * work item, with only RTNL held: bolt_compat.h says why.
 */
static int sfc_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct netdev_notifier_changeupper_info *info = ptr;
	struct net_device *upper = dev;
	struct sfc_sched *q;

	switch (event) {
	case NETDEV_UNREGISTER:
		/* or it leaves the namespace: its qdiscs are detached, but may still exist */
		list_for_each_entry(q, &sfc_list, list)
			if (qdisc_dev(q->sch) == dev)
				sfc_config_leave(q->sch);
		sfc_hold_leave(dev);
		return NOTIFY_DONE;
	case NETDEV_PRE_TYPE_CHANGE:
		/* the group of PAUSE frames has an Ethernet address */
		list_for_each_entry(q, &sfc_list, list)
			if (q->pfc && qdisc_dev(q->sch) == dev)
				return notifier_from_errno(-EBUSY);
		return NOTIFY_DONE;
	case NETDEV_CHANGEUPPER:
		/* @dev has joined it, or left it: either changes its speed */
		upper = info->upper_dev;
		if (info->linking)
			sfc_switch_update_foreign(dev);
		break;
	case NETDEV_REGISTER:
		/* or it has come to another namespace */
		if (!list_empty(&dev->adj_list.lower))
			sfc_switch_update_foreign(dev);
		return NOTIFY_DONE;
	case NETDEV_UP:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGELOWERSTATE:
	case NETDEV_BONDING_FAILOVER:
		break;
	default:
		return NOTIFY_DONE;
	}

	sfc_switch_find_ports(dev, NULL);
	sfc_switch_find_ports(upper, NULL);
	netdev_walk_all_upper_dev_rcu(upper, sfc_switch_find_ports, NULL);
	list_for_each_entry(q, &sfc_list, list)
		if (q->found) {
			q->found = false;
			q->stale = true;
			schedule_work(&sfc_refresh_work);
		}
	return NOTIFY_DONE;
}

static struct notifier_block sfc_netdev_notifier = {
	.notifier_call	= sfc_netdev_event,
};

static int __net_init sfc_switch_init(struct net *net)
{
	struct sfc_switch *sw = sfc_switch_of(net);

	xa_init(&sw->edges);
	xa_init(&sw->buffer.devices);
	sw->buffer.grain = 1;
	INIT_LIST_HEAD(&sw->holds);
	spin_lock_init(&sw->holds_lock);
	sw->clock = get_random_u32();
	return 0;
}

static void __net_exit sfc_switch_exit(struct net *net)
{
	struct sfc_switch *sw = sfc_switch_of(net);

	xa_destroy(&sw->edges);
	sfc_buffer_free(&sw->buffer);
	kvfree(sw->cache);
}

/* A subsystem, so that exit runs after the namespace's devices and their qdiscs have gone */
static struct pernet_operations sfc_switch_ops = {
	.init	= sfc_switch_init,
	.exit	= sfc_switch_exit,
	.id	= &sfc_net_id,
	.size	= sizeof(struct sfc_switch),
};

static int __init sfc_module_init(void)
{
	int err;

	err = register_pernet_subsys(&sfc_switch_ops);
	if (err)
		return err;
	err = register_netdevice_notifier(&sfc_netdev_notifier);
	if (err)
		goto err_net;
	err = register_qdisc(&sfc_qdisc_ops);
	if (err)
		goto err_notifier;
	bolt_ctl_register(BOLT_CTL_SFC_HOLD, sfc_hold_receive);
	err = register_qdisc(&sfc_hold_qdisc_ops);
	if (err)
		goto err_hear;
	return 0;

err_hear:
	bolt_ctl_unregister(BOLT_CTL_SFC_HOLD);
	unregister_qdisc(&sfc_qdisc_ops);
err_notifier:
	unregister_netdevice_notifier(&sfc_netdev_notifier);
	cancel_work_sync(&sfc_refresh_work);
err_net:
	unregister_pernet_subsys(&sfc_switch_ops);
	return err;
}

/* No qdisc exists any more: each holds a reference on the module. */
static void __exit sfc_module_exit(void)
{
	unregister_qdisc(&sfc_hold_qdisc_ops);
	bolt_ctl_unregister(BOLT_CTL_SFC_HOLD);
	unregister_qdisc(&sfc_qdisc_ops);
	unregister_netdevice_notifier(&sfc_netdev_notifier);
	cancel_work_sync(&sfc_refresh_work);
	unregister_pernet_subsys(&sfc_switch_ops);
}

module_init(sfc_module_init);
module_exit(sfc_module_exit);
MODULE_DESCRIPTION("Bolt and SFC at a switch port: SRC, ramp-up, supply matching, pauses");
MODULE_LICENSE("GPL");
MODULE_VERSION(BOLT_MODULE_VERSION);
MODULE_ALIAS("net-sch-sfc");
MODULE_ALIAS("net-sch-sfc_hold");
/* before 6.9 */
MODULE_ALIAS("sch_sfc_hold");
