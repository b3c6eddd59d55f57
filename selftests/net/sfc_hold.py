#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""SFC for flows that are not TCP: sfc_hold, at a host's port, holds what a BTS has paused.

	H1 eth0 (sfc_hold) ---- eth0 H2

UDP leaves H1, and is captured where it leaves, behind the qdisc.  BTS quote a captured packet and
come from H2.  Packets of the paused flow must wait exactly as long as the BTS says, all others must
pass, and nothing may be lost, doubled or overtaken.  All times are of the guest's virtual clock.
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
from bolt_ctl import SUBRTT, Namespace, expect, failures, packed, poll, sh
from lib_pause import MS, SLACK, Tap

SPORT, DPORT = 1000, 2000
SIZE = 200
IP_TOS, IPV6_TCLASS, IP_TTL = 1, 67, 2
UDP_SEGMENT = 103
FLOWS = 200         # in 64 sets of four: a tenth finds no room
KEY = bytes(range(16))
COUNTERS = ("held_pkts", "held_bytes", "paused", "bts", "pauses", "pause_ns", "clamped", "full", "trips", "ignored",
            "held", "released", "refused", "oversize", "stale")


class Port(Tap):
    """H1 with an sfc_hold, and H2; the datagrams of one flow are numbered.  @rate is the link's, as
    htb above makes it; @child is below; @key is whose BTS are believed"""

    def __init__(self, *options, family=4, rate=None, child=None, qdisc=True, key="notagkey"):
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
            # no link-local address, whose duplicate detection sends a packet up to a second later
            sh(f"ip -n {ns} link set lo up; ip -n {ns} link set eth0 addrgenmode none up")
            for ip in ips:
                sh(f"ip -n {ns} addr add {ip}/{length} dev eth0 {nodad}")
        with self.h2:
            self.sink = [self.bound(ip, DPORT) for ip in self.ip[1:]]
            self.switch = self.bound(self.ip[1], bolt_ctl.PORT)
        with self.h1:
            self.udp = self.bound(self.ip[0], SPORT)
        # neighbours are known before anything is counted
        for n in (1, 2):
            self.udp.sendto(b"hello", (self.ip[n], DPORT))
            self.sink[n - 1].settimeout(10)
            self.sink[n - 1].recv(100)
        self.at = "parent 10:1" if rate else "root"
        if rate:
            # it saves nothing up but for a bit
            self.tc("qdisc add dev eth0 root handle 10: htb default 1")
            self.tc("class add dev eth0 parent 10: classid 10:1 htb "
                    f"rate {rate} burst 1b cburst 1b quantum 1600")
        if qdisc:
            self.tc(f"qdisc add dev eth0 {self.at} handle 1: sfc_hold {' '.join(options)} {key}")
        if child:
            self.tc(f"qdisc add dev eth0 parent 1:1 handle 2: {child}")
        self.open_tap()
        self.next, self.got = 0, []

    def bound(self, ip, port):
        s = socket.socket(self.af, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
        s.setsockopt(socket.SOL_SOCKET, 32, 1 << 26)    # SO_SNDBUFFORCE
        s.bind((ip, port))
        return s

    def close(self):
        for s in (*self.sink, self.switch, self.udp, self.tap):
            s.close()
        self.h1.close()
        self.h2.close()

    def tc(self, words):
        sh(f"tc -n {self.h1.name} {words}")

    def change(self, words):
        self.tc(f"qdisc change dev eth0 {self.at} handle 1: sfc_hold {words}")

    def qdiscs(self):
        out = subprocess.run(["tc", "-n", self.h1.name, "-s", "-j", "qdisc", "show", "dev", "eth0"],
                             capture_output=True, text=True, check=True).stdout
        return {q["kind"]: q | q.get("options", {}) for q in json.loads(out)}

    def bands(self, *names):
        """Of each band, these statistics"""
        out = subprocess.run([SUBRTT, "-j", "-n", self.h1.name, "qdisc", "eth0"],
                             capture_output=True, text=True, check=True).stdout
        return [tuple(b[n] for n in names) for b in json.loads(out)[0]["sfc"]["band"]]

    def stat(self, name, kind="sfc_hold"):
        return self.qdiscs()[kind][name]

    def counters(self, what, kind="sfc_hold", **want):
        have = self.qdiscs()[kind]
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
        """It moves that counter and nothing else, holds nothing, and is not answered"""
        before = self.qdiscs()["sfc_hold"]
        (by or self.switch).sendto(self.message(pause, quote, **changes),
                                   (self.ip[0], bolt_ctl.PORT))
        after = self.qdiscs()["sfc_hold"]
        moved = {k: after[k] - before[k] for k in COUNTERS if after[k] != before[k]}
        expect(what, moved, {counter: 1} if counter else {})
        self.capture()
        expect(f"{what}: answered", sum(p.out and p.proto == 1 for p in self.packets), 0)


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
    h.counters("counters", bts=4, pauses=4, pause_ns=16399999, held=36,
               released=36, held_pkts=0, held_bytes=0, clamped=0, qlen=0, backlog=0,
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
    h.counters("counters", bts=8, pauses=4, qlen=0, drops=0)
    h.close()


def without_packets():
    """A pause in which nothing is sent holds nothing; one of 0, of nobody paused, is none"""
    h = Port()
    h.send()
    quote = h.left()[-1]
    h.bts(0, quote)
    h.counters("none", bts=1, pauses=0, paused=0)
    came = h.bts(2 * MS, quote)
    h.counters("paused", paused=1)
    time.sleep(0.003)
    h.counters("over", paused=0)
    h.send()
    expect("passes", len(h.left(after=came)), 1)
    h.counters("counters", held=0, pauses=1)
    h.close()


def shorter_beside_longer():
    """The pause of one flow is not that of another which is paused for longer"""
    h = Port()
    h.send()
    h.send(to=2)
    longer, shorter = h.left()[-1], h.left(2)[-1]
    h.bts(9 * MS, longer)
    h.send(3)
    came = h.bts(MS, shorter)
    h.send(3, to=2)
    h.held_until("shorter", came + MS, 3, to=2, after=came)
    h.close()


def clamped():
    """maxpause is the longest"""
    h = Port("maxpause 3ms")
    h.send()
    came = h.bts(1000 * MS)
    h.send(2)
    h.held_until("asked for a second", came + 3 * MS, 2, after=came)
    h.counters("counters", clamped=1, pause_ns=3 * MS)
    h.close()


# --- whom ---

def nobody_else():
    """Another destination, another flow to this one, another DSCP, TCP and ICMP pass"""
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
    expect("TCP", sum(p.proto == 6 and p.out for p in h.packets) >= 3, True)
    expect("ICMP", sum(p.proto == 1 and p.out for p in h.packets), 1)
    expect("another flow", [p.raw[p.l4:p.l4 + 2] for p in h.left(1, came) if p.when < came + 9 * MS],
           [struct.pack("!H", SPORT), struct.pack("!H", SPORT + 1)])
    h.counters("held", held=4, qlen=4)
    h.held_until("the rest", came + 9 * MS, 4, after=came + 8 * MS)
    listener.close()
    other.close()
    h.close()


def behind_many():
    """What waits behind hundreds of packets of a paused flow does not wait for its end"""
    h = Port(rate="100mbit")
    h.send()
    quote = h.left()[-1]
    h.send(200)
    h.send(to=2)
    came = h.bts(9 * MS, quote)
    poll(lambda: h.left(2, came), "another flow's")
    expect("in time", h.left(2, came)[0].when < came + 2 * MS, True)
    expect("all", sorted(h.received(201)), list(range(201)))
    h.close()


def in_turn():
    """What was held and what others have queued leave in turn"""
    h = Port("limit 4mb", rate="8mbit")
    h.send()
    h.bts(MS)
    h.send(5)
    h.send(100, to=2)
    poll(lambda: len(h.left(2)) == 100 and len(h.left(1)) == 6, "all leave")
    # four of them within the pause, and one for each that was held
    expect("not behind all others", h.left(1)[-1].when < h.left(2)[20].when, True)
    h.close()


def vrf():
    """What comes in by another VRF is about another flow, of the same addresses"""
    h = Port()
    a, b = h.h1.name, h.h2.name
    sh(f"ip link add name eth1 netns {a} type veth peer name eth1 netns {b}; ip -n {a} link add red type vrf table 10; "
       f"ip -n {a} link set red up; ip -n {a} link set eth0 master red; ip -n {b} link set eth1 up; ip -n {a} link set eth1 up; "
       f"ip -n {a} addr add {h.ip[0]}/24 dev eth1")
    h.h1.sysctl("ipv4.udp_l3mdev_accept", 1)
    h.udp.close()
    with h.h1:
        h.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        h.udp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"red")
        h.udp.bind((h.ip[0], SPORT))
    h.send()
    quote = h.left()[-1]
    sh(f"ip -n {b} route add {h.ip[0]} dev eth1")
    h.bts(9 * MS, quote)
    h.counters("of another", bts=0, pauses=0, refused=0, stale=0)
    sh(f"ip -n {b} route del {h.ip[0]}")
    h.bts(9 * MS, quote)
    h.counters("of the same", bts=1, pauses=1)
    h.close()


def fragments():
    """Datagrams longer than the MTU, of whichever flow their fragments are, do not wait"""
    for family in (4, 6):
        h = Port(family=family)
        h.send()
        came = h.bts(4 * MS)
        for size in (100, 4000, 100, 8000, 3000):
            h.send(size=size)
        h.counters("packets", held=2)
        h.held_until(f"IPv{family}", came + 4 * MS, 2, after=came + 3 * MS)
        expect("those that are whole are last", h.received(6), [0, 2, 4, 5, 1, 3])
        h.close()


def segmented():
    """A super-packet is held segment by segment, or as it is"""
    for child, n in (("sfc nobolt split-gso", 10), ("sfc nobolt no-split-gso", 1), (None, 1)):
        h = Port(child=child)
        h.send()
        h.bts(4 * MS)
        h.udp.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
        data = b"".join(struct.pack("!I", i) + random.Random(i).randbytes(SIZE - 4)
                        for i in range(1, 11))
        h.udp.sendto(data, (h.ip[1], DPORT))
        h.counters(child, held=n, qlen=n)
        expect("in order", h.received(11), list(range(11)))
        h.counters("counters", qlen=0, backlog=0, drops=0, released=n)
        h.close()


# --- the queue ---

def queued_before():
    """What the port had queued when the BTS came is held as well; others close up"""
    h = Port(rate="1mbit")          # 242 bytes take 1.936 ms
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
    poll(lambda: h.stat("held") == 9, "the link asks for the next one")
    h.counters("held", held=9, held_pkts=9, held_bytes=9 * (SIZE + 42))
    expect("in order", h.received(10), [*range(0, 7), 10, 11, 12])
    first = h.left(1, came + SLACK)[0].when
    expect("at the end", 0 <= first - came - 9 * MS <= SLACK, True)
    # a link that has been idle saves nothing up; htb's burst of a byte is 8 us
    gaps = [b.when - a.when for a, b in zip(h.left(1, came + SLACK), h.left(1, came + SLACK)[1:])]
    gaps[0] += 8000
    if not all(1936000 - SLACK <= g <= 1936000 + SLACK for g in gaps):
        failures.append(f"gaps {gaps}")
    h.close()


def storm():
    """A BTS after another, each of which begins a pause: a packet is looked at once"""
    n = 4000
    h = Port("limit 4mb", rate="8mbit")
    h.send(n)
    poll(h.left, "the first leaves")
    for _ in range(40):
        h.bts(300000)
        time.sleep(0.0005)
    stat = h.qdiscs()["sfc_hold"]
    expect("pauses", stat["pauses"], 40)
    if not n - 10 <= stat["held"] <= n:
        failures.append(f"{stat['held']} times a packet was held")
    # what asks for nothing, or is over when a packet is looked at, holds nothing
    for pause in (0, 1) * 5:
        h.bts(pause)
    expect("held for nothing", h.stat("held"), stat["held"])
    expect("in order", h.received(n), list(range(n)))
    h.counters("all were let go", held=h.stat("released"), held_pkts=0, drops=0)
    h.close()


def not_in_the_queue():
    """What is held is in qlen and backlog, not in the queue that is congested, marked, or told of"""
    h = Port(child="sfc nobolt link 1mbit pause qth 1000b qtg 100b ecn 1000b suppress off")
    h.send()
    h.bts(9 * MS)
    h.send(30, tos=2)
    h.send(3, to=2, tos=2)
    h.counters("held", held_pkts=30, qlen=30, backlog=30 * (SIZE + 42))
    h.counters("below", "sfc", ecn_marked=0, bts_sent=0, qlen=0)
    expect("peak", h.stat("backlog_peak", "sfc") <= 3 * (SIZE + 42), True)
    poll(lambda: h.stat("released") == 30, "released")
    expect("in order", h.received(31), list(range(31)))
    h.close()


def not_told():
    """A port does not tell its own host to pause what it would hold itself"""
    h = Port(rate="1mbit", child="sfc nobolt link 1mbit pause qth 1000b qtg 100b ecn 1000b suppress off")
    h.send(31, tos=2)
    # the first five meet less
    h.counters("told", "sfc", bts_sent=0)
    expect("in order", h.received(31), list(range(31)))
    h.counters("marked", "sfc", ecn_marked=25)
    h.close()


def limit():
    """What is held has all but an eighth of the limit: what finds no room is dropped, and others pass"""
    h = Port(f"limit {10 * (SIZE + 42) + 1000}b")
    h.send()
    h.bts(9 * MS)
    h.send(20)
    h.counters("full", held=12, held_pkts=12, drops=8, qlen=12)
    h.send(1, to=2)
    expect("another flow", h.received(1, to=2), [21])
    h.counters("passes", drops=8)
    expect("the first of them", h.received(13), list(range(13)))
    h.counters("counters", qlen=0, backlog=0, released=12)
    h.close()


def limit_lowered():
    """What is held stays, nothing more comes in"""
    h = Port("limit 1mb")
    h.send()
    h.bts(9 * MS)
    h.send(20)
    h.change("limit 2000b")
    h.send(5)
    h.counters("full", drops=5, qlen=20, held_pkts=20, backlog=20 * (SIZE + 42))
    expect("what was held", h.received(21), list(range(21)))
    h.counters("counters", qlen=0, backlog=0, drops=5)
    h.close()


def every_byte():
    """Pauses of any length, some packets queued, some held: all come, in order"""
    for options in ({"rate": "20mbit"}, {}, {"rate": "50mbit", "child": "sfc nobolt"}):
        h = Port("limit 100mb", "share 100", **options)
        rng = random.Random(7)
        h.send()
        quote = h.left()[-1]
        for _ in range(300):
            h.send(rng.randrange(8), size=rng.choice((50, 200, 1000, 1400)))
            if rng.random() < .5:
                h.bts(rng.choice((0, 20000, 100000, 300000, 2 * MS)), quote)
            time.sleep(rng.randrange(300) / 1e6)
        got = h.received(h.next)
        # of a thousand numbers, the first that is out of place
        expect(f"{options}: not in order", [p for p in enumerate(got) if p[0] != p[1]][:1], [])
        poll(lambda: not h.stat("qlen"), "empty")
        q = h.qdiscs()["sfc_hold"]
        expect("released", q["released"], q["held"])
        expect("held at times", q["held"] > 100, True)
        expect("left over", (q["backlog"], q["drops"], q["held_bytes"]), (0, 0, 0))
        h.close()


# --- bad input ---

def forged():
    """Forged, stale, oversized: counted, and nothing else"""
    h = Port("minttl 60", key=f"tagkey {KEY[::-1].hex()},{KEY.hex()}")
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
    h.refused("no tag", "refused", MS, quote)
    h.refused("another key", "refused", MS, quote, key=bytes(16))
    h.refused("somebody else's packet", "refused", MS, quoting(a=(12, ip("192.0.2.9"))),
              key=KEY)
    h.refused("multicast", "refused", MS, quoting(a=(16, ip("224.0.0.9"))), key=KEY)
    h.refused("a destination never sent to", "stale", MS, quoting(a=(16, ip("192.0.2.9"))),
              key=KEY)
    h.refused("another port", "stale", MS, quoting(a=(20, b"\1\1")), key=KEY)
    h.refused("another protocol", "stale", MS, quoting(a=(9, b"\x84")), key=KEY)
    h.refused("another DSCP", "stale", MS, quote, key=KEY, dscp=10)
    h.refused("more than a second", "oversize", 1000 * MS + 1, quote, key=KEY)
    # not of an sfc_hold
    h.refused("about TCP", None, MS, quoting(a=(9, b"\x06")), key=KEY)
    h.refused("cut off", None, MS, quote, key=KEY, more=b"x")
    h.refused("SRC", None, MS, quote, key=KEY, type=1, tx=5)
    h.refused("from another port than the control port", None, MS, quote, key=KEY,
              by=h.sink[0])

    h.switch.setsockopt(socket.IPPROTO_IP, IP_TTL, 59)
    h.refused("TTL", "refused", MS, quote, key=KEY)
    h.switch.setsockopt(socket.IPPROTO_IP, IP_TTL, 60)
    with h.h2:
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    msg = h.message(MS, quote, key=KEY)
    before, errors = h.qdiscs()["sfc_hold"], csum_errors(h)
    raw.sendto(struct.pack("!HHHH", bolt_ctl.PORT, bolt_ctl.PORT, 8 + len(msg), 0xabcd) + msg,
               (h.ip[0], 0))
    expect("checksum", csum_errors(h) - errors, 1)
    after = h.qdiscs()["sfc_hold"]
    expect("checksum: counted", [k for k in COUNTERS if after[k] != before[k]], [])
    raw.close()
    h.send()
    h.counters("nothing held", held=0, pauses=0, bts=0)
    # and one that is right in everything
    h.bts(MS, other, key=KEY)
    h.counters("believed", pauses=1, bts=1)
    h.close()


def without_key():
    """Nobody is believed until it is said who is.  A key and "notagkey" take each other's place, and last"""
    h = Port(key="")
    h.send()
    quote = h.left()[-1]
    for words, key, believed in (("", None, False), ("", KEY, False), ("notagkey", None, True), ("minttl 1", KEY, True),
                                 (f"tagkey {KEY.hex()}", None, False), ("minttl 2", None, False), ("minttl 3", KEY, True),
                                 ("notagkey", None, True)):
        if words:
            h.change(words)
        h.refused(f"{words}, tag {key}", "bts" if believed else "refused", 0, quote, key=key)
    h.close()


def segments():
    """Whoever routes a packet by a congested port says what it quotes: a BTS with a segment routing header holds nothing"""
    h = Port(family=6)
    h.send()
    quote = h.left()[-1].quote()
    header = struct.pack("!BBBBI", socket.IPPROTO_UDP, 2, 4, 1, 0) + quote[24:40]
    h.refused("on the way to another segment", None, MS,
              quote[:6] + bytes([43]) + quote[7:24] + socket.inet_pton(socket.AF_INET6, "2001:db8::9") + header + quote[40:])
    h.bts(MS, quote)
    h.counters("as it is", pauses=1, bts=1)
    h.close()


def csum_errors(h):
    """Datagrams that UDP has refused"""
    with h.h1, open("/proc/self/net/snmp", encoding="ascii") as f:
        names, values = [line.split() for line in f if line.startswith("Udp:")]
    return int(values[names.index("InCsumErrors")])


def stale():
    """A flow silent for more than a second has nothing in flight"""
    h = Port()
    h.send()
    quote = h.left()[-1]
    time.sleep(1)
    h.bts(MS, quote)
    h.counters("a second", pauses=1, stale=0)
    time.sleep(.1)
    h.refused("more", "stale", MS, quote)
    h.send()
    h.bts(MS, quote)
    h.counters("sent again", pauses=2)
    h.close()


def watchdog():
    """A storm of pauses: 30 % of 200 ms, then BTS are ignored for 200 ms"""
    h = Port("share 30")
    h.send()
    quote = h.left()[-1]
    came = h.bts(9 * MS, quote)
    h.send(1)
    for _ in range(40):
        time.sleep(.005)
        h.bts(9 * MS, quote)
        h.send(1)
    q = h.qdiscs()["sfc_hold"]
    expect("trips", q["trips"], 1)
    expect("granted", q["pause_ns"], 60 * MS)
    expect("ignored", q["ignored"] >= 20, True)
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


def tripped():
    """... during a pause, as where its share has been lowered: that ends, and what it will not last is taken back"""
    h = Port()
    h.send()
    quote = h.left()[-1]
    came = h.bts(9 * MS, quote)
    h.send(2)
    time.sleep(.005)
    h.change("share 1")
    again = h.bts(9 * MS, quote)
    h.held_until("tripped", again, 2, after=came)
    h.counters("counters", bts=2, pauses=1, trips=1, ignored=1)
    expect("granted", abs(h.stat("pause_ns") - (again - came)) <= SLACK, True)
    h.close()


def full():
    """As many flows as there is room for, and some that find none: those pass, as without sfc_hold"""
    h = Port("maxpause 1s", "share 100", "limit 10mb")
    sh(f"ip -n {h.h1.name} link set eth0 arp off; "
       f"ip -n {h.h1.name} route add 198.51.100.0/24 dev eth0")
    h.send()
    head = bytearray(h.left()[-1].quote())

    def send(pause):
        """A packet of each flow, and a BTS about it; returns how many packets have left"""
        for i in range(FLOWS):
            ip, port = f"198.51.100.{i % 250 + 1}", DPORT + i // 250
            h.udp.sendto(b"far", (ip, port))
            head[16:20], head[22:24] = socket.inet_aton(ip), struct.pack("!H", port)
            if pause:
                h.switch.sendto(h.message(pause, bytes(head)), (h.ip[0], bolt_ctl.PORT))
            if i % 100 == 99:
                h.capture()
        return sum(p.proto == 17 and p.out and p.raw[16:19] == bytes((198, 51, 100)) for p in h.packets)

    def heard():
        q = h.qdiscs()["sfc_hold"]
        return q["pauses"] + q["full"] + q["stale"] == FLOWS

    sent = send(900 * MS)
    expect("sent", sent, FLOWS)
    poll(heard, "all BTS")
    q = h.qdiscs()["sfc_hold"]
    expect("some find no room", 0 < q["full"] < FLOWS // 4, True)
    paused = FLOWS - q["full"] - q["stale"]
    h.counters("the others", paused=paused, bts=paused, refused=0)
    expect("pass", send(0) - sent, FLOWS - paused)
    h.counters("held", held_pkts=paused)
    # when they are over and empty there is room
    poll(lambda: not h.stat("qlen"), "released")
    h.counters("released", released=paused, qlen=0, backlog=0)
    h.send()
    h.bts(MS)
    h.counters("room again", full=q["full"], pauses=paused + 1)
    h.close()


def banded():
    """Of a child with bands: what was queued is held whichever band it is in, and keeps their turns"""
    h = Port("maxpause 1s", "share 100", rate="1mbit", child="sfc nobolt bands 2")
    h.h1.sysctl("ipv6.conf.all.disable_ipv6", 1)
    h.send()
    quote = h.left()[-1]
    # behind it in both bands, and what goes elsewhere
    for band, to in (1, 1), (2, 1), (2, 2):
        h.udp.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 0x20000 + band)
        h.send(3, to=to)
    came = h.bts(100 * MS, quote)
    expect("elsewhere", h.received(3, to=2), [7, 8, 9])
    poll(lambda: h.stat("held") == 6, "held")
    h.counters("held", held_pkts=6, qlen=6)
    expect("bands", h.bands("qlen", "backlog"), [(0, 0)] * 2)
    numbers = h.received(7)
    expect("when", [p.when >= came + 100 * MS for p in h.left()], [False] + [True] * 6)
    expect("each in order", (sorted(numbers), [n for n in numbers if n < 4],
                             [n for n in numbers if n >= 4]),
           (list(range(7)), [0, 1, 2, 3], [4, 5, 6]))
    expect("sent", h.bands("sent"), [(4,), (6,)])
    h.counters("counters", held_pkts=0, qlen=0, backlog=0, drops=0)
    h.close()


# --- its neighbours ---

def off():
    """Without an sfc_hold a BTS about UDP is nobody's business, and goes on"""
    h = Port(qdisc=False)
    h.tc("qdisc add dev eth0 root sfc nobolt")
    with h.h1:
        ctl = h.bound(h.ip[0], bolt_ctl.PORT)
    h.send()
    h.bts(MS)
    expect("passed on", heard(ctl), True)
    ctl.close()
    h.send()
    expect("passes", len(h.left()), 2)
    h.close()


def another_child():
    """What waits in the child goes with it, what is held does not"""
    h = Port("maxpause 1s", "share 100", rate="8kbit")
    h.h1.sysctl("ipv6.conf.all.disable_ipv6", 1)
    h.send()
    h.bts(900 * MS)
    h.send(3)
    h.send(1, to=2)
    poll(lambda: len(h.left(2)) == 1, "the other one")
    h.send(5, to=2)
    h.counters("before", held_pkts=3, qlen=8)
    h.tc("qdisc add dev eth0 parent 1:1 handle 2: pfifo")
    h.counters("after", held_pkts=3, qlen=3, backlog=3 * (SIZE + 42))
    expect("above", (h.stat("qlen", "htb"), h.stat("backlog", "htb")), (3, 3 * (SIZE + 42)))
    h.tc("qdisc del dev eth0 parent 1:1 handle 2:")
    h.tc("class change dev eth0 parent 10: classid 10:1 htb rate 1gbit burst 1mb cburst 1mb quantum 1600")
    h.tc("qdisc add dev eth0 parent 1:1 handle 3: sfc nobolt")
    h.send(2)
    expect("in order", h.received(6), [0, 1, 2, 3, 10, 11])
    h.counters("counters", held_pkts=0, qlen=0, backlog=0, released=5)
    h.close()


def changed():
    """Another option in the middle of a pause: it lasts"""
    h = Port()
    h.send()
    came = h.bts(9 * MS)
    h.send(3)
    h.change("limit 1mb minttl 3")
    h.held_until("changed", came + 9 * MS, 3, after=came)
    h.close()


def below():
    """Below prio and htb: their qlen and backlog are those of what is held and queued"""
    for kind, setup in (("prio", ("qdisc add dev eth0 root handle 10: prio bands 2 "
                                  "priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",)),
                        ("htb", ("qdisc add dev eth0 root handle 10: htb default 1",
                                 "class add dev eth0 parent 10: classid 10:1 htb rate 10gbit "
                                 "burst 100kb cburst 100kb quantum 1600"))):
        h = Port(qdisc=False)
        for words in setup:
            h.tc(words)
        h.tc(f"qdisc add dev eth0 parent 10:1 handle 1: sfc_hold notagkey limit {10 * (SIZE + 42) + 1000}b")
        for what in ("released", "deleted"):
            h.send()
            came = h.bts(9 * MS)
            # the last eight find no room
            h.send(20)
            q = h.qdiscs()
            for k in ("sfc_hold", kind):
                expect(f"{k}: held", (q[k]["qlen"], q[k]["backlog"]), (12, 12 * (SIZE + 42)))
            left = 13
            if what == "released":
                h.held_until(kind, came + 9 * MS, 12, after=came)
            else:
                h.tc("qdisc replace dev eth0 parent 10:1 handle 2: pfifo")
                left = 1
            expect(f"{kind}, {what}: come", len(h.received(left)), left)
            expect(f"{kind}, {what}: qlen", (h.stat("qlen", kind), h.stat("backlog", kind)), (0, 0))
        h.close()


def two_ports():
    """Two ports of a host: the one that the quoted flow left by holds it, and each goes by its own key"""
    h = Port()

    def of(dev):
        out = subprocess.run(["tc", "-n", a, "-s", "-j", "qdisc", "show", "dev", dev], capture_output=True, text=True, check=True)
        return {k: v for k, v in json.loads(out.stdout)[0].items() if k in ("bts", "stale", "refused")}
    a, b = h.h1.name, h.h2.name
    sh(f"ip link add name eth1 netns {a} type veth peer name eth1 netns {b}; "
       f"ip -n {a} link set eth1 up; ip -n {b} link set eth1 up; "
       f"ip -n {a} addr add 203.0.113.1/24 dev eth1; ip -n {b} addr add 203.0.113.2/24 dev eth1;"
       f"tc -n {a} qdisc add dev eth1 root sfc_hold notagkey")
    h.send()
    h.bts(5 * MS)
    h.send(2)
    h.counters("eth0", held=2, bts=1, stale=0)
    expect("eth1", of("eth1"), {"bts": 0, "stale": 1, "refused": 0})
    keys = bytes(16), KEY
    for dev, key in zip(("eth0", "eth1"), keys):
        h.tc(f"qdisc change dev {dev} root sfc_hold tagkey {key.hex()}")
    for key, *want in (keys[0], (2, 0, 0), (0, 1, 1)), (keys[1], (2, 1, 0), (0, 1, 2)):
        h.bts(5 * MS, key=key)
        expect(f"key {key.hex()}", [tuple(of(dev).values()) for dev in ("eth0", "eth1")], want)
    h.tc("qdisc change dev eth0 root sfc_hold notagkey")
    # the other one goes, the hooks stay
    h.tc("qdisc del dev eth1 root")
    h.received(3)
    h.send()
    came = h.bts(2 * MS)
    h.send(2)
    h.held_until("still", came + 2 * MS, 2, after=came)
    h.close()


def refused_by_one():
    """What one port refuses, the others would as well: they do not look at it, unless they are told otherwise"""
    h = Port(key=f"tagkey {KEY.hex()}")
    a, b = h.h1.name, h.h2.name
    sh(f"ip link add name eth1 netns {a} type veth peer name eth1 netns {b}; "
       f"ip -n {a} link set eth1 up; ip -n {b} link set eth1 up; "
       f"ip -n {a} addr add 203.0.113.1/24 dev eth1; ip -n {b} addr add 203.0.113.2/24 dev eth1; "
       f"tc -n {a} qdisc add dev eth1 root sfc_hold tagkey {KEY.hex()}")

    def counts(*names):
        out = (subprocess.run(["tc", "-n", a, "-s", "-j", "qdisc", "show", "dev", dev], capture_output=True, text=True, check=True)
               for dev in ("eth0", "eth1"))
        return [tuple(json.loads(o.stdout)[0][n] for n in names) for o in out]
    h.send()
    quote = h.left()[-1]
    head = bytearray(quote.quote())
    head[12:16] = socket.inet_aton("192.0.2.9")
    h.bts(MS, quote)
    expect("no tag", counts("refused"), [(1,), (0,)])
    h.bts(MS, quote, key=bytes(16))
    expect("another key", counts("refused"), [(2,), (0,)])
    h.bts(MS, bytes(head), key=KEY)
    expect("somebody else's packet", counts("refused"), [(3,), (0,)])
    h.bts(1000 * MS + 1, quote, key=KEY)
    expect("oversize", counts("refused", "oversize"), [(3, 1), (0, 0)])
    h.bts(0, quote, key=KEY)
    expect("a true one", counts("bts", "stale"), [(1, 0), (0, 1)])
    # the first believes less than the other
    h.change("minttl 65")
    h.bts(0, quote, key=KEY)
    expect("TTL", counts("refused", "stale"), [(4, 0), (0, 2)])
    h.bts(MS, bytes(head), key=KEY)
    expect("somebody else's packet, still", counts("refused"), [(5,), (0,)])
    h.tc("qdisc change dev eth1 root sfc_hold minttl 65")
    h.bts(0, quote, key=KEY)
    expect("TTL of both", counts("refused", "stale"), [(6, 0), (0, 2)])
    # one that comes later
    h.tc("qdisc del dev eth1 root")
    h.tc(f"qdisc add dev eth1 root sfc_hold tagkey {KEY.hex()}")
    h.bts(0, quote, key=KEY)
    expect("of a new one", counts("refused", "stale"), [(7, 0), (0, 1)])
    h.close()


def taken():
    """Somebody else has the port: no sfc_hold without ears, nor a change to that port"""
    h = Port(qdisc=False)
    with h.h1:
        other = h.bound(h.ip[0], bolt_ctl.PORT)
    words = f"tc -n {h.h1.name} qdisc add dev eth0 root handle 1: sfc_hold notagkey"
    out = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
    expect("refused", (out.returncode != 0, "the control port cannot be opened" in out.stderr), (True, True))
    sh(f"{words} port 5000")
    out = subprocess.run(f"{words.replace('add', 'change')} port {bolt_ctl.PORT} minttl 7", shell=True,
                         capture_output=True, text=True, check=False)
    expect("refused", (out.returncode != 0, "the control port cannot be opened" in out.stderr), (True, True))
    expect("as it was", (h.stat("port"), h.stat("minttl")), (5000, 0))
    other.close()
    h.change(f"port {bolt_ctl.PORT}")
    h.send()
    came = h.bts(2 * MS)
    h.send(3)
    h.held_until("heard", came + 2 * MS, 3, after=came)
    # and the other port is free again
    with h.h1:
        h.bound(h.ip[0], 5000).close()
    h.close()


def ctl_rx(h):
    with h.h1, open("/proc/self/net/bolt_stat", encoding="ascii") as f:
        return {k: int(v) for k, v in (line.split() for line in f) if k.startswith("Ctl")}


def shared():
    """tcp_bolt hears on the same port: each has its own, whoever comes and goes first"""
    for first in ("tcp_bolt", "sfc_hold"):
        h = Port(qdisc=False)
        add = "qdisc add dev eth0 root handle 1: sfc_hold notagkey"
        if first == "sfc_hold":
            h.tc(add)
        h.h1.sysctl("bolt.sfc", 1)
        if first == "tcp_bolt":
            h.tc(add)
        before = ctl_rx(h)
        h.send()
        quote = h.left()[-1]
        came = h.bts(2 * MS, quote)
        h.send(3)
        h.held_until(f"{first} first", came + 2 * MS, 3, after=came)
        expect(f"{first} first: not tcp_bolt's", ctl_rx(h), before)
        # about TCP: not sfc_hold's
        head = bytearray(quote.quote())
        head[9] = 6
        h.refused("about TCP", None, MS, bytes(head))
        expect("tcp_bolt's", ctl_rx(h)["CtlRx"], before["CtlRx"] + 1)
        # it moves; sfc_hold stays
        h.h1.sysctl("bolt.port", 5000)
        came = h.bts(2 * MS, quote)
        h.send(2)
        h.held_until("alone", came + 2 * MS, 2, after=came)
        h.h1.sysctl("bolt.port", bolt_ctl.PORT)
        h.tc("qdisc del dev eth0 root")
        h.bts(MS, quote)
        expect("without sfc_hold", ctl_rx(h)["CtlQuote"], before["CtlQuote"] + 1)
        left = len(h.left())
        h.send()
        expect("passes", len(h.left()), left + 1)
        h.close()


def goes():
    """Packets are held when the qdisc, the link, the device or the namespace goes"""
    for how in ("qdisc", "replace", "down", "device", "namespace"):
        h = Port("maxpause 1s", "share 100")
        h.send()
        h.bts(900 * MS)
        h.send(20)
        expect(f"{how}: held", h.stat("held_pkts"), 20)
        if how == "qdisc":
            h.tc("qdisc del dev eth0 root")
        elif how == "replace":
            h.tc("qdisc replace dev eth0 root handle 5: sfc_hold")
        elif how == "down":
            sh(f"ip -n {h.h1.name} link set eth0 down; ip -n {h.h1.name} link set eth0 up")
            h.counters("down and up", qlen=0, backlog=0, held_pkts=0, paused=0)
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

def incast(hold):
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
    sh(f"tc -n {name['r']} qdisc add dev rc root sfc rate 100mbit nobolt pause edge tagkey {KEY.hex()}")
    for n in "ab":
        sh(f"tc -n {name[n]} qdisc add dev eth0 root handle 1: htb default 1;"
           f"tc -n {name[n]} class add dev eth0 parent 1: classid 1:1 htb rate 100mbit burst 1b cburst 1b quantum 1600;"
           f"tc -n {name[n]} qdisc add dev eth0 parent 1:1 {hold}")
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
        text=True, check=True).stdout)[-1] for n, dev in (("r", "rc"), ("a", "eth0"), ("b", "eth0"))}
    for s in socks.values():
        s.close()
    for x in ns.values():
        x.close()
    return out


def end_to_end():
    """The queue of the switch falls, at no loss of time"""
    without = incast("pfifo")
    expect("without: BTS", without["r"]["bts_sent"] > 0, True)
    # two at 100 Mb/s into one: half of what was sent waits here
    expect("without: peak", without["r"]["backlog_peak"] > 90 * 1514, True)
    with_ = incast(f"sfc_hold share 100 tagkey {KEY.hex()}")
    for n in "ab":
        expect(f"{n} is told", with_[n]["bts"] > 0, True)
        expect(f"{n} holds", with_[n]["held"] > 10, True)
        expect(f"{n} lets go", with_[n]["released"], with_[n]["held"])
        expect(f"{n} believes all", (with_[n]["refused"], with_[n]["stale"]), (0, 0))
    # qth is four packets, and a BTS goes out for the fifth; two senders have one on the way each
    peak = with_["r"]["backlog_peak"]
    if peak > 8 * 1514:
        failures.append(f"with hold: {peak} bytes, without {without['r']['backlog_peak']}")
    expect("drops", with_["r"]["drops"] + with_["a"]["drops"], 0)
    print(f"    # peak of the switch: {peak} bytes; without sfc_hold {without['r']['backlog_peak']}")


TESTS = [exact, exact_ipv6, replaced, without_packets, shorter_beside_longer, clamped, nobody_else, behind_many, in_turn,
         vrf, fragments, segmented, queued_before, storm, banded, not_in_the_queue, not_told, limit, limit_lowered, every_byte,
         forged, without_key, segments, stale,
         watchdog, tripped, off, another_child, changed, below, two_ports, refused_by_one, taken, shared, goes, end_to_end]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS, also=[full]))
