// SPDX-License-Identifier: GPL-2.0
/*
 * The UDP sockets on which a host hears from switches.
 *
 * A message is believed only if it is whole, its tag and TTL are right, the flow it quotes is
 * a connection of this host (that uses bolt, for an SRC), the quoted packet is in flight, and its
 * timestamp is one this host could have sent just now.  Each refusal has its own counter, and
 * nothing is ever answered.
 */

#include <net/inet_hashtables.h>
#include <net/inet6_hashtables.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "bolt.h"
#include "bolt_msg.h"

static const enum bolt_mib_item bolt_refusal[] = {
	[BOLT_MSG_SHORT]	= BOLT_MIB_CtlShort,
	[BOLT_MSG_LENGTH]	= BOLT_MIB_CtlLength,
	[BOLT_MSG_VERSION]	= BOLT_MIB_CtlVersion,
	[BOLT_MSG_TYPE]		= BOLT_MIB_CtlType,
	[BOLT_MSG_FLAGS]	= BOLT_MIB_CtlFlags,
	[BOLT_MSG_FIELD]	= BOLT_MIB_CtlField,
	[BOLT_MSG_QUOTE]	= BOLT_MIB_CtlQuote,
};

/* The connection whose packet is quoted: its source is this host.  With a reference. */
static struct sock *bolt_control_lookup(struct net *net, const struct sk_buff *skb,
					const struct bolt_msg *m)
{
	struct inet_hashinfo *hi = net->ipv4.tcp_death_row.hashinfo;
	struct sock *sk;

#if IS_ENABLED(CONFIG_IPV6)
	if (m->family == 6)
		sk = __inet6_lookup_established(net, hi, (const struct in6_addr *)m->daddr,
						m->dport, (const struct in6_addr *)m->saddr,
						ntohs(m->sport), skb->dev->ifindex,
						inet6_sdif(skb));
	else
#endif
		sk = __inet_lookup_established(net, hi, m->daddr[0], m->dport, m->saddr[0],
					       ntohs(m->sport), skb->dev->ifindex,
					       inet_sdif(skb));
	if (sk && !sk_fullsock(sk)) {
		sock_gen_put(sk);
		return NULL;
	}
	return sk;
}

static bool bolt_tag_ok(const struct bolt_net *bn, const u8 *p, unsigned int len)
{
	/* pairs with the release in bolt_sysctl_key(): the key is whole */
	return !smp_load_acquire(&bn->tagged) || bolt_msg_tag_ok(p, len, &bn->tag_key);
}

static u8 bolt_skb_ttl(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ? ipv6_hdr(skb)->hop_limit : ip_hdr(skb)->ttl;
}

/* One packet is answered by one SRC at most: the option's DEC flag sees to that. */
static bool bolt_seen_before(struct bolt_flow *f, const struct bolt_msg *m)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(f->seen); i++)
		if (f->seen[i].t_data_tx == m->t_data_tx && f->seen[i].seq == m->seq)
			return true;
	i = f->seen_next++ % ARRAY_SIZE(f->seen);
	f->seen[i].t_data_tx = m->t_data_tx;
	f->seen[i].seq = m->seq;
	return false;
}

/* Socket's spinlock held.  Returns the counter of what became of it. */
static enum bolt_mib_item bolt_control_src(struct sock *sk, const struct bolt_msg *m)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = ktime_get_ns();
	struct bolt_flow *f;
	u32 rtt_src_ns;

	/* not by icsk_ca_priv: a user who owns the socket may be changing its congestion control */
	f = bolt_sk_uses(sk) ? bolt_flow_lookup(sk) : NULL;
	if (!f || !READ_ONCE(f->ready))
		return BOLT_MIB_CtlNotBolt;
	if (before(m->seq, tp->snd_una) || after(m->seq, tp->snd_nxt))
		return BOLT_MIB_CtlSeq;
	if (!bolt_core_rtt_src(now_ns, m->t_data_tx, &rtt_src_ns) ||
	    rtt_src_ns > bolt_core_rtt_src_max(&f->core))
		return BOLT_MIB_CtlTime;
	if (bolt_seen_before(f, m))
		return BOLT_MIB_CtlReplay;
	f->src = (struct bolt_last_src){
		.at_ns = now_ns,
		.queue_bytes = m->queue_bytes,
		.link_kbps = m->link_rate,
		.rtt_src_ns = rtt_src_ns,
		.switch_id = m->switch_id,
		.verdict = bolt_cc_src(sk, f, now_ns, rtt_src_ns, m->queue_bytes, m->link_rate),
	};
	f->count.src++;
	f->count.src_dec += f->src.verdict == BOLT_SRC_VERDICT_DEC ||
			    f->src.verdict == BOLT_SRC_VERDICT_DEFERRED;
	bolt_event_src(sk, f);
	return BOLT_MIB_CtlRx;
}

/* In *@about, with a reference, the connection that a message is about, once one is found */
static enum bolt_mib_item bolt_control_handle(struct bolt_net *bn, struct sk_buff *skb,
					      struct sock **about)
{
	enum bolt_msg_verdict verdict;
	enum bolt_mib_item ret;
	struct bolt_msg m;
	struct sock *sk;
	unsigned int len;
	const u8 *p;

	len = skb->len - sizeof(struct udphdr);
	if (len > BOLT_CTL_LEN_MAX)
		return BOLT_MIB_CtlLength;
	if (skb_linearize(skb))
		return BOLT_MIB_NoMem;
	p = (const u8 *)(udp_hdr(skb) + 1);
	verdict = bolt_msg_parse(p, len, &m);
	if (verdict != BOLT_MSG_OK)
		return bolt_refusal[verdict];
	if (m.type == BOLT_CTL_CNM)
		return BOLT_MIB_CtlUnsupported;
	if (m.type == BOLT_CTL_BTS && !READ_ONCE(bn->sfc))
		return BOLT_MIB_BtsOff;
	if (m.protocol != IPPROTO_TCP)
		return BOLT_MIB_CtlQuote;
	if (bolt_skb_ttl(skb) < READ_ONCE(bn->min_ttl))
		return BOLT_MIB_CtlTtl;
	if (!bolt_tag_ok(bn, p, len))
		return BOLT_MIB_CtlTag;

	sk = bolt_control_lookup(bn->net, skb, &m);
	if (!sk)
		return BOLT_MIB_CtlNoSocket;
	*about = sk;
	bh_lock_sock(sk);
	ret = m.type == BOLT_CTL_BTS ? bolt_pause_bts(bn, sk, &m) : bolt_control_src(sk, &m);
	bh_unlock_sock(sk);
	return ret;
}

/* Softirq, UDP checksum verified.  All is consumed here: nothing is queued for a reader. */
static int bolt_control_rcv(struct sock *ctl, struct sk_buff *skb)
{
	struct bolt_net *bn = rcu_dereference_sk_user_data(ctl);
	struct sock *about = NULL;
	enum bolt_mib_item item;

	if (bn) {
		BOLT_INC_STATS(bn, CtlRx);
		item = bolt_control_handle(bn, skb, &about);
		if (item != BOLT_MIB_CtlRx) {
			this_cpu_inc(bn->mib->v[item]);
			bolt_event_refusal(bn, skb, about, item);
		}
		if (about)
			sock_put(about);
	}
	consume_skb(skb);
	return 0;
}

/* --- opening and closing --- */

static struct socket *bolt_control_socket(struct bolt_net *bn, int family, int port)
{
	struct udp_port_cfg cfg = { .family = family, .local_udp_port = htons(port) };
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = bn, .encap_type = 1, .encap_rcv = bolt_control_rcv,
	};
	struct socket *sock;
	int err;

	cfg.ipv6_v6only = family == AF_INET6;
	cfg.use_udp6_rx_checksums = 1;
	err = udp_sock_create(bn->net, &cfg, &sock);
	if (err)
		return ERR_PTR(err);
	setup_udp_tunnel_sock(bn->net, sock, &tunnel);
	return sock;
}

static void bolt_control_close(struct socket *socks[2])
{
	int i;

	for (i = 0; i < 2; i++)
		if (socks[i])
			udp_tunnel_sock_release(socks[i]);
}

/* Both or none; a kernel without IPv6 is content with IPv4. */
static int bolt_control_open(struct bolt_net *bn, int port, struct socket *socks[2])
{
	struct socket *s;

	memset(socks, 0, 2 * sizeof(socks[0]));
	s = bolt_control_socket(bn, AF_INET, port);
	if (IS_ERR(s))
		return PTR_ERR(s);
	socks[0] = s;
#if IS_ENABLED(CONFIG_IPV6)
	s = bolt_control_socket(bn, AF_INET6, port);
	if (IS_ERR(s) && PTR_ERR(s) != -EAFNOSUPPORT) {
		bolt_control_close(socks);
		return PTR_ERR(s);
	}
	if (!IS_ERR(s))
		socks[1] = s;
#endif
	return 0;
}

/* net.bolt.sfc: the port is open when this returns 0. */
int bolt_control_need(struct bolt_net *bn)
{
	int err = 0;

	mutex_lock(&bn->ctl_lock);
	if (!bn->ctl[0])
		err = bolt_control_open(bn, bn->port, bn->ctl);
	if (err)
		memset(bn->ctl, 0, sizeof(bn->ctl));
	else
		set_bit(0, &bn->open);
	mutex_unlock(&bn->ctl_lock);
	return err;
}

static void bolt_control_work(struct work_struct *work)
{
	struct bolt_net *bn = container_of(work, struct bolt_net, open_work);
	int err = bolt_control_need(bn);

	if (err) {
		net_warn_ratelimited("tcp_bolt: control port %d cannot be opened (%d): nothing will be heard from switches\n",
				     bn->port, err);
		/* the next socket that selects bolt tries again */
		clear_bit(0, &bn->open);
	}
}

/* The first socket that uses bolt asks; it may be in a softirq, so a work item opens. */
void bolt_control_want(struct bolt_net *bn)
{
	if (!test_bit(0, &bn->open) && !test_and_set_bit(0, &bn->open))
		queue_work(bolt_wq, &bn->open_work);
}

/* net.bolt.port: the new port is open before the old one closes, or nothing changes. */
int bolt_control_rebind(struct bolt_net *bn, int port)
{
	struct socket *new[2], *old[2];
	int err = 0;

	mutex_lock(&bn->ctl_lock);
	if (port == bn->port)
		goto out;
	if (bn->ctl[0]) {
		err = bolt_control_open(bn, port, new);
		if (err)
			goto out;
		memcpy(old, bn->ctl, sizeof(old));
		memcpy(bn->ctl, new, sizeof(new));
		bolt_control_close(old);
	}
	WRITE_ONCE(bn->port, port);
out:
	mutex_unlock(&bn->ctl_lock);
	return err;
}

void bolt_control_init(struct bolt_net *bn)
{
	mutex_init(&bn->ctl_lock);
	INIT_WORK(&bn->open_work, bolt_control_work);
}

/* No socket of the namespace can ask any more. */
void bolt_control_exit(struct bolt_net *bn)
{
	set_bit(0, &bn->open);
	cancel_work_sync(&bn->open_work);
	bolt_control_close(bn->ctl);
}
