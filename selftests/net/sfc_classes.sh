#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
#
# sfc as the leaf of every qdisc that has classes: qlen and backlog are exact at every level
# while packets wait, leave, are dropped, and go down with a class; nothing is left
# at the end.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_books.sh"

test_prio() { through prio above; through prio leaf; }
test_ets() { through ets above; through ets leaf; }
test_drr() { through drr above; through drr leaf; }
# Below qfq, Linux 6.1 calls any leaf that holds packets back, tbf too, a bug, with a trace; later
# kernels say that the leaf's place is elsewhere, as the other parents do.
test_qfq() {
	through qfq above
	case $(uname -r) in 6.1.*) ;; *) through qfq leaf ;; esac
}
test_htb() { through htb above; through htb leaf; }
test_htb_borrow() { through htb_borrow above; through htb_borrow leaf; }
test_hfsc_rt() { through hfsc_rt above; through hfsc_rt leaf; }
test_hfsc_ls() { through hfsc_ls above; through hfsc_ls leaf; }
test_hfsc_ul() { through hfsc_ul above; through hfsc_ul leaf; }

run_tests prio ets drr qfq htb htb_borrow hfsc_rt hfsc_ls hfsc_ul
