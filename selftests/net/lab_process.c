// SPDX-License-Identifier: GPL-2.0
/*
 * What the lab's kernel owes a process, where its patches 0012 to 0014 take a short cut: floating
 * point registers across system calls, page faults, signals, threads and fork(), and memory that is
 * copied, shared or refused.
 *
 * usage: lab_process registers|fork|refused|copied
 * Prints what is wrong; the exit status is 1 if anything is.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096
#define PAGES	16
#define THREADS	4
#define ROUNDS	300

static int wrong;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	printf("wrong: %s\n", what);
	fflush(stdout);
	__atomic_store_n(&wrong, 1, __ATOMIC_SEQ_CST);
}

static void *map(int prot, int flags, int fd, size_t len)
{
	void *p = mmap(NULL, len, prot, flags | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	if (p == MAP_FAILED) {
		perror("lab_process: mmap");
		_exit(2);
	}
	return p;
}

/* Three registers hold @v before the system call, and must hold it behind it */
static long call_with(uint64_t v, long nr, long a, long b, int *same)
{
	uint64_t first, middle, last;
	long ret;

	__asm__ volatile("movq %4, %%xmm0; movq %4, %%xmm7; movq %4, %%xmm15; syscall;"
			 "movq %%xmm0, %0; movq %%xmm7, %1; movq %%xmm15, %2"
			 : "=&r"(first), "=&r"(middle), "=&r"(last), "=a"(ret)
			 : "r"(v), "a"(nr), "D"(a), "S"(b)
			 : "rcx", "r11", "memory", "xmm0", "xmm7", "xmm15");
	*same = first == v && middle == v && last == v;
	return ret;
}

/* The same around a read, or a write, that faults */
static int touch_with(uint64_t v, volatile char *p, int write)
{
	uint64_t first, last;
	char c;

	if (write)
		__asm__ volatile("movq %2, %%xmm0; movq %2, %%xmm15; movb $1, (%3);"
				 "movq %%xmm0, %0; movq %%xmm15, %1"
				 : "=&r"(first), "=&r"(last) : "r"(v), "r"(p)
				 : "memory", "xmm0", "xmm15");
	else
		__asm__ volatile("movq %3, %%xmm0; movq %3, %%xmm15; movb (%4), %2;"
				 "movq %%xmm0, %0; movq %%xmm15, %1"
				 : "=&r"(first), "=&r"(last), "=&q"(c) : "r"(v), "r"(p)
				 : "memory", "xmm0", "xmm15");
	return first == v && last == v;
}

static void clear_registers(int sig)
{
	(void)sig;
	__asm__ volatile("pxor %%xmm0, %%xmm0; pxor %%xmm7, %%xmm7; pxor %%xmm15, %%xmm15"
			 : : : "xmm0", "xmm7", "xmm15");
}

#define LEFT	0x5e7b61d3c0ffee00ULL

static void set_register(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)si;
	memcpy(uc->uc_mcontext.fpregs->_xmm, &(uint64_t){ LEFT }, sizeof(uint64_t));
}

/* What a handler writes into the frame is what the program goes on with */
static void return_with_register(void)
{
	struct sigaction sa = { .sa_sigaction = set_register, .sa_flags = SA_SIGINFO };
	uint64_t v = 0;
	long ret;

	sigaction(SIGUSR2, &sa, NULL);
	__asm__ volatile("movq %0, %%xmm0; syscall; movq %%xmm0, %0"
			 : "+&r"(v), "=a"(ret)
			 : "a"((long)SYS_tkill), "D"((long)gettid()), "S"((long)SIGUSR2)
			 : "rcx", "r11", "memory", "xmm0");
	check(v == LEFT, "a register that a signal handler left in its frame");
}

static void *keep_registers(void *arg)
{
	uint64_t v = (uint64_t)(uintptr_t)arg << 32;
	int i, k, same;

	for (i = 0; i < ROUNDS; i++, v++) {
		call_with(v, SYS_sched_yield, 0, 0, &same);
		check(same, "registers after sched_yield(), with threads");
		if (i % 10 == 0) {
			char *p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, -1, PAGES * PAGE);

			for (k = 0; k < PAGES; k++)
				check(touch_with(v, p + k * PAGE, k & 1), "registers after a fault");
			munmap(p, PAGES * PAGE);
		}
		if (i % 50 == 0) {
			call_with(v, SYS_tkill, gettid(), SIGUSR1, &same);
			check(same, "registers after a signal handler that changes them");
		}
	}
	return NULL;
}

static void registers(void)
{
	pthread_t threads[THREADS];
	long i;

	return_with_register();
	signal(SIGUSR1, clear_registers);
	for (i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, keep_registers, (void *)(i + 1)), "thread");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static int status_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

static void fork_keeps(void)
{
	uint64_t v;
	long pid;
	int same;

	for (v = 0x123456789aULL; v < 0x123456789aULL + 20; v++) {
		pid = call_with(v, SYS_fork, 0, 0, &same);
		if (!pid)
			_exit(!same);
		check(same, "registers of the parent after fork()");
		check(!status_of(pid), "registers of the child after fork()");
	}
}

/* volatile: the handler must see it before the access that calls it */
static char *volatile guarded;
static volatile sig_atomic_t faults, fault_code;

static void grant(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	if (si->si_addr != guarded)
		_exit(3);
	faults++;
	fault_code = si->si_code;
	mprotect(guarded, PAGE, PROT_READ | PROT_WRITE);
}

static void expect_refused(int nth, const char *what)
{
	check(faults == nth && fault_code == SEGV_ACCERR, what);
}

static void refused(void)
{
	struct sigaction sa = { .sa_sigaction = grant, .sa_flags = SA_SIGINFO };
	volatile char *p;

	sigaction(SIGSEGV, &sa, NULL);
	guarded = map(PROT_READ, MAP_PRIVATE, -1, PAGE);
	p = guarded;
	*p = 1;
	expect_refused(1, "write to memory that is read-only and was never touched");
	check(*p == 1, "value after that");
	mprotect(guarded, PAGE, PROT_READ);
	(void)*p;
	*p = 2;
	expect_refused(2, "write to memory that is read-only and was read");
	mprotect(guarded, PAGE, PROT_NONE);
	(void)*p;
	expect_refused(3, "read of memory without permissions");
	check(*p == 2, "value at the end");
}

static void copied(void)
{
	volatile char *own = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, -1, 2 * PAGE);
	volatile char *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED, -1, 2 * PAGE);
	int fd = memfd_create("file", 0), go[2];
	volatile char *file;
	char buf[2 * PAGE];
	pid_t pid;

	own[0] = 7;
	check(!pipe(go), "pipe");
	pid = fork();
	if (!pid)
		_exit(read(go[0], buf, 1) != 1 || own[0] != 7 || own[PAGE] != 0);
	own[0] = 8;
	own[PAGE] = 9;
	check(write(go[1], "x", 1) == 1, "pipe");
	check(!status_of(pid), "a child sees what its parent wrote after fork()");

	(void)shared[0];
	pid = fork();
	if (!pid) {
		shared[0] = 5;
		shared[PAGE] = 6;
		_exit(0);
	}
	check(!status_of(pid) && shared[0] == 5 && shared[PAGE] == 6, "shared memory");

	memset(buf, 'a', sizeof(buf));
	check(write(fd, buf, sizeof(buf)) == sizeof(buf), "file");
	file = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 2 * PAGE);
	check(file[0] == 'a', "private map of a file, read");
	buf[0] = 'c';
	check(pwrite(fd, buf, 1, 0) == 1 && file[0] == 'c', "private map of a file that changes");
	file[PAGE] = 'b';
	check(file[PAGE] == 'b' && file[PAGE + 1] == 'a', "private map of a file, written");
	check(pread(fd, buf, sizeof(buf), 0) == sizeof(buf) && buf[0] == 'c' && buf[PAGE] == 'a',
	      "the file itself");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "registers", registers }, { "fork", fork_keeps },
		{ "refused", refused }, { "copied", copied },
	};
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(tests) / sizeof(*tests); i++) {
		if (strcmp(argv[1], tests[i].name))
			continue;
		tests[i].run();
		return wrong;
	}
	fprintf(stderr, "usage: lab_process registers|fork|refused|copied\n");
	return 2;
}
