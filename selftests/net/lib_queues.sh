# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A device with four transmit queues: R's d0 and H2's eth0, a pair of lablink that the test's own
# "link pair" makes.

setup_queues() {
	if ! grep -q '^lablink ' /proc/modules; then
		insmod "$BOLT_MODULES/lablink.ko" txqs=4
	fi
	setup_ns R H2
	expect "pair" link pair
	in_ns "$R" sysctl -qw net.ipv6.conf.d0.disable_ipv6=1
	in_ns "$H2" sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1
	ips "$R" <<-BATCH
		addr add 192.0.2.1/24 dev d0
		link set d0 up
	BATCH
	ips "$H2" <<-BATCH
		link set eth0 up
	BATCH
	# the first timers after a boot are late
	sleep 0.1
	expect "mqprio" tc_ qdisc replace dev d0 root handle 10: mqprio num_tc 4 \
		map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 1@3 hw 0
}
