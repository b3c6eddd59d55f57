#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: debug
#
# One memory allocation after the other fails while the module is loaded, namespaces are made,
# settings are written and sockets select bolt, and fail-nth says which.  What fails must leave
# nothing behind, and what succeeds must be complete: anything else is a leak, or a crash on a
# machine without memory.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_faults.sh"

modules() {
	grep -oE '^(sch_sfc|tcp_bolt) [0-9]* [0-9]*' /proc/modules | sort
}

unload_sfc() {
	rmmod sch_sfc
}

unload_bolt() {
	busywait rmmod tcp_bolt
}

test_module_load() {
	setup_faults || return
	if ! [ -f "${BOLT_MODULES:-}/tcp_bolt.ko" ]; then
		skip "installed modules"
		return
	fi
	expect "unload" busywait rmmod sch_sfc
	expect "unload" busywait rmmod tcp_bolt
	LAST=40 each insmod modules unload_sfc insmod "$BOLT_MODULES/sch_sfc.ko"
	LAST=40 each insmod modules unload_bolt insmod "$BOLT_MODULES/tcp_bolt.ko"
	insmod "$BOLT_MODULES/sch_sfc.ko"
	insmod "$BOLT_MODULES/tcp_bolt.ko"
}

# tcp_bolt sets up its sysctls, hooks and counters in each
test_netns() {
	setup_faults || return
	# a name is there before the namespace is: ip takes it away itself only when unshare worked
	LAST=300 each unshare true true unshare --net true
}

# Another value, and back
test_sysctl() {
	local key old value
	setup_faults || return
	setup_ns R
	setting() { in_r cat "$key"; }
	back() { in_r bash -c "echo $old >$key"; }
	while read -r key old value; do
		key=/proc/sys/net/bolt/$key
		back
		echo "$value" >"$tmp/value"
		each write setting back in_r dd if="$tmp/value" of="$key" conv=notrunc status=none
	done <<-LIST
		burst_segs 1 2
		hooks 0 1
		tag_key off 000102030405060708090a0b0c0d0e0f
		fallback cubic reno
	LIST
}

# A namespace of its own each time, so that the control port is opened each time: a
# connection is made and used, or is not there
transfer() {
	server "$H2" cc cubic listen "$A2" 5001 recv 3000 recv-eof
	failing "$1" "$2" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 3000 outq
}

# each_socket CALL
each_socket() {
	local nth status failed=0
	setup_faults || return
	setup_pair
	for ((nth = 1; nth < 200; nth++)); do
		transfer "$1" "$nth"
		status=$?
		if [ "$status" = 0 ]; then
			server_done
		else
			failed=$((failed + 1))
			grep -qE 'memory|buffer space|No such file' "$tmp/said" ||
				fail "allocation $nth: $(cat "$tmp/said")"
			kill "$SERVER"
			wait "$SERVER" 2>/dev/null
		fi
		grep -qx 0 "$tmp/left" || break
	done
	expect_le "allocations" "$nth" 199
	say "$nth allocations, $failed of them make it fail"
	client_again
}

client_again() {
	server "$H2" cc bolt listen "$A2" 5001 recv 3000 send 3000 recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 3000 recv 3000
	server_done
}

test_setsockopt() {
	each_socket setsockopt
}

test_connect() {
	each_socket connect
}

run_tests netns sysctl setsockopt connect module_load
