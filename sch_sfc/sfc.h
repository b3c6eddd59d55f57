/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private areas of the qdisc and of a namespace.  What packets use is written under the qdisc's
 * lock, or when no packet can come any more; @cfg under RTNL as well, so that either suffices to
 * read it.  What says RTNL is under that alone.
 */
#ifndef _SFC_H
#define _SFC_H

#include <linux/if_ether.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/xarray.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include <bolt_option.h>
#include "cache.h"
#include "config.h"
#include "estimator.h"
#include "pfc.h"
#include "qos.h"
#include "share.h"
#include "srcc.h"

/* The shaper makes up for a late timer or a stopped queue, up to this delay. */
#define SFC_CATCHUP_NS		(200 * NSEC_PER_USEC)
/* Bytes that the high band may send, while data waits, before they take turns */
#define SFC_HIGH_BURST		16384

/*
 * What the queued packets wait for.  A backlog that waits for a CPU is lock contention, and counts
 * as none.  sfc_update_wait() examines arrivals beyond @uncongested_bytes, and super-packets.
 *
 *	BATCH --- dequeue ---> UNKNOWN			(before 6.19 there is no BATCH)
 *	BATCH, or UNKNOWN while another CPU runs the qdisc --- arrival ---> CPU
 *	any --- device's queue stopped, packet requeued, held by the shaper or PFC ---> LINK
 *	any --- dequeue from an empty queue ---> SFC_WAIT_NOTHING
 */
enum sfc_wait {
	SFC_WAIT_BATCH,			/* nothing was dequeued since the queue was empty */
	SFC_WAIT_UNKNOWN,
	SFC_WAIT_CPU,
	SFC_WAIT_LINK,
};

/* The state of an empty queue */
#define SFC_WAIT_NOTHING	(BOLT_QDISC_BATCHES ? SFC_WAIT_BATCH : SFC_WAIT_UNKNOWN)

struct sfc_pfc;
struct sfc_pkt;
struct sfc_port;

/* An sfc as one of several transmit queues of a port: port.c */
struct sfc_queue {
	struct sfc_port		*port;	/* shared port; NULL: this sfc is the whole port */
	/* bytes that its backlog may differ from @published_bytes, but for an eighth of that */
	u32			grain;
	u32			published_bytes;	/* backlog that the others see */
	struct sfc_share	share;		/* tokens; those in hand are of the band */
	u64			writes;		/* to what the queues share */
	struct sfc_port		*joined;	/* @port, also while it is alone there; RTNL */
};

#define SFC_ROUTE_BITS	6

/* Messages that skip reception: a cache of routes, and the queue of the tasklet */
struct sfc_forward {
	struct sfc_route {
		__be32			saddr;
		__be32			daddr;
		struct dst_entry	*dst;		/* NULL: use reception */
		unsigned long		refused;	/* when that was found, in jiffies */
	}			routes[1 << SFC_ROUTE_BITS];
	struct llist_head	outbox;		/* that wait for the tasklet, newest first */
	u32			waiting;	/* in @outbox, at the most */
	struct tasklet_struct	task;
};

/* Counters of a band: those of any class, and sfc's own */
struct sfc_band_stats {
	struct gnet_stats_basic_sync	bstats;
	struct gnet_stats_queue		qstats;
	struct tc_sfc_band		app;
};

struct sfc_sched {
	/* every packet */
	struct qdisc_skb_head	bands[SFC_BANDS];
	u32			uncongested_bytes;	/* see sfc_fastpath_check() */
	u32			elsewhere_bytes;	/* see sfc_backlog() */
	u32			memory_used;	/* truesize of what is in @bands */
	u32			high_ahead;	/* sent while data waited, less data */
	enum sfc_wait		wait;
	/* shared port, byte queue limits or shaper: sfc_refresh_backlog(), sfc_departure_ns() */
	bool			needs_refresh;
	bool			foreign;	/* sfc_iif(); written under RTNL */
	struct sfc_qos		qos;
	struct sfc_alg_cfg	alg;
	struct sfc_pause_cfg	pause;
	const u64		*until_ns;	/* from then on the cache is empty */
	u32			ecn;		/* CE beyond so many bytes */
	struct sfc_dre_cfg	dre;
	u64			next_ns;	/* shaper: the link is free then */
	u64			next_frac;
	bool			halted;		/* by a PAUSE: nothing has left since */
	struct sfc_config	cfg;

	/* signals */
	struct sfc_limiter	msg_limiter;	/* all control messages */
	u32			answered_bytes;	/* of messages about the present packet */
	struct sfc_forward	forward;
	siphash_key_t		flow_key;
	struct rnd_state	prng;		/* srcprob */
	struct sfc_cache	*cache;		/* of the namespace, or NULL */

	/* the switch's packet buffer */
	struct sfc_buffer	*sw_buffer;	/* of the namespace, or NULL: "buffer", "pfc" */
	struct sfc_pfc		*pfc;		/* of the device, or NULL */
	struct sfc_pfc_watch	pfc_watch[SFC_BANDS];
	struct sfc_srcc		*srcc;		/* NULL until it is configured */
	struct sfc_srcc_cfg	srcc_cfg;
	struct {
		u32		bytes;		/* that wait at this port */
		u32		published;	/* of @bytes: what the other ports see */
	}			buffer;

	/* rarely */
	struct qdisc_watchdog	watchdog;
	struct list_head	list;		/* on sfc_list; RTNL */
	struct hlist_node	by_dev;		/* sfc_switch_find_ports(); RTNL */
	bool			found;		/* by it; RTNL */
	bool			stale;		/* sfc_refresh() has to read the device; RTNL */
	bool			narrow;		/* what sfc_config_narrow() said last; RTNL */
	struct Qdisc		*sch;

	struct tcf_proto __rcu	*filters;
	struct tcf_block	*block;
	struct tc_sfc_xstats	stats;
	struct sfc_band_stats	band_stats[SFC_BANDS];
	struct sfc_queue	queue;
	struct sfc_ring		ring;
	struct sfc_suppress	*suppress;	/* NULL until "pause" is configured */
};

/* Bytes of the largest packet, with its link-layer header: dummy and its like take any MTU */
static inline u32 sfc_mtu(const struct net_device *dev)
{
	return min_t(u32, psched_mtu(dev), SFC_MTU_MAX);
}

/* Forget which flows were notified of what. */
static inline void sfc_forget_notified(struct sfc_sched *q)
{
	if (q->suppress)
		memset(q->suppress, 0, sizeof(*q->suppress));
	if (q->srcc)
		sfc_srcc_forget_notified(q->srcc);
}

static inline bool sfc_has_bands(const struct sfc_sched *q)
{
	return unlikely(q->qos.n > 1);
}

/*
 * By which device of the port's namespace a packet came in, or 0.  What a VLAN, macvlan or ipvlan
 * of another namespace sends through the port has the index of a device there, which whoever owns
 * that namespace chooses.  The port cannot tell such packets from others, so it knows of none.
 */
static inline int sfc_iif(const struct sfc_sched *q, const struct sk_buff *skb)
{
	return unlikely(READ_ONCE(q->foreign)) ? 0 : skb->skb_iif;
}

#define SFC_PFC_MAX	255	/* devices with pfc in a namespace: sfc_skb_cb.ingress */

/* What the ports of a namespace have in common for "buffer" and "pfc": buffer.c */
struct sfc_buffer {
	u32			grain;		/* bytes that the account of each may be off */
	/* bytes, of all: the sum of what they published */
	atomic_t		used ____cacheline_aligned_in_smp;
	u32			peak;		/* most of @used */
	atomic64_t		unknown;	/* PAUSE frames to a device without "pfc" */
	struct xarray		devices;	/* with "pfc", by ifindex */
	struct sfc_pfc		*pfc[SFC_PFC_MAX + 1];	/* by slot, from 1; also those gone */
};

/* A namespace */
struct sfc_switch {
	u64			until_ns;	/* no pause in @cache lasts longer */
	struct sfc_cache	*cache;	/* NULL until a port wants it or the estimator */
	struct xarray		edges;	/* how many sfc of a device are marked "edge", by ifindex */
	struct list_head	holds;	/* every sfc_hold; written under RTNL as well */
	spinlock_t		holds_lock;
	bool			holds_differ;	/* may one refuse a BTS that another does not? */
	siphash_key_t		hold_key;	/* of the hashes of their flows */
	struct sfc_buffer	buffer;
	/* clock of messages to other switches: random name, new whenever the switch starts, */
	u32			clock;
	u64			ahead_ns;	/* and its secret offset: hides when that was */
};

/* switch.c */
extern unsigned int sfc_net_id;

struct sfc_switch *sfc_switch_of(const struct net *net);
void *sfc_switch_find(struct xarray *xa, struct net *net, int ifindex);
void sfc_switch_count_edge(struct Qdisc *sch, int change);
void sfc_switch_add_port(struct Qdisc *sch);
int sfc_switch_find_ports(struct net_device *dev, struct netdev_nested_priv *priv);
bool sfc_switch_has_foreign(struct net_device *dev);
void sfc_switch_update_foreign(struct net_device *dev);

/* Of a port */
static inline struct sfc_switch *sfc_switch_of_port(const struct Qdisc *sch)
{
	return sfc_switch_of(dev_net(qdisc_dev(sch)));
}

/* cache.c */
struct sfc_cache *sfc_cache_alloc(void);
u32 sfc_cache_find(struct sfc_cache *cache, const struct sfc_key *key, u64 now);
bool sfc_cache_arrival(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		       u64 now);
unsigned int sfc_cache_count(const struct sfc_cache *cache, u64 now);
u32 sfc_estimate(struct Qdisc *sch, struct sfc_key key, u32 bytes, u64 now);

/* hold.c */
extern struct Qdisc_ops sfc_hold_qdisc_ops;
void sfc_hold_leave(struct net_device *dev);

/* hear.c */
bool sfc_hold_receive(struct net *net, u16 port, struct sk_buff *skb, const u8 *p,
		      unsigned int len);

/* qos.c */
extern const struct Qdisc_class_ops sfc_class_ops;
int sfc_filter(struct sk_buff *skb, struct Qdisc *sch);
unsigned int sfc_band_of(const struct sfc_sched *q, const struct sfc_pkt *pkt, u8 band);
void sfc_qos_update(struct Qdisc *sch, const struct sfc_config *cfg, u32 mtu);

/* enqueue.c, queue.c */
int sfc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
struct sk_buff *sfc_dequeue(struct Qdisc *sch);

/* netlink.c */
int sfc_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
int sfc_dump(struct Qdisc *sch, struct sk_buff *skb);
int sfc_dump_stats(struct Qdisc *sch, struct gnet_dump *d);

#endif /* _SFC_H */
