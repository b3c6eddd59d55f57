// SPDX-License-Identifier: GPL-2.0
/*
 * Many TCP connections at once, which threads disturb while data flows.
 *
 *	bolt_race serve ADDR PORT [cc NAME]
 *		takes connections until SIGTERM, verifies every byte, answers the end of
 *		each with how many there were; prints "listening", and at last what it saw
 *	bolt_race work ADDR PORT [cc NAME] [threads N] [bytes B] seconds S | until PATH [WHAT...]
 *		N threads, each one connection after the other, B bytes on each, for so
 *		long, or until a file is there; WHAT:
 *		switch	another thread changes the congestion control all the time
 *		hold	another thread keeps the socket's lock busy
 *		abort	most connections end early: close, RST, shutdown
 *		absent	a congestion control that is not there is no error; and every few
 *			connections all threads rest, so that its module can go
 *		wayless	a connection that finds no route is tried again
 *		early	the congestion control changes while the connection is being opened
 *		states	leaves behind, for each connection, one that never answers
 *
 *	bolt_race freeze ADDR PORT [cc NAME] [bytes B] until PATH
 *		prints "connected"; when PATH.go is there sends B bytes, then a page that is
 *		not there (userfaultfd): whoever sends it owns the socket; prints "frozen"; when
 *		PATH is there the page is as well; prints the window before and after
 *
 * The count that comes back is compared with what was sent: nothing is lost, doubled or changed.
 * Prints "done connections=N complete=N aborted=N absent=N bytes=N"; exit status 1 and a
 * line when anything was wrong.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define CHUNK	(128 * 1024)
#define EARLY_NS 1000		/* a step towards that moment */
#define SYN_SENT 2		/* of tcpi_state */
#define ROUND	32		/* connections of each thread between two looks at the time */
#define REST_US	300000		/* rmmod comes and goes in less */

static struct sockaddr_storage addr;
static socklen_t addr_len;
static const char *cc = "bolt", *until;
static int threads = 2, seconds = 5;
static uint64_t bytes = 1000000;
static bool do_switch, do_hold, do_abort, do_absent, do_states, do_wayless, do_early;
static atomic_ullong connections, complete, aborted, absent, total;
static uint64_t deadline_ns;

static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "bolt_race: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	_exit(1);
}

/* splitmix64 over every eighth position: a byte that no shift leaves in its place */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void pattern(uint8_t *buf, uint64_t pos, size_t len)
{
	for (size_t i = 0; i < len; i++, pos++)
		buf[i] = mix(pos >> 3) >> (8 * (pos & 7));
}

static int new_socket(void)
{
	int one = 1, fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd;
}

/* 0, or 1 when there is none of that name and that is allowed */
static int set_cc(int fd, const char *name)
{
	if (!setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)))
		return 0;
	if (errno == EBADF)
		return 1;	/* closed by the other thread, as is meant */
	/* gone, or just going */
	if ((errno != ENOENT && errno != EBUSY) || !do_absent)
		die("congestion control %s: %s", name, strerror(errno));
	absent++;
	return 1;
}

/* --- server --- */

static void *serve_one(void *arg)
{
	uint8_t *buf = malloc(CHUNK), *want = malloc(CHUNK);
	int fd = (long)arg;
	uint64_t pos = 0;
	ssize_t got;

	if (!buf || !want)
		die("no memory");
	while ((got = recv(fd, buf, CHUNK, 0)) > 0) {
		pattern(want, pos, got);
		if (memcmp(buf, want, got))
			die("data differs behind %llu", (unsigned long long)pos);
		pos += got;
	}
	if (got < 0 && errno != ECONNRESET && errno != ETIMEDOUT)
		die("recv: %s", strerror(errno));
	if (!got && send(fd, &pos, sizeof(pos), MSG_NOSIGNAL) == sizeof(pos))
		complete++;
	else
		aborted++;
	total += pos;
	close(fd);
	free(buf);
	free(want);
	return NULL;
}

static void report(int sig)
{
	(void)sig;
	printf("done connections=%llu complete=%llu aborted=%llu absent=%llu bytes=%llu\n",
	       connections, complete, aborted, absent, total);
	fflush(stdout);
	_exit(0);
}

static void serve(void)
{
	pthread_attr_t detached;
	int lfd = new_socket();
	pthread_t thread;
	long fd;

	set_cc(lfd, cc);
	if (bind(lfd, (void *)&addr, addr_len) || listen(lfd, 256))
		die("listen: %s", strerror(errno));
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	signal(SIGTERM, report);
	printf("listening\n");
	fflush(stdout);
	for (;;) {
		fd = accept(lfd, NULL, NULL);
		if (fd < 0)
			continue;
		connections++;
		if (pthread_create(&thread, &detached, serve_one, (void *)fd))
			die("thread: %s", strerror(errno));
	}
}

/* --- worker --- */

struct conn {
	int fd;
	atomic_bool stop;
	unsigned int seed;
};

static void *disturb(void *arg)
{
	static const char * const names[] = { "cubic", "bolt", "reno", "bolt" };
	struct conn *c = arg;
	struct tcp_info info;
	unsigned int i = 0;
	socklen_t len;

	while (!c->stop) {
		if (do_switch)
			set_cc(c->fd, names[i++ % 4]);
		if (do_hold) {
			int on = i++ & 1;

			len = sizeof(info);
			getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
			setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		}
		sched_yield();
	}
	return NULL;
}

/* Early ends, in turn; false when the connection is not to be told apart from a whole one */
static bool end_early(struct conn *c)
{
	struct linger at_once = { 1, 0 };

	switch (rand_r(&c->seed) % 4) {
	case 0:
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		break;
	case 1:
		shutdown(c->fd, SHUT_RDWR);
		break;
	case 2:
		break;		/* close() with data in the queue */
	default:
		return false;
	}
	return true;
}

/* A connection attempt that hangs, and is given up when the process ends or close() comes */
static int hang(void)
{
	struct sockaddr_storage nobody = addr;
	int fd = new_socket();

	set_cc(fd, cc);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	/* the same network, an address that nobody has */
	if (nobody.ss_family == AF_INET)
		((struct sockaddr_in *)&nobody)->sin_addr.s_addr ^= htonl(0x40);
	connect(fd, (void *)&nobody, addr_len);
	return fd;
}

/* The congestion control changes when the answer to the SYN comes, as near as can be guessed */
static void connect_early(struct conn *c)
{
	static int64_t delay_ns = 100 * EARLY_NS;
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	uint64_t then;

	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	if (connect(c->fd, (void *)&addr, addr_len) && errno != EINPROGRESS)
		die("connect: %s", strerror(errno));
	for (then = now_ns() + delay_ns; now_ns() < then;)
		;
	set_cc(c->fd, "cubic");
	getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	if (info.tcpi_state == SYN_SENT)
		delay_ns += EARLY_NS;
	else if (delay_ns)
		delay_ns -= EARLY_NS;
	fcntl(c->fd, F_SETFL, 0);
}

static void work_one(unsigned int seed, uint8_t *buf)
{
	struct conn c = { .seed = seed };
	bool disturbed = do_switch || do_hold, early = false;
	uint64_t pos = 0, stop_at = bytes, seen;
	pthread_t thread;
	int hung;
	ssize_t got;

	c.fd = new_socket();
	set_cc(c.fd, cc);
	if (do_early)
		connect_early(&c);
	if (connect(c.fd, (void *)&addr, addr_len) && !(do_early && errno == EISCONN)) {
		if (!do_wayless || (errno != ENETUNREACH && errno != EHOSTUNREACH))
			die("connect: %s", strerror(errno));
		close(c.fd);
		usleep(10000);
		return;
	}
	connections++;
	hung = do_states ? hang() : -1;
	if (do_abort)
		stop_at = rand_r(&c.seed) % bytes;
	if (disturbed && pthread_create(&thread, NULL, disturb, &c))
		die("thread: %s", strerror(errno));
	while (pos < stop_at) {
		size_t len = stop_at - pos < CHUNK ? stop_at - pos : CHUNK;

		pattern(buf, pos, len);
		got = send(c.fd, buf, len, MSG_NOSIGNAL);
		if (got < 0)
			die("send at %llu: %s", (unsigned long long)pos, strerror(errno));
		pos += got;
	}
	if (do_abort)
		early = end_early(&c);
	if (!early) {
		shutdown(c.fd, SHUT_WR);
		got = recv(c.fd, &seen, sizeof(seen), MSG_WAITALL);
		if (got != sizeof(seen))
			die("no answer to the end: %s", got < 0 ? strerror(errno) : "closed");
		if (seen != pos)
			die("sent %llu, arrived %llu", (unsigned long long)pos,
			    (unsigned long long)seen);
		complete++;
	} else {
		aborted++;
	}
	total += pos;
	/* half of the time the other thread still uses what is closed under it */
	c.stop = seed & 1;
	if (disturbed && c.stop)
		pthread_join(thread, NULL);
	close(c.fd);
	if (disturbed && !c.stop) {
		c.stop = true;
		pthread_join(thread, NULL);
	}
	if (hung >= 0)
		close(hung);
}

static bool enough(void)
{
	return until ? !access(until, F_OK) : now_ns() >= deadline_ns;
}

static pthread_barrier_t round;
static bool done;

static void *worker(void *arg)
{
	uint8_t *buf = malloc(CHUNK);
	unsigned int seed = (long)arg * 7919;

	if (!buf)
		die("no memory");
	do {
		for (int i = 0; i < ROUND; i++)
			work_one(seed++, buf);
		/* all of them have closed what they had */
		if (pthread_barrier_wait(&round) == PTHREAD_BARRIER_SERIAL_THREAD) {
			if (do_absent)
				usleep(REST_US);
			done = enough();
		}
		pthread_barrier_wait(&round);
	} while (!done);
	free(buf);
	return NULL;
}

static void work(void)
{
	pthread_t thread[64];

	deadline_ns = now_ns() + seconds * 1000000000ULL;
	pthread_barrier_init(&round, NULL, threads);
	for (long i = 0; i < threads; i++) {
		if (pthread_create(&thread[i], NULL, worker, (void *)(i + 1)))
			die("thread: %s", strerror(errno));
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	report(0);
}

/* --- freeze --- */

#define PAGE	4096

static unsigned int window(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		die("TCP_INFO: %s", strerror(errno));
	return info.tcpi_snd_cwnd;
}

struct frozen {
	int fd;
	void *page;
};

static void *send_page(void *arg)
{
	struct frozen *f = arg;

	if (send(f->fd, f->page, PAGE, MSG_NOSIGNAL) != PAGE)
		die("send: %s", strerror(errno));
	return NULL;
}

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

static void await(const char *path)
{
	while (access(path, F_OK))
		usleep(1000);
}

static void freeze(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_copy copy = { .len = PAGE };
	uint8_t *buf = malloc(bytes), *page;
	struct uffd_msg fault;
	unsigned int before;
	char go[4096];
	struct frozen f;
	pthread_t thread;
	uint64_t seen;
	int uffd, left;

	f.fd = new_socket();
	set_cc(f.fd, cc);
	if (connect(f.fd, (void *)&addr, addr_len))
		die("connect: %s", strerror(errno));
	f.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page = malloc(PAGE);
	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || f.page == MAP_FAILED || !buf || !page || ioctl(uffd, UFFDIO_API, &api))
		die("userfaultfd: %s", strerror(errno));
	reg.range.start = (uintptr_t)f.page;
	reg.range.len = PAGE;
	if (ioctl(uffd, UFFDIO_REGISTER, &reg))
		die("userfaultfd: %s", strerror(errno));

	say("connected");
	snprintf(go, sizeof(go), "%s.go", until);
	await(go);
	before = window(f.fd);
	pattern(buf, 0, bytes);
	if (send(f.fd, buf, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		die("send: %s", strerror(errno));
	if (pthread_create(&thread, NULL, send_page, &f))
		die("thread: %s", strerror(errno));
	if (read(uffd, &fault, sizeof(fault)) != sizeof(fault) ||
	    fault.event != UFFD_EVENT_PAGEFAULT)
		die("no page fault");
	say("frozen");
	await(until);
	pattern(page, bytes, PAGE);
	copy.dst = (uintptr_t)f.page;
	copy.src = (uintptr_t)page;
	if (ioctl(uffd, UFFDIO_COPY, &copy))
		die("UFFDIO_COPY: %s", strerror(errno));
	pthread_join(thread, NULL);
	do {
		usleep(1000);
		if (ioctl(f.fd, SIOCOUTQ, &left))
			die("SIOCOUTQ: %s", strerror(errno));
	} while (left);
	say("window before=%u after=%u", before, window(f.fd));
	shutdown(f.fd, SHUT_WR);
	if (recv(f.fd, &seen, sizeof(seen), MSG_WAITALL) != sizeof(seen) || seen != bytes + PAGE)
		die("not all arrived");
}

static void take_addr(const char *text, int port)
{
	struct sockaddr_in *a4 = (void *)&addr;
	struct sockaddr_in6 *a6 = (void *)&addr;

	if (inet_pton(AF_INET, text, &a4->sin_addr) == 1) {
		a4->sin_family = AF_INET;
		a4->sin_port = htons(port);
		addr_len = sizeof(*a4);
	} else if (inet_pton(AF_INET6, text, &a6->sin6_addr) == 1) {
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons(port);
		addr_len = sizeof(*a6);
	} else {
		die("no address: %s", text);
	}
}

int main(int argc, char **argv)
{
	if (argc < 4)
		die("what is to be done?");
	take_addr(argv[2], atoi(argv[3]));
	for (char **w = argv + 4; *w; w++) {
		if (!strcmp(*w, "cc") && w[1])
			cc = *++w;
		else if (!strcmp(*w, "threads") && w[1])
			threads = atoi(*++w);
		else if (!strcmp(*w, "seconds") && w[1])
			seconds = atoi(*++w);
		else if (!strcmp(*w, "until") && w[1])
			until = *++w;
		else if (!strcmp(*w, "bytes") && w[1])
			bytes = strtoull(*++w, NULL, 0);
		else if (!strcmp(*w, "switch"))
			do_switch = true;
		else if (!strcmp(*w, "hold"))
			do_hold = true;
		else if (!strcmp(*w, "abort"))
			do_abort = true;
		else if (!strcmp(*w, "absent"))
			do_absent = true;
		else if (!strcmp(*w, "wayless"))
			do_wayless = true;
		else if (!strcmp(*w, "early"))
			do_early = true;
		else if (!strcmp(*w, "states"))
			do_states = true;
		else
			die("what is %s?", *w);
	}
	if (threads < 1 || threads > 64)
		die("1 to 64 threads");
	if (!strcmp(argv[1], "serve"))
		serve();
	else if (!strcmp(argv[1], "work"))
		work();
	else if (!strcmp(argv[1], "freeze") && until)
		freeze();
	else
		die("serve, work, or freeze until");
	return 0;
}
