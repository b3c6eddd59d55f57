// SPDX-License-Identifier: GPL-2.0
/* boltctl qdisc: sfc on every device, its options and statistics. */

#include <errno.h>
#include <getopt.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/tc.h>
#include <stdlib.h>
#include <string.h>

#include "attrs.h"
#include "boltctl.h"
#include "qdisc.h"

static struct {
	struct port *p;
	unsigned int n, room;
	char **wanted;
	int n_wanted;
	bool all;
	struct nl_cache *links;
} q;

static const char *dev_name(int ifindex, char *buf, size_t len)
{
	if (!rtnl_link_i2name(q.links, ifindex, buf, len))
		snprintf(buf, len, "if%d", ifindex);
	return buf;
}

static void print_json(const struct port *p, const char *dev)
{
	char s[32];

	js_begin(NULL, '{');
	js_str("dev", dev);
	js_u64("ifindex", p->ifindex);
	js_str("handle", rtnl_tc_handle2str(p->handle, s, sizeof(s)));
	if (p->parent == TC_H_ROOT)
		js_bool("root", true);
	else
		js_str("parent", rtnl_tc_handle2str(p->parent, s, sizeof(s)));
	js_begin("options", '{');
	qdisc_options(p);
	js_end('}');
	js_u64("bytes", p->basic.bytes);
	js_u64("packets", p->basic.packets);
	js_u64("drops", p->queue.drops);
	js_u64("overlimits", p->queue.overlimits);
	js_u64("requeues", p->queue.requeues);
	js_u64("backlog", p->queue.backlog);
	js_u64("qlen", p->queue.qlen);
	js_begin("sfc", '{');
	qdisc_counters(p, q.all);
	js_end('}');
	js_end('}');
}

static void print_text(const struct port *p, const char *dev)
{
	char handle[32], parent[32];

	printf("%s sfc %s %s%s\n ", dev, rtnl_tc_handle2str(p->handle, handle, sizeof(handle)),
	       p->parent == TC_H_ROOT ? "root" : "parent ",
	       p->parent == TC_H_ROOT ? "" :
	       rtnl_tc_handle2str(p->parent, parent, sizeof(parent)));
	qdisc_options(p);
	printf("\n  sent   %s in %u packets, dropped %u; waiting %s in %u",
	       tx_bytes(p->basic.bytes), p->basic.packets, p->queue.drops,
	       tx_bytes(p->queue.backlog), p->queue.qlen);
	qdisc_counters(p, q.all);
}

/* --- asking the kernel --- */

static struct nl_msg *build(void *arg)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETQDISC, NLM_F_DUMP);
	struct tcmsg tc = { .tcm_family = AF_UNSPEC };

	(void)arg;
	/* of children that the kernel keeps quiet about as well: taprio's, mq's default ones */
	if (msg && (nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO) ||
		    nla_put_flag(msg, TCA_DUMP_INVISIBLE))) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

static void reset(void *arg)
{
	(void)arg;
	while (q.n)
		free(q.p[--q.n].msg);
}

static bool wanted(int ifindex)
{
	char dev[IFNAMSIZ];
	int i;

	if (!q.n_wanted)
		return true;
	dev_name(ifindex, dev, sizeof(dev));
	for (i = 0; i < q.n_wanted; i++)
		if (!strcmp(dev, q.wanted[i]))
			return true;
	return false;
}

static void read_stats(struct port *p, struct nlattr *stats)
{
	struct nlattr *tb[TCA_STATS_MAX + 1];

	if (!stats || nla_parse_nested(tb, TCA_STATS_MAX, stats, NULL))
		return;
	if (tb[TCA_STATS_BASIC])
		nla_memcpy(&p->basic, tb[TCA_STATS_BASIC], sizeof(p->basic));
	if (tb[TCA_STATS_QUEUE])
		nla_memcpy(&p->queue, tb[TCA_STATS_QUEUE], sizeof(p->queue));
	if (tb[TCA_STATS_APP])
		p->st_len = nla_memcpy(&p->st, tb[TCA_STATS_APP], sizeof(p->st));
}

static int entry(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *tb[TCA_MAX + 1];
	struct tcmsg *tc = nlmsg_data(nlh);
	struct port *p;

	(void)arg;
	if (nlh->nlmsg_type != RTM_NEWQDISC)
		return BC_OK;
	if (nlmsg_parse(nlh, sizeof(*tc), tb, TCA_MAX, NULL))
		return bc_error(BC_FAIL, "qdiscs: the kernel's answer cannot be read");
	if (!tb[TCA_KIND] || nla_strcmp(tb[TCA_KIND], "sfc") || !wanted(tc->tcm_ifindex))
		return BC_OK;
	if (q.n == q.room) {
		unsigned int room = q.room ? 2 * q.room : 16;
		struct port *more = realloc(q.p, room * sizeof(*more));

		if (!more)
			return bc_error(BC_FAIL, "no memory");
		q.p = more;
		q.room = room;
	}
	p = &q.p[q.n];
	memset(p, 0, sizeof(*p));
	p->msg = malloc(nlh->nlmsg_len);
	if (!p->msg)
		return bc_error(BC_FAIL, "no memory");
	q.n++;
	memcpy(p->msg, nlh, nlh->nlmsg_len);
	nlmsg_parse(p->msg, sizeof(*tc), tb, TCA_MAX, NULL);
	p->ifindex = tc->tcm_ifindex;
	p->handle = tc->tcm_handle;
	p->parent = tc->tcm_parent;
	if (tb[TCA_OPTIONS] && nla_parse_nested(p->tb, TCA_SFC_MAX, tb[TCA_OPTIONS], NULL))
		return bc_error(BC_FAIL, "qdiscs: the options of sfc cannot be read");
	read_stats(p, tb[TCA_STATS2]);
	return BC_OK;
}

static int read_ports(void)
{
	const struct bc_dump d = {
		.build = build, .entry = entry, .reset = reset, .what = "qdiscs",
	};
	struct nl_sock *sk;
	int status, err, i;

	sk = bc_nl_open(NETLINK_ROUTE, &status);
	if (!sk)
		return status;
	err = rtnl_link_alloc_cache(sk, AF_UNSPEC, &q.links);
	if (err) {
		nl_socket_free(sk);
		return bc_error(BC_FAIL, "devices: %s", nl_geterror(err));
	}
	for (i = 0; i < q.n_wanted && !status; i++)
		if (!rtnl_link_name2i(q.links, q.wanted[i]))
			status = bc_error(BC_ABSENT, "no device %s", q.wanted[i]);
	if (!status)
		status = bc_nl_dump(sk, &d);
	nl_socket_free(sk);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' },
		BC_LONG_COMMON
	};
	char dev[IFNAMSIZ];
	unsigned int i;
	int status;

	while (bc_getopt(argc, argv, "a", longs, &status))
		q.all = true;
	if (status)
		return status;
	q.wanted = argv + optind;
	q.n_wanted = argc - optind;
	status = read_ports();
	if (status)
		return status;
	if (conf.json)
		js_begin(NULL, '[');
	for (i = 0; i < q.n; i++) {
		dev_name(q.p[i].ifindex, dev, sizeof(dev));
		if (conf.json)
			print_json(&q.p[i], dev);
		else
			print_text(&q.p[i], dev);
	}
	if (conf.json)
		js_end(']');
	return bc_flush();
}

/* For doctor: calls @fn for each port with sfc */
int qdisc_each(void (*fn)(const struct qdisc_port *port))
{
	unsigned int i;
	int status = read_ports();

	for (i = 0; i < q.n && !status; i++) {
		const struct port *p = &q.p[i];
		struct nla_bitfield32 flags = { 0 };
		struct qdisc_port port = {
			.root = p->parent == TC_H_ROOT,
			.st = &p->st,
			.udp_port = at_num(p->tb[TCA_SFC_PORT]),
			.rate = at_num(p->tb[TCA_SFC_RATE64]),
			.addr4 = at_num(p->tb[TCA_SFC_ADDR4]),
		};

		if (p->tb[TCA_SFC_FLAGS])
			nla_memcpy(&flags, p->tb[TCA_SFC_FLAGS], sizeof(flags));
		port.flags = flags.value;
		dev_name(p->ifindex, port.dev, sizeof(port.dev));
		fn(&port);
	}
	return status;
}

const struct bc_cmd cmd_qdisc = {
	.name = "qdisc",
	.run = run,
	.what = "a router's ports: sfc on every device, its options and counters",
	.usage = "[--all] [DEVICE...]",
	.help =
"The qdisc sfc on every device, or on those named: below the device its options, in the words\n"
"that tc takes; what it sent, dropped and holds; then its counters, those that are 0 left out.\n"
"tc-sfc(8) says what each means.\n"
"\n"
"  -a, --all   counters that are 0 as well (JSON has them always)\n"
"\n"
"Examples:\n"
"  boltctl qdisc                     every port\n"
"  boltctl -n r1 qdisc eth1          one port of the router in namespace r1\n"
"  boltctl -j qdisc | jq '.[] | {dev, src: .sfc.src_sent, drops}'\n"
"\n"
"What to look for:\n"
"  link_rate unknown    the device does not say its speed: tc qdisc change dev DEV root sfc link RATE\n"
"  congested absent     under load: the queue is somewhere else, in the device's ring for\n"
"                       instance; boltctl doctor says more\n"
"  src_limited          more control messages than srcrate lets pass\n",
};
