#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Namespaces and devices go away or move, processes die, and the module is unloaded while sockets
# are in every state that lasts (bolt_states).  Nothing may be left of them, which shows in the
# counters of flows and in that the module can go, and what remains must go on working.

. "$(dirname "$0")/lib.sh"

DEAD=192.0.2.99

in_state() {
	[ -n "$(in_ns "$1" ss -Htan state "$2")" ]
}

# Sockets in every state in H1 and H2; their program is STATES
setup_states() {
	local state
	setup_pair
	# who never answers
	ip -n "$H1" neigh add "$DEAD" lladdr 02:00:00:00:00:99 dev eth0 nud permanent
	ip -n "$H2" neigh add "$DEAD" lladdr 02:00:00:00:00:99 dev eth0 nud permanent
	spawn STATES "$tmp/states" ./bolt_states "$H1" "$H2" "$A2" "$DEAD"
	expect "sockets" busywait file_has "$tmp/states" ready || say "$(cat "$tmp/states")"
	# a SYN whose SYN-ACK finds nobody
	inject "$H1" "$DEAD" "$A2" dport=5001 tcp=2 len=0 bflags=none
	# the ACK of a FIN may be delayed
	for state in established syn-sent fin-wait-1 fin-wait-2 time-wait; do
		expect "$state" busywait in_state "$H1" "$state"
	done
	for state in established syn-recv close-wait; do
		expect "$state" busywait in_state "$H2" "$state"
	done
}

unload() {
	rmmod tcp_bolt
}

loaded_again() {
	# sockets without a process live on until they give up
	BUSYWAIT_MS=2000000 expect "module free again" busywait unload
	load tcp_bolt
}

die() {
	kill -9 "$STATES"
	wait "$STATES" 2>/dev/null
}

works() {
	server "$H2" cc bolt listen "$A2" 5009 recv 100000 send 100000 recv-eof
	client "$H1" cc bolt connect "$A2" 5009 send 100000 recv 100000
	server_done
}

# The machine's control port is the module's before a user can take it
test_loaded() {
	loaded_again
	expect_fail "a user takes the port" 'in use' setpriv --reuid 65534 --clear-groups python3 -c \
		'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("0.0.0.0", 12311))'
}

# The process dies, its sockets linger; the module goes as soon as they do, while the
# namespaces stay
test_process_dies() {
	setup_states
	expect_fail "unloading" 'in use' rmmod tcp_bolt
	die
	loaded_again
	works
}

# The receiver's namespace goes first, then the sender's
test_namespaces_go() {
	setup_states
	die
	ip netns del "$H2"
	ip netns del "$H1"
	loaded_again
}

# The namespace loses its name while its sockets live
test_namespace_of_living_sockets() {
	setup_states
	ip netns del "$H1"
	ip netns del "$H2"
	expect_fail "unloading" 'in use' rmmod tcp_bolt
	die
	loaded_again
}

# The device goes away under all of them
test_device_goes() {
	setup_states
	expect "delete" ip -n "$H1" link del eth0
	sleep 3
	die
	loaded_again
}

# A transfer stops while its device is elsewhere, and goes on when it is back
test_device_moves() {
	setup_states
	setup_ns H3
	server "$H2" cc bolt listen "$A2" 5009 recv 20000000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5009 send 1000000 mark "$tmp/half" send 19000000 outq
	expect "under way" busywait test -e "$tmp/half"
	for _ in 1 2; do
		expect "away" ip -n "$H1" link set eth0 netns "$H3"
		sleep 1
		expect "back" ip -n "$H3" link set eth0 netns "$H1"
		addr "$H1" eth0 192.0.2.1/24 2001:db8::1/64
		sleep 0.3
	done
	ended client "$CLIENT"
	server_done
	die
	loaded_again
}

# lab_pair: H1 and H2 as setup_pair has them, on a link of the lab
lab_pair() {
	local a b
	grep -q '^lablink ' /proc/modules || insmod "$BOLT_MODULES/lablink.ko"
	setup_ns H1 H2
	exec {a}<"/run/netns/$H1" {b}<"/run/netns/$H2"
	echo "pair $a eth0 $b eth0 10000000000 1000 1500 64" >/proc/lablink || fail "no link"
	exec {a}<&- {b}<&-
	addr "$H1" eth0 192.0.2.1/24 2001:db8::1/64
	addr "$H2" eth0 192.0.2.2/24 2001:db8::2/64
	A2=192.0.2.2 B2=2001:db8::2 R=
	wait_up
}

# connect() fails where the SYN itself is refused, as by SELinux or AppArmor, here by a device without a
# qdisc.  The next connect() is by a route that has another congestion control
test_refused() {
	[ -f "$BOLT_MODULES/lablink.ko" ] || { skip "no lablink"; return; }
	lab_pair
	in_ns "$H1" tc qdisc replace dev eth0 root noqueue
	defer sh -c 'echo N >/sys/module/lablink/parameters/refuse'
	server "$H2" cc cubic listen "$A2" 5009 recv-eof
	expect "connections" in_ns "$H1" python3 - "$A2" <<-'PY'
		import socket, subprocess, sys
		def prepare(refuse, cc):
		    with open("/sys/module/lablink/parameters/refuse", "w", encoding="ascii") as f:
		        f.write(refuse)
		    subprocess.run(f"ip route replace 192.0.2.0/24 dev eth0 congctl {cc}".split(), check=True)
		s = socket.socket()
		prepare("Y", "bolt")
		assert s.connect_ex((sys.argv[1], 5009)) == 111
		prepare("N", "cubic")
		s.connect((sys.argv[1], 5009))
	PY
	server_done
	expect_eq "SynTx" "$(bolt_stat "$H1" SynTx)" 1
	expect_eq "FlowsNow" "$(bolt_stat "$H1" FlowsNow)" 0
	loaded_again
}

run_tests loaded refused process_dies namespaces_go namespace_of_living_sockets device_goes device_moves
