/* SPDX-License-Identifier: GPL-2.0 */
/* What doctor asks of the ports with sfc. */
#ifndef _BOLTCTL_QDISC_H
#define _BOLTCTL_QDISC_H

#include <linux/pkt_sch_sfc.h>
#include <stdbool.h>
#include <stdint.h>

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
