// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: include/bolt_msg.h, the control message built, checked and taken apart.
 *
 * Every payload lies in an allocation of exactly its length: KASAN sees a read beyond.
 */

#include "compat.h"
#include "bolt_keys.h"

#define HDR	sizeof(struct bolt_ctl)
#define OFF(f)	offsetof(struct bolt_ctl, f)

/* A valid SRC whose fields all differ, about 192.0.2.1:0x1122 -> 198.51.100.2:0x3344 */
static const struct bolt_msg src = {
	.type = BOLT_CTL_SRC,
	.dscp = 46,
	.t_data_tx = 0x01020304,
	.queue_bytes = 0x11121314,
	.link_rate = 0x21222324,
	.switch_id = 0x31323334,
	.pause_ns = 0x41424344,		/* it has neither of these */
	.target_rate = 0x51525354,
	.sent_ns = 0x6162636465666768,
	.clock = 0x71727374,
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

#define KEY		{ { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL } }
#define SWITCH_KEY	{ { 1, 2 } }

static const struct bolt_keys keys = { KEY, KEY };
static const struct bolt_keys switch_keys = { SWITCH_KEY, SWITCH_KEY };

/* A whole message, of *@len bytes; caller may spoil it. */
static u8 *payload(struct kunit *test, const struct bolt_msg *m, const u8 *quote,
		   unsigned int qlen, unsigned int *len)
{
	u8 *p;

	*len = bolt_msg_len(m->type, m->flags, qlen);
	p = kunit_kzalloc(test, *len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	memcpy(p + bolt_msg_quote_off(m->type), quote, qlen);
	bolt_msg_build(p, *len, m);
	if (m->flags & BOLT_CTL_F_CACHEABLE)
		bolt_msg_put_tag(p, bolt_msg_cache_end(m->flags, *len), &switch_keys.sign);
	if (m->flags & BOLT_CTL_F_TAGGED)
		bolt_msg_put_tag(p, *len, &keys.sign);
	return p;
}

/* The bytes of each type on the wire, tagged and not */
struct layout_case {
	const char *name;
	u8 type;
	u8 flags;
	u8 len;
	u8 wire[80];
};

#define HEAD(type, flags)	2, (type), (flags), 46, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14,	\
				0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34
#define PAUSE			0x41, 0x42, 0x43, 0x44
#define RATE			0x51, 0x52, 0x53, 0x54
#define QUOTE			V4(5, 6), L4
#define SENT			0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,			\
				0x71, 0x72, 0x73, 0x74

static const struct layout_case layout_cases[] = {
	{ "SRC", BOLT_CTL_SRC, 0, 48, { HEAD(1, 0), QUOTE } },
	{ "BTS", BOLT_CTL_BTS, 2, 52, { HEAD(2, 2), PAUSE, QUOTE } },
	{ "BTS to cache", BOLT_CTL_BTS, 1, 72, { HEAD(2, 1), PAUSE, QUOTE, SENT } },
	{ "CNM", BOLT_CTL_CNM, 0, 52, { HEAD(3, 0), RATE, QUOTE } },
	{ "SRC with a tag", BOLT_CTL_SRC, 4, 56, { HEAD(1, 4), QUOTE } },
	{ "BTS with a tag", BOLT_CTL_BTS, 6, 60, { HEAD(2, 6), PAUSE, QUOTE } },
	{ "BTS to cache, with a tag", BOLT_CTL_BTS, 5, 80, { HEAD(2, 5), PAUSE, QUOTE, SENT } },
};

KUNIT_ARRAY_PARAM_DESC(layout, layout_cases, name);

static void bolt_msg_layout_test(struct kunit *test)
{
	const struct layout_case *c = test->param_value;
	struct bolt_msg m = src, back;
	unsigned int len, before;
	u8 *p;

	m.type = c->type;
	m.flags = c->flags;
	p = payload(test, &m, quote_v4, sizeof(quote_v4), &len);
	KUNIT_ASSERT_EQ(test, len, c->len);
	before = len - (c->flags & BOLT_CTL_F_TAGGED ? 8 : 0);
	if (before < len)
		KUNIT_EXPECT_EQ(test, get_unaligned_be64(p + before),
				siphash(p, before, &keys.sign));
	if (c->flags & BOLT_CTL_F_CACHEABLE) {
		before -= 8;
		KUNIT_EXPECT_EQ(test, get_unaligned_be64(p + before),
				siphash(p, before, &switch_keys.sign));
	}
	KUNIT_EXPECT_EQ(test, memcmp(p, c->wire, before), 0);

	KUNIT_ASSERT_EQ(test, bolt_msg_parse(p, len, &back), BOLT_MSG_OK);
	KUNIT_EXPECT_EQ(test, back.type, c->type);
	KUNIT_EXPECT_EQ(test, back.flags, c->flags);
	KUNIT_EXPECT_EQ(test, back.pause_ns, c->type == BOLT_CTL_BTS ? src.pause_ns : 0);
	KUNIT_EXPECT_EQ(test, back.target_rate, c->type == BOLT_CTL_CNM ? src.target_rate : 0);
	KUNIT_EXPECT_EQ(test, back.seq, 0xa1a2a3a4);
	KUNIT_EXPECT_EQ(test, back.sent_ns, c->flags & BOLT_CTL_F_CACHEABLE ? src.sent_ns : 0);
	KUNIT_EXPECT_EQ(test, back.clock, c->flags & BOLT_CTL_F_CACHEABLE ? src.clock : 0);
}

/* Whatever its first bytes say, as long as its quote is whole and where it was */
static void bolt_msg_is_form_test(struct kunit *test)
{
	const struct layout_case *c = test->param_value;
	unsigned int len, least = bolt_msg_quote_off(c->type) + sizeof(quote_v4);
	u8 *p;

	for (len = 0; len <= c->len; len++) {
		p = kunit_kzalloc(test, max(len, 1U), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, p);
		memcpy(p, c->wire, len);
		memset(p, 0xff, min_t(u32, len, HDR));
		KUNIT_EXPECT_EQ_MSG(test, bolt_msg_is_form(p, len), len >= least, "%u bytes", len);
		if (len >= least)
			p[bolt_msg_quote_off(c->type)] = 0;
		KUNIT_EXPECT_FALSE(test, bolt_msg_is_form(p, len));
	}
	p = kunit_kzalloc(test, BOLT_CTL_LEN_MAX + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	memcpy(p, c->wire, c->len);
	KUNIT_EXPECT_TRUE(test, bolt_msg_is_form(p, BOLT_CTL_LEN_MAX));
	KUNIT_EXPECT_FALSE(test, bolt_msg_is_form(p, BOLT_CTL_LEN_MAX + 1));
}

static void expect_src(struct kunit *test, const struct bolt_msg *m)
{
	KUNIT_EXPECT_EQ(test, m->type, src.type);
	KUNIT_EXPECT_EQ(test, m->flags, 0);
	KUNIT_EXPECT_EQ(test, m->dscp, src.dscp);
	KUNIT_EXPECT_EQ(test, m->t_data_tx, src.t_data_tx);
	KUNIT_EXPECT_EQ(test, m->queue_bytes, src.queue_bytes);
	KUNIT_EXPECT_EQ(test, m->link_rate, src.link_rate);
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
	{ "IPv4 one byte too many", BOLT_MSG_QUOTE, 0, 0, 29, { V4(5, 6), L4 } },
	{ "IPv4 100 bytes too many", BOLT_MSG_QUOTE, 0, 0, 128, { V4(5, 6), L4 } },
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
	{ "quote of 27 bytes", BOLT_MSG_SHORT, 0, 0, 27, { V4(5, 6) } },
	{ "empty quote", BOLT_MSG_SHORT, 0, 0, 0, { } },
};

KUNIT_ARRAY_PARAM_DESC(quote, quote_cases, name);

static void bolt_msg_quote_test(struct kunit *test)
{
	static const u8 a4[] = { 192, 0, 2, 1 }, b4[] = { 198, 51, 100, 2 };
	const struct quote_case *c = test->param_value;
	u8 wide[BOLT_CTL_QUOTE_MAX + 1] = { };
	struct bolt_msg m;
	unsigned int len;
	u8 *p;

	memcpy(wide, c->quote, sizeof(c->quote));
	p = payload(test, &src, wide, c->len, &len);
	memset(&m, 0x55, sizeof(m));
	KUNIT_ASSERT_EQ(test, bolt_msg_parse(p, len, &m), c->verdict);
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

/* --- a segment routing header in the quote (RFC 8754) --- */

#define SEGMENT(n)	0x20, 0x01, 0x0d, 0xb8, 0, (n), 0, 0, 0, 0, 0, 0, 0, 0, 0, (n)
#define ROUTING(next, len, type, left, entry)	(next), (len), (type), (left), (entry), 0, 0, 0
#define SRH(next, len, left, entry)		ROUTING(next, len, 4, left, entry)

struct segments_case {
	const char *name;
	u8 last;		/* byte at which the last segment is; 24: the header says it */
	u8 len;
	u8 quote[BOLT_CTL_QUOTE_MAX];
};

static const struct segments_case segments_cases[] = {
	{ "one of two left", 48, 88, { V6(43), SRH(6, 4, 1, 1), SEGMENT(3), SEGMENT(2), L4 } },
	{ "none left", 24, 88, { V6(43), SRH(6, 4, 0, 1), SEGMENT(3), SEGMENT(2), L4 } },
	{ "the first is the header's", 48, 72, { V6(43), SRH(6, 2, 1, 0), SEGMENT(3), L4 } },
	{ "with a TLV", 48, 80, { V6(43), SRH(6, 3, 1, 0), SEGMENT(3), 5, 6, [72] = L4 } },
	{ "behind hop-by-hop", 56, 80, { V6(0), EXT8(43), SRH(6, 2, 1, 0), SEGMENT(3), L4 } },
	{ "before destination", 48, 80, { V6(43), SRH(60, 2, 1, 0), SEGMENT(3), EXT8(6), L4 } },
	{ "no room for a segment", 24, 64, { V6(43), SRH(6, 1, 1, 0), [56] = L4 } },
	{ "no room for the first", 24, 72, { V6(43), SRH(6, 2, 1, 1), SEGMENT(3), L4 } },
	{ "more left than there are", 24, 72, { V6(43), SRH(6, 2, 2, 0), SEGMENT(3), L4 } },
	{ "all left of 256", 24, 72, { V6(43), SRH(6, 2, 255, 255), SEGMENT(3), L4 } },
	{ "another type", 24, 72, { V6(43), ROUTING(6, 2, 3, 1, 0), SEGMENT(3), L4 } },
	{ "another header", 24, 72, { V6(60), SRH(6, 2, 1, 0), SEGMENT(3), L4 } },
};

KUNIT_ARRAY_PARAM_DESC(segments, segments_cases, name);

static void bolt_msg_segments_test(struct kunit *test)
{
	const struct segments_case *c = test->param_value;
	struct bolt_msg m;
	unsigned int len;
	u8 *p = payload(test, &src, c->quote, c->len, &len);

	KUNIT_ASSERT_EQ(test, bolt_msg_parse(p, len, &m), BOLT_MSG_OK);
	expect_src(test, &m);
	KUNIT_EXPECT_EQ(test, memcmp(m.saddr, p + HDR + 8, 16), 0);
	KUNIT_EXPECT_EQ(test, memcmp(m.daddr, p + HDR + c->last, 16), 0);
	KUNIT_EXPECT_EQ(test, m.segments, c->last != 24);
}

/* --- each field --- */

struct field_case {
	const char *name;
	enum bolt_msg_verdict verdict;
	u8 type;		/* of the message to start from */
	u8 off, width;		/* the field that is overwritten, of 1 or 4 bytes */
	u32 value;
};

#define F(_name, _verdict, _type, _field, _value)					\
	{ _name, BOLT_MSG_##_verdict, BOLT_CTL_##_type, OFF(_field),			\
	  sizeof_field(struct bolt_ctl, _field), _value }

static const struct field_case field_cases[] = {
	F("version 0", VERSION, SRC, version, 0),
	F("version 1", VERSION, SRC, version, 1),
	F("version 3", VERSION, SRC, version, 3),
	F("version 255", VERSION, SRC, version, 255),
	F("type 0", TYPE, SRC, type, 0),
	F("BTS that says SRC", QUOTE, BTS, type, 1),
	F("SRC that says BTS", SHORT, SRC, type, 2),
	F("SRC that says CNM", SHORT, SRC, type, 3),
	F("BTS that says CNM", OK, BTS, type, 3),
	F("type 4", TYPE, SRC, type, 4),
	F("type 255", TYPE, SRC, type, 255),
	F("flag cacheable, without its part", SHORT, BTS, flags, 0x01),
	F("flag from-cache", OK, BTS, flags, 0x02),
	F("flag tagged, without a tag", SHORT, SRC, flags, 0x04),
	F("flag granted", OK, SRC, flags, 0x08),
	F("flag 0x10", FLAGS, SRC, flags, 0x10),
	F("flag 0x20", FLAGS, SRC, flags, 0x20),
	F("flag 0x40", FLAGS, SRC, flags, 0x40),
	F("flag 0x80", FLAGS, SRC, flags, 0x80),
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
	{ "BTS that pauses for 0", BOLT_MSG_OK, BOLT_CTL_BTS, HDR, 4, 0 },
	{ "CNM without target_rate", BOLT_MSG_FIELD, BOLT_CTL_CNM, HDR, 4, 0 },
	{ "CNM at 1 kbit/s", BOLT_MSG_OK, BOLT_CTL_CNM, HDR, 4, 1 },
};

KUNIT_ARRAY_PARAM_DESC(field, field_cases, name);

static void bolt_msg_field_test(struct kunit *test)
{
	const struct field_case *c = test->param_value;
	struct bolt_msg m = src, back;
	unsigned int len;
	u8 *p;

	m.type = c->type;
	p = payload(test, &m, quote_v4, sizeof(quote_v4), &len);
	if (c->width == 1)
		p[c->off] = c->value;
	else
		put_unaligned_be32(c->value, p + c->off);
	KUNIT_EXPECT_EQ(test, bolt_msg_parse(p, len, &back), c->verdict);
}

/* A tag that nobody announced is more of a quote than there is. */
static void bolt_msg_unannounced_tag_test(struct kunit *test)
{
	struct bolt_msg m = src;
	unsigned int len;
	u8 *p;

	m.flags = BOLT_CTL_F_TAGGED;
	p = payload(test, &m, quote_v4, sizeof(quote_v4), &len);
	KUNIT_EXPECT_EQ(test, bolt_msg_parse(p, len, &m), BOLT_MSG_OK);
	p[OFF(flags)] = 0;
	KUNIT_EXPECT_EQ(test, bolt_msg_parse(p, len, &m), BOLT_MSG_QUOTE);
}

/* --- each length --- */

static void bolt_msg_each_length_test(struct kunit *test)
{
	const struct layout_case *c = test->param_value;
	struct bolt_msg m = src;
	unsigned int full, len;
	u8 *whole;

	m.type = c->type;
	m.flags = c->flags;
	whole = payload(test, &m, quote_v4, sizeof(quote_v4), &full);
	for (len = 0; len < 600; len++) {
		enum bolt_msg_verdict want = len < full ? BOLT_MSG_SHORT :
					     len == full ? BOLT_MSG_OK :
					     len <= full + 100 ? BOLT_MSG_QUOTE : BOLT_MSG_LENGTH;
		u8 *p = kunit_kzalloc(test, len ?: 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, p);
		memcpy(p, whole, min(len, full));
		KUNIT_EXPECT_EQ_MSG(test, bolt_msg_parse(p, len, &m), want, "%u bytes", len);
		kunit_kfree(test, p);
	}
}

/* --- the keyed tag --- */

/* The reference vectors of the SipHash-2-4 paper: input 00 01 02 ..., key 00 .. 0f */
static void bolt_msg_tag_vector_test(struct kunit *test)
{
	u8 in[15 + BOLT_CTL_TAG_LEN];
	unsigned int i;

	for (i = 0; i < 15; i++)
		in[i] = i;
	bolt_msg_put_tag(in, sizeof(in), &keys.sign);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(in + 15), 0xa129ca6149be45e5ULL);
	bolt_msg_put_tag(in, BOLT_CTL_TAG_LEN, &keys.sign);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(in), 0x726fdb47dd0e0e31ULL);
}

static void bolt_msg_tag_covers_all_test(struct kunit *test)
{
	struct bolt_keys other = keys;
	struct bolt_msg m = src;
	unsigned int len, i;
	u8 *p;

	m.flags = BOLT_CTL_F_TAGGED;
	p = payload(test, &m, quote_v4, sizeof(quote_v4), &len);
	KUNIT_EXPECT_TRUE(test, bolt_msg_tag_ok(p, len, &keys));
	for (i = 0; i < 8 * len; i++) {
		p[i / 8] ^= 1 << i % 8;
		KUNIT_EXPECT_FALSE_MSG(test, bolt_msg_tag_ok(p, len, &keys), "bit %u", i);
		p[i / 8] ^= 1 << i % 8;
	}
	other.sign.key[1]++;
	KUNIT_EXPECT_TRUE(test, bolt_msg_tag_ok(p, len, &other));
	other.other.key[1]++;
	KUNIT_EXPECT_FALSE(test, bolt_msg_tag_ok(p, len, &other));
	other.sign.key[1]--;
	KUNIT_EXPECT_TRUE(test, bolt_msg_tag_ok(p, len, &other));
}

/* One key, or two of which the first signs */
static void bolt_keys_set_test(struct kunit *test)
{
	struct bolt_keys k = { };
	unsigned int i;
	u8 raw[33];

	for (i = 0; i < sizeof(raw); i++)
		raw[i] = i % 16;
	raw[16] ^= 1;
	for (i = 0; i <= sizeof(raw); i++)
		KUNIT_EXPECT_EQ(test, bolt_keys_set(&k, raw, i), i == 16 || i == 32);
	KUNIT_EXPECT_EQ(test, k.other.key[0], keys.other.key[0] ^ 1);
	k.other.key[0] ^= 1;
	KUNIT_EXPECT_EQ(test, memcmp(&k, &keys, sizeof(k)), 0);
	memset(&k, 0, sizeof(k));
	bolt_keys_set(&k, raw, 16);
	KUNIT_EXPECT_EQ(test, memcmp(&k, &keys, sizeof(k)), 0);
}

/* Hosts and switches have a tag each; that of switches covers what is before it */
static void bolt_msg_cache_tag_test(struct kunit *test)
{
	struct bolt_msg m = src;
	unsigned int len, i;
	u8 *p;

	m.type = BOLT_CTL_BTS;
	m.flags = BOLT_CTL_F_CACHEABLE | BOLT_CTL_F_TAGGED;
	p = payload(test, &m, quote_v4, sizeof(quote_v4), &len);
	KUNIT_EXPECT_TRUE(test, bolt_msg_tag_ok(p, len, &keys));
	KUNIT_EXPECT_TRUE(test, bolt_msg_cache_ok(p, len, &switch_keys));
	KUNIT_EXPECT_FALSE(test, bolt_msg_cache_ok(p, len, &keys));
	KUNIT_EXPECT_FALSE(test, bolt_msg_tag_ok(p, len, &switch_keys));
	for (i = 0; i < 8 * len; i++) {
		p[i / 8] ^= 1 << i % 8;
		KUNIT_EXPECT_EQ_MSG(test, bolt_msg_cache_ok(p, len, &switch_keys),
				    i >= 8 * (len - 8), "bit %u", i);
		p[i / 8] ^= 1 << i % 8;
	}
	m.flags = 0;
	p = payload(test, &m, quote_v4, sizeof(quote_v4), &len);
	bolt_msg_put_tag(p, len, &switch_keys.sign);
	KUNIT_EXPECT_FALSE(test, bolt_msg_cache_ok(p, len, &switch_keys));
}

static void bolt_msg_no_tag_test(struct kunit *test)
{
	unsigned int len;
	u8 *p = payload(test, &src, quote_v4, sizeof(quote_v4), &len);

	/* what stands where it would be is right, but the flag says that it is the quote's */
	bolt_msg_put_tag(p, len, &keys.sign);
	KUNIT_EXPECT_FALSE(test, bolt_msg_tag_ok(p, len, &keys));
}

static struct kunit_case bolt_msg_cases[] = {
	KUNIT_CASE_PARAM(bolt_msg_layout_test, layout_gen_params),
	KUNIT_CASE_PARAM(bolt_msg_is_form_test, layout_gen_params),
	KUNIT_CASE_PARAM(bolt_msg_quote_test, quote_gen_params),
	KUNIT_CASE_PARAM(bolt_msg_segments_test, segments_gen_params),
	KUNIT_CASE_PARAM(bolt_msg_field_test, field_gen_params),
	KUNIT_CASE(bolt_msg_unannounced_tag_test),
	KUNIT_CASE_PARAM(bolt_msg_each_length_test, layout_gen_params),
	KUNIT_CASE(bolt_msg_tag_vector_test),
	KUNIT_CASE(bolt_msg_tag_covers_all_test),
	KUNIT_CASE(bolt_keys_set_test),
	KUNIT_CASE(bolt_msg_cache_tag_test),
	KUNIT_CASE(bolt_msg_no_tag_test),
	{ }
};

static struct kunit_suite bolt_msg_suite = {
	.name = "bolt_msg",
	.test_cases = bolt_msg_cases,
};

kunit_test_suite(bolt_msg_suite);
