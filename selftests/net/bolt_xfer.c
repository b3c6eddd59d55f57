// SPDX-License-Identifier: GPL-2.0
/*
 * One TCP connection that does what its arguments say, word by word.
 *
 * Before the connection is there:
 *	cc NAME			congestion control
 *	md5 ADDR KEY		sign with TCP-MD5 (RFC 2385) towards ADDR
 *	bind ADDR		local address
 *	port N			local port
 *	tos N			IP_TOS or IPV6_TCLASS
 *	mptcp			Multipath TCP (RFC 8684)
 *	mark, wait, pause	as below
 * Then one of
 *	listen ADDR PORT	take one connection; prints "listening"
 *	connect ADDR PORT
 * After it:
 *	send BYTES		of a pattern that depends on the position
 *	recv BYTES		verified against that pattern
 *	recv-eof		to the end, verified; prints how many
 *	recv-reset		to a reset, verified; prints how many
 *	send-fail ERRNO		send until that error
 *	close			without waiting for anything
 *	ping N SIZE		N times: send SIZE, wait for SIZE back; prints ns
 *	echo			send back what comes, to the end
 *	shut			no more to send
 *	cc NAME			change congestion control
 *	info			print TCP_INFO and more as NAME=VALUE
 *	outq			wait until all is acknowledged
 *	mark PATH, wait PATH	create a file, wait for one
 *	pause MS
 * And the words of xfer_opt.c (before it or after), xfer_io.c and xfer_hand.c.
 *
 * Exit status 0 when all words were done, 1 and a line that says why not.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"
#include "xfer.h"

int fd = -1;
uint64_t sent, received;
uint8_t buf[CHUNK];

/* A byte that no shift, repetition or loss of the stream leaves in its place (splitmix64) */
static uint8_t pattern(uint64_t pos)
{
	uint64_t z = (pos >> 3) + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return z >> (8 * (pos & 7));
}

socklen_t to_sockaddr(struct sockaddr_storage *ss, const char *text, int port)
{
	struct sockaddr_in6 *a6 = (void *)ss;
	struct sockaddr_in *a4 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &a4->sin_addr) == 1) {
		a4->sin_family = AF_INET;
		a4->sin_port = htons(port);
		return sizeof(*a4);
	}
	if (inet_pton(AF_INET6, text, &a6->sin6_addr) != 1)
		errx(1, "no address: %s", text);
	a6->sin6_family = AF_INET6;
	a6->sin6_port = htons(port);
	return sizeof(*a6);
}

void fill(uint8_t *p, uint64_t pos, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = pattern(pos + i);
}

void do_send(uint64_t n, int flags)
{
	while (n) {
		size_t len = n < CHUNK ? n : CHUNK;
		ssize_t got;

		fill(buf, sent, len);
		got = send(fd, buf, len, MSG_NOSIGNAL | flags);
		if (got < 0)
			errx(1, "send at %llu: %s", (unsigned long long)sent, strerror(errno));
		sent += got;
		n -= got;
	}
}

void check(const uint8_t *data, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		if (data[i] != pattern(received + i))
			errx(1, "data differs at %llu", (unsigned long long)(received + i));
	received += n;
}

/* Returns false at the end of the stream. */
static int do_recv(uint64_t n)
{
	while (n) {
		ssize_t got = recv(fd, buf, n < CHUNK ? n : CHUNK, 0);

		if (got < 0)
			errx(1, "recv at %llu: %s", (unsigned long long)received, strerror(errno));
		if (!got)
			return 0;
		check(buf, got);
		n -= got;
	}
	return 1;
}

static void do_recv_reset(void)
{
	ssize_t got;

	while ((got = recv(fd, buf, CHUNK, 0)) > 0)
		check(buf, got);
	if (!got)
		errx(1, "the end at %llu, no reset", (unsigned long long)received);
	if (errno != ECONNRESET)
		errx(1, "recv at %llu: %s", (unsigned long long)received, strerror(errno));
	printf("reset after %llu\n", (unsigned long long)received);
}

static void do_send_fail(int want)
{
	ssize_t got;

	for (;;) {
		fill(buf, sent, CHUNK);
		got = send(fd, buf, CHUNK, MSG_NOSIGNAL);
		if (got < 0)
			break;
		sent += got;
	}
	if (errno != want)
		errx(1, "send: %s, not %s", strerror(errno), strerror(want));
}

static void do_echo(void)
{
	ssize_t got;

	while ((got = recv(fd, buf, CHUNK, 0)) > 0)
		if (send(fd, buf, got, MSG_NOSIGNAL) != got)
			errx(1, "echo: %s", strerror(errno));
	if (got < 0)
		errx(1, "echo: %s", strerror(errno));
}

static void do_ping(int n, uint64_t size)
{
	uint64_t start = now_ns(), worst = 0, before = start, now;
	int i;

	for (i = 0; i < n; i++) {
		do_send(size, 0);
		if (!do_recv(size))
			errx(1, "ping %d: connection closed", i);
		now = now_ns();
		if (now - before > worst)
			worst = now - before;
		before = now;
	}
	printf("ping n=%d mean_ns=%llu max_ns=%llu\n", n,
	       (unsigned long long)((now_ns() - start) / n), (unsigned long long)worst);
}

static void do_info(void)
{
	struct tcp_info ti = { 0 };
	socklen_t len = sizeof(ti);
	char cc[32] = "";
	int outq = 0;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len))
		errx(1, "TCP_INFO: %s", strerror(errno));
	len = sizeof(cc);
	getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &len);
	ioctl(fd, SIOCOUTQ, &outq);
	printf("info cc=%s cwnd=%u mss=%u unacked=%u retrans=%u lost=%u rtt_us=%u rto_us=%u outq=%d segs_out=%u data_segs_out=%u segs_in=%u data_segs_in=%u delivered=%u state=%u sacked=%u reord=%u delivered_ce=%u\n",
	       cc, ti.tcpi_snd_cwnd, ti.tcpi_snd_mss, ti.tcpi_unacked, ti.tcpi_total_retrans,
	       ti.tcpi_lost, ti.tcpi_rtt, ti.tcpi_rto, outq, ti.tcpi_segs_out,
	       ti.tcpi_data_segs_out, ti.tcpi_segs_in, ti.tcpi_data_segs_in, ti.tcpi_delivered,
	       ti.tcpi_state, ti.tcpi_sacked, ti.tcpi_reord_seen, ti.tcpi_delivered_ce);
	fflush(stdout);
}

static void set_cc(const char *name)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)))
		errx(1, "congestion control %s: %s", name, strerror(errno));
}

/* What was asked for before there was a socket */
static struct {
	const char *cc, *bind, *md5_addr, *md5_key;
	int tos, port, protocol;
} pre = { .tos = -1 };

static void make_socket(int family)
{
	struct sockaddr_storage ss;
	int one = 1;

	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, pre.protocol);
	if (fd < 0)
		errx(1, "socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (pre.cc)
		set_cc(pre.cc);
	opt_apply();
	if (pre.tos >= 0 && family == AF_INET &&
	    setsockopt(fd, IPPROTO_IP, IP_TOS, &pre.tos, sizeof(pre.tos)))
		errx(1, "IP_TOS: %s", strerror(errno));
	if (pre.tos >= 0 && family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &pre.tos, sizeof(pre.tos)))
		errx(1, "IPV6_TCLASS: %s", strerror(errno));
	if (pre.md5_key) {
		struct tcp_md5sig md5 = { .tcpm_keylen = strlen(pre.md5_key) };

		to_sockaddr(&ss, pre.md5_addr, 0);
		memcpy(&md5.tcpm_addr, &ss, sizeof(ss));
		memcpy(md5.tcpm_key, pre.md5_key, md5.tcpm_keylen);
		if (setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &md5, sizeof(md5)))
			errx(1, "TCP_MD5SIG: %s", strerror(errno));
	}
	if (pre.bind || pre.port) {
		const char *any = family == AF_INET ? "0.0.0.0" : "::";
		socklen_t len = to_sockaddr(&ss, pre.bind ? pre.bind : any, pre.port);

		if (bind(fd, (void *)&ss, len))
			errx(1, "bind: %s", strerror(errno));
	}
}

static void do_listen(const char *addr, int port)
{
	struct sockaddr_storage ss;
	socklen_t len = to_sockaddr(&ss, addr, port);
	int listener;

	make_socket(ss.ss_family);
	if (bind(fd, (void *)&ss, len) || listen(fd, 16))
		errx(1, "listen on %s %d: %s", addr, port, strerror(errno));
	listener = fd;
	printf("listening\n");
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		errx(1, "accept: %s", strerror(errno));
	/* subflows join through it */
	if (pre.protocol != IPPROTO_MPTCP)
		close(listener);
}

static void do_connect(const char *addr, int port)
{
	struct sockaddr_storage ss;
	socklen_t len = to_sockaddr(&ss, addr, port);

	make_socket(ss.ss_family);
	if (connect(fd, (void *)&ss, len))
		errx(1, "connect to %s %d: %s", addr, port, strerror(errno));
}

void sleep_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* A file that another process makes; a minute is for ever */
static void do_wait(const char *path)
{
	int i;

	for (i = 0; access(path, F_OK); i++) {
		if (i > 60000)
			errx(1, "no %s", path);
		sleep_ms(1);
	}
}

static void do_outq(void)
{
	int i, outq;

	for (i = 0; i < 60000; i++) {
		if (ioctl(fd, SIOCOUTQ, &outq))
			errx(1, "SIOCOUTQ: %s", strerror(errno));
		if (!outq)
			return;
		sleep_ms(1);
	}
	errx(1, "%d bytes not acknowledged", outq);
}

static char **words;

const char *next(const char *what)
{
	if (!*words)
		errx(1, "%s: argument missing", what);
	return *words++;
}

uint64_t number(const char *what)
{
	return strtoull(next(what), NULL, 0);
}

static int word_any(const char *w)
{
	if (!strcmp(w, "mark"))
		close(open(next(w), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	else if (!strcmp(w, "wait"))
		do_wait(next(w));
	else if (!strcmp(w, "pause"))
		sleep_ms(number(w));
	else
		return 0;
	return 1;
}

static void word_before(const char *w)
{
	const char *a;

	if (!strcmp(w, "cc")) {
		pre.cc = next(w);
	} else if (!strcmp(w, "md5")) {
		pre.md5_addr = next(w);
		pre.md5_key = next(w);
	} else if (!strcmp(w, "bind")) {
		pre.bind = next(w);
	} else if (!strcmp(w, "port")) {
		pre.port = number(w);
	} else if (!strcmp(w, "mptcp")) {
		pre.protocol = IPPROTO_MPTCP;
	} else if (!strcmp(w, "tos")) {
		pre.tos = number(w);
	} else if (!strcmp(w, "listen")) {
		a = next(w);
		do_listen(a, number(w));
	} else if (!strcmp(w, "connect")) {
		a = next(w);
		do_connect(a, number(w));
	} else if (!word_any(w) && !opt_word(w)) {
		errx(1, "%s: not before there is a connection", w);
	}
}

static void word_after(const char *w)
{
	uint64_t n;

	if (!strcmp(w, "send")) {
		do_send(number(w), 0);
	} else if (!strcmp(w, "recv")) {
		n = number(w);
		if (!do_recv(n))
			errx(1, "recv: connection closed at %llu", (unsigned long long)received);
	} else if (!strcmp(w, "recv-eof")) {
		do_recv(UINT64_MAX);
		printf("received %llu\n", (unsigned long long)received);
	} else if (!strcmp(w, "ping")) {
		n = number(w);
		do_ping(n, number(w));
	} else if (!strcmp(w, "echo")) {
		do_echo();
	} else if (!strcmp(w, "shut")) {
		shutdown(fd, SHUT_WR);
	} else if (!strcmp(w, "cc")) {
		set_cc(next(w));
	} else if (!strcmp(w, "info")) {
		do_info();
	} else if (!strcmp(w, "outq")) {
		do_outq();
	} else if (!strcmp(w, "recv-reset")) {
		do_recv_reset();
	} else if (!strcmp(w, "send-fail")) {
		do_send_fail(number(w));
	} else if (!strcmp(w, "close")) {
		close(fd);
	} else if (!word_any(w) && !opt_word(w) && !io_word(w) && !hand_word(w)) {
		errx(1, "what is %s?", w);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	(void)argc;
	/* else timers of this process come up to 50 us late */
	prctl(PR_SET_TIMERSLACK, 1);
	for (words = argv + 1; *words;) {
		const char *w = *words++;

		if (fd < 0)
			word_before(w);
		else
			word_after(w);
	}
	return 0;
}
