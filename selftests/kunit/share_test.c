// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sch_sfc/share.h, a port's supply for several queues: what all are given together against
 * what the link can carry, whatever the order and the clocks of the queues.
 */

#include <linux/prandom.h>

#include "compat.h"
#include "share.h"

#define MTU	1514
#define GBPS	125000000ULL
#define QUEUES	8

struct share_case {
	const char *name;
	u64 rate;		/* bytes/s */
	u32 smcap;
	u32 queues;		/* that have packets */
	u32 load;		/* per cent of the link, of all together */
	u32 skew_ns;		/* a queue's clock may be so late */
};

static const struct share_case share_cases[] = {
	{ "one of eight, half", 100 * GBPS, 100000, 1, 50 },
	{ "all, half", 100 * GBPS, 100000, QUEUES, 50 },
	{ "all, nine tenths", 100 * GBPS, 100000, QUEUES, 90 },
	{ "all, overload", 100 * GBPS, 100000, QUEUES, 150 },
	{ "all, nine tenths, clocks late", 100 * GBPS, 100000, QUEUES, 90, 3000 },
	{ "all, overload, clocks late", 100 * GBPS, 100000, QUEUES, 150, 3000 },
	{ "1 Gb/s, three quarters", GBPS, MTU, QUEUES, 75 },
	{ "400 Gb/s, three quarters", 400 * GBPS, 400000, QUEUES, 75, 100 },
};

KUNIT_ARRAY_PARAM_DESC(share, share_cases, name);

/* The header's promise; and all together are given what one queue would be, but for a part */
static void sfc_share_bound_test(struct kunit *test)
{
	const struct share_case *c = test->param_value;
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = c->smcap, .floor = 16 << 20, .sm = true };
	struct sfc_sm own[QUEUES] = { }, port = { }, one = { };
	u64 begin = 1000000, now = begin, demand = 0, given = 0, alone = 0;
	struct sfc_share share[QUEUES] = { };
	struct rnd_state rnd;
	s64 supply, slack;
	u32 i, n, settled = 0;

	prandom_seed_state(&rnd, 1);
	sfc_rate_set(&cfg.rate, c->rate);
	port.last_ns = begin;
	one.last_ns = begin;
	for (i = 0; i < QUEUES; i++)
		share[i].batch = sfc_share_batch(&cfg, QUEUES);

	for (n = 0; n < 100000; n++) {
		struct sfc_alg_in in = { .size = MTU, .segs = 1 };

		/* gaps between none and twice the mean */
		now += div_u64(MTU * 100ULL * NSEC_PER_SEC * (prandom_u32_state(&rnd) % 1000),
			       c->rate) / (500 * c->load);
		in.now = now - (c->skew_ns ? prandom_u32_state(&rnd) % c->skew_ns : 0);
		i = prandom_u32_state(&rnd) % c->queues;
		demand += MTU;
		if (sfc_share_add(&share[i], MTU, in.now)) {
			sfc_share_settle(&share[i], &own[i], &port, &cfg, &in);
			settled++;
		}
		if (sfc_sm_take(&own[i], MTU))
			given += MTU;

		in.now = now;
		sfc_sm_update(&one, &cfg.rate, now, MTU, sfc_supply_cap(&cfg, &one, &in),
			      cfg.floor);
		if (sfc_sm_take(&one, MTU))
			alone += MTU;

		supply = sfc_supply(&cfg.rate, now - begin) >> SFC_TOKEN_SHIFT;
		slack = cfg.smcap + QUEUES * (share[0].batch + MTU);
		/* what the link could not carry is forgotten beyond the floor only */
		if ((s64)given > supply - (s64)demand + slack && given > slack) {
			KUNIT_FAIL(test, "packet %u: %llu bytes given, supply %lld, demand %llu",
				   n, given, supply, demand);
			break;
		}
	}
	KUNIT_EXPECT_GE_MSG(test, given + slack + div_u64(demand, 20), alone, "one queue");
	/* of a slow link, tokens are old before a batch has come */
	if (c->rate > GBPS)
		KUNIT_EXPECT_LE(test, settled, n / 3);
}

/* One slow flow, all of whose packets ask: a link that is all but idle grants as one queue does */
static void sfc_share_sparse_test(struct kunit *test)
{
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = 100000, .floor = 1 << 20, .sm = true };
	u32 gap, given;
	u64 now;

	sfc_rate_set(&cfg.rate, 100 * GBPS);
	for (gap = 1000; gap < 4 * SFC_SM_IDLE_NS; gap += 1000) {
		struct sfc_share s = { .batch = sfc_share_batch(&cfg, 4), .settled_ns = 1000000 };
		struct sfc_sm own = { }, port = { .last_ns = 1000000 };

		given = 0;
		for (now = 1000000 + gap; now <= 1000000 + 200 * gap; now += gap) {
			struct sfc_alg_in in = { .now = now, .size = MTU, .segs = 1 };

			if (sfc_share_add(&s, MTU, now))
				sfc_share_settle(&s, &own, &port, &cfg, &in);
			given += sfc_sm_take(&own, MTU);
		}
		/* none before the first time */
		KUNIT_EXPECT_GE_MSG(test, given + SFC_SHARE_OLD_NS / gap, 200, "each %u ns", gap);
	}
}

struct news_case {
	const char *name;
	u32 backlog, told, grain;
	bool want;
};

static const struct news_case news_cases[] = {
	{ "nothing, as told", 0, 0, 757, false },
	{ "less than the grain", 756, 0, 757, false },
	{ "the grain", 757, 0, 757, true },
	{ "less by the grain", 1000, 1757, 757, true },
	{ "nothing any more", 0, 1, 757, true },
	{ "an eighth", 9000, 8000, 757, true },
	{ "less than an eighth", 8999, 8000, 757, false },
	{ "an eighth less", 7000, 8000, 757, true },
	{ "most", U32_MAX, 0, 757, true },
};

KUNIT_ARRAY_PARAM_DESC(news, news_cases, name);

static void sfc_share_news_test(struct kunit *test)
{
	const struct news_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, sfc_share_news(c->backlog, c->told, c->grain), c->want);
}

static void sfc_share_batch_test(struct kunit *test)
{
	static const u32 want[][2] = {
		{ 1, 100000 }, { 8, 12500 }, { 16, 6250 }, { 17, 6250 }, { 64, 6250 },
	};
	struct sfc_alg_cfg cfg = { .smcap = 100000 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ(test, sfc_share_batch(&cfg, want[i][0]), want[i][1]);
}

/* A super-packet needs more at once than a batch; and what is old goes back */
static void sfc_share_settle_test(struct kunit *test)
{
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = 100 * MTU, .floor = 1 << 20 };
	struct sfc_share s = { .batch = 4 * MTU };
	struct sfc_alg_in in = { .now = 1000, .size = MTU, .segs = 1 };
	struct sfc_sm port = { }, own = { };

	sfc_rate_set(&cfg.rate, GBPS);
	port.last_ns = 1000;
	port.token = sfc_bytes_to_tokens(50 * MTU);
	KUNIT_EXPECT_FALSE(test, sfc_share_add(&s, MTU, 1000));
	sfc_share_settle(&s, &own, &port, &cfg, &in);
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&own), 5 * MTU);
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&port), 44 * MTU);
	in.segs = 40;
	KUNIT_EXPECT_TRUE(test, sfc_share_add(&s, 40 * MTU, 1001));
	sfc_share_settle(&s, &own, &port, &cfg, &in);
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&own), 9 * MTU);
	KUNIT_EXPECT_EQ(test, port.token, 0LL);
	/* a link that was idle has one packet */
	in.segs = 1;
	in.now = 1000 + SFC_SM_IDLE_NS;
	KUNIT_EXPECT_TRUE(test, sfc_share_add(&s, 0, in.now));
	sfc_share_settle(&s, &own, &port, &cfg, &in);
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&own) + sfc_sm_bytes(&port), MTU);
}

static struct kunit_case sfc_share_cases[] = {
	KUNIT_CASE_PARAM(sfc_share_bound_test, share_gen_params),
	KUNIT_CASE_PARAM(sfc_share_news_test, news_gen_params),
	KUNIT_CASE(sfc_share_batch_test),
	KUNIT_CASE(sfc_share_settle_test),
	KUNIT_CASE(sfc_share_sparse_test),
	{ }
};

static struct kunit_suite sfc_share_suite = {
	.name = "sfc_share",
	.test_cases = sfc_share_cases,
};

kunit_test_suite(sfc_share_suite);
