#compdef subrtt
# SPDX-License-Identifier: GPL-2.0
# zsh completion for subrtt(8)

local -a common
common=(
	'(-j --json)'{-j,--json}'[print JSON]'
	'(-n --netns)'{-n,--netns}'[in this network namespace]:namespace:_path_files -W /run/netns'
	'(-h --help)'{-h,--help}'[what it shows, options, examples]'
	'(-V --version)'{-V,--version}'[name and version]'
)

_subrtt_commands() {
	local -a commands
	commands=(
		'flows:connections: windows, pauses, the last SRC, counters'
		'stats:counters of the namespace, or how fast they move'
		'qdisc:ports with sfc, their options and counters'
		'top:connections and ports by what they carry, live'
		'exporter:OpenMetrics over HTTP'
		'doctor:diagnose the setup; each problem comes with a fix'
		'help:all about one command'
	)
	_describe command commands
}

local state
_arguments -C $common '1:command:_subrtt_commands' '*::argument:->argument'
[[ $state = argument ]] || return
case $words[1] in
flows)
	_arguments $common \
		'(-a --addr)'{-a,--addr}'[either end]:address:' \
		'(-l --local)'{-l,--local}'[this end]:address:' \
		'(-r --remote)'{-r,--remote}'[the other end]:address:' \
		'(-p --port)'{-p,--port}'[port of either end]:port:' \
		'--local-port[port of this end]:port:' \
		'--remote-port[port of the other end]:port:' \
		'(-c --cc)'{-c,--cc}'[congestion control]:name:(bolt swift)' \
		'(-d --dev)'{-d,--dev}'[bound to it]:device:_net_interfaces' \
		'(-4 --ipv4)'{-4,--ipv4}'[sockets of IPv4]' \
		'(-6 --ipv6)'{-6,--ipv6}'[sockets of IPv6]' \
		'--paused[paused now]'
	;;
stats)
	_arguments $common \
		'(-a --all)'{-a,--all}'[counters that are 0 as well]' \
		'(-d --delta)'{-d-,--delta=-}'[what they move by]::seconds:' \
		'(-c --count)'{-c,--count}'[end after so many intervals]:number:' \
		'*:counter:(${${(f)"$(cat /proc/net/bolt_stat 2>/dev/null)"}%% *})'
	;;
top)
	_arguments $common \
		'(-d --delay)'{-d,--delay}'[between two looks]:seconds:' \
		'(-c --count)'{-c,--count}'[end after so many]:number:' \
		'(-b --batch)'{-b,--batch}'[one below the other]'
	;;
exporter)
	_arguments $common \
		'(-l --listen)'{-l,--listen}'[address and port]:address:' \
		'--counters[those of stats, too]' \
		'--flows[each connection, too]' \
		'--once[to stdout, and end]'
	;;
doctor) _arguments $common '1:role:(host switch)' ;;
qdisc) _arguments $common '(-a --all)'{-a,--all}'[counters that are 0 as well]' '*:device:_net_interfaces' ;;
help) _subrtt_commands ;;
esac
