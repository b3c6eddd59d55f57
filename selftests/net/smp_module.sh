#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tcp_bolt is taken out and put in again, over and over, while connections come and go on every CPU,
# in every state that a socket can be in, and while namespaces do; sch_sfc, while its qdiscs come
# and go under traffic.  Nothing that is sent may be lost, and no code may run after it has been
# unloaded.

. "$(dirname "$0")/lib.sh"

# unload_and_load FILE [MODULE]: until the file is there; how often so far, in $tmp/unloaded
unload_and_load() {
	local out=0 module=${2:-tcp_bolt}
	while [ ! -e "$1" ]; do
		rmmod "$module" 2>/dev/null && echo $((++out)) >"$tmp/unloaded.new" &&
			mv "$tmp/unloaded.new" "$tmp/unloaded"
		load "$module" 2>/dev/null
	done
	load "$module"
}

unloaded() {
	local n
	read -r n <"$tmp/unloaded" && [ "${n:-0}" -ge "$1" ]
}

start() {
	setup_router
	in_ns "$R" tc qdisc add dev r2 root sfc rate 100mbit ccthresh 1514b
	serve_races cubic
}

# meanwhile TIMES WORDS...: connections, until the module has been taken out so often
meanwhile() {
	local times=$1 pid
	shift
	start
	echo 0 >"$tmp/unloaded"
	begin_races absent "$@"
	unload_and_load "$tmp/enough" &
	pid=$!
	BUSYWAIT_MS=90000 expect "unloaded $times times" busywait unloaded "$times"
	end_races
	wait "$pid"
	say "$(tail -1 "$tmp/work"), unloaded $(cat "$tmp/unloaded") times"
}

# Sockets keep the module: one at a time, so that there are moments without any
test_with_traffic() {
	meanwhile 4 threads 1 bytes 20000 abort switch
}

# Sockets that never got an answer, were given up with data queued, or changed hands
test_states() {
	meanwhile 4 threads 1 bytes 20000 abort switch hold states
}

# Namespaces are made and thrown away meanwhile, and take their settings with them
test_with_namespaces() {
	local pid i there=0 absent=0
	rm -f "$tmp/enough"
	echo 0 >"$tmp/unloaded"
	unload_and_load "$tmp/enough" &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		expect "namespace" ip netns add "smp-$i"
		if in_ns "smp-$i" bash -c '
			sysctl -qw net.ipv4.tcp_congestion_control=bolt
			cat /proc/net/bolt_stat
			sysctl -q net.bolt.base_rtt_ns' >/dev/null 2>&1; then
			there=$((there + 1))
		else
			absent=$((absent + 1))
		fi
		expect "deleted" ip netns del "smp-$i"
		[ "$there" = 0 ] || [ "$absent" = 0 ] || ! unloaded 3 || break
	done
	expect_ge "namespaces with the module" "$there" 1
	expect_ge "namespaces without it" "$absent" 1
	expect "unloaded" busywait unloaded 3
	touch "$tmp/enough"
	wait "$pid"
}

# The kernel takes the module's ops from tc on one CPU, while rmmod takes the module on another
test_qdisc() {
	local pid i n=0
	start
	in_ns "$R" tc qdisc del dev r2 root
	echo 0 >"$tmp/unloaded"
	begin_races cc cubic threads 2 bytes 20000
	unload_and_load "$tmp/enough" sch_sfc &
	pid=$!
	for ((i = 0; i < 2000; i++)); do
		in_ns "$R" tc qdisc replace dev r2 root sfc rate 100mbit pause 2>/dev/null && n=$((n + 1))
		in_ns "$R" tc qdisc del dev r2 root 2>/dev/null
		[ "$n" -lt 20 ] || ! unloaded 20 || break
	done
	expect_ge "qdiscs" "$n" 20
	expect "unloaded 20 times" busywait unloaded 20
	end_races
	wait "$pid"
	say "$(tail -1 "$tmp/work"), $n qdiscs, unloaded $(cat "$tmp/unloaded") times"
}

run_tests with_traffic states with_namespaces qdisc
