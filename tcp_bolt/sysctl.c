// SPDX-License-Identifier: GPL-2.0
/* net.bolt.*: the settings of a namespace.  Documentation/tcp_bolt.rst has them all. */

#include <linux/slab.h>
#include <linux/sysctl.h>

#include "bolt.h"

static const int bolt_port_max = 65535;
static const u32 bolt_rtt_max = 1000 * 1000 * 1000;
static const u32 bolt_rate_max = 4000 * 1000;
static const u32 bolt_pct_min = 100, bolt_pct_max = 1000;
static const u32 bolt_burst_max = 64, bolt_one = 1, bolt_milli_max = 1000;
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

/* A switch that is thrown by @set, or stays */
static int bolt_sysctl_switch(const struct ctl_table *table, int write, void *buf, size_t *len,
			      loff_t *pos, struct bolt_net *bn,
			      int (*set)(struct bolt_net *bn, bool on))
{
	struct ctl_table tmp = *table;
	u8 on = READ_ONCE(*(u8 *)table->data);
	int ret;

	tmp.data = &on;
	ret = proc_dou8vec_minmax(&tmp, write, buf, len, pos);
	return ret || !write ? ret : set(bn, on);
}

/* A host that wants pauses has to hear them: the control port opens, or nothing changes. */
static int bolt_sysctl_sfc(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	struct bolt_net *bn = container_of((u8 *)table->data, struct bolt_net, sfc);

	return bolt_sysctl_switch(table, write, buf, len, pos, bn, bolt_sfc_set);
}

static int bolt_sysctl_hooks(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	struct bolt_net *bn = container_of((u8 *)table->data, struct bolt_net, hooks);

	return bolt_sysctl_switch(table, write, buf, len, pos, bn, bolt_hooks_set);
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

#define BOLT_SWIFT_RANGE(_name, _def, _min, _max)	{ _def, _min, _max },
static const struct bolt_swift_range {
	u32	def, min, max;
} bolt_swift_ranges[] = { BOLT_SWIFT_SET_LIST(BOLT_SWIFT_RANGE) };	/* order of the enum */

/* swift_lock held, or nobody else can be here yet */
static int bolt_swift_rebuild(struct bolt_net *bn, const u32 *set)
{
	const struct swift_settings s = {
		.base_ns	= set[BOLT_SWIFT_base_ns],
		.hop_ns		= set[BOLT_SWIFT_hop_ns],
		.fs_range_ns	= set[BOLT_SWIFT_fs_range_ns],
		.fs_min_milli	= set[BOLT_SWIFT_fs_min_cwnd_milli],
		.fs_max_milli	= set[BOLT_SWIFT_fs_max_cwnd_milli],
		.endpoint_ns	= set[BOLT_SWIFT_endpoint_ns],
		.ai_milli	= set[BOLT_SWIFT_ai_milli],
		.md_pct		= set[BOLT_SWIFT_beta_pct],
		.max_mdf_pct	= set[BOLT_SWIFT_max_mdf_pct],
		.min_milli	= set[BOLT_SWIFT_min_cwnd_milli],
	};
	struct bolt_swift_conf *new = kmalloc(sizeof(*new), GFP_KERNEL), *old;

	if (!new)
		return -ENOMEM;
	if (!swift_conf_set(&new->c, &s)) {
		kfree(new);
		return -EINVAL;
	}
	old = rcu_replace_pointer(bn->swift_conf, new, true);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

/* Flows have all of the new settings with their next ACK, or of the old ones. */
static int bolt_sysctl_swift(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	const struct bolt_swift_range *range = container_of(table->extra1,
							    struct bolt_swift_range, min);
	unsigned int which = range - bolt_swift_ranges;
	struct bolt_net *bn = container_of((u32 *)table->data, struct bolt_net, swift_set[which]);
	u32 set[BOLT_SWIFT_SET_MAX];
	struct ctl_table tmp = *table;
	int ret;

	mutex_lock(&bn->swift_lock);
	memcpy(set, bn->swift_set, sizeof(set));
	tmp.data = &set[which];
	ret = proc_douintvec_minmax(&tmp, write, buf, len, pos);
	if (!ret && write) {
		ret = bolt_swift_rebuild(bn, set);
		if (!ret)
			bn->swift_set[which] = set[which];
	}
	mutex_unlock(&bn->swift_lock);
	return ret;
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

#define BOLT_SYSCTL_SWIFT(_name, ...)					\
	{								\
		.procname	= "swift_" #_name,			\
		.data		= (void *)offsetof(struct bolt_net,	\
						   swift_set[BOLT_SWIFT_##_name]), \
		.maxlen		= sizeof(u32),				\
		.mode		= 0644,					\
		.proc_handler	= bolt_sysctl_swift,			\
		.extra1		= (void *)&bolt_swift_ranges[BOLT_SWIFT_##_name].min, \
		.extra2		= (void *)&bolt_swift_ranges[BOLT_SWIFT_##_name].max, \
	},

static const struct ctl_table bolt_table[] = {
	BOLT_SYSCTL(port, int, bolt_sysctl_port,
		    .extra1 = SYSCTL_ONE, .extra2 = (void *)&bolt_port_max),
	BOLT_SYSCTL(base_rtt_ns, u32, proc_douintvec_minmax, .extra2 = (void *)&bolt_rtt_max),
	BOLT_SYSCTL(rate_mbps, u32, bolt_sysctl_rate, .extra2 = (void *)&bolt_rate_max),
	BOLT_SYSCTL(max_bdp_pct, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_pct_min, .extra2 = (void *)&bolt_pct_max),
	BOLT_SYSCTL(burst_segs, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_one, .extra2 = (void *)&bolt_burst_max),
	BOLT_SYSCTL(min_cwnd_milli, u32, proc_douintvec_minmax,
		    .extra1 = (void *)&bolt_one, .extra2 = (void *)&bolt_milli_max),
	BOLT_SYSCTL(ai, u8, proc_dou8vec_minmax, .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	BOLT_SYSCTL(ai_spread, u8, proc_dou8vec_minmax,
		    .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	BOLT_SYSCTL(src_spare, u8, proc_dou8vec_minmax,
		    .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	BOLT_SYSCTL(brownfield, u8, proc_dou8vec_minmax,
		    .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	BOLT_SYSCTL(min_ttl, u8, proc_dou8vec_minmax),
	BOLT_SYSCTL(sfc, u8, bolt_sysctl_sfc, .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	BOLT_SYSCTL(hooks, u8, bolt_sysctl_hooks, .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
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
	BOLT_SWIFT_SET_LIST(BOLT_SYSCTL_SWIFT)
	BOLT_SYSCTL_SENTINEL
};

int bolt_sysctl_init(struct bolt_net *bn)
{
	size_t i;
	int err;

	bn->port = BOLT_CTL_PORT;
	bn->max_bdp_pct = 125;
	bn->burst_segs = 1;
	bn->min_cwnd_milli = 1;
	bn->ai = 1;
	bn->ai_spread = 1;
	bn->src_spare = 1;
	bn->brownfield = 1;
	bn->max_pause_us = 10 * 1000;
	bn->watchdog_pct = 95;
	bn->watchdog_interval_us = 200 * 1000;
	bn->watchdog_recovery_us = 200 * 1000;

	mutex_init(&bn->swift_lock);
	for (i = 0; i < BOLT_SWIFT_SET_MAX; i++)
		bn->swift_set[i] = bolt_swift_ranges[i].def;
	err = bolt_swift_rebuild(bn, bn->swift_set);
	if (err)
		return err;

	err = -ENOMEM;
	bn->table = kmemdup(bolt_table, sizeof(bolt_table), GFP_KERNEL);
	if (!bn->table)
		goto err_conf;
	for (i = 0; i < ARRAY_SIZE(bolt_table); i++)
		if (bn->table[i].procname)
			bn->table[i].data = (char *)bn + (size_t)bn->table[i].data;
	bn->sysctl = bolt_register_net_sysctl(bn->net, "net/bolt", bn->table,
					      ARRAY_SIZE(bolt_table));
	if (!bn->sysctl)
		goto err_table;
	return 0;

err_table:
	kfree(bn->table);
err_conf:
	kfree(rcu_dereference_protected(bn->swift_conf, true));
	return err;
}

void bolt_sysctl_exit(struct bolt_net *bn)
{
	unregister_net_sysctl_table(bn->sysctl);
	kfree(bn->table);
	kfree(rcu_dereference_protected(bn->swift_conf, true));
}
