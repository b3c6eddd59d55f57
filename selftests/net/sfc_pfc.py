#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""PFC between ports of sfc and their neighbours: PAUSE frames sent, heeded and refused.

	H1 eth0 ---- r1  R  r2 ---- eth0 H2
	             sfc    sfc

H1 sends UDP to H2 by hand, and both hear every frame of their link.  XOFF, its repetitions and XON
must be right to the byte and to the nanosecond, and a frame that is heeded must stop its priority
for as long as it says and no other.  A mistake stops a link for good or drops what was to be
lossless.  A veth is a link of 10 Gb/s; r2 shapes.  All times are of the guest's virtual clock.
"""

import errno
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import Namespace, checksum, expect, expect_that, packed, poll, sh, siphash24, undo

US, MS = 1000, 1000000
SO_TIMESTAMPNS = 35
GROUP = bytes.fromhex("0180c2000001")
FULL = 65535
# 512 bit times at 10 Gb/s are 51.2 ns; half of the longest pause
HALF = FULL * 512 // 10 // 2
SIZE = 1514
# A timer of the guest, and the softirq behind it
SLACK = 20 * US


def ipv4(length, proto, tos, dst="198.51.100.1", ttl=64):
    """The header of a packet of H1, with so many bytes in all"""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, tos, length, 0, 0x4000, ttl, proto, 0, socket.inet_aton("192.0.2.1"), socket.inet_aton(dst))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:]


def udp(tos=0, size=SIZE, sport=1000, dport=2000):
    """A packet of H1 to H2, as frame"""
    length = size - 14
    return ipv4(length, 17, tos) + struct.pack("!HHHH", sport, dport, length - 20, 0) + bytes(length - 28)


def bare_ack(tos=0):
    """A pure ACK of H1 to H2, as packet"""
    return ipv4(40, 6, tos) + struct.pack("!HHIIBBHHH", 1000, 2000, 1, 1, 5 << 4, 0x10, 60000, 0, 0)


def pause(quanta, prios=(3,), opcode=0x0101, length=46):
    """The body of a PAUSE frame"""
    vector = sum(1 << p for p in prios)
    times = [quanta if p in prios else 0 for p in range(8)]
    return struct.pack("!HH8H", opcode, vector, *times).ljust(46, b"\0")[:length]


class Tap:
    """Every frame that comes to a host's device, and a way to send one"""

    def __init__(self, ns, dev="eth0"):
        with ns:
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self.sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)    # SO_RCVBUFFORCE
            self.sock.bind((dev, 3))
            self.mac = self.sock.getsockname()[4]
        self.sock.setblocking(False)
        self.frames = []

    def hear(self, kind):
        """(when, frame) of each that has come in, of an ethertype"""
        while True:
            try:
                data, control, _, addr = self.sock.recvmsg(2000, 64)
            except BlockingIOError:
                break
            if addr[2] != 4:
                sec, nsec = struct.unpack("=qq", control[0][2])
                self.frames.append((sec * 10**9 + nsec, data))
        return [f for f in self.frames if f[1][12:14] == struct.pack("!H", kind)]

    def pauses(self):
        return self.hear(0x8808)

    def data(self, tos=None):
        return [f for f in self.hear(0x800) if f[1][23] == 17 and f[1][36:38] == b"\x07\xd0" and
                tos in (None, f[1][15])]

    def messages(self):
        """Control messages"""
        return [f for f in self.hear(0x800) if f[1][23] == 17 and f[1][36:38] == struct.pack("!H", bolt_ctl.PORT)]

    def send(self, to, kind, body):
        def sent():
            try:
                return self.sock.send(to + self.mac + struct.pack("!H", kind) + body)
            except BlockingIOError:     # 6.1: what was sent before has not been received yet
                return 0
        poll(sent, "sent")


def quiet(name):
    """A namespace whose devices send nothing of their own, such as reports of IPv6's groups, when they come up"""
    ns = Namespace(name)
    ns.sysctl("ipv6.conf.default.disable_ipv6", 1)
    return ns


class Router:
    """R, and its neighbours; @into and @out are the sfc of its ports"""

    def __init__(self, into, out, more="", far=None, queues=1):
        self.h1, self.r, self.h2 = quiet("h1"), quiet("r"), quiet("h2")
        a, r, b = self.h1.name, self.r.name, self.h2.name
        self.s = s = None
        if far:
            self.s = quiet("s")
            s = self.s.name
            self.link(r, "r2", "203.0.113.1", s, "s1", "203.0.113.2")
        self.link(a, "eth0", "192.0.2.1", r, "r1", "192.0.2.254")
        self.link(s or r, "s2" if far else "r2", "198.51.100.254", b, "eth0", "198.51.100.1", queues)
        if far:
            sh(f"ip -n {r} route add default via 203.0.113.2; ip -n {s} route add default via 203.0.113.1; "
               f"ip netns exec {s} sysctl -qw net.ipv4.ip_forward=1; "
               f"tc -n {s} qdisc add dev s2 root handle 1: sfc nobolt {far}")
        with self.r:
            sh("sysctl -qw net.ipv4.ip_forward=1")
        self.one, self.two = Tap(self.h1), Tap(self.h2)
        self.mac = {dev: self.address(dev) for dev in ("r1", "r2")}
        if more:
            sh(more.format(r=r))
        for dev, options in (("r1", into), ("r2", out)):
            if options is not None:
                self.tc(f"qdisc add dev {dev} root handle 1: sfc nobolt {options}")

    @staticmethod
    def link(a, dev_a, ip_a, b, dev_b, ip_b, queues=1):
        """Both ends know each other's address"""
        sh(f"ip link add name {dev_a} netns {a} numtxqueues {queues} type veth peer name {dev_b} netns {b} numrxqueues {queues}")
        for ns, dev, ip in ((a, dev_a, ip_a), (b, dev_b, ip_b)):
            sh(f"ip -n {ns} link set lo up; ip -n {ns} addr add {ip}/24 dev {dev}; ip -n {ns} link set {dev} up")
        for ns, dev, ip, to, at in ((a, dev_a, ip_b, b, dev_b), (b, dev_b, ip_a, a, dev_a)):
            sh(f"ip -n {ns} neigh add {ip} dev {dev} nud permanent lladdr "
               f"$(ip -n {to} -j link show dev {at} | jq -r '.[0].address')")

    def far(self, words):
        sh(f"tc -n {self.s.name} qdisc change dev s2 root handle 1: sfc {words}")

    def address(self, dev):
        out = subprocess.run(["ip", "-n", self.r.name, "-j", "link", "show", "dev", dev], capture_output=True,
                             text=True, check=True).stdout
        return bytes.fromhex(json.loads(out)[0]["address"].replace(":", ""))

    def close(self):
        for x in (self.one.sock, self.two.sock, self.h1, self.r, self.h2, *([self.s] if self.s else [])):
            x.close()

    def tc(self, words):
        sh(f"tc -n {self.r.name} {words}")

    def change(self, dev, words):
        self.tc(f"qdisc change dev {dev} root handle 1: sfc {words}")

    def stats(self, dev):
        out = subprocess.run(["tc", "-n", self.r.name, "-s", "-j", "qdisc", "show", "dev", dev], capture_output=True,
                             text=True, check=True).stdout
        (q,) = [q for q in json.loads(out) if q["kind"] == "sfc"]
        return q | q.get("options", {})

    def counters(self, what, dev, **want):
        have = self.stats(dev)
        expect(what, {k: have.get(k) for k in want}, want)

    def send(self, n=1, tos=96, **fields):
        """Packets of H1 to H2; TOS 96 is DSCP 24, so priority 3"""
        for _ in range(n):
            self.one.send(self.mac["r1"], 0x800, udp(tos=tos, **fields))

    def told(self, quanta, **fields):
        """H2 tells r2"""
        self.two.send(GROUP, 0x8808, pause(quanta, **fields))

    def drained(self, dev="r2"):
        poll(lambda: self.stats(dev)["qlen"] == 0, f"{dev} drains")


def near(what, got, want, slack=SLACK):
    expect_that(what, 0 <= got - want <= slack, f"{got}, not {want} to {want + slack}")


PFC = "pfc prio 0x08 xoff 4000b xon 2000b"


def wire():
    """The frame, byte by byte; what is said again, and when; XON at last"""
    r = Router(PFC, f"rate 10mbit {PFC}")
    # one leaves at once; 3 are beyond xoff, and 1 is below xon
    r.send(4)
    r.drained()
    frames = r.one.pauses()
    head = GROUP + r.mac["r1"] + bytes.fromhex("88080101")
    times = bytes(6)
    xoff, xon = [head + bytes((0, 8)) + times + struct.pack("!H", q) + bytes(8) + bytes(26) for q in (FULL, 0)]
    expect("XOFF", frames[0][1].hex(), xoff.hex())
    expect("XON", frames[-1][1].hex(), xon.hex())
    expect("all in between say the same", {f.hex() for _, f in frames[:-1]}, {xoff.hex()})
    # two packets have to leave: then 1514 bytes are left
    arrived = [t for t, _ in r.two.data()]
    near("XON", frames[-1][0], arrived[2])
    expect("said again", len(frames) - 2, (frames[-1][0] - frames[0][0]) // HALF)
    for (a, _), (b, _) in zip(frames, frames[1:-1]):
        near("in time", b - a, HALF)
    r.counters("counted", "r1", pfc_xoff=1, pfc_xon=1, pfc_refresh=len(frames) - 2, pfc_failed=0, pfc_heard=0,
               ingress_bytes=0, ingress_peak=3 * SIZE, high=len(frames))
    expect("nothing to H2", len(r.two.pauses()), 0)
    expect("packets", len(r.two.data()), 4)
    r.close()


def exact():
    """At xoff, and at xon, nothing is said; a byte makes the difference"""
    r = Router(f"pfc prio 0xff xoff {2 * SIZE}b xon {SIZE}b", f"rate 10mbit {PFC}")
    r.send(3)
    r.drained()
    expect("at xoff", len(r.one.pauses()), 0)
    r.change("r1", f"xoff {2 * SIZE - 1}b")
    r.send(3)
    r.drained()
    frames = r.one.pauses()
    expect("beyond, and below xon", [struct.unpack_from("!H", f, 24)[0] for _, f in (frames[0], frames[-1])], [FULL, 0])
    r.counters("counted", "r1", pfc_xoff=1, pfc_xon=1)
    near("XON with the last", frames[-1][0], r.two.data()[-1][0])
    r.close()


def not_sent():
    """A frame for which the port has no room is none that was sent"""
    r = Router(f"rate 10kbit limit 8000b {PFC}", f"rate 10mbit {PFC}")
    with r.r, socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        for _ in range(200):
            try:
                raw.sendto(ipv4(40, 6, 0, "192.0.2.1") + bare_ack()[20:], ("192.0.2.1", 0))
            except OSError as e:    # it is told of the drop
                expect(str(e), e.errno, errno.ENOBUFS)
    expect_that("no room", r.stats("r1")["drop_high"], r.stats("r1"))
    r.send(4)
    r.drained()
    r.counters("none", "r1", pfc_xoff=0, pfc_refresh=0, pfc_xon=0)
    expect_that("tried", r.stats("r1")["pfc_failed"] >= 2, r.stats("r1"))
    r.close()


def priorities():
    """Each has an account of its own; those without PFC are in one, and are told nothing"""
    r = Router("pfc prio 0x28 xoff 4000b", f"rate 10mbit {PFC}")
    for tos in (96, 160, 0, 224):
        r.send(2, tos=tos)
    r.counters("two of each, one has left", "r1", pfc_xoff=0, ingress_bytes=7 * SIZE, ingress_packets=7)
    r.send(1, tos=160)
    r.send(9, tos=0)
    r.drained()
    frames = r.one.pauses()
    expect("vectors", {f[17] for _, f in frames}, {0x20})
    r.counters("one", "r1", pfc_xoff=1, pfc_xon=1, ingress_bytes=0, ingress_peak=11 * SIZE)
    r.close()


def vlan():
    """What came in by a VLAN is the device's below"""
    r = Router(PFC, f"rate 10mbit {PFC}", "ip -n {r} link add link r1 name v1 type vlan id 7; ip -n {r} link set v1 up; "
               "ip -n {r} addr add 203.0.113.254/24 dev v1; sysctl -qw net.ipv4.conf.all.rp_filter=0")
    with r.r:
        sh("sysctl -qw net.ipv4.conf.v1.rp_filter=0 net.ipv4.conf.all.rp_filter=0")
    for _ in range(4):
        r.one.send(r.mac["r1"], 0x8100, struct.pack("!HH", 7, 0x800) + udp(tos=96))
    r.drained()
    expect("packets", len(r.two.data()), 4)
    r.counters("told", "r1", pfc_xoff=1, pfc_xon=1, ingress_peak=3 * SIZE)
    expect("without a tag", r.one.pauses()[0][1][12:16].hex(), "88080101")
    r.close()


def foreign(r, s):
    """The index of r1, which a device of S has as well: what that sends leaves by a VLAN of S on r2"""
    with r.r:
        number = socket.if_nametoindex("r1")
    sh(f"ip -n {r.r.name} link add link r2 name v2 type vlan id 7; ip -n {r.r.name} link set v2 netns {s.name}; "
       f"ip -n {s.name} link add d0 index {number} type dummy; ip -n {s.name} link set d0 up; ip -n {s.name} link set v2 up; "
       f"tc -n {s.name} qdisc add dev d0 clsact; "
       f"tc -n {s.name} filter add dev d0 egress matchall action mirred egress redirect dev v2")
    return number


def index():
    """The number of a device in another namespace is not that of one here"""
    r = Router(PFC, f"rate 10mbit {PFC}", "sysctl -qw net.ipv4.conf.all.rp_filter=0")
    s = quiet("s")
    number = foreign(r, s)
    tap = Tap(s, "d0")
    for _ in range(4):
        tap.send(r.two.mac, 0x800, udp(tos=96))
    r.counters("they wait", "r2", qlen=3)
    r.drained()
    r.counters("in no account", "r1", ingress_peak=0, pfc_xoff=0)
    tap.sock.close()
    # nor are those of R, since they cannot be told apart; also when the VLAN has gone, until the sfc is added anew
    r.send(4)
    r.drained()
    sh(f"ip -n {s.name} link del v2; ip -n {s.name} link del d0")
    r.send(4)
    r.drained()
    r.counters("nor what came in", "r1", ingress_peak=0, pfc_xoff=0)
    r.tc("qdisc del dev r2 root")
    r.tc(f"qdisc add dev r2 root handle 1: sfc nobolt rate 10mbit {PFC}")
    r.send(4)
    r.drained()
    r.counters("but by a new one", "r1", pfc_xoff=1)
    told, before = r.stats("r1")["ingress_peak"], len(r.two.data())
    # in by a VLAN of R, whose device is in S
    sh(f"ip -n {s.name} link add name s1 index {number} type veth peer name e1 netns {r.h1.name}; "
       f"ip -n {s.name} link add link s1 name v1 type vlan id 7; ip -n {s.name} link set v1 netns {r.r.name}; "
       f"ip -n {r.h1.name} link set e1 up; ip -n {s.name} link set s1 up; ip -n {r.r.name} link set v1 up; "
       f"ip netns exec {r.r.name} sysctl -qw net.ipv4.conf.v1.rp_filter=0; ip -n {r.r.name} addr add 203.0.113.254/24 dev v1")
    r.mac["v1"] = r.address("v1")
    tap = Tap(r.h1, "e1")
    for _ in range(16):
        tap.send(r.mac["v1"], 0x8100, struct.pack("!HH", 7, 0x800) + udp(tos=96))
    r.drained()
    expect("all arrive", len(r.two.data()) - before, 16)
    r.counters("by r1 came nothing", "r1", ingress_peak=told)
    for x in (tap.sock, s):
        x.close()
    r.close()


def vrf():
    """What came in by a device of a VRF has no ingress, so no neighbour is told to pause; what a neighbour tells is heeded"""
    r = Router(PFC, f"rate 10mbit {PFC}", "ip -n {r} link add red type vrf table 10; ip -n {r} link set red up; "
               "ip -n {r} link set r1 master red; ip -n {r} link set r2 master red")
    r.send(6)
    poll(lambda: len(r.two.data()) == 6, "all arrive")
    r.counters("in no account", "r1", pfc_xoff=0, ingress_bytes=0, ingress_peak=0)
    expect("nobody is told", len(r.one.pauses()), 0)
    r.told(FULL)
    r.send(2)
    r.counters("heeded", "r2", pfc_heard=1, pfc_paused=8)
    expect("both wait", len(r.two.data()), 6)
    r.told(0)
    poll(lambda: len(r.two.data()) == 8, "both go on")
    r.close()


def heeds():
    """A pause is as long as it says; other bands go on; ACKs and messages do"""
    r = Router(None, "rate 1gbit link 1gbit bands 2 dscp 24:1 default 2 pfc prio 0x08 xoff 1mb")
    r.told(10000)
    r.send(3)
    r.send(3, tos=0)
    r.drained()
    # 512 ns each at 1 Gb/s
    begun = min(t for t, _ in r.two.data())
    expect("others go on", len([t for t, _ in r.two.data(0) if t - begun < MS]), 3)
    first = r.two.data(96)[0][0]
    expect_that("the end of the pause", 4 * MS < first - begun <= 10000 * 512 + SLACK, first - begun)
    expect("all", len(r.two.data()), 6)
    r.counters("counted", "r2", pfc_heard=1, pfc_ignored=0, pfc_refused=0, pfc_trips=0, pfc_paused=0)
    r.close()


def fifo():
    """With one band, what is behind waits as well; a longer pause, a shorter one, and XON"""
    r = Router(None, "rate 1gbit link 1gbit pfc prio 0x09 xoff 1mb")
    r.told(FULL)
    r.send(1)
    r.send(1, tos=0)
    expect("both wait", len(r.two.data()), 0)
    r.counters("paused", "r2", qlen=2, pfc_paused=8)
    r.told(100)
    told = time.clock_gettime_ns(time.CLOCK_REALTIME)
    r.drained()
    a, b = [t for t, _ in r.two.data()]
    expect_that("the shorter pause", a - told <= 100 * 512 + SLACK, a - told)
    near("at line rate", b - a, SIZE * 8)
    r.told(FULL)
    r.send(2)
    expect("waits", len(r.two.data()), 2)
    r.told(0)
    expect("goes on at once", len(r.two.data()) >= 3, True)
    r.drained()
    r.counters("counted", "r2", pfc_heard=4, pfc_paused=0)
    r.close()


def bts_when_paused():
    """What waits for the end of a pause is a queue like any other: its senders are told (SFC, appendix A)"""
    r = Router(None, "rate 1gbit link 1gbit bands 2 dscp 24:1 default 2 pause qth 9084b qtg 1514b suppress off pfc prio 0x08 xoff 1mb")
    r.told(10000)
    r.send(3, tos=0)
    r.drained()
    expect("of another priority, in another band", len(r.one.messages()), 0)
    r.send(10)
    poll(lambda: r.stats("r2")["bts_sent"], "a BTS")
    r.drained()
    expect("BTS", len(r.one.messages()), r.stats("r2")["bts_sent"])
    r.close()


def refused():
    """What is no PFC, or not for this port, is counted and stops nobody; nor is it answered"""
    r = Router(None, "rate 1gbit link 1gbit pfc prio 0x08 xoff 1mb watchdog off")
    other = bytes.fromhex("0180c200000e")
    bad = {
        "too short by a byte": (GROUP, 0x8808, pause(FULL, length=19)),
        "two bytes": (GROUP, 0x8808, pause(FULL, length=2)),
        "the old PAUSE": (GROUP, 0x8808, pause(FULL, opcode=1)),
        "opcode": (GROUP, 0x8808, pause(FULL, opcode=0x0102)),
        "to the port": (r.mac["r2"], 0x8808, pause(FULL)),
        "another group": (other, 0x8808, pause(FULL)),
        "tag": (GROUP, 0x8100, struct.pack("!HH", 5, 0x8808) + pause(FULL)),
    }
    for n, (what, frame) in enumerate(bad.items(), 1):
        r.two.send(*frame)
        r.counters(what, "r2", pfc_refused=n, pfc_heard=0, pfc_paused=0)
    r.two.send(GROUP, 0x8808, pause(FULL, length=20))
    r.counters("just long enough", "r2", pfc_refused=len(bad), pfc_heard=1, pfc_paused=8)
    r.told(0)
    r.told(FULL, prios=(0, 1, 2, 4, 5, 6, 7))
    r.counters("other priorities", "r2", pfc_ignored=7, pfc_heard=2, pfc_paused=0)
    r.one.send(GROUP, 0x8808, pause(FULL))
    r.counters("a device without", "r2", pfc_unknown=1, pfc_heard=2)
    r.send(3)
    r.drained()
    expect("nobody waits", len(r.two.data()), 3)
    expect("no answer", (len(r.one.pauses()), len(r.two.pauses())), (0, 0))
    r.close()


def watchdog_with_acks():
    """ACKs and messages, which no pause stops, do not hold off the watchdog of what they belong to"""
    r = Router("pfc prio 0x08 xoff 1mb", "rate 1gbit link 1gbit pfc prio 0x08 xoff 1mb watchdog 50ms ignore 100ms")
    r.told(FULL)
    sent = time.time_ns()
    r.send(3)

    def storm():
        r.told(FULL)
        r.one.send(r.mac["r1"], 0x800, bare_ack(tos=96))
        return r.stats("r2")["pfc_trips"]
    poll(storm, "the watchdog")
    expect_that("stopped for so long", time.time_ns() - sent < 60 * MS, time.time_ns() - sent)
    r.counters("ACKs are in no account", "r1", ingress_peak=3 * SIZE)
    r.close()


def watchdog_of_band():
    """Priorities that share a band do not stop it in turns: behind the watchdog it ignores all pauses for so long"""
    r = Router(None, "rate 1gbit link 1gbit pfc prio 0x03 xoff 1mb watchdog 50ms ignore 100ms")

    def storm():
        for prio in 0, 1:
            r.told(FULL, prios=(prio,))
        return r.stats("r2")["qlen"] == 0

    storm()
    sent = time.time_ns()
    for tos in (0, 32) * 3:
        r.send(1, tos=tos)
    poll(storm, "the watchdog")
    last = r.two.data()[-1][0]
    expect_that("all of them stopped for so long", 0 <= last - sent - 50 * MS < MS, last - sent)
    r.counters("counted", "r2", pfc_trips=1)
    r.close()


def watchdog_of_queue():
    """Where the watchdog of one transmit queue trips, the packets of that priority in the others leave as well"""
    r = Router(None, None, queues=2)
    r.tc("qdisc add dev r2 root handle 10: mqprio num_tc 2 map 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 hw 0")
    for queue in 1, 2:
        r.tc(f"qdisc add dev r2 parent 10:{queue} sfc nobolt rate 100mbit link 100mbit pfc prio 0x08 xoff 1mb watchdog 50ms ignore 100ms")
    r.told(FULL)
    sent = time.time_ns()
    r.send(1)
    time.sleep(0.03)
    # DSCP 26, priority 3 as well; its TOS bit is for bulk data, so the other queue's
    r.send(1, tos=104)
    poll(lambda: len(r.two.data()) == 2, "both")
    late = [t - sent - 50 * MS for t, _ in r.two.data()]
    expect_that("at the same time", all(0 <= t < MS for t in late), late)
    r.close()


def watchdog_after_nopfc():
    """What has waited before PFC was turned off and on is not stuck: a later pause is as long as it says"""
    pfc = "pfc prio 0x08 xoff 1mb watchdog 20ms ignore 100ms"
    r = Router(None, f"rate 1gbit link 1gbit {pfc}")
    r.told(10000)
    r.send(2)
    r.change("r2", "nopfc")
    r.drained()
    time.sleep(0.03)
    r.change("r2", pfc)
    r.told(10000)
    r.send(1)
    r.drained()
    r.counters("it waited, and left", "r2", pfc_trips=0, pfc_ignored=0, pfc_heard=1)
    r.close()


def expired():
    """A pause of a priority that sends nothing ends by itself; PFC that is turned off stops nobody"""
    r = Router(None, "rate 1gbit link 1gbit pfc prio 0x28 xoff 1mb watchdog off")
    r.told(1, prios=(5,))
    time.sleep(0.001)
    r.counters("over, with nothing to send", "r2", pfc_paused=0)
    r.send(1)
    r.drained()
    r.counters("over", "r2", pfc_paused=0, pfc_heard=1)
    time.sleep(0.001)
    r.told(FULL)
    r.send(2)
    time.sleep(0.001)
    expect_that("waits", r.stats("r2")["qlen"] >= 2, r.stats("r2"))
    began = time.time_ns()
    r.change("r2", "nopfc")
    r.drained()
    expect_that("leaves at once", time.time_ns() - began < 20 * MS, time.time_ns() - began)
    r.close()


def watchdog():
    """A storm of pauses stops a priority for so long, then is ignored for so long"""
    r = Router(None, "rate 1gbit link 1gbit pfc prio 0x08 xoff 1mb watchdog 50ms ignore 100ms")
    # 33.5 ms each, told again and again
    r.told(FULL)
    sent = time.time_ns()
    r.send(3)
    poll(lambda: r.told(FULL) or r.stats("r2")["qlen"] == 0, "the watchdog")
    left = r.two.data()[0][0]
    expect_that("stopped for so long", 0 <= left - sent - 50 * MS < MS, left - sent)
    r.counters("counted", "r2", pfc_trips=1, pfc_paused=0)
    heard = r.stats("r2")["pfc_heard"]

    def heeded():
        before = time.time_ns()
        r.told(FULL)
        return r.stats("r2")["pfc_heard"] > heard and before

    r.send(3)
    r.told(FULL)
    expect_that("ignored", r.stats("r2")["pfc_ignored"] > 0, 0)
    r.drained()
    expect("all go on", len(r.two.data()), 6)
    at = []
    poll(lambda: at.append(heeded()) or at[-1], "heeded again")
    expect_that("ignored for so long", 0 <= at[-1] - left - 100 * MS < 3 * MS, at[-1] - left)
    # a packet that leaves is progress: pauses of less than the watchdog's time never trip it
    r.told(0)
    for _ in range(4):
        r.told(FULL)
        r.send(1)
        r.drained()
    r.counters("no more", "r2", pfc_trips=1)
    expect("packets", len(r.two.data()), 10)
    r.close()


def sfc_p():
    """SFC-P at the switch that is congested: its host hears PFC, and no BTS"""
    key = "a5" * 16
    r = Router(f"pfc prio 0x08 xoff 1mb sfc-p pause cache switchkey {key}",
               f"rate 100mbit pause qth {3 * SIZE}b qtg {SIZE}b suppress off")
    r.send(6)
    poll(r.one.pauses, "a PAUSE frame")
    frames = r.one.pauses()
    # three packets too many: 363.36 us, and a quantum is 51.2 ns
    expect("quanta", [struct.unpack_from("!H", f, 24)[0] for _, f in frames], [7097])
    expect("vector", frames[0][1][17], 8)
    r.counters("asked", "r1", sfcp_asked=1, pfc_xoff=1, pfc_xon=0, pfc_refresh=0, sfcp_refused=0)
    r.counters("no BTS", "r2", bts_sent=0)
    r.drained()
    expect("nor XON", len(r.one.pauses()), 1)
    # 0: no priority of PFC
    r.send(6, tos=0)
    r.counters("another priority", "r2", bts_sent=1)
    r.counters("of which the NIC hears nothing", "r1", sfcp_asked=1, pfc_xoff=1)
    r.drained()
    # longer than a frame can say: said again until it is over
    r.one.frames.clear()
    r.change("r2", f"rate 1mbit qtg 1b maxpause 20ms qth {3 * SIZE}b")
    r.send(6)
    r.drained()
    frames = r.one.pauses()
    expect("first", struct.unpack_from("!H", frames[0][1], 24)[0], FULL)
    last = struct.unpack_from("!H", frames[-1][1], 24)[0]
    near("all in all", frames[-1][0] + last * 512 // 10 - frames[0][0], 20 * MS)
    for (a, said), (b, _) in zip(frames, frames[1:]):
        expect_that("in time", b - a < struct.unpack_from("!H", said, 24)[0] * 512 // 10, b - a)
    # without SFC-P nothing is said again
    r.one.frames.clear()
    r.send(6)
    poll(r.one.pauses, "another PAUSE frame")
    r.change("r1", "nosfc-p")
    r.drained()
    expect("frames before", len(r.one.pauses()), 1)
    r.close()


def sfc_p_far():
    """SFC-P at the switch of a sender, by the BTS of another switch; by none that no switch has tagged"""
    key = "a5" * 16
    edge = f"rate 100mbit pause edge qth {3 * SIZE}b qtg {SIZE}b suppress off"
    r = Router(f"pfc prio 0x08 xoff 1mb sfc-p pause cache switchkey {key}", None, far=f"{edge} switchkey {key}")
    r.send(6)
    poll(r.one.pauses, "a PAUSE frame")
    frames = r.one.pauses()
    # 363.36 us less the time that the BTS took
    quanta = [struct.unpack_from("!H", f, 24)[0] for _, f in frames]
    expect_that("quanta", len(quanta) == 1 and 7097 - SLACK * 10 // 512 <= quanta[0] <= 7097, quanta)
    r.counters("asked", "r1", sfcp_asked=1, pfc_xoff=1, sfcp_refused=0, backlog=0, qlen=0, high=1, cache_learned=1)
    expect("no BTS", len(r.one.messages()), 0)
    r.far("noswitchkey")
    poll(lambda: len(r.two.data()) == 6, "all leave")
    r.send(6)
    r.counters("not tagged", "r1", sfcp_asked=1, pfc_xoff=1, sfcp_refused=1)
    expect("it goes on to the host", len(r.one.messages()), 1)
    r.close()


def sfc_p_replayed():
    """A BTS that is old, or comes from a server, goes on to the host, whatever else pauses its destination"""
    key, booted = "a5" * 16, 10**12
    r = Router(f"pfc prio 0x08 xoff 1mb sfc-p pause cache switchkey {key} maxpause 1s", "", far="limit 1mb")
    quote = udp(tos=96)[:28]

    def bts(age):
        message = packed(quote, type=2, tx=0, number=900 * MS, flags=1, dscp=24)
        message += struct.pack("!QI", booted + time.monotonic_ns() - age, 1)
        switch.sendto(message + struct.pack("!Q", siphash24(bytes.fromhex(key), message)), ("192.0.2.1", bolt_ctl.PORT))

    def told():
        q = r.stats("r1")
        return q["sfcp_asked"], q["sfcp_refused"]

    with r.s, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as switch:
        switch.bind(("203.0.113.2", bolt_ctl.PORT))
        for what, age, edge, want in (("new", 0, "noedge", (1, 0)), ("old", 4000 * MS, "noedge", (1, 1)),
                                      ("from a server", 0, "edge", (1, 2)), ("new again", 0, "noedge", (2, 2))):
            r.change("r2", edge)
            bts(age)
            poll(lambda want=want: sum(told()) == sum(want), f"{what}: has passed")
            expect(f"{what}: by PFC, not", told(), want)
        poll(lambda: len(r.one.messages()) == 2, "two go on")
        refused = r.stats("r1")["cache_refused"]
        switch.sendto(b"no message", ("192.0.2.1", bolt_ctl.PORT))
        poll(lambda: r.stats("r1")["cache_refused"] > refused, "malformed: has passed")
        expect("malformed: is no BTS", told(), (2, 2))
        # for each of more destinations than the cache has room for
        for n in range(1500):
            quote = udp(tos=96)[:16] + struct.pack("!I", 0x0a000000 + n) + udp(tos=96)[20:28]
            bts(0)
        poll(lambda: sum(told()) == 1504, "all have passed")
        expect("by PFC, all of them", told(), (1502, 2))
        expect_that("some did not fit", r.stats("r1")["cache_full"] > 0, r.stats("r1"))
    r.close()


def options():
    """What cannot be is refused by name, and changes nothing"""
    r = Router(PFC, None, "ip -n {r} link add link r1 name v1 type vlan id 7; ip -n {r} link add link r1 name m1 type macvlan; "
               "ip -n {r} link add t1 type ipip remote 192.0.2.1 local 192.0.2.254")
    for dev, words, said in (
            ("r1", "xoff 0", "pfc needs xoff"), ("r1", "xoff 17mb", "xoff is beyond limit"),
            ("r1", "xon 5000b", "xon is beyond xoff"), ("r1", "pfc prio 256", "pfc prio"),
            ("r1", "pfc prio 0", "pfc prio"), ("r1", "pfc 8", "pfc: prio and"), ("r1", "prio 8", "unknown option"), ("r1", "alpha 0", "alpha"),
            ("r1", "alpha 1/3", "alpha"), ("r1", "alpha 129", "alpha goes from"), ("r1", "alpha -1", "alpha"),
            ("r1", "buffer 1000b", "buffer is below"), ("r1", "sfc-p", "sfc-p needs pfc, pause and cache"),
            ("r1", "watchdog 5s", "watchdog"), ("v1", PFC, "the one below a VLAN"), ("m1", PFC, "or macvlan"), ("t1", PFC, "Ethernet device")):
        before = r.stats("r1")
        verb = "change" if dev == "r1" else "add"
        done = subprocess.run(f"tc -n {r.r.name} qdisc {verb} dev {dev} root handle 1: sfc {words}", shell=True,
                              capture_output=True, text=True, check=False)
        expect_that(words, done.returncode and said in done.stderr, done.stderr)
        expect(f"{words}: nothing has changed", r.stats("r1"), before)
    out = subprocess.run(["tc", "-n", r.r.name, "qdisc", "show", "dev", "r1"], capture_output=True, text=True,
                         check=True).stdout
    expect_that("shown", "pfc prio 0x08 xoff 4000b xon 2000b watchdog 200ms ignore 200ms" in out, out)
    r.close()


def devices():
    """255 of a namespace; the next is refused, until one has gone"""
    ns = Namespace("r")
    names = [f"d{i}" for i in range(256)]
    for tool, lines in (("ip", [f"link add {name} type dummy" for name in names]),
                        ("tc", [f"qdisc add dev {name} root handle 1: sfc link 10gbit {PFC}" for name in names[:-1]])):
        subprocess.run([tool, "-n", ns.name, "-batch", "-"], input="\n".join(lines), text=True, check=True)
    add = f"tc -n {ns.name} qdisc add dev {names[-1]} root sfc link 10gbit {PFC}"
    done = subprocess.run(add, shell=True, capture_output=True, text=True, check=False)
    expect_that("the next", done.returncode and "pfc: as many devices" in done.stderr, done.stderr)
    sh(f"ip -n {ns.name} link del d7; {add}")
    ns.close()


def group():
    """A device hears PAUSE frames also if it filters, as long as it has pfc"""
    ns = Namespace("r")

    def joined():
        return "01:80:c2:00:00:01" in subprocess.run(["ip", "-n", ns.name, "maddr", "show", "dev", "d0"], capture_output=True,
                                                      text=True, check=True).stdout
    tc = f"tc -n {ns.name} qdisc"
    sh(f"ip -n {ns.name} link add d0 type dummy; {tc} add dev d0 root handle 1: sfc link 10gbit")
    expect("without", joined(), False)
    for begin, end in ((f"{tc} change dev d0 root handle 1: sfc {PFC}", f"{tc} change dev d0 root handle 1: sfc nopfc"),
                       (f"{tc} change dev d0 root handle 1: sfc {PFC}", f"{tc} del dev d0 root")):
        sh(begin)
        expect(begin, joined(), True)
        sh(end)
        expect(end, joined(), False)
    # ... whose addresses are those of Ethernet, so long
    with ns, open("/dev/net/tun", "r+b", buffering=0) as tap:
        fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", b"d1", 0x1002))     # TUNSETIFF, a tap without a header
        sh(f"{tc} add dev d1 root sfc link 10gbit {PFC}")
        for begin, refused in (("true", True), (f"{tc} del dev d1 root", False)):
            sh(begin)
            try:
                fcntl.ioctl(tap, 0x400454cd, 769)                               # TUNSETLINK, ARPHRD_TUNNEL6
                expect(f"another type of device, {begin}", False, refused)
            except OSError as e:
                expect(f"another type of device, {begin}: {e}", e.errno == errno.EBUSY, refused)
    ns.close()


def changed():
    """At run time, with packets that wait: accounts follow, and so does what the neighbour is told"""
    r = Router(PFC, "rate 1mbit")
    r.send(10)
    r.counters("ports without pfc count nothing", "r1", ingress_bytes=0, pfc_xoff=0)
    r.change("r2", PFC)
    r.counters("what waits is counted", "r1", ingress_bytes=9 * SIZE)
    r.change("r1", "xoff 5000b")
    poll(lambda: r.stats("r1")["pfc_xoff"] == 1, "XOFF")
    r.change("r1", "xoff 1mb xon 900kb")
    poll(lambda: r.stats("r1")["pfc_xon"] == 1, "XON by another threshold")
    r.change("r1", "xoff 5000b xon auto")
    poll(lambda: r.stats("r1")["pfc_xoff"] == 2, "XOFF again")
    r.change("r1", "pfc prio 0x01")
    poll(lambda: r.stats("r1")["pfc_xon"] == 2, "XON: without the priority")
    r.change("r2", "nopfc")
    r.counters("not counted any more", "r1", ingress_bytes=0)
    r.change("r2", "pfc prio 1")
    r.counters("counted", "r1", ingress_bytes=9 * SIZE)
    r.change("r2", "limit 5000b xoff 5000b")
    r.counters("dropped", "r1", ingress_bytes=3 * SIZE)
    r.tc("qdisc replace dev r2 root pfifo")
    r.counters("replaced", "r1", ingress_bytes=0)
    r.change("r1", "nopfc")
    r.told(FULL)
    r.counters("off", "r1", pfc=0, ingress_bytes=0)
    r.close()


def unchanged():
    """A change leaves what is in an account as it is, and counts what comes to one"""
    there = f"buffer {64 * 2 * SIZE}b"
    r = Router(f"{PFC} buffer 1gb", f"rate 1mbit {PFC} buffer {64 * 2 * 3 * SIZE}b")
    r.send(9)
    # the buffer's account has news for the other port every third packet
    r.counters("XOFF, and as published", "r1", pfc_xoff=1, ingress_bytes=8 * SIZE, buffer_used=6 * SIZE)
    poll(lambda: r.stats("r2")["qlen"] == 4, "four have left")
    r.change("r2", "ttl 63")
    r.counters("untouched", "r1", pfc_xoff=1, pfc_xon=0, ingress_bytes=4 * SIZE, buffer_used=6 * SIZE, buffer_peak=6 * SIZE)
    # each may come and go while the other stays
    for words, ingress in (("buffer off", 4), (f"{there} nopfc", 4), ("buffer off", 0), (there, 4), (PFC, 4)):
        r.change("r2", words)
        r.counters(words, "r1", ingress_bytes=ingress * SIZE, buffer_used=0 if words == "buffer off" else 4 * SIZE)
    r.counters("they wait", "r2", qlen=4)
    r.change("r2", "rate 1gbit")
    r.drained()
    r.counters("empty", "r1", ingress_bytes=0, ingress_peak=8 * SIZE, buffer_used=0)
    r.close()


def gone():
    """Devices, qdiscs and namespaces go while frames and packets are on their way"""
    r = Router(PFC, f"rate 1mbit {PFC}")
    r.send(10)
    r.told(FULL)
    r.tc("qdisc del dev r1 root")
    r.counters("its packets still wait", "r2", qlen=9)
    sh(f"ip -n {r.r.name} link add d9 type dummy")
    r.tc(f"qdisc add dev d9 root handle 1: sfc nobolt link 1gbit {PFC}")
    r.counters("they are not another device's", "d9", ingress_bytes=0)
    r.tc(f"qdisc add dev r1 root handle 1: sfc nobolt {PFC}")
    r.send(4)
    r.counters("those of before and these", "r1", ingress_bytes=13 * SIZE, ingress_packets=13)
    sh(f"ip -n {r.r.name} link del r1")
    r.told(0)
    r.counters("r1 has gone", "r2", qlen=13)
    r.change("r2", "rate 1gbit")
    r.drained()
    r.told(FULL)
    sh(f"ip -n {r.r.name} link del r2")
    r.close()
    r = Router(PFC, f"rate 1mbit {PFC}")
    r.send(10)
    sh(f"ip -n {r.r.name} link set r1 netns {r.h1.name}")
    r.tc(f"qdisc replace dev r2 root handle 2: sfc nobolt {PFC}")
    expect("a new one", r.stats("r2")["qlen"], 0)
    r.close()


def unload():
    """The module goes at once, with a neighbour that has been told to pause and will have to be told again"""
    ko = os.path.join(os.environ.get("BOLT_MODULES", ""), "sch_sfc.ko")
    for how in ("qdisc", "device", "namespace"):
        r = Router(PFC, f"rate 1mbit {PFC}")
        r.send(10)
        r.told(FULL)
        poll(lambda r=r: r.stats("r1")["pfc_refresh"] > 0, "told again")
        if how == "qdisc":
            r.tc("qdisc del dev r1 root")
            r.tc("qdisc del dev r2 root")
        elif how == "device":
            sh(f"ip -n {r.r.name} link del r1; ip -n {r.r.name} link del r2")
        else:
            # it goes when nobody has it open any more
            r.r.close()
            sh(f"ip netns del {r.r.name}")
            undo.remove(f"ip netns del {r.r.name}")
        poll(lambda: not subprocess.run(["rmmod", "sch_sfc"], capture_output=True, check=False).returncode,
             f"unloads without its {how}")
        # a frame now is nobody's
        if how == "qdisc":
            r.told(FULL)
        sh(f"insmod {ko} 2>/dev/null || modprobe sch_sfc")
        for s in (r.one.sock, r.two.sock, r.h1, r.h2) + (() if how == "namespace" else (r.r,)):
            s.close()


def large_buffer():
    """A limit beyond 32 bits, and what of the buffer cannot be"""
    r = Router(None, "buffer 64mb alpha 64 rate 1mbit")
    r.send(100)
    r.counters("all have room", "r2", qlen=99, drop_buffer=0)
    done = subprocess.run(f"tc -n {r.r.name} qdisc change dev r2 root handle 1: sfc buffer 3gb", shell=True,
                          capture_output=True, text=True, check=False)
    expect_that("3 GB", done.returncode and "buffer goes up to 2 GB" in done.stderr, done.stderr)
    r.close()


def shaped():
    """Quanta are bit times of the link, also where the port shapes to less: the neighbour reads them so"""
    r = Router(None, "rate 1gbit link 100gbit pfc prio 0x08 xoff 1mb")
    r.told(10000)
    begun = time.clock_gettime_ns(time.CLOCK_REALTIME)
    r.send(1)
    r.drained()
    first = r.two.data(96)[0][0]
    expect_that("as at 100 Gb/s", first - begun < 10000 * 512 // 100 + MS, first - begun)
    r.counters("heard", "r2", pfc_heard=1, pfc_ignored=0)
    r.close()


def together():
    """Priorities that change at once are in one frame"""
    r = Router("pfc prio 0x28 xoff 1mb", f"rate 1mbit {PFC}")
    r.send(5)
    r.send(5, tos=160)
    r.change("r1", "xoff 4000b")
    poll(r.one.pauses, "a PAUSE frame")
    expect("both", r.one.pauses()[0][1][17], 0x28)
    r.close()


def last_configured():
    """Of several sfc at a device the last one configured counts, also when the device has changed since"""
    r = Router(None, f"rate 10mbit {PFC}")
    r.tc("qdisc add dev r1 root handle 1: prio")
    for i, xoff in (1, 2 * SIZE), (2, 100 * SIZE):
        r.tc(f"qdisc add dev r1 parent 1:{i} handle 1{i}: sfc nobolt pfc prio 0x08 xoff {xoff}b")
    sh(f"ip -n {r.r.name} link set r1 mtu 1600")
    r.send(10)
    r.drained()
    expect("PAUSE frames", len(r.one.pauses()), 0)
    # the first one counts when the last has gone
    r.tc("qdisc del dev r1 parent 1:2")
    r.send(10)
    poll(r.one.pauses, "a PAUSE frame")
    r.close()


def changed_last():
    """... also where it is not the one added last"""
    r = Router(None, f"rate 10mbit {PFC}")
    r.tc("qdisc add dev r1 root handle 1: prio")
    for i in 1, 2:
        r.tc(f"qdisc add dev r1 parent 1:{i} handle 1{i}: sfc nobolt pfc prio 0x08 xoff {2 * SIZE}b")
    r.tc(f"qdisc change dev r1 parent 1:1 handle 11: sfc pfc prio 0x08 xoff {100 * SIZE}b")
    sh(f"ip -n {r.r.name} link set r1 mtu 1600")
    r.send(10)
    r.drained()
    expect("PAUSE frames", len(r.one.pauses()), 0)
    r.close()


def link_of_the_last():
    """... and the link that it names: a device without a speed sends no frames"""
    r = Router(None, f"rate 1mbit {PFC}")
    r.tc("qdisc add dev r1 root handle 1: prio")
    r.tc(f"qdisc add dev r1 parent 1:1 handle 11: sfc nobolt link 1gbit pfc prio 0x08 xoff {2 * SIZE}b")
    r.tc(f"qdisc add dev r1 parent 1:2 handle 12: sfc nobolt link 1mbit pfc prio 0x08 xoff {2 * SIZE}b")
    sh(f"ip -n {r.r.name} link set r1 mtu 1600")
    time.sleep(.1)
    r.send(40)
    poll(r.one.pauses, "a PAUSE frame")
    # 65535 quanta are 33.6 s at 1 Mb/s, 33.6 ms at 1 Gb/s
    time.sleep(.2)
    expect("PAUSE frames", len(r.one.pauses()), 1)
    r.close()


def refused_by_the_kernel():
    """An sfc that has begun and is then refused leaves the device's PFC as it was"""
    r = Router(f"link 1gbit pfc prio 0x08 xoff {2 * SIZE}b", f"rate 1mbit {PFC}")
    done = subprocess.run(f"tc -n {r.r.name} qdisc add dev r1 parent 1:1 sfc pfc prio 0x01 xoff 1mb", shell=True,
                          capture_output=True, text=True, check=False)
    expect_that("refused", done.returncode and "no place for another qdisc" in done.stderr, done.stderr)
    r.send(6)
    poll(r.one.pauses, "a PAUSE frame")
    expect("of priority 3", r.one.pauses()[0][1][17], 0x08)
    r.close()


def buffer():
    """Dynamic thresholds: a lone port takes half, two take a third each; known to a 64th"""
    size = 64 * 2 * SIZE
    r = Router(f"buffer {size}b rate 1mbit", f"buffer {size}b rate 1mbit")
    # what has gone leaves nothing
    sh(f"ip -n {r.r.name} link add d0 type dummy; ip -n {r.r.name} link set d0 up")
    r.tc("qdisc add dev d0 root sfc buffer 1gb")
    r.tc("qdisc del dev d0 root")
    r.send(100)
    st = r.stats("r2")
    # a packet is on the wire; what the other ports know is a grain old
    expect_that("half of it", size // 2 - 3 * SIZE <= st["backlog"] <= size // 2 + SIZE, st["backlog"])
    expect_that("in use", abs(st["buffer_used"] - st["backlog"]) < SIZE, st["buffer_used"])
    expect("drops", (st["drop_buffer"], st["drop_data"]), (100 - 1 - st["qlen"],) * 2)
    expect("peak", st["buffer_peak"], st["buffer_used"])
    for _ in range(40):
        r.one.send(r.mac["r1"], 0x800, bare_ack())
    acks = r.stats("r2")
    expect("ACKs, whatever data waits", (acks["drop_high"], acks["drop_buffer"]), (0, st["drop_buffer"]))
    poll(lambda: r.stats("r2")["high"] == 40 and r.stats("r2")["qlen"] <= st["qlen"], "ACKs have left")
    st = r.stats("r2")
    r.change("r2", "alpha 1/4")
    r.counters("what is there stays", "r2", qlen=st["qlen"])
    r.send(1)
    r.counters("and nothing is added", "r2", qlen=st["qlen"], alpha="1/4")
    r.change("r2", "alpha 8")
    r.send(100)
    st = r.stats("r2")
    expect_that("eight ninths", size * 8 // 9 - 10 * SIZE <= st["backlog"] <= size * 8 // 9 + SIZE, st["backlog"])
    # full, an empty port has no room either
    r.change("r2", "alpha 128")
    r.send(100)
    drops = r.stats("r1")["drop_buffer"]
    with r.r, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(bytes(SIZE - 42), ("192.0.2.1", 9))
    r.counters("full", "r1", drop_buffer=drops + 1)
    r.change("r2", "buffer off rate 1gbit")
    r.drained()
    r.counters("empty", "r1", buffer_used=0)
    expect_that("peak", r.stats("r1")["buffer_peak"] >= st["backlog"] - SIZE, r.stats("r1")["buffer_peak"])
    r.close()


TESTS = [wire, exact, not_sent, priorities, vlan, index, heeds, fifo, bts_when_paused, refused, watchdog, watchdog_with_acks,
         watchdog_of_band, watchdog_of_queue, watchdog_after_nopfc, expired, sfc_p, sfc_p_far, sfc_p_replayed, options, devices, group, changed, unchanged, gone,
         unload, buffer, large_buffer, shaped, together,
         last_configured, changed_last, link_of_the_last, refused_by_the_kernel]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS, also=[vrf]))
