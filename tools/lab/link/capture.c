// SPDX-License-Identifier: GPL-2.0
/*
 * What is on the wire, packet by packet, for whoever wants to look at it:
 *
 *	lab_put_on_line()	every packet as it is serialized, stamped with the
 *				virtual ns its first bit leaves in
 *	egress hook		keeps a copy of what the qdisc is about to be given ...
 *	lab_capture_look()	... and records it, if the qdisc counts a drop after it
 *
 * Records go one after the other into one buffer, taken when the first link is
 * captured. Nothing of this allocates, waits or changes a packet, so a captured
 * run is the same run.
 *
 * All under lab_lock, but what lab_capture() and lab_uncapture() do under RTNL.
 */
#include <linux/etherdevice.h>
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/checksum.h>
#include "lablink.h"

/*
 * struct lab_capture - of one direction of a link
 * @drops: what the root qdisc had dropped when the last packet came to it
 * @pending: head[] and rec are of a packet that came, and may have been dropped
 */
struct lab_capture {
	struct lablink *link;
	struct nf_hook_ops egress;
	bool hooked;
	bool pending;
	u64 drops;
	struct lablink_capture_rec rec;
	u8 head[];
};

static struct {
	u8 *data;
	u64 size;
	u64 used;
	u64 lost;
	u32 snaplen;
} buffer;

static u64 lab_record_bytes(u32 caplen)
{
	return sizeof(struct lablink_capture_rec) + ALIGN(caplen, 8);
}

/* Where the record's bytes go, or NULL: the buffer is full, which is counted. */
static u8 *lab_record(struct lablink *l, u64 ns, u32 len, enum lablink_capture_what what)
{
	struct lablink_capture_rec *rec = (void *)buffer.data + buffer.used;
	u32 caplen = min(len, buffer.snaplen);

	if (lab_record_bytes(caplen) > buffer.size - buffer.used) {
		buffer.lost++;
		return NULL;
	}
	buffer.used += lab_record_bytes(caplen);
	rec->ns = ns;
	rec->link = l->id;
	rec->what = what;
	rec->len = len;
	rec->caplen = caplen;
	memset((u8 *)(rec + 1) + caplen, 0, ALIGN(caplen, 8) - caplen);
	return (u8 *)(rec + 1);
}

/* A checksum left to the device, as the wire would have it: nobody computes it here. */
static void lab_finish_checksum(const struct sk_buff *skb, u8 *to, u32 caplen)
{
	u32 start, at;
	__sum16 sum;

	if (skb->ip_summed != CHECKSUM_PARTIAL || skb_is_gso(skb))
		return;
	start = skb_checksum_start_offset(skb);
	at = start + skb->csum_offset;
	if (start >= skb->len || at + sizeof(sum) > caplen)
		return;
	sum = csum_fold(skb_checksum(skb, start, skb->len - start, 0)) ?: CSUM_MANGLED_0;
	memcpy(to + at, &sum, sizeof(sum));
}

static void lab_copy_head(const struct sk_buff *skb, u8 *to, u32 caplen)
{
	if (skb_copy_bits(skb, 0, to, caplen))
		memset(to, 0, caplen);
	else
		lab_finish_checksum(skb, to, caplen);
}

void lab_capture_packet(struct lablink *l, const struct sk_buff *skb, u64 ns,
			enum lablink_capture_what what)
{
	u8 *to;

	if (!rcu_access_pointer(l->capture))
		return;
	to = lab_record(l, ns, skb->len, what);
	if (to)
		lab_copy_head(skb, to, min(skb->len, buffer.snaplen));
}

/* The last packet that came to the qdisc, if one has been dropped since. */
void lab_capture_look(struct lablink *l)
{
	struct lab_capture *c = rcu_dereference_sched(l->capture);
	u8 *to;

	if (!c || !c->pending || lab_qdisc_drops(l->dev) <= c->drops)
		return;
	c->pending = false;
	to = lab_record(l, c->rec.ns, c->rec.len, LABLINK_CAPTURE_QDISC_DROP);
	if (to)
		memcpy(to, c->head, c->rec.caplen);
}

static unsigned int lab_capture_egress(void *priv, struct sk_buff *skb,
				       const struct nf_hook_state *state)
{
	struct lab_capture *c = priv;
	unsigned long flags;

	raw_spin_lock_irqsave(&lab_lock, flags);
	lab_capture_look(c->link);
	c->rec.ns = lab_now();
	c->rec.len = skb->len;
	c->rec.caplen = min(skb->len, buffer.snaplen);
	lab_copy_head(skb, c->head, c->rec.caplen);
	c->drops = lab_qdisc_drops(c->link->dev);
	c->pending = true;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return NF_ACCEPT;
}

static int lab_buffer_alloc(u32 snaplen, u64 bytes)
{
	unsigned long flags;
	u8 *data;

	/* the first link decides for all */
	if (buffer.data)
		return buffer.snaplen == snaplen && buffer.size == bytes ? 0 : -EINVAL;
	data = __vmalloc(bytes, GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!data)
		return -ENOMEM;
	raw_spin_lock_irqsave(&lab_lock, flags);
	buffer.data = data;
	buffer.size = bytes;
	buffer.used = 0;
	buffer.lost = 0;
	buffer.snaplen = snaplen;
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

/* Under RTNL. */
int lab_capture(struct lablink *l, u32 snaplen, u64 bytes)
{
	struct lab_capture *c;
	unsigned long flags;
	int err;

	if (rtnl_dereference(l->capture))
		return -EEXIST;
	err = lab_buffer_alloc(snaplen, bytes);
	if (err)
		return err;
	c = kvzalloc(struct_size(c, head, snaplen), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->link = l;
	c->hooked = !lab_hook_egress(&c->egress, l->dev, lab_capture_egress, c);
	if (!c->hooked)
		netdev_warn(l->dev, "no egress hook, what the qdisc drops is not captured\n");
	raw_spin_lock_irqsave(&lab_lock, flags);
	rcu_assign_pointer(l->capture, c);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

/* Under RTNL. What was captured stays. */
void lab_uncapture(struct lablink *l)
{
	struct lab_capture *c = rtnl_dereference(l->capture);
	unsigned long flags;

	if (!c)
		return;
	if (c->hooked)
		nf_unregister_net_hook(dev_net(l->dev), &c->egress);
	raw_spin_lock_irqsave(&lab_lock, flags);
	lab_capture_look(l);
	RCU_INIT_POINTER(l->capture, NULL);
	raw_spin_unlock_irqrestore(&lab_lock, flags);
	synchronize_net();
	kvfree(c);
}

void lab_capture_exit(void)
{
	vfree(buffer.data);
}

ssize_t lab_capture_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	struct lablink_capture_hdr hdr = {
		.magic = LABLINK_CAPTURE_MAGIC,
		.version = LABLINK_CAPTURE_VERSION,
		.header_bytes = sizeof(hdr),
	};
	loff_t before = *pos;
	struct lablink *l;
	unsigned long flags;
	u64 offset = 0;
	int err;

	rtnl_lock();
	raw_spin_lock_irqsave(&lab_lock, flags);
	list_for_each_entry(l, &lab_links, list)
		lab_capture_look(l);
	hdr.start_ns = lab_window.begin_ns;
	hdr.bytes = buffer.used;
	hdr.lost = buffer.lost;
	hdr.snaplen = buffer.snaplen;
	raw_spin_unlock_irqrestore(&lab_lock, flags);

	err = lab_copy_part(&to, &count, pos, &offset, &hdr, sizeof(hdr));
	if (!err && hdr.bytes)
		err = lab_copy_part(&to, &count, pos, &offset, buffer.data, hdr.bytes);
	rtnl_unlock();
	return err ? err : *pos - before;
}
