#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: qemu
#
# Tracepoints and probes, on a stock kernel, which has them.  Each tracepoint fires once for each of
# its events, as often as the counters say, and the scripts for bpftrace find the fields that they
# read.  Packets of other congestion controls must not reach the code of the option, which would
# take their private area for a flow.
#
#	H1 ---- r1  R  r2 (slow, SRC and BTS) ---- H2

. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing
scripts=$(cd "$(dirname "$0")/../../tools/bpftrace" && pwd)

setup_tracing() {
	[ -e "$tracing/events" ] || mount -t tracefs nodev "$tracing" || fail "no tracefs"
	echo 8192 >"$tracing/buffer_size_kb"
	# one order for what happens on several CPUs
	echo counter >"$tracing/trace_clock"
	echo >"$tracing/trace"
	echo 1 >"$tracing/events/bolt/enable"
	echo 1 >"$tracing/events/sfc/enable"
	defer stop_tracing
}

stop_tracing() {
	echo 0 >"$tracing/events/enable"
}

# traced EVENT [PATTERN]: how many lines
traced() {
	grep " $1: " "$tmp/trace" | grep -c -- "${2:-}"
}

# H1 has heard every message of r2, and each of its pauses has ended
quiet() {
	[ "$(bolt_stat "$H1" CtlRx)" = \
		$(($(qdisc "$R" r2 src_sent) + $(qdisc "$R" r2 bts_sent))) ] &&
		[ "$(grep -c ' bolt_pause_end: ' "$tracing/trace")" = "$(bolt_stat "$H1" Pauses)" ]
}

# Each change of the window but TCP's own, which it makes when it times out: a line begins with the
# window that the line before has set, and the last one's is TCP's
expect_windows() {
	local old new last=''
	local changes=0 gaps=0 smaller=0
	while read -r old new; do
		changes=$((changes + 1))
		[ "$new" -ge "$old" ] || smaller=$((smaller + 1))
		[ "$old" = "${last:-$old}" ] || gaps=$((gaps + 1))
		last=$new
	done < <(sed -nE "s/.* bolt_cwnd: .*:5001 old_cwnd=([0-9]+) cwnd=([0-9]+) .*/\1 \2/p" \
		"$tracing/trace")
	expect_ge "windows" "$changes" 10
	expect_ge "smaller ones" "$smaller" 5
	expect_le "windows that another has set" "$gaps" "$(bolt_stat "$H1" RtoDec)"
	expect_eq "the last one" "$(info "$tmp/client" cwnd)" "$last"
}

test_events() {
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root handle 7: sfc rate 20mbit ccthresh 3028b \
		limit 1mb
	setup_tracing
	expect_eq "values without a number" \
		"$(cat "$tracing"/events/{bolt,sfc}/*/format | grep -cE '[^"]\<(SFC|BOLT)_')" 0
	server "$H2" cc bolt listen "$A2" 5001 recv 600000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 120 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		connect "$A2" 5001 send 600000 outq info mark "$tmp/all" wait "$tmp/seen"
	expect "all acknowledged" busywait test -e "$tmp/all"
	expect_windows
	touch "$tmp/seen"
	ended client "$CLIENT"
	server_done
	# who hears no SRC fills the queue
	in_ns "$R" tc qdisc change dev r2 root sfc nobolt pause qth 15140b qtg 3028b suppress off
	server "$H2" cc cubic listen "$A2" 5002 recv 600000 recv-eof
	client "$H1" cc cubic connect "$A2" 5002 send 600000 outq
	server_done
	# the messages of the last packets have been heard, and their pauses ended
	expect "quiet" busywait quiet
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
	expect_eq "bolt_pause_begin" "$(traced bolt_pause_begin)" "$(bolt_stat "$H1" Pauses)"
	expect_eq "bolt_pause_end" "$(traced bolt_pause_end)" "$(bolt_stat "$H1" Pauses)"
	expect_ge "changed" "$(traced bolt_pause_change)" 1
	expect_eq "bolt_pause_change" "$(traced bolt_pause_change)" \
		"$(($(bolt_stat "$H1" BtsRx) - $(bolt_stat "$H1" Pauses)))"
	expect_eq "sfc_src" "$(traced sfc_src 'handle=70000:.*verdict=sent')" \
		"$(qdisc "$R" r2 src_sent)"
	expect_eq "sfc_bts" "$(traced sfc_bts 'verdict=sent')" "$(qdisc "$R" r2 bts_sent)"
}

# Who speaks no option, twice; who is told to pause for longer than the watchdog lets; who is refused
test_reasons() {
	local cc
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1 net.bolt.watchdog_pct=1
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc nobolt pause rate 20mbit qth 15140b \
		qtg 3028b suppress off
	setup_tracing
	for cc in bolt swift; do
		server "$H2" cc cubic listen "$A2" 5001 recv 200000 recv-eof
		client "$H1" cc "$cc" connect "$A2" 5001 send 200000 outq
		server_done
	done
	in_ns "$H1" bash -c 'echo >/dev/udp/127.0.0.1/12311'
	expect "heard" busywait stat_is "$H1" CtlShort 1
	cp "$tracing/trace" "$tmp/trace"
	stop_tracing
	expect_eq "bolt_fallback" "$(traced bolt_fallback)" 2
	expect_eq "bolt" "$(traced bolt_fallback "\\[::ffff:$A2\\]:5001 reason=Fallback ")" 1
	expect_eq "swift" "$(traced bolt_fallback "\\[::ffff:$A2\\]:5001 reason=SwiftPlain ")" 1
	expect_ge "watchdog" "$(bolt_stat "$H1" WatchdogTrips)" 1
	expect_eq "bolt_watchdog" "$(traced bolt_watchdog)" "$(bolt_stat "$H1" WatchdogTrips)"
	expect_eq "refused then" "$(traced bolt_refusal \
		"\\[::ffff:$A2\\]:5001 reason=BtsIgnored ")" "$(bolt_stat "$H1" BtsIgnored)"
	expect_eq "of nobody" "$(traced bolt_refusal \
		"\\[::\\]:0 > \\[::\\]:0 reason=CtlShort sender=\\[::ffff:127.0.0.1\\]")" 1
	expect_ge "by the switch, for H2" "$(traced bolt_refusal \
		"reason=BtsIgnored sender=\\[::ffff:$A2\\]")" 1
}

test_cache() {
	setup_router
	expect "r1" in_ns "$R" tc qdisc add dev r1 root sfc nobolt pause cache edge \
		switchkey "$SWITCHKEY" maxpause 4s
	expect "r2" in_ns "$R" tc qdisc add dev r2 root sfc nobolt pause cache suppress 3s \
		switchkey "$SWITCHKEY" maxpause 4s
	setup_tracing
	inject "$H2" "$A2" "$A1" bts=3000000000 dscp=10
	inject "$H1" "$A1" "$A2" bflags=none len=100 n=3 tos=40 sport=7 dport=8
	inject "$H2" "$A2" "$A1" bts=3000000000 cflags=11
	inject "$H2" "$A2" "$A1" bts=3000000000 from=192.0.2.77
	expect "r2 faces servers" in_ns "$R" tc qdisc change dev r2 root sfc edge
	inject "$H2" "$A2" "$A1" bts=3000000000
	expect "fed" busywait qdisc_is "$R" r1 cache_refused 2
	expect "ignored" busywait qdisc_is "$R" r1 cache_ignored 1
	cp "$tracing/trace" "$tmp/trace"
	stop_tracing
	expect_eq "sfc_cache_hit" "$(traced sfc_cache_hit 'verdict=none')" 3
	expect_eq "of the flow" "$(traced sfc_cache_hit \
		"\\[::ffff:$A1\\]:7 > \\[::ffff:$A2\\]:8 proto=6 dscp=10 .* pause_ns=2[0-9]\{9\} ")" 3
	expect_eq "sfc_bts" "$(traced sfc_bts 'flags=2 verdict=sent')" 1
	expect_eq "sfc_suppressed" "$(traced sfc_suppressed 'verdict=none')" 2
	expect_eq "sfc_refusal" "$(traced sfc_refusal 'verdict=malformed')" 1
	expect_eq "forged" "$(traced sfc_refusal 'verdict=forged')" 1
	expect_eq "from an edge" "$(traced sfc_refusal "\\[::ffff:$A2\\]:12311 .* verdict=edge")" 1
}

# SRCC: one lossless flow, which its own first packets have shown to share its ingress
test_cnm() {
	local lossless=(limit 1mb pfc prio 0x01 xoff 1mb)
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1
	expect "r1" tc_ qdisc add dev r1 root sfc nobolt "${lossless[@]}"
	expect "r2" tc_ qdisc add dev r2 root handle 7: sfc nobolt rate 20mbit "${lossless[@]}" \
		srcc 15140b srcc_window 2s
	setup_tracing
	transfer cubic
	cp "$tracing/trace" "$tmp/trace"
	stop_tracing
	expect_ge "CNM" "$(bolt_stat "$H1" CnmRx)" 1
	expect_eq "sfc_cnm" "$(traced sfc_cnm \
		'handle=70000:.* link_kbps=20000 .* target_kbps=[1-9][0-9]* .*verdict=sent')" \
		"$(qdisc "$R" r2 cnm_sent)"
	expect_eq "bolt_cnm" "$(traced bolt_cnm "> \\[::ffff:$A2\\]:5001 .* target_kbps=[1-9]")" \
		"$(bolt_stat "$H1" CnmRx)"
}

# The kernel's own tracepoints have what the port drops, and why, of a super-packet that it splits as well
test_drops() {
	local event
	setup_router
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root handle 7: sfc rate 1mbit limit 5000b nobolt
	setup_tracing
	for event in skb/kfree_skb qdisc/qdisc_drop; do
		# qdisc_drop: since Linux 7.1
		[ ! -e "$tracing/events/$event" ] || echo 1 >"$tracing/events/$event/enable"
	done
	in_ns "$H1" "$BOLT_PROGRAMS/bolt_burst" "$A2" len=20000 gso=1000 || fail "bolt_burst"
	in_ns "$H1" "$BOLT_PROGRAMS/bolt_burst" "$A2" len=1000 n=10 || fail "bolt_burst"
	expect "all have come" busywait qdisc_is "$R" r2 qlen 0
	cp "$tracing/trace" "$tmp/trace"
	stop_tracing
	counters "$R" r2 gso_split=1 gso_segs=20
	expect_ge "drops" "$(qdisc "$R" r2 drop_data)" 20
	expect_eq "kfree_skb" "$(traced kfree_skb 'reason: QDISC_DROP$')" "$(qdisc "$R" r2 drops)"
	[ ! -e "$tracing/events/qdisc/qdisc_drop" ] || expect_eq "qdisc_drop" \
		"$(traced qdisc_drop 'kind=sfc handle=0x70000 .* reason=OVERLIMIT')" "$(qdisc "$R" r2 drops)"
}

# Parsed, and checked against the fields of the modules that are loaded; nothing is attached.  In one
# go, for it takes an emulated machine long to begin; without END, of which there can be one
test_bpftrace() {
	sed -e '/^#!/d' -e '/^END$/,/^}$/d' "$scripts"/*.bt >"$tmp/all.bt"
	bpftrace -d "$tmp/all.bt" >"$tmp/bt" 2>&1 || fail "$(grep -m3 ERROR "$tmp/bt")"
	expect "a program" grep -q "call: count" "$tmp/bt"
	# a field that does not exist is seen
	bpftrace -d -e 'tracepoint:sfc:sfc_src { @ = args->no_such_field }' >"$tmp/bt" 2>&1 &&
		fail "a field of nobody is taken"
	grep -q no_such_field "$tmp/bt" || fail "wrong field: $(grep -m3 ERROR "$tmp/bt")"
}

# Entries of bolt_out_flow()
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
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 100mbit limit 1mb nobolt pause \
		qth 9084b qtg 3028b suppress off
	probe
	transfer cubic
	expect_ge "pauses" "$(bolt_stat "$H1" Pauses)" 1
	expect_eq "cubic's packets in bolt_out_flow()" "$(probed)" 0
	transfer bolt
	expect_ge "bolt's packets there" "$(probed)" 1000
}

run_tests events reasons cache cnm drops bpftrace foreign
