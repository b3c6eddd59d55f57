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
 *                   BOLT_FLOW_BTS if a BTS was among the messages: then LOCAL_OUT looks up every
 *                   socket
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
static void bolt_flow_put(struct bolt_flow *f, u8 user)
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

/*
 * Remove BOLT_FLOW_HELD.  Returns false if bolt_flow_exit() does it, after which the namespace may
 * be gone.
 * Context: socket's spinlock held
 */
static bool bolt_flow_unhold(struct bolt_flow *f)
{
	struct bolt_net *bn = f->bn;
	bool linked;

	spin_lock(&bn->flow_lock);
	linked = !list_empty(&f->list);
	if (linked) {
		list_del_init(&f->list);
		bolt_flow_put(f, BOLT_FLOW_HELD | BOLT_FLOW_BTS);
	}
	spin_unlock(&bn->flow_lock);
	return linked;
}

/* What release() does for BOLT_FLOW_CC.  Context: BH off */
static void bolt_flow_drop(struct bolt_flow *f)
{
	spin_lock_bh(&f->bn->flow_lock);
	bolt_flow_put(f, BOLT_FLOW_CC);
	spin_unlock_bh(&f->bn->flow_lock);
}

/*
 * Likewise where it was not called, see bolt_flow_await_init().  A closed socket does not hold the
 * module of its operations, so do not look into them.  Context: socket's spinlock held
 */
static void bolt_flow_drop_unreleased(struct bolt_flow *f)
{
	const struct tcp_congestion_ops *ops = READ_ONCE(inet_csk(f->sk)->icsk_ca_ops);

	if (f->users & BOLT_FLOW_CC && !f->ctl && ops != &bolt_cc_bolt.tcp &&
	    ops != &bolt_cc_swift.tcp)
		bolt_flow_drop(f);
}

/* Put the references of bolt_fall_back(). */
static void bolt_flow_left(unsigned int leaving)
{
	while (leaving--)
		module_put(THIS_MODULE);
}

/*
 * Run deferred messages if the owner sent nothing and no ACK arrived, and end the pause.  Never
 * wait for the owner: a user may own the socket for ever, while a page fault is not resolved.
 */
static void bolt_flow_work(struct work_struct *work)
{
	struct bolt_flow *f = container_of(to_delayed_work(work), struct bolt_flow, work);
	unsigned long wait = HZ;	/* while a user owns the socket; his packets do it too */
	struct sock *sk = f->sk;
	unsigned int leaving = 0;
	bool over = false;
	u64 keep_ns;

	spin_lock_bh(&sk->sk_lock.slock);
	if (!bolt_sk_is_owned(sk)) {
		bolt_deferred_run(f, sk);
		bolt_flow_drop_unreleased(f);
		swap(leaving, f->leaving);
		keep_ns = bolt_pause_left(sk, f);
		wait = nsecs_to_jiffies(keep_ns) + 1;
		if (!keep_ns) {
			bolt_pause_end(sk, f);
			/* queued again while this one ran */
			cancel_delayed_work(&f->work);
			over = bolt_flow_unhold(f);
		}
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	if (over)
		sock_put(sk);
	else
		queue_delayed_work(bolt_wq, &f->work, wait);
	/* unloading flushes the workqueue, so it waits for the end of this function */
	bolt_flow_left(leaving);
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
	INIT_DELAYED_WORK(&f->work, bolt_flow_work);
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
EXPORT_SYMBOL_GPL(bolt_flow_get);

/*
 * The connection is about to be established, and init() to be called.  From Linux 6.13 on TCP calls
 * release() only after init(), but BPF programs run before that and may select another congestion
 * control.  Then the work item does what release() would.
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

/* The congestion control's release(), which TCP calls once per assignment */
void bolt_flow_release(struct sock *sk)
{
	struct bolt_flow *f;

	bolt_flow_set_locked(sk, NULL);
	rcu_read_lock();
	f = bolt_flow_lookup(sk);
	if (f) {
		WRITE_ONCE(f->ctl, NULL);
		bolt_detach(sk, f);
		bolt_flow_drop(f);
	}
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(bolt_flow_release);

/* Paused flows resume at once.  No message arrives any more, and no packet passes LOCAL_OUT. */
void bolt_flow_exit(struct bolt_net *bn)
{
	struct bolt_flow *f;
	struct sock *sk;

	for (;;) {
		spin_lock_bh(&bn->flow_lock);
		f = list_first_entry_or_null(&bn->held, struct bolt_flow, list);
		if (f)
			list_del_init(&f->list);
		spin_unlock_bh(&bn->flow_lock);
		if (!f)
			return;
		cancel_delayed_work_sync(&f->work);
		sk = f->sk;
		spin_lock_bh(&sk->sk_lock.slock);
		bolt_pause_end(sk, f);
		bolt_deferred_drop(f);
		bolt_flow_drop_unreleased(f);
		bolt_flow_left(f->leaving);
		spin_lock(&bn->flow_lock);
		bolt_flow_put(f, BOLT_FLOW_HELD | BOLT_FLOW_BTS);
		spin_unlock(&bn->flow_lock);
		spin_unlock_bh(&sk->sk_lock.slock);
		sock_put(sk);
	}
}

int bolt_flow_module_init(void)
{
	return rhashtable_init(&bolt_flows, &bolt_flow_params);
}

/* Sockets hold the module, and each has released its object. */
void bolt_flow_module_exit(void)
{
	WARN_ON(atomic_read(&bolt_flows.nelems));
	rhashtable_destroy(&bolt_flows);
}
