// SPDX-License-Identifier: GPL-2.0
/* KUnit: sch_sfc/estimator.h, the low-pass filter of one destination. */

#include "compat.h"
#include "estimator.h"

#define GBPS	125000000ULL		/* bytes/s */
#define MTU	1500U

static const u32 taus[] = { 1000, 5000, 10000, 16000, 100000, 1000000, 1000000000 };

static void tau_desc(const u32 *tau, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u ns", *tau);
}

KUNIT_ARRAY_PARAM(tau, taus, tau_desc);

/* After one, two and ten tau, e^-1, e^-2 and e^-10 are left, within a tick */
static void sfc_dre_decay_test(struct kunit *test)
{
	u32 tau = *(const u32 *)test->param_value;
	static const struct { u32 n; u64 ppm; } left[] = {
		{ 1, 367879 }, { 2, 135335 }, { 10, 45 },
	};
	struct sfc_dre_cfg cfg;
	struct sfc_rate r;
	int i;

	sfc_rate_set(&r, 100 * GBPS);
	sfc_dre_set(&cfg, &r, tau, 0);
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		u64 ticks = (u64)tau * left[i].n >> cfg.shift;
		u64 got = sfc_dre_decayed(&cfg, 1000000ULL << 10, ticks) >> 10;

		/* rounding to a whole tick leaves more, by 1/31 of the rest at most */
		KUNIT_EXPECT_GE(test, got + 1, left[i].ppm * 999 / 1000);
		KUNIT_EXPECT_LE(test, got, left[i].ppm * 104 / 100 + 1);
	}
	KUNIT_EXPECT_EQ(test, sfc_dre_decayed(&cfg, U64_MAX, 1ULL << 40), 0ULL);
	KUNIT_EXPECT_EQ(test, sfc_dre_decayed(&cfg, 12345, 0), 12345ULL);
}

/* n senders at line rate for a time: what is queued at the receiver, never more (section 3.4) */
struct burst_case {
	const char *name;
	u32 senders, tau_ns, ns;
	u32 least;	/* share of the true queue, per cent */
};

static const struct burst_case bursts[] = {
	{ "one sender", 1, 10000, 200000, 0 },
	{ "half a sender", 0, 10000, 200000, 0 },
	{ "16 senders, 1 us", 16, 10000, 1000, 20 },
	{ "16 senders, 5 us", 16, 10000, 5000, 65 },
	{ "128 senders, 2 us", 128, 10000, 2000, 80 },
	{ "128 senders, 2 us, tau 100 us", 128, 100000, 2000, 10 },
};

KUNIT_ARRAY_PARAM_DESC(burst, bursts, name);

static void sfc_dre_burst_test(struct kunit *test)
{
	const struct burst_case *c = test->param_value;
	u64 now = 1000000, end = now + c->ns, queue;
	struct sfc_dre_cfg cfg;
	struct sfc_dre d = { };
	u64 sent = 0, peak = 0;
	struct sfc_rate r;
	unsigned int i;

	sfc_rate_set(&r, 100 * GBPS);
	sfc_dre_set(&cfg, &r, c->tau_ns, 0);
	/* a packet of 1500 bytes takes 120 ns */
	for (; now < end; now += 120) {
		if (!c->senders && now / 120 % 2)
			continue;
		for (i = 0; i < max(c->senders, 1U); i++) {
			sfc_dre_add(&cfg, &d, MTU, now);
			sent += MTU;
		}
		peak = max_t(u64, peak, sfc_dre_queue(&cfg, &d));
	}
	queue = c->senders ? (u64)(c->senders - 1) * c->ns * 25 / 2 : 0;
	/* a packet of each, which is on its way when the time is over */
	KUNIT_EXPECT_LE(test, peak, queue + (max(c->senders, 1U) + 1) * MTU);
	KUNIT_EXPECT_GE(test, peak, queue * c->least / 100);
}

/*
 * What passes an uplink at once, in BDP of servers at 100 Gb/s, tau and RTT 10 us.  One BDP passes
 * in tau anyway, one may stay (qtg), a tick brings 1/40 more: the rest, in us of the servers' links
 */
static const struct local_case {
	const char *name;
	u64 server;		/* bytes/s */
	u32 tenths;		/* BDP of 100 Gb/s */
	u32 pause_us;
} locals[] = {
	{ "one BDP", 100 * GBPS, 10, 0 },
	{ "two", 100 * GBPS, 20, 0 },
	{ "three", 100 * GBPS, 30, 10 },
	{ "ten", 100 * GBPS, 100, 80 },
	{ "100", 100 * GBPS, 1000, 980 },
	{ "ten, servers of 25 Gb/s", 25 * GBPS, 100, 380 },
	{ "ten, servers of 400 Gb/s", 400 * GBPS, 100, 5 },
	{ "100, servers of 4 Tb/s", 4000 * GBPS, 1000, 5 },
};

KUNIT_ARRAY_PARAM_DESC(local, locals, name);

static void sfc_dre_pause_test(struct kunit *test)
{
	const struct local_case *c = test->param_value;
	struct sfc_dre_cfg cfg;
	struct sfc_dre d = { };
	u32 qth = 0, qtg = 0, ns;
	struct sfc_rate r;

	sfc_rate_set(&r, c->server);
	sfc_pause_thresholds(&r, 10000, 1514, 256000000, &qth, &qtg);
	sfc_dre_set(&cfg, &r, 10000, qtg);
	sfc_dre_add(&cfg, &d, c->tenths * 12500, 1000000);
	ns = sfc_dre_pause_ns(&cfg, &d, 10000000);
	KUNIT_EXPECT_LE(test, ns, c->pause_us * 1000);
	KUNIT_EXPECT_GE(test, ns + 251, c->pause_us * 1000);
	KUNIT_EXPECT_LE(test, sfc_dre_pause_ns(&cfg, &d, 1234), 1234);
}

static void sfc_dre_idle_test(struct kunit *test)
{
	u32 tau = *(const u32 *)test->param_value;
	struct sfc_dre_cfg cfg;
	struct sfc_dre d = { };
	struct sfc_rate r;

	sfc_rate_set(&r, 100 * GBPS);
	sfc_dre_set(&cfg, &r, tau, 0);
	sfc_dre_add(&cfg, &d, MTU, 1ULL << 40);
	KUNIT_EXPECT_FALSE(test, sfc_dre_idle(&cfg, &d, 1ULL << 40));
	KUNIT_EXPECT_FALSE(test, sfc_dre_idle(&cfg, &d, (1ULL << 40) + 3ULL * tau));
	KUNIT_EXPECT_TRUE(test, sfc_dre_idle(&cfg, &d, (1ULL << 40) + 9ULL * tau));
	/* a clock that went back by a packet changes nothing */
	sfc_dre_add(&cfg, &d, MTU, (1ULL << 40) - 10 * tau);
	KUNIT_EXPECT_EQ(test, d.x, 2ULL * MTU << 10);
}

/* Another tau, longer or shorter: what there was decays by it, and the entry can become idle */
static void sfc_dre_retuned_test(struct kunit *test)
{
	u32 tau = *(const u32 *)test->param_value;
	static const u32 before[] = { 1000, 1000000, 1000000000 };
	struct sfc_dre_cfg was, cfg;
	struct sfc_rate r;
	u64 now = 1ULL << 50;
	int i;

	sfc_rate_set(&r, 100 * GBPS);
	sfc_dre_set(&cfg, &r, tau, 0);
	for (i = 0; i < ARRAY_SIZE(before); i++) {
		struct sfc_dre d = { };

		sfc_dre_set(&was, &r, before[i], 0);
		sfc_dre_add(&was, &d, MTU, now);
		sfc_dre_add(&cfg, &d, 0, now + 2ULL * tau);
		/* e^-2, and a tick of either */
		KUNIT_EXPECT_LE(test, d.x * 100, (u64)MTU * 1024 * 15);
		if (before[i] <= tau)
			KUNIT_EXPECT_GE(test, d.x * 100, (u64)MTU * 1024 * 13);
		KUNIT_EXPECT_TRUE(test, sfc_dre_idle(&cfg, &d, now + 11ULL * tau));
	}
}

static struct kunit_case estimator_cases[] = {
	KUNIT_CASE_PARAM(sfc_dre_decay_test, tau_gen_params),
	KUNIT_CASE_PARAM(sfc_dre_burst_test, burst_gen_params),
	KUNIT_CASE_PARAM(sfc_dre_pause_test, local_gen_params),
	KUNIT_CASE_PARAM(sfc_dre_idle_test, tau_gen_params),
	KUNIT_CASE_PARAM(sfc_dre_retuned_test, tau_gen_params),
	{ }
};

static struct kunit_suite estimator_suite = {
	.name = "sfc_estimator",
	.test_cases = estimator_cases,
};

kunit_test_suite(estimator_suite);
