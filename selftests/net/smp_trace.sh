#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tracepoints, on a stock kernel, which has them: each tells of each of its events once, as the
# counters have them; and the scripts for bpftrace find the fields that they read.
#
#	H1 ---- r1  R  r2 (slow, SRC and BTS) ---- H2

. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing
scripts=$(cd "$(dirname "$0")/../../tools/bpftrace" && pwd)

setup_tracing() {
	[ -e "$tracing/events" ] || mount -t tracefs nodev "$tracing" || fail "no tracefs"
	echo 8192 >"$tracing/buffer_size_kb"
	echo >"$tracing/trace"
	echo 1 >"$tracing/events/bolt/enable"
	echo 1 >"$tracing/events/sfc/enable"
	defer stop_tracing
}

stop_tracing() {
	echo 0 >"$tracing/events/bolt/enable"
	echo 0 >"$tracing/events/sfc/enable"
}

# traced EVENT [PATTERN]: how many lines
traced() {
	grep " $1: " "$tmp/trace" | grep -c -- "${2:-}"
}

test_events() {
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root handle 7: sfc rate 20mbit ccthresh 3028b \
		limit 1mb
	setup_tracing
	server "$H2" cc bolt listen "$A2" 5001 recv 600000 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 600000 outq
	server_done
	# who hears no SRC fills the queue
	in_ns "$R" tc qdisc change dev r2 root sfc nobolt sfc qth 15140b qtg 3028b suppress off
	server "$H2" cc cubic listen "$A2" 5002 recv 600000 recv-eof
	client "$H1" cc cubic connect "$A2" 5002 send 600000 outq
	server_done
	# the messages of the last packets have been heard, and their pauses ended
	busywait quiet
	cp "$tracing/trace" "$tmp/trace"
	stop_tracing

	expect_ge "SRC" "$(bolt_stat "$H1" SrcRx)" 2
	expect_ge "pauses" "$(bolt_stat "$H1" Pauses)" 1
	expect_eq "bolt_src" "$(traced bolt_src)" "$(bolt_stat "$H1" SrcRx)"
	expect_eq "bolt_src: dec" "$(traced bolt_src 'verdict=dec')" "$(bolt_stat "$H1" SrcDec)"
	expect_eq "of that port" "$(traced bolt_src 'link_kbps=20000')" "$(bolt_stat "$H1" SrcRx)"
	expect_eq "of that flow" \
		"$(traced bolt_src "\[::ffff:$A1\]:[0-9]* > \[::ffff:$A2\]:5001")" \
		"$(bolt_stat "$H1" SrcRx)"
	expect_ge "bolt_cwnd" "$(traced bolt_cwnd)" 1
	expect_eq "bolt_pause_begin" "$(traced bolt_pause_begin)" "$(bolt_stat "$H1" Pauses)"
	expect_ge "bolt_pause_end" "$(traced bolt_pause_end)" 1
	expect_eq "sfc_src" "$(traced sfc_src 'handle=70000:.*verdict=sent')" \
		"$(qdisc "$R" r2 src_sent)"
	expect_eq "sfc_bts" "$(traced sfc_bts 'verdict=sent')" "$(qdisc "$R" r2 bts_sent)"
}

test_cache() {
	setup_router
	expect "r1" in_ns "$R" tc qdisc add dev r1 root sfc nobolt sfc cache edge maxpause 4s
	expect "r2" in_ns "$R" tc qdisc add dev r2 root sfc nobolt sfc cache suppress 3s maxpause 4s
	setup_tracing
	inject "$H2" "$A2" "$A1" bts=3000000000
	inject "$H1" "$A1" "$A2" bflags=none len=100 n=3
	inject "$H2" "$A2" "$A1" bts=3000000000 cflags=9
	expect "fed" busywait qdisc_is "$R" r1 cache_refused 1
	cp "$tracing/trace" "$tmp/trace"
	stop_tracing
	expect_eq "sfc_cache_hit" "$(traced sfc_cache_hit)" 3
	expect_eq "sfc_bts" "$(traced sfc_bts 'flags=2 verdict=sent')" 1
	expect_eq "sfc_suppressed" "$(traced sfc_suppressed)" 2
	expect_eq "sfc_refusal" "$(traced sfc_refusal 'verdict=malformed')" 1
}

# Parsed, and checked against the fields of the modules that are loaded; nothing is attached.  In one
# go, for it takes an emulated machine long to begin; without END, of which there can be one
test_bpftrace() {
	sed -e '/^#!/d' -e '/^END$/,/^}$/d' "$scripts"/*.bt >"$tmp/all.bt"
	bpftrace -d "$tmp/all.bt" >"$tmp/bt" 2>&1 || fail "$(grep -m3 ERROR "$tmp/bt")"
	grep -q "call: count" "$tmp/bt" || fail "no program"
	# a field that does not exist is seen
	bpftrace -d -e 'tracepoint:sfc:sfc_src { @ = args->no_such_field }' >"$tmp/bt" 2>&1 &&
		fail "a field of nobody is taken"
	grep -q no_such_field "$tmp/bt" || fail "wrong field: $(grep -m3 ERROR "$tmp/bt")"
}

run_tests events cache bpftrace
