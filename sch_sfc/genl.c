// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink family "sfc": the pause cache of a namespace and its events, for programs.
 * Specified by Documentation/netlink/specs/sfc.yaml, explained by Documentation/netlink.rst.
 *
 * Who may: anybody in the namespace for counters, as tc; its administrator for the cache and for
 * events, which say whom other hosts talk with, as connection tracking does.
 */
#include <net/genetlink.h>
#include <net/ipv6.h>

#include "events.h"
#include "genl.h"
#include "sfc.h"

/* Grows with the attributes */
#define SFC_GENL_VERSION	1

static struct genl_family sfc_genl_family;
static struct workqueue_struct *sfc_genl_wq;
static bool sfc_genl_on __read_mostly;
/* Somebody has joined the group since the module was loaded; who leaves need not have joined */
bool sfc_genl_joined __read_mostly = BOLT_GENL_JOINED;

static int sfc_put_entry(struct sk_buff *skb, const struct sfc_entry *e, u64 now)
{
	if (e->key.family == 6) {
		if (nla_put_in6_addr(skb, SFC_A_CACHE_ADDR, (const struct in6_addr *)e->key.addr))
			return -EMSGSIZE;
	} else if (nla_put_in_addr(skb, SFC_A_CACHE_ADDR, e->key.addr[0])) {
		return -EMSGSIZE;
	}
	if (nla_put_u8(skb, SFC_A_CACHE_DSCP, e->key.dscp) ||
	    nla_put_u64_64bit(skb, SFC_A_CACHE_REMAINING_NS, e->end_ns - now, SFC_A_CACHE_PAD) ||
	    nla_put_u32(skb, SFC_A_CACHE_VERSION, e->version) ||
	    nla_put_u32(skb, SFC_A_CACHE_HITS, e->hits))
		return -EMSGSIZE;
	return 0;
}

/* cb->args[0]: the next place.  Entries do not move, so nothing is shown twice or missed. */
static int sfc_cache_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct sfc_cache *cache = sfc_net_cache(sock_net(cb->skb->sk));
	u64 now = ktime_get_ns();
	struct sfc_entry e;
	void *hdr;

	if (!cache)
		return 0;
	for (; cb->args[0] < sfc_cache_size(); cb->args[0]++) {
		if (!sfc_cache_entry(cache, cb->args[0], &e) || e.end_ns <= now)
			continue;
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				  &sfc_genl_family, NLM_F_MULTI, SFC_CMD_CACHE_GET);
		if (!hdr)
			break;
		if (sfc_put_entry(skb, &e, now)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
	}
	return skb->len;
}

static int sfc_put_stats(struct sk_buff *skb, struct net *net)
{
	struct sfc_cache *cache = sfc_net_cache(net);
	struct sfc_cache_stats st = { };
	u64 sent, lost;

	if (cache)
		sfc_cache_stats(cache, &st, ktime_get_ns());
	bolt_events_stats(sfc_net_events(net), &sent, &lost);
	if (nla_put_u32(skb, SFC_A_STATS_VERSION, SFC_GENL_VERSION) ||
	    nla_put_u64_64bit(skb, SFC_A_STATS_NETNS_COOKIE, net->net_cookie, SFC_A_STATS_PAD) ||
	    nla_put_u32(skb, SFC_A_STATS_CACHE_SIZE, cache ? sfc_cache_size() : 0) ||
	    nla_put_u32(skb, SFC_A_STATS_ENTRIES, st.entries) ||
	    nla_put_u64_64bit(skb, SFC_A_STATS_INSERTS, st.inserts, SFC_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SFC_A_STATS_UPDATES, st.updates, SFC_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SFC_A_STATS_FULL, st.full, SFC_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SFC_A_STATS_REFUSED, st.refused, SFC_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SFC_A_STATS_IGNORED, st.ignored, SFC_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SFC_A_STATS_EVENTS_SENT, sent, SFC_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SFC_A_STATS_EVENTS_LOST, lost, SFC_A_STATS_PAD))
		return -EMSGSIZE;
	return 0;
}

static int sfc_stats_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *hdr;

	if (!reply)
		return -ENOMEM;
	hdr = genlmsg_put(reply, info->snd_portid, info->snd_seq, &sfc_genl_family, 0,
			  SFC_CMD_STATS_GET);
	if (sfc_put_stats(reply, genl_info_net(info))) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

static const struct genl_ops sfc_genl_ops[] = {
	{
		.cmd	= SFC_CMD_CACHE_GET,
		.flags	= GENL_UNS_ADMIN_PERM,
		.dumpit	= sfc_cache_dump,
	}, {
		.cmd	= SFC_CMD_STATS_GET,
		.doit	= sfc_stats_get,
	},
};

static const struct genl_multicast_group sfc_genl_groups[] = {
	{ .name = SFC_MCGRP_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

static int __maybe_unused sfc_genl_join(int group)
{
	WRITE_ONCE(sfc_genl_joined, true);
	return 0;
}

static struct genl_family sfc_genl_family __ro_after_init = {
	.name		= SFC_FAMILY_NAME,
	.version	= SFC_FAMILY_VERSION,
	.module		= THIS_MODULE,
	.netnsok	= true,
	.parallel_ops	= true,
	.ops		= sfc_genl_ops,
	.n_ops		= ARRAY_SIZE(sfc_genl_ops),
	.mcgrps		= sfc_genl_groups,
	.n_mcgrps	= ARRAY_SIZE(sfc_genl_groups),
	BOLT_GENL_BIND(sfc_genl_join),
};

void sfc_genl_net_init(struct net *net, struct bolt_events *ev)
{
	bolt_events_init(ev, net, &sfc_genl_family, &sfc_genl_on, sfc_genl_wq, SFC_EVENTS_RATE,
			 SFC_EVENTS_BURST);
}

/* Before the first namespace */
int __init sfc_genl_wq_init(void)
{
	sfc_genl_wq = alloc_workqueue("sch_sfc", WQ_UNBOUND, 0);
	return sfc_genl_wq ? 0 : -ENOMEM;
}

void sfc_genl_wq_exit(void)
{
	destroy_workqueue(sfc_genl_wq);
}

/* Last: requests come from here on */
int __init sfc_genl_register(void)
{
	int err = genl_register_family(&sfc_genl_family);

	if (!err)
		WRITE_ONCE(sfc_genl_on, true);
	return err;
}

/*
 * First: a dump holds the module, so there is none, and ports make no event any more.  What they
 * have made may not reach the group that gets this one's number next.
 */
void sfc_genl_unregister(void)
{
	WRITE_ONCE(sfc_genl_on, false);
	flush_workqueue(sfc_genl_wq);
	genl_unregister_family(&sfc_genl_family);
}

MODULE_ALIAS_GENL_FAMILY(SFC_FAMILY_NAME);
