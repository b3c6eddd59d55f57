// SPDX-License-Identifier: GPL-2.0
/*
 * The UDP sockets on which a host receives control messages.
 *
 * tcp_bolt handles messages about TCP, sfc_hold those about other flows.  Either may be loaded
 * without the other, and both use the same port.  So the sockets are in a module of their own: a
 * port of a namespace is open while it has users, and a datagram is offered to one listener after
 * the other.  The listeners verify the messages.
 */
#include <linux/ipv6.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include <bolt_ctl.h>
#include <uapi/linux/bolt.h>

/* A port that is open */
struct bolt_ctl_port {
	struct list_head	list;		/* bolt_ctl_ports */
	struct net		*net;		/* the port is closed before it is deleted */
	u16			port;		/* host byte order */
	unsigned int		users;		/* bolt_ctl_open() without bolt_ctl_close() */
	struct socket		*socks[2];	/* IPv4, IPv6; the second may be missing */
};

static LIST_HEAD(bolt_ctl_ports);
static DEFINE_MUTEX(bolt_ctl_mutex);	/* protects the list and its entries */
static bolt_ctl_receive __rcu *bolt_ctl_listeners[BOLT_CTL_LISTENERS];

/* Consumes all datagrams, none is queued to the socket.  Context: softirq, checksum verified */
static int bolt_ctl_rcv(struct sock *sk, struct sk_buff *skb)
{
	unsigned int len = skb->len - sizeof(struct udphdr);
	bolt_ctl_receive *receive;
	u8 buf[BOLT_CTL_LEN_MAX];
	const u8 *p = NULL;
	int i;

	/* a message in pieces is copied, which takes no memory that may be wanting */
	if (len <= sizeof(buf))
		p = skb_header_pointer(skb, sizeof(struct udphdr), len, buf);
	for (i = 0; i < BOLT_CTL_LISTENERS; i++) {
		receive = rcu_dereference(bolt_ctl_listeners[i]);
		if (receive && receive(sock_net(sk), ntohs(udp_hdr(skb)->dest), skb, p, len))
			break;
	}
	consume_skb(skb);
	return 0;
}

/* For AF_INET6 in a kernel without IPv6, returns 0 and leaves *@sock NULL. */
static int bolt_ctl_bind(struct bolt_ctl_port *p, int family, struct socket **sock)
{
	struct udp_port_cfg cfg = {
		.family = family,
		.local_udp_port = htons(p->port),
		.ipv6_v6only = family == AF_INET6,
		.use_udp6_rx_checksums = 1,
	};
	struct udp_tunnel_sock_cfg tunnel = { .encap_type = 1, .encap_rcv = bolt_ctl_rcv };
	int err;

	/* booted with ipv6.disable=1: IPv4 alone */
	if (family == AF_INET6 && !ipv6_mod_enabled())
		return 0;
	err = udp_sock_create(p->net, &cfg, sock);
	if (!err && *sock)
		setup_udp_tunnel_sock(p->net, bolt_tunnel_sock(*sock), &tunnel);
	return err;
}

/*
 * Does not wait for readers, which look at nothing that is freed here.  Up to 6.12
 * udp_tunnel_sock_release() does: a grace period for each socket, under RTNL for a qdisc.
 */
static void bolt_ctl_free(struct bolt_ctl_port *p)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(p->socks); i++) {
		if (!p->socks[i])
			continue;
		kernel_sock_shutdown(p->socks[i], SHUT_RDWR);
		sock_release(p->socks[i]);
	}
	kfree(p);
}

static struct bolt_ctl_port *bolt_ctl_alloc(struct net *net, u16 port)
{
	struct bolt_ctl_port *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	p->net = net;
	p->port = port;
	err = bolt_ctl_bind(p, AF_INET, &p->socks[0]) ?: bolt_ctl_bind(p, AF_INET6, &p->socks[1]);
	if (err) {
		bolt_ctl_free(p);
		return ERR_PTR(err);
	}
	list_add(&p->list, &bolt_ctl_ports);
	return p;
}

static struct bolt_ctl_port *bolt_ctl_find(const struct net *net, u16 port)
{
	struct bolt_ctl_port *p;

	list_for_each_entry(p, &bolt_ctl_ports, list)
		if (p->net == net && p->port == port)
			return p;
	return NULL;
}

/* The port is open when this returns 0, until bolt_ctl_close().  May sleep. */
int bolt_ctl_open(struct net *net, u16 port)
{
	struct bolt_ctl_port *p;

	mutex_lock(&bolt_ctl_mutex);
	p = bolt_ctl_find(net, port) ?: bolt_ctl_alloc(net, port);
	if (!IS_ERR(p))
		p->users++;
	mutex_unlock(&bolt_ctl_mutex);
	return PTR_ERR_OR_ZERO(p);
}
EXPORT_SYMBOL_GPL(bolt_ctl_open);

/* A listener may still run for the port when this returns, until a grace period has passed. */
void bolt_ctl_close(struct net *net, u16 port)
{
	struct bolt_ctl_port *p;

	mutex_lock(&bolt_ctl_mutex);
	p = bolt_ctl_find(net, port);
	if (!WARN_ON_ONCE(!p) && !--p->users) {
		list_del(&p->list);
		bolt_ctl_free(p);
	}
	mutex_unlock(&bolt_ctl_mutex);
}
EXPORT_SYMBOL_GPL(bolt_ctl_close);

void bolt_ctl_register(enum bolt_ctl_listener who, bolt_ctl_receive *receive)
{
	rcu_assign_pointer(bolt_ctl_listeners[who], receive);
}
EXPORT_SYMBOL_GPL(bolt_ctl_register);

/* When this returns, the listener does not run any more. */
void bolt_ctl_unregister(enum bolt_ctl_listener who)
{
	RCU_INIT_POINTER(bolt_ctl_listeners[who], NULL);
	synchronize_net();
}
EXPORT_SYMBOL_GPL(bolt_ctl_unregister);

MODULE_LICENSE("GPL");
MODULE_VERSION(BOLT_MODULE_VERSION);
MODULE_DESCRIPTION("The control port of a host, for tcp_bolt and sch_sfc");
