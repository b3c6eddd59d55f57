/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "bolt" of tcp_bolt.ko: flows, counters, events.
 * Specified by Documentation/netlink/specs/bolt.yaml, explained by Documentation/netlink.rst.
 */
#ifndef _UAPI_LINUX_BOLT_NETLINK_H
#define _UAPI_LINUX_BOLT_NETLINK_H

#define BOLT_FAMILY_NAME	"bolt"
#define BOLT_FAMILY_VERSION	1

/* Events a second that a namespace sends at most; those beyond it are counted */
#define BOLT_EVENTS_RATE	10000
/* Events that may come at once */
#define BOLT_EVENTS_BURST	1000

/**
 * enum bolt_event_type - what happened to a flow
 * @BOLT_EVENT_TYPE_SRC: An SRC was believed; verdict says what became of it
 * @BOLT_EVENT_TYPE_PAUSE_BEGIN: A BTS has paused the flow
 * @BOLT_EVENT_TYPE_PAUSE_CHANGE: Another BTS has moved the end of the pause
 * @BOLT_EVENT_TYPE_PAUSE_END: The flow goes on, or has nothing to send and is forgotten
 * @BOLT_EVENT_TYPE_WATCHDOG: The flow was paused for too much of an interval and is deaf to
 *	BTS for a while
 * @BOLT_EVENT_TYPE_REFUSAL: A control message was not believed; reason is the counter that has
 *	moved
 * @BOLT_EVENT_TYPE_FALLBACK: A socket goes on without the option; reason is the counter that
 *	has moved
 */
enum bolt_event_type {
	BOLT_EVENT_TYPE_SRC,
	BOLT_EVENT_TYPE_PAUSE_BEGIN,
	BOLT_EVENT_TYPE_PAUSE_CHANGE,
	BOLT_EVENT_TYPE_PAUSE_END,
	BOLT_EVENT_TYPE_WATCHDOG,
	BOLT_EVENT_TYPE_REFUSAL,
	BOLT_EVENT_TYPE_FALLBACK,
};

/**
 * enum bolt_src_verdict - what became of an src
 * @BOLT_SRC_VERDICT_DEC: The window is smaller now
 * @BOLT_SRC_VERDICT_HELD: Too soon after the last (Bolt, Algorithm 2 line 6)
 * @BOLT_SRC_VERDICT_FLOOR: The window cannot be smaller
 * @BOLT_SRC_VERDICT_DEFERRED: A user owns the socket; the window is smaller as soon as it does
 *	not
 */
enum bolt_src_verdict {
	BOLT_SRC_VERDICT_DEC,
	BOLT_SRC_VERDICT_HELD,
	BOLT_SRC_VERDICT_FLOOR,
	BOLT_SRC_VERDICT_DEFERRED,
};

/**
 * enum bolt_flow_flag - state of a flow
 * @BOLT_FLOW_FLAG_OPTION: The connection carries the option
 * @BOLT_FLOW_FLAG_PLAIN: It does not; swift goes by TCP's RTT
 * @BOLT_FLOW_FLAG_PAUSED: A BTS pauses it at the moment
 * @BOLT_FLOW_FLAG_DEAF: The watchdog has tripped and has not recovered
 */
enum bolt_flow_flag {
	BOLT_FLOW_FLAG_OPTION = 1,
	BOLT_FLOW_FLAG_PLAIN = 2,
	BOLT_FLOW_FLAG_PAUSED = 4,
	BOLT_FLOW_FLAG_DEAF = 8,
};

enum {
	BOLT_A_FLOW_COOKIE = 1,	/* u64 */
	BOLT_A_FLOW_LOCAL_ADDR,	/* bytes */
	BOLT_A_FLOW_REMOTE_ADDR,	/* bytes */
	BOLT_A_FLOW_LOCAL_PREFIX,	/* u8 */
	BOLT_A_FLOW_REMOTE_PREFIX,	/* u8 */
	BOLT_A_FLOW_LOCAL_PORT,	/* u16 */
	BOLT_A_FLOW_REMOTE_PORT,	/* u16 */
	BOLT_A_FLOW_FAMILY,	/* u8 */
	BOLT_A_FLOW_CONGESTION,	/* string */
	BOLT_A_FLOW_IFINDEX,	/* u32 */
	BOLT_A_FLOW_PAD,
	BOLT_A_FLOW_NETNS_COOKIE,	/* u64 */
	BOLT_A_FLOW_UID,	/* u32 */
	BOLT_A_FLOW_INODE,	/* u32 */
	BOLT_A_FLOW_STATE,	/* u8 */
	BOLT_A_FLOW_FLAGS,	/* u32, flags of enum bolt_flow_flag */
	BOLT_A_FLOW_CWND,	/* u32 */
	BOLT_A_FLOW_WINDOW,	/* u64 */
	BOLT_A_FLOW_MAX_CWND,	/* u32 */
	BOLT_A_FLOW_INIT_CWND,	/* u32 */
	BOLT_A_FLOW_SWIFT_FABRIC,	/* u64 */
	BOLT_A_FLOW_SWIFT_ENDPOINT,	/* u64 */
	BOLT_A_FLOW_SWIFT_ENDPOINT_NS,	/* u32 */
	BOLT_A_FLOW_SRTT_NS,	/* u32 */
	BOLT_A_FLOW_MIN_RTT_NS,	/* u32 */
	BOLT_A_FLOW_NIC_RATE,	/* u32 */
	BOLT_A_FLOW_PAUSE,	/* nest of BOLT_A_PAUSE_* */
	BOLT_A_FLOW_LAST_SRC,	/* nest of BOLT_A_LAST_SRC_* */
	BOLT_A_FLOW_COUNTERS,	/* nest of BOLT_A_COUNTERS_* */

	__BOLT_A_FLOW_MAX,
	BOLT_A_FLOW_MAX = (__BOLT_A_FLOW_MAX - 1)
};

enum {
	BOLT_A_PAUSE_PAD = 1,
	BOLT_A_PAUSE_REMAINING_NS,	/* u64 */
	BOLT_A_PAUSE_ASKED_NS,	/* u32 */
	BOLT_A_PAUSE_SWITCH_ID,	/* u32 */
	BOLT_A_PAUSE_FROM_CACHE,	/* flag */
	BOLT_A_PAUSE_DEAF_NS,	/* u64 */
	BOLT_A_PAUSE_BEGUN,	/* u32 */
	BOLT_A_PAUSE_GRANTED_NS,	/* u64 */

	__BOLT_A_PAUSE_MAX,
	BOLT_A_PAUSE_MAX = (__BOLT_A_PAUSE_MAX - 1)
};

enum {
	BOLT_A_LAST_SRC_PAD = 1,
	BOLT_A_LAST_SRC_QUEUE_BYTES,	/* u32 */
	BOLT_A_LAST_SRC_LINK_RATE,	/* u32 */
	BOLT_A_LAST_SRC_RTT_SRC_NS,	/* u32 */
	BOLT_A_LAST_SRC_AGE_NS,	/* u64 */
	BOLT_A_LAST_SRC_SWITCH_ID,	/* u32 */
	BOLT_A_LAST_SRC_VERDICT,	/* u32, enum bolt_src_verdict */

	__BOLT_A_LAST_SRC_MAX,
	BOLT_A_LAST_SRC_MAX = (__BOLT_A_LAST_SRC_MAX - 1)
};

enum {
	BOLT_A_COUNTERS_SRC = 1,	/* u32 */
	BOLT_A_COUNTERS_SRC_DEC,	/* u32 */
	BOLT_A_COUNTERS_INC,	/* u32 */
	BOLT_A_COUNTERS_AI,	/* u32 */
	BOLT_A_COUNTERS_LOSS_DEC,	/* u32 */
	BOLT_A_COUNTERS_RTO_DEC,	/* u32 */
	BOLT_A_COUNTERS_PAUSES,	/* u32 */

	__BOLT_A_COUNTERS_MAX,
	BOLT_A_COUNTERS_MAX = (__BOLT_A_COUNTERS_MAX - 1)
};

enum {
	BOLT_A_STATS_PAD = 1,
	BOLT_A_STATS_VERSION,	/* u32 */
	BOLT_A_STATS_NETNS_COOKIE,	/* u64 */
	BOLT_A_STATS_PORT,	/* u16 */
	BOLT_A_STATS_PORT_OPEN,	/* u8 */
	BOLT_A_STATS_SFC,	/* u8 */
	BOLT_A_STATS_SWIFT,	/* u8 */
	BOLT_A_STATS_FLOWS,	/* u32 */
	BOLT_A_STATS_HASH_SIZE,	/* u32 */
	BOLT_A_STATS_PAUSES,	/* u32 */
	BOLT_A_STATS_EVENTS_SENT,	/* u64 */
	BOLT_A_STATS_EVENTS_LOST,	/* u64 */
	BOLT_A_STATS_COUNTER,	/* nest of BOLT_A_COUNTER_*, each */

	__BOLT_A_STATS_MAX,
	BOLT_A_STATS_MAX = (__BOLT_A_STATS_MAX - 1)
};

enum {
	BOLT_A_COUNTER_PAD = 1,
	BOLT_A_COUNTER_NAME,	/* string */
	BOLT_A_COUNTER_VALUE,	/* u64 */

	__BOLT_A_COUNTER_MAX,
	BOLT_A_COUNTER_MAX = (__BOLT_A_COUNTER_MAX - 1)
};

enum {
	BOLT_A_EVENT_PAD = 1,
	BOLT_A_EVENT_TYPE,	/* u32, enum bolt_event_type */
	BOLT_A_EVENT_TIME_NS,	/* u64 */
	BOLT_A_EVENT_LOST,	/* u32 */
	BOLT_A_EVENT_FLOW,	/* nest of BOLT_A_FLOW_* */
	BOLT_A_EVENT_QUEUE_BYTES,	/* u32 */
	BOLT_A_EVENT_LINK_RATE,	/* u32 */
	BOLT_A_EVENT_RTT_SRC_NS,	/* u32 */
	BOLT_A_EVENT_SWITCH_ID,	/* u32 */
	BOLT_A_EVENT_VERDICT,	/* u32, enum bolt_src_verdict */
	BOLT_A_EVENT_ASKED_NS,	/* u32 */
	BOLT_A_EVENT_GRANTED_NS,	/* u64 */
	BOLT_A_EVENT_FROM_CACHE,	/* flag */
	BOLT_A_EVENT_REASON,	/* string */
	BOLT_A_EVENT_SENDER,	/* bytes */

	__BOLT_A_EVENT_MAX,
	BOLT_A_EVENT_MAX = (__BOLT_A_EVENT_MAX - 1)
};

enum {
	BOLT_CMD_FLOW_GET = 1,
	BOLT_CMD_STATS_GET,
	BOLT_CMD_EVENT,

	__BOLT_CMD_MAX,
	BOLT_CMD_MAX = (__BOLT_CMD_MAX - 1)
};

#define BOLT_MCGRP_EVENTS	"events"

#endif /* _UAPI_LINUX_BOLT_NETLINK_H */
