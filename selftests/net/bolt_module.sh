#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading tcp_bolt changes no packet of sockets that did not ask for it, which is compared on the
# wire with and without the module.  Unloading is refused while a socket or a qdisc uses a module,
# and leaves nothing behind afterwards, so an operator may load and unload it on a live host.

. "$(dirname "$0")/lib.sh"

# capture FILE: what cubic, reno and a listener do, without what chance decides
capture() {
	local cc
	setup_pair
	sniff "$H1" eth0 plain
	for cc in cubic reno; do
		server "$H2" cc "$cc" listen "$A2" 5001 echo
		client "$H1" cc "$cc" connect "$A2" 5001 ping 5 100 ping 2 5000 shut recv-eof
		server_done
		server "$H2" cc "$cc" listen "$B2" 5001 echo
		client "$H1" cc "$cc" connect "$B2" 5001 ping 5 100 shut recv-eof
		server_done
	done
	sniffed
	grep tcp "$tmp/sniff.eth0" >"$1"
	expect_ge "packets compared" "$(wc -l <"$1")" 60
	# in real time it is up to the scheduler how replies are cut, and which ACK gets a ride on them:
	# what kinds of packets there are is left
	if [ -n "${BOLT_REAL_TIME:-}" ]; then
		sed -Ei '/ flags=A .* len=0 /d; s/\b(seq|ack|iplen|len)=[0-9]+/\1=/g' "$1"
		sort -u -o "$1" "$1"
	fi
	undo
}

test_loading_changes_no_packet() {
	rmmod tcp_bolt || fail "rmmod"
	rmmod sch_sfc || fail "rmmod"
	capture "$tmp/without"
	load tcp_bolt
	load sch_sfc
	capture "$tmp/with"
	expect "the same packets" diff -u "$tmp/without" "$tmp/with"
	expect_eq "the option" "$(grep -c '254/' "$tmp/with")" 0
}

# Sockets that bolt does not concern are not even counted
test_other_sockets_untouched() {
	setup_pair
	bolt_stats_save "$H1"
	server "$H2" cc cubic listen "$A2" 5001 echo
	client "$H1" cc reno connect "$A2" 5001 ping 5 5000 shut recv-eof
	server_done
	expect_none "counters" "$(bolt_stats_diff "$H1")"
}

test_default_unchanged() {
	expect_ne "default" "$(sysctl -n net.ipv4.tcp_congestion_control)" bolt
}

test_refused_while_in_use() {
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 recv 1000 wait "$tmp/go" recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 1000 outq mark "$tmp/up" wait "$tmp/go"
	expect "connected" busywait test -e "$tmp/up"
	expect_fail "unloading" 'in use' rmmod tcp_bolt
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
}

test_refused_while_qdisc() {
	setup_pair
	expect "qdisc" in_ns "$H1" tc qdisc add dev eth0 root sfc
	expect_fail "unloading" 'in use' rmmod sch_sfc
	expect "qdisc" in_ns "$H1" tc qdisc del dev eth0 root
}

unload() {
	rmmod tcp_bolt && rmmod sch_sfc
}

# Again and again, with traffic in between; namespaces and the control port go on living
test_reload() {
	local i
	setup_pair
	for i in 1 2 3; do
		server "$H2" cc bolt listen "$A2" 5001 recv 100000 send 100000 recv-eof
		client "$H1" cc bolt connect "$A2" 5001 send 100000 recv 100000
		server_done
		in_ns "$H2" tc qdisc replace dev eth0 root sfc rate 1gbit
		in_ns "$H2" tc qdisc del dev eth0 root
		expect "unload $i" busywait unload
		expect "no port left" test -z "$(in_ns "$H1" ss -Hlnu)"
		load tcp_bolt
		load sch_sfc
	done
}

# A namespace is thrown away under open connections
test_namespace_exit() {
	local ns
	setup_pair
	# sockets without a process live on until they give up: soon
	for ns in "$H1" "$H2"; do
		in_ns "$ns" sysctl -qw net.ipv4.tcp_orphan_retries=1
	done
	server "$H2" cc bolt listen "$A2" 5001 recv 1000 wait "$tmp/never"
	spawn CLIENT "$tmp/client" in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 1000 outq mark "$tmp/up" send 10000000 wait "$tmp/never"
	expect "connected" busywait test -e "$tmp/up"
	kill -9 "$CLIENT"
	wait "$CLIENT" 2>/dev/null
	ip netns del "$H1"
	# not -9: timeout, which it is a child of, would die without telling it
	kill "$SERVER"
	wait "$SERVER" 2>/dev/null
	ip netns del "$H2"
	BUSYWAIT_MS=60000 expect "module free again" busywait unload
	load tcp_bolt
	load sch_sfc
}

mtu_is() {
	[ "$(qdisc "$H1" "$1" mtu)" = "$2" ]
}

# Since 7.3 a device may have a lock of its own (dummy): it is held while its events are told and tc
# speaks to its qdisc, and taken by what is above, a bond or a macvlan, when that is asked for its speed.
# Who takes it twice waits for ever, with RTNL.
test_locked_devices() {
	local dev
	setup_ns H1
	ips "$H1" <<-BATCH
		link add d0 type dummy
		link add d1 type dummy
		link add bond0 type bond mode active-backup miimon 10
		link set d1 master bond0
		link set d0 up
		link add m0 link d0 type macvlan
		link set m0 up
		link set bond0 up
	BATCH
	expect "unload" busywait unload
	load tcp_bolt
	load sch_sfc
	for dev in d0 m0 bond0 d1; do
		expect "sfc on $dev" in_ns "$H1" tc qdisc add dev "$dev" root sfc
	done
	ips "$H1" <<-BATCH
		link set d1 down
		link set d1 up
		link set d0 mtu 1400
	BATCH
	expect "MTU of the dummy" busywait mtu_is d0 1414
	expect "MTU of the macvlan" busywait mtu_is m0 1414
}

# A route that names a congestion control has the module loaded with RTNL held, which loading takes
test_route_names_it() {
	local before
	setup_ns H1
	before=$(cat /proc/sys/kernel/modprobe)
	expect "unload" busywait unload
	printf '#!/bin/sh\nexec insmod %s\n' "$BOLT_MODULES/tcp_bolt.ko" >"$tmp/modprobe"
	chmod +x "$tmp/modprobe"
	echo "$tmp/modprobe" >/proc/sys/kernel/modprobe
	expect_fail "route" 'Error|Invalid|RTNETLINK' ip -n "$H1" route add 198.51.100.0/24 dev lo \
		congctl bolt
	echo "$before" >/proc/sys/kernel/modprobe
	load tcp_bolt
	load sch_sfc
	expect "route" ip -n "$H1" route add 198.51.100.0/24 dev lo congctl bolt
}

# A connection that ends before its congestion control has begun leaves nothing behind
test_refused_connection() {
	local i
	setup_pair
	for i in 1 2 3; do
		in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 9 >"$tmp/refused" 2>&1 &&
			fail "connected"
	done
	expect_eq "SYNs with the offer" "$(bolt_stat "$H1" SynTx)" 3
	expect_eq "objects" "$(bolt_stat "$H1" FlowsNow)" 0
}

run_tests loading_changes_no_packet other_sockets_untouched default_unchanged \
	refused_while_in_use refused_while_qdisc reload namespace_exit locked_devices \
	route_names_it refused_connection
