#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The settings net.bolt.* and the control port belong to a network namespace: their defaults and
# ranges, who may read a key, and that the port is opened when the first connection needs it and
# moves when the setting does.  A failure would let one container change another's connections.

. "$(dirname "$0")/lib.sh"

get() {
	in_ns "$1" sysctl -n "net.bolt.$2"
}

set_to() {
	in_ns "$1" sysctl -qw "net.bolt.$2=$3"
}

test_per_namespace() {
	local name
	setup_pair
	set_to "$H2" rate_mbps 0
	for name in base_rtt_ns rate_mbps; do
		set_to "$H1" "$name" 4321
		expect_eq "$name there" "$(get "$H1" "$name")" 4321
		expect_eq "$name elsewhere" "$(get "$H2" "$name")" 0
	done
	set_to "$H1" port 50000
	expect_eq "port elsewhere" "$(get "$H2" port)" 12311
}

# Those of the manual page, which the tables have as well
test_defaults() {
	local doc=../../Documentation name default short n=0
	# not setup_ns, which sets some
	H1=defaults-$$
	ip netns add "$H1" || exit 1
	defer ip netns del "$H1"
	while read -r name default; do
		n=$((n + 1))
		expect_eq "$name" "$(get "$H1" "$name")" "$default"
		short=${name#debug.}
		expect "table: $name $default" \
			grep -qE "^(net\.bolt\.)?${short#swift_} +$default +\S" "$doc"/tcp_bolt.rst "$doc"/tcp_swift.rst
	done < <(sed -nE 's/\\-/-/g; s/^\.BR net\.bolt\.(\S+) " \(.*; default (\S+)\)"$/\1 \2/p' "$doc"/man/tcp_bolt.7)
	expect_eq "settings" "$n" "$(in_ns "$H1" find /proc/sys/net/bolt -type f | wc -l)"
}

# NAME BAD...: refused, and nothing changes
refuse() {
	sysctl_refuses "$H1" "net.bolt.$1" "${@:2}"
}

test_ranges() {
	setup_ns H1
	refuse port 0 65536 -1 x
	refuse overhead -2 257
	refuse burst_segs 0 65
	refuse debug.max_bdp_pct 99 1001
	refuse debug.min_cwnd_milli 0 1001
	refuse debug.ai 2
	refuse brownfield 2 -1 x
	refuse min_ttl 256
	refuse base_rtt_ns 1000000001
	refuse rate_mbps 4000001
	refuse tag_key 00 "$(printf '%033d' 0)" "$(printf 'g%031d' 0)" "$(printf '%032d,' 0)" "$(printf ',%032d' 0)" \
		"$(printf '%032d,g%031d' 0 0)" "$(printf '%032d %032d' 0 0)" "$(printf '%032d,%032d,%032d' 0 0 0)"
}

# The key can be set and taken back, and is never shown
test_key_is_secret() {
	local key=000102030405060708090a0b0c0d0e0f
	setup_ns H1
	set_to "$H1" tag_key "$key"
	expect_eq "shown as" "$(get "$H1" tag_key)" set
	set_to "$H1" tag_key "${key//0/f},$key"
	expect_eq "two shown as" "$(get "$H1" tag_key)" set
	set_to "$H1" tag_key off
	expect_eq "taken back" "$(get "$H1" tag_key)" off
	expect_eq "mode" "$(in_ns "$H1" stat -c %a /proc/sys/net/bolt/tag_key)" 600
}

listening() {
	in_ns "$1" ss -Hlnu "sport = :$2" | wc -l
}

port_open() {
	[ "$(listening "$1" "$2")" = 2 ]
}

# The port opens with the first socket that selects bolt, both families, and only there
test_port_opens_on_demand() {
	setup_pair
	expect_eq "before" "$(listening "$H1" 12311)" 0
	server "$H2" cc cubic listen "$A2" 5001 recv 10 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 10
	server_done
	expect "opens" busywait port_open "$H1" 12311
	expect_eq "elsewhere" "$(listening "$H2" 12311)" 0
}

test_port_moves() {
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 recv 10 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 10
	server_done
	expect "opens" busywait port_open "$H1" 12311
	set_to "$H1" port 12310
	expect_eq "new port" "$(listening "$H1" 12310)" 2
	expect_eq "old port" "$(listening "$H1" 12311)" 0
	# taken by somebody else: the old one stays
	take_port "$H1" 12312
	expect_fail "taken port" 'in use' in_ns "$H1" sysctl -w net.bolt.port=12312
	expect_eq "setting" "$(get "$H1" port)" 12310
	expect_eq "still open" "$(listening "$H1" 12310)" 2
}

# An unprivileged container may choose bolt
test_not_restricted() {
	setup_pair
	expect "allowed" in_ns "$H1" grep -qw bolt /proc/sys/net/ipv4/tcp_allowed_congestion_control
}

run_tests per_namespace defaults ranges key_is_secret port_opens_on_demand port_moves not_restricted
