#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sfc on a bond, or on the two links that it is made of, while traffic moves from one link to the
# other.  What waits when the other link takes over must leave or be sent again, SRC must reach a
# sender behind the bond by whichever link carries, and the port's rate, from which its thresholds
# follow, must be that of the links in use.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_subrtt.sh"

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
	forward "$R"
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

arrived() {
	ended client "$CLIENT"
	server_done
	unharmed
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
		counters "$R" "$dev" msg_limited=0 msg_nomem=0 msg_dropped=0 msg_unfit=0 mark_failed=0 \
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
	arrived
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
	arrived
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
	arrived
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
	arrived
	expect_eq "waiting at the dead link" "$(qdisc "$R" r2 qlen)" 0
	expect_ge "sent again" "$(info "$tmp/client" retrans)" 1
	expect_ge "SRC by the other" "$(qdisc "$R" r3 src_sent)" 10
	expect_eq "drops of the other" "$(qdisc "$R" r3 drops)" 0
}

# --- speed ---

# tap NS DEV: a link; nobody reads what it carries
tap() {
	spawn TAP "$tmp/$2" in_ns "$1" python3 -c '
import fcntl, struct, sys, time
tap = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", sys.argv[1].encode(), 0x1002))
print("ready", flush=True)
time.sleep(10000)' "$2"
	busywait file_has "$tmp/$2" ready || fail "tap: $(cat "$tmp/$2")"
}

# Links of different speed
setup_taps() {
	setup_ns R
	tap "$R" t2
	tap "$R" t3
	in_ns "$R" ethtool -s t2 speed 25000 duplex full autoneg off
	in_ns "$R" ethtool -s t3 speed 100000 duplex full autoneg off
	ips "$R" <<-BATCH
		link add bond0 type bond mode $1 miimon 1
		link set t2 master bond0
		link set t3 master bond0
		link set bond0 up
	BATCH
	expect "sfc" in_ns "$R" tc qdisc add dev bond0 root sfc
	# the event of its own carrier has been
	expect "up" busywait bond_is_up
}

bond_is_up() {
	ip -n "$R" link show bond0 | grep -q "state UP"
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

# One that is taken away says so only to the bond: with balance-alb no link event comes
test_speed_of_what_is_left() {
	setup_taps balance-alb
	expect "both" speed_is 125000
	ip -n "$R" link set t3 nomaster
	expect "one" speed_is 25000
	ip -n "$R" link set t3 master bond0
	expect "both again" speed_is 125000
}

# ... which is that of a VLAN on top as well: the only event is that of a link
test_speed_of_a_vlan() {
	setup_taps balance-xor
	ip -n "$R" link add link bond0 name v5 up type vlan id 5
	expect "sfc" in_ns "$R" tc qdisc add dev v5 root sfc
	expect "both" busywait qdisc_is "$R" v5 link_rate 15625000000
	ip -n "$R" link set t2 carrier off
	expect "one" busywait qdisc_is "$R" v5 link_rate 12500000000
	ip -n "$R" link set t2 carrier on
	expect "both again" busywait qdisc_is "$R" v5 link_rate 15625000000
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

# speed_of DEV: what a device of H1 says, in Mbit/s
speed_of() {
	in_ns "$H1" ethtool "$1" | sed -n 's/.*Speed: \([0-9]*\)Mb.*/\1/p'
}

# tells DEV MBPS
tells() {
	[ "$(speed_of "$1")" = "$2" ]
}

# lab_pair DEV MBPS: a link from H1 to H2 that says its speed
lab_pair() {
	local a b
	grep -q '^lablink ' /proc/modules || insmod "$BOLT_MODULES/lablink.ko"
	exec {a}<"/run/netns/$H1" {b}<"/run/netns/$H2"
	echo "pair $a $1 $b $1 ${2}000000 1000 1500 64" >/proc/lablink || fail "no link $1"
	exec {a}<&- {b}<&-
}

#	H1 bond0 (e2, e3) ===== (e2, e3) bond0 H2	10 Gb/s each
# setup_sender MODE
setup_sender() {
	local ns
	setup_ns H1 H2
	R=
	lab_pair e2 10000
	lab_pair e3 10000
	for ns in "$H1" "$H2"; do
		in_ns "$ns" sysctl -qw net.bolt.rate_mbps=0
		ips "$ns" <<-BATCH
			link add bond0 type bond mode $1 miimon 1
			link set e2 master bond0
			link set e3 master bond0
		BATCH
	done
	addr "$H1" bond0 192.0.2.1/24 2001:db8::1/64
	addr "$H2" bond0 192.0.2.2/24 2001:db8::2/64
	A2=192.0.2.2 B2=2001:db8::2
	wait_up
	expect "both" busywait tells bond0 20000
}

test_sender_of_two_speeds() {
	setup_sender balance-rr
	upload_takes 8000 12000
	doctor host
	finds speed ok '^bond0: departures are spaced at 20\.0Gbps, its own speed'
	ip -n "$H2" link set e2 down
	ip -n "$H1" link set e2 down
	expect "one" busywait tells bond0 10000
	upload_takes 16000 20000
	ip -n "$H2" link set e2 up
	ip -n "$H1" link set e2 up
	expect "both again" busywait tells bond0 20000
	upload_takes 8000 12000
}

# The bond reports 20 Gb/s, but a flow stays on one link; a VLAN repeats the bond's speed
test_sender_on_one_link() {
	setup_sender balance-xor
	ips "$H1" <<-BATCH
		link add link bond0 name v5 up type vlan id 5
		addr add 198.51.100.1/24 dev v5
	BATCH
	expect "VLAN" busywait tells v5 20000
	expect "spaced" spaced_at 10000 192.0.2.2
	upload_takes 16000 20000
	doctor host
	finds speed ok '^bond0: departures are spaced at 10\.0Gbps, the speed of one of its links'
	finds speed ok '^v5: departures are spaced at 10\.0Gbps, the speed of one of its links'
}

# spaced_at MBPS ADDRESS: a new flow from H1 is; 0: it is not
spaced_at() {
	local kbps
	rm -f "$tmp/up" "$tmp/go"
	server "$H2" cc bolt listen "$2" 5001 recv 1000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$2" 5001 mark "$tmp/up" wait "$tmp/go" send 1000
	busywait test -e "$tmp/up"
	ctl -j -n "$H1" flows --addr "$2"
	kbps=$(json '.[0].nic_rate')
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	[ "$kbps" = "$(($1 * 1000))" ]
}

#	H1 v0 ------------------- v0 H2		veth: tells 10 Gb/s, whatever is behind it
#	H1 v0.5 ----------------- v0.5 H2	its VLAN
#	H1 br0 (t0, later e0) --- e0 H2		a tap, as of a guest, and a link of 1 Gb/s
test_no_speed_of_its_own() {
	local ns n=0
	setup_ns H1 H2
	ip link add name v0 netns "$H1" type veth peer name v0 netns "$H2"
	lab_pair e0 1000
	tap "$H1" t0
	for ns in "$H1" "$H2"; do
		n=$((n + 1))
		ips "$ns" <<-BATCH
			link set v0 up
			link set e0 arp on up
			link add link v0 name v0.5 up type vlan id 5
			addr add 192.0.2.$n/24 dev v0
			addr add 198.51.100.$n/24 dev v0.5
		BATCH
	done
	ips "$H1" <<-BATCH
		link add br0 up type bridge
		link set t0 master br0 up
		addr add 203.0.113.1/24 dev br0
	BATCH
	ip -n "$H2" addr add 203.0.113.2/24 dev e0
	in_ns "$H1" sysctl -qw net.bolt.rate_mbps=0
	# 10 before Linux 6.3, 10000 since
	expect_ge "speed of the tap" "$(speed_of t0)" 10
	expect "the bridge repeats the tap" busywait tells br0 "$(speed_of t0)"
	ip -n "$H1" link set e0 master br0
	for n in 192.0.2.2 198.51.100.2 203.0.113.2; do
		expect "$n is there" busywait refused "$n"
	done
	expect "veth" spaced_at 0 192.0.2.2
	expect "VLAN of a veth" spaced_at 0 198.51.100.2
	expect "bridge of a tap and a link" spaced_at 1000 203.0.113.2
	doctor host
	finds speed note '^the speed of v0 is unknown: '
	finds speed note '^the speed of v0\.5 is unknown: '
	finds speed ok '^br0: departures are spaced at 1\.00Gbps, the speed of e0'
	in_ns "$H1" sysctl -qw net.bolt.rate_mbps=4000
	expect "veth, by the sysctl" spaced_at 4000 192.0.2.2
	expect "bridge, by the sysctl" spaced_at 4000 203.0.113.2
}

# stack FIRST LAST: VLANs of e0 are ports of br0, those of br0 are ports of br1
stack() {
	local dev
	for dev in e0:br0 br0:br1; do
		# shellcheck disable=SC2046 # words
		printf "link add link ${dev%:*} name ${dev%:*}.%d master ${dev#*:} up type vlan id %d\n" \
			$(for n in $(seq "$1" "$2"); do echo "$n" "$n"; done) | ips "$H1"
	done
}

#	H1 br1 (br0.1, ...) -- br0 (e0.1, ...) -- e0 ----- e0 -- e0.1 -- e0.1.1 H2
# Paths from br1 to the link: what has too many below it is not walked to the end
test_many_paths() {
	local n
	setup_ns H1 H2
	lab_pair e0 1000
	in_ns "$H1" sysctl -qw net.bolt.rate_mbps=0 net.ipv6.conf.default.disable_ipv6=1
	ips "$H1" <<-BATCH
		link set e0 arp on up
		link add br0 up type bridge
		link add br1 up type bridge
		addr add 192.0.2.1/24 dev br1
	BATCH
	ips "$H2" <<-BATCH
		link set e0 arp on up
		link add link e0 name e0.1 up type vlan id 1
		link add link e0.1 name e0.1.1 up type vlan id 1
		addr add 192.0.2.2/24 dev e0.1.1
	BATCH
	stack 1 4
	expect "192.0.2.2 is there" busywait refused 192.0.2.2
	expect "16 paths" spaced_at 1000 192.0.2.2
	stack 5 40
	expect "1600 paths" spaced_at 0 192.0.2.2
	doctor host
	finds speed note '^the speed of br1 is unknown: '
	for n in $(seq 5 40); do echo "link del br0.$n"; done | ips "$H1"
	expect "160 paths" spaced_at 1000 192.0.2.2
}

run_tests ports_below port_above sender_behind link_dies speed_of_the_active speed_of_all speed_of_what_is_left speed_of_a_vlan sender_of_two_speeds \
	sender_on_one_link no_speed_of_its_own many_paths
