// SPDX-License-Identifier: GPL-2.0
/*
 * One network namespace is one switch: its ports share the pause cache and the incast
 * estimator (cache.c), the set of edge ports, and the list of sfc_hold (hear.c).
 *
 * They are allocated when a port is configured, under RTNL, and freed when the namespace is
 * deleted, after its ports.  So packets use them without a lock or a reference.
 */
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "memory.h"
#include "port.h"

static unsigned int sfc_switch_id __read_mostly;
static const u64 sfc_never;

struct sfc_switch *sfc_switch_of(const struct net *net)
{
	return net_generic(net, sfc_switch_id);
}

/* What @xa has for the device with @ifindex, or for the one below that VLAN, or NULL.  RCU */
void *sfc_switch_find(struct xarray *xa, struct net *net, int ifindex)
{
	const struct net_device *dev;
	void *entry;

	/* of one that is just being configured, this packet may not know */
	if (data_race(xa_empty(xa)) || !ifindex)
		return NULL;
	entry = xa_load(xa, ifindex);
	if (entry)
		return entry;
	dev = dev_get_by_index_rcu(net, ifindex);
	return dev && is_vlan_dev(dev) ? xa_load(xa, vlan_dev_real_dev(dev)->ifindex) : NULL;
}

/* Unless some sfc on it is marked "edge", the port's device is none any more.  RTNL */
void sfc_switch_settle_edge(struct Qdisc *sch)
{
	const struct sfc_sched *q;

	list_for_each_entry(q, &sfc_list, list)
		if (q->cfg.flags & TC_SFC_F_EDGE && qdisc_dev(q->sch) == qdisc_dev(sch))
			return;
	xa_erase(&sfc_switch_of_port(sch)->edges, qdisc_dev(sch)->ifindex);
}

static bool sfc_wants_cache(const struct sfc_config *cfg)
{
	return cfg->flags & TC_SFC_F_PAUSE && cfg->flags & TC_SFC_F_CACHE;
}

/*
 * What the switch must have before a port is configured.  RTNL, may sleep.  On success
 * sfc_switch_commit() follows, and in any case sfc_switch_settle_edge().
 */
int sfc_switch_prepare(struct Qdisc *sch, const struct sfc_config *cfg)
{
	struct sfc_switch *sw = sfc_switch_of_port(sch);
	struct sfc_sched *q = qdisc_priv(sch);
	int err;

	ASSERT_RTNL();
	if (cfg->srcc && !q->srcc) {
		q->srcc = kvzalloc(sizeof(*q->srcc), GFP_KERNEL);
		if (!q->srcc)
			return -ENOMEM;
	}
	if ((sfc_wants_cache(cfg) || cfg->tau_ns) && !sw->cache) {
		sw->cache = sfc_cache_alloc();
		if (!sw->cache)
			return -ENOMEM;
	}
	if (cfg->pfc.prios) {
		err = sfc_memory_place(&sw->mem, qdisc_dev(sch));
		if (err)
			return err;
	}
	if (cfg->flags & TC_SFC_F_EDGE)
		return xa_err(xa_store(&sw->edges, qdisc_dev(sch)->ifindex, sw, GFP_KERNEL));
	return 0;
}

/* The port gets the configuration @cfg.  Context: tree locked */
void sfc_switch_commit(struct Qdisc *sch, const struct sfc_config *cfg)
{
	struct sfc_switch *sw = sfc_switch_of_port(sch);
	struct sfc_sched *q = qdisc_priv(sch);

	q->cache = sfc_wants_cache(cfg) ? sw->cache : NULL;
	sfc_memory_set(sch, cfg);
	q->until_ns = q->cache && !(cfg->flags & TC_SFC_F_EDGE) ? &sw->until_ns : &sfc_never;
}

/*
 * The port is destroyed, or its device is about to leave the namespace.  A filter that is being
 * configured may hold the qdisc beyond that, to another namespace: it is no port of a switch any
 * more, and no packet comes.  RTNL.
 */
void sfc_switch_leave(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	q->cfg.flags &= ~TC_SFC_F_EDGE;
	sfc_switch_settle_edge(sch);
	q->cfg.srcc = 0;
	q->cache = NULL;
	q->until_ns = &sfc_never;
	sfc_memory_set(sch, NULL);
	sfc_memory_settle(sch);
}

static int __net_init sfc_switch_init(struct net *net)
{
	struct sfc_switch *sw = sfc_switch_of(net);

	xa_init(&sw->edges);
	xa_init(&sw->mem.devices);
	sw->mem.grain = 1;
	INIT_LIST_HEAD(&sw->holds);
	sw->clock = get_random_u32();
	return 0;
}

static void __net_exit sfc_switch_exit(struct net *net)
{
	struct sfc_switch *sw = sfc_switch_of(net);

	xa_destroy(&sw->edges);
	sfc_memory_free(&sw->mem);
	kvfree(sw->cache);
}

/* A subsystem: its exit runs after that of the devices, so after the last port has gone. */
struct pernet_operations sfc_switch_ops = {
	.init	= sfc_switch_init,
	.exit	= sfc_switch_exit,
	.id	= &sfc_switch_id,
	.size	= sizeof(struct sfc_switch),
};
