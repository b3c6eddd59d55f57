// SPDX-License-Identifier: GPL-2.0
/*
 * The first process of a lab kernel: reads its job from /dev/labin, mounts what
 * programs expect, loads modules, runs one command, powers the machine off.
 *
 * The job is a list of strings, each ended by NUL:
 *	working directory
 *	number of module files, their paths
 *	number of arguments, the arguments
 *	the environment, to the end
 * It comes through a descriptor and not on the kernel command line, because
 * that is mixed into the random pool: equal seeds must draw equal numbers
 * whatever is run.
 *
 * The exit status of the command becomes the kernel's, through /proc/exitcode. A guest of
 * QEMU (tools/lab/qemu), where early.c has made /dev/lab*, has /dev/labexit for it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_LAB	125	/* what failed is the lab, not the command */
#define EXIT_LEAK	123	/* the command succeeded, memory leaked */
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"

static int err_fd = 2;

static void finish(int status)
{
	char line[16];
	int fd, n;

	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	sync();
	/* The newline matters: UML parses what lies behind the number, too. */
	n = snprintf(line, sizeof(line), "%d\n", status);
	fd = open("/proc/exitcode", O_WRONLY);
	if (fd < 0)
		fd = open("/dev/labexit", O_WRONLY);
	if (fd < 0 || write(fd, line, n) != n)
		dprintf(err_fd, "lab init: cannot leave the exit status\n");
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void fail(const char *fmt, ...)
{
	int err = errno;
	va_list args;

	dprintf(err_fd, "lab init: ");
	va_start(args, fmt);
	vdprintf(err_fd, fmt, args);
	va_end(args);
	dprintf(err_fd, ": %s\n", strerror(err));
	finish(EXIT_LAB);
}

/* Not 0 to 2, which may or may not be open without a console. */
static int open_high(const char *path, int flags)
{
	int low = open(path, flags | O_CLOEXEC), high;

	if (low < 0)
		fail("%s", path);
	high = fcntl(low, F_DUPFD_CLOEXEC, 10);
	if (high < 0)
		fail("%s", path);
	close(low);
	return high;
}

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static char *read_all(const char *path, size_t *len)
{
	size_t size = 65536, have = 0;
	char *buf = malloc(size);
	ssize_t n;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || !buf)
		fail("%s", path);
	while ((n = read(fd, buf + have, size - have - 1)) > 0) {
		have += n;
		if (size - have < 4096) {
			buf = realloc(buf, size *= 2);
			if (!buf)
				fail("%s", path);
		}
	}
	if (n < 0)
		fail("%s", path);
	close(fd);
	buf[have] = 0;
	*len = have;
	return buf;
}

/* The next n strings of the job, as an array that ends with NULL. */
static char **take(char **pos, char *end, size_t n)
{
	char **list = calloc(n + 1, sizeof(*list));
	size_t i;

	if (!list)
		fail("job");
	for (i = 0; i < n && *pos < end; i++) {
		list[i] = *pos;
		*pos += strlen(*pos) + 1;
	}
	if (i < n) {
		errno = EINVAL;
		fail("job cut short");
	}
	return list;
}

static size_t take_count(char **pos, char *end)
{
	return strtoul(take(pos, end, 1)[0], NULL, 10);
}

static void must_mount(const char *type, const char *where, const char *options)
{
	if (mount(type, where, type, 0, options) && errno != EBUSY)
		fail("mount %s on %s", type, where);
}

/* What MODULE.ko.parameters says, if it is there. */
static const char *module_parameters(const char *ko)
{
	char path[PATH_MAX];
	size_t len;

	snprintf(path, sizeof(path), "%s.parameters", ko);
	return access(path, F_OK) ? "" : read_all(path, &len);
}

/*
 * Modules in any order: one that misses a symbol waits until the others are in.
 */
static void load_modules(char **path)
{
	size_t left = 0, before, i;

	for (i = 0; path[i]; i++)
		left++;
	while (left) {
		before = left;
		for (i = 0; path[i]; i++) {
			int fd;

			if (!path[i][0])
				continue;
			fd = open(path[i], O_RDONLY | O_CLOEXEC);
			if (fd < 0)
				fail("%s", path[i]);
			if (!syscall(SYS_finit_module, fd, module_parameters(path[i]), 0)) {
				path[i] = "";
				left--;
			} else if (errno != ENOENT) {
				fail("load %s", path[i]);
			}
			close(fd);
		}
		if (before == left) {
			for (i = 0; !path[i][0]; i++)
				;
			fail("load %s (unknown symbol, see the console)", path[i]);
		}
	}
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

/*
 * An object counts as leaked when it is older than 5 s and two scans found no
 * pointer to it. Virtual seconds are free.
 */
static int leaks(void)
{
	size_t len;
	char *text;

	if (access(KMEMLEAK, W_OK))
		return 0;
	sleep_ms(6000);
	put(KMEMLEAK, "scan");
	sleep_ms(6000);
	put(KMEMLEAK, "scan");
	text = read_all(KMEMLEAK, &len);
	if (!len)
		return 0;
	dprintf(err_fd, "lab init: kmemleak reports\n%s", text);
	return 1;
}

int main(void)
{
	struct rlimit files = { 65536, 65536 };
	char *job, *pos, *end, *cwd, **modules, **argv, **envp;
	int status, out_fd, in_fd;
	size_t len, n, i;
	pid_t pid, done;

	must_mount("devtmpfs", "/dev", "mode=755");
	err_fd = open_high("/dev/laberr", O_WRONLY);
	out_fd = open_high("/dev/labout", O_WRONLY);
	in_fd = open_high("/dev/null", O_RDONLY);
	must_mount("proc", "/proc", NULL);
	must_mount("sysfs", "/sys", NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL);
	must_mount("tmpfs", "/run", "mode=755");
	mkdir("/dev/pts", 0755);
	mount("devpts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666");
	mkdir("/dev/shm", 01777);
	mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777");
	if (symlink("/proc/self/fd", "/dev/fd") || symlink("fd/0", "/dev/stdin") ||
	    symlink("fd/1", "/dev/stdout") || symlink("fd/2", "/dev/stderr"))
		fail("/dev/fd");
	sethostname("lab", 3);
	setrlimit(RLIMIT_NOFILE, &files);

	job = read_all("/dev/labin", &len);
	pos = job;
	end = job + len;
	cwd = take(&pos, end, 1)[0];
	modules = take(&pos, end, take_count(&pos, end));
	argv = take(&pos, end, take_count(&pos, end));
	for (n = 0, i = pos - job; i < len; i++)
		n += !job[i];
	envp = take(&pos, end, n);
	if (!argv[0]) {
		errno = EINVAL;
		fail("no command");
	}

	/* The first timers after boot come late, by up to a tick of boot's own. */
	sleep_ms(50);
	load_modules(modules);
	put(KMEMLEAK, "clear");

	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		setsid();
		dup2(in_fd, 0);
		dup2(out_fd, 1);
		dup2(err_fd, 2);
		environ = envp;
		if (chdir(cwd)) {
			fprintf(stderr, "lab init: %s: %m\n", cwd);
			_exit(EXIT_LAB);
		}
		execvp(argv[0], argv);
		fprintf(stderr, "lab init: %s: %m\n", argv[0]);
		_exit(errno == ENOENT ? 127 : 126);
	}
	do {
		done = wait(&status);
	} while (done != pid);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (leaks() && !status)
		status = EXIT_LEAK;
	finish(status);
}
