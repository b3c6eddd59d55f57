// SPDX-License-Identifier: GPL-2.0
/*
 * SFC at the sender, for flows that are not TCP: the egress port of a host holds the packets of a
 * destination that a BTS has paused.
 *
 *	BTS ----> LOCAL_IN -----> sfc_hold_hear()	until when (hold.h)
 *	packet -> enqueue ------> sfc_hold_arrival()	into its slot, if its destination is paused
 *	          dequeue ------> sfc_hold_look()	what was queued when the BTS came: likewise;
 *							what has waited long enough: into the queue
 *
 * TCP is tcp_bolt's: what waits there costs no memory here and does not lengthen the RTT that TCP
 * measures.
 *
 * Order.  While a destination is paused, none of its packets is in the queue, but for those that
 * were when the pause began, and those are taken out (@sweep) before the next one is looked at.
 * When it ends they join the queue before the next one does.  So whatever finds its destination not
 * paused goes behind all that came before.
 *
 * Accounting.  What is held counts in qlen and backlog, for the parents and the limit; the queue
 * that the algorithms go by is without it (sfc_backlog()), and so is the shaper's.
 *
 * Locking: @lock, inside the qdisc's, guards all but the queues' totals.  A BTS takes it alone.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/siphash.h>
#include <net/ipv6.h>

#include <bolt_msg.h>
#include "hold.h"
#include "sfc.h"

/*
 * struct sfc_hold - of a port
 * @lock:	see above
 * @sweep:	a pause has begun, and the queue was not looked through since
 * @dead:	the port is no more; @sch must not be touched
 * @until_ns:	no pause lasts longer
 * @table:	the paused destinations
 * @held:	packets, by slot
 * @sent:	what may be quoted
 * @seed:	of the tags
 * @port, @minttl, @tagged, @key, @conf: as configured
 * @sch:	the port
 * @list:	on the namespace's
 */
struct sfc_hold {
	struct rcu_head		rcu;		/* kvfree_rcu() wants it within the first 4 KB */
	spinlock_t		lock;
	bool			sweep;
	bool			dead;
	u64			until_ns;
	struct sfc_hold_table	table;
	struct qdisc_skb_head	held[SFC_HOLD_SLOTS];
	struct sfc_sent		sent;
	u32			seed;

	u16			port;
	u8			minttl;
	bool			tagged;
	siphash_key_t		key;
	struct bolt_pause_conf	conf;

	struct Qdisc		*sch;
	struct list_head	list;
};

/* Whom a packet is from and for, as the quote of a BTS has it */
struct sfc_hold_flow {
	__be32	saddr[4];
	__be32	daddr[4];
	__be16	sport;
	__be16	dport;
	u8	family;
	u8	proto;
	u8	dscp;
	u8	zero;
};

/* What a BTS is to the ports of a host; of several answers the last one counts */
enum sfc_hold_what {
	SFC_HOLD_FOREIGN,	/* not ours: about TCP, malformed, no BTS */
	SFC_HOLD_REFUSED,
	SFC_HOLD_OVERSIZE,
	SFC_HOLD_STALE,
	SFC_HOLD_HEARD,
};

static u64 sfc_hold_hash(const struct sfc_sched *q, const struct sfc_hold_flow *f)
{
	return siphash(f, sizeof(*f), &q->flow_key);
}

static bool sfc_hold_flow_of(const struct sk_buff *skb, const struct sfc_pkt *pkt,
			     struct sfc_hold_flow *f)
{
	const struct ipv6hdr *ip6h;
	const struct iphdr *iph;
	__be16 *ports, pbuf[2];
	struct ipv6hdr buf;

	*f = (struct sfc_hold_flow){ .proto = pkt->proto, .dscp = pkt->dscp };
	ports = skb_header_pointer(skb, pkt->l4_off, sizeof(pbuf), pbuf);
	if (!ports)
		return false;
	f->sport = ports[0];
	f->dport = ports[1];
	if (pkt->family == AF_INET) {
		iph = skb_header_pointer(skb, pkt->l3_off, sizeof(*iph), &buf);
		if (!iph)
			return false;
		f->family = 4;
		f->saddr[0] = iph->saddr;
		f->daddr[0] = iph->daddr;
		return true;
	}
	ip6h = skb_header_pointer(skb, pkt->l3_off, sizeof(buf), &buf);
	if (!ip6h)
		return false;
	f->family = 6;
	memcpy(f->saddr, &ip6h->saddr, sizeof(f->saddr));
	memcpy(f->daddr, &ip6h->daddr, sizeof(f->daddr));
	return true;
}

static u32 sfc_hold_tag(const struct sfc_hold *h, const struct sfc_key *key)
{
	return jhash2((const u32 *)key, sizeof(*key) / sizeof(u32), h->seed) ?: 1;
}

/* --- packets; qdisc and @lock locked --- */

/* Flows that a BTS can quote, and fragments of such: they must not overtake the others. */
static bool sfc_hold_concerns(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	u8 proto = pkt->proto ?: sfc_fragment_proto(skb, pkt);

	return !pkt->control && proto != IPPROTO_TCP && bolt_msg_has_ports(proto);
}

/* Returns the slot that a packet has to wait in, or -1. */
static int sfc_hold_slot_of(const struct sfc_hold *h, const struct sk_buff *skb,
			    const struct sfc_pkt *pkt, u64 now)
{
	struct sfc_key key;
	int i;

	if (!sfc_hold_concerns(skb, pkt) || !sfc_key_of(skb, pkt, &key))
		return -1;
	i = sfc_hold_find(&h->table, sfc_hold_tag(h, &key), &key);
	return i >= 0 && bolt_pause_active(&h->table.slots[i].clock, now) ? i : -1;
}

static void sfc_hold_put(struct Qdisc *sch, struct sfc_hold *h, int i, struct sk_buff *skb,
			 const struct sfc_pkt *pkt)
{
	struct sfc_sched *q = qdisc_priv(sch);

	sfc_skb_cb(skb)->band = pkt->band;
	sfc_queue_hold(sch, &h->held[i], skb);
	WRITE_ONCE(h->table.busy, h->table.busy | BIT_ULL(i));
	q->stats.hold_held++;
}

static void sfc_hold_sweep_band(struct Qdisc *sch, struct sfc_hold *h, unsigned int band, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 n = q->bands[band].qlen;
	struct sk_buff *skb;
	struct sfc_pkt pkt;
	int i;

	while (n-- && (skb = sfc_queue_remove_from(sch, band))) {
		sfc_parse(skb, q->cfg.port, &pkt);
		pkt.band = band;
		i = sfc_hold_slot_of(h, skb, &pkt, now);
		if (i >= 0)
			sfc_hold_put(sch, h, i, skb, &pkt);
		else
			sfc_queue_add(sch, band, skb);
	}
}

/* What the port had queued for a destination that is paused since; all else keeps its place. */
static void sfc_hold_sweep(struct Qdisc *sch, struct sfc_hold *h, u64 now)
{
	unsigned int band;

	WRITE_ONCE(h->sweep, false);
	for (band = SFC_BAND_DATA; band < SFC_BANDS; band++)
		sfc_hold_sweep_band(sch, h, band, now);
}

/* What has waited long enough, or all of it, joins the queue as if it came now. */
static void sfc_hold_release(struct Qdisc *sch, struct sfc_hold *h, u64 now, bool all)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u64 busy = h->table.busy;
	struct sk_buff *skb;
	int i;

	for (; busy; busy &= busy - 1) {
		i = __ffs64(busy);
		if (!all && bolt_pause_active(&h->table.slots[i].clock, now))
			continue;
		while ((skb = sfc_queue_unhold(sch, &h->held[i]))) {
			q->stats.hold_released++;
			sfc_readmit(skb, sch, now);
		}
		WRITE_ONCE(h->table.busy, h->table.busy & ~BIT_ULL(i));
	}
}

static void sfc_hold_run(struct Qdisc *sch, struct sfc_hold *h, u64 now)
{
	if (h->table.busy)
		sfc_hold_release(sch, h, now, false);
	if (h->sweep)
		sfc_hold_sweep(sch, h, now);
}

/**
 * sfc_hold_arrival() - a packet that arrives
 * @sch:	a port that holds
 * @skb:	the packet
 * @pkt:	what it is
 * @now:	ns
 *
 * Qdisc locked.
 */
enum sfc_hold_verdict sfc_hold_arrival(struct Qdisc *sch, struct sk_buff *skb,
				       const struct sfc_pkt *pkt, u64 now)
{
	enum sfc_hold_verdict ret = SFC_HOLD_PASS;
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_hold *h = q->hold;
	struct sfc_hold_flow f;
	int i;

	if (pkt->control || pkt->proto == IPPROTO_TCP)
		return SFC_HOLD_PASS;
	if (pkt->pausable && sfc_hold_flow_of(skb, pkt, &f))
		sfc_sent_add(&h->sent, sfc_hold_hash(q, &f), now);
	if (likely(now >= READ_ONCE(h->until_ns) && !READ_ONCE(h->table.busy)))
		return SFC_HOLD_PASS;

	spin_lock(&h->lock);
	sfc_hold_run(sch, h, now);
	i = sfc_hold_slot_of(h, skb, pkt, now);
	if (i >= 0) {
		ret = SFC_HOLD_FULL;
		if (sfc_queue_has_room(sch, pkt->band, qdisc_pkt_len(skb))) {
			sfc_hold_put(sch, h, i, skb, pkt);
			ret = SFC_HOLD_HELD;
		}
	}
	spin_unlock(&h->lock);
	return ret;
}

/* Before the next packet is taken from the queue; qdisc locked.  Returns the time, or 0. */
u64 sfc_hold_look(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_hold *h = q->hold;
	u64 now;

	if (likely(!READ_ONCE(h->sweep) && !READ_ONCE(h->table.busy)))
		return 0;
	now = ktime_get_ns();
	spin_lock(&h->lock);
	sfc_hold_run(sch, h, now);
	spin_unlock(&h->lock);
	return now;
}

/* Nothing else is left: look again when the first may go.  Qdisc locked. */
void sfc_hold_wait(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_hold *h = q->hold;

	/* locked: a BTS that brings the end forward sets the timer as well */
	spin_lock(&h->lock);
	if (h->table.busy)
		qdisc_watchdog_schedule_ns(&q->watchdog, sfc_hold_next(&h->table));
	spin_unlock(&h->lock);
}

/*
 * One packet of those that are held, whichever; NULL: there is none.  Qdisc locked, or
 * nobody knows it: it is reset once more before it goes, and softirqs are on then.
 */
struct sk_buff *sfc_hold_remove(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_hold *h = q->hold;
	struct sk_buff *skb = NULL;
	int i;

	if (!h)
		return NULL;
	spin_lock_bh(&h->lock);
	while (!skb && h->table.busy) {
		i = __ffs64(h->table.busy);
		skb = sfc_queue_unhold(sch, &h->held[i]);
		if (!h->held[i].qlen)
			WRITE_ONCE(h->table.busy, h->table.busy & ~BIT_ULL(i));
	}
	spin_unlock_bh(&h->lock);
	return skb;
}

/* --- a BTS; softirq, under RCU, @lock locked --- */

static void sfc_hold_report(const struct sfc_hold *h, const struct sfc_key *key)
{
	const char *dev = qdisc_dev(h->sch)->name;
	unsigned int ms = SFC_HOLD_INTERVAL_NS / NSEC_PER_MSEC;

	if (key->family == 6)
		net_warn_ratelimited("sch_sfc: %s: watchdog: %pI6c was held for %u %% of %u ms\n",
				     dev, key->addr, h->conf.pct, ms);
	else
		net_warn_ratelimited("sch_sfc: %s: watchdog: %pI4 was held for %u %% of %u ms\n",
				     dev, key->addr, h->conf.pct, ms);
}

static void sfc_hold_bts(struct sfc_hold *h, const struct bolt_msg *m, u64 now)
{
	struct sfc_key key = { .family = m->family, .dscp = m->dscp };
	struct sfc_sched *q = qdisc_priv(h->sch);
	struct bolt_pause_clock *clock;
	enum bolt_pause_what what;
	u64 old_ns;
	u32 tag;
	int i;

	memcpy(key.addr, m->daddr, sizeof(key.addr));
	tag = sfc_hold_tag(h, &key);
	q->stats.hold_bts++;
	if (!m->pause_ns && sfc_hold_find(&h->table, tag, &key) < 0)
		return;
	i = sfc_hold_take(&h->table, &h->conf, tag, &key, now);
	if (i < 0) {
		q->stats.hold_full++;
		return;
	}

	clock = &h->table.slots[i].clock;
	old_ns = max(clock->until_ns, now);
	what = bolt_pause_set(clock, &h->conf, now, m->pause_ns);
	/* look at once: the timer may have something to do before the new end as well */
	if (clock->until_ns < old_ns && h->table.busy & BIT_ULL(i))
		qdisc_watchdog_schedule_ns(&q->watchdog, now);
	switch (what) {
	case BOLT_PAUSE_TRIPPED:
		q->stats.hold_trips++;
		sfc_hold_report(h, &key);
		fallthrough;
	case BOLT_PAUSE_DEAF:
		q->stats.hold_deaf++;
		return;
	case BOLT_PAUSE_BEGUN:
		q->stats.hold_pauses++;
		WRITE_ONCE(h->sweep, true);
		break;
	case BOLT_PAUSE_REPLACED:
		break;
	}
	/* what a replaced pause will not last is taken back */
	q->stats.hold_ns += clock->until_ns - old_ns;
	if (clock->until_ns - now < m->pause_ns)
		q->stats.hold_clamped++;
	if (clock->until_ns > h->until_ns)
		WRITE_ONCE(h->until_ns, clock->until_ns);
}

/* As the switch would not have quoted it: section "Control messages" of sch_sfc.rst */
static bool sfc_hold_unicast(const struct bolt_msg *m)
{
	if (m->family == 6)
		return !(ipv6_addr_type((const struct in6_addr *)m->daddr) & IPV6_ADDR_MULTICAST);
	return !ipv4_is_multicast(m->daddr[0]) && !ipv4_is_lbcast(m->daddr[0]);
}

static u8 sfc_hold_ttl(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ? ipv6_hdr(skb)->hop_limit : ip_hdr(skb)->ttl;
}

/*
 * A datagram for this host.  That it quotes a packet of its own addressee (sfc_msg_read()), and
 * that the flow has sent by this port, is what makes a source address local.
 */
static enum sfc_hold_what sfc_hold_hear(struct sfc_hold *h, struct sk_buff *skb, u64 now)
{
	enum sfc_hold_what what = SFC_HOLD_FOREIGN;
	const struct sfc_sched *q;
	struct sfc_hold_flow f;
	enum sfc_msg_verdict v;
	struct sfc_pkt pkt;
	struct bolt_msg m;

	spin_lock(&h->lock);
	if (h->dead)
		goto out;
	sfc_parse(skb, h->port, &pkt);
	if (!pkt.control)
		goto out;
	v = sfc_msg_read(skb, &pkt, h->tagged ? &h->key : NULL, &m);
	if ((v != SFC_MSG_BTS && v != SFC_MSG_FALSE) || m.protocol == IPPROTO_TCP)
		goto out;

	what = SFC_HOLD_REFUSED;
	if (v == SFC_MSG_FALSE || sfc_hold_ttl(skb) < h->minttl || !sfc_hold_unicast(&m) ||
	    nf_checksum(skb, NF_INET_LOCAL_IN, pkt.l4_off, IPPROTO_UDP, pkt.family))
		goto out;
	what = SFC_HOLD_OVERSIZE;
	if (m.pause_ns > BOLT_PAUSE_ABSURD_NS)
		goto out;
	what = SFC_HOLD_STALE;
	f = (struct sfc_hold_flow){
		.sport = m.sport, .dport = m.dport,
		.family = m.family, .proto = m.protocol, .dscp = m.dscp,
	};
	memcpy(f.saddr, m.saddr, sizeof(f.saddr));
	memcpy(f.daddr, m.daddr, sizeof(f.daddr));
	q = qdisc_priv(h->sch);
	if (!sfc_sent_has(&h->sent, sfc_hold_hash(q, &f), now))
		goto out;
	what = SFC_HOLD_HEARD;
	sfc_hold_bts(h, &m, now);
out:
	spin_unlock(&h->lock);
	return what;
}

/*
 * LOCAL_IN, behind the operator's filters.  A BTS about a flow that is not TCP ends here, believed
 * or not: no socket would know what to do with it, and without one the stack would complain.
 */
static unsigned int sfc_hold_local_in(void *priv, struct sk_buff *skb,
				      const struct nf_hook_state *state)
{
	struct sfc_holds *holds = sfc_net_holds(state->net);
	enum sfc_hold_what what = SFC_HOLD_FOREIGN;
	struct sfc_hold *h;
	u64 now;

	if ((state->pf == NFPROTO_IPV6 ? ipv6_hdr(skb)->nexthdr : ip_hdr(skb)->protocol) !=
	    IPPROTO_UDP)
		return NF_ACCEPT;
	now = ktime_get_ns();
	list_for_each_entry_rcu(h, &holds->list, list)
		what = max(what, sfc_hold_hear(h, skb, now));

	switch (what) {
	case SFC_HOLD_FOREIGN:
		return NF_ACCEPT;
	case SFC_HOLD_REFUSED:
		atomic64_inc(&holds->refused);
		break;
	case SFC_HOLD_OVERSIZE:
		atomic64_inc(&holds->oversize);
		break;
	case SFC_HOLD_STALE:
		atomic64_inc(&holds->stale);
		break;
	case SFC_HOLD_HEARD:
		break;
	}
	consume_skb(skb);
	return NF_STOLEN;
}

static const struct nf_hook_ops sfc_hold_hooks[] = {
	{
		.hook		= sfc_hold_local_in,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP_PRI_SELINUX_LAST + 1,
	},
	{
		.hook		= sfc_hold_local_in,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP_PRI_SELINUX_LAST + 1,
	},
};

/* --- beginning and end; RTNL --- */

/* Returns what a port that is to hold from now on needs, NULL if it need not, or an error. */
struct sfc_hold *sfc_hold_prepare(struct Qdisc *sch, const struct sfc_config *cfg)
{
	struct net *net = dev_net(qdisc_dev(sch));
	struct sfc_holds *holds = sfc_net_holds(net);
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_hold *h;
	int err;

	if (!(cfg->flags & TC_SFC_F_HOLD) || q->hold)
		return NULL;
	h = kvzalloc(sizeof(*h), GFP_KERNEL);
	if (!h)
		return ERR_PTR(-ENOMEM);
	if (!holds->ports) {
		err = nf_register_net_hooks(net, sfc_hold_hooks, ARRAY_SIZE(sfc_hold_hooks));
		if (err) {
			kvfree(h);
			return ERR_PTR(err);
		}
	}
	holds->ports++;
	spin_lock_init(&h->lock);
	INIT_LIST_HEAD(&h->list);
	h->seed = get_random_u32();
	h->sch = sch;
	return h;
}

/* A port holds no more, or never has.  NULL: as before. */
void sfc_hold_free(struct Qdisc *sch, struct sfc_hold *h)
{
	struct net *net = dev_net(qdisc_dev(sch));
	struct sfc_holds *holds = sfc_net_holds(net);

	if (!h)
		return;
	list_del_rcu(&h->list);
	if (!--holds->ports)
		nf_unregister_net_hooks(net, sfc_hold_hooks, ARRAY_SIZE(sfc_hold_hooks));
	/* the hook may still be looking at it */
	spin_lock_bh(&h->lock);
	h->dead = true;
	memzero_explicit(&h->key, sizeof(h->key));
	spin_unlock_bh(&h->lock);
	kvfree_rcu(h, rcu);
}

/*
 * As the port is configured now; tree locked.  @h is what was prepared, if anything.  Returns what
 * the port needs no more, for sfc_hold_free().
 */
struct sfc_hold *sfc_hold_update(struct Qdisc *sch, struct sfc_hold *h)
{
	struct sfc_sched *q = qdisc_priv(sch);
	const struct sfc_config *cfg = &q->cfg;
	u64 now = ktime_get_ns();

	if (h) {
		q->hold = h;
		list_add_tail_rcu(&h->list, &sfc_net_holds(dev_net(qdisc_dev(sch)))->list);
	}
	h = q->hold;
	if (!h)
		return NULL;

	spin_lock(&h->lock);
	if (cfg->flags & TC_SFC_F_HOLD) {
		h->port = cfg->port;
		h->minttl = cfg->minttl;
		h->tagged = cfg->tagged;
		h->key = cfg->key;
		h->conf = (struct bolt_pause_conf){
			.max_ns = cfg->maxpause_ns,
			.interval_ns = SFC_HOLD_INTERVAL_NS,
			.recovery_ns = SFC_HOLD_RECOVERY_NS,
			.pct = cfg->holdshare,
		};
		spin_unlock(&h->lock);
		return NULL;
	}
	/* they go before whatever comes now, and what comes now is not held */
	sfc_hold_release(sch, h, now, true);
	h->dead = true;
	q->hold = NULL;
	spin_unlock(&h->lock);
	qdisc_watchdog_schedule_ns(&q->watchdog, now);
	return h;
}

/* Everything is forgotten; the packets are gone already.  Qdisc locked, or nobody knows it. */
void sfc_hold_reset(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_hold *h = q->hold;

	if (!h)
		return;
	spin_lock_bh(&h->lock);
	memset(&h->table, 0, sizeof(h->table));
	h->sweep = false;
	h->until_ns = 0;
	spin_unlock_bh(&h->lock);
}

/* For people.  Tree locked. */
void sfc_hold_stats(struct Qdisc *sch, struct tc_sfc_xstats *st)
{
	const struct sfc_holds *holds = sfc_net_holds(dev_net(qdisc_dev(sch)));
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_hold *h = q->hold;
	u64 now = ktime_get_ns();
	unsigned int i;

	if (!h)
		return;
	/* a BTS counts without the tree's lock */
	spin_lock(&h->lock);
	*st = q->stats;
	for (i = 0; i < SFC_HOLD_SLOTS; i++)
		st->hold_slots += bolt_pause_active(&h->table.slots[i].clock, now);
	spin_unlock(&h->lock);
	st->hold_refused = atomic64_read(&holds->refused);
	st->hold_oversize = atomic64_read(&holds->oversize);
	st->hold_stale = atomic64_read(&holds->stale);
}
