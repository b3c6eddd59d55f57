// SPDX-License-Identifier: GPL-2.0
/*
 * Runs unmodified programs of the machine on nodes of the lab.
 *
 * A node with programs is more than a network namespace: it has processes, mounts, a hostname and
 * IPC of its own, which live as long as a process that does nothing but wait (node_main()). The
 * machine's file system is read-only in there; /tmp, /var/tmp, /run, /dev/shm and the working
 * directories of its programs can be written: one tmpfs of the node is below all of these. What the
 * machine has in a working directory is still to be seen, entry by entry through a symbolic link,
 * because the lab's kernel has no overlay file system; in the first two it is what programs name.
 *
 * Whatever a program starts is in its control group, so nothing escapes when it has to end, and
 * what outlives its first process is noticed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/random.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define CGROUPS		"/sys/fs/cgroup"
#define SCRATCH		"/run/.lab"
#define FILE_LIMIT	(256UL << 20)	/* who prints more is ended by SIGXFSZ */
#define PROCESS_LIMIT	2048
#define OPEN_SOFT	1024		/* as usual: some close all there might be */
#define OPEN_HARD	65536
#define PSEC_PER_NSEC	1000
#define GRACE_NS	NSEC_PER_SEC	/* from SIGTERM to SIGKILL at the end of the run */
#define ALLOWED_CC	"/proc/sys/net/ipv4/tcp_allowed_congestion_control"
#define CPU		"/proc/labcpu"
#define CPU_WORD	6		/* of a job: "CORES CALL_PS BYTE_PS", or "-" */
#define AVAILABLE_CC	"/proc/sys/net/ipv4/tcp_available_congestion_control"

/* Strings, each ended by NUL, as boltlab/programs.py wrote them. */
struct job {
	char **word;
	int words, next;
};

struct node {
	int ns, pidfd;
	pid_t pid;
};

struct program {
	int node;
	struct job job;
	pid_t pid;
	int pidfd, cpu_fd, status, left;
	uint64_t start_ns, end_ns;
	bool ends_run;
	enum { BY_ITSELF, BY_STOP, BY_RUN } ended_by;
};

static struct node *nodes;
static struct program *programs;
static int nnodes, nprograms, awaited, own_pids = -1;

static const char *take(struct job *job)
{
	if (job->next >= job->words)
		die("a job is cut short");
	return job->word[job->next++];
}

static long take_count(struct job *job)
{
	return strtol(take(job), NULL, 10);
}

/* So many of its words, as an array that ends with NULL. */
static char **take_list(struct job *job)
{
	long n = take_count(job);
	char **list = xcalloc(n + 1, sizeof(*list));

	for (long i = 0; i < n; i++)
		list[i] = (char *)take(job);
	return list;
}

static struct job split_job(char *text, size_t len)
{
	struct job job = { 0 };
	char *p;

	for (p = text; p < text + len; p += strlen(p) + 1)
		job.words++;
	job.word = xcalloc(job.words + 1, sizeof(*job.word));
	p = text;
	for (int i = 0; i < job.words; i++, p += strlen(p) + 1)
		job.word[i] = p;
	return job;
}

static struct job read_job(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	text = xcalloc(1, st.st_size + 1);
	if (read(fd, text, st.st_size) != st.st_size)
		die("%s: cannot be read", path);
	close(fd);
	return split_job(text, st.st_size);
}

/* A namespace may use what is allowed in the first one, and a program is nobody special. */
void program_allow_cc(void)
{
	char names[1024];
	int fd = open(AVAILABLE_CC, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, names, sizeof(names) - 1);

	if (n < 0)
		die("%s: %s", AVAILABLE_CC, strerror(errno));
	close(fd);
	names[n] = 0;
	write_file(ALLOWED_CC, names, false);
}

/* ---- nodes ---- */

static void must(bool ok, const char *what, const char *where)
{
	if (!ok)
		die("%s %s: %s", what, where, strerror(errno));
}

static void bind_over(const char *what, const char *where)
{
	must(!mount(what, where, NULL, MS_BIND | MS_REC, NULL), "bind mount on", where);
}

/* Where the machine has no such file there is nothing to hide. */
static void replace_file(const char *what, const char *where)
{
	if (!access(where, F_OK))
		bind_over(what, where);
}

static void make_dir(const char *path, mode_t mode)
{
	must(!mkdir(path, 0700) && !chmod(path, mode), "directory", path);
}

/* Under its own name, as the machine has it; what is not there, a program may make. */
static void keep_entry(const char *lower, const char *dir, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(from, sizeof(from), "%s/%s", lower, name);
	snprintf(to, sizeof(to), "%s/%s", dir, name);
	if (stat(from, &st))
		return;
	if (S_ISDIR(st.st_mode)) {
		make_dir(to, 0755);
	} else {
		fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		must(fd >= 0, "open", to);
		close(fd);
	}
	bind_over(from, to);
}

static void link_all(const char *lower, const char *dir)
{
	char from[PATH_MAX], to[PATH_MAX];
	const struct dirent *e;
	DIR *d = opendir(lower);

	must(d, "read", dir);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(from, sizeof(from), "%s/%s", lower, e->d_name);
		snprintf(to, sizeof(to), "%s/%s", dir, e->d_name);
		must(!symlink(from, to), "link", to);
	}
	closedir(d);
}

/* A directory that can be written, and shows what the machine has there: "*", or what is named. */
static void cover(const char *dir, struct job *names, int index)
{
	char lower[64], upper[64];

	snprintf(lower, sizeof(lower), SCRATCH "/%d", index);
	snprintf(upper, sizeof(upper), SCRATCH "/%d.new", index);
	make_dir(lower, 0755);
	make_dir(upper, 01777);
	bind_over(dir, lower);
	bind_over(upper, dir);
	for (char **name = take_list(names); *name; name++)
		if (strcmp(*name, "*"))
			keep_entry(lower, dir, *name);
		else
			link_all(lower, dir);
}

/* As root of the node's own mounts; labguest's stay as they are. */
static void mount_node(const char *name, struct job *job)
{
	char size[64];
	int n = 0;

	snprintf(size, sizeof(size), "size=%sm,mode=1777", take(job));
	must(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "own mounts", name);
	must(!mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), "read-only", "/");
	must(!mount("proc", "/proc", "proc", 0, NULL), "mount", "/proc");
	must(!mount("sysfs", "/sys", "sysfs", 0, NULL), "mount", "/sys");
	replace_file(take(job), "/etc/hosts");
	replace_file(take(job), "/etc/resolv.conf");
	must(!mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, size), "mount", "/run");
	make_dir(SCRATCH, 0755);
	make_dir(SCRATCH "/shm", 01777);
	bind_over(SCRATCH "/shm", "/dev/shm");
	while (job->next < job->words) {
		const char *dir = take(job);

		cover(dir, job, n++);
	}
	must(!sethostname(name, strlen(name)), "hostname", name);
}

/* The first process of a node: what its programs leave behind becomes its child. */
static void node_main(int ns, struct job *job, int ready)
{
	net_enter(ns);
	mount_node(net_ns_name(ns), job);
	signal(SIGCHLD, SIG_IGN);
	if (write(ready, "", 1) != 1)
		_exit(1);
	syscall(SYS_close_range, 3U, ~0U, 0);
	for (;;)
		pause();
}

static pid_t clone_self(unsigned long flags)
{
	fflush(NULL);
	return syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

/*
 * tmpfs draws a number for each file, so how many there are in a working directory would decide
 * what everything draws from now on, loss in netem included: begin anew, from the pool.
 */
static void reseed(void)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && !ioctl(fd, RNDRESEEDCRNG), "seed", "/dev/urandom");
	close(fd);
}

void program_node(int ns, const char *job_path)
{
	struct job job = read_job(job_path);
	int ready[2];
	struct node *node;
	char done;

	if (own_pids < 0)
		own_pids = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	nodes = realloc(nodes, (nnodes + 1) * sizeof(*nodes));
	if (!nodes || own_pids < 0 || pipe2(ready, O_CLOEXEC))
		die("node %s: %s", net_ns_name(ns), strerror(errno));
	node = &nodes[nnodes++];
	node->ns = ns;
	node->pid = clone_self(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC);
	if (!node->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		node_main(ns, &job, ready[1]);
	}
	close(ready[1]);
	node->pidfd = node->pid < 0 ? -1 : syscall(SYS_pidfd_open, node->pid, 0);
	if (node->pidfd < 0)
		die("node %s: %s", net_ns_name(ns), strerror(errno));
	if (read(ready[0], &done, 1) != 1)
		exit(1);			/* the node has said why */
	close(ready[0]);
	reseed();
}

static int find_node(int ns)
{
	for (int i = 0; i < nnodes; i++)
		if (nodes[i].ns == ns)
			return i;
	return -1;
}

/* ---- programs ---- */

static const char *cgroup_file(int i, const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), CGROUPS "/program-%d%s%s", i, *name ? "/" : "", name);
	return path;
}

int program_add(int ns, bool ends_run, const char *job_path)
{
	struct program *p;

	programs = realloc(programs, (nprograms + 1) * sizeof(*programs));
	if (!programs)
		die("out of memory");
	p = &programs[nprograms];
	memset(p, 0, sizeof(*p));
	p->node = find_node(ns);
	if (p->node < 0)
		die("the plan runs a program on %s, which it did not make a node", net_ns_name(ns));
	p->job = read_job(job_path);
	p->pidfd = -1;
	p->cpu_fd = -1;
	if (p->job.words > CPU_WORD && strcmp(p->job.word[CPU_WORD], "-")) {
		p->cpu_fd = open(CPU, O_RDWR | O_CLOEXEC);
		must(p->cpu_fd >= 0, "open", CPU);
	}
	p->ends_run = ends_run;
	awaited += ends_run;
	must(!mkdir(cgroup_file(nprograms, ""), 0755), "control group", cgroup_file(nprograms, ""));
	return nprograms++;
}

static void redirect(const char *path, int flags, int to)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	must(fd >= 0 && dup2(fd, to) >= 0, "open", path);
}

static void limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit both = { soft, hard };

	setrlimit(what, &both);
}

static void become(uid_t uid, gid_t gid)
{
	must(!setgroups(0, NULL) && !setresgid(gid, gid, gid) && !setresuid(uid, uid, uid) &&
	     !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "user", "of the program");
}

/* From here on its system calls take time; so do those of all that it starts. */
static void pay_for_cpu(const struct program *p, const char *cost)
{
	char line[64];
	int len;

	if (p->cpu_fd < 0)
		return;
	len = snprintf(line, sizeof(line), "%d %s", nodes[p->node].ns, cost);
	must(write(p->cpu_fd, line, len) == len, "write to", CPU);
}

static unsigned long long cpu_paid_ns(const struct program *p)
{
	char line[32] = "";

	must(pread(p->cpu_fd, line, sizeof(line) - 1, 0) > 0, "read", CPU);
	return strtoull(line, NULL, 10) / PSEC_PER_NSEC;
}

/* In the new process, which is in the node's namespace of processes already. */
static void enter_node(const struct node *node, const char *cgroup)
{
	write_file(cgroup, "0", false);
	net_enter(node->ns);
	must(!setns(node->pidfd, CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC), "enter",
	     net_ns_name(node->ns));
}

/* What its descriptors 0 to 2 are is decided by now. */
static void prepare_program(uid_t uid, gid_t gid)
{
	signal(SIGPIPE, SIG_DFL);
	limit(RLIMIT_FSIZE, FILE_LIMIT, FILE_LIMIT);
	limit(RLIMIT_CORE, 0, 0);
	limit(RLIMIT_NOFILE, OPEN_SOFT, OPEN_HARD);
	if (uid) {
		/* so that it can open /dev/stdout as well */
		if (fchown(1, uid, gid) || fchown(2, uid, gid))
			must(errno == EPERM, "owner", "of what it prints");
		limit(RLIMIT_NPROC, PROCESS_LIMIT, PROCESS_LIMIT);
		become(uid, gid);
	}
}

static void exec_program(char **argv, char **env)
{
	syscall(SYS_close_range, 3U, ~0U, 0);
	environ = env;
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void run_program(struct program *p)
{
	struct job *job = &p->job;
	const char *in = take(job), *out = take(job), *err = take(job), *cwd = take(job);
	uid_t uid = take_count(job);
	gid_t gid = take_count(job);
	const char *cpu = take(job);
	char **argv = take_list(job), **env = take_list(job);

	redirect(in, O_RDONLY, 0);
	redirect(out, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 1);
	redirect(err, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 2);
	enter_node(&nodes[p->node], cgroup_file(p - programs, "cgroup.procs"));
	must(!chdir(cwd), "working directory", cwd);
	setsid();
	prepare_program(uid, gid);
	pay_for_cpu(p, cpu);
	exec_program(argv, env);
}

/* A process of the node; 0 in it. */
static pid_t clone_into(const struct node *node, const char *what, int number)
{
	pid_t pid;

	if (setns(node->pidfd, CLONE_NEWPID))
		die("%s %d: %s", what, number, strerror(errno));
	pid = clone_self(0);
	if (!pid)
		return 0;
	if (pid < 0 || setns(own_pids, CLONE_NEWPID))
		die("%s %d: %s", what, number, strerror(errno));
	return pid;
}

/* Its pidfd, which becomes readable when it has ended. */
int program_start(int i, uint64_t now)
{
	struct program *p = &programs[i];

	p->pid = clone_into(&nodes[p->node], "program", i);
	if (!p->pid)
		run_program(p);
	p->pidfd = syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd < 0)
		die("program %d: %s", i, strerror(errno));
	p->start_ns = now;
	return p->pidfd;
}

static bool running(const struct program *p)
{
	return p->start_ns && !p->end_ns;
}

static bool reap(struct program *p, int how)
{
	if (!running(p) || waitpid(p->pid, &p->status, how) != p->pid)
		return false;
	p->end_ns = now_ns();
	close(p->pidfd);
	p->pidfd = -1;
	return true;
}

/* Whether the last of those that end the run has ended. */
bool program_ended(int i)
{
	return reap(&programs[i], WNOHANG) && programs[i].ends_run && !--awaited;
}

void program_stop(int i)
{
	struct program *p = &programs[i];

	if (!running(p))
		return;
	p->ended_by = BY_STOP;
	kill(-p->pid, SIGTERM);
}

/* ---- commands of a network that is up (serve.c) ---- */

static const char *command_cgroup(unsigned int id, const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), CGROUPS "/command-%u%s%s", id, *name ? "/" : "", name);
	return path;
}

/* The terminal, or what it reads and writes, becomes its descriptors 0 to 2. */
static void take_files(const int fds[3], bool terminal)
{
	setsid();
	if (terminal)
		must(!ioctl(fds[0], TIOCSCTTY, 0), "take", "the terminal");
	for (int i = 0; i < 3; i++)
		must(dup2(fds[i], i) >= 0, "descriptor", "of a command");
}

/*
 * A job of boltlab/up.py: the node's job, uid, gid, working directory, arguments, environment.
 * A node that had no program so far is made one.
 */
pid_t program_command(unsigned int id, int ns, char *words, size_t len, const int fds[3],
		      bool terminal)
{
	struct job job = split_job(words, len);
	const char *node_job = take(&job);
	uid_t uid = take_count(&job);
	gid_t gid = take_count(&job);
	const char *cwd = take(&job);
	char **argv = take_list(&job), **env = take_list(&job);
	pid_t pid;

	if (find_node(ns) < 0)
		program_node(ns, node_job);
	must(!mkdir(command_cgroup(id, ""), 0755), "control group", command_cgroup(id, ""));
	pid = clone_into(&nodes[find_node(ns)], "command", id);
	if (!pid) {
		take_files(fds, terminal);
		enter_node(&nodes[find_node(ns)], command_cgroup(id, "cgroup.procs"));
		if (chdir(cwd)) {
			fprintf(stderr, "%s has no %s: %s\n", net_ns_name(ns), cwd,
				strerror(errno));
			_exit(126);
		}
		prepare_program(uid, gid);
		exec_program(argv, env);
	}
	free(job.word);
	free(argv);
	free(env);
	return pid;
}

void program_command_kill(unsigned int id)
{
	write_file(command_cgroup(id, "cgroup.kill"), "1", false);
}

/* Where something that it started goes on, so does the group. */
void program_command_ended(unsigned int id)
{
	rmdir(command_cgroup(id, ""));
}

/* Whatever it started, too. */
void program_kill(int i)
{
	write_file(cgroup_file(i, "cgroup.kill"), "1", false);
}

static int processes_of(int i)
{
	FILE *f = fopen(cgroup_file(i, "cgroup.procs"), "re");
	char line[32];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

static bool wait_for_one(uint64_t until)
{
	struct pollfd *fds = xcalloc(nprograms, sizeof(*fds));
	uint64_t now = now_ns(), left = until > now ? until - now : 0;
	struct timespec ts = { left / NSEC_PER_SEC, left % NSEC_PER_SEC };
	int n = 0;

	for (int i = 0; i < nprograms; i++)
		if (running(&programs[i]))
			fds[n++] = (struct pollfd){ .fd = programs[i].pidfd, .events = POLLIN };
	if (n)
		n = ppoll(fds, n, &ts, NULL);
	free(fds);
	return n > 0;
}

/* Those that still run end with it; what outlived its program is counted. */
void program_end_all(void)
{
	uint64_t until = now_ns() + GRACE_NS;

	for (int i = 0; i < nprograms; i++) {
		struct program *p = &programs[i];

		if (p->end_ns)
			p->left = processes_of(i);
		if (!running(p))
			continue;
		if (p->ended_by == BY_ITSELF)
			p->ended_by = BY_RUN;
		kill(-p->pid, SIGTERM);
	}
	while (wait_for_one(until))
		for (int i = 0; i < nprograms; i++)
			program_ended(i);
	/* A node ends with its first process, which is gone when we have noted the end of ours */
	for (int i = 0; i < nnodes; i++)
		kill(nodes[i].pid, SIGKILL);
	for (int i = 0; i < nprograms; i++)
		reap(&programs[i], 0);
	for (int i = 0; i < nnodes; i++)
		waitpid(nodes[i].pid, NULL, 0);
}

void program_write(const char *path)
{
	static const char * const by[] = { "itself", "stop", "run" };
	FILE *out = fopen(path, "w");

	if (!out)
		die("%s: %s", path, strerror(errno));
	fprintf(out, "# program start_ns end_ns status signal ended_by processes_left cpu_ns");
	fprintf(out, "; - is none\n");
	for (int i = 0; i < nprograms; i++) {
		const struct program *p = &programs[i];

		fprintf(out, "%d", i);
		load_write_time(out, p->start_ns);
		load_write_time(out, p->end_ns);
		if (p->end_ns && WIFEXITED(p->status))
			fprintf(out, " %d -", WEXITSTATUS(p->status));
		else if (p->end_ns)
			fprintf(out, " - %d", WTERMSIG(p->status));
		else
			fprintf(out, " - -");
		fprintf(out, " %s %d", by[p->ended_by], p->left);
		if (p->cpu_fd < 0)
			fprintf(out, " -\n");
		else
			fprintf(out, " %llu\n", cpu_paid_ns(p));
	}
	if (fclose(out))
		die("%s: %s", path, strerror(errno));
}
