// SPDX-License-Identifier: GPL-2.0
/*
 * Swift: windows within their bounds, at most one decrease for each round trip and none beyond
 * max_mdf, a target that grows with hops and shrinks with the window, waits of at most a second.
 */
#include <math.h>

#include "fuzz.h"
#include "../../tcp_bolt/brownfield.h"

#define STEPS	64

static void arithmetic(struct input *in)
{
	u64 cwnd = take_range(in, SWIFT_CWND_MIN, SWIFT_CWND_MAX);
	double exact = 67108864 / sqrt(cwnd / 4294967296.0), got = swift_rsqrt_q26(cwnd);

	CHECK(fabs(got - exact) <= exact / (1 << 16) + 1);
}

static struct swift_conf conf_any(struct input *in)
{
	return (struct swift_conf){
		.base_ns = take_range(in, 0, 1000000000),
		.hop_ns = take_range(in, 0, 10000000),
		.fs_range_ns = take_range(in, 0, 1000000000),
		.endpoint_ns = take_range(in, 1, 1000000000),
	};
}

static void target(struct input *in, const struct swift_conf *c, const struct swift_bounds *b)
{
	u64 small = take_range(in, SWIFT_CWND_MIN, SWIFT_CWND_MAX);
	u64 large = take_range(in, small, SWIFT_CWND_MAX);
	u8 hops = take_u8(in);

	CHECK(swift_fs_ns(c, small) <= c->fs_range_ns);
	CHECK(swift_target_ns(c, b, large, hops) >=
	      min_t(u64, U32_MAX, (u64)b->rtt_ns + c->base_ns));
	CHECK(swift_target_ns(c, b, large, hops) <= swift_target_ns(c, b, small, hops));
	CHECK(swift_target_ns(c, b, small, hops) <= swift_target_ns(c, b, small, 15));
}

/* Of one window: from @was to what it is, and when it may go down again */
static void moved(const struct swift_win *was, const struct swift_win *w,
		  const struct swift_bounds *b, u64 now, u32 rtt)
{
	u64 least = max(SWIFT_CWND_MIN, b->min_q32);
	u64 most = max(least, min(b->max_q32, SWIFT_CWND_MAX));

	CHECK(w->cwnd_q32 >= least && w->cwnd_q32 <= most);
	if (w->cwnd_q32 >= was->cwnd_q32) {
		CHECK(w->last_dec_ns == was->last_dec_ns);
		return;
	}
	CHECK(w->last_dec_ns == now);
	if (was->cwnd_q32 > most)
		return;		/* the ceiling came down */
	CHECK(now - was->last_dec_ns >= rtt);
	CHECK(was->cwnd_q32 - w->cwnd_q32 <= (was->cwnd_q32 >> 16) * SWIFT_MAX_MDF_Q16 + 65536);
}

static struct swift_ack ack_any(struct input *in, u64 now)
{
	return (struct swift_ack){
		.now_ns = now,
		.rtt_ns = take_range(in, 1, U32_MAX),
		.remote_ns = take_range(in, 0, U32_MAX),
		.local_ns = take_range(in, 0, U32_MAX),
		.acked = take_range(in, 0, U32_MAX),
		.hops = take_u8(in),
		.limited = take_once_in(in, 2),
	};
}

static void alone(struct input *in, const struct swift_conf *c, struct swift_bounds *b)
{
	u64 now = take_range(in, 1ULL << 33, 1ULL << 60);
	struct swift_ack a;
	struct swift s, was;
	unsigned int what;
	int i;

	swift_start(&s, take_range(in, 1, 1 << 20));
	for (i = 0; i < STEPS; i++) {
		now += take_range(in, 0, 1ULL << take_below(in, 35));
		a = ack_any(in, now);
		was = s;
		what = take_u8(in) % 8;
		if (what > 1)
			s.retransmit_cnt = 0;
		if (!what)
			swift_on_loss(&s, b, now, true);
		else if (what == 1)
			swift_on_loss(&s, b, now, false);
		else
			swift_on_ack(&s, c, b, &a);
		if (s.retransmit_cnt < SWIFT_RETX_RESET) {
			moved(&was.fabric, &s.fabric, b, now, s.rtt_ns);
			moved(&was.endpoint, &s.endpoint, b, now, s.rtt_ns);
		} else {
			CHECK(swift_cwnd_q32(&s) == max(SWIFT_CWND_MIN, b->min_q32));
		}
		CHECK(s.retransmit_cnt <= SWIFT_RETX_RESET);
		CHECK(swift_packets(&s) >= 1 && swift_packets(&s) <= 1 << 20);
	}
}

/* Beside Bolt's window, which another law moves */
static void beside(struct input *in, const struct swift_conf *c, struct swift_bounds *b)
{
	u64 now = take_range(in, 1ULL << 33, 1ULL << 60), sends, least, was_dec;
	struct swift_reported r = { };
	struct swift_ack a;
	struct swift s = { };
	u32 reported, told;
	int i;

	least = max(SWIFT_CWND_MIN, b->min_q32);
	swift_cap_start(&s);
	for (i = 0; i < STEPS; i++) {
		now += take_range(in, 0, 1ULL << take_below(in, 35));
		a = ack_any(in, now);
		if (take_once_in(in, 2)) {
			told = take_range(in, 0, U32_MAX);
			swift_report_queue(&r, now, a.rtt_ns, told);
			CHECK(swift_reported_ns(&r, now, a.rtt_ns) >= told);
			continue;
		}
		reported = swift_reported_ns(&r, now, a.rtt_ns);
		sends = take_range(in, SWIFT_CWND_MIN, SWIFT_CWND_MAX);
		was_dec = s.fabric.last_dec_ns;
		swift_cap_ack(&s, c, b, &a, sends, reported);
		CHECK(s.fabric.cwnd_q32 >= least);
		CHECK(s.fabric.cwnd_q32 <= max(least, min(b->max_q32, SWIFT_CWND_MAX)));
		CHECK(s.fabric.last_dec_ns == was_dec || s.fabric.last_dec_ns == now);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);
	struct swift_conf c;
	struct swift_bounds b = {
		.rtt_ns = take_range(&in, 0, U32_MAX),
		.min_q32 = take_range(&in, 0, 2 * BOLT_ONE),
		.max_q32 = take_range(&in, 1, 1 << 20) << 32,
	};

	arithmetic(&in);
	c = conf_any(&in);
	target(&in, &c, &b);
	if (take_once_in(&in, 2))
		alone(&in, &c, &b);
	else
		beside(&in, &c, &b);
	return 0;
}
