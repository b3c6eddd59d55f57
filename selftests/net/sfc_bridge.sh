#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A port of a bridge: what it reads behind VLAN tags, and what it leaves alone.

. "$(dirname "$0")/lib.sh"

FROM=192.0.2.7

# qinq PROTO...: through R, a bridge, behind these tags, the outermost first.  Each is of VLAN 1281
# and PCP 2, so that it begins as an IPv4 header does, ECT(1) and all.
#	H1 v1, v2... on eth0 -- b1  R  b2 -- eth0 H2
qinq() {
	local ns dev tag i
	setup_ns H1 R H2
	ip link add name eth0 netns "$H1" type veth peer name b1 netns "$R"
	ip link add name b2 netns "$R" type veth peer name eth0 netns "$H2"
	ips "$R" <<-BATCH
		link add br0 type bridge
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

run_tests two_tags provider_tag four_tags
