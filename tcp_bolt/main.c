// SPDX-License-Identifier: GPL-2.0
/*
 * Bolt for Linux hosts: sub-RTT congestion control (Arslan et al., NSDI '23).
 *
 * A packet's way, file by file:
 *
 *   write()                                  option_rx.c   LOCAL_IN: option read
 *      |                                        |          handshake.c: negotiation
 *   cc.c: the window                         TCP
 *      |                                        |
 *   option_tx.c  LOCAL_OUT: option written    cc.c: INC, additive increase
 *      |         departure spaced (rate.c)
 *   device                                   control.c     SRC from a switch -> cc.c -> core.h
 *                                                          BTS from a switch -> pause.c
 *
 * flow.c holds the per-socket object, core.h the arithmetic of Algorithm 2, sysctl.c and
 * mib.c what a namespace can set and count; genl.c shows it to programs, events.c tells what
 * happens.  attach.c is what bolt shares with other congestion
 * controls that speak the option: swift, whose controller is swift.c (arithmetic in swift.h), and
 * whose congestion control is tcp_swift.ko (swift_cc.c).  This file ties them to the kernel.
 */

#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/netns/generic.h>

#include "bolt.h"

unsigned int bolt_net_id __read_mostly;
struct workqueue_struct *bolt_wq;

struct bolt_net *bolt_net(const struct net *net)
{
	return net_generic(net, bolt_net_id);
}
EXPORT_SYMBOL_GPL(bolt_net);

/*
 * Out: before everything else.  What reroutes or queues packets (mangle, NFQUEUE) continues in
 * other contexts than TCP's, without the socket lock; NAT mends the checksum of what it changes.
 * In: behind the filters: what they refuse does not count.
 */
static const struct nf_hook_ops bolt_hooks[] = {
	{
		.hook		= bolt_local_out4,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_FIRST,
	}, {
		.hook		= bolt_local_in4,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP_PRI_LAST,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook		= bolt_local_out6,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_FIRST,
	}, {
		.hook		= bolt_local_in6,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP6_PRI_LAST,
	},
#endif
};

static bool bolt_hooks_first = true;
module_param_named(hooks, bolt_hooks_first, bool, 0644);
MODULE_PARM_DESC(hooks, "net.bolt.hooks of namespaces made from now on (1)");

/*
 * net.bolt.hooks: with 0 the packets of the namespace pass as if the module was not loaded.  A
 * connection that carries the option then loses it at once, as to a middlebox, and falls back.
 */
int bolt_hooks_set(struct bolt_net *bn, bool on)
{
	int err = 0;

	mutex_lock(&bn->hooks_lock);
	if (bn->hooks_closing)
		err = -ENODEV;
	/* a pause needs them, for any socket */
	else if (!on && READ_ONCE(bn->sfc))
		err = -EBUSY;
	else if (on && !bn->hooks)
		err = nf_register_net_hooks(bn->net, bolt_hooks, ARRAY_SIZE(bolt_hooks));
	else if (!on && bn->hooks)
		nf_unregister_net_hooks(bn->net, bolt_hooks, ARRAY_SIZE(bolt_hooks));
	if (!err)
		WRITE_ONCE(bn->hooks, on);
	mutex_unlock(&bn->hooks_lock);
	return err;
}

/* net.bolt.sfc, which net.bolt.hooks=0 excludes */
int bolt_sfc_set(struct bolt_net *bn, bool on)
{
	int err = 0;

	if (on) {
		if (!READ_ONCE(bn->hooks))
			return -EBUSY;
		err = bolt_control_need(bn);
		if (err)
			return err;
	}
	mutex_lock(&bn->hooks_lock);
	if (on && !bn->hooks)
		err = -EBUSY;
	else
		WRITE_ONCE(bn->sfc, on);
	mutex_unlock(&bn->hooks_lock);
	return err;
}

static int __net_init bolt_net_init(struct net *net)
{
	struct bolt_net *bn = bolt_net(net);
	int err;

	bn->net = net;
	mutex_init(&bn->hooks_lock);
	xa_init(&bn->rates);
	bolt_control_init(bn);
	bolt_pause_init(bn);
	bolt_events_init(&bn->events, net, &bolt_genl_family, &bolt_genl_on, bolt_wq,
			 BOLT_EVENTS_RATE, BOLT_EVENTS_BURST);
	err = bolt_mib_init(bn);
	if (err)
		return err;
	err = bolt_sysctl_init(bn);
	if (err)
		goto err_mib;
	if (READ_ONCE(bolt_hooks_first))
		err = bolt_hooks_set(bn, true);
	if (err)
		goto err_sysctl;
	return 0;

err_sysctl:
	bolt_sysctl_exit(bn);
err_mib:
	bolt_mib_exit(bn);
	return err;
}

/* A grace period passes between this and bolt_net_exit(): no hook runs any more then. */
static void __net_exit bolt_net_pre_exit(struct net *net)
{
	struct bolt_net *bn = bolt_net(net);

	mutex_lock(&bn->hooks_lock);
	bn->hooks_closing = 1;
	if (bn->hooks)
		nf_unregister_net_hooks(net, bolt_hooks, ARRAY_SIZE(bolt_hooks));
	mutex_unlock(&bn->hooks_lock);
}

static void __net_exit bolt_net_exit(struct net *net)
{
	struct bolt_net *bn = bolt_net(net);

	bolt_sysctl_exit(bn);
	bolt_control_exit(bn);
	bolt_pause_exit(bn);
	bolt_events_exit(&bn->events);
	bolt_mib_exit(bn);
	xa_destroy(&bn->rates);
}

static struct pernet_operations bolt_net_ops = {
	.init		= bolt_net_init,
	.pre_exit	= bolt_net_pre_exit,
	.exit		= bolt_net_exit,
	.id		= &bolt_net_id,
	.size		= sizeof(struct bolt_net),
};

static int __init bolt_module_init(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct bolt_flow *) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct bolt_ctl) != 20);

	bolt_wq = alloc_workqueue("tcp_bolt", WQ_UNBOUND, 0);
	if (!bolt_wq)
		return -ENOMEM;
	err = bolt_flow_module_init();
	if (err)
		goto err_wq;
	err = bolt_pause_module_init();
	if (err)
		goto err_flow;
	err = register_pernet_subsys(&bolt_net_ops);
	if (err)
		goto err_pause;
	err = bolt_rate_module_init();
	if (err)
		goto err_net;
	err = tcp_register_congestion_control(&tcp_bolt);
	if (err)
		goto err_rate;
	err = bolt_genl_module_init();
	if (err)
		goto err_cc;
	return 0;

err_cc:
	tcp_unregister_congestion_control(&tcp_bolt);
err_rate:
	bolt_rate_module_exit();
err_net:
	unregister_pernet_subsys(&bolt_net_ops);
err_pause:
	bolt_pause_module_exit();
err_flow:
	bolt_flow_module_exit();
err_wq:
	destroy_workqueue(bolt_wq);
	return err;
}

/* Sockets hold the module, so there are none: only work that outlived one may still run. */
static void __exit bolt_module_exit(void)
{
	bolt_genl_module_exit();
	tcp_unregister_congestion_control(&tcp_bolt);
	bolt_rate_module_exit();
	unregister_pernet_subsys(&bolt_net_ops);
	destroy_workqueue(bolt_wq);
	rcu_barrier();
	bolt_pause_module_exit();
	bolt_flow_module_exit();
}

module_init(bolt_module_init);
module_exit(bolt_module_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Bolt: sub-RTT congestion control for TCP");
