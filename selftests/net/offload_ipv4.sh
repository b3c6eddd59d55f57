#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# Offloads over IPv4, on and off in every combination at the sender's device, the router's and the
# receiver's (offload_matrix).  The bytes that arrive, and the checksums, segment sizes and option
# of each packet on the wire must be right, and INC must be counted segment by segment, also where a
# super-packet is split or merged.

. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/offload_matrix
. "$(dirname "$0")/offload_matrix"

A=198.51.100.1	# H2's
PAYLOAD=1436	# 1500 - 20 - 20 - 12 of timestamps - 12 of ours

run_tests split no_split forwarded_split forwarded_no_split
