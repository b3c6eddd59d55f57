#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# The path changes under a connection: its route, device, speed or MTU, or a hop begins to drop what
# is too large and says so by ICMP, or does not.  Every byte must arrive, and what bolt derives from
# the device and the route must follow them.

. "$(dirname "$0")/lib.sh"

BYTES=1000000

# in_two ADDR COMMAND...: BYTES, the command, BYTES again on the same connection
in_two() {
	local addr=$1
	shift
	rm -f "$tmp/half" "$tmp/go"
	server "$H2" cc bolt listen "$addr" 5001 recv "$BYTES" send 1000 recv "$BYTES" send 1000 info \
		recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		connect "$addr" 5001 send "$BYTES" recv 1000 outq info mark "$tmp/half" wait "$tmp/go" \
		send "$BYTES" recv 1000 outq info
	expect "first half" busywait test -e "$tmp/half"
	mss_before=$(info "$tmp/client" mss)
	"$@"
	took=$(date +%s%N)
	touch "$tmp/go"
	ended client "$CLIENT"
	took=$(($(date +%s%N) - took))
	server_done
	bolt_both OptWindow
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
}

# Addresses that do not depend on the link, and a second link beside the first
second_link() {
	setup_pair
	ip link add name eth1 netns "$H1" type veth peer name eth1 netns "$H2"
	ips "$H1" <<-BATCH
		addr add 203.0.113.1/32 dev lo
		addr add 198.51.100.1/24 dev eth1
		link set eth1 up
		route add 203.0.113.2/32 via 192.0.2.2 dev eth0 src 203.0.113.1
	BATCH
	ips "$H2" <<-BATCH
		addr add 203.0.113.2/32 dev lo
		addr add 198.51.100.2/24 dev eth1
		link set eth1 up
		route add 203.0.113.1/32 via 192.0.2.1 dev eth0 src 203.0.113.2
	BATCH
	busywait in_ns "$H1" ping -c 1 -W 1 198.51.100.2
}

# shellcheck disable=SC2120 # called by in_two
other_device() {
	ip -n "$H1" route replace 203.0.113.2/32 via 198.51.100.2 dev eth1 src 203.0.113.1 "$@"
}

test_other_device() {
	second_link
	sniff "$H1" eth1
	in_two 203.0.113.2 other_device
	sniffed
	expect_ge "data there" "$(packets eth1 'out tcp' 'len=1436')" 690
	expect_eq "packets without the option" "$(packets eth1 'out tcp' 'bolt=none')" 0
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
}

test_other_device_mtu() {
	second_link
	sniff "$H1" eth1
	in_two 203.0.113.2 other_device mtu 1300
	sniffed
	expect_eq "mss" "$(info "$tmp/client" mss)" $((1300 - 64))
	expect_eq "packets beyond" "$(packets eth1 'out tcp' 'iplen=(130[1-9]|13[1-9].|1[4-9]..) ')" 0
	expect_eq "packets without the option" "$(packets eth1 'out tcp' 'bolt=none')" 0
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
}

# The device goes away for good, under traffic; routes lead elsewhere
test_device_dies() {
	second_link
	# shellcheck disable=SC2317
	dies() {
		ip -n "$H1" link set eth0 down
		other_device mtu 1500
		ip -n "$H2" route replace 203.0.113.1/32 via 198.51.100.1 dev eth1 src 203.0.113.2
	}
	in_two 203.0.113.2 dies
}

# The new rate holds from the next packet on
test_other_speed() {
	second_link
	# shellcheck disable=SC2317
	slower() {
		in_ns "$H1" sysctl -qw net.bolt.rate_mbps=100
		other_device mtu 1500
	}
	in_two 203.0.113.2 slower
	# a megabyte at 100 Mbit/s
	expect_ge "ns of the second half" "$took" 80000000
	expect_le "ns of the second half" "$took" 200000000
}

# The same device with another speed: nothing but the speed says so
test_same_device_other_speed() {
	second_link
	# shellcheck disable=SC2317
	slower() {
		in_ns "$H1" sysctl -qw net.bolt.rate_mbps=100
	}
	in_two 203.0.113.2 slower
	expect_ge "ns of the second half" "$took" 80000000
	expect_le "ns of the second half" "$took" 200000000
}

# by_route CC: without setsockopt, both ends
by_route() {
	server "$H2" listen "$A2" 5001 recv "$BYTES" info recv-eof
	client "$H1" connect "$A2" 5001 info send "$BYTES" outq info
	server_done
	expect_eq "client's congestion control" "$(info "$tmp/client" cc)" "$1"
	expect_eq "server's congestion control" "$(info "$tmp/server" cc)" "$1"
}

# The route's choice is made in the handshake; its initcwnd is the first window
test_congctl() {
	setup_pair
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 congctl bolt initcwnd 77
	ip -n "$H2" route replace 192.0.2.0/24 dev eth0 congctl bolt
	by_route bolt
	expect_eq "first window" "$(sed -n 's/^info .*cwnd=\([0-9]*\).*/\1/p' "$tmp/client" | head -1)" 77
	bolt_both OptWindow
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 congctl reno
	ip -n "$H2" route replace 192.0.2.0/24 dev eth0 congctl reno
	by_route reno
	expect_eq "Negotiated" "$(bolt_stat "$H1" Negotiated)" 1
}

# A connection keeps what it has
test_congctl_changes_under_it() {
	setup_pair
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 congctl bolt
	# shellcheck disable=SC2317
	reno() {
		ip -n "$H1" route replace 192.0.2.0/24 dev eth0 congctl reno initcwnd 2
	}
	in_two "$A2" reno
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
}

# shrink MTU: the router's second link; the host hears of it by ICMP
shrink() {
	ip -n "$R" link set r2 mtu "$1"
	ip -n "$H2" link set eth0 mtu "$1"
}

test_frag_needed_ipv4() {
	setup_router
	sniff "$H2" eth0
	in_two "$A2" shrink 1280
	sniffed
	expect_eq "mss before" "$mss_before" 1436
	expect_eq "mss" "$(info "$tmp/client" mss)" $((1280 - 64))
	expect_eq "data without the option" "$(packets eth0 'in tcp' 'len=[1-9]' 'bolt=none')" 0
	expect_ge "segments of the new size" "$(packets eth0 'in tcp' 'iplen=1280 .*bolt=full')" 700
	expect_eq "cuts for timeouts" "$(bolt_stat "$H1" RtoDec)" 0
}

test_too_big_ipv6() {
	setup_router
	sniff "$H2" eth0
	in_two "$B2" shrink 1280
	sniffed
	expect_eq "mss before" "$mss_before" 1416
	expect_eq "mss" "$(info "$tmp/client" mss)" $((1280 - 84))
	expect_eq "data without the option" "$(packets eth0 'in tcp' 'len=[1-9]' 'bolt=none')" 0
	expect_ge "segments of the new size" "$(packets eth0 'in tcp' 'iplen=1280 .*bolt=full')" 700
	expect_eq "cuts for timeouts" "$(bolt_stat "$H1" RtoDec)" 0
}

# What is too large is dropped without a word
hole() {
	in_ns "$R" nft -f - <<-'NFT'
		table inet hole {
			chain forward {
				type filter hook forward priority 0
				meta length > 1200 drop
			}
		}
	NFT
}

# probing finds a size that passes: bounded in virtual time
black_hole() {
	local start
	setup_router
	in_ns "$H1" sysctl -qw net.ipv4.tcp_mtu_probing=1
	start=$(date +%s)
	in_two "$1" hole
	expect_le "seconds" "$(($(date +%s) - start))" 60
	expect_le "mss" "$(info "$tmp/client" mss)" $((1200 - $2))
	expect_ge "mss" "$(info "$tmp/client" mss)" 400
	expect_ge "probing was needed" "$(stack "$H1" TcpExtTCPTimeouts)" 3
}

test_black_hole_ipv4() {
	black_hole 198.51.100.1 64
}

test_black_hole_ipv6() {
	black_hole 2001:db8:2::1 84
}

# Always: begins small, and grows by probes that carry the option too
test_mtu_probing() {
	setup_router
	in_ns "$H1" sysctl -qw net.ipv4.tcp_mtu_probing=2
	# TCP probes with eleven packets of window at least
	ip -n "$H1" route replace default via 192.0.2.254 initcwnd 40
	sniff "$H2" eth0
	BYTES=3000000 in_two "$A2" true
	sniffed
	expect_ge "probes that succeeded" "$(stack "$H1" TcpExtTCPMTUPSuccess)" 1
	expect_ge "mss" "$(info "$tmp/client" mss)" 1300
	expect_le "mss" "$(info "$tmp/client" mss)" 1436
	expect_eq "packets beyond the MTU" "$(packets eth0 'in tcp' 'iplen=(150[1-9]|15[1-9].|1[6-9]..) ')" 0
	expect_eq "data without the option" "$(packets eth0 'in tcp' 'len=[1-9]' 'bolt=none')" 0
}

# An MTU so small that the option does not fit beside the smallest segment
test_tiny_mtu() {
	setup_pair
	ip -n "$H1" link set eth0 mtu 128
	ip -n "$H2" link set eth0 mtu 128
	BYTES=20000 in_two "$A2" true
	expect_ge "mss" "$(info "$tmp/client" mss)" 48
}

run_tests other_device other_device_mtu device_dies other_speed same_device_other_speed congctl \
	congctl_changes_under_it frag_needed_ipv4 too_big_ipv6 black_hole_ipv4 black_hole_ipv6 mtu_probing tiny_mtu
