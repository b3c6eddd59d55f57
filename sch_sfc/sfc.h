/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of sch_sfc share: the private area of the qdisc and who does what.
 *
 * A packet's way:	main.c	enqueue: split super-packets, one decision per packet
 *			parse.c	what is this packet; write its flags back
 *			decide.h, tokens.h  Algorithms 1 and 3, pure
 *			signal.c	build the control message, hand it to the stack
 *			queue.c	all accounting
 *			main.c	dequeue: strict high band, shaper
 * Configuration:	netlink.c
 *
 * Locking: everything below is written under the qdisc's lock; @cfg and @list under
 * RTNL as well, so that either suffices to read them.
 */
#ifndef _SFC_H
#define _SFC_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include <bolt_option.h>
#include <uapi/linux/pkt_sch_sfc.h>
#include "decide.h"

#define SFC_LIMIT_DEFAULT	(16U << 20)	/* bytes */
#define SFC_SRCRATE_DEFAULT	100000000U	/* per second: a bound, not a brake */
#define SFC_TTL_DEFAULT		64
/* About a round trip in a data center; what is saved beyond it is spent an RTT late anyway */
#define SFC_SMCAP_NS		(8 * NSEC_PER_USEC)
#define SFC_FLAGS_DEFAULT	TC_SFC_F_ALL
/* Shaping makes up for a timer or a stopped queue that comes so late, and no more. */
#define SFC_CATCHUP_NS		(200 * NSEC_PER_USEC)

/* In order of service */
enum sfc_band_id {
	SFC_BAND_HIGH,		/* ACKs and control messages */
	SFC_BAND_DATA,
	SFC_BANDS
};

/* As configured; what follows from it and from the device is struct sfc_alg_cfg */
struct sfc_config {
	u64			rate_bps;	/* bytes/s; 0: the device is the link */
	u64			link_bps;	/* bytes/s, if not shaped; 0: ask the device */
	u32			flags;		/* TC_SFC_F_* */
	u32			limit;		/* bytes */
	u32			ccthresh;	/* bytes; 0: two MTU */
	u32			overhead;	/* bytes per packet */
	u32			smcap;		/* bytes; 0: SFC_SMCAP_NS of the link */
	u32			switch_id;
	u32			srcrate;	/* per second */
	u16			port;
	u8			ttl;
	bool			tagged;
	__be32			addr4;		/* 0: the data's destination */
	struct in6_addr		addr6;		/* likewise */
	siphash_key_t		key;
};

struct sfc_sched {
	/* every packet */
	struct qdisc_skb_head	bands[SFC_BANDS];
	struct sfc_alg_cfg	alg;
	struct sfc_alg_state	state;
	u64			next_ns;	/* shaper: when the link is free */
	u64			next_frac;
	struct sfc_config	cfg;

	/* signals */
	struct sfc_limiter	src_limiter;

	/* rarely */
	struct qdisc_watchdog	watchdog;
	struct list_head	list;		/* on sfc_list */
	struct Qdisc		*sch;

	struct tc_sfc_xstats	stats;
};

/**
 * struct sfc_pkt - what a packet is
 * @l3_off:	of its headers, from skb->data
 * @l4_off:	likewise; valid when a TCP or UDP header is there
 * @opt_off:	of the full option; valid when @form is BOLT_OPT_FULL
 * @t_data_tx:	of the option
 * @family:	AF_INET, AF_INET6, or 0: none of our business
 * @dscp:	0..63
 * @flags:	of the option, 0 without
 * @form:	of the option
 * @high:	takes the high band
 */
struct sfc_pkt {
	int			l3_off;
	int			l4_off;
	int			opt_off;
	u32			t_data_tx;
	u8			family;
	u8			dscp;
	u8			flags;
	enum bolt_opt_form	form;
	bool			high;
};

/* parse.c */
void sfc_parse(const struct sk_buff *skb, u16 port, struct sfc_pkt *pkt);
bool sfc_write_flags(struct sk_buff *skb, const struct sfc_pkt *pkt, u8 flags);

/* signal.c */
bool sfc_can_src(const struct sfc_sched *q, const struct sfc_pkt *pkt);
bool sfc_send_src(struct Qdisc *sch, const struct sk_buff *skb,
		  const struct sfc_pkt *pkt, u32 queue, u64 now);

/* queue.c */
bool sfc_queue_has_room(struct Qdisc *sch, enum sfc_band_id band, u32 len);
void sfc_queue_add(struct Qdisc *sch, enum sfc_band_id band, struct sk_buff *skb);
struct sk_buff *sfc_queue_remove(struct Qdisc *sch);
void sfc_queue_shrink(struct Qdisc *sch);
void sfc_queue_purge(struct Qdisc *sch);

/* netlink.c */
void sfc_config_default(struct sfc_config *cfg);
void sfc_config_refresh(struct Qdisc *sch);
int sfc_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
int sfc_dump(struct Qdisc *sch, struct sk_buff *skb);
int sfc_dump_stats(struct Qdisc *sch, struct gnet_dump *d);

#endif /* _SFC_H */
