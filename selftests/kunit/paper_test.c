// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sch_sfc/decide.h, Algorithms 1 and 3 of the Bolt paper as printed: what decide.h does in
 * another way, line by line.
 */

#include "compat.h"
#include "decide.h"

#define MTU	1514
#define THRESH	1514		/* section 3.1: a single MTU */
#define GBPS	125000000ULL

#define DATA	BOLT_F_DATA
#define INC	BOLT_F_INC
#define DEC	BOLT_F_DEC
#define FIRST	BOLT_F_FIRST
#define LAST	BOLT_F_LAST
#define ACK	BOLT_F_ACK

struct paper_case {
	const char *name;
	u8 flags;
	u32 queue;
	bool cannot_src;
	u32 pru;
	s64 sm_bytes;		/* before line 3, which adds and takes 1500 */
	u8 want;
	bool src, congested;
	enum sfc_grant grant;
	u32 pru_after;
};

static const struct paper_case paper_cases[] = {
	{ "line 2: an ACK passes", ACK | INC, THRESH, .pru = 1, .want = ACK | INC, .pru_after = 1 },
	{ "line 4: a byte below", DATA, THRESH - 1, .want = DATA },
	{ "line 4: at it", DATA, THRESH, .want = DATA | DEC, .src = true, .congested = true },
	{ "line 5: DEC before, INC passes unpaid", DATA | DEC | INC, THRESH, .pru = 1,
	  .want = DATA | DEC | INC, .congested = true, .pru_after = 1 },
	{ "line 10: INC is gone, no token pays", DATA | INC, THRESH, .pru = 3, .sm_bytes = MTU,
	  .want = DATA | DEC, .src = true, .congested = true, .pru_after = 3 },
	{ "line 10: no SRC, no DEC", DATA | INC, THRESH, .cannot_src = true, .want = DATA,
	  .congested = true },
	{ "line 11: LAST in a queue leaves nothing", DATA | LAST, THRESH,
	  .want = DATA | LAST | DEC, .src = true, .congested = true },
	{ "line 11: LAST lets INC pass unpaid", DATA | LAST | INC, .want = DATA | LAST | INC,
	  .pru_after = 1 },
	{ "line 12: LAST and FIRST", DATA | LAST | FIRST, .want = DATA | LAST | FIRST },
	{ "line 12: no limit", DATA | LAST, .pru = SFC_PRU_MAX, .want = DATA | LAST,
	  .pru_after = SFC_PRU_MAX + 1 },
	{ "line 12: the largest number", DATA | LAST, .pru = U32_MAX, .want = DATA | LAST,
	  .pru_after = U32_MAX },
	{ "line 14: PRU before supply", DATA | INC, .pru = 1, .sm_bytes = MTU, .want = DATA | INC,
	  .grant = SFC_GRANT_PRU },
	{ "line 16: an MTU of supply", DATA | INC, .sm_bytes = MTU, .want = DATA | INC,
	  .grant = SFC_GRANT_SM },
	{ "line 16: a byte too little", DATA | INC, .sm_bytes = MTU - 1, .want = DATA },
};

KUNIT_ARRAY_PARAM_DESC(paper, paper_cases, name);

static struct sfc_alg_cfg paper_cfg(void)
{
	/* as sfc_config_derive() makes it; pruthresh is ours */
	struct sfc_alg_cfg cfg = { .ccthresh = THRESH, .pruthresh = 16 * MTU, .mtu = MTU,
				   .floor = U32_MAX, .pru_max = U32_MAX,
				   .pru = true, .sm = true, .paper = true };

	sfc_rate_set(&cfg.rate, 100 * GBPS);
	return cfg;
}

/* As sfc_decide_packet() does it */
static void paper_decide(const struct sfc_alg_cfg *cfg, struct sfc_alg_state *st,
			 const struct sfc_alg_in *in, struct sfc_decision *out)
{
	if (in->flags & DATA)
		sfc_decide_supply(cfg, st, in);
	sfc_decide(cfg, st, in, out);
}

static void sfc_paper_decide_test(struct kunit *test)
{
	const struct paper_case *c = test->param_value;
	struct sfc_alg_cfg cfg = paper_cfg();
	struct sfc_alg_state st = { .pru_token = c->pru };
	struct sfc_alg_in in = { .now = 1120, .queue = c->queue, .size = 1500, .segs = 1,
				 .flags = c->flags, .can_src = !c->cannot_src };
	struct sfc_decision out;

	/* 120 ns are worth 1500 bytes, what the packet takes; one token for truncation */
	st.sm.token = c->sm_bytes * 1024 + 1;
	st.sm.last_ns = 1000;
	memset(&out, 0x55, sizeof(out));
	paper_decide(&cfg, &st, &in, &out);

	KUNIT_EXPECT_EQ(test, out.flags, c->want);
	KUNIT_EXPECT_EQ(test, out.src, c->src);
	KUNIT_EXPECT_EQ(test, out.congested, c->congested);
	KUNIT_EXPECT_EQ(test, out.data, !!(c->flags & DATA));
	KUNIT_EXPECT_EQ(test, out.grant, c->grant);
	KUNIT_EXPECT_EQ(test, st.pru_token, c->pru_after);
}

/* --- Algorithm 3 --- */

struct supply_case {
	const char *name;
	u8 flags;
	s64 bytes;		/* the token before */
	u64 gap_ns;
	s64 want;
};

static const struct supply_case supply_cases[] = {
	{ "lines 4 to 6", DATA, -9000, 240, -9000 + 3000 - 1500 },
	{ "line 7: one MTU and no smcap", DATA, 0, 8000, MTU },
	{ "no floor", DATA, -5000, 0, -6500 },
	{ "ACKs and what has no option are not counted", 0, -9000, 240, -9000 },
};

KUNIT_ARRAY_PARAM_DESC(supply, supply_cases, name);

static void sfc_paper_supply_test(struct kunit *test)
{
	const struct supply_case *c = test->param_value;
	struct sfc_alg_cfg cfg = paper_cfg();
	struct sfc_alg_state st = { .sm = { .token = c->bytes * 1024 + 1, .last_ns = 1000 } };
	struct sfc_alg_in in = { .now = 1000 + c->gap_ns, .size = 1500, .segs = 1,
				 .flags = c->flags };
	struct sfc_decision out;

	paper_decide(&cfg, &st, &in, &out);
	KUNIT_EXPECT_EQ(test, sfc_sm_bytes(&st.sm), c->want);
}

static struct kunit_case sfc_paper_cases[] = {
	KUNIT_CASE_PARAM(sfc_paper_decide_test, paper_gen_params),
	KUNIT_CASE_PARAM(sfc_paper_supply_test, supply_gen_params),
	{ }
};

static struct kunit_suite sfc_paper_suite = {
	.name = "sfc_paper",
	.test_cases = sfc_paper_cases,
};

kunit_test_suite(sfc_paper_suite);
