#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# Offloads over IPv4, on and off in every combination: bytes, checksums and segment sizes on the
# wire, INC counted segment by segment.

. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/offload_matrix
. "$(dirname "$0")/offload_matrix"

A=198.51.100.1	# H2's
PAYLOAD=1436	# 1500 - 20 - 20 - 12 of timestamps - 12 of ours

run_tests split no_split forwarded_split forwarded_no_split
