#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Control messages on their way to the sender: their order, TTL, options and tags, and their band at
# several hops.  sfc forwards an SRC without reception where nothing observes what comes in, by the
# route that the stack would take now.  Captures, filters, tunnels and whatever else watches or
# changes forwarded packets must see the message as any other packet, and its receiver must not be
# able to tell the two ways apart.

. "$(dirname "$0")/lib.sh"

FROM=192.0.2.7

# port: sfc at R towards H2; whoever is at FROM hears it
port() {
	setup_crafted 12311
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 10mbit ccthresh 3028b nosm
	sent=0
}

# burst: ten packets, seven of which find a queue of two
burst() {
	inject "$H1" "$FROM" "$A2" n=10 len=1448 bflags=80 tx=5000
	sent=$((sent + 7))
	expect "all have left" busywait gone
	counters "$R" r2 src_sent="$sent" msg_dropped=0 msg_unfit=0
}

gone() {
	[ "$(qdisc "$R" r2 src_sent)" -ge "$sent" ] && [ "$(qdisc "$R" r2 qlen)" = 0 ]
}

heard() {
	expect_eq "$1" "$(bolt_stat "$H1" CtlRx)" "$2"
}

# SRC are forwarded, and not received before
test_not_received() {
	local in fwd before
	port
	# more than may wait at a time
	inject "$H1" "$FROM" "$A2" n=4200 len=200 bflags=80 tx=5000
	expect "all have left" busywait gone
	sent=$(qdisc "$R" r2 src_sent) before=$(bolt_stat "$H1" CtlRx)
	expect_ge "many" "$sent" 4096
	sniff "$H1" eth0
	in=$(stack "$R" IpInReceives) fwd=$(stack "$R" IpForwDatagrams)
	burst
	burst
	sniffed
	heard "SRC" $((before + 14))
	expect_eq "received: data" "$(($(stack "$R" IpInReceives) - in))" 20
	expect_eq "forwarded: data and SRC" "$(($(stack "$R" IpForwDatagrams) - fwd))" 34
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

# The messages of the last burst are received, which somebody looks at, those before are not: nobody
# can tell one from the other.  The data of a burst comes at once.
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
	in_ns "$R" nft add rule "$family" t c udp dport 12311 drop
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

# Whom a host hears is for its firewall to say (trust.rst has these rules)
test_sources() {
	local family
	port
	in_ns "$H1" nft -f - <<-RULES || fail "nft refused the rules"
		table inet switches {
			chain input {
				type filter hook input priority 0
				udp dport 12311 ip saddr $A2/32 accept
				udp dport 12311 ip6 saddr $B2/128 accept
				udp dport 12311 counter drop
			}
		}
	RULES
	burst
	heard "SRC from the list" 7
	inject "$H1" 2001:db8:1::7 "$B2" n=10 len=1428 bflags=80 tx=5000
	sent=$((sent + 7))
	expect "all have left" busywait gone
	heard "SRC from the list, IPv6" 14
	for family in 203.0.113.9 2001:db8:9::9; do
		in_ns "$R" tc qdisc change dev r2 root sfc addr "$family"
	done
	burst
	inject "$H1" 2001:db8:1::7 "$B2" n=10 len=1428 bflags=80 tx=5000
	sent=$((sent + 7))
	expect "all have left" busywait gone
	heard "SRC from elsewhere" 14
	expect_eq "dropped" "$(in_ns "$H1" nft list ruleset | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p')" 14
	in_ns "$H1" nft delete table inet switches
	burst
	heard "SRC from anywhere" 21
}

# drop_all FILE TYPE VERDICT: a BPF program of that type that says so of every packet
drop_all() {
	mkdir "$tmp/bpf"
	mount -t bpf bpf "$tmp/bpf"
	defer rmdir "$tmp/bpf"
	defer umount "$tmp/bpf"
	python3 - "$@" <<-'PY' || fail "no program"
		import ctypes, sys
		from lib_bpf import OBJ_PIN, bpf, load
		name = ctypes.create_string_buffer(sys.argv[1].encode())
		bpf(OBJ_PIN, "QI", ctypes.addressof(name), load(int(sys.argv[2]), (0xb7, 0, 0, int(sys.argv[3])), (0x95, 0, 0, 0)))
	PY
}

# A lightweight tunnel, here a program, has the last word on what its route sends
test_lwtunnel() {
	port
	# BPF_PROG_TYPE_LWT_XMIT, BPF_DROP
	drop_all "$tmp/bpf/drop" 12 2
	burst
	expect "route" ip -n "$R" route add "$FROM/32" dev r1 encap bpf xmit pinned "$tmp/bpf/drop"
	burst
	burst
	heard "SRC before" 7
	ip -n "$R" route del "$FROM/32"
	burst
	heard "SRC after" 14
}

# Generic XDP sees a message as anything that comes in
test_xdp() {
	port
	# BPF_PROG_TYPE_XDP, XDP_DROP
	drop_all "$tmp/bpf/drop" 6 1
	burst
	expect "program" ip -n "$R" link set dev r2 xdpgeneric pinned "$tmp/bpf/drop"
	burst
	heard "SRC before" 7
	ip -n "$R" link set dev r2 xdpgeneric off
	burst
	heard "SRC after" 14
}

# An input queue that is full: what it drops is not counted as sent
test_input_queue_full() {
	setup_crafted 12311
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc nobolt pause rate 1mbit qth 3000b qtg 1b suppress off
	# by the input queue, as somebody looks
	sniff "$R" r2
	defer sysctl -qw net.core.netdev_max_backlog="$(sysctl -n net.core.netdev_max_backlog)"
	sysctl -qw net.core.netdev_max_backlog=1
	expect "burst" in_ns "$H1" "$BOLT_PROGRAMS/bolt_burst" "$A2" len=9580 gso=958
	expect "all leave" busywait qdisc_is "$R" r2 qlen 0
	sniffed
	expect_ge "dropped" "$(qdisc "$R" r2 msg_dropped)" 1
	expect_ge "sent" "$(qdisc "$R" r2 bts_sent)" 1
	heard "BTS" "$(qdisc "$R" r2 bts_sent)"
}

# captured WHERE: an SRC is seen to come in, at the port or by who looks at all devices
captured() {
	port
	burst
	sniff "$R" "$1"
	burst
	sniffed
	expect_eq "seen coming in, $1" "$(packets "$1" 'in udp')" 7
	heard "SRC" 14
}

test_capture() {
	captured r2
}

# An LLDP daemon at each port sees no message, and keeps none from being forwarded at once
test_capture_lldp() {
	local in
	port
	burst
	spawn LLDP "$tmp/lldp" in_ns "$R" python3 -c '
import socket, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88cc))
s.bind(("r2", 0x88cc))
print("ready", flush=True)
time.sleep(10000)'
	expect "LLDP" busywait file_has "$tmp/lldp" ready
	in=$(stack "$R" IpInReceives)
	burst
	heard "SRC" 14
	expect_eq "received: data" "$(($(stack "$R" IpInReceives) - in))" 10
}

# What is delivered or forwarded at once has a place for its link-layer header, though none is there:
# who reads it would read memory beyond the packet
test_link_header() {
	port
	in_ns "$R" sysctl -qw net.ipv4.conf.r1.accept_local=1
	expect "address" ip -n "$R" addr add "$FROM/32" dev lo
	spawn reader "$tmp/reader" in_ns "$R" python3 -c '
import ctypes, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
# of UDP, what has a first byte at SKF_LL_OFF
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *x) for x in (
    (0x30, 0, 0, 0xffe00000), (0x06, 0, 0, 0xffff))))
s.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", 2, ctypes.addressof(code)))
print("ready", flush=True)
for n in range(7):
    s.recv(2048)
print("seven", flush=True)'
	expect "reader" busywait file_has "$tmp/reader" ready
	burst
	expect "seven SRC have one" busywait file_has "$tmp/reader" seven
}

# A packet socket sends without what IP holds: the route is looked up under the port's own lock of RCU,
# or the debug kernel warns
test_packet_socket() {
	port
	in_ns "$R" python3 - "$FROM" "$A2" <<-'PY' || fail "packet socket"
		import socket, struct, sys
		raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
		raw.bind(("r2", 0))
		pair = b"".join(map(socket.inet_aton, sys.argv[1:]))
		for n in range(10):
		    raw.send(bytes.fromhex("0200000000010200000000020800") +
		             struct.pack("!BBHIBBH", 0x45, 0, 1500, 0x4000, 64, 6, 0) + pair +
		             struct.pack("!HHIIBBHI", 1000, 2000, 1 + 1448 * n, 1, 8 << 4, 0x10, 65535, 0) +
		             struct.pack("!BBHBBIH", 254, 12, 0xb017, 0x80, n, 5000 + n, 0) + bytes(1448))
	PY
	sent=7
	expect "all have left" busywait gone
	heard "SRC" 7
	expect_none "warnings" "$(dmesg | grep WARNING)"
}

test_capture_any() {
	captured any
}

# IP gives what it forwards the priority of its TOS, which is none: each port on the way knows a
# message by its form.  Twenty packets wait at both ports that it passes.
test_hops() {
	local dev
	setup_two_routers "$FROM/24"
	expect "a way" busywait refused "$A2"
	for dev in "$R r1" "$S s1"; do
		# shellcheck disable=SC2086 # two words
		expect "$dev" in_ns ${dev% *} tc qdisc add dev ${dev#* } root sfc nobolt rate 1mbit
	done
	in_ns "$S" tc qdisc add dev s2 root sfc rate 1mbit ccthresh 3028b nosm
	sniff "$H1" eth0
	# RST, which nobody answers
	inject "$R" 203.0.113.1 "$FROM" n=21 bflags=none len=1460 tcp=14
	inject "$H2" "$A2" "$FROM" n=21 bflags=none len=1460 tcp=14
	expect "data is not answered" ip -n "$H2" route add blackhole "$FROM/32"
	inject "$H1" "$FROM" "$A2" n=20 len=1448 bflags=80 tx=5000
	counters "$S" s2 src_sent=17
	expect "all leave" busywait qdisc_is "$S" s1 qlen 0
	expect "all leave" busywait qdisc_is "$R" r1 qlen 0
	sniffed
	counters "$S" s1 high=17
	counters "$R" r1 high=17
	# 42 would be before them in one queue; here, those that leave until the first has come to their
	# port, and while a dozen ms of messages pass
	expect_le "before the last SRC" "$(awk '
		/in udp/ { last = NR } /in tcp/ { at[++n] = NR }
		END { for (i = 1; i <= n; i++) early += at[i] < last; print early }' "$tmp/sniff.eth0")" 6
}

# What GRO may have merged: of eight messages each counts, to the cache and to SFC-P as well
test_merged() {
	setup_ns R
	ip -n "$R" link add d0 type dummy
	ips "$R" <<-BATCH
		addr add 192.0.2.1/24 dev d0
		link set d0 up
	BATCH
	expect "sfc" in_ns "$R" tc qdisc add dev d0 root sfc no-split-gso
	in_ns "$R" python3 - <<-'PY' || fail "socket"
		import socket
		for port, size in (12311, 48), (12311, 1000), (12312, 48):
		    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		    s.bind(("", port))
		    s.setsockopt(socket.IPPROTO_UDP, 103, size)
		    s.sendto(bytes(8 * size), ("192.0.2.2", 12311))
		    s.close()
	PY
	counters "$R" d0 high=8 gso_split=1
}

run_tests not_received no_hop_left all_alike settings_change ip_options route_changes \
	rule ingress_filter netfilter sources lwtunnel xdp input_queue_full capture capture_lldp capture_any \
	packet_socket link_header hops merged
