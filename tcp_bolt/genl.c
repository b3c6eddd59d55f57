// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink family "bolt": flows and counters of a namespace, for programs.  Specified by
 * Documentation/netlink/specs/bolt.yaml, explained by Documentation/netlink.rst.
 *
 * Flows are those of the table of flow.c, and after them sockets of other congestion controls that
 * pause.c knows.  A dump walks a table bucket by bucket under RCU.  Between two messages it holds
 * neither a lock nor a socket, only its place; where the table was resized, or the flow at that
 * place has gone, the dump is marked as interrupted.
 *
 * Who may: anybody in the namespace, as inet_diag, which shows the same sockets.
 */

#include <linux/sock_diag.h>
#include <net/genetlink.h>
#include <net/inet_hashtables.h>
#include <net/inet6_hashtables.h>
#include <net/ipv6.h>

#include "bolt.h"

/* Grows with the attributes */
#define BOLT_GENL_VERSION	1
/* Objects looked at before others may run */
#define BOLT_WALK_BATCH		1024

bool bolt_genl_on __read_mostly;
/* Somebody has joined the group since the module was loaded; who leaves need not have joined */
bool bolt_genl_joined __read_mostly = BOLT_GENL_JOINED;

/* --- a flow, as attributes --- */

static int bolt_put_addr(struct sk_buff *skb, int type, const struct sock *sk,
			 const struct in6_addr *v6, __be32 v4)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return nla_put_in6_addr(skb, type, v6);
#endif
	return nla_put_in_addr(skb, type, v4);
}

/* What names a socket, and little more.  Any context that keeps it from going. */
int bolt_genl_put_id(struct sk_buff *skb, struct sock *sk)
{
	const struct in6_addr *local6 = NULL, *remote6 = NULL;
	const struct tcp_congestion_ops *ops;
	char name[TCP_CA_NAME_MAX] = "";
	u32 words[2];
	u64 cookie;

#if IS_ENABLED(CONFIG_IPV6)
	local6 = &sk->sk_v6_rcv_saddr;
	remote6 = &sk->sk_v6_daddr;
#endif
	rcu_read_lock();
	ops = READ_ONCE(inet_csk(sk)->icsk_ca_ops);
	if (ops)
		strscpy(name, ops->name, sizeof(name));
	rcu_read_unlock();
	sock_diag_save_cookie(sk, words);
	cookie = (u64)words[1] << 32 | words[0];
	if (nla_put_u64_64bit(skb, BOLT_A_FLOW_COOKIE, cookie, BOLT_A_FLOW_PAD) ||
	    nla_put_u64_64bit(skb, BOLT_A_FLOW_NETNS_COOKIE, sock_net(sk)->net_cookie,
			      BOLT_A_FLOW_PAD) ||
	    nla_put_u8(skb, BOLT_A_FLOW_FAMILY, sk->sk_family) ||
	    bolt_put_addr(skb, BOLT_A_FLOW_LOCAL_ADDR, sk, local6, sk->sk_rcv_saddr) ||
	    bolt_put_addr(skb, BOLT_A_FLOW_REMOTE_ADDR, sk, remote6, sk->sk_daddr) ||
	    nla_put_u16(skb, BOLT_A_FLOW_LOCAL_PORT, READ_ONCE(sk->sk_num)) ||
	    nla_put_u16(skb, BOLT_A_FLOW_REMOTE_PORT, ntohs(READ_ONCE(sk->sk_dport))) ||
	    nla_put_u32(skb, BOLT_A_FLOW_IFINDEX, READ_ONCE(sk->sk_bound_dev_if)) ||
	    nla_put_string(skb, BOLT_A_FLOW_CONGESTION, name) ||
	    nla_put_u8(skb, BOLT_A_FLOW_STATE, inet_sk_state_load(sk)) ||
	    nla_put_u32(skb, BOLT_A_FLOW_CWND, READ_ONCE(tcp_sk(sk)->snd_cwnd)))
		return -EMSGSIZE;
	return 0;
}

/* The flow is in use: what init() found is set, and release() is yet to come. */
static bool bolt_flow_live(const struct bolt_flow *f)
{
	return f && (READ_ONCE(f->ready) || READ_ONCE(f->plain));
}

/* A moment of a flow */
struct bolt_genl_flow {
	struct bolt_pause_info	pause;
	struct bolt_last_src	src;
	struct bolt_flow_count	count;
	struct swift		swift;
	u64			now_ns;
	u64			window_q32;
	u32			flags;
	u32			cwnd;
	u32			max_cwnd;
	u32			init_cwnd;
	u32			srtt_ns;
	u32			min_rtt_ns;
	u32			nic_kbps;
	bool			flow;		/* there is an object, not only a pause */
	bool			paused;		/* @pause is valid */
};

/* Under RCU.  A user who owns the socket may be changing what the spinlock does not guard. */
static void bolt_genl_look(struct sock *sk, struct bolt_genl_flow *g)
{
	const struct bolt_flow *f;

	memset(g, 0, sizeof(*g));
	local_bh_disable();
	bh_lock_sock(sk);
	g->now_ns = ktime_get_ns();
	g->cwnd = READ_ONCE(tcp_sk(sk)->snd_cwnd);
	g->window_q32 = (u64)g->cwnd << 32;
	f = bolt_flow_lookup(sk);
	g->flow = bolt_flow_live(f);
	if (g->flow) {
		g->src = f->src;
		g->count = f->count;
		g->swift = f->swift;
		g->max_cwnd = f->max_cwnd;
		g->init_cwnd = f->init_cwnd;
		g->srtt_ns = f->core.srtt_ns;
		g->min_rtt_ns = f->core.min_rtt_ns;
		g->nic_kbps = f->nic_kbps;
		g->flags = f->plain ? BOLT_FLOW_FLAG_PLAIN : BOLT_FLOW_FLAG_OPTION;
		if (bolt_sk_uses(sk))
			g->window_q32 = bolt_core_window_q32(&f->core, f->cwnd);
		else
			g->window_q32 = min(f->swift.fabric.cwnd_q32, f->swift.endpoint.cwnd_q32);
	}
	g->paused = bolt_pause_any() && bolt_pause_look(sk, &g->pause);
	bh_unlock_sock(sk);
	local_bh_enable();

	if (g->paused && g->pause.until_ns > g->now_ns)
		g->flags |= BOLT_FLOW_FLAG_PAUSED;
	if (g->paused && g->pause.deaf_ns > g->now_ns)
		g->flags |= BOLT_FLOW_FLAG_DEAF;
}

static u64 bolt_ns_left(u64 end_ns, u64 now_ns)
{
	return end_ns > now_ns ? end_ns - now_ns : 0;
}

static int bolt_put_pause(struct sk_buff *skb, const struct bolt_genl_flow *g)
{
	const struct bolt_pause_info *p = &g->pause;
	struct nlattr *nest = nla_nest_start(skb, BOLT_A_FLOW_PAUSE);

	if (!nest ||
	    nla_put_u64_64bit(skb, BOLT_A_PAUSE_REMAINING_NS, bolt_ns_left(p->until_ns, g->now_ns),
			      BOLT_A_PAUSE_PAD) ||
	    nla_put_u32(skb, BOLT_A_PAUSE_ASKED_NS, p->asked_ns) ||
	    nla_put_u32(skb, BOLT_A_PAUSE_SWITCH_ID, p->switch_id) ||
	    (p->from_cache && nla_put_flag(skb, BOLT_A_PAUSE_FROM_CACHE)) ||
	    nla_put_u64_64bit(skb, BOLT_A_PAUSE_DEAF_NS, bolt_ns_left(p->deaf_ns, g->now_ns),
			      BOLT_A_PAUSE_PAD) ||
	    nla_put_u32(skb, BOLT_A_PAUSE_BEGUN, p->begun) ||
	    nla_put_u64_64bit(skb, BOLT_A_PAUSE_GRANTED_NS, p->granted_ns, BOLT_A_PAUSE_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int bolt_put_last_src(struct sk_buff *skb, const struct bolt_genl_flow *g)
{
	struct nlattr *nest = nla_nest_start(skb, BOLT_A_FLOW_LAST_SRC);

	if (!nest || nla_put_u32(skb, BOLT_A_LAST_SRC_QUEUE_BYTES, g->src.queue_bytes) ||
	    nla_put_u32(skb, BOLT_A_LAST_SRC_LINK_RATE, g->src.link_kbps) ||
	    nla_put_u32(skb, BOLT_A_LAST_SRC_RTT_SRC_NS, g->src.rtt_src_ns) ||
	    nla_put_u64_64bit(skb, BOLT_A_LAST_SRC_AGE_NS, g->now_ns - g->src.at_ns,
			      BOLT_A_LAST_SRC_PAD) ||
	    nla_put_u32(skb, BOLT_A_LAST_SRC_SWITCH_ID, g->src.switch_id) ||
	    nla_put_u32(skb, BOLT_A_LAST_SRC_VERDICT, g->src.verdict))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int bolt_put_counters(struct sk_buff *skb, const struct bolt_flow_count *c)
{
	struct nlattr *nest = nla_nest_start(skb, BOLT_A_FLOW_COUNTERS);

	if (!nest || nla_put_u32(skb, BOLT_A_COUNTERS_SRC, c->src) ||
	    nla_put_u32(skb, BOLT_A_COUNTERS_SRC_DEC, c->src_dec) ||
	    nla_put_u32(skb, BOLT_A_COUNTERS_INC, c->inc) ||
	    nla_put_u32(skb, BOLT_A_COUNTERS_AI, c->ai) ||
	    nla_put_u32(skb, BOLT_A_COUNTERS_LOSS_DEC, c->loss_dec) ||
	    nla_put_u32(skb, BOLT_A_COUNTERS_RTO_DEC, c->rto_dec) ||
	    nla_put_u32(skb, BOLT_A_COUNTERS_PAUSES, c->pauses))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int bolt_put_windows(struct sk_buff *skb, const struct bolt_genl_flow *g)
{
	if (nla_put_u64_64bit(skb, BOLT_A_FLOW_WINDOW, g->window_q32, BOLT_A_FLOW_PAD) ||
	    nla_put_u32(skb, BOLT_A_FLOW_MAX_CWND, g->max_cwnd) ||
	    nla_put_u32(skb, BOLT_A_FLOW_INIT_CWND, g->init_cwnd) ||
	    nla_put_u32(skb, BOLT_A_FLOW_NIC_RATE, g->nic_kbps) ||
	    (g->srtt_ns && nla_put_u32(skb, BOLT_A_FLOW_SRTT_NS, g->srtt_ns)) ||
	    (g->min_rtt_ns && nla_put_u32(skb, BOLT_A_FLOW_MIN_RTT_NS, g->min_rtt_ns)))
		return -EMSGSIZE;
	/* beside Bolt it may have no opinion, and there is no window for the ends */
	if (g->swift.fabric.cwnd_q32 && g->swift.fabric.cwnd_q32 < SWIFT_CWND_MAX &&
	    nla_put_u64_64bit(skb, BOLT_A_FLOW_SWIFT_FABRIC, g->swift.fabric.cwnd_q32,
			      BOLT_A_FLOW_PAD))
		return -EMSGSIZE;
	if (!g->swift.endpoint.cwnd_q32)
		return 0;
	if (nla_put_u64_64bit(skb, BOLT_A_FLOW_SWIFT_ENDPOINT, g->swift.endpoint.cwnd_q32,
			      BOLT_A_FLOW_PAD) ||
	    nla_put_u32(skb, BOLT_A_FLOW_SWIFT_ENDPOINT_NS, g->swift.endpoint_ns))
		return -EMSGSIZE;
	return 0;
}

static int bolt_put_flow(struct sk_buff *skb, struct sock *sk, struct user_namespace *user_ns)
{
	struct bolt_genl_flow g;

	bolt_genl_look(sk, &g);
	if (bolt_genl_put_id(skb, sk) ||
	    nla_put_u32(skb, BOLT_A_FLOW_UID, from_kuid_munged(user_ns, sock_i_uid(sk))) ||
	    nla_put_u32(skb, BOLT_A_FLOW_INODE, sock_i_ino(sk)) ||
	    nla_put_u32(skb, BOLT_A_FLOW_FLAGS, g.flags))
		return -EMSGSIZE;
	if (g.flow && (bolt_put_windows(skb, &g) || bolt_put_counters(skb, &g.count)))
		return -EMSGSIZE;
	if (g.src.at_ns && bolt_put_last_src(skb, &g))
		return -EMSGSIZE;
	return g.paused ? bolt_put_pause(skb, &g) : 0;
}

/* --- which flows --- */

/* Addresses are IPv6, or mapped into it; a length of 0 matches all */
struct bolt_filter {
	struct in6_addr	local, remote;
	u8		local_len, remote_len;
	u8		family;
	u16		local_port, remote_port;
	u32		ifindex;
	char		congestion[TCP_CA_NAME_MAX];
};

static int bolt_get_addr(const struct nlattr *attr, struct in6_addr *a,
			 struct netlink_ext_ack *extack)
{
	switch (nla_len(attr)) {
	case 4:
		ipv6_addr_set_v4mapped(nla_get_in_addr(attr), a);
		return 0;
	case 16:
		*a = nla_get_in6_addr(attr);
		return 0;
	}
	NL_SET_ERR_MSG_ATTR(extack, attr, "an address has 4 bytes, or 16");
	return -EINVAL;
}

static int bolt_get_prefix(const struct nlattr *addr, const struct nlattr *len,
			   struct in6_addr *a, u8 *bits, struct netlink_ext_ack *extack)
{
	int err;

	if (!addr) {
		if (!len)
			return 0;
		NL_SET_ERR_MSG_ATTR(extack, len, "a prefix length without its address");
		return -EINVAL;
	}
	err = bolt_get_addr(addr, a, extack);
	if (err)
		return err;
	if (len && nla_get_u8(len) > 8 * nla_len(addr)) {
		NL_SET_ERR_MSG_ATTR(extack, len, "a prefix longer than the address");
		return -ERANGE;
	}
	*bits = 128 - 8 * nla_len(addr) + (len ? nla_get_u8(len) : 8 * nla_len(addr));
	return 0;
}

static int bolt_filter_parse(struct bolt_filter *f, struct nlattr **attrs,
			     struct netlink_ext_ack *extack)
{
	int err;

	if (attrs[BOLT_A_FLOW_COOKIE]) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[BOLT_A_FLOW_COOKIE],
				    "a cookie names one flow: ask without NLM_F_DUMP");
		return -EINVAL;
	}
	err = bolt_get_prefix(attrs[BOLT_A_FLOW_LOCAL_ADDR], attrs[BOLT_A_FLOW_LOCAL_PREFIX],
			      &f->local, &f->local_len, extack);
	if (err)
		return err;
	err = bolt_get_prefix(attrs[BOLT_A_FLOW_REMOTE_ADDR], attrs[BOLT_A_FLOW_REMOTE_PREFIX],
			      &f->remote, &f->remote_len, extack);
	if (err)
		return err;
	if (attrs[BOLT_A_FLOW_FAMILY]) {
		f->family = nla_get_u8(attrs[BOLT_A_FLOW_FAMILY]);
		if (f->family != AF_INET && f->family != AF_INET6) {
			NL_SET_ERR_MSG_ATTR(extack, attrs[BOLT_A_FLOW_FAMILY],
					    "the family is AF_INET or AF_INET6");
			return -EAFNOSUPPORT;
		}
	}
	if (attrs[BOLT_A_FLOW_LOCAL_PORT])
		f->local_port = nla_get_u16(attrs[BOLT_A_FLOW_LOCAL_PORT]);
	if (attrs[BOLT_A_FLOW_REMOTE_PORT])
		f->remote_port = nla_get_u16(attrs[BOLT_A_FLOW_REMOTE_PORT]);
	if (attrs[BOLT_A_FLOW_IFINDEX])
		f->ifindex = nla_get_u32(attrs[BOLT_A_FLOW_IFINDEX]);
	if (attrs[BOLT_A_FLOW_CONGESTION])
		nla_strscpy(f->congestion, attrs[BOLT_A_FLOW_CONGESTION], sizeof(f->congestion));
	return 0;
}

static void bolt_sk_addrs(const struct sock *sk, struct in6_addr *local, struct in6_addr *remote)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		*local = sk->sk_v6_rcv_saddr;
		*remote = sk->sk_v6_daddr;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_rcv_saddr, local);
	ipv6_addr_set_v4mapped(sk->sk_daddr, remote);
}

/* Under RCU, for the name */
static bool bolt_filter_match(const struct bolt_filter *f, const struct sock *sk)
{
	struct in6_addr local, remote;

	if ((f->local_port && f->local_port != READ_ONCE(sk->sk_num)) ||
	    (f->remote_port && f->remote_port != ntohs(READ_ONCE(sk->sk_dport))) ||
	    (f->family && f->family != sk->sk_family) ||
	    (f->ifindex && f->ifindex != READ_ONCE(sk->sk_bound_dev_if)))
		return false;
	if (f->congestion[0] &&
	    strcmp(f->congestion, READ_ONCE(inet_csk(sk)->icsk_ca_ops)->name))
		return false;
	if (!f->local_len && !f->remote_len)
		return true;
	bolt_sk_addrs(sk, &local, &remote);
	return ipv6_prefix_equal(&f->local, &local, f->local_len) &&
	       ipv6_prefix_equal(&f->remote, &remote, f->remote_len);
}

/* --- a walk over both tables --- */

struct bolt_walk {
	struct rhashtable_iter	iter;
	const struct net	*net;
	u32			looked;		/* objects in this batch */
	bool			pauses;		/* flows are through */
	bool			done;
	bool			again;		/* the newest one has to come once more */
	bool			changed;	/* some may have been missed, or come twice */
	struct bolt_filter	filter;
};

static void bolt_walk_begin(struct bolt_walk *w, const struct net *net)
{
	w->net = net;
	rhashtable_walk_enter(bolt_flow_table(), &w->iter);
}

static void bolt_walk_end(struct bolt_walk *w)
{
	rhashtable_walk_exit(&w->iter);
}

/* RCU is held from here to bolt_walk_stop() */
static void bolt_walk_start(struct bolt_walk *w) __acquires(RCU)
{
	bool placed = w->iter.p;

	w->looked = 0;
	if (rhashtable_walk_start_check(&w->iter) || (placed && !w->iter.p))
		w->changed = true;
}

static void bolt_walk_stop(struct bolt_walk *w) __releases(RCU)
{
	rhashtable_walk_stop(&w->iter);
}

/*
 * The socket of an object, with a reference; NULL when it has gone.  Neither object nor table has
 * one: the memory is a socket's for a grace period, and it is the object's as long as that is in
 * the table.
 */
static struct sock *bolt_walk_sock(const struct bolt_walk *w, void *obj)
{
	const struct bolt_flow *f = obj;
	struct sock *sk;

	if (!w->pauses && !bolt_flow_live(f))
		return NULL;
	sk = w->pauses ? bolt_pause_sk(obj) : f->sk;
	if (!refcount_inc_not_zero(&sk->sk_refcnt))
		return NULL;
	if (w->pauses ? !bolt_pause_is(obj, sk) || bolt_flow_live(bolt_flow_lookup(sk)) :
			bolt_flow_lookup(sk) != f) {
		sock_put(sk);
		return NULL;
	}
	return sk;
}

/* The next flow of the namespace that matches, with a reference; NULL: there is none */
static struct sock *bolt_walk_next(struct bolt_walk *w)
{
	struct sock *sk;
	void *obj;

	while (!w->done) {
		if (++w->looked > BOLT_WALK_BATCH) {
			bolt_walk_stop(w);
			cond_resched();
			bolt_walk_start(w);
		}
		obj = w->again ? rhashtable_walk_peek(&w->iter) : rhashtable_walk_next(&w->iter);
		w->again = false;
		if (IS_ERR(obj)) {
			w->changed = true;
			continue;
		}
		if (!obj) {
			w->done = w->pauses;
			if (w->done)
				break;
			w->pauses = true;
			bolt_walk_stop(w);
			rhashtable_walk_exit(&w->iter);
			rhashtable_walk_enter(bolt_pause_table(), &w->iter);
			bolt_walk_start(w);
			continue;
		}
		sk = bolt_walk_sock(w, obj);
		if (!sk)
			continue;
		if (net_eq(sock_net(sk), w->net) && bolt_filter_match(&w->filter, sk))
			return sk;
		sock_put(sk);
	}
	return NULL;
}

/* --- flow-get --- */

static int bolt_flows_start(struct netlink_callback *cb)
{
	struct bolt_walk *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int err;

	if (!w)
		return -ENOMEM;
	err = bolt_filter_parse(&w->filter, bolt_dump_attrs(cb), cb->extack);
	if (err) {
		kfree(w);
		return err;
	}
	bolt_walk_begin(w, sock_net(cb->skb->sk));
	cb->args[0] = (long)w;
	cb->seq = 1;
	cb->prev_seq = 1;
	return 0;
}

static int bolt_flows_done(struct netlink_callback *cb)
{
	struct bolt_walk *w = (struct bolt_walk *)cb->args[0];

	bolt_walk_end(w);
	kfree(w);
	return 0;
}

static int bolt_flows_put(struct sk_buff *skb, struct netlink_callback *cb, struct sock *sk)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				&bolt_genl_family, NLM_F_MULTI, BOLT_CMD_FLOW_GET);

	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	if (bolt_put_flow(skb, sk, sk_user_ns(NETLINK_CB(cb->skb).sk))) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int bolt_flows_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct bolt_walk *w = (struct bolt_walk *)cb->args[0];
	struct sock *sk;
	int err = 0;

	bolt_walk_start(w);
	while (!err) {
		sk = bolt_walk_next(w);
		if (w->changed)
			cb->seq = 2;
		if (!sk)
			break;
		err = bolt_flows_put(skb, cb, sk);
		w->again = err;
		sock_put(sk);
	}
	bolt_walk_stop(w);
	return skb->len;
}

/* By the 4-tuple, with a reference */
static struct sock *bolt_flow_by_tuple(struct net *net, struct nlattr **attrs,
				       struct netlink_ext_ack *extack)
{
	struct inet_hashinfo *hi = net->ipv4.tcp_death_row.hashinfo;
	struct in6_addr local, remote;
	u16 lport, rport;
	struct sock *sk;
	int dif = 0, err;

	if (!attrs[BOLT_A_FLOW_LOCAL_ADDR] || !attrs[BOLT_A_FLOW_REMOTE_ADDR] ||
	    !attrs[BOLT_A_FLOW_LOCAL_PORT] || !attrs[BOLT_A_FLOW_REMOTE_PORT]) {
		NL_SET_ERR_MSG(extack, "a flow is named by its cookie, or by addresses and ports");
		return ERR_PTR(-EINVAL);
	}
	err = bolt_get_addr(attrs[BOLT_A_FLOW_LOCAL_ADDR], &local, extack) ?:
	      bolt_get_addr(attrs[BOLT_A_FLOW_REMOTE_ADDR], &remote, extack);
	if (err)
		return ERR_PTR(err);
	if (ipv6_addr_v4mapped(&local) != ipv6_addr_v4mapped(&remote)) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[BOLT_A_FLOW_REMOTE_ADDR],
				    "addresses of two families");
		return ERR_PTR(-EINVAL);
	}
	lport = nla_get_u16(attrs[BOLT_A_FLOW_LOCAL_PORT]);
	rport = nla_get_u16(attrs[BOLT_A_FLOW_REMOTE_PORT]);
	if (attrs[BOLT_A_FLOW_IFINDEX])
		dif = nla_get_u32(attrs[BOLT_A_FLOW_IFINDEX]);

	rcu_read_lock();
#if IS_ENABLED(CONFIG_IPV6)
	if (!ipv6_addr_v4mapped(&local))
		sk = __inet6_lookup_established(net, hi, &remote, htons(rport), &local, lport,
						dif, dif);
	else
#endif
		sk = __inet_lookup_established(net, hi, remote.s6_addr32[3], htons(rport),
					       local.s6_addr32[3], lport, dif, dif);
	rcu_read_unlock();
	if (sk && !sk_fullsock(sk)) {
		sock_gen_put(sk);
		sk = NULL;
	}
	return sk;
}

static struct sock *bolt_flow_by_cookie(const struct net *net, const u32 *cookie)
{
	struct bolt_walk *w = kzalloc(sizeof(*w), GFP_KERNEL);
	struct sock *sk;

	if (!w)
		return ERR_PTR(-ENOMEM);
	bolt_walk_begin(w, net);
	bolt_walk_start(w);
	while ((sk = bolt_walk_next(w)) && sock_diag_check_cookie(sk, cookie))
		sock_put(sk);
	bolt_walk_stop(w);
	bolt_walk_end(w);
	kfree(w);
	return sk;
}

static struct sock *bolt_flow_find(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[BOLT_A_FLOW_COOKIE];
	struct net *net = genl_info_net(info);
	struct sock *sk;
	u32 cookie[2];

	if (attr) {
		cookie[0] = nla_get_u64(attr);
		cookie[1] = nla_get_u64(attr) >> 32;
	}
	if (attr && !info->attrs[BOLT_A_FLOW_LOCAL_ADDR] && !info->attrs[BOLT_A_FLOW_REMOTE_ADDR])
		return bolt_flow_by_cookie(net, cookie);

	sk = bolt_flow_by_tuple(net, info->attrs, info->extack);
	if (!IS_ERR_OR_NULL(sk) && attr && sock_diag_check_cookie(sk, cookie)) {
		sock_put(sk);
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "another socket has these addresses now");
		return ERR_PTR(-ESTALE);
	}
	return sk;
}

static int bolt_flow_refuse_filter(struct genl_info *info)
{
	static const u8 filters[] = {
		BOLT_A_FLOW_LOCAL_PREFIX, BOLT_A_FLOW_REMOTE_PREFIX,
		BOLT_A_FLOW_FAMILY, BOLT_A_FLOW_CONGESTION,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		if (!info->attrs[filters[i]])
			continue;
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[filters[i]],
				    "a filter needs NLM_F_DUMP");
		return -EINVAL;
	}
	return 0;
}

static int bolt_flow_get(struct sk_buff *skb, struct genl_info *info)
{
	bool known = false;
	struct sk_buff *reply;
	struct sock *sk;
	void *hdr;
	int err;

	err = bolt_flow_refuse_filter(info);
	if (err)
		return err;
	sk = bolt_flow_find(info);
	if (IS_ERR(sk))
		return PTR_ERR(sk);
	if (!sk) {
		GENL_SET_ERR_MSG(info, "no such connection");
		return -ENOENT;
	}
	rcu_read_lock();
	known = bolt_flow_live(bolt_flow_lookup(sk)) || bolt_pause_is(NULL, sk);
	rcu_read_unlock();
	err = -ENOENT;
	if (!known) {
		GENL_SET_ERR_MSG(info, "the connection uses neither bolt nor swift, and is not paused");
		goto out;
	}
	err = -ENOMEM;
	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		goto out;
	hdr = genlmsg_put(reply, info->snd_portid, info->snd_seq, &bolt_genl_family, 0,
			  BOLT_CMD_FLOW_GET);
	rcu_read_lock();
	err = bolt_put_flow(reply, sk, sk_user_ns(NETLINK_CB(skb).sk));
	rcu_read_unlock();
	if (err) {
		nlmsg_free(reply);
		goto out;
	}
	genlmsg_end(reply, hdr);
	err = genlmsg_reply(reply, info);
out:
	sock_put(sk);
	return err;
}

/* --- stats-get --- */

static int bolt_put_counter(struct sk_buff *skb, const char *name, u64 value)
{
	struct nlattr *nest = nla_nest_start(skb, BOLT_A_STATS_COUNTER);

	if (!nest || nla_put_string(skb, BOLT_A_COUNTER_NAME, name) ||
	    nla_put_u64_64bit(skb, BOLT_A_COUNTER_VALUE, value, BOLT_A_COUNTER_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int bolt_put_stats(struct sk_buff *skb, struct bolt_net *bn)
{
	u64 sent, lost;
	int i;

	bolt_events_stats(&bn->events, &sent, &lost);
	if (nla_put_u32(skb, BOLT_A_STATS_VERSION, BOLT_GENL_VERSION) ||
	    nla_put_u64_64bit(skb, BOLT_A_STATS_NETNS_COOKIE, bn->net->net_cookie,
			      BOLT_A_STATS_PAD) ||
	    nla_put_u16(skb, BOLT_A_STATS_PORT, READ_ONCE(bn->port)) ||
	    nla_put_u8(skb, BOLT_A_STATS_PORT_OPEN, !!READ_ONCE(bn->ctl[0])) ||
	    nla_put_u8(skb, BOLT_A_STATS_SFC, READ_ONCE(bn->sfc)) ||
	    nla_put_u8(skb, BOLT_A_STATS_SWIFT, !!READ_ONCE(bolt_swift_ops)) ||
	    nla_put_u32(skb, BOLT_A_STATS_FLOWS, atomic_read(&bolt_flow_table()->nelems)) ||
	    nla_put_u32(skb, BOLT_A_STATS_HASH_SIZE, bolt_flow_buckets()) ||
	    nla_put_u32(skb, BOLT_A_STATS_PAUSES, atomic_read(&bolt_pause_count)) ||
	    nla_put_u64_64bit(skb, BOLT_A_STATS_EVENTS_SENT, sent, BOLT_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, BOLT_A_STATS_EVENTS_LOST, lost, BOLT_A_STATS_PAD))
		return -EMSGSIZE;
	for (i = 0; i < BOLT_MIB_MAX; i++)
		if (bolt_put_counter(skb, bolt_mib_name(i), bolt_mib_sum(bn, i)))
			return -EMSGSIZE;
	return 0;
}

static int bolt_stats_get(struct sk_buff *skb, struct genl_info *info)
{
	struct bolt_net *bn = bolt_net(genl_info_net(info));
	struct sk_buff *reply;
	void *hdr;

	reply = genlmsg_new(256 + BOLT_MIB_MAX * 64, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	hdr = genlmsg_put(reply, info->snd_portid, info->snd_seq, &bolt_genl_family, 0,
			  BOLT_CMD_STATS_GET);
	if (bolt_put_stats(reply, bn)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

/* --- the family --- */

static const struct nla_policy bolt_flow_policy[BOLT_A_FLOW_IFINDEX + 1] = {
	[BOLT_A_FLOW_COOKIE]		= { .type = NLA_U64 },
	[BOLT_A_FLOW_LOCAL_ADDR]	= NLA_POLICY_RANGE(NLA_BINARY, 4, 16),
	[BOLT_A_FLOW_REMOTE_ADDR]	= NLA_POLICY_RANGE(NLA_BINARY, 4, 16),
	[BOLT_A_FLOW_LOCAL_PREFIX]	= NLA_POLICY_MAX(NLA_U8, 128),
	[BOLT_A_FLOW_REMOTE_PREFIX]	= NLA_POLICY_MAX(NLA_U8, 128),
	[BOLT_A_FLOW_LOCAL_PORT]	= { .type = NLA_U16 },
	[BOLT_A_FLOW_REMOTE_PORT]	= { .type = NLA_U16 },
	[BOLT_A_FLOW_FAMILY]		= { .type = NLA_U8 },
	[BOLT_A_FLOW_CONGESTION]	= { .type = NLA_NUL_STRING, .len = TCP_CA_NAME_MAX - 1 },
	[BOLT_A_FLOW_IFINDEX]		= { .type = NLA_U32 },
};

static const struct genl_ops bolt_genl_ops[] = {
	{
		.cmd		= BOLT_CMD_FLOW_GET,
		.doit		= bolt_flow_get,
		.start		= bolt_flows_start,
		.dumpit		= bolt_flows_dump,
		.done		= bolt_flows_done,
		.policy		= bolt_flow_policy,
		.maxattr	= ARRAY_SIZE(bolt_flow_policy) - 1,
	}, {
		.cmd		= BOLT_CMD_STATS_GET,
		.doit		= bolt_stats_get,
	},
};

/* Events tell of everybody's sockets, in time with their traffic */
static const struct genl_multicast_group bolt_genl_groups[] = {
	{ .name = BOLT_MCGRP_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

static int __maybe_unused bolt_genl_join(int group)
{
	WRITE_ONCE(bolt_genl_joined, true);
	return 0;
}

struct genl_family bolt_genl_family __ro_after_init = {
	.name		= BOLT_FAMILY_NAME,
	.version	= BOLT_FAMILY_VERSION,
	.module		= THIS_MODULE,
	.netnsok	= true,
	.parallel_ops	= true,
	.ops		= bolt_genl_ops,
	.n_ops		= ARRAY_SIZE(bolt_genl_ops),
	.mcgrps		= bolt_genl_groups,
	.n_mcgrps	= ARRAY_SIZE(bolt_genl_groups),
	BOLT_GENL_BIND(bolt_genl_join),
};

/* Last: requests come from here on */
int bolt_genl_module_init(void)
{
	int err = genl_register_family(&bolt_genl_family);

	if (!err)
		WRITE_ONCE(bolt_genl_on, true);
	return err;
}

/*
 * First: a dump holds the module, so there is none.  Namespaces are still there, and may have
 * events; none of them may reach the group that gets this one's number next, so no work item is to
 * send any when the family goes.
 */
void bolt_genl_module_exit(void)
{
	WRITE_ONCE(bolt_genl_on, false);
	flush_workqueue(bolt_wq);
	genl_unregister_family(&bolt_genl_family);
}

MODULE_ALIAS_GENL_FAMILY(BOLT_FAMILY_NAME);
