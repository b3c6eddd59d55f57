// SPDX-License-Identifier: GPL-2.0
/*
 * Words of bolt_xfer that move bytes of the pattern by other ways than send() and recv():
 *	sendfile BYTES		from a file in memory
 *	splice BYTES		through a pipe, out
 *	splice-in BYTES		through a pipe, in
 *	zerocopy-send BYTES	MSG_ZEROCOPY, until the kernel has given the pages back
 *	more BYTES		MSG_MORE
 *	chunks N SIZE		N writes of SIZE
 *	oob			one urgent byte, which is no part of the pattern
 *	oob-recv		wait for it
 *	tls			kernel TLS 1.2, AES-128-GCM, a fixed key, both directions
 */

#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "xfer.h"

#ifndef SOL_TLS
#define SOL_TLS	282
#endif

static void do_sendfile(uint64_t n)
{
	int file = memfd_create("xfer", MFD_CLOEXEC);
	uint64_t left = n;
	off_t off = 0;

	while (left) {
		size_t len = left < CHUNK ? left : CHUNK;

		fill(buf, sent + n - left, len);
		if (write(file, buf, len) != (ssize_t)len)
			errx(1, "file in memory: %s", strerror(errno));
		left -= len;
	}
	while ((uint64_t)off < n)
		if (sendfile(fd, file, &off, n - off) <= 0)
			errx(1, "sendfile at %lld: %s", (long long)off, strerror(errno));
	sent += n;
	close(file);
}

static void do_splice(uint64_t n)
{
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		errx(1, "pipe: %s", strerror(errno));
	while (n) {
		size_t len = n < 65536 ? n : 65536;
		ssize_t got;

		fill(buf, sent, len);
		if (write(pipes[1], buf, len) != (ssize_t)len)
			errx(1, "pipe: %s", strerror(errno));
		n -= len;
		sent += len;
		for (; len; len -= got) {
			got = splice(pipes[0], NULL, fd, NULL, len, SPLICE_F_MOVE |
				     (n ? SPLICE_F_MORE : 0));
			if (got <= 0)
				errx(1, "splice: %s", strerror(errno));
		}
	}
	close(pipes[0]);
	close(pipes[1]);
}

static void do_splice_in(uint64_t n)
{
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		errx(1, "pipe: %s", strerror(errno));
	while (n) {
		ssize_t got, i, len = splice(fd, NULL, pipes[1], NULL, n < 65536 ? n : 65536,
					     SPLICE_F_MOVE);

		if (len <= 0)
			errx(1, "splice in at %llu: %s", (unsigned long long)received,
			     len ? strerror(errno) : "end");
		for (i = 0; i < len; i += got) {
			got = read(pipes[0], buf, len - i);
			if (got <= 0)
				errx(1, "pipe: %s", strerror(errno));
			check(buf, got);
		}
		n -= len;
	}
	close(pipes[0]);
	close(pipes[1]);
}

/* Until completions for all @sends have come */
static void zerocopy_reap(uint32_t sends)
{
	uint32_t done = 0;

	while (done < sends) {
		char control[256];
		struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };
		struct pollfd pfd = { .fd = fd };
		struct sock_extended_err *err;
		struct cmsghdr *c;

		if (poll(&pfd, 1, 60000) <= 0)
			errx(1, "zerocopy: %u of %u given back", done, sends);
		if (recvmsg(fd, &msg, MSG_ERRQUEUE) < 0) {
			if (errno != EAGAIN)
				errx(1, "zerocopy: %s", strerror(errno));
			continue;
		}
		c = CMSG_FIRSTHDR(&msg);
		if (!c)
			errx(1, "zerocopy: nothing said");
		err = (void *)CMSG_DATA(c);
		if (err->ee_origin != SO_EE_ORIGIN_ZEROCOPY || err->ee_errno)
			errx(1, "zerocopy: origin %u, error %u", err->ee_origin, err->ee_errno);
		done += err->ee_data - err->ee_info + 1;
	}
}

static void do_zerocopy(uint64_t n)
{
	uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t off = 0;
	uint32_t sends = 0;

	if (p == MAP_FAILED)
		errx(1, "mmap: %s", strerror(errno));
	fill(p, sent, n);
	while (off < n) {
		ssize_t got = send(fd, p + off, n - off < CHUNK ? n - off : CHUNK,
				   MSG_ZEROCOPY | MSG_NOSIGNAL);

		if (got < 0)
			errx(1, "zerocopy at %llu: %s", (unsigned long long)off, strerror(errno));
		off += got;
		sends++;
	}
	sent += n;
	zerocopy_reap(sends);
	munmap(p, n);
}

static void do_chunks(uint64_t n, uint64_t size)
{
	while (n--)
		do_send(size, 0);
}

static void do_oob(void)
{
	if (send(fd, "!", 1, MSG_OOB | MSG_NOSIGNAL) != 1)
		errx(1, "urgent data: %s", strerror(errno));
}

static void do_oob_recv(void)
{
	struct pollfd pfd = { .fd = fd, .events = POLLPRI };
	char c;

	if (poll(&pfd, 1, 60000) <= 0)
		errx(1, "no urgent data");
	if (recv(fd, &c, 1, MSG_OOB) != 1 || c != '!')
		errx(1, "urgent data: %s", strerror(errno));
}

static void do_tls(void)
{
	struct tls12_crypto_info_aes_gcm_128 tls = {
		.info = { TLS_1_2_VERSION, TLS_CIPHER_AES_GCM_128 },
		.iv = "iv-of-8", .key = "0123456789abcde", .salt = "abc",
	};

	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")))
		errx(1, "TCP_ULP: %s", strerror(errno));
	if (setsockopt(fd, SOL_TLS, TLS_TX, &tls, sizeof(tls)) ||
	    setsockopt(fd, SOL_TLS, TLS_RX, &tls, sizeof(tls)))
		errx(1, "TLS: %s", strerror(errno));
}

int io_word(const char *w)
{
	uint64_t n;

	if (!strcmp(w, "sendfile")) {
		do_sendfile(number(w));
	} else if (!strcmp(w, "splice")) {
		do_splice(number(w));
	} else if (!strcmp(w, "splice-in")) {
		do_splice_in(number(w));
	} else if (!strcmp(w, "zerocopy-send")) {
		do_zerocopy(number(w));
	} else if (!strcmp(w, "more")) {
		do_send(number(w), MSG_MORE);
	} else if (!strcmp(w, "chunks")) {
		n = number(w);
		do_chunks(n, number(w));
	} else if (!strcmp(w, "oob")) {
		do_oob();
	} else if (!strcmp(w, "oob-recv")) {
		do_oob_recv();
	} else if (!strcmp(w, "tls")) {
		do_tls();
	} else {
		return 0;
	}
	return 1;
}
