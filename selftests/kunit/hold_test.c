// SPDX-License-Identifier: GPL-2.0
/* KUnit: sch_sfc/hold.h, the paused destinations of a host's port and what it has sent. */

#include "compat.h"
#include "hold.h"

#define MS	1000000ULL
#define T0	(5000 * MS)

static const struct bolt_pause_conf conf = {
	.max_ns = 10 * MS, .interval_ns = 100 * MS, .recovery_ns = 40 * MS, .pct = 50,
};

static const struct bolt_pause_conf no_watchdog = {
	.max_ns = 10 * MS, .interval_ns = 1, .recovery_ns = 1, .pct = 100,
};

static struct sfc_hold_table *new_table(struct kunit *test)
{
	struct sfc_hold_table *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	return t;
}

static struct sfc_key key_no(u32 n)
{
	return (struct sfc_key){ .addr = { (__force __be32)n }, .family = 4 };
}

struct key_case {
	const char *name;
	u32 tag;
	struct sfc_key key;
	bool same;
};

/* Against a slot of tag 7 */
static const struct key_case keys[] = {
	{ "the same", 7, { .addr = { 1 }, .family = 4, .dscp = 3 }, true },
	{ "another tag", 8, { .addr = { 1 }, .family = 4, .dscp = 3 } },
	{ "another destination", 7, { .addr = { 2 }, .family = 4, .dscp = 3 } },
	{ "another DSCP", 7, { .addr = { 1 }, .family = 4, .dscp = 4 } },
	{ "another family", 7, { .addr = { 1 }, .family = 6, .dscp = 3 } },
	{ "its last word", 7, { .addr = { 1, 0, 0, 1 }, .family = 4, .dscp = 3 } },
};

KUNIT_ARRAY_PARAM_DESC(key, keys, name);

/* Same hash, another key: another slot */
static void sfc_hold_key_test(struct kunit *test)
{
	const struct key_case *c = test->param_value;
	struct sfc_hold_table *t = new_table(test);

	KUNIT_EXPECT_EQ(test, sfc_hold_find(t, c->tag, &c->key), -1);
	KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &conf, 7, &keys[0].key, T0), 0);
	bolt_pause_set(&t->slots[0].clock, &conf, T0, MS);
	KUNIT_EXPECT_EQ(test, sfc_hold_find(t, c->tag, &c->key), c->same ? 0 : -1);
	KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &conf, c->tag, &c->key, T0), c->same ? 0 : 1);
	KUNIT_EXPECT_EQ(test, t->slots[0].clock.until_ns, T0 + MS);
}

/* All slots, one too many, and who makes room */
static void sfc_hold_full_test(struct kunit *test)
{
	struct sfc_hold_table *t = new_table(test);
	struct sfc_key one_more = key_no(1000);
	struct sfc_key key;
	int i;

	for (i = 0; i < SFC_HOLD_SLOTS; i++) {
		key = key_no(i);
		KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &conf, i + 1, &key, T0), i);
		bolt_pause_set(&t->slots[i].clock, &conf, T0, MS + i);
	}
	KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &conf, 1000, &one_more, T0), -1);
	/* those that are there are found all the same */
	key = key_no(SFC_HOLD_SLOTS - 1);
	KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &conf, SFC_HOLD_SLOTS, &key, T0),
			SFC_HOLD_SLOTS - 1);
	/* over, but the watchdog remembers to the end of its interval */
	KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &conf, 1000, &one_more, T0 + 100 * MS - 1), -1);
	/* forgotten, but packets wait in the first two */
	t->busy = 3;
	KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &conf, 1000, &one_more, T0 + 100 * MS), 2);
	key = key_no(2);
	KUNIT_EXPECT_EQ(test, sfc_hold_find(t, 3, &key), -1);
	KUNIT_EXPECT_EQ(test, sfc_hold_find(t, 1000, &one_more), 2);
	/* nothing of who was there before */
	KUNIT_EXPECT_EQ(test, t->slots[2].clock.until_ns, 0);
	KUNIT_EXPECT_EQ(test, t->slots[2].clock.begin_ns, 0);
}

/* Deaf: its slot is not given away, or the next BTS would find it with a clean record */
static void sfc_hold_deaf_test(struct kunit *test)
{
	struct sfc_hold_table *t = new_table(test);
	struct sfc_key key;
	int i;

	for (i = 0; i < SFC_HOLD_SLOTS; i++) {
		key = key_no(i);
		sfc_hold_take(t, &no_watchdog, i + 1, &key, T0);
		t->slots[i].clock.deaf_ns = T0 + (i == 9 ? 5 : 10) * MS;
	}
	key = key_no(1000);
	KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &no_watchdog, 1000, &key, T0 + 5 * MS - 1), -1);
	KUNIT_EXPECT_EQ(test, sfc_hold_take(t, &no_watchdog, 1000, &key, T0 + 5 * MS), 9);
}

struct next_case {
	const char *name;
	u64 busy;
	u64 until[3];
	u64 want;
};

static const struct next_case nexts[] = {
	{ "nothing waits", 0, { 5, 6, 7 }, U64_MAX },
	{ "one", 1, { 5, 6, 7 }, 5 },
	{ "the earlier", 6, { 1, 9, 7 }, 7 },
	{ "all", 7, { 8, 9, 7 }, 7 },
	{ "over already", 1, { 0, 6, 7 }, 0 },
};

KUNIT_ARRAY_PARAM_DESC(next, nexts, name);

static void sfc_hold_next_test(struct kunit *test)
{
	const struct next_case *c = test->param_value;
	struct sfc_hold_table *t = new_table(test);
	/* where they stand does not matter: the last bit of a u64 is one as well */
	const unsigned int shift[] = { 0, 31, 61 };
	unsigned int i, j;

	for (j = 0; j < ARRAY_SIZE(shift); j++) {
		memset(t, 0, sizeof(*t));
		t->busy = c->busy << shift[j];
		for (i = 0; i < 3; i++)
			t->slots[i + shift[j]].clock.until_ns = c->until[i];
		KUNIT_EXPECT_EQ(test, sfc_hold_next(t), c->want);
	}
}

#define TICK	(1ULL << SFC_SENT_SHIFT)
#define FLOW	0x1234567800000005ULL

struct sent_case {
	const char *name;
	u64 flow, sent, now;
	bool want;
};

/* FLOW has sent */
static const struct sent_case sents[] = {
	{ "just now", FLOW, T0, T0, true },
	{ "a second ago", FLOW, T0, T0 + 1000 * MS, true },
	{ "in the last tick", FLOW, 7 * TICK, (7 + SFC_SENT_TICKS) * TICK - 1, true },
	{ "too long ago", FLOW, 7 * TICK, (7 + SFC_SENT_TICKS) * TICK, false },
	{ "across the end of the ticks", FLOW, (1ULL << 52) - 1, (1ULL << 52) + TICK, true },
	{ "at the beginning of time", FLOW, 0, 1, true },
	{ "another flow of its set", FLOW ^ (1ULL << 32), T0, T0, false },
	{ "another set", FLOW + 1, T0, T0, false },
};

KUNIT_ARRAY_PARAM_DESC(sent, sents, name);

static void sfc_sent_test(struct kunit *test)
{
	const struct sent_case *c = test->param_value;
	struct sfc_sent *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_EXPECT_FALSE(test, sfc_sent_has(s, c->flow, c->now));
	sfc_sent_add(s, FLOW, c->sent);
	KUNIT_EXPECT_EQ(test, sfc_sent_has(s, c->flow, c->now), c->want);
}

/* A set holds as many flows as it has ways; then who has been silent longest goes */
static void sfc_sent_evict_test(struct kunit *test)
{
	struct sfc_sent *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u64 flow[SFC_SENT_WAYS + 1], now = T0 + 100 * TICK;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	for (i = 0; i <= SFC_SENT_WAYS; i++)
		flow[i] = (i + 1ULL) << 32 | 9;
	for (i = 0; i < SFC_SENT_WAYS; i++)
		sfc_sent_add(s, flow[i], T0 + i * TICK);
	sfc_sent_add(s, flow[0], now - TICK);
	for (i = 0; i < SFC_SENT_WAYS; i++)
		KUNIT_EXPECT_TRUE(test, sfc_sent_has(s, flow[i], now));
	sfc_sent_add(s, flow[SFC_SENT_WAYS], now);
	for (i = 0; i <= SFC_SENT_WAYS; i++)
		KUNIT_EXPECT_EQ(test, sfc_sent_has(s, flow[i], now), i != 1);
}

static struct kunit_case hold_cases[] = {
	KUNIT_CASE_PARAM(sfc_hold_key_test, key_gen_params),
	KUNIT_CASE(sfc_hold_full_test),
	KUNIT_CASE(sfc_hold_deaf_test),
	KUNIT_CASE_PARAM(sfc_hold_next_test, next_gen_params),
	KUNIT_CASE_PARAM(sfc_sent_test, sent_gen_params),
	KUNIT_CASE(sfc_sent_evict_test),
	{ }
};

static struct kunit_suite hold_suite = {
	.name = "sfc_hold",
	.test_cases = hold_cases,
};

kunit_test_suite(hold_suite);
