// SPDX-License-Identifier: GPL-2.0
/*
 * The control message: what is taken for one is put together again to the byte, and what is put
 * together is understood; nothing else has a valid tag.
 */
#include "fuzz.h"
#include <bolt_keys.h>

/* A message as it may be on the wire, exactly as long as its buffer */
static void parse_any(const u8 *p, unsigned int len)
{
	struct bolt_msg m, again;
	unsigned int head;
	u8 *copy;

	if (bolt_msg_parse(p, len, &m) != BOLT_MSG_OK)
		return;
	head = bolt_msg_quote_off(m.type);
	CHECK(len >= head + BOLT_CTL_QUOTE_MIN && len <= BOLT_CTL_LEN_MAX);
	CHECK(bolt_msg_has_ports(m.protocol) && (m.family == 4 || m.family == 6));
	copy = malloc(len);
	memcpy(copy, p, len);
	memset(copy, 0xee, head);
	if (m.flags & BOLT_CTL_F_CACHEABLE)
		memset(copy + bolt_msg_cache_end(m.flags, len) - BOLT_CTL_CACHE_LEN, 0xee,
		       BOLT_CTL_CACHE_LEN - BOLT_CTL_TAG_LEN);
	bolt_msg_build(copy, len, &m);
	CHECK(!memcmp(copy, p, len));
	CHECK(bolt_msg_parse(copy, len, &again) == BOLT_MSG_OK);
	CHECK(again.seq == m.seq && again.sport == m.sport && again.dport == m.dport);
	free(copy);
}

/* The head of a packet of TCP or UDP */
static unsigned int quote(struct input *in, u8 *q, struct bolt_msg *m)
{
	static const u8 protocols[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE, IPPROTO_DCCP,
					IPPROTO_SCTP };
	unsigned int l4, more;

	take_bytes(in, q, BOLT_CTL_QUOTE_MAX);
	m->protocol = protocols[take_below(in, ARRAY_SIZE(protocols))];
	memset(m->saddr, 0, sizeof(m->saddr));
	memset(m->daddr, 0, sizeof(m->daddr));
	if (take_once_in(in, 2)) {
		m->family = 4;
		l4 = 20 + 4 * take_below(in, 11);
		q[0] = 0x40 | l4 / 4;
		q[6] &= 0xe0;
		q[7] = 0;
		q[9] = m->protocol;
		memcpy(m->saddr, q + 12, 4);
		memcpy(m->daddr, q + 16, 4);
	} else {
		m->family = 6;
		l4 = 40;
		q[0] = 0x60;
		q[6] = m->protocol;
		more = take_below(in, 10);
		memcpy(m->saddr, q + 8, 16);
		memcpy(m->daddr, q + 24, 16);
		if (more) {
			q[6] = take_once_in(in, 2) ? 60 : 43;
			q[40] = m->protocol;
			q[41] = more - 1;
			/* of segments: so many are left, and this is the number of the first */
			q[42] = 3 + take_below(in, 2);
			q[43] = take_below(in, 7);
			q[44] = take_below(in, 6);
			m->segments = q[6] == 43 && q[42] == 4 && q[43] && q[43] <= q[44] + 1 &&
				      8 + 16 * (q[44] + 1) <= 8 * more;
			if (m->segments)
				memcpy(m->daddr, q + 48, 16);
			l4 += 8 * more;
		}
	}
	memcpy(&m->sport, q + l4, 2);
	memcpy(&m->dport, q + l4 + 2, 2);
	m->seq = get_unaligned_be32(q + l4 + 4);
	return l4 + BOLT_CTL_L4_QUOTE;
}

static void build_any(struct input *in)
{
	u8 q[BOLT_CTL_QUOTE_MAX], *p;
	struct bolt_msg m = { }, got;
	struct bolt_keys keys, other, switches;
	unsigned int len, cut;

	m.type = BOLT_CTL_SRC + take_below(in, 3);
	m.flags = take_u8(in) & BOLT_CTL_F_ALL;
	m.dscp = take_u8(in) & 63;
	m.t_data_tx = take_range(in, m.type == BOLT_CTL_SRC, U32_MAX);
	m.queue_bytes = take_range(in, 0, U32_MAX);
	m.link_rate = take_range(in, 1, U32_MAX);
	m.switch_id = take_range(in, 0, U32_MAX);
	m.pause_ns = m.type == BOLT_CTL_BTS ? take_range(in, 0, U32_MAX) : 0;
	m.target_rate = m.type == BOLT_CTL_CNM ? take_range(in, 1, U32_MAX) : 0;
	if (m.flags & BOLT_CTL_F_CACHEABLE) {
		m.sent_ns = take_range(in, 0, U64_MAX);
		m.clock = take_range(in, 0, U32_MAX);
	}
	cut = quote(in, q, &m);
	len = bolt_msg_len(m.type, m.flags, cut);
	p = malloc(len);
	memset(p, 0xee, len);
	bolt_msg_build(p, len, &m);
	memcpy(p + bolt_msg_quote_off(m.type), q, cut);
	take_bytes(in, &keys.sign, sizeof(keys.sign));
	keys.other = keys.sign;
	keys.other.key[0] ^= 4;
	switches = keys;
	switches.sign.key[1] ^= 1;
	switches.other.key[1] ^= 1;
	if (m.flags & BOLT_CTL_F_CACHEABLE)
		bolt_msg_put_tag(p, bolt_msg_cache_end(m.flags, len), &switches.sign);
	if (m.flags & BOLT_CTL_F_TAGGED)
		bolt_msg_put_tag(p, len, &keys.sign);

	memset(&got, 0, sizeof(got));
	CHECK(bolt_msg_parse(p, len, &got) == BOLT_MSG_OK);
	CHECK(!memcmp(&got, &m, sizeof(m)));
	CHECK(bolt_msg_tag_ok(p, len, &keys) == !!(m.flags & BOLT_CTL_F_TAGGED));
	CHECK(bolt_msg_cache_ok(p, len, &switches) == !!(m.flags & BOLT_CTL_F_CACHEABLE));
	CHECK(!bolt_msg_cache_ok(p, len, &keys));
	other = (struct bolt_keys){ .sign = keys.other, .other = keys.sign };
	CHECK(bolt_msg_tag_ok(p, len, &other) == !!(m.flags & BOLT_CTL_F_TAGGED));
	other.other.key[0] ^= 1;
	CHECK(!bolt_msg_tag_ok(p, len, &other));

	/* one bit of it is another one */
	cut = take_below(in, 8 * len);
	p[cut / 8] ^= 1 << cut % 8;
	if (bolt_msg_parse(p, len, &got) == BOLT_MSG_OK)
		CHECK(!bolt_msg_tag_ok(p, len, &keys));
	parse_any(p, len);
	p[cut / 8] ^= 1 << cut % 8;
	/* some bytes of it are missing */
	cut = 1 + take_below(in, len);
	CHECK(bolt_msg_parse(p, len - cut, &got) != BOLT_MSG_OK);
	free(p);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);
	u8 *copy = malloc(len ?: 1);

	memcpy(copy, data, len);
	parse_any(copy, len);
	free(copy);
	build_any(&in);
	return 0;
}
