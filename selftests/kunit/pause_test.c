// SPDX-License-Identifier: GPL-2.0
/* KUnit: sch_sfc/pause.h, pause times and thresholds. */

#include "compat.h"
#include "sch_sfc/pause.h"

#define GBPS	125000000ULL		/* bytes/s */
#define MS	1000000U

struct pause_case {
	const char *name;
	u64 rate;
	u32 queue, qtg, max_ns, want;
};

static const struct pause_case pauses[] = {
	/* 100 Gb/s, 10 us: one BDP is 125 KB and takes 10 us */
	{ "two BDP", 100 * GBPS, 250000, 125000, 10 * MS, 10000 },
	{ "a byte beyond the target", 100 * GBPS, 125001, 125000, 10 * MS, 1 },
	{ "a packet beyond", 100 * GBPS, 126500, 125000, 10 * MS, 120 },
	{ "at the target", 100 * GBPS, 125000, 125000, 10 * MS, 0 },
	{ "below the target", 100 * GBPS, 0, 125000, 10 * MS, 0 },
	{ "the peak of figure 1", 100 * GBPS, 13000000, 125000, 10 * MS, 1030000 },
	{ "at the longest", 100 * GBPS, 125125000, 125000, 10 * MS, 10 * MS },
	{ "beyond the longest", 100 * GBPS, 125126000, 125000, 10 * MS, 10 * MS },
	{ "400 Gb/s", 400 * GBPS, 1000000, 500000, 10 * MS, 10000 },
	{ "1 Mb/s", GBPS / 1000, 3028, 1514, 4000 * MS, 12112000 },
	{ "4 GB at 8 kbit/s", TC_SFC_RATE_MIN, U32_MAX, 0, U32_MAX, U32_MAX },
	{ "no rate", 0, 250000, 125000, 10 * MS, 0 },
};

KUNIT_ARRAY_PARAM_DESC(pause, pauses, name);

static void sfc_pause_ns_test(struct kunit *test)
{
	const struct pause_case *c = test->param_value;
	struct sfc_rate r;
	u32 got;

	sfc_rate_set(&r, c->rate);
	got = sfc_pause_ns(&r, c->queue, c->qtg, c->max_ns);
	/* rounded down, and short by 2^-22 of itself at the most */
	KUNIT_EXPECT_LE(test, got, c->want);
	KUNIT_EXPECT_GE(test, (u64)got + (got >> 22) + 1, c->want);
}

struct thresholds_case {
	const char *name;
	u64 rate;
	u32 rtt_ns, mtu, limit, qth, qtg;
	u32 want_qth, want_qtg;
};

static const struct thresholds_case thresholds[] = {
	{ "the paper's", 100 * GBPS, 10000, 1514, 16 << 20, 0, 0, 250000, 125000 },
	{ "twice the RTT", 100 * GBPS, 20000, 1514, 16 << 20, 0, 0, 500000, 250000 },
	{ "400 Gb/s", 400 * GBPS, 10000, 1514, 16 << 20, 0, 0, 1000000, 500000 },
	{ "below two packets", GBPS, 10000, 1514, 16 << 20, 0, 0, 6056, 3028 },
	{ "jumbo frames", 10 * GBPS, 10000, 9014, 16 << 20, 0, 0, 36056, 18028 },
	{ "qth given", 100 * GBPS, 10000, 1514, 16 << 20, 400000, 0, 400000, 125000 },
	{ "qth of one BDP given", 100 * GBPS, 10000, 1514, 16 << 20, 125000, 0, 125000, 62500 },
	{ "qtg given", 100 * GBPS, 10000, 1514, 16 << 20, 0, 50000, 250000, 50000 },
	{ "large qtg given", 100 * GBPS, 10000, 1514, 16 << 20, 0, 200000, 400000, 200000 },
	{ "both given", 100 * GBPS, 10000, 1514, 16 << 20, 7, 5, 7, 5 },
	{ "small limit", 100 * GBPS, 10000, 1514, 100000, 0, 0, 100000, 50000 },
	{ "qtg near the limit", 100 * GBPS, 10000, 1514, 100000, 0, 99999, 100000, 99999 },
	{ "the largest RTT", TC_SFC_RATE_MAX, SFC_RTT_MAX_NS, 1514, U32_MAX, 0, 0, U32_MAX,
	  U32_MAX / 2 },
};

KUNIT_ARRAY_PARAM_DESC(thresholds, thresholds, name);

static void sfc_pause_thresholds_test(struct kunit *test)
{
	const struct thresholds_case *c = test->param_value;
	u32 qth = c->qth, qtg = c->qtg;
	struct sfc_rate r;

	sfc_rate_set(&r, c->rate);
	sfc_pause_thresholds(&r, c->rtt_ns, c->mtu, c->limit, &qth, &qtg);
	/* a BDP is rounded down */
	KUNIT_EXPECT_LE(test, qth, c->want_qth);
	KUNIT_EXPECT_GE(test, qth + 2ULL, c->want_qth);
	KUNIT_EXPECT_LE(test, qtg, c->want_qtg);
	KUNIT_EXPECT_GE(test, qtg + 1ULL, c->want_qtg);
	KUNIT_EXPECT_LT(test, qtg, qth);
}

/*
 * Section 3.3, the worst case: the packet that triggers is the last one sent.  Its sender comes
 * back T_F later than it would have had to, and with Qtg of T_F * R the link does not idle.
 */
static void sfc_pause_no_underrun_test(struct kunit *test)
{
	static const u64 rates[] = { 10 * GBPS, 25 * GBPS, 100 * GBPS, 400 * GBPS };
	static const u32 rtts[] = { 2000, 10000, 16000, 50000 };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		for (j = 0; j < ARRAY_SIZE(rtts); j++) {
			u32 qth = 0, qtg = 0, pause, drained;
			struct sfc_rate r;

			sfc_rate_set(&r, rates[i]);
			sfc_pause_thresholds(&r, rtts[j], 1514, U32_MAX, &qth, &qtg);
			pause = sfc_pause_ns(&r, qth, qtg, SFC_PAUSE_MAX_NS);
			/* half T_F until the BTS is there, half until its data is here */
			drained = sfc_bdp(&r, rtts[j] + pause, U32_MAX);
			KUNIT_EXPECT_LE(test, drained, qth);
		}
	}
}

static struct kunit_case pause_cases[] = {
	KUNIT_CASE_PARAM(sfc_pause_ns_test, pause_gen_params),
	KUNIT_CASE_PARAM(sfc_pause_thresholds_test, thresholds_gen_params),
	KUNIT_CASE(sfc_pause_no_underrun_test),
	{ }
};

static struct kunit_suite pause_suite = {
	.name = "sfc_pause",
	.test_cases = pause_cases,
};

kunit_test_suite(pause_suite);
