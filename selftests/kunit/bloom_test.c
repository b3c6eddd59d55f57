// SPDX-License-Identifier: GPL-2.0
/* KUnit: sch_sfc/bloom.h, who has been told in this period, and how often that is wrong. */

#include "compat.h"
#include "bloom.h"

#define PERIOD	5000U

static struct sfc_bloom *fresh(struct kunit *test)
{
	struct sfc_bloom *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	sfc_bloom_tick(b, 1000, PERIOD);
	return b;
}

/* At one time, of one end */
static enum sfc_bloom_verdict ask(struct sfc_bloom *b, u64 flow)
{
	return sfc_bloom_ask(b, flow, 1000, 100000, PERIOD);
}

static void add(struct sfc_bloom *b, u64 flow)
{
	sfc_bloom_add(b, flow, 1000, 100000);
}

static bool uncertain(struct sfc_bloom *b)
{
	return sfc_bloom_period(b, b->version)->uncertain;
}

/* Any 64-bit numbers do as flows: here, consecutive ones, the worst that a hash may meet */
static void sfc_bloom_once_per_flow_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	u64 flow;

	for (flow = 1; flow <= 150; flow++) {
		KUNIT_EXPECT_NE(test, ask(b, flow), SFC_BLOOM_TOLD);
		add(b, flow);
		KUNIT_EXPECT_EQ(test, ask(b, flow), SFC_BLOOM_TOLD);
	}
	KUNIT_EXPECT_FALSE(test, uncertain(b));
	for (flow = 1; flow <= 150; flow++)
		KUNIT_EXPECT_EQ(test, ask(b, flow), SFC_BLOOM_TOLD);
}

struct period_case {
	const char *name;
	u64 now;
	bool told;
};

static const struct period_case periods[] = {
	{ "at once", 1000, true },
	{ "a ns before its end", 5999, true },
	{ "in the next", 6000, true },
	{ "at the end of that", 11000, false },
	{ "long after", 1ULL << 60, false },
};

KUNIT_ARRAY_PARAM_DESC(period, periods, name);

static void sfc_bloom_period_test(struct kunit *test)
{
	const struct period_case *c = test->param_value;
	struct sfc_bloom *b = fresh(test);

	add(b, 7);
	sfc_bloom_tick(b, c->now, PERIOD);
	KUNIT_EXPECT_EQ(test, ask(b, 7), c->told ? SFC_BLOOM_TOLD : SFC_BLOOM_NEW);
}

/* Told at 3000 to pause until 99000: what it hears again, and when */
static const struct until_case {
	const char *name;
	u64 now, until;
	enum sfc_bloom_verdict want;
} ends[] = {
	{ "the same end", 3000, 99000, SFC_BLOOM_TOLD },
	{ "sooner", 3000, 3001, SFC_BLOOM_TOLD },
	{ "later by a period and 1/32", 3000, 107000, SFC_BLOOM_TOLD },
	{ "and a ns", 3000, 107001, SFC_BLOOM_LATE },
	{ "in the next period, in time", 6000, 107000, SFC_BLOOM_TOLD },
	{ "in the next period, late", 6000, 107001, SFC_BLOOM_LATE },
	{ "at the end of its own, almost", 7999, 99000, SFC_BLOOM_TOLD },
	{ "at the end of its own", 8000, 99000, SFC_BLOOM_LATE },
	{ "forgotten", 11000, 99000, SFC_BLOOM_NEW },
};

KUNIT_ARRAY_PARAM_DESC(until, ends, name);

static void sfc_bloom_until_test(struct kunit *test)
{
	const struct until_case *c = test->param_value;
	struct sfc_bloom *b = fresh(test);

	sfc_bloom_add(b, 7, 3000, 99000);
	sfc_bloom_tick(b, c->now, PERIOD);
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, 7, c->now, c->until, PERIOD), c->want);
	if (c->want != SFC_BLOOM_LATE)
		return;
	/* told again: the newer end counts, longer or shorter, whichever period it is of */
	sfc_bloom_add(b, 7, c->now, c->now + 32);
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, 7, c->now, c->now + 33 + PERIOD, PERIOD),
			SFC_BLOOM_TOLD);
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, 7, c->now, c->now + 34 + PERIOD, PERIOD),
			SFC_BLOOM_LATE);
	sfc_bloom_add(b, 7, c->now, c->until);
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, 7, c->now, c->until, PERIOD), SFC_BLOOM_TOLD);
}

/* No room in the table: told once, until the filter forgets, whatever the end is */
static void sfc_bloom_no_room_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	u64 flow;

	for (flow = 1; !uncertain(b) && flow < 1000; flow++)
		add(b, flow);
	KUNIT_ASSERT_TRUE(test, uncertain(b));
	flow--;
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, flow, 1000, 1ULL << 40, PERIOD), SFC_BLOOM_TOLD);
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, 1, 1000, 1ULL << 40, PERIOD), SFC_BLOOM_LATE);
	sfc_bloom_tick(b, 11000, PERIOD);
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, flow, 11000, 1, PERIOD), SFC_BLOOM_NEW);
}

/* A flow that the filter wrongly takes for told: counted; the next period is another matter */
static void sfc_bloom_false_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	unsigned int wrong = 0, again = 0;
	u64 flow;

	/* half full on purpose: one answer in eight is wrong */
	for (flow = 1; flow <= 1800; flow++)
		add(b, flow);
	KUNIT_EXPECT_TRUE(test, uncertain(b));
	sfc_bloom_period(b, b->version)->uncertain = false;
	for (flow = 10001; flow <= 11000; flow++)
		wrong += ask(b, flow) == SFC_BLOOM_FALSE;
	KUNIT_EXPECT_GT(test, wrong, 60);
	KUNIT_EXPECT_LT(test, wrong, 200);

	/* which ones is another matter each time */
	for (flow = 10001; flow <= 11000; flow++) {
		if (ask(b, flow) != SFC_BLOOM_FALSE)
			continue;
		sfc_bloom_forget(b);
		break;
	}
	KUNIT_ASSERT_LE(test, flow, 11000);
	for (wrong = 1; wrong <= 1800; wrong++)
		add(b, wrong);
	sfc_bloom_period(b, b->version)->uncertain = false;
	for (wrong = 0, flow = 10001; flow <= 11000; flow++)
		again += ask(b, flow) == SFC_BLOOM_FALSE;
	KUNIT_EXPECT_GT(test, again, 60);
	KUNIT_EXPECT_LT(test, again, 200);
}

/* The same two flows do not collide in period after period */
static void sfc_bloom_version_test(struct kunit *test)
{
	unsigned int version, same = 0, i;
	u64 flow;

	/* bits of one flow, over versions: all three as before happens by chance in 2^39 */
	for (flow = 1; flow <= 100; flow++) {
		u64 first = sfc_bloom_hash(flow, 1);

		for (version = 2; version < 50; version++) {
			for (i = 0; i < SFC_BLOOM_HASHES; i++)
				same += sfc_bloom_bit(first, i) ==
					sfc_bloom_bit(sfc_bloom_hash(flow, version), i);
		}
	}
	/* 14400 pairs at 1 in 8192 */
	KUNIT_EXPECT_LT(test, same, 10);
}

/* 150 flows, the paper's worst case: nearly never wrong (section 4), and each time it is known */
static void sfc_bloom_rate_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	unsigned int wrong = 0;
	u64 flow, now = 1000;
	int round;

	for (round = 0; round < 100; round++) {
		now += 2 * PERIOD;	/* what was before is forgotten */
		sfc_bloom_tick(b, now, PERIOD);
		for (flow = 1; flow <= 150; flow++) {
			enum sfc_bloom_verdict v = ask(b, flow * 0x10001);

			KUNIT_EXPECT_NE(test, v, SFC_BLOOM_TOLD);
			wrong += v == SFC_BLOOM_FALSE;
			if (v == SFC_BLOOM_NEW)
				add(b, flow * 0x10001);
		}
		KUNIT_EXPECT_FALSE(test, uncertain(b));
	}
	KUNIT_EXPECT_LE(test, wrong, 5);
}

/* No room beside the filter: the filter still works, the count stops */
static void sfc_bloom_uncertain_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	u64 flow;

	for (flow = 1; !uncertain(b) && flow < 1000; flow++)
		add(b, flow);
	KUNIT_EXPECT_TRUE(test, uncertain(b));
	KUNIT_EXPECT_GT(test, flow, 150);
	for (flow--; flow; flow--)
		KUNIT_EXPECT_EQ(test, ask(b, flow), SFC_BLOOM_TOLD);
	sfc_bloom_tick(b, 1ULL << 40, PERIOD);
	KUNIT_EXPECT_FALSE(test, uncertain(b));
	KUNIT_EXPECT_EQ(test, ask(b, 1), SFC_BLOOM_NEW);
}

static struct kunit_case bloom_cases[] = {
	KUNIT_CASE(sfc_bloom_once_per_flow_test),
	KUNIT_CASE_PARAM(sfc_bloom_period_test, period_gen_params),
	KUNIT_CASE_PARAM(sfc_bloom_until_test, until_gen_params),
	KUNIT_CASE(sfc_bloom_no_room_test),
	KUNIT_CASE(sfc_bloom_false_test),
	KUNIT_CASE(sfc_bloom_version_test),
	KUNIT_CASE(sfc_bloom_rate_test),
	KUNIT_CASE(sfc_bloom_uncertain_test),
	{ }
};

static struct kunit_suite bloom_suite = {
	.name = "sfc_bloom",
	.test_cases = bloom_cases,
};

kunit_test_suite(bloom_suite);
