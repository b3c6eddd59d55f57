/* SPDX-License-Identifier: GPL-2.0 */
/* Bytes per packet on a device's link that are in no length of the packet. */
#ifndef _TCP_BOLT_OVERHEAD_H
#define _TCP_BOLT_OVERHEAD_H

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <net/rtnetlink.h>

/* Preamble and start of frame, FCS, inter-frame gap (IEEE 802.3) */
#define BOLT_ETH_OVERHEAD	(8 + ETH_FCS_LEN + 12)

/* Also adds to the u32 behind @priv what @dev puts around a packet, on the way to hardware. */
static inline int bolt_dev_is_hardware(struct net_device *dev, struct netdev_nested_priv *priv)
{
	const struct rtnl_link_ops *ops = dev->rtnl_link_ops;
	u32 *bytes = priv->data;

	if (is_vlan_dev(dev))
		*bytes += VLAN_HLEN;
	else if (ops && !strcmp(ops->kind, "vxlan"))
		/* this has the Ethernet header below twice */
		*bytes += dev->needed_headroom - ETH_HLEN;
	return !!dev->dev.parent;
}

/*
 * The overhead of hardware Ethernet, also of a bond, VLAN or VXLAN on top of it; 0 for any other
 * link.  Virtual devices (veth, the lab's) have no parent device on a bus, nor has any device below
 * them.
 */
static inline u32 bolt_dev_overhead(struct net_device *dev)
{
	u32 bytes = BOLT_ETH_OVERHEAD;
	struct netdev_nested_priv priv = { .data = &bytes };
	bool hardware = bolt_dev_is_hardware(dev, &priv);

	if (dev->type != ARPHRD_ETHER)
		return 0;
	rcu_read_lock();
	hardware = hardware || netdev_walk_all_lower_dev_rcu(dev, bolt_dev_is_hardware, &priv);
	rcu_read_unlock();
	return hardware ? bytes : 0;
}

/* What a packet takes of the link besides IP; @overhead: net.bolt.overhead */
static inline u32 bolt_link_bytes(struct net_device *dev, int overhead)
{
	return ETH_HLEN + (overhead < 0 ? bolt_dev_overhead(dev) : overhead);
}

#endif /* _TCP_BOLT_OVERHEAD_H */
