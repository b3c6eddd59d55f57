#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# subrtt doctor: each thing that a host or router may lack is taken away in a namespace of its own.
# doctor must find that and nothing else, and where the command that it proposes can be run here, it
# is run and must fix it.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_subrtt.sh"

release=$(uname -r)

#	H1 eth0 ----- eth0 H2: a host where nothing is missing
setup_host() {
	setup_pair
	in_ns "$H1" sysctl -qw net.bolt.base_rtt_ns=8000 net.bolt.sfc=1
}

# Runs it, in H1
fix() {
	local how
	how=$(how "$1")
	expect "$how" in_ns "$H1" bash -c "${how//sudo /}"
}

# plain CHECK: the command without the comment behind it
plain() {
	local command
	command=$(how "$1")
	echo "${command%%   #*}"
}

test_healthy() {
	setup_host
	doctor
	only
	finds kernel ok "^Linux $release "
	finds module ok '^tcp_bolt is loaded'
	finds module ok '^sch_sfc is loaded'
	finds tc ok 'tc knows sfc'
	finds speed ok '^departures are spaced at 10\.0Gbps \(net\.bolt\.rate_mbps\)'
	finds port ok '^UDP 12311 receives on each of 5 local addresses'
	finds filter ok 'no filter'
	finds peers ok '^0 connections'
	# a datagram of one byte for each, refused for what it is
	bolt_stats_save "$H1"
	doctor host
	expect_eq "what it sent" "$(bolt_stats_diff "$H1" | tr '\n' ' ')" "CtlRx=5 CtlShort=5 "
	doctor switch
	only
	expect_eq "last line" "$(tail -1 "$tmp/out")" "nothing to fix"
	ctl -j -n "$H1" doctor
	expect_eq "JSON" "$(json '"\(.fix) \(.ok == ([.checks[] | select(.status == "ok")] | length)) \(
		[.checks[] | select(.text == "tc knows sfc").check][0])"')" "0 true tc"
}

test_kernel() {
	local as='setarch --uname-2.6'
	setup_host
	doctor
	finds kernel fix '^Linux 2\.6\..* is not supported: 6\.1 to 7\.3 are'
	# of Debian 12; a boot loader prefers the newest that is there
	expect_eq "how" "$(plain kernel)" "sudo apt-get install linux-image-\$(dpkg --print-architecture) && sudo reboot"
	only kernel
}

# fake [loaded] SHELL-COMMANDS: subrtt sees a /sys and a /lib/modules of our own making
fake() {
	local keep=:
	[ "$1" != loaded ] || { keep='mkdir -p /sys/module/tcp_bolt /sys/module/sch_sfc'; shift; }
	cat >"$tmp/fake" <<-END
		set -e
		mount -t tmpfs none /sys
		mount -t tmpfs none /lib/modules
		mount -t tmpfs none /var/lib
		mkdir -p /sys/module /sys/kernel/security /sys/firmware/efi/efivars /lib/modules/$release
		$keep
		$*
		exec "\$@"
	END
	as="unshare -m bash $tmp/fake"
}

# depmod RELEASE MODULE...: as if it had found them
fake_depmod() {
	local release=$1 m
	shift
	printf 'mkdir -p /lib/modules/%s;' "$release"
	for m; do
		printf 'echo updates/dkms/%s.ko.xz: >>/lib/modules/%s/modules.dep;' "$m" "$release"
	done
}

test_modules() {
	local as='' headers="mkdir -p /lib/modules/$release/build; touch /lib/modules/$release/build/Makefile;"
	setup_host
	fake :
	doctor
	only module
	finds module fix '^tcp_bolt is not installed '
	finds module fix '^sch_sfc is not installed '
	# no headers of this kernel, and no archive has any
	expect_eq "how, no headers" "$(plain module)" "make KDIR=DIR && sudo make KDIR=DIR install"
	fake "$headers"
	doctor host
	expect_eq "how" "$(plain module)" "make packages && sudo apt-get install ./build/packages/subrtt-dkms_*.deb"
	only module
	expect_eq "a host needs no sch_sfc" "$(grep -c sch_sfc "$tmp/out")" 0
	fake "$(fake_depmod "$release" tcp_bolt sch_sfc)"
	doctor
	only module
	finds module fix '^tcp_bolt is not loaded'
	expect_eq "fix" "$(grep -o -- '-> sudo .*' "$tmp/out" | paste -sd,)" \
		"-> sudo modprobe tcp_bolt,-> sudo modprobe sch_sfc"
	fake "$(fake_depmod 6.1.0-99-amd64 tcp_bolt sch_sfc)"
	doctor
	only module
	finds module fix "^tcp_bolt is installed for Linux 6.1.0-99-amd64, not for this one, $release"
	fake "$(fake_depmod 6.1.0-99-amd64 tcp_bolt) $headers mkdir -p /var/lib/dkms/subrtt"
	doctor host
	expect_eq "how, dkms has the sources" "$(plain module)" "sudo dkms autoinstall -k $release"
	fake "mkdir -p /var/lib/dkms/subrtt"
	doctor host
	expect_eq "how, dkms has the sources, but no headers" "$(plain module)" \
		"sudo apt-get install linux-headers-$release && sudo dkms autoinstall -k $release"
	# one whose name only begins so
	fake "$(fake_depmod "$release" tcp_bolt_other xtcp_bolt)"
	doctor host
	finds module fix '^tcp_bolt is not installed '
}

# After an upgrade of the tools
test_other_version() {
	local before field other how dev del='' as="env LD_PRELOAD=$BOLT_PROGRAMS/bolt_nlfault.so BOLT_NLFAULT=16:ver:1000"
	setup_host
	doctor host
	only module
	finds module fix '^the loaded tcp_bolt is of another version than this subrtt'
	expect_eq "how" "$(how module)" "sudo modprobe -r tcp_bolt; sudo modprobe tcp_bolt; sudo sysctl --pattern '^net.bolt' --system"

	# what is taken by default holds the module; its settings are those of the files
	mkdir -p /run/sysctl.d
	defer rm /run/sysctl.d/bolt.conf
	printf 'net.bolt.base_rtt_ns=9000\nnet.ipv4.ip_forward=0\n' >/run/sysctl.d/bolt.conf
	in_ns "$H1" sysctl -qw net.ipv4.ip_forward=1
	mkdir -p "$tmp/bin"
	cat >"$tmp/bin/modprobe" <<-END
		#!/bin/sh
		[ "\$1" = -r ] || exec insmod "$BOLT_MODULES/\$1.ko"
		rmmod "\$2" && echo "\$2" >>$tmp/replaced
	END
	chmod +x "$tmp/bin/modprobe"
	in_ns "$H1" sysctl -qw net.ipv4.tcp_congestion_control=swift
	doctor host
	PATH=$tmp/bin:$PATH fix module
	expect_eq "new sockets" "$(in_ns "$H1" sysctl -n net.ipv4.tcp_congestion_control)" swift
	expect_eq "settings" "$(in_ns "$H1" sysctl -n net.bolt.base_rtt_ns net.ipv4.ip_forward | paste -sd' ')" "9000 1"
	H1=''
	as=${as/16:/36:}
	before=$(sysctl -n net.core.default_qdisc)
	defer sysctl -qw "net.core.default_qdisc=$before"
	sysctl -qw net.core.default_qdisc=sfc
	# the kernel's, which has no handle
	ip link add i0 type ifb
	ip link set i0 up
	doctor switch
	finds qdisc fix '^the loaded sch_sfc is of another version than this subrtt'
	how=$(how qdisc)
	PATH=$tmp/bin:$PATH expect "$how" bash -c "${how//sudo /}"
	expect_eq "new devices" "$(sysctl -n net.core.default_qdisc)" sfc
	expect_eq "replaced" "$(paste -sd' ' "$tmp/replaced")" "tcp_bolt sch_sfc"
	ip link del i0

	# one that is called the same, of other sources
	sysctl -qw "net.core.default_qdisc=$before"
	cat >"$tmp/bin/modinfo" <<-END
		#!/bin/sh
		[ "\$*" = "-F \$(cat $tmp/other)" ] && echo 0123 || cat "/sys/module/\$3/\$2"
	END
	chmod +x "$tmp/bin/modinfo"
	defer rm "$tmp/bin/modinfo"
	as="env PATH=$tmp/bin:$PATH"
	echo none >"$tmp/other"
	doctor
	only
	ip link add d0 type dummy
	defer ip link del d0
	expect "sfc" tc qdisc replace dev d0 root sfc rate 1gbit
	for dev in d1 d2; do
		ip link add "$dev" type dummy
		defer ip link del "$dev"
		expect "hold" tc qdisc replace dev "$dev" root sfc_hold notagkey
	done
	for dev in d0 d1 d2; do
		del+="sudo tc qdisc replace dev $dev root pfifo_fast; sudo tc qdisc del dev $dev root; "
	done
	for how in version:tcp_bolt:tcp_bolt: "srcversion:bolt_ctl:tcp_bolt sch_sfc:$del"; do
		IFS=: read -r field other how before <<<"$how"
		echo "$field $other" >"$tmp/other"
		doctor
		only module
		finds module fix "^loaded, but not as installed: $other\$"
		expect_eq "how" "$(plain module)" \
			"${before}sudo modprobe -r -a $how; sudo modprobe -a $how; sudo sysctl --pattern '^net.bolt' --system"
	done
}

# The kernel loads signed modules only, for either reason; and the log of one that was refused
test_secure_boot() {
	local as='' efi='printf "\6\0\0\0\1" >/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c'
	local lockdown='echo "none [integrity] confidentiality" >/sys/kernel/security/lockdown'
	local enforce='mkdir -p /sys/module/module/parameters; echo Y >/sys/module/module/parameters/sig_enforce'
	local installed enroll="sudo mokutil --import /var/lib/dkms/mok.pub && sudo reboot" v
	setup_host
	mkdir -p "$tmp/bin"
	for v in mokutil openssl dkms; do
		ln -s /bin/true "$tmp/bin/$v"
	done
	v=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' ../../dkms.conf)
	installed=$(fake_depmod "$release" tcp_bolt sch_sfc)
	fake "$installed $efi; $lockdown"
	doctor host
	only module signing
	finds signing fix '^kernel lockdown is on: tcp_bolt is not signed and will not be loaded \(Secure Boot\)'
	fake "$installed $enforce"
	doctor host
	only module signing
	finds signing fix '^module.sig_enforce is on: tcp_bolt is not signed and will not be loaded$'
	fake "$installed $enforce; export PATH=$tmp/bin:\$PATH"
	doctor host
	expect_eq "how, without dkms" "$(plain signing)" \
		"sudo rm -f \$(/sbin/modinfo -n bolt_ctl tcp_bolt sch_sfc) && sudo dkms install . && $enroll"
	fake "$installed $enforce; export PATH=$tmp/bin:\$PATH; mkdir -p /var/lib/dkms/subrtt/$v"
	doctor host
	expect_eq "how, with dkms" "$(plain signing)" \
		"sudo dkms build --force subrtt/$v && sudo dkms install --force subrtt/$v && $enroll"
	fake "$installed $enforce; export PATH=$tmp/bin:\$PATH; rm $tmp/bin/mokutil; mkdir -p /var/lib/dkms/subrtt/$v"
	doctor host
	[ -x /usr/bin/mokutil ] || expect_eq "how, without mokutil" "$(plain signing)" \
		"sudo dkms build --force subrtt/$v && sudo dkms install --force subrtt/$v && sudo apt-get install mokutil && $enroll"
	# what is not there yet cannot be signed
	fake "$lockdown"
	doctor
	only module
	finds signing note '^kernel lockdown is on: modules must be signed'
	fake "$efi; echo '[none] integrity confidentiality' >/sys/kernel/security/lockdown; $installed"
	doctor
	only module
	finds signing ok '^modules need no signature, though Secure Boot is on'
	fake loaded "$efi; $lockdown"
	doctor
	only
	finds signing ok 'and the modules are loaded'
	# signed, by a key that the kernel does or does not know
	printf '#!/bin/sh\necho PKCS#7\n' >"$tmp/bin/modinfo"
	chmod +x "$tmp/bin/modinfo"
	defer rm "$tmp/bin/modinfo"
	fake "$installed $efi; $lockdown; export PATH=$tmp/bin:\$PATH"
	doctor host
	only module
	finds signing note 'is signed; if loading fails with "Key was rejected"'
	echo "<5>Loading of module with unavailable key is rejected" >/dev/kmsg
	doctor host
	only module signing
	finds signing fix "tcp_bolt's key is not enrolled \(Secure Boot\)"
}

test_tc() {
	local as='env TC_LIB_DIR=/nowhere'
	setup_host
	doctor
	only tc
	finds tc fix 'tc has no plugin q_sfc.so'
	expect_eq "how" "$(plain tc)" "make packages && sudo apt-get install ./build/packages/subrtt-tools_*.deb"
	doctor host
	only
	echo 'mount -t tmpfs none /usr/sbin; mount -t tmpfs none /usr/local; exec "$@"' >"$tmp/fake"
	as="unshare -m bash $tmp/fake env PATH=/nowhere"
	subrtt=$(realpath "$(command -v "$subrtt")") doctor
	finds tc fix 'tc is not installed'
	finds filter note 'nft is not installed'
	only tc
}

test_sysctls() {
	setup_host
	doctor host
	finds sysctl note 'new sockets use cubic'
	finds sysctl ok 'base round trip 8.00us'
	in_ns "$H1" sysctl -qw net.ipv4.tcp_congestion_control=bolt net.bolt.base_rtt_ns=0
	doctor host
	only
	finds sysctl ok 'new sockets use bolt'
	finds sysctl note 'base_rtt_ns is 0'
}

test_hooks() {
	setup_host
	in_ns "$H1" sysctl -qw net.bolt.sfc=0 net.bolt.hooks=0
	doctor host
	finds sysctl fix 'net.bolt.hooks is 0'
	only sysctl
	fix sysctl
	expect_eq "hooks" "$(in_ns "$H1" sysctl -n net.bolt.hooks)" 1
	doctor host
	only
}

test_port() {
	setup_pair
	doctor host
	only
	finds port note '^UDP 12311 is not open yet'
	take_port "$H1" 12311
	doctor host
	only port
	finds port fix '^UDP 12311 is in use by python3 \(process [0-9]+\), so control messages'
	fix port
	in_ns "$H1" sysctl -qw net.bolt.sfc=1
	doctor host
	only
	finds port ok '^UDP 12312 receives'
	# an address in a VRF is local there only
	expect "VRF" ip -n "$H1" link add red up type vrf table 10
	expect "VRF" ip -n "$H1" link set eth0 master red
	doctor host
	only port
	finds port fix '^UDP 12312 does not receive what is sent to 192\.0\.2\.1, .*: net\.ipv4\.udp_l3mdev_accept is 0'
	fix port
	doctor host
	only
	finds port ok '^UDP 12312 receives'
}

# A host got its key before its own sfc
test_key() {
	local key=00112233445566778899aabbccddeeff how
	setup_host
	in_ns "$H1" sysctl -qw "net.bolt.tag_key=$key"
	expect "sfc" in_ns "$H1" tc qdisc replace dev eth0 root sfc rate 10mbit
	server "$H2" cc bolt listen "$A2" 5001 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 200000
	server_done
	# of another version
	in_ns "$H2" bash -c 'printf "%064d" 0 >/dev/udp/192.0.2.1/12311'
	doctor
	only key
	finds key fix '^eth0 sends control messages without a tag'
	finds messages note '^[0-9]+ control messages refused so far \(CtlTag\): tag missing'
	finds messages note '^1 control messages refused so far \(CtlVersion\)'
	how=$(plain key)
	expect "$how" in_ns "$H1" bash -c "$(sed "s/sudo //; s/KEY/$key/" <<<"$how")"
	doctor
	only
	# one that sends none
	expect "sfc" in_ns "$H1" tc qdisc replace dev eth0 root sfc rate 10mbit nobolt notagkey
	doctor
	only
}

nft_() {
	in_ns "$H1" nft "$@"
}

# rules TEXT: those and no others; nft wants a chain to end with its line
rules() {
	printf 'flush ruleset\n%s\n' "${1//; \}/; \}$'\n'}" | nft_ -f - || fail "nft: $1"
}

# What is found, with + for blanks, and the rules; the command that is named must fix it
test_filter() {
	local text found
	setup_host
	while read -r found text; do
		rules "$text"
		doctor host
		case $found in
		none)
			only
			finds filter ok 'no filter'
			continue
			;;
		# it may let in just the switches; who they are only their owner knows
		note)
			only
			finds filter note 'lets UDP port 12311 in from some senders or devices only'
			continue
			;;
		esac
		# shellcheck disable=SC2086 # words
		only ${found//+/ }
		finds filter fix 'UDP port 12311'
		fix filter
		doctor host
		only
		finds filter ok 'no filter'
	done <<-'TABLE'
		filter+port table inet f { chain in { type filter hook input priority 0; udp dport 12311 drop; } }
		filter+port table ip f { chain in { type filter hook input priority 0; udp dport { 53, 12311 } counter drop; } }
		filter+port table inet f { chain in { type filter hook input priority 0; meta l4proto udp th dport 12000-13000 reject; } }
		filter table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; tcp dport 22 accept; } }
		filter table inet f { chain in { type filter hook input priority 0; iifname lo accept; tcp dport 22 accept; counter drop; } }
		filter table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; tcp dport 12311 accept; } }
		filter table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; udp dport 450 accept; } }
		none table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; udp dport 12311 accept; } }
		none table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; udp dport { 53, 12000-13000 } accept; } }
		none table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; meta l4proto udp accept; } }
		none table inet f { chain in { type filter hook input priority 0; policy drop; tcp dport 12311 drop; counter accept; } }
		filter table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; counter ct state established accept; } }
		note table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; meta l4proto udp limit rate 10/second accept; } }
		note table inet f { chain in { type filter hook input priority 0; policy drop; ip saddr 192.0.2.2 meta l4proto udp accept; } }
		filter table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; udp sport 53 accept; ct state established meta l4proto udp accept; } }
		none table inet f { chain ok { udp dport 12311 accept; } chain in { type filter hook input priority 0; policy drop; iifname lo accept; jump ok; } }
		none table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; jump ok; } chain ok { udp dport 12311 accept; } }
		none table inet f { chain in { type filter hook input priority 0; tcp dport 12311 drop; udp dport 1231 drop; udp dport != 12311 accept; } }
		none table inet f { chain in { type filter hook forward priority 0; policy drop; } }
		none table inet f { chain in { type nat hook input priority 100; udp dport 12311 accept; } }
		none table inet f { chain in { type filter hook input priority 0; udp dport 12311 accept; udp dport 12000-13000 drop; } }
		filter table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; } chain out { type filter hook output priority 0; udp dport 12311 accept; } }
		note table inet f { chain in { type filter hook input priority 0; ip saddr 192.0.2.2 udp dport 12311 accept; udp dport 12311 counter drop; } }
		note table inet f { chain in { type filter hook input priority 0; udp dport 12311 ip saddr != 192.0.2.0/24 drop; } }
		note table inet f { chain ctl { ip saddr 192.0.2.2 accept; drop; } chain in { type filter hook input priority 0; policy drop; iifname lo accept; udp dport 12311 jump ctl; } }
		none table inet f { set p { type inet_service; elements = { 53, 12311 }; } chain in { type filter hook input priority 0; policy drop; iifname lo accept; udp dport @p accept; } }
		none table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; udp dport vmap { 53 : drop, 12311 : accept }; } }
		filter table inet f { set p { type inet_service; elements = { 53 }; } chain in { type filter hook input priority 0; policy drop; iifname lo accept; udp dport @p accept; } }
		filter+port table inet f { chain in { type filter hook input priority 0; udp dport vmap { 53 : accept, 12311 : drop }; } }
		filter+port table inet f { chain in { type filter hook input priority 0; udp dport 12311 drop comment "accept @nobody"; } }
	TABLE
	# what this machine's own sfc sends is untracked
	expect "sfc" in_ns "$H1" tc qdisc replace dev eth0 root sfc rate 1gbit
	while read -r found text; do
		rules "table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; $text accept; } }"
		doctor host
		only
		finds filter "$found" 'no filter|which is untracked$'
	done <<-'TABLE'
		note ct state new udp dport 12311
		note udp dport 12311 ct state { established, new }
		ok ct state new,untracked udp dport 12311
		ok ct state new udp dport 12311 accept; udp dport 12311
		ok udp dport 12311
	TABLE
	in_ns "$H1" tc qdisc del dev eth0 root
	# behind more chains than anybody reads
	rules "table inet a { $(printf 'chain c%s { }; ' {1..70}) }"$'\n'"table inet f { chain in { type filter hook input priority 0; policy drop; iifname lo accept; } }"
	doctor host
	only filter
	finds filter fix 'table inet f drops what no rule accepts'
	# a router forwards control messages, a host does not
	rules 'table inet f { chain fw { type filter hook forward priority 0; policy drop; } }'
	in_ns "$H1" sysctl -qw net.ipv4.ip_forward=1
	doctor
	only filter
	finds filter fix '^chain fw of table inet f drops what no rule accepts'
	in_ns "$H1" sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=1
	doctor
	only filter
	fix filter
	doctor
	only
	# what leaves is dropped: the reason is said
	rules 'table inet f { chain out { type filter hook output priority 0; udp dport 12311 drop; } }'
	doctor
	only port
	finds port fix '192\.0\.2\.1: Operation not permitted'
}

# The same of the older iptables, which the lab's kernel has not: a program that keeps its rules in a file
test_legacy() {
	local found text as="unshare -m bash $tmp/fake"
	setup_host
	mkdir -p "$tmp/bin" "$tmp/net"
	cat >"$tmp/bin/iptables-legacy" <<-END
		#!/bin/sh
		[ "\$1" = -I ] || exec cat $tmp/legacy
		shift
		sed -i "1a -A \$*" $tmp/legacy
	END
	chmod +x "$tmp/bin/iptables-legacy"
	for i in /proc/net/*; do
		ln -s "/proc/thread-self/net/${i##*/}" "$tmp/net"
	done
	echo filter >"$tmp/net/ip_tables_names"
	# shellcheck disable=SC2016 # for the other bash
	echo "mount --bind $tmp/net /proc/\$\$/net && PATH=$tmp/bin:\$PATH exec \"\$@\"" >"$tmp/fake"
	while read -r found text; do
		printf '%s\n' "${text//; /$'\n'}" >"$tmp/legacy"
		doctor host
		case $found in
		none) only && finds filter ok 'no filter' ;;
		note) only && finds filter note 'looks at more than the port 12311 of UDP' ;;
		filter)
			only filter
			finds filter fix 'chain INPUT drops UDP port 12311'
			PATH=$tmp/bin:$PATH fix filter
			doctor host
			only
			finds filter ok 'no filter'
			;;
		esac
	done <<-'TABLE'
		filter -P INPUT DROP
		filter -P INPUT DROP; -A INPUT -i lo -j ACCEPT; -A INPUT -p tcp -m tcp --dport 12311 -j ACCEPT
		filter -P INPUT DROP; -A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT; -A INPUT -j LOG --log-prefix "-j ACCEPT"
		filter -P INPUT ACCEPT; -A INPUT -p icmp -j ACCEPT; -A INPUT -j REJECT --reject-with icmp-port-unreachable
		filter -P INPUT ACCEPT; -A INPUT -p udp -m udp --dport 12000:13000 -j DROP; -A INPUT -p udp -m udp --dport 12311 -j ACCEPT
		filter -P INPUT DROP; -A INPUT -p udp -m udp --dport 53 -m comment --comment "12311" -j ACCEPT
		none -P INPUT DROP; -A INPUT -p udp -m multiport --dports 53,12311 -j ACCEPT; -A INPUT -j DROP
		none -P INPUT ACCEPT; -A INPUT -p udp -m udp ! --dport 12311 -j DROP
		none -P INPUT DROP; -A INPUT -p udp -j ACCEPT
		none -P INPUT DROP; -A INPUT -p udp -m udp --dport 12311 -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT
		none -P INPUT DROP; -A INPUT -f -j DROP; -A INPUT -p udp -m udp --dport 12311 -j ACCEPT
		note -P INPUT ACCEPT; -A INPUT ! -i lo -p udp -m udp --dport 12311 -j DROP
		filter -P INPUT ACCEPT; -A INPUT -m comment --comment "rest" -j DROP
		none -P INPUT DROP; -A INPUT -j ACCEPT
		none -P INPUT ACCEPT; -N SWITCHES; -A INPUT -j SWITCHES
		none -P INPUT DROP; -N S; -N T; -A INPUT -j S; -A S -j T; -A S -j ACCEPT; -A T -p tcp -j DROP; -A T -j RETURN; -A T -j DROP
		none -P INPUT ACCEPT; -N S; -A INPUT -g S; -A INPUT -j DROP; -A S -p udp -m udp --dport 53 -j DROP
		none -P INPUT ACCEPT; -A INPUT -m conntrack --ctstate INVALID -j DROP; -A INPUT ! -p udp -j DROP
		note -P INPUT ACCEPT; -A INPUT -j UNKNOWN
		note -P INPUT ACCEPT; -N S; -A INPUT -j S; -A S -s 192.0.2.2/32 -j RETURN; -A S -j DROP
		note -P INPUT ACCEPT; -A INPUT -s 192.0.2.0/24 -j DROP
		filter -P INPUT ACCEPT; -N S; -A INPUT -p udp -j S; -A S -j LOG; -A S -j DROP
		filter -P INPUT ACCEPT; -A INPUT ! -p tcp -j DROP
		filter -P INPUT ACCEPT; -A INPUT -p udp -m udp ! --dport 53 -j DROP
		note -P INPUT DROP; -A INPUT -j SWITCHES
		note -P INPUT DROP; -A INPUT -p udp -m udp --dport 12311 -j SWITCHES
		note -P INPUT DROP; -A INPUT -s 192.0.2.2/32 -p udp -m udp --dport 12311 -j ACCEPT
		note -P INPUT ACCEPT; -A INPUT -s 192.0.2.2/32 -p udp -m udp --dport 12311 -j DROP
		note -P INPUT ACCEPT; -A INPUT -p udp -m udp --dport 12311 -m set ! --match-set switches src -j DROP
	TABLE
	# what this machine's own sfc sends is untracked
	expect "sfc" in_ns "$H1" tc qdisc replace dev eth0 root sfc rate 1gbit
	for text in ok:UNTRACKED,NEW note:NEW,ESTABLISHED; do
		printf -- '-P INPUT DROP\n-A INPUT -p udp -m udp --dport 12311 -m conntrack --ctstate %s -j ACCEPT\n' \
			"${text#*:}" >"$tmp/legacy"
		doctor host
		only
		finds filter "${text%:*}" 'no filter|which is untracked$'
	done
}

test_peers() {
	setup_host
	server "$H2" cc cubic listen "$A2" 5001 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 1000
	server_done
	busywait test -z "$(in_ns "$H1" ss -Htan state established)"
	doctor host
	only
	finds peers note '^1 of 1 connections so far ran without the option \(0 lost it later\)'
	# of swift, and one whose peer changes its congestion control in the midst of data
	server "$H2" cc cubic listen "$A2" 5001 recv-eof
	client "$H1" cc swift connect "$A2" 5001 send 1000
	server_done
	in_ns "$H2" tc qdisc add dev eth0 root netem delay 20ms limit 10000
	server "$H1" cc swift listen "$A1" 5001 recv 1000 send 1000000 outq recv-eof
	client "$H2" cc swift connect "$A1" 5001 send 1000 outq cc cubic recv 1000000
	server_done
	doctor host
	finds peers note '^3 of 3 connections so far ran without the option \(1 lost it later\)'
}

test_devices() {
	local as=''
	setup_host
	doctor
	finds qdisc note 'no device has sfc'
	expect "veth" in_ns "$H1" tc qdisc replace dev eth0 root sfc
	doctor
	only queue
	finds queue fix '^eth0 has no queue of its own'
	fix queue
	doctor
	only
	finds qdisc ok '^1 ports with sfc'
	# a device that does not say its speed
	expect "dummy" ip -n "$H1" link add d0 type dummy
	ip -n "$H1" link set d0 up
	expect "dummy" in_ns "$H1" tc qdisc replace dev d0 root sfc
	doctor
	only speed
	finds speed fix '^d0 does not report its speed'
	finds sysctl note 'this router does not forward'
	fix speed
	# it has no queue either
	doctor
	only queue
	fix queue
	in_ns "$H1" sysctl -qw net.ipv4.ip_forward=1
	doctor
	only
	expect_eq "forwards" "$(grep -c 'does not forward' "$tmp/out")" 0
	ip -n "$H1" link del d0
	in_ns "$H1" sysctl -qw net.ipv4.ip_forward=0

	expect "addr" in_ns "$H1" tc qdisc change dev eth0 root sfc addr 192.0.2.1
	doctor
	only sysctl
	finds sysctl fix '^eth0: control messages from its own address'
	in_ns "$H1" sysctl -qw net.ipv4.conf.all.accept_local=1
	doctor
	only
	in_ns "$H1" sysctl -qw net.ipv4.conf.all.accept_local=0
	expect "addr of nobody" in_ns "$H1" tc qdisc change dev eth0 root sfc addr 198.51.100.1
	doctor
	only
	expect "addr" in_ns "$H1" tc qdisc change dev eth0 root sfc addr 192.0.2.1
	doctor
	fix sysctl
	doctor
	only
	# a VLAN hands on at once
	expect "VLAN" ip -n "$H1" link add link eth0 name eth0.5 type vlan id 5
	ip -n "$H1" link set eth0.5 up
	expect "VLAN" in_ns "$H1" tc qdisc replace dev eth0.5 root handle 8: sfc
	doctor
	only queue
	finds queue fix '^eth0.5 has no queue of its own'
	ip -n "$H1" link del eth0.5
	# a name with a dot
	ip -n "$H1" link add d.1 type dummy
	ip -n "$H1" link set d.1 up
	expect "d.1" in_ns "$H1" tc qdisc replace dev d.1 root sfc link 1gbit rate 1gbit addr 192.0.2.1
	doctor
	only sysctl
	fix sysctl
	doctor
	only
	ip -n "$H1" link del d.1
	expect "port" in_ns "$H1" tc qdisc change dev eth0 root sfc port 1000 no-split-gso
	expect "hold" in_ns "$H1" tc qdisc add dev lo root sfc_hold notagkey
	in_ns "$H1" sysctl -qw net.bolt.sfc=0
	doctor
	only
	finds sysctl note '^eth0 sends control messages to UDP 1000, but this host listens on 12311'
	finds sysctl note '^lo \(sfc_hold\) holds packets other than TCP, but TCP on this host ignores pauses'
	finds offload note '^eth0 does not split super-packets'
	in_ns "$H1" tc qdisc del dev lo root
	in_ns "$H1" sysctl -qw net.bolt.sfc=1

	# whose BTS an sfc_hold believes; the one that believes none is found behind another
	expect "hold" in_ns "$H1" tc qdisc replace dev eth0 root handle 9: prio
	expect "hold" in_ns "$H1" tc qdisc add dev eth0 parent 9:1 sfc_hold
	expect "hold" in_ns "$H1" tc qdisc add dev lo root sfc_hold notagkey
	doctor
	only qdisc
	finds qdisc fix '^eth0 \(sfc_hold\) believes no BTS'
	expect_eq "how" "$(plain qdisc)" "sudo tc qdisc change dev eth0 parent 9:1 sfc_hold tagkey KEY"
	expect "its key" in_ns "$H1" tc qdisc change dev eth0 parent 9:1 sfc_hold tagkey "$(printf '%032d' 0)"
	doctor
	only
	in_ns "$H1" tc qdisc del dev lo root

	# PFC of which nothing is heard
	expect "pfc" in_ns "$H1" tc qdisc replace dev eth0 root handle 6: sfc rate 1gbit pfc prio 1 xoff 9000b
	doctor
	only
	ip -n "$H1" link add br0 type bridge
	ip -n "$H1" link set eth0 master br0
	doctor
	finds pfc fix '^eth0 is a port of a bridge, which drops PAUSE frames'
	fix pfc
	ip -n "$H1" link del br0
	ip -n "$H1" link add red type vrf table 10
	ip -n "$H1" link set eth0 master red
	doctor
	finds pfc note '^eth0 is in a VRF'
	ip -n "$H1" link del red
	ip -n "$H1" link add bond0 type bond mode active-backup
	ip -n "$H1" link set eth0 down
	ip -n "$H1" link set eth0 master bond0
	ip -n "$H1" link set eth0 up
	doctor
	finds pfc note '^eth0 is a link of a bond'
	ip -n "$H1" link del bond0
	as="env LD_PRELOAD=$BOLT_PROGRAMS/bolt_nlfault.so BOLT_PAUSE=1"
	doctor
	finds pfc note '^eth0: the NIC may answer PAUSE frames itself'
	only
	as=

	# a deep ring without byte queue limits; not where sfc shapes
	expect "ring" in_ns "$H1" tc qdisc replace dev eth0 root handle 7: sfc link 1gbit
	as="env LD_PRELOAD=$BOLT_PROGRAMS/bolt_nlfault.so BOLT_RING=4096"
	doctor
	finds ring fix '^eth0: a transmit ring of 4096 packets without byte queue limits'
	expect_eq "how" "$(how ring)" "sudo ethtool -G eth0 tx 128"
	as="env LD_PRELOAD=$BOLT_PROGRAMS/bolt_nlfault.so BOLT_RING=128"
	doctor
	only queue
	as="env LD_PRELOAD=$BOLT_PROGRAMS/bolt_nlfault.so BOLT_RING=4096"
	in_ns "$H1" tc qdisc change dev eth0 root sfc rate 1gbit
	doctor
	only
	as=
	# nor with the limits, once they are in force
	grep -q '^lablink ' /proc/modules || insmod "$BOLT_MODULES/lablink.ko"
	setup_ns H3
	exec {i}<"/run/netns/$H1" {how}<"/run/netns/$H3"
	echo "pair $i d0 $how eth0 1000000000 1000 1500 64" >/proc/lablink || fail "no pair"
	exec {i}<&- {how}<&-
	ip -n "$H1" link set d0 up
	expect "limits" in_ns "$H1" tc qdisc add dev d0 root handle 5: sfc link 1gbit bands 2
	as="env LD_PRELOAD=$BOLT_PROGRAMS/bolt_nlfault.so BOLT_RING=4096"
	ip netns exec "$H1" sh -c 'echo 0 >/sys/class/net/d0/queues/tx-0/byte_queue_limits/limit'
	doctor
	finds ring fix '^d0: a transmit ring of 4096'
	ip netns exec "$H1" sh -c 'echo 15140 >/sys/class/net/d0/queues/tx-0/byte_queue_limits/limit'
	doctor
	only
	as=
	ip -n "$H1" link del d0
	expect "two" in_ns "$H1" tc qdisc replace dev eth0 root handle 1: prio
	expect "two" in_ns "$H1" tc qdisc add dev eth0 parent 1:1 sfc
	doctor
	only queue
	fix queue
	expect "two" in_ns "$H1" tc qdisc add dev eth0 parent 1:2 sfc
	doctor
	finds qdisc note 'several sfc on one device'
	# not where each has its part, as the leaves of classes have
	expect "link" in_ns "$H1" tc qdisc change dev eth0 parent 1:2 sfc link 1gbit
	doctor
	expect_none "each has its part" "$(grep 'several sfc' "$tmp/out")"

	# one sfc of several transmit queues, unless it is meant to be one
	ip -n "$H1" link add ifb7 numtxqueues 2 type ifb
	ip -n "$H1" link set ifb7 up
	in_ns "$H1" tc qdisc del dev eth0 root
	expect "root" in_ns "$H1" tc qdisc replace dev ifb7 root sfc link 1gbit
	doctor
	finds mq note '^ifb7 has several transmit queues, but one sfc'
	i=$(sysctl -n net.core.default_qdisc)
	ctl -j -n "$H1" doctor
	how=$(json '[.checks[] | select(.check == "mq").fix][0]')
	expect "$how" ip netns exec "$H1" bash -c "${how//sudo /}"
	expect_eq "each an sfc" "$(in_ns "$H1" tc qdisc show dev ifb7 | cut -d' ' -f2,4,5 | sort | tr '\n' ,)" \
		"mq root ,sfc parent 1:1,sfc parent 1:2,"
	expect_eq "default qdisc" "$(sysctl -n net.core.default_qdisc)" "$i"
	in_ns "$H1" tc qdisc del dev ifb7 root
	for options in "rate 1gbit" "link 1gbit bands 2" "link 1gbit paper"; do
		# shellcheck disable=SC2086 # words
		expect "$options" in_ns "$H1" tc qdisc replace dev ifb7 root sfc $options
		doctor
		expect_none "of $options" "$(grep 'transmit queues' "$tmp/out")"
		in_ns "$H1" tc qdisc del dev ifb7 root
	done

	# what enters on an ifb
	expect "ifb" in_ns "$H1" tc qdisc replace dev ifb7 root sfc rate 1gbit
	in_ns "$H1" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.ifb7.rp_filter=0
	for i in net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.ifb7.rp_filter=1; do
		in_ns "$H1" sysctl -qw "$i"
		doctor
		finds sysctl note '^ifb7: control messages enter the stack on this ifb'
		in_ns "$H1" sysctl -qw "${i%=*}=0"
		doctor
		expect_none "without rp_filter" "$(grep 'this ifb' "$tmp/out")"
	done
}

# What a user cannot see is said to be unknown, on one line, and by the status
test_user() {
	local as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	setup_host
	spawn ENTERED "$tmp/sleep" in_ns "$H1" sleep 1000
	ctl_fails "another's namespace" 3 'root is needed|CAP_SYS_ADMIN is needed' -n "$H1" doctor
	as="nsenter --net=/run/netns/$H1 -- $as"
	# the plugin where such a user may read it
	chmod 755 "$tmp"
	[ -z "${TC_LIB_DIR:-}" ] || { cp "$TC_LIB_DIR/q_sfc.so" "$tmp" && as="env TC_LIB_DIR=$tmp $as"; }
	ctl doctor
	mapfile -t lines <"$tmp/out"
	expect_eq "status" "$status" 3
	[[ $err =~ ^subrtt:\ doctor:\ [0-9]+\ checks\ need\ root ]] || fail "said '$err'"
	finds filter unknown 'packet filters cannot be read'
	finds port unknown 'CAP_NET_ADMIN is needed'
	finds peers unknown 'CAP_NET_ADMIN is needed'
	ctl -j doctor
	expect_eq "to fix" "$(json '"\(.fix) \(.unknown > 0)"')" "0 true"
}

run_tests healthy kernel modules other_version secure_boot tc sysctls hooks port key filter legacy peers devices user json
