#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# net.bolt.level_dscp: the DSCP of a packet by what its message has sent before it, as the wire has it.

. "$(dirname "$0")/lib.sh"

# map NS FROM:DSCP,...
map() {
	expect "map" in_ns "$1" sysctl -qw net.bolt.level_dscp="$2"
}

# marked MAP BEGIN...: each packet of data, which can do ECN, and the FIN has the DSCP of its place in its message, which
# begins at one of these bytes
marked() {
	sed -nE '/ flags=[A-Z]*F| len=[1-9]/s/^out tcp .* seq=([0-9]+) .* len=([0-9]+) tos=([0-9]+) .*/\1 \2 \3/p' \
		"$tmp/sniff.eth0" |
		python3 -c '
import sys
rows = [tuple(map(int, row.split(":"))) for row in sys.argv[1].split(",")]
begins = list(map(int, sys.argv[2:]))
packets = [tuple(map(int, line.split())) for line in sys.stdin]
first = packets[0][0]
for seq, size, tos in packets:
    at = (seq - first) % 2**32
    sent = at - max(b for b in begins if b <= at)
    want = ([0] + [dscp for start, dscp in rows if start <= sent])[-1] << 2 | (2 if size else 0)
    if tos != want:
        sys.exit(f"byte {at}: TOS {tos}, not {want}")
if len(packets) < 30:
    sys.exit(f"{len(packets)} packets")' "$@"
}

# transfer CC ADDRESS MAP [WORDS...]: H1 sends two messages, to a host that marks nothing
transfer() {
	setup_pair
	offload "$H1" eth0 off
	in_ns "$H1" sysctl -qw net.ipv4.tcp_ecn=1
	in_ns "$H2" sysctl -qw net.ipv4.tcp_ecn=1
	map "$H1" "$3"
	sniff "$H1" eth0
	server "$H2" cc "$1" listen "$2" 5001 send 100 recv-eof
	client "$H1" cc "$1" "${@:4}" connect "$2" 5001 recv 100 send 3000 outq send 60000 outq info
	server_done
	sniffed
	expect_on_time "retransmissions" "$(info "$tmp/client" retrans)" 0
	expect_eq "bad checksums of IPv4" "$(stack "$H2" IpExtInCsumErrors)" 0
	expect_eq "bad checksums of TCP" "$(packets eth0 'csum=bad')" 0
	expect_eq "what the other host marks" "$(packets eth0 'in tcp' 'tos=([4-9]|[1-9][0-9])')" 0
}

# ACKs, and the SYN, are not marked
bare() {
	expect_ge "pure ACKs, and the SYN" "$(packets eth0 'out tcp .*flags=[^F]* .*len=0')" 2
	expect_eq "marks of them" "$(packets eth0 'out tcp .*flags=[^F]* .*len=0' 'tos=[1-9]')" 0
}

test_ipv4() {
	local cc
	for cc in bolt swift; do
		transfer "$cc" 192.0.2.2 2000:34,5000:26,30000:63
		expect "marks" marked 2000:34,5000:26,30000:63 0 3000 63000
		bare
		undo
	done
}

test_ipv6() {
	transfer bolt 2001:db8::2 0:46,5000:26,30000:1
	expect "marks" marked 0:46,5000:26,30000:1 0 3000 63000
	bare
}

# What an application has set stays, DSCP or priority
test_own() {
	local to
	for to in 192.0.2.2 2001:db8::2; do
		transfer bolt "$to" 0:46 tos 32
		expect_ge "its own" "$(packets eth0 'out tcp' ' len=[1-9].* tos=34 ')" 30
		expect_eq "another" "$(packets eth0 'out tcp .* len=[1-9].*tos=([0-24-9]|3[0-35-9]|[0-9]{3})')" 0
		undo
		transfer bolt "$to" 0:46 priority 5
		expect_ge "none" "$(packets eth0 'out tcp' ' len=[1-9].* tos=2 ')" 30
		expect_eq "another" "$(packets eth0 'out tcp .* len=[1-9].*tos=([013-9]|[1-9][0-9])')" 0
		undo
	done
}

# Of a burst, all packets have the DSCP of the first
test_burst() {
	local order
	setup_pair
	in_ns "$H1" ethtool -K eth0 tso off gso on
	in_ns "$H1" sysctl -qw net.bolt.burst_segs=64
	map "$H1" 0:46,2000:26
	sniff "$H1" eth0
	server "$H2" cc bolt listen 192.0.2.2 5001 recv-eof
	client "$H1" cc bolt connect 192.0.2.2 5001 send 60000 outq
	server_done
	sniffed
	order=$(sed -nE 's/^out tcp .* len=[1-9].* tos=([0-9]+) .*/\1/p' "$tmp/sniff.eth0" | uniq -c | awk '{ print $1, $2 }')
	expect_eq "TOS in order" "$(cut -d' ' -f2 <<<"$order")" $'184\n104'
	# the second begins before 2000, the third does not; the first burst is half of the initial window
	expect_ge "packets of the first burst" "${order%% *}" 3
	expect_eq "bad checksums of IPv4" "$(stack "$H2" IpExtInCsumErrors)" 0
}

# A change is for what is sent from now on; off, all is as it was
test_change() {
	setup_pair
	map "$H1" 0:46
	sniff "$H1" eth0
	server "$H2" cc bolt listen 192.0.2.2 5001 recv 1000 mark "$tmp/one" recv 1000 mark "$tmp/two" recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		connect 192.0.2.2 5001 send 1000 wait "$tmp/go1" send 1000 wait "$tmp/go2" send 1000
	expect "one" busywait test -e "$tmp/one"
	map "$H1" 0:8
	touch "$tmp/go1"
	expect "two" busywait test -e "$tmp/two"
	map "$H1" off
	touch "$tmp/go2"
	ended client "$CLIENT"
	server_done
	sniffed
	expect_eq "TOS" "$(sed -nE 's/^out tcp .* len=1000 tos=([0-9]+) .*/\1/p' "$tmp/sniff.eth0" | tr '\n' ' ')" "184 32 0 "
	rm "$tmp"/{one,two,go1,go2}
}

run_tests ipv4 ipv6 own burst change
