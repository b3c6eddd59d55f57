// SPDX-License-Identifier: GPL-2.0
/*
 * Negotiation without state for half-open connections.
 *
 *   client                      server
 *   SYN + offer        --->     LOCAL_IN notes (SYN, flow) for this CPU
 *                               the stack answers in the same softirq
 *                      <---     LOCAL_OUT takes the note: SYN-ACK + acceptance
 *   LOCAL_IN makes the object
 *   ACK + full option  --->     LOCAL_IN finds no full socket: notes (ESTABLISHED, flow)
 *                               the stack makes the child in the same softirq,
 *                               and CC init takes the note: Bolt is on
 *
 * A note lives from one hook to the next function of the same softirq on the
 * same CPU.  One that nobody takes (the SYN was dropped, or answered later from a
 * timer) is overwritten by the next, and matches nothing else: it names the flow.
 * SYN cookies need nothing more: the third packet carries the full option as well.
 *
 * With Fast Open (RFC 7413) the SYN itself makes the child: CC init takes the note of the SYN,
 * and the SYN-ACK accepts because the child has an object, also when a timer sends it again.
 * In a simultaneous open each side's SYN-ACK answers the other's SYN, and both act as clients.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/percpu.h>

#include "bolt.h"

struct bolt_hs_note {
	enum bolt_hs		what;
	struct bolt_hs_key	key;
};

static DEFINE_PER_CPU(struct bolt_hs_note, bolt_hs_note);

/* The flow of a packet, named as in the packet. */
void bolt_hs_key_of(struct bolt_hs_key *key, const struct sk_buff *skb, const struct tcphdr *th,
		    struct net *net, bool ip6)
{
	memset(key, 0, sizeof(*key));
	key->net = net;
	if (ip6) {
		memcpy(key->saddr, &ipv6_hdr(skb)->saddr, sizeof(key->saddr));
		memcpy(key->daddr, &ipv6_hdr(skb)->daddr, sizeof(key->daddr));
	} else {
		key->saddr[0] = ip_hdr(skb)->saddr;
		key->daddr[0] = ip_hdr(skb)->daddr;
	}
	key->sport = th->source;
	key->dport = th->dest;
}

/* The other direction */
void bolt_hs_key_flip(struct bolt_hs_key *key)
{
	swap(key->sport, key->dport);
	swap(key->saddr[0], key->daddr[0]);
	swap(key->saddr[1], key->daddr[1]);
	swap(key->saddr[2], key->daddr[2]);
	swap(key->saddr[3], key->daddr[3]);
}

bool bolt_hs_armed(void)
{
	return this_cpu_read(bolt_hs_note.what) != BOLT_HS_NONE;
}

/* In softirq: LOCAL_IN. */
void bolt_hs_put(enum bolt_hs what, const struct bolt_hs_key *key)
{
	struct bolt_hs_note *note = this_cpu_ptr(&bolt_hs_note);

	note->what = what;
	note->key = *key;
}

/* True when this softirq left such a note; it is gone then. */
bool bolt_hs_take(enum bolt_hs what, const struct bolt_hs_key *key)
{
	struct bolt_hs_note *note;
	bool ret = false;

	local_bh_disable();
	note = this_cpu_ptr(&bolt_hs_note);
	if (note->what == what && note->key.net == key->net &&
	    note->key.sport == key->sport && note->key.dport == key->dport &&
	    !memcmp(note->key.saddr, key->saddr, sizeof(key->saddr)) &&
	    !memcmp(note->key.daddr, key->daddr, sizeof(key->daddr))) {
		note->what = BOLT_HS_NONE;
		ret = true;
	}
	local_bh_enable();
	return ret;
}

/* In CC init: has the option come with the packet that this child is made from? */
bool bolt_hs_child(const struct sock *sk, const struct bolt_hs_key *key)
{
	return bolt_hs_take(rcu_access_pointer(tcp_sk(sk)->fastopen_rsk) ? BOLT_HS_SYN :
			    BOLT_HS_ESTABLISHED, key);
}
