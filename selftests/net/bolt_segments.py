#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Feedback about packets with a segment routing header (RFC 8754) reaches their sender.

	H1 ---- S  s2 ---- R ---- H2	1 MB goes from H1 to R and there on to H2; s2, on the way to R, has sfc

A socket asks for the header (RFC 3542), as a route with seg6 would.  Such a packet's destination is
the next segment, not the connection's peer, so the host has to find the connection by the last
segment that a message quotes.  A BTS about it must neither be cacheable nor cached: the sender
chose the segments.
"""

import json
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import TCP_CONGESTION, Namespace, expect, expect_that, packed, poll, sh, siphash24

SIZE = 1000000
CACHEABLE = 1
LINKS = ("h1", "eth0", 1, "s", "s1"), ("s", "s2", 2, "r", "r1"), ("r", "r2", 3, "h2", "eth0")
H1, H2, SEGMENT = "2001:db8:1::1", "2001:db8:3::2", "2001:db8:2::2"
KEY = bytes(range(16))


def address(text):
    return socket.inet_pton(socket.AF_INET6, text)


def routed(segments):
    """The header by SEGMENTS, the first in front: the last place is the destination's (RFC 8754, section 2)"""
    places = [bytes(16)] + [address(s) for s in reversed(segments)]
    n = len(places)
    return struct.pack("!BBBBBBH", 0, 2 * n, 4, n - 1, n - 1, 0, 0) + b"".join(places)


class Path:
    def __init__(self, sfc, cc):
        self.hosts = {name: Namespace(name) for name in ("h1", "s", "r", "h2")}
        self.cc = cc
        name = {host: ns.name for host, ns in self.hosts.items()}
        for a, dev_a, net, b, dev_b in LINKS:
            sh(f"ip link add name {dev_a} netns {name[a]} type veth peer name {dev_b} netns {name[b]}")
            for host, dev, n in ((a, dev_a, 1), (b, dev_b, 2)):
                sh(f"ip -n {name[host]} link set lo up; ip -n {name[host]} link set {dev} up; "
                   f"ip -n {name[host]} addr add 2001:db8:{net}::{n}/64 dev {dev} nodad")
                self.hosts[host].sysctl(f"ipv6.conf.{dev}.seg6_enabled", 1)
        for host, via in (("h1", "1::2"), ("s", "2::2"), ("r", "2::1"), ("h2", "3::1")):
            sh(f"ip -n {name[host]} route add default via 2001:db8:{via}")
            self.hosts[host].sysctl("ipv6.conf.all.seg6_enabled", 1)
            self.hosts[host].sysctl("ipv6.conf.all.forwarding", 1)
        # a router drops super-packets with the header where it has to split them
        sh(f"ip -n {name['h1']} link set eth0 gso_max_segs 1; tc -n {name['s']} qdisc add dev s2 root sfc rate 100mbit {sfc}")

    def send(self, segments):
        """The counters of H1 that 1 MB by way of the segments has moved"""
        with self.hosts["h2"], socket.create_server((H2, 5001), family=socket.AF_INET6) as listener:
            listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, self.cc)
            with self.hosts["h1"]:
                sock = socket.socket(socket.AF_INET6)
            before = self.hosts["h1"].stats()
            sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, self.cc)
            if segments:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RTHDR, routed(segments))
            sock.connect((H2, 5001))
            peer, _ = listener.accept()
        sock.setblocking(False)
        left = SIZE
        got = 0
        while got < SIZE:
            if left:
                try:
                    left -= sock.send(bytes(left))
                except BlockingIOError:
                    pass
            got += len(peer.recv(65536))
        sock.close()
        peer.close()
        after = self.hosts["h1"].stats()
        return {k: after[k] - before[k] for k in after}

    def close(self):
        for ns in self.hosts.values():
            ns.close()


def heard(sfc, cc, message, sysctl=None):
    """By any number of segments that a message can quote, all that is sent is believed"""
    path = Path(sfc, cc)
    if sysctl:
        path.hosts["h1"].sysctl(sysctl, 1)
    for segments in [], [SEGMENT], ["2001:db8:1::2", SEGMENT], ["2001:db8:1::2", SEGMENT, "2001:db8:3::1"]:
        moved = path.send(segments)
        expect(f"{len(segments)}: without a socket", moved["CtlNoSocket"], 0)
        expect_that(f"{len(segments)}: {message}", moved[message] > 20, moved)
    path.close()


def src():
    heard("bolt", b"bolt", "SrcDec")


def bts():
    heard("nobolt pause", b"cubic", "BtsRx", "bolt.sfc")


def not_cacheable():
    """Other switches remember no pause for the last segment, which is not what is congested: the sender chose it"""
    path = Path(f"nobolt pause edge switchkey {KEY.hex()}", b"cubic")
    path.hosts["h1"].sysctl("bolt.sfc", 1)
    with path.hosts["h1"]:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x86dd))
    tap.setblocking(False)
    for segments, want in ([], {CACHEABLE}), ([SEGMENT], {0}):
        path.send(segments)
        flags = set()
        try:
            while True:
                packet = tap.recv(60)
                if packet[6] == socket.IPPROTO_UDP and packet[42:44] == bolt_ctl.PORT.to_bytes(2, "big"):
                    flags.add(packet[50] & CACHEABLE)
        except BlockingIOError:
            pass
        expect(f"by way of {segments}: cacheable", flags, want)
    tap.close()
    path.close()


def learnt(path):
    """What S's port towards H1 has learnt, and refused"""
    out = subprocess.run(["tc", "-n", path.hosts["s"].name, "-s", "-j", "qdisc", "show", "dev", "s1"], capture_output=True, text=True, check=True)
    (q,) = json.loads(out.stdout)
    return q["cache_learned"], q["cache_refused"]


def not_learnt():
    """... and a switch that is told of one all the same, under the switches' key, refuses it"""
    path = Path("nobolt", b"cubic")
    sh(f"tc -n {path.hosts['s'].name} qdisc add dev s1 root sfc nobolt pause cache link 10gbit switchkey {KEY.hex()}")
    with path.hosts["r"], socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as switch:
        switch.bind(("::", bolt_ctl.PORT))
        for segments, want in ([SEGMENT], (0, 1)), ([], (1, 1)):
            header = bytes([socket.IPPROTO_TCP]) + routed(segments)[1:8] + address(H2) + routed(segments)[24:] if segments else b""
            quote = struct.pack("!IHBB", 6 << 28, len(header) + 20, 43 if segments else socket.IPPROTO_TCP, 64)
            quote += address(H1) + address(segments[0] if segments else H2) + header + struct.pack("!HHI", 1000, 2000, 1)
            message = packed(quote, type=2, tx=0, number=5000000, flags=CACHEABLE) + struct.pack("!QI", time.time_ns(), 1)
            switch.sendto(message + struct.pack("!Q", siphash24(KEY, message)), (H1, bolt_ctl.PORT))
            poll(lambda want=want: sum(learnt(path)) == sum(want), f"by way of {segments}: heard")
            expect(f"by way of {segments}: learnt, refused", learnt(path), want)
    path.close()


TESTS = [src, bts, not_cacheable, not_learnt]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
