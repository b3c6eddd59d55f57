#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# Data, ACKs and control packets are lost, overtaken or doubled on the way through a router, each
# kind by itself and at 0.1 to 30 %.  Every byte must arrive in the time that it was measured to
# take, and afterwards the window must be what it was.  Where much data is lost, Bolt must be faster
# than Reno.

. "$(dirname "$0")/lib.sh"

BYTES=1000000
RATES="0.1 1 5 10 30"
TIMES=5
# Milliseconds for BYTES, which take 8 at the link's rate: the median of five transfers, and each of
# them.  Of 20 to 60 measured: the slowest, which the median of five is beyond by chance in at most one
# run of two hundred, and a fifth more than it.  Where 30 % of the data is lost two of 60 took 240, by
# timeouts in a row, and the next would take 400, so the median alone is judged; the others took 34 to
# 92, half of them less than 46.  Where ACKs are lost, few of 100
# transfers had a timeout at their end, and another if its ACK was lost too: of 10 % one took 24, of
# 30 % eight 22 to 35 and one 63; each more in a row doubles it.
declare -A WITHIN_MS=(
	["usual"]="13 16"
	["data loss 1"]="18 24" ["data loss 5"]="36 43" ["data loss 10"]="44 53" ["data loss 30"]="75"
	["ack loss 5"]="17 50" ["ack loss 10"]="17 50" ["ack loss 30"]="25 300"
	["ack reorder 1"]="14 16" ["ack reorder 5"]="17 19" ["ack reorder 10"]="18 20"
	["ack reorder 30"]="15 18" ["data duplicate 10"]="14 15" ["data duplicate 30"]="16 17"
)

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
	in_ns "$R" tc qdisc add dev r2 root sfc rate 1gbit rtt 400us
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

# transfers CC KIND NETEM...: TIMES of them; $median_us and $slowest_us
transfers() {
	local times=() n
	for ((n = 0; n < TIMES; n++)); do
		transfer "$@"
		times+=("$harmed_us")
		[ "$1" = bolt ] || continue
		expect_le "$*: time when healed, us" "$healed_us" 14000
		# 1 Gb/s and 400 us are 33 packets
		expect_ge "$*: window when healed" "$(window 3)" 33
	done
	mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
	median_us=${times[TIMES / 2]} slowest_us=${times[-1]}
	say "$*: ${times[*]} us"
}

# window N: at the Nth info
window() {
	grep '^info' "$tmp/client" | sed -n "$1s/.* cwnd=\\([0-9]*\\).*/\\1/p"
}

# judge KIND NETEM... with RATE for the percentage
judge() {
	local kind=$1 rate what within bolt_us
	shift
	setup_lossy
	for rate in $RATES; do
		what="$kind $1 $rate"
		transfers bolt "$kind" "${@/RATE/$rate%}"
		expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
		read -ra within <<<"${WITHIN_MS[$what]:-${WITHIN_MS[usual]}}"
		expect_le "$what: median, us" "$median_us" $((within[0] * 1000))
		[ -z "${within[1]:-}" ] || expect_le "$what: slowest, us" "$slowest_us" $((within[1] * 1000))
		[[ $what = "data loss "* && ${rate%.*} -ge 5 ]] || continue
		bolt_us=$median_us
		transfers reno "$kind" "${@/RATE/$rate%}"
		expect_le "$what: beside Reno's $median_us us" "$bolt_us" "$median_us"
	done
	expect_eq "H1 FallbackLate" "$(bolt_stat "$H1" FallbackLate)" 0
}

test_data_lost() {
	judge data loss RATE
}

test_data_reordered() {
	judge data reorder RATE
}

test_data_doubled() {
	judge data duplicate RATE
}

test_acks_lost() {
	judge ack loss RATE
}

test_acks_reordered() {
	judge ack reorder RATE
}

test_acks_doubled() {
	judge ack duplicate RATE
}

test_src_lost() {
	judge src loss RATE
}

test_src_late() {
	judge src delay 300us reorder RATE
}

test_src_doubled() {
	judge src duplicate RATE
}

run_tests data_lost data_reordered data_doubled acks_lost acks_reordered acks_doubled src_lost \
	src_late src_doubled
