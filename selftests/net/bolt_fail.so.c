// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD: in one system call of a program, the Nth allocation fails.
 *
 *	FAIL_CALL	tc (a request for a qdisc or class), setsockopt (TCP_CONGESTION), connect,
 *			write (to a file below /proc/sys), insmod, unshare
 *	FAIL_NTH	which allocation of it
 *	FAIL_OUT	file that takes what is left of FAIL_NTH: 0 when one has failed
 *
 * Only the first such call of the program, and only allocations of its own task:
 * Documentation/fault-injection, "fail-nth".
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEXT(name) ((typeof(name) *)dlsym(RTLD_NEXT, #name))

static int fd = -1;

/* Is this the call?  Then its allocations are counted from now on. */
static int begin(const char *call)
{
	const char *want = getenv("FAIL_CALL"), *nth = getenv("FAIL_NTH");
	static int done;

	if (done || !want || !nth || strcmp(want, call))
		return 0;
	done = 1;
	fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fd < 0)
		_exit(99);
	/* the last step: nothing may allocate before the call itself */
	return pwrite(fd, nth, strlen(nth), 0) > 0;
}

static void end(void)
{
	char left[32] = "";
	int out;

	if (pread(fd, left, sizeof(left) - 1, 0) < 0 || pwrite(fd, "0", 1, 0) < 0)
		_exit(99);
	close(fd);
	out = open(getenv("FAIL_OUT") ?: "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (out < 0 || pwrite(out, left, strlen(left), 0) < 0)
		_exit(99);
	close(out);
}

/* The real function is looked up first: that may allocate as well */
#define COUNTED(call, name, ...) ({			\
	typeof(name) *real = NEXT(name);		\
	int on = (call) && begin(call);			\
	typeof(real(__VA_ARGS__)) ret = real(__VA_ARGS__);	\
							\
	if (on)						\
		end();					\
	ret;						\
})

ssize_t sendmsg(int s, const struct msghdr *msg, int flags)
{
	const struct nlmsghdr *h = msg->msg_iovlen ? msg->msg_iov[0].iov_base : NULL;
	int tc = h && msg->msg_iov[0].iov_len >= sizeof(*h) &&
		 (h->nlmsg_type == RTM_NEWQDISC || h->nlmsg_type == RTM_DELQDISC ||
		  h->nlmsg_type == RTM_NEWTCLASS || h->nlmsg_type == RTM_DELTCLASS);

	return COUNTED(tc ? "tc" : NULL, sendmsg, s, msg, flags);
}

int setsockopt(int s, int level, int name, const void *val, socklen_t len)
{
	int cc = level == IPPROTO_TCP && name == TCP_CONGESTION;

	return COUNTED(cc ? "setsockopt" : NULL, setsockopt, s, level, name, val, len);
}

int connect(int s, const struct sockaddr *to, socklen_t len)
{
	return COUNTED("connect", connect, s, to, len);
}

ssize_t write(int f, const void *buf, size_t len)
{
	char link[32], path[256] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f);
	if (readlink(link, path, sizeof(path) - 1) < 0 || strncmp(path, "/proc/sys/", 10))
		path[0] = 0;
	return COUNTED(*path ? "write" : NULL, write, f, buf, len);
}

int unshare(int flags)
{
	return COUNTED("unshare", unshare, flags);
}

/* insmod: there is no wrapper for it */
long syscall(long number, ...)
{
	va_list ap;
	long a[6];
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return COUNTED(number == SYS_finit_module ? "insmod" : NULL, syscall, number,
		       a[0], a[1], a[2], a[3], a[4], a[5]);
}
