#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""bolt's windows below one packet: neither a stall nor a burst, on the way down or up.

A host sends one packet every few round trips while its window is a fraction.  SRC come by hand, one
for each packet, until the window is at its floor; ACKs, INC, losses and other limits then let it
grow.  An ACK without DEC finds no queue: the gap between packets halves with each, once there is an
additive increase.  Gaps are checked to the microsecond, since an incast of many senders depends on
them.
"""

import socket
import sys
import time

import bolt_ctl
from bolt_ctl import TCP_REPAIR, expect, failures, poll, sh
from lib_pause import MS, Host, Packet, nstat, until

RTT = 2 * MS
LEAST = 10			# net.bolt.debug.min_cwnd_milli: a packet every hundred round trips
GAP = RTT * 1000 // LEAST
SO_MAX_PACING_RATE = 47
LIMIT = ("pacing", 125000000)	# SO_MAX_PACING_RATE: 1 Gb/s
CLOCK = 20000			# ns; what system calls add to virtual time between two packets
NO_INC = "sfc rate 10gbit nosm nopru ccthresh 1000000"


def near(what, got, want, slack=CLOCK):
    if abs(got - want) > slack:
        failures.append(f"{what}: {got}, not {want}")


def flow(qdisc=NO_INC, least=LEAST, size=400000, before=()):
    h = Host(qdisc, delay="2ms")
    h.h1.sysctl("bolt.debug.min_cwnd_milli", least)
    h.h1.sysctl("ipv4.tcp_early_retrans", 0)
    sh(f"ip -n {h.h1.name} route replace 192.0.2.0/24 dev eth0 initcwnd 4 rto_min 20ms")
    h.transfer("bolt", size, before=before)
    return h


def acked(h):
    """The newest data packet, once its ACK is in"""
    newest = h.last()
    poll(lambda: any(not p.out and p.proto == 6 and p.ack == newest.seq + newest.len & 0xffffffff
                     for p in (h.capture(), h.packets)[1]), "its ACK")
    return newest


def answer(h, enough):
    """An SRC for each packet that leaves, until that holds"""
    answered, until = None, h.now() + 10 * 1000 * MS
    while not enough():
        expect("packets enough", h.now() < until, True)
        if failures:
            return
        p = h.last()
        if p is answered:
            time.sleep(0.0004)
            continue
        h.udp.sendto(h.message(0, p, type=1, queue=100000000, rate=1000),
                     (h.ip[0], bolt_ctl.PORT))
        answered = p


def squeeze(h):
    """SRC after SRC until the window is the smallest: each takes an eighth, and nothing adds to it"""
    h.h1.sysctl("bolt.debug.ai", 0)
    h.running(20)
    answer(h, lambda: h.stat("SrcFloor") >= 2)
    return acked(h)


def floor():
    """A packet every hundred round trips at 0.01, to the microseconds that system calls take"""
    h = flow()
    p = squeeze(h)
    for _ in range(3):
        before = p.when
        p = h.first_data(before)
        near("gap at the floor", p.when - before, GAP, GAP // 100)
    expect("timeouts", nstat(h.h1, "TcpExtTCPTimeouts"), 0)
    expect("FIRST: an idle flow", sum(p.first for p in h.packets) <= 6, True)
    h.finish()
    h.close()


def grows_back():
    """Half the gap a packet, then as Algorithm 2 does: an increase a window, which of a small one may be two a
    round trip"""
    h = flow()
    p = squeeze(h)
    h.h1.sysctl("bolt.debug.ai", 1)
    gap = None
    while not failures:
        before, p = p.when, h.first_data(p.when)
        # departures while TCP has one packet in flight
        if gap and gap > 4 * RTT:
            near("half the gap before", p.when - before, gap // 2, gap // 50 + CLOCK)
        gap = p.when - before
        if gap < RTT + CLOCK:
            break
    start = p.when
    h.finish()
    times = [d.when for d in h.sent(start)]
    last = 1
    for k in range(1, 10):
        n = sum(abs(t - start - k * RTT) < RTT // 2 for t in times)
        # a window of few packets is rounded at random
        if not last - 1 <= n <= last + 2:
            failures.append(f"round trip {k}: {n} packets, {last} in the one before")
        last = n
    expect("in the tenth, at least", last >= 5, True)
    expect("sent again", nstat(h.h1, "TcpRetransSegs"), 0)
    h.close()


def grows_by_inc(before=()):
    """The ACK that brings INC ends the wait, with one packet and the increase"""
    h = flow(before=before)
    p = squeeze(h)
    h.h1.sysctl("bolt.debug.ai", 1)
    sh(f"tc -n {h.h1.name} qdisc del dev eth0 root")    # and nobody takes INC off
    p = h.first_data(p.when)
    start = p.when
    h.finish()
    times = [d.when for d in h.sent(start)]
    last = 1
    for k in range(1, 6):
        n = sum(abs(t - start - k * RTT) < RTT // 2 for t in times)
        # each packet brings one; the additive increase is one more
        if not last <= n <= 2 * last + (k > 1) or k == 1 and n > 2:
            failures.append(f"round trip {k}: {n} packets, {last} in the one before")
        last = n
    h.close()


def lost():
    """A timeout sends again: TCP counts it from the departure that comes next"""
    h = flow()
    p = squeeze(h)
    sh(f"tc -n {h.h2.name} qdisc change dev eth0 root netem delay 2ms loss 100% limit 100000")
    p = h.first_data(p.when)
    again = h.first_data(p.when)
    expect("the same", again.seq, p.seq)
    if not GAP + 15 * MS <= again.when - p.when <= GAP + 60 * MS:
        failures.append(f"sent again after {again.when - p.when} ns")
    sh(f"tc -n {h.h2.name} qdisc change dev eth0 root netem delay 2ms loss 0% limit 100000")
    poll(lambda: h.last().seq != p.seq, "goes on")
    expect("RtoDec, at least", h.stat("RtoDec") >= 1, True)
    h.finish()
    h.close()


def probed(before=()):
    """A packet is lost, and TCP sends the next as a probe: what its SACK has sent again waits for no gap"""
    h = flow(least=10 * LEAST, before=before)
    h.h1.sysctl("ipv4.tcp_early_retrans", 3)
    p = squeeze(h)
    sh(f"ip -n {h.h2.name} link set eth0 mtu 1000")
    lost_one = h.first_data(p.when)
    sh(f"ip -n {h.h2.name} link set eth0 mtu 1500")
    probe = h.first_data(lost_one.when)
    again = h.first_data(probe.when)
    expect("the probe is new", probe.seq, lost_one.seq + lost_one.len & 0xffffffff)
    expect("sent again", again.seq, lost_one.seq)
    # a round trip, and RACK's timer: RTT / 4 and TCP_TIMEOUT_MIN, rounded up to ticks
    if again.when - probe.when > RTT + RTT // 4 + 4 * MS:
        failures.append(f"sent again {again.when - probe.when} ns after the probe")
    expect("timeouts", nstat(h.h1, "TcpExtTCPTimeouts"), 0)
    h.finish()
    h.close()


def limited():
    """... and SO_MAX_PACING_RATE, by which TCP adds the time of a packet, here 12 us, to ours, changes neither"""
    grows_by_inc(LIMIT)
    probed(LIMIT)


def obeyed():
    """... which holds as well where a packet takes longer at it, 30 ms, than the gap of 20: an ACK in between, here a
    window probe, has the clock's TSval, and not the departure's, which may yet be taken back"""
    h = flow(least=100)
    # what it waits for the limit is longer than its gap, and no silence after which it begins anew
    h.h1.sysctl("bolt.debug.idle_restart", 0)
    p = squeeze(h)
    h.fd().setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 48000)
    for n in range(6):
        before, p = p, h.first_data(p.when)
        if n > 2:       # an ACK sets it
            near("apart", p.when - before.when, before.len * 10**9 // 48000, 2 * CLOCK)
    until(p.when + 25 * MS)
    h.fd().setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 0)
    near("TSval", h.last(lambda q: q.proto == 6 and q.out and not q.len).tsval - p.tsval, 25, 1)
    h.finish()
    h.close()


def another():
    """Another congestion control waits for no gap"""
    h = flow(before=LIMIT)
    p = squeeze(h)
    h.fd().setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, b"reno")
    changed = h.now()
    near("the next data", h.first_data(p.when).when, changed, RTT)
    h.finish()
    h.close()


def off():
    """With a floor of one packet there is no wait"""
    h = flow(least=1000)
    h.h1.sysctl("bolt.debug.ai", 0)
    h.running(20)
    answer(h, lambda: h.stat("SrcFloor") >= 10)
    expect("BelowTx", h.stat("BelowTx"), 0)
    expect("SrcDec, at least", h.stat("SrcDec") >= 5, True)
    h.finish()
    h.close()


TESTS = [floor, grows_back, grows_by_inc, lost, probed, limited, obeyed, another, off]

if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
