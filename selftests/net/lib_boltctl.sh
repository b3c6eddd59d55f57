# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # tmp is of lib.sh
#
# Running boltctl, for its tests.

# the build's, else the installed one
boltctl=${TC_LIB_DIR:+$TC_LIB_DIR/boltctl}
[ -x "$boltctl" ] || boltctl=boltctl

# ctl ARGS...: its output in $tmp/out, complaints in $err, status in $status
ctl() {
	status=0
	${as:-} "$boltctl" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	err=$(<"$tmp/err")
	[ ! -s "$tmp/out" ] || [[ " $* " != *" -j "* ]] || cat "$tmp/out" >>"$tmp/json"
}

# ctl_fails WHAT STATUS PATTERN ARGS...: with one line, and nothing that could pass for an answer
ctl_fails() {
	local what=$1 want=$2 pattern=$3
	shift 3
	ctl "$@"
	expect_eq "$what: status" "$status" "$want"
	[ ! -s "$tmp/out" ] || fail "$what: printed $(head -c 200 "$tmp/out")"
	[[ $err =~ ^boltctl:\ .*$pattern ]] || fail "$what: said '$err', not '$pattern'"
	[ "${err#*$'\n'}" = "$err" ] || fail "$what: more than a line: $err"
}

# json FILTER: of the newest output
json() {
	jq -r "$1" <"$tmp/out" || fail "no JSON: $(head -c 300 "$tmp/out") $err"
}

# All that was printed with -j so far, to the last byte; the last test
test_json() {
	python3 - "$tmp/json" <<-'END' || fail "not JSON"
		import json, sys
		text = open(sys.argv[1]).read()
		n = at = 0
		while at < len(text):
		    _, end = json.JSONDecoder().raw_decode(text, at)
		    assert text[end:end + 1] == "\n", text[at:at + 300]
		    at, n = end + 1, n + 1
		assert n, text
	END
}
