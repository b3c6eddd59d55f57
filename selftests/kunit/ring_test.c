// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sch_sfc/share.h, what a device holds by its byte queue limits: between two reports of what
 * has been sent, when one comes, and when a driver starts anew.
 */

#include "compat.h"
#include "share.h"

#define MTU	1514
#define GBPS	125000000ULL
#define MTU_NS	121		/* of 100 Gb/s, and a little */

/* A look at the counters, so long after the one before */
struct ring_look {
	u32 gap_ns;
	u32 queued;
	u32 completed;
	u32 held;
};

struct ring_case {
	const char *name;
	u32 base;		/* both counters begin here */
	struct ring_look looks[6];
	u32 n;
};

static const struct ring_case ring_cases[] = {
	{ "each packet is told when it has left", 0, {
		{ 0, 3 * MTU, 0, 3 * MTU }, { MTU_NS, 4 * MTU, MTU, 3 * MTU },
		{ MTU_NS, 5 * MTU, 2 * MTU, 3 * MTU } }, 3 },
	{ "none is told, the link is busy: what it sends is what it gets", 0, {
		{ 0, 3 * MTU, 0, 3 * MTU }, { MTU_NS, 4 * MTU, 0, 3 * MTU + 2 },
		{ MTU_NS, 5 * MTU, 0, 3 * MTU + 4 } }, 3 },
	{ "none is told, packets are far apart: nothing is held", 0, {
		{ 0, MTU, 0, MTU }, { 10 * MTU_NS, MTU, 0, 0 }, { 10 * MTU_NS, 2 * MTU, 0, 0 },
		{ 10 * MTU_NS, 3 * MTU, 0, 0 } }, 4 },
	{ "an idle link saves nothing up", 0, {
		{ 0, MTU, 0, MTU }, { 1000 * MTU_NS, MTU, 0, 0 },
		{ 0, 20 * MTU, 0, 19 * MTU } }, 3 },
	{ "a report corrects", 0, {
		{ 0, 9 * MTU, 0, 9 * MTU }, { 4 * MTU_NS, 9 * MTU, 0, 9 * MTU - 6050 },
		{ MTU_NS, 9 * MTU, 2 * MTU, 7 * MTU } }, 3 },
	{ "all is told", 0, {
		{ 0, 9 * MTU, 0, 9 * MTU }, { MTU_NS, 9 * MTU, 9 * MTU, 0 } }, 2 },
	{ "counters wrap", U32_MAX - MTU, {
		{ 0, 3 * MTU, 0, 3 * MTU }, { MTU_NS, 4 * MTU, 3 * MTU, MTU } }, 2 },
	{ "a driver starts anew", 0, {
		{ 0, 9 * MTU, 2 * MTU, 7 * MTU }, { MTU_NS, 0, 2 * MTU, 0 }, { MTU_NS, 0, 0, 0 },
		{ MTU_NS, MTU, 0, 2 } }, 4 },
	{ "hours", 0, {
		{ 0, 9 * MTU, 0, 9 * MTU }, { U32_MAX, 9 * MTU, 0, 0 } }, 2 },
};

KUNIT_ARRAY_PARAM_DESC(ring, ring_cases, name);

static void sfc_ring_held_test(struct kunit *test)
{
	const struct ring_case *c = test->param_value;
	struct sfc_ring ring = { .completed = c->base - 1 };
	struct sfc_rate rate;
	u64 now = 1000000;
	u32 i, held;

	sfc_rate_set(&rate, 100 * GBPS);
	for (i = 0; i < c->n; i++) {
		const struct ring_look *look = &c->looks[i];

		now += look->gap_ns;
		held = sfc_ring_held(&ring, &rate, c->base + look->queued,
				     c->base + look->completed, now);
		KUNIT_EXPECT_EQ_MSG(test, held, look->held, "look %u", i);
	}
}

/* Another CPU's clock was read before: nothing has left meanwhile */
static void sfc_ring_clock_test(struct kunit *test)
{
	struct sfc_ring ring = { .completed = 1 };
	struct sfc_rate rate;

	sfc_rate_set(&rate, 100 * GBPS);
	KUNIT_EXPECT_EQ(test, sfc_ring_held(&ring, &rate, MTU, 0, 5000), MTU);
	KUNIT_EXPECT_EQ(test, sfc_ring_held(&ring, &rate, MTU, 0, 4900), MTU);
}

static struct kunit_case sfc_ring_cases[] = {
	KUNIT_CASE_PARAM(sfc_ring_held_test, ring_gen_params),
	KUNIT_CASE(sfc_ring_clock_test),
	{ }
};

static struct kunit_suite sfc_ring_suite = {
	.name = "sfc_ring",
	.test_cases = sfc_ring_cases,
};

kunit_test_suite(sfc_ring_suite);
