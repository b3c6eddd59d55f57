// SPDX-License-Identifier: GPL-2.0
/*
 * Link speeds of devices, for the spacing of departures and the largest window.
 *
 * ethtool operations need RTNL, but a congestion control starts in a softirq.  So read the speed of
 * a device when it is registered, comes up or changes, and store it.  The speed of a bond is that
 * of its active links, and it changes without an event of the bond itself: watch those of the
 * links, and failovers.
 */

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/bonding.h>

#include "bolt.h"

/* How long loading waits until the speeds of existing devices are read */
#define BOLT_RATE_START_WAIT	(2 * HZ)
/*
 * Devices to look at for the speed of one, at most.  The core's walk takes every path down, and
 * comes back to each device on it, so of what a container stacks there can be 10^9 to look at.  A
 * VLAN on a bridge of 1024 containers needs three quarters of this.
 */
#define BOLT_RATE_STEPS		4096

/* Apart from work on flows: every namespace may have an item that waits for RTNL */
static struct workqueue_struct *bolt_rate_wq;

/* These devices report 10 Gb/s, whatever link is below them. */
static bool bolt_rate_invented(const struct net_device *dev)
{
	const struct rtnl_link_ops *ops = dev->rtnl_link_ops;

	return ops && (!strcmp(ops->kind, "veth") || !strcmp(ops->kind, "tun"));
}

/* One more device to look at: 0 if its rate is its own, -E2BIG if it is one too many */
static int bolt_rate_step(struct net_device *dev, struct netdev_nested_priv *steps)
{
	if (++*(unsigned int *)steps->data > BOLT_RATE_STEPS)
		return -E2BIG;
	return bolt_rate_invented(dev);
}

/* Reported Mbit/s, 0: unknown */
static u32 bolt_rate_reported(struct net_device *dev)
{
	struct ethtool_link_ksettings ks;
	int err;

	netdev_lock_ops(dev);
	err = netif_get_link_ksettings(dev, &ks);
	netdev_unlock_ops(dev);
	return err || ks.base.speed == (u32)SPEED_UNKNOWN ? 0 : ks.base.speed;
}

/* What one flow can have: a link, or the bond that spreads it over its links */
static int bolt_rate_one_flow(struct net_device *dev, struct netdev_nested_priv *fastest)
{
	const struct bonding *bond = netdev_priv(dev);
	u32 *mbps = fastest->data;

	if (list_empty(&dev->adj_list.lower) ||
	    (netif_is_bond_master(dev) && BOND_MODE(bond) == BOND_MODE_ROUNDROBIN))
		*mbps = max(*mbps, bolt_rate_reported(dev));
	return 0;
}

/*
 * Mbit/s, 0: unknown, -E2BIG: too many steps.  A VLAN or a bridge repeats a lower device: a made-up
 * rate, or that of a bond or team, which is the sum of its links.  Count the devices first: for its
 * own speed a bridge asks them by the same paths.
 */
static int bolt_rate_of(struct net_device *dev, struct netdev_nested_priv *steps)
{
	u32 link = 0;
	struct netdev_nested_priv fastest = { .data = &link };
	int ret;

	ret = bolt_rate_step(dev, steps) ?: netdev_walk_all_lower_dev(dev, bolt_rate_step, steps);
	if (ret)
		return min(ret, 0);
	bolt_rate_one_flow(dev, &fastest);
	netdev_walk_all_lower_dev(dev, bolt_rate_one_flow, &fastest);
	return min(bolt_rate_reported(dev), link ?: U32_MAX);
}

/* Read the speeds of all devices again: that of one may be that of another below it. */
void bolt_rate_work(struct work_struct *work)
{
	struct bolt_net *bn = container_of(work, struct bolt_net, rate_work);
	unsigned int n;
	struct netdev_nested_priv steps = { .data = &n };
	struct net_device *dev;
	int mbps;

	rtnl_lock();
	for_each_netdev(bn->net, dev) {
		n = 0;
		/* a bridge of containers and a physical link has the speed of the link */
		mbps = bolt_rate_of(dev, &steps) ?:
		       netdev_walk_all_lower_dev(dev, bolt_rate_of, &steps);
		/* without memory it is unknown until the next event */
		if (xa_err(xa_store(&bn->rates, dev->ifindex, xa_mk_value(max(mbps, 0)),
				    GFP_KERNEL)))
			BOLT_INC_STATS(bn, NoMem);
		cond_resched();
	}
	/* each flow reads its rate again with the next packet */
	atomic_inc_return_release(&bn->rate_gen);
	rtnl_unlock();
}

/* Speeds are read from a work item, with only RTNL held: bolt_compat.h says why. */
static int bolt_rate_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct bolt_net *bn = bolt_net(dev_net(dev));

	if (event == NETDEV_UNREGISTER)
		xa_erase(&bn->rates, dev->ifindex);
	/* from a dying namespace nobody sends: its end need not wait for RTNL once more */
	if (bolt_rate_invented(dev) || !check_net(bn->net))
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
	case NETDEV_REGISTER:
	case NETDEV_UP:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEUPPER:
	case NETDEV_CHANGELOWERSTATE:
	case NETDEV_BONDING_FAILOVER:
		queue_work(bolt_rate_wq, &bn->rate_work);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block bolt_rate_nb = { .notifier_call = bolt_rate_event };

/* kbit/s of the device, or net.bolt.rate_mbps if set; 0: unknown */
u32 bolt_rate_kbps(struct bolt_net *bn, int ifindex)
{
	/* no entry has the value 0 as well */
	u32 mbps = READ_ONCE(bn->rate_mbps) ?: xa_to_value(xa_load(&bn->rates, ifindex));

	return min_t(u64, mbps * 1000ULL, U32_MAX);
}

static DECLARE_COMPLETION(bolt_rate_started);

static void bolt_rate_start(struct work_struct *work)
{
	register_netdevice_notifier(&bolt_rate_nb);
	flush_workqueue(bolt_rate_wq);
	complete(&bolt_rate_started);
}

static DECLARE_WORK(bolt_rate_start_work, bolt_rate_start);

/*
 * Registration needs RTNL, which "ip route ... congctl bolt" holds while it waits for this module
 * to be loaded.  bolt_wait_for_rtnl() refuses that, unless the command comes after it.  So register
 * from a work item, and wait for it only for a limited time: without such a command, the first flow
 * finds the rates of existing devices.
 */
int bolt_rate_module_init(void)
{
	bolt_rate_wq = alloc_ordered_workqueue("tcp_bolt_rates", 0);
	if (!bolt_rate_wq)
		return -ENOMEM;
	schedule_work(&bolt_rate_start_work);
	wait_for_completion_timeout(&bolt_rate_started, BOLT_RATE_START_WAIT);
	return 0;
}

void bolt_rate_module_exit(void)
{
	flush_work(&bolt_rate_start_work);
	unregister_netdevice_notifier(&bolt_rate_nb);
	destroy_workqueue(bolt_rate_wq);
}
