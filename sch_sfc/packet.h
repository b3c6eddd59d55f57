/* SPDX-License-Identifier: GPL-2.0 */
/* A parsed packet, its flow, and the functions that the stages of enqueue.c call for it */
#ifndef _SFC_PACKET_H
#define _SFC_PACKET_H

#include <net/ipv6.h>

#include "sfc.h"

/* The flow of a packet, as a control message quotes it */
struct sfc_flow {
	__be32	saddr[4];	/* IPv4: the first word, the others zero */
	__be32	daddr[4];	/* likewise */
	__be16	sport;		/* 0 where there is no L4 header */
	__be16	dport;		/* likewise */
	u8	family;		/* 4, 6, or 0: not IP */
	u8	proto;		/* of L4, when a TCP header or one with ports is there, else 0 */
	u8	dscp;		/* 0..63 */
	u8	zero;		/* so that flows hash and compare as bytes */
};

/* A parsed packet */
struct sfc_pkt {
	struct sfc_flow		flow;		/* by the addresses that it has here */
	int			l3_off;		/* of its headers, from skb->data */
	int			l4_off;	/* likewise; valid when a TCP or UDP header is there */
	/* of the full option; valid when @form is BOLT_OPT_FULL */
	int			opt_off;
	/*
	 * of the option, or TCP's TSval (RFC 7323) where there is none: a message that echoes it
	 * proves to the packet's sender that we have seen the packet.  0: neither
	 */
	u32			t_data_tx;
	u8			band;	/* where it queues; parsed: SFC_BAND_HIGH, or not */
	u8			flags;		/* of the option, 0 without */
	u8			level;		/* likewise, of data: below TC_SFC_LEVELS */
	enum bolt_opt_form	form;		/* of the option */
	bool			control;	/* is a control message */
	bool			pausable;	/* is data of a flow that can be asked to pause */
};

/* Write an address of a flow as IPv6, IPv4 as ::ffff:a.b.c.d */
static inline void sfc_flow_addr6(void *to, const struct sfc_flow *f, const __be32 *addr)
{
	if (f->family == 4)
		ipv6_addr_set_v4mapped(addr[0], to);
	else
		memcpy(to, addr, sizeof(f->saddr));
}

/* The flow that a control message is about */
static inline struct sfc_flow sfc_msg_flow(const struct bolt_msg *m)
{
	struct sfc_flow f = {
		.sport = m->sport, .dport = m->dport,
		.family = m->family, .proto = m->protocol, .dscp = m->dscp,
	};

	memcpy(f.saddr, m->saddr, sizeof(f.saddr));
	memcpy(f.daddr, m->daddr, sizeof(f.daddr));
	return f;
}

/* What becomes of a control message, or what one is that passes; tracepoints have it */
enum sfc_signal_verdict {
	SFC_SIGNAL_SENT,
	SFC_SIGNAL_LIMITED,	/* msgrate */
	SFC_SIGNAL_NOMEM,
	SFC_SIGNAL_DROPPED,	/* this CPU's input queue is full */
	SFC_SIGNAL_UNFIT,	/* must not be answered, or is too short, or cannot be quoted */
	/* of one that passes, and is refused: it is not remembered */
	SFC_REFUSED_MALFORMED,
	SFC_REFUSED_FORGED,	/* about somebody else, or without a valid tag */
	SFC_REFUSED_EDGE,	/* came in by an edge port */
	SFC_REFUSED_STALE,	/* its pause is over */
	SFC_SIGNAL_NONE,	/* tracepoints: the event is about no such message */
	/* of one that passes, and is not refused */
	SFC_MSG_OTHER,		/* no BTS */
	SFC_MSG_BTS,
	SFC_MSG_CACHEABLE,	/* one that a switch has tagged as such */
};

/* parse.c */
void sfc_parse(const struct sk_buff *skb, u16 port, struct sfc_pkt *pkt);
bool sfc_has_segments(const struct sk_buff *skb, const struct sfc_pkt *pkt);
bool sfc_msg_is_form(const struct sk_buff *skb, const struct sfc_pkt *pkt);
enum sfc_signal_verdict sfc_msg_read(const struct sk_buff *skb, const struct sfc_pkt *pkt,
				     const struct bolt_keys *keys, struct bolt_msg *m);
bool sfc_write_flags(struct sk_buff *skb, int l4_off, int opt_off, u8 flags);

/* cache.c */
struct sfc_key sfc_flow_key(const struct sfc_flow *f, const struct sk_buff *skb, struct Qdisc *sch);

/* signal.c */
bool sfc_flow_may_be_answered(const struct sfc_flow *f);
enum sfc_signal_verdict sfc_send_msg(struct Qdisc *sch, const struct sk_buff *skb,
				     const struct sfc_pkt *pkt, struct bolt_msg *msg, u64 now);
bool sfc_send_src(struct Qdisc *sch, const struct sk_buff *skb,
		  const struct sfc_pkt *pkt, u32 queue, u8 flags, u64 now);

/* forward.c */
bool sfc_forward(struct sfc_forward *f, struct sk_buff *n, struct net_device *dev);
void sfc_forward_init(struct sfc_forward *f);
void sfc_forward_exit(struct sfc_forward *f);

/* pause.c */
u64 sfc_flow_hash(const struct sfc_sched *q, struct sfc_flow f, u32 vrf);
void sfc_pause_arrival(struct Qdisc *sch, const struct sk_buff *skb,
		       const struct sfc_pkt *pkt, u64 now);
void sfc_pause_departure(struct Qdisc *sch, const struct sk_buff *skb, u64 now);

/* srcc.c */
void sfc_srcc_arrival(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		      u64 now);

/* The band of a data packet by its DSCP alone, or the default */
static inline unsigned int sfc_band_of_dscp(const struct sfc_sched *q, const struct sfc_pkt *pkt)
{
	if (pkt->flow.family && q->cfg.dscp[pkt->flow.dscp])
		return q->cfg.dscp[pkt->flow.dscp] - 1;
	return q->cfg.defband - 1;
}

/* Packets on the wire; a super-packet from an untrusted source may not have been counted. */
static inline u32 sfc_segs(const struct sk_buff *skb)
{
	u32 segs;

	if (!skb_is_gso(skb))
		return 1;
	segs = skb_shinfo(skb)->gso_segs ?: DIV_ROUND_UP(skb->len, skb_shinfo(skb)->gso_size);
	return clamp_t(u32, segs, 1, SFC_SEGS_MAX);
}

/* What a packet that waits here remembers */
struct sfc_skb_cb {
	u8	above[8];	/* sfb, above, reads its own data again when the packet has left */
	u8	band;		/* where it waits */
	u8	prio;		/* with "buffer" or "pfc"; SFC_PFC_NO_PRIO in the high band */
	u8	ingress;	/* with "pfc": slot of the device that it came in by, or 0 */
	u8	answered_words;	/* egress BTS: four bytes of messages about it, from its arrival */
	u32	memory;		/* its truesize when it was queued */
	u32	arrival;	/* how many had joined before */
};

static inline struct sfc_skb_cb *sfc_skb_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct sfc_skb_cb));
	return (struct sfc_skb_cb *)qdisc_skb_cb(skb)->data;
}

#endif /* _SFC_PACKET_H */
