// SPDX-License-Identifier: GPL-2.0
/* KUnit: tcp_bolt/overhead.h, of devices with and without a bus, and of those above them. */

#include <linux/etherdevice.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "compat.h"
#include "overhead.h"

static const struct net_device_ops overhead_ops = {};
static struct rtnl_link_ops overhead_vxlan = { .kind = "vxlan" };
static const struct vxlan_config overhead_ipv6 = { .flags = VXLAN_F_IPV6 };

/* Registered, below @parent if that is not NULL */
static struct net_device *overhead_dev(struct kunit *test, struct device *parent)
{
	struct net_device *dev = alloc_etherdev(sizeof(struct vxlan_dev));

	KUNIT_ASSERT_NOT_NULL(test, dev);
	dev->netdev_ops = &overhead_ops;
	SET_NETDEV_DEV(dev, parent);
	KUNIT_ASSERT_EQ(test, register_netdev(dev), 0);
	return dev;
}

static void overhead_gone(struct net_device *dev)
{
	unregister_netdev(dev);
	free_netdev(dev);
}

static void bolt_dev_overhead_test(struct kunit *test)
{
	struct platform_device *card = platform_device_register_simple("bolt_overhead_test",
								       -1, NULL, 0);
	struct net_device *nic, *soft, *bond;

	KUNIT_ASSERT_FALSE(test, IS_ERR(card));
	nic = overhead_dev(test, &card->dev);
	soft = overhead_dev(test, NULL);
	bond = overhead_dev(test, NULL);

	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(nic), 24);
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(soft), 0);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, netdev_upper_dev_link(soft, bond, NULL), 0);
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(bond), 0);
	KUNIT_EXPECT_EQ(test, netdev_upper_dev_link(nic, bond, NULL), 0);
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(bond), 24);
	/*
	 * Tags of 4 bytes each, and of VXLAN what vxlan_headroom() says.  Whoever hears of a link
	 * may look into a VLAN, and these have nothing but the flag: no link is changed meanwhile.
	 * What is beside the way to the hardware adds nothing.
	 */
	soft->priv_flags |= IFF_802_1Q_VLAN;
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(bond), 24);
	soft->priv_flags &= ~IFF_802_1Q_VLAN;
	netdev_upper_dev_unlink(soft, bond);
	KUNIT_EXPECT_EQ(test, netdev_upper_dev_link(bond, soft, NULL), 0);
	bond->priv_flags |= IFF_802_1Q_VLAN;
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(bond), 28);
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(soft), 28);
	soft->priv_flags |= IFF_802_1Q_VLAN;
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(soft), 32);
	soft->priv_flags &= ~IFF_802_1Q_VLAN;
	soft->rtnl_link_ops = &overhead_vxlan;
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(soft), 28 + 50);
	((struct vxlan_dev *)netdev_priv(soft))->cfg = overhead_ipv6;
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(soft), 28 + 70);
	soft->rtnl_link_ops = NULL;
	bond->priv_flags &= ~IFF_802_1Q_VLAN;
	netdev_upper_dev_unlink(nic, bond);
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(soft), 0);
	netdev_upper_dev_unlink(bond, soft);
	rtnl_unlock();
	/* InfiniBand has another, and is not asked about */
	nic->type = ARPHRD_INFINIBAND;
	KUNIT_EXPECT_EQ(test, bolt_dev_overhead(nic), 0);
	nic->type = ARPHRD_ETHER;

	overhead_gone(bond);
	overhead_gone(soft);
	overhead_gone(nic);
	platform_device_unregister(card);
}

static struct kunit_case overhead_cases[] = {
	KUNIT_CASE(bolt_dev_overhead_test),
	{}
};

static struct kunit_suite overhead_suite = {
	.name = "bolt_overhead",
	.test_cases = overhead_cases,
};

kunit_test_suite(overhead_suite);
