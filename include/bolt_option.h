/* SPDX-License-Identifier: GPL-2.0 */
/* Find, read and write the Bolt TCP option.  Pure. */
#ifndef _BOLT_OPTION_H
#define _BOLT_OPTION_H

#include <linux/string.h>

#include <uapi/linux/bolt.h>

/* TCP option kinds needed to walk and repack the option space (RFC 9293, 7323, 2018) */
#define BOLT_TCPOPT_EOL		0
#define BOLT_TCPOPT_NOP		1
#define BOLT_TCPOPT_SACK	5
#define BOLT_TCPOPT_TS_ALIGNED	0x0101080aU	/* RFC 7323, appendix A: NOP, NOP, timestamps */
#define BOLT_TCPOPT_MD5		19	/* RFC 2385 */
#define BOLT_TCPOPT_AO		29	/* RFC 5925 */
#define BOLT_TCPOPT_MPTCP	30	/* RFC 8684 */
#define BOLT_TCPOPT_ACCECN0	172	/* RFC 9768 */
#define BOLT_TCPOPT_ACCECN1	174
#define BOLT_TCPOPT_SPACE	40	/* bytes of options a TCP header can hold */

/* The first four bytes of the full form */
#define BOLT_TCPOPT_HEAD	((u32)BOLT_TCPOPT_KIND << 24 | BOLT_TCPOPT_LEN << 16 | \
				 BOLT_TCPOPT_EXID)

/* The option's fields in host byte order */
struct bolt_opt {
	u8	flags;		/* BOLT_F_* */
	u8	inc_count;	/* data packets that arrived with INC still set, modulo 256 */
	u16	rq_delay;	/* pure ACK: see bolt_rq_pack(); data, FIN: bolt_level() */
	u32	t_data_tx;	/* ns, 0: none */
};

enum bolt_opt_form {
	BOLT_OPT_NONE,		/* not there */
	BOLT_OPT_SYN,		/* the short form of a SYN */
	BOLT_OPT_FULL,
	BOLT_OPT_BAD,		/* our ExID with an undefined length, or truncated */
};

/* Are there twelve bytes of timestamps at @p, as the stack writes them? */
static inline bool bolt_opt_at_ts(const void *p)
{
	return get_unaligned_be32(p) == BOLT_TCPOPT_TS_ALIGNED;
}

static inline bool bolt_opt_at_full(const void *p)
{
	return get_unaligned_be32(p) == BOLT_TCPOPT_HEAD;
}

/*
 * Step through a TCP option block of @len bytes, 0..40: *@off is where to look, then where an
 * option starts.  Returns the option's length, 0 behind the last one, or -1 at a malformed one.
 * That ends the walk, as in tcp_parse_options(), because nothing behind it can be trusted.
 */
static inline int bolt_opt_next(const u8 *opts, unsigned int len, unsigned int *off)
{
	unsigned int i = *off;

	while (i < len && opts[i] == BOLT_TCPOPT_NOP)
		i++;
	*off = i;
	if (i >= len || opts[i] == BOLT_TCPOPT_EOL)
		return 0;
	if (len - i < 2 || opts[i + 1] < 2 || opts[i + 1] > len - i)
		return -1;
	return opts[i + 1];
}

/* Find the first option of @kind.  Returns its length and sets *@off, or returns 0. */
static inline unsigned int bolt_opt_seek(const u8 *opts, unsigned int len, u8 kind,
					 unsigned int *off)
{
	int size;

	for (*off = 0; (size = bolt_opt_next(opts, len, off)) > 0; *off += size)
		if (opts[*off] == kind)
			return size;
	return 0;
}

/* Find the option.  Sets *@off if the result is BOLT_OPT_SYN or BOLT_OPT_FULL. */
static inline enum bolt_opt_form bolt_opt_find(const u8 *opts, unsigned int len,
					       unsigned int *off)
{
	unsigned int i;
	int size;

	for (i = 0; (size = bolt_opt_next(opts, len, &i)); i += size) {
		/* our ExID, even if the option is truncated */
		if (len - i >= BOLT_TCPOPT_LEN_SYN && opts[i] == BOLT_TCPOPT_KIND &&
		    opts[i + 1] >= BOLT_TCPOPT_LEN_SYN &&
		    get_unaligned_be16(opts + i + 2) == BOLT_TCPOPT_EXID) {
			if (size != BOLT_TCPOPT_LEN && size != BOLT_TCPOPT_LEN_SYN)
				return BOLT_OPT_BAD;
			*off = i;
			return size == BOLT_TCPOPT_LEN ? BOLT_OPT_FULL : BOLT_OPT_SYN;
		}
		if (size < 0)
			break;
	}
	return BOLT_OPT_NONE;
}

static inline void bolt_opt_read(const u8 *p, struct bolt_opt *opt)
{
	opt->flags = p[BOLT_TCPOPT_OFF_FLAGS];
	opt->inc_count = p[BOLT_TCPOPT_OFF_INC];
	opt->t_data_tx = get_unaligned_be32(p + BOLT_TCPOPT_OFF_TX);
	opt->rq_delay = get_unaligned_be16(p + BOLT_TCPOPT_OFF_RQ);
}

static inline void bolt_opt_write_syn(u8 *p)
{
	p[0] = BOLT_TCPOPT_KIND;
	p[1] = BOLT_TCPOPT_LEN_SYN;
	put_unaligned_be16(BOLT_TCPOPT_EXID, p + 2);
}

static inline void bolt_opt_write(u8 *p, const struct bolt_opt *opt)
{
	put_unaligned_be32(BOLT_TCPOPT_HEAD, p);
	p[BOLT_TCPOPT_OFF_FLAGS] = opt->flags;
	p[BOLT_TCPOPT_OFF_INC] = opt->inc_count;
	put_unaligned_be32(opt->t_data_tx, p + BOLT_TCPOPT_OFF_TX);
	put_unaligned_be16(opt->rq_delay, p + BOLT_TCPOPT_OFF_RQ);
}

static inline bool bolt_opt_is_accecn(u8 kind)
{
	return kind == BOLT_TCPOPT_ACCECN0 || kind == BOLT_TCPOPT_ACCECN1;
}

/*
 * Repack the stack's options, of which @len bytes of BOLT_TCPOPT_SPACE are in use, so that @need
 * bytes fit behind them (both multiples of 4).
 *
 * Remove padding, the AccECN option (RFC 9768), whose counters the next packet with room repeats,
 * and as many trailing SACK blocks as necessary, which earlier ACKs have reported (RFC 2018,
 * section 4).  One block stays; with @dsack two, since the first is a D-SACK (RFC 2883), which does
 * not report a hole.  Returns the new length, a multiple of 4, or -1 if there is no room, with
 * @opts unchanged.  Sets *@lost if more than padding was removed.
 */
static inline int bolt_opt_make_room(u8 *opts, unsigned int len, bool dsack,
				     unsigned int need, bool *lost)
{
	unsigned int i, n = 0, sack = 0, sack_len = 0, least = 2 + 8 * (dsack ? 2 : 1), take, cut;
	u8 out[BOLT_TCPOPT_SPACE];
	int size;

	*lost = false;
	if (len > BOLT_TCPOPT_SPACE || need > BOLT_TCPOPT_SPACE)
		return -1;
	if (len + need <= BOLT_TCPOPT_SPACE)
		return len;

	for (i = 0; (size = bolt_opt_next(opts, len, &i)) > 0; i += size) {
		if (opts[i] == BOLT_TCPOPT_SACK) {
			sack = i;
			sack_len = size;
		}
		n += bolt_opt_is_accecn(opts[i]) ? 0 : size;
	}
	cut = n + need <= BOLT_TCPOPT_SPACE ? 0 : (n + need - BOLT_TCPOPT_SPACE + 7) & ~7;
	if (size < 0 || (cut && sack_len < least + cut))
		return -1;

	for (i = 0, n = 0; (size = bolt_opt_next(opts, len, &i)) > 0; i += size) {
		take = bolt_opt_is_accecn(opts[i]) ? 0 : i == sack ? size - cut : size;
		*lost |= take < size;
		if (!take)
			continue;
		memcpy(out + n, opts + i, take);
		out[n + 1] = take;
		n += take;
	}
	while (n & 3 && n < BOLT_TCPOPT_SPACE)
		out[n++] = BOLT_TCPOPT_NOP;
	memcpy(opts, out, n);
	return n;
}

/*
 * INC to grant by an ACK's inc_count, up to @last of which INC was granted: 0..127.  Counts are
 * modulo 256: a step of more means that the ACK is older, and its count must not become @last.
 */
static inline unsigned int bolt_inc_delta(u8 now, u8 last)
{
	u8 d = now - last;

	return d < 128 ? d : 0;
}

/*
 * rq_delay of a pure ACK, for Swift (its sections 3.1 and 3.5): remote queuing, from the arrival of
 * the data packet to this ACK, and the routers that the data packet has passed.
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

/* The level of data of whose message @sent bytes went before it */
static inline u8 bolt_level(u32 sent)
{
	u32 level = 1 + fls(sent);

	return level < BOLT_LEVEL_MAX ? level : BOLT_LEVEL_MAX;
}

/*
 * Routers passed: the difference to the initial TTL, which is taken to be the next larger one of
 * the usual values 64, 128 and 255.
 */
static inline u8 bolt_hops_of_ttl(u8 ttl)
{
	return (ttl <= 64 ? 64 : ttl <= 128 ? 128 : 255) - ttl;
}

#endif /* _BOLT_OPTION_H */
