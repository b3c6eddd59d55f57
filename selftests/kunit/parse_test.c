// SPDX-License-Identifier: GPL-2.0
/* KUnit: sch_sfc/parse.c and parse.h, what a packet is, the same wherever it is cut in two. */

#include "compat.h"
/* the very code of the module, which exports nothing */
#include "parse.c"
#include "parse.h"

#define L2	14
#define ROOM	256
#define PORT	12311

/* A packet to vary: what lies at @off of the frame becomes @bytes; and what it is then */
struct variant {
	const char *name;
	u16 off;
	u8 n;
	u8 bytes[16];
	enum bolt_opt_form form;
	u8 proto;	/* 0: no L4 */
	bool pausable, high;
	u8 level;
	bool in_place;		/* the fast path takes it */
};

#define TCP_NONE	BOLT_OPT_NONE, IPPROTO_TCP
#define TCP_FULL	BOLT_OPT_FULL, IPPROTO_TCP
#define TCP_BAD		BOLT_OPT_BAD, IPPROTO_TCP
#define NO_L4		BOLT_OPT_NONE, 0

/* Ethernet, IPv4, TCP with the option of Bolt and eight bytes of data */
static const u8 plain4[L2 + 20 + 32 + 8] = {
	[12] = 0x08,
	[14] = 0x45, [15] = 0x28, [17] = 60, [20] = 0x40, [22] = 64, [23] = IPPROTO_TCP,
	[26] = 10, [29] = 1, [30] = 10, [33] = 2,
	[46] = 0x80, [47] = TCPHDR_ACK,
	[54] = BOLT_TCPOPT_KIND, BOLT_TCPOPT_LEN, BOLT_TCPOPT_EXID >> 8, BOLT_TCPOPT_EXID & 0xff,
	[54 + BOLT_TCPOPT_OFF_FLAGS] = BOLT_F_DATA | BOLT_F_INC,
	[54 + BOLT_TCPOPT_OFF_TX] = 1, 2, 3, 4,
};

static const struct variant variants4[] = {
	{ "as it is", 0, 0, { }, TCP_FULL, true, .in_place = true },
	{ "no ACK", 47, 1, { 0 }, TCP_FULL, true, .in_place = true },
	{ "no data, but DATA: a lie", 16, 2, { 0, 52 }, TCP_BAD, false, true },
	{ "with the flags of an ACK", 54 + BOLT_TCPOPT_OFF_FLAGS, 1, { BOLT_F_ACK }, TCP_FULL,
	  true, .in_place = true },
	{ "a level", 54 + BOLT_TCPOPT_OFF_RQ, 2, { 0, 32 }, TCP_FULL, true, false, 32,
	  .in_place = true },
	{ "a level that is none", 54 + BOLT_TCPOPT_OFF_RQ, 2, { 0, 33 }, TCP_FULL, true,
	  .in_place = true },
	{ "... without DATA", 54 + BOLT_TCPOPT_OFF_FLAGS, 8, { BOLT_F_ACK, [7] = 13 }, TCP_FULL,
	  true, false, 13, .in_place = true },
	{ "DATA without a time", 54 + BOLT_TCPOPT_OFF_TX, 4, { 0 }, TCP_BAD, true },
	{ "no option", 46, 1, { 0x50 }, TCP_NONE, true, .in_place = true },
	{ "version 5", 14, 1, { 0x55 }, NO_L4 },
	{ "IP header too short", 14, 1, { 0x44 }, NO_L4 },
	{ "IP options", 14, 1, { 0x46 }, NO_L4 },
	{ "length 0", 16, 2, { 0, 0 }, TCP_FULL, true },
	{ "longer than the frame", 16, 2, { 0, 61 }, NO_L4 },
	{ "shorter than its headers", 16, 2, { 0, 51 }, NO_L4 },
	{ "shorter than the IP header", 16, 2, { 0, 19 }, NO_L4 },
	{ "first fragment", 20, 2, { 0x20, 0 }, NO_L4 },
	{ "last fragment", 20, 2, { 0, 1 }, NO_L4 },
	{ "UDP", 23, 1, { IPPROTO_UDP }, BOLT_OPT_NONE, IPPROTO_UDP, true },
	{ "TCP header too short", 46, 1, { 0x40 }, NO_L4 },
	{ "TCP header longer than the packet", 46, 1, { 0xf0 }, NO_L4 },
	{ "SYN form", 54, 2, { BOLT_TCPOPT_KIND, 4 }, BOLT_OPT_SYN, IPPROTO_TCP, true },
	{ "another experiment", 56, 2, { 0xca, 0xfe }, TCP_NONE, true },
	{ "a length that does not exist", 55, 1, { 13 }, TCP_BAD, true },
	{ "behind a NOP, so cut off", 54, 5, { 1, BOLT_TCPOPT_KIND, BOLT_TCPOPT_LEN, 0xb0, 0x17 },
	  TCP_BAD, true },
	{ "an end first", 54, 1, { 0 }, TCP_NONE, true },
	{ "four bytes of NOP", 46, 9, { 0x60, 0, 0, 0, 0, 0, 0, 0, 1 }, TCP_NONE, true },
	{ "timestamps alone", 54, 4, { 1, 1, 8, 10 }, TCP_NONE, true, .in_place = true },
	{ "the option, cut off", 46, 1, { 0x70 }, TCP_BAD, true },
	{ "other DSCP", 15, 1, { 0xff }, TCP_FULL, true, .in_place = true },
};

static const u8 plain6[L2 + 40 + 44 + 8] = {
	[12] = 0x86, 0xdd,
	[14] = 0x6b, 0xc0, [19] = 52, [20] = IPPROTO_TCP, 64, [22] = 0x20, [37] = 1,
	[38] = 0x20, [53] = 2,
	[66] = 0xb0, [67] = TCPHDR_ACK,
	[74] = 1, 1, 8, 10,
	[86] = BOLT_TCPOPT_KIND, BOLT_TCPOPT_LEN, BOLT_TCPOPT_EXID >> 8, BOLT_TCPOPT_EXID & 0xff,
	[86 + BOLT_TCPOPT_OFF_FLAGS] = BOLT_F_DATA | BOLT_F_LAST,
	[86 + BOLT_TCPOPT_OFF_TX] = 4, 3, 2, 1,
};

static const struct variant variants6[] = {
	{ "as it is", 0, 0, { }, TCP_FULL, true, .in_place = true },
	{ "FIN", 67, 1, { TCPHDR_ACK | TCPHDR_FIN }, TCP_FULL, true, .in_place = true },
	{ "no data", 18, 2, { 0, 44 }, TCP_BAD, false, true },
	{ "version 4", 14, 1, { 0x4b }, NO_L4 },
	{ "length 0", 18, 2, { 0, 0 }, TCP_FULL, true },
	{ "longer than the frame", 18, 2, { 0, 53 }, NO_L4 },
	{ "no L4 that is known", 20, 1, { NEXTHDR_ICMP }, NO_L4 },
	{ "timestamps, nothing else", 66, 1, { 0x80 }, TCP_NONE, true, .in_place = true },
	{ "no timestamps, option behind", 74, 12,
	  { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, TCP_FULL, true },
	{ "timestamps, longer", 77, 1, { 11 }, TCP_NONE, true },
	{ "no option behind", 87, 1, { 11 }, TCP_BAD, true },
	{ "option cut off", 66, 1, { 0xa0 }, TCP_BAD, true },
};

static struct net_device ethernet = { .type = ARPHRD_ETHER };

static struct sk_buff *packet(struct kunit *test, const u8 *bytes, unsigned int len,
			      unsigned int linear)
{
	struct sk_buff *skb = alloc_skb(ROOM, GFP_KERNEL);
	struct page *page;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, 2);
	/* what lies behind the first piece is not what another packet left there */
	memset(skb->data, 0x5a, skb_tailroom(skb));
	skb_put_data(skb, bytes, min(len, linear));
	if (len > linear) {
		page = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, page);
		memcpy(page_address(page), bytes + linear, len - linear);
		skb_add_rx_frag(skb, 0, page, 0, len - linear, PAGE_SIZE);
	}
	skb->dev = &ethernet;
	skb->protocol = *(__be16 *)(bytes + 12);
	skb_set_network_header(skb, L2);
	return skb;
}

/* What the fast path takes is to it what it is to others.  Was it taken? */
static bool in_place(struct kunit *test, const char *name, const struct sk_buff *skb,
		     const struct sfc_pkt *any)
{
	struct sfc_pkt pkt;

	if (!sfc_parse_in_place(skb, &pkt))
		return false;
#define SAME(field)	KUNIT_EXPECT_EQ_MSG(test, pkt.field, any->field, "%s, in place", name)
	SAME(flow.family);
	SAME(flow.dscp);
	SAME(flags);
	SAME(band);
	SAME(l4_off);
	if (any->form == BOLT_OPT_FULL)
		SAME(opt_off);
#undef SAME
	KUNIT_EXPECT_EQ_MSG(test, any->flow.proto, IPPROTO_TCP, "%s, in place", name);
	KUNIT_EXPECT_NE_MSG(test, any->form, BOLT_OPT_BAD, "%s, in place", name);
	return true;
}

static struct sfc_pkt parse(struct kunit *test, const char *name, const u8 *bytes,
			    unsigned int len, unsigned int linear)
{
	struct sk_buff *skb = packet(test, bytes, len, linear);
	struct sfc_pkt pkt;

	sfc_parse(skb, PORT, &pkt);
	in_place(test, name, skb, &pkt);
	kfree_skb(skb);
	return pkt;
}

/* Wherever it is cut in two: no byte beyond the first piece is looked at in place. */
static void cut(struct kunit *test, const char *name, const u8 *bytes, unsigned int len,
		const struct sfc_pkt *whole, unsigned int step)
{
	unsigned int linear;

	for (linear = L2; linear < len; linear += step) {
		struct sfc_pkt pkt = parse(test, name, bytes, len, linear);

#define SAME(field)	\
		KUNIT_EXPECT_EQ_MSG(test, pkt.field, whole->field, "%s, %u bytes", name, linear)
		SAME(l3_off);
		SAME(l4_off);
		SAME(opt_off);
		SAME(t_data_tx);
		SAME(flow.sport);
		SAME(flow.dport);
		SAME(flow.family);
		SAME(flow.proto);
		SAME(flow.dscp);
		SAME(flags);
		SAME(level);
		SAME(form);
		SAME(band);
		SAME(control);
		SAME(pausable);
#undef SAME
	}
}

static void each_is(struct kunit *test, const u8 *plain, unsigned int len, const struct variant *v,
		    unsigned int n)
{
	struct sk_buff *skb;
	struct sfc_pkt pkt;
	u8 bytes[ROOM];

	for (; n--; v++) {
		memcpy(bytes, plain, len);
		memcpy(bytes + v->off, v->bytes, v->n);
		skb = packet(test, bytes, len, len);
		sfc_parse(skb, PORT, &pkt);
		KUNIT_EXPECT_EQ_MSG(test, in_place(test, v->name, skb, &pkt), v->in_place, "%s",
				    v->name);
		kfree_skb(skb);
		KUNIT_EXPECT_EQ_MSG(test, pkt.form, v->form, "%s", v->name);
		KUNIT_EXPECT_EQ_MSG(test, pkt.flow.proto, v->proto, "%s", v->name);
		KUNIT_EXPECT_EQ_MSG(test, pkt.pausable, v->pausable, "%s", v->name);
		KUNIT_EXPECT_EQ_MSG(test, pkt.band == SFC_BAND_HIGH, v->high, "%s", v->name);
		KUNIT_EXPECT_EQ_MSG(test, pkt.level, v->level, "%s", v->name);
		if (pkt.form == BOLT_OPT_FULL)
			KUNIT_EXPECT_EQ_MSG(test, pkt.flags,
					    bytes[pkt.opt_off + BOLT_TCPOPT_OFF_FLAGS], "%s",
					    v->name);
		cut(test, v->name, bytes, len, &pkt, 1);
	}
}

static void sfc_parse_test(struct kunit *test)
{
	each_is(test, plain4, sizeof(plain4), variants4, ARRAY_SIZE(variants4));
	each_is(test, plain6, sizeof(plain6), variants6, ARRAY_SIZE(variants6));
}

/* Every byte of the headers, any value */
static void each_value(struct kunit *test, const char *name, const u8 *plain, unsigned int len)
{
	unsigned int at, value;
	struct sfc_pkt pkt;
	u8 bytes[ROOM];

	for (at = L2; at < len; at++) {
		for (value = 0; value < 256; value++) {
			memcpy(bytes, plain, len);
			bytes[at] = value;
			pkt = parse(test, name, bytes, len, len);
			cut(test, name, bytes, len, &pkt, 19);
		}
	}
}

static void sfc_parse_any_test(struct kunit *test)
{
	u8 ack[sizeof(plain4)];

	memcpy(ack, plain4, sizeof(ack));
	ack[17] = 52;
	ack[54 + BOLT_TCPOPT_OFF_FLAGS] = BOLT_F_ACK;
	each_value(test, "ACK", ack, sizeof(ack));
	each_value(test, "IPv4", plain4, sizeof(plain4));
	each_value(test, "IPv6", plain6, sizeof(plain6));
}

/* Where L3 is not in what is left of the packet, or was never said to be */
static void sfc_parse_away_test(struct kunit *test)
{
	struct sk_buff *skb = packet(test, plain4, sizeof(plain4), sizeof(plain4));
	struct sfc_pkt pkt;

	skb_pull(skb, L2);
	sfc_parse(skb, PORT, &pkt);
	KUNIT_EXPECT_EQ(test, pkt.form, BOLT_OPT_FULL);
	KUNIT_EXPECT_TRUE(test, in_place(test, "no L2", skb, &pkt));
	skb_pull(skb, 1);
	sfc_parse(skb, PORT, &pkt);
	KUNIT_EXPECT_FALSE(test, in_place(test, "no first byte", skb, &pkt));
	KUNIT_EXPECT_EQ(test, pkt.flow.family, 0);
	skb_push(skb, L2 + 1);
	/* on Ethernet, L3 is where the frame says */
	skb_set_network_header(skb, sizeof(plain4));
	sfc_parse(skb, PORT, &pkt);
	KUNIT_EXPECT_EQ(test, pkt.l3_off, L2);
	skb->protocol = htons(ETH_P_ARP);
	sfc_parse(skb, PORT, &pkt);
	KUNIT_EXPECT_EQ(test, pkt.flow.family, 0);
	kfree_skb(skb);
}

/* @plain behind @n tags of VLAN 1281, which begin as an IPv4 header does; returns the length */
static unsigned int tagged(u8 *to, u16 outer, unsigned int n, const u8 *plain, unsigned int len)
{
	unsigned int i;

	memcpy(to, plain, L2 - 2);
	for (i = 0; i < n; i++) {
		put_unaligned_be16(i ? ETH_P_8021Q : outer, to + L2 - 2 + 4 * i);
		put_unaligned_be16(0x4501, to + L2 + 4 * i);
	}
	memcpy(to + L2 - 2 + 4 * n, plain + L2 - 2, len - L2 + 2);
	return len + 4 * n;
}

/* What is not proven to be an IP header has no family, and nothing is written to it. */
static void finds(struct kunit *test, struct sk_buff *skb, u8 family, unsigned int tags)
{
	struct sfc_pkt pkt;

	sfc_parse(skb, PORT, &pkt);
	KUNIT_EXPECT_EQ_MSG(test, pkt.flow.family, family, "%u tags, %u bytes", tags, skb->len);
	KUNIT_EXPECT_EQ_MSG(test, !!pkt.flow.dscp, !!family, "%u tags, %u bytes", tags, skb->len);
	if (family)
		KUNIT_EXPECT_EQ_MSG(test, pkt.l3_off, L2 + 4 * tags, "%u tags", tags);
	in_place(test, "tags", skb, &pkt);
	kfree_skb(skb);
}

/* Up to eight, wherever the packet is cut, and wherever the network header was left */
static void each_tag(struct kunit *test, u16 outer, const u8 *plain, unsigned int plain_len,
		     u8 family)
{
	unsigned int n, len, end, at;
	struct sk_buff *skb;
	u8 bytes[ROOM];

	for (n = 0; n <= VLAN_MAX_DEPTH + 1; n++) {
		len = tagged(bytes, outer, n, plain, plain_len);
		for (end = L2; end <= len; end++) {
			for (at = L2; at <= L2 + 4 * n && at <= end; at += 4) {
				skb = packet(test, bytes, end, L2);
				skb_set_network_header(skb, at);
				finds(test, skb, end == len && n <= VLAN_MAX_DEPTH ? family : 0, n);
			}
		}
	}
}

static void sfc_parse_tags_test(struct kunit *test)
{
	each_tag(test, ETH_P_8021Q, plain4, sizeof(plain4), 4);
	each_tag(test, ETH_P_8021AD, plain4, sizeof(plain4), 4);
	each_tag(test, ETH_P_8021Q, plain6, sizeof(plain6), 6);
	each_tag(test, ETH_P_8021AD, plain6, sizeof(plain6), 6);
}

/* A length that IP may not have */
static void sfc_parse_lengths_test(struct kunit *test)
{
	const u16 bad4[] = { 1, 19, 61, 1500, 65535 }, bad6[] = { 53, 1500, 65535 };
	u8 bytes[ROOM];
	int i;

	memcpy(bytes, plain4, sizeof(plain4));
	for (i = 0; i < ARRAY_SIZE(bad4); i++) {
		put_unaligned_be16(bad4[i], bytes + L2 + 2);
		finds(test, packet(test, bytes, sizeof(plain4), ROOM), 0, 0);
	}
	memcpy(bytes, plain6, sizeof(plain6));
	for (i = 0; i < ARRAY_SIZE(bad6); i++) {
		put_unaligned_be16(bad6[i], bytes + L2 + 4);
		finds(test, packet(test, bytes, sizeof(plain6), ROOM), 0, 0);
	}
	/* a fragment is IP, and may be marked */
	memcpy(bytes, plain4, sizeof(plain4));
	bytes[L2 + 7] = 1;
	finds(test, packet(test, bytes, sizeof(plain4), ROOM), 4, 0);
}

/* A packet socket says "IPv4" of a frame with a tag, and the network header is set to the tag. */
static void sfc_parse_misnamed_test(struct kunit *test)
{
	static u8 bytes[2200] = {
		[12] = 0x81, 0x00, 0x45, 0x29, 0x08, 0x00, 0x45,
		[23] = IPPROTO_TCP,
		[46] = 0x50,
	};
	struct sk_buff *skb = packet(test, bytes, sizeof(bytes), 128);

	skb->protocol = htons(ETH_P_IP);
	finds(test, skb, 0, 1);
}

/* IPv6 with a segment routing header of @n segments, the last of them 2000::3, and TCP */
static unsigned int segmented(u8 *to, unsigned int n)
{
	const u8 head[8] = { IPPROTO_TCP, 2 * n, 4, 1, n - 1 }, last[16] = { 0x20, [15] = 3 };
	u8 *srh = to + L2 + sizeof(struct ipv6hdr), *seg = srh + 8;

	memcpy(to, plain6, L2 + sizeof(struct ipv6hdr));
	to[L2 + 6] = NEXTHDR_ROUTING;
	to[L2 + 5] = 8 + 16 * n + sizeof(struct tcphdr) + 8;
	memset(srh, 0, 8 + 16 * n + sizeof(struct tcphdr) + 8);
	memcpy(srh, head, sizeof(head));
	memcpy(seg, last, sizeof(last));
	seg[16 * n + 12] = 0x50;
	return L2 + sizeof(struct ipv6hdr) + to[L2 + 5];
}

/* A PAUSE frame is the host's own, and short; others may be data of whoever is behind a bridge */
static void sfc_parse_pause_test(struct kunit *test)
{
	static const u8 bytes[SFC_PFC_FRAME + 1] = { [12] = 0x88, [13] = 0x08 };
	static const struct {
		unsigned int len;
		int from;
		bool high;
	} rows[] = {
		{ SFC_PFC_FRAME, 0, true },
		{ SFC_PFC_FRAME + 1, 0, false },
		{ SFC_PFC_FRAME, 1, false },
	};
	struct sk_buff *skb;
	struct sfc_pkt pkt;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		skb = packet(test, bytes, rows[i].len, rows[i].len);
		skb->skb_iif = rows[i].from;
		sfc_parse(skb, PORT, &pkt);
		KUNIT_EXPECT_EQ_MSG(test, pkt.band == SFC_BAND_HIGH, rows[i].high, "row %u", i);
		kfree_skb(skb);
	}
}

/* A flow is named by where its packet goes now; whether it goes on, wherever that is cut in two */
static void sfc_has_segments_test(struct kunit *test)
{
	unsigned int n, len, linear;
	struct sfc_pkt pkt;
	struct sk_buff *skb;
	u8 bytes[ROOM];

	for (n = 1; n <= 5; n++) {
		len = segmented(bytes, n);
		for (linear = L2; linear <= len; linear++) {
			skb = packet(test, bytes, len, linear);
			sfc_parse(skb, PORT, &pkt);
			KUNIT_EXPECT_EQ(test, pkt.flow.proto, IPPROTO_TCP);
			KUNIT_EXPECT_EQ(test, ((u8 *)pkt.flow.daddr)[15], 2);
			/* with five no message quotes it */
			KUNIT_EXPECT_EQ_MSG(test, sfc_has_segments(skb, &pkt), n < 5,
					    "%u segments, %u bytes", n, linear);
			kfree_skb(skb);
		}
	}
}

/* TCP behind @n headers of eight bytes, the first of type @kind, all others destination options */
static unsigned int extended(u8 *to, u8 kind, unsigned int n, u16 fragment)
{
	u8 *h = to + L2 + sizeof(struct ipv6hdr), *type = to + L2 + 6;

	memcpy(to, plain6, L2 + sizeof(struct ipv6hdr));
	to[L2 + 5] = 8 * n + sizeof(struct tcphdr);
	memset(h, 0, to[L2 + 5]);
	put_unaligned_be16(fragment, h + 2);
	for (; n--; kind = NEXTHDR_DEST) {
		*type = kind;
		type = h;
		h += 8;
	}
	*type = IPPROTO_TCP;
	h[12] = 0x50;
	return h + sizeof(struct tcphdr) - to;
}

static void sfc_parse_exthdr_test(struct kunit *test)
{
	static const struct {
		const char *name;
		u8 kind, n;
		u16 fragment;
		u8 proto;
	} rows[] = {
		{ "one", NEXTHDR_DEST, 1, 0, IPPROTO_TCP },
		{ "as many as may be", NEXTHDR_DEST, 12, 0, IPPROTO_TCP },
		{ "one too many", NEXTHDR_DEST, 13, 0, 0 },
		{ "AH", NEXTHDR_AUTH, 1, 0, 0 },
		{ "a fragment that is all", NEXTHDR_FRAGMENT, 1, 0, IPPROTO_TCP },
		{ "first fragment", NEXTHDR_FRAGMENT, 1, 1, 0 },
		{ "... with options", NEXTHDR_FRAGMENT, 2, 1, 0 },
		{ "last fragment", NEXTHDR_FRAGMENT, 1, 8, 0 },
		{ "nothing", NEXTHDR_NONE, 1, 0, 0 },
	};
	struct sfc_pkt pkt;
	unsigned int i, len;
	u8 bytes[ROOM];

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = extended(bytes, rows[i].kind, rows[i].n, rows[i].fragment);
		pkt = parse(test, rows[i].name, bytes, len, len);
		KUNIT_EXPECT_EQ_MSG(test, pkt.flow.family, 6, "%s", rows[i].name);
		KUNIT_EXPECT_EQ_MSG(test, pkt.flow.proto, rows[i].proto, "%s", rows[i].name);
		cut(test, rows[i].name, bytes, len, &pkt, 1);
	}
}

static struct kunit_case sfc_parse_cases[] = {
	KUNIT_CASE(sfc_parse_test),
	KUNIT_CASE(sfc_parse_any_test),
	KUNIT_CASE(sfc_parse_away_test),
	KUNIT_CASE(sfc_parse_tags_test),
	KUNIT_CASE(sfc_parse_lengths_test),
	KUNIT_CASE(sfc_parse_misnamed_test),
	KUNIT_CASE(sfc_parse_pause_test),
	KUNIT_CASE(sfc_has_segments_test),
	KUNIT_CASE(sfc_parse_exthdr_test),
	{ }
};

static struct kunit_suite sfc_parse_suite = {
	.name = "sfc_parse",
	.test_cases = sfc_parse_cases,
};

kunit_test_suite(sfc_parse_suite);
