// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: include/bolt_msg.h, the control message built, checked and taken apart.
 *
 * Every payload lies in an allocation of exactly its length: KASAN sees a read beyond.
 */

#include "compat.h"
#include "bolt_msg.h"

#define HDR	sizeof(struct bolt_ctl)
#define OFF(f)	offsetof(struct bolt_ctl, f)

/* A valid SRC whose fields all differ, about 192.0.2.1:0x1122 -> 198.51.100.2:0x3344 */
static const struct bolt_msg src = {
	.type = BOLT_CTL_SRC,
	.dscp = 46,
	.t_data_tx = 0x01020304,
	.queue_bytes = 0x11121314,
	.link_rate = 0x21222324,
	.pause_ns = 0x31323334,
	.target_rate = 0x41424344,
	.switch_id = 0x51525354,
};

#define L4		0x11, 0x22, 0x33, 0x44, 0xa1, 0xa2, 0xa3, 0xa4
#define V4(ihl, proto)	(0x40 | (ihl)), 0, 0, 60, 0, 0, 0x40, 0, 64, (proto), 0, 0,	\
			192, 0, 2, 1, 198, 51, 100, 2
#define V6(next)	0x60, 0, 0, 0, 0, 40, (next), 64,				\
			0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,	\
			0x20, 0x01, 0x0d, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2
#define EXT8(next)	(next), 0, 1, 4, 0, 0, 0, 0
#define EXT16(next)	(next), 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0

static const u8 quote_v4[] = { V4(5, 6), L4 };

/* @len bytes of payload: header of @m, then the quote; caller may spoil it. */
static u8 *payload(struct kunit *test, const struct bolt_msg *m, const u8 *quote,
		   unsigned int qlen)
{
	u8 *p = kunit_kmalloc(test, HDR + qlen, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	memcpy(p + HDR, quote, qlen);
	KUNIT_ASSERT_EQ(test, bolt_msg_build(p, m, qlen), HDR + qlen);
	return p;
}

static void bolt_msg_layout_test(struct kunit *test)
{
	u8 *p = payload(test, &src, quote_v4, sizeof(quote_v4));
	static const u8 wire[] = {
		1, 1, 0, 46, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24,
		0x31, 0x32, 0x33, 0x34, 0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54,
		0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	};

	KUNIT_EXPECT_EQ(test, HDR, 40);
	KUNIT_EXPECT_EQ(test, sizeof(wire), HDR);
	KUNIT_EXPECT_EQ(test, memcmp(p, wire, HDR), 0);
}

static void expect_src(struct kunit *test, const struct bolt_msg *m)
{
	KUNIT_EXPECT_EQ(test, m->type, src.type);
	KUNIT_EXPECT_EQ(test, m->flags, 0);
	KUNIT_EXPECT_EQ(test, m->dscp, src.dscp);
	KUNIT_EXPECT_EQ(test, m->t_data_tx, src.t_data_tx);
	KUNIT_EXPECT_EQ(test, m->queue_bytes, src.queue_bytes);
	KUNIT_EXPECT_EQ(test, m->link_rate, src.link_rate);
	KUNIT_EXPECT_EQ(test, m->pause_ns, src.pause_ns);
	KUNIT_EXPECT_EQ(test, m->target_rate, src.target_rate);
	KUNIT_EXPECT_EQ(test, m->switch_id, src.switch_id);
	KUNIT_EXPECT_EQ(test, ntohs(m->sport), 0x1122);
	KUNIT_EXPECT_EQ(test, ntohs(m->dport), 0x3344);
	KUNIT_EXPECT_EQ(test, m->seq, 0xa1a2a3a4);
}

/* --- what is quoted --- */

struct quote_case {
	const char *name;
	enum bolt_msg_verdict verdict;
	u8 family;
	u8 protocol;
	unsigned int len;
	u8 quote[BOLT_CTL_QUOTE_MAX];
};

static const struct quote_case quote_cases[] = {
	{ "IPv4 TCP", BOLT_MSG_OK, 4, 6, 28, { V4(5, 6), L4 } },
	{ "IPv4 UDP", BOLT_MSG_OK, 4, 17, 28, { V4(5, 17), L4 } },
	{ "IPv4 ICMP", BOLT_MSG_QUOTE, 0, 0, 28, { V4(5, 1), L4 } },
	{ "IPv4 with 4 bytes of options", BOLT_MSG_OK, 4, 6, 32, { V4(6, 6), 1, 1, 1, 1, L4 } },
	{ "IPv4 with 40 bytes of options", BOLT_MSG_OK, 4, 6, 68, { V4(15, 6), [60] = L4 } },
	{ "IPv4 header of 16 bytes", BOLT_MSG_QUOTE, 0, 0, 28, { V4(4, 6), L4 } },
	{ "IPv4 header of 0 bytes", BOLT_MSG_QUOTE, 0, 0, 28, { V4(0, 6), L4 } },
	{ "IPv4 longer than its header says", BOLT_MSG_QUOTE, 0, 0, 29, { V4(5, 6), L4 } },
	{ "IPv4 options cut off", BOLT_MSG_QUOTE, 0, 0, 28, { V4(6, 6), L4 } },
	{ "IPv4 all of the options cut off", BOLT_MSG_QUOTE, 0, 0, 28, { V4(15, 6), L4 } },
	{ "IPv4 second fragment", BOLT_MSG_QUOTE, 0, 0, 28, { 0x45, 0, 0, 60, 0, 0, 0, 1, 64, 6,
	  0, 0, 192, 0, 2, 1, 198, 51, 100, 2, L4 } },
	{ "IPv4 last fragment", BOLT_MSG_QUOTE, 0, 0, 28, { 0x45, 0, 0, 60, 0, 0, 0x1f, 0xff, 64,
	  6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2, L4 } },
	{ "IPv4 first fragment", BOLT_MSG_OK, 4, 6, 28, { 0x45, 0, 0, 60, 0, 0, 0x20, 0, 64, 6,
	  0, 0, 192, 0, 2, 1, 198, 51, 100, 2, L4 } },
	{ "IPv6 TCP", BOLT_MSG_OK, 6, 6, 48, { V6(6), L4 } },
	{ "IPv6 UDP", BOLT_MSG_OK, 6, 17, 48, { V6(17), L4 } },
	{ "IPv6 ICMP", BOLT_MSG_QUOTE, 0, 0, 48, { V6(58), L4 } },
	{ "IPv6 hop-by-hop", BOLT_MSG_OK, 6, 6, 56, { V6(0), EXT8(6), L4 } },
	{ "IPv6 routing", BOLT_MSG_OK, 6, 6, 64, { V6(43), EXT16(6), L4 } },
	{ "IPv6 destination", BOLT_MSG_OK, 6, 6, 56, { V6(60), EXT8(6), L4 } },
	{ "IPv6 three of them", BOLT_MSG_OK, 6, 6, 80,
	  { V6(0), EXT8(43), EXT16(60), EXT8(6), L4 } },
	{ "IPv6 fragment header", BOLT_MSG_QUOTE, 0, 0, 56, { V6(44), EXT8(6), L4 } },
	{ "IPv6 no next header", BOLT_MSG_QUOTE, 0, 0, 48, { V6(59), L4 } },
	{ "IPv6 cut in the fixed header", BOLT_MSG_QUOTE, 0, 0, 39, { V6(6) } },
	{ "IPv6 without L4", BOLT_MSG_QUOTE, 0, 0, 40, { V6(6) } },
	{ "IPv6 one byte of L4 missing", BOLT_MSG_QUOTE, 0, 0, 47, { V6(6), L4 } },
	{ "IPv6 one byte too many", BOLT_MSG_QUOTE, 0, 0, 49, { V6(6), L4 } },
	{ "IPv6 extension header cut off", BOLT_MSG_QUOTE, 0, 0, 47, { V6(0), 6 } },
	{ "IPv6 extension header not there", BOLT_MSG_QUOTE, 0, 0, 40, { V6(0) } },
	{ "IPv6 extension longer than the quote", BOLT_MSG_QUOTE, 0, 0, 56,
	  { V6(0), 6, 255, 0, 0, 0, 0, 0, 0, L4 } },
	{ "IPv6 extensions to the end", BOLT_MSG_QUOTE, 0, 0, 64,
	  { V6(0), EXT8(0), EXT8(0), EXT8(0) } },
	{ "version 0", BOLT_MSG_QUOTE, 0, 0, 28, { 0x05 } },
	{ "version 5", BOLT_MSG_QUOTE, 0, 0, 48, { 0x55, [20] = L4 } },
	{ "version 15", BOLT_MSG_QUOTE, 0, 0, 48, { 0xf5, [20] = L4 } },
	{ "quote of 128 bytes", BOLT_MSG_OK, 6, 6, 128, { V6(0), 6, 9, [120] = L4 } },
	{ "quote of 129 bytes", BOLT_MSG_LENGTH, 0, 0, 129, { } },
	{ "quote of 27 bytes", BOLT_MSG_LENGTH, 0, 0, 27, { V4(5, 6) } },
	{ "empty quote", BOLT_MSG_LENGTH, 0, 0, 0, { } },
};

KUNIT_ARRAY_PARAM_DESC(quote, quote_cases, name);

static void bolt_msg_quote_test(struct kunit *test)
{
	static const u8 a4[] = { 192, 0, 2, 1 }, b4[] = { 198, 51, 100, 2 };
	const struct quote_case *c = test->param_value;
	u8 wide[BOLT_CTL_QUOTE_MAX + 1] = { };
	struct bolt_msg m;
	u8 *p;

	memcpy(wide, c->quote, sizeof(c->quote));
	p = payload(test, &src, wide, c->len);
	memset(&m, 0x55, sizeof(m));
	KUNIT_ASSERT_EQ(test, bolt_msg_parse(p, HDR + c->len, &m), c->verdict);
	if (c->verdict != BOLT_MSG_OK)
		return;
	expect_src(test, &m);
	KUNIT_EXPECT_EQ(test, m.family, c->family);
	KUNIT_EXPECT_EQ(test, m.protocol, c->protocol);
	if (c->family == 6) {
		KUNIT_EXPECT_EQ(test, memcmp(m.saddr, p + HDR + 8, 16), 0);
		KUNIT_EXPECT_EQ(test, memcmp(m.daddr, p + HDR + 24, 16), 0);
		return;
	}
	KUNIT_EXPECT_EQ(test, memcmp(m.saddr, a4, 4), 0);
	KUNIT_EXPECT_EQ(test, memcmp(m.daddr, b4, 4), 0);
	/* the rest of the address is no leftover: sockets are looked up by all of it */
	KUNIT_EXPECT_EQ(test, m.saddr[1] | m.saddr[2] | m.saddr[3], 0);
	KUNIT_EXPECT_EQ(test, m.daddr[1] | m.daddr[2] | m.daddr[3], 0);
}

/* --- each field --- */

struct field_case {
	const char *name;
	enum bolt_msg_verdict verdict;
	u8 type;		/* of the message to start from */
	u8 off, width;		/* the field that is overwritten */
	u32 value;
};

#define F(_name, _verdict, _type, _field, _value)					\
	{ _name, BOLT_MSG_##_verdict, BOLT_CTL_##_type, OFF(_field),			\
	  sizeof_field(struct bolt_ctl, _field), _value }

static const struct field_case field_cases[] = {
	F("version 0", VERSION, SRC, version, 0),
	F("version 2", VERSION, SRC, version, 2),
	F("version 255", VERSION, SRC, version, 255),
	F("type 0", TYPE, SRC, type, 0),
	F("type SRC", OK, BTS, type, 1),
	F("type BTS", OK, SRC, type, 2),
	F("type CNM", OK, SRC, type, 3),
	F("type 4", TYPE, SRC, type, 4),
	F("type 255", TYPE, SRC, type, 255),
	F("flag cacheable", OK, BTS, flags, 0x01),
	F("flag from-cache", OK, BTS, flags, 0x02),
	F("flag tagged", OK, SRC, flags, 0x04),
	F("flag 0x08", FLAGS, SRC, flags, 0x08),
	F("flag 0x10", FLAGS, SRC, flags, 0x10),
	F("flag 0x20", FLAGS, SRC, flags, 0x20),
	F("flag 0x40", FLAGS, SRC, flags, 0x40),
	F("flag 0x80", FLAGS, SRC, flags, 0x80),
	F("reserved 1", FLAGS, SRC, reserved, 1),
	F("reserved 0x100", FLAGS, SRC, reserved, 0x100),
	F("dscp 0", OK, SRC, dscp, 0),
	F("dscp 63", OK, SRC, dscp, 63),
	F("dscp 64", FIELD, SRC, dscp, 64),
	F("dscp 255", FIELD, SRC, dscp, 255),
	F("link_rate 0", FIELD, SRC, link_rate, 0),
	F("link_rate 1", OK, SRC, link_rate, 1),
	F("link_rate max", OK, SRC, link_rate, U32_MAX),
	F("SRC without t_data_tx", FIELD, SRC, t_data_tx, 0),
	F("BTS without t_data_tx", OK, BTS, t_data_tx, 0),
	F("t_data_tx max", OK, SRC, t_data_tx, U32_MAX),
	F("queue empty", OK, SRC, queue_bytes, 0),
	F("queue max", OK, SRC, queue_bytes, U32_MAX),
	F("CNM without target_rate", FIELD, CNM, target_rate, 0),
	F("SRC without target_rate", OK, SRC, target_rate, 0),
	F("quote_len 27", LENGTH, SRC, quote_len, 27),
	F("quote_len 0", LENGTH, SRC, quote_len, 0),
	F("quote_len 29", SHORT, SRC, quote_len, 29),
	F("quote_len 128", SHORT, SRC, quote_len, 128),
	F("quote_len 129", LENGTH, SRC, quote_len, 129),
	F("quote_len max", LENGTH, SRC, quote_len, 0xffff),
};

KUNIT_ARRAY_PARAM_DESC(field, field_cases, name);

static void bolt_msg_field_test(struct kunit *test)
{
	const struct field_case *c = test->param_value;
	struct bolt_msg m = src, back;
	u8 *p;

	m.type = c->type;
	p = payload(test, &m, quote_v4, sizeof(quote_v4));
	if (c->width == 1)
		p[c->off] = c->value;
	else if (c->width == 2)
		put_unaligned_be16(c->value, p + c->off);
	else
		put_unaligned_be32(c->value, p + c->off);
	KUNIT_EXPECT_EQ(test, bolt_msg_parse(p, HDR + sizeof(quote_v4), &back), c->verdict);
}

/* A tag that nobody announced is a field that must be zero, in each of its bytes. */
static void bolt_msg_unannounced_tag_test(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		u8 *p = payload(test, &src, quote_v4, sizeof(quote_v4));
		struct bolt_msg m;

		p[OFF(tag) + i] = 1;
		KUNIT_EXPECT_EQ(test, bolt_msg_parse(p, HDR + sizeof(quote_v4), &m),
				BOLT_MSG_FLAGS);
	}
}

/* --- each length --- */

static void bolt_msg_each_length_test(struct kunit *test)
{
	u8 *whole = payload(test, &src, quote_v4, sizeof(quote_v4));
	unsigned int full = HDR + sizeof(quote_v4), len;
	struct bolt_msg m;

	for (len = 0; len < full; len++) {
		u8 *p = kunit_kmalloc(test, len ?: 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, p);
		memcpy(p, whole, len);
		KUNIT_EXPECT_EQ_MSG(test, bolt_msg_parse(p, len, &m), BOLT_MSG_SHORT,
				    "%u bytes", len);
		kunit_kfree(test, p);
	}
	for (len = full + 1; len < 600; len++) {
		u8 *p = kunit_kzalloc(test, len, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, p);
		memcpy(p, whole, full);
		KUNIT_EXPECT_EQ_MSG(test, bolt_msg_parse(p, len, &m), BOLT_MSG_LENGTH,
				    "%u bytes", len);
		kunit_kfree(test, p);
	}
	KUNIT_EXPECT_EQ(test, bolt_msg_parse(whole, full, &m), BOLT_MSG_OK);
}

/* --- the keyed tag --- */

/* The reference vectors of the SipHash-2-4 paper: input 00 01 02 ..., key 00 .. 0f */
static void bolt_msg_tag_vector_test(struct kunit *test)
{
	static const siphash_key_t key = { { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL } };
	u8 in[15];
	unsigned int i;

	for (i = 0; i < sizeof(in); i++)
		in[i] = i;
	KUNIT_EXPECT_EQ(test, bolt_msg_tag(in, 15, &key), 0xa129ca6149be45e5ULL);
	KUNIT_EXPECT_EQ(test, bolt_msg_tag(in, 0, &key), 0x726fdb47dd0e0e31ULL);
}

static void bolt_msg_tag_covers_all_test(struct kunit *test)
{
	siphash_key_t key = { { 1, 2 } };
	unsigned int len = HDR + sizeof(quote_v4), i;
	u8 *p = payload(test, &src, quote_v4, sizeof(quote_v4));
	u64 tag = bolt_msg_tag(p, len, &key);

	KUNIT_EXPECT_NE(test, tag, 0);
	KUNIT_EXPECT_EQ(test, bolt_msg_tag(p, len, &key), tag);
	for (i = 0; i < len; i++) {
		p[i] ^= 1;
		KUNIT_EXPECT_NE_MSG(test, bolt_msg_tag(p, len, &key), tag, "byte %u", i);
		p[i] ^= 1;
	}
	key.key[1]++;
	KUNIT_EXPECT_NE(test, bolt_msg_tag(p, len, &key), tag);
}

static struct kunit_case bolt_msg_cases[] = {
	KUNIT_CASE(bolt_msg_layout_test),
	KUNIT_CASE_PARAM(bolt_msg_quote_test, quote_gen_params),
	KUNIT_CASE_PARAM(bolt_msg_field_test, field_gen_params),
	KUNIT_CASE(bolt_msg_unannounced_tag_test),
	KUNIT_CASE(bolt_msg_each_length_test),
	KUNIT_CASE(bolt_msg_tag_vector_test),
	KUNIT_CASE(bolt_msg_tag_covers_all_test),
	{ }
};

static struct kunit_suite bolt_msg_suite = {
	.name = "bolt_msg",
	.test_cases = bolt_msg_cases,
};

kunit_test_suite(bolt_msg_suite);
