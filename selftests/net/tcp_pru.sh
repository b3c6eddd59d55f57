#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Proactive ramp-up, the host's side: which packets say FIRST and which LAST (sections 3.2 and 4.2).

. "$(dirname "$0")/lib.sh"

MSS=1436
CWND=40

# A round trip of 10 ms, and a window that stays at CWND: it begins there, and more than the path
# holds (17 packets at 20 Mbit/s) it may not become
setup_window() {
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 initcwnd "$CWND"
	in_ns "$H1" sysctl -qw net.bolt.rate_mbps=20 net.bolt.debug.ai=0
	rm -f "$tmp/go"
	sniff "$H1" eth0
}

# flow "CLIENT'S WORDS" BYTES: BYTES to the server
flow() {
	server "$H2" cc bolt listen "$A2" 5001 recv "$2" send 1 recv-eof
	# shellcheck disable=SC2086 # words
	client "$H1" cc bolt sndbuf 2000000 connect "$A2" 5001 $1 recv 1 outq info
	server_done
	sniffed
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
	expect_eq "packets without the option" "$(packets eth0 'flags=[^S]' 'bolt=none')" 0
	sed -nE 's/^out tcp.* len=[1-9].* bflags=([A-Z]*) .*/\1/p' "$tmp/sniff.eth0" >"$tmp/flags"
}

# which FLAG: numbers of the data packets that carry it, as ranges: 1-40 101-140
which() {
	grep -n "$1" "$tmp/flags" | cut -d: -f1 | awk '
		!last || $1 != last + 1 { if (last) printf "%d-%d ", first, last; first = $1 }
		{ last = $1 }
		END { if (last) printf "%d-%d", first, last }'
}

segments() {
	echo $(($1 * MSS))
}

# The first window, and no packet more
test_first_window() {
	setup_window
	flow "send $(segments 200)" "$(segments 200)"
	expect_eq "window" "$(info "$tmp/client" cwnd)" "$CWND"
	expect_eq "data packets" "$(wc -l <"$tmp/flags")" 200
	expect_eq "FIRST" "$(which F)" "1-$CWND"
	expect_eq "FirstTx" "$(bolt_stat "$H1" FirstTx)" "$CWND"
}

# Silence of more than two round trips: a window of FIRST again
test_first_after_idle() {
	setup_window
	flow "send $(segments 100) outq pause 300 send $(segments 100)" "$(segments 200)"
	expect_eq "FIRST" "$(which F)" "1-$CWND 101-$((100 + CWND))"
}

# Silence of less is none
test_first_not_after_a_breath() {
	setup_window
	flow "send $(segments 100) outq pause 5 send $(segments 100)" "$(segments 200)"
	expect_eq "FIRST" "$(which F)" "1-$CWND"
}

# A message each round trip: the counter of bytes since the connection was idle decides, not where
# a message begins (section 4.2)
test_first_of_many_messages() {
	setup_window
	server "$H2" cc bolt listen "$A2" 5001 echo
	client "$H1" cc bolt connect "$A2" 5001 ping 100 "$MSS" shut recv-eof info
	server_done
	sniffed
	sed -nE 's/^out tcp.* len=[1-9].* bflags=([A-Z]*) .*/\1/p' "$tmp/sniff.eth0" >"$tmp/flags"
	expect_eq "FIRST" "$(which F)" "1-$CWND"
	expect_eq "FirstTx" "$(bolt_stat "$H1" FirstTx)" "$CWND"
}

# Messages with pauses: each begins anew
test_first_of_rare_messages() {
	setup_window
	flow "send $(segments 5) outq pause 100 send $(segments 5) outq pause 100 send $(segments 5)" \
		"$(segments 15)"
	expect_eq "FIRST" "$(which F)" "1-15"
}

# What is left fits in the window: the last CWND packets
test_last_window() {
	setup_window
	flow "send $(segments 200)" "$(segments 200)"
	expect_eq "LAST" "$(which L)" "$((201 - CWND))-200"
	expect_eq "LAST and INC" "$(grep -c 'L.*I' "$tmp/flags")" 0
	expect_eq "LastTx" "$(bolt_stat "$H1" LastTx)" "$CWND"
	expect_eq "LastFalse" "$(bolt_stat "$H1" LastFalse)" 0
}

# A flow of less than a window is FIRST and LAST at once, which tells the switch nothing
test_last_of_a_short_flow() {
	setup_window
	flow "send $(segments 10)" "$(segments 10)"
	expect_eq "FIRST" "$(which F)" "1-10"
	expect_ge "LAST at its end" "$(tail -1 "$tmp/flags" | grep -c L)" 1
	expect_none "INC" "$(which I)"
}

# A writer who is blocked for space has more to say.  (One write: between two, an empty queue looks
# like an end, and whether it is empty then is a matter of the kernel's memory accounting.)
test_last_not_when_blocked() {
	setup_window
	server "$H2" cc bolt listen "$A2" 5001 recv "$(segments 180)" send 1 recv-eof
	client "$H1" cc bolt sndbuf 30000 connect "$A2" 5001 send "$(segments 180)" recv 1 outq info
	server_done
	sniffed
	sed -nE 's/^out tcp.* len=[1-9].* bflags=([A-Z]*) .*/\1/p' "$tmp/sniff.eth0" >"$tmp/flags"
	expect_eq "LAST before the last window" "$(head -n "-$CWND" "$tmp/flags" | grep -c L)" 0
	expect_ge "LAST in it" "$(tail -n "$CWND" "$tmp/flags" | grep -c L)" 1
	expect_eq "LastFalse" "$(bolt_stat "$H1" LastFalse)" 0
}

# MSG_MORE and TCP_CORK announce more
test_last_not_with_more() {
	setup_window
	flow "more $(segments 30) pause 50 more $(segments 30) pause 50 send $(segments 10)" \
		"$(segments 70)"
	expect_eq "LAST" "$(head -n 58 "$tmp/flags" | grep -c L)" 0
	expect_ge "LAST at the end" "$(tail -n 5 "$tmp/flags" | grep -c L)" 1
	expect_eq "LastFalse" "$(bolt_stat "$H1" LastFalse)" 0
}

test_last_not_when_corked() {
	setup_window
	flow "cork 1 send $(segments 30) pause 50 send $(segments 30) pause 50 cork 0 send 100" \
		"$(($(segments 60) + 100))"
	expect_eq "LAST" "$(head -n 60 "$tmp/flags" | grep -c L)" 0
	expect_eq "LastFalse" "$(bolt_stat "$H1" LastFalse)" 0
}

# Wrong guesses are counted: the second write comes when the last window of the first is half out
test_last_false_counted() {
	setup_window
	flow "send $(segments 100) pause 200 send $(segments 100)" "$(segments 200)"
	expect_eq "LAST" "$(which L)" "$((101 - CWND))-100 $((201 - CWND))-200"
	expect_eq "LastFalse of a flow that was idle" "$(bolt_stat "$H1" LastFalse)" 0
	undo
	setup_window
	flow "send $(segments 100) pause 50 send $(segments 100)" "$(segments 200)"
	expect_eq "LastFalse of a flow that went on" "$(bolt_stat "$H1" LastFalse)" 1
}

run_tests first_window first_after_idle first_not_after_a_breath first_of_many_messages \
	first_of_rare_messages last_window last_of_a_short_flow last_not_when_blocked \
	last_not_with_more last_not_when_corked last_false_counted
