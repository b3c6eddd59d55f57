/* SPDX-License-Identifier: GPL-2.0 */
/* The qdisc sfc, as netlink has it; and what doctor asks of it. */
#ifndef _SUBRTT_QDISC_H
#define _SUBRTT_QDISC_H

#include <linux/gen_stats.h>
#include <linux/pkt_sch_sfc.h>
#include <stdbool.h>
#include <stdint.h>

struct nlattr;
struct nlmsghdr;

/* What any qdisc and class has; @len: of TCA_STATS_APP */
struct counts {
	uint64_t bytes, packets;
	struct gnet_stats_queue queue;
	unsigned int len;
};

struct band {
	unsigned int number;	/* from 1 */
	struct counts any;
	struct tc_sfc_band st;
};

struct port {
	int ifindex;
	uint32_t handle, parent;
	struct nlattr *tb[TCA_SFC_MAX + 1];
	struct counts any;
	struct tc_sfc_xstats st;
	struct band band[TC_SFC_BANDS_MAX];	/* where there are several */
	unsigned int n_bands;
	struct nlmsghdr *msg;	/* what tb points into */
};

void qdisc_options(const struct port *p);
void qdisc_counters(const struct port *p, bool all);

struct qdisc_port {
	char dev[16];
	char where[32];		/* as tc wants it: "root", "parent 1:2" */
	uint32_t addr4;		/* of its messages, 0: any */
	uint32_t flags;
	uint16_t udp_port;
	uint8_t pfc;		/* priorities */
	bool srcc;
	uint8_t bands;
	uint64_t rate, link;	/* 0: not given */
	int ifindex;
	uint32_t handle;		/* 0: the kernel made it */
	char parent[16];		/* "1:2"; "" at the root */
	const struct counts *any;
	const struct tc_sfc_xstats *st;
	const struct band *band;	/* where there are several */
	unsigned int n_bands;
};

/* Those that the module has; @state: it is one, and no counter */
void qdisc_each_counter(const struct qdisc_port *port,
			void (*fn)(const char *name, bool state, int64_t v, void *arg), void *arg);

/* Reads them anew each time */
int qdisc_each(void (*fn)(const struct qdisc_port *port, void *arg), void *arg);

struct qdisc_hold {
	char dev[16];
	char where[32];		/* as of struct qdisc_port */
	bool believes;		/* some BTS */
	uint32_t handle;
	char parent[16];	/* as of struct qdisc_port */
	struct counts any;
	struct tc_sfc_hold_xstats st;
};

/* Behind qdisc_each(), which has read them */
bool qdisc_hold(struct qdisc_hold *h);
void qdisc_each_hold(void (*fn)(const struct qdisc_hold *h, void *arg), void *arg);

#endif /* _SUBRTT_QDISC_H */
