#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A container without privilege: the user namespace and network namespace of an unprivileged user.
# It may select bolt, add sfc, and set what is its own.  Nothing of this may be seen outside,
# nothing outside may be its own, and it may neither load a module nor leave anything behind.
#
#	container eth0 ----------- eth0 H2
#	          192.0.2.1        192.0.2.2
#	                 H3: another host

. "$(dirname "$0")/lib.sh"

ANYBODY=(setpriv --reuid 1000 --regid 1000 --clear-groups)
programs=$tmp/programs
plugin=${TC_LIB_DIR:+$TC_LIB_DIR/q_sfc.so}

# user COMMAND...: of nobody in particular, who cannot look into root's directories
user() {
	# shellcheck disable=SC2031 # the pid is the program's own, where spawn calls
	${spawning:+exec} "${ANYBODY[@]}" -- "$@"
}

# inside COMMAND...: by the container's own root
inside() {
	"${ANYBODY[@]}" -- nsenter --preserve-credentials --user --net \
		--target "$CONTAINER" -- "$@"
}

# Another user namespace than ours, with its uid map, and the program that holds it
entered() {
	[ "$(readlink "/proc/$CONTAINER/ns/user")" != "$(readlink /proc/self/ns/user)" ] &&
		[ "$(inside id -u)" = 0 ]
}

setup_container() {
	setup_ns H2 H3
	mkdir -p "$programs"
	chmod 755 "$tmp" "$programs"
	cp "$BOLT_PROGRAMS"/bolt_{xfer,inject} "$programs"
	[ -z "$plugin" ] || { cp "$plugin" "$programs" && TC_LIB_DIR=$programs; }
	spawn CONTAINER "$tmp/container" user unshare --user --map-root-user --net sleep 100000
	busywait entered || fail "no container: $(cat "$tmp/container")"
	ip link add name eth0 netns "$CONTAINER" type veth peer name eth0 netns "$H2"
	addr "$H2" eth0 192.0.2.2/24 2001:db8::2/64
	inside ip -batch - <<-BATCH || fail "the container's addresses"
		link set lo up
		addr add 192.0.2.1/24 dev eth0
		link set eth0 up
	BATCH
	expect "192.0.2.2 is there" busywait answers
}

answers() {
	inside timeout 1 "$programs/bolt_xfer" connect 192.0.2.2 9 2>&1 | grep -q refused
}

# Each setting and each counter that others see
elsewhere() {
	local ns
	for ns in "$H2" "$H3"; do
		in_ns "$ns" grep -r . /proc/sys/net/bolt /proc/sys/net/ipv4/tcp_congestion_control
	done
	grep -r . /proc/sys/net/bolt /proc/sys/net/ipv4/tcp_congestion_control
}

transfer() {
	server "$H2" cc bolt listen 192.0.2.2 5001 recv 100000 recv-eof
	inside timeout 120 "$programs/bolt_xfer" "$@" connect 192.0.2.2 5001 send 100000 outq info \
		>"$tmp/client" 2>&1 || fail "client: $(cat "$tmp/client")"
	server_done
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
}

inside_stat() {
	inside sed -n "s/^$1 //p" /proc/net/bolt_stat
}

test_selects() {
	setup_container
	transfer cc bolt
	expect_eq "Negotiated" "$(inside_stat Negotiated)" 1
	# as the container's default, without a word of the program
	expect "default" inside sysctl -w net.ipv4.tcp_congestion_control=bolt
	transfer
	expect_eq "Negotiated" "$(inside_stat Negotiated)" 2
	expect_eq "default of H2" "$(in_ns "$H2" sysctl -n net.ipv4.tcp_congestion_control)" \
		"$(sysctl -n net.ipv4.tcp_congestion_control)"
}

# A user without a namespace of his own: may select, may not set
test_user_of_a_host() {
	local name
	setup_container
	server "$H2" cc bolt listen 192.0.2.2 5001 recv 1000 recv-eof
	in_ns "$H2" "${ANYBODY[@]}" "$programs/bolt_xfer" cc bolt connect 192.0.2.2 5001 send 1000 \
		outq info >"$tmp/client" 2>&1 || fail "client: $(cat "$tmp/client")"
	server_done
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
	# counters of refusals would tell who guesses how near he is
	expect_fail "counters" 'not permitted' in_ns "$H2" "${ANYBODY[@]}" cat /proc/net/bolt_stat
	expect "counters, for root" in_ns "$H2" cat /proc/net/bolt_stat
	for name in port base_rtt_ns sfc tag_key swift_base_ns; do
		expect_fail "$name" 'ermission denied' in_ns "$H2" "${ANYBODY[@]}" \
			sysctl -w "net.bolt.$name=1"
	done
	expect_fail "the key is read" 'ermission denied' in_ns "$H2" "${ANYBODY[@]}" \
		cat /proc/sys/net/bolt/tag_key
	expect_fail "sfc" 'not permitted' in_ns "$H2" "${ANYBODY[@]}" tc qdisc add dev eth0 root sfc
}

# Every setting there is, changed by the container's root: there, and nowhere else
test_settings_are_its_own() {
	local name old new n=0
	sysctl -qw net.bolt.base_rtt_ns=77
	defer sysctl -qw net.bolt.base_rtt_ns=0
	setup_container
	expect_eq "begins with" "$(inside sysctl -n net.bolt.base_rtt_ns)" 0
	elsewhere >"$tmp/before"
	while read -r name; do
		old=$(inside sysctl -n "net.bolt.$name")
		if [ "$name" = tag_key ]; then
			new=000102030405060708090a0b0c0d0e0f
		elif [ "$name" = fallback ]; then
			new=reno
		elif inside sysctl -qw "net.bolt.$name=$((old + 1))" 2>/dev/null; then
			new=$((old + 1))
		else
			new=$((old - 1))
		fi
		expect "$name=$new" inside sysctl -w "net.bolt.$name=$new"
		[ "$name" != tag_key ] || new="set"
		expect_eq "$name" "$(inside sysctl -n "net.bolt.$name")" "$new"
		# sfc, which comes later, needs them
		[ "$name" != hooks ] || inside sysctl -qw net.bolt.hooks=1
		n=$((n + 1))
	done < <(find /proc/sys/net/bolt -type f -printf "%P\n" | tr / .)
	expect_ge "settings" "$n" 25
	elsewhere >"$tmp/after"
	expect_none "seen elsewhere" "$(diff "$tmp/before" "$tmp/after")"
}

# Its host's namespaces are out of its reach
test_not_its_hosts() {
	setup_container
	expect_fail "entering H3" 'not permitted|ermission denied' \
		inside nsenter --net="/run/netns/$H3" true
	expect_fail "the first namespace" 'not permitted|ermission denied' \
		inside nsenter --net=/proc/1/ns/net true
}

test_counters_are_its_own() {
	setup_container
	bolt_stats_save "$H3"
	cat /proc/net/bolt_stat >"$tmp/own"
	transfer cc bolt
	expect_ge "OptTx" "$(inside_stat OptTx)" 10
	expect_none "in H3" "$(bolt_stats_diff "$H3")"
	expect_none "in the first namespace" "$(diff "$tmp/own" /proc/net/bolt_stat)"
	# what is there now is counted where it is
	mkdir -m 777 "$tmp/user"
	server "$H2" cc bolt listen 192.0.2.2 5001 recv 100000 recv-eof
	spawn CLIENT "$tmp/client" inside timeout 120 "$programs/bolt_xfer" cc bolt \
		connect 192.0.2.2 5001 send 100000 outq mark "$tmp/user/sent" wait "$tmp/user/close"
	expect "sent" busywait test -e "$tmp/user/sent"
	expect_eq "flows inside, in H2, in H3" \
		"$(inside_stat FlowsNow) $(bolt_stat "$H2" FlowsNow) $(bolt_stat "$H3" FlowsNow)" "1 1 0"
	expect_eq "in the first namespace" "$(sed -n 's/^FlowsNow //p' /proc/net/bolt_stat)" 0
	touch "$tmp/user/close"
	server_done
}

# open COMMAND...: how many sockets there have the control port
open() {
	"$@" ss -Hlnu 'sport = :12311' | wc -l
}

test_control_port_is_its_own() {
	setup_container
	expect "net.bolt.sfc=1" inside sysctl -w net.bolt.sfc=1
	expect_eq "inside" "$(open inside)" 2
	expect_eq "H2" "$(open in_ns "$H2")" 0
	expect_eq "H3" "$(open in_ns "$H3")" 0
	# since the module was loaded
	expect_eq "the first namespace" "$(open env)" 2
	# and it can be had there as well
	expect "H2, too" in_ns "$H2" sysctl -w net.bolt.sfc=1
	expect "inside, another" inside sysctl -w net.bolt.port=12310
	expect_eq "H2" "$(open in_ns "$H2")" 2
	expect_eq "inside" "$(open inside)" 0
	expect_eq "the first namespace" "$(open env)" 2
}

# A switch in a container: what its port remembers, no other switch knows
test_cache_is_its_own() {
	setup_container
	expect "sfc" inside tc qdisc add dev eth0 root sfc pause cache switchkey "$SWITCHKEY" maxpause 4s
	expect "H2" in_ns "$H2" tc qdisc add dev eth0 root sfc pause cache switchkey "$SWITCHKEY" maxpause 4s
	# on its way out, from what lies behind the container
	inside "$programs/bolt_inject" 198.51.100.9 192.0.2.2 bts=3000000000 ||
		fail "bolt_inject in the container"
	expect_eq "inside" "$(inside tc -j -s qdisc show dev eth0 |
		jq '.[] | select(.kind == "sfc") | .cache_learned, .cache_entries' | xargs)" "1 1"
	counters "$H2" eth0 cache_learned=0 cache_entries=0 cache_hits=0
}

# No privilege over the machine: it cannot have a module loaded
test_loads_no_module() {
	local ko=${BOLT_MODULES:+$BOLT_MODULES/tcp_bolt.ko}
	setup_container
	expect "unload" busywait rmmod tcp_bolt
	expect_fail "bolt" 'No such file' inside "$programs/bolt_xfer" cc bolt connect 192.0.2.2 5001
	expect_fail "settings" 'No such file|cannot stat' inside sysctl -w net.bolt.sfc=1
	expect_eq "loaded" "$(grep -c ^tcp_bolt /proc/modules)" 0
	# anybody may ask for a family of generic netlink, which the kernel then looks for by this alias
	expect_eq "aliases" "$(modinfo -F alias "${ko:-tcp_bolt}")" tcp_swift
	if [ -f "$ko" ]; then insmod "$ko"; else modprobe tcp_bolt; fi || fail "cannot load tcp_bolt again"
	transfer cc bolt
}

gone() {
	[ "$(cat /sys/module/tcp_bolt/refcnt)" = 0 ] && [ "$(cat /sys/module/sch_sfc/refcnt)" = 0 ]
}

# With its last process it goes, and with it all that it had
test_leaves_nothing() {
	setup_container
	expect "sfc" inside tc qdisc add dev eth0 root sfc
	expect "default" inside sysctl -w net.ipv4.tcp_congestion_control=bolt net.bolt.sfc=1
	transfer
	expect_ge "references" "$(cat /sys/module/tcp_bolt/refcnt)" 1
	kill "$CONTAINER"
	expect "the modules are free" busywait gone
}

run_tests selects user_of_a_host settings_are_its_own not_its_hosts counters_are_its_own \
	control_port_is_its_own cache_is_its_own loads_no_module leaves_nothing
