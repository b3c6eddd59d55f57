// SPDX-License-Identifier: GPL-2.0
/*
 * A secret key while it is replaced, and what is left of it in memory: for smp_key.sh and
 * smp_wiped.sh.
 *
 *	bolt_key replace FILE KEY[/KEY] ADDR PORT MESSAGE[/MESSAGE] SECONDS
 *		one CPU writes KEY to FILE again and again, and another the other one, while a
 *		thread sends the messages (hex) to the control port in turn; prints "done
 *		written=N sent=N", of the writer that wrote less
 *	bolt_key wiped KEY COMMAND...
 *		finds KEY in the kernel's memory (/proc/kcore), runs COMMAND and looks at those
 *		places until the key has gone from there; prints "found=N left=N": in so many of
 *		them its first half was there when the second had gone, or all ten seconds later
 *
 * It looks for the first half, as the allocator writes its list of free objects into the middle of
 * freed memory.  The key is never in this program's own memory in one piece, or it would be found
 * there.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define KEY_LEN		16
#define MASK		0x5bd1e9955bd1e995ULL	/* any */
#define PIECE		(1 << 20)
#define PLACES		64
#define PATIENCE_NS	10000000000ULL

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		errx(1, "CPU %d: %s", cpu, strerror(errno));
}

/* --- replace --- */

struct writer {
	pthread_t thread;
	char *text;
	unsigned long written;
	int cpu;
};

static const char *file;
static atomic_bool stop;

static void *write_key(void *arg)
{
	int fd = open(file, O_WRONLY);
	struct writer *w = arg;
	size_t len = strlen(w->text);

	stay_on(w->cpu);
	while (!stop) {
		if (fd < 0 || pwrite(fd, w->text, len, 0) != (ssize_t)len)
			errx(1, "%s: %s", file, strerror(errno));
		w->written++;
	}
	close(fd);
	return NULL;
}

static void replace(char *keys, const char *addr, int port, char *messages, int seconds)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct writer writers[2] = { { .cpu = 1 }, { .cpu = 0 } };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), n = 0, i;
	uint64_t end = now_ns() + seconds * 1000000000ULL;
	unsigned long sent = 0, written = -1UL;
	size_t len[2], turn = 0, m = 0;
	uint8_t message[2][512];
	char *hex;

	if (fd < 0 || inet_pton(AF_INET, addr, &to.sin_addr) != 1)
		errx(1, "no such address");
	for (hex = strtok(messages, "/"); hex && m < 2; hex = strtok(NULL, "/"), m++) {
		len[m] = strlen(hex) / 2;
		if (len[m] > sizeof(message[m]))
			errx(1, "too long a message");
		for (size_t at = 0; at < len[m]; at++)
			sscanf(hex + 2 * at, "%2hhx", &message[m][at]);
	}
	for (hex = strtok(keys, "/"); hex && n < 2; hex = strtok(NULL, "/"))
		writers[n++].text = hex;
	for (i = 0; i < n; i++)
		if (pthread_create(&writers[i].thread, NULL, write_key, &writers[i]))
			errx(1, "thread: %s", strerror(errno));
	if (n == 1)
		stay_on(0);
	while (now_ns() < end) {
		turn = (turn + 1) % m;
		if (sendto(fd, message[turn], len[turn], 0, (void *)&to, sizeof(to)) < 0)
			errx(1, "send: %s", strerror(errno));
		sent++;
	}
	stop = true;
	for (i = 0; i < n; i++) {
		pthread_join(writers[i].thread, NULL);
		if (writers[i].written < written)
			written = writers[i].written;
	}
	printf("done written=%lu sent=%lu\n", written, sent);
}

/* --- wiped --- */

static int core;
static uint64_t masked[2];		/* the key's halves */
static uint64_t places[PLACES];
static int found;

/* Is that half of the key there? */
static bool is_at(uint64_t offset, int half)
{
	volatile uint64_t word = 0;
	bool is = pread(core, (void *)&word, sizeof(word), offset + 8 * half) == sizeof(word) &&
		  (word ^ MASK) == masked[half];

	word = 0;
	return is;
}

static void look_through(uint64_t offset, uint64_t size)
{
	static uint64_t piece[PIECE / 8];
	uint64_t at;
	ssize_t got, i;

	for (at = 0; at < size; at += PIECE) {
		got = pread(core, piece, size - at < PIECE ? size - at : PIECE, offset + at);
		for (i = 0; i < got / 8 - 1; i++) {
			if ((piece[i] ^ MASK) != masked[0] || (piece[i + 1] ^ MASK) != masked[1])
				continue;
			if (found == PLACES)
				errx(1, "the key is everywhere");
			places[found++] = offset + at + 8 * i;
		}
	}
	memset(piece, 0, sizeof(piece));
}

/* The memory that the kernel has mapped as a whole; each place once more, as this is memory too */
static void find(void)
{
	int i, n = 0;
	Elf64_Phdr ph;
	Elf64_Ehdr eh;

	core = open("/proc/kcore", O_RDONLY);
	if (core < 0 || pread(core, &eh, sizeof(eh), 0) != sizeof(eh))
		errx(1, "/proc/kcore: %s", strerror(errno));
	for (i = 0; i < eh.e_phnum; i++) {
		if (pread(core, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) != sizeof(ph))
			errx(1, "/proc/kcore: %s", strerror(errno));
		/* neither what is mapped elsewhere nor the kernel's image */
		if (ph.p_type == PT_LOAD && ph.p_paddr != -1ULL && ph.p_vaddr < -(2ULL << 30))
			look_through(ph.p_offset, ph.p_filesz);
	}
	for (i = 0; i < found; i++)
		if (is_at(places[i], 0) && is_at(places[i], 1))
			places[n++] = places[i];
	found = n;
}

static void wiped(const char *hex, char **command)
{
	bool there[PLACES], more = true;
	int left = 0, i, status;
	uint64_t end;
	uint8_t byte;
	pid_t pid;

	if (strlen(hex) != 2 * KEY_LEN)
		errx(1, "no key");
	for (i = 0; i < KEY_LEN; i++) {
		sscanf(hex + 2 * i, "%2hhx", &byte);
		masked[i / 8] |= (uint64_t)(byte ^ (uint8_t)(MASK >> 8 * (i % 8))) << 8 * (i % 8);
	}
	find();
	for (i = 0; i < found; i++)
		there[i] = true;
	pid = fork();
	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	for (end = now_ns() + PATIENCE_NS; more && now_ns() < end;) {
		for (more = false, i = 0; i < found; i++) {
			if (!there[i])
				continue;
			there[i] = is_at(places[i], 1);
			more |= there[i];
			/* what is wiped is wiped from its beginning */
			left += !there[i] && is_at(places[i], 0);
		}
	}
	for (i = 0; i < found; i++)
		left += there[i];
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "%s failed", command[0]);
	printf("found=%d left=%d\n", found, left);
}

int main(int argc, char **argv)
{
	if (argc == 8 && !strcmp(argv[1], "replace")) {
		file = argv[2];
		replace(argv[3], argv[4], atoi(argv[5]), argv[6], atoi(argv[7]));
	} else if (argc > 3 && !strcmp(argv[1], "wiped")) {
		wiped(argv[2], argv + 3);
	} else {
		errx(1, "replace or wiped?");
	}
	return 0;
}
