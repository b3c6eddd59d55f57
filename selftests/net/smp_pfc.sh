#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# PFC and a shared buffer are under traffic on one CPU, while options, qdiscs and devices change on
# another.  Every packet must come out or be counted, and in the end every account of bytes must be
# at zero: what is left in one would pause a neighbour for ever.
#
#	H1 (sfc pfc) ---- r1  R  r2 (slow) ---- H2

. "$(dirname "$0")/lib.sh"

TIMES=200
PFC=(pfc prio 0xff xoff 20kb)

setup_pfc() {
	setup_router
	in_ns "$H1" tc qdisc add dev eth0 root handle 1: sfc nobolt "${PFC[@]}"
	in_ns "$R" tc qdisc add dev r1 root handle 1: sfc nobolt buffer 1mb "${PFC[@]}"
	in_ns "$R" tc qdisc add dev r2 root handle 1: sfc nobolt rate 200mbit buffer 1mb "${PFC[@]}"
}

empty() {
	local dev
	for dev in r1 r2; do
		expect "$dev is empty" busywait qdisc_is "$R" "$dev" qlen 0
		counters "$R" "$dev" buffer_used=0 ingress_bytes=0
	done
}

# while_sending COMMAND...: so many times, each of which succeeds, beside connections
while_sending() {
	local n ok=0
	serve_races cubic
	begin_races cc cubic threads 1 bytes 3000000
	expect "traffic" passes
	for ((n = 0; n < TIMES; n++)); do
		"$@" "$n" >"$tmp/change" 2>&1 && ok=$((ok + 1))
	done
	expect_eq "changes made ($(cat "$tmp/change"))" "$ok" "$TIMES"
	expect "traffic" passes
	end_races
}

toggle() {
	case $(($1 % 5)) in
	0) in_ns "$R" tc qdisc change dev r1 root handle 1: sfc nopfc ;;
	1) in_ns "$R" tc qdisc change dev r1 root handle 1: sfc "${PFC[@]}" buffer off ;;
	2) in_ns "$R" tc qdisc change dev r2 root handle 1: sfc nopfc buffer off ;;
	3) in_ns "$R" tc qdisc change dev r2 root handle 1: sfc "${PFC[@]}" buffer 1mb alpha 1/2 bands 2 ;;
	4) in_ns "$R" tc qdisc change dev r2 root handle 1: sfc bands 1 &&
		in_ns "$R" tc qdisc change dev r1 root handle 1: sfc buffer 1mb xoff 9000b ;;
	esac
}

test_options() {
	setup_pfc
	while_sending toggle
	expect "last" in_ns "$R" tc qdisc change dev r1 root handle 1: sfc buffer 1mb "${PFC[@]}"
	expect "last" in_ns "$R" tc qdisc change dev r2 root handle 1: sfc buffer 1mb "${PFC[@]}"
	empty
}

replace() {
	case $(($1 % 3)) in
	0) in_ns "$R" tc qdisc replace dev r1 root pfifo ;;
	1) in_ns "$R" tc qdisc replace dev r1 root handle 1: sfc nobolt buffer 1mb "${PFC[@]}" ;;
	2) in_ns "$R" tc qdisc replace dev r2 root handle "$1:" sfc nobolt rate 200mbit buffer 1mb "${PFC[@]}" ;;
	esac
}

test_qdiscs() {
	setup_pfc
	while_sending replace
	expect "last" in_ns "$R" tc qdisc replace dev r1 root handle 9: sfc nobolt buffer 1mb "${PFC[@]}"
	empty
}

# What was said under load: each XOFF is heeded, and none lasts
test_heeded() {
	local sent
	setup_pfc
	# less than any kernel sends
	expect "slow" in_ns "$R" tc qdisc change dev r2 root handle 1: sfc rate 20mbit
	# time is real: a pause of 335 ms does not end before a late timer repeats it
	expect "H1" in_ns "$H1" tc qdisc change dev eth0 root sfc link 100mbit watchdog 2s
	expect "r1" in_ns "$R" tc qdisc change dev r1 root sfc link 100mbit
	while_sending true
	empty
	sent=$(qdisc "$R" r1 pfc_xoff)
	expect_ge "XOFF" "$sent" 1
	expect_eq "heard" "$(qdisc "$H1" eth0 pfc_heard)" $((sent + $(qdisc "$R" r1 pfc_xon) + $(qdisc "$R" r1 pfc_refresh)))
	counters "$R" r2 drop_data=0 pfc_trips=0
	counters "$H1" eth0 pfc_refused=0 pfc_ignored=0 pfc_trips=0 pfc_paused=0
}

run_tests options qdiscs heeded
