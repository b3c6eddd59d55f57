#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Devices go down, move, or go away, namespaces go, under an sfc with packets in it and its
# timer armed; the module can be unloaded at once.

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

load() {
	insmod "$BOLT_MODULES/sch_sfc.ko" 2>/dev/null || modprobe sch_sfc
}

# each_way COMMAND...: with sfc as root and as leaf; afterwards the module is free
each_way() {
	local how
	for how in root leaf; do
		setup_full "$how"
		expect "$*" "$@"
		expect "unload" "${unload[@]}"
		load
		# whatever was going to fire has fired
		sleep 1
		undo
	done
}
unload=(rmmod sch_sfc)

deleted() {
	tc_ qdisc del dev d0 root
}

test_qdisc_deleted() {
	each_way deleted
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

run_tests qdisc_deleted qdisc_replaced device_deleted device_moved namespace_deleted \
	device_down_and_up mtu_changes
