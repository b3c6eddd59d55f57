/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Wire formats shared by tcp_bolt (hosts) and sch_sfc (switches).
 *
 * 1. The Bolt TCP option: the header of Listing 1 of "Bolt: Sub-RTT Congestion Control for
 *    Ultra-Low Latency" (NSDI '23), as a shared experimental TCP option (RFC 6994).  A SYN and the
 *    SYN-ACK that answers it carry the first four bytes only: the offer, and its acceptance.
 *
 * 2. The control message, one UDP datagram from a switch to a sender: SRC (Bolt), BTS (SFC) or CNM
 *    (SRCC), followed by the head of the packet that caused it, as ICMP does (RFC 792).
 *
 * All fields are in network byte order.  Documentation/wire-format.rst explains each field in
 * each kind of packet.
 */
#ifndef _UAPI_LINUX_BOLT_H
#define _UAPI_LINUX_BOLT_H

#include <linux/types.h>

/* --- the TCP option --- */

#define BOLT_TCPOPT_KIND	254	/* RFC 6994, experiment 2 */
#define BOLT_TCPOPT_EXID	0xB017
#define BOLT_TCPOPT_LEN_SYN	4
#define BOLT_TCPOPT_LEN		12

/* Offsets within the option */
#define BOLT_TCPOPT_OFF_FLAGS	4
#define BOLT_TCPOPT_OFF_INC	5
#define BOLT_TCPOPT_OFF_TX	6
#define BOLT_TCPOPT_OFF_RQ	10

/* flags, in the order of Listing 1; the last bit is reserved: sent as 0, ignored */
#define BOLT_F_DATA	0x80	/* the segment has payload */
#define BOLT_F_ACK	0x40	/* inc_count is meaningful */
#define BOLT_F_SRC	0x20	/* switch feedback; never set in the option */
#define BOLT_F_LAST	0x10	/* last window of the flow (section 3.2) */
#define BOLT_F_FIRST	0x08	/* first window of the flow (section 3.2) */
#define BOLT_F_INC	0x04	/* data: may cwnd grow by one packet? */
#define BOLT_F_DEC	0x02	/* data: SRC was sent, or swift wants none; pure ACK, FIN: echo */

/*
 * t_data_tx: data: departure time at the sender in ns, modulo 2^32, of a clock
 * with a random offset for each connection, never 0.  Pure ACK: echo of the
 * newest data packet's t_data_tx, 0 if there is none.  FIN without data: 0.
 * rq_delay: pure ACK: for the newest data packet, the routers it has passed (4 bits)
 * and the time it waited at the receiver before it was acknowledged (4 bits of exponent,
 * 8 of mantissa, in units of BOLT_RQ_DELAY_NS), both saturating.
 * level: data and FIN, in place of rq_delay: how much of its message was sent before it, in the
 * low byte.
 * 1: nothing; 1 + N: at least 2^(N-1) bytes and less than 2^N; 0: not said.  The high byte is 0.
 */
#define BOLT_RQ_DELAY_NS	16
#define BOLT_LEVEL_MAX		32	/* of 1 GiB and more */

/* --- the control message --- */

#define BOLT_CTL_PORT		12311	/* default; below the ephemeral ports */
#define BOLT_CTL_VERSION	2

enum bolt_ctl_type {
	BOLT_CTL_SRC = 1,	/* Bolt, Algorithm 1 lines 6-9 */
	BOLT_CTL_BTS = 2,	/* SFC: pause the quoted flow */
	BOLT_CTL_CNM = 3,	/* SRCC: send at target_rate */
};

/* flags of a control message */
#define BOLT_CTL_F_CACHEABLE	0x01	/* has the part for switches, which may cache it */
#define BOLT_CTL_F_FROM_CACHE	0x02	/* BTS: from a switch's cache, or its estimate */
#define BOLT_CTL_F_TAGGED	0x04	/* ends with a tag */
#define BOLT_CTL_F_GRANTED	0x08	/* SRC: the quoted packet was forwarded with INC */
#define BOLT_CTL_F_ALL		0x0f	/* anything else is refused */

/*
 * struct bolt_ctl - head of a control message
 * @version:	BOLT_CTL_VERSION
 * @type:	enum bolt_ctl_type
 * @flags:	BOLT_CTL_F_*
 * @dscp:	DSCP of the quoted packet, 0..63
 * @t_data_tx:	echo of the option's t_data_tx, or for TCP without the option of TSval (RFC 7323); 0
 *	if the packet has neither
 * @queue_bytes: queue occupancy at the switch, bytes
 * @link_rate:	rate of the congested link, kbit/s, not 0
 * @switch_id:	number of the switch port, a hash of its address unless the operator gave one: hosts
 *		keep one CNM for each, and take a second BTS or CNM about a packet with the same
 *		for a replay
 *
 * It is followed by
 *	a number (be32): BTS: length of the pause, ns; CNM: rate to send at, kbit/s, not 0; SRC:
 *		no number
 *	the quote: the packet that caused the message, from its IP header through the first
 *		eight bytes of its TCP (or UDP) header; with a segment routing header (RFC 8754) its
 *		flow goes to the last segment
 *	with BOLT_CTL_F_CACHEABLE the part for switches: time of sending, ns (be64), number of
 *		the clock (be32), and SipHash-2-4 of everything before it with the key of the
 *		switches (be64)
 *	with BOLT_CTL_F_TAGGED the tag: SipHash-2-4 of everything before it with the key that
 *		hosts also have (be64)
 * The length of the quote follows from the length of the UDP payload.
 */
struct bolt_ctl {
	__u8	version;
	__u8	type;
	__u8	flags;
	__u8	dscp;
	__be32	t_data_tx;
	__be32	queue_bytes;
	__be32	link_rate;
	__be32	switch_id;
};

#define BOLT_CTL_L4_QUOTE	8	/* ports and sequence number */
#define BOLT_CTL_QUOTE_MIN	28	/* IPv4 without options, 8 of TCP */
#define BOLT_CTL_QUOTE_MAX	128	/* IPv6 with some extension headers */
#define BOLT_CTL_TAG_LEN	8
#define BOLT_CTL_CACHE_LEN	(8 + 4 + BOLT_CTL_TAG_LEN)
#define BOLT_CTL_LEN_MAX	\
	(20 + 4 + BOLT_CTL_QUOTE_MAX + BOLT_CTL_CACHE_LEN + BOLT_CTL_TAG_LEN)

#endif /* _UAPI_LINUX_BOLT_H */
