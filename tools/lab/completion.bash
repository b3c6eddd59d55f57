# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bash completion for subrtt-lab(1), and for tools/lab/lab of a source tree that sources this file

# What a command has: its options, and the words that may follow it
_subrtt_lab_words() {
	case $1 in
	run) echo "--cc --set --capture --explain --seed --seeds --backend --cpus --slow --kernel --module
		--cpu-cost --jobs --out --force --keep-raw --no-plots" ;;
	sweep) echo "--cc --set --seed --seeds --kernel --module --jobs --out --force --" ;;
	up) echo "--cc --set --seed --kernel --module" ;;
	exec) echo "--tty -t --privileged" ;;
	shell) echo "--privileged" ;;
	list) echo "--cc --qdisc" ;;
	plot) echo "--out --baseline --port --force" ;;
	show) echo "--from --until --port" ;;
	explain) echo "--cc --json" ;;
	compare) echo "--from --until --port" ;;
	slowdown) echo "--from --until --port --p999 --csv --svg" ;;
	build) echo "--backend --kernel" ;;
	new | demo | doctor | down) ;;
	*) echo "run sweep up exec shell down list new demo plot show compare explain slowdown build doctor --version -V" ;;
	esac
	echo "--help -h"
}

# The last of several names that are joined by commas, behind the others
_subrtt_lab_joined() {
	local before='' word
	case $cur in *,*) before=${cur%,*}, ;; esac
	for word in $1; do
		echo "$before$word"
	done
}

_subrtt_lab() {
	local cur prev cmd='' i words files=''

	cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-*) ;;
		*) cmd=${COMP_WORDS[i]} && break ;;
		esac
	done
	case $cmd:$prev in
	run:--cc | sweep:--cc | up:--cc) words=$(_subrtt_lab_joined "$("${COMP_WORDS[0]}" list --cc 2>/dev/null)") ;;
	*:--backend) words='uml qemu native' ;;
	*:--kernel) words='6.1 6.12 7.3' ;;
	*:--out | *:--baseline | *:--svg | *:--csv | *:--module) words='' files=1 ;;
	*:--cc | *:--set | *:--capture | *:--explain | *:--seed | *:--seeds | *:--cpus | *:--slow | *:--cpu-cost | *:--jobs | *:--from | *:--until | *:--port) words='' ;;
	run:* | sweep:* | up:*)
		words=$(_subrtt_lab_words "$cmd") files=1
		case $cur in
		-*) ;;
		*) words+=" $("${COMP_WORDS[0]}" list 2>/dev/null | sed '/^$/,$d; s/ .*//')" ;;
		esac
		;;
	plot:* | show:* | compare:* | explain:* | slowdown:* | demo:*) words=$(_subrtt_lab_words "$cmd") files=1 ;;
	*) words=$(_subrtt_lab_words "$cmd") ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; [ -z "$files" ] || compgen -f -- "$cur")
	# a directory is gone on with
	[ "${#COMPREPLY[@]}" != 1 ] || [ ! -d "${COMPREPLY[0]}" ] || compopt -o filenames 2>/dev/null
}

complete -F _subrtt_lab subrtt-lab lab
