#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# boltctl: what it shows is what tc, ss and /proc say; each thing that doctor finds is
# provoked; bad input, missing permissions and answers that are not whole end in one line and the
# right status.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_boltctl.sh"

# --- the command line ---

test_usage() {
	local want pattern args
	while IFS='|' read -r want pattern args; do
		# shellcheck disable=SC2086 # words
		ctl_fails "boltctl $args" "$want" "$pattern" $args
	done <<-'TABLE'
		2|no command given
		2|no command given|-j
		2|no command "qdicc"; did you mean "qdisc"\?|qdicc
		2|no command "xyzzy"; see: boltctl help|xyzzy
		2|no command "xyzzy"|help xyzzy
		2|no option "-x"; see: boltctl help|-x qdisc
		2|no option "-x"; see: boltctl qdisc --help|qdisc -x
		2|no option "-x"; see: boltctl qdisc --help|--json qdisc -ax
		2|no option "--frob"; see: boltctl doctor --help|doctor --frob
		2|--json takes no value|qdisc --json=5
		2|-n: value missing|qdisc -n
		2|--netns: value missing|--netns
		2|--netns: "" is no name|qdisc --netns=
		2|"router" is neither host nor switch|doctor router
		2|what is "switch"\?|doctor host switch
		4|no namespace nowhere|-n nowhere qdisc
		4|no namespace 999999999|qdisc -n 999999999
		4|/dev/null is no network namespace|qdisc -n /dev/null
		4|no device eth99|qdisc eth99
		4|no device eth99|qdisc -j lo eth99
	TABLE
}

# known_elsewhere COMMAND: it and its options, as the newest help has them, are in the manual page
# and in what completes words
known_elsewhere() {
	local f option text
	for f in boltctl.8 completion.bash completion.zsh; do
		text=$(<"../../tools/boltctl/$f")
		# the manual page's own hyphens
		text=${text//\\-/-}
		[[ $text =~ [^a-z-]$1[^a-z-] ]] || fail "$f: no $1"
		while read -r option; do
			[[ $text =~ ${option}[^a-z0-9-] ]] || fail "$f: $1: no $option"
		done < <(sed '/^Examples:/,$d' "$tmp/out" | grep -oE -- '--[a-z0-9-]+' | sort -u)
	done
}

test_help() {
	local c
	ctl help
	expect_eq "help: status" "$status" 0
	sed -n "/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p" "$tmp/out" >"$tmp/commands"
	while read -r c; do
		[ "$c" != help ] || continue
		ctl help "$c"
		expect_eq "help $c: status" "$status" 0
		expect "help $c: usage" grep -q "^Usage: boltctl .* $c" "$tmp/out"
		expect "help $c: examples" grep -q '^Examples:' "$tmp/out"
		known_elsewhere "$c"
		cp "$tmp/out" "$tmp/help"
		ctl "$c" -h
		expect "help $c and $c -h say the same" cmp "$tmp/out" "$tmp/help"
	done <"$tmp/commands"
	expect_ge "commands" "$(ctl help && grep -c '^  [a-z]' "$tmp/out")" 3
	# nobody reads to the end
	"$boltctl" help >/dev/full 2>"$tmp/err" && fail "a full disk goes unnoticed"
	expect "a full disk" grep -q '^boltctl: cannot write the output: No space left' "$tmp/err"
}

# --- qdisc ---

setup_port() {
	setup_ns H1 H2
	ip link add name eth0 netns "$H1" type veth peer name eth0 netns "$H2"
	ip -n "$H1" link set eth0 up
	ip -n "$H2" link set eth0 up
}

# Every option and counter that tc's plugin knows, under the same name and with the same value
test_qdisc_as_tc() {
	local opts text
	setup_port
	while read -r opts; do
		# shellcheck disable=SC2086 # words
		expect "tc $opts" in_ns "$H1" tc qdisc replace dev eth0 root handle 8001: sfc $opts
		in_ns "$H1" tc -j -s qdisc show dev eth0 |
			jq -S '.[] | select(.kind == "sfc") | .options' >"$tmp/options"
		in_ns "$H1" tc -j -s qdisc show dev eth0 | jq -S '.[] | select(.kind == "sfc") |
			del(.kind, .handle, .root, .refcnt, .options)' >"$tmp/stats"
		ctl -j -n "$H1" qdisc
		expect_eq "ports" "$(json length)" 1
		expect_eq "device" "$(json '.[0] | "\(.dev) \(.handle) \(.root)"')" "eth0 8001: true"
		expect "options of $opts" diff "$tmp/options" <(json '.[0].options' | jq -S .)
		expect "counters of $opts" diff "$tmp/stats" <(json '.[0] |
			del(.dev, .ifindex, .handle, .root, .options, .sfc) + .sfc' | jq -S .)
		# and the text can be given to tc
		ctl -n "$H1" qdisc eth0
		text=$(sed -n 2p "$tmp/out")
		expect_ne "text of $opts" "$text" ""
		# shellcheck disable=SC2086 # words
		expect "tc again: $text" in_ns "$H1" tc qdisc replace dev eth0 root handle 8001: sfc $text
		expect "the same again: $text" diff "$tmp/options" <(in_ns "$H1" tc -j qdisc show dev eth0 |
			jq -S '.[] | select(.kind == "sfc") | .options')
		in_ns "$H1" tc qdisc del dev eth0 root
	done <<-LIST

		rate 10gbit limit 64kb ccthresh 3000b overhead 24 smcap 5000b
		link 400gbit limit 2000b nobolt nosrc nopru nosm no-split-gso
		sfc edge cache bts egress rtt 25us qth 250kb qtg 3000b suppress 5us maxpause 4s
		sfc bts off suppress off estimator 1500ns serverrate 100gbit ecn 60kb
		hold holdshare 100 minttl 255 switch_id 4294967295 srcrate 1 port 65535 ttl 255
		addr 192.0.2.9 addr 2001:db8::9 tagkey 000102030405060708090a0b0c0d0e0f
		bands 3 weights 1 2 255 default 2 dscp 46:1,8-15:3 srcprob 100 50 1
	LIST
}

# Below another qdisc; several devices; each namespace its own
test_qdisc_where() {
	local H3 pid
	setup_port
	setup_ns H3
	expect "prio" in_ns "$H1" tc qdisc add dev eth0 root handle 1: prio
	expect "child" in_ns "$H1" tc qdisc add dev eth0 parent 1:2 handle 20: sfc
	expect "lo" in_ns "$H1" tc qdisc add dev lo root sfc rate 1gbit
	expect "other" in_ns "$H2" tc qdisc add dev eth0 root sfc switch_id 2
	ctl -j -n "$H1" qdisc
	expect_eq "all" "$(json '[.[] | "\(.dev) \(.parent)"] | sort | join(",")')" "eth0 1:2,lo null"
	ctl -j -n "$H1" qdisc lo
	expect_eq "one" "$(json '[.[].dev] | join(",")')" lo
	ctl -j qdisc -n "$H2"
	expect_eq "the other namespace" "$(json '.[] | "\(.dev) \(.options.switch_id)"')" "eth0 2"
	spawn pid "$tmp/sleep" in_ns "$H2" sleep 1000
	busywait test "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)"
	ctl -j -n "$pid" qdisc
	expect_eq "by process" "$(json '.[].options.switch_id')" 2
	ctl -j -n "/run/netns/$H2" qdisc
	expect_eq "by path" "$(json '.[].options.switch_id')" 2
	ctl -j -n "$H3" qdisc
	expect_eq "no sfc" "$(<"$tmp/out")" "[]"
	ctl -n "$H3" qdisc
	expect_eq "no sfc, as text" "$status:$(cat "$tmp/out")" "0:"
}

# --- answers that are not whole ---

RTM_NEWQDISC=36

faulty() {
	as="env LD_PRELOAD=$BOLT_PROGRAMS/bolt_nlfault.so BOLT_NLFAULT=$1"
}

test_dumps() {
	local as='' fault pattern status_wanted
	setup_port
	expect "qdisc" in_ns "$H1" tc qdisc add dev eth0 root sfc
	while read -r fault status_wanted pattern; do
		faulty "$RTM_NEWQDISC:$fault:1000"
		ctl_fails "qdisc $fault" "$status_wanted" "$pattern" -n "$H1" qdisc
		ctl_fails "qdisc -j $fault" "$status_wanted" "$pattern" -j -n "$H1" qdisc
	done <<-TABLE
		intr 1 qdiscs: changed each of 20 times it was read
		fail 1 qdiscs: the kernel says: Cannot allocate memory
		perm 3 qdiscs: permission missing
		cut 1 qdiscs: the answer is not whole
		end 1 qdiscs: the answer is not whole
		lost 1 qdiscs: the answer is not whole
	TABLE
	# it is read again, and shown once
	faulty "$RTM_NEWQDISC:intr:3"
	ctl -j -n "$H1" qdisc
	expect_eq "interrupted three times" "$status $(json length)" "0 1"
}

run_tests usage help qdisc_as_tc qdisc_where dumps json
