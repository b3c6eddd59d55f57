#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sfc below mq, on a device with a queue for each CPU, is changed, replaced and deleted while every
# CPU sends through it; its device moves to another namespace, or goes.  With a rate, each queue is
# a port; without, the queues are one port and share their state.  The same is done as root and
# below the other qdiscs that have classes, where all CPUs want one lock.

. "$(dirname "$0")/lib.sh"

QUEUES=2
ROUNDS=4

#	H1 eth0 ----- r1  R  r2 ===== eth0 H2	r2: QUEUES queues
# Both of R's devices spread what arrives over the CPUs.
setup_multi() {
	setup_router
	ip -n "$R" link del r2
	ip link add name r2 netns "$R" numtxqueues "$QUEUES" numrxqueues "$QUEUES" type veth \
		peer name eth0 netns "$H2" numtxqueues "$QUEUES" numrxqueues "$QUEUES"
	addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
	addr "$H2" eth0 198.51.100.1/24 2001:db8:2::1/64 198.51.100.254 2001:db8:2::ff
	# shellcheck disable=SC2016 # expanded there
	ip netns exec "$R" bash -c 'for q in /sys/class/net/r[12]/queues/rx-*; do echo 3 >$q/rps_cpus; done'
	busywait refused "$A2" || fail "no way to $A2"
	serve_races bolt
}

SHAPING=(rate 200mbit ccthresh 3028b)	# each a port
SHARED=(link 1gbit)			# one port

# tree KIND: at the root, with a class for each queue, over which flows spread
tree() {
	local i options=() class=()
	case $1 in
	mqprio) options=(num_tc 1 map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues "$QUEUES@0" hw 0) ;;
	ets) options=(bands "$QUEUES" quanta 4000 2000) ;;
	drr) class=(quantum 3000) ;;
	qfq) class=(weight 10) ;;
	tbf) options=(rate 200mbit burst 100kb limit 1mb) ;;
	netem) options=(delay 1ms limit 10000) ;;
	htb) class=(rate 100mbit ceil 200mbit) ;;
	hfsc) class=(ls m2 100mbit) ;;
	esac
	expect "$1" tc_ qdisc replace dev r2 root handle 1: "$1" "${options[@]}"
	case $1 in mq | mqprio | multiq | tbf | netem) return ;; esac
	for ((i = 1; ${#class[@]} && i <= QUEUES; i++)); do
		expect "class $i" tc_ class add dev r2 parent 1: classid "1:$i" "$1" "${class[@]}"
	done
	expect "filter" tc_ filter add dev r2 parent 1: pref 1 protocol all handle 1 \
		flow hash keys proto-src divisor "$QUEUES" baseclass 1:1
}

leaf() {
	local i=$1
	shift
	expect "sfc $i" tc_ qdisc replace dev r2 parent "1:$i" handle "1$i:" sfc "$@"
}

# leaves OPTIONS...: an sfc on each queue
leaves() {
	local i
	tc_ qdisc replace dev r2 root handle 1: mq
	for ((i = 1; i <= QUEUES; i++)); do
		leaf "$i" "$@"
	done
}

# changes WHERE...: of an sfc, one after the other
changes() {
	expect "change" tc_ qdisc change dev r2 "$@" sfc limit 4000b no-split-gso
	expect "change" tc_ qdisc change dev r2 "$@" sfc limit 1mb rate 100mbit nosm nopru split-gso
	expect "change" tc_ qdisc change dev r2 "$@" sfc rate 300mbit sm pru ccthresh auto
}

# qdiscs: what tc says of them, as JSON, which multiq's own line is not
qdiscs() {
	tc_ -j -s qdisc show dev r2 | sed -E 's|bands [0-9]+/[0-9]+ ||'
}

# what each sfc says of the port: NAME
each() {
	qdiscs | jq -r --arg n "$1" '.[] | select(.kind == "sfc") | .[$n]'
}

# The queues are one port, in which nothing waits
one_port_at_zero() {
	expect_eq "queues" "$(each queues | sort -u)" "$QUEUES"
	expect_eq "backlog of the port" "$(each port_backlog | sort -u)" 0
}

# Traffic before, during and after whatever is done
begin_work() {
	begin_races threads 2 bytes 300000 "$@"
	expect "traffic" passes
}

end_work() {
	expect "traffic" passes
	end_races
	say "$(tail -1 "$tmp/work")"
	expect_eq "complete" "$(sed -n 's/.* complete=\([0-9]*\).*/\1/p' "$tmp/work")" \
		"$(sed -n 's/.* connections=\([0-9]*\).*/\1/p' "$tmp/work")"
}

# Nothing waits any more, nothing is counted that is not there
books_at_zero() {
	busywait books_zero
	expect_eq "left in the books" "$(books)" "[]"
}

books_zero() {
	[ "$(books)" = "[]" ]
}

# multiq keeps no backlog of its own: what a child takes back makes it negative
books() {
	qdiscs | jq -c '[.[] | select(.qlen != 0 or (.backlog != 0 and .kind != "multiq")) |
		[.kind, .handle, .qlen, .backlog]]'
}

worked() {
	setup_multi
	leaves "$@"
	begin_work
	expect "every queue in use" busywait all_used
	end_work
	books_at_zero
}

test_leaves_work() {
	worked "${SHAPING[@]}"
}

all_used() {
	[ "$(qdiscs |
		jq '[.[] | select(.kind == "sfc" and .packets > 100)] | length')" = "$QUEUES" ]
}

test_changed() {
	local i r
	setup_multi
	leaves "${SHAPING[@]}"
	begin_work
	for ((r = 0; r < ROUNDS; r++)); do
		i=$((r % QUEUES + 1))
		changes parent "1:$i" handle "1$i:"
	done
	end_work
	books_at_zero
}

replaced() {
	local i r
	setup_multi
	leaves "$@"
	begin_work
	for ((r = 0; r < ROUNDS; r++)); do
		i=$((r % QUEUES + 1))
		expect "pfifo" tc_ qdisc replace dev r2 parent "1:$i" pfifo limit 100
		expect "sfc" tc_ qdisc replace dev r2 parent "1:$i" handle "1$i:" sfc "$@"
	done
	end_work
	books_at_zero
}

test_replaced() {
	replaced "${SHAPING[@]}"
}

test_root_deleted() {
	local r
	setup_multi
	begin_work
	for ((r = 0; r < ROUNDS; r++)); do
		leaves "${SHAPING[@]}"
		expect "delete" tc_ qdisc del dev r2 root
		expect "root" tc_ qdisc add dev r2 root sfc rate 200mbit
		expect "delete" tc_ qdisc del dev r2 root
	done
	end_work
}

test_root() {
	local r
	setup_multi
	begin_work
	for ((r = 0; r < ROUNDS; r++)); do
		expect "sfc" tc_ qdisc replace dev r2 root handle 11: sfc "${SHAPING[@]}"
		changes root handle 11:
		expect "pfifo" tc_ qdisc replace dev r2 root pfifo limit 100
		expect "sfc" tc_ qdisc replace dev r2 root handle 12: sfc "${SHARED[@]}"
		expect "traffic" passes
		expect "delete" tc_ qdisc del dev r2 root
	done
	expect "sfc" tc_ qdisc replace dev r2 root handle 11: sfc "${SHAPING[@]}"
	end_work
	books_at_zero
}

# under KIND [CLASSES]: all that can be done to the sfc in its classes, and to a class and the tree with an sfc in it
under() {
	local i r
	setup_multi
	local QUEUES=${2:-$QUEUES}
	begin_work
	for ((r = 0; r < ROUNDS; r++)); do
		[ "$r" = 0 ] || expect "delete" tc_ qdisc del dev r2 root
		tree "$1"
		for ((i = 1; i <= QUEUES; i++)); do
			leaf "$i" "${SHAPING[@]}"
		done
		expect "every class in use" busywait all_used
		i=$((r % QUEUES + 1))
		changes parent "1:$i" handle "1$i:"
		expect "pfifo" tc_ qdisc replace dev r2 parent "1:$i" pfifo limit 100
		leaf "$i" "${SHAPING[@]}"
		expect "delete" tc_ qdisc del dev r2 parent "1:$i"
		leaf "$i" "${SHAPING[@]}"
		# what its filter finds no class for goes nowhere, so the last tree stays whole
		[ "$r" -lt $((ROUNDS - 1)) ] || continue
		case $1 in drr | qfq | htb | hfsc) expect "delete" tc_ class del dev r2 classid "1:$i" ;; esac
	done
	end_work
	books_at_zero
}

test_under_mqprio() {
	under mqprio
}

test_under_multiq() {
	under multiq
}

test_under_prio() {
	under prio
}

test_under_ets() {
	under ets
}

test_under_drr() {
	under drr
}

test_under_htb() {
	under htb
}

test_under_hfsc() {
	under hfsc
}

test_under_qfq() {
	under qfq
}

test_under_tbf() {
	under tbf 1
}

test_under_netem() {
	under netem 1
}

test_shared_work() {
	worked "${SHARED[@]}"
	one_port_at_zero
	expect_ge "least writes of a queue to the port" "$(each port_writes | sort -n | head -1)" 10
}

# Out of the port (a shaper, bands) and back, one queue after the other
test_shared_changed() {
	local i r
	setup_multi
	leaves "${SHARED[@]}"
	begin_work
	for ((r = 0; r < ROUNDS; r++)); do
		i=$((r % QUEUES + 1))
		expect "out" tc_ qdisc change dev r2 parent "1:$i" handle "1$i:" sfc rate 300mbit
		expect_eq "of a queue out" "$(each queues | sort -u)" 0
		expect "back" tc_ qdisc change dev r2 parent "1:$i" handle "1$i:" sfc rate 0 link 1gbit
		expect_eq "of one back" "$(each queues | sort -u)" "$QUEUES"
		expect "bands" tc_ qdisc change dev r2 parent "1:$i" handle "1$i:" sfc bands 2
		expect "none" tc_ qdisc change dev r2 parent "1:$i" handle "1$i:" sfc bands 1
	done
	end_work
	books_at_zero
	one_port_at_zero
}

test_shared_replaced() {
	replaced "${SHARED[@]}"
	one_port_at_zero
}

# To another namespace and back: the kernel takes the qdiscs of a device that moves away
test_device_moves() {
	local r
	setup_multi
	setup_ns OTHER
	leaves "${SHAPING[@]}"
	begin_work wayless
	for r in 1 2 3; do
		expect "there" ip -n "$R" link set r2 netns "$OTHER"
		expect "back" ip -n "$OTHER" link set r2 netns "$R"
		addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
		leaves "${SHAPING[@]}"
		expect "traffic after $r" passes
	done
	end_work
}

# Filters that come and go hold the root of the tree, with RTNL yet to be had
configure_filters() {
	while [ ! -e "$tmp/moved" ]; do
		tc_ filter replace dev r2 parent 10: pref 1 protocol ip matchall classid 10:3 && echo 1 >>"$tmp/filters"
	done
}

# control_ports NS: how many sockets are on the port there
control_ports() {
	in_ns "$1" grep -c ':3017 ' /proc/net/udp
}

# Whoever configures a filter may hold the tree beyond the move: what its qdiscs had of the old
# namespace does not stay there, nor is it taken from the new one.
test_device_moves_configured() {
	local r
	setup_router
	setup_ns OTHER
	ip -n "$OTHER" link add d0 type dummy
	expect "sfc_hold of its own" in_ns "$OTHER" tc qdisc add dev d0 root sfc_hold
	for r in 1 2; do
		configure_filters >/dev/null 2>&1 &
	done
	defer touch "$tmp/moved"
	for r in {1..20}; do
		tc_ qdisc add dev r2 root handle 10: prio
		expect "sfc" tc_ qdisc add dev r2 parent 10:1 handle 21: sfc rate 10gbit pause edge
		expect "sfc_hold" tc_ qdisc add dev r2 parent 10:2 handle 22: sfc_hold
		expect_eq "port" "$(control_ports "$R")" 1
		expect "there" ip -n "$R" link set r2 netns "$OTHER"
		expect "back" ip -n "$OTHER" link set r2 netns "$R"
		expect_eq "port, behind the device" "$(control_ports "$R")" 0
		expect_eq "port of the others" "$(control_ports "$OTHER")" 1
	done
	touch "$tmp/moved"
	wait
	expect "filters" test -s "$tmp/filters"
}

# The device, then the whole namespace, go with packets in the queues
gone() {
	local what
	for what in device namespace; do
		setup_multi
		leaves "$@"
		forget_orphans "$H1" "$H2"
		begin_work
		if [ "$what" = device ]; then
			expect "delete" ip -n "$R" link del r2
		else
			expect "delete" ip netns del "$R"
		fi
		kill "$WORK" "$SERVER"
		wait "$WORK" "$SERVER" 2>/dev/null
		undo
	done
}

test_gone() {
	gone "${SHAPING[@]}"
}

test_shared_gone() {
	gone "${SHARED[@]}"
}

run_tests leaves_work changed replaced root_deleted device_moves device_moves_configured gone \
	shared_work shared_changed shared_replaced shared_gone root under_mqprio under_multiq \
	under_prio under_ets under_drr under_htb under_hfsc under_qfq under_tbf under_netem
