# SPDX-License-Identifier: GPL-2.0
"""What the tests of SFC at the sender share: two hosts, a capture, BTS of any length.

	H1 (sender) ---- H2 (receiver; its packets take 1 ms)

Packets are captured where they leave H1, behind its qdisc.  A BTS quotes one of them and comes to
H1 at once, through its loopback device.  All times are of the guest's virtual clock.
"""

import json
import os
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import time

import bolt_ctl
from bolt_ctl import Namespace, expect, failures, packed, poll, sh

MS = 1000000
SLACK = 3000		# ns; what the guest's clock moves while a system call looks at it
HELD = 300000		# ns; what fq holds already when a BTS comes leaves by the old time
PORT = 5001
PROGRAMS = os.environ["BOLT_PROGRAMS"]
SO_TIMESTAMPNS = 35
FIN, SYN, RST, CWR = 1, 2, 4, 0x80
CCS = ("cubic", "reno", "dctcp", "bbr", "bolt", "swift")


class Packet:
    """A packet as it passed a device of H1"""

    def __init__(self, when, outgoing, data):
        self.when, self.out = when, outgoing
        self.raw, self.tx, self.first, self.tsval, self.sack = data, 0, False, None, []
        self.v6 = data[0] >> 4 == 6
        self.l4 = 40 if self.v6 else (data[0] & 15) * 4
        self.proto = data[6] if self.v6 else data[9]
        total = 40 + int.from_bytes(data[4:6]) if self.v6 else int.from_bytes(data[2:4])
        if self.proto == 17:
            self.dport = int.from_bytes(data[self.l4 + 2:self.l4 + 4])
        if self.proto != 6:
            return
        th = data[self.l4:]
        self.sport, self.dport, self.seq, self.ack = struct.unpack("!HHII", th[:12])
        doff = (th[12] >> 4) * 4
        self.flags = th[13]
        self.len = total - self.l4 - doff
        i = 20
        while i < min(doff, len(th)) and th[i]:
            if th[i] == 1:
                i += 1
                continue
            if th[i] == 5:
                self.sack = list(struct.iter_unpack("!II", th[i + 2:i + th[i + 1]]))
            if th[i] == 8:
                self.tsval = int.from_bytes(th[i + 2:i + 6])
            if th[i] == 254 and th[i + 1] == 12:
                self.first, self.tx = bool(th[i + 4] & 0x08), int.from_bytes(th[i + 6:i + 10])
            i += th[i + 1]

    def data(self):
        return self.proto == 6 and self.out and self.len > 0 and self.dport == PORT

    def bts(self):
        return self.proto == 17 and not self.out and self.dport == bolt_ctl.PORT

    def quote(self):
        return self.raw[:self.l4 + 8]


class Tap:
    """What passes the devices of a host, h1, behind its qdiscs"""

    def open_tap(self):
        self.packets = []
        with self.h1:
            self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
            self.tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self.tap.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)    # SO_RCVBUFFORCE
            self.tap.setblocking(False)

    def capture(self):
        """Take in what has been captured since"""
        while True:
            try:
                data, control, _, addr = self.tap.recvmsg(160, 64)
            except BlockingIOError:
                return
            if addr[1] in (0x800, 0x86dd):
                sec, nsec = struct.unpack("=qq", control[0][2])
                self.packets.append(Packet(sec * 10**9 + nsec, addr[2] == 4, data))


class Host(Tap):
    """H1 and H2, a capture at H1, a transfer between them, and a switch beside H1 that sends messages"""

    def __init__(self, qdisc=None, family=4, delay="1ms", window=65536, segs=2, sfc=1):
        self.h1, self.h2, self.switch = Namespace("h1"), Namespace("h2"), Namespace("switch")
        a, b, c = self.h1.name, self.h2.name, self.switch.name
        self.family, self.grace = family, HELD if qdisc == "fq" else SLACK
        self.ip = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}[family]
        sh(f"ip link add name eth0 netns {a} type veth peer name eth0 netns {b}")
        nodad = "nodad" if family == 6 else ""
        for ns, n in ((a, 0), (b, 1)):
            sh(f"ip -n {ns} link set lo up; ip -n {ns} link set eth0 up;"
               f"ip -n {ns} addr add {self.ip[n]}/{64 if family == 6 else 24} dev eth0 {nodad}")
        # a switch, whose messages arrive at once
        net, mac = "2001:db8:1::" if family == 6 else "198.51.100.", "02:00:00:00:00:01"
        sh(f"ip link add name eth1 netns {a} address {mac} type veth peer name eth1 netns {c}")
        for ns, n in ((a, 1), (c, 2)):
            sh(f"ip -n {ns} link set eth1 up; ip -n {ns} addr add {net}{n}/{64 if family == 6 else 24} dev eth1 {nodad}")
        sh(f"ip -n {c} -{family} route add {self.ip[0]} dev eth1;"
           f"ip -n {c} neigh add {self.ip[0]} lladdr {mac} dev eth1")
        # a window that keeps it to a few packets per ms, and packets of one or two segments
        self.h2.sysctl("ipv4.tcp_rmem", f"4096 {window} {window}")
        sh(f"ip -n {a} link set eth0 gso_max_segs {segs}")
        net = "2001:db8::/64" if family == 6 else "192.0.2.0/24"
        for ns in (a, b):
            sh(f"ip -n {ns} -{family} route replace {net} dev eth0 initcwnd 500 initrwnd 500")
        if qdisc:
            sh(f"tc -n {a} qdisc add dev eth0 root {qdisc}")
        sh(f"tc -n {b} qdisc add dev eth0 root netem delay {delay} limit 100000")
        self.h1.sysctl("bolt.sfc", sfc)
        self.open_tap()
        with self.switch:
            self.udp = socket.socket({4: socket.AF_INET, 6: socket.AF_INET6}[family],
                                     socket.SOCK_DGRAM)
            self.udp.bind(("", bolt_ctl.PORT))
        self.children, self.forked, self.whole = [], [], True

    def close(self):
        for child in self.children:
            child.kill()
            child.wait()
        for pid in self.forked:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        if self.whole:
            expect("dropped by H1's qdisc", self.dropped(), 0)
            poll(self.sockets_gone, "the end of the connections")
        self.tap.close()
        self.udp.close()
        self.h1.close()
        self.h2.close()
        self.switch.close()

    def dropped(self):
        out = subprocess.run(["tc", "-n", self.h1.name, "-s", "-j", "qdisc", "show", "dev", "eth0"],
                             capture_output=True, text=True, check=True).stdout
        return sum(qdisc["drops"] for qdisc in json.loads(out))

    def sockets_gone(self):
        """A socket without a process lives on until its FIN is acknowledged.  When the other host
        goes before, that is until it gives up: minutes, in which one of bolt holds the module."""
        for ns in (self.h1, self.h2):
            for table in ("tcp", "tcp6"):
                with ns, open(f"/proc/net/{table}", encoding="ascii") as f:
                    if any(line.split()[3] != bolt_ctl.TIME_WAIT for line in f.readlines()[1:]):
                        return False
        return True

    def xfer(self, ns, *words):
        child = subprocess.Popen(["nsenter", f"--net=/run/netns/{ns.name}", "--",
                                  f"{PROGRAMS}/bolt_xfer", *map(str, words)],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(child)
        return child

    def transfer(self, cc, size, *after, at_end=("recv-eof",), before=()):
        """SIZE bytes from H1 to H2, verified there"""
        self.server = self.xfer(self.h2, "cc", cc, "listen", self.ip[1], PORT, "recv", size,
                                *at_end)
        self.server.stdout.readline()
        self.client = self.xfer(self.h1, *before, "cc", cc, "connect", self.ip[1], PORT,
                                "send", size, *after, "outq")

    def connect(self, cc, device=None):
        """A connection that only does what it is told: self.sock at H1, self.peer at H2"""
        af = {4: socket.AF_INET, 6: socket.AF_INET6}[self.family]
        cc = cc.encode()
        with self.h2:
            listener = socket.socket(af, socket.SOCK_STREAM)
            listener.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, cc)
            listener.bind((self.ip[1], PORT))
            listener.listen(1)
        with self.h1:
            self.sock = socket.socket(af, socket.SOCK_STREAM)
            self.sock.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, cc)
            if device:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
            self.sock.connect((self.ip[1], PORT))
        self.peer, _ = listener.accept()
        listener.close()

    def stream(self, cc, size=300000):
        """A flow that always has something to send and room for it: a packet every 500 us"""
        self.connect(cc)
        self.bytes = random.Random(1).randbytes(size)
        self.start(self.writer, self.sock)
        self.start(self.reader, self.peer)

    def storm(self):
        """Twelve BTS of 3 ms, 1 ms apart, for a stream whose watchdog grants 10 ms in 20; when the first came"""
        for name, value in (("pct", 50), ("interval_us", 20000), ("recovery_us", 20000)):
            self.h1.sysctl(f"bolt.watchdog_{name}", value)
        self.stream("cubic")
        self.running(20)
        quotes = self.sent(0)[-18:]
        start = self.bts(3 * MS, quotes[0])
        for n, quote in enumerate(quotes[1:12], 1):
            until(start + n * MS)
            self.bts(3 * MS, quote)
        return start

    def start(self, function, sock):
        pid = os.fork()
        if not pid:
            try:
                os._exit(0 if function(sock) else 1)
            finally:
                os._exit(2)
        self.forked.append(pid)

    def writer(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(self.bytes), 1400):
            sock.sendall(self.bytes[at:at + 1400])
            time.sleep(0.0005)
        sock.shutdown(socket.SHUT_WR)
        return True

    def reader(self, sock):
        got = b""
        while True:
            more = sock.recv(1 << 16)
            if not more:
                break
            got += more
        return got == self.bytes

    def streamed(self):
        """All came through, unchanged"""
        for pid in self.forked:
            expect("end of a writer, or of a reader and what it read", os.waitpid(pid, 0)[1], 0)
        self.forked = []
        self.sock.close()
        self.peer.close()

    def finish(self):
        """Both ends say that every byte came through"""
        for name, child in (("client", self.client), ("server", self.server)):
            try:
                out, _ = child.communicate(timeout=100)
            except subprocess.TimeoutExpired:
                failures.append(f"{name} never ends")
                child.kill()
                continue
            if child.returncode:
                failures.append(f"{name}: {out.strip()}")

    def last(self, what=Packet.data):
        self.capture()
        return next((p for p in reversed(self.packets) if what(p)), None)

    def now(self):
        return time.clock_gettime_ns(time.CLOCK_REALTIME)

    def running(self, packets=100):
        """Until so many data packets have left"""
        def enough():
            self.capture()
            return sum(p.data() for p in self.packets) >= packets
        poll(enough, f"{packets} packets sent")

    def message(self, pause, quote, **changes):
        head = changes.pop("head", None) or quote.quote()
        return packed(head, **{"type": 2, "tx": quote.tx or quote.tsval, "number": pause} | changes)

    def bts(self, pause, quote=None, **changes):
        """A BTS that quotes the newest data packet; returns when it came in"""
        quote = quote or self.last()
        before = self.stat("CtlRx")
        self.udp.sendto(self.message(pause, quote, **changes), (self.ip[0], bolt_ctl.PORT))
        if self.stat("CtlRx") != before + 1:
            failures.append("BTS not heard")
        return self.last(Packet.bts).when

    def stat(self, name):
        return self.h1.stats()[name]

    def first_data(self, after):
        """The first data packet that left after that time"""
        def there():
            self.capture()
            return any(p.data() and p.when > after for p in self.packets)
        if not poll(there, "data after the pause"):
            return None
        return next(p for p in self.packets if p.data() and p.when > after)

    def paused(self, what, came, pause):
        """Nothing new left from then on for that long, and at its end something did"""
        p = self.first_data(came + self.grace)
        if p and not 0 <= p.when - came - pause <= SLACK:
            failures.append(f"{what}: paused for {p.when - came} ns, not {pause}")
        return p

    def refused(self, what, counter, message):
        """It moves that counter and CtlRx, pauses nothing"""
        before = self.h1.stats()
        self.udp.sendto(message, (self.ip[0], bolt_ctl.PORT))
        after = self.h1.stats()
        moved = {k: after[k] - before[k] for k in after
                 if after[k] != before[k] and k.startswith(("Ctl", "Bts", "Pause"))}
        expect(what, moved, {"CtlRx": 1, counter: 1})

    def fd(self):
        """The client's socket, in this process too"""
        pid = self.client.pid
        fds = os.listdir(f"/proc/{pid}/fd")
        fd = next(int(n) for n in fds if os.readlink(f"/proc/{pid}/fd/{n}").startswith("socket"))
        return socket.socket(fileno=bolt_ctl.LIBC.syscall(438, os.pidfd_open(pid), fd, 0))

    def sent(self, start, end=None):
        """Data packets that left in between"""
        self.capture()
        return [p for p in self.packets if p.data() and p.when > start and
                (end is None or p.when < end)]


class Owner:
    """A user who owns a socket until he lets it go: he asks for a module, which is looked for with
    the socket locked, for as long as a FIFO is open.  Its directory is its own, as guests that run
    at the same time share the host's /tmp."""

    MODPROBE = "/proc/sys/kernel/modprobe"

    def __init__(self, sock):
        with open(self.MODPROBE, encoding="ascii") as f:
            self.before = f.read()
        self.dir = tempfile.mkdtemp(prefix="bolt-test.")
        fifo, script = f"{self.dir}/fifo", f"{self.dir}/modprobe"
        os.mkfifo(fifo)
        with open(script, "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\nread line <{fifo}\nexit 1\n")
        os.chmod(script, 0o755)
        with open(self.MODPROBE, "w", encoding="ascii") as f:
            f.write(script)
        self.pid = os.fork()
        if not self.pid:
            try:
                sock.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, b"none-such")
            except OSError:
                pass
            os._exit(0)
        # until the script reads
        self.fifo = os.open(fifo, os.O_WRONLY)

    def let_go(self):
        os.close(self.fifo)
        os.waitpid(self.pid, 0)
        with open(self.MODPROBE, "w", encoding="ascii") as f:
            f.write(self.before)
        shutil.rmtree(self.dir)


def until(when):
    """A moment of the capture's clock"""
    time.sleep(max(0, when - time.clock_gettime_ns(time.CLOCK_REALTIME)) / 1e9)


def nstat(ns, name):
    out = subprocess.run(["nsenter", f"--net=/run/netns/{ns.name}", "--", "nstat", "-asz", name],
                         capture_output=True, text=True, check=True).stdout
    return int(next(line.split()[1] for line in out.splitlines() if line.startswith(name)))
