// SPDX-License-Identifier: GPL-2.0
/*
 * One network namespace is one switch: its ports share the pause cache and the incast estimator
 * (cache.c), the packet buffer and PFC (buffer.c), the set of edge ports, and the list of sfc_hold
 * (hear.c).  Cache and PFC's slots are allocated when a port is configured, under RTNL, and freed
 * when the namespace is deleted, after its ports, so packets use them without a lock or a
 * reference; edges they read under RCU.
 */
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "port.h"

unsigned int sfc_net_id __read_mostly;

struct sfc_switch *sfc_switch_of(const struct net *net)
{
	return net_generic(net, sfc_net_id);
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
	if (!dev || !is_vlan_dev(dev))
		return NULL;
	/* which may be another namespace's */
	dev = vlan_dev_real_dev(dev);
	return net_eq(dev_net(dev), net) ? xa_load(xa, dev->ifindex) : NULL;
}

static int sfc_switch_is_foreign(struct net_device *upper, struct netdev_nested_priv *port)
{
	return !net_eq(dev_net(upper), dev_net(port->data));
}

/*
 * Set q->foreign, see sfc_iif(), if a device on top of the port, a VLAN or macvlan, is another
 * namespace's.  It stays set: packets of one that has gone may wait here, or above.  RTNL
 */
void sfc_switch_update_foreign(struct Qdisc *sch)
{
	struct netdev_nested_priv port = { .data = qdisc_dev(sch) };
	struct sfc_sched *q = qdisc_priv(sch);

	rcu_read_lock();
	if (netdev_walk_all_upper_dev_rcu(qdisc_dev(sch), sfc_switch_is_foreign, &port))
		WRITE_ONCE(q->foreign, true);
	rcu_read_unlock();
}

/* One more sfc of the port's device is marked "edge", one less (@change -1), or as many.  RTNL */
void sfc_switch_count_edge(struct Qdisc *sch, int change)
{
	struct xarray *edges = &sfc_switch_of_port(sch)->edges;
	int ifindex = qdisc_dev(sch)->ifindex;
	unsigned long n = xa_to_value(xa_load(edges, ifindex)) + change;

	/* sfc_config_prepare() has made room */
	if (n)
		xa_store(edges, ifindex, xa_mk_value(n), GFP_KERNEL);
	else
		xa_erase(edges, ifindex);
}
