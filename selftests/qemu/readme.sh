#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A clean Debian 12 with the two packages: the README's commands are run as they stand there, and
# bolt is seen on a socket, sfc on a router's port.

. ../net/lib.sh

readme=../../README.md

# The commands of section "On real machines" behind a line that has this
readme_block() {
	awk -v at="$1" '/^## / { on = /On real machines/ }
		on && index($0, at) { found = 1; next }
		found && /^    / { print; some = 1 }
		found && some && !/^    / { exit }' "$readme"
}

# sudo_lines NS WHERE [PATTERN]: what has sudo there, in that namespace
sudo_lines() {
	local ns=$1 line n=0
	while read -r line; do
		line=${line%%#*}
		n=$((n + 1))
		line=${line/\$KEY/$SWITCHKEY}
		line=${line/\$TAGKEY/${SWITCHKEY//f/0}}
		# shellcheck disable=SC2086 # words
		expect "README: $line" in_ns "$ns" ${line#sudo }
	done < <(readme_block "$2" | sed -n 's/^ *\(sudo .*\)/\1/p' | grep -E "${3:-.}")
	[ "$n" -gt 0 ] || fail "README: no commands behind \"$2\""
}

# asks COMMAND: the README's line with that command of subrtt, without sudo
asks() {
	readme_block "Diagnose the setup" | sed -nE "s/^ *(sudo )?(subrtt $1)( .*|$)/\2\3/p" | sed 's/ *#.*//'
}

# told NS COMMAND: its answer is in $tmp/COMMAND; told_on: one that goes on, until the test ends
told() {
	# shellcheck disable=SC2046 # words
	in_ns "$1" $(asks "$2") >"$tmp/$2" 2>&1
}

told_on() {
	# shellcheck disable=SC2046 # words
	spawn TOLD "$tmp/$2" in_ns "$1" $(asks "$2")
}

release=$(uname -r)

test_installed() {
	local p f m
	for p in subrtt-dkms subrtt-tools; do
		expect_eq "$p" "$(dpkg-query -W -f '${db:Status-Status}' "$p")" installed
	done
	for m in bolt_ctl tcp_bolt sch_sfc; do
		expect_eq "$m is dkms's" "$(modinfo -n "$m")" "/lib/modules/$release/updates/dkms/$m.ko"
		expect_eq "$m is for this kernel" "$(modinfo -F vermagic "$m" | cut -d' ' -f1)" "$release"
	done
	expect "tc's plugin" test -f /usr/lib/x86_64-linux-gnu/tc/q_sfc.so
	for f in man7/tcp_bolt.7 man8/tc-sfc.8 man8/subrtt.8; do
		expect "$f" gzip -t "/usr/share/man/$f.gz"
	done
	expect_eq "subrtt --version" "$(subrtt --version)" \
		"subrtt $(dpkg-query -W -f '${Version}' subrtt-tools)"
	expect "completion" bash -c '. /usr/share/bash-completion/completions/subrtt'
}

test_changes_nothing() {
	expect_none "loaded" "$(grep -E '^(tcp_bolt|sch_sfc)' /proc/modules)"
	expect_eq "default" "$(sysctl -n net.ipv4.tcp_congestion_control)" cubic
}

#	H1 eth0 -------- eth0  R  eth1 ------------- eth0 H2
#	   192.0.2.1     .254     198.51.100.254     198.51.100.1
#	                       eth9
# The names are the README's
test_readme() {
	local ns
	setup_router
	ips "$R" <<-BATCH
		link set r1 down
		link set r1 name eth0
		link set eth0 up
		link set r2 down
		link set r2 name eth1
		link set eth1 up
		link add eth9 type dummy
		link set eth9 up
		addr add 2001:db8:1::ff/64 dev eth0 nodad
		addr add 2001:db8:2::ff/64 dev eth1 nodad
	BATCH
	wait_up

	# namespaces are hosts here, and a host's modprobe is for all of them
	for ns in "$H1" "$H2"; do
		sudo_lines "$ns" "On the hosts, both ends"
		expect_eq "congestion control" \
			"$(in_ns "$ns" sysctl -n net.ipv4.tcp_congestion_control)" bolt
	done
	sudo_lines "$R" "On a Linux router, on every port"
	expect_eq "rate of the port" "$(qdisc "$R" eth1 link_rate)" $((10 * 1000 * 1000 * 1000 / 8))

	# veth has no queue to see: the port becomes one of 100 Mb/s
	expect "a slower port" in_ns "$R" tc qdisc replace dev eth1 root sfc rate 100mbit
	connect_and_look
	sfc_as_well
}

# A connection of sockets that name no congestion control
connect_and_look() {
	local bytes=4000000
	# what an emulated CPU adds to a round trip is far beyond the 8 us, and Swift takes it for a queue
	in_ns "$H1" sysctl -qw net.bolt.brownfield=0
	told_on "$H1" stats
	# a machine that boots has it from systemd
	[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing || fail "no tracefs"
	spawn TRACE "$tmp/trace" sh -c "$(readme_block "Diagnose the setup" |
		sed -n "s/^ *sudo sh -c '\(.*\)'.*/\1/p")"
	expect "tracepoints" busywait file_has /sys/kernel/tracing/events/bolt/enable 1
	server "$H2" listen "$A2" 5001 recv "$bytes" recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		connect "$A2" 5001 send "$bytes" outq mark "$tmp/sent" wait "$tmp/seen" info
	expect "all arrives" busywait test -e "$tmp/sent"
	in_ns "$H1" ss -tin dst "$A2" >"$tmp/ss"
	expect "ss names bolt" grep -qw bolt "$tmp/ss"
	told "$H1" flows
	expect "subrtt flows: one" grep -qE "^ESTAB .* $A1:[0-9]+ +$A2:5001$" "$tmp/flows"
	expect "subrtt flows: bolt" grep -qE '^\s bolt cwnd:[0-9]' "$tmp/flows"
	expect "subrtt flows: the newest SRC" grep -qE '^\s last_src:.* rate:100Mbps ' "$tmp/flows"
	touch "$tmp/seen"
	ended client "$CLIENT"
	server_done

	expect_eq "Negotiated" "$(bolt_stat "$H1" Negotiated)" 1
	expect_eq "Fallback" "$(bolt_stat "$H1" Fallback)" 0
	expect_ge "SRC heard" "$(bolt_stat "$H1" SrcRx)" 10
	expect "tc shows the port" grep -q '^qdisc sfc .* rate 100Mbit' \
		<(in_ns "$R" tc -s qdisc show dev eth1)
	expect "tc -s has the counters" grep -qE 'src_sent [1-9]' <(in_ns "$R" tc -s qdisc show dev eth1)
	expect_ge "tc -s -j: data" "$(qdisc "$R" eth1 data)" $((bytes / 1500))
	# the host's own port may send some as well
	expect_ge "SRC heard" "$(bolt_stat "$H1" CtlRx)" "$(qdisc "$R" eth1 src_sent)"
	expect "subrtt stats" busywait grep -qE '^SrcRx +[1-9]' "$tmp/stats"
	expect "tracepoints: SRC" busywait grep -q "bolt_src: .*\[::ffff:$A2\]:5001" "$tmp/trace"
	told "$R" qdisc
	expect "subrtt qdisc" grep -qE "src_sent[: ]$(qdisc "$R" eth1 src_sent)\\b" "$tmp/qdisc"
	expect_eq "subrtt -j qdisc has the same" \
		"$(in_ns "$R" subrtt -j qdisc eth1 | jq '.[0].sfc.src_sent')" "$(qdisc "$R" eth1 src_sent)"
}

sfc_as_well() {
	local where="Source Flow Control is off by default"
	sudo_lines "$R" "$where" 'dev eth[19] '
	sudo_lines "$H1" "$where" 'dev eth0 |net\.bolt'
	expect_eq "SFC at the host" "$(in_ns "$H1" sysctl -n net.bolt.sfc)" 1
	expect_eq "hold" "$(in_ns "$H1" tc -j qdisc show dev eth0 | jq -r '.[0].kind')" sfc_hold
	expect_eq "its key" "$(in_ns "$H1" tc -s -j qdisc show dev eth0 | jq '.[0].tagged')" 1
	expect_eq "edge" "$(qdisc "$R" eth1 edge)" true
	expect_eq "cache" "$(qdisc "$R" eth9 cache)" true
	# 0: all is well; 5: something that this network of veths lacks
	told "$R" doctor || expect_eq "subrtt doctor at the router" $? 5
	expect "subrtt doctor: the module" grep -qE '^ok +module +sch_sfc is loaded$' "$tmp/doctor"
	expect "subrtt doctor: the plugin" grep -qE '^ok +tc +tc knows sfc$' "$tmp/doctor"
	told "$H1" doctor || expect_eq "subrtt doctor at the host" $? 5
	expect "subrtt doctor: the host" grep -qE '^ok +module +tcp_bolt is loaded$' "$tmp/doctor"
}

# Every setting there is has its paragraph in the page that came with it
test_pages() {
	local name n=0
	modprobe tcp_bolt
	for name in $(cd /proc/sys && find net/bolt -type f | tr / .); do
		n=$((n + 1))
		expect "tcp_bolt(7) on $name" grep -q "^\.BR ${name//./\\.} " \
			<(zcat /usr/share/man/man7/tcp_bolt.7.gz)
	done
	expect_ge "settings" "$n" 20
}

# Copied as the documentation says, with every line that is commented out as well
test_examples() {
	local at=/usr/share/doc/subrtt-tools/examples m
	setup_ns H1
	while read -r m; do
		expect "modules-load.d: $m" modprobe "$m"
	done < <(sed -n 's/^#\{0,1\}\([a-z_]*\)$/\1/p' "$at"/modules-load.d/bolt.conf)
	sed 's/^#\(net\.\)/\1/' "$at"/sysctl.d/60-bolt.conf >"$tmp/sysctl"
	expect "sysctl.d" in_ns "$H1" sysctl -p "$tmp/sysctl"
	expect_eq "base_rtt_ns" "$(in_ns "$H1" sysctl -n net.bolt.base_rtt_ns)" 8000
	expect_eq "sfc" "$(in_ns "$H1" sysctl -n net.bolt.sfc)" 1
}

run_tests installed changes_nothing readme pages examples
