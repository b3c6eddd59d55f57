#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ways to open a connection: Fast Open, cookies, SYN-ACKs sent again, SYNs that cross, listeners
# that change or share.

. "$(dirname "$0")/lib.sh"

# both NAME VALUE: a counter of each host
both() {
	expect_eq "client $1" "$(bolt_stat "$H1" "$1")" "$2"
	expect_eq "server $1" "$(bolt_stat "$H2" "$1")" "$2"
}

clean() {
	for counter in FallbackLate OptBad OptUnexpected OptWindow OptNoRoom; do
		both "$counter" 0
	done
	expect_eq "checksum errors" "$(stack "$H1" TcpInCsumErrors)$(stack "$H2" TcpInCsumErrors)" 00
}

fastopen_on() {
	in_ns "$H1" sysctl -qw net.ipv4.tcp_fastopen=3
	in_ns "$H2" sysctl -qw net.ipv4.tcp_fastopen=3
}

# fast ADDR [WORDS...]: 100 bytes with the SYN (or after it), 30000 back and 30000 there
fast() {
	local addr=$1
	shift
	server "$H2" cc bolt fastopen 16 listen "$addr" 5001 recv 100 send 30000 recv 30000 \
		info recv-eof
	client "$H1" cc bolt fastopen-connect 1 "$@" connect "$addr" 5001 send 100 recv 30000 \
		send 30000 info
	server_done
}

# Once for the cookie, once with it
fastopen() {
	setup_pair
	fastopen_on
	fast "$1"
	both Negotiated 1
	expect_eq "cookies asked for" "$(stack "$H2" TcpExtTCPFastOpenCookieReqd)" 1
	expect_eq "not fast yet" "$(stack "$H2" TcpExtTCPFastOpenPassive)" 0
	sniff "$H1" eth0
	fast "$1"
	sniffed
	expect_eq "fast, server" "$(stack "$H2" TcpExtTCPFastOpenPassive)" 1
	expect_eq "fast, client" "$(stack "$H1" TcpExtTCPFastOpenActive)" 1
	expect_eq "SYN with data, cookie and offer" \
		"$(packets eth0 'flags=S ' ' len=100 ' 'opts=[^ ]*34/10' 'bolt=syn')" 1
	expect_eq "SYN-ACK with acceptance" "$(packets eth0 'flags=SA ' 'bolt=syn')" 1
	expect_eq "others without the option" "$(packets eth0 'flags=[^S]' 'bolt=none')" 0
	both Negotiated 2
	both Fallback 0
	expect_eq "client's congestion control" "$(info "$tmp/client" cc)" bolt
	expect_eq "server's congestion control" "$(info "$tmp/server" cc)" bolt
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
	clean
}

test_fastopen_ipv4() {
	fastopen 192.0.2.2
}

test_fastopen_ipv6() {
	fastopen 2001:db8::2
}

# Over an IPv6 socket
test_fastopen_mapped() {
	setup_pair
	fastopen_on
	for i in 1 2; do
		server "$H2" cc bolt fastopen 16 listen :: 5001 recv 100 send 30000 recv-eof
		client "$H1" cc bolt fastopen-connect 1 connect "$A2" 5001 send 100 recv 30000
		server_done
		both Negotiated "$i"
	done
	expect_eq "fast" "$(stack "$H2" TcpExtTCPFastOpenPassive)" 1
	clean
}

# SYNs but the first are held back, so that none makes the server answer again
first_synack_lost() {
	in_ns "$H2" nft -f - <<-'NFT'
		table inet loss {
			chain out {
				type filter hook output priority 0
				tcp flags & (syn | ack) == syn | ack limit rate over 1/day burst 1 packets accept
				tcp flags & (syn | ack) == syn | ack drop
			}
			chain in {
				type filter hook input priority -300
				tcp flags & (syn | ack) == syn limit rate over 1/day burst 1 packets drop
			}
		}
	NFT
}

# The SYN-ACK of a fast connection is lost, and sent again by a timer of the child, which
# knows what it has agreed to
synack_lost() {
	setup_pair
	fastopen_on
	fast "$1"
	first_synack_lost
	server "$H2" cc bolt fastopen 16 listen "$1" 5001 recv 30000 send 30000 info recv-eof
	client "$H1" cc bolt fastopen-connect 1 connect "$1" 5001 send 100 send 29900 recv 30000 info
	server_done
	expect_eq "fast" "$(stack "$H2" TcpExtTCPFastOpenPassive)" 1
	expect_ge "SYN-ACKs sent again" "$(stack "$H2" TcpExtTCPSynRetrans)" 1
	both Negotiated 2
	both Fallback 0
	clean
}

test_fastopen_synack_lost_ipv4() {
	synack_lost 192.0.2.2
}

test_fastopen_synack_lost_ipv6() {
	synack_lost 2001:db8::2
}

# The server knows Fast Open but not bolt, and the other way round
test_fastopen_other_server() {
	setup_pair
	fastopen_on
	for i in 1 2; do
		server "$H2" cc cubic fastopen 16 listen "$A2" 5001 recv 100 send 30000 recv-eof
		client "$H1" cc bolt fastopen-connect 1 connect "$A2" 5001 send 100 recv 30000 info
		server_done
		expect_eq "client Fallback" "$(bolt_stat "$H1" Fallback)" "$i"
	done
	expect_eq "fast" "$(stack "$H2" TcpExtTCPFastOpenPassive)" 1
	both Negotiated 0
	clean
}

test_fastopen_other_client() {
	setup_pair
	fastopen_on
	for i in 1 2; do
		server "$H2" cc bolt fastopen 16 listen "$A2" 5001 recv 100 send 30000 info recv-eof
		client "$H1" cc cubic fastopen-connect 1 connect "$A2" 5001 send 100 recv 30000
		server_done
		expect_eq "server Fallback" "$(bolt_stat "$H2" Fallback)" "$i"
	done
	expect_eq "fast" "$(stack "$H2" TcpExtTCPFastOpenPassive)" 1
	both Negotiated 0
	clean
}

# The child of a fast connection answers before the handshake is through: with one packet, as the
# next waits for TCP's pacing timer, which sends nothing before that
test_fastopen_early_answer() {
	setup_pair
	fastopen_on
	fast "$A2"
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 20ms limit 1000
	sniff "$H2" eth0
	fast "$A2"
	sniffed
	expect_eq "data before the third packet" \
		"$(sed '/in tcp.*flags=A /,$d' "$tmp/sniff.eth0" | grep -c 'out tcp.* len=[1-9].*bolt=full')" 1
	both Negotiated 2
	clean
}

# cookies ADDR: also without timestamps, which a cookie else hides options in
cookies() {
	setup_pair
	in_ns "$H2" sysctl -qw net.ipv4.tcp_syncookies=2
	for ts in 1 0; do
		in_ns "$H1" sysctl -qw net.ipv4.tcp_timestamps="$ts"
		server "$H2" cc bolt listen "$1" 5001 recv 300000 send 300000 info recv-eof
		client "$H1" cc bolt connect "$1" 5001 send 300000 recv 300000 info
		server_done
		expect_eq "server's congestion control" "$(info "$tmp/server" cc)" bolt
		expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
	done
	expect_eq "cookies used" "$(stack "$H2" TcpExtSyncookiesRecv)" 2
	both Negotiated 2
	both Fallback 0
	clean
}

test_cookies_ipv4() {
	cookies 192.0.2.2
}

test_cookies_ipv6() {
	cookies 2001:db8::2
}

# Sent again by a timer, without a SYN that asked: nobody remembers the offer
test_synack_resent() {
	setup_pair
	first_synack_lost
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$A2" 5001 recv 100000 send 100000 info recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 100000 recv 100000 info
	server_done
	sniffed
	expect_eq "SYN-ACK seen, without it" "$(packets eth0 'flags=SA ' 'bolt=none')" 1
	expect_eq "full options" "$(packets eth0 'bolt=full')" 0
	both Negotiated 0
	both Fallback 1
	expect_eq "client's congestion control" "$(info "$tmp/client" cc)" reno
	clean
}

# SYNs that cross on the way: both ends are clients
crossing() {
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 500ms limit 1000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 500ms limit 1000
	sniff "$H1" eth0
	spawn SERVER "$tmp/server" in_ns "$H2" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		port 5001 wait "$tmp/go" connect "$1" 5001 recv 30000 send 30000 info recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		port 5001 wait "$tmp/go" connect "$2" 5001 send 30000 recv 30000 outq info
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	sniffed
	rm "$tmp/go"
	expect_eq "SYNs there" "$(packets eth0 'out tcp.*flags=S .*bolt=syn')" 1
	expect_eq "SYNs back" "$(packets eth0 'in tcp.*flags=S .*bolt=syn')" 1
	expect_eq "SYN-ACKs" "$(packets eth0 'flags=SA .*bolt=syn')" 2
	both Negotiated 1
	both Fallback 0
	expect_eq "this side" "$(info "$tmp/client" cc)" bolt
	expect_eq "that side" "$(info "$tmp/server" cc)" bolt
	clean
}

test_crossing_ipv4() {
	crossing 192.0.2.1 192.0.2.2
}

test_crossing_ipv6() {
	crossing 2001:db8::1 2001:db8::2
}

# A socket that connects to itself is a simultaneous open with one side
test_self() {
	setup_pair
	client "$H1" cc bolt port 5001 connect 127.0.0.1 5001 send 30000 recv 30000 send 30000 \
		recv 30000 info
	expect_eq "one of both" \
		"$(($(bolt_stat "$H1" Negotiated) + $(bolt_stat "$H1" Fallback)))" 1
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

# The listener is asked when the SYN-ACK goes out: its choice of that moment holds
test_listener_changes() {
	setup_pair
	server "$H2" cc cubic ready "$A2" 5001 cc bolt mark "$tmp/changed" accept recv 3000 info recv-eof
	expect "changed" busywait test -e "$tmp/changed"
	client "$H1" cc bolt connect "$A2" 5001 send 3000 info
	server_done
	both Negotiated 1
	expect_eq "server's" "$(info "$tmp/server" cc)" bolt
	rm "$tmp/changed"
	server "$H2" cc bolt ready "$A2" 5001 cc cubic mark "$tmp/changed" accept recv 3000 info recv-eof
	expect "changed" busywait test -e "$tmp/changed"
	client "$H1" cc bolt connect "$A2" 5001 send 3000 info
	server_done
	both Negotiated 1
	expect_eq "server's" "$(info "$tmp/server" cc)" cubic
	clean
}

# changed_between FROM TO: the listener changes after the SYN-ACK and before the third packet
changed_between() {
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 200ms limit 1000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 200ms limit 1000
	rm -f "$tmp/answered" "$tmp/up"
	server "$H2" cc "$1" ready "$A2" 5001 wait "$tmp/answered" cc "$2" accept recv 300000 info \
		recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 300000 outq info
	expect "SYN" busywait stat_is "$H2" SynRx 1
	touch "$tmp/answered"
	ended client "$CLIENT"
	server_done
	expect_eq "server's" "$(info "$tmp/server" cc)" "$3"
}

# The third packet's option finds a child of another congestion control: the client notices
test_listener_leaves_in_handshake() {
	changed_between bolt cubic cubic
	expect_eq "client FallbackLate" "$(bolt_stat "$H1" FallbackLate)" 1
	expect_eq "client's" "$(info "$tmp/client" cc)" reno
	expect_eq "server Negotiated" "$(bolt_stat "$H2" Negotiated)" 0
}

test_listener_joins_in_handshake() {
	changed_between cubic bolt reno
	expect_eq "client Fallback" "$(bolt_stat "$H1" Fallback)" 1
	expect_eq "server Fallback" "$(bolt_stat "$H2" Fallback)" 1
}

# Woken by data only: the third packet, which carries the option, is dropped by the listener and
# the connection made from the data that follows
test_defer_accept() {
	setup_pair
	server "$H2" cc bolt defer-accept 5 listen "$A2" 5001 recv 30000 send 30000 info recv-eof
	client "$H1" cc bolt connect "$A2" 5001 pause 300 send 30000 recv 30000 info
	server_done
	both Negotiated 1
	both Fallback 0
	expect_eq "server's congestion control" "$(info "$tmp/server" cc)" bolt
	clean
}

# Several listeners on one port, bolt and another: each connection as its listener says
test_reuseport() {
	setup_pair
	for cc in bolt cubic; do
		spawn "${cc^^}" "$tmp/$cc" in_ns "$H2" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" cc "$cc" \
			reuseport 1 listen "$A2" 5001 recv 3000 info recv-eof
		busywait file_has "$tmp/$cc" listening || fail "server: $(cat "$tmp/$cc")"
	done
	# one each: who has taken one listens no more
	client "$H1" cc bolt connect "$A2" 5001 send 3000 info
	client "$H1" cc bolt connect "$A2" 5001 send 3000 info
	# shellcheck disable=SC2153 # set by spawn
	ended bolt "$BOLT"
	ended cubic "$CUBIC"
	both Negotiated 1
	expect_eq "client Fallback" "$(bolt_stat "$H1" Fallback)" 1
	expect_eq "server Fallback" "$(bolt_stat "$H2" Fallback)" 0
	expect_eq "bolt's" "$(info "$tmp/bolt" cc)" bolt
	expect_eq "cubic's" "$(info "$tmp/cubic" cc)" cubic
	clean
}

run_tests fastopen_ipv4 fastopen_ipv6 fastopen_mapped fastopen_synack_lost_ipv4 \
	fastopen_synack_lost_ipv6 fastopen_other_server fastopen_other_client fastopen_early_answer \
	cookies_ipv4 cookies_ipv6 synack_resent crossing_ipv4 crossing_ipv6 self listener_changes \
	listener_leaves_in_handshake listener_joins_in_handshake defer_accept reuseport
