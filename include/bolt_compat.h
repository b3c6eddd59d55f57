/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one place that knows about kernel versions.  Force-included by Kbuild; the
 * code reads as if written for the newest supported kernel (6.12), and what an
 * older one lacks is supplied here.
 */
#ifndef _BOLT_COMPAT_H
#define _BOLT_COMPAT_H

#include <linux/version.h>
#include <linux/types.h>

/* dkms.conf says so as well */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#error "this kernel is not supported: Linux 6.1 to 6.12 are"
#endif

/* 6.12 moved get_unaligned_*() */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* 6.5 moved skb_gso_segment() */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#else
#include <linux/netdevice.h>
#endif

/* 6.10 gave cong_control() the acknowledged sequence and the flags of the ACK */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define BOLT_CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#else
#define BOLT_CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, const struct rate_sample *rs)
#endif

/* 6.11 made the tables of sysctl handlers const */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define BOLT_CTL_TABLE const struct ctl_table
#else
#define BOLT_CTL_TABLE struct ctl_table
#endif

/* 6.6 sizes sysctl tables at registration and needs no empty last entry */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define BOLT_SYSCTL_SENTINEL
#define bolt_register_net_sysctl(net, path, table, size) \
	register_net_sysctl_sz(net, path, table, size)
#else
#define BOLT_SYSCTL_SENTINEL	{ }
#define bolt_register_net_sysctl(net, path, table, size) \
	register_net_sysctl(net, path, table)
#endif

/* 6.7 counts TSval in us where the route says so */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define bolt_tcp_usec_ts(tp) ((tp)->tcp_usec_ts)
#else
#define bolt_tcp_usec_ts(tp) false
#endif

/* 6.7 has TCP-AO (RFC 5925) */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0) && IS_ENABLED(CONFIG_TCP_AO)
#define BOLT_TCP_AO 1
#else
#define BOLT_TCP_AO 0
#endif

/* Kernels before 6.13 have hrtimer_init() only; after, hrtimer_setup() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define hrtimer_setup(timer, fn, clock, mode)		\
	do {						\
		hrtimer_init(timer, clock, mode);	\
		(timer)->function = (fn);		\
	} while (0)
#endif

/* 6.6 put BPF programs beside the filters of what comes in through a device */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0) && IS_ENABLED(CONFIG_NET_XGRESS)
#define bolt_dev_ingress(dev) (!!rcu_access_pointer((dev)->tcx_ingress))
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0) && IS_ENABLED(CONFIG_NET_CLS_ACT)
#define bolt_dev_ingress(dev) (!!rcu_access_pointer((dev)->miniq_ingress))
#else
#define bolt_dev_ingress(dev) ((void)(dev), false)
#endif

/* 6.10 made the drop counter of per-CPU input queues atomic */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define bolt_softnet_dropped(sd) ((u32)atomic_read(&(sd)->dropped))
#else
#define bolt_softnet_dropped(sd) ((sd)->dropped)
#endif

/* 6.7 keeps the attributes of a dump's request with the rest of it */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define bolt_dump_attrs(cb) (genl_info_dump(cb)->attrs)
#else
#define bolt_dump_attrs(cb) (genl_dumpit_info(cb)->attrs)
#endif

/* 6.9 tells a family that somebody joins a group; before, take it that somebody has */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define BOLT_GENL_BIND(fn) .bind = (fn)
#define BOLT_GENL_JOINED false
#else
#define BOLT_GENL_BIND(fn) .resv_start_op = 0
#define BOLT_GENL_JOINED true
#endif

#endif /* _BOLT_COMPAT_H */
