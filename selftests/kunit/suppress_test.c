// SPDX-License-Identifier: GPL-2.0
/* KUnit: sch_sfc/pause.h, who knows of its pause, and what happens when there is no room. */

#include "compat.h"
#include "sch_sfc/pause.h"

#define PERIOD	5000U

static struct sfc_suppress *fresh(struct kunit *test)
{
	struct sfc_suppress *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

/* At one time, of one end */
static bool knows(struct sfc_suppress *s, u64 flow)
{
	return sfc_suppress_knows(s, flow, 1000, 100000, PERIOD);
}

static void add(struct sfc_suppress *s, u64 flow)
{
	sfc_suppress_add(s, flow, 1000, 100000);
}

/* Flows are hashes: splitmix64 of consecutive numbers */
static u64 hashed(u64 i)
{
	u64 h = i * 0x9e3779b97f4a7c15ULL;

	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
	return h ^ (h >> 31);
}

/* 150 flows, the paper's worst case: each is told once, and none for another (section 4) */
static void sfc_suppress_once_per_flow_test(struct kunit *test)
{
	struct sfc_suppress *s = fresh(test);
	u64 now = 1000, flow;
	int round;

	for (round = 0; round < 100; round++) {
		now += PERIOD;
		for (flow = 1; flow <= 150; flow++) {
			u64 h = hashed(flow + 150 * (round & 1));

			KUNIT_EXPECT_FALSE(test, sfc_suppress_knows(s, h, now, now + 9, PERIOD));
			sfc_suppress_add(s, h, now, now + 9);
		}
		for (flow = 1; flow <= 150; flow++) {
			u64 h = hashed(flow + 150 * (round & 1));

			KUNIT_EXPECT_TRUE(test, sfc_suppress_knows(s, h, now, now + 9, PERIOD));
		}
	}
}

/* Told at 3000 to pause until 99000: what it need not hear again, and when */
static const struct until_case {
	const char *name;
	u64 now, until;
	bool knows;
} ends[] = {
	{ "the same end", 3000, 99000, true },
	{ "sooner", 3000, 3001, true },
	{ "later by a period and 1/32", 3000, 107000, true },
	{ "and a ns", 3000, 107001, false },
	{ "within its period, in time", 6000, 107000, true },
	{ "within its period, late", 6000, 107001, false },
	{ "at the end of its period, almost", 7999, 99000, true },
	{ "at the end of its period", 8000, 99000, false },
	{ "two periods on", 13000, 99000, false },
	{ "long after", 1ULL << 60, 99000, false },
};

KUNIT_ARRAY_PARAM_DESC(until, ends, name);

static void sfc_suppress_until_test(struct kunit *test)
{
	const struct until_case *c = test->param_value;
	struct sfc_suppress *s = fresh(test);

	sfc_suppress_add(s, 7, 3000, 99000);
	KUNIT_EXPECT_EQ(test, sfc_suppress_knows(s, 7, c->now, c->until, PERIOD), c->knows);
	if (c->knows)
		return;
	/* told again: the newer end counts, longer or shorter */
	sfc_suppress_add(s, 7, c->now, c->now + 32);
	KUNIT_EXPECT_TRUE(test, sfc_suppress_knows(s, 7, c->now, c->now + 33 + PERIOD, PERIOD));
	KUNIT_EXPECT_FALSE(test, sfc_suppress_knows(s, 7, c->now, c->now + 34 + PERIOD, PERIOD));
	sfc_suppress_add(s, 7, c->now, c->until);
	KUNIT_EXPECT_TRUE(test, sfc_suppress_knows(s, 7, c->now, c->until, PERIOD));
}

/* Others know nothing, nor does anybody in a table of zeros. */
static void sfc_suppress_others_test(struct kunit *test)
{
	struct sfc_suppress *s = fresh(test);
	u64 flow;

	add(s, 7);
	for (flow = 1; flow <= 2 * SFC_SUPPRESS_SLOTS; flow++)
		KUNIT_EXPECT_EQ(test, knows(s, flow), flow == 7);
	/* of the same slot, and of the same lower half */
	KUNIT_EXPECT_FALSE(test, knows(s, 7 + (1ULL << 32)));
	memset(s, 0, sizeof(*s));
	KUNIT_EXPECT_FALSE(test, knows(s, 7));
}

/* Of flows for the same slots the one told longest ago makes room, told again or not. */
static void sfc_suppress_oldest_test(struct kunit *test)
{
	struct sfc_suppress *s = fresh(test);
	u64 i, now = 1000;

	for (i = 1; i <= SFC_SUPPRESS_PROBES; i++)
		sfc_suppress_add(s, i * SFC_SUPPRESS_SLOTS, now++, 100000);
	for (i = 1; i <= SFC_SUPPRESS_PROBES; i++)
		KUNIT_EXPECT_TRUE(test, sfc_suppress_knows(s, i * SFC_SUPPRESS_SLOTS, now, 100000,
							   PERIOD));
	/* the first is told again, so the second is the oldest */
	sfc_suppress_add(s, SFC_SUPPRESS_SLOTS, now++, 100000);
	sfc_suppress_add(s, i * SFC_SUPPRESS_SLOTS, now++, 100000);
	for (i = 1; i <= SFC_SUPPRESS_PROBES + 1; i++)
		KUNIT_EXPECT_EQ(test, sfc_suppress_knows(s, i * SFC_SUPPRESS_SLOTS, now, 100000,
							 PERIOD), i != 2);
}

/* An incast of 5000 flows: each that is told is told rightly, and most that were told last know. */
static void sfc_suppress_large_incast_test(struct kunit *test)
{
	struct sfc_suppress *s = fresh(test);
	unsigned int known = 0;
	u64 flow, now = 1000;

	for (flow = 1; flow <= 5000; flow++) {
		KUNIT_EXPECT_FALSE(test, sfc_suppress_knows(s, hashed(flow), now, 100000, PERIOD));
		sfc_suppress_add(s, hashed(flow), now, 100000);
		KUNIT_EXPECT_TRUE(test, sfc_suppress_knows(s, hashed(flow), now++, 100000, PERIOD));
	}
	for (flow = 4501; flow <= 5000; flow++)
		known += sfc_suppress_knows(s, hashed(flow), now, 100000, PERIOD);
	KUNIT_EXPECT_GE(test, known, 490);
}

static struct kunit_case suppress_cases[] = {
	KUNIT_CASE(sfc_suppress_once_per_flow_test),
	KUNIT_CASE_PARAM(sfc_suppress_until_test, until_gen_params),
	KUNIT_CASE(sfc_suppress_others_test),
	KUNIT_CASE(sfc_suppress_oldest_test),
	KUNIT_CASE(sfc_suppress_large_incast_test),
	{ }
};

static struct kunit_suite suppress_suite = {
	.name = "sfc_suppress",
	.test_cases = suppress_cases,
};

kunit_test_suite(suppress_suite);
