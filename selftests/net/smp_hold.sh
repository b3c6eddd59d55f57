#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A storm of BTS on one CPU is about flows of UDP that an sfc_hold holds and lets go on another,
# while options, qdiscs and devices change.  Each packet must come out or be counted as dropped, and
# in the end nothing may be held.
#
#	H1 eth0 (sfc_hold) <---- BTS ---- eth0 H2
#	          UDP to three closed ports ---->

. "$(dirname "$0")/lib.sh"

TIMES=40
ROUNDS=8
PORTS=(2000 2001 2002)		# packets to the last one are held whenever anybody looks
KEY=00112233445566778899aabbccddeeff
BELIEVED=(tagkey "$KEY" maxpause 1s share 100)

# KEY UNTIL PORT...: each flow is paused for ms, for 1 us, no longer, and again; the last one all the time
STORM='
import bolt_ctl, os, socket, struct, sys, time
key, ip = bytes.fromhex(sys.argv[1]), socket.inet_aton
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("192.0.2.2", bolt_ctl.PORT))
def bts(port, pause):
    head = struct.pack("!BBHHHBBH4s4sHHI", 0x45, 0, 28, 0, 0, 64, 17, 0,
                       ip("192.0.2.1"), ip("192.0.2.2"), 1000, port, 0)
    return bolt_ctl.packed(head, type=2, tx=0, number=pause, key=key)
*ports, last = map(int, sys.argv[3:])
messages = [bts(port, ns) for ns in (3000000,) * 8 + (1000, 5000000, 0, 0, 1000) for port in ports]
messages.append(bts(last, 500000000))
while not os.path.exists(sys.argv[2]):
    time.sleep(0.001)
    for message in messages:
        try:
            s.sendto(message, ("192.0.2.1", bolt_ctl.PORT))
        except OSError:
            pass    # the device has gone
'

# flood PORT: until there is enough; prints how many at a time were sent
flood() {
	while [ ! -e "$tmp/enough" ]; do
		in_ns "$H1" taskset -c 0 "$BOLT_PROGRAMS/bolt_inject" "$A1" "$A2" udp=1 len=100 \
			n=200 "dport=$1" && echo 200
	done
}

# Nothing else leaves H1, which would be among the drops: no router or neighbour is asked for, no port reported
alone() {
	in_ns "$H1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv4.icmp_ratelimit=1000000000
	ip -n "$H1" neigh replace "$A2" lladdr "$(mac "$H2" eth0)" dev eth0 nud permanent
	ip -n "$H2" neigh replace "$A1" lladdr "$(mac "$H1" eth0)" dev eth0 nud permanent
}

# begin [alone]
begin() {
	local port
	setup_pair
	[ "${1:-}" != alone ] || alone
	rm -f "$tmp/enough"
	expect "sfc_hold" in_ns "$H1" tc qdisc replace dev eth0 root handle 1: sfc_hold "${BELIEVED[@]}"
	defer touch "$tmp/enough"
	floods=()
	for port in "${PORTS[@]}"; do
		flood "$port" >"$tmp/sent.$port" 2>"$tmp/said.$port" &
		floods+=($!)
	done
	spawn BTS "$tmp/storm" in_ns "$H2" taskset -c 1 python3 -c "$STORM" "$KEY" "$tmp/enough" "${PORTS[@]}"
	expect "held" busywait holds
}

# hold NAME: of the sfc_hold
hold() {
	qdisc "$H1" eth0 "$1" sfc_hold
}

holds() {
	[ "$(hold held_pkts)" -gt 0 ]
}

# end: nobody sends any more, and nothing waits
end() {
	touch "$tmp/enough"
	wait "${floods[@]}"
	ended storm "$BTS"
	expect "empty" busywait qdisc_is "$H1" eth0 qlen 0 sfc_hold
	say "bts $(hold bts) pauses $(hold pauses) held $(hold held) drops $(hold drops) ignored $(hold ignored)"
	expect_eq "held bytes, packets, backlog" "$(hold held_bytes) $(hold held_pkts) $(hold backlog)" "0 0 0"
	expect_eq "released" "$(hold released)" "$(hold held)"
	expect_ge "held" "$(hold held)" 1
	expect_ge "pauses" "$(hold pauses)" 1
}

toggle() {
	case $(($1 % 5)) in
	0) in_ns "$H1" tc qdisc change dev eth0 root sfc_hold notagkey share 100 maxpause 1s ;;
	1) in_ns "$H1" tc qdisc change dev eth0 root sfc_hold tagkey "$SWITCHKEY,$KEY" share 30 limit 20kb ;;
	2) in_ns "$H1" tc qdisc change dev eth0 root sfc_hold port 12399 limit 2mb ;;
	3) in_ns "$H1" tc qdisc change dev eth0 root sfc_hold port 12311 minttl 1 maxpause 5us ;;
	4) in_ns "$H1" tc qdisc change dev eth0 root sfc_hold "${BELIEVED[@]}" minttl 0 ;;
	esac
}

# Each packet that was sent came out, or was dropped and counted
test_options() {
	local n ok=0 sent
	begin alone
	for ((n = 0; n < TIMES; n++)); do
		toggle "$n" >"$tmp/change" 2>&1 && ok=$((ok + 1))
		[ $((n % 5)) -lt 4 ] || expect "held" busywait holds
	done
	expect_eq "changes made ($(cat "$tmp/change"))" "$ok" "$TIMES"
	end
	expect_ge "BTS heard" "$(hold bts)" 1000
	sent=$(awk '{ n += $1 } END { print n }' "$tmp"/sent.*)
	expect_ge "sent" "$sent" 1000
	expect_eq "came out, or was counted" "$(($(stack "$H2" UdpNoPorts) + $(hold drops) +
		$(ip -n "$H1" -j -s link show dev eth0 | jq '.[0].stats64.tx.dropped')))" "$sent"
	expect_none "sending" "$(cat "$tmp"/said.*)"
}

# With packets in it that are held: replaced by its like and by another, deleted, reset by a link that goes down
test_qdiscs() {
	local n
	begin
	for ((n = 2; n < 2 + ROUNDS; n++)); do
		case $((n % 4)) in
		0) expect "pfifo" in_ns "$H1" tc qdisc replace dev eth0 root pfifo ;;
		1) expect "delete" in_ns "$H1" tc qdisc del dev eth0 root ;;
		2) expect "down" ip -n "$H1" link set eth0 down && expect "up" ip -n "$H1" link set eth0 up ;;
		esac
		expect "sfc_hold" in_ns "$H1" tc qdisc replace dev eth0 root handle "$n:" sfc_hold "${BELIEVED[@]}"
		expect "held" busywait holds
	done
	end
}

# The device moves to another namespace and back, goes, or goes with its namespace
test_gone() {
	local what
	for what in moves device namespace; do
		begin
		case $what in
		moves)
			setup_ns OTHER
			expect "there" ip -n "$H1" link set eth0 netns "$OTHER"
			expect "back" ip -n "$OTHER" link set eth0 netns "$H1"
			addr "$H1" eth0 192.0.2.1/24 2001:db8::1/64
			expect "sfc_hold" in_ns "$H1" tc qdisc add dev eth0 root sfc_hold "${BELIEVED[@]}"
			expect "held again" busywait holds
			;;
		device) expect "delete" ip -n "$H1" link del eth0 ;;
		namespace) expect "delete" ip netns del "$H1" ;;
		esac
		touch "$tmp/enough"
		wait "${floods[@]}"
		ended storm "$BTS"
		undo
	done
}

run_tests options qdiscs gone
