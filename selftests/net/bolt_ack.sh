#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A receiver of bolt acknowledges every packet at once.  Between two hosts, a window of one packet
# therefore runs at one packet per round trip, not at the pace of delayed ACKs, 40 ms here.  Only
# the ACK of a packet with FIN may wait, 40 ms at most.

. "$(dirname "$0")/lib.sh"

RTT_MS=2

setup_slow() {
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay $((RTT_MS / 2))ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay $((RTT_MS / 2))ms limit 10000
}

# The window is held at one packet: by a lock that TCP takes from its cache of metrics, so that a
# connection must have been there before
one_packet() {
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 initcwnd 1 cwnd lock 1
	ip -n "$H2" route replace 192.0.2.0/24 dev eth0 initcwnd 1 cwnd lock 1
	in_ns "$H1" sysctl -qw net.ipv4.tcp_no_metrics_save=0
	in_ns "$H2" sysctl -qw net.ipv4.tcp_no_metrics_save=0
	server "$H2" cc reno listen "$A2" 5001 echo
	client "$H1" cc reno connect "$A2" 5001 ping 2 100 shut recv-eof
	server_done
}

# elapsed FILE: ns of the last "ping" line
elapsed() {
	sed -n 's/^ping .*mean_ns=\([0-9]*\).*/\1/p' "$1" | tail -1
}

test_one_packet_window() {
	setup_slow
	one_packet
	# 100 segments of 1436 bytes, then 1 byte back
	server "$H2" cc bolt listen "$A2" 5001 recv 143600 send 143600 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 ping 1 143600 info
	server_done
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
	expect_eq "cwnd" "$(info "$tmp/client" cwnd)" 1
	# 100 round trips there, 100 back; delayed ACKs would make it 8 s
	expect_ge "time at least" "$(elapsed "$tmp/client")" $((199 * RTT_MS * 1000000))
	expect_le "time at most" "$(elapsed "$tmp/client")" $((202 * RTT_MS * 1000000))
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
	expect_eq "delayed ACKs" "$(stack "$H2" TcpExtDelayedACKs)" 0
}

# A request and its reply each of several packets: the reply must not wait for an ACK
# that waits for the reply
test_one_packet_window_replies() {
	setup_slow
	one_packet
	server "$H2" cc bolt listen "$A2" 5001 echo
	client "$H1" cc bolt connect "$A2" 5001 ping 20 5000 shut recv-eof
	server_done
	# four packets one after the other, echoed as they come: at most 2 * 4 round trips
	expect_le "time of an exchange" "$(elapsed "$tmp/client")" $((9 * RTT_MS * 1000000))
	expect_eq "delayed ACKs, client" "$(stack "$H1" TcpExtDelayedACKs)" 0
	expect_eq "delayed ACKs, server" "$(stack "$H2" TcpExtDelayedACKs)" 0
}

# upload CC BYTES: in single packets
upload() {
	setup_slow
	offload "$H1" eth0 off
	offload "$H2" eth0 off
	sniff "$H1" eth0
	server "$H2" cc "$1" listen "$A2" 5001 recv "$2" recv-eof
	client "$H1" cc "$1" connect "$A2" 5001 send "$2" outq
	server_done
	sniffed
}

test_every_packet() {
	upload bolt 1436000
	expect_eq "data packets" "$(packets eth0 'out tcp' ' len=1436 ')" 1000
	# one each, and at most a few more for window updates and FIN
	expect_ge "ACKs" "$(packets eth0 'in tcp' ' len=0 ')" 1000
	expect_le "ACKs" "$(packets eth0 'in tcp' ' len=0 ')" 1010
}

# The same with Reno, to see that the test would notice
test_reno_delays() {
	upload reno 1448000
	expect_le "ACKs of Reno" "$(packets eth0 'in tcp' ' len=0 ')" 900
}

# But for a packet with FIN, whose ACK waits for the peer's own FIN, 40 ms at most; of more than a
# segment that the peer takes for full, it goes when that is read.  The client's smoothed RTT is of
# two samples, its SYN's and that packet's
test_fin() {
	local us
	setup_slow
	server "$H2" cc bolt listen "$A2" 5001 recv 100 wait "$tmp/go"
	client "$H1" cc bolt connect "$A2" 5001 more 100 shut outq info
	touch "$tmp/go"
	server_done
	us=$((8 * $(info "$tmp/client" rtt_us) - 7 * RTT_MS * 1000))
	expect_ge "us to the ACK" "$us" $((RTT_MS * 1000 + 10000))
	expect_le "us to the ACK" "$us" $((RTT_MS * 1000 + 41000))
	expect_eq "delayed ACKs" "$(stack "$H2" TcpExtDelayedACKs)" 1
}

run_tests one_packet_window one_packet_window_replies every_packet reno_delays fin
