#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What Algorithm 1 does to each packet at a router's port: INC kept or cleared, DEC set, SRC sent,
# the checksum still right.  Crafted packets meet a port so slow that nothing leaves in between, so
# every count is exact.
#
# The link takes the first packet at once; the queue then grows by one packet of 1514 bytes (1448 of
# data, 52 of headers, 14 of Ethernet) each.

. "$(dirname "$0")/lib.sh"

LEN=1448
ctl_port=12311

# port OPTIONS...: sfc at R towards H2; H2 listens in
port() {
	setup_crafted "$ctl_port"
	expect "sfc $*" in_ns "$R" tc qdisc add dev r2 root sfc "$@"
	sniff "$H2" eth0
	sniff "$H1" eth0
}

# drained: wait for an empty port, and let the captures end
drained() {
	expect "all arrived" busywait arrived "$1"
	sniffed
	counters "$R" r2 qlen=0 backlog=0
}

arrived() {
	[ "$(packets eth0.h2 'in tcp')" -ge "$1" ]
}

v4() {
	inject "$H1" 192.0.2.7 "$A2" "$@"
}

v6() {
	inject "$H1" 2001:db8:1::7 "$B2" "$@"
}

# Ten packets, ccthresh two: the first leaves, two wait, seven meet a queue of two or more
congestion() {
	local send=$1
	port rate 1mbit ccthresh "$2"b nosm
	$send n=10 len="$3" bflags=80 tx=5000
	drained 10
	counters "$R" r2 data=10 congested=7 dec_set=7 dec_seen=0 src_sent=7 inc_cleared=0 drop_data=0 \
		backlog_peak=$((9 * $2 / 2))
	expect_eq "with DEC" "$(packets eth0.h2 'bflags=DC ')" 7
	expect_eq "without" "$(packets eth0.h2 'bflags=D ')" 3
	expect_eq "checksums" "$(packets eth0.h2 'in tcp' 'csum=ok')" 10
	expect_eq "SRC at the sender" "$(packets eth0.h1 'udp' 'type=1')" 7
	expect_eq "heard" "$(bolt_stat "$H1" CtlRx)" 7
	expect_eq "for no socket" "$(bolt_stat "$H1" CtlNoSocket)" 7
}

test_congested_ipv4() {
	congestion v4 3028 "$LEN"
	# line 6 to 9: queue, link rate, echo; about the fourth packet and those after it
	expect_eq "queue of the first" "$(packets eth0.h1 'tx=5003 .*queue=3028 rate=1000 ')" 1
	expect_eq "queue of the last" "$(packets eth0.h1 'tx=5009 .*queue=12112 rate=1000 ')" 1
	expect_eq "from the destination to the source" \
		"$(packets eth0.h1 "udp src=$A2 dst=192.0.2.7 sport=12311 dport=12311")" 7
	expect_eq "quote" "$(packets eth0.h1 'udp' ' quote=28 ')" 7
	expect_eq "checksum of SRC" "$(packets eth0.h1 'udp' 'csum=ok')" 7
	expect_eq "DSCP CS6" "$(packets eth0.h1 'udp' 'tos=192')" 7
}

# 20 bytes more of header: 1428 of data fill the same packet
test_congested_ipv6() {
	congestion v6 3028 1428
	expect_eq "from the destination to the source" \
		"$(packets eth0.h1 "udp src=$B2 dst=2001:db8:1::7 sport=12311 dport=12311")" 7
	expect_eq "quote" "$(packets eth0.h1 'udp' ' quote=48 ')" 7
	expect_eq "checksum of SRC" "$(packets eth0.h1 'udp' 'csum=ok')" 7
}

# One byte more of threshold, one packet fewer over it
test_threshold_is_exact() {
	port rate 1mbit ccthresh 3029b nosm
	v4 n=10 bflags=80
	drained 10
	counters "$R" r2 congested=6 src_sent=6
}

test_auto_threshold() {
	port rate 1mbit nosm
	v4 n=10 bflags=80
	drained 10
	counters "$R" r2 congested=7
	expect_eq "in force" "$(in_ns "$R" tc -j -s qdisc show dev r2 | jq '.[0].ccthresh')" 3028
}

# Another switch has sent SRC already
test_dec_seen() {
	port rate 1mbit ccthresh 3028b nosm
	v4 n=10 bflags=82
	drained 10
	counters "$R" r2 congested=7 dec_seen=7 dec_set=0 src_sent=0
	expect_eq "SRC" "$(packets eth0.h1 'udp')" 0
}

test_congestion_clears_inc() {
	port rate 1mbit ccthresh 3028b nosm nopru
	v4 n=10 bflags=84
	drained 10
	counters "$R" r2 congested=7 dec_set=7 inc_cleared=10 inc_sm=0 inc_pru=0
	expect_eq "checksums" "$(packets eth0.h2 'in tcp' 'csum=ok')" 10
}

# At any alignment of the option, odd ones too
test_checksum_alignment() {
	local pad
	for pad in 0 1 2 3; do
		port rate 1mbit ccthresh 3028b nosm
		v4 n=6 len=1000 bflags=84 pad="$pad"
		v6 n=6 len=1001 bflags=84 pad="$pad"
		drained 12
		expect_eq "checksums at $pad" "$(packets eth0.h2 'in tcp' 'csum=ok')" 12
		expect_eq "marked at $pad" "$(packets eth0.h2 'in tcp' 'bflags=[A-Z]*C ')" \
			"$(qdisc "$R" r2 dec_set)"
		undo
	done
}

test_nosrc() {
	port rate 1mbit ccthresh 3028b nosm nosrc
	v4 n=10 bflags=84
	drained 10
	counters "$R" r2 congested=7 dec_set=0 src_sent=0 inc_cleared=10
	expect_eq "DEC" "$(packets eth0.h2 'bflags=[A-Z]*C')" 0
	expect_eq "SRC" "$(packets eth0.h1 'udp')" 0
}

test_nobolt() {
	port rate 1mbit ccthresh 3028b nobolt
	v4 n=10 bflags=84
	drained 10
	counters "$R" r2 data=0 congested=0 dec_set=0 inc_cleared=0 src_sent=0
	expect_eq "as sent" "$(packets eth0.h2 'bflags=DI ')" 10
}

# Each LAST is worth one INC (section 3.2); none while it is FIRST as well
test_pru() {
	port rate 1mbit limit 1mb ccthresh 1000000b nosm
	v4 n=3 bflags=90
	v4 n=2 bflags=98
	v4 n=5 bflags=84
	drained 10
	counters "$R" r2 pru_added=3 inc_pru=3 inc_cleared=2 pru_token=0
	expect_eq "INC kept" "$(packets eth0.h2 'bflags=DI ')" 3
	expect_eq "INC cleared" "$(packets eth0.h2 'bflags=D ')" 2
}

# In a queue of ccthresh or more LAST counts, and pays, as well, up to pruthresh; supply does not
test_pru_congested() {
	port rate 1mbit limit 1mb ccthresh 1514b pruthresh 24kb nosrc
	v4 n=3 bflags=none
	v4 n=3 bflags=90
	v4 n=5 bflags=84
	drained 11
	counters "$R" r2 congested=8 pru_added=3 inc_pru=3 inc_sm=0 inc_cleared=2
	expect_eq "INC kept" "$(packets eth0.h2 'bflags=DI ')" 3
}

# ... by default a quarter of the BDP, here 3125 bytes: the first LAST meets 3004, the second 4518
test_pru_quarter_of_bdp() {
	port rate 1mbit limit 1mb ccthresh 1514b rtt 100ms nosrc
	v4 n=3 bflags=none
	v4 n=3 bflags=90
	drained 6
	counters "$R" r2 congested=3 pru_added=1
}

# ... and never less than ccthresh
test_pru_at_least_ccthresh() {
	port rate 1mbit limit 1mb ccthresh 4600b nosrc
	v4 n=3 bflags=none
	v4 n=3 bflags=90
	drained 6
	counters "$R" r2 congested=1 pru_added=2
}

# As printed, line 11 is about no queue of ccthresh: LAST leaves nothing there, and no token pays; but a
# token that was there before is not spent, and what had DEC before keeps its INC (line 5)
test_paper_congested() {
	port rate 1mbit limit 1mb ccthresh 4542b nosm paper
	v4 n=2 bflags=90
	v4 n=2 bflags=80
	v4 n=3 bflags=90
	v4 n=5 bflags=84
	v4 n=4 bflags=86
	drained 16
	counters "$R" r2 congested=12 src_sent=8 dec_seen=4 pru_added=2 inc_pru=0 inc_cleared=5 pru_token=2
	expect_eq "INC kept beside DEC" "$(packets eth0.h2 'bflags=DIC ')" 4
	expect_eq "INC cleared with DEC" "$(packets eth0.h2 'in tcp' 'bflags=DC ')" 5
}

# ... packets without the option are no demand (line 2), and a deficit has no end
test_paper_demand() {
	port rate 1mbit limit 10kb paper
	v4 n=3 bflags=none
	drained 3
	counters "$R" r2 sm_token=0
	v4 n=20 bflags=80
	expect_le "supply" "$(qdisc "$R" r2 sm_token)" -20000
}

# ... nor is more saved up than a packet (Algorithm 3, line 7)
test_paper_supply() {
	port link 100gbit smcap 100kb paper
	v4 n=5 gap=20000 bflags=80
	expect_eq "supply" "$(qdisc "$R" r2 sm_token)" 1514
}

# ... and the tokens of a paper port are no other's
test_paper_ends() {
	port rate 1mbit limit 1mb ccthresh 1000000b nosm paper
	v4 n=300 bflags=90
	drained 300
	counters "$R" r2 pru_added=300 pru_token=300
	expect "change" in_ns "$R" tc qdisc change dev r2 root sfc nopaper
	counters "$R" r2 pru_token=0
	v4 n=300 bflags=90
	counters "$R" r2 pru_added=556 pru_token=256
}

# A link that has been idle has one packet to give (Algorithm 3), a busy one none
test_supply_matching() {
	port rate 1mbit ccthresh 1000000b limit 1mb nopru
	v4 n=5 bflags=84
	drained 5
	counters "$R" r2 inc_sm=1 inc_cleared=4
	expect_eq "INC kept" "$(packets eth0.h2 'bflags=DI ')" 1
}

# What was dropped is no queue: the deficit is at most what the port may hold, of the buffer as well
test_supply_floor() {
	port rate 1mbit limit 1mb buffer 20kb alpha 1
	v4 n=30 bflags=80
	expect_ge "dropped" "$(qdisc "$R" r2 drops)" 20
	expect_eq "supply" "$(qdisc "$R" r2 sm_token)" -10240
	sniffed
}

# Without the option, and with one that is none
test_not_bolt() {
	port rate 1mbit ccthresh 3028b
	v4 n=5 bflags=none
	v4 n=5 optlen=11
	v4 n=2 bflags=84 tx=0
	drained 12
	counters "$R" r2 data=0 congested=0 dec_set=0 src_sent=0 inc_cleared=0 opt_bad=7
	expect_eq "checksums" "$(packets eth0.h2 'in tcp' 'csum=ok')" 12
}

# Pure ACKs and control messages overtake; SYN, FIN, RST and other UDP do not
test_high_band() {
	port rate 1mbit nosm
	v4 n=5 bflags=80
	v4 n=3 len=0 bflags=40 seq=900000
	v4 n=1 len=0 bflags=none tcp=11 seq=900000
	v4 n=1 len=0 bflags=none tcp=14 seq=900000
	v4 udp=1 n=2 len=68 sport=12311 dport=12311
	v4 udp=1 n=1 len=68 sport=12311 dport=45078
	v4 udp=1 n=1 len=400 sport=12311 dport=12311
	drained 10
	counters "$R" r2 high=5
	# the first data packet was on its way; the ACKs come next
	expect_eq "first five" "$(grep 'in tcp' "$tmp/sniff.eth0.h2" | head -4 | grep -c ' len=0 ')" 3
}

# ACKs overtake but are no reason for SRC, and are not marked
test_acks_not_marked() {
	port rate 1mbit ccthresh 1000b nosm
	v4 n=4 bflags=80
	v4 n=4 len=0 bflags=44
	drained 8
	counters "$R" r2 data=4 high=4
	expect_eq "ACKs as sent" "$(packets eth0.h2 ' len=0 .*bflags=AI ')" 4
}

test_msgrate() {
	port rate 1mbit ccthresh 1514b nosm msgrate 1 limit 1mb
	v4 n=100 bflags=80
	drained 100
	# a burst of 32, then one a second; 100 packets come within a moment
	counters "$R" r2 congested=98 src_sent=32 msg_limited=66 dec_set=32
	expect_eq "DEC only where SRC was sent" "$(packets eth0.h2 'bflags=DC ')" 32
}

test_fields() {
	ctl_port=50000
	port rate 1mbit ccthresh 1514b nosm switch_id 77 ttl 9 port 50000 addr 203.0.113.5 \
		tagkey 000102030405060708090a0b0c0d0e0f
	v4 n=3 bflags=80 tos=184
	drained 3
	expect_eq "SRC" "$(packets eth0.h1 'udp src=203.0.113.5 .*sport=50000 dport=50000' \
		'version=2 type=1 cflags=4 dscp=46' ' switch=77 ')" 1
	# one router on the way takes one off
	expect_eq "TTL" "$(packets eth0.h1 'udp' ' ttl=8 ')" 1
	expect_eq "length" "$(packets eth0.h1 'udp' ' len=56 .* quote=28 tag=')" 1
	ctl_port=12311
}

# The switch's own address: taken where the device accepts what claims to come from the host
# itself, as Documentation/sch_sfc.rst says
test_own_address() {
	port rate 1mbit ccthresh 1514b nosm addr 198.51.100.254
	in_ns "$R" sysctl -qw net.ipv4.conf.r2.accept_local=1
	v4 n=3 bflags=80
	drained 3
	expect_eq "SRC" "$(packets eth0.h1 'udp src=198.51.100.254')" 1
}

run_tests congested_ipv4 congested_ipv6 threshold_is_exact auto_threshold dec_seen \
	congestion_clears_inc checksum_alignment nosrc nobolt pru pru_congested \
	pru_quarter_of_bdp pru_at_least_ccthresh paper_congested paper_demand paper_supply paper_ends supply_matching supply_floor not_bolt high_band acks_not_marked msgrate fields own_address
