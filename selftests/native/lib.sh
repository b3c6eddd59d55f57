# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Tests between this machine and another endpoint, by the convention of the kernel's
# tools/testing/selftests/drivers/net: variables of the environment or of net.config beside this file.
#
#	NETIF		the device here; without it a pair of veths and a namespace are made
#	LOCAL_V4, LOCAL_V6, REMOTE_V4, REMOTE_V6	addresses; one family may be missing
#	REMOTE_TYPE	netns or ssh
#	REMOTE_ARGS	the namespace's name, or ssh's destination
#
# Both ends need the modules; the remote one by itself, where it is another machine.

BUSYWAIT_MS=${BUSYWAIT_MS:-60000}
. "$(dirname "${BASH_SOURCE[0]}")/../net/lib.sh"

# shellcheck disable=SC1091 # may be there
[ ! -f "$(dirname "${BASH_SOURCE[0]}")/net.config" ] || . "$(dirname "${BASH_SOURCE[0]}")/net.config"

refuse_to_run() {
	echo "Bail out! $*"
	exit 1
}

# For all tests of a file; what lib.sh defers is undone after each
endpoints() {
	local var name
	if [ -z "${NETIF:-}" ]; then
		name=bolt-$$
		if ! ip netns add "$name" ||
			! ip link add name bolt0 type veth peer name bolt0 netns "$name"; then
			refuse_to_run "cannot make a namespace and veths"
		fi
		at_exit="ip netns del $name; ip link del bolt0"
		NETIF=bolt0 REMOTE_TYPE=netns REMOTE_ARGS=$name
		LOCAL_V4=203.0.113.1 REMOTE_V4=203.0.113.2 LOCAL_V6=2001:db8:71::1 REMOTE_V6=2001:db8:71::2
		ip addr add $LOCAL_V4/24 dev bolt0
		ip addr add $LOCAL_V6/64 dev bolt0 nodad
		ip link set bolt0 up
		addr "$name" bolt0 $REMOTE_V4/24 $REMOTE_V6/64
	fi
	ip link show dev "$NETIF" >/dev/null 2>&1 || refuse_to_run "NETIF: there is no device $NETIF"
	[ -n "${LOCAL_V4:-}${LOCAL_V6:-}" ] || refuse_to_run "LOCAL_V4 or LOCAL_V6 is missing"
	for var in V4 V6; do
		local our=LOCAL_$var their=REMOTE_$var
		[ -z "${!our:-}" ] || [ -n "${!their:-}" ] || refuse_to_run "$their is missing beside $our"
	done
	: "${REMOTE_ARGS:=}"
	[ -n "$REMOTE_ARGS" ] || refuse_to_run "REMOTE_ARGS is missing"
	case ${REMOTE_TYPE:-} in
	netns) ip netns exec "$REMOTE_ARGS" true 2>/dev/null || refuse_to_run "there is no namespace $REMOTE_ARGS" ;;
	ssh) ssh -q -o BatchMode=yes "$REMOTE_ARGS" true || refuse_to_run "ssh $REMOTE_ARGS fails" ;;
	*) refuse_to_run "REMOTE_TYPE is netns or ssh, not '${REMOTE_TYPE:-}'" ;;
	esac
	remote test -r /proc/net/bolt_stat || refuse_to_run "the remote end has no tcp_bolt"
	deploy
}

at_exit='' there=''
# shellcheck disable=SC2317 # called by the trap
leave() {
	finish
	[ "${REMOTE_TYPE:-}" != ssh ] || [ -z "$there" ] || remote rm -rf "${there%/*}"
	eval "$at_exit" >/dev/null 2>&1
}
trap leave EXIT

# remote WORDS...: at the other end
remote() {
	# shellcheck disable=SC2031 # spawn sets it
	case $REMOTE_TYPE in
	netns) ${spawning:+exec} ip netns exec "$REMOTE_ARGS" "$@" ;;
	ssh) ${spawning:+exec} ssh -q -o BatchMode=yes "$REMOTE_ARGS" "$(printf '%q ' "$@")" ;;
	esac
}

# bolt_xfer for the remote end; $there
deploy() {
	there=$BOLT_PROGRAMS/bolt_xfer
	[ "$REMOTE_TYPE" = ssh ] || return 0
	there=$(remote mktemp -d /tmp/bolt-test.XXXXXX)/bolt_xfer
	scp -q -o BatchMode=yes "$BOLT_PROGRAMS/bolt_xfer" "$REMOTE_ARGS:$there" ||
		refuse_to_run "scp to $REMOTE_ARGS fails"
}

# look before|after: the counters of tcp_bolt at both ends
look() {
	cat /proc/net/bolt_stat >"$tmp/$1.local"
	remote cat /proc/net/bolt_stat >"$tmp/$1.remote"
}

# moved local|remote NAME: by how much, from one look to the other
moved() {
	awk -v name="$2" '$1 == name { n = $2 - n } END { print n }' "$tmp/before.$1" "$tmp/after.$1"
}

# setting local|remote NAME VALUE: until the test ends
setting() {
	local at=() old
	[ "$1" = local ] || at=(remote)
	old=$("${at[@]}" sysctl -n "$2")
	defer "${at[@]}" sysctl -qw "$2=$old"
	expect "$1: $2=$3" "${at[@]}" sysctl -qw "$2=$3"
}

# transfer TO CC ADDRESS BYTES [WORDS...]: verified at the end that receives; the words are the sender's.
# Counters are looked at before and after.
transfer() {
	local to=$1 cc=$2 address=$3 bytes=$4 port=$((20000 + RANDOM % 20000))
	shift 4
	local listener=("$BOLT_PROGRAMS/bolt_xfer") sender=(remote "$there")
	[ "$to" = local ] || listener=(remote "$there") sender=("$BOLT_PROGRAMS/bolt_xfer")
	# of an earlier one, which said the same
	rm -f "$tmp/server"
	look before
	spawn SERVER "$tmp/server" "${listener[@]}" cc "$cc" listen "$address" $port recv "$bytes" recv-eof info
	expect "listening" busywait file_has "$tmp/server" listening || return
	"${sender[@]}" cc "$cc" connect "$address" $port "$@" send "$bytes" outq info >"$tmp/client" 2>&1 ||
		fail "sender: $(cat "$tmp/client")"
	ended server "$SERVER"
	look after
}
