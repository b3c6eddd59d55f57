#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# A receiver that lies.  Two connections share a link of 1 Gb/s, and a middlebox changes what one
# receiver says on its way back (INC, echoes, its own delay), so that its sender believes that it
# may send more.  The test measures the throughput that is left to the other, honest connection;
# where it falls below the bar, a host can take the link from others by lying.
#
# The bars are the smallest of ten runs or more, which differ in what is random, less as much as
# that is below their median, or 5 % if that is more, in steps of five.  For "inc" it is four times
# as much below the median of 239, since an eleventh run falls below twice in one of seventy.  Where
# the honest connection has lost most, the bar says no more than that the lie takes no more than
# this.

. "$(dirname "$0")/lib.sh"

BYTES=1500000
port=(sfc rate 1gbit)
FIFO=(tbf rate 1gbit burst 9084 limit 1mb)
LIAR_DSCP=10

#	H1 eth0 --- r1  R  r2 (1 Gb/s) --- m1  M (bolt_mbox) m2 --- eth0 H2	100 us
# setup_liar RULE...: of port 5002; $port is the queue of r2
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
	in_ns "$R" tc qdisc add dev r2 root "${port[@]}"
	in_ns "$H2" tc qdisc add dev eth0 root netem limit 10000 delay 100us
	A2=198.51.100.1
	spawn MBOX "$tmp/mbox" in_ns "$M" "$BOLT_PROGRAMS/bolt_mbox" m1 m2 "$@"
	busywait file_has "$tmp/mbox" ready || fail "bolt_mbox: $(cat "$tmp/mbox")"
	expect "a way to H2" busywait refused "$A2"
}

# Swift's window applies beside Bolt's
know_path() {
	in_ns "$H1" sysctl -qw net.bolt.base_rtt_ns=100000 net.bolt.rate_mbps=1000
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
	srtt=$("${TC_LIB_DIR:+$TC_LIB_DIR/}subrtt" -j -n "$H1" flows -p 5002 | jq '[.. | .srtt_ns? // empty] | max')
	server_done
	kill "$VICTIM" "$LIAR"
	kill -TERM "$MBOX"
	wait "$MBOX"
	say "${FUNCNAME[1]}: $((8 * BYTES / us)) Mbit/s, the liar's RTT ${srtt:-?} ns, $(tail -1 "$tmp/mbox")"
}

# left MBIT [LIES]: the other one had as much, of about 950 for both
left() {
	local mbit=$((8 * BYTES / us))
	expect_ge "lies told" "$(sed -n 's/^done changed=\([0-9]*\).*/\1/p' "$tmp/mbox")" "${2:-500}"
	expect_ge "Mbit/s" "$mbit" "$1"
}

test_honest() {
	setup_liar flags 0 down port 5002
	race bolt
	left 355
}

test_honest_swift() {
	setup_liar flags 0 down port 5002
	race swift
	left 440
}

test_honest_fifo() {
	local port=("${FIFO[@]}")
	setup_liar flags 0 down port 5002
	know_path
	race bolt
	left 435
}

# Each ACK grants a packet for each that it acknowledges, less those from which a switch removed INC
# according to its SRC: it has most of the link,
test_inc() {
	setup_liar inc 100 down port 5002
	race bolt
	left 130
}

# ... but not that of another band
test_inc_in_a_band() {
	local port=("${port[@]}" bands 2 dscp "$LIAR_DSCP:2")
	setup_liar inc 100 down port 5002
	race bolt
	left 440
}

# All of the delay seems to have been the receiver's own: of Swift's window and Bolt's, Bolt's is the smaller
test_waited() {
	setup_liar waited 133000 down port 5002
	know_path
	race bolt
	left 355
}

# ... where no switch says what waits: as much as the NIC sends in the smallest RTT, and a quarter
test_waited_fifo() {
	local port=("${FIFO[@]}")
	setup_liar waited 133000 down port 5002
	know_path
	race bolt
	left 60
}

# ... 90 us of it: as if Swift's target for the fabric were so much longer
test_waited_swift() {
	setup_liar waited 90 down port 5002
	race swift
	left 40
	expect_le "RTT of the liar" "${srtt/null/}" 220000
}

# ... all of it, far beyond the target of the endpoints' delay
test_waited_long_swift() {
	setup_liar waited 133000 down port 5002
	race swift
	left 740 100
}

# Packets seem to have taken 50 us less than they did: no packet has left then, so Swift goes by
# TCP's RTT
test_echo_swift() {
	setup_liar older -50 down port 5002
	race swift
	left 460
	expect_ge "echoes of no packet" "$(bolt_stat "$H1" OptEcho)" 500
}

# ... the departure is guessed that is eight ahead, as many as are in flight: of four guesses three are right
test_echo_ahead_swift() {
	setup_liar ahead 8 down port 5002
	race swift
	left 205
}

# not_longer: no RTT of more than 5 ms is believed
not_longer() {
	race bolt
	left 355
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

run_tests honest honest_swift honest_fifo inc inc_in_a_band waited waited_fifo waited_swift \
	waited_long_swift echo_swift echo_ahead_swift echo_old echo_old_without_sack
