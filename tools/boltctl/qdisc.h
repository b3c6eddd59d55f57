/* SPDX-License-Identifier: GPL-2.0 */
/* The qdisc sfc, as netlink has it; and what doctor asks of it. */
#ifndef _BOLTCTL_QDISC_H
#define _BOLTCTL_QDISC_H

#include <linux/gen_stats.h>
#include <linux/pkt_sch_sfc.h>
#include <stdbool.h>
#include <stdint.h>

struct nlattr;
struct nlmsghdr;

struct port {
	int ifindex;
	uint32_t handle, parent;
	struct nlattr *tb[TCA_SFC_MAX + 1];
	struct tc_sfc_xstats st;
	unsigned int st_len;
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct nlmsghdr *msg;	/* what tb points into */
};

void qdisc_options(const struct port *p);
void qdisc_counters(const struct port *p, bool all);

struct qdisc_port {
	char dev[16];
	bool root, addr4;
	uint32_t flags;
	uint16_t udp_port;
	uint64_t rate;
	const struct tc_sfc_xstats *st;
};

int qdisc_each(void (*fn)(const struct qdisc_port *port));

#endif /* _BOLTCTL_QDISC_H */
