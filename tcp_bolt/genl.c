// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink family "bolt": dumps the flows of a namespace.  Specified by
 * Documentation/netlink/specs/bolt.yaml, explained by Documentation/netlink.rst.
 *
 * A dump walks the table of flow.c bucket by bucket under RCU.  Between two messages it holds
 * neither a lock nor a socket, only its position; if the table was resized, or the flow at that
 * position was removed, the dump is marked as interrupted.
 *
 * Any user of the namespace may dump, as with inet_diag, which shows the same sockets.
 */

#include <linux/sock_diag.h>
#include <net/genetlink.h>

#include "bolt.h"

/* Flows that a dump looks at between two points where it may be preempted */
#define BOLT_FLOWS_RESCHED	256

static int bolt_put_addrs(struct sk_buff *skb, const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return nla_put_in6_addr(skb, BOLT_A_FLOW_LOCAL_ADDR, &sk->sk_v6_rcv_saddr) ?:
		       nla_put_in6_addr(skb, BOLT_A_FLOW_REMOTE_ADDR, &sk->sk_v6_daddr);
#endif
	return nla_put_in_addr(skb, BOLT_A_FLOW_LOCAL_ADDR, sk->sk_rcv_saddr) ?:
	       nla_put_in_addr(skb, BOLT_A_FLOW_REMOTE_ADDR, sk->sk_daddr);
}

/*
 * What follows is shown as it is found: if a user owns the socket, values may change meanwhile, and
 * be of different packets.
 */

/* The socket's identity, congestion control, state and cwnd.  Context: RCU */
static int bolt_put_id(struct sk_buff *skb, struct sock *sk)
{
	const struct tcp_congestion_ops *ops = READ_ONCE(inet_csk(sk)->icsk_ca_ops);
	char name[TCP_CA_NAME_MAX] = "";
	u32 words[2];
	u64 cookie;

	/* a closed socket does not hold the module any more */
	if (ops && inet_sk_state_load(sk) != TCP_CLOSE)
		strscpy(name, ops->name, sizeof(name));
	sock_diag_save_cookie(sk, words);
	cookie = (u64)words[1] << 32 | words[0];
	if (nla_put_u64_64bit(skb, BOLT_A_FLOW_COOKIE, cookie, BOLT_A_FLOW_PAD) ||
	    nla_put_u8(skb, BOLT_A_FLOW_FAMILY, sk->sk_family) ||
	    bolt_put_addrs(skb, sk) ||
	    nla_put_u16(skb, BOLT_A_FLOW_LOCAL_PORT, READ_ONCE(sk->sk_num)) ||
	    nla_put_u16(skb, BOLT_A_FLOW_REMOTE_PORT, ntohs(READ_ONCE(sk->sk_dport))) ||
	    nla_put_u32(skb, BOLT_A_FLOW_IFINDEX, READ_ONCE(sk->sk_bound_dev_if)) ||
	    nla_put_string(skb, BOLT_A_FLOW_CONGESTION, name) ||
	    nla_put_u8(skb, BOLT_A_FLOW_STATE, inet_sk_state_load(sk)) ||
	    nla_put_u32(skb, BOLT_A_FLOW_CWND, READ_ONCE(tcp_sk(sk)->snd_cwnd)))
		return -EMSGSIZE;
	return 0;
}

static __no_kcsan int bolt_put_last_src(struct sk_buff *skb, const struct bolt_last_src *src,
					u64 now_ns)
{
	struct nlattr *nest = nla_nest_start(skb, BOLT_A_FLOW_LAST_SRC);

	if (!nest || nla_put_u32(skb, BOLT_A_LAST_SRC_QUEUE_BYTES, src->queue_bytes) ||
	    nla_put_u32(skb, BOLT_A_LAST_SRC_LINK_RATE, src->link_kbps) ||
	    nla_put_u32(skb, BOLT_A_LAST_SRC_RTT_SRC_NS, src->rtt_src_ns) ||
	    nla_put_u64_64bit(skb, BOLT_A_LAST_SRC_AGE_NS, now_ns - src->at_ns,
			      BOLT_A_LAST_SRC_PAD) ||
	    nla_put_u32(skb, BOLT_A_LAST_SRC_SWITCH_ID, src->switch_id) ||
	    nla_put_u32(skb, BOLT_A_LAST_SRC_VERDICT, src->verdict))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int bolt_put_window(struct sk_buff *skb, int type, u64 window_q32)
{
	return nla_put_u64_64bit(skb, type, window_q32, BOLT_A_FLOW_PAD);
}

static __no_kcsan int bolt_put_swift(struct sk_buff *skb, const struct swift *s)
{
	/* as a cap for Bolt: no limit at SWIFT_CWND_MAX, and no endpoint window */
	if (s->fabric.cwnd_q32 && s->fabric.cwnd_q32 < SWIFT_CWND_MAX &&
	    bolt_put_window(skb, BOLT_A_FLOW_SWIFT_FABRIC, s->fabric.cwnd_q32))
		return -EMSGSIZE;
	if (!s->endpoint.cwnd_q32)
		return 0;
	return bolt_put_window(skb, BOLT_A_FLOW_SWIFT_ENDPOINT, s->endpoint.cwnd_q32) ?:
	       nla_put_u32(skb, BOLT_A_FLOW_SWIFT_ENDPOINT_NS, s->endpoint_ns);
}

static __no_kcsan int bolt_put_object(struct sk_buff *skb, const struct bolt_flow *f, u64 now_ns)
{
	if ((f->speaks && nla_put_flag(skb, BOLT_A_FLOW_OPTION)) ||
	    bolt_put_window(skb, BOLT_A_FLOW_WINDOW, f->core.cwnd_q32) ||
	    nla_put_u32(skb, BOLT_A_FLOW_MAX_CWND, f->max_cwnd) ||
	    nla_put_u32(skb, BOLT_A_FLOW_INIT_CWND, f->init_cwnd) ||
	    nla_put_u32(skb, BOLT_A_FLOW_NIC_RATE, f->nic_kbps) ||
	    (f->core.srtt_ns && nla_put_u32(skb, BOLT_A_FLOW_SRTT_NS, f->core.srtt_ns)) ||
	    (f->core.min_rtt_ns && nla_put_u32(skb, BOLT_A_FLOW_MIN_RTT_NS, f->core.min_rtt_ns)) ||
	    bolt_put_swift(skb, &f->swift))
		return -EMSGSIZE;
	return f->src.at_ns ? bolt_put_last_src(skb, &f->src, now_ns) : 0;
}

static __no_kcsan int bolt_put_pause(struct sk_buff *skb, const struct bolt_pause *p, u64 now_ns)
{
	u64 until_ns = READ_ONCE(p->clock.until_ns);
	u64 ignore_until_ns = READ_ONCE(p->clock.ignore_until_ns);
	struct nlattr *nest = nla_nest_start(skb, BOLT_A_FLOW_PAUSE);

	if (!nest ||
	    nla_put_u64_64bit(skb, BOLT_A_PAUSE_REMAINING_NS,
			      max(until_ns, now_ns) - now_ns, BOLT_A_PAUSE_PAD) ||
	    nla_put_u32(skb, BOLT_A_PAUSE_ASKED_NS, p->asked_ns) ||
	    nla_put_u32(skb, BOLT_A_PAUSE_SWITCH_ID, p->switch_id) ||
	    nla_put_u64_64bit(skb, BOLT_A_PAUSE_IGNORE_NS,
			      max(ignore_until_ns, now_ns) - now_ns, BOLT_A_PAUSE_PAD) ||
	    nla_put_u32(skb, BOLT_A_PAUSE_BEGUN, p->begun) ||
	    nla_put_u64_64bit(skb, BOLT_A_PAUSE_GRANTED_NS, p->granted_ns, BOLT_A_PAUSE_PAD) ||
	    (p->from_cache && nla_put_flag(skb, BOLT_A_PAUSE_FROM_CACHE)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Context: RCU */
static __no_kcsan int bolt_put_flow(struct sk_buff *skb, struct bolt_flow *f)
{
	struct sock *sk = f->sk;
	u32 kbps = 0;
	u64 now_ns;
	int err;

	spin_lock_bh(&sk->sk_lock.slock);
	now_ns = ktime_get_ns();
	err = bolt_put_id(skb, sk);
	if (!err && bolt_flow_controller(f))
		err = bolt_put_object(skb, f, now_ns);
	if (!err && f->pause.begun)
		err = bolt_put_pause(skb, &f->pause, now_ns);
	/* its fields belong together; at most the rate of a CNM's link, which has 32 bits */
	if (!bolt_sk_is_owned(sk))
		kbps = bolt_cap_kbps(&f->pause.cap, now_ns);
	if (!err && kbps)
		err = nla_put_u32(skb, BOLT_A_FLOW_LIMIT, kbps);
	spin_unlock_bh(&sk->sk_lock.slock);
	return err;
}

static int bolt_put_msg(struct sk_buff *skb, struct netlink_callback *cb, struct bolt_flow *f)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				&bolt_genl_family, NLM_F_MULTI, BOLT_CMD_FLOW_GET);

	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	if (bolt_put_flow(skb, f)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/*
 * Dump the flow if it is one of the namespace that has a controller, or a BTS or a CNM was
 * believed.  Not if messages are only deferred, which would tell an attacker who guesses sequence
 * numbers that a guess was close.
 *
 * The table holds no reference: RCU keeps the memory a socket's, and it is still the socket of @f
 * if the lookup after taking the reference finds @f.
 */
static int bolt_flows_put(struct sk_buff *skb, struct netlink_callback *cb, struct bolt_flow *f)
{
	bool shows = bolt_flow_controller(f) || READ_ONCE(f->pause.begun) ||
		     READ_ONCE(f->pause.cap.next_ns);
	struct sock *sk = f->sk;
	int err = 0;

	if (!shows || f->bn != bolt_net(sock_net(skb->sk)) ||
	    !refcount_inc_not_zero(&sk->sk_refcnt))
		return 0;
	if (bolt_flow_find(sk) == f)
		err = bolt_put_msg(skb, cb, f);
	sock_put(sk);
	return err;
}

static int bolt_flows_start(struct netlink_callback *cb)
{
	struct rhashtable_iter *iter = kzalloc(sizeof(*iter), GFP_KERNEL);

	if (!iter)
		return -ENOMEM;
	rhashtable_walk_enter(&bolt_flows, iter);
	cb->args[0] = (long)iter;
	cb->seq = 1;
	return 0;
}

static int bolt_flows_done(struct netlink_callback *cb)
{
	struct rhashtable_iter *iter = (struct rhashtable_iter *)cb->args[0];

	rhashtable_walk_exit(iter);
	kfree(iter);
	return 0;
}

static void bolt_flows_resume(struct netlink_callback *cb, struct rhashtable_iter *iter)
	__acquires(RCU)
{
	bool placed = iter->p;

	if (rhashtable_walk_start_check(iter) || (placed && !iter->p))
		cb->seq++;
}

static int bolt_flows_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rhashtable_iter *iter = (struct rhashtable_iter *)cb->args[0];
	struct bolt_flow *f;
	unsigned int n = 0;

	bolt_flows_resume(cb, iter);
	/* begin with the one that did not fit into the message before */
	for (f = rhashtable_walk_peek(iter); f; f = rhashtable_walk_next(iter)) {
		if (IS_ERR(f))
			cb->seq++;
		else if (bolt_flows_put(skb, cb, f))
			break;
		/* those of other namespaces may be many, and fill no message */
		if (!(++n % BOLT_FLOWS_RESCHED)) {
			rhashtable_walk_stop(iter);
			cond_resched();
			bolt_flows_resume(cb, iter);
		}
	}
	rhashtable_walk_stop(iter);
	return skb->len;
}

static const struct genl_ops bolt_genl_ops[] = {
	{
		.cmd		= BOLT_CMD_FLOW_GET,
		.start		= bolt_flows_start,
		.dumpit		= bolt_flows_dump,
		.done		= bolt_flows_done,
	},
};

struct genl_family bolt_genl_family __ro_after_init = {
	.name		= BOLT_FAMILY_NAME,
	.version	= BOLT_FAMILY_VERSION,
	.module		= THIS_MODULE,
	.netnsok	= true,
	.parallel_ops	= true,
	.ops		= bolt_genl_ops,
	.n_ops		= ARRAY_SIZE(bolt_genl_ops),
};
