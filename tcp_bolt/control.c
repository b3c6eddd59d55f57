// SPDX-License-Identifier: GPL-2.0
/*
 * Reception of control messages from switches, on the sockets shared with sfc_hold (ctl.c).
 *
 * A message is accepted only if it is well-formed, its tag and TTL are valid, it was not sent by
 * this host and comes from the control port, it quotes a packet of a TCP connection of this host
 * (for an SRC, one that uses bolt), and it echoes a value from that packet (feedback.c).  Each
 * refusal has its own counter, and no message is ever answered.
 */

#include <net/udp.h>

#include <bolt_ctl.h>
#include "bolt.h"

/* *@about is set to the connection that the message is about, with a reference, if one is found */
static enum bolt_mib_item bolt_control_handle(struct bolt_net *bn, struct sk_buff *skb,
					      const u8 *p, unsigned int len, struct sock **about)
{
	enum bolt_msg_verdict verdict;
	const struct bolt_keys *keys;
	enum bolt_mib_item ret;
	struct bolt_msg m;
	struct sock *sk;

	if (!p)
		return BOLT_MIB_CtlLength;
	verdict = bolt_msg_parse(p, len, &m);
	/* its counters are in the order of the verdicts */
	BUILD_BUG_ON(BOLT_MIB_CtlQuote - BOLT_MIB_CtlShort != BOLT_MSG_QUOTE - BOLT_MSG_SHORT);
	if (verdict != BOLT_MSG_OK)
		return BOLT_MIB_CtlShort + verdict - BOLT_MSG_SHORT;
	if (m.type != BOLT_CTL_SRC && !READ_ONCE(bn->sfc))
		return BOLT_MIB_BtsOff;
	if (m.protocol != IPPROTO_TCP)
		return BOLT_MIB_CtlQuote;
	if (bolt_ctl_ttl(skb) < READ_ONCE(bn->min_ttl))
		return BOLT_MIB_CtlTtl;
	/* without a key all messages pass, as not verified */
	keys = rcu_dereference(bn->tag_key);
	m.verified = keys && bolt_msg_tag_ok(p, len, keys);
	if (keys && !m.verified)
		return BOLT_MIB_CtlTag;
	if (bolt_ctl_is_local(skb))
		return BOLT_MIB_CtlLocal;
	/* an unprivileged process cannot send from it where the port is open as here */
	if (udp_hdr(skb)->source != udp_hdr(skb)->dest)
		return BOLT_MIB_CtlPort;

	/* the quoted packet was sent by this host, so its source is our local address */
	sk = bolt_find_sock(bn->net, skb, m.daddr, m.dport, m.saddr, m.sport, m.family == 6);
	if (sk && !sk_fullsock(sk)) {
		sock_gen_put(sk);
		sk = NULL;
	}
	if (!sk)
		return BOLT_MIB_CtlNoSocket;
	*about = sk;
	bh_lock_sock(sk);
	ret = bolt_feedback(sk, &m);
	bh_unlock_sock(sk);
	return ret;
}

/* A bolt_ctl_receive.  Ignores a port that only sfc_hold has opened. */
bool bolt_control_receive(struct net *net, u16 port, struct sk_buff *skb, const u8 *p,
			  unsigned int len)
{
	struct bolt_net *bn = bolt_net(net);
	struct sock *about = NULL;
	enum bolt_mib_item item;

	if (!READ_ONCE(bn->ctl_open) || port != READ_ONCE(bn->port))
		return false;
	BOLT_INC_STATS(bn, CtlRx);
	item = bolt_control_handle(bn, skb, p, len, &about);
	if (item != BOLT_CTL_ACCEPTED)
		bolt_refuse(bn, skb, about, item);
	if (about)
		sock_put(about);
	return true;
}

/* --- opening and closing --- */

/* The port is open when this returns 0: for net.bolt.sfc, as the module is loaded, for a socket. */
int bolt_control_open(struct bolt_net *bn)
{
	int err = 0;

	mutex_lock(&bn->ctl_lock);
	if (!bn->ctl_open)
		err = bolt_ctl_open(bn->net, bn->port);
	if (!err) {
		WRITE_ONCE(bn->ctl_open, true);
	} else {
		WRITE_ONCE(bn->ctl_retry, jiffies + HZ);
		net_warn_ratelimited("tcp_bolt: control port %d cannot be opened (%d): nothing will be heard from switches\n",
				     bn->port, err);
	}
	mutex_unlock(&bn->ctl_lock);
	return err;
}

static void bolt_control_work(struct work_struct *work)
{
	bolt_control_open(container_of(to_delayed_work(work), struct bolt_net, open_work));
}

/*
 * Open the port for the first socket that uses bolt; if that fails, since a process has taken the
 * port, a next one tries again, a second after that at the earliest.  Opening sleeps: use a work
 * item.
 */
void bolt_control_want(struct bolt_net *bn)
{
	unsigned long wait = READ_ONCE(bn->ctl_retry) - jiffies;

	/* more than a second: that time has passed, however long ago */
	if (!READ_ONCE(bn->ctl_open))
		queue_delayed_work(bolt_wq, &bn->open_work, wait <= HZ ? wait : 0);
}

/* net.bolt.port: the new port is open before the old one closes, or nothing changes. */
int bolt_control_rebind(struct bolt_net *bn, int port)
{
	int old, err = 0;

	mutex_lock(&bn->ctl_lock);
	old = bn->port;
	if (bn->ctl_open)
		err = bolt_ctl_open(bn->net, port);
	if (!err) {
		WRITE_ONCE(bn->port, port);
		WRITE_ONCE(bn->ctl_retry, jiffies);
		if (bn->ctl_open)
			bolt_ctl_close(bn->net, old);
	}
	mutex_unlock(&bn->ctl_lock);
	return err;
}

void bolt_control_init(struct bolt_net *bn)
{
	mutex_init(&bn->ctl_lock);
	INIT_DELAYED_WORK(&bn->open_work, bolt_control_work);
}

/* The namespace exits, and a grace period passes before bolt_control_exit(). */
void bolt_control_pre_exit(struct bolt_net *bn)
{
	mutex_lock(&bn->ctl_lock);
	if (bn->ctl_open)
		bolt_ctl_close(bn->net, bn->port);
	/* its last sockets shall not open it again */
	WRITE_ONCE(bn->ctl_open, true);
	mutex_unlock(&bn->ctl_lock);
}

void bolt_control_exit(struct bolt_net *bn)
{
	cancel_delayed_work_sync(&bn->open_work);
	kfree_sensitive(rcu_dereference_protected(bn->tag_key, true));
}
