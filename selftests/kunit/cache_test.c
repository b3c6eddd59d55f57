// SPDX-License-Identifier: GPL-2.0
/* KUnit: sch_sfc/cache.h, one bucket of the pause cache; how old a BTS is. */

#include "compat.h"
#include "cache.h"

static const struct sfc_key key_a = { .addr = { 1 }, .family = 4 };
static const struct sfc_key key_dscp = { .addr = { 1 }, .family = 4, .dscp = 10 };
static const struct sfc_key key_six = { .addr = { 1 }, .family = 6 };
static const struct sfc_key key_last = { .addr = { 1, 0, 0, 1 }, .family = 6 };

struct find_case {
	const char *name;
	const struct sfc_key *key;
	u64 end_ns, now;
	u32 want;
};

/* What is left of a pause of key_a */
static const struct find_case finds[] = {
	{ "just begun", &key_a, 1000, 0, 1000 },
	{ "its last ns", &key_a, 1000, 999, 1 },
	{ "over", &key_a, 1000, 1000, 0 },
	{ "long over", &key_a, 1000, U64_MAX, 0 },
	{ "longer than can be said", &key_a, 1ULL << 40, 0, U32_MAX },
	{ "another DSCP", &key_dscp, 1000, 0, 0 },
	{ "another family", &key_six, 1000, 0, 0 },
	{ "another address", &key_last, 1000, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(find, finds, name);

static void sfc_ways_find_test(struct kunit *test)
{
	const struct find_case *c = test->param_value;
	struct sfc_entry ways[SFC_CACHE_WAYS] = { };
	unsigned int i;

	for (i = 0; i < SFC_CACHE_WAYS; i++) {
		memset(ways, 0, sizeof(ways));
		ways[i] = (struct sfc_entry){ .key = key_a, .end_ns = c->end_ns };
		KUNIT_EXPECT_EQ(test, sfc_ways_find(ways, c->key, c->now), c->want);
	}
}

struct put_case {
	const char *name;
	const struct sfc_key *key;
	u64 end_ns, now;
	u32 left;
};

/* In this order, each with what the ones before have left */
static const struct put_case puts[] = {
	{ "the first", &key_a, 1000, 0, 1000 },
	{ "a later end", &key_a, 2000, 500, 1500 },
	{ "an earlier end", &key_a, 900, 600, 1400 },
	{ "a second key", &key_dscp, 3000, 700, 2300 },
	{ "a third", &key_six, 3000, 700, 2300 },
	{ "a fourth", &key_last, 3000, 700, 2300 },
	{ "the first, still there", &key_a, 800, 800, 1200 },
	{ "the first again, when it is over", &key_a, 2500, 2100, 400 },
};

static void sfc_ways_put_test(struct kunit *test)
{
	struct sfc_key other = { .addr = { 99 }, .family = 4 };
	struct sfc_entry ways[SFC_CACHE_WAYS] = { };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(puts); i++) {
		const struct put_case *c = &puts[i];

		KUNIT_EXPECT_TRUE_MSG(test, sfc_ways_put(ways, c->key, c->end_ns, c->now), "%s",
				      c->name);
		KUNIT_EXPECT_EQ_MSG(test, sfc_ways_find(ways, c->key, c->now), c->left,
				    "%s", c->name);
	}
	/* all taken: the fifth goes without, the four stay */
	KUNIT_EXPECT_FALSE(test, sfc_ways_put(ways, &other, 9000, 2400));
	KUNIT_EXPECT_EQ(test, sfc_ways_find(ways, &other, 2400), 0);
	KUNIT_EXPECT_EQ(test, sfc_ways_find(ways, &key_a, 2400), 100);
	KUNIT_EXPECT_EQ(test, sfc_ways_find(ways, &key_last, 2400), 600);
	/* one of them is over: there is room */
	KUNIT_EXPECT_TRUE(test, sfc_ways_put(ways, &other, 9000, 2500));
	KUNIT_EXPECT_EQ(test, sfc_ways_find(ways, &other, 2500), 6500);
	KUNIT_EXPECT_EQ(test, sfc_ways_find(ways, &key_six, 2500), 500);
}

/* --- clocks of other switches --- */

struct age_case {
	const char *name;
	u32 clock;
	u64 sent_ns, now;
	u64 want;
};

/* In this order, each with what the ones before have left */
static const struct age_case ages[] = {
	{ "the first of a clock far behind", 1, 1000, 100000, 0 },
	{ "at once, sent again", 1, 1000, 100000, 0 },
	{ "sent again after 1600, of which a sixteenth is forgiven", 1, 1000, 101600, 1500 },
	{ "a new one, 300 longer on its way", 1, 2600, 101900, 182 },
	{ "a new one, as quick as the first", 1, 2900, 101900, 0 },
	{ "quicker", 1, 3500, 102000, 0 },
	{ "the one before, by comparison", 1, 2900, 102000, 600 },
	{ "heard by another CPU a moment ago", 1, 3490, 101984, 0 },
	{ "the first of another, far ahead", 2, U64_MAX - 5, 102000, 0 },
	{ "of that, beyond its wrap", 2, 94, 102100, 0 },
	{ "and sent again", 2, 94, 103700, 1500 },
	{ "the first had stopped for 1600: not yet", 1, 3500 + 12800, 102000 + 14400, 705 },
	{ "16 times as long: again", 1, 3500 + 24100, 102000 + 25700, 0 },
	{ "a third clock", 3, 7, 200000, 0 },
	{ "a fourth", 4, 7, 200000, 0 },
	{ "a fifth: no room", 5, 7, 200000, U64_MAX },
	{ "the second is still known", 2, 94, 200000, 91782 },
	{ "a minute later it is forgotten", 5, 7, 60ULL * NSEC_PER_SEC + 102100, 0 },
	{ "the fifth is known", 5, 7, 60ULL * NSEC_PER_SEC + 103700, 1500 },
	{ "the second: no room", 2, 94, 60ULL * NSEC_PER_SEC + 103700, U64_MAX },
};

static void sfc_clock_age_test(struct kunit *test)
{
	struct sfc_clock ways[SFC_CLOCK_WAYS] = { };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ages); i++)
		KUNIT_EXPECT_EQ_MSG(test, sfc_clock_age(ways, ages[i].clock, ages[i].sent_ns,
							ages[i].now), ages[i].want,
				    "%s", ages[i].name);
}

static struct kunit_case cache_cases[] = {
	KUNIT_CASE_PARAM(sfc_ways_find_test, find_gen_params),
	KUNIT_CASE(sfc_ways_put_test),
	KUNIT_CASE(sfc_clock_age_test),
	{ }
};

static struct kunit_suite cache_suite = {
	.name = "sfc_cache",
	.test_cases = cache_cases,
};

kunit_test_suite(cache_suite);
