#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The rate at which packets leave: the link's, or the user's where that is less.

	H1 (sender, capture) ---- H2 (1 ms later)

Departures of H1 are measured on the wire.  They must be spaced by a packet's time on the link, with
what the link takes beyond the frame; SO_MAX_PACING_RATE lowers the rate as soon as it is set, and a
rate that another congestion control has left must not stay.  Packets that leave faster make a queue
at the first switch, slower ones leave the link idle.
"""

import socket
import struct
import sys
import time

import bolt_ctl
from bolt_ctl import TCP_CONGESTION, expect, failures, poll, sh
from lib_pause import Host

SO_MAX_PACING_RATE = 47
TCP, NONE = socket.IPPROTO_TCP, 2**64 - 1
FRAME = 1514


def pacing_rate(h):
    return struct.unpack_from("=Q", h.sock.getsockopt(TCP, bolt_ctl.TCP_INFO, 112), 104)[0]


def send(h, size):
    """SIZE bytes, read at the other end; how long they took to leave, without the first"""
    h.capture()
    before = len(h.packets)
    h.sock.setblocking(False)
    h.peer.setblocking(False)
    left = got = 0
    while got < size:
        try:
            left += h.sock.send(b"x" * min(size - left, 50000)) if left < size else 0
        except BlockingIOError:
            pass
        try:
            got += len(h.peer.recv(1 << 20))
        except BlockingIOError:
            time.sleep(0.0005)
    h.capture()
    sent = [p for p in h.packets[before:] if p.data()]
    return sent[-1].when - sent[0].when


def limit(h, rate):
    h.sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=Q", rate))


def limited(cc, h):
    h.connect(cc)
    send(h, 30000)
    expect(f"{cc}: no limit", pacing_rate(h), NONE)
    limit(h, 100000)
    if not 180e6 < send(h, 20000) < 220e6:
        failures.append(f"{cc}: 20000 bytes do not take 0.2 s at 100 kB/s")
    limit(h, 300000)
    send(h, 2000)
    expect(f"{cc}: raised", pacing_rate(h), 300000)
    limit(h, NONE)
    send(h, 2000)
    expect(f"{cc}: taken off", pacing_rate(h), NONE)
    if send(h, 100000) > 50e6:
        failures.append(f"{cc}: 100000 bytes still take more than 50 ms")
    h.sock.close()
    h.peer.close()
    h.close()


def limit_raised():
    """SO_MAX_PACING_RATE lowered and raised again"""
    limited("bolt", Host())
    limited("swift", Host())


def limit_raised_plain():
    """The same of swift whose peer does not know the option"""
    h = Host()
    h.h2.sysctl("bolt.hooks", 0)
    limited("swift", h)


def after_bbr():
    """bbr's rate, of a slow path, is not that of what follows on the same connection"""
    for cc in "swift", "bolt":
        h = Host("netem rate 1mbit limit 10000")
        h.connect("bbr")
        send(h, 400000)
        expect("bbr knows a rate", pacing_rate(h) < 200000, True)
        h.sock.setsockopt(TCP, TCP_CONGESTION, cc.encode())
        sh(f"tc -n {h.h1.name} qdisc change dev eth0 root netem rate 10gbit limit 10000")
        # without the option: swift, with TCP's RTT, and Reno, which TCP paces by its own
        send(h, 3000)
        if cc == "swift":
            expect(cc, pacing_rate(h), NONE)
        if send(h, 100000) > 200e6:
            failures.append(f"{cc}: 100000 bytes take more than 0.2 s")
        h.sock.close()
        h.peer.close()
        h.close()


def spaced():
    """A packet's time on the link, with what the link takes beyond the frame"""
    for segs in 1, 2:
        h = Host(segs=segs)
        h.h1.sysctl("bolt.burst_segs", segs)
        h.h1.sysctl("bolt.rate_mbps", 100)
        h.connect("bolt")
        send(h, 100000)
        for overhead in -1, 24, 0, 256, -1:
            h.h1.sysctl("bolt.overhead", overhead)
            # the first still leaves by the old one
            send(h, FRAME)
            h.capture()
            h.packets.clear()
            send(h, 600000)
            # from the tenth on nothing is caught up with any more
            data = [p for p in h.packets if p.data()][10:-10]
            n = sum(-(-p.len // 1436) for p in data[:-1])
            took, want = data[-1].when - data[0].when, n * (FRAME + max(overhead, 0)) * 80
            if abs(took - want) > want // 500:
                failures.append(f"{segs} segments, overhead {overhead}: {took} ns for {n}, not {want}")
        h.sock.close()
        h.peer.close()
        h.close()


TESTS = [limit_raised, limit_raised_plain, after_bbr, spaced]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
