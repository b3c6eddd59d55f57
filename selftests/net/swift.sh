#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The congestion control swift between two hosts: how it is selected, with the option and without,
# with bolt at the other end, in loss, with windows below one packet to the microsecond, and when a
# socket changes from it or its module goes.

. "$(dirname "$0")/lib.sh"

RTT_MS=2

# As its own name, which is what TCP asks for
load_swift() {
	[ -d /sys/module/tcp_bolt ] && return
	if [ -f "${BOLT_MODULES:-}/tcp_bolt.ko" ]; then
		modinfo -F alias "$BOLT_MODULES/tcp_bolt.ko" | grep -qx tcp_swift &&
			insmod "$BOLT_MODULES/tcp_bolt.ko"
	else
		modprobe tcp_swift
	fi
}

slow() {
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay $((RTT_MS / 2))ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay $((RTT_MS / 2))ms limit 10000
}

# set_swift NS NAME=VALUE...
set_swift() {
	local ns=$1 s
	shift
	for s; do
		in_ns "$ns" sysctl -qw "net.bolt.swift_$s" || fail "swift_$s"
	done
}

# A target that every delay is beyond, or one that none is: TCP's other side is 2 ms away
target_none() {
	in_ns "$1" sysctl -qw net.bolt.base_rtt_ns=1
	set_swift "$1" base_ns=0 hop_ns=0 fs_range_ns=0
}

target_all() {
	set_swift "$1" base_ns=1000000000
}

# carried: both ends have the option, and swift
carried() {
	local ns
	for ns in "$H1" "$H2"; do
		expect_eq "$ns Negotiated" "$(bolt_stat "$ns" Negotiated)" 1
		expect_eq "$ns SwiftPlain" "$(bolt_stat "$ns" SwiftPlain)" 0
		expect_eq "$ns Fallback" "$(bolt_stat "$ns" Fallback)" 0
	done
	expect_eq "client's congestion control" "$(info "$tmp/client" cc)" swift
	expect_eq "server's congestion control" "$(info "$tmp/server" cc)" swift
	expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
}

test_setsockopt() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc swift listen "$A2" 5001 recv 30000 send 30000 info recv-eof
	client "$H1" cc swift connect "$A2" 5001 send 30000 recv 30000 info
	server_done
	sniffed
	carried
	expect_eq "SYN and SYN-ACK" "$(packets eth0 'flags=SA? ' 'bolt=syn')" 2
	expect_eq "packets without the option" "$(packets eth0 'tcp.*flags=[^S]' 'bolt=none')" 0
	# no switch is to send SRC, and none is asked for more
	expect_eq "data with just DATA, ACK and DEC" "$(packets eth0 ' len=[1-9].* bflags=DAC ')" \
		"$(packets eth0 ' len=[1-9]')"
	expect_eq "data without a level" "$(packets eth0 ' len=[1-9]' 'rq=(0|[0-9]{3,}) ')" 0
	expect_eq "no control port for it" "$(in_ns "$H1" ss -Hlnu | wc -l)" 0
}

test_ipv6() {
	setup_pair
	server "$H2" cc swift listen "$B2" 5001 recv 30000 send 30000 info recv-eof
	client "$H1" cc swift connect "$B2" 5001 send 30000 recv 30000 info
	server_done
	carried
}

test_sysctl_selects() {
	setup_pair
	in_ns "$H1" sysctl -qw net.ipv4.tcp_congestion_control=swift
	in_ns "$H2" sysctl -qw net.ipv4.tcp_congestion_control=swift
	server "$H2" listen "$A2" 5001 recv 30000 send 30000 info recv-eof
	client "$H1" connect "$A2" 5001 send 30000 recv 30000 info
	server_done
	carried
}

test_route_selects() {
	setup_pair
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 congctl swift
	ip -n "$H2" route replace 192.0.2.0/24 dev eth0 congctl swift
	server "$H2" listen "$A2" 5001 recv 30000 send 30000 info recv-eof
	client "$H1" connect "$A2" 5001 send 30000 recv 30000 info
	server_done
	carried
}

# state_program 8|9: attach to the cgroup of $tmp/cgroup, or detach, a BPF program (BPF_PROG_TYPE_SOCK_OPS)
# that selects swift when the state becomes ESTABLISHED; TCP calls it before, and init() of no other then
#	if (ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB) bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_STATE_CB_FLAG);
#	else if (ctx->op == BPF_SOCK_OPS_STATE_CB && ctx->args[1] == BPF_TCP_ESTABLISHED)
#		bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, "swift", 6);
state_program() {
	python3 - "$tmp/cgroup" "$1" <<-'PY'
		import os, sys
		from lib_bpf import bpf, load
		program = load(13, (0x61, 0x12, 0, 0), (0x55, 2, 3, 3), (0xb7, 2, 0, 4), (0x85, 0, 0, 59), (5, 0, 11, 0),
		               (0x55, 2, 10, 10), (0x61, 0x13, 8, 0), (0x55, 3, 8, 1), (0x62, 10, -8, 0x66697773),
		               (0x62, 10, -4, ord("t")), (0xb7, 2, 0, 6), (0xb7, 3, 0, 13), (0xbf, 0xa4, 0, 0), (7, 4, 0, -8),
		               (0xb7, 5, 0, 6), (0x85, 0, 0, 49), (0xb7, 0, 0, 1), (0x95, 0, 0, 0))
		bpf(int(sys.argv[2]), "IIII", os.open(sys.argv[1], os.O_RDONLY), program, 3, 0)
	PY
}

test_program_selects() {
	setup_pair
	mkdir "$tmp/cgroup"
	expect "mount" mount -t cgroup2 none "$tmp/cgroup"
	defer umount "$tmp/cgroup"
	expect "program" state_program 8
	defer state_program 9
	server "$H2" cc cubic listen "$A2" 5001 recv 30000 send 30000 recv-eof
	client "$H1" cc cubic connect "$A2" 5001 send 30000 recv 30000 info
	server_done
	expect_eq "client's congestion control" "$(info "$tmp/client" cc)" swift
	expect_eq "SwiftPlain" "$(bolt_stat "$H1" SwiftPlain)" 1
	expect_eq "Fallback" "$(bolt_stat "$H1" Fallback)" 0
}

# One option: either end may run the other congestion control
test_with_bolt() {
	local cc
	for cc in "swift bolt" "bolt swift"; do
		setup_pair
		server "$H2" cc "${cc#* }" listen "$A2" 5001 recv 300000 send 300000 info recv-eof
		client "$H1" cc "${cc% *}" connect "$A2" 5001 send 300000 recv 300000 info
		server_done
		expect_eq "client's" "$(info "$tmp/client" cc)" "${cc% *}"
		expect_eq "server's" "$(info "$tmp/server" cc)" "${cc#* }"
		expect_eq "Negotiated" "$(bolt_stat "$H1" Negotiated)$(bolt_stat "$H2" Negotiated)" 11
		expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
		undo
	done
}

# Section 3.5: the routers that data has passed come back with the ACK; 4 bits before the delay
hops() {
	sniff "$H1" eth0
	server "$H2" cc swift listen "$1" 5001 recv 30000 recv-eof
	client "$H1" cc swift connect "$1" 5001 send 30000 outq
	server_done
	sniffed
	sed -n 's/^in tcp .* len=0 .* tx=[1-9].* rq=\([0-9]*\) .*/\1/p' "$tmp/sniff.eth0" |
		awk '{ print int($1 / 4096) }' | sort -u | tr '\n' ' '
}

test_hops() {
	setup_pair
	expect_eq "direct" "$(hops "$A2")" "0 "
	expect_eq "direct, IPv6" "$(hops "$B2")" "0 "
	undo
	setup_router
	expect_eq "one router" "$(hops "$A2")" "1 "
	expect_eq "one router, IPv6" "$(hops "$B2")" "1 "
	# another usual start, and one that is none: as many as can be said
	in_ns "$H1" sysctl -qw net.ipv4.ip_default_ttl=255
	expect_eq "from 255" "$(hops "$A2")" "1 "
	in_ns "$H1" sysctl -qw net.ipv4.ip_default_ttl=30
	expect_eq "from 30" "$(hops "$A2")" "15 "
}

# plain CLIENT SERVER: one of them swift; TCP's own RTT is what it goes by
plain() {
	setup_pair
	slow
	sniff "$H1" eth0
	server "$H2" cc "$2" listen "$A2" 5001 recv 1000000 send 1000000 outq info recv-eof
	client "$H1" cc "$1" connect "$A2" 5001 send 1000000 recv 1000000 outq info
	server_done
	sniffed
	expect_eq "full options" "$(packets eth0 'bolt=full')" 0
	expect_eq "Negotiated" "$(bolt_stat "$H1" Negotiated)$(bolt_stat "$H2" Negotiated)" 00
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)$(stack "$H2" TcpExtTCPTimeouts)" 00
}

test_client_without_option() {
	plain swift cubic
	expect_eq "SwiftPlain" "$(bolt_stat "$H1" SwiftPlain)" 1
	expect_ge "SwiftTcpRtt" "$(bolt_stat "$H1" SwiftTcpRtt)" 50
	expect_eq "still" "$(info "$tmp/client" cc)" swift
	# the smallest RTT and 10 us are its target here: netem's queue is none
	expect_ge "window" "$(info "$tmp/client" cwnd)" 11
}

test_server_without_option() {
	plain reno swift
	expect_eq "SwiftPlain" "$(bolt_stat "$H2" SwiftPlain)" 1
	expect_ge "SwiftTcpRtt" "$(bolt_stat "$H2" SwiftTcpRtt)" 50
	expect_eq "still" "$(info "$tmp/server" cc)" swift
}

# The base round trip is a guess, and the path has become longer: never less than a packet a round trip
test_path_outgrown() {
	setup_pair
	server "$H2" cc swift listen "$A2" 5001 recv 1000 mark "$tmp/half" recv 100000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc swift connect "$A2" 5001 send 1000 outq wait "$tmp/go" send 100000 outq info
	expect "first half" busywait test -e "$tmp/half"
	slow
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	rm "$tmp/half" "$tmp/go"
	expect_ge "SwiftDec" "$(bolt_stat "$H1" SwiftDec)" 3
	expect_eq "window" "$(info "$tmp/client" cwnd)" 1
	expect_eq "BelowTx" "$(bolt_stat "$H1" BelowTx)" 0
}

# It reacts to TCP's RTT; and never goes below two packets, as the peer may delay its ACKs
test_plain_reacts() {
	setup_pair
	slow
	target_none "$H1"
	server "$H2" cc cubic listen "$A2" 5001 recv 300000 recv-eof
	client "$H1" cc swift connect "$A2" 5001 send 300000 outq info
	server_done
	expect_ge "SwiftDec" "$(bolt_stat "$H1" SwiftDec)" 3
	expect_eq "window" "$(info "$tmp/client" cwnd)" 2
	expect_eq "BelowTx" "$(bolt_stat "$H1" BelowTx)" 0
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

# MD5: nothing may be added
test_signed() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc swift md5 192.0.2.1 secret listen "$A2" 5001 recv 50000 send 5000 recv-eof
	client "$H1" cc swift md5 192.0.2.2 secret connect "$A2" 5001 send 50000 recv 5000
	server_done
	sniffed
	expect_eq "packets with the option" "$(packets eth0 'bolt=(syn|full)')" 0
	expect_eq "SwiftPlain" "$(bolt_stat "$H1" SwiftPlain)$(bolt_stat "$H2" SwiftPlain)" 11
}

# Nor does it send super-packets, which have one signature, when another congestion control takes over
test_signed_changes() {
	setup_pair
	slow
	in_ns "$H1" ethtool -K eth0 tso off
	server "$H2" cc swift md5 192.0.2.1 secret listen "$A2" 5001 recv 3050000 recv-eof
	client "$H1" cc swift md5 192.0.2.2 secret connect "$A2" 5001 send 50000 cc cubic send 3000000 outq
	server_done
	expect_eq "wrong signatures" "$(stack "$H2" TcpExtTCPMD5Failure)" 0
	expect_eq "retransmissions" "$(stack "$H1" TcpRetransSegs)" 0
}

# The option goes in mid-flow: the peer has changed its congestion control
test_option_vanishes() {
	setup_pair
	RTT_MS=20 slow
	server "$H2" cc swift listen "$A2" 5001 recv 1000 send 1000000 outq info recv-eof
	client "$H1" cc swift connect "$A2" 5001 send 1000 outq cc cubic recv 1000000
	server_done
	expect_eq "FallbackLate" "$(bolt_stat "$H2" FallbackLate)" 1
	expect_eq "SwiftPlain" "$(bolt_stat "$H2" SwiftPlain)" 1
	expect_eq "server's congestion control" "$(info "$tmp/server" cc)" swift
	expect_eq "MSS is whole again" "$(info "$tmp/server" mss)" 1448
	expect_eq "timeouts" "$(stack "$H2" TcpExtTCPTimeouts)" 0
}

# --- loss ---

# through BYTES NETEM...: both ways, once the connection is there
through() {
	setup_pair
	# the smallest RTT, by which it goes here, is that of the delay
	slow
	transfer_through swift "$@"
}

test_loss() {
	# some 28 are lost, and fewer than 5 once in a million times
	through 4000000 delay 1ms loss 1%
	expect_ge "retransmissions" "$(info "$tmp/client" retrans)" 5
	expect_ge "LossDec" "$(bolt_stat "$H1" LossDec)" 1
}

test_much_loss() {
	through 300000 delay 1ms loss 10%
	expect_ge "retransmissions" "$(info "$tmp/client" retrans)" 5
}

test_reorder() {
	through 1000000 delay 1ms reorder 90%
	expect_ge "out of order" "$(stack "$H2" TcpExtTCPOFOQueue)" 1
	expect_eq "RTO" "$(bolt_stat "$H1" RtoDec)" 0
}

# Nothing comes through: half for each RTO, 0.001 packets after five in a row; from there it is the
# first ACK that brings it back.  The window starts at 480 Mbit/s * 1 ms: 40 packets.
test_rto() {
	setup_pair
	in_ns "$H1" sysctl -qw net.bolt.base_rtt_ns=1000000 net.bolt.rate_mbps=480
	server "$H2" cc swift listen "$A2" 5001 recv 1000 mark "$tmp/half" recv 400000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc swift connect "$A2" 5001 send 1000 outq wait "$tmp/go" send 400000 outq info
	expect "first half" busywait test -e "$tmp/half"
	expect_eq "cwnd before" "$(cwnd_now)" 40
	in_ns "$H1" tc qdisc replace dev eth0 root netem loss 100%
	touch "$tmp/go"
	expect "a timeout" busywait timeouts 1
	expect_eq "cwnd after $(bolt_stat "$H1" RtoDec)" "$(cwnd_now)" \
		$((40 >> $(bolt_stat "$H1" RtoDec)))
	expect "five timeouts" busywait timeouts 5
	expect_eq "cwnd after five timeouts" "$(cwnd_now)" 1
	in_ns "$H1" tc qdisc del dev eth0 root
	ended client "$CLIENT"
	server_done
	rm "$tmp/half" "$tmp/go"
	expect_eq "RtoDec" "$(bolt_stat "$H1" RtoDec)" "$(stack "$H1" TcpExtTCPTimeouts)"
	expect_ge "window after recovery" "$(info "$tmp/client" cwnd)" 2
}

# --- windows below one packet (section 3.4) ---

# Departures of the client's data, ns, as the option says them
departures() {
	sed -n 's/^out tcp .* len=[1-9].* tx=\([0-9]*\) .*/\1/p' "$tmp/sniff.eth0" |
		awk '{
			if ($1 + wraps < last - 2^31)
				wraps += 2^32
			last = $1 + wraps
			printf "%.0f\n", last
		}'
}

# spaced MOST: the last thirty leave four round trips apart, at most MOST ns
spaced() {
	departures | tail -30 | awk -v least=$((4 * RTT_MS * 1000000 - 8)) -v most="$1" '
		NR > 1 { gap = $1 - last; if (gap < least || gap > most) bad = bad " " gap }
		{ last = $1 }
		END { if (bad) { print bad; exit 1 } }' >"$tmp/gaps" ||
		[ -n "${BOLT_REAL_TIME:-}" ] || fail "gaps:$(cat "$tmp/gaps")"
}

# 0.25 of a packet: one every four round trips, to the microsecond, nothing lost or sent again
test_below_one() {
	setup_pair
	slow
	target_none "$H1"
	in_ns "$H1" sysctl -qw net.bolt.debug.min_cwnd_milli=250
	sniff "$H1" eth0
	server "$H2" cc swift listen "$A2" 5001 recv 71800 recv-eof
	client "$H1" cc swift connect "$A2" 5001 send 71800 outq info
	server_done
	sniffed
	expect_eq "data packets" "$(departures | wc -l)" 50
	expect_eq "snd_cwnd" "$(info "$tmp/client" cwnd)" 1
	expect_ge "BelowTx" "$(bolt_stat "$H1" BelowTx)" 30
	# the initial ten, and what there is until the window has come down
	spaced $((4 * RTT_MS * 1000000 + 20000))
	expect_on_time "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

paced() {
	[ "$(bolt_stat "$H1" BelowTx)" -ge "$1" ]
}

# The smallest there is, 100 times less than the smallest wait would be noticed; then all is well
# again: after the wait there is, not one more, and the window opens by a packet per round trip.
# Meanwhile the peer sends, and its data is acknowledged at once, with no TSval from the future: what
# leaves earlier than was planned would look old (PAWS).
test_grows_again() {
	setup_pair
	slow
	target_none "$H1"
	in_ns "$H1" sysctl -qw net.bolt.debug.min_cwnd_milli=10
	sniff "$H1" eth0
	server "$H2" cc swift listen "$A2" 5001 send 30000000 recv 100000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc swift connect "$A2" 5001 send 100000 recv 30000000 outq info
	expect "waiting" busywait paced 15
	target_all "$H1"
	ended client "$CLIENT"
	server_done
	sniffed
	departures | awk -v rtt=$((RTT_MS * 1000000)) '
		{ t[NR] = $1; if (NR > 1 && t[NR] - t[NR - 1] > 50 * rtt) long = NR }
		END {
			if (!long) { print "never waited"; exit 1 }
			if (NR - long < 20) { print "only " NR - long " after the last wait"; exit 1 }
			for (i = long + 1; i <= NR; i++)
				if (t[i] - t[i - 1] > 1.05 * rtt) { print "stall at " i; exit 1 }
			if (t[long + 10] - t[long] < 3 * rtt) { print "burst"; exit 1 }
		}' >"$tmp/gaps" || [ -n "${BOLT_REAL_TIME:-}" ] || fail "$(cat "$tmp/gaps")"
	expect_eq "PAWS" "$(stack "$H2" TcpExtPAWSEstab)" 0
	expect_on_time "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
	expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
}

trimmed() {
	[ "$(bolt_stat "$1" SackTrimmed)" -ge "$2" ]
}

# What arrives meanwhile has holes: an ACK whose blocks fill the option space has no TSval from the
# future either
test_holes_below_one() {
	setup_pair
	slow
	target_none "$H1"
	in_ns "$H1" sysctl -qw net.bolt.debug.min_cwnd_milli=10
	server "$H2" cc swift listen "$A2" 5001 send 6000000 recv 100000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc swift connect "$A2" 5001 send 100000 recv 6000000 outq
	expect "waiting" busywait paced 15
	in_ns "$H1" tc qdisc add dev eth0 clsact
	expect "every fourth is lost" in_ns "$H1" tc filter add dev eth0 ingress matchall action pass random determ drop 4
	expect "holes" busywait trimmed "$H1" 5
	target_all "$H1"
	in_ns "$H1" tc qdisc del dev eth0 clsact
	ended client "$CLIENT"
	server_done
	expect_eq "PAWS" "$(stack "$H2" TcpExtPAWSEstab)" 0
}

# Lost while it waits: sent again by RTO, which waits for no departure
test_below_one_loss() {
	setup_pair
	target_none "$H1"
	in_ns "$H1" sysctl -qw net.bolt.debug.min_cwnd_milli=100
	server "$H2" cc swift listen "$A2" 5001 recv 100000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc swift connect "$A2" 5001 mark "$tmp/up" wait "$tmp/go" send 100000 outq info
	expect "connected" busywait test -e "$tmp/up"
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 1ms loss 20% limit 10000
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	rm "$tmp/up" "$tmp/go"
	expect_ge "BelowTx" "$(bolt_stat "$H1" BelowTx)" 30
	expect_ge "retransmissions" "$(info "$tmp/client" retrans)" 2
	expect_eq "PAWS" "$(stack "$H2" TcpExtPAWSEstab)" 0
}

setup_fq() {
	setup_router
	in_ns "$H1" tc qdisc replace dev eth0 root fq
	in_ns "$R" tc qdisc replace dev r1 root netem delay $((RTT_MS))ms limit 10000
	target_none "$H1"
	in_ns "$H1" sysctl -qw net.bolt.debug.min_cwnd_milli=250
	sniff "$H1" eth0
}

# With fq, which holds packets until their departure
test_below_one_fq() {
	setup_fq
	server "$H2" cc swift listen "$A2" 5001 recv 71800 recv-eof
	client "$H1" cc swift connect "$A2" 5001 send 71800 outq info
	server_done
	sniffed
	expect_eq "data packets" "$(departures | wc -l)" 50
	spaced $((41 * RTT_MS * 100000))
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
	expect_eq "PAWS" "$(stack "$H2" TcpExtPAWSEstab)" 0
}

# ... and when another qdisc has replaced it, which holds none: fq has set sk_pacing_status, and nobody takes that back
test_below_one_fq_replaced() {
	setup_fq
	server "$H2" cc swift listen "$A2" 5001 send 71800 recv 100000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc swift connect "$A2" 5001 send 100000 outq recv 71800 info
	expect "waiting" busywait paced 15
	expect "replaced" in_ns "$H1" tc qdisc replace dev eth0 root pfifo
	ended client "$CLIENT"
	server_done
	sniffed
	spaced $((41 * RTT_MS * 100000))
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
	expect_eq "PAWS" "$(stack "$H2" TcpExtPAWSEstab)" 0
}

# --- changes ---

# flowing CC...: from the first to each other in turn while data flows
flowing() {
	local words="" first=$1 cc n
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 1ms limit 10000
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 1ms limit 10000
	n=$((300000 * $#))
	shift
	for cc; do
		words+=" cc $cc send 300000"
	done
	# shellcheck disable=SC2086 # words
	server "$H2" cc "$first" listen "$A2" 5001 recv $n send 300000 $words outq info recv-eof
	# shellcheck disable=SC2086
	client "$H1" cc "$first" connect "$A2" 5001 send 300000 $words recv $n outq info
	server_done
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)$(stack "$H2" TcpExtTCPTimeouts)" 00
	expect_eq "checksum errors" "$(stack "$H1" TcpInCsumErrors)$(stack "$H2" TcpInCsumErrors)" 00
	expect_eq "OptBad" "$(bolt_stat "$H1" OptBad)$(bolt_stat "$H2" OptBad)" 00
}

test_changes() {
	flowing swift bolt swift cubic swift bbr swift reno swift swift
	expect_eq "the last" "$(info "$tmp/client" cc)" swift
	expect_eq "MSS without the option, which went with the first" "$(info "$tmp/client" mss)" 1448
	undo
	flowing bolt swift bolt cubic
	expect_eq "the last" "$(info "$tmp/client" cc)" cubic
	expect_eq "MSS is whole again" "$(info "$tmp/client" mss)" 1448
}

# While it waits for a departure: the next congestion control does not
test_changes_below_one() {
	setup_pair
	slow
	target_none "$H1"
	server "$H2" cc swift listen "$A2" 5001 recv 200000 recv-eof
	client "$H1" cc swift connect "$A2" 5001 send 40000 pause 300 cc cubic send 160000 outq info
	server_done
	expect_eq "now" "$(info "$tmp/client" cc)" cubic
	# at 0.001 it would have been five minutes
	expect_ge "window" "$(info "$tmp/client" cwnd)" 2
	# a departure left behind stamps packets with a time that has not come
	expect_ge "RTT" "$(info "$tmp/client" rtt_us)" $((RTT_MS * 1000))
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

test_not_restricted() {
	setup_ns H1
	expect "allowed" in_ns "$H1" grep -qw swift /proc/sys/net/ipv4/tcp_allowed_congestion_control
}

# --- settings ---

get() {
	in_ns "$1" sysctl -n "net.bolt.swift_$2"
}

refuse() {
	sysctl_refuses "$H1" "net.bolt.swift_$1" "${@:2}"
}

test_settings() {
	setup_ns H1 H2
	expect_eq "base_ns" "$(get "$H1" base_ns)" 10000
	expect_eq "hop_ns" "$(get "$H1" hop_ns)" 1000
	expect_eq "fs_range_ns" "$(get "$H1" fs_range_ns)" 100000
	expect_eq "endpoint_ns" "$(get "$H1" endpoint_ns)" 100000
	refuse base_ns 1000000001 -1 x
	refuse hop_ns 10000001
	refuse fs_range_ns 1000000001
	refuse endpoint_ns 0 1000000001
	set_swift "$H1" base_ns=4321 hop_ns=30
	expect_eq "set" "$(get "$H1" base_ns) $(get "$H1" hop_ns)" "4321 30"
	expect_eq "elsewhere" "$(get "$H2" base_ns) $(get "$H2" hop_ns)" "10000 1000"
}

# --- the module ---

# Sockets that it does not concern are not even counted
test_others_untouched() {
	setup_pair
	bolt_stats_save "$H1"
	server "$H2" cc cubic listen "$A2" 5001 echo
	client "$H1" cc reno connect "$A2" 5001 ping 5 5000 shut recv-eof
	server_done
	expect_none "counters" "$(bolt_stats_diff "$H1")"
	expect_ne "default" "$(sysctl -n net.ipv4.tcp_congestion_control)" swift
}

test_unload() {
	local i
	setup_pair
	server "$H2" cc swift listen "$A2" 5001 recv 1000 wait "$tmp/go" recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc swift connect "$A2" 5001 send 1000 outq mark "$tmp/up" wait "$tmp/go"
	expect "connected" busywait test -e "$tmp/up"
	expect_fail "unloading" 'in use' rmmod tcp_bolt
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	rm "$tmp/up" "$tmp/go"
	for i in 1 2 3; do
		expect "unload $i" busywait rmmod tcp_bolt
		expect_fail "gone" 'No such file' in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" cc swift connect "$A2" 9
		expect "load $i" load_swift
		server "$H2" cc swift listen "$A2" 5001 recv 100000 recv-eof
		client "$H1" cc swift connect "$A2" 5001 send 100000 outq info
		server_done
		expect_eq "swift" "$(info "$tmp/client" cc)" swift
	done
}


# unloading first: of connections that loss has cut, sockets live on until they give up
run_tests unload setsockopt ipv6 sysctl_selects route_selects program_selects with_bolt hops client_without_option \
	server_without_option path_outgrown plain_reacts signed signed_changes option_vanishes loss much_loss reorder rto below_one \
	grows_again holes_below_one below_one_loss below_one_fq below_one_fq_replaced changes changes_below_one not_restricted settings \
	others_untouched
