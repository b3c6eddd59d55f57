#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sfc as the leaf of every qdisc that takes one child: qlen and backlog are exact at every level
# while packets wait, leave, are dropped, and go down with a qdisc; nothing is left
# at the end.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_books.sh"

test_tbf() { through tbf above; through tbf leaf; }
test_red() { through red above; through red leaf; }
test_sfb() { through sfb above; through sfb leaf; }
test_cbs() { through cbs above; through cbs leaf; }
test_netem() { through netem above; through netem leaf; }

# A size table counts for packets, 1000 and 24, and not for segments: modules cannot reach it
test_stab() {
	setup_sink 1
	expect "sfc" tc_ qdisc add dev d0 root handle 21: stab overhead 24 linklayer ethernet \
		sfc nobolt rate 100kbit
	burst 0 5
	super 0 5
	expect_eq "packets" "$(column 21: 3)" 9
	expect_eq "bytes" "$(column 21: 4)" $((4 * 1024 + 5 * 1000))
	expect "drains" busywait all_empty
}

run_tests tbf red sfb cbs netem stab
