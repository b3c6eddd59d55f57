// SPDX-License-Identifier: GPL-2.0
/*
 * labguest PLAN: runs one plan inside the lab's kernel.
 *
 * A plan is a list of directives, one a line, carried out in order; see
 * run_line() for what each takes.  boltlab/plan.py writes it, so it is checked
 * for sense there; here a line that cannot be carried out ends the run with one
 * message.  Output files are left in the working directory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static const char *plan_path;
static unsigned int plan_line;

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "labguest: %s:%u: ", plan_path, plan_line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("out of memory");
	return p;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void sleep_until(uint64_t at_ns)
{
	struct timespec ts = { at_ns / NSEC_PER_SEC, at_ns % NSEC_PER_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* The value of a sysctl may hold blanks, so it is the rest of its line. */
void write_file(const char *path, const char *value, bool optional)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = write(fd, value, strlen(value));
		if (n < 0 && !optional)
			die("writing \"%s\" to %s: %s", value, path, strerror(errno));
		close(fd);
	} else if (!optional) {
		die("%s: %s", path, strerror(errno));
	}
}

/* Without a shell between: a plan's commands are words apart by single blanks. */
int run_command(int ns, const char *command, const char *out_path)
{
	char copy[4096], *argv[256], *save = NULL;
	int argc = 0, status;
	pid_t pid;

	snprintf(copy, sizeof(copy), "%s", command);
	for (char *w = strtok_r(copy, " ", &save); w && argc < 255; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;

	net_enter(ns);
	pid = vfork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		if (out_path) {
			int fd = open(out_path, O_WRONLY | O_CREAT | O_APPEND, 0644);

			if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
				_exit(126);
		}
		execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("wait: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void must_run(int ns, const char *command, const char *out_path)
{
	int status = run_command(ns, command, out_path);

	if (status == 127)
		die("cannot execute \"%s\"", command);
	if (status)
		die("\"%s\" in namespace %s failed (status %d)", command, net_ns_name(ns), status);
}

static void copy_file(const char *path, FILE *out)
{
	static char buf[1 << 18];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (fwrite(buf, 1, n, out) != (size_t)n)
			die("writing what %s has: %s", path, strerror(errno));
	if (n < 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

static FILE *open_output(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		die("%s: %s", path, strerror(errno));
	return out;
}

void save_file(const char *path, const char *out_path)
{
	FILE *out = open_output(out_path);

	copy_file(path, out);
	if (fclose(out))
		die("%s: %s", out_path, strerror(errno));
}

/* The same file of every namespace, each part headed by "ns NAME". */
static void collect(const char *out_path, const char *path)
{
	FILE *out = open_output(out_path);

	for (int ns = 0; ns < net_count(); ns++) {
		net_enter(ns);
		fprintf(out, "ns %s\n", net_ns_name(ns));
		copy_file(path, out);
	}
	if (fclose(out))
		die("%s: %s", out_path, strerror(errno));
}

/* ---- the plan ---- */

static const char *take_word(char **rest)
{
	char *w = strsep(rest, " ");

	if (!w || !*w)
		die("a word is missing");
	return w;
}

static long long take_number(char **rest)
{
	const char *w = take_word(rest);
	char *end;
	long long value = strtoll(w, &end, 10);

	if (*end)
		die("%s is not a number", w);
	return value;
}

static int take_ns(char **rest)
{
	return net_find_ns(take_word(rest));
}

static void do_pair(char **rest)
{
	int a = take_ns(rest);
	const char *dev = take_word(rest);
	int b = take_ns(rest);

	net_lablink("pair %d %s %d %s", net_fd(a), dev, net_fd(b), *rest ? *rest : "");
}

static void do_route(char **rest)
{
	struct net_route r = { 0 };
	char *devs, *dev;

	snprintf(r.dst, sizeof(r.dst), "%s", take_word(rest));
	devs = (char *)take_word(rest);
	while ((dev = strsep(&devs, ","))) {
		if (r.ndevs == NET_NEXT_HOPS)
			die("more than %d equal paths to %s", NET_NEXT_HOPS, r.dst);
		snprintf(r.devs[r.ndevs++], sizeof(r.devs[0]), "%s", dev);
	}
	r.rto_min_ms = take_number(rest);
	r.initcwnd = take_number(rest);
	r.cwnd = take_number(rest);
	net_route(&r);
}

static void do_sysctl(char **rest)
{
	int ns = take_ns(rest);
	const char *path = take_word(rest);
	bool optional = *path == '?';

	net_enter(ns);
	write_file(path + optional, *rest, optional);
}

/* NS DEV, and what else the link device's command takes */
static void do_link(const char *command, char **rest)
{
	int ns = take_ns(rest);
	const char *dev = take_word(rest);

	net_lablink("%s %d %s %s", command, net_fd(ns), dev, *rest ? *rest : "");
}

/* What /proc/lablink takes, with a namespace for the descriptor. */
static void do_fault(char **rest)
{
	char line[128];
	int ns = take_ns(rest);
	int64_t at = take_number(rest);

	snprintf(line, sizeof(line), "fault %d %s", net_fd(ns), *rest ? *rest : "");
	load_fault(at, line);
}

static void do_dev(char **rest)
{
	struct net_dev dev = { 0 };

	snprintf(dev.name, sizeof(dev.name), "%s", take_word(rest));
	dev.txqlen = take_number(rest);
	dev.gso_segs = take_number(rest);
	net_dev_up(&dev);
}

static void do_conn(char **rest)
{
	int from = take_ns(rest), to = take_ns(rest);
	const char *dst = take_word(rest);
	unsigned int n = take_number(rest);
	const char *cc = take_word(rest);
	unsigned int sport = take_number(rest);
	unsigned int fresh = take_number(rest);
	int sample_id = take_number(rest);

	load_pair(from, to, dst, n, cc, sport, fresh, sample_id, take_number(rest));
}

static void do_program(char **rest)
{
	int ns = take_ns(rest);
	int64_t start = take_number(rest);
	const char *stop = take_word(rest);
	bool ends_run = take_number(rest);
	int64_t stop_ns = strcmp(stop, "-") ? strtoll(stop, NULL, 10) : PROGRAM_NEVER;

	load_program(program_add(ns, ends_run, take_word(rest)), start, stop_ns);
}

static void run_line(char *line)
{
	char *rest = line;
	const char *what = take_word(&rest);

#define IS(name) (!strcmp(what, name))
	if (IS("env")) {			/* NAME VALUE */
		const char *name = take_word(&rest);

		setenv(name, rest, 1);
	} else if (IS("sysctl")) {		/* NS [?]PATH VALUE; ?: may be absent */
		do_sysctl(&rest);
	} else if (IS("ns")) {			/* NAME */
		net_add_ns(take_word(&rest));
	} else if (IS("pair")) {		/* NS DEV NS DEV RATE_BPS DELAY_NS MTU RING */
		do_pair(&rest);
	} else if (IS("net")) {			/* NS: dev, addr and route are of this namespace */
		net_batch_begin(take_ns(&rest));
	} else if (IS("dev")) {			/* DEV TXQLEN GSO_SEGS */
		do_dev(&rest);
	} else if (IS("addr")) {		/* DEV ADDRESS/LENGTH */
		const char *dev = take_word(&rest);

		net_addr(dev, take_word(&rest));
	} else if (IS("route")) {		/* DST DEV[,DEV] RTO_MIN_MS INITCWND CWND */
		do_route(&rest);
	} else if (IS("endnet")) {
		net_batch_end();
	} else if (IS("exec")) {		/* NS OUTPUT|- COMMAND */
		int ns = take_ns(&rest);
		const char *out = take_word(&rest);

		must_run(ns, rest, strcmp(out, "-") ? out : NULL);
	} else if (IS("watch")) {		/* NS DEV */
		do_link("watch", &rest);
	} else if (IS("capture")) {		/* NS DEV BYTES BUFFER_MB */
		do_link("capture", &rest);
	} else if (IS("completions")) {		/* NS DEV BQL COALESCE_NS */
		do_link("completions", &rest);
	} else if (IS("buffers")) {		/* SNDBUF RCVBUF WINDOW_NEEDED */
		int snd = take_number(&rest), rcv = take_number(&rest);

		load_buffers(snd, rcv, take_number(&rest));
	} else if (IS("listen")) {		/* NS 4|6 CC */
		int ns = take_ns(&rest);
		const char *family = take_word(&rest);

		load_listen(ns, family, take_word(&rest));
	} else if (IS("conn")) {		/* FROM TO ADDRESS N CC SPORT FRESH SAMPLE DSCP */
		do_conn(&rest);
	} else if (IS("follow")) {		/* CONN BUFFER_MB: for `lab explain` */
		unsigned int conn = take_number(&rest);

		load_follow(conn, take_number(&rest));
	} else if (IS("settle")) {		/* lets the timers of the boot pass */
		load_settle();
	} else if (IS("lock")) {		/* our memory: no page is read from a file later */
		if (mlockall(MCL_CURRENT))
			die("mlockall: %s", strerror(errno));
	} else if (IS("prime")) {		/* opens and closes one of each */
		load_prime();
	} else if (IS("connect")) {		/* opens and warms them */
		load_connect();
	} else if (IS("msg")) {			/* ID CONN START_NS BYTES|-1 */
		unsigned int id = take_number(&rest);
		int pair = take_number(&rest);
		int64_t start = take_number(&rest);

		load_message(id, pair, start, take_number(&rest));
	} else if (IS("stop")) {		/* ID AT_NS */
		unsigned int id = take_number(&rest);

		load_stop(id, take_number(&rest));
	} else if (IS("at")) {			/* NS AT_NS OUTPUT|- COMMAND */
		int ns = take_ns(&rest);
		int64_t at = take_number(&rest);
		const char *out = take_word(&rest);

		load_command(ns, at, strcmp(out, "-") ? out : NULL, rest);
	} else if (IS("fault")) {		/* NS AT_NS DEV ID KIND SHARE LATE_NS SEED */
		do_fault(&rest);
	} else if (IS("allow")) {		/* programs any congestion control */
		program_allow_cc();
	} else if (IS("node")) {		/* NS JOB: programs can run on it */
		int ns = take_ns(&rest);

		program_node(ns, take_word(&rest));
	} else if (IS("program")) {		/* NS START_NS STOP_NS|- ENDS_RUN JOB */
		do_program(&rest);
	} else if (IS("serve")) {		/* takes commands, and measures nothing */
		serve_on();
	} else if (IS("go")) {			/* DURATION_NS INTERVAL_NS DRAIN_NS LEAD_NS */
		uint64_t duration = take_number(&rest), interval = take_number(&rest);
		uint64_t drain = take_number(&rest);

		load_run(duration, interval, drain, take_number(&rest));
	} else if (IS("flows")) {		/* OUTPUT */
		load_write(take_word(&rest));
	} else if (IS("programs")) {		/* OUTPUT */
		program_write(take_word(&rest));
	} else if (IS("save")) {		/* OUTPUT PATH */
		const char *out = take_word(&rest);

		save_file(take_word(&rest), out);
	} else if (IS("collect")) {		/* OUTPUT PATH, of every namespace */
		const char *out = take_word(&rest);

		collect(out, take_word(&rest));
	} else {
		die("unknown directive %s", what);
	}
#undef IS
}

int main(int argc, char **argv)
{
	struct rlimit files = { 1 << 18, 1 << 18 };
	char *line = NULL;
	size_t cap = 0;
	FILE *plan;

	if (argc != 2) {
		fprintf(stderr, "usage: labguest PLAN\n");
		return 2;
	}
	plan_path = argv[1];
	plan = fopen(plan_path, "re");
	if (!plan)
		die("%s", strerror(errno));
	prctl(PR_SET_TIMERSLACK, 1);
	if (setrlimit(RLIMIT_NOFILE, &files) && !getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}

	while (getline(&line, &cap, plan) > 0) {
		plan_line++;
		line[strcspn(line, "\n")] = 0;
		if (*line && *line != '#')
			run_line(line);
	}
	sync();
	return 0;
}
