#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# subrtt top and subrtt exporter: their values must follow the traffic.  The exporter must answer in
# OpenMetrics over HTTP whatever a client sends, and the dashboard and the systemd unit may name
# only metrics and options that exist.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_subrtt.sh"

conf=../../tools/conf

# --- a pair of hosts with a port and a connection ---

setup_live() {
	rm -f "$tmp/up" "$tmp/go" "$tmp/top"
	setup_pair
	expect "sfc" in_ns "$H1" tc qdisc replace dev eth0 root handle 8001: sfc rate 1gbit
	server "$H2" cc bolt listen "$A2" 5001 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		connect "$A2" 5001 send 1000 mark "$tmp/up" wait "$tmp/go" send 5000000
	expect "connection" busywait test -e "$tmp/up"
}

# beside CC SERVERS-CC: another connection, which sends nothing any more
beside() {
	local busy=$SERVER
	rm -f "$tmp/beside"
	server "$H2" cc "$2" listen "$A2" 5002 recv-eof
	SERVER=$busy
	spawn BESIDE "$tmp/beside.log" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" cc "$1" \
		connect "$A2" 5002 send 1000 mark "$tmp/beside" wait "$tmp/never"
	expect "another" busywait test -e "$tmp/beside"
}

# The bytes that it sends have gone
let_go() {
	touch "$tmp/go"
	wait "$CLIENT" || fail "the client failed"
	wait "$SERVER" || fail "the server failed"
}

# metric NAME[{LABELS}]: its value in $tmp/out
metric() {
	awk -v want="$1" 'substr($0, 1, length(want) + 1) == want " " { print $NF }' "$tmp/out"
}

# --- exporter ---

test_usage() {
	local want pattern args
	while IFS='|' read -r want pattern args; do
		# shellcheck disable=SC2086 # words
		ctl_fails "subrtt $args" "$want" "$pattern" $args
	done <<-'TABLE'
		2|--listen: "0" is not a number from 1 to 65535|exporter -l 0
		2|--listen: "x" is not a number|exporter --listen=x
		2|--listen: "localhost:9823" is no address|exporter -l localhost:9823
		2|--listen: ":9823" is no address|exporter -l :9823
		2|--listen: "192.0.2.1.5:1" is no address|exporter -l 192.0.2.1.5:1
		2|exporter has no JSON|-j exporter --once
		2|unknown word "x"|exporter x
		2|no option "--flaws"; see: subrtt exporter --help|exporter --flaws
		2|--delay: "0" is not a number of seconds|top -d 0
		2|--delay: "1s" is not a number of seconds|top --delay 1s
		2|--count: "0" is not a number|top -c 0
		2|unknown word "eth0"|top eth0
	TABLE
}

# well_formed [text]: what a parser of OpenMetrics insists on: the type of a metric before its samples,
# which stand together, a unit that its name ends with, no sample twice, and the end.  In Prometheus's
# text format 0.0.4, which node_exporter reads, a type names its samples, is a counter's or a gauge's,
# and nothing but comments stands behind the samples.
well_formed() {
	awk -v text="${1:-}" '
		function bad(why) { print NR ": " why ": " $0; wrong = 1 }
		text && /^#/ && !/^# TYPE subrtt_[a-z0-9_]+ (counter|gauge)$/ { bad("not in this format") }
		ended { bad("behind the end") }
		/^# TYPE / { if ($3 in type) bad("again"); type[$3] = $4; now = $3; next }
		/^# UNIT / { if ($3 != now || substr($3, length($3) - length($4)) != "_" $4) bad("unit"); next }
		/^# EOF$/ { ended = 1; next }
		!/^subrtt_[a-z0-9_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? -?[0-9.e+-]+$/ { bad("no sample"); next }
		{
			name = $0
			sub(/[{ ].*/, "", name)
			want = now (text ? "" : type[now] == "counter" ? "_total" : type[now] == "info" ? "_info" : "")
			if (name != want) bad("of " now)
			if (text && type[now] == "counter" && name !~ /_total$/) bad("of no count")
			sample = $0
			sub(/ [^ ]*$/, "", sample)
			if (sample in seen) bad("twice")
			seen[sample] = 1
		}
		END { if (!ended && !text) bad("no end"); exit wrong }' "$tmp/out"
}

# Every number is the one that stats, qdisc and flows have
test_as_elsewhere() {
	local name value n=0 before port='device="eth0",handle="8001:"'
	setup_live
	let_go
	expect "suppress" in_ns "$H1" tc qdisc change dev eth0 root sfc pause suppress 2s
	ctl -n "$H1" exporter --once
	expect_none "counters that nobody asked for" "$(grep subrtt_host "$tmp/out")"
	ctl -n "$H1" exporter --once --counters
	expect_eq "status ($err)" "$status" 0
	expect "well-formed" well_formed text
	expect_eq "build" "$(metric "subrtt_build_info{version=\"$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' ../../dkms.conf)\"}")" 1
	for name in counters ports flows; do
		expect_eq "up: $name" "$(metric "subrtt_up{of=\"$name\"}")" 1
	done
	before=$(<"$tmp/out")
	while read -r name value; do
		case $name in
		flows_now | pauses_now | paused_ns) ;; # which may become less
		*) name+=_total ;;
		esac
		expect_eq "$name" "$(metric "subrtt_host_$name")" "$value"
		n=$((n + 1))
	done < <("$subrtt" -n "$H1" stats --all | sed 's/\([a-z0-9]\)\([A-Z]\)/\1_\2/g' |
		tr '[:upper:]' '[:lower:]')
	expect_ge "counters" "$n" 30
	ctl -j -n "$H1" qdisc
	json '.[0] | "sent_bytes \(.bytes)", "sent_packets \(.packets)", "drops \(.drops)",
		(.sfc | "data \(.data)", "src_sent \(.src_sent)")' >"$tmp/port"
	json '.[0] | "queue_bytes \(.backlog)", "link_bytes_per_second \(.sfc.link_rate)",
		(.sfc | to_entries[] | select(.key | IN("ccthresh", "memory_used", "buffer_used", "buffer_limit",
			"ingress_bytes", "ingress_packets", "pfc_paused", "srcc_flows", "srcc_qth")) | "\(.key) \(.value)")' >"$tmp/state"
	printf '%s\n' "$before" >"$tmp/out"
	while read -r name value; do
		expect_eq "$name" "$(metric "subrtt_port_${name}_total{$port}")" "$value"
	done <"$tmp/port"
	while read -r name value; do
		expect_eq "$name" "$(metric "subrtt_port_$name{$port}")" "$value"
	done <"$tmp/state"
	expect_eq "suppress" "$(metric "subrtt_port_suppress_seconds{$port}")" 2
	expect_eq "states" "$(wc -l <"$tmp/state")" 11
	expect_ge "data went out" "$(metric "subrtt_port_sent_bytes_total{$port}")" 5000000
}

test_flows() {
	local labels
	setup_live
	ctl -n "$H1" exporter --once
	expect_eq "flows" "$(metric 'subrtt_flows{congestion="bolt"}')" 1
	expect_eq "none paused" "$(metric 'subrtt_flows_paused{congestion="bolt"}')" 0
	expect_eq "with the option" "$(metric 'subrtt_flows_without_option{congestion="bolt"}')" 0
	expect_ge "a window" "$(metric 'subrtt_flows_window_packets{congestion="bolt"}' | cut -d. -f1)" 1
	expect_none "not by themselves" "$(grep '^subrtt_flow_' "$tmp/out")"
	ctl -n "$H1" exporter --once --flows
	expect "well-formed" well_formed text
	labels=$(sed -n 's/^subrtt_flow_acked_bytes_total{\(.*\)} .*/\1/p' "$tmp/out")
	expect "whose ($labels)" grep -qE "^local=\"$A1:[0-9]+\",remote=\"$A2:5001\",congestion=\"bolt\"" <<<"$labels"
	expect "a round trip" busywait acked
	round_trip "$labels"
	beside swift cubic
	ctl -n "$H1" exporter --once
	expect_eq "without the option" "$(metric 'subrtt_flows_without_option{congestion="swift"}')" 1
	let_go
}

acked() {
	ctl -j -n "$H1" flows
	[ "$(json '.[0].tcp.unacked')" = 0 ]
}

round_trip() {
	local of
	ctl -n "$H1" exporter --once --flows
	of=$(for of in srtt_seconds min_rtt_seconds window_packets; do
		metric "subrtt_flow_$of{$1}"
	done | awk '{ printf "%.0f ", $1 * 1e6 }')
	ctl -j -n "$H1" flows
	expect_eq "as flows has it" "$of" "$(json '.[0] |
		"\(.srtt_ns / 1000 | round) \(.min_rtt_ns / 1000 | round) \(.window * 1e6 | round) "')"
}

# Without modules' objects: what is not there is told by subrtt_up, and nobody complains
test_nothing_there() {
	setup_ns H1
	ctl -n "$H1" exporter --once
	expect_eq "status" "$status:$err" "0:"
	expect "well-formed" well_formed text
	expect_none "ports" "$(grep '^subrtt_port' "$tmp/out")"
	expect_none "flows" "$(grep '^subrtt_flows' "$tmp/out")"
	as="setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all --reuid 65534 --clear-groups" \
		ctl exporter --once --counters
	expect_eq "counters without permission" "$(metric 'subrtt_up{of="counters"}')" 0
	expect_eq "ports without it" "$(metric 'subrtt_up{of="ports"}')" 1
	"$subrtt" exporter --once >/dev/full 2>"$tmp/err" && fail "a full disk goes unnoticed"
	expect "a full disk" grep -q '^subrtt: cannot write the output' "$tmp/err"
}

# --- HTTP ---

start_exporter() {
	spawn EXPORTER "$tmp/exporter" "$subrtt" -n "$H1" exporter "$@"
	expect "listening ($(cat "$tmp/exporter"))" busywait file_has "$tmp/exporter" "^subrtt: http"
}

# request ADDRESS PORT TEXT: the answer in $tmp/answer, its body in $tmp/out, \r left out
request() {
	# shellcheck disable=SC2016 # for the other bash
	in_ns "$H1" timeout 60 bash -c 'exec 3<>"/dev/tcp/$1/$2" && printf "%b" "$3" >&3 && cat <&3 2>/dev/null' \
		- "$@" | tr -d '\r' >"$tmp/answer"
	sed '1,/^$/d' "$tmp/answer" >"$tmp/out"
}

head_of() {
	sed '/^$/,$d' "$tmp/answer"
}

test_http() {
	local want text length
	setup_live
	start_exporter
	request 127.0.0.1 9823 'GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n'
	expect "status" grep -qx 'HTTP/1.1 200 OK' "$tmp/answer"
	expect "type" grep -qx 'Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8' \
		"$tmp/answer"
	length=$(sed -n 's/^Content-Length: //p' "$tmp/answer")
	expect_eq "length" "$(wc -c <"$tmp/out")" "$length"
	expect "well-formed" well_formed
	expect_eq "of this namespace" "$(metric 'subrtt_flows{congestion="bolt"}')" 1
	let_go
	request 127.0.0.1 9823 'GET /metrics?x=1 HTTP/1.0\n\n'
	expect_ge "it is read anew" \
		"$(metric 'subrtt_port_sent_bytes_total{device="eth0",handle="8001:"}')" 5000000
	request 127.0.0.1 9823 'HEAD /metrics HTTP/1.1\r\n\r\n'
	expect_ge "HEAD has the length" "$(sed -n 's/^Content-Length: //p' "$tmp/answer")" 1000
	expect_eq "and no body" "$(wc -c <"$tmp/out")" 0
	while IFS='|' read -r want text; do
		request 127.0.0.1 9823 "$text"
		expect_eq "${text:0:30}" "$(head -n 1 "$tmp/answer")" "$want"
	done <<-'TABLE'
		HTTP/1.1 200 OK|GET / HTTP/1.1\r\n\r\n
		HTTP/1.1 404 Not Found|GET /metric HTTP/1.1\r\n\r\n
		HTTP/1.1 404 Not Found|GET /metrics/../etc HTTP/1.1\r\n\r\n
		HTTP/1.1 405 Method Not Allowed|POST /metrics HTTP/1.1\r\n\r\n
		HTTP/1.1 400 Bad Request|hello\r\n\r\n
	TABLE
	request 127.0.0.1 9823 'DELETE / HTTP/1.1\r\n\r\n'
	expect "what is allowed" grep -qx 'Allow: GET, HEAD' "$tmp/answer"
	expect "it is there yet" kill -0 "$EXPORTER"
	kill -TERM "$EXPORTER"
	wait "$EXPORTER"
	expect_eq "SIGTERM" "$?" 0
}

# Who says nothing, too little or too much, or hangs up, holds up nobody for longer than half a second
test_http_bad() {
	local pid i began
	setup_ns H1
	start_exporter --listen '[::1]:9824'
	for i in 1 2 3 4 5 6; do
		# shellcheck disable=SC2016 # for the other bash
		spawn pid "$tmp/mute" in_ns "$H1" timeout 300 bash -c 'exec 3<>/dev/tcp/::1/9824; echo >"$1"; cat <&3' - \
			"$tmp/connected.$i"
		expect "somebody who says nothing" busywait test -e "$tmp/connected.$i"
	done
	# shellcheck disable=SC2016 # for the other bash
	spawn pid "$tmp/mute" in_ns "$H1" timeout 300 bash -c 'exec 3<>/dev/tcp/::1/9824; echo GET >&3; echo >"$1"; cat <&3' - \
		"$tmp/connected"
	expect "somebody who says too little" busywait test -e "$tmp/connected"
	# the kernel has handed over all of them by then
	sleep 1.2
	began=$(date +%s%N)
	request ::1 9824 'GET / HTTP/1.1\r\n\r\n'
	expect "behind who says nothing" grep -q '200 OK' "$tmp/answer"
	# their half seconds would add up; virtual time
	expect_le "ms that it waited for" "$((($(date +%s%N) - began) / 1000000))" 400
	request ::1 9824 "GET /$(head -c 10000 /dev/zero | tr '\0' x) HTTP/1.1\r\n\r\n"
	expect "too long" grep -q '^HTTP/1.1 431 ' "$tmp/answer"
	in_ns "$H1" timeout 60 bash -c 'exec 3<>/dev/tcp/::1/9824; printf "GET /metrics HTTP/1.1\r\n\r\n" >&3'
	request ::1 9824 'GET /metrics HTTP/1.1\r\n\r\n'
	expect "and goes on" well_formed
	ctl_fails "its port is taken" 1 '\[::1\]:9824: Address already in use' -n "$H1" exporter -l '[::1]:9824'
	kill -INT "$EXPORTER"
	wait "$EXPORTER"
	expect_eq "SIGINT" "$?" 0
}

# The kernel's own children of a multi-queue root all have handle 0
test_handles() {
	local i parents
	i=$(sysctl -n net.core.default_qdisc)
	defer sysctl -qw "net.core.default_qdisc=$i"
	expect "sysctl" sysctl -qw net.core.default_qdisc=sfc
	setup_ns H1
	ip link add name d0 numtxqueues 4 netns "$H1" type dummy
	ip -n "$H1" link set d0 up
	expect "mq" in_ns "$H1" tc qdisc replace dev d0 root handle 10: mq
	sysctl -qw "net.core.default_qdisc=$i"
	ctl -n "$H1" exporter --once
	expect "well-formed" well_formed text
	parents='parent="10:1" parent="10:2" parent="10:3" parent="10:4"'
	expect_eq "ports" "$(sed -n 's/^subrtt_port_sent_bytes_total.*\(parent="[0-9:]*"\).*/\1/p' "$tmp/out" | paste -sd' ')" "$parents"
	ctl -j -n "$H1" top -c 1 -d 0.01
	expect_eq "ports of top" "$(json '[.ports[].parent] | join(" ")')" "10:1 10:2 10:3 10:4"
	busywait speed_is_missing || fail "no speed"
	# tc cannot change what has no handle
	in_ns "$H1" bash -c "$(how speed | sed 's/sudo //')" || fail "cannot do '$(how speed)'"
	expect_eq "its speed" "$(in_ns "$H1" tc -s -j qdisc show dev d0 | jq '[.[].link_rate // 0] | max')" 12500000000
}

speed_is_missing() {
	doctor switch
	[ -n "$(how speed)" ]
}

# sfc_hold, which refuses what has no tag of its key, and below it a port of two bands
test_hold() {
	local name value port='device="eth0",handle="1:"' n=0
	setup_pair
	expect "hold" in_ns "$H1" tc qdisc replace dev eth0 root handle 1: sfc_hold tagkey 000102030405060708090a0b0c0d0e0f
	expect "sfc" in_ns "$H1" tc qdisc replace dev eth0 parent 1:1 handle 2: sfc link 1gbit bands 2 dscp 8:2
	inject "$H2" "$A2" "$A1" bts=1000000
	inject "$H1" "$A1" "$A2" n=3 udp=1 tos=32
	ctl -n "$H1" exporter --once
	expect "well-formed" well_formed text
	expect_eq "refused" "$(metric "subrtt_hold_refused_total{$port}")" 1
	expect_eq "tagged" "$(metric "subrtt_hold_tagged{$port}")" 1
	expect_ge "sent" "$(metric "subrtt_hold_sent_packets_total{$port}")" 3
	while read -r name value; do
		expect_eq "$name" "$(sed -n "s/^subrtt_hold_$name\(_total\)\{0,1\}{.* //p" "$tmp/out")" "$value"
		n=$((n + 1))
	done < <(in_ns "$H1" tc -s -j qdisc show dev eth0 | jq -r '.[] | select(.kind == "sfc_hold") |
		to_entries[] | select(.key | IN("held_pkts", "held_bytes", "paused", "tagged", "bts", "pauses",
			"clamped", "full", "trips", "ignored", "held", "released", "refused", "oversize",
			"stale", "drops")) | "\(.key) \(.value)"')
	expect_eq "counters" "$n" 16
	expect_eq "of the band" "$(metric 'subrtt_band_sent_packets_total{device="eth0",handle="2:",parent="1:1",band="2"}')" 3
}

# --- what is beside it ---

# Each metric that the dashboard asks for is one that there is
test_dashboard() {
	local name n=0
	setup_live
	ctl -n "$H1" exporter --once --counters
	let_go
	expect "JSON" jq -e '.panels | length > 4' "$conf/grafana/subrtt.json"
	while read -r name; do
		expect "$name" grep -qE "^${name}[{ ]" "$tmp/out"
		n=$((n + 1))
	done < <(grep -oE 'subrtt_[a-z0-9_]+' "$conf/grafana/subrtt.json" | sort -u)
	expect_ge "metrics" "$n" 10
	expect "the unit's options" grep -q "^ExecStart=subrtt exporter --listen 127.0.0.1:9823$" \
		"$conf/systemd/subrtt-exporter.service"
	expect "the port" grep -q '127.0.0.1:9823' "$conf/prometheus/subrtt.yml"
}

# --- top ---

test_top() {
	local line
	setup_live
	beside bolt bolt
	expect "an idle port" in_ns "$H1" tc qdisc add dev lo root sfc link 1gbit
	spawn TOP "$tmp/top" "$subrtt" -j -n "$H1" top -d 0.01 -c 20
	expect "a first look" busywait file_has "$tmp/top" interval_ns
	let_go
	wait "$TOP"
	expect_eq "status" "$?" 0
	expect_eq "a line for each look" "$(wc -l <"$tmp/top")" 20
	jq -s . "$tmp/top" >"$tmp/out"
	expect_eq "ports of the first" "$(json '.[0].ports | map(.dev) | sort | join(" ")')" "eth0 lo"
	expect_eq "those that carry most first" "$(json '[.[] | select(.flows[0].rate_bps > 0)][0].flows |
		map(.remote) | join(" ")')" "$A2:5001 $A2:5002"
	# bits that the rates stand for, of all looks: what was sent, with headers
	line=$(json '[.[] | .interval_ns * .ports[0].rate_bps / 8e9] | add | floor')
	expect_ge "bytes of the port" "$line" 5000000
	expect_le "bytes of the port" "$line" 6000000
	expect_eq "its link" "$(json '.[0].ports[0].link_bps')" 1000000000
}

# Each column of a port: what is new in each look adds up to what the port counted
test_top_port() {
	setup_pair
	expect "sfc" in_ns "$H1" tc qdisc replace dev eth0 root sfc rate 1mbit limit 20kb ecn 3000b pause \
		qth 6000b qtg 3000b
	spawn TOP "$tmp/top" "$subrtt" -n "$H1" top -d 0.5 -c 3
	expect "a look" busywait file_has "$tmp/top" '^eth0'
	inject "$H1" "$A1" "$A2" n=12
	inject "$H1" "$A1" "$A2" n=12 bflags=none tos=2
	ctl -n "$H1" exporter --once
	expect_ge "packets that wait" "$(metric "$(grep -o '^subrtt_port_queue_packets{[^ ]*' "$tmp/out")")" 5
	wait "$TOP"
	ctl -j -n "$H1" qdisc
	expect "$(<"$tmp/out")" jq -e '.[0].sfc | .src_sent > 0 and .bts_sent > 0 and .ecn_marked > 0' "$tmp/out"
	expect_eq "drops, src, bts, marks" "$(awk '/^eth0/ { d += $6; s += $7; b += $8; m += $9 } END { print d, s, b, m }' "$tmp/top")" \
		"$(json '.[0] | "\(.drops) \(.sfc | "\(.src_sent) \(.bts_sent) \(.ecn_marked)")"')"
	# shellcheck disable=SC2016 # of awk
	expect "used, of 1 Mbit/s ($(<"$tmp/top"))" awk '/^eth0/ && $2 ~ /Kbps/ { n++; d = $2 / 10 - $3; wrong += d * d > 0.1 }
		END { exit !n || wrong }' "$tmp/top"
	ctl -j -n "$H1" top -c 1 -d 0.01
	expect_eq "peak" "$(json '.ports[0].peak_bytes')" "$(qdisc "$H1" eth0 backlog_peak)"
}

# What it carried before it was seen is no rate
test_top_new() {
	setup_pair
	expect "sfc" in_ns "$H1" tc qdisc replace dev eth0 root sfc rate 1gbit
	rm -f "$tmp/top" "$tmp/go" "$tmp/up"
	spawn TOP "$tmp/top" "$subrtt" -j -n "$H1" top -d 0.5 -c 6
	expect "a look without it" busywait file_has "$tmp/top" interval_ns
	server "$H2" cc bolt listen "$A2" 5001 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		connect "$A2" 5001 send 5000000 mark "$tmp/up" wait "$tmp/go"
	wait "$TOP"
	let_go
	jq -s '[.[].flows[] | .rate_bps]' "$tmp/top" >"$tmp/out"
	expect_eq "at first" "$(json '"\(.[0]) \(length > 1) \(.[1:] | all(. != null and . < 1e9))"')" "null true true"
}

test_top_text() {
	setup_live
	ctl -n "$H1" top -d 0.01 -c 2
	expect_eq "status ($err)" "$status" 0
	expect_eq "looks" "$(grep -c '^subrtt top - .* 1 flows, 0 paused; 1 ports$' "$tmp/out")" 2
	expect "port" grep -qE '^eth0 +[0-9.]+[KMG]?bps +[0-9.]+%' "$tmp/out"
	expect "flow" grep -qE "^ $A1:[0-9]+ +$A2:5001 +bolt " "$tmp/out"
	expect_eq "no terminal, no commands for one" "$(grep -c $'\033' "$tmp/out")" 0
	let_go
	setup_ns H1
	ctl -n "$H1" top -c 1
	expect_eq "an empty namespace" "$status" 0
}

run_tests usage as_elsewhere flows nothing_there http http_bad handles hold dashboard top top_port top_new top_text
