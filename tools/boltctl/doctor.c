// SPDX-License-Identifier: GPL-2.0
/*
 * boltctl doctor: is all there that Bolt needs?  What is missing is named with the command that
 * mends it.  Nothing is changed; counters of refused control messages move, see doctor_net.c.
 */

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boltctl.h"
#include "doctor.h"

struct entry {
	enum finding f;
	const char *check;
	char *text, *mend;
};

static struct {
	struct entry *e;
	unsigned int n;
	unsigned int count[D_MEND + 1];
} all;

static const char * const finding_names[] = { "ok", "note", "unknown", "mend" };

static char *vwords(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		exit(bc_error(BC_FAIL, "no memory"));
	return s;
}

char *words(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = vwords(fmt, ap);
	va_end(ap);
	return s;
}

void found(enum finding f, const char *check, const char *mend, const char *fmt, ...)
{
	struct entry *e = realloc(all.e, (all.n + 1) * sizeof(*e));
	va_list ap;

	if (!e)
		exit(bc_error(BC_FAIL, "no memory"));
	all.e = e;
	e += all.n++;
	e->f = f;
	e->check = check;
	e->mend = mend ? words("%s", mend) : NULL;
	va_start(ap, fmt);
	e->text = vwords(fmt, ap);
	va_end(ap);
	all.count[f]++;
}

int run_command(const char *command, char *out, size_t len)
{
	FILE *f = popen(command, "r");
	size_t n = 0, got;
	char rest[4096];
	int status;

	out[0] = '\0';
	if (!f)
		return 127;
	while (n < len - 1 && (got = fread(out + n, 1, len - 1 - n, f)) > 0)
		n += got;
	out[n] = '\0';
	while (fread(rest, 1, sizeof(rest), f) > 0)
		;
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

bool module_loaded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

static void print_json(void)
{
	unsigned int i;

	js_begin(NULL, '{');
	js_begin("checks", '[');
	for (i = 0; i < all.n; i++) {
		js_begin(NULL, '{');
		js_str("check", all.e[i].check);
		js_str("status", finding_names[all.e[i].f]);
		js_str("text", all.e[i].text);
		if (all.e[i].mend)
			js_str("mend", all.e[i].mend);
		js_end('}');
	}
	js_end(']');
	for (i = 0; i <= D_MEND; i++)
		js_u64(finding_names[i], all.count[i]);
	js_end('}');
}

static void print_text(void)
{
	unsigned int i;

	for (i = 0; i < all.n; i++) {
		printf("%-8s %-9s %s\n", finding_names[all.e[i].f], all.e[i].check, all.e[i].text);
		if (all.e[i].mend)
			printf("%18s %s\n", all.e[i].f == D_MEND ? "->" : "", all.e[i].mend);
	}
	if (all.count[D_MEND])
		printf("%u to mend\n", all.count[D_MEND]);
	else
		printf("nothing to mend\n");
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = { BC_LONG_COMMON };
	bool host = true, router = true;
	const char *path = getenv("PATH");
	int status;

	bc_getopt(argc, argv, "", longs, &status);
	if (status)
		return status;
	if (optind < argc && !strcmp(argv[optind], "host"))
		router = false;
	else if (optind < argc && !strcmp(argv[optind], "switch"))
		host = false;
	else if (optind < argc)
		return bc_error(BC_USAGE, "doctor: \"%s\" is neither host nor switch",
				argv[optind]);
	optind++;
	if (optind < argc)
		return bc_no_more(argc, argv);

	/* where tc, nft and modinfo are, which a user's PATH may leave out */
	setenv("PATH", words("%s:/usr/sbin:/sbin", path ? path : "/usr/bin:/bin"), 1);
	setenv("LC_ALL", "C", 1);

	doctor_kernel();
	doctor_modules(host, router);
	doctor_tc(router);
	if (host && module_loaded("tcp_bolt")) {
		doctor_sysctls();
		doctor_port();
		doctor_peers();
	}
	doctor_filter(host, router, control_port());
	if (module_loaded("sch_sfc"))
		doctor_devices();

	if (conf.json)
		print_json();
	else
		print_text();
	status = bc_flush();
	if (status)
		return status;
	if (all.count[D_MEND])
		return BC_FOUND;
	if (all.count[D_UNKNOWN])
		return bc_error(BC_PERM, "doctor: %u checks need root: sudo boltctl doctor",
				all.count[D_UNKNOWN]);
	return BC_OK;
}

const struct bc_cmd cmd_doctor = {
	.name = "doctor",
	.run = run,
	.what = "what is missing, and the command that mends it",
	.usage = "[host | switch]",
	.help =
"Looks at all that Bolt needs of this machine, or of this namespace: kernel, modules, Secure\n"
"Boot, tc's plugin; on a host the settings, the control port, filters, peers that run without\n"
"Bolt; on a switch each port with sfc.  A line each: ok, note (works, worth knowing), unknown\n"
"(root is needed), mend; below what is to be mended the command that does.\n"
"\n"
"  host        leave out what only a switch needs\n"
"  switch      leave out what only a host needs\n"
"\n"
"It sends datagrams of one byte to this machine's own control port, to see that they arrive:\n"
"each counts as CtlRx and CtlShort.  It changes nothing.\n"
"\n"
"Exit status: 0 nothing to mend, 5 something is, 3 nothing is, but some checks need root.\n"
"\n"
"Examples:\n"
"  sudo boltctl doctor\n"
"  sudo boltctl -n h1 doctor host\n"
"  sudo boltctl -j doctor | jq -r '.checks[] | select(.status == \"mend\") | .mend'\n",
};
