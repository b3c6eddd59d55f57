// SPDX-License-Identifier: GPL-2.0
/* TCP sockets of the namespace, by inet_diag: what ss(8) shows. */

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "subrtt.h"
#include "diag.h"

struct request {
	struct diag_table *t;
	unsigned int before;	/* sockets of the other family, which stay */
};

static void reset(void *arg)
{
	struct request *r = arg;

	r->t->n = r->before;
}

static int entry(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *tb[INET_DIAG_MAX + 1];
	struct inet_diag_msg *m = nlmsg_data(nlh);
	struct request *r = arg;
	struct diag_table *t = r->t;
	struct diag_sock *s;

	if (nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return BC_OK;
	if (nlmsg_parse(nlh, sizeof(*m), tb, INET_DIAG_MAX, NULL))
		return bc_error(BC_FAIL, "sockets: the kernel's answer cannot be read");
	s = bc_more(&t->s, &t->n, &t->room, sizeof(*s));
	if (!s)
		return bc_error(BC_FAIL, "no memory");
	s->cookie = m->id.idiag_cookie[0] | (uint64_t)m->id.idiag_cookie[1] << 32;
	s->rqueue = m->idiag_rqueue;
	s->wqueue = m->idiag_wqueue;
	if (tb[INET_DIAG_CONG])
		nla_strlcpy(s->cong, tb[INET_DIAG_CONG], sizeof(s->cong));
	if (tb[INET_DIAG_INFO])
		s->info_len = nla_memcpy(s->info, tb[INET_DIAG_INFO], sizeof(s->info));
	return BC_OK;
}

static int by_cookie(const void *a, const void *b)
{
	const struct diag_sock *x = a, *y = b;

	return x->cookie < y->cookie ? -1 : x->cookie > y->cookie;
}

int diag_read(struct diag_table *t, uint32_t states, bool info)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	struct nl_sock *sk;
	unsigned int i;
	int status;

	memset(t, 0, sizeof(*t));
	sk = bc_nl_open(NETLINK_SOCK_DIAG, &status);
	if (!sk)
		return status;
	for (i = 0; i < 2 && !status; i++) {
		struct request r = { .t = t, .before = t->n };
		const struct inet_diag_req_v2 req = {
			.sdiag_family = families[i],
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = states,
			.idiag_ext = 1 << (INET_DIAG_CONG - 1) | info << (INET_DIAG_INFO - 1),
		};
		const struct bc_dump d = {
			.type = SOCK_DIAG_BY_FAMILY, .header = &req, .len = sizeof(req),
			.entry = entry, .reset = reset, .arg = &r, .what = "sockets",
		};

		status = bc_nl_dump(sk, &d);
	}
	nl_socket_free(sk);
	if (t->n)
		qsort(t->s, t->n, sizeof(*t->s), by_cookie);
	return status;
}

struct diag_sock *diag_find(const struct diag_table *t, uint64_t cookie)
{
	struct diag_sock key = { .cookie = cookie };

	return t->n ? bsearch(&key, t->s, t->n, sizeof(key), by_cookie) : NULL;
}

void diag_free(struct diag_table *t)
{
	free(t->s);
	memset(t, 0, sizeof(*t));
}

const char *diag_state(uint8_t state)
{
	/* as ss prints them */
	static const char * const names[] = {
		"UNKNOWN", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2",
		"TIME-WAIT", "UNCONN", "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING", "SYN-RECV",
	};

	return names[state < sizeof(names) / sizeof(names[0]) ? state : 0];
}

const char *diag_addr(uint8_t family, const uint8_t *addr)
{
	static char ring[8][INET6_ADDRSTRLEN + 2];
	static unsigned int next;
	char *s = ring[next++ % 8];
	size_t n;

	if (family == AF_INET)
		return inet_ntop(AF_INET, addr, s, INET6_ADDRSTRLEN);
	s[0] = '[';
	inet_ntop(AF_INET6, addr, s + 1, INET6_ADDRSTRLEN);
	n = strlen(s);
	s[n] = ']';
	s[n + 1] = '\0';
	return s;
}
