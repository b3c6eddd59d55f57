#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# net.bolt.hooks=0 takes the module's hooks out of a namespace, whose packets it then does not see.
# Two hosts have them out from the start, take them out and put them back during a connection,
# unload the module, or are deleted meanwhile.  No byte may be lost, no namespace may change
# another's, and without hooks no packet may carry the option.

. "$(dirname "$0")/lib.sh"

hooks() {
	expect "hooks=$2" in_ns "$1" sysctl -qw "net.bolt.hooks=$2"
}

# exchange [CC]: what H1 opens, of both families, gets through
exchange() {
	local to
	for to in "$A2" "$B2"; do
		server "$H2" cc "${1:-bolt}" listen "$to" 5001 recv 100000 send 100000 recv-eof
		client "$H1" cc "${1:-bolt}" connect "$to" 5001 send 100000 recv 100000
		server_done
	done
}

# Without them nothing of the option is sent, read or taken out, whoever offers it
test_out() {
	setup_pair
	hooks "$H1" 0
	bolt_stats_save "$H1"
	bolt_stats_save "$H2"
	sniff "$H1" eth0 plain
	exchange
	sniffed
	expect_eq "options of H1's" "$(grep -c '254/' "$tmp/sniff.eth0")" 0
	expect_eq "counters of H1" "$(bolt_stats_diff "$H1" | tr '\n' ' ')" "Fallback=2 NoHooks=2 "
	expect_eq "counters of H2" "$(bolt_stats_diff "$H2" | tr '\n' ' ')" "Fallback=2 "
}

# A server without them does not answer the offer
test_out_at_the_server() {
	setup_pair
	hooks "$H2" 0
	bolt_stats_save "$H1"
	bolt_stats_save "$H2"
	exchange
	expect_eq "counters of H1" "$(bolt_stats_diff "$H1" | tr '\n' ' ')" "SynTx=2 Fallback=2 "
	expect_eq "counters of H2" "$(bolt_stats_diff "$H2" | tr '\n' ' ')" "Fallback=2 NoHooks=2 "
}

test_in_again() {
	setup_pair
	hooks "$H1" 0
	hooks "$H1" 0
	hooks "$H1" 1
	hooks "$H1" 1
	exchange
	expect_eq "Negotiated" "$(bolt_stat "$H1" Negotiated)" 2
	expect_eq "NoHooks" "$(bolt_stat "$H1" NoHooks)" 0
	# in twice, they would be out once
	hooks "$H1" 0
	exchange
	expect_eq "Negotiated, out" "$(bolt_stat "$H1" Negotiated)" 2
	expect_eq "NoHooks, out" "$(bolt_stat "$H1" NoHooks)" 2
	expect_eq "SynTx" "$(bolt_stat "$H1" SynTx)" 2
}

# What one namespace says does not concern the others
test_of_a_namespace() {
	setup_pair
	setup_ns OTHER
	hooks "$OTHER" 0
	expect_eq "elsewhere" "$(in_ns "$H1" sysctl -n net.bolt.hooks)" 1
	exchange
	expect_eq "Negotiated" "$(bolt_stat "$H1" Negotiated)" 2
}

# Namespaces begin with what the module's parameter says
test_parameter() {
	local parameter=/sys/module/tcp_bolt/parameters/hooks
	expect_eq "by default" "$(cat "$parameter")" Y
	echo 0 >"$parameter"
	setup_ns H1
	echo 1 >"$parameter"
	expect_eq "made with 0" "$(in_ns "$H1" sysctl -n net.bolt.hooks)" 0
	hooks "$H1" 1
	expect_eq "asked for" "$(in_ns "$H1" sysctl -n net.bolt.hooks)" 1
	setup_ns H2
	expect_eq "made with 1" "$(in_ns "$H2" sysctl -n net.bolt.hooks)" 1
}

# Pauses need them: one or the other
test_sfc() {
	setup_ns H1
	in_ns "$H1" sysctl -qw net.bolt.sfc=1
	expect_fail "hooks=0" 'resource busy' in_ns "$H1" sysctl -w net.bolt.hooks=0
	expect_eq "hooks" "$(in_ns "$H1" sysctl -n net.bolt.hooks)" 1
	in_ns "$H1" sysctl -qw net.bolt.sfc=0
	hooks "$H1" 0
	expect_fail "sfc=1" 'resource busy' in_ns "$H1" sysctl -w net.bolt.sfc=1
	expect_eq "sfc" "$(in_ns "$H1" sysctl -n net.bolt.sfc)" 0
	sysctl_refuses "$H1" net.bolt.hooks 2 -1 x
	# ... and the control port, which somebody else has
	setup_ns H2
	take_port "$H2" 12311
	expect_fail "port taken" 'ddress already in use' in_ns "$H2" sysctl -w net.bolt.sfc=1
	expect_eq "sfc" "$(in_ns "$H2" sysctl -n net.bolt.sfc)" 0
	hooks "$H2" 0
}

# They come and go while a connection sends, several times in each round trip: every byte arrives
test_under_traffic() {
	local i before after
	setup_pair
	in_ns "$H1" tc qdisc add dev eth0 root netem delay 10ms limit 10000
	server "$H2" cc bolt listen "$A2" 5001 recv 2000000 send 2000000 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 120 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 mark "$tmp/up" send 2000000 recv 2000000
	expect "connected" busywait test -e "$tmp/up"
	before=$(bolt_stat "$H1" OptTx)
	for i in 1 2 3 4 5 6 7 8 9 10; do
		hooks "$H1" $((i % 2))
		sleep 0.003
		hooks "$H2" $((i / 2 % 2))
		sleep 0.003
	done
	expect "still sending" kill -0 "$CLIENT"
	ended client "$CLIENT"
	server_done
	after=$(bolt_stat "$H1" OptTx)
	expect_ge "packets with the option" "$after" $((before + 1))
	expect_ge "packets without" $(($(stack "$H1" TcpOutSegs) - after)) 100
}

# A connection that had the option goes on without, and so does its peer
test_late() {
	local ns
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 echo
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 ping 5 100 mark "$tmp/up" wait "$tmp/go" pause 1000 ping 50 100 \
		info shut recv-eof
	expect "connected" busywait test -e "$tmp/up"
	hooks "$H1" 0
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	expect_eq "client" "$(info "$tmp/client" cc)" reno
	for ns in "$H1" "$H2"; do
		expect_eq "FallbackLate" "$(bolt_stat "$ns" FallbackLate)" 1
		expect_eq "NoHooks" "$(bolt_stat "$ns" NoHooks)" 0
	done
}

# The module goes while they are out in one namespace and in in another, and comes back
test_unload() {
	setup_pair
	hooks "$H1" 0
	exchange cubic
	expect "unload" rmmod tcp_bolt
	expect "without" exchange cubic
	insmod "$BOLT_MODULES/tcp_bolt.ko" hooks=0 || fail "insmod"
	expect_eq "hooks" "$(in_ns "$H1" sysctl -n net.bolt.hooks)" 0
	expect_eq "hooks" "$(in_ns "$H2" sysctl -n net.bolt.hooks)" 0
	rmmod tcp_bolt
	insmod "$BOLT_MODULES/tcp_bolt.ko" || fail "insmod"
	expect_eq "hooks" "$(in_ns "$H1" sysctl -n net.bolt.hooks)" 1
}

# A namespace goes while the hooks are out, and another while somebody who has left it throws the switch
test_namespace_goes() {
	local writer
	setup_pair
	hooks "$H1" 0
	# shellcheck disable=SC2016 # the inner shell's
	in_ns "$H2" bash -c 'exec 3>/proc/sys/net/bolt/hooks nsenter --net=/proc/1/ns/net bash -c "
		touch \$1
		while [ ! -e \$2 ]; do echo 0 >&3; echo 1 >&3; sleep 0.001; done" - "$@"' \
		- "$tmp/writes" "$tmp/enough" 2>"$tmp/refused" &
	writer=$!
	expect "writing" busywait test -e "$tmp/writes"
	ip netns del "$H1"
	ip netns del "$H2"
	expect "it has gone" busywait test -s "$tmp/refused"
	touch "$tmp/enough"
	wait "$writer"
}

run_tests out out_at_the_server in_again of_a_namespace parameter sfc under_traffic late unload \
	namespace_goes
