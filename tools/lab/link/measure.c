// SPDX-License-Identifier: GPL-2.0
/*
 * The measured window: counters, trace hash, queue statistics, samples.
 *
 * Nothing here moves a packet or sets a timer but the two events that begin and
 * end the window. What needs a point in time is computed for it when something is
 * about to change after it:
 *
 * - Queues. The backlog of a root qdisc changes when a packet is enqueued, which
 *   netfilter's egress hook sees before it happens, and when one is dequeued,
 *   which follows TX_DONE or is seen by ndo_start_xmit(). What waits in the ring
 *   behind the packet on the wire is queue as well. At each of these the
 *   queue found has lasted since the one before: that piece goes into a
 *   histogram. The maximum is the largest value that lasted at all: what is
 *   enqueued and dequeued in the same nanosecond was no queue.
 * - Samples. Before each event, and each packet that meets an idle line, rows that are
 *   due are written from the state as it is, which has been so since the last
 *   event. Bytes on the wire are computed for the row's own time.
 */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netfilter_netdev.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/sch_generic.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "lablink.h"

static unsigned int samples_max_mb = 512;
module_param(samples_max_mb, uint, 0644);
MODULE_PARM_DESC(samples_max_mb, "memory a measurement may take for samples (512 MB)");

struct lab_window lab_window = { .next_row_ns = U64_MAX, .edge_ns = U64_MAX };

/*
 * Queue lengths by time, log-linear: exact below 64 bytes, then 64 bins to each power of
 * two. A bin also keeps the sum of what fell into it, so that it can answer
 * with the mean of that: exact as long as one value falls into it.
 */
#define LAB_BIN_BITS	6
#define LAB_BINS	((32 - LAB_BIN_BITS + 1) << LAB_BIN_BITS)

struct lab_bin {
	u64 ns;
	u64 byte_ns;
	u64 busy_ps;	/* of ns: PFC or a shaper have a queue wait for an idle line */
};

/*
 * struct lab_watch - a device whose queue is looked at
 * @since_ns: how long the present backlog has lasted
 */
struct lab_watch {
	struct lablink *link;
	struct list_head list;
	struct nf_hook_ops egress;
	bool hooked;
	u64 since_ns;
	u32 max;
	struct rcu_head rcu;
	struct lab_bin bin[LAB_BINS];
};

struct lab_sock {
	struct list_head list;
	struct sock *sk;
	u32 id;
	u64 acked_at_begin;
	u64 acked;		/* since then; kept when the connection is gone */
};

/* Changed under RTNL and lab_lock, while no window is open. */
static LIST_HEAD(lab_watches);
static LIST_HEAD(lab_socks);

/* Allocated under RTNL; rows are written under lab_lock. */
static struct {
	struct lablink_samples_hdr hdr;
	struct lablink_column *column;
	struct lablink_sample *row;
	u64 rows_wanted;
} samples;

static struct lab_event begin_event, end_event;

/* ---- queues ---- */

struct lab_qdisc {
	u32 backlog;
	u64 drops;
};

static void lab_add_qdisc(struct lab_qdisc *sum, const struct Qdisc *q)
{
	int cpu;

	sum->backlog += q->qstats.backlog;
	sum->drops += q->qstats.drops;
	if (!qdisc_is_percpu_stats(q))
		return;
	for_each_possible_cpu(cpu) {
		sum->backlog += per_cpu_ptr(q->cpu_qstats, cpu)->backlog;
		sum->drops += per_cpu_ptr(q->cpu_qstats, cpu)->drops;
	}
}

/* The root qdisc's, or what mq and mqprio have below them. Interrupts are off. */
static struct lab_qdisc lab_qdisc(const struct net_device *dev)
{
	const struct Qdisc *q = rcu_dereference_sched(dev->qdisc);
	struct lab_qdisc sum = { };
	unsigned int i;

	if (q && !(q->flags & TCQ_F_MQROOT)) {
		lab_add_qdisc(&sum, q);
	} else if (q) {
		for (i = 0; i < dev->num_tx_queues; i++) {
			q = rcu_dereference_sched(netdev_get_tx_queue(dev, i)->qdisc);
			lab_add_qdisc(&sum, q);
		}
	}
	return sum;
}

u64 lab_qdisc_drops(const struct net_device *dev)
{
	return lab_qdisc(dev).drops;
}

/* What waits in it, and in the ring behind the packet on the wire. Under lab_lock. */
static u32 lab_queue(const struct lablink *l)
{
	return lab_qdisc(l->dev).backlog + l->waiting_bytes;
}

static unsigned int lab_bin_of(u32 bytes)
{
	unsigned int shift;

	if (bytes < 1U << LAB_BIN_BITS)
		return bytes;
	shift = ilog2(bytes) - LAB_BIN_BITS;
	return ((shift + 1) << LAB_BIN_BITS) + (bytes >> shift) - (1U << LAB_BIN_BITS);
}

static void lab_observe_watch(struct lab_watch *w, u64 now, u32 bytes)
{
	struct lab_bin *bin = &w->bin[lab_bin_of(bytes)];
	u64 ns = now - w->since_ns, since_ps = w->since_ns * LAB_PS_PER_NS;
	u64 until_ps = min(now * LAB_PS_PER_NS, w->link->busy_until_ps);

	bin->ns += ns;
	bin->byte_ns += bytes * ns;
	if (until_ps > since_ps)
		bin->busy_ps += until_ps - since_ps;
	if (bytes > w->max)
		w->max = bytes;
	w->since_ns = now;
}

/*
 * The queue, and extra_bytes that were part of it until now, has lasted since
 * the last look. Under lab_lock.
 */
void lab_observe(struct lablink *l, u64 now, u32 extra_bytes)
{
	struct lab_watch *w = rcu_dereference_sched(l->watch);

	if (!w || lab_window.state != LAB_RUNNING || now <= w->since_ns)
		return;
	if (now > lab_window.end_ns)
		now = lab_window.end_ns;
	lab_observe_watch(w, now, lab_queue(l) + extra_bytes);
}

static unsigned int lab_egress(void *priv, struct sk_buff *skb,
			       const struct nf_hook_state *state)
{
	struct lab_watch *w = priv;
	unsigned long flags;
	u64 now;

	if (READ_ONCE(lab_window.state) != LAB_RUNNING)
		return NF_ACCEPT;
	raw_spin_lock_irqsave(&lab_lock, flags);
	now = lab_now();
	lab_before_change(now);
	lab_observe(w->link, now, 0);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return NF_ACCEPT;
}

static bool lab_busy(void)
{
	return lab_window.state == LAB_ARMED || lab_window.state == LAB_RUNNING;
}

/* Under RTNL. */
int lab_watch(struct lablink *l)
{
	struct lab_watch *w;
	unsigned long flags;

	if (lab_busy())
		return -EBUSY;
	if (rtnl_dereference(l->watch))
		return 0;
	w = kvzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	w->link = l;
	w->hooked = !lab_hook_egress(&w->egress, l->dev, lab_egress, w);
	if (!w->hooked)
		netdev_warn(l->dev, "no egress hook, queue statistics change at dequeue only\n");
	raw_spin_lock_irqsave(&lab_lock, flags);
	rcu_assign_pointer(l->watch, w);
	list_add_tail(&w->list, &lab_watches);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

/* Under RTNL; also when the device goes in the middle of a window. */
void lab_unwatch(struct lablink *l)
{
	struct lab_watch *w = rtnl_dereference(l->watch);
	unsigned long flags;

	if (!w)
		return;
	if (w->hooked)
		nf_unregister_net_hook(dev_net(l->dev), &w->egress);
	raw_spin_lock_irqsave(&lab_lock, flags);
	RCU_INIT_POINTER(l->watch, NULL);
	/* The columns of a row are the list as it was: end the samples here. */
	if (lab_busy() && samples.row) {
		samples.rows_wanted = samples.hdr.rows;
		lab_window.next_row_ns = U64_MAX;
	}
	list_del(&w->list);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	/* the hook may still be running, in an RCU section of its own */
	kvfree_rcu(w, rcu);
}

/* ---- sockets ---- */

/* Under RTNL. Takes over the caller's reference, also when it fails. */
int lab_sock(struct sock *sk, u32 id)
{
	struct lab_sock *s;
	unsigned long flags;

	if (lab_busy()) {
		sock_put(sk);
		return -EBUSY;
	}
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s) {
		sock_put(sk);
		return -ENOMEM;
	}
	s->sk = sk;
	s->id = id;
	raw_spin_lock_irqsave(&lab_lock, flags);
	list_add_tail(&s->list, &lab_socks);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

/* ---- counters ---- */

/* What the line has not yet carried of what it was given, at a point in time. */
static u64 lab_left_ps(const struct lablink *l, u64 ns)
{
	u64 now_ps = ns * LAB_PS_PER_NS;

	return l->busy_until_ps > now_ps ? l->busy_until_ps - now_ps : 0;
}

/* ... and what it has. */
static u64 lab_tx_bytes(const struct lablink *l, u64 ns)
{
	u64 left_ps = lab_left_ps(l, ns), left = 0;

	if (left_ps && l->ps_per_byte)
		left = DIV_ROUND_UP_ULL(left_ps, l->ps_per_byte);
	else if (left_ps)
		left = mul_u64_u64_div_u64(left_ps, l->rate_bps, LAB_PS_BITS_PER_S) + 1;
	return l->count.tx_bytes - min(left, l->count.tx_bytes);
}

static struct lab_counters lab_counters_at(const struct lablink *l, u64 ns)
{
	struct lab_counters c = l->count;

	c.tx_bytes = lab_tx_bytes(l, ns);
	c.tx_busy_ps -= min(lab_left_ps(l, ns), c.tx_busy_ps);
	c.qdisc_drops = lab_qdisc_drops(l->dev);
	return c;
}

static u32 lab_softnet_drops(void)
{
	u32 drops = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		drops += bolt_softnet_dropped(&per_cpu(softnet_data, cpu));
	return drops;
}

/* Under lab_lock. */
void lab_window_begin(void)
{
	struct lab_watch *w;
	struct lab_sock *s;
	struct lablink *l;

	lab_window.state = LAB_RUNNING;
	lab_window.edge_ns = lab_window.end_ns;
	lab_window.softnet_drops = lab_softnet_drops();
	list_for_each_entry(l, &lab_links, list)
		l->at_begin = lab_counters_at(l, lab_window.begin_ns);
	list_for_each_entry(w, &lab_watches, list)
		w->since_ns = lab_window.begin_ns;
	list_for_each_entry(s, &lab_socks, list) {
		s->acked_at_begin = tcp_sk(s->sk)->bytes_acked;
		s->acked = 0;
	}
	if (samples.rows_wanted)
		lab_window.next_row_ns = lab_window.begin_ns;
	lab_before_change(lab_window.begin_ns);
}

/* Under lab_lock. */
void lab_window_end(void)
{
	struct lab_watch *w;
	struct lablink *l;

	list_for_each_entry(w, &lab_watches, list)
		lab_observe(w->link, lab_window.end_ns, 0);
	list_for_each_entry(l, &lab_links, list)
		l->at_end = lab_counters_at(l, lab_window.end_ns);
	lab_window.softnet_drops = lab_softnet_drops() - lab_window.softnet_drops;
	lab_window.next_row_ns = U64_MAX;
	lab_window.edge_ns = U64_MAX;
	lab_window.state = LAB_DONE;
}

/* Under lab_lock: edges whose event is late. */
void lab_window_catch_up(u64 now)
{
	if (lab_window.state == LAB_ARMED) {
		lab_event_cancel(&begin_event);
		lab_window_begin();
	}
	if (lab_window.state == LAB_RUNNING && lab_window.end_ns < now) {
		lab_fill_rows(lab_window.end_ns);
		lab_event_cancel(&end_event);
		lab_window_end();
	}
}

/* ---- samples ---- */

static void lab_sample_device(struct lablink_sample *to, struct lablink *l, u64 ns)
{
	to->tx_bytes = lab_tx_bytes(l, ns) - l->at_begin.tx_bytes;
	to->queue_bytes = lab_queue(l);
	to->inflight_bytes = 0;
}

static void lab_sample_socket(struct lablink_sample *to, struct lab_sock *s)
{
	const struct tcp_sock *tp = tcp_sk(s->sk);
	u32 sent = tp->snd_nxt - tp->snd_una;

	/* a flow that is stopped is disconnected: its counters start from zero */
	if (tp->bytes_acked >= s->acked_at_begin + s->acked)
		s->acked = tp->bytes_acked - s->acked_at_begin;
	to->acked_bytes = s->acked;
	to->cwnd_bytes = tcp_snd_cwnd(tp) * tp->mss_cache;
	/* what SACK and loss detection leave of it */
	to->inflight_bytes = min(sent, tcp_packets_in_flight(tp) * tp->mss_cache);
}

/* Write the rows due at or before now. Under lab_lock. */
void lab_fill_rows(u64 now)
{
	u64 due = lab_window.next_row_ns;

	while (due <= now && samples.hdr.rows < samples.rows_wanted) {
		struct lablink_sample *to = samples.row + samples.hdr.rows * samples.hdr.columns;
		struct lab_watch *w;
		struct lab_sock *s;

		list_for_each_entry(w, &lab_watches, list)
			lab_sample_device(to++, w->link, due);
		list_for_each_entry(s, &lab_socks, list)
			lab_sample_socket(to++, s);
		samples.hdr.rows++;
		due += lab_window.interval_ns;
	}
	lab_window.next_row_ns = samples.hdr.rows < samples.rows_wanted ? due : U64_MAX;
}

static void lab_samples_free(void)
{
	vfree(samples.row);
	kvfree(samples.column);
	memset(&samples, 0, sizeof(samples));
}

/* Under RTNL: the table of columns, and memory for all rows. */
static int lab_samples_alloc(u64 begin_ns, u64 duration_ns, u64 interval_ns)
{
	struct lablink_column *column;
	struct lab_watch *w;
	struct lab_sock *s;
	u32 columns = 0;
	u64 rows, bytes;

	list_for_each_entry(w, &lab_watches, list)
		columns++;
	list_for_each_entry(s, &lab_socks, list)
		columns++;
	samples.hdr.magic = LABLINK_SAMPLES_MAGIC;
	samples.hdr.version = LABLINK_SAMPLES_VERSION;
	samples.hdr.header_bytes = sizeof(samples.hdr);
	samples.hdr.row_bytes = columns * sizeof(struct lablink_sample);
	samples.hdr.start_ns = begin_ns;
	samples.hdr.interval_ns = interval_ns;
	if (!interval_ns || !columns)
		return 0;

	rows = div64_u64(duration_ns, interval_ns) + 1;
	if (rows > div64_u64((u64)samples_max_mb << 20, samples.hdr.row_bytes))
		return -ENOMEM;
	bytes = rows * samples.hdr.row_bytes;
	samples.column = kvcalloc(columns, sizeof(*samples.column), GFP_KERNEL);
	samples.row = __vmalloc(bytes, GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!samples.column || !samples.row)
		return -ENOMEM;
	samples.hdr.columns = columns;
	samples.rows_wanted = rows;

	column = samples.column;
	list_for_each_entry(w, &lab_watches, list) {
		column->kind = LABLINK_COLUMN_DEVICE;
		column->id = w->link->id;
		column++;
	}
	list_for_each_entry(s, &lab_socks, list) {
		column->kind = LABLINK_COLUMN_SOCKET;
		column->id = s->id;
		column++;
	}
	return 0;
}

/* ---- the window ---- */

/* Under RTNL. Close a window that is open, drop what was measured. */
static void lab_measure_forget(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lab_lock, flags);
	lab_event_cancel(&begin_event);
	lab_event_cancel(&end_event);
	memset(&lab_window, 0, sizeof(lab_window));
	lab_window.next_row_ns = U64_MAX;
	lab_window.edge_ns = U64_MAX;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	lab_samples_free();
}

/* Under RTNL. */
int lab_measure(u64 begin_ns, u64 duration_ns, u64 interval_ns)
{
	struct lab_watch *w;
	unsigned long flags;
	u64 now;
	int err;

	lab_measure_forget();
	err = lab_samples_alloc(begin_ns, duration_ns, interval_ns);
	if (err) {
		lab_samples_free();
		return err;
	}
	list_for_each_entry(w, &lab_watches, list) {
		memset(w->bin, 0, sizeof(w->bin));
		w->max = 0;
	}

	raw_spin_lock_irqsave(&lab_lock, flags);
	now = lab_now();
	if (begin_ns <= now) {
		err = -EINVAL;
	} else {
		lab_window.state = LAB_ARMED;
		lab_window.begin_ns = begin_ns;
		lab_window.end_ns = begin_ns + duration_ns;
		lab_window.edge_ns = begin_ns;
		lab_window.interval_ns = interval_ns;
		lab_window.trace_hash = 0xcbf29ce484222325ULL;
		lab_event_set(&begin_event, lab_window.begin_ns);
		lab_event_set(&end_event, lab_window.end_ns);
		lab_events_arm(now);
	}
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	if (err)
		lab_samples_free();
	return err;
}

/* Under RTNL. The window that is open ends now, unless its duration has just passed. */
int lab_finish(void)
{
	unsigned long flags;
	int err;
	u64 now;

	raw_spin_lock_irqsave(&lab_lock, flags);
	now = lab_now();
	lab_before_change(now);
	if (lab_window.state == LAB_RUNNING) {
		lab_event_cancel(&end_event);
		lab_window.end_ns = now;
		lab_window_end();
	}
	err = lab_window.state == LAB_DONE ? 0 : -EINVAL;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return err;
}

/* ---- showing ---- */

static const char * const lab_state_name[] = {
	[LAB_IDLE]	= "idle",
	[LAB_ARMED]	= "armed",
	[LAB_RUNNING]	= "running",
	[LAB_DONE]	= "done",
};

/* The window's counters of one device: so far, while it is open. */
static struct lab_counters lab_counters_shown(struct lablink *l, u64 now)
{
	struct lab_counters c, *b = &l->at_begin;

	if (lab_window.state == LAB_DONE)
		c = l->at_end;
	else if (lab_window.state == LAB_RUNNING)
		c = lab_counters_at(l, now);
	else
		return (struct lab_counters){ };
	c.tx_bytes -= b->tx_bytes;
	c.tx_packets -= b->tx_packets;
	c.tx_busy_ps -= b->tx_busy_ps;
	c.tx_drops -= b->tx_drops;
	c.rx_bytes -= b->rx_bytes;
	c.rx_packets -= b->rx_packets;
	c.rx_data_packets -= b->rx_data_packets;
	c.rx_drops -= b->rx_drops;
	c.qdisc_drops -= b->qdisc_drops;
	return c;
}

static u64 lab_weight(const struct lab_bin *bin, bool busy)
{
	return busy ? bin->busy_ps : bin->ns;
}

/* The value below which the queue was for so much of the @total, all of the time or the busy. */
static u32 lab_percentile(const struct lab_watch *w, u64 total, bool busy, unsigned int percent)
{
	u64 sum = 0, want = div_u64(total * percent + 99, 100);
	unsigned int i;

	for (i = 0; i < LAB_BINS; i++) {
		sum += lab_weight(&w->bin[i], busy);
		if (lab_weight(&w->bin[i], busy) && sum >= want)
			return div64_u64(w->bin[i].byte_ns, w->bin[i].ns);
	}
	return 0;
}

/* Under RTNL. */
void lab_show_global(struct seq_file *m)
{
	struct lab_window win;
	unsigned long flags;
	u64 now, rows;

	raw_spin_lock_irqsave(&lab_lock, flags);
	now = lab_now();
	win = lab_window;
	rows = samples.hdr.rows;
	if (win.state == LAB_RUNNING)
		win.softnet_drops = lab_softnet_drops() - win.softnet_drops;
	raw_spin_unlock_irqrestore(&lab_lock, flags);

	seq_printf(m, "global state=%s now_ns=%llu start_ns=%llu duration_ns=%llu interval_ns=%llu",
		   lab_state_name[win.state], now, win.begin_ns, win.end_ns - win.begin_ns,
		   win.interval_ns);
	seq_printf(m, " rows=%llu trace_hash=%016llx max_lateness_ns=%llu softnet_drops=%u backend=%s\n",
		   rows, win.trace_hash, win.max_lateness_ns, win.softnet_drops,
		   lab_events_backend());
}

/* Under RTNL. */
void lab_show_link(struct seq_file *m, struct lablink *l)
{
	u32 max = 0, p50 = 0, p99 = 0, busy_p50 = 0, busy_p99 = 0, rest = 0;
	u64 now, ns = 0, byte_ns = 0, busy_ps = 0, busy_byte_ns = 0, mean = 0, busy_mean = 0, left;
	struct lab_counters c;
	struct lab_watch *w;
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&lab_lock, flags);
	now = lab_now();
	lab_before_change(now);
	lab_observe(l, now, 0);
	c = lab_counters_shown(l, now);
	w = rtnl_dereference(l->watch);
	if (w) {
		for (i = 0; i < LAB_BINS; i++) {
			const struct lab_bin *bin = &w->bin[i];

			if (!bin->ns)
				continue;
			ns += bin->ns;
			byte_ns += bin->byte_ns;
			busy_ps += bin->busy_ps;
			busy_byte_ns += mul_u64_u64_div_u64(bin->byte_ns, bin->busy_ps,
							    bin->ns * LAB_PS_PER_NS);
		}
		max = w->max;
		p50 = lab_percentile(w, ns, false, 50);
		p99 = lab_percentile(w, ns, false, 99);
		busy_p50 = lab_percentile(w, busy_ps, true, 50);
		busy_p99 = lab_percentile(w, busy_ps, true, 99);
		if (ns) {
			mean = div64_u64_rem(byte_ns, ns, &left);
			rest = div64_u64(left * 1000, ns);
		}
		if (busy_ps >= LAB_PS_PER_NS)
			busy_mean = div64_u64(busy_byte_ns, div_u64(busy_ps, LAB_PS_PER_NS));
	}
	raw_spin_unlock_irqrestore(&lab_lock, flags);

	seq_printf(m, "dev name=%s id=%u rate_bps=%llu delay_ns=%llu",
		   l->dev->name, l->id, l->rate_bps, l->delay_ns);
	seq_printf(m, " mtu=%u ring=%u watched=%d", l->dev->mtu, l->ring, !!w);
	seq_printf(m, " tx_bytes=%llu tx_packets=%llu busy_ns=%llu",
		   c.tx_bytes, c.tx_packets, div_u64(c.tx_busy_ps, LAB_PS_PER_NS));
	seq_printf(m, " rx_bytes=%llu rx_packets=%llu rx_data_packets=%llu",
		   c.rx_bytes, c.rx_packets, c.rx_data_packets);
	seq_printf(m, " drops=%llu tx_drops=%llu rx_drops=%llu",
		   c.qdisc_drops, c.tx_drops, c.rx_drops);
	seq_printf(m, " queue_max=%u queue_mean=%llu.%03u queue_p50=%u queue_p99=%u",
		   max, mean, rest, p50, p99);
	seq_printf(m, " queue_busy_mean=%llu queue_busy_p50=%u queue_busy_p99=%u\n",
		   busy_mean, busy_p50, busy_p99);
}

/* One part of the file: copy what of it lies at the position. */
int lab_copy_part(char __user **to, size_t *count, loff_t *pos, u64 *offset,
		  const void *part, u64 bytes)
{
	u64 begin = *offset, skip, n;

	*offset += bytes;
	if (!*count || *pos >= *offset)
		return 0;
	skip = *pos - begin;
	n = min_t(u64, bytes - skip, *count);
	if (copy_to_user(*to, part + skip, n))
		return -EFAULT;
	*to += n;
	*count -= n;
	*pos += n;
	return 0;
}

ssize_t lab_samples_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	struct lablink_samples_hdr hdr;
	loff_t before = *pos;
	unsigned long flags;
	u64 offset = 0, now;
	int err;

	rtnl_lock();
	raw_spin_lock_irqsave(&lab_lock, flags);
	now = lab_now();
	lab_before_change(now);
	hdr = samples.hdr;
	raw_spin_unlock_irqrestore(&lab_lock, flags);

	err = lab_copy_part(&to, &count, pos, &offset, &hdr, sizeof(hdr));
	if (!err && samples.row)
		err = lab_copy_part(&to, &count, pos, &offset, samples.column,
				    hdr.columns * sizeof(*samples.column));
	if (!err && samples.row)
		err = lab_copy_part(&to, &count, pos, &offset, samples.row,
				    hdr.rows * hdr.row_bytes);
	rtnl_unlock();
	return err ? err : *pos - before;
}

int lab_measure_init(void)
{
	lab_event_init(&begin_event, LAB_EVENT_WINDOW_BEGIN, 0);
	lab_event_init(&end_event, LAB_EVENT_WINDOW_END, 0);
	return lab_events_reserve(2);
}

/* All devices, so all watches, are gone. */
void lab_measure_exit(void)
{
	struct lab_sock *s, *next;

	rtnl_lock();
	lab_measure_forget();
	list_for_each_entry_safe(s, next, &lab_socks, list) {
		sock_put(s->sk);
		kfree(s);
	}
	rtnl_unlock();
}
