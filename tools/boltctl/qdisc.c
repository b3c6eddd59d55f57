// SPDX-License-Identifier: GPL-2.0
/*
 * boltctl qdisc: sfc on every device, options and statistics.  Names are those of tc: what
 * stands behind "sfc" can be given to it again, and JSON has the same keys.
 */

#include <arpa/inet.h>
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

#include "boltctl.h"
#include "qdisc.h"

#define N(a)	(sizeof(a) / sizeof((a)[0]))

struct port {
	int ifindex;
	uint32_t handle, parent;
	struct nlattr *tb[TCA_SFC_MAX + 1];
	struct tc_sfc_xstats st;
	unsigned int st_len;
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct nlmsghdr *msg;	/* what tb points into */
};

static struct {
	struct port *p;
	unsigned int n, room;
	char **wanted;
	int n_wanted;
	bool all;
	struct nl_cache *links;
} q;

/* --- options --- */

enum kind {
	RATE, SIZE, SIZE_AUTO, SIZE_OFF, TIME, TIME_OFF, SUPPRESS, BTS, NUMBER, ADDR4, ADDR6, FLAGS,
};

static const struct {
	const char *name;
	int type;
	enum kind kind;
} options[] = {		/* in the order tc prints them */
	{ "rate",	TCA_SFC_RATE64,		RATE },
	{ "link",	TCA_SFC_LINK64,		RATE },
	{ "limit",	TCA_SFC_LIMIT,		SIZE },
	{ "overhead",	TCA_SFC_OVERHEAD,	NUMBER },
	{ "ccthresh",	TCA_SFC_CCTHRESH,	SIZE_AUTO },
	{ "smcap",	TCA_SFC_SMCAP,		SIZE_AUTO },
	{ NULL,		TCA_SFC_FLAGS,		FLAGS },
	{ "bts",	TCA_SFC_BTS,		BTS },
	{ "rtt",	TCA_SFC_RTT,		TIME },
	{ "qth",	TCA_SFC_QTH,		SIZE_AUTO },
	{ "qtg",	TCA_SFC_QTG,		SIZE_AUTO },
	{ "suppress",	TCA_SFC_SUPPRESS,	SUPPRESS },
	{ "maxpause",	TCA_SFC_MAXPAUSE,	TIME },
	{ "estimator",	TCA_SFC_ESTIMATOR,	TIME_OFF },
	{ "serverrate",	TCA_SFC_SERVERRATE64,	RATE },
	{ "ecn",	TCA_SFC_ECN,		SIZE_OFF },
	{ "holdshare",	TCA_SFC_HOLDSHARE,	NUMBER },
	{ "minttl",	TCA_SFC_MINTTL,		NUMBER },
	{ "switch_id",	TCA_SFC_SWITCH_ID,	NUMBER },
	{ "srcrate",	TCA_SFC_SRCRATE,	NUMBER },
	{ "port",	TCA_SFC_PORT,		NUMBER },
	{ "ttl",	TCA_SFC_TTL,		NUMBER },
	{ "addr4",	TCA_SFC_ADDR4,		ADDR4 },
	{ "addr6",	TCA_SFC_ADDR6,		ADDR6 },
};

static const struct {
	const char *on, *off, *json;
	uint32_t flag;
} switches[] = {
	{ "bolt",	"nobolt",	"bolt",		TC_SFC_F_BOLT },
	{ "src",	"nosrc",	"src",		TC_SFC_F_SRC },
	{ "pru",	"nopru",	"pru",		TC_SFC_F_PRU },
	{ "sm",		"nosm",		"sm",		TC_SFC_F_SM },
	{ "split-gso",	"no-split-gso",	"split_gso",	TC_SFC_F_SPLIT_GSO },
	{ "sfc",	"nosfc",	"sfc",		TC_SFC_F_SFC },
	{ "edge",	"noedge",	"edge",		TC_SFC_F_EDGE },
	{ "cache",	"nocache",	"cache",	TC_SFC_F_CACHE },
	{ "hold",	"nohold",	"hold",		TC_SFC_F_HOLD },
};

static const char * const bts_names[] = {
	[TC_SFC_BTS_INGRESS]	= "ingress",
	[TC_SFC_BTS_EGRESS]	= "egress",
	[TC_SFC_BTS_OFF]	= "off",
};

static void word(const char *name, const char *value)
{
	if (conf.json)
		js_str(name, value);
	else
		printf(" %s %s", name, value);
}

/* Whole numbers with the largest unit that divides them: exactly what can be typed again */
static void exact(const char *name, uint64_t v, uint64_t step, const char * const *units,
		  uint64_t json)
{
	if (conf.json) {
		js_u64(name, json);
		return;
	}
	for (; v && !(v % step) && units[1]; units++)
		v /= step;
	printf(" %s %llu%s", name, (unsigned long long)v, *units);
}

static void print_switches(const struct nla_bitfield32 *f)
{
	unsigned int i;

	for (i = 0; i < N(switches); i++) {
		bool on = f->value & switches[i].flag;

		if (!(f->selector & switches[i].flag))
			continue;
		if (conf.json)
			js_bool(switches[i].json, on);
		else
			printf(" %s", on ? switches[i].on : switches[i].off);
	}
}

/* The attribute's first bytes; 0 in those that a shorter one has not */
static uint64_t value(const struct nlattr *a)
{
	uint64_t v64 = 0;
	uint32_t v32 = 0;

	switch (nla_len(a)) {
	case 1:
		return *(uint8_t *)nla_data(a);
	case 2:
		return *(uint16_t *)nla_data(a);
	case 4:
		memcpy(&v32, nla_data(a), sizeof(v32));
		return v32;
	case 8:
		memcpy(&v64, nla_data(a), sizeof(v64));
		return v64;
	}
	return 0;
}

static void print_option(const char *name, enum kind kind, const struct nlattr *a)
{
	static const char * const sizes[] = { "b", "Kb", "Mb", NULL };
	static const char * const times[] = { "ns", "us", "ms", NULL };
	static const char * const rates[] = { "bit", "Kbit", "Mbit", "Gbit", NULL };
	struct nla_bitfield32 flags = { 0 };
	uint64_t v = value(a);
	char s[INET6_ADDRSTRLEN];

	switch (kind) {
	case FLAGS:
		if (nla_len(a) >= (int)sizeof(flags))
			memcpy(&flags, nla_data(a), sizeof(flags));
		print_switches(&flags);
		return;
	case ADDR4:
	case ADDR6:
		if (nla_len(a) < (kind == ADDR4 ? 4 : 16))
			return;
		inet_ntop(kind == ADDR4 ? AF_INET : AF_INET6, nla_data(a), s, sizeof(s));
		if (conf.json)
			js_str(name, s);
		else
			printf(" addr %s", s);
		return;
	case RATE:
		if (v)
			exact(name, v * 8, 1000, rates, v);
		return;
	case SIZE:
	case SIZE_AUTO:
	case SIZE_OFF:
		if (!v && kind != SIZE)
			word(name, kind == SIZE_OFF ? "off" : "auto");
		else
			exact(name, v, 1024, sizes, v);
		return;
	case SUPPRESS:
		if (!v || v == TC_SFC_SUPPRESS_OFF)
			word(name, v ? "off" : "auto");
		else
			exact(name, v, 1000, times, v);
		return;
	case TIME:
	case TIME_OFF:
		if (!v && kind == TIME_OFF)
			word(name, "off");
		else
			exact(name, v, 1000, times, v);
		return;
	case BTS:
		word(name, v < N(bts_names) ? bts_names[v] : "?");
		return;
	default:
		if (conf.json)
			js_u64(name, v);
		else
			printf(" %s %llu", name, (unsigned long long)v);
	}
}

/* --- statistics --- */

/* line: what the counters of a line of text are about */
static const struct {
	const char *name, *line;
	unsigned int off;
} counters[] = {
#define C(line, name)	{ #name, line, offsetof(struct tc_sfc_xstats, name) }
	C("port", link_rate), C("port", ccthresh), C("port", mtu), C("port", backlog_peak),
	C("port", sm_token), C("port", pru_token), C("port", tagged),
	C("data", data), C("data", congested), C("data", dec_set), C("data", dec_seen),
	C("inc", pru_added), C("inc", inc_pru), C("inc", inc_sm), C("inc", inc_cleared),
	C("inc", opt_bad), C("inc", mark_failed),
	C("src", src_sent), C("src", src_limited), C("src", src_nomem), C("src", src_dropped),
	C("src", src_unfit),
	C("queue", high), C("queue", gso_split), C("queue", gso_segs), C("queue", gso_failed),
	C("queue", drop_data), C("queue", drop_high), C("queue", drop_change),
	C("sfc", qth), C("sfc", qtg), C("sfc", suppress_ns),
	C("bts", bts_sent), C("bts", bts_suppressed), C("bts", bts_false), C("bts", bts_limited),
	C("bts", bts_nomem), C("bts", bts_dropped), C("bts", bts_unfit), C("bts", bts_cached),
	C("cache", cache_entries), C("cache", cache_hits), C("cache", cache_inserts),
	C("cache", cache_updates), C("cache", cache_full), C("cache", cache_refused),
	C("cache", cache_ignored),
	C("ecn", ecn_marked), C("ecn", estimator_hits),
	C("hold", hold_pkts), C("hold", hold_bytes), C("hold", hold_slots), C("hold", hold_bts),
	C("hold", hold_pauses), C("hold", hold_ns), C("hold", hold_clamped), C("hold", hold_full),
	C("hold", hold_trips), C("hold", hold_deaf), C("hold", hold_held), C("hold", hold_released),
	C("hold", hold_refused), C("hold", hold_oversize), C("hold", hold_stale),
#undef C
};

/* The text leaves out what is 0, unless all was asked for. */
static void print_counters(const struct port *p)
{
	const char *line = NULL;
	unsigned int i;
	int64_t v;

	for (i = 0; i < N(counters); i++) {
		if (counters[i].off + sizeof(v) > p->st_len)
			break;
		memcpy(&v, (const char *)&p->st + counters[i].off, sizeof(v));
		if (conf.json) {
			if (counters[i].off == offsetof(struct tc_sfc_xstats, sm_token))
				js_s64(counters[i].name, v);
			else
				js_u64(counters[i].name, v);
			continue;
		}
		if (!v && !q.all)
			continue;
		if (!line || strcmp(line, counters[i].line)) {
			line = counters[i].line;
			printf("\n  %-6s", line);
		}
		if (counters[i].off == offsetof(struct tc_sfc_xstats, link_rate))
			printf(" %s %s", counters[i].name, v ? tx_rate(v * 8) : "unknown");
		else
			printf(" %s %lld", counters[i].name, (long long)v);
	}
	if (!conf.json)
		putchar('\n');
}

static const char *dev_name(int ifindex, char *buf, size_t len)
{
	if (!rtnl_link_i2name(q.links, ifindex, buf, len))
		snprintf(buf, len, "if%d", ifindex);
	return buf;
}

static void print_options(const struct port *p)
{
	unsigned int i;

	for (i = 0; i < N(options); i++)
		if (p->tb[options[i].type])
			print_option(options[i].name, options[i].kind, p->tb[options[i].type]);
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
	print_options(p);
	js_end('}');
	js_u64("bytes", p->basic.bytes);
	js_u64("packets", p->basic.packets);
	js_u64("drops", p->queue.drops);
	js_u64("overlimits", p->queue.overlimits);
	js_u64("requeues", p->queue.requeues);
	js_u64("backlog", p->queue.backlog);
	js_u64("qlen", p->queue.qlen);
	js_begin("sfc", '{');
	print_counters(p);
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
	print_options(p);
	printf("\n  sent   %s in %u packets, dropped %u; waiting %s in %u",
	       tx_bytes(p->basic.bytes), p->basic.packets, p->queue.drops,
	       tx_bytes(p->queue.backlog), p->queue.qlen);
	print_counters(p);
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
			.udp_port = p->tb[TCA_SFC_PORT] ? value(p->tb[TCA_SFC_PORT]) : 0,
			.rate = p->tb[TCA_SFC_RATE64] ? value(p->tb[TCA_SFC_RATE64]) : 0,
			.addr4 = p->tb[TCA_SFC_ADDR4] && value(p->tb[TCA_SFC_ADDR4]),
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
