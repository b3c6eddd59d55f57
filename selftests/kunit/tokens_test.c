// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sch_sfc/rate.h and the tokens of decide.h, against exact arithmetic in
 * 128 bits and over idle times, overflow and the wrap of the clock.
 */

#include "compat.h"
#include "decide.h"

#define u128 unsigned __int128

#define GBPS	125000000ULL		/* bytes/s */
#define MTU	1514
#define TOKENS(bytes)	((s64)(bytes) * 1024)

static const u64 rates[] = {
	TC_SFC_RATE_MIN, 12500, 125000, 1250000, GBPS / 100, GBPS / 3, GBPS, 10 * GBPS, 25 * GBPS,
	40 * GBPS, 100 * GBPS, 100 * GBPS + 1, 200 * GBPS, 400 * GBPS, 800 * GBPS,
	TC_SFC_RATE_MAX - 1, TC_SFC_RATE_MAX,
};

static void rate_desc(const u64 *rate, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%llu bytes/s", *rate);
}

KUNIT_ARRAY_PARAM(rate, rates, rate_desc);

/* The header's promise: 2^-27 from 10 Mbit/s to 400 Gbit/s, 2^-22 beyond; truncated, never high */
static unsigned int precision(u64 rate)
{
	return rate >= GBPS / 100 && rate <= 400 * GBPS ? 27 : 22;
}

static void sfc_supply_error_test(struct kunit *test)
{
	static const u64 gaps[] = { 0, 1, 3, 120, 121, 8000, 1000003, 999999999, 1ULL << 31,
				    SFC_IDLE_NS - 1 };
	u64 rate = *(const u64 *)test->param_value;
	struct sfc_rate r;
	int i;

	sfc_rate_set(&r, rate);
	for (i = 0; i < ARRAY_SIZE(gaps); i++) {
		/* exact supply, in 1e-9 of a token */
		u128 exact = (u128)rate * 1024 * gaps[i];
		u128 got = (u128)sfc_supply(&r, gaps[i]) * 1000000000;

		KUNIT_EXPECT_TRUE_MSG(test, got <= exact, "%llu ns: high", gaps[i]);
		/* low by the relative error, and by less than one token */
		KUNIT_EXPECT_TRUE_MSG(test, exact - got <=
				      (exact >> precision(rate)) + 1000000000,
				      "%llu ns: low", gaps[i]);
	}
}

/* A million packets: the fraction carried on, nothing is lost but the relative error */
static void sfc_serialize_error_test(struct kunit *test)
{
	u64 rate = *(const u64 *)test->param_value, frac = 0, total = 0, bytes = 0;
	u128 exact, got;
	struct sfc_rate r;
	int i;

	sfc_rate_set(&r, rate);
	for (i = 0; i < 100000; i++) {
		u32 len = 64 + i % 1450;

		total += sfc_serialize_ns(&r, len, &frac);
		bytes += len;
	}
	exact = (u128)bytes * 1000000000;
	got = (u128)total * rate;
	KUNIT_EXPECT_TRUE(test, got <= exact);
	KUNIT_EXPECT_TRUE(test, exact - got <= (exact >> precision(rate)) + rate);
}

static void sfc_serialize_longest_test(struct kunit *test)
{
	u64 rate = *(const u64 *)test->param_value, frac, t;
	struct sfc_rate r;
	u128 exact = (u128)SFC_LEN_MAX * 1000000000;

	sfc_rate_set(&r, rate);
	frac = (1ULL << r.time_shift) - 1;	/* the most that can be left over */
	t = sfc_serialize_ns(&r, SFC_LEN_MAX, &frac);
	KUNIT_EXPECT_TRUE(test, (u128)t * rate <= exact + rate);
	KUNIT_EXPECT_TRUE(test, exact - min(exact, (u128)t * rate) <=
			  (exact >> precision(rate)) + rate);
	KUNIT_EXPECT_LT(test, frac, 1ULL << r.time_shift);
	/* a size table may say anything */
	frac = (1ULL << r.time_shift) - 1;
	KUNIT_EXPECT_EQ(test, sfc_serialize_ns(&r, U32_MAX, &frac), t);
}

static void sfc_rate_kbps_test(struct kunit *test)
{
	u64 rate = *(const u64 *)test->param_value;
	struct sfc_rate r;

	sfc_rate_set(&r, rate);
	KUNIT_EXPECT_EQ(test, r.bytes_ps, rate);
	KUNIT_EXPECT_EQ(test, r.kbps, rate / 125);
	KUNIT_EXPECT_NE(test, r.kbps, 0);
	KUNIT_EXPECT_LE(test, r.supply_shift, 32);
	KUNIT_EXPECT_LE(test, r.time_shift, 34);
}

static void sfc_rate_unknown_test(struct kunit *test)
{
	struct sfc_rate r = { 1, 1, 1, 1, 1, 1 };

	sfc_rate_set(&r, 0);
	KUNIT_EXPECT_EQ(test, r.bytes_ps, 0);
	KUNIT_EXPECT_EQ(test, r.kbps, 0);
	KUNIT_EXPECT_EQ(test, sfc_supply(&r, SFC_IDLE_NS - 1), 0);
}

/* --- Algorithm 3 --- */

struct sm_case {
	const char *name;
	s64 token;		/* 1/1024 byte, before */
	u64 last, now;
	u32 demand, cap, floor;
	s64 want;		/* after, at 100 Gb/s: 12.5 bytes/ns */
	s64 slack;		/* truncation may take so much */
};

static const struct sm_case sm_cases[] = {
	{ "supply equals demand", 0, 1000, 1120, 1500, MTU, 1000000, 0, 1 },
	{ "line rate holds the token", TOKENS(700), 1000, 1120, 1500, MTU, 1000000, TOKENS(700),
	  1 },
	{ "more supply than demand", 0, 1000, 1080, 500, MTU, 1000000, TOKENS(500), 1 },
	{ "no time passed: a queue", 0, 1000, 1000, 1500, MTU, 1000000, -TOKENS(1500), 0 },
	{ "deficit is remembered", -TOKENS(3000), 1000, 1120, 1500, MTU, 1000000, -TOKENS(3000),
	  1 },
	{ "capped at one MTU (line 7)", TOKENS(1000), 0, 1000, 1500, MTU, 1000000, TOKENS(MTU), 0 },
	{ "at most the cap already", TOKENS(MTU), 1000, 1120, 1500, MTU, 1000000, TOKENS(MTU), 1 },
	{ "floor", -TOKENS(9000), 1000, 1000, 1500, MTU, 10000, -TOKENS(10000), 0 },
	{ "floor of none", 0, 1000, 1000, 1500, MTU, 0, 0, 0 },
	{ "deepest floor", -TOKENS(U32_MAX), 1000, 1000, U32_MAX, MTU, U32_MAX, -TOKENS(U32_MAX),
	  0 },
	{ "idle fills it whatever the demand", -TOKENS(1000000), 0, SFC_IDLE_NS, 1500, MTU,
	  1000000, TOKENS(MTU), 0 },
	{ "just short of idle", -TOKENS(1000000), 0, SFC_IDLE_NS - 1, 1500, MTU, 1000000,
	  TOKENS(MTU), 0 },
	{ "idle for centuries", -TOKENS(1000000), 0, U64_MAX, 1500, MTU, 1000000, TOKENS(MTU), 0 },
	{ "the clock's wrap is 120 ns", 0, U64_MAX - 59, 60, 1500, MTU, 1000000, 0, 1 },
	{ "largest demand and cap", 0, 1000, 1000, U32_MAX, U32_MAX, U32_MAX, -TOKENS(U32_MAX), 0 },
};

KUNIT_ARRAY_PARAM_DESC(sm, sm_cases, name);

static void sfc_sm_update_test(struct kunit *test)
{
	const struct sm_case *c = test->param_value;
	struct sfc_sm sm = { .token = c->token, .last_ns = c->last };
	struct sfc_rate r;

	sfc_rate_set(&r, 100 * GBPS);
	sfc_sm_update(&sm, &r, c->now, c->demand, c->cap, c->floor);
	KUNIT_EXPECT_LE(test, sm.token, c->want);
	KUNIT_EXPECT_GE(test, sm.token, c->want - c->slack);
	KUNIT_EXPECT_EQ(test, sm.last_ns, c->now);
}

/*
 * Section 3.3: a flow leaves and frees half of the link.  The other's packets come every
 * 240 ns instead of 120; every second packet time is supply, so every INC can be kept.
 */
static void sfc_sm_half_the_link_test(struct kunit *test)
{
	struct sfc_sm sm = { };
	struct sfc_rate r;
	int i, granted = 0;

	sfc_rate_set(&r, 100 * GBPS);
	for (i = 1; i <= 1000; i++) {
		sfc_sm_update(&sm, &r, i * 240, 1500, 1500, 1000000);
		granted += sfc_sm_take(&sm, 1500);
	}
	/* the first 240 ns buy nothing more than the others; truncation may cost one packet */
	KUNIT_EXPECT_GE(test, granted, 998);
	KUNIT_EXPECT_LE(test, granted, 1000);
}

/* A full link has nothing to give away, however long it lasts */
static void sfc_sm_full_link_test(struct kunit *test)
{
	struct sfc_sm sm = { };
	struct sfc_rate r;
	int i, granted = 0;

	sfc_rate_set(&r, 100 * GBPS);
	for (i = 1; i <= 100000; i++) {
		sfc_sm_update(&sm, &r, i * 120, 1500, 1500, 1000000);
		granted += sfc_sm_take(&sm, 1500);
	}
	KUNIT_EXPECT_EQ(test, granted, 0);
	/* less than a token a packet is lost to truncation */
	KUNIT_EXPECT_GT(test, sm.token, -100000);
	KUNIT_EXPECT_LE(test, sm.token, 0);
}

static void sfc_sm_take_test(struct kunit *test)
{
	struct sfc_sm sm = { .token = TOKENS(1500) - 1 };

	KUNIT_EXPECT_FALSE(test, sfc_sm_take(&sm, 1500));
	KUNIT_EXPECT_EQ(test, sm.token, TOKENS(1500) - 1);
	sm.token++;
	KUNIT_EXPECT_TRUE(test, sfc_sm_take(&sm, 1500));
	KUNIT_EXPECT_EQ(test, sm.token, 0);
	KUNIT_EXPECT_FALSE(test, sfc_sm_take(&sm, 1));
	sm.token = -TOKENS(U32_MAX);
	KUNIT_EXPECT_FALSE(test, sfc_sm_take(&sm, U32_MAX));
}

static void sfc_sm_bytes_test(struct kunit *test)
{
	struct sfc_sm sm = { .token = 1023 };

	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&sm), 0);
	sm.token = 1024;
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&sm), 1);
	sm.token = -1;
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&sm), -1);
}

/* --- PRU tokens --- */

struct pru_case {
	const char *name;
	u32 before, add, added, after;
};

static const struct pru_case pru_cases[] = {
	{ "one", 0, 1, 1, 1 },
	{ "to the brim", 255, 1, 1, SFC_PRU_MAX },
	{ "over the brim", 255, 2, 1, SFC_PRU_MAX },
	{ "full", SFC_PRU_MAX, 1, 0, SFC_PRU_MAX },
	{ "far over", 10, U32_MAX, 246, SFC_PRU_MAX },
	{ "none", 7, 0, 0, 7 },
};

KUNIT_ARRAY_PARAM_DESC(pru, pru_cases, name);

static void sfc_pru_add_test(struct kunit *test)
{
	const struct pru_case *c = test->param_value;
	u32 token = c->before;

	KUNIT_EXPECT_EQ(test, sfc_pru_add(&token, c->add, SFC_PRU_MAX), c->added);
	KUNIT_EXPECT_EQ(test, token, c->after);
}

static void sfc_pru_take_test(struct kunit *test)
{
	u32 token = 3;

	KUNIT_EXPECT_FALSE(test, sfc_pru_take(&token, 4));	/* all or nothing */
	KUNIT_EXPECT_EQ(test, token, 3);
	KUNIT_EXPECT_TRUE(test, sfc_pru_take(&token, 2));
	KUNIT_EXPECT_TRUE(test, sfc_pru_take(&token, 1));
	KUNIT_EXPECT_FALSE(test, sfc_pru_take(&token, 1));	/* does not fall below zero */
	KUNIT_EXPECT_EQ(test, token, 0);
}

/* --- the limit on SRC --- */

static unsigned int takes(struct sfc_limiter *l, u64 now)
{
	unsigned int n = 0;

	while (n < 10000000 && sfc_limiter_take(l, now))
		n++;
	return n;
}

static void sfc_limiter_test(struct kunit *test)
{
	struct sfc_limiter l;

	sfc_limiter_set(&l, 1000, 5000);		/* one per ms: the burst is 32 */
	KUNIT_EXPECT_EQ(test, takes(&l, 5000), 32);
	KUNIT_EXPECT_EQ(test, takes(&l, 5000 + 999999), 0);
	KUNIT_EXPECT_EQ(test, takes(&l, 5000 + 1000000), 1);
	KUNIT_EXPECT_EQ(test, takes(&l, 5000 + 6000000), 5);
	KUNIT_EXPECT_EQ(test, takes(&l, 5000 + 106000000), 32);
	KUNIT_EXPECT_EQ(test, takes(&l, 5000 + 106000000 + SFC_LIMITER_IDLE_NS), 32);
	KUNIT_EXPECT_EQ(test, takes(&l, 5000 + 106000000 + SFC_LIMITER_IDLE_NS), 0);
}

static void sfc_limiter_fast_test(struct kunit *test)
{
	struct sfc_limiter l;

	sfc_limiter_set(&l, 1000000, 0);		/* one per us: the burst is a ms */
	KUNIT_EXPECT_EQ(test, takes(&l, 0), 1000);
	KUNIT_EXPECT_EQ(test, takes(&l, 10000), 10);
}

static void sfc_limiter_extremes_test(struct kunit *test)
{
	struct sfc_limiter l;

	sfc_limiter_set(&l, 1, 0);
	KUNIT_EXPECT_EQ(test, takes(&l, 0), 32);
	KUNIT_EXPECT_EQ(test, takes(&l, 999999999), 0);
	KUNIT_EXPECT_EQ(test, takes(&l, 1000000000), 1);

	sfc_limiter_set(&l, U32_MAX, 0);
	KUNIT_EXPECT_GE(test, takes(&l, 0), 4294967);

	/* the clock's wrap is one us */
	sfc_limiter_set(&l, 1000000, U64_MAX - 499);
	takes(&l, U64_MAX - 499);
	KUNIT_EXPECT_EQ(test, takes(&l, 500), 1);
}

static struct kunit_case sfc_tokens_cases[] = {
	KUNIT_CASE_PARAM(sfc_rate_kbps_test, rate_gen_params),
	KUNIT_CASE_PARAM(sfc_supply_error_test, rate_gen_params),
	KUNIT_CASE_PARAM(sfc_serialize_error_test, rate_gen_params),
	KUNIT_CASE_PARAM(sfc_serialize_longest_test, rate_gen_params),
	KUNIT_CASE(sfc_rate_unknown_test),
	KUNIT_CASE_PARAM(sfc_sm_update_test, sm_gen_params),
	KUNIT_CASE(sfc_sm_half_the_link_test),
	KUNIT_CASE(sfc_sm_full_link_test),
	KUNIT_CASE(sfc_sm_take_test),
	KUNIT_CASE(sfc_sm_bytes_test),
	KUNIT_CASE_PARAM(sfc_pru_add_test, pru_gen_params),
	KUNIT_CASE(sfc_pru_take_test),
	KUNIT_CASE(sfc_limiter_test),
	KUNIT_CASE(sfc_limiter_fast_test),
	KUNIT_CASE(sfc_limiter_extremes_test),
	{ }
};

static struct kunit_suite sfc_tokens_suite = {
	.name = "sfc_tokens",
	.test_cases = sfc_tokens_cases,
};

kunit_test_suite(sfc_tokens_suite);
