#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Control messages that a host must believe, and those that it must not.

	H1 (sender) ---- H2 (receiver; its ACKs can be cut off)

A connection of H1 is brought to a standstill with packets in flight, so that snd_una, snd_nxt and
cwnd hold still.  Messages come from H2, which has seen those packets, and are wrong in one thing at
a time.  Each must move exactly one counter of /proc/net/bolt_stat beside CtlRx, and cwnd only when
it is right: a message that is believed by mistake lets anybody slow a connection down.
"""

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import time

PORT = 12311
TCP_CONGESTION, TCP_INFO, TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 13, 11, 19, 20, 21
TIME_WAIT = "06"		# in /proc/net/tcp
SIOCOUTQ, SIOCOUTQNSD = 0x5411, 0x894B
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
SUBRTT = os.path.join(os.environ.get("TC_LIB_DIR", ""), "subrtt")


class Book(list):
    """What failed, also in a forked process; how much was asserted"""

    def __init__(self):
        super().__init__()
        self.asserted, self.pid, self.pipe = 0, os.getpid(), os.pipe2(os.O_NONBLOCK)

    def append(self, text):
        if os.getpid() != self.pid:
            os.write(self.pipe[1], text.encode().replace(b"\n", b" ") + b"\n")
        super().append(text)

    def collect(self):
        """Those of the forked as well"""
        try:
            self.extend(os.read(self.pipe[0], 65536).decode().splitlines())
        except BlockingIOError:
            pass


failures = Book()
undo = []


def expect_that(what, holds, got):
    """It holds; what there is instead, if not"""
    failures.asserted += 1
    if not holds:
        failures.append(f"{what}: {got}")


def expect(what, got, want):
    """Nothing is equal to nothing"""
    expect_that(what, got == want and want is not None, f"{got}, not {want}")


def sh(command):
    subprocess.run(command, shell=True, check=True)


def bolt_stat():
    """Of the namespace of the moment"""
    with open("/proc/net/bolt_stat", encoding="ascii") as f:
        return {name: int(value) for name, value in (line.split() for line in f)}


class Namespace:
    """A network namespace, whose veths are links of 10 Gb/s to bolt; with it, sockets and files belong there."""

    made = 0

    def __init__(self, name):
        Namespace.made += 1
        self.name = f"{name}-{os.getpid()}-{Namespace.made}"
        sh(f"ip netns add {self.name}")
        undo.append(f"ip netns del {self.name}")
        self.fd = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        if os.path.exists("/proc/sys/net/bolt"):
            self.sysctl("bolt.rate_mbps", 10000)

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
        """Counters"""
        with self:
            return {name: value for name, value in bolt_stat().items() if not name.endswith("Now")}

    def now(self, what):
        """How many objects there are, of "Flows" or "Pauses" """
        with self:
            return bolt_stat()[f"{what}Now"]

    def sysctl(self, name, value):
        with self, open("/proc/sys/net/" + name.replace(".", "/"), "w", encoding="ascii") as f:
            f.write(str(value))


def poll(condition, what):
    """Until it holds; virtual or not, ten seconds are for ever"""
    failures.asserted += 1
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            failures.append(f"{what}: never")
            return False
        time.sleep(0.002)
    return True


class Flow:
    """A connection of bolt, or of CC, from H1 to H2 with packets in flight that nobody acknowledges; BURST: packets that
    leave as one; DELAY: how long they take"""

    def __init__(self, family=4, cc=b"bolt", burst=1, timestamps=1, delay="0"):
        self.cc = cc
        self.h1, self.h2 = Namespace("h1"), Namespace("h2")
        self.h1.sysctl("bolt.burst_segs", burst)
        self.h1.sysctl("ipv4.tcp_timestamps", timestamps)
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
        if delay != "0":
            sh(f"tc -n {a} qdisc add dev eth0 root netem delay {delay}")
        with self.h2:
            listener = socket.socket(af, socket.SOCK_STREAM)
            listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc)
            listener.bind((self.ip[1], 5001))
            listener.listen(1)
            self.udp = socket.socket(af, socket.SOCK_DGRAM)
            self.udp.bind((self.ip[1], PORT))
        with self.h1:
            self.sock = socket.socket(af, socket.SOCK_STREAM)
            self.sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sock.connect((self.ip[1], 5001))
        self.peer, _ = listener.accept()
        listener.close()
        self.sport, self.port = self.sock.getsockname()[1], PORT
        self.flight = []
        with self.h2:
            self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM,
                                     socket.htons(0x86dd if family == 6 else 0x800))
            self.tap.setblocking(False)
        self.sock.sendall(b"x" * 20000)
        got = 0
        while got < 20000:
            got += len(self.peer.recv(65536))
        poll(lambda: self.outq() == 0, "all acknowledged")
        self.silence()
        self.anew()
        self.una = (self.nxt - self.outq()) & 0xffffffff

    def silence(self):
        """From here on no ACK comes back"""
        ns = self.h2.name
        sh(f"tc -n {ns} qdisc add dev eth0 root handle 1: prio")
        sh(f"tc -n {ns} qdisc add dev eth0 parent 1:1 netem loss 100%")
        sh(f"tc -n {ns} qdisc add dev eth0 parent 1:2 pfifo")
        sh(f"tc -n {ns} filter add dev eth0 parent 1: protocol all matchall classid 1:2")
        ip = "ipv6" if self.family == 6 else "ip"
        sh(f"tc -n {ns} filter add dev eth0 parent 1: protocol {ip} prio 1 flower"
           f" ip_proto tcp classid 1:1")

    def anew(self):
        """Seven packets are in flight, or as many as the window has, and no others"""
        while self.received():
            pass
        self.flight = []
        self.write(min(10000, self.cwnd() * 1400))

    def write(self, size):
        """More packets in flight, at the end of self.flight as (seq, t_data_tx or TSval)"""
        self.sock.sendall(b"y" * size)
        poll(lambda: self.outq(SIOCOUTQNSD) == 0, "all sent")
        self.nxt = write_seq(self.sock)
        while self.received():
            pass

    def received(self):
        """Take in a packet that came to H2; False: there is none"""
        try:
            data, addr = self.tap.recvfrom(200)
        except BlockingIOError:
            return False
        th = data[40 if self.family == 6 else 20:]
        if addr[2] != 4 and data[6 if self.family == 6 else 9] == 6:
            sport, _, seq = struct.unpack("!HHI", th[:8])
            at = th.find(b"\xfe\x0c\xb0\x17", 20)
            if sport == self.sport and at > 0 and th[at + 4] & 0x80:
                self.flight.append((seq, int.from_bytes(th[at + 6:at + 10])))
            elif sport == self.sport and self.cc != b"bolt" and len(th) > 4 * (th[12] >> 4):
                self.flight.append((seq, int.from_bytes(th[24:28])))
        return True

    def refill(self):
        """What is in flight is acknowledged, and as much is sent anew"""
        sh(f"tc -n {self.h2.name} qdisc del dev eth0 root")
        self.peer.sendall(b"x")    # with an ACK
        poll(lambda: self.outq() == 0, "all acknowledged")
        self.silence()
        self.anew()

    def close(self):
        self.tap.close()
        self.sock.close()
        self.peer.close()
        self.udp.close()
        self.h1.close()
        self.h2.close()

    def outq(self, what=SIOCOUTQ):
        value = ctypes.c_int()
        LIBC.ioctl(self.sock.fileno(), what, ctypes.byref(value))
        return value.value

    def cwnd(self):
        return struct.unpack_from("=I", self.sock.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104),
                                  80)[0]

    def quote(self, **changes):
        """The head of a packet of this flow, as a switch quotes it."""
        v = {"src": self.ip[0], "dst": self.ip[1], "sport": self.sport, "dport": 5001,
             "seq": self.flight[0][0], "proto": 6} | changes
        if self.family == 4:
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 60, 0, 0x4000, 64, v["proto"], 0,
                             socket.inet_aton(v["src"]), socket.inet_aton(v["dst"]))
        else:
            ip = struct.pack("!IHBB16s16s", 6 << 28, 20, v["proto"], 64,
                             socket.inet_pton(socket.AF_INET6, v["src"]),
                             socket.inet_pton(socket.AF_INET6, v["dst"]))
        return ip + struct.pack("!HHI", v["sport"], v["dport"], v["seq"])

    def message(self, quote=None, cut=None, more=b"", **changes):
        """An SRC about the first packet of self.flight that is right, but for the changes."""
        return packed(self.quote() if quote is None else quote,
                      **{"type": 1, "tx": self.flight[0][1]} | changes)[:cut] + more

    def send(self, msg):
        """Send it; return the counters that moved, and the change of cwnd."""
        before, cwnd = self.h1.stats(), self.cwnd()
        self.udp.sendto(msg, (self.ip[0], self.port))
        poll(lambda: self.h1.stats()["CtlRx"] == before["CtlRx"] + 1, "message heard")
        after = self.h1.stats()
        moved = {k: after[k] - before[k] for k in after if after[k] != before[k]}
        moved.pop("CtlRx", None)
        return moved, self.cwnd() - cwnd

    def refused(self, what, counter, msg):
        expect(what, self.send(msg), ({counter: 1}, 0))

    def believed(self, what, msg):
        """And once: what is about the next packet comes next"""
        expect(what, self.send(msg), ({"SrcRx": 1, "SrcDec": 1}, -1))
        self.flight.pop(0)


def write_seq(sock):
    tcp = socket.IPPROTO_TCP
    sock.setsockopt(tcp, TCP_REPAIR, 1)
    sock.setsockopt(tcp, TCP_REPAIR_QUEUE, 2)
    seq = sock.getsockopt(tcp, TCP_QUEUE_SEQ)
    sock.setsockopt(tcp, TCP_REPAIR, -1)   # without a window probe
    return seq & 0xffffffff


def checksum(data):
    """Of the Internet; an even number of bytes"""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def mac_of(host):
    """Of its eth0"""
    link = subprocess.run(["ip", "-n", host, "-j", "link", "show", "eth0"], capture_output=True, text=True, check=True).stdout
    return bytes.fromhex(json.loads(link)[0]["address"].replace(":", ""))


def packed(quote, type, tx, number=0, version=2, flags=0, dscp=0, queue=100000000, rate=10000000,
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
    expect("first packet", f.flight[0][0], f.una)
    f.believed("first packet in flight", f.message())
    f.flight = f.flight[-1:]
    f.believed("last packet in flight", f.message())
    f.close()


def valid_ipv6():
    valid(6)


def interval():
    """Algorithm 2 line 6: a target queue of one packet, one decrement per rtt_src"""
    f = Flow()
    f.h1.sysctl("bolt.debug.paper", 1)
    # flow.rate / link_rate is at least 1 towards a link of 1 kbit/s: target_q is the queue
    one = {"queue": 1500 + 14, "rate": 1}
    time.sleep(0.01)    # last_dec_time starts with the flow
    f.flight.clear()
    f.write(2 * 1436)
    time.sleep(0.005)   # rtt_src
    f.believed("first", f.message(**one))
    expect("too soon", f.send(f.message(**one)), ({"SrcRx": 1, "SrcHeld": 1}, 0))
    f.flight.clear()
    f.write(2 * 1436)
    time.sleep(0.005)
    f.believed("an rtt_src later", f.message(**one))
    time.sleep(0.01)
    expect("empty queue", f.send(f.message(queue=0)), ({"SrcRx": 1, "SrcHeld": 1}, 0))
    f.close()


def own_share():
    """No more of a queue is a flow's than it has in flight, whatever the message says: with a window of
    twenty packets it reacts twenty times per rtt_src, and not to each of two SRC that come at once"""
    f = Flow()
    f.h1.sysctl("bolt.debug.paper", 1)
    huge = {"queue": 2**32 - 1, "rate": 1}
    time.sleep(0.01)
    f.flight.clear()
    f.write(2 * 1436)
    time.sleep(0.005 / 19)
    f.write(1436)
    time.sleep(0.005 - 0.005 / 19)
    f.believed("first", f.message(**huge))
    expect("at once", f.send(f.message(**huge)), ({"SrcRx": 1, "SrcHeld": 1}, 0))
    f.flight.pop(0)
    time.sleep(0.005 / 19)
    f.believed("a nineteenth of rtt_src later", f.message(**huge))
    f.close()


def floor():
    """The window never falls below one packet where it may not"""
    f = Flow()
    f.h1.sysctl("bolt.debug.min_cwnd_milli", 1000)
    f.h1.sysctl("bolt.debug.ai", 0)
    f.h1.sysctl("bolt.debug.idle_restart", 0)
    moved = {"SrcDec": 1}
    while "SrcDec" in moved:
        moved, _ = f.send(f.message())
        f.flight.pop(0)
        if not f.flight:
            f.refill()
    expect("cwnd", f.cwnd(), 1)
    expect("at the floor", moved, {"SrcRx": 1, "SrcFloor": 1})
    f.h1.sysctl("bolt.debug.min_cwnd_milli", 1)
    expect("below it", f.send(f.message()), ({"SrcRx": 1, "SrcDec": 1}, 0))
    f.close()


def idle_restart():
    """A flow that goes on after a silence begins with its initial window, or with the last one"""
    f = Flow()
    f.h1.sysctl("bolt.debug.ai", 0)
    for restart, window in ((0, 17), (1, 20)):
        f.h1.sysctl("bolt.debug.idle_restart", restart)
        for _ in range(3 if f.cwnd() == 20 else 0):
            f.believed("SRC", f.message())
        f.refill()
        expect(f"window with {restart}", f.cwnd(), window)
    f.close()


def short_bdp():
    """What has less than so many initial windows left to send gives way less, at the least a fifth as much"""
    from lib_ynl import Family      # and yaml, which those that import this file need not
    f = Flow(delay="10ms")
    f.h1.sysctl("bolt.debug.ai", 0)
    with f.h1:
        family = Family("bolt")

    def window():
        flow, = family.dump("flow-get")
        return flow["window"] / 2**32

    def gives_way(windows):
        f.h1.sysctl("bolt.debug.short_bdp", windows)
        f.flight.clear()
        f.write(1436)
        time.sleep(0.02)    # rtt_src
        while f.received():
            pass
        before = window()
        f.send(f.message(queue=10**7))    # 8 ms: below a round trip
        return before - window()

    long, short = gives_way(0), gives_way(64)
    expect_that("packets", 0.5 < long < 0.7 and 4 < long / short < 6, (long, short))
    family.close()
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
    for bit in (16, 32, 64, 128):
        f.refused(f"flag {bit}", "CtlFlags", f.message(flags=bit))
    for dscp in (64, 255):
        f.refused(f"dscp {dscp}", "CtlField", f.message(dscp=dscp))
    f.refused("link rate 0", "CtlField", f.message(rate=0))
    f.refused("no echo", "CtlField", f.message(tx=0))
    f.refused("BTS, not asked for", "BtsOff", f.message(type=2))
    f.refused("CNM without a rate", "CtlField", f.message(type=3))
    f.refused("CNM", "BtsOff", f.message(type=3, number=1000))
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
    # one that is closed and waits: what TCP has of it is smaller than a socket
    before, message = f.h1.stats(), f.message()
    sh(f"tc -n {f.h2.name} qdisc del dev eth0 root")
    f.sock.close()
    while f.peer.recv(65536):
        pass
    f.peer.close()

    def waits():
        with f.h1, open("/proc/net/tcp", encoding="ascii") as table:
            return [line.split()[3] for line in table][1:] == [TIME_WAIT]
    poll(waits, "TIME_WAIT")
    f.udp.sendto(message, (f.ip[0], PORT))
    poll(lambda: f.h1.stats()["CtlRx"] > before["CtlRx"], "heard")
    expect("in TIME_WAIT", f.h1.stats()["CtlNoSocket"] - before["CtlNoSocket"], 1)
    f.close()


def sequence():
    f = Flow()
    for what, seq in (("before snd_una", f.una - 1), ("far before", f.una - 100000),
                      ("snd_nxt", f.nxt), ("after snd_nxt", f.nxt + 1), ("far after", f.nxt + 100000),
                      ("half the space away", f.nxt + 0x7fffffff)):
        f.refused(what, "CtlSeq", f.message(f.quote(seq=seq & 0xffffffff)))
    f.believed("and right", f.message())
    f.close()


def proof():
    """A message is about a packet in flight, and echoes what that packet carried"""
    f = Flow()
    (seq, tx), (_, other) = f.flight[:2]
    clock = time.monotonic_ns()
    for what, wrong in (("a ns earlier", tx - 1), ("a ns later", tx + 1),
                        ("half the range away", tx ^ 1 << 31), ("of the next packet", other),
                        ("our clock", clock), ("our clock, 8 us ago", clock - 8000)):
        f.refused(what, "CtlTime", f.message(tx=wrong))
    for off in (1, 1435):
        f.refused(f"{off} bytes into the packet", "CtlSeq", f.message(f.quote(seq=seq + off)))
    f.believed("and right", f.message())
    f.close()


def clocks():
    """Each connection shows a clock of its own: two cannot be told to be of one host"""
    shown = []
    for _ in range(4):
        f = Flow()
        shown.append(f.flight[0][1] - time.monotonic_ns())
        f.close()
    off = [(s - shown[0]) & 0xffffffff for s in shown[1:]]
    # by chance all three are as near as that once in ten million: (2 * 10**7 / 2**32)**3
    expect_that("offsets", any(10**7 < o < 2**32 - 10**7 for o in off), off)


def replay():
    """Each of the newest eight is known"""
    f = Flow()
    f.write(2800)
    seen = [f.message(f.quote(seq=seq), tx=tx) for seq, tx in f.flight[:8]]
    for n, msg in enumerate(seen):
        f.believed(f"{n}", msg)
        f.refused(f"{n} again", "CtlReplay", msg)
    for n, msg in enumerate(seen):
        f.refused(f"{n} later", "CtlReplay", msg)
    f.close()


def grows_once():
    """However many messages report an empty queue, the window grows by no more than the share of each packet in flight: by
    less than a packet"""
    f = Flow(delay="1ms")    # or the window has its maximum
    f.sock.setblocking(False)
    f.sock.send(b"y" * 40000)
    poll(lambda: f.received() and len(f.flight) == 20, "a window in flight")
    expect("more to send", f.outq(SIOCOUTQNSD) > 0, True)
    cwnd, before = f.cwnd(), f.h1.stats()
    for n in range(180):
        seq, tx = f.flight[n % 9]    # of each, a replay is known for eight messages
        f.udp.sendto(f.message(f.quote(seq=seq), tx=tx, queue=0), (f.ip[0], PORT))
    poll(lambda: f.h1.stats()["CtlRx"] == before["CtlRx"] + 180, "all heard")
    moved = {k: f.h1.stats()[k] - before[k] for k in ("SrcRx", "CtlReplay")}
    expect("believed", moved, {"SrcRx": 180, "CtlReplay": 0})
    expect("cwnd", f.cwnd(), cwnd)
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
    f.h1.sysctl("bolt.tag_key", key[::-1].hex())
    f.refused("tag of the key before", "CtlTag", f.message(key=key))
    f.believed("tag of the key now", f.message(key=key[::-1]))
    f.h1.sysctl("bolt.tag_key", "off")
    f.believed("no key any more", f.message())
    f.believed("a tag that nobody asked for", f.message(key=key))
    f.close()
    f = Flow()
    for both in (key, key[::-1]), (key[::-1], key):
        f.h1.sysctl("bolt.tag_key", ",".join(k.hex() for k in both))
        f.refused("a third", "CtlTag", f.message(key=bytes(16)))
        f.believed("one of two", f.message(key=key))
        f.believed("the other", f.message(key=key[::-1]))
    f.close()


def local():
    """A process of the host itself is no switch; not in a VRF either, nor by what comes back from the link"""
    f = Flow()
    ns, switch, here, msg = f.h1.name, f.udp, f.ip, f.message()
    sh(f"ip -n {ns} route add 224.0.0.0/4 dev eth0; ip -n {ns} addr add 2001:db8::1/64 dev eth0 nodad")

    def others(what):
        """What a process of H1 sends by eth0 to groups, and to all hosts there"""
        for af, to in ((socket.AF_INET, "192.0.2.255"), (socket.AF_INET, "224.0.0.1"), (socket.AF_INET6, "ff02::1")):
            with f.h1:
                f.udp = socket.socket(af, socket.SOCK_DGRAM)
            f.udp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            f.udp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
            f.ip = (to, here[1])
            f.refused(f"to {to}{what}", "CtlLocal", msg)
            f.udp.close()
        f.ip = here

    others("")
    sh(f"ip -n {ns} link add v type vrf table 10; ip -n {ns} link set v up; ip -n {ns} addr add 203.0.113.1/32 dev v")
    f.h1.sysctl("ipv4.udp_l3mdev_accept", 1)
    with f.h1:
        f.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    f.refused("by lo", "CtlLocal", f.message())
    f.udp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"v")
    f.ip = ("203.0.113.1", f.ip[1])
    f.refused("in a VRF", "CtlLocal", f.message())
    f.udp.close()
    f.ip, f.udp = here, switch
    f.believed("of a switch", f.message())
    sh(f"ip -n {ns} link set eth0 master v; ip -n {ns} link set eth0 up")
    f.refused("of a switch, in a VRF, about a connection elsewhere", "CtlNoSocket", f.message())
    sh(f"ip -n {ns} route add vrf v 224.0.0.0/4 dev eth0; ip -n {ns} addr replace 2001:db8::1/64 dev eth0 nodad")
    others(", in a VRF")
    f.udp = switch
    f.close()


def port():
    """Switches send from the control port, where a user of a host that has the module cannot send from; also
    where the namespace has another port than others have"""
    f = Flow()
    switch = f.udp
    with f.h2:
        other, any_port = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    other.bind((f.ip[1], PORT + 1))
    for what, f.udp in ("the next port", other), ("any", any_port):
        f.refused(what, "CtlPort", f.message())
    f.udp = switch
    f.believed("of a switch", f.message())
    f.port = PORT + 1
    f.h1.sysctl("bolt.port", f.port)
    f.refused("the port of before", "CtlPort", f.message())
    f.udp = other
    f.believed("of a switch with this port", f.message())
    for sock in switch, any_port:
        sock.close()
    f.close()


def taken():
    """While a process has the port, connections try to open it once a second; later ones do at once"""
    ns = Namespace("h")

    def connect():
        with ns:
            sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bolt")
        sock.connect_ex(("127.0.0.1", 9))
        sock.close()
        time.sleep(.02)

    def refused():
        return subprocess.run(["dmesg"], capture_output=True, check=True).stdout.count(b"port 12311 cannot be opened")

    def opened():
        connect()
        with ns, open("/proc/net/udp", encoding="ascii") as f:
            return ":3017 " in f.read()

    sh(f"ip -n {ns.name} link set lo up")
    with ns:
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    other.bind(("0.0.0.0", PORT))
    before = refused()
    for _ in range(5):
        connect()
    expect("attempts", refused() - before, 1)
    other.close()
    time.sleep(1.1)
    expect("opened by the next", opened(), True)
    ns.close()


def oversized():
    """Values at the end of their range: no more than one packet goes, nothing breaks"""
    f = Flow()
    top = 2**32 - 1
    for changes in ({"queue": top}, {"rate": top, "queue": top}, {"switch": top},
                    {"rate": 1, "queue": top}):
        time.sleep(0.01)
        moved, step = f.send(f.message(**changes))
        f.flight.pop(0)
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


# the first: ten such messages in 5 s are all that the kernel prints
TESTS = [taken, valid, valid_ipv6, interval, own_share, floor, idle_restart, short_bdp, lengths, fields, quotes, sockets,
         sequence, proof, clocks, replay, grows_once, ttl, tags, local, port, oversized, silent, survives]


def main(tests, also=()):
    """All, or those of BOLT_CHECK_ROWS; "also": what the gate, which sets BOLT_CHECK_ONCE, leaves to check-long"""
    if not os.environ.get("BOLT_CHECK_ONCE"):
        tests = [*tests, *also]
    rows = os.environ.get("BOLT_CHECK_ROWS", "").split()
    tests = [t for t in tests if t.__name__ in rows or not rows]
    print(f"KTAP version 1\n1..{len(tests)}", flush=True)
    bad = 0
    for n, test in enumerate(tests, 1):
        failures.clear()
        failures.asserted = 0
        try:
            test()
        except (OSError, subprocess.CalledProcessError) as why:
            failures.append(f"{type(why).__name__}: {why}")
        for command in reversed(undo):
            subprocess.run(command, shell=True, check=False)
        undo.clear()
        failures.collect()
        if not failures.asserted:
            failures.append("nothing is asserted")
        for text in failures:
            print(f"    # {text}")
        bad += bool(failures)
        print(f"{'not ok' if failures else 'ok'} {n} {test.__name__}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(TESTS))
