/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control message (SRC, BTS, CNM): check and take apart, put together.  Plain
 * bytes in, plain structs out; no sk_buff, so that KUnit and user space run the
 * very same code.
 */
#ifndef _BOLT_MSG_H
#define _BOLT_MSG_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/string.h>
#include <linux/in.h>
#include <linux/siphash.h>
#endif
#include <uapi/linux/bolt.h>

/* Why a message is refused before any socket is looked up; each has its counter. */
enum bolt_msg_verdict {
	BOLT_MSG_OK,
	BOLT_MSG_SHORT,		/* no room for the shortest quote */
	BOLT_MSG_LENGTH,	/* longer than with the longest quote */
	BOLT_MSG_VERSION,
	BOLT_MSG_TYPE,
	BOLT_MSG_FLAGS,		/* a flag that does not exist */
	BOLT_MSG_FIELD,		/* a value out of range */
	BOLT_MSG_QUOTE,		/* not the head of a packet with ports, to the byte */
};

/**
 * struct bolt_msg - a control message in host byte order
 *
 * Fields as in struct bolt_ctl, and 0 what the type does not have; then the flow of the quoted
 * packet, as it was sent: source is the receiver of the message.
 */
struct bolt_msg {
	u8	type;
	u8	flags;
	u8	dscp;
	u8	family;		/* 4 or 6 */
	u8	protocol;	/* one that bolt_msg_has_ports() */
	u32	t_data_tx;
	u32	queue_bytes;
	u32	link_rate;	/* kbit/s */
	u32	switch_id;
	u32	pause_ns;	/* BTS */
	u32	target_rate;	/* CNM, kbit/s */
	u32	seq;		/* TCP: sequence number of the quoted packet */
	__be16	sport;
	__be16	dport;
	__be32	saddr[4];	/* IPv4: saddr[0] */
	__be32	daddr[4];
};

/* Where the quote begins: behind the head, and the number that all but an SRC have */
static inline unsigned int bolt_msg_quote_off(u8 type)
{
	return sizeof(struct bolt_ctl) + (type != BOLT_CTL_SRC) * sizeof(__be32);
}

/* Bytes of a message that quotes so many */
static inline unsigned int bolt_msg_len(u8 type, u8 flags, unsigned int quote)
{
	return bolt_msg_quote_off(type) + quote +
	       (flags & BOLT_CTL_F_TAGGED ? BOLT_CTL_TAG_LEN : 0);
}

/* Length of the quoted IPv6 headers up to L4, or 0; @proto becomes the L4 protocol. */
static inline unsigned int bolt_msg_ip6_hdrlen(const u8 *q, unsigned int len, u8 *proto)
{
	unsigned int off = 40;
	u8 next = q[6];

	while (next == 0 || next == 43 || next == 60) {	/* hop-by-hop, routing, destination */
		if (off + 8 > len)
			return 0;
		next = q[off];
		off += 8 + 8 * q[off + 1];
	}
	*proto = next;
	return off;
}

/* Protocols that begin with two ports, and have eight bytes of header at least */
static inline bool bolt_msg_has_ports(u8 protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
		return true;
	}
	return false;
}

/* Take the quoted packet apart.  Returns false when it is not what we quote. */
static inline bool bolt_msg_parse_quote(const u8 *q, unsigned int len, struct bolt_msg *m)
{
	unsigned int l4;

	switch (q[0] >> 4) {
	case 4:
		l4 = (q[0] & 15) * 4;
		if (l4 < 20 || (get_unaligned_be16(q + 6) & 0x1fff))	/* not a first fragment */
			return false;
		m->family = 4;
		m->protocol = q[9];
		memset(m->saddr, 0, sizeof(m->saddr));
		memset(m->daddr, 0, sizeof(m->daddr));
		memcpy(m->saddr, q + 12, 4);
		memcpy(m->daddr, q + 16, 4);
		break;
	case 6:
		if (len < 40)
			return false;
		l4 = bolt_msg_ip6_hdrlen(q, len, &m->protocol);
		if (!l4)
			return false;
		m->family = 6;
		memcpy(m->saddr, q + 8, 16);
		memcpy(m->daddr, q + 24, 16);
		break;
	default:
		return false;
	}
	if (!bolt_msg_has_ports(m->protocol))
		return false;
	if (l4 + BOLT_CTL_L4_QUOTE != len)
		return false;
	memcpy(&m->sport, q + l4, 2);
	memcpy(&m->dport, q + l4 + 2, 2);
	m->seq = get_unaligned_be32(q + l4 + 4);
	return true;
}

/**
 * bolt_msg_parse() - check a UDP payload and take it apart
 * @p:		the payload, linear
 * @len:	its bytes
 * @m:		filled in when the result is BOLT_MSG_OK
 */
static inline enum bolt_msg_verdict bolt_msg_parse(const u8 *p, unsigned int len,
						   struct bolt_msg *m)
{
	const u8 *number = p + sizeof(struct bolt_ctl);
	struct bolt_ctl h;

	if (len < sizeof(h))
		return BOLT_MSG_SHORT;
	memcpy(&h, p, sizeof(h));
	if (h.version != BOLT_CTL_VERSION)
		return BOLT_MSG_VERSION;
	if (h.type < BOLT_CTL_SRC || h.type > BOLT_CTL_CNM)
		return BOLT_MSG_TYPE;
	if (h.flags & ~BOLT_CTL_F_ALL)
		return BOLT_MSG_FLAGS;
	if (len < bolt_msg_len(h.type, h.flags, BOLT_CTL_QUOTE_MIN))
		return BOLT_MSG_SHORT;
	if (len > bolt_msg_len(h.type, h.flags, BOLT_CTL_QUOTE_MAX))
		return BOLT_MSG_LENGTH;

	m->type = h.type;
	m->flags = h.flags;
	m->dscp = h.dscp;
	m->t_data_tx = get_unaligned_be32(p + offsetof(struct bolt_ctl, t_data_tx));
	m->queue_bytes = get_unaligned_be32(p + offsetof(struct bolt_ctl, queue_bytes));
	m->link_rate = get_unaligned_be32(p + offsetof(struct bolt_ctl, link_rate));
	m->switch_id = get_unaligned_be32(p + offsetof(struct bolt_ctl, switch_id));
	m->pause_ns = h.type == BOLT_CTL_BTS ? get_unaligned_be32(number) : 0;
	m->target_rate = h.type == BOLT_CTL_CNM ? get_unaligned_be32(number) : 0;
	if (m->dscp > 63 || !m->link_rate)
		return BOLT_MSG_FIELD;
	/* rtt_src is computed from the echo: an SRC without one means nothing */
	if (m->type == BOLT_CTL_SRC && !m->t_data_tx)
		return BOLT_MSG_FIELD;
	if (m->type == BOLT_CTL_CNM && !m->target_rate)
		return BOLT_MSG_FIELD;

	if (!bolt_msg_parse_quote(p + bolt_msg_quote_off(h.type),
				  len - bolt_msg_len(h.type, h.flags, 0), m))
		return BOLT_MSG_QUOTE;
	return BOLT_MSG_OK;
}

/**
 * bolt_msg_build() - write a control message up to its quote
 * @p:		where; bolt_msg_len() bytes, the quote at bolt_msg_quote_off()
 * @m:		type, flags, dscp and the numbers; the flow is in the quote
 */
static inline void bolt_msg_build(u8 *p, const struct bolt_msg *m)
{
	p[offsetof(struct bolt_ctl, version)] = BOLT_CTL_VERSION;
	p[offsetof(struct bolt_ctl, type)] = m->type;
	p[offsetof(struct bolt_ctl, flags)] = m->flags;
	p[offsetof(struct bolt_ctl, dscp)] = m->dscp;
	put_unaligned_be32(m->t_data_tx, p + offsetof(struct bolt_ctl, t_data_tx));
	put_unaligned_be32(m->queue_bytes, p + offsetof(struct bolt_ctl, queue_bytes));
	put_unaligned_be32(m->link_rate, p + offsetof(struct bolt_ctl, link_rate));
	put_unaligned_be32(m->switch_id, p + offsetof(struct bolt_ctl, switch_id));
	if (m->type != BOLT_CTL_SRC)
		put_unaligned_be32(m->type == BOLT_CTL_BTS ? m->pause_ns : m->target_rate,
				   p + sizeof(struct bolt_ctl));
}

#ifdef __KERNEL__
/* The last of a message with BOLT_CTL_F_TAGGED, all of whose other bytes are there */
static inline void bolt_msg_put_tag(u8 *p, unsigned int len, const siphash_key_t *key)
{
	len -= BOLT_CTL_TAG_LEN;
	put_unaligned_be64(siphash(p, len, key), p + len);
}

/* Of a message that bolt_msg_parse() has found to be one */
static inline bool bolt_msg_tag_ok(const u8 *p, unsigned int len, const siphash_key_t *key)
{
	if (!(p[offsetof(struct bolt_ctl, flags)] & BOLT_CTL_F_TAGGED))
		return false;
	len -= BOLT_CTL_TAG_LEN;
	return get_unaligned_be64(p + len) == siphash(p, len, key);
}
#endif

#endif /* _BOLT_MSG_H */
