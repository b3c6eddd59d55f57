// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: tcp_bolt/swift.h, Algorithm 1 of the Swift paper in integers, against worked
 * examples and against exact arithmetic in 128 bits.
 */

#include "compat.h"
#include "brownfield.h"

#define u128 unsigned __int128

#define RANDOM_ROWS	20000
#define US		1000U
#define MILLI(n)	((u64)(n) * BOLT_ONE / 1000)	/* thousandths of a packet */

/* A fixed sequence, so that a failure comes again (xorshift64) */
static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A window; as likely small as large */
static u64 any_cwnd(u64 *state)
{
	u64 r = next_random(state) >> (64 - 1 - next_random(state) % 53);

	return clamp(r, SWIFT_CWND_MIN, SWIFT_CWND_MAX);
}

static const struct swift_conf defaults = {
	.base_ns = 10 * US, .hop_ns = US, .fs_range_ns = 100 * US, .endpoint_ns = 100 * US,
};

/* Without flow scaling and hops: a target of 10 us whatever the window */
static const struct swift_conf plain = { .base_ns = 10 * US, .endpoint_ns = 100 * US };

static const struct swift_bounds open = { .max_q32 = SWIFT_CWND_MAX };

/* Equal but for 2^-10 of it and a unit */
static void expect_near(struct kunit *test, const char *what, u64 got, u64 want)
{
	u64 off = got > want ? got - want : want - got;

	if (off > (want >> 10) + 1)
		KUNIT_FAIL(test, "%s: %llu, not %llu", what, got, want);
}

/* --- 1 / sqrt --- */

/* y - y / 2^16 - 1 <= 2^26 / sqrt(cwnd) <= y + 1, squared: y^2 * cwnd against 2^84 */
static void check_rsqrt(struct kunit *test, u64 cwnd)
{
	u64 y = swift_rsqrt_q26(cwnd), least = y - (y >> 16) - 1;
	u128 lo = (u128)(least * least) * cwnd, hi = (u128)((y + 1) * (y + 1)) * cwnd;

	if (lo > (u128)1 << 84 || hi < (u128)1 << 84)
		KUNIT_FAIL(test, "cwnd %llu: %llu", cwnd, y);
}

static void swift_rsqrt_exact_test(struct kunit *test)
{
	u64 s = 1, x;
	int i;

	/* in every octave */
	for (i = 22; i <= 52; i++)
		for (x = 1ULL << i; x < 2ULL << i; x += 1ULL << (i - 6)) {
			check_rsqrt(test, clamp(x, SWIFT_CWND_MIN, SWIFT_CWND_MAX));
			check_rsqrt(test, clamp(x - 1, SWIFT_CWND_MIN, SWIFT_CWND_MAX));
		}
	for (i = 0; i < RANDOM_ROWS; i++)
		check_rsqrt(test, any_cwnd(&s));
	/* beyond the range: as at its end */
	KUNIT_EXPECT_EQ(test, swift_rsqrt_q26(0), swift_rsqrt_q26(SWIFT_CWND_MIN));
	KUNIT_EXPECT_EQ(test, swift_rsqrt_q26(U64_MAX), swift_rsqrt_q26(SWIFT_CWND_MAX));
}

/* --- target delay (section 3.5) --- */

struct fs_case {
	const char *name;
	u64 cwnd;
	u32 ns;
};

/* 100 us over 0.1 to 256 packets: alpha is 32260.4 ns, beta -2016.3 ns */
static const struct fs_case fs_cases[] = {
	{ "0.001: clamped to the range", SWIFT_CWND_MIN, 100000 },
	{ "0.05: clamped to the range", MILLI(50), 100000 },
	{ "0.1: the whole range", MILLI(100), 100000 },
	{ "0.25", MILLI(250), 62504 },
	{ "1: alpha + beta", MILLI(1000), 30244 },
	{ "4", MILLI(4000), 14114 },
	{ "16", MILLI(16000), 6049 },
	{ "42", MILLI(42000), 2962 },
	{ "100", MILLI(100000), 1210 },
	{ "255", MILLI(255000), 4 },
	{ "256: none", MILLI(256000), 0 },
	{ "257: not less than none", MILLI(257000), 0 },
	{ "2^20", SWIFT_CWND_MAX, 0 },
};

KUNIT_ARRAY_PARAM_DESC(fs, fs_cases, name);

static void swift_fs_test(struct kunit *test)
{
	const struct fs_case *k = test->param_value;
	u32 ns = swift_fs_ns(&defaults, k->cwnd);

	KUNIT_EXPECT_LE(test, ns, k->ns + 1);
	KUNIT_EXPECT_GE(test, ns + 1, k->ns);
}

/* Never more with a larger window; all of the range at one end, none at the other */
static void swift_fs_monotonic_test(struct kunit *test)
{
	static const u32 ranges[] = { 0, 1, 1000, 100000, 1000000000 };
	struct swift_conf c = defaults;
	unsigned int r;
	u64 cwnd;
	u32 last;

	for (r = 0; r < ARRAY_SIZE(ranges); r++) {
		c.fs_range_ns = ranges[r];
		last = ranges[r];
		for (cwnd = SWIFT_CWND_MIN; cwnd < SWIFT_CWND_MAX; cwnd += cwnd / 5) {
			KUNIT_EXPECT_LE(test, swift_fs_ns(&c, cwnd), last);
			last = swift_fs_ns(&c, cwnd);
		}
		KUNIT_EXPECT_EQ(test, swift_fs_ns(&c, MILLI(100)), ranges[r]);
		KUNIT_EXPECT_EQ(test, swift_fs_ns(&c, MILLI(256000)), 0);
	}
}

struct target_case {
	const char *name;
	u32 base, hop, rtt;
	u8 hops;
	u32 want;
};

static const struct target_case target_cases[] = {
	{ "base", 25 * US, 0, 0, 0, 25 * US },
	{ "three hops", 25 * US, US, 0, 3, 28 * US },
	{ "the empty path's round trip", 2 * US, 0, 8 * US, 2, 10 * US },
	{ "all of it", 2 * US, US, 8 * US, 2, 12 * US },
	{ "more hops than can be said", 0, US, 0, 200, 15 * US },
	{ "the largest of all", 1000000000, 10000000, 1U << 30, 15, 1150000000 + (1U << 30) },
};

KUNIT_ARRAY_PARAM_DESC(target, target_cases, name);

static void swift_target_test(struct kunit *test)
{
	const struct target_case *k = test->param_value;
	struct swift_bounds b = { .rtt_ns = k->rtt };
	struct swift_conf c = defaults;

	c.base_ns = k->base;
	c.hop_ns = k->hop;
	/* no flow scaling at 256 packets; the whole of it at a tenth */
	KUNIT_EXPECT_EQ(test, swift_target_ns(&c, &b, MILLI(256000), k->hops), k->want);
	KUNIT_EXPECT_EQ(test, swift_target_ns(&c, &b, MILLI(100), k->hops), k->want + 100 * US);
}

/* --- additive increase (lines 7-11) --- */

/* An ACK of @acked packets at @now; the delay is all the fabric's */
static bool ack(struct swift *s, u64 now, u32 delay, u32 acked)
{
	const struct swift_ack a = {
		.now_ns = now, .rtt_ns = delay, .acked = acked, .limited = true,
	};

	return swift_on_ack(s, &plain, &open, &a);
}

struct ai_case {
	const char *name;
	u64 from;
	u32 acks, acked;
	u64 to;
};

static const struct ai_case ai_cases[] = {
	{ "below one: ai for each packet", MILLI(500), 1, 1, MILLI(1500) },
	{ "the smallest window", SWIFT_CWND_MIN, 1, 1, SWIFT_CWND_MIN + BOLT_ONE },
	{ "below one, two acknowledged", MILLI(100), 1, 2, MILLI(2100) },
	{ "one packet", MILLI(1000), 1, 1, MILLI(2000) },
	{ "one and a half", MILLI(1500), 1, 1, MILLI(2166) + MILLI(2) / 3 },
	{ "ten, one ACK", MILLI(10000), 1, 1, MILLI(10100) },
	{ "ten, one ACK of four", MILLI(10000), 1, 4, MILLI(10400) },
	/* sum of 1 / cwnd while cwnd grows: sqrt(cwnd^2 + 2 * acks) */
	{ "a hundred, a round trip", MILLI(100000), 100, 1, MILLI(100995) },
	{ "a thousand, a round trip", MILLI(1000000), 1000, 1, MILLI(1000999) },
};

KUNIT_ARRAY_PARAM_DESC(ai, ai_cases, name);

static void swift_ai_test(struct kunit *test)
{
	const struct ai_case *k = test->param_value;
	struct swift s = { };
	u32 i;

	s.fabric.cwnd_q32 = k->from;
	s.endpoint.cwnd_q32 = SWIFT_CWND_MAX;
	for (i = 0; i < k->acks; i++)
		ack(&s, i, 9999, k->acked);
	/* what was added, not the whole */
	expect_near(test, k->name, swift_cwnd_q32(&s) - k->from, k->to - k->from);
}

/* The smallest increase there is still counts: 2^20 packets, nearly */
static void swift_ai_large_test(struct kunit *test)
{
	struct swift s = { };

	s.fabric.cwnd_q32 = SWIFT_CWND_MAX - 2 * BOLT_ONE;
	s.endpoint.cwnd_q32 = SWIFT_CWND_MAX;
	ack(&s, 0, 9999, (1U << 20) - 2);
	KUNIT_EXPECT_GE(test, swift_cwnd_q32(&s), SWIFT_CWND_MAX - BOLT_ONE - BOLT_ONE / 1024);
	KUNIT_EXPECT_LE(test, swift_cwnd_q32(&s), SWIFT_CWND_MAX - BOLT_ONE + BOLT_ONE / 1024);
}

static void swift_not_limited_test(struct kunit *test)
{
	const struct swift_ack a = { .rtt_ns = 9999, .acked = 1 };
	struct swift s;

	swift_start(&s, 10);
	swift_on_ack(&s, &plain, &open, &a);
	KUNIT_EXPECT_EQ(test, swift_cwnd_q32(&s), 10 * BOLT_ONE);
}

static void swift_bounds_test(struct kunit *test)
{
	const struct swift_ack more = { .rtt_ns = 1, .acked = 1000, .limited = true };
	const struct swift_ack less = { .now_ns = 1000000, .rtt_ns = 1000000 };
	struct swift_bounds b = { .max_q32 = 12 * BOLT_ONE };
	struct swift s;

	swift_start(&s, 10);
	swift_on_ack(&s, &plain, &b, &more);
	KUNIT_EXPECT_EQ(test, s.fabric.cwnd_q32, 12 * BOLT_ONE);
	/* the ceiling that guards the other window as well */
	KUNIT_EXPECT_EQ(test, s.endpoint.cwnd_q32, 12 * BOLT_ONE);

	b.min_q32 = 8 * BOLT_ONE;
	swift_on_ack(&s, &plain, &b, &less);
	KUNIT_EXPECT_EQ(test, s.fabric.cwnd_q32, 8 * BOLT_ONE);
	/* a largest window below the smallest: the latter holds */
	b.max_q32 = BOLT_ONE;
	swift_on_ack(&s, &plain, &b, &more);
	KUNIT_EXPECT_EQ(test, s.fabric.cwnd_q32, 8 * BOLT_ONE);
	/* what the largest window takes is no decrease for delay */
	b.min_q32 = BOLT_ONE;
	KUNIT_EXPECT_FALSE(test, swift_on_ack(&s, &plain, &b, &more));
	KUNIT_EXPECT_EQ(test, s.fabric.cwnd_q32, BOLT_ONE);
}

/* --- multiplicative decrease (lines 12-14) --- */

struct md_case {
	const char *name;
	u32 delay;
	u64 want;	/* of 100 packets */
};

/* md 0.8, max_mdf 0.5, target 10 us */
static const struct md_case md_cases[] = {
	{ "below the target: increase", 9999, MILLI(100010) },
	{ "at the target: neither", 10000, MILLI(100000) },
	{ "1 ns beyond", 10001, MILLI(100000) - MILLI(8) },
	{ "a tenth beyond: 0.8 / 11", 11000, MILLI(92727) },
	{ "a quarter: 0.16", 12500, MILLI(84000) },
	{ "16 us: 0.3", 16000, MILLI(70000) },
	{ "26.6 us: 0.499", 26600, MILLI(50075) },
	{ "26.7 us: 0.5, max_mdf", 26700, MILLI(50000) },
	{ "a second: max_mdf", 1000000000, MILLI(50000) },
};

KUNIT_ARRAY_PARAM_DESC(md, md_cases, name);

static void swift_md_test(struct kunit *test)
{
	const struct md_case *k = test->param_value;
	struct swift s;

	swift_start(&s, 100);
	s.endpoint.cwnd_q32 = SWIFT_CWND_MAX;
	ack(&s, 2000000000, k->delay, 1);
	/* shares are 16 bits */
	KUNIT_EXPECT_LE(test, swift_cwnd_q32(&s), k->want + MILLI(4));
	KUNIT_EXPECT_GE(test, swift_cwnd_q32(&s), k->want - MILLI(4));
}

/*
 * Line 3: once per RTT, by its latest value.  ACKs within it, which find the delay as large, do not
 * put the next decrease off, as line 27 of the paper would have it.
 */
static void swift_md_once_test(struct kunit *test)
{
	u64 now = 1000000;
	struct swift s;
	int i;

	swift_start(&s, 100);
	KUNIT_EXPECT_TRUE(test, ack(&s, now, 100000, 1));
	KUNIT_EXPECT_EQ(test, s.fabric.last_dec_ns, now);
	for (i = 1; i < 100; i++)
		KUNIT_EXPECT_FALSE(test, ack(&s, now + i * 1000, 100000, 1));
	KUNIT_EXPECT_EQ(test, swift_packets(&s), 50U);
	KUNIT_EXPECT_EQ(test, s.fabric.last_dec_ns, now);
	KUNIT_EXPECT_FALSE(test, ack(&s, now + 99999, 100000, 1));
	KUNIT_EXPECT_TRUE(test, ack(&s, now + 100000, 100000, 1));
	KUNIT_EXPECT_EQ(test, swift_packets(&s), 25U);
	/* the RTT has become shorter, so has the wait */
	KUNIT_EXPECT_TRUE(test, ack(&s, now + 100000 + 11000, 11000, 1));
	/* an increase in between changes nothing about it */
	now = s.fabric.last_dec_ns;
	ack(&s, now + 5000, 9000, 1);
	KUNIT_EXPECT_EQ(test, s.fabric.last_dec_ns, now);
	KUNIT_EXPECT_TRUE(test, ack(&s, now + 11000, 11000, 1));
}

/* Down to 0.001 and no further; there, a decrease that changes nothing is none */
static void swift_md_floor_test(struct kunit *test)
{
	u64 now = 1000000;
	struct swift s;
	int i;

	swift_start(&s, 10);
	for (i = 0; i < 14; i++)
		ack(&s, now += 100000, 100000, 1);
	KUNIT_EXPECT_EQ(test, swift_cwnd_q32(&s), SWIFT_CWND_MIN);
	KUNIT_EXPECT_EQ(test, swift_packets(&s), 1U);
	KUNIT_EXPECT_FALSE(test, ack(&s, now += 100000, 100000, 1));
	/* 14 halvings: ten packets to 0.00061 */
	KUNIT_EXPECT_EQ(test, s.fabric.last_dec_ns, 1000000ULL + 14 * 100000);
}

/* --- fabric and endpoint (section 3.3) --- */

struct split_case {
	const char *name;
	u32 rtt, remote, local;
	u64 fabric, endpoint;
};

/* From 100 packets each; targets of 10 and 100 us.  The endpoint's EWMA starts at zero. */
static const struct split_case split_cases[] = {
	{ "neither", 9 * US, 0, 0, MILLI(100010), MILLI(100010) },
	{ "the fabric's", 16 * US, 0, 0, MILLI(70000), MILLI(100010) },
	{ "the peer's is not the fabric's", 60 * US, 51 * US, 0, MILLI(100010), MILLI(100010) },
	{ "nor is our own", 60 * US, 0, 51 * US, MILLI(100010), MILLI(100010) },
	{ "the peer's, beyond its target", 1609 * US, 1600 * US, 0, MILLI(100010), MILLI(60000) },
	{ "ours and the peer's", 1609 * US, 800 * US, 800 * US, MILLI(100010), MILLI(60000) },
	{ "both", 1616 * US, 1600 * US, 0, MILLI(70000), MILLI(60000) },
	{ "more than there is", 800 * US, 900 * US, 0, MILLI(100010), MILLI(100010) },
};

KUNIT_ARRAY_PARAM_DESC(split, split_cases, name);

static void swift_split_test(struct kunit *test)
{
	const struct split_case *k = test->param_value;
	const struct swift_ack a = {
		.now_ns = 1ULL << 40, .rtt_ns = k->rtt, .remote_ns = k->remote,
		.local_ns = k->local, .acked = 1, .limited = true,
	};
	struct swift s;

	swift_start(&s, 100);
	swift_on_ack(&s, &plain, &open, &a);
	expect_near(test, "fcwnd", s.fabric.cwnd_q32, k->fabric);
	expect_near(test, "ecwnd", s.endpoint.cwnd_q32, k->endpoint);
	KUNIT_EXPECT_EQ(test, swift_cwnd_q32(&s), min(s.fabric.cwnd_q32, s.endpoint.cwnd_q32));
}

static void swift_ewma_test(struct kunit *test)
{
	struct swift_ack a = { .rtt_ns = 1000 * US, .remote_ns = 800 * US, .acked = 1 };
	struct swift s;
	int i;

	swift_start(&s, 100);
	swift_on_ack(&s, &plain, &open, &a);
	KUNIT_EXPECT_EQ(test, s.endpoint_ns, 100 * US);
	swift_on_ack(&s, &plain, &open, &a);
	KUNIT_EXPECT_EQ(test, s.endpoint_ns, 187500U);
	for (i = 0; i < 200; i++)
		swift_on_ack(&s, &plain, &open, &a);
	KUNIT_EXPECT_GE(test, s.endpoint_ns, 800 * US - 8);
	a.remote_ns = 0;
	for (i = 0; i < 200; i++)
		swift_on_ack(&s, &plain, &open, &a);
	KUNIT_EXPECT_LE(test, s.endpoint_ns, 8U);
}

/* --- loss (lines 15-25) --- */

/* ACKs on data do not say the endpoints' delay: one beyond the target does not last for ever */
static void swift_assumed_test(struct kunit *test)
{
	struct swift_ack a = { .rtt_ns = 200 * US, .acked = 1, .limited = true };
	struct swift s;
	u64 half = 0;
	int i;

	swift_start(&s, 100);
	s.endpoint_ns = 200 * US;
	for (i = 0; i < 1000; i++) {
		if (i == 500)
			half = s.endpoint.cwnd_q32;
		a.now_ns = 1000 * US * (i + 1);
		a.remote_ns = swift_assumed_ns(&s, &plain);
		swift_on_ack(&s, &plain, &open, &a);
	}
	KUNIT_EXPECT_GT(test, s.endpoint.cwnd_q32, half);
	/* and less than the target is kept */
	KUNIT_EXPECT_EQ(test, swift_assumed_ns(&s, &plain), 87500U);
	s.endpoint_ns = 10 * US;
	KUNIT_EXPECT_EQ(test, swift_assumed_ns(&s, &plain), 10 * US);
}

static void swift_rto_test(struct kunit *test)
{
	u64 now = 1000000;
	struct swift s;
	u32 i;

	swift_start(&s, 64);
	s.rtt_ns = 10 * US;
	for (i = 1; i < SWIFT_RETX_RESET; i++) {
		swift_on_loss(&s, &open, now += 10 * US, true);
		KUNIT_EXPECT_EQ(test, swift_packets(&s), 64 >> i);
	}
	/* the fifth in a row; the rule of one per RTT is not for it */
	swift_on_loss(&s, &open, now + 1, true);
	KUNIT_EXPECT_EQ(test, swift_cwnd_q32(&s), SWIFT_CWND_MIN);
	swift_on_loss(&s, &open, now + 2, true);
	KUNIT_EXPECT_EQ(test, swift_cwnd_q32(&s), SWIFT_CWND_MIN);
}

static void swift_rto_once_test(struct kunit *test)
{
	struct swift s;

	swift_start(&s, 64);
	s.rtt_ns = 10 * US;
	swift_on_loss(&s, &open, 1000000, true);
	swift_on_loss(&s, &open, 1000000 + 9999, true);
	KUNIT_EXPECT_EQ(test, swift_packets(&s), 32U);
	KUNIT_EXPECT_EQ(test, s.retransmit_cnt, 2);
}

/* An ACK, or fast recovery, ends the row */
static void swift_rto_row_test(struct kunit *test)
{
	struct swift s;
	u32 i;

	swift_start(&s, 1024);
	for (i = 0; i < SWIFT_RETX_RESET - 1; i++)
		swift_on_loss(&s, &open, 1000000 * (i + 1), true);
	s.retransmit_cnt = 0;
	swift_on_loss(&s, &open, 6000000, true);
	KUNIT_EXPECT_EQ(test, swift_packets(&s), 32U);
	swift_on_loss(&s, &open, 7000000, false);
	KUNIT_EXPECT_EQ(test, s.retransmit_cnt, 0);
	KUNIT_EXPECT_EQ(test, swift_packets(&s), 16U);
}

/* Once per RTT, together with what delay has done */
static void swift_recovery_test(struct kunit *test)
{
	struct swift s;

	swift_start(&s, 64);
	ack(&s, 1000000, 16000, 1);		/* 0.7 */
	swift_on_loss(&s, &open, 1000000 + 15999, false);
	KUNIT_EXPECT_EQ(test, s.fabric.cwnd_q32 >> 32, 44ULL);
	/* the endpoint's window was not decreased then, and is now */
	KUNIT_EXPECT_EQ(test, s.endpoint.cwnd_q32 >> 32, 32ULL);
	swift_on_loss(&s, &open, 1000000 + 16000, false);
	KUNIT_EXPECT_EQ(test, s.fabric.cwnd_q32 >> 32, 22ULL);
	KUNIT_EXPECT_EQ(test, s.endpoint.cwnd_q32 >> 32, 32ULL);
}

/* --- windows below one packet (section 3.4) --- */

/* Whichever of the two it is; one packet may be in flight all the same */
static void swift_below_one_test(struct kunit *test)
{
	struct swift s = { };

	s.fabric.cwnd_q32 = MILLI(100);
	s.endpoint.cwnd_q32 = SWIFT_CWND_MAX;
	KUNIT_EXPECT_EQ(test, swift_cwnd_q32(&s), MILLI(100));
	KUNIT_EXPECT_EQ(test, swift_packets(&s), 1U);
	swap(s.fabric, s.endpoint);
	KUNIT_EXPECT_EQ(test, swift_cwnd_q32(&s), MILLI(100));
	KUNIT_EXPECT_EQ(test, swift_packets(&s), 1U);
}

/* --- beside Bolt (Bolt, section 6) --- */

struct beside_case {
	const char *name;
	u64 swift;			/* its window before */
	u32 sends, rtt, told;		/* the flow's window; of an ACK */
	bool limited;
	u64 want;
};

/* The target is 10 us; md is 0.8, and no more than half */
static const struct beside_case beside_cases[] = {
	{ "no opinion, no delay", SWIFT_CWND_MAX, 70, 8 * US, 0, true, SWIFT_CWND_MAX },
	{ "a decrease is one of what the flow sends", SWIFT_CWND_MAX, 70, 16 * US, 0, true,
	  MILLI(49000) },
	{ "half at most", SWIFT_CWND_MAX, 70, 1000 * US, 0, true, MILLI(35000) },
	{ "of its own window where that is the smaller", MILLI(10000), 70, 16 * US, 0, true,
	  MILLI(7000) },
	{ "at the target", MILLI(10500), 10, 10 * US, 0, true, MILLI(10000) },
	{ "not the limit: grows all the same", MILLI(20000), 10, 8 * US, 0, false,
	  MILLI(20050) },
	{ "the limit, and the flow needs no more", MILLI(10500), 11, 8 * US, 0, false,
	  MILLI(10500) },
	{ "the limit, and all in flight", MILLI(10000), 10, 8 * US, 0, true, MILLI(10100) },
	{ "what Bolt was told of is Bolt's", MILLI(20000), 20, 100 * US, 91 * US, true,
	  MILLI(20050) },
	{ "the rest is not", MILLI(20000), 20, 100 * US, 84 * US, true, MILLI(14000) },
	{ "told of more than there is", MILLI(20000), 20, 100 * US, 900 * US, true,
	  MILLI(20050) },
};

KUNIT_ARRAY_PARAM_DESC(beside, beside_cases, name);

static void swift_beside_test(struct kunit *test)
{
	const struct beside_case *k = test->param_value;
	const struct swift_ack a = {
		.now_ns = 1ULL << 40, .rtt_ns = k->rtt, .acked = 1, .limited = k->limited,
	};
	struct swift s;
	bool dec;

	swift_cap_start(&s);
	s.fabric.last_dec_ns = 0;
	s.fabric.cwnd_q32 = k->swift;
	dec = swift_cap_ack(&s, &plain, &open, &a, (u64)k->sends << 32, k->told);
	expect_near(test, "window", s.fabric.cwnd_q32, k->want);
	KUNIT_EXPECT_EQ(test, dec, k->rtt - min(k->told, k->rtt) > 10 * US);
}

/* Flow scaling goes by what the flow sends, not by a ceiling that it is far from */
static void swift_beside_scaling_test(struct kunit *test)
{
	struct swift_ack a = { .now_ns = 1ULL << 40, .rtt_ns = 35 * US, .acked = 1 };
	struct swift s = { };

	/* 32.3 us for one packet, 11 - 2 us for eight: */
	swift_cap_start(&s);
	KUNIT_EXPECT_FALSE(test, swift_cap_ack(&s, &defaults, &open, &a, BOLT_ONE, 0));
	KUNIT_EXPECT_TRUE(test, swift_cap_ack(&s, &defaults, &open, &a, 8 * BOLT_ONE, 0));
}

/* Host delay is the endpoint's, and Bolt has no window for that */
static void swift_beside_hosts_test(struct kunit *test)
{
	struct swift_ack a = {
		.now_ns = 1ULL << 40, .rtt_ns = 59 * US, .remote_ns = 20 * US, .local_ns = 30 * US,
		.acked = 1,
	};
	struct swift s = { };

	swift_cap_start(&s);
	KUNIT_EXPECT_FALSE(test, swift_cap_ack(&s, &plain, &open, &a, 20 * BOLT_ONE, 0));
	a.local_ns -= 2 * US;
	KUNIT_EXPECT_TRUE(test, swift_cap_ack(&s, &plain, &open, &a, 20 * BOLT_ONE, 0));
}

/* The target of an ACK is of its hops, and of the fabric's window */
static void swift_target_of_ack_test(struct kunit *test)
{
	const struct swift_conf hop = {
		.base_ns = 10 * US, .hop_ns = US, .endpoint_ns = 100 * US,
	};
	struct swift_ack a = {
		.now_ns = 1ULL << 40, .rtt_ns = 14 * US, .acked = 1, .limited = true, .hops = 5,
	};
	struct swift s = { };

	swift_start(&s, 100);
	KUNIT_EXPECT_FALSE(test, swift_on_ack(&s, &hop, &open, &a));
	swift_cap_start(&s);
	KUNIT_EXPECT_FALSE(test, swift_cap_ack(&s, &hop, &open, &a, 100 * BOLT_ONE, 0));
	a.hops = 3;
	KUNIT_EXPECT_TRUE(test, swift_cap_ack(&s, &hop, &open, &a, 100 * BOLT_ONE, 0));
	swift_start(&s, 100);
	KUNIT_EXPECT_TRUE(test, swift_on_ack(&s, &hop, &open, &a));
	/* 32.3 us and more for one packet, 10 for 256 */
	a.hops = 0;
	a.rtt_ns = 32 * US;
	swift_start(&s, 1);
	s.endpoint.cwnd_q32 = 256 * BOLT_ONE;
	KUNIT_EXPECT_FALSE(test, swift_on_ack(&s, &defaults, &open, &a));
	swift_start(&s, 256);
	s.endpoint.cwnd_q32 = BOLT_ONE;
	KUNIT_EXPECT_TRUE(test, swift_on_ack(&s, &defaults, &open, &a));
}

/* Once per round trip; what comes between does not clamp it to what the flow sends either */
static void swift_beside_once_test(struct kunit *test)
{
	struct swift_ack a = { .now_ns = 1ULL << 40, .rtt_ns = 16 * US, .acked = 1 };
	struct swift s = { };

	swift_cap_start(&s);
	KUNIT_EXPECT_TRUE(test, swift_cap_ack(&s, &plain, &open, &a, 100 * BOLT_ONE, 0));
	a.now_ns += 16 * US - 1;
	KUNIT_EXPECT_FALSE(test, swift_cap_ack(&s, &plain, &open, &a, 10 * BOLT_ONE, 0));
	expect_near(test, "not yet", s.fabric.cwnd_q32, MILLI(70000));
	a.now_ns++;
	KUNIT_EXPECT_TRUE(test, swift_cap_ack(&s, &plain, &open, &a, 10 * BOLT_ONE, 0));
	expect_near(test, "again", s.fabric.cwnd_q32, MILLI(7000));
}

/* The ceiling comes down on it when the first round trip is known: no decrease, and none put off */
static void swift_beside_ceiling_test(struct kunit *test)
{
	const struct swift_bounds b = { .max_q32 = 88 * BOLT_ONE };
	struct swift_ack a = { .now_ns = 1ULL << 40, .rtt_ns = 8 * US, .acked = 1 };
	struct swift s = { };

	swift_cap_start(&s);
	KUNIT_EXPECT_FALSE(test, swift_cap_ack(&s, &plain, &b, &a, 70 * BOLT_ONE, 0));
	KUNIT_EXPECT_EQ(test, s.fabric.cwnd_q32, 88 * BOLT_ONE);
	a.now_ns += US;
	a.rtt_ns = 16 * US;
	KUNIT_EXPECT_TRUE(test, swift_cap_ack(&s, &plain, &b, &a, 70 * BOLT_ONE, 0));
	expect_near(test, "window", s.fabric.cwnd_q32, MILLI(49000));
}

/* A queue that was reported counts in its round trip and the next, the longest of them */
static void swift_reported_test(struct kunit *test)
{
	u64 now = 1ULL << 40;
	struct swift_reported t = { };

	KUNIT_EXPECT_EQ(test, swift_reported_ns(&t, now, 10 * US), 0U);
	swift_report_queue(&t, now, 10 * US, 10 * US);
	KUNIT_EXPECT_EQ(test, swift_reported_ns(&t, now, 10 * US), 10 * US);
	swift_report_queue(&t, now + 5 * US, 10 * US, US);
	KUNIT_EXPECT_EQ(test, swift_reported_ns(&t, now + 10 * US, 10 * US), 10 * US);
	swift_report_queue(&t, now + 11 * US, 10 * US, 2 * US);
	KUNIT_EXPECT_EQ(test, swift_reported_ns(&t, now + 12 * US, 10 * US), 10 * US);
	KUNIT_EXPECT_EQ(test, swift_reported_ns(&t, now + 22 * US, 10 * US), 2 * US);
	KUNIT_EXPECT_EQ(test, swift_reported_ns(&t, now + 33 * US, 10 * US), 0U);
	/* newer than the time that TCP has */
	t = (struct swift_reported){ };
	swift_report_queue(&t, now + 40 * US, 10 * US, 10 * US);
	KUNIT_EXPECT_EQ(test, swift_reported_ns(&t, now + 39 * US, 10 * US), 10 * US);
	/* and after silence */
	swift_report_queue(&t, now + 40 * US, 10 * US, 10 * US);
	KUNIT_EXPECT_EQ(test, swift_reported_ns(&t, now + 61 * US, 10 * US), 0U);
}

static struct kunit_case swift_cases[] = {
	KUNIT_CASE(swift_rsqrt_exact_test),
	KUNIT_CASE_PARAM(swift_fs_test, fs_gen_params),
	KUNIT_CASE(swift_fs_monotonic_test),
	KUNIT_CASE_PARAM(swift_target_test, target_gen_params),
	KUNIT_CASE_PARAM(swift_ai_test, ai_gen_params),
	KUNIT_CASE(swift_ai_large_test),
	KUNIT_CASE(swift_not_limited_test),
	KUNIT_CASE(swift_bounds_test),
	KUNIT_CASE_PARAM(swift_md_test, md_gen_params),
	KUNIT_CASE(swift_md_once_test),
	KUNIT_CASE(swift_md_floor_test),
	KUNIT_CASE_PARAM(swift_split_test, split_gen_params),
	KUNIT_CASE(swift_ewma_test),
	KUNIT_CASE(swift_assumed_test),
	KUNIT_CASE(swift_rto_test),
	KUNIT_CASE(swift_rto_once_test),
	KUNIT_CASE(swift_rto_row_test),
	KUNIT_CASE(swift_recovery_test),
	KUNIT_CASE(swift_below_one_test),
	KUNIT_CASE_PARAM(swift_beside_test, beside_gen_params),
	KUNIT_CASE(swift_beside_scaling_test),
	KUNIT_CASE(swift_beside_hosts_test),
	KUNIT_CASE(swift_target_of_ack_test),
	KUNIT_CASE(swift_beside_once_test),
	KUNIT_CASE(swift_beside_ceiling_test),
	KUNIT_CASE(swift_reported_test),
	{ }
};

static struct kunit_suite swift_suite = {
	.name = "swift",
	.test_cases = swift_cases,
};

kunit_test_suite(swift_suite);
