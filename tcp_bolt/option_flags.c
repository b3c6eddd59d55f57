// SPDX-License-Identifier: GPL-2.0
/* Flags of a data packet (Bolt, sections 3.2 and 4.2): FIRST, LAST or INC. */

#include <net/tcp.h>

#include "bolt.h"

/* A window of at most so many packets is small: see bolt_data_flags() */
#define BOLT_SMALL_CWND		16

/*
 * LAST (section 3.2): the data from @seq on fits in the window, so the flow has nothing to send in
 * the next RTT.  This cannot be told from a bulk sender between two writes.
 */
static bool bolt_is_last(const struct sock *sk, const struct bolt_flow *f, u32 seq)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->write_seq - seq <= (u64)f->cwnd * tp->mss_cache &&
	       !bolt_more_to_come(sk);
}

/* A new flow, or one that resumes after it was idle for more than a round trip */
static bool bolt_is_first(const struct sock *sk, const struct bolt_flow *f, u64 now_ns)
{
	u64 due_ns = max(f->last_tx_ns, f->pace_ns);

	if (!f->last_tx_ns)
		return true;
	return !tcp_sk(sk)->packets_out && now_ns > due_ns + 2ULL * f->core.min_rtt_ns &&
	       now_ns > f->last_ack_ns + f->gap_ns + f->core.min_rtt_ns;
}

/*
 * The flags of data from @seq to @end_seq.  INC is never set together with FIRST or LAST (sections
 * 3.2 and 4.2).
 */
u8 bolt_data_flags(struct sock *sk, struct bolt_flow *f, u32 seq, u32 end_seq, u64 now_ns)
{
	struct bolt_net *bn = f->bn;
	u8 flags = 0;

	if (bolt_is_first(sk, f, now_ns)) {
		/* the smoothed RTT is from before the idle time */
		WRITE_ONCE(f->core.srtt_ns, 0);
		if (READ_ONCE(bn->idle_restart))
			bolt_cc_set(sk, f, (u64)f->init_cwnd << 32);
		/*
		 * A small window gets no credit for the time it was idle (bolt_core_next_tx()): a
		 * second packet at once would queue in the NIC, where no SRC can take it back.  A
		 * large window keeps the credit of one packet, which hardly matters there and makes
		 * up for the serialization times that base_rtt_ns leaves out of the BDP.
		 */
		if (f->cwnd <= BOLT_SMALL_CWND)
			f->next_tx_ns = now_ns;
		f->in_first = 1;
		f->first_end = seq + min_t(u64, (u64)f->cwnd * tcp_sk(sk)->mss_cache, 1U << 30);
		f->last_open = 0;
	}
	if (f->in_first) {
		if (before(seq, f->first_end)) {
			flags |= BOLT_F_FIRST;
			BOLT_INC_STATS(bn, FirstTx);
		} else {
			f->in_first = 0;
		}
	}
	if (bolt_is_last(sk, f, seq)) {
		flags |= BOLT_F_LAST;
		BOLT_INC_STATS(bn, LastTx);
		f->last_open = 1;
		f->last_seq = end_seq;
	} else if (f->last_open && after(seq, f->last_seq)) {
		BOLT_INC_STATS(bn, LastFalse);
		f->last_open = 0;
	}
	/* do not request INC at the maximum window, or while Swift's window is the smaller one */
	if (!(flags & (BOLT_F_FIRST | BOLT_F_LAST)) &&
	    bolt_core_packets(&f->core) <= f->cwnd &&
	    bolt_core_packets(&f->core) < f->max_cwnd)
		flags |= BOLT_F_INC;
	return flags;
}
