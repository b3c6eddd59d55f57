// SPDX-License-Identifier: GPL-2.0
/*
 * Pauses begin and end, one at a time, while the flows that they pause send: the load of
 * bolt_toggled.sh.
 *
 *	bolt_toggle serve ADDR PORT
 *		takes connections and what they bring; prints "listening"
 *	bolt_toggle ADDR PORT FROM CTLPORT by NETNS times N wait US CC...
 *		one connection from FROM to ADDR for each congestion control, in turn: a byte is
 *		sent, a BTS that comes from NETNS says that its flow is to pause, another byte is
 *		sent that has to wait; after US microseconds nobody remembers the pause.
 *		Prints "done bytes=N"
 *
 * Virtual time makes the waiting free.  Needs CAP_NET_ADMIN (TCP_REPAIR tells the sequence number)
 * and CAP_NET_RAW (a capture tells the timestamp, which a BTS echoes).
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define VERSION		2	/* of a control message */
#define BTS		2
#define PAUSE_NS	50000
#define FLOWS		8
#define SEND_QUEUE	2	/* of TCP_REPAIR_QUEUE */

struct flow {
	int fd;
	uint32_t seq;			/* of the next byte */
	uint8_t quote[28];		/* the head of its packets: IPv4, ports, sequence */
};

static int option(int fd, int name, int value)
{
	return setsockopt(fd, IPPROTO_TCP, name, &value, sizeof(value));
}

static void open_flow(struct flow *f, const struct sockaddr_in *to, const char *cc)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);

	f->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (f->fd < 0 || setsockopt(f->fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		err(1, "%s", cc);
	if (connect(f->fd, (void *)to, sizeof(*to)) || getsockname(f->fd, (void *)&from, &len))
		err(1, "connect");
	option(f->fd, TCP_NODELAY, 1);
	len = sizeof(f->seq);
	if (option(f->fd, TCP_REPAIR, 1) || option(f->fd, TCP_REPAIR_QUEUE, SEND_QUEUE) ||
	    getsockopt(f->fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &f->seq, &len) ||
	    option(f->fd, TCP_REPAIR, -1))
		err(1, "TCP_REPAIR");
	f->quote[0] = 0x45;
	put16(f->quote + 2, 60);
	f->quote[8] = 64;
	f->quote[9] = IPPROTO_TCP;
	memcpy(f->quote + 12, &from.sin_addr, 4);
	memcpy(f->quote + 16, &to->sin_addr, 4);
	memcpy(f->quote + 20, &from.sin_port, 2);
	memcpy(f->quote + 22, &to->sin_port, 2);
}

static void send_byte(struct flow *f)
{
	if (send(f->fd, "x", 1, MSG_NOSIGNAL) != 1)
		err(1, "send");
	f->seq++;
}

/* The TCP timestamp of the last byte, as it left */
static uint32_t sent_tsval(const struct flow *f, int tap)
{
	struct sockaddr_ll ll;
	socklen_t len = sizeof(ll);
	uint8_t p[64];

	for (;;) {
		ssize_t got = recvfrom(tap, p, sizeof(p), 0, (void *)&ll, &len);

		if (got < 0)
			err(1, "capture");
		/* a byte behind an IPv4 and a TCP header: NOP, NOP, timestamps */
		if (got == 53 && ll.sll_pkttype == PACKET_OUTGOING && p[0] == 0x45 &&
		    !memcmp(p + 20, f->quote + 20, 4) && be32(p + 24) == f->seq - 1)
			return be32(p + 44);
	}
}

/* A pause of the flow whose last byte is on its way */
static void send_bts(struct flow *f, int udp, int tap, const struct sockaddr_in *ctl)
{
	uint8_t msg[24 + sizeof(f->quote)] = { VERSION, BTS };

	put32(msg + 4, sent_tsval(f, tap));
	put32(msg + 8, 100000);		/* bytes queued, and the link's kbit/s: for people */
	put32(msg + 12, 1000000);
	put32(msg + 20, PAUSE_NS);
	put32(f->quote + 24, f->seq - 1);
	memcpy(msg + 24, f->quote, sizeof(f->quote));
	if (sendto(udp, msg, sizeof(msg), 0, (void *)ctl, sizeof(*ctl)) != sizeof(msg))
		err(1, "BTS");
}

/* A UDP socket of the namespace that "ip netns" calls so; switches send from the control port. */
static int open_udp(const char *netns, __be16 port)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = port };
	int here = open("/proc/self/ns/net", O_RDONLY), there, udp;
	char path[256];

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	there = open(path, O_RDONLY);
	if (here < 0 || there < 0 || setns(there, CLONE_NEWNET))
		err(1, "%s", netns);
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	if (udp < 0 || bind(udp, (void *)&from, sizeof(from)) || setns(here, CLONE_NEWNET))
		err(1, "socket of %s", netns);
	close(here);
	close(there);
	return udp;
}

static void serve(const char *addr, int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	int lfd = socket(AF_INET, SOCK_STREAM, 0), fd;
	uint8_t buf[4096];

	signal(SIGCHLD, SIG_IGN);
	inet_pton(AF_INET, addr, &at.sin_addr);
	if (lfd < 0 || bind(lfd, (void *)&at, sizeof(at)) || listen(lfd, FLOWS))
		err(1, "listen");
	printf("listening\n");
	fflush(stdout);
	for (;;) {
		fd = accept(lfd, NULL, NULL);
		if (fd >= 0 && !fork()) {
			while (recv(fd, buf, sizeof(buf), 0) > 0)
				;
			_exit(0);
		}
		close(fd);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET }, ctl = { .sin_family = AF_INET };
	int tap = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	int flows = argc - 11, udp, i;
	struct timespec wait = { 0 };
	struct flow f[FLOWS] = { 0 };
	unsigned long times;

	if (argc == 4 && !strcmp(argv[1], "serve"))
		serve(argv[2], atoi(argv[3]));
	if (flows < 1 || flows > FLOWS) {
		fprintf(stderr, "usage: bolt_toggle ADDR PORT FROM CTLPORT by NETNS times N wait US CC...\n");
		return 1;
	}
	inet_pton(AF_INET, argv[1], &to.sin_addr);
	to.sin_port = htons(atoi(argv[2]));
	inet_pton(AF_INET, argv[3], &ctl.sin_addr);
	ctl.sin_port = htons(atoi(argv[4]));
	udp = open_udp(argv[6], ctl.sin_port);
	times = strtoul(argv[8], NULL, 0);
	wait.tv_nsec = atol(argv[10]) * 1000;
	prctl(PR_SET_TIMERSLACK, 1);
	for (i = 0; i < flows; i++)
		open_flow(&f[i], &to, argv[11 + i]);
	for (unsigned long n = 0; n < times; n++) {
		i = n % flows;
		send_byte(&f[i]);
		send_bts(&f[i], udp, tap, &ctl);
		send_byte(&f[i]);
		nanosleep(&wait, NULL);
	}
	printf("done bytes=%lu\n", 2 * times);
	return 0;
}
