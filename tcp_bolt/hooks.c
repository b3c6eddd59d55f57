// SPDX-License-Identifier: GPL-2.0
/* The netfilter hooks of a namespace, and SFC, which needs them: net.bolt.hooks, net.bolt.sfc */

#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>

#include "bolt.h"

/*
 * LOCAL_OUT: before all other hooks.  Behind hooks that queue packets (NFQUEUE) the context may not
 * be TCP's, and the socket not locked.  NAT behind us updates the checksum incrementally.
 * LOCAL_IN: behind the filters, so that packets which they drop have no effect.
 */
#define BOLT_HOOK(_hook, _pf, _num, _priority) {			\
	.hook = _hook, .pf = _pf, .hooknum = _num, .priority = _priority }

static const struct nf_hook_ops bolt_hooks[] = {
	BOLT_HOOK(bolt_local_out, NFPROTO_IPV4, NF_INET_LOCAL_OUT, NF_IP_PRI_FIRST),
	BOLT_HOOK(bolt_local_in, NFPROTO_IPV4, NF_INET_LOCAL_IN, NF_IP_PRI_LAST),
#if IS_ENABLED(CONFIG_IPV6)
	BOLT_HOOK(bolt_local_out, NFPROTO_IPV6, NF_INET_LOCAL_OUT, NF_IP6_PRI_FIRST),
	BOLT_HOOK(bolt_local_in, NFPROTO_IPV6, NF_INET_LOCAL_IN, NF_IP6_PRI_LAST),
#endif
};

/*
 * net.bolt.hooks: with 0, packets of the namespace pass as if the module was not loaded.  Existing
 * connections then lose the option at once, as behind a middlebox, and fall back.
 */
int bolt_hooks_set(struct bolt_net *bn, int on)
{
	int err = 0;

	mutex_lock(&bn->hooks_lock);
	/* a pause needs the hooks, for any socket */
	if (!on && READ_ONCE(bn->sfc))
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

/* net.bolt.sfc, which needs net.bolt.hooks=1 */
int bolt_sfc_set(struct bolt_net *bn, int on)
{
	int err = 0;

	mutex_lock(&bn->hooks_lock);
	if (on)
		err = bn->hooks ? bolt_control_open(bn) : -EBUSY;
	if (!err)
		WRITE_ONCE(bn->sfc, on);
	mutex_unlock(&bn->hooks_lock);
	return err;
}
