// SPDX-License-Identifier: GPL-2.0
/*
 * Audit the counts of the qdiscs of a device: of each, qlen and backlog must agree with each other
 * and with those of its children.
 *
 * usage: bolt_books DEVICE [NAME=VALUE]...
 *
 *	len=1000	bytes of every packet; 0: they differ, bytes are only summed up
 *	peeked=0	a qdisc, hex (10 for 10:), that may hold one packet more than its
 *			children, because its parent has looked at it
 *	own=0		a qdisc, hex, that holds packets of its own beside its children's
 *	total=0		not 0: packets sent by the device, waiting at its root, dropped by
 *			any qdisc "sfc", and "lost" must add up to this
 *	lost=0
 *	nobytes=0	a qdisc, hex, that counts packets only
 *	print=0		1: only print a line for each: KIND HANDLE QLEN BACKLOG DROPS
 *	empty=0		1: nothing may wait anywhere
 *
 * - the packets and bytes of a qdisc are the sum of those of its children;
 * - bytes are packets times len;
 * - a class says the same as the qdisc that is its leaf.
 *
 * Prints what is wrong; exit status 0 when nothing is.
 */

#include <err.h>
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct entry {
	char		kind[16];
	__u32		handle, parent, info;
	unsigned int	qlen, backlog, drops;
};

static struct entry qdiscs[512], classes[512];
static unsigned int nqdiscs, nclasses, complaints;
static int ifindex;

#define complain(...) do { printf(__VA_ARGS__); putchar('\n'); complaints++; } while (0)

static unsigned int number(char **argv, const char *name, unsigned int otherwise, int base)
{
	size_t len = strlen(name);

	for (; *argv; argv++)
		if (!strncmp(*argv, name, len) && (*argv)[len] == '=')
			return strtoul(*argv + len + 1, NULL, base);
	return otherwise;
}

static void take_stats(struct entry *e, struct rtattr *stats)
{
	struct rtattr *a = RTA_DATA(stats);
	int len = RTA_PAYLOAD(stats);

	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		const struct gnet_stats_queue *q = RTA_DATA(a);

		if (a->rta_type != TCA_STATS_QUEUE)
			continue;
		e->qlen = q->qlen;
		e->backlog = q->backlog;
		e->drops = q->drops;
	}
}

static void take(struct nlmsghdr *h, struct entry *table, unsigned int *n)
{
	struct tcmsg *t = NLMSG_DATA(h);
	int len = h->nlmsg_len - NLMSG_LENGTH(sizeof(*t));
	struct rtattr *a = TCA_RTA(t);
	struct entry *e;

	if (t->tcm_ifindex != ifindex || *n == 512)
		return;
	e = &table[(*n)++];
	e->handle = t->tcm_handle;
	e->parent = t->tcm_parent;
	e->info = t->tcm_info;
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == TCA_KIND)
			snprintf(e->kind, sizeof(e->kind), "%s", (char *)RTA_DATA(a));
		else if (a->rta_type == TCA_STATS2)
			take_stats(e, a);
	}
}

static void dump(int fd, int type, struct entry *table, unsigned int *n)
{
	struct {
		struct nlmsghdr h;
		struct tcmsg t;
	} req = {
		.h = {
			.nlmsg_len = sizeof(req),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.t = { .tcm_ifindex = ifindex },
	};
	static char buf[1 << 17];
	struct nlmsghdr *h;
	int len;

	if (send(fd, &req, sizeof(req), 0) < 0)
		err(1, "send");
	for (;;) {
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			err(1, "recv");
		for (h = (void *)buf; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return;
			if (h->nlmsg_type == NLMSG_ERROR)
				err(1, "dump");
			take(h, table, n);
		}
	}
}

static unsigned long long tx_packets(const char *dev)
{
	unsigned long long tx;
	char line[512], *p;
	FILE *f = fopen("/proc/self/net/dev", "r");

	if (!f)
		err(1, "/proc/self/net/dev");
	while (fgets(line, sizeof(line), f)) {
		p = line + strspn(line, " ");
		if (strncmp(p, dev, strlen(dev)) || p[strlen(dev)] != ':')
			continue;
		if (sscanf(p + strlen(dev) + 1, "%*u %*u %*u %*u %*u %*u %*u %*u %*u %llu",
			   &tx) != 1)
			break;
		fclose(f);
		return tx;
	}
	errno = ENODEV;
	err(1, "%s", dev);
	return 0;
}

/* The qdisc is what its children are, and the packet that its parent has looked at */
static void check_children(const struct entry *q, unsigned int len, __u32 peeked, __u32 own,
			   __u32 nobytes)
{
	unsigned int i, children = 0, qlen = 0, backlog = 0;

	for (i = 0; i < nqdiscs; i++) {
		if (qdiscs[i].parent == TC_H_ROOT || TC_H_MAJ(qdiscs[i].parent) != q->handle)
			continue;
		children++;
		qlen += qdiscs[i].qlen;
		backlog += qdiscs[i].backlog;
	}
	if (!children || (qlen == q->qlen && backlog == q->backlog))
		return;
	if (q->handle == peeked && q->qlen == qlen + 1 && (!len || q->backlog == backlog + len))
		return;
	if (q->handle == nobytes && qlen == q->qlen)
		return;
	if (q->handle == own && q->qlen > qlen && q->backlog > backlog)
		return;
	complain("%s %x: has %u packets, %u bytes; its children %u, %u", q->kind, q->handle >> 16,
		 q->qlen, q->backlog, qlen, backlog);
}

static void check_leaf(const struct entry *c)
{
	unsigned int i;

	for (i = 0; c->info && i < nqdiscs; i++) {
		const struct entry *q = &qdiscs[i];

		if (q->handle != c->info || (c->qlen == q->qlen && c->backlog == q->backlog))
			continue;
		/* tbf and its like keep no books for their one class */
		if (!c->qlen && !c->backlog && c->handle << 16 == 1 << 16 &&
		    strcmp(c->kind, "tbf") * strcmp(c->kind, "red") * strcmp(c->kind, "sfb") *
		    strcmp(c->kind, "netem") * strcmp(c->kind, "cbs") *
		    strcmp(c->kind, "sfc_hold") == 0)
			continue;
		complain("class %s %x:%x has %u packets, %u bytes; its leaf %u, %u", c->kind,
			 c->handle >> 16, c->handle & 0xffff, c->qlen, c->backlog, q->qlen,
			 q->backlog);
	}
}

int main(int argc, char **argv)
{
	unsigned int i, len, total, sum;
	__u32 peeked, own, nobytes;
	int fd;

	if (argc < 2) {
		fprintf(stderr, "usage: bolt_books DEVICE [NAME=VALUE]...\n");
		return 1;
	}
	ifindex = if_nametoindex(argv[1]);
	if (!ifindex)
		err(1, "%s", argv[1]);
	len = number(argv + 2, "len", 1000, 0);
	peeked = number(argv + 2, "peeked", 0, 16) << 16;
	own = number(argv + 2, "own", 0, 16) << 16;
	nobytes = number(argv + 2, "nobytes", 0, 16) << 16;
	total = number(argv + 2, "total", 0, 0);
	sum = number(argv + 2, "lost", 0, 0);

	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	if (fd < 0)
		err(1, "socket");
	dump(fd, RTM_GETQDISC, qdiscs, &nqdiscs);
	dump(fd, RTM_GETTCLASS, classes, &nclasses);

	sum += tx_packets(argv[1]);
	for (i = 0; i < nqdiscs; i++) {
		const struct entry *q = &qdiscs[i];
		unsigned int h = q->handle >> 16;

		if (number(argv + 2, "print", 0, 0)) {
			printf("%s %x: %u %u %u\n", q->kind, h, q->qlen, q->backlog, q->drops);
			continue;
		}
		if (q->handle == nobytes)
			qdiscs[i].backlog = q->qlen * len;
		check_children(q, len, peeked, own, nobytes);
		if (len && q->backlog != q->qlen * len)
			complain("%s %x: has %u packets of %u bytes", q->kind, h, q->qlen,
				 q->backlog);
		if (number(argv + 2, "empty", 0, 0) && (q->qlen || q->backlog))
			complain("%s %x: is not empty: %u packets, %u bytes", q->kind, h, q->qlen,
				 q->backlog);
		if (q->parent == TC_H_ROOT)
			sum += q->qlen;
		if (!strcmp(q->kind, "sfc"))
			sum += q->drops;
	}
	if (number(argv + 2, "print", 0, 0))
		return 0;
	for (i = 0; i < nclasses; i++)
		check_leaf(&classes[i]);
	if (total && sum != total)
		complain("%u packets are accounted for, not %u", sum, total);
	return !!complaints;
}
