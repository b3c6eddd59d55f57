#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The qdisc is added, shown, changed and deleted with the distribution's tc.  What tc prints can be
# typed again, as text and as JSON; what is wrong is refused and leaves the old configuration as it
# was.

. "$(dirname "$0")/lib.sh"

setup_port() {
	setup_ns H1 H2
	# a port that nobody sends to
	in_ns "$H1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	ip link add name eth0 netns "$H1" type veth peer name eth0 netns "$H2"
	ip -n "$H1" link set eth0 up
	ip -n "$H2" link set eth0 up
}

tc_() {
	in_ns "$H1" tc "$@"
}

# The options as printed: between the flags of `tc qdisc show` and the end of the line
shown() {
	tc_ qdisc show dev eth0 | sed -n 's/^qdisc sfc .* refcnt [0-9]* //p' | head -1
}

config() {
	tc_ -j qdisc show dev eth0 | jq -cS '[.[] | select(.kind == "sfc") | .options][0]'
}

test_no_options() {
	setup_port
	expect "add" tc_ qdisc add dev eth0 root sfc
	expect_eq "kind" "$(tc_ -j qdisc show dev eth0 | jq -r '.[0].kind')" sfc
	expect_eq "ccthresh" "$(qdisc "$H1" eth0 ccthresh)" auto
	expect_eq "limit" "$(qdisc "$H1" eth0 limit)" $((16 << 20))
	expect_eq "memory_limit" "$(qdisc "$H1" eth0 memory_limit)" $((64 << 20))
	expect_eq "port" "$(qdisc "$H1" eth0 port)" 12311
	for flag in bolt src pru sm split_gso; do
		expect_eq "$flag" "$(qdisc "$H1" eth0 "$flag")" true
	done
	for flag in pause edge; do
		expect_eq "$flag" "$(qdisc "$H1" eth0 "$flag")" false
	done
	expect "delete" tc_ qdisc del dev eth0 root
	expect_eq "gone" "$(config)" null
}

# Hosts tell ports apart by it: by default each port has a number, and keeps it
test_switch_id() {
	local first
	setup_port
	expect "add" tc_ qdisc add dev eth0 root sfc
	expect "at the other end" in_ns "$H2" tc qdisc add dev eth0 root sfc
	first=$(qdisc "$H1" eth0 switch_id)
	expect "two numbers" [ "$first" != "$(qdisc "$H2" eth0 switch_id)" ]
	expect "delete" tc_ qdisc del dev eth0 root
	expect "add again" tc_ qdisc add dev eth0 root sfc
	expect_eq "afterwards" "$(qdisc "$H1" eth0 switch_id)" "$first"
}

# Speed from ethtool: a veth says 10 Gb/s
test_rate_from_device() {
	setup_port
	expect "add" tc_ qdisc add dev eth0 root sfc
	expect_eq "link rate" "$(tc_ -j -s qdisc show dev eth0 | jq '.. | .link_rate? // empty')" 1250000000
}

# batch: the lines of $tmp/batch to one tc, which goes on after an error.  What sfc's options were at
# each `qdisc show` is a line of $tmp/shown; $tmp/said has the complaints, behind the line's number
batch() {
	tc_ -force -j -batch "$tmp/batch" >"$tmp/out" 2>"$tmp/err"
	jq -c '[.[] | select(.kind == "sfc") | .options][0]' <"$tmp/out" >"$tmp/shown"
	awk '/^Command failed /{ sub(/.*:/, ""); print $0 ":" said; said = ""; next }
		{ said = said " " $0 }' "$tmp/err" >"$tmp/said"
}

# An option, + for the blank in it, and what JSON must say then
test_each_option() {
	local opts=() wants=() opt want i=0 shown
	setup_port
	while read -r opt want; do
		opts+=("${opt//+/ }")
		wants+=("$want")
	done <<-LIST
		rate+10gbit rate=1250000000
		rate+8kbit rate=1000
		rate+400gbit rate=50000000000
		limit+64kb limit=65536
		limit+2000b limit=2000
		memory_limit+1mb memory_limit=1048576
		memory_limit+4294967295b memory_limit=4294967295
		ccthresh+3000b ccthresh=3000
		ccthresh+auto ccthresh=auto
		pruthresh+20kb pruthresh=20480
		pruthresh+auto pruthresh=auto
		overhead+24 overhead=24
		nobolt bolt=false
		nosrc src=false
		nopru pru=false
		nosm sm=false
		no-split-gso split_gso=false
		nobolt+bolt bolt=true
		sm paper=false
		paper paper=true
		paper+nopaper paper=false
		pause pause=true
		pause+nopause pause=false
		edge edge=true
		cache+switchkey+f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff cache=true
		cache+nocache cache=false
		ecn+60kb ecn=61440
		ecn+off ecn=off
		estimator+10us estimator=10000
		estimator+off estimator=off
		serverrate+100gbit serverrate=12500000000
		bts+ingress bts=ingress
		bts+egress bts=egress
		bts+off bts=off
		rtt+25us rtt=25000
		rtt+1500ns rtt=1500
		qth+250kb qth=256000
		qth+auto qth=auto
		qtg+3000b qtg=3000
		suppress+auto suppress=auto
		suppress+off suppress=off
		suppress+5us suppress=5000
		maxpause+4s maxpause=4000000000
		switch_id+4294967295 switch_id=4294967295
		msgrate+1 msgrate=1
		buffer+16mb buffer=16777216
		buffer+off buffer=off
		alpha+1 alpha=1
		alpha+1/128 alpha=1/128
		alpha+3/2 alpha=3/2
		pfc+prio+0x08+xoff+9000b pfc=8
		pfc+prio+255+xoff+9000b+nopfc pfc=0
		xoff+9000b xoff=9000
		xon+auto xon=auto
		xoff+9000b+xon+9000b xon=9000
		watchdog+1ns watchdog=1
		watchdog+off watchdog=off
		ignore+4s ignore=4000000000
		nosfc-p sfc_p=false
		bands+1 bands=1
		bands+8 bands=8
		bands+3+weights+4+2+255 weights=[4,2,255]
		bands+2 weights=[1,1]
		bands+2+default+2 default=2
		bands+2+srcprob+1+100 srcprob=[1,100]
		bands+2+dscp+0-63:2 dscp=[{"first":0,"last":63,"band":2}]
		bands+2+dscp+1:1,2:1,4:2 dscp=[{"first":1,"last":2,"band":1},{"first":4,"last":4,"band":2}]
		bands+2+dscp+none dscp=[]
		levels bands=8
		levels levels=[2048,8192,32768,131072,524288,2097152,8388608]
		levels default=8
		levels weights=[1,1,1,1,1,1,1,1]
		levels+64kb+1mb levels=[65536,1048576]
		levels+64kb+1mb bands=3
		levels+1b+1gb levels=[1,1073741824]
		levels+1mb+default+1 default=1
		bands+4+levels+1mb bands=4
		levels+none levels=[]
		port+1 port=1
		port+65535 port=65535
		ttl+255 ttl=255
		addr+192.0.2.9 addr4=192.0.2.9
		addr+2001:db8::9 addr6=2001:db8::9
	LIST
	for opt in "${opts[@]}"; do
		printf 'qdisc %s\n' "add dev eth0 root sfc $opt" "show dev eth0" "del dev eth0 root"
	done >"$tmp/batch"
	batch
	expect_none "complaints" "$(<"$tmp/said")"
	while read -r shown; do
		want=${wants[i]}
		expect_eq "${opts[i]}" "$(jq -rc ".${want%=*}" <<<"$shown")" "${want#*=}"
		i=$((i + 1))
	done <"$tmp/shown"
	expect_eq "all of them" "$i" "${#opts[@]}"
}

# What is printed, given again, is the same configuration
test_round_trip() {
	# never shown
	local first text opts key="switchkey $SWITCHKEY"
	setup_port
	while read -r opts; do
		# shellcheck disable=SC2086 # words
		expect "add $opts" tc_ qdisc replace dev eth0 root sfc $opts $key
		first=$(config)
		text=$(shown)
		expect "text" test -n "$text"
		tc_ qdisc del dev eth0 root
		# shellcheck disable=SC2086 # words
		expect "add again: $text" tc_ qdisc add dev eth0 root sfc $text $key
		expect_eq "configuration again" "$(config)" "$first"
		expect_eq "text again" "$(shown)" "$text"
	done <<-'LIST'

		rate 10gbit limit 1mb ccthresh 9000b pruthresh 33333b overhead 24 nopru
		levels
		levels 4kb 128kb 2mb default 2 dscp 46:1
		levels none bands 1 default 1 dscp none
		rate 123456789bit limit 65537b memory_limit 300001b nosm nosrc no-split-gso
		limit 100mb memory_limit 64mb
		nobolt switch_id 7 msgrate 1000 port 50000 ttl 2 addr 192.0.2.9
		addr 192.0.2.9 addr 2001:db8::9 rate 8kbit
		rate 4294gbit limit 100000b
		pause edge limit 2mb bts egress rtt 1ms qth 1000000b qtg 10000b suppress 1500ns maxpause 1s
		rate 100gbit pause bts off suppress off
		rate 100gbit pause cache estimator 20us ecn 60kb noedge
		maxpause 2ms
		rate 400gbit pause cache estimator 20us serverrate 100gbit
		serverrate 123456789bit
		paper ccthresh 1500b
		buffer 1mb alpha 128 pfc prio 0x01 xoff 2kb watchdog off
		buffer 2000b alpha 5/8 pfc prio 0xff xoff 9000b xon 1b ignore 1ns pause cache sfc-p
		xoff 9000b xon 1000b alpha 1/2 ignore 1ms
		bands 2 nopaper
		bands 4 weights 8 4 2 1 default 4 dscp 46:1,8-15:2,0:3,63:4 srcprob 100 75 50 1
		bands 8 dscp 0-7:1,8-15:2,16-23:3,24-31:4,32-39:5,40-47:6,48-55:7,56-63:8
		bands 8 dscp 0:1,2:1,4:1,6:1,8:1,10:1,12:1,14:1,16:1,18:1,20:1,22:1,24:1,26:1,28:1,30:1,32:1,34:1,36:1,38:1,40:1
	LIST
}

# The JSON of a full line is JSON, with and without statistics
test_json() {
	setup_port
	expect "add" tc_ qdisc add dev eth0 root sfc rate 1gbit addr 192.0.2.9
	for args in "-j" "-j -s" "-j -s -d" "-j -p -s"; do
		# shellcheck disable=SC2086 # words
		expect "tc $args" python3 -c 'import json, sys; json.loads(sys.argv[1])' \
			"$(tc_ $args qdisc show dev eth0)"
	done
	counters "$H1" eth0 data=0 congested=0 dec_set=0 dec_seen=0 pru_added=0 inc_pru=0 inc_sm=0 \
		inc_cleared=0 opt_bad=0 mark_failed=0 src_sent=0 msg_limited=0 msg_nomem=0 \
		msg_dropped=0 msg_unfit=0 high=0 gso_split=0 gso_segs=0 gso_failed=0 drop_data=0 \
		drop_high=0 backlog_peak=0
}

# change touches what it names, and nothing else
test_change() {
	local before
	setup_port
	expect "add" tc_ qdisc add dev eth0 root sfc rate 10gbit limit 1mb nopru ttl 9
	before=$(config)
	expect "change" tc_ qdisc change dev eth0 root sfc limit 2mb
	expect_eq "limit" "$(qdisc "$H1" eth0 limit)" $((2 << 20))
	expect "change back" tc_ qdisc change dev eth0 root sfc limit 1mb
	expect_eq "the rest" "$(config)" "$before"
	expect "switch" tc_ qdisc change dev eth0 root sfc pru nosm
	expect_eq "pru" "$(qdisc "$H1" eth0 pru)" true
	expect_eq "sm" "$(qdisc "$H1" eth0 sm)" false
	expect_eq "src" "$(qdisc "$H1" eth0 src)" true
	expect "empty change" tc_ qdisc change dev eth0 root sfc
	expect "no more rate" tc_ qdisc change dev eth0 root sfc rate 0
	expect_eq "rate" "$(qdisc "$H1" eth0 rate)" null
}

# A key is never shown, only that there is one
test_key_is_secret() {
	setup_port
	expect "add" tc_ qdisc add dev eth0 root sfc tagkey 000102030405060708090a0b0c0d0e0f
	expect_eq "tagged" "$(qdisc "$H1" eth0 tagged)" 1
	expect_eq "shown" "$(tc_ -s -d qdisc show dev eth0 | grep -c 0001020304)" 0
	expect "take back" tc_ qdisc change dev eth0 root sfc notagkey
	expect_eq "tagged" "$(qdisc "$H1" eth0 tagged)" 0
	expect "of switches" tc_ qdisc change dev eth0 root sfc switchkey "$SWITCHKEY" cache
	expect_eq "shown" "$(tc_ -s -d qdisc show dev eth0 | grep -c f0f1f2f3)" 0
	expect_fail "while it is needed" 'cache needs a switchkey' \
		tc_ qdisc change dev eth0 root sfc noswitchkey
	expect "take back" tc_ qdisc change dev eth0 root sfc nocache noswitchkey
	expect_fail "is gone" 'cache needs a switchkey' tc_ qdisc change dev eth0 root sfc cache
}

# refused PATTERN OPTIONS...: add fails and leaves no qdisc; change fails and changes nothing, not
# the half that is right either.  Tried by refusals, all at once
refused() {
	patterns+=("$1")
	shift
	options+=("$*")
}

refusals() {
	local at=0 i line base='rate 10gbit limit 1mb ccthresh 9000b ttl 7 nosm addr 192.0.2.9 switch_id 3'
	local shown=() said=()
	for i in "${options[@]}"; do
		printf 'qdisc %s\n' "add dev eth0 root sfc $i" "show dev eth0" \
			"add dev eth0 root sfc $base" "show dev eth0" \
			"change dev eth0 root sfc $i" "show dev eth0" \
			"change dev eth0 root sfc limit 2mb ttl 9 sm $i" "show dev eth0" \
			"del dev eth0 root"
	done >"$tmp/batch"
	batch
	readarray -t shown <"$tmp/shown"
	while IFS=: read -r i line; do
		said[i]=$line
	done <"$tmp/said"
	for i in "${!options[@]}"; do
		for line in 1 5 7; do
			[[ ${said[9 * i + line]:-} =~ ${patterns[i]} ]] ||
				fail "$(sed -n "$((9 * i + line))p" "$tmp/batch"): ${said[9 * i + line]:-taken}"
		done
		at=$((4 * i))
		expect_eq "left by add ${options[i]}" "${shown[at]}" null
		expect_ne "${options[i]}: before" "${shown[at + 1]}" null
		expect_eq "after change ${options[i]}" "${shown[at + 2]}" "${shown[at + 1]}"
		expect_eq "after change limit 2mb ttl 9 sm ${options[i]}" "${shown[at + 3]}" "${shown[at + 1]}"
	done
	expect_eq "complaints" "${#said[@]}" $((3 * ${#options[@]}))
	expect_eq "shown" "${#shown[@]}" $((4 * ${#options[@]}))
}

# By the kernel, with an extack
test_refused_by_kernel() {
	local patterns=() options=()
	setup_port
	refused 'rate: "7kbit" is not 0 or a rate' rate 7kbit
	refused 'Error: rates go from 8 kbit/s to 4294 Gbit/s' rate 5tbit
	refused 'serverrate: "7kbit" is not 0 or a rate' serverrate 7kbit
	refused 'Error: rates go from 8 kbit/s to 4294 Gbit/s' serverrate 5tbit
	refused "Error: limit is below one packet" limit 1000b
	refused 'Error: ccthresh is beyond limit' limit 3000b ccthresh 4000b
	refused 'Error: pruthresh is beyond limit' limit 1mb pruthresh 1048577b
	refused 'Error: qth is beyond limit' limit 1mb qth 1048577b
	refused 'Error: qtg must be below qth' qth 5000b qtg 5000b
	refused 'Error: qtg must be below limit' limit 1mb qtg 1mb
	refused 'Error: ecn is beyond limit' ecn 2mb limit 1mb
	refused 'Error: estimator goes from 1 us' estimator 999ns
	refused 'Error: estimator goes from 1 us' estimator 1500ms
	refused 'Error: integer out of range' rtt 999ns
	refused 'Error: integer out of range' rtt 101ms
	refused 'Error: integer out of range' maxpause 999ns
	refused 'Error: weights and srcprob name a number for each band' bands 2 weights 1
	refused 'Error: weights and srcprob name a number for each band' bands 2 srcprob 1 2 3
	refused 'Error: weights and srcprob name a number for each band' weights 1 1
	refused 'Error: default names a band that does not exist' bands 2 default 3
	refused 'Error: default names a band that does not exist' default 2
	refused 'Error: dscp names a band that does not exist' bands 2 dscp 46:3
	refused 'Error: srcprob sets bands apart' srcprob 50
	refused 'Error: levels lead from each band to a later one that exists' bands 2 levels 2kb 8kb
	refused 'Error: levels are served in their order: weights do not apply' levels 2kb weights 2 1
	refused 'Error: pfc and levels are mutually exclusive' levels pfc prio 8 xoff 10kb
	refused 'Error: limit leaves a band less than one packet' levels limit 3000b
	refused 'Error: limit leaves a band less than one packet' bands 2 limit 20000b weights 1 20
	refused 'Error: limit leaves a band less than one packet' bands 8 limit 12000b
	refused 'Error: paper and bands are mutually exclusive' bands 2 paper
	refused 'Error: addr must be a unicast address' addr 224.0.0.1
	refused 'Error: addr must be a unicast address' addr 255.255.255.255
	refused 'Error: addr must be a unicast address' addr 127.0.0.1
	refused 'Error: addr must be a unicast address' addr ff02::1
	refused 'Error: addr must be a unicast address' addr ::1
	refused 'Error: cache needs a switchkey' pause cache
	refused 'Error: cache needs a switchkey' cache noswitchkey
	refused 'Error: switchkey and tagkey must differ' tagkey "$SWITCHKEY" switchkey "$SWITCHKEY"
	refused 'Error: switchkey and tagkey must differ' tagkey "$SWITCHKEY" \
		switchkey "${SWITCHKEY//f/0},$SWITCHKEY"
	refusals
}

# By the plugin, before the kernel is asked
test_refused_by_plugin() {
	local patterns=() options=() i
	setup_port
	refused 'ttl: "0" is not a number from 1 to 255' ttl 0
	refused 'ttl: "256" is not a number from 1 to 255' ttl 256
	refused 'option "hold" belongs to the qdisc sfc_hold now' hold
	refused 'option "nohold" belongs to the qdisc sfc_hold now' nohold
	refused 'option "holdshare" belongs to the qdisc sfc_hold now' holdshare 50
	refused 'option "minttl" belongs to the qdisc sfc_hold now' minttl 9
	refused 'port: "0" is not a number from 1 to 65535' port 0
	refused 'port: "65536" is not a number from 1 to 65535' port 65536
	refused 'msgrate: "0" is not a number' msgrate 0
	refused 'switch_id: "-1" is not a number' switch_id -1
	refused 'switch_id: "4294967296" is not a number' switch_id 4294967296
	refused 'overhead: "257" is not a number' overhead 257
	refused 'ccthresh: "0" is not' ccthresh 0
	refused 'ccthresh: "-1" is not' ccthresh -1
	refused 'limit: "x" is not a size' limit x
	refused 'rate: "fast" is not 0 or a rate' rate fast
	refused 'serverrate: "-1" is not 0 or a rate' serverrate -1
	refused 'addr: "here" is not' addr here
	refused 'tagkey: "00" is not 32 hex digits' tagkey 00
	refused "tagkey: \"$SWITCHKEY,$SWITCHKEY\" is not 32 hex digits" tagkey "$SWITCHKEY,$SWITCHKEY"
	refused 'switchkey: "00" is not 32 hex digits' switchkey 00
	refused 'is not 32 hex digits, or two keys' switchkey "$SWITCHKEY,"
	refused 'is not 32 hex digits, or two keys' switchkey "$SWITCHKEY,$SWITCHKEY,$SWITCHKEY"
	refused 'qth: "0" is not' qth 0
	refused 'qtg: "-1" is not' qtg -1
	refused 'pruthresh: "0" is not' pruthresh 0
	refused 'bts: "here" is not ingress, egress or off' bts here
	refused 'rtt: "0" is not a time' rtt 0
	refused 'rtt: "soon" is not a time' rtt soon
	for i in 10 10.5 1e5 0x10 0xc; do
		refused "rtt: \"$i\" is not a time with its unit" rtt "$i"
	done
	refused 'suppress: "5s" is not a time' suppress 5s
	refused 'maxpause: "-1us" is not a time' maxpause -1us
	refused 'bands: "0" is not a number from 1 to 8' bands 0
	refused 'bands: "9" is not a number from 1 to 8' bands 9
	refused 'default: "0" is not a number from 1 to 8' default 0
	refused 'weights: "0" is not a number from 1 to 255' bands 2 weights 1 0
	refused 'weights: "256" is not a number from 1 to 255' bands 2 weights 1 256
	refused 'weights: a number for each band is missing' bands 2 weights
	refused 'weights: "9" is not for any band' bands 8 weights 1 2 3 4 5 6 7 8 9
	refused 'srcprob: "101" is not a number from 1 to 100' bands 2 srcprob 1 101
	refused 'levels: "3kb" is not a power of two' levels 3kb
	refused 'levels: "4kb" is not a power of two above the one before' levels 8kb 4kb
	refused 'levels: "0" is not a power of two' levels 0
	refused 'levels: "2gb" is not a size below 2gb' levels 2gb
	refused 'levels: "16mb" is not for any band' levels 2kb 4kb 8kb 16kb 32kb 64kb 128kb 16mb
	refused 'dscp: "64:1" is not' bands 2 dscp 64:1
	refused 'dscp: "5-4:1" is not' bands 2 dscp 5-4:1
	refused 'dscp: "1:0" is not' bands 2 dscp 1:0
	refused 'dscp: "1:1,,2:1" is not' bands 2 dscp 1:1,,2:1
	refused 'dscp: "1:11" is not' bands 2 dscp 1:11
	refused 'dscp: "one" is not' bands 2 dscp one
	for i in -0:1 +1:1 1-+3:1 1:+1 001:1 '1:1,' 1: 1-:1; do
		refused "dscp: \"${i/+/[+]}\" is not" bands 2 dscp "$i"
	done
	refused 'dscp: "1:1,1:2" is not .* once' bands 2 dscp 1:1,1:2
	refused 'dscp: "0-7:1,5-9:1" is not .* once' bands 2 dscp 0-7:1,5-9:1
	for i in nan inf +5 -5; do
		refused "rate: \"${i/+/[+]}\" is not 0 or a rate" rate "$i"
		refused "serverrate: \"${i/+/[+]}\" is not 0 or a rate" serverrate "$i"
		refused "limit: \"${i/+/[+]}\" is not a size" limit "$i"
		refused "rtt: \"${i/+/[+]}\" is not a time" rtt "$i"
		refused "ttl: \"${i/+/[+]}\" is not a number" ttl "$i"
		refused "alpha: \"${i/+/[+]}\" is not a number" alpha "$i"
		refused "weights: .*missing|weights: \"${i/+/[+]}\" is not" bands 1 weights "$i"
	done
	refused 'alpha: "1/[+]2" is not a number' alpha 1/+2
	refused 'alpha: "1/3/2" is not a number' alpha 1/3/2
	refused 'unknown option "frob"' frob
	refused 'option "sfc" is called "pause" now' sfc
	refused 'option "nosfc" is called "nopause" now' nosfc
	refused 'option "srcrate" is called "msgrate" now' srcrate 5
	refused 'rate: value missing' rate
	refusals
}

# The kernel's own checks, seen by what bypasses the plugin
test_refused_raw() {
	setup_port
	tc_ qdisc add dev eth0 root sfc rate 10gbit ttl 7
	before=$(config)
	in_ns "$H1" ./sfc_netlink eth0 >"$tmp/raw" || fail "$(cat "$tmp/raw")"
	expect_eq "afterwards" "$(config)" "$before"
}

# sfc_hold, as the port of a host has it
hold_config() {
	tc_ -j qdisc show dev eth0 | jq -cS '[.[] | select(.kind == "sfc_hold") | .options][0]'
}

test_hold() {
	local opts want text first
	setup_port
	text=$(tc_ qdisc add dev eth0 root handle 1: sfc_hold 2>&1) || fail "add"
	expect "said: $text" grep -q '^Warning: no BTS is believed: give a tagkey, or notagkey' <<<"$text"
	expect_eq "defaults" "$(hold_config)" \
		'{"limit":16777216,"maxpause":10000000,"minttl":0,"notagkey":false,"port":12311,"share":95}'
	expect_eq "its child" "$(tc_ -j qdisc show dev eth0 invisible | jq -r '.[] | select(.parent == "1:1") | .kind')" bfifo
	while read -r want opts; do
		# shellcheck disable=SC2086 # words
		expect "change $opts" tc_ qdisc change dev eth0 root sfc_hold $opts
		expect_eq "$opts" "$(hold_config | jq -c ".${want%=*}")" "${want#*=}"
		first=$(hold_config)
		text=$(tc_ qdisc show dev eth0 | sed -n 's/^qdisc sfc_hold .* refcnt [0-9]* //p')
		# shellcheck disable=SC2086 # words
		expect "again: $text" tc_ qdisc replace dev eth0 root handle 1: sfc_hold $text
		expect_eq "again: $text" "$(hold_config)" "$first"
	done <<-'LIST'
		limit=1048576 limit 1mb
		limit=1514 limit 1514b
		maxpause=1000 maxpause 1us
		maxpause=1000000000 maxpause 1s
		share=1 share 1
		share=100 share 100
		minttl=255 minttl 255
		port=65535 port 65535
		notagkey=true notagkey
	LIST
	first=$(hold_config)
	expect_none "a warning" "$(tc_ qdisc change dev eth0 root sfc_hold minttl 255 2>&1)"
	expect "key" tc_ qdisc change dev eth0 root sfc_hold tagkey 000102030405060708090a0b0c0d0e0f
	expect_eq "key" "$(tc_ -s -j qdisc show dev eth0 | jq '.[] | select(.kind == "sfc_hold") | .tagged')" 1
	expect_eq "secret" "$(hold_config)" "$(jq -c '.notagkey = false' <<<"$first")"
	expect "no key" tc_ qdisc change dev eth0 root sfc_hold notagkey
	expect_eq "no key" "$(tc_ -s -j qdisc show dev eth0 | jq '.[] | select(.kind == "sfc_hold") | .tagged')" 0
	while IFS=';' read -r opts want; do
		# shellcheck disable=SC2086 # words
		expect_fail "$opts" "$want" tc_ qdisc change dev eth0 root sfc_hold minttl 3 $opts
		expect_eq "$opts" "$(hold_config)" "$first"
	done <<-'LIST'
		limit 1513b;Error: limit is below one packet
		maxpause 999ns;Error: integer out of range
		maxpause 1001ms;Error: integer out of range
		limit -1;limit: "-1" is not
		maxpause soon;maxpause: "soon" is not a time
		share 0;share: "0" is not a number from 1 to 100
		share 101;share: "101" is not a number from 1 to 100
		minttl 256;minttl: "256" is not a number from 0 to 255
		port 0;port: "0" is not a number from 1 to 65535
		tagkey 00;tagkey: "00" is not 32 hex digits
		minttl +3;minttl: "[+]3" is not a number from 0 to 255
		limit nan;limit: "nan" is not a size
		frob;unknown option "frob"
		port;port: value missing
		help;Usage: ... sfc_hold
	LIST
	expect_fail "a class" '^sfc_hold: classes cannot be added' \
		tc_ class add dev eth0 parent 1: classid 1:2 sfc_hold
	in_ns "$H1" ./sfc_netlink eth0 sfc_hold >"$tmp/raw" || fail "$(cat "$tmp/raw")"
	expect_eq "afterwards" "$(hold_config)" "$first"
}

mtu_is() {
	[ "$(qdisc "$H1" eth0 mtu)" = "$1" ]
}

# Thresholds follow the device
test_mtu_change() {
	setup_port
	expect "add" tc_ qdisc add dev eth0 root sfc
	expect_eq "mtu" "$(qdisc "$H1" eth0 mtu)" 1514
	ip -n "$H1" link set eth0 mtu 9000
	expect "mtu after" busywait mtu_is 9014
}

run_tests no_options switch_id rate_from_device each_option round_trip json change key_is_secret \
	refused_by_kernel refused_by_plugin refused_raw hold mtu_change
