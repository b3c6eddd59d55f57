/* SPDX-License-Identifier: GPL-2.0 */
/* How the plugins of tc read and print values.  KIND is the qdisc, for messages. */
#ifndef SFC_ARGS_H
#define SFC_ARGS_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pkt_sch_sfc.h>

#include "sfc_counters.h"
#include "sfc_names.h"
#include "tc_plugin.h"

/* One line that says which option, which word, and what would do. */
static inline int bad(const char *option, const char *arg, const char *want)
{
	fprintf(stderr, KIND ": %s: \"%s\" is not %s\n", option, arg, want);
	return -1;
}

/* strtoull() and strtod() also take blanks, signs, nan and inf. */
static inline bool is_number(const char *arg)
{
	return (*arg >= '0' && *arg <= '9') || *arg == '.';
}

static inline int get_number(__u32 *v, const char *option, const char *arg, __u32 min, __u32 max)
{
	unsigned long long n;
	char want[64], *end;

	errno = 0;
	n = strtoull(arg, &end, 0);
	if (errno || !is_number(arg) || *end || n < min || n > max) {
		snprintf(want, sizeof(want), "a number from %u to %u", min, max);
		return bad(option, arg, want);
	}
	*v = n;
	return 0;
}

static inline int get_bytes(__u32 *v, const char *option, const char *arg)
{
	unsigned int n;

	if (!is_number(arg) || get_size(&n, arg))
		return bad(option, arg, "a size such as 3000, 64kb or 16mb");
	*v = n;
	return 0;
}

/* A number alone would be ns for get_time64(), and us for tc(8). */
static inline int get_duration(__u32 *ns, const char *option, const char *arg)
{
	__s64 t;

	if (!is_number(arg) || !strpbrk(arg, "munsMUNS") ||
	    get_time64(&t, arg) || t < 1 || t >= UINT_MAX)
		return bad(option, arg,
			   "a time with its unit, such as 500ns, 10us or 1ms, below 4.29s");
	*ns = t;
	return 0;
}

/* tc calls a qdisc classless that has no parse_copt. */
static inline int refuse_class(struct qdisc_util *qu, int argc, char **argv, struct nlmsghdr *n,
			       const char *dev)
{
	(void)qu;
	(void)argc;
	(void)argv;
	(void)n;
	(void)dev;
	fprintf(stderr, KIND ": classes cannot be added or changed: " CLASSES "\n");
	return -1;
}

/* One key, or with room for it two.  Returns its bytes, 0: it is none. */
static inline unsigned int get_key(__u8 *key, unsigned int size, const char *arg)
{
	unsigned int i, n, byte;

	for (n = 0; n < size; arg++) {
		if (strspn(arg, "0123456789abcdefABCDEF") != 32 || (arg[32] && arg[32] != ','))
			return 0;
		for (i = 0; i < 16; i++, arg += 2) {
			if (sscanf(arg, "%2x", &byte) != 1)
				return 0;
			key[n++] = byte;
		}
		if (!*arg)
			return n;
	}
	return 0;
}

/* --- options with one value --- */

static inline const struct option *find_option(const struct option *o, unsigned int n,
					       const char *name)
{
	for (; n--; o++)
		if (!strcmp(name, o->name))
			return o;
	return NULL;
}

static inline int get_rate(__u64 *rate, const char *option, const char *arg)
{
	*rate = 0;
	if (strcmp(arg, "0") &&
	    (!is_number(arg) || get_rate64(rate, arg) || *rate < TC_SFC_RATE_MIN))
		return bad(option, arg, "0 or a rate such as 10gbit, from 8kbit");
	return 0;
}

static inline int put_value(struct nlmsghdr *n, const struct option *o, const char *arg)
{
	unsigned int size = o->size;
	__u8 key[32], v8;
	__u64 v64 = 0;
	__u32 v = 0;
	char want[64];
	__u16 v16;
	int err = 0;

	if (o->ones && !strcmp(arg, o->ones)) {
		v = UINT_MAX;
	} else if (o->twos && !strcmp(arg, o->twos)) {
		v = UINT_MAX - 1;
	} else if (!o->zero || strcmp(arg, o->zero)) {
		switch (o->kind) {
		case KIND_NUMBER:
			err = get_number(&v, o->name, arg, o->min, o->max);
			break;
		case KIND_BYTES:
			err = get_bytes(&v, o->name, arg);
			break;
		case KIND_TIME:
			err = get_duration(&v, o->name, arg);
			break;
		case KIND_RATE:
			err = get_rate(&v64, o->name, arg);
			break;
		case KIND_KEY:
			size = get_key(key, o->size, arg);
			if (!size)
				err = bad(o->name, arg, o->size == 16 ? "32 hex digits" :
					  "32 hex digits, or two keys: NEW,OLD");
			break;
		}
		if (!err && !v && o->zero) {
			snprintf(want, sizeof(want), "%s or a size above 0", o->zero);
			err = bad(o->name, arg, want);
		}
	}
	if (err)
		return -1;
	v8 = v;
	v16 = v;
	return addattr_l(n, TCA_BUF_MAX, o->type,
			 o->size == 1 ? (void *)&v8 : o->size == 2 ? (void *)&v16 :
			 o->size == 4 ? (void *)&v : o->size == 8 ? (void *)&v64 : key, size);
}

/* --- printing --- */

/* Text can be typed again; JSON has bytes, bytes per second and ns: @json */
static inline void print_exact(const char *key, __u64 v, unsigned int step,
			       const char * const *units, __u64 json)
{
	char s[32];

	print_color_u64(PRINT_JSON, COLOR_NONE, key, NULL, json);
	sfc_format_exact(s, sizeof(s), v, step, units);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s ", key);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s ", s);
}

static inline void print_word(const char *key, const char *word)
{
	char s[48];

	print_color_string(PRINT_JSON, COLOR_NONE, key, NULL, word);
	snprintf(s, sizeof(s), "%s %s ", key, word);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", s);
}

static inline void print_number(const char *key, unsigned int v)
{
	print_color_uint(PRINT_JSON, COLOR_NONE, key, NULL, v);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", key);
	print_color_uint(PRINT_FP, COLOR_NONE, NULL, " %u ", v);
}

/* The attributes in @opt, by type; @tb has room for @max, and is empty. */
static inline void parse_attrs(struct rtattr **tb, int max, const struct rtattr *opt)
{
	int len = RTA_PAYLOAD(opt);
	struct rtattr *a;

	for (a = RTA_DATA(opt); RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) <= max)
			tb[a->rta_type & NLA_TYPE_MASK] = a;
}

/* The attribute's payload, or NULL when it is absent or shorter than @len */
static inline const void *attr(struct rtattr **tb, int type, unsigned int len)
{
	return tb[type] && RTA_PAYLOAD(tb[type]) >= len ? RTA_DATA(tb[type]) : NULL;
}

/* A key is never printed */
static inline void print_value(struct rtattr **tb, const struct option *o)
{
	const void *p = attr(tb, o->type, o->size);
	__u64 v64 = 0;
	__u32 v = 0;
	__u16 v16;

	if (!p || o->kind == KIND_KEY)
		return;
	memcpy(&v64, p, o->size == 8 ? 8 : 0);
	memcpy(&v, p, o->size == 4 ? 4 : 0);
	memcpy(&v16, p, o->size == 2 ? 2 : 0);
	if (o->kind == KIND_RATE) {
		if (v64)
			print_exact(o->name, v64 * 8, 1000, sfc_rates, v64);
	} else if (o->kind == KIND_NUMBER) {
		print_number(o->name, o->size == 4 ? v : o->size == 2 ? v16 : *(const __u8 *)p);
	} else if (option_word(o, v)) {
		print_word(o->name, option_word(o, v));
	} else if (o->kind == KIND_BYTES) {
		print_exact(o->name, v, 1024, sfc_sizes, v);
	} else {
		print_exact(o->name, v, 1000, sfc_times, v);
	}
}

/* In the order of print; text has a line per group */
struct counter {
	const char *name;
	unsigned int off;
	bool newline;
};

#define N_COUNTERS(c)	(sizeof(c) / sizeof((c)[0]))

static inline void print_counters(const struct counter *c, unsigned int n,
				  const struct rtattr *xstats)
{
	__s64 v;

	for (; n--; c++) {
		if (!sfc_counter(RTA_DATA(xstats), RTA_PAYLOAD(xstats), c->off, &v))
			continue;
		if (is_json_context()) {
			/* the only one that may be negative */
			if (!strcmp(c->name, "sm_token"))
				print_color_s64(PRINT_JSON, COLOR_NONE, c->name, NULL, v);
			else
				print_color_u64(PRINT_JSON, COLOR_NONE, c->name, NULL, v);
			continue;
		}
		if (c->newline)
			print_nl();
		print_color_string(PRINT_FP, COLOR_NONE, NULL, c->newline ? "  %s" : " %s",
				   c->name);
		print_color_s64(PRINT_FP, COLOR_NONE, NULL, " %lld", v);
	}
}

#endif
