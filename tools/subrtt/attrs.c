// SPDX-License-Identifier: GPL-2.0
/* Attributes of the generic netlink family "bolt": names, values, JSON. */

#include <arpa/inet.h>
#include <linux/bolt_netlink.h>
#include <string.h>

#include "attrs.h"
#include "subrtt.h"
#include "diag.h"

_Static_assert(BOLT_A_FLOW_MAX <= ATTRS_MAX, "ATTRS_MAX");

static const char *const src_verdicts[] = {
	[BOLT_SRC_VERDICT_DEC]		= "dec",
	[BOLT_SRC_VERDICT_HELD]		= "held",
	[BOLT_SRC_VERDICT_FLOOR]	= "floor",
	NULL
};

#define A(_type, _name, _kind, ...) \
	{ .type = _type, .name = _name, .kind = AT_##_kind, ##__VA_ARGS__ }

static const struct attr_name bolt_pause_names[] = {
	A(BOLT_A_PAUSE_REMAINING_NS,	"remaining_ns", NUM),
	A(BOLT_A_PAUSE_ASKED_NS,	"asked_ns", NUM),
	A(BOLT_A_PAUSE_SWITCH_ID,	"switch_id", NUM),
	A(BOLT_A_PAUSE_FROM_CACHE,	"from_cache", FLAG),
	A(BOLT_A_PAUSE_IGNORE_NS,	"ignore_ns", NUM),
	A(BOLT_A_PAUSE_BEGUN,		"begun", NUM),
	A(BOLT_A_PAUSE_GRANTED_NS,	"granted_ns", NUM),
	{ }
};

const struct attr_set bolt_pause_set = { bolt_pause_names, BOLT_A_PAUSE_MAX };

static const struct attr_name bolt_src_names[] = {
	A(BOLT_A_LAST_SRC_QUEUE_BYTES,	"queue_bytes", NUM),
	A(BOLT_A_LAST_SRC_LINK_RATE,	"link_rate", NUM),
	A(BOLT_A_LAST_SRC_RTT_SRC_NS,	"rtt_src_ns", NUM),
	A(BOLT_A_LAST_SRC_AGE_NS,	"age_ns", NUM),
	A(BOLT_A_LAST_SRC_SWITCH_ID,	"switch_id", NUM),
	A(BOLT_A_LAST_SRC_VERDICT,	"verdict", ENUM, .names = src_verdicts),
	{ }
};

const struct attr_set bolt_src_set = { bolt_src_names, BOLT_A_LAST_SRC_MAX };

static const struct attr_name bolt_flow_names[] = {
	A(BOLT_A_FLOW_COOKIE,		"cookie", NUM),
	A(BOLT_A_FLOW_LOCAL_ADDR,	"local_addr", ADDR),
	A(BOLT_A_FLOW_LOCAL_PORT,	"local_port", NUM),
	A(BOLT_A_FLOW_REMOTE_ADDR,	"remote_addr", ADDR),
	A(BOLT_A_FLOW_REMOTE_PORT,	"remote_port", NUM),
	A(BOLT_A_FLOW_FAMILY,		"family", NUM),
	A(BOLT_A_FLOW_CONGESTION,	"congestion", STR),
	A(BOLT_A_FLOW_IFINDEX,		"ifindex", NUM),
	A(BOLT_A_FLOW_STATE,		"state", STATE),
	A(BOLT_A_FLOW_OPTION,		"option", FLAG),
	A(BOLT_A_FLOW_CWND,		"cwnd", NUM),
	A(BOLT_A_FLOW_WINDOW,		"window", Q32),
	A(BOLT_A_FLOW_MAX_CWND,		"max_cwnd", NUM),
	A(BOLT_A_FLOW_INIT_CWND,	"init_cwnd", NUM),
	A(BOLT_A_FLOW_SWIFT_FABRIC,	"swift_fabric", Q32),
	A(BOLT_A_FLOW_SWIFT_ENDPOINT,	"swift_endpoint", Q32),
	A(BOLT_A_FLOW_SWIFT_ENDPOINT_NS, "swift_endpoint_ns", NUM),
	A(BOLT_A_FLOW_SRTT_NS,		"srtt_ns", NUM),
	A(BOLT_A_FLOW_MIN_RTT_NS,	"min_rtt_ns", NUM),
	A(BOLT_A_FLOW_NIC_RATE,		"nic_rate", NUM),
	A(BOLT_A_FLOW_PAUSE,		"pause", NEST, .nest = &bolt_pause_set),
	A(BOLT_A_FLOW_LAST_SRC,		"last_src", NEST, .nest = &bolt_src_set),
	A(BOLT_A_FLOW_LIMIT,		"limit", NUM),
	{ }
};

const struct attr_set bolt_flow_set = { bolt_flow_names, BOLT_A_FLOW_MAX };

/* --- values --- */

uint64_t at_num(const struct nlattr *a)
{
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	if (!a)
		return 0;
	switch (nla_len(a)) {
	case 1:
		return *(const uint8_t *)nla_data(a);
	case 2:
		memcpy(&v16, nla_data(a), sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, nla_data(a), sizeof(v32));
		return v32;
	case 8:
		memcpy(&v64, nla_data(a), sizeof(v64));
		return v64;
	}
	return 0;
}

const char *at_str(const struct nlattr *a)
{
	int len = a ? nla_len(a) : 0;

	/* terminated, or it is no string */
	return len && !((char *)nla_data(a))[len - 1] ? nla_data(a) : "";
}

const char *at_addr(const struct nlattr *a)
{
	if (!a || (nla_len(a) != 4 && nla_len(a) != 16))
		return "?";
	return diag_addr(nla_len(a) == 4 ? AF_INET : AF_INET6, nla_data(a));
}

static const char *name_of(const char *const *names, uint64_t v)
{
	for (; *names; names++)
		if (!v--)
			return *names;
	return "?";
}

const char *at_enum(const struct nlattr *a, const struct attr_set *set)
{
	const struct attr_name *n;

	if (!a)
		return "?";
	for (n = set->names; n->type; n++)
		if (n->type == (unsigned int)nla_type(a) && n->kind == AT_ENUM)
			return name_of(n->names, at_num(a));
	return "?";
}

/* --- JSON --- */

static void json_addr(const char *name, const struct nlattr *a)
{
	char s[INET6_ADDRSTRLEN];

	if (nla_len(a) == 4 || nla_len(a) == 16)
		js_str(name, inet_ntop(nla_len(a) == 4 ? AF_INET : AF_INET6, nla_data(a), s,
				       sizeof(s)));
}

static void json_attr(const struct attr_name *n, const struct nlattr *a)
{
	struct nlattr *tb[ATTRS_MAX + 1];

	switch (n->kind) {
	case AT_NUM:
		js_u64(n->name, at_num(a));
		break;
	case AT_STR:
		js_str(n->name, at_str(a));
		break;
	case AT_ADDR:
		json_addr(n->name, a);
		break;
	case AT_FLAG:
		js_bool(n->name, true);
		break;
	case AT_Q32:
		js_fixed(n->name, at_num(a));
		break;
	case AT_ENUM:
		js_str(n->name, name_of(n->names, at_num(a)));
		break;
	case AT_STATE:
		js_str(n->name, diag_state(at_num(a)));
		break;
	case AT_NEST:
		js_begin(n->name, '{');
		if (!nla_parse_nested(tb, n->nest->max, (struct nlattr *)a, NULL))
			at_json(tb, n->nest);
		js_end('}');
		break;
	}
}

void at_json(struct nlattr *const *tb, const struct attr_set *set)
{
	const struct attr_name *n;

	for (n = set->names; n->type; n++) {
		if (tb[n->type])
			json_attr(n, tb[n->type]);
		else if (n->kind == AT_FLAG)
			js_bool(n->name, false);
	}
}
