#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Segments with the option that no stack would send just so, and messages of who sees no packets: what
of them is believed.

	H1 (sender; its packets in flight stay there) ---- H2 (its ACKs are cut off; segments by hand)
"""

import json
import os
import random
import socket
import struct
import subprocess
import sys

import bolt_ctl
from bolt_ctl import Flow, expect, packed, poll, write_seq
from lib_pause import Owner
from lib_ynl import Family, unprivileged

DATA, ACK, INC = 0x80, 0x40, 0x04
WINDOW = 1 << 16		# no less than that is in either window
QDISC_BYPASS = 20
GUESSES = 5000
COUNTED = ("OptRx", "OptWindow", "IncRx", "IncGranted")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Forged(Flow):
    """A flow, and segments to its sender as if from its receiver, past the qdisc that drops those"""

    def __init__(self, warm=True):
        # the windows that either announces are less than 2^16
        super().__init__(warm=warm, rmem=60000)
        self.h1.sysctl("bolt.debug.ai", 0)
        self.rcv = write_seq(self.peer)
        link = subprocess.run(["ip", "-n", self.h1.name, "-j", "link", "show", "eth0"],
                              capture_output=True, text=True, check=True).stdout
        mac = bytes.fromhex(json.loads(link)[0]["address"].replace(":", ""))
        with self.h2:
            self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
            self.raw.setsockopt(263, QDISC_BYPASS, 1)
            self.to = ("eth0", 0x800, 0, 0, mac)

    def segment(self, ack, seq=None, flags=ACK, inc=0):
        """What counters moved, and the change of cwnd"""
        src, dst = (socket.inet_aton(a) for a in reversed(self.ip))
        tcp = struct.pack("!HHIIBBHHHBBHBBIH", 5001, self.sport,
                          (self.rcv if seq is None else seq) & 0xffffffff, ack & 0xffffffff, 8 << 4,
                          0x10, 60000, 0, 0, 254, 12, 0xb017, flags, inc, 0, 0)
        check = checksum(src + dst + struct.pack("!HH", 6, len(tcp)) + tcp)
        tcp = tcp[:16] + struct.pack("!H", check) + tcp[18:]
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, src, dst)
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        before, cwnd = self.h1.stats(), self.cwnd()
        self.raw.sendto(ip + tcp, self.to)
        poll(lambda: any(self.h1.stats()[k] != before[k] for k in COUNTED[:2]), "segment heard")
        after = self.h1.stats()
        return ({k: after[k] - before[k] for k in COUNTED if after[k] != before[k]},
                self.cwnd() - cwnd)

    def close(self):
        self.raw.close()
        super().close()


def window():
    """Ports alone do not do: the sequence numbers have to be those of the connection (RFC 5961, 5.2)"""
    f = Forged()
    believed, ignored = ({"OptRx": 1}, 0), ({"OptWindow": 1}, 0)
    for what, ack, want in (("beyond what was written", f.nxt + 1, ignored),
                            ("far beyond", f.nxt + 2**24, ignored),
                            ("half the space away", f.nxt + 2**31 - 1, ignored),
                            ("far too old", f.una - 2**24, ignored),
                            ("older than any window", f.una - WINDOW - 1, ignored),
                            ("as old as a window", f.una - WINDOW, believed),
                            ("of what is in flight", f.una, believed)):
        expect(f"ACK {what}", f.segment(ack), want)
        expect(f"ACK {what}, its own sequence number elsewhere", f.segment(ack, f.rcv + 2**24), ignored)
    believed[0]["IncRx"] = 1
    for what, seq, want in (("beyond the window", f.rcv + WINDOW + 1, ignored),
                            ("far beyond", f.rcv + 2**24, ignored),
                            ("before it", f.rcv - WINDOW - 1, ignored),
                            ("far before", f.rcv - 2**24, ignored),
                            ("at its end", f.rcv + WINDOW, believed),
                            ("at its start", f.rcv - WINDOW, believed)):
        expect(f"data {what}", f.segment(f.una, seq, DATA | ACK | INC), want)
    f.close()


def first_inc():
    """The peer counts from zero: what the first ACK of all brings is granted, however many were lost.  No
    more than was delivered is, and nothing for packets that drew an SRC"""
    f = Forged(warm=False)
    f.believed("INC taken away", f.message())
    f.believed("INC left", f.message(flags=8))
    expect("first", f.segment(f.una + 2 * 1436, inc=2), ({"OptRx": 1, "IncGranted": 1}, 1))
    expect("the other", f.segment(f.una + 3 * 1436, inc=2), ({"OptRx": 1, "IncGranted": 1}, 1))
    expect("old news", f.segment(f.una + 4 * 1436, inc=2), ({"OptRx": 1}, 0))
    expect("nothing new", f.segment(f.una + 5 * 1436, inc=2), ({"OptRx": 1}, 0))
    expect("more than came", f.segment(f.una + 6 * 1436, inc=100), ({"OptRx": 1, "IncGranted": 3}, 3))
    expect("without a packet", f.segment(f.una + 6 * 1436, inc=127), ({"OptRx": 1}, 0))
    f.close()


def guessed(f, type, what, counters, **known):
    """GUESSES messages of @type, right but for what is not @known: each is refused, by one of COUNTERS"""
    before, cwnd = f.h1.stats(), f.cwnd()
    flight = {seq for seq, _ in f.flight}
    for _ in range(GUESSES):
        guess = {"seq": random.getrandbits(32), "tx": random.getrandbits(32)} | known
        # one in a million may be right, and is another test's
        if "tx" not in known or guess["seq"] not in flight:
            f.udp.sendto(packed(f.quote(seq=guess["seq"]), type, guess["tx"], 1000000), (f.ip[0], bolt_ctl.PORT))
    poll(lambda: f.h1.stats()["CtlRx"] == before["CtlRx"] + GUESSES, "all heard")
    after = f.h1.stats()
    moved = {k: after[k] - before[k] for k in after if after[k] != before[k] and k != "CtlRx"}
    expect(f"{what}: counters", sorted(moved), counters)
    expect(f"{what}: refused", sum(moved.values()), GUESSES)
    expect(f"{what}: cwnd", f.cwnd(), cwnd)


def blind():
    """Who knows addresses and ports has to guess a sequence number and a stamp, and neither helps with the
    other: SRC and BTS of a bolt connection, BTS of a cubic one"""
    random.seed(19)
    for cc, types in ((b"bolt", (1, 2)), (b"cubic", (2,))):
        f = Flow(cc=cc)
        f.h1.sysctl("bolt.sfc", 1)
        expect("packets in flight", bool(f.flight), True)
        for type in types:
            seq, tx = f.flight[0]
            guessed(f, type, f"{cc}, {type}, both", ["CtlSeq"])
            guessed(f, type, f"{cc}, {type}, stamp known", ["CtlSeq"], tx=tx)
            guessed(f, type, f"{cc}, {type}, sequence number known", ["CtlTime"], seq=seq)
        expect("pauses", f.h1.stats()["Pauses"], 0)
        f.close()


def crowd():
    """While a user owns the socket, 64 messages that could be right wait for him, and no more"""
    f = Flow()
    before, (seq, tx) = f.h1.stats(), f.flight[0]
    owner = Owner(f.sock)
    for n in range(1000):
        f.udp.sendto(packed(f.quote(seq=seq), 1, tx + 1 + n), (f.ip[0], bolt_ctl.PORT))
    poll(lambda: f.h1.stats()["CtlRx"] == before["CtlRx"] + 1000, "all heard")
    for name, want in (("CtlDeferred", 64), ("CtlOverrun", 936)):
        expect(name, f.h1.stats()[name] - before[name], want)
    expect("taken for paused", f.h1.now("Pauses"), 0)
    owner.let_go()
    expect("judged with the next", f.send(packed(f.quote(seq=seq), 1, tx)), ({"CtlTime": 64, "SrcRx": 1, "SrcDec": 1}, -1))
    f.close()


def unsent():
    """Ports alone do not do for a BTS: it echoes nothing, about a sequence number that is in no segment"""
    for cc in ("bolt", "swift", "cubic"):
        f = Flow(cc=cc.encode())
        # half of all connections are behind 0, which must not be older than what is in flight
        while f.una < 2**31:
            f.close()
            f = Flow(cc=cc.encode())
        f.h1.sysctl("bolt.sfc", 1)
        before = f.h1.stats()
        for switch in range(5):
            f.udp.sendto(packed(f.quote(seq=0), 2, 0, 1000000, switch=switch), (f.ip[0], bolt_ctl.PORT))
        poll(lambda: f.h1.stats()["CtlRx"] == before["CtlRx"] + 5, "all heard")
        after = f.h1.stats()
        expect(cc, {k: after[k] - before[k] for k in after if after[k] != before[k]},
               {"CtlRx": 5, "CtlSeq": 5})
        f.close()


def dumped(host):
    """How many flows anybody sees there"""
    with host:
        return unprivileged(lambda: len(Family("bolt").dump("flow-get")))


def oracle():
    """A guess at the sequence number of somebody's socket shows in no dump, however near it was"""
    f = Flow(cc=b"cubic")
    f.h1.sysctl("bolt.sfc", 1)
    for what, seq, item in (("older", f.una - 1000, "CtlSeq"), ("in flight", f.una + 777, "CtlDeferred"),
                            ("not sent", f.nxt + 5, None)):
        owner = Owner(f.sock)
        before = f.h1.stats()
        f.udp.sendto(packed(f.quote(seq=seq & 0xffffffff), 2, 12345, 1000000),
                     (f.ip[0], bolt_ctl.PORT))
        poll(lambda: f.h1.stats()["CtlRx"] == before["CtlRx"] + 1, "heard")
        if item:
            expect(f"{what}: counted", f.h1.stats()[item] - before[item], 1)
        expect(f"{what}: seen", dumped(f.h1), "0")
        owner.let_go()
    f.close()


TESTS = [window, first_inc, blind, crowd, unsent, oracle]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
