// SPDX-License-Identifier: GPL-2.0
/*
 * One namespace is one switch, and has one pause cache (SFC, section 3.4 and Algorithm 1).
 *
 *	BTS in transit ---> enqueue of the port towards its sender: remember  (lines 3-8)
 *	data           ---> enqueue of the port towards its destination: look up  (line 11)
 *
 * The paper has both at the ingress.  Here each packet passes one sfc, at its egress, which
 * sees BTS and data all the same.
 *
 * Ports marked "edge" face servers.  Data that leaves by one has its last hop here, and
 * the port's own queue says more than any cache, so they do not look up.  A BTS that
 * came in by one is this very switch's (line 25: only they are cacheable), or a server's that
 * has no business to send one: neither is remembered.
 *
 * Readers take no lock: a sequence count per bucket, and before that one comparison of times
 * per packet, with the latest end of all pauses.  What is allocated for a namespace lives
 * until it goes; ports go before.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/seqlock.h>
#include <linux/udp.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include <bolt_msg.h>
#include "events.h"
#include "genl.h"
#include "sfc.h"

#define SFC_CACHE_BUCKETS	256	/* 1024 entries; the paper saw 15 in use */

struct sfc_bucket {
	seqcount_spinlock_t	seq;
	struct sfc_entry	ways[SFC_CACHE_WAYS];
};

/**
 * struct sfc_cache - of a namespace
 * @until_ns:	no pause lasts longer; read by every packet
 * @seed:	of the hash
 * @lock:	for everything below, and to write above
 * @stats:	of the namespace
 * @buckets:	the entries
 */
struct sfc_cache {
	u64			until_ns;
	u32			seed;
	spinlock_t		lock ____cacheline_aligned_in_smp;
	struct sfc_cache_stats	stats;
	struct sfc_bucket	buckets[SFC_CACHE_BUCKETS];
};

/**
 * struct sfc_net - a namespace as a switch
 * @cache:	NULL until a port wants one
 * @est:	likewise
 * @edges:	how many sfc marked "edge" a device has, by its ifindex
 * @holds:	the ports that hold
 * @events:	for who listens
 */
struct sfc_net {
	struct sfc_cache	*cache;
	struct sfc_estimator	*est;
	struct xarray		edges;
	struct sfc_holds	holds;
	struct bolt_events	events;
};

static unsigned int sfc_net_id __read_mostly;
static const u64 sfc_never;

static struct sfc_net *sfc_net_of(const struct Qdisc *sch)
{
	return net_generic(dev_net(qdisc_dev(sch)), sfc_net_id);
}

struct sfc_holds *sfc_net_holds(struct net *net)
{
	struct sfc_net *sn = net_generic(net, sfc_net_id);

	return &sn->holds;
}

bool sfc_key_of(const struct sk_buff *skb, const struct sfc_pkt *pkt, struct sfc_key *key)
{
	const struct ipv6hdr *ip6h;
	const struct iphdr *iph;
	struct ipv6hdr buf;

	*key = (struct sfc_key){ .dscp = pkt->dscp };
	switch (pkt->family) {
	case AF_INET:
		iph = skb_header_pointer(skb, pkt->l3_off, sizeof(*iph), &buf);
		if (!iph)
			return false;
		key->family = 4;
		key->addr[0] = iph->daddr;
		return true;
	case AF_INET6:
		ip6h = skb_header_pointer(skb, pkt->l3_off, sizeof(buf), &buf);
		if (!ip6h)
			return false;
		key->family = 6;
		memcpy(key->addr, &ip6h->daddr, sizeof(key->addr));
		return true;
	}
	return false;
}

static struct sfc_bucket *sfc_bucket_of(struct sfc_cache *cache, const struct sfc_key *key)
{
	u32 h = jhash2((const u32 *)key, sizeof(*key) / sizeof(u32), cache->seed);

	BUILD_BUG_ON(sizeof(*key) % sizeof(u32));
	return &cache->buckets[h % SFC_CACHE_BUCKETS];
}

/* Line 11.  Any context in which a packet may be. */
u32 sfc_cache_find(struct sfc_cache *cache, const struct sfc_key *key, u64 now)
{
	struct sfc_bucket *b = sfc_bucket_of(cache, key);
	unsigned int seq, way = 0;
	u32 left;

	do {
		seq = read_seqcount_begin(&b->seq);
		left = sfc_ways_look(b->ways, key, now, &way);
	} while (read_seqcount_retry(&b->seq, seq));
	/* another CPU's may be lost: it is for people */
	if (left)
		WRITE_ONCE(b->ways[way].hits, READ_ONCE(b->ways[way].hits) + 1);
	return left;
}

/* For people: the namespace's, or NULL */
struct sfc_cache *sfc_net_cache(struct net *net)
{
	struct sfc_net *sn = net_generic(net, sfc_net_id);

	/* pairs with the release in sfc_net_prepare() */
	return smp_load_acquire(&sn->cache);
}

struct bolt_events *sfc_net_events(struct net *net)
{
	struct sfc_net *sn = net_generic(net, sfc_net_id);

	return &sn->events;
}

unsigned int sfc_cache_size(void)
{
	return SFC_CACHE_BUCKETS * SFC_CACHE_WAYS;
}

/* What is at a place, below sfc_cache_size(); false when nothing ever was */
bool sfc_cache_entry(struct sfc_cache *cache, unsigned int at, struct sfc_entry *e)
{
	struct sfc_bucket *b = &cache->buckets[at / SFC_CACHE_WAYS];
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&b->seq);
		*e = b->ways[at % SFC_CACHE_WAYS];
	} while (read_seqcount_retry(&b->seq, seq));
	return e->end_ns;
}

static void sfc_cache_put(struct sfc_cache *cache, const struct sfc_key *key, u64 end_ns, u64 now)
{
	struct sfc_bucket *b = sfc_bucket_of(cache, key);
	enum sfc_put put;

	lockdep_assert_held(&cache->lock);
	write_seqcount_begin(&b->seq);
	put = sfc_ways_put(b->ways, key, end_ns, now);
	write_seqcount_end(&b->seq);

	switch (put) {
	case SFC_PUT_UPDATED:
		cache->stats.updates++;
		break;
	case SFC_PUT_INSERTED:
		cache->stats.inserts++;
		break;
	case SFC_PUT_FULL:
		cache->stats.full++;
		return;
	}
	/* torn on 32 bits: a lookup too many or too few, either is harmless */
	if (end_ns > cache->until_ns)
		WRITE_ONCE(cache->until_ns, end_ns);
}

/* The quoted flow was sent by who the message is for. */
static bool sfc_msg_fits(const struct sk_buff *skb, const struct sfc_pkt *pkt,
			 const struct bolt_msg *m)
{
	struct sfc_key to;

	if (!sfc_key_of(skb, pkt, &to) || to.family != m->family)
		return false;
	return !memcmp(to.addr, m->saddr, sizeof(to.addr));
}

/*
 * A control message, in @m unless it is malformed.  @key: what it must be tagged with, or NULL.
 * @pkt says that it is short enough for the buffer.
 */
enum sfc_msg_verdict sfc_msg_read(const struct sk_buff *skb, const struct sfc_pkt *pkt,
				  const siphash_key_t *key, struct bolt_msg *m)
{
	u8 buf[BOLT_CTL_LEN_MAX];
	struct udphdr uh;
	int len;

	if (skb_copy_bits(skb, pkt->l4_off, &uh, sizeof(uh)))
		return SFC_MSG_BAD;
	len = ntohs(uh.len) - (int)sizeof(uh);
	if (len <= 0 || len > (int)sizeof(buf) ||
	    skb_copy_bits(skb, pkt->l4_off + sizeof(uh), buf, len))
		return SFC_MSG_BAD;
	if (bolt_msg_parse(buf, len, m) != BOLT_MSG_OK)
		return SFC_MSG_BAD;
	if (m->type != BOLT_CTL_BTS)
		return SFC_MSG_OTHER;
	if (!sfc_msg_fits(skb, pkt, m) || (key && !bolt_msg_tag_ok(buf, len, key)))
		return SFC_MSG_FALSE;
	return SFC_MSG_BTS;
}

/* A device, or the one below a VLAN, faces servers. */
static bool sfc_from_edge(const struct sfc_net *sn, struct net *net, int ifindex)
{
	const struct net_device *dev;

	if (xa_empty(&sn->edges))
		return false;
	dev = dev_get_by_index_rcu(net, ifindex);
	if (dev && is_vlan_dev(dev))
		dev = vlan_dev_real_dev(dev);
	return dev && xa_load((struct xarray *)&sn->edges, dev->ifindex);
}

/* Lines 3-8: a control message on its way to a sender */
void sfc_cache_feed(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		    u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_net *sn = sfc_net_of(sch);
	struct sfc_cache *cache = q->cache;
	struct bolt_msg m;
	struct sfc_key key;
	enum sfc_msg_verdict v = sfc_msg_read(skb, pkt, q->cfg.tagged ? &q->cfg.key : NULL, &m);

	if (v == SFC_MSG_OTHER ||
	    (v == SFC_MSG_BTS && (!(m.flags & BOLT_CTL_F_CACHEABLE) || !m.pause_ns)))
		return;

	spin_lock_bh(&cache->lock);
	if (v != SFC_MSG_BTS) {
		cache->stats.refused++;
		sfc_event(sch, skb, pkt, SFC_EVENT_TYPE_REFUSAL, v == SFC_MSG_BAD ?
			  SFC_VERDICT_MALFORMED : SFC_VERDICT_FORGED, NULL);
	} else if (sfc_from_edge(sn, dev_net(qdisc_dev(sch)), skb->skb_iif)) {
		cache->stats.ignored++;
		sfc_event(sch, skb, pkt, SFC_EVENT_TYPE_REFUSAL, SFC_VERDICT_EDGE, &m);
	} else {
		/* the congested receiver: by default the message's source as well (section 3.4) */
		key = (struct sfc_key){ .family = m.family, .dscp = m.dscp };
		memcpy(key.addr, m.daddr, sizeof(key.addr));
		sfc_cache_put(cache, &key, now + min(m.pause_ns, q->cfg.maxpause_ns), now);
	}
	spin_unlock_bh(&cache->lock);
}

/* For people: counts entries, so it takes its time. */
void sfc_cache_stats(struct sfc_cache *cache, struct sfc_cache_stats *st, u64 now)
{
	unsigned int i, j;

	spin_lock_bh(&cache->lock);
	*st = cache->stats;
	for (i = 0; i < SFC_CACHE_BUCKETS; i++)
		for (j = 0; j < SFC_CACHE_WAYS; j++)
			st->entries += cache->buckets[i].ways[j].end_ns > now;
	spin_unlock_bh(&cache->lock);
}

static struct sfc_cache *sfc_cache_alloc(void)
{
	struct sfc_cache *cache = kvzalloc(sizeof(*cache), GFP_KERNEL);
	unsigned int i;

	if (!cache)
		return NULL;
	cache->seed = get_random_u32();
	spin_lock_init(&cache->lock);
	for (i = 0; i < SFC_CACHE_BUCKETS; i++)
		seqcount_spinlock_init(&cache->buckets[i].seq, &cache->lock);
	return cache;
}

static bool sfc_wants_cache(const struct sfc_config *cfg)
{
	return cfg->flags & TC_SFC_F_SFC && cfg->flags & TC_SFC_F_CACHE;
}

static int sfc_edges_add(struct Qdisc *sch, long n)
{
	struct sfc_net *sn = sfc_net_of(sch);
	int ifindex = qdisc_dev(sch)->ifindex;
	void *entry = xa_load(&sn->edges, ifindex);

	n += entry ? xa_to_value(entry) : 0;
	if (!n) {
		xa_erase(&sn->edges, ifindex);
		return 0;
	}
	return xa_err(xa_store(&sn->edges, ifindex, xa_mk_value(n), GFP_KERNEL));
}

/*
 * What the namespace must have before a port is configured as @cfg says.  RTNL, may sleep.  On
 * success sfc_net_update() follows.
 */
int sfc_net_prepare(struct Qdisc *sch, const struct sfc_config *cfg)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_net *sn = sfc_net_of(sch);

	ASSERT_RTNL();
	if (sfc_wants_cache(cfg) && !sn->cache) {
		struct sfc_cache *cache = sfc_cache_alloc();

		if (!cache)
			return -ENOMEM;
		/* for those without RTNL: it is whole */
		smp_store_release(&sn->cache, cache);
	}
	if (cfg->tau_ns && !sn->est) {
		sn->est = sfc_estimator_alloc();
		if (!sn->est)
			return -ENOMEM;
	}
	if (cfg->flags & ~q->cfg.flags & TC_SFC_F_EDGE)
		return sfc_edges_add(sch, 1);
	return 0;
}

/* As the configuration is about to change from that of the port to @cfg.  Tree locked. */
void sfc_net_update(struct Qdisc *sch, const struct sfc_config *cfg)
{
	struct sfc_sched *q = qdisc_priv(sch);

	q->cache = sfc_wants_cache(cfg) ? sfc_net_of(sch)->cache : NULL;
	q->est = sfc_net_of(sch)->est;
	q->until_ns = q->cache && !(cfg->flags & TC_SFC_F_EDGE) ? &q->cache->until_ns : &sfc_never;
}

/* The port was an edge before, and is none any more, or goes.  RTNL. */
void sfc_net_unedge(struct Qdisc *sch)
{
	sfc_edges_add(sch, -1);
}

static int __net_init sfc_net_init(struct net *net)
{
	struct sfc_net *sn = net_generic(net, sfc_net_id);

	xa_init(&sn->edges);
	INIT_LIST_HEAD(&sn->holds.list);
	sfc_genl_net_init(net, &sn->events);
	return 0;
}

static void __net_exit sfc_net_exit(struct net *net)
{
	struct sfc_net *sn = net_generic(net, sfc_net_id);

	bolt_events_exit(&sn->events);
	xa_destroy(&sn->edges);
	kvfree(sn->est);
	kvfree(sn->cache);
}

/* A subsystem: its exit runs after that of the devices, so after the last port has gone. */
static struct pernet_operations sfc_net_ops = {
	.init	= sfc_net_init,
	.exit	= sfc_net_exit,
	.id	= &sfc_net_id,
	.size	= sizeof(struct sfc_net),
};

int __init sfc_net_register(void)
{
	return register_pernet_subsys(&sfc_net_ops);
}

void sfc_net_unregister(void)
{
	unregister_pernet_subsys(&sfc_net_ops);
}
