#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# Routers that translate addresses, track connections or filter, on either side of a port with sfc.
# An SRC quotes a packet as the switch saw it, so the sender may know that packet by other
# addresses: the test shows where SRC reach their sender and where they do not, what connection
# tracking sees of them, and what filters do to segments with the option.

. "$(dirname "$0")/lib.sh"

BYTES=1500000

#	H1 eth0 ------- m1  M  m2 --------- r1  R  r2 ------- eth0 H2
#	   192.0.2.1   .254    203.0.113.1     .254  198.51.100.254  198.51.100.1
# M is the middlebox.  A port of sfc sits on H1's side of it (h: H1's own port; i: m1), on
# its outer port (m2), or at R (r2: after translation; r1: towards H1).
setup_line() {
	setup_ns H1 M R H2
	ip link add name eth0 netns "$H1" type veth peer name m1 netns "$M"
	ip link add name m2 netns "$M" type veth peer name r1 netns "$R"
	ip link add name r2 netns "$R" type veth peer name eth0 netns "$H2"
	addr "$M" m1 192.0.2.254/24 2001:db8:1::ff/64
	addr "$M" m2 203.0.113.1/24 2001:db8:3::1/64 203.0.113.254 2001:db8:3::ff
	addr "$R" r1 203.0.113.254/24 2001:db8:3::ff/64
	addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
	ip -n "$R" route add 192.0.2.0/24 via 203.0.113.1
	ip -n "$R" -6 route add 2001:db8:1::/64 via 2001:db8:3::1
	forward "$M"
	forward "$R"
	addr "$H1" eth0 192.0.2.1/24 2001:db8:1::1/64 192.0.2.254 2001:db8:1::ff
	addr "$H2" eth0 198.51.100.1/24 2001:db8:2::1/64 198.51.100.254 2001:db8:2::ff
	A2=198.51.100.1 B2=2001:db8:2::1
	wait_up
}

# rules: for nft, on stdin, at M
rules() {
	in_ns "$M" nft -f - || fail "nft refused the rules"
}

snat() {
	rules <<-'END'
	table inet t {
		chain post {
			type nat hook postrouting priority 100;
			oifname m2 masquerade
		}
	}
	END
}

port() {
	in_ns "$1" tc qdisc add dev "$2" root sfc rate 1gbit
}

# Nobody takes them for his: the queue grows to what the window allows, and not beyond
unheard() {
	expect_ge "SRC sent" "$(qdisc "$1" "$2" src_sent)" 10
	expect_eq "SrcRx" "$(bolt_stat "$H1" SrcRx)" 0
	expect_eq "drops" "$(qdisc "$1" "$2" drops)" 0
}

# --- translation ---

test_snat_port_inside() {
	setup_line
	snat
	port "$H1" eth0
	upload
	src_heard "$H1" "$H1" eth0
}

# The translator's own port: headers are translated by then, connection tracking knows from what
test_snat_port_of_translator() {
	setup_line
	snat
	port "$M" m2
	upload
	src_heard "$H1" "$M" m2
}

test_snat_port_of_translator_ipv6() {
	setup_line
	snat
	port "$M" m2
	A2=$B2
	upload
	src_heard "$H1" "$M" m2
}

# without_entry FAMILY INSIDE OUTSIDE: but not where there is no entry, as behind an nft flowtable: no
# SRC goes to the translator itself
without_entry() {
	setup_line
	[ "$1" = ip ] || A2=$B2
	rules <<-END
	table $1 t {
		chain pre {
			type filter hook prerouting priority 0;
			iifname m2 tcp sport 5001 $1 daddr set $2
		}
		chain post {
			type filter hook postrouting priority 0;
			oifname m2 tcp dport 5001 $1 saddr set $3
		}
	}
	END
	port "$M" m2
	upload
	expect_ge "not sent" "$(qdisc "$M" m2 msg_unfit)" 10
	expect_eq "SRC sent" "$(qdisc "$M" m2 src_sent)" 0
	expect_eq "H1 CtlRx" "$(bolt_stat "$H1" CtlRx)" 0
	expect_eq "M at a closed port" "$(stack "$M" UdpNoPorts) $(stack "$M" Udp6NoPorts)" "0 0"
}

test_snat_without_entry() {
	without_entry ip 192.0.2.1 203.0.113.1
}

test_snat_without_entry_ipv6() {
	without_entry ip6 2001:db8:1::1 2001:db8:3::1
}

# The outside world answers the translator, who is no sender
test_snat_port_outside() {
	setup_line
	snat
	port "$R" r2
	upload
	unheard "$R" r2
	expect_eq "H1 CtlRx" "$(bolt_stat "$H1" CtlRx)" 0
	expect_ge "at a closed port of M" "$(stack "$M" UdpNoPorts)" 10
}

# A translator that uses bolt itself counts them
test_snat_refused_by_translator() {
	setup_line
	snat
	port "$R" r2
	in_ns "$M" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect 203.0.113.254 9 \
		>"$tmp/refused" 2>&1
	upload
	expect_ge "M CtlNoSocket" "$(bolt_stat "$M" CtlNoSocket)" 10
	expect_eq "all of them" "$(bolt_stat "$M" CtlNoSocket)" "$(qdisc "$R" r2 src_sent)"
	expect_eq "H1 CtlRx" "$(bolt_stat "$H1" CtlRx)" 0
}

# Data towards the translated host: SRC goes out to H2, and quotes what H2 has sent
test_snat_download_inside() {
	setup_line
	snat
	port "$M" m1
	download
	src_heard "$H2" "$M" m1
}

test_snat_download_outside() {
	setup_line
	snat
	port "$R" r1
	download
	src_heard "$H2" "$R" r1
}

dnat() {
	rules <<-'END'
	table ip t {
		chain pre {
			type nat hook prerouting priority -100;
			ip daddr 203.0.113.1 tcp dport 5001 dnat to 198.51.100.1
		}
		chain out {
			type nat hook output priority -100;
			ip daddr 203.0.113.1 tcp dport 5001 dnat to 198.51.100.1
		}
	}
	END
}

test_dnat_port_of_translator() {
	setup_line
	dnat
	port "$M" m2
	TO=203.0.113.1 upload
	src_heard "$H1" "$M" m2
}

test_dnat_port_inside() {
	setup_line
	dnat
	port "$H1" eth0
	TO=203.0.113.1 upload
	src_heard "$H1" "$H1" eth0
}

# pauses FLAGS [ADDRESS]: the BTS that an edge port behind the translator draws have these flags
pauses() {
	expect "sfc" in_ns "$M" tc qdisc add dev m2 root sfc nobolt pause edge switchkey "$SWITCHKEY" rate 100mbit
	sniff "$H1" eth0
	TO=${2-} upload
	sniffed
	expect_ge "BTS" "$(packets eth0 'in udp' ' type=2 ')" 1
	expect_eq "with other flags" "$(packets eth0 'in udp' ' type=2 ')" "$(packets eth0 'in udp' " type=2 cflags=$1 ")"
}

# One server is congested; to pause all senders to the address that stands for several is wrong
test_dnat_not_cacheable() {
	setup_line
	dnat
	pauses 0 203.0.113.1
}

test_snat_cacheable() {
	setup_line
	snat
	pauses 1
}

# A quote of the translated destination names no connection of the sender
test_dnat_port_outside() {
	setup_line
	dnat
	port "$R" r2
	TO=203.0.113.1 upload
	unheard "$R" r2
	expect_eq "CtlNoSocket" "$(bolt_stat "$H1" CtlNoSocket)" "$(qdisc "$R" r2 src_sent)"
}

# masqueraded [TO]: M translates the messages to H1, and nothing else
masqueraded() {
	rules <<-END
	table ip t {
		chain post {
			type nat hook postrouting priority 100;
			oifname m1 udp dport 12311 masquerade $*
		}
	}
	END
}

# The source address of a message says nothing
test_messages_translated() {
	setup_line
	masqueraded
	port "$R" r2
	upload
	src_heard "$H1" "$R" r2
}

# ... but its source port has to be the control port
test_messages_from_another_port() {
	setup_line
	masqueraded to :2000
	port "$R" r2
	upload
	unheard "$R" r2
	expect_eq "CtlPort" "$(bolt_stat "$H1" CtlPort)" "$(qdisc "$R" r2 src_sent)"
}

# --- connection tracking and filters ---

# One entry, the connection's: at the switch itself no message is tracked
test_conntrack_of_the_switch() {
	setup_line
	rules <<-'END'
	table inet t {
		chain c {
			type filter hook forward priority 0; policy drop;
			ct state invalid counter drop
			ct state established,related,new accept
		}
		chain i {
			type filter hook input priority 0; policy drop;
			ct state established,related accept
			meta l4proto { icmp, icmpv6 } accept
		}
		chain o {
			type filter hook output priority 0; policy accept;
			ct state invalid counter drop
		}
	}
	END
	# SRC arrive untracked; a filter of states has to say so
	port "$M" m2
	upload
	expect_ge "SRC sent" "$(qdisc "$M" m2 src_sent)" 10
	expect_eq "dropped by policy: SrcRx" "$(bolt_stat "$H1" SrcRx)" 0
	expect_eq "entries of UDP" "$(in_ns "$M" grep -c 'udp .*12311' /proc/net/nf_conntrack)" 0
	expect_eq "entries of the connection" \
		"$(in_ns "$M" grep -c 'tcp .*dport=5001 ' /proc/net/nf_conntrack)" 1
	expect_eq "invalid" "$(in_ns "$M" nft list ruleset | grep -c 'packets 0 bytes 0 drop')" 2
}

# On its way it is a datagram like any other: one entry for a pair of hosts, however many messages
test_conntrack_on_the_way() {
	setup_line
	rules <<-'END'
	table inet t {
		chain c {
			type filter hook forward priority 0; policy drop;
			ct state invalid counter drop
			ct state established,related accept
			tcp dport 5001 ct state new accept
			udp dport 12311 ct state new counter accept
			meta l4proto { icmp, icmpv6 } accept
		}
	}
	END
	port "$R" r2
	upload
	src_heard "$H1" "$R" r2
	expect_eq "entries of UDP at M" "$(in_ns "$M" grep -c 'udp .*12311' /proc/net/nf_conntrack)" 1
	expect_eq "entries of UDP at R" "$(in_ns "$R" grep -c 'udp .*12311' /proc/net/nf_conntrack)" 0
	expect_eq "invalid" "$(in_ns "$M" nft list ruleset | grep -c 'invalid counter packets 0 ')" 1
}

# `ct state invalid drop` sees nothing invalid, with loss that makes for SACK and D-SACK
test_invalid_drop() {
	setup_line
	rules <<-'END'
	table inet t {
		chain c {
			type filter hook forward priority 0;
			ct state invalid counter drop
		}
	}
	END
	in_ns "$R" tc qdisc add dev r2 root netem limit 10000 delay 1ms loss 1% duplicate 1%
	server "$H2" cc bolt listen "$A2" 5001 recv "$BYTES" recv-eof info
	client "$H1" cc bolt connect "$A2" 5001 send "$BYTES" outq info
	server_done
	expect_eq "client" "$(info "$tmp/client" cc)" bolt
	# of a thousand packets one in a hundred is lost: none by chance in 36 000 runs
	expect_ge "retransmissions" "$(info "$tmp/client" retrans)" 1
	expect_eq "invalid" "$(in_ns "$M" nft list ruleset | grep -c 'packets 0 bytes 0 drop')" 1
}

# --- a bridge that filters ---

#	H1 eth0 ---- m1  M (bridge br0) m2 ---- eth0 H2
#	   192.0.2.1                            192.0.2.2
setup_bridge() {
	setup_ns H1 M H2
	R=$M
	ip link add name eth0 netns "$H1" type veth peer name m1 netns "$M"
	ip link add name m2 netns "$M" type veth peer name eth0 netns "$H2"
	ips "$M" <<-BATCH
		link add br0 type bridge
		link set m1 master br0 up
		link set m2 master br0 up
		link set br0 up
	BATCH
	addr "$H1" eth0 192.0.2.1/24 2001:db8::1/64
	addr "$H2" eth0 192.0.2.2/24 2001:db8::2/64
	A2=192.0.2.2 B2=2001:db8::2
	wait_up
	in_ns "$M" sysctl -qw "net.bridge.bridge-nf-call-iptables=$1" \
		"net.bridge.bridge-nf-call-ip6tables=$1"
}

# states FAMILY [STATES]: M lets pass what it knows, connections to port 5001, and STATES
states() {
	rules <<-END
	table $1 t {
		chain c {
			type filter hook forward priority 0; policy drop;
			${3-}
			ct state invalid counter drop
			ct state established,related${2:+,$2} counter accept
			tcp dport 5001 ct state new accept
			meta l4proto { icmp, icmpv6 } accept
		}
	}
	END
}

dropped_as_invalid() {
	in_ns "$M" nft list ruleset | sed -n 's/.*invalid counter packets \([0-9]*\) .*/\1/p'
}

# The option passes, what the bridge itself says as well
filtered() {
	port "$M" m2
	upload
	src_heard "$H1" "$M" m2
	expect_eq "invalid" "$(dropped_as_invalid)" 0
	expect_ge "accepted by the filter" "$(in_ns "$M" nft list ruleset |
		sed -n 's/.*untracked counter packets \([0-9]*\) .*/\1/p')" 1000
}

# The bridge hands what it forwards to the filter of IP, and to connection tracking
test_bridge_nf_call() {
	setup_bridge 1
	states inet untracked
	filtered
	expect_eq "entries of UDP" "$(in_ns "$M" grep -c 'udp .*12311' /proc/net/nf_conntrack)" 0
	expect_eq "entries of the connection" \
		"$(in_ns "$M" grep -c 'tcp .*dport=5001 ' /proc/net/nf_conntrack)" 1
}

test_bridge_nf_call_ipv6() {
	setup_bridge 1
	states inet untracked
	A2=$B2
	filtered
}

# SRC are untracked there too
test_bridge_nf_call_drops() {
	setup_bridge 1
	states inet
	port "$M" m2
	upload
	unheard "$M" m2
	expect_eq "invalid" "$(dropped_as_invalid)" 0
}

# The bridge's own filter, with its own connection tracking
test_bridge_family() {
	setup_bridge 0
	states bridge untracked "ether type arp accept; tcp option 254 exists counter;"
	filtered
	expect_ge "matched" "$(in_ns "$M" nft list ruleset |
		sed -n 's/.*option 254 exists counter packets \([0-9]*\) .*/\1/p')" 1000
}

test_bridge_family_drops() {
	setup_bridge 0
	states bridge "" "ether type arp accept;"
	port "$M" m2
	upload
	unheard "$M" m2
	expect_eq "invalid" "$(dropped_as_invalid)" 0
}

# A filter finds the option by its kind, and takes it away by it
test_nft_match() {
	setup_line
	rules <<-'END'
	table inet t {
		chain c {
			type filter hook forward priority 0;
			tcp option 254 exists counter
			tcp option 254 missing counter drop
		}
	}
	END
	upload
	expect_eq "without the option" \
		"$(in_ns "$M" nft list ruleset | grep -c 'packets 0 bytes 0 drop')" 1
}

# nft_reset RULE: it takes the option from some
nft_reset() {
	setup_line
	rules <<-END
	table inet t {
		chain c {
			type filter hook forward priority 0;
			$1 counter reset tcp option 254
		}
	}
	END
	port "$R" r2
	server "$H2" cc bolt listen "$A2" 5001 recv "$BYTES" recv-eof info
	client "$H1" cc bolt connect "$A2" 5001 send "$BYTES" outq info
	server_done
	expect_eq "checksum errors" "$(stack "$H2" TcpInCsumErrors)" 0
	expect_eq "timeouts" "$(stack "$H1" TcpExtTCPTimeouts)" 0
	expect_eq "rule matched" "$(in_ns "$M" nft list ruleset | grep -c 'packets 0 ')" 0
}

test_nft_reset_on_syn() {
	nft_reset 'tcp flags & (syn|ack) == syn'
	expect_eq "client" "$(info "$tmp/client" cc)" reno
	expect_eq "server" "$(info "$tmp/server" cc)" reno
	expect_eq "H1 Fallback" "$(bolt_stat "$H1" Fallback)" 1
	expect_eq "SRC" "$(qdisc "$R" r2 src_sent)" 0
}

test_nft_reset_on_synack() {
	nft_reset 'tcp flags & (syn|ack) == (syn|ack)'
	expect_eq "client" "$(info "$tmp/client" cc)" reno
	expect_eq "server" "$(info "$tmp/server" cc)" reno
	expect_eq "H2 Fallback" "$(bolt_stat "$H2" Fallback)" 1
	expect_eq "SRC" "$(qdisc "$R" r2 src_sent)" 0
}

test_nft_reset_on_all() {
	nft_reset 'meta l4proto tcp'
	expect_eq "client" "$(info "$tmp/client" cc)" reno
	expect_eq "H1 Fallback" "$(bolt_stat "$H1" Fallback)" 1
	expect_eq "SRC" "$(qdisc "$R" r2 src_sent)" 0
}

# A proxy that answers for the server knows nothing of the option: Reno, and no SRC
test_synproxy() {
	setup_line
	in_ns "$M" sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0
	rules <<-'END'
	table inet t {
		chain raw {
			type filter hook prerouting priority -300;
			tcp dport 5001 tcp flags syn notrack
		}
		chain c {
			type filter hook forward priority 0;
			tcp dport 5001 ct state invalid,untracked counter \
				synproxy mss 1460 wscale 7 timestamp sack-perm
			ct state invalid drop
		}
	}
	END
	port "$M" m2
	server "$H2" cc bolt listen "$A2" 5001 recv "$BYTES" recv-eof info
	client "$H1" cc bolt connect "$A2" 5001 send "$BYTES" outq info
	server_done
	expect_eq "proxied" "$(in_ns "$M" nft list ruleset | grep -c 'counter packets 0 ')" 0
	expect_eq "client" "$(info "$tmp/client" cc)" reno
	expect_eq "server" "$(info "$tmp/server" cc)" reno
	expect_eq "H1 Fallback" "$(bolt_stat "$H1" Fallback)" 1
	expect_eq "H1 SynAckRx" "$(bolt_stat "$H1" SynAckRx)" 0
	expect_eq "SRC" "$(qdisc "$M" m2 src_sent)" 0
	expect_eq "checksum errors" "$(stack "$H2" TcpInCsumErrors)" 0
}

run_tests snat_port_inside snat_port_of_translator snat_port_of_translator_ipv6 snat_without_entry snat_without_entry_ipv6 \
	snat_port_outside snat_refused_by_translator snat_download_inside snat_download_outside \
	dnat_port_of_translator dnat_port_inside dnat_port_outside dnat_not_cacheable snat_cacheable messages_translated \
	messages_from_another_port conntrack_of_the_switch \
	conntrack_on_the_way bridge_nf_call bridge_nf_call_ipv6 bridge_nf_call_drops bridge_family \
	bridge_family_drops invalid_drop nft_match nft_reset_on_syn nft_reset_on_synack \
	nft_reset_on_all synproxy
