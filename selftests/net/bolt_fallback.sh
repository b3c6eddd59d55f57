#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A connection whose peer does not offer or accept the option runs the congestion control that
# net.bolt.fallback names, between two hosts of which one lacks bolt.  It must be that one at once,
# on both ends, and such a connection must not keep the module loaded.
#
#	H1 eth0 ----------- eth0 H2

. "$(dirname "$0")/lib.sh"

# fallback NS [NAME]: the setting, read or set
fallback() {
	if [ $# = 2 ]; then
		in_ns "$1" sysctl -qw "net.bolt.fallback=$2"
	else
		in_ns "$1" sysctl -n net.bolt.fallback
	fi
}

# The peer has no Bolt; the client is asked what it has become, while nothing else holds the module
becomes() {
	setup_pair
	expect "set" fallback "$H1" "$1"
	rm -f "$tmp/up" "$tmp/seen"
	server "$H2" cc cubic listen "$A2" 5001 recv 300000 send 100000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 5001 \
		send 100000 outq mark "$tmp/up" wait "$tmp/seen" send 200000 recv 100000 info
	expect "connection" busywait test -e "$tmp/up"
	expect_eq "references on tcp_bolt" "$(cat /sys/module/tcp_bolt/refcnt)" "$2"
	touch "$tmp/seen"
	ended client "$CLIENT"
	server_done
	expect_eq "congestion control" "$(info "$tmp/client" cc)" "$3"
	expect_eq "Fallback" "$(bolt_stat "$H1" Fallback)" 1
}

test_default() {
	local ns="fallback-$RANDOM"
	ip netns add "$ns"
	defer ip netns del "$ns"
	expect_eq "default" "$(fallback "$ns")" cubic
}

test_cubic() {
	becomes cubic 0 cubic
}

# It paces itself
test_bbr() {
	becomes bbr 0 bbr
}

test_reno() {
	becomes reno 0 reno
}

test_server() {
	setup_pair
	expect "set" fallback "$H2" vegas
	server "$H2" cc bolt listen "$A2" 5001 recv 100000 send 100000 outq info recv-eof
	client "$H1" cc cubic connect "$A2" 5001 send 100000 recv 100000
	server_done
	expect_eq "congestion control" "$(info "$tmp/server" cc)" vegas
}

# first_flight CC ADDRESS: the largest packet before anything is acknowledged
first_flight() {
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	sniff "$H1" eth0
	server "$H2" cc cubic listen "$2" 5001 recv 100000 recv-eof
	client "$H1" cc "$1" connect "$2" 5001 send 100000 outq
	server_done
	sniffed
	largest=$(awk '
		/^in tcp / && max { exit }
		/^out tcp .* len=[1-9]/ { sub(/.* len=/, ""); if ($1 + 0 > max) max = $1 + 0 }
		END { print max }' "$tmp/sniff.eth0")
}

# The client's bursts are as large as TCP's pacing rate makes them, from the first one
test_first_flight() {
	local addr largest reno
	for addr in 192.0.2.2 2001:db8::2; do
		first_flight reno "$addr"
		reno=$largest
		first_flight bolt "$addr"
		expect_eq "Fallback" "$(bolt_stat "$H1" Fallback)" 1
		expect_eq "largest packet to $addr" "$largest" "$reno"
	done
}

# The option is gone in mid-flow
test_late() {
	setup_pair
	expect "set" fallback "$H2" cubic
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	server "$H2" cc bolt listen "$A2" 5001 recv 1000 send 1000000 outq info recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 1000 outq cc reno recv 1000000
	server_done
	expect_eq "FallbackLate" "$(bolt_stat "$H2" FallbackLate)" 1
	expect_eq "congestion control" "$(info "$tmp/server" cc)" cubic
}

# What the program chooses after that stays
test_chosen() {
	setup_pair
	expect "set" fallback "$H1" cubic
	server "$H2" cc cubic listen "$A2" 5001 recv 100000 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 cc vegas send 100000 outq info
	server_done
	expect_eq "congestion control" "$(info "$tmp/client" cc)" vegas
}

# Connections that come and go while the setting does
test_changes() {
	setup_pair
	server "$H2" cc cubic listen "$A2" 5001 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 5001 send 1000000
	for _ in 1 2 3 4 5 6 7 8; do
		fallback "$H1" vegas
		fallback "$H1" cubic
		in_ns "$H1" timeout 1 "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 9 2>/dev/null
	done
	ended client "$CLIENT"
	server_done
	expect_eq "setting" "$(fallback "$H1")" cubic
}

test_refused() {
	setup_ns H1 H2
	expect "set" fallback "$H1" cubic
	# ours, and what wants a network for ECN
	sysctl_refuses "$H1" net.bolt.fallback bolt swift dctcp
	expect_fail "what nobody has" 'No such file' fallback "$H1" no_such_cc
	expect_eq "afterwards" "$(fallback "$H1")" cubic
	expect_eq "elsewhere" "$(fallback "$H2")" reno
}

run_tests default cubic bbr reno server first_flight late chosen changes refused
