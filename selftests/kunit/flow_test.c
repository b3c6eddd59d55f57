// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: tcp_bolt/flow.c, how long a flow's object lives.  It needs tcp_bolt, and KASAN to see that
 * an object was freed too early.  And include/bolt_compat.h, what TCP receives.
 */

#include <linux/net.h>
#include <net/net_namespace.h>

#include "compat.h"
#include "bolt.h"

/* Who found the object before it was released may look into it until his grace period ends. */
static void bolt_flow_grace_test(struct kunit *test)
{
	struct socket *sock;
	struct bolt_flow *f;
	struct sock *sk;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &sock),
			0);
	sk = sock->sk;
	lock_sock(sk);
	f = bolt_flow_get(sk, BOLT_FLOW_CC);
	if (f) {
		rcu_read_lock();
		KUNIT_EXPECT_PTR_EQ(test, bolt_flow_get(sk, BOLT_FLOW_CC), f);
		bolt_flow_release(sk);
		KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(f->sk), sk);
		KUNIT_EXPECT_EQ(test, READ_ONCE(f->users), 0);
		rcu_read_unlock();
	}
	release_sock(sk);
	KUNIT_EXPECT_NOT_NULL(test, f);
	sock_release(sock);
}

/* A window that has been shrunk: where it ends is the kernel's own matter, as in bolt_compat.h. */
static void bolt_rcv_end_test(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	u32 end;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->rcv_nxt = 1000;
	tp->rcv_wnd = 500;
	end = bolt_kunit_offered(tp, 2500);
	KUNIT_EXPECT_EQ(test, bolt_rcv_end(tp), end);
}

static struct kunit_case bolt_flow_cases[] = {
	KUNIT_CASE(bolt_flow_grace_test),
	KUNIT_CASE(bolt_rcv_end_test),
	{}
};

static struct kunit_suite bolt_flow_suite = {
	.name = "bolt_flow",
	.test_cases = bolt_flow_cases,
};

kunit_test_suite(bolt_flow_suite);

MODULE_LICENSE("GPL");
