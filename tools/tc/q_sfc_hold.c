// SPDX-License-Identifier: GPL-2.0
/* Plugin for tc(8): parse and print the qdisc "sfc_hold"; as q_sfc.c. */
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <linux/pkt_sch_sfc.h>

#define KIND	"sfc_hold"
#define CLASSES	"there is one, the place of its child"
#include "sfc_args.h"

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... sfc_hold [ limit BYTES ] [ maxpause TIME ] [ share PERCENT ]\n"
		"                    [ minttl N ] [ port UDPPORT ] { tagkey HEX[,HEX] | notagkey }\n"
		"See tc-sfc_hold(8).\n");
}

static const struct option options[] = {
	{ "limit",	TCA_SFC_HOLD_LIMIT,	KIND_BYTES,	.size = 4 },
	{ "maxpause",	TCA_SFC_HOLD_MAXPAUSE,	KIND_TIME,	.size = 4 },
	{ "share",	TCA_SFC_HOLD_SHARE,	KIND_NUMBER,	.size = 1, .min = 1, .max = 100 },
	{ "minttl",	TCA_SFC_HOLD_MINTTL,	KIND_NUMBER,	.size = 1, .max = 255 },
	{ "port",	TCA_SFC_HOLD_PORT,	KIND_NUMBER,	.size = 2, .min = 1, .max = 65535 },
	{ "tagkey",	TCA_SFC_HOLD_TAGKEY,	KIND_KEY,	.size = 32 },
};

#define N_OPTIONS	(sizeof(options) / sizeof(options[0]))

static int parse_opt(struct qdisc_util *qu, int argc, char **argv, struct nlmsghdr *n,
		     const char *dev)
{
	struct rtattr *nest = addattr_nest(n, TCA_BUF_MAX, TCA_OPTIONS | NLA_F_NESTED);
	const struct option *o;

	(void)qu;
	(void)dev;
	for (; argc > 0; argc--, argv++) {
		if (!strcmp(*argv, "notagkey")) {
			addattr_l(n, TCA_BUF_MAX, TCA_SFC_HOLD_TAGKEY, NULL, 0);
			continue;
		}
		o = find_option(options, N_OPTIONS, *argv);
		if (!o) {
			explain();
			if (strcmp(*argv, "help"))
				fprintf(stderr, KIND ": unknown option \"%s\"\n", *argv);
			return -1;
		}
		if (argc < 2) {
			fprintf(stderr, KIND ": %s: value missing\n", *argv);
			return -1;
		}
		if (put_value(n, o, argv[1]))
			return -1;
		argc--;
		argv++;
	}
	addattr_nest_end(n, nest);
	return 0;
}

static int print_opt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[TCA_SFC_HOLD_MAX + 1] = { NULL };
	unsigned int i;

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	parse_attrs(tb, TCA_SFC_HOLD_MAX, opt);
	for (i = 0; i < N_OPTIONS; i++)
		print_value(tb, &options[i]);
	print_color_bool(PRINT_JSON, COLOR_NONE, "notagkey", NULL, tb[TCA_SFC_HOLD_TAGKEY]);
	if (tb[TCA_SFC_HOLD_TAGKEY])
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", "notagkey ");
	return 0;
}

static int print_xstats(struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	static const struct counter counters[] = {
#define H(name, newline)	{ #name, offsetof(struct tc_sfc_hold_xstats, name), newline },
		SFC_HOLD_COUNTERS(H)
#undef H
	};

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", " ");
	print_counters(counters, N_COUNTERS(counters), xstats);
	return 0;
}

extern struct qdisc_util sfc_hold_qdisc_util;
struct qdisc_util sfc_hold_qdisc_util = {
	.id = KIND,
	.parse_qopt = parse_opt,
	.print_qopt = print_opt,
	.print_xstats = print_xstats,
	.parse_copt = refuse_class,
};
