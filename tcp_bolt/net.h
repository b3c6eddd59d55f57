/* SPDX-License-Identifier: GPL-2.0 */
/* The per-namespace object. */
#ifndef _TCP_BOLT_NET_H
#define _TCP_BOLT_NET_H

#include <linux/netfilter.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include <bolt_keys.h>
#include "mib.h"
#include "swift.h"

/* net.bolt.level_dscp: the DSCP of data before which its message sent at least so many bytes */
#define BOLT_LEVEL_DSCPS	8

struct bolt_level_dscp {
	struct rcu_head	rcu;
	unsigned int	n;
	struct {
		u32	from;		/* rising */
		u8	dscp;
	} row[BOLT_LEVEL_DSCPS];
};

/* A network namespace */
struct bolt_net {
	struct net		*net;
	struct bolt_mib __percpu *mib;
	struct xarray		rates;		/* ifindex -> Mbit/s from ethtool */
	struct work_struct	rate_work;	/* reads them from the devices */
	atomic_t		rate_gen;	/* changes with rates and settings */

	struct work_struct	open_work;	/* opens the control sockets */
	bool			ctl_open;	/* the control port is open */
	struct mutex		ctl_lock;	/* protects ctl_open and port */

	struct mutex		hooks_lock;	/* protects hooks, and sfc, which needs them */

	spinlock_t		flow_lock;	/* protects bolt_flow.users and the next three */
	struct list_head	held;		/* objects with BOLT_FLOW_HELD */
	u32			bts_count;	/* of them with BOLT_FLOW_BTS: bolt_pause_any() */
	u32			flows;		/* number of objects with BOLT_FLOW_CC */

	/* net.bolt.* and net.bolt.debug.*, see sysctl.c: all are ints there */
	int			port;
	u32			base_rtt_ns;
	u32			rate_mbps;
	int			overhead;	/* bytes per packet; -1: derived from the device */
	u32			max_bdp_pct;
	u32			burst_segs;
	u32			min_cwnd_milli;
	u32			short_bdp;
	u32			max_pause_us;
	u32			watchdog_pct;
	u32			watchdog_interval_us;
	u32			watchdog_recovery_us;
	u32			sfc;
	u32			hooks;		/* the hooks are registered */
	u32			ai;
	u32			idle_restart;
	u32			paper;
	u32			brownfield;
	u32			min_ttl;
	struct bolt_keys __rcu	*tag_key;	/* NULL: messages need no tag */
	struct bolt_level_dscp __rcu *level_dscp;	/* NULL: the socket's DSCP */
	const struct tcp_congestion_ops __rcu *fallback;
	struct swift_conf	swift;
	struct ctl_table_header	*sysctl, *debug;
};

extern unsigned int bolt_net_id;

struct bolt_net *bolt_net(const struct net *net);
int bolt_hooks_set(struct bolt_net *bn, int on);
int bolt_sfc_set(struct bolt_net *bn, int on);

#define BOLT_INC_STATS(bn, item)	this_cpu_inc((bn)->mib->v[BOLT_MIB_##item])
#define BOLT_ADD_STATS(bn, item, n)	this_cpu_add((bn)->mib->v[BOLT_MIB_##item], n)

#endif /* _TCP_BOLT_NET_H */
