#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The rules for nft in Documentation/tcp_bolt.rst, which set the DSCP of a packet by the level in
# its option.  They are taken from the page and loaded at one of two hosts, and each packet's DSCP
# is read on the wire, over IPv4 and IPv6, with ECN, in bursts, and with sockets that have a DSCP of
# their own.

. "$(dirname "$0")/lib.sh"

# transfer BURST ADDRESS [WORDS...]: H1, which has the rules, reads 100 bytes and sends two messages
transfer() {
	setup_pair
	[ "$1" != 1 ] || offload "$H1" eth0 off
	in_ns "$H1" ethtool -K eth0 tso off
	in_ns "$H1" sysctl -qw net.bolt.burst_segs="$1"
	sed -n '/^    nft add table inet bolt/,/^$/p' ../../Documentation/tcp_bolt.rst | in_ns "$H1" bash -e || fail "nft"
	in_ns "$H1" sysctl -qw net.ipv4.tcp_ecn=1
	in_ns "$H2" sysctl -qw net.ipv4.tcp_ecn=1
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$2" 5001 send 100 recv-eof
	client "$H1" cc bolt "${@:3}" connect "$2" 5001 recv 100 send 3000 outq send 1200000 outq
	# a pure ACK, whose rq_delay would do for a level
	in_ns "$H1" python3 -c 'import socket; socket.socket(2, 3, 6).sendto(bytes.fromhex("000900090000000000000000801000000d880000fe0cb0174000000000010005"), ("192.0.2.2", 0))'
	server_done
	sniffed
	expect_eq "bad checksums of IPv4" "$(stack "$H2" IpExtInCsumErrors)" 0
	expect_eq "bad checksums of TCP" "$(packets eth0 'csum=bad')" 0
}

# LEVEL:TOS of data, which can do ECN, and of the FIN
marks() {
	sed -nE '/ flags=[A-Z]*F| len=[1-9]/s/^out tcp .* tos=([0-9]+) .* rq=([0-9]+) .*/\2:\1/p' "$tmp/sniff.eth0"
}

test_levels() {
	local to
	for to in 192.0.2.2 2001:db8::2; do
		transfer 1 "$to"
		expect_eq "marks" "$(marks | sort -t: -n | uniq | tr '\n' ' ')" "1:184 1:186 12:186 13:186 14:186 15:186 16:186 17:186 18:138 19:138 20:106 21:106 22:6 "
		expect_eq "that ACK" "$(packets eth0 'out .* flags=A .* rq=5 .*csum=ok')" 1
		expect_eq "marks of ACKs, and the SYN" "$(packets eth0 'out tcp .*flags=[^F]* .*len=0' 'tos=[1-9]')" 0
		undo
	done
}

# A socket's own DSCP stays
test_own() {
	transfer 1 192.0.2.2 tos 32
	expect_eq "TOS" "$(marks | cut -d: -f2 | uniq | tr '\n' ' ')" "34 32 "
}

# All packets of a burst have the level of its first
test_bursts() {
	transfer 16 192.0.2.2
	expect_eq "TOS" "$(marks | cut -d: -f2 | uniq | tr '\n' ' ')" "186 138 106 6 184 "
	expect_ge "packets of the first burst" "$(marks | sed -n 4,5p | grep -c "^1:")" 2
}

run_tests levels own bursts
