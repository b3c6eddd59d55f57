#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# flavour: debug
"""Allocations of the modules fail in softirqs, timers, tasklets and work items, one by one.

A failure is injected by the stack (CONFIG_FAULT_INJECTION_STACKTRACE_FILTER), below a function of a
module.  Each place must fail as often as it is told to, its counter must say so, nothing else may
be lost, and what comes next must go on: a host without memory may lose a message or the option, not
a connection.
"""

import errno
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

import bolt_ctl
from bolt_ctl import TCP_CONGESTION, Flow, Namespace, expect, expect_that, poll, sh
from lib_pause import Owner
from lib_ynl import Family, Refused
from sfc_pfc import PFC, SLACK, US, Router, Tap, near

DEBUG = "/sys/kernel/debug"
INJECT = f"{os.environ['BOLT_PROGRAMS']}/bolt_inject"
XFER = f"{os.environ['BOLT_PROGRAMS']}/bolt_xfer"
MODULES = ("sch_sfc", "tcp_bolt", "bolt_ctl")
# sch_sfc/pfc.c
RETRY = 20 * US


def symbols():
    """(address, name, module) of all code, in order"""
    with open("/proc/kallsyms", encoding="ascii") as f:
        lines = [line.split() for line in f]
    return sorted((int(a, 16), name, module[0].strip("[]") if module else "")
                  for a, kind, name, *module in lines if kind in "tT")


def span(where):
    """First and last address of a function, or of the code of all modules"""
    code = symbols()
    if where is MODULES:
        ours = [a for a, _, module in code if module in where]
        return min(ours), max(ours) + 4096
    # a compiler may have given it a suffix
    start = [a for a, name, _ in code if name == where] or [a for a, name, _ in code if name.startswith(where + ".")]
    if not start:
        raise OSError(f"no function {where}")
    return start[0], next(a for a, *_ in code if a > start[0])


class Failing:
    """Below the function WHERE, so many allocations fail, all one after the other or so many of a hundred: of slabs, or of
    pages; how many did"""

    def __init__(self, where, times, percent=100, pages=False):
        self.dir = f"{DEBUG}/{'fail_page_alloc' if pages else 'failslab'}"
        self.where, self.times, self.percent = where, times, percent

    def set(self, **values):
        for name, value in values.items():
            with open(f"{self.dir}/{name.replace('_', '-')}", "w", encoding="ascii") as f:
                f.write(str(value))

    def __enter__(self):
        start, end = span(self.where)
        self.set(probability=0, interval=1, space=0, verbose=0, task_filter="N", stacktrace_depth=32,
                 require_start=start, require_end=end, times=self.times, ignore_gfp_wait="N")
        if os.path.exists(f"{self.dir}/min-order"):
            self.set(min_order=0)
        self.set(probability=self.percent)
        return self

    def __exit__(self, *_):
        self.set(probability=0, require_start=0, require_end=2**64 - 1)

    def failed(self):
        with open(f"{self.dir}/times", encoding="ascii") as f:
            return self.times - int(f.read())

    def all_failed(self, what):
        expect(f"{what}: failed", self.failed(), self.times)


def moved(ns, before):
    return {k: v - before[k] for k, v in ns.stats().items() if v != before[k]}


def router(into=None, out=None):
    """With routes"""
    r = Router(into, out)
    sh(f"ip -n {r.h1.name} route add default via 192.0.2.254; ip -n {r.h2.name} route add default via 198.51.100.254")
    return r


def inject(r, words):
    sh(f"ip netns exec {r.h1.name} {INJECT} {words}")


# --- a switch ---

def src():
    """SRC: the skb, and the pages that its data come from.  Without a message DEC stays clear, and the packet goes on"""
    r = router(None, "bolt rate 100mbit ccthresh 3000b")
    words = "192.0.2.1 198.51.100.1 n=100 len=1400"
    inject(r, words)    # with a route in its cache
    r.drained()
    for pages, each in ((False, 1), (True, 2)):
        before = r.stats("r2")
        # of pages, eight at once and then a single one
        with Failing("sfc_send_msg", 5 * each, pages=pages) as f:
            inject(r, words)
            f.all_failed("SRC")
        r.drained()
        now = {k: v - before[k] for k, v in r.stats("r2").items() if isinstance(v, int) and k in before}
        expect(f"pages {pages}: counted", (now["msg_nomem"], now["dec_set"], now["src_sent"], now["drops"]),
               (5, now["congested"] - 5, now["congested"] - 5, 0))
        expect("packets", now["packets"], 100)
    r.close()


def route():
    """The route of an SRC past reception: without memory for it reception forwards the message, and with the next tick
    it is looked up again"""
    r = router(None, "bolt rate 100mbit ccthresh 3000b")
    # no RST comes back
    sh(f"ip -n {r.h2.name} route add blackhole 192.0.2.1/32")
    words = "192.0.2.1 198.51.100.1 n=100 len=1400"

    def received():
        with r.r, open("/proc/net/snmp", encoding="ascii") as f:
            names, values = [line.split() for line in f if line.startswith("Ip: ")]
        return int(values[names.index("InReceives")])

    def run():
        """How many messages came by reception, and by the route; all arrive"""
        sent, heard, arrived = r.stats("r2")["src_sent"], received(), len(r.one.messages())
        inject(r, words)
        r.drained()
        time.sleep(0.1)
        sent, slow = r.stats("r2")["src_sent"] - sent, received() - heard - 100
        expect("arrived", len(r.one.messages()) - arrived, sent)
        return slow, sent - slow

    run()
    slow, fast = run()
    expect_that("by the route", not slow and fast > 90, (slow, fast))
    # a new one has nothing cached; the first packet looks up its own
    sh(f"ip -n {r.r.name} route add 192.0.2.1/32 dev r1")
    inject(r, "192.0.2.1 198.51.100.1 len=1400")
    with Failing("ip_route_input_noref", 1) as f:
        slow, fast = run()
        f.all_failed("route")
    expect_that("by reception", slow and slow + fast > 90, (slow, fast))
    slow, fast = run()
    expect_that("by the route again", not slow and fast > 90, (slow, fast))
    r.close()


class Bridge:
    """H1 and H2 at a bridge, where a capture shares all that comes in by r1: headers are copied to be written"""

    def __init__(self, options):
        self.h1, self.r, self.h2 = Namespace("h1"), Namespace("r"), Namespace("h2")
        a, r, b = self.h1.name, self.r.name, self.h2.name
        Router.link(a, "eth0", "192.0.2.1", r, "r1", "203.0.113.1")
        Router.link(b, "eth0", "192.0.2.2", r, "r2", "203.0.113.2")
        sh(f"ip -n {r} link add br0 type bridge; ip -n {r} link set br0 up; ip -n {r} link set r1 master br0; "
           f"ip -n {r} link set r2 master br0; tc -n {r} qdisc add dev r2 root sfc {options}")
        for ns, ip, to in ((a, "192.0.2.2", b), (b, "192.0.2.1", a)):
            sh(f"ip -n {ns} neigh add {ip} dev eth0 nud permanent lladdr $(ip -n {to} -j link show dev eth0 | jq -r '.[0].address')")
        self.tap = Tap(self.r, "r1")

    def stats(self):
        return Router.stats(self, "r2")

    def close(self):
        for x in (self.tap.sock, self.h1, self.r, self.h2):
            x.close()


def marks():
    """DEC, and CE: the packet goes on as it came"""
    for options, words, counter in (("bolt rate 100mbit ccthresh 3000b", "bflags=80", "dec_set"),
                                    ("nobolt rate 100mbit ecn 3000b", "tos=2 bflags=none", "ecn_marked")):
        r = Bridge(options)
        # an SRC is made elsewhere
        with Failing("sfc_write_flags" if counter == "dec_set" else "sfc_admit", 5) as f:
            inject(r, f"192.0.2.1 192.0.2.2 n=50 len=1400 {words}")
            f.all_failed(counter)
        poll(lambda r=r: r.stats()["qlen"] == 0, "drains")
        now = r.stats()
        # two are below the threshold, and one has left
        marked = now["src_sent"] if counter == "dec_set" else now[counter] + 5
        expect_that("marked", marked >= 40, marked)
        expect(counter, (now["mark_failed"], now[counter], now["drops"], now["packets"] >= 50), (5, marked - 5, 0, True))
        r.close()


def transfer(r, cc, size=500000):
    """From H1 to H2, by whatever is between"""
    both = f"timeout 300 {XFER} cc {cc}"
    with subprocess.Popen(f"ip netns exec {r.h2.name} {both} listen 198.51.100.1 5001 recv {size} recv-eof", shell=True,
                          stdout=subprocess.DEVNULL) as server:
        poll(lambda: f":{5001:04X} " in tcp_ports(r.h2), "listens")
        sh(f"ip netns exec {r.h1.name} {both} connect 198.51.100.1 5001 send {size} outq >/dev/null")
        expect(f"{cc}: to the last byte", server.wait(), 0)


def tcp_ports(ns):
    with ns, open("/proc/net/tcp", encoding="ascii") as f:
        return f.read()


def split():
    """A super-packet that cannot be split is lost whole, as at any qdisc that splits; TCP sends it again"""
    r = router(None, "rate 1gbit")
    with Failing("sfc_enqueue_split", 3) as f:
        transfer(r, "cubic")
        f.all_failed("splits")
    r.drained()
    r.counters("counted", "r2", gso_failed=3, drops=3, qlen=0, backlog=0)
    r.close()


def pause_frames():
    """XOFF and XON come as soon as there is memory for them, and not when half of a pause, or all of it, is over"""
    r = Router(PFC, f"rate 100mbit {PFC}")
    with Failing("sfc_pfc_task", 3) as f:
        r.send(4)
        time.sleep(1e-4)    # and the third packet leaves after 242 us
        f.all_failed("XOFF")
    with Failing("sfc_pfc_task", 3) as f:
        r.drained()
        f.all_failed("XON")
    frames, arrived = r.one.pauses(), [t for t, _ in r.two.data()]
    expect("frames", [struct.unpack_from("!H", f, 24)[0] for _, f in frames], [65535, 0])
    # the queue is beyond xoff when the first packet leaves, and below xon with the third
    for (at, _), packet in zip(frames, (0, 2)):
        near("in time", at, arrived[packet] + 3 * RETRY)
    r.counters("counted", "r1", pfc_failed=6, pfc_xoff=1, pfc_xon=1, pfc_refresh=0, high=2)
    r.close()


# --- a host ---

def push():
    """LOCAL_OUT: a capture on a VRF shares the header, which is copied: without memory the segment has no option"""
    r = router()
    a = r.h1.name
    sh(f"ip -n {a} link add vrf0 type vrf table 7; ip -n {a} link set vrf0 up; ip -n {a} link set eth0 master vrf0; "
       f"ip -n {a} route add 198.51.100.0/24 via 192.0.2.254 vrf vrf0")
    shared = Tap(r.h1, "vrf0")
    with r.h2:
        listener = listen("198.51.100.1")
    with r.h1:
        sock = bolt_socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"vrf0")
        sock.connect(("198.51.100.1", 5001))
    peer, _ = listener.accept()
    before = r.h1.stats()
    with Failing("bolt_push", 3) as f:
        pass_on(sock, peer, 30000)
        f.all_failed("segments")
    pass_on(sock, peer, 30000)
    now = moved(r.h1, before)
    expect("counted", (now.get("OptNoMem"), now.get("NoMem"), now.get("FallbackLate")), (3, None, None))
    expect_that("all others", now["OptTx"] > 10, now)
    for s in (sock, peer, listener, shared.sock):
        s.close()
    r.close()


def bolt_socket(cc=b"bolt"):
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc)
    return sock


def listen(ip, cc=b"bolt"):
    listener = bolt_socket(cc)
    listener.bind((ip, 5001))
    listener.listen(400)
    return listener


def pass_on(sock, peer, size):
    sock.sendall(b"x" * size)
    while size:
        size -= len(peer.recv(size))


def cc_of(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0")


def child():
    """A connection that a listener accepts, in softirq: bolt falls back, swift does without the option, either is used"""
    for cc, times, counters, then in ((b"bolt", 1, {"NoMem": 1, "Fallback": 1}, b"reno"),
                                      (b"bolt", 2, {"NoMem": 2, "Fallback": 1}, b"reno"),
                                      (b"swift", 1, {"NoMem": 1, "SwiftPlain": 1}, b"swift"),
                                      (b"swift", 3, {"NoMem": 3, "SwiftPlain": 1}, b"swift")):
        r = router()
        with r.h2:
            with open("/proc/sys/net/bolt/fallback", "w", encoding="ascii") as f:
                f.write("reno")
            listener = listen("198.51.100.1", cc)
        before = r.h2.stats()
        with r.h1:
            sock = bolt_socket(cc)
            with Failing("bolt_init", times) as f:
                sock.connect(("198.51.100.1", 5001))
                peer, _ = listener.accept()
                f.all_failed(cc)
        pass_on(sock, peer, 20000)
        pass_on(peer, sock, 20000)
        now = moved(r.h2, before)
        expect(f"{cc} {times}", {k: now.get(k) for k in ("NoMem", "Fallback", "SwiftPlain") if k in now}, counters)
        expect(f"{cc} {times}: then", cc_of(peer), then)
        for s in (sock, peer, listener):
            s.close()
        r.close()


def growth():
    """The table of flows.  Where it is full and does not grow, a connection that finds no place goes on without the
    option; a work item tries until it has grown"""
    r = router()
    pairs = []
    with r.h2:
        listener = listen("198.51.100.1")

    def connect(n, idle):
        """What both ends count meanwhile; unless there is idle time, no work item runs before all are there"""
        before = [ns.stats() for ns in (r.h1, r.h2)]
        with r.h1:
            new = [bolt_socket() for _ in range(n)]
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        for sock in new:
            sock.setblocking(False)
            sock.connect_ex(("198.51.100.1", 5001))
            if idle:
                time.sleep(idle)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        by_name = {sock.getsockname(): sock for sock in new}
        for _ in new:
            peer, name = listener.accept()
            by_name[name].setblocking(True)
            pairs.append((by_name[name], peer))
        return [moved(ns, b) for ns, b in zip((r.h1, r.h2), before)]

    begin = [ns.stats() for ns in (r.h1, r.h2)]
    with Failing("rhashtable_insert_slow", 10**6) as f:
        here, there = connect(100, 0)
        failed = f.failed()
    expect("no place", here.get("NoMem", 0) + there.get("NoMem", 0), failed)
    offered, accepted = here["SynTx"], there.get("Negotiated", 0)
    expect_that("for some", 0 < offered < 100, offered)
    with Failing("rht_deferred_worker", 5) as f:
        here, there = connect(200, 0.001)
        f.all_failed("work item")
    expect("it has grown", [x.get(k, 0) for x in (here, there) for k in ("NoMem", "Fallback")], [0] * 4)
    for sock, peer in pairs:
        pass_on(sock, peer, 3000)
        pass_on(peer, sock, 3000)
    # which takes a place for a moment
    here, there = (moved(ns, b).get("Fallback", 0) for ns, b in zip((r.h1, r.h2), begin))
    expect_that("fall back", 100 - offered <= here <= there == 100 - accepted, (offered, accepted, here, there))
    for sock, peer in pairs:
        sock.close()
        peer.close()
    listener.close()
    for ns in (r.h1, r.h2):
        poll(lambda ns=ns: not ns.now("Flows"), "no state is left")
    r.close()


def dump():
    """A dump of flows does not begin, and then does"""
    family = Family("bolt")
    with Failing("bolt_flows_start", 1) as f:
        try:
            family.dump("flow-get")
        except Refused as e:
            expect("refused", e.errno, errno.ENOMEM)
        f.all_failed("dump")
    family.dump("flow-get")


def offer():
    """A SYN, and again in its timer: they leave without the offer, and the connection without the option"""
    r = router()
    r.tc("qdisc add dev r2 root netem loss 100%")
    with r.h2:
        listener = listen("198.51.100.1")
    before = r.h1.stats()
    with r.h1:
        sock = bolt_socket()
    sock.setblocking(False)
    with Failing("bolt_local_out", 2) as f:
        sock.connect_ex(("198.51.100.1", 5001))
        expect("in the process", moved(r.h1, before).get("NoMem"), 1)
        poll(lambda: f.failed() == 2, "SYN sent again")
    expect("in the timer", moved(r.h1, before).get("NoMem"), 2)
    r.tc("qdisc del dev r2 root")
    sock.setblocking(True)
    peer, _ = listener.accept()
    pass_on(sock, peer, 20000)
    expect("falls back", moved(r.h1, before).get("Fallback"), 1)
    for s in (sock, peer, listener):
        s.close()
    r.close()


def messages():
    """A BTS to a connection of another congestion control, which has no state yet: the next is believed"""
    f = Flow(cc=b"cubic")
    f.h1.sysctl("bolt.sfc", 1)
    msg = bolt_ctl.packed(f.quote(), 2, f.flight[0][1], 1000)
    with Failing("bolt_feedback", 2) as fault:
        f.refused("no memory", "NoMem", msg)
        f.refused("no memory", "NoMem", msg)
        fault.all_failed("BTS")
    heard, _ = f.send(msg)
    expect("then", heard.get("BtsRx"), 1)
    f.close()


def deferred():
    """A message that would wait for the owner of the socket"""
    f = Flow()
    before, owner = f.h1.stats(), Owner(f.sock)
    with Failing("bolt_feedback", 2) as fault:
        for n in range(3):
            f.udp.sendto(f.message(), (f.ip[0], bolt_ctl.PORT))
            poll(lambda n=n: moved(f.h1, before).get("CtlRx") == n + 1, "heard")
        fault.all_failed("messages")
    owner.let_go()
    poll(lambda: moved(f.h1, before).get("SrcRx"), "the third")
    expect("counted", moved(f.h1, before), {"CtlRx": 3, "CtlDeferred": 1, "NoMem": 2, "SrcRx": 1, "SrcDec": 1})
    f.close()


def pieces():
    """A message whose payload lies in a page, as of a NIC that splits headers, and that a capture shares: it takes no
    memory to read it"""
    f = Flow()
    shared = Tap(f.h1)
    before = f.h1.stats()
    f.udp.connect((f.ip[0], bolt_ctl.PORT))
    with tempfile.TemporaryFile() as page, Failing("bolt_ctl_rcv", 10) as fault:
        page.write(f.message())
        page.flush()
        os.sendfile(f.udp.fileno(), page.fileno(), 0, page.tell())
        poll(lambda: moved(f.h1, before).get("CtlRx"), "heard")
        expect("failed", fault.failed(), 0)
    expect("believed", moved(f.h1, before).get("SrcRx"), 1)
    shared.sock.close()
    f.close()


def pulled():
    """A TCP header in a page that a capture shares: the option is not seen"""
    r = router()
    for ns, dev in ((r.h1, "eth0"), (r.r, "r1")):
        sh(f"ip -n {ns.name} link set {dev} mtu 9000")
    # which looks at the header first
    r.h1.sysctl("ipv4.tcp_early_demux", 0)
    tcp = struct.pack("!HHIIBBHHH", 7, 8, 1, 1, 8 << 4, 0x10, 1000, 0, 0) + bytes.fromhex("fe0cb017") + bytes(5008)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, socket.inet_aton("198.51.100.1"),
                     socket.inet_aton("192.0.2.1"))
    frame = r.one.mac + r.mac["r1"] + b"\x08\0" + ip[:10] + struct.pack("!H", bolt_ctl.checksum(ip)) + ip[12:] + tcp
    before = r.h1.stats()
    with r.r, socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as out, Failing("bolt_local_in", 1) as f:
        out.setsockopt(263, 15, 1)      # SOL_PACKET, PACKET_VNET_HDR
        out.bind(("r1", 0x800))
        # what is not in pages: the headers of Ethernet and IP
        out.send(struct.pack("=BBHHHH", 0, 0, 34, 0, 0, 0) + frame)
        f.all_failed("header")
    expect("counted", moved(r.h1, before), {})
    transfer(r, "bolt")
    r.close()


def rates():
    """What a namespace notes of a device that comes: its speed is not known until the next event"""
    ns = Namespace("h")
    before = ns.stats()
    with Failing("bolt_rate_work", 1000) as f:
        sh(f"ip -n {ns.name} link add d0 index 5000 type dummy")
        time.sleep(0.1)
        failed = f.failed()
    expect_that("failed", failed, failed)
    expect_that("counted", moved(ns, before).get("NoMem", 0) >= 1, moved(ns, before))
    before = ns.stats()
    sh(f"ip -n {ns.name} link set d0 up")
    time.sleep(0.1)
    expect("the next", moved(ns, before).get("NoMem", 0), 0)
    ns.close()


def port():
    """A work item opens the control port; where it cannot, the next socket has it opened"""
    for where in ("bolt_control_work", "udp_sock_create4", "udp_sock_create6"):
        ns = Namespace("h")
        sh(f"ip -n {ns.name} link set lo up")

        def begun(ns=ns):
            with ns, bolt_socket() as sock:
                sock.connect_ex(("127.0.0.1", 5001))
            time.sleep(0.1)
            with ns, open("/proc/net/udp", encoding="ascii") as f:
                return f":{bolt_ctl.PORT:04X} " in f.read()

        with Failing(where, 1) as f:
            expect(f"{where}: open", begun(), False)
            f.all_failed(where)
        time.sleep(1)   # until then nobody tries again
        expect(f"{where}: then", begun(), True)
        ns.close()


def all_at_once():
    """One in ten of all allocations of the modules, while they carry transfers and pause them"""
    r = router("bolt", "bolt rate 200mbit pause qth 30kb qtg 10kb")
    for ns in (r.h1, r.h2):
        ns.sysctl("bolt.sfc", 1)
    with Failing(MODULES, 10**6, 10) as f, Failing(MODULES, 10**6, 10, pages=True) as p:
        for cc in ("bolt", "swift", "cubic"):
            transfer(r, cc)
        expect_that("failed", f.failed() + p.failed() >= 10, (f.failed(), p.failed()))
    r.drained()
    transfer(r, "bolt")
    for ns in (r.h1, r.h2):
        poll(lambda ns=ns: not ns.now("Flows") and not ns.now("Pauses"), "no state is left")
    r.close()


TESTS = [src, route, marks, split, pause_frames, push, child, growth, dump, offer, messages, deferred, pieces, pulled, rates, port, all_at_once]

if __name__ == "__main__":
    if not os.path.exists(f"{DEBUG}/failslab/require-start"):
        print(f"KTAP version 1\n1..{len(TESTS)}")
        for number, test in enumerate(TESTS, 1):
            print(f"ok {number} {test.__name__} # SKIP the kernel does not inject faults by the stack")
        sys.exit(0)
    sys.exit(bolt_ctl.main(TESTS))
