/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of lablink.ko share.
 *
 *	main.c		module init and exit
 *	dev.c		the device: a packet's way from ndo_start_xmit() to the peer
 *	event.c		the event heap and the two time sources below it
 *	measure.c	the window: counters, hash, queue statistics, samples
 *	capture.c	packets as they are on the wire
 *	fault.c		packets that are lost, changed, doubled or late; ends that stand still
 *	follow.c	what single connections went through
 *	ctl.c		/proc/lablink and what is read beside it: lablink_samples, lablink_capture,
 *			lablink_follow
 *
 * One lock, lab_lock, serializes all that happens on any link: an event is short
 * and their order is the point. It is taken with interrupts off.
 */
#ifndef _LABLINK_H
#define _LABLINK_H

#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include "lablink_uapi.h"

#define LAB_PS_PER_NS		1000ULL
#define LAB_PS_BITS_PER_S	8000000000000ULL	/* ps * bit/s in one byte */
#define LAB_RING_MAX		4096
#define LAB_COALESCE_MAX	NSEC_PER_SEC
#define LAB_MTU_MAX		65521			/* 65535 with the Ethernet header */

extern raw_spinlock_t lab_lock;

/* ---- event.c ---- */

/* In one nanosecond: the window first, then what frees a link, then arrivals. */
enum lab_event_kind {
	LAB_EVENT_WINDOW_BEGIN,
	LAB_EVENT_WINDOW_END,
	LAB_EVENT_TX_DONE,
	LAB_EVENT_COMPLETION,
	LAB_EVENT_ARRIVAL,
};

#define LAB_EVENT_ID_BITS	24

/**
 * struct lab_event - a point in time, a node of the heap
 * @ns: ktime_get() time
 * @order: kind, then link id: decides among events of one nanosecond, see lab_event_set()
 * @pos: index in the heap, or -1
 */
struct lab_event {
	u64 ns;
	u32 order;
	int pos;
};

static inline void lab_event_init(struct lab_event *ev, enum lab_event_kind kind, u32 id)
{
	ev->order = kind << LAB_EVENT_ID_BITS | id;
	ev->pos = -1;
}

int lab_events_init(void);
void lab_events_exit(void);
int lab_events_reserve(unsigned int more);
void lab_events_unreserve(unsigned int fewer);
const char *lab_events_backend(void);
void lab_event_set(struct lab_event *ev, u64 ns);
void lab_event_cancel(struct lab_event *ev);
void lab_events_arm(u64 now);
u64 lab_catch_up_ns(void);

/* With interrupts off: on UML a clock read with interrupts on lets time pass. */
static inline u64 lab_now(void)
{
	return ktime_get_ns();
}

/* ---- dev.c ---- */

/**
 * struct lab_counters - what one device has seen since it was made
 * @tx_bytes: accepted for serialization
 * @tx_busy_ps: time that takes
 */
struct lab_counters {
	u64 tx_bytes;
	u64 tx_packets;
	u64 tx_busy_ps;
	u64 tx_drops;
	u64 rx_bytes;
	u64 rx_packets;
	u64 rx_data_packets;
	u64 rx_drops;
	u64 qdisc_drops;
};

/* Packets linked through skb->next, oldest first. */
struct lab_fifo {
	struct sk_buff *head;
	struct sk_buff *tail;
};

/**
 * struct lab_slot - one place of the transmit ring
 * @done: what its completion frees: the unsplit GSO packet, or a proxy that holds
 *	the socket's claim on a packet which travels on; NULL for nobody's packet
 * @end_ps: end of serialization
 * @bytes: as the line carries them
 * @bql: transmit queue whose byte queue limits count it, or NULL
 */
struct lab_slot {
	struct sk_buff *done;
	u64 end_ps;
	struct netdev_queue *bql;
	u32 bytes;
};

/* In this order they are asked about each packet; the last is no packet's but the end's. */
enum lab_fault_kind {
	LAB_FAULT_DOWN,
	LAB_FAULT_LOSS,
	LAB_FAULT_CORRUPT,
	LAB_FAULT_DUPLICATE,
	LAB_FAULT_REORDER,
	LAB_FAULT_STOP,
	LAB_FAULTS
};

#define LAB_FATE_LOST	(BIT(LAB_FAULT_DOWN) | BIT(LAB_FAULT_LOSS))

/**
 * struct lab_cb - of a packet, which is ours from ndo_start_xmit() to the peer's poll
 * @begin_ns: its first bit leaves
 * @fate: bits of enum lab_fault_kind
 * @flip: corrupt: a random number, which bit
 * @late_ns: reorder
 */
struct lab_cb {
	u64 begin_ns;
	u64 arrival_ns;
	u32 len;
	u32 flip;
	u64 late_ns;
	u8 fate;
	bool tcp_data;
};

static inline struct lab_cb *lab_cb(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct lab_cb) > sizeof_field(struct sk_buff, cb));
	return (struct lab_cb *)skb->cb;
}

struct lab_watch;
struct lab_capture;
struct lab_fault;
struct lab_follow;

/**
 * struct lablink - one end: transmits towards @peer, receives from it
 *
 * All but the configuration is under lab_lock.
 */
struct lablink {
	struct net_device *dev;
	struct lablink *peer;
	u32 id;

	/* configuration of the direction that leaves here */
	u64 rate_bps;
	u64 delay_ns;
	u32 ps_per_byte;	/* 0: not a whole number */
	u32 ring;
	u32 coalesce_ns;	/* a completion is reported at most so late */
	bool bql;		/* byte queue limits */

	/* transmitter */
	u64 busy_until_ps;
	u64 rounding;		/* remainder of the division, when ps_per_byte is 0 */
	u64 resume_ns;		/* TX_DONE that found packets waiting: they go on from end_ps */
	struct lab_event tx_done;
	struct lab_event completion;
	struct lab_slot *slots;	/* slots_size of them, a ring from slot_head on */
	u32 slots_size;
	u32 slot_head;
	u32 slots_used;
	u32 slots_sent;		/* the first of these: serialized, and not reported yet */
	u32 waiting_bytes;	/* behind the one that is being serialized */
	u32 wake_first;		/* transmit queue to wake first */
	bool stopped;

	/* on the line */
	struct lab_event arrival;
	struct lab_fifo flight;
	u64 last_arrival_ns;
	struct lab_fifo late;	/* what the rest overtakes */
	u64 last_late_ns;
	struct lab_fault *fault[LAB_FAULTS];	/* that is so now, or NULL */
	struct list_head faults;		/* all there were */
	bool faulty;		/* some packet may have a fate */

	/* for the softirq */
	bool up;
	struct lab_fifo done;	/* of this end's transmitter */
	struct lab_fifo rx;	/* from the peer */
	struct sk_buff *proxies;
	struct napi_struct napi;

	struct lab_counters count;
	struct lab_counters at_begin;
	struct lab_counters at_end;
	struct lab_watch __rcu *watch;
	struct lab_capture __rcu *capture;
	struct lab_follow __rcu *follow;
	struct list_head list;	/* of all ends, under RTNL and lab_lock */
};

extern struct list_head lab_links;

struct net;
int lab_dev_init(void);
void lab_dev_exit(void);
int lab_pair_create(struct net *net_a, const char *name_a, struct net *net_b, const char *name_b,
		    u64 rate_bps, u64 delay_ns, u32 mtu, u32 ring);
struct lablink *lab_link_find(struct net *net, const char *name);
int lab_link_set(struct lablink *l, u64 rate_bps, u64 delay_ns, u32 ring);
int lab_hook_egress(struct nf_hook_ops *ops, struct net_device *dev, nf_hookfn *hook, void *priv);
void lab_link_set_completions(struct lablink *l, bool bql, u32 coalesce_ns);
void lab_dev_tx_done(struct lablink *l, u64 now);
void lab_dev_completion(struct lablink *l, u64 now);
void lab_dev_arrival(struct lablink *l);
void lab_dev_update_stop(struct lablink *l);

/* ---- measure.c ---- */

enum lab_window_state { LAB_IDLE, LAB_ARMED, LAB_RUNNING, LAB_DONE };

/**
 * struct lab_window - the time that is measured
 * @next_row_ns: when the next sample is due; U64_MAX when none is
 * @edge_ns: when it begins, then when it ends; U64_MAX when neither is to come
 */
struct lab_window {
	enum lab_window_state state;
	u64 begin_ns;
	u64 end_ns;
	u64 interval_ns;
	u64 next_row_ns;
	u64 edge_ns;
	u64 trace_hash;
	u64 max_lateness_ns;
	u32 softnet_drops;
};

extern struct lab_window lab_window;

int lab_measure_init(void);
void lab_measure_exit(void);
int lab_measure(u64 begin_ns, u64 duration_ns, u64 interval_ns);
int lab_finish(void);
int lab_watch(struct lablink *l);
void lab_unwatch(struct lablink *l);
int lab_sock(struct sock *sk, u32 id);
void lab_window_begin(void);
void lab_window_end(void);
void lab_window_catch_up(u64 now);
void lab_fill_rows(u64 now);
void lab_observe(struct lablink *l, u64 now, u32 extra_bytes);
void lab_show_global(struct seq_file *m);
void lab_show_link(struct seq_file *m, struct lablink *l);
ssize_t lab_samples_read(struct file *file, char __user *to, size_t count, loff_t *pos);
u64 lab_qdisc_drops(const struct net_device *dev);
int lab_copy_part(char __user **to, size_t *count, loff_t *pos, u64 *offset,
		  const void *part, u64 bytes);

/*
 * Samples that are due at or before now, before anything changes. In real time another CPU may come
 * here ahead of the timer that the window's edge waits for.
 */
static inline void lab_before_change(u64 now)
{
	if (unlikely(lab_window.edge_ns < now))
		lab_window_catch_up(now);
	if (unlikely(lab_window.next_row_ns <= now))
		lab_fill_rows(now);
}

/* ---- capture.c ---- */

int lab_capture(struct lablink *l, u32 snaplen, u64 bytes);
void lab_uncapture(struct lablink *l);
void lab_capture_exit(void);
void lab_capture_packet(struct lablink *l, const struct sk_buff *skb, u64 ns,
			enum lablink_capture_what what);
void lab_capture_look(struct lablink *l);
ssize_t lab_capture_read(struct file *file, char __user *to, size_t count, loff_t *pos);

/* ---- fault.c ---- */

int lab_fault_find(const char *name);
int lab_fault_set(struct lablink *l, u32 id, enum lab_fault_kind kind, u64 share, u64 late_ns,
		  u64 seed);
void lab_fault_forget(struct lablink *l);
void lab_fault_decide(struct lablink *l, struct lab_cb *cb);
bool lab_fault_overflows(struct lablink *to);
struct sk_buff *lab_fault_corrupt(struct sk_buff *skb);
void lab_show_faults(struct seq_file *m, struct lablink *l);

/* ---- follow.c ---- */

extern bool lab_following;

int lab_follow(struct sock *sk, u32 id, u64 bytes);
void lab_unfollow(struct lablink *l);
void lab_follow_exit(void);
void lab_follow_arrival(const struct lablink *l, const struct sk_buff *skb);
void lab_follow_look(struct lablink *l, u64 now, bool after);
ssize_t lab_follow_read(struct file *file, char __user *to, size_t count, loff_t *pos);

/* ---- ctl.c ---- */

int lab_ctl_init(void);
void lab_ctl_exit(void);

#endif /* _LABLINK_H */
