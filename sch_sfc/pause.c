// SPDX-License-Identifier: GPL-2.0
/*
 * Source Flow Control at a port: Algorithm 1 of the SFC paper around its pure parts.
 *
 *	paper (Fig. 3)			here
 *	A.1, A.2 queue > Qth		sfc_pause_armed(), at enqueue
 *	A.3 cache			sfc_cache_find(), cache.c
 *	  "", estimator			sfc_estimate(), estimate.c
 *	A.4 Bloom filter		sfc_pause_told(), bloom.h
 *	A.5, A.6 mirror, build BTS	sfc_pause_tell(), signal.c
 *
 * The paper's pipeline asks at the ingress for the depth of the egress queue.  A Linux
 * router has no ingress pipeline that knows the egress; enqueue is the first place that does,
 * and it is still before the packet joins the queue, which is what counts: N senders
 * that arrive at once are told at once, not one per departure (section 2.3).
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/siphash.h>

#include <bolt_msg.h>
#include "events.h"
#include "sfc.h"

/* The 5-tuple, hashed.  0: there is none. */
static u64 sfc_pause_flow(const struct sfc_sched *q, const struct sk_buff *skb,
			  const struct sfc_pkt *pkt)
{
	struct {
		struct in6_addr saddr, daddr;
		__be32 ports;
		u32 proto;
	} six = { .proto = pkt->proto };
	const struct ipv6hdr *ip6h;
	const struct iphdr *iph;
	struct ipv6hdr buf;
	__be32 *ports;

	ports = skb_header_pointer(skb, pkt->l4_off, sizeof(six.ports), &six.ports);
	if (!ports)
		return 0;
	if (pkt->family == AF_INET) {
		iph = skb_header_pointer(skb, pkt->l3_off, sizeof(*iph), &buf);
		if (!iph)
			return 0;
		return siphash_4u32((__force u32)iph->saddr, (__force u32)iph->daddr,
				    (__force u32)*ports, pkt->proto, &q->flow_key) ?: 1;
	}
	ip6h = skb_header_pointer(skb, pkt->l3_off, sizeof(buf), &buf);
	if (!ip6h)
		return 0;
	six.saddr = ip6h->saddr;
	six.daddr = ip6h->daddr;
	six.ports = *ports;
	return siphash(&six, sizeof(six), &q->flow_key) ?: 1;
}

/* Line 13: does this flow know that it has to pause until then? */
static bool sfc_pause_told(struct sfc_sched *q, u64 flow, u64 until_ns, u64 now)
{
	if (!q->pause.suppress_ns)
		return false;

	sfc_bloom_tick(&q->told, now, q->pause.suppress_ns);
	switch (sfc_bloom_ask(&q->told, flow, now, until_ns, q->pause.suppress_ns)) {
	case SFC_BLOOM_NEW:
	case SFC_BLOOM_LATE:
		return false;
	case SFC_BLOOM_FALSE:
		q->stats.bts_false++;
		break;
	case SFC_BLOOM_TOLD:
		break;
	}
	q->stats.bts_suppressed++;
	return true;
}

/*
 * Lines 13-25: tell the sender of @skb, unless it knows.  @cached_ns is what the cache says
 * of its destination, @local_ns the estimator.
 */
static void sfc_pause_tell(struct Qdisc *sch, const struct sk_buff *skb,
			   const struct sfc_pkt *pkt, u32 cached_ns, u32 local_ns, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 queue = sfc_backlog_drain(sch, pkt->band);	/* line 21: the newest */
	struct bolt_msg msg = {
		.type = BOLT_CTL_BTS,
		.dscp = pkt->dscp,
		.t_data_tx = pkt->t_data_tx,
		.queue_bytes = queue,
		.pause_ns = sfc_pause_ns(&q->alg.rate, queue, q->pause.qtg, q->pause.max_ns),
	};
	u64 flow = sfc_pause_flow(q, skb, pkt);
	enum sfc_signal_verdict verdict;

	if (max(local_ns, cached_ns) > msg.pause_ns) {	/* lines 23-24 */
		msg.pause_ns = max(local_ns, cached_ns);
		msg.flags = BOLT_CTL_F_FROM_CACHE;
	} else if (q->pause.edge) {			/* line 25 */
		msg.flags = BOLT_CTL_F_CACHEABLE;
	}

	if (!flow)
		return;
	if (sfc_pause_told(q, flow, now + msg.pause_ns, now)) {
		sfc_event(sch, skb, pkt, SFC_EVENT_TYPE_SUPPRESSED, SFC_VERDICT_SENT, &msg);
		return;
	}

	verdict = sfc_signal(sch, skb, pkt, &msg, now);
	sfc_event(sch, skb, pkt, SFC_EVENT_TYPE_BTS, sfc_event_verdict(verdict), &msg);
	switch (verdict) {
	case SFC_SIGNAL_SENT:
		q->stats.bts_sent++;
		if (msg.flags & BOLT_CTL_F_FROM_CACHE && cached_ns >= local_ns)
			q->stats.bts_cached++;
		if (q->pause.suppress_ns)
			sfc_bloom_add(&q->told, flow, now, now + msg.pause_ns);
		break;
	case SFC_SIGNAL_LIMITED:
		q->stats.bts_limited++;
		break;
	case SFC_SIGNAL_NOMEM:
		q->stats.bts_nomem++;
		break;
	case SFC_SIGNAL_DROPPED:
		q->stats.bts_dropped++;
		break;
	case SFC_SIGNAL_UNFIT:
		q->stats.bts_unfit++;
		break;
	}
}

/* Line 11 */
static u32 sfc_pause_cached(struct sfc_sched *q, const struct sfc_key *key, u64 now)
{
	u32 left;

	if (now >= READ_ONCE(*q->until_ns))
		return 0;
	left = sfc_cache_find(q->cache, key, now);
	if (left)
		q->stats.cache_hits++;
	return left;
}

/* For listeners */
static void sfc_pause_tell_hit(struct Qdisc *sch, const struct sk_buff *skb,
			       const struct sfc_pkt *pkt, u32 cached_ns)
{
	const struct bolt_msg m = { .pause_ns = cached_ns, .queue_bytes = sfc_backlog(sch) };

	sfc_event(sch, skb, pkt, SFC_EVENT_TYPE_CACHE_HIT, SFC_VERDICT_SENT, &m);
}

/* Section 3.4, local_estimate: the pause that the estimated remote queue is worth */
static u32 sfc_pause_local(struct sfc_sched *q, const struct sfc_key *key, u32 bytes, u64 now)
{
	u32 ns;

	if (!q->dre.decay)
		return 0;
	ns = sfc_estimate(q->est, &q->dre, key, bytes, q->pause.max_ns, now);
	if (ns)
		q->stats.estimator_hits++;
	return ns;
}

/* What the port would hold itself (hold.c) it must not: that moves a queue, and idles the link. */
static bool sfc_pause_answers(const struct sfc_sched *q, const struct sfc_pkt *pkt)
{
	return pkt->pausable && !(q->hold && pkt->proto != IPPROTO_TCP);
}

/* A packet that arrives, before it joins the queue or is dropped; see sfc_pause_armed(). */
void sfc_pause_arrival(struct Qdisc *sch, const struct sk_buff *skb,
		       const struct sfc_pkt *pkt, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u32 cached_ns = 0, local_ns = 0;
	struct sfc_key key;

	if (!sfc_pause_answers(q, pkt))
		return;
	if ((q->dre.decay || now < READ_ONCE(*q->until_ns)) && sfc_key_of(skb, pkt, &key)) {
		cached_ns = sfc_pause_cached(q, &key, now);
		if (cached_ns)
			sfc_pause_tell_hit(sch, skb, pkt, cached_ns);
		local_ns = sfc_pause_local(q, &key, qdisc_pkt_len(skb), now);
	}
	if (cached_ns || local_ns ||
	    sfc_backlog_beyond(sch, pkt->band, q->pause.qth_in))		/* line 12 */
		sfc_pause_tell(sch, skb, pkt, cached_ns, local_ns, now);
}

/* A packet that leaves and has left more than Qth behind: egress BTS */
void sfc_pause_departure(struct Qdisc *sch, const struct sk_buff *skb, unsigned int band, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_pkt pkt;

	sfc_parse(skb, q->cfg.port, &pkt);
	pkt.band = band;
	if (sfc_pause_answers(q, &pkt))
		sfc_pause_tell(sch, skb, &pkt, 0, 0, now);
}
