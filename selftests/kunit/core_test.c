// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: tcp_bolt/core.h, Algorithm 2 of the Bolt paper in integers, against the
 * paper's worked examples and against exact arithmetic in 128 bits.
 */

#include <linux/random.h>

#include "compat.h"
#include "core.h"

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

	KUNIT_EXPECT_EQ(test, bolt_core_dec_due(c->rtt_src, c->target, c->since), c->due);
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

		if (bolt_core_dec_due(rtt, target, since) == want)
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

/* --- which packets want SRC --- */

struct every_case {
	const char *name;
	u32 cwnd, srtt, rtt_src;
	u64 target;
	u32 every;
};

static const struct every_case every_cases[] = {
	{ "no RTT yet: each", 5, 0, 3000, ONE, 0 },
	{ "a packet of its own: one in rtt_src", 5, 8000, 3000, ONE, 3000 },
	{ "two thirds of one", 5, 8000, 3000, ONE * 2 / 3 + 1, 4499 },
	{ "three", 5, 8000, 3000, 3 * ONE, 1000 },
	{ "a quarter: one in a round trip", 5, 8000, 3000, ONE / 4, 8000 },
	{ "none", 5, 8000, 3000, 0, 8000 },
	{ "the largest of few", 8, 8000, 3000, 2 * ONE, 1500 },
	{ "more: twice as often", 9, 8000, 3000, 2 * ONE - 2, 750 },
	{ "more: twice in a round trip", 16, 8000, 3000, 0, 4000 },
	{ "more, two packets of its own: each", 9, 8000, 3000, 2 * ONE, 0 },
	{ "no small window: each", 17, 8000, 3000, ONE, 0 },
	{ "longest interval", 1, U32_MAX, U32_MAX, 1, U32_MAX },
};

KUNIT_ARRAY_PARAM_DESC(every, every_cases, name);

static void bolt_core_ask_every_test(struct kunit *test)
{
	const struct every_case *c = test->param_value;
	struct bolt_core core = { .srtt_ns = c->srtt };

	KUNIT_EXPECT_EQ(test, bolt_core_ask_every(&core, c->cwnd, c->rtt_src, c->target),
			c->every);
}

/*
 * A packet each 100 ns, and each congested: what is not asked for is what would be held, and
 * nothing that would be taken is not asked for.
 */
static void bolt_core_asks_test(struct kunit *test)
{
	struct bolt_core all = { .last_dec_ns = 1000000, .srtt_ns = 8000 }, few = all;
	unsigned int i, decs[2] = {}, asked = 0;
	bool *answer = kunit_kcalloc(test, 2000, sizeof(*answer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, answer);
	for (i = 0; i < 2000; i++) {
		u64 now = 1000000 + i * 100;

		/* an SRC takes 3 us, and says that a packet of the queue is the flow's */
		if (i >= 30) {
			decs[0] += bolt_core_src(&all, now, 3000, ONE);
			if (answer[i - 30]) {
				decs[1] += bolt_core_src(&few, now, 3000, ONE);
				bolt_core_ask_after_src(&few, 3000,
							bolt_core_ask_every(&few, 5, 3000, ONE));
			}
		}
		answer[i] = bolt_core_asks(&few, 5, now);
		asked += answer[i];
	}
	KUNIT_EXPECT_EQ(test, decs[0], 66);
	KUNIT_EXPECT_EQ(test, decs[1], 66);
	/* each until the first SRC says how often */
	KUNIT_EXPECT_EQ(test, asked, 30 + 66);

	/* the window has grown, or the flow begins anew */
	KUNIT_EXPECT_FALSE(test, bolt_core_asks(&few, 16, 1199999));
	KUNIT_EXPECT_TRUE(test, bolt_core_asks(&few, 17, 1199999));
	bolt_core_ask_always(&few);
	KUNIT_EXPECT_TRUE(test, bolt_core_asks(&few, 5, 1199999));
}

/* One that came too soon: the next packet asks again, as soon as its SRC would be of use. */
static void bolt_core_asks_again_test(struct kunit *test)
{
	struct bolt_core c = { .last_dec_ns = 1000000, .srtt_ns = 8000 };

	KUNIT_ASSERT_FALSE(test, bolt_core_src(&c, 1002999, 3000, ONE));
	bolt_core_ask_after_src(&c, 3000, 3000);
	KUNIT_EXPECT_TRUE(test, bolt_core_asks(&c, 5, 1002999));
	KUNIT_EXPECT_FALSE(test, bolt_core_asks(&c, 5, 1005998));
	KUNIT_EXPECT_TRUE(test, bolt_core_asks(&c, 5, 1005999));

	KUNIT_ASSERT_TRUE(test, bolt_core_src(&c, 1006000, 3000, ONE));
	bolt_core_ask_after_src(&c, 3000, 6000);
	KUNIT_EXPECT_FALSE(test, bolt_core_asks(&c, 5, 1008999));
	KUNIT_EXPECT_TRUE(test, bolt_core_asks(&c, 5, 1009000));
	KUNIT_EXPECT_FALSE(test, bolt_core_asks(&c, 5, 1014999));
	KUNIT_EXPECT_TRUE(test, bolt_core_asks(&c, 5, 1015000));
}

/* --- rtt_src, line 2 --- */

struct stamp_case {
	const char *name;
	u64 now;
	u32 t_data_tx;
	bool ok;
	u32 rtt;
};

static const struct stamp_case stamp_cases[] = {
	{ "8 us", 1000000, 992000, true, 8000 },
	{ "at once", 1000000, 1000000, true, 0 },
	{ "low word has wrapped", (1ULL << 32) + 0x10, 0xfffffff0, true, 0x20 },
	{ "high words do not matter", (7ULL << 32) + 0x10, 0xfffffff0, true, 0x20 },
	{ "from the future", 1000000, 1000001, false, 0 },
	{ "from the future across the wrap", 0xfffffff0, 5, false, 0 },
	{ "the oldest believed", (1ULL << 30) + 5, 5, true, 1 << 30 },
	{ "one ns older", (1ULL << 30) + 6, 5, false, 0 },
	{ "half the range away", (1ULL << 31) + 5, 5, false, 0 },
};

KUNIT_ARRAY_PARAM_DESC(stamp, stamp_cases, name);

static void bolt_core_rtt_src_test(struct kunit *test)
{
	const struct stamp_case *c = test->param_value;
	u32 rtt = 0;

	KUNIT_ASSERT_EQ(test, bolt_core_rtt_src(c->now, c->t_data_tx, &rtt), c->ok);
	if (c->ok)
		KUNIT_EXPECT_EQ(test, rtt, c->rtt);
}

/* 16 smoothed RTTs and 10 ms; whatever 32 bits can say before the first sample */
static void bolt_core_rtt_src_max_test(struct kunit *test)
{
	struct bolt_core c = { };

	KUNIT_EXPECT_EQ(test, bolt_core_rtt_src_max(&c), BOLT_RTT_SRC_MAX_NS);
	c.srtt_ns = 1;
	KUNIT_EXPECT_EQ(test, bolt_core_rtt_src_max(&c), 10000016);
	c.srtt_ns = 8000;
	KUNIT_EXPECT_EQ(test, bolt_core_rtt_src_max(&c), 10128000);
	c.srtt_ns = U32_MAX;
	KUNIT_EXPECT_EQ(test, bolt_core_rtt_src_max(&c), BOLT_RTT_SRC_MAX_NS);
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

	bolt_core_ai_taken(&c, una + window);
	for (i = 1; i <= 20 * 64; i++) {
		u32 ack = una + i * mss;

		if (bolt_core_ai_due(&c, ack)) {
			increases++;
			bolt_core_ai_taken(&c, ack + window);
		}
	}
	KUNIT_EXPECT_EQ(test, increases, 20);
}

/* --- windows below one packet --- */

struct wait_case {
	const char *name;
	u32 rtt, wait, queue, max, src, ack, cut, min_rtt;
};

/* What SRC, ACK and loss make of a wait, in ns */
static const struct wait_case wait_cases[] = {
	{ "a whole window, queue of 1 us", 6000, 0, 1000, 99000, 500, 0, 6000 },
	{ "queue beyond the gap: its half", 6000, 0, 500000, 99000, 3000, 0, 6000 },
	{ "an eighth of the gap: both are even", 6000, 10000, 2000, 99000, 11000, 9000, 26000 },
	{ "no queue: half the gap", 6000, 10000, 0, 99000, 10000, 2000, 26000 },
	{ "just below a 32nd", 6000, 10000, 499, 99000, 10249, 2000, 26000 },
	{ "a 32nd", 6000, 10000, 500, 99000, 10250, 9000, 26000 },
	{ "the last half ends at a whole window", 6000, 5000, 0, 99000, 5000, 0, 16000 },
	{ "0.001 is the smallest", 6000, 5994000, 6000000, 5994000, 5994000, 5619000, 5994000 },
	{ "2 ms: 5000 flows at 6 us", 6000, 1994000, 250000, 5994000, 2119000, 1869000, 3994000 },
	{ "saturates",
	  U32_MAX, 1000000000, U32_MAX, 1000000000, 1000000000, 731564545, 1000000000 },
	{ "no RTT: a ns", 0, 0, 100, 1000, 0, 0, 1 },
	{ "and a quarter of the round trip", 6000, 12000, 2000, 99000, 13000, 9375, 30000, 6000 },
	{ "enough for a whole packet", 6000, 1800, 500, 99000, 2050, 0, 9600, 6000 },
	{ "little at 2 ms",
	  6000, 1994000, 250000, 5994000, 2119000, 1867500, 3994000, 6000 },
	{ "no queue: half the gap, and no more", 6000, 8000, 0, 99000, 8000, 1000, 22000, 6000 },
};

KUNIT_ARRAY_PARAM_DESC(wait, wait_cases, name);

static void bolt_core_wait_test(struct kunit *test)
{
	const struct wait_case *p = test->param_value;
	const struct bolt_core start = { .rtt_ns = p->rtt, .wait_ns = p->wait,
					 .min_rtt_ns = p->min_rtt };
	struct bolt_core c = start;

	bolt_core_wait_src(&c, p->queue, p->max);
	KUNIT_EXPECT_EQ(test, c.wait_ns, p->src);
	c = start;
	bolt_core_wait_ack(&c, p->queue);
	KUNIT_EXPECT_EQ(test, c.wait_ns, p->ack);
	c = start;
	bolt_core_wait_cut(&c, p->max);
	KUNIT_EXPECT_EQ(test, c.wait_ns, p->cut);
}

/* Each step is right to a ns: SRC adds half of min(queue, gap), an ACK takes a share of the gap */
static void bolt_core_wait_error_test(struct kunit *test)
{
	u64 s = 6;
	int i;

	for (i = 0; i < RANDOM_ROWS; i++) {
		struct bolt_core c = { .rtt_ns = any_magnitude(&s, 30) | 1,
				       .wait_ns = any_magnitude(&s, 29) };
		u32 queue = any_magnitude(&s, 32), wait = c.wait_ns;
		u64 gap = (u64)c.rtt_ns + wait;
		s64 twice = 2 * (s64)wait + min_t(u64, queue, gap);
		u32 share = 32ULL * queue < gap - gap % 32 ? 2 : 16;

		bolt_core_wait_src(&c, queue, BOLT_WAIT_MAX_NS);
		if (c.wait_ns != BOLT_WAIT_MAX_NS &&
		    (2 * (s64)c.wait_ns > twice || 2 * (s64)c.wait_ns < twice - 1))
			KUNIT_FAIL(test, "rtt %u wait %u queue %u: SRC makes it %u",
				   c.rtt_ns, wait, queue, c.wait_ns);
		c.wait_ns = wait;
		bolt_core_wait_ack(&c, queue);
		if (c.wait_ns && ((u64)(wait - c.wait_ns) * share > gap ||
				  (u64)(wait - c.wait_ns + 1) * share <= gap))
			KUNIT_FAIL(test, "rtt %u wait %u queue %u: ACK makes it %u",
				   c.rtt_ns, wait, queue, c.wait_ns);
	}
}

struct wait_max_case {
	const char *name;
	u32 min_rtt, milli, want;
};

static const struct wait_max_case wait_max_cases[] = {
	{ "0.001 of 6 us", 6000, 1, 5994000 },
	{ "0.25 of 6 us", 6000, 250, 18000 },
	{ "0.3: truncated", 1000, 300, 2333 },
	{ "a whole packet: none", 6000, 1000, 0 },
	{ "no sample: none", 0, 1, 0 },
	{ "a second is the longest", 2000000, 1, BOLT_WAIT_MAX_NS },
	{ "largest of all", U32_MAX, 1, BOLT_WAIT_MAX_NS },
};

KUNIT_ARRAY_PARAM_DESC(wait_max, wait_max_cases, name);

static void bolt_core_wait_max_test(struct kunit *test)
{
	const struct wait_max_case *p = test->param_value;
	const struct bolt_core c = { .min_rtt_ns = p->min_rtt };

	KUNIT_EXPECT_EQ(test, bolt_core_wait_max_ns(&c, p->milli), p->want);
}

static void bolt_core_window_test(struct kunit *test)
{
	struct bolt_core c = { .rtt_ns = 6000 };

	KUNIT_EXPECT_EQ(test, bolt_core_window_q32(&c, 7), 7ULL << 32);
	c.wait_ns = 18000;
	KUNIT_EXPECT_EQ(test, bolt_core_window_q32(&c, 1), 1ULL << 30);
	c.wait_ns = 5994000;
	KUNIT_EXPECT_EQ(test, bolt_core_window_q32(&c, 1), (1ULL << 32) / 1000);
}

static void bolt_core_queue_ns_test(struct kunit *test)
{
	const struct bolt_core c = { .min_rtt_ns = 6000 }, none = { };

	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(12500, 100 * GBPS), 1000);
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(1, 3 * GBPS), 2);
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(U32_MAX, U32_MAX), 8000000);
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(U32_MAX, 1), U32_MAX);
	KUNIT_EXPECT_EQ(test, bolt_core_queue_ns(1000, 0), 0);
	KUNIT_EXPECT_FALSE(test, bolt_core_queue_is_long(&c, 6000));
	KUNIT_EXPECT_TRUE(test, bolt_core_queue_is_long(&c, 6001));
	KUNIT_EXPECT_FALSE(test, bolt_core_queue_is_long(&none, U32_MAX));
}

/*
 * Flows that send in turns through one link: wherever they start, each ends at the same gap and the
 * queue at an eighth of a packet a flow and half a round trip, with the link full.
 */
static void bolt_core_wait_settles_test(struct kunit *test)
{
	enum { FLOWS = 100, PKT_NS = 400, RTT_NS = 6000 };
	static struct { struct bolt_core c; u64 due; } flows[FLOWS];
	u64 now = 0, busy = 0, sum = 0, n = 0;
	u32 least = U32_MAX, most = 0;
	int i, j;

	for (i = 0; i < FLOWS; i++) {
		flows[i].c = (struct bolt_core) { .rtt_ns = RTT_NS, .min_rtt_ns = RTT_NS,
						  .wait_ns = 1000 * i };
		flows[i].due = 17 * i;
	}
	for (j = 0; j < 300 * FLOWS; j++) {
		struct bolt_core *c;
		u32 queue;
		int next = 0;

		for (i = 1; i < FLOWS; i++)
			if (flows[i].due < flows[next].due)
				next = i;
		c = &flows[next].c;
		now = flows[next].due;
		queue = busy > now ? busy - now : 0;
		if (j > 200 * FLOWS) {
			sum += queue;
			n++;
		}
		busy = max(busy, now) + PKT_NS;
		c->rtt_ns = RTT_NS + queue;
		if (queue >= 2 * PKT_NS)
			bolt_core_wait_src(c, queue, bolt_core_wait_max_ns(c, 1));
		bolt_core_wait_ack(c, queue >= 2 * PKT_NS ? queue : 0);
		flows[next].due = now + bolt_core_gap_ns(c);
	}
	for (i = 0; i < FLOWS; i++) {
		least = min(least, bolt_core_gap_ns(&flows[i].c));
		most = max(most, bolt_core_gap_ns(&flows[i].c));
	}
	/* a full link serves each of them once in FLOWS * PKT_NS */
	KUNIT_EXPECT_GE(test, least, FLOWS * PKT_NS * 95 / 100);
	KUNIT_EXPECT_LE(test, most, FLOWS * PKT_NS * 105 / 100);
	KUNIT_EXPECT_GE(test, (u32)div64_u64(sum, n), FLOWS * PKT_NS / 10 + RTT_NS / 3);
	KUNIT_EXPECT_LE(test, (u32)div64_u64(sum, n), FLOWS * PKT_NS / 6 + RTT_NS / 2);
	KUNIT_EXPECT_GT(test, busy, now);
}

/*
 * Five packets of larger windows wait at a link: a window of half a packet is soon a whole one.
 * By a sixteenth of the gap an ACK alone it would stay there, as long as the others send.
 */
static void bolt_core_wait_near_test(struct kunit *test)
{
	enum { QUEUE_NS = 2000, RTT_NS = 6000 };
	struct bolt_core c = { .rtt_ns = RTT_NS + QUEUE_NS, .min_rtt_ns = RTT_NS,
			       .wait_ns = RTT_NS + QUEUE_NS };
	int acks = 0;

	while (c.wait_ns && acks < 100) {
		bolt_core_wait_src(&c, QUEUE_NS, bolt_core_wait_max_ns(&c, 1));
		bolt_core_wait_ack(&c, QUEUE_NS);
		acks++;
	}
	KUNIT_EXPECT_EQ(test, c.wait_ns, 0);
	KUNIT_EXPECT_LE(test, acks, 6);
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
		u64 got = bolt_core_tx_ns(len, bolt_core_ns_per_byte(kbps), &frac);
		u128 exact = (u128)len * 8000000;	/* times 1 / kbps */

		if ((u128)got * kbps > exact)
			KUNIT_FAIL(test, "%u bytes at %u kb/s: %llu ns is long", len, kbps, got);
		else if (exact - (u128)got * kbps > (u128)kbps + ((u128)len * kbps >> 20))
			KUNIT_FAIL(test, "%u bytes at %u kb/s: %llu ns is short", len, kbps, got);
	}
	KUNIT_EXPECT_EQ(test, bolt_core_tx_ns(65536, bolt_core_ns_per_byte(0), &rest), 0);
	KUNIT_EXPECT_EQ(test, bolt_core_tx_ns(1500, bolt_core_ns_per_byte(50 * GBPS), &rest), 239);
	/* 400 Gb/s: 30.28 ns a packet, and 30280 ns for a thousand */
	rest = 0;
	for (i = 0; i < 1000; i++)
		sum += bolt_core_tx_ns(1514, bolt_core_ns_per_byte(400 * GBPS), &rest);
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
	KUNIT_CASE_PARAM(bolt_core_ask_every_test, every_gen_params),
	KUNIT_CASE(bolt_core_asks_test),
	KUNIT_CASE(bolt_core_asks_again_test),
	KUNIT_CASE_PARAM(bolt_core_rtt_src_test, stamp_gen_params),
	KUNIT_CASE(bolt_core_rtt_src_max_test),
	KUNIT_CASE(bolt_core_rtt_sample_test),
	KUNIT_CASE(bolt_core_rtt_sample_zero_test),
	KUNIT_CASE(bolt_core_min_rtt_expires_test),
	KUNIT_CASE_PARAM(bolt_core_ai_due_test, ai_gen_params),
	KUNIT_CASE(bolt_core_ai_once_per_rtt_test),
	KUNIT_CASE_PARAM(bolt_core_wait_test, wait_gen_params),
	KUNIT_CASE(bolt_core_wait_error_test),
	KUNIT_CASE_PARAM(bolt_core_wait_max_test, wait_max_gen_params),
	KUNIT_CASE(bolt_core_window_test),
	KUNIT_CASE(bolt_core_queue_ns_test),
	KUNIT_CASE(bolt_core_wait_settles_test),
	KUNIT_CASE(bolt_core_wait_near_test),
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
