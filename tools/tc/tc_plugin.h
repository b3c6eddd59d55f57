/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tc(8) gives its plugins.  iproute2 installs no header for that, so the few declarations
 * needed are made here, by what iproute2 6.1 looks like; the functions are resolved from the
 * tc binary.  The order of the members of struct qdisc_util is tc's.
 */
#ifndef _TC_PLUGIN_H
#define _TC_PLUGIN_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	int (*print_xstats)(struct qdisc_util *qu, FILE *f, struct rtattr *xstats);
	int (*parse_copt)(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	int (*has_block)(struct qdisc_util *qu, struct rtattr *opt, __u32 block, bool *has);
};

/* JSON, plain text, or whichever is asked for */
enum output_type {
	PRINT_FP = 1,
	PRINT_JSON = 2,
	PRINT_ANY = 4,
};

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data, int alen);
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
int get_rate64(__u64 *rate, const char *str);
int get_time64(__s64 *ns, const char *str);
int get_size(unsigned int *size, const char *str);
bool is_json_context(void);
void print_nl(void);
int print_color_string(enum output_type t, int color, const char *key, const char *fmt,
		       const char *value);
int print_color_uint(enum output_type t, int color, const char *key, const char *fmt,
		     unsigned int value);
int print_color_u64(enum output_type t, int color, const char *key, const char *fmt,
		    unsigned long long value);
int print_color_s64(enum output_type t, int color, const char *key, const char *fmt,
		    long long value);
void open_json_array(enum output_type t, const char *key);
void close_json_array(enum output_type t, const char *text);
void open_json_object(const char *key);
void close_json_object(void);
int print_color_bool(enum output_type t, int color, const char *key, const char *fmt,
		     bool value);

#define COLOR_NONE	6	/* what tc itself passes for text without colour */
#define TCA_BUF_MAX	(64 * 1024)

#endif /* _TC_PLUGIN_H */
