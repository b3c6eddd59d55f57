#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Segments with the option that no stack would send just so, and messages of who sees no packets: what
of them is believed.

	H1 (sender; its packets in flight stay there) ---- H2 (its ACKs are cut off; segments by hand)
"""

import fcntl
import json
import os
import random
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import (SUBRTT, TCP_CONGESTION, Flow, Namespace, checksum, expect, expect_that, mac_of, packed, poll, sh,
                      write_seq)
from lib_pause import Owner
from lib_ynl import Family, unprivileged

DATA, ACK, INC = 0x80, 0x40, 0x04
MSS = 1436
WINDOW = 1 << 16		# no less than that is in either window
QDISC_BYPASS = 20
GUESSES = 1000 if os.environ.get("BOLT_CHECK_ONCE") else 5000
PORT = 40000
OFFER, OPTION = b"\xfe\x04\xb0\x17", struct.pack("!BBHBBIH", 254, 12, 0xb017, ACK, 0, 0, 0)
COUNTED = ("OptRx", "OptWindow", "IncRx", "IncGranted", "OptEcho")


class Forged(Flow):
    """A flow, and segments to its sender as if from its receiver, past the qdisc that drops those"""

    def __init__(self, warm=True, cwnd=20):
        # the windows that either announces are less than 2^16
        super().__init__(warm=warm, rmem=60000, cwnd=cwnd)
        self.h1.sysctl("bolt.debug.ai", 0)
        self.rcv = write_seq(self.peer)
        with self.h2:
            self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
            self.raw.setsockopt(263, QDISC_BYPASS, 1)
            self.to = ("eth0", 0x800, 0, 0, mac_of(self.h1.name))

    def packet(self, ack, seq=None, flags=ACK, inc=0, echo=0, payload=b"", partial=False, off=0):
        """An IPv4 packet; PARTIAL: with the checksum of its pseudo header only; or with one that is OFF"""
        src, dst = (socket.inet_aton(a) for a in reversed(self.ip))
        tcp = struct.pack("!HHIIBBHHHBBHBBIH", 5001, self.sport,
                          (self.rcv if seq is None else seq) & 0xffffffff, ack & 0xffffffff, 8 << 4,
                          0x10, 60000, 0, 0, 254, 12, 0xb017, flags, inc, echo & 0xffffffff, 0) + payload
        pseudo = src + dst + struct.pack("!HH", 6, len(tcp))
        check = checksum(pseudo) ^ 0xffff if partial else checksum(pseudo + tcp + bytes(len(tcp) % 2))
        tcp = tcp[:16] + struct.pack("!H", check ^ off) + tcp[18:]
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, src, dst)
        return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp

    def segment(self, ack, *args, **kwargs):
        """What counters moved, and the change of cwnd"""
        return self.heard(lambda: self.raw.sendto(self.packet(ack, *args, **kwargs), self.to))

    def heard(self, send):
        before, cwnd = self.h1.stats(), self.cwnd()
        send()
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
        expect(f"data {what}", f.segment(f.una, seq, DATA | ACK | INC, payload=b"x"), want)
    f.close()


def empty():
    """Only data is counted, whatever the flags say"""
    f = Forged()
    for flags in INC, ACK | INC, DATA | INC, DATA | ACK | INC:
        expect(f"{flags:x}", f.segment(f.una, flags=flags), ({"OptRx": 1}, 0))
    expect("a byte", f.segment(f.una, flags=DATA | ACK | INC, payload=b"x"), ({"OptRx": 1, "IncRx": 1}, 0))
    f.close()


def corrupt():
    """TCP drops a segment whose checksum is wrong, after the hook: what its option says is not believed"""
    f = Forged(warm=False)
    sh(f"ip netns exec {f.h1.name} ethtool -K eth0 rx off >/dev/null 2>&1")
    before = f.h1.stats()
    f.raw.sendto(f.packet(f.una + MSS, inc=1, off=1), f.to)
    expect("right", f.segment(f.una + MSS, inc=1), ({"OptRx": 1, "IncGranted": 1}, 1))
    after = f.h1.stats()
    expect("of both", [after[k] - before[k] for k in COUNTED], [1, 0, 0, 1, 0])
    f.close()


class Tun:
    """A device of H1, whose packets come with a struct virtio_net_hdr: as from a guest, no one has said how
    many segments a super-packet has"""

    def __init__(self, host):
        with host:
            self.fd = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(self.fd, 0x400454ca, struct.pack("16sH22x", b"tun0", 0x5001))
        sh(f"ip -n {host.name} link set tun0 up")

    def send(self, packet, gso_size):
        """Behind IPv4 and TCP headers of 52 bytes"""
        os.write(self.fd, struct.pack("=BBHHHH", 1, bool(gso_size), 52, gso_size, 20, 16) + packet)


def super_packet():
    """INC of a super-packet counts for each segment"""
    f = Forged()
    tun = Tun(f.h1)
    seq = f.rcv
    for size, gso_size, segs in ((1000, 100, 10), (1001, 100, 11), (101, 100, 2), (100, 0, 1)):
        data = f.packet(f.una, seq, DATA | ACK | INC, payload=bytes(size), partial=True)
        expect(f"{size} bytes by {gso_size}", f.heard(lambda: tun.send(data, gso_size)),
               ({"OptRx": segs, "IncRx": segs}, 0))
        seq += size
    os.close(tun.fd)
    f.close()


def first_inc():
    """The peer counts from zero: what the first ACK of all brings is granted, however many were lost.  No
    more than was delivered is, and nothing for packets that drew an SRC"""
    f = Forged(warm=False)
    f.believed("INC taken away", f.message())
    f.believed("INC left", f.message(flags=8))
    expect("first", f.segment(f.una + 2 * MSS, inc=2), ({"OptRx": 1, "IncGranted": 1}, 1))
    expect("the other", f.segment(f.una + 3 * MSS, inc=2), ({"OptRx": 1, "IncGranted": 1}, 1))
    expect("old news", f.segment(f.una + 4 * MSS, inc=2), ({"OptRx": 1}, 0))
    expect("nothing new", f.segment(f.una + 5 * MSS, inc=2), ({"OptRx": 1}, 0))
    expect("more than came", f.segment(f.una + 6 * MSS, inc=100), ({"OptRx": 1, "IncGranted": 3}, 3))
    expect("without a packet", f.segment(f.una + 6 * MSS, inc=127), ({"OptRx": 1}, 0))
    f.close()


def echo():
    """An RTT sample is of a packet that has left"""
    f = Forged(warm=False)
    stamps = [tx for _, tx in f.flight]
    believed, ignored = ({"OptRx": 1}, 0), ({"OptRx": 1, "OptEcho": 1}, 0)
    for n, (what, tx, want) in enumerate((("the first packet", stamps[0], believed), ("the third", stamps[2], believed),
                                          ("the second", stamps[1], believed), ("nothing", 0, believed),
                                          ("a ns after a packet", stamps[1] + 1, ignored),
                                          ("before any packet", stamps[0] - 1, ignored)), 1):
        expect(f"an ACK that echoes {what}", f.segment(f.una + n * MSS, echo=tx), want)
    f.close()


def echo_beyond():
    """The sample of a packet in flight that 64 others have left behind: what it waits at a busy receiver before it
    is acknowledged is not in it.  What no packet in flight left with counts from the newest that has arrived"""
    for off in 0, 1:
        f = Forged(warm=False, cwnd=120)
        time.sleep(0.005)
        began = time.monotonic_ns()
        f.write(1400)
        tx = f.flight[-1][1]
        late_ns = off * ((tx - f.flight[0][1]) & 0xffffffff)
        for _ in range(70):
            f.write(100)
        expect("packets behind it", [at for _, at in f.flight[7:]].index(tx) - len(f.flight[7:]), -71)
        expect("heard", f.segment(f.una + MSS, echo=tx + off), ({"OptRx": 1}, 0))
        took = time.monotonic_ns() - began
        rtt = json.loads(subprocess.check_output([SUBRTT, "-j", "-n", f.h1.name, "flows"]))[0]["srtt_ns"]
        expect_that(f"RTT by an echo {off} ns off a packet in flight, {took} ns after that left",
                    0 <= took + late_ns - rtt < 2000000, rtt)
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
        expect(what, judged(f, before, len(pairs)), {"SrcRx": believed, "CtlSeq": len(pairs) - believed})
        expect(f"{what}: in flight", f.outq(), 0)
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


class Client:
    """A client by hand of a listener at H1: its address is behind H2's device, and nobody has it"""

    SYN, ACKED = 2, 16

    def __init__(self, family, cc=b"bolt", backlog=8):
        self.family, self.cc = family, cc
        self.h1, self.h2 = Namespace("h1"), Namespace("h2")
        a, b = self.h1.name, self.h2.name
        net = {4: "192.0.2.%d", 6: "2001:db8::%d"}[family]
        self.af, self.ip = {4: socket.AF_INET, 6: socket.AF_INET6}[family], (net % 1, net % 7)
        sh(f"ip link add name eth0 netns {a} type veth peer name eth0 netns {b}")
        for ns, n in ((a, 1), (b, 2)):
            sh(f"ip -n {ns} link set lo up; ip -n {ns} link set eth0 up; ip -n {ns} addr add"
               f" {net % n}/{24 if family == 4 else '64 nodad'} dev eth0")
        sh(f"ip -n {a} neigh replace {self.ip[1]} dev eth0 nud permanent lladdr {mac_of(b).hex(':')}")
        self.h1.sysctl("ipv4.tcp_syncookies", 0)
        with self.h1:
            self.listener = socket.socket(self.af, socket.SOCK_STREAM)
            self.listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc)
            self.listener.bind((self.ip[0], 5001))
            self.listener.listen(backlog)
        self.listener.settimeout(10)
        with self.h2:
            self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
            self.raw.bind(("eth0", 0x800 if family == 4 else 0x86dd))
        self.raw.settimeout(10)
        self.to = ("eth0", 0x800 if family == 4 else 0x86dd, 0, 0, mac_of(a))
        self.isn, self.theirs, self.accepted = 2**32 - 5, 0, []
        self.before = self.h1.stats()

    def send(self, flags, seq, ack, option, payload=b"", broken=False):
        src, dst = (socket.inet_pton(self.af, a) for a in reversed(self.ip))
        tcp = struct.pack("!HHIIBBHHH", PORT, 5001, seq & 0xffffffff, ack & 0xffffffff,
                          5 + len(option) // 4 << 4, flags, 60000, 0, 0) + option + payload
        check = checksum(src + dst + struct.pack("!HH", 6, len(tcp)) + tcp + bytes(len(tcp) % 2)) ^ broken
        tcp = tcp[:16] + struct.pack("!H", check) + tcp[18:]
        if self.family == 4:
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, src, dst)
            ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        else:
            ip = struct.pack("!IHBB16s16s", 6 << 28, len(tcp), 6, 64, src, dst)
        self.raw.sendto(ip + tcp, self.to)

    def syn(self, offer, seq=0, payload=b"", broken=False):
        self.send(self.SYN, self.isn + seq, 0, OFFER if offer else b"", payload, broken)

    def ack(self, option, seq=0, ack=0, payload=b"", broken=False):
        """OPTION: with what, or whether at all"""
        self.send(self.ACKED, self.isn + 1 + seq, self.theirs + 1 + ack, OPTION if option is True else option or b"",
                  payload, broken)

    def heard(self, syn):
        """The next SYN-ACK, or segment that is none"""
        while True:
            th = self.raw.recv(200)[20 if self.family == 4 else 40:]
            if bool(th[13] & self.SYN) == syn and th[2:4] == PORT.to_bytes(2):
                return th

    def accepts(self):
        """Does the next SYN-ACK?"""
        th = self.heard(syn=True)
        self.theirs = int.from_bytes(th[4:8])
        return OFFER in th[20:4 * (th[12] >> 4)]

    def fast_open(self):
        """Without a cookie (RFC 7413)"""
        self.h1.sysctl("ipv4.tcp_fastopen", 0x202)
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 8)

    def defer_accept(self):
        """A bare ACK makes no child"""
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 30)

    def accept(self):
        self.accepted.append(self.listener.accept()[0])
        return self.accepted[-1]

    def became(self):
        """What the one connection to this client is"""
        self.accept()
        after = self.h1.stats()
        return {k: after[k] - self.before[k] for k in ("Negotiated", "Fallback") if after[k] != self.before[k]}

    def ends(self, what, want):
        """... and no more of it"""
        expect(f"IPv{self.family}, {what}", self.became(), want)
        self.close()

    def close(self):
        for sock in (self.raw, self.listener, *self.accepted):
            sock.close()
        self.h1.close()
        self.h2.close()


BOLT, PLAIN = {"Negotiated": 1}, {"Fallback": 1}


def each_family(test):
    for family in 4, 6:
        test(family)


def shake(family, what, offered, third, want):
    """A handshake whose SYN has OFFERED or not, and then the segments THIRD, each as given to ack()"""
    c = Client(family)
    c.syn(offered)
    expect(f"{what}: SYN-ACK", c.accepts(), offered)
    for segment in third:
        c.ack(**segment)
    c.ends(what, want)


def third():
    """Only the segment that makes the child tells whether the client has the option"""
    yes, no = {"option": True}, {"option": False}

    def test(family):
        for what, first, want in (("none", None, PLAIN), ("beyond the window", {"seq": 2**24}, PLAIN),
                                  ("before it", {"seq": -2**24}, PLAIN), ("another ACK", {"ack": 1000}, PLAIN),
                                  ("checksum", {"broken": True}, PLAIN)):
            forged = [first | yes] if first else []
            shake(family, f"plain, {what} before", False, forged + [no], want)
            shake(family, f"with the option, {what} before", True, forged + [yes], BOLT)
        shake(family, "data ahead", True, [yes | {"seq": 100, "payload": b"x" * 10}], BOLT)
    each_family(test)


def third_with_data():
    """Data in the segment that makes the child is counted and echoed: the ACK was lost, or it was not waited for"""
    option = struct.pack("!BBHBBIH", 254, 12, 0xb017, DATA | ACK | INC, 0, 12345678, 0)

    def test(family):
        for what, prepare, bare in (("ACK lost", lambda c: None, False),
                                    ("cookie", lambda c: c.h1.sysctl("ipv4.tcp_syncookies", 2), False),
                                    ("TCP_DEFER_ACCEPT", Client.defer_accept, True)):
            c = Client(family)
            prepare(c)
            c.syn(True)
            expect(f"{what}: SYN-ACK", c.accepts(), True)
            if bare:
                c.ack(True)
            c.ack(option, payload=b"x" * 10)
            # the option is the last, and its last two bytes are Swift's
            expect(f"IPv{family}, {what}: flags, INC, echo", struct.unpack("!BBI", c.heard(syn=False)[-8:-2]),
                   (ACK, 1, 12345678))
            expect(f"IPv{family}, {what}: IncRx", c.h1.stats()["IncRx"], 1)
            c.ends(what, BOLT)
    each_family(test)


def tiny_mss():
    """A client whose MSS is the least that TCP sends: there is no room for the option"""
    def test(family):
        c = Client(family)
        c.send(c.SYN, c.isn, 0, struct.pack("!BBH", 2, 4, 48) + OFFER)
        expect(f"IPv{family}: SYN-ACK", c.accepts(), False)
        c.ack(True)
        c.accept().send(b"x" * 48)
        expect(f"IPv{family}: options and payload", len(c.heard(syn=False)) - 20, 48)
        c.close()
    each_family(test)


def cookie():
    """So too where there is no request"""
    def test(family):
        for option, want in ((False, PLAIN), (True, BOLT)):
            c = Client(family)
            c.h1.sysctl("ipv4.tcp_syncookies", 2)
            c.syn(option)
            expect("SYN-ACK", c.accepts(), option)
            c.ack(True, ack=1000)
            c.ack(option)
            c.ends(f"{option}", want)
    each_family(test)


def defer_accept():
    """A bare ACK makes no child"""
    def test(family):
        for bare, option, want in ((True, False, PLAIN), (False, True, BOLT), (True, True, BOLT)):
            c = Client(family)
            c.defer_accept()
            c.syn(option)
            expect("SYN-ACK", c.accepts(), option)
            c.ack(bare)
            c.ack(option, payload=b"x" * 10)
            c.ends(f"bare {bare}, data {option}", want)
    each_family(test)


def dropped_syn():
    """An offer that nobody answered is not the next SYN's"""
    def full(c):
        with c.h2:
            them = [socket.create_connection((c.ip[0], 5001)) for _ in range(2)]
        c.syn(True)
        c.accepted += them + [c.accept() for _ in them]
        c.before = c.h1.stats()

    def test(family):
        for what, drop in (("backlog", full), ("checksum", lambda c: c.syn(True, broken=True))):
            for seq in 0, 12345:
                c = Client(family, backlog=1)
                drop(c)
                c.isn += seq
                c.syn(False)
                expect(f"IPv{family}, {what}, {seq}: SYN-ACK", c.accepts(), False)
                c.ack(False)
                c.ends(f"{what}, {seq}", PLAIN)
    each_family(test)


def timer():
    """A SYN-ACK that a timer sends answers no offer, neither a dropped SYN's nor one too many"""
    def test(family):
        for what, seq, broken in (("dropped", 0, True), ("another", 12345, True), ("limited", 0, False)):
            c = Client(family)
            c.syn(False)
            expect("SYN-ACK", c.accepts(), False)
            if what == "limited":
                c.syn(True)
                expect("SYN-ACK of the offer", c.accepts(), True)
            c.syn(True, seq, broken=broken)
            expect(f"IPv{family}, {what}: by the timer", c.accepts(), False)
            c.ack(False)
            c.ends(what, PLAIN)
    each_family(test)


def too_late():
    """A user who selects bolt on a connection that is there gets none of what its first packets said"""
    def test(family):
        for fast in False, True:
            c = Client(family, cc=b"cubic")
            c.fast_open()
            c.syn(True, payload=b"x" * 10 * fast)
            expect("SYN-ACK", c.accepts(), False)
            if not fast:
                c.ack(True)
            c.accept().setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"bolt")
            after = c.h1.stats()
            expect(f"IPv{family}, {fast}", [after[k] - c.before[k] for k in ("Negotiated", "Fallback")], [0, 1])
            c.close()
    each_family(test)


def fast_open():
    """Where a SYN makes the child, its offer counts, and each SYN-ACK accepts"""
    def test(family):
        for offer, want in ((True, BOLT), (False, PLAIN)):
            c = Client(family)
            c.fast_open()
            c.syn(not offer, 12345, b"x" * 10, broken=True)
            c.syn(offer, payload=b"x" * 10)
            expect("SYN-ACK", c.accepts(), offer)
            expect("by the timer", c.accepts(), offer)
            c.ends(f"{offer}", want)
    each_family(test)


TESTS = [window, empty, corrupt, super_packet, first_inc, echo, echo_beyond, third, third_with_data, tiny_mss, cookie, defer_accept, dropped_syn, timer,
         too_late, fast_open, blind, exact, exact_deferred, crowd, unsent, oracle]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
