// SPDX-License-Identifier: GPL-2.0
/*
 * A pair of devices: the way of a packet from ndo_start_xmit() to the peer.
 *
 *	xmit		split a GSO packet into what goes on the wire; give each its
 *	   |		time: begin = max(now, end of the one before),
 *	   |		end = begin + length / rate, arrival = end + delay
 *	   |		(counted in ps; events happen at full ns, see below)
 *	   |		stop the queue when the ring is full
 *	TX_DONE		the last byte of a ring entry is serialized
 *	COMPLETION	reported to the driver, at once or with those that follow: release
 *	   |		the place in the ring and (in softirq) the socket's memory,
 *	   |		report to byte queue limits, wake the queue
 *	ARRIVAL		the last byte of a packet is at the peer: hash it, count it,
 *	   |		hand it to the peer's NAPI
 *	poll		strip what a wire does not carry, pass it up
 *
 * A packet that a socket sent must not free its share of the socket's buffer
 * before it is serialized, nor keep it longer: TCP small queues live on it. A
 * GSO packet itself waits in the ring (its segments travel). Any other packet
 * travels itself, and leaves a proxy in the ring: an empty sk_buff that has
 * taken over sk, destructor and truesize.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/rtnetlink.h>
#include <net/sch_generic.h>
#include <net/sock.h>
#include "lablink.h"

#define LAB_FEATURES	(NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_RXCSUM | \
			 NETIF_F_HIGHDMA | NETIF_F_ALL_TSO | NETIF_F_GSO_UDP_L4)

static unsigned int txqs = 1;
module_param(txqs, uint, 0444);
MODULE_PARM_DESC(txqs, "transmit queues of a device (1), for mq and mqprio");

static bool refuse;
module_param(refuse, bool, 0644);
MODULE_PARM_DESC(refuse, "refuse packets, so that connect() fails where there is no qdisc (N)");

/* All ends, in the order of creation: under RTNL, and lab_lock to change. */
LIST_HEAD(lab_links);

static u32 lab_next_id;

/* ---- FIFO ---- */

static void lab_fifo_add(struct lab_fifo *f, struct sk_buff *skb)
{
	skb->next = NULL;
	if (f->head)
		f->tail->next = skb;
	else
		f->head = skb;
	f->tail = skb;
}

static struct sk_buff *lab_fifo_take(struct lab_fifo *f)
{
	struct sk_buff *skb = f->head;

	if (skb) {
		f->head = skb->next;
		skb->next = NULL;
	}
	return skb;
}

/* ---- what a packet is ---- */

/* A frame without tag that has TCP payload. */
static bool lab_has_data(const struct sk_buff *skb)
{
	unsigned int offset, proto;
	struct tcphdr buf;
	const struct tcphdr *th;

	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr buf;
		const struct iphdr *iph = skb_header_pointer(skb, ETH_HLEN, sizeof(buf), &buf);

		if (!iph || iph->frag_off & htons(IP_OFFSET))
			return false;
		proto = iph->protocol;
		offset = ETH_HLEN + iph->ihl * 4;
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr buf;
		const struct ipv6hdr *iph = skb_header_pointer(skb, ETH_HLEN, sizeof(buf), &buf);

		if (!iph)
			return false;
		proto = iph->nexthdr;
		offset = ETH_HLEN + sizeof(*iph);
	} else {
		return false;
	}
	if (proto != IPPROTO_TCP)
		return false;
	th = skb_header_pointer(skb, offset, sizeof(buf), &buf);
	return th && skb->len > offset + th->doff * 4;
}

/* ---- transmit ---- */

static u64 lab_serialize_ps(struct lablink *l, u32 bytes)
{
	u64 ps;

	if (l->ps_per_byte)
		return (u64)bytes * l->ps_per_byte;
	/* below 2^16 bytes: 5.2e17 and a remainder below the rate fit */
	ps = div64_u64_rem(bytes * LAB_PS_BITS_PER_S + l->rounding, l->rate_bps, &l->rounding);
	return ps;
}

/*
 * A line that was busy until now goes on from the very ps. On a real machine the
 * interrupt that said so came later than it should have.
 */
static u64 lab_begin_ps(const struct lablink *l, u64 now)
{
	u64 now_ps = now * LAB_PS_PER_NS;

	if (l->slots_used > l->slots_sent || l->busy_until_ps >= now_ps)
		return l->busy_until_ps;
	if (l->resume_ns && now - l->resume_ns <= lab_catch_up_ns())
		return l->busy_until_ps;
	return now_ps;
}

/*
 * Nothing arrives early: the next full ns. But a line is free again at the ns its
 * last ps lies in, and what then follows begins at that ps. Packets that
 * arrive as fast as the line takes them meet no queue that way; rounded up, the
 * same load waited a ns for every other packet.
 */
static u64 lab_arrival_ns(u64 ps, u64 delay_ns)
{
	return div_u64(ps + LAB_PS_PER_NS - 1, LAB_PS_PER_NS) + delay_ns;
}

static u64 lab_tx_done_ns(u64 ps)
{
	return div_u64(ps, LAB_PS_PER_NS);
}

/* Destructors of other sockets may look at more than a proxy has. */
static bool lab_can_claim(const struct sk_buff *skb)
{
	struct sock *sk = skb->sk;

	return sk && sk_fullsock(sk) && (skb->destructor == sock_wfree || sk_is_tcp(sk));
}

/*
 * The socket's claim passes to a proxy. Without one it stays with the packet until
 * that arrives: late, but safe.
 */
static struct sk_buff *lab_claim(struct lablink *l, struct sk_buff *skb)
{
	struct sk_buff *proxy = l->proxies;

	if (!skb->destructor || !proxy)
		return NULL;
	l->proxies = proxy->next;
	proxy->next = NULL;
	proxy->sk = skb->sk;
	proxy->destructor = skb->destructor;
	proxy->truesize = skb->truesize;
	skb->sk = NULL;
	skb->destructor = NULL;
	return proxy;
}

static struct sk_buff *lab_segment(struct sk_buff *skb)
{
	void (*destructor)(struct sk_buff *skb) = skb->destructor;
	netdev_features_t features = netif_skb_features(skb) & ~NETIF_F_GSO_MASK;
	struct sk_buff *segs;

	/* Segmentation moves the claim of a TCP socket to the last segment. */
	skb->destructor = NULL;
	segs = skb_gso_segment(skb, features);
	skb->destructor = destructor;
	return segs;
}

static void lab_put_on_line(struct lablink *l, struct sk_buff *skb)
{
	struct lab_cb *cb = lab_cb(skb);
	u32 len = skb->len;
	u64 ps = lab_serialize_ps(l, len);

	cb->begin_ns = div_u64(l->busy_until_ps, LAB_PS_PER_NS);
	lab_capture_packet(l, skb, cb->begin_ns, LABLINK_CAPTURE_WIRE);
	l->busy_until_ps += ps;
	l->count.tx_busy_ps += ps;
	l->count.tx_bytes += len;
	l->count.tx_packets++;

	cb->len = len;
	cb->tcp_data = lab_has_data(skb);
	cb->fate = 0;
	if (unlikely(l->faulty))
		lab_fault_decide(l, cb);
	if (unlikely(cb->fate & BIT(LAB_FAULT_REORDER))) {
		cb->arrival_ns = max(lab_arrival_ns(l->busy_until_ps, l->delay_ns + cb->late_ns),
				     l->last_late_ns);
		l->last_late_ns = cb->arrival_ns;
		lab_fifo_add(&l->late, skb);
		return;
	}
	cb->arrival_ns = max(lab_arrival_ns(l->busy_until_ps, l->delay_ns), l->last_arrival_ns);
	l->last_arrival_ns = cb->arrival_ns;
	lab_fifo_add(&l->flight, skb);
}

/* Of the two the one whose first packet arrives first. */
static struct lab_fifo *lab_next_flight(struct lablink *l)
{
	const struct sk_buff *skb = l->flight.head, *late = l->late.head;

	if (likely(!late) || (skb && lab_cb(skb)->arrival_ns <= lab_cb(late)->arrival_ns))
		return &l->flight;
	return &l->late;
}

static void lab_arm_arrival(struct lablink *l)
{
	const struct sk_buff *skb = lab_next_flight(l)->head;

	if (skb && (l->arrival.pos < 0 || lab_cb(skb)->arrival_ns < l->arrival.ns))
		lab_event_set(&l->arrival, lab_cb(skb)->arrival_ns);
}

/* There is no place in the ring, or the end stands still. */
static bool lab_ring_full(const struct lablink *l)
{
	return l->slots_used >= l->ring || l->fault[LAB_FAULT_STOP];
}

static void lab_stop_queues(struct lablink *l)
{
	l->stopped = true;
	netif_tx_stop_all_queues(l->dev);
}

/* What was put on the line since @before is one entry; it is the newest. */
static void lab_take_slot(struct lablink *l, struct sk_buff *done, u64 before,
			  struct netdev_queue *txq)
{
	struct lab_slot *slot = &l->slots[(l->slot_head + l->slots_used) % l->slots_size];

	slot->done = done;
	slot->end_ps = l->busy_until_ps;
	slot->bytes = l->count.tx_bytes - before;
	slot->bql = l->bql ? txq : NULL;
	if (slot->bql)
		netdev_tx_sent_queue(slot->bql, slot->bytes);
	if (l->slots_used > l->slots_sent)
		l->waiting_bytes += slot->bytes;
	if (++l->slots_used >= l->ring)
		lab_stop_queues(l);
	if (l->tx_done.pos < 0)
		lab_event_set(&l->tx_done, lab_tx_done_ns(slot->end_ps));
}

static netdev_tx_t lab_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct netdev_queue *txq = skb_get_tx_queue(dev, skb);
	struct lablink *l = netdev_priv(dev);
	u32 queued_bytes = qdisc_skb_cb(skb)->pkt_len;
	struct sk_buff *segs = skb, *done = NULL, *next;
	unsigned long flags;
	u64 now, before;

	if (unlikely(READ_ONCE(refuse))) {
		kfree_skb(skb);
		return -ECONNREFUSED;
	}
	if (skb_is_gso(skb)) {
		segs = lab_segment(skb);
		if (IS_ERR_OR_NULL(segs)) {
			raw_spin_lock_irqsave(&lab_lock, flags);
			l->count.tx_drops++;
			lab_capture_packet(l, skb, lab_now(), LABLINK_CAPTURE_TX_DROP);
			raw_spin_unlock_irqrestore(&lab_lock, flags);
			kfree_skb(skb);
			return NETDEV_TX_OK;
		}
		done = skb;
	} else if (skb->destructor && !lab_can_claim(skb)) {
		skb_orphan(skb);
	}
	skb_tx_timestamp(skb);

	raw_spin_lock_irqsave(&lab_lock, flags);
	if (unlikely(lab_ring_full(l))) {
		/* Several queues raced for the last place. */
		lab_stop_queues(l);
		raw_spin_unlock_irqrestore(&lab_lock, flags);
		if (done)
			kfree_skb_list(segs);
		return NETDEV_TX_BUSY;
	}
	now = lab_now();
	lab_before_change(now);
	lab_observe(l, now, queued_bytes);
	lab_capture_look(l);

	l->busy_until_ps = lab_begin_ps(l, now);
	l->resume_ns = 0;
	before = l->count.tx_bytes;
	if (!done)
		done = lab_claim(l, skb);
	for (; segs; segs = next) {
		next = segs->next;
		lab_put_on_line(l, segs);
	}

	lab_take_slot(l, done, before, txq);
	lab_arm_arrival(l);
	lab_events_arm(now);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return NETDEV_TX_OK;
}

/*
 * Wake the queues, from another one each time. On one CPU nobody can be halfway
 * through finding the queue stopped, so one without packets needs no softirq.
 * Returns whether any has packets.
 */
static bool lab_wake_queues(struct lablink *l)
{
	unsigned int n = l->dev->num_tx_queues, i;
	bool any = false;

	l->stopped = false;
	for (i = 0; i < n; i++) {
		struct netdev_queue *txq = netdev_get_tx_queue(l->dev, (l->wake_first + i) % n);
		bool waiting = qdisc_qlen_sum(rcu_dereference_sched(txq->qdisc));

		any |= waiting;
		if (!IS_ENABLED(CONFIG_SMP) && !waiting)
			netif_tx_start_queue(txq);
		else
			netif_tx_wake_queue(txq);
	}
	if (++l->wake_first >= n)
		l->wake_first = 0;
	return any;
}

/* The oldest place of the ring is free again.  Returns it until then. */
static struct lab_slot lab_release_slot(struct lablink *l)
{
	struct lab_slot *slot = &l->slots[l->slot_head];

	if (slot->done) {
		lab_fifo_add(&l->done, slot->done);
		if (l->up)
			napi_schedule(&l->napi);
	}
	l->slot_head = (l->slot_head + 1) % l->slots_size;
	l->slots_used--;
	l->slots_sent--;
	return *slot;
}

/*
 * Under lab_lock, in hard interrupt context: report to the driver what has been sent. Byte queue
 * limits learn from how much one report has, so a queue's packets are reported together.
 */
void lab_dev_completion(struct lablink *l, u64 now)
{
	bool went_idle = l->slots_sent == l->slots_used;
	struct netdev_queue *bql = NULL;
	unsigned int packets = 0, bytes = 0;

	while (l->slots_sent) {
		struct lab_slot slot = lab_release_slot(l);

		if (slot.bql != bql) {
			if (bql)
				netdev_tx_completed_queue(bql, packets, bytes);
			bql = slot.bql;
			packets = 0;
			bytes = 0;
		}
		packets++;
		bytes += slot.bytes;
	}
	if (bql)
		netdev_tx_completed_queue(bql, packets, bytes);
	if (l->stopped && !lab_ring_full(l) && lab_wake_queues(l) && went_idle && !l->coalesce_ns)
		l->resume_ns = now;
}

/* Under lab_lock, in hard interrupt context: the line is through with an entry. */
void lab_dev_tx_done(struct lablink *l, u64 now)
{
	const struct lab_slot *next;

	lab_observe(l, now, 0);
	lab_follow_look(l, now, false);
	if (++l->slots_sent < l->slots_used) {
		next = &l->slots[(l->slot_head + l->slots_sent) % l->slots_size];
		l->waiting_bytes -= next->bytes;
		lab_event_set(&l->tx_done, lab_tx_done_ns(next->end_ps));
	}
	if (!l->coalesce_ns)
		lab_dev_completion(l, now);
	else if (l->completion.pos < 0)
		lab_event_set(&l->completion, now + l->coalesce_ns);
}

/* Under lab_lock: the end stands still from now on, or goes on. */
void lab_dev_update_stop(struct lablink *l)
{
	if (!l->up)
		return;
	if (lab_ring_full(l))
		lab_stop_queues(l);
	else if (l->stopped)
		lab_wake_queues(l);
	if (!l->fault[LAB_FAULT_STOP] && l->rx.head)
		napi_schedule(&l->napi);
}

/* ---- receive ---- */

/* FNV-1a's multiplier on whole words: cheap, and order counts. */
static void lab_hash(u64 word)
{
	lab_window.trace_hash = (lab_window.trace_hash ^ word) * 0x100000001b3ULL;
	lab_window.trace_hash ^= lab_window.trace_hash >> 29;
}

/* Under lab_lock, in hard interrupt context: l is the end that transmitted. */
void lab_dev_arrival(struct lablink *l)
{
	struct lablink *to = l->peer;
	struct lab_fifo *flight;
	u64 ns = l->arrival.ns;

	lab_follow_look(to, ns, false);
	while ((flight = lab_next_flight(l))->head && lab_cb(flight->head)->arrival_ns <= ns) {
		struct sk_buff *skb = lab_fifo_take(flight);
		const struct lab_cb *cb = lab_cb(skb);

		if (unlikely(cb->fate & LAB_FATE_LOST)) {
			lab_capture_packet(l, skb, cb->arrival_ns, LABLINK_CAPTURE_LOST);
			dev_kfree_skb_any(skb);
			continue;
		}
		if (lab_window.state == LAB_RUNNING) {
			lab_hash(cb->arrival_ns);
			lab_hash((u64)to->id << 32 | cb->len);
		}
		to->count.rx_packets++;
		to->count.rx_bytes += cb->len;
		to->count.rx_data_packets += cb->tcp_data;
		if (likely(to->up) &&
		    (likely(!to->fault[LAB_FAULT_STOP]) || !lab_fault_overflows(to))) {
			if (unlikely(lab_following))
				lab_follow_arrival(l, skb);
			lab_fifo_add(&to->rx, skb);
			napi_schedule(&to->napi);
		} else {
			to->count.rx_drops++;
			lab_capture_packet(l, skb, cb->arrival_ns, LABLINK_CAPTURE_RX_DROP);
			dev_kfree_skb_any(skb);
		}
	}
	lab_arm_arrival(l);
}

/* What is left of a packet after a wire: its bytes. As veth, and a little more. */
static void lab_strip(struct sk_buff *skb, struct lablink *l)
{
	struct net_device *dev = l->dev;

	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb_init_secmark(skb);
	skb_clear_hash(skb);
	skb_reset_redirect(skb);
	skb->priority = 0;
	skb->queue_mapping = 0;
	skb->tc_index = 0;
	skb->protocol = eth_type_trans(skb, dev);
	/* An end without ARP writes its own address for the peer's. */
	if (skb->pkt_type == PACKET_OTHERHOST &&
	    ether_addr_equal_64bits(eth_hdr(skb)->h_dest, l->peer->dev->dev_addr))
		skb->pkt_type = PACKET_HOST;
}

/* Give back what sockets wait for. Proxies return to their list. */
static void lab_complete(struct lablink *l, struct lab_fifo *done, int budget)
{
	struct sk_buff *skb, *used = NULL, *last = NULL;
	unsigned long flags;

	while ((skb = lab_fifo_take(done))) {
		if (skb_is_gso(skb)) {
			napi_consume_skb(skb, budget);
			continue;
		}
		skb_orphan(skb);
		skb->next = used;
		used = skb;
		if (!last)
			last = skb;
	}
	if (used) {
		raw_spin_lock_irqsave(&lab_lock, flags);
		last->next = l->proxies;
		l->proxies = used;
		raw_spin_unlock_irqrestore(&lab_lock, flags);
	}
}

static void lab_receive(struct lablink *l, struct sk_buff *skb)
{
	lab_strip(skb, l);
	if (l->dev->features & NETIF_F_GRO)
		napi_gro_receive(&l->napi, skb);
	else
		netif_receive_skb(skb);
}

/* A packet that a fault has changed or doubled. */
static void lab_receive_faulty(struct lablink *l, struct sk_buff *skb)
{
	struct sk_buff *twin = NULL;
	u8 fate = lab_cb(skb)->fate;

	if (fate & BIT(LAB_FAULT_CORRUPT)) {
		skb = lab_fault_corrupt(skb);
		if (!skb)
			return;
	}
	if (fate & BIT(LAB_FAULT_DUPLICATE))
		twin = skb_clone(skb, GFP_ATOMIC);
	lab_receive(l, skb);
	if (twin)
		lab_receive(l, twin);
}

static int lab_poll(struct napi_struct *napi, int budget)
{
	struct lablink *l = container_of(napi, struct lablink, napi);
	struct lab_fifo done, rx = { };
	struct sk_buff *skb;
	unsigned long flags;
	int n = 0;

	raw_spin_lock_irqsave(&lab_lock, flags);
	done = l->done;
	l->done.head = NULL;
	if (likely(!l->fault[LAB_FAULT_STOP])) {
		rx = l->rx;
		l->rx.head = NULL;
	}
	raw_spin_unlock_irqrestore(&lab_lock, flags);

	if (done.head)
		lab_complete(l, &done, budget);
	while (n < budget && (skb = lab_fifo_take(&rx))) {
		n++;
		if (unlikely(skb_orphan_frags_rx(skb, GFP_ATOMIC))) {
			kfree_skb(skb);
			continue;
		}
		if (unlikely(lab_cb(skb)->fate))
			lab_receive_faulty(l, skb);
		else
			lab_receive(l, skb);
	}

	if (unlikely(lab_following)) {
		raw_spin_lock_irqsave(&lab_lock, flags);
		lab_follow_look(l, lab_now(), true);
		raw_spin_unlock_irqrestore(&lab_lock, flags);
	}
	if (rx.head) {
		/* Over budget: what is left comes before what arrived meanwhile. */
		raw_spin_lock_irqsave(&lab_lock, flags);
		if (l->rx.head)
			rx.tail->next = l->rx.head;
		else
			l->rx.tail = rx.tail;
		l->rx.head = rx.head;
		raw_spin_unlock_irqrestore(&lab_lock, flags);
	}
	if (n < budget)
		napi_complete_done(napi, n);
	return n;
}

/* ---- the device ---- */

static int lab_open(struct net_device *dev)
{
	struct lablink *l = netdev_priv(dev);
	unsigned long flags;

	napi_enable(&l->napi);
	raw_spin_lock_irqsave(&lab_lock, flags);
	l->up = true;
	if (l->done.head)
		napi_schedule(&l->napi);
	l->stopped = lab_ring_full(l);
	if (l->stopped)
		netif_tx_stop_all_queues(dev);
	else
		netif_tx_start_all_queues(dev);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

static void lab_purge(struct lab_fifo *f)
{
	struct sk_buff *skb;

	while ((skb = lab_fifo_take(f)))
		kfree_skb(skb);
}

/* What is on the line travels on; sockets get back what they wait for now. */
static int lab_stop(struct net_device *dev)
{
	struct lablink *l = netdev_priv(dev);
	struct lab_fifo done, rx;
	struct sk_buff *skb;
	unsigned long flags;
	u32 i;

	netif_tx_stop_all_queues(dev);
	raw_spin_lock_irqsave(&lab_lock, flags);
	l->up = false;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	napi_disable(&l->napi);

	raw_spin_lock_irqsave(&lab_lock, flags);
	for (i = 0; i < l->slots_used; i++) {
		struct lab_slot *slot = &l->slots[(l->slot_head + i) % l->slots_size];

		if (slot->done)
			lab_fifo_add(&l->done, slot->done);
		slot->done = NULL;
	}
	done = l->done;
	rx = l->rx;
	l->done.head = NULL;
	l->rx.head = NULL;
	for (skb = rx.head; skb; skb = skb->next)
		l->count.rx_drops++;
	raw_spin_unlock_irqrestore(&lab_lock, flags);

	local_bh_disable();
	lab_complete(l, &done, 0);
	lab_purge(&rx);
	local_bh_enable();
	return 0;
}

static void lab_free(struct lablink *l)
{
	struct sk_buff *proxy;

	while ((proxy = l->proxies)) {
		l->proxies = proxy->next;
		proxy->next = NULL;
		kfree_skb(proxy);
	}
	lab_fault_forget(l);
	kvfree(l->slots);
}

/* Under RTNL. What the ring holds now comes first in the new one. */
static int lab_resize_ring(struct lablink *l, u32 ring)
{
	struct lab_slot *slots, *old;
	unsigned long flags;
	u32 i;

	if (ring <= l->slots_size)
		return 0;
	slots = kvcalloc(ring, sizeof(*slots), GFP_KERNEL);
	if (!slots)
		return -ENOMEM;
	raw_spin_lock_irqsave(&lab_lock, flags);
	for (i = 0; i < l->slots_used; i++)
		slots[i] = l->slots[(l->slot_head + i) % l->slots_size];
	old = l->slots;
	l->slots = slots;
	l->slots_size = ring;
	l->slot_head = 0;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	kvfree(old);
	return 0;
}

/* As many proxies as wait in a full ring and for one softirq after. */
static int lab_add_proxies(struct lablink *l, u32 places)
{
	struct sk_buff *proxy;
	unsigned long flags;
	u32 i;

	for (i = 0; i < 2 * places; i++) {
		proxy = alloc_skb(0, GFP_KERNEL);
		if (!proxy)
			return -ENOMEM;
		raw_spin_lock_irqsave(&lab_lock, flags);
		proxy->next = l->proxies;
		l->proxies = proxy;
		raw_spin_unlock_irqrestore(&lab_lock, flags);
	}
	return 0;
}

static int lab_init(struct net_device *dev)
{
	struct lablink *l = netdev_priv(dev);

	if (lab_resize_ring(l, l->ring) || lab_add_proxies(l, l->ring + 1) ||
	    lab_events_reserve(3)) {
		lab_free(l);
		return -ENOMEM;
	}
	return 0;
}

/* The device is down and off every list: nothing new reaches the line. */
static void lab_uninit(struct net_device *dev)
{
	struct lablink *l = netdev_priv(dev);
	struct lab_fifo flight, late;
	unsigned long flags;

	lab_unwatch(l);
	lab_uncapture(l);
	lab_unfollow(l);
	raw_spin_lock_irqsave(&lab_lock, flags);
	lab_event_cancel(&l->tx_done);
	lab_event_cancel(&l->completion);
	lab_event_cancel(&l->arrival);
	flight = l->flight;
	late = l->late;
	l->flight.head = NULL;
	l->late.head = NULL;
	l->slots_used = 0;
	l->slots_sent = 0;
	l->waiting_bytes = 0;
	if (!list_empty(&l->list))
		list_del_init(&l->list);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	lab_events_unreserve(3);
	lab_purge(&flight);
	lab_purge(&late);
}

static void lab_destructor(struct net_device *dev)
{
	lab_free(netdev_priv(dev));
}

static void lab_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct lablink *l = netdev_priv(dev);
	unsigned long flags;

	raw_spin_lock_irqsave(&lab_lock, flags);
	stats->tx_packets = l->count.tx_packets;
	stats->tx_bytes = l->count.tx_bytes;
	stats->tx_dropped = l->count.tx_drops;
	stats->rx_packets = l->count.rx_packets - l->count.rx_drops;
	stats->rx_bytes = l->count.rx_bytes;
	stats->rx_dropped = l->count.rx_drops;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
}

static int lab_get_iflink(const struct net_device *dev)
{
	const struct lablink *l = netdev_priv(dev);

	return l->peer->dev->ifindex;
}

static const struct net_device_ops lab_netdev_ops = {
	.ndo_init		= lab_init,
	.ndo_uninit		= lab_uninit,
	.ndo_open		= lab_open,
	.ndo_stop		= lab_stop,
	.ndo_start_xmit		= lab_xmit,
	.ndo_get_stats64	= lab_get_stats64,
	.ndo_get_iflink		= lab_get_iflink,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_features_check	= passthru_features_check,
};

static int lab_get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *cmd)
{
	const struct lablink *l = netdev_priv(dev);
	u64 mbps = div_u64(l->rate_bps, 1000000);

	cmd->base.speed = mbps && mbps < INT_MAX ? mbps : SPEED_UNKNOWN;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

static const struct ethtool_ops lab_ethtool_ops = {
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= lab_get_link_ksettings,
	.get_ts_info		= ethtool_op_get_ts_info,
};

static void lab_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &lab_netdev_ops;
	dev->ethtool_ops = &lab_ethtool_ops;
	dev->flags |= IFF_NOARP;
	dev->flags &= ~IFF_MULTICAST;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->features = LAB_FEATURES;
	dev->hw_features = LAB_FEATURES;
	dev->vlan_features = LAB_FEATURES;
	dev->mpls_features = NETIF_F_SG | NETIF_F_HW_CSUM;
	dev->max_mtu = LAB_MTU_MAX;
	dev->priv_destructor = lab_destructor;
	dev->needs_free_netdev = true;
	netif_set_tso_max_size(dev, GSO_MAX_SIZE);
}

/* Both ends go, whichever is named. */
static void lab_dellink(struct net_device *dev, struct list_head *head)
{
	struct lablink *l = netdev_priv(dev);

	unregister_netdevice_queue(dev, head);
	unregister_netdevice_queue(l->peer->dev, head);
}

static struct net *lab_get_link_net(const struct net_device *dev)
{
	const struct lablink *l = netdev_priv(dev);

	return dev_net(l->peer->dev);
}

/* Without .setup there is no `ip link add`: pairs come from /proc/lablink. */
static struct rtnl_link_ops lab_link_ops = {
	.kind		= "lablink",
	.priv_size	= sizeof(struct lablink),
	.dellink	= lab_dellink,
	.get_link_net	= lab_get_link_net,
};

static void lab_set_direction(struct lablink *l, u64 rate_bps, u64 delay_ns, u32 ring)
{
	u64 rest;

	l->ps_per_byte = div64_u64_rem(LAB_PS_BITS_PER_S, rate_bps, &rest);
	if (rest)
		l->ps_per_byte = 0;
	l->rounding = 0;
	l->rate_bps = rate_bps;
	l->delay_ns = delay_ns;
	l->ring = ring;
}

static struct lablink *lab_alloc(struct net *net, const char *name, u32 mtu)
{
	unsigned int queues = clamp(txqs, 1U, 64U);
	struct net_device *dev;
	struct lablink *l;

	dev = alloc_netdev_mqs(sizeof(*l), name, NET_NAME_USER, lab_setup, queues, 1);
	if (!dev)
		return NULL;
	dev_net_set(dev, net);
	dev->rtnl_link_ops = &lab_link_ops;
	dev->mtu = mtu;
	eth_hw_addr_random(dev);
	l = netdev_priv(dev);
	l->dev = dev;
	l->tx_done.pos = -1;
	l->completion.pos = -1;
	l->arrival.pos = -1;
	INIT_LIST_HEAD(&l->list);
	INIT_LIST_HEAD(&l->faults);
	return l;
}

/* Packets come one at a time, each at its own: there is nothing to merge. */
static void lab_gro_off(struct net_device *dev)
{
	dev->features &= ~NETIF_F_GRO;
	dev->wanted_features &= ~NETIF_F_GRO;
	netdev_update_features(dev);
}

static int lab_register(struct lablink *l)
{
	unsigned long flags;
	int err;

	netif_napi_add(l->dev, &l->napi, lab_poll);
	err = register_netdevice(l->dev);
	if (err)
		return err;
	lab_gro_off(l->dev);
	netif_tx_stop_all_queues(l->dev);
	raw_spin_lock_irqsave(&lab_lock, flags);
	l->id = lab_next_id++;
	lab_event_init(&l->tx_done, LAB_EVENT_TX_DONE, l->id);
	lab_event_init(&l->completion, LAB_EVENT_COMPLETION, l->id);
	lab_event_init(&l->arrival, LAB_EVENT_ARRIVAL, l->id);
	list_add_tail(&l->list, &lab_links);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

int lab_pair_create(struct net *net_a, const char *name_a, struct net *net_b, const char *name_b,
		    u64 rate_bps, u64 delay_ns, u32 mtu, u32 ring)
{
	struct lablink *a, *b;
	int err = -ENOMEM;

	if (lab_next_id + 2 >= 1U << LAB_EVENT_ID_BITS)
		return -ENOSPC;
	a = lab_alloc(net_a, name_a, mtu);
	if (!a)
		return -ENOMEM;
	b = lab_alloc(net_b, name_b, mtu);
	if (!b)
		goto free_a;
	a->peer = b;
	b->peer = a;
	lab_set_direction(a, rate_bps, delay_ns, ring);
	lab_set_direction(b, rate_bps, delay_ns, ring);

	rtnl_lock();
	err = lab_register(a);
	if (err)
		goto free_b;
	err = lab_register(b);
	if (err)
		goto unregister_a;
	rtnl_unlock();
	return 0;

unregister_a:
	unregister_netdevice(a->dev);
	rtnl_unlock();
	free_netdev(b->dev);
	return err;
free_b:
	rtnl_unlock();
	free_netdev(b->dev);
free_a:
	free_netdev(a->dev);
	return err;
}

/* Under RTNL. */
struct lablink *lab_link_find(struct net *net, const char *name)
{
	struct lablink *l;

	list_for_each_entry(l, &lab_links, list) {
		if (net_eq(dev_net(l->dev), net) && !strcmp(l->dev->name, name))
			return l;
	}
	return NULL;
}

/* Under RTNL. The hook sees each packet before the device's qdisc does. */
int lab_hook_egress(struct nf_hook_ops *ops, struct net_device *dev, nf_hookfn *hook, void *priv)
{
	if (!IS_ENABLED(CONFIG_NETFILTER_EGRESS))
		return -EOPNOTSUPP;
	ops->hook = hook;
	ops->dev = dev;
	ops->priv = priv;
	ops->pf = NFPROTO_NETDEV;
	ops->hooknum = NF_NETDEV_EGRESS;
	ops->priority = INT_MAX;
	return nf_register_net_hook(dev_net(dev), ops);
}

/* Under RTNL. */
int lab_link_set(struct lablink *l, u64 rate_bps, u64 delay_ns, u32 ring)
{
	unsigned long flags;

	if (ring > l->ring && (lab_resize_ring(l, ring) || lab_add_proxies(l, ring - l->ring)))
		return -ENOMEM;
	raw_spin_lock_irqsave(&lab_lock, flags);
	lab_set_direction(l, rate_bps, delay_ns, ring);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

/* Under RTNL.  Packets that the ring has by now complete as they were counted. */
void lab_link_set_completions(struct lablink *l, bool bql, u32 coalesce_ns)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lab_lock, flags);
	l->bql = bql;
	l->coalesce_ns = coalesce_ns;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
}

int lab_dev_init(void)
{
	return rtnl_link_register(&lab_link_ops);
}

void lab_dev_exit(void)
{
	rtnl_link_unregister(&lab_link_ops);
}
