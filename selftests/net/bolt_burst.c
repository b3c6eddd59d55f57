// SPDX-License-Identifier: GPL-2.0
/*
 * UDP datagrams into a tree of qdiscs: one class each, whole or as super-packets.
 *
 * usage: bolt_burst DESTINATION [NAME=VALUE]...
 *
 *	n=1		times to send
 *	len=1000	bytes of payload each time
 *	gso=0		not 0: bytes of payload of each segment (UDP_SEGMENT)
 *	prio=0		SO_PRIORITY, hex: MMMMmmmm takes class MMMM:mmmm of qdisc MMMM:
 *	dport=9		destination port, each time @flows others in turn
 *	flows=1
 *	tos=0		IP_TOS
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SOL_UDP
#define SOL_UDP		17
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif

static unsigned int number(char **argv, const char *name, unsigned int otherwise, int base)
{
	size_t len = strlen(name);

	for (; *argv; argv++)
		if (!strncmp(*argv, name, len) && (*argv)[len] == '=')
			return strtoul(*argv + len + 1, NULL, base);
	return otherwise;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	unsigned int i, n, len, gso, prio, dport, flows, tos;
	int fd, sndbuf = 64 << 20;
	static char buf[65536];

	if (argc < 2 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: bolt_burst DESTINATION [NAME=VALUE]...\n");
		return 1;
	}
	argv += 2;
	n = number(argv, "n", 1, 0);
	len = number(argv, "len", 1000, 0);
	gso = number(argv, "gso", 0, 0);
	prio = number(argv, "prio", 0, 16);
	dport = number(argv, "dport", 9, 0);
	flows = number(argv, "flows", 1, 0);
	tos = number(argv, "tos", 0, 0);
	if (len > sizeof(buf) || !flows) {
		fprintf(stderr, "bolt_burst: len or flows out of range\n");
		return 1;
	}

	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf)) ||
	    setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &prio, sizeof(prio)) ||
	    setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) ||
	    (gso && setsockopt(fd, SOL_UDP, UDP_SEGMENT, &gso, sizeof(gso)))) {
		fprintf(stderr, "bolt_burst: %s\n", strerror(errno));
		return 1;
	}
	for (i = 0; i < n; i++) {
		to.sin_port = htons(dport + i % flows);
		/* what a qdisc drops at once may show as ENOBUFS */
		if (sendto(fd, buf, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0 &&
		    errno != ENOBUFS) {
			fprintf(stderr, "bolt_burst: packet %u: %s\n", i, strerror(errno));
			return 1;
		}
	}
	return 0;
}
