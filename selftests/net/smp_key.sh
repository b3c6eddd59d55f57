#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The secret key that messages of switches are signed with: one that is replaced serves until the last
# message that is judged by it.

. "$(dirname "$0")/lib.sh"

# signed KEY: an SRC about a connection that does not exist, in hex
signed() {
	python3 -c "
import bolt_ctl, socket, struct
head = struct.pack('!BBHHHBBH4s4sHHI', 0x45, 0, 60, 0, 0x4000, 64, 6, 0,
                   socket.inet_aton('127.0.0.1'), socket.inet_aton('127.0.0.9'), 7, 9, 1)
print(bolt_ctl.packed(head, type=1, tx=1, key=bytes.fromhex('$1')).hex())"
}

# The same key, so that every message has the right tag
test_replaced() {
	local key=00112233445566778899aabbccddeeff message
	setup_ns H1
	in_ns "$H1" sysctl -qw net.bolt.sfc=1 net.bolt.tag_key="$key"
	message=$(signed "$key")
	expect "replaced" in_ns "$H1" bash -c "$BOLT_PROGRAMS/bolt_key replace \
		/proc/sys/net/bolt/tag_key $key 127.0.0.1 $(in_ns "$H1" sysctl -n net.bolt.port) \
		$message 10 >$tmp/replaced"
	say "$(cat "$tmp/replaced")"
	expect_ge "keys" "$(sed -n 's/.* written=\([0-9]*\).*/\1/p' "$tmp/replaced")" 20
	expect_ge "messages" "$(bolt_stat "$H1" CtlLocal)" 2000
	expect_eq "wrong tag" "$(bolt_stat "$H1" CtlTag)" 0
}

run_tests replaced
