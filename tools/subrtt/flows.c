// SPDX-License-Identifier: GPL-2.0
/*
 * subrtt flows: each connection that bolt or swift controls, and each that a BTS pauses.
 *
 * What the modules know comes from the family "bolt"; what TCP knows from inet_diag; the
 * socket's cookie joins them.  A socket that goes between the two is shown without TCP's part.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/bolt_netlink.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "attrs.h"
#include "subrtt.h"
#include "diag.h"
#include "flows.h"
#include "tcpinfo.h"

struct prefix {
	bool set;
	int family;
	uint8_t addr[16];
	unsigned int len;	/* bits */
};

/* The kernel looks at what it can; what it cannot, either end, is looked at here. */
static struct {
	struct prefix any, local, remote;
	uint64_t port, local_port, remote_port;
	const char *cc, *dev;
	unsigned int ifindex;
	int family;
	bool paused;
} want;

static struct {
	struct nlmsghdr **msg;
	unsigned int n, room;
	int family;		/* of generic netlink */
} flows;

/* --- filters --- */

static int parse_prefix(const char *option, const char *arg, struct prefix *p)
{
	char addr[INET6_ADDRSTRLEN];
	const char *slash = strchr(arg, '/');
	size_t n = slash ? (size_t)(slash - arg) : strlen(arg);
	uint64_t len;
	int status;

	if (n >= sizeof(addr))
		n = sizeof(addr) - 1;
	memcpy(addr, arg, n);
	addr[n] = '\0';
	p->family = strchr(addr, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(p->family, addr, p->addr) != 1)
		return bc_error(BC_USAGE, "%s: \"%s\" is no address", option, arg);
	len = p->family == AF_INET ? 32 : 128;
	if (slash) {
		status = bc_number(option, slash + 1, 0, len, &len);
		if (status)
			return status;
	}
	p->len = len;
	p->set = true;
	return BC_OK;
}

static bool in_prefix(const struct prefix *p, const struct nlattr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *addr;
	unsigned int whole = p->len / 8, rest = p->len % 8;

	if (!a)
		return false;
	addr = nla_data(a);
	/* a socket of IPv6 that speaks IPv4 */
	if (p->family == AF_INET && nla_len(a) == 16 && !memcmp(addr, mapped, 12))
		addr += 12;
	else if (nla_len(a) != (p->family == AF_INET ? 4 : 16))
		return false;
	return !memcmp(addr, p->addr, whole) &&
	       (!rest || !((addr[whole] ^ p->addr[whole]) >> (8 - rest)));
}

static void nest(struct nlattr **tb, const struct nlattr *a, const struct attr_set *set)
{
	memset(tb, 0, (ATTRS_MAX + 1) * sizeof(*tb));
	if (a)
		nla_parse_nested(tb, set->max, (struct nlattr *)a, NULL);
}

static bool is_paused(const struct nlattr *pause)
{
	struct nlattr *tb[ATTRS_MAX + 1];

	nest(tb, pause, &bolt_pause_set);
	return at_num(tb[BOLT_A_PAUSE_REMAINING_NS]);
}

static bool matches(struct nlattr **tb)
{
	struct nlattr *local = tb[BOLT_A_FLOW_LOCAL_ADDR], *remote = tb[BOLT_A_FLOW_REMOTE_ADDR];
	uint64_t lport = at_num(tb[BOLT_A_FLOW_LOCAL_PORT]);
	uint64_t rport = at_num(tb[BOLT_A_FLOW_REMOTE_PORT]);

	return (!want.any.set || in_prefix(&want.any, local) || in_prefix(&want.any, remote)) &&
	       (!want.local.set || in_prefix(&want.local, local)) &&
	       (!want.remote.set || in_prefix(&want.remote, remote)) &&
	       (!want.port || want.port == lport || want.port == rport) &&
	       (!want.local_port || want.local_port == lport) &&
	       (!want.remote_port || want.remote_port == rport) &&
	       (!want.cc || !strcmp(want.cc, at_str(tb[BOLT_A_FLOW_CONGESTION]))) &&
	       (!want.family || want.family == (int)at_num(tb[BOLT_A_FLOW_FAMILY])) &&
	       (!want.ifindex || want.ifindex == at_num(tb[BOLT_A_FLOW_IFINDEX])) &&
	       (!want.paused || is_paused(tb[BOLT_A_FLOW_PAUSE]));
}

/* --- asking --- */

static void reset(void *arg)
{
	(void)arg;
	while (flows.n)
		free(flows.msg[--flows.n]);
}

static int parse(struct nlmsghdr *nlh, struct nlattr **tb)
{
	return genlmsg_parse(nlh, 0, tb, BOLT_A_FLOW_MAX, NULL);
}

static int entry(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *tb[ATTRS_MAX + 1];
	struct nlmsghdr *copy, **to;

	(void)arg;
	if (nlh->nlmsg_type != flows.family)
		return BC_OK;
	if (parse(nlh, tb))
		return bc_error(BC_FAIL, "flows: the kernel's answer cannot be read");
	if (!matches(tb))
		return BC_OK;
	copy = malloc(nlh->nlmsg_len);
	to = copy ? bc_more(&flows.msg, &flows.n, &flows.room, sizeof(*to)) : NULL;
	if (!to) {
		free(copy);
		return bc_error(BC_FAIL, "no memory");
	}
	*to = memcpy(copy, nlh, nlh->nlmsg_len);
	return BC_OK;
}

static uint64_t cookie(struct nlmsghdr *nlh)
{
	struct nlattr *a = nla_find(genlmsg_attrdata(nlmsg_data(nlh), 0),
				    genlmsg_attrlen(nlmsg_data(nlh), 0), BOLT_A_FLOW_COOKIE);

	return at_num(a);
}

static int by_cookie(const void *a, const void *b)
{
	uint64_t x = cookie(*(struct nlmsghdr **)a), y = cookie(*(struct nlmsghdr **)b);

	return x < y ? -1 : x > y;
}

static int read_flows(bool quietly)
{
	static const struct genlmsghdr get = { .cmd = BOLT_CMD_FLOW_GET, .version = 1 };
	struct bc_dump d = {
		.header = &get, .len = sizeof(get), .entry = entry, .reset = reset,
		.what = "flows",
	};
	struct nl_sock *sk;
	int status;

	sk = bc_nl_open(NETLINK_GENERIC, &status);
	if (!sk)
		return status;
	reset(NULL);
	flows.family = bc_nl_family(sk, BOLT_FAMILY_NAME, BOLT_FAMILY_VERSION, "tcp_bolt", quietly);
	d.type = flows.family;
	status = flows.family < 0 ? -flows.family : bc_nl_dump(sk, &d);
	nl_socket_free(sk);
	/* oldest first */
	if (flows.n)
		qsort(flows.msg, flows.n, sizeof(*flows.msg), by_cookie);
	return status;
}

/* --- for top and exporter --- */

static void gist_of(struct flow_gist *g, struct nlattr **tb, const struct diag_sock *s)
{
	struct nlattr *pause[ATTRS_MAX + 1];

	memset(g, 0, sizeof(*g));
	g->cookie = at_num(tb[BOLT_A_FLOW_COOKIE]);
	snprintf(g->local, sizeof(g->local), "%s:%llu", at_addr(tb[BOLT_A_FLOW_LOCAL_ADDR]),
		 (unsigned long long)at_num(tb[BOLT_A_FLOW_LOCAL_PORT]));
	snprintf(g->remote, sizeof(g->remote), "%s:%llu", at_addr(tb[BOLT_A_FLOW_REMOTE_ADDR]),
		 (unsigned long long)at_num(tb[BOLT_A_FLOW_REMOTE_PORT]));
	snprintf(g->cc, sizeof(g->cc), "%s", at_str(tb[BOLT_A_FLOW_CONGESTION]));
	g->cwnd = at_num(tb[BOLT_A_FLOW_CWND]);
	g->window = tb[BOLT_A_FLOW_WINDOW] ? at_num(tb[BOLT_A_FLOW_WINDOW]) : g->cwnd << 32;
	g->srtt_ns = at_num(tb[BOLT_A_FLOW_SRTT_NS]);
	g->min_rtt_ns = at_num(tb[BOLT_A_FLOW_MIN_RTT_NS]);
	g->option = tb[BOLT_A_FLOW_OPTION];
	nest(pause, tb[BOLT_A_FLOW_PAUSE], &bolt_pause_set);
	g->paused = at_num(pause[BOLT_A_PAUSE_REMAINING_NS]);
	g->pauses = at_num(pause[BOLT_A_PAUSE_BEGUN]);
	if (s && s->info_len) {
		g->acked = tcpinfo_number("bytes_acked", s->info, s->info_len);
		g->retransmits = tcpinfo_number("retrans_total", s->info, s->info_len);
	}
}

int flows_each(void (*fn)(const struct flow_gist *g, void *arg), void *arg)
{
	struct diag_table socks = { 0 };
	struct nlattr *tb[ATTRS_MAX + 1];
	struct flow_gist g;
	unsigned int i;
	int status = read_flows(true);

	if (!status && flows.n)
		status = diag_read(&socks, DIAG_STATES_CONNECTED, true);
	for (i = 0; i < flows.n && !status; i++) {
		/* a closed socket is no connection */
		if (parse(flows.msg[i], tb) || at_num(tb[BOLT_A_FLOW_STATE]) == TCP_CLOSE)
			continue;
		gist_of(&g, tb, diag_find(&socks, at_num(tb[BOLT_A_FLOW_COOKIE])));
		fn(&g, arg);
	}
	diag_free(&socks);
	return status;
}

/* --- printing --- */

static void print_json(struct nlattr **tb, const struct diag_sock *s)
{
	js_begin(NULL, '{');
	at_json(tb, &bolt_flow_set);
	if (s) {
		js_u64("recv_q", s->rqueue);
		js_u64("send_q", s->wqueue);
		if (s->info_len)
			tcpinfo_json("tcp", s->info, s->info_len);
	}
	js_end('}');
}

static void print_windows(struct nlattr **tb)
{
	printf("\t %s", at_str(tb[BOLT_A_FLOW_CONGESTION]));
	if (!tb[BOLT_A_FLOW_OPTION])
		printf(" no_option");
	printf(" cwnd:%llu", (unsigned long long)at_num(tb[BOLT_A_FLOW_CWND]));
	if (tb[BOLT_A_FLOW_WINDOW])
		printf(" window:%s", tx_fixed(at_num(tb[BOLT_A_FLOW_WINDOW])));
	/* swift has none */
	if (tb[BOLT_A_FLOW_MAX_CWND] && at_num(tb[BOLT_A_FLOW_MAX_CWND]) != UINT32_MAX)
		printf(" max:%llu", (unsigned long long)at_num(tb[BOLT_A_FLOW_MAX_CWND]));
	if (tb[BOLT_A_FLOW_INIT_CWND])
		printf(" init:%llu", (unsigned long long)at_num(tb[BOLT_A_FLOW_INIT_CWND]));
	if (tb[BOLT_A_FLOW_SWIFT_FABRIC])
		printf(" fabric:%s", tx_fixed(at_num(tb[BOLT_A_FLOW_SWIFT_FABRIC])));
	if (tb[BOLT_A_FLOW_SWIFT_ENDPOINT])
		printf(" endpoint:%s/%s", tx_fixed(at_num(tb[BOLT_A_FLOW_SWIFT_ENDPOINT])),
		       tx_ns(at_num(tb[BOLT_A_FLOW_SWIFT_ENDPOINT_NS])));
	if (tb[BOLT_A_FLOW_SRTT_NS])
		printf(" srtt:%s", tx_ns(at_num(tb[BOLT_A_FLOW_SRTT_NS])));
	if (tb[BOLT_A_FLOW_MIN_RTT_NS])
		printf(" minrtt:%s", tx_ns(at_num(tb[BOLT_A_FLOW_MIN_RTT_NS])));
	if (at_num(tb[BOLT_A_FLOW_NIC_RATE]))
		printf(" nic:%s", tx_rate(at_num(tb[BOLT_A_FLOW_NIC_RATE]) * 1000));
	putchar('\n');
}

static void print_src(const struct nlattr *a)
{
	struct nlattr *tb[ATTRS_MAX + 1];

	if (!a)
		return;
	nest(tb, a, &bolt_src_set);
	printf("\t last_src:%s ago queue:%s rate:%s rtt_src:%s switch:%llu %s\n",
	       tx_ns(at_num(tb[BOLT_A_LAST_SRC_AGE_NS])),
	       tx_bytes(at_num(tb[BOLT_A_LAST_SRC_QUEUE_BYTES])),
	       tx_rate(at_num(tb[BOLT_A_LAST_SRC_LINK_RATE]) * 1000),
	       tx_ns(at_num(tb[BOLT_A_LAST_SRC_RTT_SRC_NS])),
	       (unsigned long long)at_num(tb[BOLT_A_LAST_SRC_SWITCH_ID]),
	       at_enum(tb[BOLT_A_LAST_SRC_VERDICT], &bolt_src_set));
}

static void print_pause(const struct nlattr *a)
{
	struct nlattr *tb[ATTRS_MAX + 1];

	if (!a)
		return;
	nest(tb, a, &bolt_pause_set);
	if (at_num(tb[BOLT_A_PAUSE_REMAINING_NS]))
		printf("\t paused for %s yet", tx_ns(at_num(tb[BOLT_A_PAUSE_REMAINING_NS])));
	else
		printf("\t paused before");
	printf(" (switch:%llu asked:%s%s)",
	       (unsigned long long)at_num(tb[BOLT_A_PAUSE_SWITCH_ID]),
	       tx_ns(at_num(tb[BOLT_A_PAUSE_ASKED_NS])),
	       tb[BOLT_A_PAUSE_FROM_CACHE] ? " from_cache" : "");
	printf(" pauses:%llu granted:%s", (unsigned long long)at_num(tb[BOLT_A_PAUSE_BEGUN]),
	       tx_ns(at_num(tb[BOLT_A_PAUSE_GRANTED_NS])));
	if (at_num(tb[BOLT_A_PAUSE_IGNORE_NS]))
		printf(" ignoring:%s", tx_ns(at_num(tb[BOLT_A_PAUSE_IGNORE_NS])));
	putchar('\n');
}

static void print_text(struct nlattr **tb, const struct diag_sock *s)
{
	char local[80], remote[80];

	snprintf(local, sizeof(local), "%s:%llu", at_addr(tb[BOLT_A_FLOW_LOCAL_ADDR]),
		 (unsigned long long)at_num(tb[BOLT_A_FLOW_LOCAL_PORT]));
	snprintf(remote, sizeof(remote), "%s:%llu", at_addr(tb[BOLT_A_FLOW_REMOTE_ADDR]),
		 (unsigned long long)at_num(tb[BOLT_A_FLOW_REMOTE_PORT]));
	printf("%-10s %-6u %-6u %21s %21s\n", diag_state(at_num(tb[BOLT_A_FLOW_STATE])),
	       s ? s->rqueue : 0, s ? s->wqueue : 0, local, remote);
	print_windows(tb);
	print_src(tb[BOLT_A_FLOW_LAST_SRC]);
	print_pause(tb[BOLT_A_FLOW_PAUSE]);
	if (tb[BOLT_A_FLOW_LIMIT])
		printf("\t limited to %s\n", tx_rate(at_num(tb[BOLT_A_FLOW_LIMIT]) * 1000));
	if (s && s->info_len) {
		putchar('\t');
		tcpinfo_text(s->info, s->info_len);
		putchar('\n');
	}
}

static int print_all(void)
{
	struct diag_table socks = { 0 };
	struct nlattr *tb[ATTRS_MAX + 1];
	unsigned int i;
	int status = BC_OK;

	if (flows.n)
		status = diag_read(&socks, DIAG_STATES_CONNECTED, true);
	if (status)
		return status;
	if (conf.json)
		js_begin(NULL, '[');
	else if (flows.n)
		printf("%-10s %-6s %-6s %21s %21s\n", "State", "Recv-Q", "Send-Q",
		       "Local Address:Port", "Peer Address:Port");
	for (i = 0; i < flows.n; i++) {
		const struct diag_sock *s;

		if (parse(flows.msg[i], tb))
			continue;
		s = diag_find(&socks, at_num(tb[BOLT_A_FLOW_COOKIE]));
		if (conf.json)
			print_json(tb, s);
		else
			print_text(tb, s);
	}
	if (conf.json)
		js_end(']');
	diag_free(&socks);
	return bc_flush();
}

/* --- the command line --- */

enum { OPT_LPORT = 256, OPT_RPORT, OPT_PAUSED };

static int take_option(int c)
{
	switch (c) {
	case 'a':
		return parse_prefix("--addr", optarg, &want.any);
	case 'l':
		return parse_prefix("--local", optarg, &want.local);
	case 'r':
		return parse_prefix("--remote", optarg, &want.remote);
	case 'p':
		return bc_number("--port", optarg, 1, 65535, &want.port);
	case OPT_LPORT:
		return bc_number("--local-port", optarg, 1, 65535, &want.local_port);
	case OPT_RPORT:
		return bc_number("--remote-port", optarg, 1, 65535, &want.remote_port);
	case 'c':
		if (!*optarg || strlen(optarg) > 15)
			return bc_error(BC_USAGE, "--cc: \"%.32s\" is not the name of a congestion control",
					optarg);
		want.cc = optarg;
		return BC_OK;
	case 'd':
		want.dev = optarg;
		return BC_OK;
	case '4':
	case '6':
		want.family = c == '4' ? AF_INET : AF_INET6;
		return BC_OK;
	default:
		want.paused = true;
		return BC_OK;
	}
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "addr", required_argument, NULL, 'a' },
		{ "local", required_argument, NULL, 'l' },
		{ "remote", required_argument, NULL, 'r' },
		{ "port", required_argument, NULL, 'p' },
		{ "local-port", required_argument, NULL, OPT_LPORT },
		{ "remote-port", required_argument, NULL, OPT_RPORT },
		{ "cc", required_argument, NULL, 'c' },
		{ "dev", required_argument, NULL, 'd' },
		{ "ipv4", no_argument, NULL, '4' },
		{ "ipv6", no_argument, NULL, '6' },
		{ "paused", no_argument, NULL, OPT_PAUSED },
		BC_LONG_COMMON
	};
	int c, status;

	while ((c = bc_getopt(argc, argv, "a:l:r:p:c:d:46", longs, &status))) {
		status = take_option(c);
		if (status)
			return status;
	}
	if (!status)
		status = bc_no_more(argc, argv);
	if (status)
		return status;
	/* in the namespace, which an option behind it may have named */
	if (want.dev) {
		want.ifindex = if_nametoindex(want.dev);
		if (!want.ifindex)
			return bc_error(BC_ABSENT, "no device %s", want.dev);
	}
	status = read_flows(false);
	return status ? status : print_all();
}

const struct bc_cmd cmd_flows = {
	.name = "flows",
	.run = run,
	.what = "connections of a host: windows, pauses, the last SRC",
	.usage = "[FILTER...]",
	.help =
"Shows every TCP connection of the namespace that uses bolt or swift, and any other while a\n"
"BTS pauses it or a CNM limits it.  As in ss -ti, the first line has state, queues and addresses; then come\n"
"\n"
"  cwnd window max init         TCP's window in packets; the congestion control's own, which\n"
"                               may be a fraction of a packet; its upper bound; its first value\n"
"  fabric endpoint              Swift's two windows and the smoothed delay at the hosts\n"
"  srtt minrtt nic              smoothed and smallest RTT; rate of the device\n"
"  no_option                    the connection runs without the TCP option\n"
"  last_src queue rate rtt_src  age of the newest SRC; the queue and the link's rate that it\n"
"                               reports; time from the packet's departure until it arrived\n"
"  paused pauses granted ignoring  remaining time of the pause; number and total time of pauses\n"
"                               on record; time for which the watchdog ignores BTS\n"
"  limited to                   rate that CNM limit it to now\n"
"\n"
"and what ss shows of TCP.  A flow must match all filters:\n"
"\n"
"  -a, --addr ADDR[/LEN]        address of either end\n"
"  -l, --local ADDR[/LEN]       address of this end\n"
"  -r, --remote ADDR[/LEN]      address of the other end\n"
"  -p, --port N                 port of either end\n"
"      --local-port N, --remote-port N\n"
"  -c, --cc NAME                congestion control\n"
"  -d, --dev DEVICE             device that the socket is bound to\n"
"  -4, --ipv4; -6, --ipv6       address family of the socket\n"
"      --paused                 only flows that are paused now\n"
"\n"
"Examples:\n"
"  subrtt flows                          all flows\n"
"  subrtt flows -r 10.1.0.0/16 -p 5001   flows to that network with port 5001 at either end\n"
"  subrtt flows --paused                 flows that a switch has paused\n"
"  subrtt -n h1 -j flows | jq '.[] | {remote_addr, window, queue: .last_src.queue_bytes}'\n",
};
