// SPDX-License-Identifier: GPL-2.0
/*
 * SRCC at a port: its section III around the pure part (srcc.h).
 *
 *	packet of data to this egress, came in by a device with "pfc"
 *	  queue <= Q_cth ---> its ingress has uncongested packets now (struct sfc_pfc)
 *	  queue >  Q_cth, and that was less than T ago ---> CNM to the sender
 *
 * The paper's CNM is QCN's, forwarded by a table of MAC addresses; here it is a control message as
 * any other, which is routed.  M is the number of ports in use, Q_PFC the xoff of the packet's
 * ingress, and both tests are about the packet's priority, since PFC is.  Of several bands the
 * queue is all that waits: C / n is of all their flows.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bolt_msg.h>
#include "backlog.h"
#include "buffer.h"
#include "trace.h"

/* Links between this switch and the sender; 0: it is the sender */
static u8 sfc_srcc_hops(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	int off = pkt->flow.family == 4 ? offsetof(struct iphdr, ttl) :
					  offsetof(struct ipv6hdr, hop_limit);
	u8 ttl = 64;

	skb_copy_bits(skb, pkt->l3_off + off, &ttl, sizeof(ttl));
	return bolt_hops_of_ttl(ttl);
}

/* Was that within T?  0: never */
static bool sfc_srcc_is_recent(u64 last_ns, const struct sfc_srcc_cfg *cfg, u64 now)
{
	return last_ns && (s64)(now - last_ns) < cfg->window_ns;
}

/* Count the ports that had data within T. */
static void sfc_srcc_count_ports(struct sfc_sched *q, u64 now)
{
	const struct sfc_srcc_cfg *cfg = &q->srcc_cfg;
	struct sfc_srcc *s = q->srcc;
	const struct sfc_pfc *port;
	int i;

	if (s->ports && now - s->counted_ns < cfg->window_ns / SFC_SRCC_STAMPS)
		return;
	s->counted_ns = now;
	s->ports = 0;
	WRITE_ONCE(q->pfc->used_ns, now);
	for (i = 1; i <= SFC_PFC_MAX && (port = READ_ONCE(q->sw_buffer->pfc[i])); i++)
		s->ports += sfc_srcc_is_recent(READ_ONCE(port->used_ns), cfg, now);
}

static void sfc_send_cnm(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
			 struct sfc_srcc_flow *f, u32 queue, u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct bolt_msg msg = {
		.type = BOLT_CTL_CNM,
		.queue_bytes = queue,
		.target_rate = sfc_srcc_kbps(q->srcc, &q->srcc_cfg, &q->alg.rate,
					     queue - q->stats.srcc_qth),
	};
	enum sfc_signal_verdict verdict;

	if (sfc_srcc_knows(f, &q->srcc_cfg, msg.target_rate, now)) {
		q->stats.cnm_suppressed++;
		return;
	}
	verdict = sfc_send_msg(sch, skb, pkt, &msg, now);
	trace_sfc_cnm(sch, pkt, &msg, verdict);
	if (verdict != SFC_SIGNAL_SENT)
		return;
	q->stats.cnm_sent++;
	f->notified_ns = now;
	f->notified_kbps = msg.target_rate;
}

/* A packet that arrives, before it joins the queue or is dropped; the port has "srcc". */
void sfc_srcc_arrival(struct Qdisc *sch, const struct sk_buff *skb, const struct sfc_pkt *pkt,
		      u64 now)
{
	struct sfc_sched *q = qdisc_priv(sch);
	const struct sfc_srcc_cfg *cfg = &q->srcc_cfg;
	u32 queue = sfc_backlog(sch);
	u8 prio = sfc_prio_of(skb, pkt);
	struct sfc_srcc_flow *f;
	struct sfc_pfc *ingress;
	u64 last_ns;

	if (!pkt->pausable || !q->alg.rate.kbps)
		return;
	/* all flows have a share of the port; those of equal addresses in two VRFs, one */
	f = sfc_srcc_see(q->srcc, cfg, sfc_flow_hash(q, pkt->flow, 0), now);
	sfc_srcc_measure(q->srcc, cfg, queue, now);
	sfc_srcc_count_ports(q, now);
	q->stats.srcc_flows = sfc_srcc_count(q->srcc);
	ingress = sfc_pfc_ingress(sch, skb);
	if (!ingress || !(READ_ONCE(ingress->cfg.prios) & BIT(prio)))
		return;
	q->stats.srcc_qth = sfc_srcc_threshold(q->srcc, cfg, &q->alg.rate,
					       READ_ONCE(ingress->cfg.xoff),
					       max_t(u32, sfc_srcc_hops(skb, pkt), 1));
	last_ns = READ_ONCE(ingress->uncongested_ns[prio]);
	if (queue <= q->stats.srcc_qth) {
		if (!last_ns || now - last_ns > cfg->window_ns / SFC_SRCC_STAMPS)
			WRITE_ONCE(ingress->uncongested_ns[prio], now);
	} else if (pkt->flow.proto == IPPROTO_TCP) {
		if (sfc_srcc_is_recent(last_ns, cfg, now))
			sfc_send_cnm(sch, skb, pkt, f, queue, now);
		else
			q->stats.cnm_unshared++;
	}
}
