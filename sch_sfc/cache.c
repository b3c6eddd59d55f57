// SPDX-License-Identifier: GPL-2.0
/*
 * What a switch knows of destinations (SFC, section 3.4): the pause cache, and at the end the
 * incast estimator's table.
 *
 *	BTS in transit ---> enqueue of the port towards its sender: remember  (lines 3-6)
 *	data           ---> enqueue of the port towards its destination: look up  (line 8)
 *
 * The paper has both at the ingress.  Here each packet passes one sfc, at its egress, which
 * sees BTS and data all the same.
 *
 * Ports marked "edge" face servers.  Data that leaves by one has its last hop here, and
 * the port's own queue says more than any cache, so they do not look up.  A BTS that
 * came in by one is this very switch's (line 20: only they are cacheable), or a server's that
 * has no business to send one: neither is remembered.  Of what came in by a VRF, packets do not
 * name the port; then only the former is known, by its clock.
 *
 * A BTS is believed if a switch has tagged it.  Its pause counts from when that switch sent it
 * (cache.h), so who sends it again, later or elsewhere, changes nothing.
 *
 * Readers take no lock: a sequence count per bucket, and before that one comparison of times
 * per packet, with the latest end of all pauses.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <net/l3mdev.h>

#include "buffer.h"
#include "trace.h"

#define SFC_CLOCK_SETS	256
#define SFC_ESTIMATES	1024

struct sfc_bucket {
	seqcount_spinlock_t	seq;
	struct sfc_entry	ways[SFC_CACHE_WAYS];
};

struct sfc_estimate {
	spinlock_t		lock;	/* of the others */
	struct sfc_key		key;
	struct sfc_dre		dre;
};

/* Of a switch */
struct sfc_cache {
	u32			seed;		/* of hashes */
	struct sfc_estimate	estimates[SFC_ESTIMATES];
	spinlock_t		lock ____cacheline_aligned_in_smp;	/* to write what follows */
	/* of the switches that have sent messages */
	struct sfc_clock	clocks[SFC_CLOCK_SETS][SFC_CLOCK_WAYS];
	struct sfc_bucket	buckets[SFC_CACHE_BUCKETS];
};

/*
 * The key of a flow's destination.  @skb is a packet of the flow, or a message about it: its VRF is
 * what it came in by, or the port's if it is this host's own.
 */
struct sfc_key sfc_flow_key(const struct sfc_flow *f, const struct sk_buff *skb, struct Qdisc *sch)
{
	struct net_device *dev = qdisc_dev(sch);
	int iif = sfc_iif(qdisc_priv(sch), skb) ?: dev->ifindex;
	struct sfc_key key = {
		.family = f->family,
		.dscp = f->dscp,
		.vrf = l3mdev_master_ifindex_by_index(dev_net(dev), iif),
	};

	memcpy(key.addr, f->daddr, sizeof(key.addr));
	return key;
}

static u32 sfc_key_hash(const struct sfc_cache *cache, const struct sfc_key *key)
{
	BUILD_BUG_ON(sizeof(*key) % sizeof(u32));
	return jhash2((const u32 *)key, sizeof(*key) / sizeof(u32), cache->seed);
}

static struct sfc_bucket *sfc_bucket_of(struct sfc_cache *cache, const struct sfc_key *key)
{
	return &cache->buckets[sfc_key_hash(cache, key) % SFC_CACHE_BUCKETS];
}

/* Line 8.  Any context in which a packet may be. */
u32 sfc_cache_find(struct sfc_cache *cache, const struct sfc_key *key, u64 now)
{
	struct sfc_bucket *b = sfc_bucket_of(cache, key);
	unsigned int seq;
	u32 left;

	do {
		seq = read_seqcount_begin(&b->seq);
		left = sfc_ways_find(b->ways, key, now);
	} while (read_seqcount_retry(&b->seq, seq));
	return left;
}

/*
 * Line 5: cache and count @m, which a switch has sent.  @left_ns is what the cache then has of its
 * pause, or if it is full, what is left of this one.  Returns false if that is over.
 */
static bool sfc_cache_learn(struct Qdisc *sch, const struct sk_buff *skb,
			    const struct bolt_msg *m, u64 now, u32 *left_ns)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_switch *sw = sfc_switch_of_port(sch);
	struct sfc_cache *cache = q->cache;
	u64 pause_ns = min(m->pause_ns, q->cfg.maxpause_ns), age_ns, end_ns;
	/* the congested receiver: by default the message's source as well (section 3.4) */
	struct sfc_flow flow = sfc_msg_flow(m);
	struct sfc_key key = sfc_flow_key(&flow, skb, sch);
	struct sfc_bucket *b = sfc_bucket_of(cache, &key);
	bool put;

	spin_lock(&cache->lock);
	age_ns = sfc_clock_age(cache->clocks[m->clock % SFC_CLOCK_SETS], m->clock, m->sent_ns, now);
	if (age_ns < pause_ns) {
		end_ns = now + pause_ns - age_ns;
		write_seqcount_begin(&b->seq);
		put = sfc_ways_put(b->ways, &key, end_ns, now);
		write_seqcount_end(&b->seq);
		*left_ns = put ? sfc_ways_find(b->ways, &key, now) : pause_ns - age_ns;
		q->stats.cache_learned += put;
		q->stats.cache_full += !put;
		/* torn on 32 bits: a lookup too many or too few, either is harmless */
		if (put && end_ns > sw->until_ns)
			WRITE_ONCE(sw->until_ns, end_ns);
	}
	spin_unlock(&cache->lock);
	return age_ns < pause_ns;
}

/* Lines 3-6: a control message on its way to a sender.  SFC-P: true if a PAUSE frame replaces it */
bool sfc_cache_arrival(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		       u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct net *net = dev_net(qdisc_dev(sch));
	struct sfc_switch *sw = sfc_switch_of(net);
	enum sfc_signal_verdict verdict;
	struct bolt_msg m;
	u32 left_ns = 0;

	verdict = sfc_msg_read(skb, pkt, &q->cfg.switchkey, &m);
	if (verdict == SFC_MSG_OTHER)
		return false;
	if (verdict == SFC_MSG_CACHEABLE && m.pause_ns) {
		if (m.clock == sw->clock || READ_ONCE(q->foreign) ||
		    sfc_switch_find(&sw->edges, net, skb->skb_iif))
			verdict = SFC_REFUSED_EDGE;
		else if (!sfc_cache_learn(sch, skb, &m, now, &left_ns))
			verdict = SFC_REFUSED_STALE;
	}
	if (verdict < SFC_MSG_OTHER) {
		if (verdict == SFC_REFUSED_EDGE)
			q->stats.cache_ignored++;
		else
			q->stats.cache_refused++;
		trace_sfc_refusal(sch, pkt, verdict == SFC_REFUSED_MALFORMED ? NULL : &m, verdict);
	}
	return verdict != SFC_REFUSED_MALFORMED && q->cfg.flags & TC_SFC_F_SFCP && q->pfc &&
	       sfc_pfc_convert(q->pfc, &m, left_ns, now);
}

/* Count current pauses, for statistics: reads the whole cache, which may change meanwhile. */
unsigned int sfc_cache_count(const struct sfc_cache *cache, u64 now)
{
	unsigned int i, j, n = 0;

	for (i = 0; i < SFC_CACHE_BUCKETS; i++)
		for (j = 0; j < SFC_CACHE_WAYS; j++)
			n += READ_ONCE(cache->buckets[i].ways[j].end_ns) > now;
	return n;
}

/*
 * A packet of @bytes leaves for @key.  Returns the pause for the estimated queue there, ns.
 * Traffic counts by whichever port it leaves.  Entries are created by the first packet, before
 * there is congestion; one whose destination has been silent for a while is reused.  On a hash
 * collision the second destination is not estimated.
 */
u32 sfc_estimate(struct Qdisc *sch, struct sfc_key key, u32 bytes, u64 now)
{
	struct sfc_cache *cache = sfc_switch_of_port(sch)->cache;
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_estimate *e;
	u32 pause_ns = 0;

	/* section 3.4: "aggregate traffic towards a common receiver", of whatever DSCP */
	key.dscp = 0;
	e = &cache->estimates[sfc_key_hash(cache, &key) % SFC_ESTIMATES];
	spin_lock_bh(&e->lock);
	if (!sfc_key_equal(&e->key, &key)) {
		if (e->key.family && !sfc_dre_idle(&q->dre, &e->dre, now))
			goto out;
		e->key = key;
		e->dre = (struct sfc_dre){ };
	}
	sfc_dre_add(&q->dre, &e->dre, bytes, now);
	pause_ns = sfc_dre_pause_ns(&q->dre, &e->dre, q->pause.max_ns);
out:
	spin_unlock_bh(&e->lock);
	return pause_ns;
}

struct sfc_cache *sfc_cache_alloc(void)
{
	struct sfc_cache *cache = kvzalloc(sizeof(*cache), GFP_KERNEL);
	unsigned int i;

	if (!cache)
		return NULL;
	cache->seed = get_random_u32();
	spin_lock_init(&cache->lock);
	for (i = 0; i < SFC_CACHE_BUCKETS; i++)
		seqcount_spinlock_init(&cache->buckets[i].seq, &cache->lock);
	for (i = 0; i < SFC_ESTIMATES; i++)
		spin_lock_init(&cache->estimates[i].lock);
	return cache;
}
