#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# flavour: lab
"""A million forged control messages a second at a host that sends: they must not slow it down.

	H1 (sends) --- r1  R  r2 (sfc, 1 Gb/s, a band each) --- H2
	A (forges) --- r3

Beside transfers of bolt and cubic from H1, A sends eight messages every 8 us of virtual time, of
each kind that is refused at another place.  A even knows the newest packet of each transfer, but
not what that carried.  The transfers must take no longer, lose nothing, and believe R alone.  A CPU
takes no virtual time, so this is about what a message changes; selftests/bench/messages counts what
the host's CPU does for each.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import LIBC, Namespace, expect, expect_that, packed, poll, sh, write_seq
from lib_pause import PROGRAMS, Owner, Packet
from sfc_pfc import Router

GAP, BURST = 1000, 8
BYTES = 8000000
PR_SET_TIMERSLACK = 29
CCS = {5001: "bolt", 5002: "cubic"}
SEND, RECV = "192.0.2.1", "198.51.100.1"
# of each kind, where it is refused
KINDS = ("CtlVersion", "CtlNoSocket", "CtlSeq", "CtlTime", "CtlTime", "CtlOverrun")
DOUBTFUL = 32


class Net:
    """The hosts, and a connection of H1 whose receiver reads nothing"""

    def __init__(self):
        self.h1, self.r, self.h2, self.a = (Namespace(name) for name in ("h1", "r", "h2", "a"))
        h1, r, h2, a = (ns.name for ns in (self.h1, self.r, self.h2, self.a))
        Router.link(h1, "eth0", SEND, r, "r1", "192.0.2.254")
        Router.link(r, "r2", "198.51.100.254", h2, "eth0", RECV)
        Router.link(r, "r3", "203.0.113.254", a, "eth0", "203.0.113.1")
        for host, router in ((h1, "192.0.2.254"), (h2, "198.51.100.254"), (a, "203.0.113.254")):
            sh(f"ip -n {host} route add default via {router}")
        self.r.sysctl("ipv4.ip_forward", 1)
        self.h1.sysctl("bolt.sfc", 1)
        self.h1.sysctl("ipv4.tcp_no_metrics_save", 1)
        # a queue for cubic that loses nothing
        self.h2.sysctl("ipv4.tcp_rmem", "4096 131072 1000000")
        sh(f"tc -n {r} qdisc add dev r2 root sfc rate 1gbit bands 2 dscp 10:2; tc -n {h2} qdisc add dev eth0 root netem delay 100us")
        with self.h2:
            listener = socket.create_server((RECV, 5003))
            listener.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, b"bolt")
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with self.h1:
            self.sock = socket.socket()
            self.sock.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, b"bolt")
            self.sock.connect((RECV, 5003))
        self.peer, _ = listener.accept()
        listener.close()
        self.sock.setblocking(False)
        self.sock.send(bytes(1 << 20))
        # ports and number of what was written last, and waits for the window
        self.waits = struct.pack("!HHI", self.sock.getsockname()[1], 5003, (write_seq(self.sock) - 1) & 0xffffffff)

    def close(self):
        for x in (self.sock, self.peer, self.h1, self.r, self.h2, self.a):
            x.close()

    def sent(self):
        """SRC of the port, and that no message was left out"""
        out = subprocess.run(["tc", "-n", self.r.name, "-s", "-j", "qdisc", "show", "dev", "r2"], capture_output=True,
                             text=True, check=True).stdout
        (q,) = json.loads(out)
        expect("messages that R could not send", [q[k] for k in ("msg_limited", "msg_nomem", "msg_dropped", "msg_unfit")], [0] * 4)
        expect("drops", q["drops"], 0)
        return q["src_sent"]

    def xfer(self, ns, *words):
        return subprocess.Popen(["nsenter", f"--net=/run/netns/{ns.name}", "--", f"{PROGRAMS}/bolt_xfer", *map(str, words)],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def transfers(self):
        """Of BYTES each, at once: the ns that each took"""
        servers, clients, begin, took = {}, [], {}, {}
        for port, cc in CCS.items():
            server = self.xfer(self.h2, "cc", cc, "listen", RECV, port, "recv", BYTES, "recv-eof")
            server.stdout.readline()
            servers[server.pid] = cc, server
        for port, cc in CCS.items():
            begin[cc] = time.monotonic_ns()
            clients.append(self.xfer(self.h1, "tos", 40 * (cc == "cubic"), "cc", cc, "connect", RECV, port, "send", BYTES, "outq", "info"))
        while len(took) < len(CCS):
            for cc, server in servers.values():
                if cc not in took and server.poll() is not None:
                    took[cc] = time.monotonic_ns() - begin[cc]
                    expect(f"{cc}: received", server.returncode, 0)
            time.sleep(0.0001)
        for client in clients:
            said = client.communicate(timeout=100)[0]
            info = dict(word.split("=", 1) for word in said.split() if "=" in word)
            expect(f"retransmits: {said.strip() if client.returncode else ''}", info.get("retrans"), "0")
        return took


class Flood:
    """A process that forges, until it is stopped"""

    def __init__(self, net):
        with net.r:
            self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x800))
            self.tap.bind(("r1", 0x800))
            self.tap.setblocking(False)
        with net.a:
            self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.udp.bind(("203.0.113.1", bolt_ctl.PORT))
        self.newest, self.waits = {}, net.waits
        self.out, into = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                os.write(into, json.dumps(self.run()).encode())
            finally:
                os._exit(0)
        os.close(into)

    def stop(self):
        """How many of each kind"""
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        said = os.read(self.out, 65536)
        os.close(self.out)
        for sock in (self.tap, self.udp):
            sock.close()
        return json.loads(said or b"[]")

    def run(self):
        ended = []
        signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
        LIBC.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
        sent, at = [0] * len(KINDS), time.monotonic_ns()
        while not ended:
            self.learn()
            for kind in range(BURST) if len(self.newest) == len(CCS) else [0] * BURST:
                self.udp.sendto(self.message(kind % len(KINDS)), (SEND, bolt_ctl.PORT))
                sent[kind % len(KINDS)] += 1
            at += BURST * GAP
            time.sleep(max(0, at - time.monotonic_ns()) / 1e9)
        return sent

    def learn(self):
        """The newest packet of data of each transfer"""
        while True:
            try:
                data, addr = self.tap.recvfrom(100)
            except BlockingIOError:
                return
            if addr[2] != 4 and data[9] == 6:
                p = Packet(0, False, data)
                if p.dport in CCS and p.len > 0:
                    self.newest[p.dport] = p

    def message(self, kind):
        if not kind:
            return bytes(48)
        bolt, cubic = (self.newest.get(port) for port in CCS)
        head = bolt.quote()
        if kind == 1:
            return packed(head[:-8] + b"\0\x09" + head[-6:], 1, bolt.tx)
        if kind == 2:
            return packed(head[:-4] + struct.pack("!I", (bolt.seq + 1) & 0xffffffff), 1, bolt.tx)
        if kind == 3:
            return packed(head, 1, bolt.tx ^ 1 << 31)
        if kind == 4:
            return packed(cubic.quote(), 2, cubic.tsval ^ 1 << 31, 1000000)
        return packed(head[:-8] + self.waits, 1, bolt.tx)


def flood():
    """Transfers beside it take no longer, lose nothing, and believe R and nobody else"""
    net = Net()
    net.transfers()
    quiet = net.transfers()
    before, told = net.h1.stats(), net.sent()
    owner, attack = Owner(net.sock), Flood(net)
    took = net.transfers()
    kinds = attack.stop()
    true = net.sent() - told
    poll(lambda: net.h1.stats()["CtlRx"] == before["CtlRx"] + sum(kinds) + true, "all heard")
    after = net.h1.stats()
    moved = {k: after[k] - before[k] for k in after}
    print(f"    # {sum(kinds)} forged, {true} SRC; " +
          ", ".join(f"{cc}: {took[cc] / 1e6:.2f} ms beside them, {quiet[cc] / 1e6:.2f} ms alone" for cc in quiet))
    for cc in quiet:
        expect_that(f"{cc}: at most 1 % longer", took[cc] <= quiet[cc] * 1.01, (took[cc], quiet[cc]))
    expect_that("a million a second", sum(kinds) >= max(took.values()) / GAP * 0.99, sum(kinds))
    expect("SRC believed", [moved[k] for k in ("SrcRx", "BtsRx", "Pauses", "CtlNotBolt", "CtlReplay")], [true, 0, 0, 0, 0])
    expect_that("true ones", true > 50, true)
    for name in set(KINDS):
        count = sum(n for n, at in zip(kinds, KINDS) if at == name)
        # a transfer ends before the flood does, and the first wait for the owner
        expect_that(f"{name}, of {count}", 0.9 * count - DOUBTFUL < moved[name] < 1.1 * count + 50, moved[name])
    expect("the others wait", sum(kinds) - sum(moved[name] for name in set(KINDS)), DOUBTFUL)
    owner.let_go()
    net.close()


if __name__ == "__main__":
    sys.exit(bolt_ctl.main([flood]))
