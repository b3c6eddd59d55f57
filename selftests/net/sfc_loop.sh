#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The whole loop: a flow of tcp_bolt passes a port of sch_sfc.  The sender must receive every SRC
# that the port sends, believe it and reduce its window, over IPv4, IPv6, VLANs and bridges, with
# strict reverse-path filters, connection tracking and tags in the way.

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
	local sent
	sent=$(qdisc "$1" "$2" src_sent)
	expect_ge "SRC sent" "$sent" 10
	counters "$1" "$2" msg_limited=0 msg_nomem=0 msg_dropped=0 msg_unfit=0 mark_failed=0 \
		opt_bad=0 drops=0
	expect_eq "CtlRx" "$(bolt_stat "$H1" CtlRx)" "$sent"
	expect_eq "SrcRx" "$(bolt_stat "$H1" SrcRx)" "$sent"
	expect_ge "SrcDec" "$(bolt_stat "$H1" SrcDec)" 1
	expect_eq "DecRx" "$(bolt_stat "$H2" DecRx)" "$(qdisc "$1" "$2" dec_set)"
	expect_eq "DEC for each SRC" "$(qdisc "$1" "$2" dec_set)" "$sent"
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
	expect_eq "entries for UDP" "$(in_ns "$R" grep -c 'udp .*12311' /proc/net/nf_conntrack)" 0
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

# all_heard: what the port has sent by now, and what it sends next
all_heard() {
	expect "heard after $1" busywait heard_beyond "$(qdisc "$R" r2 src_sent)"
}

heard_beyond() {
	[ "$(bolt_stat "$H1" CtlRx)" -gt "$1" ]
}

# A key is replaced under a flow: hosts know the new one before a port signs under it, and the old one
# until none does
test_rollover() {
	local old=000102030405060708090a0b0c0d0e0f new=ff0102030405060708090a0b0c0d0e0f
	setup_router
	in_ns "$R" tc qdisc add dev r2 root sfc rate 50mbit tagkey "$old"
	in_ns "$H1" sysctl -qw net.bolt.tag_key="$old"
	server "$H2" cc bolt listen "$A2" 5001 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 1000000000
	all_heard "the old key"
	in_ns "$H1" sysctl -qw net.bolt.tag_key="$new,$old"
	all_heard "both"
	in_ns "$R" tc qdisc change dev r2 root sfc tagkey "$new"
	all_heard "the new one signs"
	in_ns "$H1" sysctl -qw net.bolt.tag_key="$new"
	all_heard "the new key"
	expect_eq "CtlTag" "$(bolt_stat "$H1" CtlTag)" 0
}

# ingress_port NS DEV: what arrives at DEV goes through a port on ifb0
ingress_port() {
	ip -n "$1" link add ifb0 type ifb
	ip -n "$1" link set ifb0 up
	in_ns "$1" tc qdisc add dev "$2" clsact
	in_ns "$1" tc filter add dev "$2" ingress matchall action mirred egress redirect dev ifb0
	in_ns "$1" tc qdisc add dev ifb0 root sfc rate 1gbit
}

# SRC enter the stack on the ifb, which leads nowhere: a martian with rp_filter
test_ifb() {
	setup_router
	ingress_port "$R" r1
	in_ns "$R" sysctl -qw net.ipv4.conf.all.rp_filter=1
	loop "$A2"
	expect_ge "SRC sent" "$(qdisc "$R" ifb0 src_sent)" 10
	expect_eq "CtlRx" "$(bolt_stat "$H1" CtlRx)" 0
}

test_ifb_without_rp_filter() {
	setup_router
	ingress_port "$R" r1
	in_ns "$R" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.ifb0.rp_filter=0
	loop "$A2"
	heard "$R" ifb0
}

# Of the receiver, whose own address is the source of its SRC
test_ifb_at_receiver() {
	setup_router
	ingress_port "$H2" eth0
	in_ns "$H2" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.ifb0.rp_filter=0 \
		net.ipv4.conf.ifb0.accept_local=1 net.ipv4.conf.ifb0.forwarding=1
	loop "$A2"
	heard "$H2" ifb0
}

# The receiver counts INC as the port granted them
test_inc_counted() {
	routed
	loop "$A2"
	expect_eq "IncRx" "$(bolt_stat "$H2" IncRx)" \
		"$(($(qdisc "$R" r2 inc_sm) + $(qdisc "$R" r2 inc_pru)))"
}

run_tests ipv4 ipv6 no_offloads strict_rp_filter conntrack vlan bridge own_port tag wrong_tag rollover \
	ifb ifb_without_rp_filter ifb_at_receiver inc_counted
