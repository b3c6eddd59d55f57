// SPDX-License-Identifier: GPL-2.0
/*
 * Options and counters of the qdisc sfc.  Names are those of tc: what is printed of the options
 * can be given to it again, and JSON has the same keys.
 */

#include <arpa/inet.h>
#include <linux/pkt_sched.h>
#include <netlink/attr.h>
#include <string.h>

#include "../tc/sfc_counters.h"
#include "../tc/sfc_names.h"
#include "attrs.h"
#include "subrtt.h"
#include "qdisc.h"

#define N(a)	(sizeof(a) / sizeof((a)[0]))

/* --- options --- */

static void word(const char *name, const char *value)
{
	if (conf.json)
		js_str(name, value);
	else
		printf(" %s %s", name, value);
}

static void exact(const char *name, uint64_t v, uint64_t step, const char * const *units,
		  uint64_t json)
{
	char s[32];

	sfc_format_exact(s, sizeof(s), v, step, units);
	if (conf.json)
		js_u64(name, json);
	else
		printf(" %s %s", name, s);
}

static void print_switches(const struct nlattr *a)
{
	struct nla_bitfield32 f;
	unsigned int i;

	if (!a || nla_len(a) < (int)sizeof(f))
		return;
	memcpy(&f, nla_data(a), sizeof(f));
	for (i = 0; i < N_SWITCHES; i++) {
		bool on = f.value & sfc_switches[i].flag;

		if (!(f.selector & sfc_switches[i].flag))
			continue;
		if (conf.json)
			js_bool(sfc_switches[i].json, on);
		else
			printf(" %s", on ? sfc_switches[i].on : sfc_switches[i].off);
	}
}

static void number(const char *name, uint64_t v)
{
	if (conf.json)
		js_u64(name, v);
	else
		printf(" %s %llu", name, (unsigned long long)v);
}

static void print_option(const struct option *o, uint64_t v)
{
	if (o->kind == KIND_RATE) {
		if (v)
			exact(o->name, v * 8, 1000, sfc_rates, v);
	} else if (o->kind == KIND_NUMBER) {
		number(o->name, v);
	} else if (option_word(o, v)) {
		word(o->name, option_word(o, v));
	} else if (o->kind == KIND_BYTES) {
		exact(o->name, v, 1024, sfc_sizes, v);
	} else if (o->kind == KIND_TIME) {
		exact(o->name, v, 1000, sfc_times, v);
	}
}

static void print_addr(const char *name, int family, const struct nlattr *a)
{
	char s[INET6_ADDRSTRLEN];

	if (!a || nla_len(a) < (family == AF_INET ? 4 : 16))
		return;
	inet_ntop(family, nla_data(a), s, sizeof(s));
	if (conf.json)
		js_str(name, s);
	else
		printf(" addr %s", s);
}

/* --- bands --- */

/* One of as many numbers as there are bands */
static void print_per_band(const char *name, const struct nlattr *a, int bands)
{
	const uint8_t *v;
	int i;

	if (!a || nla_len(a) < bands)
		return;
	v = nla_data(a);
	if (conf.json)
		js_begin(name, '[');
	else
		printf(" %s", name);
	for (i = 0; i < bands; i++) {
		if (conf.json)
			js_u64(NULL, v[i]);
		else
			printf(" %u", v[i]);
	}
	if (conf.json)
		js_end(']');
}

/* FIRST-LAST:BAND,... of those that are not the default's */
static void print_dscp(const struct nlattr *a)
{
	unsigned int first, last;
	const uint8_t *map;
	bool any = false;

	if (!a || nla_len(a) < TC_SFC_DSCPS)
		return;
	map = nla_data(a);
	if (conf.json)
		js_begin("dscp", '[');
	else
		printf(" dscp");
	for (first = 0; first < TC_SFC_DSCPS; first = last + 1) {
		for (last = first; last + 1 < TC_SFC_DSCPS && map[last + 1] == map[first];)
			last++;
		if (!map[first])
			continue;
		if (conf.json) {
			js_begin(NULL, '{');
			js_u64("first", first);
			js_u64("last", last);
			js_u64("band", map[first]);
			js_end('}');
		} else {
			printf("%c%u", any ? ',' : ' ', first);
			if (last != first)
				printf("-%u", last);
			printf(":%u", map[first]);
		}
		any = true;
	}
	if (conf.json)
		js_end(']');
	else if (!any)
		printf(" none");
}

static void print_levels(const struct nlattr *a)
{
	unsigned int level, from;
	char text[256];

	if (!a || nla_len(a) < TC_SFC_LEVELS)
		return;
	if (!conf.json) {
		sfc_format_levels(text, sizeof(text), nla_data(a));
		printf(" levels %s", text);
		return;
	}
	js_begin("levels", '[');
	for (level = 2; level < TC_SFC_LEVELS; level++) {
		from = sfc_level_begin(nla_data(a), level);
		if (from)
			js_u64(NULL, from);
	}
	js_end(']');
}

static void print_bands(const struct port *p)
{
	unsigned int n = at_num(p->tb[TCA_SFC_BANDS]);

	number("bands", n);
	/* the rest says nothing then; tc prints it in JSON all the same */
	if (n == 1 && !conf.json)
		return;
	print_per_band("weights", p->tb[TCA_SFC_WEIGHTS], n);
	if (p->tb[TCA_SFC_DEFAULT])
		number("default", at_num(p->tb[TCA_SFC_DEFAULT]));
	print_dscp(p->tb[TCA_SFC_DSCP]);
	print_levels(p->tb[TCA_SFC_LEVELS]);
	print_per_band("srcprob", p->tb[TCA_SFC_SRCPROB], n);
}

/* --- statistics --- */

/* line: what the counters of a line of text are about */
static const struct {
	const char *name, *line;
	unsigned int off;
	bool state;
} counters[] = {
#define C(name, line, newline)	{ #name, line, offsetof(struct tc_sfc_xstats, name), false },
#define S(name, line, newline)	{ #name, line, offsetof(struct tc_sfc_xstats, name), true },
	S(link_rate, "port", false)
	SFC_COUNTERS(C, S)
#undef S
#undef C
};

static const struct {
	const char *name;
	unsigned int off;
} band_counters[] = {
#define B(name, newline)	{ #name, offsetof(struct tc_sfc_band, name) },
	SFC_BAND_COUNTERS(B)
#undef B
};

static void print_of_band(const char *name, int64_t v, bool all)
{
	if (conf.json)
		js_s64(name, v);
	else if (v || all)
		printf(" %s %lld", name, (long long)v);
}

static void print_band(const struct band *b, bool all)
{
	unsigned int i;
	__s64 v;

	if (conf.json) {
		js_begin(NULL, '{');
		js_u64("band", b->number);
	} else {
		printf("\n  band %u", b->number);
	}
	print_of_band("sent_bytes", b->any.bytes, all);
	print_of_band("sent", b->any.packets, all);
	print_of_band("drops", b->any.queue.drops, all);
	print_of_band("backlog", b->any.queue.backlog, all);
	print_of_band("qlen", b->any.queue.qlen, all);
	for (i = 0; i < N(band_counters); i++) {
		if (!sfc_counter(&b->st, b->any.len, band_counters[i].off, &v))
			continue;
		print_of_band(band_counters[i].name, v, all);
	}
	if (conf.json)
		js_end('}');
}

void qdisc_each_counter(const struct qdisc_port *port,
			void (*fn)(const char *name, bool state, int64_t v, void *arg), void *arg)
{
	unsigned int i;
	__s64 v;

	for (i = 0; i < N(counters); i++)
		if (sfc_counter(port->st, port->any->len, counters[i].off, &v))
			fn(counters[i].name, counters[i].state, v, arg);
}

/* The text leaves out what is 0, unless all was asked for. */
void qdisc_counters(const struct port *p, bool all)
{
	const char *line = NULL;
	unsigned int i;
	__s64 v;

	for (i = 0; i < N(counters); i++) {
		if (!sfc_counter(&p->st, p->any.len, counters[i].off, &v))
			continue;
		if (conf.json) {
			if (counters[i].off == offsetof(struct tc_sfc_xstats, sm_token))
				js_s64(counters[i].name, v);
			else
				js_u64(counters[i].name, v);
			continue;
		}
		if (!v && !all && counters[i].off != offsetof(struct tc_sfc_xstats, link_rate))
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
	if (p->n_bands && conf.json)
		js_begin("band", '[');
	for (i = 0; i < p->n_bands; i++)
		print_band(&p->band[i], all);
	if (p->n_bands && conf.json)
		js_end(']');
	if (!conf.json)
		putchar('\n');
}

static bool is_silent(const struct port *p, int type)
{
	return !conf.json &&
	       sfc_is_silent(type, at_num(p->tb[type]), at_num(p->tb[TCA_SFC_LIMIT]),
			     at_num(p->tb[TCA_SFC_BUFFER]), at_num(p->tb[TCA_SFC_PFC]));
}

static bool is_shown(const struct port *p, int type)
{
	return p->tb[type] && !is_silent(p, type);
}

/* As the plugin of tc: what is no number goes before its neighbour. */
static void print_before(const struct port *p, int type)
{
	uint64_t v = at_num(p->tb[TCA_SFC_BTS]);
	char s[24];

	if (type == TCA_SFC_RTT) {
		print_switches(p->tb[TCA_SFC_FLAGS]);
		if (p->tb[TCA_SFC_BTS])
			word("bts", v < N_BTS ? sfc_bts[v] : "?");
	}
	if (type == TCA_SFC_BUFFER && p->tb[TCA_SFC_BANDS])
		print_bands(p);
	if (type == TCA_SFC_XOFF && is_shown(p, TCA_SFC_ALPHA)) {
		sfc_format_alpha(s, sizeof(s), at_num(p->tb[TCA_SFC_ALPHA]));
		word("alpha", s);
	}
	if (type == TCA_SFC_XOFF && is_shown(p, TCA_SFC_PFC)) {
		v = at_num(p->tb[TCA_SFC_PFC]);
		if (conf.json)
			js_u64("pfc", v);
		else
			printf(" pfc prio 0x%02llx", (unsigned long long)v);
	}
}

void qdisc_options(const struct port *p)
{
	const struct option *o;

	for (o = sfc_options; o < sfc_options + N_SFC_OPTIONS; o++) {
		print_before(p, o->type);
		if (is_shown(p, o->type))
			print_option(o, at_num(p->tb[o->type]));
	}
	print_addr("addr4", AF_INET, p->tb[TCA_SFC_ADDR4]);
	print_addr("addr6", AF_INET6, p->tb[TCA_SFC_ADDR6]);
}
