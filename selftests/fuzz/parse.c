// SPDX-License-Identifier: GPL-2.0
/*
 * What the switch reads of a packet: never beyond its end; wherever it is cut in two, the
 * same, and on the fast path; a flag that it writes changes the flag and leaves the checksum right.
 */
#define __KERNEL__
#include "fuzz.h"
#include "skb.h"
#include "../../sch_sfc/parse.c"
#include "../../sch_sfc/parse.h"

#define PORT	BOLT_CTL_PORT

static const struct bolt_keys switch_keys = { { { 1, 2 } }, { { 3, 4 } } };

struct packet {
	u8		raw[1024];
	unsigned int	len;
	unsigned int	tags;	/* before L3, which is at @l3 */
	unsigned int	l3;
};

static void append(struct packet *p, const void *from, unsigned int len)
{
	memcpy(p->raw + p->len, from, len);
	p->len += len;
}

static void append_any(struct packet *p, struct input *in, unsigned int len)
{
	take_bytes(in, p->raw + p->len, len);
	p->len += len;
}

static void append_tcp(struct packet *p, struct input *in)
{
	static const u8 ts[] = { 1, 1, 8, 10 }, ours[] = { 254, 12, 0xb0, 0x17 };
	static const u8 nops[] = { 1, 1, 1, 1 };
	unsigned int at = p->len, what = take_below(in, 6);

	append_any(p, in, 20);
	if (take_once_in(in, 2))
		p->raw[at + 13] = TCPHDR_ACK;
	if (what == 5)
		append(p, nops, 1 + take_below(in, 4));
	if (what == 1 || what == 3 || what == 5) {
		append(p, ts, 4);
		append_any(p, in, 8);
	}
	if (what == 2 || what == 3 || what == 5) {
		append(p, ours, 4);
		append_any(p, in, 8);
	}
	while ((p->len - at) % 4)
		append(p, nops, 1);
	if (what == 4)
		append_any(p, in, 4 * take_below(in, 11));
	p->raw[at + 12] = (p->len - at) << 2 | take_u8(in) % 16;
}

static void append_udp(struct packet *p, struct input *in)
{
	unsigned int at = p->len, len = 8 + take_below(in, 180);

	append_any(p, in, 8);
	put_unaligned_be16(len, p->raw + at + 4);
	if (take_once_in(in, 4))
		return;
	put_unaligned_be16(PORT, p->raw + at);
	put_unaligned_be16(PORT, p->raw + at + 2);
}

/* A BTS about a packet from where the message, whose L3 header is at @l3, goes */
static void append_bts(struct packet *p, struct input *in, unsigned int l3, bool ip6)
{
	u8 quote[48] = { 0x45, [9] = IPPROTO_TCP }, *m = p->raw + p->len;
	unsigned int len = ip6 ? 48 : 28;

	append_any(p, in, 24);
	m[0] = BOLT_CTL_VERSION;
	m[1] = take_once_in(in, 4) ? BOLT_CTL_SRC : BOLT_CTL_BTS;
	m[2] &= BOLT_CTL_F_ALL;
	m[3] &= 63;
	if (ip6) {
		quote[0] = 0x60;
		quote[6] = IPPROTO_UDP;
		memcpy(quote + 8, p->raw + l3 + 24, 16);
	} else {
		memcpy(quote + 12, p->raw + l3 + 16, 4);
	}
	append(p, quote, len);
	if (m[2] & BOLT_CTL_F_CACHEABLE) {
		append_any(p, in, BOLT_CTL_CACHE_LEN);
		if (take_once_in(in, 2))
			bolt_msg_put_tag(m, p->raw + p->len - m, &switch_keys.sign);
	}
	if (m[2] & BOLT_CTL_F_TAGGED)
		append_any(p, in, BOLT_CTL_TAG_LEN);
}

/* On Ethernet, behind tags or none; else behind what a device may have */
static void append_l2(struct packet *p, struct input *in, struct sk_buff *skb, u16 type)
{
	static const u16 types[] = { ETH_P_8021Q, ETH_P_8021AD };

	if (skb->dev->type != ARPHRD_ETHER) {
		append_any(p, in, 16 * take_below(in, 2));
		skb->protocol = htons(type);
		skb->network_offset = p->len;
		return;
	}
	p->tags = take_once_in(in, 2) ? take_below(in, 11) : 0;
	append_any(p, in, 14 + 4 * p->tags);
	put_unaligned_be16(type, p->raw + p->len - 2);
	for (unsigned int i = 0; i < p->tags; i++)
		put_unaligned_be16(types[take_below(in, 2)], p->raw + 12 + 4 * i);
	memcpy(&skb->protocol, p->raw + 12, sizeof(skb->protocol));
	skb->network_offset = 14 + 4 * take_below(in, p->tags + 1);
	/* what a packet socket may say */
	if (take_once_in(in, 8))
		skb->protocol = htons(type);
	if (take_once_in(in, 8))
		skb->network_offset = 1 + take_below(in, p->len);
}

static void build(struct packet *p, struct input *in, struct sk_buff *skb)
{
	static const u8 protos[] = { IPPROTO_TCP, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP,
				     IPPROTO_UDPLITE, IPPROTO_ICMP };
	u8 proto = protos[take_below(in, ARRAY_SIZE(protos))];
	bool ip6 = take_once_in(in, 2);
	unsigned int l3, l4, len;
	int delta = take_once_in(in, 4) ? (int)take_below(in, 9) - 4 : 0;

	append_l2(p, in, skb, ip6 ? ETH_P_IPV6 : ETH_P_IP);
	l3 = p->len;
	p->l3 = l3;
	if (ip6) {
		append_any(p, in, 40);
		p->raw[l3] = 0x60 | (p->raw[l3] & 0xf);
		p->raw[l3 + 6] = proto;
		if (take_once_in(in, 4)) {
			static const u8 ext[] = { 0, 43, 44, 51, 60 };

			p->raw[l3 + 6] = ext[take_below(in, sizeof(ext))];
			len = p->raw[l3 + 6] == 43 ? take_below(in, 6) : 0;
			append_any(p, in, 8 + 16 * len);
			p->raw[l3 + 40] = proto;
			p->raw[l3 + 41] = 2 * len;
			if (len) {
				p->raw[l3 + 42] = 4;
				p->raw[l3 + 43] = take_below(in, 7);
				p->raw[l3 + 44] = take_once_in(in, 4) ? take_u8(in) : len - 1;
			} else if (take_once_in(in, 2)) {
				put_unaligned_be16(take_below(in, 16), p->raw + l3 + 42);
			}
		}
	} else {
		append_any(p, in, 20);
		p->raw[l3] = 0x45;
		p->raw[l3 + 9] = proto;
		if (!take_once_in(in, 8))
			put_unaligned_be16(0x4000, p->raw + l3 + 6);
		if (take_once_in(in, 4)) {
			len = take_below(in, 11);
			p->raw[l3] += len;
			append_any(p, in, 4 * len);
		}
	}
	l4 = p->len;
	if (proto == IPPROTO_TCP)
		append_tcp(p, in);
	else
		append_udp(p, in);
	if (proto == IPPROTO_UDP && take_once_in(in, 2)) {
		append_bts(p, in, l3, ip6);
		put_unaligned_be16(p->len - l4, p->raw + l4 + 4);
	} else if (!take_once_in(in, 4)) {
		append_any(p, in, take_below(in, 40));
	}
	len = p->len - l3 + delta;
	put_unaligned_be16(ip6 ? len - 40 : len, p->raw + l3 + (ip6 ? 4 : 2));
	if (take_once_in(in, 16))
		put_unaligned_be16(0, p->raw + l3 + (ip6 ? 4 : 2));
	/* padding */
	if (take_once_in(in, 4))
		append_any(p, in, take_below(in, 256));
}

/* Of 16-bit words in ones' complement, as TCP's checksum has it; 0 and 0xffff are the same */
static u32 sum(const struct sk_buff *skb, unsigned int off)
{
	u32 x = 0;
	u8 b;

	for (unsigned int i = off; i < skb->len; i++) {
		skb_copy_bits(skb, i, &b, 1);
		x += (i - off) & 1 ? b : b << 8;
	}
	return x % 0xffff;
}

static void write_flags(struct input *in, struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	u8 flags = take_u8(in), *was = malloc(skb->len);
	u32 before = sum(skb, pkt->l4_off);
	int at = pkt->opt_off + BOLT_TCPOPT_OFF_FLAGS;
	struct sfc_pkt now;

	skb_copy_bits(skb, 0, was, skb->len);
	CHECK(sfc_write_flags(skb, pkt->l4_off, pkt->opt_off, flags));
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		CHECK(sum(skb, pkt->l4_off) == before);
	for (unsigned int i = 0; i < skb->len; i++)
		if ((int)i != at && i - pkt->l4_off != 16 && i - pkt->l4_off != 17)
			CHECK(skb->data[i] == was[i]);
	CHECK(skb->data[at] == flags);
	sfc_parse(skb, PORT, &now);
	CHECK(now.form != BOLT_OPT_FULL || (now.flags == flags && now.opt_off == pkt->opt_off));
	free(was);
}

static bool same(const struct sfc_pkt *a, const struct sfc_pkt *b)
{
	return a->l3_off == b->l3_off && a->l4_off == b->l4_off && a->t_data_tx == b->t_data_tx &&
	       !memcmp(&a->flow, &b->flow, sizeof(a->flow)) &&
	       a->flags == b->flags && a->level == b->level && a->form == b->form &&
	       a->band == b->band && a->control == b->control && a->pausable == b->pausable &&
	       a->opt_off == b->opt_off;
}

/* What the fast path takes is to it what it is to others.  Was it taken? */
static bool in_place(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	struct sfc_pkt now;

	if (!sfc_parse_in_place(skb, &now))
		return false;
	CHECK(pkt->flow.proto == IPPROTO_TCP && pkt->form != BOLT_OPT_BAD);
	CHECK(now.flow.family == pkt->flow.family && now.flow.dscp == pkt->flow.dscp);
	CHECK(now.flags == pkt->flags && now.band == pkt->band && now.l4_off == pkt->l4_off);
	CHECK(pkt->form != BOLT_OPT_FULL || now.opt_off == pkt->opt_off);
	return true;
}

/* Cut in two elsewhere, it is the same packet. */
static void cut(struct input *in, const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	struct sk_buff other = *skb;
	struct sfc_pkt now;

	other.headlen = take_below(in, skb->len + 1);
	other.data = (u8 *)malloc(skb->headroom + other.headlen ?: 1) + skb->headroom;
	other.frag = malloc(skb->len - other.headlen ?: 1);
	skb_copy_bits(skb, 0, other.data, other.headlen);
	skb_copy_bits(skb, other.headlen, other.frag, skb->len - other.headlen);
	sfc_parse(&other, PORT, &now);
	CHECK(same(&now, pkt));
	in_place(&other, pkt);
	free(other.data - other.headroom);
	free(other.frag);
}

/* Where the packet ends as IP has it; what is behind is padding */
static int end_of(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	bool ip6 = pkt->flow.family == 6;
	u8 raw[2];
	u32 len;

	skb_copy_bits(skb, pkt->l3_off + (ip6 ? 4 : 2), raw, 2);
	len = get_unaligned_be16(raw);
	return len ? pkt->l3_off + len + (ip6 ? 40 : 0) : skb->len;
}

/* Whoever hears of the packet takes it for the same flow, unless it goes on to another segment. */
static void quoted(const struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	const struct sfc_flow *f = &pkt->flow;
	unsigned int len = pkt->l4_off - pkt->l3_off + BOLT_CTL_L4_QUOTE;
	u8 q[BOLT_CTL_QUOTE_MAX];
	struct bolt_msg m = { };

	if (!f->proto || len > sizeof(q) || skb_copy_bits(skb, pkt->l3_off, q, len) ||
	    bolt_msg_read_quote(q, len, &m) != len)
		return;
	CHECK(m.family == f->family && m.protocol == f->proto);
	CHECK(m.sport == f->sport && m.dport == f->dport);
	CHECK(!memcmp(m.saddr, f->saddr, sizeof(m.saddr)));
	CHECK(m.segments == sfc_has_segments(skb, pkt));
	CHECK(m.segments || !memcmp(m.daddr, f->daddr, sizeof(m.daddr)));
}

/* What else reads the packet once sfc_parse() has said what it is */
static void read_on(struct input *in, struct sk_buff *skb, const struct sfc_pkt *pkt)
{
	const struct sfc_flow *f = &pkt->flow;
	struct bolt_msg m;
	int verdict, keyed;

	sfc_msg_is_form(skb, pkt);
	CHECK(f->proto || (!f->sport && !f->dport));
	CHECK(f->family || !f->proto);
	quoted(skb, pkt);
	if (pkt->control) {
		CHECK(pkt->band == SFC_BAND_HIGH && !pkt->pausable && f->proto == IPPROTO_UDP);
		verdict = sfc_msg_read(skb, pkt, NULL, &m);
		CHECK(verdict != SFC_MSG_CACHEABLE);
		CHECK(verdict == SFC_REFUSED_MALFORMED || sfc_msg_is_form(skb, pkt));
		if (verdict == SFC_MSG_BTS) {
			CHECK(m.type == BOLT_CTL_BTS && m.family == f->family);
			CHECK(!memcmp(m.saddr, f->daddr, sizeof(m.saddr)));
		}
		keyed = sfc_msg_read(skb, pkt, &switch_keys, &m);
		if (verdict != SFC_MSG_BTS || !(m.flags & BOLT_CTL_F_CACHEABLE))
			CHECK(keyed == verdict);
		else
			CHECK(keyed == SFC_MSG_CACHEABLE || keyed == SFC_REFUSED_FORGED);
	}
	if (pkt->form == BOLT_OPT_FULL) {
		CHECK(pkt->opt_off >= pkt->l4_off + 20);
		CHECK(pkt->opt_off + BOLT_TCPOPT_LEN <= end_of(skb, pkt));
		CHECK(!(pkt->flags & BOLT_F_DATA) || (pkt->t_data_tx && pkt->pausable));
		write_flags(in, skb, pkt);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static unsigned int inputs, taken;
	struct input in = input_begin(data, len);
	struct net_device dev = { .type = take_once_in(&in, 4) ? ARPHRD_NONE : ARPHRD_ETHER };
	struct sk_buff skb = { .dev = &dev, .headroom = dev.type == ARPHRD_ETHER ? 2 : 0 };
	struct sfc_pkt pkt;
	struct packet p = { };
	unsigned int i, changes;

	build(&p, &in, &skb);
	changes = take_below(&in, 4);
	for (i = changes; i > 1; i--)
		p.raw[take_below(&in, p.len)] = take_u8(&in);
	skb.len = take_once_in(&in, 8) ? take_below(&in, p.len + 1) : p.len;
	skb.headlen = take_once_in(&in, 4) ? take_below(&in, skb.len + 1) : skb.len;
	skb.ip_summed = take_u8(&in) % 4;
	skb.data = (u8 *)malloc(skb.headroom + skb.headlen ?: 1) + skb.headroom;
	memcpy(skb.data, p.raw, skb.headlen);
	skb.frag = malloc(skb.len - skb.headlen ?: 1);
	memcpy(skb.frag, p.raw + skb.headlen, skb.len - skb.headlen);

	sfc_parse(&skb, PORT, &pkt);
	CHECK(!pkt.flow.proto || (pkt.l4_off >= pkt.l3_off && pkt.l4_off <= (int)skb.len));
	if (changes < 2)
		CHECK(!pkt.flow.family || (pkt.l3_off == (int)p.l3 && p.tags <= VLAN_MAX_DEPTH));
	CHECK(pkt.flow.dscp < 64 && !(pkt.band == SFC_BAND_HIGH && pkt.pausable));
	taken += in_place(&skb, &pkt);
	/* one in twelve */
	CHECK(++inputs % 10000 || taken > inputs / 32);
	cut(&in, &skb, &pkt);
	read_on(&in, &skb, &pkt);
	free(skb.data - skb.headroom);
	free(skb.frag);
	return 0;
}
