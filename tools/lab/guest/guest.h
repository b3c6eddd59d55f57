/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the lab's guest program share.
 *
 * labguest is the program a run starts inside the lab's kernel.  It reads
 * a plan (one directive a line, written by boltlab/plan.py), builds the
 * network (net.c), drives the load (load.c), runs programs of the machine
 * (program.c) and leaves the raw results in the working directory.  Every
 * failure ends it with one line on stderr.
 */
#ifndef LAB_GUEST_H
#define LAB_GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL

/* main.c */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *xcalloc(size_t n, size_t size);
uint64_t now_ns(void);
void sleep_until(uint64_t at_ns);
void write_file(const char *path, const char *value, bool optional);
int run_command(int ns, const char *command, const char *out_path);
void save_file(const char *path, const char *out_path);

/* net.c: namespaces are numbered as the plan lists them; -1 is the initial one */
#define NS_INIT (-1)
void net_add_ns(const char *name);
int net_find_ns(const char *name);
int net_count(void);
const char *net_ns_name(int ns);
void net_enter(int ns);
int net_fd(int ns);

void net_lablink(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct net_dev {
	char name[16];
	unsigned int txqlen, gso_segs;	/* 0: as the device has it */
};

#define NET_NEXT_HOPS	64	/* as many spines as a scenario may have */

struct net_route {
	char dst[64];			/* ADDRESS/LENGTH or "default" */
	char devs[NET_NEXT_HOPS][16];	/* equal-cost next hops */
	int ndevs;
	unsigned int rto_min_ms, initcwnd, cwnd;
};

/* One batch of rtnetlink requests for the namespace entered last. */
void net_batch_begin(int ns);
void net_dev_up(const struct net_dev *dev);
void net_addr(const char *dev, const char *addr);
void net_route(const struct net_route *route);
void net_batch_end(void);

/* load.c */
void load_listen(int ns, const char *family, const char *cc);
void load_buffers(int sndbuf, int rcvbuf, unsigned int need_window);
void load_pair(int from, int to, const char *dst, unsigned int connections, const char *cc,
	       unsigned int sport, unsigned int fresh, int sample_id, unsigned int dscp);
void load_follow(unsigned int pair, unsigned int buffer_mb);
void load_message(unsigned int id, int pair, int64_t start_ns, int64_t bytes);
void load_stop(unsigned int id, int64_t at_ns);
void load_command(int ns, int64_t at_ns, const char *output, const char *command);
void load_fault(int64_t at_ns, const char *command);
void load_program(int program, int64_t start_ns, int64_t stop_ns);
void load_settle(void);
void load_prime(void);
void load_connect(void);
void load_run(uint64_t duration_ns, uint64_t interval_ns, uint64_t drain_ns, uint64_t lead_ns);
void load_write(const char *path);
void load_write_time(FILE *out, uint64_t ns);	/* since the start, or - */

/* program.c: a program is known by its number */
#define PROGRAM_NEVER INT64_MAX
void program_allow_cc(void);
void program_node(int ns, const char *job_path);
int program_add(int ns, bool ends_run, const char *job_path);
int program_start(int i, uint64_t now);
bool program_ended(int i);
void program_stop(int i);
void program_kill(int i);
void program_end_all(void);
void program_write(const char *path);
pid_t program_command(unsigned int id, int ns, char *words, size_t len, const int fds[3],
		      bool terminal);
void program_command_kill(unsigned int id);
void program_command_ended(unsigned int id);

/* serve.c: takes commands while the load runs */
#define EPOLL_SERVE (1ULL << 62)	/* | what serve_ready() makes of it */
void serve_on(void);			/* the plan wants it */
bool serve_wanted(void);
void serve_begin(int epoll);		/* time stands still in here until somebody wants it */
void serve_ready(uint64_t what);
void serve_rest(void);			/* when all that was ready has been heard */

#endif
