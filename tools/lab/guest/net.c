// SPDX-License-Identifier: GPL-2.0
/*
 * Builds the lab's network: namespaces, link pairs, addresses, routes.
 *
 * Everything goes through one process and raw rtnetlink, many requests to a
 * send: 512 hosts take a fraction of a second, where a process per command
 * takes half a minute.  A namespace is known by the descriptor kept open here;
 * it has no name the kernel knows, and ends with the process.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

static struct netns {
	char name[32];
	int fd;
} *spaces;
static int nspaces, init_fd = -1, current = NS_INIT;

void net_add_ns(const char *name)
{
	struct netns *ns;

	if (init_fd < 0)
		init_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (nspaces % 64 == 0)
		spaces = realloc(spaces, (nspaces + 64) * sizeof(*spaces));
	if (!spaces)
		die("out of memory for namespaces");
	if (unshare(CLONE_NEWNET))
		die("namespace %s: %s", name, strerror(errno));
	ns = &spaces[nspaces];
	snprintf(ns->name, sizeof(ns->name), "%s", name);
	ns->fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (ns->fd < 0)
		die("namespace %s: %s", name, strerror(errno));
	current = nspaces++;
}

int net_find_ns(const char *name)
{
	if (!strcmp(name, "-"))
		return NS_INIT;
	for (int i = 0; i < nspaces; i++)
		if (!strcmp(spaces[i].name, name))
			return i;
	die("the plan names namespace %s, which it did not make", name);
}

int net_count(void)
{
	return nspaces;
}

const char *net_ns_name(int ns)
{
	return ns == NS_INIT ? "-" : spaces[ns].name;
}

int net_fd(int ns)
{
	return ns == NS_INIT ? init_fd : spaces[ns].fd;
}

void net_enter(int ns)
{
	if (ns == current || init_fd < 0)
		return;
	if (setns(net_fd(ns), CLONE_NEWNET))
		die("entering namespace %s: %s", net_ns_name(ns), strerror(errno));
	current = ns;
}

/* ---- links ---- */

/* A command for the link device; it says in its log why it refuses one. */
void net_lablink(const char *fmt, ...)
{
	static int fd = -1;
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (fd < 0)
		fd = open("/proc/lablink", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		die("/proc/lablink: %s (is lablink.ko loaded?)", strerror(errno));
	if (write(fd, line, strlen(line)) < 0)
		die("/proc/lablink refused \"%s\": %s", line, strerror(errno));
}

/* ---- one batch of requests, acknowledged together ---- */

#define BATCH_BYTES 16384

static struct mnl_socket *nl;
static char batch_buf[BATCH_BYTES + 4096];
static size_t batch_len;
static unsigned int batch_msgs, batch_seq;
static char batch_what[256][48];

static void batch_flush(void)
{
	char reply[32768];
	unsigned int acked = 0;

	if (!batch_msgs)
		return;
	if (mnl_socket_sendto(nl, batch_buf, batch_len) < 0)
		die("rtnetlink: %s", strerror(errno));
	while (acked < batch_msgs) {
		int n = mnl_socket_recvfrom(nl, reply, sizeof(reply));
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)reply;

		if (n < 0)
			die("rtnetlink: %s", strerror(errno));
		for (; mnl_nlmsg_ok(nlh, n); nlh = mnl_nlmsg_next(nlh, &n)) {
			const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

			if (nlh->nlmsg_type != NLMSG_ERROR)
				continue;
			if (err->error)
				die("%s in namespace %s: %s",
				    batch_what[nlh->nlmsg_seq - (batch_seq - batch_msgs)],
				    net_ns_name(current), strerror(-err->error));
			acked++;
		}
	}
	batch_len = 0;
	batch_msgs = 0;
}

static struct nlmsghdr *batch_add(uint16_t type, uint16_t flags, const char *what, const char *name)
{
	struct nlmsghdr *nlh;

	if (batch_len > BATCH_BYTES || batch_msgs == 256)
		batch_flush();
	nlh = mnl_nlmsg_put_header(batch_buf + batch_len);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	nlh->nlmsg_seq = batch_seq++;
	snprintf(batch_what[batch_msgs++], sizeof(batch_what[0]), "%s %s", what, name);
	return nlh;
}

static void batch_done(struct nlmsghdr *nlh)
{
	batch_len += MNL_ALIGN(nlh->nlmsg_len);
}

void net_batch_begin(int ns)
{
	net_enter(ns);
	nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		die("rtnetlink in namespace %s: %s", net_ns_name(ns), strerror(errno));
	/* room for the acknowledgements of a whole batch */
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVBUFFORCE, &(int){ 1 << 21 },
		   sizeof(int));
}

void net_batch_end(void)
{
	batch_flush();
	mnl_socket_close(nl);
	nl = NULL;
}

static unsigned int dev_index(const char *dev)
{
	unsigned int index = if_nametoindex(dev);

	if (!index)
		die("device %s in namespace %s: %s", dev, net_ns_name(current), strerror(errno));
	return index;
}

/* Neighbours need no resolution: the two ends of a link accept each other's frames. */
void net_dev_up(const struct net_dev *dev)
{
	struct nlmsghdr *nlh = batch_add(RTM_NEWLINK, 0, "ip link set", dev->name);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	bool loopback = !strcmp(dev->name, "lo");

	ifi->ifi_flags = IFF_UP | (loopback ? 0 : IFF_NOARP);
	ifi->ifi_change = ifi->ifi_flags;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, dev->name);
	if (dev->txqlen)
		mnl_attr_put_u32(nlh, IFLA_TXQLEN, dev->txqlen);
	if (dev->gso_segs)
		mnl_attr_put_u32(nlh, IFLA_GSO_MAX_SEGS, dev->gso_segs);
	batch_done(nlh);
}

static int parse_addr(const char *text, uint8_t addr[16], uint8_t *len)
{
	char host[64], *slash;
	int family;

	snprintf(host, sizeof(host), "%s", text);
	slash = strchr(host, '/');
	if (slash)
		*slash++ = 0;
	family = strchr(host, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(family, host, addr) != 1)
		die("the plan has %s where an address belongs", text);
	*len = slash ? atoi(slash) : family == AF_INET ? 32 : 128;
	return family;
}

void net_addr(const char *dev, const char *addr)
{
	struct nlmsghdr *nlh = batch_add(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, "ip addr add",
					 addr);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));
	uint8_t bytes[16];

	ifa->ifa_family = parse_addr(addr, bytes, &ifa->ifa_prefixlen);
	ifa->ifa_index = dev_index(dev);
	ifa->ifa_flags = IFA_F_NODAD;
	mnl_attr_put(nlh, IFA_LOCAL, ifa->ifa_family == AF_INET ? 4 : 16, bytes);
	mnl_attr_put(nlh, IFA_ADDRESS, ifa->ifa_family == AF_INET ? 4 : 16, bytes);
	batch_done(nlh);
}

static void put_nexthops(struct nlmsghdr *nlh, const struct net_route *route)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

	for (int i = 0; i < route->ndevs; i++) {
		struct rtnexthop *nh = (struct rtnexthop *)mnl_nlmsg_get_payload_tail(nlh);

		memset(nh, 0, sizeof(*nh));
		nh->rtnh_len = sizeof(*nh);
		nh->rtnh_ifindex = dev_index(route->devs[i]);
		nlh->nlmsg_len += sizeof(*nh);
	}
	mnl_attr_nest_end(nlh, nest);
}

void net_route(const struct net_route *route)
{
	struct nlmsghdr *nlh = batch_add(RTM_NEWROUTE, NLM_F_CREATE, "ip route add", route->dst);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	struct nlattr *metrics;
	uint32_t lock = 0;
	uint8_t bytes[16];

	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_type = RTN_UNICAST;
	rtm->rtm_scope = RT_SCOPE_LINK;
	if (!strcmp(route->dst, "default")) {
		rtm->rtm_family = AF_INET;
	} else if (!strcmp(route->dst, "default6")) {
		rtm->rtm_family = AF_INET6;
	} else {
		rtm->rtm_family = parse_addr(route->dst, bytes, &rtm->rtm_dst_len);
		mnl_attr_put(nlh, RTA_DST, rtm->rtm_family == AF_INET ? 4 : 16, bytes);
	}
	if (rtm->rtm_family == AF_INET6)
		rtm->rtm_scope = RT_SCOPE_UNIVERSE;
	if (route->ndevs == 1)
		mnl_attr_put_u32(nlh, RTA_OIF, dev_index(route->devs[0]));
	else
		put_nexthops(nlh, route);

	if (route->rto_min_ms || route->initcwnd || route->cwnd) {
		metrics = mnl_attr_nest_start(nlh, RTA_METRICS);
		/* The kernel heeds no least RTO, and no window, but one that is locked. */
		if (route->rto_min_ms) {
			mnl_attr_put_u32(nlh, RTAX_RTO_MIN, route->rto_min_ms);
			lock |= 1U << RTAX_RTO_MIN;
		}
		if (route->initcwnd)
			mnl_attr_put_u32(nlh, RTAX_INITCWND, route->initcwnd);
		if (route->cwnd) {
			mnl_attr_put_u32(nlh, RTAX_CWND, route->cwnd);
			lock |= 1U << RTAX_CWND;
		}
		if (lock)
			mnl_attr_put_u32(nlh, RTAX_LOCK, lock);
		mnl_attr_nest_end(nlh, metrics);
	}
	batch_done(nlh);
}
