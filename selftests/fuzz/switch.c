// SPDX-License-Identifier: GPL-2.0
/*
 * The switch's decision and its tokens: supply is what the link carries and never beyond the cap,
 * INC passes only where a token paid, limits hold; with several queues no token comes from nowhere.
 */
#include "fuzz.h"
#include "../../sch_sfc/decide.h"
#include "../../sch_sfc/decide.h"
#include "../../sch_sfc/share.h"

#define PACKETS	48
#define QUEUES	4

typedef __int128 s128;

static struct sfc_alg_cfg port_any(struct input *in)
{
	struct sfc_alg_cfg c = { };

	sfc_rate_set(&c.rate, take_range(in, TC_SFC_RATE_MIN, TC_SFC_RATE_MAX));
	c.mtu = take_range(in, 68, 70000);
	c.ccthresh = take_range(in, 1, U32_MAX);
	c.pruthresh = take_range(in, c.ccthresh, U32_MAX);
	c.smcap = take_range(in, c.mtu, U32_MAX);
	c.floor = take_range(in, 1, U32_MAX);
	c.pru_max = SFC_PRU_MAX;
	c.pru = take_once_in(in, 2);
	c.sm = !take_once_in(in, 4);
	return c;
}

static struct sfc_alg_in packet_any(struct input *in, u64 now)
{
	return (struct sfc_alg_in){
		.now = now + take_range(in, 0, 1ULL << take_below(in, 40)),
		.queue = take_range(in, 0, U32_MAX),
		.size = take_range(in, 1, SFC_LEN_MAX),
		.segs = take_once_in(in, 2) ? 1 : take_range(in, 1, SFC_SEGS_MAX),
		.flags = take_u8(in),
		.can_src = take_once_in(in, 2),
	};
}

/* 2^-22 of it, and what truncation takes */
static bool nearly(s128 got, s128 exact)
{
	s128 off = got > exact ? got - exact : exact - got;

	return off <= (exact > 0 ? exact >> 22 : 0) + 2;
}

static s128 exact_supply(const struct sfc_rate *r, u64 ns)
{
	return (s128)ns * r->bytes_ps * 1024 / NSEC_PER_SEC;
}

static void supply(const struct sfc_alg_cfg *c, struct sfc_alg_state *st,
		   const struct sfc_alg_in *in)
{
	u64 gap = in->now - st->sm.last_ns, cap = (u64)in->segs * c->mtu;
	s128 was = st->sm.token, brought = exact_supply(&c->rate, gap);

	if (gap < SFC_SM_IDLE_NS)
		cap = max(cap, (u64)c->smcap);
	sfc_decide_supply(c, st, in);
	if (!c->sm) {
		CHECK(st->sm.token == was);
		return;
	}
	CHECK(st->sm.token <= (s128)cap * 1024 && st->sm.token >= -(s128)c->floor * 1024);
	if (gap >= SFC_IDLE_NS) {
		CHECK(st->sm.token == (s128)cap * 1024);
		return;
	}
	was -= (s128)in->size * 1024;
	/* between the bounds it is what was, and what came since */
	if (st->sm.token < (s128)cap * 1024 && st->sm.token > -(s128)c->floor * 1024)
		CHECK(nearly(st->sm.token - was, brought));
}

/* What holds of the paper's listing as well */
static void decision(const struct sfc_alg_cfg *c, const struct sfc_alg_in *in,
		     const struct sfc_decision *d, const struct sfc_alg_state *was,
		     const struct sfc_alg_state *st, bool paper)
{
	u8 kept = ~(BOLT_F_INC | BOLT_F_DEC);
	s64 paid = was->sm.token - st->sm.token;

	CHECK((d->flags & kept) == (in->flags & kept));
	CHECK(d->data == !!(in->flags & BOLT_F_DATA));
	CHECK(!d->src || (d->congested && in->can_src && !(in->flags & BOLT_F_DEC)));
	CHECK(!(d->flags & BOLT_F_DEC) == !((in->flags & BOLT_F_DEC) || d->src));
	CHECK(!(d->flags & BOLT_F_INC & ~in->flags));
	CHECK(d->grant == SFC_GRANT_NONE || d->flags & BOLT_F_INC);
	CHECK(!d->data ? d->flags == in->flags : !d->congested || in->queue >= c->ccthresh);
	if (d->data && !paper) {
		CHECK(d->grant != SFC_GRANT_NONE || !(d->flags & BOLT_F_INC));
		CHECK(st->pru_token <= SFC_PRU_MAX);
	}
	CHECK(!d->data || d->congested == (in->queue >= c->ccthresh));
	CHECK(paid == (d->grant == SFC_GRANT_SM ? (s64)in->segs * c->mtu * 1024 : 0));
	CHECK(!paper || !d->congested || d->grant == SFC_GRANT_NONE);
	CHECK((u64)st->pru_token == (u64)was->pru_token + d->pru_added -
	      (d->grant == SFC_GRANT_PRU ? in->segs : 0));
	CHECK(!d->pru_added || (in->flags & (BOLT_F_LAST | BOLT_F_FIRST)) == BOLT_F_LAST);
	CHECK(d->pru_added <= (c->pru ? in->segs : 0));
}

static void decide(struct input *in)
{
	struct sfc_alg_cfg c = port_any(in), printed = c;
	struct sfc_alg_state st = { }, paper = { }, was;
	struct sfc_alg_in p = { };
	struct sfc_decision d;
	int i;

	printed.paper = true;
	printed.smcap = 0;
	printed.floor = U32_MAX;
	printed.pru_max = U32_MAX;
	for (i = 0; i < PACKETS; i++) {
		p = packet_any(in, p.now);
		supply(&c, &st, &p);
		was = st;
		sfc_decide(&c, &st, &p, &d);
		decision(&c, &p, &d, &was, &st, false);
		if (p.flags & BOLT_F_DATA)
			supply(&printed, &paper, &p);
		was = paper;
		sfc_decide(&printed, &paper, &p, &d);
		decision(&printed, &p, &d, &was, &paper, true);
	}
}

/* Several queues of a link */
static void share(struct input *in)
{
	struct sfc_alg_cfg c = port_any(in);
	struct sfc_share part[QUEUES] = { };
	struct sfc_sm own[QUEUES] = { };
	struct sfc_sm port = { };
	struct sfc_alg_in p = { };
	s128 was, most, cap, brought;
	unsigned int i, k;
	u64 at;

	for (k = 0; k < QUEUES; k++)
		part[k].batch = sfc_share_batch(&c, take_range(in, 1, 64));
	for (i = 0; i < PACKETS; i++) {
		p = packet_any(in, p.now);
		k = take_below(in, QUEUES);
		p.size = min(p.size, U32_MAX - part[k].demand);
		if (!sfc_share_add(&part[k], p.size, p.now)) {
			CHECK(part[k].demand < part[k].batch);
		} else {
			at = max(p.now, port.last_ns) - port.last_ns;
			cap = (s128)1024 * max((u64)p.segs * c.mtu,
					       at < SFC_SM_IDLE_NS ? c.smcap : 0);
			brought = at < SFC_IDLE_NS ? exact_supply(&c.rate, at) : cap;
			was = (s128)own[k].token + port.token;
			sfc_share_settle(&part[k], &own[k], &port, &c, &p);
			most = (s128)1024 * ((u64)part[k].batch + (u64)p.segs * c.mtu);
			CHECK(own[k].token >= 0 && own[k].token <= most);
			CHECK(own[k].token + port.token <= cap);
			CHECK(own[k].token + port.token <= max(was, (s128)0) + brought + 2);
			CHECK(port.token >= -(s128)c.floor * 1024);
			CHECK(!part[k].demand && part[k].settled_ns == p.now);
		}
		if (sfc_wants_grant(&p))
			sfc_sm_take(&own[k], p.segs * c.mtu);
		CHECK(own[k].token >= 0);
	}
}

/* A link that is sent to without a pause takes as long as its rate says, whatever the packets. */
static void serialize(struct input *in)
{
	u64 frac = 0, ns = 0, bytes = 0;
	struct sfc_rate r;
	s128 exact;
	u32 len;
	int i;

	sfc_rate_set(&r, take_range(in, TC_SFC_RATE_MIN, TC_SFC_RATE_MAX));
	CHECK(r.kbps && r.supply_shift <= 32 && r.time_shift <= 34);
	for (i = 0; i < PACKETS; i++) {
		len = take_range(in, 1, SFC_LEN_MAX);
		bytes += len;
		ns += sfc_serialize_ns(&r, len, &frac);
		exact = (s128)bytes * NSEC_PER_SEC / r.bytes_ps;
		CHECK(nearly(ns, exact));
	}
}

static void limit(struct input *in)
{
	u64 now = take_range(in, 0, 1ULL << 60), start = now;
	u32 per_sec = take_range(in, 1, U32_MAX);
	struct sfc_limiter l;
	u64 taken = 0, resets = 0;
	s128 most;
	int i;

	sfc_limiter_set(&l, per_sec, now);
	for (i = 0; i < PACKETS; i++) {
		u64 gap = take_range(in, 0, 1ULL << take_below(in, 40));

		now += gap;
		resets += gap >= SFC_LIMITER_IDLE_NS;
		taken += sfc_limiter_take(&l, now);
		CHECK(l.credit_ps <= l.burst_ps);
		most = (s128)l.burst_ps * (1 + resets) + (s128)(now - start) * 1000;
		CHECK((s128)taken * l.cost_ps <= most);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);

	switch (take_u8(&in) % 4) {
	case 0:
		decide(&in);
		break;
	case 1:
		share(&in);
		break;
	case 2:
		serialize(&in);
		break;
	default:
		limit(&in);
	}
	return 0;
}
