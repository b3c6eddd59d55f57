// SPDX-License-Identifier: GPL-2.0
/* net.bolt.*: the settings of a namespace.  Documentation/tcp_bolt.rst has them all. */

#include <linux/slab.h>
#include <linux/sysctl.h>

#include "bolt.h"

static const int bolt_port_max = 65535;
static const u32 bolt_rtt_max = 1000 * 1000 * 1000;
static const u32 bolt_rate_max = 4000 * 1000;
static const u32 bolt_pct_min = 100, bolt_pct_max = 1000;
static const u32 bolt_burst_max = 64, bolt_one = 1;
static const u32 bolt_pause_max = BOLT_PAUSE_ABSURD_NS / 1000, bolt_share_max = 100;
static const u32 bolt_watchdog_min = 1000, bolt_watchdog_max = 60 * 1000 * 1000;

/* The port of a namespace whose control sockets are open moves at once, or stays. */
static int bolt_sysctl_port(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	struct bolt_net *bn = container_of((int *)table->data, struct bolt_net, port);
	struct ctl_table tmp = *table;
	int port = READ_ONCE(bn->port), ret;

	tmp.data = &port;
	ret = proc_dointvec_minmax(&tmp, write, buf, len, pos);
	if (!ret && write)
		ret = bolt_control_rebind(bn, port);
	return ret;
}

/* Flows that run look at the rate again. */
static int bolt_sysctl_rate(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	struct bolt_net *bn = container_of((u32 *)table->data, struct bolt_net, rate_mbps);
	int ret = proc_douintvec_minmax(table, write, buf, len, pos);

	if (!ret && write)
		WRITE_ONCE(bn->rate_gen, bn->rate_gen + 1);
	return ret;
}

/* A host that wants pauses has to hear them: the control port opens, or nothing changes. */
static int bolt_sysctl_sfc(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	struct bolt_net *bn = container_of((u8 *)table->data, struct bolt_net, sfc);
	struct ctl_table tmp = *table;
	u8 sfc = READ_ONCE(bn->sfc);
	int ret;

	tmp.data = &sfc;
	ret = proc_dou8vec_minmax(&tmp, write, buf, len, pos);
	if (ret || !write)
		return ret;
	ret = sfc ? bolt_control_need(bn) : 0;
	if (!ret)
		WRITE_ONCE(bn->sfc, sfc);
	return ret;
}

/* 32 hexadecimal digits; "off" for none.  Never shown. */
static int bolt_sysctl_key(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	struct bolt_net *bn = container_of((siphash_key_t *)table->data, struct bolt_net, tag_key);
	char text[36] = "";
	struct ctl_table tmp = { .data = text, .maxlen = sizeof(text), .mode = table->mode };
	u8 raw[16];
	int ret;

	if (!write) {
		strscpy(text, READ_ONCE(bn->tagged) ? "set" : "off", sizeof(text));
		return proc_dostring(&tmp, write, buf, len, pos);
	}
	ret = proc_dostring(&tmp, write, buf, len, pos);
	if (ret)
		return ret;
	if (!strcmp(text, "off")) {
		WRITE_ONCE(bn->tagged, 0);
		return 0;
	}
	if (strlen(text) != 32 || hex2bin(raw, text, sizeof(raw)))
		return -EINVAL;
	/* A message that meets half a key is refused and counted, as any with a wrong one */
	bn->tag_key.key[0] = get_unaligned_le64(raw);
	bn->tag_key.key[1] = get_unaligned_le64(raw + 8);
	/* pairs with the acquire in bolt_tag_ok() */
	smp_store_release(&bn->tagged, 1);
	return 0;
}

#define BOLT_SYSCTL(_name, _type, _handler, ...)			\
	{								\
		.procname	= #_name,				\
		.data		= (void *)offsetof(struct bolt_net, _name), \
		.maxlen		= sizeof(_type),			\
		.mode		= 0644,					\
		.proc_handler	= _handler,				\
		__VA_ARGS__						\
	}

static const struct ctl_table bolt_table[] = {
	BOLT_SYSCTL(port, int, bolt_sysctl_port,
		    .extra1 = SYSCTL_ONE, .extra2 = (void *)&bolt_port_max),
	BOLT_SYSCTL(base_rtt_ns, u32, proc_douintvec_minmax, .extra2 = (void *)&bolt_rtt_max),
	BOLT_SYSCTL(rate_mbps, u32, bolt_sysctl_rate, .extra2 = (void *)&bolt_rate_max),
	BOLT_SYSCTL(max_bdp_pct, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_pct_min, .extra2 = (void *)&bolt_pct_max),
	BOLT_SYSCTL(burst_segs, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_one, .extra2 = (void *)&bolt_burst_max),
	BOLT_SYSCTL(ai, u8, proc_dou8vec_minmax, .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	BOLT_SYSCTL(ai_spread, u8, proc_dou8vec_minmax,
		    .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	BOLT_SYSCTL(min_ttl, u8, proc_dou8vec_minmax),
	BOLT_SYSCTL(sfc, u8, bolt_sysctl_sfc, .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	BOLT_SYSCTL(max_pause_us, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_one, .extra2 = (void *)&bolt_pause_max),
	BOLT_SYSCTL(watchdog_pct, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_one, .extra2 = (void *)&bolt_share_max),
	BOLT_SYSCTL(watchdog_interval_us, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_watchdog_min, .extra2 = (void *)&bolt_watchdog_max),
	BOLT_SYSCTL(watchdog_recovery_us, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_watchdog_min, .extra2 = (void *)&bolt_watchdog_max),
	{
		.procname	= "tag_key",
		.data		= (void *)offsetof(struct bolt_net, tag_key),
		.maxlen		= 36,
		.mode		= 0600,
		.proc_handler	= bolt_sysctl_key,
	},
	BOLT_SYSCTL_SENTINEL
};

int bolt_sysctl_init(struct bolt_net *bn)
{
	size_t i;

	bn->port = BOLT_CTL_PORT;
	bn->max_bdp_pct = 125;
	bn->burst_segs = 1;
	bn->ai = 1;
	bn->ai_spread = 1;
	bn->max_pause_us = 10 * 1000;
	bn->watchdog_pct = 95;
	bn->watchdog_interval_us = 200 * 1000;
	bn->watchdog_recovery_us = 200 * 1000;

	bn->table = kmemdup(bolt_table, sizeof(bolt_table), GFP_KERNEL);
	if (!bn->table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(bolt_table); i++)
		if (bn->table[i].procname)
			bn->table[i].data = (char *)bn + (size_t)bn->table[i].data;
	bn->sysctl = bolt_register_net_sysctl(bn->net, "net/bolt", bn->table,
					      ARRAY_SIZE(bolt_table));
	if (!bn->sysctl) {
		kfree(bn->table);
		return -ENOMEM;
	}
	return 0;
}

void bolt_sysctl_exit(struct bolt_net *bn)
{
	unregister_net_sysctl_table(bn->sysctl);
	kfree(bn->table);
}
