// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sch_sfc/pfc.h, thresholds of a shared buffer and what ports know of it, PAUSE frames and
 * quanta, when a neighbour is told something, and how long a port heeds one.
 */

#include <linux/prandom.h>

#include "compat.h"
#include "pfc.h"
#include "share.h"

#define GBPS	125000000ULL
#define MS	((u64)NSEC_PER_MSEC)

/* --- shared buffer --- */

struct buffer_case {
	const char *name;
	u32 buffer, used, alpha;
	u64 limit;
};

#define ALPHA(num, den)	((num) * TC_SFC_ALPHA_ONE / (den))

static const struct buffer_case buffer_cases[] = {
	{ "empty: all of it, at alpha 1", 16000000, 0, ALPHA(1, 1), 16000000 },
	{ "a lone port at alpha 1 stops at half", 16000000, 8000000, ALPHA(1, 1), 8000000 },
	{ "... at 8 at eight ninths", 9000000, 8000000, ALPHA(8, 1), 8000000 },
	{ "... at 1/2 at a third", 9000000, 3000000, ALPHA(1, 2), 3000000 },
	{ "1/128", 1280000, 0, ALPHA(1, 128), 10000 },
	{ "full", 1000, 1000, ALPHA(1, 1), 0 },
	{ "more than full", 1000, 1001, ALPHA(128, 1), 0 },
	{ "all there is of both", U32_MAX, 0, TC_SFC_ALPHA_MAX, 128ULL * U32_MAX },
};

KUNIT_ARRAY_PARAM_DESC(buffer, buffer_cases, name);

static void sfc_buffer_limit_test(struct kunit *test)
{
	const struct buffer_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, sfc_buffer_limit(c->buffer, c->used, c->alpha), c->limit);
}

/* Whatever comes and goes: the sum of what ports published is within a 64th of what they hold */
static void sfc_buffer_error_test(struct kunit *test)
{
	u32 ports, i, held[16], published[16], buffer = 16000000, worst = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 1);
	for (ports = 1; ports <= 16; ports++) {
		u32 grain = sfc_buffer_grain(buffer, ports);
		u64 writes = 0;
		s64 error = 0;

		memset(held, 0, sizeof(held));
		memset(published, 0, sizeof(published));
		for (i = 0; i < 100000; i++) {
			u32 p = prandom_u32_state(&rnd) % ports;
			u32 len = 60 + prandom_u32_state(&rnd) % 9000;

			error += published[p] - (s64)held[p];
			if (prandom_u32_state(&rnd) & 1)
				held[p] += len;
			else
				held[p] -= min(held[p], len);
			if (sfc_news(held[p], published[p], grain)) {
				published[p] = held[p];
				writes++;
			}
			error -= published[p] - (s64)held[p];
			worst = max_t(u64, worst, abs(error));
			KUNIT_ASSERT_LE(test, abs(error), buffer >> SFC_BUFFER_ERROR_SHIFT);
			KUNIT_ASSERT_TRUE(test, held[p] || !published[p]);
		}
		KUNIT_EXPECT_LT(test, writes, i / 2);
	}
	KUNIT_EXPECT_GT(test, worst, 0);
}

/* --- frames --- */

/* IEEE 802.3, figure 31D-1 */
static void sfc_pfc_build_test(struct kunit *test)
{
	static const u8 want[SFC_PFC_FRAME] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55,
		0x88, 0x08, 0x01, 0x01, 0x00, 0x89,
		0x12, 0x34, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	static const u8 source[] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 };
	/* class 1 is not enabled, class 7 is of no quanta */
	const struct sfc_pfc_frame f = { 0x89, { 0x1234, 77, 0, 0xffff } };
	struct sfc_pfc_frame got;
	u8 p[SFC_PFC_FRAME];
	int len, i;

	memset(p, 0xee, sizeof(p));
	sfc_pfc_build(p, source, &f);
	KUNIT_EXPECT_EQ(test, memcmp(p, want, sizeof(p)), 0);
	for (len = 0; len < SFC_PFC_FRAME - SFC_PFC_HEAD; len++)
		KUNIT_EXPECT_EQ(test, sfc_pfc_parse(p + SFC_PFC_HEAD, len, &got),
				len >= SFC_PFC_BODY);
	KUNIT_EXPECT_EQ(test, got.vector, 0x89);
	for (i = 0; i < SFC_PFC_PRIOS; i++)
		KUNIT_EXPECT_EQ(test, got.quanta[i], f.vector & 1U << i ? f.quanta[i] : 0);
	for (i = 0; i < 16; i++) {
		p[SFC_PFC_HEAD + i / 8] ^= 1 << i % 8;
		KUNIT_EXPECT_FALSE(test, sfc_pfc_parse(p + SFC_PFC_HEAD, SFC_PFC_BODY, &got));
		p[SFC_PFC_HEAD + i / 8] ^= 1 << i % 8;
	}
}

struct quanta_case {
	const char *name;
	u64 rate;
	u32 quanta;
	u64 ns;
};

/* 512 bit times each */
static const struct quanta_case quanta_cases[] = {
	{ "100 Gb/s, the longest", 100 * GBPS, 65535, 335539 },
	{ "400 Gb/s, the longest", 400 * GBPS, 65535, 83884 },
	{ "10 Gb/s, one", 10 * GBPS, 1, 51 },
	{ "1 Gb/s, 1000", GBPS, 1000, 512000 },
	{ "8 kbit/s, the longest", TC_SFC_RATE_MIN, 65535, 4194240000000ULL },
};

KUNIT_ARRAY_PARAM_DESC(quanta, quanta_cases, name);

static void sfc_pfc_quanta_test(struct kunit *test)
{
	const struct quanta_case *c = test->param_value;
	u64 ns, quanta, step = max(c->ns / 1000, 1ULL);
	struct sfc_rate r;

	sfc_rate_set(&r, c->rate);
	ns = sfc_pfc_quanta_ns(&r, c->quanta);
	KUNIT_EXPECT_LE(test, abs((s64)(ns - c->ns)), 1 + (c->ns >> 22));
	KUNIT_EXPECT_EQ(test, sfc_pfc_ns_quanta(&r, 1ULL << 63),
			sfc_pfc_ns_quanta(&r, SFC_IDLE_NS - 1));
	/* never less than was asked for, nor two quanta more */
	for (ns = 1; ns < min_t(u64, c->ns, SFC_IDLE_NS); ns += step) {
		quanta = sfc_pfc_ns_quanta(&r, ns);
		KUNIT_ASSERT_LE(test, quanta, SFC_PFC_QUANTA_MAX);
		KUNIT_ASSERT_GE(test, sfc_pfc_quanta_ns(&r, quanta) + 1 + (ns >> 20),
				min(ns, sfc_pfc_quanta_ns(&r, SFC_PFC_QUANTA_MAX)));
		KUNIT_ASSERT_LE(test, sfc_pfc_quanta_ns(&r, quanta - 1), ns);
	}
}

/* --- what a neighbour is told --- */

#define LONGEST	335539		/* of 100 Gb/s */
#define NONE	(-1)

/* A look; @again is from then on, 0: none */
struct xoff_look {
	u64 gap_ns, ask_ns;
	bool full;
	int quanta;
	u64 again;
};

struct xoff_case {
	const char *name;
	u32 n;
	struct xoff_look looks[6];
};

static const struct xoff_case xoff_cases[] = {
	{ "nothing waits", 1, { { 0, 0, false, NONE, 0 } } },
	{ "full, said again after half, XON", 6, {
		{ 0, 0, true, 65535, LONGEST - LONGEST / 2 },
		{ 10, 0, true, NONE, LONGEST - LONGEST / 2 - 10 },
		{ LONGEST / 2 - 20, 0, true, NONE, 11 },
		{ 11, 0, true, 65535, LONGEST - LONGEST / 2 },
		{ 1000, 0, false, 0, 0 },
		{ 1, 0, false, NONE, 0 } } },
	{ "full, late: said again; over: no XON", 3, {
		{ 0, 0, true, 65535, LONGEST - LONGEST / 2 },
		{ 2 * LONGEST, 0, true, 65535, LONGEST - LONGEST / 2 },
		{ 2 * LONGEST, 0, false, NONE, 0 } } },
	{ "asked for 51.2 us, and no XON", 3, {
		{ 0, 51200, false, 10000, 0 },
		{ 100, 51100, false, NONE, 0 },
		{ 51500, 0, false, NONE, 0 } } },
	{ "asked for a bit more: said when half is not known", 3, {
		{ 0, 51200, false, 10000, 0 },
		{ 1200, 60000, false, NONE, 40000 },
		{ 40020, 19980, false, 3903, 0 } } },
	{ "asked for much more: at once", 2, {
		{ 0, 51200, false, 10000, 0 },
		{ 1200, 204800, false, 40000, 0 } } },
	{ "asked for more than a frame can say", 4, {
		{ 0, 512000, false, 65535, LONGEST - LONGEST / 2 },
		{ 167770, 0, false, 65535, LONGEST - LONGEST / 2 },
		{ 167770, 0, false, NONE, 159078 },
		{ 159085, 0, false, 3395, 0 } } },
	{ "not full any more, but asked", 2, {
		{ 0, 0, true, 65535, LONGEST - LONGEST / 2 },
		{ 1000, 51200, false, 10000, 0 } } },
};

KUNIT_ARRAY_PARAM_DESC(xoff, xoff_cases, name);

static void sfc_xoff_next_test(struct kunit *test)
{
	const struct xoff_case *c = test->param_value;
	struct sfc_xoff t = { };
	u64 now = 1 * MS, again;
	struct sfc_rate r;
	int quanta;
	u32 i;

	sfc_rate_set(&r, 100 * GBPS);
	for (i = 0; i < c->n; i++) {
		const struct xoff_look *l = &c->looks[i];

		now += l->gap_ns;
		if (l->ask_ns)
			t.ask_ns = now + l->ask_ns;
		quanta = sfc_xoff_next(&t, &r, l->full, now, &again);
		if (l->quanta > 0 && l->quanta < 65535)
			KUNIT_EXPECT_LE_MSG(test, abs(quanta - l->quanta), 1, "look %u", i);
		else
			KUNIT_EXPECT_EQ_MSG(test, quanta, l->quanta, "look %u", i);
		if (l->again)
			KUNIT_EXPECT_LE_MSG(test, abs((s64)(again - now - l->again)), 20,
					    "look %u: %llu", i, again - now);
		else
			KUNIT_EXPECT_EQ_MSG(test, again, 0, "look %u", i);
	}
}

/* Who is full, and asks as it is told to, never lets a pause end */
static void sfc_xoff_gap_test(struct kunit *test)
{
	struct sfc_xoff t = { };
	u64 now = MS, again, known = 0;
	struct sfc_rate r;
	u32 i, frames = 0;
	int quanta;

	sfc_rate_set(&r, 100 * GBPS);
	for (i = 0; i < 1000; i++) {
		quanta = sfc_xoff_next(&t, &r, true, now, &again);
		if (quanta > 0) {
			KUNIT_EXPECT_TRUE(test, !known || known - now >= LONGEST / 2 - 2);
			known = now + sfc_pfc_quanta_ns(&r, quanta);
			frames++;
		}
		KUNIT_ASSERT_GT(test, again, now);
		now = again;
	}
	KUNIT_EXPECT_EQ(test, frames, 1000);
}

/* --- what it tells --- */

static void sfc_paused_test(struct kunit *test)
{
	const u64 stuck = 50 * MS, ignore = 100 * MS;
	struct sfc_pfc_watch w = { };
	struct sfc_paused p = { };
	u64 now = MS;

	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now), SFC_PAUSED_NOT);
	KUNIT_EXPECT_TRUE(test, sfc_paused_set(&p, now, 10 * MS));
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now + 1), SFC_PAUSED);
	KUNIT_EXPECT_EQ(test, sfc_paused_wake_ns(&p, &w, stuck), now + 10 * MS);
	now += 10 * MS;
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now - 1), SFC_PAUSED);
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now), SFC_PAUSED_NOT);
	now -= 10 * MS;
	/* XON */
	KUNIT_EXPECT_TRUE(test, sfc_paused_set(&p, now, 10 * MS));
	KUNIT_EXPECT_TRUE(test, sfc_paused_set(&p, now, 0));
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now), SFC_PAUSED_NOT);
	/* it was stuck since now + 1, and nothing has left since */
	now += stuck;
	KUNIT_EXPECT_TRUE(test, sfc_paused_set(&p, now, 10 * MS));
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now), SFC_PAUSED);
	KUNIT_EXPECT_EQ(test, sfc_paused_wake_ns(&p, &w, stuck), now + 1);
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now + 1), SFC_PAUSED_TRIPPED);
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now + 1), SFC_PAUSED_NOT);
	KUNIT_EXPECT_FALSE(test, sfc_paused_set(&p, now + ignore, 10 * MS));
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now + ignore),
			SFC_PAUSED_NOT);
	/* and again */
	now += ignore + 1;
	KUNIT_EXPECT_TRUE(test, sfc_paused_set(&p, now, 1000 * MS));
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now), SFC_PAUSED);
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, stuck, ignore, now + stuck),
			SFC_PAUSED_TRIPPED);
	/* without a watchdog */
	p = (struct sfc_paused){ };
	w = (struct sfc_pfc_watch){ };
	KUNIT_EXPECT_TRUE(test, sfc_paused_set(&p, now, 1000 * MS));
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, 0, ignore, now), SFC_PAUSED);
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p, &w, 0, ignore, now + 999 * MS), SFC_PAUSED);
	KUNIT_EXPECT_EQ(test, sfc_paused_wake_ns(&p, &w, 0), now + 1000 * MS);
}

/* Two priorities stop three bands, and the watchdog of the first one trips */
static void sfc_pfc_watch_test(struct kunit *test)
{
	const u64 stuck = 50 * MS, ignore = 100 * MS, end = MS + stuck + ignore;
	struct sfc_pfc_watch w[3] = { };
	struct sfc_paused p[2] = { };
	u64 now = MS;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, sfc_paused_set(&p[i], now, 1000 * MS));
		KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p[0], &w[i], stuck, ignore, now + i),
				SFC_PAUSED);
	}
	now += stuck;
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p[0], &w[0], stuck, ignore, now),
			SFC_PAUSED_TRIPPED);
	/* that frees the head of the second one as well, and neither waits for the other one */
	KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p[0], &w[1], stuck, ignore, now), SFC_PAUSED_NOT);
	w[1].stuck_ns = 0;
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p[1], &w[i], stuck, ignore, end - 1),
				i < 2 ? SFC_PAUSED_NOT : SFC_PAUSED);
		KUNIT_EXPECT_EQ(test, sfc_paused_stops(&p[1], &w[i], stuck, ignore, end),
				SFC_PAUSED);
	}
}

static struct kunit_case sfc_pfc_cases[] = {
	KUNIT_CASE_PARAM(sfc_buffer_limit_test, buffer_gen_params),
	KUNIT_CASE(sfc_buffer_error_test),
	KUNIT_CASE(sfc_pfc_build_test),
	KUNIT_CASE_PARAM(sfc_pfc_quanta_test, quanta_gen_params),
	KUNIT_CASE_PARAM(sfc_xoff_next_test, xoff_gen_params),
	KUNIT_CASE(sfc_xoff_gap_test),
	KUNIT_CASE(sfc_paused_test),
	KUNIT_CASE(sfc_pfc_watch_test),
	{ }
};

static struct kunit_suite sfc_pfc_suite = {
	.name = "sfc_pfc",
	.test_cases = sfc_pfc_cases,
};

kunit_test_suite(sfc_pfc_suite);
