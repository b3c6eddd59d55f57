#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is written arrives byte for byte between two hosts, over IPv4 and IPv6, whatever the devices
# segment and merge (TSO, GSO, GRO, checksum offload) and whatever their MTU.  Each segment on the
# wire carries the option and a correct checksum.

. "$(dirname "$0")/lib.sh"

BYTES=4000000
SUPER='iplen=([2-9][0-9]{3}|[0-9]{5})'

# both_ways ADDR: BYTES in each direction, one after the other
both_ways() {
	server "$H2" cc bolt listen "$1" 5001 recv "$BYTES" send "$BYTES" recv-eof info
	client "$H1" cc bolt connect "$1" 5001 send "$BYTES" recv "$BYTES" info
	server_done
	for ns in "$H1" "$H2"; do
		expect_eq "$ns Negotiated" "$(bolt_stat "$ns" Negotiated)" 1
		expect_eq "$ns checksum errors" "$(stack "$ns" TcpInCsumErrors)" 0
		expect_on_time "$ns TcpExtTCPTimeouts" "$(stack "$ns" TcpExtTCPTimeouts)" 0
		for counter in FallbackLate OptBad OptUnexpected OptNoMtu OptNoMem; do
			expect_eq "$ns $counter" "$(bolt_stat "$ns" "$counter")" 0
		done
	done
	expect_on_time "client's retransmissions" "$(info "$tmp/client" retrans)" 0
	expect_on_time "server's retransmissions" "$(info "$tmp/server" retrans)" 0
	expect_arrived
}

bursts() {
	in_ns "$H1" sysctl -qw net.bolt.burst_segs="$1"
	in_ns "$H2" sysctl -qw net.bolt.burst_segs="$1"
}

test_ipv4_offloads() {
	setup_pair
	both_ways "$A2"
}

test_ipv6_offloads() {
	setup_pair
	both_ways "$B2"
}

test_ipv4_no_offloads() {
	setup_pair
	offload "$H1" eth0 off
	offload "$H2" eth0 off
	both_ways "$A2"
}

test_ipv6_no_offloads() {
	setup_pair
	offload "$H1" eth0 off
	offload "$H2" eth0 off
	both_ways "$B2"
}

# predicted ADDR: the option costs nobody TCP's fast path (nobody captures here).  With it in the
# header not one ACK would be predicted; without GRO, TCP sees each.  In the lab, where work takes no time,
# 2010 (Linux 6.1) to 2800 (7.3) are; ACKs that bring another window are not, and how many do is up to when
# the reader reads.
# Elsewhere ACKs merge while the reader is at work, and each brings another window: one.
predicted() {
	local ns n least=1500
	[ -z "${BOLT_REAL_TIME:-}" ] || least=1
	setup_pair
	in_ns "$H1" ethtool -K eth0 gro off
	in_ns "$H2" ethtool -K eth0 gro off
	both_ways "$1"
	for ns in "$H1" "$H2"; do
		n=$(stack "$ns" TcpExtTCPHPAcks)
		say "$ns: $n ACKs predicted"
		expect_ge "$ns: ACKs predicted" "$n" "$least"
	done
}

test_predicted_ipv4() {
	predicted 192.0.2.2
}

test_predicted_ipv6() {
	predicted 2001:db8::2
}

# super_packets ADDR: TSO bursts carry the option once
super_packets() {
	setup_pair
	bursts 44
	sniff "$H1" eth0
	both_ways "$1"
	sniffed
	expect_ge "super-packets" "$(packets eth0 "$SUPER")" 10
	expect_eq "super-packets without the option" "$(packets eth0 "$SUPER" 'bolt=none')" 0
}

test_super_packets_ipv4() {
	super_packets 192.0.2.2
}

test_super_packets_ipv6() {
	super_packets 2001:db8::2
}

# segmented ADDR MSS: in software, so that the option and the checksum of each segment show
segmented() {
	setup_pair
	bursts 44
	in_ns "$H1" ethtool -K eth0 tso off gso off tx off >/dev/null
	in_ns "$H2" ethtool -K eth0 gro off tso off tx off >/dev/null
	sniff "$H2" eth0
	both_ways "$1"
	sniffed
	expect_eq "bad checksums" "$(packets eth0 'csum=bad')" 0
	expect_ge "good checksums" "$(packets eth0 'in tcp' "len=$2 .*csum=ok")" 2700
	expect_eq "full segments without the option" "$(packets eth0 "len=$2 .*bolt=none")" 0
	expect_eq "packets beyond the MTU" "$(packets eth0 'iplen=(150[1-9]|15[1-9][0-9]|1[6-9][0-9]{2}|[2-9][0-9]{3}|[0-9]{5})')" 0
}

# 1500 - 20 (40) - 20 - 12 of timestamps - 12 of ours
test_segmented_ipv4() {
	segmented 192.0.2.2 1436
}

test_segmented_ipv6() {
	segmented 2001:db8::2 1416
}

# The receiver merges what is equal, and counts INC by segments.  A veth that merges has a ring of
# 256 packets and drops what finds it full, so no more than that may be in flight while its CPU is away.
test_gro() {
	setup_pair
	in_ns "$H2" sysctl -qw net.ipv4.tcp_rmem="4096 131072 262144"
	bursts 16
	in_ns "$H1" ethtool -K eth0 tso off gso on >/dev/null
	in_ns "$H2" ethtool -K eth0 gro on >/dev/null
	both_ways 192.0.2.2
	expect_ge "segments received with the option" "$(bolt_stat "$H2" OptRx)" 2700
}

# 9000-byte packets, and a small one
test_mtu() {
	local mtu
	for mtu in 9000 600; do
		setup_pair
		ip -n "$H1" link set eth0 mtu "$mtu"
		ip -n "$H2" link set eth0 mtu "$mtu"
		server "$H2" cc bolt listen 192.0.2.2 5001 recv 300000 recv-eof info
		client "$H1" cc bolt connect 192.0.2.2 5001 send 300000 outq info
		server_done
		expect_arrived
		expect_on_time "retransmissions at $mtu" "$(info "$tmp/client" retrans)" 0
		expect_eq "mss at $mtu" "$(info "$tmp/client" mss)" $((mtu - 64))
		undo
	done
}

# Many small writes both ways at once: data rides on data
test_ping_pong() {
	setup_pair
	server "$H2" cc bolt listen 192.0.2.2 5001 echo info
	client "$H1" cc bolt connect 192.0.2.2 5001 ping 200 100 ping 20 20000 shut recv-eof info
	server_done
	expect_arrived
	expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
}

run_tests ipv4_offloads ipv6_offloads ipv4_no_offloads ipv6_no_offloads \
	predicted_ipv4 predicted_ipv6 \
	super_packets_ipv4 super_packets_ipv6 segmented_ipv4 segmented_ipv6 gro mtu ping_pong
