#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: debug
#
# One memory allocation after the other fails in every kind of request to sfc and sfc_hold, and in
# their traffic.  What fails must leave the old configuration and nothing else behind, and what
# succeeds must be complete.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_books.sh"
. "$(dirname "$0")/lib_faults.sh"

config() {
	tc_ -j qdisc show dev d0 | jq -cS '[.[] | select(.handle != "0:" or .kind == "sfc") | {kind, handle, parent, root, options}]'
}

test_tc_add() {
	setup_faults || return
	setup_sink 1
	each tc config no_root in_r tc qdisc add dev d0 root handle 20: sfc rate 10gbit \
		tagkey 000102030405060708090a0b0c0d0e0f addr 2001:db8::9
}

# The first port of a namespace that holds registers hooks as well, and each has a child
test_tc_add_hold() {
	setup_faults || return
	setup_sink 1
	each tc config no_root in_r tc qdisc add dev d0 root handle 20: sfc_hold share 50 \
		tagkey 000102030405060708090a0b0c0d0e0f
}

hold_was() {
	tc_ qdisc change dev d0 handle 20: root sfc_hold limit 1mb share 95 notagkey
}

test_tc_change_hold() {
	setup_faults || return
	setup_sink 1
	tc_ qdisc add dev d0 root handle 20: sfc_hold limit 1mb notagkey
	each tc config hold_was in_r tc qdisc change dev d0 handle 20: root sfc_hold limit 2mb share 50 \
		tagkey 000102030405060708090a0b0c0d0e0f
}

was() {
	tc_ qdisc change dev d0 handle 20: root sfc rate 10gbit limit 1mb sm ttl 9 notagkey
}

test_tc_change() {
	setup_faults || return
	setup_sink 1
	tc_ qdisc add dev d0 root handle 20: sfc rate 10gbit limit 1mb ttl 9
	each tc config was in_r tc qdisc change dev d0 handle 20: root sfc rate 1gbit limit 2mb \
		nosm ttl 7 tagkey 000102030405060708090a0b0c0d0e0f
}

# What a change needs of the namespace: cache, estimator, list of edges, memory, flows of SRCC; there is none before
namespace_again() {
	ip netns del "$R"
	setup_sink 1
	tc_ qdisc add dev d0 root handle 20: sfc rate 10gbit limit 1mb ttl 9
}

test_tc_change_namespace() {
	setup_faults || return
	setup_sink 1
	tc_ qdisc add dev d0 root handle 20: sfc rate 10gbit limit 1mb ttl 9
	ALWAYS=always each tc config namespace_again in_r tc qdisc change dev d0 handle 20: root \
		sfc limit 2mb ttl 7 pause edge cache switchkey "$SWITCHKEY" estimator 10us \
		buffer 1mb pfc prio 1 xoff 9000b srcc measured
}

# What comes in by an edge port is not remembered: whether r2 is one, by r1's answer to a BTS
edge() {
	local before
	before=$(qdisc "$R" r1 cache_ignored)
	inject "$H2" "$A2" 192.0.2.7 bts=1000000000
	tc_ -j qdisc show dev r2 | jq -c '[.[].kind]'
	echo "ignored $(($(qdisc "$R" r1 cache_ignored) - before))"
}

no_edge() {
	tc_ qdisc del dev r2 root
}

# Between R and H2 is a device of two queues, which share a meter
setup_edge() {
	setup_router
	addr "$H1" eth0 192.0.2.7/24 2001:db8:1::7/64
	ip -n "$R" link del r2
	ip link add name r2 numtxqueues 2 netns "$R" type veth peer name eth0 netns "$H2"
	addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
	addr "$H2" eth0 198.51.100.1/24 2001:db8:2::1/64 198.51.100.254 2001:db8:2::ff
	wait_up
	expect "r1" tc_ qdisc add dev r1 root sfc nobolt pause cache edge \
		switchkey "$SWITCHKEY" maxpause 4s
}

# A port that is counted as an edge and then finds no memory for what the queues share
test_tc_add_edge() {
	setup_faults || return
	setup_edge
	each tc edge no_edge in_r tc qdisc add dev r2 root handle 20: sfc nobolt edge
}

# One that becomes an edge, and stays as it was where it cannot
not_yet_edge() {
	tc_ qdisc replace dev r2 root handle 20: sfc nobolt rate 10gbit noedge
}

test_tc_change_edge() {
	setup_faults || return
	setup_edge
	not_yet_edge
	each tc edge not_yet_edge in_r tc qdisc change dev r2 root handle 20: sfc rate 0 edge
}

pfifo_again() {
	tc_ qdisc replace dev d0 root handle 1: pfifo limit 7
}

test_tc_replace() {
	setup_faults || return
	setup_sink 1
	pfifo_again
	each tc config pfifo_again in_r tc qdisc replace dev d0 root handle 20: sfc rate 10gbit
}

# With packets in it
sfc_again() {
	tc_ qdisc add dev d0 root handle 20: sfc rate 8kbit nobolt && burst 0 5
}

test_tc_del() {
	setup_faults || return
	setup_sink 1
	sfc_again
	each tc config sfc_again in_r tc qdisc del dev d0 root
}

drr_leaf() {
	tc_ qdisc replace dev d0 parent 10:1 handle 31: pfifo limit 7
}

# As a leaf: what fails leaves the old leaf, and its packets, where they were
test_tc_graft() {
	setup_faults || return
	setup_sink 1
	tc_ qdisc add dev d0 root handle 10: drr
	tc_ class add dev d0 parent 10: classid 10:1 drr
	drr_leaf
	each tc config drr_leaf in_r tc qdisc replace dev d0 parent 10:1 handle 20: sfc rate 8kbit
}

# What mq cannot have in full it does not have in part
test_default_qdisc() {
	setup_faults || return
	setup_sink 4
	defer sysctl -qw "net.core.default_qdisc=$(sysctl -n net.core.default_qdisc)"
	sysctl -qw net.core.default_qdisc=sfc
	each tc config no_root in_r tc qdisc add dev d0 root handle 10: mq
}

# One in so many allocations of a packet fails, whoever asks: segments of a split, control messages,
# headers made writable.  Nothing is lost but packets.  Chance decides which, and not a count: the
# packets of a flow, its ACKs and its SRC take turns, so every ninth could always be the same one's.
test_packets() {
	local cache cc burst percent
	setup_faults || return
	setup_router
	expect "sfc" tc_ qdisc add dev r2 root sfc rate 200mbit
	for cache in skbuff_head_cache skbuff_fclone_cache skbuff_small_head; do
		[ -e /sys/kernel/slab/"$cache"/failslab ] || continue
		defer bash -c "echo 0 >/sys/kernel/slab/$cache/failslab"
		echo 1 >/sys/kernel/slab/"$cache"/failslab
	done
	defer bash -c "echo 0 >$debug/failslab/probability; echo N >$debug/failslab/cache-filter"
	echo Y >"$debug"/failslab/cache-filter
	echo -1 >"$debug"/failslab/times
	echo 1 >"$debug"/failslab/interval
	# not to the end of the stream: TCP sends no FIN at all if it has no memory for it just then
	while read -r cc burst percent; do
		echo 0 >"$debug"/failslab/probability
		in_ns "$H1" sysctl -qw net.bolt.burst_segs="$burst"
		rm -f "$tmp"/up "$tmp"/go
		server "$H2" cc "$cc" listen "$A2" 5001 recv 500000
		spawn CLIENT "$tmp/client" in_ns "$H1" timeout 120 "$BOLT_PROGRAMS/bolt_xfer" \
			cc "$cc" connect "$A2" 5001 send 1000 outq mark "$tmp/up" \
			wait "$tmp/go" send 499000 outq
		expect "connected" busywait test -e "$tmp/up"
		echo "$percent" >"$debug"/failslab/probability
		touch "$tmp/go"
		ended client "$CLIENT"
		echo 0 >"$debug"/failslab/probability
		server_done
	# Nearly each super-packet of twenty segments fails, so single ones have to cause the SRC.  How many
	# of those fail is chance; faults_atomic.py has each of their allocations.
	done <<-LIST
		cubic 20 14
		bolt 20 14
		bolt 1 10
		bolt 1 14
	LIST
	expect_ge "splits that failed" "$(qdisc "$R" r2 gso_failed)" 1
	expect "drains" busywait qdisc_is "$R" r2 backlog 0
	expect_eq "qlen" "$(qdisc "$R" r2 qlen)" 0
}

run_tests tc_add tc_add_hold tc_add_edge tc_change tc_change_hold tc_change_edge tc_change_namespace \
	tc_replace tc_del tc_graft default_qdisc packets
