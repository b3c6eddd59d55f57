// SPDX-License-Identifier: GPL-2.0
/*
 * Bands with weights: books, order of service and shares.  Whoever waits is served, by weight; a
 * band's deficit and its supply stay within their bounds, whatever comes and goes.
 */
#include "fuzz.h"
#include "../../sch_sfc/qos.h"

#define STEPS	96
#define DEPTH	16
#define BANDS	TC_SFC_BANDS_MAX

struct state {
	struct sfc_qos	q;
	u32		len[BANDS][DEPTH];	/* what waits, a ring each */
	unsigned int	head[BANDS], waits[BANDS];
	u64		served[BANDS];		/* since the bands that wait are the same */
	u32		unit, longest;
};

static void books(const struct state *s)
{
	unsigned int i, k;

	for (i = 0; i < s->q.n; i++) {
		u32 bytes = 0;

		for (k = 0; k < s->waits[i]; k++)
			bytes += s->len[i][(s->head[i] + k) % DEPTH];
		CHECK(s->q.band[i].bytes == bytes);
		CHECK(!(s->q.busy & 1U << i) == !s->waits[i]);
		CHECK(s->q.band[i].deficit <= s->q.band[i].quantum);
		CHECK(s->q.band[i].deficit >= -(s64)s->longest);
	}
}

/* Any two bands that wait have had service by weight, but for a turn and a packet. */
static void fair(const struct state *s)
{
	unsigned int i, k;

	for (i = 0; i < s->q.n; i++)
		for (k = 0; k < s->q.n; k++) {
			s64 wi = s->q.band[i].weight, wk = s->q.band[k].weight;
			s64 off = s->served[i] * wk - s->served[k] * wi;

			if (s->q.busy & 1U << i && s->q.busy & 1U << k)
				CHECK(off <= 3LL * s->unit * wi * wk + s->longest * (wi + wk));
		}
}

static void leave(struct state *s, unsigned int i, bool newest)
{
	u32 len, at = newest ? s->head[i] + s->waits[i] - 1 : s->head[i]++;

	len = s->len[i][at % DEPTH];
	sfc_qos_leave(&s->q, i, len, !--s->waits[i]);
	if (!s->waits[i])
		memset(s->served, 0, sizeof(s->served));
}

static void serve(struct state *s)
{
	unsigned int i = sfc_qos_next(&s->q);
	u32 len;

	CHECK(i < s->q.n && s->waits[i] && s->q.band[i].deficit > 0);
	len = s->len[i][s->head[i] % DEPTH];
	sfc_qos_pay(&s->q, i, len);
	s->served[i] += len;
	fair(s);
	leave(s, i, false);
}

static void shares(const struct sfc_qos *q)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < q->n; i++) {
		u32 drain = sfc_qos_drain(q, i, 1000);
		u64 part = sfc_qos_part(q, i, 1ULL << 40);

		if (q->busy & 1U << i)
			sum += part;
		CHECK(part <= 1ULL << 40);
		CHECK(drain >= sfc_qos_queue(q, i, 1000) && drain < U32_MAX);
	}
	CHECK(sum <= 1ULL << 40);
}

static void supply(struct state *s, struct input *in, unsigned int i,
		   const struct sfc_alg_cfg *c, u64 now, u32 len)
{
	struct sfc_alg_in p = { .now = now, .size = len, .segs = take_range(in, 1, 64) };
	struct sfc_sm *sm = &s->q.band[i].state.sm;

	sfc_qos_supply(&s->q, i, c, &p);
	CHECK(sm->token <= 1024 * max((s64)p.segs * c->mtu, (s64)c->smcap));
	CHECK(sm->token >= -1024 * (s64)s->q.band[i].limit);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);
	struct sfc_alg_cfg c = { .mtu = take_range(&in, 68, SFC_MTU_MAX + TC_SFC_OVERHEAD_MAX) };
	u32 most = take_once_in(&in, 4) ? SFC_LEN_MAX : 3000, i, n, limit;
	u8 weights[BANDS];
	struct state s = { };
	u64 now = 0;
	int step;

	n = 1 + take_below(&in, BANDS);
	for (i = 0; i < n; i++)
		weights[i] = take_range(&in, 1, TC_SFC_WEIGHT_MAX);
	limit = take_range(&in, 1, U32_MAX);
	sfc_rate_set(&c.rate, take_range(&in, TC_SFC_RATE_MIN, TC_SFC_RATE_MAX));
	c.smcap = take_range(&in, c.mtu, U32_MAX);
	c.floor = limit;
	sfc_qos_set(&s.q, n, weights, c.mtu, limit, limit);
	for (i = 0; i < n; i++)
		s.unit = s.q.band[i].quantum / weights[i];
	for (step = 0; step < STEPS; step++) {
		now += take_range(&in, 0, 1ULL << take_below(&in, 34));
		i = take_below(&in, n);
		switch (take_u8(&in) % 8) {
		case 0:
			if (s.waits[i])
				leave(&s, i, true);
			break;
		case 1:
			s.q.strict += take_range(&in, 0, SFC_LEN_MAX);
			break;
		case 2:
		case 3:
		case 4:
			if (s.q.busy)
				serve(&s);
			break;
		default:
			if (s.waits[i] == DEPTH)
				break;
			if (!s.waits[i])
				memset(s.served, 0, sizeof(s.served));
			len = take_range(&in, 14, most);
			s.longest = max_t(u32, s.longest, len);
			supply(&s, &in, i, &c, now, len);
			s.len[i][(s.head[i] + s.waits[i]++) % DEPTH] = len;
			sfc_qos_join(&s.q, i, len);
		}
		books(&s);
		shares(&s.q);
	}
	return 0;
}
