#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Random requests to sfc and sfc_hold, and random frames through them and into tcp_bolt.

	H1 (sfc_hold, sfc below; raw frames) --- r1 R r2 (sfc) --- H2

Requests come by netlink, in turns with the frames.  Under KASAN and lockdep, a bug shows as what
the kernel prints.  Besides:

- What is refused changes nothing; what is accepted can be given back as it is dumped.
- When all frames have gone, nothing waits, and a new connection works.

BOLT_FUZZ_SEED=N and BOLT_FUZZ_ROUNDS=N choose other inputs, and more; the kernel's own choices, as
of ports, do not follow from the seed.
"""

import errno
import json
import os
import random
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import TCP_CONGESTION, Namespace, checksum, expect, expect_that, failures, packed, sh, write_seq
from lib_ynl import CAP_ACK, EXT_ACK, SOL_NETLINK, attr, attrs

SEED = int(os.environ.get("BOLT_FUZZ_SEED", "1"))
ROUNDS = int(os.environ.get("BOLT_FUZZ_ROUNDS", "12"))
REQUESTS, FRAMES = 150, 400    # of a round

RTM_NEWQDISC, RTM_GETQDISC = 36, 38
REQUEST, ACK, ECHO, REPLACE, CREATE, ERROR = 1, 4, 8, 0x100, 0x400, 2
TCA_KIND, TCA_OPTIONS = 1, 2
F_NESTED = 0x8000
VNET_HDR = 15
PORT, KEY = 5001, bytes(range(16))

# Of pkt_sch_sfc.h: bytes of each attribute; a set: any of these
FLAGS, BANDS, DSCP, LEVELS = 2, 27, 30, 42
SFC = {FLAGS: 8, 3: 8, 4: 4, 5: 4, 6: 4, 7: 4, 8: 2, 9: 1, 10: 4, 11: 16, 12: {0, 16}, 13: 4, 14: 8, 15: 4, 16: 1,
       17: 4, 18: 4, 19: 4, 20: 4, 21: 4, 22: 4, 23: 4, 24: 1, 25: 1, 26: 8, BANDS: 1, 28: set(range(1, 9)), 29: 1,
       DSCP: 64, 31: set(range(1, 9)), 32: 4, 33: {0, 16, 32}, 34: 4, 35: 4, 36: 1, 37: 4, 38: 4, 39: 4, 40: 4, 41: 4,
       LEVELS: 33, 43: 4, 44: 4, 45: 4}
HOLD = {1: 4, 2: 4, 3: 1, 4: 1, 5: 2, 6: {0, 16, 32}}


class Random(random.Random):
    def number(self, size):
        """Bytes of an integer, mostly one at which something changes"""
        bits = 8 * size
        value = self.choice([0, 1, self.randrange(256), 1500, 1514, 100000, 1 << 20, 12500000, 1 << self.randrange(bits),
                             (1 << self.randrange(1, bits + 1)) - 1, self.getrandbits(bits)])
        return (value & ((1 << bits) - 1)).to_bytes(size, sys.byteorder)

    def payload(self, size):
        wrong = 0.05
        if isinstance(size, set):
            # only sfc itself knows these lengths, and refuses when it has read the rest
            size, wrong = self.choice(sorted(size)), 0.25
        if self.random() < wrong:
            size = self.choice([0, 1, size + 1, max(size - 1, 0), self.randrange(300)])
        if size in (1, 2, 4, 8):
            return self.number(size)
        if self.random() < 0.5:
            return bytes(sorted(self.randrange(3) for _ in range(size)))
        return bytes(self.choice([0, 1, 2, self.randrange(256)]) for _ in range(size))

    def options(self, sizes, most):
        """TCA_OPTIONS with some of the attributes, now and then none that there is, or twice, or nested"""
        out = b""
        for kind in self.sample(sorted(sizes), self.randrange(min(most, len(sizes)) + 1)):
            data = self.payload(sizes[kind])
            if sizes is SFC and kind == FLAGS and len(data) == 8:
                chosen = self.getrandbits(11) & ~(1 << 8)
                data = struct.pack("=II", self.getrandbits(11) & chosen, chosen)
            if sizes is SFC and kind == BANDS and self.random() < 0.8:
                data = bytes([self.randrange(1, 9)])
            odd = self.random()
            if odd < 0.01:
                kind = self.choice([0, 1, 46, 47, 0x3fff, kind | F_NESTED])
            elif odd < 0.02:
                out += attr(kind, self.payload(sizes[kind]))
            out += attr(kind, data)
        if self.random() < 0.01:
            out += self.randbytes(self.randrange(1, 40))
        return attr(TCA_OPTIONS | (F_NESTED if self.random() < 0.9 else 0), out)


class Qdiscs:
    """Those of the devices of a namespace, by netlink"""

    def __init__(self, ns):
        with ns:
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
            self.sock.settimeout(60)
            for option in CAP_ACK, EXT_ACK:
                self.sock.setsockopt(SOL_NETLINK, option, 1)
            self.index = {name: index for index, name in socket.if_nameindex()}
        self.accepted = self.refused = 0

    def ask(self, kind, flags, dev, handle, parent, body=b""):
        """The answer, or an errno below 0; 0: done"""
        tcm = struct.pack("=BxxxiIII", socket.AF_UNSPEC, self.index[dev], handle, parent, 0) + body
        self.sock.send(struct.pack("=IHHII", 16 + len(tcm), kind, REQUEST | flags, 1, 0) + tcm)
        data = self.sock.recv(1 << 16)
        if struct.unpack_from("=H", data, 4)[0] == ERROR:
            self.words = data[36:]
            return struct.unpack_from("=i", data, 16)[0]
        return data[36:]

    def dump(self, dev, handle, parent):
        answer = self.ask(RTM_GETQDISC, ECHO, dev, handle, parent)
        if isinstance(answer, int):
            raise OSError(-answer, f"no dump of {dev}")
        return b"".join(attr(k, v) for k, v in attrs(dict(attrs(answer))[TCA_OPTIONS]))

    def set(self, flags, dev, handle, parent, kind, options):
        return self.ask(RTM_NEWQDISC, ACK | flags, dev, handle, parent, attr(TCA_KIND, kind + b"\0") + options)

    def request(self, rnd, dev, handle, parent, kind, sizes):
        """One of any kind; see above"""
        before = self.dump(dev, handle, parent)
        flags = rnd.choice([0, 0, 0, CREATE | REPLACE])
        err = self.set(flags, dev, handle, parent, kind, rnd.options(sizes, rnd.choice([1, 2, 4, 12])))
        after = self.dump(dev, handle, parent)
        if err:
            self.refused += 1
            expect_that(f"refused ({err}): unchanged", after == before, f"{before.hex()} -> {after.hex()}")
            return
        self.accepted += 1
        self.give_back(dev, handle, parent, kind, after)

    def give_back(self, dev, handle, parent, kind, options, more=b""):
        err = self.set(0, dev, handle, parent, kind, attr(TCA_OPTIONS | F_NESTED, options + more))
        expect_that(f"given back: {err}", err == 0, (self.words, options.hex()))
        after = self.dump(dev, handle, parent)
        expect_that("given back: the same", after == options, f"{options.hex()} -> {after.hex()}")


class Net:
    def __init__(self):
        self.h1, self.r, self.h2 = (Namespace(name) for name in ("h1", "r", "h2"))
        names = a, r, b = self.h1.name, self.r.name, self.h2.name
        sh(f"ip link add name eth0 netns {a} type veth peer name r1 netns {r};"
           f"ip link add name r2 netns {r} type veth peer name eth0 netns {b};"
           f"ip -n {a} link set eth0 address 02:00:00:00:00:01; ip -n {r} link set r1 address 02:00:00:00:00:02")
        for ns, dev, n, host in ((a, "eth0", 1, 1), (r, "r1", 1, 254), (r, "r2", 2, 254), (b, "eth0", 2, 1)):
            sh(f"ip -n {ns} link set lo up; ip -n {ns} link set {dev} up;"
               f"ip -n {ns} addr add 192.0.{n}.{host}/24 dev {dev};"
               f"ip -n {ns} addr add 2001:db8:{n}::{host}/64 dev {dev} nodad")
        for ns, via in ((a, 1), (b, 2)):
            sh(f"ip -n {ns} route add default via 192.0.{via}.254; ip -n {ns} route add default via 2001:db8:{via}::254")
        self.r.sysctl("ipv4.ip_forward", 1)
        self.r.sysctl("ipv6.conf.all.forwarding", 1)
        for host in self.h1, self.h2:
            host.sysctl("bolt.sfc", 1)
        for ns in names:
            sh(f"ip netns exec {ns} sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv4.tcp_challenge_ack_limit=2147483647")
        sh(f"tc -n {a} qdisc add dev eth0 root handle 1: sfc_hold notagkey; tc -n {a} qdisc add dev eth0 parent 1:1 handle 2: sfc;"
           f"tc -n {r} qdisc add dev r2 root handle 3: sfc rate 100mbit")
        self.hosts, self.router = Qdiscs(self.h1), Qdiscs(self.r)
        self.ports = ((self.hosts, "eth0", 1 << 16, 0xffffffff, b"sfc_hold", HOLD),
                      (self.hosts, "eth0", 2 << 16, (1 << 16) + 1, b"sfc", SFC),
                      (self.router, "r2", 3 << 16, 0xffffffff, b"sfc", SFC))
        self.plain = [port[0].dump(*port[1:4]) for port in self.ports]
        with self.h1:
            self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            self.raw.setsockopt(263, VNET_HDR, 1)
            self.raw.setsockopt(socket.SOL_SOCKET, 32, 1 << 28)    # SO_SNDBUFFORCE
            self.raw.setblocking(False)
            self.raw.bind(("eth0", 0))
        with self.h2:
            self.listener = socket.create_server(("", PORT))

    def configure(self, rnd):
        for _ in range(REQUESTS):
            if failures:
                return
            port = rnd.choice(self.ports + self.ports[2:])
            port[0].request(rnd, *port[1:])

    def connect(self, cc):
        with self.h1:
            sock = socket.socket()
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc)
        self.listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc)
        sock.settimeout(60)
        sock.connect(("192.0.2.1", PORT))
        return sock, self.listener.accept()[0]

    def left(self):
        """What waits, in any of the three, and what it takes"""
        out = []
        for ns, dev in ((self.h1, "eth0"), (self.r, "r2")):
            said = subprocess.run(["tc", "-n", ns.name, "-s", "-j", "qdisc", "show", "dev", dev], capture_output=True, check=True)
            for q in json.loads(said.stdout):
                q |= q.get("options", {})
                out += [q[k] for k in ("qlen", "backlog", "memory_used", "held_pkts", "held_bytes") if k in q]
        return out

    def settle(self):
        """The first configuration, with which nothing stays: no PFC, no pause of more than a second"""
        for port, options in zip(self.ports, self.plain):
            # addresses of 0, and keys, are not dumped
            none = attr(10, bytes(4)) + attr(11, bytes(16)) + attr(12, b"") + attr(33, b"") if port[5] is SFC else attr(6, b"")
            port[0].give_back(*port[1:5], options, none)
        for _ in range(100):
            left = self.left()
            if not any(left):
                break
            time.sleep(0.1)
        expect_that("nothing waits", not any(left), left)
        return not any(left)

    def close(self):
        for sock in self.raw, self.listener, self.hosts.sock, self.router.sock:
            sock.close()
        for ns in self.h1, self.r, self.h2:
            ns.close()


# --- frames ---

def ip4(proto, payload, rnd, src="192.0.1.1", dst="192.0.2.1"):
    options = bytes(4 * rnd.choice([0, 0, 0, rnd.randrange(11)]))
    frag = rnd.choice([0x4000, 0x4000, 0x4000, 0, rnd.getrandbits(16)])
    head = struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, rnd.choice([0, 1, 2, rnd.randrange(256)]),
                       20 + len(options) + len(payload), rnd.getrandbits(16), frag, rnd.choice([64, 64, 1, 2]), proto, 0,
                       socket.inet_aton(src), socket.inet_aton(dst)) + options
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ip6(proto, payload, rnd, src="2001:db8:1::1", dst="2001:db8:2::1"):
    """With up to four extension headers: hop by hop, routing, fragment, destination options"""
    for kind in rnd.choices([60, 43, 44, 0], k=rnd.choice([0, 0, 0, 1, 2, 4])):
        if kind == 44:
            payload = struct.pack("!BBHI", proto, 0, rnd.choice([0, 0, 1, 8, rnd.getrandbits(16)]), 7) + payload
        elif kind == 43:
            n = rnd.randrange(1, 4)
            payload = struct.pack("!BBBBBBH", proto, 2 * n, rnd.choice([4, 4, 0, 2]), rnd.randrange(n + 1), n - 1, 0, 0) + \
                socket.inet_pton(socket.AF_INET6, dst) * n + payload
        else:
            n = rnd.randrange(4)
            payload = struct.pack("!BB", proto, n) + bytes([1, 4 + 8 * n]) + bytes(4 + 8 * n) + payload
        proto = kind
    return struct.pack("!IHBB", 6 << 28 | rnd.getrandbits(8) << 20, len(payload), proto, 64) + \
        socket.inet_pton(socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst) + payload


def tcp(rnd, sport, seq, ack):
    """Mostly within the windows"""
    if rnd.random() < 0.1:
        seq, ack = rnd.getrandbits(32), rnd.choice([ack, rnd.getrandbits(32)])
    # not an RST that is right: it would end the connection
    flags = rnd.choice([0x10, 0x10, 0x18, 0x02, 0x12, 0x11, rnd.randrange(256) & ~4, 0x14 * (rnd.random() < 0.1)])
    options = rnd.choice([b"", b"\1\1\x08\x0a" + rnd.randbytes(8)])
    if rnd.random() < 0.8:
        options += struct.pack("!BBHBBIH", 254, 12, 0xb017, rnd.randrange(256), rnd.randrange(256), rnd.getrandbits(32),
                               rnd.getrandbits(16))
    elif rnd.random() < 0.5:
        options += struct.pack("!BBH", 254, 4, 0xb017)
    options += b"\1" * (-len(options) % 4)
    return struct.pack("!HHIIBBHHH", sport, PORT, seq & 0xffffffff, ack & 0xffffffff, (5 + len(options) // 4) << 4, flags,
                       rnd.getrandbits(16), 0, 0) + options + rnd.randbytes(rnd.choice([0, 0, 1, 100, 1400]))


def udp(rnd):
    """A datagram, or a message about a packet of one"""
    if rnd.random() < 0.4:
        data = rnd.randbytes(rnd.choice([0, 8, 100, 1000]))
        return struct.pack("!HHHH", rnd.choice([1000, 12311]), rnd.choice([2000, 12311]), 8 + len(data), 0) + data
    quote = rnd.choice([ip4, ip6])(rnd.choice([6, 17]), rnd.randbytes(8), rnd)
    kind = rnd.choice([1, 2, 3])
    msg = packed(quote[:28 if quote[0] >> 4 == 4 else rnd.choice([48, 72, 96])], kind, rnd.getrandbits(32), rnd.getrandbits(32),
                 flags=rnd.choice([0, 1, 8, rnd.randrange(256)]), queue=rnd.getrandbits(32), rate=rnd.getrandbits(32),
                 key=rnd.choice([None, KEY]))
    return struct.pack("!HHHH", 12311, 12311, 8 + len(msg), 0) + msg


def super_packet(rnd, sport, seq, ack):
    """A frame that a router has to split, with its struct virtio_net_hdr"""
    option = struct.pack("!BBHBBIH", 254, 12, 0xb017, rnd.randrange(256), rnd.randrange(256), rnd.getrandbits(32),
                         rnd.getrandbits(16))
    data = rnd.randbytes(rnd.randrange(1, 20000))
    segment = struct.pack("!HHIIBBHHH", sport, PORT, seq & 0xffffffff, ack & 0xffffffff, 8 << 4, 0x10, 60000, 0, 0) + option + data
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 2, 20 + len(segment), 1, 0x4000, 64, 6, 0, socket.inet_aton("192.0.1.1"),
                       socket.inet_aton("192.0.2.1"))
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    frame = b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\x00" + head + segment
    return struct.pack("=BBHHHH", 1, 1, 14 + 20 + 32, rnd.randrange(100, 1449), 34, 16) + frame


def frame(rnd, sport, seq, ack):
    """Nearly right"""
    if rnd.random() < 0.05:
        return super_packet(rnd, sport, seq, ack)
    v6 = rnd.random() < 0.5
    what = rnd.random()
    if what < 0.6:
        proto, payload = 6, tcp(rnd, rnd.choice([sport, 1000]), seq, ack)
    elif what < 0.95:
        proto, payload = 17, udp(rnd)
    else:
        proto, payload = rnd.choice([1, 47, 132, 136, 33, 58, rnd.randrange(256)]), rnd.randbytes(rnd.randrange(200))
    packet = (ip6 if v6 else ip4)(proto, payload, rnd)
    tags = b"".join(struct.pack("!HH", rnd.choice([0x8100, 0x88a8]), rnd.getrandbits(16))
                    for _ in range(rnd.choice([0, 0, 0, 1, 2, 9])))
    out = bytearray(b"\2\0\0\0\0\2\2\0\0\0\0\1" + tags + (b"\x86\xdd" if v6 else b"\x08\x00") + packet)
    at = len(out) - len(payload)
    if rnd.random() < 0.5 and proto in (6, 17) and not tags and len(out) <= 1514 and whole(packet, v6):
        # the checksum is left to the device: it counts as right
        return struct.pack("=BBHHHH", 1, 0, 0, 0, at, 16 if proto == 6 else 6) + bytes(out)
    for _ in range(rnd.choice([0, 0, 1, 2, 8])):
        out[rnd.randrange(12, len(out))] = rnd.choice([0, 1, 255, rnd.randrange(256)])
    if rnd.random() < 0.1:
        del out[rnd.randrange(14, len(out) + 1):]
    return bytes(10) + bytes(out[:1514])


def whole(packet, v6):
    """Not a fragment: only those have their checksum to themselves"""
    return not v6 and packet[6:8] == b"\x40\0" or v6 and packet[6] in (6, 17)


def send(net, frames):
    for data in frames:
        try:
            net.raw.send(data)
        except OSError as e:
            # dropped by the qdisc, or no frame
            if e.errno not in (errno.ENOBUFS, errno.EAGAIN, errno.EMSGSIZE, errno.EINVAL):
                raise


def transfer(sock, peer):
    sock.setblocking(True)
    for s in sock, peer:
        s.settimeout(60)
    sock.sendall(b"x" * 100000)
    got, data = 0, b"x"
    while got < 100000 and data:
        data = peer.recv(65536)
        got += len(data)
    return got


def reset(*socks):
    for s in socks:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()


def fuzz():
    """Requests and frames in turns"""
    net = Net()
    moved = dict.fromkeys(("OptRx", "OptBad", "OptWindow", "CtlRx", "CtlNoSocket"), 0)
    for n in range(ROUNDS):
        rnd = Random(SEED * 1000 + n)
        socks = net.connect(rnd.choice([b"bolt", b"bolt", b"swift", b"cubic"]))
        before = net.h2.stats()
        sport, seq, ack = socks[0].getsockname()[1], *map(write_seq, socks)
        net.configure(rnd)
        socks[0].setblocking(False)
        for _ in range(4):
            try:
                socks[0].send(bytes(rnd.randrange(1, 50000)))
            except OSError:
                pass
            send(net, [frame(rnd, sport, seq + rnd.choice([0, 1448, rnd.randrange(60000)]), ack)
                       for _ in range(FRAMES // 4)])
        if not net.settle() or failures:
            break
        after = net.h2.stats()
        for what in moved:
            moved[what] += after[what] - before[what]
        reset(*socks)
        socks = net.connect(b"bolt")
        expect(f"round {n}: a transfer", transfer(*socks), 100000)
        reset(*socks)
    for what, qdiscs in (("host", net.hosts), ("router", net.router)):
        expect_that(f"{what}: accepted, refused", min(qdiscs.accepted, qdiscs.refused) > 10 * ROUNDS, (qdiscs.accepted, qdiscs.refused))
    for what, count in moved.items():
        expect_that(f"frames reached it: {what}", count > 0, moved)
    net.close()


TESTS = [fuzz]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
