# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # tmp and book are of lib.sh
#
# Running subrtt, for its tests.

# the build's, else the installed one
subrtt=${TC_LIB_DIR:+$TC_LIB_DIR/subrtt}
[ -x "$subrtt" ] || subrtt=subrtt

# ctl ARGS...: its output in $tmp/out, complaints in $err, status in $status
ctl() {
	status=0
	${as:-} "$subrtt" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
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
	[[ $err =~ ^subrtt:\ .*$pattern ]] || fail "$what: said '$err', not '$pattern'"
	[ "${err#*$'\n'}" = "$err" ] || fail "$what: more than a line: $err"
}

# json FILTER: of the newest output
json() {
	jq -r "$1" <"$tmp/out" || fail "no JSON: $(head -c 300 "$tmp/out") $err"
}

# --- doctor ---

# doctor ARGS...: in H1, if there is one.  As text, taken apart without another program: those are
# dear in a guest
doctor() {
	ctl ${H1:+-n "$H1"} doctor "$@"
	mapfile -t lines <"$tmp/out"
}

# finds CHECK STATUS PATTERN
finds() {
	local line
	echo + >>"$book"
	for line in "${lines[@]}"; do
		[[ $line =~ ^"$2"\ +"$1"\ +(.*) && ${BASH_REMATCH[1]} =~ $3 ]] && return
	done
	fail "$1: no $2 '$3': $(grep -v '^ok' "$tmp/out") $err"
}

# only CHECK: is to be fixed, and the status says so
only() {
	local line found=
	for line in "${lines[@]}"; do
		[[ $line =~ ^fix\ +([a-z]+) ]] || continue
		[[ " $found" == *" ${BASH_REMATCH[1]} "* ]] || found+="${BASH_REMATCH[1]} "
	done
	expect "to fix: ${found% }, not $*" test "${found% }" = "$*"
	expect_eq "status" "$status" "$([ -n "$*" ] && echo 5 || echo 0)"
}

# how CHECK: the command that fixes the first finding of it
how() {
	local i
	for ((i = 0; i < ${#lines[@]}; i++)); do
		[[ ${lines[i]} =~ ^fix\ +"$1" && ${lines[i + 1]} =~ ^\ +-\>\ (.*) ]] || continue
		echo "${BASH_REMATCH[1]}"
		return
	done
}

# All that was printed with -j so far, to the last byte; the last test
test_json() {
	expect "JSON" python3 - "$tmp/json" <<-'END'
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
