// SPDX-License-Identifier: GPL-2.0
/*
 * The sender's law: a window never vanishes, never falls by more than a packet or an eighth for an
 * SRC, never grows by more than its increase; what was removed is remembered without wrapping;
 * departures are never closer than the link allows.
 */
#include "fuzz.h"
#include "../../tcp_bolt/algorithm2.h"
#include "../../tcp_bolt/core.h"

#define STEPS	64

static void on_src(struct input *in, struct bolt_core *c, u64 now)
{
	u64 w = c->cwnd_q32, removed = c->removed_q32, next;
	struct bolt_core_src s = {
		.now_ns = now,
		.rtt_src_ns = take_range(in, 0, BOLT_RTT_SRC_MAX_NS),
		.queue_ns = bolt_core_queue_ns(take_range(in, 0, U32_MAX),
					       take_range(in, 1, U32_MAX)),
		.pkt_ns = bolt_core_pkt_ns(w, c->srtt_ns),
		.grows = take_once_in(in, 2),
	};
	u32 left = take_range(in, 0, U32_MAX), scale = take_range(in, 0, U32_MAX);

	s.weight_q16 = bolt_core_weight_q16(c, left, scale, s.queue_ns);
	CHECK(s.weight_q16 >= 65536 / 5 && s.weight_q16 <= 65536);
	next = bolt_core_on_src(c, w, &s);
	CHECK(next <= w + (s.grows ? bolt_core_increase(w) : 0));
	CHECK(w <= next || w - next <= min(w >> 3, BOLT_ONE));
	CHECK(s.queue_ns || next >= w);
	CHECK(next && c->removed_q32 <= removed + BOLT_ONE);
	CHECK(c->removed_ns == now);
	c->cwnd_q32 = next;
}

static void on_sample(struct input *in, struct bolt_core *c, u64 now)
{
	u32 rtt = take_range(in, 0, BOLT_RTT_SRC_MAX_NS), was = c->srtt_ns, seen = max(rtt, 1U);

	bolt_core_rtt_sample(c, now, rtt);
	CHECK(c->min_rtt_ns && c->min_rtt_ns <= seen && c->srtt_ns);
	if (was)
		CHECK(c->srtt_ns >= min(was, seen) && c->srtt_ns <= max(was, seen));
}

static void window(struct input *in, struct bolt_core *c, u32 init, u64 now)
{
	u32 gap, pkts, bdp, max_cwnd = max(init, 1U);

	switch (take_u8(in) % 4) {
	case 0:
		on_sample(in, c, now);
		break;
	case 1:
		c->cwnd_q32 += bolt_core_increase(c->cwnd_q32);
		break;
	case 2:
		c->cwnd_q32 = max(c->cwnd_q32 + BOLT_ONE, BOLT_ONE);
		break;
	default:
		on_src(in, c, now);
	}
	bdp = bolt_core_bdp_pkts(take_range(in, 0, U32_MAX), c->min_rtt_ns,
				 take_range(in, 1, 70000), take_range(in, 100, 1000));
	CHECK(bdp == U32_MAX || (bdp >= 1 && bdp <= 1U << 20));
	max_cwnd = min(max(max_cwnd, bdp), 1U << 20);
	c->cwnd_q32 = clamp(c->cwnd_q32, BOLT_ONE / 1000, (u64)max_cwnd << 32);
	c->round = take_range(in, 0, U32_MAX);
	pkts = bolt_core_packets(c);
	CHECK(pkts >= 1 && pkts <= (c->cwnd_q32 >> 32) + 1);
	gap = bolt_core_gap_ns(c->cwnd_q32, c->min_rtt_ns);
	CHECK(gap <= BOLT_GAP_MAX_NS && (!gap || c->cwnd_q32 < BOLT_ONE));
	CHECK(c->cwnd_q32 >= BOLT_ONE || gap >= min(c->min_rtt_ns, BOLT_GAP_MAX_NS));
}

/* Bytes of any row of packets take the time that the link takes, but for the one of catching up. */
static void spacing(struct input *in)
{
	u64 next = 0, was, now = take_range(in, 0, 1ULL << 60), bytes = 0, sum = 0;
	u32 kbps = take_range(in, 8, U32_MAX), frac = 0, len, tx;
	u64 per_byte = (8000000ULL << BOLT_NS_SHIFT) / kbps;
	int i;

	for (i = 0; i < STEPS; i++) {
		len = take_range(in, 1, 1 << 20);
		tx = bolt_core_tx_ns(len, kbps, &frac);
		CHECK(frac < 1U << BOLT_NS_SHIFT && tx <= 1U << 30);
		bytes += len;
		sum += tx;
		if (tx < 1U << 30 && per_byte < U32_MAX && sum < 1ULL << 30)
			CHECK(sum == (u64)(((__int128)bytes * per_byte) >> BOLT_NS_SHIFT));
		now = max(now, next) + take_range(in, 0, 1ULL << take_below(in, 32));
		was = next;
		next = bolt_core_next_tx(next, now, tx);
		CHECK(next >= now && next >= was + tx && next <= max(was, now) + tx);
	}
}

/* As printed */
static void algorithm2(struct input *in)
{
	u32 nic = take_range(in, 0, U32_MAX), link = take_range(in, 1, U32_MAX), rtt_src;
	u32 pkt = take_range(in, 1, 1 << 17), queue = take_range(in, 0, U32_MAX), rate;
	struct bolt_core c = { };
	u64 target, now = 0;
	int i;

	rate = bolt_core_rate(take_range(in, 0, U32_MAX), pkt, take_range(in, 0, U32_MAX), nic);
	CHECK(rate <= (nic ?: U32_MAX));
	target = bolt_core_target_q(queue, pkt, rate, link);
	CHECK(target <= ((u64)queue << 16) / pkt);
	for (i = 0; i < STEPS; i++) {
		now += take_range(in, 0, 1ULL << take_below(in, 50));
		rtt_src = take_range(in, 1, BOLT_RTT_SRC_MAX_NS);
		if (!bolt_core_src(&c, now, rtt_src, target))
			continue;
		CHECK(target && c.last_dec_ns == now);
		CHECK(!bolt_core_src(&c, now, rtt_src, target));
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);
	struct bolt_core c = { };
	u32 init;
	u64 now;
	int i;

	switch (take_u8(&in) % 4) {
	case 0:
		spacing(&in);
		return 0;
	case 1:
		algorithm2(&in);
		return 0;
	}
	now = take_range(&in, 0, 1ULL << 60);
	init = take_range(&in, 1, 1 << 20);
	c.cwnd_q32 = (u64)init << 32;
	for (i = 0; i < STEPS; i++) {
		now += take_range(&in, 0, 1ULL << take_below(&in, 35));
		window(&in, &c, init, now);
	}
	return 0;
}
