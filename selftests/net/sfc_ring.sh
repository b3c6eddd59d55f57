#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A device with a deep transmit ring.  With byte queue limits, the bytes in the ring must count as
# part of the port's queue, so that it sends SRC although its own queue is short; without them they
# must not.
#
#	R  d0 =====-- eth0  H2	d0: 4 transmit queues, a ring of 64 packets; 100 Gb/s, then slower

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_queues.sh"

SIZE=1514	# of an injected packet on the link
PLAIN=1502	# ... without the option

# link COMMAND WORDS...: to /proc/lablink, about d0
link() {
	local r h
	exec {r}<"/run/netns/$R" {h}<"/run/netns/$H2"
	case $1 in
	pair) echo "pair $r d0 $h eth0 100000000000 1000 1500 64" ;;
	rate) echo "set $r d0 $2 1000 64" ;;
	completions) echo "completions $r d0 $2 $3" ;;
	esac >/proc/lablink || return
	exec {r}<&- {h}<&-
}

parent=10:1	# of the sfc

leaf() {
	expect "sfc" tc_ qdisc replace dev d0 parent "$parent" handle 21: sfc "$@"
}

of() {
	tc_ -j -s qdisc show dev d0 | jq -r --arg c "$1" \
		'.[] | select(.handle == "21:") | (. + (.options // {}))[$c]'
}

send() {
	inject "$R" 192.0.2.1 192.0.2.2 "$@"
}

# bql WHICH [BYTES]: of the limits of d0's first transmit queue, read or set
bql() {
	local file=/sys/class/net/d0/queues/tx-0/byte_queue_limits/$1
	ip netns exec "$R" sh -c "${2+echo $2 >$file;} cat $file"
}

all_sent() {
	[ "$(tc_ -j -s qdisc show dev d0 | jq 'map(.qlen) | add') $(bql inflight)" = "0 0" ]
}

# Byte queue limits of ten packets, whatever they learn: in force with the first completion
limits() {
	expect "limits" link completions 1 0
	expect "limit" bql limit_min 15140
	expect "limit" bql limit_max 15140
	send n=1
	expect "is sent" busywait all_sent
}

# A packet takes 120 ms, so that hardly any leaves while the test looks
slow() {
	expect "slow" link rate 100000
	leaf link 100kbit
}

# What the ring holds counts, but for the packet on the wire; once it has left, nothing does
test_counts() {
	setup_queues
	limits
	slow
	# eleven are beyond the limit, and what waits here looks for them
	send n=14 bflags=none
	expect_eq "here" "$(of backlog)" $((3 * PLAIN))
	send n=1
	expect_eq "congested" "$(of congested)" 1
	expect_ge "seen" "$(of backlog_peak)" $((12 * PLAIN))
	expect_le "seen" "$(of backlog_peak)" $((14 * SIZE))
	expect "is sent" busywait all_sent
	send n=1
	expect_eq "nothing is there any more" "$(of congested)" 1
}

# ... and below an sfc_hold, which delays nothing that has left the sfc
test_counts_below_hold() {
	setup_queues
	limits
	expect "slow" link rate 100000
	expect "sfc_hold" tc_ qdisc replace dev d0 parent 10:1 handle 30: sfc_hold notagkey
	parent=30:1 leaf link 100kbit
	send n=14 bflags=none
	send n=1
	expect_eq "congested" "$(of congested)" 1
	expect_ge "seen" "$(of backlog_peak)" $((12 * PLAIN))
}

# A shared buffer has no account of what the device has taken: the port has room, whatever is there
test_buffer() {
	setup_queues
	limits
	slow
	leaf link 100kbit buffer 30000b alpha 1/4
	# eleven are beyond the limit; of 30000 bytes this port may hold a quarter, of what is left then less
	send n=15 bflags=none
	expect_eq "here" "$(of backlog)" $((4 * PLAIN))
	expect_eq "dropped" "$(of drop_buffer)" 0
}

# Without limits nobody says what is there
test_without_limits() {
	setup_queues
	slow
	send n=60 bflags=none
	expect_eq "here" "$(of backlog)" 0
	send n=1
	expect_eq "congested" "$(of congested)" 0
	# ... nor when it is full
	send n=14 bflags=none
	expect_ge "here" "$(of backlog)" $((8 * PLAIN))
	expect_le "seen" "$(of backlog_peak)" $((12 * PLAIN))
}

# What shapes is no part of the device's queue; without its rate it is again
test_shapes() {
	setup_queues
	limits
	slow
	send n=14 bflags=none
	expect "shapes" tc_ qdisc change dev d0 parent 10:1 handle 21: sfc link 100kbit rate 100kbit
	send n=1 bflags=none
	expect_le "seen" "$(of backlog_peak)" $((4 * SIZE))
	expect "shapes no more" tc_ qdisc change dev d0 parent 10:1 handle 21: sfc link 100kbit rate 0
	send n=1 bflags=none
	expect_ge "seen" "$(of backlog_peak)" $((12 * PLAIN))
}

run_tests counts counts_below_hold buffer without_limits shapes
