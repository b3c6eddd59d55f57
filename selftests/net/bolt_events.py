#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# modules: tcp_swift
"""Events of the families "bolt" and "sfc": each is told, once, in order, to who listens in the namespace.

Hosts: the two of bolt_ctl.py and of lib_pause.py.  A switch:

	H1 ---- r1  R  r2 ---- H2
"""

import errno
import os
import signal
import socket
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import Flow, Namespace, expect, failures, poll, sh
from lib_pause import MS, PROGRAMS, Host, until
from lib_ynl import DUMP, Family

FAR = "198.51.100.9"


def listener(ns, name="bolt"):
    with ns:
        nl = Family(name)
    nl.listen("events")
    return nl


def hear(what, nl, count):
    """So many events, and then none"""
    got = []

    def enough():
        got.extend(nl.heard())
        return len(got) >= count
    poll(enough, f"{what}: {count} events")
    time.sleep(0.01)
    got.extend(nl.heard())
    if len(got) != count:
        failures.append(f"{what}: {got}")
    return got


def end(flow):
    """Nothing of it is left: nobody would acknowledge its FIN"""
    flow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    flow.close()


def counted(nl):
    stats = nl.do("stats-get")
    return stats["events-sent"] + stats["events-lost"]


def only(event, *names):
    return {name: event.get(name) for name in names}


# --- hosts ---

def src_and_refusal():
    """SRC and what became of it; what is not believed, and why; nothing in another namespace"""
    for family in 4, 6:
        f = Flow(family)
        nl, other = listener(f.h1), listener(f.h2)
        f.believed("SRC", f.message(queue=3000000, rate=40000000, switch=7))
        before = time.monotonic_ns()
        event, = hear("SRC", nl, 1)
        expect("SRC", only(event, "type", "queue-bytes", "link-rate", "switch-id", "verdict", "lost"),
               {"type": "src", "queue-bytes": 3000000, "link-rate": 40000000, "switch-id": 7,
                "verdict": "dec", "lost": None})
        expect("time", before - 10**9 < event["time-ns"] <= time.monotonic_ns(), True)
        expect("flow", only(event["flow"], "local-addr", "remote-addr", "local-port",
                            "remote-port", "congestion", "cwnd", "state"),
               {"local-addr": f.ip[0], "remote-addr": f.ip[1], "local-port": f.sport,
                "remote-port": 5001, "congestion": "bolt", "cwnd": f.cwnd(), "state": 1})
        # the queue is nobody's: too soon
        f.send(f.message(queue=0))
        event, = hear("held", nl, 1)
        expect("held", only(event, "type", "verdict"), {"type": "src", "verdict": "held"})

        f.refused("sequence", "CtlSeq", f.message(f.quote(seq=f.una - 100000)))
        event, = hear("refusal", nl, 1)
        expect("refusal", only(event, "type", "reason", "sender"),
               {"type": "refusal", "reason": "CtlSeq", "sender": f.ip[1]})
        expect("about", event["flow"]["local-port"], f.sport)
        f.refused("socket", "CtlNoSocket", f.message(f.quote(sport=1)))
        f.refused("cut off", "CtlShort", f.message(cut=20))
        for reason, event in zip(("CtlNoSocket", "CtlShort"), hear("refusals", nl, 2)):
            expect("refusal", (event["reason"], "flow" in event), (reason, False))
        expect("not of this namespace", other.heard(), [])
        with f.h1:
            ask = Family("bolt")
        stats = ask.do("stats-get")
        expect("sent and lost", (stats["events-sent"], stats["events-lost"]), (5, 0))
        for sock in nl, other, ask:
            sock.close()
        end(f)


def pauses():
    """Begin, another end, the end, the watchdog"""
    for cc in "cubic", "bolt":
        h = Host()
        nl = listener(h.h1)
        h.stream(cc)
        h.running(20)
        came = h.bts(5 * MS, switch=3)
        until(came + MS // 3)
        h.bts(8 * MS, switch=4, flags=2)
        *events, end = hear(cc, nl, 3)
        expect("types", [e["type"] for e in events], ["pause-begin", "pause-change"])
        expect("asked", [only(e, "asked-ns", "switch-id", "from-cache") for e in events],
               [{"asked-ns": 5 * MS, "switch-id": 3, "from-cache": None},
                {"asked-ns": 8 * MS, "switch-id": 4, "from-cache": True}])
        expect("granted", [e.get("granted-ns") for e in events], [5 * MS, 8 * MS])
        expect("flow", events[0]["flow"]["congestion"], cc)
        expect("end", end["type"], "pause-end")
        expect("as long as it took", end["granted-ns"] - events[1]["time-ns"] + events[0]["time-ns"],
               8 * MS)
        h.streamed()
        nl.close()
        h.close()


def watchdog():
    h = Host(delay="40ms", window=4000000)
    nl = listener(h.h1)
    h.storm()
    types = [e["type"] for e in nl.heard()]
    expect("watchdog, once", types.count("watchdog"), 1)
    at = types.index("watchdog")
    expect("and then BTS are refused", set(types[at + 1:]) - {"pause-end"}, {"refusal"})
    h.streamed()
    nl.close()
    h.close()


def fallback():
    """A peer without the option: bolt's Reno, and swift by TCP's RTT"""
    h = Host()
    nl = listener(h.h1)
    for cc, reason in (("bolt", "Fallback"), ("swift", "SwiftPlain")):
        h.server = h.xfer(h.h2, "cc", "cubic", "listen", h.ip[1], 5001, "recv", 1000, "recv-eof")
        h.server.stdout.readline()
        h.client = h.xfer(h.h1, "cc", cc, "connect", h.ip[1], 5001, "send", 1000, "outq")
        h.finish()
        event, = hear(cc, nl, 1)
        expect("fallback", only(event, "type", "reason"), {"type": "fallback", "reason": reason})
        expect("flow", event["flow"]["remote-port"], 5001)
    nl.close()
    h.close()


def rate():
    """No more than a burst at once; what is lost is counted, and the next event says so"""
    f = Flow()
    nl = listener(f.h1)
    nl.sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)    # SO_RCVBUFFORCE
    burst = nl.consts["events-burst"]
    message = f.message(type=9)
    for _ in range(burst + 500):
        f.udp.sendto(message, (f.ip[0], bolt_ctl.PORT))
    poll(lambda: f.h1.stats()["CtlType"] == burst + 500, "all refused")
    with f.h1:
        ask = Family("bolt")
    poll(lambda: counted(ask) == burst + 500, "each is sent or lost")
    stats = ask.do("stats-get")
    sent, lost = stats["events-sent"], stats["events-lost"]
    expect("a burst, and what its time brought", burst <= sent < burst + 400, True)
    time.sleep(0.2)
    nl.heard()
    f.send(message)
    event, = hear("the next", nl, 1)
    expect("says how many are missing", event["lost"] <= lost, True)

    # a listener without room is told
    nl.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    time.sleep(0.2)
    for _ in range(100):
        f.udp.sendto(message, (f.ip[0], bolt_ctl.PORT))
    poll(lambda: overrun(nl), "a full listener is told")
    for sock in nl, ask:
        sock.close()
    end(f)


def overrun(nl):
    try:
        nl.heard()
    except OSError as e:
        return e.errno == errno.ENOBUFS
    return False


# --- a switch ---

class Switch:
    def __init__(self, r1="sfc nobolt sfc cache edge", r2="sfc nobolt sfc cache suppress off"):
        self.h1, self.r, self.h2 = Namespace("h1"), Namespace("r"), Namespace("h2")
        a, r, b = self.h1.name, self.r.name, self.h2.name
        sh(f"ip link add name eth0 netns {a} type veth peer name r1 netns {r};"
           f"ip link add name r2 netns {r} type veth peer name eth0 netns {b}")
        for ns, dev, addr in ((a, "eth0", "192.0.2.1"), (r, "r1", "192.0.2.254"),
                              (r, "r2", "198.51.100.254"), (b, "eth0", "198.51.100.1"),
                              (b, "eth0", FAR)):
            sh(f"ip -n {ns} addr add {addr}/24 dev {dev}; ip -n {ns} link set {dev} up")
        sh(f"ip -n {a} route add default via 192.0.2.254;"
           f"ip -n {b} route add default via 198.51.100.254")
        self.r.sysctl("ipv4.ip_forward", 1)
        # neighbours are known before anything is counted
        self.inject(self.h1, "192.0.2.1", FAR, "udp=1", "len=10")
        self.inject(self.h2, FAR, "192.0.2.1", "udp=1", "len=10")
        poll(lambda: not self.incomplete(), "neighbours")
        sh(f"tc -n {r} qdisc add dev r1 root handle 1: {r1} maxpause 4s")
        sh(f"tc -n {r} qdisc add dev r2 root handle 2: {r2} maxpause 4s")

    def incomplete(self):
        out = subprocess.run(f"ip -n {self.r.name} neigh; ip -n {self.h1.name} neigh;"
                             f"ip -n {self.h2.name} neigh", shell=True, capture_output=True,
                             text=True, check=True).stdout
        return "INCOMPLETE" in out or "lladdr" not in out

    def inject(self, ns, *words):
        sh(f"nsenter --net=/run/netns/{ns.name} -- {PROGRAMS}/bolt_inject {' '.join(words)}")

    def bts(self, *words):
        self.inject(self.h2, FAR, "192.0.2.1", "bts=3000000000", *words)

    def data(self, *words):
        self.inject(self.h1, "192.0.2.1", FAR, "len=100", "sport=7", "dport=8", *words)

    def close(self):
        for ns in self.h1, self.r, self.h2:
            ns.close()


def cache():
    """What feeds the cache is in it, and hits are counted; what is asked of it is told"""
    s = Switch()
    nl = listener(s.r, "sfc")
    elsewhere = listener(s.h1, "sfc")
    with s.r:
        ask = Family("sfc")
    expect("empty", ask.dump("cache-get"), [])
    s.bts("dscp=10")
    poll(lambda: ask.do("stats-get")["inserts"] == 1, "fed")
    entry, = ask.dump("cache-get")
    left = entry.pop("remaining-ns")
    expect("entry", entry, {"addr": FAR, "dscp": 10, "version": 1, "hits": 0})
    expect("left", 0 < left <= 3 * 10**9, True)
    s.bts("dscp=10")
    poll(lambda: ask.do("stats-get")["updates"] == 1, "fed again")
    s.data("tos=40", "bflags=none", "n=3")
    events = hear("hits", nl, 6)
    expect("types", [e["type"] for e in events], ["cache-hit", "bts"] * 3)
    with s.r:
        ifindex = socket.if_nametoindex("r2")
    expect("hit", only(events[0], "ifindex", "handle", "src-addr", "dst-addr", "src-port",
                       "dst-port", "protocol", "dscp", "verdict"),
           {"ifindex": ifindex, "handle": 0x20000, "src-addr": "192.0.2.1", "dst-addr": FAR,
            "src-port": 7, "dst-port": 8, "protocol": 6, "dscp": 10, "verdict": None})
    expect("pause", events[0]["pause-ns"] == events[1]["pause-ns"] > 2 * 10**9, True)
    expect("BTS", only(events[1], "flags", "verdict"), {"flags": {"from-cache"}, "verdict": "sent"})
    entry, = ask.dump("cache-get")
    expect("entry", only(entry, "version", "hits"), {"version": 2, "hits": 3})
    stats = ask.do("stats-get")
    expect("stats", only(stats, "cache-size", "entries", "inserts", "updates", "refused"),
           {"cache-size": 1024, "entries": 1, "inserts": 1, "updates": 1, "refused": 0})

    s.bts("cflags=9")
    s.inject(s.h2, FAR, "192.0.2.1", "udp=1", "sport=45079", "dport=45079", "len=68")
    sh(f"tc -n {s.r.name} qdisc change dev r2 root sfc edge")
    s.bts("dscp=20")
    events = hear("refusals", nl, 3)
    expect("refusals", [(e["type"], e["verdict"], e["src-addr"]) for e in events],
           [("refusal", "malformed", FAR)] * 2 + [("refusal", "edge", FAR)])
    sh(f"tc -n {s.r.name} qdisc change dev r2 root sfc noedge suppress 3s")
    s.data("tos=40", "bflags=none", "n=2")
    events = hear("suppressed", nl, 4)
    expect("types", [e["type"] for e in events], ["cache-hit", "bts", "cache-hit", "suppressed"])
    expect("not of this namespace", elsewhere.heard(), [])
    for n in range(60):
        s.inject(s.h2, FAR, "192.0.2.1", "bts=3000000000", f"about=203.0.113.{n + 1}")
    poll(lambda: ask.do("stats-get")["inserts"] == 61, "many")
    entries = ask.dump("cache-get")
    expect("many", len({e["addr"] for e in entries}), 61)
    for sock in nl, elsewhere, ask:
        sock.close()
    s.close()


def src():
    """A port that answers with SRC, and one that may not"""
    s = Switch("sfc", "sfc rate 1mbit ccthresh 200b")
    nl = listener(s.r, "sfc")
    s.data("bflags=84", "n=6", "tx=1000")
    events = hear("SRC", nl, 3)
    for e in events:
        expect("SRC", only(e, "type", "verdict", "link-rate", "src-port"),
               {"type": "src", "verdict": "sent", "link-rate": 1000, "src-port": 7})
        expect("queue", e["queue-bytes"] >= 200, True)
    nl.close()
    s.close()


# --- what goes while somebody looks ---

def unload():
    """Modules refuse to go while a dump is half read, and go with a listener there; then they are back"""
    ns = Namespace("dump")
    nl, host = listener(ns, "sfc"), listener(ns)
    sh(f"ip -n {ns.name} link set lo up")
    with ns:
        ask = Family("bolt")
        server = socket.socket()
        server.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, b"bolt")
        server.bind(("127.0.0.1", 5001))
        server.listen(200)
        socks = []
        for _ in range(200):
            c = socket.socket()
            c.setsockopt(socket.IPPROTO_TCP, bolt_ctl.TCP_CONGESTION, b"bolt")
            c.connect(("127.0.0.1", 5001))
            socks += [c, server.accept()[0]]
    ask.ask(ask.id, ask.ops["flow-get"]["value"], DUMP, b"")
    for c in socks:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        c.close()
    server.close()
    # no socket uses it any more, but a dump does
    poll(lambda: ask_flows(ns) == 0, "all gone")
    subprocess.run(["rmmod", "tcp_swift"], check=True)
    expect("while a dump is open", subprocess.run(["rmmod", "tcp_bolt"], check=False,
                                                  capture_output=True).returncode != 0, True)
    ask.close()
    poll(lambda: subprocess.run(["rmmod", "tcp_bolt"], check=False,
                                capture_output=True).returncode == 0, "unloads when it is not")
    subprocess.run(["rmmod", "sch_sfc"], check=True)
    for m in "tcp_bolt", "tcp_swift", "sch_sfc":
        subprocess.run(["insmod", f"{os.environ['BOLT_MODULES']}/{m}.ko"]
                       if os.environ.get("BOLT_MODULES") else ["modprobe", m], check=True)
    expect("the listener hears nothing of that", (nl.heard(), host.heard()), ([], []))
    again = listener(ns)
    expect("and a new one is let in", again.heard(), [])
    for sock in nl, host, again:
        sock.close()
    ns.close()


def ask_flows(ns):
    with ns:
        nl = Family("bolt")
    flows = nl.dump("flow-get")
    nl.close()
    return len(flows)


def namespace_goes():
    """Listeners, and dumps half read, in a namespace that nobody else holds"""
    for _ in range(3):
        f = Flow()
        nl = listener(f.h1)
        with f.h1:
            ask = Family("bolt")
        ask.ask(ask.id, ask.ops["flow-get"]["value"], DUMP, b"")
        pid = os.fork()
        if not pid:
            signal.pause()
        end(f)
        for command in reversed(bolt_ctl.undo):
            subprocess.run(command, shell=True, check=False)
        bolt_ctl.undo.clear()
        ask.close()
        nl.close()
        os.kill(pid, 9)
        os.waitpid(pid, 0)


TESTS = [src_and_refusal, pauses, watchdog, fallback, rate, cache, src, namespace_goes, unload]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
