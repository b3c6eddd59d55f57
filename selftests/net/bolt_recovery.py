#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
"""After a loss no retransmission is later than Reno's, and there is no timeout that Reno lacks.

	H1 (sender) ---- R (bolt_mbox: loses what the row says) ---- H2	10 Gb/s, 1 ms there and back

A row of the table is written at once to a new connection whose initial window is the row's.  What
recovery may send beyond the window must not be taken for the window.  RTOs in a row are those
without an ACK between them.  Time is virtual, so each run takes the same.  SLACK is what bolt's
spacing takes and Reno's burst does not: a packet's time on the link, for each of the row's.
"""

import itertools
import re
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import TCP_CONGESTION, TCP_INFO, Namespace, expect, expect_that, poll, sh, undo
from lib_pause import PROGRAMS

US = 1000
SLACK = 1300		# ns for each packet: 1514 bytes and what the link adds, at 10 Gb/s
DELAY = 500		# us, each way
TICKS = 512 * 1000000	# ns; timers below that have a granularity that divides it
ADDRESS = "192.0.2.2"
RECOVERY = 3		# tcpi_ca_state
LOCKED = "1 cwnd lock 1"	# initcwnd, and a snd_cwnd_clamp

# the window, how many packets are written, and which are lost: N the first time, NxT the first T times
ROWS = [
    (40, 40, "1"), (40, 40, "1,5-40"), (40, 40, "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39"),
    (40, 40, "2-6"), (40, 40, "10-30"), (40, 40, "1x2"), (40, 40, "20x2"), (40, 40, "1x2,2-3"), (40, 40, "1,40"),
    (40, 40, "40"), (40, 40, "39-40"), (40, 40, "37-40"), (40, 40, "1-37"), (40, 40, "1-40"), (40, 40, "38"),
    (40, 80, "1"), (40, 80, "1x2"), (40, 80, "1x3"), (40, 80, "5-9x2"), (40, 80, "1,5-40"), (40, 80, "1,41-44"),
    (10, 10, "1"), (10, 10, "1,5-10"), (10, 10, "1,3,5,7"), (10, 10, "1-5"), (10, 10, "1-7"), (10, 10, "1x2"),
    (10, 10, "8-10"), (10, 10, "10"), (10, 10, "1-9"), (10, 10, "1-10"), (10, 20, "1x2"), (10, 20, "2,4,6"),
    (3, 3, "1"), (3, 3, "2"), (3, 3, "3"), (3, 3, "1-2"), (3, 3, "1,3"), (3, 3, "1-3"), (3, 3, "1x2"), (3, 6, "1-2"),
    (2, 2, "1"), (2, 2, "2"), (2, 2, "1-2"), (2, 4, "1"), (2, 2, "2x2"),
    (1, 1, "1"), (1, 1, "1x2"),
]


class Path:
    """A sender, a middlebox that loses, a receiver"""

    def __init__(self, us=DELAY):
        self.us = us
        self.h1, self.r, self.h2 = Namespace("h1"), Namespace("r"), Namespace("h2")
        self.port = itertools.count(5001)
        for h, dev, n in ((self.h1, "r1", 1), (self.h2, "r2", 2)):
            sh(f"""ip link add name eth0 netns {h.name} type veth peer name {dev} netns {self.r.name}
                ip -n {self.r.name} link set {dev} up
                ip -n {h.name} link set lo up
                ip -n {h.name} link set eth0 gso_max_segs 1 up
                ip -n {h.name} addr add 192.0.2.{n}/24 dev eth0
                ip netns exec {h.name} ethtool -K eth0 tso off gso off gro off tx off rx off >/dev/null 2>&1
                tc -n {h.name} qdisc add dev eth0 root netem limit 10000 delay {us}us""")
            h.sysctl("ipv4.tcp_no_metrics_save", 1)
            h.sysctl("bolt.fallback", "reno")

    def timeouts(self):
        with self.h1, open("/proc/net/netstat", encoding="ascii") as f:
            names, values = [line.split() for line in f if line.startswith("TcpExt:")]
        return int(values[names.index("TCPTimeouts")])

    def metrics(self):
        return subprocess.run(["ip", "-n", self.h1.name, "tcp_metrics", "show", ADDRESS], capture_output=True,
                              text=True, check=False).stdout

    def lossy(self, what):
        """From here on these packets are lost of the next connection"""
        with self.r:
            mbox = subprocess.Popen([PROGRAMS + "/bolt_mbox", "r1", "r2", *what], stdout=subprocess.PIPE, text=True)
        undo.append(f"kill {mbox.pid} 2>/dev/null")
        expect("bolt_mbox", mbox.stdout.readline(), "ready\n")
        return mbox

    def delay(self, us):
        sh(f"tc -n {self.h1.name} qdisc replace dev eth0 root netem limit 10000 delay {us}us")

    def connect(self, cc, peer, port, window):
        """A connection of H1's to H2 with that initial window, which also H2's end and listener belong to"""
        sh(f"ip -n {self.h1.name} route replace 192.0.2.0/24 dev eth0 initcwnd {window}")
        with self.h2:
            listener = socket.socket()
            listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, peer.encode())
            listener.bind((ADDRESS, port))
            listener.listen()
        with self.h1:
            sock = socket.socket()
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc.encode())
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.delay(self.us - 20)
        # the same tick of the timer wheel for all: a retransmission timer of 200 ms is up to 8 ms late
        time.sleep((TICKS - time.monotonic_ns() % TICKS) / 1e9)
        sock.connect((ADDRESS, port))
        there, _ = listener.accept()
        # never below the minimum RTT: RACK would not believe the ACK of a retransmission
        self.delay(self.us)
        return sock, there, listener

    def transfer(self, cc, peer, row):
        """Nanoseconds until all of it is read, and timeouts"""
        window, packets, lost = row
        port = next(self.port)
        mbox = self.lossy(["lose", lost, "up", "port", str(port)])
        sock, there, listener = self.connect(cc, peer, port, window)
        expect(f"{cc}: congestion control", used(sock), "reno" if (cc, peer) == ("bolt", "reno") else cc)
        size = packets * mss(sock)
        before, start = self.timeouts(), time.monotonic_ns()
        sock.sendall(b"x" * size)
        received(there, size)
        took = time.monotonic_ns() - start
        timeouts = self.timeouts() - before
        poll(lambda: not unacked(sock), "the last ACK")
        for s in sock, there, listener:
            s.close()
        mbox.terminate()
        said = mbox.communicate()[0]
        expect_that(f"{cc} {row}: lost", "changed=0" not in said, said)
        return took, timeouts


def used(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()


def mss(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)


def unacked(sock):
    return struct.unpack_from("I", sock.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104), 24)[0]


def received(sock, size):
    while size:
        size -= len(sock.recv(size))


RENO = {}


def beside_reno(cc, peer):
    path = Path()
    for row in ROWS:
        if row not in RENO:
            RENO[row] = path.transfer("reno", "reno", row)
        reno, reno_timeouts = RENO[row]
        took, timeouts = path.transfer(cc, peer, row)
        print(f"    # {row}: {cc} {took // US} us, {timeouts} timeouts; reno {reno // US}, {reno_timeouts}")
        expect_that(f"{cc} {row}: us", took <= reno + SLACK * row[1], f"{took // US}, reno {reno // US}")
        expect_that(f"{cc} {row}: timeouts", timeouts <= reno_timeouts, f"{timeouts}, reno {reno_timeouts}")


def bolt():
    beside_reno("bolt", "bolt")


def swift():
    beside_reno("swift", "swift")


def bolt_without_option():
    beside_reno("bolt", "reno")


def swift_without_option():
    beside_reno("swift", "reno")


# --- what recovery may send beyond the window ---

def recovery(sock):
    """The state, and snd_cwnd"""
    info = sock.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104)
    return info[1], struct.unpack_from("I", info, 80)[0]


def stuck(path, row):
    """A connection of bolt's whose first packet is lost twice: in recovery until the RTO"""
    window, packets, lost = row
    port = next(path.port)
    path.lossy(["lose", lost, "up", "port", str(port)])
    ends = path.connect("bolt", "bolt", port, window)
    ends[0].sendall(b"x" * packets * mss(ends[0]))
    poll(lambda: recovery(ends[0])[0] == RECOVERY, "recovery")
    return ends


def handed_over():
    """The next congestion control gets the window"""
    sock, *_ = ends = stuck(Path(), (40, 40, "1x2,5-40"))
    expect("bolt", recovery(sock), (RECOVERY, 37))
    sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")
    expect("cubic", recovery(sock), (RECOVERY, 20))
    for s in ends:
        s.close()


def clamped():
    """Recovery may send two packets, but not if the route's cwnd is one: the tail loss probe was the second"""
    path = Path()
    # TCP reads a locked cwnd from its metrics, which begin with a connection that ends
    path.h1.sysctl("ipv4.tcp_no_metrics_save", 0)
    mbox = path.lossy(["lose", "1", "up", "port", "1"])
    ends = path.connect("bolt", "bolt", next(path.port), LOCKED)
    ends[0].sendall(b"x")
    received(ends[1], 1)
    for s in ends:
        s.close()
    poll(lambda: "age" in path.metrics(), "metrics")
    mbox.terminate()
    mbox.wait()
    sock, *_ = ends = stuck(path, (LOCKED, 4, "1x2"))
    expect("bolt", recovery(sock), (RECOVERY, 1))
    for s in ends:
        s.close()


def last():
    """LAST is of what fits into the window"""
    path = Path()
    port = next(path.port)
    path.lossy(["lose", "1", "up", "port", str(port)])
    with path.h1:
        sniff = subprocess.Popen([PROGRAMS + "/bolt_sniff", "eth0"], stdout=subprocess.PIPE, text=True)
    undo.append(f"kill {sniff.pid} 2>/dev/null")
    expect("bolt_sniff", sniff.stdout.readline(), "ready\n")
    sock, there, listener = path.connect("bolt", "bolt", port, 40)
    size = 80 * mss(sock)
    sock.sendall(b"x" * size)
    received(there, size)
    sniff.terminate()
    packets = re.findall(r"^(in|out) tcp .* seq=(\d+) ack=(\d+) .* len=(\d+) .* bflags=(\w+)",
                         sniff.communicate()[0], re.MULTILINE)
    data = [n for n, (way, _, _, length, _) in enumerate(packets) if way == "out" and length != "0"]
    first = packets[data[0]][1]
    again = [n for n in data if packets[n][1] == first][1]
    acked = next(n for n, (way, _, ack, _, _) in enumerate(packets) if way == "in" and ack != first)
    flags = [packets[n][4] for n in data if again < n < acked]
    expect("flags of the data beside the retransmission", set(flags), {"DAI"})
    for s in sock, there, listener:
        s.close()


def apart(cc, peer, timestamps, cwnd):
    """Five RTOs, each of which brings one packet through: half the window of 200 for each, and no reset"""
    path = Path()
    path.h1.sysctl("ipv4.tcp_timestamps", timestamps)
    port = next(path.port)
    # each ACK has the others sent again, and the tail loss probe is the last
    path.lossy(["lose", "1,2x2,3x3,4x4,5x6", "up", "port", str(port)])
    sock, there, _ = ends = path.connect(cc, peer, port, 200)
    sock.sendall(b"x" * 5 * mss(sock))
    received(there, 5 * mss(sock))
    poll(lambda: not unacked(sock), "the last ACK")
    expect("timeouts", path.timeouts(), 5)
    expect("RtoDec", path.h1.stats()["RtoDec"], 5)
    expect("window", recovery(sock)[1], cwnd)
    for s in ends:
        s.close()


def bolt_apart():
    apart("bolt", "bolt", 1, 6)


def swift_apart():
    """Without option and timestamps, the ACK of a retransmission has no sample of delay"""
    apart("swift", "reno", 0, 6)


def sampled():
    """Without SACK, TCP takes the RTT of a retransmission from the timestamps, whose tick is ten times the round trip"""
    path = Path(50)
    path.h1.sysctl("ipv4.tcp_sack", 0)
    path.h1.sysctl("bolt.base_rtt_ns", 100 * US)
    path.h1.sysctl("bolt.swift_base_ns", 300 * US)
    for cc in "bolt", "swift":
        path.transfer(cc, cc, (40, 40, "5"))
        expect(f"{cc}: window halved", path.h1.stats()["LossDec"], 1 if cc == "bolt" else 2)
        expect(f"{cc}: by delay", path.h1.stats()["SwiftDec"], 0)


if __name__ == "__main__":
    sys.exit(bolt_ctl.main([bolt, swift, bolt_without_option, swift_without_option, handed_over, clamped, last, bolt_apart,
                            swift_apart, sampled]))
