// SPDX-License-Identifier: GPL-2.0
/* Counters of a namespace, read as /proc/net/bolt_stat. */

#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "bolt.h"

#define BOLT_MIB_NAME(name)	#name,
static const char * const bolt_mib_names[] = { BOLT_MIB_LIST(BOLT_MIB_NAME) };

const char *bolt_mib_name(enum bolt_mib_item item)
{
	return bolt_mib_names[item];
}

u64 bolt_mib_sum(const struct bolt_net *bn, enum bolt_mib_item item)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(bn->mib, cpu)->v[item]);
	return sum;
}

static int bolt_mib_show(struct seq_file *seq, void *v)
{
	struct bolt_net *bn = bolt_net(seq_file_single_net(seq));
	int i;

	for (i = 0; i < BOLT_MIB_MAX; i++)
		seq_printf(seq, "%s %llu\n", bolt_mib_name(i), bolt_mib_sum(bn, i));
	return 0;
}

int bolt_mib_init(struct bolt_net *bn)
{
	BUILD_BUG_ON(ARRAY_SIZE(bolt_mib_names) != BOLT_MIB_MAX);

	bn->mib = alloc_percpu(struct bolt_mib);
	if (!bn->mib)
		return -ENOMEM;
	if (!proc_create_net_single("bolt_stat", 0444, bn->net->proc_net, bolt_mib_show, NULL)) {
		free_percpu(bn->mib);
		return -ENOMEM;
	}
	return 0;
}

void bolt_mib_exit(struct bolt_net *bn)
{
	remove_proc_entry("bolt_stat", bn->net->proc_net);
	free_percpu(bn->mib);
}
