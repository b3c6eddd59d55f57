#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One CPU replaces the key of a namespace, net.bolt.tag_key, while another verifies messages by it.
# The old key must serve until the last message that is verified by it, and two keys that are
# written at once must not mix: a message under half of each would otherwise be accepted.

. "$(dirname "$0")/lib.sh"

# signed KEY: an SRC about a connection that does not exist, in hex
signed() {
	python3 -c "
import bolt_ctl, socket, struct
head = struct.pack('!BBHHHBBH4s4sHHI', 0x45, 0, 60, 0, 0x4000, 64, 6, 0,
                   socket.inet_aton('127.0.0.1'), socket.inet_aton('127.0.0.9'), 7, 9, 1)
print(bolt_ctl.packed(head, type=1, tx=1, key=bytes.fromhex('$1')).hex())"
}

A=00112233445566778899aabbccddeeff
B=f0e1d2c3b4a5968778695a4b3c2d1e0f

# replace KEYS MESSAGES SECONDS: see bolt_key.c
replace() {
	setup_ns H1
	in_ns "$H1" sysctl -qw net.bolt.sfc=1 net.bolt.tag_key="${1%/*}"
	expect "replaced" in_ns "$H1" bash -c "$BOLT_PROGRAMS/bolt_key replace \
		/proc/sys/net/bolt/tag_key $1 127.0.0.1 $(in_ns "$H1" sysctl -n net.bolt.port) \
		$2 $3 >$tmp/replaced"
	say "$(cat "$tmp/replaced")"
	expect_ge "keys" "$(sed -n 's/.* written=\([0-9]*\).*/\1/p' "$tmp/replaced")" 20
}

# The same key, so that every message has the right tag
test_replaced() {
	replace "$A" "$(signed "$A")" 10
	expect_ge "messages" "$(bolt_stat "$H1" CtlLocal)" 2000
	expect_eq "wrong tag" "$(bolt_stat "$H1" CtlTag)" 0
}

# Both writers list both keys: every message under either is accepted
test_two_writers() {
	replace "$A,$B/$B,$A" "$(signed "$A")/$(signed "$B")" 5
	expect_ge "messages" "$(bolt_stat "$H1" CtlLocal)" 500
	expect_eq "wrong tag" "$(bolt_stat "$H1" CtlTag)" 0
}

# One key each: no message under half of one and half of the other is
test_not_mixed() {
	replace "$A/$B" "$(signed "${A:0:16}${B:16}")/$(signed "${B:0:16}${A:16}")" 5
	expect_ge "wrong tag" "$(bolt_stat "$H1" CtlTag)" 500
	expect_eq "messages" "$(bolt_stat "$H1" CtlLocal)" 0
}

run_tests replaced two_writers not_mixed
