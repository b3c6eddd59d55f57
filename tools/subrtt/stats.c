// SPDX-License-Identifier: GPL-2.0
/* subrtt stats: tcp_bolt's counters of a namespace, or their rates. */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "subrtt.h"
#include "stats.h"

static struct {
	bool all;
	char **names;
	int n_names;
	uint64_t interval_ms, times;
} opt;

/* Returns false without tcp_bolt; without permission there are none */
static bool read_all(struct stats *s)
{
	FILE *f = fopen("/proc/net/bolt_stat", "r");
	char line[128];

	s->n = 0;
	if (!f)
		return false;
	while (s->n < STATS_MAX && fgets(line, sizeof(line), f))
		if (sscanf(line, "%31s %" SCNu64, s->c[s->n].name, &s->c[s->n].value) == 2)
			s->n++;
	fclose(f);
	return true;
}

/* BC_OK without tcp_bolt: none then */
int stats_read(struct stats *s)
{
	if (read_all(s) && !s->n)
		return bc_error(BC_PERM,
				"counters: permission missing: CAP_NET_ADMIN is needed");
	return BC_OK;
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

bool stats_one(const char *name, uint64_t *v)
{
	struct stats s;

	read_all(&s);
	return stats_value(&s, name, v);
}

/* How many there are; and a sum that a shorter pause in place of a longer one makes smaller */
bool stats_may_shrink(const char *name)
{
	return !strcmp(name, "FlowsNow") || !strcmp(name, "PausesNow") || !strcmp(name, "PausedNs");
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
		uint64_t old = 0;
		int64_t d;

		if (!wanted(now->c[i].name))
			continue;
		stats_value(before, now->c[i].name, &old);
		d = now->c[i].value - old;
		/* a module that was loaded anew counts from 0 */
		if (d < 0 && !stats_may_shrink(now->c[i].name))
			d = now->c[i].value;
		if (conf.json)
			js_s64(now->c[i].name, d);
		else if (d || opt.all || opt.n_names)
			printf("%-20s %12lld %14.1f/s\n", now->c[i].name, (long long)d,
			       d / seconds);
	}
	if (conf.json) {
		js_end('}');
		js_end('}');
	}
}

static int run_rates(struct stats *before)
{
	struct stats *now = malloc(sizeof(*now));
	struct timespec next, at, last;
	uint64_t i;
	int status = BC_OK;

	if (!now)
		return bc_error(BC_FAIL, "no memory");
	bc_stop_on_signals();
	clock_gettime(CLOCK_MONOTONIC, &last);
	next = last;
	for (i = 0; !status && (!opt.times || i < opt.times); i++) {
		bc_later(&next, opt.interval_ms);
		while (!bc_stop &&
		       clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
		if (bc_stop)
			break;
		status = stats_read(now);
		if (!status && !now->n)
			status = bc_error(BC_ABSENT, "tcp_bolt has been unloaded");
		if (status)
			break;
		clock_gettime(CLOCK_MONOTONIC, &at);
		print_rates(now, before, bc_seconds(&last, &at));
		status = bc_flush();
		*before = *now;
		last = at;
	}
	free(now);
	return status;
}

/* --- the command line --- */

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
			status = bc_interval("--delta", optarg ? optarg : "1", &opt.interval_ms);
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
		return bc_error(BC_USAGE, "--count requires --delta");
	status = stats_read(&s);
	if (status)
		return status;
	if (!s.n)
		return bc_error(BC_ABSENT, "tcp_bolt is not loaded: sudo modprobe tcp_bolt");
	opt.names = argv + optind;
	opt.n_names = argc - optind;
	for (i = 0; i < opt.n_names; i++)
		if (!stats_value(&s, opt.names[i], &v))
			return bc_error(BC_USAGE, "no counter \"%s\"; all of them: subrtt stats --all",
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
	.what = "counters of the namespace, or their rates",
	.usage = "[--all] [--delta[=SECONDS] [--count N]] [COUNTER...]",
	.help =
"Shows the counters of tcp_bolt in this namespace that are not 0.  Each port of a switch has its\n"
"own counters: subrtt qdisc.  Documentation/counters.rst (in /usr/share/doc/subrtt-tools of the\n"
"package) explains each counter.\n"
"\n"
"  -a, --all               also show counters that are 0 (JSON always has them)\n"
"  -d, --delta[=SECONDS]   show the increase in each interval, and per second (1)\n"
"  -c, --count N           end after N intervals\n"
"\n"
"Examples:\n"
"  subrtt stats                           counters since the namespace exists\n"
"  subrtt stats SrcRx SrcDec Fallback     three counters\n"
"  subrtt stats --delta                   increases, every second until interrupted\n"
"  subrtt -j stats -d0.1 -c 10 SrcRx      ten lines of JSON, one every tenth of a second\n"
"\n"
"What to look for:\n"
"  Fallback grows       peers or middleboxes do not support the option\n"
"  CtlRx stays 0        no switch sends messages, or a filter drops UDP 12311: subrtt doctor\n"
"  Ctl... grows         control messages are refused; the counter's name says why\n",
};
