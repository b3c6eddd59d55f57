#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ways in which programs use a connection of bolt between two hosts: sendfile, splice, zero copy,
# kernel TLS, a socket handed to another process, TCP_CORK, TCP_NODELAY, pacing, TCP_INFO.  Every
# byte must arrive, and each option must mean what it means with any congestion control.

. "$(dirname "$0")/lib.sh"

BYTES=2000000

undisturbed() {
	bolt_both FallbackLate OptWindow OptNoMtu
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

# one_way "CLIENT'S WORDS" "SERVER'S WORDS": then 1000 bytes back; with bursts, so that TSO has a part
one_way() {
	setup_pair
	in_ns "$H1" sysctl -qw net.bolt.burst_segs=16
	sniff "$H1" eth0
	# shellcheck disable=SC2086 # words
	server "$H2" cc bolt listen "$A2" 5001 $2 send 1000 info recv-eof
	# shellcheck disable=SC2086
	client "$H1" cc bolt connect "$A2" 5001 $1 recv 1000 outq info
	server_done
	sniffed
	undisturbed
	expect_eq "packets without the option" "$(packets eth0 'flags=[^S]' 'bolt=none')" 0
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
}

test_sendfile() {
	one_way "sendfile $BYTES" "recv $BYTES"
}

test_splice() {
	one_way "splice $BYTES" "splice-in $BYTES"
}

test_zerocopy() {
	one_way "zerocopy 1 zerocopy-send $BYTES" "recv $BYTES"
}

# All on one connection, one after the other
test_mixed() {
	one_way "send 100001 sendfile 300001 splice 70001 zerocopy 1 zerocopy-send 200001 send 1" \
		"recv 370003 splice-in 300002"
}

# Kernel TLS: the records are what Bolt carries
test_tls() {
	one_way "tls send $BYTES" "tls recv $BYTES"
}

test_tls_sendfile() {
	one_way "tls sendfile $BYTES" "tls recv $BYTES"
}

test_tls_splice() {
	one_way "tls splice $BYTES" "tls splice-in $BYTES"
}

# The socket goes to another process, on both sides
test_passed() {
	one_way "send 300000 pass send 300000" "recv 300000 pass recv 300000"
	expect_eq "still" "$(info "$tmp/client" cc)" bolt
}

# The process that has it sends while another looks at it
test_passed_in_flight() {
	one_way "sndbuf 4000000 send $BYTES pass send $BYTES" "recv $BYTES recv $BYTES"
}

# full_segments FILE-LESS: how many data packets there were, none smaller than the MSS but the last
full_segments() {
	expect_eq "short packets" "$(grep -E 'out tcp.* len=[1-9]' "$tmp/sniff.eth0" | sed '$d' |
		grep -vcE ' len=1436 ')" 0
}

setup_single() {
	setup_pair
	sniff "$H1" eth0
}

# chunks "CLIENT'S WORDS": 500 writes of 100 bytes; server reads all
chunks() {
	setup_single
	server "$H2" cc bolt listen "$A2" 5001 recv 50000 send 1000 recv-eof
	# shellcheck disable=SC2086
	client "$H1" cc bolt $1 recv 1000 outq info
	server_done
	sniffed
	undisturbed
}

test_cork() {
	chunks "connect $A2 5001 cork 1 chunks 500 100 cork 0"
	full_segments
}

test_more() {
	chunks "connect $A2 5001 more 20000 more 20000 more 9000 send 1000"
	full_segments
}

# Nagle: of two small writes the second waits for an ACK of the first, which comes at once, also
# from a host that answers each time and that TCP would let wait for its answer to carry the ACK
test_nagle() {
	local start n ask='' answer=''
	for ((n = 0; n < 40; n++)); do
		ask+=" send 100 pause 1 send 100 recv 1"
		answer+=" recv 200 send 1"
	done
	setup_pair
	start=$(date +%s%N)
	# shellcheck disable=SC2086 # words
	server "$H2" cc bolt listen "$A2" 5001 $answer recv-eof
	# shellcheck disable=SC2086
	client "$H1" cc bolt connect "$A2" 5001 nodelay 0 $ask info
	server_done
	undisturbed
	expect_le "ns; delayed ACKs would take 40 ms each" "$(($(date +%s%N) - start))" 400000000
	expect_eq "delayed ACKs" "$(stack "$H2" TcpExtDelayedACKs)" 0
}

test_nodelay() {
	chunks "nodelay 1 connect $A2 5001 chunks 500 100"
}

notsent() {
	in_ns "$H1" ss -Htin 'dport = :5001' | grep -oE 'notsent:[0-9]+' | cut -d: -f2
}

stalled() {
	[ "$(notsent)" -ge 16384 ]
}

# At most so much is waiting unsent, and what a super-packet has, while nobody reads
test_notsent_lowat() {
	one_way "notsent 16384 send $BYTES" "recv $BYTES"
	undo
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 recv 1 wait "$tmp/go" recv $((BYTES - 1)) recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt sndbuf 200000 notsent 16384 connect "$A2" 5001 send "$BYTES" outq
	expect "stalls" busywait stalled
	expect_le "unsent" "$(notsent)" $((16384 + 65536))
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
}

# takes NS WORDS...: 1 MB of bolt and its answer, which take so long at least, and 150 ms at most
takes() {
	local took least=$1
	shift
	server "$H2" cc bolt listen "$A2" 5001 recv 1000000 send 1 recv-eof
	took=$(date +%s%N)
	client "$H1" cc bolt "$@" send 1000000 recv 1 outq info
	took=$(($(date +%s%N) - took))
	server_done
	undisturbed
	expect_ge "ns" "$took" "$least"
	expect_le "ns" "$took" 150000000
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
}

# SO_MAX_PACING_RATE holds beside Bolt's own spacing: 10 MB/s; TCP lets the first ten segments go
test_pacing_before() {
	setup_pair
	takes 90000000 pacing 10000000 connect "$A2" 5001
}

test_pacing_after() {
	setup_pair
	takes 90000000 connect "$A2" 5001 pacing 10000000
}

# What ss and TCP_INFO say is what is
test_info() {
	local line
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 initcwnd 40
	server "$H2" cc bolt listen "$A2" 5001 recv 300000 send 1000 mark "$tmp/half" wait "$tmp/go" \
		recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		connect "$A2" 5001 send 300000 recv 1000 outq info wait "$tmp/go"
	expect "half" busywait test -e "$tmp/half"
	expect "told" busywait file_has "$tmp/client" info
	line=$(in_ns "$H1" ss -Htin 'dport = :5001')
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	expect_eq "congestion control by ss" "$(grep -cE '(^|[[:space:]])bolt ' <<<"$line")" 1
	expect_eq "mss by ss" "$(grep -oE ' mss:[0-9]+' <<<"$line")" " mss:1436"
	expect_ge "cwnd" "$(info "$tmp/client" cwnd)" 40
	expect_le "cwnd" "$(info "$tmp/client" cwnd)" 20000
	expect_ge "RTT" "$(info "$tmp/client" rtt_us)" 10000
	expect_le "RTT" "$(info "$tmp/client" rtt_us)" 13000
	expect_eq "unacknowledged" "$(info "$tmp/client" unacked)" 0
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
	expect_eq "segments delivered" "$(info "$tmp/client" delivered)" \
		$(($(info "$tmp/client" data_segs_out) + 1))
}

# TCP_TX_DELAY is of each packet, not between two of them
test_tx_delay() {
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root fq
	takes 10000000 tx-delay 5000 connect "$A2" 5001
}

run_tests sendfile splice zerocopy mixed tls tls_sendfile tls_splice passed passed_in_flight cork more \
	nagle nodelay notsent_lowat pacing_before pacing_after tx_delay info
