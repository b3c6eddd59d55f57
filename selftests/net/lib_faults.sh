# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # R, tmp: of lib.sh
#
# What the tests share in which one memory allocation after the other fails; bolt_fail.so.c makes
# them fail.

debug=/sys/kernel/debug
ALWAYS=

setup_faults() {
	if ! [ -w /proc/self/fail-nth ] || ! [ -d $debug/failslab ]; then
		skip "the kernel injects no faults"
		return 1
	fi
	# fail-nth still asks these two
	echo N >$debug/failslab/ignore-gfp-wait
	echo N >$debug/fail_page_alloc/ignore-gfp-wait
	echo 0 >$debug/fail_page_alloc/min-order
	echo 0 >$debug/failslab/verbose
	echo 0 >$debug/fail_page_alloc/verbose
}

# failing CALL NTH COMMAND...: with its NTH allocation failing; what is left in $tmp/left
failing() {
	local call=$1 nth=$2
	shift 2
	rm -f "$tmp/left"
	FAIL_CALL=$call FAIL_NTH=$nth FAIL_OUT=$tmp/left LD_PRELOAD=$BOLT_PROGRAMS/bolt_fail.so \
		"$@" >"$tmp/said" 2>&1
}

# each CALL STATE UNDO COMMAND...: COMMAND with its 1st, 2nd, ... allocation failing, until it
# makes no more.  STATE prints what is: afterwards it is as before or as if all had gone well, the
# latter if COMMAND says so.  UNDO goes back; ALWAYS: also when it looks as before.  LAST: only so many.
each() {
	local call=$1 state=$2 undo=$3 before after now nth status failed=0 last=${LAST-}
	shift 3
	before=$($state)
	"$@" >/dev/null 2>&1 || fail "without a fault: $*"
	after=$($state)
	$undo || fail "cannot undo $*"
	expect "undone" test "$($state)" = "$before"
	# of very many, the last ones: those of the module itself
	failing "$call" 100000 "$@"
	$undo || fail "cannot undo $*"
	[ -s "$tmp/left" ] || fail "no call in $*: $(cat "$tmp/said")"
	nth=$((100000 - $(cat "$tmp/left") - ${last:-100000}))
	[ $nth -gt 1 ] || nth=1
	for (( ; ; nth++)); do
		failing "$call" "$nth" "$@"
		status=$?
		now=$($state)
		[ -s "$tmp/left" ] || {
			fail "no fault in $*: $(cat "$tmp/said")"
			return
		}
		if [ "$now" != "$after" ] && { [ $status = 0 ] || [ "$now" != "$before" ]; }; then
			fail "allocation $nth of $* ($status): $now"
		fi
		[ $status = 0 ] || failed=$((failed + 1))
		[ "$now$ALWAYS" = "$before" ] || $undo || fail "cannot undo $*"
		grep -qx 0 "$tmp/left" || break
	done
	expect_ge "some failed: $*" "$failed" 1
	say "$nth allocations, $failed of them make it fail: ${*:1:6}"
}

in_r() {
	nsenter --net="/run/netns/$R" -- "$@"
}

