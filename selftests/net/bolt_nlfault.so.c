// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD: netlink answers that go wrong, which no kernel gives on demand, for the tests of
 * subrtt.  BOLT_NLFAULT=TYPE:FAULT:N: in the first N dumps of messages of this type (0: any),
 *
 *   intr	the table changed while it was read (NLM_F_DUMP_INTR)
 *   fail	the kernel fails midway: the message that ends the dump has an error
 *   perm	... EPERM
 *   cut	a datagram is larger than the reader's buffer
 *   end	the socket comes to its end before the dump does
 *   lost	the socket's buffer was full (ENOBUFS)
 *   old	the module lacks the newest counter: TCA_STATS_APP is without its last 8 bytes
 *   wide	5 * 10^9 packets were sent (TCA_STATS_PKT64, in place of the last two counters)
 *   ver	each generic netlink family is of a newer version, and so is what a qdisc counts
 *
 * BOLT_RING=N: each device has a transmit ring of N packets (ETHTOOL_GRINGPARAM).
 * BOLT_PAUSE=1: each device knows of PAUSE frames (ETHTOOL_GPAUSEPARAM).
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int type;
static int left;
static char fault[8];

__attribute__((constructor)) static void begin(void)
{
	const char *s = getenv("BOLT_NLFAULT");

	if (s && sscanf(s, "%i:%7[a-z]:%d", &type, fault, &left) != 3)
		abort();
}

static struct rtattr *find(struct rtattr *a, int len, int what)
{
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) == what)
			return a;
	return NULL;
}

/* Takes @len bytes off TCA_STATS_APP; returns them, NULL: there are none */
static void *take(struct nlmsghdr *h, unsigned int len)
{
	struct rtattr *a = find(TCA_RTA(NLMSG_DATA(h)), TCA_PAYLOAD(h), TCA_STATS2);

	a = a ? find(RTA_DATA(a), RTA_PAYLOAD(a), TCA_STATS_APP) : NULL;
	if (!a || RTA_PAYLOAD(a) < len + 8)
		return NULL;
	a->rta_len -= len;
	return (char *)a + a->rta_len;
}

static void make_old(struct nlmsghdr *h)
{
	const struct rtattr pad = { .rta_len = 8, .rta_type = TCA_STATS_PAD };
	void *at = take(h, 8);

	if (at)
		memcpy(at, &pad, sizeof(pad));
}

static void make_wide(struct nlmsghdr *h)
{
	const unsigned long long packets = 5000000000ULL;
	struct {
		struct rtattr a;
		char value[8];
		struct rtattr pad;
	} in = {
		.a = { .rta_len = 12, .rta_type = TCA_STATS_PKT64 },
		.pad = { .rta_len = 4, .rta_type = TCA_STATS_PAD },
	};
	void *at = take(h, sizeof(in));

	memcpy(in.value, &packets, sizeof(packets));
	if (at)
		memcpy(at, &in, sizeof(in));
}

static void make_newer(struct nlmsghdr *h)
{
	const int head = NLMSG_LENGTH(GENL_HDRLEN);
	struct rtattr *a = find((struct rtattr *)((char *)h + head), h->nlmsg_len - head,
				CTRL_ATTR_VERSION);

	if (a)
		*(unsigned int *)RTA_DATA(a) += 1;
}

/* TCA_STATS_APP begins with what it is */
static void make_newer_qdisc(struct nlmsghdr *h)
{
	struct rtattr *a = find(TCA_RTA(NLMSG_DATA(h)), TCA_PAYLOAD(h), TCA_STATS2);

	a = a ? find(RTA_DATA(a), RTA_PAYLOAD(a), TCA_STATS_APP) : NULL;
	if (a)
		*(unsigned long long *)RTA_DATA(a) += 100;
}

/* Changes the messages of a datagram; returns whether it has a dump of the type */
static int meddle(struct nlmsghdr *h, int len)
{
	static int newest;
	int ours = 0;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		if (!(h->nlmsg_flags & NLM_F_MULTI))
			continue;
		if (h->nlmsg_type != NLMSG_DONE)
			newest = h->nlmsg_type;
		if (type && newest != type)
			continue;
		ours = 1;
		if (!strcmp(fault, "intr"))
			h->nlmsg_flags |= NLM_F_DUMP_INTR;
		if (!strcmp(fault, "old") && h->nlmsg_type != NLMSG_DONE)
			make_old(h);
		if (!strcmp(fault, "wide") && h->nlmsg_type != NLMSG_DONE)
			make_wide(h);
		if (!strcmp(fault, "ver") && h->nlmsg_type == GENL_ID_CTRL)
			make_newer(h);
		if (!strcmp(fault, "ver") && h->nlmsg_type == RTM_NEWQDISC)
			make_newer_qdisc(h);
		if (h->nlmsg_type != NLMSG_DONE)
			continue;
		newest = 0;
		left--;
		if (!strcmp(fault, "fail"))
			*(int *)NLMSG_DATA(h) = -ENOMEM;
		if (!strcmp(fault, "perm"))
			*(int *)NLMSG_DATA(h) = -EPERM;
	}
	return ours;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	static ssize_t (*real)(int fd, struct msghdr *msg, int flags);
	ssize_t n;

	if (!real)
		real = dlsym(RTLD_NEXT, "recvmsg");
	n = real(fd, msg, flags);
	if (n <= 0 || left <= 0 || (flags & MSG_PEEK) || !msg->msg_name ||
	    ((struct sockaddr *)msg->msg_name)->sa_family != AF_NETLINK)
		return n;
	if (!meddle(msg->msg_iov[0].iov_base, n))
		return n;
	if (!strcmp(fault, "cut"))
		msg->msg_flags |= MSG_TRUNC;
	if (!strcmp(fault, "end"))
		return 0;
	if (!strcmp(fault, "lost")) {
		errno = ENOBUFS;
		return -1;
	}
	return n;
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int fd, unsigned long request, ...);
	const char *ring = getenv("BOLT_RING");
	struct ethtool_ringparam *r;
	void *arg;
	va_list ap;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!real)
		real = dlsym(RTLD_NEXT, "ioctl");
	r = request == SIOCETHTOOL ? (void *)((struct ifreq *)arg)->ifr_data : NULL;
	if (r && r->cmd == ETHTOOL_GPAUSEPARAM && getenv("BOLT_PAUSE"))
		return 0;
	if (!r || !ring || r->cmd != ETHTOOL_GRINGPARAM)
		return real(fd, request, arg);
	r->tx_pending = atoi(ring);
	return 0;
}
