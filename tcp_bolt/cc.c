// SPDX-License-Identifier: GPL-2.0
/*
 * The congestion control "bolt": TCP's side of Algorithm 2 (core.h).
 *
 *   SRC received                       cwnd - 1, at most target_q times per rtt_src
 *   the same at one packet or less     below_one.c, as for ACKs there
 *   ACK: inc_count has moved by n      cwnd + n
 *   ACK: one window since the last     cwnd + 1, when the window is the limit
 *   fast recovery                      cwnd / 2, once per window    (Swift, Algorithm 1)
 *   RTO                                cwnd / 2; 1 after five in a row (Swift, Algorithm 1)
 *
 * The window starts at the path's BDP, as the paper's flows start at line rate, and never
 * exceeds max_bdp_pct of it: beyond, packets only queue at the sender's own link.
 *
 * Switches that send no SRC (section 6): Swift computes a fabric window beside (swift.c), and the
 * smaller of the two is TCP's.  Bolt's own (f->cwnd) follows Algorithm 2 by what the flow sends:
 * where Swift's is the smaller, an SRC counts from there, and nothing is added to Bolt's.
 *
 * A connection without the option is handed to TCP's Reno, as tcp_dctcp does without ECN.
 */

#include <linux/hrtimer.h>
#include <linux/random.h>
#include <net/tcp.h>

#include "bolt.h"

/* Swift, Algorithm 1: RETX_RESET_THRESHOLD */
#define BOLT_RTO_RESET		5
/* Packets of a queue that are a flow's own from which on its window waits with the increase */
#define BOLT_AI_OWN_QUEUE	2ULL

/* --- the window --- */

/* Section 6: the smaller of the two */
static void bolt_apply(struct sock *sk, struct bolt_flow *f)
{
	f->tcp_cwnd = min_t(u64, f->cwnd, f->swift.fabric.cwnd_q32 >> 32);
	tcp_snd_cwnd_set(tcp_sk(sk), f->tcp_cwnd);
}

static void bolt_set(struct sock *sk, struct bolt_flow *f, u32 cwnd)
{
	f->cwnd = clamp_t(u32, cwnd, 1, min(f->max_cwnd, tcp_sk(sk)->snd_cwnd_clamp));
	bolt_apply(sk, f);
}

/* Is Bolt's window what TCP has? Else it says nothing when it grows. */
static bool bolt_is_limit(const struct sock *sk, const struct bolt_flow *f)
{
	return f->cwnd <= tcp_snd_cwnd(tcp_sk(sk));
}

/* What was decided while a user owned the socket */
void bolt_cc_adjust(struct sock *sk, struct bolt_flow *f, int packets)
{
	u32 cwnd = min(f->cwnd, tcp_snd_cwnd(tcp_sk(sk)));
	bool below = packets < 0 && cwnd <= (u32)-packets && bolt_below_allowed(sk, f);

	/* the bounds of every change of cwnd: one packet, and what fills the path */
	if (packets < 0)
		f->cwnd = cwnd > (u32)-packets ? cwnd + packets : 1;
	else
		f->cwnd = max(f->cwnd, min3(f->cwnd + packets, f->max_cwnd,
					    tcp_sk(sk)->snd_cwnd_clamp));
	bolt_apply(sk, f);
	if (below)
		bolt_below_src(sk, f);
}

static void bolt_take_rtt(struct sock *sk, struct bolt_flow *f)
{
	u32 rtt_ns = xchg(&f->ack_rtt_ns, 0);

	if (rtt_ns)
		bolt_rtt_sample(sk, f, rtt_ns);
}

/* Algorithm 2 lines 10-11, for all ACKs since the last look: the counter is cumulative. */
static u32 bolt_take_inc(struct bolt_flow *f)
{
	u8 inc = READ_ONCE(f->ack_inc);
	u32 n;

	if (!READ_ONCE(f->ack_seen))
		return 0;
	if (f->last_inc > 255) {
		f->last_inc = inc;
		return inc;	/* the peer counts from zero */
	}
	n = bolt_inc_delta(inc, f->last_inc);
	if (n)
		f->last_inc = inc;
	return n;
}

/*
 * Congestion of this flow's making is being dealt with: the increase is postponed, not skipped.
 * Not for any DEC: all but the largest flows would wait the longer for an ACK without it the
 * smaller they are, and nothing would draw shares together any more.
 */
static bool bolt_ai_postponed(const struct bolt_flow *f)
{
	return READ_ONCE(f->ack_dec) &&
	       (f->own_queue || bolt_core_queue_is_long(&f->core, f->src_queue_ns));
}

/*
 * A large window waits for a random moment, which keeps flows mixed.  One of a few packets gathers
 * into no block: it increases on the ACK that is due, as Algorithm 2 does.
 */
static bool bolt_ai_small(const struct bolt_flow *f)
{
	return f->cwnd <= BOLT_SMALL_CWND;
}

/* Place the additive increase at a random moment of the round trip; see bolt_ai_timer(). */
static bool bolt_ai_later(struct sock *sk, struct bolt_flow *f)
{
	if (!READ_ONCE(f->bn->ai_spread) || bolt_ai_small(f))
		return false;
	if (hrtimer_is_queued(&f->ai_timer))
		return true;
	if (!bolt_flow_hold(f))
		return true;
	sock_hold(sk);
	hrtimer_start(&f->ai_timer, ns_to_ktime(get_random_u32_below(f->core.srtt_ns + 1)),
		      HRTIMER_MODE_REL_PINNED_SOFT);
	return true;
}

static void bolt_ai_take(struct sock *sk, struct bolt_flow *f)
{
	/* due from a larger window, and late */
	if (f->core.wait_ns)
		return;
	BOLT_INC_STATS(f->bn, AiTaken);
	f->count.ai++;
	bolt_set(sk, f, f->cwnd + 1);
}

/* Algorithm 2 lines 12-14 */
static void bolt_additive_increase(struct sock *sk, struct bolt_flow *f,
				   const struct rate_sample *rs)
{
	struct bolt_net *bn = f->bn;
	struct tcp_sock *tp = tcp_sk(sk);

	if (!READ_ONCE(bn->ai))
		return;
	if (bolt_ai_postponed(f))
		return;
	if (READ_ONCE(f->ai_owed)) {
		WRITE_ONCE(f->ai_owed, 0);
		bolt_ai_take(sk, f);
	}
	if (!bolt_core_ai_due(&f->core, tp->snd_una))
		return;
	/* A window that is not the limit says nothing when it grows */
	if (rs->prior_in_flight + READ_ONCE(bn->burst_segs) <= tcp_snd_cwnd(tp) ||
	    !bolt_is_limit(sk, f))
		return;
	bolt_core_ai_taken(&f->core, tp->snd_nxt);
	if (!bolt_ai_later(sk, f))
		bolt_ai_take(sk, f);
}

/*
 * An increase taken on an ACK puts the new packet right behind one of the same flow, and a decrease
 * takes any packet out: repeated, that gathers each flow's window into a solid block,
 * and a block that leaves shows supply matching a single gap per round trip.  An increase at
 * a random moment puts the packet anywhere among the others', and keeps flows mixed.
 */
static enum hrtimer_restart bolt_ai_timer(struct hrtimer *timer)
{
	struct bolt_flow *f = container_of(timer, struct bolt_flow, ai_timer);
	struct sock *sk = f->sk;
	struct tcp_sock *tp = tcp_sk(sk);

	bh_lock_sock(sk);
	if (!bolt_sk_uses(sk) || bolt_flow_locked(sk) != f)
		goto out;
	/* congestion since: taken with the first ACK that does not carry DEC */
	if (bolt_ai_postponed(f)) {
		WRITE_ONCE(f->ai_owed, 1);
		goto out;
	}
	if (sock_owned_by_user(sk)) {
		BOLT_INC_STATS(f->bn, AiTaken);
		f->count.ai++;
		bolt_flow_defer(f, sk, 1);
		goto out;
	}
	bolt_ai_take(sk, f);
	/* TCP's pacing timer is the way to have it look at its queue */
	if (tcp_send_head(sk) && !hrtimer_is_queued(&tp->pacing_timer)) {
		hrtimer_start(&tp->pacing_timer, ns_to_ktime(tp->tcp_wstamp_ns),
			      HRTIMER_MODE_ABS_PINNED_SOFT);
		sock_hold(sk);
	}
out:
	bh_unlock_sock(sk);
	sock_put(sk);
	bolt_flow_put(f);
	return HRTIMER_NORESTART;
}

void bolt_cc_flow_init(struct bolt_flow *f)
{
	hrtimer_setup(&f->ai_timer, bolt_ai_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
}

/* Nothing of the flow runs any more. */
void bolt_cc_flow_stop(struct sock *sk, struct bolt_flow *f)
{
	if (hrtimer_try_to_cancel(&f->ai_timer) == 1) {
		__sock_put(sk);		/* the caller has another */
		bolt_flow_put(f);
	}
}

/* Reno from here on. */
static void bolt_fall_back(struct sock *sk, enum bolt_mib_item why)
{
	struct tcp_sock *tp = tcp_sk(sk);

	bolt_flow_release(sk);
	bolt_event_fallback(sk, why);
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &tcp_bolt_fallback);
	BOLT_INC_STATS(bolt_net(sock_net(sk)), Fallback);
	/* a window of a BDP is no place to slow-start from */
	if (tcp_snd_cwnd(tp) > TCP_INIT_CWND && tp->data_segs_out > 1)
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
}

/* TCP has changed the window itself: MTU probing */
static void bolt_take_cwnd(struct sock *sk, struct bolt_flow *f)
{
	if (unlikely(tcp_snd_cwnd(tcp_sk(sk)) != f->tcp_cwnd))
		bolt_set(sk, f, tcp_snd_cwnd(tcp_sk(sk)));
}

static BOLT_CONG_CONTROL(bolt_cong_control, sk, rs)
{
	struct bolt_flow *f = bolt_flow_locked(sk);
	const struct bolt_net *bn;
	u32 inc;

	/* the SYN-ACK acknowledges the SYN before init() runs */
	if (unlikely(!f))
		return;
	bn = f->bn;
	if (unlikely(atomic_read(&f->pending)))
		bolt_flow_take_up(f, sk);
	bolt_limit_bursts(sk, f);
	bolt_take_cwnd(sk, f);
	if (READ_ONCE(bn->brownfield) && READ_ONCE(bn->base_rtt_ns)) {
		bolt_brown_ack(sk, f, rs);
	} else {
		bolt_brown_start(f);
		bolt_take_rtt(sk, f);
	}
	inc = bolt_take_inc(f);
	if (bolt_peer_silent(sk, f)) {
		BOLT_INC_STATS(bn, FallbackLate);
		bolt_fall_back(sk, BOLT_MIB_FallbackLate);
		return;
	}
	if (inc) {
		f->count.inc += inc;
		BOLT_ADD_STATS(bn, IncGranted, inc);
	}
	if (!bolt_below_ack(sk, f, rs, inc)) {
		if (inc)
			bolt_set(sk, f, f->cwnd + inc);
		else
			bolt_apply(sk, f);
		bolt_additive_increase(sk, f, rs);
	}
	if (rs->acked_sacked > 0 && inet_csk(sk)->icsk_ca_state < TCP_CA_Recovery)
		f->rto_count = 0;
}

/*
 * HandleSrc, Algorithm 2 lines 1-8
 *
 * Called in softirq with the socket's spinlock held, whether a user owns the socket or not: the
 * decision is taken at arrival, only the subtraction waits.
 */
enum bolt_src_verdict bolt_cc_src(struct sock *sk, struct bolt_flow *f, u64 now_ns, u32 rtt_src_ns,
				  u32 queue_bytes, u32 link_kbps)
{
	struct bolt_net *bn = f->bn;
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk)), pkt = bolt_pkt_bytes(sk), rate, every_ns = 0;
	bool below, due;
	u64 target_q16;

	BOLT_INC_STATS(bn, SrcRx);
	rate = bolt_core_rate(cwnd, pkt, f->core.srtt_ns, f->nic_kbps);
	/* no more of a queue is this flow's than it has in flight, whatever the message says */
	target_q16 = min_t(u64, bolt_core_target_q(queue_bytes, pkt, rate, link_kbps),
			   (u64)cwnd << 16);
	f->own_queue = target_q16 >= BOLT_AI_OWN_QUEUE << 16;
	f->src_queue_ns = bolt_core_queue_ns(queue_bytes, link_kbps);
	swift_told(&f->told, now_ns, max(f->swift.rtt_ns, rtt_src_ns), queue_bytes, link_kbps);
	below = cwnd == 1 && bolt_below_allowed(sk, f);
	/* Swift has to know of each queue that Bolt deals with, once there are others */
	if (READ_ONCE(bn->src_spare) && !below && f->swift.fabric.cwnd_q32 >> 32 >= f->max_cwnd)
		every_ns = bolt_core_ask_every(&f->core, cwnd, rtt_src_ns, target_q16);
	due = bolt_core_src(&f->core, now_ns, rtt_src_ns, target_q16);
	bolt_core_ask_after_src(&f->core, rtt_src_ns, every_ns);
	/* a window below one hears once a packet, and takes its share of target_q each time */
	if (!due && !below) {
		BOLT_INC_STATS(bn, SrcHeld);
		return BOLT_SRC_VERDICT_HELD;
	}
	if (sock_owned_by_user(sk)) {
		BOLT_INC_STATS(bn, SrcDeferred);
		bolt_flow_defer(f, sk, -1);
		return BOLT_SRC_VERDICT_DEFERRED;
	}
	if (cwnd > 1) {
		BOLT_INC_STATS(bn, SrcDec);
		bolt_set(sk, f, min(f->cwnd, cwnd) - 1);
		return BOLT_SRC_VERDICT_DEC;
	}
	if (below) {
		BOLT_INC_STATS(bn, SrcBelow);
		bolt_set(sk, f, 1);
		bolt_below_src(sk, f);
		return BOLT_SRC_VERDICT_DEC;
	}
	BOLT_INC_STATS(bn, SrcFloor);
	return BOLT_SRC_VERDICT_FLOOR;
}

/* --- loss, as in Swift --- */

/*
 * A SYN that times out comes here as well, before init() ran: there is no object then.
 *
 * TCP asks once per loss episode, before it touches cwnd: remember it, for the cut and for undo.
 */
static u32 bolt_ssthresh(struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_locked(sk);

	if (f) {
		f->prior_cwnd = f->cwnd;
		f->loss_cwnd = tcp_snd_cwnd(tcp_sk(sk));
		f->prior_wait_ns = f->core.wait_ns;
	}
	return tcp_sk(sk)->snd_ssthresh;
}

/* max_mdf = 0.5 */
static void bolt_cut(struct sock *sk, struct bolt_flow *f)
{
	if (f->loss_cwnd == 1)
		bolt_below_cut(sk, f);
	f->loss_cwnd = max_t(u32, f->loss_cwnd / 2, 1);
	bolt_set(sk, f, f->loss_cwnd);
}

static void bolt_set_state(struct sock *sk, u8 state)
{
	struct bolt_flow *f = bolt_flow_locked(sk);
	struct bolt_net *bn = bolt_net(sock_net(sk));

	if (!f)
		return;
	switch (state) {
	case TCP_CA_CWR:
	case TCP_CA_Recovery:
		BOLT_INC_STATS(bn, LossDec);
		f->count.loss_dec++;
		bolt_cut(sk, f);
		break;
	case TCP_CA_Loss:
		/* a smaller path MTU resends as well, but nothing was lost to congestion */
		if (!inet_csk(sk)->icsk_retransmits && !tcp_sk(sk)->undo_marker)
			break;
		/* TCP has set cwnd to what is in flight, one packet; Swift halves */
		BOLT_INC_STATS(bn, RtoDec);
		f->count.rto_dec++;
		if (++f->rto_count >= BOLT_RTO_RESET)
			f->loss_cwnd = 1;
		bolt_cut(sk, f);
		break;
	}
}

static u32 bolt_undo_cwnd(struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_locked(sk);

	if (f) {
		f->core.wait_ns = min(f->core.wait_ns, f->prior_wait_ns);
		bolt_set(sk, f, max(f->cwnd, f->prior_cwnd));
	}
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* --- start --- */

static void bolt_init(struct sock *sk)
{
	struct bolt_net *bn = bolt_net(sock_net(sk));
	struct bolt_flow *f;

	bolt_flow_set_locked(sk, NULL);
	bolt_control_want(bn);
	f = bolt_negotiated(sk);
	if (!f) {
		bolt_fall_back(sk, BOLT_MIB_Fallback);
		return;
	}
	bolt_flow_set_locked(sk, f);
	BOLT_INC_STATS(bn, Negotiated);

	f->core.last_dec_ns = ktime_get_ns();	/* last_dec_time starts with the flow */
	bolt_core_ai_taken(&f->core, tcp_sk(sk)->snd_nxt);
	bolt_brown_start(f);
	bolt_attach(sk, f);
	f->cwnd = tcp_snd_cwnd(tcp_sk(sk));
	f->tcp_cwnd = f->cwnd;
	f->prior_cwnd = f->cwnd;
}

struct tcp_congestion_ops tcp_bolt __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= bolt_init,
	.release	= bolt_flow_release,
	.cong_control	= bolt_cong_control,
	.min_tso_segs	= bolt_min_tso_segs,
	.ssthresh	= bolt_ssthresh,
	.set_state	= bolt_set_state,
	.undo_cwnd	= bolt_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "bolt",
};

/* What a bolt socket becomes without the option; never registered, only swapped in. */
struct tcp_congestion_ops tcp_bolt_fallback __read_mostly = {
	.release	= bolt_flow_release,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "bolt-reno",
};
