/* SPDX-License-Identifier: GPL-2.0 */
/* Bytes per packet on a device's link that are in no length of the packet. */
#ifndef _TCP_BOLT_OVERHEAD_H
#define _TCP_BOLT_OVERHEAD_H

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/netdevice.h>

/* Preamble and start of frame, FCS, inter-frame gap (IEEE 802.3) */
#define BOLT_ETH_OVERHEAD	(8 + ETH_FCS_LEN + 12)

static inline int bolt_dev_is_hardware(struct net_device *dev, struct netdev_nested_priv *priv)
{
	return !!dev->dev.parent;
}

/*
 * The overhead of hardware Ethernet, also of a bond or a VLAN on top of it; 0 for any other link.
 * Virtual devices (veth, the lab's) have no parent device on a bus, nor has any device below them.
 */
static inline u32 bolt_dev_overhead(struct net_device *dev)
{
	bool hardware = bolt_dev_is_hardware(dev, NULL);

	if (dev->type != ARPHRD_ETHER)
		return 0;
	rcu_read_lock();
	hardware = hardware || netdev_walk_all_lower_dev_rcu(dev, bolt_dev_is_hardware, NULL);
	rcu_read_unlock();
	return hardware ? BOLT_ETH_OVERHEAD : 0;
}

/* What a packet takes of the link besides IP; @overhead: net.bolt.overhead */
static inline u32 bolt_link_bytes(struct net_device *dev, int overhead)
{
	return ETH_HLEN + (overhead < 0 ? bolt_dev_overhead(dev) : overhead);
}

#endif /* _TCP_BOLT_OVERHEAD_H */
