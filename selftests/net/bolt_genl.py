#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# modules: tcp_swift
"""Generic netlink: the families "bolt" and "sfc" are what their specifications say, and tell the truth.

	specification = uapi header = policy in the kernel, name by name and value by value;
	flows by cookie, by 4-tuple, by filter, as the sockets themselves know it; thousands in a dump;
	who may ask, and what is refused in which words.
"""

import errno
import os
import re
import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import TCP_CONGESTION, Flow, Namespace, expect, failures, poll, sh
from lib_pause import MS, Host
from lib_ynl import INTEGERS, Family, Refused, Spec, attr, specification

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SO_COOKIE, SO_NETNS_COOKIE = 57, 71
MANY = 3000
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
    out = {upper(name, "family_name"): name, upper(name, "family_version"): "1",
           upper(name, "mcgrp_events"): "events"}
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
    for name in "bolt", "sfc":
        have, want = header(name), specified(Spec(name))
        have.pop(upper("_uapi_linux", name, "netlink_h"), None)
        for key in sorted(have.keys() | want.keys()):
            expect(f"{name}: {key}", have.get(key), want.get(key))


def policies():
    """The kernel's policy admits what the specifications list in requests, and with their limits"""
    for name in "bolt", "sfc":
        family = Family(name)
        spec, policy = family, family.policy()
        expect(f"{name}: version", family.version, 1)
        expect(f"{name}: groups", sorted(family.groups),
               sorted(g["name"] for g in spec.yaml["mcast-groups"]["list"]))
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
    return {op["value"] for op in spec.ops.values() if "event" not in op and not any(
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


def raw_addr(text):
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def one_flow():
    """By cookie and by 4-tuple the same flow, and what the socket, inet_diag and the SRC say of it"""
    for family in 4, 6:
        f = Flow(family)
        f.believed("SRC", f.message(queue=3000000, rate=40000000, switch=77))
        with f.h1:
            nl = Family("bolt")
        by_cookie = nl.do("flow-get", cookie=cookie(f.sock))
        by_tuple = nl.do("flow-get", local_addr=raw_addr(f.ip[0]), remote_addr=raw_addr(f.ip[1]),
                         local_port=f.sport, remote_port=5001)
        age = by_cookie["last-src"].pop("age-ns"), by_tuple["last-src"].pop("age-ns")
        expect("age", 0 < age[0] <= age[1] < 10**9, True)
        expect("by tuple", by_tuple, by_cookie)
        inode = os.fstat(f.sock.fileno()).st_ino
        netns = struct.unpack("=Q", f.sock.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8))[0]
        want = {"cookie": cookie(f.sock), "netns-cookie": netns, "inode": inode, "uid": os.getuid(),
                "family": {4: 2, 6: 10}[family], "local-addr": f.ip[0], "remote-addr": f.ip[1],
                "local-port": f.sport, "remote-port": 5001, "congestion": "bolt", "state": 1,
                "ifindex": 0, "cwnd": f.cwnd(), "flags": {"option"}, "window": f.cwnd() << 32}
        expect("what the socket says", {k: by_cookie.get(k) for k in want}, want)
        expect("last SRC", {k: by_cookie["last-src"][k] for k in by_cookie["last-src"]
                            if k != "rtt-src-ns"},
               {"queue-bytes": 3000000, "link-rate": 40000000, "switch-id": 77, "verdict": "dec"})
        expect("rtt_src", 8000 <= by_cookie["last-src"]["rtt-src-ns"] < 10**7, True)
        expect("counters", {k: by_cookie["counters"][k] for k in ("src", "src-dec", "pauses")},
               {"src": 1, "src-dec": 1, "pauses": 0})
        # the smoothed one starts anew after an idle second
        expect("RTT", 0 < by_cookie["min-rtt-ns"] < 10**6, True)
        expect("no pause", "pause" in by_cookie, False)
        expect("no Swift of the ends", "swift-endpoint" in by_cookie, False)

        refused("cookie of nobody", errno.ENOENT, "no such connection", nl.do, "flow-get",
                cookie=cookie(f.sock) + 1000000)
        refused("cookie of another", errno.ESTALE, "another socket", nl.do, "flow-get",
                cookie=cookie(f.sock) + 1, local_addr=raw_addr(f.ip[0]), remote_addr=raw_addr(f.ip[1]),
                local_port=f.sport, remote_port=5001)
        nl.close()
        with f.h2:
            nl = Family("bolt")
        refused("cookie of another namespace", errno.ENOENT, "no such connection", nl.do,
                "flow-get", cookie=cookie(f.sock))
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
    flow, = nl.dump("flow-get", congestion="swift")
    expect("flags", flow["flags"], {"option"})
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
        flow, = nl.dump("flow-get", congestion=cc)
        pause = flow.pop("pause")
        expect(f"{cc}: flags", flow["flags"], {"paused", "option"} if cc == "bolt" else {"paused"})
        expect(f"{cc}: remaining", 0 < pause.pop("remaining-ns") <= 5 * MS, True)
        expect(f"{cc}: pause", pause, {"asked-ns": 5 * MS, "switch-id": 42, "from-cache": True,
                                       "deaf-ns": 0, "begun": 1, "granted-ns": 5 * MS})
        if cc == "bolt":
            expect("counted", flow["counters"]["pauses"], 1)
        else:
            expect("no counters", "counters" in flow, False)
        again = nl.do("flow-get", cookie=flow["cookie"])
        expect(f"{cc}: the same", again["local-port"], flow["local-port"])
        time.sleep(0.006)
        again = nl.do("flow-get", cookie=flow["cookie"])
        expect(f"{cc}: over", (again["pause"]["remaining-ns"], "paused" in again["flags"]),
               (0, False))
        h.streamed()
        if cc == "cubic":
            poll(lambda: nl.dump("flow-get") == [], "forgotten")
        nl.close()
        h.close()


def filters():
    """Each filter finds what it must, alone and together, and nothing else"""
    v6 = "fd00::1"
    pairs = (("127.0.0.1", "127.0.0.2"), ("127.1.0.1", "127.1.0.2"), (v6, v6))
    p = Pairs((), ())
    sh(f"ip -n {p.ns.name} addr add {v6}/128 dev lo nodad")
    with p.ns:
        for local, remote in pairs:
            for port in 5001, 5002:
                p.listen(remote, port)
                p.connect(local, remote, port)
        mapped = p.listen("::", 5004)
        p.connect("127.2.0.1", "127.2.0.2", 5004)
        p.socks.append(mapped.accept()[0])
        nl = Family("bolt")
    everything = nl.dump("flow-get")
    # both ends of each
    expect("all", len(everything), 14)

    def check(what, match, **values):
        have = sorted(x["cookie"] for x in nl.dump("flow-get", **values))
        want = sorted(x["cookie"] for x in everything if match(x))
        expect(f"{what}: some, and not all", 0 < len(want) < len(everything), True)
        expect(what, have, want)

    check("local port", lambda x: x["local-port"] == 5001, local_port=5001)
    check("remote port", lambda x: x["remote-port"] == 5002, remote_port=5002)
    check("local address", lambda x: x["local-addr"] == "127.1.0.2",
          local_addr=raw_addr("127.1.0.2"))
    check("local prefix", lambda x: x["local-addr"].startswith("127.1."),
          local_addr=raw_addr("127.1.2.3"), local_prefix=16)
    check("remote prefix", lambda x: x["remote-addr"].startswith("127.0."),
          remote_addr=raw_addr("127.0.9.9"), remote_prefix=16)
    check("IPv4, mapped or not", lambda x: v6 not in x["local-addr"],
          local_addr=raw_addr("0.0.0.0"), local_prefix=0)
    check("mapped", lambda x: x["local-addr"].endswith("127.2.0.2"),
          local_addr=raw_addr("::ffff:127.2.0.2"))
    check("IPv6", lambda x: x["local-addr"] == v6, local_addr=raw_addr(v6))
    check("family", lambda x: x["family"] == socket.AF_INET6, family=socket.AF_INET6)
    check("together", lambda x: x["local-port"] == 5001 and x["local-addr"] == "127.0.0.2",
          local_port=5001, local_addr=raw_addr("127.0.0.2"), congestion="bolt")
    expect("another congestion control", nl.dump("flow-get", congestion="cubic"), [])
    expect("another device", nl.dump("flow-get", ifindex=1), [])
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
        poll(lambda: nl.do("stats-get")["hash-size"] >= MANY, "a table that has grown")
        expect("counted", nl.do("stats-get")["flows"] >= MANY, True)
        quiet = list(pages(nl))
        told = sum(quiet, [])
        expect("all", set(mine) ^ set(told), set())
        expect("each once", len(told), MANY)
        expect("in many messages", len(quiet) > 20, True)
        expect("not interrupted", nl.interrupted, False)

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

        # the kernel is a message ahead, and its place is the first flow of the next
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
    four = {"local_addr": raw_addr("127.0.0.1"), "remote_addr": raw_addr("127.0.0.2"),
            "local_port": 1, "remote_port": 5001}
    refused("nothing", errno.EINVAL, "named by its cookie", do, "flow-get")
    refused("half a tuple", errno.EINVAL, "named by its cookie", do, "flow-get", local_port=1)
    refused("nobody's tuple", errno.ENOENT, "no such connection", do, "flow-get", **four)
    refused("two families", errno.EINVAL, "two families", do, "flow-get",
            **(four | {"remote_addr": raw_addr("fd00::1")}))
    refused("five bytes", errno.EINVAL, "4 bytes, or 16", dump, "flow-get", local_addr=b"12345")
    refused("three bytes", errno.ERANGE, "", dump, "flow-get", local_addr=b"123")
    refused("17 bytes", errno.ERANGE, "", dump, "flow-get", local_addr=b"1" * 17)
    refused("prefix alone", errno.EINVAL, "without its address", dump, "flow-get", local_prefix=8)
    refused("prefix too long", errno.ERANGE, "longer than the address", dump, "flow-get",
            remote_addr=raw_addr("192.0.2.1"), remote_prefix=33)
    refused("prefix far too long", errno.ERANGE, "out of range", dump, "flow-get",
            remote_addr=raw_addr("fd00::1"), remote_prefix=129)
    refused("a family of none", errno.EAFNOSUPPORT, "AF_INET", dump, "flow-get", family=1)
    refused("cookie in a dump", errno.EINVAL, "NLM_F_DUMP", dump, "flow-get", cookie=1)
    refused("filter for one", errno.EINVAL, "NLM_F_DUMP", do, "flow-get", family=2, **four)
    refused("name too long", errno.EINVAL, "", dump, "flow-get", congestion="x" * 16)
    refused("port of four bytes", errno.EINVAL, "", dump, "flow-get",
            raw=attr(nl.sets["flow"]["local-port"]["value"], b"\1\0\0\0"))
    refused("attribute of a reply", errno.EINVAL, "", dump, "flow-get", uid=0)
    refused("unknown attribute", errno.EINVAL, "", dump, "flow-get", raw=attr(99, b""))
    refused("attribute where none may be", errno.EINVAL, "", do, "stats-get",
            raw=attr(1, b"\0\0\0\0"))
    refused("a dump of what has none", errno.EOPNOTSUPP, "", dump, "stats-get")
    refused("an event asked for", errno.EOPNOTSUPP, "", do, "event")
    with p.ns:
        other = p.connect("127.0.0.1", "127.0.0.2", 5001, b"cubic")
    refused("neither bolt nor swift", errno.ENOENT, "neither bolt nor swift", do, "flow-get",
            **(four | {"local_port": other.getsockname()[1]}))
    nl.close()
    p.close()


def unprivileged(function):
    """Run it as nobody: what it returns, as text"""
    out, into = os.pipe()
    pid = os.fork()
    if not pid:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            text = str(function())
        except OSError as e:
            text = errno.errorcode[e.errno]
        os.write(into, text.encode())
        os._exit(0)
    os.close(into)
    os.waitpid(pid, 0)
    with os.fdopen(out, encoding="utf-8") as f:
        return f.read()


def permissions():
    """Flows and counters for everybody of the namespace, events and the cache for its administrator"""
    p = Pairs()
    # nobody need not be allowed to read the tree
    for name in "bolt", "sfc":
        specification(name)
    with p.ns:
        p.connect("127.0.0.1", "127.0.0.2", 5001)
        expect("flows", unprivileged(lambda: len(Family("bolt").dump("flow-get"))), "2")
        expect("counters", unprivileged(lambda: Family("bolt").do("stats-get")["version"]), "1")
        expect("switch's counters", unprivileged(lambda: Family("sfc").do("stats-get")["version"]),
               "1")
        expect("cache", unprivileged(lambda: Family("sfc").dump("cache-get")), "EPERM")
        for name in "bolt", "sfc":
            expect(f"{name}: events", unprivileged(lambda n=name: Family(n).listen("events")),
                   "EPERM")
            nl = Family(name)
            nl.listen("events")
            nl.close()
    p.close()


def stats():
    """Every counter of /proc/net/bolt_stat, in its order, and what the namespace is set to"""
    f = Flow()
    with f.h1:
        nl = Family("bolt")
    f.refused("type", "CtlType", f.message(type=9))
    have = nl.do("stats-get")
    expect("counters", [(c["name"], c["value"]) for c in have["counter"]],
           list(f.h1.stats().items()))
    expect("port", (have["port"], have["port-open"], have["sfc"]), (45079, 1, 0))
    f.h1.sysctl("bolt.sfc", 1)
    f.h1.sysctl("bolt.port", 4507)
    have = nl.do("stats-get")
    expect("settings", (have["port"], have["port-open"], have["sfc"]), (4507, 1, 1))
    nl.close()
    f.close()
    empty = Namespace("empty")
    with empty:
        nl = Family("bolt")
    have = nl.do("stats-get")
    expect("port of nobody", (have["port"], have["port-open"]), (45079, 0))
    expect("nothing counted", {c["value"] for c in have["counter"]}, {0})
    nl.close()
    empty.close()


TESTS = [headers, policies, one_flow, swift_flow, paused_flow, filters, many, bad, permissions, stats]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
