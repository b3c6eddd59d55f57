// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: tcp_bolt/core.h, Algorithm 2 of the Bolt paper in integers, against the
 * paper's worked examples and against exact arithmetic in 128 bits.
 */

#include <linux/random.h>

#include "compat.h"
#include "core.h"
#include "algorithm2.h"

#define u128 unsigned __int128

#define ONE	65536ULL		/* one packet of target_q */
#define GBPS	(1000 * 1000U)		/* kbit/s */
#define RANDOM_ROWS	20000

/* A fixed sequence, so that a failure comes again (xorshift64) */
static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* As likely small as large: all magnitudes are tried */
static u64 any_magnitude(u64 *state, unsigned int bits)
{
	return next_random(state) >> (64 - 1 - next_random(state) % bits);
}

/* --- flow.rate --- */

struct rate_case {
	const char *name;
	u32 cwnd, pkt, srtt_ns, nic_kbps, want;
};

static const struct rate_case rate_cases[] = {
	{ "no sample yet: the NIC's", 67, 1500, 0, 100 * GBPS, 100 * GBPS },
	{ "neither sample nor NIC", 67, 1500, 0, 0, U32_MAX },
	{ "40 packets of 1500 in 8 us: 60 Gb/s", 40, 1500, 8000, 100 * GBPS, 60 * GBPS },
	{ "NIC's rate bounds it", 80, 1500, 8000, 100 * GBPS, 100 * GBPS },
	{ "exactly the NIC's rate", 100, 1000, 8000, 100 * GBPS, 100 * GBPS },
	{ "one packet of 1500 in 1 s: 12 kb/s", 1, 1500, 1000000000, 0, 12 },
	{ "truncates", 1, 1, 3, 0, 2666666 },
	{ "window of none", 0, 1500, 8000, 100 * GBPS, 0 },
	{ "400 Gb/s", 267, 1500, 8010, 400 * GBPS, 400 * GBPS },
	{ "saturates", U32_MAX, U32_MAX, 1, 0, U32_MAX },
	{ "below one kbit/s", 1, 1, U32_MAX, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(rate, rate_cases, name);

static void bolt_core_rate_test(struct kunit *test)
{
	const struct rate_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, bolt_core_rate(c->cwnd, c->pkt, c->srtt_ns, c->nic_kbps), c->want);
}

/* Low by less than one kbit/s, over the whole range the function takes */
static void bolt_core_rate_error_test(struct kunit *test)
{
	u64 s = 1;
	int i;

	for (i = 0; i < RANDOM_ROWS; i++) {
		u32 cwnd = any_magnitude(&s, 20), pkt = any_magnitude(&s, 17);
		u32 srtt = any_magnitude(&s, 32) | 1;
		u32 rate = bolt_core_rate(cwnd, pkt, srtt, 0);
		u128 exact = (u128)cwnd * pkt * 8 * 1000000;	/* times 1 / srtt */

		if (exact >= (u128)U32_MAX * srtt) {
			if (rate != U32_MAX)
				KUNIT_FAIL(test, "cwnd %u pkt %u srtt %u: %u does not saturate",
					   cwnd, pkt, srtt, rate);
			continue;
		}
		if ((u128)rate * srtt > exact || (u128)(rate + 1ULL) * srtt <= exact)
			KUNIT_FAIL(test, "cwnd %u pkt %u srtt %u: %u is off by a kbit/s or more",
				   cwnd, pkt, srtt, rate);
	}
}

/* --- target_q --- */

struct target_case {
	const char *name;
	u32 queue, pkt, flow, link;
	u64 want;		/* packets, 16 fractional bits */
};

static const struct target_case target_cases[] = {
	{ "alone: the whole queue", 3000, 1500, 100 * GBPS, 100 * GBPS, 2 * ONE },
	{ "half of the link: half of the queue", 3000, 1500, 50 * GBPS, 100 * GBPS, ONE },
	{ "a quarter of a packet", 1500, 1500, 25 * GBPS, 100 * GBPS, ONE / 4 },
	{ "faster than the link: no more than the queue", 3000, 1500, 400 * GBPS, 100 * GBPS,
	  2 * ONE },
	{ "unknown rate: the whole queue", 1500, 1500, U32_MAX, 100 * GBPS, ONE },
	{ "empty queue", 0, 1500, 100 * GBPS, 100 * GBPS, 0 },
	{ "flow that does not send", 3000, 1500, 0, 100 * GBPS, 0 },
	{ "largest queue, smallest packet", U32_MAX, 1, 1, 1, (u64)U32_MAX << 16 },
	{ "packet size 0 is taken for 1", 7, 0, 1, 1, 7 * ONE },
	{ "smallest share", 1500, 1500, 1, 65536, 1 },
	{ "share below 2^-16 is none", 1500, 1500, 1, 65537, 0 },
	{ "400 Gb/s", 6000, 1500, 100 * GBPS, 400 * GBPS, ONE },
};

KUNIT_ARRAY_PARAM_DESC(target, target_cases, name);

static void bolt_core_target_q_test(struct kunit *test)
{
	const struct target_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, bolt_core_target_q(c->queue, c->pkt, c->flow, c->link), c->want);
}

/* Never high, and low by less than queue / pkt * 2^-16 + 2^-16 packets, as promised */
static void bolt_core_target_q_error_test(struct kunit *test)
{
	u64 s = 2;
	int i;

	for (i = 0; i < RANDOM_ROWS; i++) {
		u32 queue = any_magnitude(&s, 32), pkt = any_magnitude(&s, 16) | 1;
		u32 flow = any_magnitude(&s, 32), link = any_magnitude(&s, 32) | 1;
		u64 got = bolt_core_target_q(queue, pkt, flow, link);
		u128 exact = ((u128)queue * min(flow, link)) << 16;	/* times 1 / unit */
		u128 unit = (u128)pkt * link;

		if ((u128)got * unit > exact)
			KUNIT_FAIL(test, "queue %u pkt %u flow %u link %u: %llu is high",
				   queue, pkt, flow, link, got);
		else if (exact - (u128)got * unit >= ((u128)queue + pkt) * link)
			KUNIT_FAIL(test, "queue %u pkt %u flow %u link %u: %llu is too low",
				   queue, pkt, flow, link, got);
	}
}

/* --- the interval test, line 6 --- */

struct due_case {
	const char *name;
	u32 rtt_src;
	u64 target, since;
	bool due;
};

static const struct due_case due_cases[] = {
	/* section 3.1.2: "if the target queue has a single packet, the sender decrements
	 * its cwnd only if rtt_src has elapsed since the last decrement"
	 */
	{ "one packet, just before rtt_src", 8000, ONE, 7999, false },
	{ "one packet, at rtt_src", 8000, ONE, 8000, true },
	{ "one packet, after rtt_src", 8000, ONE, 8001, true },
	/* "if the queue is larger, Bolt allows more frequent decrements" */
	{ "two packets, before half of it", 8000, 2 * ONE, 3999, false },
	{ "two packets, at half of it", 8000, 2 * ONE, 4000, true },
	{ "eighty packets, 99 ns", 8000, 80 * ONE, 99, false },
	{ "eighty packets, 100 ns", 8000, 80 * ONE, 100, true },
	{ "half a packet, before twice rtt_src", 8000, ONE / 2, 15999, false },
	{ "half a packet, at twice rtt_src", 8000, ONE / 2, 16000, true },
	{ "third of a packet, rounded", 8000, ONE / 3, 24000, false },
	{ "no part in the queue is never due", 8000, 0, U64_MAX, false },
	{ "rtt_src of none is due at once", 0, ONE, 0, true },
	{ "at once is not due", 1, ONE, 0, false },
	{ "long idle", 8000, ONE, U64_MAX, true },
	{ "longest rtt_src, one packet", BOLT_RTT_SRC_MAX_NS, ONE, BOLT_RTT_SRC_MAX_NS, true },
	{ "longest rtt_src, just before", BOLT_RTT_SRC_MAX_NS, ONE, BOLT_RTT_SRC_MAX_NS - 1,
	  false },
	{ "largest queue", BOLT_RTT_SRC_MAX_NS, (u64)U32_MAX << 16, 1, true },
	/* a small part of the queue makes it rare, not impossible */
	{ "smallest part, WAN, before", 1000000, 1, 1000000ULL * ONE - 1, false },
	{ "smallest part, WAN, at 65.5 s", 1000000, 1, 1000000ULL * ONE, true },
};

KUNIT_ARRAY_PARAM_DESC(due, due_cases, name);

static void bolt_core_dec_due_test(struct kunit *test)
{
	const struct due_case *c = test->param_value;
	struct bolt_core core = { };

	KUNIT_EXPECT_EQ(test, bolt_core_src(&core, c->since, c->rtt_src, c->target), c->due);
}

/* The exact inequality in 128 bits, wherever rtt_src can be believed */
static void bolt_core_dec_due_exact_test(struct kunit *test)
{
	int i, wrong = 0;
	u64 s = 3;

	for (i = 0; i < RANDOM_ROWS; i++) {
		u32 rtt = any_magnitude(&s, 30);
		u64 target = any_magnitude(&s, 48), since = any_magnitude(&s, 63);
		bool want = target && ((u128)rtt << 16) <= (u128)since * target;
		struct bolt_core core = { };

		if (bolt_core_src(&core, since, rtt, target) == want)
			continue;
		if (!wrong++)
			KUNIT_FAIL(test, "rtt_src %u target_q16 %llu since %llu: not %d",
				   rtt, target, since, want);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* --- HandleSrc over time --- */

struct src_case {
	const char *name;
	u64 start, last_dec;
	u64 target;
	unsigned int decs;	/* of 800 SRCs, one each 100 ns, rtt_src 8 us */
};

static const struct src_case src_cases[] = {
	/* the paper's worked example: one decrement per rtt_src */
	{ "target of one packet", 1000000, 1000000, ONE, 10 },
	{ "target of two packets", 1000000, 1000000, 2 * ONE, 20 },
	{ "target of eighty packets: each SRC", 1000000, 1000000, 80 * ONE, 800 },
	{ "target above that: still one packet each", 1000000, 1000000, 8000 * ONE, 800 },
	{ "target of half a packet", 1000000, 1000000, ONE / 2, 5 },
	{ "no part in the queue", 1000000, 1000000, 0, 0 },
	{ "low word of the clock wraps", U32_MAX - 40000ULL, U32_MAX - 40000ULL, ONE, 10 },
	{ "idle since long ago: one at once", 1ULL << 40, 0, ONE, 10 },
};

KUNIT_ARRAY_PARAM_DESC(src, src_cases, name);

static void bolt_core_src_test(struct kunit *test)
{
	const struct src_case *c = test->param_value;
	struct bolt_core core = { .last_dec_ns = c->last_dec };
	unsigned int decs = 0;
	int i;

	for (i = 1; i <= 800; i++) {
		u64 now = c->start + i * 100, before = core.last_dec_ns;

		if (bolt_core_src(&core, now, 8000, c->target)) {
			decs++;
			KUNIT_ASSERT_EQ(test, core.last_dec_ns, now);	/* line 8 */
		} else {
			KUNIT_ASSERT_EQ(test, core.last_dec_ns, before);
		}
	}
	KUNIT_EXPECT_EQ(test, decs, c->decs);
}

/* --- RTT samples --- */

static void bolt_core_rtt_sample_test(struct kunit *test)
{
	struct bolt_core c = { };

	bolt_core_rtt_sample(&c, 1000, 8000);
	KUNIT_EXPECT_EQ(test, c.srtt_ns, 8000);
	KUNIT_EXPECT_EQ(test, c.min_rtt_ns, 8000);
	bolt_core_rtt_sample(&c, 2000, 16000);		/* gain 1/8 */
	KUNIT_EXPECT_EQ(test, c.srtt_ns, 9000);
	KUNIT_EXPECT_EQ(test, c.min_rtt_ns, 8000);
	bolt_core_rtt_sample(&c, 3000, 1000);
	KUNIT_EXPECT_EQ(test, c.srtt_ns, 8000);
	KUNIT_EXPECT_EQ(test, c.min_rtt_ns, 1000);
}

static void bolt_core_rtt_sample_zero_test(struct kunit *test)
{
	struct bolt_core c = { };
	int i;

	for (i = 0; i < 100; i++)	/* 0 would mean: no sample yet */
		bolt_core_rtt_sample(&c, i, 0);
	KUNIT_EXPECT_EQ(test, c.srtt_ns, 1);
	KUNIT_EXPECT_EQ(test, c.min_rtt_ns, 1);
}

static void bolt_core_min_rtt_expires_test(struct kunit *test)
{
	struct bolt_core c = { };
	u64 now = 5000;

	bolt_core_rtt_sample(&c, now, 8000);
	bolt_core_rtt_sample(&c, now + BOLT_MIN_RTT_WIN_NS, 20000);
	KUNIT_EXPECT_EQ(test, c.min_rtt_ns, 8000);
	bolt_core_rtt_sample(&c, now + BOLT_MIN_RTT_WIN_NS + 1, 20000);
	KUNIT_EXPECT_EQ(test, c.min_rtt_ns, 20000);
	/* an equal sample renews it */
	now += BOLT_MIN_RTT_WIN_NS + 1;
	bolt_core_rtt_sample(&c, now + 10, 20000);
	bolt_core_rtt_sample(&c, now + 10 + BOLT_MIN_RTT_WIN_NS, 30000);
	KUNIT_EXPECT_EQ(test, c.min_rtt_ns, 20000);
}

/* --- additive increase, lines 12 to 14 --- */

struct ai_case {
	const char *name;
	u32 ack, ai_seq;
	bool due;
};

static const struct ai_case ai_cases[] = {
	{ "before", 999, 1000, false },
	{ "at", 1000, 1000, true },
	{ "after", 1001, 1000, true },
	{ "before, across the wrap", 0xffffff00, 0x100, false },
	{ "after, across the wrap", 0x100, 0xffffff00, true },
	{ "at zero", 0, 0, true },
	{ "largest step", 0x7fffffff, 0, true },
	{ "half the space is before", 0x80000000, 0, false },
};

KUNIT_ARRAY_PARAM_DESC(ai, ai_cases, name);

static void bolt_core_ai_due_test(struct kunit *test)
{
	const struct ai_case *c = test->param_value;
	struct bolt_core core = { .ai_seq = c->ai_seq };

	KUNIT_EXPECT_EQ(test, bolt_core_ai_due(&core, c->ack), c->due);
}

/* One increase per window acknowledged, wherever in the sequence space it lies */
static void bolt_core_ai_once_per_rtt_test(struct kunit *test)
{
	const u32 mss = 1448, window = 64 * mss;
	struct bolt_core c = { };
	u32 una = 0U - 10 * window;	/* wraps on the way */
	int i, increases = 0;

	c.ai_seq = una + window;
	for (i = 1; i <= 20 * 64; i++) {
		u32 ack = una + i * mss;

		if (bolt_core_ai_due(&c, ack)) {
			increases++;
			c.ai_seq = ack + window;
		}
	}
	KUNIT_EXPECT_EQ(test, increases, 20);
}

/* --- the law, packet by packet --- */

#define Q32(milli)	(BOLT_ONE / 1000 * (milli))

struct law_case {
	const char *name;
	u32 milli, rtt_src, queue;	/* the window in thousandths of a packet */
	u32 weight;			/* in thousandths, 0: 1 */
	bool held;			/* something else limits the flow */
	u32 want;
};

/* What one SRC makes of a window; nothing was removed before */
static const struct law_case law_cases[] = {
	{ "no queue: the additive increase", 4000, 4000, 0, .want = 4250 },
	{ "even: 3/2 queue / rtt_src = 1 / cwnd", 4000, 6000, 1000, .want = 4000 },
	{ "even at one packet", 1000, 6000, 4000, .want = 1000 },
	{ "even at 30 packets", 30000, 9000, 200, .want = 30000 },
	{ "half of the queue: half of the increase", 4000, 6000, 500, .want = 4125 },
	{ "twice the queue: as much less", 4000, 6000, 2000, .want = 3750 },
	{ "an eighth of the window at most", 4000, 6000, 60000, .want = 3500 },
	{ "a packet at most", 30000, 6000, 60000, .want = 29000 },
	{ "not the limit: no increase", 4000, 6000, 1000, .held = true, .want = 3750 },
	{ "half of its part: its message is short", 4000, 6000, 2000, 500, .want = 4000 },
	{ "below one: doubles", 100, 6000, 0, .want = 200 },
	{ "below one, a quarter: even at twice the queue of one", 250, 6000, 8000, .want = 250 },
	{ "below one: an eighth at most", 250, 6000, 800000, .want = 219 },
	{ "no rtt_src", 4000, 0, 1000, .want = 3500 },
	{ "no overflow", 4000, 1, U32_MAX, .want = 3500 },
};

KUNIT_ARRAY_PARAM_DESC(law, law_cases, name);

static void bolt_core_on_src_test(struct kunit *test)
{
	const struct law_case *p = test->param_value;
	const struct bolt_core_src s = {
		.now_ns = 1000000, .rtt_src_ns = p->rtt_src, .queue_ns = p->queue, .pkt_ns = 100,
		.weight_q16 = p->weight ? p->weight * 65536 / 1000 : 65536, .grows = !p->held,
	};
	struct bolt_core c = {};
	u64 got = bolt_core_on_src(&c, Q32(p->milli), &s);

	/* a thousandth of a packet, for a quarter's cube root of integers */
	KUNIT_EXPECT_EQ(test, DIV_ROUND_CLOSEST_ULL(got, BOLT_ONE / 1000), p->want);
	KUNIT_EXPECT_EQ(test, c.removed_q32, got < Q32(p->milli) ? Q32(p->milli) - got : 0);
}

/* What was removed counts as drained, for a rtt_src; then the queue has to say so. */
static void bolt_core_drained_test(struct kunit *test)
{
	struct bolt_core_src s = { .now_ns = 1000000, .rtt_src_ns = 4000, .queue_ns = 1000,
				   .pkt_ns = 250, .weight_q16 = 65536 };
	struct bolt_core c = { .removed_q32 = 4 * BOLT_ONE, .removed_ns = 1000000 };
	u64 got;

	/* four packets of 250 ns: all of the queue */
	KUNIT_EXPECT_EQ(test, bolt_core_on_src(&c, 8 * BOLT_ONE, &s), 8 * BOLT_ONE);
	/* half a rtt_src later they are two (and what is truncated): half of the queue */
	s.now_ns += 2000;
	got = 8 * BOLT_ONE - bolt_core_on_src(&c, 8 * BOLT_ONE, &s);
	KUNIT_EXPECT_EQ(test, got * 1000 >> 32, 187);
	KUNIT_EXPECT_EQ(test, c.removed_q32 * 1000 >> 32, 2187);
	/* and nothing a rtt_src after that */
	s.now_ns += 4000;
	KUNIT_EXPECT_EQ(test, bolt_core_on_src(&c, 8 * BOLT_ONE, &s),
			8 * BOLT_ONE - BOLT_ONE * 3 / 8);
	KUNIT_EXPECT_EQ(test, bolt_core_pkt_ns(5 * BOLT_ONE / 2, 8000), 3200);
	KUNIT_EXPECT_EQ(test, bolt_core_pkt_ns(BOLT_ONE / 2, 8000), 8000);
	KUNIT_EXPECT_EQ(test, bolt_core_pkt_ns(BOLT_ONE, 0), 0);
}

/* Whatever comes: never more than an eighth or a packet less, never more than the increase more */
static void bolt_core_on_src_bounds_test(struct kunit *test)
{
	u64 state = 7, now = 1;
	struct bolt_core c = {};
	int i;

	for (i = 0; i < RANDOM_ROWS; i++) {
		u64 w = min_t(u64, any_magnitude(&state, 52) + BOLT_ONE / 1000, BOLT_ONE << 20);
		const struct bolt_core_src s = {
			.now_ns = now += any_magnitude(&state, 20),
			.rtt_src_ns = any_magnitude(&state, 30),
			.queue_ns = any_magnitude(&state, 32), .pkt_ns = any_magnitude(&state, 32),
			.weight_q16 = 13107 + next_random(&state) % (65536 - 13107), .grows = i & 1,
		};
		u64 got = bolt_core_on_src(&c, w, &s);

		KUNIT_ASSERT_GE(test, got, w - min(BOLT_ONE, w >> BOLT_SRC_SHIFT));
		KUNIT_ASSERT_LE(test, got, w + (s.grows ? min(BOLT_ONE, w) : 0));
	}
}

struct settle_case {
	const char *name;
	int flows;
	u32 start_milli[2];	/* of the even and the odd ones */
	u32 rounds;
	u32 queue_min, queue_max;	/* ns at the end */
	u32 ratio_pct;		/* largest window over the smallest, at most */
};

/*
 * Flows at one link in rounds of a RTT of 8 us, a packet of 120 ns, rtt_src 4 us: from any start
 * all windows become equal, and the queue is rtt_src / (3/2 cwnd), or of the root below one
 */
static const struct settle_case settle_cases[] = {
	{ "1 and 60 packets", 2, { 1000, 60000 }, 2000, 0, 600, 103 },
	{ "16 flows", 16, { 1000, 8000 }, 2000, 750, 950, 103 },
	{ "64 flows", 64, { 100, 4000 }, 2000, 1500, 3000, 103 },
	{ "0.3 beside 30", 20, { 300, 30000 }, 2000, 900, 1100, 103 },
	{ "200 flows, below one", 200, { 5, 1000 }, 4000, 4000, 7000, 110 },
	{ "1000 flows", 1000, { 2, 1000 }, 20000, 6700, 8200, 125 },
};

KUNIT_ARRAY_PARAM_DESC(settle, settle_cases, name);

struct settle_flow {
	struct bolt_core c;
	u64 credit;
};

static void settle_packet(struct settle_flow *f, u64 now, u32 queue, u32 rtt)
{
	const struct bolt_core_src s = {
		.now_ns = now, .rtt_src_ns = 4000, .queue_ns = queue,
		.pkt_ns = bolt_core_pkt_ns(f->c.cwnd_q32, rtt), .weight_q16 = 65536, .grows = true,
	};

	if (queue < 240)	/* CC_THRESH */
		f->c.cwnd_q32 += bolt_core_increase(f->c.cwnd_q32);
	else
		f->c.cwnd_q32 = bolt_core_on_src(&f->c, f->c.cwnd_q32, &s);
}

static void bolt_core_settles_test(struct kunit *test)
{
	const struct settle_case *p = test->param_value;
	struct settle_flow *flows = kunit_kcalloc(test, p->flows, sizeof(*flows), GFP_KERNEL);
	u64 now = 1000000, sum, least = U64_MAX, most = 0, queue_sum = 0;
	u32 round, queue;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, flows);
	for (i = 0; i < p->flows; i++)
		flows[i].c.cwnd_q32 = Q32(p->start_milli[i % 2]);
	for (round = 0; round < p->rounds; round++) {
		for (sum = 0, i = 0; i < p->flows; i++)
			sum += flows[i].c.cwnd_q32;
		sum = max_t(u64, sum * 120 >> 32, 8000);
		queue = sum - 8000;
		if (round >= p->rounds / 2)
			queue_sum += queue;
		for (i = 0; i < p->flows; i++) {
			struct settle_flow *f = &flows[i];

			f->credit += f->c.cwnd_q32;
			for (; f->credit >= BOLT_ONE; f->credit -= BOLT_ONE)
				settle_packet(f, now + f->credit % 8000, queue, 8000 + queue);
		}
		now += 8000 + queue;
	}
	for (i = 0; i < p->flows; i++) {
		least = min(least, flows[i].c.cwnd_q32);
		most = max(most, flows[i].c.cwnd_q32);
	}
	queue = div_u64(queue_sum, p->rounds / 2);
	KUNIT_EXPECT_LE_MSG(test, most * 100, least * p->ratio_pct, "%llu..%llu", least, most);
	KUNIT_EXPECT_TRUE_MSG(test, queue >= p->queue_min && queue <= p->queue_max,
			      "a queue of %u ns", queue);
}

static void bolt_core_weight_test(struct kunit *test)
{
	const struct bolt_core c = { .min_rtt_ns = 8000 }, none = {};

	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&c, 1000000, 1000000, 0), 65536);
	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&c, U32_MAX, U32_MAX, 0), 65536);
	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&c, 0, 0, 0), 65536);
	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&c, 250000, 1000000, 0), 32768);
	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&c, 1000, 1000000, 0), 13107);
	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&c, U32_MAX - 1, U32_MAX, 0), 65535);
	/* a queue of a round trip is everybody's */
	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&c, 250000, 1000000, 7999), 32768);
	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&c, 1000, 1000000, 8000), 65536);
	KUNIT_EXPECT_EQ(test, bolt_core_weight_q16(&none, 1000, 1000000, 0), 65536);
}

/* A small window is rounded at random, a large one down; below one a packet still leaves. */
static void bolt_core_packets_test(struct kunit *test)
{
	struct bolt_core c = { .cwnd_q32 = Q32(2700) };

	KUNIT_EXPECT_EQ(test, bolt_core_packets(&c), 2);
	c.round = U32_MAX / 2;
	KUNIT_EXPECT_EQ(test, bolt_core_packets(&c), 3);
	c.cwnd_q32 = Q32(4700);
	KUNIT_EXPECT_EQ(test, bolt_core_packets(&c), 4);
	c.cwnd_q32 = BOLT_ONE / 4;
	KUNIT_EXPECT_EQ(test, bolt_core_packets(&c), 1);
}

struct gap_case {
	const char *name;
	u64 cwnd;
	u32 rtt, want;
};

static const struct gap_case gap_cases[] = {
	{ "two packets", 2 * BOLT_ONE, 8000, 0 },
	{ "one", BOLT_ONE, 8000, 0 },
	{ "just less than one", BOLT_ONE - 1, 8000, 8000 },
	{ "0.5: twice the RTT", BOLT_ONE / 2, 8000, 16000 },
	{ "0.1: ten", BOLT_ONE / 10, 8000, 80000 },
	{ "0.001: a thousand", BOLT_ONE / 1000 + 1, 8000, 7999998 },
	{ "0.75 of 100 us", BOLT_ONE / 4 * 3, 100000, 133333 },
	{ "bounded", BOLT_ONE / 1000, 40000000, BOLT_GAP_MAX_NS },
	{ "the longest RTT", BOLT_ONE / 1000, 1U << 31, BOLT_GAP_MAX_NS },
	{ "no RTT yet", BOLT_ONE / 2, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(gap, gap_cases, name);

static void bolt_core_gap_test(struct kunit *test)
{
	const struct gap_case *k = test->param_value;

	KUNIT_EXPECT_EQ(test, bolt_core_gap_ns(k->cwnd, k->rtt), k->want);
}

struct sends_case {
	const char *name;
	u32 milli, round_milli, tcp_cwnd;
	u32 want;
};

/* Fractions of a packet survive however a round trip is rounded; another controller's do not. */
static const struct sends_case sends_cases[] = {
	{ "1.6 packets, rounded down", 1600, 100, 1, .want = 1600 },
	{ "1.6 packets, rounded up", 1600, 500, 2, .want = 1600 },
	{ "1.6 packets, Swift allows one", 1600, 500, 1, .want = 1000 },
	{ "1.6 packets, Swift allows three", 1600, 500, 3, .want = 1600 },
	{ "half a packet", 500, 900, 1, .want = 500 },
	{ "30.5 packets", 30500, 900, 30, .want = 30500 },
	{ "30.5 packets, Swift allows twelve", 30500, 900, 12, .want = 12000 },
};

KUNIT_ARRAY_PARAM_DESC(sends, sends_cases, name);

static void bolt_core_effective_cwnd_test(struct kunit *test)
{
	const struct sends_case *p = test->param_value;
	struct bolt_core c = { .cwnd_q32 = Q32(p->milli), .round = Q32(p->round_milli) };
	u64 got = bolt_core_effective_cwnd_q32(&c, p->tcp_cwnd);

	KUNIT_EXPECT_EQ(test, DIV_ROUND_CLOSEST_ULL(got, BOLT_ONE / 1000), p->want);
}

static void bolt_core_queue_ns_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(12500, 100 * GBPS), 1000);
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(1, 3 * GBPS), 2);
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(U32_MAX, U32_MAX), 8000000);
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(U32_MAX, 1), U32_MAX);
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(1000, 0), 0);
}

/* --- the start at the path's BDP --- */

struct bdp_case {
	const char *name;
	u32 kbps, rtt, pkt, pct, want;
};

static const struct bdp_case bdp_cases[] = {
	{ "100 Gb/s, 8 us: 66.7 packets of 1500", 100 * GBPS, 8000, 1500, 100, 67 },
	{ "and 125 per cent: 83.3", 100 * GBPS, 8000, 1500, 125, 84 },
	{ "100 Gb/s, 5 us, 5000: 12.5", 100 * GBPS, 5000, 5000, 100, 13 },
	{ "40 Gb/s, 50 us: 166.7", 40 * GBPS, 50000, 1500, 100, 167 },
	{ "400 Gb/s, 8 us: 266.7", 400 * GBPS, 8000, 1500, 100, 267 },
	{ "exact is not rounded up", 100 * GBPS, 6000, 1500, 100, 50 },
	{ "less than a packet", 1000, 8000, 1500, 100, 1 },
	{ "rate unknown", 0, 8000, 1500, 100, U32_MAX },
	{ "RTT unknown", 100 * GBPS, 0, 1500, 100, U32_MAX },
	{ "largest of all", U32_MAX, 1000000000, 1, 1000, 1 << 20 },
};

KUNIT_ARRAY_PARAM_DESC(bdp, bdp_cases, name);

static void bolt_core_bdp_pkts_test(struct kunit *test)
{
	const struct bdp_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, bolt_core_bdp_pkts(c->kbps, c->rtt, c->pkt, c->pct), c->want);
}

/* --- the spacing of departures --- */

/* Low by less than one ns and 2^-20 of the rest */
static void bolt_core_tx_ns_error_test(struct kunit *test)
{
	u64 s = 4, sum = 0;
	u32 rest = 0;
	int i;

	for (i = 0; i < RANDOM_ROWS; i++) {
		u32 kbps = (any_magnitude(&s, 32) | 1) + 10000;	/* 10 Mb/s and up */
		u32 len = any_magnitude(&s, 17);
		u32 frac = 0;
		u64 got = bolt_core_tx_ns(len, kbps, &frac);
		u128 exact = (u128)len * 8000000;	/* times 1 / kbps */

		if ((u128)got * kbps > exact)
			KUNIT_FAIL(test, "%u bytes at %u kb/s: %llu ns is long", len, kbps, got);
		else if (exact - (u128)got * kbps > (u128)kbps + ((u128)len * kbps >> 20))
			KUNIT_FAIL(test, "%u bytes at %u kb/s: %llu ns is short", len, kbps, got);
	}
	KUNIT_EXPECT_EQ(test, bolt_core_tx_ns(65536, 0, &rest), 0);
	KUNIT_EXPECT_EQ(test, bolt_core_tx_ns(1500, 50 * GBPS, &rest), 239);
	/* no rate is so low that it is another */
	rest = 0;
	KUNIT_EXPECT_EQ(test, bolt_core_tx_ns(1500, 1000, &rest), 12000000);
	/* 400 Gb/s: 30.28 ns a packet, and 30280 ns for a thousand */
	rest = 0;
	for (i = 0; i < 1000; i++)
		sum += bolt_core_tx_ns(1514, 400 * GBPS, &rest);
	KUNIT_EXPECT_GE(test, sum, 30278);
	KUNIT_EXPECT_LE(test, sum, 30280);
}

struct next_case {
	const char *name;
	u64 next, now;
	u32 tx;
	u64 want;
};

static const struct next_case next_cases[] = {
	{ "on time", 1000, 1000, 120, 1120 },
	{ "late by less than a packet: caught up", 1000, 1100, 120, 1120 },
	{ "late by a packet", 1000, 1120, 120, 1120 },
	{ "late by more: one packet of credit, no more", 1000, 5000, 120, 5000 },
	{ "first ever", 0, 5000, 120, 5000 },
	{ "booted just now", 0, 50, 120, 120 },
	{ "ahead", 2000, 1000, 120, 2120 },
	{ "no spacing", 1000, 5000, 0, 5000 },
};

KUNIT_ARRAY_PARAM_DESC(next, next_cases, name);

static void bolt_core_next_tx_test(struct kunit *test)
{
	const struct next_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, bolt_core_next_tx(c->next, c->now, c->tx), c->want);
}

static struct kunit_case bolt_core_cases[] = {
	KUNIT_CASE_PARAM(bolt_core_rate_test, rate_gen_params),
	KUNIT_CASE(bolt_core_rate_error_test),
	KUNIT_CASE_PARAM(bolt_core_target_q_test, target_gen_params),
	KUNIT_CASE(bolt_core_target_q_error_test),
	KUNIT_CASE_PARAM(bolt_core_dec_due_test, due_gen_params),
	KUNIT_CASE(bolt_core_dec_due_exact_test),
	KUNIT_CASE_PARAM(bolt_core_src_test, src_gen_params),
	KUNIT_CASE(bolt_core_rtt_sample_test),
	KUNIT_CASE(bolt_core_rtt_sample_zero_test),
	KUNIT_CASE(bolt_core_min_rtt_expires_test),
	KUNIT_CASE_PARAM(bolt_core_ai_due_test, ai_gen_params),
	KUNIT_CASE(bolt_core_ai_once_per_rtt_test),
	KUNIT_CASE_PARAM(bolt_core_on_src_test, law_gen_params),
	KUNIT_CASE(bolt_core_drained_test),
	KUNIT_CASE(bolt_core_on_src_bounds_test),
	KUNIT_CASE_PARAM(bolt_core_settles_test, settle_gen_params),
	KUNIT_CASE(bolt_core_weight_test),
	KUNIT_CASE(bolt_core_packets_test),
	KUNIT_CASE_PARAM(bolt_core_gap_test, gap_gen_params),
	KUNIT_CASE_PARAM(bolt_core_effective_cwnd_test, sends_gen_params),
	KUNIT_CASE(bolt_core_queue_ns_test),
	KUNIT_CASE_PARAM(bolt_core_bdp_pkts_test, bdp_gen_params),
	KUNIT_CASE(bolt_core_tx_ns_error_test),
	KUNIT_CASE_PARAM(bolt_core_next_tx_test, next_gen_params),
	{ }
};

static struct kunit_suite bolt_core_suite = {
	.name = "bolt_core",
	.test_cases = bolt_core_cases,
};

kunit_test_suite(bolt_core_suite);
