/* SPDX-License-Identifier: GPL-2.0 */
/* Parse and build control messages (SRC, BTS, CNM).  Pure. */
#ifndef _BOLT_MSG_H
#define _BOLT_MSG_H

#include <linux/string.h>
#include <linux/in.h>

#include <uapi/linux/bolt.h>

/* Why a message is refused before any socket is looked up; each has its counter. */
enum bolt_msg_verdict {
	BOLT_MSG_OK,
	BOLT_MSG_SHORT,		/* no room for the shortest quote */
	BOLT_MSG_LENGTH,	/* longer than a message with the longest quote */
	BOLT_MSG_VERSION,
	BOLT_MSG_TYPE,
	BOLT_MSG_FLAGS,		/* an undefined flag */
	BOLT_MSG_FIELD,		/* a value out of range */
	BOLT_MSG_QUOTE,		/* not the head of a packet with ports, of exactly that length */
};

/**
 * struct bolt_msg - a control message in host byte order
 *
 * Fields are as in struct bolt_ctl, 0 if the type does not have them.  The flow is that of the
 * quoted packet as it was sent, so its source is the receiver of the message.
 */
struct bolt_msg {
	u8	type;
	u8	flags;
	u8	dscp;
	u8	family;		/* 4 or 6 */
	u8	protocol;	/* bolt_msg_has_ports() is true */
	u32	t_data_tx;
	u32	queue_bytes;
	u32	link_rate;	/* kbit/s */
	u32	switch_id;
	u32	pause_ns;	/* BTS */
	u32	target_rate;	/* CNM, kbit/s */
	u64	sent_ns;	/* with BOLT_CTL_F_CACHEABLE: time of sending, by ... */
	u32	clock;		/* ... the clock with this number */
	u32	seq;		/* TCP: sequence number of the quoted packet */
	bool	verified;	/* set by the receiver: the tag was valid */
	bool	segments;	/* quoted on the way to another segment than daddr, the last */
	__be16	sport;
	__be16	dport;
	__be32	saddr[4];	/* IPv4: saddr[0] */
	__be32	daddr[4];
};

/* Offset of the quote: behind struct bolt_ctl and the number that all types but SRC have */
static inline unsigned int bolt_msg_quote_off(u8 type)
{
	return sizeof(struct bolt_ctl) + (type != BOLT_CTL_SRC) * sizeof(__be32);
}

/* Bytes of a message with a quote of @quote bytes */
static inline unsigned int bolt_msg_len(u8 type, u8 flags, unsigned int quote)
{
	return bolt_msg_quote_off(type) + quote +
	       (flags & BOLT_CTL_F_CACHEABLE ? BOLT_CTL_CACHE_LEN : 0) +
	       (flags & BOLT_CTL_F_TAGGED ? BOLT_CTL_TAG_LEN : 0);
}

/* End of the part for switches in a message of @len bytes with BOLT_CTL_F_CACHEABLE */
static inline unsigned int bolt_msg_cache_end(u8 flags, unsigned int len)
{
	return len - (flags & BOLT_CTL_F_TAGGED ? BOLT_CTL_TAG_LEN : 0);
}

/*
 * Is @h a segment routing header (RFC 8754, section 2) that the packet has not reached the end of,
 * with room for all segments that it says it has?  The last segment is the first in it.
 */
static inline bool bolt_msg_has_segments(const u8 *h, unsigned int len)
{
	unsigned int last_entry = h[4], left = h[3];

	return h[2] == 4 && left && left <= last_entry + 1 && h[1] >= 2 * (last_entry + 1) &&
	       8 + 8 * h[1] <= len;
}

/* Length of the IPv6 headers up to L4, or 0.  Sets the L4 protocol, and where the flow goes to. */
static inline unsigned int bolt_msg_ip6_hdrlen(const u8 *q, unsigned int len, struct bolt_msg *m)
{
	const u8 *daddr = q + 24;
	unsigned int off = 40;
	u8 next = q[6];

	while (next == 0 || next == 43 || next == 60) {	/* hop-by-hop, routing, destination */
		if (off + 8 > len)
			return 0;
		if (next == 43 && bolt_msg_has_segments(q + off, len - off))
			daddr = q + off + 8;
		next = q[off];
		off += 8 + 8 * q[off + 1];
	}
	m->protocol = next;
	m->segments = daddr != q + 24;
	memcpy(m->daddr, daddr, 16);
	return off;
}

/* Protocols whose header begins with two ports and has at least eight bytes */
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

/*
 * Parse the quoted packet at the beginning of @len bytes, BOLT_CTL_QUOTE_MIN at least.  Returns the
 * length of the quote, or 0 if it is not one as switches make it.
 */
static inline unsigned int bolt_msg_read_quote(const u8 *q, unsigned int len, struct bolt_msg *m)
{
	unsigned int l4;

	m->segments = false;
	switch (q[0] >> 4) {
	case 4:
		l4 = (q[0] & 15) * 4;
		if (l4 < 20 || (get_unaligned_be16(q + 6) & 0x1fff))	/* not a first fragment */
			return 0;
		m->family = 4;
		m->protocol = q[9];
		memset(m->saddr, 0, sizeof(m->saddr));
		memset(m->daddr, 0, sizeof(m->daddr));
		memcpy(m->saddr, q + 12, 4);
		memcpy(m->daddr, q + 16, 4);
		break;
	case 6:
		if (len < 40)
			return 0;
		l4 = bolt_msg_ip6_hdrlen(q, len, m);
		if (!l4)
			return 0;
		m->family = 6;
		memcpy(m->saddr, q + 8, 16);
		break;
	default:
		return 0;
	}
	if (!bolt_msg_has_ports(m->protocol) || l4 + BOLT_CTL_L4_QUOTE > len)
		return 0;
	memcpy(&m->sport, q + l4, 2);
	memcpy(&m->dport, q + l4 + 2, 2);
	m->seq = get_unaligned_be32(q + l4 + 4);
	return l4 + BOLT_CTL_L4_QUOTE;
}

/*
 * Could a UDP payload be a control message of any version, with fields and flags unknown here?  It
 * is no longer than one, and has a quote where one has it.
 */
static inline bool bolt_msg_is_form(const u8 *p, unsigned int len)
{
	unsigned int type, off;
	struct bolt_msg m;

	if (len > BOLT_CTL_LEN_MAX)
		return false;
	for (type = BOLT_CTL_SRC; type <= BOLT_CTL_BTS; type++) {
		off = bolt_msg_quote_off(type);
		if (len >= off + BOLT_CTL_QUOTE_MIN &&
		    bolt_msg_read_quote(p + off, len - off, &m))
			return true;
	}
	return false;
}

/* Check and parse a UDP payload.  @m is filled in when the result is BOLT_MSG_OK. */
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
	m->sent_ns = 0;
	m->clock = 0;
	if (h.flags & BOLT_CTL_F_CACHEABLE) {
		const u8 *part = p + bolt_msg_cache_end(h.flags, len) - BOLT_CTL_CACHE_LEN;

		m->sent_ns = get_unaligned_be64(part);
		m->clock = get_unaligned_be32(part + sizeof(__be64));
	}
	/* rtt_src is computed from the echo, so an SRC needs one */
	if (m->dscp > 63 || !m->link_rate || (m->type == BOLT_CTL_SRC && !m->t_data_tx) ||
	    (m->type == BOLT_CTL_CNM && !m->target_rate))
		return BOLT_MSG_FIELD;
	len -= bolt_msg_len(h.type, h.flags, 0);
	return bolt_msg_read_quote(p + bolt_msg_quote_off(h.type), len, m) == len ?
	       BOLT_MSG_OK : BOLT_MSG_QUOTE;
}

/*
 * Write a control message of bolt_msg_len(), except for its tags and its quote, which is at
 * bolt_msg_quote_off() and has the flow.
 */
static inline void bolt_msg_build(u8 *p, unsigned int len, const struct bolt_msg *m)
{
	u8 *part;

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
	if (m->flags & BOLT_CTL_F_CACHEABLE) {
		part = p + bolt_msg_cache_end(m->flags, len) - BOLT_CTL_CACHE_LEN;
		put_unaligned_be64(m->sent_ns, part);
		put_unaligned_be32(m->clock, part + sizeof(__be64));
	}
}

#endif /* _BOLT_MSG_H */
