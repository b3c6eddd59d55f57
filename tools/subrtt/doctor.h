/* SPDX-License-Identifier: GPL-2.0 */
/* Findings of doctor, and the files that make them. */
#ifndef _SUBRTT_DOCTOR_H
#define _SUBRTT_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum finding {
	D_OK,
	D_NOTE,		/* works; this is worth knowing */
	D_UNKNOWN,	/* could not be looked at without root */
	D_FIX,		/* does not work, or not as it should */
};

/* @check: what was looked at, for scripts; @fix: the command, or NULL */
void found(enum finding f, const char *check, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* A string that lasts */
char *words(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What a command says, both outputs, cut at @len; returns its exit status, 127: there is none */
int run_command(const char *command, char *out, size_t len);

bool module_loaded(const char *name);

/* The command, behind one that installs Debian's package where its program is missing */
char *with(const char *program, const char *package, const char *command);

/* doctor_module.c */
char *replace_module(const char *names, const char *first);
/* @first, and the command that takes the device's qdiscs away */
char *without_qdiscs(const char *first, const char *dev);
void doctor_kernel(void);
void doctor_modules(bool host, bool router);
void doctor_tc(bool router);

/* doctor_net.c */
void doctor_sysctls(void);
void doctor_port(bool some_only);
void doctor_refused(void);
void doctor_peers(void);

/* doctor_filter.c; true: a filter lets the port in from some senders only */
bool doctor_filter(bool host, bool router, unsigned int port);

/* doctor_dev.c */
void doctor_devices(void);
/* Whether the device's driver is one of @names, NULL behind them */
bool driver_is(const char *dev, const char * const *names);
/* Whether the device is a VRF, or in one: its name, of IF_NAMESIZE */
bool vrf_of(const char *dev, char *name);

/* doctor_speed.c */
void doctor_speeds(void);

/* net.bolt.port of the namespace, or the default */
unsigned int control_port(void);
bool sysctl_read(const char *name, unsigned long long *v);
/* A router, of IPv4 or IPv6 */
bool forwards(void);

#endif /* _SUBRTT_DOCTOR_H */
