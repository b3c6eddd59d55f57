#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What a pause must not take from a flow, and what may come to it in the middle of one.

A BTS pauses a sending host's flow by hand (lib_pause.py).  Pacing and spacing must be as before
afterwards, ACKs and SACK must go out in time, no time stamp may go back, and the flow must survive
FIN, RST, an RTO, a closed window, keepalive, a change of congestion control, and the end of the
module or of its namespace.
"""

import os
import random
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import Namespace, expect, failures, poll, sh
from lib_pause import CWR, FIN, MS, PORT, RST, SLACK, Host, Owner, nstat

SO_MAX_PACING_RATE, TCP_MD5SIG, TCP_AO_ADD_KEY = 47, 14, 38


def spread(packets):
    """Packets that left at the same moment as the one before"""
    return sum(b.when - a.when < SLACK for a, b in zip(packets, packets[1:]))


def status_put_back():
    """A flow that was not paced is not paced after the pause; one that was, or is to be since, is"""
    for qdisc in (None, "fq"):
        for cc, opts, paced, late in (("cubic", (), qdisc == "fq", False), ("bbr", (), True, False),
                                      ("cubic", ("pacing", 40000000), True, False),
                                      ("cubic", (), True, True)):
            h = Host(qdisc)
            # so slowly that fq holds what TCP queues, 1 ms of its rate as memory
            h.grace = MS if qdisc else h.grace
            # the window is far larger than what is in flight: a rate by it would not be seen
            for when in ("ss", "ca"):
                h.h1.sysctl(f"ipv4.tcp_pacing_{when}_ratio", 5)
            h.transfer(cc, 1000000, before=opts)
            h.running(40)
            before = spread(h.sent(0)[-20:])
            for _ in range(2):
                came = h.bts(3 * MS)
                if late:
                    h.fd().setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 40000000)
                h.paused(cc, came, 3 * MS)
                poll(lambda: len(h.sent(came + 3 * MS)) > 40, "goes on")
                after = spread(h.sent(came + 3 * MS)[:20])
                if (after >= 15) == paced:
                    failures.append(f"{cc} {opts} over {qdisc}: {after} of 20 in bursts, "
                                    f"{before} before")
            h.finish()
            h.close()


# ns by which a packet may leave fq late, and the next be in time (its timer_slack)
FQ_SLACK = 10000


def spacing():
    """A flow that is paced comes back at its rate: what it could not send it does not make up for"""
    rate = 40000000
    for qdisc in (None, "fq"):
        h = Host(qdisc)
        for when in ("ss", "ca"):
            h.h1.sysctl(f"ipv4.tcp_pacing_{when}_ratio", 1000)
        h.transfer("cubic", 1000000, before=("pacing", rate))
        h.running(40)
        for pause in (3 * MS, 9 * MS):
            came = h.bts(pause)
            h.paused(f"over {qdisc}", came, pause)
            poll(lambda: len(h.sent(came + pause)) > 40, "goes on")
            p = h.sent(came + pause)[:20]
            # a packet is due when the one before has left at that rate
            early = [b.when - a.when - a.len * 10**9 // rate for a, b in zip(p, p[1:])]
            if min(early) < -SLACK - (FQ_SLACK if qdisc == "fq" else 0):
                failures.append(f"over {qdisc}, {pause} ns: {-min(early)} ns too early")
        h.finish()
        h.close()


def zero_window():
    """The receiver closes its window during a pause: probed an RTO after its end, nothing is lost"""
    for qdisc in (None, "fq"):
        h = Host(qdisc, delay="10ms", window=20000)
        h.h1.sysctl("bolt.max_pause_us", 1000000)
        h.h1.sysctl("bolt.watchdog_pct", 100)
        h.h2.sysctl("ipv4.tcp_window_scaling", 0)
        h.connect("cubic")
        h.bytes = random.Random(2).randbytes(100000)
        h.start(h.writer, h.sock)
        # nobody reads: the last that there is room for is on its way, and not acknowledged yet
        poll(lambda: h.last() and window_of(h) < 3000 and
             (end_of(h.last()) - acked(h)) & 0xffffffff == window_of(h), "a full window")
        came = h.bts(300 * MS)
        poll(lambda: window_of(h) == 0, "a closed window")
        closed = h.now()
        expect("closed during the pause", closed < came + 100 * MS, True)

        def probes():
            h.capture()
            return [p for p in h.packets if p.proto == 6 and p.out and p.dport == PORT and
                    p.when > closed]
        poll(lambda: len(probes()) >= 2, f"over {qdisc}: probes")
        first = probes()[0]
        expect(f"over {qdisc}: their bytes", sum(p.len for p in probes()), 0)
        # its timer, armed during the pause, counts from the end: RTO, 200 ms at least
        if not 200 * MS <= first.when - came - 300 * MS <= 300 * MS:
            failures.append(f"over {qdisc}: probed {first.when - came} ns after the BTS")
        poll(lambda: h.last(lambda p: p.proto == 6 and not p.out).when > first.when, "its answer")
        h.start(h.reader, h.peer)
        h.streamed()
        h.close()


def window_of(h):
    """The window that H2 has announced last"""
    p = h.last(lambda p: p.proto == 6 and not p.out)
    return int.from_bytes(p.raw[p.l4 + 14:p.l4 + 16], "big")


def keepalive():
    """A connection that is silent and paused is kept alive; its data waits"""
    for qdisc in (None, "fq"):
        h = Host(qdisc, delay="10ms")
        h.h1.sysctl("bolt.max_pause_us", 1000000)
        h.h1.sysctl("bolt.watchdog_pct", 100)
        h.connect("cubic")
        h.sock.sendall(b"x" * 1000)
        poll(h.last, "data")
        came = h.bts(900 * MS)
        h.peer.recv(1000)
        last = h.last()
        poll(lambda: acked(h) == end_of(last), "acknowledged")
        # the shortest that a socket can ask for is a second, so let all of them be due
        h.h1.sysctl("ipv4.tcp_keepalive_time", 0)
        asked = h.now()
        h.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

        def probe():
            return h.last(lambda p: p.proto == 6 and p.out and p.when > asked and not p.len)
        if poll(probe, "a keepalive probe"):
            expect(f"over {qdisc}: its sequence", probe().seq, (end_of(last) - 1) & 0xffffffff)
            if probe().when > came + 500 * MS:
                failures.append(f"over {qdisc}: probed {probe().when - came} ns after the BTS")
            poll(lambda: h.last(lambda p: p.proto == 6 and not p.out).when > probe().when,
                 "its answer")
        h.sock.sendall(b"y" * 500)
        h.paused(f"over {qdisc}", came, 900 * MS)
        expect(f"over {qdisc}: bytes", h.peer.recv(1000), b"y" * 500)
        h.sock.close()
        h.peer.close()
        h.close()


RTM_NEWROUTE, RTAX_FEATURES, RTAX_FEATURE_TCP_USEC_TS = 24, 12, 1 << 4


def usec_timestamps(h):
    """H1's timestamps are in us: a feature of the route, which iproute2 6.1 has no name for"""
    dst, oif = socket.inet_aton("192.0.2.0"), None
    with h.h1, socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as nl:
        oif = socket.if_nametoindex("eth0")
        metric = struct.pack("=HHI", 8, RTAX_FEATURES, RTAX_FEATURE_TCP_USEC_TS)
        attrs = struct.pack("=HH4s", 8, 1, dst) + struct.pack("=HHI", 8, 4, oif) + \
            struct.pack("=HH", 4 + len(metric), 8) + metric
        # main table, kernel's protocol and link scope: the route that the address has made
        rtm = struct.pack("=BBBBBBBBI", 2, 24, 0, 0, 254, 2, 253, 1, 0)
        nl.send(struct.pack("=IHHII", 16 + len(rtm) + len(attrs), RTM_NEWROUTE, 0x105, 1, 0) +
                rtm + attrs)
        expect("route", struct.unpack("=i", nl.recv(4096)[16:20])[0], 0)


def kernel():
    return tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])


def marked():
    """A mark of congestion reduces the window once, also if the packet that was to answer it is turned back"""
    for cc in "cubic", "bolt":
        h = Host(delay="20ms", window=4000000)
        for ns in h.h1, h.h2:
            ns.sysctl("ipv4.tcp_ecn", 1)
        sh(f"ip -n {h.h1.name} route replace 192.0.2.0/24 dev eth0 initcwnd 10")
        sh(f"ip netns exec {h.h2.name} nft 'add table ip t;"
           f"add chain ip t c {{ type filter hook input priority 0; }}; add rule ip t c ip ecn ect0 ip ecn set ce'")
        h.h1.sysctl("bolt.max_pause_us", 1000000)
        h.h1.sysctl("bolt.watchdog_pct", 100)
        h.stream(cc)
        h.running(10)
        sh(f"ip netns exec {h.h2.name} nft delete table ip t")
        # the marks are answered while a user owns the socket, whose window is full
        owner = Owner(h.sock)
        came = h.bts(60 * MS)
        time.sleep(0.03)
        owner.let_go()
        h.streamed()
        sent = h.sent(came)
        expect(f"{cc}: packets with CWR", [n for n, p in enumerate(sent) if p.flags & CWR], [0])
        if cc == "bolt":
            expect("LossDec", h.stat("LossDec"), 1)
        h.close()


def acks_in_time():
    """What is received in a pause is acknowledged at once, with a TSval of that time"""
    for qdisc in (None, "fq"):
        for unit in (MS, 1000) if kernel() >= (6, 7) else (MS,):
            h = Host(qdisc)
            if unit == 1000:
                usec_timestamps(h)
            h.connect("cubic")
            h.sock.sendall(b"x" * 1000)
            poll(h.last, "data")
            q = h.last()
            came = h.bts(9 * MS)
            h.sock.sendall(b"y" * 1000)
            for _ in range(5):
                h.peer.sendall(b"z" * 3000)
                time.sleep(0.001)
            h.paused(f"over {qdisc}", came, 9 * MS)
            acks = [p for p in h.packets if p.proto == 6 and p.out and not p.len and
                    came < p.when < came + 8 * MS]
            # also of what was to ride on data that is turned back
            if len(acks) < 5:
                failures.append(f"over {qdisc}: {len(acks)} ACKs during the pause")
            for p in acks:
                late = (p.tsval - q.tsval) * unit - (p.when - q.when)
                if not -unit - SLACK <= late <= unit + SLACK:
                    failures.append(f"over {qdisc}, unit {unit} ns: a TSval {late} ns off")
            h.sock.close()
            h.peer.close()
            h.close()


def acks_each():
    """A bolt receiver acknowledges each packet also after a reply of its own was turned back"""
    h = Host("fq")
    h.connect("bolt")
    h.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    h.sock.sendall(b"x" * 1000)
    poll(h.last, "data")
    came = h.bts(9 * MS)
    for _ in range(3):
        for sock in h.peer, h.sock:
            sock.sendall(b"z" * 500)
            time.sleep(0.0012)
    h.paused("bolt", came, 9 * MS)
    acks = [p for p in h.packets if p.proto == 6 and p.out and not p.len and came < p.when < came + 8 * MS]
    expect("ACKs during the pause", len(acks), 3)
    h.sock.close()
    h.peer.close()
    h.close()


def sacks_in_time():
    """A hole, and what came twice, are reported at once also if the data that was to do it is turned back"""
    for twice in False, True:
        h = Host("fq")
        h.h1.sysctl("bolt.max_pause_us", 1000000)
        h.h1.sysctl("bolt.watchdog_pct", 100)
        h.connect("cubic")
        h.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        h.sock.sendall(b"x" * 1000)
        poll(h.last, "data")
        came = h.bts(900 * MS)
        h.sock.sendall(b"y" * 1000)
        # the first of two is lost on its way; or its ACK is, so that it is sent again
        ns, rule = (h.h2, "ip saddr 192.0.2.1") if twice else (h.h1, "ip length 652")
        nft = f"ip netns exec {ns.name} nft"
        sh(f"{nft} 'add table ip t; add chain ip t c {{ type filter hook input priority 0; }}; add rule ip t c {rule} drop'")
        # since 6.7 fq tells TCP with each ACK to leave pacing to it
        h.peer.sendall(b"z" * 3000)
        time.sleep(0.002)
        h.peer.sendall(b"u" * 600)
        time.sleep(0.002)
        h.peer.sendall(b"v" * 500)

        def event():
            data = [p for p in h.packets if p.proto == 6 and not p.out and p.when > came and p.len]
            again = [b for n, b in enumerate(data) if end_of(b) in map(end_of, data[:n])]
            return again if twice else [p for p in data if p.len == 500]
        if poll(lambda: h.capture() or event(), "the segment"):
            time.sleep(0.001)
            h.capture()
            acks = [p for p in h.packets if p.proto == 6 and p.out and p.sack and 0 <= p.when - event()[0].when < MS]
            expect(f"ACKs at once, twice {twice}", len(acks), 1)
            expect("a D-SACK", bool(acks) and (acks[0].ack - acks[0].sack[0][1]) & 0xffffffff < 1 << 31, twice)
            before = len(h.packets)
            for _ in range(10):
                h.sock.sendall(b"w" * 10)
                time.sleep(0.001)
            h.capture()
            # once more, if its peer sends again what has been lost
            acks = [p for p in h.packets[before:] if p.proto == 6 and p.out and not p.len]
            expect(f"ACKs without news, twice {twice}: {len(acks)}", len(acks) <= 2, True)
        sh(f"{nft} delete table ip t")
        h.sock.close()
        h.peer.close()
        h.close()


def mtu_probe():
    """The first packet after a pause probes for the MTU: TCP takes it off a window that begins anew, with one"""
    h = Host()
    for name, value in ("mtu_probing", 2), ("probe_threshold", 2000):
        h.h1.sysctl(f"ipv4.tcp_{name}", value)
    sh(f"ip -n {h.h1.name} route replace 192.0.2.0/24 dev eth0 initcwnd 1")
    h.stream("bolt", 1000000)
    cwnd = lambda: struct.unpack_from("=I", h.sock.getsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_INFO, 104), 80)[0]
    poll(lambda: cwnd() >= 16, "a window")
    h.h1.sysctl("ipv4.tcp_probe_threshold", 8)
    size = max(p.len for p in h.sent(0))
    came = h.bts(9 * MS)
    poll(lambda: h.capture() or len(h.sent(came + h.grace)) > 4, "goes on")
    expect("begins with a probe", h.sent(came + h.grace)[0].len > size, True)
    h.streamed()
    h.close()


def sign(sock, peer, option):
    """From now on, where timestamps have been negotiated, as Linux does not with MD5"""
    value = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(peer))
    if option == TCP_MD5SIG:
        value += struct.pack("=BBHi80s", 0, 0, 6, 0, b"secret")
    else:
        value += struct.pack("=64siIHBBBBBB80s", b"hmac(sha1)", 0, 3, 0, 32, 1, 1, 12, 0, 6, b"secret")
    for name, with_it in (bolt_ctl.TCP_REPAIR, 1), (option, value), (bolt_ctl.TCP_REPAIR, -1):
        sock.setsockopt(socket.IPPROTO_TCP, name, with_it)


def signed():
    """A TSval in a signed packet is left as it is, and none is older than one before, whatever a later BTS says"""
    for option in (TCP_MD5SIG, TCP_AO_ADD_KEY) if kernel() >= (6, 7) else (TCP_MD5SIG,):
        h = Host(delay="3ms")
        h.connect("cubic")
        sign(h.sock, h.ip[1], option)
        sign(h.peer, h.ip[0], option)
        h.peer.sendall(b"z" * 6000)
        time.sleep(0.002)
        h.sock.sendall(b"x" * 1000)
        poll(h.last, "data")
        q = h.last()
        came = h.bts(9 * MS, q)
        h.sock.sendall(b"y" * 1000)
        time.sleep(0.002)
        h.capture()
        acks = [p for p in h.packets if p.proto == 6 and p.out and p.when > came]
        expect(f"{option}: ACKs with TSval of its end", bool(acks) and all(p.tsval - q.tsval >= 8 for p in acks), True)
        h.bts(MS, q, switch=1)
        poll(lambda: len(h.peer.recv(2000, socket.MSG_PEEK)) == 2000, "all")
        for name in "TcpExtPAWSEstab", {TCP_MD5SIG: "TcpExtTCPMD5Failure", TCP_AO_ADD_KEY: "TcpExtTCPAOBad"}[option]:
            expect(name, nstat(h.h2, name), 0)
        h.sock.close()
        h.peer.close()
        h.close()


def mangled():
    """What a filter has made of the timestamps, where a VRF has one before the module sees the packet, is left alone"""
    h = Host()
    a = h.h1.name
    sh(f"ip -n {a} link add red type vrf table 10; ip -n {a} link set red up")
    for dev in "eth0", "eth1":
        sh(f"ip -n {a} link set {dev} master red")
    h.h1.sysctl("ipv4.udp_l3mdev_accept", 1)
    h.connect("cubic", "red")
    h.sock.sendall(b"x" * 1000)
    poll(h.last, "data")
    came = h.bts(9 * MS)
    # a timestamp of four bytes
    sh(f"ip netns exec {a} nft 'add table ip t; add chain ip t c {{ type filter hook output priority 0; }};"
       "add rule ip t c oifname red tcp doff 8 @th,160,96 set 0x010101010101080611223344'")
    h.peer.sendall(b"z" * 3000)
    ack = lambda p: p.proto == 6 and p.out and not p.len and p.when > came
    poll(lambda: h.last(ack), "an ACK")
    expect("TSval", h.last(ack).tsval, 0x11223344)
    h.sock.close()
    h.peer.close()
    h.close()


def end_of(p):
    """The sequence number behind it"""
    return (p.seq + p.len) & 0xffffffff


def acked(h):
    """The last byte that H2 has acknowledged"""
    return h.last(lambda p: p.proto == 6 and not p.out).ack


def load():
    sh(f"insmod {os.environ['BOLT_MODULES']}/tcp_bolt.ko")


def module_gone():
    """Unloading in the middle of a pause: the flow goes on at once, nothing is lost"""
    h = Host()
    h.h1.sysctl("bolt.max_pause_us", 1000000)
    h.h1.sysctl("bolt.watchdog_pct", 100)
    h.transfer("cubic", 500000)
    h.running(20)
    h.bts(900 * MS)
    time.sleep(0.005)
    gone = h.now()
    sh("rmmod tcp_bolt")
    p = h.first_data(gone)
    if p and p.when - gone > 200 * MS:
        failures.append(f"went on {p.when - gone} ns later")
    h.finish()
    load()
    h.close()


def namespace_gone():
    """A namespace and its processes, in the middle of a pause: it is gone when the pause is over"""
    h = Host()
    h.h1.sysctl("bolt.max_pause_us", 1000000)
    h.h1.sysctl("bolt.watchdog_pct", 100)
    h.transfer("cubic", 5000000)
    h.running(20)
    h.bts(900 * MS)
    # the socket goes at once, without a FIN to wait for: the pause alone keeps the namespace
    h.fd().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    h.whole = False
    h.close()
    bolt_ctl.undo.remove(f"ip netns del {h.h1.name}")
    sh(f"ip netns del {h.h1.name}")

    # its end of the pair goes with the namespace, and so does the other
    def gone():
        return subprocess.run(f"ip -n {h.h2.name} link show eth0", shell=True, check=False,
                              capture_output=True).returncode
    poll(gone, "end of the namespace")
    sh("rmmod tcp_bolt")
    load()


def fin_and_rst():
    """FIN waits behind its data; RST does not wait"""
    for qdisc in (None, "fq"):
        h = Host(qdisc, delay="10ms", window=4000000)
        h.stream("cubic", 40000)
        h.running(20)
        came = h.bts(9 * MS)
        h.sock.sendall(b"")
        h.streamed()
        fin = h.last(lambda p: p.proto == 6 and p.out and p.flags & FIN)
        expect(f"over {qdisc}: FIN with or after the last data",
               fin.when >= h.last().when and not came + h.grace < fin.when < came + 9 * MS, True)
        h.close()

        h = Host(qdisc, delay="10ms")
        h.transfer("cubic", 5000000)
        h.running(20)
        came = h.bts(9 * MS)
        h.fd().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        h.client.kill()
        h.client.wait()
        rst = None

        def reset():
            nonlocal rst
            rst = h.last(lambda p: p.proto == 6 and p.out and p.flags & RST)
            return rst
        if poll(reset, "RST") and rst.when > came + 8 * MS:
            failures.append(f"over {qdisc}: RST {rst.when - came} ns after the BTS")
        h.close()


def other_congestion_control():
    """Changed during the pause: it lasts, and the new one goes on in its own way"""
    for a, b in (("cubic", "bbr"), ("bolt", "cubic"), ("bbr", "reno")):
        h = Host()
        h.transfer(a, 1000000)
        h.running(20)
        came = h.bts(5 * MS)
        with_fd = h.fd()
        with_fd.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, b.encode())
        with_fd.close()
        h.paused(f"{a} to {b}", came, 5 * MS)
        h.finish()
        # BBR's rate is no longer that of its beginning
        if b == "bbr":
            expect("bbr in bursts", spread(h.sent(came + 5 * MS)[100:120]) >= 15, False)
        h.close()


def owned():
    """A user owns the socket while two BTS come: the later holds all the same"""
    h = Host(delay="20ms", window=4000000)
    h.stream("cubic")
    h.running(20)
    owner = Owner(h.sock)
    quotes = h.sent(0)[-2:]
    h.bts(9 * MS, quotes[0])
    came = h.bts(6 * MS, quotes[1])
    expect("CtlDeferred", h.stat("CtlDeferred"), 2)
    owner.let_go()
    h.paused("owned", came, 6 * MS)
    h.streamed()
    h.close()


def owned_for_ever():
    """Nobody waits for a user who owns a socket: namespaces go meanwhile, and the module"""
    for cc, kind in (("cubic", 2), ("bolt", 1)):
        h = Host(delay="20ms", window=4000000)
        h.stream(cc)
        h.running(20)
        owner = Owner(h.sock)
        h.udp.sendto(h.message(6 * MS, h.last(), type=kind), (h.ip[0], bolt_ctl.PORT))
        expect("CtlDeferred", h.stat("CtlDeferred"), 1)
        # the device goes first, then the rest: so the second says that the first went
        for n in range(2):
            other = Namespace("other")
            sh(f"ip link add name other{n} type veth peer name eth0 netns {other.name}")
            other.close()
            bolt_ctl.undo.remove(f"ip netns del {other.name}")
            sh(f"ip netns del {other.name}")
            poll(lambda n=n: not os.path.exists(f"/sys/class/net/other{n}"),
                 f"{cc}: end of another namespace")
        unload = None
        if cc == "cubic":
            unload = subprocess.Popen(["rmmod", "tcp_bolt"])
            poll(lambda: unload.poll() == 0, "unloading")
        owner.let_go()
        h.streamed()
        if unload:
            unload.wait()
            load()
        h.close()


def rto():
    """A segment that was lost is sent again during a pause, and its loss is not undone"""
    for qdisc in (None, "fq"):
        h = Host(qdisc, delay="5ms")
        h.h1.sysctl("bolt.max_pause_us", 1000000)
        h.h1.sysctl("bolt.watchdog_pct", 100)
        sh(f"tc -n {h.h2.name} qdisc add dev eth0 ingress")
        h.transfer("cubic", 500000)
        h.running(20)
        # data, not ACKs: for a packet whose ACK was lost an undo would be right
        sh(f"tc -n {h.h2.name} filter add dev eth0 ingress matchall action drop")
        # the last ACK has come: the RTO is armed, and not again during the pause
        time.sleep(0.02)
        q = h.last()
        came = h.bts(900 * MS, q)
        time.sleep(0.6)
        again = [p for p in h.sent(came + h.grace, came + 900 * MS)]
        if not again or any(p.seq != again[0].seq for p in again):
            failures.append(f"over {qdisc}: {len(again)} packets during the pause")
        expect(f"over {qdisc}: PausePassed", h.stat("PausePassed"), len(again))
        sh(f"tc -n {h.h2.name} filter del dev eth0 ingress")
        new = [p for p in h.sent(came + h.grace, came + 899 * MS)
               if (p.seq - q.seq) & 0xffffffff < 1 << 31 and p.seq != q.seq]
        expect(f"over {qdisc}: new data during the pause", len(new), 0)
        h.finish()
        for name in "TcpExtTCPLossUndo", "TcpExtTCPFullUndo":
            expect(name, nstat(h.h1, name), 0)
        h.close()


TESTS = [status_put_back, spacing, marked, acks_in_time, acks_each, sacks_in_time, mtu_probe, signed, mangled, owned, owned_for_ever,
         other_congestion_control, fin_and_rst, rto, zero_window, keepalive, module_gone, namespace_gone]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
