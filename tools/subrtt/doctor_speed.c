// SPDX-License-Identifier: GPL-2.0
/* What doctor finds of the speed that departures are spaced at: tcp_bolt/rate.c, from outside */

#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subrtt.h"
#include "doctor.h"

/* As in tcp_bolt/rate.c: devices to look at for the speed of one, at most; counted in @steps */
#define STEPS	4096

static unsigned int steps;

/* The first answer of the devices below @dev, each before those below it; @who: whose it is */
static unsigned int walk_lower(const char *dev, unsigned int (*ask)(const char *dev), char **who)
{
	char *path = words("class/net/%s", dev);
	int fd = openat(bc_sysfs(), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned int answer = 0;
	struct dirent *e;

	while (dir && !answer && (e = readdir(dir))) {
		if (strncmp(e->d_name, "lower_", 6))
			continue;
		if (++steps > STEPS)
			break;
		*who = words("%s", e->d_name + 6);
		answer = ask(*who) ?: walk_lower(*who, ask, who);
	}
	if (dir)
		closedir(dir);
	free(path);
	return answer;
}

static unsigned int invented(const char *dev)
{
	static const char * const inventors[] = { "veth", "tun", NULL };

	return driver_is(dev, inventors);
}

static unsigned int reported(const char *dev)
{
	char *path = words("class/net/%s/speed", dev), s[32];
	int mbps = 0;

	if (bc_read_at(bc_sysfs(), path, s, sizeof(s)) > 0)
		mbps = atoi(s);
	free(path);
	return mbps > 0 ? mbps : 0;
}

static unsigned int exists(const char *dev)
{
	(void)dev;
	return 1;
}

static unsigned int fastest;

static unsigned int one_flow(const char *dev)
{
	char *path = words("class/net/%s/bonding/mode", dev), s[32] = "", *who;
	unsigned int mbps;

	bc_read_at(bc_sysfs(), path, s, sizeof(s));
	free(path);
	if (!strncmp(s, "balance-rr", 10) || !walk_lower(dev, exists, &who)) {
		mbps = reported(dev);
		if (mbps > fastest)
			fastest = mbps;
	}
	return 0;
}

static unsigned int speed_of(const char *dev)
{
	unsigned int mbps = reported(dev);
	char *who;

	if (invented(dev) || walk_lower(dev, invented, &who))
		return 0;
	fastest = 0;
	one_flow(dev);
	walk_lower(dev, one_flow, &who);
	if (steps > STEPS)
		return 0;
	return fastest && fastest < mbps ? fastest : mbps;
}

static void check_speed(const char *dev)
{
	unsigned int own, mbps;
	char *who;

	steps = 0;
	own = speed_of(dev);
	mbps = own ?: walk_lower(dev, speed_of, &who);
	if (own)
		found(D_OK, "speed", NULL, "%s: departures are spaced at %s, %s", dev,
		      tx_rate(own * 1000000ULL),
		      own < reported(dev) ? "the speed of one of its links" : "its own speed");
	else if (mbps)
		found(D_OK, "speed", NULL, "%s: departures are spaced at %s, the speed of %s",
		      dev, tx_rate(mbps * 1000000ULL), who);
	else
		found(D_NOTE, "speed",
		      "sudo sysctl -w net.bolt.rate_mbps=10000   # the rate of the link",
		      "the speed of %s is unknown: departures are not spaced, and windows start at ten packets, unless the route has an initcwnd",
		      dev);
}

/* An address that is routed; of IPv4 its name may have a label behind a colon */
static bool is_routed(const struct ifaddrs *a, const char *dev)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a->ifa_addr;
	size_t len = strlen(dev);

	if (!in6 || !(a->ifa_flags & IFF_UP) || a->ifa_flags & IFF_LOOPBACK ||
	    strncmp(a->ifa_name, dev, len) || (a->ifa_name[len] && a->ifa_name[len] != ':'))
		return false;
	return in6->sin6_family == AF_INET ||
	       (in6->sin6_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr));
}

void doctor_speeds(void)
{
	struct if_nameindex *all, *i;
	unsigned long long mbps;
	struct ifaddrs *list, *a;

	if (sysctl_read("net/bolt/rate_mbps", &mbps) && mbps) {
		found(D_OK, "speed", NULL, "departures are spaced at %s (net.bolt.rate_mbps)",
		      tx_rate(mbps * 1000000));
		return;
	}
	if (getifaddrs(&list))
		return;
	all = if_nameindex();
	for (i = all; i && i->if_index; i++) {
		for (a = list; a && !is_routed(a, i->if_name); a = a->ifa_next)
			;
		if (a)
			check_speed(i->if_name);
	}
	if (all)
		if_freenameindex(all);
	freeifaddrs(list);
}
