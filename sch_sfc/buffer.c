// SPDX-License-Identifier: GPL-2.0
/*
 * The packet buffer of a switch: its ports share it ("buffer"), and for "pfc" the bytes that wait
 * are counted by ingress device and priority.
 *
 *	packet joins a queue ---> what this port holds ----> all ports, in grains	buffer
 *	             leaves  ---> bytes of its ingress and priority ---> pfc.c		pfc
 *
 * The ingress is a device with "pfc", or the one below a VLAN.  What this host sends itself, what
 * came in elsewhere, ACKs and control messages are not counted for an ingress: the last two use the
 * high band, and drain queues.  The bytes of an ingress are exact, so that XOFF is not late; those
 * of the buffer are off by a 64th at most.
 *
 * Locking: what packets use of struct sfc_sched changes with the tree locked; slots of the switch
 * and who uses them are RTNL's.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "buffer.h"
#include "port.h"

/* What the port holds has changed by @bytes. */
static void sfc_buffer_change(struct sfc_sched *q, u32 bytes)
{
	struct sfc_buffer *buf = q->sw_buffer;
	u32 used;

	if (!q->cfg.buffer)
		return;
	q->buffer.bytes += bytes;
	if (!sfc_news(q->buffer.bytes, q->buffer.published, READ_ONCE(buf->grain)))
		return;
	used = atomic_add_return(q->buffer.bytes - q->buffer.published, &buf->used);
	q->buffer.published = q->buffer.bytes;
	/* the account may be less than nothing by its error */
	if ((s32)used > (s32)READ_ONCE(buf->peak))
		WRITE_ONCE(buf->peak, used);
}

static u32 sfc_buffer_used(const struct sfc_buffer *buf)
{
	return max(atomic_read(&buf->used), 0);
}

/*
 * Of its port's share of the buffer, the high band may use half.  A packet that finds nothing
 * waiting has room in the port's share.
 */
bool sfc_buffer_has_room(const struct sfc_sched *q, unsigned int band, u32 backlog, u32 len)
{
	u32 used = sfc_buffer_used(q->sw_buffer);
	u64 limit;

	if (!q->cfg.buffer)
		return true;
	if (used && used + (u64)len > q->cfg.buffer)
		return false;
	limit = sfc_buffer_limit(q->cfg.buffer, used, q->cfg.alpha);
	if (band == SFC_BAND_HIGH) {
		backlog = q->qos.band[SFC_BAND_HIGH].bytes;
		limit /= 2;
	}
	return !backlog || backlog + (u64)len <= limit;
}

/* By which device with "pfc" a packet came in, or NULL */
struct sfc_pfc *sfc_pfc_ingress(struct Qdisc *sch, const struct sk_buff *skb)
{
	return sfc_switch_find(&sfc_switch_of_port(sch)->buffer.devices, dev_net(qdisc_dev(sch)),
			       sfc_iif(qdisc_priv(sch), skb));
}

/* sfc_buffer_join(): the port is in a buffer, or the packet came in by some device */
void sfc_buffer_add(struct Qdisc *sch, struct sk_buff *skb)
{
	u32 len = qdisc_pkt_len(skb), bytes;
	u8 prio = sfc_skb_cb(skb)->prio;
	struct sfc_pfc *pfc = NULL;

	sfc_buffer_change(qdisc_priv(sch), len);
	if (prio != SFC_PFC_NO_PRIO)
		pfc = sfc_pfc_ingress(sch, skb);
	if (!pfc)
		return;
	sfc_skb_cb(skb)->ingress = pfc->slot;
	bytes = atomic64_add_return(BIT_ULL(32) + len, &pfc->queued[prio]);
	if (bytes > READ_ONCE(pfc->peak))
		WRITE_ONCE(pfc->peak, bytes);
	/* if the bit was set before, the task has sent XOFF, or will: it reads the bytes itself */
	if (unlikely(bytes > READ_ONCE(pfc->cfg.xoff)) && READ_ONCE(pfc->cfg.prios) & BIT(prio) &&
	    !test_and_set_bit(prio, &pfc->full))
		tasklet_schedule(&pfc->task);
}

/* sfc_buffer_leave(): one that sfc_buffer_add() has counted */
void sfc_buffer_remove(struct sfc_sched *q, const struct sk_buff *skb)
{
	struct sfc_pfc *pfc = q->sw_buffer->pfc[sfc_skb_cb(skb)->ingress];
	u8 prio = sfc_skb_cb(skb)->prio;
	u32 len = qdisc_pkt_len(skb), bytes;

	sfc_buffer_change(q, -len);
	if (!pfc)
		return;
	bytes = atomic64_sub_return(BIT_ULL(32) + len, &pfc->queued[prio]);
	if (test_bit(prio, &pfc->full) && bytes < READ_ONCE(pfc->cfg.xon))
		tasklet_schedule(&pfc->task);
}

/* Count all queued packets, or uncount them if !@in.  Context: tree locked */
static void sfc_buffer_recount(struct Qdisc *sch, bool in)
{
	struct sfc_sched *q = qdisc_priv(sch);
	struct sfc_pkt pkt;
	struct sk_buff *skb;
	unsigned int band;

	for (band = 0; band < SFC_BANDS; band++)
		for (skb = q->bands[band].head; skb; skb = skb->next) {
			if (!in) {
				sfc_buffer_leave(q, skb);
				continue;
			}
			sfc_parse(skb, q->cfg.port, &pkt);
			pkt.band = band;
			sfc_buffer_join(sch, skb, &pkt);
		}
}

/* Some port still has packets that came in by the device that had this slot. */
static bool sfc_pfc_has_packets(const struct sfc_pfc *pfc)
{
	int prio;

	for (prio = 0; prio < SFC_PFC_PRIOS; prio++)
		if (atomic64_read(&pfc->queued[prio]))
			return true;
	return false;
}

/* The slot that the device has left, or one that another has, with all its packets; 0: none */
static int sfc_pfc_slot_find(const struct sfc_buffer *buf, int ifindex)
{
	int i, slot = 0;

	for (i = 1; i <= SFC_PFC_MAX; i++) {
		const struct sfc_pfc *pfc = buf->pfc[i];

		if (pfc && !pfc->dev && pfc->ifindex == ifindex)
			return i;
		if (!slot && (!pfc || (!pfc->dev && !sfc_pfc_has_packets(pfc))))
			slot = i;
		if (!pfc)
			break;
	}
	return slot;
}

/*
 * The device's slot, before a port with "pfc" is configured: the one that it has, or a free one.
 * RTNL, may sleep.  Nothing has to be taken back when nothing comes of it.
 */
int sfc_pfc_slot_alloc(struct sfc_buffer *buf, const struct net_device *dev)
{
	struct sfc_pfc *pfc;
	int i, err;

	if (xa_load(&buf->devices, dev->ifindex))
		return 0;
	i = sfc_pfc_slot_find(buf, dev->ifindex);
	if (!i)
		return -ENOSPC;
	pfc = buf->pfc[i];
	if (pfc) {
		/* one that was prepared, and never came to be configured */
		xa_erase(&buf->devices, pfc->ifindex);
	} else {
		pfc = kzalloc(sizeof(*pfc), GFP_KERNEL);
		if (!pfc)
			return -ENOMEM;
		sfc_pfc_init(pfc);
		pfc->slot = i;
		/* sfc_srcc_count_ports() reads it from here */
		smp_store_release(&buf->pfc[i], pfc);
	}
	pfc->ifindex = dev->ifindex;
	err = xa_err(xa_store(&buf->devices, dev->ifindex, pfc, GFP_KERNEL));
	if (err)
		pfc->ifindex = 0;
	return err;
}

/* By the ports that there are, and the smallest buffer that one of them has.  RTNL. */
static void sfc_buffer_set_grain(struct sfc_buffer *buf)
{
	u32 size = U32_MAX, ports = 0;
	struct sfc_sched *q;

	list_for_each_entry(q, &sfc_list, list)
		if (q->sw_buffer == buf && q->cfg.buffer) {
			size = min(size, q->cfg.buffer);
			ports++;
		}
	WRITE_ONCE(buf->grain, sfc_buffer_grain(size, ports));
}

/* @cfg is about to be the port's, tree locked; NULL: it is none any more, no packet comes.  RTNL */
void sfc_buffer_set(struct Qdisc *sch, const struct sfc_config *cfg)
{
	struct sfc_buffer *buf = &sfc_switch_of_port(sch)->buffer;
	struct sfc_sched *q = qdisc_priv(sch);
	u32 buffer = cfg ? cfg->buffer : 0;
	bool pfc = cfg && cfg->pfc.prios;
	bool anew = !q->sw_buffer != !(buffer || pfc);

	/* other CPUs use both accounts meanwhile: what is counted, and stays so, is not walked */
	if (q->sw_buffer && anew)
		sfc_buffer_recount(sch, false);
	else if (!buffer)
		sfc_buffer_change(q, -q->buffer.bytes);
	q->cfg.buffer = buffer;
	q->sw_buffer = buffer || pfc ? buf : NULL;
	/* not for each port that goes: the grain stays smaller than need be */
	if (buffer)
		sfc_buffer_set_grain(buf);
	q->pfc = pfc ? xa_load(&buf->devices, qdisc_dev(sch)->ifindex) : NULL;
	if (!pfc)
		memset(q->pfc_watch, 0, sizeof(q->pfc_watch));
	if (q->sw_buffer && anew)
		sfc_buffer_recount(sch, true);
	else if (buffer)
		sfc_buffer_change(q, sfc_qos_until(&q->qos, SFC_BAND_HIGH) - q->buffer.bytes);
}

/*
 * A device with "pfc" has the configuration of one of its sfc: the last one configured that is
 * still there.  A qdisc that the kernel refuses behind its init() is not.  Returns false if none
 * is.  RTNL.
 */
bool sfc_pfc_reconfigure(struct sfc_pfc *pfc)
{
	struct sfc_pfc_config cfg;
	struct sfc_sched *q;

	list_for_each_entry(q, &sfc_list, list) {
		if (q->pfc != pfc)
			continue;
		cfg = q->cfg.pfc;
		cfg.xon = cfg.xon ?: DIV_ROUND_UP(cfg.xoff, 2);
		cfg.convert = q->cfg.flags & TC_SFC_F_SFCP;
		sfc_pfc_configure(pfc, &cfg, q->alg.link_bps);
		return true;
	}
	return false;
}

/*
 * Behind sfc_buffer_set(), with the tree unlocked: PAUSE frames to the port's neighbour begin, or
 * end.  @old: q->pfc before.  RTNL.
 */
void sfc_pfc_start_or_stop(struct Qdisc *sch, struct sfc_pfc *old)
{
	struct sfc_sched *q = qdisc_priv(sch);

	if (q->pfc && !q->pfc->dev)
		sfc_pfc_begin(q->pfc, qdisc_dev(sch));
	if (old && old != q->pfc) {
		if (!sfc_pfc_reconfigure(old)) {
			xa_erase(&sfc_switch_of_port(sch)->buffer.devices, old->ifindex);
			sfc_pfc_end(old);
		}
		/* what waited for the end of a pause waits no more */
		netif_tx_schedule_all(qdisc_dev(sch));
	}
	if (q->pfc)
		sfc_pfc_reconfigure(q->pfc);
}

/* The last port of the namespace has gone. */
void sfc_buffer_free(struct sfc_buffer *buf)
{
	int i;

	for (i = 1; i <= SFC_PFC_MAX && buf->pfc[i]; i++) {
		/* packets that came in by the device schedule it also after sfc_pfc_end() */
		tasklet_kill(&buf->pfc[i]->task);
		kfree(buf->pfc[i]);
	}
	xa_destroy(&buf->devices);
}

/* Tree locked */
void sfc_buffer_stats(const struct sfc_sched *q, struct tc_sfc_xstats *st)
{
	struct sfc_pfc *pfc = q->pfc;
	struct sfc_buffer *buf = q->sw_buffer;
	u64 now;
	int i;

	if (!buf)
		return;
	if (q->cfg.buffer) {
		st->buffer_used = sfc_buffer_used(buf);
		st->buffer_peak = READ_ONCE(buf->peak);
		st->buffer_limit = sfc_buffer_limit(q->cfg.buffer, st->buffer_used, q->cfg.alpha);
	}
	if (!pfc)
		return;
	for (i = 0; i < SFC_PFC_PRIOS; i++) {
		st->ingress_bytes += sfc_pfc_bytes(pfc, i);
		st->ingress_packets += sfc_pfc_packets(pfc, i);
	}
	st->ingress_peak = READ_ONCE(pfc->peak);
	spin_lock_bh(&pfc->lock);
	now = ktime_get_ns();
	/* the bit of a priority that has nothing to send stays set behind the pause */
	for (i = 0; i < SFC_PFC_PRIOS; i++)
		if (test_bit(i, &pfc->paused) && now < pfc->rx[i].until_ns)
			st->pfc_paused |= BIT(i);
	st->pfc_xoff = pfc->stats.xoff;
	st->pfc_refresh = pfc->stats.refresh;
	st->pfc_xon = pfc->stats.xon;
	st->pfc_failed = pfc->stats.failed;
	st->pfc_heard = pfc->stats.heard;
	st->pfc_refused = pfc->stats.refused;
	st->pfc_ignored = pfc->stats.ignored;
	st->pfc_trips = pfc->stats.trips;
	st->sfcp_asked = pfc->stats.asked;
	st->sfcp_refused = pfc->stats.ask_refused;
	spin_unlock_bh(&pfc->lock);
	st->pfc_unknown = atomic64_read(&buf->unknown);
}
