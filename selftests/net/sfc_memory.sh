#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# memory_limit bounds the memory that waiting packets take, not only their bytes on the wire: small
# packets, super-packets and copies, on every path through the qdisc, in bands, in sfc_hold, and
# when the limit is lowered under load.  Without it, a flood of small packets takes many times the
# port's limit.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_books.sh"

MB=1048576

# frames N BYTES [WORDS...]
frames() {
	in_ns "$R" "$BOLT_PROGRAMS/bolt_burst" 192.0.2.2 "n=$1" "len=$(($2 - 42))" "${@:3}" ||
		fail "bolt_burst"
}

# port OPTIONS...: a link of 1 Mbit/s
port() {
	setup_sink 1
	expect "sfc $*" tc_ qdisc add dev d0 root handle 21: sfc rate 1mbit "$@"
}

# full LIMIT [PARTS]: as much memory as the data of a band may take, an eighth less than there is,
# of so many parts one, is in use, but for a packet
full() {
	local used most=$(($1 * 7 / 8 / ${2:-1}))
	used=$(of 21: memory_used)
	expect_le "memory" "$used" "$most"
	expect_ge "memory" "$used" $((most - 150000))
	expect_ge "drops" "$(of 21: drop_memory)" 1
	expect_eq "drops as counted" "$(column 21: 5)" "$(of 21: drop_data)"
}

# Nothing is left of it
emptied() {
	expect "no shaper" tc_ qdisc change dev d0 root handle 21: sfc rate 0
	expect "drains" busywait all_empty
	expect_eq "memory" "$(of 21: memory_used)" 0
}

# Frames of 60 bytes take more than ten times that, on the fast path and beside it
test_small_frames() {
	local options parts
	while read -r parts options; do
		# shellcheck disable=SC2086 # words
		port limit 16mb memory_limit 2mb $options
		frames 4000 60
		full $((2 * MB)) "$parts"
		expect_le "bytes" "$(column 21: 4)" 300000
		emptied
		undo
	done <<-LIST
		1 bolt
		1 nobolt
		1 ecn 3000b
		1 buffer 64mb
		4 bands 4 default 2
		4 bands 2 weights 3 1 default 2
	LIST
}

# band_drops N: of the Nth band
band_drops() {
	tc_ -s class show dev d0 classid "21:$1" | grep -oP '\(dropped \K\d+'
}

# Each band has its part, whatever another takes: of bytes, small frames in one have not half their
# part when they have all memory
test_bands() {
	port limit 16mb memory_limit 2mb bands 2 default 2
	frames 4000 60
	full $((2 * MB)) 2
	frames 1 60 prio=210001
	expect_eq "the other band: drops" "$(band_drops 1)" 0
	frames 4000 60 prio=210001
	expect_ge "full as well: drops" "$(band_drops 1)" 1
	full $((2 * MB))
	emptied
}

# The default is there without being asked for, and full packets of the default limit fit
test_default() {
	port
	frames 12000 1514
	expect_eq "full packets: drops" "$(of 21: drop_memory)" 0
	expect_ge "full packets: bytes" "$(column 21: 4)" $((15 * MB))
	emptied
	undo
	port
	frames 100000 60
	full $((64 * MB))
	emptied
}

# A burst that is split, one that is not, and copies
test_super_packets() {
	local options parts
	while read -r parts options; do
		# shellcheck disable=SC2086 # words
		port limit 16mb memory_limit 1mb $options
		frames 200 8042 gso=100
		full "$MB" "$parts"
		emptied
		undo
	done <<-LIST
		1 split-gso
		1 no-split-gso
		2 bands 2 no-split-gso
	LIST
}

test_copies() {
	port limit 16mb memory_limit 1mb
	ip -n "$R" link add d1 up type dummy
	expect "clsact" tc_ qdisc add dev d1 clsact
	# shellcheck disable=SC2046 # words
	expect "copies" tc_ filter add dev d1 egress matchall \
		$(printf ' action mirred egress mirror dev d0%.0s' 1 2 3 4 5 6 7 8 9 10)
	ip -n "$R" route add 192.0.2.2/32 dev d1 src 192.0.2.1
	frames 300 60
	full "$MB"
	emptied
}

# Less than is in use: the surplus goes at once
test_lowered() {
	local options before
	for options in "bands 1" "bands 2 dscp 0:2"; do
		# shellcheck disable=SC2086 # words
		port limit 16mb $options
		frames 4000 60
		before=$(column 21: 3)
		expect "lower" tc_ qdisc change dev d0 root handle 21: sfc memory_limit 1mb
		expect_le "memory" "$(of 21: memory_used)" "$MB"
		expect_ge "memory" "$(of 21: memory_used)" $((MB - 2000))
		expect_eq "dropped" $(($(column 21: 5) + $(column 21: 3))) "$before"
		emptied
		undo
	done
	# a packet that finds nothing waiting is queued, and the last one stays
	port memory_limit 1b
	frames 5 1514
	expect_eq "waiting" "$(column 21: 3)" 1
	expect_eq "dropped" "$(of 21: drop_memory)" 3
	emptied
}

# What a parent has peeked at is not here any more
test_peeked() {
	setup_sink 1
	tc_ qdisc add dev d0 root handle 1: tbf rate 8kbit burst 2000 limit 100mb
	expect "sfc" tc_ qdisc add dev d0 parent 1:1 handle 21: sfc nobolt memory_limit 1mb limit 16mb
	frames 3000 60
	full "$MB"
	tc_ qdisc change dev d0 root handle 1: tbf rate 1gbit burst 200000 limit 100mb
	expect "drains" busywait all_empty
	expect_eq "memory" "$(of 21: memory_used)" 0
}

# A host's port: its child may be any qdisc and drop packets, so they are counted and not their memory:
# each takes its bytes, and at least 576 besides
test_hold() {
	local qlen
	setup_sink 1
	tc_ qdisc add dev d0 root handle 1: tbf rate 8kbit burst 2000 limit 100mb
	expect "sfc_hold" tc_ qdisc add dev d0 parent 1:1 handle 21: sfc_hold limit 16mb
	frames 120000 60
	qlen=$(column 21: 3)
	expect_le "packets" "$qlen" $((64 * MB / (576 + 60)))
	expect_ge "packets" "$qlen" $((64 * MB / 768))
	expect_ge "drops" "$(column 21: 5)" 1
	tc_ qdisc change dev d0 root handle 1: tbf rate 1gbit burst 200000 limit 100mb
	expect "drains" busywait all_empty
}

# The high band has the last eighth
test_high_band() {
	setup_router
	ip -n "$H2" route add blackhole 192.0.2.7/32
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root handle 21: sfc rate 100kbit memory_limit 256kb nobolt
	inject "$H1" 192.0.2.7 "$A2" n=400 bflags=none len=20
	inject "$H1" 192.0.2.7 "$A2" n=400 bflags=40 len=0
	expect_ge "ACKs that were queued" "$(qdisc "$R" r2 high)" 20
	expect_eq "ACKs" $(($(qdisc "$R" r2 high) + $(qdisc "$R" r2 drop_high))) 400
	expect_eq "for want of memory" "$(qdisc "$R" r2 drop_memory)" \
		$(($(qdisc "$R" r2 drop_high) + $(qdisc "$R" r2 drop_data)))
	expect_le "memory" "$(qdisc "$R" r2 memory_used)" 262144
}

# Four times the limit, at least 64 MB, until it is given
test_follows_limit() {
	setup_sink 1
	expect "sfc" tc_ qdisc add dev d0 root handle 21: sfc limit 100mb
	expect_eq "four limits" "$(qdisc "$R" d0 memory_limit)" $((400 * MB))
	expect "another" tc_ qdisc change dev d0 root handle 21: sfc limit 2gb
	expect_eq "the most" "$(qdisc "$R" d0 memory_limit)" 4294967295
	expect "less" tc_ qdisc change dev d0 root handle 21: sfc limit 1mb
	expect_eq "the least" "$(qdisc "$R" d0 memory_limit)" $((64 * MB))
	expect "given" tc_ qdisc change dev d0 root handle 21: sfc limit 100mb memory_limit 5mb
	expect "another limit" tc_ qdisc change dev d0 root handle 21: sfc limit 200mb
	expect_eq "as given" "$(qdisc "$R" d0 memory_limit)" $((5 * MB))
	expect "given, as it would be" tc_ qdisc change dev d0 root handle 21: sfc limit 16mb memory_limit 64mb
	expect "another limit" tc_ qdisc change dev d0 root handle 21: sfc limit 1gb
	expect_eq "as given" "$(qdisc "$R" d0 memory_limit)" $((64 * MB))
}

run_tests follows_limit small_frames bands default super_packets copies lowered peeked hold high_band
