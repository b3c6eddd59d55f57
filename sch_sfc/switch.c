// SPDX-License-Identifier: GPL-2.0
/*
 * One network namespace is one switch: its ports share the pause cache and the incast estimator
 * (cache.c), the packet buffer and PFC (buffer.c), the set of edge ports, and the list of sfc_hold
 * (hear.c).  Cache and PFC's slots are allocated when a port is configured, under RTNL, and freed
 * when the namespace is deleted, after its ports, so packets use them without a lock or a
 * reference; edges they read under RCU.
 */
#include <linux/hashtable.h>
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

/* Every sfc of all namespaces, by its device; RTNL */
static DEFINE_HASHTABLE(sfc_by_dev, 8);

void sfc_switch_add_port(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);

	hash_add(sfc_by_dev, &q->by_dev, (unsigned long)qdisc_dev(sch));
}

/*
 * Set q->found of each sfc on @dev, which the caller clears.  A walk comes back to a device once
 * for each path to it: then its first is found already, and so are the others.
 */
int sfc_switch_find_ports(struct net_device *dev, struct netdev_nested_priv *priv)
{
	struct sfc_sched *q;

	hash_for_each_possible(sfc_by_dev, q, by_dev, (unsigned long)dev) {
		if (qdisc_dev(q->sch) != dev)
			continue;
		if (q->found)
			break;
		q->found = true;
	}
	return 0;
}

static int sfc_switch_is_foreign(struct net_device *upper, struct netdev_nested_priv *port)
{
	return !net_eq(dev_net(upper), dev_net(port->data));
}

/* Is a device on top of @dev, a VLAN or macvlan, another namespace's?  RTNL */
bool sfc_switch_has_foreign(struct net_device *dev)
{
	struct netdev_nested_priv port = { .data = dev };

	return netdev_walk_all_upper_dev_rcu(dev, sfc_switch_is_foreign, &port);
}

/*
 * @dev got another one on top, or came to another namespace: set q->foreign, see sfc_iif(), of the
 * ports for which that puts another namespace's device on top.  They are @dev and those below it,
 * so whoever stacks devices pays for that alone.  It stays set: packets of a device that has gone
 * may wait here, or above.  RTNL
 */
void sfc_switch_update_foreign(struct net_device *dev)
{
	bool any = sfc_switch_has_foreign(dev);
	struct sfc_sched *q;

	sfc_switch_find_ports(dev, NULL);
	netdev_walk_all_lower_dev(dev, sfc_switch_find_ports, NULL);
	list_for_each_entry(q, &sfc_list, list)
		if (q->found) {
			q->found = false;
			if (any || !net_eq(dev_net(qdisc_dev(q->sch)), dev_net(dev)))
				WRITE_ONCE(q->foreign, true);
		}
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
