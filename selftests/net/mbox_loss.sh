#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# Data, ACKs and control packets that are lost, overtaken or doubled, each kind by itself and at
# 0.1 to 30 %: every byte arrives, Bolt is not slower than Reno would be, and the
# window is what it was once that has ended.

. "$(dirname "$0")/lib.sh"

BYTES=1000000
RATES="0.1 1 5 10 30"
# At each of them, of BYTES, which take 8 at the link's rate: about half as much again as measured
declare -A WITHIN_MS=([0.1]=15 [1]=25 [5]=45 [10]=50 [30]=110)

#	H1 eth0 ------------- r1  R  r2 ------------- eth0 H2
# Data suffers at H1, ACKs at H2, SRC at r1 where ACKs pass by.  The link is 1 Gb/s, there
# and back are 400 us.
setup_lossy() {
	setup_router
	# netem takes a super-packet for one, Reno would lose less often; and TCP makes them whatever
	# the device does
	ip -n "$H1" link set eth0 gso_max_segs 1
	ips "$H1" <<-BATCH
		route change default via 192.0.2.254 initcwnd 40 rto_min 5ms
	BATCH
	ip -n "$H2" route change default via 198.51.100.254 initcwnd 40 rto_min 5ms
	in_ns "$R" tc qdisc add dev r2 root sfc rate 1gbit
	in_ns "$R" tc qdisc add dev r1 root handle 1: prio bands 2 \
		priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	in_ns "$R" tc filter add dev r1 parent 1: protocol ip u32 match ip protocol 17 0xff \
		flowid 1:2
	harm data
	harm ack
	harm src
	rm -f "$tmp/warm" "$tmp/go" "$tmp/there" "$tmp/again" "$tmp/back"
	mkfifo "$tmp/warm" "$tmp/go" "$tmp/there" "$tmp/again" "$tmp/back"
}

# harm KIND [NETEM...]: nothing but the delay, without
harm() {
	local kind=$1
	shift
	case $kind in
	data) in_ns "$H1" tc qdisc replace dev eth0 root netem limit 10000 delay 200us "$@" ;;
	ack) in_ns "$H2" tc qdisc replace dev eth0 root netem limit 10000 delay 200us "$@" ;;
	src) in_ns "$R" tc qdisc replace dev r1 parent 1:2 netem limit 10000 delay 1us "$@" ;;
	esac || fail "netem for $kind: $*"
}

# A client that marks waits until somebody looks
look() {
	: <"$tmp/$1"
}

# transfer CC KIND NETEM...: BYTES under it from an open window, and BYTES again without;
# microseconds in $harmed_us and $healed_us
transfer() {
	local cc=$1 kind=$2 begin
	shift 2
	server "$H2" cc "$cc" listen "$A2" 5001 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" cc "$cc" \
		connect "$A2" 5001 send 10000 outq info mark "$tmp/warm" \
		mark "$tmp/go" send "$BYTES" outq info mark "$tmp/there" \
		mark "$tmp/again" send "$BYTES" outq info mark "$tmp/back"
	look warm
	harm "$kind" "$@"
	begin=${EPOCHREALTIME/./}
	look go
	look there
	harmed_us=$((${EPOCHREALTIME/./} - begin))
	harm "$kind"
	begin=${EPOCHREALTIME/./}
	look again
	look back
	healed_us=$((${EPOCHREALTIME/./} - begin))
	ended client "$CLIENT"
	server_done
	expect_eq "received" "$(sed -n 's/^received //p' "$tmp/server")" $((10000 + 2 * BYTES))
	expect_eq "checksum errors" "$(stack "$H2" TcpInCsumErrors)" 0
}

# transfers CC KIND NETEM...: three; in $harmed_us the median.  With three of ten ACKs lost one
# transfer in thirty ends with a timeout or more, Reno's as well as Bolt's.
transfers() {
	local times=() n
	for n in 1 2 3; do
		transfer "$@"
		times[n]=$harmed_us
	done
	harmed_us=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 2p)
}

# window N: at the Nth info
window() {
	grep '^info' "$tmp/client" | sed -n "$1s/.* cwnd=\\([0-9]*\\).*/\\1/p"
}

# compare KIND NETEM... with RATE for the percentage
compare() {
	local kind=$1 rate reno_us often
	shift
	setup_lossy
	for rate in $RATES; do
		[ "$rate" = 30 ] && often=transfers || often=transfer
		"$often" reno "$kind" "${@/RATE/$rate%}"
		reno_us=$harmed_us
		"$often" bolt "$kind" "${@/RATE/$rate%}"
		expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
		say "$kind $* at $rate %: reno $reno_us us, bolt $harmed_us us; healed $healed_us us," \
			"cwnd $(window 1) $(window 2) $(window 3)"
		# twice as slow at worst, and a timeout or two at the end that Reno was spared
		expect_le "$kind $* at $rate %: time, us" "$harmed_us" $((reno_us * 2 + 10000))
		expect_le "$kind $* at $rate %: time by itself, us" "$harmed_us" \
			$((WITHIN_MS[$rate] * 1000))
		expect_le "$kind $* at $rate %: time when healed, us" "$healed_us" 15000
		# 1 Gb/s and 400 us are 33 packets
		expect_ge "$kind $* at $rate %: window when healed" "$(window 3)" 28
	done
	expect_eq "H1 FallbackLate" "$(bolt_stat "$H1" FallbackLate)" 0
}

test_data_lost() {
	compare data loss RATE
}

test_data_reordered() {
	compare data reorder RATE
}

test_data_doubled() {
	compare data duplicate RATE
}

test_acks_lost() {
	compare ack loss RATE
}

test_acks_reordered() {
	compare ack reorder RATE
}

test_acks_doubled() {
	compare ack duplicate RATE
}

test_src_lost() {
	compare src loss RATE
}

test_src_late() {
	compare src delay 300us reorder RATE
}

test_src_doubled() {
	compare src duplicate RATE
}

run_tests data_lost data_reordered data_doubled acks_lost acks_reordered acks_doubled src_lost \
	src_late src_doubled
