#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Several transmit queues of one link, an sfc on each: thresholds, supply and PRU tokens are the
# port's, whichever of its queues a packet takes, and follow when queues come and go under traffic.
# Otherwise each queue would grant the whole link, and none would see the congestion of the others.
#
#	R  d0 =====-- eth0  H2	d0: 4 queues, which a packet's priority chooses (mqprio); 100 Gb/s, then slower

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_queues.sh"

SIZE=1514	# of an injected packet on the link
PLAIN=1502	# ... without the option
PACKET_NS=121	# that it takes there

# link COMMAND NAME_OF_R...: to /proc/lablink, R's descriptor first
link() {
	local r h
	exec {r}<"/run/netns/$R" {h}<"/run/netns/$H2"
	case $1 in
	pair) echo "pair $r d0 $h eth0 100000000000 1000 1500 1" ;;
	slow) echo "set $r d0 ${2-1000000} 1000 1" ;;
	esac >/proc/lablink || fail "link $*"
	exec {r}<&- {h}<&-
}

leaf() {
	local n=$1
	shift
	expect "sfc $n" tc_ qdisc replace dev d0 parent "10:$n" handle "2$n:" sfc "$@"
}

leaves() {
	local n
	for n in 1 2 3 4; do
		leaf "$n" "$@"
	done
}

# of N COUNTER: of the sfc at queue N
of() {
	tc_ -j -s qdisc show dev d0 | jq -r --arg h "2$1:" --arg c "$2" \
		'.[] | select(.handle == $h) | (. + (.options // {}))[$c]'
}

sum() {
	tc_ -j -s qdisc show dev d0 | jq -r --arg c "$1" '[.[] | select(.kind == "sfc") | .[$c]] | add'
}

# send QUEUE WORDS...: data, INC set unless they say otherwise
send() {
	local queue=$1
	shift
	inject "$R" 192.0.2.1 192.0.2.2 "prio=$((queue - 1))" "$@"
}

idle() {
	[ "$(sum qlen)" = 0 ]
}

# Nothing waits, and everybody knows
expect_idle() {
	expect "drains" busywait idle
	expect_eq "backlog" "$(sum backlog)" 0
	expect_eq "backlog of the port" "$(sum port_backlog)" 0
}

# What waits in one queue is congestion in another
test_backlog() {
	setup_queues
	leaves
	link slow
	send 2 n=21 bflags=none
	expect_eq "waiting" "$(of 2 backlog)" $((20 * PLAIN))
	send 3
	expect_eq "seen by an empty queue" "$(of 3 congested)" 1
	# told when it is off by an eighth or a part of ccthresh as a packet comes
	expect_ge "seen" "$(of 3 backlog_peak)" $((19 * PLAIN * 8 / 9))
	expect_le "seen" "$(of 3 backlog_peak)" $((21 * PLAIN))
	expect_idle
	send 3
	expect_eq "seen when it is gone" "$(of 3 congested)" 1
	expect_idle
}

# cbs and netem ask the kind for what to call, not the qdisc
test_below_another() {
	setup_queues
	leaves
	expect "cbs" tc_ qdisc replace dev d0 parent 10:2 handle 32: cbs idleslope 80000 sendslope -20000 \
		hicredit 100000 locredit -1000000
	expect "sfc" tc_ qdisc replace dev d0 parent 32:1 handle 22: sfc
	link slow
	send 2 n=21 bflags=none
	expect_eq "waiting" "$(of 2 backlog)" $((20 * PLAIN))
	send 3
	expect_eq "seen by an empty queue" "$(of 3 congested)" 1
	expect_idle
}

# One packet in each of four queues: none has ccthresh, the port has twice that
test_backlog_of_many() {
	local n
	setup_queues
	leaves
	link slow
	# one is on the link; of the others the last is told when one more comes
	send 1 n=2 bflags=none
	for n in 2 3 4; do
		send "$n" n=2 bflags=none
	done
	send 1
	expect_eq "congested" "$(of 1 congested)" 1
	expect_idle
}

# One that passes through an empty queue is no news to the others
test_quiet_is_quiet() {
	local before
	setup_queues
	leaves nobolt
	# the first are late, and one behind the other
	send 1 n=40 prios=4 gap=$((2 * PACKET_NS))
	before=$(sum port_writes)
	send 1 n=400 prios=4 gap=$((2 * PACKET_NS))
	expect_eq "writes" $(($(sum port_writes) - before)) 0
	expect_idle
}

# Four fifths of the link, spread over its queues: the last fifth is granted once, not by each
test_supply() {
	local packets=4000 gap=150 granted most
	setup_queues
	leaves nosrc
	send 1 n="$packets" prios=4 gap="$gap"
	expect_eq "queues" "$(of 1 queues)" 4
	granted=$(sum inc_sm)
	# what there was, what may be saved up, and what four queues may not have said yet (share.h)
	most=$(((gap - PACKET_NS) * packets / PACKET_NS + (100000 + 4 * (25000 + SIZE)) / SIZE))
	say "granted $granted of $packets, $(sum port_writes) writes"
	expect_le "granted" "$granted" "$most"
	# all but what four queues have in hand
	expect_ge "granted" "$granted" $(((gap - PACKET_NS) * packets / PACKET_NS - (100000 + 4 * SIZE) / SIZE))
	# not each packet
	expect_le "writes" "$(sum port_writes)" $((packets / 12))
	expect_idle
}

# What queues do not need is another's: half of the link is free, and all packets are in one queue
test_supply_of_idle_queues() {
	setup_queues
	leaves nosrc
	send 1 n=8 prios=4
	send 3 n=1000 gap=$((2 * PACKET_NS))
	expect_ge "granted" "$(of 3 inc_sm)" 950
	expect_idle
}

# LAST in one queue is a token in another; each is given once
test_pru() {
	setup_queues
	leaves nosm nosrc
	send 1 n=3 bflags=90 gap=$((2 * PACKET_NS))
	send 2 n=3 bflags=90 gap=$((2 * PACKET_NS))
	expect_eq "tokens" "$(of 4 pru_token)" 6
	send 3 n=4 gap=$((2 * PACKET_NS))
	send 1 n=8 prios=4 gap=$((2 * PACKET_NS))
	expect_eq "granted" "$(sum inc_pru)" 6
	expect_eq "granted in the third" "$(($(of 3 inc_pru) >= 4))" 1
	expect_eq "tokens" "$(of 4 pru_token)" 0
	send 1 n=400 bflags=90 prios=4 gap=$((2 * PACKET_NS))
	expect_eq "tokens, most" "$(of 4 pru_token)" 256
	expect_eq "added" "$(sum pru_added)" $((6 + 256))
	expect_idle
}

# A short queue is in no token's way; the next queue's packets have them
test_pru_in_a_queue() {
	setup_queues
	leaves nosm nosrc pruthresh 24kb
	link slow
	send 2 n=6 bflags=none
	send 1 n=3 bflags=90
	expect_eq "tokens" "$(of 4 pru_token)" 3
	send 3 n=5
	expect_eq "congested" "$(of 3 congested)" 5
	expect_eq "granted" "$(of 3 inc_pru)" 3
	expect_eq "tokens" "$(of 4 pru_token)" 0
	expect_idle
}

# Who shapes, who has bands and who is alone is a port by itself
test_alone() {
	local n
	setup_queues
	leaf 1
	expect_eq "alone" "$(of 1 queues)" 0
	leaf 2
	expect_eq "two" "$(of 1 queues)" 2
	leaf 3 rate 1mbit
	leaf 4 bands 2
	expect_eq "with one that shapes and one with bands" "$(of 1 queues) $(of 3 queues) $(of 4 queues)" "2 0 0"
	expect "change" tc_ qdisc change dev d0 parent 10:3 handle 23: sfc rate 0
	expect "change" tc_ qdisc change dev d0 parent 10:4 handle 24: sfc bands 1
	expect_eq "all" "$(of 1 queues) $(of 3 queues) $(of 4 queues)" "4 4 4"
	expect "root" tc_ qdisc replace dev d0 root handle 30: sfc
	expect "another" tc_ qdisc replace dev d0 root handle 21: sfc
	expect_eq "root" "$(of 1 queues)" 0
	# classes of one transmit queue are no queues of the port
	expect "htb" tc_ qdisc replace dev d0 root handle 10: htb
	for n in 1 2; do
		expect "class" tc_ class add dev d0 parent 10: classid "10:$n" htb rate 10mbit
		leaf "$n" link 10mbit
	done
	expect_eq "classes" "$(of 1 queues) $(of 2 queues)" "0 0"
}

# One of four was replaced: mqprio stops the device for that, which empties all before Linux 7.  After,
# the port knows what waits in the others but for an eighth, a packet for each, and ccthresh (port.c)
others_wait() {
	local waits
	waits=$(sum backlog)
	case $(uname -r) in
	6.*) expect_eq "nothing waits" "$(of 1 port_backlog)" 0 ;;
	*)
		expect_ge "packets in the others" "$waits" $((30 * PLAIN))
		expect_ge "least of the port" "$(of 1 port_backlog)" $((waits * 7 / 8 - 4 * PLAIN))
		expect_le "most of the port" "$(of 1 port_backlog)" $((waits * 9 / 8 + 4 * PLAIN))
		;;
	esac
}

# With packets in all queues one goes, comes back, shapes, and the device goes: the sum is right
test_come_and_go() {
	local what n
	for what in device namespace; do
		setup_queues
		leaves
		link slow
		send 1 n=80 prios=4 bflags=none
		expect_ge "waiting" "$(of 1 port_backlog)" $(((79 - 4) * PLAIN * 8 / 9))
		expect "limit" tc_ qdisc change dev d0 parent 10:4 handle 24: sfc limit 3028b
		expect "shapes" tc_ qdisc change dev d0 parent 10:2 handle 22: sfc rate 1mbit
		expect_eq "of three" "$(of 1 queues)" 3
		expect_le "without the one that shapes" "$(of 1 port_backlog)" $((60 * PLAIN))
		expect "shapes no more" tc_ qdisc change dev d0 parent 10:2 handle 22: sfc rate 0
		expect "pfifo" tc_ qdisc replace dev d0 parent 10:3 pfifo
		expect_eq "of three" "$(of 1 queues)" 3
		others_wait
		leaf 3
		send 1 n=80 prios=4 bflags=none
		for n in 1 2 3; do
			expect "deleted" tc_ qdisc replace dev d0 parent "10:$n" pfifo
		done
		expect_eq "the last" "$(of 4 queues)" 0
		send 4 n=3 bflags=none
		link slow 100000000000
		expect "drains" busywait idle
		leaves
		link slow
		send 1 n=80 prios=4 bflags=none
		if [ "$what" = device ]; then
			expect "device goes" ip -n "$R" link del d0
		else
			expect "namespace goes" ip netns del "$R"
		fi
		undo
	done
	expect "unloading" busywait rmmod sch_sfc
	insmod "$BOLT_MODULES/sch_sfc.ko"
}

run_tests backlog below_another backlog_of_many quiet_is_quiet supply supply_of_idle_queues pru pru_in_a_queue alone come_and_go
