#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# bolt and swift between this machine and another: see lib.sh for who that is.  Every byte is
# verified, and the counters of both ends say what carried them.

. "$(dirname "$0")/lib.sh"

BYTES=4000000

# one DIRECTION CC FAMILY: and the counters of sender and receiver
one() {
	local to=$1 cc=$2 family=$3 from=remote address mtu
	address=LOCAL_$family
	[ "$to" = local ] || from=local address=REMOTE_$family
	transfer "$to" "$cc" "${!address}" "$BYTES"

	expect_eq "sender: congestion control" "$(info "$tmp/client" cc)" "$cc"
	expect_eq "sender: Negotiated" "$(moved "$from" Negotiated)" 1
	expect_eq "sender: Fallback" "$(moved "$from" Fallback)" 0
	expect_eq "sender: FallbackLate" "$(moved "$from" FallbackLate)" 0
	expect_ge "sender: OptTx" "$(moved "$from" OptTx)" 10
	# counted as segments; none is larger than the link
	mtu=$(cat "/sys/class/net/$NETIF/mtu")
	expect_ge "receiver: OptRx" "$(moved "$to" OptRx)" $((BYTES / mtu))
	expect_eq "receiver: OptBad" "$(moved "$to" OptBad)" 0
}

# each CC: both directions, the families that there are
each() {
	local family here
	for family in V4 V6; do
		here=LOCAL_$family
		[ -n "${!here:-}" ] || continue
		one remote "$1" "$family"
		one local "$1" "$family"
	done
}

test_bolt() {
	each bolt
}

test_swift() {
	each swift
}

# port WORDS...: sfc on the device here; what it shows of @name
port() {
	defer tc qdisc del dev "$NETIF" root
	expect "sfc on $NETIF" tc qdisc replace dev "$NETIF" root sfc "$@"
}

shown() {
	tc -j -s qdisc show dev "$NETIF" |
		jq --arg n "$1" '[.[] | select(.kind == "sfc")][0] | (. + (.options // {}))[$n]'
}

some_remote() {
	echo "${REMOTE_V4:-$REMOTE_V6}"
}

# This machine's own port is the first that a packet meets: SRC from there
test_src() {
	port rate 20mbit
	setting local net.bolt.base_rtt_ns 2000000
	transfer remote bolt "$(some_remote)" "$BYTES"
	expect_ge "data with the option" "$(shown data)" $((BYTES / 65536))
	expect_ge "SRC sent" "$(shown src_sent)" 1
	expect_ge "SRC heard" "$(moved local SrcRx)" 1
}

# ... and BTS, which pause a socket of any congestion control
test_pause() {
	port rate 20mbit pause rtt 1ms
	setting local net.bolt.sfc 1
	transfer remote reno "$(some_remote)" "$BYTES"
	expect_ge "BTS sent" "$(shown bts_sent)" 1
	expect_ge "pauses" "$(moved local Pauses)" 1
}

endpoints
run_tests bolt swift src pause
