# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bash completion for boltctl(8)

_boltctl_netns() {
	local d
	for d in /run/netns/*; do
		[ -e "$d" ] && echo "${d##*/}"
	done
}

_boltctl_devices() {
	local d
	for d in /sys/class/net/*; do
		echo "${d##*/}"
	done
}

_boltctl_counters() {
	[ ! -r /proc/net/bolt_stat ] || cut -d' ' -f1 /proc/net/bolt_stat
}

_boltctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} cmd='' i words=''
	local commands='flows stats events cache qdisc doctor help'
	local common='-j --json -n --netns -h --help'

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | --netns) ((i++)) ;;
		-*) ;;
		*) cmd=${COMP_WORDS[i]} && break ;;
		esac
	done
	case $cmd:$prev in
	*:-n | *:--netns) words=$(_boltctl_netns) ;;
	flows:-d | flows:--dev) words=$(_boltctl_devices) ;;
	flows:-c | flows:--cc) words='bolt swift bolt-reno swift-reno' ;;
	flows:-[alrp] | flows:--addr | flows:--local | flows:--remote | flows:--*port) ;;
	stats:-c | events:-[ct] | *:--count | *:--timeout) ;;
	:*) words="$commands $common" ;;
	help:*) words=$commands ;;
	flows:*) words="-a --addr -l --local -r --remote -p --port --local-port --remote-port
		-c --cc -d --dev -4 --ipv4 -6 --ipv6 --paused $common" ;;
	stats:*) words="-a --all -d --delta -c --count $common $(_boltctl_counters)" ;;
	events:*) words="-c --count -t --timeout src pause-begin pause-change pause-end watchdog
		refusal fallback bts cache-hit suppressed $common" ;;
	cache:*) words=$common ;;
	qdisc:*) words="-a --all $common $(_boltctl_devices)" ;;
	doctor:*) words="host switch $common" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _boltctl boltctl
