#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections between two hosts begin and end on two CPUs at once.  A packet that finds its socket
# half made, or just ended by the other CPU, is ordinary, and must not be counted as an unexpected
# option or lead to a fallback.

. "$(dirname "$0")/lib.sh"

ENOUGH=30000

connected() {
	[ "$(bolt_stat "$H1" SynAckRx)" -ge "$ENOUGH" ]
}

test_nothing_unexpected() {
	local ns
	setup_pair
	# no port is used twice: what its last user is still sent would be unexpected
	in_ns "$H1" sysctl -qw net.ipv4.ip_local_port_range="1024 65535" \
		net.ipv4.tcp_max_tw_buckets=100000
	serve_races bolt
	begin_races threads 3 bytes 3000
	BUSYWAIT_MS=400000 busywait connected || fail "connections: $(bolt_stat "$H1" SynAckRx)"
	end_races
	say "$(tail -1 "$tmp/work")"
	for ns in "$H1" "$H2"; do
		for counter in Fallback FallbackLate OptBad OptUnexpected OptNoMem; do
			expect_eq "$ns $counter" "$(bolt_stat "$ns" "$counter")" 0
		done
	done
}

run_tests nothing_unexpected
