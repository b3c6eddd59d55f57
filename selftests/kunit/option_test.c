// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: include/bolt_option.h, the TCP option found, read, written and made room for.
 *
 * Buffers are allocated with exactly the length that the function is told, so that
 * KASAN sees a byte read or written beyond it.
 */

#include <linux/module.h>

#include "compat.h"
#include "bolt_option.h"

#define NOP	1
#define TS10	8, 10, 1, 2, 3, 4, 5, 6, 7, 8		/* RFC 7323 */
#define EXID	0xB0, 0x17
#define FULL	254, 12, EXID, 0x84, 7, 0xde, 0xad, 0xbe, 0xef, 0x12, 0x34
#define SHORT	254, 4, EXID
#define OTHER	254, 4, 0xB0, 0x18			/* somebody else's experiment */
#define FASTOPEN 34, 10, 1, 2, 3, 4, 5, 6, 7, 8		/* RFC 7413 */

static u8 *exact(struct kunit *test, const u8 *bytes, unsigned int len)
{
	u8 *p = kunit_kmalloc(test, len ?: 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	memcpy(p, bytes, len);
	return p;
}

/* --- bolt_opt_find() --- */

struct find_case {
	const char *name;
	enum bolt_opt_form form;
	unsigned int off;
	unsigned int len;
	u8 opts[BOLT_TCPOPT_SPACE];
};

static const struct find_case find_cases[] = {
	{ "empty", BOLT_OPT_NONE, 0, 0, { } },
	{ "full alone", BOLT_OPT_FULL, 0, 12, { FULL } },
	{ "full behind timestamps", BOLT_OPT_FULL, 12, 24, { NOP, NOP, TS10, FULL } },
	{ "full at odd offset 1", BOLT_OPT_FULL, 1, 16, { NOP, FULL, NOP, NOP, NOP } },
	{ "full at odd offset 11", BOLT_OPT_FULL, 11, 24, { NOP, TS10, FULL, 0 } },
	{ "full in the last byte", BOLT_OPT_FULL, 28, 40, { NOP, NOP, TS10, NOP, NOP, 5, 10,
		1, 2, 3, 4, 5, 6, 7, 8, NOP, NOP, NOP, NOP, FULL } },
	{ "short alone", BOLT_OPT_SYN, 0, 4, { SHORT } },
	{ "short beside an 8-byte cookie", BOLT_OPT_SYN, 22, 28,
		{ NOP, NOP, TS10, FASTOPEN, SHORT, 0, 0 } },
	{ "short, then full: the first counts", BOLT_OPT_SYN, 0, 16, { SHORT, FULL } },
	{ "behind another experiment", BOLT_OPT_FULL, 4, 16, { OTHER, FULL } },
	{ "behind kind 254 of 2 bytes", BOLT_OPT_FULL, 2, 14, { 254, 2, FULL } },
	{ "behind kind 254 of 3 bytes", BOLT_OPT_FULL, 3, 15, { 254, 3, 9, FULL } },
	{ "kind 253 is another one", BOLT_OPT_NONE, 0, 12, { 253, 12, EXID } },
	{ "other ExID", BOLT_OPT_NONE, 0, 12, { 254, 12, 0x17, 0xB0 } },
	{ "behind EOL", BOLT_OPT_NONE, 0, 16, { NOP, NOP, NOP, 0, FULL } },
	{ "NOPs only", BOLT_OPT_NONE, 0, 4, { NOP, NOP, NOP, NOP } },
	{ "EOL only", BOLT_OPT_NONE, 0, 4, { 0 } },
	{ "behind an option of length 0", BOLT_OPT_NONE, 0, 16, { 8, 0, 0, 0, FULL } },
	{ "behind an option of length 1", BOLT_OPT_NONE, 0, 16, { 8, 1, 0, 0, FULL } },
	{ "behind an option longer than the rest", BOLT_OPT_NONE, 0, 16, { 8, 17, 0, 0, FULL } },
	{ "behind an option that swallows it", BOLT_OPT_NONE, 0, 16, { 8, 16, 0, 0, FULL } },
	{ "kind without length", BOLT_OPT_NONE, 0, 1, { 254 } },
	{ "kind and length only", BOLT_OPT_NONE, 0, 2, { 254, 12 } },
	{ "half an ExID", BOLT_OPT_NONE, 0, 3, { 254, 12, 0xB0 } },
};

KUNIT_ARRAY_PARAM_DESC(find, find_cases, name);

static void bolt_opt_find_test(struct kunit *test)
{
	const struct find_case *c = test->param_value;
	u8 *opts = exact(test, c->opts, c->len);
	unsigned int off = 99;

	KUNIT_EXPECT_EQ(test, bolt_opt_find(opts, c->len, &off), c->form);
	if (c->form == BOLT_OPT_FULL || c->form == BOLT_OPT_SYN)
		KUNIT_EXPECT_EQ(test, off, c->off);
	else
		KUNIT_EXPECT_EQ_MSG(test, off, 99, "offset written though nothing was found");
}

/* Every length byte at every place, and every cut: the rule says which form it is. */
static void bolt_opt_find_each_length_test(struct kunit *test)
{
	static const u8 ours[] = { FULL };
	unsigned int at, cut, size;

	for (at = 0; at + BOLT_TCPOPT_LEN <= BOLT_TCPOPT_SPACE; at++)
		for (cut = 0; cut <= BOLT_TCPOPT_LEN; cut++)
			for (size = 0; size < 256; size++) {
				enum bolt_opt_form want, got;
				unsigned int off = 99, len = at + cut;
				u8 opts[BOLT_TCPOPT_SPACE];

				memset(opts, NOP, sizeof(opts));
				memcpy(opts + at, ours, sizeof(ours));
				opts[at + 1] = size;
				if (cut < 4 || size < 4)	/* the ExID is not there */
					want = BOLT_OPT_NONE;
				else if (size > cut)
					want = BOLT_OPT_BAD;
				else if (size == BOLT_TCPOPT_LEN)
					want = BOLT_OPT_FULL;
				else if (size == BOLT_TCPOPT_LEN_SYN)
					want = BOLT_OPT_SYN;
				else
					want = BOLT_OPT_BAD;
				got = bolt_opt_find(opts, len, &off);
				if (got != want)
					KUNIT_FAIL(test, "at %u cut %u length %u: %d, not %d",
						   at, cut, size, got, want);
				if ((want == BOLT_OPT_FULL || want == BOLT_OPT_SYN) && off != at)
					KUNIT_FAIL(test, "at %u cut %u length %u: offset %u",
						   at, cut, size, off);
			}
}

/* --- bolt_opt_read(), bolt_opt_write() --- */

struct rw_case {
	const char *name;
	struct bolt_opt opt;
	u8 wire[BOLT_TCPOPT_LEN];
};

static const struct rw_case rw_cases[] = {
	{ "zero", { }, { 254, 12, EXID } },
	{ "flags", { .flags = 0xfe }, { 254, 12, EXID, 0xfe } },
	{ "inc_count", { .inc_count = 0xff }, { 254, 12, EXID, 0, 0xff } },
	{ "t_data_tx", { .t_data_tx = 0x01020304 }, { 254, 12, EXID, 0, 0, 1, 2, 3, 4 } },
	{ "t_data_tx, high bit", { .t_data_tx = 0xffffffff },
	  { 254, 12, EXID, 0, 0, 0xff, 0xff, 0xff, 0xff } },
	{ "rq_delay", { .rq_delay = 0xfffe }, { 254, 12, EXID, 0, 0, 0, 0, 0, 0, 0xff, 0xfe } },
	{ "a data packet", { .flags = BOLT_F_DATA | BOLT_F_INC, .inc_count = 7,
			     .t_data_tx = 0xdeadbeef, .rq_delay = 0x1234 }, { FULL } },
};

KUNIT_ARRAY_PARAM_DESC(rw, rw_cases, name);

static void bolt_opt_read_write_test(struct kunit *test)
{
	const struct rw_case *c = test->param_value;
	struct bolt_opt back;
	unsigned int shift;

	for (shift = 0; shift < 4; shift++) {	/* any alignment */
		u8 *p = kunit_kmalloc(test, shift + BOLT_TCPOPT_LEN, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, p);
		memset(p, 0xaa, shift);
		bolt_opt_write(p + shift, &c->opt);
		KUNIT_EXPECT_EQ(test, memcmp(p + shift, c->wire, BOLT_TCPOPT_LEN), 0);
		if (shift)
			KUNIT_EXPECT_EQ(test, p[shift - 1], 0xaa);

		memset(&back, 0x55, sizeof(back));
		bolt_opt_read(p + shift, &back);
		KUNIT_EXPECT_EQ(test, back.flags, c->opt.flags);
		KUNIT_EXPECT_EQ(test, back.inc_count, c->opt.inc_count);
		KUNIT_EXPECT_EQ(test, back.rq_delay, c->opt.rq_delay);
		KUNIT_EXPECT_EQ(test, back.t_data_tx, c->opt.t_data_tx);
	}
}

static void bolt_opt_write_syn_test(struct kunit *test)
{
	static const u8 wire[] = { SHORT };
	u8 *p = kunit_kmalloc(test, BOLT_TCPOPT_LEN_SYN, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	bolt_opt_write_syn(p);
	KUNIT_EXPECT_EQ(test, memcmp(p, wire, sizeof(wire)), 0);
}

/* --- what a pure ACK reflects --- */

struct rq_case {
	const char *name;
	u32 delay, hops, delay_back, hops_back;
};

static const struct rq_case rq_cases[] = {
	{ "nothing", 0, 0, 0, 0 },
	{ "three hops", 0, 3, 0, 3 },
	{ "more than can be said", 0, 16, 0, 15 },
	{ "191 routers", 0, 191, 0, 15 },
	{ "15 ns", 15, 0, 0, 0 },
	{ "16 ns", 16, 1, 16, 1 },
	{ "4 us, to 16 ns", 4095, 2, 4080, 2 },
	{ "from there to 32 ns", 4096, 2, 4096, 2 },
	{ "4127 ns", 4127, 2, 4096, 2 },
	{ "4128 ns", 4128, 2, 4128, 2 },
	{ "100 us", 100000, 5, 99840, 5 },
	{ "the longest", 255 * 16 << 15, 15, 255 * 16 << 15, 15 },
	{ "longer", (255 * 16 << 15) + 1, 0, 255 * 16 << 15, 0 },
	{ "the longest there is", U32_MAX, 7, 255 * 16 << 15, 7 },
};

KUNIT_ARRAY_PARAM_DESC(rq, rq_cases, name);

static void bolt_rq_test(struct kunit *test)
{
	const struct rq_case *c = test->param_value;
	u16 rq = bolt_rq_pack(c->delay, c->hops);

	KUNIT_EXPECT_EQ(test, bolt_rq_delay_ns(rq), c->delay_back);
	KUNIT_EXPECT_EQ(test, bolt_rq_hops(rq), c->hops_back);
}

/* Never more than was measured, less by under 1 %, or 16 ns */
static void bolt_rq_error_test(struct kunit *test)
{
	u32 delay, back;

	for (delay = 1; delay < 255U * 16 << 15; delay += delay / 1000 + 1) {
		back = bolt_rq_delay_ns(bolt_rq_pack(delay, 0));
		if (back > delay || delay - back > max(15U, delay / 100))
			KUNIT_FAIL(test, "%u came back as %u", delay, back);
	}
}

/* 1 + N: from 2^(N-1) bytes on */
static void bolt_level_test(struct kunit *test)
{
	u32 n;

	KUNIT_EXPECT_EQ(test, bolt_level(0), 1);
	for (n = 1; n < 31; n++) {
		KUNIT_EXPECT_EQ(test, bolt_level(1U << (n - 1)), 1 + n);
		KUNIT_EXPECT_EQ(test, bolt_level((1U << n) - 1), 1 + n);
	}
	KUNIT_EXPECT_EQ(test, bolt_level(1U << 30), BOLT_LEVEL_MAX);
	KUNIT_EXPECT_EQ(test, bolt_level(U32_MAX), BOLT_LEVEL_MAX);
}

static void bolt_hops_test(struct kunit *test)
{
	static const u8 ttl_hops[][2] = {
		{ 64, 0 }, { 62, 2 }, { 1, 63 }, { 0, 64 }, { 65, 63 }, { 128, 0 }, { 126, 2 },
		{ 129, 126 }, { 255, 0 }, { 252, 3 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ttl_hops); i++)
		KUNIT_EXPECT_EQ(test, bolt_hops_of_ttl(ttl_hops[i][0]), ttl_hops[i][1]);
}

/* The flags keep the places of Listing 1; each is one bit, none twice. */
static void bolt_opt_flags_test(struct kunit *test)
{
	static const u8 flags[] = { BOLT_F_DATA, BOLT_F_ACK, BOLT_F_SRC, BOLT_F_LAST,
				    BOLT_F_FIRST, BOLT_F_INC, BOLT_F_DEC };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		KUNIT_EXPECT_EQ(test, flags[i], 0x80 >> i);
}

/* --- bolt_opt_make_room() --- */

#define B(n)	n, n, n, n, n, n, n, n			/* one SACK block */
#define MD5	19, 18, B(9), B(9)			/* RFC 2385 */

struct room_case {
	const char *name;
	int ret;			/* -1: refused, options as before */
	unsigned int need;
	bool dsack;
	unsigned int len;
	u8 in[44];
	u8 out[BOLT_TCPOPT_SPACE];	/* when ret >= 0 */
};

static const struct room_case room_cases[] = {
	{ "empty", 0, 12, false, 0, { }, { } },
	{ "timestamps", 12, 12, false, 12, { NOP, NOP, TS10 }, { NOP, NOP, TS10 } },
	{ "one SACK block fits as it is", 24, 12, false, 24,
	  { NOP, NOP, TS10, NOP, NOP, 5, 10, B(1) }, { NOP, NOP, TS10, NOP, NOP, 5, 10, B(1) } },
	{ "exactly full fits as it is", 28, 12, false, 28,
	  { NOP, NOP, 5, 26, B(1), B(2), B(3) }, { NOP, NOP, 5, 26, B(1), B(2), B(3) } },
	{ "timestamps, two blocks stay", 28, 12, false, 32,
	  { NOP, NOP, TS10, NOP, NOP, 5, 18, B(1), B(2) }, { TS10, 5, 18, B(1), B(2) } },
	{ "timestamps, three blocks to two", 28, 12, false, 40,
	  { NOP, NOP, TS10, NOP, NOP, 5, 26, B(1), B(2), B(3) }, { TS10, 5, 18, B(1), B(2) } },
	{ "four blocks to three, padded", 28, 12, false, 36,
	  { NOP, NOP, 5, 34, B(1), B(2), B(3), B(4) }, { 5, 26, B(1), B(2), B(3), NOP, NOP } },
	{ "timestamps, three blocks to one", 20, 16, false, 40,
	  { NOP, NOP, TS10, NOP, NOP, 5, 26, B(1), B(2), B(3) }, { TS10, 5, 10, B(1) } },
	{ "four blocks to one", 12, 28, false, 36,
	  { NOP, NOP, 5, 34, B(1), B(2), B(3), B(4) }, { 5, 10, B(1), NOP, NOP } },
	{ "another option, behind the blocks", 28, 12, false, 40,
	  { NOP, NOP, TS10, 5, 18, B(1), B(2), NOP, NOP, 253, 6, 1, 2, 3, 4 },
	  { TS10, 5, 10, B(1), 253, 6, 1, 2, 3, 4, NOP, NOP } },
	{ "not one block", -1, 24, false, 32,
	  { NOP, NOP, TS10, NOP, NOP, 5, 18, B(1), B(2) } },
	{ "D-SACK keeps the block behind it", 28, 12, true, 32,
	  { NOP, NOP, TS10, NOP, NOP, 5, 18, B(1), B(2) }, { TS10, 5, 18, B(1), B(2) } },
	{ "D-SACK, three blocks to two", 28, 12, true, 40,
	  { NOP, NOP, TS10, NOP, NOP, 5, 26, B(1), B(2), B(3) }, { TS10, 5, 18, B(1), B(2) } },
	{ "D-SACK, four blocks to three", 28, 12, true, 36,
	  { NOP, NOP, 5, 34, B(1), B(2), B(3), B(4) }, { 5, 26, B(1), B(2), B(3), NOP, NOP } },
	{ "D-SACK, no room for the block behind it", -1, 24, true, 36,
	  { NOP, NOP, 5, 34, B(1), B(2), B(3), B(4) } },
	{ "D-SACK alone stays", 12, 28, true, 16,
	  { NOP, NOP, NOP, NOP, NOP, NOP, 5, 10, B(1) }, { 5, 10, B(1), NOP, NOP } },
	{ "accurate ECN fits beside timestamps", 24, 12, false, 24,
	  { NOP, NOP, TS10, 172, 11, B(1), 1, NOP }, { NOP, NOP, TS10, 172, 11, B(1), 1, NOP } },
	{ "timestamps, a block, accurate ECN goes", 20, 12, false, 36,
	  { NOP, NOP, TS10, NOP, NOP, 5, 10, B(1), 172, 11, B(2), 2, NOP }, { TS10, 5, 10, B(1) } },
	{ "accurate ECN goes before a block does", 28, 12, false, 40,
	  { NOP, NOP, TS10, 5, 18, B(1), B(2), 174, 5, 1, 1, 1, NOP },
	  { TS10, 5, 18, B(1), B(2) } },
	{ "accurate ECN in the other order", 28, 12, true, 36,
	  { 174, 5, 1, 1, 1, NOP, TS10, NOP, NOP, 5, 18, B(1), B(2) },
	  { TS10, 5, 18, B(1), B(2) } },
	{ "padding alone is enough", 28, 12, false, 32,
	  { NOP, NOP, MD5, NOP, NOP, TS10 }, { MD5, TS10 } },
	{ "behind EOL is padding", 12, 12, false, 32,
	  { TS10, 0, 99, 99, 99 }, { TS10, NOP, NOP } },
	{ "no SACK to give up", -1, 12, false, 40, { NOP, NOP, MD5, 253, 20 } },
	{ "SACK given up in vain", -1, 12, false, 40, { MD5, 5, 10, B(1), 253, 12 } },
	{ "option of length 0", -1, 12, false, 32, { TS10, 253, 0 } },
	{ "option of length 1", -1, 12, false, 32, { TS10, 253, 1 } },
	{ "option longer than the rest", -1, 12, false, 32, { TS10, 253, 23 } },
	{ "kind in the last byte", -1, 12, false, 32, { 253, 31, [31] = 8 } },
	{ "more in use than a header holds", -1, 4, false, 44, { NOP } },
	{ "all of the space, free", 0, 40, false, 0, { }, { } },
	{ "all of the space, NOPs in it", 0, 40, false, 4, { NOP, NOP, NOP, NOP }, { } },
	{ "all of the space, timestamps in it", -1, 40, false, 12, { NOP, NOP, TS10 } },
	{ "more than the space", -1, 44, false, 0, { } },
};

KUNIT_ARRAY_PARAM_DESC(room, room_cases, name);

static void bolt_opt_make_room_test(struct kunit *test)
{
	const struct room_case *c = test->param_value;
	unsigned int buf = max_t(unsigned int, c->len, BOLT_TCPOPT_SPACE);
	u8 *opts = exact(test, c->in, buf);
	bool lost;
	int ret = bolt_opt_make_room(opts, c->len, c->dsack, c->need, &lost);

	KUNIT_ASSERT_EQ(test, ret, c->ret);
	if (ret < 0) {
		KUNIT_EXPECT_EQ(test, memcmp(opts, c->in, c->len), 0);
		return;
	}
	KUNIT_EXPECT_EQ(test, memcmp(opts, c->out, ret), 0);
	KUNIT_EXPECT_EQ(test, ret % 4, 0);
	KUNIT_EXPECT_LE(test, ret + c->need, BOLT_TCPOPT_SPACE);
}

/* --- bolt_inc_delta() --- */

struct inc_case {
	const char *name;
	u8 now, last;
	unsigned int delta;
};

static const struct inc_case inc_cases[] = {
	{ "same", 5, 5, 0 },
	{ "one more", 6, 5, 1 },
	{ "wrap", 0, 255, 1 },
	{ "wrap by more", 10, 250, 16 },
	{ "largest step", 127, 0, 127 },
	{ "one too many is an old ACK", 128, 0, 0 },
	{ "overtaken", 5, 6, 0 },
	{ "overtaken across the wrap", 255, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(inc, inc_cases, name);

static void bolt_inc_delta_test(struct kunit *test)
{
	const struct inc_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, bolt_inc_delta(c->now, c->last), c->delta);
}

/* Lost and coalesced ACKs cost nothing: the sum of the steps is what was granted. */
static void bolt_inc_delta_sum_test(struct kunit *test)
{
	unsigned int step, granted = 0, seen = 0;
	u8 last = 250;

	for (step = 0; step <= 127; step++) {
		u8 now = 250 + granted + step;

		granted += step;
		seen += bolt_inc_delta(now, last);
		last = now;
	}
	KUNIT_EXPECT_EQ(test, seen, granted);
}

static struct kunit_case bolt_option_cases[] = {
	KUNIT_CASE_PARAM(bolt_opt_find_test, find_gen_params),
	KUNIT_CASE(bolt_opt_find_each_length_test),
	KUNIT_CASE_PARAM(bolt_opt_read_write_test, rw_gen_params),
	KUNIT_CASE(bolt_opt_write_syn_test),
	KUNIT_CASE(bolt_opt_flags_test),
	KUNIT_CASE_PARAM(bolt_rq_test, rq_gen_params),
	KUNIT_CASE(bolt_rq_error_test),
	KUNIT_CASE(bolt_level_test),
	KUNIT_CASE(bolt_hops_test),
	KUNIT_CASE_PARAM(bolt_opt_make_room_test, room_gen_params),
	KUNIT_CASE_PARAM(bolt_inc_delta_test, inc_gen_params),
	KUNIT_CASE(bolt_inc_delta_sum_test),
	{ }
};

static struct kunit_suite bolt_option_suite = {
	.name = "bolt_option",
	.test_cases = bolt_option_cases,
};

kunit_test_suite(bolt_option_suite);

MODULE_DESCRIPTION("KUnit tests of Bolt's and SFC's pure functions");
MODULE_LICENSE("GPL");
