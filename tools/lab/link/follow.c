// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection went through, for `lab explain`: where its data were at each nanosecond, and
 * what its sender waited for.
 *
 *	egress hook		data are given to the qdisc of the sender's port
 *	lab_dev_arrival()	... have come over a link, packet by packet
 *	lab_follow_look()	what keeps the sender from sending, whenever that has changed
 *
 * A sender's state changes as it is given a packet, as its device tells of a completion, by a timer
 * and by what the application does.  It is looked at before each event of its host's device, and
 * after the packets of each poll: what is found has been so since the look before, or since the
 * connection last sent something, if that was later.  The state is read from a hard interrupt of
 * the only CPU, so nobody is in the middle of changing it for long enough to matter.
 *
 * Records go one after the other into one buffer, taken with the first connection.  Nothing of this
 * waits or changes a packet, so a run that is followed is the same run.
 *
 * All under lab_lock, but what lab_follow() and lab_unfollow() do under RTNL.
 */
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include <uapi/linux/bolt.h>
#include "lablink.h"

#define LAB_FOLLOW_BITS	10

/* Addresses as IPv6 has them, so that one comparison does for both. */
struct lab_ends {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 sport;
	__be16 dport;
};

/* What a packet with TCP data says of itself. */
struct lab_data {
	struct lab_ends ends;
	u32 seq;
	u32 len;
	u16 ip_id;
};

/*
 * struct lab_connection - one that is followed
 * @base: sequence number that counts as byte 0
 * @since_ns: its state has been this one since then, or will be looked at for the first time
 * @due_ns: its earliest departure, at the last look
 * @pause_ns: the earliest departure that a BTS has set
 */
struct lab_connection {
	struct hlist_node node;
	struct list_head list;
	struct sock *sk;
	struct lab_ends ends;
	u32 id;
	u32 base;
	u32 waits;
	u64 since_ns;
	u64 due_ns;
	u64 pause_ns;
};

/*
 * struct lab_follow - a host's device, and the connections that send through it
 * @told: a BTS has come since the last look
 */
struct lab_follow {
	struct lablink *link;
	struct list_head connections;
	struct nf_hook_ops egress;
	bool told;
};

bool lab_following;

static DEFINE_HASHTABLE(connections, LAB_FOLLOW_BITS);

static struct {
	struct lablink_follow_rec *rec;
	u64 size;
	u64 used;
	u64 lost;
} trail;

static u32 lab_ends_hash(const struct lab_ends *e)
{
	return jhash(e, sizeof(*e), 0);
}

static struct lab_connection *lab_find_connection(const struct lab_ends *e)
{
	struct lab_connection *c;

	hash_for_each_possible(connections, c, node, lab_ends_hash(e)) {
		if (!memcmp(&c->ends, e, sizeof(*e)))
			return c;
	}
	return NULL;
}

static void lab_note(const struct lablink_follow_rec *rec)
{
	if (trail.used < trail.size)
		trail.rec[trail.used++] = *rec;
	else
		trail.lost++;
}

/* ---- packets ---- */

/* Where the transport header is, or 0; a frame without tag, no fragments, no extension headers. */
static unsigned int lab_parse_ip(const struct sk_buff *skb, u8 proto, struct lab_ends *e,
				 u32 *ip_len, u16 *ip_id)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr buf;
		const struct iphdr *iph = skb_header_pointer(skb, ETH_HLEN, sizeof(buf), &buf);

		if (!iph || iph->protocol != proto || ip_is_fragment(iph))
			return 0;
		ipv6_addr_set_v4mapped(iph->saddr, &e->saddr);
		ipv6_addr_set_v4mapped(iph->daddr, &e->daddr);
		*ip_id = ntohs(iph->id);
		*ip_len = iph->ihl * 4;
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr buf;
		const struct ipv6hdr *iph = skb_header_pointer(skb, ETH_HLEN, sizeof(buf), &buf);

		if (!iph || iph->nexthdr != proto)
			return 0;
		e->saddr = iph->saddr;
		e->daddr = iph->daddr;
		*ip_id = 0;
		*ip_len = sizeof(*iph);
	} else {
		return 0;
	}
	return ETH_HLEN + *ip_len;
}

static bool lab_parse_data(const struct sk_buff *skb, struct lab_data *d)
{
	struct tcphdr buf;
	const struct tcphdr *th;
	unsigned int offset;
	u32 ip_len;

	offset = lab_parse_ip(skb, IPPROTO_TCP, &d->ends, &ip_len, &d->ip_id);
	th = offset ? skb_header_pointer(skb, offset, sizeof(buf), &buf) : NULL;
	if (!th || skb->len <= offset + th->doff * 4)
		return false;
	d->ends.sport = th->source;
	d->ends.dport = th->dest;
	d->seq = ntohl(th->seq);
	d->len = skb->len - offset - th->doff * 4;
	return true;
}

static bool lab_is_bts(const struct sk_buff *skb)
{
	struct bolt_ctl buf;
	const struct bolt_ctl *ctl;
	struct lab_ends e;
	unsigned int offset;
	u32 ip_len;
	u16 ip_id;

	offset = lab_parse_ip(skb, IPPROTO_UDP, &e, &ip_len, &ip_id);
	ctl = offset ? skb_header_pointer(skb, offset + sizeof(struct udphdr), sizeof(buf), &buf) :
		       NULL;
	return ctl && ctl->version == BOLT_CTL_VERSION && ctl->type == BOLT_CTL_BTS;
}

static struct lab_connection *lab_note_data(const struct lablink *l, const struct sk_buff *skb,
					    enum lablink_follow_what what, u64 ns, u64 until_ns)
{
	struct lablink_follow_rec rec = { .ns = ns, .until_ns = until_ns, .what = what };
	struct lab_connection *c;
	struct lab_data d;

	if (!lab_parse_data(skb, &d))
		return NULL;
	c = lab_find_connection(&d.ends);
	if (!c)
		return NULL;
	rec.connection = c->id;
	rec.link = l->id;
	rec.offset = d.seq - c->base;
	rec.len = d.len;
	rec.ip_id = d.ip_id;
	lab_note(&rec);
	return c;
}

/* It arrives at the end that l leads to, which takes it. */
void lab_follow_arrival(const struct lablink *l, const struct sk_buff *skb)
{
	struct lab_follow *f = rcu_dereference_sched(l->peer->follow);
	const struct lab_cb *cb = lab_cb(skb);

	if (!(cb->fate & BIT(LAB_FAULT_CORRUPT)))
		lab_note_data(l, skb, LABLINK_FOLLOW_WIRE, cb->begin_ns, cb->arrival_ns);
	if (f && !f->told)
		f->told = lab_is_bts(skb);
}

static unsigned int lab_follow_egress(void *priv, struct sk_buff *skb,
				      const struct nf_hook_state *state)
{
	const struct lab_follow *f = priv;
	struct lab_connection *c;
	unsigned long flags;
	u64 now;

	raw_spin_lock_irqsave(&lab_lock, flags);
	now = lab_now();
	c = lab_note_data(f->link, skb, LABLINK_FOLLOW_SENT, now, 0);
	if (c)
		c->since_ns = now;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return NF_ACCEPT;
}

/* ---- what the sender waits for ---- */

/* All that keeps the head of the send queue from being sent at @ns. */
static u32 lab_waits(struct sock *sk, u64 ns, u64 pause_ns)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct sk_buff *head;
	u32 waits = 0, end;

	if (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)
		return LABLINK_WAIT_CONNECT;
	head = sk->sk_state == TCP_CLOSE ? NULL : tcp_send_head(sk);
	if (!head)
		return LABLINK_WAIT_APPLICATION;
	end = TCP_SKB_CB(head)->seq + min(head->len, tp->mss_cache);
	if (after(end, tcp_wnd_end(tp)))
		waits |= LABLINK_WAIT_RECEIVER;
	if (tcp_packets_in_flight(tp) >= tcp_snd_cwnd(tp))
		waits |= LABLINK_WAIT_WINDOW;
	if (tcp_needs_internal_pacing(sk) && tp->tcp_wstamp_ns > ns)
		waits |= tp->tcp_wstamp_ns == pause_ns ? LABLINK_WAIT_PAUSE :
							 LABLINK_WAIT_DEPARTURE;
	if (test_bit(TSQ_THROTTLED, &sk->sk_tsq_flags))
		waits |= LABLINK_WAIT_DEVICE;
	if (inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery)
		waits |= LABLINK_WAIT_RECOVERY;
	return waits;
}

static void lab_look_at(struct lab_connection *c, u64 now, bool told)
{
	struct lablink_follow_rec rec = { .what = LABLINK_FOLLOW_WAITS, .ns = c->since_ns };
	u64 due_ns = tcp_sk(c->sk)->tcp_wstamp_ns;
	u32 waits;

	/* Nothing else moves a departure as a BTS comes. */
	if (told && due_ns != c->due_ns)
		c->pause_ns = due_ns;
	waits = lab_waits(c->sk, c->since_ns, c->pause_ns);
	if (waits != c->waits || (due_ns != c->due_ns &&
				  waits & (LABLINK_WAIT_PAUSE | LABLINK_WAIT_DEPARTURE))) {
		rec.connection = c->id;
		rec.waits = waits;
		rec.until_ns = due_ns;
		lab_note(&rec);
	}
	c->waits = waits;
	c->due_ns = due_ns;
	c->since_ns = now;
}

/* Before anything changes at l, at @now; or @after packets came to it: what they changed. */
void lab_follow_look(struct lablink *l, u64 now, bool after)
{
	struct lab_follow *f = rcu_dereference_sched(l->follow);
	struct lab_connection *c;

	if (!f)
		return;
	list_for_each_entry(c, &f->connections, list) {
		if (after)
			c->since_ns = now;
		lab_look_at(c, now, after && f->told);
	}
	if (after)
		f->told = false;
}

/* ---- beginning and end, under RTNL ---- */

static int lab_trail_alloc(u64 bytes)
{
	struct lablink_follow_rec *rec;
	unsigned long flags;

	if (trail.rec)
		return 0;
	rec = __vmalloc(bytes, GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!rec)
		return -ENOMEM;
	raw_spin_lock_irqsave(&lab_lock, flags);
	trail.rec = rec;
	trail.size = div_u64(bytes, sizeof(*rec));
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

static int lab_follow_link(struct lablink *l)
{
	struct lab_follow *f;
	unsigned long flags;
	int err;

	if (rtnl_dereference(l->follow))
		return 0;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	f->link = l;
	INIT_LIST_HEAD(&f->connections);
	err = lab_hook_egress(&f->egress, l->dev, lab_follow_egress, f);
	if (err) {
		kfree(f);
		return err;
	}
	raw_spin_lock_irqsave(&lab_lock, flags);
	rcu_assign_pointer(l->follow, f);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

static void lab_ends_of(const struct sock *sk, struct lab_ends *e)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (sk->sk_family == AF_INET6) {
		e->saddr = sk->sk_v6_rcv_saddr;
		e->daddr = sk->sk_v6_daddr;
	} else {
		ipv6_addr_set_v4mapped(inet->inet_saddr, &e->saddr);
		ipv6_addr_set_v4mapped(inet->inet_daddr, &e->daddr);
	}
	e->sport = inet->inet_sport;
	e->dport = inet->inet_dport;
}

/* The lab device that the connection sends through, or NULL. */
static struct lablink *lab_link_of(const struct sock *sk)
{
	struct dst_entry *dst = sk_dst_get((struct sock *)sk);
	struct lablink *l, *found = NULL;

	list_for_each_entry(l, &lab_links, list) {
		if (dst && dst->dev == l->dev)
			found = l;
	}
	dst_release(dst);
	return found;
}

/* Takes over the caller's reference, also when it fails.  What it writes next is byte 0. */
int lab_follow(struct sock *sk, u32 id, u64 bytes)
{
	struct lablink *l = lab_link_of(sk);
	struct lab_connection *c = NULL;
	unsigned long flags;
	int err = -ENODEV;

	/* senders of another CPU would be read while they change */
	if (IS_ENABLED(CONFIG_SMP))
		err = -EOPNOTSUPP;
	else if (l)
		err = lab_trail_alloc(bytes) ?: lab_follow_link(l);
	if (!err) {
		c = kzalloc(sizeof(*c), GFP_KERNEL);
		err = c ? 0 : -ENOMEM;
	}
	if (err) {
		sock_put(sk);
		return err;
	}
	c->sk = sk;
	c->id = id;
	lab_ends_of(sk, &c->ends);
	raw_spin_lock_irqsave(&lab_lock, flags);
	c->base = tcp_sk(sk)->write_seq;
	c->since_ns = lab_now();
	hash_add(connections, &c->node, lab_ends_hash(&c->ends));
	list_add_tail(&c->list, &rtnl_dereference(l->follow)->connections);
	lab_following = true;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

void lab_unfollow(struct lablink *l)
{
	struct lab_follow *f = rtnl_dereference(l->follow);
	struct lab_connection *c, *next;
	unsigned long flags;

	if (!f)
		return;
	nf_unregister_net_hook(dev_net(l->dev), &f->egress);
	raw_spin_lock_irqsave(&lab_lock, flags);
	RCU_INIT_POINTER(l->follow, NULL);
	list_for_each_entry(c, &f->connections, list)
		hash_del(&c->node);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	synchronize_net();
	list_for_each_entry_safe(c, next, &f->connections, list) {
		sock_put(c->sk);
		kfree(c);
	}
	kfree(f);
}

void lab_follow_exit(void)
{
	vfree(trail.rec);
}

ssize_t lab_follow_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	struct lablink_follow_hdr hdr = {
		.magic = LABLINK_FOLLOW_MAGIC,
		.version = LABLINK_FOLLOW_VERSION,
		.header_bytes = sizeof(hdr),
		.record_bytes = sizeof(struct lablink_follow_rec),
	};
	loff_t before = *pos;
	u64 offset = 0;
	int err;

	rtnl_lock();
	hdr.start_ns = lab_window.begin_ns;
	hdr.records = READ_ONCE(trail.used);
	hdr.lost = READ_ONCE(trail.lost);
	err = lab_copy_part(&to, &count, pos, &offset, &hdr, sizeof(hdr));
	if (!err && hdr.records)
		err = lab_copy_part(&to, &count, pos, &offset, trail.rec,
				    hdr.records * sizeof(*trail.rec));
	rtnl_unlock();
	return err ? err : *pos - before;
}
