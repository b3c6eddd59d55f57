#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Control messages that a host must believe, and those that it must not.

	H1 (sender) ---- H2 (receiver; its ACKs can be cut off)

A connection of H1 is brought to a standstill with packets in flight, so that snd_una, snd_nxt
and cwnd hold still.  Messages come from H2 and are wrong in one thing at a time; each must move
exactly one counter of /proc/net/bolt_stat beside CtlRx, and cwnd only when it is right.
"""

import ctypes
import os
import socket
import struct
import subprocess
import sys
import time

PORT = 45079
TCP_CONGESTION, TCP_INFO, TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 13, 11, 19, 20, 21
SIOCOUTQ, SIOCOUTQNSD = 0x5411, 0x894B
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)

failures = []
undo = []


def expect(what, got, want):
    if got != want:
        failures.append(f"{what}: {got}, not {want}")


def sh(command):
    subprocess.run(command, shell=True, check=True)


class Namespace:
    """A network namespace; with it, sockets and files belong there."""

    made = 0

    def __init__(self, name):
        Namespace.made += 1
        self.name = f"{name}-{os.getpid()}-{Namespace.made}"
        sh(f"ip netns add {self.name}")
        undo.append(f"ip netns del {self.name}")
        self.fd = os.open(f"/run/netns/{self.name}", os.O_RDONLY)

    def __enter__(self):
        self.before = os.open("/proc/self/ns/net", os.O_RDONLY)
        if LIBC.setns(self.fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    def __exit__(self, *_):
        LIBC.setns(self.before, CLONE_NEWNET)
        os.close(self.before)

    def close(self):
        os.close(self.fd)

    def stats(self):
        with self, open("/proc/net/bolt_stat", encoding="ascii") as f:
            return {name: int(value) for name, value in (line.split() for line in f)}

    def sysctl(self, name, value):
        with self, open("/proc/sys/net/" + name.replace(".", "/"), "w", encoding="ascii") as f:
            f.write(str(value))


def poll(condition, what):
    """Until it holds; virtual or not, ten seconds are for ever"""
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            failures.append(f"{what}: never")
            return False
        time.sleep(0.002)
    return True


class Flow:
    """A bolt connection from H1 to H2 with packets in flight that nobody acknowledges."""

    def __init__(self, family=4):
        self.h1, self.h2 = Namespace("h1"), Namespace("h2")
        a, b = self.h1.name, self.h2.name
        self.family = family
        self.ip = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}[family]
        af = {4: socket.AF_INET, 6: socket.AF_INET6}[family]
        sh(f"ip link add name eth0 netns {a} type veth peer name eth0 netns {b}")
        for ns, n in ((a, 0), (b, 1)):
            nodad = "nodad" if family == 6 else ""
            sh(f"ip -n {ns} link set lo up; ip -n {ns} link set eth0 up;"
               f"ip -n {ns} addr add {self.ip[n]}/{64 if family == 6 else 24} dev eth0 {nodad}")
        # no RTO while we look: it would touch cwnd
        net = "2001:db8::/64" if family == 6 else "192.0.2.0/24"
        sh(f"ip -n {a} -{family} route replace {net} dev eth0 initcwnd 20 rto_min 100s")
        self.h1.sysctl("ipv4.tcp_early_retrans", 0)
        with self.h2:
            listener = socket.socket(af, socket.SOCK_STREAM)
            listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"bolt")
            listener.bind((self.ip[1], 5001))
            listener.listen(1)
            self.udp = socket.socket(af, socket.SOCK_DGRAM)
            self.udp.bind((self.ip[1], PORT))
        with self.h1:
            self.sock = socket.socket(af, socket.SOCK_STREAM)
            self.sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"bolt")
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sock.connect((self.ip[1], 5001))
        self.peer, _ = listener.accept()
        listener.close()
        self.sock.sendall(b"x" * 20000)
        got = 0
        while got < 20000:
            got += len(self.peer.recv(65536))
        poll(lambda: self.outq() == 0, "all acknowledged")
        # from here on no ACK comes back
        sh(f"tc -n {b} qdisc add dev eth0 root handle 1: prio")
        sh(f"tc -n {b} qdisc add dev eth0 parent 1:1 netem loss 100%")
        sh(f"tc -n {b} qdisc add dev eth0 parent 1:2 pfifo")
        sh(f"tc -n {b} filter add dev eth0 parent 1: protocol all matchall classid 1:2")
        ip = "ipv6" if family == 6 else "ip"
        sh(f"tc -n {b} filter add dev eth0 parent 1: protocol {ip} prio 1 flower"
           f" ip_proto tcp classid 1:1")
        self.sock.sendall(b"y" * 10000)
        poll(lambda: self.outq(SIOCOUTQNSD) == 0, "all sent")
        self.sport = self.sock.getsockname()[1]
        self.nxt = self.write_seq()
        self.una = (self.nxt - self.outq()) & 0xffffffff

    def close(self):
        self.sock.close()
        self.peer.close()
        self.udp.close()
        self.h1.close()
        self.h2.close()

    def outq(self, what=SIOCOUTQ):
        value = ctypes.c_int()
        LIBC.ioctl(self.sock.fileno(), what, ctypes.byref(value))
        return value.value

    def write_seq(self):
        tcp = socket.IPPROTO_TCP
        self.sock.setsockopt(tcp, TCP_REPAIR, 1)
        self.sock.setsockopt(tcp, TCP_REPAIR_QUEUE, 2)
        seq = self.sock.getsockopt(tcp, TCP_QUEUE_SEQ)
        self.sock.setsockopt(tcp, TCP_REPAIR, -1)   # without a window probe
        return seq & 0xffffffff

    def cwnd(self):
        return struct.unpack_from("=I", self.sock.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104),
                                  80)[0]

    def quote(self, **changes):
        """The head of a packet of this flow, as a switch quotes it."""
        v = {"src": self.ip[0], "dst": self.ip[1], "sport": self.sport, "dport": 5001,
             "seq": self.una, "proto": 6} | changes
        if self.family == 4:
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 60, 0, 0x4000, 64, v["proto"], 0,
                             socket.inet_aton(v["src"]), socket.inet_aton(v["dst"]))
        else:
            ip = struct.pack("!IHBB16s16s", 6 << 28, 20, v["proto"], 64,
                             socket.inet_pton(socket.AF_INET6, v["src"]),
                             socket.inet_pton(socket.AF_INET6, v["dst"]))
        return ip + struct.pack("!HHI", v["sport"], v["dport"], v["seq"])

    def message(self, quote=None, cut=None, more=b"", **changes):
        """An SRC that is right, but for the changes."""
        return packed(self.quote() if quote is None else quote,
                      **{"type": 1, "tx": (now32() - 8000) & 0xffffffff or 1} | changes)[:cut] + more

    def send(self, msg):
        """Send it; return the counters that moved, and the change of cwnd."""
        before, cwnd = self.h1.stats(), self.cwnd()
        self.udp.sendto(msg, (self.ip[0], PORT))
        poll(lambda: self.h1.stats()["CtlRx"] == before["CtlRx"] + 1, "message heard")
        after = self.h1.stats()
        moved = {k: after[k] - before[k] for k in after if after[k] != before[k]}
        moved.pop("CtlRx", None)
        return moved, self.cwnd() - cwnd

    def refused(self, what, counter, msg):
        expect(what, self.send(msg), ({counter: 1}, 0))

    def believed(self, what, msg):
        expect(what, self.send(msg), ({"SrcRx": 1, "SrcDec": 1}, -1))


def now32():
    return time.monotonic_ns() & 0xffffffff


def packed(quote, type, tx, number=0, version=2, flags=0, dscp=0, queue=1000000, rate=10000000,
           switch=0, key=None):
    """A control message; NUMBER is what a BTS or a CNM has, KEY what its tag is made with."""
    msg = struct.pack("!BBBBIIII", version, type, flags | (4 if key else 0), dscp,
                      tx & 0xffffffff, queue, rate, switch)
    msg += (b"" if type == 1 else struct.pack("!I", number)) + quote
    return msg + (struct.pack("!Q", siphash24(key, msg)) if key else b"")


# --- the tests ---

def valid(family=4):
    f = Flow(family)
    expect("packets in flight", f.outq(), 10000)
    f.believed("first packet in flight", f.message())
    time.sleep(0.001)
    f.believed("last byte in flight", f.message(f.quote(seq=(f.nxt - 1) & 0xffffffff)))
    time.sleep(0.001)
    f.believed("snd_nxt itself", f.message(f.quote(seq=f.nxt)))
    f.close()


def valid_ipv6():
    valid(6)


def interval():
    """Algorithm 2 line 6: a target queue of one packet, one decrement per rtt_src"""
    f = Flow()
    # flow.rate / link_rate is at least 1 towards a link of 1 kbit/s: target_q is the queue
    pkt = 1500 + 14
    rtt = 5000000       # below what is plausible at this RTT, 10 ms and a little
    one = {"queue": pkt, "rate": 1}
    time.sleep(0.01)    # last_dec_time starts with the flow
    moved, step = f.send(f.message(tx=now32() - rtt, **one))
    expect("first", (moved, step), ({"SrcRx": 1, "SrcDec": 1}, -1))
    moved, step = f.send(f.message(tx=now32() - rtt - 1, **one))
    expect("too soon", (moved, step), ({"SrcRx": 1, "SrcHeld": 1}, 0))
    time.sleep(0.0055)
    moved, step = f.send(f.message(tx=now32() - rtt, **one))
    expect("an rtt_src later", (moved, step), ({"SrcRx": 1, "SrcDec": 1}, -1))
    expect("empty queue", f.send(f.message(queue=0)), ({"SrcRx": 1, "SrcHeld": 1}, 0))
    f.close()


def floor():
    """The window never falls below one packet where it may not"""
    f = Flow()
    f.h1.sysctl("bolt.min_cwnd_milli", 1000)
    start = f.cwnd()
    for _ in range(start - 1):
        time.sleep(0.0001)
        f.send(f.message())
    expect("cwnd", f.cwnd(), 1)
    time.sleep(0.001)
    expect("at the floor", f.send(f.message()), ({"SrcRx": 1, "SrcFloor": 1}, 0))
    f.h1.sysctl("bolt.min_cwnd_milli", 1)
    time.sleep(0.001)
    expect("below it", f.send(f.message()), ({"SrcRx": 1, "SrcBelow": 1}, 0))
    f.close()


def lengths():
    f = Flow()
    whole = len(f.message())
    for cut in range(whole):
        f.refused(f"{cut} bytes", "CtlShort", f.message(cut=cut))
    # the longest quote is 100 bytes longer, the longest message 112
    for more in (1, 4, 8, 60, 100):
        f.refused(f"{more} bytes too many", "CtlQuote", f.message(more=b"\0" * more))
    for more in (101, 112, 113, 1000):
        f.refused(f"{more} bytes too many", "CtlLength", f.message(more=b"\0" * more))
    f.believed("and whole", f.message())
    f.close()


def fields():
    f = Flow()
    for version in (0, 1, 3, 255):
        f.refused(f"version {version}", "CtlVersion", f.message(version=version))
    for kind in (0, 4, 255):
        f.refused(f"type {kind}", "CtlType", f.message(type=kind))
    for bit in (8, 16, 32, 64, 128):
        f.refused(f"flag {bit}", "CtlFlags", f.message(flags=bit))
    for dscp in (64, 255):
        f.refused(f"dscp {dscp}", "CtlField", f.message(dscp=dscp))
    f.refused("link rate 0", "CtlField", f.message(rate=0))
    f.refused("no echo", "CtlField", f.message(tx=0))
    f.refused("BTS, not asked for", "BtsOff", f.message(type=2))
    f.refused("CNM without a rate", "CtlField", f.message(type=3))
    f.refused("CNM", "CtlUnsupported", f.message(type=3, number=1000))
    f.believed("and right", f.message())
    f.close()


def quotes():
    f = Flow()
    for proto in (0, 1, 50, 132):
        f.refused(f"protocol {proto}", "CtlQuote", f.message(f.quote(proto=proto)))
    f.refused("UDP", "CtlQuote", f.message(f.quote(proto=17)))
    quote = f.quote()
    for version in (0, 5, 6, 15):
        f.refused(f"IP version {version}", "CtlQuote",
                  f.message(bytes([version << 4 | 5]) + quote[1:]))
    f.refused("header of 16 bytes", "CtlQuote", f.message(b"\x44" + quote[1:]))
    f.refused("fragment", "CtlQuote", f.message(quote[:6] + b"\0\1" + quote[8:]))
    f.close()


def sockets():
    f = Flow()
    f.refused("another source port", "CtlNoSocket", f.message(f.quote(sport=1)))
    f.refused("another destination port", "CtlNoSocket", f.message(f.quote(dport=5002)))
    f.refused("another source", "CtlNoSocket", f.message(f.quote(src="192.0.2.77")))
    f.refused("another destination", "CtlNoSocket", f.message(f.quote(dst="192.0.2.77")))
    f.refused("the pair reversed", "CtlNoSocket",
              f.message(f.quote(src=f.ip[1], dst=f.ip[0], sport=5001, dport=f.sport)))
    # a connection that bolt does not control
    f.sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")
    f.refused("cubic", "CtlNotBolt", f.message())
    f.close()


def sequence():
    f = Flow()
    for what, seq in (("before snd_una", f.una - 1), ("far before", f.una - 100000),
                      ("after snd_nxt", f.nxt + 1), ("far after", f.nxt + 100000),
                      ("half the space away", f.nxt + 0x7fffffff)):
        f.refused(what, "CtlSeq", f.message(f.quote(seq=seq & 0xffffffff)))
    f.believed("and right", f.message())
    f.close()


def timestamps():
    f = Flow()
    for what, tx in (("from the future", now32() + 100000000),
                     ("half the range ahead", now32() + (1 << 31)),
                     ("1.1 s old", now32() - 1100000000)):
        f.refused(what, "CtlTime", f.message(tx=tx))
    f.believed("8 us old", f.message())
    f.close()


def replay():
    f = Flow()
    msg = f.message()
    f.believed("first", msg)
    time.sleep(0.001)
    f.refused("again", "CtlReplay", msg)
    f.refused("and again", "CtlReplay", msg)
    f.believed("another", f.message())
    f.refused("the first, later", "CtlReplay", msg)
    f.close()


def ttl():
    f = Flow()
    level, option = (socket.IPPROTO_IP, socket.IP_TTL)
    f.h1.sysctl("bolt.min_ttl", 64)
    f.udp.setsockopt(level, option, 63)
    f.refused("63", "CtlTtl", f.message())
    f.udp.setsockopt(level, option, 64)
    f.believed("64", f.message())
    f.close()


def siphash24(key, data):
    """The reference algorithm (Aumasson and Bernstein), key as two little-endian words"""
    mask = 2**64 - 1

    def rotl(x, b):
        return (x << b | x >> (64 - b)) & mask

    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
         k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & mask
            v[1] = rotl(v[1], 13) ^ v[0]
            v[0] = rotl(v[0], 32)
            v[2] = (v[2] + v[3]) & mask
            v[3] = rotl(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask
            v[3] = rotl(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask
            v[1] = rotl(v[1], 17) ^ v[2]
            v[2] = rotl(v[2], 32)

    padded = data + b"\0" * (7 - len(data) % 8) + bytes([len(data) & 0xff])
    for i in range(0, len(padded), 8):
        m = struct.unpack_from("<Q", padded, i)[0]
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xff
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def tags():
    key = bytes(range(16))
    f = Flow()
    f.h1.sysctl("bolt.tag_key", key.hex())
    f.refused("no tag", "CtlTag", f.message())
    f.refused("wrong tag", "CtlTag", f.message(flags=4, more=bytes(7) + b"\1"))
    f.refused("tag of another key", "CtlTag", f.message(key=key[::-1]))
    f.refused("the flag without a tag", "CtlShort", f.message(flags=4))
    f.refused("a tag without the flag", "CtlQuote", f.message(more=bytes(8)))
    good = f.message(key=key)
    for at in (3, 8, 12, 25, 47, 48, len(good) - 1):
        bad = bytearray(good)
        bad[at] ^= 1
        f.refused(f"byte {at} changed", "CtlTag", bytes(bad))
    f.believed("right", f.message(key=key))
    f.h1.sysctl("bolt.tag_key", "off")
    time.sleep(0.001)
    f.believed("no key any more", f.message())
    time.sleep(0.001)
    f.believed("a tag that nobody asked for", f.message(key=key))
    f.close()


def oversized():
    """Values at the end of their range: no more than one packet goes, nothing breaks"""
    f = Flow()
    top = 2**32 - 1
    for n, changes in enumerate(({"queue": top}, {"rate": top, "queue": top},
                                 {"switch": top},
                                 {"rate": 1, "queue": top})):
        time.sleep(0.01)
        moved, step = f.send(f.message(tx=now32() - 8000 - n, **changes))
        expect(f"{changes}: counted", moved.get("SrcRx"), 1)
        if step not in (0, -1):
            failures.append(f"{changes}: cwnd changed by {step}")
    f.close()


def silent():
    """Nothing is ever answered: no packet leaves H1 for any message, right or wrong"""
    f = Flow()

    def sent():
        with f.h1, open("/proc/net/dev", encoding="ascii") as dev:
            line = next(l for l in dev if "eth0" in l)
        return int(line.split()[10])

    before = sent()
    f.send(f.message(version=9))
    f.send(f.message(f.quote(sport=1)))
    f.send(f.message())
    expect("packets sent", sent() - before, 0)
    f.close()


def survives():
    """After all this the connection goes on"""
    f = Flow()
    f.send(f.message(version=9))
    f.send(f.message())
    sh(f"tc -n {f.h2.name} qdisc del dev eth0 root")
    f.h1.sysctl("ipv4.tcp_early_retrans", 3)
    got = 0
    f.peer.settimeout(300)
    f.sock.sendall(b"z" * 100000)
    while got < 110000:
        got += len(f.peer.recv(65536))
    expect("received", got, 110000)
    f.close()


TESTS = [valid, valid_ipv6, interval, floor, lengths, fields, quotes, sockets, sequence,
         timestamps, replay, ttl, tags, oversized, silent, survives]


def main(tests):
    """All, or those named on the command line"""
    tests = [t for t in tests if t.__name__ in sys.argv[1:]] or tests
    print(f"KTAP version 1\n1..{len(tests)}", flush=True)
    bad = 0
    for n, test in enumerate(tests, 1):
        failures.clear()
        try:
            test()
        except (OSError, subprocess.CalledProcessError) as why:
            failures.append(f"{type(why).__name__}: {why}")
        for command in reversed(undo):
            subprocess.run(command, shell=True, check=False)
        undo.clear()
        for text in failures:
            print(f"    # {text}")
        bad += bool(failures)
        print(f"{'not ok' if failures else 'ok'} {n} {test.__name__}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(TESTS))
