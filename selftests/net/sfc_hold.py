#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""SFC for flows that are not TCP: the port of a host holds what a BTS has paused.

	H1 eth0 (sfc hold) ---- eth0 H2

UDP leaves H1, and is captured where it leaves, behind the qdisc.  BTS quote a captured packet and
come from H2.  All times are of the guest's virtual clock; nothing may be lost, doubled, overtaken.
"""

import json
import os
import random
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import Namespace, expect, failures, packed, poll, sh
from lib_pause import MS, SLACK, Packet

SPORT, DPORT = 1000, 2000
SIZE = 200
SO_TIMESTAMPNS = 35
IP_TOS, IPV6_TCLASS, IP_TTL = 1, 67, 2
UDP_SEGMENT = 103
SLOTS = 64
KEY = bytes(range(16))


class Port:
    """H1 with an sfc that holds, and H2; the datagrams of one flow are numbered"""

    def __init__(self, *options, family=4, qdisc=None):
        self.h1, self.h2 = Namespace("h1"), Namespace("h2")
        a, b = self.h1.name, self.h2.name
        self.family = family
        self.af = {4: socket.AF_INET, 6: socket.AF_INET6}[family]
        self.ip = {4: ("192.0.2.1", "192.0.2.2", "192.0.2.3"),
                   6: ("2001:db8::1", "2001:db8::2", "2001:db8::3")}[family]
        sh(f"ip link add name eth0 netns {a} type veth peer name eth0 netns {b}")
        length = 64 if family == 6 else 24
        nodad = "nodad" if family == 6 else ""
        for ns, ips in ((a, self.ip[:1]), (b, self.ip[1:])):
            sh(f"ip -n {ns} link set lo up; ip -n {ns} link set eth0 up")
            for ip in ips:
                sh(f"ip -n {ns} addr add {ip}/{length} dev eth0 {nodad}")
        with self.h2:
            self.sink = [self.bound(ip, DPORT) for ip in self.ip[1:]]
            self.switch = self.bound(self.ip[1], bolt_ctl.PORT)
        with self.h1:
            self.udp = self.bound(self.ip[0], SPORT)
            # what the qdisc leaves for others
            self.ctl = self.bound(self.ip[0], bolt_ctl.PORT)
        # neighbours are known before anything is counted
        for n in (1, 2):
            self.udp.sendto(b"hello", (self.ip[n], DPORT))
            self.sink[n - 1].settimeout(10)
            self.sink[n - 1].recv(100)
        self.options = " ".join(options)
        if qdisc != "none":
            self.tc(f"qdisc add dev eth0 root handle 1: sfc nobolt hold {self.options}")
        with self.h1:
            self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
            self.tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self.tap.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)    # SO_RCVBUFFORCE
            self.tap.setblocking(False)
        self.packets, self.next, self.got = [], 0, []

    def bound(self, ip, port):
        s = socket.socket(self.af, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
        s.setsockopt(socket.SOL_SOCKET, 32, 1 << 26)    # SO_SNDBUFFORCE
        s.bind((ip, port))
        return s

    def close(self):
        for s in (*self.sink, self.switch, self.udp, self.ctl, self.tap):
            s.close()
        self.h1.close()
        self.h2.close()

    def tc(self, words):
        sh(f"tc -n {self.h1.name} {words}")

    def qdiscs(self):
        out = subprocess.run(["tc", "-n", self.h1.name, "-s", "-j", "qdisc", "show", "dev", "eth0"],
                             capture_output=True, text=True, check=True).stdout
        return {q["kind"]: q | q.get("options", {}) for q in json.loads(out)}

    def stat(self, name, kind="sfc"):
        return self.qdiscs()[kind][name]

    def counters(self, what, **want):
        have = self.qdiscs()["sfc"]
        expect(what, {k: have[k] for k in want}, want)

    def send(self, n=1, to=1, tos=0, size=SIZE):
        """Numbered datagrams"""
        if self.family == 4:
            self.udp.setsockopt(socket.IPPROTO_IP, IP_TOS, tos)
        else:
            self.udp.setsockopt(socket.IPPROTO_IPV6, IPV6_TCLASS, tos)
        for _ in range(n):
            data = struct.pack("!I", self.next) + random.Random(self.next).randbytes(size - 4)
            self.udp.sendto(data, (self.ip[to], DPORT))
            self.next += 1

    def received(self, n, to=1):
        """The numbers of the next N datagrams that have come; their bytes are verified"""
        sink, numbers = self.sink[to - 1], []
        while len(numbers) < n:
            try:
                data = sink.recv(1 << 16)
            except TimeoutError:
                failures.append(f"{len(numbers)} of {n} datagrams have come")
                break
            numbers.append(struct.unpack_from("!I", data)[0])
            if random.Random(numbers[-1]).randbytes(len(data) - 4) != data[4:]:
                failures.append(f"datagram {numbers[-1]} is not what was sent")
        return numbers

    def capture(self):
        while True:
            try:
                data, control, _, addr = self.tap.recvmsg(160, 64)
            except BlockingIOError:
                return
            if addr[1] in (0x800, 0x86dd):
                sec, nsec = struct.unpack("=qq", control[0][2])
                self.packets.append(Packet(sec * 10**9 + nsec, addr[2] == 4, data))

    def left(self, to=1, after=0):
        """Datagrams of ours that have left, by (when, number)"""
        self.capture()
        return [p for p in self.packets if p.proto == 17 and p.out and p.dport == DPORT and
                p.when > after and p.raw[p.l4 - (4 if self.family == 4 else 16):p.l4] ==
                socket.inet_pton(self.af, self.ip[to])]

    def message(self, pause, quote, more=b"", **changes):
        head = quote if isinstance(quote, bytes) else quote.quote()
        return packed(head, **{"type": 2, "tx": 0, "number": pause} | changes) + more

    def bts(self, pause, quote=None, **changes):
        """A BTS about the newest datagram, or the one given; returns when it came in"""
        quote = quote or self.left()[-1]
        before = len(self.came())
        self.switch.sendto(self.message(pause, quote, **changes), (self.ip[0], bolt_ctl.PORT))
        # a softirq may have it wait for a moment
        poll(lambda: len(self.came()) > before, "the BTS comes")
        return self.came()[-1].when

    def came(self):
        """The BTS that have come in"""
        self.capture()
        return [p for p in self.packets if p.proto == 17 and not p.out and
                p.dport == bolt_ctl.PORT]

    def held_until(self, what, end, n, to=1, after=None):
        """N datagrams leave at that time, none between AFTER and it"""
        after = end - MS // 2 if after is None else after
        poll(lambda: len(self.left(to, after)) >= n, f"{what}: {n} datagrams")
        late = [p.when - end for p in self.left(to, after)[:n]]
        if not all(0 <= t <= SLACK for t in late):
            failures.append(f"{what}: {late} ns after the end of the pause")

    def refused(self, what, counter, pause, quote, by=None, **changes):
        """It moves that counter and nothing else, holds nothing, and goes no further"""
        before = self.qdiscs()["sfc"]
        (by or self.switch).sendto(self.message(pause, quote, **changes),
                                   (self.ip[0], bolt_ctl.PORT))
        after = self.qdiscs()["sfc"]
        moved = {k: after[k] - before[k] for k in after
                 if k.startswith("hold_") and after[k] != before[k]}
        expect(what, moved, {counter: 1} if counter else {})
        expect(f"{what}: passed on", heard(self.ctl), not counter)


def heard(sock):
    """Does that socket get something?"""
    sock.settimeout(0.01)
    try:
        sock.recv(1 << 16)
        return True
    except TimeoutError:
        return False


# --- until when ---

def exact(family=4):
    """Held to the end of the pause, to the ns but for the clock's own steps, then all at once"""
    h = Port(family=family)
    n = 1
    h.send()
    for pause in (5 * MS, MS, 400000, 9999999):
        came = h.bts(pause)
        h.send(9)
        n += 9
        expect("qlen", h.stat("qlen"), 9)
        h.held_until(f"IPv{family}, {pause} ns", came + pause, 9, after=came)
    expect("in order", h.received(n), list(range(n)))
    h.counters("counters", hold_bts=4, hold_pauses=4, hold_ns=16399999, hold_held=36,
               hold_released=36, hold_pkts=0, hold_bytes=0, hold_clamped=0, qlen=0, backlog=0,
               drops=0)
    h.close()


def exact_ipv6():
    exact(6)


def replaced():
    """A later BTS replaces the end, whether longer or shorter; 0 ends it"""
    h = Port()
    for what, first, at, second in (("shorter", 9 * MS, 2 * MS, MS),
                                    ("longer", 3 * MS, 2 * MS, 6 * MS),
                                    ("later, but not longer", 9 * MS, 8 * MS, 9 * MS),
                                    ("ended", 9 * MS, 2 * MS, 0)):
        h.send()
        quote = h.left()[-1]
        came = h.bts(first, quote)
        h.send(5)
        time.sleep(at / 1e9)
        again = h.bts(second, quote)
        h.send(0 if not second else 2)
        h.held_until(what, again + second, 7 if second else 5, after=came)
    expect("in order", h.received(h.next), list(range(h.next)))
    h.counters("counters", hold_bts=8, hold_pauses=4, qlen=0, drops=0)
    h.close()


def without_packets():
    """A pause in which nothing is sent holds nothing; one of 0, of nobody paused, is none"""
    h = Port()
    h.send()
    quote = h.left()[-1]
    h.bts(0, quote)
    h.counters("none", hold_bts=1, hold_pauses=0, hold_slots=0)
    came = h.bts(2 * MS, quote)
    h.counters("paused", hold_slots=1)
    time.sleep(0.003)
    h.counters("over", hold_slots=0)
    h.send()
    expect("passes", len(h.left(after=came)), 1)
    h.counters("counters", hold_held=0, hold_pauses=1)
    h.close()


def clamped():
    """maxpause is the longest"""
    h = Port("maxpause 3ms")
    h.send()
    came = h.bts(1000 * MS)
    h.send(2)
    h.held_until("asked for a second", came + 3 * MS, 2, after=came)
    h.counters("counters", hold_clamped=1, hold_ns=3 * MS)
    h.close()


# --- whom ---

def nobody_else():
    """Another destination, another DSCP, TCP and ICMP pass; another flow to that one does not"""
    h = Port()
    h.send()
    came = h.bts(9 * MS)
    h.send(3)
    h.send(2, to=2)
    h.send(1, tos=0x28)
    h.send(1, tos=2)        # ECN-capable, the same DSCP
    with h.h1:
        other = h.bound(h.ip[0], SPORT + 1)
    other.sendto(b"the same destination", (h.ip[1], DPORT))
    with h.h2:
        listener = socket.create_server((h.ip[1], 5001))
    with h.h1, socket.create_connection((h.ip[1], 5001), 10) as tcp:
        tcp.sendall(b"x" * 3000)
    with h.h1, socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
        icmp.sendto(bytes((8, 0, 0xf7, 0xff, 0, 0, 0, 0)), (h.ip[1], 0))
    h.capture()
    expect("another destination", len(h.left(2, came)), 2)
    expect("in time", h.left(2, came)[-1].when < came + 9 * MS, True)
    expect("another DSCP", len(h.left(1, came)), 1)
    expect("TCP", sum(p.proto == 6 and p.out for p in h.packets) >= 3, True)
    expect("ICMP", sum(p.proto == 1 and p.out for p in h.packets), 1)
    h.counters("held", hold_held=5, qlen=5)
    h.held_until("the rest", came + 9 * MS, 5, after=came + 8 * MS)
    listener.close()
    other.close()
    h.close()


def fragments():
    """Datagrams longer than the MTU keep their place among shorter ones"""
    for family in (4, 6):
        h = Port(family=family)
        h.send()
        came = h.bts(4 * MS)
        for size in (100, 4000, 100, 8000, 3000):
            h.send(size=size)
        h.counters("packets", hold_held=1 + 3 + 1 + 6 + 3)
        # the two that are whole
        h.held_until(f"IPv{family}", came + 4 * MS, 2, after=came)
        expect("in order", h.received(6), list(range(6)))
        h.close()


def segmented():
    """A super-packet is held segment by segment, or as it is"""
    for option, n in (("split-gso", 10), ("no-split-gso", 1)):
        h = Port(option)
        h.send()
        h.bts(4 * MS)
        h.udp.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
        data = b"".join(struct.pack("!I", i) + random.Random(i).randbytes(SIZE - 4)
                        for i in range(1, 11))
        h.udp.sendto(data, (h.ip[1], DPORT))
        h.counters(option, hold_held=n, qlen=n)
        expect("in order", h.received(11), list(range(11)))
        h.counters("counters", qlen=0, backlog=0, drops=0, hold_released=n)
        h.close()


# --- the queue ---

def queued_before():
    """What the port had queued when the BTS came is held as well; others close up"""
    h = Port("rate 1mbit")          # 242 bytes take 1.936 ms
    h.send()
    quote = h.left()[-1]
    h.send(6)
    h.send(3, to=2)
    h.send(2)
    expect("waiting", h.stat("qlen"), 11)
    came = h.bts(9 * MS, quote)
    h.send(1)
    poll(lambda: len(h.left(2)) == 3, "the others")
    expect("ahead of those in front of them", len(h.left(1, came + SLACK)), 0)
    if h.left(2)[-1].when - came > 6 * MS:
        failures.append(f"others: {h.left(2)[-1].when - came} ns")
    h.counters("held", hold_held=9, hold_pkts=9, hold_bytes=9 * (SIZE + 42))
    expect("in order", h.received(10), [*range(0, 7), 10, 11, 12])
    first = h.left(1, came + SLACK)[0].when
    expect("at the end", 0 <= first - came - 9 * MS <= SLACK, True)
    # a shaper that has been idle saves nothing up
    gaps = [b.when - a.when for a, b in zip(h.left(1, came + SLACK), h.left(1, came + SLACK)[1:])]
    if not all(1936000 - SLACK <= g <= 1936000 + SLACK for g in gaps):
        failures.append(f"gaps {gaps}")
    h.close()


def not_in_the_queue():
    """What is held is in qlen and backlog, not in the queue that is congested, marked, or told of"""
    h = Port("rate 1mbit", "sfc", "qth 1000b", "qtg 100b", "ecn 1000b", "suppress off")
    h.send()
    h.bts(9 * MS)
    h.send(30, tos=2)
    h.send(3, to=2, tos=2)
    h.counters("held", hold_pkts=30, qlen=33, ecn_marked=0, bts_sent=0)
    expect("peak", h.stat("backlog_peak") <= 3 * (SIZE + 42), True)
    poll(lambda: h.stat("hold_released") == 30, "released")
    # the first five meet less; a port does not tell its own host to pause what it would hold itself
    h.counters("then they are", ecn_marked=25, bts_sent=0)
    expect("in order", h.received(31), list(range(31)))
    h.close()


def limit():
    """The limit counts both; what finds no room is dropped as ever"""
    h = Port(f"limit {10 * (SIZE + 42) + 1000}b")
    h.send()
    h.bts(9 * MS)
    h.send(20)
    h.counters("full", hold_held=14, hold_pkts=14, drop_data=6, drops=6, qlen=14)
    h.send(1, to=2)
    h.counters("for all", drop_data=7)
    expect("the first of them", h.received(15), list(range(15)))
    h.counters("counters", qlen=0, backlog=0, hold_released=14)
    h.close()


def limit_lowered():
    h = Port("limit 1mb")
    h.send()
    h.bts(9 * MS)
    h.send(20)
    h.tc("qdisc change dev eth0 handle 1: root sfc limit 2000b")
    h.counters("shrunk", drop_change=12, drops=12, qlen=8, hold_pkts=8, backlog=8 * (SIZE + 42))
    expect("the newest of them", h.received(9), [0, *range(13, 21)])
    h.counters("counters", qlen=0, backlog=0)
    h.close()


def every_byte():
    """Pauses of any length, some packets queued, some held, some in fragments: all come, in order"""
    for options in (("rate 20mbit",), ("holdshare 100",), ("rate 50mbit", "no-split-gso")):
        h = Port("limit 100mb", *options)
        rng = random.Random(7)
        h.send()
        quote = h.left()[-1]
        for _ in range(300):
            h.send(rng.randrange(8), size=rng.choice((50, 200, 1400, 2000)))
            if rng.random() < .5:
                h.bts(rng.choice((0, 20000, 100000, 300000, 2 * MS)), quote)
            time.sleep(rng.randrange(300) / 1e6)
        got = h.received(h.next)
        # of a thousand numbers, the first that is out of place
        expect(f"{options}: in order", next((p for p in enumerate(got) if p[0] != p[1]), None), None)
        poll(lambda: not h.stat("qlen"), "empty")
        q = h.qdiscs()["sfc"]
        expect("released", q["hold_released"], q["hold_held"])
        expect("held at times", q["hold_held"] > 100, True)
        expect("left over", (q["backlog"], q["drops"], q["hold_bytes"]), (0, 0, 0))
        h.close()


# --- bad input ---

def forged():
    """Forged, stale, oversized: counted, and nothing else"""
    h = Port(f"tagkey {KEY.hex()}", "minttl 60")
    h.send(1)
    h.send(1, to=2)
    quote, other = h.left()[-1], h.left(2)[-1]
    head = quote.quote()

    def quoting(**at):
        q = bytearray(head)
        for off, value in at.values():
            q[off:off + len(value)] = value
        return bytes(q)
    ip = socket.inet_aton
    h.refused("no tag", "hold_refused", MS, quote)
    h.refused("another key", "hold_refused", MS, quote, key=bytes(16))
    h.refused("somebody else's packet", "hold_refused", MS, quoting(a=(12, ip("192.0.2.9"))),
              key=KEY)
    h.refused("multicast", "hold_refused", MS, quoting(a=(16, ip("224.0.0.9"))), key=KEY)
    h.refused("a destination never sent to", "hold_stale", MS, quoting(a=(16, ip("192.0.2.9"))),
              key=KEY)
    h.refused("another port", "hold_stale", MS, quoting(a=(20, b"\1\1")), key=KEY)
    h.refused("another protocol", "hold_stale", MS, quoting(a=(9, b"\x84")), key=KEY)
    h.refused("another DSCP", "hold_stale", MS, quote, key=KEY, dscp=10)
    h.refused("more than a second", "hold_oversize", 1000 * MS + 1, quote, key=KEY)
    # others are to say what is wrong with these
    h.refused("about TCP", None, MS, quoting(a=(9, b"\x06")), key=KEY)
    h.refused("cut off", None, MS, quote, key=KEY, more=b"x")
    h.refused("SRC", None, MS, quote, key=KEY, type=1, tx=5)
    h.refused("from another port than the control port", None, MS, quote, key=KEY,
              by=h.sink[0])

    h.switch.setsockopt(socket.IPPROTO_IP, IP_TTL, 59)
    h.refused("TTL", "hold_refused", MS, quote, key=KEY)
    h.switch.setsockopt(socket.IPPROTO_IP, IP_TTL, 60)
    with h.h2:
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    msg = h.message(MS, quote, key=KEY)
    before = h.stat("hold_refused")
    raw.sendto(struct.pack("!HHHH", bolt_ctl.PORT, bolt_ctl.PORT, 8 + len(msg), 0xabcd) + msg,
               (h.ip[0], 0))
    expect("checksum", h.stat("hold_refused") - before, 1)
    raw.close()
    h.send()
    h.counters("nothing held", hold_held=0, hold_pauses=0, hold_bts=0)
    # and one that is right in everything
    h.bts(MS, other, key=KEY)
    h.counters("believed", hold_pauses=1, hold_bts=1)
    h.close()


def stale():
    """A flow silent for more than a second has nothing in flight"""
    h = Port()
    h.send()
    quote = h.left()[-1]
    time.sleep(1)
    h.bts(MS, quote)
    h.counters("a second", hold_pauses=1, hold_stale=0)
    time.sleep(.1)
    h.refused("more", "hold_stale", MS, quote)
    h.send()
    h.bts(MS, quote)
    h.counters("sent again", hold_pauses=2)
    h.close()


def watchdog():
    """A storm of pauses: 30 % of 200 ms, then deaf for 200 ms"""
    h = Port("holdshare 30")
    h.send()
    quote = h.left()[-1]
    came = h.bts(9 * MS, quote)
    h.send(1)
    for _ in range(40):
        time.sleep(.005)
        h.bts(9 * MS, quote)
        h.send(1)
    q = h.qdiscs()["sfc"]
    expect("trips", q["hold_trips"], 1)
    expect("granted", q["hold_ns"], 60 * MS)
    expect("deaf", q["hold_deaf"] >= 20, True)
    first = h.left(1, came + SLACK)[0].when
    if not 0 <= first - came - 60 * MS <= SLACK:
        failures.append(f"held for {first - came} ns")
    # it recovers: came + 60 ms at the earliest, and a while
    time.sleep(.2)
    h.send()
    again = h.bts(2 * MS)
    h.send(3)
    h.held_until("recovered", again + 2 * MS, 3, after=again)
    expect("in order", h.received(h.next), list(range(h.next)))
    h.close()


def full():
    """As many destinations as there are slots; one more passes, as without hold"""
    h = Port("maxpause 1s", "holdshare 100")
    sh(f"ip -n {h.h1.name} link set eth0 arp off; "
       f"ip -n {h.h1.name} route add 198.51.100.0/24 dev eth0")
    quotes = []
    for i in range(SLOTS + 1):
        h.udp.sendto(b"far", (f"198.51.100.{i + 1}", DPORT))
    h.capture()
    quotes = [p for p in h.packets if p.proto == 17 and p.out and p.dport == DPORT][-SLOTS - 1:]
    for q in quotes[:SLOTS]:
        h.bts(500 * MS, q)
    h.counters("all taken", hold_slots=SLOTS, hold_full=0, hold_pauses=SLOTS)
    last = h.bts(9 * MS, quotes[SLOTS])
    h.counters("one too many", hold_slots=SLOTS, hold_full=1)
    for i in range(SLOTS + 1):
        h.udp.sendto(b"far", (f"198.51.100.{i + 1}", DPORT))
    h.capture()
    passed = [p for p in h.packets if p.proto == 17 and p.out and p.when > last]
    expect("passes", [p.raw[16:20] for p in passed],
           [socket.inet_aton(f"198.51.100.{SLOTS + 1}")])
    h.counters("held", hold_pkts=SLOTS)
    # when the first is over and empty there is room
    poll(lambda: not h.stat("qlen"), "released")
    h.bts(MS, quotes[SLOTS])
    h.counters("room again", hold_full=1, hold_pauses=SLOTS + 1, hold_released=SLOTS, qlen=0)
    h.close()


def banded():
    """With bands, each packet waits for its own; what was queued is swept from all of them"""
    for what, change in ("as they were", ""), ("one is gone", "bands 1"):
        h = Port("rate 1mbit", "bands 2", "maxpause 1s", "holdshare 100")
        h.h1.sysctl("ipv6.conf.all.disable_ipv6", 1)
        h.send()
        quote = h.left()[-1]
        # behind it in both bands, and what goes elsewhere
        for band, to in (1, 1), (2, 1), (2, 2):
            h.udp.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 0x10000 + band)
            h.send(3, to=to)
        came = h.bts(100 * MS, quote)
        expect(f"{what}: elsewhere", h.received(3, to=2), [7, 8, 9])
        h.counters(f"{what}: held", hold_held=6, hold_pkts=6, qlen=6)
        expect(f"{what}: bands", [(b["qlen"], b["backlog"]) for b in h.stat("band")], [(0, 0)] * 2)
        if change:
            h.tc(f"qdisc change dev eth0 handle 1: root sfc {change}")
        numbers = h.received(7)
        expect(f"{what}: when", [p.when >= came + 100 * MS for p in h.left()], [False] + [True] * 6)
        if change:
            expect(f"{what}: in order", numbers, list(range(7)))
        else:
            # they take turns
            expect(f"{what}: each in order", (sorted(numbers), [n for n in numbers if n < 4],
                                              [n for n in numbers if n >= 4]),
                   (list(range(7)), [0, 1, 2, 3], [4, 5, 6]))
            expect(f"{what}: sent", [b["sent"] for b in h.stat("band")], [4, 6])
        h.counters(f"{what}: counters", hold_pkts=0, qlen=0, backlog=0, drops=0)
        h.close()


# --- its neighbours ---

def off():
    """nohold, the default: BTS about UDP is nobody's business, and goes on"""
    h = Port("nohold")
    h.send()
    h.refused("nohold", None, MS, h.left()[-1])
    h.send()
    expect("passes", len(h.left()), 2)
    h.close()


def turned_off():
    """nohold under traffic: what is held goes at once, in order; hold again: works again"""
    h = Port("maxpause 1s", "holdshare 100")
    h.send()
    came = h.bts(900 * MS)
    h.send(20)
    h.tc("qdisc change dev eth0 handle 1: root sfc nohold")
    h.send(5)
    expect("in order", h.received(26), list(range(26)))
    expect("at once", h.left()[-1].when < came + 500 * MS, True)
    h.counters("counters", hold_held=20, hold_released=20, hold_pkts=0, qlen=0, backlog=0, drops=0)
    h.tc("qdisc change dev eth0 handle 1: root sfc hold")
    h.send()
    came = h.bts(2 * MS)
    h.send(3)
    h.held_until("again", came + 2 * MS, 3, after=came)
    h.close()


def changed():
    """Another option in the middle of a pause: it lasts"""
    h = Port()
    h.send()
    came = h.bts(9 * MS)
    h.send(3)
    h.tc("qdisc change dev eth0 handle 1: root sfc ttl 9 minttl 3")
    h.held_until("changed", came + 9 * MS, 3, after=came)
    h.close()


def below():
    """Below prio and htb: their qlen and backlog are those of what is held and queued"""
    for kind, setup in (("prio", ("qdisc add dev eth0 root handle 10: prio bands 2 "
                                  "priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",)),
                        ("htb", ("qdisc add dev eth0 root handle 10: htb default 1",
                                 "class add dev eth0 parent 10: classid 10:1 htb rate 10gbit "
                                 "burst 100kb cburst 100kb quantum 1600"))):
        h = Port(qdisc="none")
        for words in setup:
            h.tc(words)
        h.tc("qdisc add dev eth0 parent 10:1 handle 1: sfc nobolt hold")
        for what in ("released", "turned off", "shrunk", "deleted"):
            start = h.next
            h.send()
            came = h.bts(9 * MS)
            h.send(7)
            q = h.qdiscs()
            for k in ("sfc", kind):
                expect(f"{k}: held", (q[k]["qlen"], q[k]["backlog"]), (7, 7 * (SIZE + 42)))
            left = 8
            if what == "released":
                h.held_until(kind, came + 9 * MS, 7, after=came)
            elif what == "turned off":
                h.tc("qdisc change dev eth0 parent 10:1 handle 1: sfc nohold")
            elif what == "shrunk":
                h.tc("qdisc change dev eth0 parent 10:1 handle 1: sfc limit 1514b")
                expect(f"{kind}: shrunk", h.stat("qlen", kind), 6)
                left = 7
                h.tc("qdisc change dev eth0 parent 10:1 handle 1: sfc limit 1mb")
            else:
                h.tc("qdisc replace dev eth0 parent 10:1 handle 2: pfifo")
                left = 1
            expect(f"{kind}, {what}: come", len(h.received(left)), left)
            expect(f"{kind}, {what}: qlen", (h.stat("qlen", kind), h.stat("backlog", kind)), (0, 0))
            if what == "turned off":
                h.tc("qdisc change dev eth0 parent 10:1 handle 1: sfc hold")
            h.next = start + 8
        h.close()


def two_ports():
    """Two ports of a host: the one that the quoted flow left by holds it"""
    h = Port()
    a, b = h.h1.name, h.h2.name
    sh(f"ip link add name eth1 netns {a} type veth peer name eth1 netns {b}; "
       f"ip -n {a} link set eth1 up; ip -n {b} link set eth1 up; "
       f"ip -n {a} addr add 203.0.113.1/24 dev eth1; ip -n {b} addr add 203.0.113.2/24 dev eth1;"
       f"tc -n {a} qdisc add dev eth1 root sfc nobolt hold")
    h.send()
    h.bts(5 * MS)
    h.send(2)
    h.counters("eth0", hold_held=2, hold_bts=1, hold_stale=0)
    out = subprocess.run(["tc", "-n", a, "-s", "-j", "qdisc", "show", "dev", "eth1"],
                         capture_output=True, text=True, check=True).stdout
    expect("eth1", json.loads(out)[0]["hold_bts"], 0)
    # the other one goes, the hooks stay
    h.tc("qdisc del dev eth1 root")
    h.received(3)
    h.send()
    came = h.bts(2 * MS)
    h.send(2)
    h.held_until("still", came + 2 * MS, 2, after=came)
    h.close()


def goes():
    """Packets are held when the qdisc, the link, the device or the namespace goes"""
    for how in ("qdisc", "replace", "down", "device", "namespace"):
        h = Port("maxpause 1s", "holdshare 100")
        h.send()
        h.bts(900 * MS)
        h.send(20)
        expect(f"{how}: held", h.stat("hold_pkts"), 20)
        if how == "qdisc":
            h.tc("qdisc del dev eth0 root")
        elif how == "replace":
            h.tc("qdisc replace dev eth0 root handle 5: sfc nobolt hold")
        elif how == "down":
            sh(f"ip -n {h.h1.name} link set eth0 down; ip -n {h.h1.name} link set eth0 up")
            h.counters("down and up", qlen=0, backlog=0, hold_pkts=0, hold_slots=0)
        elif how == "device":
            sh(f"ip -n {h.h1.name} link del eth0")
        if how in ("qdisc", "replace", "down"):
            poll(lambda: working(h), f"{how}: works again")
        h.close()
        if how in ("namespace", "device"):
            bolt_ctl.undo.remove(f"ip netns del {h.h1.name}")
            sh(f"ip netns del {h.h1.name}")
        for ns in (h.h1.name, h.h2.name):
            if f"ip netns del {ns}" in bolt_ctl.undo:
                bolt_ctl.undo.remove(f"ip netns del {ns}")
                sh(f"ip netns del {ns}")
        poll(lambda: not subprocess.run("rmmod sch_sfc", shell=True, check=False,
                                        capture_output=True).returncode, f"{how}: unloading")
        sh(f"insmod {os.environ['BOLT_MODULES']}/sch_sfc.ko")


def working(h):
    h.udp.sendto(bytes(8), (h.ip[1], DPORT))
    return heard(h.sink[0])


# --- the whole loop ---

def incast(options):
    """Two hosts send UDP at line rate to a third.  Returns (peak of the switch's queue, bytes)."""
    ns = {n: Namespace(n) for n in ("a", "b", "r", "c")}
    name = {n: x.name for n, x in ns.items()}
    for i, n in enumerate("abc"):
        sh(f"ip link add name eth0 netns {name[n]} type veth peer name r{n} netns {name['r']};"
           f"ip -n {name[n]} link set lo up; ip -n {name[n]} link set eth0 up;"
           f"ip -n {name['r']} link set r{n} up;"
           f"ip -n {name[n]} addr add 10.0.{i}.1/24 dev eth0;"
           f"ip -n {name['r']} addr add 10.0.{i}.254/24 dev r{n};"
           f"ip -n {name[n]} route add default via 10.0.{i}.254")
    ns["r"].sysctl("ipv4.ip_forward", 1)
    sh(f"tc -n {name['r']} qdisc add dev rc root sfc rate 100mbit nobolt sfc edge")
    for n in "ab":
        sh(f"tc -n {name[n]} qdisc add dev eth0 root sfc rate 100mbit nobolt {options}")
    socks = {}
    with ns["c"]:
        socks["c"] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        socks["c"].setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
        socks["c"].bind(("10.0.2.1", DPORT))
        socks["c"].settimeout(10)
    for i, n in enumerate("ab"):
        with ns[n]:
            socks[n] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            socks[n].setsockopt(socket.SOL_SOCKET, 32, 1 << 26)
            socks[n].bind((f"10.0.{i}.1", SPORT))
            # so that the switch knows all its neighbours
            socks[n].sendto(b"hello", ("10.0.2.1", DPORT))
            socks["c"].recv(100)
    for i in range(100):
        for n in "ab":
            socks[n].sendto(struct.pack("!cI", n.encode(), i) + bytes(1467), ("10.0.2.1", DPORT))
    got = {b"a": [], b"b": []}
    for _ in range(200):
        who, i = struct.unpack_from("!cI", socks["c"].recv(2000))
        got[who].append(i)
    for n, numbers in got.items():
        expect(f"from {n}: in order", numbers, list(range(100)))
    out = {n: json.loads(subprocess.run(
        ["tc", "-n", name[n], "-s", "-j", "qdisc", "show", "dev", dev], capture_output=True,
        text=True, check=True).stdout)[0] for n, dev in (("r", "rc"), ("a", "eth0"), ("b", "eth0"))}
    for s in socks.values():
        s.close()
    for x in ns.values():
        x.close()
    return out


def end_to_end():
    """The queue of the switch falls, at no loss of time"""
    without = incast("nohold")
    expect("without: BTS", without["r"]["bts_sent"] > 0, True)
    # two at 100 Mb/s into one: half of what was sent waits here
    expect("without: peak", without["r"]["backlog_peak"] > 90 * 1514, True)
    with_ = incast("hold holdshare 100")
    for n in "ab":
        expect(f"{n} is told", with_[n]["hold_bts"] > 0, True)
        expect(f"{n} holds", with_[n]["hold_held"] > 10, True)
        expect(f"{n} lets go", with_[n]["hold_released"], with_[n]["hold_held"])
        expect(f"{n} believes all", (with_[n]["hold_refused"], with_[n]["hold_stale"]), (0, 0))
    # qth is four packets, and a BTS goes out for the fifth; two senders have one on the way each
    peak = with_["r"]["backlog_peak"]
    if peak > 8 * 1514:
        failures.append(f"with hold: {peak} bytes, without {without['r']['backlog_peak']}")
    expect("drops", with_["r"]["drops"] + with_["a"]["drops"], 0)
    print(f"    # peak of the switch: {peak} bytes; without hold {without['r']['backlog_peak']}")


TESTS = [exact, exact_ipv6, replaced, without_packets, clamped, nobody_else, fragments, segmented,
         queued_before, banded, not_in_the_queue, limit, limit_lowered, every_byte, forged, stale,
         watchdog, full, off, turned_off, changed, below, two_ports, goes, end_to_end]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
