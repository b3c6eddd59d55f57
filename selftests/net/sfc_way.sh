#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The short way of an SRC: past the stack's input where nobody looks at it, by the route that the
# stack would take now, and not where somebody is to see it.

. "$(dirname "$0")/lib.sh"

FROM=192.0.2.7

# port: sfc at R towards H2; whoever is at FROM hears it
port() {
	setup_crafted 45079
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 10mbit ccthresh 3028b nosm
	sent=0
}

# burst: ten packets, seven of which find a queue of two
burst() {
	inject "$H1" "$FROM" "$A2" n=10 len=1448 bflags=80 tx=5000
	sent=$((sent + 7))
	expect "all have left" busywait gone
	counters "$R" r2 src_sent="$sent" src_dropped=0 src_unfit=0
}

gone() {
	[ "$(qdisc "$R" r2 src_sent)" -ge "$sent" ] && [ "$(qdisc "$R" r2 qlen)" = 0 ]
}

heard() {
	expect_eq "$1" "$(bolt_stat "$H1" CtlRx)" "$2"
}

# What R forwards is the data; an SRC loses a hop all the same
test_short() {
	local before
	port
	sniff "$H1" eth0
	before=$(stack "$R" IpForwDatagrams)
	burst
	burst
	sniffed
	heard "SRC" 14
	expect_eq "forwarded by the stack" "$(($(stack "$R" IpForwDatagrams) - before))" 20
	expect_eq "TTL" "$(packets eth0 'in udp' ' ttl=63 ')" 14
	expect_eq "whole" "$(packets eth0 'in udp' ' len=48 version=2 type=1 .* quote=28 csum=ok')" 14
}

# The last hop it may make was to this router
test_no_hop_left() {
	port
	in_ns "$R" tc qdisc change dev r2 root sfc ttl 1
	burst
	heard "SRC" 0
}

# messages FROM TO: what they say, in the order in which they come
messages() {
	grep 'in udp' "$tmp/sniff.eth0" | sed -n "$1,$2p"
}

# The first message of a pair finds the way, the others are made for it, but for the last burst,
# which somebody looks at: nobody can tell one from the other.  The data of a burst comes at once.
test_all_alike() {
	local at
	port
	in_ns "$H1" tc qdisc add dev eth0 root netem delay 1ms
	in_ns "$R" tc qdisc change dev r2 root sfc switch_id 7 \
		tagkey 000102030405060708090a0b0c0d0e0f
	sniff "$H1" eth0
	burst
	burst
	sniff "$R" r2
	burst
	sniffed
	expect_eq "SRC" "$(packets eth0 'in udp' ' quote=28 ' 'csum=ok')" 21
	for at in 8 15; do
		expect_eq "burst from $at" "$(messages "$at" $((at + 6)))" "$(messages 1 7)"
	done
	expect_eq "in order" "$(messages 1 7 | grep -o ' tx=[0-9]*')" \
		"$(messages 1 7 | grep -o ' tx=[0-9]*' | sort -V)"
}

# What is known of a pair holds for the hops and the address that messages had
test_settings_change() {
	port
	burst
	in_ns "$R" tc qdisc change dev r2 root sfc ttl 1
	burst
	heard "SRC that may not go on" 7
	in_ns "$R" tc qdisc change dev r2 root sfc ttl 64
	burst
	heard "SRC that may" 14
	# its own: to the stack that is a spoofed one
	in_ns "$R" tc qdisc change dev r2 root sfc addr 198.51.100.254
	burst
	heard "SRC from the router itself" 14
}

# A header with options is quoted whole, also between hosts of which all is known
test_ip_options() {
	port
	burst
	sniff "$H1" eth0
	inject "$H1" "$FROM" "$A2" n=10 len=1440 bflags=80 tx=5000 ipopts=8
	sent=$((sent + 7))
	expect "all have left" busywait gone
	sniffed
	expect_eq "SRC" "$(packets eth0 'in udp' ' quote=36 ' 'csum=ok')" 7
	heard "SRC" 14
}

# A BTS with a tag is 12 bytes longer than an SRC without: a device on which it does not fit is not
# for the short way, whichever comes first
test_narrow() {
	local before mtu
	port
	ip -n "$R" link add name narrow type veth peer name narrow netns "$H1"
	ip -n "$H1" link set narrow up
	for mtu in 87 88; do
		ip -n "$R" link set narrow up mtu "$mtu"
		ip -n "$R" route replace "$FROM"/32 dev narrow
		before=$(stack "$R" IpForwDatagrams)
		burst
		heard "SRC, MTU $mtu" "$sent"
		expect_eq "forwarded by the stack, MTU $mtu" "$(($(stack "$R" IpForwDatagrams) - before))" \
			$((mtu == 87 ? 17 : 10))
	done
}

# A route that has changed is asked for again
test_route_changes() {
	port
	burst
	heard "SRC" 7
	ip -n "$R" route add blackhole "$FROM"/32
	burst
	heard "SRC into a hole" 7
	ip -n "$R" route del blackhole "$FROM"/32
	burst
	heard "SRC after" 14
}

# ... by a rule as well, which asks where it comes from
test_rule() {
	port
	burst
	ip -n "$R" rule add from "$A2" blackhole
	burst
	heard "SRC" 7
}

# A filter of what comes in through the port
test_ingress_filter() {
	port
	burst
	in_ns "$R" tc qdisc add dev r2 clsact
	in_ns "$R" tc filter add dev r2 ingress protocol ip matchall action drop
	burst
	heard "SRC" 7
	in_ns "$R" tc qdisc del dev r2 clsact
	burst
	heard "SRC after" 14
}

# filtered FAMILY HOOK...: a rule there drops what comes that way
filtered() {
	local family=$1
	shift
	in_ns "$R" nft add table "$family" t
	in_ns "$R" nft add chain "$family" t c "{ type filter hook $* priority 0; }"
	in_ns "$R" nft add rule "$family" t c udp dport 45079 drop
	burst
	heard "SRC, $*" 7
	in_ns "$R" nft delete table "$family" t
}

test_netfilter() {
	local hook
	port
	burst
	for hook in prerouting forward postrouting; do
		filtered ip "$hook"
	done
	filtered netdev ingress device r2
	burst
	heard "SRC after" 14
}

test_capture() {
	port
	burst
	sniff "$R" r2
	burst
	sniffed
	expect_eq "seen coming in" "$(packets r2 'in udp')" 7
	heard "SRC" 14
}

run_tests short no_hop_left all_alike settings_change ip_options narrow route_changes \
	rule ingress_filter netfilter capture
