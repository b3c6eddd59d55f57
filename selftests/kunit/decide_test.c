// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sch_sfc/decide.h, every branch of Algorithm 1 of the Bolt paper.
 */

#include "compat.h"
#include "decide.h"

#define MTU	1514
#define THRESH	3028		/* two of them */
#define GBPS	125000000ULL

#define DATA	BOLT_F_DATA
#define INC	BOLT_F_INC
#define DEC	BOLT_F_DEC
#define FIRST	BOLT_F_FIRST
#define LAST	BOLT_F_LAST
#define ACK	BOLT_F_ACK

struct decide_case {
	const char *name;
	/* the packet; it arrives 120 ns after the one before, at 100 Gb/s */
	u8 flags;
	u32 queue;
	bool cannot_src;
	u32 segs;		/* 0: one */
	/* the port */
	bool nopru, nosm;
	u32 pru;
	s64 sm_bytes;		/* supply before this packet */
	/* what comes of it */
	u8 want;
	bool src, congested, data;
	enum sfc_grant grant;
	u32 pru_added, pru_after;
};

static const struct decide_case decide_cases[] = {
	/* line 2: not data */
	{ "no option", .want = 0 },
	{ "pure ACK, congested", ACK, 9000, .want = ACK },
	{ "pure ACK with INC keeps it", ACK | INC, .want = ACK | INC },
	{ "pure ACK with DEC keeps it", ACK | DEC, 9000, .want = ACK | DEC },

	/* lines 4 to 10: congested */
	{ "at ccthresh: SRC and DEC", DATA, THRESH, .want = DATA | DEC, .src = true,
	  .congested = true, .data = true },
	{ "one byte below ccthresh: none", DATA, THRESH - 1, .want = DATA, .data = true },
	{ "largest queue", DATA, U32_MAX, .want = DATA | DEC, .src = true, .congested = true,
	  .data = true },
	{ "congested: INC is gone, supply does not pay", DATA | INC, THRESH, .sm_bytes = MTU,
	  .want = DATA | DEC, .src = true, .congested = true, .data = true },
	{ "congested: INC, a PRU token pays", DATA | INC, THRESH, .sm_bytes = MTU, .pru = 5,
	  .want = DATA | INC | DEC, .src = true, .congested = true, .data = true,
	  .grant = SFC_GRANT_PRU, .pru_after = 4 },
	{ "congested: INC, the longest queue that a PRU token pays in", DATA | INC, 16 * MTU - 1,
	  .pru = 5, .want = DATA | INC | DEC, .src = true, .congested = true, .data = true,
	  .grant = SFC_GRANT_PRU, .pru_after = 4 },
	{ "congested: INC is gone, a long queue", DATA | INC, 16 * MTU, .sm_bytes = MTU, .pru = 5,
	  .want = DATA | DEC, .src = true, .congested = true, .data = true, .pru_after = 5 },
	{ "congested: INC, tokens but nopru", DATA | INC, THRESH, .pru = 5, .nopru = true,
	  .want = DATA | DEC, .src = true, .congested = true, .data = true, .pru_after = 5 },
	{ "DEC set before: no second SRC", DATA | DEC, THRESH, .want = DATA | DEC,
	  .congested = true, .data = true },
	{ "DEC set before: INC is gone all the same", DATA | DEC | INC, THRESH,
	  .want = DATA | DEC, .congested = true, .data = true },
	{ "congested: LAST adds a token all the same", DATA | LAST, THRESH,
	  .want = DATA | LAST | DEC, .src = true, .congested = true, .data = true,
	  .pru_added = 1, .pru_after = 1 },
	{ "congested: LAST, the longest queue that counts", DATA | LAST, 16 * MTU - 1,
	  .want = DATA | LAST | DEC, .src = true, .congested = true, .data = true,
	  .pru_added = 1, .pru_after = 1 },
	{ "congested: LAST, a long queue", DATA | LAST, 16 * MTU, .want = DATA | LAST | DEC,
	  .src = true, .congested = true, .data = true },
	{ "congested: LAST and FIRST", DATA | LAST | FIRST, THRESH,
	  .want = DATA | LAST | FIRST | DEC, .src = true, .congested = true, .data = true },
	{ "congested: FIRST stays", DATA | FIRST, THRESH, .want = DATA | FIRST | DEC,
	  .src = true, .congested = true, .data = true },
	{ "SRC impossible: no DEC, INC is gone", DATA | INC, THRESH, .cannot_src = true,
	  .want = DATA, .congested = true, .data = true },
	{ "SRC impossible, DEC set before: stays", DATA | DEC, THRESH, .cannot_src = true,
	  .want = DATA | DEC, .congested = true, .data = true },

	/* lines 11 and 12: LAST */
	{ "LAST: a PRU token", DATA | LAST, .want = DATA | LAST, .data = true, .pru_added = 1,
	  .pru_after = 1 },
	{ "LAST and FIRST: none", DATA | LAST | FIRST, .want = DATA | LAST | FIRST, .data = true },
	{ "LAST with INC: INC is gone, unpaid", DATA | LAST | INC, .sm_bytes = MTU,
	  .want = DATA | LAST, .data = true, .pru_added = 1, .pru_after = 1 },
	{ "LAST, tokens full", DATA | LAST, .pru = SFC_PRU_MAX, .want = DATA | LAST, .data = true,
	  .pru_after = SFC_PRU_MAX },
	{ "LAST, nopru", DATA | LAST, .nopru = true, .want = DATA | LAST, .data = true },
	{ "LAST, DEC from elsewhere", DATA | LAST | DEC, .want = DATA | LAST | DEC, .data = true,
	  .pru_added = 1, .pru_after = 1 },
	{ "LAST super-packet: a token each", DATA | LAST, .segs = 4, .want = DATA | LAST,
	  .data = true, .pru_added = 4, .pru_after = 4 },

	/* lines 13 to 19: INC */
	{ "INC, a PRU token pays (lines 14, 15)", DATA | INC, .pru = 2, .want = DATA | INC,
	  .data = true, .grant = SFC_GRANT_PRU, .pru_after = 1 },
	{ "INC, PRU is spent before supply", DATA | INC, .pru = 1, .sm_bytes = MTU,
	  .want = DATA | INC, .data = true, .grant = SFC_GRANT_PRU, .pru_after = 0 },
	{ "INC, supply pays (lines 16, 17)", DATA | INC, .sm_bytes = MTU, .want = DATA | INC,
	  .data = true, .grant = SFC_GRANT_SM },
	{ "INC, a byte of supply too little", DATA | INC, .sm_bytes = MTU - 1, .want = DATA,
	  .data = true },
	{ "INC, nothing pays (lines 18, 19)", DATA | INC, .want = DATA, .data = true },
	{ "INC, supply in debt", DATA | INC, .sm_bytes = -1000000, .want = DATA, .data = true },
	{ "INC, tokens but nopru", DATA | INC, .pru = 2, .nopru = true, .want = DATA, .data = true,
	  .pru_after = 2 },
	{ "INC, supply but nosm", DATA | INC, .sm_bytes = MTU, .nosm = true, .want = DATA,
	  .data = true },
	{ "INC with DEC from elsewhere", DATA | INC | DEC, .sm_bytes = MTU,
	  .want = DATA | INC | DEC, .data = true, .grant = SFC_GRANT_SM },
	{ "INC super-packet: all or none", DATA | INC, .segs = 4, .pru = 3, .want = DATA,
	  .data = true, .pru_after = 3 },
	{ "INC super-packet: four tokens", DATA | INC, .segs = 4, .pru = 4, .want = DATA | INC,
	  .data = true, .grant = SFC_GRANT_PRU, .pru_after = 0 },
	{ "INC super-packet: four MTU of supply", DATA | INC, .segs = 4, .sm_bytes = 4 * MTU,
	  .want = DATA | INC, .data = true, .grant = SFC_GRANT_SM },

	/* neither */
	{ "plain data", DATA, .want = DATA, .data = true },
	{ "DEC from elsewhere, not congested here", DATA | DEC, .want = DATA | DEC, .data = true },
};

KUNIT_ARRAY_PARAM_DESC(decide, decide_cases, name);

static void sfc_decide_test(struct kunit *test)
{
	const struct decide_case *c = test->param_value;
	struct sfc_alg_cfg cfg = { .ccthresh = THRESH, .pruthresh = 16 * MTU,
				   .mtu = MTU, .floor = 10000000, .pru_max = SFC_PRU_MAX,
				   .pru = !c->nopru, .sm = !c->nosm };
	struct sfc_alg_state st = { .pru_token = c->pru };
	struct sfc_alg_in in = { .now = 1120, .queue = c->queue, .size = 1500,
				 .segs = c->segs ?: 1, .flags = c->flags,
				 .can_src = !c->cannot_src };
	struct sfc_decision out;

	sfc_rate_set(&cfg.rate, 100 * GBPS);
	/* 120 ns are worth 1500 bytes, what the packet takes; one token for truncation */
	st.sm.token = c->sm_bytes * 1024 + 1;
	st.sm.last_ns = 1000;
	in.size = 1500;
	memset(&out, 0x55, sizeof(out));
	sfc_decide_supply(&cfg, &st, &in);
	sfc_decide(&cfg, &st, &in, &out);

	KUNIT_EXPECT_EQ(test, out.flags, c->want);
	KUNIT_EXPECT_EQ(test, out.src, c->src);
	KUNIT_EXPECT_EQ(test, out.congested, c->congested);
	KUNIT_EXPECT_EQ(test, out.data, c->data);
	KUNIT_EXPECT_EQ(test, out.grant, c->grant);
	KUNIT_EXPECT_EQ(test, out.pru_added, c->pru_added);
	KUNIT_EXPECT_EQ(test, st.pru_token, c->pru_after);
}

/* Whatever arrives: no flag appears but DEC, none goes but INC, and SRC means DEC */
static void sfc_decide_all_flags_test(struct kunit *test)
{
	struct sfc_alg_cfg cfg = { .ccthresh = THRESH, .pruthresh = 16 * MTU,
				   .mtu = MTU, .floor = 10000000, .pru_max = SFC_PRU_MAX,
				   .pru = true, .sm = true };
	unsigned int flags, congested, can_src;

	sfc_rate_set(&cfg.rate, 100 * GBPS);
	for (flags = 0; flags < 256; flags++)
		for (congested = 0; congested < 2; congested++)
			for (can_src = 0; can_src < 2; can_src++) {
				struct sfc_alg_state st = { };
				struct sfc_alg_in in = { .now = 1000, .size = 1500, .segs = 1,
							 .queue = congested ? THRESH : 0,
							 .flags = flags, .can_src = can_src };
				struct sfc_decision out;
				bool dec = congested && can_src && flags & DATA && !(flags & DEC);

				sfc_decide_supply(&cfg, &st, &in);
				sfc_decide(&cfg, &st, &in, &out);
				KUNIT_EXPECT_EQ(test, out.flags & ~(INC | DEC),
						flags & ~(INC | DEC));
				KUNIT_EXPECT_EQ(test, out.src, dec);
				KUNIT_EXPECT_EQ(test, out.flags & DEC, dec ? DEC : flags & DEC);
				KUNIT_EXPECT_EQ(test, out.flags & INC & ~flags, 0);
				if (!(flags & DATA))
					KUNIT_EXPECT_EQ(test, out.flags, flags);
			}
}

/* Supply and demand are counted on every packet: a pure ACK uses the link as well */
static void sfc_decide_counts_all_test(struct kunit *test)
{
	static const u8 flags[] = { 0, ACK, DATA, DATA | LAST, DATA | DEC };
	struct sfc_alg_cfg cfg = { .ccthresh = THRESH, .pruthresh = 16 * MTU,
				   .mtu = MTU, .floor = 10000000, .pru_max = SFC_PRU_MAX,
				   .sm = true };
	struct sfc_decision out;
	int i;

	sfc_rate_set(&cfg.rate, 100 * GBPS);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct sfc_alg_state st = { .sm.last_ns = 1000 };
		struct sfc_alg_in in = { .now = 1000, .size = 1500, .segs = 1,
					 .flags = flags[i] };

		sfc_decide_supply(&cfg, &st, &in);
		sfc_decide(&cfg, &st, &in, &out);
		KUNIT_EXPECT_EQ(test, st.sm.token, -1500 * 1024);
	}
}

/*
 * Section 3.2: flow A ends; its last window, W packets with LAST, pays for the ramp-up of
 * another by exactly W packets.
 */
static void sfc_decide_pru_handover_test(struct kunit *test)
{
	struct sfc_alg_cfg cfg = { .ccthresh = THRESH, .pruthresh = 16 * MTU,
				   .mtu = MTU, .floor = 10000000, .pru_max = SFC_PRU_MAX,
				   .pru = true };
	struct sfc_alg_state st = { };
	struct sfc_alg_in in = { .size = 1500, .segs = 1 };
	struct sfc_decision out;
	int i, kept = 0;

	sfc_rate_set(&cfg.rate, 100 * GBPS);
	for (i = 0; i < 33; i++) {
		in.now += 120;
		in.flags = DATA | LAST;
		sfc_decide_supply(&cfg, &st, &in);
		sfc_decide(&cfg, &st, &in, &out);
	}
	for (i = 0; i < 100; i++) {
		in.now += 120;
		in.flags = DATA | INC;
		sfc_decide_supply(&cfg, &st, &in);
		sfc_decide(&cfg, &st, &in, &out);
		kept += !!(out.flags & INC);
	}
	KUNIT_EXPECT_EQ(test, kept, 33);
	KUNIT_EXPECT_EQ(test, st.pru_token, 0);
}

/* --- how much supply may be saved up --- */

struct cap_case {
	const char *name;
	u32 smcap, segs;
	u64 gap;
	u32 want;
};

static const struct cap_case cap_cases[] = {
	{ "one MTU, as the paper says", MTU, 1, 1000, MTU },
	{ "none configured is one MTU", 0, 1, 1000, MTU },
	{ "a round trip's gaps", 100000, 1, 1000, 100000 },
	{ "last gap of a round trip", 100000, 1, SFC_SM_IDLE_NS - 1, 100000 },
	{ "an idle link is worth one MTU", 100000, 1, SFC_SM_IDLE_NS, MTU },
	{ "64 us apart", 100000, 1, 64000, 100000 },
	{ "66 us apart", 100000, 1, 66000, MTU },
	{ "idle for long", 100000, 1, 1ULL << 60, MTU },
	{ "a super-packet's segments", 0, 44, 1000, 44 * MTU },
	{ "the larger counts", 100000, 44, 1000, 100000 },
	{ "most segments", 0, SFC_SEGS_MAX, 1000, SFC_SEGS_MAX * MTU },
};

KUNIT_ARRAY_PARAM_DESC(cap, cap_cases, name);

static void sfc_supply_cap_test(struct kunit *test)
{
	const struct cap_case *c = test->param_value;
	struct sfc_alg_cfg cfg = { .mtu = MTU, .smcap = c->smcap };
	struct sfc_sm sm = { .last_ns = 500 };
	struct sfc_alg_in in = { .now = 500 + c->gap, .segs = c->segs };

	KUNIT_EXPECT_EQ(test, sfc_supply_cap(&cfg, &sm, &in), c->want);
}

static struct kunit_case sfc_decide_cases[] = {
	KUNIT_CASE_PARAM(sfc_supply_cap_test, cap_gen_params),
	KUNIT_CASE_PARAM(sfc_decide_test, decide_gen_params),
	KUNIT_CASE(sfc_decide_all_flags_test),
	KUNIT_CASE(sfc_decide_counts_all_test),
	KUNIT_CASE(sfc_decide_pru_handover_test),
	{ }
};

static struct kunit_suite sfc_decide_suite = {
	.name = "sfc_decide",
	.test_cases = sfc_decide_cases,
};

kunit_test_suite(sfc_decide_suite);
