#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# States that a connection between two hosts can be in: closed window, idle with keepalive, half
# closed, aborted, TIME-WAIT, checkpointed by TCP_REPAIR; and urgent data.  bolt must behave there
# as any other congestion control does.

. "$(dirname "$0")/lib.sh"

# Twenty seconds without a window: probes and their answers carry the option, and the connection
# goes on with bolt when it opens
zero_window() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt rcvbuf 20000 listen "$1" 5001 pause 20000 recv 1000000 send 1000 info \
		recv-eof
	client "$H1" cc bolt connect "$1" 5001 send 1000000 recv 1000 outq info
	server_done
	sniffed
	bolt_both OptWindow OptNoMtu
	expect_ge "window closed" "$(packets eth0 'in tcp.* win=0 ')" 3
	expect_ge "probes" "$(stack "$H1" TcpExtTCPWinProbe)" 3
	expect_eq "packets without the option" "$(packets eth0 'flags=[^S]' 'bolt=none')" 0
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
	expect_eq "cuts for timeouts" "$(bolt_stat "$H1" RtoDec)" 0
}

test_zero_window_ipv4() {
	zero_window 192.0.2.2
}

test_zero_window_ipv6() {
	zero_window 2001:db8::2
}

# Nothing to say for a minute but probes
test_keepalive() {
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 recv 100000 send 100000 recv-eof
	sniff "$H1" eth0
	client "$H1" cc bolt keepalive 2 connect "$A2" 5001 pause 60000 send 100000 recv 100000 info
	server_done
	sniffed
	bolt_both OptWindow OptNoMtu
	expect_ge "probes" "$(packets eth0 'out tcp.* len=0 .*bolt=full')" 29
	expect_eq "packets without the option" "$(packets eth0 'flags=[^S]' 'bolt=none')" 0
	expect_eq "congestion control" "$(info "$tmp/client" cc)" bolt
}

# Nobody answers any more
test_keepalive_gives_up() {
	rm -f "$tmp"/{up,go,half}
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 mark "$tmp/up" recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt keepalive 2 connect "$A2" 5001 recv 1
	expect "connected" busywait test -e "$tmp/up"
	ip -n "$H2" link set eth0 down
	client_fails "timed out|unreachable"
}

# client_fails PATTERN: the client ends badly, and says that
client_fails() {
	if wait "$CLIENT"; then
		fail "the client ended well"
	fi
	expect "client says $1" grep -qE "$1" "$tmp/client"
}

# user-timeout with data outstanding
test_user_timeout() {
	rm -f "$tmp"/{up,go,half}
	setup_pair
	server "$H2" cc bolt listen "$A2" 5001 mark "$tmp/up" recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 300 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt user-timeout 3000 connect "$A2" 5001 wait "$tmp/go" send 10000 recv 1
	expect "connected" busywait test -e "$tmp/up"
	in_ns "$H1" tc qdisc replace dev eth0 root netem loss 100%
	touch "$tmp/go"
	client_fails "timed out"
}

# One side has no more to say, the other has
test_half_close() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$A2" 5001 recv-eof send 1000000 outq info
	client "$H1" cc bolt connect "$A2" 5001 send 100000 shut recv 1000000 recv-eof info
	server_done
	sniffed
	bolt_both OptWindow OptNoMtu
	expect "all there" file_has "$tmp/server" "received 100000"
	expect_eq "retransmissions" "$(info "$tmp/server" retrans)" 0
	expect_ge "data after the FIN" "$(sed '1,/out tcp.*flags=[A-Z]*F/d' "$tmp/sniff.eth0" |
		grep -c 'in tcp.* len=1436 .*bolt=full')" 600
	expect_ge "acknowledged at once" "$(sed '1,/out tcp.*flags=[A-Z]*F/d' "$tmp/sniff.eth0" |
		grep -c 'out tcp.* len=0 .*bolt=full')" 600
}

# Closed while data waits to be sent: TCP sends the rest on its own
test_close_with_data_pending() {
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	server "$H2" cc bolt rcvbuf 50000 listen "$A2" 5001 pause 500 recv-eof
	client "$H1" cc bolt sndbuf 2000000 connect "$A2" 5001 send 700000 close
	server_done
	expect "all there" file_has "$tmp/server" "received 700000"
	bolt_both OptWindow OptNoMtu
	# nothing of it is left but TIME-WAIT
	expect_eq "sockets" "$(in_ns "$H1" ss -Htna state established state fin-wait-1 | wc -l)" 0
}

# SO_LINGER 0: what waits is thrown away, a reset says so, without the option
abort() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt rcvbuf 20000 listen "$1" 5001 mark "$tmp/up" wait "$tmp/reset" recv-reset
	client "$H1" cc bolt sndbuf 400000 linger 0 connect "$1" 5001 send 100000 close
	touch "$tmp/reset"
	server_done
	sniffed
	rm "$tmp/up" "$tmp/reset"
	bolt_both OptWindow OptNoMtu
	expect_ge "resets" "$(packets eth0 'out tcp.*flags=[A-Z]*R')" 1
	expect_eq "resets with the option" "$(packets eth0 'flags=[A-Z]*R' 'bolt=(syn|full)')" 0
	expect "reset" file_has "$tmp/server" "reset after"
}

test_abort_ipv4() {
	abort 192.0.2.2
}

test_abort_ipv6() {
	abort 2001:db8::2
}

# Closed with data unread: the reset goes the other way, while the sender sends
test_close_with_data_unread() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$A2" 5001 recv 1000 pause 10 close
	# EPIPE or ECONNRESET, by when it comes
	client "$H1" cc bolt sndbuf 100000 connect "$A2" 5001 send 100000 recv-reset
	server_done
	sniffed
	expect_ge "resets" "$(packets eth0 'in tcp.*flags=[A-Z]*R')" 1
	expect_eq "resets with the option" "$(packets eth0 'flags=[A-Z]*R' 'bolt=(syn|full)')" 0
}

# The administrator ends it (ss -K) in full flight
test_killed() {
	rm -f "$tmp"/{up,go,half}
	setup_pair
	in_ns "$H1" tc qdisc replace dev eth0 root netem delay 1ms limit 10000
	server "$H2" cc bolt listen "$A2" 5001 recv 100000 mark "$tmp/half" recv-reset
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send-fail 103
	expect "some data" busywait test -e "$tmp/half"
	in_ns "$H1" ss -K dport = :5001 >/dev/null
	ended client "$CLIENT"
}

# TIME-WAIT answers a FIN that comes again, by a socket of the kernel's own: without the option
time_wait() {
	local from
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$1" 5001 recv-eof mark "$tmp/end" wait "$tmp/close" close
	client "$H1" cc bolt connect "$1" 5001 send 3000 shut wait "$tmp/end" mark "$tmp/ready" &
	expect "client has closed" busywait test -e "$tmp/ready"
	wait $!
	# in FIN-WAIT-2; its ACK of the FIN to come is lost
	in_ns "$H1" nft -f - <<-'NFT'
		table inet loss {
			chain out {
				type filter hook output priority 0
				tcp dport 5001 limit rate 1/day burst 1 packets drop
			}
		}
	NFT
	touch "$tmp/close"
	server_done
	expect "FIN again" busywait fin_again
	sniffed
	rm "$tmp/end" "$tmp/close" "$tmp/ready"
	from=$(grep -nE 'in tcp.*flags=[A-Z]*F' "$tmp/sniff.eth0" | head -1 | cut -d: -f1)
	expect_ge "answers" "$(tail -n "+$from" "$tmp/sniff.eth0" | grep -c 'out tcp')" 1
	expect_eq "with the option" "$(tail -n "+$from" "$tmp/sniff.eth0" | grep 'out tcp' |
		grep -c 'bolt=full')" 0
	bolt_both OptWindow OptNoMtu
}

fin_again() {
	[ "$(grep -c 'in tcp.*flags=[A-Z]*F' "$tmp/sniff.eth0")" -ge 2 ] &&
		grep 'tcp' "$tmp/sniff.eth0" | tail -1 | grep -q 'out tcp'
}

test_time_wait_ipv4() {
	time_wait 192.0.2.2
}

test_time_wait_ipv6() {
	time_wait 2001:db8::2
}

# A port nobody listens on, and a connection nobody knows (its host was reset)
test_reset_of_strangers() {
	rm -f "$tmp"/{up,go,half}
	setup_pair
	sniff "$H1" eth0
	expect_fail "connect" refused in_ns "$H1" "$BOLT_PROGRAMS/bolt_xfer" cc bolt connect "$A2" 5999
	server "$H2" cc bolt listen "$A2" 5001 recv 100 recv 100 recv-eof
	spawn CLIENT "$tmp/client" in_ns "$H1" timeout 60 "$BOLT_PROGRAMS/bolt_xfer" \
		cc bolt connect "$A2" 5001 send 100 mark "$tmp/half" wait "$tmp/go" send 100 recv-reset
	expect "half" busywait test -e "$tmp/half"
	# gone without a word
	in_ns "$H2" nft -f - <<-'NFT'
		table inet silence {
			chain out {
				type filter hook output priority 0
				drop
			}
		}
	NFT
	in_ns "$H2" ss -K sport = :5001 >/dev/null
	wait "$SERVER"
	in_ns "$H2" nft delete table inet silence
	touch "$tmp/go"
	ended client "$CLIENT"
	sniffed
	expect_ge "resets" "$(packets eth0 'in tcp.*flags=[A-Z]*R')" 2
	expect_eq "with the option" "$(packets eth0 'flags=[A-Z]*R' 'bolt=(syn|full)')" 0
}

test_urgent() {
	setup_pair
	sniff "$H1" eth0
	server "$H2" cc bolt listen "$A2" 5001 oob-recv recv 200000 send 1000 info recv-eof
	client "$H1" cc bolt connect "$A2" 5001 send 100000 oob send 100000 recv 1000 info
	server_done
	sniffed
	bolt_both OptWindow OptNoMtu
	expect_ge "urgent packets" "$(packets eth0 'out tcp.*flags=[A-Z]*U.*bolt=full')" 1
	expect_eq "retransmissions" "$(info "$tmp/client" retrans)" 0
}

# Checkpoint and restore: the restored socket has not negotiated anything and runs Reno; its peer
# notices after 16 ACKs and an RTO without the option
repaired() {
	setup_pair
	in_ns "$H2" tc qdisc replace dev eth0 root netem delay 5ms limit 10000
	server "$H2" cc bolt listen "$1" 5001 recv 100000 send 1000 recv 100000 pause 1000 \
		send 1000000 outq info recv-eof
	client "$H1" cc bolt connect "$1" 5001 send 100000 recv 1000 outq info repair send 100000 \
		recv 1000000 info
	server_done
	expect_eq "restored" "$(info "$tmp/client" cc)" reno
	expect_eq "client Fallback" "$(bolt_stat "$H1" Fallback)" 1
	expect_eq "peer" "$(info "$tmp/server" cc)" reno
	expect_eq "peer's FallbackLate" "$(bolt_stat "$H2" FallbackLate)" 1
	expect_ge "the peer's option, by then unknown" "$(bolt_stat "$H1" OptUnexpected)" 1
}

test_repaired_ipv4() {
	repaired 192.0.2.2
}

test_repaired_ipv6() {
	repaired 2001:db8::2
}

run_tests zero_window_ipv4 zero_window_ipv6 keepalive keepalive_gives_up user_timeout half_close \
	close_with_data_pending abort_ipv4 abort_ipv6 close_with_data_unread killed time_wait_ipv4 \
	time_wait_ipv6 reset_of_strangers urgent repaired_ipv4 repaired_ipv6
