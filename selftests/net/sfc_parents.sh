#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sfc as the leaf of every qdisc that takes one child (tbf, red, sfb, cbs, netem, sfc_hold), and
# beside those that take none.  qlen and backlog must be exact at every level while packets wait,
# leave, are dropped, or go with a qdisc, and nothing may be left at the end.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_books.sh"

test_tbf() { through tbf above; through tbf leaf; }
test_red() { through red above; through red leaf; }
test_sfb() { through sfb above; through sfb leaf; }
test_cbs() { through cbs above; through cbs leaf; }
test_netem() { through netem above; through netem leaf; }
test_sfc_hold() { through sfc_hold above; through sfc_hold leaf; }

# sfb keeps two hashes of a packet in its control block while sfc has it: with the wrong ones its
# counts of a flow only grow, and from 25 packets on it drops all, once a rehash uses the second
test_sfb_rehash() {
	setup_sink 1
	tc_ qdisc add dev d0 root handle 10: sfb limit 1000 max 25 target 20 rehash 1000 db 100
	expect "sfc" tc_ qdisc add dev d0 parent 10:1 handle 21: sfc nobolt
	burst 0 1
	sleep 1.1
	burst 0 600 flows=10
	expect_eq "packets sent" "$(sent)" 601
}

# --- qdiscs that are leaves, and nothing else ---

# leaf_only KIND WHERE...: with room for what the tests send
leaf_only() {
	local kind=$1
	shift
	case $kind in
	choke) set -- "$@" choke limit 1000 min 500 max 900 burst 600 bandwidth 100mbit ;;
	skbprio) set -- "$@" skbprio limit 1000 ;;
	etf) set -- "$@" etf clockid CLOCK_TAI delta 100000 skip_sock_check ;;
	plug) set -- "$@" plug limit 1000000 ;;
	sfc) set -- "$@" sfc nobolt rate 100kbit ;;
	esac
	tc_ qdisc replace dev d0 "$@"
}

# The kernel has no graft() for choke, skbprio, etf and plug, nor for sfc: what they hold has no
# place below it.  Asking for one leaves them as they were.
test_no_children() {
	local kind before
	setup_sink 1
	for kind in choke skbprio etf plug sfc; do
		expect "$kind" leaf_only "$kind" root handle 10:
		before=$(tc_ -s qdisc show dev d0)
		expect_fail "$kind above sfc" 'not supported|Operation|class|a band of sfc has no place' \
			tc_ qdisc add dev d0 parent 10:1 handle 21: sfc
		expect_eq "$kind afterwards" "$(tc_ -s qdisc show dev d0)" "$before"
		tc_ qdisc del dev d0 root
	done
}

# beside KIND: in one band of a prio, sfc in the other; then each takes the other's place, full
beside() {
	local kind=$1
	setup_sink 1
	slow=(rate 100kbit)
	parent prio root
	expect "sfc" leaf 2
	expect "$kind" leaf_only "$kind" parent 10:1 handle 31:
	burst 10:2 10
	super 10:2 5
	books "$kind, sfc beside it"
	if [ "$kind" = etf ]; then
		# nothing that has no departure time gets in
		burst 10:1 5
		lost=$((lost + 5))
	elif [ "$kind" = plug ]; then
		burst 10:1 5
		expect_eq "plugged" "$(column 31: 3)" 5
	fi
	books "$kind, both"
	before=$(sent)
	expect "sfc goes on" busywait sent_at_least $((before + 2))
	books "$kind, some left"
	# sfc there instead, and back, with packets in both
	lost=$((lost + $(column 31: 3)))
	expect "sfc for $kind" tc_ qdisc replace dev d0 parent 10:1 handle 21: sfc nobolt "${slow[@]}"
	burst 10:1 5
	super 10:1 5
	books "sfc for $kind"
	goes 21:
	expect "$kind for sfc" leaf_only "$kind" parent 10:1 handle 31:
	books "$kind for sfc"
	goes 22:
	expect "$kind for the other" leaf_only "$kind" parent 10:2 handle 32:
	books "no sfc left" empty=1
	undo
}

test_beside_choke() { beside choke; }
test_beside_skbprio() { beside skbprio; }
test_beside_etf() { beside etf; }
test_beside_plug() { beside plug; }

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

run_tests tbf red sfb sfb_rehash cbs netem sfc_hold no_children beside_choke beside_skbprio beside_etf beside_plug stab
