#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets between two hosts are lost, reordered or duplicated, or nothing comes through for a while.
# What is written must arrive all the same, and the windows of bolt and swift must react as Swift's
# does: to fast recovery, to an RTO, and to one that was spurious.

. "$(dirname "$0")/lib.sh"

BYTES=2000000

# through NETEM...: BYTES each way
through() {
	setup_pair
	transfer_through bolt "$BYTES" "$@"
}

test_loss() {
	# of 1400 packets: none is lost once in a million
	through delay 1ms loss 1%
	expect_ge "retransmissions" "$(info "$tmp/client" retrans)" 1
	expect_ge "LossDec" "$(bolt_stat "$H1" LossDec)" 1
}

test_much_loss() {
	BYTES=300000 through delay 1ms loss 10%
	expect_ge "retransmissions" "$(info "$tmp/client" retrans)" 1
}

test_reorder() {
	through delay 1ms reorder 90%
	expect_ge "out of order" "$(stack "$H2" TcpExtTCPOFOQueue)" 1
	expect_eq "RTO" "$(bolt_stat "$H1" RtoDec)" 0
}

test_duplicate() {
	through delay 1ms duplicate 5%
	expect_ge "D-SACK" "$(stack "$H1" TcpExtTCPDSACKRecv)" 1
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

# SACK blocks are trimmed to make room rather than the option left out
test_sack_beside_option() {
	setup_pair
	sniff "$H2" eth0
	transfer_through bolt "$BYTES" delay 1ms loss 3%
	sniffed
	expect_ge "ACKs with SACK" "$(packets eth0 'out tcp' 'opts=[^ ]*,5/')" 20
	expect_eq "of those without the option" "$(packets eth0 'out tcp' 'opts=[^ ]*,5/' 'bolt=none')" 0
	expect_ge "SackTrimmed" "$(bolt_stat "$H2" SackTrimmed)" 1
}

# Nothing comes through for a while: RTO halves, five in a row bring the window to one
test_rto() {
	setup_pair
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 initcwnd 40
	server "$H2" cc bolt listen "$A2" 5001 recv 100000 mark "$tmp/half" recv 400000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 100000 outq info wait "$tmp/go" send 400000 outq info
	expect "first half" busywait test -e "$tmp/half"
	expect "all acknowledged" busywait file_has "$tmp/client" info
	in_ns "$H1" tc qdisc replace dev eth0 root netem loss 100%
	touch "$tmp/go"
	expect "five timeouts" busywait timeouts 5
	expect_eq "cwnd after five timeouts" "$(cwnd_now)" 1
	in_ns "$H1" tc qdisc del dev eth0 root
	ended client "$CLIENT"
	server_done
	expect_ge "RtoDec" "$(bolt_stat "$H1" RtoDec)" 5
	expect_ge "window after recovery" "$(info "$tmp/client" cwnd)" 2
}

# Acknowledgments that are late: the timeout was no loss, TCP learns that from their timestamps
# (RFC 3522), and undoes it.  $before and $after: the windows
undone() {
	rm -f "$tmp"/{first,late,all,seen}
	setup_pair
	in_ns "$H1" sysctl -qw net.bolt.debug.ai=0 net.bolt.swift_base_ns=1000000000
	server "$H2" cc "$1" listen "$A2" 5001 recv 30000 mark "$tmp/first" recv 10000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc "$1" connect "$A2" 5001 send 30000 outq info wait "$tmp/late" send 10000 outq info \
		mark "$tmp/all" wait "$tmp/seen"
	expect "first half" busywait test -e "$tmp/first"
	expect "all acknowledged" busywait file_has "$tmp/client" info
	in_ns "$H2" tc qdisc replace dev eth0 root netem limit 10000 delay 500ms
	touch "$tmp/late"
	expect "second half" busywait test -e "$tmp/all"
	touch "$tmp/seen"
	ended client "$CLIENT"
	server_done
	expect_ge "timeouts" "$(bolt_stat "$H1" RtoDec)" 1
	expect_ge "TcpExtTCPTimeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 1
	expect_eq "undone" "$(($(stack "$H1" TcpExtTCPLossUndo) + $(stack "$H1" TcpExtTCPFullUndo)))" 1
	after=$(info "$tmp/client" cwnd)
	before=$(sed -n '0,/^info/s/^info .*cwnd=\([^ ]*\).*/\1/p' "$tmp/client")
}

# Without an additive increase nothing else moves bolt's
test_undo() {
	local before after
	undone bolt
	expect_eq "window" "$after" "$before"
}

# Swift's may grow for the packets acknowledged
test_undo_swift() {
	local before after
	undone swift
	expect_ge "window before" "$before" 4
	expect_ge "window" "$after" "$before"
}

run_tests loss much_loss reorder duplicate sack_beside_option rto undo undo_swift
