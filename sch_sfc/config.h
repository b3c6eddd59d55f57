/* SPDX-License-Identifier: GPL-2.0 */
/* A configuration of sfc: what was given, its defaults, and where its options are */
#ifndef _SFC_CONFIG_H
#define _SFC_CONFIG_H

#include <linux/in6.h>
#include <linux/netdevice.h>
#include <net/netlink.h>

#include <bolt_keys.h>
#include <uapi/linux/pkt_sch_sfc.h>

struct sfc_alg_cfg;
struct sfc_port;

#define SFC_LIMIT_DEFAULT	(16U << 20)	/* bytes */
#define SFC_MSGRATE_DEFAULT	100000000U	/* per second: a bound, not a brake */
#define SFC_TTL_DEFAULT		64
/* About a round trip in a data center; what is saved beyond it is spent an RTT late anyway */
#define SFC_SMCAP_NS		(8 * NSEC_PER_USEC)
/*
 * SFC is off: a BTS is sent to any sender, also to one without support for it, whose host then
 * sends ICMP port unreachable to the data's destination.
 */
#define SFC_FLAGS_DEFAULT	(TC_SFC_F_BOLT | TC_SFC_F_SRC | TC_SFC_F_PRU | TC_SFC_F_SM | \
				 TC_SFC_F_SPLIT_GSO)

/* PFC on a device */
struct sfc_pfc_config {
	u32	xoff;		/* bytes of one ingress and priority beyond which it has to pause */
	u32	xon;		/* bytes below which it may resume */
	u32	stuck_ns;	/* watchdog: longest pause without a packet sent; 0: off */
	u32	ignore_ns;	/* after that, PAUSE frames are ignored for so long */
	u8	prios;		/* which, a bit each; 0: no PFC */
	bool	convert;	/* SFC-P; TC_SFC_F_SFCP */
};

/* As configured; struct sfc_alg_cfg is derived from it and from the device */
struct sfc_config {
	u64			rate_bps;	/* bytes/s; 0: the device is the link */
	u64			link_bps;	/* bytes/s, if not shaped; 0: ask the device */
	u64			server_bps;	/* bytes/s of a server's link; 0: as this one */
	u32			flags;		/* TC_SFC_F_* */
	u32			limit;		/* bytes */
	u32			memory_limit;	/* bytes of truesize; sfc_config_memory_limit() */
	u32			ccthresh;	/* bytes; 0: two MTU */
	u32			pruthresh;	/* bytes; 0: a quarter of the BDP */
	u32			overhead;	/* bytes per packet */
	u32			smcap;		/* bytes; 0: SFC_SMCAP_NS of the link */
	u32			switch_id;
	u32			msgrate;	/* per second */
	u32			rtt_ns;
	u32			qth;		/* bytes; 0: two BDP */
	u32			qtg;		/* bytes; 0: one BDP */
	u32			suppress_ns;	/* 0: half of the RTT; or TC_SFC_SUPPRESS_OFF */
	u32			maxpause_ns;
	u32			ecn;		/* bytes; 0: off */
	u32			tau_ns;		/* estimator; 0: off */
	u32			buffer;		/* bytes of the switch; 0: the port is not in it */
	u32			alpha;		/* of what is free there; 1 / TC_SFC_ALPHA_ONE */
	u32			srcc;		/* bytes, or enum tc_sfc_srcc; 0: off */
	u32			srcc_delay_ns;	/* 0: an eighth of @rtt_ns */
	u32			srcc_window_ns;	/* 0: three @rtt_ns */
	struct sfc_pfc_config	pfc;
	u8			bts;		/* enum tc_sfc_bts */
	u8			bands;		/* of data */
	u8			defband;	/* from 1 */
	u8			weights[TC_SFC_BANDS_MAX];
	u8			srcprob[TC_SFC_BANDS_MAX];	/* per cent */
	u8			dscp[TC_SFC_DSCPS];	/* band of each, from 1; 0: defband */
	u8			levels[TC_SFC_LEVELS];	/* band of each level; 0: by @dscp */
	u16			port;
	u8			ttl;
	bool			memory_given;	/* @memory_limit does not follow @limit */
	bool			has_tagkey;
	bool			has_switchkey;
	__be32			addr4;		/* 0: the data's destination */
	struct in6_addr		addr6;		/* likewise */
	struct bolt_keys	tagkey;		/* hosts know it; there is one only */
	struct bolt_keys	switchkey;	/* switches only */
};

/* Until it is given: room for @limit in packets of a page each, of an MTU of 1500 */
static inline u32 sfc_config_memory_limit(u32 limit)
{
	return clamp_t(u64, 4ULL * limit, TC_SFC_MEMORY_LIMIT, U32_MAX);
}

/* config.c */
void sfc_config_default(struct sfc_config *cfg, const struct net_device *dev);
void sfc_config_forget_keys(struct sfc_config *cfg);
const char *sfc_config_check(const struct sfc_config *cfg, const struct net_device *dev, bool room);
void sfc_config_derive(const struct sfc_config *cfg, struct net_device *dev,
		       struct sfc_alg_cfg *alg);
int sfc_config_prepare(struct Qdisc *sch, const struct sfc_config *cfg);
void sfc_config_commit(struct Qdisc *sch, const struct sfc_config *cfg,
		       const struct sfc_alg_cfg *alg, struct sfc_port *port);
void sfc_config_leave(struct Qdisc *sch);
void sfc_config_refresh(struct Qdisc *sch);

/* Where an option that is a number, or bytes, is in a configuration */
struct sfc_value {
	u16 off, len;
};

#define SFC_VALUE(type, member)	{ offsetof(type, member), sizeof_field(type, member) }

/* netlink.c */
void sfc_values_parse(void *cfg, const struct sfc_value *values, int max, struct nlattr **tb);
int sfc_value_dump(struct sk_buff *skb, const void *cfg, const struct sfc_value *v, int type);
int sfc_keys_parse(struct bolt_keys *keys, bool *set, const struct nlattr *attr,
		   struct netlink_ext_ack *extack);

#endif /* _SFC_CONFIG_H */
