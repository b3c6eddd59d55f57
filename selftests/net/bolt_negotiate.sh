#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two hosts negotiate the option in the handshake, over IPv4, IPv6 and IPv4 mapped into IPv6, and
# each packet of the connection carries it as Documentation/wire-format.rst says.  A connection that
# is signed with MD5 has no room for it, and carries none.

. "$(dirname "$0")/lib.sh"

# both ADDR: bolt on both sides; 200 bytes there, 100 back
both() {
	setup_pair
	bolt_stats_save "$H1"
	bolt_stats_save "$H2"
	server "$H2" cc bolt listen "$1" 5001 recv 200 send 100 info recv-eof
	client "$H1" cc bolt connect "$1" 5001 send 200 recv 100 info
	server_done
	for counter in SynTx SynAckRx Negotiated; do
		expect_eq "client $counter" "$(bolt_stat "$H1" "$counter")" 1
	done
	for counter in SynRx SynAckTx Negotiated; do
		expect_eq "server $counter" "$(bolt_stat "$H2" "$counter")" 1
	done
	for ns in "$H1" "$H2"; do
		for counter in Fallback FallbackLate OptBad OptUnexpected OptNoRoom OptNoMtu; do
			expect_eq "$ns $counter" "$(bolt_stat "$ns" "$counter")" 0
		done
	done
	expect_eq "client's congestion control" "$(info "$tmp/client" cc)" bolt
	expect_eq "server's congestion control" "$(info "$tmp/server" cc)" bolt
	expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
}

test_ipv4() {
	both 192.0.2.2
}

test_ipv6() {
	both 2001:db8::2
}

# SYN and SYN-ACK carry four bytes, all else twelve; lengths and places as in the uapi header
test_on_the_wire() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt listen 192.0.2.2 5001 recv 3000 send 100 recv-eof
	client "$H1" cc bolt connect 192.0.2.2 5001 send 3000 recv 100
	server_done
	sniffed
	expect_eq "SYN" "$(packets eth0 'flags=S ' 'bolt=syn')" 1
	expect_eq "SYN-ACK" "$(packets eth0 'flags=SA ' 'bolt=syn')" 1
	expect_eq "other packets without it" "$(packets eth0 'tcp.*flags=[^S]' 'bolt=(none|syn|bad)')" 0
	expect_ge "data with DATA, ACK and a departure time" \
		"$(packets eth0 'out tcp' 'len=[1-9].* bflags=DA[A-Z]* .*tx=[1-9]')" 2
	expect_eq "data with DATA and ACK" "$(packets eth0 ' len=[1-9].* bflags=DA')" \
		"$(packets eth0 ' len=[1-9]')"
	expect_ge "pure ACKs with ACK and an echo" \
		"$(packets eth0 'in tcp' ' len=0 .* bflags=A[C]* .*tx=[1-9]')" 2
	expect_eq "pure ACKs with FIRST, LAST or INC" "$(packets eth0 ' len=0 .* bflags=[A-Z]*[LFI]')" 0
	expect_eq "SRC or reserved bit set" "$(packets eth0 ' bflags=[A-Z]*[SR]')" 0
	expect_eq "data without a level" "$(packets eth0 ' len=[1-9]' 'rq=(0|[0-9]{3,}) ')" 0
	expect_eq "bytes of the option" "$(packets eth0 'bolt=full' 'raw=fe0cb017')" \
		"$(packets eth0 'bolt=full')"
}

# An IPv4 client of a dual-stack listener
test_mapped() {
	setup_pair
	server "$H2" cc bolt listen :: 5001 recv 3000 send 3000 recv-eof
	client "$H1" cc bolt connect 192.0.2.2 5001 send 3000 recv 3000
	server_done
	expect_eq "client Negotiated" "$(bolt_stat "$H1" Negotiated)" 1
	expect_eq "server Negotiated" "$(bolt_stat "$H2" Negotiated)" 1
}

# ... with IPv6 options, whose length TCP stores where the module adds the option's
test_mapped_options() {
	setup_pair
	server "$H2" cc bolt listen :: 5001 recv-eof
	expect_ge "MSS after bolt" "$(in_ns "$H1" python3 -c '
import socket
s = socket.socket(socket.AF_INET6)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bolt")
s.connect(("::ffff:192.0.2.2", 5001))
s.setsockopt(socket.IPPROTO_IPV6, 59, bytes((0, 0, 1, 4, 0, 0, 0, 0)))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG))')" 1000
	server_done
}

# default_becomes CC: after the listener was opened under another
default_becomes() {
	server "$H2" listen "$A2" 5001 recv 200 recv-eof
	in_ns "$H2" sysctl -qw "net.ipv4.tcp_congestion_control=$1"
	client "$H1" cc bolt connect "$A2" 5001 send 200
	server_done
}

# What counts is what the connection gets, not what was the default when the listener was opened
test_default_changed() {
	setup_pair
	default_becomes bolt
	expect_eq "client Negotiated" "$(bolt_stat "$H1" Negotiated)" 1
	expect_eq "server Negotiated" "$(bolt_stat "$H2" Negotiated)" 1
	default_becomes reno
	expect_eq "accepted" "$(bolt_stat "$H2" SynAckTx)" 1
	expect_eq "client Fallback" "$(bolt_stat "$H1" Fallback)" 1
}

# Signed before the hook sees the packet: nothing may be added (RFC 2385)
test_md5_carries_none() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt md5 192.0.2.1 secret listen 192.0.2.2 5001 recv 5000 send 5000 recv-eof
	client "$H1" cc bolt md5 192.0.2.2 secret connect 192.0.2.2 5001 send 5000 recv 5000
	server_done
	sniffed
	expect_ge "signed packets" "$(packets eth0 'opts=.*19/18')" 6
	expect_eq "packets with the option" "$(packets eth0 'bolt=(syn|full)')" 0
	expect_eq "client Negotiated" "$(bolt_stat "$H1" Negotiated)" 0
	expect_eq "client Fallback" "$(bolt_stat "$H1" Fallback)" 1
}

run_tests ipv4 ipv6 on_the_wire mapped mapped_options default_changed md5_carries_none
