# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016 # R, tmp: of lib.sh; awk's own $
#
# What the tests of sfc inside trees of qdiscs share: a device that takes everything at once, trees
# above it that hold packets back, and a check of the counts of each qdisc (bolt_books.c).
#
#	R  d0 (dummy)  192.0.2.1/24	what is sent to 192.0.2.2 leaves, and is gone
#
# Every packet has LEN bytes, link-layer header included.

LEN=1000
injected=0	# packets on the wire, segments counted one by one
lost=0		# went down with a qdisc that was deleted

no_root() {
	tc_ qdisc del dev d0 root
}

# setup_sink QUEUES
setup_sink() {
	setup_ns R
	ip -n "$R" link add d0 numtxqueues "$1" type dummy
	in_ns "$R" sysctl -qw net.ipv6.conf.d0.disable_ipv6=1
	ips "$R" <<-BATCH
		addr add 192.0.2.1/24 dev d0
		link set d0 up
	BATCH
	injected=0 lost=0
}

# burst CLASS N [WORDS...]: N packets of LEN to a class, "0" for none in particular
burst() {
	local class=$1 n=$2
	shift 2
	injected=$((injected + n))
	in_ns "$R" "$BOLT_PROGRAMS/bolt_burst" 192.0.2.2 "n=$n" len=$((LEN - 42)) \
		"prio=$(classid "$class")" "$@" || fail "bolt_burst"
}

# super CLASS N: one super-packet of N packets; netem, which does not split, gets them singly
super() {
	if [ "${kind-}" = netem ]; then
		burst "$@"
		return
	fi
	injected=$((injected + $2))
	in_ns "$R" "$BOLT_PROGRAMS/bolt_burst" 192.0.2.2 len=$(((LEN - 42) * $2)) gso=$((LEN - 42)) \
		"prio=$(classid "$1")" || fail "bolt_burst"
}

# 10:1 as skb->priority has it
classid() {
	case $1 in
	*:*) printf '%x' $((16#${1%:*} << 16 | 16#${1#*:})) ;;
	*) echo "$1" ;;
	esac
}

sent() {
	in_ns "$R" awk '$1 == "d0:" { print $11 }' /proc/self/net/dev
}

sent_at_least() {
	[ "$(sent)" -ge "$1" ]
}

# books WHAT [WORDS...]: see bolt_books.c.  Every packet is sent, dropped and counted, or
# still there.
books() {
	local what=$1 bad
	shift
	bad=$(in_ns "$R" "$BOLT_PROGRAMS/bolt_books" d0 len=$LEN total=$injected lost=$lost "$@" 2>&1) ||
		fail "$what: ${bad//$'\n'/; }"
}

all_empty() {
	in_ns "$R" "$BOLT_PROGRAMS/bolt_books" d0 empty=1
}

drained() {
	expect "drains" busywait all_empty || say "$(tc_ -s qdisc show dev d0)"
	books "drained" empty=1
}

# column HANDLE N: of its qlen (3), backlog (4), drops (5), whatever tc's JSON is worth
column() {
	in_ns "$R" "$BOLT_PROGRAMS/bolt_books" d0 print=1 | awk -v h="$1" -v n="$2" '$2 == h { print $n }'
}

# of HANDLE NAME: a statistic of one sfc; not from JSON, which some parents spoil
of() {
	tc_ -s qdisc show dev d0 | awk -v h="$1" -v n="$2" '
		$1 == "qdisc" { mine = $3 == h }
		mine { for (i = 1; i < NF; i++) if ($i == n) value = $(i + 1) }
		END { print value }'
}

# goes HANDLE: the sfc of that name is about to go, with all it holds and has dropped
goes() {
	lost=$((lost + $(column "$1" 3) + $(column "$1" 5)))
}

# --- sfc below another qdisc ---

# class_add KIND N
class_add() {
	local under=10:
	[ "$1" != htb_borrow ] || under=10:f
	set -- "$1" class add dev d0 parent $under classid "10:$2"
	case $1 in
	drr) tc_ "${@:2}" drr ;;
	qfq) tc_ "${@:2}" qfq weight 10 ;;
	htb) tc_ "${@:2}" htb rate 100mbit quantum 1600 ;;
	htb_borrow) tc_ "${@:2}" htb rate 8kbit ceil 100mbit quantum 1600 ;;
	hfsc_rt) tc_ "${@:2}" hfsc rt m1 50mbit d 10ms m2 20mbit ;;
	hfsc_ls) tc_ "${@:2}" hfsc ls m2 20mbit ;;
	hfsc_ul) tc_ "${@:2}" hfsc rt m2 1mbit ls m2 20mbit ul m1 30mbit d 5ms m2 100mbit ;;
	esac
}

# parent KIND WHERE...: the qdisc 10: with the classes 10:1 and 10:2, as far as it has them
parent() {
	local kind=$1
	shift
	case $kind in
	prio) tc_ qdisc add dev d0 "$@" handle 10: prio bands 2 \
		priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ;;
	ets) tc_ qdisc add dev d0 "$@" handle 10: ets bands 2 strict 1 quanta 1514 ;;
	drr | qfq) tc_ qdisc add dev d0 "$@" handle 10: "$kind" ;;
	htb) tc_ qdisc add dev d0 "$@" handle 10: htb ;;
	htb_borrow)
		tc_ qdisc add dev d0 "$@" handle 10: htb
		tc_ class add dev d0 parent 10: classid 10:f htb rate 100mbit quantum 1600
		;;
	hfsc*) tc_ qdisc add dev d0 "$@" handle 10: hfsc ;;
	tbf) tc_ qdisc add dev d0 "$@" handle 10: tbf rate 100mbit burst 20kb limit 10mb ;;
	red) tc_ qdisc add dev d0 "$@" handle 10: red limit 10mb min 100kb max 1mb avpkt 1000 \
		burst 200 bandwidth 100mbit ;;
	sfb) tc_ qdisc add dev d0 "$@" handle 10: sfb limit 1000 max 1000 target 900 ;;
	# a byte of credit is a whole number of ns: cbs rounds down, and in virtual time spins on less
	cbs) tc_ qdisc add dev d0 "$@" handle 10: cbs idleslope 80000 sendslope -20000 \
		hicredit 1500 locredit -1500 ;;
	netem) tc_ qdisc add dev d0 "$@" handle 10: netem limit 1000 ;;
	sfc_hold) tc_ qdisc add dev d0 "$@" handle 10: sfc_hold ;;
	esac
}

two_classes() {
	case $1 in tbf | red | sfb | cbs | netem | sfc_hold) return 1 ;; esac
}

can_delete() {
	case $1 in drr | qfq | htb* | hfsc*) ;; *) return 1 ;; esac
}

leaf() {
	tc_ qdisc add dev d0 parent "10:$1" handle "2$1:" sfc nobolt "${slow[@]}"
}

# The packets are held by a tbf above, and everything between peeks; or by the sfc
# themselves, which parents take for a leaf that is not ready
build() {
	local kind=$1 n
	if [ "$hold" = above ]; then
		tc_ qdisc add dev d0 root handle 1: tbf rate 100kbit burst 12000 limit 10mb
		slow=() peeked=peeked=10 root=1:
		expect "$kind" parent "$kind" parent 1:1
	else
		slow=(rate 100kbit) peeked=peeked=0 root=10:
		expect "$kind" parent "$kind" root
	fi
	[ "$kind" != netem ] || peeked=own=10
	for n in 1 2; do
		[ $n = 1 ] || two_classes "$kind" || break
		class_add "$kind" "$n"
		expect "sfc" leaf "$n"
	done
}

release() {
	if [ "$hold" = above ]; then
		tc_ qdisc change dev d0 root handle 1: tbf rate 100mbit burst 20000 limit 10mb
	else
		tc_ qdisc change dev d0 handle 21: parent 10:1 sfc rate 0
		! two_classes "$1" || tc_ qdisc change dev d0 handle 22: parent 10:2 sfc rate 0
	fi
}

# through KIND above|leaf
through() {
	local kind=$1 hold=$2 slow peeked root before step=0
	setup_sink 1
	build "$kind"

	# a burst larger than a super-packet, or tbf splits it; it is used up first
	burst 10:1 20
	books "$kind, one class" "$peeked"
	super 10:1 10
	books "$kind, super-packet" "$peeked"
	[ "$kind" = netem ] || expect_eq "split" "$(of 21: gso_split)" 1
	two_classes "$kind" && burst 10:2 5 && super 10:2 5
	books "$kind, two classes" "$peeked"
	expect_ge "held" "$(column "$root" 3)" 15

	before=$(sent)
	for step in 1 2 3; do
		expect "one leaves" busywait sent_at_least $((before + step))
		books "$kind, $step left" "$peeked"
	done

	# less room than is taken, then more packets than room, part of a super-packet among them
	tc_ qdisc change dev d0 parent 10:1 handle 21: sfc limit 6000b
	expect_ge "dropped" "$(tc_ -j -s qdisc show dev d0 |
		jq '.[] | select(.handle == "21:").drops')" 5
	books "$kind, limit lowered" "$peeked"
	burst 10:1 3
	books "$kind, over the limit" "$peeked"
	tc_ qdisc change dev d0 parent 10:1 handle 21: sfc limit 9500b
	super 10:1 8
	[ "$kind" = netem ] || expect_ge "dropped" "$(of 21: drop_data)" 5
	books "$kind, part of a super-packet" "$peeked"
	super 10:1 8
	books "$kind, all of a super-packet" "$peeked"

	# another qdisc in its place, and back
	goes 21:
	expect "pfifo" tc_ qdisc replace dev d0 parent 10:1 handle 31: pfifo limit 100
	books "$kind, replaced" "$peeked"
	burst 10:1 5
	books "$kind, the other one in use" "$peeked"
	goes 31:
	expect "sfc" tc_ qdisc replace dev d0 parent 10:1 handle 21: sfc nobolt "${slow[@]}"
	books "$kind, back" "$peeked"
	super 10:1 5
	books "$kind, back in use" "$peeked"

	if can_delete "$kind"; then
		burst 10:2 3
		goes 22:
		expect "delete class" tc_ class del dev d0 classid 10:2
		books "$kind, class deleted" "$peeked"
		expect "the class again" class_add "$kind" 2
		expect "sfc" leaf 2
		books "$kind, class again" "$peeked"
		super 10:2 5
		burst 10:2 2
		books "$kind, class used again" "$peeked"
	fi

	release "$kind"
	drained
	burst 10:1 5
	super 10:1 5
	! two_classes "$kind" || super 10:2 5
	drained

	# and once more with everything full
	burst 10:1 20
	expect "delete" tc_ qdisc del dev d0 root
	undo
}
