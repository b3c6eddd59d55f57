// SPDX-License-Identifier: GPL-2.0
/*
 * Priority-based flow control (IEEE 802.1Q, clause 36), in software, at the devices with "pfc".
 *
 *	buffer.c: more than xoff, less than xon --+
 *	pause.c, BTS of others: SFC-P ------------+--> task --> PAUSE, in the device's high band
 *	half of the pause is over --> timer ------+
 *
 *	PAUSE received --> sfc_pfc_receive() --> end of the priority's pause
 *	queue.c: next packet is of a paused priority --> its band waits; watchdog of the band
 *
 * SFC-P (SFC, section 4): the switch of a sender converts a BTS for it to a PAUSE frame to its NIC,
 * for the priority of the quoted packet.  The sender's host needs no support for SFC.
 *
 * A PAUSE frame does not prove its sender.  Only a device configured with "pfc" obeys it, for the
 * priorities configured, and a watchdog, that of SONiC (pfcwd), bounds what it can do.
 *
 * PAUSE frames that a NIC handles itself do not get here, nor do those to a port of a bridge or of
 * Open vSwitch, which drop them.  Those to a link of a bond or a team count as the latter's.
 */
#include <linux/etherdevice.h>
#include <linux/pkt_sched.h>

#include "buffer.h"

/* --- PAUSE frames to the neighbour --- */

/* When to try again for which there was no memory */
#define SFC_PFC_RETRY_NS	(20 * NSEC_PER_USEC)

/*
 * Returns false if there is no frame to send.  @sent: what to count once it is.
 * Context: @lock held
 */
static bool sfc_pfc_next_frame(struct sfc_pfc *pfc, struct sfc_pfc_frame *f,
			       struct sfc_pfc_stats *sent, u64 now, u64 *again_ns)
{
	int prio, quanta;
	u64 again;

	*f = (struct sfc_pfc_frame){ };
	*sent = (struct sfc_pfc_stats){ };
	*again_ns = U64_MAX;
	for (prio = 0; prio < SFC_PFC_PRIOS; prio++) {
		struct sfc_xoff *t = &pfc->tx[prio];
		bool was = t->full || t->until_ns > now;

		/* this task is scheduled by each setter of the bit, and by the timer */
		if (test_bit(prio, &pfc->full) &&
		    (sfc_pfc_bytes(pfc, prio) < pfc->cfg.xon ||
		     !(pfc->cfg.prios & BIT(prio))))
			clear_bit(prio, &pfc->full);
		quanta = sfc_xoff_next(t, &pfc->rate, test_bit(prio, &pfc->full), now, &again);
		if (again)
			*again_ns = min(*again_ns, again);
		if (quanta < 0)
			continue;
		f->vector |= BIT(prio);
		f->quanta[prio] = quanta;
		if (!quanta)
			sent->xon++;
		else if (was)
			sent->refresh++;
		else
			sent->xoff++;
	}
	return f->vector;
}

static bool sfc_pfc_xmit(struct sk_buff *skb, struct net_device *dev,
			 const struct sfc_pfc_frame *f)
{
	sfc_pfc_build(skb_put(skb, SFC_PFC_FRAME), dev->dev_addr, f);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, SFC_PFC_HEAD);
	skb->protocol = htons(ETH_P_PAUSE);
	skb->priority = TC_PRIO_CONTROL;
	skb->dev = dev;
	return dev_queue_xmit(skb) == NET_XMIT_SUCCESS;
}

/*
 * A tasklet, because it is scheduled with a qdisc locked, possibly one of this device.  The memory
 * for a frame comes first: without it what is due stays due, and the task runs again soon.
 */
static void sfc_pfc_task(struct tasklet_struct *t)
{
	struct sfc_pfc *pfc = from_tasklet(pfc, t, task);
	u64 now, again_ns = U64_MAX;
	struct sk_buff *skb = NULL;
	struct sfc_pfc_stats sent;
	struct net_device *dev;
	struct sfc_pfc_frame f;
	unsigned int room;
	bool news = false;

	spin_lock(&pfc->lock);
	dev = pfc->dev;
	if (dev && pfc->rate.bytes_ps) {
		now = ktime_get_ns();
		room = LL_RESERVED_SPACE(dev);
		skb = alloc_skb(room + SFC_PFC_FRAME + dev->needed_tailroom, GFP_ATOMIC);
		if (skb) {
			skb_reserve(skb, room);
			news = sfc_pfc_next_frame(pfc, &f, &sent, now, &again_ns);
		} else {
			again_ns = now + SFC_PFC_RETRY_NS;
		}
		pfc->stats.failed += !skb;
		if (again_ns != U64_MAX)
			hrtimer_start(&pfc->timer, ns_to_ktime(again_ns), HRTIMER_MODE_ABS_SOFT);
	}
	spin_unlock(&pfc->lock);
	if (!news) {
		consume_skb(skb);
		return;
	}
	/* sfc_pfc_end() waits for this tasklet, so the device exists */
	if (!sfc_pfc_xmit(skb, dev, &f))
		sent = (struct sfc_pfc_stats){ .failed = 1 };
	spin_lock(&pfc->lock);
	pfc->stats.xoff += sent.xoff;
	pfc->stats.refresh += sent.refresh;
	pfc->stats.xon += sent.xon;
	pfc->stats.failed += sent.failed;
	spin_unlock(&pfc->lock);
}

static enum hrtimer_restart sfc_pfc_timer(struct hrtimer *timer)
{
	tasklet_schedule(&container_of(timer, struct sfc_pfc, timer)->task);
	return HRTIMER_NORESTART;
}

/* SFC-P: request a pause of @prio.  Returns false if the device does not pause that priority. */
bool sfc_pfc_request(struct sfc_pfc *pfc, u8 prio, u64 pause_ns, u64 now)
{
	bool mine;

	spin_lock(&pfc->lock);
	mine = pfc->dev && pfc->rate.bytes_ps && pfc->cfg.convert && pfc->cfg.prios & BIT(prio);
	if (mine) {
		pfc->stats.asked++;
		pfc->tx[prio].ask_ns = max(pfc->tx[prio].ask_ns, now + pause_ns);
		tasklet_schedule(&pfc->task);
	}
	spin_unlock(&pfc->lock);
	return mine;
}

/*
 * The BTS @m is about to leave to a sender.  @left_ns: what the cache has of its pause, if it
 * believes it, else 0.  Returns true if a PAUSE frame is sent instead, which is only for what the
 * cache believes, because pausing a priority affects all flows of the host: that the destination is
 * paused says nothing of this sender.
 */
bool sfc_pfc_convert(struct sfc_pfc *pfc, const struct bolt_msg *m, u32 left_ns, u64 now)
{
	if (left_ns && sfc_pfc_request(pfc, m->dscp >> 3, left_ns, now))
		return true;
	spin_lock(&pfc->lock);
	pfc->stats.ask_refused++;
	spin_unlock(&pfc->lock);
	return false;
}

/* --- PAUSE frames from the neighbour --- */

/* Returns true if a priority may resume, or sooner than it could. */
static bool sfc_pfc_apply_frame(struct sfc_pfc *pfc, const struct sfc_pfc_frame *f, u64 now)
{
	bool on = false;
	int prio;

	for (prio = 0; prio < SFC_PFC_PRIOS; prio++) {
		struct sfc_paused *p = &pfc->rx[prio];
		u64 old_ns = p->until_ns;

		if (!(f->vector & BIT(prio)))
			continue;
		if (!(pfc->cfg.prios & BIT(prio)) || !pfc->rate.bytes_ps ||
		    !sfc_paused_set(p, now, sfc_pfc_quanta_ns(&pfc->rate, f->quanta[prio]))) {
			pfc->stats.ignored++;
			continue;
		}
		pfc->stats.heard++;
		if (f->quanta[prio]) {
			set_bit(prio, &pfc->paused);
			/* the timers of the ports are set for the later end */
			on |= p->until_ns < old_ns;
		} else {
			on |= test_and_clear_bit(prio, &pfc->paused);
		}
	}
	return on;
}

static const u8 sfc_pfc_group[] = SFC_PFC_DEST;

static int sfc_pfc_receive(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
			   struct net_device *orig_dev)
{
	struct sfc_buffer *buf = &sfc_switch_of(dev_net(dev))->buffer;
	struct sfc_pfc *pfc = xa_load(&buf->devices, dev->ifindex);
	struct sfc_pfc_frame f;
	u8 body[SFC_PFC_BODY];
	bool on = false;

	/* also before the port is configured, and when it has gone */
	if (!pfc || !READ_ONCE(pfc->dev)) {
		atomic64_inc(&buf->unknown);
		goto out;
	}
	spin_lock(&pfc->lock);
	/* a frame with a VLAN tag is not for this device: PACKET_OTHERHOST */
	if (skb->pkt_type != PACKET_MULTICAST ||
	    !ether_addr_equal(eth_hdr(skb)->h_dest, sfc_pfc_group) ||
	    skb_copy_bits(skb, 0, body, sizeof(body)) || !sfc_pfc_parse(body, sizeof(body), &f))
		pfc->stats.refused++;
	else if (pfc->dev)
		on = sfc_pfc_apply_frame(pfc, &f, ktime_get_ns());
	spin_unlock(&pfc->lock);
	if (on)
		netif_tx_schedule_all(dev);
out:
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static struct packet_type sfc_pfc_packet_type __read_mostly = {
	.type	= htons(ETH_P_PAUSE),
	.func	= sfc_pfc_receive,
};

static bool sfc_pfc_must_wait(struct Qdisc *sch, unsigned int band, u64 now, u64 *wake_ns)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u8 prio = sfc_skb_cb(q->bands[band].head)->prio;
	const struct sfc_pfc_config *cfg = &q->pfc->cfg;
	struct sfc_pfc_watch *w = &q->pfc_watch[band];
	struct sfc_paused *p = &q->pfc->rx[prio];
	enum sfc_paused_verdict verdict;

	verdict = sfc_paused_stops(p, w, cfg->stuck_ns, cfg->ignore_ns, now);
	if (verdict == SFC_PAUSED) {
		*wake_ns = min(*wake_ns, sfc_paused_wake_ns(p, w, cfg->stuck_ns));
	} else if (verdict == SFC_PAUSED_TRIPPED) {
		q->pfc->stats.trips++;
		/* heads of this priority in other queues of the device may leave as well */
		netif_tx_schedule_all(qdisc_dev(sch));
		net_warn_ratelimited("sch_sfc: %s: watchdog: priority %u was paused for %u ms\n",
				     qdisc_dev(sch)->name, prio,
				     cfg->stuck_ns / (u32)NSEC_PER_MSEC);
	}
	return verdict == SFC_PAUSED;
}

/*
 * Data bands whose head must not leave, bit 0 is the first.  The head blocks the packets behind it;
 * to avoid that, give priorities their own bands.  Sets the watchdog of the port.
 */
u32 sfc_pfc_stopped(struct Qdisc *sch)
{
	struct sfc_sched *q = qdisc_priv(sch);
	u64 now, wake_ns = U64_MAX;
	unsigned int band, prio;
	u32 stopped = 0;

	spin_lock(&q->pfc->lock);
	now = ktime_get_ns();
	for (band = 0; band < TC_SFC_BANDS_MAX; band++)
		if (q->bands[band].head && sfc_pfc_must_wait(sch, band, now, &wake_ns))
			stopped |= BIT(band);
	/* clear what is over, also of a priority of which no packet waits */
	for (prio = 0; prio < SFC_PFC_PRIOS; prio++)
		if (test_bit(prio, &q->pfc->paused) && now >= q->pfc->rx[prio].until_ns)
			clear_bit(prio, &q->pfc->paused);
	spin_unlock(&q->pfc->lock);
	if (stopped)
		qdisc_watchdog_schedule_ns(&q->watchdog, wake_ns);
	return stopped;
}

/* --- devices.  Context: RTNL --- */

/* Devices with "pfc" in all namespaces */
static unsigned int sfc_pfc_devices;

void sfc_pfc_init(struct sfc_pfc *pfc)
{
	spin_lock_init(&pfc->lock);
	tasklet_setup(&pfc->task, sfc_pfc_task);
	hrtimer_setup(&pfc->timer, sfc_pfc_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

/* Packets read these without the lock, but for the watchdog's times. */
static void sfc_pfc_set(struct sfc_pfc *pfc, const struct sfc_pfc_config *cfg)
{
	WRITE_ONCE(pfc->cfg.prios, cfg->prios);
	WRITE_ONCE(pfc->cfg.xoff, cfg->xoff);
	WRITE_ONCE(pfc->cfg.xon, cfg->xon);
	pfc->cfg.stuck_ns = cfg->stuck_ns;
	pfc->cfg.ignore_ns = cfg->ignore_ns;
	WRITE_ONCE(pfc->cfg.convert, cfg->convert);
}

/* Check the queued bytes against the new thresholds. */
void sfc_pfc_configure(struct sfc_pfc *pfc, const struct sfc_pfc_config *cfg,
		       u64 link_bps)
{
	int prio;

	spin_lock_bh(&pfc->lock);
	sfc_pfc_set(pfc, cfg);
	sfc_rate_set(&pfc->rate, link_bps);
	for (prio = 0; prio < SFC_PFC_PRIOS; prio++) {
		if (!cfg->convert || !(cfg->prios & BIT(prio)))
			pfc->tx[prio].ask_ns = 0;
		if (!(cfg->prios & BIT(prio)))
			pfc->rx[prio] = (struct sfc_paused){ };
		else if (sfc_pfc_bytes(pfc, prio) > cfg->xoff)
			set_bit(prio, &pfc->full);
	}
	tasklet_schedule(&pfc->task);
	spin_unlock_bh(&pfc->lock);
	netif_tx_schedule_all(pfc->dev);
}

void sfc_pfc_begin(struct sfc_pfc *pfc, struct net_device *dev)
{
	if (!sfc_pfc_devices++)
		dev_add_pack(&sfc_pfc_packet_type);
	spin_lock_bh(&pfc->lock);
	memset(pfc->tx, 0, sizeof(pfc->tx));
	memset(pfc->rx, 0, sizeof(pfc->rx));
	memset(&pfc->stats, 0, sizeof(pfc->stats));
	WRITE_ONCE(pfc->full, 0);
	memset(pfc->uncongested_ns, 0, sizeof(pfc->uncongested_ns));
	WRITE_ONCE(pfc->used_ns, 0);
	WRITE_ONCE(pfc->paused, 0);
	WRITE_ONCE(pfc->peak, 0);
	WRITE_ONCE(pfc->dev, dev);
	spin_unlock_bh(&pfc->lock);
	/* a NIC may filter, and a virtual one's host */
	if (dev_mc_add(dev, sfc_pfc_group))
		netdev_warn(dev, "sfc: no memory for the group of PAUSE frames\n");
}

/* Send no more frames; a pause of the neighbour ends by itself. */
void sfc_pfc_end(struct sfc_pfc *pfc)
{
	dev_mc_del(pfc->dev, sfc_pfc_group);
	spin_lock_bh(&pfc->lock);
	WRITE_ONCE(pfc->dev, NULL);
	sfc_pfc_set(pfc, &(const struct sfc_pfc_config){ .xoff = U32_MAX });
	WRITE_ONCE(pfc->paused, 0);
	spin_unlock_bh(&pfc->lock);
	hrtimer_cancel(&pfc->timer);
	tasklet_kill(&pfc->task);
	if (!--sfc_pfc_devices)
		dev_remove_pack(&sfc_pfc_packet_type);
}
