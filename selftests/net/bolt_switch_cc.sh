#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# TCP_CONGESTION changes the congestion control of a living connection between two hosts, from bolt,
# to bolt, and while data flows.  Every byte must arrive, packets carry the option only while bolt
# sends them, and a connection that has not negotiated it goes on with Reno.

. "$(dirname "$0")/lib.sh"

test_bolt_to_cubic() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$A2" 5001 recv 1000000 info recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 500000 outq info cc cubic send 500000 outq info
	server_done
	sniffed
	expect_eq "afterwards" "$(info "$tmp/client" cc)" cubic
	expect_eq "MSS is whole again" "$(info "$tmp/client" mss)" 1448
	expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
	expect_ge "data with the option" "$(packets eth0 'out tcp' 'len=[1-9].*bolt=full')" 100
	expect_eq "last data packet has none" \
		"$(grep -E 'out tcp.* len=[1-9]' "$tmp/sniff.eth0" | tail -1 | grep -c 'bolt=none')" 1
}

test_cubic_to_bolt() {
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 recv 1000000 recv-eof
	client "$H1" cc cubic connect "$A2" 5001 send 500000 outq cc bolt send 500000 outq info
	server_done
	expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
	expect_eq "not negotiated, so Reno" "$(info "$tmp/client" cc)" reno
	expect_eq "Fallback" "$(bolt_stat "$H1" Fallback)" 1
}

test_back_and_forth() {
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 recv 600000 send 600000 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 100000 cc cubic send 100000 cc bolt send 100000 \
		cc reno send 100000 cc bolt send 100000 cc cubic send 100000 recv 600000 info
	server_done
	expect_on_time "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

# The peer notices that the option is gone, and does not wait for it for ever: after 16 ACKs
# and an RTO without it
test_peer_falls_back() {
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	server "$H2" cc bolt listen "$A2" 5001 recv 1000 send 1000000 outq info recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 1000 outq cc cubic recv 1000000
	server_done
	expect_eq "FallbackLate" "$(bolt_stat "$H2" FallbackLate)" 1
	expect_eq "server's congestion control" "$(info "$tmp/server" cc)" reno
}

# flowing CC...: changed again and again while data flows, never waiting for it to be acknowledged
flowing() {
	local words="" cc
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 1ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 1ms limit 10000
	for cc; do
		words+=" cc $cc send 300000"
	done
	# shellcheck disable=SC2086 # words
	server "$H2" cc bolt listen "$A2" 5001 recv $((300000 + 300000 * $#)) send 300000 $words \
		outq info recv-eof
	# shellcheck disable=SC2086
	client "$H1" cc bolt connect "$A2" 5001 send 300000 $words \
		recv $((300000 + 300000 * $#)) outq info
	server_done
	expect_eq "client's timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
	expect_eq "server's timeouts" "$(stack "$H2" TcpExtTCPTimeouts)" 0
	expect_eq "checksum errors" "$(stack "$H1" TcpInCsumErrors)$(stack "$H2" TcpInCsumErrors)" 00
	expect_eq "OptBad" "$(bolt_stat "$H1" OptBad)$(bolt_stat "$H2" OptBad)" 00
}

# With their own pacing (bbr), their own state (vegas, dctcp), or none
test_while_data_flows() {
	flowing cubic bolt bbr bolt dctcp bolt vegas reno bbr cubic
	expect_eq "the last" "$(info "$tmp/client" cc)" cubic
	expect_eq "MSS is whole again" "$(info "$tmp/client" mss)" 1448
	expect_eq "Negotiated" "$(bolt_stat "$H1" Negotiated)" 1
}

# To itself: no change
test_bolt_to_bolt() {
	flowing bolt bolt
	expect_eq "still" "$(info "$tmp/client" cc)" bolt
	expect_eq "Fallback" "$(bolt_stat "$H1" Fallback)$(bolt_stat "$H1" FallbackLate)" 00
}

# One side only, while the other sends: that side's data, with the option, goes on
test_receiver_changes() {
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 recv 300000 cc cubic recv 300000 info recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 600000 outq info
	server_done
	expect_eq "receiver's" "$(info "$tmp/server" cc)" cubic
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

run_tests bolt_to_cubic cubic_to_bolt back_and_forth peer_falls_back while_data_flows \
	bolt_to_bolt receiver_changes
