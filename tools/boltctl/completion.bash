# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bash completion for boltctl(8)

_boltctl_netns() {
	local d
	for d in /run/netns/*; do
		[ -e "$d" ] && echo "${d##*/}"
	done
}

_boltctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} cmd='' i words=''
	local common='-j --json -n --netns -h --help'

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | --netns) ((i++)) ;;
		-*) ;;
		*) cmd=${COMP_WORDS[i]} && break ;;
		esac
	done
	case $prev in
	-n | --netns) words=$(_boltctl_netns) ;;
	*)
		case $cmd in
		'') words="qdisc doctor help $common" ;;
		help) words='qdisc doctor' ;;
		doctor) words="host switch $common" ;;
		qdisc) words="-a --all $common $(ls /sys/class/net 2>/dev/null)" ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _boltctl boltctl
