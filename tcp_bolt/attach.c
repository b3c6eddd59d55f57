// SPDX-License-Identifier: GPL-2.0
/*
 * The common part of the congestion controls that use the option: the operations that TCP calls,
 * start and end on a socket, the RTT that an ACK echoes, and the detection of a path that strips
 * the option.  The rest of a controller is in its struct bolt_controller.
 */

#include <linux/inet_diag.h>

#include "bolt.h"
#include "trace.h"

/* After so many ACKs in a row without the option, assume that a middlebox strips it */
#define BOLT_ACK_MISSING_MAX	16

/*
 * Set the limits of the socket again, with each ACK, because TCP changes them.  The queue at a
 * switch cannot be shorter than a burst.  sk_gso_max_segs limits bursts, but sk_setup_caps() resets
 * it with each new route.  SO_MAX_PACING_RATE only lowers sk_pacing_rate, and an earlier congestion
 * control may have left a lower one.
 */
static void bolt_set_limits(struct sock *sk, const struct bolt_flow *f)
{
	u32 burst = READ_ONCE(f->bn->burst_segs);

	if (sk->sk_gso_max_segs > burst)
		sk->sk_gso_max_segs = burst;
	WRITE_ONCE(sk->sk_pacing_rate, READ_ONCE(sk->sk_max_pacing_rate));
}

/*
 * Has a packet in flight left then?  The receiver echoes what it has, but acknowledges what it has
 * processed, so the packet is near the oldest.
 */
static bool bolt_echo_in_flight(const struct tcp_sock *tp, const struct bolt_flow *f, u32 t_data_tx)
{
	unsigned int steps = BOLT_DEPARTURES;
	struct sk_buff *skb;

	list_for_each_entry(skb, &tp->tsorted_sent_queue, tcp_tsorted_anchor) {
		s32 newer_ns = bolt_wire_clock(f, skb->skb_mstamp_ns) - t_data_tx;

		if (newer_ns >= 0 || !--steps)
			return !newer_ns;
	}
	return false;
}

static struct bolt_rtt bolt_take_rtt(const struct sock *sk, struct bolt_flow *f,
				     const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 ack = atomic64_xchg(&f->ack_echo, 0);
	u32 seq = READ_ONCE(f->ack_seq);
	struct bolt_echo e = {
		.t_data_tx = ack,
		.at = bolt_wire_clock(f, ack >> 32),
		/* RACK (RFC 8985) has whole us, rounded down */
		.newest = bolt_wire_clock(f, tp->rack.mstamp * NSEC_PER_USEC),
		/*
		 * While the backlog is processed, duplicate ACKs have the same number.  Its length
		 * may grow meanwhile, and is 0 only when all of it is processed.
		 */
		.processed = !data_race(sk->sk_backlog.len) || before(seq, tp->snd_una) ||
			     (seq == tp->snd_una && !tp->sacked_out),
	};
	s32 rtt_ns;

	if (!ack)
		return (struct bolt_rtt){};
	/* without SACK, which the receiver may not offer, TCP does not know what has arrived */
	if (!tp->rack.mstamp)
		return (struct bolt_rtt){ bolt_rtt_of_tcp(rs), tp->tcp_clock_cache };
	/* it may be left over from before a silence; all of these times are modulo 4.3 s */
	if (tp->tcp_mstamp - tp->rack.mstamp > 2 * USEC_PER_SEC)
		return (struct bolt_rtt){};
	if (bolt_echo_is_older(&f->sent, &e))
		e.in_flight = bolt_echo_in_flight(tp, f, e.t_data_tx);
	rtt_ns = bolt_echo_rtt_ns(&f->sent, &e);
	if (rtt_ns == BOLT_ECHO_FALSE)
		BOLT_INC_STATS(f->bn, OptEcho);
	if (rtt_ns == BOLT_ECHO_LATER)
		atomic64_cmpxchg(&f->ack_echo, 0, ack);
	return (struct bolt_rtt){ max(rtt_ns, 0), ack >> 32 };
}

/*
 * Has the option vanished from the ACKs for good?  The number of ACKs alone cannot tell: LOCAL_IN
 * has seen ACKs in the socket's backlog long before TCP processes them.  So an RTO must have passed
 * since the last ACK with the option, as well.
 */
static bool bolt_peer_silent(const struct sock *sk, struct bolt_flow *f)
{
	if (likely(tcp_jiffies32 - READ_ONCE(f->ack_stamp) <= inet_csk(sk)->icsk_rto)) {
		f->ack_missing = 0;
		return false;
	}
	return ++f->ack_missing >= BOLT_ACK_MISSING_MAX;
}

/* Undo bolt_attach().  The next congestion control gets the window, not what recovery allows */
static void bolt_detach(struct sock *sk, struct bolt_flow *f)
{
	struct dst_entry *dst = __sk_dst_get(sk);

	if (f->recovery) {
		f->recovery = 0;
		bolt_write_cwnd(sk, f, f->cwnd);
	}
	bolt_pacing_end(sk, f);
	/* a socket that signs, or whose route encrypts in software, sends no super-packets */
	if (dst && sk_can_gso(sk))
		sk->sk_gso_max_segs = max_t(u32, READ_ONCE(dst->dev->gso_max_segs), 1);
	bolt_unreserve(sk, f);
}

/* The congestion control's release(), which TCP calls once per assignment */
void bolt_flow_release(struct sock *sk)
{
	struct bolt_flow *f;

	bolt_flow_set_locked(sk, NULL);
	rcu_read_lock();
	f = bolt_flow_lookup(sk);
	if (f) {
		WRITE_ONCE(f->ctl, NULL);
		bolt_detach(sk, f);
		bolt_flow_drop(f);
	}
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(bolt_flow_release);	/* for KUnit */

/* Without memory the socket keeps its window, and the next ACK tries again. */
static void bolt_fall_back(struct sock *sk, enum bolt_mib_item why)
{
	struct bolt_flow *f = bolt_flow_get(sk, BOLT_FLOW_HELD);
	struct bolt_net *bn = bolt_net(sock_net(sk));
	struct tcp_sock *tp = tcp_sk(sk);

	if (!f) {
		BOLT_INC_STATS(bn, NoMem);
		return;
	}
	/* the socket's reference on this module: put once it is unlocked, and we have returned */
	f->leaving++;
	mod_delayed_work(bolt_wq, &f->work, 0);
	bolt_flow_release(sk);
	trace_bolt_fallback(sock_net(sk), sk, NULL, why);
	BOLT_INC_STATS(bn, Fallback);
	/* do not slow-start from a window of a BDP */
	if (tcp_snd_cwnd(tp) > TCP_INIT_CWND && tp->data_segs_out > 1)
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
	bolt_fallback_begin(sk);
}

static void bolt_go_without_option(struct sock *sk, struct bolt_flow *f)
{
	BOLT_INC_STATS(f->bn, SwiftPlain);
	trace_bolt_fallback(sock_net(sk), sk, NULL, BOLT_MIB_SwiftPlain);
	WRITE_ONCE(f->speaks, 0);
	bolt_unreserve(sk, f);
}

static void bolt_attach(struct sock *sk, struct bolt_flow *f, bool speaks)
{
	struct dst_entry *dst = __sk_dst_get(sk);

	bolt_flow_set_locked(sk, f);
	WRITE_ONCE(f->speaks, speaks);
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	f->init_cwnd = tcp_snd_cwnd(tcp_sk(sk));	/* if new, the route's, or ten */
	bolt_reduction_begin(sk, f);
	f->recovery = inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery;
	bolt_write_cwnd(sk, f, f->init_cwnd);
	if (speaks)
		bolt_reserve(sk, f);
	if (dst)
		bolt_refresh_rate(sk, f, dst->dev);
	else
		bolt_update_max_cwnd(sk, f);
	bolt_set_limits(sk, f);
	if (speaks) {
		BOLT_INC_STATS(f->bn, Negotiated);
		bolt_write_cwnd(sk, f, bolt_clamp_cwnd(sk, f, f->init_cwnd));
		bolt_pacing_begin(sk, f);
		WRITE_ONCE(f->ack_stamp, tcp_jiffies32);
		inet_csk(sk)->icsk_ack.quick = TCP_MAX_QUICKACKS;
	} else {
		bolt_go_without_option(sk, f);
	}
	f->core.cwnd_q32 = (u64)f->cwnd << 32;
}

static void bolt_init(struct sock *sk)
{
	struct bolt_controller *ctl = bolt_sk_controller(sk);
	struct bolt_flow *f;
	bool speaks;

	bolt_flow_set_locked(sk, NULL);
	if (ctl->on_src)
		bolt_control_want(bolt_net(sock_net(sk)));
	/* before the SYN, which will offer: its ACK calls again, see bolt_cong_control() */
	if (sk->sk_state == TCP_SYN_SENT && !tcp_sk(sk)->packets_out)
		return;
	f = bolt_negotiated(sk);
	speaks = f;
	if (!f && ctl->no_option) {
		f = bolt_flow_get(sk, BOLT_FLOW_CC);
		if (!f)
			BOLT_INC_STATS(bolt_net(sock_net(sk)), NoMem);
	}
	if (!f) {
		bolt_fall_back(sk, BOLT_MIB_Fallback);
		return;
	}
	/* the device of the route: a SYN-ACK from the backlog comes without RCU */
	rcu_read_lock();
	bolt_attach(sk, f, speaks);
	rcu_read_unlock();
	ctl->start(sk, f);
	/* pairs with the acquire in bolt_flow_controller(): from here on SRC are accepted */
	smp_store_release(&f->ctl, ctl);
}

static BOLT_CONG_CONTROL(bolt_cong_control, sk, rs)
{
	struct bolt_flow *f = bolt_flow_locked(sk);
	struct bolt_rtt rtt;

	if (unlikely(!f)) {
		/*
		 * The ACK of our SYN comes before init(): let init() run, see bolt_hs_offer().
		 * Later ones come without it where a BPF program chose us right before ESTABLISHED.
		 */
		if (1 << sk->sk_state & (TCPF_SYN_SENT | TCPF_SYN_RECV))
			bolt_flow_await_init(sk);
		else
			bolt_init(sk);
		return;
	}
	bolt_deferred_run(f, sk);
	if (tcp_sk(sk)->snd_una == tcp_sk(sk)->write_seq)
		f->in_msg = 0;
	bolt_set_limits(sk, f);
	/* tcp_cwnd_reduction() would, but is not called */
	if (unlikely(tcp_in_cwnd_reduction(sk)))
		tcp_sk(sk)->prr_delivered += max(rs->acked_sacked, 0);
	/* Swift, Algorithm 1, line 5: whether or not it has a sample of delay */
	if (rs->acked_sacked > 0)
		f->swift.retransmit_cnt = 0;
	if (likely(!f->speaks || !bolt_peer_silent(sk, f))) {
		rtt = bolt_take_rtt(sk, f, rs);
		if (rtt.ns)
			bolt_rtt_sample(sk, f, rtt.ns);
		f->ctl->on_ack(sk, f, rs, &rtt);
		if (unlikely(f->recovery))
			bolt_write_cwnd(sk, f, f->cwnd);
		return;
	}
	BOLT_INC_STATS(f->bn, FallbackLate);
	if (f->ctl->no_option)
		bolt_go_without_option(sk, f);
	else
		bolt_fall_back(sk, BOLT_MIB_FallbackLate);
}

/*
 * TCP calls this once per loss episode, before it changes cwnd.  It also calls this and the next
 * two when a SYN times out, before init(); then there is no object.
 */
static u32 bolt_ssthresh(struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_locked(sk);

	if (f) {
		f->prior_q32.bolt = f->core.cwnd_q32;
		f->prior_q32.fabric = f->swift.fabric.cwnd_q32;
		f->prior_q32.endpoint = f->swift.endpoint.cwnd_q32;
		f->loss_cwnd_q32 = bolt_core_effective_cwnd_q32(&f->core, f->cwnd);
	}
	return tcp_sk(sk)->snd_ssthresh;
}

/* icsk_ca_state is still the state before. */
static void bolt_set_state(struct sock *sk, u8 state)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct bolt_flow *f = bolt_flow_locked(sk);
	bool recovered;

	if (!f)
		return;
	recovered = f->recovery && state != TCP_CA_Recovery;
	f->recovery = state == TCP_CA_Recovery;
	if (f->recovery) {
		/*
		 * RACK's timer retransmits without an ACK, so without cong_control(), but
		 * tcp_rack_reo_timeout() counts one packet as delivered.  Where it was an ACK, that
		 * is one more than it delivers.
		 */
		tcp_sk(sk)->prr_delivered++;
		bolt_move_gap(sk, f, 0);
	}
	switch (state) {
	case TCP_CA_CWR:
	case TCP_CA_Recovery:
		/* from one to the other it is the same window's loss */
		if (tcp_in_cwnd_reduction(sk))
			break;
		bolt_reduction_begin(sk, f);
		BOLT_INC_STATS(f->bn, LossDec);
		f->ctl->on_loss(sk, f, false);
		break;
	case TCP_CA_Loss:
		/*
		 * Also entered to retransmit for a smaller path MTU, which is no congestion.  A
		 * timer is pending then, while the retransmission timer has just expired here.
		 * That is pending where an ICMP error has brought the RTO forward (RFC 6069), but
		 * only in this state already, and TCP does not enter it twice for the MTU.
		 */
		if (icsk->icsk_pending && icsk->icsk_ca_state != TCP_CA_Loss)
			break;
		/* what is sent into a closed window is a probe; TCP has set cwnd all the same */
		if (!tcp_sk(sk)->snd_wnd && !sock_flag(sk, SOCK_DEAD)) {
			bolt_write_cwnd(sk, f, f->cwnd);
			break;
		}
		BOLT_INC_STATS(f->bn, RtoDec);
		f->ctl->on_loss(sk, f, true);
		break;
	}
	if (f->recovery || recovered)
		bolt_write_cwnd(sk, f, f->cwnd);
}

static u32 bolt_undo_cwnd(struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_locked(sk);

	if (f)
		f->ctl->undo(sk, f);
	return tcp_snd_cwnd(tcp_sk(sk));
}

/*
 * ss -ti knows no form of ours: BBR's has the rate and the minimum RTT.  The values may be of
 * different packets.  Not by icsk_ca_priv: a user may be changing the congestion control.
 * Context: any
 */
static __no_kcsan size_t bolt_get_info(struct sock *sk, u32 ext, int *attr,
				       union tcp_cc_info *info)
{
	const u32 asked = 1 << (INET_DIAG_BBRINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1);
	const struct bolt_flow *f;
	u64 q32, bytes_per_s = 0;
	size_t len = 0;
	u32 srtt_ns;

	rcu_read_lock();
	f = bolt_flow_lookup(sk);
	if (ext & asked && bolt_flow_controller(f)) {
		q32 = min(f->core.cwnd_q32, (u64)f->cwnd << 32);
		srtt_ns = READ_ONCE(f->core.srtt_ns);
		if (srtt_ns)
			bytes_per_s = mul_u64_u64_shr(q32, div_u64((u64)NSEC_PER_SEC *
								   tcp_sk(sk)->mss_cache,
								   srtt_ns), 32);
		info->bbr = (struct tcp_bbr_info){
			.bbr_bw_lo = bytes_per_s,
			.bbr_bw_hi = bytes_per_s >> 32,
			.bbr_min_rtt = f->core.min_rtt_ns / NSEC_PER_USEC,
		};
		*attr = INET_DIAG_BBRINFO;
		len = sizeof(info->bbr);
	}
	rcu_read_unlock();
	return len;
}

static const struct tcp_congestion_ops bolt_tcp_ops = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= bolt_init,
	.release	= bolt_flow_release,
	.cong_control	= bolt_cong_control,
	.ssthresh	= bolt_ssthresh,
	.set_state	= bolt_set_state,
	.undo_cwnd	= bolt_undo_cwnd,
	.get_info	= bolt_get_info,
	.owner		= THIS_MODULE,
};

static int bolt_controller_register(struct bolt_controller *ctl)
{
	ctl->tcp = bolt_tcp_ops;
	strscpy(ctl->tcp.name, ctl->name, sizeof(ctl->tcp.name));
	return tcp_register_congestion_control(&ctl->tcp);
}

int bolt_controllers_register(void)
{
	int err = bolt_controller_register(&bolt_cc_bolt);

	if (err)
		return err;
	err = bolt_controller_register(&bolt_cc_swift);
	if (err)
		tcp_unregister_congestion_control(&bolt_cc_bolt.tcp);
	return err;
}

void bolt_controllers_unregister(void)
{
	tcp_unregister_congestion_control(&bolt_cc_swift.tcp);
	tcp_unregister_congestion_control(&bolt_cc_bolt.tcp);
}
