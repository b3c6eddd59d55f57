#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: soak
#
# A million connections, and ten thousand of them for a day: what the modules keep for a connection
# goes with it, and nothing grows with time.  It takes minutes of real time, so only `make
# check-long` runs it.
#
#	H1 (opens) ---- R (sfc with pauses) ---- H2 (sends back)

. "$(dirname "$0")/lib.sh"

# A tenth of that warms up what the kernel keeps for good: per-CPU pages, hash tables, caches
CONNECTIONS=${BOLT_SOAK_CONNECTIONS:-1000000}
SOCKETS=${BOLT_SOAK_SOCKETS:-10000}
DAY_S=86400 EVERY_S=600

setup_soak() {
	setup_router
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 10gbit pause
	in_ns "$H1" sysctl -qw net.bolt.sfc=1 net.ipv4.tcp_max_tw_buckets=1000 \
		net.ipv4.ip_local_port_range="1024 65535"
	in_ns "$H2" sysctl -qw net.ipv4.tcp_max_tw_buckets=1000 net.core.somaxconn=4096 \
		net.ipv4.tcp_congestion_control=bolt
	spawn SERVER "$tmp/server" in_ns "$H2" "$BOLT_PROGRAMS/bolt_soak" serve "$A2" 5001
	busywait file_has "$tmp/server" listening || fail "server: $(cat "$tmp/server")"
}

soak() {
	in_ns "$H1" "$BOLT_PROGRAMS/bolt_soak" "$@" bolt cubic swift
}

gone() {
	[ "$(bolt_stat "$H1" FlowsNow) $(bolt_stat "$H2" FlowsNow)" = "0 0" ]
}

# In KiB, what the kernel has allocated for itself, once what waits for RCU is free
kernel_memory() {
	sleep 2
	echo 3 >/proc/sys/vm/drop_caches
	sleep 2
	awk '/^(Slab|Percpu|KernelStack|VmallocUsed):/ { sum += $2 } END { print sum }' /proc/meminfo
}

timers() {
	grep -c '^ #' /proc/timer_list
}

test_connections() {
	local before after
	setup_soak
	expect "warm up" soak connections "$A2" 5001 $((CONNECTIONS / 10))
	busywait gone
	before=$(kernel_memory)
	expect "connections" soak connections "$A2" 5001 "$CONNECTIONS"
	expect "no flow is left" busywait gone
	after=$(kernel_memory)
	say "kernel memory $before KiB, after $CONNECTIONS connections $after KiB"
	# less than a byte a connection
	expect_le "kernel memory, KiB" "$after" $((before + CONNECTIONS / 1024))
	expect_ge "connections with the option" "$(bolt_stat "$H1" Negotiated)" $((CONNECTIONS * 2 / 3))
	kill "$SERVER"
}

test_day() {
	local hour end
	setup_soak
	spawn WORK "$tmp/work" soak idle "$A2" 5001 "$SOCKETS" "$EVERY_S" "$DAY_S"
	expect "open" busywait file_has "$tmp/work" open
	sleep 3600
	hour="$(bolt_stat "$H1" FlowsNow) $(bolt_stat "$H2" FlowsNow) $(timers)" memory=$(kernel_memory)
	sleep $((DAY_S - 3600 - 60))
	end="$(bolt_stat "$H1" FlowsNow) $(bolt_stat "$H2" FlowsNow) $(timers)"
	say "after an hour: flows at H1 and H2, timers: $hour; $memory KiB; after a day: $end; $(kernel_memory) KiB"
	expect_eq "flows and timers" "$end" "$hour"
	expect_le "kernel memory, KiB" "$(kernel_memory)" $((memory + 1024))
	ended work "$WORK"
	expect_eq "messages" "$(sed -n "s,.*messages=\([0-9]*\).*,\1,p" "$tmp/work")" $((SOCKETS * DAY_S / EVERY_S))
	expect "no flow is left" busywait gone
	kill "$SERVER"
}

run_tests connections day
