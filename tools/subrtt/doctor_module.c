// SPDX-License-Identifier: GPL-2.0
/* What doctor finds of kernel, modules, their signatures, and tc. */

#include <dirent.h>
#include <errno.h>
#include <linux/bolt_netlink.h>
#include <linux/netlink.h>
#include <netlink/socket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "subrtt.h"
#include "doctor.h"
#include "qdisc.h"

/* as include/bolt_compat.h and dkms.conf have it */
#define KERNELS		"6.1 to 7.3"
#define DKMS_MODULE	"subrtt/" SUBRTT_VERSION
#define DKMS_KEY	"/var/lib/dkms/mok.pub"
/* No archive has our packages */
#define IN_SOURCES	"   # in the source tree"

static struct utsname host;

void doctor_kernel(void)
{
	unsigned int major = 0, minor = 0;

	uname(&host);
	sscanf(host.release, "%u.%u", &major, &minor);
	if ((major == 6 && minor >= 1) || (major == 7 && minor <= 3))
		found(D_OK, "kernel", NULL, "Linux %s (" KERNELS " are supported)", host.release);
	else
		/* a boot loader prefers the newest */
		found(D_FIX, "kernel",
		      "sudo apt-get install linux-image-$(dpkg --print-architecture) && sudo reboot",
		      "Linux %s is not supported: " KERNELS " are", host.release);
}

/* --- Secure Boot --- */

/* Why the kernel loads signed modules only, or NULL when it loads any */
static const char *enforced(void)
{
	char s[128];

	bc_read_file("/sys/kernel/security/lockdown", s, sizeof(s));
	if (strstr(s, "[integrity]") || strstr(s, "[confidentiality]"))
		return "kernel lockdown is on";
	bc_read_file("/sys/module/module/parameters/sig_enforce", s, sizeof(s));
	if (s[0] == 'Y')
		return "module.sig_enforce is on";
	return NULL;
}

/* UEFI's variable: four bytes of attributes, then the value.  -1: there is no UEFI */
static int secure_boot(void)
{
	static const char * const path =
		"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
	FILE *f = fopen(path, "r");
	unsigned char v[5];
	int on = -1;

	if (!f)
		return -1;
	if (fread(v, 1, sizeof(v), f) == sizeof(v))
		on = v[4] == 1;
	fclose(f);
	return on;
}

/* What the kernel said when it would not load one of ours for its signature */
static bool refused_before(void)
{
	static const char * const said[] = {
		"module with unavailable key is rejected", "unsigned module is rejected",
		"unsigned module loading is restricted",
	};
	char *log = malloc(1 << 20);
	unsigned int i;
	bool yes = false;
	int n;

	if (!log)
		return false;
	n = klogctl(3, log, (1 << 20) - 1);	/* SYSLOG_ACTION_READ_ALL */
	if (n > 0) {
		log[n] = '\0';
		for (i = 0; i < sizeof(said) / sizeof(said[0]); i++)
			yes |= !!strstr(log, said[i]);
	}
	free(log);
	return yes;
}

/*
 * dkms signs when it builds, if openssl is there; "install" alone installs what it has built.
 * "make install" does not sign.
 */
static char *sign(void)
{
	if (!access("/var/lib/dkms/" DKMS_MODULE, F_OK))
		return with("openssl", "openssl", "sudo dkms build --force " DKMS_MODULE
			    " && sudo dkms install --force " DKMS_MODULE);
	return with("openssl", "openssl", with("dkms", "dkms", words("sudo rm -f %s && %s",
		    "$(/sbin/modinfo -n bolt_ctl tcp_bolt sch_sfc)", "sudo dkms install .")));
}

/* The module is installed, not loaded, and signatures count */
static void doctor_signature(const char *name, const char *why)
{
	const char *enroll = with("mokutil", "mokutil",
				  "sudo mokutil --import " DKMS_KEY " && sudo reboot");
	char out[256];
	bool is_signed;

	is_signed = !run_command(words("modinfo -F sig_id %s 2>/dev/null", name), out,
				 sizeof(out)) && strspn(out, "\n") != strlen(out);
	if (!is_signed)
		found(D_FIX, "signing",
		      words("%s && %s%s", sign(), enroll,
			    access("/var/lib/dkms/" DKMS_MODULE, F_OK) ? IN_SOURCES : ""),
		      "%s: %s is not signed and will not be loaded%s", why, name,
		      secure_boot() == 1 ? " (Secure Boot)" : "");
	else if (refused_before())
		found(D_FIX, "signing", enroll,
		      "%s: the kernel log says that it refused a module; %s's key is not enrolled%s",
		      why, name, secure_boot() == 1 ? " (Secure Boot)" : "");
	else
		found(D_NOTE, "signing", enroll,
		      "%s: %s is signed; if loading fails with \"Key was rejected\", its key must be enrolled",
		      why, name);
}

/* --- modules --- */

/* Whether depmod knows the module for the kernel @release */
static bool installed_for(const char *release, const char *name)
{
	char path[512], line[4096], want[64];
	bool yes = false;
	FILE *f;

	snprintf(path, sizeof(path), "/lib/modules/%.200s/modules.dep", release);
	snprintf(want, sizeof(want), "/%s.ko", name);
	f = fopen(path, "r");
	if (!f)
		return false;
	while (!yes && fgets(line, sizeof(line), f)) {
		line[strcspn(line, ":")] = '\0';
		yes = !!strstr(line, want);
	}
	fclose(f);
	return yes;
}

/* Another kernel that has it, or NULL */
static char *other_kernel(const char *name)
{
	struct dirent *e;
	DIR *d = opendir("/lib/modules");
	char *which = NULL;

	while (d && !which && (e = readdir(d)))
		if (e->d_name[0] != '.' && installed_for(e->d_name, name))
			which = words("%s", e->d_name);
	if (d)
		closedir(d);
	return which;
}

/* The modules for this kernel: dkms has the sources, or the source tree has them */
static char *how_to_install(bool dkms)
{
	const char *headers = words("linux-headers-%s ", host.release);

	if (!access(words("/lib/modules/%s/build/Makefile", host.release), F_OK))
		headers = "";
	else if (!dkms && !strstr(host.version, "Debian"))
		return words("make KDIR=DIR && sudo make KDIR=DIR install" IN_SOURCES
			     "; DIR is where Linux %s was built", host.release);
	if (dkms && *headers)
		return words("sudo apt-get install %s&& sudo dkms autoinstall -k %s", headers,
			     host.release);
	if (dkms)
		return words("sudo dkms autoinstall -k %s", host.release);
	return words("make packages && sudo apt-get install %s./build/packages/subrtt-dkms_*.deb"
		     IN_SOURCES, headers);
}

/* After an upgrade the old module stays until somebody unloads it. */
static bool speaks_our_netlink(void)
{
	int status, family;
	struct nl_sock *sk = bc_nl_open(NETLINK_GENERIC, &status);

	if (!sk)
		return true;
	family = bc_nl_family(sk, BOLT_FAMILY_NAME, BOLT_FAMILY_VERSION, "tcp_bolt", true);
	nl_socket_free(sk);
	return family >= 0;
}

/*
 * What new sockets or devices take by default holds its module: another stands in for it.  Behind
 * that comes @first, which ends with "; " or is empty; @names are modprobe's.  A module that is
 * loaded anew has defaults.
 */
char *replace_module(const char *names, const char *first)
{
	static const struct {
		const char *module, *sysctl, *other;
	} takes[] = {
		{ "tcp_bolt", "net/ipv4/tcp_congestion_control", "reno" },
		{ "sch_sfc", "net/core/default_qdisc", "pfifo_fast" },
	};
	const char *before = "", *after = strstr(names, "tcp_bolt") ?
					  "; sudo sysctl --pattern '^net.bolt' --system" : "";
	unsigned int i;
	char now[64];

	for (i = 0; i < sizeof(takes) / sizeof(takes[0]); i++) {
		bc_read_file(words("/proc/sys/%s", takes[i].sysctl), now, sizeof(now));
		if (!strstr(names, takes[i].module) ||
		    (strcmp(now, "bolt") && strcmp(now, "swift") && strncmp(now, "sfc", 3)))
			continue;
		before = words("%ssudo sysctl -w %s=%s; ", before, takes[i].sysctl, takes[i].other);
		after = words("%s; sudo sysctl -w %s=%s", after, takes[i].sysctl, now);
	}
	return words("%s%ssudo modprobe -r %s; sudo modprobe %s%s", before, first, names, names,
		     after);
}

/* Its sources are not those of the installed one; srcversion is of those in its own directory. */
static bool differs(const char *name)
{
	static const char * const fields[] = { "version", "srcversion" };
	char loaded[64], installed[64];
	unsigned int i;

	for (i = 0; i < 2 && module_loaded(name); i++) {
		if (run_command(words("modinfo -F %s %s 2>/dev/null", fields[i], name), installed,
				sizeof(installed)))
			continue;
		installed[strcspn(installed, "\n")] = '\0';
		bc_read_file(words("/sys/module/%s/%s", name, fields[i]), loaded, sizeof(loaded));
		if (installed[0] && strcmp(loaded, installed))
			return true;
	}
	return false;
}

/* One that the kernel made, by net.core.default_qdisc, has no handle to delete it by. */
char *without_qdiscs(const char *first, const char *dev)
{
	char *del = words("sudo tc qdisc replace dev %s root pfifo_fast; sudo tc qdisc del dev %s root; ",
			  dev, dev);

	return words("%s%s", first, strstr(first, del) ? "" : del);
}

static void add_port(const struct qdisc_port *p, void *first)
{
	*(char **)first = without_qdiscs(*(char **)first, p->dev);
}

static void add_hold(const struct qdisc_hold *h, void *first)
{
	*(char **)first = without_qdiscs(*(char **)first, h->dev);
}

/* What an upgrade has installed, and nobody has loaded; bolt_ctl stays while another uses it. */
static void doctor_builds(void)
{
	static const char * const uses[] = { "tcp_bolt", "sch_sfc" };
	bool ctl = differs("bolt_ctl"), other;
	char *list = words("%s", ctl ? " bolt_ctl" : ""), *first = words("%s", "");
	char *names = words("-a");
	unsigned int i;

	for (i = 0; i < 2; i++) {
		other = differs(uses[i]);
		if (other)
			list = words("%s %s", list, uses[i]);
		if (other || (ctl && module_loaded(uses[i])))
			names = words("%s %s", names, uses[i]);
	}
	if (!*list)
		return;
	if (strstr(names, "sch_sfc") && !qdisc_each(add_port, &first))
		qdisc_each_hold(add_hold, &first);
	found(D_FIX, "module",
	      words("%s%s", replace_module(strcmp(names, "-a") ? names : "bolt_ctl", first),
		    *first ? "   # then its qdiscs anew" : ""),
	      "loaded, but not as installed:%s", list);
}

static void doctor_module(const char *name, enum finding absent, const char *purpose)
{
	const char *why;
	char *other, *fix;

	if (module_loaded(name)) {
		if (!strcmp(name, "tcp_bolt") && !speaks_our_netlink())
			found(D_FIX, "module", replace_module(name, ""),
			      "the loaded %s is of another version than this subrtt", name);
		else
			found(D_OK, "module", NULL, "%s is loaded", name);
		return;
	}
	if (installed_for(host.release, name)) {
		found(absent, "module", words("sudo modprobe %s", name),
		      "%s is not loaded (%s)", name, purpose);
		why = enforced();
		if (why)
			doctor_signature(name, why);
		return;
	}
	other = other_kernel(name);
	fix = how_to_install(!access("/var/lib/dkms/subrtt", F_OK));
	if (other)
		found(absent, "module", fix,
		      "%s is installed for Linux %s, not for this one, %s (%s)", name, other,
		      host.release, purpose);
	else
		found(absent, "module", fix, "%s is not installed (%s)", name, purpose);
	free(other);
	free(fix);
}

void doctor_modules(bool on_host, bool on_router)
{
	const char *why = enforced();
	bool loaded = (!on_host || module_loaded("tcp_bolt")) &&
		      (!on_router || module_loaded("sch_sfc"));

	if (!why)
		found(D_OK, "signing", NULL, "modules need no signature%s",
		      secure_boot() == 1 ? ", though Secure Boot is on" : "");
	else if (loaded)
		found(D_OK, "signing", NULL, "%s, and the modules are loaded", why);
	else if (!installed_for(host.release, on_host ? "tcp_bolt" : "sch_sfc"))
		found(D_NOTE, "signing", NULL,
		      "%s: modules must be signed with an enrolled key%s", why,
		      secure_boot() == 1 ? " (Secure Boot)" : "");
	if (on_host)
		doctor_module("tcp_bolt", D_FIX, "hosts: congestion controls bolt and swift, SFC's pauses");
	if (on_router)
		doctor_module("sch_sfc", D_FIX, "switches: the qdisc sfc");
	doctor_builds();
}

/* --- tc --- */

/* help asks tc for the qdisc's own usage: nothing is sent to the kernel */
void doctor_tc(bool on_router)
{
	char out[8192];
	int status;

	if (!on_router)
		return;
	status = run_command("tc qdisc replace dev lo root sfc help 2>&1", out, sizeof(out));
	if (status == 127)
		found(D_FIX, "tc", "sudo apt-get install iproute2", "tc is not installed");
	else if (strstr(out, "Usage: ... sfc"))
		found(D_OK, "tc", NULL, "tc knows sfc");
	else
		found(D_FIX, "tc",
		      "make packages && sudo apt-get install ./build/packages/subrtt-tools_*.deb   # in the source tree",
		      "tc has no plugin q_sfc.so: it can neither configure sfc nor show its options");
}
