// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: what a direction does to packets beside carrying them.
 *
 *	loss, down	serialized, and never there
 *	corrupt		one bit of the IP packet is another when it arrives
 *	duplicate	there twice
 *	reorder		there later: what follows overtakes it
 *	stop		of the end itself: nothing leaves it, what arrives waits in its ring
 *
 * A packet's fate is decided as it is put on the line, by a generator of each fault's own:
 * a run is the same again, and one fault does not change whom another one hits.
 */
#include <linux/etherdevice.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include "lablink.h"

/* What the receive ring of a stopped end has room for, as rings of NICs have. */
#define LAB_HELD_MAX	1024

/*
 * struct lab_fault - one fault of one end
 * @share: of 2^32 packets; down and stop: of all
 * @late_ns: reorder
 * @packets: that it has hit
 */
struct lab_fault {
	struct list_head list;
	enum lab_fault_kind kind;
	u32 id;
	u64 share;
	u64 late_ns;
	u64 packets;
	struct rnd_state prng;
};

static const char *const lab_fault_name[LAB_FAULTS] = {
	[LAB_FAULT_DOWN]	= "down",
	[LAB_FAULT_LOSS]	= "loss",
	[LAB_FAULT_CORRUPT]	= "corrupt",
	[LAB_FAULT_DUPLICATE]	= "duplicate",
	[LAB_FAULT_REORDER]	= "reorder",
	[LAB_FAULT_STOP]	= "stop",
};

int lab_fault_find(const char *name)
{
	return match_string(lab_fault_name, LAB_FAULTS, name);
}

/* Under lab_lock. */
static bool lab_fault_hits(struct lab_fault *f)
{
	if (!f || prandom_u32_state(&f->prng) >= f->share)
		return false;
	f->packets++;
	return true;
}

/* Under lab_lock, as the packet is put on the line.  What is lost meets nothing else. */
void lab_fault_decide(struct lablink *l, struct lab_cb *cb)
{
	enum lab_fault_kind kind;

	for (kind = LAB_FAULT_DOWN; kind < LAB_FAULT_STOP; kind++) {
		if (!lab_fault_hits(l->fault[kind]))
			continue;
		cb->fate |= BIT(kind);
		if (cb->fate & LAB_FATE_LOST)
			return;
		if (kind == LAB_FAULT_CORRUPT)
			cb->flip = prandom_u32_state(&l->fault[kind]->prng);
		if (kind == LAB_FAULT_REORDER)
			cb->late_ns = l->fault[kind]->late_ns;
	}
}

/* Under lab_lock, as a packet arrives at a stopped end: whether its ring is full. */
bool lab_fault_overflows(struct lablink *to)
{
	return ++to->fault[LAB_FAULT_STOP]->packets > LAB_HELD_MAX;
}

/* In softirq.  A copy, as the sender may still have the packet; NULL where there is no memory. */
struct sk_buff *lab_fault_corrupt(struct sk_buff *skb)
{
	u32 flip = lab_cb(skb)->flip, bits = (skb->len - ETH_HLEN) * BITS_PER_BYTE;
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);

	kfree_skb(skb);
	if (!copy)
		return NULL;
	/* The checksum is that of what was sent, or nobody would notice. */
	if (copy->ip_summed == CHECKSUM_PARTIAL && skb_checksum_help(copy)) {
		kfree_skb(copy);
		return NULL;
	}
	copy->ip_summed = CHECKSUM_NONE;
	flip = reciprocal_scale(flip, bits);
	copy->data[ETH_HLEN + flip / BITS_PER_BYTE] ^= BIT(flip % BITS_PER_BYTE);
	return copy;
}

/* A cut line loses what is on it. */
static void lab_cut(struct lablink *l, struct lab_fault *f, struct lab_fifo *flight)
{
	struct sk_buff *skb;

	for (skb = flight->head; skb; skb = skb->next) {
		if (lab_cb(skb)->fate & LAB_FATE_LOST)
			continue;
		lab_cb(skb)->fate |= BIT(LAB_FAULT_DOWN);
		f->packets++;
	}
}

/* Under RTNL.  It takes the place of the fault of its kind; with a @share of 0 there is none. */
int lab_fault_set(struct lablink *l, u32 id, enum lab_fault_kind kind, u64 share, u64 late_ns,
		  u64 seed)
{
	struct lab_fault *f = kzalloc(sizeof(*f), GFP_KERNEL);
	unsigned long flags;
	int i;

	if (!f)
		return -ENOMEM;
	f->kind = kind;
	f->id = id;
	f->share = share;
	f->late_ns = late_ns;
	prandom_seed_state(&f->prng, seed);

	/* the softirq that sends and receives again runs where they are allowed again */
	local_bh_disable();
	raw_spin_lock_irqsave(&lab_lock, flags);
	list_add_tail(&f->list, &l->faults);
	l->fault[kind] = share ? f : NULL;
	l->faulty = false;
	for (i = LAB_FAULT_DOWN; i < LAB_FAULT_STOP; i++)
		l->faulty |= !!l->fault[i];
	if (kind == LAB_FAULT_DOWN && share) {
		lab_cut(l, f, &l->flight);
		lab_cut(l, f, &l->late);
	}
	if (kind == LAB_FAULT_STOP)
		lab_dev_update_stop(l);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	local_bh_enable();
	return 0;
}

/* The device goes: nobody uses it any more. */
void lab_fault_forget(struct lablink *l)
{
	struct lab_fault *f, *next;

	list_for_each_entry_safe(f, next, &l->faults, list)
		kfree(f);
}

/* Under RTNL, which all that changes the list holds. */
void lab_show_faults(struct seq_file *m, struct lablink *l)
{
	struct lab_fault *f;

	list_for_each_entry(f, &l->faults, list)
		seq_printf(m, "fault dev=%u id=%u kind=%s packets=%llu\n", l->id, f->id,
			   lab_fault_name[f->kind], READ_ONCE(f->packets));
}
