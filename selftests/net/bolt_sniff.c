// SPDX-License-Identifier: GPL-2.0
/*
 * Print each TCP and control packet that passes a device, one line of NAME=VALUE each.
 *
 * usage: bolt_sniff DEVICE|any [plain]
 *
 * Prints "ready" first; ends on SIGTERM, after what has been captured is printed.
 * plain: only what does not depend on chance or time, for comparisons: sequence numbers
 * count from the handshake, options are a list of kinds and lengths.
 *
 * The option is taken apart by code of its own, not by the headers under test.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/types.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

static bool plain;
static volatile sig_atomic_t ending;

/* --- one direction of a connection, for numbers that count from its beginning --- */

struct half {
	uint8_t addr[16];
	unsigned int port;
	uint32_t isn;
};

static struct half halves[64];
static unsigned int n_halves;

static struct half *half_of(const uint8_t *addr, unsigned int alen, unsigned int port)
{
	unsigned int i;

	for (i = 0; i < n_halves; i++)
		if (halves[i].port == port && !memcmp(halves[i].addr, addr, alen))
			return &halves[i];
	if (n_halves == sizeof(halves) / sizeof(halves[0]))
		n_halves = 0;
	memset(&halves[n_halves], 0, sizeof(halves[0]));
	memcpy(halves[n_halves].addr, addr, alen);
	halves[n_halves].port = port;
	return &halves[n_halves++];
}

static void print_options(const uint8_t *p, unsigned int len)
{
	unsigned int i = 0;

	printf(" opts=");
	while (i < len && p[i]) {
		if (p[i] == 1) {
			printf("n,");
			i++;
			continue;
		}
		if (i + 1 >= len || p[i + 1] < 2)
			break;
		printf("%u/%u,", p[i], p[i + 1]);
		i += p[i + 1];
	}
}

/* As RFC 6994 says, written down here a second time on purpose */
static void print_bolt(const uint8_t *p, unsigned int len)
{
	static const char names[] = "DASLFIC";
	unsigned int i, j, bit;

	for (i = 0; i < len && p[i]; i += p[i] == 1 ? 1 : p[i + 1]) {
		if (p[i] == 1)
			continue;
		if (i + 1 >= len || p[i + 1] < 2 || i + p[i + 1] > len)
			break;
		if (p[i] != 254 || p[i + 1] < 4 || p[i + 2] != 0xb0 || p[i + 3] != 0x17)
			continue;
		if (p[i + 1] == 4) {
			printf(" bolt=syn");
			return;
		}
		if (p[i + 1] != 12) {
			printf(" bolt=bad");
			return;
		}
		printf(" bolt=full bflags=");
		for (bit = 0; bit < 8; bit++)
			if (p[i + 4] & 0x80 >> bit)
				putchar(names[bit]);
		if (!p[i + 4])
			putchar('-');
		printf(" inc=%u tx=%u rq=%u raw=", p[i + 5], be32(p + i + 6), be16(p + i + 10));
		for (j = 0; j < 12; j++)
			printf("%02x", p[i + j]);
		return;
	}
	printf(" bolt=none");
}

static void print_tcp(const uint8_t *l3, unsigned int family, const uint8_t *th,
		      unsigned int len, unsigned int iplen, bool outgoing)
{
	const uint8_t *saddr = family == 4 ? l3 + 12 : l3 + 8;
	const uint8_t *daddr = family == 4 ? l3 + 16 : l3 + 24;
	unsigned int alen = family == 4 ? 4 : 16, doff, i;
	char s[INET6_ADDRSTRLEN], d[INET6_ADDRSTRLEN];
	struct half *from, *to;
	static const char names[] = "FSRPAUEC";

	if (len < 20)
		return;
	doff = (th[12] >> 4) * 4;
	if (doff < 20 || doff > len)
		return;
	inet_ntop(family == 4 ? AF_INET : AF_INET6, saddr, s, sizeof(s));
	inet_ntop(family == 4 ? AF_INET : AF_INET6, daddr, d, sizeof(d));
	printf("%s tcp src=%s dst=%s sport=%u dport=%u flags=", outgoing ? "out" : "in", s, d,
	       plain && be16(th) > 30000 ? 0 : be16(th),
	       plain && be16(th + 2) > 30000 ? 0 : be16(th + 2));
	for (i = 0; i < 8; i++)
		if (th[13] & 1 << i)
			putchar(names[i]);
	/* AE of RFC 9768, which was NS */
	if (th[12] & 1)
		putchar('N');
	if (plain) {
		from = half_of(saddr, alen, be16(th));
		to = half_of(daddr, alen, be16(th + 2));
		if (th[13] & 2)
			from->isn = be32(th + 4);
		printf(" seq=%u ack=%u", be32(th + 4) - from->isn,
		       th[13] & 16 ? be32(th + 8) - to->isn : 0);
	} else {
		printf(" seq=%u ack=%u win=%u", be32(th + 4), be32(th + 8), be16(th + 14));
	}
	printf(" iplen=%u hdr=%u len=%u tos=%u", iplen, doff, len - doff,
	       family == 4 ? l3[1] : (l3[0] & 15) << 4 | l3[1] >> 4);
	print_options(th + 20, doff - 20);
	print_bolt(th + 20, doff - 20);
}

/* The checksum of a whole segment; "partial" where a device is still to fill it in */
static void print_csum(const uint8_t *l3, unsigned int family, const uint8_t *l4,
		       unsigned int len, unsigned int proto, bool partial)
{
	unsigned int alen = family == 4 ? 4 : 16;
	const uint8_t *saddr = family == 4 ? l3 + 12 : l3 + 8;
	uint32_t s;

	if (partial) {
		printf(" csum=partial");
		return;
	}
	s = sum(saddr, 2 * alen, proto + len);
	s = sum(l4, len, s);
	printf(" csum=%s", s == 0xffff ? "ok" : "bad");
}

static void print_udp(const uint8_t *l3, unsigned int family, const uint8_t *uh,
		      unsigned int len, bool outgoing)
{
	const uint8_t *p = uh + 8, *end = uh + len;
	char s[INET6_ADDRSTRLEN], d[INET6_ADDRSTRLEN];
	unsigned int number, tag, switches;

	if (len < 8 + 48)
		return;
	number = p[1] == 1 ? 0 : 4;
	switches = p[2] & 1 ? 20 : 0;
	tag = p[2] & 4 ? 8 : 0;
	inet_ntop(family == 4 ? AF_INET : AF_INET6, family == 4 ? l3 + 12 : l3 + 8, s, sizeof(s));
	inet_ntop(family == 4 ? AF_INET : AF_INET6, family == 4 ? l3 + 16 : l3 + 24, d, sizeof(d));
	printf("%s udp src=%s dst=%s sport=%u dport=%u ttl=%u tos=%u len=%u",
	       outgoing ? "out" : "in", s, d, be16(uh), be16(uh + 2), family == 4 ? l3[8] : l3[7],
	       family == 4 ? l3[1] : (l3[0] & 15) << 4 | l3[1] >> 4, len - 8);
	printf(" version=%u type=%u cflags=%u dscp=%u tx=%u queue=%u rate=%u pause=%u switch=%u",
	       p[0], p[1], p[2], p[3], be32(p + 4), be32(p + 8), be32(p + 12),
	       number ? be32(p + 20) : 0, be32(p + 16));
	if (switches)
		printf(" sent=0x%08x%08x", be32(end - tag - 20), be32(end - tag - 16));
	printf(" quote=%u", len - 8 - 20 - number - switches - tag);
	if (tag)
		printf(" tag=%08x%08x", be32(end - 8), be32(end - 4));
}

static void packet(const uint8_t *p, unsigned int len, bool outgoing, bool partial)
{
	const uint8_t *l3 = p + 14, *l4;
	unsigned int proto, iplen, l4len, etype, vlan = 0;

	if (len < 14 + 20)
		return;
	etype = be16(p + 12);
	if (etype == ETH_P_8021Q && len > 18 + 20) {
		vlan = be16(p + 14) & 0xfff;
		etype = be16(p + 16);
		l3 += 4;
		len -= 4;
	}
	len -= 14;
	if (etype == ETH_P_IP) {
		if (len < 20 || (be16(l3 + 6) & 0x3fff))
			return;
		iplen = be16(l3 + 2);
		if (!iplen || iplen > len)
			iplen = len;
		proto = l3[9];
		l4 = l3 + (l3[0] & 15) * 4;
	} else if (etype == ETH_P_IPV6) {
		if (len < 40)
			return;
		iplen = 40 + be16(l3 + 4);
		if (iplen == 40 || iplen > len)
			iplen = len;
		proto = l3[6];
		l4 = l3 + 40;
		/* BIG TCP: a hop-by-hop header, for the length */
		if (!proto && len >= 48) {
			proto = l4[0];
			l4 += 8;
		}
	} else {
		return;
	}
	if (l4 > l3 + iplen)
		return;
	l4len = iplen - (l4 - l3);
	if (proto == IPPROTO_TCP)
		print_tcp(l3, etype == ETH_P_IP ? 4 : 6, l4, l4len, iplen, outgoing);
	else if (proto == IPPROTO_UDP)
		print_udp(l3, etype == ETH_P_IP ? 4 : 6, l4, l4len, outgoing);
	else
		return;
	if (!plain)
		print_csum(l3, etype == ETH_P_IP ? 4 : 6, l4, l4len, proto, partial);
	if (vlan)
		printf(" vlan=%u", vlan);
	putchar('\n');
}

static void end(int sig)
{
	(void)sig;
	ending = 1;
}

int main(int argc, char **argv)
{
	static uint8_t buf[256 * 1024];
	struct sockaddr_ll sll = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd, one = 1, size = 256 << 20;
	struct sigaction sa = { .sa_handler = end };

	if (argc < 2) {
		fprintf(stderr, "usage: bolt_sniff DEVICE|any [plain]\n");
		return 1;
	}
	plain = argc > 2 && !strcmp(argv[2], "plain");
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	sll.sll_ifindex = if_nametoindex(argv[1]);
	if (fd < 0 || (!sll.sll_ifindex && strcmp(argv[1], "any"))) {
		fprintf(stderr, "bolt_sniff: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one));
	if (bind(fd, (void *)&sll, sizeof(sll))) {
		fprintf(stderr, "bolt_sniff: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	printf("ready\n");
	fflush(stdout);

	for (;;) {
		char control[256];
		struct iovec iov = { buf, sizeof(buf) };
		struct sockaddr_ll from;
		struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from),
				      .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
				      .msg_controllen = sizeof(control) };
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		struct cmsghdr *c;
		bool partial = false;
		ssize_t len;

		if (poll(&pfd, 1, ending ? 0 : 10) <= 0) {
			if (ending)
				break;
			fflush(stdout);
			continue;
		}
		len = recvmsg(fd, &msg, MSG_DONTWAIT);
		if (len <= 0)
			continue;
		for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
			struct tpacket_auxdata aux;

			if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
				continue;
			memcpy(&aux, CMSG_DATA(c), sizeof(aux));
			partial = aux.tp_status & TP_STATUS_CSUMNOTREADY;
		}
		packet(buf, len, from.sll_pkttype == PACKET_OUTGOING, partial);
	}
	fflush(stdout);
	return ferror(stdout) != 0;
}
