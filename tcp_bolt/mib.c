// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a namespace, in /proc/net/bolt_stat.  Only the administrator may read them: which
 * counter a control message increments depends on the connection that it quotes.  A user who could
 * read them could send messages to this host and find the sequence numbers of other users.
 */

#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "bolt.h"

unsigned int bolt_net_id __read_mostly;

#define BOLT_MIB_NAME(name)	#name,
const char * const bolt_mib_names[] = { BOLT_MIB_LIST(BOLT_MIB_NAME) };

static int bolt_mib_show(struct seq_file *seq, void *v)
{
	struct bolt_net *bn = bolt_net(seq_file_single_net(seq));
	int i, cpu;
	u64 sum;

	/* a mode would not do: in a new user namespace uid 0 may not be mapped yet on creation */
	if (!file_ns_capable(seq->file, bn->net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	for (i = 0; i < BOLT_MIB_MAX; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(bn->mib, cpu)->v[i]);
		seq_printf(seq, "%s %llu\n", bolt_mib_names[i], sum);
	}
	/* current numbers of objects, including those about to be freed */
	seq_printf(seq, "FlowsNow %d\nPausesNow %d\n", READ_ONCE(bn->flows),
		   READ_ONCE(bn->bts_count));
	return 0;
}

int bolt_mib_init(struct bolt_net *bn)
{
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
