# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bash completion for subrtt(8)

_subrtt_netns() {
	local d
	for d in /run/netns/*; do
		[ -e "$d" ] && echo "${d##*/}"
	done
}

_subrtt_devices() {
	local d
	for d in /sys/class/net/*; do
		echo "${d##*/}"
	done
}

_subrtt_counters() {
	cut -d' ' -f1 /proc/net/bolt_stat 2>/dev/null
}

_subrtt() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} cmd='' i words=''
	local commands='flows stats qdisc top exporter doctor help'
	local common='-j --json -n --netns -h --help -V --version'

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | --netns) ((i++)) ;;
		-*) ;;
		*) cmd=${COMP_WORDS[i]} && break ;;
		esac
	done
	case $cmd:$prev in
	*:-n | *:--netns) words=$(_subrtt_netns) ;;
	flows:-d | flows:--dev) words=$(_subrtt_devices) ;;
	flows:-c | flows:--cc) words='bolt swift' ;;
	flows:-[alrp] | flows:--addr | flows:--local | flows:--remote | flows:--*port) ;;
	stats:-c | top:-[cd] | *:--count | top:--delay) ;;
	exporter:-l | exporter:--listen) words='127.0.0.1:9823 0.0.0.0:9823' ;;
	:*) words="$commands $common" ;;
	help:*) words=$commands ;;
	flows:*) words="-a --addr -l --local -r --remote -p --port --local-port --remote-port
		-c --cc -d --dev -4 --ipv4 -6 --ipv6 --paused $common" ;;
	stats:*) words="-a --all -d --delta -c --count $common $(_subrtt_counters)" ;;
	qdisc:*) words="-a --all $common $(_subrtt_devices)" ;;
	top:*) words="-d --delay -c --count -b --batch $common" ;;
	exporter:*) words="-l --listen --counters --flows --once $common" ;;
	doctor:*) words="host switch $common" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _subrtt subrtt
