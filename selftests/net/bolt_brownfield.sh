#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# Brownfield (Bolt, section 6): Swift's window beside Bolt's, of which TCP uses the smaller.  A flow
# crosses one router, whose port is a FIFO that sends no SRC or an sfc that does; the length of its
# queue shows which window the flow uses.  Where this fails, switches without sfc have queues that
# nobody bounds, or Swift holds back flows that SRC control already.

. "$(dirname "$0")/lib.sh"

# The path: 2 ms there and back, 40 Mbit/s behind a link of 240.  A window of a BDP of the latter is 40 packets,
# of which the port takes 7 a round trip: 33 wait, for 10 ms.
RTT_MS=2
MBIT=40
WINDOW=40
PACKET=1514

# setup QDISC...: of the router's port; the delay is the far host's
setup() {
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.base_rtt_ns=$((RTT_MS * 1000000)) net.bolt.rate_mbps=240 \
		net.bolt.swift_base_ns=1000000 net.bolt.swift_hop_ns=0 net.bolt.swift_fs_range_ns=0
	in_ns "$R" tc qdisc replace dev r1 root netem delay 1ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 1ms limit 10000
	in_ns "$R" tc qdisc replace dev r2 root "$@"
	offload "$R" r1 off
	offload "$R" r2 off
}

fifo() {
	setup tbf rate "${MBIT}mbit" burst "$PACKET" limit 10000000
}

backlog() {
	in_ns "$R" tc -s -j qdisc show dev r2 | grep -oE '"backlog":[0-9]+' | head -1 | cut -d: -f2
}

cwnd() {
	in_ns "$H1" ss -Htni 'dport = :5001' | grep -oE ' cwnd:[0-9]+' | cut -d: -f2
}

flow() {
	began=$EPOCHREALTIME
	server "$H2" cc bolt listen "$A2" 5001 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send "$1" outq info
}

# Leaves how long it took, in us, in $took
flow_done() {
	ended client "$CLIENT"
	took=$((${EPOCHREALTIME/./} - ${began/./}))
	server_done
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
}

sent() {
	[ "$(bolt_stat "$H1" OptTx)" -ge "$1" ]
}

# mean BYTES: what the port holds on average over 20 looks, a round trip apart, from now on
mean() {
	local sum=0
	for _ in $(seq 20); do
		expect "sends" busywait sent $(($(bolt_stat "$H1" OptTx) + 7))
		sum=$((sum + $(backlog)))
	done
	echo $((sum / 20))
}

# 1 ms of queue is 5000 bytes: the window that makes it is 10 packets
test_fifo_is_controlled() {
	local q
	fifo
	flow 2000000
	expect "well under way" busywait sent 400
	q=$(mean)
	expect_ge "the target asks for 5000 bytes" "$q" 2500
	expect_le "the target asks for 5000 bytes" "$q" 8500
	expect_le "window" "$(cwnd)" 14
	flow_done
	expect_ge "SwiftDec" "$(bolt_stat "$H1" SwiftDec)" 3
	expect_ge "SwiftLimits" "$(bolt_stat "$H1" SwiftLimits)" 500
	# the link was full: 2 MB and headers in 430 ms
	expect_le "time" "$took" 480000
}

# Bolt alone has no way to know, and its window stays
test_off() {
	fifo
	in_ns "$H1" sysctl -qw net.bolt.brownfield=0
	flow 2000000
	expect "well under way" busywait sent 400
	expect_ge "the port holds the window" "$(mean)" $(((WINDOW - 12) * PACKET))
	expect_ge "window" "$(cwnd)" "$WINDOW"
	flow_done
	expect_eq "SwiftDec" "$(bolt_stat "$H1" SwiftDec)" 0
	expect_eq "SwiftLimits" "$(bolt_stat "$H1" SwiftLimits)" 0
}

# What Swift takes away is not taken from Bolt's window: it is there when the setting changes
test_changed_under_way() {
	fifo
	flow 4000000
	expect "well under way" busywait sent 400
	expect_le "window" "$(cwnd)" 14
	in_ns "$H1" sysctl -qw net.bolt.brownfield=0
	expect "goes on" busywait sent $(($(bolt_stat "$H1" OptTx) + 200))
	expect_ge "window without" "$(cwnd)" "$WINDOW"
	in_ns "$H1" sysctl -qw net.bolt.brownfield=1
	expect "goes on" busywait sent $(($(bolt_stat "$H1" OptTx) + 400))
	expect_le "window with it again" "$(cwnd)" 14
	flow_done
}

# first_window: what leaves up to the first ACK of data
first_window() {
	sniff "$H1" eth0
	flow 500000
	flow_done
	sniffed
	expect_eq "first window" "$(awk '/^out tcp .* len=[1-9]/ { n++ }
		/^in tcp .* len=0 / && n > 1 { print n; exit }' "$tmp/sniff.eth0")" "$WINDOW"
}

# Before anything is known, the flow starts as Bolt's do
test_starts_at_line_rate() {
	fifo
	first_window
}

# ... and so it does after a silence, for which Swift's window is forgotten as well
test_starts_again() {
	fifo
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$A2" 5001 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 500000 outq info pause 100 send 500000 outq
	server_done
	sniffed
	expect_le "window before" "$(info "$tmp/client" cwnd)" 14
	expect_eq "first window of the second half" "$(awk '
		/^out tcp .* len=[1-9]/ { if (bytes >= 500000) n++; sub(/.* len=/, ""); bytes += $1 }
		/^in tcp .* len=0 / && n > 1 { print n; exit }' "$tmp/sniff.eth0")" "$WINDOW"
}

# Of a switch that sends SRC Bolt hears sooner, and Swift, which sees the same queue, stays out of it
test_sfc_is_bolts() {
	setup sfc rate "${MBIT}mbit" ccthresh $((2 * PACKET))
	flow 2000000
	flow_done
	expect_ge "SrcDec" "$(bolt_stat "$H1" SrcDec)" 50
	expect_eq "SwiftLimits" "$(bolt_stat "$H1" SwiftLimits)" 0
}

# ... unless its SRC do not come through
test_sfc_unheard() {
	setup sfc rate "${MBIT}mbit" ccthresh $((2 * PACKET))
	in_ns "$H1" sysctl -qw net.bolt.min_ttl=255
	flow 2000000
	expect "well under way" busywait sent 400
	expect_le "window" "$(cwnd)" 14
	flow_done
	expect_ge "CtlTtl" "$(bolt_stat "$H1" CtlTtl)" 50
	expect_eq "SrcRx" "$(bolt_stat "$H1" SrcRx)" 0
	expect_ge "SwiftLimits" "$(bolt_stat "$H1" SwiftLimits)" 500
}

# Data in both directions: ACKs that ride on data have no echo; the others do
test_both_directions() {
	fifo
	server "$H2" cc bolt listen "$A2" 5001 echo
	client "$H1" cc bolt connect "$A2" 5001 ping 10 100000 shut recv-eof info
	server_done
	expect_ge "SwiftDec" "$(bolt_stat "$H1" SwiftDec)" 3
	expect_le "window" "$(info "$tmp/client" cwnd)" 14
}

# delay MS: there and back, both halves
path_takes() {
	in_ns "$R" tc qdisc change dev r1 root netem delay "$(($1 / 2))ms" limit 10000
	in_ns "$H2" tc qdisc change dev eth0 root netem delay "$(($1 / 2))ms" limit 10000
}

# Two paths from one namespace, whose base_rtt_ns is that of the shorter: the route of the longer has its BDP,
# 10 ms at 60 Mbit/s.  The target is 1 ms beyond the path, as ever
test_longer_route() {
	local q
	fifo
	path_takes 10
	in_ns "$H1" sysctl -qw net.bolt.rate_mbps=60
	ip -n "$H1" route replace 198.51.100.0/24 via 192.0.2.254 initcwnd 50
	flow 8000000
	expect "well under way" busywait sent 800
	q=$(mean)
	expect_ge "the target asks for 5000 bytes" "$q" 2500
	expect_le "the target asks for 5000 bytes" "$q" 8500
	# 33 packets fill the path
	expect_ge "window" "$(cwnd)" 33
	expect_le "window" "$(cwnd)" 40
	flow_done
	# the link was full
	expect_le "time" "$took" 1800000
}

# ... and where no route says so, the longer is held to the shorter's target
test_longer_path() {
	fifo
	path_takes 10
	flow 300000
	expect "well under way" busywait sent 100
	expect_eq "window" "$(cwnd)" 1
	flow_done
}

# A route's initcwnd makes no path shorter than the namespace's
test_shorter_route() {
	fifo
	ip -n "$H1" route replace 198.51.100.0/24 via 192.0.2.254 initcwnd 5
	first_window
}

# Nobody says how long the path is: a delay says nothing of a queue, and Bolt is alone
test_path_unknown() {
	setup_pair
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 initcwnd 40
	server "$H2" cc bolt listen "$A2" 5001 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 100000 outq mark "$tmp/up" wait "$tmp/go" send 1450000 outq info
	expect "first part" busywait test -e "$tmp/up"
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay "${RTT_MS}ms" limit 10000
	touch "$tmp/go"
	flow_done
	rm "$tmp/up" "$tmp/go"
	expect_eq "SwiftDec" "$(bolt_stat "$H1" SwiftDec)" 0
	expect_ge "window" "$(info "$tmp/client" cwnd)" 40
}

run_tests fifo_is_controlled off changed_under_way starts_at_line_rate starts_again sfc_is_bolts \
	sfc_unheard both_directions longer_route longer_path shorter_route path_unknown
