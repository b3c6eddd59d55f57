#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A namespace's first pause begins and its last one ends, again and again, while cubic and bbr send.
# What is made for a pause must be gone with it, and their packets must pass either way: nothing may
# be remembered at the end, and no packet may wait for a timeout.  Time is virtual and nothing
# races; smp_pause.sh has the races.
#
#	H1 (cubic, bbr, both paused) ---- R (sends the BTS) ---- H2 (its ACKs take 5 ms)

. "$(dirname "$0")/lib.sh"

# A million in `make check-long`
TIMES=${BOLT_TOGGLES:-20000}
# Behind a pause of 50 us and an interval of the watchdog, the work comes within three ticks (HZ is 100)
WAIT_US=35000

# toggle TIMES US
toggle() {
	expect "toggle" in_ns "$H1" "$BOLT_PROGRAMS/bolt_toggle" "$A2" 5001 "$A1" \
		"$(in_ns "$H1" sysctl -n net.bolt.port)" by "$R" times "$1" wait "$2" cubic bbr
}

test_toggled() {
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1 net.bolt.watchdog_interval_us=1000 \
		net.bolt.watchdog_pct=100
	in_ns "$H2" tc qdisc add dev eth0 root netem delay 5ms
	spawn SERVER "$tmp/server" in_ns "$H2" "$BOLT_PROGRAMS/bolt_toggle" serve "$A2" 5001
	busywait file_has "$tmp/server" listening || fail "server: $(cat "$tmp/server")"
	toggle 1 1000
	expect_eq "remembered" "$(bolt_stat "$H1" PausesNow)" 1
	expect_eq "remembered by another namespace" "$(bolt_stat "$H2" PausesNow)" 0
	sleep "0.0$((WAIT_US - 1000))"
	expect_eq "remembered later" "$(bolt_stat "$H1" PausesNow)" 0
	toggle "$TIMES" "$WAIT_US"
	expect_eq "remembered at the end" "$(bolt_stat "$H1" PausesNow)" 0
	expect_eq "Pauses" "$(bolt_stat "$H1" Pauses)" $((TIMES + 1))
	expect_eq "CtlRx" "$(bolt_stat "$H1" CtlRx)" $((TIMES + 1))
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

run_tests toggled
