// SPDX-License-Identifier: GPL-2.0
/*
 * Bolt for Linux hosts: sub-RTT congestion control (Arslan et al., NSDI '23).
 *
 * Documentation/packet-walk.rst follows a packet from file to file.  This file has the module's and
 * the namespace's initialization.
 */

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/genetlink.h>

#include <bolt_ctl.h>
#include "bolt.h"

static bool bolt_hooks_first = true;
module_param_named(hooks, bolt_hooks_first, bool, 0644);
MODULE_PARM_DESC(hooks, "initial net.bolt.hooks of new namespaces (1)");

static int __net_init bolt_net_init(struct net *net)
{
	struct bolt_net *bn = bolt_net(net);
	int err;

	bn->net = net;
	mutex_init(&bn->hooks_lock);
	xa_init(&bn->rates);
	INIT_WORK(&bn->rate_work, bolt_rate_work);
	INIT_LIST_HEAD(&bn->held);
	spin_lock_init(&bn->flow_lock);
	bolt_control_init(bn);
	bolt_fallback_init(bn);
	err = bolt_mib_init(bn);
	if (err)
		goto err_fallback;
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
err_fallback:
	bolt_fallback_exit(bn);
	return err;
}

/*
 * A grace period passes before bolt_net_exit(), where no hook runs any more, and no control message
 * is read.
 */
static void __net_exit bolt_net_pre_exit(struct net *net)
{
	struct bolt_net *bn = bolt_net(net);

	/* first, so that net.bolt.hooks cannot change any more */
	bolt_sysctl_exit(bn);
	bolt_sfc_set(bn, false);
	bolt_hooks_set(bn, false);
	bolt_control_pre_exit(bn);
}

static void __net_exit bolt_net_exit(struct net *net)
{
	struct bolt_net *bn = bolt_net(net);

	bolt_control_exit(bn);
	bolt_flow_exit(bn);
	bolt_fallback_exit(bn);
	cancel_work_sync(&bn->rate_work);
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

/*
 * "ip route ... congctl bolt" calls request_module() with RTNL held, and waits for this function,
 * while registration needs RTNL.  Give up after a timeout, so that the command fails instead of
 * deadlocking.
 */
static int __init bolt_wait_for_rtnl(void)
{
	unsigned int i;

	for (i = 0; i < 200; i++) {
		if (rtnl_trylock()) {
			rtnl_unlock();
			return 0;
		}
		msleep(20);
	}
	pr_err("tcp_bolt: not loaded by \"ip route\", which blocks it\n");
	return -EBUSY;
}

static int __init bolt_module_init(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct bolt_flow *) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct bolt_ctl) != 20);

	err = bolt_wait_for_rtnl();
	if (err)
		return err;
	bolt_wq = alloc_workqueue("tcp_bolt", WQ_UNBOUND, 0);
	if (!bolt_wq)
		return -ENOMEM;
	err = bolt_flow_module_init(bolt_flow_work);
	if (err)
		goto err_wq;
	err = bolt_fallback_module_init();
	if (err)
		goto err_flow;
	err = register_pernet_subsys(&bolt_net_ops);
	if (err)
		goto err_fallback;
	bolt_ctl_register(BOLT_CTL_TCP_BOLT, bolt_control_receive);
	/* the machine's own namespace, before an ordinary socket takes the port */
	if (bolt_hooks_first)
		bolt_control_open(bolt_net(&init_net));
	err = bolt_rate_module_init();
	if (err)
		goto err_ctl;
	err = genl_register_family(&bolt_genl_family);
	if (err)
		goto err_rate;
	/* last: from here on sockets hold the module */
	err = bolt_controllers_register();
	if (err)
		goto err_genl;
	return 0;

err_genl:
	genl_unregister_family(&bolt_genl_family);
err_rate:
	bolt_rate_module_exit();
err_ctl:
	bolt_ctl_unregister(BOLT_CTL_TCP_BOLT);
	unregister_pernet_subsys(&bolt_net_ops);
err_fallback:
	bolt_fallback_module_exit();
err_flow:
	bolt_flow_module_exit();
err_wq:
	destroy_workqueue(bolt_wq);
	return err;
}

/* Sockets hold the module, so there are none left; work items of the last ones may still run. */
static void __exit bolt_module_exit(void)
{
	genl_unregister_family(&bolt_genl_family);
	bolt_controllers_unregister();
	bolt_rate_module_exit();
	bolt_ctl_unregister(BOLT_CTL_TCP_BOLT);
	unregister_pernet_subsys(&bolt_net_ops);
	destroy_workqueue(bolt_wq);
	bolt_fallback_module_exit();
	bolt_flow_module_exit();
}

module_init(bolt_module_init);
module_exit(bolt_module_exit);

MODULE_LICENSE("GPL");
MODULE_VERSION(BOLT_MODULE_VERSION);
MODULE_DESCRIPTION("Bolt: sub-RTT congestion control for TCP");
/* TCP requests this name when swift is selected */
MODULE_ALIAS("tcp_swift");
