/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Bolt TCP option: find, read, write.  Plain bytes in, plain structs out;
 * no sk_buff, so that KUnit and user space run the very same code.
 */
#ifndef _BOLT_OPTION_H
#define _BOLT_OPTION_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/string.h>
#endif
#include <uapi/linux/bolt.h>

/* TCP option kinds needed to walk and repack the option space (RFC 9293, 7323, 2018) */
#define BOLT_TCPOPT_EOL		0
#define BOLT_TCPOPT_NOP		1
#define BOLT_TCPOPT_SACK	5
#define BOLT_TCPOPT_TS_ALIGNED	0x0101080aU	/* RFC 7323, appendix A: NOP, NOP, timestamps */
#define BOLT_TCPOPT_MD5		19	/* RFC 2385 */
#define BOLT_TCPOPT_AO		29	/* RFC 5925 */
#define BOLT_TCPOPT_MPTCP	30	/* RFC 8684 */
#define BOLT_TCPOPT_SPACE	40	/* bytes of options a TCP header can hold */

/* How the full form begins */
#define BOLT_TCPOPT_HEAD	((u32)BOLT_TCPOPT_KIND << 24 | BOLT_TCPOPT_LEN << 16 | \
				 BOLT_TCPOPT_EXID)

/**
 * struct bolt_opt - the option's fields in host byte order
 * @flags:	BOLT_F_*
 * @inc_count:	data packets that arrived with INC still set, modulo 256
 * @rq_delay:	see bolt_rq_pack()
 * @t_data_tx:	ns, 0: none
 */
struct bolt_opt {
	u8	flags;
	u8	inc_count;
	u16	rq_delay;
	u32	t_data_tx;
};

enum bolt_opt_form {
	BOLT_OPT_NONE,		/* not there */
	BOLT_OPT_SYN,		/* the short form of a SYN */
	BOLT_OPT_FULL,
	BOLT_OPT_BAD,		/* our ExID with a length that does not exist, or cut off */
};

/* Twelve bytes of timestamps at @p, as the stack puts them */
static inline bool bolt_opt_at_ts(const void *p)
{
	return get_unaligned_be32(p) == BOLT_TCPOPT_TS_ALIGNED;
}

/* The full form at @p */
static inline bool bolt_opt_at_full(const void *p)
{
	return get_unaligned_be32(p) == BOLT_TCPOPT_HEAD;
}

/**
 * bolt_opt_find() - find the option in a TCP option block
 * @opts:	first byte after the fixed TCP header
 * @len:	bytes of options, 0..40
 * @off:	where it starts, when the result is BOLT_OPT_SYN or BOLT_OPT_FULL
 *
 * A malformed option before ours ends the walk as it ends the stack's own
 * (tcp_parse_options): what follows cannot be trusted.
 */
static inline enum bolt_opt_form bolt_opt_find(const u8 *opts, unsigned int len,
					       unsigned int *off)
{
	unsigned int i = 0;

	/* what the stack puts first, in one look */
	if (len >= 12 && bolt_opt_at_ts(opts))
		i = 12;
	/* and what a host of ours puts last */
	if (len - i == BOLT_TCPOPT_LEN && bolt_opt_at_full(opts + i)) {
		*off = i;
		return BOLT_OPT_FULL;
	}
	while (i < len) {
		unsigned int size;

		if (opts[i] == BOLT_TCPOPT_EOL)
			return BOLT_OPT_NONE;
		if (opts[i] == BOLT_TCPOPT_NOP) {
			i++;
			continue;
		}
		if (len - i < 2)
			return BOLT_OPT_NONE;
		size = opts[i + 1];
		if (opts[i] == BOLT_TCPOPT_KIND && len - i >= BOLT_TCPOPT_LEN_SYN &&
		    size >= BOLT_TCPOPT_LEN_SYN &&
		    get_unaligned_be16(opts + i + 2) == BOLT_TCPOPT_EXID) {
			if (size > len - i)
				return BOLT_OPT_BAD;
			*off = i;
			if (size == BOLT_TCPOPT_LEN)
				return BOLT_OPT_FULL;
			return size == BOLT_TCPOPT_LEN_SYN ? BOLT_OPT_SYN : BOLT_OPT_BAD;
		}
		if (size < 2 || size > len - i)
			return BOLT_OPT_NONE;
		i += size;
	}
	return BOLT_OPT_NONE;
}

/* Is there an option of this @kind?  Walks as bolt_opt_find() does. */
static inline bool bolt_opt_has(const u8 *opts, unsigned int len, u8 kind)
{
	unsigned int i = 0;

	while (i < len && opts[i] != BOLT_TCPOPT_EOL) {
		if (opts[i] == BOLT_TCPOPT_NOP) {
			i++;
			continue;
		}
		if (len - i < 2 || opts[i + 1] < 2 || opts[i + 1] > len - i)
			return false;
		if (opts[i] == kind)
			return true;
		i += opts[i + 1];
	}
	return false;
}

/* Read the full form at @p (BOLT_TCPOPT_LEN bytes, as found). */
static inline void bolt_opt_read(const u8 *p, struct bolt_opt *opt)
{
	opt->flags = p[BOLT_TCPOPT_OFF_FLAGS];
	opt->inc_count = p[BOLT_TCPOPT_OFF_INC];
	opt->t_data_tx = get_unaligned_be32(p + BOLT_TCPOPT_OFF_TX);
	opt->rq_delay = get_unaligned_be16(p + BOLT_TCPOPT_OFF_RQ);
}

/* Write the short form of a SYN at @p, BOLT_TCPOPT_LEN_SYN bytes. */
static inline void bolt_opt_write_syn(u8 *p)
{
	p[0] = BOLT_TCPOPT_KIND;
	p[1] = BOLT_TCPOPT_LEN_SYN;
	put_unaligned_be16(BOLT_TCPOPT_EXID, p + 2);
}

/* Write the full form at @p, BOLT_TCPOPT_LEN bytes. */
static inline void bolt_opt_write(u8 *p, const struct bolt_opt *opt)
{
	put_unaligned_be32(BOLT_TCPOPT_HEAD, p);
	p[BOLT_TCPOPT_OFF_FLAGS] = opt->flags;
	p[BOLT_TCPOPT_OFF_INC] = opt->inc_count;
	put_unaligned_be32(opt->t_data_tx, p + BOLT_TCPOPT_OFF_TX);
	put_unaligned_be16(opt->rq_delay, p + BOLT_TCPOPT_OFF_RQ);
}

/**
 * bolt_opt_make_room() - repack the stack's options so that ours fits behind them
 * @opts:	option block, at least BOLT_TCPOPT_SPACE bytes of buffer
 * @len:	bytes in use, a multiple of 4
 * @dsack:	the first SACK block repeats acknowledged data (RFC 2883) and says
 *		nothing about a hole, so keep the block behind it as well
 * @need:	bytes wanted behind them, a multiple of 4
 *
 * Padding goes first; then the trailing SACK blocks, which repeat what earlier ACKs
 * said (RFC 2018 section 4), down to one (two with @dsack).  Returns the
 * new length, a multiple of 4, or -1 when there is no room; @opts is then as before.
 */
static inline int bolt_opt_make_room(u8 *opts, unsigned int len, bool dsack,
				     unsigned int need)
{
	u8 out[BOLT_TCPOPT_SPACE];
	unsigned int i = 0, n = 0, keep;

	if (len > BOLT_TCPOPT_SPACE || need > BOLT_TCPOPT_SPACE)
		return -1;
	if (len + need <= BOLT_TCPOPT_SPACE)
		return len;

	while (i < len && opts[i] != BOLT_TCPOPT_EOL) {
		unsigned int size, take;

		if (opts[i] == BOLT_TCPOPT_NOP) {
			i++;
			continue;
		}
		if (len - i < 2 || opts[i + 1] < 2 || opts[i + 1] > len - i)
			return -1;
		size = opts[i + 1];
		take = size;
		if (opts[i] == BOLT_TCPOPT_SACK) {
			keep = 2 + 8 * (dsack ? 2 : 1);
			take = size < keep ? size : keep;
		}
		memcpy(out + n, opts + i, take);
		if (take != size)
			out[n + 1] = take;
		n += take;
		i += size;
	}
	while (n & 3 && n < BOLT_TCPOPT_SPACE)
		out[n++] = BOLT_TCPOPT_NOP;
	if (n + need > BOLT_TCPOPT_SPACE)
		return -1;
	memcpy(opts, out, n);
	return n;
}

/**
 * bolt_inc_delta() - INC grants between two readings of the cumulative counter
 * @now:	inc_count of the ACK at hand
 * @last:	of the newest ACK taken so far
 *
 * Counters are modulo 256: a step of more than 127 is an ACK that was overtaken.
 * Returns 0..127; 0 for an old ACK, which must not become @last.
 */
static inline unsigned int bolt_inc_delta(u8 now, u8 last)
{
	u8 d = now - last;

	return d < 128 ? d : 0;
}

/**
 * bolt_rq_pack() - what a pure ACK reflects for Swift (its section 3.1, 3.5)
 * @delay_ns:	remote queuing: from the arrival of the data packet to this ACK
 * @hops:	routers the data packet has passed
 *
 * Bits 15-12: hops, 15 for more; 11-8: e; 7-0: m.  The delay is m << e, in BOLT_RQ_DELAY_NS: exact
 * to 16 ns up to 4 us, then low by less than 1 %; saturates at 133 ms.
 */
static inline u16 bolt_rq_pack(u32 delay_ns, u32 hops)
{
	u32 m = delay_ns / BOLT_RQ_DELAY_NS, e = 0;

	while (m >> e > 255)
		e++;
	if (e > 15) {
		e = 15;
		m = 255U << 15;
	}
	return (hops < 15 ? hops : 15) << 12 | e << 8 | m >> e;
}

static inline u32 bolt_rq_delay_ns(u16 rq)
{
	return (u32)(rq & 0xff) * BOLT_RQ_DELAY_NS << (rq >> 8 & 0xf);
}

static inline u8 bolt_rq_hops(u16 rq)
{
	return rq >> 12;
}

/*
 * Routers passed: what is missing from the TTL that the sender must have started with, which
 * is one of the usual: 64, 128, 255.
 */
static inline u8 bolt_hops_of_ttl(u8 ttl)
{
	return (ttl <= 64 ? 64 : ttl <= 128 ? 128 : 255) - ttl;
}

#endif /* _BOLT_OPTION_H */
