#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# A middlebox between two hosts takes the option away, puts it where it does not belong, changes it,
# or cuts segments anew.  What is written must arrive all the same, nothing may be sent twice or
# wait for a timeout, and both ends must count what became of the connection.  A failure here breaks
# or delays connections behind such a middlebox.

. "$(dirname "$0")/lib.sh"

BYTES=1000000

#	H1 eth0 ----- r1  R (bolt_mbox) r2 ----- eth0 H2	1 Gb/s, 200 us there and back
#	   192.0.2.1				 192.0.2.2
#	   2001:db8::1				 2001:db8::2
# setup_mbox RULE...
setup_mbox() {
	local ns peer
	setup_ns H1 R H2
	ip link add name eth0 netns "$H1" type veth peer name r1 netns "$R"
	ip link add name r2 netns "$R" type veth peer name eth0 netns "$H2"
	in_ns "$R" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	ips "$R" <<-BATCH
		link set r1 mtu 9000 up
		link set r2 mtu 9000 up
	BATCH
	# no frame may be larger than what a wire carries, and the checksum has to be there
	offload "$H1" eth0 off
	offload "$H2" eth0 off
	addr "$H1" eth0 192.0.2.1/24 2001:db8::1/64
	addr "$H2" eth0 192.0.2.2/24 2001:db8::2/64
	A2=192.0.2.2 B2=2001:db8::2
	spawn MBOX "$tmp/mbox" in_ns "$R" "$BOLT_PROGRAMS/bolt_mbox" r1 r2 "$@"
	busywait file_has "$tmp/mbox" ready || fail "bolt_mbox: $(cat "$tmp/mbox")"
	wait_up
	for ns in "$H1" "$H2"; do
		# the option is given up an RTO after it was last seen
		peer=2
		[ "$ns" = "$H1" ] || peer=1
		ips "$ns" <<-BATCH
			route add 192.0.2.$peer dev eth0 rto_min 5ms
			route add 2001:db8::$peer dev eth0 rto_min 5ms
		BATCH
		in_ns "$ns" tc qdisc add dev eth0 root netem limit 10000 delay 100us rate 1gbit
	done
}

# What the middlebox has done
mbox() {
	sed -n "s/^done .*\\b$1=\\([0-9]*\\).*/\\1/p" "$tmp/mbox"
}

# BYTES up, then as many down; the virtual time it took in $took_us
both_ways() {
	local cc=${SERVER_CC:-bolt} begin
	server "$H2" cc "$cc" listen "${1:-$A2}" 5001 recv "$BYTES" send "$BYTES" recv-eof info
	begin=${EPOCHREALTIME/./}
	client "$H1" cc bolt connect "${1:-$A2}" 5001 send "$BYTES" recv "$BYTES" info
	took_us=$((${EPOCHREALTIME/./} - begin))
	server_done
	kill -TERM "$MBOX"
	wait "$MBOX" || fail "bolt_mbox: $(cat "$tmp/mbox")"
	say "${FUNCNAME[1]}: $took_us us, $(tail -1 "$tmp/mbox")"
}

# ends CLIENT SERVER: by which congestion control each end was driven at the end
ends() {
	expect_eq "client" "$(info "$tmp/client" cc)" "$1"
	expect_eq "server" "$(info "$tmp/server" cc)" "$2"
}

# whole CHANGED: it has changed so much at least; the rest of the network did not notice
whole() {
	local ns who
	expect_ge "changed" "$(mbox changed)" "$1"
	expect_eq "refused" "$(mbox refused)" 0
	expect_eq "bad checksums there" "$(mbox bad)" 0
	for ns in "$H1" "$H2"; do
		expect_eq "$ns checksum errors" "$(stack "$ns" TcpInCsumErrors)" 0
		expect_eq "$ns timeouts" "$(stack "$ns" TcpExtTCPTimeouts)" 0
		expect_eq "$ns OptBad" "$(bolt_stat "$ns" OptBad)" 0
	done
	for who in client server; do
		expect_eq "$who's retransmissions" "$(info "$tmp/$who" retrans)" 0
	done
	# at the link's rate, and as much again as an RTO that is waited for takes
	expect_le "time, us" "$took_us" $((BYTES * 17 / 1000 + 5000))
}

# fell_back H1 H2: connections that did so at the handshake, in each namespace
fell_back() {
	expect_eq "H1 Fallback" "$(bolt_stat "$H1" Fallback)" "$1"
	expect_eq "H2 Fallback" "$(bolt_stat "$H2" Fallback)" "$2"
}

late() {
	expect_eq "H1 FallbackLate" "$(bolt_stat "$H1" FallbackLate)" "$1"
	expect_eq "H2 FallbackLate" "$(bolt_stat "$H2" FallbackLate)" "$2"
}

test_nothing() {
	setup_mbox
	both_ways
	whole 0
	ends bolt bolt
	fell_back 0 0
}

test_nothing_ipv6() {
	setup_mbox
	both_ways "$B2"
	whole 0
	ends bolt bolt
	fell_back 0 0
}

test_strip_syn() {
	setup_mbox strip-syn
	both_ways
	whole 1
	ends reno reno
	fell_back 1 1
	late 0 0
	expect_eq "SynTx" "$(bolt_stat "$H1" SynTx)" 1
	expect_eq "SynRx" "$(bolt_stat "$H2" SynRx)" 0
}

# The server has accepted; it learns better from the third packet
test_strip_synack() {
	setup_mbox strip-synack
	both_ways
	whole 1
	ends reno reno
	fell_back 1 1
	late 0 0
	expect_eq "SynAckTx" "$(bolt_stat "$H2" SynAckTx)" 1
	expect_eq "SynAckRx" "$(bolt_stat "$H1" SynAckRx)" 0
}

test_strip_all() {
	setup_mbox strip
	both_ways "$B2"
	whole 1
	ends reno reno
	fell_back 1 1
}

# Each end notices when it sends: ACKs of its data lack the option
test_strip_all_but_handshake() {
	setup_mbox strip-data strip-ack
	both_ways
	whole 50
	ends reno reno
	late 1 0
	fell_back 1 1
	# the third packet came without it
	expect_eq "H2 Negotiated" "$(bolt_stat "$H2" Negotiated)" 0
}

test_strip_data() {
	setup_mbox strip-data
	both_ways
	whole 500
	ends bolt bolt
	late 0 0
}

test_strip_acks() {
	setup_mbox strip-ack down
	both_ways
	whole 50
	expect_eq "H1 FallbackLate" "$(bolt_stat "$H1" FallbackLate)" 1
	expect_eq "client" "$(info "$tmp/client" cc)" reno
}

# In mid-connection, for both ends
test_strip_later() {
	local BYTES=2000000
	setup_mbox strip-data after 100 strip-ack after 100
	both_ways
	whole 500
	late 1 1
	ends reno reno
}

# The offer comes back from a server that knows nothing of it
test_echoed_offer() {
	SERVER_CC=cubic
	setup_mbox echo-syn
	both_ways
	unset SERVER_CC
	whole 1
	ends reno cubic
	late 1 0
	expect_eq "SynAckRx" "$(bolt_stat "$H1" SynAckRx)" 1
	fell_back 1 0
	expect_ge "H2 OptUnexpected" "$(bolt_stat "$H2" OptUnexpected)" 1
}

# Data carries the ACKs' option and the other way round
test_reflected() {
	setup_mbox reflect
	both_ways
	whole 500
}

test_stale() {
	setup_mbox stale
	both_ways
	whole 500
}

test_swapped() {
	setup_mbox swap
	both_ways
	whole 500
	ends bolt bolt
}

# Every flag the contrary of what it was, and each of them alone
test_flags() {
	local bit
	for bit in ff 80 40 20 10 08 04 02 01; do
		setup_mbox flags "$bit"
		both_ways
		say "flags $bit: $(info "$tmp/client" cc) $(info "$tmp/server" cc)"
		whole 1000
		undo
	done
}

# Each part carries the option: one INC is counted several times, and cwnd has its bound
test_split() {
	setup_mbox split 500
	both_ways
	whole 500
	ends bolt bolt
	late 0 0
	# 10 Gb/s (setup_ns), 200 us and net.bolt.debug.max_bdp_pct
	expect_le "H1 cwnd" "$(info "$tmp/client" cwnd)" 230
}

# What leaves there is larger than what came
test_merge() {
	setup_mbox merge
	ips "$H1" <<-BATCH
		link set eth0 mtu 9000
		route change 192.0.2.2 dev eth0 rto_min 5ms advmss 1460
	BATCH
	ips "$H2" <<-BATCH
		link set eth0 mtu 9000
		route change 192.0.2.1 dev eth0 rto_min 5ms advmss 1460
	BATCH
	both_ways
	whole 50
	ends bolt bolt
	late 0 0
}

run_tests nothing nothing_ipv6 strip_syn strip_synack strip_all strip_all_but_handshake strip_data \
	strip_acks strip_later echoed_offer reflected stale swapped flags split merge
