#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# Offloads over IPv6, on and off in every combination: bytes, checksums and segment sizes on the
# wire, INC counted segment by segment.

. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/offload_matrix
. "$(dirname "$0")/offload_matrix"

A=2001:db8:2::1	# H2's
PAYLOAD=1416	# 1500 - 40 - 20 - 12 of timestamps - 12 of ours

test_split() {
	matrix "$A" "$PAYLOAD" split-gso
	expect_ge "super-packets split" "$(qdisc "$R" r2 gso_split)" 50
}

test_no_split() {
	matrix "$A" "$PAYLOAD" no-split-gso
	expect_eq "super-packets split" "$(qdisc "$R" r2 gso_split)" 0
}

test_forwarded_split() {
	forwarded "$A" "$PAYLOAD" split-gso
}

# A list of packets is no super-packet that can be marked at once: it is split even so
test_forwarded_no_split() {
	forwarded "$A" "$PAYLOAD" no-split-gso
}

run_tests split no_split forwarded_split forwarded_no_split
