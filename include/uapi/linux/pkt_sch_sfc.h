/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the qdisc "sfc": its options (TCA_OPTIONS) and its
 * statistics (TCA_XSTATS).  Documentation/sch_sfc.rst says what each means.
 */
#ifndef _UAPI_LINUX_PKT_SCH_SFC_H
#define _UAPI_LINUX_PKT_SCH_SFC_H

#include <linux/types.h>

enum {
	TCA_SFC_UNSPEC,
	TCA_SFC_PAD,
	TCA_SFC_FLAGS,		/* struct nla_bitfield32 of TC_SFC_F_* */
	TCA_SFC_RATE64,		/* u64, bytes/s; 0: the device is the link */
	TCA_SFC_LIMIT,		/* u32, bytes */
	TCA_SFC_CCTHRESH,	/* u32, bytes; 0: two MTU */
	TCA_SFC_SWITCH_ID,	/* u32 */
	TCA_SFC_SRCRATE,	/* u32, control messages/s */
	TCA_SFC_PORT,		/* u16, UDP port of control messages */
	TCA_SFC_TTL,		/* u8, TTL or hop limit of control messages */
	TCA_SFC_ADDR4,		/* be32, source of control messages; 0: the data's destination */
	TCA_SFC_ADDR6,		/* 16 bytes, likewise */
	TCA_SFC_TAGKEY,		/* 16 bytes of SipHash key, or none: no tag.  Never dumped. */
	TCA_SFC_OVERHEAD,	/* u32, bytes a packet costs on the link beyond its length */
	TCA_SFC_LINK64,		/* u64, bytes/s, of the link, without shaping; 0: ask the device */
	TCA_SFC_SMCAP,		/* u32, bytes; 0: what the link carries in 8 us */
	TCA_SFC_BTS,		/* u8, enum tc_sfc_bts */
	TCA_SFC_QTH,		/* u32, bytes; 0: two BDP of the link's rate and TCA_SFC_RTT */
	TCA_SFC_QTG,		/* u32, bytes; 0: one BDP */
	TCA_SFC_RTT,		/* u32, ns, base RTT of the network */
	TCA_SFC_SUPPRESS,	/* u32, ns; 0: half of TCA_SFC_RTT; or TC_SFC_SUPPRESS_OFF */
	TCA_SFC_MAXPAUSE,	/* u32, ns, longest pause to ask for */
	TCA_SFC_ECN,		/* u32, bytes, CE beyond so much backlog; 0: off */
	TCA_SFC_ESTIMATOR,	/* u32, ns, tau of the incast estimator; 0: off */
	TCA_SFC_HOLDSHARE,	/* u8, per cent of an interval that a destination may be held */
	TCA_SFC_MINTTL,		/* u8, least TTL or hop limit of a BTS that is believed */
	TCA_SFC_SERVERRATE64,	/* u64, bytes/s, of a server's link, for it; 0: as this one */
	TCA_SFC_BANDS,		/* u8, bands of data, 1..TC_SFC_BANDS_MAX */
	TCA_SFC_WEIGHTS,	/* u8 each, 1..TC_SFC_WEIGHT_MAX, as many as bands */
	TCA_SFC_DEFAULT,	/* u8, band of what neither a filter nor the map names, from 1 */
	TCA_SFC_DSCP,		/* 64 u8, band of each DSCP, from 1; 0: the default */
	TCA_SFC_SRCPROB,	/* u8 each, per cent, 1..100, as many as bands */
	__TCA_SFC_MAX
};

#define TCA_SFC_MAX	(__TCA_SFC_MAX - 1)

#define TC_SFC_F_BOLT		(1U << 0)	/* Algorithm 1 of the Bolt paper */
#define TC_SFC_F_SRC		(1U << 1)	/* ... its sub-RTT control, section 3.1 */
#define TC_SFC_F_PRU		(1U << 2)	/* ... its proactive ramp-up, section 3.2 */
#define TC_SFC_F_SM		(1U << 3)	/* ... its supply matching, section 3.3 */
#define TC_SFC_F_SPLIT_GSO	(1U << 4)	/* queue segments, not super-packets */
#define TC_SFC_F_SFC		(1U << 5)	/* Algorithm 1 of the SFC paper */
#define TC_SFC_F_EDGE		(1U << 6)	/* the port faces servers: its BTS may be cached */
#define TC_SFC_F_CACHE		(1U << 7)	/* remember and use the BTS of other switches */
#define TC_SFC_F_HOLD		(1U << 8)	/* a host's port: hold what a BTS has paused */
#define TC_SFC_F_ALL		((1U << 9) - 1)

/* Where a queue beyond qth makes a BTS */
enum tc_sfc_bts {
	TC_SFC_BTS_INGRESS,	/* as a packet arrives */
	TC_SFC_BTS_EGRESS,	/* as one leaves (SFC, section 2.3) */
	TC_SFC_BTS_OFF,		/* nowhere */
};

#define TC_SFC_SUPPRESS_OFF	0xffffffffU

#define TC_SFC_RATE_MIN		1000ULL			/* bytes/s: 8 kbit/s */
#define TC_SFC_RATE_MAX		(0xffffffffULL * 125)	/* what link_rate in kbit/s can say */
#define TC_SFC_OVERHEAD_MAX	256
#define TC_SFC_BANDS_MAX	8
#define TC_SFC_WEIGHT_MAX	255
#define TC_SFC_DSCPS		64

/*
 * struct tc_sfc_band - a band of data, with more than one
 *
 * When asked:
 * @qlen:		packets that wait
 * @backlog:		... bytes
 * @sm_token:		bytes, as the port's with one band
 * @pru_token:		packets, likewise
 *
 * Counters, in packets unless they say bytes; see struct tc_sfc_xstats:
 * @sent:		left by the device
 * @sent_bytes:		... bytes
 * @drops:		dropped at the band's part of the limit, or by a change
 * @data, @congested, @src_sent, @pru_added, @inc_pru, @inc_sm: of the port's, this band's
 * @src_spared:		no SRC for a congested packet: srcprob
 * @backlog_peak:	most bytes ever queued since the last change or reset
 */
struct tc_sfc_band {
	__u64	qlen;
	__u64	backlog;
	__s64	sm_token;
	__u64	pru_token;
	__u64	sent;
	__u64	sent_bytes;
	__u64	drops;
	__u64	data;
	__u64	congested;
	__u64	src_sent;
	__u64	src_spared;
	__u64	pru_added;
	__u64	inc_pru;
	__u64	inc_sm;
	__u64	backlog_peak;
};

/*
 * struct tc_sfc_xstats - state and counters; fields are only ever added at the end
 *
 * State when asked:
 * @link_rate:		bytes/s that tokens and SRC go by; 0: unknown
 * @ccthresh:		bytes, in force
 * @mtu:		bytes of the largest packet, link header included
 * @backlog_peak:	most bytes ever queued since the last change or reset
 * @sm_token:		bytes, negative while demand exceeds supply
 * @pru_token:		packets
 * @tagged:		1 when control messages carry a tag
 *
 * Algorithm 1, in packets (segments, when super-packets are split):
 * @data:		with the option and DATA
 * @congested:		... that met a queue of ccthresh or more
 * @dec_set:		... left with DEC set here: an SRC is on its way, or its sender wants none
 * @dec_seen:		congested, but DEC was set before: no second SRC
 * @pru_added:		tokens from LAST packets
 * @inc_pru:		INC kept, paid by a PRU token
 * @inc_sm:		INC kept, paid by supply
 * @inc_cleared:	INC removed
 * @opt_bad:		option malformed, or DATA where there is none; not touched
 * @mark_failed:	no memory to make the header writable; left as it was
 *
 * SRC:
 * @src_sent:		handed to the stack
 * @src_limited:	not sent: srcrate, which counts SRC and BTS together
 * @src_nomem:		not sent: no memory
 * @src_dropped:	not sent: the CPU's input queue was full
 * @src_unfit:		not sent: the packet must not be answered, or cannot be quoted
 *
 * Queue:
 * @high:		packets that took the high band
 * @gso_split:		super-packets split
 * @gso_segs:		... into so many
 * @gso_failed:		... dropped because they could not be split
 * @drop_data:		dropped at the limit
 * @drop_high:		dropped at the limit, from the high band
 * @drop_change:	dropped because the limit was lowered
 *
 * SFC, state when asked:
 * @qth:		bytes, in force; 0: no BTS from this port's queue
 * @qtg:		bytes, in force
 * @suppress_ns:	in force; 0: off
 *
 * SFC, in control messages:
 * @bts_sent:		handed to the stack
 * @bts_suppressed:	not sent: the flow was told in this period
 * @bts_false:		... was not told, in truth: a lower bound (sch_sfc/bloom.h)
 * @bts_limited:	as src_limited
 * @bts_nomem:		as src_nomem
 * @bts_dropped:	as src_dropped
 * @bts_unfit:		as src_unfit
 * @bts_cached:		of bts_sent, those whose pause the cache knew
 *
 * The pause cache; all but the hits are the namespace's, the same at each port with a cache:
 * @cache_entries:	pauses that last, when asked
 * @cache_hits:		data packets of this port whose destination was in it
 * @cache_inserts:	BTS that made an entry
 * @cache_updates:	BTS about an entry that was there
 * @cache_full:		BTS that found no room
 * @cache_refused:	control messages malformed, about somebody else, or without a valid tag
 * @cache_ignored:	BTS that came in by an edge port: this switch's own, or a server's
 *
 * @ecn_marked:		packets that got CE here
 *
 * @estimator_hits:	data packets whose destination the estimator took for congested
 *
 * Hold, state when asked:
 * @hold_pkts:		packets that wait; qlen counts them as well
 * @hold_bytes:		... bytes; the backlog counts them as well
 * @hold_slots:		destinations paused
 *
 * Hold, BTS about flows of this port:
 * @hold_bts:		believed
 * @hold_pauses:	... those that began a pause
 * @hold_ns:		... time that was paused for
 * @hold_clamped:	... granted less than they asked for
 * @hold_full:		... not obeyed: all slots are taken
 * @hold_trips:		... not obeyed: found the destination held for its share, watchdog
 * @hold_deaf:		... not obeyed: those, and others until it has recovered
 * @hold_held:		packets held
 * @hold_released:	... and let go at the end of a pause
 *
 * Hold, BTS not believed; the namespace's, the same at each port that holds:
 * @hold_refused:	checksum, tag, TTL, about somebody else's packet
 * @hold_oversize:	ask for more than a second
 * @hold_stale:		quote a flow that has sent nothing by any port that holds for a second
 *
 * Bands:
 * @drop_filter:	dropped because a filter said so
 * @bands_moved:	packets whose band went while they waited: now in the default band
 * @bands:		bands of data, when asked
 * @band:		each of them, with more than one
 *
 * Several transmit queues at one link; @sm_token and @pru_token are the port's then:
 * @queues:		that are one port, this one among them; 0: it is the port
 * @port_backlog:	bytes that wait in all, as this queue knows
 * @port_writes:	of this queue to what they share
 *
 * @src_unasked:	congested packets whose sender wanted no SRC (NOSRC)
 */
struct tc_sfc_xstats {
	__u64	link_rate;
	__u64	ccthresh;
	__u64	mtu;
	__u64	backlog_peak;
	__s64	sm_token;
	__u64	pru_token;
	__u64	tagged;

	__u64	data;
	__u64	congested;
	__u64	dec_set;
	__u64	dec_seen;
	__u64	pru_added;
	__u64	inc_pru;
	__u64	inc_sm;
	__u64	inc_cleared;
	__u64	opt_bad;
	__u64	mark_failed;

	__u64	src_sent;
	__u64	src_limited;
	__u64	src_nomem;
	__u64	src_dropped;
	__u64	src_unfit;

	__u64	high;
	__u64	gso_split;
	__u64	gso_segs;
	__u64	gso_failed;
	__u64	drop_data;
	__u64	drop_high;
	__u64	drop_change;

	__u64	qth;
	__u64	qtg;
	__u64	suppress_ns;

	__u64	bts_sent;
	__u64	bts_suppressed;
	__u64	bts_false;
	__u64	bts_limited;
	__u64	bts_nomem;
	__u64	bts_dropped;
	__u64	bts_unfit;
	__u64	bts_cached;

	__u64	cache_entries;
	__u64	cache_hits;
	__u64	cache_inserts;
	__u64	cache_updates;
	__u64	cache_full;
	__u64	cache_refused;
	__u64	cache_ignored;

	__u64	ecn_marked;

	__u64	estimator_hits;

	__u64	hold_pkts;
	__u64	hold_bytes;
	__u64	hold_slots;
	__u64	hold_bts;
	__u64	hold_pauses;
	__u64	hold_ns;
	__u64	hold_clamped;
	__u64	hold_full;
	__u64	hold_trips;
	__u64	hold_deaf;
	__u64	hold_held;
	__u64	hold_released;
	__u64	hold_refused;
	__u64	hold_oversize;
	__u64	hold_stale;

	__u64	drop_filter;
	__u64	bands_moved;
	__u64	bands;
	struct tc_sfc_band	band[TC_SFC_BANDS_MAX];

	__u64	queues;
	__u64	port_backlog;
	__u64	port_writes;

	__u64	src_unasked;
};

#endif /* _UAPI_LINUX_PKT_SCH_SFC_H */
