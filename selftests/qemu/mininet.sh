#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Mininet's own hosts and links, with bolt and sfc: the example, as a user runs it.

. ../net/lib.sh

example=../../tools/mininet/subrtt_mininet.py

test_example() {
	modprobe tcp_bolt
	python3 "$example" >"$tmp/out" 2>&1 || fail "$(grep -v '^ ' "$tmp/out")"
	for pair in 'h1 -> h3' 'h2 -> h4'; do
		expect "$pair" grep -qE "^$pair: .*bits/sec; connections with bolt [1-9]" "$tmp/out"
	done
	# the bottleneck has told both
	expect_eq "heard SRC" "$(grep -cE 'SRC heard [1-9]' "$tmp/out")" 2
	expect "the port" grep -qE '^qdisc sfc .* rate 20Mbit' "$tmp/out"
	expect "its counters" grep -qE 'src_sent [1-9]' "$tmp/out"
	expect_eq "left behind" "$(ip -o link | grep -cE 's1-|h1-')" 0
}

# What is wrong is said, and nothing is left
test_refuses() {
	modprobe tcp_bolt
	expect_fail "--cc" 'h1: sysctl .*nosuch' python3 "$example" --cc nosuch
	expect_fail "--bottleneck" 's1: tc qdisc .*fast' python3 "$example" --bottleneck fast
	expect_fail "without bolt" 'went without bolt' python3 "$example" --cc cubic
	expect_eq "left behind" "$(ip -o link | grep -cE 's1-|h1-')" 0
}

run_tests example refuses
