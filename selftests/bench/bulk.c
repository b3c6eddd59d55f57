// SPDX-License-Identifier: GPL-2.0
/*
 * One TCP transfer between two namespaces of a guest, and what it cost both of them together.
 *
 *	bolt_bulk sink PORT CC			discard what comes, to the end; prints "listening"
 *	bolt_bulk idle ADDR PORT CC		connect, print "connected", send nothing
 *	bolt_bulk send ADDR PORT CC BYTES	in writes of 1 MB
 *
 * The sender prints what it counted from the first tenth on: SEGMENTS ACKS NANOSECONDS, the last
 * without those in which the CPU had nothing to do (/proc/timer_list); on a CPU whose nanoseconds
 * are instructions, those.  The sink copies nothing out of the kernel, and runs whenever it is
 * woken: else what both have used of the CPU decides how many packets it finds then.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char buf[1 << 20];

/* Nanoseconds in which the CPU was busy */
static uint64_t busy_ns(void)
{
	FILE *f = fopen("/proc/timer_list", "r");
	unsigned long long idle = 0, v;
	struct timespec t;
	char line[256];

	if (!f)
		err(1, "/proc/timer_list");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %llu", &v) == 1)
			idle += v;
	fclose(f);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec - idle;
}

/* For count.c: it does nothing */
static void mark(void)
{
#ifdef __x86_64__
	asm volatile("xchg %%rbx, %%rbx" ::: "memory");
#endif
}

static struct tcp_info info(int fd)
{
	struct tcp_info i = { 0 };
	socklen_t len = sizeof(i);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len))
		err(1, "TCP_INFO");
	return i;
}

static void use(int fd, const char *cc)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		err(1, "%s", cc);
}

static void sink(const char *port, const char *cc)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	const struct sched_param fifo = { .sched_priority = 1 };
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0), fd;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	use(s, cc);
	if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof(a)) || listen(s, 1))
		err(1, "listen");
	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		err(1, "SCHED_FIFO");
	puts("listening");
	fflush(stdout);
	fd = accept(s, NULL, NULL);
	if (fd < 0)
		err(1, "accept");
	while (recv(fd, buf, 1 << 20, MSG_TRUNC) > 0)
		;
}

static void send_all(int fd, long bytes)
{
	while (bytes > 0) {
		ssize_t n = send(fd, buf, sizeof(buf), 0);

		if (n < 0)
			err(1, "send");
		bytes -= n;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct tcp_info before, after;
	uint64_t begin;
	long bytes;
	int fd;

	if (argc == 4 && !strcmp(argv[1], "sink")) {
		sink(argv[2], argv[3]);
		return 0;
	}
	if (!(argc == 6 && !strcmp(argv[1], "send")) && !(argc == 5 && !strcmp(argv[1], "idle")))
		errx(1, "sink PORT CC, idle ADDR PORT CC, or send ADDR PORT CC BYTES");
	a.sin_port = htons(atoi(argv[3]));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	use(fd, argv[4]);
	if (inet_pton(AF_INET, argv[2], &a.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&a, sizeof(a)))
		err(1, "connect to %s", argv[2]);
	if (argc == 5) {
		puts("connected");
		fflush(stdout);
		pause();
	}

	bytes = atol(argv[5]);
	send_all(fd, bytes / 10);
	before = info(fd);
	mark();
	begin = busy_ns();
	send_all(fd, bytes - bytes / 10);
	/* its end comes when all of ours is acknowledged */
	shutdown(fd, SHUT_WR);
	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
	begin = busy_ns() - begin;
	mark();
	after = info(fd);
	printf("%u %u %llu\n", after.tcpi_data_segs_out - before.tcpi_data_segs_out,
	       after.tcpi_segs_in - before.tcpi_segs_in, (unsigned long long)begin);
	return 0;
}
