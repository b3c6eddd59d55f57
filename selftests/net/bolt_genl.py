#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Generic netlink: the family "bolt" is what its specification says, and tells the truth.

Specification, uapi header and the kernel's policy must agree in each name and value.  Flows in a
dump must be as the sockets themselves know them, also thousands at once; who may ask, and the words
of each refusal, are checked, and modules and namespaces go while a dump is half read.  Other
programs, such as subrtt, know flows only by this family.
"""

import errno
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import SUBRTT, TCP_CONGESTION, Flow, Namespace, expect, failures, poll, sh
from lib_pause import MS, Host
from lib_ynl import DUMP, INTEGERS, Family, Refused, Spec, attr, unprivileged

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SO_COOKIE = 57
MANY = 5000
NLA_TYPES = {"flag": 1, "u8": 2, "u16": 3, "u32": 4, "u64": 5, "binary": 10, "string": 12}


def refused(what, err, words, function, *args, **kwargs):
    # Linux 6.1 has no words for a dump that a family refuses to begin
    if function.__name__ == "dump" and os.uname().release.startswith("6.1."):
        words = ""
    try:
        function(*args, **kwargs)
    except Refused as e:
        expect(what, (errno.errorcode[e.errno], words in (e.words or "")),
               (errno.errorcode[err], True))
        if words not in (e.words or ""):
            failures.append(f"{what}: {e.words}")
        return
    failures.append(f"{what}: not refused")


def upper(*words):
    return "_".join(words).upper().replace("-", "_")


# --- specification, header, policy ---

def header(name):
    """{name: value} of the enumerators and numbers of a uapi header, by the compiler's own rules"""
    with open(f"{ROOT}/include/uapi/linux/{name}_netlink.h", encoding="ascii") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    out = {m[1]: m[2].strip('"') for m in re.finditer(r"^#define (\w+)\s+(\S+)$", text, re.M)}
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, re.S):
        value = -1
        for entry in filter(None, map(str.strip, body.split(","))):
            key, _, given = (word.strip() for word in entry.partition("="))
            value = value + 1 if not given else \
                out[given.strip("()").split()[0]] - 1 if "_MAX" in given else int(given)
            out[key] = value
    return out


def specified(spec):
    """The same, as the specification has it"""
    name = spec.name
    out = {upper(name, "family_name"): name, upper(name, "family_version"): "2"}
    out.update({upper(name, k): str(v) for k, v in spec.consts.items()})
    for enum, entries in spec.enums.items():
        out.update({upper(name, enum, k): v for k, v in entries.items()})
    subsets = {s["name"] for s in spec.yaml["attribute-sets"] if "subset-of" in s}
    for space, members in spec.sets.items():
        if space in subsets:
            continue
        out.update({upper(name, "a", space, k): a["value"] for k, a in members.items()})
        out["__" + upper(name, "a", space, "max")] = len(members) + 1
        out[upper(name, "a", space, "max")] = len(members)
    out.update({upper(name, "cmd", k): op["value"] for k, op in spec.ops.items()})
    out["__" + upper(name, "cmd_max")] = len(spec.ops) + 1
    out[upper(name, "cmd_max")] = len(spec.ops)
    return out


def headers():
    """The uapi headers say what the specifications say, and nothing else"""
    for name in ("bolt",):
        have, want = header(name), specified(Spec(name))
        have.pop(upper("_uapi_linux", name, "netlink_h"), None)
        for key in sorted(have.keys() | want.keys()):
            expect(f"{name}: {key}", have.get(key), want.get(key))


def policies():
    """The kernel's policy admits what the specifications list in requests, and with their limits"""
    for name in ("bolt",):
        family = Family(name)
        spec, policy = family, family.policy()
        expect(f"{name}: version", family.version, 2)
        listed = {op["value"] for op in spec.ops.values() if "do" in op or "dump" in op}
        expect(f"{name}: operations", set(policy) | no_attributes(spec), listed)
        for op in spec.ops.values():
            wanted = set()
            for how in "do", "dump":
                wanted |= set(op.get(how, {}).get("request", {}).get("attributes", ()))
            members = spec.sets[op["attribute-set"]]
            for how in "do", "dump":
                if how not in op or not wanted:
                    continue
                have = policy[op["value"]][how]
                expect(f"{name}: {op['name']} {how}", set(have),
                       {members[a]["value"] for a in wanted})
                for a in wanted:
                    check_policy(f"{name}: {op['name']}: {a}", members[a],
                                 have.get(members[a]["value"], {}))
        family.close()


def no_attributes(spec):
    """Operations whose requests have none: they need not be in the kernel's list"""
    return {op["value"] for op in spec.ops.values() if not any(
        op.get(how, {}).get("request") for how in ("do", "dump"))}


def check_policy(what, a, rules):
    """NL_POLICY_TYPE_ATTR_*: 1 type, 4 and 5 least and most, 6 and 7 lengths"""
    number = {key: int.from_bytes(value, sys.byteorder) for key, value in rules.items()}
    checks = a.get("checks", {})
    expect(f"{what}: type", number.get(1), NLA_TYPES[a["type"]])
    if a["type"] in INTEGERS:
        bits = struct.calcsize(INTEGERS[a["type"]]) * 8
        expect(f"{what}: limits", (number.get(4), number.get(5)),
               (checks.get("min", 0), checks.get("max", 2**bits - 1)))
    if "min-len" in checks:
        expect(f"{what}: least length", number.get(6), checks["min-len"])
    if "max-len" in checks:
        expect(f"{what}: greatest length", number.get(7), checks["max-len"])


# --- flows ---

class Pairs:
    """A namespace with a server, and connections of it to itself"""

    def __init__(self, addresses=(("127.0.0.1", "127.0.0.2"),), ports=(5001,)):
        self.ns = Namespace("many")
        sh(f"ip -n {self.ns.name} link set lo up")
        self.socks = []
        with self.ns:
            for port in ports:
                for _, remote in addresses:
                    self.listen(remote, port)

    def listen(self, address, port):
        af = socket.AF_INET6 if ":" in address else socket.AF_INET
        s = socket.socket(af, socket.SOCK_STREAM)
        s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"bolt")
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, port))
        s.listen(4096)
        self.socks.append(s)
        return s

    def connect(self, local, remote, port, cc=b"bolt"):
        af = socket.AF_INET6 if ":" in remote else socket.AF_INET
        s = socket.socket(af, socket.SOCK_STREAM)
        s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc)
        s.bind((local, 0))
        s.connect((remote, port))
        self.socks.append(s)
        return s

    def close(self):
        for s in self.socks:
            reset(s)
        self.ns.close()


def reset(sock):
    """Gone at once, both ends"""
    if sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
        sock.close()


def cookie(sock):
    return struct.unpack("=Q", sock.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8))[0]


def flows(nl, **values):
    """Those of a dump with these values"""
    return [x for x in nl.dump("flow-get") if all(x[k.replace("_", "-")] == v for k, v in values.items())]


def one_flow():
    """What the socket and the SRC say of it"""
    for family in 4, 6:
        f = Flow(family)
        f.believed("SRC", f.message(queue=300000000, rate=40000000, switch=77))
        with f.h1:
            nl = Family("bolt")
        flow, = flows(nl, cookie=cookie(f.sock))
        expect("age", 0 < flow["last-src"].pop("age-ns") < 10**9, True)
        want = {"cookie": cookie(f.sock),
                "family": {4: 2, 6: 10}[family], "local-addr": f.ip[0], "remote-addr": f.ip[1],
                "local-port": f.sport, "remote-port": 5001, "congestion": "bolt", "state": 1,
                "ifindex": 0, "cwnd": f.cwnd(), "option": True, "window": f.cwnd() << 32}
        expect("what the socket says", {k: flow.get(k) for k in want}, want)
        expect("last SRC", {k: flow["last-src"][k] for k in flow["last-src"]
                            if k != "rtt-src-ns"},
               {"queue-bytes": 300000000, "link-rate": 40000000, "switch-id": 77, "verdict": "dec"})
        expect("rtt_src", 8000 <= flow["last-src"]["rtt-src-ns"] < 10**7, True)
        # the smoothed one starts anew after an idle second
        expect("RTT", 0 < flow["min-rtt-ns"] < 10**6, True)
        expect("no pause", "pause" in flow, False)
        expect("no Swift of the ends", "swift-endpoint" in flow, False)
        nl.close()
        with f.h2:
            nl = Family("bolt")
        seen = nl.dump("flow-get")
        expect("the other end", [(x["local-addr"], x["local-port"]) for x in seen],
               [(f.ip[1], 5001)])
        nl.close()
        f.close()


def swift_flow():
    """Swift's windows, and a connection without the option"""
    p = Pairs()
    with p.ns:
        p.connect("127.0.0.1", "127.0.0.2", 5001, b"swift")
        nl = Family("bolt")
    flow, = flows(nl, congestion="swift")
    expect("option", "option" in flow, True)
    expect("windows", flow["swift-fabric"] >> 32 == flow["cwnd"] and
           flow["window"] == min(flow["swift-fabric"], flow["swift-endpoint"]), True)
    nl.close()
    p.close()


def paused_flow():
    """A pause of a socket that bolt knows nothing else of; and when it is over"""
    for cc in "cubic", "bolt":
        h = Host()
        h.stream(cc)
        h.running(20)
        h.bts(5 * MS, switch=42, flags=2)
        with h.h1:
            nl = Family("bolt")
        flow, = flows(nl, congestion=cc)
        pause = flow.pop("pause")
        shown, = json.loads(subprocess.run([SUBRTT, "-j", "-n", h.h1.name, "flows", "-c", cc], check=True, capture_output=True).stdout)
        expect(f"{cc}: names of subrtt", set(shown["pause"]), {name.replace("-", "_") for name in pause})
        expect(f"{cc}: option", "option" in flow, cc == "bolt")
        expect(f"{cc}: remaining", 0 < pause.pop("remaining-ns") <= 5 * MS, True)
        expect(f"{cc}: pause", pause, {"asked-ns": 5 * MS, "switch-id": 42, "from-cache": True,
                                       "ignore-ns": 0, "begun": 1, "granted-ns": 5 * MS})
        time.sleep(0.006)
        again, = flows(nl, cookie=flow["cookie"])
        expect(f"{cc}: over", again["pause"]["remaining-ns"], 0)
        h.streamed()
        if cc == "cubic":
            poll(lambda: nl.dump("flow-get") == [], "forgotten")
        nl.close()
        h.close()


def limited_flow():
    """So too the limit of a CNM; and when it is over"""
    for cc in "cubic", "bolt":
        h = Host(segs=1)
        h.stream(cc)
        h.running(20)
        h.bts(40000, type=3, rate=80000)
        with h.h1:
            nl = Family("bolt")
        flow, = flows(nl, congestion=cc)
        expect(f"{cc}: limit and pause", (flow.get("limit"), "pause" in flow), (40000, False))
        shown = subprocess.run([SUBRTT, "-n", h.h1.name, "flows", "-c", cc], check=True, capture_output=True, text=True).stdout
        expect(f"{cc}: as subrtt shows it", re.findall("limited to (.*)", shown), ["40.0Mbps"])
        # three round trips, and one at twice the rate
        poll(lambda: [x.get("limit") for x in flows(nl, cookie=flow["cookie"])] == [None] * (cc == "bolt"), f"{cc}: over")
        h.streamed()
        nl.close()
        h.close()


def families():
    """IPv4, IPv6, and IPv4 mapped into it, both ends of each"""
    v6 = "fd00::1"
    p = Pairs((), ())
    sh(f"ip -n {p.ns.name} addr add {v6}/128 dev lo nodad")
    with p.ns:
        for local, remote in ("127.0.0.1", "127.0.0.2"), (v6, v6):
            p.listen(remote, 5001)
            p.connect(local, remote, 5001)
        mapped = p.listen("::", 5004)
        p.connect("127.2.0.1", "127.2.0.2", 5004)
        p.socks.append(mapped.accept()[0])
        nl = Family("bolt")
    expect("all", sorted((x["family"], x["local-addr"]) for x in nl.dump("flow-get")),
           sorted([(2, "127.0.0.1"), (2, "127.0.0.2"), (10, v6), (10, v6), (2, "127.2.0.1"),
                   (10, "::ffff:127.2.0.2")]))
    nl.close()
    p.close()


def pages(nl):
    """The cookies of a dump, message by message; what is done between two of them is done under it"""
    nl.ask(nl.id, nl.ops["flow-get"]["value"], 0x300, b"")
    nl.interrupted = done = False
    while not done:
        page = []
        for msg in nl.batch():
            kind, flags = struct.unpack_from("=HH", msg, 4)
            nl.interrupted |= bool(flags & 0x10)
            done = kind == 3
            if not done:
                page.append(nl.decode("flow", msg[20:])["cookie"])
        yield page


def interrupted(nl):
    list(pages(nl))
    return nl.interrupted


def many():
    """Thousands of flows, each once, in many messages; others come and go, and who stays is not missed"""
    p = Pairs((("127.0.0.1", "127.0.0.2"),))
    with p.ns:
        mine = {}

        def pair():
            p.connect("127.0.0.1", "127.0.0.2", 5001)
            p.socks.append(p.socks[0].accept()[0])
            mine.update((cookie(s), s) for s in p.socks[-2:])

        for _ in range(MANY // 2):
            pair()
        nl = Family("bolt")
        poll(lambda: not any(interrupted(nl) for _ in range(3)), "a table that has grown")
        expect("counted", bolt_ctl.bolt_stat()["FlowsNow"], MANY)
        quiet = list(pages(nl))
        told = sum(quiet, [])
        expect("all", set(mine) ^ set(told), set())
        expect("each once", len(told), MANY)
        expect("in many messages", len(quiet) > 20, True)
        expect("not interrupted", nl.interrupted, False)

        q = Pairs()
        with q.ns:
            other = Family("bolt")
            q.connect("127.0.0.1", "127.0.0.2", 5001)
            expect("among those of another namespace, both ends of one", len(flows(other)), 2)
            expect("not interrupted by them", other.interrupted, False)
            other.close()
        q.close()

        # those who have been told of go, and as many come
        before, seen = set(mine), []
        for page in pages(nl):
            seen += page
            for c in page[:20]:
                reset(mine.pop(c))
            for _ in page[:20:2]:
                pair()
        lived = before & set(mine)
        expect("some have lived through it, some not", 0 < len(lived) < len(before), True)
        expect("who has is there", lived - set(seen), set())
        expect("nobody twice", len(seen) - len(set(seen)), 0)
        expect("not interrupted by others", nl.interrupted, False)

        # the kernel is a message ahead, and its place is the first flow of the next; from Linux 6.13 on a work item has a
        # new flow for a jiffy
        time.sleep(0.1)
        quiet = list(pages(nl))
        for n, _ in enumerate(pages(nl)):
            if n == 0:
                reset(mine.pop(quiet[2][0]))
        expect("interrupted where its place is gone", nl.interrupted, True)
        nl.close()
    p.close()


# --- who may ask, and what for ---

def bad():
    """Refusals and their words"""
    p = Pairs()
    with p.ns:
        p.connect("127.0.0.1", "127.0.0.2", 5001)
        nl = Family("bolt")
    dump, do = nl.dump, nl.do
    refused("a filter", errno.EINVAL, "", dump, "flow-get", local_port=5001)
    refused("one flow", errno.EOPNOTSUPP, "", do, "flow-get", cookie=1)
    refused("unknown attribute", errno.EINVAL, "", dump, "flow-get", raw=attr(99, b""))
    nl.close()
    p.close()


def permissions():
    """Flows for everybody of the namespace; counters for its administrator"""
    p = Pairs()
    with p.ns:
        p.connect("127.0.0.1", "127.0.0.2", 5001)
        expect("flows", unprivileged(lambda: len(Family("bolt").dump("flow-get"))), "2")
        # what becomes of a message tells whether its sequence number is in flight
        expect("counters", unprivileged(lambda: open("/proc/net/bolt_stat", "rb").read()),
               "EPERM")
    p.close()


# --- what goes while somebody looks ---

def half_a_dump(ns):
    with ns:
        nl = Family("bolt")
    nl.ask(nl.id, nl.ops["flow-get"]["value"], DUMP, b"")
    return nl


def unloads():
    return subprocess.run(["rmmod", "tcp_bolt"], check=False, capture_output=True).returncode == 0


def unload():
    """The module refuses to go while a dump is half read, and goes then"""
    p = Pairs()
    with p.ns:
        for _ in range(200):
            p.connect("127.0.0.1", "127.0.0.2", 5001)
        other = Family("bolt")
    nl = half_a_dump(p.ns)
    for s in p.socks:
        reset(s)
    # no socket uses it any more, but a dump does
    poll(lambda: not flows(other), "all gone")
    other.close()
    expect("while a dump is open", unloads(), False)
    nl.close()
    poll(unloads, "unloads when it is not")
    subprocess.run(["insmod", f"{os.environ['BOLT_MODULES']}/tcp_bolt.ko"], check=True)
    p.close()


def namespace_goes():
    """A dump half read, in a namespace that nobody else holds"""
    for _ in range(3):
        f = Flow()
        nl = half_a_dump(f.h1)
        pid = os.fork()
        if not pid:
            signal.pause()
        # nothing of it is left: nobody would acknowledge its FIN
        reset(f.sock)
        f.close()
        for command in reversed(bolt_ctl.undo):
            subprocess.run(command, shell=True, check=False)
        bolt_ctl.undo.clear()
        nl.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


# unload first: what others leave, a FIN that nobody acknowledges, holds the module
TESTS = [unload, headers, policies, one_flow, swift_flow, paused_flow, limited_flow, families, many, bad, permissions,
         namespace_goes]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
