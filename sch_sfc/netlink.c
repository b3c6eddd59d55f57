// SPDX-License-Identifier: GPL-2.0
/*
 * Options and statistics: everything is parsed into a copy and checked (config.c) as a
 * whole, then committed with the tree locked; a refusal leaves no trace.
 */
#include "buffer.h"
#include "port.h"

static struct netlink_range_validation sfc_rtt_range = {
	.min = SFC_RTT_MIN_NS,
	.max = SFC_RTT_MAX_NS,
};

/* 0: derived from the RTT */
static struct netlink_range_validation sfc_delay_range = {
	.max = SFC_RTT_MAX_NS,
};

/*
 * Options that are a number, or bytes, of struct sfc_config as they are of an attribute:
 * O(attribute, member, policy)
 */
#define SFC_OPTIONS(O)							\
	O(RATE64, rate_bps, { .type = NLA_U64 })			\
	O(LINK64, link_bps, { .type = NLA_U64 })			\
	O(SERVERRATE64, server_bps, { .type = NLA_U64 })		\
	O(LIMIT, limit, { .type = NLA_U32 })				\
	O(CCTHRESH, ccthresh, { .type = NLA_U32 })			\
	O(PRUTHRESH, pruthresh, { .type = NLA_U32 })			\
	O(OVERHEAD, overhead, NLA_POLICY_MAX(NLA_U32, TC_SFC_OVERHEAD_MAX)) \
	O(SMCAP, smcap, { .type = NLA_U32 })				\
	O(SWITCH_ID, switch_id, { .type = NLA_U32 })			\
	O(MSGRATE, msgrate, NLA_POLICY_MIN(NLA_U32, 1))			\
	O(BTS, bts, NLA_POLICY_MAX(NLA_U8, TC_SFC_BTS_OFF))		\
	O(QTH, qth, { .type = NLA_U32 })				\
	O(QTG, qtg, { .type = NLA_U32 })				\
	O(RTT, rtt_ns, NLA_POLICY_FULL_RANGE(NLA_U32, &sfc_rtt_range))	\
	O(SUPPRESS, suppress_ns, { .type = NLA_U32 })			\
	O(MAXPAUSE, maxpause_ns, NLA_POLICY_MIN(NLA_U32, SFC_RTT_MIN_NS)) \
	O(ECN, ecn, { .type = NLA_U32 })				\
	O(ESTIMATOR, tau_ns, { .type = NLA_U32 })			\
	O(PORT, port, NLA_POLICY_MIN(NLA_U16, 1))			\
	O(TTL, ttl, NLA_POLICY_MIN(NLA_U8, 1))				\
	O(ADDR4, addr4, { .type = NLA_U32 })				\
	O(ADDR6, addr6, NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)))	\
	O(BANDS, bands, NLA_POLICY_RANGE(NLA_U8, 1, TC_SFC_BANDS_MAX))	\
	O(DEFAULT, defband, { .type = NLA_U8 })				\
	O(DSCP, dscp, NLA_POLICY_EXACT_LEN(TC_SFC_DSCPS))		\
	O(LEVELS, levels, NLA_POLICY_EXACT_LEN(TC_SFC_LEVELS))		\
	O(BUFFER, buffer, { .type = NLA_U32 })				\
	O(ALPHA, alpha, { .type = NLA_U32 })				\
	O(PFC, pfc.prios, { .type = NLA_U8 })				\
	O(XOFF, pfc.xoff, { .type = NLA_U32 })				\
	O(XON, pfc.xon, { .type = NLA_U32 })				\
	O(PFC_STUCK, pfc.stuck_ns, { .type = NLA_U32 })			\
	O(PFC_IGNORE, pfc.ignore_ns, { .type = NLA_U32 })		\
	O(MEMORY_LIMIT, memory_limit, NLA_POLICY_MIN(NLA_U32, 1))	\
	O(SRCC, srcc, { .type = NLA_U32 })				\
	O(SRCC_DELAY, srcc_delay_ns, NLA_POLICY_FULL_RANGE(NLA_U32, &sfc_delay_range)) \
	O(SRCC_WINDOW, srcc_window_ns, { .type = NLA_U32 })

static const struct nla_policy sfc_policy[TCA_SFC_MAX + 1] = {
#define O(attr, member, ...)	\
	[TCA_SFC_##attr] = __VA_ARGS__,
	SFC_OPTIONS(O)
#undef O
	/* ignored: a dump pads 64-bit attributes with it, and may be sent back as a request */
	[TCA_SFC_PAD]		= { .type = NLA_FLAG },
	[TCA_SFC_FLAGS]		= NLA_POLICY_BITFIELD32(TC_SFC_F_ALL),
	[TCA_SFC_TAGKEY]	= { .type = NLA_BINARY, .len = sizeof(siphash_key_t) },
	[TCA_SFC_SWITCHKEY]	= { .type = NLA_BINARY, .len = sizeof(struct bolt_keys) },
	[TCA_SFC_HOLDSHARE]	= { .type = NLA_REJECT,
				    .reject_message = "holdshare is share of sfc_hold" },
	[TCA_SFC_MINTTL]	= { .type = NLA_REJECT,
				    .reject_message = "minttl is an option of sfc_hold" },
	[TCA_SFC_WEIGHTS]	= { .type = NLA_BINARY, .len = TC_SFC_BANDS_MAX },
	[TCA_SFC_SRCPROB]	= { .type = NLA_BINARY, .len = TC_SFC_BANDS_MAX },
};

static const struct sfc_value sfc_values[TCA_SFC_MAX + 1] = {
#define O(attr, member, ...)	\
	[TCA_SFC_##attr] = SFC_VALUE(struct sfc_config, member),
	SFC_OPTIONS(O)
#undef O
};

/* Attributes of a type, whose lengths the policy has seen to, become members of @cfg. */
void sfc_values_parse(void *cfg, const struct sfc_value *values, int max, struct nlattr **tb)
{
	int i;

	for (i = 1; i <= max; i++)
		if (tb[i] && values[i].len)
			memcpy((u8 *)cfg + values[i].off, nla_data(tb[i]), values[i].len);
}

/* Dump one such member; nothing if @v is empty */
int sfc_value_dump(struct sk_buff *skb, const void *cfg, const struct sfc_value *v, int type)
{
	const void *value = (const u8 *)cfg + v->off;

	if (!v->len)
		return 0;
	if (v->len == sizeof(u64))
		return nla_put_64bit(skb, type, v->len, value, TCA_SFC_PAD);
	return nla_put(skb, type, v->len, value);
}

static int sfc_refuse(struct netlink_ext_ack *extack, const char *why)
{
	if (extack)
		extack->_msg = why;
	return -EINVAL;
}

/* One number per band; cfg->bands is parsed already */
static int sfc_config_parse_per_band(u8 *to, const struct sfc_config *cfg,
				     const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	if (!attr)
		return 0;
	if (nla_len(attr) != cfg->bands)
		return sfc_refuse(extack, "weights and srcprob name a number for each band");
	memcpy(to, nla_data(attr), cfg->bands);
	return 0;
}

/* Set one or two keys, or none if the attribute is empty. */
int sfc_keys_parse(struct bolt_keys *keys, bool *set, const struct nlattr *attr,
		   struct netlink_ext_ack *extack)
{
	if (!attr)
		return 0;
	*set = nla_len(attr);
	memzero_explicit(keys, sizeof(*keys));
	if (*set && !bolt_keys_set(keys, nla_data(attr), nla_len(attr)))
		return sfc_refuse(extack, "a key must be 16 bytes, two of them 32");
	return 0;
}

static int sfc_config_parse(struct sfc_config *cfg, struct nlattr **tb,
			    struct netlink_ext_ack *extack)
{
	int i, was = cfg->bands;

	sfc_values_parse(cfg, sfc_values, TCA_SFC_MAX, tb);
	cfg->memory_given |= !!tb[TCA_SFC_MEMORY_LIMIT];
	if (!cfg->memory_given)
		cfg->memory_limit = sfc_config_memory_limit(cfg->limit);
	if (tb[TCA_SFC_FLAGS]) {
		struct nla_bitfield32 f = nla_get_bitfield32(tb[TCA_SFC_FLAGS]);

		cfg->flags = (cfg->flags & ~f.selector) | f.value;
	}
	/* added bands get the defaults, even if they existed before */
	for (i = was; i < cfg->bands; i++) {
		cfg->weights[i] = 1;
		cfg->srcprob[i] = 100;
	}
	return sfc_keys_parse(&cfg->tagkey, &cfg->has_tagkey, tb[TCA_SFC_TAGKEY], extack) ?:
	       sfc_keys_parse(&cfg->switchkey, &cfg->has_switchkey, tb[TCA_SFC_SWITCHKEY],
			      extack) ?:
	       sfc_config_parse_per_band(cfg->weights, cfg, tb[TCA_SFC_WEIGHTS], extack) ?:
	       sfc_config_parse_per_band(cfg->srcprob, cfg, tb[TCA_SFC_SRCPROB], extack);
}

/* Also the first configuration; @opt may be absent then. */
int sfc_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct net_device *dev = qdisc_dev(sch);
	struct sfc_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SFC_MAX + 1] = { };
	struct sfc_config cfg = q->cfg;
	struct sfc_alg_cfg alg;
	struct sfc_port *port;
	const char *why;
	bool room;
	int err;

	if (opt) {
		err = nla_parse_nested(tb, TCA_SFC_MAX, opt, sfc_policy, extack) ?:
		      sfc_config_parse(&cfg, tb, extack);
		if (err)
			goto out;
	}
	/* at first, when no MTU is known yet, and where it is asked for */
	room = !q->alg.mtu || tb[TCA_SFC_LIMIT] || tb[TCA_SFC_BANDS] ||
	       tb[TCA_SFC_WEIGHTS] || tb[TCA_SFC_LEVELS] || tb[TCA_SFC_BUFFER];
	why = sfc_config_check(&cfg, dev, room);
	if (why) {
		err = sfc_refuse(extack, why);
		goto out;
	}

	err = sfc_config_prepare(sch, &cfg);
	if (err == -ENOSPC)
		NL_SET_ERR_MSG(extack, "pfc: as many devices of the namespace have it as can");
	if (err)
		goto out;
	port = sfc_port_prepare(sch, &cfg);
	if (IS_ERR(port)) {
		err = PTR_ERR(port);
		sfc_switch_count_edge(sch, 0);
		goto out;
	}
	sfc_config_derive(&cfg, dev, &alg);
	if (cfg.flags & (TC_SFC_F_BOLT | TC_SFC_F_PAUSE) && !alg.rate.bytes_ps)
		NL_SET_ERR_MSG(extack,
			       "link speed unknown: no SRC, no BTS, no supply matching; give link or rate");
	sfc_config_commit(sch, &cfg, &alg, port);
out:
	sfc_config_forget_keys(&cfg);
	return err;
}

/* Where there is no room for it, tc_fill_qdisc() takes back the whole message. */
int sfc_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct sfc_sched *q = qdisc_priv(sch);
	const struct sfc_config *cfg = &q->cfg;
	struct nlattr *nest;
	int i;

	nest = nla_nest_start(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_bitfield32(skb, TCA_SFC_FLAGS, cfg->flags, TC_SFC_F_ALL) ||
	    nla_put(skb, TCA_SFC_WEIGHTS, cfg->bands, cfg->weights) ||
	    nla_put(skb, TCA_SFC_SRCPROB, cfg->bands, cfg->srcprob))
		return -EMSGSIZE;
	for (i = 1; i <= TCA_SFC_MAX; i++) {
		/* no address configured */
		if ((i == TCA_SFC_ADDR4 && !cfg->addr4) ||
		    (i == TCA_SFC_ADDR6 && ipv6_addr_any(&cfg->addr6)))
			continue;
		if (sfc_value_dump(skb, cfg, &sfc_values[i], i))
			return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

/*
 * Not by gnet_stats_copy_app(), which would say it all again in TCA_XSTATS, for programs older than
 * TCA_STATS2: a notification has one page for the old qdisc and the new.
 */
int sfc_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct tc_sfc_xstats st;
	int i;

	/* counters and tokens of one moment: they are written under this lock */
	sch_tree_lock(sch);
	st = q->stats;
	for (i = 0; i < TC_SFC_BANDS_MAX; i++) {
		const struct tc_sfc_band *band = &q->band_stats[i].app;

		st.data += band->data;
		st.congested += band->congested;
		st.src_sent += band->src_sent;
		st.pru_added += band->pru_added;
		st.inc_pru += band->inc_pru;
		st.inc_sm += band->inc_sm;
	}
	st.type = TC_SFC_XSTATS_QDISC;
	st.link_rate = q->alg.rate.bytes_ps;
	st.ccthresh = q->alg.ccthresh;
	st.mtu = q->alg.mtu;
	if (!sfc_has_bands(q)) {
		st.sm_token = sfc_sm_bytes(&q->qos.band[0].state.sm);
		st.pru_token = q->qos.band[0].state.pru_token;
	}
	st.memory_used = q->memory_used;
	sfc_port_stats(sch, &st);
	sfc_buffer_stats(q, &st);
	st.tagged = q->cfg.has_tagkey;
	st.qth = min(q->pause.qth_in, q->pause.qth_out);
	if (st.qth == SFC_QUEUE_NEVER)
		st.qth = 0;
	st.qtg = q->pause.qtg;
	st.suppress_ns = q->pause.suppress_ns;
	sch_tree_unlock(sch);
	st.cache_entries = q->cache ? sfc_cache_count(q->cache, ktime_get_ns()) : 0;
	return nla_put_64bit(d->skb, TCA_STATS_APP, sizeof(st), &st, TCA_STATS_PAD);
}
