#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Pauses come and go on one CPU while sockets of other congestion controls send on another.  Their
# private area is no flow of bolt's, and must never be taken for one.  smp_trace.sh shows that their
# packets do not reach the code of the option.
#
#	H1 (cubic, bbr) ---- r1  R  r2 (slow, BTS) ---- H2

. "$(dirname "$0")/lib.sh"

TIMES=1500

# A slow port that asks for pauses; those of H1 are short, and soon forgotten
setup_pauses() {
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1 net.bolt.max_pause_us=200 \
		net.bolt.watchdog_interval_us=1000 net.bolt.watchdog_recovery_us=1000
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 100mbit limit 1mb nobolt pause \
		qth 9084b qtg 3028b suppress off
}

paused() {
	[ "$(bolt_stat "$H1" Pauses)" -ge "$TIMES" ]
}

test_toggled() {
	local cc works=()
	modprobe -q tcp_bbr
	setup_pauses
	serve_races cubic
	for cc in cubic bbr; do
		spawn WORK "$tmp/$cc" in_ns "$H1" timeout 250 "$BOLT_PROGRAMS/bolt_race" work "$A2" \
			5001 cc "$cc" threads 1 bytes 100000 until "$tmp/enough"
		works+=("$WORK")
	done
	BUSYWAIT_MS=200000 expect "$TIMES pauses" busywait paused
	touch "$tmp/enough"
	ended cubic "${works[0]}"
	ended bbr "${works[1]}"
	kill "$SERVER"
	ended server "$SERVER"
	say "$(tail -qn1 "$tmp/cubic" "$tmp/bbr" | paste -sd,), Pauses $(bolt_stat "$H1" Pauses)"
}

run_tests toggled
