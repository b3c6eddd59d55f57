// SPDX-License-Identifier: GPL-2.0
/*
 * The events of all links: one heap, below it one time source.
 *
 * The heap is 4-ary and keyed (ns, order). It holds keys by value, so sifting
 * stays in few cache lines, and nodes lie in their owners: nothing is allocated
 * when an event is set.
 *
 * The time source calls lab_events_run() at, or after, the time of the first
 * event. Below virtual time (UML, time-travel=inf-cpu or =ext) it is a time-travel
 * event of our own: one that went through the clock event device, hrtimers and
 * their bookkeeping would cost twice as much. Elsewhere it is an hrtimer that
 * expires in hard interrupt context, also on PREEMPT_RT.
 */
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "lablink.h"

#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT
#include <linux/time-internal.h>
#endif

DEFINE_RAW_SPINLOCK(lab_lock);

struct lab_key {
	u64 ns;
	u32 order;
	struct lab_event *ev;
};

static struct {
	struct lab_key *key;
	unsigned int used;
	unsigned int reserved;	/* events that exist */
	unsigned int size;	/* events there is room for */
	u64 armed_ns;		/* what the time source waits for, or U64_MAX */
} heap = { .armed_ns = U64_MAX };

/*
 * struct lab_backend - a time source
 * @arm: call lab_events_run() at @ns, and at no other time asked for before
 * @catch_up_ns: how late after its time an event is still taken for punctual
 */
struct lab_backend {
	const char *name;
	void (*arm)(u64 ns, u64 now);
	void (*stop)(void);
	u64 catch_up_ns;
};

static const struct lab_backend *backend;

static bool lab_key_before(const struct lab_key *a, const struct lab_key *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->order < b->order);
}

static void lab_heap_put(unsigned int pos, struct lab_key key)
{
	heap.key[pos] = key;
	key.ev->pos = pos;
}

static void lab_heap_up(unsigned int pos, struct lab_key key)
{
	while (pos) {
		unsigned int parent = (pos - 1) / 4;

		if (!lab_key_before(&key, &heap.key[parent]))
			break;
		lab_heap_put(pos, heap.key[parent]);
		pos = parent;
	}
	lab_heap_put(pos, key);
}

static void lab_heap_down(unsigned int pos, struct lab_key key)
{
	for (;;) {
		unsigned int child = 4 * pos + 1, end, best;

		if (child >= heap.used)
			break;
		end = min(child + 4, heap.used);
		for (best = child++; child < end; child++) {
			if (lab_key_before(&heap.key[child], &heap.key[best]))
				best = child;
		}
		if (!lab_key_before(&heap.key[best], &key))
			break;
		lab_heap_put(pos, heap.key[best]);
		pos = best;
	}
	lab_heap_put(pos, key);
}

/* Fill the hole at pos, which nobody's key is in any more, with this key. */
static void lab_heap_place(unsigned int pos, struct lab_key key)
{
	if (pos && lab_key_before(&key, &heap.key[(pos - 1) / 4]))
		lab_heap_up(pos, key);
	else
		lab_heap_down(pos, key);
}

/* Under lab_lock; the caller arms the time source when it has set all it wants. */
void lab_event_set(struct lab_event *ev, u64 ns)
{
	/*
	 * Which link is first changes from moment to moment.  Hosts of equal links meet at a port
	 * in the same ns all the time, and whoever is always first hears of the shorter queue.
	 */
	struct lab_key key = {
		.ns = ns, .order = ev->order ^ hash_64(ns, LAB_EVENT_ID_BITS), .ev = ev,
	};

	ev->ns = ns;
	if (ev->pos >= 0)
		lab_heap_place(ev->pos, key);
	else
		lab_heap_up(heap.used++, key);
}

/* Under lab_lock. */
void lab_event_cancel(struct lab_event *ev)
{
	int pos = ev->pos;

	if (pos < 0)
		return;
	ev->pos = -1;
	if (pos != --heap.used)
		lab_heap_place(pos, heap.key[heap.used]);
}

/* Under lab_lock. An earlier call than needed would be harmless, a later one not. */
void lab_events_arm(u64 now)
{
	u64 ns = heap.used ? heap.key[0].ns : U64_MAX;

	if (ns == heap.armed_ns || ns == U64_MAX)
		return;
	heap.armed_ns = ns;
	backend->arm(ns, now);
}

static void lab_event_deliver(struct lab_event *ev, u64 now)
{
	switch (ev->order >> LAB_EVENT_ID_BITS) {
	case LAB_EVENT_WINDOW_BEGIN:
		lab_window_begin();
		break;
	case LAB_EVENT_WINDOW_END:
		lab_window_end();
		break;
	case LAB_EVENT_TX_DONE:
		lab_dev_tx_done(container_of(ev, struct lablink, tx_done), now);
		break;
	case LAB_EVENT_COMPLETION:
		lab_dev_completion(container_of(ev, struct lablink, completion), now);
		break;
	case LAB_EVENT_ARRIVAL:
		lab_dev_arrival(container_of(ev, struct lablink, arrival));
		break;
	}
}

/* Called by the time source, in hard interrupt context. */
static void lab_events_run(void)
{
	unsigned long flags;
	u64 now;

	raw_spin_lock_irqsave(&lab_lock, flags);
	heap.armed_ns = U64_MAX;
	now = lab_now();
	while (heap.used && heap.key[0].ns <= now) {
		struct lab_event *ev = heap.key[0].ev;

		lab_before_change(ev->ns);
		lab_event_cancel(ev);
		if (lab_window.state == LAB_RUNNING &&
		    unlikely(now - ev->ns > lab_window.max_lateness_ns))
			lab_window.max_lateness_ns = now - ev->ns;
		lab_event_deliver(ev, now);
	}
	lab_events_arm(now);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
}

u64 lab_catch_up_ns(void)
{
	return backend->catch_up_ns;
}

const char *lab_events_backend(void)
{
	return backend->name;
}

/* ---- hrtimer ---- */

static struct hrtimer lab_timer;

/* The lock is held while we are in here, so nobody else starts the timer. */
static enum hrtimer_restart lab_timer_fn(struct hrtimer *timer)
{
	lab_events_run();
	return HRTIMER_NORESTART;
}

static void lab_timer_arm(u64 ns, u64 now)
{
	hrtimer_start(&lab_timer, ns_to_ktime(ns), HRTIMER_MODE_ABS_HARD);
}

static void lab_timer_stop(void)
{
	hrtimer_cancel(&lab_timer);
}

/* 20 us: an interrupt that is later than that did not keep the line busy. */
static const struct lab_backend lab_hrtimer_backend = {
	.name		= "hrtimer",
	.arm		= lab_timer_arm,
	.stop		= lab_timer_stop,
	.catch_up_ns	= 20 * NSEC_PER_USEC,
};

/* ---- time travel ---- */

#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT
static struct time_travel_event lab_travel;

static void lab_travel_fn(struct time_travel_event *e)
{
	lab_events_run();
}

static void lab_travel_arm(u64 ns, u64 now)
{
	time_travel_del_event(&lab_travel);
	time_travel_add_event_rel(&lab_travel, ns > now ? ns - now : 0);
}

static void lab_travel_stop(void)
{
	time_travel_del_event(&lab_travel);
}

static const struct lab_backend lab_travel_backend = {
	.name	= "time-travel",
	.arm	= lab_travel_arm,
	.stop	= lab_travel_stop,
};
#endif

static const struct lab_backend *lab_choose_backend(void)
{
#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT
	if (time_travel_mode == TT_MODE_INFCPU || time_travel_mode == TT_MODE_EXTERNAL) {
		time_travel_set_event_fn(&lab_travel, lab_travel_fn);
		return &lab_travel_backend;
	}
#endif
	hrtimer_setup(&lab_timer, lab_timer_fn, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	return &lab_hrtimer_backend;
}

/* Make room for more events than there are. Callers hold RTNL. */
int lab_events_reserve(unsigned int more)
{
	unsigned int size = max(2 * heap.size, 64U);
	struct lab_key *key, *old;
	unsigned long flags;

	if (heap.reserved + more > heap.size) {
		size = max(size, heap.reserved + more);
		key = kvmalloc_array(size, sizeof(*key), GFP_KERNEL);
		if (!key)
			return -ENOMEM;
		raw_spin_lock_irqsave(&lab_lock, flags);
		if (heap.used)
			memcpy(key, heap.key, heap.used * sizeof(*key));
		old = heap.key;
		heap.key = key;
		heap.size = size;
		raw_spin_unlock_irqrestore(&lab_lock, flags);
		kvfree(old);
	}
	heap.reserved += more;
	return 0;
}

void lab_events_unreserve(unsigned int fewer)
{
	heap.reserved -= fewer;
}

int lab_events_init(void)
{
	backend = lab_choose_backend();
	return 0;
}

/* All events are cancelled by now. */
void lab_events_exit(void)
{
	backend->stop();
	kvfree(heap.key);
}
