// SPDX-License-Identifier: GPL-2.0
/*
 * A connection without the option falls back to net.bolt.fallback, the congestion control that the
 * namespace would use without Bolt: init(), or an ACK, exchanges the operations as
 * setsockopt(TCP_CONGESTION) does, with the socket locked, a reference on the new module, and all
 * of icsk_ca_priv cleared.
 *
 * The socket's reference on our own module cannot be put there: the callback returns into code that
 * may then be unloaded.  bolt_fall_back() leaves it to the flow's work item.
 *
 * The kernel exports no function to find a congestion control by name, but a socket that selects it
 * points to it.  The setting keeps this pointer, with a reference on the module.
 */

#include <linux/net.h>

#include "bolt.h"

/* for new namespaces */
static const struct tcp_congestion_ops *bolt_fallback_default;

/*
 * A congestion control without cong_control() takes over: set sk_pacing_rate as TCP does with each
 * ACK (tcp_update_pacing_rate()), since the next ACK may come only after a flight of data.
 */
static void bolt_pacing_as_tcp(struct sock *sk)
{
	const struct netns_ipv4 *ipv4 = &sock_net(sk)->ipv4;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u64 rate;

	rate = (u64)tp->mss_cache * ((USEC_PER_SEC / 100) << 3) * max(cwnd, tp->packets_out);
	rate *= cwnd < tp->snd_ssthresh / 2 ? READ_ONCE(ipv4->sysctl_tcp_pacing_ss_ratio) :
					      READ_ONCE(ipv4->sysctl_tcp_pacing_ca_ratio);
	if (tp->srtt_us)
		rate = div_u64(rate, tp->srtt_us);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Like tcp_reinit_congestion_control().  Context: socket locked, its object released */
void bolt_fallback_begin(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_congestion_ops *ca;

	bolt_pacing_as_tcp(sk);
	rcu_read_lock();
	ca = rcu_dereference(bolt_net(sock_net(sk))->fallback);
	__module_get(ca->owner);
	rcu_read_unlock();
	WRITE_ONCE(icsk->icsk_ca_ops, ca);
	memset(icsk->icsk_ca_priv, 0, sizeof(icsk->icsk_ca_priv));
	tcp_sk(sk)->prior_ssthresh = 0;
	if (ca->init)
		ca->init(sk);
	icsk->icsk_ca_initialized = 1;
}

/*
 * Find a congestion control by name, with a reference on its module.  It is loaded only if the
 * calling process has the right to load it; otherwise -ENOENT.
 */
static const struct tcp_congestion_ops *bolt_fallback_find(struct net *net, const char *name)
{
	const struct tcp_congestion_ops *ca;
	struct socket *sock;
	int err;

	err = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return ERR_PTR(err);
	err = sock->sk->sk_prot->setsockopt(sock->sk, SOL_TCP, TCP_CONGESTION,
					    KERNEL_SOCKPTR((void *)name), strlen(name));
	ca = inet_csk(sock->sk)->icsk_ca_ops;
	/*
	 * not bolt or swift, which would fall back again; not a BPF program, which has no module to
	 * hold; not one that needs ECN from the network
	 */
	if (!err && (ca->owner == THIS_MODULE || ca->owner == BPF_MODULE_OWNER ||
		     ca->flags & TCP_CONG_NEEDS_ECN))
		err = -EINVAL;
	if (!err)
		__module_get(ca->owner);
	sock_release(sock);
	return err ? ERR_PTR(err) : ca;
}

int bolt_fallback_set(struct bolt_net *bn, char *name)
{
	const struct tcp_congestion_ops *ca = bolt_fallback_find(bn->net, name);

	if (IS_ERR(ca))
		return PTR_ERR(ca);
	ca = unrcu_pointer(xchg(&bn->fallback, RCU_INITIALIZER(ca)));
	synchronize_rcu();
	module_put(ca->owner);
	return 0;
}

void bolt_fallback_name(struct bolt_net *bn, char *name)
{
	rcu_read_lock();
	strscpy(name, rcu_dereference(bn->fallback)->name, TCP_CA_NAME_MAX);
	rcu_read_unlock();
}

void bolt_fallback_init(struct bolt_net *bn)
{
	__module_get(bolt_fallback_default->owner);
	RCU_INIT_POINTER(bn->fallback, bolt_fallback_default);
}

/* The namespace has no sockets any more that could fall back. */
void bolt_fallback_exit(struct bolt_net *bn)
{
	module_put(rcu_dereference_protected(bn->fallback, true)->owner);
}

/* The default is cubic, or Reno, which all kernels have, if there is no cubic. */
int bolt_fallback_module_init(void)
{
	bolt_fallback_default = bolt_fallback_find(&init_net, "cubic");
	if (IS_ERR(bolt_fallback_default))
		bolt_fallback_default = bolt_fallback_find(&init_net, "reno");
	return PTR_ERR_OR_ZERO(bolt_fallback_default);
}

void bolt_fallback_module_exit(void)
{
	module_put(bolt_fallback_default->owner);
}
