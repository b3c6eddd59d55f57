#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Pauses come and go on one CPU while sockets of other congestion controls send on another: nothing
# of theirs reaches the code of the option, which would take their private area for a flow.
#
#	H1 (cubic, bbr) ---- r1  R  r2 (slow, BTS) ---- H2

. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing
TIMES=1500

# A slow port that asks for pauses; those of H1 are short, and soon forgotten
setup_pauses() {
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1 net.bolt.max_pause_us=200 \
		net.bolt.watchdog_interval_us=1000 net.bolt.watchdog_recovery_us=1000
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 100mbit limit 1mb nobolt pause \
		qth 9084b qtg 3028b suppress off
}

# Entries of bolt_out_flow() while the module runs
probe() {
	[ -e "$tracing/kprobe_events" ] || mount -t tracefs nodev "$tracing" || fail "no tracefs"
	expect "probe" bash -c "echo 'p:bolt_flow tcp_bolt:bolt_out_flow' >$tracing/kprobe_events"
	echo 1 >"$tracing/events/kprobes/bolt_flow/enable"
	defer bash -c "echo 0 >$tracing/events/kprobes/bolt_flow/enable; echo >$tracing/kprobe_events"
}

probed() {
	awk '$1 == "bolt_flow" { print $2 }' "$tracing/kprobe_profile"
}

transfer() {
	server "$H2" cc "$1" listen "$A2" 5001 recv 3000000 recv-eof
	client "$H1" cc "$1" connect "$A2" 5001 send 3000000 outq
	server_done
}

test_foreign() {
	setup_pauses
	probe
	transfer cubic
	expect_ge "pauses" "$(bolt_stat "$H1" Pauses)" 1
	expect_eq "cubic's packets in bolt_out_flow()" "$(probed)" 0
	transfer bolt
	expect_ge "bolt's packets there" "$(probed)" 1000
}

paused() {
	[ "$(bolt_stat "$H1" Pauses)" -ge "$TIMES" ]
}

test_toggled() {
	local cc works=()
	modprobe -q tcp_bbr
	setup_pauses
	spawn SERVER "$tmp/server" in_ns "$H2" "$BOLT_PROGRAMS/bolt_race" serve "$A2" 5001 cc cubic
	busywait file_has "$tmp/server" listening || fail "server: $(cat "$tmp/server")"
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
	say "$(tail -qn1 "$tmp/cubic" "$tmp/bbr"), Pauses $(bolt_stat "$H1" Pauses)"
}

run_tests foreign toggled
