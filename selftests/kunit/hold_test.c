// SPDX-License-Identifier: GPL-2.0
/* KUnit: sch_sfc/hold.h, the flows that a host's port has sent, and which of them are forgotten. */

#include "compat.h"
#include "hold.h"

#define MS	1000000ULL
#define T0	(5000 * MS)
#define FLOW	0x1234567800000005ULL

static const struct bolt_pause_conf conf = {
	.max_ns = 10 * MS, .interval_ns = 100 * MS, .recovery_ns = 40 * MS, .pct = 50,
};

static const struct bolt_pause_conf no_watchdog = {
	.max_ns = 10 * MS, .interval_ns = 1, .recovery_ns = 1, .pct = 100,
};

static struct sfc_hold_flow *new_table(struct kunit *test)
{
	struct sfc_hold_flow *t = kunit_kcalloc(test, SFC_HOLD_FLOWS, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	return t;
}

/* Of the flows of one set, the one of number @i */
static u64 of_set(unsigned int i)
{
	return (i + 1ULL) << 32 | 9;
}

static struct sfc_hold_flow *nth(struct sfc_hold_flow *t, unsigned int i)
{
	return t + 9 * SFC_HOLD_WAYS + i;
}

/* A set of which each flow has sent, the first one longest ago */
static struct sfc_hold_flow *full_set(struct kunit *test)
{
	struct sfc_hold_flow *t = new_table(test);
	unsigned int i;

	for (i = 0; i < SFC_HOLD_WAYS; i++)
		KUNIT_ASSERT_PTR_EQ(test, sfc_hold_sent(t, &conf, of_set(i), T0 + i), nth(t, i));
	return t;
}

/* Another flow: another entry */
static void sfc_hold_flow_test(struct kunit *test)
{
	struct sfc_hold_flow *t = new_table(test);
	/* of a hash any bit may be the one that differs */
	const u64 flows[] = { 1, 2, 1ULL << 63, U64_MAX };
	struct sfc_hold_flow *f[ARRAY_SIZE(flows)];
	int i, j;

	for (i = 0; i < ARRAY_SIZE(flows); i++) {
		f[i] = sfc_hold_find(t, &conf, flows[i], T0);
		KUNIT_ASSERT_NOT_NULL(test, f[i]);
		KUNIT_EXPECT_NE(test, f[i]->hash, flows[i]);
		KUNIT_EXPECT_PTR_EQ(test, sfc_hold_sent(t, &conf, flows[i], T0 + i), f[i]);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_PTR_NE(test, f[i], f[j]);
	}
	for (i = 0; i < ARRAY_SIZE(flows); i++) {
		KUNIT_EXPECT_PTR_EQ(test, sfc_hold_find(t, &conf, flows[i], T0), f[i]);
		KUNIT_EXPECT_EQ(test, f[i]->hash, flows[i]);
		KUNIT_EXPECT_EQ(test, f[i]->sent_ns, T0 + i);
	}
}

/* Who has been silent longest makes room, and leaves nothing behind. */
static void sfc_hold_silent_test(struct kunit *test)
{
	struct sfc_hold_flow *t = full_set(test);
	struct sfc_hold_flow *f;

	sfc_hold_sent(t, &conf, of_set(0), T0 + 9);
	nth(t, 1)->clock.until_ns = T0;
	f = sfc_hold_sent(t, &conf, of_set(SFC_HOLD_WAYS), T0 + 9);
	KUNIT_EXPECT_PTR_EQ(test, f, nth(t, 1));
	KUNIT_EXPECT_EQ(test, f->hash, of_set(SFC_HOLD_WAYS));
	KUNIT_EXPECT_EQ(test, f->clock.until_ns, 0);
	/* a set beside it is another one */
	KUNIT_EXPECT_EQ(test, sfc_hold_find(t, &conf, of_set(0) + 1, T0 + 9)->hash, 0);
}

/* Who is paused, whom the watchdog remembers, and of whom packets wait, stays. */
static void sfc_hold_full_test(struct kunit *test)
{
	struct sfc_hold_flow *t = full_set(test);
	const u64 more = of_set(SFC_HOLD_WAYS);
	unsigned int i;

	for (i = 0; i < SFC_HOLD_WAYS; i++)
		bolt_pause_set(&nth(t, i)->clock, &conf, T0, MS);
	KUNIT_EXPECT_NULL(test, sfc_hold_sent(t, &conf, more, T0));
	/* those that are there are found all the same */
	KUNIT_EXPECT_PTR_EQ(test, sfc_hold_find(t, &conf, of_set(2), T0), nth(t, 2));
	/* over, but the watchdog remembers to the end of its interval */
	KUNIT_EXPECT_NULL(test, sfc_hold_sent(t, &conf, more, T0 + 100 * MS - 1));
	nth(t, 0)->held.qlen = 1;
	nth(t, 1)->held.qlen = 7;
	KUNIT_EXPECT_PTR_EQ(test, sfc_hold_sent(t, &conf, more, T0 + 100 * MS), nth(t, 2));
}

/* Deaf: its entry is not given away, or the next BTS would find it with a clean record */
static void sfc_hold_ignore_test(struct kunit *test)
{
	struct sfc_hold_flow *t = full_set(test);
	const u64 more = of_set(SFC_HOLD_WAYS);
	unsigned int i;

	for (i = 0; i < SFC_HOLD_WAYS; i++)
		nth(t, i)->clock.ignore_until_ns = T0 + (i == 3 ? 5 : 10) * MS;
	KUNIT_EXPECT_NULL(test, sfc_hold_find(t, &no_watchdog, more, T0 + 5 * MS - 1));
	KUNIT_EXPECT_PTR_EQ(test, sfc_hold_find(t, &no_watchdog, more, T0 + 5 * MS),
			    nth(t, 3));
}

struct sent_case {
	const char *name;
	u64 flow, sent, now;
	bool want;
};

/* FLOW has sent */
static const struct sent_case sents[] = {
	{ "just now", FLOW, T0, T0, true },
	{ "a second ago", FLOW, T0, T0 + 1000 * MS, true },
	{ "just in time", FLOW, T0, T0 + SFC_HOLD_SILENT_NS - 1, true },
	{ "too long ago", FLOW, T0, T0 + SFC_HOLD_SILENT_NS, false },
	{ "at the beginning of time", FLOW, 0, 1, true },
	{ "another flow of its set", FLOW ^ (1ULL << 32), T0, T0, false },
	{ "another set", FLOW + 1, T0, T0, false },
};

KUNIT_ARRAY_PARAM_DESC(sent, sents, name);

static void sfc_hold_sent_test(struct kunit *test)
{
	const struct sent_case *c = test->param_value;
	struct sfc_hold_flow *t = new_table(test);
	struct sfc_hold_flow *f = sfc_hold_find(t, &conf, c->flow, c->now);

	KUNIT_EXPECT_FALSE(test, sfc_hold_has_sent(f, c->flow, c->now));
	sfc_hold_sent(t, &conf, FLOW, c->sent);
	f = sfc_hold_find(t, &conf, c->flow, c->now);
	KUNIT_EXPECT_EQ(test, sfc_hold_has_sent(f, c->flow, c->now), c->want);
}

struct fits_case {
	const char *name;
	u32 limit, pkts;
	u64 bytes;
	bool held, want;
};

#define MEMORY_PKTS(memory)	((memory) / (SKB_TRUESIZE(0) + 64))

static const struct fits_case fits[] = {
	{ "bytes", 16 << 20, 1, 16 << 20, false, true },
	{ "bytes, one more", 16 << 20, 1, (16 << 20) + 1, false, false },
	{ "held", 16 << 20, 1, 14 << 20, true, true },
	{ "held, one more", 16 << 20, 1, (14 << 20) + 1, true, false },
	/* of 64 bytes each */
	{ "small", 16 << 20, MEMORY_PKTS(64 << 20), MEMORY_PKTS(64 << 20) * 64, false, true },
	{ "small, one more", 16 << 20, MEMORY_PKTS(64 << 20) + 1,
	  (MEMORY_PKTS(64 << 20) + 1) * 64, false, false },
	{ "small held", 16 << 20, MEMORY_PKTS(56 << 20), MEMORY_PKTS(56 << 20) * 64, true, true },
	{ "small held, one more", 16 << 20, MEMORY_PKTS(56 << 20) + 1,
	  (MEMORY_PKTS(56 << 20) + 1) * 64, true, false },
};

KUNIT_ARRAY_PARAM_DESC(fits, fits, name);

static void sfc_hold_fits_test(struct kunit *test)
{
	const struct fits_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, sfc_hold_fits(c->limit, c->pkts, c->bytes, c->held), c->want);
}

static struct kunit_case hold_cases[] = {
	KUNIT_CASE_PARAM(sfc_hold_fits_test, fits_gen_params),
	KUNIT_CASE(sfc_hold_flow_test),
	KUNIT_CASE(sfc_hold_silent_test),
	KUNIT_CASE(sfc_hold_full_test),
	KUNIT_CASE(sfc_hold_ignore_test),
	KUNIT_CASE_PARAM(sfc_hold_sent_test, sent_gen_params),
	{ }
};

static struct kunit_suite hold_suite = {
	.name = "sfc_hold",
	.test_cases = hold_cases,
};

kunit_test_suite(hold_suite);
