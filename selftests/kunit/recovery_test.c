// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: fast recovery in tcp_bolt/core.h, against rows worked out by hand and against
 * tcp_cwnd_reduction().
 */

#include "compat.h"
#include "core.h"

struct cwnd_case {
	const char *name;
	struct bolt_recovery r;
	u32 window, in_flight, want;
	u32 least;	/* 0: as if nothing clamps the window */
};

static const struct cwnd_case cwnd_cases[] = {
	{ "40 lose the first: three are SACKed", { 40, 3, 0 }, 20, 36, 38 },
	{ "ten lose the first", { 10, 3, 0 }, 5, 6, 8 },
	{ "the first retransmission, whatever is in flight", { 40, 0, 0 }, 1, 39, 40 },
	{ "and none before the next half", { 40, 3, 2 }, 20, 36, 36 },
	{ "one for two ACKs", { 40, 5, 2 }, 20, 35, 36 },
	{ "more were sent than allowed", { 40, 3, 9 }, 20, 36, 36 },
	{ "at the window: the first all the same", { 40, 20, 0 }, 20, 20, 21 },
	{ "at the window", { 40, 30, 5 }, 20, 20, 20 },
	{ "below it: the window", { 40, 30, 5 }, 20, 19, 20 },
	{ "below one packet: two", { 1, 1, 1 }, 1, 0, 2 },
	{ "one, where that is the clamp", { 1, 1, 1 }, 1, 0, 1, .least = 1 },
	{ "nothing in flight", { 3, 1, 0 }, 1, 0, 2 },
	{ "the controller has opened its window", { 10, 10, 10 }, 30, 31, 31 },
	{ "in flight far above a window that SRC cut", { 40, 39, 1 }, 4, 39, 42 },
	{ "no window before", { 0, 1, 1 }, 2, 3, 3 },
	{ "nor anything delivered", { 0, 0, 0 }, 2, 3, 4 },
	{ "no overflow", { 1 << 20, 1 << 20, 0 }, 1 << 20, 1 << 21, 3 << 20 },
};

KUNIT_ARRAY_PARAM_DESC(cwnd, cwnd_cases, name);

static void bolt_recovery_cwnd_test(struct kunit *test)
{
	const struct cwnd_case *c = test->param_value;
	u32 least = c->least ?: BOLT_RECOVERY_MIN;

	KUNIT_EXPECT_EQ(test, bolt_recovery_cwnd(&c->r, c->window, least, c->in_flight), c->want);
}

/* tcp_cwnd_reduction(), of an ACK that acknowledges one packet and advances snd_una */
static u32 reno_cwnd(const struct bolt_recovery *r, u32 ssthresh, u32 in_flight)
{
	int delta = ssthresh - in_flight, more;

	if (delta < 0)
		more = DIV_ROUND_UP(ssthresh * r->delivered, r->prior) - r->out;
	else
		more = min(delta, max_t(int, r->delivered - r->out, 1) + 1);
	return in_flight + max(more, r->out ? 0 : 1);
}

/*
 * Never less than Reno's, whose ssthresh is two packets to half of what was in flight, and above
 * the window never more than what was delivered: five numbers of four bits
 */
static void bolt_recovery_beside_reno_test(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 1 << 20; i++) {
		const struct bolt_recovery r = { 1 + (i & 15), i >> 4 & 15, i >> 8 & 15 };
		u32 window = 1 + (i >> 12 & 15), in_flight = i >> 16;
		u32 cwnd = bolt_recovery_cwnd(&r, window, BOLT_RECOVERY_MIN, in_flight);

		if (cwnd < window ||
		    (window <= r.prior / 2 && window >= 2 &&
		     cwnd < reno_cwnd(&r, window, in_flight)) ||
		    (in_flight > max(window, 2U) &&
		     cwnd - in_flight > max_t(int, r.delivered - r.out, !r.out)))
			KUNIT_FAIL(test, "%u of %u, sent %u, window %u, in flight %u: %u",
				   r.delivered, r.prior, r.out, window, in_flight, cwnd);
	}
}

static struct kunit_case bolt_recovery_cases[] = {
	KUNIT_CASE_PARAM(bolt_recovery_cwnd_test, cwnd_gen_params),
	KUNIT_CASE(bolt_recovery_beside_reno_test),
	{ }
};

static struct kunit_suite bolt_recovery_suite = {
	.name = "bolt_recovery",
	.test_cases = bolt_recovery_cases,
};

kunit_test_suite(bolt_recovery_suite);
