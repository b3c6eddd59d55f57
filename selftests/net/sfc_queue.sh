#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The accounting of sfc on a router's port: drops at the limit to the byte, super-packets that are
# split, parents and children, packets that wait while another CPU sends, and changes and deletion
# under traffic.  qlen and backlog must always come back to zero.

. "$(dirname "$0")/lib.sh"

v4() {
	inject "$H1" 192.0.2.7 "$A2" "$@"
}

setup_port() {
	setup_router
	ip -n "$H2" route add blackhole 192.0.2.7/32
	[ $# -eq 0 ] || expect "sfc $*" tc_ qdisc add dev r2 root sfc "$@"
}

all_empty() {
	[ "$(tc_ -j -s qdisc show dev r2 | jq -c '[.[] | .qlen, .backlog] | unique')" = "[0]" ]
}

# Every qdisc of the port
empty() {
	expect "drains" busywait all_empty || say "$(tc_ -s qdisc show dev r2)"
}

# 15140 bytes are ten packets of 1514; one more is on the link
test_limit_is_exact() {
	setup_port rate 1mbit limit 15140b nobolt
	v4 n=20 bflags=none len=1460
	counters "$R" r2 drops=9 drop_data=9 qlen=10 backlog=15140
	empty
	counters "$R" r2 packets=11 drops=9
}

test_one_byte_less() {
	setup_port rate 1mbit limit 15139b nobolt
	v4 n=20 bflags=none len=1460
	counters "$R" r2 drops=10 drop_data=10 qlen=9
	empty
}

# The high band may use an eighth more: 15140 / 8 = 1892 bytes, ACKs of 66 (52 + 14)
test_limit_of_high_band() {
	setup_port rate 1mbit limit 15140b nobolt
	v4 n=20 bflags=none len=1460
	v4 n=40 bflags=40 len=0
	counters "$R" r2 drop_data=9 drop_high=12 high=28
	empty
}

# ACKs that nobody asked for have half of the limit: 7570 / 66 = 114, and one is on the link; the
# other half, less than six packets of 1514, is for data
test_high_band_is_bounded() {
	setup_port rate 1mbit limit 15140b nobolt
	v4 n=200 bflags=40 len=0
	counters "$R" r2 high=115 drop_high=85
	v4 n=20 bflags=none len=1460
	counters "$R" r2 drop_data=15 drops=100
	empty
}

# ... and, once they are 16384 bytes ahead (249 ACKs), half of the link (23 ACKs a packet)
test_high_band_takes_turns() {
	local before
	setup_port rate 1mbit limit 1mb nobolt "$@"
	# those without data count for nothing
	v4 n=300 bflags=40 len=0
	empty
	sniff "$H2" eth0
	v4 n=10 bflags=none len=1460
	v4 n=600 bflags=40 len=0
	empty
	sniffed
	before=$(awk '/^in tcp .* len=0 / { n++ } /^in tcp .* len=1460 / { printf "%d ", n; n = 0 }' "$tmp/sniff.eth0")
	[[ $before =~ ^'0 249 '(2[23]' '){8}$ ]] || fail "ACKs before each packet: $before"
}

# A packet every 200 ms, in which 379 ACKs leave.  The first waits for 249 of them, the others for
# about 60: in 9 * 200 ms, less the time of nine packets (23 ACKs each), leave 190 fewer
test_high_band_and_sparse_data() {
	local between
	setup_port rate 1mbit limit 1mb nobolt
	sniff "$H2" eth0
	v4 n=4500 bflags=40 len=0
	v4 n=10 bflags=none len=1460 gap=200000000
	empty
	sniffed
	between=$(awk '/^in tcp .* len=0 / { n++ } /^in tcp .* len=1460 / { if (!first) first = n; last = n }
		END { print last - first }' "$tmp/sniff.eth0")
	expect_ge "ACKs between the first packet and the last" "$between" 2900
	expect_le "ACKs between the first packet and the last" "$between" 3100
}

test_high_band_takes_turns_with_bands() {
	test_high_band_takes_turns bands 2
}

# change to less than is queued: data goes first, and is counted
test_limit_lowered() {
	setup_port rate 1mbit limit 1mb nobolt
	v4 n=21 bflags=none len=1460
	v4 n=2 bflags=40 len=0
	counters "$R" r2 qlen=22
	expect "change" tc_ qdisc change dev r2 root sfc limit 15140b
	# 10 packets would be the limit, but ACKs of 132 bytes are in
	counters "$R" r2 drops=11 qlen=11
	empty
	counters "$R" r2 drops=11
}

# The same as a leaf: the parent's books follow
test_limit_lowered_as_leaf() {
	setup_router
	ip -n "$H2" route add blackhole 192.0.2.7/32
	tc_ qdisc add dev r2 root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	expect "sfc" tc_ qdisc add dev r2 parent 1:1 sfc rate 1mbit limit 1mb nobolt
	v4 n=21 bflags=none len=1460
	expect_eq "parent's qlen" "$(qdisc "$R" r2 qlen prio)" 20
	expect "change" tc_ qdisc change dev r2 parent 1:1 sfc limit 15140b
	expect_eq "parent's qlen" "$(qdisc "$R" r2 qlen prio)" 10
	expect_eq "parent's backlog" "$(qdisc "$R" r2 backlog prio)" 15140
	empty
}

# A burst of TSO at a router: split here, one decision per segment
gso() {
	setup_router
	expect "sfc" tc_ qdisc add dev r2 root sfc rate 1gbit nobolt "$@"
	in_ns "$H1" sysctl -qw net.bolt.burst_segs=44
	ip -n "$H1" route change default via 192.0.2.254 initcwnd 44
	server "$H2" cc bolt listen "$A2" 5001 recv 2000000 send 2000000 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 2000000 recv 2000000 outq info
	server_done
	empty
	expect_eq "checksum errors" "$(stack "$H2" TcpInCsumErrors)" 0
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
	counters "$R" r2 drops=0 gso_failed=0
}

test_gso_split() {
	gso split-gso
	expect_ge "split" "$(qdisc "$R" r2 gso_split)" 10
	expect_ge "into" "$(qdisc "$R" r2 gso_segs)" 100
}

test_gso_whole() {
	gso no-split-gso
	counters "$R" r2 gso_split=0 gso_segs=0
}

# Split under a limit: the parent's books are right as well
test_gso_split_drops() {
	setup_router
	tc_ qdisc add dev r2 root handle 1: htb default 1
	tc_ class add dev r2 parent 1: classid 1:1 htb rate 100mbit
	expect "sfc" tc_ qdisc add dev r2 parent 1:1 sfc limit 30000b ccthresh 3028b rate 50mbit
	ip -n "$H1" route change default via 192.0.2.254 initcwnd 64
	server "$H2" cc cubic listen "$A2" 5001 recv 2000000 recv-eof
	client "$H1" cc cubic connect "$A2" 5001 send 2000000 outq info
	server_done
	empty
	expect_ge "drops" "$(qdisc "$R" r2 drops)" 1
	expect_eq "drops as counted" "$(qdisc "$R" r2 drops)" "$(qdisc "$R" r2 drop_data)"
	expect_ge "split" "$(qdisc "$R" r2 gso_split)" 1
}

# under PARENT...: sfc as the leaf; a transfer both ways, then everything empty
under() {
	server "$H2" cc bolt listen "$A2" 5001 recv 1000000 send 1000000 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 1000000 recv 1000000 outq
	server_done
	empty
	expect_ge "packets through sfc" "$(qdisc "$R" r2 packets)" 690
	expect "delete" tc_ qdisc del dev r2 root
}

test_under_htb() {
	setup_router
	tc_ qdisc add dev r2 root handle 1: htb default 1
	tc_ class add dev r2 parent 1: classid 1:1 htb rate 1gbit
	expect "sfc" tc_ qdisc add dev r2 parent 1:1 sfc rate 900mbit
	under
}

test_under_prio() {
	setup_router
	tc_ qdisc add dev r2 root handle 1: prio
	for i in 1 2 3; do
		expect "sfc $i" tc_ qdisc add dev r2 parent "1:$i" sfc rate 900mbit
	done
	server "$H2" cc bolt listen "$A2" 5001 recv 1000000 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 1000000 outq
	server_done
	empty
	expect "delete" tc_ qdisc del dev r2 root
}

# tbf peeks: what it holds counts until it is removed
test_under_tbf() {
	setup_router
	tc_ qdisc add dev r2 root handle 1: tbf rate 500mbit burst 20kb limit 1mb
	expect "sfc" tc_ qdisc add dev r2 parent 1:1 sfc rate 900mbit
	under
}

test_under_mq() {
	setup_router
	ips "$R" <<-BATCH
		link add m0 numtxqueues 4 type veth peer name m1
		link set m0 up
		link set m1 up
		addr add 203.0.113.1/24 dev m0
		neigh add 203.0.113.2 lladdr 02:00:00:00:00:02 dev m0
	BATCH
	tc_ qdisc replace dev m0 root handle 1: mq
	for i in 1 2 3 4; do
		expect "sfc $i" tc_ qdisc add dev m0 parent "1:$i" sfc rate 1gbit
	done
	expect_eq "leaves" "$(tc_ -j qdisc show dev m0 | jq '[.[] | select(.kind == "sfc")] | length')" 4
	# flows spread over the queues
	in_ns "$R" bash <<-'END'
		for port in {5001..5064}; do echo x >"/dev/udp/203.0.113.2/$port"; done
	END
	expect_eq "leaves with packets" "$(tc_ -j -s qdisc show dev m0 |
		jq '[.[] | select(.kind == "sfc" and .packets > 0)] | length')" 4
	expect "delete" tc_ qdisc del dev m0 root
}

# An sfc with packets in it is replaced, deleted, and its device goes
test_full_when_deleted() {
	local how
	for how in "qdisc del dev r2 root" "qdisc replace dev r2 root pfifo" \
		"qdisc replace dev r2 root sfc"; do
		setup_port rate 100kbit
		v4 n=50 bflags=80
		expect_ge "queued" "$(qdisc "$R" r2 qlen)" 40
		# shellcheck disable=SC2086 # words
		expect "$how" tc_ $how
		undo
	done
	setup_port rate 100kbit
	v4 n=50 bflags=80
	expect "device goes" ip -n "$R" link del r2
}

# As a leaf: the parent's books follow
test_full_when_leaf_deleted() {
	setup_router
	tc_ qdisc add dev r2 root handle 1: prio
	expect "sfc" tc_ qdisc add dev r2 parent 1:2 handle 2: sfc rate 100kbit
	expect "sfc" tc_ qdisc add dev r2 parent 1:1 handle 3: sfc rate 100kbit
	expect "sfc" tc_ qdisc add dev r2 parent 1:3 handle 4: sfc rate 100kbit
	v4 n=50 bflags=80
	expect_ge "queued" "$(qdisc "$R" r2 qlen prio)" 40
	for i in 1 2 3; do
		expect "delete" tc_ qdisc del dev r2 parent "1:$i"
	done
	expect_eq "parent's qlen" "$(qdisc "$R" r2 qlen prio)" 0
	expect_eq "parent's backlog" "$(qdisc "$R" r2 backlog prio)" 0
}

# Reconfigured again and again while a transfer goes through
test_change_under_traffic() {
	local i how
	setup_port rate 200mbit
	server "$H2" cc bolt listen "$A2" 5001 recv 20000000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 20000000 outq info
	for i in 1 2 3 4 5 6 7 8; do
		for how in "change dev r2 root sfc limit 3000b" sleep \
			"change dev r2 root sfc limit 1mb nosm nopru ccthresh 5000b" sleep \
			"change dev r2 root sfc rate 0 no-split-gso" \
			"change dev r2 root sfc rate 200mbit sm pru split-gso ccthresh auto" sleep \
			"replace dev r2 root pfifo" "replace dev r2 root sfc rate 200mbit"; do
			# shellcheck disable=SC2086 # words
			if [ "$how" = sleep ]; then sleep 0.01; else expect "$how" tc_ qdisc $how; fi
		done
	done
	[ -n "${BOLT_REAL_TIME:-}" ] || expect "still sending" kill -0 "$CLIENT"
	ended client "$CLIENT"
	server_done
	empty
	expect_eq "checksum errors" "$(stack "$H2" TcpInCsumErrors)" 0
}

# contend OPTIONS...: whatever is sent, ten more of it arrive at an sfc while it is being run, its
# device open, as they would from another CPU: copies that the device below (nothing ever stops) makes
contend() {
	setup_ns R
	ip -n "$R" link add d0 type dummy
	ip -n "$R" link add link d0 name v0 type macvlan
	ip -n "$R" link set d0 up
	ip -n "$R" link set v0 up
	ip -n "$R" addr add 198.51.100.254/24 dev v0
	ip -n "$R" neigh add 198.51.100.1 lladdr 02:00:00:00:00:01 dev v0
	expect "sfc $*" tc_ qdisc add dev v0 root sfc ccthresh 3028b nosm ecn 3028b "$@"
	tc_ qdisc add dev d0 clsact
	expect "copies are not copied" tc_ filter add dev d0 egress prio 1 protocol all handle 7 fw action ok
	# shellcheck disable=SC2046 # words
	expect "copies" tc_ filter add dev d0 egress prio 2 protocol all matchall action skbedit mark 7 \
		$(printf ' action mirred egress mirror dev v0%.0s' 1 2 3 4 5 6 7 8 9 10)
}

contended() {
	contend "$@"
	inject "$R" 198.51.100.254 198.51.100.1 bflags=80 tx=5000 len=1448 tos=2
}

# Queue and decision are of the link: what waits for a CPU is neither
test_contended() {
	contended link 10gbit
	counters "$R" v0 packets=11 backlog_peak=15140 data=11 congested=0 src_sent=0 dec_set=0 \
		ecn_marked=0 qlen=0
}

# ... whichever band it waits in
test_contended_bands() {
	contended link 10gbit bands 2
	counters "$R" v0 packets=11 backlog_peak=15140 data=11 congested=0 src_sent=0 dec_set=0 \
		ecn_marked=0 qlen=0
}

# ... nor a super-packet, whole
test_contended_gso() {
	contend link 10gbit no-split-gso
	in_ns "$R" "$BOLT_PROGRAMS/bolt_burst" 198.51.100.1 len=2000 gso=1000 tos=2 || fail "bolt_burst"
	counters "$R" v0 packets=22 backlog_peak=20840 ecn_marked=0 qlen=0
}

# ... and a link that shapes is no faster for it
test_contended_shaped() {
	contended rate 1mbit
	counters "$R" v0 data=11 congested=8 ecn_marked=7
	expect "drains" busywait qdisc_is "$R" v0 qlen 0
}

run_tests contended contended_bands contended_gso limit_is_exact limit_of_high_band high_band_is_bounded high_band_takes_turns \
	high_band_takes_turns_with_bands high_band_and_sparse_data limit_lowered gso_split gso_split_drops under_htb under_mq \
	full_when_deleted change_under_traffic \
	also contended_shaped one_byte_less limit_lowered_as_leaf gso_whole under_prio under_tbf full_when_leaf_deleted
