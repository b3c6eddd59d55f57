// SPDX-License-Identifier: GPL-2.0
/*
 * Plugin for tc(8): parse and print the qdisc "sfc".
 *
 * tc looks for q_NAME.so in its library directory and in it for NAME_qdisc_util; what
 * a plugin may use of tc is in tc_plugin.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
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

#include "sfc_names.h"
#include "tc_plugin.h"

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... sfc [ rate RATE | link RATE ] [ limit BYTES ]\n"
		"               [ overhead BYTES ]\n"
		"               [ bolt | nobolt ] [ ccthresh { auto | BYTES } ]\n"
		"               [ src | nosrc ] [ pru | nopru ] [ sm | nosm ]\n"
		"               [ smcap { auto | BYTES } ]\n"
		"               [ split-gso | no-split-gso ]\n"
		"               [ sfc | nosfc ] [ bts { ingress | egress | off } ] [ edge | noedge ]\n"
		"               [ rtt TIME ] [ qth { auto | BYTES } ] [ qtg { auto | BYTES } ]\n"
		"               [ suppress { auto | off | TIME } ] [ maxpause TIME ]\n"
		"               [ cache | nocache ] [ estimator { off | TIME } ] [ serverrate RATE ]\n"
		"               [ ecn { off | BYTES } ]\n"
		"               [ hold | nohold ] [ holdshare PERCENT ] [ minttl N ]\n"
		"               [ bands N ] [ weights W1 ... WN ] [ default BAND ]\n"
		"               [ dscp { none | D[-D]:BAND[,D[-D]:BAND...] } ] [ srcprob P1 ... PN ]\n"
		"               [ switch_id N ] [ srcrate PPS ] [ port UDPPORT ] [ ttl N ]\n"
		"               [ addr { auto | ADDRESS } ] [ tagkey HEX | notagkey ]\n"
		"\n"
		"rate      shape to RATE; 0, the default: the device is the link\n"
		"link      what the link below carries, without shaping; 0, the default: ask the device\n"
		"limit     drop beyond so much backlog (16Mb)\n"
		"overhead  bytes a packet costs on the wire beyond what is counted; Ethernet: 24 (0)\n"
		"ccthresh  queue from which SRC is sent (auto: two packets of the device's MTU)\n"
		"src       sub-RTT control: notify senders at once\n"
		"pru       proactive ramp-up: pass on bandwidth that a last window frees\n"
		"sm        supply matching: pass on bandwidth that nobody uses\n"
		"smcap     unused supply that may be saved up (auto: 8 us of the link)\n"
		"sfc       Source Flow Control: tell senders to pause (off)\n"
		"bts       where a queue beyond qth does that: as a packet arrives, or leaves (ingress)\n"
		"edge      the port faces servers: other switches may cache what it says\n"
		"rtt       base RTT of the network (10us)\n"
		"qth       queue beyond which senders are paused (auto: what the link carries in 2 rtt)\n"
		"qtg       what it should drain to meanwhile (auto: what the link carries in an rtt)\n"
		"suppress  how much longer a pause may be by now before the flow hears of it (auto: rtt / 2)\n"
		"maxpause  longest pause to ask for (10ms)\n"
		"cache     remember pauses that pass, and pass them on to senders at once (off)\n"
		"estimator pause senders by what leaves for one destination within TIME (off)\n"
		"serverrate what a server's link carries, for the estimator (0: as much as this one)\n"
		"ecn       mark CE when so much is queued (off)\n"
		"hold      a host's port: hold what a BTS pauses, but TCP, which is tcp_bolt's (off)\n"
		"holdshare most of 200 ms that one destination is held (95); 100: no watchdog\n"
		"minttl    least TTL or hop limit of a BTS that is believed (0)\n"
		"bands     bands of data, 1 to 8, served by weight below ACKs and control messages (1)\n"
		"weights   of each, 1 to 255; of what the link carries, while all have packets (1 each)\n"
		"default   band of packets that neither a filter nor dscp names (1)\n"
		"dscp      bands by DSCP, such as 46:1,8-15:2; replaces what was said before\n"
		"srcprob   of each band, how many per cent of its SRC are sent (100 each)\n"
		"switch_id number that control messages carry (0)\n"
		"srcrate   most control messages per second (100000000)\n"
		"port      UDP port of control messages (45079)\n"
		"ttl       TTL or hop limit of control messages (64)\n"
		"addr      their source, once per family (auto: the destination of the data)\n"
		"tagkey    32 hex digits; control messages carry a SipHash tag under this key\n");
}

/* One line that says which option, which word, and what would do. */
static int bad(const char *option, const char *arg, const char *want)
{
	fprintf(stderr, "sfc: %s: \"%s\" is not %s\n", option, arg, want);
	return -1;
}

static int get_number(__u32 *v, const char *option, const char *arg, __u32 min, __u32 max)
{
	unsigned long long n;
	char want[64], *end;

	errno = 0;
	n = strtoull(arg, &end, 0);
	if (errno || !*arg || *end || strchr(arg, '-') || n < min || n > max) {
		snprintf(want, sizeof(want), "a number from %u to %u", min, max);
		return bad(option, arg, want);
	}
	*v = n;
	return 0;
}

static int get_bytes(__u32 *v, const char *option, const char *arg)
{
	unsigned int n;

	if (strchr(arg, '-') || get_size(&n, arg))
		return bad(option, arg, "a size such as 3000, 64kb or 16mb");
	*v = n;
	return 0;
}

static int get_duration(__u32 *ns, const char *option, const char *arg)
{
	__s64 t;

	if (get_time64(&t, arg) || t < 1 || t >= UINT_MAX)
		return bad(option, arg, "a time such as 500ns, 10us or 1ms, below 4.29s");
	*ns = t;
	return 0;
}

static int get_bts(__u8 *v, const char *arg)
{
	for (*v = 0; *v < N_BTS; (*v)++)
		if (!strcmp(arg, sfc_bts[*v]))
			return 0;
	return bad("bts", arg, "ingress, egress or off");
}

static int get_key(__u8 key[16], const char *arg)
{
	unsigned int i, byte;

	if (strlen(arg) != 32 || strspn(arg, "0123456789abcdefABCDEF") != 32)
		return bad("tagkey", arg, "32 hex digits");
	for (i = 0; i < 16; i++) {
		if (sscanf(arg + 2 * i, "%2x", &byte) != 1)
			return -1;
		key[i] = byte;
	}
	return 0;
}

/* none, or FIRST[-LAST]:BAND[,...]: the whole map */
static int put_dscp(struct nlmsghdr *n, const char *arg)
{
	static const char * const want =
		"none, or a list such as 46:1,8-15:2, of DSCP from 0 to 63 and bands from 1 to 8";
	__u8 map[TC_SFC_DSCPS] = { 0 };
	const char *p = arg;
	int used;

	while (strcmp(arg, "none")) {
		unsigned int first, last, band;

		used = 0;
		if (sscanf(p, "%2u-%2u:%1u%n", &first, &last, &band, &used) < 3 || !used) {
			used = 0;
			if (sscanf(p, "%2u:%1u%n", &first, &band, &used) < 2 || !used)
				return bad("dscp", arg, want);
			last = first;
		}
		if (last >= TC_SFC_DSCPS || first > last || !band || band > TC_SFC_BANDS_MAX)
			return bad("dscp", arg, want);
		memset(map + first, band, last - first + 1);
		p += used;
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

/* auto, or a size that is not 0, which means auto to the kernel */
static int put_bytes_or_auto(struct nlmsghdr *n, int type, const char *opt, const char *arg)
{
	__u32 v = 0;

	if (strcmp(arg, "auto")) {
		if (get_bytes(&v, opt, arg))
			return -1;
		if (!v)
			return bad(opt, arg, "auto or a size above 0");
	}
	return addattr_l(n, TCA_BUF_MAX, type, &v, sizeof(v));
}

/* An option with a value.  Returns 1 when @opt is none. */
static int parse_value(struct nlmsghdr *n, const char *opt, const char *arg)
{
	__u8 key[16], v8;
	__u64 rate;
	__u16 v16;
	__u32 v;

	if (!strcmp(opt, "rate") || !strcmp(opt, "link") || !strcmp(opt, "serverrate")) {
		if (!strcmp(arg, "0"))
			rate = 0;
		else if (strchr(arg, '-') || get_rate64(&rate, arg) || rate < TC_SFC_RATE_MIN)
			return bad(opt, arg, "0 or a rate such as 10gbit, from 8kbit");
		return addattr_l(n, TCA_BUF_MAX,
				 opt[0] == 'r' ? TCA_SFC_RATE64 :
				 opt[0] == 'l' ? TCA_SFC_LINK64 : TCA_SFC_SERVERRATE64,
				 &rate, sizeof(rate));
	}
	if (!strcmp(opt, "limit")) {
		if (get_bytes(&v, opt, arg))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_LIMIT, &v, sizeof(v));
	}
	if (!strcmp(opt, "overhead")) {
		if (get_number(&v, opt, arg, 0, TC_SFC_OVERHEAD_MAX))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_OVERHEAD, &v, sizeof(v));
	}
	if (!strcmp(opt, "ccthresh"))
		return put_bytes_or_auto(n, TCA_SFC_CCTHRESH, opt, arg);
	if (!strcmp(opt, "smcap"))
		return put_bytes_or_auto(n, TCA_SFC_SMCAP, opt, arg);
	if (!strcmp(opt, "qth"))
		return put_bytes_or_auto(n, TCA_SFC_QTH, opt, arg);
	if (!strcmp(opt, "qtg"))
		return put_bytes_or_auto(n, TCA_SFC_QTG, opt, arg);
	if (!strcmp(opt, "ecn")) {
		v = 0;
		if (strcmp(arg, "off") && get_bytes(&v, opt, arg))
			return -1;
		if (!v && strcmp(arg, "off"))
			return bad(opt, arg, "off or a size above 0");
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_ECN, &v, sizeof(v));
	}
	if (!strcmp(opt, "bts")) {
		if (get_bts(&v8, arg))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_BTS, &v8, sizeof(v8));
	}
	if (!strcmp(opt, "rtt") || !strcmp(opt, "maxpause")) {
		if (get_duration(&v, opt, arg))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, opt[0] == 'r' ? TCA_SFC_RTT : TCA_SFC_MAXPAUSE,
				 &v, sizeof(v));
	}
	if (!strcmp(opt, "estimator")) {
		v = 0;
		if (strcmp(arg, "off") && get_duration(&v, opt, arg))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_ESTIMATOR, &v, sizeof(v));
	}
	if (!strcmp(opt, "suppress")) {
		if (!strcmp(arg, "auto"))
			v = 0;
		else if (!strcmp(arg, "off"))
			v = TC_SFC_SUPPRESS_OFF;
		else if (get_duration(&v, opt, arg))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_SUPPRESS, &v, sizeof(v));
	}
	if (!strcmp(opt, "switch_id")) {
		if (get_number(&v, opt, arg, 0, UINT_MAX))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_SWITCH_ID, &v, sizeof(v));
	}
	if (!strcmp(opt, "srcrate")) {
		if (get_number(&v, opt, arg, 1, UINT_MAX))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_SRCRATE, &v, sizeof(v));
	}
	if (!strcmp(opt, "port")) {
		if (get_number(&v, opt, arg, 1, 65535))
			return -1;
		v16 = v;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_PORT, &v16, sizeof(v16));
	}
	if (!strcmp(opt, "ttl")) {
		if (get_number(&v, opt, arg, 1, 255))
			return -1;
		v8 = v;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_TTL, &v8, sizeof(v8));
	}
	if (!strcmp(opt, "holdshare")) {
		if (get_number(&v, opt, arg, 1, 100))
			return -1;
		v8 = v;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_HOLDSHARE, &v8, sizeof(v8));
	}
	if (!strcmp(opt, "minttl")) {
		if (get_number(&v, opt, arg, 0, 255))
			return -1;
		v8 = v;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_MINTTL, &v8, sizeof(v8));
	}
	if (!strcmp(opt, "bands") || !strcmp(opt, "default")) {
		if (get_number(&v, opt, arg, 1, TC_SFC_BANDS_MAX))
			return -1;
		v8 = v;
		return addattr_l(n, TCA_BUF_MAX,
				 opt[0] == 'b' ? TCA_SFC_BANDS : TCA_SFC_DEFAULT, &v8, sizeof(v8));
	}
	if (!strcmp(opt, "dscp"))
		return put_dscp(n, arg);
	if (!strcmp(opt, "addr"))
		return put_addr(n, arg);
	if (!strcmp(opt, "tagkey")) {
		if (get_key(key, arg))
			return -1;
		return addattr_l(n, TCA_BUF_MAX, TCA_SFC_TAGKEY, key, sizeof(key));
	}
	return 1;
}

static bool takes_value(const char *opt)
{
	static const char * const names[] = {
		"rate", "link", "limit", "overhead", "ccthresh", "smcap", "switch_id", "srcrate",
		"port", "ttl", "addr", "tagkey", "bts", "rtt", "qth", "qtg", "suppress", "maxpause",
		"ecn", "estimator", "holdshare", "minttl", "serverrate", "bands", "default", "dscp",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(opt, names[i]))
			return true;
	return false;
}

static int sfc_parse_opt(struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct nla_bitfield32 flags = { 0 };
	struct rtattr *nest;
	int words;

	(void)qu;
	(void)dev;
	nest = addattr_nest(n, TCA_BUF_MAX, TCA_OPTIONS | NLA_F_NESTED);
	for (; argc > 0; argc--, argv++) {
		if (parse_switch(*argv, &flags))
			continue;
		if (!strcmp(*argv, "notagkey")) {
			addattr_l(n, TCA_BUF_MAX, TCA_SFC_TAGKEY, NULL, 0);
			continue;
		}
		if (!strcmp(*argv, "weights") || !strcmp(*argv, "srcprob")) {
			words = put_per_band(n, argc, argv);
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
		if (!takes_value(*argv)) {
			fprintf(stderr, "sfc: what is \"%s\"?\n", *argv);
			explain();
			return -1;
		}
		if (argc < 2) {
			fprintf(stderr, "sfc: %s: value missing\n", *argv);
			return -1;
		}
		if (parse_value(n, argv[0], argv[1]))
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

/*
 * Text: exactly what can be typed again, so sizes and rates are whole numbers with the
 * largest unit that divides them.
 */
static void print_bytes(const char *key, __u32 v)
{
	char s[32];

	if (is_json_context()) {
		print_color_uint(PRINT_JSON, COLOR_NONE, key, NULL, v);
		return;
	}
	if (v && !(v & ((1 << 20) - 1)))
		snprintf(s, sizeof(s), "%s %uMb ", key, v >> 20);
	else if (v && !(v & 1023))
		snprintf(s, sizeof(s), "%s %uKb ", key, v >> 10);
	else
		snprintf(s, sizeof(s), "%s %ub ", key, v);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", s);
}

static void print_word(const char *key, const char *word)
{
	char s[48];

	print_color_string(PRINT_JSON, COLOR_NONE, key, NULL, word);
	snprintf(s, sizeof(s), "%s %s ", key, word);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", s);
}

static void print_bytes_or_auto(const char *key, __u32 v)
{
	if (v) {
		print_bytes(key, v);
		return;
	}
	print_word(key, "auto");
}

/* In JSON ns */
static void print_duration(const char *key, __u32 ns)
{
	char s[48];

	if (is_json_context()) {
		print_color_uint(PRINT_JSON, COLOR_NONE, key, NULL, ns);
		return;
	}
	if (!(ns % 1000000))
		snprintf(s, sizeof(s), "%s %ums ", key, ns / 1000000);
	else if (!(ns % 1000))
		snprintf(s, sizeof(s), "%s %uus ", key, ns / 1000);
	else
		snprintf(s, sizeof(s), "%s %uns ", key, ns);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", s);
}

static void format_rate(char *s, size_t len, __u64 bytes_ps)
{
	__u64 bit = bytes_ps * 8;

	if (!(bit % 1000000000))
		snprintf(s, len, "%lluGbit", (unsigned long long)bit / 1000000000);
	else if (!(bit % 1000000))
		snprintf(s, len, "%lluMbit", (unsigned long long)bit / 1000000);
	else if (!(bit % 1000))
		snprintf(s, len, "%lluKbit", (unsigned long long)bit / 1000);
	else
		snprintf(s, len, "%llubit", (unsigned long long)bit);
}

static void print_rate_bps(const char *key, __u64 bytes_ps)
{
	char s[32];

	print_color_u64(PRINT_JSON, COLOR_NONE, key, NULL, bytes_ps);
	format_rate(s, sizeof(s), bytes_ps);
	if (!is_json_context()) {
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s ", key);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s ", s);
	}
}

/* The attribute's payload, or NULL when it is absent or shorter than @len */
static const void *attr(struct rtattr **tb, int type, unsigned int len)
{
	return tb[type] && RTA_PAYLOAD(tb[type]) >= len ? RTA_DATA(tb[type]) : NULL;
}

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

/* SFC's, behind the switch that turns it on */
static void print_pause_opt(struct rtattr **tb)
{
	const void *p;
	__u64 v64;
	__u32 v;

	p = attr(tb, TCA_SFC_BTS, sizeof(__u8));
	if (p && *(const __u8 *)p < N_BTS)
		print_word("bts", sfc_bts[*(const __u8 *)p]);
	p = attr(tb, TCA_SFC_RTT, sizeof(v));
	if (p) {
		memcpy(&v, p, sizeof(v));
		print_duration("rtt", v);
	}
	p = attr(tb, TCA_SFC_QTH, sizeof(v));
	if (p) {
		memcpy(&v, p, sizeof(v));
		print_bytes_or_auto("qth", v);
	}
	p = attr(tb, TCA_SFC_QTG, sizeof(v));
	if (p) {
		memcpy(&v, p, sizeof(v));
		print_bytes_or_auto("qtg", v);
	}
	p = attr(tb, TCA_SFC_SUPPRESS, sizeof(v));
	if (p) {
		memcpy(&v, p, sizeof(v));
		if (!v || v == TC_SFC_SUPPRESS_OFF)
			print_word("suppress", v ? "off" : "auto");
		else
			print_duration("suppress", v);
	}
	p = attr(tb, TCA_SFC_MAXPAUSE, sizeof(v));
	if (p) {
		memcpy(&v, p, sizeof(v));
		print_duration("maxpause", v);
	}
	p = attr(tb, TCA_SFC_ESTIMATOR, sizeof(v));
	if (p) {
		memcpy(&v, p, sizeof(v));
		if (v)
			print_duration("estimator", v);
		else
			print_word("estimator", "off");
	}
	p = attr(tb, TCA_SFC_SERVERRATE64, sizeof(v64));
	if (p) {
		memcpy(&v64, p, sizeof(v64));
		if (v64)
			print_rate_bps("serverrate", v64);
	}
	p = attr(tb, TCA_SFC_ECN, sizeof(v));
	if (p) {
		memcpy(&v, p, sizeof(v));
		if (v)
			print_bytes("ecn", v);
		else
			print_word("ecn", "off");
	}
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
	p = attr(tb, TCA_SFC_SRCPROB, *n);
	if (p)
		print_per_band("srcprob", p, *n);
}

static int sfc_print_opt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[TCA_SFC_MAX + 1] = { NULL }, *a;
	struct nla_bitfield32 flags;
	const void *p;
	__u64 v64;
	__u32 v32;
	__u16 v16;
	int len;

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	len = RTA_PAYLOAD(opt);
	for (a = RTA_DATA(opt); RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) <= TCA_SFC_MAX)
			tb[a->rta_type & NLA_TYPE_MASK] = a;

	p = attr(tb, TCA_SFC_RATE64, sizeof(v64));
	if (p) {
		memcpy(&v64, p, sizeof(v64));
		if (v64)
			print_rate_bps("rate", v64);
	}
	p = attr(tb, TCA_SFC_LINK64, sizeof(v64));
	if (p) {
		memcpy(&v64, p, sizeof(v64));
		if (v64)
			print_rate_bps("link", v64);
	}
	p = attr(tb, TCA_SFC_LIMIT, sizeof(v32));
	if (p) {
		memcpy(&v32, p, sizeof(v32));
		print_bytes("limit", v32);
	}
	p = attr(tb, TCA_SFC_OVERHEAD, sizeof(v32));
	if (p) {
		memcpy(&v32, p, sizeof(v32));
		print_color_uint(PRINT_ANY, COLOR_NONE, "overhead", "overhead %u ", v32);
	}
	p = attr(tb, TCA_SFC_CCTHRESH, sizeof(v32));
	if (p) {
		memcpy(&v32, p, sizeof(v32));
		print_bytes_or_auto("ccthresh", v32);
	}
	p = attr(tb, TCA_SFC_SMCAP, sizeof(v32));
	if (p) {
		memcpy(&v32, p, sizeof(v32));
		print_bytes_or_auto("smcap", v32);
	}
	p = attr(tb, TCA_SFC_FLAGS, sizeof(flags));
	if (p) {
		memcpy(&flags, p, sizeof(flags));
		print_switches(&flags);
	}
	print_pause_opt(tb);
	p = attr(tb, TCA_SFC_HOLDSHARE, sizeof(__u8));
	if (p)
		print_color_uint(PRINT_ANY, COLOR_NONE, "holdshare", "holdshare %u ",
				 *(const __u8 *)p);
	p = attr(tb, TCA_SFC_MINTTL, sizeof(__u8));
	if (p)
		print_color_uint(PRINT_ANY, COLOR_NONE, "minttl", "minttl %u ", *(const __u8 *)p);
	print_bands(tb);
	p = attr(tb, TCA_SFC_SWITCH_ID, sizeof(v32));
	if (p) {
		memcpy(&v32, p, sizeof(v32));
		print_color_uint(PRINT_ANY, COLOR_NONE, "switch_id", "switch_id %u ", v32);
	}
	p = attr(tb, TCA_SFC_SRCRATE, sizeof(v32));
	if (p) {
		memcpy(&v32, p, sizeof(v32));
		print_color_uint(PRINT_ANY, COLOR_NONE, "srcrate", "srcrate %u ", v32);
	}
	p = attr(tb, TCA_SFC_PORT, sizeof(v16));
	if (p) {
		memcpy(&v16, p, sizeof(v16));
		print_color_uint(PRINT_ANY, COLOR_NONE, "port", "port %u ", v16);
	}
	p = attr(tb, TCA_SFC_TTL, sizeof(__u8));
	if (p)
		print_color_uint(PRINT_ANY, COLOR_NONE, "ttl", "ttl %u ", *(const __u8 *)p);
	print_addr("addr4", AF_INET, attr(tb, TCA_SFC_ADDR4, 4));
	print_addr("addr6", AF_INET6, attr(tb, TCA_SFC_ADDR6, 16));
	return 0;
}

/* A line of text per group; a newer or older module may send more or fewer fields */
static const struct {
	const char *name;
	unsigned int off;
	bool newline;
} sfc_counters[] = {
#define C(name, newline)	{ #name, offsetof(struct tc_sfc_xstats, name), newline }
	C(ccthresh, false), C(mtu, false), C(backlog_peak, false),
	C(sm_token, false), C(pru_token, false), C(tagged, false),
	C(data, true), C(congested, false), C(dec_set, false), C(dec_seen, false),
	C(pru_added, true), C(inc_pru, false), C(inc_sm, false), C(inc_cleared, false),
	C(opt_bad, false), C(mark_failed, false),
	C(src_sent, true), C(src_limited, false), C(src_nomem, false), C(src_dropped, false),
	C(src_unfit, false), C(src_unasked, false),
	C(high, true), C(gso_split, false), C(gso_segs, false), C(gso_failed, false),
	C(drop_data, true), C(drop_high, false), C(drop_change, false),
	C(qth, true), C(qtg, false), C(suppress_ns, false),
	C(bts_sent, true), C(bts_suppressed, false), C(bts_false, false), C(bts_limited, false),
	C(bts_nomem, false), C(bts_dropped, false), C(bts_unfit, false), C(bts_cached, false),
	C(cache_entries, true), C(cache_hits, false), C(cache_inserts, false),
	C(cache_updates, false), C(cache_full, false), C(cache_refused, false),
	C(cache_ignored, false), C(ecn_marked, true),
	C(estimator_hits, false),
	C(hold_pkts, true), C(hold_bytes, false), C(hold_slots, false),
	C(hold_bts, true), C(hold_pauses, false), C(hold_ns, false), C(hold_clamped, false),
	C(hold_full, false), C(hold_trips, false), C(hold_deaf, false),
	C(hold_held, true), C(hold_released, false), C(hold_refused, false),
	C(hold_oversize, false), C(hold_stale, false),
	C(drop_filter, true), C(bands_moved, false), C(bands, false),
	C(queues, true), C(port_backlog, false), C(port_writes, false),
#undef C
};

static const struct {
	const char *name;
	unsigned int off;
} sfc_band_counters[] = {
#define B(name)		{ #name, offsetof(struct tc_sfc_band, name) }
	B(qlen), B(backlog), B(backlog_peak), B(sm_token), B(pru_token),
	B(sent), B(sent_bytes), B(drops),
	B(data), B(congested), B(src_sent), B(src_spared), B(pru_added), B(inc_pru), B(inc_sm),
#undef B
};

static void print_band(unsigned int number, const struct tc_sfc_band *b)
{
	unsigned int i;
	__u64 v;

	open_json_object(NULL);
	print_color_uint(PRINT_JSON, COLOR_NONE, "band", NULL, number);
	if (!is_json_context())
		print_nl();
	print_color_uint(PRINT_FP, COLOR_NONE, NULL, "  band %u", number);
	for (i = 0; i < sizeof(sfc_band_counters) / sizeof(sfc_band_counters[0]); i++) {
		memcpy(&v, (const char *)b + sfc_band_counters[i].off, sizeof(v));
		if (is_json_context()) {
			print_color_s64(PRINT_JSON, COLOR_NONE, sfc_band_counters[i].name, NULL,
					(__s64)v);
			continue;
		}
		print_color_string(PRINT_FP, COLOR_NONE, NULL, " %s", sfc_band_counters[i].name);
		print_color_s64(PRINT_FP, COLOR_NONE, NULL, " %lld", (__s64)v);
	}
	close_json_object();
}

static int sfc_print_xstats(struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct tc_sfc_xstats st = { 0 };
	unsigned int i, len;
	char s[32];
	__u64 v;

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	len = RTA_PAYLOAD(xstats);
	memcpy(&st, RTA_DATA(xstats), len < sizeof(st) ? len : sizeof(st));

	print_color_u64(PRINT_JSON, COLOR_NONE, "link_rate", NULL, st.link_rate);
	format_rate(s, sizeof(s), st.link_rate);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "  link_rate %s",
			   st.link_rate ? s : "unknown");
	for (i = 0; i < sizeof(sfc_counters) / sizeof(sfc_counters[0]); i++) {
		const char *name = sfc_counters[i].name;

		if (sfc_counters[i].off + sizeof(v) > len)
			break;
		memcpy(&v, (const char *)&st + sfc_counters[i].off, sizeof(v));
		if (is_json_context()) {
			if (sfc_counters[i].off == offsetof(struct tc_sfc_xstats, sm_token))
				print_color_s64(PRINT_JSON, COLOR_NONE, name, NULL, (__s64)v);
			else
				print_color_u64(PRINT_JSON, COLOR_NONE, name, NULL, v);
			continue;
		}
		if (sfc_counters[i].newline)
			print_nl();
		print_color_string(PRINT_FP, COLOR_NONE, NULL,
				   sfc_counters[i].newline ? "  %s" : " %s", name);
		print_color_s64(PRINT_FP, COLOR_NONE, NULL, " %lld", (__s64)v);
	}
	if (st.bands < 2 || st.bands > TC_SFC_BANDS_MAX)
		return 0;
	open_json_array(PRINT_JSON, "band");
	for (i = 0; i < st.bands; i++)
		print_band(i + 1, &st.band[i]);
	close_json_array(PRINT_JSON, NULL);
	return 0;
}

extern struct qdisc_util sfc_qdisc_util;
struct qdisc_util sfc_qdisc_util = {
	.id = "sfc",
	.parse_qopt = sfc_parse_opt,
	.print_qopt = sfc_print_opt,
	.print_xstats = sfc_print_xstats,
};
