#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A device goes down, moves to another namespace or is deleted, its MTU changes, or its namespace
# goes, while an sfc on it has packets waiting and its timer armed.  No packet and no timer may
# outlive the qdisc, so the module must be able to go at once.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_books.sh"

# A port with packets, SRC just sent, and a timer that is going to fire; alone or as a leaf
setup_full() {
	setup_sink 1
	if [ "$1" = leaf ]; then
		tc_ qdisc add dev d0 root handle 10: hfsc default 1
		tc_ class add dev d0 parent 10: classid 10:1 hfsc ls m2 100mbit
		expect "sfc" tc_ qdisc add dev d0 parent 10:1 handle 21: sfc rate 100kbit
	else
		expect "sfc" tc_ qdisc add dev d0 root handle 21: sfc rate 100kbit
	fi
	inject "$R" 192.0.2.1 192.0.2.2 n=30 bflags=84 len=934
	expect_ge "waiting" "$(column 21: 3)" 25
	expect_ge "SRC" "$(of 21: src_sent)" 20
}

# each_way COMMAND...: with sfc as root and as leaf; afterwards the module is free
each_way() {
	local how
	for how in root leaf; do
		setup_full "$how"
		expect "$*" "$@"
		expect "unload" "${unload[@]}"
		load sch_sfc
		# whatever was going to fire has fired
		sleep 1
		undo
	done
}
unload=(rmmod sch_sfc)

test_qdisc_deleted() {
	each_way no_root
}

replaced() {
	tc_ qdisc replace dev d0 root pfifo
}

test_qdisc_replaced() {
	each_way replaced
}

device_deleted() {
	ip -n "$R" link del d0
}

test_device_deleted() {
	each_way device_deleted
}

# A device leaves its qdiscs behind when it moves
device_moved() {
	setup_ns R2
	ip -n "$R" link set d0 netns "$R2" &&
		! in_ns "$R2" tc qdisc show dev d0 | grep -q sfc
}

test_device_moved() {
	each_way device_moved
}

# Namespaces are taken apart later, by a work item
test_namespace_deleted() {
	local unload=(busywait rmmod sch_sfc)
	each_way namespace_deleted
}

namespace_deleted() {
	ip netns del "$R"
}

# Down empties it, up works again: the same qdisc, the same configuration
test_device_down_and_up() {
	local before
	setup_full root
	before=$(tc_ -j qdisc show dev d0)
	expect "down" ip -n "$R" link set d0 down
	expect_eq "waiting" "$(column 21: 3)" 0
	expect_eq "bytes" "$(column 21: 4)" 0
	expect "up" ip -n "$R" link set d0 up
	expect_eq "configuration" "$(tc_ -j qdisc show dev d0)" "$before"
	before=$(sent)
	ip -n "$R" route replace 192.0.2.2 dev d0
	inject "$R" 192.0.2.1 192.0.2.2 n=3 bflags=84 len=934
	expect "sent" busywait sent_at_least $((before + 3))
	expect_fail "unloading" 'in use' rmmod sch_sfc
}

# The MTU falls, and rises beyond the limit, while packets wait
test_mtu_changes() {
	local mtu
	setup_full leaf
	for mtu in 600 9000 1500; do
		expect "mtu $mtu" ip -n "$R" link set d0 mtu "$mtu"
		expect_eq "mtu" "$(of 21: mtu)" $((mtu + 14))
		# full packets of before are still there, and leave
		expect_ge "waiting" "$(column 21: 3)" 20
	done
	expect "limit" tc_ qdisc change dev d0 parent 10:1 handle 21: sfc limit 2000b
	expect_le "waiting" "$(column 21: 3)" 2
	expect "beyond the limit" ip -n "$R" link set d0 mtu 9000
	expect_eq "ccthresh" "$(of 21: ccthresh)" 2000
	expect "drains" busywait all_empty
}

# datagrams N BYTES
datagrams() {
	in_ns "$R" "$BOLT_PROGRAMS/bolt_burst" 192.0.2.2 "n=$1" "len=$(($2 - 42))" || fail "bolt_burst"
}

# beyond KIND REASON OPTIONS...: then the MTU rises beyond that.  Larger packets still pass, one at a time,
# and a change is refused only if it asks for what does not fit
beyond() {
	local kind=$1 reason=$2 i
	shift 2
	setup_sink 1
	expect "$kind $*" tc_ qdisc add dev d0 root handle 21: "$kind" "$@"
	expect "mtu 9000" ip -n "$R" link set d0 mtu 9000
	for i in 1 2 3 4 5 6 7 8 9 10; do
		datagrams 1 4000
		expect "packet $i leaves" busywait all_empty
	done
	expect_eq "sent" "$(sent)" 10
	expect_eq "dropped" "$(column 21: 5)" 0
	# shellcheck disable=SC2086 # words
	expect "another option" tc_ qdisc change dev d0 root handle 21: "$kind" $other
	expect_fail "the same again" "$reason" tc_ qdisc change dev d0 root handle 21: "$kind" "$@"
	undo
}

test_mtu_beyond_limit() {
	local other='rtt 50us' few='Error: limit is below one packet'
	beyond sfc "$few" rate 1gbit limit 3000b
	beyond sfc "$few" rate 1gbit limit 3028b bands 2
	beyond sfc 'Error: limit leaves a band less than one packet' rate 1gbit limit 17000b bands 2
	beyond sfc 'Error: limit leaves a band less than one packet' rate 1gbit limit 29000b bands 2 weights 1 8
	beyond sfc 'Error: buffer is below one packet' rate 1gbit buffer 3000b
	other='share 50'
	beyond sfc_hold "$few" limit 3000b
}

# What is larger than a packet of the MTU: a super-packet, one with tags, one by a size table
test_packet_beyond_limit() {
	local i
	for i in 1 2 3; do
		setup_sink 1
		case $i in
		1) expect "sfc" tc_ qdisc add dev d0 root handle 21: sfc rate 1gbit limit 3000b no-split-gso ;;
		2) expect "sfc" tc_ qdisc add dev d0 root handle 21: stab overhead 24 sfc rate 1gbit limit 1514b ;;
		3)
			expect "sfc" tc_ qdisc add dev d0 root handle 21: sfc rate 1gbit limit 1514b
			in_ns "$R" ethtool -K d0 tx-vlan-hw-insert off >/dev/null 2>&1
			ip -n "$R" link add link d0 name v0 type vlan id 5
			in_ns "$R" sysctl -qw net.ipv6.conf.v0.disable_ipv6=1
			ips "$R" <<-BATCH
				addr del 192.0.2.1/24 dev d0
				addr add 192.0.2.1/24 dev v0
				link set v0 arp off up
			BATCH
			;;
		esac
		if [ "$i" = 1 ]; then
			super 0 10
		else
			datagrams 1 1514
		fi
		expect "it leaves" busywait all_empty
		expect_eq "$i: dropped, sent" "$(column 21: 5) $(sent)" "0 1"
		undo
	done
}

# The last packet stays, whatever the limit becomes
test_limit_below_what_waits() {
	setup_sink 1
	ip -n "$R" link set d0 mtu 9000
	expect "sfc" tc_ qdisc add dev d0 root handle 21: sfc rate 100kbit
	datagrams 4 8042
	expect "mtu 1500" ip -n "$R" link set d0 mtu 1500
	expect "limit" tc_ qdisc change dev d0 root handle 21: sfc limit 2000b
	expect_eq "waiting" "$(column 21: 3)" 1
	expect_eq "bytes" "$(column 21: 4)" 8042
	expect "rate" tc_ qdisc change dev d0 root handle 21: sfc rate 0
	expect "drains" busywait all_empty
}

# A device that takes any MTU: a packet is no larger than a super-packet can be
test_largest_mtu() {
	local mtu
	for mtu in 2147483634 2147483647; do
		setup_sink 1
		expect "mtu $mtu" ip -n "$R" link set d0 mtu "$mtu"
		expect "sfc" tc_ qdisc add dev d0 root handle 21: sfc
		expect "sfc" tc_ qdisc replace dev d0 root handle 22: sfc bands 2 buffer 16mb
		expect "sfc_hold" tc_ qdisc replace dev d0 root handle 23: sfc_hold
		undo
	done
}

# It is said once, not for each event
test_mtu_is_said_once() {
	local before i
	setup_sink 4
	ip -n "$R" link set d0 down
	expect "mq" tc_ qdisc add dev d0 root handle 9: mq
	for i in 1 2 3 4; do
		expect "sfc" tc_ qdisc add dev d0 parent "9:$i" handle "2$i:" sfc limit 3000b
	done
	before=$(dmesg | grep -c 'sfc: limit is below')
	for i in 9000 8000 7000; do
		ip -n "$R" link set d0 mtu "$i"
		expect "mtu $i" busywait eval "[ \"\$(of 21: mtu)\" = $((i + 14)) ]"
	done
	expect_eq "said" $(($(dmesg | grep -c 'sfc: limit is below') - before)) 4
}

run_tests qdisc_deleted qdisc_replaced device_deleted device_moved namespace_deleted \
	device_down_and_up mtu_changes mtu_beyond_limit packet_beyond_limit limit_below_what_waits \
	largest_mtu mtu_is_said_once
