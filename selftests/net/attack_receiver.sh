#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# A receiver that lies: two connections share a link, and what one receiver says is changed on its
# way back, so that its sender believes that it may send more.  What is left to the other one?

. "$(dirname "$0")/lib.sh"

BYTES=1500000
options=()
LIAR_DSCP=10

#	H1 eth0 --- r1  R  r2 (1 Gb/s) --- m1  M (bolt_mbox) m2 --- eth0 H2	100 us
# setup_liar RULE...: of port 5002; the queue has these options
setup_liar() {
	setup_ns H1 R M H2
	ip link add name eth0 netns "$H1" type veth peer name r1 netns "$R"
	ip link add name r2 netns "$R" type veth peer name m1 netns "$M"
	ip link add name m2 netns "$M" type veth peer name eth0 netns "$H2"
	in_ns "$M" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	ips "$M" <<-BATCH
		link set m1 mtu 9000 up
		link set m2 mtu 9000 up
	BATCH
	addr "$R" r1 192.0.2.254/24 2001:db8:1::ff/64
	addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
	in_ns "$R" sysctl -qw net.ipv4.ip_forward=1
	addr "$H1" eth0 192.0.2.1/24 2001:db8:1::1/64 192.0.2.254
	addr "$H2" eth0 198.51.100.1/24 2001:db8:2::1/64 198.51.100.254
	offload "$R" r2 off
	offload "$H2" eth0 off
	in_ns "$R" tc qdisc add dev r2 root sfc rate 1gbit "${options[@]}"
	in_ns "$H2" tc qdisc add dev eth0 root netem limit 10000 delay 100us
	A2=198.51.100.1
	spawn MBOX "$tmp/mbox" in_ns "$M" "$BOLT_PROGRAMS/bolt_mbox" m1 m2 "$@"
	busywait file_has "$tmp/mbox" ready || fail "bolt_mbox: $(cat "$tmp/mbox")"
	expect "a way to H2" busywait refused "$A2"
}

# race CC: BYTES of the honest one beside the liar, who began before and goes on after; $us it took, $srtt ns
# of the liar's sender
race() {
	local begin
	spawn LIAR "$tmp/liar" in_ns "$H2" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc "$1" listen "$A2" 5002 recv $((400 * BYTES))
	busywait file_has "$tmp/liar" listening || fail "liar: $(cat "$tmp/liar")"
	spawn VICTIM "$tmp/victim" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc "$1" tos $((LIAR_DSCP << 2)) connect "$A2" 5002 send $((400 * BYTES))
	server "$H2" cc "$1" listen "$A2" 5001 recv "$BYTES" recv-eof
	begin=${EPOCHREALTIME/./}
	client "$H1" cc "$1" connect "$A2" 5001 send "$BYTES" outq info
	us=$((${EPOCHREALTIME/./} - begin))
	srtt=$("$TC_LIB_DIR/subrtt" -j -n "$H1" flows -p 5002 | jq '[.. | .srtt_ns? // empty] | max')
	server_done
	kill "$VICTIM" "$LIAR"
	kill -TERM "$MBOX"
	wait "$MBOX"
	say "${FUNCNAME[1]}: $((8 * BYTES / us)) Mbit/s, $(tail -1 "$tmp/mbox")"
}

# left MBIT: the other one had as much, of about 950 for both
left() {
	local mbit=$((8 * BYTES / us))
	expect_ge "lies told" "$(sed -n 's/^done changed=\([0-9]*\).*/\1/p' "$tmp/mbox")" 500
	expect_ge "Mbit/s" "$mbit" "$1"
}

test_honest() {
	setup_liar flags 0 down port 5002
	race bolt
	left 250
}

# Each ACK grants a packet for each that it acknowledges, less those from which a switch removed INC
# according to its SRC: it has most of the link,
test_inc() {
	setup_liar inc 100 down port 5002
	race bolt
	left 100
}

# ... but not that of another band
test_inc_in_a_band() {
	local options=(bands 2 dscp "$LIAR_DSCP:2")
	setup_liar inc 100 down port 5002
	race bolt
	left 400
}

# All of the delay seems to have been the receiver's own
test_waited() {
	setup_liar waited down port 5002
	race bolt
	left 250
}

# Packets seem to have taken 50 us less than they did: no packet has left then, so Swift goes by
# TCP's RTT
test_echo_swift() {
	setup_liar older -50 down port 5002
	race swift
	left 250
	expect_ge "echoes of no packet" "$(bolt_stat "$H1" OptEcho)" 500
}

# not_longer: no RTT of more than 5 ms is believed
not_longer() {
	race bolt
	left 250
	expect_le "RTT that is believed" "${srtt/null/}" 5000000
}

# ... 50 ms longer, so that an SRC would take next to nothing: no more than by TCP's own
test_echo_old() {
	setup_liar older 50000 down port 5002
	not_longer
}

# ... where the receiver offers no SACK, so that TCP does not know what has arrived
test_echo_old_without_sack() {
	setup_liar older 50000 down port 5002
	in_ns "$H2" sysctl -qw net.ipv4.tcp_sack=0
	not_longer
}

run_tests honest inc inc_in_a_band waited echo_swift echo_old echo_old_without_sack
