#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# CE marks above a threshold (ecn).  Crafted packets meet a router's port so slow that nothing
# leaves in between, so every count is exact: packet k meets k - 2 packets of 1514 bytes.  Only
# packets that can do ECN may be marked, and ACKs never.

. "$(dirname "$0")/lib.sh"

# port OPTIONS...: sfc at R towards H2
port() {
	setup_router
	addr "$H1" eth0 192.0.2.7/24 2001:db8:1::7/64
	ip -n "$H2" route add blackhole 192.0.2.7/32
	ip -n "$H2" -6 route add blackhole 2001:db8:1::7/128
	expect "sfc $*" in_ns "$R" tc qdisc add dev r2 root sfc nobolt rate 1mbit "$@"
	sniff "$H2" eth0
}

drained() {
	expect "all leave" busywait qdisc_is "$R" r2 qlen 0
	sniffed
	counters "$R" r2 backlog=0 drop_data=0 mark_failed=0
	expect_eq "checksums" "$(packets eth0 'in tcp')" "$(packets eth0 'in tcp' 'csum=ok')"
}

v4() {
	inject "$H1" 192.0.2.7 "$A2" "$@" bflags=none len=1460
}

# tos TOS: packets that arrived with it
tos() {
	packets eth0 'in tcp' " tos=$1 "
}

# 1 to 4 meet two packets at most, 5 to 10 more
test_ect0() {
	port ecn 3028b
	v4 n=10 tos=2
	drained
	counters "$R" r2 ecn_marked=6
	expect_eq "CE" "$(tos 3)" 6
	expect_eq "capable (0)" "$(tos 2)" 4
	# the header's checksum follows
	expect_eq "bad headers" "$(stack "$H2" IpInHdrErrors)" 0
	expect_eq "taken in" "$(packets eth0 'in tcp')" 10
}

test_threshold_is_exact() {
	port ecn 3027b
	v4 n=10 tos=2
	drained
	counters "$R" r2 ecn_marked=7
}

# DSCP stays, the other code point is as good
test_ect1_dscp() {
	port ecn 3028b
	v4 n=10 tos=185
	drained
	counters "$R" r2 ecn_marked=6
	expect_eq "CE" "$(tos 187)" 6
}

# Not capable: left alone.  CE from elsewhere: passed on, not counted
test_not_ect() {
	port ecn 3028b
	v4 n=10
	v4 n=10 tos=3
	drained
	counters "$R" r2 ecn_marked=0
	expect_eq "not capable" "$(tos 0)" 10
	expect_eq "CE before" "$(tos 3)" 10
}

test_ipv6() {
	port ecn 3028b
	inject "$H1" 2001:db8:1::7 "$B2" n=10 tos=2 bflags=none len=1440
	drained
	counters "$R" r2 ecn_marked=6
	expect_eq "CE" "$(tos 3)" 6
}

# ACKs do not wait in the queue that is marked
test_acks() {
	port ecn 3028b
	v4 n=6 tos=2
	v4 n=4 len=0 tos=2 seq=900000
	drained
	counters "$R" r2 ecn_marked=2 high=4
	expect_eq "ACKs" "$(packets eth0 'in tcp' ' len=0 tos=2 ')" 4
}

test_off() {
	port ecn off
	v4 n=10 tos=2
	drained
	counters "$R" r2 ecn_marked=0
	expect_eq "as sent" "$(tos 2)" 10
}

run_tests ect0 threshold_is_exact ect1_dscp not_ect ipv6 acks off
