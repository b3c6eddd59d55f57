/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of sch_sfc share: the private area of the qdisc and who does what.
 *
 * A packet's way:	main.c	enqueue: split super-packets, one decision per packet
 *			parse.h, parse.c  what is this packet; write its flags back
 *			decide.h, tokens.h  Algorithms 1 and 3, pure
 *			pause.c	SFC: tell the sender to pause; pause.h, bloom.h pure
 *			cache.c	... what other switches said about it; cache.h pure
 *			estimate.c	... what this switch itself sends there; estimator.h pure
 *			hold.c	SFC at the sender: what has to wait; hold.h pure
 *			ecn.c	CE
 *			signal.c	build the control message, hand it to the stack
 *			way.c	... or to the neighbour
 *			queue.c	all accounting
 *			main.c	dequeue: strict high band, shaper
 * Of several at one link:	port.c, port.h	what they know of each other; share.h pure
 * With bands:		qos.c	which band is this packet's
 *			qos.h	whose turn it is; Algorithm 4, pure
 * Configuration:	netlink.c
 *
 * Locking: everything below is written under the qdisc's lock; @cfg and @list under
 * RTNL as well, so that either suffices to read them.
 */
#ifndef _SFC_H
#define _SFC_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/prandom.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include <bolt_option.h>
#include <uapi/linux/pkt_sch_sfc.h>
#include "bloom.h"
#include "cache.h"
#include "decide.h"
#include "estimator.h"
#include "pause.h"
#include "qos.h"
#include "share.h"

#define SFC_LIMIT_DEFAULT	(16U << 20)	/* bytes */
#define SFC_SRCRATE_DEFAULT	100000000U	/* per second: a bound, not a brake */
#define SFC_TTL_DEFAULT		64
/* About a round trip in a data center; what is saved beyond it is spent an RTT late anyway */
#define SFC_SMCAP_NS		(8 * NSEC_PER_USEC)
/*
 * Without SFC: a BTS goes to any sender, also to one that has never heard of it, and whose
 * host then complains (ICMP port unreachable) to the data's destination.
 */
#define SFC_FLAGS_DEFAULT	(TC_SFC_F_BOLT | TC_SFC_F_SRC | TC_SFC_F_PRU | TC_SFC_F_SM | \
				 TC_SFC_F_SPLIT_GSO)
/* Shaping makes up for a timer or a stopped queue that comes so late, and no more. */
#define SFC_CATCHUP_NS		(200 * NSEC_PER_USEC)

/* In order of service */
enum sfc_band_id {
	SFC_BAND_HIGH,		/* ACKs and control messages */
	SFC_BAND_DATA,		/* the first of TC_SFC_BANDS_MAX, which share by weight */
	SFC_BANDS = SFC_BAND_DATA + TC_SFC_BANDS_MAX
};

/* As configured; what follows from it and from the device is struct sfc_alg_cfg */
struct sfc_config {
	u64			rate_bps;	/* bytes/s; 0: the device is the link */
	u64			link_bps;	/* bytes/s, if not shaped; 0: ask the device */
	u64			server_bps;	/* bytes/s of a server's link; 0: as this one */
	u32			flags;		/* TC_SFC_F_* */
	u32			limit;		/* bytes */
	u32			ccthresh;	/* bytes; 0: two MTU */
	u32			overhead;	/* bytes per packet */
	u32			smcap;		/* bytes; 0: SFC_SMCAP_NS of the link */
	u32			switch_id;
	u32			srcrate;	/* per second */
	u32			rtt_ns;
	u32			qth;		/* bytes; 0: two BDP */
	u32			qtg;		/* bytes; 0: one BDP */
	u32			suppress_ns;	/* 0: half of the RTT; or TC_SFC_SUPPRESS_OFF */
	u32			maxpause_ns;
	u32			ecn;		/* bytes; 0: off */
	u32			tau_ns;		/* estimator; 0: off */
	u8			bts;		/* enum tc_sfc_bts */
	u8			bands;		/* of data */
	u8			defband;	/* from 1 */
	u8			weights[TC_SFC_BANDS_MAX];
	u8			srcprob[TC_SFC_BANDS_MAX];	/* per cent */
	u8			dscp[TC_SFC_DSCPS];	/* band of each, from 1; 0: defband */
	u8			holdshare;	/* per cent */
	u8			minttl;
	u16			port;
	u8			ttl;
	bool			tagged;
	__be32			addr4;		/* 0: the data's destination */
	struct in6_addr		addr6;		/* likewise */
	siphash_key_t		key;
};

struct sfc_way;
struct sfc_port;

/**
 * struct sfc_queue - an sfc as one of several transmit queues of a port: port.c
 * @port:	of which it is one; NULL: it is the port itself
 * @grain:	bytes that its backlog may differ from @told, but for an eighth of that
 * @told:	backlog that the others see
 * @share:	tokens; those in hand are sfc_sched.state
 * @writes:	to what the queues share
 * @member:	on the port's list, of one queue also, while it may become one of several; RTNL
 * @joined:	that port; RTNL
 */
struct sfc_queue {
	struct sfc_port		*port;
	u32			grain;
	u32			told;
	struct sfc_share	share;
	u64			writes;
	struct list_head	member;
	struct sfc_port		*joined;
};

struct sfc_sched {
	/* every packet */
	struct qdisc_skb_head	bands[SFC_BANDS];
	u32			calm;		/* bytes; see sfc_calm() */
	u32			away;		/* bytes; see sfc_backlog() */
	struct sfc_alg_cfg	alg;
	struct sfc_alg_state	state;
	struct sfc_pause_cfg	pause;
	const u64		*until_ns;	/* from then on the cache is empty */
	u32			ecn;		/* CE beyond so many bytes */
	bool			multi;		/* more than one band of data */
	struct sfc_dre_cfg	dre;
	struct sfc_hold		*hold;		/* NULL: nohold */
	u32			held_pkts;	/* of qlen, those that are held */
	u32			held_bytes;	/* of backlog */
	u64			next_ns;	/* shaper: when the link is free */
	u64			next_frac;
	struct sfc_config	cfg;

	/* signals */
	struct sfc_limiter	src_limiter;	/* all control messages */
	struct sfc_way		*ways;		/* to senders */
	siphash_key_t		flow_key;
	struct rnd_state	dice;		/* srcprob */
	struct sfc_cache	*cache;		/* of the namespace, or NULL */
	struct sfc_estimator	*est;		/* likewise */

	/* rarely */
	struct qdisc_watchdog	watchdog;
	struct list_head	list;		/* on sfc_list */
	struct Qdisc		*sch;

	struct tcf_proto __rcu	*filters;
	struct tcf_block	*block;
	struct tc_sfc_xstats	stats;
	struct sfc_qos		qos;		/* with more than one band */
	struct sfc_queue	queue;
	struct sfc_bloom	told;
};

/**
 * struct sfc_pkt - what a packet is
 * @l3_off:	of its headers, from skb->data
 * @l4_off:	likewise; valid when a TCP or UDP header is there
 * @opt_off:	of the full option; valid when @form is BOLT_OPT_FULL
 * @t_data_tx:	of the option
 * @family:	AF_INET, AF_INET6, or 0: none of our business
 * @proto:	of L4, when a TCP header or one with ports is there, else 0
 * @dscp:	0..63
 * @band:	where it queues, an enum sfc_band_id; not parsed
 * @flags:	of the option, 0 without
 * @form:	of the option
 * @high:	takes the high band
 * @control:	is a control message
 * @pausable:	is data of a flow that can be told to pause
 */
struct sfc_pkt {
	int			l3_off;
	int			l4_off;
	int			opt_off;
	u32			t_data_tx;
	u8			family;
	u8			proto;
	u8			dscp;
	u8			band;
	u8			flags;
	enum bolt_opt_form	form;
	bool			high;
	bool			control;
	bool			pausable;
};

/* What became of a control message */
enum sfc_signal_verdict {
	SFC_SIGNAL_SENT,
	SFC_SIGNAL_LIMITED,	/* srcrate */
	SFC_SIGNAL_NOMEM,
	SFC_SIGNAL_DROPPED,	/* this CPU's input queue is full */
	SFC_SIGNAL_UNFIT,	/* the packet must not be answered, or cannot be quoted */
};

/* parse.c */
void sfc_parse(const struct sk_buff *skb, u16 port, struct sfc_pkt *pkt);
u8 sfc_fragment_proto(const struct sk_buff *skb, const struct sfc_pkt *pkt);
bool sfc_write_flags(struct sk_buff *skb, const struct sfc_pkt *pkt, u8 flags);

/* signal.c */
struct bolt_msg;
enum sfc_signal_verdict sfc_signal(struct Qdisc *sch, const struct sk_buff *skb,
				   const struct sfc_pkt *pkt, struct bolt_msg *msg, u64 now);
bool sfc_send_src(struct Qdisc *sch, const struct sk_buff *skb,
		  const struct sfc_pkt *pkt, u32 queue, u64 now);

/* Can this port send SRC at all, and is this a packet that asks for one? */
static inline bool sfc_can_src(const struct sfc_sched *q, const struct sfc_pkt *pkt)
{
	return q->cfg.flags & TC_SFC_F_SRC && q->alg.rate.kbps && pkt->t_data_tx;
}

/* pause.c */
void sfc_pause_arrival(struct Qdisc *sch, const struct sk_buff *skb,
		       const struct sfc_pkt *pkt, u64 now);
void sfc_pause_departure(struct Qdisc *sch, const struct sk_buff *skb, unsigned int band, u64 now);

/* cache.c */
struct sfc_cache_stats {
	u64	entries;
	u64	inserts;
	u64	updates;
	u64	full;
	u64	refused;
	u64	ignored;
};

/* What a control message is to who overhears it */
enum sfc_msg_verdict {
	SFC_MSG_BAD,		/* malformed */
	SFC_MSG_OTHER,		/* no BTS */
	SFC_MSG_FALSE,		/* a BTS about somebody else, or without a valid tag */
	SFC_MSG_BTS,
};

enum sfc_msg_verdict sfc_msg_read(const struct sk_buff *skb, const struct sfc_pkt *pkt,
				  const siphash_key_t *key, struct bolt_msg *m);
bool sfc_key_of(const struct sk_buff *skb, const struct sfc_pkt *pkt, struct sfc_key *key);
u32 sfc_cache_find(struct sfc_cache *cache, const struct sfc_key *key, u64 now);
void sfc_cache_feed(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		    u64 now);
void sfc_cache_stats(struct sfc_cache *cache, struct sfc_cache_stats *st, u64 now);
int sfc_net_prepare(struct Qdisc *sch, const struct sfc_config *cfg);
void sfc_net_update(struct Qdisc *sch, const struct sfc_config *cfg);
void sfc_net_unedge(struct Qdisc *sch);
struct sfc_holds *sfc_net_holds(struct net *net);
int sfc_net_register(void);
void sfc_net_unregister(void);

/* estimate.c */
u32 sfc_estimate(struct sfc_estimator *est, const struct sfc_dre_cfg *cfg,
		 const struct sfc_key *key, u32 bytes, u32 max_ns, u64 now);
struct sfc_estimator *sfc_estimator_alloc(void);

/* hold.c */
struct sfc_hold;

/**
 * struct sfc_holds - the ports of a namespace that hold
 * @list:	of struct sfc_hold; RTNL, read under RCU
 * @ports:	how many there are or are to be; the hooks are there while there are any
 * @refused:	BTS that cannot be believed
 * @oversize:	... ask for too much
 * @stale:	... quote what no port has sent lately
 */
struct sfc_holds {
	struct list_head	list;
	unsigned int		ports;
	atomic64_t		refused;
	atomic64_t		oversize;
	atomic64_t		stale;
};

enum sfc_hold_verdict {
	SFC_HOLD_PASS,
	SFC_HOLD_HELD,		/* it is accounted for */
	SFC_HOLD_FULL,		/* it has to wait, and there is no room for it */
};

enum sfc_hold_verdict sfc_hold_arrival(struct Qdisc *sch, struct sk_buff *skb,
				       const struct sfc_pkt *pkt, u64 now);
u64 sfc_hold_look(struct Qdisc *sch);
void sfc_hold_wait(struct Qdisc *sch);
struct sk_buff *sfc_hold_remove(struct Qdisc *sch);
struct sfc_hold *sfc_hold_prepare(struct Qdisc *sch, const struct sfc_config *cfg);
struct sfc_hold *sfc_hold_update(struct Qdisc *sch, struct sfc_hold *h);
void sfc_hold_free(struct Qdisc *sch, struct sfc_hold *h);
void sfc_hold_reset(struct Qdisc *sch);
void sfc_hold_stats(struct Qdisc *sch, struct tc_sfc_xstats *st);

/* ecn.c */
bool sfc_mark_ce(struct sk_buff *skb, const struct sfc_pkt *pkt);

/*
 * The queue that the algorithms go by, bytes: what is held is not in it, what waits in the
 * other queues of the port is.  @away is the first less the second, modulo 2^32.
 */
static inline u32 sfc_backlog(struct Qdisc *sch)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	return sch->qstats.backlog - q->away;
}

/* More bands of data than one */
static inline bool sfc_has_bands(const struct sfc_sched *q)
{
	return unlikely(q->multi);
}

/* ... as a band of data sees it: all that waits there and in the high band */
static inline u32 sfc_backlog_of(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH)
		return sfc_qos_queue(&q->qos, band - SFC_BAND_DATA);
	return sfc_backlog(sch);
}

/* ... and as SFC sees it: by the time that it takes to drain */
static inline u32 sfc_backlog_drain(struct Qdisc *sch, unsigned int band)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && band != SFC_BAND_HIGH)
		return sfc_qos_drain(&q->qos, band - SFC_BAND_DATA);
	return sfc_backlog(sch);
}

/* Lines 10 and 12 of SFC's Algorithm 1; a threshold of SFC_QUEUE_NEVER costs bands nothing more */
static inline bool sfc_backlog_beyond(struct Qdisc *sch, unsigned int band, u32 threshold)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	if (sfc_has_bands(q) && threshold == SFC_QUEUE_NEVER)
		return false;
	return sfc_backlog_drain(sch, band) > threshold;
}

/* What a packet that waits here, queued or held, remembers: its band, if there are more */
struct sfc_skb_cb {
	u8	band;
};

static inline struct sfc_skb_cb *sfc_skb_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct sfc_skb_cb));
	return (struct sfc_skb_cb *)qdisc_skb_cb(skb)->data;
}

/* All that SFC costs a packet while nothing is congested */
static inline bool sfc_pause_armed(struct Qdisc *sch, unsigned int band, u64 now)
{
	const struct sfc_sched *q = qdisc_priv(sch);

	return unlikely(sfc_backlog_beyond(sch, band, q->pause.qth_in) ||	/* line 10 */
			now < READ_ONCE(*q->until_ns) ||		/* line 11 */
			q->dre.decay);
}

/* qos.c */
extern const struct Qdisc_class_ops sfc_class_ops;
int sfc_filter(struct sk_buff *skb, struct Qdisc *sch, u8 *band);
unsigned int sfc_band_of(const struct sfc_sched *q, const struct sfc_pkt *pkt, u8 band);
unsigned int sfc_band_again(const struct sfc_sched *q, const struct sk_buff *skb);
void sfc_qos_update(struct Qdisc *sch, const struct sfc_config *cfg, u32 mtu);
void sfc_qos_stats(struct Qdisc *sch, struct tc_sfc_xstats *st);

/* queue.c */
bool sfc_queue_has_room(struct Qdisc *sch, unsigned int band, u32 len);
void sfc_queue_add(struct Qdisc *sch, unsigned int band, struct sk_buff *skb);
struct sk_buff *sfc_queue_remove_from(struct Qdisc *sch, unsigned int band);
struct sk_buff *sfc_queue_remove_any(struct Qdisc *sch);
void sfc_queue_hold(struct Qdisc *sch, struct qdisc_skb_head *held, struct sk_buff *skb);
struct sk_buff *sfc_queue_unhold(struct Qdisc *sch, struct qdisc_skb_head *held);
void sfc_queue_shrink(struct Qdisc *sch);
void sfc_queue_purge(struct Qdisc *sch);

/* ... and what each packet meets.  Bands of data count apart what is theirs. */
static __always_inline void sfc_queue_add_to(struct Qdisc *sch, unsigned int band,
					     struct sk_buff *skb)
{
	struct sfc_sched *q = qdisc_priv(sch);

	__qdisc_enqueue_tail(skb, &q->bands[band]);
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	if (sfc_backlog(sch) > q->stats.backlog_peak)
		q->stats.backlog_peak = sfc_backlog(sch);
}

static __always_inline struct sk_buff *sfc_queue_take_from(struct Qdisc *sch, unsigned int band)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = __qdisc_dequeue_head(&q->bands[band]);

	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
	}
	return skb;
}

/* The next packet in order of service, with one band of data ... */
static __always_inline struct sk_buff *sfc_queue_take(struct Qdisc *sch)
{
	return sfc_queue_take_from(sch, SFC_BAND_HIGH) ?: sfc_queue_take_from(sch, SFC_BAND_DATA);
}

/* ... and with any number */
static inline struct sk_buff *sfc_queue_remove(struct Qdisc *sch)
{
	return sfc_has_bands(qdisc_priv(sch)) ? sfc_queue_remove_any(sch) : sfc_queue_take(sch);
}

/* main.c */
void sfc_readmit(struct sk_buff *skb, struct Qdisc *sch, u64 now);
void sfc_choose(struct Qdisc *sch);

/* netlink.c */
void sfc_config_default(struct sfc_config *cfg);
void sfc_config_refresh(struct Qdisc *sch);
int sfc_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
int sfc_dump(struct Qdisc *sch, struct sk_buff *skb);
int sfc_dump_stats(struct Qdisc *sch, struct gnet_dump *d);

#endif /* _SFC_H */
