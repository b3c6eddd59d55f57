#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# SRC come in on one CPU while a thread on another owns the socket, changes its congestion control
# or closes it.  A message whose socket is owned waits in the flow's object: none may be lost, no
# byte either, and nothing of a socket may outlive it.

. "$(dirname "$0")/lib.sh"

# rps NS DEV: what arrives is handled by the second CPU, whoever sent it
rps() {
	ip netns exec "$1" bash -c "
		for q in /sys/class/net/$2/queues/rx-*; do echo 2 >\$q/rps_cpus; done"
}

# A slow port that signals with every packet it has to queue; senders on the first CPU
setup_storm() {
	setup_router
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 50mbit ccthresh 1514b \
		limit 1mb
	rps "$H1" eth0
	serve_races bolt
}

# work SRC WORDS...: until so many SRC have come, and some found the socket owned; then the books
work() {
	local enough=$1
	shift
	begin_races "$@"
	BUSYWAIT_MS=90000 busywait heard "$enough" ||
		fail "SrcRx $(bolt_stat "$H1" SrcRx), CtlDeferred $(bolt_stat "$H1" CtlDeferred)"
	end_races
	say "$(tail -1 "$tmp/work"); SrcRx $(bolt_stat "$H1" SrcRx) CtlDeferred $(bolt_stat "$H1" CtlDeferred)"
}

heard() {
	[ "$(bolt_stat "$H1" SrcRx)" -ge "$1" ] && [ "$(bolt_stat "$H1" CtlDeferred)" -ge 5 ]
}

did() {
	sed -n "s/.*\\b$2=\\([0-9]*\\).*/\\1/p" "$tmp/$1"
}

# Every message that came in was accepted or refused, those that waited for an owner included
none_lost() {
	expect "every message has come to an end" busywait all_ended
	say "$(in_ns "$H1" grep -E '^(Ctl|SrcRx|NoMem)' /proc/net/bolt_stat | paste -sd,)"
}

all_ended() {
	in_ns "$H1" cat /proc/net/bolt_stat | awk '$1 == "CtlRx" { came = $2 }
		$1 ~ /^Ctl/ && $1 !~ /^Ctl(Rx|Deferred)$/ || $1 ~ /^(SrcRx|NoMem)$/ { ended += $2 }
		END { exit came != ended }'
}

all_complete() {
	expect_ge "connections" "$(did work connections)" 2
	expect_eq "complete" "$(did work complete)" "$(did work connections)"
}

# Another thread owns the socket much of the time: what cannot be subtracted at once is later
test_owned_by_user() {
	setup_storm
	work 200 threads 2 bytes 300000 hold
	none_lost
	all_complete
}

test_switched() {
	setup_storm
	work 30 threads 2 bytes 200000 switch
	none_lost
	all_complete
}

test_closed() {
	setup_storm
	work 200 threads 3 bytes 200000 abort hold
	none_lost
	expect_ge "aborted" "$(did work aborted)" 1
}

test_all_at_once() {
	setup_storm
	work 100 threads 4 bytes 200000 abort switch hold states
	none_lost
	expect_ge "aborted" "$(did work aborted)" 1
}

#	H1 eth0 --600 ms, 1 Mb/s--> r1  R  r2 (sfc, 500 kb/s) ---- eth0 H2
# A process owns the socket from before the first message comes to after the last: every packet that
# they take off the window is taken off afterwards.  Nothing else moves it: no AI, no INC, no timer.
# An echo may be one second old.
test_frozen() {
	local before after
	setup_router
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 500kbit ccthresh 1514b limit 1mb \
		nosm nopru
	in_ns "$H1" sysctl -qw net.bolt.debug.paper=1 net.bolt.debug.ai=0 net.ipv4.tcp_early_retrans=0
	ip -n "$H1" route change default via 192.0.2.254 initcwnd 40 rto_min 30s
	serve_races bolt
	spawn WORK "$tmp/work" in_ns "$H1" timeout 100 "$BOLT_PROGRAMS/bolt_race" freeze "$A2" 5001 \
		bytes 40000 until "$tmp/enough"
	busywait file_has "$tmp/work" connected || fail "work: $(cat "$tmp/work")"
	in_ns "$H1" tc qdisc add dev eth0 root netem delay 600ms rate 1mbit limit 1000
	touch "$tmp/enough.go"
	busywait file_has "$tmp/work" frozen || fail "work: $(cat "$tmp/work")"
	expect "data at the router" busywait qdisc_sent
	expect "heard" busywait stat_is "$H1" CtlDeferred "$(qdisc "$R" r2 src_sent)"
	in_ns "$H1" tc qdisc del dev eth0 root
	# what is sent from here on causes none
	in_ns "$R" tc qdisc change dev r2 root sfc ccthresh 1mb
	end_races
	none_lost
	expect_ge "SRC that waited" "$(bolt_stat "$H1" CtlDeferred)" 2
	expect_eq "of those: believed" "$(bolt_stat "$H1" SrcRx)" "$(bolt_stat "$H1" CtlDeferred)"
	before=$(did work before) after=$(did work after)
	say "window $before, then $after; CtlDeferred $(bolt_stat "$H1" CtlDeferred), SrcDec $(bolt_stat "$H1" SrcDec)"
	expect_eq "the window" "$after" \
		$((before - $(bolt_stat "$H1" SrcDec)))
}

# All of the burst has come by: 40000 bytes
qdisc_sent() {
	[ "$(qdisc "$R" r2 bytes)" -ge 40000 ]
}

# A namespace goes while messages for its sockets come in
test_namespace_goes() {
	for _ in 1 2; do
		setup_storm
		spawn WORK "$tmp/work" in_ns "$H1" "$BOLT_PROGRAMS/bolt_race" work "$A2" 5001 \
			seconds 100 threads 3 bytes 100000000 hold
		expect "SRC" busywait has_src
		kill "$WORK"
		ip netns del "$H1"
		ip netns del "$R"
		kill "$SERVER"
		wait "$WORK" "$SERVER"
		undo
	done
}

has_src() {
	[ "$(bolt_stat "$H1" SrcRx)" -ge 50 ]
}

run_tests frozen owned_by_user switched closed all_at_once namespace_goes
