// SPDX-License-Identifier: GPL-2.0
/*
 * The per-socket object: one table, keyed by the socket's address, and before it an array of hints
 * that answers for most packets in one look.
 *
 * Lifetime: created under the socket's spinlock, removed when TCP releases the congestion
 * control (also when init never ran), freed a grace period later.  A reader under RCU
 * may see an object whose socket has just gone; it only writes into the object.
 */

#include <linux/hash.h>
#include <linux/slab.h>

#include "bolt.h"

static struct rhashtable bolt_flows;

struct bolt_flow __rcu *bolt_flow_hints[BOLT_FLOW_HINTS];

/* Nobody chooses addresses: a product will do, and a comparison of one word. */
static inline u32 bolt_flow_hash(const void *key, u32 len, u32 seed)
{
	return hash_ptr(*(struct sock * const *)key, 32) ^ seed;
}

static inline int bolt_flow_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	return ((const struct bolt_flow *)obj)->sk != *(struct sock * const *)arg->key;
}

static const struct rhashtable_params bolt_flow_params = {
	.key_len	= sizeof(struct sock *),
	.key_offset	= offsetof(struct bolt_flow, sk),
	.head_offset	= offsetof(struct bolt_flow, node),
	.hashfn		= bolt_flow_hash,
	.obj_cmpfn	= bolt_flow_cmp,
	.automatic_shrinking = true,
};

struct bolt_flow *bolt_flow_lookup_table(const struct sock *sk)
{
	return rhashtable_lookup(&bolt_flows, &sk, bolt_flow_params);
}

/* Not in the table any more; before its grace period begins.  A newer flow's entry stays. */
static void bolt_flow_unhint(struct bolt_flow *f)
{
	unrcu_pointer(cmpxchg(bolt_flow_hint(f->sk), RCU_INITIALIZER(f), NULL));
}

/* False when the last reference has gone: the object only waits for its grace period. */
bool bolt_flow_hold(struct bolt_flow *f)
{
	return refcount_inc_not_zero(&f->refcnt);
}

void bolt_flow_put(struct bolt_flow *f)
{
	if (refcount_dec_and_test(&f->refcnt))
		kfree_rcu(f, rcu);
}

/* Take up what was decided while a user owned the socket.  Under the socket lock. */
void bolt_flow_take_up(struct bolt_flow *f, struct sock *sk)
{
	bolt_cc_adjust(sk, f, atomic_xchg(&f->pending, 0));
}

/* The backstop: the owner sent nothing and no ACK came in. */
static void bolt_flow_work(struct work_struct *work)
{
	struct bolt_flow *f = container_of(work, struct bolt_flow, work);
	struct sock *sk = f->sk;

	lock_sock(sk);
	/* released in between: the window is another congestion control's by now */
	if (bolt_sk_uses(sk) && bolt_flow_locked(sk) == f && atomic_read(&f->pending))
		bolt_flow_take_up(f, sk);
	release_sock(sk);
	sock_put(sk);
	bolt_flow_put(f);
}

/*
 * Put off a change of cwnd; the caller holds the spinlock of a socket owned by a user.  That user
 * may be the one who takes the congestion control away: then there is nothing to put off.
 */
void bolt_flow_defer(struct bolt_flow *f, struct sock *sk, int packets)
{
	if (!bolt_flow_hold(f))
		return;
	atomic_add(packets, &f->pending);
	sock_hold(sk);
	if (!queue_work(bolt_wq, &f->work)) {
		/* queued already, with references of its own */
		bolt_flow_put(f);
		sock_put(sk);
	}
}

/*
 * The object of @sk, made if there is none; NULL when there is no memory.  Called under the
 * socket's spinlock.
 */
struct bolt_flow *bolt_flow_create(struct sock *sk)
{
	struct bolt_flow *f;

	rcu_read_lock();
	f = bolt_flow_lookup(sk);
	rcu_read_unlock();
	if (f)
		return f;

	f = kzalloc(sizeof(*f), GFP_ATOMIC | __GFP_NOWARN);
	if (!f)
		return NULL;
	f->sk = sk;
	f->bn = bolt_net(sock_net(sk));
	f->last_inc = 256;
	refcount_set(&f->refcnt, 1);
	INIT_WORK(&f->work, bolt_flow_work);
	bolt_cc_flow_init(f);
	/* first: connect() may own the socket, and release f as soon as it is in the table */
	rcu_assign_pointer(*bolt_flow_hint(sk), f);
	if (rhashtable_lookup_insert_fast(&bolt_flows, &f->node, bolt_flow_params)) {
		bolt_flow_unhint(f);
		kfree_rcu(f, rcu);
		return NULL;
	}
	return f;
}
EXPORT_SYMBOL_GPL(bolt_flow_create);

/* From the congestion control's release(), which TCP calls once per assignment. */
void bolt_flow_release(struct sock *sk)
{
	struct bolt_flow *f;

	bolt_flow_set_locked(sk, NULL);
	rcu_read_lock();
	f = bolt_flow_lookup(sk);
	if (f && !rhashtable_remove_fast(&bolt_flows, &f->node, bolt_flow_params)) {
		bolt_flow_unhint(f);
		WRITE_ONCE(f->ready, 0);
		bolt_cc_flow_stop(sk, f);
		bolt_detach(sk, f);
		bolt_unreserve(sk, f);
		bolt_flow_put(f);
	}
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(bolt_flow_release);

/* For a walk; see genl.c */
struct rhashtable *bolt_flow_table(void)
{
	return &bolt_flows;
}

unsigned int bolt_flow_buckets(void)
{
	unsigned int size;

	rcu_read_lock();
	size = rht_dereference_rcu(bolt_flows.tbl, &bolt_flows)->size;
	rcu_read_unlock();
	return size;
}

int bolt_flow_module_init(void)
{
	return rhashtable_init(&bolt_flows, &bolt_flow_params);
}

static void bolt_flow_free(void *f, void *arg)
{
	kfree(f);
}

/* An object made by a SYN-ACK whose socket was given another congestion control is left over. */
void bolt_flow_module_exit(void)
{
	rhashtable_free_and_destroy(&bolt_flows, bolt_flow_free, NULL);
}
