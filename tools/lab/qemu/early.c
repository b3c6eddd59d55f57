// SPDX-License-Identifier: GPL-2.0
/*
 * The first process of a guest of QEMU, in its initramfs: loads the few modules that a stock kernel
 * needs to see this machine's files, makes a root of them and hands over to the lab's init.
 *
 *	/			overlay: a tmpfs over the machine's root, or another, read-only (9p)
 *	/lib/modules/VERSION	those of lab.modules=DIR; without it what the root has
 *	lab.share=DIR		this directory of the machine, writable
 *
 * The lab's init (tools/lab/kernel/init.c) knows its surroundings by names in /dev, which User-Mode
 * Linux has as devices of its own; here they are links to virtio ports, and a copy of the job,
 * which is in the initramfs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define PLAN9	"trans=virtio,version=9p2000.L,msize=262144"

static void fail(const char *fmt, ...)
{
	int err = errno;
	va_list args;

	/* the console: the ports may be what is missing */
	printf("lab early: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf(": %s\n", strerror(err));
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	exit(1);
}

static void must_mount(const char *what, const char *where, const char *type, unsigned long flags,
		       const char *options)
{
	if (mount(what, where, type, flags, options) && errno != EBUSY)
		fail("mount %s on %s", what, where);
}

/* The value of NAME= on the kernel's command line, or NULL. */
static char *parameter(const char *name)
{
	static char line[4096];
	char *word, *rest = line;
	size_t len = strlen(name);
	ssize_t n = -1;
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		n = read(fd, line, sizeof(line) - 1);
	if (n < 0)
		fail("/proc/cmdline");
	close(fd);
	line[n] = 0;
	while ((word = strsep(&rest, "\n "))) {
		if (!strncmp(word, name, len) && word[len] == '=')
			return strdup(word + len + 1);
	}
	return NULL;
}

/* One path a line, in the order of their needs */
static void load_modules(const char *list)
{
	char path[256];
	FILE *f = fopen(list, "re");

	if (!f)
		fail("%s", list);
	while (fgets(path, sizeof(path), f)) {
		int fd;

		path[strcspn(path, "\n")] = 0;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
			fail("load %s", path);
		close(fd);
	}
	fclose(f);
}

/* Devices are found while this runs; without them there is nobody to tell. */
static void await(const char *path)
{
	struct timespec turn = { 0, 10 * 1000000 };
	int turns = 3000;

	while (access(path, F_OK)) {
		if (!turns--)
			fail("%s", path);
		nanosleep(&turn, NULL);
	}
}

static void link_to(const char *target, const char *name)
{
	if (symlink(target, name))
		fail("%s", name);
}

static void copy(const char *from, const char *to)
{
	char buf[65536];
	ssize_t n;
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (in < 0 || out < 0)
		fail("%s to %s", from, to);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			fail("%s", to);
	if (n < 0)
		fail("%s", from);
	close(in);
	close(out);
}

/* @path and what is above it */
static void make_dirs(char *path)
{
	char *slash;

	for (slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	mkdir(path, 0755);
}

int main(void)
{
	char *share, *modules, *argv[] = { "lab-init", NULL }, *envp[] = { NULL }, path[256];
	struct utsname u;
	int init;

	mkdir("/dev", 0755);
	mkdir("/proc", 0755);
	mkdir("/host", 0755);
	mkdir("/over", 0755);
	mkdir("/newroot", 0755);
	must_mount("devtmpfs", "/dev", "devtmpfs", 0, "mode=755");
	must_mount("proc", "/proc", "proc", 0, NULL);
	modules = parameter("lab.modules");
	share = parameter("lab.share");
	load_modules("/modules.load");
	init = open("/lab-init", O_RDONLY | O_CLOEXEC);
	if (init < 0)
		fail("/lab-init");

	/* Nobody changes these files while we look: the cache may believe what it has */
	must_mount("host", "/host", "9p", MS_RDONLY, PLAN9 ",cache=loose");
	must_mount("tmpfs", "/over", "tmpfs", 0, "mode=755");
	mkdir("/over/upper", 0755);
	mkdir("/over/work", 0755);
	must_mount("overlay", "/newroot", "overlay", 0,
		   "lowerdir=/host,upperdir=/over/upper,workdir=/over/work");
	if (modules) {
		if (uname(&u))
			fail("uname");
		mkdir("/newroot/lib/modules", 0755);
		snprintf(path, sizeof(path), "/newroot/lib/modules/%s", u.release);
		if (mkdir(path, 0755) && errno != EEXIST)
			fail("%s", path);
		if (chdir("/host"))
			fail("/host");
		must_mount(modules + 1, path, NULL, MS_BIND, NULL);
	}
	if (share) {
		snprintf(path, sizeof(path), "/newroot%s", share);
		make_dirs(path);
		must_mount("share", path, "9p", 0, PLAN9 ",cache=none");
	}

	await("/dev/vport0p1");
	await("/dev/vport0p2");
	await("/dev/vport0p3");
	link_to("vport0p1", "/dev/labout");
	link_to("vport0p2", "/dev/laberr");
	link_to("vport0p3", "/dev/labexit");
	copy("/job", "/dev/labin");

	umount("/proc");
	if (chdir("/newroot") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		fail("switch root");
	/* run looks for it: what ends before has done nothing */
	printf("lab early: the job begins\n");
	fflush(stdout);
	fexecve(init, argv, envp);
	fail("lab-init");
}
