#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs in the lab's kernel, whose patches leave out register writes and a signal handler of UML:
# floating point registers must survive whatever happens to a process, and a page fault must be
# taken for the read or the write that it is.  Otherwise programs compute nonsense there, rarely.

. "$(dirname "$0")/lib.sh"

process() {
	expect "lab_process $1" "$BOLT_PROGRAMS/lab_process" "$1"
}

test_registers() { process registers; }
test_fork() { process fork; }
test_refused() { process refused; }
test_copied() { process copied; }

run_tests registers fork refused copied
