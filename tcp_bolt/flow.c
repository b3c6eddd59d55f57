// SPDX-License-Identifier: GPL-2.0
/*
 * The per-socket object: one table, keyed by the socket's address.
 *
 * Lifetime: an object exists while it has one or both of these users
 *
 *   BOLT_FLOW_CC    added and removed with the socket locked: from the creation by a congestion
 *                   control until TCP releases that (also if its init() never ran)
 *   BOLT_FLOW_HELD  from the first message that is deferred or pauses the socket, until no message
 *                   is deferred, the pause is over and its watchdog's interval has passed; and from
 *                   a fall-back until its callback has returned, and from the answer to a SYN
 *                   until init().  A work item removes it, or the exit of the namespace.  With
 *                   BOLT_FLOW_BTS if a BTS or a CNM was among the messages: then LOCAL_OUT looks
 *                   up every socket
 *
 * and is freed a grace period later.  A reader under RCU may find an object whose socket has just
 * been released; it then only writes to the object.
 */

#include <linux/cgroup.h>
#include <linux/memcontrol.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/inet6_hashtables.h>

#include "bolt.h"

struct rhashtable bolt_flows;
struct workqueue_struct *bolt_wq;
static work_func_t bolt_held_work __ro_after_init;	/* held.c */

static const struct rhashtable_params bolt_flow_params = {
	.key_len	= sizeof(struct sock *),
	.key_offset	= offsetof(struct bolt_flow, sk),
	.head_offset	= offsetof(struct bolt_flow, node),
	.automatic_shrinking = true,
};

/* The connection from peer @saddr to local @daddr, on the device by which @skb came in */
struct sock *bolt_find_sock(struct net *net, struct sk_buff *skb, const void *saddr, __be16 sport,
			    const void *daddr, __be16 dport, bool ip6)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (ip6)
		return bolt_lookup(__inet6_lookup_established, net, saddr, sport, daddr,
				   ntohs(dport), skb->dev->ifindex, inet6_sdif(skb));
#endif
	return bolt_lookup(__inet_lookup_established, net, *(__be32 *)saddr, sport,
			   *(__be32 *)daddr, ntohs(dport), skb->dev->ifindex, inet_sdif(skb));
}

/* The object of @sk, for any user.  Context: RCU */
struct bolt_flow *bolt_flow_find(const struct sock *sk)
{
	return rhashtable_lookup(&bolt_flows, &sk, bolt_flow_params);
}

/* The object of @sk if that uses bolt or swift.  Context: RCU */
struct bolt_flow *bolt_flow_lookup(const struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_find(sk);

	/* pairs with the release in bolt_flow_get(): state of an earlier use is cleared */
	return f && smp_load_acquire(&f->users) & BOLT_FLOW_CC ? f : NULL;
}

/* Remove users, and free the object after the last one.  Context: bn->flow_lock held */
void bolt_flow_put(struct bolt_flow *f, u8 user)
{
	user &= f->users;
	if (user & BOLT_FLOW_CC)
		WRITE_ONCE(f->bn->flows, f->bn->flows - 1);
	if (user & BOLT_FLOW_BTS)
		WRITE_ONCE(f->bn->bts_count, f->bn->bts_count - 1);
	WRITE_ONCE(f->users, f->users & ~user);
	if (!f->users) {
		rhashtable_remove_fast(&bolt_flows, &f->node, bolt_flow_params);
		kfree_rcu(f, rcu);
	}
}

/* What release() does for BOLT_FLOW_CC.  Context: BH off */
void bolt_flow_drop(struct bolt_flow *f)
{
	spin_lock_bh(&f->bn->flow_lock);
	bolt_flow_put(f, BOLT_FLOW_CC);
	spin_unlock_bh(&f->bn->flow_lock);
}

/* Section 3.2: if it is data, count INC, and store what the next ACK echoes. */
void bolt_rx_data(struct bolt_flow *f, const struct bolt_rx *rx)
{
	bool dec = rx->opt.flags & BOLT_F_DEC;

	if (!(rx->opt.flags & BOLT_F_DATA) || !rx->payload)
		return;
	if (rx->opt.flags & BOLT_F_INC) {
		atomic_add(rx->segs, &f->rx_inc);
		BOLT_ADD_STATS(f->bn, IncRx, rx->segs);
	}
	if (dec)
		BOLT_ADD_STATS(f->bn, DecRx, rx->segs);
	WRITE_ONCE(f->rx_dec, dec);
	WRITE_ONCE(f->rx_hops, bolt_hops_of_ttl(rx->ttl));
	WRITE_ONCE(f->rx_at, (u32)rx->at_ns);
	WRITE_ONCE(f->rx_t_data_tx, rx->opt.t_data_tx);
}

/* The memory control group of @sk, with a reference.  A child has its listener's. */
static struct mem_cgroup *bolt_memcg_get(struct sock *sk)
{
#if defined(CONFIG_MEMCG) && defined(CONFIG_SOCK_CGROUP_DATA)
	if (!mem_cgroup_disabled())
		return mem_cgroup_from_css(cgroup_get_e_css(sock_cgroup_ptr(&sk->sk_cgrp_data),
							    &memory_cgrp_subsys));
#endif
	return NULL;
}

/*
 * Memory for @sk, charged to its control group: softirq, too, creates objects, and messages wait
 * for a user.
 */
void *bolt_sk_zalloc(struct sock *sk, size_t size)
{
	struct mem_cgroup *memcg = bolt_memcg_get(sk), *before = set_active_memcg(memcg);
	void *p = kzalloc(size, GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);

	set_active_memcg(before);
	mem_cgroup_put(memcg);
	return p;
}

static struct bolt_flow *bolt_flow_alloc(struct bolt_net *bn, struct sock *sk)
{
	struct bolt_flow *f = bolt_sk_zalloc(sk, sizeof(*f));

	if (!f)
		return NULL;
	f->sk = sk;
	f->bn = bn;
	f->clock_offset = get_random_u32();
	INIT_DELAYED_WORK(&f->work, bolt_held_work);
	if (rhashtable_lookup_insert_fast(&bolt_flows, &f->node, bolt_flow_params)) {
		kfree(f);
		return NULL;
	}
	return f;
}

/*
 * Add users to the object of @sk, which is created if needed; NULL: no memory.
 * Context: for BOLT_FLOW_CC the socket is locked.  The spinlock is not enough: a user who owns the
 * socket and releases the congestion control would leave this object behind.  For the other two it
 * is, and so is a deferred message that is run, so that the user exists.
 */
struct bolt_flow *bolt_flow_get(struct sock *sk, u8 user)
{
	struct bolt_net *bn = bolt_net(sock_net(sk));
	struct bolt_flow *f;

	spin_lock_bh(&bn->flow_lock);
	f = rhashtable_lookup_fast(&bolt_flows, &sk, bolt_flow_params) ?: bolt_flow_alloc(bn, sk);
	if (f) {
		user &= ~f->users;
		if (user & BOLT_FLOW_CC) {
			memset_startat(f, 0, rx_inc);
			/* held since the socket's last connection, whose peer knows it */
			if (f->users)
				f->clock_offset = get_random_u32();
			WRITE_ONCE(bn->flows, bn->flows + 1);
		}
		if (user & BOLT_FLOW_HELD) {
			sock_hold(sk);
			list_add(&f->list, &bn->held);
			queue_delayed_work(bolt_wq, &f->work, 1);
		}
		if (user & BOLT_FLOW_BTS)
			WRITE_ONCE(bn->bts_count, bn->bts_count + 1);
		/* pairs with the acquire in bolt_flow_lookup() */
		smp_store_release(&f->users, f->users | user);
	}
	spin_unlock_bh(&bn->flow_lock);
	return f;
}
EXPORT_SYMBOL_GPL(bolt_flow_get);		/* for KUnit */

/*
 * The connection is about to be established, and init() to be called; but BPF programs run before
 * that and may select another congestion control, without release() (BOLT_RELEASE_NEEDS_INIT).
 * Then the work item does that.
 * Context: socket locked
 */
void bolt_flow_await_init(struct sock *sk)
{
	inet_csk(sk)->icsk_ca_initialized = 0;
	if (!BOLT_RELEASE_NEEDS_INIT)
		return;
	rcu_read_lock();
	if (bolt_flow_lookup(sk))
		bolt_flow_get(sk, BOLT_FLOW_HELD);
	rcu_read_unlock();
}

int bolt_flow_module_init(work_func_t work)
{
	bolt_held_work = work;
	return rhashtable_init(&bolt_flows, &bolt_flow_params);
}

/* Sockets hold the module, and each has released its object. */
void bolt_flow_module_exit(void)
{
	WARN_ON(atomic_read(&bolt_flows.nelems));
	rhashtable_destroy(&bolt_flows);
}
