/* SPDX-License-Identifier: GPL-2.0 */
/* Bytes per packet on a device's link that are in no length of the packet. */
#ifndef _TCP_BOLT_OVERHEAD_H
#define _TCP_BOLT_OVERHEAD_H

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/vxlan.h>

/* Preamble and start of frame, FCS, inter-frame gap (IEEE 802.3) */
#define BOLT_ETH_OVERHEAD	(8 + ETH_FCS_LEN + 12)

/* What @dev puts around a packet.  A VXLAN without an address family of its own is over IPv4. */
static inline u32 bolt_dev_adds(const struct net_device *dev)
{
	const struct vxlan_dev *vxlan = netdev_priv(dev);

	if (is_vlan_dev(dev))
		return VLAN_HLEN;
	if (!netif_is_vxlan(dev))
		return 0;
	return (READ_ONCE(vxlan->cfg.flags) & VXLAN_F_IPV6 ? sizeof(struct ipv6hdr) :
							     sizeof(struct iphdr)) +
	       sizeof(struct udphdr) + sizeof(struct vxlanhdr) + ETH_HLEN;
}

/* From @dev down to the first hardware, at most @depth below; 0: there is none.  Context: RCU */
static inline u32 bolt_dev_bytes(struct net_device *dev, unsigned int depth)
{
	struct list_head *iter = &dev->adj_list.lower;
	struct net_device *below;
	u32 bytes = 0;

	if (dev->dev.parent)
		return BOLT_ETH_OVERHEAD;
	while (!bytes && depth && (below = netdev_next_lower_dev_rcu(dev, &iter)))
		bytes = bolt_dev_bytes(below, depth - 1);
	return bytes ? bytes + bolt_dev_adds(dev) : 0;
}

/*
 * The overhead of hardware Ethernet, also of a bond, VLAN or VXLAN on top of it; 0 for any other
 * link.  Virtual devices (veth, the lab's) have no parent device on a bus, nor has any device below
 * them.
 */
static inline u32 bolt_dev_overhead(struct net_device *dev)
{
	u32 bytes;

	if (dev->type != ARPHRD_ETHER)
		return 0;
	rcu_read_lock();
	bytes = bolt_dev_bytes(dev, MAX_NEST_DEV);
	rcu_read_unlock();
	return bytes;
}

/* What a packet takes of the link besides IP; @overhead: net.bolt.overhead */
static inline u32 bolt_link_bytes(struct net_device *dev, int overhead)
{
	return ETH_HLEN + (overhead < 0 ? bolt_dev_overhead(dev) : overhead);
}

#endif /* _TCP_BOLT_OVERHEAD_H */
