#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The pause cache of the switch next to the sender: which BTS fill it, which packets are answered
# from it, and when an entry is forgotten.  What is believed too easily would let a host pause
# others, and what is forgotten too late would pause senders for a queue that is gone.
#
#	H1 ---- r1  R  r2 ---- H2
#
# R is the sender's switch: r1 faces H1 and feeds the cache with BTS on their way to H1; r2 faces
# the rest of the network and looks up.  BTS are crafted at H2.

. "$(dirname "$0")/lib.sh"

# A place behind H2 that is congested
FAR=198.51.100.9 FAR6=2001:db8:2::9

# switch [OPTIONS...]: of both ports
switch() {
	setup_router
	addr "$H1" eth0 192.0.2.7/24 2001:db8:1::7/64
	in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 9 >/dev/null 2>&1
	addr "$H2" eth0 "$FAR"/24 "$FAR6"/64
	expect "$FAR" busywait refused "$FAR"
	expect "$FAR6" busywait refused "$FAR6"
	expect "r1" in_ns "$R" tc qdisc add dev r1 root sfc nobolt pause cache edge \
		switchkey "$SWITCHKEY" maxpause 4s "$@"
	expect "r2" in_ns "$R" tc qdisc add dev r2 root sfc nobolt pause cache suppress off \
		switchkey "$SWITCHKEY" maxpause 4s "$@"
	sniff "$H1" eth0
}

# bts NAME=VALUE...: crafted, about FAR, to H1's second address; 3 s
bts() {
	inject "$H2" "$FAR" 192.0.2.7 "$@" bts=3000000000
}

# One packet to FAR
data() {
	inject "$H1" 192.0.2.7 "$FAR" "$@" bflags=none len=100 n=1
}

# answers [PATTERN...]: BTS from the cache that H1 got
answers() {
	packets eth0 'in udp' ' type=2 cflags=2 ' "$@"
}

answered() {
	[ "$(answers)" = "$1" ]
}

# ns FIELD of the last answer
pause() {
	grep ' type=2 cflags=2 ' "$tmp/sniff.eth0" | tail -1 | sed 's/.* pause=\([0-9]*\) .*/\1/'
}

test_feed_and_answer() {
	switch
	data
	counters "$R" r2 bts_sent=0 cache_hits=0
	bts
	counters "$R" r1 cache_learned=1 cache_entries=1 cache_refused=0 bts_sent=0
	data tos=1
	counters "$R" r2 bts_sent=1 bts_cached=1 cache_hits=1 cache_entries=1
	sniffed
	expect_eq "passed on" "$(packets eth0 'in udp' ' type=2 cflags=1 ')" 1
	expect_eq "from the destination" \
		"$(answers "src=$FAR dst=192.0.2.7 sport=12311 dport=12311" 'csum=ok')" 1
	# what is left of it, and the link that answers
	expect_le "pause" "$(pause)" 3000000000
	expect_ge "pause" "$(pause)" 2000000000
	expect_eq "of this switch" "$(answers ' queue=0 rate=10000000 ')" 1
}

# A BTS carries the rate of the link: a port that knows none, here of a dummy, sends no BTS
test_no_rate() {
	switch
	bts
	expect "dummy" ip -n "$R" link add d0 type dummy
	ip -n "$R" link set d0 up
	expect "sfc" in_ns "$R" tc qdisc add dev d0 root sfc nobolt pause cache switchkey "$SWITCHKEY"
	expect "route" ip -n "$R" route add "$FAR/32" dev d0
	data
	counters "$R" d0 cache_hits=1 bts_sent=0
	sniffed
}

test_ipv6() {
	switch
	inject "$H2" "$FAR6" 2001:db8:1::7 bts=3000000000
	counters "$R" r1 cache_learned=1
	inject "$H1" 2001:db8:1::7 "$FAR6" udp=1 len=100
	counters "$R" r2 bts_cached=1
	sniffed
	expect_eq "answer" "$(answers "src=$FAR6 dst=2001:db8:1::7")" 1
}

# The key: destination and DSCP, nothing else
test_key() {
	switch
	bts dscp=10
	data
	inject "$H1" 192.0.2.7 "$A2" bflags=none len=100 tos=40
	counters "$R" r2 cache_hits=0 bts_sent=0
	data tos=40
	data tos=42 sport=7 dport=8
	inject "$H1" 192.0.2.7 "$FAR" udp=1 len=100 tos=40
	counters "$R" r2 cache_hits=3 bts_cached=3
	sniffed
}

# A later end wins, an earlier one does not (Algorithm 1, line 5)
test_later_end_wins() {
	switch
	bts
	inject "$H2" "$FAR" 192.0.2.7 bts=1000000
	counters "$R" r1 cache_learned=2 cache_entries=1
	# until the earlier end has passed
	sleep 0.01
	data
	expect "answer" busywait answered 1
	expect_ge "still the first" "$(pause)" 2000000000
	inject "$H2" "$FAR" 192.0.2.7 bts=3900000000
	data
	sniffed
	expect_eq "answers" "$(answers)" 2
	expect_ge "the longer" "$(pause)" 3200000000
}

test_expiry() {
	switch
	inject "$H2" "$FAR" 192.0.2.7 bts=50000000
	counters "$R" r1 cache_learned=1
	sleep 0.06
	counters "$R" r2 cache_entries=0
	data
	counters "$R" r2 cache_hits=0 bts_sent=0
	# and learns again
	bts
	counters "$R" r1 cache_learned=2 cache_entries=1
	sniffed
}

# Not cacheable, answered from a cache elsewhere, another message, no pause: not for us
test_not_cacheable() {
	switch
	bts cflags=0
	bts cflags=2
	counters "$R" r1 cache_learned=0 cache_refused=0 cache_ignored=0 cache_entries=0
	sniffed
	expect_eq "passed on" "$(packets eth0 'in udp' ' type=2 cflags=[02] ')" 2
}

# A flag or a DSCP that does not exist, no message at all, about somebody else's packets
test_refused() {
	switch
	bts cflags=17
	bts dscp=64
	inject "$H2" "$FAR" 192.0.2.7 udp=1 sport=12311 dport=12311 len=68
	counters "$R" r1 cache_refused=3 cache_learned=0
	bts from=192.0.2.1
	inject "$H2" "$FAR6" 2001:db8:1::7 bts=3000000000 from=2001:db8:1::1
	counters "$R" r1 cache_refused=5 cache_learned=0
	# the congested place may differ from the source: a switch that has an address of its own
	bts about=203.0.113.77
	counters "$R" r1 cache_learned=1
	data
	counters "$R" r2 cache_hits=0
	sniffed
}

# A server has no business to send BTS
test_from_edge() {
	switch
	in_ns "$R" tc qdisc change dev r2 root sfc edge
	bts
	counters "$R" r1 cache_ignored=1 cache_learned=0
	in_ns "$R" tc qdisc change dev r2 root sfc noedge
	bts
	counters "$R" r1 cache_ignored=1 cache_learned=1
	# nor does a port at the last hop ask anybody else
	in_ns "$R" tc qdisc change dev r2 root sfc edge
	data
	counters "$R" r2 cache_hits=0
	in_ns "$R" tc qdisc change dev r2 root sfc noedge
	data
	counters "$R" r2 cache_hits=1
	sniffed
}

# ... by a VLAN either: the port is that of the VLAN, the device below it is none
test_from_edge_vlan() {
	switch
	add_vlan
	expect "route" ip -n "$H2" route add 192.0.2.7/32 via 203.0.113.254
	expect "edge" in_ns "$R" tc qdisc add dev r2.5 root sfc nobolt pause edge switchkey "$SWITCHKEY"
	inject "$H2" 203.0.113.1 192.0.2.7 bts=3000000000
	counters "$R" r1 cache_ignored=1 cache_learned=0
	in_ns "$R" tc qdisc change dev r2.5 root sfc noedge
	inject "$H2" 203.0.113.1 192.0.2.7 bts=3000000000
	counters "$R" r1 cache_ignored=1 cache_learned=1
	sniffed
}

# Only what a switch has tagged, whatever hosts know
test_switchkey() {
	local hosts=000102030405060708090a0b0c0d0e0f
	switch tagkey "$hosts"
	bts skey="$hosts"
	bts cflags=11
	counters "$R" r1 cache_refused=2 cache_learned=0
	in_ns "$R" tc qdisc change dev r1 root sfc switchkey "${hosts//0/f}"
	bts
	counters "$R" r1 cache_refused=3 cache_learned=0
	bts skey="${hosts//0/f}"
	counters "$R" r1 cache_refused=3 cache_learned=1
	# while one takes over from the other
	in_ns "$R" tc qdisc change dev r1 root sfc switchkey "${hosts//0/f},$SWITCHKEY"
	bts
	bts skey="${hosts//0/f}"
	bts skey="$hosts"
	counters "$R" r1 cache_refused=4 cache_learned=3
	sniffed
}

# Sent again, however late, it says no more than it did
test_replay() {
	switch
	bts
	counters "$R" r1 cache_learned=1 cache_refused=0
	bts age=3500000000
	counters "$R" r1 cache_learned=1 cache_refused=1
	expect "over" busywait qdisc_is "$R" r2 cache_entries 0
	bts age=2000000000
	data
	counters "$R" r2 bts_cached=1
	expect "answer" busywait answered 1
	# the clock was silent for 4 s or so, of which a sixteenth is forgiven
	expect_le "what is left" "$(pause)" 1400000000
	# clocks of switches differ; each is known by itself
	bts age=4000000000 clock=2
	counters "$R" r1 cache_learned=3 cache_refused=1
	bts age=4200000000 clock=2
	counters "$R" r1 cache_learned=4 cache_refused=1
	sniffed
}

test_maxpause() {
	switch
	in_ns "$R" tc qdisc change dev r1 root sfc maxpause 1s
	bts
	counters "$R" r1 cache_learned=1
	counters "$R" r2 cache_entries=1
	sleep 1.1
	counters "$R" r2 cache_entries=0
	sniffed
}

# A flow is told once in a period, from the cache as well
test_suppression() {
	switch
	in_ns "$R" tc qdisc change dev r2 root sfc suppress 2s
	bts
	data n=5
	data n=5 sport=7
	counters "$R" r2 cache_hits=10 bts_cached=2 bts_suppressed=8
	sniffed
}

# The longer of both (lines 18-19): the port's own queue may know better
test_own_queue_is_longer() {
	switch
	in_ns "$R" tc qdisc change dev r2 root sfc rate 1mbit qth 4542b qtg 1514b
	inject "$H2" "$FAR" 192.0.2.7 bts=20000000
	data n=10 len=1460
	counters "$R" r2 cache_hits=10 bts_sent=10 bts_cached=4
	expect "all leave" busywait qdisc_is "$R" r2 qlen 0
	sniffed
	expect_eq "own" "$(packets eth0 'in udp' ' type=2 cflags=0 ')" 6
	expect_eq "the last" "$(packets eth0 'in udp' ' cflags=0 .* queue=12112 .* pause=84784000 ')" 1
}

# Full: what is in it stays, what finds no room goes without, nothing breaks
test_full() {
	local n inserts full
	switch
	bts
	inject "$H2" 203.0.0.0 192.0.2.7 bts=3000000000 vary=1 n=2000
	inserts=$(qdisc "$R" r1 cache_learned)
	full=$(qdisc "$R" r1 cache_full)
	expect_eq "each counted" $((inserts + full)) 2001
	expect_le "bounded" "$inserts" 1024
	expect_ge "most of it used" "$inserts" 900
	n=$(qdisc "$R" r1 cache_entries)
	expect_eq "entries" "$n" "$inserts"
	data
	counters "$R" r2 cache_hits=1 bts_cached=1
	expect "empties" busywait qdisc_is "$R" r2 cache_entries 0
	sniffed
}

test_off() {
	switch nocache
	bts
	data
	counters "$R" r1 cache_learned=0
	counters "$R" r2 cache_hits=0 bts_sent=0
	sniffed
}

# The cache is the namespace's, and goes with it
test_namespaces() {
	switch
	bts
	setup_ns OTHER
	ip -n "$OTHER" link add dummy0 type dummy
	expect "other" in_ns "$OTHER" tc qdisc add dev dummy0 root sfc pause cache edge rate 1gbit \
		switchkey "$SWITCHKEY"
	counters "$OTHER" dummy0 cache_entries=0 cache_learned=0
	expect "gone with a pause in it" ip netns del "$OTHER"
	counters "$R" r1 cache_entries=1
	sniffed
}

# Tenants with the same addresses: a pause in the VRF of one is none of the other's
test_vrf() {
	switch
	setup_vrf
	ip -n "$R" route add "$FAR" dev r2
	ip -n "$H2" route add blackhole 203.0.113.7/32
	sniff "$H2" eth0
	bts
	counters "$R" r1 cache_learned=1
	data
	counters "$R" r2 bts_cached=1 cache_hits=1
	inject "$OTHER" 203.0.113.7 "$FAR" bflags=none len=100
	expect "arrives" busywait file_has "$tmp/sniff.eth0.h2" 'src=203.0.113.7'
	counters "$R" r2 bts_cached=1 cache_hits=1
	sniffed
}

# The whole way: congestion behind S, BTS by S, remembered at R, the next flow is told by R
two_switches() {
	local dev
	in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect 198.51.100.1 9 >/dev/null 2>&1
	expect "a way" busywait refused 198.51.100.1
	ip -n "$H2" route add blackhole 192.0.2.7/32
	for dev in r1 r2; do
		in_ns "$R" tc qdisc add dev "$dev" root sfc nobolt pause cache switchkey "$SWITCHKEY" maxpause 4s \
			"$([ "$dev" = r1 ] && echo edge || echo noedge)"
	done
	in_ns "$S" tc qdisc add dev s1 root sfc nobolt pause cache switchkey "$SWITCHKEY" maxpause 4s
	in_ns "$S" tc qdisc add dev s2 root sfc nobolt pause cache edge switchkey "$SWITCHKEY,${SWITCHKEY//f/0}" \
		rate 1mbit qth 4542b qtg 1514b suppress 4s maxpause 4s
	sniff "$H1" eth0
	inject "$H1" 192.0.2.7 198.51.100.1 bflags=none len=1460 n=6
	# its own is not remembered by S
	counters "$S" s2 bts_sent=1 cache_entries=0 cache_hits=0
	counters "$S" s1 cache_learned=0 cache_ignored=1
	counters "$R" r1 cache_learned=1
	counters "$R" r2 bts_sent=0
	# the next sender
	inject "$H1" 192.0.2.7 198.51.100.1 bflags=none len=100 sport=1001
	counters "$R" r2 bts_cached=1 bts_sent=1
	sniffed
	expect_eq "by S" "$(packets eth0 'in udp' ' type=2 cflags=1 .* queue=6056 .* pause=36336000 ')" 1
	expect_eq "by R" "$(answers 'src=198.51.100.1')" 1
	expect_le "the rest of it" "$(pause)" 36336000
}

test_two_switches() {
	setup_two_routers 192.0.2.7/24
	two_switches
}

# All that came in by a VRF did so by its device, so S knows its own messages by its clock
test_two_switches_vrf() {
	setup_two_routers 192.0.2.7/24
	vrf "$S" s1 s2
	ip -n "$S" route add default via 203.0.113.1 vrf red
	two_switches
}

told() {
	[ "$(packets eth0 'in udp' " type=2 cflags=$1 " "src=$FAR")" = "$2" ]
}

# The estimator: 1 Mbit/s for 100 ms are 12.5 KB; more than that and the two packets that may
# wait there (qtg) within a moment is an incast.  Nobody has sent a BTS before.
# estimator CFLAGS OPTIONS...: of the answers
estimator() {
	local cflags=$1
	shift
	switch
	in_ns "$R" tc qdisc change dev r2 root sfc estimator 100ms "$@"
	data n=100 len=460 sport=1001
	expect "they arrive" busywait told "$cflags" "$(qdisc "$R" r2 bts_sent)"
	sniffed
	# the 31st of 514 bytes is the first beyond; a tick brings 1.3 % more
	expect_ge "hits" "$(qdisc "$R" r2 estimator_hits)" 68
	expect_le "hits" "$(qdisc "$R" r2 estimator_hits)" 71
	expect_eq "told" "$(qdisc "$R" r2 bts_sent)" "$(qdisc "$R" r2 estimator_hits)"
	counters "$R" r2 bts_cached=0 cache_hits=0
}

test_estimator() {
	# and all of it waits here
	estimator 0 rate 1mbit qth 1mb qtg 3028b
}

# The receiver's link is one, whatever the packets' DSCP
test_estimator_dscp() {
	local i
	switch
	in_ns "$R" tc qdisc change dev r2 root sfc estimator 100ms rate 1gbit serverrate 1mbit qth 1mb
	for ((i = 0; i < 10; i++)); do
		data n=5 len=460 sport=1001 tos=32
		data n=5 len=460 sport=1001 tos=64
	done
	expect "they arrive" busywait told 2 "$(qdisc "$R" r2 bts_sent)"
	sniffed
	expect_ge "hits" "$(qdisc "$R" r2 estimator_hits)" 60
}

# What counts is the receivers' links, however fast this one is: 514 bytes last 4.112 ms there
test_estimator_uplink() {
	estimator 2 rate 1gbit serverrate 1mbit qth 1mb
	expect_eq "steps" "$(grep ' type=2 cflags=2 ' "$tmp/sniff.eth0" |
		sed 's/.* pause=\([0-9]*\) .*/\1/' | sort -n |
		awk 'NR > 1 { print int(($1 - last) / 1000 + 0.5) } { last = $1 }' | sort -u)" 4112
}

run_tests estimator estimator_uplink estimator_dscp feed_and_answer no_rate ipv6 key later_end_wins expiry not_cacheable refused from_edge from_edge_vlan switchkey \
	replay maxpause suppression own_queue_is_longer full off namespaces vrf two_switches two_switches_vrf
