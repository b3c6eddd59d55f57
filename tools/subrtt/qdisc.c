// SPDX-License-Identifier: GPL-2.0
/* subrtt qdisc: sfc on every device, its options and statistics. */

#include <errno.h>
#include <getopt.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/cache.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/tc.h>
#include <stdlib.h>
#include <string.h>

#include "attrs.h"
#include "subrtt.h"
#include "qdisc.h"

static struct {
	struct port *p;
	unsigned int n, room;
	char **wanted;
	int n_wanted;
	bool all;
	struct qdisc_hold *hold;
	unsigned int n_holds, hold_room;
	struct nl_cache *links;
} q;

static const char *dev_name(int ifindex, char *buf, size_t len)
{
	if (!rtnl_link_i2name(q.links, ifindex, buf, len))
		snprintf(buf, len, "if%d", ifindex);
	return buf;
}

/* "1:2"; "" at the root; @where: as tc wants it */
static void parent_name(uint32_t parent, char *s, size_t len, char *where, size_t room)
{
	*s = 0;
	if (parent != TC_H_ROOT)
		snprintf(s, len, "%x:%x", TC_H_MAJ(parent) >> 16, TC_H_MIN(parent));
	snprintf(where, room, "%s%s", *s ? "parent " : "root", s);
}

static void print_json(const struct port *p, const char *dev)
{
	char s[32];

	js_begin(NULL, '{');
	js_str("dev", dev);
	js_u64("ifindex", p->ifindex);
	js_str("kind", "sfc");
	js_str("handle", rtnl_tc_handle2str(p->handle, s, sizeof(s)));
	if (p->parent == TC_H_ROOT)
		js_bool("root", true);
	else
		js_str("parent", rtnl_tc_handle2str(p->parent, s, sizeof(s)));
	js_begin("options", '{');
	qdisc_options(p);
	js_end('}');
	js_u64("bytes", p->any.bytes);
	js_u64("packets", p->any.packets);
	js_u64("drops", p->any.queue.drops);
	js_u64("overlimits", p->any.queue.overlimits);
	js_u64("requeues", p->any.queue.requeues);
	js_u64("backlog", p->any.queue.backlog);
	js_u64("qlen", p->any.queue.qlen);
	js_begin("sfc", '{');
	qdisc_counters(p, q.all);
	js_end('}');
	js_end('}');
}

static void print_text(const struct port *p, const char *dev)
{
	char handle[32], parent[32];

	printf("%s sfc %s %s%s\n ", tx_name(dev),
	       rtnl_tc_handle2str(p->handle, handle, sizeof(handle)),
	       p->parent == TC_H_ROOT ? "root" : "parent ",
	       p->parent == TC_H_ROOT ? "" :
	       rtnl_tc_handle2str(p->parent, parent, sizeof(parent)));
	qdisc_options(p);
	printf("\n  sent   %s in %llu packets, dropped %u; waiting %s in %u",
	       tx_bytes(p->any.bytes), (unsigned long long)p->any.packets, p->any.queue.drops,
	       tx_bytes(p->any.queue.backlog), p->any.queue.qlen);
	qdisc_counters(p, q.all);
}

/* --- asking the kernel --- */

static void reset(void *arg)
{
	(void)arg;
	while (q.n)
		free(q.p[--q.n].msg);
	q.n_holds = 0;
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

/*
 * @app, of @size bytes, is sfc's part of it; a module of another version may have no such @type.
 * That of sfc_hold has none: 0.
 */
static void read_stats(struct nlattr *stats, struct counts *st, __u64 type, void *app, size_t size)
{
	struct nlattr *tb[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic = { 0 };
	__u64 is = 0;

	if (!stats || nla_parse_nested(tb, TCA_STATS_MAX, stats, NULL))
		return;
	if (tb[TCA_STATS_BASIC])
		nla_memcpy(&basic, tb[TCA_STATS_BASIC], sizeof(basic));
	st->bytes = basic.bytes;
	/* what does not fit into 32 bits has an attribute of its own */
	st->packets = basic.packets;
	if (tb[TCA_STATS_PKT64])
		nla_memcpy(&st->packets, tb[TCA_STATS_PKT64], sizeof(st->packets));
	if (tb[TCA_STATS_QUEUE])
		nla_memcpy(&st->queue, tb[TCA_STATS_QUEUE], sizeof(st->queue));
	if (tb[TCA_STATS_APP])
		nla_memcpy(&is, tb[TCA_STATS_APP], sizeof(is));
	if (!type || is == type)
		st->len = nla_memcpy(app, tb[TCA_STATS_APP], size);
}

static int entry_hold(const struct tcmsg *tc, struct nlattr **tb)
{
	struct qdisc_hold *h = bc_more(&q.hold, &q.n_holds, &q.hold_room, sizeof(*h));
	struct nlattr *options[TCA_SFC_HOLD_MAX + 1];

	if (!h)
		return bc_error(BC_FAIL, "no memory");
	dev_name(tc->tcm_ifindex, h->dev, sizeof(h->dev));
	h->handle = tc->tcm_handle;
	parent_name(tc->tcm_parent, h->parent, sizeof(h->parent), h->where, sizeof(h->where));
	read_stats(tb[TCA_STATS2], &h->any, 0, &h->st, sizeof(h->st));
	/* it has a key, of which it says only that, or notagkey */
	h->believes = h->st.tagged ||
		      (tb[TCA_OPTIONS] &&
		       !nla_parse_nested(options, TCA_SFC_HOLD_MAX, tb[TCA_OPTIONS], NULL) &&
		       options[TCA_SFC_HOLD_TAGKEY]);
	return BC_OK;
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
	if (tb[TCA_KIND] && !nla_strcmp(tb[TCA_KIND], "sfc_hold"))
		return entry_hold(tc, tb);
	if (!tb[TCA_KIND] || nla_strcmp(tb[TCA_KIND], "sfc") || !wanted(tc->tcm_ifindex))
		return BC_OK;
	p = bc_more(&q.p, &q.n, &q.room, sizeof(*p));
	if (p)
		p->msg = malloc(nlh->nlmsg_len);
	if (!p || !p->msg)
		return bc_error(BC_FAIL, "no memory");
	memcpy(p->msg, nlh, nlh->nlmsg_len);
	nlmsg_parse(p->msg, sizeof(*tc), tb, TCA_MAX, NULL);
	p->ifindex = tc->tcm_ifindex;
	p->handle = tc->tcm_handle;
	p->parent = tc->tcm_parent;
	if (tb[TCA_OPTIONS] && nla_parse_nested(p->tb, TCA_SFC_MAX, tb[TCA_OPTIONS], NULL))
		return bc_error(BC_FAIL, "qdiscs: the options of sfc cannot be read");
	read_stats(tb[TCA_STATS2], &p->any, TC_SFC_XSTATS_QDISC, &p->st, sizeof(p->st));
	return BC_OK;
}

/* --- bands are classes, which are asked for device by device --- */

static void reset_bands(void *arg)
{
	struct port *p = arg;

	p->n_bands = 0;
}

static int entry_band(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *tb[TCA_MAX + 1];
	struct tcmsg *tc = nlmsg_data(nlh);
	struct port *p = arg;
	struct band *b;

	if (nlh->nlmsg_type != RTM_NEWTCLASS)
		return BC_OK;
	if (nlmsg_parse(nlh, sizeof(*tc), tb, TCA_MAX, NULL))
		return bc_error(BC_FAIL, "bands: the kernel's answer cannot be read");
	if (TC_H_MAJ(tc->tcm_handle) != p->handle || p->n_bands == TC_SFC_BANDS_MAX)
		return BC_OK;
	b = &p->band[p->n_bands++];
	memset(b, 0, sizeof(*b));
	b->number = TC_H_MIN(tc->tcm_handle);
	read_stats(tb[TCA_STATS2], &b->any, TC_SFC_XSTATS_BAND, &b->st, sizeof(b->st));
	return BC_OK;
}

static int read_bands(struct nl_sock *sk, struct port *p)
{
	const struct tcmsg tc = { .tcm_ifindex = p->ifindex, .tcm_parent = p->handle };
	const struct bc_dump d = {
		.type = RTM_GETTCLASS, .header = &tc, .len = sizeof(tc), .entry = entry_band,
		.reset = reset_bands, .arg = p, .what = "bands",
	};

	return at_num(p->tb[TCA_SFC_BANDS]) > 1 ? bc_nl_dump(sk, &d) : BC_OK;
}

static int by_place(const void *a, const void *b)
{
	const struct port *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return x->parent < y->parent ? -1 : x->parent > y->parent;
}

static int read_ports(void)
{
	/* of children that the kernel keeps quiet about as well: taprio's, mq's default ones */
	static const struct {
		struct tcmsg tc;
		struct nlattr invisible;
	} get = { .invisible = { .nla_len = NLA_HDRLEN, .nla_type = TCA_DUMP_INVISIBLE } };
	const struct bc_dump d = {
		.type = RTM_GETQDISC, .header = &get, .len = sizeof(get), .entry = entry,
		.reset = reset, .what = "qdiscs",
	};
	struct nl_sock *sk;
	unsigned int n;
	int status, err, i;

	reset(NULL);
	nl_cache_free(q.links);
	q.links = NULL;
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
	/* the kernel has children of one parent the other way round */
	if (q.n)
		qsort(q.p, q.n, sizeof(*q.p), by_place);
	for (n = 0; n < q.n && !status; n++)
		status = read_bands(sk, &q.p[n]);
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

/* For doctor: first one that believes nothing.  Returns false if there is no sfc_hold. */
bool qdisc_hold(struct qdisc_hold *h)
{
	unsigned int i;

	for (i = 0; i < q.n_holds; i++)
		if (!i || (h->believes && !q.hold[i].believes))
			*h = q.hold[i];
	return q.n_holds;
}

void qdisc_each_hold(void (*fn)(const struct qdisc_hold *h, void *arg), void *arg)
{
	unsigned int i;

	for (i = 0; i < q.n_holds; i++)
		fn(&q.hold[i], arg);
}

/* Calls @fn for each port with sfc */
int qdisc_each(void (*fn)(const struct qdisc_port *port, void *arg), void *arg)
{
	unsigned int i;
	int status = read_ports();

	for (i = 0; i < q.n && !status; i++) {
		const struct port *p = &q.p[i];
		struct nla_bitfield32 flags = { 0 };
		struct qdisc_port port = {
			.ifindex = p->ifindex,
			.handle = p->handle,
			.any = &p->any,
			.st = &p->st,
			.band = p->band,
			.n_bands = p->n_bands,
			.udp_port = at_num(p->tb[TCA_SFC_PORT]),
			.pfc = at_num(p->tb[TCA_SFC_PFC]),
			.srcc = at_num(p->tb[TCA_SFC_SRCC]),
			.bands = at_num(p->tb[TCA_SFC_BANDS]),
			.rate = at_num(p->tb[TCA_SFC_RATE64]),
			.link = at_num(p->tb[TCA_SFC_LINK64]),
			.addr4 = at_num(p->tb[TCA_SFC_ADDR4]),
		};

		if (p->tb[TCA_SFC_FLAGS])
			nla_memcpy(&flags, p->tb[TCA_SFC_FLAGS], sizeof(flags));
		port.flags = flags.value;
		dev_name(p->ifindex, port.dev, sizeof(port.dev));
		parent_name(p->parent, port.parent, sizeof(port.parent), port.where,
			    sizeof(port.where));
		fn(&port, arg);
	}
	return status;
}

const struct bc_cmd cmd_qdisc = {
	.name = "qdisc",
	.run = run,
	.what = "ports of a router: options and counters of sfc on every device",
	.usage = "[--all] [DEVICE...]",
	.help =
"Shows the qdisc sfc on every device, or on the named ones: its options as tc accepts them; what\n"
"it has sent, dropped and queued; and its counters other than 0.  Documentation/sch_sfc.rst (in\n"
"/usr/share/doc/subrtt-tools of the package) explains each counter.\n"
"\n"
"  -a, --all   also show counters that are 0 (JSON always has them)\n"
"\n"
"Examples:\n"
"  subrtt qdisc                     every port\n"
"  subrtt -n r1 qdisc eth1          one port of the router in namespace r1\n"
"  subrtt -j qdisc | jq '.[] | {dev, src: .sfc.src_sent, drops}'\n"
"\n"
"What to look for:\n"
"  link_rate unknown    the device does not report its speed: tc qdisc replace dev DEV root sfc link RATE\n"
"  congested absent     if absent under load, the queue is elsewhere, for instance in the device's\n"
"                       ring; see subrtt doctor\n"
"  msg_limited          control messages that exceeded msgrate and were not sent\n",
};
