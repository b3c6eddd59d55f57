/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of bolt, packet by packet: senders, one switch, a receiver.  What senders and the switch
 * decide is tcp_bolt/core.h and sch_sfc/decide.h themselves; what TCP does about it is a window,
 * ACKs and departures, without loss.  Equal arguments give equal numbers.
 *
 *	sender -- d1 --> switch's port -- d2 --> receiver	d1 = rtt / 2 / links, d2 the rest
 *	       <- d1 ---- SRC
 *	       <------------- rtt / 2 ----------- ACK
 */
#ifndef _BOLT_MODEL_H
#define _BOLT_MODEL_H

#include <stdlib.h>

#include "kernel.h"
#include "core.h"
#include "decide.h"

#define HEADERS		78	/* Ethernet, IP, TCP with timestamps and the option */
#define SRC_BYTES	90
#define FOREVER		(1ULL << 62)
#define WRITE_BYTES	(4ULL << 20)	/* a writer with more to send is blocked */
#define T0		(1ULL << 20)	/* ns: the port has been idle */

static struct {
	const char *name;
	u64 value;
} arg[] = {
	{ "gbps", 100 }, { "rtt", 8000 }, { "mtu", 1500 }, { "flows", 2 }, { "seed", 1 },
	{ "us", 1000 }, { "load", 80 }, { "messages", 20000 }, { "init", 100 },
	{ "short_bdp", 64 }, { "links", 3 }, { "senders", 0 }, { "thresh", 2 },
};

enum {
	GBPS, RTT, MTU, FLOWS, SEED, US, LOAD, MESSAGES, INIT, SHORT_BDP, LINKS, SENDERS, THRESH,
	ARGS
};

#define ARG(name)	(arg[name].value)

static double uniform(void)
{
	static u64 x;

	if (!x)
		x = 88172645463325252ULL + ARG(SEED) * 0x9e3779b97f4a7c15ULL;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (x >> 11) / 9007199254740992.0;
}

struct flow {
	struct bolt_core core;
	u64 start, end, bytes, sent, acked;
	u32 pkts_sent, pkts_acked, in_flight, init_cwnd, max_cwnd, tx_frac;
	u64 next_tx, last_tx, timer, own_link, *link;
	bool gone;
};

struct pkt {
	struct pkt *next;
	struct flow *flow;
	u64 tx;
	u32 len, payload, queue;
	u8 flags;
};

struct port {
	struct sfc_alg_cfg cfg;
	struct sfc_alg_state st;
	struct pkt *head, **tail, *wire;
	u64 frac, wire_ns, tx_bytes;
	u32 queue;
};

enum what { SEND, ENQUEUE, TX_DONE, ACK, SRC, END, GONE };

static struct event {
	u64 at, n;
	enum what what;
	struct flow *flow;
	struct pkt *pkt;
} *heap;

static struct flow *flow;
static u64 *link;	/* of a sender: when it is free */
static struct port port;
static size_t events, room;
static u64 now, posted, src_pkts, data_pkts;
static u32 kbps, pkt_len, mss, flows;

/* The port over time */
static struct { u64 tx_bytes; u32 queue; } *sample;
static u64 samples, max_samples, step;

static bool sooner(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->n < b->n;
}

static void post(u64 at, enum what what, struct flow *f, struct pkt *k)
{
	struct event e = { at, posted++, what, f, k };
	size_t i;

	if (events == room) {
		room = 2 * room + 1024;
		heap = realloc(heap, room * sizeof(e));
	}
	for (i = events++; i && sooner(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = e;
}

static struct event take(void)
{
	struct event top = heap[0], last = heap[--events];
	size_t i, child;

	for (i = 0; (child = 2 * i + 1) < events; i = child) {
		if (child + 1 < events && sooner(&heap[child + 1], &heap[child]))
			child++;
		if (!sooner(&heap[child], &last))
			break;
		heap[i] = heap[child];
	}
	heap[i] = last;
	return top;
}

static u64 wire_ns(u32 bytes)
{
	return bytes * 8 / ARG(GBPS);
}

static u64 d1(void)
{
	return ARG(RTT) / 2 / ARG(LINKS);
}

/* --- the switch --- */

static void take_samples(u64 until)
{
	for (; samples < max_samples && T0 + samples * step < until; samples++) {
		u64 left_ns = port.wire ? port.wire_ns - min(port.wire_ns, T0 + samples * step) : 0;

		sample[samples].queue = port.queue;
		sample[samples].tx_bytes = port.tx_bytes - left_ns * ARG(GBPS) / 8;
	}
}

static void port_start(void)
{
	struct pkt *k = port.head;

	if (port.wire || !k)
		return;
	port.head = k->next;
	if (!port.head)
		port.tail = &port.head;
	port.queue -= k->len;
	port.wire = k;
	port.tx_bytes += k->len;
	port.wire_ns = now + sfc_serialize_ns(&port.cfg.rate, k->len, &port.frac);
	post(port.wire_ns, TX_DONE, k->flow, k);
}

static struct pkt *pkt_new(const struct pkt *like)
{
	struct pkt *k = malloc(sizeof(*k));

	*k = *like;
	return k;
}

static void port_enqueue(struct pkt *k)
{
	const struct sfc_alg_in in = { now, port.queue, k->len, 1, k->flags, true };
	struct sfc_decision d;

	if (k->flow->gone)
		return free(k);
	sfc_decide_supply(&port.cfg, &port.st, &in);
	sfc_decide(&port.cfg, &port.st, &in, &d);
	k->flags = d.flags;
	k->queue = port.queue;
	data_pkts++;
	src_pkts += d.src;
	if (d.src)
		post(now + d1() + wire_ns(SRC_BYTES), SRC, k->flow, pkt_new(k));
	k->next = NULL;
	*port.tail = k;
	port.tail = &k->next;
	port.queue += k->len;
	port_start();
}

/* --- the sender: cc.c, departure.c and option_tx.c, and the TCP below them --- */

static void set_window(struct flow *f, u64 cwnd_q32)
{
	f->core.cwnd_q32 = clamp_t(u64, cwnd_q32, BOLT_ONE / 1000, (u64)f->max_cwnd << 32);
}

static void departed(struct flow *f, u32 len)
{
	f->in_flight++;
	f->pkts_sent++;
	f->last_tx = now;
	f->next_tx = bolt_core_next_tx(f->next_tx, now,
				       bolt_core_tx_ns(len, kbps, &f->tx_frac));
}

static void send(struct flow *f)
{
	while (f->sent < f->bytes && f->in_flight < bolt_core_packets(&f->core)) {
		u64 gap = bolt_core_gap_ns(f->core.cwnd_q32, f->core.min_rtt_ns);
		u64 due = max(f->next_tx, gap ? f->last_tx + gap : 0);
		u64 window = (u64)bolt_core_packets(&f->core) * mss;
		struct pkt k = { .flow = f, .tx = now, .flags = BOLT_F_DATA };

		if (due > now) {
			if (f->timer != due)
				post(due, SEND, f, NULL);
			f->timer = due;
			return;
		}
		k.payload = min(f->bytes - f->sent, mss);
		k.len = k.payload + HEADERS;
		if (f->pkts_sent < f->init_cwnd)
			k.flags |= BOLT_F_FIRST;
		if (f->bytes - f->sent <= window)
			k.flags |= BOLT_F_LAST;
		if (!(k.flags & (BOLT_F_FIRST | BOLT_F_LAST)) && window < (u64)f->max_cwnd * mss)
			k.flags |= BOLT_F_INC;
		f->sent += k.payload;
		departed(f, k.len);
		*f->link = max(*f->link, now) + wire_ns(k.len);
		post(*f->link + d1(), ENQUEUE, f, pkt_new(&k));
	}
}

static bool is_limit(const struct flow *f, u32 in_flight)
{
	return f->sent < f->bytes && in_flight >= bolt_core_packets(&f->core);
}

static void on_ack(struct flow *f, const struct pkt *k)
{
	struct bolt_core *c = &f->core;
	u32 was_in_flight = f->in_flight--;

	f->acked += k->payload;
	f->pkts_acked++;
	if (f->acked >= f->bytes)
		f->end = now;
	bolt_core_rtt_sample(c, now, now - k->tx);
	f->max_cwnd = max(f->init_cwnd, bolt_core_bdp_pkts(kbps, c->min_rtt_ns, pkt_len, 125));
	if (k->flags & BOLT_F_INC)
		set_window(f, max(c->cwnd_q32 + BOLT_ONE, BOLT_ONE));
	if (bolt_core_ai_due(c, f->pkts_acked)) {
		c->ai_seq = f->pkts_sent;
		c->round = uniform() * U32_MAX;
	}
	if (!(k->flags & BOLT_F_DEC) && is_limit(f, was_in_flight))
		set_window(f, c->cwnd_q32 + min(bolt_core_increase(c->cwnd_q32), BOLT_ONE));
}

static void on_src(struct flow *f, const struct pkt *k)
{
	u64 w = f->core.cwnd_q32, left = f->bytes - f->acked;
	struct bolt_core_src s = {
		.now_ns = now, .rtt_src_ns = now - k->tx,
		.queue_ns = bolt_core_queue_ns(k->queue, kbps),
		.pkt_ns = bolt_core_pkt_ns(w, f->core.srtt_ns) ?: bolt_core_queue_ns(pkt_len, kbps),
		.weight_q16 = 1 << 16, .grows = is_limit(f, f->in_flight),
	};

	if (left < WRITE_BYTES)
		s.weight_q16 = bolt_core_weight_q16(&f->core, left,
						    ARG(SHORT_BDP) * f->init_cwnd * mss,
						    s.queue_ns);
	set_window(f, bolt_core_on_src(&f->core, w, &s));
}

static void add_flow(u64 start, u64 bytes)
{
	struct flow *f = &flow[flows++];

	f->link = ARG(SENDERS) ? &link[(u32)(uniform() * ARG(SENDERS))] : &f->own_link;
	f->start = start;
	f->bytes = bytes;
	f->core.min_rtt_ns = ARG(RTT) + ARG(LINKS) * wire_ns(pkt_len + HEADERS);
	f->core.min_rtt_stamp_ns = start;
	f->init_cwnd = bolt_core_bdp_pkts(kbps, ARG(RTT), ARG(MTU), ARG(INIT));
	f->max_cwnd = max(f->init_cwnd, bolt_core_bdp_pkts(kbps, f->core.min_rtt_ns, pkt_len, 125));
	set_window(f, (u64)f->init_cwnd << 32);
	post(start, SEND, f, NULL);
}

/* The last byte of @f has just been written. */
static void stop(struct flow *f)
{
	f->bytes = f->sent + (u64)bolt_core_packets(&f->core) * mss;
}

static void handle(const struct event *e)
{
	struct flow *f = e->flow;
	struct pkt *k = e->pkt;

	switch (e->what) {
	case TX_DONE:
		port.wire = NULL;
		post(now + ARG(RTT) - d1() +
		     wire_ns((ARG(LINKS) - 2) * k->len + ARG(LINKS) * HEADERS), ACK, f, k);
		return port_start();
	case ENQUEUE:
		return port_enqueue(k);
	case END:
		return stop(f);
	case GONE:
		f->gone = true;
		return;
	case ACK:
		on_ack(f, k);
		break;
	case SRC:
		on_src(f, k);
		break;
	case SEND:
		if (f->timer == now)
			f->timer = 0;
		break;
	}
	free(k);
	send(f);
}

static void run(u64 until)
{
	while (events && heap[0].at <= until) {
		struct event e = take();

		take_samples(e.at);
		now = e.at;
		handle(&e);
	}
	take_samples(until);
	now = until;
}

#endif /* _BOLT_MODEL_H */
