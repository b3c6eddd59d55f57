// SPDX-License-Identifier: GPL-2.0
/*
 * AIMD(1, 1/8): a congestion control to begin one's own with.
 *
 * As Reno it adds a packet to the window in each round trip; on a loss it gives up an eighth of
 * the window, where Reno gives up half:
 *
 *	each ACK	cwnd += acked / cwnd
 *	each loss	cwnd -= cwnd / 8
 *
 * tools/lab/lab run flow-join --module tools/lab/examples/aimd --cc aimd,reno --out /tmp/aimd
 */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int decrease = 8;
module_param(decrease, uint, 0444);
MODULE_PARM_DESC(decrease, "a loss costs 1/decrease of the window (8)");

static u32 aimd_ssthresh(struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	return max(cwnd - max(cwnd / decrease, 1U), 2U);
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.ssthresh	= aimd_ssthresh,
	.cong_avoid	= aimd_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "aimd",
};

static int __init aimd_init(void)
{
	if (!decrease)
		return -EINVAL;
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_exit(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_init);
module_exit(aimd_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("AIMD(1, 1/8), an example of a congestion control for the lab");
