// SPDX-License-Identifier: GPL-2.0
/*
 * Plugin for tc(8): parse and print the qdisc "sfc".
 *
 * tc looks for q_NAME.so in its library directory and in it for NAME_qdisc_util; what
 * a plugin may use of tc is in tc_plugin.h.
 */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bolt.h>
#include <linux/pkt_sch_sfc.h>

#define KIND	"sfc"
#define CLASSES	"they are the bands, which the qdisc's options bands and weights set"
#include "sfc_args.h"
#include "sfc_names.h"

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... sfc [ rate RATE ] [ link RATE ] [ limit BYTES ]\n"
		"               [ memory_limit BYTES ] [ overhead BYTES ]\n"
		"               [ bolt | nobolt ] [ ccthresh { auto | BYTES } ]\n"
		"               [ src | nosrc ] [ pru | nopru ] [ sm | nosm ]\n"
		"               [ pruthresh { auto | BYTES } ] [ smcap { auto | BYTES } ] [ paper | nopaper ]\n"
		"               [ split-gso | no-split-gso ]\n"
		"               [ pause | nopause ] [ bts { ingress | egress | off } ] [ edge | noedge ]\n"
		"               [ rtt TIME ] [ qth { auto | BYTES } ] [ qtg { auto | BYTES } ]\n"
		"               [ suppress { auto | off | TIME } ] [ maxpause TIME ]\n"
		"               [ cache | nocache ] [ estimator { off | TIME } ] [ serverrate RATE ]\n"
		"               [ ecn { off | BYTES } ]\n"
		"               [ bands N ] [ weights W1 ... WN ] [ default BAND ]\n"
		"               [ dscp { none | D[-D]:BAND[,D[-D]:BAND...] } ] [ srcprob P1 ... PN ]\n"
		"               [ levels { none | [ BYTES1 BYTES2 ... ] } ]\n"
		"               [ buffer { off | BYTES } ] [ alpha { N | N/M } ]\n"
		"               [ pfc prio MASK | nopfc ] [ xoff BYTES ] [ xon { auto | BYTES } ]\n"
		"               [ watchdog { off | TIME } ] [ ignore TIME ] [ sfc-p | nosfc-p ]\n"
		"               [ srcc { off | equation | measured | BYTES } ]\n"
		"               [ srcc_delay { auto | TIME } ] [ srcc_window { auto | TIME } ]\n"
		"               [ switch_id N ] [ msgrate PPS ] [ port UDPPORT ] [ ttl N ]\n"
		"               [ addr { auto | ADDRESS } ] [ tagkey HEX | notagkey ]\n"
		"               [ switchkey HEX[,HEX] | noswitchkey ]\n"
		"See tc-sfc(8).\n");
}

/* They are printed with the bands, and only if there are several. */
static const struct option band_options[] = {
	{ "bands",	TCA_SFC_BANDS,   KIND_NUMBER, 1, .min = 1, .max = TC_SFC_BANDS_MAX },
	{ "default",	TCA_SFC_DEFAULT, KIND_NUMBER, 1, .min = 1, .max = TC_SFC_BANDS_MAX },
};

static int put_bts(struct nlmsghdr *n, const char *arg)
{
	__u8 v;

	for (v = 0; v < N_BTS; v++)
		if (!strcmp(arg, sfc_bts[v]))
			return addattr_l(n, TCA_BUF_MAX, TCA_SFC_BTS, &v, sizeof(v));
	return bad("bts", arg, "ingress, egress or off");
}

/* What up to @digits digits at *@p say; -1: there is none.  *@p moves behind them. */
static int decimal(const char **p, unsigned int digits)
{
	int v = -1;

	for (; digits-- && **p >= '0' && **p <= '9'; ++*p)
		v = (v < 0 ? 0 : 10 * v) + **p - '0';
	return v;
}

/* N, or N/N */
static int put_alpha(struct nlmsghdr *n, const char *arg)
{
	const char *p = arg;
	int num = decimal(&p, 4), den = 1;
	__u32 v;

	if (*p == '/') {
		p++;
		den = decimal(&p, 4);
	}
	if (*p || num < 1 || den < 1 || (num * TC_SFC_ALPHA_ONE) % den)
		return bad("alpha", arg, "a number such as 1, 1/2 or 8");
	v = num * TC_SFC_ALPHA_ONE / den;
	return addattr_l(n, TCA_BUF_MAX, TCA_SFC_ALPHA, &v, sizeof(v));
}

static int put_prios(struct nlmsghdr *n, const char *arg)
{
	__u32 v;
	__u8 v8;

	if (get_number(&v, "pfc prio", arg, 1, UCHAR_MAX))
		return -1;
	v8 = v;
	return addattr_l(n, TCA_BUF_MAX, TCA_SFC_PFC, &v8, sizeof(v8));
}

/* none, or FIRST[-LAST]:BAND[,...]: the whole map */
static int put_dscp(struct nlmsghdr *n, const char *arg)
{
	static const char * const want =
		"none, or a list such as 46:1,8-15:2, DSCP 0 to 63 once each, bands 1 to 8";
	__u8 map[TC_SFC_DSCPS] = { 0 };
	const char *p = arg;

	while (strcmp(arg, "none")) {
		int first = decimal(&p, 2), last = first, band = 0;

		if (*p == '-') {
			p++;
			last = decimal(&p, 2);
		}
		if (*p == ':') {
			p++;
			band = decimal(&p, 1);
		}
		if (first < 0 || first > last || last >= TC_SFC_DSCPS ||
		    band < 1 || band > TC_SFC_BANDS_MAX)
			return bad("dscp", arg, want);
		for (; first <= last; first++) {
			if (map[first])
				return bad("dscp", arg, want);
			map[first] = band;
		}
		if (!*p)
			break;
		if (*p++ != ',')
			return bad("dscp", arg, want);
	}
	return addattr_l(n, TCA_BUF_MAX, TCA_SFC_DSCP, map, sizeof(map));
}

/*
 * weights and srcprob: as many numbers as follow, and the kernel knows how many bands there are.
 * Returns how many words that are, the option's name included, or -1.
 */
static int put_per_band(struct nlmsghdr *n, int argc, char **argv)
{
	bool weights = !strcmp(argv[0], "weights");
	__u8 v[TC_SFC_BANDS_MAX];
	__u32 number;
	int i;

	for (i = 0; i + 1 < argc && *argv[i + 1] >= '0' && *argv[i + 1] <= '9'; i++) {
		if (i == TC_SFC_BANDS_MAX)
			return bad(argv[0], argv[i + 1], "for any band: there are 8 at most");
		if (get_number(&number, argv[0], argv[i + 1], 1,
			       weights ? TC_SFC_WEIGHT_MAX : 100))
			return -1;
		v[i] = number;
	}
	if (!i) {
		fprintf(stderr, "sfc: %s: a number for each band is missing\n", argv[0]);
		return -1;
	}
	if (addattr_l(n, TCA_BUF_MAX, weights ? TCA_SFC_WEIGHTS : TCA_SFC_SRCPROB, v, i))
		return -1;
	return i + 1;
}

/* The word behind @word among @argv, or NULL */
static const char *word_behind(int argc, char **argv, const char *word)
{
	for (; argc > 1; argc--, argv++)
		if (!strcmp(*argv, word))
			return argv[1];
	return NULL;
}

/*
 * The bands of @n levels and what is beyond them, and the last one as the default, unless the words
 * @argv name others.  Bands of an earlier configuration may have weights.
 */
static int put_level_bands(struct nlmsghdr *nlh, int n, int argc, char **argv)
{
	const char *given = word_behind(argc, argv, "bands");
	__u8 weights[TC_SFC_BANDS_MAX], last;
	__u32 bands = n + 1;
	int err = 0;

	if (given && get_number(&bands, "bands", given, 1, TC_SFC_BANDS_MAX))
		return -1;
	last = bands;
	memset(weights, 1, sizeof(weights));
	if (!given)
		err |= addattr_l(nlh, TCA_BUF_MAX, TCA_SFC_BANDS, &last, 1);
	if (!word_behind(argc, argv, "weights"))
		err |= addattr_l(nlh, TCA_BUF_MAX, TCA_SFC_WEIGHTS, weights, bands);
	if (!word_behind(argc, argv, "default"))
		err |= addattr_l(nlh, TCA_BUF_MAX, TCA_SFC_DEFAULT, &last, 1);
	return err;
}

/*
 * levels: none, or the sizes that follow, or the usual ones.  @all are all words.  Returns how many
 * words that are, the option's name included, or -1.
 */
static int put_levels(struct nlmsghdr *nlh, int argc, char **argv, int all_argc, char **all)
{
	__u32 from[TC_SFC_BANDS_MAX - 1] = { 2 << 10, 8 << 10, 32 << 10, 128 << 10,
					     512 << 10, 2 << 20, 8 << 20 };
	__u8 map[TC_SFC_LEVELS] = { 0 };
	int i, n = 0, level;

	if (argc > 1 && !strcmp(argv[1], "none"))
		return addattr_l(nlh, TCA_BUF_MAX, TCA_SFC_LEVELS, map, sizeof(map)) ? -1 : 2;
	for (; n + 1 < argc && *argv[n + 1] >= '0' && *argv[n + 1] <= '9'; n++) {
		if (n == TC_SFC_BANDS_MAX - 1)
			return bad("levels", argv[n + 1], "for any band: there are 8 at most");
		if (get_bytes(&from[n], "levels", argv[n + 1]))
			return -1;
		if (from[n] > 1U << (TC_SFC_LEVELS - 3))
			return bad("levels", argv[n + 1], "a size below 2gb");
		if (!from[n] || from[n] & (from[n] - 1) || (n && from[n] <= from[n - 1]))
			return bad("levels", argv[n + 1], "a power of two above the one before");
	}
	i = n ?: TC_SFC_BANDS_MAX - 1;
	for (level = 1; level < TC_SFC_LEVELS; level++) {
		int band = 0;

		while (band < i && level > 1 && from[band] <= 1U << (level - 2))
			band++;
		map[level] = band + 1;
	}
	if (put_level_bands(nlh, i, all_argc, all) ||
	    addattr_l(nlh, TCA_BUF_MAX, TCA_SFC_LEVELS, map, sizeof(map)))
		return -1;
	return n + 1;
}

/* Both addresses may be given, by two options; auto takes both back. */
static int put_addr(struct nlmsghdr *n, const char *arg)
{
	struct in6_addr a6 = { 0 };
	struct in_addr a4 = { 0 };
	bool automatic = !strcmp(arg, "auto");
	int err = 0;

	if (automatic || inet_pton(AF_INET, arg, &a4) == 1)
		err = addattr_l(n, TCA_BUF_MAX, TCA_SFC_ADDR4, &a4, sizeof(a4));
	if (automatic || (strchr(arg, ':') && inet_pton(AF_INET6, arg, &a6) == 1))
		err |= addattr_l(n, TCA_BUF_MAX, TCA_SFC_ADDR6, &a6, sizeof(a6));
	else if (strchr(arg, ':') || inet_pton(AF_INET, arg, &a4) != 1)
		return bad("addr", arg, "auto, an IPv4 or an IPv6 address");
	return err;
}

/* Sets @flags when @arg is a switch. */
static bool parse_switch(const char *arg, struct nla_bitfield32 *flags)
{
	unsigned int i;

	for (i = 0; i < N_SWITCHES; i++) {
		bool on = !strcmp(arg, sfc_switches[i].on);

		if (!on && strcmp(arg, sfc_switches[i].off))
			continue;
		flags->selector |= sfc_switches[i].flag;
		flags->value &= ~sfc_switches[i].flag;
		if (on)
			flags->value |= sfc_switches[i].flag;
		return true;
	}
	return false;
}

/* Options whose value is no number */
static const struct {
	const char *name;
	int (*put)(struct nlmsghdr *n, const char *arg);
} other_options[] = {
	{ "bts",	put_bts },
	{ "dscp",	put_dscp },
	{ "addr",	put_addr },
	{ "alpha",	put_alpha },
};

/* An option with a value.  @arg: NULL: it is missing.  Returns 1 when @word is none. */
static int parse_value(struct nlmsghdr *n, const char *word, const char *arg)
{
	const struct option *o = find_option(sfc_options, N_SFC_OPTIONS, word) ?:
				 find_option(band_options, 2, word);
	int (*put)(struct nlmsghdr *n, const char *arg) = NULL;
	unsigned int i;

	for (i = 0; i < sizeof(other_options) / sizeof(other_options[0]); i++)
		if (!strcmp(word, other_options[i].name))
			put = other_options[i].put;
	if (!o && !put)
		return 1;
	if (!arg) {
		fprintf(stderr, "sfc: %s: value missing\n", word);
		return -1;
	}
	return o ? put_value(n, o, arg) : put(n, arg);
}

/* The usage is long, so the error comes last.  An old word is answered with today's. */
static int refuse_word(const char *word)
{
	static const struct {
		const char *old, *now;
	} renamed[] = {
		{ "sfc",	"pause" },
		{ "nosfc",	"nopause" },
		{ "srcrate",	"msgrate" },
	};
	static const char * const of_hold[] = { "hold", "nohold", "holdshare", "minttl" };
	unsigned int i;

	for (i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		if (strcmp(word, renamed[i].old))
			continue;
		fprintf(stderr, "sfc: option \"%s\" is called \"%s\" now\n", word, renamed[i].now);
		return -1;
	}
	for (i = 0; i < sizeof(of_hold) / sizeof(of_hold[0]); i++) {
		if (strcmp(word, of_hold[i]))
			continue;
		fprintf(stderr,
			"sfc: option \"%s\" belongs to the qdisc sfc_hold now\n",
			word);
		return -1;
	}
	explain();
	fprintf(stderr, "sfc: unknown option \"%s\"\n", word);
	return -1;
}

static int sfc_parse_opt(struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct nla_bitfield32 flags = { 0 };
	const int all_argc = argc;
	char **const all = argv;
	const __u8 no_prios = 0;
	struct rtattr *nest;
	int words, err;

	(void)qu;
	(void)dev;
	nest = addattr_nest(n, TCA_BUF_MAX, TCA_OPTIONS | NLA_F_NESTED);
	for (; argc > 0; argc--, argv++) {
		if (parse_switch(*argv, &flags))
			continue;
		if (!strcmp(*argv, "notagkey") || !strcmp(*argv, "noswitchkey")) {
			addattr_l(n, TCA_BUF_MAX,
				  (*argv)[2] == 't' ? TCA_SFC_TAGKEY : TCA_SFC_SWITCHKEY, NULL, 0);
			continue;
		}
		if (!strcmp(*argv, "nopfc")) {
			addattr_l(n, TCA_BUF_MAX, TCA_SFC_PFC, &no_prios, sizeof(no_prios));
			continue;
		}
		if (!strcmp(*argv, "pfc")) {
			if (argc < 3 || strcmp(argv[1], "prio")) {
				fprintf(stderr, "sfc: pfc: prio and a mask are missing\n");
				return -1;
			}
			if (put_prios(n, argv[2]))
				return -1;
			argc -= 2;
			argv += 2;
			continue;
		}
		if (!strcmp(*argv, "weights") || !strcmp(*argv, "srcprob") ||
		    !strcmp(*argv, "levels")) {
			words = **argv == 'l' ? put_levels(n, argc, argv, all_argc, all) :
						put_per_band(n, argc, argv);
			if (words < 0)
				return -1;
			argc -= words - 1;
			argv += words - 1;
			continue;
		}
		if (!strcmp(*argv, "help")) {
			explain();
			return -1;
		}
		err = parse_value(n, argv[0], argc > 1 ? argv[1] : NULL);
		if (err > 0)
			return refuse_word(*argv);
		if (err)
			return -1;
		argc--;
		argv++;
	}
	if (flags.selector)
		addattr_l(n, TCA_BUF_MAX, TCA_SFC_FLAGS, &flags, sizeof(flags));
	addattr_nest_end(n, nest);
	return 0;
}

/* --- printing --- */

static void print_switches(const struct nla_bitfield32 *f)
{
	unsigned int i;

	for (i = 0; i < N_SWITCHES; i++) {
		bool on = f->value & sfc_switches[i].flag;

		if (!(f->selector & sfc_switches[i].flag))
			continue;
		print_color_bool(PRINT_JSON, COLOR_NONE, sfc_switches[i].json, NULL, on);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s ",
				   on ? sfc_switches[i].on : sfc_switches[i].off);
	}
}

static void print_addr(const char *key, int family, const void *addr)
{
	char s[INET6_ADDRSTRLEN];

	if (!addr || !inet_ntop(family, addr, s, sizeof(s)))
		return;
	print_color_string(PRINT_ANY, COLOR_NONE, key, "addr %s ", s);
}

static void print_per_band(const char *key, const __u8 *v, unsigned int n)
{
	unsigned int i;

	open_json_array(PRINT_JSON, key);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s ", key);
	for (i = 0; i < n; i++)
		print_color_uint(PRINT_ANY, COLOR_NONE, NULL, "%u ", v[i]);
	close_json_array(PRINT_JSON, NULL);
}

/* Text: FIRST-LAST:BAND,... */
static void print_dscp(const __u8 map[TC_SFC_DSCPS])
{
	char text[TC_SFC_DSCPS * 8] = "", *p = text;
	unsigned int first, last;

	open_json_array(PRINT_JSON, "dscp");
	for (first = 0; first < TC_SFC_DSCPS; first = last + 1) {
		for (last = first; last + 1 < TC_SFC_DSCPS && map[last + 1] == map[first];)
			last++;
		if (!map[first])
			continue;
		if (is_json_context()) {
			open_json_object(NULL);
			print_color_uint(PRINT_JSON, COLOR_NONE, "first", NULL, first);
			print_color_uint(PRINT_JSON, COLOR_NONE, "last", NULL, last);
			print_color_uint(PRINT_JSON, COLOR_NONE, "band", NULL, map[first]);
			close_json_object();
			continue;
		}
		p += sprintf(p, "%s%u", p == text ? "" : ",", first);
		if (last != first)
			p += sprintf(p, "-%u", last);
		p += sprintf(p, ":%u", map[first]);
	}
	close_json_array(PRINT_JSON, NULL);
	if (p == text)
		strcpy(text, "none");
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "dscp %s ", text);
}

/* As they are typed: where the next band begins; an empty map is none */
static void print_levels(const __u8 map[TC_SFC_LEVELS])
{
	unsigned int level, from;
	char text[256];

	open_json_array(PRINT_JSON, "levels");
	for (level = 2; is_json_context() && level < TC_SFC_LEVELS; level++) {
		from = sfc_level_begin(map, level);
		if (from)
			print_color_uint(PRINT_JSON, COLOR_NONE, NULL, NULL, from);
	}
	close_json_array(PRINT_JSON, NULL);
	sfc_format_levels(text, sizeof(text), map);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "levels %s ", text);
}

static void print_bands(struct rtattr **tb)
{
	const __u8 *p, *n = attr(tb, TCA_SFC_BANDS, 1);

	if (!n)
		return;
	print_color_uint(PRINT_ANY, COLOR_NONE, "bands", "bands %u ", *n);
	if (*n == 1 && !is_json_context())
		return;
	p = attr(tb, TCA_SFC_WEIGHTS, *n);
	if (p)
		print_per_band("weights", p, *n);
	p = attr(tb, TCA_SFC_DEFAULT, 1);
	if (p)
		print_color_uint(PRINT_ANY, COLOR_NONE, "default", "default %u ", *p);
	p = attr(tb, TCA_SFC_DSCP, TC_SFC_DSCPS);
	if (p)
		print_dscp(p);
	p = attr(tb, TCA_SFC_LEVELS, TC_SFC_LEVELS);
	if (p)
		print_levels(p);
	p = attr(tb, TCA_SFC_SRCPROB, *n);
	if (p)
		print_per_band("srcprob", p, *n);
}

static void print_alpha(const void *p)
{
	unsigned int v;
	char s[24];

	if (!p)
		return;
	memcpy(&v, p, sizeof(v));
	sfc_format_alpha(s, sizeof(s), v);
	print_word("alpha", s);
}

static void print_prios(__u8 prios)
{
	char s[24];

	print_color_uint(PRINT_JSON, COLOR_NONE, "pfc", NULL, prios);
	snprintf(s, sizeof(s), "pfc prio 0x%02x ", prios);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", s);
}

static __u32 attr_number(struct rtattr **tb, int type, unsigned int size)
{
	const void *p = attr(tb, type, size);
	__u32 v = 0;

	if (p && size == 1)
		return *(const __u8 *)p;
	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

static bool is_silent(struct rtattr **tb, int type, unsigned int size)
{
	return !is_json_context() &&
	       sfc_is_silent(type, attr_number(tb, type, size), attr_number(tb, TCA_SFC_LIMIT, 4),
			     attr_number(tb, TCA_SFC_BUFFER, 4), attr_number(tb, TCA_SFC_PFC, 1));
}

/* What is no number goes before its neighbour. */
static void print_before(struct rtattr **tb, int type)
{
	if (type == TCA_SFC_BUFFER)
		print_bands(tb);
	if (type != TCA_SFC_XOFF)
		return;
	if (attr(tb, TCA_SFC_ALPHA, 4) && !is_silent(tb, TCA_SFC_ALPHA, 4))
		print_alpha(attr(tb, TCA_SFC_ALPHA, 4));
	if (attr(tb, TCA_SFC_PFC, 1) && !is_silent(tb, TCA_SFC_PFC, 1))
		print_prios(attr_number(tb, TCA_SFC_PFC, 1));
}

static int sfc_print_opt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[TCA_SFC_MAX + 1] = { NULL };
	struct nla_bitfield32 flags;
	const struct option *o;
	const void *p;

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	parse_attrs(tb, TCA_SFC_MAX, opt);
	for (o = sfc_options; o < sfc_options + N_SFC_OPTIONS; o++) {
		p = o->type == TCA_SFC_RTT ? attr(tb, TCA_SFC_FLAGS, sizeof(flags)) : NULL;
		if (p) {
			memcpy(&flags, p, sizeof(flags));
			print_switches(&flags);
		}
		p = o->type == TCA_SFC_RTT ? attr(tb, TCA_SFC_BTS, sizeof(__u8)) : NULL;
		if (p && *(const __u8 *)p < N_BTS)
			print_word("bts", sfc_bts[*(const __u8 *)p]);
		print_before(tb, o->type);
		if (!is_silent(tb, o->type, o->size))
			print_value(tb, o);
	}
	print_addr("addr4", AF_INET, attr(tb, TCA_SFC_ADDR4, 4));
	print_addr("addr6", AF_INET6, attr(tb, TCA_SFC_ADDR6, 16));
	return 0;
}

static const struct counter sfc_counters[] = {
#define C(name, group, newline)	{ #name, offsetof(struct tc_sfc_xstats, name), newline },
	SFC_COUNTERS(C, C)
#undef C
};

static const struct counter sfc_band_counters[] = {
#define B(name, newline)	{ #name, offsetof(struct tc_sfc_band, name), newline },
	SFC_BAND_COUNTERS(B)
#undef B
};

/* Of the qdisc, or of a class */
static int sfc_print_xstats(struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	__u64 type, rate;
	char s[32];

	(void)qu;
	(void)f;
	if (!xstats || RTA_PAYLOAD(xstats) < sizeof(type))
		return 0;
	memcpy(&type, RTA_DATA(xstats), sizeof(type));
	if (type == TC_SFC_XSTATS_BAND) {
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", " ");
		print_counters(sfc_band_counters, N_COUNTERS(sfc_band_counters), xstats);
		return 0;
	}
	if (type != TC_SFC_XSTATS_QDISC ||
	    RTA_PAYLOAD(xstats) < offsetof(struct tc_sfc_xstats, link_rate) + sizeof(rate))
		return 0;
	memcpy(&rate, (const char *)RTA_DATA(xstats) + offsetof(struct tc_sfc_xstats, link_rate),
	       sizeof(rate));
	print_color_u64(PRINT_JSON, COLOR_NONE, "link_rate", NULL, rate);
	sfc_format_exact(s, sizeof(s), rate * 8, 1000, sfc_rates);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "  link_rate %s", rate ? s : "unknown");
	print_counters(sfc_counters, N_COUNTERS(sfc_counters), xstats);
	return 0;
}

extern struct qdisc_util sfc_qdisc_util;
struct qdisc_util sfc_qdisc_util = {
	.id = "sfc",
	.parse_qopt = sfc_parse_opt,
	.print_qopt = sfc_print_opt,
	.print_xstats = sfc_print_xstats,
	.parse_copt = refuse_class,
};
