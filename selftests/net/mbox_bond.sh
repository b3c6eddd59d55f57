#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ports of sfc on a bond and on what it is made of, while traffic moves from one link to the other.

. "$(dirname "$0")/lib.sh"

BYTES=6000000

#	H1 eth0 --- r1  R  bond0 (r2, r3) === (e2, e3) bond0 H2
# One link at a time (active-backup), both ends looking at the carrier
setup_bond() {
	local ns a
	setup_ns H1 R H2
	ip link add name eth0 netns "$H1" type veth peer name r1 netns "$R"
	ip link add name r2 netns "$R" type veth peer name e2 netns "$H2"
	ip link add name r3 netns "$R" type veth peer name e3 netns "$H2"
	for ns in "$R" "$H2"; do
		a=e
		[ "$ns" = "$H2" ] || a=r
		ips "$ns" <<-BATCH
			link add bond0 type bond mode active-backup miimon 1
			link set ${a}2 master bond0
			link set ${a}3 master bond0
		BATCH
	done
	in_ns "$R" bash -c 'echo 1 >/proc/sys/net/ipv4/ip_forward
		echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
	addr "$R" r1 192.0.2.254/24 2001:db8:1::ff/64
	addr "$R" bond0 198.51.100.254/24 2001:db8:2::ff/64
	addr "$H1" eth0 192.0.2.1/24 2001:db8:1::1/64 192.0.2.254 2001:db8:1::ff
	addr "$H2" bond0 198.51.100.1/24 2001:db8:2::1/64 198.51.100.254 2001:db8:2::ff
	# shellcheck disable=SC2034 # for wait_up
	A2=198.51.100.1 B2=2001:db8:2::1
	switch 2
	wait_up
}

port() {
	local dev
	for dev; do
		expect "sfc" in_ns "$R" tc qdisc add dev "$dev" root sfc rate 100mbit
	done
}

# start CC DIRECTION: BYTES up or down, in the background
start() {
	if [ "$1" = up ]; then
		server "$H2" cc bolt listen "$A2" 5001 recv "$BYTES" recv-eof info
		spawn CLIENT "$tmp/client" in_ns "$H1" timeout 120 "$BOLT_PROGRAMS/bolt_xfer" \
			cc bolt connect "$A2" 5001 send "$BYTES" outq info
	else
		server "$H2" cc bolt listen "$A2" 5001 send "$BYTES" outq info
		spawn CLIENT "$tmp/client" in_ns "$H1" timeout 120 "$BOLT_PROGRAMS/bolt_xfer" \
			cc bolt connect "$A2" 5001 recv "$BYTES" recv-eof info
	fi
}

# carries DEV N: so many packets more leave R by it
carries() {
	local now
	now=$(sent "$1")
	expect "traffic by $1" busywait sent_at_least "$1" $((now + $2))
}

sent() {
	in_ns "$R" cat "/proc/self/net/dev" | awk -v d="$1:" '$1 == d { print $11 }'
}

sent_at_least() {
	[ "$(sent "$1")" -ge "$2" ]
}

intact() {
	local ns
	ended client "$CLIENT"
	server_done
	expect_eq "client" "$(info "$tmp/client" cc)" bolt
	expect_eq "server" "$(info "$tmp/server" cc)" bolt
	for ns in "$H1" "$H2"; do
		expect_eq "$ns checksum errors" "$(stack "$ns" TcpInCsumErrors)" 0
		expect_eq "$ns FallbackLate" "$(bolt_stat "$ns" FallbackLate)" 0
		expect_eq "$ns OptBad" "$(bolt_stat "$ns" OptBad)" 0
	done
}

# switch N: the links numbered N carry from now on
switch() {
	ip -n "$H2" link set bond0 type bond active_slave "e$1"
	ip -n "$R" link set bond0 type bond active_slave "r$1"
}

# all_heard WHO DEV...: what the ports of R have said
all_heard() {
	local who=$1 dev n=0
	shift
	for dev; do
		expect "drains" busywait qdisc_is "$R" "$dev" qlen 0
		expect_ge "SRC by $dev" "$(qdisc "$R" "$dev" src_sent)" 10
		counters "$R" "$dev" src_limited=0 src_nomem=0 src_dropped=0 src_unfit=0 mark_failed=0 \
			opt_bad=0 backlog=0
		n=$((n + $(qdisc "$R" "$dev" src_sent)))
	done
	expect_eq "SrcRx" "$(bolt_stat "$who" SrcRx)" "$n"
	expect_ge "SrcDec" "$(bolt_stat "$who" SrcDec)" 1
}

# Each link has a port of its own: what waits in one when the other takes over leaves by it
test_ports_below() {
	setup_bond
	port r2 r3
	start up
	carries r2 500
	switch 3
	carries r3 500
	switch 2
	carries r2 500
	switch 3
	intact
	all_heard "$H1" r2 r3
}

test_port_above() {
	setup_bond
	port bond0
	start up
	carries r2 500
	switch 3
	carries r3 500
	switch 2
	carries r2 500
	intact
	all_heard "$H1" bond0
	counters "$R" bond0 drops=0
}

# The sender sits behind the bond: SRC leave by whichever link carries
test_sender_behind() {
	setup_bond
	port r1
	start down
	carries r2 100
	switch 3
	carries r3 100
	intact
	all_heard "$H2" r1
}

# A link that dies under traffic takes with it what waits; TCP sends that again, by the other
test_link_dies() {
	setup_bond
	port r2 r3
	start up
	carries r2 500
	ip -n "$H2" link set e2 down
	carries r3 500
	intact
	expect_eq "waiting at the dead link" "$(qdisc "$R" r2 qlen)" 0
	expect_ge "sent again" "$(info "$tmp/client" retrans)" 1
	expect_ge "SRC by the other" "$(qdisc "$R" r3 src_sent)" 10
	expect_eq "drops of the other" "$(qdisc "$R" r3 drops)" 0
}

# --- speed ---

# Links of different speed; nobody reads what they carry
setup_taps() {
	local dev
	setup_ns R
	for dev in t2 t3; do
		spawn TAP "$tmp/$dev" in_ns "$R" python3 -c '
import fcntl, struct, sys, time
tap = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", sys.argv[1].encode(), 0x1002))
print("ready", flush=True)
time.sleep(10000)' "$dev"
		busywait file_has "$tmp/$dev" ready || fail "tap: $(cat "$tmp/$dev")"
	done
	in_ns "$R" ethtool -s t2 speed 25000 duplex full autoneg off
	in_ns "$R" ethtool -s t3 speed 100000 duplex full autoneg off
	ips "$R" <<-BATCH
		link add bond0 type bond mode $1 miimon 1
		link set t2 master bond0
		link set t3 master bond0
		link set bond0 up
	BATCH
	expect "sfc" in_ns "$R" tc qdisc add dev bond0 root sfc
}

speed_is() {
	busywait qdisc_is "$R" bond0 link_rate $(($1 * 125000))
}

# The rate is that of the link in use; there is no other event than the bond's
test_speed_of_the_active() {
	setup_taps active-backup
	ip -n "$R" link set bond0 type bond active_slave t2
	expect "25 Gb/s" speed_is 25000
	ip -n "$R" link set bond0 type bond active_slave t3
	expect "100 Gb/s" speed_is 100000
	ip -n "$R" link set t3 carrier off
	expect "25 Gb/s again" speed_is 25000
}

# ... or of all that carry
test_speed_of_all() {
	setup_taps balance-xor
	expect "both" speed_is 125000
	ip -n "$R" link set t2 carrier off
	expect "one" speed_is 100000
	ip -n "$R" link set t2 carrier on
	expect "both again" speed_is 125000
}

# upload_takes LEAST MOST: us for 20 MB, whose departures are spaced by the speed of H1's device
upload_takes() {
	local took
	server "$H2" cc bolt listen "$A2" 5001 recv 20000000 recv-eof
	took=$(date +%s%N)
	client "$H1" cc bolt connect "$A2" 5001 send 20000000 info
	server_done
	took=$((($(date +%s%N) - took) / 1000))
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
	expect_ge "us" "$took" "$1"
	expect_le "us" "$took" "$2"
}

bond_speed() {
	[ "$(in_ns "$H1" ethtool bond0 | sed -n 's/.*Speed: \([0-9]*\)Mb.*/\1/p')" = "$1" ]
}

#	H1 bond0 (e2, e3) ===== (e2, e3) bond0 H2	10 Gb/s each, balance-xor
test_sender_of_two_speeds() {
	local ns
	setup_ns H1 H2
	R=
	ip link add name e2 netns "$H1" type veth peer name e2 netns "$H2"
	ip link add name e3 netns "$H1" type veth peer name e3 netns "$H2"
	for ns in "$H1" "$H2"; do
		ips "$ns" <<-BATCH
			link add bond0 type bond mode balance-xor miimon 1
			link set e2 master bond0
			link set e3 master bond0
		BATCH
	done
	addr "$H1" bond0 192.0.2.1/24 2001:db8::1/64
	addr "$H2" bond0 192.0.2.2/24 2001:db8::2/64
	A2=192.0.2.2 B2=2001:db8::2
	wait_up
	expect "both" busywait bond_speed 20000
	upload_takes 8000 12000
	ip -n "$H2" link set e2 down
	expect "one" busywait bond_speed 10000
	upload_takes 16000 20000
	ip -n "$H2" link set e2 up
	expect "both again" busywait bond_speed 20000
	upload_takes 8000 12000
}

run_tests ports_below port_above sender_behind link_dies speed_of_the_active speed_of_all sender_of_two_speeds
