// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sch_sfc/parse.h and parse.c.  What reads headers in place and what reads them by copy must
 * say the same of every packet.
 */

#include "compat.h"
/* the very code of the module, which exports nothing */
#include "parse.c"
#include "parse.h"

#define L2	14
#define ROOM	256
#define PORT	12311

/* A packet to vary: what lies at @off of the frame becomes @bytes */
struct variant {
	const char *name;
	u16 off;
	u8 n;
	u8 bytes[16];
	bool quick;	/* is to be read in place */
};

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
	{ "as it is", 0, 0, { }, true },
	{ "no ACK", 47, 1, { 0 }, true },
	{ "pure ACK", 16, 2, { 0, 52 }, false },	/* ... with DATA: a lie */
	{ "with the flags of an ACK", 54 + BOLT_TCPOPT_OFF_FLAGS, 1, { BOLT_F_ACK }, true },
	{ "a level", 54 + BOLT_TCPOPT_OFF_RQ, 2, { 0, 32 }, true },
	{ "a level that is none", 54 + BOLT_TCPOPT_OFF_RQ, 2, { 0, 33 }, true },
	{ "... without DATA", 54 + BOLT_TCPOPT_OFF_FLAGS, 8, { BOLT_F_ACK, [7] = 13 }, true },
	{ "DATA without a time", 54 + BOLT_TCPOPT_OFF_TX, 4, { 0 }, false },
	{ "no option", 46, 1, { 0x50 }, true },
	{ "version 5", 14, 1, { 0x55 }, false },
	{ "IP header too short", 14, 1, { 0x44 }, false },
	{ "IP options", 14, 1, { 0x46 }, false },
	{ "length 0", 16, 2, { 0, 0 }, false },
	{ "longer than the frame", 16, 2, { 0, 61 }, false },
	{ "shorter than its headers", 16, 2, { 0, 51 }, false },
	{ "shorter than the IP header", 16, 2, { 0, 19 }, false },
	{ "first fragment", 20, 2, { 0x20, 0 }, false },
	{ "last fragment", 20, 2, { 0, 1 }, false },
	{ "UDP", 23, 1, { IPPROTO_UDP }, false },
	{ "TCP header too short", 46, 1, { 0x40 }, false },
	{ "TCP header longer than the packet", 46, 1, { 0xf0 }, false },
	{ "SYN form", 54, 2, { BOLT_TCPOPT_KIND, 4 }, false },
	{ "another experiment", 56, 2, { 0xca, 0xfe }, false },
	{ "a length that does not exist", 55, 1, { 13 }, false },
	{ "behind a NOP", 54, 5, { 1, BOLT_TCPOPT_KIND, BOLT_TCPOPT_LEN, 0xb0, 0x17 }, false },
	{ "an end first", 54, 1, { 0 }, false },
	{ "four bytes of NOP", 46, 9, { 0x60, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
	{ "timestamps alone", 54, 4, { 1, 1, 8, 10 }, true },
	{ "the option, cut off", 46, 1, { 0x70 }, false },
	{ "other DSCP", 15, 1, { 0xff }, true },
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
	{ "as it is", 0, 0, { }, true },
	{ "FIN", 67, 1, { TCPHDR_ACK | TCPHDR_FIN }, true },
	{ "no data", 18, 2, { 0, 44 }, false },
	{ "version 4", 14, 1, { 0x4b }, false },
	{ "length 0", 18, 2, { 0, 0 }, false },
	{ "longer than the frame", 18, 2, { 0, 53 }, false },
	{ "an extension", 20, 1, { NEXTHDR_DEST }, false },
	{ "a fragment", 20, 1, { NEXTHDR_FRAGMENT }, false },
	{ "timestamps, nothing else", 66, 1, { 0x80 }, true },
	{ "no timestamps, option behind", 74, 4, { 1, 1, 1, 1 }, false },
	{ "timestamps, longer", 77, 1, { 11 }, false },
	{ "no option behind", 87, 1, { 11 }, false },
	{ "option cut off", 66, 1, { 0xa0 }, false },
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

/* Returns whether it could be read in place. */
static bool both_agree(struct kunit *test, const char *name, const u8 *bytes, unsigned int len,
		       unsigned int linear)
{
	struct sk_buff *skb = packet(test, bytes, len, linear);
	struct sfc_pkt quick, any;
	bool done;

	sfc_parse(skb, PORT, &any);
	done = sfc_parse_in_place(skb, &quick);
	if (done) {
#define SAME(field)	\
	KUNIT_EXPECT_EQ_MSG(test, quick.field, any.field, "%s, %u bytes", name, linear)
		SAME(l3_off);
		SAME(l4_off);
		if (any.form == BOLT_OPT_FULL)
			SAME(opt_off);
		SAME(t_data_tx);
		SAME(family);
		SAME(proto);
		SAME(dscp);
		SAME(flags);
		SAME(level);
		SAME(form);
		SAME(high);
		SAME(control);
		SAME(band);
		SAME(pausable);
#undef SAME
	}
	kfree_skb(skb);
	return done;
}

static void each_agrees(struct kunit *test, const u8 *plain, unsigned int len,
			const struct variant *v, unsigned int n)
{
	unsigned int linear;
	u8 bytes[ROOM];

	for (; n--; v++) {
		memcpy(bytes, plain, len);
		memcpy(bytes + v->off, v->bytes, v->n);
		KUNIT_EXPECT_EQ_MSG(test, both_agree(test, v->name, bytes, len, len), v->quick, "%s",
				    v->name);
		/* wherever it is cut in two: no byte beyond the first piece is looked at */
		for (linear = L2; linear < len; linear++)
			both_agree(test, v->name, bytes, len, linear);
	}
}

static void sfc_parse_in_place_test(struct kunit *test)
{
	each_agrees(test, plain4, sizeof(plain4), variants4, ARRAY_SIZE(variants4));
	each_agrees(test, plain6, sizeof(plain6), variants6, ARRAY_SIZE(variants6));
}

/* Every byte of the headers, any value */
static void sfc_parse_in_place_any_test(struct kunit *test)
{
	unsigned int at, value;
	u8 bytes[ROOM];

	for (at = L2; at < sizeof(plain4); at++) {
		for (value = 0; value < 256; value++) {
			memcpy(bytes, plain4, sizeof(plain4));
			bytes[at] = value;
			both_agree(test, "IPv4", bytes, sizeof(plain4), sizeof(plain4));
		}
	}
	for (at = L2; at < sizeof(plain6); at++) {
		for (value = 0; value < 256; value++) {
			memcpy(bytes, plain6, sizeof(plain6));
			bytes[at] = value;
			both_agree(test, "IPv6", bytes, sizeof(plain6), sizeof(plain6));
		}
	}
}

/* Where L3 is not in what is left of the packet, or was never said to be */
static void sfc_parse_in_place_away_test(struct kunit *test)
{
	struct sk_buff *skb = packet(test, plain4, sizeof(plain4), sizeof(plain4));
	struct sfc_pkt pkt;

	KUNIT_EXPECT_TRUE(test, sfc_parse_in_place(skb, &pkt));
	skb_pull(skb, L2);
	KUNIT_EXPECT_TRUE(test, sfc_parse_in_place(skb, &pkt));
	skb_pull(skb, 1);
	KUNIT_EXPECT_FALSE(test, sfc_parse_in_place(skb, &pkt));
	sfc_parse(skb, PORT, &pkt);
	KUNIT_EXPECT_EQ(test, pkt.family, 0);
	skb_push(skb, L2 + 1);
	skb_set_network_header(skb, sizeof(plain4));
	KUNIT_EXPECT_FALSE(test, sfc_parse_in_place(skb, &pkt));
	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_ARP);
	KUNIT_EXPECT_FALSE(test, sfc_parse_in_place(skb, &pkt));
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
	KUNIT_EXPECT_EQ_MSG(test, pkt.family, family, "%u tags, %u bytes", tags, skb->len);
	KUNIT_EXPECT_EQ_MSG(test, !!pkt.dscp, !!family, "%u tags, %u bytes", tags, skb->len);
	if (family)
		KUNIT_EXPECT_EQ_MSG(test, pkt.l3_off, L2 + 4 * tags, "%u tags", tags);
	if (sfc_parse_in_place(skb, &pkt))
		KUNIT_EXPECT_TRUE_MSG(test, family && !tags, "%u tags, in place", tags);
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
	each_tag(test, ETH_P_8021Q, plain4, sizeof(plain4), AF_INET);
	each_tag(test, ETH_P_8021AD, plain4, sizeof(plain4), AF_INET);
	each_tag(test, ETH_P_8021Q, plain6, sizeof(plain6), AF_INET6);
	each_tag(test, ETH_P_8021AD, plain6, sizeof(plain6), AF_INET6);
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
	finds(test, packet(test, bytes, sizeof(plain4), ROOM), AF_INET, 0);
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

/* A flow is named by where its packet goes now; whether it goes on, wherever that is cut in two */
static void sfc_has_segments_test(struct kunit *test)
{
	unsigned int n, len, linear;
	struct sfc_pkt pkt;
	struct sfc_flow f;
	struct sk_buff *skb;
	u8 bytes[ROOM];

	for (n = 1; n <= 5; n++) {
		len = segmented(bytes, n);
		for (linear = L2; linear <= len; linear++) {
			skb = packet(test, bytes, len, linear);
			sfc_parse(skb, PORT, &pkt);
			KUNIT_EXPECT_EQ(test, pkt.proto, IPPROTO_TCP);
			KUNIT_EXPECT_TRUE(test, sfc_flow_of(skb, &pkt, &f));
			KUNIT_EXPECT_EQ(test, ((u8 *)f.daddr)[15], 2);
			/* with five no message quotes it */
			KUNIT_EXPECT_EQ_MSG(test, sfc_has_segments(skb, &pkt), n < 5,
					    "%u segments, %u bytes", n, linear);
			kfree_skb(skb);
		}
	}
}

static struct kunit_case sfc_parse_cases[] = {
	KUNIT_CASE(sfc_parse_in_place_test),
	KUNIT_CASE(sfc_parse_in_place_any_test),
	KUNIT_CASE(sfc_parse_in_place_away_test),
	KUNIT_CASE(sfc_parse_tags_test),
	KUNIT_CASE(sfc_parse_lengths_test),
	KUNIT_CASE(sfc_parse_misnamed_test),
	KUNIT_CASE(sfc_has_segments_test),
	{ }
};

static struct kunit_suite sfc_parse_suite = {
	.name = "sfc_parse",
	.test_cases = sfc_parse_cases,
};

kunit_test_suite(sfc_parse_suite);
