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

/* Any 64-bit numbers do as flows: here, consecutive ones, the worst that a hash may meet */
static void sfc_bloom_once_per_flow_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	u64 flow;

	for (flow = 1; flow <= 150; flow++) {
		KUNIT_EXPECT_NE(test, sfc_bloom_ask(b, flow), SFC_BLOOM_TOLD);
		sfc_bloom_add(b, flow);
		KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, flow), SFC_BLOOM_TOLD);
	}
	KUNIT_EXPECT_FALSE(test, b->uncertain);
	for (flow = 1; flow <= 150; flow++)
		KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, flow), SFC_BLOOM_TOLD);
}

struct period_case {
	const char *name;
	u64 now;
	bool told;
};

static const struct period_case periods[] = {
	{ "at once", 1000, true },
	{ "a ns before its end", 5999, true },
	{ "at its end", 6000, false },
	{ "long after", 1ULL << 60, false },
};

KUNIT_ARRAY_PARAM_DESC(period, periods, name);

static void sfc_bloom_period_test(struct kunit *test)
{
	const struct period_case *c = test->param_value;
	struct sfc_bloom *b = fresh(test);

	sfc_bloom_add(b, 7);
	sfc_bloom_tick(b, c->now, PERIOD);
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, 7), c->told ? SFC_BLOOM_TOLD : SFC_BLOOM_NEW);
}

/* A flow that the filter wrongly takes for told: counted; the next period is another matter */
static void sfc_bloom_false_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	unsigned int wrong = 0, again = 0;
	u64 flow;

	/* half full on purpose: one answer in eight is wrong */
	for (flow = 1; flow <= 1800; flow++)
		sfc_bloom_add(b, flow);
	KUNIT_EXPECT_TRUE(test, b->uncertain);
	b->uncertain = false;
	for (flow = 10001; flow <= 11000; flow++)
		wrong += sfc_bloom_ask(b, flow) == SFC_BLOOM_FALSE;
	KUNIT_EXPECT_GT(test, wrong, 60);
	KUNIT_EXPECT_LT(test, wrong, 200);

	/* which ones is another matter each time */
	for (flow = 10001; flow <= 11000; flow++) {
		if (sfc_bloom_ask(b, flow) != SFC_BLOOM_FALSE)
			continue;
		b->version++;
		memset(b->bits, 0, sizeof(b->bits));
		break;
	}
	KUNIT_ASSERT_LE(test, flow, 11000);
	for (wrong = 1; wrong <= 1800; wrong++)
		sfc_bloom_add(b, wrong);
	b->uncertain = false;
	for (wrong = 0, flow = 10001; flow <= 11000; flow++)
		again += sfc_bloom_ask(b, flow) == SFC_BLOOM_FALSE;
	KUNIT_EXPECT_GT(test, again, 60);
	KUNIT_EXPECT_LT(test, again, 200);
}

/* The same two flows do not collide in period after period */
static void sfc_bloom_version_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	unsigned int version, same = 0, i;
	u64 flow;

	/* bits of one flow, over versions: all three as before happens by chance in 2^39 */
	for (flow = 1; flow <= 100; flow++) {
		u64 first = sfc_bloom_hash(b, flow);

		for (version = 2; version < 50; version++) {
			b->version = version;
			for (i = 0; i < SFC_BLOOM_HASHES; i++)
				same += sfc_bloom_bit(first, i) ==
					sfc_bloom_bit(sfc_bloom_hash(b, flow), i);
		}
		b->version = 1;
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
		now += PERIOD;
		sfc_bloom_tick(b, now, PERIOD);
		for (flow = 1; flow <= 150; flow++) {
			enum sfc_bloom_verdict v = sfc_bloom_ask(b, flow * 0x10001);

			KUNIT_EXPECT_NE(test, v, SFC_BLOOM_TOLD);
			wrong += v == SFC_BLOOM_FALSE;
			if (v == SFC_BLOOM_NEW)
				sfc_bloom_add(b, flow * 0x10001);
		}
		KUNIT_EXPECT_FALSE(test, b->uncertain);
	}
	KUNIT_EXPECT_LE(test, wrong, 5);
}

/* No room beside the filter: the filter still works, the count stops */
static void sfc_bloom_uncertain_test(struct kunit *test)
{
	struct sfc_bloom *b = fresh(test);
	u64 flow;

	for (flow = 1; !b->uncertain && flow < 1000; flow++)
		sfc_bloom_add(b, flow);
	KUNIT_EXPECT_TRUE(test, b->uncertain);
	KUNIT_EXPECT_GT(test, flow, 150);
	for (flow--; flow; flow--)
		KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, flow), SFC_BLOOM_TOLD);
	sfc_bloom_tick(b, 1ULL << 40, PERIOD);
	KUNIT_EXPECT_FALSE(test, b->uncertain);
	KUNIT_EXPECT_EQ(test, sfc_bloom_ask(b, 1), SFC_BLOOM_NEW);
}

static struct kunit_case bloom_cases[] = {
	KUNIT_CASE(sfc_bloom_once_per_flow_test),
	KUNIT_CASE_PARAM(sfc_bloom_period_test, period_gen_params),
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
