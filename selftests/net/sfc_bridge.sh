#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sfc on the port of a bridge.  It must read the option behind VLAN tags where it can, and leave
# packets alone where it cannot.  The messages that it sends have the receiver's addresses, so no
# bridge may learn from them that the receiver is behind another port, also where the port lies
# below a VLAN, bond or macvlan: its traffic would go astray.

. "$(dirname "$0")/lib.sh"

FROM=192.0.2.7

# qinq PROTO...: through R, a bridge, behind these tags, the outermost first.  Each is of VLAN 1281
# and PCP 2, so that it begins as an IPv4 header does that may be marked.
#	H1 v1, v2... on eth0 -- b1  R  b2 -- eth0 H2
qinq() {
	local ns dev tag i
	setup_ns H1 R H2
	ip link add name eth0 netns "$H1" type veth peer name b1 netns "$R"
	ip link add name b2 netns "$R" type veth peer name eth0 netns "$H2"
	ips "$R" <<-BATCH
		link add br0 type bridge mcast_snooping 0
		link set b1 master br0 up
		link set b2 master br0 up
		link set br0 up
	BATCH
	for ns in "$H1" "$H2"; do
		dev=eth0 i=0
		for tag; do
			i=$((i + 1))
			ips "$ns" <<-BATCH
				link set $dev up
				link add link $dev name v$i type vlan proto $tag id 1281 egress-qos-map 0:2
			BATCH
			dev=v$i
		done
	done
	addr "$H1" "v$#" 192.0.2.1/24 2001:db8::1/64
	addr "$H1" "v$#" "$FROM/24" 2001:db8::7/64
	addr "$H2" "v$#" 192.0.2.2/24 2001:db8::2/64
	ip -n "$H2" route add blackhole "$FROM/32"
	# shellcheck disable=SC2034 # for wait_up
	A2=192.0.2.2 B2=2001:db8::2
	wait_up
	# bolt's first connection opens the control port
	in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 9 >/dev/null 2>&1
	expect "control port" busywait listens "$H1" 12311
}

# read_behind PROTO...: 50 packets, the port has a threshold of two of them for either signal; the
# first tag is the device's to write
read_behind() {
	local two=$((2 * (14 + 4 * ($# - 1) + 20 + 32 + 1000)))
	qinq "$@"
	expect "sfc" in_ns "$R" tc qdisc add dev b2 root sfc rate 1mbit nosm ccthresh "${two}b" ecn "${two}b"
	sniff "$H2" "v$#"
	inject "$H1" "$FROM" "$A2" n=50 len=1000 bflags=80 tx=5000 tos=2
	inject "$H1" "$FROM" "$A2" n=4 len=0 bflags=none seq=900000
	expect "all leave" busywait qdisc_is "$R" b2 qlen 0
	sniffed
	expect_eq "data in its VLAN" "$(packets "v$#" 'in tcp' ' len=1000 ' 'csum=ok')" 50
	expect_eq "CE" "$(packets "v$#" 'in tcp' ' len=1000 tos=3 ')" 46
	counters "$R" b2 data=50 src_sent=47 ecn_marked=46 high=4 msg_unfit=0 msg_dropped=0 mark_failed=0
	expect_eq "SRC that the sender hears" "$(bolt_stat "$H1" CtlRx)" 47
}

test_two_tags() {
	read_behind 802.1q 802.1q
}

test_provider_tag() {
	read_behind 802.1ad 802.1q
}

test_four_tags() {
	read_behind 802.1ad 802.1ad 802.1q 802.1q
}

# learned NS [MAC]: where the bridge has whom it has learned of, or this one
learned() {
	in_ns "$1" bridge fdb show br br0 | grep -v permanent | grep "${2:-}" |
		sed 's/^\([^ ]* dev [^ ]*\) .*/\1/' | sort -u | grep . || echo nobody
}

# three_ports: H2 is silent, so that a bridge that has it anywhere was told so by somebody else.
# What is to be the third port is made of p3.
#	H1 eth0 -- p1  R  p2 -- eth0 H2
#	                  p3 -- eth0 H3
three_ports() {
	local i h
	setup_ns H1 R S H2 H3
	for i in "$H1" "$R" "$S" "$H2" "$H3"; do
		in_ns "$i" sysctl -qw net.ipv6.conf.{default,all}.disable_ipv6=1
	done
	ip -n "$R" link add br0 type bridge mcast_snooping 0
	for i in 1 2 3; do
		h=H$i
		ip link add name eth0 netns "${!h}" type veth peer name "p$i" netns "$R"
		ip -n "${!h}" link set eth0 up
	done
	receiver=$(mac "$H2" eth0)
	ips "$H1" <<-BATCH
		addr add $FROM/24 dev eth0
		neigh add 192.0.2.2 dev eth0 lladdr $receiver nud permanent
	BATCH
	ip -n "$R" link set br0 up
}

# ports DEV...: of the bridge
ports() {
	local dev
	for dev; do
		ip -n "$R" link set "$dev" master br0 up
		expect "$dev forwards" busywait forwarding "$dev"
	done
}

forwarding() {
	in_ns "$R" bridge link show dev "$1" | grep -q 'state forwarding'
}

bts() {
	expect "sfc" in_ns "$R" tc qdisc add dev "$1" root sfc nobolt pause rate 1mbit
}

# datagrams DEV: 200 arrive, the port there sends BTS that the sender has, and the receiver is where it
# was
datagrams() {
	local before sent
	before=$(learned "$R" "$receiver")
	sniff "$H2" eth0
	inject "$H1" "$FROM" 192.0.2.2 n=200 udp=1 len=1000
	sniffed
	expect_eq "arrived" "$(packets eth0 'in udp' ' dport=2000 ')" 200
	expect_eq "the receiver" "$(learned "$R" "$receiver")" "$before"
	sent=$(qdisc "$R" "$1" bts_sent)
	expect_ge "BTS" "$sent" 1
	expect_eq "BTS at the sender" "$(stack "$H1" UdpNoPorts)" "$sent"
	counters "$R" "$1" msg_dropped=0 msg_unfit=0
}

test_forgotten() {
	three_ports
	ports p1 p2 p3
	bts p3
	datagrams p3
}

# ... by SRC
test_forgotten_src() {
	three_ports
	ports p1 p2 p3
	expect "sfc" in_ns "$R" tc qdisc add dev p3 root sfc rate 1mbit
	sniff "$H2" eth0
	inject "$H1" "$FROM" 192.0.2.2 n=200 len=1000 bflags=80 tx=5000
	sniffed
	expect_eq "arrived" "$(packets eth0 'in tcp' ' len=1000 ')" 200
	expect_eq "the receiver" "$(learned "$R" "$receiver")" nobody
	expect_ge "SRC" "$(qdisc "$R" p3 src_sent)" 100
	expect_eq "SRC at the sender" "$(stack "$H1" UdpNoPorts)" "$(qdisc "$R" p3 src_sent)"
}

# not_cacheable DEV HOST ADDR: HOST's segments through DEV draw BTS that no other switch may remember:
# who sends frames chooses where they go apart from the destination that they name
not_cacheable() {
	expect "sfc" in_ns "$R" tc qdisc add dev "$1" root sfc nobolt pause edge switchkey "$SWITCHKEY" rate 1mbit
	shift
	not_cacheable_now "$@"
}

not_cacheable_now() {
	sniff "$1" "$3"
	inject "$1" "$2" 192.0.2.2 n=200 len=1000 bflags=none
	sniffed
	expect_ge "BTS" "$(packets "$3" 'in udp' ' type=2 cflags=0 ')" 1
	expect_eq "cacheable" "$(packets "$3" 'in udp' ' type=2 cflags=1 ')" 0
}

test_not_cacheable() {
	three_ports
	ports p1 p2 p3
	not_cacheable p3 "$H1" "$FROM" eth0
}

# A macvlan on the port, in S
macvlan_in_s() {
	three_ports
	ip -n "$R" link set p3 up
	ip -n "$R" link add link p3 name m3 type macvlan mode private
	ip -n "$R" link set m3 netns "$S"
	ips "$S" <<-BATCH
		link set m3 up
		addr add 192.0.2.8/24 dev m3
		neigh add 192.0.2.2 dev m3 lladdr $receiver nud permanent
	BATCH
}

test_not_cacheable_macvlan() {
	macvlan_in_s
	not_cacheable p3 "$S" 192.0.2.8 m3
}

of_link() {
	ip -n "$1" -j link show dev "$2" | jq -r ".[0].$3"
}

# S redirects what it sends by a device that has the index of p1, which is no port of a bridge
redirect_in_s() {
	ips "$S" <<-BATCH
		link add d0 index $(of_link "$R" p1 ifindex) address $(of_link "$S" m3 address) type dummy
		link set d0 up
		route add 192.0.2.2/32 dev d0
		neigh add 192.0.2.2 dev d0 lladdr $receiver nud permanent
	BATCH
	in_ns "$S" tc qdisc add dev d0 clsact
	expect "redirect" in_ns "$S" tc filter add dev d0 egress matchall action mirred egress redirect dev m3
}

test_not_cacheable_index() {
	macvlan_in_s
	redirect_in_s
	not_cacheable p3 "$S" 192.0.2.8 m3
	# and when it comes to the port later
	in_ns "$R" tc qdisc del dev p3 root
	ip -n "$S" link set m3 netns "$R"
	expect "sfc" in_ns "$R" tc qdisc add dev p3 root sfc nobolt pause edge switchkey "$SWITCHKEY" rate 1mbit
	ip -n "$R" link set m3 netns "$S"
	ips "$S" <<-BATCH
		link set m3 up
		addr add 192.0.2.8/24 dev m3
	BATCH
	expect "redirect" in_ns "$S" tc filter replace dev d0 egress matchall action mirred egress redirect dev m3
	not_cacheable_now "$S" 192.0.2.8 m3
}

# edge_in_s LOWER: p3 has an sfc already when the macvlan on LOWER comes to S
edge_in_s() {
	expect "sfc" in_ns "$R" tc qdisc add dev p3 root sfc nobolt pause edge switchkey "$SWITCHKEY" rate 1mbit
	ip -n "$R" link add link "$1" name m3 type macvlan mode private
	ip -n "$R" link set m3 netns "$S"
	ips "$S" <<-BATCH
		link set m3 up
		addr add 192.0.2.8/24 dev m3
	BATCH
	redirect_in_s
}

test_not_cacheable_vlan() {
	three_ports
	ip -n "$R" link set p3 up
	ip -n "$R" link add link p3 name v3 up type vlan id 10
	edge_in_s v3
	not_cacheable_now "$S" 192.0.2.8 m3
}

# It stands on the bridge that the port joins
test_not_cacheable_joined() {
	three_ports
	edge_in_s br0
	ports p3
	not_cacheable_now "$S" 192.0.2.8 m3
}

# The receiver is known, and what is for it is copied to a port
test_mirror() {
	three_ports
	ports p1 p2 p3
	bts p3
	in_ns "$R" bridge fdb add "$receiver" dev p2 master dynamic
	in_ns "$R" tc qdisc add dev p1 clsact
	expect "mirror" in_ns "$R" tc filter add dev p1 ingress matchall \
		action mirred egress mirror dev p3
	datagrams p3
	expect_eq "the receiver" "$(learned "$R" "$receiver")" "$receiver dev p2"
}

# The port has no bridge, what is on top of it has
test_below_vlan() {
	three_ports
	ip -n "$R" link set p3 up
	ip -n "$R" link add link p3 name v3 type vlan id 10
	ports p1 p2 v3
	bts p3
	datagrams p3
}

test_below_bond() {
	three_ports
	ip -n "$R" link add bond3 type bond mode active-backup miimon 10
	ip -n "$R" link set p3 master bond3
	ports p1 p2 bond3
	bts p3
	datagrams p3
}

test_below_macvlan() {
	three_ports
	ip -n "$R" link set p3 up
	ip -n "$R" link add link p3 name m3 type macvlan mode passthru
	ports p1 p2 m3
	bts p3
	datagrams p3
}

# Two ports that send, and a bridge between them and the sender: each address is in one place
#	H1 eth0 -- s1  S  s2 -- p1  R...
test_two_bridges() {
	local known
	three_ports
	ip -n "$R" link set p1 name s1 netns "$S"
	ip link add name s2 netns "$S" type veth peer name p1 netns "$R"
	ips "$S" <<-BATCH
		link add br0 type bridge mcast_snooping 0
		link set s1 master br0 up
		link set s2 master br0 up
		link set br0 up
	BATCH
	ports p1 p2 p3
	bts p2
	bts p3
	for _ in 1 2; do
		sniff "$H2" eth0
		inject "$H1" "$FROM" 192.0.2.2 n=200 udp=1 len=1000
		expect "all leave" busywait qdisc_is "$R" p2 qlen 0
		sniffed
		expect_eq "arrived" "$(packets eth0 'in udp' ' dport=2000 ')" 200
		expect_eq "addresses at each port" "$(learned "$R" | sed 's/.* //' | sort | uniq -c | xargs)" \
			"1 p1 1 p2 1 p3"
		expect_eq "... of S" "$(learned "$S" | sed 's/.* //' | sort | uniq -c | xargs)" "1 s1 2 s2"
		expect_eq "the receiver" "$(learned "$S" "$receiver")" nobody
		expect_eq "the same as before" "$(learned "$R")" "${known:=$(learned "$R")}"
	done
	expect_eq "BTS at the sender" "$(stack "$H1" UdpNoPorts)" \
		"$(($(qdisc "$R" p2 bts_sent) + $(qdisc "$R" p3 bts_sent)))"
}

# at_p2: its message has which source, as the bridge learns it
at_p2() {
	ip -n "$R" link set p2 type bridge_slave fdb_flush
	inject "$H1" "$FROM" 192.0.2.2 n=50 udp=1 len=1000
	expect "all leave" busywait qdisc_is "$R" p2 qlen 0
	message=$(learned "$R" | grep p2)
}

# The source follows the device's address, for queues old and new
test_address_changed() {
	local message before
	three_ports
	ports p1 p2 p3
	bts p2
	at_p2
	before=$message
	ip -n "$R" link set p2 address 02:00:00:00:07:07
	at_p2
	expect "another" test "$message" != "$before"
	before=$message
	in_ns "$R" tc qdisc del dev p2 root
	bts p2
	at_p2
	expect_eq "of a new queue" "$message" "$before"
}

run_tests two_tags provider_tag four_tags forgotten forgotten_src not_cacheable not_cacheable_macvlan not_cacheable_index not_cacheable_vlan not_cacheable_joined mirror below_vlan below_bond \
	below_macvlan two_bridges address_changed
