#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The option is offered and accepted in the handshake, and a connection whose peer does
# not take part works as Reno would, and says so.

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

# fallback CLIENT SERVER: congestion controls, one of them bolt
fallback() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc "$2" listen 192.0.2.2 5001 recv 100000 send 100000 info recv-eof
	client "$H1" cc "$1" connect 192.0.2.2 5001 send 100000 recv 100000 info
	server_done
	sniffed
	expect_eq "full options" "$(packets eth0 'bolt=full')" 0
	expect_eq "SYN-ACKs with it" "$(packets eth0 'flags=SA' 'bolt=syn')" 0
	expect_eq "client Negotiated" "$(bolt_stat "$H1" Negotiated)" 0
	expect_eq "server Negotiated" "$(bolt_stat "$H2" Negotiated)" 0
	expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
}

test_client_only() {
	fallback bolt cubic
	expect_eq "client Fallback" "$(bolt_stat "$H1" Fallback)" 1
	expect_eq "client SynTx" "$(bolt_stat "$H1" SynTx)" 1
	expect_eq "server SynRx" "$(bolt_stat "$H2" SynRx)" 1
	expect_eq "server SynAckTx" "$(bolt_stat "$H2" SynAckTx)" 0
	expect_eq "server Fallback" "$(bolt_stat "$H2" Fallback)" 0
	expect_eq "client's congestion control" "$(info "$tmp/client" cc)" reno
}

test_server_only() {
	fallback cubic bolt
	expect_eq "server Fallback" "$(bolt_stat "$H2" Fallback)" 1
	expect_eq "server SynRx" "$(bolt_stat "$H2" SynRx)" 0
	expect_eq "client SynTx" "$(bolt_stat "$H1" SynTx)" 0
	expect_eq "server's congestion control" "$(info "$tmp/server" cc)" reno
}

# No state for half-open connections, so a cookie is enough
cookies() {
	setup_pair
	in_ns "$H2" sysctl -qw net.ipv4.tcp_syncookies=2
	server "$H2" cc bolt listen "$1" 5001 recv 3000 send 3000 recv-eof
	client "$H1" cc bolt connect "$1" 5001 send 3000 recv 3000
	server_done
	expect_ge "cookies sent" "$(stack "$H2" TcpExtSyncookiesSent)" 1
	expect_eq "client Negotiated" "$(bolt_stat "$H1" Negotiated)" 1
	expect_eq "server Negotiated" "$(bolt_stat "$H2" Negotiated)" 1
}

test_cookies_ipv4() {
	cookies 192.0.2.2
}

test_cookies_ipv6() {
	cookies 2001:db8::2
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

# The SYN-ACK is lost, and sent again by a timer: both ends must agree what holds
test_lost_synack() {
	setup_pair
	server "$H2" cc bolt listen 192.0.2.2 5001 recv 3000 recv-eof
	in_ns "$H2" tc qdisc add dev eth0 root netem loss 100%
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect 192.0.2.2 5001 send 3000
	expect "SYN seen" busywait stat_is "$H2" SynAckTx 1
	in_ns "$H2" tc qdisc del dev eth0 root
	server_done
	ended client "$CLIENT"
	expect_eq "both ends agree" "$(bolt_stat "$H1" Negotiated)" "$(bolt_stat "$H2" Negotiated)"
	expect_eq "one of two" "$(($(bolt_stat "$H1" Negotiated) + $(bolt_stat "$H1" Fallback)))" 1
}

# levels_are BEGIN...: each packet of data, and the FIN, says how much of its message, which begins at one of these
# bytes, was sent before it
levels_are() {
	sed -nE '/ flags=[A-Z]*F| len=[1-9]/s/^out tcp .* seq=([0-9]+) .* len=([0-9]+) .* rq=([0-9]+) .*/\1 \2 \3/p' \
		"$tmp/sniff.eth0" |
		python3 -c '
import sys
begins = list(map(int, sys.argv[1:]))
packets = [tuple(map(int, line.split())) for line in sys.stdin]
first = packets[0][0]
for seq, size, level in packets:
    at = (seq - first) % 2**32
    want = 1 + (at - max(b for b in begins if b <= at)).bit_length()
    if level != want:
        sys.exit(f"byte {at}: level {level}, not {want}")
if len(packets) < 30:
    sys.exit(f"{len(packets)} packets")' "$@"
}

# A message begins where all was acknowledged: two small ones, a long one that is written in two parts, and a FIN
test_levels() {
	local cc
	for cc in bolt swift; do
		setup_pair
		offload "$H1" eth0 off
		sniff "$H1" eth0
		server "$H2" cc "$cc" listen 192.0.2.2 5001 recv-eof
		client "$H1" cc "$cc" connect 192.0.2.2 5001 send 100 outq send 3000 outq send 40000 send 20000 outq
		server_done
		sniffed
		expect "levels of $cc" levels_are 0 100 3100 63100
		undo
	done
}

# A FIN whose message is under way has the level of its end, in place of the echo; the ACKs of the peer take their time
test_level_of_fin() {
	local cc
	for cc in bolt swift; do
		setup_pair
		in_ns "$H2" tc qdisc add dev eth0 root netem delay 500ms
		sniff "$H1" eth0
		server "$H2" cc "$cc" listen 192.0.2.2 5001 send 100 recv 3000 mark "$tmp/all" recv-eof
		client "$H1" cc "$cc" connect 192.0.2.2 5001 recv 100 send 3000 wait "$tmp/all"
		server_done
		sniffed
		expect_eq "FIN of $cc" "$(sed -nE 's/^out tcp .* flags=[A-Z]*F.* len=0 .* (tx=[0-9]+ rq=[0-9]+) .*/\1/p' \
			"$tmp/sniff.eth0" | sort -u)" "tx=0 rq=13"
		rm "$tmp/all"
		undo
	done
}

run_tests ipv4 ipv6 on_the_wire client_only server_only cookies_ipv4 cookies_ipv6 mapped \
	md5_carries_none lost_synack levels level_of_fin
