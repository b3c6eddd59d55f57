#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A device of several transmit queues with an sfc on each, below mq, mqprio, taprio and multiq, and
# as the default qdisc.  Every packet must leave and sfc's counts must be right, also when the link
# goes down and when a queue goes away while packets wait in it.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_books.sh"

leaves() {
	local n
	for n in 1 2 3 4; do
		expect "sfc $n" tc_ qdisc replace dev d0 parent "10:$n" handle "2$n:" sfc nobolt "$@"
	done
}

# Packets of many flows, so that several queues have some
flood() {
	burst "${1-0}" 40 flows=40
}

splits() {
	local n sum=0
	for n in 1 2 3 4; do
		sum=$((sum + $(of "2$n:" gso_split)))
	done
	echo "$sum"
}

in_use() {
	in_ns "$R" "$BOLT_PROGRAMS/bolt_books" d0 print=1 | awk '$1 == "sfc" && $3 { n++ } END { print n + 0 }'
}

# mq and mqprio stop the device to replace one qdisc, which resets all of them before Linux 7
replacing_resets() {
	case $(uname -r) in
	6.*) echo ALL ;;
	*) echo ONE ;;
	esac
}

# queues AT_LEAST ALL|ONE [nobytes]: everything waits in so many sfc, is thrown away, replaced, and
# leaves; what replacing one resets
queues() {
	local n words=()
	[ -z "${3:-}" ] || words=("$3=10")
	flood
	expect_ge "queues in use" "$(in_use)" "$1"
	books "queued" "${words[@]}"
	# split by whichever sfc gets them
	super 0 10
	super 0 5
	expect_eq "split" "$(splits)" 2
	books "super-packets" "${words[@]}"
	tc_ qdisc change dev d0 parent 10:1 handle 21: sfc limit 3000b
	books "limit lowered" "${words[@]}"
	goes 22:
	[ "$2" = ONE ] || lost=$((lost + $(column 21: 3) + $(column 23: 3) + $(column 24: 3)))
	expect "pfifo" tc_ qdisc replace dev d0 parent 10:2 handle 32: pfifo
	books "replaced" "${words[@]}"
	goes 32:
	expect "sfc" tc_ qdisc replace dev d0 parent 10:2 handle 22: sfc nobolt rate 100kbit
	flood
	books "again" "${words[@]}"
	for n in 1 2 3 4; do
		tc_ qdisc change dev d0 parent "10:$n" handle "2$n:" sfc rate 0 limit 1mb
	done
}

test_mq() {
	setup_sink 4
	tc_ qdisc replace dev d0 root handle 10: mq
	leaves rate 100kbit
	queues 3 "$(replacing_resets)"
	drained
	flood
	expect "delete" tc_ qdisc del dev d0 root
}

test_mqprio() {
	setup_sink 4
	expect "mqprio" tc_ qdisc add dev d0 root handle 10: mqprio num_tc 2 \
		map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 3@0 1@3 hw 0
	leaves rate 100kbit
	flood 1
	expect_ge "the queue of its traffic class" "$(column 24: 3)" 39
	books "the other class"
	queues 4 "$(replacing_resets)"
	drained
	expect "delete" tc_ qdisc del dev d0 root
}

# accounted WHAT: each packet was sent, is in the fourth sfc, or was dropped by it
accounted() {
	expect_eq "$1: accounted for" "$(($(sent) + $(column 24: 3) + $(column 24: 5)))" "$injected"
	expect_eq "$1: bytes" "$(column 24: 4)" $(($(column 24: 3) * LEN))
}

accounted_empty() {
	[ "$(column 24: 3)" = 0 ]
}

# Gates open and shut: taprio asks its children for nothing while shut.  Linux 6.1 shows taprio itself
# in its children's places: they are changed by their own handles.  And it splits every super-packet
# itself; later ones only what is too large for a gate.
test_taprio() {
	local split=1

	case $(uname -r) in 6.1.*) split=0 ;; esac
	setup_sink 4
	expect "taprio" tc_ qdisc add dev d0 root handle 10: taprio num_tc 2 \
		map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 3@0 1@3 base-time 0 \
		sched-entry S 01 1000000 sched-entry S 02 1000000 clockid CLOCK_TAI
	leaves
	# taprio looks at a packet before it knows whether its gate is open
	flood 1
	flood 0
	expect "drains" busywait all_empty
	expect_eq "sent" "$(sent)" 80
	expect "rate" tc_ qdisc change dev d0 handle 24: sfc rate 100kbit
	flood 1
	expect_ge "waiting" "$(column 24: 3)" 30
	accounted "waiting"
	# taprio keeps books of its own, which no child can mend (TCQ_F_NOPARENT): they drift with a
	# split and with a drop, whatever the leaf.  Those of sfc are right.
	super 1 10
	expect_eq "split" "$(of 24: gso_split)" "$split"
	accounted "super-packet"
	expect "limit" tc_ qdisc change dev d0 handle 24: sfc limit 3000b
	expect_le "waiting" "$(column 24: 3)" 3
	accounted "limit lowered"
	expect "no limit" tc_ qdisc change dev d0 handle 24: sfc limit 1mb rate 0
	flood 1
	expect "leaves" busywait accounted_empty
	accounted "all"
	expect "delete" tc_ qdisc del dev d0 root
}

test_multiq() {
	setup_sink 4
	expect "multiq" tc_ qdisc add dev d0 root handle 10: multiq
	leaves rate 100kbit
	# multiq keeps no backlog of its own; what a child takes back makes it negative
	queues 3 ONE nobytes
	expect "drains" busywait drops_only
}

# A cbs without cbs_reset(), as in 6.1 and 6.12, forgets what waits when the link goes down, and its
# child does not: that leaves when the link is up again, and the count of cbs goes below zero
test_cbs_link_down() {
	local waits kept
	setup_sink 1
	parent cbs root
	expect "sfc" tc_ qdisc replace dev d0 parent 10:1 handle 21: sfc nobolt rate 1mbit
	flood
	waits=$(column 21: 3)
	expect_ge "waiting" "$waits" 30
	expect "down" ip -n "$R" link set d0 down
	kept=$(column 21: 3)
	expect "all or none of $waits in sfc: $kept" test "$kept" = 0 -o "$kept" = "$waits"
	expect_eq "in cbs" "$(column 10: 3)" 0
	expect "up" ip -n "$R" link set d0 up
	flood
	expect "leaves" busywait all_sent
	expect_eq "sent" "$(sent)" $((80 - waits + kept))
	expect_eq "in cbs" $(($(column 10: 3) << 32 >> 32)) $((-kept))
}

all_sent() {
	[ "$(column 21: 3)" = 0 ]
}

drops_only() {
	[ "$(in_use)" = 0 ] && [ "$(column 10: 3)" = 0 ]
}

# Every queue gets one, without options and without anybody to hear of an error
test_default_qdisc() {
	local before
	before=$(sysctl -n net.core.default_qdisc)
	defer sysctl -qw "net.core.default_qdisc=$before"
	expect "sysctl" sysctl -qw net.core.default_qdisc=sfc
	setup_sink 4
	expect "mq" tc_ qdisc replace dev d0 root handle 10: mq
	expect_eq "sfc" "$(tc_ -j qdisc show dev d0 | jq '[.[] | select(.kind == "sfc")] | length')" 4
	flood
	expect_eq "sent" "$(sent)" 40
	expect_eq "packets" "$(tc_ -s -j qdisc show dev d0 |
		jq '[.[] | select(.kind == "sfc") | .packets] | add')" 40
	expect "prio" tc_ qdisc replace dev d0 root handle 11: htb default 1
	expect "class" tc_ class add dev d0 parent 11: classid 11:1 htb rate 100mbit
	flood
	expect "drains" busywait sent_at_least 80
	expect_fail "unloading" 'in use' rmmod sch_sfc
	sysctl -qw "net.core.default_qdisc=$before"
}

# A queue that packets wait in goes away and comes back
test_fewer_queues() {
	local n
	setup_ns R H2
	ip link add name d0 numtxqueues 4 numrxqueues 4 netns "$R" type veth peer name eth0 \
		numtxqueues 4 numrxqueues 4 netns "$H2"
	in_ns "$R" sysctl -qw net.ipv6.conf.d0.disable_ipv6=1
	in_ns "$H2" sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1
	ip -n "$H2" link set eth0 up
	ips "$R" <<-BATCH
		addr add 192.0.2.1/24 dev d0
		link set d0 up
		neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev d0 nud permanent
	BATCH
	injected=0 lost=0
	expect "mq" tc_ qdisc replace dev d0 root handle 10: mq
	leaves rate 100kbit
	flood
	expect_ge "queues in use" "$(in_use)" 3
	expect "one queue" in_ns "$R" ethtool -L d0 tx 1
	expect_eq "queues in use" "$(in_use)" "$([ "$(column 21: 3)" = 0 ] && echo 0 || echo 1)"
	flood
	expect "four again" in_ns "$R" ethtool -L d0 tx 4
	flood
	expect_ge "queues in use" "$(in_use)" 1
	for n in 1 2 3 4; do
		tc_ qdisc change dev d0 parent "10:$n" sfc rate 0
	done
	expect "drains" busywait all_empty
}

run_tests mq mqprio taprio multiq cbs_link_down default_qdisc fewer_queues
