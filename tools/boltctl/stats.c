// SPDX-License-Identifier: GPL-2.0
/* boltctl stats: counters of a namespace, of tcp_bolt and of sch_sfc's cache; or their rates. */

#include <errno.h>
#include <getopt.h>
#include <linux/bolt_netlink.h>
#include <linux/sfc_netlink.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attrs.h"
#include "boltctl.h"
#include "stats.h"

static struct {
	bool all;
	char **names;
	int n_names;
	uint64_t interval_ms, times;
} opt;

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void reset(void *arg)
{
	(void)arg;
}

static void add(struct stats *s, const char *name, uint64_t v)
{
	if (s->n == STATS_MAX)
		return;
	snprintf(s->c[s->n].name, sizeof(s->c[0].name), "%s", name);
	s->c[s->n++].value = v;
}

static int bolt_entry(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *tb[ATTRS_MAX + 1], *a, *pair[BOLT_A_COUNTER_MAX + 1];
	struct stats *s = arg;
	int rem;

	if (genlmsg_parse(nlh, 0, tb, BOLT_A_STATS_MAX, NULL))
		return bc_error(BC_FAIL, "counters: the kernel's answer cannot be read");
	s->bolt = true;
	s->port = at_num(tb[BOLT_A_STATS_PORT]);
	s->port_open = at_num(tb[BOLT_A_STATS_PORT_OPEN]);
	s->events_sent = at_num(tb[BOLT_A_STATS_EVENTS_SENT]);
	s->events_lost = at_num(tb[BOLT_A_STATS_EVENTS_LOST]);
	nla_for_each_attr(a, genlmsg_attrdata(nlmsg_data(nlh), 0),
			  genlmsg_attrlen(nlmsg_data(nlh), 0), rem) {
		if (nla_type(a) != BOLT_A_STATS_COUNTER ||
		    nla_parse_nested(pair, BOLT_A_COUNTER_MAX, a, NULL))
			continue;
		add(s, at_str(pair[BOLT_A_COUNTER_NAME]), at_num(pair[BOLT_A_COUNTER_VALUE]));
	}
	return BC_OK;
}

/* Under names of their own beside those of tcp_bolt */
static int sfc_entry(struct nlmsghdr *nlh, void *arg)
{
	static const struct {
		int type;
		const char *name;
	} names[] = {
		{ SFC_A_STATS_INSERTS,	"SwitchCacheInserts" },
		{ SFC_A_STATS_UPDATES,	"SwitchCacheUpdates" },
		{ SFC_A_STATS_FULL,	"SwitchCacheFull" },
		{ SFC_A_STATS_REFUSED,	"SwitchCacheRefused" },
		{ SFC_A_STATS_IGNORED,	"SwitchCacheIgnored" },
		{ SFC_A_STATS_EVENTS_SENT, "SwitchEventsSent" },
		{ SFC_A_STATS_EVENTS_LOST, "SwitchEventsLost" },
	};
	struct nlattr *tb[ATTRS_MAX + 1];
	struct stats *s = arg;
	unsigned int i;

	if (genlmsg_parse(nlh, 0, tb, SFC_A_STATS_MAX, NULL))
		return bc_error(BC_FAIL, "counters: the kernel's answer cannot be read");
	s->sfc = true;
	s->cache_size = at_num(tb[SFC_A_STATS_CACHE_SIZE]);
	s->cache_entries = at_num(tb[SFC_A_STATS_ENTRIES]);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add(s, names[i].name, at_num(tb[names[i].type]));
	return BC_OK;
}

/* Of one family; BC_OK without it */
static int read_family(const char *family, int cmd,
		       int (*entry)(struct nlmsghdr *nlh, void *arg), struct stats *s)
{
	const struct bc_dump d = { .entry = entry, .reset = reset, .arg = s, .what = "counters" };
	struct nl_sock *sk;
	int status, id;

	sk = bc_nl_open(NETLINK_GENERIC, &status);
	if (!sk)
		return status;
	id = bc_nl_find(sk, family);
	if (id >= 0)
		status = bc_nl_get(sk, bc_genl_msg(id, cmd, 0), &d);
	nl_socket_free(sk);
	return status;
}

int stats_read(struct stats *s)
{
	int status;

	memset(s, 0, sizeof(*s));
	status = read_family(BOLT_FAMILY_NAME, BOLT_CMD_STATS_GET, bolt_entry, s);
	if (status)
		return status;
	return read_family(SFC_FAMILY_NAME, SFC_CMD_STATS_GET, sfc_entry, s);
}

bool stats_value(const struct stats *s, const char *name, uint64_t *v)
{
	unsigned int i;

	for (i = 0; i < s->n; i++)
		if (!strcmp(s->c[i].name, name)) {
			*v = s->c[i].value;
			return true;
		}
	return false;
}

/* --- printing --- */

static bool wanted(const char *name)
{
	int i;

	for (i = 0; i < opt.n_names; i++)
		if (!strcmp(opt.names[i], name))
			return true;
	return !opt.n_names;
}

static void print_json(const struct stats *s)
{
	unsigned int i;

	js_begin(NULL, '{');
	for (i = 0; i < s->n; i++)
		if (wanted(s->c[i].name))
			js_u64(s->c[i].name, s->c[i].value);
	js_end('}');
}

static void print_text(const struct stats *s)
{
	unsigned int i;

	for (i = 0; i < s->n; i++)
		if (wanted(s->c[i].name) && (s->c[i].value || opt.all || opt.n_names))
			printf("%-20s %llu\n", s->c[i].name, (unsigned long long)s->c[i].value);
}

/* A document of JSON on one line for each interval */
static void print_rates(const struct stats *now, const struct stats *before, double seconds)
{
	unsigned int i;

	if (conf.json) {
		js_begin(NULL, '{');
		js_u64("interval_ns", seconds * 1e9);
		js_begin("delta", '{');
	} else {
		printf("--- %.3f s\n", seconds);
	}
	for (i = 0; i < now->n; i++) {
		uint64_t old = 0, d;

		if (!wanted(now->c[i].name))
			continue;
		/* a module that was loaded anew counts from 0 */
		stats_value(before, now->c[i].name, &old);
		d = now->c[i].value >= old ? now->c[i].value - old : now->c[i].value;
		if (conf.json)
			js_u64(now->c[i].name, d);
		else if (d || opt.all || opt.n_names)
			printf("%-20s %12llu %14.1f/s\n", now->c[i].name, (unsigned long long)d,
			       d / seconds);
	}
	if (conf.json) {
		js_end('}');
		js_end('}');
	}
}

static double elapsed(const struct timespec *from, const struct timespec *to)
{
	return to->tv_sec - from->tv_sec + (to->tv_nsec - from->tv_nsec) / 1e9;
}

static int run_rates(struct stats *before)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct stats *now = malloc(sizeof(*now));
	struct timespec next, at, last;
	uint64_t i;
	int status = now ? BC_OK : bc_error(BC_FAIL, "no memory");

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	clock_gettime(CLOCK_MONOTONIC, &last);
	next = last;
	for (i = 0; !status && (!opt.times || i < opt.times); i++) {
		next.tv_sec += opt.interval_ms / 1000;
		next.tv_nsec += opt.interval_ms % 1000 * 1000 * 1000;
		if (next.tv_nsec >= 1000 * 1000 * 1000) {
			next.tv_sec++;
			next.tv_nsec -= 1000 * 1000 * 1000;
		}
		while (!stop &&
		       clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
		if (stop)
			break;
		status = stats_read(now);
		if (status)
			break;
		clock_gettime(CLOCK_MONOTONIC, &at);
		print_rates(now, before, elapsed(&last, &at));
		status = bc_flush();
		*before = *now;
		last = at;
	}
	free(now);
	return status;
}

/* --- the command line --- */

static int take_interval(const char *arg)
{
	char *end;
	double s = arg ? strtod(arg, &end) : 1;

	if (arg && (*end || !*arg || !(s >= 0.01 && s <= 86400)))
		return bc_error(BC_USAGE,
				"--delta: \"%s\" is not a number of seconds from 0.01 to 86400",
				arg);
	opt.interval_ms = s * 1000 + 0.5;
	return BC_OK;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "delta", optional_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'c' },
		BC_LONG_COMMON
	};
	static struct stats s;
	uint64_t v;
	int c, i, status;

	while ((c = bc_getopt(argc, argv, "ad::c:", longs, &status))) {
		switch (c) {
		case 'a':
			opt.all = true;
			break;
		case 'd':
			status = take_interval(optarg);
			break;
		case 'c':
			status = bc_number("--count", optarg, 1, 1000000000, &opt.times);
			break;
		}
		if (status)
			return status;
	}
	if (status)
		return status;
	if (opt.times && !opt.interval_ms)
		return bc_error(BC_USAGE, "--count wants --delta");
	status = stats_read(&s);
	if (status)
		return status;
	if (!s.bolt && !s.sfc)
		return bc_error(BC_ABSENT,
				"neither tcp_bolt nor sch_sfc is loaded: sudo modprobe tcp_bolt");
	opt.names = argv + optind;
	opt.n_names = argc - optind;
	for (i = 0; i < opt.n_names; i++)
		if (!stats_value(&s, opt.names[i], &v))
			return bc_error(BC_USAGE, "no counter \"%s\"; all of them: boltctl stats --all",
					opt.names[i]);
	if (opt.interval_ms)
		return run_rates(&s);
	if (conf.json)
		print_json(&s);
	else
		print_text(&s);
	return bc_flush();
}

const struct bc_cmd cmd_stats = {
	.name = "stats",
	.run = run,
	.what = "counters of the namespace, or how fast they move",
	.usage = "[--all] [--delta[=SECONDS] [--count N]] [COUNTER...]",
	.help =
"The counters of tcp_bolt in this namespace, and of the switch that the namespace is (Switch...);\n"
"those that are 0 left out.  Documentation/counters.rst says what each means.\n"
"\n"
"  -a, --all               those that are 0 as well (JSON has them always)\n"
"  -d, --delta[=SECONDS]   what they move by in each interval, and a second (1)\n"
"  -c, --count N           end after so many intervals\n"
"\n"
"Examples:\n"
"  boltctl stats                           what has happened so far\n"
"  boltctl stats SrcRx SrcDec Fallback     three of them\n"
"  boltctl stats --delta                   every second, until interrupted\n"
"  boltctl -j stats -d0.1 -c 10 SrcRx      ten lines of JSON, a tenth of a second each\n"
"\n"
"What to look for:\n"
"  Fallback grows       peers, or boxes on the way, that do not know the option\n"
"  CtlRx stays 0        no switch signals, or a filter drops UDP 45079: boltctl doctor\n"
"  Ctl... grows         control messages are refused; the name says why\n",
};
