// SPDX-License-Identifier: GPL-2.0
/*
 * Configuration and statistics: everything is parsed into a copy and checked as a
 * whole, then committed with the tree locked; a refusal leaves no trace.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <net/ipv6.h>
#include <net/netlink.h>

#include "hold.h"
#include "port.h"
#include "sfc.h"
#include "way.h"

static struct netlink_range_validation sfc_rtt_range = {
	.min = SFC_RTT_MIN_NS,
	.max = SFC_RTT_MAX_NS,
};

static const struct nla_policy sfc_policy[TCA_SFC_MAX + 1] = {
	[TCA_SFC_FLAGS]		= NLA_POLICY_BITFIELD32(TC_SFC_F_ALL),
	[TCA_SFC_RATE64]	= { .type = NLA_U64 },
	[TCA_SFC_LINK64]	= { .type = NLA_U64 },
	[TCA_SFC_LIMIT]		= { .type = NLA_U32 },
	[TCA_SFC_CCTHRESH]	= { .type = NLA_U32 },
	[TCA_SFC_SMCAP]		= { .type = NLA_U32 },
	[TCA_SFC_SWITCH_ID]	= { .type = NLA_U32 },
	[TCA_SFC_SRCRATE]	= NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_SFC_PORT]		= NLA_POLICY_MIN(NLA_U16, 1),
	[TCA_SFC_TTL]		= NLA_POLICY_MIN(NLA_U8, 1),
	[TCA_SFC_ADDR4]		= { .type = NLA_U32 },
	[TCA_SFC_ADDR6]		= NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[TCA_SFC_TAGKEY]	= { .type = NLA_BINARY, .len = sizeof(siphash_key_t) },
	[TCA_SFC_OVERHEAD]	= NLA_POLICY_MAX(NLA_U32, TC_SFC_OVERHEAD_MAX),
	[TCA_SFC_BTS]		= NLA_POLICY_MAX(NLA_U8, TC_SFC_BTS_OFF),
	[TCA_SFC_QTH]		= { .type = NLA_U32 },
	[TCA_SFC_QTG]		= { .type = NLA_U32 },
	[TCA_SFC_RTT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &sfc_rtt_range),
	[TCA_SFC_SUPPRESS]	= { .type = NLA_U32 },
	[TCA_SFC_ECN]		= { .type = NLA_U32 },
	[TCA_SFC_ESTIMATOR]	= { .type = NLA_U32 },
	[TCA_SFC_HOLDSHARE]	= NLA_POLICY_RANGE(NLA_U8, 1, 100),
	[TCA_SFC_MINTTL]	= { .type = NLA_U8 },
	[TCA_SFC_MAXPAUSE]	= NLA_POLICY_MIN(NLA_U32, SFC_RTT_MIN_NS),
	[TCA_SFC_SERVERRATE64]	= { .type = NLA_U64 },
	[TCA_SFC_BANDS]		= { .type = NLA_U8 },
	[TCA_SFC_WEIGHTS]	= { .type = NLA_BINARY, .len = TC_SFC_BANDS_MAX },
	[TCA_SFC_DEFAULT]	= { .type = NLA_U8 },
	[TCA_SFC_DSCP]		= NLA_POLICY_EXACT_LEN(TC_SFC_DSCPS),
	[TCA_SFC_SRCPROB]	= { .type = NLA_BINARY, .len = TC_SFC_BANDS_MAX },
};

void sfc_config_default(struct sfc_config *cfg)
{
	*cfg = (struct sfc_config){
		.flags = SFC_FLAGS_DEFAULT,
		.limit = SFC_LIMIT_DEFAULT,
		.srcrate = SFC_SRCRATE_DEFAULT,
		.port = BOLT_CTL_PORT,
		.ttl = SFC_TTL_DEFAULT,
		.rtt_ns = SFC_RTT_DEFAULT_NS,
		.maxpause_ns = SFC_PAUSE_MAX_NS,
		.holdshare = SFC_HOLD_SHARE,
		.bands = 1,
		.defband = 1,
	};
	memset(cfg->weights, 1, sizeof(cfg->weights));
	memset(cfg->srcprob, 100, sizeof(cfg->srcprob));
}

/* A rate in bytes/s, or 0 for none */
static int sfc_get_rate(u64 *bps, const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	u64 v = nla_get_u64(attr);

	if (v && (v < TC_SFC_RATE_MIN || v > TC_SFC_RATE_MAX)) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "rates go from 8 kbit/s to 4294 Gbit/s");
		return -ERANGE;
	}
	*bps = v;
	return 0;
}

/* A number for each band, which are known by now */
static int sfc_get_per_band(u8 *to, const struct sfc_config *cfg, const struct nlattr *attr,
			    u8 max, struct netlink_ext_ack *extack)
{
	const u8 *from = nla_data(attr);
	int i;

	if (nla_len(attr) != cfg->bands) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "weights and srcprob name a number for each band");
		return -EINVAL;
	}
	for (i = 0; i < cfg->bands; i++) {
		if (!from[i] || from[i] > max) {
			NL_SET_ERR_MSG_ATTR(extack, attr,
					    "weights go from 1 to 255, srcprob from 1 to 100");
			return -ERANGE;
		}
	}
	memcpy(to, from, cfg->bands);
	return 0;
}

static int sfc_config_parse_bands(struct sfc_config *cfg, struct nlattr **tb,
				  struct netlink_ext_ack *extack)
{
	int i, was = cfg->bands, err;

	if (tb[TCA_SFC_BANDS]) {
		cfg->bands = nla_get_u8(tb[TCA_SFC_BANDS]);
		if (!cfg->bands || cfg->bands > TC_SFC_BANDS_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_SFC_BANDS], "bands go from 1 to 8");
			return -ERANGE;
		}
		/* those that come are new, also when they were there before */
		for (i = was; i < cfg->bands; i++) {
			cfg->weights[i] = 1;
			cfg->srcprob[i] = 100;
		}
	}
	if (tb[TCA_SFC_WEIGHTS]) {
		err = sfc_get_per_band(cfg->weights, cfg, tb[TCA_SFC_WEIGHTS], TC_SFC_WEIGHT_MAX,
				       extack);
		if (err)
			return err;
	}
	if (tb[TCA_SFC_SRCPROB]) {
		err = sfc_get_per_band(cfg->srcprob, cfg, tb[TCA_SFC_SRCPROB], 100, extack);
		if (err)
			return err;
	}
	if (tb[TCA_SFC_DEFAULT])
		cfg->defband = nla_get_u8(tb[TCA_SFC_DEFAULT]);
	if (tb[TCA_SFC_DSCP])
		memcpy(cfg->dscp, nla_data(tb[TCA_SFC_DSCP]), sizeof(cfg->dscp));
	return 0;
}

/* Overwrite in @cfg what the request says; each value by itself. */
static int sfc_config_parse(struct sfc_config *cfg, struct nlattr **tb,
			    struct netlink_ext_ack *extack)
{
	int err;

	if (tb[TCA_SFC_FLAGS]) {
		struct nla_bitfield32 f = nla_get_bitfield32(tb[TCA_SFC_FLAGS]);

		cfg->flags = (cfg->flags & ~f.selector) | f.value;
	}
	if (tb[TCA_SFC_RATE64]) {
		err = sfc_get_rate(&cfg->rate_bps, tb[TCA_SFC_RATE64], extack);
		if (err)
			return err;
	}
	if (tb[TCA_SFC_LINK64]) {
		err = sfc_get_rate(&cfg->link_bps, tb[TCA_SFC_LINK64], extack);
		if (err)
			return err;
	}
	if (tb[TCA_SFC_SERVERRATE64]) {
		err = sfc_get_rate(&cfg->server_bps, tb[TCA_SFC_SERVERRATE64], extack);
		if (err)
			return err;
	}
	if (tb[TCA_SFC_LIMIT])
		cfg->limit = nla_get_u32(tb[TCA_SFC_LIMIT]);
	if (tb[TCA_SFC_CCTHRESH])
		cfg->ccthresh = nla_get_u32(tb[TCA_SFC_CCTHRESH]);
	if (tb[TCA_SFC_OVERHEAD])
		cfg->overhead = nla_get_u32(tb[TCA_SFC_OVERHEAD]);
	if (tb[TCA_SFC_SMCAP])
		cfg->smcap = nla_get_u32(tb[TCA_SFC_SMCAP]);
	if (tb[TCA_SFC_SWITCH_ID])
		cfg->switch_id = nla_get_u32(tb[TCA_SFC_SWITCH_ID]);
	if (tb[TCA_SFC_SRCRATE])
		cfg->srcrate = nla_get_u32(tb[TCA_SFC_SRCRATE]);
	if (tb[TCA_SFC_BTS])
		cfg->bts = nla_get_u8(tb[TCA_SFC_BTS]);
	if (tb[TCA_SFC_QTH])
		cfg->qth = nla_get_u32(tb[TCA_SFC_QTH]);
	if (tb[TCA_SFC_QTG])
		cfg->qtg = nla_get_u32(tb[TCA_SFC_QTG]);
	if (tb[TCA_SFC_RTT])
		cfg->rtt_ns = nla_get_u32(tb[TCA_SFC_RTT]);
	if (tb[TCA_SFC_SUPPRESS])
		cfg->suppress_ns = nla_get_u32(tb[TCA_SFC_SUPPRESS]);
	if (tb[TCA_SFC_ESTIMATOR])
		cfg->tau_ns = nla_get_u32(tb[TCA_SFC_ESTIMATOR]);
	if (tb[TCA_SFC_ECN])
		cfg->ecn = nla_get_u32(tb[TCA_SFC_ECN]);
	if (tb[TCA_SFC_MAXPAUSE])
		cfg->maxpause_ns = nla_get_u32(tb[TCA_SFC_MAXPAUSE]);
	if (tb[TCA_SFC_HOLDSHARE])
		cfg->holdshare = nla_get_u8(tb[TCA_SFC_HOLDSHARE]);
	if (tb[TCA_SFC_MINTTL])
		cfg->minttl = nla_get_u8(tb[TCA_SFC_MINTTL]);
	if (tb[TCA_SFC_PORT])
		cfg->port = nla_get_u16(tb[TCA_SFC_PORT]);
	if (tb[TCA_SFC_TTL])
		cfg->ttl = nla_get_u8(tb[TCA_SFC_TTL]);
	if (tb[TCA_SFC_ADDR4]) {
		cfg->addr4 = nla_get_in_addr(tb[TCA_SFC_ADDR4]);
		if (cfg->addr4 && (ipv4_is_multicast(cfg->addr4) ||
				   ipv4_is_lbcast(cfg->addr4) ||
				   ipv4_is_zeronet(cfg->addr4) ||
				   ipv4_is_loopback(cfg->addr4))) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_SFC_ADDR4],
					    "addr must be a unicast address");
			return -EINVAL;
		}
	}
	if (tb[TCA_SFC_ADDR6]) {
		cfg->addr6 = nla_get_in6_addr(tb[TCA_SFC_ADDR6]);
		if (!ipv6_addr_any(&cfg->addr6) &&
		    (!(ipv6_addr_type(&cfg->addr6) & IPV6_ADDR_UNICAST) ||
		     ipv6_addr_type(&cfg->addr6) & (IPV6_ADDR_LOOPBACK | IPV6_ADDR_LINKLOCAL))) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_SFC_ADDR6],
					    "addr must be a unicast address that can be routed");
			return -EINVAL;
		}
	}
	if (tb[TCA_SFC_TAGKEY]) {
		int len = nla_len(tb[TCA_SFC_TAGKEY]);

		if (len && len != sizeof(cfg->key)) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_SFC_TAGKEY],
					    "tagkey must be 16 bytes, or none");
			return -EINVAL;
		}
		cfg->tagged = len;
		memset(&cfg->key, 0, sizeof(cfg->key));
		memcpy(&cfg->key, nla_data(tb[TCA_SFC_TAGKEY]), len);
	}
	return sfc_config_parse_bands(cfg, tb, extack);
}

static int sfc_config_check_bands(const struct sfc_config *cfg, const struct net_device *dev,
				  struct netlink_ext_ack *extack)
{
	u32 sum = 0;
	u8 least = U8_MAX;
	int i;

	if (!cfg->defband || cfg->defband > cfg->bands) {
		NL_SET_ERR_MSG(extack, "default names a band that does not exist");
		return -EINVAL;
	}
	for (i = 0; i < TC_SFC_DSCPS; i++) {
		if (cfg->dscp[i] > cfg->bands) {
			NL_SET_ERR_MSG(extack, "dscp names a band that does not exist");
			return -EINVAL;
		}
	}
	if (cfg->bands == 1 && cfg->srcprob[0] != 100) {
		NL_SET_ERR_MSG(extack, "srcprob sets bands apart: there is one only");
		return -EINVAL;
	}
	for (i = 0; i < cfg->bands; i++) {
		sum += cfg->weights[i];
		least = min(least, cfg->weights[i]);
	}
	if (div_u64((u64)cfg->limit * least, sum) < psched_mtu(dev)) {
		NL_SET_ERR_MSG(extack, "limit leaves a band less than one packet of the device's MTU");
		return -EINVAL;
	}
	return 0;
}

/* What values must be to each other and to the device */
static int sfc_config_check(const struct sfc_config *cfg, const struct net_device *dev,
			    struct netlink_ext_ack *extack)
{
	if (cfg->limit < psched_mtu(dev)) {
		NL_SET_ERR_MSG(extack, "limit is below one packet of the device's MTU");
		return -EINVAL;
	}
	if (cfg->ccthresh > cfg->limit) {
		NL_SET_ERR_MSG(extack, "ccthresh is beyond limit");
		return -EINVAL;
	}
	if (cfg->qth > cfg->limit) {
		NL_SET_ERR_MSG(extack, "qth is beyond limit");
		return -EINVAL;
	}
	/* who sends by a port of a host is the host, and it is told; a server of others is not */
	if (cfg->flags & TC_SFC_F_HOLD && cfg->flags & TC_SFC_F_EDGE) {
		NL_SET_ERR_MSG(extack, "hold is for the port of a sender, edge for one towards servers");
		return -EINVAL;
	}
	if (cfg->tau_ns && (cfg->tau_ns < SFC_TAU_MIN_NS || cfg->tau_ns > SFC_TAU_MAX_NS)) {
		NL_SET_ERR_MSG(extack, "estimator goes from 1 us to 1 s");
		return -ERANGE;
	}
	if (cfg->ecn > cfg->limit) {
		NL_SET_ERR_MSG(extack, "ecn is beyond limit");
		return -EINVAL;
	}
	if (cfg->qth && cfg->qtg >= cfg->qth) {
		NL_SET_ERR_MSG(extack, "qtg must be below qth");
		return -EINVAL;
	}
	if (cfg->qtg >= cfg->limit) {
		NL_SET_ERR_MSG(extack, "qtg must be below limit");
		return -EINVAL;
	}
	return sfc_config_check_bands(cfg, dev, extack);
}

/* Bytes/s of the device by its own account, 0 when it has none.  RTNL, may sleep. */
static u64 sfc_link_speed(struct net_device *dev)
{
	struct ethtool_link_ksettings k = { };

	ASSERT_RTNL();
	if (__ethtool_get_link_ksettings(dev, &k) ||
	    !k.base.speed || k.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return min_t(u64, (u64)k.base.speed * 125000, TC_SFC_RATE_MAX);
}

/* What the algorithm goes by: the configuration, and where it is silent, the device */
static void sfc_config_derive(const struct sfc_config *cfg, struct net_device *dev,
			      struct sfc_alg_cfg *alg)
{
	*alg = (struct sfc_alg_cfg){
		.mtu = psched_mtu(dev) + cfg->overhead,
		.ccthresh = cfg->ccthresh ?: min(2 * psched_mtu(dev), cfg->limit),
		.floor = cfg->limit,
		.pru = cfg->flags & TC_SFC_F_PRU,
	};
	sfc_rate_set(&alg->rate, cfg->rate_bps ?: cfg->link_bps ?: sfc_link_speed(dev));
	alg->sm = alg->rate.bytes_ps && cfg->flags & TC_SFC_F_SM;
	alg->smcap = cfg->smcap;
	if (!alg->smcap && alg->rate.bytes_ps)
		alg->smcap = clamp_t(u64, sfc_supply(&alg->rate, SFC_SMCAP_NS) >>
				     SFC_TOKEN_SHIFT, alg->mtu, cfg->limit);
}

/* Likewise for SFC.  Without a rate there is no pause time: it rests. */
static void sfc_config_derive_pause(const struct sfc_config *cfg, const struct sfc_alg_cfg *alg,
				    struct sfc_pause_cfg *pause)
{
	u32 qth = cfg->qth;

	*pause = (struct sfc_pause_cfg){
		.qth_in = SFC_QUEUE_NEVER,
		.qth_out = SFC_QUEUE_NEVER,
		.qtg = cfg->qtg,
		.max_ns = cfg->maxpause_ns,
		.edge = cfg->flags & TC_SFC_F_EDGE,
	};
	if (!(cfg->flags & TC_SFC_F_SFC) || !alg->rate.bytes_ps)
		return;

	if (cfg->suppress_ns != TC_SFC_SUPPRESS_OFF)
		pause->suppress_ns = cfg->suppress_ns ?: cfg->rtt_ns / 2;
	sfc_pause_thresholds(&alg->rate, cfg->rtt_ns, alg->mtu, cfg->limit, &qth, &pause->qtg);
	if (cfg->bts == TC_SFC_BTS_INGRESS)
		pause->qth_in = qth;
	else if (cfg->bts == TC_SFC_BTS_EGRESS)
		pause->qth_out = qth;
}

/*
 * At the last hop there is nothing to estimate: the queue is here.  Elsewhere it is another
 * port's, of another rate, and so is what it may hold.
 */
static void sfc_config_derive_dre(const struct sfc_config *cfg, const struct sfc_alg_cfg *alg,
				  struct sfc_dre_cfg *dre)
{
	bool on = cfg->flags & TC_SFC_F_SFC && !(cfg->flags & TC_SFC_F_EDGE) && alg->rate.bytes_ps;
	u32 qth = cfg->qth, qtg = cfg->qtg;
	struct sfc_rate server = alg->rate;

	if (cfg->server_bps)
		sfc_rate_set(&server, cfg->server_bps);
	sfc_pause_thresholds(&server, cfg->rtt_ns, alg->mtu, cfg->limit, &qth, &qtg);
	sfc_dre_set(dre, &server, on ? cfg->tau_ns : 0, qtg);
}

/* Up to it, nothing in the queue matters to who arrives: sfc_calm().  0: something always does. */
static u32 sfc_config_calm(const struct sfc_sched *q)
{
	u32 calm = q->cfg.limit;

	if (q->dre.decay || q->multi)
		return 0;
	if (q->cfg.flags & TC_SFC_F_BOLT)
		calm = min(calm, q->alg.ccthresh);
	return min3(calm, q->pause.qth_in, q->ecn);
}

/* The device's MTU or speed may have changed.  RTNL. */
void sfc_config_refresh(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_alg_cfg alg;

	sfc_config_derive(&q->cfg, qdisc_dev(sch), &alg);
	sch_tree_lock(sch);
	q->alg = alg;
	sfc_config_derive_pause(&q->cfg, &alg, &q->pause);
	sfc_config_derive_dre(&q->cfg, &alg, &q->dre);
	sfc_qos_update(sch, &q->cfg, alg.mtu);
	q->calm = sfc_config_calm(q);
	sfc_port_tune(sch);
	sch_tree_unlock(sch);
}

/* Nothing to decide about a packet that finds the port idle: the stack may send it straight on */
static bool sfc_config_idle(const struct sfc_config *cfg)
{
	return !cfg->rate_bps && !cfg->ecn && cfg->bands == 1 &&
	       !(cfg->flags & (TC_SFC_F_BOLT | TC_SFC_F_SFC | TC_SFC_F_CACHE | TC_SFC_F_SPLIT_GSO |
			       TC_SFC_F_HOLD));
}

static void sfc_config_commit(struct Qdisc *sch, const struct sfc_config *cfg,
			      const struct sfc_alg_cfg *alg, struct sfc_hold *hold,
			      struct sfc_port *port)
{
	struct sfc_sched *q = qdisc_priv(sch);
	bool unedge = q->cfg.flags & ~cfg->flags & TC_SFC_F_EDGE;
	u64 now = ktime_get_ns();
	int i;

	sch_tree_lock(sch);
	sfc_net_update(sch, cfg);
	if (cfg->srcrate != q->cfg.srcrate)
		sfc_limiter_set(&q->src_limiter, cfg->srcrate, now);
	if (cfg->rate_bps != q->cfg.rate_bps) {
		/* what the old rate has left on the wire may be hours of it */
		q->next_ns = 0;
		q->next_frac = 0;
		if (sch->q.qlen)
			qdisc_watchdog_schedule_ns(&q->watchdog, now);
	}
	if (cfg->addr4 != q->cfg.addr4 || cfg->ttl != q->cfg.ttl)
		sfc_ways_forget(q);
	q->cfg = *cfg;
	q->alg = *alg;
	sfc_config_derive_pause(cfg, alg, &q->pause);
	sfc_config_derive_dre(cfg, alg, &q->dre);
	q->ecn = cfg->ecn ?: SFC_QUEUE_NEVER;
	if (sfc_config_idle(cfg))
		sch->flags |= TCQ_F_CAN_BYPASS;
	else
		sch->flags &= ~TCQ_F_CAN_BYPASS;
	sfc_bloom_forget(&q->told);
	sfc_qos_update(sch, cfg, alg->mtu);
	hold = sfc_hold_update(sch, hold);
	q->calm = sfc_config_calm(q);
	sfc_port_tune(sch);
	sfc_queue_shrink(sch);
	q->stats.backlog_peak = sfc_backlog(sch);
	for (i = 0; i < TC_SFC_BANDS_MAX; i++)
		q->stats.band[i].backlog_peak = q->qos.band[i].bytes;
	sch_tree_unlock(sch);
	sfc_port_update(sch, port);
	sfc_hold_free(sch, hold);
	if (unedge)
		sfc_net_unedge(sch);
}

/* Also the first configuration; @opt may be absent then. */
int sfc_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct net_device *dev = qdisc_dev(sch);
	struct sfc_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SFC_MAX + 1];
	struct sfc_config cfg = q->cfg;
	struct sfc_alg_cfg alg;
	struct sfc_hold *hold;
	struct sfc_port *port;
	int err;

	if (opt) {
		err = nla_parse_nested(tb, TCA_SFC_MAX, opt, sfc_policy, extack);
		if (err)
			return err;
		err = sfc_config_parse(&cfg, tb, extack);
		if (err)
			goto out;
	}
	err = sfc_config_check(&cfg, dev, extack);
	if (err)
		goto out;

	hold = sfc_hold_prepare(sch, &cfg);
	if (IS_ERR(hold)) {
		err = PTR_ERR(hold);
		goto out;
	}
	err = sfc_net_prepare(sch, &cfg);
	if (err) {
		sfc_hold_free(sch, hold);
		goto out;
	}
	port = sfc_port_prepare(sch, &cfg);
	if (IS_ERR(port)) {
		sfc_hold_free(sch, hold);
		err = PTR_ERR(port);
		goto out;
	}
	sfc_config_derive(&cfg, dev, &alg);
	if (cfg.flags & (TC_SFC_F_BOLT | TC_SFC_F_SFC) && !alg.rate.bytes_ps)
		NL_SET_ERR_MSG(extack,
			       "link speed unknown: no SRC, no BTS, no supply matching; give link or rate");
	sfc_config_commit(sch, &cfg, &alg, hold, port);
out:
	memzero_explicit(&cfg.key, sizeof(cfg.key));
	return err;
}

int sfc_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	const struct sfc_config *cfg = &q->cfg;
	struct nlattr *nest;

	nest = nla_nest_start(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;

	if (nla_put_bitfield32(skb, TCA_SFC_FLAGS, cfg->flags, TC_SFC_F_ALL) ||
	    nla_put_u64_64bit(skb, TCA_SFC_RATE64, cfg->rate_bps, TCA_SFC_PAD) ||
	    nla_put_u64_64bit(skb, TCA_SFC_LINK64, cfg->link_bps, TCA_SFC_PAD) ||
	    nla_put_u32(skb, TCA_SFC_LIMIT, cfg->limit) ||
	    nla_put_u32(skb, TCA_SFC_CCTHRESH, cfg->ccthresh) ||
	    nla_put_u32(skb, TCA_SFC_OVERHEAD, cfg->overhead) ||
	    nla_put_u32(skb, TCA_SFC_SMCAP, cfg->smcap) ||
	    nla_put_u32(skb, TCA_SFC_SWITCH_ID, cfg->switch_id) ||
	    nla_put_u32(skb, TCA_SFC_SRCRATE, cfg->srcrate) ||
	    nla_put_u8(skb, TCA_SFC_BTS, cfg->bts) ||
	    nla_put_u32(skb, TCA_SFC_QTH, cfg->qth) ||
	    nla_put_u32(skb, TCA_SFC_QTG, cfg->qtg) ||
	    nla_put_u32(skb, TCA_SFC_RTT, cfg->rtt_ns) ||
	    nla_put_u32(skb, TCA_SFC_SUPPRESS, cfg->suppress_ns) ||
	    nla_put_u32(skb, TCA_SFC_MAXPAUSE, cfg->maxpause_ns) ||
	    nla_put_u32(skb, TCA_SFC_ECN, cfg->ecn) ||
	    nla_put_u32(skb, TCA_SFC_ESTIMATOR, cfg->tau_ns) ||
	    nla_put_u8(skb, TCA_SFC_HOLDSHARE, cfg->holdshare) ||
	    nla_put_u8(skb, TCA_SFC_MINTTL, cfg->minttl) ||
	    nla_put_u64_64bit(skb, TCA_SFC_SERVERRATE64, cfg->server_bps, TCA_SFC_PAD) ||
	    nla_put_u16(skb, TCA_SFC_PORT, cfg->port) ||
	    nla_put_u8(skb, TCA_SFC_TTL, cfg->ttl) ||
	    nla_put_u8(skb, TCA_SFC_BANDS, cfg->bands) ||
	    nla_put(skb, TCA_SFC_WEIGHTS, cfg->bands, cfg->weights) ||
	    nla_put(skb, TCA_SFC_SRCPROB, cfg->bands, cfg->srcprob) ||
	    nla_put_u8(skb, TCA_SFC_DEFAULT, cfg->defband) ||
	    nla_put(skb, TCA_SFC_DSCP, sizeof(cfg->dscp), cfg->dscp))
		goto cancel;
	if (cfg->addr4 && nla_put_in_addr(skb, TCA_SFC_ADDR4, cfg->addr4))
		goto cancel;
	if (!ipv6_addr_any(&cfg->addr6) && nla_put_in6_addr(skb, TCA_SFC_ADDR6, &cfg->addr6))
		goto cancel;

	return nla_nest_end(skb, nest);

cancel:
	nla_nest_cancel(skb, nest);
	return -EMSGSIZE;
}

int sfc_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_cache_stats cache = { };
	struct tc_sfc_xstats *st;
	int err;

	/* too much for the stack */
	st = kmalloc(sizeof(*st), GFP_KERNEL);
	if (!st)
		return -ENOMEM;
	if (q->cache)
		sfc_cache_stats(q->cache, &cache, ktime_get_ns());
	sch_tree_lock(sch);
	*st = q->stats;
	sfc_hold_stats(sch, st);
	sfc_qos_stats(sch, st);
	st->hold_pkts = q->held_pkts;
	st->hold_bytes = q->held_bytes;
	st->link_rate = q->alg.rate.bytes_ps;
	st->ccthresh = q->alg.ccthresh;
	st->mtu = q->alg.mtu;
	st->sm_token = sfc_sm_bytes(&q->state.sm);
	st->pru_token = q->state.pru_token;
	sfc_port_stats(sch, st);
	st->tagged = q->cfg.tagged;
	st->qth = min(q->pause.qth_in, q->pause.qth_out);
	if (st->qth == SFC_QUEUE_NEVER)
		st->qth = 0;
	st->qtg = q->pause.qtg;
	st->suppress_ns = q->pause.suppress_ns;
	st->cache_entries = cache.entries;
	st->cache_inserts = cache.inserts;
	st->cache_updates = cache.updates;
	st->cache_full = cache.full;
	st->cache_refused = cache.refused;
	st->cache_ignored = cache.ignored;
	sch_tree_unlock(sch);

	err = gnet_stats_copy_app(d, st, sizeof(*st));
	kfree(st);
	return err;
}
