#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A client changes its congestion control on one CPU while the answer to its SYN comes in on
# another.  The connection's object must go with it, whichever comes first; one that is left would
# be found by the next connection that gets the same struct sock.

. "$(dirname "$0")/lib.sh"

answered() {
	[ "$(bolt_stat "$H1" SynTx)" -ge 3000 ]
}

test_no_object_left() {
	local sent first
	setup_pair
	# what H1 receives is the other CPU's, whoever sent it
	ip netns exec "$H1" bash -c \
		"for q in /sys/class/net/eth0/queues/rx-*; do echo 2 >\$q/rps_cpus; done"
	serve_races bolt
	spawn WORK "$tmp/work" in_ns "$H1" timeout 250 taskset 1 "$BOLT_PROGRAMS/bolt_race" work "$A2" \
		5001 threads 1 bytes 1000 early until "$tmp/enough"
	BUSYWAIT_MS=120000 expect "SYNs" busywait answered
	end_races
	sent=$(bolt_stat "$H1" SynTx) first=$(bolt_stat "$H1" SynAckRx)
	say "$(tail -1 "$tmp/work"), SynTx $sent, SynAckRx $first"
	# of 3000; the program aims at half
	expect_ge "answers that came before the change" "$first" 100
	expect_ge "changes that came before the answer" $((sent - first)) 100
	expect "no object without a socket" busywait stat_is "$H1" FlowsNow 0
}

run_tests no_object_left
