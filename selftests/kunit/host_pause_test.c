// SPDX-License-Identifier: GPL-2.0
/* KUnit: include/bolt_pause.h, the end of a pause and the watchdog, BTS by BTS. */

#include "compat.h"
#include "bolt_pause.h"

#define MS	1000000ULL
#define T0	(5000 * MS)

static const struct bolt_pause_conf conf = {
	.max_ns = 10 * MS, .interval_ns = 100 * MS, .recovery_ns = 40 * MS, .pct = 50,
};

static const struct bolt_pause_conf no_watchdog = {
	.max_ns = 10 * MS, .interval_ns = 100 * MS, .recovery_ns = 40 * MS, .pct = 100,
};

struct pause_step {
	u64 at_ns, pause_ns;
	enum bolt_pause_what what;
	u64 until_ns;
};

struct pause_case {
	const char *name;
	const struct bolt_pause_conf *conf;
	struct pause_step steps[8];
};

#define STEP(at, pause, what, until) { T0 + (at), pause, BOLT_PAUSE_##what, T0 + (until) }

static const struct pause_case pause_cases[] = {
	{ "as asked", &conf, { STEP(0, 7001, BEGUN, 7001) } },
	{ "a nanosecond", &conf, { STEP(0, 1, BEGUN, 1) } },
	{ "none", &conf, { STEP(0, 0, REPLACED, 0) } },
	{ "none, and again none", &conf, { STEP(0, 0, REPLACED, 0), STEP(5, 0, REPLACED, 5) } },
	{ "none opens no interval", &conf,
	  { STEP(0, 0, REPLACED, 0), STEP(90 * MS, 10 * MS, BEGUN, 100 * MS),
	    STEP(100 * MS, 10 * MS, BEGUN, 110 * MS), STEP(110 * MS, 10 * MS, BEGUN, 120 * MS),
	    STEP(120 * MS, 10 * MS, BEGUN, 130 * MS), STEP(130 * MS, 10 * MS, BEGUN, 140 * MS),
	    STEP(140 * MS, MS, TRIPPED, 140 * MS) } },
	{ "ended where the account is used up", &conf,
	  { STEP(0, 10 * MS, BEGUN, 10 * MS), STEP(10 * MS, 10 * MS, BEGUN, 20 * MS),
	    STEP(20 * MS, 10 * MS, BEGUN, 30 * MS), STEP(30 * MS, 10 * MS, BEGUN, 40 * MS),
	    STEP(40 * MS, 10 * MS, BEGUN, 50 * MS), STEP(50 * MS, 0, REPLACED, 50 * MS),
	    STEP(99 * MS, 0, REPLACED, 99 * MS), STEP(100 * MS, MS, BEGUN, 101 * MS) } },
	{ "ended while pauses are ignored", &conf,
	  { STEP(0, 10 * MS, BEGUN, 10 * MS), STEP(10 * MS, 10 * MS, BEGUN, 20 * MS),
	    STEP(20 * MS, 10 * MS, BEGUN, 30 * MS), STEP(30 * MS, 10 * MS, BEGUN, 40 * MS),
	    STEP(40 * MS, 10 * MS, BEGUN, 50 * MS), STEP(50 * MS, MS, TRIPPED, 50 * MS),
	    STEP(60 * MS, 0, IGNORED, 50 * MS) } },
	{ "the longest", &conf, { STEP(0, 10 * MS, BEGUN, 10 * MS) } },
	{ "one more is cut off", &conf, { STEP(0, 10 * MS + 1, BEGUN, 10 * MS) } },
	{ "the field's end", &conf, { STEP(0, U32_MAX, BEGUN, 10 * MS) } },
	{ "longer", &conf, { STEP(0, 1 * MS, BEGUN, 1 * MS),
			     STEP(MS / 2, 3 * MS, REPLACED, 3 * MS + MS / 2) } },
	{ "shorter", &conf, { STEP(0, 9 * MS, BEGUN, 9 * MS), STEP(1, 2, REPLACED, 3) } },
	{ "ended", &conf, { STEP(0, 9 * MS, BEGUN, 9 * MS), STEP(5, 0, REPLACED, 5) } },
	{ "at its very end", &conf, { STEP(0, 100, BEGUN, 100), STEP(100, 7, BEGUN, 107) } },
	{ "one after the other", &conf, { STEP(0, 100, BEGUN, 100), STEP(200, 100, BEGUN, 300) } },
	{ "only the paused part counts", &conf,
	  { STEP(0, 10 * MS, BEGUN, 10 * MS), STEP(MS, 0, REPLACED, MS),
	    STEP(20 * MS, 10 * MS, BEGUN, 30 * MS), STEP(30 * MS, 10 * MS, BEGUN, 40 * MS),
	    STEP(40 * MS, 10 * MS, BEGUN, 50 * MS), STEP(50 * MS, 10 * MS, BEGUN, 60 * MS),
	    /* 41 of 50 ms used: 9 are left */
	    STEP(60 * MS, 10 * MS, BEGUN, 69 * MS), STEP(69 * MS, 1, TRIPPED, 69 * MS) } },
	{ "a storm, tripped, ignored, recovered", &conf,
	  { STEP(0, 10 * MS, BEGUN, 10 * MS), STEP(9 * MS, 10 * MS, REPLACED, 19 * MS),
	    STEP(18 * MS, 10 * MS, REPLACED, 28 * MS), STEP(45 * MS, 10 * MS, BEGUN, 55 * MS),
	    /* 28 + 10 */
	    STEP(60 * MS, 10 * MS, BEGUN, 70 * MS), STEP(70 * MS, 10 * MS, BEGUN, 72 * MS),
	    STEP(80 * MS, MS, TRIPPED, 72 * MS), STEP(120 * MS - 1, MS, IGNORED, 72 * MS) } },
	{ "the next interval", &conf,
	  { STEP(0, 10 * MS, BEGUN, 10 * MS), STEP(10 * MS, 10 * MS, BEGUN, 20 * MS),
	    STEP(20 * MS, 10 * MS, BEGUN, 30 * MS), STEP(30 * MS, 10 * MS, BEGUN, 40 * MS),
	    STEP(40 * MS, 9 * MS, BEGUN, 49 * MS), STEP(90 * MS, 9 * MS, BEGUN, 91 * MS),
	    STEP(100 * MS, 9 * MS, BEGUN, 109 * MS) } },
	{ "no watchdog", &no_watchdog,
	  { STEP(0, 10 * MS, BEGUN, 10 * MS), STEP(9 * MS, 10 * MS, REPLACED, 19 * MS),
	    STEP(18 * MS, 10 * MS, REPLACED, 28 * MS), STEP(27 * MS, 10 * MS, REPLACED, 37 * MS),
	    STEP(36 * MS, 10 * MS, REPLACED, 46 * MS), STEP(45 * MS, 10 * MS, REPLACED, 55 * MS),
	    STEP(54 * MS, 10 * MS, REPLACED, 64 * MS),
	    STEP(63 * MS, 10 * MS, REPLACED, 73 * MS) } },
};

KUNIT_ARRAY_PARAM_DESC(pause, pause_cases, name);

static void bolt_pause_set_test(struct kunit *test)
{
	const struct pause_case *c = test->param_value;
	struct bolt_pause_clock p = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(c->steps) && c->steps[i].at_ns; i++) {
		const struct pause_step *s = &c->steps[i];

		KUNIT_EXPECT_EQ(test, bolt_pause_set(&p, c->conf, s->at_ns, s->pause_ns), s->what);
		KUNIT_EXPECT_EQ(test, p.until_ns, s->until_ns);
	}
}

/* After the recovery the account is empty */
static void bolt_pause_recovery_test(struct kunit *test)
{
	struct bolt_pause_clock p = {};
	u64 now = T0;
	int i;

	for (i = 0; i < 5; i++, now += 10 * MS)
		KUNIT_EXPECT_EQ(test, bolt_pause_set(&p, &conf, now, 10 * MS), BOLT_PAUSE_BEGUN);
	KUNIT_EXPECT_EQ(test, bolt_pause_set(&p, &conf, now, 10 * MS), BOLT_PAUSE_TRIPPED);
	KUNIT_EXPECT_EQ(test, bolt_pause_set(&p, &conf, now + 40 * MS - 1, MS), BOLT_PAUSE_IGNORED);
	KUNIT_EXPECT_EQ(test, bolt_pause_set(&p, &conf, now + 40 * MS, 10 * MS), BOLT_PAUSE_BEGUN);
	KUNIT_EXPECT_EQ(test, p.until_ns, now + 50 * MS);
	KUNIT_EXPECT_EQ(test, p.used_ns, 0ULL);
}

/*
 * Whatever comes, at whatever times: no interval of the watchdog's has more pause than its share,
 * and no stretch is longer than two of them.
 */
static void bolt_pause_storm_test(struct kunit *test)
{
	u64 s = 1, now = T0, stretch = T0, budget = conf.interval_ns / 2, trips = 0;
	struct bolt_pause_clock p = {};
	int i;

	for (i = 0; i < 100000; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		if (p.until_ns < now)
			stretch = now;
		trips += bolt_pause_set(&p, &conf, now, s & 0xffffff) == BOLT_PAUSE_TRIPPED;
		if (p.used_ns > budget || p.until_ns > stretch + 2 * budget)
			KUNIT_FAIL(test, "step %d: used %llu, stretch %llu", i, p.used_ns,
				   p.until_ns - stretch);
		now += s >> 48 << (s & 7);
	}
	KUNIT_EXPECT_GT(test, trips, 10ULL);
}

/* Kept while it pauses, while pauses are ignored, while an interval is open; then forgotten */
static void bolt_pause_keep_test(struct kunit *test)
{
	struct bolt_pause_clock p = {};

	KUNIT_EXPECT_EQ(test, bolt_pause_keep(&p, &conf, T0), 0ULL);
	bolt_pause_set(&p, &conf, T0, MS);
	KUNIT_EXPECT_EQ(test, bolt_pause_keep(&p, &conf, T0 + MS), 99 * MS);
	KUNIT_EXPECT_EQ(test, bolt_pause_keep(&p, &conf, T0 + 100 * MS - 1), 1ULL);
	KUNIT_EXPECT_EQ(test, bolt_pause_keep(&p, &conf, T0 + 100 * MS), 0ULL);
	p.ignore_until_ns = T0 + 150 * MS;
	KUNIT_EXPECT_EQ(test, bolt_pause_keep(&p, &conf, T0 + 100 * MS), 50 * MS);
	p.until_ns = T0 + 170 * MS;
	KUNIT_EXPECT_EQ(test, bolt_pause_keep(&p, &conf, T0 + 100 * MS), 70 * MS);
}

static struct kunit_case bolt_pause_cases[] = {
	KUNIT_CASE_PARAM(bolt_pause_set_test, pause_gen_params),
	KUNIT_CASE(bolt_pause_recovery_test),
	KUNIT_CASE(bolt_pause_storm_test),
	KUNIT_CASE(bolt_pause_keep_test),
	{ }
};

static struct kunit_suite bolt_pause_suite = {
	.name = "bolt_pause",
	.test_cases = bolt_pause_cases,
};

kunit_test_suite(bolt_pause_suite);
