// SPDX-License-Identifier: GPL-2.0
/*
 * The configuration of a port: validation, and the parameters derived from it and the device.
 *
 *	netlink.c ---> struct sfc_config ---> sfc_config_check()	is it possible?
 *					 ---> sfc_config_prepare()	memory that it needs
 *					 ---> sfc_config_derive()	rate, MTU, thresholds
 *					 ---> sfc_config_commit()	with the tree locked
 *	the device's speed or MTU changes --> sfc_config_refresh()
 */
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/jhash.h>
#include <linux/rtnetlink.h>

#include "buffer.h"
#include "port.h"
#include "queue.h"

static const u64 sfc_never;

void sfc_config_default(struct sfc_config *cfg, const struct net_device *dev)
{
	*cfg = (struct sfc_config){
		.flags = SFC_FLAGS_DEFAULT,
		.limit = SFC_LIMIT_DEFAULT,
		.memory_limit = TC_SFC_MEMORY_LIMIT,
		.msgrate = SFC_MSGRATE_DEFAULT,
		.port = BOLT_CTL_PORT,
		.ttl = SFC_TTL_DEFAULT,
		.switch_id = jhash(dev->dev_addr, dev->addr_len, dev->ifindex),
		.rtt_ns = SFC_RTT_DEFAULT_NS,
		.maxpause_ns = SFC_PAUSE_MAX_NS,
		.alpha = TC_SFC_ALPHA_ONE,
		.pfc.stuck_ns = SFC_PFC_STUCK_NS,
		.pfc.ignore_ns = SFC_PFC_IGNORE_NS,
		.bands = 1,
		.defband = 1,
	};
	memset(cfg->weights, 1, sizeof(cfg->weights));
	memset(cfg->srcprob, 100, sizeof(cfg->srcprob));
}

/* Clear the keys before the memory is reused. */
void sfc_config_forget_keys(struct sfc_config *cfg)
{
	memzero_explicit(&cfg->tagkey, sizeof(cfg->tagkey));
	memzero_explicit(&cfg->switchkey, sizeof(cfg->switchkey));
}

/* Why bands are invalid, or NULL */
static const char *sfc_config_bands_flaw(const struct sfc_config *cfg)
{
	int i;

	for (i = 0; i < cfg->bands; i++)
		if (!cfg->weights[i] || !cfg->srcprob[i] || cfg->srcprob[i] > 100)
			return "weights go from 1 to 255, srcprob from 1 to 100";
	if (!cfg->defband || cfg->defband > cfg->bands)
		return "default names a band that does not exist";
	for (i = 0; i < TC_SFC_DSCPS; i++)
		if (cfg->dscp[i] > cfg->bands)
			return "dscp names a band that does not exist";
	if (cfg->levels[0] || (!cfg->levels[1] && cfg->levels[TC_SFC_LEVELS - 1]))
		return "levels have a band from the first to the last, or none";
	/* else the packets of a message would overtake each other */
	for (i = 1; i < TC_SFC_LEVELS; i++)
		if (cfg->levels[i] > cfg->bands || cfg->levels[i] < cfg->levels[i - 1])
			return "levels lead from each band to a later one that exists";
	for (i = 0; cfg->levels[1] && i < cfg->bands; i++)
		if (cfg->weights[i] != 1)
			return "levels are served in their order: weights do not apply";
	if (cfg->bands == 1 && cfg->srcprob[0] != 100)
		return "srcprob sets bands apart: there is one only";
	/* Algorithm 4, not 1, is about bands */
	if (cfg->flags & TC_SFC_F_PAPER && cfg->bands > 1)
		return "paper and bands are mutually exclusive: it has one queue";
	return NULL;
}

/* Why any other option is invalid, or NULL */
static const char *sfc_config_flaw(const struct sfc_config *cfg)
{
	const u64 rates[] = { cfg->rate_bps, cfg->link_bps, cfg->server_bps };
	const int type6 = ipv6_addr_type(&cfg->addr6);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rates); i++)
		if (rates[i] && (rates[i] < TC_SFC_RATE_MIN || rates[i] > TC_SFC_RATE_MAX))
			return "rates go from 8 kbit/s to 4294 Gbit/s";
	if (cfg->addr4 && (ipv4_is_multicast(cfg->addr4) || ipv4_is_lbcast(cfg->addr4) ||
			   ipv4_is_zeronet(cfg->addr4) || ipv4_is_loopback(cfg->addr4)))
		return "addr must be a unicast address";
	if (type6 != IPV6_ADDR_ANY && (!(type6 & IPV6_ADDR_UNICAST) ||
				       type6 & (IPV6_ADDR_LOOPBACK | IPV6_ADDR_LINKLOCAL)))
		return "addr must be a unicast address that can be routed";
	if (cfg->tau_ns && (cfg->tau_ns < SFC_TAU_MIN_NS || cfg->tau_ns > SFC_TAU_MAX_NS))
		return "estimator goes from 1 us to 1 s";
	if (cfg->ccthresh > cfg->limit)
		return "ccthresh is beyond limit";
	if (cfg->pruthresh > cfg->limit)
		return "pruthresh is beyond limit";
	if (cfg->qth > cfg->limit)
		return "qth is beyond limit";
	if (cfg->ecn > cfg->limit)
		return "ecn is beyond limit";
	if (cfg->qth && cfg->qtg >= cfg->qth)
		return "qtg must be below qth";
	if (cfg->qtg >= cfg->limit)
		return "qtg must be below limit";
	if (cfg->flags & TC_SFC_F_CACHE && !cfg->has_switchkey)
		return "cache needs a switchkey: else anybody could pause senders by UDP";
	if (cfg->has_tagkey && cfg->has_switchkey &&
	    (!memcmp(&cfg->tagkey.sign, &cfg->switchkey.sign, sizeof(siphash_key_t)) ||
	     !memcmp(&cfg->tagkey.sign, &cfg->switchkey.other, sizeof(siphash_key_t))))
		return "switchkey and tagkey must differ: hosts know the tagkey";
	return NULL;
}

/* Why buffer, pfc, sfc-p or srcc is invalid, or NULL */
static const char *sfc_config_buffer_flaw(const struct sfc_config *cfg,
					  const struct net_device *dev)
{
	const struct sfc_pfc_config *pfc = &cfg->pfc;

	if (!cfg->alpha || cfg->alpha > TC_SFC_ALPHA_MAX)
		return "alpha goes from 1/1024 to 128";
	if (cfg->buffer > S32_MAX)
		return "buffer goes up to 2 GB";
	if (cfg->flags & TC_SFC_F_SFCP &&
	    (!pfc->prios || ~cfg->flags & (TC_SFC_F_PAUSE | TC_SFC_F_CACHE)))
		return "sfc-p needs pfc, pause and cache: else anybody could pause hosts by UDP";
	if (cfg->srcc && !pfc->prios)
		return "srcc needs pfc: it keeps senders from causing pauses";
	if (cfg->srcc < TC_SFC_SRCC_MEASURED && cfg->srcc > cfg->limit)
		return "srcc is beyond limit";
	if (!pfc->prios)
		return NULL;
	if (cfg->levels[1])
		return "pfc and levels are mutually exclusive: a level has packets of any priority";
	/* a PAUSE is of the whole link */
	if (dev->type != ARPHRD_ETHER || is_vlan_dev(dev) || netif_is_macvlan(dev))
		return "pfc needs an Ethernet device, the one below a VLAN or macvlan";
	if (!pfc->xoff)
		return "pfc needs xoff";
	if (pfc->xoff > cfg->limit)
		return "xoff is beyond limit";
	if (pfc->xon > pfc->xoff)
		return "xon is beyond xoff";
	return NULL;
}

/* The most that a lone port can queue */
static u32 sfc_config_room(const struct sfc_config *cfg)
{
	if (!cfg->buffer)
		return cfg->limit;
	return min_t(u64, cfg->limit, div_u64((u64)cfg->buffer * cfg->alpha,
					      cfg->alpha + TC_SFC_ALPHA_ONE));
}

/*
 * The most that Qth may be by default, so that the queue of a lone port can exceed it; with levels,
 * that of the last, by sfc_qos_set()
 */
static u32 sfc_config_qth_most(const struct sfc_config *cfg)
{
	u64 room = cfg->limit;

	if (cfg->levels[1])
		room -= div_u64(room * (cfg->bands - 1), 2 * cfg->bands);
	room = min(room, sfc_config_room(cfg));
	return room - room / 4;
}

/*
 * Where a packet of the device's MTU has no room unless it is alone, or NULL.  Refused when asked
 * for; but the MTU may rise beyond what is configured.  The weights have been checked.
 */
static const char *sfc_config_narrow(const struct sfc_config *cfg, const struct net_device *dev)
{
	u32 mtu = sfc_mtu(dev), sum = 0;
	u8 least = U8_MAX;
	int i;

	for (i = 0; i < cfg->bands; i++) {
		sum += cfg->weights[i];
		least = min(least, cfg->weights[i]);
	}
	if (cfg->limit < mtu)
		return "limit is below one packet of the device's MTU";
	/* with levels the last is let have more than half */
	if (cfg->levels[1] ? cfg->limit / 2 < mtu : div_u64((u64)cfg->limit * least, sum) < mtu)
		return "limit leaves a band less than one packet of the device's MTU";
	if (cfg->buffer && cfg->buffer < mtu)
		return "buffer is below one packet of the device's MTU";
	return NULL;
}

/* Why a configuration is invalid, or NULL.  @room: it says how much may wait */
const char *sfc_config_check(const struct sfc_config *cfg, const struct net_device *dev, bool room)
{
	return sfc_config_bands_flaw(cfg) ?: (room ? sfc_config_narrow(cfg, dev) : NULL) ?:
	       sfc_config_flaw(cfg) ?: sfc_config_buffer_flaw(cfg, dev);
}

/*
 * Bytes/s of the device by its own account, 0 when it has none.  RTNL and, since 6.15, the device's
 * own lock.  May sleep.
 */
static u64 sfc_link_speed(struct net_device *dev)
{
	struct ethtool_link_ksettings k;

	if (netif_get_link_ksettings(dev, &k) || k.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return min_t(u64, (u64)k.base.speed * 125000, TC_SFC_RATE_MAX);
}

/* Derive the algorithm's parameters from the configuration and the device.  Context: RTNL */
void sfc_config_derive(const struct sfc_config *cfg, struct net_device *dev,
		       struct sfc_alg_cfg *alg)
{
	const bool paper = cfg->flags & TC_SFC_F_BOLT && cfg->flags & TC_SFC_F_PAPER;
	u32 mtu = sfc_mtu(dev);
	u64 pruthresh, speed;

	*alg = (struct sfc_alg_cfg){
		.mtu = mtu + cfg->overhead,
		.ccthresh = cfg->ccthresh ?: min(2 * mtu, cfg->limit),
		.floor = paper ? U32_MAX : sfc_config_room(cfg),	/* 4 GB is like none */
		.pru_max = paper ? U32_MAX : SFC_PRU_MAX,
		.pru = cfg->flags & TC_SFC_F_PRU,
		.paper = paper,
	};
	/* drivers may have to ask the hardware */
	speed = cfg->link_bps || (cfg->rate_bps && !cfg->pfc.prios) ? 0 : sfc_link_speed(dev);
	sfc_rate_set(&alg->rate, cfg->rate_bps ?: cfg->link_bps ?: speed);
	/* some devices report less than what goes through them: tun 10 Mb/s */
	alg->link_bps = cfg->link_bps ?: max(speed, cfg->rate_bps);
	alg->sm = alg->rate.bytes_ps && cfg->flags & TC_SFC_F_SM;
	/* a quarter of what the link carries in an RTT; without a rate the paper's threshold */
	pruthresh = cfg->pruthresh ?: sfc_supply(&alg->rate, cfg->rtt_ns) >> (SFC_TOKEN_SHIFT + 2);
	alg->pruthresh = max_t(u64, min_t(u64, pruthresh, cfg->limit), alg->ccthresh);
	if (!paper)
		alg->smcap = cfg->smcap ?: clamp_t(u64, sfc_supply(&alg->rate, SFC_SMCAP_NS) >>
						   SFC_TOKEN_SHIFT, alg->mtu, cfg->limit);
}

/* Likewise for SFC, which is off without a rate, since there is no pause time. */
static void sfc_config_derive_pause(const struct sfc_config *cfg, const struct sfc_alg_cfg *alg,
				    struct sfc_pause_cfg *pause)
{
	u32 qth = cfg->qth;

	*pause = (struct sfc_pause_cfg){
		.qth_in = SFC_QUEUE_NEVER,
		.qth_out = SFC_QUEUE_NEVER,
		.qtg = cfg->qtg,
		.max_ns = cfg->maxpause_ns,
		.cacheable = cfg->flags & TC_SFC_F_EDGE && cfg->has_switchkey,
	};
	if (!(cfg->flags & TC_SFC_F_PAUSE) || !alg->rate.bytes_ps)
		return;

	if (cfg->suppress_ns != TC_SFC_SUPPRESS_OFF)
		pause->suppress_ns = cfg->suppress_ns ?: cfg->rtt_ns / 2;
	sfc_pause_thresholds(&alg->rate, cfg->rtt_ns, alg->mtu,
			     qth ? cfg->limit : max(sfc_config_qth_most(cfg), cfg->qtg + 1),
			     &qth, &pause->qtg);
	if (cfg->bts == TC_SFC_BTS_INGRESS)
		pause->qth_in = qth;
	else if (cfg->bts == TC_SFC_BTS_EGRESS)
		pause->qth_out = qth;
}

/*
 * At the last hop there is nothing to estimate, because the queue is here.  Elsewhere the queue is
 * that of another port, with its own rate and thresholds.
 */
static void sfc_config_derive_dre(const struct sfc_config *cfg, const struct sfc_alg_cfg *alg,
				  struct sfc_dre_cfg *dre)
{
	bool on = cfg->flags & TC_SFC_F_PAUSE && !(cfg->flags & TC_SFC_F_EDGE) &&
		  alg->rate.bytes_ps;
	u32 qth = cfg->qth, qtg = cfg->qtg;
	struct sfc_rate server = alg->rate;

	if (cfg->server_bps)
		sfc_rate_set(&server, cfg->server_bps);
	sfc_pause_thresholds(&server, cfg->rtt_ns, alg->mtu, cfg->limit, &qth, &qtg);
	sfc_dre_set(dre, &server, on ? cfg->tau_ns : 0, qtg);
}

/* Largest backlog, including the packet that arrives, for the fast path; 0: there is none */
static u32 sfc_config_uncongested(const struct sfc_sched *q)
{
	u32 bytes = q->qos.band[SFC_BAND_HIGH].limit;

	if (q->dre.decay || sfc_has_bands(q) || q->alg.paper || q->cfg.buffer ||
	    q->pause.qth_out != SFC_QUEUE_NEVER)
		return 0;
	if (q->cfg.flags & TC_SFC_F_BOLT)
		bytes = min(bytes, q->alg.ccthresh);
	return min3(bytes, q->pause.qth_in, q->ecn);
}

/* @alg, and what follows from it and the configuration, is in force from now on.  Tree locked. */
static void sfc_config_apply(struct Qdisc *sch, const struct sfc_alg_cfg *alg)
{
	struct sfc_sched *q = qdisc_priv(sch);
	const struct sfc_config *cfg = &q->cfg;

	q->alg = *alg;
	sfc_config_derive_pause(cfg, alg, &q->pause);
	sfc_config_derive_dre(cfg, alg, &q->dre);
	q->srcc_cfg = (struct sfc_srcc_cfg){
		.threshold = cfg->srcc,
		.floor = alg->ccthresh,
		.delay_ns = cfg->srcc_delay_ns ?: cfg->rtt_ns / SFC_SRCC_LINKS_IN_RTT,
		.window_ns = cfg->srcc_window_ns ?: cfg->rtt_ns * SFC_SRCC_WINDOW_RTTS,
	};
	sfc_qos_update(sch, cfg, alg->mtu);
	q->uncongested_bytes = sfc_config_uncongested(q);
	/* sfc_ring_try_enable() enables it again */
	q->ring = (struct sfc_ring){ };
	sfc_update_elsewhere(q);
	sfc_port_tune(sch);
}

/* The device's MTU or speed may have changed.  RTNL, and no device is locked. */
void sfc_config_refresh(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct net_device *dev = qdisc_dev(sch);
	struct sfc_alg_cfg alg;
	const char *why = sfc_config_narrow(&q->cfg, dev);

	if (why && !q->narrow && net_ratelimit())
		netdev_warn(dev, "sfc: %s: such a packet is dropped unless it is alone\n", why);
	q->narrow = why;
	netdev_lock_ops(dev);
	sfc_config_derive(&q->cfg, dev, &alg);
	netdev_unlock_ops(dev);
	sch_tree_lock(sch);
	sfc_config_apply(sch, &alg);
	sch_tree_unlock(sch);
	if (q->pfc)
		sfc_pfc_reconfigure(q->pfc);
}

static bool sfc_config_wants_cache(const struct sfc_config *cfg)
{
	return cfg->flags & TC_SFC_F_PAUSE && cfg->flags & TC_SFC_F_CACHE;
}

/*
 * What a port and its switch must have before the port is configured.  RTNL, may sleep.  Then
 * sfc_config_commit() follows, or if the port is refused all the same, sfc_switch_count_edge().
 */
int sfc_config_prepare(struct Qdisc *sch, const struct sfc_config *cfg)
{
	struct sfc_switch *sw = sfc_switch_of_port(sch);
	struct sfc_sched *q = qdisc_priv(sch);
	int err;

	ASSERT_RTNL();
	if (cfg->flags & TC_SFC_F_PAUSE && !q->suppress) {
		q->suppress = kvzalloc(sizeof(*q->suppress), GFP_KERNEL);
		if (!q->suppress)
			return -ENOMEM;
	}
	if (cfg->srcc && !q->srcc) {
		q->srcc = kvzalloc(sizeof(*q->srcc), GFP_KERNEL);
		if (!q->srcc)
			return -ENOMEM;
	}
	if ((sfc_config_wants_cache(cfg) || cfg->tau_ns) && !sw->cache) {
		sw->cache = sfc_cache_alloc();
		if (!sw->cache)
			return -ENOMEM;
	}
	if (cfg->pfc.prios) {
		err = sfc_pfc_slot_alloc(&sw->buffer, qdisc_dev(sch));
		if (err)
			return err;
	}
	if (cfg->flags & TC_SFC_F_EDGE && !xa_load(&sw->edges, qdisc_dev(sch)->ifindex))
		return xa_err(xa_store(&sw->edges, qdisc_dev(sch)->ifindex, xa_mk_value(0),
				       GFP_KERNEL));
	return 0;
}

/*
 * A new configuration, which has been checked, with what sfc_config_derive() and sfc_port_prepare()
 * made of it.  RTNL, behind sfc_config_prepare().
 */
void sfc_config_commit(struct Qdisc *sch, const struct sfc_config *cfg,
		       const struct sfc_alg_cfg *alg, struct sfc_port *port)
{
	struct sfc_switch *sw = sfc_switch_of_port(sch);
	struct sfc_sched *q = qdisc_priv(sch);
	bool edge = q->cfg.flags & TC_SFC_F_EDGE;
	struct sfc_pfc *old = q->pfc;
	u64 now = ktime_get_ns();
	int i;

	/* see sfc_list */
	list_move(&q->list, &sfc_list);
	sch_tree_lock(sch);
	q->cache = sfc_config_wants_cache(cfg) ? sw->cache : NULL;
	q->until_ns = q->cache && !(cfg->flags & TC_SFC_F_EDGE) ? &sw->until_ns : &sfc_never;
	sfc_buffer_set(sch, cfg);
	sfc_limiter_set(&q->msg_limiter, cfg->msgrate, now);
	if (cfg->rate_bps != q->cfg.rate_bps) {
		/* it was computed at the old rate, and may be hours ahead */
		q->next_ns = now;
		q->next_frac = 0;
		if (sch->q.qlen)
			qdisc_watchdog_schedule_ns(&q->watchdog, now);
	}
	/* tokens may exceed the maximum of the other algorithm */
	if (alg->paper != q->alg.paper)
		q->qos.band[0].state = (struct sfc_alg_state){ };
	q->cfg = *cfg;
	if (!cfg->srcc) {
		q->stats.srcc_flows = 0;
		q->stats.srcc_qth = 0;
	}
	q->narrow = sfc_config_narrow(cfg, qdisc_dev(sch));
	q->ecn = cfg->ecn ?: SFC_QUEUE_NEVER;
	sfc_forget_notified(q);
	sfc_config_apply(sch, alg);
	sfc_queue_shrink(sch);
	q->stats.backlog_peak = sch->qstats.backlog + q->elsewhere_bytes;
	for (i = 0; i < TC_SFC_BANDS_MAX; i++)
		q->qos.band[i].peak = q->qos.band[i].bytes;
	sch_tree_unlock(sch);
	sfc_pfc_start_or_stop(sch, old);
	sfc_port_update(sch, port);
	sfc_switch_count_edge(sch, !!(cfg->flags & TC_SFC_F_EDGE) - edge);
}

/*
 * The port is destroyed, or its device is about to leave the namespace.  A filter that is being
 * configured may hold the qdisc beyond that, to another namespace: it is no port of a switch any
 * more, and no packet comes.  RTNL.
 */
void sfc_config_leave(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_pfc *old = q->pfc;

	sfc_switch_count_edge(sch, -!!(q->cfg.flags & TC_SFC_F_EDGE));
	q->cfg.flags &= ~TC_SFC_F_EDGE;
	q->cfg.srcc = 0;
	q->cache = NULL;
	q->until_ns = &sfc_never;
	sfc_buffer_set(sch, NULL);
	sfc_pfc_start_or_stop(sch, old);
}
