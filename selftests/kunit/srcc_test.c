// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: SRCC.  sch_sfc/srcc.h: flows counted, the threshold, the rate, what a flow knows;
 * tcp_bolt/cap.h: the rate that CNM limit a flow to, and how that ends.
 */

#include "cap.h"
#include "compat.h"
#include "srcc.h"

#define GBPS	125000000ULL
#define US	((u64)NSEC_PER_USEC)

static const struct sfc_srcc_cfg cfg = {
	.threshold = TC_SFC_SRCC_EQUATION, .floor = 3000, .delay_ns = 1000, .window_ns = 30000,
};

/* --- how many flows --- */

static struct sfc_srcc *sfc_srcc_new(struct kunit *test)
{
	struct sfc_srcc *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

static void sfc_srcc_count_test(struct kunit *test)
{
	struct sfc_srcc *s = sfc_srcc_new(test);
	u64 t0 = 1000 * US, i;

	KUNIT_EXPECT_EQ_MSG(test, sfc_srcc_count(s), 1, "nothing seen");
	for (i = 0; i < 20; i++)
		sfc_srcc_see(s, &cfg, 1 + i % 10, t0 + i);
	KUNIT_EXPECT_EQ_MSG(test, sfc_srcc_count(s), 10, "each once");
	/* the next period: those of the one before count until there are more */
	sfc_srcc_see(s, &cfg, 1, t0 + 30 * US);
	KUNIT_EXPECT_EQ_MSG(test, sfc_srcc_count(s), 10, "one again");
	for (i = 0; i < 12; i++)
		sfc_srcc_see(s, &cfg, 100 + i, t0 + 31 * US);
	KUNIT_EXPECT_EQ_MSG(test, sfc_srcc_count(s), 13, "more");
	sfc_srcc_see(s, &cfg, 1, t0 + 60 * US);
	sfc_srcc_see(s, &cfg, 1, t0 + 90 * US);
	KUNIT_EXPECT_EQ_MSG(test, sfc_srcc_count(s), 1, "the others are gone for a period");
	for (i = 0; i < 5; i++)
		sfc_srcc_see(s, &cfg, 1 + i, t0 + 91 * US);
	sfc_srcc_see(s, &cfg, 1, t0 + 150 * US);
	KUNIT_EXPECT_EQ_MSG(test, sfc_srcc_count(s), 1, "after silence");
}

/* More flows than there are slots: each is told, and the number is bounded */
static void sfc_srcc_full_test(struct kunit *test)
{
	struct sfc_srcc *s = sfc_srcc_new(test);
	struct sfc_srcc_flow *f;
	u64 i;

	for (i = 1; i <= 10 * SFC_SRCC_SLOTS; i++) {
		f = sfc_srcc_see(s, &cfg, i * 0x9e3779b97f4a7c15ULL, US);
		KUNIT_EXPECT_EQ(test, f->hash, i * 0x9e3779b97f4a7c15ULL);
		KUNIT_EXPECT_EQ(test, f->notified_kbps, 0);
		f->notified_kbps = 1;
	}
	KUNIT_EXPECT_EQ(test, sfc_srcc_count(s), SFC_SRCC_SLOTS);
}

/* Of all slots that a flow could have, it takes that of the one seen longest ago */
static void sfc_srcc_oldest_test(struct kunit *test)
{
	struct sfc_srcc *s = sfc_srcc_new(test);
	u64 i, t = 1000 * US;

	for (i = 1; i <= SFC_SRCC_PROBES; i++)
		sfc_srcc_see(s, &cfg, i * SFC_SRCC_SLOTS, t)->notified_kbps = i;
	t += 30 * US;
	for (i = 2; i <= SFC_SRCC_PROBES; i++)
		sfc_srcc_see(s, &cfg, i * SFC_SRCC_SLOTS, t);
	sfc_srcc_see(s, &cfg, i * SFC_SRCC_SLOTS, t);
	for (i = 2; i <= SFC_SRCC_PROBES; i++)
		KUNIT_EXPECT_EQ(test, sfc_srcc_see(s, &cfg, i * SFC_SRCC_SLOTS, t)->notified_kbps,
				i);
}

/* --- threshold --- */

struct threshold_case {
	const char *name;
	u32 threshold, qpfc, ports, hops, flows, growth, want;
};

#define EQ	TC_SFC_SRCC_EQUATION
#define MS	TC_SFC_SRCC_MEASURED

/* At 100 Gb/s a link of 1 us holds 12 500 bytes */
static const struct threshold_case threshold_cases[] = {
	{ "constant", 100000, 500000, 4, 2, 30, 99999, 100000 },
	{ "one flow: Q_PFC", EQ, 500000, 1, 2, 1, 0, 500000 },
	{ "M", EQ, 500000, 4, 2, 1, 0, 125000 },
	{ "N d C (m - 1)", EQ, 500000, 1, 2, 3, 0, 450000 },
	{ "M and the rest", EQ, 500000, 2, 1, 11, 0, 125000 },
	{ "the paper's burst: below the floor", EQ, 500000, 2, 3, 24, 0, 3000 },
	{ "no port counted yet", EQ, 500000, 0, 2, 1, 0, 500000 },
	{ "measured: a still queue", MS, 500000, 2, 2, 30, 0, 250000 },
	{ "measured: N d dQ/dt", MS, 500000, 2, 2, 30, 87500, 75000 },
	{ "a floor beyond Q_PFC / M", EQ, 4000, 4, 2, 30, 0, 1000 },
	{ "measured: faster than there is room", MS, 500000, 2, 3, 30, 87500, 3000 },
	{ "all at their largest", EQ, U32_MAX, 1, 255, 1024, 0, U32_MAX - 255U * 1023 * 12500 },
};

KUNIT_ARRAY_PARAM_DESC(threshold, threshold_cases, name);

static void sfc_srcc_threshold_test(struct kunit *test)
{
	const struct threshold_case *c = test->param_value;
	struct sfc_srcc *s = sfc_srcc_new(test);
	struct sfc_srcc_cfg one = cfg;
	struct sfc_rate rate;

	one.threshold = c->threshold;
	s->seen = c->flows;
	s->ports = c->ports;
	s->growth = c->growth;
	sfc_rate_set(&rate, 100 * GBPS);
	KUNIT_EXPECT_EQ(test, sfc_srcc_threshold(s, &one, &rate, c->qpfc, c->hops), c->want);
}

static void sfc_srcc_measure_test(struct kunit *test)
{
	struct sfc_srcc *s = sfc_srcc_new(test);

	sfc_srcc_measure(s, &cfg, 1000, 10000 * US);
	sfc_srcc_measure(s, &cfg, 9000, 10000 * US + 999);
	KUNIT_EXPECT_EQ_MSG(test, s->sample, 1000, "too soon");
	sfc_srcc_measure(s, &cfg, 9000, 10001 * US);
	KUNIT_EXPECT_EQ_MSG(test, s->growth, 8000, "in a delay");
	sfc_srcc_measure(s, &cfg, 13000, 10003 * US);
	KUNIT_EXPECT_EQ_MSG(test, s->growth, 2000, "in two");
	sfc_srcc_measure(s, &cfg, 0, 10004 * US);
	KUNIT_EXPECT_EQ_MSG(test, s->growth, 0, "it shrinks");
}

/* --- the rate --- */

struct rate_case {
	const char *name;
	u32 flows, excess, kbps;
};

/* At 100 Gb/s T is 375 000 bytes */
static const struct rate_case rate_cases[] = {
	{ "all of it", 1, 0, 100000000 },
	{ "C / n", 16, 0, 6250000 },
	{ "a fifth of T too much", 16, 75000, 5000000 },
	{ "seven eighths", 1, 328125, 12500000 },
	{ "all: a sixteenth", 1, 375000, 6250000 },
	{ "more", 16, U32_MAX, 390626 },
	{ "of the most flows", 1024, U32_MAX, 6103 },
};

KUNIT_ARRAY_PARAM_DESC(rate, rate_cases, name);

static void sfc_srcc_rate_test(struct kunit *test)
{
	const struct rate_case *c = test->param_value;
	struct sfc_srcc *s = sfc_srcc_new(test);
	struct sfc_rate rate;

	s->seen = c->flows;
	sfc_rate_set(&rate, 100 * GBPS);
	/* a sixteenth of 375 000 is rounded up by half a byte */
	KUNIT_EXPECT_LE(test, abs((s32)(sfc_srcc_kbps(s, &cfg, &rate, c->excess) - c->kbps)), 134);
	sfc_rate_set(&rate, TC_SFC_RATE_MIN);
	KUNIT_EXPECT_GE(test, sfc_srcc_kbps(s, &cfg, &rate, c->excess), 1);
}

/* --- what a flow knows --- */

struct knows_case {
	const char *name;
	u32 told, kbps;
	u64 after;
	bool knows;
};

static const struct knows_case knows_cases[] = {
	{ "never told", 0, 1000, 0, false },
	{ "the same", 16000, 16000, 14999, true },
	{ "half of the window", 16000, 16000, 15000, false },
	{ "a little less", 16000, 15001, 1000, true },
	{ "a sixteenth less", 16000, 15000, 1000, false },
	{ "a little more", 16000, 16999, 1000, true },
	{ "a sixteenth more", 16000, 17000, 1000, false },
	{ "less, but just told", 16000, 1000, 999, true },
	{ "1 kbit/s", 1, 1, 1000, true },
	{ "2", 1, 2, 1000, false },
};

KUNIT_ARRAY_PARAM_DESC(knows, knows_cases, name);

static void sfc_srcc_knows_test(struct kunit *test)
{
	const struct knows_case *c = test->param_value;
	struct sfc_srcc_flow f = { .notified_kbps = c->told, .notified_ns = 7 * US };

	KUNIT_EXPECT_EQ(test, sfc_srcc_knows(&f, &cfg, c->kbps, 7 * US + c->after), c->knows);
}

/* --- the host --- */

#define GBIT	1000000U	/* kbit/s */

/* 10 of 100 Gb/s, round trips of 10 us: 3 of them, then 20, 40, 80, and no limit */
static void bolt_cap_ends_test(struct kunit *test)
{
	static const u32 want[] = { 10, 10, 10, 20, 40, 80, 0, 0 };
	struct bolt_cap cap = { };
	unsigned int i;

	KUNIT_EXPECT_EQ(test, bolt_cap_kbps(&cap, 0), 0);
	bolt_cap_set(&cap, 500 * US, 7, 10 * GBIT, 100 * GBIT, 10 * US);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		KUNIT_EXPECT_EQ_MSG(test, bolt_cap_kbps(&cap, (500 + 10 * i) * US), want[i] * GBIT,
				    "%u us", 10 * i);
		KUNIT_EXPECT_EQ_MSG(test, bolt_cap_kbps(&cap, (510 + 10 * i) * US - 1),
				    want[i] * GBIT, "%u us, less a ns", 10 + 10 * i);
	}
	KUNIT_EXPECT_EQ(test, bolt_cap_left(&cap, 500 * US), 60 * US);
	KUNIT_EXPECT_EQ(test, bolt_cap_left(&cap, 560 * US), 0);
}

/* The lowest of several applies, and each is replaced by the same switch's next */
static void bolt_cap_switches_test(struct kunit *test)
{
	struct bolt_cap cap = { };
	u64 t = 500 * US;
	u32 i;

	bolt_cap_set(&cap, t, 1, 10 * GBIT, 100 * GBIT, 10 * US);
	bolt_cap_set(&cap, t, 2, 5 * GBIT, 100 * GBIT, 10 * US);
	KUNIT_EXPECT_EQ(test, bolt_cap_kbps(&cap, t), 5 * GBIT);
	bolt_cap_set(&cap, t, 2, 20 * GBIT, 100 * GBIT, 10 * US);
	KUNIT_EXPECT_EQ(test, bolt_cap_kbps(&cap, t), 10 * GBIT);
	/* more than there is room for: the lowest are remembered */
	for (i = 3; i < 20; i++)
		bolt_cap_set(&cap, t, i, (100 - i) * GBIT, 100 * GBIT, 10 * US);
	KUNIT_EXPECT_EQ(test, bolt_cap_kbps(&cap, t), 10 * GBIT);
	bolt_cap_set(&cap, t, 20, 1 * GBIT, 100 * GBIT, 10 * US);
	KUNIT_EXPECT_EQ(test, bolt_cap_kbps(&cap, t), 1 * GBIT);
}

struct link_case {
	const char *name;
	u32 kbps, link, rtt_ns;
	u64 left;
};

static const struct link_case link_cases[] = {
	{ "the link's own rate: no doubling", 100, 100, 10000, 30000 },
	{ "more than the link's", 200, 100, 10000, 30000 },
	{ "half of it", 50, 100, 10000, 40000 },
	{ "a third", 33, 100, 10000, 40000 },
	{ "1 kbit/s of all there is", 1, U32_MAX, 10000, 340000 },
	{ "no round trip", 100, 100, 0, 3000 },
	{ "of a second", 100, 100, NSEC_PER_SEC, 300000000 },
};

KUNIT_ARRAY_PARAM_DESC(link, link_cases, name);

static void bolt_cap_left_test(struct kunit *test)
{
	const struct link_case *c = test->param_value;
	struct bolt_cap cap = { };

	bolt_cap_set(&cap, US, 1, c->kbps, c->link, c->rtt_ns);
	KUNIT_EXPECT_EQ(test, bolt_cap_left(&cap, US), c->left);
	KUNIT_EXPECT_GT(test, bolt_cap_kbps(&cap, US + c->left - 1), 0);
	KUNIT_EXPECT_LT(test, bolt_cap_kbps(&cap, US + c->left - 1), 1ULL << 33);
}

/* Packets leave at the limit whatever their length, and time that was not used is not saved */
static void bolt_cap_sent_test(struct kunit *test)
{
	struct bolt_cap cap = { };
	u64 t = 500 * US;

	bolt_cap_sent(&cap, t, 1500);
	KUNIT_EXPECT_EQ_MSG(test, cap.next_ns, 0, "no limit");
	bolt_cap_set(&cap, t, 1, 1 * GBIT, 100 * GBIT, 1000 * US);
	bolt_cap_sent(&cap, t, 1500);
	KUNIT_EXPECT_EQ(test, cap.next_ns, t + 12000);
	bolt_cap_sent(&cap, t + 1, 125);
	KUNIT_EXPECT_EQ_MSG(test, cap.next_ns, t + 13000, "a retransmit goes on top");
	bolt_cap_sent(&cap, t + 20000, 1500);
	KUNIT_EXPECT_EQ(test, cap.next_ns, t + 32000);
	bolt_cap_sent(&cap, t - 1, 1500);
	KUNIT_EXPECT_EQ_MSG(test, cap.next_ns, t + 44000, "stamped before the CNM came");
	/* 524 ms at this rate, and the limit ends after nine round trips */
	bolt_cap_sent(&cap, t + 40000, 65535000);
	KUNIT_EXPECT_EQ_MSG(test, cap.next_ns, t + 9000 * US, "no longer than the limit");
}

static struct kunit_case srcc_cases[] = {
	KUNIT_CASE(sfc_srcc_count_test),
	KUNIT_CASE(sfc_srcc_full_test),
	KUNIT_CASE(sfc_srcc_oldest_test),
	KUNIT_CASE_PARAM(sfc_srcc_threshold_test, threshold_gen_params),
	KUNIT_CASE(sfc_srcc_measure_test),
	KUNIT_CASE_PARAM(sfc_srcc_rate_test, rate_gen_params),
	KUNIT_CASE_PARAM(sfc_srcc_knows_test, knows_gen_params),
	KUNIT_CASE(bolt_cap_ends_test),
	KUNIT_CASE(bolt_cap_switches_test),
	KUNIT_CASE_PARAM(bolt_cap_left_test, link_gen_params),
	KUNIT_CASE(bolt_cap_sent_test),
	{}
};

static struct kunit_suite srcc_suite = {
	.name = "srcc",
	.test_cases = srcc_cases,
};

kunit_test_suite(srcc_suite);
