// SPDX-License-Identifier: GPL-2.0
/*
 * Pauses: whatever is asked for, a flow is paused no longer than the watchdog allows; what ports
 * remember (cache, paused flows, flows that sent, flows that know) is true, as far as there
 * is room; the estimator never sees more than was sent.
 */
#include <math.h>

#include "fuzz.h"
#include <bolt_pause.h>
#include "../../sch_sfc/cache.h"
#include "../../sch_sfc/estimator.h"
#include "../../sch_sfc/hold.h"
#include "../../sch_sfc/pause.h"

#define STEPS	64
#define KEYS	16

static struct bolt_pause_conf conf_any(struct input *in)
{
	return (struct bolt_pause_conf){
		.max_ns = take_range(in, 1000, BOLT_PAUSE_ABSURD_NS),
		.interval_ns = take_range(in, 1000000, 60000000000ULL),
		.recovery_ns = take_range(in, 1000000, 60000000000ULL),
		.pct = take_range(in, 1, 100),
	};
}

static u64 later(struct input *in, u64 now)
{
	return now + take_range(in, 0, 1ULL << take_below(in, 38));
}

/* @paused: in the interval that is open, counted by itself */
static void watchdog(struct input *in)
{
	struct bolt_pause_conf c = conf_any(in);
	u64 now = take_range(in, 1, 1ULL << 60), then, asked, paused = 0, begin = 0, deaf = 0;
	u64 budget = c.pct < 100 ? c.interval_ns / 100 * c.pct + c.interval_ns % 100 * c.pct / 100 :
		     U64_MAX;
	struct bolt_pause_clock p = { };
	enum bolt_pause_what what;
	int i;

	for (i = 0; i < STEPS; i++) {
		then = now;
		now = later(in, now);
		if (p.until_ns > then)
			paused += min(p.until_ns, now) - then;
		asked = take_once_in(in, 8) ? 0 : take_range(in, 1, BOLT_PAUSE_ABSURD_NS);
		what = bolt_pause_set(&p, &c, now, asked);
		if (now < deaf) {
			CHECK(what == BOLT_PAUSE_IGNORED);
			continue;
		}
		CHECK(what != BOLT_PAUSE_IGNORED);
		if (!asked) {
			CHECK(what == BOLT_PAUSE_REPLACED && p.until_ns == now);
			continue;
		}
		if (what == BOLT_PAUSE_TRIPPED) {
			deaf = now + c.recovery_ns;
			begin = 0;
			CHECK(paused >= budget && !bolt_pause_active(&p, now));
			continue;
		}
		if (!begin || now - begin >= c.interval_ns) {
			begin = now;
			paused = 0;
		}
		CHECK(p.until_ns >= now && p.until_ns - now <= min(asked, c.max_ns));
		/* also where it is used up to the end */
		CHECK(paused + (p.until_ns - now) <= budget);
		CHECK(bolt_pause_keep(&p, &c, now) >= p.until_ns - now);
	}
}

static struct sfc_key key_any(struct input *in)
{
	return (struct sfc_key){ .addr = { take_below(in, KEYS) }, .family = 4 };
}

static void cache(struct input *in)
{
	struct sfc_entry ways[SFC_CACHE_WAYS] = { };
	u64 now = take_range(in, 1, 1ULL << 60), end[KEYS] = { };
	int i;

	for (i = 0; i < STEPS; i++) {
		struct sfc_key key = key_any(in);
		u64 *known = &end[key.addr[0]], ends = later(in, now);
		u32 left = sfc_ways_find(ways, &key, now);

		/* it is known, or there was no room for it */
		CHECK(!left || left == min_t(u64, *known - now, U32_MAX));
		if (!sfc_ways_put(ways, &key, ends, now)) {
			CHECK(!left);
			continue;
		}
		if (left)
			ends = max(ends, *known);
		*known = ends;
		left = sfc_ways_find(ways, &key, now);
		CHECK(left == min_t(u64, ends - now, U32_MAX));
		now = later(in, now);
	}
}

/* A message is never taken for younger than it is but for a sixteenth, however often it is sent */
static void clocks(struct input *in)
{
	struct sfc_clock ways[SFC_CLOCK_WAYS] = { };
	struct {
		u64 sent, heard;
		u32 clock;
	} m[STEPS];
	u64 now = take_range(in, 1, 1ULL << 60), ahead[SFC_CLOCK_WAYS], age, since;
	unsigned int i, k;

	for (i = 0; i < SFC_CLOCK_WAYS; i++)
		ahead[i] = take_range(in, 0, U64_MAX);
	for (i = 0; i < STEPS; i++) {
		now = later(in, now);
		k = take_below(in, i + 1);
		if (k == i) {
			m[i].clock = take_below(in, SFC_CLOCK_WAYS);
			m[i].sent = now - take_range(in, 0, 1ULL << 30) + ahead[m[i].clock];
			m[i].heard = now;
		} else {
			m[i] = m[k];
		}
		age = sfc_clock_age(ways, m[i].clock, m[i].sent, now);
		since = now - m[i].heard;
		CHECK(age + since / 16 + 1 >= since);
	}
}

/* A flow that matters is not forgotten, and what the table says of one is true. */
static void hold(struct input *in)
{
	static struct sfc_hold_flow t[SFC_HOLD_FLOWS], *f;
	struct sfc_hold_flow *set = t + 7 * SFC_HOLD_WAYS;
	struct bolt_pause_conf c = conf_any(in);
	u64 now = take_range(in, 1ULL << 40, 1ULL << 60), last[KEYS] = { }, until[KEYS] = { };
	bool held[KEYS] = { };
	u32 which;
	u64 flow;
	int i;

	memset(t, 0, sizeof(t));
	for (i = 0; i < STEPS; i++) {
		/* of one set, more than it has ways */
		which = take_below(in, KEYS);
		flow = (which + 1ULL) << 32 | 7;

		now = later(in, now);
		f = sfc_hold_find(t, &c, flow, now);
		if (!f) {
			CHECK(!held[which] && until[which] <= now);
			for (f = set; f < set + SFC_HOLD_WAYS; f++)
				CHECK(f->held.qlen || bolt_pause_keep(&f->clock, &c, now));
			CHECK(!sfc_hold_sent(t, &c, flow, now));
			continue;
		}
		CHECK(f->hash == flow || (!held[which] && until[which] <= now));
		CHECK(f->hash == flow || (!f->held.qlen && !bolt_pause_keep(&f->clock, &c, now)));
		if (sfc_hold_has_sent(f, flow, now)) {
			CHECK(now - last[which] < SFC_HOLD_SILENT_NS);
			bolt_pause_set(&f->clock, &c, now, take_range(in, 0, BOLT_PAUSE_ABSURD_NS));
			until[which] = f->clock.until_ns;
		} else {
			CHECK(sfc_hold_sent(t, &c, flow, now) == f && f->hash == flow);
			CHECK(sfc_hold_find(t, &c, flow, now) == f);
			last[which] = now;
		}
		/* a packet waits for as long as the pause lasts, or goes */
		held[which] = bolt_pause_active(&f->clock, now) && take_once_in(in, 2);
		f->held.qlen = held[which];
	}
}

static void suppress(struct input *in)
{
	static struct sfc_suppress s;
	struct sfc_notified told[KEYS] = { };
	u64 now = take_range(in, 1, 1ULL << 60), flow, until;
	u32 which, period = take_range(in, 1, U32_MAX);
	int i;

	memset(&s, 0, sizeof(s));
	for (i = 0; i < STEPS; i++) {
		which = take_below(in, KEYS);
		flow = (which + 1) * 2ULL * SFC_SUPPRESS_SLOTS;	/* all begin in one slot */
		now = later(in, now);
		until = later(in, now);
		if (sfc_suppress_knows(&s, flow, now, until, period)) {
			CHECK(told[which].flow && now - told[which].notified_ns < period);
			CHECK(until <= told[which].until_ns + period +
			      ((told[which].until_ns - told[which].notified_ns) >> 5));
			continue;
		}
		sfc_suppress_add(&s, flow, now, until);
		told[which] = (struct sfc_notified){ flow, now, until };
		CHECK(sfc_suppress_knows(&s, flow, now, until, period));
	}
}

static void estimate(struct input *in)
{
	u32 tau = take_range(in, SFC_TAU_MIN_NS, SFC_TAU_MAX_NS), bytes;
	u64 now = take_range(in, STEPS, 1ULL << 60), was, ticks, sum = 0;
	struct sfc_dre_cfg c;
	struct sfc_dre d = { };
	struct sfc_rate r;
	double exact;
	int i;

	sfc_rate_set(&r, take_range(in, TC_SFC_RATE_MIN, TC_SFC_RATE_MAX));
	sfc_dre_set(&c, &r, tau, take_range(in, 0, U32_MAX));
	CHECK(c.decay && 1ULL << c.shift <= tau / 31 && 1ULL << c.shift > tau / 65);
	d.since_ns = now;
	for (i = 0; i < STEPS; i++) {
		now = take_once_in(in, 8) ? now - 1 : later(in, now);
		was = d.x;
		ticks = now > d.since_ns ? (now - d.since_ns) >> c.shift : 0;
		exact = was * exp(-(double)(ticks << c.shift) / tau);
		bytes = take_range(in, 1, SFC_LEN_MAX);
		sum += bytes;
		sfc_dre_add(&c, &d, bytes, now);
		CHECK(fabs((double)d.x - bytes * 1024.0 - exact) <= was / 1024.0 + 16);
		CHECK(d.x <= was + bytes * 1024ULL);
		CHECK(sfc_dre_queue(&c, &d) <= sum);
		CHECK(sfc_dre_pause_ns(&c, &d, SFC_PAUSE_MAX_NS) <= SFC_PAUSE_MAX_NS);
		CHECK(!sfc_dre_idle(&c, &d, now));
	}
}

static void thresholds(struct input *in)
{
	u32 limit = take_range(in, 2, U32_MAX), qth = 0, qtg = 0;
	u32 max_ns = take_range(in, 0, U32_MAX);
	struct sfc_rate r;

	sfc_rate_set(&r, take_range(in, TC_SFC_RATE_MIN, TC_SFC_RATE_MAX));
	if (take_once_in(in, 2))
		qth = take_range(in, 1, limit);
	if (take_once_in(in, 2))
		qtg = take_range(in, 0, (qth ?: limit) - 1);
	sfc_pause_thresholds(&r, take_range(in, SFC_RTT_MIN_NS, SFC_RTT_MAX_NS),
			     take_range(in, 68, 70000), limit, &qth, &qtg);
	CHECK(qtg < qth && qth <= limit);
	CHECK(sfc_pause_ns(&r, take_range(in, 0, U32_MAX), qtg, max_ns) <= max_ns);
	CHECK(!sfc_pause_ns(&r, qtg, qtg, max_ns));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static void (*const subjects[])(struct input *in) = {
		watchdog, cache, clocks, hold, suppress, estimate, thresholds,
	};
	struct input in = input_begin(data, len);

	subjects[take_u8(&in) % ARRAY_SIZE(subjects)](&in);
	return 0;
}
