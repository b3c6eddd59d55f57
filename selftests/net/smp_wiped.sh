#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: qemu
#
# A secret key that was replaced, or went with its namespace, leaves nothing in the kernel's memory,
# which is searched through /proc/kcore.  This needs a stock kernel: User-Mode Linux shows no memory
# there, and KASAN would report that freed memory is read.

. "$(dirname "$0")/lib.sh"

# fresh_key: 32 hexadecimal digits that are nowhere else
fresh_key() {
	od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# wiped WHAT KEY COMMAND...: it was there, and is not behind that command
wiped() {
	local what=$1 said
	shift
	said=$("$BOLT_PROGRAMS/bolt_key" wiped "$@" 2>&1)
	say "$what: $said"
	expect_eq "$what: left" "${said#* }" left=0
	expect_ne "$what: found" "${said% *}" found=0
}

test_wiped() {
	local key new
	setup_ns H1
	for new in off "$(fresh_key)"; do
		key=$(fresh_key)
		in_ns "$H1" bash -c "echo $key >/proc/sys/net/bolt/tag_key"
		wiped "$new" "$key" nsenter --net="/run/netns/$H1" -- \
			bash -c "echo $new >/proc/sys/net/bolt/tag_key"
	done
	key=$(fresh_key)
	in_ns "$H1" bash -c "echo $key >/proc/sys/net/bolt/tag_key"
	wiped "namespace" "$key" ip netns del "$H1"
}

run_tests wiped
