// SPDX-License-Identifier: GPL-2.0
/*
 * Netlink requests.  A dump is whole or fails: the kernel says when the table changed while it
 * was read (NLM_F_DUMP_INTR), and when it failed midway, which is in the message that ends it.
 */

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/family.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "subrtt.h"

#define DUMP_TRIES	20

struct answer {
	const struct bc_dump *d;
	bool interrupted, done;
	int err;		/* of the kernel, negative */
	int status;		/* of @d->entry */
	char extack[160];
};

struct nl_sock *bc_nl_open(int protocol, int *status)
{
	struct nl_sock *sk = nl_socket_alloc();
	int err, one = 1;

	*status = BC_OK;
	if (!sk) {
		*status = bc_error(BC_FAIL, "no memory");
		return NULL;
	}
	err = nl_connect(sk, protocol);
	if (err) {
		*status = bc_error(BC_FAIL, "netlink: %s", nl_geterror(err));
		nl_socket_free(sk);
		return NULL;
	}
	/* both are niceties */
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	nl_socket_set_buffer_size(sk, 1 << 20, 0);
	nl_socket_set_msg_buf_size(sk, 1 << 16);
	nl_socket_disable_msg_peek(sk);
	return sk;
}

/* What became of a request that the kernel refused, in words */
int bc_nl_status(const char *what, int err, const char *extack)
{
	bool words = extack && *extack;

	switch (-err) {
	case EPERM:
	case EACCES:
		return bc_error(BC_PERM, "%s: permission missing%s%s: CAP_NET_ADMIN is needed",
				what, words ? ": " : "", words ? extack : "");
	case ENODEV:
	case ENOENT:
		return bc_error(BC_ABSENT, "%s: %s", what, words ? extack : strerror(-err));
	}
	return bc_error(BC_FAIL, "%s: the kernel reports: %s", what,
			words ? extack : strerror(-err));
}

static void take_extack(struct answer *a, const struct nlmsghdr *nlh, unsigned int skip)
{
	struct nlattr *attr = (struct nlattr *)((char *)nlmsg_data(nlh) + skip);
	int len = nlmsg_datalen(nlh) - skip;

	if (len <= 0 || !(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	attr = nla_find(attr, len, NLMSGERR_ATTR_MSG);
	if (attr)
		nla_strlcpy(a->extack, attr, sizeof(a->extack));
}

static int on_error(struct sockaddr_nl *nla, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	struct answer *a = arg;
	unsigned int skip = sizeof(*e);

	(void)nla;
	a->err = e->error ? e->error : -EPROTO;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - NLMSG_HDRLEN;
	take_extack(a, nlh, NLMSG_ALIGN(skip));
	return NL_STOP;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct answer *a = arg;

	if (!a->status)
		a->status = a->d->entry(nlmsg_hdr(msg), a->d->arg);
	return a->status ? NL_STOP : NL_OK;
}

static int on_intr(struct nl_msg *msg, void *arg)
{
	struct answer *a = arg;

	(void)msg;
	a->interrupted = true;
	return NL_OK;
}

static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct answer *a = arg;

	a->done = true;
	if (nlmsg_datalen(nlh) >= (int)sizeof(int)) {
		memcpy(&a->err, nlmsg_data(nlh), sizeof(int));
		take_extack(a, nlh, NLMSG_ALIGN(sizeof(int)));
	}
	return NL_OK;
}

/* What became of it, of what the kernel, the entries and libnl said; the first in more words */
static int conclude(const struct answer *a, int err)
{
	if (a->status)
		return a->status;
	if (a->err < 0)
		return bc_nl_status(a->d->what, a->err, a->extack);
	if (err < 0 && err != -NLE_DUMP_INTR)
		return bc_error(BC_FAIL, "%s: the answer is incomplete: %s", a->d->what,
				nl_geterror(err));
	if (!a->done)
		return bc_error(BC_FAIL, "%s: the answer is incomplete: its end is missing",
				a->d->what);
	return BC_OK;
}

static struct nl_cb *callbacks(struct answer *a)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (!cb)
		return NULL;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, a);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, a);
	nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_intr, a);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, a);
	return cb;
}

static int dump_once(struct nl_sock *sk, struct answer *a)
{
	struct nl_msg *msg = nlmsg_alloc_simple(a->d->type, NLM_F_DUMP);
	struct nl_cb *cb = callbacks(a);
	int err = -NLE_NOMEM;

	if (msg && cb && !nlmsg_append(msg, (void *)a->d->header, a->d->len, NLMSG_ALIGNTO))
		err = nl_send_auto(sk, msg);
	nlmsg_free(msg);
	if (err >= 0)
		err = nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	return conclude(a, err);
}

int bc_nl_dump(struct nl_sock *sk, const struct bc_dump *d)
{
	struct timespec wait = { 0 };
	int i, err;

	for (i = 0; i < DUMP_TRIES; i++) {
		struct answer a = { .d = d };

		d->reset(d->arg);
		err = dump_once(sk, &a);
		if (err || !a.interrupted)
			return err;
		/* whoever changes it gets done: a table that grows, for instance */
		wait.tv_nsec = (i + 1) * 1000 * 1000;
		nanosleep(&wait, NULL);
	}
	d->reset(d->arg);
	return bc_error(BC_FAIL, "%s: changed each of %d times it was read; nothing is shown",
			d->what, DUMP_TRIES);
}

/* The number of a family and its version; false: there is none */
static bool find_family(struct nl_sock *sk, const char *name, int *id, unsigned int *version)
{
	struct genl_family *f = NULL;
	struct nl_cache *cache;

	if (genl_ctrl_alloc_cache(sk, &cache))
		return false;
	f = genl_ctrl_search_by_name(cache, name);
	if (f) {
		*id = genl_family_get_id(f);
		*version = genl_family_get_version(f);
		genl_family_put(f);
	}
	nl_cache_free(cache);
	return f;
}

/*
 * The number of a generic netlink family, or minus an exit status.  Attributes of another version
 * may have other numbers.
 */
int bc_nl_family(struct nl_sock *sk, const char *family, unsigned int version, const char *module,
		 bool quietly)
{
	unsigned int has;
	char path[64];
	int id;

	if (find_family(sk, family, &id, &has)) {
		if (has == version)
			return id;
		if (!quietly)
			bc_error(BC_ABSENT,
				 "the loaded %s is of another version than this subrtt (netlink family \"%s\" %u, not %u): sudo subrtt doctor",
				 module, family, has, version);
		return -BC_ABSENT;
	}
	if (quietly)
		return -BC_ABSENT;
	snprintf(path, sizeof(path), "/sys/module/%s", module);
	if (!access(path, F_OK))
		bc_error(BC_ABSENT,
			 "the loaded %s has no netlink family \"%s\": it is older than this subrtt",
			 module, family);
	else
		bc_error(BC_ABSENT, "%s is not loaded: sudo modprobe %s", module, module);
	return -BC_ABSENT;
}
