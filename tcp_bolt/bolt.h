/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the files of tcp_bolt, by the file that defines them; each file uses only
 * those before it.  The per-socket object is in flow.h, the per-namespace object in net.h.
 */
#ifndef _TCP_BOLT_H
#define _TCP_BOLT_H

#include <linux/bpf.h>

#include <uapi/linux/bolt_netlink.h>
#include "bolt_option.h"
#include "flow.h"

/* The RTT sample of an ACK, from the option */
struct bolt_rtt {
	u32	ns;		/* 0: there is none */
	u32	arrived;	/* when LOCAL_IN saw the ACK, low bits of the clock in ns */
};

/*
 * A congestion control that uses the option.
 * Context: socket locked, or its spinlock held while no user owns it.
 */
struct bolt_controller {
	const char	*name;
	/* also for a connection without the option, which else goes on with net.bolt.fallback */
	bool		no_option;
	/* take over the initial window, which the caller has set */
	void		(*start)(struct sock *sk, struct bolt_flow *f);
	/* @rtt is in the flow's minimum and smoothed RTT already */
	void		(*on_ack)(struct sock *sk, struct bolt_flow *f,
				  const struct rate_sample *rs, const struct bolt_rtt *rtt);
	/* NULL: it does not use SRC, so data is sent with DEC set and switches send none */
	enum bolt_src_verdict (*on_src)(struct sock *sk, struct bolt_flow *f, u64 now_ns,
					u32 rtt_src_ns, u32 queue_bytes, u32 link_kbps);
	void		(*on_loss)(struct sock *sk, struct bolt_flow *f, bool rto);
	/* the loss was spurious: at least the windows of f->prior_q32 */
	void		(*undo)(struct sock *sk, struct bolt_flow *f);
	/* what TCP calls, of all controllers the same: attach.c */
	struct tcp_congestion_ops tcp;
};

extern struct bolt_controller bolt_cc_bolt, bolt_cc_swift;

/*
 * The controller of a socket, NULL if the socket uses another congestion control.
 * Context: RCU.  Without the socket lock the answer may be out of date at once.
 */
static inline struct bolt_controller *bolt_controller_of(const struct tcp_congestion_ops *ops)
{
	return ops == &bolt_cc_bolt.tcp ? &bolt_cc_bolt :
	       ops == &bolt_cc_swift.tcp ? &bolt_cc_swift : NULL;
}

static inline struct bolt_controller *bolt_sk_controller(const struct sock *sk)
{
	return bolt_controller_of(READ_ONCE(inet_csk(sk)->icsk_ca_ops));
}

/* The option of a received packet that has @payload bytes, in @segs segments */
struct bolt_rx {
	u64		at_ns;
	struct bolt_opt	opt;
	u32		payload;
	unsigned int	segs;
	u8		ttl;
};

/* flow.c, and flow.h */
void bolt_rx_data(struct bolt_flow *f, const struct bolt_rx *rx);

/* mib.c */
extern const char * const bolt_mib_names[];

int bolt_mib_init(struct bolt_net *bn);
void bolt_mib_exit(struct bolt_net *bn);

/* Without BPF congestion controls nothing defines their owner: use a value no module has. */
#ifndef BPF_MODULE_OWNER
#define BPF_MODULE_OWNER	ERR_PTR(-ENOENT)
#endif

/* fallback.c: the congestion control of connections without the option */
void bolt_fallback_begin(struct sock *sk);
int bolt_fallback_set(struct bolt_net *bn, char *name);
void bolt_fallback_name(struct bolt_net *bn, char *name);
void bolt_fallback_init(struct bolt_net *bn);
void bolt_fallback_exit(struct bolt_net *bn);
int bolt_fallback_module_init(void);
void bolt_fallback_module_exit(void);

/* departure.c.  Context: socket locked, or its spinlock held while no user owns it */
struct sk_buff *bolt_sent_segment(const struct sock *sk, u32 seq);
u32 bolt_wire_bytes(const struct sk_buff *skb, u32 link_bytes);
void bolt_depart(struct sock *sk, struct bolt_flow *f, const struct sk_buff *skb);
void bolt_move_gap(struct sock *sk, struct bolt_flow *f, u64 end_ns);
void bolt_tx_bypass_gap(struct sock *sk, struct bolt_flow *f, struct sk_buff *skb,
			struct tcphdr *th, bool data);
void bolt_pacing_begin(struct sock *sk, struct bolt_flow *f);
void bolt_pacing_end(struct sock *sk, struct bolt_flow *f);
void bolt_pacing_timer(struct sock *sk, u64 when);
u32 bolt_tsval(const struct sock *sk, u64 ns);	/* also while a user owns it */
void bolt_pause_edt_force(struct sock *sk);
void bolt_pause_edt_set(struct sock *sk, struct bolt_flow *f, u64 until_ns);
void bolt_pause_edt_release(struct sock *sk, struct bolt_pause_edt *e);
void bolt_tx_bypass_pause(struct sock *sk, const struct bolt_flow *f, struct sk_buff *skb,
			  struct tcphdr *th, bool data);

/* rate.c: link speeds of devices */
int bolt_rate_module_init(void);
void bolt_rate_module_exit(void);
void bolt_rate_work(struct work_struct *work);
u32 bolt_rate_kbps(struct bolt_net *bn, int ifindex);

/* window.c: TCP's window and its limits, RTT samples.  Context: socket locked */
u32 bolt_clamp_cwnd(const struct sock *sk, const struct bolt_flow *f, u32 cwnd);
void bolt_reduction_begin(const struct sock *sk, struct bolt_flow *f);
void bolt_write_cwnd(struct sock *sk, struct bolt_flow *f, u32 cwnd);
void bolt_set_window(struct sock *sk, struct bolt_flow *f, u32 cwnd, u32 gap_ns);
void bolt_update_max_cwnd(struct sock *sk, struct bolt_flow *f);
void bolt_refresh_rate(struct sock *sk, struct bolt_flow *f, struct net_device *dev);
u32 bolt_rtt_of_tcp(const struct rate_sample *rs);
void bolt_rtt_sample(struct sock *sk, struct bolt_flow *f, u32 rtt_ns);

/* cc.c, swift.c: Bolt's flags, Swift's cap on Bolt's window.  Context: socket locked */
u8 bolt_data_flags(struct sock *sk, struct bolt_flow *f, u32 seq, u64 now_ns);
void bolt_swift_cap_ack(struct sock *sk, struct bolt_flow *f, const struct rate_sample *rs,
			const struct bolt_rtt *rtt);

/* Of a control message, instead of the counter of a refusal.  It was counted as it arrived. */
#define BOLT_CTL_ACCEPTED	BOLT_MIB_CtlRx

/* pause.c: SFC's pause and SRCC's limit, of any TCP socket */
struct bolt_msg;
bool bolt_pause_sends(const struct sock *sk);
unsigned int bolt_pause_out(struct sock *sk, struct bolt_flow *f, struct sk_buff *skb,
			    struct tcphdr *th);
enum bolt_mib_item bolt_bts_apply(struct sock *sk, struct bolt_flow *f, const struct bolt_msg *m,
				  u64 now_ns);
void bolt_cnm_apply(struct sock *sk, struct bolt_flow *f, const struct bolt_msg *m, u64 now_ns);
u64 bolt_pause_left(struct sock *sk, struct bolt_flow *f);
void bolt_pause_end(struct sock *sk, struct bolt_flow *f);

/* Is any socket of the namespace paused or limited?  One load per packet while none is. */
static inline bool bolt_pause_any(const struct bolt_net *bn)
{
	return unlikely(READ_ONCE(bn->bts_count));
}

/* feedback.c: verify control messages.  Context: socket locked, or its spinlock held */
void bolt_refuse(struct bolt_net *bn, const struct sk_buff *skb, struct sock *sk,
		 enum bolt_mib_item item);
void bolt_deferred_run(struct bolt_flow *f, struct sock *sk);
void bolt_deferred_drop(struct bolt_flow *f);
enum bolt_mib_item bolt_feedback(struct sock *sk, const struct bolt_msg *m);

/* control.c: the UDP sockets on which SRC, BTS and CNM arrive */
void bolt_control_init(struct bolt_net *bn);
void bolt_control_want(struct bolt_net *bn);
int bolt_control_open(struct bolt_net *bn);
int bolt_control_rebind(struct bolt_net *bn, int port);
bool bolt_control_receive(struct net *net, u16 port, struct sk_buff *skb, const u8 *p,
			  unsigned int len);
void bolt_control_pre_exit(struct bolt_net *bn);
void bolt_control_exit(struct bolt_net *bn);

/* option_push.c: header space for the option */
void bolt_reserve(struct sock *sk, struct bolt_flow *f);
bool bolt_reserve_lost(const struct sock *sk);
void bolt_unreserve(struct sock *sk, struct bolt_flow *f);
bool bolt_first_is_dsack(const u8 *opts, unsigned int len, u32 ack_seq);
u8 *bolt_grow(struct sk_buff *skb, int delta, unsigned int stay);
u8 *bolt_push(struct bolt_net *bn, struct sk_buff *skb, unsigned int need);

/* handshake.c: what one softirq passes from LOCAL_IN to LOCAL_OUT or to CC init */
enum bolt_hs { BOLT_HS_NONE, BOLT_HS_SYN, BOLT_HS_ESTABLISHED };

void bolt_hs_note_packet(enum bolt_hs what, const struct bolt_net *bn, const struct tcphdr *th,
			 const struct bolt_rx *rx);
void bolt_hs_offer(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk);
void bolt_hs_withdraw(struct sock *sk);
void bolt_hs_accept(struct bolt_net *bn, struct sk_buff *skb, struct sock *sk);
bool bolt_is_fastopen(const struct sock *sk);
struct bolt_flow *bolt_negotiated(struct sock *sk);
void bolt_hs_forget(void);

/* attach.c: common to the controllers.  Context: socket locked */
int bolt_controllers_register(void);
void bolt_controllers_unregister(void);
void bolt_flow_release(struct sock *sk);

/* held.c: the end of BOLT_FLOW_HELD */
void bolt_flow_work(struct work_struct *work);
void bolt_flow_exit(struct bolt_net *bn);

/* option_rx.c, option_tx.c: the netfilter hooks */
int bolt_thoff(const struct sk_buff *skb);
unsigned int bolt_local_in(void *priv, struct sk_buff *skb, const struct nf_hook_state *state);
unsigned int bolt_local_out(void *priv, struct sk_buff *skb, const struct nf_hook_state *state);

/* hooks.c */
int bolt_hooks_set(struct bolt_net *bn, int on);
int bolt_sfc_set(struct bolt_net *bn, int on);

/* sysctl.c, genl.c */
int bolt_sysctl_init(struct bolt_net *bn);
void bolt_sysctl_exit(struct bolt_net *bn);
extern struct genl_family bolt_genl_family;

/*
 * Let the packet leave now, regardless of the departure time that TCP stamped it with.  This is not
 * skb_clear_delivery_time(), which is for received packets: while any socket wants timestamps, it
 * sets the wall clock.  fq takes that for a departure beyond its horizon, and drops the packet.
 */
static inline void bolt_skb_leaves_now(struct sk_buff *skb)
{
	skb_set_delivery_time(skb, 0, 0);
}

/* When TCP lets the packet leave; 0: now.  TCP_TX_DELAY comes on top, and is in no other stamp. */
static inline u64 bolt_skb_stamp_ns(const struct sock *sk, const struct sk_buff *skb)
{
	return skb->tstamp ? ktime_to_ns(skb->tstamp) -
			     (u64)tcp_sk(sk)->tcp_tx_delay * NSEC_PER_USEC : 0;
}

static inline bool bolt_is_ip6(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6);
}

/* Context: the socket's spinlock held */
static inline bool bolt_sk_is_owned(struct sock *sk)
{
	/* since 7.x lock_sock() tries to set it together with the spinlock, in vain meanwhile */
	return data_race(sock_owned_by_user(sk));
}

/* TCP signs before our hook sees the packet (RFC 2385, RFC 5925), so nothing may be added to it */
static inline bool bolt_sk_is_signed(const struct sock *sk)
{
#ifdef CONFIG_TCP_MD5SIG
	if (rcu_access_pointer(tcp_sk(sk)->md5sig_info))
		return true;
#endif
#ifdef CONFIG_TCP_AO
	if (rcu_access_pointer(tcp_sk(sk)->ao_info))
		return true;
#endif
	return false;
}

#endif /* _TCP_BOLT_H */
