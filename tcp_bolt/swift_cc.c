// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_swift.ko: the congestion control "swift" (Kumar et al., SIGCOMM '20).
 *
 * TCP's side of it: when something happens to a socket, swift.c is told, and TCP's window is what
 * it says.  The option, its negotiation and the departures are tcp_bolt.ko's, which this needs: a
 * peer may run bolt or swift.  A connection without the option goes on with TCP's own RTT.
 */

#include <linux/module.h>
#include <net/tcp.h>

#include "bolt.h"

static struct tcp_congestion_ops tcp_swift, tcp_swift_fallback;

static BOLT_CONG_CONTROL(swift_cong_control, sk, rs)
{
	struct bolt_flow *f = bolt_flow_locked(sk);

	/* the SYN-ACK acknowledges the SYN before init() runs */
	if (unlikely(!f))
		return;
	bolt_limit_bursts(sk, f);
	if (!f->plain && bolt_peer_silent(sk, f)) {
		BOLT_INC_STATS(f->bn, FallbackLate);
		bolt_swift_go_plain(sk, f);
	}
	bolt_swift_ack(sk, f, rs);
}

/* TCP asks once per loss episode, before it touches cwnd; of a SYN before init() ran. */
static u32 swift_ssthresh(struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_locked(sk);

	if (f)
		bolt_swift_remember(f);
	return tcp_sk(sk)->snd_ssthresh;
}

static void swift_set_state(struct sock *sk, u8 state)
{
	struct bolt_flow *f = bolt_flow_locked(sk);

	if (!f)
		return;
	switch (state) {
	case TCP_CA_CWR:
	case TCP_CA_Recovery:
		bolt_swift_recovery(sk, f);
		break;
	case TCP_CA_Loss:
		/* a smaller path MTU resends as well, but nothing was lost to congestion */
		if (inet_csk(sk)->icsk_retransmits || tcp_sk(sk)->undo_marker)
			bolt_swift_rto(sk, f);
		break;
	}
}

static u32 swift_undo_cwnd(struct sock *sk)
{
	struct bolt_flow *f = bolt_flow_locked(sk);

	if (f)
		bolt_swift_undo(sk, f);
	return tcp_snd_cwnd(tcp_sk(sk));
}

static void swift_init(struct sock *sk)
{
	struct bolt_net *bn = bolt_net(sock_net(sk));
	struct bolt_flow *f;

	bolt_flow_set_locked(sk, NULL);
	f = bolt_negotiated(sk);
	if (f) {
		BOLT_INC_STATS(bn, Negotiated);
		bolt_flow_set_locked(sk, f);
		bolt_swift_start(sk, f);
		return;
	}
	f = bolt_flow_create(sk);
	if (f) {
		bolt_flow_set_locked(sk, f);
		bolt_swift_start_plain(sk, f);
		return;
	}
	BOLT_INC_STATS(bn, NoMem);
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &tcp_swift_fallback);
}

static struct tcp_congestion_ops tcp_swift __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= swift_init,
	.release	= bolt_flow_release,
	.cong_control	= swift_cong_control,
	.min_tso_segs	= bolt_min_tso_segs,
	.ssthresh	= swift_ssthresh,
	.set_state	= swift_set_state,
	.undo_cwnd	= swift_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "swift",
};

/* What a swift socket becomes when there is no memory for its state; never registered */
static struct tcp_congestion_ops tcp_swift_fallback __read_mostly = {
	.release	= bolt_flow_release,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "swift-reno",
};

static int __init swift_module_init(void)
{
	int err;

	/* first: a socket may select it as soon as it is registered */
	bolt_swift_register(&tcp_swift);
	err = tcp_register_congestion_control(&tcp_swift);
	if (err)
		bolt_swift_register(NULL);
	return err;
}

/* Sockets hold the module: there are none.  Hooks may look until the grace period in unregister. */
static void __exit swift_module_exit(void)
{
	bolt_swift_register(NULL);
	tcp_unregister_congestion_control(&tcp_swift);
}

module_init(swift_module_init);
module_exit(swift_module_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Swift: delay-based congestion control for TCP");
