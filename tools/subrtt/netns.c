// SPDX-License-Identifier: GPL-2.0
/* Network namespaces, and the files of the kernel that belong to them. */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "subrtt.h"

#define NETNS_DIR	"/run/netns"

static bool entered;

/* @which: a name of ip-netns(8), a process, or a path */
int bc_enter_netns(const char *which)
{
	char path[4096];
	int fd, n;

	if (strchr(which, '/'))
		n = snprintf(path, sizeof(path), "%s", which);
	else
		n = snprintf(path, sizeof(path), NETNS_DIR "/%s", which);
	/* a process, unless somebody has named a namespace so */
	if (*which && strspn(which, "0123456789") == strlen(which) && access(path, F_OK))
		n = snprintf(path, sizeof(path), "/proc/%s/ns/net", which);
	if (!*which || n >= (int)sizeof(path))
		return bc_error(BC_USAGE, "--netns: \"%.64s\" is not a name, process or path",
				which);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return bc_error(BC_PERM, "namespace %s: %s: root is needed", which, path);
	if (fd < 0)
		return bc_error(BC_ABSENT, "no namespace %s: %s: %s", which, path, strerror(errno));
	if (setns(fd, CLONE_NEWNET)) {
		n = errno;
		close(fd);
		if (n == EPERM)
			return bc_error(BC_PERM, "namespace %s: CAP_SYS_ADMIN is needed to enter it",
					which);
		return bc_error(BC_ABSENT, "%s is not a network namespace: %s", path, strerror(n));
	}
	close(fd);
	entered = true;
	return BC_OK;
}

/*
 * /sys of the namespace we are in.  The one that is mounted shows the namespace of who mounted
 * it, so make one that is mounted nowhere.  Negative when that is not allowed.
 */
int bc_sysfs(void)
{
	static int fd = -1;
	int fs;

	if (fd >= 0)
		return fd;
	if (!entered)
		return fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fs = fsopen("sysfs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -1;
	if (!fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	close(fs);
	return fd;
}

/* The first line, without its end.  Returns its length or -errno. */
int bc_read_at(int dir, const char *path, char *buf, size_t len)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, buf, len - 1);
	if (n < 0) {
		n = -errno;
		close(fd);
		return n;
	}
	close(fd);
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return strlen(buf);
}

int bc_read_file(const char *path, char *buf, size_t len)
{
	return bc_read_at(AT_FDCWD, path, buf, len);
}
