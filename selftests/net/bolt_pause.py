#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A BTS pauses the flow that it quotes, of any congestion control, for exactly the time it says.

BTS of any length come to a sending host by hand, and its packets are captured where they leave
(lib_pause.py).  The first packet after a pause shows the pause's length in virtual time, over
noqueue, pfifo and fq, over IPv4 and IPv6.  Other flows must go on, and nothing may be dropped in
the sender's qdisc.
"""

import socket
import sys

import bolt_ctl
from bolt_ctl import LIBC, expect, failures, poll
from lib_pause import CCS, MS, PORT, SLACK, Host, nstat, until

TCP_TX_DELAY = 37


def exact(cc, qdisc=None, family=4, size=2000000, pauses=(5 * MS, MS, 400000, 9999999), **more):
    """Pauses of several lengths, one after the other, all longer than a round trip: whatever the
    kernel had sent when it began, at its end the window has room, and a packet shows that end"""
    h = Host(qdisc, family, delay="300us", **more)
    h.transfer(cc, size)
    h.running(20)
    for pause in pauses:
        what = f"{cc} over {qdisc}, {pause} ns"
        came = h.bts(pause)
        h.paused(what, came, pause)
        poll(lambda: len(h.sent(came + pause)) >= 10, "goes on")
    expect(f"{cc} pauses", h.stat("Pauses"), len(pauses))
    expect(f"{cc} paused time", h.stat("PausedNs"), sum(pauses))
    expect(f"{cc} BTS", h.stat("BtsRx"), len(pauses))
    h.finish()
    expect(f"{cc} sent again", nstat(h.h1, "TcpRetransSegs"), 0)
    h.close()


def every_cc():
    for cc in CCS:
        exact(cc)


def over_pfifo():
    for cc in CCS:
        exact(cc, "pfifo")


def over_fq():
    """TCP's timer, not fq's, ends the pause: no timer slack"""
    for cc in CCS:
        exact(cc, "fq")


def ipv6():
    for qdisc in (None, "fq"):
        for cc in ("cubic", "bolt"):
            exact(cc, qdisc, 6)


def bursts():
    """Super-packets of 44 segments"""
    for cc in ("cubic", "bbr"):
        exact(cc, size=20000000, segs=44, window=1000000, pauses=(5 * MS, 3 * MS))


def replaced(cc, qdisc):
    """A later BTS replaces the end, whether later or earlier"""
    h = Host(qdisc, delay="20ms", window=4000000)
    h.stream(cc)
    h.running(20)
    for what, first, at, second in (("shorter", 9 * MS, 2 * MS, 1 * MS),
                                    ("longer", 3 * MS, 2 * MS, 6 * MS),
                                    ("later, but not longer", 9 * MS, 8 * MS, 9 * MS),
                                    ("ended", 9 * MS, 2 * MS, 0)):
        what = f"{cc} over {qdisc}, {what}"
        quotes = h.sent(0)[-2:]
        came = h.bts(first, quotes[0])
        until(came + at)
        again = h.bts(second, quotes[1])
        expect(f"{what}: data before", len(h.sent(came + h.grace, again)), 0)
        if second:
            h.paused(what, again, second)
        elif h.first_data(again).when - again > MS // 2:
            failures.append(f"{what}: not at once")
        poll(lambda: len(h.sent(again + second)) > 4, "goes on")
    expect("pauses", h.stat("Pauses"), 4)
    h.streamed()
    expect(f"{cc} over {qdisc}: sent again", nstat(h.h1, "TcpRetransSegs"), 0)
    h.close()


def replacing():
    replaced("cubic", None)


def tripped():
    """A BTS that trips the watchdog during a pause, as where its share has been lowered, ends that"""
    h = Host(delay="20ms", window=4000000)
    h.stream("cubic")
    h.running(20)
    quotes = h.sent(0)[-2:]
    came = h.bts(9 * MS, quotes[0])
    until(came + 5 * MS)
    h.h1.sysctl("bolt.watchdog_pct", 1)
    again = h.bts(9 * MS, quotes[1])
    expect("trips", h.stat("WatchdogTrips"), 1)
    expect("data at once", h.first_data(again).when - again <= MS // 2, True)
    expect("PausedNs", abs(h.stat("PausedNs") - (again - came)) <= SLACK, True)
    h.streamed()
    h.close()


def clamped():
    """The longest pause is net.bolt.max_pause_us"""
    h = Host()
    h.h1.sysctl("bolt.max_pause_us", 3000)
    h.transfer("cubic", 1000000)
    h.running(20)
    came = h.bts(1000 * MS)
    h.paused("asked for a second", came, 3 * MS)
    expect("BtsClamped", h.stat("BtsClamped"), 1)
    expect("PausedNs", h.stat("PausedNs"), 3 * MS)
    h.finish()
    h.close()


def connected_again():
    """To nowhere and then to a server: neither a pause nor its departure time is the next connection's, nor the
    offset of its clock, which the first peer knows"""
    for cc in "bolt", "cubic":
        h = Host()
        h.h1.sysctl("bolt.max_pause_us", 1000000)
        h.connect(cc)
        h.sock.send(b"x" * 3000)
        h.running(1)
        h.bts(900 * MS)
        first = h.last()
        with h.h2, socket.create_server((h.ip[1], PORT + 1)) as server:
            server.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, cc.encode())
            expect("to nowhere", LIBC.connect(h.sock.fileno(), bytes(16), 16), 0)
            start = h.now()
            h.sock.connect((h.ip[1], PORT + 1))
            h.sock.send(b"x")
            there = lambda p: p.proto == 6 and p.out and p.len and p.dport == PORT + 1
            poll(lambda: h.last(there), "data of the second connection")
        if h.last(there).when - start > 10 * MS:
            failures.append(f"{cc}: paused for {h.last(there).when - start} ns")
        offset = [p.tx - p.when & 0xffffffff for p in (first, h.last(there))]
        if cc == "bolt" and (offset[1] - offset[0] + SLACK & 0xffffffff) <= 2 * SLACK:
            failures.append("the same clock")
        expect(f"{cc}: the option", h.last(there).tx > 0, cc == "bolt")
        h.sock.close()
        h.peer.close()
        h.close()


def one_flow_only():
    """Exactly the quoted flow: another between the same hosts goes on"""
    h = Host()
    h.transfer("cubic", 1500000)
    server = h.xfer(h.h2, "cc", "cubic", "listen", h.ip[1], PORT + 1, "recv", 1500000, "recv-eof")
    server.stdout.readline()
    client = h.xfer(h.h1, "cc", "cubic", "connect", h.ip[1], PORT + 1, "send", 1500000)
    h.running(40)
    came = h.bts(5 * MS)
    h.paused("quoted", came, 5 * MS)
    other = [p for p in h.packets if p.proto == 6 and p.out and p.dport == PORT + 1 and p.len and
             came + SLACK < p.when < came + 5 * MS]
    if len(other) < 40:
        failures.append(f"the other flow sent {len(other)} packets")
    h.finish()
    for child in (client, server):
        out, _ = child.communicate(timeout=100)
        expect("the other: " + out, child.returncode, 0)
    h.close()


def delayed():
    """TCP_TX_DELAY is in no stamp but the packet's own: the BTS is of what was sent, and no TSval goes back"""
    for cc in "cubic", "bolt":
        h = Host()
        h.stream(cc)
        h.sock.setsockopt(socket.IPPROTO_TCP, TCP_TX_DELAY, 20000)
        h.start(h.writer, h.peer)
        h.start(h.reader, h.sock)
        h.running(60)
        came = h.bts(5 * MS)
        h.paused(cc, came, 5 * MS)
        h.streamed()
        expect(f"{cc}: CtlTime", h.stat("CtlTime"), 0)
        expect(f"{cc}: PAWS", nstat(h.h2, "TcpExtPAWSEstab"), 0)
        h.close()


TESTS = [every_cc, over_pfifo, over_fq, ipv6, bursts, replacing, tripped, clamped, connected_again,
         one_flow_only, delayed]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
