#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The whole loop: a flow of tcp_bolt through a port of sch_sfc.  What the port sends, the
# sender hears, believes and heeds; over IPv4, IPv6, VLANs, bridges, with strict
# reverse-path filters and connection tracking in the way.

. "$(dirname "$0")/lib.sh"

# loop CLIENT-ADDRESS: a transfer through R's port towards H2, slower than the rest
loop() {
	server "$H2" cc bolt listen "$1" 5001 recv 5000000 recv-eof
	client "$H1" cc bolt connect "$1" 5001 send 5000000 outq info
	server_done
	expect_eq "Negotiated" "$(bolt_stat "$H1" Negotiated)" 1
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
	expect_eq "checksum errors, receiver" "$(stack "$H2" TcpInCsumErrors)" 0
	expect_eq "checksum errors, sender" "$(stack "$H1" UdpInCsumErrors)" 0
}

# heard NS DEV: all SRC of the port at DEV were taken for what they are
heard() {
	local sent unasked
	sent=$(qdisc "$1" "$2" src_sent)
	unasked=$(qdisc "$1" "$2" src_unasked)
	expect_ge "SRC sent" "$sent" 10
	counters "$1" "$2" src_limited=0 src_nomem=0 src_dropped=0 src_unfit=0 mark_failed=0 \
		opt_bad=0 drops=0
	expect_eq "CtlRx" "$(bolt_stat "$H1" CtlRx)" "$sent"
	expect_eq "SrcRx" "$(bolt_stat "$H1" SrcRx)" "$sent"
	expect_ge "SrcDec" "$(bolt_stat "$H1" SrcDec)" 1
	expect_eq "DecRx" "$(bolt_stat "$H2" DecRx)" "$(qdisc "$1" "$2" dec_set)"
	expect_eq "DEC for each SRC, and where none is wanted" "$(qdisc "$1" "$2" dec_set)" \
		$((sent + unasked))
	expect_ge "NoSrcTx" "$(bolt_stat "$H1" NoSrcTx)" "$unasked"
	# a slow port under a fast sender: the queue stays far below a window of Reno
	expect_le "queue" "$(qdisc "$1" "$2" backlog_peak)" 100000
}

routed() {
	setup_router
	in_ns "$R" tc qdisc add dev r2 root sfc rate 1gbit
}

test_ipv4() {
	routed
	loop "$A2"
	heard "$R" r2
}

test_ipv6() {
	routed
	loop "$B2"
	heard "$R" r2
}

test_no_offloads() {
	routed
	offload "$H1" eth0 off
	offload "$R" r1 off
	offload "$R" r2 off
	offload "$H2" eth0 off
	sniff "$H2" eth0
	loop "$A2"
	heard "$R" r2
	sniffed
	expect_eq "bad checksums" "$(packets eth0 'in tcp' 'csum=bad')" 0
	expect_ge "marked, and right" "$(packets eth0 'in tcp' 'bflags=[A-Z]*C .*csum=ok')" 10
}

test_strict_rp_filter() {
	routed
	in_ns "$R" sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.r1.rp_filter=1 \
		net.ipv4.conf.r2.rp_filter=1
	in_ns "$H1" sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.eth0.rp_filter=1
	loop "$A2"
	heard "$R" r2
}

# SRC come untracked: the table holds the connection and nothing else
test_conntrack() {
	routed
	if ! in_ns "$R" nft add table ip t 2>"$tmp/nft"; then
		skip "nft: $(head -1 "$tmp/nft")"
		return
	fi
	in_ns "$R" nft add chain ip t c '{ type filter hook forward priority 0; }'
	in_ns "$R" nft add rule ip t c ct state established,new,untracked accept
	loop "$A2"
	heard "$R" r2
	expect_eq "entries for UDP" "$(in_ns "$R" grep -c 'udp .*45079' /proc/net/nf_conntrack)" 0
}

# A port below a VLAN, and VLAN traffic through a port
test_vlan() {
	local ns
	setup_router
	for ns in "$R" "$H2"; do
		dev=eth0
		[ "$ns" = "$H2" ] || dev=r2
		ip -n "$ns" link add link "$dev" name v10 type vlan id 10
		ip -n "$ns" link set v10 up
	done
	ip -n "$R" addr add 203.0.113.254/24 dev v10
	ip -n "$H2" addr add 203.0.113.1/24 dev v10
	ip -n "$H2" route replace default via 203.0.113.254
	in_ns "$R" tc qdisc add dev r2 root sfc rate 1gbit
	loop 203.0.113.1
	heard "$R" r2
}

# The port belongs to a bridge: SRC finds the sender's port by itself
#	H1 eth0 -- b1  R (bridge)  b2 -- eth0 H2
test_bridge() {
	setup_ns H1 R H2
	ip link add name eth0 netns "$H1" type veth peer name b1 netns "$R"
	ip link add name b2 netns "$R" type veth peer name eth0 netns "$H2"
	ip -n "$R" link add br0 type bridge
	for dev in b1 b2; do
		ip -n "$R" link set "$dev" master br0 up
	done
	ip -n "$R" link set br0 up
	addr "$H1" eth0 192.0.2.1/24 2001:db8::1/64
	addr "$H2" eth0 192.0.2.2/24 2001:db8::2/64
	A2=192.0.2.2 B2=2001:db8::2
	wait_up
	in_ns "$R" tc qdisc add dev b2 root sfc rate 1gbit
	loop 192.0.2.2
	heard "$R" b2
}

# The sender's own port runs sfc: SRC must not leave the host to come back
test_own_port() {
	setup_pair
	in_ns "$H1" tc qdisc add dev eth0 root sfc rate 1gbit
	loop "$A2"
	heard "$H1" eth0
}

# Tagged, and with the wrong key
test_tag() {
	local key=000102030405060708090a0b0c0d0e0f
	setup_router
	in_ns "$R" tc qdisc add dev r2 root sfc rate 1gbit tagkey "$key"
	in_ns "$H1" sysctl -qw net.bolt.tag_key="$key"
	loop "$A2"
	heard "$R" r2
	expect_eq "CtlTag" "$(bolt_stat "$H1" CtlTag)" 0
}

test_wrong_tag() {
	local sent
	setup_router
	in_ns "$R" tc qdisc add dev r2 root sfc rate 1gbit \
		tagkey 000102030405060708090a0b0c0d0e0f
	in_ns "$H1" sysctl -qw net.bolt.tag_key=ff0102030405060708090a0b0c0d0e0f
	loop "$A2"
	sent=$(qdisc "$R" r2 src_sent)
	expect_ge "SRC sent" "$sent" 10
	expect_eq "CtlTag" "$(bolt_stat "$H1" CtlTag)" "$sent"
	expect_eq "SrcRx" "$(bolt_stat "$H1" SrcRx)" 0
}

# A flow asks for SRC that it can heed: fewer of them are too soon, and as many packets go
spared() {
	routed
	in_ns "$R" tc qdisc replace dev r1 root netem delay 50us limit 10000
}

test_spared() {
	local held dec sent
	spared
	in_ns "$H1" sysctl -qw net.bolt.src_spare=0
	loop "$A2"
	heard "$R" r2
	expect_eq "spared, each asked for" "$(qdisc "$R" r2 src_unasked)" 0
	expect_eq "NoSrcTx" "$(bolt_stat "$H1" NoSrcTx)" 0
	sent=$(qdisc "$R" r2 src_sent) held=$(bolt_stat "$H1" SrcHeld) dec=$(bolt_stat "$H1" SrcDec)
	say "each asked for: $sent SRC, $held too soon, $dec packets"
	undo
	spared
	loop "$A2"
	heard "$R" r2
	say "spared: $(qdisc "$R" r2 src_sent) SRC, $(bolt_stat "$H1" SrcHeld) too soon," \
		"$(bolt_stat "$H1" SrcDec) packets, $(qdisc "$R" r2 src_unasked) unasked"
	expect_ge "unasked" "$(qdisc "$R" r2 src_unasked)" 10
	expect_le "half as many SRC" "$(qdisc "$R" r2 src_sent)" $((sent / 2))
	expect_ge "of packets as many, less a quarter" "$(bolt_stat "$H1" SrcDec)" $((dec * 3 / 4))
}

# Where Swift's window is the smaller, as its target is half of the round trip, it has to know of
# each queue: what it has heard of is not its business
test_spared_swift() {
	spared
	in_ns "$R" tc qdisc replace dev r2 root sfc rate 1gbit ccthresh 1514b
	in_ns "$H1" sysctl -qw net.bolt.base_rtt_ns=25000 net.bolt.swift_base_ns=0 \
		net.bolt.swift_hop_ns=0
	loop "$A2"
	expect_ge "ACKs that found Swift's the smaller" "$(bolt_stat "$H1" SwiftLimits)" 1000
	expect_ge "SRC" "$(bolt_stat "$H1" SrcRx)" 10
	expect_le "packets that want none" "$(bolt_stat "$H1" NoSrcTx)" 10
}

# What begins anew knows nothing of the queue that it will meet
test_spared_anew() {
	spared
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$A2" 5001 recv 2000000 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 1000000 outq pause 50 send 1000000 outq
	server_done
	sniffed
	expect_ge "NOSRC" "$(packets eth0 'out tcp' 'bflags=[A-Z]*N ')" 100
	expect_ge "FIRST" "$(packets eth0 'out tcp' 'bflags=[A-Z]*F[A-Z]* ')" 11
	expect_eq "both" "$(packets eth0 'out tcp' 'bflags=[A-Z]*F[A-Z]*N ')" 0
}

# The receiver counts INC as the port granted them
test_inc_counted() {
	routed
	loop "$A2"
	expect_eq "IncRx" "$(bolt_stat "$H2" IncRx)" \
		"$(($(qdisc "$R" r2 inc_sm) + $(qdisc "$R" r2 inc_pru)))"
}

run_tests ipv4 ipv6 no_offloads strict_rp_filter conntrack vlan bridge own_port tag wrong_tag \
	spared spared_swift spared_anew inc_counted
