#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# sfc on a router's port on top of, or below, whatever carries packets: tunnels, IPsec, VLANs,
# bridges, macvlan and ipvlan, VRFs.  Where the port sees the option, the sender must get its SRC;
# where it does not, the connection must do without, and every byte must arrive.

. "$(dirname "$0")/lib.sh"

port() {
	in_ns "$1" tc qdisc add dev "$2" root sfc rate 500mbit
}

# With a round trip that makes room for a window that grows
far_upload() {
	in_ns "$H2" tc qdisc add dev eth0 root netem limit 10000 delay 100us
	upload
}

# hidden NS DEV: the port sees no option in what passes, and leaves it alone
hidden() {
	counters "$1" "$2" data=0 src_sent=0 dec_set=0 inc_cleared=0 opt_bad=0 msg_unfit=0 drops=0
	expect_ge "packets" "$(qdisc "$1" "$2" packets)" 600
	expect_eq "CtlRx" "$(bolt_stat "$H1" CtlRx)" 0
	# nobody says no to INC; net.bolt.debug.max_bdp_pct of 10 Gb/s (setup_ns) and 100 us is 104 packets
	expect_ge "IncRx" "$(bolt_stat "$H2" IncRx)" 50
	expect_le "queue" "$(qdisc "$1" "$2" backlog_peak)" 250000
}

# tunnel KIND WORDS...: from R to H2; what is for 203.0.113.1 and 2001:db8:3::1 goes through it
tunnel() {
	local kind=$1
	shift
	setup_router
	ip -n "$R" link add name tun0 mtu 1400 type "$kind" "$@" local 198.51.100.254 remote 198.51.100.1
	ip -n "$H2" link add name tun0 mtu 1400 type "$kind" "$@" local 198.51.100.1 remote 198.51.100.254
	through_tun0
}

through_tun0() {
	addr "$R" tun0 203.0.113.254/24 2001:db8:3::ff/64
	addr "$H2" tun0 203.0.113.1/24 2001:db8:3::1/64
	ips "$H2" <<-BATCH
		route replace 192.0.2.0/24 via 203.0.113.254
		route replace 2001:db8:1::/64 via 2001:db8:3::ff
	BATCH
	A2=203.0.113.1 B2=2001:db8:3::1
	busywait refused "$A2" || fail "nothing comes through the tunnel"
}

tunnel_inner() {
	tunnel "$@"
	port "$R" tun0
	upload
	src_heard "$H1" "$R" tun0
}

# Both families in the tunnel, the port below it
tunnel_outer() {
	tunnel "$@"
	port "$R" r2
	far_upload
	hidden "$R" r2
}

test_gre_inner() {
	tunnel_inner gre
}

test_gre_inner_ipv6() {
	tunnel gre
	busywait refused "$B2" || fail "no IPv6 through the tunnel"
	port "$R" tun0
	A2=$B2
	upload
	src_heard "$H1" "$R" tun0
}

test_gre_outer() {
	tunnel_outer gre
}

test_gretap_inner() {
	tunnel_inner gretap
}

test_ipip_inner() {
	tunnel_inner ipip
}

test_ipip_outer() {
	tunnel_outer ipip
}

test_vxlan_inner() {
	tunnel_inner vxlan id 1 dstport 4789
}

test_vxlan_outer() {
	tunnel_outer vxlan id 1 dstport 4789
}

# The outer header is IPv6's
test_ip6gre_inner() {
	setup_router
	ip -n "$R" link add name tun0 mtu 1400 type ip6gre local 2001:db8:2::ff remote 2001:db8:2::1
	ip -n "$H2" link add name tun0 mtu 1400 type ip6gre local 2001:db8:2::1 remote 2001:db8:2::ff
	through_tun0
	port "$R" tun0
	upload
	src_heard "$H1" "$R" tun0
}

# --- IPsec ---

# esp FROM TO MODE NS...: both directions, in each namespace
esp() {
	local from=$1 to=$2 mode=$3 key
	key=0x000102030405060708090a0b0c0d0e0f10111213
	shift 3
	for ns; do
		ips "$ns" <<-BATCH
			xfrm state add src $from dst $to proto esp spi 1 reqid 1 mode $mode aead rfc4106(gcm(aes)) $key 128${IF_ID:+ if_id $IF_ID}
			xfrm state add src $to dst $from proto esp spi 2 reqid 1 mode $mode aead rfc4106(gcm(aes)) $key 128${IF_ID:+ if_id $IF_ID}
		BATCH
	done
}

# policy NS FROM TO DIR MODE [OUTER-FROM OUTER-TO]
policy() {
	ip -n "$1" xfrm policy add src "$2" dst "$3" dir "$4" \
		${IF_ID:+if_id "$IF_ID"} tmpl ${6:+src "$6" dst "$7"} proto esp reqid 1 mode "$5" || fail "policy in $1"
}

transport() {
	setup_router
	esp "$A1" "$A2" transport "$H1" "$H2"
	policy "$H1" "$A1" "$A2" out transport
	policy "$H1" "$A2" "$A1" in transport
	policy "$H2" "$A2" "$A1" out transport
	policy "$H2" "$A1" "$A2" in transport
	busywait refused "$A2" || fail "nothing comes through IPsec"
}

test_esp_transport() {
	transport
	port "$R" r2
	far_upload
	hidden "$R" r2
}

# The sender's own port comes after encryption as well
test_esp_transport_own_port() {
	transport
	port "$H1" eth0
	far_upload
	hidden "$H1" eth0
}

#	H1 ------ r1  R  r2 ===== ESP ===== eth0 H2
esp_tunnel() {
	local r=198.51.100.254
	setup_router
	esp "$r" "$A2" tunnel "$R" "$H2"
	policy "$R" 192.0.2.0/24 "$A2" out tunnel "$r" "$A2"
	policy "$R" "$A2" 192.0.2.0/24 fwd tunnel "$A2" "$r"
	policy "$R" "$A2" 192.0.2.0/24 in tunnel "$A2" "$r"
	policy "$H2" "$A2" 192.0.2.0/24 out tunnel "$A2" "$r"
	policy "$H2" 192.0.2.0/24 "$A2" in tunnel "$r" "$A2"
	busywait refused "$A2" || fail "nothing comes through IPsec"
}

test_esp_tunnel() {
	esp_tunnel
	port "$R" r2
	far_upload
	hidden "$R" r2
}

# Before encryption the port sees all, and is heard
test_esp_tunnel_before() {
	esp_tunnel
	port "$H1" eth0
	upload
	src_heard "$H1" "$H1" eth0
}

# After decryption too; what it says goes back encrypted
test_esp_tunnel_behind() {
	esp_tunnel
	port "$R" r1
	download
	src_heard "$H2" "$R" r1
}

# An interface for what IPsec carries (xfrmi): tun0 at R and H2, between the two
xfrmi() {
	local r=198.51.100.254 ns dev from to
	setup_router
	for ns in "$R" "$H2"; do
		dev=eth0 from=$A2 to=$r
		[ "$ns" = "$H2" ] || dev=r2 from=$r to=$A2
		ip -n "$ns" link add name tun0 mtu 1400 type xfrm dev "$dev" if_id 42
		IF_ID=42 esp "$r" "$A2" tunnel "$ns"
		IF_ID=42 policy "$ns" 0.0.0.0/0 0.0.0.0/0 out tunnel "$from" "$to"
		IF_ID=42 policy "$ns" 0.0.0.0/0 0.0.0.0/0 in tunnel "$to" "$from"
		IF_ID=42 policy "$ns" 0.0.0.0/0 0.0.0.0/0 fwd tunnel "$to" "$from"
	done
	through_tun0
}

test_xfrmi() {
	xfrmi
	port "$R" tun0
	upload
	src_heard "$H1" "$R" tun0
	expect_ge "encrypted" "$(in_ns "$R" ip -s xfrm state list spi 1 | grep -cE '[1-9][0-9]{5,}\(bytes\)')" 1
}

# The port towards the sender, who is behind IPsec
test_xfrmi_back() {
	xfrmi
	port "$R" r1
	download
	src_heard "$H2" "$R" r1
}

# The sender's own
test_xfrmi_own() {
	xfrmi
	port "$H2" tun0
	download
	src_heard "$H2" "$H2" tun0
}

test_xfrmi_below() {
	xfrmi
	port "$R" r2
	far_upload
	hidden "$R" r2
}

# --- VLANs and bridges ---

# The port is the VLAN device, or the one below two tags
vlans() {
	local ns dev
	setup_router
	for ns in "$R" "$H2"; do
		dev=eth0
		[ "$ns" = "$H2" ] || dev=r2
		ips "$ns" <<-BATCH
			link add link $dev name v10 type vlan proto 802.1ad id 10
			link set v10 up
			link add link v10 name tun0 type vlan id 20
		BATCH
	done
	through_tun0
}

test_vlan_device() {
	vlans
	port "$R" tun0
	upload
	src_heard "$H1" "$R" tun0
}

test_two_tags() {
	vlans
	port "$R" r2
	upload
	src_heard "$H1" "$R" r2
}

#	H1 eth0 -- r1  R (bridge) r2 -- eth0 H2, VLAN 10 untagged on r1, tagged on r2
test_vlan_filtering_bridge() {
	setup_ns H1 R H2
	ip link add name eth0 netns "$H1" type veth peer name r1 netns "$R"
	ip link add name r2 netns "$R" type veth peer name eth0 netns "$H2"
	ips "$R" <<-BATCH
		link add br0 type bridge vlan_filtering 1 vlan_default_pvid 0
		link set r1 master br0 up
		link set r2 master br0 up
		link set br0 up
	BATCH
	in_ns "$R" bridge vlan add vid 10 dev r1 pvid untagged
	in_ns "$R" bridge vlan add vid 10 dev r2
	ips "$H2" <<-BATCH
		link set eth0 up
		link add link eth0 name v10 type vlan id 10
	BATCH
	addr "$H1" eth0 192.0.2.1/24 2001:db8::1/64
	addr "$H2" v10 192.0.2.2/24 2001:db8::2/64
	A2=192.0.2.2 B2=2001:db8::2
	wait_up
	port "$R" r2
	upload
	src_heard "$H1" "$R" r2
}

# --- devices that share another ---

#	H1 eth0 (on p) - P p -------- r1  R  r2 -------- eth0 H2
# shared KIND MODE: the port is p; what it says is for H1, not for P
shared() {
	local kind=$1 mode=$2
	setup_ns H1 P R H2
	ip link add name p netns "$P" type veth peer name r1 netns "$R"
	ip link add name r2 netns "$R" type veth peer name eth0 netns "$H2"
	ip -n "$P" link set p up
	ip -n "$P" link add link p name eth0 netns "$H1" type "$kind" mode "$mode"
	addr "$R" r1 192.0.2.254/24 2001:db8:1::ff/64
	addr "$R" r2 198.51.100.254/24 2001:db8:2::ff/64
	forward "$R"
	addr "$H1" eth0 192.0.2.1/24 2001:db8:1::1/64
	if [ "$mode" = l3 ]; then	# no neighbours there, and none who ask
		ip -n "$H1" route add default dev eth0
		ip -n "$H1" -6 route add default dev eth0
		in_ns "$P" sysctl -qw net.ipv4.conf.p.proxy_arp=1 net.ipv6.conf.p.proxy_ndp=1
		ip -n "$P" addr add 192.0.2.200/32 dev p
		ip -n "$P" addr add 2001:db8:1::200/64 dev p nodad
		ip -n "$P" route add default via 192.0.2.254 dev p onlink
		ip -n "$P" -6 route add default via 2001:db8:1::ff dev p
		in_ns "$R" ip neigh add 192.0.2.1 dev r1 lladdr "$(mac "$P" p)"
		in_ns "$R" ip neigh add 2001:db8:1::1 dev r1 lladdr "$(mac "$P" p)"
	else
		ip -n "$H1" route add default via 192.0.2.254
		ip -n "$H1" -6 route add default via 2001:db8:1::ff
	fi
	addr "$H2" eth0 198.51.100.1/24 2001:db8:2::1/64 198.51.100.254 2001:db8:2::ff
	A2=198.51.100.1 B2=2001:db8:2::1
	wait_up
	port "$P" p
	upload
	src_heard "$H1" "$P" p
}

test_macvlan() {
	shared macvlan bridge
}

test_ipvlan_l2() {
	shared ipvlan l2
}

test_ipvlan_l3() {
	shared ipvlan l3
}

# The port may be the macvlan device itself
test_macvlan_device() {
	shared macvlan private
	in_ns "$P" tc qdisc del dev p root
	bolt_stats_save "$H1"
	port "$H1" eth0
	upload
	expect_eq "SRC" "$(bolt_stats_diff "$H1" | sed -n 's/^SrcRx=//p')" \
		"$(qdisc "$H1" eth0 src_sent)"
	expect_ge "SRC sent" "$(qdisc "$H1" eth0 src_sent)" 10
}

# --- VRF ---

test_vrf_at_the_switch() {
	setup_router
	vrf "$R" r1 r2
	wait_up
	port "$R" r2
	upload
	src_heard "$H1" "$R" r2
}

# The sender's device is in one; its listener is in none, and so is the control port
vrf_sender() {
	setup_router
	vrf "$H2" eth0
	ip -n "$H2" route add default via 198.51.100.254 vrf red
	ip -n "$H2" -6 route replace default via 2001:db8:2::ff dev eth0 vrf red
	in_ns "$H2" sysctl -qw net.ipv4.tcp_l3mdev_accept=1 net.ipv4.udp_l3mdev_accept="$1"
	wait_up
	port "$R" r1
	# an address in a VRF cannot be bound to from outside
	LISTEN=0.0.0.0 download
}

test_vrf_sender() {
	vrf_sender 1
	src_heard "$H2" "$R" r1
}

# Without net.ipv4.udp_l3mdev_accept what comes through a VRF finds no control port
test_vrf_sender_unheard() {
	vrf_sender 0
	expect_ge "SRC sent" "$(qdisc "$R" r1 src_sent)" 10
	expect_eq "CtlRx" "$(bolt_stat "$H2" CtlRx)" 0
}

run_tests gre_inner gre_inner_ipv6 gre_outer gretap_inner ipip_inner ipip_outer vxlan_inner \
	vxlan_outer ip6gre_inner esp_transport esp_transport_own_port esp_tunnel \
	esp_tunnel_before esp_tunnel_behind xfrmi xfrmi_back xfrmi_own xfrmi_below vlan_device two_tags vlan_filtering_bridge macvlan \
	ipvlan_l2 ipvlan_l3 macvlan_device vrf_at_the_switch vrf_sender vrf_sender_unheard
