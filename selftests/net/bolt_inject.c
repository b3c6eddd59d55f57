// SPDX-License-Identifier: GPL-2.0
/*
 * Send TCP segments that no stack would send just so, to see what a switch makes of them.
 *
 * usage: bolt_inject SOURCE DESTINATION [NAME=VALUE]...
 *
 *	n=1		packets
 *	len=1448	bytes of payload each
 *	bflags=84	flags of the Bolt option, hex; "none" for no option
 *	tx=1000		its t_data_tx, one more in each packet
 *	level=0		its level
 *	optlen=12	its length byte
 *	pad=0		NOPs in front of it: shifts it to any alignment
 *	tcp=10		TCP flags, hex
 *	seq=1		sequence number of the first
 *	sport=1000, dport=2000
 *	tos=0
 *	ipopts=0	bytes of NOPs behind the IPv4 header
 *	udp=0		1: UDP instead, len bytes
 *	bts=NS		a BTS that asks for so long a pause, about a UDP packet from DESTINATION
 *			to SOURCE; implies udp and the control ports
 *	cflags=1	its flags, hex; with 1 it has a part for switches:
 *	skey=HEX	... tagged under this key of 16 bytes, by default $SWITCHKEY of lib.sh
 *	clock=1		... and sent by this clock, which is CLOCK_MONOTONIC
 *	age=0		... so many ns ago
 *	dscp=0		of the packet it is about
 *	about=ADDRESS	where that packet went, if not to SOURCE
 *	from=ADDRESS	who sent it, if not DESTINATION
 *	vary=0		1: each from an address one higher, last 16 bits
 *	prio=0		SO_PRIORITY, of the first; the others have the next of @prios in turn
 *	prios=1
 *	gap=0		ns from one packet to the next
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "siphash.h"
#include "wire.h"

#ifndef IPV6_HDRINCL
#define IPV6_HDRINCL	36
#endif

#define BTS_HEAD	24	/* what is before the quote */
#define BTS_SWITCHES	20	/* what is behind it for switches */

static const char *value(char **argv, const char *name, const char *otherwise)
{
	size_t len = strlen(name);

	for (; *argv; argv++)
		if (!strncmp(*argv, name, len) && (*argv)[len] == '=')
			return *argv + len + 1;
	return otherwise;
}

static uint32_t number(char **argv, const char *name, const char *otherwise, int base)
{
	return strtoul(value(argv, name, otherwise), NULL, base);
}

/* Of the message that quotes a packet with so long an IP header */
static unsigned int bts_len(char **argv, unsigned int l3len)
{
	return BTS_HEAD + l3len + 8 + (number(argv, "cflags", "1", 16) & 1 ? BTS_SWITCHES : 0);
}

/* The part for switches behind @len bytes, all of which it covers */
static void put_switches(char **argv, uint8_t *p, unsigned int len)
{
	uint64_t sent = now_ns() - number(argv, "age", "0", 0), tag;

	put32(p + len, sent >> 32);
	put32(p + len + 4, sent);
	put32(p + len + 8, number(argv, "clock", "1", 0));
	tag = siphash24(value(argv, "skey", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"), p, len + 12);
	put32(p + len + 12, tag >> 32);
	put32(p + len + 16, tag);
}

/* The message; @l3 is its own IP header, filled in as to the addresses */
static void put_bts(char **argv, uint8_t *p, const uint8_t *l3, int six, uint32_t pause)
{
	const char *from = value(argv, "from", NULL), *about = value(argv, "about", NULL);
	int af = six ? AF_INET6 : AF_INET;
	unsigned int alen = six ? 16 : 4, off = six ? 8 : 12, l3len = six ? 40 : 20;
	uint8_t *q = p + BTS_HEAD;

	memset(p, 0, bts_len(argv, l3len));
	p[0] = 2;
	p[1] = 2;
	p[2] = number(argv, "cflags", "1", 16);
	p[3] = number(argv, "dscp", "0", 0);
	put32(p + 12, 1000000);
	put32(p + 20, pause);

	q[0] = six ? 0x60 : 0x45;
	q[six ? 6 : 9] = 17;
	memcpy(q + off, l3 + off + alen, alen);
	memcpy(q + off + alen, l3 + off, alen);
	if ((from && inet_pton(af, from, q + off) != 1) ||
	    (about && inet_pton(af, about, q + off + alen) != 1))
		fprintf(stderr, "bolt_inject: from or about no address\n");
	put16(q + l3len, 1000);
	put16(q + l3len + 2, 2000);
	if (p[2] & 1)
		put_switches(argv, p, BTS_HEAD + l3len + 8);
}

static void set_priority(int fd, int prio)
{
	if (setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &prio, sizeof(prio)))
		fprintf(stderr, "bolt_inject: SO_PRIORITY: %s\n", strerror(errno));
}

/* @i times @gap ns after @t */
static void wait_until(struct timespec t, uint64_t gap, unsigned int i)
{
	uint64_t ns = t.tv_nsec + gap * i;

	t.tv_sec += ns / 1000000000;
	t.tv_nsec = ns % 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
	static uint8_t pkt[65536];
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in to4 = { .sin_family = AF_INET };
	uint8_t src[16], dst[16], *l4, *opts;
	unsigned int i, n, len, pad, optspace, hlen, l3len, alen, l4len, udp, prio, prios, gap;
	unsigned int ipopts;
	uint32_t seq, tx, s, pause;
	const char *flags;
	struct timespec begin;
	int fd, six, one = 1;

	if (argc < 3) {
		fprintf(stderr, "usage: bolt_inject SOURCE DESTINATION [NAME=VALUE]...\n");
		return 1;
	}
	six = !!strchr(argv[1], ':');
	if (inet_pton(six ? AF_INET6 : AF_INET, argv[1], src) != 1 ||
	    inet_pton(six ? AF_INET6 : AF_INET, argv[2], dst) != 1) {
		fprintf(stderr, "bolt_inject: no addresses: %s %s\n", argv[1], argv[2]);
		return 1;
	}
	argv += 3;
	n = number(argv, "n", "1", 0);
	len = number(argv, "len", "1448", 0);
	flags = value(argv, "bflags", "84");
	tx = number(argv, "tx", "1000", 0);
	pad = number(argv, "pad", "0", 0);
	seq = number(argv, "seq", "1", 0);
	pause = number(argv, "bts", "0", 0);
	udp = number(argv, "udp", pause ? "1" : "0", 0);
	prio = number(argv, "prio", "0", 0);
	prios = number(argv, "prios", "1", 0);
	gap = number(argv, "gap", "0", 0);
	ipopts = number(argv, "ipopts", "0", 0);

	fd = socket(six ? AF_INET6 : AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (fd < 0 || (six && setsockopt(fd, IPPROTO_IPV6, IPV6_HDRINCL, &one, sizeof(one)))) {
		fprintf(stderr, "bolt_inject: %s\n", strerror(errno));
		return 1;
	}
	optspace = !strcmp(flags, "none") ? 0 : (pad + 12 + 3) / 4 * 4;
	hlen = udp ? 8 : 20 + optspace;
	l3len = six ? 40 : 20 + ipopts;
	alen = six ? 16 : 4;
	if (pause)
		len = bts_len(argv, l3len);
	l4len = hlen + len;
	if (l3len + l4len > sizeof(pkt) || optspace > 40 || ipopts > 40 || ipopts % 4) {
		fprintf(stderr, "bolt_inject: too long\n");
		return 1;
	}
	l4 = pkt + l3len;
	opts = l4 + 20;

	prctl(PR_SET_TIMERSLACK, 1);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < n; i++) {
		if (prio || prios > 1)
			set_priority(fd, prio + i % prios);
		if (gap)
			wait_until(begin, gap, i);
		memset(pkt, 0, l3len + hlen);
		if (six) {
			put32(pkt, 6U << 28 | number(argv, "tos", "0", 0) << 20);
			put16(pkt + 4, l4len);
			pkt[6] = udp ? 17 : 6;
			pkt[7] = 64;
			memcpy(pkt + 8, src, 16);
			memcpy(pkt + 24, dst, 16);
			memcpy(&to6.sin6_addr, dst, 16);
		} else {
			pkt[0] = 0x40 | l3len / 4;
			memset(pkt + 20, 1, ipopts);
			pkt[1] = number(argv, "tos", "0", 0);
			put16(pkt + 2, l3len + l4len);
			pkt[6] = 0x40;
			pkt[8] = 64;
			pkt[9] = udp ? 17 : 6;
			memcpy(pkt + 12, src, 4);
			memcpy(pkt + 16, dst, 4);
			memcpy(&to4.sin_addr, dst, 4);
		}
		put16(l4, number(argv, "sport", pause ? "12311" : "1000", 0));
		put16(l4 + 2, number(argv, "dport", pause ? "12311" : "2000", 0));
		if (udp) {
			put16(l4 + 4, l4len);
		} else {
			put32(l4 + 4, seq + i * len);
			put32(l4 + 8, 1);
			l4[12] = hlen / 4 << 4;
			l4[13] = number(argv, "tcp", "10", 16);
			put16(l4 + 14, 65535);
		}
		if (optspace && !udp) {
			memset(opts, 1, optspace);
			opts[pad] = 254;
			opts[pad + 1] = number(argv, "optlen", "12", 0);
			put16(opts + pad + 2, 0xb017);
			opts[pad + 4] = strtoul(flags, NULL, 16);
			opts[pad + 5] = i;
			put32(opts + pad + 6, tx ? tx + i : 0);
			put16(opts + pad + 10, number(argv, "level", "0", 0));
		}
		memset(l4 + hlen, 0x42, len);
		if (number(argv, "vary", "0", 0)) {
			uint8_t *last = pkt + (six ? 8 : 12) + alen - 2;

			put16(last, (last[0] << 8 | last[1]) + 1);
			memcpy(src, pkt + (six ? 8 : 12), alen);
		}
		if (pause)
			put_bts(argv, l4 + hlen, pkt, six, pause);
		s = sum(six ? pkt + 8 : pkt + 12, 2 * alen, (udp ? 17 : 6) + l4len);
		s = sum(l4, l4len, s);
		put16(l4 + (udp ? 6 : 16), ~s & 0xffff);
		if (sendto(fd, pkt, l3len + l4len, 0, six ? (void *)&to6 : (void *)&to4,
			   six ? sizeof(to6) : sizeof(to4)) < 0) {
			fprintf(stderr, "bolt_inject: packet %u: %s\n", i, strerror(errno));
			return 1;
		}
	}
	return 0;
}
