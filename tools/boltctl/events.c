// SPDX-License-Identifier: GPL-2.0
/*
 * boltctl events: what happens, as it happens.  One line each, of text or JSON, written at once.
 *
 * Both modules limit how many a second they send; those beyond, and those that this program was
 * too slow for, are counted and said.
 */

#include <errno.h>
#include <getopt.h>
#include <linux/bolt_netlink.h>
#include <linux/sfc_netlink.h>
#include <net/if.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attrs.h"
#include "boltctl.h"

static struct {
	char **types;
	int n_types;
	uint64_t count, timeout_ms;
	uint64_t seen, missed;
	int bolt, sfc;		/* of generic netlink; negative: not loaded */
	int64_t wall_ns;	/* of the monotonic clock's 0 */
	int status;
} ev;

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static bool is_type(const char *const *types, const char *name)
{
	for (; *types; types++)
		if (!strcmp(*types, name))
			return true;
	return false;
}

static bool wanted(const char *type)
{
	int i;

	for (i = 0; i < ev.n_types; i++)
		if (!strcmp(ev.types[i], type))
			return true;
	return !ev.n_types;
}

/* --- text --- */

static void print_time(uint64_t mono_ns)
{
	int64_t t = ev.wall_ns + (int64_t)mono_ns;
	time_t s = t / 1000000000;
	struct tm tm;
	char text[16];

	localtime_r(&s, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	printf("%s.%09lld ", text, (long long)(t % 1000000000));
}

/* " name value", where there is one */
static void maybe(const char *name, const struct nlattr *a, const char *(*as)(uint64_t v),
		  uint64_t scale)
{
	if (!a)
		return;
	if (as)
		printf(" %s %s", name, as(at_num(a) * scale));
	else
		printf(" %s %llu", name, (unsigned long long)at_num(a));
}

static void print_flow(const struct nlattr *nest)
{
	struct nlattr *tb[ATTRS_MAX + 1] = { NULL };

	if (!nest || nla_parse_nested(tb, BOLT_A_FLOW_MAX, (struct nlattr *)nest, NULL))
		return;
	printf(" %s:%llu > %s:%llu", at_addr(tb[BOLT_A_FLOW_LOCAL_ADDR]),
	       (unsigned long long)at_num(tb[BOLT_A_FLOW_LOCAL_PORT]),
	       at_addr(tb[BOLT_A_FLOW_REMOTE_ADDR]),
	       (unsigned long long)at_num(tb[BOLT_A_FLOW_REMOTE_PORT]));
	if (tb[BOLT_A_FLOW_CONGESTION])
		printf(" %s", at_str(tb[BOLT_A_FLOW_CONGESTION]));
	maybe("cwnd", tb[BOLT_A_FLOW_CWND], NULL, 1);
}

static void print_bolt(struct nlattr **tb)
{
	print_flow(tb[BOLT_A_EVENT_FLOW]);
	maybe("queue", tb[BOLT_A_EVENT_QUEUE_BYTES], tx_bytes, 1);
	maybe("rate", tb[BOLT_A_EVENT_LINK_RATE], tx_rate, 1000);
	maybe("rtt_src", tb[BOLT_A_EVENT_RTT_SRC_NS], tx_ns, 1);
	maybe("asked", tb[BOLT_A_EVENT_ASKED_NS], tx_ns, 1);
	maybe("granted", tb[BOLT_A_EVENT_GRANTED_NS], tx_ns, 1);
	maybe("switch", tb[BOLT_A_EVENT_SWITCH_ID], NULL, 1);
	if (tb[BOLT_A_EVENT_FROM_CACHE])
		printf(" from_cache");
	if (tb[BOLT_A_EVENT_SENDER])
		printf(" by %s", at_addr(tb[BOLT_A_EVENT_SENDER]));
	if (tb[BOLT_A_EVENT_VERDICT])
		printf(" %s", at_enum(tb[BOLT_A_EVENT_VERDICT], &bolt_event_set));
	if (tb[BOLT_A_EVENT_REASON])
		printf(" %s", at_str(tb[BOLT_A_EVENT_REASON]));
}

static void print_sfc(struct nlattr **tb)
{
	char dev[IF_NAMESIZE];

	if (tb[SFC_A_EVENT_IFINDEX])
		printf(" %s", if_indextoname(at_num(tb[SFC_A_EVENT_IFINDEX]), dev) ? dev : "?");
	if (tb[SFC_A_EVENT_SRC_ADDR])
		printf(" %s:%llu > %s:%llu", at_addr(tb[SFC_A_EVENT_SRC_ADDR]),
		       (unsigned long long)at_num(tb[SFC_A_EVENT_SRC_PORT]),
		       at_addr(tb[SFC_A_EVENT_DST_ADDR]),
		       (unsigned long long)at_num(tb[SFC_A_EVENT_DST_PORT]));
	if (at_num(tb[SFC_A_EVENT_DSCP]))
		maybe("dscp", tb[SFC_A_EVENT_DSCP], NULL, 1);
	maybe("queue", tb[SFC_A_EVENT_QUEUE_BYTES], tx_bytes, 1);
	maybe("rate", tb[SFC_A_EVENT_LINK_RATE], tx_rate, 1000);
	maybe("pause", tb[SFC_A_EVENT_PAUSE_NS], tx_ns, 1);
	if (at_num(tb[SFC_A_EVENT_FLAGS]) & SFC_BTS_FLAG_FROM_CACHE)
		printf(" from_cache");
	if (tb[SFC_A_EVENT_VERDICT])
		printf(" %s", at_enum(tb[SFC_A_EVENT_VERDICT], &sfc_event_set));
}

/* --- both --- */

static void print_lost(uint64_t n, const char *why)
{
	if (conf.json) {
		js_begin(NULL, '{');
		js_str("type", "lost");
		js_u64("events", n);
		js_str("why", why);
		js_end('}');
	} else {
		printf("lost %llu events: %s\n", (unsigned long long)n, why);
	}
}

static void print_event(struct nlattr **tb, const struct attr_set *set, const char *source,
			const char *type, uint64_t time_ns, uint64_t lost)
{
	if (lost)
		print_lost(lost, "more than the module sends in a second");
	if (!wanted(type))
		return;
	ev.seen++;
	if (conf.json) {
		js_begin(NULL, '{');
		js_str("source", source);
		at_json(tb, set);
		js_end('}');
		return;
	}
	print_time(time_ns);
	printf("%-6s %-12s", source, type);
	if (set == &bolt_event_set)
		print_bolt(tb);
	else
		print_sfc(tb);
	putchar('\n');
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct nlattr *tb[ATTRS_MAX + 1];

	(void)arg;
	if (ev.count && ev.seen >= ev.count)
		return NL_STOP;
	if (nlh->nlmsg_type == ev.bolt && !genlmsg_parse(nlh, 0, tb, BOLT_A_EVENT_MAX, NULL))
		print_event(tb, &bolt_event_set, "host",
			    at_enum(tb[BOLT_A_EVENT_TYPE], &bolt_event_set),
			    at_num(tb[BOLT_A_EVENT_TIME_NS]), at_num(tb[BOLT_A_EVENT_LOST]));
	else if (nlh->nlmsg_type == ev.sfc && !genlmsg_parse(nlh, 0, tb, SFC_A_EVENT_MAX, NULL))
		print_event(tb, &sfc_event_set, "switch",
			    at_enum(tb[SFC_A_EVENT_TYPE], &sfc_event_set),
			    at_num(tb[SFC_A_EVENT_TIME_NS]), at_num(tb[SFC_A_EVENT_LOST]));
	return NL_OK;
}

static int on_seq(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;	/* events have none */
}

/* Joins the group of a family that is there */
static int join(struct nl_sock *sk, const char *family, const char *group, int *id)
{
	int g, err;

	*id = bc_nl_find(sk, family);
	if (*id < 0)
		return BC_OK;
	g = genl_ctrl_resolve_grp(sk, family, group);
	if (g < 0)
		return bc_error(BC_FAIL, "events: family \"%s\" has no group \"%s\"", family,
				group);
	err = setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &g, sizeof(g));
	if (!err)
		return BC_OK;
	if (errno == EPERM || errno == EACCES)
		return bc_error(BC_PERM, "events: permission missing: CAP_NET_ADMIN is needed");
	return bc_error(BC_FAIL, "events: %s", strerror(errno));
}

static int open_events(struct nl_sock **sk)
{
	int status;

	*sk = bc_nl_open(NETLINK_GENERIC, &status);
	if (!*sk)
		return status;
	status = join(*sk, BOLT_FAMILY_NAME, BOLT_MCGRP_EVENTS, &ev.bolt);
	if (!status)
		status = join(*sk, SFC_FAMILY_NAME, SFC_MCGRP_EVENTS, &ev.sfc);
	if (!status && ev.bolt < 0 && ev.sfc < 0)
		status = bc_error(BC_ABSENT,
				  "neither tcp_bolt nor sch_sfc is loaded: sudo modprobe tcp_bolt");
	if (status)
		return status;
	nl_socket_modify_cb(*sk, NL_CB_VALID, NL_CB_CUSTOM, on_event, NULL);
	nl_socket_modify_cb(*sk, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, on_seq, NULL);
	nl_socket_set_nonblocking(*sk);
	return BC_OK;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static int listen_events(struct nl_sock *sk)
{
	struct pollfd p = { .fd = nl_socket_get_fd(sk), .events = POLLIN };
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + ev.timeout_ms * 1000000, now;
	int n, err, wait = -1;

	while (!stop && !(ev.count && ev.seen >= ev.count)) {
		if (ev.timeout_ms) {
			now = clock_ns(CLOCK_MONOTONIC);
			if (now >= end)
				break;
			wait = (end - now + 999999) / 1000000;
		}
		n = poll(&p, 1, wait);
		if (n < 0 && errno != EINTR)
			return bc_error(BC_FAIL, "events: %s", strerror(errno));
		if (n <= 0)
			continue;
		err = nl_recvmsgs_default(sk);
		/* libnl's name for ENOBUFS: the socket's buffer was full */
		if (err == -NLE_NOMEM)
			print_lost(1, "at least so many: this program is too slow");
		else if (err < 0 && err != -NLE_AGAIN)
			return bc_error(BC_FAIL, "events: %s", nl_geterror(err));
		err = bc_flush();
		if (err)
			return err;
	}
	return BC_OK;
}

/* --- the command line --- */

static int take_timeout(const char *arg)
{
	char *end;
	double s = strtod(arg, &end);

	if (*end || !*arg || !(s >= 0.001 && s <= 1e6))
		return bc_error(BC_USAGE,
				"--timeout: \"%s\" is not a number of seconds from 0.001 to 1000000",
				arg);
	ev.timeout_ms = s * 1000 + 0.5;
	return BC_OK;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "timeout", required_argument, NULL, 't' },
		BC_LONG_COMMON
	};
	struct sigaction sa = { .sa_handler = on_signal };
	struct nl_sock *sk;
	int c, i, status;

	while ((c = bc_getopt(argc, argv, "c:t:", longs, &status))) {
		if (c == 'c')
			status = bc_number("--count", optarg, 1, UINT64_MAX, &ev.count);
		else
			status = take_timeout(optarg);
		if (status)
			return status;
	}
	if (status)
		return status;
	ev.types = argv + optind;
	ev.n_types = argc - optind;
	for (i = 0; i < ev.n_types; i++)
		if (!is_type(bolt_event_types, ev.types[i]) &&
		    !is_type(sfc_event_types, ev.types[i]))
			return bc_error(BC_USAGE, "no event \"%s\"; see: boltctl events --help",
					ev.types[i]);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	ev.wall_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	status = open_events(&sk);
	if (!status) {
		/* who waits for this line knows that nothing is missed from here on */
		if (isatty(STDERR_FILENO) || getenv("BOLTCTL_READY"))
			fputs("listening\n", stderr);
		status = listen_events(sk);
	}
	nl_socket_free(sk);
	return status;
}

const struct bc_cmd cmd_events = {
	.name = "events",
	.run = run,
	.what = "what happens, as it happens: SRC, BTS, pauses, refusals",
	.usage = "[--count N] [--timeout SECONDS] [TYPE...]",
	.help =
"What happens to the connections of this namespace (host), and at its ports with sfc (switch),\n"
"a line each: when, where, what, which flow, what a switch said, what became of it.  With -j a\n"
"line of JSON each.  Root is needed.  Until interrupted.\n"
"\n"
"  -c, --count N            end after so many\n"
"  -t, --timeout SECONDS    end after so long\n"
"\n"
"Types; without any all:\n"
"  host    src pause-begin pause-change pause-end watchdog refusal fallback\n"
"  switch  src bts cache-hit suppressed refusal\n"
"\n"
"A namespace sends 10000 events a second at most.  \"lost\" says how many did not come.\n"
"\n"
"Examples:\n"
"  sudo boltctl events\n"
"  sudo boltctl events refusal fallback             what goes wrong\n"
"  sudo boltctl -j events -t 10 src | jq .queue_bytes\n",
};
