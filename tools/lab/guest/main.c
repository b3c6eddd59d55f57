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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static const char *plan_path;
static unsigned int plan_line;

_Noreturn void die(const char *fmt, ...)
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
		fwrite(buf, 1, n, out);
	close(fd);
}

static FILE *open_output(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		die("%s: %s", path, strerror(errno));
	return out;
}

static void save_file(const char *path, const char *out_path)
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

static struct net_pair *pairs;
static int npairs;

static const char *word(char **rest)
{
	char *w = strsep(rest, " ");

	if (!w || !*w)
		die("a word is missing");
	return w;
}

static long long number(char **rest)
{
	const char *w = word(rest);
	char *end;
	long long value = strtoll(w, &end, 10);

	if (*end)
		die("%s is not a number", w);
	return value;
}

static int space(char **rest)
{
	return net_find_ns(word(rest));
}

static void do_pair(char **rest)
{
	struct net_pair *p;

	if (npairs % 64 == 0)
		pairs = realloc(pairs, (npairs + 64) * sizeof(*pairs));
	if (!pairs)
		die("out of memory");
	p = &pairs[npairs++];
	for (int i = 0; i < 2; i++) {
		p->ns[i] = space(rest);
		snprintf(p->dev[i], sizeof(p->dev[i]), "%s", word(rest));
	}
	p->rate_bps = number(rest);
	p->delay_ns = number(rest);
	p->mtu = number(rest);
	p->ring = number(rest);
}

static void do_route(char **rest)
{
	struct net_route r = { 0 };
	char *devs, *dev;

	snprintf(r.dst, sizeof(r.dst), "%s", word(rest));
	devs = (char *)word(rest);
	while ((dev = strsep(&devs, ",")) && r.ndevs < 8)
		snprintf(r.devs[r.ndevs++], sizeof(r.devs[0]), "%s", dev);
	r.rto_min_ms = number(rest);
	r.initcwnd = number(rest);
	r.cwnd = number(rest);
	net_route(&r);
}

static void do_sysctl(char **rest)
{
	int ns = space(rest);
	const char *path = word(rest);
	bool optional = *path == '?';

	net_enter(ns);
	write_file(path + optional, *rest, optional);
}

static void do_lablink(const char *command)
{
	size_t len = strlen(command);

	if (net_lablink_fd() >= 0 && write(net_lablink_fd(), command, len) != (ssize_t)len)
		die("/proc/lablink refused \"%s\": %s", command, strerror(errno));
}

static void do_watch(char **rest)
{
	char line[128];
	int ns = space(rest);

	snprintf(line, sizeof(line), "watch %d %s", net_fd(ns), word(rest));
	do_lablink(line);
}

static void do_dev(char **rest)
{
	struct net_dev dev = { 0 };

	snprintf(dev.name, sizeof(dev.name), "%s", word(rest));
	dev.txqlen = number(rest);
	dev.gso_segs = number(rest);
	net_dev_up(&dev);
}

static void do_conn(char **rest)
{
	int from = space(rest), to = space(rest);
	const char *dst = word(rest);
	unsigned int n = number(rest);
	const char *cc = word(rest);
	unsigned int sport = number(rest);
	bool fresh = number(rest);

	load_pair(from, to, dst, n, cc, sport, fresh, number(rest));
}

static void run_line(char *line)
{
	char *rest = line;
	const char *what = word(&rest);

#define IS(name) (!strcmp(what, name))
	if (IS("veth")) {			/* devices without rate or delay, for trying the rest */
		net_use_veth();
	} else if (IS("env")) {			/* NAME VALUE */
		const char *name = word(&rest);

		setenv(name, rest, 1);
	} else if (IS("sysctl")) {		/* NS [?]PATH VALUE; ?: may be absent */
		do_sysctl(&rest);
	} else if (IS("ns")) {			/* NAME */
		net_add_ns(word(&rest));
	} else if (IS("pair")) {		/* NS DEV NS DEV RATE_BPS DELAY_NS MTU RING */
		do_pair(&rest);
	} else if (IS("pairs")) {		/* makes those listed since */
		net_add_pairs(pairs, npairs);
		npairs = 0;
	} else if (IS("net")) {			/* NS: dev, addr and route are of this namespace */
		net_batch_begin(space(&rest));
	} else if (IS("dev")) {			/* DEV TXQLEN GSO_SEGS */
		do_dev(&rest);
	} else if (IS("addr")) {		/* DEV ADDRESS/LENGTH */
		const char *dev = word(&rest);

		net_addr(dev, word(&rest));
	} else if (IS("route")) {		/* DST DEV[,DEV] RTO_MIN_MS INITCWND CWND */
		do_route(&rest);
	} else if (IS("endnet")) {
		net_batch_end();
	} else if (IS("exec")) {		/* NS OUTPUT|- COMMAND */
		int ns = space(&rest);
		const char *out = word(&rest);

		must_run(ns, rest, strcmp(out, "-") ? out : NULL);
	} else if (IS("watch")) {		/* NS DEV */
		do_watch(&rest);
	} else if (IS("buffers")) {		/* SNDBUF RCVBUF WINDOW_NEEDED */
		int snd = number(&rest), rcv = number(&rest);

		load_buffers(snd, rcv, number(&rest));
	} else if (IS("listen")) {		/* NS 4|6 CC */
		int ns = space(&rest);
		const char *family = word(&rest);

		load_listen(ns, family, word(&rest));
	} else if (IS("conn")) {		/* FROM TO ADDRESS N CC SPORT FRESH SAMPLE_ID|-1 */
		do_conn(&rest);
	} else if (IS("settle")) {		/* lets the timers of the boot pass */
		load_settle();
	} else if (IS("prime")) {		/* opens and closes one of each */
		load_prime();
	} else if (IS("connect")) {		/* opens and warms them */
		load_connect();
	} else if (IS("msg")) {			/* ID CONN START_NS BYTES|-1 */
		unsigned int id = number(&rest);
		int pair = number(&rest);
		int64_t start = number(&rest);

		load_message(id, pair, start, number(&rest));
	} else if (IS("stop")) {		/* ID AT_NS */
		unsigned int id = number(&rest);

		load_stop(id, number(&rest));
	} else if (IS("at")) {			/* NS AT_NS COMMAND */
		int ns = space(&rest);
		int64_t at = number(&rest);

		load_command(ns, at, rest);
	} else if (IS("go")) {			/* DURATION_NS INTERVAL_NS DRAIN_NS LEAD_NS */
		uint64_t duration = number(&rest), interval = number(&rest);
		uint64_t drain = number(&rest);

		load_run(duration, interval, drain, number(&rest));
	} else if (IS("flows")) {		/* OUTPUT */
		load_write(word(&rest));
	} else if (IS("save")) {		/* OUTPUT PATH */
		const char *out = word(&rest);

		save_file(word(&rest), out);
	} else if (IS("collect")) {		/* OUTPUT PATH, of every namespace */
		const char *out = word(&rest);

		collect(out, word(&rest));
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
