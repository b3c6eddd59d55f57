// SPDX-License-Identifier: GPL-2.0
/*
 * What doctor finds of ports with sfc: a queue that builds where sfc does not see it, a speed
 * it does not know, settings that do not fit each other.
 */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boltctl.h"
#include "doctor.h"
#include "qdisc.h"

/* Packets in a ring without byte queue limits that hide more of the queue than ccthresh */
#define RING_MAX	128

static unsigned int ports, same;
static char last[IFNAMSIZ];

static bool ethtool(const char *dev, void *data)
{
	struct ifreq ifr = { .ifr_data = data };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return false;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	err = ioctl(fd, SIOCETHTOOL, &ifr);
	close(fd);
	return !err;
}

static bool driver_is(const char *dev, const char * const *names)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	if (!ethtool(dev, &info))
		return false;
	for (; *names; names++)
		if (!strcmp(info.driver, *names))
			return true;
	return false;
}

/*
 * Byte queue limits keep a ring short, where the driver has them.  Older kernels show them for any
 * device; those at work are above zero from the first packets on.
 */
static bool has_bql(const char *dev)
{
	char path[128], s[32];
	int sys = bc_sysfs();

	snprintf(path, sizeof(path), "class/net/%s/queues/tx-0/byte_queue_limits/limit", dev);
	return sys >= 0 && bc_read_at(sys, path, s, sizeof(s)) > 0 && atoi(s);
}

static void check_ring(const struct qdisc_port *p)
{
	struct ethtool_ringparam r = { .cmd = ETHTOOL_GRINGPARAM };

	if (p->rate || has_bql(p->dev) || !ethtool(p->dev, &r) || r.tx_pending <= RING_MAX)
		return;
	found(D_MEND, "ring", words("sudo ethtool -G %s tx %u", p->dev, RING_MAX),
	      "%s: a transmit ring of %u packets without byte queue limits hides the queue from sfc",
	      p->dev, r.tx_pending);
}

static void check_port(const struct qdisc_port *p)
{
	static const char * const queueless[] = { "veth", "dummy", "tun", "bridge", NULL };
	unsigned long long sfc = 0, accept_local = 0;
	struct ethtool_value tso = { .cmd = ETHTOOL_GTSO };
	char name[64];

	ports++;
	same += !strcmp(last, p->dev);
	if (!strcmp(last, p->dev))
		return;
	snprintf(last, sizeof(last), "%s", p->dev);

	if (!p->st->link_rate)
		found(D_MEND, "speed",
		      words("sudo tc qdisc change dev %s root sfc link 100gbit   # what it carries",
			    p->dev),
		      "%s does not say its speed: no tokens, and SRC without a rate", p->dev);
	else if (!p->rate && driver_is(p->dev, queueless))
		found(D_MEND, "queue",
		      words("sudo tc qdisc change dev %s root sfc rate 10gbit   # below what is behind it",
			    p->dev),
		      "%s has no queue of its own: packets pass at once, and sfc sees none wait",
		      p->dev);
	check_ring(p);
	if (!(p->flags & TC_SFC_F_SPLIT_GSO) && ethtool(p->dev, &tso) && tso.data)
		found(D_NOTE, "offload",
		      words("sudo tc qdisc change dev %s root sfc split-gso", p->dev),
		      "%s: super-packets are not split: a mark counts for up to 64 KB", p->dev);
	if (p->udp_port != control_port() && module_loaded("tcp_bolt"))
		found(D_NOTE, "sysctl",
		      words("sudo tc qdisc change dev %s root sfc port %u", p->dev, control_port()),
		      "%s sends control messages to UDP %u, this host listens on %u", p->dev,
		      p->udp_port, control_port());
	if ((p->flags & TC_SFC_F_HOLD) && sysctl_read("net/bolt/sfc", &sfc) && !sfc)
		found(D_NOTE, "sysctl", "sudo sysctl -w net.bolt.sfc=1",
		      "%s holds what is not TCP, but TCP here ignores pauses", p->dev);
	snprintf(name, sizeof(name), "net/ipv4/conf/%s/accept_local", p->dev);
	if (p->addr4 && sysctl_read(name, &accept_local) && !accept_local)
		found(D_MEND, "sysctl",
		      words("sudo sysctl -w net.ipv4.conf.%s.accept_local=1", p->dev),
		      "%s: control messages from its own address (addr) are dropped as spoofed",
		      p->dev);
}

void doctor_devices(void)
{
	unsigned long long forward = 0;
	int status = qdisc_each(check_port);

	if (status) {
		found(D_UNKNOWN, "qdisc", NULL, "ports cannot be listed");
		return;
	}
	if (!ports) {
		found(D_NOTE, "qdisc", "sudo tc qdisc replace dev eth0 root sfc",
		      "no device has sfc");
		return;
	}
	found(D_OK, "qdisc", NULL, "%u with sfc", ports);
	if (same)
		found(D_NOTE, "qdisc", NULL,
		      "several sfc on one device (below mq): each believes in the whole speed");
	if (ports - same > 1 && sysctl_read("net/ipv4/ip_forward", &forward) && !forward)
		found(D_NOTE, "sysctl", "sudo sysctl -w net.ipv4.ip_forward=1",
		      "ports of a router that does not forward: control messages do not find their way");
}
