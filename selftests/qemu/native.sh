#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# selftests/native between two endpoints: made by itself, in a namespace that is named, and by ssh.

. ../ktap.sh
PATH=$PATH:/usr/sbin:/sbin
ns=peer
home=~root

#	eth0 --------------- eth0 peer, with an sshd
#	192.0.2.1            192.0.2.2
setup() {
	ip netns add $ns
	ip link add name eth0 type veth peer name eth0 netns $ns
	ip addr add 192.0.2.1/24 dev eth0
	ip addr add 2001:db8::1/64 dev eth0 nodad
	ip link set lo up
	ip link set eth0 up
	ip -n $ns addr add 192.0.2.2/24 dev eth0
	ip -n $ns addr add 2001:db8::2/64 dev eth0 nodad
	ip -n $ns link set eth0 up
	ip -n $ns link set lo up

	mkdir -p "$home"/.ssh /run/sshd
	chmod 700 "$home"/.ssh
	ssh-keygen -q -t ed25519 -N '' -f "$home"/.ssh/id_ed25519
	cp "$home"/.ssh/id_ed25519.pub "$home"/.ssh/authorized_keys
	printf '%s\n' 'Host *' ' StrictHostKeyChecking accept-new' ' ControlMaster auto' \
		' ControlPath ~/.ssh/%C' ' ControlPersist yes' >"$home"/.ssh/config
	ssh-keygen -q -t ed25519 -N '' -f "$home"/host_key
	ip netns exec $ns /usr/sbin/sshd -o HostKey="$home"/host_key -o ListenAddress=192.0.2.2 \
		-o PidFile=/run/sshd.pid -o UsePAM=no -o PermitRootLogin=yes
	until ssh -q root@192.0.2.2 true; do
		[ $SECONDS -lt 200 ] || { echo "no ssh"; return 1; }
		sleep 0.2
	done
}

native() {
	(cd .. && env "$@" net/run native/transfer.sh)
}

by() {
	native NETIF=eth0 LOCAL_V4=192.0.2.1 LOCAL_V6=2001:db8::1 REMOTE_V4=192.0.2.2 \
		REMOTE_V6=2001:db8::2 "$@"
}

# refused PATTERN VARIABLES...: one line that says it
refused() {
	local pattern=$1 said
	shift
	said=$(by "$@" 2>&1) && { echo "ran: $said"; return 1; }
	grep -qE "^Bail out! .*$pattern" <<<"$said" && [ "$(wc -l <<<"$said")" = 1 ] && return
	echo "$said"
	return 1
}

refusals() {
	refused "REMOTE_TYPE is netns or ssh, not 'usb'" REMOTE_TYPE=usb REMOTE_ARGS=x &&
		refused "no namespace nosuch" REMOTE_TYPE=netns REMOTE_ARGS=nosuch &&
		refused "REMOTE_ARGS is missing" REMOTE_TYPE=ssh &&
		refused "no device eth7" REMOTE_TYPE=netns REMOTE_ARGS=$ns NETIF=eth7 &&
		refused "REMOTE_V6 is missing" REMOTE_TYPE=netns REMOTE_ARGS=$ns REMOTE_V6=
}

ktap_begin 5
ktap_run "set up" setup
ktap_nest "without NETIF" native REMOTE_TYPE=
ktap_nest "REMOTE_TYPE=netns" by REMOTE_TYPE=netns REMOTE_ARGS=$ns
ktap_nest "REMOTE_TYPE=ssh" by REMOTE_TYPE=ssh REMOTE_ARGS=root@192.0.2.2
ktap_run "refusals" refusals
ssh -q -O exit root@192.0.2.2 2>/dev/null
kill "$(cat /run/sshd.pid)"
ip netns del $ns
ktap_end
