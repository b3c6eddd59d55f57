#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The answer to a SYN comes while its socket is not what it was: softirq makes no object of its own, as
a user who owns the socket, and may be taking the congestion control away, would not notice it.  And a
socket that is connected, or listens, again after it fell back.

	H1 (connects) ---- H2 (answers 20 ms later, or by hand)
"""

import os
import socket
import struct
import subprocess
import sys
import tempfile

import bolt_ctl
from bolt_ctl import LIBC, TCP_CONGESTION, Namespace, expect, poll, sh
from bolt_forged import checksum
from lib_bpf import PROG_ATTACH, PROG_DETACH, bpf, load
from lib_pause import PORT, Owner
from lib_ynl import Family

SYN_SENT, ESTABLISHED = "02", "01"	# in /proc/net/tcp
A1, A2, SILENT = "192.0.2.1", "192.0.2.2", "192.0.2.7"
ETH_P_IP = 0x800


def algorithm(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0")


class Pair:
    """Two hosts, and a connection of H1's that H2 has yet to answer"""

    def __init__(self, to=A2, hooks=1):
        self.h1, self.h2 = Namespace("h1"), Namespace("h2")
        a, b = self.h1.name, self.h2.name
        sh(f"ip link add name eth0 netns {a} type veth peer name eth0 netns {b}")
        for ns, ip in ((a, A1), (b, A2)):
            sh(f"ip -n {ns} link set lo up; ip -n {ns} addr add {ip}/24 dev eth0;"
               f"ip -n {ns} link set eth0 up")
        self.mac = bytes.fromhex(self.hardware(self.h1).replace(":", ""))
        # nobody has that address, and so nobody refuses
        sh(f"ip -n {a} neigh add {SILENT} lladdr {self.hardware(self.h2)} dev eth0")
        sh(f"tc -n {b} qdisc add dev eth0 root netem delay 20ms")
        with self.h2:
            self.listener = socket.socket()
            self.listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"bolt")
            self.listener.bind((A2, PORT))
            self.listener.listen(1)
            self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        self.h1.sysctl("bolt.hooks", hooks)
        with self.h1:
            self.sock = socket.socket()
            self.sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"bolt")
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.sock.setblocking(False)
            self.sock.connect_ex((to, PORT))
        expect("SYN sent", self.state(), SYN_SENT)

    @staticmethod
    def hardware(ns):
        out = subprocess.run(["ip", "-n", ns.name, "-br", "link", "show", "eth0"],
                             capture_output=True, text=True, check=True).stdout
        return out.split()[2]

    def state(self):
        """Of H1's connection: /proc does not wait for its owner"""
        with self.h1, open("/proc/net/tcp", encoding="ascii") as f:
            return next((line.split()[3] for line in f.readlines()[1:]), None)

    def flows(self):
        return self.h1.now("Flows")

    def algorithm(self):
        return algorithm(self.sock)

    def connect(self, peer):
        """To a peer of that congestion control: what the socket uses then, its offers and fall-backs"""
        before = self.h1.stats()
        self.listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, peer)
        self.sock.connect_ex((A2, PORT))
        self.established()
        after = self.h1.stats()
        return self.algorithm(), *(after[k] - before[k] for k in ("SynTx", "Fallback"))

    def disconnect(self):
        """To AF_UNSPEC, which Python does not do"""
        self.listener.accept()[0].close()
        expect("connect(AF_UNSPEC)", LIBC.connect(self.sock.fileno(), bytes(16), 16), 0)

    def answer(self):
        """A SYN-ACK by hand, which accepts an offer"""
        while True:
            syn = self.raw.recv(200)
            if syn[9] == 6 and syn[33] == 2:
                break
        sport, dport, seq = struct.unpack("!HHI", syn[20:28])
        src, dst = syn[16:20], syn[12:16]
        tcp = struct.pack("!HHIIBBHHHBBH", dport, sport, 1000, seq + 1 & 0xffffffff, 6 << 4, 0x12,
                          60000, 0, 0, 254, 4, 0xb017)
        check = checksum(src + dst + struct.pack("!HH", 6, len(tcp)) + tcp)
        tcp = tcp[:16] + struct.pack("!H", check) + tcp[18:]
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, src, dst)
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        self.raw.sendto(ip + tcp, ("eth0", ETH_P_IP, 0, 0, self.mac))

    def received(self):
        with self.h1, open("/proc/net/dev", encoding="ascii") as f:
            return int(next(line for line in f if "eth0" in line).split()[2])

    def established(self):
        poll(lambda: self.state() == ESTABLISHED, "established")

    def close(self):
        self.sock.close()
        poll(lambda: self.state() is None, "the end of the connection")
        expect("objects at the end", self.flows(), 0)
        self.listener.close()
        self.raw.close()
        self.h1.close()
        self.h2.close()


def owned():
    """A user owns the socket while the answer comes: it is taken up when he lets go"""
    p = Pair()
    expect("objects", p.flows(), 1)
    owner = Owner(p.sock)
    poll(lambda: p.h1.stats()["SynAckRx"] == 1, "answer")
    expect("state while owned", p.state(), SYN_SENT)
    expect("objects while owned", p.flows(), 1)
    owner.let_go()
    p.established()
    expect("objects then", p.flows(), 1)
    expect("congestion control", p.algorithm(), b"bolt")
    expect("Negotiated", p.h1.stats()["Negotiated"], 1)
    p.close()


def owned_without_object():
    """The same of a SYN that offered nothing: the answer is nobody's, and makes no object"""
    p = Pair(SILENT, hooks=0)
    p.h1.sysctl("bolt.hooks", 1)
    p.h1.sysctl("bolt.fallback", "reno")
    expect("objects", p.flows(), 0)
    owner = Owner(p.sock)
    before = p.received()
    p.answer()
    poll(lambda: p.received() > before, "answer")
    expect("state while owned", p.state(), SYN_SENT)
    expect("objects while owned", p.flows(), 0)
    owner.let_go()
    p.established()
    expect("objects then", p.flows(), 0)
    expect("congestion control", p.algorithm(), b"reno")
    expect("Fallback", p.h1.stats()["Fallback"], 1)
    expect("SynAckRx", p.h1.stats()["SynAckRx"], 0)
    p.close()


def taken_away():
    """The congestion control is another one's when the answer comes"""
    p = Pair()
    p.sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")
    expect("objects", p.flows(), 0)
    p.established()
    expect("objects then", p.flows(), 0)
    expect("congestion control", p.algorithm(), b"cubic")
    p.close()


# BPF_PROG_TYPE_SOCK_OPS: if (ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
#	bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, "cubic", 6); return 1;
SOCK_OPS, CGROUP_SOCK_OPS = 13, 3
SELECT_CUBIC = (
    (0x61, 0x12, 0, 0), (0x55, 0x02, 8, 4), (0x62, 0x0a, -8, 0x69627563), (0x62, 0x0a, -4, ord("c")), (0xb7, 0x02, 0, socket.IPPROTO_TCP),
    (0xb7, 0x03, 0, TCP_CONGESTION), (0xbf, 0xa4, 0, 0), (0x07, 0x04, 0, -8), (0xb7, 0x05, 0, 6), (0x85, 0, 0, 49), (0xb7, 0, 0, 1),
    (0x95, 0, 0, 0))


def taken_by_program():
    """A program of the machine selects another one when the connection is established, which is before init()"""
    program = load(SOCK_OPS, *SELECT_CUBIC)
    with tempfile.TemporaryDirectory() as tmp:
        sh(f"mount -t cgroup2 none {tmp}")
        group = os.open(tmp, os.O_RDONLY)
        p = Pair()
        expect("objects", p.flows(), 1)
        bpf(PROG_ATTACH, "IIII", group, program, CGROUP_SOCK_OPS, 0)
        try:
            p.established()
        finally:
            bpf(PROG_DETACH, "IIII", group, program, CGROUP_SOCK_OPS, 0)
            os.close(group)
            sh(f"umount {tmp}")
    os.close(program)
    expect("congestion control", p.algorithm(), b"cubic")
    poll(lambda: p.flows() == 0, "no objects then")
    p.close()


def fallen_back():
    """A socket that was connected to a peer without Bolt, and is again what it was before connect()"""
    p = Pair()
    p.h1.sysctl("bolt.fallback", "reno")
    p.established()
    for peer, want in (b"bolt", (b"bolt", 1, 0)), (b"cubic", (b"reno", 1, 1)):
        p.disconnect()
        expect(f"after a connection, to {peer}", p.connect(peer), want)
    p.disconnect()
    return p


def again():
    """It keeps what it fell back to, as getsockopt says: the next connection offers nothing, until bolt is selected
    again"""
    p = fallen_back()
    expect("as it is", p.connect(b"bolt"), (b"reno", 0, 0))
    p.disconnect()
    p.sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"bolt")
    expect("selected again", p.connect(b"bolt"), (b"bolt", 1, 0))
    p.close()


def listens():
    """So too where it listens next: it accepts no offer"""
    p = fallen_back()
    p.sock.setblocking(True)
    p.sock.listen()
    for select, want in (None, (b"reno", 0)), (b"bolt", (b"bolt", 1)):
        if select:
            p.sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, select)
        before = p.h1.stats()["SynAckTx"]
        with p.h2, socket.socket() as peer:
            peer.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"bolt")
            peer.connect((A1, p.sock.getsockname()[1]))
            with p.sock.accept()[0] as child:
                expect(f"{select}", (algorithm(child), p.h1.stats()["SynAckTx"] - before), want)
    p.close()


TESTS = [owned, owned_without_object, taken_away, taken_by_program, again, listens]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
