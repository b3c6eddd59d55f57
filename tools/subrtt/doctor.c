// SPDX-License-Identifier: GPL-2.0
/*
 * subrtt doctor: is all there that Bolt needs?  What is missing is named with the command that
 * fixes it.  Nothing is changed; counters of refused control messages move, see doctor_net.c.
 */

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "subrtt.h"
#include "doctor.h"

struct entry {
	enum finding f;
	const char *check;
	char *text, *fix;
};

static struct {
	struct entry *e;
	unsigned int n, room;
	unsigned int count[D_FIX + 1];
} all;

static const char * const finding_names[] = { "ok", "note", "unknown", "fix" };

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

void found(enum finding f, const char *check, const char *fix, const char *fmt, ...)
{
	struct entry *e = bc_more(&all.e, &all.n, &all.room, sizeof(*e));
	va_list ap;

	if (!e)
		exit(bc_error(BC_FAIL, "no memory"));
	e->f = f;
	e->check = check;
	e->fix = fix ? words("%s", fix) : NULL;
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

char *with(const char *program, const char *package, const char *command)
{
	char out[8];

	if (!run_command(words("command -v %s 2>&1", program), out, sizeof(out)))
		return words("%s", command);
	return words("sudo apt-get install %s && %s", package, command);
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
		if (all.e[i].fix)
			js_str("fix", all.e[i].fix);
		js_end('}');
	}
	js_end(']');
	for (i = 0; i <= D_FIX; i++)
		js_u64(finding_names[i], all.count[i]);
	js_end('}');
}

static void print_text(void)
{
	unsigned int i;

	for (i = 0; i < all.n; i++) {
		printf("%-8s %-9s %s\n", finding_names[all.e[i].f], all.e[i].check,
		       tx_plain(all.e[i].text));
		if (all.e[i].fix)
			printf("%18s %s\n", all.e[i].f == D_FIX ? "->" : "",
			       tx_plain(all.e[i].fix));
	}
	if (all.count[D_FIX])
		printf("%u to fix\n", all.count[D_FIX]);
	else
		printf("nothing to fix\n");
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = { BC_LONG_COMMON };
	bool host = true, router = true, some_only;
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
		doctor_speeds();
	}
	/* what it says of the filter decides what it means that a probe is lost */
	some_only = doctor_filter(host, router, control_port());
	if (host && module_loaded("tcp_bolt")) {
		doctor_port(some_only);
		doctor_refused();
		doctor_peers();
	}
	if (module_loaded("sch_sfc"))
		doctor_devices();

	if (conf.json)
		print_json();
	else
		print_text();
	status = bc_flush();
	if (status)
		return status;
	if (all.count[D_FIX])
		return BC_FOUND;
	if (all.count[D_UNKNOWN])
		return bc_error(BC_PERM, "doctor: %u checks need root: sudo subrtt doctor",
				all.count[D_UNKNOWN]);
	return BC_OK;
}

const struct bc_cmd cmd_doctor = {
	.name = "doctor",
	.run = run,
	.what = "diagnose the setup; each problem comes with a fix",
	.usage = "[host | switch]",
	.help =
"Checks everything that Bolt needs on this machine or in this namespace: kernel, modules, Secure\n"
"Boot, tc's plugin; on a host also the settings, the speed at which departures are spaced and the\n"
"device it belongs to, the control port, packet filters, refused messages, and peers without Bolt;\n"
"on a switch each port with sfc.  Each check prints one line: ok, note (works, but worth knowing),\n"
"unknown (root is needed) or fix, which is followed by a command that fixes it.  With -n, run that\n"
"command in the namespace.\n"
"\n"
"  host        skip what only a switch needs\n"
"  switch      skip what only a host needs\n"
"\n"
"doctor sends datagrams of one byte to this machine's own control port to see that they arrive;\n"
"each counts as CtlRx and CtlShort.  It changes nothing.\n"
"\n"
"Exit status: 0 nothing to fix, 5 something to fix, 3 nothing to fix, but some checks need root.\n"
"\n"
"Examples:\n"
"  sudo subrtt doctor\n"
"  sudo subrtt -n h1 doctor host\n"
"  sudo subrtt -j doctor | jq -r '.checks[] | select(.status == \"fix\") | .fix'\n",
};
