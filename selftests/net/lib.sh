# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the network tests share: results in KTAP, cleanup, polling, namespaces.
#
# A test file defines functions test_NAME, each for one behaviour, and ends with
# `run_tests NAME...`.  A function asserts by expect and the functions like it, and goes on after a
# failure; what it has deferred is undone when it returns.  No test sleeps and hopes that something
# has happened by then: busywait polls.
#
# A test passes if it has asserted something and nothing has failed.  Assertions and failures are
# written to a file, so that those of subshells and pipes count.  A command that does not exist is a
# failure, and so is an error that ends a subshell early.  What a test prints to stderr is shown at
# its end.

set -u
PATH=$PATH:/usr/sbin:/sbin
LC_ALL=C
export LC_ALL

: "${BOLT_PROGRAMS:?directory of bolt_xfer and bolt_sniff (make -C selftests programs)}"
BUSYWAIT_MS=${BUSYWAIT_MS:-20000}

tmp=$(mktemp -d /tmp/bolt-test.XXXXXX)
deferred=()
book=$tmp/.book		# of the test that runs: "+", "! WHY", "skip WHY"
errors=$tmp/.errors	# its stderr
# an error that ends a shell
SHELL_ERROR=': line [0-9]+: .*(unbound variable|syntax error|division by 0|bad (subst|array)|value too great|(null|not) (or not )?set)'
: >"$book"
: >"$errors"

# --- results ---

say() {
	echo "    # $*"
}

fail() {
	echo "! ${FUNCNAME[2]-}: ${*//$'\n'/ | }" >>"$book"
}

# asserted ARGUMENTS WANTED: one more of the caller's kind, which wants so many
asserted() {
	echo + >>"$book"
	[ "$1" = "$2" ] && return
	fail "${FUNCNAME[1]}: $1 arguments, not $2"
	return 1
}

command_not_found_handle() {
	fail "there is no command '$1'"
	return 127
}

# expect WHAT COMMAND...: it must succeed
expect() {
	local what=$1 out
	echo + >>"$book"
	shift
	if out=$("$@" 2>&1); then
		[[ ! $out =~ $SHELL_ERROR ]] || fail "$what: $out"
		return 0
	fi
	fail "$what: failed: $* ${out:+($out)}"
	return 1
}

# expect_fail WHAT PATTERN COMMAND...: it must fail, and say PATTERN (extended regexp)
expect_fail() {
	local what=$1 pattern=$2 out status=0
	echo + >>"$book"
	shift 2
	out=$("$@" 2>&1) || status=$?
	if [ $status = 0 ]; then
		fail "$what: succeeded: $*"
	elif [ $status = 127 ]; then
		fail "$what: could not be run: $*: $out"
	elif [ -z "$pattern" ] || ! grep -qE -- "$pattern" <<<"$out"; then
		fail "$what: said '$out', not '$pattern'"
	fi
}

# expect_eq WHAT VALUE WANTED: nothing is equal to nothing
expect_eq() {
	asserted $# 3 || return
	[ -n "$3" ] || fail "$1: nothing to compare '$2' with"
	[ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# expect_none WHAT "$(COMMAND)": there is none, and that is right; grep's status is then 1
expect_none() {
	local status=$?
	asserted $# 2 || return
	[ -z "$2" ] || fail "$1: $2"
	[ $status -le 1 ] || fail "$1: status $status"
}

# expect_on_time WHAT VALUE WANTED: where time is real, a CPU that stands still has TCP send again;
# expect_arrived tells that from a loss
expect_on_time() {
	[ -n "${BOLT_REAL_TIME:-}" ] || expect_eq "$@"
}

# expect_arrived: what the client's and the server's TCP sent, the other's received (info of both),
# and so nothing was lost, however often it was sent
expect_arrived() {
	expect_eq "data segments that the server received" "$(info "$tmp/server" data_segs_in)" \
		"$(info "$tmp/client" data_segs_out)"
	expect_eq "data segments that the client received" "$(info "$tmp/client" data_segs_in)" \
		"$(info "$tmp/server" data_segs_out)"
}

# expect_ne WHAT VALUE OTHER: there is a value, another
expect_ne() {
	asserted $# 3 || return
	[ -n "$2" ] || fail "$1: none"
	[ -n "$3" ] || fail "$1: nothing to compare '$2' with"
	[ "$2" != "$3" ] || fail "$1: $2"
}

expect_ge() {
	asserted $# 3 || return
	[ "${2:--1}" -ge "$3" ] || fail "$1: $2, less than $3"
}

expect_le() {
	asserted $# 3 || return
	[ "${2:-999999999999}" -le "$3" ] || fail "$1: $2, more than $3"
}

skip() {
	echo "skip $*" >>"$book"
}

# --- cleanup ---

defer() {
	deferred+=("$(printf '%q ' "$@")")
}

undo() {
	local i
	for ((i = ${#deferred[@]} - 1; i >= 0; i--)); do
		eval "${deferred[i]}" >/dev/null 2>&1
	done
	deferred=()
}

# sed would leave out a newline that is not there
show_errors() {
	awk '{ print "    # " $0 }' "$errors"
}

finish() {
	undo
	# of a test that did not come to its end
	sed -n 's/^! /    # /p' "$book"
	show_errors
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM

# run_tests NAME... [also NAME...]: every test_NAME that there is; behind "also", more rows of what is
# held by those before it: the gate, which sets BOLT_CHECK_ONCE, leaves them to check-long.  Of BOLT_CHECK_ROWS
# those alone
run_tests() {
	local n=0 bad=0 t all=" $* "
	local -a tests
	[ -z "${BOLT_CHECK_ONCE:-}" ] || all=${all%% also *}
	read -ra tests <<<"${BOLT_CHECK_ROWS:-${all/ also / }}"
	echo "KTAP version 1"
	echo "1..${#tests[@]}"
	for t in "${tests[@]}"; do
		n=$((n + 1))
		: >"$book"
		if declare -F "test_$t" >/dev/null; then
			"test_$t" 2>"$errors"
			undo
		fi
		show_errors
		! grep -qE "$SHELL_ERROR" "$errors" || echo "! an error of the shell" >>"$book"
		: >"$errors"
		grep -q '^[+s]' "$book" || echo "! nothing is asserted" >>"$book"
		sed -n 's/^! /    # /p' "$book" | uniq
		if grep -q '^!' "$book"; then
			bad=1
			echo "not ok $n $t"
		elif grep -q '^skip' "$book"; then
			echo "ok $n $t # SKIP $(sed -n 's/^skip //p' "$book")"
		else
			echo "ok $n $t"
		fi
	done
	: >"$book"
	while read -r t; do
		[[ " $* " = *" $t "* ]] || { bad=1 && say "$t is in no list of tests"; }
	done < <(sed -nE 's/^test_([a-z0-9_]+)\(\).*/\1/p' "$0")
	exit $bad
}

# --- polling ---

# busywait COMMAND...: until it succeeds, BUSYWAIT_MS at most; ever more seldom, since what
# does not come at once comes late, and a look is dear in a guest whose time is virtual
busywait() {
	local waited=0 step=10
	while ! "$@" >/dev/null 2>&1; do
		[ "$waited" -lt "$BUSYWAIT_MS" ] || return 1
		sleep "$((step / 1000)).$(printf '%03d' $((step % 1000)))"
		waited=$((waited + step))
		step=$((step + step / 4))
	done
}

file_has() {
	grep -q -- "$2" "$1"
}

# --- namespaces ---

in_ns() {
	local ns=$1
	shift
	${spawning:+exec} nsenter --net="/run/netns/$ns" -- "$@"
}

# setup_ns VAR...: a fresh namespace each, its name in VAR; IPv6 says what it says at once, so
# that no report or solicitation gets between counted packets.  What falls back becomes reno, and
# Fallback counts it.  A veth tells no speed: 10 Gb/s
setup_ns() {
	local var ns
	for var; do
		printf -v ns '%s-%04x%04x' "${var,,}" $RANDOM $RANDOM
		ip netns add "$ns" || exit 1
		defer ip netns del "$ns"
		printf -v "$var" '%s' "$ns"
		in_ns "$ns" bash -c 'ip link set lo up
			echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
			cd /proc/sys/net/ipv6/conf/default
			echo 0 >accept_dad
			echo 0 >router_solicitations
			echo 1 >mldv2_unsolicited_report_interval
			echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save
			if [ -e /proc/sys/net/bolt/fallback ]; then
				echo reno >/proc/sys/net/bolt/fallback
				echo 10000 >/proc/sys/net/bolt/rate_mbps
			fi'
	done
}

# ips NS: commands for ip(8) on stdin
ips() {
	ip -n "$1" -batch - || fail "ip commands in $1"
}

# addr NS DEV ADDR4/LEN ADDR6/LEN [ROUTER4 ROUTER6]
addr() {
	ips "$1" <<-BATCH
		addr add $3 dev $2
		addr add $4 dev $2 nodad
		link set $2 up
		${5:+route add default via $5}
		${6:+route add default via $6}
	BATCH
}

#	H1 eth0 ----------- eth0 H2
#	   192.0.2.1        192.0.2.2
#	   2001:db8::1      2001:db8::2
setup_pair() {
	setup_ns H1 H2
	ip link add name eth0 netns "$H1" type veth peer name eth0 netns "$H2"
	addr "$H1" eth0 192.0.2.1/24 2001:db8::1/64
	addr "$H2" eth0 192.0.2.2/24 2001:db8::2/64
	# shellcheck disable=SC2034 # for the tests
	A1=192.0.2.1 A2=192.0.2.2 B1=2001:db8::1 B2=2001:db8::2
	R=
	wait_up
}

# forward NS: it is a router
forward() {
	in_ns "$1" bash -c 'echo 1 >/proc/sys/net/ipv4/ip_forward
		echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
}

#	H1 eth0 ----------- r1  R  r2 ------------ eth0 H2
#	   192.0.2.1      .254     198.51.100.254  198.51.100.1
#	   2001:db8:1::1     ::ff  2001:db8:2::ff  2001:db8:2::1
setup_router() {
	setup_ns H1 R H2
	ip link add name eth0 netns "$H1" type veth peer name r1 netns "$R"
	ip link add name r2 netns "$R" type veth peer name eth0 netns "$H2"
	addr "$R" r1 192.0.2.254/24 2001:db8:1::ff/64
	addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
	forward "$R"
	addr "$H1" eth0 192.0.2.1/24 2001:db8:1::1/64 192.0.2.254 2001:db8:1::ff
	addr "$H2" eth0 198.51.100.1/24 2001:db8:2::1/64 198.51.100.254 2001:db8:2::ff
	# shellcheck disable=SC2034 # for the tests
	A1=192.0.2.1 A2=198.51.100.1 B1=2001:db8:1::1 B2=2001:db8:2::1
	wait_up
}

# Behind setup_router: a VLAN on top of r2 and of H2's device, in which H2 is 203.0.113.1
add_vlan() {
	expect "VLAN at R" ip -n "$R" link add link r2 name r2.5 type vlan id 5
	expect "VLAN at H2" ip -n "$H2" link add link eth0 name eth0.5 type vlan id 5
	addr "$R" r2.5 203.0.113.254/24 2001:db8:5::ff/64
	addr "$H2" eth0.5 203.0.113.1/24 2001:db8:5::1/64
	expect "neighbour" busywait refused 203.0.113.1
}

# setup_two_routers ADDRESS: of H1; two switches on the way
#
#	H1 ---- r1  R  r2 ---- s1  S  s2 ---- H2
setup_two_routers() {
	setup_ns H1 R S H2
	ip link add name eth0 netns "$H1" type veth peer name r1 netns "$R"
	ip link add name r2 netns "$R" type veth peer name s1 netns "$S"
	ip link add name s2 netns "$S" type veth peer name eth0 netns "$H2"
	addr "$R" r1 192.0.2.254/24 2001:db8:1::ff/64
	addr "$R" r2 203.0.113.1/24 2001:db8:3::1/64 203.0.113.2
	addr "$S" s1 203.0.113.2/24 2001:db8:3::2/64 203.0.113.1
	addr "$S" s2 198.51.100.254/24 2001:db8:2::ff/64
	in_ns "$R" sysctl -qw net.ipv4.ip_forward=1
	in_ns "$S" sysctl -qw net.ipv4.ip_forward=1
	addr "$H1" eth0 "$1" 2001:db8:1::7/64 192.0.2.254
	addr "$H2" eth0 198.51.100.1/24 2001:db8:2::1/64 198.51.100.254
	# shellcheck disable=SC2034 # for the tests
	A2=198.51.100.1
}

# setup_crafted PORT: a router, and at H1 192.0.2.7 and 2001:db8:1::7 for crafted segments, which H2
# does not answer; H1 hears control messages, so that no ICMP joins a queue
setup_crafted() {
	setup_router
	addr "$H1" eth0 192.0.2.7/24 2001:db8:1::7/64
	ip -n "$H2" route add blackhole 192.0.2.7/32
	ip -n "$H2" -6 route add blackhole 2001:db8:1::7/128
	in_ns "$H1" sysctl -qw net.bolt.port="$1"
	# bolt's first connection opens it
	in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 9 >/dev/null 2>&1
	expect "control port" busywait listens "$H1" "$1"
}

# vrf NS DEV...: the devices belong to one; their addresses stay
vrf() {
	local ns=$1 dev
	shift
	ip -n "$ns" link add red type vrf table 10
	ip -n "$ns" link set red up
	# a new master flushes the addresses of IPv6, which are kept over a device that goes down
	in_ns "$ns" sysctl -qw net.ipv6.conf.all.keep_addr_on_down=1
	for dev; do
		in_ns "$ns" sysctl -qw net.ipv6.conf."$dev".keep_addr_on_down=1
		ip -n "$ns" link set "$dev" master red
	done
}

# Behind setup_router, two tenants: H1 and H2 are in a VRF of R's, and OTHER is not, on R's r3
setup_vrf() {
	vrf "$R" r1 r2
	setup_ns OTHER
	ip link add name eth0 netns "$OTHER" type veth peer name r3 netns "$R"
	addr "$R" r3 203.0.113.254/24 2001:db8:3::ff/64
	addr "$OTHER" eth0 203.0.113.7/24 2001:db8:3::7/64 203.0.113.254 2001:db8:3::ff
}

# listens NS PORT: somebody does, to UDP
listens() {
	in_ns "$1" ss -Hlnu | grep -q ":$2"
}

# Carrier and neighbours are settled before anything is counted, and nothing is on its way
wait_up() {
	local said ns
	said=$("$BOLT_PROGRAMS/bolt_settle" -c "$A2" -c "$B2" "/run/netns/$H1" ${R:+"/run/netns/$R"} \
		"/run/netns/$H2" 2>&1) || say "setup: $said"
	# the first SYN may have waited for a neighbour's address until it was repeated
	for ns in "$H1" "$H2"; do
		in_ns "$ns" env NSTAT_HISTORY="$tmp/nstat-$ns" nstat -n
	done
}

# refused ADDR: a closed port of it answers
refused() {
	in_ns "$H1" timeout 1 "$BOLT_PROGRAMS/bolt_xfer" connect "$1" 9 2>&1 | grep -q refused
}

# forget_orphans NS...: a socket that nobody owns, whose peer is out of reach, gives up after one
# try: until then it keeps its namespace and the module of its congestion control
forget_orphans() {
	local ns
	for ns; do
		in_ns "$ns" sysctl -qw net.ipv4.tcp_orphan_retries=1
	done
}

# offload NS DEV on|off: TSO, GSO, GRO and checksums
offload() {
	in_ns "$1" ethtool -K "$2" tso "$3" gso "$3" gro "$3" tx "$3" rx "$3" \
		tx-udp-segmentation "$3" >/dev/null || fail "ethtool -K $2"
	expect_ge "$2: features that are $3" "$(in_ns "$1" ethtool -k "$2" |
		grep -cE "^([rt]x-checksumming|generic-(segmentation|receive)-offload|\s*tx-(tcp|udp)-segmentation): $3")" 6
}

# --- programs ---

# spawn VAR LOG COMMAND...: in the background; its pid in VAR, its output in LOG
spawn() {
	local var=$1 log=$2
	shift 2
	# exec: the pid is the program's own, not a shell's
	(spawning=1 && "$@") >"$log" 2>&1 &
	printf -v "$var" '%s' $!
	defer kill $!
}

# server NS WORDS...: bolt_xfer that listens; its pid in SERVER, its output in $tmp/server
server() {
	local ns=$1
	shift
	spawn SERVER "$tmp/server" in_ns "$ns" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" "$@"
	busywait file_has "$tmp/server" listening || fail "server: $(cat "$tmp/server")"
}

# client NS WORDS...: bolt_xfer that connects, to its end; its output in $tmp/client
client() {
	local ns=$1
	echo + >>"$book"
	shift
	in_ns "$ns" timeout 120 "$BOLT_PROGRAMS/bolt_xfer" "$@" >"$tmp/client" 2>&1 ||
		fail "client: $(cat "$tmp/client")"
}

# ended NAME PID: a program has come to its end, and well; its output is $tmp/NAME
ended() {
	echo + >>"$book"
	wait "$2" || fail "$1: $(cat "$tmp/$1")"
}

server_done() {
	ended server "$SERVER"
}

# serve_races CC: bolt_race takes connections on H2; its output in $tmp/server
serve_races() {
	spawn SERVER "$tmp/server" in_ns "$H2" "$BOLT_PROGRAMS/bolt_race" serve "$A2" 5001 cc "$1"
	busywait file_has "$tmp/server" listening || fail "server: $(cat "$tmp/server")"
}

# begin_races WORDS...: connections from H1, one after the other; its output in $tmp/work
begin_races() {
	rm -f "$tmp/enough"
	spawn WORK "$tmp/work" in_ns "$H1" timeout 500 "$BOLT_PROGRAMS/bolt_race" work "$A2" 5001 \
		until "$tmp/enough" "$@"
}

# end_races: the last ones end, then the server, both well
end_races() {
	touch "$tmp/enough"
	ended work "$WORK"
	kill "$SERVER"
	ended server "$SERVER"
}

# info FILE NAME: a value of the last "info" line
info() {
	sed -n "s/^info .*\\b$2=\\([^ ]*\\).*/\\1/p" "$1" | tail -1
}

# sniff NS DEV [plain]: capture until sniffed, into $tmp/sniff.DEV and, under a name that
# tells hosts apart, $tmp/sniff.DEV.h1 and so on
sniff() {
	local ns=$1 log
	shift
	log=$tmp/sniff.$1
	spawn SNIFF "$log.${ns%%-*}" in_ns "$ns" "$BOLT_PROGRAMS/bolt_sniff" "$@"
	ln -sf "$log.${ns%%-*}" "$log"
	busywait file_has "$log" ready || fail "sniff: $(cat "$log")"
	sniffers+=("$SNIFF")
}
sniffers=()

sniffed() {
	local pid
	for pid in "${sniffers[@]}"; do
		kill -TERM "$pid"
		wait "$pid" || fail "bolt_sniff failed"
	done
	sniffers=()
}

# packets DEV [PATTERN...]: how many captured lines match all the extended regexps
packets() {
	local log=$tmp/sniff.$1 some='' last
	shift
	[ $# -gt 0 ] || set -- ''
	[ $# -eq 1 ] || printf -v some 'grep -E -- %q | ' "${@:1:$#-1}"
	printf -v last %q "${!#}"
	eval "${some}grep -cE -- $last" <"$log"
}

# transfer_through CC BYTES NETEM...: so many each way with this on both devices, once the
# connection is there (a handshake that loses packets may fall back)
transfer_through() {
	local cc=$1 bytes=$2
	shift 2
	server "$H2" cc "$cc" listen "$A2" 5001 recv "$bytes" send "$bytes" recv-eof info
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc "$cc" connect "$A2" 5001 mark "$tmp/up" wait "$tmp/go" \
		send "$bytes" recv "$bytes" outq info
	expect "connected" busywait test -e "$tmp/up"
	expect "netem" in_ns "$H1" tc qdisc replace dev eth0 root netem limit 10000 "$@"
	expect "netem" in_ns "$H2" tc qdisc replace dev eth0 root netem limit 10000 "$@"
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	rm "$tmp/up" "$tmp/go"
	expect_eq "client's congestion control" "$(info "$tmp/client" cc)" "$cc"
	expect_eq "checksum errors" "$(stack "$H2" TcpInCsumErrors)" 0
	expect_eq "OptBad" "$(bolt_stat "$H2" OptBad)" 0
}

BYTES=1000000

# upload: BYTES from H1 to H2, which is TO for H1, and LISTEN for itself, instead of A2
upload() {
	server "$H2" cc bolt listen "${LISTEN:-$A2}" 5001 recv "$BYTES" recv-eof info
	client "$H1" cc bolt connect "${TO:-$A2}" 5001 send "$BYTES" outq info
	server_done
	intact
}

# download: ... from H2 to H1, who has connected
download() {
	server "$H2" cc bolt listen "${LISTEN:-$A2}" 5001 send "$BYTES" outq info
	client "$H1" cc bolt connect "${TO:-$A2}" 5001 recv "$BYTES" recv-eof info
	server_done
	intact
}

# --- settings ---

# of R, which most ports belong to
tc_() {
	in_ns "$R" tc "$@"
}

mac() {
	ip -n "$1" -j link show dev "$2" | jq -r '.[0].address'
}

load() {
	[ -d "/sys/module/$1" ] && return
	if [ -f "${BOLT_MODULES:-}/$1.ko" ]; then
		insmod "$BOLT_MODULES/$1.ko"
	else
		modprobe "$1"
	fi
}

# sysctl_refuses NS NAME BAD...: and nothing changes
sysctl_refuses() {
	local ns=$1 name=$2 before value
	shift 2
	before=$(in_ns "$ns" sysctl -n "$name")
	for value; do
		expect_fail "$name=$value" 'nvalid argument|too large|out of range' \
			in_ns "$ns" sysctl -w "$name=$value"
		expect_eq "$name after $value" "$(in_ns "$ns" sysctl -n "$name")" "$before"
	done
}

# --- counters ---

# bolt_stat NS NAME
bolt_stat() {
	in_ns "$1" sed -n "s/^$2 //p" /proc/net/bolt_stat
}

# stat_is NS NAME VALUE: for busywait
stat_is() {
	[ "$(bolt_stat "$1" "$2")" = "$3" ]
}

# A hundred more packets leave the router by r2, whatever its qdisc
passes() {
	local before
	before=$(tx_packets r2)
	busywait passed r2 $((before + 100))
}

# passed DEV N: for busywait
passed() {
	[ "$(tx_packets "$1")" -gt "$2" ]
}

tx_packets() {
	ip -n "$R" -j -s link show dev "$1" | jq '.[0].stats64.tx.packets'
}

# timeouts N: H1 has had so many
timeouts() {
	[ "$(bolt_stat "$H1" RtoDec)" -ge "$1" ]
}

# of H1's connection to port 5001
cwnd_now() {
	in_ns "$H1" ss -Htni 'dport = :5001' | grep -oE 'cwnd:[0-9]+' | cut -d: -f2
}

# bolt_stats_save NS; bolt_stats_diff NS: NAME=CHANGE of each that moved, in order
bolt_stats_save() {
	in_ns "$1" sed '/Now /d' /proc/net/bolt_stat >"$tmp/stat.$1" || fail "no counters of $1"
}

bolt_stats_diff() {
	in_ns "$1" sed '/Now /d' /proc/net/bolt_stat >"$tmp/stat" || return 2
	awk 'NR == FNR { old[$1] = $2; next } $2 != old[$1] { print $1 "=" $2 - old[$1] }' \
		"$tmp/stat.$1" "$tmp/stat"
}

# stack NS NAME: a counter of the stack, TcpInCsumErrors for instance
stack() {
	in_ns "$1" env NSTAT_HISTORY="$tmp/nstat-$1" nstat -sz "$2" 2>/dev/null | awk -v n="$2" '$1 == n { print $2 }'
}

# bolt_both COUNTER...: H1 and H2 speak it, and nothing odd was seen; these counters have not moved either
bolt_both() {
	local ns counter
	for ns in "$H1" "$H2"; do
		expect_eq "$ns Negotiated" "$(bolt_stat "$ns" Negotiated)" 1
		for counter in Fallback OptBad OptUnexpected OptNoRoom OptNoMem "$@"; do
			expect_eq "$ns $counter" "$(bolt_stat "$ns" "$counter")" 0
		done
		expect_eq "$ns checksum errors" "$(stack "$ns" TcpInCsumErrors)" 0
	done
}

# unharmed: H1 and H2 spoke bolt to the end, and every packet that arrived was as it had been sent
unharmed() {
	local ns
	expect_eq "client" "$(info "$tmp/client" cc)" bolt
	expect_eq "server" "$(info "$tmp/server" cc)" bolt
	for ns in "$H1" "$H2"; do
		expect_eq "$ns checksum errors" "$(stack "$ns" TcpInCsumErrors)" 0
		expect_eq "$ns FallbackLate" "$(bolt_stat "$ns" FallbackLate)" 0
		expect_eq "$ns OptBad" "$(bolt_stat "$ns" OptBad)" 0
	done
}

# intact: ... and nothing was lost, nor cut up: the option has its place in the MSS, a tunnel its own
intact() {
	local ns
	unharmed
	for ns in "$H1" "$R" "$H2"; do
		expect_eq "$ns timeouts" "$(stack "$ns" TcpExtTCPTimeouts)" 0
		expect_eq "$ns fragments" "$(stack "$ns" IpFragCreates)" 0
		expect_eq "$ns fragments of IPv6" "$(stack "$ns" Ip6FragCreates)" 0
	done
}

# qdisc NS DEV NAME [KIND]: a value of tc's JSON, options and statistics alike
qdisc() {
	in_ns "$1" tc -j -s qdisc show dev "$2" |
		jq -rc --arg n "$3" --arg k "${4:-sfc}" \
			'[.[] | select(.kind == $k)][0] | (. + (.options // {}))[$n]'
}

# counters NS DEV NAME=VALUE...: all of them with one look at tc's JSON
counters() {
	local ns=$1 dev=$2 all c
	echo + >>"$book"
	shift 2
	all=$(in_ns "$ns" tc -j -s qdisc show dev "$dev" |
		jq -r '[.[] | select(.kind == "sfc")][0] | (. + (.options // {})) |
			to_entries[] | "\(.key)=\(.value)"')
	for c; do
		[[ $'\n'$all$'\n' == *$'\n'"$c"$'\n'* ]] ||
			fail "$(grep "^${c%%=*}=" <<<"$all"), not ${c#*=}"
	done
}

# src_heard WHO NS DEV: WHO took each SRC of the port for what it is
src_heard() {
	local sent
	sent=$(qdisc "$2" "$3" src_sent)
	expect_ge "SRC sent" "$sent" 10
	counters "$2" "$3" msg_limited=0 msg_nomem=0 msg_dropped=0 msg_unfit=0 mark_failed=0 \
		opt_bad=0 drops=0
	expect_eq "CtlRx" "$(bolt_stat "$1" CtlRx)" "$sent"
	expect_eq "SrcRx" "$(bolt_stat "$1" SrcRx)" "$sent"
	expect_ge "SrcDec" "$(bolt_stat "$1" SrcDec)" 1
}

# qdisc_is NS DEV NAME VALUE [KIND]: for busywait; of sfc unless KIND says another
qdisc_is() {
	[ "$(qdisc "$1" "$2" "$3" "${5:-}")" = "$4" ]
}

# What switches share and hosts do not know: "cache" needs it, and bolt_inject tags with it
# shellcheck disable=SC2034 # of tests
SWITCHKEY=f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff

# inject NS WORDS...: see bolt_inject.c
inject() {
	local ns=$1
	shift
	in_ns "$ns" "$BOLT_PROGRAMS/bolt_inject" "$@" || fail "inject $*"
}

# take_port NS PORT: somebody else's UDP socket is bound to it, from here on
take_port() {
	local pid
	spawn pid "$tmp/taken.$2" in_ns "$1" python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", int(sys.argv[1])))
print("bound", flush=True)
time.sleep(1000)' "$2"
	busywait file_has "$tmp/taken.$2" bound
}
