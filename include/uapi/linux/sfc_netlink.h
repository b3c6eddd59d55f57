/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "sfc" of sch_sfc.ko: the pause cache, events.
 * Specified by Documentation/netlink/specs/sfc.yaml, explained by Documentation/netlink.rst.
 */
#ifndef _UAPI_LINUX_SFC_NETLINK_H
#define _UAPI_LINUX_SFC_NETLINK_H

#define SFC_FAMILY_NAME	"sfc"
#define SFC_FAMILY_VERSION	1

/* Events a second that a namespace sends at most; those beyond it are counted */
#define SFC_EVENTS_RATE	10000
/* Events that may come at once */
#define SFC_EVENTS_BURST	1000

/**
 * enum sfc_event_type - what a port did
 * @SFC_EVENT_TYPE_SRC: It answered a packet with an SRC, or tried to
 * @SFC_EVENT_TYPE_BTS: It answered a packet with a BTS, or tried to
 * @SFC_EVENT_TYPE_CACHE_HIT: A packet's destination was in the pause cache
 * @SFC_EVENT_TYPE_SUPPRESSED: A BTS was not sent, since the flow has been told
 * @SFC_EVENT_TYPE_REFUSAL: A control message that passed was not believed
 */
enum sfc_event_type {
	SFC_EVENT_TYPE_SRC,
	SFC_EVENT_TYPE_BTS,
	SFC_EVENT_TYPE_CACHE_HIT,
	SFC_EVENT_TYPE_SUPPRESSED,
	SFC_EVENT_TYPE_REFUSAL,
};

/**
 * enum sfc_verdict - what became of a control message
 * @SFC_VERDICT_SENT: Handed to the stack
 * @SFC_VERDICT_LIMITED: Not sent, srcrate
 * @SFC_VERDICT_NOMEM: Not sent, no memory
 * @SFC_VERDICT_DROPPED: Not sent, the input queue of the CPU was full
 * @SFC_VERDICT_UNFIT: Not sent, the packet must not be answered, or cannot be quoted
 * @SFC_VERDICT_MALFORMED: Refused, cannot be read
 * @SFC_VERDICT_FORGED: Refused, about somebody else or without a valid tag
 * @SFC_VERDICT_EDGE: Ignored, came in by an edge port
 */
enum sfc_verdict {
	SFC_VERDICT_SENT,
	SFC_VERDICT_LIMITED,
	SFC_VERDICT_NOMEM,
	SFC_VERDICT_DROPPED,
	SFC_VERDICT_UNFIT,
	SFC_VERDICT_MALFORMED,
	SFC_VERDICT_FORGED,
	SFC_VERDICT_EDGE,
};

/**
 * enum sfc_bts_flag - of a BTS
 * @SFC_BTS_FLAG_CACHEABLE: A switch on the way may remember it
 * @SFC_BTS_FLAG_FROM_CACHE: Its pause is from the cache, or the estimator
 */
enum sfc_bts_flag {
	SFC_BTS_FLAG_CACHEABLE = 1,
	SFC_BTS_FLAG_FROM_CACHE = 2,
};

enum {
	SFC_A_CACHE_PAD = 1,
	SFC_A_CACHE_ADDR,	/* bytes */
	SFC_A_CACHE_DSCP,	/* u8 */
	SFC_A_CACHE_REMAINING_NS,	/* u64 */
	SFC_A_CACHE_VERSION,	/* u32 */
	SFC_A_CACHE_HITS,	/* u32 */

	__SFC_A_CACHE_MAX,
	SFC_A_CACHE_MAX = (__SFC_A_CACHE_MAX - 1)
};

enum {
	SFC_A_STATS_PAD = 1,
	SFC_A_STATS_VERSION,	/* u32 */
	SFC_A_STATS_NETNS_COOKIE,	/* u64 */
	SFC_A_STATS_CACHE_SIZE,	/* u32 */
	SFC_A_STATS_ENTRIES,	/* u32 */
	SFC_A_STATS_INSERTS,	/* u64 */
	SFC_A_STATS_UPDATES,	/* u64 */
	SFC_A_STATS_FULL,	/* u64 */
	SFC_A_STATS_REFUSED,	/* u64 */
	SFC_A_STATS_IGNORED,	/* u64 */
	SFC_A_STATS_EVENTS_SENT,	/* u64 */
	SFC_A_STATS_EVENTS_LOST,	/* u64 */

	__SFC_A_STATS_MAX,
	SFC_A_STATS_MAX = (__SFC_A_STATS_MAX - 1)
};

enum {
	SFC_A_EVENT_PAD = 1,
	SFC_A_EVENT_TYPE,	/* u32, enum sfc_event_type */
	SFC_A_EVENT_TIME_NS,	/* u64 */
	SFC_A_EVENT_LOST,	/* u32 */
	SFC_A_EVENT_IFINDEX,	/* u32 */
	SFC_A_EVENT_HANDLE,	/* u32 */
	SFC_A_EVENT_SRC_ADDR,	/* bytes */
	SFC_A_EVENT_DST_ADDR,	/* bytes */
	SFC_A_EVENT_SRC_PORT,	/* u16 */
	SFC_A_EVENT_DST_PORT,	/* u16 */
	SFC_A_EVENT_PROTOCOL,	/* u8 */
	SFC_A_EVENT_DSCP,	/* u8 */
	SFC_A_EVENT_QUEUE_BYTES,	/* u32 */
	SFC_A_EVENT_LINK_RATE,	/* u32 */
	SFC_A_EVENT_PAUSE_NS,	/* u32 */
	SFC_A_EVENT_FLAGS,	/* u32, flags of enum sfc_bts_flag */
	SFC_A_EVENT_VERDICT,	/* u32, enum sfc_verdict */

	__SFC_A_EVENT_MAX,
	SFC_A_EVENT_MAX = (__SFC_A_EVENT_MAX - 1)
};

enum {
	SFC_CMD_CACHE_GET = 1,
	SFC_CMD_STATS_GET,
	SFC_CMD_EVENT,

	__SFC_CMD_MAX,
	SFC_CMD_MAX = (__SFC_CMD_MAX - 1)
};

#define SFC_MCGRP_EVENTS	"events"

#endif /* _UAPI_LINUX_SFC_NETLINK_H */
