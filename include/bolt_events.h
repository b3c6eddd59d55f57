/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of a namespace, for whoever has joined the multicast group "events" of a generic netlink
 * family.
 *
 *   where it happens: any context, spinlocks held      later: a work item
 *     bolt_events_wanted()   a few instructions            sent to the group
 *     bolt_events_begin()    rate, memory
 *     bolt_events_end()      queued ----------------------->
 *
 * Nothing is sent where it happens: that would wake readers, and pass through a tap (nlmon) and its
 * qdisc, with the lock of a socket or of a qdisc held.
 *
 * Lost is what comes faster than the rate, and what there is no memory for.  A listener that has no
 * room hears of it from its own socket: ENOBUFS.
 */
#ifndef _BOLT_EVENTS_H
#define _BOLT_EVENTS_H

#include <linux/ktime.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

/* The only group of either family */
#define BOLT_EVENTS_GROUP	0

/**
 * struct bolt_events - of a namespace and a family
 * @family:	to send as; its group may only be used while *@on
 * @on:		the family is registered
 * @net:	the namespace
 * @wq:		to run @work; flushed between *@on = false and the end of the family
 * @interval_ns: between events
 * @burst:	so many may come at once, and wait
 * @queue:	to be sent; its lock guards what follows
 * @free_ns:	when the next event is due, if they come evenly
 * @sent:	handed to netlink
 * @lost:	see above
 * @told:	of @lost, those that an event has told of
 */
struct bolt_events {
	const struct genl_family *family;
	const bool		*on;
	struct net		*net;
	struct workqueue_struct	*wq;
	u32			interval_ns;
	u32			burst;
	struct work_struct	work;
	struct sk_buff_head	queue;
	u64			free_ns;
	u64			sent;
	u64			lost;
	u64			told;
};

/*
 * Does anybody listen, in any namespace?  All that an event costs otherwise: three loads and a test
 * of a bit.
 */
static inline bool bolt_events_wanted(const struct bolt_events *ev)
{
	return READ_ONCE(*ev->on) &&
	       unlikely(genl_has_listeners(ev->family, ev->net, BOLT_EVENTS_GROUP) > 0);
}

/* One more, which was to tell of @untold others */
static inline void bolt_events_count_lost(struct bolt_events *ev, u32 untold)
{
	unsigned long flags;

	spin_lock_irqsave(&ev->queue.lock, flags);
	ev->lost++;
	ev->told -= untold;
	spin_unlock_irqrestore(&ev->queue.lock, flags);
}

static void bolt_events_work(struct work_struct *work)
{
	struct bolt_events *ev = container_of(work, struct bolt_events, work);
	struct sk_buff *skb;
	unsigned long flags;
	int err;

	while ((skb = skb_dequeue(&ev->queue))) {
		if (!READ_ONCE(*ev->on)) {
			kfree_skb(skb);
			continue;
		}
		err = genlmsg_multicast_netns(ev->family, ev->net, skb, 0, BOLT_EVENTS_GROUP,
					      GFP_KERNEL);
		spin_lock_irqsave(&ev->queue.lock, flags);
		if (!err)
			ev->sent++;
		else if (err != -ESRCH)		/* they listen elsewhere */
			ev->lost++;
		spin_unlock_irqrestore(&ev->queue.lock, flags);
		cond_resched();
	}
}

static inline void bolt_events_init(struct bolt_events *ev, struct net *net,
				    const struct genl_family *family, const bool *on,
				    struct workqueue_struct *wq, u32 rate, u32 burst)
{
	ev->net = net;
	ev->family = family;
	ev->on = on;
	ev->wq = wq;
	ev->interval_ns = NSEC_PER_SEC / rate;
	ev->burst = burst;
	skb_queue_head_init(&ev->queue);
	INIT_WORK(&ev->work, bolt_events_work);
}

/* Nothing makes events any more. */
static inline void bolt_events_exit(struct bolt_events *ev)
{
	cancel_work_sync(&ev->work);
	skb_queue_purge(&ev->queue);
}

/* May another one go out?  In *@lost those that did not since the last one. */
static inline bool bolt_events_take(struct bolt_events *ev, u64 now_ns, u32 *lost)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&ev->queue.lock, flags);
	ok = ev->free_ns <= now_ns + (u64)(ev->burst - 1) * ev->interval_ns &&
	     skb_queue_len(&ev->queue) < ev->burst;
	if (ok) {
		ev->free_ns = max(ev->free_ns, now_ns) + ev->interval_ns;
		*lost = min_t(u64, ev->lost - ev->told, U32_MAX);
		ev->told = ev->lost;
	} else {
		ev->lost++;
	}
	spin_unlock_irqrestore(&ev->queue.lock, flags);
	return ok;
}

/**
 * bolt_events_begin() - an event, to be filled in
 * @size:	of its attributes, at most
 * @cmd:	of the family
 * @hdr:	for bolt_events_end()
 * @lost:	what it is to say of lost ones
 *
 * NULL: there is none, and that was counted.
 */
static inline struct sk_buff *bolt_events_begin(struct bolt_events *ev, size_t size, u8 cmd,
						u64 now_ns, void **hdr, u32 *lost)
{
	struct sk_buff *skb;

	if (!bolt_events_take(ev, now_ns, lost))
		return NULL;
	skb = genlmsg_new(size, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		bolt_events_count_lost(ev, *lost);
		return NULL;
	}
	*hdr = genlmsg_put(skb, 0, 0, ev->family, 0, cmd);
	return skb;
}

/* @err: it could not be filled in */
static inline void bolt_events_end(struct bolt_events *ev, struct sk_buff *skb, void *hdr, int err)
{
	if (WARN_ON_ONCE(err)) {
		kfree_skb(skb);
		bolt_events_count_lost(ev, 0);
		return;
	}
	genlmsg_end(skb, hdr);
	skb_queue_tail(&ev->queue, skb);
	queue_work(ev->wq, &ev->work);
}

/* For people */
static inline void bolt_events_stats(struct bolt_events *ev, u64 *sent, u64 *lost)
{
	unsigned long flags;

	spin_lock_irqsave(&ev->queue.lock, flags);
	*sent = ev->sent;
	*lost = ev->lost;
	spin_unlock_irqrestore(&ev->queue.lock, flags);
}

#endif /* _BOLT_EVENTS_H */
