#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Bands of an sfc on a router's port: which band a packet takes (by DSCP, filter, priority or
# level), how much of the link each gets, to the byte, that all counts are right while bands come
# and go, and that Algorithm 1 goes by a band's own queue.
#
# Packets of 1514 bytes (1460 of data with 40 of headers, or 1448 with 52 and the option; 14 of
# Ethernet) are sent at once to a port so slow that nothing leaves while they come, but the first,
# which the link takes.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_subrtt.sh"

PACKET=1514

# port OPTIONS...: sfc at R towards H2; H1 hears control messages
port() {
	setup_crafted 12311
	# an answer to a message on another port would join the queue
	in_ns "$H1" sysctl -qw net.ipv4.icmp_ratemask=8
	expect "sfc $*" tc_ qdisc add dev r2 root handle 1: sfc "$@"
}

# v4 DSCP NAME=VALUE...: full packets, if nothing else is said
v4() {
	local dscp=$1 len=1448
	shift
	[[ " $* " != *" bflags=none "* ]] || len=1460
	inject "$H1" 192.0.2.7 "$A2" "$@" len="$len" tos=$((dscp << 2))
}

v6() {
	local dscp=$1
	shift
	inject "$H1" 2001:db8:1::7 "$B2" "$@" len=1428 tos=$((dscp << 2))
}

# bands NAME: of each band, in one line
bands() {
	"$subrtt" -j -n "$R" qdisc r2 | jq -r --arg n "$1" '.[0].sfc.band | map(.[$n]) | join(" ")'
}

empty() {
	expect "drains" busywait qdisc_is "$R" r2 qlen 0
	expect_eq "backlog" "$(qdisc "$R" r2 backlog)" 0
	[ "$(qdisc "$R" r2 bands)" = 1 ] ||
		expect_none "backlog of bands" "$(bands backlog | tr -d ' 0')"
}

# The link is busy with a packet of the default band, which is no part of what follows
plug() {
	v4 0 n=1 bflags=none
}

test_dscp() {
	port rate 8kbit bands 3 default 2 dscp 46:1,8-15:3
	plug
	v4 46 n=1 bflags=none
	v6 46 n=1
	v4 8 n=2 bflags=none
	v4 15 n=3 bflags=none udp=1
	v4 7 n=7 bflags=none
	v4 16 n=8 bflags=none
	expect_eq "by DSCP" "$(bands qlen)" "2 15 5"
	expect_eq "backlog" "$(($(bands backlog | tr ' ' '+')))" "$(qdisc "$R" r2 backlog)"
	# another map: for what comes from now on
	expect "map" tc_ qdisc change dev r2 root sfc dscp 7:1
	v4 7 n=1 bflags=none
	v4 46 n=1 bflags=none
	expect_eq "by another map" "$(bands qlen)" "3 16 5"
	counters "$R" r2 drops=0 qlen=24
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

test_filters() {
	local said
	port rate 8kbit bands 3 default 2 dscp 46:1
	expect "filter" tc_ filter add dev r2 parent 1: protocol ip prio 1 u32 \
		match ip dport 2003 0xffff classid 1:3
	expect "filter" tc_ filter add dev r2 parent 1: protocol ip prio 2 u32 \
		match ip dport 2001 0xffff classid 1:1
	expect "filter for no band" tc_ filter add dev r2 parent 1: protocol ip prio 3 u32 \
		match ip dport 2009 0xffff classid 1:9
	expect "filter that drops" tc_ filter add dev r2 parent 1: protocol ip prio 4 u32 \
		match ip dport 2004 0xffff action drop
	plug
	v4 0 n=3 bflags=none dport=2003
	v4 0 n=2 bflags=none dport=2001
	# what a filter says counts more than the DSCP; what no filter knows goes by that
	v4 46 n=4 bflags=none dport=2003
	v4 46 n=1 bflags=none
	v4 0 n=5 bflags=none
	# a band that is none: as if the filter had not been
	v4 0 n=1 bflags=none dport=2009
	v4 46 n=1 bflags=none dport=2009
	expect_eq "by filter" "$(bands qlen)" "4 6 7"
	v4 0 n=6 bflags=none dport=2004
	counters "$R" r2 drops=6 qlen=17 drop_data=0
	expect_eq "what was dropped" "$(bands qlen)" "4 6 7"
	# taken elsewhere: no drop
	ip -n "$R" link add d0 up type dummy
	expect "filter that steals" tc_ filter add dev r2 parent 1: protocol ip prio 5 u32 \
		match ip dport 2005 0xffff action mirred egress redirect dev d0
	v4 0 n=3 bflags=none dport=2005
	counters "$R" r2 drops=6 qlen=17
	expect_eq "stolen" "$(ip -n "$R" -j -s link show d0 | jq '.[0].stats64.tx.packets')" 3
	expect_fail "a filter at a band" 'filters belong to the qdisc|block' \
		tc_ filter add dev r2 parent 1:2 protocol ip matchall classid 1:1
	# filters stay while there is one band, and are not asked
	expect "one band" tc_ qdisc change dev r2 root sfc bands 1 default 1 dscp none
	said=$(tc_ filter add dev r2 parent 1: protocol ip prio 6 u32 \
		match ip dport 2006 0xffff classid 1:1 2>&1) || fail "filter for one band: $said"
	expect_eq "its warning" "$said" "Warning: with one band, sfc does not ask its filters."
	expect_eq "which is there" "$(tc_ filter show dev r2 | grep -c 'pref 6 .*flowid 1:1')" 1
	v4 0 n=1 bflags=none dport=2004
	counters "$R" r2 drops=6 drop_data=0 qlen=18
	expect "three again" tc_ qdisc change dev r2 root sfc bands 3
	expect_none "a warning" "$(tc_ filter add dev r2 parent 1: protocol ip prio 7 u32 \
		match ip dport 2007 0xffff classid 1:1 2>&1)"
	v4 0 n=1 bflags=none dport=2003
	expect_eq "filters again" "$(bands qlen)" "18 0 1"
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# Classes are names for the bands, with their counters
test_classes() {
	port rate 8kbit bands 3 dscp 1:1,2:2,3:3
	plug
	v4 1 n=1 bflags=none
	v4 2 n=2 bflags=none
	v4 3 n=3 bflags=none
	expect_eq "classes" "$(tc_ -s class show dev r2 | grep -c '^class sfc 1:[123] ')" 3
	expect_eq "their queues" \
		"$(tc_ -s class show dev r2 | grep -o 'backlog [^ ]* [0-9]*p' | tr '\n' ' ')" \
		"backlog 1514b 1p backlog 3028b 2p backlog 4542b 3p "
	expect_fail "a class of one's own" '^sfc: classes cannot be added.* bands' \
		tc_ class add dev r2 parent 1: classid 1:7 sfc
	expect_fail "change a class" '^sfc: classes cannot be added' \
		tc_ class change dev r2 parent 1: classid 1:2 sfc weight 3
	expect_fail "no class of that number" '^Error: the classes of sfc are its bands' \
		tc_ class add dev r2 parent 1: classid 1:7
	expect_fail "delete a class" '^Error: the classes of sfc are its bands' \
		tc_ class del dev r2 classid 1:2
	expect_eq "classes" "$(tc_ -s class show dev r2 | grep -c '^class sfc 1:[123] ')" 3
	# a local sender's SO_PRIORITY names a class
	in_ns "$R" "$BOLT_PROGRAMS/bolt_burst" "$A2" prio=10003 n=2 len=500 >/dev/null 2>&1 ||
		fail "bolt_burst"
	expect_eq "by priority" "$(bands qlen)" "1 2 5"
	expect "one band has no classes" tc_ qdisc change dev r2 root sfc bands 1 dscp none
	expect_eq "classes" "$(tc_ class show dev r2 | wc -l)" 0
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# share BYTES... -- WEIGHT...: each band's part of the bytes, within 1 % of its part of the weights
shares() {
	python3 - "$@" <<-'PYTHON'
		import sys
		got, want = (list(map(int, part.split())) for part in " ".join(sys.argv[1:]).split("--"))
		parts = [(g / sum(got), w / sum(want)) for g, w in zip(got, want)]
		for g, w in parts:
		    if abs(g - w) > 0.01 * w:
		        sys.exit(" ".join(f"{g:.4f}, not {w:.4f}" for g, w in parts))
	PYTHON
}

# Three bands that all have something to send, packets of three sizes
test_weights() {
	port rate 8kbit bands 3 weights 5 3 2 dscp 1:1,2:2,3:3 nobolt
	plug
	v4 1 n=600 bflags=none
	v4 2 n=1000 bflags=none len=500
	v4 3 n=2400 bflags=none len=100
	tc_ qdisc change dev r2 root sfc rate 10mbit
	expect "most are out" busywait sent_is 1000000
	expect_ge "no band is empty" "$(bands qlen | tr ' ' '\n' | sort -n | head -1)" 1
	# shellcheck disable=SC2046 # words
	expect "by weight" shares $(bands sent_bytes) -- 5 3 2
	empty
	counters "$R" r2 drops=0
}

sent_is() {
	[ "$(($(bands sent_bytes | tr ' ' '+')))" -ge "$1" ]
}

# drain N: the port sends what waits, N packets, and $tmp/sniff.eth0.h2 has them
drain() {
	sniff "$H2" eth0
	expect "a faster port" tc_ qdisc change dev r2 root sfc rate 1mbit
	empty
	expect "all arrived" busywait arrived "$1"
	sniffed
}

# seqs PORT: the sequence numbers of what arrived for it, a line each
seqs() {
	grep "dport=$1 " "$tmp/sniff.eth0.h2" | grep -o ' seq=[0-9]*' | tr -dc '0-9\n'
}

# The link never rests, and what one band leaves the others have in proportion, at once: of 20 : 10 : 70
# packets band 1 (weight 4) is through after 5 of band 2 (weight 1) and of 3 (weight 1), then those two
# share, and then one has the link alone.
test_idle_bands() {
	local order
	port rate 1mbit bands 3 weights 4 1 1 dscp 1:1,2:2,3:3 nobolt
	tc_ qdisc change dev r2 root sfc rate 8kbit
	plug
	v4 3 n=70 bflags=none dport=2003
	v4 2 n=10 bflags=none dport=2002
	v4 1 n=20 bflags=none dport=2001
	drain 100
	order=$(sed -n 's/.*dport=200\([123]\) .*/\1/p' "$tmp/sniff.eth0.h2" | tr -d '\n')
	# a round is four of band 1 and one each of the others
	expect_eq "while all have some" "$(head -c 30 <<<"$order" | tr -d 23)" 11111111111111111111
	expect_eq "of which 2" "$(head -c 30 <<<"$order" | tr -dc 2)" 22222
	expect_eq "when two are left" "$(cut -c31-40 <<<"$order" | sed 's/23/x/g; s/32/x/g')" xxxxx
	expect_none "when one is left" "$(cut -c41- <<<"$order" | tr -d 3)"
	expect_eq "all of it" "${#order}" 100
	counters "$R" r2 drops=0
}

arrived() {
	[ "$(packets eth0.h2 'in (tcp|udp)')" -ge "$1" ]
}

# ACKs and control messages, whatever their DSCP or a filter says
test_strict() {
	local first
	port rate 1mbit bands 3 weights 1 1 255 limit 16mb dscp 1:1,2:2,3:3
	expect "filter" tc_ filter add dev r2 parent 1: protocol ip matchall classid 1:1
	tc_ qdisc change dev r2 root sfc rate 8kbit
	plug
	v4 1 n=5 bflags=none dport=2001
	v4 3 n=5 bflags=none dport=2003
	v4 1 n=2 bflags=40 len=0 dport=2009
	v4 1 n=1 udp=1 sport=12311 dport=12311 len=48
	expect_eq "of data" "$(bands qlen)" "10 0 0"
	counters "$R" r2 high=3 qlen=13
	drain 13
	first=$(grep -oE 'dport=(200[139]|12311) ' "$tmp/sniff.eth0.h2" | head -3 | sort | tr -d '\n')
	expect_eq "first" "$first" "dport=12311 dport=2009 dport=2009 "
}

# Algorithm 1 goes by the band's own queue and what is before it: another's is no congestion
test_queue_of_its_own() {
	port rate 8kbit bands 2 ccthresh 3028b dscp 1:1,2:2 nosm
	plug
	v4 1 n=10 bflags=80
	v4 2 n=2 bflags=80
	expect_eq "congested" "$(bands congested)" "8 0"
	expect_eq "SRC" "$(bands src_sent)" "8 0"
	expect_eq "as tc says it" "$(tc_ -s class show dev r2 |
		grep -oE '(data|congested|src_sent|backlog_peak) [0-9]+' | tr '\n' ' ')" \
		"backlog_peak $((10 * PACKET)) data 10 congested 8 src_sent 8 backlog_peak $((2 * PACKET)) data 2 congested 0 src_sent 0 "
	v4 2 n=1 bflags=80
	expect_eq "congested" "$(bands congested)" "8 1"
	# ten ACKs of 66 bytes go first, so they are part of every queue: 4542 + 660, and 13 * 1514 + 660
	counters "$R" r2 data=13 congested=9 dec_set=9
	expect_eq "of the port" "$(qdisc "$R" r2 backlog)" $((13 * PACKET))
	tc_ qdisc change dev r2 root sfc ccthresh 5000b
	v4 2 n=1 bflags=80
	expect_eq "below a higher threshold" "$(bands congested)" "8 1"
	v4 2 n=10 bflags=40 len=0
	v4 2 n=1 bflags=80
	expect_eq "with the high band" "$(bands congested)" "8 2"
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# Section B: flows ramp up only if one of the same band is about to finish
test_pru_of_its_own() {
	port rate 8kbit bands 2 dscp 1:1,2:2 nosm
	plug
	v4 1 n=3 bflags=88
	v4 1 n=1 bflags=90
	expect_eq "none beyond pruthresh" "$(bands pru_added) $(bands pru_token)" "0 0 0 0"
	tc_ qdisc change dev r2 root sfc rate 0
	empty
	tc_ qdisc change dev r2 root sfc rate 8kbit
	v4 1 n=1 bflags=90
	token=$(bands pru_token)
	expect_ne "token" "$token" "0 0"
	v4 2 n=1 bflags=84
	expect_eq "not for another" "$(bands inc_pru)" "0 0"
	v4 1 n=1 bflags=84
	expect_eq "for its own" "$(bands inc_pru)" "1 0"
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# Tokens are of bands: others have none yet
test_bands_reset_tokens() {
	port rate 8kbit bands 2 dscp 1:1,2:2 nosm
	v4 1 n=1 bflags=90
	expect_eq "a token" "$(bands pru_token)" "1 0"
	expect "default" tc_ qdisc change dev r2 root sfc default 2
	expect_eq "as before" "$(bands pru_token)" "1 0"
	expect "bands" tc_ qdisc change dev r2 root sfc bands 3
	expect_eq "none" "$(bands pru_token)" "0 0 0"
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# Appendix B.2: a quarter of the SRC, and DEC only for those
test_srcprob() {
	local sent
	port rate 8kbit bands 2 dscp 1:1,2:2 srcprob 25 100 nosm
	plug
	v4 1 n=402 bflags=80
	v4 2 n=102 bflags=80
	sent=$(bands src_sent)
	expect_eq "of the other all" "${sent#* }" 100
	sent=${sent% *}
	expect_eq "spared" "$(bands src_sampled_out)" "$((400 - sent)) 0"
	# 100 +- 8.7 by chance: five of those
	expect_ge "a quarter" "$sent" 57
	expect_le "a quarter" "$sent" 143
	counters "$R" r2 dec_set=$((sent + 100)) congested=500
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# A full band leaves the others their room
test_limit_by_weight() {
	port rate 8kbit bands 2 weights 3 1 limit $((16 * PACKET))b dscp 1:1,2:2 nobolt
	v4 0 n=1 bflags=none
	v4 2 n=9 bflags=none
	v4 1 n=11 bflags=none
	expect_eq "drops" "$(bands drops)" "0 5"
	expect_eq "waiting" "$(bands qlen)" "11 4"
	v4 1 n=5 bflags=none
	expect_eq "drops" "$(bands drops)" "4 5"
	counters "$R" r2 drop_data=9 drops=9 qlen=16 backlog=$((16 * PACKET))
	# another weight, another part: what waits stays, up to the limit of all
	expect "weights" tc_ qdisc change dev r2 root sfc weights 1 3
	expect_eq "waiting" "$(bands qlen)" "12 4"
	v4 1 n=1 bflags=none
	expect_eq "drops" "$(bands drops)" "5 5"
	expect "limit" tc_ qdisc change dev r2 root sfc limit $((8 * PACKET))b
	expect_eq "waiting" "$(bands qlen)" "8 0"
	counters "$R" r2 drop_data=10 drops=18 qlen=8 backlog=$((8 * PACKET))
	expect_eq "drops" "$(bands drops)" "9 9"
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# under PARENT: bands come and go while packets wait: none is lost, the parents know, order stays
bands_change() {
	local dev_parent=$1 n sum
	for n in 8 2 1 4; do
		# shellcheck disable=SC2086 # words
		expect "bands $n" tc_ qdisc change dev r2 $dev_parent sfc bands "$n" default 1 dscp none
		counters "$R" r2 qlen=24 backlog=$((24 * PACKET)) drops=0
		[ "$n" = 1 ] && continue
		sum=$(($(bands qlen | tr ' ' '+')))
		expect_eq "in bands, with $n" "$sum" 24
		expect_eq "bytes, with $n" "$(($(bands backlog | tr ' ' '+')))" $((24 * PACKET))
	done
	expect_eq "in the default" "$(bands qlen)" "24 0 0 0"
}

test_bands_change() {
	port rate 8kbit bands 4 weights 1 2 3 4 dscp 1:1,2:2,3:3,4:4 nobolt
	plug
	for band in 1 2 3 4; do
		v4 "$band" n=6 bflags=none dport=200"$band"
	done
	expect_eq "waiting" "$(bands qlen)" "6 6 6 6"
	bands_change root
	drain 24
	# each flow in its order
	for band in 1 2 3 4; do
		expect_eq "order of $band" "$(seqs "200$band")" "$(seqs "200$band" | sort -n)"
		expect_eq "all of $band" "$(seqs "200$band" | wc -l)" 6
	done
}

test_bands_change_as_leaf() {
	setup_router
	ip -n "$H2" route add blackhole 192.0.2.7/32
	addr "$H1" eth0 192.0.2.7/24 2001:db8:1::7/64
	tc_ qdisc add dev r2 root handle 9: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	expect "sfc" tc_ qdisc add dev r2 parent 9:1 handle 1: sfc rate 8kbit bands 4 \
		dscp 1:1,2:2,3:3,4:4 nobolt
	plug
	for band in 1 2 3 4; do
		v4 "$band" n=6 bflags=none
	done
	expect_eq "parent's qlen" "$(qdisc "$R" r2 qlen prio)" 24
	bands_change "parent 9:1"
	expect_eq "parent's qlen" "$(qdisc "$R" r2 qlen prio)" 24
	expect_eq "parent's backlog" "$(qdisc "$R" r2 backlog prio)" $((24 * PACKET))
	# a band keeps what is beyond its new share, but all together are within the limit
	expect "limit" tc_ qdisc change dev r2 parent 9:1 sfc limit $((16 * PACKET))b
	counters "$R" r2 qlen=16 drop_data=0 drops=8
	expect_eq "parent's qlen" "$(qdisc "$R" r2 qlen prio)" 16
	expect_eq "parent's backlog" "$(qdisc "$R" r2 backlog prio)" $((16 * PACKET))
	expect "delete" tc_ qdisc del dev r2 parent 9:1
	expect_eq "parent's qlen" "$(qdisc "$R" r2 qlen prio)" 0
	expect_eq "parent's backlog" "$(qdisc "$R" r2 backlog prio)" 0
}

# standing A B [WORDS...]: one packet leaves, A of one band wait behind it, and B of another
standing() {
	port rate 1mbit bands 2 dscp 1:1,2:2 nobolt pause "${@:3}" suppress off maxpause 4s \
		qth $((8 * PACKET))b qtg $((2 * PACKET))b
	tc_ qdisc change dev r2 root sfc rate 8kbit
	v4 0 n=1 bflags=none
	v4 1 n="$1" bflags=none
	v4 2 n="$2" bflags=none
}

# SFC goes by the time that a band takes to drain: with half of the link, half of the queue is beyond qth
test_pause_by_drain() {
	standing 4 4
	# nine packets at the port: eight would be too many for one band
	counters "$R" r2 bts_sent=0
	v4 2 n=1 bflags=none
	counters "$R" r2 bts_sent=0
	# five of its own, each takes the time of two
	v4 2 n=1 bflags=none
	counters "$R" r2 bts_sent=1
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# Egress BTS likewise: six of its own, of which the first to leave leaves five behind, the time of ten
test_egress_by_drain() {
	standing 5 6 bts egress
	counters "$R" r2 bts_sent=0
	tc_ qdisc change dev r2 root sfc rate 1mbit
	empty
	counters "$R" r2 bts_sent=1
}

# Levels: the band by what the option says its message has sent; what does not say it is of the default
test_levels() {
	port rate 8kbit levels 2kb 64kb nosm
	plug
	v4 0 n=1 level=1
	v4 0 n=1 level=12
	v4 0 n=2 level=13
	v4 0 n=3 level=17
	v6 0 n=4 level=18
	v4 0 n=5 level=32
	expect_eq "by level" "$(bands qlen)" "2 5 9"
	# not said, none of that number, no data, not the option, another protocol
	v4 0 n=1 level=0
	v4 0 n=1 level=33
	v4 0 n=1 level=257 bflags=80
	v4 0 n=1 level=1 bflags=none
	v4 0 n=1 udp=1 len=100
	expect_eq "the default" "$(bands qlen)" "3 5 13"
	v4 0 n=7 level=1 bflags=40 len=0
	expect_eq "ACKs are strictly first" "$(bands qlen)" "3 5 13"
	# a FIN says it, but for one that echoes the time of data, which says something else there
	v4 0 n=1 level=13 bflags=40 len=0 tcp=11 tx=0
	v6 0 n=1 level=13 bflags=40 len=0 tcp=11 tx=0 pad=4
	v4 0 n=1 level=1 bflags=40 len=0 tcp=11
	expect_eq "FIN" "$(bands qlen)" "3 7 14"
	# a DSCP is for what does not say its level
	expect "dscp" tc_ qdisc change dev r2 root sfc dscp 46:1
	v4 46 n=1 level=32
	v4 46 n=1 level=0
	expect_eq "a level is before a DSCP" "$(bands qlen)" "4 7 15"
	expect "without levels" tc_ qdisc change dev r2 root sfc levels none
	v4 0 n=1 level=1
	expect_eq "no levels" "$(bands qlen)" "4 7 16"
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# The first band goes first; when two have packets, the first of eight is the one that has waited longest
test_levels_order() {
	local order want
	port rate 8kbit levels nobolt
	plug
	v4 0 n=70 level=32 dport=2008
	v4 0 n=40 level=1 dport=2001
	# a message that goes on to another band
	v4 0 n=5 level=1 dport=2001 seq=1000001
	v4 0 n=25 level=16 dport=2001 seq=2000001
	expect_eq "waiting" "$(bands qlen)" "45 0 25 0 0 0 0 70"
	drain 140
	order=$(sed -n 's/.*dport=200\([18]\) .*/\1/p' "$tmp/sniff.eth0.h2" | tr -d '\n')
	want=$(printf '81111111%.0s' {1..10})
	expect_eq "order" "${order:0:80}" "$want"
	expect_none "the rest" "$(tr -d 8 <<<"${order:80}")"
	for port in 2001 2008; do
		expect_eq "order of $port" "$(seqs "$port")" "$(seqs "$port" | sort -n)"
	done
}

# All of them share the limit, and the last is refused first
test_levels_limit() {
	port rate 8kbit levels 2kb limit $((16 * PACKET))b nobolt
	v4 0 n=1 level=1
	v4 0 n=16 level=32
	expect_eq "three quarters" "$(bands qlen)" "0 12"
	v4 0 n=6 level=1
	expect_eq "all" "$(bands qlen)" "4 12"
	expect_eq "drops" "$(bands drops)" "2 4"
	# what is too much goes, from the last band
	expect "limit" tc_ qdisc change dev r2 root sfc limit $((8 * PACKET))b
	expect_eq "waiting" "$(bands qlen)" "4 4"
	counters "$R" r2 qlen=8 backlog=$((8 * PACKET)) drops=14
	# the first may have more than the last is let: no change drops that
	expect "another change" tc_ qdisc change dev r2 root sfc ecn 10000b
	expect_eq "still waiting" "$(bands qlen)" "4 4"
	expect "empty the port" tc_ qdisc change dev r2 root sfc rate 0
	empty
}

# A device may say any MTU: quanta are bounded, and the next packet finds its turn
test_any_mtu() {
	local mtu
	setup_ns R
	ip -n "$R" link add r2 type dummy
	addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
	expect "sfc" tc_ qdisc add dev r2 root handle 1: sfc bands 2 link 10gbit limit 200mb
	for mtu in 2147483634 2147483647 0 1500; do
		expect "mtu $mtu" ip -n "$R" link set r2 mtu "$mtu"
		expect "in force" busywait qdisc_is "$R" r2 mtu \
			$((mtu + 14 < 1 << 19 ? mtu + 14 : 1 << 19))
		# IP leaves a device of MTU 0
		[ "$mtu" != 1500 ] || addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
		[ "$mtu" = 0 ] || inject "$R" 198.51.100.254 198.51.100.1 udp=1 len=100
		expect "change" tc_ qdisc change dev r2 root sfc rtt 20us weights 1 255
		[ "$mtu" = 0 ] || inject "$R" 198.51.100.254 198.51.100.1 udp=1 len=100
		expect "weights" tc_ qdisc change dev r2 root sfc weights 1 1
		expect "drains" busywait qdisc_is "$R" r2 qlen 0
	done
	expect_ge "packets" "$(qdisc "$R" r2 packets)" 6
}

run_tests any_mtu dscp filters classes weights idle_bands strict queue_of_its_own pru_of_its_own bands_reset_tokens srcprob \
	limit_by_weight bands_change bands_change_as_leaf pause_by_drain \
	egress_by_drain levels levels_order levels_limit
