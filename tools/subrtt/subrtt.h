/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of subrtt share: the command table, exit statuses, complaints, netlink
 * requests, namespaces, output.
 */
#ifndef _SUBRTT_H
#define _SUBRTT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses, documented in subrtt(8) */
enum {
	BC_OK,
	BC_FAIL,	/* the kernel, or who reads our output, failed us */
	BC_USAGE,	/* unknown command, option or value */
	BC_PERM,	/* permission missing */
	BC_ABSENT,	/* module, namespace or device is not there */
	BC_FOUND,	/* doctor: there is something to fix */
};

struct bc_conf {
	bool json;
};

extern struct bc_conf conf;

/**
 * struct bc_cmd - one command
 * @run:	argv[0] is the command's name; returns an exit status
 * @what:	one line, for the list of commands
 * @usage:	behind "subrtt NAME"
 * @help:	what it shows, options, examples
 */
struct bc_cmd {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
	const char *usage;
	const char *help;
};

extern const struct bc_cmd cmd_flows, cmd_stats, cmd_qdisc, cmd_top, cmd_exporter, cmd_doctor;

/* main.c */
struct option;
int bc_getopt(int argc, char **argv, const char *shorts, const struct option *longs, int *status);
int bc_no_more(int argc, char **argv);

#define BC_LONG_COMMON				\
	{ "json", no_argument, NULL, 'j' },	\
	{ "netns", required_argument, NULL, 'n' }, \
	{ "help", no_argument, NULL, 'h' },	\
	{ "version", no_argument, NULL, 'V' },	\
	{ NULL, 0, NULL, 0 }

/* err.c; complaints: one line on stderr, "subrtt: ...", and the status given */
int bc_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int bc_number(const char *what, const char *arg, uint64_t min, uint64_t max, uint64_t *v);
/* One more entry of an array that has @n of @size bytes; NULL without memory */
void *bc_more(void *list, unsigned int *n, unsigned int *room, size_t size);

/* loop.c */
struct timespec;
extern volatile sig_atomic_t bc_stop;	/* SIGINT or SIGTERM has come */
void bc_stop_on_signals(void);
int bc_interval(const char *what, const char *arg, uint64_t *ms);	/* seconds are typed */
void bc_later(struct timespec *t, uint64_t ms);
double bc_seconds(const struct timespec *from, const struct timespec *to);

/* netns.c */
int bc_enter_netns(const char *which);
int bc_sysfs(void);
int bc_read_file(const char *path, char *buf, size_t len);
int bc_read_at(int dir, const char *path, char *buf, size_t len);

/* nl.c */
struct nl_sock;
struct nlmsghdr;

/**
 * struct bc_dump - a dump that is whole or fails
 * @type:	of the request, which is @header and no more
 * @entry:	one message of the answer; returns 0, or a status that ends it all
 * @reset:	forget what was seen: the table changed while it was read, and is read again
 * @what:	what is read, for complaints
 */
struct bc_dump {
	int type;
	const void *header;
	size_t len;
	int (*entry)(struct nlmsghdr *nlh, void *arg);
	void (*reset)(void *arg);
	void *arg;
	const char *what;
};

struct nl_sock *bc_nl_open(int protocol, int *status);
int bc_nl_dump(struct nl_sock *sk, const struct bc_dump *d);
int bc_nl_family(struct nl_sock *sk, const char *family, unsigned int version, const char *module,
		 bool quietly);
int bc_nl_status(const char *what, int err, const char *extack);

/* json.c: straight to stdout; a command opens it when it has all it will print */
void js_begin(const char *key, char bracket);
void js_end(char bracket);
void js_u64(const char *key, uint64_t v);
void js_s64(const char *key, int64_t v);
void js_fixed(const char *key, uint64_t q32);	/* 32 fractional bits, to a millionth */
void js_bool(const char *key, bool v);
void js_str(const char *key, const char *v);
void js_null(const char *key);
void js_line(void);
int bc_flush(void);

/* text.c: numbers as people read them, into a ring of buffers */
const char *tx_bytes(uint64_t v);
const char *tx_rate(uint64_t bit_ps);
const char *tx_fixed(uint64_t q32);	/* a window */
const char *tx_ns(uint64_t ns);
/* A device's name, without what a terminal would take for a command */
const char *tx_name(const char *name);
char *tx_plain(char *s);	/* likewise any text, in place */
/*
 * The character that @s begins with, and in @used its bytes;
 * U+FFFD for a byte of none.  Until the next call.
 */
const char *tx_char(const char *s, unsigned int *used);

#endif /* _SUBRTT_H */
