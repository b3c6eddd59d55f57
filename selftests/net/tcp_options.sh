#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What shares the TCP header, or the packet, with Bolt's option between two hosts: timestamps, SACK,
# MSS, ECN, AccECN, MD5 and TCP-AO signatures, MPTCP, BIG TCP.  The header has 40 bytes for all
# options: each must work beside Bolt's, or the connection must do without Bolt's.

. "$(dirname "$0")/lib.sh"

BYTES=1000000

# sysctls NAME=VALUE: on both hosts
sysctls() {
	in_ns "$H1" sysctl -qw "$1"
	in_ns "$H2" sysctl -qw "$1"
}

# exchange ADDR [WORDS...]: BYTES there and back, with bolt; words of the client
exchange() {
	local addr=$1
	shift
	server "$H2" cc bolt listen "$addr" 5001 recv "$BYTES" send "$BYTES" info recv-eof
	client "$H1" cc bolt "$@" connect "$addr" 5001 send "$BYTES" recv "$BYTES" outq info
	server_done
}

# Nothing was sent twice (an old copy is outside the window, and ignored)
undisturbed() {
	expect_eq "OptWindow" "$(bolt_stat "$H1" OptWindow)$(bolt_stat "$H2" OptWindow)" 00
	expect_eq "client's retransmissions" "$(info "$tmp/client" retrans)" 0
	expect_eq "server's retransmissions" "$(info "$tmp/server" retrans)" 0
}

test_no_timestamps() {
	setup_pair
	sysctls net.ipv4.tcp_timestamps=0
	sniff "$H1" eth0
	exchange "$A2"
	sniffed
	bolt_both OptNoMtu
	undisturbed
	expect_eq "mss" "$(info "$tmp/client" mss)" 1448
	expect_eq "packets with timestamps" "$(packets eth0 'opts=[^ ]*8/10')" 0
	expect_eq "packets without the option" "$(packets eth0 'flags=[^S]' 'bolt=none')" 0
}

# A window of 64 KB at most
test_no_window_scaling() {
	setup_pair
	sysctls net.ipv4.tcp_window_scaling=0
	exchange "$A2"
	bolt_both OptNoMtu
	undisturbed
}

test_no_sack() {
	setup_pair
	sysctls net.ipv4.tcp_sack=0
	# of 700 packets one is lost: none is once in a million
	transfer_through bolt "$BYTES" delay 1ms loss 2%
	bolt_both OptNoMtu
	expect_ge "retransmissions" "$(info "$tmp/client" retrans)" 1
}

# through_loss: BYTES, with holes and duplicates; on every ACK the option
through_loss() {
	server "$H2" cc bolt listen "$A2" 5001 recv "$BYTES" info recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 120 "$BOLT_PROGRAMS/bolt_xfer" cc bolt \
		connect "$A2" 5001 mark "$tmp/up" wait "$tmp/go" send "$BYTES" outq info
	expect "connected" busywait test -e "$tmp/up"
	in_ns "$H1" tc qdisc replace dev eth0 root netem limit 10000 delay 1ms 300us \
		loss 5% duplicate 20%
	sniff "$H2" eth0
	touch "$tmp/go"
	ended client "$CLIENT"
	server_done
	sniffed
	rm "$tmp/up" "$tmp/go"
	bolt_both OptNoMtu
	expect_ge "ACKs with SACK" "$(packets eth0 'out tcp' 'opts=[^ ]*,5/|opts=5/')" 50
	expect_eq "ACKs without the option" "$(packets eth0 'out tcp' 'bolt=none')" 0
	expect_eq "headers beyond 60 bytes" "$(packets eth0 'hdr=(6[1-9]|[7-9].)')" 0
}

# dsack_used: what came twice was told
dsack_used() {
	expect_ge "D-SACK told" "$(stack "$H2" TcpExtTCPDSACKOldSent)" 1
	expect_ge "D-SACK heard" "$(stack "$H1" TcpExtTCPDSACKRecv)" 1
}

# mss_is FILE VALUE
mss_is() {
	expect_eq "mss of $1" "$(info "$tmp/$1" mss)" "$2"
}

# Less 12 for timestamps and 12 of ours
test_maxseg() {
	setup_pair
	sniff "$H1" eth0
	BYTES=200000 exchange "$A2" maxseg 536
	sniffed
	bolt_both OptNoMtu
	undisturbed
	mss_is client 512
	mss_is server 512
	expect_eq "larger segments" \
		"$(packets eth0 ' len=(51[3-9]|5[2-9][0-9]|[6-9][0-9]{2}|[0-9]{4,}) ')" 0
}

test_advmss() {
	setup_pair
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 advmss 600
	BYTES=200000 exchange "$A2"
	bolt_both OptNoMtu
	undisturbed
	mss_is server 576
	mss_is client 1436
}

test_mss_clamped() {
	setup_router
	in_ns "$R" nft -f - <<-'NFT'
		table inet clamp {
			chain forward {
				type filter hook forward priority 0
				tcp flags syn tcp option maxseg size set 1000
			}
		}
	NFT
	BYTES=200000 exchange "$A2"
	bolt_both OptNoMtu
	undisturbed
	mss_is server 976
	mss_is client 976
}

# Bolt asks for no ECN, but where both hosts do it is there: data is ECN-capable
ecn() {
	setup_router
	sysctls net.ipv4.tcp_ecn=1
	sniff "$H2" eth0
	exchange "$1"
	sniffed
	bolt_both OptNoMtu
	undisturbed
	expect_eq "SYN that asks" "$(packets eth0 'in tcp.*flags=SEC .*bolt=syn')" 1
	expect_eq "SYN-ACK that agrees" "$(packets eth0 'out tcp.*flags=SAE .*bolt=syn')" 1
	expect_ge "data that says so" "$(packets eth0 'in tcp.* len=[1-9].* tos=2 .*bolt=full')" 500
	expect_eq "data without" "$(packets eth0 'in tcp.* len=[1-9].* tos=0 ')" 0
	expect_eq "cuts" "$(bolt_stat "$H1" LossDec)" 0
}

test_ecn_ipv4() {
	ecn 198.51.100.1
}

test_ecn_ipv6() {
	ecn 2001:db8:2::1
}

MARKS=5		# packets that get CE

# exchange_marked: a window has a packet with CE, and then four more
exchange_marked() {
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	in_ns "$R" nft -f - <<-NFT
		table ip congested {
			chain forward {
				type filter hook forward priority 0
				tcp dport 5001 ip length > 1400 ip ecn 2 limit rate 1/day burst $MARKS packets ip ecn set ce
			}
		}
	NFT
	sniff "$H1" eth0
	exchange "$A2"
	sniffed
	bolt_both OptNoMtu
	undisturbed
	expect_ge "LossDec" "$(bolt_stat "$H1" LossDec)" 1
	expect_le "LossDec" "$(bolt_stat "$H1" LossDec)" "$MARKS"
}

# CE is answered as a loss is: half, once per window, and CWR says so
test_ecn_marked() {
	setup_router
	sysctls net.ipv4.tcp_ecn=1
	exchange_marked
	expect_ge "ECE" "$(packets eth0 'in tcp.*flags=[A-Z]*A[A-Z]*E.*bolt=full')" 1
	expect_ge "CWR" "$(packets eth0 'out tcp.*flags=[A-Z]*C.*bolt=full')" 1
}

# accurate_ecn: for all hosts from here on; false, and that is right, on a kernel without it
accurate_ecn() {
	if in_ns "$H1" sysctl -qw net.ipv4.tcp_ecn=3 2>/dev/null; then
		sysctls net.ipv4.tcp_ecn=3
	else
		expect_fail "accurate ECN" "Invalid argument" in_ns "$H1" sysctl -w net.ipv4.tcp_ecn=3
		return 1
	fi
}

ACCECN='17[24]/(5|8|11),'	# RFC 9768: one to three counters

# The SYN asks by AE, CWR and ECE; CWR alone agrees, and says that the SYN was not ECN-capable
test_accecn() {
	setup_router
	accurate_ecn || return
	sniff "$H2" eth0
	exchange "$A2"
	sniffed
	bolt_both OptNoMtu
	undisturbed
	expect_eq "SYN that asks" "$(packets eth0 'in tcp.*flags=SECN .*bolt=syn')" 1
	expect_eq "SYN-ACK that agrees" "$(packets eth0 'out tcp.*flags=SAC ' "$ACCECN" 'bolt=syn')" 1
	expect_ge "data" "$(packets eth0 ' len=[1-9]')" 1000
	expect_eq "data with both options" "$(packets eth0 ' len=[1-9]' "$ACCECN" 'bolt=full')" \
		"$(packets eth0 ' len=[1-9]')"
	expect_eq "SackTrimmed" "$(bolt_stat "$H1" SackTrimmed)$(bolt_stat "$H2" SackTrimmed)" 00
	expect_eq "cuts" "$(bolt_stat "$H1" LossDec)" 0
}

# 12 of 40 bytes for timestamps, 12 for a block, 12 for the option: the counters wait for a packet
# without a block
test_accecn_beside_sack() {
	setup_pair
	accurate_ecn || return
	through_loss
	dsack_used
	expect_ge "ACKs with counters" "$(packets eth0 'out tcp' "$ACCECN")" 3
	expect_eq "ACKs with counters and blocks" "$(packets eth0 'out tcp' "$ACCECN" '[=,]5/')" 0
	expect_ge "SackTrimmed" "$(bolt_stat "$H2" SackTrimmed)" 50
}

# As CE that ECE tells of, but each is counted
test_accecn_marked() {
	setup_router
	accurate_ecn || return
	exchange_marked
	expect_eq "delivered with CE" "$(info "$tmp/client" delivered_ce)" "$MARKS"
}

# signed KIND WORD: signed on both sides; never an option
signed() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt "$2" "$A1" secret listen "$A2" 5001 recv 300000 send 300000 info recv-eof
	client "$H1" cc bolt "$2" "$A2" secret connect "$A2" 5001 send 300000 recv 300000 info
	server_done
	sniffed
	expect_ge "signed packets" "$(packets eth0 "opts=.*$1/")" 200
	expect_eq "packets, all signed" "$(packets eth0 tcp)" "$(packets eth0 "opts=.*$1/")"
	expect_eq "packets with the option" "$(packets eth0 'bolt=(syn|full)')" 0
	expect_eq "client Fallback" "$(bolt_stat "$H1" Fallback)" 1
	expect_eq "server Fallback" "$(bolt_stat "$H2" Fallback)" 1
	expect_eq "congestion control" "$(info "$tmp/client" cc)" reno
	undisturbed
}

test_md5() {
	signed 19 md5
}

has_ao() {
	local v
	v=$(uname -r)
	[ "${v%%.*}" -gt 6 ] || { v=${v#*.}; [ "${v%%.*}" -ge 7 ]; }
}

# ao_refused WORDS...: of a socket that asks for a key, before it listens or connects
ao_refused() {
	setup_pair
	expect_fail "TCP-AO" "TCP_AO_ADD_KEY: Protocol not available" \
		in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" cc bolt "$@"
}

# Since 6.7; before, there is nothing that could be signed
test_ao() {
	if has_ao; then
		signed 29 ao
	else
		ao_refused ao 192.0.2.2 secret connect 192.0.2.2 5001
	fi
}

# A listener with a key for somebody else: this connection is not signed
unsigned_peer() {
	setup_pair
	server "$H2" cc bolt "$1" 192.0.2.99 secret listen "$A2" 5001 recv 100000 send 100000 info \
		recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 100000 recv 100000 info
	server_done
	bolt_both OptNoMtu
	undisturbed
}

test_md5_of_another_peer() {
	unsigned_peer md5
}

test_ao_of_another_peer() {
	if has_ao; then
		unsigned_peer ao
	else
		ao_refused ao 192.0.2.99 secret listen 192.0.2.1 5001
	fi
}

# The options of MPTCP leave no room: its listener does not accept, both ends are Reno
mptcp() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" mptcp cc bolt listen "$1" 5001 recv "$BYTES" send "$BYTES" recv-eof
	client "$H1" mptcp cc bolt connect "$1" 5001 send "$BYTES" recv "$BYTES"
	server_done
	sniffed
	expect_eq "SYN" "$(packets eth0 'flags=S ' 'opts=[^ ]*30/' 'bolt=syn')" 1
	expect_eq "SYN-ACK" "$(packets eth0 'flags=SA ' 'opts=[^ ]*30/' 'bolt=none')" 1
	expect_eq "full options" "$(packets eth0 'bolt=full')" 0
	for ns in "$H1" "$H2"; do
		expect_eq "$ns Negotiated" "$(bolt_stat "$ns" Negotiated)" 0
		expect_eq "$ns Fallback" "$(bolt_stat "$ns" Fallback)" 1
		expect_eq "$ns OptNoRoom" "$(bolt_stat "$ns" OptNoRoom)" 0
	done
}

test_mptcp_ipv4() {
	mptcp 192.0.2.2
}

test_mptcp_ipv6() {
	mptcp 2001:db8::2
}

# Two paths, so a subflow that joins
test_mptcp_join() {
	setup_pair
	ip link add name eth1 netns "$H1" type veth peer name eth1 netns "$H2"
	addr "$H1" eth1 198.51.100.1/24 2001:db8:2::1/64
	addr "$H2" eth1 198.51.100.2/24 2001:db8:2::2/64
	ip -n "$H2" mptcp limits set subflow 2 add_addr_accepted 2
	ip -n "$H1" mptcp limits set subflow 2 add_addr_accepted 2
	ip -n "$H1" mptcp endpoint add 198.51.100.1 dev eth1 subflow
	ips "$H1" <<-'BATCH'
		rule add from 198.51.100.1 lookup 10
		route add default via 198.51.100.2 dev eth1 table 10
	BATCH
	sniff "$H1" eth1
	server "$H2" mptcp cc bolt listen "$A2" 5001 recv 5000000 send 3 recv-eof
	client "$H1" mptcp cc bolt connect "$A2" 5001 send 1000000 pause 500 send 4000000 recv 3
	server_done
	expect "joined" test "$(stack "$H2" MPTcpExtMPJoinAckRx)" -ge 1
	expect_eq "client Negotiated" "$(bolt_stat "$H1" Negotiated)" 0
	expect_ge "Reno, every subflow" "$(bolt_stat "$H1" Fallback)" 2
	expect_ge "and its peer" "$(bolt_stat "$H2" Fallback)" 2
	expect_eq "OptUnexpected" "$(bolt_stat "$H2" OptUnexpected)" 0
	sniffed
}

# A client that asks for MPTCP and meets a server that knows only TCP: TCP with bolt
test_mptcp_refused() {
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 recv "$BYTES" send "$BYTES" info recv-eof
	client "$H1" mptcp cc bolt connect "$A2" 5001 send "$BYTES" recv "$BYTES"
	server_done
	bolt_both OptNoMtu
}

BEYOND_64K='iplen=(6553[6-9]|655[4-9].|65[6-9]..|6[6-9]...|[7-9]....|......) '

# big_tcp_on ATTRIBUTE: super-packets of 200000; iproute2 is older than the attribute for IPv4
big_tcp_on() {
	setup_pair
	for ns in "$H1" "$H2"; do
		in_ns "$ns" python3 - "$1" <<-'PYTHON' || fail "BIG TCP in $ns"
			import socket, struct, sys
			s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
			body = struct.pack("BxHiII", 0, 0, socket.if_nametoindex("eth0"), 0, 0)
			body += struct.pack("HHI", 8, int(sys.argv[1]), 200000)
			s.send(struct.pack("IHHII", 16 + len(body), 16, 5, 1, 0) + body)
			sys.exit(struct.unpack("i", s.recv(4096)[16:20])[0] != 0)
		PYTHON
		in_ns "$ns" sysctl -qw net.bolt.burst_segs=64
	done
	ip -n "$H1" route replace 192.0.2.0/24 dev eth0 initcwnd 200
	ip -n "$H1" -6 route replace 2001:db8::/64 dev eth0 metric 1 initcwnd 200
}

# big_exchange ADDR
big_exchange() {
	sniff "$H1" eth0
	BYTES=20000000 exchange "$1" sndbuf 8000000
	sniffed
	bolt_both OptNoMtu
	undisturbed
	expect_eq "packets without the option" "$(packets eth0 'flags=[^S]' 'bolt=none')" 0
}

# big_tcp ADDR ATTRIBUTE
big_tcp() {
	big_tcp_on "$2"
	big_exchange "$1"
	expect_ge "packets beyond 64 KB" "$(packets eth0 'out tcp' "$BEYOND_64K")" 20
}

# IFLA_GSO_MAX_SIZE
test_big_tcp_ipv6() {
	big_tcp 2001:db8::2 41
}

# IFLA_GSO_MAX_SIZE is for IPv6 alone: the largest packet of IPv4 is one that 16 bits can tell
small_tcp_ipv4() {
	big_tcp_on 41
	big_exchange 192.0.2.2
	expect_ge "packets of 56 KB and more" "$(packets eth0 'out tcp' 'iplen=(5[6-9]...|6[0-5]...) ')" 20
	expect_eq "packets beyond 64 KB" "$(packets eth0 'out tcp' "$BEYOND_64K")" 0
}

# IFLA_GSO_IPV4_MAX_SIZE, since 6.3; before, 64 KB is the end
test_big_tcp_ipv4() {
	case $(uname -r) in
	6.1.*) small_tcp_ipv4 ;;
	*) big_tcp 192.0.2.2 63 ;;
	esac
}

run_tests no_timestamps no_window_scaling no_sack maxseg advmss ecn_ipv4 ecn_marked accecn accecn_marked \
	md5 ao mptcp_ipv4 mptcp_join mptcp_refused big_tcp_ipv6 \
	also mss_clamped ecn_ipv6 accecn_beside_sack \
	md5_of_another_peer ao_of_another_peer mptcp_ipv6 big_tcp_ipv4
