// SPDX-License-Identifier: GPL-2.0
/*
 * Packets through a router of 1, 2, ... CPUs that forward at once.
 *
 *	bolt_router IN OUT CPUS 3<>PORT
 *
 * CPU 2, 4, ... receive on IN what a driver would hand them: TCP with Bolt's option to
 * 198.51.100.1, from 256 flows of each CPU's own, in batches of 64 (live frames of
 * BPF_PROG_TEST_RUN).  What leaves by OUT is counted.
 *
 * CPUs take turns of equally many instructions, by the monitor on PORT (tools/lab/qemu/run
 * --turns).  CPU 0 does nothing but execute its own: they are the time that the others had, at work
 * or waiting.  No clock says it, since one that waits for a lock (PAUSE) gives up what is left of
 * its turn.  CPU 1, 3, ... are idle: in QEMU 7.2 the CPU behind one whose turn has ended gets none.
 *
 * Prints a line for each number of CPUs: that, packets, instructions of each, how many packets the
 * CPU received that received least, and most.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

#define FRAME		1514
#define HEAD		(14 + 20 + 20 + BOLT_TCPOPT_LEN)
#define WARM		512U		/* packets of each CPU */
#define TIME		8000000U	/* instructions of each */
#define MONITOR		3
#define OFTEN		"1"		/* us: a turn, of 250 instructions */
#define SELDOM		"50"
#define CPUS_MAX	16

static struct {
	pid_t pid;
	int map;
	volatile uint64_t *received;
} worker[CPUS_MAX];

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %u", cpu);
}

#define OP(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define STORE(size, o, i) OP(BPF_ST | BPF_MEM | (size), 2, 0, o, i)

/* Pages come back as the router left them: address, TTL, sum and flags again, and the next flow */
static int load(const unsigned char *f, int map)
{
	static char log[4096];
	uint32_t mac;
	uint16_t mac_end, check;
	struct bpf_insn prog[] = {
		OP(BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct xdp_md, data), 0),
		OP(BPF_LDX | BPF_MEM | BPF_W, 3, 1, offsetof(struct xdp_md, data_end), 0),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_DROP),
		OP(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0),
		OP(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, HEAD),
		OP(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 12, 0),
		OP(BPF_LD | BPF_IMM | BPF_DW, 5, BPF_PSEUDO_MAP_VALUE, 0, map),
		OP(0, 0, 0, 0, 0),
		OP(BPF_LDX | BPF_MEM | BPF_DW, 0, 5, 0, 0),
		OP(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 1),
		OP(BPF_STX | BPF_MEM | BPF_DW, 5, 0, 0, 0),
		OP(BPF_STX | BPF_MEM | BPF_B, 2, 0, 35, 0),
		STORE(BPF_W, 0, 0),
		STORE(BPF_H, 4, 0),
		STORE(BPF_B, 22, 64),
		STORE(BPF_H, 24, 0),
		STORE(BPF_B, 54 + BOLT_TCPOPT_OFF_FLAGS, BOLT_F_DATA | BOLT_F_INC),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS),
		OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insns = (uintptr_t)prog,
		.insn_cnt = sizeof(prog) / sizeof(*prog),
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd;

	memcpy(&mac, f, 4);
	memcpy(&mac_end, f + 4, 2);
	memcpy(&check, f + 24, 2);
	prog[12].imm = mac;
	prog[13].imm = mac_end;
	prog[15].imm = check;
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		err(1, "BPF program: %s", log);
	return fd;
}

/* What a CPU does until it is killed */
static void forward(unsigned int in, const unsigned char *mac, unsigned int i)
{
	static unsigned char frame[FRAME];
	struct xdp_md md = { .data_end = FRAME, .ingress_ifindex = in };
	union bpf_attr attr = {
		.test = {
			.data_in = (uintptr_t)frame,
			.data_size_in = FRAME,
			.ctx_in = (uintptr_t)&md,
			.ctx_size_in = sizeof(md),
			.flags = BPF_F_TEST_XDP_LIVE_FRAMES,
			.repeat = ~0U,
		},
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(2 + 2 * i);
	frame_make(frame, mac, FRAME, true, BOLT_F_DATA | BOLT_F_INC);
	frame_from(frame, (unsigned int)i << 16);
	attr.test.prog_fd = load(frame, worker[i].map);
	bpf(BPF_PROG_TEST_RUN, &attr);
	err(1, "BPF_PROG_TEST_RUN");
}

static void start(unsigned int in, const unsigned char *mac, unsigned int i)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 8,
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};

	worker[i].map = bpf(BPF_MAP_CREATE, &attr);
	if (worker[i].map < 0)
		err(1, "BPF map");
	worker[i].received = mmap(NULL, 8, PROT_READ, MAP_SHARED, worker[i].map, 0);
	if (worker[i].received == MAP_FAILED)
		err(1, "BPF map");
	worker[i].pid = fork();
	if (worker[i].pid < 0)
		err(1, "fork");
	if (!worker[i].pid)
		forward(in, mac, i);
}

static void stop(unsigned int i)
{
	kill(worker[i].pid, SIGKILL);
	waitpid(worker[i].pid, NULL, 0);
	munmap((void *)worker[i].received, 8);
	close(worker[i].map);
}

/* ... and it is done when the monitor prompts again */
static void monitor(const char *what)
{
	char c;

	if (write(MONITOR, what, strlen(what)) != (ssize_t)strlen(what))
		err(1, "monitor");
	do {
		if (read(MONITOR, &c, 1) != 1)
			err(1, "monitor");
	} while (c != ')');
}

static uint64_t sent(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 1)
		err(1, "tx_packets");
	text[n] = 0;
	return strtoull(text, NULL, 10);
}

static void spend(unsigned int instructions)
{
	instructions /= 2;
	asm volatile("1: dec %0; jnz 1b" : "+r" (instructions) : : "cc");
}

static void measure(unsigned int cpus, int out)
{
	struct timespec moment = { 0, 1000000 };
	uint64_t before[CPUS_MAX], packets, least = ~0ULL, most = 0;

	for (unsigned int i = 0; i < cpus; i++)
		while (*worker[i].received < WARM)
			nanosleep(&moment, NULL);
	monitor("qom-set /objects/turns interval " OFTEN "\n");
	for (unsigned int i = 0; i < cpus; i++)
		before[i] = *worker[i].received;
	packets = sent(out);
	spend(TIME);
	packets = sent(out) - packets;
	for (unsigned int i = 0; i < cpus; i++) {
		uint64_t n = *worker[i].received - before[i];

		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	monitor("qom-set /objects/turns interval " SELDOM "\n");
	printf("%u %lu %u %lu %lu\n", cpus, packets, TIME, least, most);
}

static void address(const char *dev, unsigned char *mac)
{
	struct ifreq r = { };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(r.ifr_name, dev, IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &r))
		err(1, "%s", dev);
	memcpy(mac, r.ifr_hwaddr.sa_data, 6);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned int cpus = argc == 4 ? atoi(argv[3]) : 0;
	unsigned char mac[6];
	char path[128];
	int out;

	if (!cpus || cpus > CPUS_MAX)
		errx(1, "IN OUT CPUS?");
	address(argv[1], mac);
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/tx_packets", argv[2]);
	out = open(path, O_RDONLY | O_CLOEXEC);
	if (out < 0)
		err(1, "%s", path);
	pin(0);
	setlinebuf(stdout);
	monitor("object_add filter-buffer,id=turns,netdev=turns,interval=" SELDOM "\n");
	for (unsigned int n = 1; n <= cpus; n++) {
		for (unsigned int i = 0; i < n; i++)
			start(if_nametoindex(argv[1]), mac, i);
		measure(n, out);
		for (unsigned int i = 0; i < n; i++)
			stop(i);
	}
	monitor("object_del turns\n");
	return 0;
}
