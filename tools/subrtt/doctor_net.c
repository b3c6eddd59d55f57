// SPDX-License-Identifier: GPL-2.0
/* What doctor finds on a host: settings, the control port, peers without the option. */

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/bolt.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "subrtt.h"
#include "diag.h"
#include "doctor.h"
#include "stats.h"

bool sysctl_read(const char *name, unsigned long long *v)
{
	char path[128], s[64];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	return bc_read_file(path, s, sizeof(s)) > 0 && sscanf(s, "%llu", v) == 1;
}

bool forwards(void)
{
	unsigned long long v4 = 0, v6 = 0;

	sysctl_read("net/ipv4/ip_forward", &v4);
	sysctl_read("net/ipv6/conf/all/forwarding", &v6);
	return v4 || v6;
}

unsigned int control_port(void)
{
	unsigned long long v;

	return sysctl_read("net/bolt/port", &v) ? v : BOLT_CTL_PORT;
}

void doctor_sysctls(void)
{
	unsigned long long rtt, hooks;
	char cc[64];

	bc_read_file("/proc/sys/net/ipv4/tcp_congestion_control", cc, sizeof(cc));
	if (!strcmp(cc, "bolt") || !strcmp(cc, "swift"))
		found(D_OK, "sysctl", NULL, "new sockets use %s", cc);
	else
		found(D_NOTE, "sysctl", "sudo sysctl -w net.ipv4.tcp_congestion_control=bolt",
		      "new sockets use %s, unless they or their route select bolt", cc);
	if (sysctl_read("net/bolt/hooks", &hooks) && !hooks)
		found(D_FIX, "sysctl", "sudo sysctl -w net.bolt.hooks=1",
		      "net.bolt.hooks is 0: no connection of this namespace carries the option, and none can be paused");
	if (!sysctl_read("net/bolt/base_rtt_ns", &rtt))
		found(D_FIX, "sysctl", replace_module("tcp_bolt", ""),
		      "net.bolt.* is missing: tcp_bolt is loaded, but not of this version");
	else if (!rtt)
		found(D_NOTE, "sysctl", "sudo sysctl -w net.bolt.base_rtt_ns=8000   # the fabric's round trip without queues",
		      "net.bolt.base_rtt_ns is 0: flows start with ten packets, unless their route has an initcwnd, and queues at switches without sfc are not bounded");
	else
		found(D_OK, "sysctl", NULL, "base round trip %s", tx_ns(rtt));
}

/* --- the control port --- */

static uint64_t datagrams(void)
{
	uint64_t v = 0;

	/* not CtlRx, which switches' messages move as well */
	stats_one("CtlShort", &v);
	return v;
}

/* Whether CtlShort moves within half a second; what comes, comes at once */
static bool moved(uint64_t from)
{
	struct timespec wait = { .tv_nsec = 1000 * 1000 };

	for (; wait.tv_nsec < 400 * 1000 * 1000; wait.tv_nsec *= 2) {
		if (datagrams() != from)
			return true;
		nanosleep(&wait, NULL);
	}
	return datagrams() != from;
}

/*
 * One byte is refused for its length (CtlShort).  An address in a VRF is known there only: @vrf, or
 * NULL.  Returns 0, or why it could not be sent.
 */
static int probe(const struct sockaddr *to, unsigned int port, const char *vrf)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = to->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
						   sizeof(struct sockaddr_in6);
	int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return errno;
	memcpy(&ss, to, len);
	/* the port is at the same place in both */
	((struct sockaddr_in *)&ss)->sin_port = htons(port);
	if ((vrf && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, vrf, strlen(vrf))) ||
	    sendto(fd, "", 1, 0, (struct sockaddr *)&ss, len) != 1)
		err = errno;
	close(fd);
	return err;
}

/* The line of /proc/net/udp for a socket bound to the port; its inode, 0: there is none */
static unsigned long bound(unsigned int port)
{
	static const char * const files[] = { "/proc/net/udp", "/proc/net/udp6" };
	unsigned long inode, found_inode = 0;
	unsigned int local, i;
	char line[512];
	FILE *f;

	for (i = 0; i < 2; i++) {
		f = fopen(files[i], "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, " %*u: %*[0-9A-F]:%x %*s %*s %*s %*s %*s %*s %*s %lu",
				   &local, &inode) == 2 && local == port)
				found_inode = inode;
		if (f)
			fclose(f);
	}
	return found_inode;
}

/* The process that has the socket; the kernel's own are nobody's */
static char *owner(unsigned long inode)
{
	char path[300], want[64], link[64], comm[64], *who = NULL;
	struct dirent *p, *e;
	DIR *proc = opendir("/proc"), *fds;
	ssize_t n;

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	while (proc && !who && (p = readdir(proc))) {
		if (strspn(p->d_name, "0123456789") != strlen(p->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fd", p->d_name);
		fds = opendir(path);
		while (fds && !who && (e = readdir(fds))) {
			n = readlinkat(dirfd(fds), e->d_name, link, sizeof(link) - 1);
			if (n < 0)
				continue;
			link[n] = '\0';
			if (strcmp(link, want))
				continue;
			snprintf(path, sizeof(path), "/proc/%s/comm", p->d_name);
			bc_read_file(path, comm, sizeof(comm));
			who = words("%s (process %s)", comm, p->d_name);
		}
		if (fds)
			closedir(fds);
	}
	if (proc)
		closedir(proc);
	return who;
}

/*
 * Each address of this machine is tried: filters tell them apart.  @lost_vrf: those in a
 * VRF, where the sysctl keeps them from a port that is in none.
 */
static void probe_all(unsigned int port, unsigned int *tried, char **lost, char **lost_vrf)
{
	char s[INET6_ADDRSTRLEN], vrf[IF_NAMESIZE], **which;
	unsigned long long accept = 1;
	struct ifaddrs *list, *a;
	bool in_vrf;
	const void *addr;
	uint64_t before;
	int err;

	*tried = 0;
	*lost = NULL;
	*lost_vrf = NULL;
	sysctl_read("net/ipv4/udp_l3mdev_accept", &accept);
	if (getifaddrs(&list))
		return;
	for (a = list; a; a = a->ifa_next) {
		if (!a->ifa_addr || !(a->ifa_flags & IFF_UP) || *tried >= 16)
			continue;
		if (a->ifa_addr->sa_family == AF_INET)
			addr = &((struct sockaddr_in *)a->ifa_addr)->sin_addr;
		else if (a->ifa_addr->sa_family == AF_INET6)
			addr = &((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr;
		else
			continue;
		before = datagrams();
		(*tried)++;
		/* of IPv4 it may be a label: "eth0:1" */
		a->ifa_name[strcspn(a->ifa_name, ":")] = '\0';
		in_vrf = vrf_of(a->ifa_name, vrf);
		err = probe(a->ifa_addr, port, in_vrf ? vrf : NULL);
		if (!err && moved(before))
			continue;
		inet_ntop(a->ifa_addr->sa_family, addr, s, sizeof(s));
		which = in_vrf && !accept ? lost_vrf : lost;
		*which = words("%s%s%s%s%s", *which ? *which : "", *which ? ", " : "", s,
			       err ? ": " : "", err ? strerror(err) : "");
	}
	freeifaddrs(list);
}

void doctor_port(bool some_only)
{
	unsigned int port = control_port(), other = port < 65535 ? port + 1 : port - 1, tried;
	unsigned long inode = bound(port);
	char *lost, *lost_vrf, *who;
	uint64_t v;

	if (!inode) {
		found(D_NOTE, "port", NULL,
		      "UDP %u is not open yet: the first bolt connection opens it, or net.bolt.sfc=1",
		      port);
		return;
	}
	who = owner(inode);
	if (who) {
		found(D_FIX, "port",
		      words("sudo sysctl -w net.bolt.port=%u   # and port %u on every sfc; or stop that program",
			    other, other),
		      "UDP %u is in use by %s, so control messages do not arrive", port, who);
		return;
	}
	if (!stats_one("CtlRx", &v)) {
		found(D_UNKNOWN, "port", NULL, "whether UDP %u receives cannot be checked: CAP_NET_ADMIN is needed",
		      port);
		return;
	}
	probe_all(port, &tried, &lost, &lost_vrf);
	if (lost_vrf)
		found(D_FIX, "port", "sudo sysctl -w net.ipv4.udp_l3mdev_accept=1",
		      "UDP %u does not receive what is sent to %s, in a VRF: net.ipv4.udp_l3mdev_accept is 0",
		      port, lost_vrf);
	if (lost && some_only)
		found(D_NOTE, "port", NULL,
		      "UDP %u does not receive what this machine itself sends to %s, as its filter may intend",
		      port, lost);
	else if (lost)
		found(D_FIX, "port",
		      with("nft", "nftables",
			   words("sudo nft list ruleset | grep -n -e %u -e 'hook input'   # then accept UDP port %u",
				 port, port)),
		      "UDP %u does not receive what is sent to %s: a filter drops it, or another program has the port",
		      port, lost);
	else if (!lost_vrf)
		found(D_OK, "port", NULL, "UDP %u receives on each of %u local addresses", port,
		      tried);
}

/* What is refused comes from somebody whose settings are others, or from an attacker. */
void doctor_refused(void)
{
	static const struct {
		const char *name, *why;
	} c[] = {
		{ "CtlVersion", "unknown version: a switch runs another release" },
		{ "CtlTtl", "TTL below net.bolt.min_ttl" },
		{ "CtlTag", "tag missing or invalid: an sfc needs the key of net.bolt.tag_key" },
		{ "CtlPort", "sent from another port: a translator may have changed it" },
		{ "CtlOverrun", "too many messages deferred for one socket" },
	};
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		if (stats_one(c[i].name, &n) && n)
			found(D_NOTE, "messages", NULL, "%llu control messages refused so far (%s): %s",
			      (unsigned long long)n, c[i].name, c[i].why);
}

/* --- peers --- */

void doctor_peers(void)
{
	uint64_t negotiated = 0, fallback = 0, plain = 0, late = 0, all;
	unsigned int i, with = 0;
	struct diag_table t;
	bool counted;

	if (diag_read(&t, DIAG_STATES_CONNECTED, false)) {
		found(D_UNKNOWN, "peers", "sudo modprobe tcp_diag",
		      "connections cannot be listed (inet_diag)");
		return;
	}
	for (i = 0; i < t.n; i++)
		with += !strcmp(t.s[i].cong, "bolt") || !strcmp(t.s[i].cong, "swift");
	diag_free(&t);
	counted = stats_one("Negotiated", &negotiated);
	stats_one("Fallback", &fallback);
	stats_one("SwiftPlain", &plain);
	stats_one("FallbackLate", &late);
	fallback += plain;
	/* those that lost it later are among both */
	all = negotiated + fallback - late;
	if (!counted)
		found(D_UNKNOWN, "peers", NULL,
		      "%u connections with bolt or swift now; how many ran without the option is unknown: CAP_NET_ADMIN is needed",
		      with);
	else if (fallback)
		found(D_NOTE, "peers", NULL,
		      "%llu of %llu connections so far ran without the option (%llu lost it later)",
		      (unsigned long long)fallback, (unsigned long long)all,
		      (unsigned long long)late);
	else
		found(D_OK, "peers", NULL, "%u connections with bolt or swift now, %llu so far",
		      with, (unsigned long long)negotiated);
}
