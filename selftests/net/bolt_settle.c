// SPDX-License-Identifier: GPL-2.0
/*
 * Wait until a network is quiet, so that a test can count each packet and counter from here on.
 *
 * usage: bolt_settle [-c ADDR]... NETNS...
 *
 * First each ADDR has to refuse a connection from the first namespace (a closed port answers, so
 * carrier, routes and neighbours are there), then no device of any of the namespaces, which
 * are files to setns(2) to, may send or receive anything for 50 ms.
 *
 * Exit status 1 and a line that says what was not reached within 20 s.
 * It is one program, since the shell would have to start a dozen for each attempt.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS	20000
#define QUIET_MS	50
#define CLOSED_PORT	9

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bolt_settle: %s: %s\n", what, why);
	exit(1);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path, strerror(errno));
	close(fd);
}

static bool refuses(const char *addr)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(CLOSED_PORT) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(CLOSED_PORT) };
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0, ret;

	if (inet_pton(AF_INET, addr, &a4.sin_addr) == 1) {
		p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		ret = connect(p.fd, (void *)&a4, sizeof(a4));
	} else if (inet_pton(AF_INET6, addr, &a6.sin6_addr) == 1) {
		p.fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
		ret = connect(p.fd, (void *)&a6, sizeof(a6));
	} else {
		die(addr, "not an address");
	}
	if (ret && errno != EINPROGRESS)
		err = errno;
	else if (poll(&p, 1, 1000) == 1)
		getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &err, &len);
	close(p.fd);
	return err == ECONNREFUSED;
}

/* What /proc/net/dev counts in all of them, as text */
static size_t traffic(char **netns, int n, char *buf, size_t size)
{
	size_t used = 0;
	ssize_t got;
	int i, fd;

	for (i = 0; i < n; i++) {
		enter(netns[i]);
		fd = open("/proc/thread-self/net/dev", O_RDONLY);
		if (fd < 0)
			die(netns[i], "cannot read its devices");
		while (used < size && (got = read(fd, buf + used, size - used)) > 0)
			used += got;
		if (used == size)
			die(netns[i], "too many devices");
		close(fd);
	}
	return used;
}

int main(int argc, char **argv)
{
	static char looks[2][64 * 1024];
	long until = now_ms() + PATIENCE_MS;
	size_t before, after;
	int c, look = 0;

	/* the namespaces come after the addresses: the first is needed before them */
	while ((c = getopt(argc, argv, "+c:")) != -1)
		if (c != 'c')
			return 1;
	if (optind == argc)
		die("usage", "bolt_settle [-c ADDR]... NETNS...");
	enter(argv[optind]);
	for (c = 1; c < optind; c += 2)
		while (!refuses(argv[c + 1])) {
			if (now_ms() > until)
				die(argv[c + 1], "does not answer");
			usleep(10000);
		}

	after = traffic(argv + optind, argc - optind, looks[look], sizeof(looks[0]));
	do {
		if (now_ms() > until)
			die("the devices", "never are quiet");
		before = after;
		look = !look;
		usleep(QUIET_MS * 1000);
		after = traffic(argv + optind, argc - optind, looks[look], sizeof(looks[0]));
	} while (before != after || memcmp(looks[0], looks[1], after));
	return 0;
}
