// SPDX-License-Identifier: GPL-2.0
/*
 * bolt's windows below one packet: TCP's side of what core.h decides.
 *
 * snd_cwnd stays at 1.  What is longer than a round trip is put off in tcp_wstamp_ns, TCP's own:
 * its pacing timer does the rest (swift.c).  With each packet that leaves, the next departure is
 * set by the newest RTT; the ACK then says what the RTT was, so that the wait counts from there.
 *
 * A flow that has nothing to send keeps its wait, and after a silence starts with a whole packet
 * (FIRST, option_tx.c): what it knew of the path is as old as that.
 */

#include <net/tcp.h>

#include "bolt.h"

static u32 bolt_below_max_ns(const struct sock *sk, const struct bolt_flow *f)
{
	return bolt_core_wait_max_ns(&f->core,
				     READ_ONCE(f->bn->min_cwnd_milli));
}

/* Before the first RTT sample there is no window to take a part of. */
bool bolt_below_allowed(const struct sock *sk, const struct bolt_flow *f)
{
	return bolt_below_max_ns(sk, f);
}

/* Only a window of one packet waits; loss recovery and its undoing change it without a word. */
static bool bolt_below_waits(const struct sock *sk, struct bolt_flow *f)
{
	if (tcp_snd_cwnd(tcp_sk(sk)) > 1)
		f->core.wait_ns = 0;
	return f->core.wait_ns;
}

static void bolt_below_repace(struct sock *sk, struct bolt_flow *f)
{
	bolt_repace(sk, f, f->last_tx_ns + bolt_core_gap_ns(&f->core));
}

/* A data packet has left, at f->last_tx_ns: when may the next? */
void bolt_below_depart(struct sock *sk, struct bolt_flow *f)
{
	struct tcp_sock *tp = tcp_sk(sk);

	f->pace_ns = 0;
	if (likely(!bolt_below_waits(sk, f)))
		return;
	BOLT_INC_STATS(f->bn, BelowTx);
	f->pace_ns = max(tp->tcp_wstamp_ns, f->last_tx_ns + bolt_core_gap_ns(&f->core));
	tp->tcp_wstamp_ns = f->pace_ns;
}

/* An SRC, whose queue is f->src_queue_ns, of a window of one packet or less */
void bolt_below_src(struct sock *sk, struct bolt_flow *f)
{
	bolt_core_wait_src(&f->core, f->src_queue_ns, bolt_below_max_ns(sk, f));
	bolt_below_repace(sk, f);
}

/* False when the window is not below one: then it grows as Algorithm 2 says. */
bool bolt_below_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs, u32 inc)
{
	if (likely(!bolt_below_waits(sk, f)))
		return false;
	if (inc)
		f->core.wait_ns = 0;
	else if (rs->acked_sacked > 0 && tcp_send_head(sk) && READ_ONCE(f->bn->ai))
		/* a window that is not the limit says nothing when it grows */
		bolt_core_wait_ack(&f->core, READ_ONCE(f->ack_dec) ? f->src_queue_ns : 0);
	/* the next increase of a packet is due a round trip after this one */
	bolt_core_ai_taken(&f->core, tcp_sk(sk)->snd_nxt);
	bolt_below_repace(sk, f);
	return true;
}

/* Loss, at a window of one packet or less */
void bolt_below_cut(struct sock *sk, struct bolt_flow *f)
{
	bolt_core_wait_cut(&f->core, bolt_below_max_ns(sk, f));
	bolt_below_repace(sk, f);
}
