#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Source Flow Control at one port of a router: which senders are asked to pause, for how long, and
# how often.  Crafted packets meet a port so slow that nothing leaves in between, so every count is
# exact.
#
# The link takes the first packet at once; packet k then meets a queue of k - 2 packets of 1514
# bytes.  1514 bytes last 12.112 ms at 1 Mbit/s.

. "$(dirname "$0")/lib.sh"

# port OPTIONS...: sfc at R towards H2; H1 hears control messages
port() {
	setup_crafted 12311
	expect "sfc $*" in_ns "$R" tc qdisc add dev r2 root sfc nobolt pause "$@"
	sniff "$H2" eth0
	sniff "$H1" eth0
}

drained() {
	expect "all leave" busywait qdisc_is "$R" r2 qlen 0
	sniffed
	counters "$R" r2 backlog=0 drop_data=0
}

# The first NAME=VALUE counts: 1460 bytes and no option fill a packet unless something else is said
v4() {
	inject "$H1" 192.0.2.7 "$A2" "$@" bflags=none len=1460
}

v6() {
	inject "$H1" 2001:db8:1::7 "$B2" "$@" bflags=none len=1440
}

# in_force NAME=VALUE...: what the statistics say of options that are "auto"
in_force() {
	local c
	for c; do
		expect_eq "${c%=*}" "$(in_ns "$R" tc -j -s qdisc show dev r2 | jq ".[0].${c%=*}")" "${c#*=}"
	done
}

# bts PATTERN...: how many BTS that look so have reached H1
bts() {
	packets eth0.h1 'in udp' ' type=2 ' "$@"
}

# slow OPTIONS...: thresholds of three packets and one, every packet answered
slow() {
	port rate 1mbit qth 4542b qtg 1514b suppress off maxpause 4s "$@"
}

# Ten packets: 1 leaves, 2 to 5 meet three packets at most, 6 to 10 more
test_beyond_qth() {
	slow switch_id 77
	v4 n=10 tos=184
	drained
	counters "$R" r2 bts_sent=5 bts_suppressed=0 suppress_ns=0 src_sent=0
	in_force qth=4542 qtg=1514
	expect_eq "BTS" "$(bts)" 5
	# section 3.3: (queue - qtg) / R
	expect_eq "the first" "$(bts ' queue=6056 rate=1000 pause=36336000 switch=77 ')" 1
	expect_eq "the last" "$(bts ' queue=12112 rate=1000 pause=84784000 switch=77 ')" 1
	expect_eq "from the destination to the source" \
		"$(bts "src=$A2 dst=192.0.2.7 sport=12311 dport=12311")" 5
	expect_eq "head" "$(bts 'version=2 type=2 cflags=0 dscp=46 tx=0 ' ' quote=28 ' ' tos=192 ')" 5
	expect_eq "checksum" "$(bts 'csum=ok')" 5
	expect_eq "data" "$(packets eth0.h2 'in tcp' 'csum=ok')" 10
}

# A byte less than the sixth packet meets, and just what it meets
test_threshold_is_exact() {
	port rate 1mbit qth 6055b qtg 1514b suppress off
	v4 n=10
	drained
	counters "$R" r2 bts_sent=5
	undo
	port rate 1mbit qth 6056b qtg 1514b suppress off
	v4 n=10
	drained
	counters "$R" r2 bts_sent=4
}

test_ipv6() {
	slow
	v6 n=10
	drained
	expect_eq "BTS" "$(bts "src=$B2 dst=2001:db8:1::7" ' quote=48 ' 'csum=ok')" 5
	expect_eq "the last" "$(bts ' queue=12112 rate=1000 pause=84784000 ')" 1
}

# UDP, so RoCE and QUIC; 1472 bytes fill the same packet
test_udp() {
	slow
	v4 udp=1 n=10 len=1472
	drained
	counters "$R" r2 bts_sent=5
	expect_eq "BTS" "$(bts ' tx=0 ' ' quote=28 ')" 5
}

# Beside Bolt: its stamp is echoed; SRC from ccthresh, BTS beyond qth
test_with_bolt() {
	slow bolt nosm ccthresh 3028b
	v4 n=10 len=1448 bflags=80 tx=5000
	drained
	counters "$R" r2 bts_sent=5 src_sent=7 dec_set=7
	expect_eq "the first BTS" "$(bts ' tx=5005 queue=6056 ')" 1
	expect_eq "SRC" "$(packets eth0.h1 'in udp' ' type=1 ')" 7
	expect_eq "which asks for no pause" "$(packets eth0.h1 'in udp' ' type=1 ' 'pause=0 ')" 7
}

# Nobody is paused for an ACK, a SYN or a control message
test_not_data() {
	slow
	v4 n=10
	v4 n=3 len=0 seq=900000
	v4 n=2 len=0 tcp=02
	v4 udp=1 n=2 len=68 sport=12311 dport=12311
	drained
	counters "$R" r2 bts_sent=5 bts_suppressed=0 msg_unfit=0
}

# Two ports that call the control port by other numbers: a message of one is nothing that the other
# answers, though it finds a queue as well
test_no_answer_to_answers() {
	slow
	expect "the way back" in_ns "$R" tc qdisc add dev r1 root sfc nobolt pause port 12399 \
		rate 1mbit qth 150b qtg 100b suppress off maxpause 4s
	v4 n=10
	drained
	counters "$R" r2 bts_sent=5
	counters "$R" r1 bts_sent=0 msg_unfit=0 high=0
	expect_ge "the queue of the way back" "$(qdisc "$R" r1 backlog_peak)" 300
}

# messages KIND: ten of them from H2 to H1, as any switch might say it: this version of the protocol, or
# another with fields of its own.  "super": in one super-packet; "data" is none of them
messages() {
	in_ns "$H2" python3 - "$1" "$A2" "$B2" <<-'PYTHON' || fail "messages $1"
		import socket, struct, sys
		kind, a4, a6 = sys.argv[1:]
		six = kind == "ipv6"
		family = socket.AF_INET6 if six else socket.AF_INET
		quote = {False: b"\x45" + bytes(8) + b"\x11" + bytes(18), True: b"\x60" + bytes(5) + b"\x11" + bytes(41)}[six]
		version, typ, flags, tail = {
		    "bts": (2, 2, 0, 0), "ipv6": (2, 2, 0, 0), "tagged": (2, 2, 4, 8), "cacheable": (2, 2, 5, 28),
		    "src": (2, 1, 4, 8), "cnm": (2, 3, 4, 8), "version": (3, 2, 0, 0), "type": (2, 9, 4, 8),
		    "flag": (2, 2, 0x80, 0), "version_src": (3, 1, 4, 8), "super": (2, 2, 0, 0), "data": (2, 2, 0, 0),
		}[kind]
		m = struct.pack(">BBBBIIII", version, typ, flags, 0, 1, 2, 3, 4) + bytes(4 * (typ != 1)) + quote + bytes(tail)
		if kind == "data":
		    m = bytes(len(m))
		s = socket.socket(family, socket.SOCK_DGRAM)
		s.bind((a6 if six else a4, 12311))
		to = ("2001:db8:1::7" if six else "192.0.2.7", 12311)
		if kind == "super":
		    s.setsockopt(17, 103, len(m))
		    s.sendto(10 * m, to)
		for _ in range(0 if kind == "super" else 10):
		    s.sendto(m, to)
	PYTHON
}

# Whatever a switch says, in any version: by its form
test_no_answer_to_any_message() {
	local kind
	setup_crafted 12311
	ip -n "$H2" route del blackhole 192.0.2.7/32
	ip -n "$H2" -6 route del blackhole 2001:db8:1::7/128
	for kind in bts ipv6 tagged cacheable src cnm version version_src type flag super; do
		expect "$kind" in_ns "$R" tc qdisc replace dev r1 root handle 2: sfc nobolt pause port 12399 \
			rate 1mbit qth 150b qtg 100b suppress off maxpause 4s no-split-gso
		messages "$kind"
		counters "$R" r1 bts_sent=0 msg_unfit=0 high=0
		expect_ge "$kind: its queue" "$(qdisc "$R" r1 backlog_peak)" 300
		in_ns "$R" tc qdisc del dev r1 root
	done
	expect "data" in_ns "$R" tc qdisc add dev r1 root sfc nobolt pause port 12399 \
		rate 1mbit qth 150b qtg 100b suppress off maxpause 4s
	messages data
	expect_ge "data is answered" "$(qdisc "$R" r1 bts_sent)" 5
}

# Who is no single host is not answered, nor who sends to more than one (RFC 1122, section 3.2.2)
test_not_one_host() {
	local a
	slow
	v4 n=10
	for a in 224.0.0.5 239.1.2.3 255.255.255.255 127.0.0.1; do
		inject "$R" "$a" "$A2" bflags=none len=1460
	done
	expect "route" ip -n "$R" route add 239.1.2.3/32 dev r2
	expect "route" ip -n "$R" -6 route add multicast ff0e::1/128 dev r2 table local
	inject "$R" 198.51.100.254 239.1.2.3 bflags=none len=1460
	counters "$R" r2 bts_sent=5 msg_unfit=5
	for a in ff02::5 ff0e::1 ::1; do
		inject "$R" "$a" "$B2" bflags=none len=1440
	done
	inject "$R" 2001:db8:2::ff ff0e::1 bflags=none len=1440
	counters "$R" r2 bts_sent=5 msg_unfit=9
	drained
}

# Who is named as the source gets no more bytes than were sent: 80 in a BTS of IPv4, 120 of IPv6
test_no_longer_than_its_cause() {
	slow
	v4 n=10
	counters "$R" r2 bts_sent=5 msg_unfit=0
	inject "$H1" 192.0.2.7 "$A2" udp=1 len=51
	inject "$H1" 2001:db8:1::7 "$B2" udp=1 len=71
	counters "$R" r2 bts_sent=5 msg_unfit=2
	inject "$H1" 192.0.2.7 "$A2" udp=1 len=52
	inject "$H1" 2001:db8:1::7 "$B2" udp=1 len=72
	counters "$R" r2 bts_sent=7 msg_unfit=2
	in_ns "$R" tc qdisc change dev r2 root sfc edge switchkey "$SWITCHKEY" \
		tagkey 000102030405060708090a0b0c0d0e0f
	inject "$H1" 192.0.2.7 "$A2" udp=1 len=59
	counters "$R" r2 bts_sent=7 msg_unfit=3
	# what is for switches is left out where it does not fit
	inject "$H1" 192.0.2.7 "$A2" udp=1 len=79
	counters "$R" r2 bts_sent=8 msg_unfit=3
	inject "$H1" 192.0.2.7 "$A2" udp=1 len=80
	counters "$R" r2 bts_sent=9 msg_unfit=3
	drained
	expect_eq "for the sender" "$(bts 'cflags=4 ')" 1
	expect_eq "for switches" "$(bts 'cflags=5 ')" 1
}

# ... in all messages about it: an SRC of 76 and a BTS of 80
test_no_longer_together() {
	slow bolt nosm ccthresh 3028b
	v4 n=10
	counters "$R" r2 bts_sent=5 src_sent=0 msg_unfit=0
	v4 len=103 bflags=80 tx=5000
	counters "$R" r2 bts_sent=5 src_sent=1 msg_unfit=1
	v4 len=104 bflags=80 tx=6000
	counters "$R" r2 bts_sent=6 src_sent=2 msg_unfit=1
	drained
	undo
	# the BTS comes later: of four packets, the last of 155 bytes is answered by its SRC alone
	slow bolt nosm ccthresh 1514b qth 100b qtg 1b bts egress
	v4 n=2
	v4 len=104 bflags=80 tx=5000
	v4 len=103 bflags=80 tx=6000
	v4 len=1000
	drained
	counters "$R" r2 src_sent=2 bts_sent=2 msg_unfit=1
	expect_eq "a BTS" "$(bts ' tx=5000 ')" 1
	expect_eq "none" "$(bts ' tx=6000 ')" 0
}

# Nothing congested: nothing said, whatever the default thresholds are
test_silence() {
	port rate 1mbit
	v4 n=5
	drained
	# auto: two packets and four, since a BDP of this link is a byte
	in_force qtg=3028 qth=6056 suppress_ns=5000
	counters "$R" r2 bts_sent=0 bts_suppressed=0
	expect_eq "BTS" "$(bts)" 0
}

# 10 us at 10 Gb/s carry 12500 bytes; a threshold that is given moves the other
test_auto_thresholds() {
	port rate 10gbit
	in_force qtg=12500 qth=25000 suppress_ns=5000
	in_ns "$R" tc qdisc change dev r2 root sfc rtt 100us
	in_force qtg=125000 qth=250000 suppress_ns=50000
	in_ns "$R" tc qdisc change dev r2 root sfc qtg 200000b
	in_force qtg=200000 qth=400000
	in_ns "$R" tc qdisc change dev r2 root sfc qtg auto qth 100000b
	in_force qtg=50000 qth=100000
	# a queue must be able to exceed it: a quarter of what may wait is left
	in_ns "$R" tc qdisc change dev r2 root sfc qth auto limit 100000b
	in_force qtg=37500 qth=75000
	# of three levels the last has two thirds
	in_ns "$R" tc qdisc change dev r2 root sfc levels 1kb 4kb
	in_force qtg=25000 qth=50001
	expect "one band" in_ns "$R" tc qdisc change dev r2 root sfc levels none bands 1 default 1
	in_force qtg=37500 qth=75000
	in_ns "$R" tc qdisc change dev r2 root sfc qtg 90000b
	in_force qtg=90000 qth=90001
	in_ns "$R" tc qdisc change dev r2 root sfc qtg auto limit 1000000b buffer 1000000b alpha 1/4
	in_force qtg=125000 qth=150000
	# one that is given is not moved, nor is the other one
	in_ns "$R" tc qdisc change dev r2 root sfc qth 190000b
	in_force qtg=125000 qth=190000
	in_ns "$R" tc qdisc change dev r2 root sfc qth auto buffer off
	in_ns "$R" tc qdisc change dev r2 root sfc bts off
	in_force qth=0
	sniffed
}

# Once per flow and period; other flows are other flows
test_suppression() {
	port rate 1mbit qth 4542b qtg 1514b suppress 1s limit 1mb
	v4 n=10
	counters "$R" r2 bts_sent=1 bts_suppressed=4
	v4 n=10 sport=1001
	v4 n=10 dport=2001
	v4 udp=1 n=10 len=1472
	counters "$R" r2 bts_sent=4 bts_suppressed=31 suppress_ns=1000000000
	drained
	expect_eq "BTS" "$(bts)" 4
}

# A flow that would be told of an end that is a period later than what it knows hears again: here packet k
# is worth k - 3 times 12.112 ms
test_suppression_late() {
	port rate 1mbit qth 4542b qtg 1514b suppress 100ms limit 1mb maxpause 4s
	v4 n=30
	counters "$R" r2 bts_sent=3 bts_suppressed=22
	drained
	expect_eq "BTS" "$(bts)" 3
	expect_eq "packet 6" "$(bts ' pause=36336000 ')" 1
	expect_eq "packet 15" "$(bts ' pause=145344000 ')" 1
	expect_eq "packet 24" "$(bts ' pause=254352000 ')" 1
}

# vrfs BTS: a flow of H1, in a VRF, and one of the same addresses outside of it; when they are told
vrfs() {
	setup_crafted 12311
	setup_vrf
	ip -n "$R" route add "$A2" dev r2
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc nobolt pause rate 1mbit qth 4542b qtg 1514b \
		suppress 4s limit 1mb bts "$1"
	sniff "$H2" eth0
	v4 n=10
	inject "$OTHER" 192.0.2.7 "$A2" bflags=none len=1460 n=5
	drained
	expect_eq "data" "$(packets eth0 'in tcp' 'src=192.0.2.7')" 15
}

# Tenants with the same addresses: that a flow of the one was told says nothing of the other's.  At least
# packets 6 to 15 find a queue, and 2 to 11 leave one behind
test_suppression_vrf() {
	vrfs ingress
	counters "$R" r2 bts_sent=2
	undo
	vrfs egress
	counters "$R" r2 bts_sent=2
}

# A source that is also an address of this router, but in another VRF, is no sign of a translator
test_address_in_another_vrf() {
	setup_crafted 12311
	setup_vrf
	expect "address" ip -n "$R" addr add 2001:db8:1::7/128 dev r3 nodad
	expect "chain" in_ns "$R" nft 'table ip6 t { chain pre { type filter hook prerouting priority 0; }; }'
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc nobolt pause rate 1mbit qth 4542b qtg 1514b limit 1mb
	v6 n=10
	counters "$R" r2 msg_unfit=0
	expect_ge "BTS" "$(qdisc "$R" r2 bts_sent)" 1
}

# Without that, it hears again when nothing of it is remembered: this queue drains, and its end stays
test_suppression_ends() {
	port rate 1mbit qth 4542b qtg 1514b suppress 100ms limit 1mb maxpause 4s
	v4 n=13
	counters "$R" r2 bts_sent=1 bts_suppressed=7
	sleep 0.05
	v4 n=1 seq=50000
	counters "$R" r2 bts_sent=1 bts_suppressed=8
	v4 n=16 seq=60000 sport=1001
	counters "$R" r2 bts_sent=3 bts_suppressed=22
	sleep 0.2
	v4 n=2 seq=90000
	counters "$R" r2 bts_sent=4 bts_suppressed=23
	drained
	expect_eq "BTS" "$(bts)" 4
}

# As many flows as the paper's worst case, none suppressed but by its own BTS
test_many_flows() {
	local i
	port rate 1mbit qth 1514b qtg 100b suppress 4s limit 4mb
	v4 n=3
	for ((i = 1; i <= 150; i++)); do
		v4 n=2 len=100 sport=$((20000 + i))
	done
	counters "$R" r2 bts_sent=150 bts_suppressed=150
	drained
}

# Packet k leaves 10 - k behind: more than three at 2 to 6
test_egress() {
	slow bts egress
	v4 n=10 len=1448 bflags=80 tx=5000
	counters "$R" r2 bts_sent=0
	drained
	counters "$R" r2 bts_sent=5
	expect_eq "the first" "$(bts ' tx=5001 queue=12112 rate=1000 pause=84784000 ')" 1
	expect_eq "the last" "$(bts ' tx=5005 queue=6056 rate=1000 pause=36336000 ')" 1
}

test_off() {
	slow bts off
	v4 n=10
	drained
	counters "$R" r2 bts_sent=0
	in_ns "$R" tc qdisc change dev r2 root sfc bts ingress nopause
	v4 n=10
	expect "all leave" busywait qdisc_is "$R" r2 qlen 0
	counters "$R" r2 bts_sent=0
}

test_edge() {
	slow edge switchkey "$SWITCHKEY"
	v4 n=10
	drained
	expect_eq "cacheable" "$(bts 'cflags=1 ')" 5
}

# sent: by the clock of the newest message for switches, ns
sent() {
	grep -o ' sent=0x[0-9a-f]*' "$tmp/sniff.eth0.h1" | tail -1 | cut -c7-
}

# The clock is one for all ports, but not ours: nobody learns since when the machine is up
test_edge_clock() {
	local up first off
	slow edge switchkey "$SWITCHKEY"
	v4 n=10
	expect "answered" busywait file_has "$tmp/sniff.eth0.h1" ' sent='
	first=$(sent)
	read -r up _ </proc/uptime
	off=$((first - 10#${up/./}0000000))
	expect_ge "a minute or more from the time since boot" "${off#-}" 60000000000
	# and does so when there is another port
	expect "r1" in_ns "$R" tc qdisc add dev r1 root sfc
	v4 n=10
	drained
	off=$(($(sent) - first))
	expect_ge "goes on" "$off" 1
	expect_le "goes on" "$off" 60000000000
}

# 84 bytes are fewer than the 100 of one for switches, and more than the 80 of the rest
test_edge_small() {
	slow edge switchkey "$SWITCHKEY"
	v4 n=5
	v4 n=1 len=44
	drained
	expect_eq "for the sender" "$(bts 'cflags=0 ')" 1
	counters "$R" r2 bts_sent=1 msg_unfit=0
}

# By destination and DSCP others are paused: not where that does not tell the queue
test_edge_bands() {
	local root
	slow edge switchkey "$SWITCHKEY" bands 2 dscp 46:2
	v4 n=10 tos=184
	expect "leave" busywait qdisc_is "$R" r2 qlen 0
	root=$(in_ns "$R" tc -j qdisc show dev r2 root | jq -r '.[0].handle')
	in_ns "$R" tc qdisc add dev r2 clsact
	expect "priority" in_ns "$R" tc filter add dev r2 egress matchall action skbedit priority "${root}1"
	v4 n=10 tos=184
	expect "leave" busywait qdisc_is "$R" r2 qlen 0
	in_ns "$R" tc qdisc del dev r2 clsact
	expect_eq "by DSCP" "$(bts 'cflags=1 ')" 5
	expect_eq "by priority" "$(bts 'cflags=0 ')" 5
	# these are where their DSCP says, but a filter may move others
	expect "filter" in_ns "$R" tc filter add dev r2 matchall classid :1
	v4 n=10
	drained
	expect_eq "by DSCP, as before" "$(bts 'cflags=1 ')" 5
	expect_eq "with a filter" "$(bts 'cflags=0 ')" 10
}

test_edge_levels() {
	slow edge switchkey "$SWITCHKEY" levels
	v4 n=10
	drained
	expect_eq "cacheable" "$(bts 'cflags=1 ')" 0
	expect_eq "answered" "$(bts 'cflags=0 ')" 5
}

# The rest: the longest pause, the limit on messages, a tag
test_bounds() {
	port rate 1mbit qth 4542b qtg 1514b suppress off maxpause 50ms limit 1mb msgrate 1 \
		tagkey 000102030405060708090a0b0c0d0e0f
	v4 n=60
	counters "$R" r2 bts_sent=32 msg_limited=23
	drained
	expect_eq "longest" "$(bts ' pause=50000000 ' 'cflags=4 ')" 30
	expect_eq "tag" "$(bts 'cflags=4 .* quote=28 tag=')" 32
}

# IP bytes that have come to H1
heard_bytes() {
	ip -n "$H1" -s -j link show dev eth0 | jq '.[0].stats64.rx | .bytes - 14 * .packets'
}

# However many packets ask for one: in 200 ms no more messages than msgrate brings, and 32, none longer than the
# longest there is; without msgrate no more bytes than came
test_bounded() {
	local before bytes
	port rate 1mbit qth 4542b qtg 1514b suppress off limit 10mb msgrate 1000 edge \
		switchkey "$SWITCHKEY" tagkey 000102030405060708090a0b0c0d0e0f
	before=$(heard_bytes)
	inject "$H1" 192.0.2.7 "$A2" n=2000 gap=100000 ipopts=40 len=1400 bflags=none
	counters "$R" r2 bts_sent=231 msg_limited=1764 msg_unfit=0
	bytes=$(($(heard_bytes) - before))
	expect_le "bytes" "$bytes" $((231 * 228))
	# and an ARP request, at most
	expect_ge "these messages" "$bytes" $((231 * 148))
	expect "no msgrate" in_ns "$R" tc qdisc change dev r2 root sfc msgrate 100000000
	before=$(heard_bytes)
	inject "$H1" 192.0.2.7 "$A2" n=500 gap=100000 ipopts=40 len=47 bflags=none
	inject "$H1" 192.0.2.7 "$A2" n=500 gap=100000 ipopts=40 len=48 bflags=none
	counters "$R" r2 bts_sent=731 msg_limited=1764 msg_unfit=500
	bytes=$(($(heard_bytes) - before))
	expect_le "bytes, of those that came" "$bytes" $((500 * 127 + 500 * 128))
	expect_ge "these messages" "$bytes" $((500 * 128))
}

# Dropped, but not unheard
test_full() {
	port rate 1mbit qth 4542b qtg 1514b suppress off limit 9084b
	v4 n=10
	expect "all leave" busywait qdisc_is "$R" r2 qlen 0
	sniffed
	counters "$R" r2 bts_sent=5 drop_data=3
}

# Below a VLAN, above a bridge's port: the message finds the sender as the data found its way
test_vlan() {
	setup_router
	add_vlan
	ip -n "$H2" route add blackhole 192.0.2.0/24
	in_ns "$R" tc qdisc add dev r2 root sfc nobolt pause rate 1mbit qth 4542b qtg 1514b suppress off
	sniff "$H1" eth0
	inject "$H1" 192.0.2.1 203.0.113.1 n=10 bflags=none len=1460
	drained
	expect_eq "BTS" "$(bts "src=203.0.113.1 dst=192.0.2.1")" 5
}

run_tests beyond_qth threshold_is_exact ipv6 udp with_bolt not_data \
	no_answer_to_answers no_answer_to_any_message not_one_host no_longer_than_its_cause no_longer_together silence auto_thresholds \
	suppression suppression_late suppression_ends suppression_vrf address_in_another_vrf many_flows egress off edge edge_clock edge_small edge_bands edge_levels bounds bounded full vlan
