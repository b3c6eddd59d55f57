#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# subrtt shows what tc, ss and /proc show.  Bad input, missing permissions, answers of the kernel
# that are cut short or interrupted, and a module of another version must end in one line on stderr
# and the right exit status, never in a wrong number.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_subrtt.sh"

# --- the command line ---

test_usage() {
	local want pattern args
	while IFS='|' read -r want pattern args; do
		# shellcheck disable=SC2086 # words
		ctl_fails "subrtt $args" "$want" "$pattern" $args
	done <<-'TABLE'
		2|no command given
		2|no command given|-j
		2|no command "xyzzy"; see: subrtt help|xyzzy
		2|no command "xyzzy"|help xyzzy
		2|no option "-x"; see: subrtt help|-x qdisc
		2|no option "-x"; see: subrtt qdisc --help|qdisc -x
		2|no option "-x"; see: subrtt qdisc --help|--json qdisc -ax
		2|no option "--frob"; see: subrtt doctor --help|doctor --frob
		2|--json takes no value|qdisc --json=5
		2|no option "-x"; see: subrtt flows --help|flows --addr=192.0.2.1 -xj
		2|-n: value missing|qdisc -n
		2|--netns: value missing|--netns
		2|--netns: "" is not a name|qdisc --netns=
		2|"router" is neither host nor switch|doctor router
		2|unknown word "switch"|doctor host switch
		2|--addr: "192.0.2" is no address|flows -a 192.0.2
		2|--local: "33" is not a number from 0 to 32|flows -l 192.0.2.0/33
		2|--remote: "" is not a number|flows --remote 2001:db8::/
		2|--port: "0" is not a number from 1 to 65535|flows -p 0
		2|--local-port: "65536" is not a number|flows --local-port 65536
		2|--remote-port: "-1" is not a number|flows --remote-port=-1
		2|--cc: ".*" is not the name|flows -c a_name_of_sixteen
		2|unknown word "tcp"|flows tcp
		2|--delta: "0" is not a number of seconds|stats -d0
		2|--delta: "1x" is not a number of seconds|stats --delta=1x
		2|--delta: "nan" is not a number of seconds|stats --delta=nan
		2|--count requires --delta|stats -c 1
		2|--count: "0" is not a number|stats -d -c 0
		2|no counter "Nothing"|stats SrcRx Nothing
		2|unknown word "x"|flows x
		4|no device eth99|flows -d eth99
		4|no namespace nowhere|-n nowhere qdisc
		4|no namespace 999999999|qdisc -n 999999999
		4|/dev/null is not a network namespace|qdisc -n /dev/null
		4|no device eth99|qdisc eth99
		4|no device eth99|qdisc -j lo eth99
	TABLE
}

# own FILE COMMAND: what the manual page, or what completes words, says of the command, and of all
own() {
	case $1 in
	*.8) sed -n "/^\.SH OPTIONS/,/^\.SH/p; /^\.SS $2\$/,/^\.S[SH]/p" "$1" ;;
	*) sed -En "s/^\tlocal common=/&/p; /^common=/,/^\)/p; /^\t?$2(:\*)?\)/{:a;/;;/!{N;ba};p}" "$1" ;;
	esac
}

# known_elsewhere COMMAND: it and its options, as the newest help has them, are there
known_elsewhere() {
	local f option text
	for f in subrtt.8 completion.bash completion.zsh; do
		expect "$f: $1" grep -qE "[^a-z-]$1([^a-z-]|$)" "../../tools/subrtt/$f"
		text=$(own "../../tools/subrtt/$f" "$1")
		# the manual page's own hyphens
		text=${text//\\-/-}
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
		expect "help $c: usage" grep -q "^Usage: subrtt .* $c" "$tmp/out"
		expect "help $c: examples" grep -q '^Examples:' "$tmp/out"
		known_elsewhere "$c"
		cp "$tmp/out" "$tmp/help"
		ctl "$c" -h
		expect "help $c and $c -h say the same" cmp "$tmp/out" "$tmp/help"
	done <"$tmp/commands"
	ctl help
	known_elsewhere help
	expect_ge "commands" "$(ctl help && grep -c '^  [a-z]' "$tmp/out")" 3
	# nobody reads to the end
	"$subrtt" help >/dev/full 2>"$tmp/err" && fail "a full disk goes unnoticed"
	expect "a full disk" grep -q '^subrtt: cannot write the output: No space left' "$tmp/err"
}

# The version of all that is here
test_version() {
	local args want
	want="0 subrtt $(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' ../../dkms.conf)"
	for args in --version -V "flows -V" "doctor --version"; do
		# shellcheck disable=SC2086 # words
		ctl $args
		expect_eq "subrtt $args" "$status $(<"$tmp/out")" "$want"
	done
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
	# never shown
	local opts text key="switchkey $SWITCHKEY"
	setup_port
	while read -r opts; do
		# shellcheck disable=SC2086 # words
		expect "tc $opts" in_ns "$H1" tc qdisc replace dev eth0 root handle 8001: sfc $opts $key
		in_ns "$H1" tc -j -s qdisc show dev eth0 |
			jq -S '.[] | select(.kind == "sfc") | .options' >"$tmp/options"
		in_ns "$H1" tc -j -s qdisc show dev eth0 | jq -S '.[] | select(.kind == "sfc") |
			del(.handle, .root, .refcnt, .options)' >"$tmp/stats"
		ctl -j -n "$H1" qdisc
		expect_eq "ports" "$(json length)" 1
		expect_eq "device" "$(json '.[0] | "\(.dev) \(.handle) \(.root)"')" "eth0 8001: true"
		expect "options of $opts" diff "$tmp/options" <(json '.[0].options' | jq -S .)
		expect "counters of $opts" diff "$tmp/stats" <(json '.[0] |
			del(.dev, .ifindex, .handle, .root, .options, .sfc) + (.sfc | del(.band))' | jq -S .)
		# and the text can be given to tc
		ctl -n "$H1" qdisc eth0
		text=$(sed -n 2p "$tmp/out")
		expect "text of $opts" test -n "$text"
		# shellcheck disable=SC2086 # words
		expect "tc again: $text" in_ns "$H1" tc qdisc replace dev eth0 root handle 8001: \
			sfc $text $key
		expect "the same again: $text" diff "$tmp/options" <(in_ns "$H1" tc -j qdisc show dev eth0 |
			jq -S '.[] | select(.kind == "sfc") | .options')
		in_ns "$H1" tc qdisc del dev eth0 root
	done <<-LIST

		rate 10gbit limit 64kb memory_limit 5mb ccthresh 3000b overhead 24 smcap 5000b
		link 400gbit limit 2000b nobolt nosrc nopru nosm no-split-gso
		pause edge cache bts egress rtt 25us qth 250kb qtg 3000b suppress 5us maxpause 4s
		pause bts off suppress off estimator 1500ns serverrate 100gbit ecn 60kb
		switch_id 4294967295 msgrate 1 port 65535 ttl 255
		addr 192.0.2.9 addr 2001:db8::9 tagkey 000102030405060708090a0b0c0d0e0f
		bands 3 weights 1 2 255 default 2 dscp 46:1,8-15:3 srcprob 100 50 1
		buffer 16mb alpha 1/8 pfc prio 0x88 xoff 100kb xon 5000b watchdog 1500us ignore 4s pause cache sfc-p
		alpha 3/4 xoff 9000b watchdog off
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
	ctl -n "$H1" qdisc lo
	expect "its rate" grep -q ' link_rate 1\.00Gbps' "$tmp/out"
	expect "of tc" grep -q ' link_rate 1Gbit' <(in_ns "$H1" tc -s qdisc show dev lo)
	ctl -j qdisc -n "$H2"
	expect_eq "the other namespace" "$(json '.[] | "\(.dev) \(.options.switch_id)"')" "eth0 2"
	spawn pid "$tmp/sleep" in_ns "$H2" sleep 1000
	busywait test "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)"
	ctl -j -n "$pid" qdisc
	expect_eq "by process" "$(json '.[].options.switch_id')" 2
	# digits that somebody has named a namespace by
	ln -s "/run/netns/$H2" "/run/netns/$$"
	ctl -j -n "$$" qdisc
	rm "/run/netns/$$"
	expect_eq "by a name of digits" "$(json '.[].options.switch_id')" 2
	ctl -j -n "/run/netns/$H2" qdisc
	expect_eq "by path" "$(json '.[].options.switch_id')" 2
	ctl -j -n "$H3" qdisc
	expect_eq "no sfc" "$(<"$tmp/out")" "[]"
	ctl -n "$H3" qdisc
	expect_eq "no sfc, as text" "$status:$(cat "$tmp/out")" "0:"
	expect "no speed" in_ns "$H3" tc qdisc add dev lo root sfc
	ctl -n "$H3" qdisc
	expect "no rate" grep -q ' link_rate unknown' "$tmp/out"
}

# --- flows ---

# connected NAME SERVER-WORDS -- CLIENT-WORDS: a connection that lasts until let_go
connected() {
	local name=$1 i
	shift
	for ((i = 1; i <= $#; i++)); do
		[ "${!i}" = -- ] && break
	done
	server "$H2" "${@:1:i-1}" recv-eof
	servers+=("$SERVER")
	spawn "${name^^}" "$tmp/$name" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		"${@:i+1}" mark "$tmp/up.$name" wait "$tmp/go" send 1000
	expect "$name" busywait test -e "$tmp/up.$name"
}

let_go() {
	local pid
	touch "$tmp/go"
	for pid in "${servers[@]}"; do
		wait "$pid" || fail "a server failed"
	done
	servers=()
	rm -f "$tmp/go" "$tmp/up."*
}
servers=()

# The kernel takes any bytes in a device's name, and JSON only characters
test_names() {
	local name
	setup_port
	for name in $'a\xff"b' $'\xc3' $'\xed\xbf\xbfx' $'\xc3\xa9\xf0\x9f\x90\xa7'; do
		expect "add" ip -n "$H1" link add name "$name" type dummy
		expect "sfc" in_ns "$H1" tc qdisc add dev "$name" root sfc
	done
	ctl -j -n "$H1" qdisc
	expect "is text" iconv -f UTF-8 -t UTF-8 -o /dev/null "$tmp/out"
	expect_eq "names" "$(json '[.[].dev] | join(" ")')" \
		$'a\xef\xbf\xbd"b \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx \xc3\xa9\xf0\x9f\x90\xa7'
	ctl -n "$H1" qdisc $'\xc3'
	expect_eq "one by its name" "$status" 0
}

# A connection of each kind; what is shown of it is what ss shows
test_flows() {
	local flow ss
	setup_pair
	in_ns "$H1" sysctl -qw net.bolt.base_rtt_ns=100000
	# of IPv6, that speaks IPv4
	connected four cc bolt listen :: 5001 -- cc bolt connect "$A2" 5001
	connected six cc bolt listen "$B2" 5002 -- cc swift device eth0 connect "$B2" 5002
	# without the option, and not paused: none of ours
	connected other cc cubic listen "$A2" 5003 -- cc cubic connect "$A2" 5003
	ctl -j -n "$H1" flows
	expect_eq "flows ($err)" "$(json '[.[] | "\(.congestion) \(.remote_addr) \(.remote_port)"] |
		sort | join(", ")')" "bolt $A2 5001, swift $B2 5002"
	flow=$(json '.[] | select(.remote_port == 5001) |
		"\(.local_addr):\(.local_port) sk:\(.cookie) cwnd:\(.cwnd) \(.state)"')
	ss=$(in_ns "$H1" ss -Htnie 'dport = :5001')
	expect_eq "as ss has it" "$flow" "$(printf '%s sk:%d cwnd:%s %s' \
		"$(awk 'NR == 1 { print $4 }' <<<"$ss")" \
		"0x$(grep -oE 'sk:[0-9a-f]+' <<<"$ss" | cut -d: -f2)" \
		"$(grep -oE ' cwnd:[0-9]+' <<<"$ss" | cut -d: -f2)" ESTAB)"
	expect_eq "TCP's" "$(json '.[] | select(.remote_port == 5001).tcp |
		"mss:\(.mss) pmtu:\(.pmtu)"')" \
		"$(grep -oE '(mss|pmtu):[0-9]+' <<<"$ss" | grep -E '^(mss|pmtu)' | head -2 |
			sort | paste -sd' ')"
	expect_eq "the option" "$(json 'map(.option) | unique | tostring')" "[true]"
	expect_eq "swift's windows" "$(json '[.[] | has("swift_fabric") and has("swift_endpoint")] |
		sort | map(tostring) | join(" ")')" "false true"

	ctl -n "$H1" flows -p 5001
	expect_eq "lines of text ($(<"$tmp/out"))" "$(grep -cE '^ESTAB ' "$tmp/out")" 1
	expect "as text" grep -qE '^	 bolt cwnd:[0-9]+ window:' "$tmp/out"
	expect "TCP's as text" grep -qE ' mss:[0-9]+ pmtu:1500 ' "$tmp/out"
	# the other end is another namespace's
	ctl -j -n "$H2" flows
	expect_eq "the other end" "$(json '[.[].local_port] | sort | map(tostring) | join(" ")')" \
		"5001 5002"
	ctl -j -n "$H2" flows -l "$A2"
	expect_eq "by its IPv4" "$(json '[.[].local_port] | map(tostring) | join(" ")')" 5001
	ctl -j flows
	expect_eq "nothing leaks" "$(json length)" 0
	filters
	flows_faulty
	let_go
	expect_eq "gone" "$(busywait no_flows && echo yes)" yes
}

no_flows() {
	[ "$("$subrtt" -j -n "$H1" flows | jq length)" = 0 ]
}

# How many flows pass which filters
filters() {
	local want args
	while read -r want args; do
		# shellcheck disable=SC2086 # words
		ctl -j -n "$H1" flows $args
		expect_eq "flows $args ($err)" "$(json '[.[].remote_port - 5000] | sort |
			map(tostring) | join(",")' | sed 's/^$/-/')" "$want"
	done <<-TABLE
		1 -4
		2 -6
		1 -c bolt
		2 --cc swift
		- --cc cubic
		1 -p 5001
		1 --remote-port 5001
		- --local-port 5001
		1 -p $(in_ns "$H1" ss -Htn 'dport = :5001' | awk '{ sub(".*:", "", $4); print $4 }')
		1 -a $A1
		1 -l $A1
		- -r $A1
		1 -r 192.0.2.0/24
		1 -r 192.0.2.2/31
		- -r 192.0.2.0/31
		2 -r 2001:db8::/32
		2 -a ::/0
		- -a 2001:db9::/32
		2 -l $B1 -r $B2 -p 5002 -c swift -6
		- -l $B1 -r $A2
		- --paused
		2 -d eth0
		- -d lo
	TABLE
}

# A dump that is not whole, of either kind
flows_faulty() {
	local as='' type
	for type in "$(genl_id)" "$SOCK_DIAG"; do
		faulty "$type:fail:100"
		ctl_fails "flows, fail" 1 'the kernel reports: Cannot allocate memory' -j -n "$H1" flows
		faulty "$type:intr:100"
		ctl_fails "flows, intr" 1 'changed each of 20 times' -n "$H1" flows
		faulty "$type:cut:100"
		ctl_fails "flows, cut" 1 'the answer is incomplete' -j -n "$H1" flows
		faulty "$type:intr:2"
		ctl -j -n "$H1" flows
		expect_eq "interrupted twice ($err)" "$(json length)" 2
	done
}

genl_id() {
	genl ctrl list 2>/dev/null | sed -n '/Name: bolt$/{n;s/.*ID: \(0x[0-9a-f]*\).*/\1/p}'
}

#	H1 ---- R, 1 Mbit/s, pauses ---- H2
setup_switch() {
	setup_router
	in_ns "$H1" sysctl -qw net.bolt.sfc=1 net.bolt.max_pause_us=1000000 net.bolt.base_rtt_ns=100000 net.bolt.watchdog_interval_us=60000000
	expect "sfc" in_ns "$R" tc qdisc add dev r2 root sfc rate 1mbit pause qth 6000b qtg 3000b \
		switch_id 77 maxpause 1s
	# time stands still on the way, else: an SRC would be back at once
	in_ns "$H1" tc qdisc add dev eth0 root netem delay 1ms
}

flows_are() {
	ctl -j -n "$H1" flows "${@:2}"
	[ "$(jq length <"$tmp/out")" = "$1" ]
}

src_heard_of() {
	ctl -j -n "$H1" flows -c bolt
	jq -e '.[0].last_src' <"$tmp/out"
}

# text_of NAME UNIT: of what flows says as text, in UNIT
text_of() {
	grep -oE "$1:[0-9.]+[a-zA-Z]*" "$tmp/text" | awk -F: '{
		n = split("ns 1 us 1e3 ms 1e6 s 1e9 B 1 KB 1e3 MB 1e6 Kbps 1 Mbps 1e3", unit, " ")
		for (i = 1; i < n; i += 2) of[unit[i]] = unit[i + 1]
		name = $2
		gsub(/[0-9.]/, "", name)
		print $2 * (name in of ? of[name] : 1)
	}'
}

# same_text CC OBJECT NAME=MEMBER...: text has what JSON has; the flow goes on between the two
same_text() {
	local pair
	ctl -n "$H1" flows -c "$1"
	cp "$tmp/out" "$tmp/text"
	ctl -j -n "$H1" flows -c "$1"
	for pair in "${@:3}"; do
		awk -v text="$(text_of "${pair%=*}")" -v json="$(json ".[0].$2.${pair#*=}")" 'BEGIN {
			exit !(text >= 0.99 * json && text <= 1.01 * json && json > 0) }' || return
	done
}

# A switch that signals: seen by flows and by the counters, and they agree
test_signals() {
	local pids=() cc n
	setup_switch
	bolt_stats_save "$H1"
	for cc in bolt cubic; do
		server "$H2" cc "$cc" listen "$A2" "$((5001 + ${#pids[@]}))" recv-eof
		spawn CLIENT "$tmp/client.$cc" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
			cc "$cc" connect "$A2" "$((5001 + ${#pids[@]}))" send 60000 wait "$tmp/go"
		pids+=("$CLIENT" "$SERVER")
	done
	expect "a paused flow" busywait flows_are 1 --paused -c cubic
	expect_eq "paused ($(<"$tmp/out"))" "$(json '.[0] | "\(.option) \(.pause.switch_id)
		\(.pause.remaining_ns > 0 and .pause.remaining_ns <= .pause.asked_ns)" | gsub("\n\t*"; " ")')" \
		"false 77 true"
	ctl -n "$H1" exporter --once
	expect "by exporter" grep -qx 'subrtt_flows_paused{congestion="cubic"} 1' "$tmp/out"
	ctl -n "$H1" flows -c cubic --paused
	expect "paused, as text ($(<"$tmp/out"))" busywait same_text cubic pause \
		switch=switch_id asked=asked_ns pauses=begun granted=granted_ns
	ctl -n "$H1" exporter --once --flows
	expect "its pauses" grep -qE '^subrtt_flow_pauses\{.*congestion="cubic".* [1-9]' "$tmp/out"
	expect "is paused" grep -qE '^subrtt_flow_is_paused\{.*congestion="cubic".* 1$' "$tmp/out"
	expect "an SRC" busywait src_heard_of
	expect_eq "last SRC ($(<"$tmp/out"))" "$(json '.[0].last_src |
		"\(.switch_id) \(.link_rate) \(.queue_bytes > 0) \(.rtt_src_ns > 0)"')" "77 1000 true true"
	expect "as text ($(<"$tmp/out") $(<"$tmp/text"))" busywait same_text bolt last_src \
		queue=queue_bytes rate=link_rate rtt_src=rtt_src_ns switch=switch_id
	touch "$tmp/go"
	for n in "${pids[@]}"; do
		wait "$n" || fail "a transfer failed"
	done
	rm "$tmp/go"
	# the watchdog's interval of what was paused goes on
	expect_ge "paused sockets" "$(bolt_stat "$H1" PausesNow)" 1
	ctl -n "$H1" exporter --once
	expect_eq "none without a congestion control" "$(grep -c 'congestion=""' "$tmp/out")" 0
	expect "the queue drains" busywait qdisc_is "$R" r2 qlen 0
	in_ns "$H1" bash -c 'echo >/dev/udp/127.0.0.1/12311'
	expect "pauses end" busywait flows_are 0 --paused
	bolt_stats_diff "$H1" >"$tmp/diff"
	expect_ge "SRC" "$(sed -n 's/^SrcRx=//p' "$tmp/diff")" 2
	expect_eq "SRC of the switch" "$(sed -n 's/^SrcRx=//p' "$tmp/diff")" "$(qdisc "$R" r2 src_sent)"
	expect_eq "messages of the switch" "$(sed -n 's/^CtlRx=//p' "$tmp/diff")" \
		"$(($(qdisc "$R" r2 src_sent) + $(qdisc "$R" r2 bts_sent) + 1))"
}

# ss -ti has the rate, window * MSS / smoothed RTT, and the minimum RTT in ms, both as flows has them
test_ss() {
	local cc
	setup_pair
	in_ns "$H1" tc qdisc add dev eth0 root netem delay 1ms
	for cc in bolt swift; do
		server "$H2" cc bolt listen "$A2" 5001 recv-eof
		spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
			cc "$cc" connect "$A2" 5001 send 60000 wait "$tmp/go"
		expect "$cc: acknowledged" busywait acked 60001
		ctl -j -n "$H1" flows -p 5001
		in_ns "$H1" ss -Htni 'dport = :5001' >"$tmp/ss"
		expect_eq "$cc: as flows ($(<"$tmp/ss"))" "$(sed -n \
			's/.* bbr:(bw:\([0-9]*\)bps,mrtt:\([0-9.]*\)).*/\1 \2/p' "$tmp/ss" |
			awk -v want="$(json '.[0] | "\(8e9 * ([.window, .cwnd] | min) * .tcp.mss / .srtt_ns)
				\(.min_rtt_ns / 1e6)"' | paste -sd' ')" '{
				split(want, w, " ")
				print int(1000 * $1 / w[1] + 0.5), int(100 * $2 / w[2] + 0.5)
			}')" "1000 100"
		touch "$tmp/go"
		wait "$CLIENT" "$SERVER" || fail "$cc: a transfer failed"
		rm "$tmp/go"
	done
}

acked() {
	in_ns "$H1" ss -Htni 'dport = :5001' | grep -q " bytes_acked:$1 "
}

# --- counters ---

test_stats() {
	setup_pair
	# refused
	in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 9 >/dev/null 2>&1
	ctl -j -n "$H1" stats
	expect "as /proc has them" diff <(in_ns "$H1" cat /proc/net/bolt_stat) \
		<(json 'to_entries[] | "\(.key) \(.value)"')
	expect_eq "SYN" "$(json .SynTx)" 1
	ctl -n "$H1" stats
	expect "as text" diff <(in_ns "$H1" grep -v ' 0$' /proc/net/bolt_stat) <(awk '{ print $1, $2 }' "$tmp/out")
	ctl -n "$H1" stats CtlRx SynTx
	expect_eq "named" "$(awk '{ print $1, $2 }' "$tmp/out" | paste -sd' ')" "SynTx 1 CtlRx 0"
	ctl -j -n "$H2" stats SynTx
	expect_eq "of another namespace" "$(<"$tmp/out")" '{"SynTx":0}'
	in_ns "$H1" sysctl -qw net.bolt.sfc=1
	spawn DELTA "$tmp/delta" "$subrtt" -j -n "$H1" stats -d0.5 -c 3 CtlRx CtlShort SynTx
	expect "first interval" busywait file_has "$tmp/delta" interval_ns
	in_ns "$H1" bash -c 'for i in 1 2 3; do echo >/dev/udp/127.0.0.1/12311; done'
	wait "$DELTA" || fail "stats --delta failed"
	cat "$tmp/delta" >>"$tmp/json"
	expect_eq "intervals" "$(wc -l <"$tmp/delta")" 3
	expect_eq "changes" "$(jq -sc '[.[].delta | [.CtlRx, .CtlShort, .SynTx]] | transpose |
		map(add)' <"$tmp/delta")" "[3,3,0]"
	expect_le "each half a second" \
		"$(jq -s '[.[].interval_ns - 500000000 | fabs] | max | floor' <"$tmp/delta")" 50000000
	# how many there are goes down as well
	connected four cc bolt listen "$A2" 5001 -- cc bolt connect "$A2" 5001
	spawn DELTA "$tmp/less" "$subrtt" -n "$H1" stats -d0.1 FlowsNow
	expect "first interval" busywait file_has "$tmp/less" '^---'
	let_go
	expect "one less" busywait file_has "$tmp/less" '^FlowsNow  *-1  *-\(9\|10\)\.[0-9]/s$'
	kill "$DELTA"
}

# --- answers that are not whole ---

RTM_NEWQDISC=36
RTM_NEWTCLASS=40
SOCK_DIAG=20

faulty() {
	as="env LD_PRELOAD=$BOLT_PROGRAMS/bolt_nlfault.so BOLT_NLFAULT=$1"
}

test_dumps() {
	local as='' fault pattern status_wanted
	setup_port
	expect "qdisc" in_ns "$H1" tc qdisc add dev eth0 root sfc bands 2
	while read -r fault status_wanted pattern; do
		faulty "$RTM_NEWQDISC:$fault:1000"
		ctl_fails "qdisc $fault" "$status_wanted" "qdiscs: $pattern" -n "$H1" qdisc
		ctl_fails "qdisc -j $fault" "$status_wanted" "qdiscs: $pattern" -j -n "$H1" qdisc
		faulty "$RTM_NEWTCLASS:$fault:1000"
		ctl_fails "bands $fault" "$status_wanted" "bands: $pattern" -n "$H1" qdisc
	done <<-TABLE
		intr 1 changed each of 20 times it was read
		fail 1 the kernel reports: Cannot allocate memory
		perm 3 permission missing
		cut 1 the answer is incomplete
		end 1 the answer is incomplete
		lost 1 the answer is incomplete
	TABLE
	# it is read again, and shown once
	faulty "$RTM_NEWQDISC:intr:3"
	ctl -j -n "$H1" qdisc
	expect_eq "interrupted three times" "$status $(json length)" "0 1"
	faulty "$RTM_NEWTCLASS:intr:3"
	ctl -j -n "$H1" qdisc
	expect_eq "bands, interrupted three times" "$status $(json '.[0].sfc.band | length')" "0 2"
}

# A module that lacks the newest counter, cnm_unshared: the others are shown
test_older_module() {
	local as=''
	setup_port
	expect "qdisc" in_ns "$H1" tc qdisc add dev eth0 root sfc
	ctl -j -n "$H1" qdisc
	json '.[0].sfc | del(.cnm_unshared) | keys[]' >"$tmp/keys"
	faulty "$RTM_NEWQDISC:old:1000"
	ctl -j -n "$H1" qdisc
	expect "subrtt" diff "$tmp/keys" <(json '.[0].sfc | keys[]')
	ctl -n "$H1" qdisc --all
	expect "subrtt, text" grep -q ' memory_used 0' "$tmp/out"
	as+=" tc -n $H1 -s"
	expect "tc" diff "$tmp/keys" <($as -j qdisc show dev eth0 |
		jq -r --slurpfile all <(jq -R . "$tmp/keys") '.[0] | keys[] | select(. as $k | $all | index($k))')
	expect "tc, text" grep -q ' memory_used 0' <($as qdisc show dev eth0)
	expect_eq "tc, of what it lacks" "$($as qdisc show dev eth0 | grep -c cnm_unshared)" 0
}

# More packets than 32 bits count, in an attribute of their own
test_many_packets() {
	local as=''
	setup_port
	expect "qdisc" in_ns "$H1" tc qdisc add dev eth0 root sfc
	faulty "$RTM_NEWQDISC:wide:1000"
	ctl -j -n "$H1" qdisc
	expect_eq "packets" "$(json '.[0].packets')" 5000000000
	expect_eq "of tc" "$($as tc -n "$H1" -s -j qdisc show dev eth0 | jq '.[0].packets')" 5000000000
}

GENL_ID_CTRL=16

# A module of another version may mean something else by the same attribute
test_other_version() {
	local as=''
	setup_ns H1
	faulty "$GENL_ID_CTRL:ver:1000"
	ctl_fails "flows" 4 'the loaded tcp_bolt is of another version than this subrtt .*: sudo subrtt doctor$' -n "$H1" flows
	ctl -n "$H1" exporter --once
	expect "flows are missing" grep -qx 'subrtt_up{of="flows"} 0' "$tmp/out"
}

# Whoever may see the namespace's sockets sees flows; counters are root's
test_user() {
	local as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	setup_pair
	connected four cc bolt listen "$A2" 5001 -- cc bolt connect "$A2" 5001
	as="nsenter --net=/run/netns/$H1 -- $as"
	ctl -j flows
	expect_eq "flows ($err)" "$(json length)" 1
	ctl_fails "stats" 3 'counters: permission missing: CAP_NET_ADMIN is needed' stats
	ctl -j qdisc
	expect_eq "qdisc ($err)" "$(json length)" 0
	let_go
}

# top takes a terminal's keys, and gives it back at q and at an interrupt; with -b it does neither
test_terminal() {
	local how options want
	setup_ns H1
	cat >"$tmp/terminal.py" <<-'END'
		import os, pty, signal, subprocess, sys, termios
		end, *command = sys.argv[1:]
		screen, terminal = pty.openpty()
		before = termios.tcgetattr(terminal)
		top, said = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal), b""
		while said.count(b"subrtt top - ") < 2:
		    said += os.read(screen, 4096)
		canonical = bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
		if end == "q":
		    os.write(screen, b"xq")
		elif end != "none":
		    top.send_signal(getattr(signal, end))
		print(top.wait(), canonical, termios.tcgetattr(terminal) == before, b"\33" in said)
	END
	while IFS='|' read -r how options want; do
		# shellcheck disable=SC2086 # words
		expect_eq "top $options, $how" "$(timeout 60 python3 "$tmp/terminal.py" "$how" "$subrtt" -n "$H1" top $options)" "$want"
	done <<-'TABLE'
		q|-d 0.01|0 False True True
		SIGINT|-d 0.01|0 False True True
		none|-d 0.01 -b -c 2|0 True True False
	TABLE
}

# Without the modules each says which is missing
test_absent() {
	rmmod tcp_bolt sch_sfc || fail "cannot unload"
	ctl_fails "flows" 4 'tcp_bolt is not loaded: sudo modprobe tcp_bolt' flows
	ctl_fails "stats" 4 'tcp_bolt is not loaded: sudo modprobe tcp_bolt' stats
	ctl -j qdisc
	expect_eq "qdisc" "$status $(<"$tmp/out")" "0 []"
}

run_tests usage help version qdisc_as_tc qdisc_where names flows signals ss stats dumps older_module many_packets other_version terminal user json absent
