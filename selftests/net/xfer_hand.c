// SPDX-License-Identifier: GPL-2.0
/*
 * Words of bolt_xfer that hand the connection over:
 *	pass			give the socket to another process (SCM_RIGHTS), which does the rest
 *	repair			checkpoint it (TCP_REPAIR), close it without a packet, restore it
 */

#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xfer.h"

static void give(int channel)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	if (sendmsg(channel, &msg, 0) != 1)
		errx(1, "SCM_RIGHTS: %s", strerror(errno));
}

static void take(int channel)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };

	if (recvmsg(channel, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		errx(1, "SCM_RIGHTS: %s", strerror(errno));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
}

static void do_pass(void)
{
	int channel[2], status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel))
		errx(1, "socketpair: %s", strerror(errno));
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		errx(1, "fork: %s", strerror(errno));
	if (!pid) {
		/* what was inherited goes; what is given stays */
		close(fd);
		close(channel[0]);
		take(channel[1]);
		return;
	}
	give(channel[0]);
	close(fd);
	if (waitpid(pid, &status, 0) != pid)
		errx(1, "wait: %s", strerror(errno));
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void set(int opt, const void *value, socklen_t len, const char *name)
{
	if (setsockopt(fd, IPPROTO_TCP, opt, value, len))
		errx(1, "%s: %s", name, strerror(errno));
}

static void get(int opt, void *value, socklen_t len, const char *name)
{
	if (getsockopt(fd, IPPROTO_TCP, opt, value, &len))
		errx(1, "%s: %s", name, strerror(errno));
}

static void set_int(int opt, int value, const char *name)
{
	set(opt, &value, sizeof(value), name);
}

/* Both queues have to be empty: everything acknowledged and read */
static void do_repair(void)
{
	static const int queues[] = { TCP_RECV_QUEUE, TCP_SEND_QUEUE };
	struct sockaddr_storage local, peer;
	socklen_t llen = sizeof(local), plen = sizeof(peer);
	struct tcp_repair_window win;
	struct tcp_repair_opt opts[4];
	struct tcp_info ti;
	unsigned int i, seq[2], n = 0;
	int mss, ts, one = 1;
	char cc[16] = "";
	socklen_t cclen = sizeof(cc);

	set_int(TCP_REPAIR, TCP_REPAIR_ON, "TCP_REPAIR");
	for (i = 0; i < 2; i++) {
		set_int(TCP_REPAIR_QUEUE, queues[i], "TCP_REPAIR_QUEUE");
		get(TCP_QUEUE_SEQ, &seq[i], sizeof(seq[i]), "TCP_QUEUE_SEQ");
	}
	get(TCP_REPAIR_WINDOW, &win, sizeof(win), "TCP_REPAIR_WINDOW");
	get(TCP_INFO, &ti, sizeof(ti), "TCP_INFO");
	get(TCP_MAXSEG, &mss, sizeof(mss), "TCP_MAXSEG");
	get(TCP_TIMESTAMP, &ts, sizeof(ts), "TCP_TIMESTAMP");
	getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &cclen);
	getsockname(fd, (void *)&local, &llen);
	getpeername(fd, (void *)&peer, &plen);
	close(fd);

	fd = socket(local.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	set_int(TCP_REPAIR, TCP_REPAIR_ON, "TCP_REPAIR");
	if (!strncmp(cc, "bolt", 4))
		set(TCP_CONGESTION, "bolt", 4, "TCP_CONGESTION");
	if (bind(fd, (void *)&local, llen))
		errx(1, "bind: %s", strerror(errno));
	for (i = 0; i < 2; i++) {
		set_int(TCP_REPAIR_QUEUE, queues[i], "TCP_REPAIR_QUEUE");
		set(TCP_QUEUE_SEQ, &seq[i], sizeof(seq[i]), "TCP_QUEUE_SEQ");
	}
	if (connect(fd, (void *)&peer, plen))
		errx(1, "connect: %s", strerror(errno));
	opts[n].opt_code = 2;			/* MSS, as the peer offered it */
	opts[n++].opt_val = mss;
	if (ti.tcpi_options & TCPI_OPT_WSCALE) {
		opts[n].opt_code = 3;
		opts[n++].opt_val = ti.tcpi_snd_wscale | ti.tcpi_rcv_wscale << 16;
	}
	if (ti.tcpi_options & TCPI_OPT_SACK) {
		opts[n].opt_code = 4;
		opts[n++].opt_val = 0;
	}
	if (ti.tcpi_options & TCPI_OPT_TIMESTAMPS) {
		opts[n].opt_code = 8;
		opts[n++].opt_val = 0;
	}
	set(TCP_REPAIR_OPTIONS, opts, n * sizeof(opts[0]), "TCP_REPAIR_OPTIONS");
	set(TCP_TIMESTAMP, &ts, sizeof(ts), "TCP_TIMESTAMP");
	set(TCP_REPAIR_WINDOW, &win, sizeof(win), "TCP_REPAIR_WINDOW");
	set_int(TCP_REPAIR, TCP_REPAIR_OFF, "TCP_REPAIR");
}

int hand_word(const char *w)
{
	if (!strcmp(w, "pass"))
		do_pass();
	else if (!strcmp(w, "repair"))
		do_repair();
	else
		return 0;
	return 1;
}
