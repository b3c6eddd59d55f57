// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sch_sfc/qos.h, who is served among bands, and Algorithm 4.
 */
#include "compat.h"
#include "qos.h"

#define GBPS	125000000ULL
#define MTU	1514

struct weights_row {
	const char *name;
	u8 n;
	u8 weights[TC_SFC_BANDS_MAX];
};

static const struct weights_row weights_rows[] = {
	{ "two alike", 2, { 1, 1 } },
	{ "two unlike", 2, { 3, 1 } },
	{ "three", 3, { 5, 3, 2 } },
	{ "as far apart as can be", 2, { 1, 255 } },
	{ "eight alike", 8, { 7, 7, 7, 7, 7, 7, 7, 7 } },
	{ "eight", 8, { 1, 2, 3, 4, 5, 6, 7, 8 } },
	{ "heaviest", 8, { 255, 255, 255, 255, 255, 255, 255, 255 } },
	{ "no common divisor", 3, { 101, 103, 107 } },
};

KUNIT_ARRAY_PARAM_DESC(weights, weights_rows, name);

static u32 sum_of(const struct sfc_qos *q, u32 set)
{
	u32 i, sum = 0;

	for (i = 0; i < q->n; i++)
		if (set & 1U << i)
			sum += q->band[i].weight;
	return sum;
}

static struct sfc_qos *qos(struct kunit *test, const struct weights_row *row)
{
	struct sfc_qos *q = kunit_kzalloc(test, sizeof(*q), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, q);
	sfc_qos_set(q, row->n, row->weights, MTU, 16 << 20, 64 << 20);
	return q;
}

/* Bands with a queue that never ends: what each is served, and how much of it is left */
static void serve(struct sfc_qos *q, u32 len, u64 *served)
{
	unsigned int i = sfc_qos_next(q);

	sfc_qos_pay(q, i, len);
	served[i] += len;
}

static u32 length_of(u32 step, unsigned int i)
{
	/* any length up to the MTU, others for each band */
	return 60 + (step * (7919 + 613 * i) + 97 * i) % (MTU - 59);
}

/* By weight, within a round, at any time: and that is independent of how long packets are */
static void sfc_qos_weights_test(struct kunit *test)
{
	const struct weights_row *row = test->param_value;
	u64 served[TC_SFC_BANDS_MAX] = { };
	struct sfc_qos *q = qos(test, row);
	u32 step, i;

	for (i = 0; i < row->n; i++)
		sfc_qos_join(q, i, 1 << 30);
	for (step = 0; step < 20000; step++)
		serve(q, length_of(step, sfc_qos_next(q)), served);
	for (i = 1; i < row->n; i++) {
		/* bytes by weight; of each, a turn not over and a packet not paid for */
		s64 off = served[0] * row->weights[i] - served[i] * row->weights[0];

		KUNIT_EXPECT_LE_MSG(test, abs(off),
				    (q->band[0].quantum + MTU) * row->weights[i] +
				    (q->band[i].quantum + MTU) * row->weights[0], "band %u", i);
		KUNIT_EXPECT_EQ(test, q->band[0].quantum * row->weights[i],
				q->band[i].quantum * row->weights[0]);
	}
}

/* Packets of one size: no band waits for more of the others than their weights and its own say */
static void sfc_qos_turns_test(struct kunit *test)
{
	const struct weights_row *row = test->param_value;
	u64 served[TC_SFC_BANDS_MAX] = { }, last[TC_SFC_BANDS_MAX] = { };
	struct sfc_qos *q = qos(test, row);
	u32 step, i, longest;

	for (i = 0; i < row->n; i++) {
		KUNIT_EXPECT_GE(test, q->band[i].quantum, 1);
		sfc_qos_join(q, i, 1 << 30);
	}
	for (step = 1; step < 20000; step++) {
		i = sfc_qos_next(q);
		/* and one of each, by rounding and because it is another's turn */
		longest = DIV_ROUND_UP(sum_of(q, q->busy), row->weights[i]) + row->n;
		KUNIT_ASSERT_LE_MSG(test, step - last[i], longest, "band %u", i);
		last[i] = step;
		serve(q, MTU, served);
	}
}

/* Whatever a device's MTU, and however long a packet: quanta stay small and somebody is served */
static void sfc_qos_any_mtu_test(struct kunit *test)
{
	const struct weights_row *row = test->param_value;
	struct sfc_qos *q = qos(test, row);
	u64 served[TC_SFC_BANDS_MAX] = { };
	u32 bit, i, step;
	int off;

	for (bit = 0; bit <= 32; bit++) {
		for (off = -1; off <= 1; off++) {
			u32 n = (1ULL << bit) + off;

			sfc_qos_set(q, row->n, row->weights, n, 16 << 20, 64 << 20);
			sfc_qos_reset(q);
			for (i = 0; i < row->n; i++) {
				KUNIT_ASSERT_GT_MSG(test, q->band[i].quantum, 0, "MTU %u", n);
				KUNIT_ASSERT_LE_MSG(test, q->band[i].quantum, 1 << 20, "MTU %u", n);
				sfc_qos_join(q, i, 1 << 30);
			}
			for (step = 0; step < 64; step++) {
				serve(q, n, served);
				for (i = 0; i < row->n; i++)
					KUNIT_ASSERT_LE_MSG(test, abs(q->band[i].deficit), 1 << 21,
							    "packets of %u", n);
			}
		}
	}
}

/* Many rounds at once are the same as one by one */
static void sfc_qos_skip_test(struct kunit *test)
{
	const struct weights_row *row = test->param_value;
	struct sfc_qos *q = qos(test, row);
	s32 slow[TC_SFC_BANDS_MAX];
	u32 step, i, set, cur;

	for (step = 1; step < 400; step++) {
		set = step * 0x9e3779b1 >> 24 & ((1U << row->n) - 1);
		if (!set)
			continue;
		q->busy = set;
		for (i = 0; i < row->n; i++) {
			q->band[i].deficit = -(s32)(step * 7919 * (i + 1) % 100000);
			slow[i] = q->band[i].deficit;
		}
		cur = q->cur;
		while (!(set & 1U << cur) || slow[cur] <= 0) {
			do {
				cur = (cur + 1) % row->n;
			} while (!(set & 1U << cur));
			slow[cur] += q->band[cur].quantum;
		}
		KUNIT_ASSERT_EQ_MSG(test, sfc_qos_next(q), cur, "step %u", step);
		for (i = 0; i < row->n; i++)
			KUNIT_ASSERT_EQ_MSG(test, q->band[i].deficit, slow[i], "step %u", step);
	}
}

/* What one does not use is nobody's loss: some band is served as long as one has a queue */
static void sfc_qos_work_conserving_test(struct kunit *test)
{
	const struct weights_row *row = test->param_value;
	struct sfc_qos *q = qos(test, row);
	u32 set, steps, i;

	for (set = 1; set < 1U << row->n; set++) {
		for (i = 0; i < row->n; i++)
			if (set & 1U << i)
				sfc_qos_join(q, i, MTU);
		for (steps = hweight8(set); steps; steps--) {
			i = sfc_qos_next(q);
			KUNIT_ASSERT_TRUE_MSG(test, q->busy & 1U << i, "set %#x", set);
			sfc_qos_pay(q, i, MTU);
			sfc_qos_leave(q, i, MTU, true);
		}
		KUNIT_ASSERT_EQ(test, q->busy, 0);
	}
	for (i = 0; i < row->n; i++) {
		KUNIT_EXPECT_EQ(test, q->band[i].bytes, 0);
		/* no credit is kept */
		KUNIT_EXPECT_LE(test, q->band[i].deficit, 0);
	}
}

/* A band that shows up now and then with a super-packet gets no more than its part for it */
static void sfc_qos_debt_test(struct kunit *test)
{
	static const struct weights_row row = { "", 2, { 1, 1 } };
	u64 served[2] = { };
	struct sfc_qos *q = qos(test, &row);
	unsigned int i;
	u32 step;

	sfc_qos_join(q, 0, 1 << 30);
	for (step = 0; step < 20000; step++) {
		if (!(q->busy & 2))
			sfc_qos_join(q, 1, 65536);
		i = sfc_qos_next(q);
		sfc_qos_pay(q, i, i ? 65536 : MTU);
		served[i] += i ? 65536 : MTU;
		if (i)
			sfc_qos_leave(q, 1, 65536, true);
	}
	KUNIT_EXPECT_LE(test, abs((s64)(served[0] - served[1])), 2 * 65536);
}

/* Lines 4 to 8: every band, with every set of others that have a queue; together never more */
static void sfc_qos_part_test(struct kunit *test)
{
	const struct weights_row *row = test->param_value;
	static const u64 wholes[] = { 1, 1024, 1514 * 1024, 1ULL << 36, 1ULL << 46 };
	struct sfc_qos *q = qos(test, row);
	u32 set, i, j;

	for (j = 0; j < ARRAY_SIZE(wholes); j++) {
		for (set = 0; set < 1U << row->n; set++) {
			u64 all = 0;

			q->busy = set;
			for (i = 0; i < row->n; i++) {
				u32 sum = sum_of(q, set | 1U << i);
				u64 got = sfc_qos_part(q, i, wholes[j]);

				KUNIT_ASSERT_EQ_MSG(test, got,
						    div_u64(wholes[j] * row->weights[i], sum),
						    "set %#x band %u", set, i);
				all += set & 1U << i ? got : 0;
			}
			KUNIT_ASSERT_LE_MSG(test, all, wholes[j], "set %#x", set);
			KUNIT_ASSERT_GE_MSG(test, all + row->n, set ? wholes[j] : 0, "set %#x",
					    set);
		}
	}
}

/* Supply that a band is credited with, in bytes: bursts of packets that are far below its share */
static s64 credited(struct sfc_qos *q, unsigned int i, const struct sfc_alg_cfg *cfg, u64 *now,
		    u64 gap, u32 packets)
{
	struct sfc_qos_band *b = &q->band[i];
	s64 total = 0, before;

	while (packets--) {
		struct sfc_alg_in in = { .now = *now += gap, .size = 64, .segs = 1 };

		/* from deep below, so that the cap takes nothing away */
		before = -sfc_bytes_to_tokens(1 << 20);
		b->state.sm.token = before;
		sfc_qos_supply(q, i, cfg, &in);
		total += b->state.sm.token - before + sfc_bytes_to_tokens(64);
	}
	return total >> SFC_TOKEN_SHIFT;
}

/* A ms of packets at all bands, each with a queue: its share, none more, all of it together */
static void sfc_qos_supply_test(struct kunit *test)
{
	const struct weights_row *row = test->param_value;
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = 100000, .floor = 1 << 24, .sm = true };
	struct sfc_qos *q = qos(test, row);
	s64 total = 0, link, exact, got;
	u32 all = (1U << row->n) - 1, i;
	u64 now;

	sfc_rate_set(&cfg.rate, 100 * GBPS);
	q->busy = all;
	for (i = 0; i < row->n; i++) {
		now = 1000000;
		q->band[i].limit = 1 << 24;
		q->band[i].state.sm.last_ns = now;
		got = credited(q, i, &cfg, &now, 1009, 991);
		link = div_u64(100 * GBPS * (now - 1000000), NSEC_PER_SEC);
		exact = div_u64(link * row->weights[i], sum_of(q, all));
		KUNIT_EXPECT_LE_MSG(test, got, exact + 1, "band %u: more than its share", i);
		KUNIT_EXPECT_GE_MSG(test, got, exact - (exact >> 16) - 2, "band %u: less", i);
		total += got;
	}
	KUNIT_EXPECT_LE(test, total, link);
}

/* Exact, or a byte less */
static void expect_credit(struct kunit *test, s64 got, s64 exact)
{
	KUNIT_EXPECT_LE(test, got, exact);
	KUNIT_EXPECT_GE(test, got, exact - 1);
}

/* The very next packet is credited with what a band leaves that has become idle, and no longer */
static void sfc_qos_idle_test(struct kunit *test)
{
	static const struct weights_row row = { "", 3, { 5, 3, 2 } };
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = 100000, .floor = 1 << 24, .sm = true };
	struct sfc_qos *q = qos(test, &row);
	u64 now = 1000000;
	u32 i;

	sfc_rate_set(&cfg.rate, 8 * GBPS);		/* a byte per ns */
	for (i = 0; i < 3; i++) {
		q->band[i].state.sm.last_ns = now;
		sfc_qos_join(q, i, MTU);
	}
	expect_credit(test, credited(q, 2, &cfg, &now, 1000, 1), 200);
	sfc_qos_leave(q, 0, MTU, true);
	expect_credit(test, credited(q, 2, &cfg, &now, 1000, 1), 400);
	sfc_qos_leave(q, 1, MTU, true);
	expect_credit(test, credited(q, 2, &cfg, &now, 1000, 1), 1000);
	/* i = j: whether it has a queue itself makes no difference */
	sfc_qos_leave(q, 2, MTU, true);
	expect_credit(test, credited(q, 2, &cfg, &now, 1000, 1), 1000);
	sfc_qos_join(q, 0, MTU);
	expect_credit(test, credited(q, 2, &cfg, &now, 1000, 1), 285);
}

/* What the high band has carried is not for the others to have */
static void sfc_qos_strict_test(struct kunit *test)
{
	static const struct weights_row row = { "", 2, { 1, 1 } };
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = 100000, .floor = 1 << 24, .sm = true };
	struct sfc_qos *q = qos(test, &row);
	u64 now = 1000000;

	sfc_rate_set(&cfg.rate, 8 * GBPS);
	q->band[0].state.sm.last_ns = now;
	sfc_qos_join(q, 0, MTU);
	sfc_qos_join(q, 1, MTU);
	q->strict += 600;
	expect_credit(test, credited(q, 0, &cfg, &now, 1000, 1), 200);
	expect_credit(test, credited(q, 0, &cfg, &now, 1000, 1), 500);
}

/* Line 11, and the floor: neither an idle hour nor an hour of overload goes beyond */
static void sfc_qos_bounds_test(struct kunit *test)
{
	static const struct weights_row row = { "", 2, { 1, 3 } };
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = 100000, .floor = 1 << 24, .sm = true };
	struct sfc_alg_in in = { .size = 64, .segs = 1 };
	struct sfc_qos *q = qos(test, &row);
	u32 i;

	sfc_rate_set(&cfg.rate, 100 * GBPS);
	sfc_qos_join(q, 1, MTU);
	/* a gap that means an idle link: one packet */
	for (in.now = 3600 * NSEC_PER_SEC, i = 0; i < 3; i++, in.now += NSEC_PER_MSEC) {
		sfc_qos_supply(q, 0, &cfg, &in);
		KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&q->band[0].state.sm), MTU);
	}
	/* gaps of a round trip: its quarter of smcap */
	for (i = 0; i < 10; i++) {
		in.now += 60000;
		sfc_qos_supply(q, 0, &cfg, &in);
	}
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&q->band[0].state.sm), 25000);
	/* of a super-packet, what it needs */
	in.segs = 44;
	in.now += NSEC_PER_MSEC;
	sfc_qos_supply(q, 0, &cfg, &in);
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&q->band[0].state.sm), 44 * MTU);
	in.segs = 1;
	in.size = 65536;
	for (i = 0; i < 1000; i++)
		sfc_qos_supply(q, 0, &cfg, &in);
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&q->band[0].state.sm), -(s64)q->band[0].limit);
}

/* What the high band may send before data has a turn */
#define LEFT	1000

/* SFC: half of the link makes half of the queue as long */
static void sfc_qos_drain_test(struct kunit *test)
{
	static const struct weights_row row = { "", 3, { 5, 3, 2 } };
	struct sfc_qos *q = qos(test, &row);

	sfc_qos_join(q, 2, 1000);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 2, LEFT), 1000);
	sfc_qos_join(q, 1, 3000);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 2, LEFT), 2500);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 1, LEFT), 5000);
	sfc_qos_join(q, SFC_BAND_HIGH, 100);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 1, LEFT), 5100);
	/* one without a queue finds the others there */
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 0, LEFT), 100);
	KUNIT_EXPECT_EQ(test, sfc_qos_queue(q, 2, LEFT), 1100);
	/* a flood of ACKs takes turns with data */
	sfc_qos_join(q, SFC_BAND_HIGH, 99900);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 1, LEFT), 5000 + LEFT + 5000);
	KUNIT_EXPECT_EQ(test, sfc_qos_queue(q, 2, LEFT), 1000 + LEFT + 1000);
	KUNIT_EXPECT_EQ(test, sfc_qos_queue(q, 2, 0), 2000);
	/* no overflow */
	sfc_qos_join(q, 2, 0xf0000000);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 2, LEFT), U32_MAX - 1);
}

/* Levels: what goes before a band is what the bands before it hold, and took in */
static void sfc_qos_levels_test(struct kunit *test)
{
	static const struct weights_row row = { "", 4, { 1, 1, 1, 1 } };
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = 100000, .floor = 1 << 24, .sm = true };
	struct sfc_qos *q = qos(test, &row);
	u64 now = 1000000;
	u32 i, turns;

	q->ordered = true;
	sfc_qos_set(q, row.n, row.weights, MTU, 8 << 20, 800000);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, q->band[i].limit, (8 - i) << 20);
		KUNIT_EXPECT_EQ(test, q->band[i].memory_limit, 800000 - 100000 * i);
	}
	sfc_rate_set(&cfg.rate, 8 * GBPS);		/* a byte per ns */
	q->band[1].state.sm.last_ns = now;
	sfc_qos_join(q, 0, 1000);
	KUNIT_EXPECT_FALSE(test, sfc_qos_is_turn(q));
	sfc_qos_join(q, 1, 300);
	sfc_qos_join(q, 2, 50);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 0, LEFT), 1000);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 1, LEFT), 1300);
	KUNIT_EXPECT_EQ(test, sfc_qos_drain(q, 3, LEFT), 1350);
	KUNIT_EXPECT_EQ(test, sfc_qos_queue(q, 1, LEFT), 300);
	KUNIT_EXPECT_EQ(test, sfc_qos_fill(q, 0), 1350);

	/* all of the link, less what the high band and the bands before it took in */
	q->strict += 100;
	q->band[0].took += 500;
	q->band[2].took += 200;
	expect_credit(test, credited(q, 1, &cfg, &now, 1000, 1), 400);
	expect_credit(test, credited(q, 1, &cfg, &now, 1000, 1), 1000);

	/* one in SFC_LEVELS_TURN, whatever number the first one has */
	for (turns = 0, i = 0; i < 10 * SFC_LEVELS_TURN; i++)
		turns += sfc_qos_is_turn(q);
	KUNIT_EXPECT_EQ(test, turns, 10);

	/* ACKs have a limit of their own, whatever data waits */
	sfc_qos_join(q, SFC_BAND_HIGH, 70);
	KUNIT_EXPECT_EQ(test, sfc_qos_fill(q, SFC_BAND_HIGH), 70);
}

static struct kunit_case sfc_qos_cases[] = {
	KUNIT_CASE_PARAM(sfc_qos_weights_test, weights_gen_params),
	KUNIT_CASE_PARAM(sfc_qos_turns_test, weights_gen_params),
	KUNIT_CASE_PARAM(sfc_qos_any_mtu_test, weights_gen_params),
	KUNIT_CASE_PARAM(sfc_qos_skip_test, weights_gen_params),
	KUNIT_CASE_PARAM(sfc_qos_work_conserving_test, weights_gen_params),
	KUNIT_CASE(sfc_qos_debt_test),
	KUNIT_CASE_PARAM(sfc_qos_part_test, weights_gen_params),
	KUNIT_CASE_PARAM(sfc_qos_supply_test, weights_gen_params),
	KUNIT_CASE(sfc_qos_idle_test),
	KUNIT_CASE(sfc_qos_strict_test),
	KUNIT_CASE(sfc_qos_bounds_test),
	KUNIT_CASE(sfc_qos_drain_test),
	KUNIT_CASE(sfc_qos_levels_test),
	{ }
};

static struct kunit_suite sfc_qos_suite = {
	.name = "sfc_qos",
	.test_cases = sfc_qos_cases,
};

kunit_test_suite(sfc_qos_suite);
