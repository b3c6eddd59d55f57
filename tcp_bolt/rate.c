// SPDX-License-Identifier: GPL-2.0
/*
 * The speed of devices, for the spacing of departures and the bound of the window.
 *
 * ethtool answers only under RTNL, and a congestion control starts in a softirq:
 * so the speed is noted when a device appears, comes up or changes.  A bond has the speed of the
 * links that carry: while one of them does, only their events and a failover tell.
 */

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "bolt.h"

static void bolt_rate_note(struct bolt_net *bn, struct net_device *dev)
{
	struct ethtool_link_ksettings ks = {};

	if (__ethtool_get_link_ksettings(dev, &ks) || !ks.base.speed ||
	    ks.base.speed == (u32)SPEED_UNKNOWN)
		xa_erase(&bn->rates, dev->ifindex);
	else
		xa_store(&bn->rates, dev->ifindex, xa_mk_value(ks.base.speed), GFP_KERNEL);
}

static int bolt_rate_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr), *master;
	struct bolt_net *bn = bolt_net(dev_net(dev));

	switch (event) {
	case NETDEV_REGISTER:
	case NETDEV_UP:
	case NETDEV_CHANGE:
	case NETDEV_CHANGELOWERSTATE:
	case NETDEV_BONDING_FAILOVER:
		bolt_rate_note(bn, dev);
		master = netdev_master_upper_dev_get(dev);
		/* one that goes lets its links go after NETDEV_UNREGISTER */
		if (master && master->reg_state == NETREG_REGISTERED)
			bolt_rate_note(bn, master);
		break;
	case NETDEV_UNREGISTER:
		xa_erase(&bn->rates, dev->ifindex);
		break;
	default:
		return NOTIFY_DONE;
	}
	/* flows look again with their next packet */
	WRITE_ONCE(bn->rate_gen, bn->rate_gen + 1);
	return NOTIFY_DONE;
}

static struct notifier_block bolt_rate_nb = { .notifier_call = bolt_rate_event };

/* kbit/s of the device, or what net.bolt.rate_mbps says; 0: unknown */
u32 bolt_rate_kbps(struct bolt_net *bn, int ifindex)
{
	u32 mbps = READ_ONCE(bn->rate_mbps);
	void *entry;

	if (!mbps) {
		entry = xa_load(&bn->rates, ifindex);
		mbps = xa_is_value(entry) ? xa_to_value(entry) : 0;
	}
	return min_t(u64, mbps * 1000ULL, U32_MAX);
}

int bolt_rate_module_init(void)
{
	return register_netdevice_notifier(&bolt_rate_nb);
}

void bolt_rate_module_exit(void)
{
	unregister_netdevice_notifier(&bolt_rate_nb);
}
