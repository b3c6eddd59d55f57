/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file with tests of the kernel version, force-included by Kbuild, which says what the
 * kernel has (BOLT_HAS_...).  The code is written for the newest supported kernel (7.3); what an
 * older one lacks is defined here.
 */
#ifndef _BOLT_COMPAT_H
#define _BOLT_COMPAT_H

#include <linux/version.h>
#include <linux/types.h>

/* The oldest and newest series that are built and tested, as in dkms.conf */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || \
	LINUX_VERSION_CODE >> 8 > KERNEL_VERSION(7, 3, 0) >> 8
#error "this kernel is not supported: Linux 6.1 to 7.3 are"
#endif

/* Without these a module does not link, or cannot be loaded */
#if !defined(CONFIG_NETFILTER) || !IS_ENABLED(CONFIG_NET_UDP_TUNNEL) || \
	!defined(CONFIG_PROC_FS) || !defined(CONFIG_SYSCTL)
#error "the kernel needs CONFIG_NETFILTER, CONFIG_NET_UDP_TUNNEL, CONFIG_PROC_FS and CONFIG_SYSCTL"
#endif

/* 6.12 moved get_unaligned_*() and hex2bin() */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#include <linux/hex.h>
#else
#include <asm/unaligned.h>
#endif

/* 6.5 moved skb_gso_segment() */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#else
#include <linux/netdevice.h>
#endif

/* 6.10 added the acknowledged sequence and the ACK's flags to cong_control() */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define BOLT_CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#else
#define BOLT_CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, const struct rate_sample *rs)
#endif

/* Since 6.13 TCP calls a congestion control's release() only if it has called init() */
#define BOLT_RELEASE_NEEDS_INIT	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0))

/* 6.11 made the tables of sysctl handlers const */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define BOLT_CTL_TABLE const struct ctl_table
#else
#define BOLT_CTL_TABLE struct ctl_table
#endif

/* 6.6 sizes sysctl tables at registration and needs no empty last entry */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define bolt_register_net_sysctl(net, path, table, size) \
	register_net_sysctl_sz(net, path, table, size)
#else
#define bolt_register_net_sysctl(net, path, table, size) \
	register_net_sysctl(net, path, table)
#endif

/* Since 6.7 a route may select TSval in us */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define bolt_tcp_usec_ts(tp) ((tp)->tcp_usec_ts)
#else
#define bolt_tcp_usec_ts(tp) false
#endif

/*
 * Where the receive window ends.  Since 7.1 TCP accepts what is within the largest window that was
 * offered; before, what is within the present one.  That shrinks while rcv_nxt advances, so read
 * rcv_nxt last.
 */
#if BOLT_HAS_rcv_mwnd_seq
#define bolt_rcv_end(tp)	READ_ONCE((tp)->rcv_mwnd_seq)
#else
#define bolt_rcv_end(tp)	({ u32 _wnd = READ_ONCE((tp)->rcv_wnd); \
				   smp_rmb(); /* rcv_nxt last */ \
				   _wnd + READ_ONCE((tp)->rcv_nxt); })
#endif

/* 6.13 replaced hrtimer_init() by hrtimer_setup() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define hrtimer_setup(timer, fn, clock, mode)		\
	do {						\
		hrtimer_init(timer, clock, mode);	\
		(timer)->function = (fn);		\
	} while (0)
#endif

/* 6.6 moved a device's ingress filters to tcx, with BPF programs */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0) && IS_ENABLED(CONFIG_NET_XGRESS)
#define bolt_dev_ingress(dev) (!!rcu_access_pointer((dev)->tcx_ingress))
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0) && IS_ENABLED(CONFIG_NET_CLS_ACT)
#define bolt_dev_ingress(dev) (!!rcu_access_pointer((dev)->miniq_ingress))
#else
#define bolt_dev_ingress(dev) ((void)(dev), false)
#endif

/* 6.10 made the drop counter of per-CPU input queues atomic, 6.18 gave it a part for each node */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define bolt_softnet_dropped(sd) ((u32)numa_drop_read(&(sd)->drop_counters))
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define bolt_softnet_dropped(sd) ((u32)atomic_read(&(sd)->dropped))
#else
#define bolt_softnet_dropped(sd) ((sd)->dropped)
#endif

/*
 * 6.15 added a lock per device, held during the operations of drivers that request it, and during
 * events.  Reading the speed of a bond or a VLAN locks the lower devices: not during events.
 */
#if BOLT_HAS_netdev_lock_ops
#include <net/netdev_lock.h>
#else
#define netdev_lock_ops(dev)	((void)(dev))
#define netdev_unlock_ops(dev)	((void)(dev))
#endif

/* Since 7.2 __ethtool_get_link_ksettings() takes this lock, and this is for those who hold it */
#if !BOLT_HAS_netif_get_link_ksettings
#define netif_get_link_ksettings	__ethtool_get_link_ksettings
#endif

/* 6.18 removed the table of sockets from the arguments: it is the namespace's */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define bolt_lookup(how, net, ...)	how(net, __VA_ARGS__)
#else
#define bolt_lookup(how, net, ...)	how(net, (net)->ipv4.tcp_death_row.hashinfo, __VA_ARGS__)
#endif

/*
 * Since 6.19, packets that other CPUs send while one CPU holds a qdisc's lock are collected, and
 * that CPU enqueues them all before it dequeues any.
 */
#define BOLT_QDISC_BATCHES		BOLT_HAS_defer_list

/*
 * 6.19 and some older kernels have each packet's number of segments in skb->cb, and that has moved
 * the reason of a drop to where skb_gso_segment() writes.
 */
#if BOLT_HAS_pkt_segs
#define bolt_set_one_segment(skb)	(qdisc_skb_cb(skb)->pkt_segs = 1)
#define bolt_drop_reason(skb)		(tc_skb_cb(skb)->drop_reason)
#define bolt_set_drop_reason(skb, r)	(tc_skb_cb(skb)->drop_reason = (r))
#else
#define bolt_set_one_segment(skb)	((void)(skb))
#define bolt_drop_reason(skb)		0
#define bolt_set_drop_reason(skb, r)	((void)(skb), (void)(r))
#endif

/* 7.1 gave the drops of a qdisc reasons of their own */
#if BOLT_HAS_QDISC_DROP_OVERLIMIT
#define bolt_drop_overlimit(skb, sch, to_free)	\
	qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_OVERLIMIT)
#else
#define bolt_drop_overlimit(skb, sch, to_free)	qdisc_drop(skb, sch, to_free)
#endif

/* Tunnels take a struct sock; up to some version after 6.12 they took a struct socket */
#define bolt_tunnel_sock(s)							\
	__builtin_choose_expr(							\
		__builtin_types_compatible_p(typeof(udp_tunnel_sock_release),	\
					     void (struct sock *)),		\
		(s)->sk, s)

#endif /* _BOLT_COMPAT_H */
