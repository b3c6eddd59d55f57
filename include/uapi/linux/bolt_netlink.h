/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "bolt" of tcp_bolt.ko: flows.
 * Specified by Documentation/netlink/specs/bolt.yaml, explained by Documentation/netlink.rst.
 */
#ifndef _UAPI_LINUX_BOLT_NETLINK_H
#define _UAPI_LINUX_BOLT_NETLINK_H

#define BOLT_FAMILY_NAME	"bolt"
#define BOLT_FAMILY_VERSION	2

/**
 * enum bolt_src_verdict - what became of an src
 * @BOLT_SRC_VERDICT_DEC: The window is smaller now
 * @BOLT_SRC_VERDICT_HELD: The window is not smaller, as its increase was larger or, with
 *	net.bolt.debug.paper, the last decrease too recent
 * @BOLT_SRC_VERDICT_FLOOR: The window cannot be smaller
 */
enum bolt_src_verdict {
	BOLT_SRC_VERDICT_DEC,
	BOLT_SRC_VERDICT_HELD,
	BOLT_SRC_VERDICT_FLOOR,
};

enum {
	BOLT_A_FLOW_COOKIE = 1,	/* u64 */
	BOLT_A_FLOW_LOCAL_ADDR,	/* bytes */
	BOLT_A_FLOW_REMOTE_ADDR,	/* bytes */
	BOLT_A_FLOW_LOCAL_PORT,	/* u16 */
	BOLT_A_FLOW_REMOTE_PORT,	/* u16 */
	BOLT_A_FLOW_FAMILY,	/* u8 */
	BOLT_A_FLOW_CONGESTION,	/* string */
	BOLT_A_FLOW_IFINDEX,	/* u32 */
	BOLT_A_FLOW_PAD,
	BOLT_A_FLOW_STATE,	/* u8 */
	BOLT_A_FLOW_OPTION,	/* flag */
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
	BOLT_A_FLOW_LIMIT,	/* u32 */

	__BOLT_A_FLOW_MAX,
	BOLT_A_FLOW_MAX = (__BOLT_A_FLOW_MAX - 1)
};

enum {
	BOLT_A_PAUSE_PAD = 1,
	BOLT_A_PAUSE_REMAINING_NS,	/* u64 */
	BOLT_A_PAUSE_ASKED_NS,	/* u32 */
	BOLT_A_PAUSE_SWITCH_ID,	/* u32 */
	BOLT_A_PAUSE_FROM_CACHE,	/* flag */
	BOLT_A_PAUSE_IGNORE_NS,	/* u64 */
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
	BOLT_CMD_FLOW_GET = 1,

	__BOLT_CMD_MAX,
	BOLT_CMD_MAX = (__BOLT_CMD_MAX - 1)
};

#endif /* _UAPI_LINUX_BOLT_NETLINK_H */
