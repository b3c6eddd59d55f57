// SPDX-License-Identifier: GPL-2.0
/*
 * SFC at the sender: a BTS pauses the flow it quotes ("Source Flow Control", section 3.3).
 *
 * Any TCP socket, whichever its congestion control.  The pause is TCP's own pacing: its earliest
 * departure time (tcp_wstamp_ns) is raised to the end, sk_pacing_status says that TCP has to heed
 * it, and TCP's pacing timer resumes.  At the first data after the pause the status goes back.
 *
 *   BTS -> control.c -> bolt_pause_bts()   until when (bolt_pause.h)
 *                          |  socket free: now; owned by a user: by whichever comes first,
 *                          |  the next packet or a work item
 *                       bolt_pause_apply()
 *   LOCAL_OUT -------------> bolt_pause_out()    new data that got past the pacing check is turned
 *                                          back; what has to pass (ACK, RTO, probe, RST) is
 *                                          stamped as if there was no pause
 *
 * A departure time in the future shows in three places where a packet passes the pause by.  In
 * skb->tstamp: fq would hold it.  In TSval: after a shorter pause replaced this one, data would
 * carry an older TSval than it, and the peer drop that (RFC 7323, PAWS).  In the stamp of a segment
 * sent again: the echo of its TSval would look older than it, and the loss be undone (RFC 3522).
 *
 * Lifetime: an object exists from the first pause until the pause is over and the watchdog has
 * nothing to remember.  It has a reference on its socket.  Its work item ends it.
 */

#include <linux/netfilter.h>
#include <linux/slab.h>

#include "bolt.h"
#include "bolt_msg.h"

/* Messages remembered, so that none counts twice */
#define BOLT_PAUSE_SEEN		8

/* A socket that is, or was a moment ago, paused */
struct bolt_pause {
	struct sock		*sk;		/* the key, with a reference */
	struct rhash_head	node;

	/* Under the socket's spinlock */
	struct bolt_pause_clock	clock;
	struct bolt_pause_seen {
		u32	seq, t_data_tx, switch_id, retrans;
		u8	flags;
	} seen[BOLT_PAUSE_SEEN];
	u8			seen_next;
	struct bolt_pause_info	info;		/* but for what the clock says */
	u64			began_ns;	/* this pause */

	/* Written under the spinlock, read under the socket lock */
	atomic64_t		until_ns;	/* clock.until_ns */

	/* Under the socket lock */
	u64			applied_ns;	/* the end that TCP knows */
	u64			base_ns;	/* tcp_wstamp_ns without the pause */
	const struct tcp_congestion_ops *ops;	/* when the pause began */
	u32			status;		/* sk_pacing_status before */
	u8			held;		/* tcp_wstamp_ns and status are ours */
	int			told;		/* listeners wait to hear of its end */

	/* Cold */
	struct delayed_work	work;		/* backstop of apply, and the end */
	struct bolt_net		*bn;
	struct list_head	list;		/* bn->pauses */
	struct rcu_head		rcu;
};

static struct rhashtable bolt_pauses;

/* Objects of all namespaces: while there is none, packets of other sockets see only this */
atomic_t bolt_pause_count = ATOMIC_INIT(0);

static const struct rhashtable_params bolt_pause_params = {
	.key_len	= sizeof(struct sock *),
	.key_offset	= offsetof(struct bolt_pause, sk),
	.head_offset	= offsetof(struct bolt_pause, node),
	.automatic_shrinking = true,
};

static void bolt_pause_conf(const struct bolt_net *bn, struct bolt_pause_conf *c)
{
	c->max_ns = READ_ONCE(bn->max_pause_us) * 1000ULL;
	c->interval_ns = READ_ONCE(bn->watchdog_interval_us) * 1000ULL;
	c->recovery_ns = READ_ONCE(bn->watchdog_recovery_us) * 1000ULL;
	c->pct = READ_ONCE(bn->watchdog_pct);
}

/* --- what TCP is told; socket lock held, or its spinlock while nobody owns it --- */

/* Have TCP look at its queues at @when, instead of whenever it was going to. */
void bolt_pacing_timer(struct sock *sk, u64 when)
{
	struct hrtimer *timer = &tcp_sk(sk)->pacing_timer;

	/* a timer that is queued has a reference of its own */
	if (hrtimer_try_to_cancel(timer) != 1)
		sock_hold(sk);
	hrtimer_start(timer, ns_to_ktime(when), HRTIMER_MODE_ABS_PINNED_SOFT);
}

static bool bolt_pause_has_data(const struct sock *sk)
{
	return tcp_send_head(sk) || !tcp_rtx_queue_empty(sk);
}

/* Nothing is sent in other states; tcp_wstamp_ns may be another connection's by now. */
static bool bolt_pause_sends(const struct sock *sk)
{
	return (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_FIN_WAIT1 | TCPF_CLOSING |
				      TCPF_CLOSE_WAIT | TCPF_LAST_ACK);
}

/* Listeners hear of the end once: from the first data after it, or when nobody remembers it */
static void bolt_pause_tell_end(struct sock *sk, struct bolt_pause *p)
{
	u64 end_ns;

	if (!xchg(&p->told, 0))
		return;
	end_ns = min_t(u64, atomic64_read(&p->until_ns), ktime_get_ns());
	bolt_event_pause(sk, BOLT_EVENT_TYPE_PAUSE_END, NULL,
			 end_ns > p->began_ns ? end_ns - p->began_ns : 0);
}

/* The pause is over, or gone: whoever decided about pacing before, decides again. */
static void bolt_pause_release(struct sock *sk, struct bolt_pause *p)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;

	bolt_pause_tell_end(sk, p);
	if (!p->held)
		return;
	p->held = 0;
	if (p->status == SK_PACING_NEEDED)
		return;
	/* in between: SO_MAX_PACING_RATE, or a congestion control that asked for pacing */
	if (p->status == SK_PACING_NONE &&
	    (READ_ONCE(sk->sk_max_pacing_rate) != ~0UL || (ops != p->ops && ops->cong_control)))
		return;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED, p->status);
}

static void bolt_pause_force(struct sock *sk)
{
	/* pairs with the acquire in tcp_needs_internal_pacing() */
	smp_store_release(&sk->sk_pacing_status, SK_PACING_NEEDED);
}

/* The newest end of the pause becomes TCP's earliest departure. */
static void bolt_pause_apply(struct sock *sk, struct bolt_pause *p)
{
	u64 until_ns = atomic64_read(&p->until_ns);
	struct tcp_sock *tp = tcp_sk(sk);

	if (until_ns == p->applied_ns || !bolt_pause_sends(sk))
		return;
	p->applied_ns = until_ns;
	if (!p->held) {
		p->held = 1;
		p->base_ns = tp->tcp_wstamp_ns;
		p->status = READ_ONCE(sk->sk_pacing_status);
		p->ops = inet_csk(sk)->icsk_ca_ops;
	}
	/* a signed TSval cannot be mended, so what was sent with it binds */
	if (bolt_sk_is_signed(sk))
		p->base_ns = max(p->base_ns, tp->tcp_wstamp_ns);
	bolt_pause_force(sk);
	tp->tcp_wstamp_ns = max(until_ns, p->base_ns);
	if (bolt_pause_has_data(sk))
		bolt_pacing_timer(sk, tp->tcp_wstamp_ns);
}

/* As if there had never been a pause: the module or the namespace goes. */
static void bolt_pause_undo(struct sock *sk, struct bolt_pause *p)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (p->held && bolt_pause_sends(sk) && p->applied_ns > ktime_get_ns()) {
		tp->tcp_wstamp_ns = p->base_ns;
		if (bolt_pause_has_data(sk))
			bolt_pacing_timer(sk, p->base_ns);
	}
	bolt_pause_release(sk, p);
}

/* --- LOCAL_OUT; socket lock held, under RCU --- */

/* A stamp in the unit of this connection's TSval */
static u32 bolt_pause_tsval(const struct sock *sk, u64 ns)
{
	return div_u64(ns, bolt_tcp_usec_ts(tcp_sk(sk)) ? NSEC_PER_USEC : NSEC_PER_MSEC);
}

static void bolt_pause_fix_tsval(const struct sock *sk, struct tcphdr *th, u64 stamp_ns, u64 now_ns)
{
	__be32 *opt = (__be32 *)(th + 1);

	/* TCP writes it first, and aligned so, but for a signature; the checksum is yet to come */
	if (th->doff * 4 < sizeof(*th) + TCPOLEN_TSTAMP_ALIGNED || bolt_sk_is_signed(sk) ||
	    opt[0] != htonl((TCPOPT_NOP << 24) | (TCPOPT_NOP << 16) | (TCPOPT_TIMESTAMP << 8) |
			    TCPOLEN_TIMESTAMP))
		return;
	opt[1] = htonl(ntohl(opt[1]) - bolt_pause_tsval(sk, stamp_ns) +
		       bolt_pause_tsval(sk, now_ns));
}

/* The segment in the retransmit queue that this packet was copied from: RTO or loss probe. */
static void bolt_pause_fix_stamp(struct sock *sk, u32 seq, u64 now_ns)
{
	struct sk_buff *skb = tcp_rtx_queue_head(sk);

	if (skb && TCP_SKB_CB(skb)->seq != seq)
		skb = skb_rb_last(&sk->tcp_rtx_queue);
	if (skb && TCP_SKB_CB(skb)->seq == seq)
		skb->skb_mstamp_ns = now_ns;
}

/*
 * A packet passes by the departure that TCP stamped it with: an ACK, or a segment sent again.  It
 * is stamped as if it had none to wait for; what is sent later may have an earlier stamp, and
 * would look old to the peer otherwise (PAWS).
 */
void bolt_leaves_early(struct sk_buff *skb, struct sock *sk, struct tcphdr *th, bool data,
		       u64 now_ns)
{
	u64 stamp_ns = ktime_to_ns(skb->tstamp);

	/* a VRF calls LOCAL_OUT again */
	if (stamp_ns <= now_ns)
		return;
	bolt_pause_fix_tsval(sk, th, stamp_ns, now_ns);
	if (data)
		bolt_pause_fix_stamp(sk, ntohl(th->seq), now_ns);
	bolt_skb_leaves_now(skb);
}

/*
 * A packet leaves a socket that may be paused.  Returns an NF verdict.
 *
 * New data that comes here during a pause has not seen the pacing check: the BTS came while a user
 * owned the socket, fq has set the status to FQ (it does with every packet that waits for nothing),
 * or it is an MTU probe.  An error leaves it at the head of TCP's queue.
 */
unsigned int bolt_pause_out(struct sk_buff *skb, struct sock *sk, struct tcphdr *th,
			    unsigned int payload)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool data = payload || th->fin;
	struct bolt_pause *p;
	u64 now_ns;

	p = rhashtable_lookup(&bolt_pauses, &sk, bolt_pause_params);
	if (!p || th->syn)
		return NF_ACCEPT;
	bolt_pause_apply(sk, p);
	if (!p->held)
		return NF_ACCEPT;
	now_ns = tp->tcp_clock_cache;
	if (p->applied_ns <= now_ns) {
		if (data)
			bolt_pause_release(sk, p);
		return NF_ACCEPT;
	}
	if (data) {
		if (!tcp_needs_internal_pacing(sk))
			bolt_pause_force(sk);
		if (!before(ntohl(th->seq), tp->snd_nxt)) {
			BOLT_INC_STATS(p->bn, PauseHeld);
			bolt_pacing_timer(sk, tp->tcp_wstamp_ns);
			return NF_DROP_ERR(-ENOBUFS);
		}
		BOLT_INC_STATS(p->bn, PausePassed);
	}
	bolt_leaves_early(skb, sk, th, data, max(now_ns, p->base_ns));
	return NF_ACCEPT;
}

/* --- a BTS; the socket's spinlock held, in softirq --- */

/* Out of reach of control messages, and of packets that the owner of the socket sends. */
static void bolt_pause_unlink(struct bolt_pause *p)
{
	rhashtable_remove_fast(&bolt_pauses, &p->node, bolt_pause_params);
	spin_lock(&p->bn->pause_lock);
	list_del(&p->list);
	spin_unlock(&p->bn->pause_lock);
	atomic_dec(&bolt_pause_count);
}

static void bolt_pause_work(struct work_struct *work)
{
	struct bolt_pause *p = container_of(to_delayed_work(work), struct bolt_pause, work);
	struct bolt_pause_conf conf;
	struct sock *sk = p->sk;
	u64 keep_ns;

	lock_sock(sk);
	bolt_pause_apply(sk, p);
	spin_lock_bh(&sk->sk_lock.slock);
	bolt_pause_conf(p->bn, &conf);
	keep_ns = bolt_pause_keep(&p->clock, &conf, ktime_get_ns());
	if (READ_ONCE(p->bn->pause_closing))
		keep_ns = 0;
	if (!keep_ns)
		bolt_pause_unlink(p);
	spin_unlock_bh(&sk->sk_lock.slock);
	if (!keep_ns)
		bolt_pause_undo(sk, p);
	release_sock(sk);

	if (keep_ns) {
		queue_delayed_work(bolt_wq, &p->work, nsecs_to_jiffies(keep_ns) + 1);
		return;
	}
	/* asked for once more while this one ran */
	cancel_delayed_work(&p->work);
	sock_put(sk);
	kfree_rcu(p, rcu);
}

static struct bolt_pause *bolt_pause_create(struct bolt_net *bn, struct sock *sk)
{
	struct bolt_pause *p = kzalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);

	if (!p)
		return NULL;
	p->sk = sk;
	p->bn = bn;
	INIT_DELAYED_WORK(&p->work, bolt_pause_work);
	if (rhashtable_lookup_insert_fast(&bolt_pauses, &p->node, bolt_pause_params)) {
		kfree(p);
		return NULL;
	}
	sock_hold(sk);
	spin_lock(&bn->pause_lock);
	list_add(&p->list, &bn->pauses);
	spin_unlock(&bn->pause_lock);
	atomic_inc(&bolt_pause_count);
	queue_delayed_work(bolt_wq, &p->work, 1);
	return p;
}

/*
 * One packet is answered by one BTS of a switch, and by one from the cache of another.  Sent again,
 * it may be answered again.
 */
static bool bolt_pause_seen(const struct sock *sk, struct bolt_pause *p, const struct bolt_msg *m)
{
	const struct bolt_pause_seen new = {
		.seq = m->seq,
		.t_data_tx = m->t_data_tx,
		.switch_id = m->switch_id,
		.retrans = READ_ONCE(tcp_sk(sk)->total_retrans) + 1,	/* never 0: an unused one */
		.flags = m->flags & BOLT_CTL_F_FROM_CACHE,
	};
	const struct bolt_pause_seen *old;
	unsigned int i;

	for (i = 0; i < BOLT_PAUSE_SEEN; i++) {
		old = &p->seen[i];
		if (old->seq == new.seq && old->t_data_tx == new.t_data_tx &&
		    old->switch_id == new.switch_id && old->retrans == new.retrans &&
		    old->flags == new.flags)
			return true;
	}
	p->seen[p->seen_next++ % BOLT_PAUSE_SEEN] = new;
	return false;
}

/* A flow that carries the option brings its timestamp back, another has none to bring. */
static bool bolt_pause_time_ok(const struct sock *sk, const struct bolt_msg *m, u64 now_ns)
{
	const struct bolt_flow *f = bolt_sk_speaks(sk) ? bolt_flow_lookup(sk) : NULL;
	u32 age_ns;

	if (!f || !READ_ONCE(f->ready))
		return !m->t_data_tx;
	return m->t_data_tx && bolt_core_rtt_src(now_ns, m->t_data_tx, &age_ns) &&
	       age_ns <= bolt_core_rtt_src_max(&f->core);
}

/* snd_nxt itself has been sent only where a user is about to say so */
static bool bolt_pause_seq_ok(struct sock *sk, u32 seq)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return !before(seq, tp->snd_una) &&
	       !after(seq, sock_owned_by_user(sk) ? tp->snd_nxt : tp->snd_nxt - 1);
}

static void bolt_pause_report(const struct sock *sk, const struct bolt_pause_conf *c)
{
	const unsigned int pct = c->pct, ms = div_u64(c->interval_ns, NSEC_PER_MSEC);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		net_warn_ratelimited("tcp_bolt: watchdog: flow to [%pI6c]:%u was paused for %u %% of %u ms\n",
				     &sk->sk_v6_daddr, ntohs(sk->sk_dport), pct, ms);
		return;
	}
#endif
	net_warn_ratelimited("tcp_bolt: watchdog: flow to %pI4:%u was paused for %u %% of %u ms\n",
			     &sk->sk_daddr, ntohs(sk->sk_dport), pct, ms);
}

/* For people: a BTS has moved the end from @old_ns */
static void bolt_pause_note(struct sock *sk, struct bolt_pause *p, const struct bolt_msg *m,
			    bool begun, u64 old_ns, u64 now_ns)
{
	struct bolt_flow *f = bolt_sk_speaks(sk) ? bolt_flow_lookup(sk) : NULL;

	p->info.asked_ns = m->pause_ns;
	p->info.switch_id = m->switch_id;
	p->info.from_cache = m->flags & BOLT_CTL_F_FROM_CACHE;
	p->info.granted_ns += p->clock.until_ns - old_ns;
	if (begun) {
		bolt_pause_tell_end(sk, p);
		p->began_ns = now_ns;
		p->info.begun++;
		if (f)
			f->count.pauses++;
		WRITE_ONCE(p->told, 1);
	}
	bolt_event_pause(sk, begun ? BOLT_EVENT_TYPE_PAUSE_BEGIN : BOLT_EVENT_TYPE_PAUSE_CHANGE, m,
			 p->clock.until_ns - now_ns);
}

/* Returns the counter of what became of it. */
enum bolt_mib_item bolt_pause_bts(struct bolt_net *bn, struct sock *sk, const struct bolt_msg *m)
{
	struct bolt_pause_conf conf;
	u64 now_ns = ktime_get_ns(), old_ns;
	enum bolt_pause_what what;
	struct bolt_pause *p;

	if (m->pause_ns > BOLT_PAUSE_ABSURD_NS)
		return BOLT_MIB_BtsOversize;
	if (!bolt_pause_sends(sk) || !bolt_pause_seq_ok(sk, m->seq))
		return BOLT_MIB_CtlSeq;
	if (!bolt_pause_time_ok(sk, m, now_ns))
		return BOLT_MIB_CtlTime;
	p = rhashtable_lookup(&bolt_pauses, &sk, bolt_pause_params);
	if (!p)
		p = bolt_pause_create(bn, sk);
	if (!p)
		return BOLT_MIB_NoMem;
	if (bolt_pause_seen(sk, p, m))
		return BOLT_MIB_CtlReplay;

	bolt_pause_conf(bn, &conf);
	old_ns = max(p->clock.until_ns, now_ns);
	what = bolt_pause_set(&p->clock, &conf, now_ns, m->pause_ns);
	if (what == BOLT_PAUSE_TRIPPED) {
		BOLT_INC_STATS(bn, WatchdogTrips);
		bolt_pause_report(sk, &conf);
		bolt_event_pause(sk, BOLT_EVENT_TYPE_WATCHDOG, m, 0);
	}
	if (what == BOLT_PAUSE_TRIPPED || what == BOLT_PAUSE_DEAF)
		return BOLT_MIB_BtsDeaf;

	BOLT_INC_STATS(bn, BtsRx);
	if (what == BOLT_PAUSE_BEGUN)
		BOLT_INC_STATS(bn, Pauses);
	/* what a replaced pause will not last is taken back */
	BOLT_ADD_STATS(bn, PausedNs, p->clock.until_ns - old_ns);
	if (p->clock.until_ns - now_ns < m->pause_ns)
		BOLT_INC_STATS(bn, BtsClamped);
	bolt_pause_note(sk, p, m, what == BOLT_PAUSE_BEGUN, old_ns, now_ns);
	atomic64_set(&p->until_ns, p->clock.until_ns);
	if (sock_owned_by_user(sk)) {
		BOLT_INC_STATS(bn, BtsDeferred);
		mod_delayed_work(bolt_wq, &p->work, 0);
	} else {
		bolt_pause_apply(sk, p);
	}
	return BOLT_MIB_CtlRx;
}

/* --- beginning and end --- */

void bolt_pause_init(struct bolt_net *bn)
{
	INIT_LIST_HEAD(&bn->pauses);
	spin_lock_init(&bn->pause_lock);
}

/* No BTS comes any more, and no packet passes LOCAL_OUT: flows go on at once. */
void bolt_pause_exit(struct bolt_net *bn)
{
	struct bolt_pause *p;

	WRITE_ONCE(bn->pause_closing, 1);
	spin_lock_bh(&bn->pause_lock);
	list_for_each_entry(p, &bn->pauses, list)
		mod_delayed_work(bolt_wq, &p->work, 0);
	spin_unlock_bh(&bn->pause_lock);
	flush_workqueue(bolt_wq);
}

/* --- for people; under RCU --- */

struct rhashtable *bolt_pause_table(void)
{
	return &bolt_pauses;
}

/* Of an object that may have gone: not a reference */
struct sock *bolt_pause_sk(void *pause)
{
	return ((struct bolt_pause *)pause)->sk;
}

/* Is that the object of @sk?  NULL stands for any. */
bool bolt_pause_is(void *pause, const struct sock *sk)
{
	void *p = rhashtable_lookup(&bolt_pauses, &sk, bolt_pause_params);

	return p && (!pause || p == pause);
}

/* The socket's spinlock held: what is known of it, or false */
bool bolt_pause_look(const struct sock *sk, struct bolt_pause_info *i)
{
	const struct bolt_pause *p = rhashtable_lookup(&bolt_pauses, &sk, bolt_pause_params);

	if (!p)
		return false;
	*i = p->info;
	i->until_ns = p->clock.until_ns;
	i->deaf_ns = p->clock.deaf_ns;
	return true;
}

int bolt_pause_module_init(void)
{
	return rhashtable_init(&bolt_pauses, &bolt_pause_params);
}

void bolt_pause_module_exit(void)
{
	rhashtable_destroy(&bolt_pauses);
}
