/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What /proc/lablink_samples holds: a header, a table that says what each
 * column of a row is, then the rows, one per sample, each with one record per
 * column. Host byte order, no padding anywhere.
 *
 *	struct lablink_samples_hdr
 *	struct lablink_column		[hdr.columns]
 *	struct lablink_sample		[hdr.rows][hdr.columns]
 *
 * Row i shows the state at hdr.start_ns + i * hdr.interval_ns, before anything
 * that happens in that nanosecond.
 */
#ifndef _LABLINK_UAPI_H
#define _LABLINK_UAPI_H

#include <linux/types.h>

#define LABLINK_SAMPLES_MAGIC	0x4b4e4c42	/* "BLNK" */
#define LABLINK_SAMPLES_VERSION	2

enum lablink_column_kind {
	LABLINK_COLUMN_DEVICE	= 1,	/* a device named by `watch` */
	LABLINK_COLUMN_SOCKET	= 2,	/* a socket named by `sock` */
};

struct lablink_samples_hdr {
	__u32 magic;
	__u16 version;
	__u16 header_bytes;	/* sizeof(struct lablink_samples_hdr) */
	__u32 columns;
	__u32 row_bytes;	/* columns * sizeof(struct lablink_sample) */
	__u64 rows;
	__u64 start_ns;		/* ktime_get() time of row 0 */
	__u64 interval_ns;
};

struct lablink_column {
	__u32 kind;		/* enum lablink_column_kind */
	__u32 id;		/* device: its link id; socket: the given ID */
};

struct lablink_sample {
	union {
		__u64 tx_bytes;		/* device: serialized since the window began */
		__u64 acked_bytes;	/* socket: since the window began */
	};
	union {
		__u32 queue_bytes;	/* device: in its root qdisc, and in its ring */
		__u32 cwnd_bytes;	/* socket: snd_cwnd * mss */
	};
	__u32 inflight_bytes;		/* socket; 0 of a device */
};

/*
 * What /proc/lablink_capture holds: a header, then one record after the other, each
 * followed by caplen bytes of the packet from its Ethernet header on, and zeros to a
 * multiple of 8. The packets of a GSO packet are recorded at once, each with
 * its own time, so times of one link go back and forth.
 */
#define LABLINK_CAPTURE_MAGIC	0x50414342	/* "BCAP" */
#define LABLINK_CAPTURE_VERSION	1

enum lablink_capture_what {
	LABLINK_CAPTURE_WIRE		= 0,	/* serialized; ns: its first bit leaves */
	LABLINK_CAPTURE_QDISC_DROP	= 1,	/* ns: it came to the qdisc, unsplit */
	LABLINK_CAPTURE_TX_DROP		= 2,	/* no memory to split it */
	LABLINK_CAPTURE_RX_DROP		= 3,	/* ns: it arrived, at a device that is down */
	LABLINK_CAPTURE_LOST		= 4,	/* ns: it would have arrived, but for a fault */
};

struct lablink_capture_hdr {
	__u32 magic;
	__u16 version;
	__u16 header_bytes;	/* sizeof(struct lablink_capture_hdr) */
	__u64 bytes;		/* of all records */
	__u64 lost;		/* packets that found no room */
	__u64 start_ns;		/* ktime_get() time the window began */
	__u32 snaplen;
	__u32 reserved;
};

struct lablink_capture_rec {
	__u64 ns;		/* ktime_get() time */
	__u32 link;		/* id of the end that sends */
	__u32 what;		/* enum lablink_capture_what */
	__u32 len;
	__u32 caplen;
};

/*
 * What /proc/lablink_follow holds: a header, then one record after the other, of
 * connections that `follow` named. Bytes are counted from the first that was written
 * afterwards, modulo 2^32.
 */
#define LABLINK_FOLLOW_MAGIC	0x574f4c46	/* "FLOW" */
#define LABLINK_FOLLOW_VERSION	1

enum lablink_follow_what {
	LABLINK_FOLLOW_SENT	= 0,	/* given to the qdisc of the sender's port, unsplit */
	LABLINK_FOLLOW_WIRE	= 1,	/* it has arrived; ns: its first bit left; until_ns: then */
	LABLINK_FOLLOW_WAITS	= 2,	/* ns: from then on */
};

/* Why the head of the send queue is not sent: all of them that hold */
enum lablink_follow_waits {
	LABLINK_WAIT_APPLICATION = 1,	/* there is none */
	LABLINK_WAIT_CONNECT	= 2,	/* the handshake */
	LABLINK_WAIT_WINDOW	= 4,	/* congestion window */
	LABLINK_WAIT_RECEIVER	= 8,	/* receive window */
	LABLINK_WAIT_DEPARTURE	= 16,	/* pacing: until_ns has not come */
	LABLINK_WAIT_PAUSE	= 32,	/* likewise, set by a BTS */
	LABLINK_WAIT_DEVICE	= 64,	/* TCP small queues */
	LABLINK_WAIT_RECOVERY	= 128,	/* what was lost comes first */
};

struct lablink_follow_hdr {
	__u32 magic;
	__u16 version;
	__u16 header_bytes;	/* sizeof(struct lablink_follow_hdr) */
	__u32 record_bytes;	/* sizeof(struct lablink_follow_rec) */
	__u32 reserved;
	__u64 records;
	__u64 lost;		/* that found no room, the last ones */
	__u64 start_ns;		/* ktime_get() time the window began */
};

struct lablink_follow_rec {
	__u64 ns;		/* ktime_get() time */
	__u64 until_ns;
	__u32 connection;	/* the given ID */
	__u32 link;		/* id of the end that sends */
	__u32 offset;		/* of the first byte */
	__u32 len;		/* bytes of data */
	__u32 waits;		/* enum lablink_follow_waits */
	__u16 what;		/* enum lablink_follow_what */
	__u16 ip_id;		/* IPv4: tells copies of a packet apart */
};

#endif /* _LABLINK_UAPI_H */
