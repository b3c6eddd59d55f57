# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# KTAP from shell: one result per command, its output as diagnosis when it fails.
# https://docs.kernel.org/dev-tools/ktap.html

unset CDPATH LANGUAGE
export LC_ALL=C.UTF-8	# what programs say is looked at
ktap_n=0
ktap_bad=0
ktap_plan=

# ktap_begin N: version and plan; "" when the number is not known beforehand
ktap_begin() {
	ktap_plan=$1
	echo "KTAP version 1"
	[ -z "$1" ] || echo "1..$1"
}

# ktap_result STATUS NAME
ktap_result() {
	ktap_n=$((ktap_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $ktap_n $2"
	else
		ktap_bad=$((ktap_bad + 1))
		echo "not ok $ktap_n $2"
	fi
}

# ktap_run NAME COMMAND...: passes when the command does
ktap_run() {
	local ktap_name=$1 ktap_out ktap_status=0
	shift
	ktap_out=$("$@" 2>&1) || ktap_status=$?
	[ "$ktap_status" -eq 0 ] || echo "# ${ktap_out//$'\n'/$'\n'# }"
	ktap_result "$ktap_status" "$ktap_name"
}

# ktap_indent: stdin; false when there is no result in it
ktap_indent() {
	local ktap_line ktap_none=1
	while IFS= read -r ktap_line || [ -n "$ktap_line" ]; do
		printf '    %s\n' "$ktap_line"
		[[ ! $ktap_line =~ ^\ *(not\ )?ok\ [0-9] ]] || ktap_none=0
	done
	[ $ktap_none = 0 ] || echo "    # no result"
	return $ktap_none
}

# ktap_nest NAME COMMAND...: the command prints KTAP itself, which is shown indented
ktap_nest() {
	local ktap_name=$1 ktap_status=()
	shift
	echo "    # Subtest: $ktap_name"
	"$@" 2>&1 | ktap_indent
	ktap_status=("${PIPESTATUS[@]}")
	[ "${ktap_status[0]}" -eq 0 ] || echo "    # exit status ${ktap_status[0]}"
	ktap_result $((ktap_status[0] | ktap_status[1])) "$ktap_name"
}

# ktap_end: the plan when ktap_begin did not know it; false when anything failed
ktap_end() {
	[ -n "$ktap_plan" ] || echo "1..$ktap_n"
	[ "$ktap_bad" -eq 0 ]
}

progress() {
	echo "# progress: $*"
}
