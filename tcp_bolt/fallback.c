// SPDX-License-Identifier: GPL-2.0
/*
 * A connection without the option falls back to net.bolt.fallback, the congestion control that the
 * namespace would use without Bolt.
 *
 *	init(), ACK	no option -----------> bolt_reno, at once
 *	work item	socket locked -------> net.bolt.fallback; our module is put
 *
 * init() and cong_control() cannot replace the congestion control themselves: they would put the
 * last reference on this module and return into code that may be unloaded.  So the socket runs Reno
 * from this module, until a work item replaces the operations as setsockopt(TCP_CONGESTION) does:
 * with the socket locked, a reference on the new module, and all of icsk_ca_priv cleared.  The
 * module waits for the work item when it is unloaded.
 *
 * The kernel exports no function to find a congestion control by name, but a socket that selects it
 * points to it.  The setting keeps this pointer, with a reference on the module.
 */

#include <linux/net.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "bolt.h"

/* for new namespaces; NULL: Reno */
static const struct tcp_congestion_ops *bolt_fallback_default;

/*
 * Reno, for sockets without the option, or without memory.  It is never registered, only assigned
 * to a socket of bolt or swift, which keeps its reference on this module.
 */
static struct tcp_congestion_ops bolt_reno __read_mostly = {
	.release	= bolt_flow_release,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "bolt-reno",
};

/* --- one socket --- */

/* Retry interval while a user owns the socket */
#define BOLT_FALLBACK_RETRY	(HZ / 10)

/* Holds a reference on this module: the timer of a delayed work item may outlive its workqueue */
struct bolt_fallback {
	struct delayed_work		work;
	struct sock			*sk;
	const struct tcp_congestion_ops	*ca;	/* holds a reference on its module */
};

/* Like tcp_reinit_congestion_control(), for a socket whose object is released */
static void bolt_fallback_exchange(struct sock *sk, const struct tcp_congestion_ops *ca)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	WRITE_ONCE(icsk->icsk_ca_ops, ca);
	memset(icsk->icsk_ca_priv, 0, sizeof(icsk->icsk_ca_priv));
	tcp_sk(sk)->prior_ssthresh = 0;
	/* for a new connection, TCP calls init() once it is established */
	if (icsk->icsk_ca_initialized && ca->init)
		ca->init(sk);
}

/*
 * By now the user may have closed the socket or selected another congestion control.  A user may
 * also own the socket for ever, while a page fault is not resolved.  All namespaces share the
 * workqueue, so retry instead of waiting for the owner.
 */
static void bolt_fallback_work(struct work_struct *work)
{
	struct bolt_fallback *fb = container_of(to_delayed_work(work), struct bolt_fallback, work);
	struct module *unused = fb->ca->owner;
	struct sock *sk = fb->sk;
	bool owned;

	spin_lock_bh(&sk->sk_lock.slock);
	owned = sock_owned_by_user(sk);
	if (!owned && inet_csk(sk)->icsk_ca_ops == &bolt_reno && sk->sk_state != TCP_CLOSE) {
		bolt_fallback_exchange(sk, fb->ca);
		unused = THIS_MODULE;
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	if (owned) {
		queue_delayed_work(bolt_wq, &fb->work, BOLT_FALLBACK_RETRY);
		return;
	}
	sock_put(sk);
	kfree(fb);
	module_put(unused);
	/* unloading flushes the workqueue, so it waits for the end of this function */
	module_put(THIS_MODULE);
}

static const struct tcp_congestion_ops *bolt_fallback_get(struct bolt_net *bn)
{
	const struct tcp_congestion_ops *ca;

	rcu_read_lock();
	ca = rcu_dereference(bn->fallback);
	if (ca && !try_module_get(ca->owner))
		ca = NULL;
	rcu_read_unlock();
	return ca;
}

/* Without memory the socket stays with Reno.  Context: socket locked, its object released */
void bolt_fallback_begin(struct sock *sk)
{
	const struct tcp_congestion_ops *ca = bolt_fallback_get(bolt_net(sock_net(sk)));
	struct bolt_fallback *fb;

	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &bolt_reno);
	if (!ca)
		return;
	fb = kmalloc(sizeof(*fb), GFP_ATOMIC | __GFP_NOWARN);
	if (!fb) {
		module_put(ca->owner);
		return;
	}
	sock_hold(sk);
	__module_get(THIS_MODULE);
	fb->sk = sk;
	fb->ca = ca;
	INIT_DELAYED_WORK(&fb->work, bolt_fallback_work);
	queue_delayed_work(bolt_wq, &fb->work, 0);
}

/* --- the setting --- */

/*
 * Not bolt or swift, which would fall back again; not one that needs ECN from the network; not a
 * BPF program, which has no module to hold.
 */
static bool bolt_fallback_fits(const struct tcp_congestion_ops *ca)
{
	return ca->owner != THIS_MODULE && ca->owner != BPF_MODULE_OWNER &&
	       !(ca->flags & TCP_CONG_NEEDS_ECN);
}

/*
 * Find a congestion control by name, with a reference on its module.  It is loaded only if the
 * calling process has the right to load it; otherwise -ENOENT.
 */
static const struct tcp_congestion_ops *bolt_fallback_find(struct net *net, char *name)
{
	const struct tcp_congestion_ops *ca;
	struct socket *sock;
	int err;

	err = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return ERR_PTR(err);
	err = sock->sk->sk_prot->setsockopt(sock->sk, SOL_TCP, TCP_CONGESTION,
					    KERNEL_SOCKPTR(name), strlen(name));
	ca = inet_csk(sock->sk)->icsk_ca_ops;
	if (!err && !bolt_fallback_fits(ca))
		err = -EINVAL;
	if (!err)
		__module_get(ca->owner);
	sock_release(sock);
	return err ? ERR_PTR(err) : ca;
}

static void bolt_fallback_put(const struct tcp_congestion_ops *ca)
{
	if (ca)
		module_put(ca->owner);
}

/* "reno" stands for bolt_reno, which needs no other module. */
int bolt_fallback_set(struct bolt_net *bn, char *name)
{
	const struct tcp_congestion_ops *ca = NULL;

	if (strcmp(name, "reno"))
		ca = bolt_fallback_find(bn->net, name);
	if (IS_ERR(ca))
		return PTR_ERR(ca);
	ca = unrcu_pointer(xchg(&bn->fallback, RCU_INITIALIZER(ca)));
	if (ca)
		synchronize_rcu();
	bolt_fallback_put(ca);
	return 0;
}

void bolt_fallback_name(struct bolt_net *bn, char *name, size_t size)
{
	const struct tcp_congestion_ops *ca;

	rcu_read_lock();
	ca = rcu_dereference(bn->fallback);
	strscpy(name, ca ? ca->name : "reno", size);
	rcu_read_unlock();
}

void bolt_fallback_init(struct bolt_net *bn)
{
	if (bolt_fallback_default)
		__module_get(bolt_fallback_default->owner);
	RCU_INIT_POINTER(bn->fallback, bolt_fallback_default);
}

/* The namespace has no sockets any more that could fall back. */
void bolt_fallback_exit(struct bolt_net *bn)
{
	bolt_fallback_put(rcu_dereference_protected(bn->fallback, true));
}

/* The default is cubic, or Reno if there is no cubic. */
void bolt_fallback_module_init(void)
{
	char name[] = "cubic";
	const struct tcp_congestion_ops *ca = bolt_fallback_find(&init_net, name);

	bolt_fallback_default = IS_ERR(ca) ? NULL : ca;
}

void bolt_fallback_module_exit(void)
{
	bolt_fallback_put(bolt_fallback_default);
}
