#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ways to open a connection, from end to end between two hosts: Fast Open, SYN cookies, also in a
# VRF and behind TPROXY, a socket that connects to itself, listeners that share a port.
# option_table.py has each end by itself.

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
	# the SYN leaves with the data, and what is chosen until then is in time
	server "$H2" cc bolt fastopen 16 listen "$1" 5001 recv 100 send 30000 recv-eof
	client "$H1" cc cubic fastopen-connect 1 connect "$1" 5001 cc bolt send 100 recv 30000 info
	server_done
	expect_eq "fast, client" "$(stack "$H1" TcpExtTCPFastOpenActive)" 2
	expect_eq "chosen behind connect()" "$(info "$tmp/client" cc)" bolt
	both Negotiated 3
	both Fallback 0
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

vrf_listener() {
	server "$H2" cc bolt device red "$@" listen "$A2" 5001 recv 100 send 3000 recv-eof
}

# A listener that is bound to the VRF of H2's device
test_cookies_vrf() {
	setup_pair
	vrf "$H2" eth0
	in_ns "$H2" sysctl -qw net.ipv4.tcp_syncookies=2
	vrf_listener
	client "$H1" cc bolt connect "$A2" 5001 send 100 recv 3000
	server_done
	expect_eq "cookies used" "$(stack "$H2" TcpExtSyncookiesRecv)" 1
	both Negotiated 1
	both Fallback 0
	clean
}

fast_passive() {
	[ "$(stack "$H2" TcpExtTCPFastOpenPassive)" = "$1" ]
}

# ... of whose SYN-ACK those that are sent again have no socket
test_fastopen_vrf() {
	setup_pair
	vrf "$H2" eth0
	fastopen_on
	vrf_listener fastopen 16
	client "$H1" cc bolt fastopen-connect 1 connect "$A2" 5001 send 100 recv 3000
	server_done
	in_ns "$H2" tc qdisc add dev eth0 root netem loss 100%
	sniff "$H1" eth0
	vrf_listener fastopen 16
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt fastopen-connect 1 connect "$A2" 5001 send 100 recv 3000
	expect "fast" busywait fast_passive 1
	in_ns "$H2" tc qdisc del dev eth0 root
	ended client "$CLIENT"
	server_done
	sniffed
	# a VRF calls LOCAL_OUT twice
	expect_eq "SYN-ACK that accept twice" "$(packets eth0 'flags=SA ' '254/4.*254/4')" 0
	both Negotiated 2
	both Fallback 0
	clean
}

# Of the packet with the cookie, TPROXY finds the listener
test_cookies_tproxy() {
	setup_pair
	in_ns "$H2" sysctl -qw net.ipv4.tcp_syncookies=2
	in_ns "$H2" nft -f - <<-'NFT' || fail "nft"
		table ip6 t {
			chain c {
				type filter hook prerouting priority mangle
				tcp dport 5001 tproxy to :5001
			}
		}
	NFT
	server "$H2" cc bolt transparent 1 listen "$B2" 5001 recv 3000 send 3000 recv-eof
	client "$H1" cc bolt connect "$B2" 5001 send 3000 recv 3000
	server_done
	expect_eq "cookies used" "$(stack "$H2" TcpExtSyncookiesRecv)" 1
	both Negotiated 1
	both Fallback 0
	clean
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

run_tests fastopen_ipv4 fastopen_ipv6 fastopen_mapped cookies_ipv4 cookies_ipv6 cookies_vrf fastopen_vrf cookies_tproxy self reuseport
