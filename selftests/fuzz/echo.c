// SPDX-License-Identifier: GPL-2.0
/*
 * The RTT sample of an ACK whose receiver chooses what it echoes: never 0 or less, nor longer than
 * that of the newest packet known to have arrived; none of what has not departed.
 */
#include "fuzz.h"
#include "../../tcp_bolt/echo.h"

#define STEPS	32
#define BURST	32

/* All departures, by a clock that does not wrap */
struct past {
	u64 ns[STEPS * BURST];
	unsigned int n;
};

static u32 stamp(u64 ns)
{
	return (u32)ns ?: 1;
}

/* Departures from @now on, less than BOLT_AHEAD_NS ahead of it */
static void depart(struct input *in, struct past *p, struct bolt_departures *d, u64 now)
{
	u64 ns = now, gap = take_range(in, 0, BOLT_AHEAD_NS / BURST - 1);
	unsigned int k = take_below(in, BURST + 1);

	if (p->n && p->ns[p->n - 1] > now)
		return;
	for (; k--; ns += gap) {
		p->ns[p->n++] = ns;
		bolt_departures_add(d, stamp(ns), p->n);
	}
}

/* What a receiver may choose: a departure, beside one, any time */
static u32 chosen(struct input *in, const struct past *p, u64 now)
{
	unsigned int what = take_u8(in) % 8;

	if (what < 6 && p->n) {
		unsigned int back = take_below(in, what < 3 ? min(p->n, BOLT_DEPARTURES) : p->n);

		return stamp(p->ns[p->n - 1 - back] + (what == 2) - (what == 3));
	}
	return stamp(now - take_range(in, 0, U32_MAX));
}

static void ack(struct input *in, const struct past *p, const struct bolt_departures *d, u64 now)
{
	struct bolt_echo e = {
		.at = now,
		.t_data_tx = chosen(in, p, now),
		.newest = chosen(in, p, now) - take_below(in, 1000),
		.processed = take_once_in(in, 2),
		.in_flight = take_once_in(in, 4),
	};
	u32 rtt = e.at - e.t_data_tx, most = e.at - e.newest, longest = BOLT_RTT_SRC_MAX_NS;
	bool full = p->n >= BOLT_DEPARTURES, older, kept = false;
	s64 age = full ? (s64)(now - p->ns[p->n - BOLT_DEPARTURES]) : 0;
	s32 got = bolt_echo_rtt_ns(d, &e);
	unsigned int i;

	for (i = 1; i <= min(p->n, BOLT_DEPARTURES); i++)
		kept |= stamp(p->ns[p->n - i]) == e.t_data_tx;

	CHECK(got >= BOLT_ECHO_LATER);
	if (got >= 0)
		CHECK(!got == (rtt > longest || most > longest));
	if (got > 0)
		CHECK(got <= max(most, 1U));
	/* not one of those kept: no shorter than TCP's either */
	if (got > 0 && !kept && !e.in_flight)
		CHECK(full && got >= (s32)most - 1000);
	/* longer ago, the wire's clock cannot tell */
	if (age >= (1LL << 32) - BOLT_AHEAD_NS)
		return;
	older = full && !e.in_flight && (age < 0 || rtt > age);
	CHECK((got == BOLT_ECHO_FALSE) == (!kept && !e.in_flight && !older));
	CHECK((got == BOLT_ECHO_LATER) == (older && !e.processed));
	if (got > 0 && !older)
		CHECK(got == max(min(rtt, most), 1U));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);
	u64 now = take_range(&in, 1ULL << 34, 1ULL << 60);
	struct bolt_departures d = { };
	static struct past p;
	int i;

	p.n = 0;
	for (i = 0; i < STEPS; i++) {
		now += take_range(&in, 0, 1ULL << take_below(&in, 34));
		depart(&in, &p, &d, now);
		ack(&in, &p, &d, now);
	}
	return 0;
}
