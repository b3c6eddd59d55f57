#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Messages of a sender that sees no packets, or that sends too many: what is believed of them.

	H1 (sender; its packets in flight stay there) ---- H2 (messages by hand)

An attacker who knows addresses and ports has to guess a sequence number and a time stamp.  Sixty
thousand guesses must move nothing, a crowd of messages may wait for a process that owns the socket
only up to a limit, and a dump of flows must not show how near a guess was.
"""

import os
import random
import socket
import struct
import sys

import bolt_ctl
from bolt_ctl import Flow, checksum, expect, mac_of, packed, poll, sh
from lib_pause import Owner
from lib_ynl import Family, unprivileged

MSS = 1436
KEY = bytes(range(16)).hex()
GUESSES = 1000 if os.environ.get("BOLT_CHECK_ONCE") else 5000


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
    other: SRC and BTS of a bolt connection, BTS and CNM of a cubic one"""
    random.seed(19)
    for cc, types in ((b"bolt", (1, 2)), (b"cubic", (2, 3))):
        f = Flow(cc=cc)
        f.h1.sysctl("bolt.sfc", 1)
        expect("packets in flight", bool(f.flight), True)
        for type in types:
            seq, tx = f.flight[0]
            guessed(f, type, f"{cc}, {type}, both", ["CtlSeq"])
            guessed(f, type, f"{cc}, {type}, stamp known", ["CtlSeq"], tx=tx)
            guessed(f, type, f"{cc}, {type}, sequence number known", ["CtlTime"], seq=seq)
        expect("pauses, limits", (f.h1.stats()["Pauses"], f.h1.stats()["CnmRx"]), (0, 0))
        f.close()


def told(f, pairs):
    """SRC with these sequence numbers and echoes"""
    for seq, tx in pairs:
        f.udp.sendto(packed(f.quote(seq=seq & 0xffffffff), 1, tx), (f.ip[0], bolt_ctl.PORT))


def judged(f, before, total):
    """What became of so many, once all are judged"""
    names = "SrcRx", "CtlSeq", "CtlTime", "CtlReplay", "CtlOverrun"
    poll(lambda: sum(f.h1.stats()[k] - before[k] for k in names) == total, "all judged")
    after = f.h1.stats()
    return {k: after[k] - before[k] for k in names if after[k] != before[k]}


def exact():
    """Of all sequence numbers around the flight, each with the stamp of its packet, and all stamps around one
    packet's, those of the packets are believed, and no other; single packets, and bursts"""
    for burst in 1, 3:
        f = Flow(burst=burst)
        starts = [seq for seq, _ in f.flight]
        expect("departures", len(starts), -(-7 // burst))
        packets = [f.una + n * MSS & 0xffffffff for n in range(7)]
        before, near, last = f.h1.stats(), range(-GUESSES, GUESSES), f.flight[-1]

        def stamp(off):
            """Of the packet that has this byte of the flight, or is nearest to it"""
            return [tx for seq, tx in f.flight if (seq - f.una & 0xffffffff) <= max(off, 0)][-1]

        told(f, [(packets[-1], last[1] + by) for by in near if by])
        told(f, [(f.una + off, stamp(off)) for off in range(-1024, 10000 + 1024)])
        sent = len(near) - 1 + 10000 + 2048
        expect(f"bursts of {burst}", judged(f, before, sent), {"SrcRx": 7, "CtlSeq": 10000 + 2048 - 7, "CtlTime": len(near) - 1})
        f.close()


def exact_deferred():
    """So too where the packets are acknowledged before a user lets the socket go: then a departure stands for all
    packets of a burst that it could have begun"""
    for what, pairs, believed in (
            ("a packet and a stamp", lambda p: [(seq, tx) for seq, _ in p for _, tx in p], 7 + 6 + 5 + 4 + 3 + 2 + 1),
            ("around the packets", lambda p: [(seq + by, tx) for seq, tx in p for by in range(-4, 5)], 7),
            ("around a stamp", lambda p: [(p[3][0], p[3][1] + by) for by in range(-30, 31)], 1)):
        f = Flow()
        before, pairs = f.h1.stats(), pairs(f.flight)
        owner = Owner(f.sock)
        told(f, pairs)
        sh(f"tc -n {f.h2.name} qdisc del dev eth0 root")
        f.peer.sendall(b"x")    # with an ACK of all
        owner.let_go()
        # some of the others find no place, and are refused before that
        expect(what, judged(f, before, len(pairs)).get("SrcRx"), believed)
        expect(f"{what}: in flight", f.outq(), 0)
        f.close()


def crowd():
    """While a user owns the socket, 64 messages wait for him, and no more.  Those whose echo is not that of a recent
    packet take half of the places, so that they keep no true one out: SRC of a bolt connection, BTS of a cubic one"""
    for cc, type, number, rx in ((b"bolt", 1, 0, "SrcRx"), (b"cubic", 2, 1000000, "BtsRx")):
        f = Flow(cc=cc)
        f.h1.sysctl("bolt.sfc", 1)
        f.write(1400)
        before, (seq, tx), (seq2, tx2) = f.h1.stats(), *f.flight[:2]
        # of packets before any that has left, and TSval of half the range ago
        false = [packed(f.quote(seq=seq), type, tx - 2**31 + n, number) for n in range(1000)]
        true = [packed(f.quote(seq=seq), type, tx, number)] * 100
        owner = Owner(f.sock)

        def heard(messages, deferred, overrun):
            came = f.h1.stats()["CtlRx"]
            for msg in messages:
                f.udp.sendto(msg, (f.ip[0], bolt_ctl.PORT))
            poll(lambda: f.h1.stats()["CtlRx"] == came + len(messages), "all heard")
            for name, want in (("CtlDeferred", deferred), ("CtlOverrun", overrun)):
                expect(f"{cc}: {name}", f.h1.stats()[name] - before[name], want)

        heard(false, 32, 968)
        heard(true, 64, 968 + 68)
        heard(false[:10], 64, 978 + 68)
        if type == 1:
            expect("taken for paused", f.h1.now("Pauses"), 0)
        owner.let_go()
        moved, _ = f.send(packed(f.quote(seq=seq2), type, tx2, number))
        expect(f"{cc}: judged with the next", {k: moved.get(k) for k in ("CtlTime", rx)}, {"CtlTime": 32, rx: 2})
        # their places are free
        owner = Owner(f.sock)
        heard(true[:1], 65, 978 + 68)
        owner.let_go()
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


def ah():
    """What is behind a header of AH is believed when AH has been verified and removed, and not before"""
    f = Flow(family=6)
    src, dst = (socket.inet_pton(socket.AF_INET6, a) for a in reversed(f.ip))
    # no number is right, which OptWindow would count
    segment = struct.pack("!HHIIBBHHH", 5001, f.sport, 0, f.una + 2**31 & 0xffffffff, 8 << 4, 0x10, 1000, 0, 0) + \
        struct.pack("!BBHBBHI", 254, 12, 0xb017, 0x40, 1, 0, 0)
    total = checksum(src + dst + struct.pack("!II", len(segment), 6) + segment)
    segment = segment[:16] + struct.pack("!H", total) + segment[18:]
    with f.h2, socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        # not through the qdisc that cuts off ACKs
        raw.setsockopt(263, 20, 1)
        raw.bind(("eth0", 0))
        before = f.h1.stats()["OptWindow"]
        for proto, head in ((51, struct.pack("!BBHI", 6, 0, 0, 1)), (60, bytes([6, 0, 1, 4, 0, 0, 0, 0]))):
            packet = struct.pack("!IHBB", 6 << 28, len(head + segment), proto, 64) + src + dst + head + segment
            raw.send(mac_of(f.h1.name) + mac_of(f.h2.name) + b"\x86\xdd" + packet)
    poll(lambda: f.h1.stats()["OptWindow"] > before, "behind destination options it is read")
    expect("read", f.h1.stats()["OptWindow"] - before, 1)
    f.close()


def signed():
    """A connection with neither option nor timestamps: who spoofs its packets has a switch sign BTS about them, which are
    believed about a packet in flight, and about no other"""
    f = Flow(cc=b"cubic", timestamps=0)
    f.write(1400)
    f.h1.sysctl("bolt.sfc", 1)
    f.h1.sysctl("bolt.tag_key", KEY)
    f.h2.sysctl("ipv4.ip_forward", 1)
    sh(f"ip -n {f.h2.name} link add d0 up type dummy;"
       f"tc -n {f.h2.name} qdisc add dev d0 root sfc rate 1mbit nobolt pause qth 4542b qtg 1514b suppress off addr 198.51.100.9")
    with f.h2, socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as raw:
        for what, tag, seqs, moved in (
                ("guessed", f"tagkey {KEY}", [f.una - 1] * 15, ["CtlSeq"]),
                ("in flight", f"tagkey {KEY}", [f.flight[0][0]], ["BtsRx", "PausedNs", "Pauses"]),
                ("in flight, by a switch without the key", "notagkey", [f.flight[1][0]], ["CtlTag"])):
            sh(f"tc -n {f.h2.name} qdisc change dev d0 root sfc {tag}")
            before = f.h1.stats()
            for seq in seqs:
                head = f.quote(seq=seq & 0xffffffff)
                raw.sendto(head[:2] + struct.pack("!H", 1500) + head[4:] + struct.pack("!IBBHHH", 0, 5 << 4, 16, 1000, 0, 0) + bytes(1460),
                           ("d0", 0x800, 0, 0, bytes(6)))
            poll(lambda: f.h1.stats()["CtlRx"] > before["CtlRx"], "heard")
            after = f.h1.stats()
            expect(what, sorted(k for k in after if after[k] != before[k] and k != "CtlRx"), moved)
    f.close()


TESTS = [blind, exact, exact_deferred, crowd, unsent, oracle, ah, signed]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
