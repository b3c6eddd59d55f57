/* SPDX-License-Identifier: GPL-2.0 */
/* What the plugin of tc and subrtt both call options of sfc. */
#ifndef SFC_NAMES_H
#define SFC_NAMES_H

#include <limits.h>
#include <linux/pkt_sch_sfc.h>
#include <stdbool.h>
#include <stdio.h>

/* --- options that are on or off --- */

static const struct {
	const char *on, *off, *json;
	__u32 flag;
} sfc_switches[] = {
	{ "bolt",	"nobolt",	"bolt",		TC_SFC_F_BOLT },
	{ "src",	"nosrc",	"src",		TC_SFC_F_SRC },
	{ "pru",	"nopru",	"pru",		TC_SFC_F_PRU },
	{ "sm",		"nosm",		"sm",		TC_SFC_F_SM },
	{ "split-gso",	"no-split-gso",	"split_gso",	TC_SFC_F_SPLIT_GSO },
	{ "pause",	"nopause",	"pause",	TC_SFC_F_PAUSE },
	{ "edge",	"noedge",	"edge",		TC_SFC_F_EDGE },
	{ "cache",	"nocache",	"cache",	TC_SFC_F_CACHE },
	{ "paper",	"nopaper",	"paper",	TC_SFC_F_PAPER },
	{ "sfc-p",	"nosfc-p",	"sfc_p",	TC_SFC_F_SFCP },
};

#define N_SWITCHES	(sizeof(sfc_switches) / sizeof(sfc_switches[0]))

static const char * const sfc_bts[] = {
	[TC_SFC_BTS_INGRESS]	= "ingress",
	[TC_SFC_BTS_EGRESS]	= "egress",
	[TC_SFC_BTS_OFF]	= "off",
};

#define N_BTS		(sizeof(sfc_bts) / sizeof(sfc_bts[0]))

/* --- options with one value --- */

enum kind {
	KIND_NUMBER,
	KIND_BYTES,
	KIND_TIME,
	KIND_RATE,
	KIND_KEY,
};

/*
 * struct option - a word, and the attribute that takes its value
 * @size:	bytes of the attribute; of a key, at most
 * @zero:	what 0 is called, or NULL
 * @ones:	what the largest number is called, or NULL; @twos: and the one below it
 * @min, @max:	of a number
 *
 * A rate of 0 is not printed.
 */
struct option {
	const char *name;
	int type;
	enum kind kind;
	unsigned int size;
	const char *zero, *ones, *twos;
	__u32 min, max;
};

/* In the order of print */
static const struct option sfc_options[] = {
	{ "rate",	TCA_SFC_RATE64,		KIND_RATE,	.size = 8 },
	{ "link",	TCA_SFC_LINK64,		KIND_RATE,	.size = 8 },
	{ "limit",	TCA_SFC_LIMIT,		KIND_BYTES,	.size = 4 },
	{ "memory_limit", TCA_SFC_MEMORY_LIMIT,	KIND_BYTES,	.size = 4 },
	{ "overhead",	TCA_SFC_OVERHEAD,	KIND_NUMBER,	4, .max = TC_SFC_OVERHEAD_MAX },
	{ "ccthresh",	TCA_SFC_CCTHRESH,	KIND_BYTES,	4, .zero = "auto" },
	{ "pruthresh",	TCA_SFC_PRUTHRESH,	KIND_BYTES,	4, .zero = "auto" },
	{ "smcap",	TCA_SFC_SMCAP,		KIND_BYTES,	4, .zero = "auto" },
	/* SFC's, behind the switches */
	{ "rtt",	TCA_SFC_RTT,		KIND_TIME,	.size = 4 },
	{ "qth",	TCA_SFC_QTH,		KIND_BYTES,	4, .zero = "auto" },
	{ "qtg",	TCA_SFC_QTG,		KIND_BYTES,	4, .zero = "auto" },
	{ "suppress",	TCA_SFC_SUPPRESS,	KIND_TIME,	4, .zero = "auto", .ones = "off" },
	{ "maxpause",	TCA_SFC_MAXPAUSE,	KIND_TIME,	.size = 4 },
	{ "estimator",	TCA_SFC_ESTIMATOR,	KIND_TIME,	4, .zero = "off" },
	{ "serverrate",	TCA_SFC_SERVERRATE64,	KIND_RATE,	.size = 8 },
	{ "ecn",	TCA_SFC_ECN,		KIND_BYTES,	4, .zero = "off" },
	/* the switch's memory, behind the bands */
	{ "buffer",	TCA_SFC_BUFFER,		KIND_BYTES,	4, .zero = "off" },
	{ "xoff",	TCA_SFC_XOFF,		KIND_BYTES,	.size = 4 },
	{ "xon",	TCA_SFC_XON,		KIND_BYTES,	4, .zero = "auto" },
	{ "watchdog",	TCA_SFC_PFC_STUCK,	KIND_TIME,	4, .zero = "off" },
	{ "ignore",	TCA_SFC_PFC_IGNORE,	KIND_TIME,	.size = 4 },
	{ "srcc",	TCA_SFC_SRCC,		KIND_BYTES,	4, .zero = "off",
	  .ones = "equation", .twos = "measured" },
	{ "srcc_delay",	TCA_SFC_SRCC_DELAY,	KIND_TIME,	4, .zero = "auto" },
	{ "srcc_window", TCA_SFC_SRCC_WINDOW,	KIND_TIME,	4, .zero = "auto" },
	/* messages */
	{ "switch_id",	TCA_SFC_SWITCH_ID,	KIND_NUMBER,	4, .max = UINT_MAX },
	{ "msgrate",	TCA_SFC_MSGRATE,	KIND_NUMBER,	4, .min = 1, .max = UINT_MAX },
	{ "port",	TCA_SFC_PORT,		KIND_NUMBER,	2, .min = 1, .max = 65535 },
	{ "ttl",	TCA_SFC_TTL,		KIND_NUMBER,	1, .min = 1, .max = 255 },
	{ "tagkey",	TCA_SFC_TAGKEY,		KIND_KEY,	.size = 16 },
	{ "switchkey",	TCA_SFC_SWITCHKEY,	KIND_KEY,	.size = 32 },
};

#define N_SFC_OPTIONS	(sizeof(sfc_options) / sizeof(sfc_options[0]))

/* What the value @v of an option is called, or NULL if it is a number */
static inline const char *option_word(const struct option *o, __u32 v)
{
	return !v ? o->zero : v == UINT_MAX ? o->ones : v == UINT_MAX - 1 ? o->twos : NULL;
}

/*
 * Of memory text has what is in use, and what differs from the default: is the number
 * @v of an option silent?  The default of memory_limit follows @limit, as the kernel has it.
 */
static inline bool sfc_is_silent(int type, unsigned int v, unsigned int limit, bool buffer,
				 bool pfc)
{
	unsigned long long memory = 4ULL * limit;

	switch (type) {
	case TCA_SFC_MEMORY_LIMIT:
		if (memory < TC_SFC_MEMORY_LIMIT)
			memory = TC_SFC_MEMORY_LIMIT;
		return v == (memory >> 32 ? ~0U : memory);
	case TCA_SFC_BUFFER:
	case TCA_SFC_PFC:
	case TCA_SFC_SRCC:
	case TCA_SFC_SRCC_DELAY:
	case TCA_SFC_SRCC_WINDOW:
		return !v;
	case TCA_SFC_ALPHA:
		return !buffer && v == TC_SFC_ALPHA_ONE;
	case TCA_SFC_XOFF:
	case TCA_SFC_XON:
		return !pfc && !v;
	case TCA_SFC_PFC_STUCK:
	case TCA_SFC_PFC_IGNORE:
		return !pfc && v == 200000000;
	}
	return false;
}

/* --- numbers, exactly as they can be typed again --- */

static const char * const sfc_sizes[] = { "b", "Kb", "Mb", NULL };
static const char * const sfc_times[] = { "ns", "us", "ms", NULL };
static const char * const sfc_rates[] = { "bit", "Kbit", "Mbit", "Gbit", NULL };

/* A whole number with the largest of @units, each @step of the one before, that divides it */
static inline void sfc_format_exact(char *s, unsigned int len, unsigned long long v,
				    unsigned int step, const char * const *units)
{
	for (; v && !(v % step) && units[1]; units++)
		v /= step;
	snprintf(s, len, "%llu%s", v, *units);
}

/* N, or N/D */
static inline void sfc_format_alpha(char *s, unsigned int len, unsigned int alpha)
{
	unsigned int unit = TC_SFC_ALPHA_ONE;

	for (; !(alpha & 1) && unit > 1; alpha >>= 1)
		unit >>= 1;
	snprintf(s, len, unit > 1 ? "%u/%u" : "%u", alpha, unit);
}

/* The bytes from which @level leads to another band than the one before it; 0: to the same */
static inline unsigned int sfc_level_begin(const __u8 map[TC_SFC_LEVELS], unsigned int level)
{
	return level > 1 && map[level] != map[level - 1] ? 1U << (level - 2) : 0;
}

/* A map of levels */
static inline void sfc_format_levels(char *s, unsigned int len, const __u8 map[TC_SFC_LEVELS])
{
	unsigned int level, from, used = 0;
	char size[16];

	snprintf(s, len, "none");
	for (level = 2; level < TC_SFC_LEVELS && used < len; level++) {
		from = sfc_level_begin(map, level);
		if (!from)
			continue;
		sfc_format_exact(size, sizeof(size), from, 1024, sfc_sizes);
		used += snprintf(s + used, len - used, "%s%s", used ? " " : "", size);
	}
}

#endif
