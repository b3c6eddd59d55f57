// SPDX-License-Identifier: GPL-2.0
/* boltctl cache: the pauses that the switch of this namespace remembers. */

#include <getopt.h>
#include <linux/sfc_netlink.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "attrs.h"
#include "boltctl.h"
#include "stats.h"

static struct {
	struct nlmsghdr **msg;
	unsigned int n, room;
	int family;
} cache;

static struct nl_msg *build(void *arg)
{
	(void)arg;
	return bc_genl_msg(cache.family, SFC_CMD_CACHE_GET, NLM_F_DUMP);
}

static void reset(void *arg)
{
	(void)arg;
	while (cache.n)
		free(cache.msg[--cache.n]);
}

static int entry(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *tb[ATTRS_MAX + 1];
	struct nlmsghdr *copy, **more;
	unsigned int room;

	(void)arg;
	if (nlh->nlmsg_type != cache.family)
		return BC_OK;
	if (genlmsg_parse(nlh, 0, tb, SFC_A_CACHE_MAX, NULL))
		return bc_error(BC_FAIL, "cache: the kernel's answer cannot be read");
	if (cache.n == cache.room) {
		room = cache.room ? 2 * cache.room : 64;
		more = realloc(cache.msg, room * sizeof(*more));
		if (!more)
			return bc_error(BC_FAIL, "no memory");
		cache.msg = more;
		cache.room = room;
	}
	copy = malloc(nlh->nlmsg_len);
	if (!copy)
		return bc_error(BC_FAIL, "no memory");
	memcpy(copy, nlh, nlh->nlmsg_len);
	cache.msg[cache.n++] = copy;
	return BC_OK;
}

static int read_cache(struct stats *s)
{
	const struct bc_dump d = {
		.build = build, .entry = entry, .reset = reset, .what = "cache",
	};
	struct nl_sock *sk;
	int status;

	sk = bc_nl_open(NETLINK_GENERIC, &status);
	if (!sk)
		return status;
	cache.family = bc_nl_family(sk, SFC_FAMILY_NAME, "sch_sfc");
	status = cache.family < 0 ? -cache.family : bc_nl_dump(sk, &d);
	nl_socket_free(sk);
	return status ? status : stats_read(s);
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = { BC_LONG_COMMON };
	struct nlattr *tb[ATTRS_MAX + 1];
	static struct stats s;
	unsigned int i;
	int status;

	bc_getopt(argc, argv, "", longs, &status);
	if (!status)
		status = bc_no_more(argc, argv);
	if (!status)
		status = read_cache(&s);
	if (status)
		return status;
	if (conf.json) {
		js_begin(NULL, '{');
		js_u64("size", s.cache_size);
		js_begin("entries", '[');
	} else if (!s.cache_size) {
		printf("no port of this namespace has a cache: tc qdisc change dev DEV root sfc cache\n");
	} else {
		printf("%u entries, room for %u\n", cache.n, s.cache_size);
	}
	for (i = 0; i < cache.n; i++) {
		genlmsg_parse(cache.msg[i], 0, tb, SFC_A_CACHE_MAX, NULL);
		if (conf.json) {
			js_begin(NULL, '{');
			at_json(tb, &sfc_cache_set);
			js_end('}');
			continue;
		}
		printf("%-40s dscp %-2llu  %8s yet  heard %llu times  %llu hits\n",
		       at_addr(tb[SFC_A_CACHE_ADDR]),
		       (unsigned long long)at_num(tb[SFC_A_CACHE_DSCP]),
		       tx_ns(at_num(tb[SFC_A_CACHE_REMAINING_NS])),
		       (unsigned long long)at_num(tb[SFC_A_CACHE_VERSION]),
		       (unsigned long long)at_num(tb[SFC_A_CACHE_HITS]));
	}
	if (conf.json) {
		js_end(']');
		js_end('}');
	}
	return bc_flush();
}

const struct bc_cmd cmd_cache = {
	.name = "cache",
	.run = run,
	.what = "the pauses that a switch remembers",
	.usage = "",
	.help =
"The pause cache of the switch that this namespace is: destinations whose senders another switch\n"
"has told to pause, and for how long yet.  Ports with the option cache fill it and use it.  It\n"
"says whom hosts talk with, so root is needed.\n"
"\n"
"Examples:\n"
"  sudo boltctl cache\n"
"  sudo boltctl -n r1 -j cache | jq '.entries | length'\n"
"  sudo tc qdisc change dev eth9 root sfc cache     a port that has one\n",
};
