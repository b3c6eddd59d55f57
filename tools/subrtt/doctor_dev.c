// SPDX-License-Identifier: GPL-2.0
/*
 * What doctor finds of ports with sfc: a queue that builds where sfc does not see it, a speed
 * it does not know, settings that do not fit each other.
 */

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "subrtt.h"
#include "doctor.h"
#include "qdisc.h"

/* Packets in a ring without byte queue limits that hide more of the queue than ccthresh */
#define RING_MAX	128

/*
 * Ports; those on a device with another; those of these that are not one port with it, where one
 * takes the device's speed for its own; devices below a bridge
 */
static unsigned int ports, same, apart, bridged;
static char last[IFNAMSIZ];
static bool last_full;

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

bool driver_is(const char *dev, const char * const *names)
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
	const char *fix;

	if (p->rate || has_bql(p->dev) || !ethtool(p->dev, &r) || r.tx_pending <= RING_MAX)
		return;
	fix = words("sudo ethtool -G %s tx %u", p->dev, RING_MAX);
	found(D_FIX, "ring", with("ethtool", "ethtool", fix),
	      "%s: a transmit ring of %u packets without byte queue limits hides the queue from sfc",
	      p->dev, r.tx_pending);
}

/* A root sfc that could be one for each transmit queue, which together are one port */
static bool is_one_of_many(const struct qdisc_port *p)
{
	char path[64];
	int sys = bc_sysfs();

	snprintf(path, sizeof(path), "class/net/%s/queues/tx-1", p->dev);
	return !strcmp(p->where, "root") && !p->rate && p->bands == 1 &&
	       !(p->flags & TC_SFC_F_PAPER) && sys >= 0 && !faccessat(sys, path, F_OK, 0);
}

static bool is_bridge_port(const char *dev)
{
	char path[64], s[32];
	int sys = bc_sysfs();

	snprintf(path, sizeof(path), "class/net/%s/brport/port_no", dev);
	return sys >= 0 && bc_read_at(sys, path, s, sizeof(s)) > 0;
}

/* Has @dev a master of one of @drivers?  The kernel then takes what comes in for the master's. */
static bool has_master(const char *dev, const char * const *drivers, char *name)
{
	char path[64], s[32];
	int sys = bc_sysfs();

	snprintf(path, sizeof(path), "class/net/%s/master/ifindex", dev);
	return sys >= 0 && bc_read_at(sys, path, s, sizeof(s)) > 0 &&
	       if_indextoname(strtoul(s, NULL, 10), name) && driver_is(name, drivers);
}

static const char * const vrf[] = { "vrf", NULL };

bool vrf_of(const char *dev, char *name)
{
	snprintf(name, IF_NAMESIZE, "%s", dev);
	return driver_is(dev, vrf) || has_master(dev, vrf, name);
}

/*
 * PAUSE frames come to sfc only where neither the NIC nor a bridge takes them, and it sends some
 * only where it learns by which device a packet came.
 */
static void check_pfc(const struct qdisc_port *p)
{
	static const char * const lag[] = { "bonding", "team", NULL };
	struct ethtool_pauseparam pause = { .cmd = ETHTOOL_GPAUSEPARAM };
	char name[IF_NAMESIZE];

	if (!p->pfc)
		return;
	if (has_master(p->dev, lag, name)) {
		found(D_NOTE, "pfc", NULL,
		      "%s is a link of a bond or a team, which gets its packets: give pfc to that device, as here it neither sends nor obeys PAUSE frames",
		      p->dev);
		return;
	}
	if (has_master(p->dev, vrf, name))
		found(D_NOTE, "pfc", NULL,
		      "%s is in a VRF, so the ingress of its packets is unknown: pfc does not ask its neighbour to pause",
		      p->dev);
	if (is_bridge_port(p->dev))
		found(D_FIX, "pfc", words("sudo ip link set %s nomaster", p->dev),
		      "%s is a port of a bridge, which drops PAUSE frames: pfc receives none",
		      p->dev);
	else if (ethtool(p->dev, &pause))
		found(D_NOTE, "pfc", NULL,
		      "%s: the NIC may answer PAUSE frames itself: then pfc receives none, and needs none",
		      p->dev);
}

/* An address of this machine's own */
static bool is_local(uint32_t addr4)
{
	struct ifaddrs *list, *a;
	bool local = false;

	if (getifaddrs(&list))
		return false;
	for (a = list; a; a = a->ifa_next)
		local |= a->ifa_addr && a->ifa_addr->sa_family == AF_INET &&
			 ((struct sockaddr_in *)a->ifa_addr)->sin_addr.s_addr == addr4;
	freeifaddrs(list);
	return local;
}

/* The kernel takes either for the device */
static bool is_set(const char *option, const char *dev)
{
	unsigned long long of_dev = 0, of_all = 0;
	char name[64];

	snprintf(name, sizeof(name), "net/ipv4/conf/%s/%s", dev, option);
	sysctl_read(name, &of_dev);
	snprintf(name, sizeof(name), "net/ipv4/conf/all/%s", option);
	sysctl_read(name, &of_all);
	return of_dev || of_all;
}

/*
 * The command that sets an option where the port is.  tc "replace" changes a qdisc of that kind,
 * and finds one that the kernel made, which has no handle; below such a parent tc finds none.
 */
static char *set(const struct qdisc_port *p, const char *option)
{
	if (!strncmp(p->parent, "0:", 2))
		return words("sudo tc qdisc replace dev %s root handle 1: mq   # then: sudo subrtt doctor",
			     p->dev);
	return words("sudo tc qdisc replace dev %s %s sfc %s", p->dev, p->where, option);
}

static bool has_key(void)
{
	char s[8];

	return bc_read_file("/proc/sys/net/bolt/tag_key", s, sizeof(s)) > 0 &&
	       !strncmp(s, "set", 3);
}

/* Does it send control messages? */
static bool sends(const struct qdisc_port *p)
{
	uint32_t src = TC_SFC_F_BOLT | TC_SFC_F_SRC;

	return (p->flags & src) == src || p->flags & TC_SFC_F_PAUSE || p->srcc;
}

static void check_port(const struct qdisc_port *p, void *arg)
{
	/* as ethtool -i has them: they hand a packet on at once, or drop it */
	static const char * const queueless[] = {
		"veth", "dummy", "tun", "bridge", "802.1Q VLAN Support", "macvlan", "ipvlan",
		"vxlan", "geneve", "bonding", "team", "wireguard", NULL
	};
	static const char * const ifb[] = { "ifb", NULL };
	struct ethtool_value tso = { .cmd = ETHTOOL_GTSO };

	bool full = p->st->queues < 2 && !p->rate && !p->link;

	(void)arg;
	ports++;
	if (p->any->len && !p->st->tagged && sends(p) && has_key())
		found(D_FIX, "key", set(p, "tagkey KEY   # that of net.bolt.tag_key"),
		      "%s sends control messages without a tag, and hosts with a key (net.bolt.tag_key) refuse them",
		      p->dev);
	if (!strcmp(last, p->dev)) {
		same++;
		apart += full || last_full;
		return;
	}
	last_full = full;
	snprintf(last, sizeof(last), "%s", p->dev);
	bridged += is_bridge_port(p->dev);

	if (!p->any->len)
		found(D_FIX, "qdisc",
		      words("%s   # then its qdiscs anew",
			    replace_module("sch_sfc", without_qdiscs("", p->dev))),
		      "the loaded sch_sfc is of another version than this subrtt: its statistics cannot be read");
	else if (!p->st->link_rate)
		found(D_FIX, "speed",
		      set(p, "link 100gbit   # the rate of its link"),
		      "%s does not report its speed, so sfc grants no tokens and sends no SRC",
		      p->dev);
	else if (!p->rate && driver_is(p->dev, queueless))
		found(D_FIX, "queue",
		      set(p, "rate 10gbit   # less than the link behind it"),
		      "%s has no queue of its own: packets pass at once, so sfc never sees a queue",
		      p->dev);
	else if (is_one_of_many(p))
		found(D_NOTE, "mq",
		      words("sudo tc qdisc replace dev %s root handle 1: mq; for q in $(seq $(ls -d /sys/class/net/%s/queues/tx-* | wc -l)); do sudo tc qdisc replace dev %s parent 1:$(printf %%x $q) sfc; done   # with the options of this one",
			    p->dev, p->dev, p->dev),
		      "%s has several transmit queues, but one sfc, which all CPUs wait for and which sees none of its rings",
		      p->dev);
	check_ring(p);
	check_pfc(p);
	if (!(p->flags & TC_SFC_F_SPLIT_GSO) && ethtool(p->dev, &tso) && tso.data)
		found(D_NOTE, "offload",
		      set(p, "split-gso"),
		      "%s does not split super-packets, so one mark applies to up to 64 KB",
		      p->dev);
	if (p->udp_port != control_port() && module_loaded("tcp_bolt"))
		found(D_NOTE, "sysctl",
		      set(p, words("port %u", control_port())),
		      "%s sends control messages to UDP %u, but this host listens on %u", p->dev,
		      p->udp_port, control_port());
	if (p->addr4 && is_local(p->addr4) && !is_set("accept_local", p->dev))
		found(D_FIX, "sysctl",
		      /* the name of a device may have dots */
		      words("sudo sysctl -w net/ipv4/conf/%s/accept_local=1", p->dev),
		      "%s: control messages from its own address (addr) are dropped as spoofed",
		      p->dev);
	if (is_set("rp_filter", p->dev) && driver_is(p->dev, ifb))
		found(D_NOTE, "sysctl",
		      words("sudo sysctl -w net/ipv4/conf/all/rp_filter=0 net/ipv4/conf/%s/rp_filter=0   # other devices then by their own",
			    p->dev),
		      "%s: control messages enter the stack on this ifb, where rp_filter drops them (2: unless the ifb has an address)",
		      p->dev);
}

/* The first device that a port could be, for an example that can be run */
static char *some_device(void)
{
	struct if_nameindex *all = if_nameindex(), *i;
	char *name = NULL;

	for (i = all; i && i->if_index && !name; i++)
		if (strcmp(i->if_name, "lo"))
			name = words("%s", i->if_name);
	if (all)
		if_freenameindex(all);
	return name;
}

static void check_hold(void)
{
	unsigned long long sfc = 0;
	struct qdisc_hold hold;

	if (!qdisc_hold(&hold))
		return;
	if (!hold.believes)
		found(D_FIX, "qdisc",
		      words("sudo tc qdisc change dev %s %s sfc_hold tagkey KEY   # that of the switches' sfc; or notagkey",
			    hold.dev, hold.where),
		      "%s (sfc_hold) believes no BTS, since it has neither tagkey nor notagkey",
		      hold.dev);
	if (sysctl_read("net/bolt/sfc", &sfc) && !sfc)
		found(D_NOTE, "sysctl", "sudo sysctl -w net.bolt.sfc=1",
		      "%s (sfc_hold) holds packets other than TCP, but TCP on this host ignores pauses",
		      hold.dev);
}

void doctor_devices(void)
{
	int status = qdisc_each(check_port, NULL);
	char *dev;

	if (status) {
		found(D_UNKNOWN, "qdisc", NULL, "ports cannot be listed");
		return;
	}
	check_hold();
	if (!ports) {
		dev = some_device();
		found(D_NOTE, "qdisc",
		      dev ? words("sudo tc qdisc replace dev %s root sfc", dev) : NULL,
		      "no device has sfc");
		return;
	}
	found(D_OK, "qdisc", NULL, "%u ports with sfc", ports);
	if (apart)
		found(D_NOTE, "qdisc", NULL,
		      "several sfc on one device are one port only below mq and without bands: elsewhere each without link or rate assumes the full speed");
	/* a bridge needs no routing */
	if (ports - same - bridged > 1 && !forwards())
		found(D_NOTE, "sysctl", "sudo sysctl -w net.ipv4.ip_forward=1",
		      "this router does not forward packets, so control messages do not reach the senders");
}
