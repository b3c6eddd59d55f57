// SPDX-License-Identifier: GPL-2.0
/*
 * The end of BOLT_FLOW_HELD, which flow.c begins: the work item, and the exit of the namespace.
 */

#include "bolt.h"

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

/*
 * What release() does, where it was not called, see bolt_flow_await_init().  A closed socket does
 * not hold the module of its operations, so do not look into them.  Context: socket's spinlock held
 */
static void bolt_flow_drop_unreleased(struct bolt_flow *f)
{
	if (f->users & BOLT_FLOW_CC && !f->ctl && !bolt_sk_controller(f->sk))
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
void bolt_flow_work(struct work_struct *work)
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
