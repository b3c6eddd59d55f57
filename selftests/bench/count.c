// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU: how many instructions were executed at each address of the kernel.
 *
 *	qemu-system-x86_64 -plugin count.so,out=FILE ...
 *
 * At the end FILE has lines "ADDRESS INSTRUCTIONS", one for each block of code: of the whole
 * run, or of what lies between the last two marks.  A program marks with an instruction that
 * does nothing, MARK.  The few functions of QEMU's plugin interface (version 1) that it needs
 * are declared here: Debian ships no header.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT	__attribute__((visibility("default")))
#define KERNEL	0xffff800000000000ULL
#define SLOTS	(1U << 20)
#define MARK	"\x48\x87\xdb"		/* xchg %rbx, %rbx */

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
enum { ADD_U64 };
enum { NO_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t id,
						      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *ptr,
					      uint64_t imm);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t id, void *arg),
				    void *arg);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *arg), int regs,
					    void *arg);

EXPORT int qemu_plugin_version = 1;

static struct {
	uint64_t addr, count, begin, end;
} slots[SLOTS];
static unsigned int marks;
static const char *out;

static void marked(unsigned int cpu, void *arg)
{
	(void)cpu;
	(void)arg;
	marks++;
	for (uint32_t i = 0; i < SLOTS; i++) {
		slots[i].begin = slots[i].end;
		slots[i].end = slots[i].count;
	}
}

static void look_for_marks(struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (qemu_plugin_insn_size(insn) == sizeof(MARK) - 1 &&
		    !memcmp(qemu_plugin_insn_data(insn), MARK, sizeof(MARK) - 1))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marked, NO_REGS, NULL);
	}
}

/* Open addressing: a block that is translated again counts on */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	uint32_t i = (addr * 0x9e3779b97f4a7c15ULL) >> 44;

	(void)id;
	if (addr < KERNEL) {
		look_for_marks(tb);
		return;
	}
	while (slots[i].addr && slots[i].addr != addr)
		i = (i + 1) % SLOTS;
	slots[i].addr = addr;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &slots[i].count,
						 qemu_plugin_tb_n_insns(tb));
}

static void ended(qemu_plugin_id_t id, void *arg)
{
	FILE *f = fopen(out, "w");

	(void)id;
	(void)arg;
	if (!f)
		return;
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint64_t n = marks < 2 ? slots[i].count : slots[i].end - slots[i].begin;

		if (n)
			fprintf(f, "%" PRIx64 " %" PRIu64 "\n", slots[i].addr, n);
	}
	fclose(f);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	if (!out)
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
