// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: tcp_bolt/echo.h.
 */

#include "compat.h"
#include "echo.h"

#define US	1000U
#define GAP	(2 * US)	/* between departures */

/* @n departures, the last of them at @end */
static void depart(struct bolt_departures *d, unsigned int n, u32 end)
{
	*d = (struct bolt_departures){ };
	while (n--)
		bolt_departures_add(d, end - n * GAP, n);
}

struct echo_case {
	const char *name;
	unsigned int n;		/* departures */
	u32 ahead;		/* the last of them is so much later than the ACK */
	u32 echo;		/* ns ago */
	u32 newest;
	bool processed;
	s32 want;
	bool in_flight;
};

static const struct echo_case echo_cases[] = {
	{ "the newest", 10, 0, 0, 0, true, 1 },
	{ "the first of ten", 10, 0, 9 * GAP, 9 * GAP, true, 9 * GAP },
	{ "a packet in the middle", 10, 0, 5 * GAP, 5 * GAP, true, 5 * GAP },
	{ "... of an ACK in the backlog", 10, 0, 5 * GAP, 9 * GAP, false, 5 * GAP },
	{ "between two packets", 10, 0, 5 * GAP - 1, 5 * GAP, true, BOLT_ECHO_FALSE },
	{ "before the first", 10, 0, 9 * GAP + 1, 9 * GAP, true, BOLT_ECHO_FALSE },
	{ "after the last", 10, 0, -1, 0, true, BOLT_ECHO_FALSE },
	{ "newer than what TCP knows of", 10, 0, 2 * GAP, 9 * GAP, true, 2 * GAP },
	{ "older than what has arrived", 10, 0, 9 * GAP, 2 * GAP, true, 2 * GAP },
	{ "... the us is rounded down", 10, 0, 9 * GAP, 2 * GAP + 999, true, 2 * GAP + 999 },
	{ "the oldest of those kept", 64, 0, 63 * GAP, 63 * GAP, true, 63 * GAP },
	{ "older, and TCP says so", 200, 0, 150 * GAP, 150 * GAP, true, 150 * GAP },
	{ "... but for the us", 200, 0, 150 * GAP, 150 * GAP + 999, true, 150 * GAP },
	{ "... later", 200, 0, 150 * GAP, 150 * GAP, false, BOLT_ECHO_LATER },
	{ "not kept, and TCP says older", 200, 0, 64 * GAP, 150 * GAP, true, 150 * GAP - US },
	{ "older than TCP says", 200, 0, 190 * GAP, 150 * GAP, true, 150 * GAP },
	{ "older, and in flight", 200, 0, 140 * GAP, 150 * GAP, true, 140 * GAP, true },
	{ "... of an ACK in the backlog", 200, 0, 140 * GAP, 150 * GAP, false, 140 * GAP, true },
	{ "... and older than arrivals", 200, 0, 150 * GAP, 140 * GAP, true, 140 * GAP, true },
	{ "left over from before the newest", 10, 0, 5 * GAP, -1, true, BOLT_ECHO_NONE },
	{ "TCP knows of nothing for a second", 10, 0, 5 * GAP, 0x40000001, true, BOLT_ECHO_NONE },
	{ "more than a second ago", 200, 0, 0x40000001, 0x40000001, true, BOLT_ECHO_NONE },
	{ "... and others have arrived", 200, 0, 0x40000001, 5 * GAP, true, BOLT_ECHO_NONE },
	{ "none has left", 0, 0, 5 * GAP, 5 * GAP, true, BOLT_ECHO_FALSE },
	{ "those kept are still to leave", 200, 100 * GAP, 20 * GAP, 20 * GAP, true, 20 * GAP },
	{ "... some of them", 200, 30 * GAP, 20 * GAP, 20 * GAP, true, 20 * GAP },
	{ "... for 99 ms", 200, 99000 * US, 20 * GAP, 20 * GAP, true, 20 * GAP },
	{ "... and it is none", 200, 30 * GAP, 20 * GAP + 1, 20 * GAP, true, BOLT_ECHO_FALSE },
};

KUNIT_ARRAY_PARAM_DESC(echo, echo_cases, name);

/* At any place of the clock */
static void bolt_echo_rtt_test(struct kunit *test)
{
	const struct echo_case *c = test->param_value;
	u32 now;

	for (now = 12345; now < 0xf0000000; now += 0x0fffffff) {
		struct bolt_departures d;
		struct bolt_echo e = {
			.at = now,
			.t_data_tx = now - c->echo,
			.newest = now - c->newest,
			.processed = c->processed,
			.in_flight = c->in_flight,
		};

		depart(&d, c->n, now + c->ahead);
		KUNIT_ASSERT_EQ(test, bolt_echo_rtt_ns(&d, &e), c->want);
	}
}

/* ACKs of all packets, in order and not, and several of each */
static void bolt_echo_order_test(struct kunit *test)
{
	const u32 last = 1U << 30, at = last + 100 * US;
	struct bolt_departures d;
	unsigned int i, k;

	depart(&d, BOLT_DEPARTURES, last);
	for (i = 0; i < 1000; i++) {
		struct bolt_echo e = { .at = at, .newest = last - 100 * GAP };

		k = i * 37 / 3 % BOLT_DEPARTURES;
		e.t_data_tx = last - k * GAP;
		KUNIT_ASSERT_EQ(test, bolt_echo_rtt_ns(&d, &e), (s32)(100 * US + k * GAP));
		e.t_data_tx++;
		KUNIT_ASSERT_EQ(test, bolt_echo_rtt_ns(&d, &e), BOLT_ECHO_FALSE);
	}
}

/* The oldest of those kept is three seconds old: times wrap after 4.3 */
static void bolt_echo_wrap_test(struct kunit *test)
{
	const u32 now = 1U << 30;
	struct bolt_departures d;
	struct bolt_echo e = { .at = now, .newest = now - 5 * GAP, .processed = true };

	depart(&d, BOLT_DEPARTURES, now);
	d.last[0].t_data_tx = now - 3000000000U;
	e.t_data_tx = now - 5 * GAP;
	KUNIT_EXPECT_EQ(test, bolt_echo_rtt_ns(&d, &e), (s32)(5 * GAP));
	e.t_data_tx++;
	KUNIT_EXPECT_EQ(test, bolt_echo_rtt_ns(&d, &e), BOLT_ECHO_FALSE);
}

static struct kunit_case bolt_echo_cases[] = {
	KUNIT_CASE_PARAM(bolt_echo_rtt_test, echo_gen_params),
	KUNIT_CASE(bolt_echo_order_test),
	KUNIT_CASE(bolt_echo_wrap_test),
	{ }
};

static struct kunit_suite bolt_echo_suite = {
	.name = "bolt_echo",
	.test_cases = bolt_echo_cases,
};

kunit_test_suite(bolt_echo_suite);
