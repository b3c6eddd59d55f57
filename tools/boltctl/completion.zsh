#compdef boltctl
# SPDX-License-Identifier: GPL-2.0
# zsh completion for boltctl(8)

local -a common
common=(
	'(-j --json)'{-j,--json}'[print JSON]'
	'(-n --netns)'{-n,--netns}'[in this network namespace]:namespace:_path_files -W /run/netns'
	'(-h --help)'{-h,--help}'[what it shows, options, examples]'
)

_boltctl_commands() {
	local -a commands
	commands=(
		'qdisc:ports with sfc, their options and counters'
		'doctor:what is missing, and the command that mends it'
		'help:all about one command'
	)
	_describe command commands
}

local state
_arguments -C $common '1:command:_boltctl_commands' '*::argument:->argument'
[[ $state = argument ]] || return
case $words[1] in
doctor) _arguments $common '1:role:(host switch)' ;;
qdisc) _arguments $common '(-a --all)'{-a,--all}'[counters that are 0 as well]' '*:device:_net_interfaces' ;;
help) _boltctl_commands ;;
esac
