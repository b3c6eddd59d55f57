#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A CNM limits the rate of the flow that it quotes, whatever its congestion control.

A CNM comes by hand in the middle of a transfer of a host, and the gaps between its packets are
measured where they leave.  The limit must hold at once and for three round trips, and double in
each that follows, until it is the link's rate.  The lowest of several switches applies, beside
pauses and over fq as well, and a CNM that proves nothing must change nothing: SRCC rests on this.
"""

import socket
import struct
import sys

import bolt_ctl
from bolt_ctl import expect, expect_that, poll, sh
from lib_pause import CCS, HELD, MS, PORT, SLACK, Host, nstat

CNM = 3
RTT = MS            # a little more, by the time that packets take
KBPS = 40000
LINK = 16 * KBPS
WIRE = 1514         # bytes of a full packet with its Ethernet header
GAP = WIRE * 8 * 10**6 // KBPS


def host(cc, size=3000000, **more):
    """In the middle of a transfer: round trips of 1 ms, single packets, and a window of which 45 go in each"""
    h = Host(segs=1, **more)
    h.transfer(cc, size)
    h.running(60)
    return h


def gaps(h, start, end):
    """Behind each full packet that left in this time"""
    sent = h.sent(start, end)
    return [b.when - a.when for a, b in zip(sent, sent[1:]) if a.len > 1300]


def near(found, gap):
    """TCP's own pacing comes on top, half of a packet at its rate: below a tenth"""
    return len(found) >= 2 and all(gap <= g <= gap + gap // 10 + SLACK for g in found)


def cnm(h, kbps=KBPS, **changes):
    """When it came"""
    return h.bts(kbps, **{"type": CNM, "rate": LINK} | changes)


def limited(cc, held=0, overhead=0, **more):
    """The first gap is behind the CNM, none is shorter, and those while there is a window are no longer than they have to be;
    what the qdisc holds may leave for so long"""
    h = host(cc, **more)
    h.h1.sysctl("bolt.overhead", overhead)
    gap = (WIRE + overhead) * 8 * 10**6 // KBPS
    came = cnm(h)
    poll(lambda: len(h.sent(came + 4 * RTT)) >= 10, f"{cc} goes on")
    first = h.first_data(came + held)
    expect_that(f"{cc}: the first packet", first.when - came >= gap, first.when - came)
    found = gaps(h, came + held, came + 2900000)
    expect_that(f"{cc}: gaps of {gap} ns", len(found) >= 6 and near(found, gap), found)
    expect(f"{cc}: CNM", (h.stat("CnmRx"), h.stat("Pauses")), (1, 0))
    counted(h)
    h.finish()
    expect(f"{cc}: sent again", nstat(h.h1, "TcpRetransSegs"), 0)
    h.close()


def counted(h):
    """TCP_INFO has what really left, in packets and bytes"""
    def same():
        with h.fd() as sock:
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        sent = h.sent(0)
        every = sum(p.proto == 6 and p.out and p.dport == PORT for p in h.packets)
        return (struct.unpack_from("=I", info, 156)[0], struct.unpack_from("=Q", info, 200)[0]) == \
            (len(sent), sum(p.len for p in sent)) and \
            every == struct.unpack_from("=I", info, 136)[0] == nstat(h.h1, "TcpOutSegs")
    poll(same, "data_segs_out, bytes_sent, segs_out and TcpOutSegs of what has left, when the qdisc holds nothing")


def every_cc():
    for cc in CCS:
        limited(cc)


def ipv6():
    for cc in ("cubic", "bolt"):
        limited(cc, family=6)


def over_fq():
    for cc in ("cubic", "bolt"):
        limited(cc, HELD, qdisc="fq")


def overhead():
    """What the link takes beyond the frame, of any packet"""
    for cc in ("cubic", "bolt"):
        limited(cc, overhead=24)


def ends():
    """Three round trips, then half the gap, a quarter, and after the link's rate none"""
    # 26 packets in a round trip of the last step, which are more than 6.1 has room for in 64 KB
    h = host("reno", 6000000, window=262144)
    came = cnm(h)
    poll(lambda: len(h.sent(came + 9 * RTT)) >= 20, "goes on")
    for start, end, part in ((.4, 2.9, 1), (3.4, 4, 2), (4.3, 5, 4), (5.3, 6, 8)):
        found = gaps(h, came + start * RTT, came + end * RTT)
        expect_that(f"from {start} to {end} round trips: gaps of 1/{part}", near(found, GAP // part), found)
    limited_packets = h.stat("CnmTx")
    h.running(len(h.sent(0)) + 50)
    expect("no limit any more", h.stat("CnmTx"), limited_packets)
    h.finish()
    h.close()


def several():
    """The lowest of several switches applies, and each replaces its own"""
    h = host("cubic")
    cnm(h, 2 * KBPS, switch=1)
    cnm(h, KBPS, switch=2, quote=h.sent(0)[-2])
    came = cnm(h, 4 * KBPS, switch=2, quote=h.sent(0)[-3])
    poll(lambda: len(h.sent(came + 3 * RTT)) >= 4, "goes on")
    found = gaps(h, came + GAP, came + 2.5 * RTT)
    expect_that("the lower of two", near(found, GAP // 2), found)
    expect("CNM", h.stat("CnmRx"), 3)
    h.finish()
    h.close()


def beside_pause():
    """A pause stops a limited flow as any other, and the limit goes on behind it"""
    h = host("cubic")
    quote = h.last()
    cnm(h, KBPS // 4, quote=quote)
    came = h.bts(2 * MS, quote=quote)
    h.paused("paused", came, 2 * MS)
    poll(lambda: len(h.sent(came + 2 * MS)) >= 4, "goes on")
    found = gaps(h, came + MS, came + 4 * MS)
    expect_that("limited", bool(found) and all(g >= 2 * GAP for g in found), found)
    h.finish()
    h.close()


def refused():
    """What proves nothing, comes twice, or nobody wants"""
    h = Host(segs=1)
    h.stream("cubic")
    h.running(20)
    quote = h.last()
    good = h.message(KBPS, quote, type=CNM, rate=LINK)
    for what, counter, message in (
            ("another's echo", "CtlTime", h.message(KBPS, quote, type=CNM, rate=LINK, tx=quote.tsval ^ 1)),
            ("no rate", "CtlField", h.message(0, quote, type=CNM, rate=LINK))):
        h.refused(what, counter, message)
    expect("none", h.stat("CnmRx"), 0)
    h.udp.sendto(good, (h.ip[0], bolt_ctl.PORT))
    expect("believed", h.stat("CnmRx"), 1)
    h.refused("twice", "CtlReplay", good)
    h.h1.sysctl("bolt.sfc", 0)
    h.refused("off", "BtsOff", h.message(KBPS, h.last(), type=CNM, rate=LINK))
    expect("one", h.stat("CnmRx"), 1)
    h.streamed()
    h.close()


def without_route():
    """TCP has dropped the cached route of a connection that has packets in flight"""
    h = Host(segs=1, delay="1s")
    h.connect("cubic")
    h.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    h.sock.send(b"x")
    poll(h.last, "data")
    quote = h.last()
    sh(f"ip -n {h.h1.name} route del 192.0.2.0/24 dev eth0")
    h.sock.send(b"y")
    cnm(h, quote=quote)
    expect("CNM", h.stat("CnmRx"), 1)
    sh(f"ip -n {h.h1.name} route add 192.0.2.0/24 dev eth0")
    h.sock.close()
    h.peer.close()
    h.close()


TESTS = [every_cc, ipv6, over_fq, overhead, ends, several, beside_pause, refused, without_route]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
