// SPDX-License-Identifier: GPL-2.0
/*
 * Many connections, and for a long time: the load of soak.sh.
 *
 * usage: bolt_soak serve ADDR PORT
 *		prints "listening", then sends back what each connection sends; never ends
 *	  bolt_soak connections ADDR PORT COUNT CC...
 *		COUNT connections, 64 at a time, which take the congestion controls in turn: each
 *		sends a message of 1 to 16384 bytes, reads it back and closes
 *	  bolt_soak idle ADDR PORT SOCKETS EVERY_S FOR_S CC...
 *		SOCKETS connections that stay open: each sends a message every EVERY_S seconds,
 *		for FOR_S seconds; prints "open" once all are there
 *
 * What comes back is compared with what was sent.  Prints "done connections=N messages=N bytes=N".
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS		64
#define MESSAGE_MAX	16384

static struct sockaddr_in addr = { .sin_family = AF_INET };
static unsigned long long messages, bytes;
static long connections;
static char **ccs;
static int cc_count;

__attribute__((noreturn, format(printf, 1, 2)))
static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

static long parse_count(const char *word)
{
	char *end;
	long n = strtol(word, &end, 10);

	if (*end || end == word || n <= 0)
		die("'%s' is not a whole number above 0", word);
	return n;
}

/* --- the server --- */

/* A peer that reads less than it sends is not expected: its message fits the buffers */
static void send_back(int fd)
{
	static char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n <= 0)
		close(fd);
	else if (send(fd, buf, n, MSG_NOSIGNAL) != n)
		die("send: %s", strerror(errno));
}

static void serve(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0), on = 1;
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener };

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (listener < 0 || bind(listener, (void *)&addr, sizeof(addr)) || listen(listener, 4096) ||
	    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &ev))
		die("listen: %s", strerror(errno));
	printf("listening\n");
	fflush(stdout);
	for (;;) {
		if (epoll_wait(poll, &ev, 1, -1) != 1)
			continue;
		if (ev.data.fd != listener) {
			send_back(ev.data.fd);
			continue;
		}
		ev.data.fd = accept(listener, NULL, NULL);
		if (ev.data.fd < 0)
			die("accept: %s", strerror(errno));
		ev.events = EPOLLIN;
		epoll_ctl(poll, EPOLL_CTL_ADD, ev.data.fd, &ev);
	}
}

/* --- clients --- */

static int open_connection(long n)
{
	const char *cc = ccs[n % cc_count];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die("socket of %s: %s", cc, strerror(errno));
	if (connect(fd, (void *)&addr, sizeof(addr)))
		die("connect %ld: %s", n, strerror(errno));
	return fd;
}

/* The message of number @n there and back */
static size_t exchange_message(int fd, long n)
{
	char out[MESSAGE_MAX], in[MESSAGE_MAX];
	size_t size = 1 + n * 2654435761UL % MESSAGE_MAX, got = 0;
	ssize_t part;

	memset(out, n * 31 + 7, size);
	if (send(fd, out, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("send: %s", strerror(errno));
	while (got < size) {
		part = read(fd, in + got, size - got);
		if (part <= 0)
			die("read: %s", part ? strerror(errno) : "closed");
		got += part;
	}
	if (memcmp(in, out, size))
		die("message %ld came back changed", n);
	return size;
}

static void *open_and_close(void *unused)
{
	static long next;
	long n;
	int fd;

	while ((n = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < connections) {
		fd = open_connection(n);
		__atomic_fetch_add(&bytes, exchange_message(fd, n), __ATOMIC_RELAXED);
		__atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED);
		close(fd);
	}
	return unused;
}

static void run_connections(void)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, open_and_close, NULL))
			die("thread: %s", strerror(errno));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void run_idle(long every_s, long for_s)
{
	long long step_ns = every_s * 1000000000LL / connections;
	long long left = for_s * 1000000000LL / step_ns;
	int *fds = calloc(connections, sizeof(*fds));
	struct timespec next;
	long n;

	if (!fds)
		die("no memory");
	for (n = 0; n < connections; n++)
		fds[n] = open_connection(n);
	printf("open\n");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (left--) {
		next.tv_nsec += step_ns % 1000000000;
		next.tv_sec += step_ns / 1000000000 + next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		bytes += exchange_message(fds[messages % connections], messages);
		messages++;
	}
}

int main(int argc, char **argv)
{
	struct rlimit files = { 1 << 20, 1 << 20 };
	int idle;

	if (argc < 4)
		die("usage: bolt_soak serve|connections|idle ADDR PORT ...");
	idle = !strcmp(argv[1], "idle");
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &files);
	if (inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
		die("'%s' is no IPv4 address", argv[2]);
	addr.sin_port = htons(parse_count(argv[3]));
	if (!strcmp(argv[1], "serve"))
		serve();
	cc_count = argc - (idle ? 7 : 5);
	if (cc_count < 1)
		die("no congestion control");
	ccs = argv + argc - cc_count;
	connections = parse_count(argv[4]);
	if (idle)
		run_idle(parse_count(argv[5]), parse_count(argv[6]));
	else
		run_connections();
	printf("done connections=%ld messages=%llu bytes=%llu\n", connections, messages, bytes);
	return 0;
}
