/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attributes of the generic netlink family "bolt", by the names that Documentation/netlink/specs
 * gives them, with _ for -.
 */
#ifndef _SUBRTT_ATTRS_H
#define _SUBRTT_ATTRS_H

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <stdint.h>

enum attr_kind {
	AT_NUM,		/* u8 to u64 */
	AT_STR,
	AT_ADDR,	/* 4 or 16 bytes */
	AT_FLAG,	/* there or not */
	AT_Q32,		/* 32 fractional bits */
	AT_ENUM,	/* @names */
	AT_STATE,	/* of a TCP socket */
	AT_NEST,	/* @nest */
};

struct attr_name {
	unsigned int type;
	const char *name;
	enum attr_kind kind;
	const char *const *names;
	const struct attr_set *nest;
};

struct attr_set {
	const struct attr_name *names;	/* ends with type 0 */
	unsigned int max;
};

#define ATTRS_MAX	32

extern const struct attr_set bolt_flow_set, bolt_pause_set, bolt_src_set;

uint64_t at_num(const struct nlattr *a);	/* 0 when absent */
const char *at_str(const struct nlattr *a);	/* "" when absent */
const char *at_addr(const struct nlattr *a);	/* "?" when absent; IPv6 in brackets */
const char *at_enum(const struct nlattr *a, const struct attr_set *set);

/* The object's members; those of one that is not known are left out */
void at_json(struct nlattr *const *tb, const struct attr_set *set);

#endif /* _SUBRTT_ATTRS_H */
