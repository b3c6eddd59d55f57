#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# Every option of sfc is changed while packets wait at a router's port, and during a connection.
# The new value must be shown and hold from the next packet on, what waits must stay, and a request
# that is refused must leave everything as it was.  The device's MTU and speed change in the same
# way.

. "$(dirname "$0")/lib.sh"

PACKET=1514	# bytes of each on the link
KEY=000102030405060708090a0b0c0d0e0f

# port OPTIONS...: sfc at R towards H2; H1 hears control messages
port() {
	setup_crafted 12311
	# an answer to a message on another port would join the queue
	in_ns "$H1" sysctl -qw net.ipv4.icmp_ratemask=8
	expect "sfc $*" tc_ qdisc add dev r2 root sfc "$@"
	injected=0
}

# v4 NAME=VALUE...: the first counts; full packets of data with INC if nothing else is said
v4() {
	local word
	for word in "$@" n=1; do
		case $word in n=*) break ;; esac
	done
	injected=$((injected + ${word#n=}))
	inject "$H1" 192.0.2.7 "$A2" "$@"
}

# state: of r2, options and statistics in one; what is in force and not as configured begins with "is_"
state() {
	tc_ -j -s qdisc show dev r2 | jq -cS '[.[] | select(.kind == "sfc")][0] |
		(with_entries(select(.key | IN("ccthresh", "qth", "qtg")) | .key |= "is_" + .)) +
		. + (.options // {}) | del(.options)'
}

# get STATE NAME
get() {
	jq -r --arg n "$2" '.[$n]' <<<"$1"
}

# has WHAT STATE NAME=VALUE...
has() {
	local what=$1 all=$2 c
	shift 2
	for c; do
		expect_eq "$what: ${c%%=*}" "$(get "$all" "${c%%=*}")" "${c#*=}"
	done
}

# options STATE NAME=VALUE...: and what waits, without those names and what follows from them
options() {
	local all=$1 c names=()
	shift
	for c; do
		names+=("${c%%=*}")
	done
	jq -c --args 'del(.[$ARGS.positional[]]) | del(.is_ccthresh, .is_qth, .is_qtg, .suppress_ns,
		.mtu, .link_rate, .tagged, .backlog_peak, .cache_entries)' "${names[@]}" <<<"$all"
}

# change "WORDS" NAME=VALUE...: while packets wait.  It is shown, and nothing else is new.
change() {
	local words=$1 before after
	shift
	before=$(state)
	expect_ge "waiting before $words" "$(get "$before" qlen)" 9
	# shellcheck disable=SC2086 # words
	expect "change $words" tc_ qdisc change dev r2 root sfc $words
	after=$(state)
	has "$words" "$after" "$@"
	expect_eq "the rest after $words" "$(options "$after" "$@")" "$(options "$before" "$@")"
}

# gains WHAT BEFORE NAME=GAIN...: of counters since then
gains() {
	local what=$1 before=$2 after c
	shift 2
	after=$(state)
	for c; do
		expect_eq "$what: ${c%%=*} more" \
			"$(($(get "$after" "${c%%=*}") - $(get "$before" "${c%%=*}")))" "${c#*=}"
	done
}

# All that waited and all that came are there: at the other end, or in a counter
drained() {
	local drops
	expect "drains" busywait qdisc_is "$R" r2 qlen 0
	sniffed
	drops=$(qdisc "$R" r2 drops)
	counters "$R" r2 backlog=0 "drops=${1-0}" mark_failed=0 gso_failed=0
	expect_eq "arrived" "$(packets eth0.h2 'in tcp' 'src=192.0.2.7 ')" $((injected - drops))
	expect_eq "whole" "$(packets eth0.h2 'in tcp' 'src=192.0.2.7 ' 'csum=ok')" $((injected - drops))
}

# table: of lines
#	CHANGE | WHAT IS SHOWN | PACKETS THEN | COUNTERS' GAINS | THE FIRST ONE'S CONTROL MESSAGE
# Each packet meets a queue; the first of line n has tx=100n.
table() {
	local words shown packets gained message before line=0 patterns=()
	while IFS='|' read -r words shown packets gained message; do
		line=$((line + 1))
		# shellcheck disable=SC2086 # words
		change "$words" $shown
		before=$(state)
		# shellcheck disable=SC2086
		v4 $packets "tx=$((100 * line))"
		# shellcheck disable=SC2086
		gains "$words" "$before" $gained drops=0
		message=${message# }
		[ -z "$message" ] || patterns+=("$((100 * line))|$words|$message")
	done
	# what was said when
	tc_ qdisc change dev r2 root sfc rate 0
	drained
	for message in "${patterns[@]}"; do
		IFS='|' read -r line words message <<<"$message"
		expect_eq "$words: message $message" "$(packets eth0.h1 'in udp' " tx=$line " "$message")" 1
	done
}

start_table() {
	port rate 1mbit nopru nosm pause ccthresh 3028b qth 4542b qtg 1514b suppress off maxpause 4s "$@"
	sniff "$H2" eth0
	sniff "$H1" eth0
	fill
}

# One is on the link, nine wait
fill() {
	expect "empty" busywait qdisc_is "$R" r2 qlen 0
	v4 n=10 bflags=none len=1460
}

test_bolt() {
	start_table nopause
	table <<-'LIST'
		ccthresh 1mb | ccthresh=1048576 is_ccthresh=1048576 | n=2 | data=2 congested=0 src_sent=0 inc_cleared=2
		ccthresh auto | ccthresh=auto is_ccthresh=3028 | n=2 | data=2 congested=2 dec_set=2 src_sent=2 | type=1 
		nosrc | src=false | n=2 | data=2 congested=2 dec_set=0 src_sent=0 inc_cleared=2
		src | src=true | n=2 | congested=2 dec_set=2 src_sent=2 | type=1 
		nobolt | bolt=false | n=2 | data=0 congested=0 src_sent=0 inc_cleared=0
		bolt | bolt=true | n=2 | data=2 congested=2 src_sent=2 | type=1 
		ccthresh 1mb pru | pru=true ccthresh=1048576 | n=3 bflags=90 | pru_added=3 pru_token=3
		ecn off | ecn=off | n=2 bflags=84 | inc_pru=2 inc_cleared=0 pru_token=-2
		nopru | pru=false | n=2 bflags=84 | inc_pru=0 inc_cleared=2
		nopru | pru=false | n=2 bflags=90 | pru_added=0
		sm | sm=true | n=5 bflags=84 | inc_sm=1 inc_cleared=4
		nosm | sm=false | n=5 bflags=84 | inc_sm=0 inc_cleared=5 sm_token=0
		ecn 3028b | ecn=3028 | n=2 tos=2 | ecn_marked=2
		ecn 1mb | ecn=1048576 | n=2 tos=2 | ecn_marked=0
		ecn off | ecn=off | n=2 tos=2 | ecn_marked=0
		overhead 24 | overhead=24 mtu=1538 is_ccthresh=1048576 | n=1 | data=1
		overhead 0 | overhead=0 mtu=1514 | n=1 | data=1
		limit 2mb | limit=2097152 | n=1 | data=1 drop_data=0
	LIST
}

test_sfc() {
	start_table nobolt
	table <<-LIST
		nopause | pause=false is_qth=0 | n=2 | bts_sent=0
		pause | pause=true is_qth=4542 | n=2 | bts_sent=2 bts_suppressed=0 | type=2 cflags=0 
		bts egress | bts=egress | n=2 | bts_sent=0
		bts off | bts=off is_qth=0 | n=2 | bts_sent=0
		bts ingress | bts=ingress is_qth=4542 | n=2 | bts_sent=2 | type=2 
		edge | edge=true | n=1 | bts_sent=1 | cflags=0 
		switchkey $SWITCHKEY | edge=true | n=1 | bts_sent=1 | cflags=1 .* quote=28 csum
		noswitchkey | edge=true | n=1 | bts_sent=1 | cflags=0 
		noedge | edge=false | n=1 | bts_sent=1 | cflags=0 
		maxpause 10ms | maxpause=10000000 | n=1 | bts_sent=1 | pause=10000000 
		maxpause 20ms | maxpause=20000000 | n=1 | bts_sent=1 | pause=20000000 
		qth 1mb | qth=1048576 is_qth=1048576 | n=2 | bts_sent=0
		qth auto | qth=auto is_qth=6056 | n=2 | bts_sent=2 | type=2 
		qtg 500kb | qtg=512000 is_qth=1024000 | n=2 | bts_sent=0
		qtg auto | qtg=auto is_qtg=3028 is_qth=6056 | n=2 | bts_sent=2 | type=2 
		suppress 1s | suppress=1000000000 suppress_ns=1000000000 | n=3 | bts_sent=1 bts_suppressed=2
		rtt 50ms | rtt=50000000 is_qtg=6249 is_qth=12498 suppress_ns=1000000000 | n=3 | bts_sent=1
		suppress auto | suppress=auto suppress_ns=25000000 | n=3 | bts_sent=1 bts_suppressed=2
		suppress off | suppress=off suppress_ns=0 | n=3 | bts_sent=3 bts_suppressed=0
		rtt 10us | rtt=10000 is_qtg=3028 is_qth=6056 | n=3 | bts_sent=3
	LIST
}

# What both kinds of message carry
test_messages() {
	start_table nobolt
	table <<-LIST
		switch_id 77 | switch_id=77 | n=1 | bts_sent=1 | switch=77 
		switch_id 4294967295 | switch_id=4294967295 | n=1 | bts_sent=1 | switch=4294967295 
		ttl 9 | ttl=9 | n=1 | bts_sent=1 | ttl=8 
		ttl 64 | ttl=64 | n=1 | bts_sent=1 | ttl=63 
		port 50000 | port=50000 | n=1 | bts_sent=1 | sport=50000 dport=50000 
		port 12311 | port=12311 | n=1 | bts_sent=1 | sport=12311 dport=12311 
		addr 203.0.113.5 | addr4=203.0.113.5 | n=1 | bts_sent=1 | src=203.0.113.5 
		addr 203.0.113.6 addr 2001:db8::9 | addr4=203.0.113.6 addr6=2001:db8::9 | n=1 | bts_sent=1 | src=203.0.113.6 
		addr auto | addr4=null addr6=null | n=1 | bts_sent=1 | src=198.51.100.1 
		tagkey $KEY | tagged=1 | n=1 | bts_sent=1 | cflags=4 .*tag=[0-9a-f]*[1-9a-f]
		notagkey | tagged=0 | n=1 | bts_sent=1 | cflags=0 .* quote=28 csum
		msgrate 1 | msgrate=1 | n=40 | bts_sent=32 msg_limited=8
		msgrate 1000000 | msgrate=1000000 | n=40 | bts_sent=40 msg_limited=0
	LIST
}

# The pause that is asked for is that of the queue, the threshold and the rate there are now
test_pause() {
	local b words
	start_table nobolt
	for words in "qtg 3000b" "qtg 1514b" "rate 2mbit" "rate 1mbit" "qth 9000b qtg 8999b"; do
		# shellcheck disable=SC2086 # words
		tc_ qdisc change dev r2 root sfc $words
		b=$(state)
		v4 n=1 bflags=80 tx=$((injected * 10))
		expect "$words: told" busywait told $((injected * 10 - 10)) " queue=$(get "$b" backlog) .*pause=$(((
			$(get "$b" backlog) - $(get "$b" is_qtg)) * 1000000000 / $(get "$b" rate))) " ||
			say "$(tail -1 "$tmp/sniff.eth0.h1")"
	done
	drained
}

told() {
	[ "$(packets eth0.h1 'in udp' " tx=$1 " "$2")" = 1 ]
}

# departs N MS: so many leave in so long
departs() {
	local before
	before=$(state)
	sleep "$(($2 / 1000)).$(printf '%03d' $(($2 % 1000)))"
	gains "$2 ms" "$before" packets="$1" qlen=-"$1" drops=0
}

# How long a packet holds the link follows its rate and overhead; 1514 bytes at 8 kbit/s: 1514 ms
test_rate() {
	local rate before
	port rate 8kbit nobolt
	sniff "$H2" eth0
	v4 n=60 bflags=none len=1460
	while read -r rate shown; do
		before=$(state)
		expect "rate $rate" tc_ qdisc change dev r2 root sfc rate "$rate"
		# what was on the link at the old rate is over: one goes at once
		gains "rate $rate" "$before" packets=1 qlen=-1 drops=0
		has "rate $rate" "$(state)" rate="$shown" link_rate="$shown"
		expect_eq "the rest after $rate" "$(options "$(state)" rate= qlen= backlog= memory_used= packets= bytes= overlimits=)" \
			"$(options "$before" rate= qlen= backlog= memory_used= packets= bytes= overlimits=)"
		departs 3 $((PACKET * 3500 / shown))
	done <<-'LIST'
		80kbit 10000
		160kbit 20000
		40kbit 5000
	LIST
	# nor is there credit for the time before: a second would leave with SFC_CATCHUP_NS of it
	before=$(state)
	expect "rate 100mbit" tc_ qdisc change dev r2 root sfc rate 100mbit
	expect "rate 40kbit again" tc_ qdisc change dev r2 root sfc rate 40kbit
	gains "rate 100mbit" "$before" packets=2
	# 100 bytes more are 20 ms more each; half of one of before is left
	change "overhead 100" overhead=100 mtu=1614
	departs 10 $((10 * 1614 / 5))
	change "overhead 0" overhead=0 mtu=1514
	# the device is the link: all at once
	before=$(date +%s%N)
	expect "rate 0" tc_ qdisc change dev r2 root sfc rate 0
	has "rate 0" "$(state)" rate=null link_rate=1250000000
	drained
	expect_le "ns" "$(($(date +%s%N) - before))" 50000000
}

# What a super-packet becomes, with others waiting
test_split_gso() {
	local before
	start_table nobolt nopause
	while IFS='|' read -r words shown gained; do
		# shellcheck disable=SC2086 # words
		change "$words" $shown
		before=$(state)
		in_ns "$H1" "$BOLT_PROGRAMS/bolt_burst" "$A2" len=9580 gso=958 || fail "bolt_burst"
		# shellcheck disable=SC2086
		gains "$words" "$before" $gained drops=0
	done <<-'LIST'
		no-split-gso|split_gso=false|qlen=1 backlog=10000 gso_split=0 gso_segs=0
		split-gso|split_gso=true|qlen=10 backlog=10000 gso_split=1 gso_segs=10
		no-split-gso|split_gso=false|qlen=1 backlog=10000 gso_split=0 gso_segs=0
	LIST
	drained
}

# Less room: the newest data goes, counted, and no more than must; more room: at once
test_limit() {
	local before id
	start_table nobolt nopause
	id=$(qdisc "$R" r2 switch_id)
	before=$(state)
	expect_eq "waiting" "$(get "$before" backlog)" $((9 * PACKET))
	expect "half" tc_ qdisc change dev r2 root sfc qtg auto qth auto ccthresh auto limit $((5 * PACKET))b
	gains "half" "$before" qlen=-4 backlog=$((-4 * PACKET)) drops=4 drop_data=0
	before=$(state)
	v4 n=3 bflags=none len=1460
	gains "full" "$before" qlen=0 drop_data=3 drops=3
	before=$(state)
	# the same number again, and one packet more
	expect "as before" tc_ qdisc change dev r2 root sfc limit $((5 * PACKET))b
	gains "as before" "$before" qlen=0 drops=0
	expect "more" tc_ qdisc change dev r2 root sfc limit $((6 * PACKET))b
	v4 n=3 bflags=none len=1460
	gains "more" "$before" qlen=1 drop_data=2 drops=2
	drained 9
}

# Supply that may be saved up, within a gap too short to be an idle link
test_smcap() {
	local words want
	port rate 10gbit nopru sm
	# 40 us of 10 Gb/s are 50 KB
	while read -r words want; do
		tc_ qdisc change dev r2 root sfc smcap "$words"
		v4 n=2 bflags=80 gap=40000
		counters "$R" r2 "sm_token=$want"
	done <<-'LIST'
		3000b 3000
		20000b 20000
		auto 10000
		2000b 2000
	LIST
}

# Without shaping: what the link below carries
test_link() {
	port link 10gbit pause nobolt qth 4542b qtg 1514b suppress off maxpause 4s
	tc_ qdisc del dev r2 root
	tc_ qdisc add dev r2 root handle 1: tbf rate 100kbit burst 2000 limit 10mb
	expect "sfc" tc_ qdisc add dev r2 parent 1:1 handle 2: sfc link 10gbit pause nobolt qth 4542b \
		qtg 1514b suppress off
	sniff "$H2" eth0
	sniff "$H1" eth0
	v4 n=10 bflags=80 tx=10
	while read -r words kbps; do
		# shellcheck disable=SC2086 # words
		expect "change" tc_ qdisc change dev r2 parent 1:1 handle 2: sfc ${words//+/ }
		tx=$((tx + 100))
		b=$(get "$(state)" backlog)
		v4 n=1 bflags=80 "tx=$tx"
		# exact, or a ns less: the multiplier is rounded down
		pause=$(((b - 1514) * 8000000 / kbps))
		expect "$words: told" busywait told "$tx" " rate=$kbps .*pause=($pause|$((pause - 1))) " ||
			say "$(tail -1 "$tmp/sniff.eth0.h1")"
	done <<-'LIST'
		link+1gbit 1000000
		link+25gbit 25000000
		link+0 10000000
	LIST
	expect_eq "parent's qlen" "$(qdisc "$R" r2 qlen tbf)" "$(qdisc "$R" r2 qlen)"
	tc_ qdisc change dev r2 root handle 1: tbf rate 1gbit burst 20000 limit 10mb
	drained
}
tx=1000

# A place behind H2; a BTS about it, crafted there, 3 s
FAR=198.51.100.9

far() {
	addr "$H2" eth0 "$FAR"/24 2001:db8:2::9/64
	# it may send to 192.0.2.7 then; what it answers does not pass r2
	ip -n "$H2" route del blackhole 192.0.2.7/32
	expect "$FAR" busywait refused "$FAR"
	fill
	expect "r1" tc_ qdisc add dev r1 root sfc nobolt pause cache edge \
		switchkey "$SWITCHKEY" maxpause 4s
}

bts() {
	inject "$H2" "$FAR" 192.0.2.7 bts=3000000000
}

# to_far WORDS...: data, which finds a queue at r2
to_far() {
	inject "$H1" 192.0.2.7 "$FAR" "$@" bflags=none len=100
}

test_cache() {
	local before
	start_table nobolt qth 1mb qtg auto
	far
	bts
	counters "$R" r1 cache_entries=1
	while IFS='|' read -r words shown gained; do
		# shellcheck disable=SC2086 # words
		change "$words" $shown
		before=$(state)
		to_far n=2
		# shellcheck disable=SC2086
		gains "$words" "$before" $gained
	done <<-LIST
		maxpause 3s|maxpause=3000000000|cache_hits=0 bts_sent=0
		cache switchkey $SWITCHKEY|cache=true cache_entries=1|cache_hits=2 bts_cached=2
		edge|edge=true|cache_hits=0 bts_sent=0
		noedge|edge=false|cache_hits=2 bts_cached=2
		nopause|pause=false cache_entries=0|cache_hits=0 bts_sent=0
		pause|pause=true cache_entries=1|cache_hits=2 bts_cached=2
		nocache noswitchkey|cache=false cache_entries=0|cache_hits=0 bts_sent=0
	LIST
	sniffed
}

# An estimate is worth what the present tau says, whatever it was before
test_estimator() {
	local before
	start_table nobolt qth 3mb qtg 3028b rate 10mbit
	addr "$H2" eth0 "$FAR"/24 2001:db8:2::9/64
	expect "$FAR" busywait refused "$FAR"
	fill
	change "estimator 1ms" estimator=1000000
	before=$(state)
	# 1 ms brings 1250 bytes, 3028 may wait: 27 of 154 bytes
	to_far n=25
	gains "1 ms, few" "$before" estimator_hits=0
	before=$(state)
	to_far n=20
	expect_ge "1 ms, many" "$(($(qdisc "$R" r2 estimator_hits) - $(get "$before" estimator_hits)))" 15
	change "estimator 1s" estimator=1000000000
	# long enough for all that to be forgotten; within a second 1.25 MB may pass
	sleep 40
	fill
	before=$(state)
	to_far n=48
	gains "1 s" "$before" estimator_hits=0 bts_sent=0
	inject "$H1" 192.0.2.7 "$FAR" n=1000 bflags=none len=1460
	expect_ge "1 s, an incast" "$(qdisc "$R" r2 estimator_hits)" $(($(get "$before" estimator_hits) + 50))
	sleep 40
	fill
	before=$(state)
	to_far n=48
	gains "1 s, forgotten" "$before" estimator_hits=0 bts_sent=0
	change "estimator off" estimator=off
	before=$(state)
	inject "$H1" 192.0.2.7 "$FAR" n=1000 bflags=none len=1460
	gains "off" "$before" estimator_hits=0 bts_sent=0
	sniffed
}

# Everything in one request, and back in another
test_all_at_once() {
	local before
	start_table nobolt nopause
	before=$(state)
	expect "all" tc_ qdisc change dev r2 root sfc rate 2mbit limit 3mb overhead 24 bolt ccthresh 9000b \
		src pru sm smcap 8kb no-split-gso pause bts egress edge rtt 20us qth 50kb qtg 20kb \
		suppress 7us maxpause 1s cache switchkey "$SWITCHKEY" estimator 30us ecn 60kb switch_id 5 msgrate 1000 port 50001 \
		ttl 7 addr 203.0.113.5 addr 2001:db8::9 tagkey "$KEY"
	has "all" "$(state)" rate=250000 limit=3145728 overhead=24 bolt=true ccthresh=9000 src=true pru=true \
		sm=true smcap=8192 split_gso=false pause=true bts=egress edge=true rtt=20000 qth=51200 \
		qtg=20480 suppress=7000 maxpause=1000000000 cache=true estimator=30000 \
		ecn=61440 switch_id=5 msgrate=1000 port=50001 ttl=7 addr4=203.0.113.5 addr6=2001:db8::9 tagged=1 \
		qlen=8 backlog=$((8 * PACKET)) drops=0
	expect "back" tc_ qdisc change dev r2 root sfc rate 1mbit limit 16mb overhead 0 nobolt ccthresh 3028b \
		nopru nosm smcap auto split-gso nopause bts ingress noedge rtt 10us qth 4542b qtg 1514b \
		suppress off maxpause 4s nocache noswitchkey estimator off ecn off switch_id "$id" msgrate 100000000 \
		port 12311 ttl 64 addr auto notagkey
	# a new rate lets one go at once, twice
	gains "back" "$before" qlen=-2 backlog=$((-2 * PACKET)) packets=2 drops=0
	expect_eq "as before" "$(options "$(state)" qlen= backlog= memory_used= packets= bytes= overlimits=)" \
		"$(options "$before" qlen= backlog= memory_used= packets= bytes= overlimits=)"
	drained
}

# good: a change of everything that could be seen at once
good=(rate 1gbit limit 3100b overhead 9 bolt ccthresh 2000b sm smcap 3000b no-split-gso pause bts egress edge
	rtt 1ms qth 3000b qtg 2000b suppress off maxpause 1ms cache switchkey "$SWITCHKEY" estimator 1ms ecn 2000b switch_id 9
	msgrate 1 port 9 ttl 3 addr 203.0.113.9 tagkey "$KEY")

# One value is wrong: nothing of the others is taken, nothing that waits goes, nothing is counted
test_refused() {
	local before after bad
	start_table nobolt
	far
	before=$(state)
	while read -r bad; do
		# shellcheck disable=SC2086 # words
		expect_fail "$bad" 'Error|is not|belongs to the qdisc sfc_hold' tc_ qdisc change dev r2 root sfc "${good[@]}" $bad
		expect_eq "after $bad" "$(state)" "$before"
	done <<-'LIST'
		noswitchkey
		limit 1500b
		limit 1999b
		ccthresh 3101b
		qth 3101b
		qtg 3000b
		qth auto qtg 3100b
		ecn 3101b
		rate 7kbit
		rate 4295gbit
		link 5tbit
		rtt 999ns
		rtt 101ms
		maxpause 999ns
		estimator 999ns
		estimator 1001ms
		holdshare 0
		hold
		addr 224.0.0.1
		addr 127.0.0.1
		addr ff02::1
		addr fe80::1
		ttl 0
		port 65536
	LIST
	in_ns "$R" ./sfc_netlink r2 >"$tmp/raw" || fail "$(cat "$tmp/raw")"
	expect_eq "after requests no tc sends" "$(state)" "$before"
	# the port did not become an edge: what comes in by it is remembered
	bts
	counters "$R" r1 cache_ignored=0 cache_learned=1
	# and the next packets are treated as before
	before=$(state)
	v4 n=2 bflags=84 tx=5000
	gains "afterwards" "$before" qlen=2 bts_sent=2 data=0 drops=0 ecn_marked=0 cache_hits=0
	drained
	expect_eq "messages" "$(packets eth0.h1 'in udp' 'type=2 cflags=0 .* tx=500[01] ' \
		'sport=12311 ' 'ttl=63 ')" 2
}

# --- a connection meanwhile ---

# transfer BYTES RATE: in the background
transfer() {
	setup_router
	tc_ qdisc add dev r2 root sfc rate "$2"
	server "$H2" cc bolt listen "$A2" 5001 recv "$1" recv-eof info
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send "$1" outq info
	expect "traffic" busywait more 100
}

# more N: packets have passed
more() {
	[ "$(qdisc "$R" r2 packets)" -ge "$1" ]
}

transferred() {
	ended client "$CLIENT"
	server_done
	expect "drains" busywait qdisc_is "$R" r2 qlen 0
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
	expect_eq "checksum errors" "$(stack "$H2" TcpInCsumErrors)" 0
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
}

# None of these has to lose a packet
test_under_a_transfer() {
	local words
	transfer 6000000 20mbit
	while read -r words; do
		# shellcheck disable=SC2086 # words
		expect "$words" tc_ qdisc change dev r2 root sfc $words
		expect "goes on after $words" busywait more $(($(qdisc "$R" r2 packets) + 10)) || break
	done <<-LIST
		rate 40mbit
		rate 20mbit
		link 1gbit
		link 0
		limit 4mb
		limit 16mb
		overhead 24
		overhead 0
		nobolt
		bolt
		ccthresh 1mb
		ccthresh auto
		nosrc
		src
		nopru
		pru
		nosm
		sm
		smcap 3000b
		smcap auto
		no-split-gso
		split-gso
		bts egress
		bts off
		bts ingress
		edge
		noedge
		rtt 50us
		qth 500kb
		qtg 100kb
		qth auto qtg auto
		suppress off
		suppress 1ms
		suppress auto
		maxpause 1ms
		cache switchkey f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff
		nocache noswitchkey
		ecn 1mb
		ecn off
		switch_id 7
		msgrate 1000
		msgrate 100000000
		ttl 9
		ttl 64
		addr 2001:db8::9
		addr auto
	LIST
	# all that waits goes at once, and the next finds another rate
	expect "rate 0" tc_ qdisc change dev r2 root sfc rate 0
	expect "rate 10mbit" tc_ qdisc change dev r2 root sfc rate 10mbit
	transferred
	counters "$R" r2 drops=0 msg_unfit=0 mark_failed=0
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
}

# The device's MTU falls and rises: thresholds follow at once, the sender by ICMP
test_mtu_under_a_transfer() {
	local mtu
	transfer 5000000 20mbit
	for mtu in 1280 576 1400 1500; do
		expect "mtu $mtu" ip -n "$R" link set r2 mtu "$mtu"
		has "mtu $mtu" "$(state)" mtu=$((mtu + 14)) is_ccthresh=$((2 * mtu + 28)) drops=0
		expect "goes on" busywait more $(($(qdisc "$R" r2 packets) + 100)) || break
	done
	transferred
	counters "$R" r2 drops=0 mark_failed=0
	expect_ge "the sender's MSS fell" "$(stack "$R" IpFragFails)" 1
	expect_le "mss" "$(info "$tmp/client" mss)" $((576 - 64))
}

# --- the speed of the link ---

# A device whose speed can be set; nobody reads what it sends
setup_tap() {
	setup_ns R
	spawn TAP "$tmp/tap" in_ns "$R" python3 -c '
import fcntl, struct, time
tap = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", b"r2", 0x1002))
print("ready", flush=True)
time.sleep(10000)'
	busywait file_has "$tmp/tap" ready || fail "tap: $(cat "$tmp/tap")"
	in_ns "$R" sysctl -qw net.ipv6.conf.r2.disable_ipv6=1
	ips "$R" <<-BATCH
		addr add 198.51.100.254/24 dev r2
		link set r2 up
		neigh add 198.51.100.1 lladdr 02:00:00:00:00:01 dev r2 nud permanent
	BATCH
	tc_ qdisc add dev r2 root handle 1: tbf rate 100kbit burst 2000 limit 10mb
	expect "sfc" tc_ qdisc add dev r2 parent 1:1 handle 2: sfc pause nobolt
}

# in_force MBITS: what follows from the speed: rate, 10 us of it and 20
in_force() {
	has "$1 Mbit/s" "$(state)" link_rate=$(($1 * 125000)) \
		is_qtg=$(($1 * 5 / 4)) is_qth=$(($1 * 5 / 2))
}

waiting() {
	inject "$R" 198.51.100.254 198.51.100.1 n=20 bflags=80
	expect_ge "waiting" "$(qdisc "$R" r2 qlen)" 15
}

# Another speed while the link stays up: nothing that waits is lost
test_speed() {
	local speed before
	setup_tap
	waiting
	before=$(state)
	for speed in 100000 25000 400000 10000; do
		expect "speed" in_ns "$R" ethtool -s r2 speed "$speed" duplex full autoneg off
		# the event that a driver would raise
		ip -n "$R" link set r2 mode dormant
		ip -n "$R" link set r2 mode default
		in_force "$speed"
		gains "$speed" "$before" qlen=0 backlog=0 drops=0
	done
	expect_eq "parent" "$(qdisc "$R" r2 qlen tbf)" "$(qdisc "$R" r2 qlen)"
}

# The link goes and comes back with another one: the kernel empties its queues, the books are right
test_speed_of_a_new_link() {
	local speed
	setup_tap
	for speed in 100000 25000; do
		waiting
		ip -n "$R" link set r2 carrier off
		expect "emptied" busywait qdisc_is "$R" r2 qlen 0
		expect_eq "backlog" "$(qdisc "$R" r2 backlog)" 0
		expect_eq "parent" "$(qdisc "$R" r2 qlen tbf)" 0
		expect "speed" in_ns "$R" ethtool -s r2 speed "$speed" duplex full autoneg off
		ip -n "$R" link set r2 carrier on
		expect "up" busywait qdisc_is "$R" r2 link_rate $((speed * 125000))
		in_force "$speed"
	done
}

run_tests bolt sfc messages pause rate split_gso limit smcap link cache estimator all_at_once refused \
	under_a_transfer mtu_under_a_transfer speed speed_of_a_new_link
