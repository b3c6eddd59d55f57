#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Random writes to net.bolt.* and random requests to the family bolt, with connections there.

Under KASAN and lockdep, a bug shows as what the kernel prints.  Besides:

- Of a setting that is a number, what is in the range of its manual page is taken, and nothing else.
- What is refused changes nothing; what is accepted changes that setting alone, and can be read back
  and written again.
- A request changes nothing, and what answers it is as the specification says.
- The namespace goes, and the module can be unloaded.

BOLT_FUZZ_SEED=N and BOLT_FUZZ_ROUNDS=N choose other inputs, and more.
"""

import errno
import os
import random
import re
import socket
import struct
import subprocess
import sys

import bolt_ctl
from bolt_ctl import TCP_CONGESTION, Namespace, expect, expect_that, failures, poll, sh
from lib_ynl import ACK, DONE, DUMP, ERROR, REQUEST, Family, attr

SEED = int(os.environ.get("BOLT_FUZZ_SEED", "1"))
ROUNDS = int(os.environ.get("BOLT_FUZZ_ROUNDS", "12"))
WRITES, REQUESTS = 100, 100    # of a round
MAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Documentation/man/tcp_bolt.7")
SYS = "/proc/sys/net/bolt"
KEY = "0123456789abcdef" * 2
# those that the kernel has and loads nothing for
FALLBACKS = "cubic", "reno"


def documented():
    """{name: (least, most)} of the settings that are numbers"""
    with open(MAN, encoding="utf-8") as f:
        rows = re.findall(r'^\.BR net\.bolt\.(\S+) " \((-?\d+) (?:to|or) (-?\d+)[ ;]', f.read().replace(r"\-", "-"), re.M)
    return {name.replace(".", "/"): (int(least), int(most)) for name, least, most in rows}


def number(text):
    """What the kernel takes for a number, as C writes it, at the beginning of the text; or None"""
    m = re.match(rb"[ \t\n]*(-?)(0x[0-9a-f]+|0[0-7]*|[1-9][0-9]*)(?:[ \t\n]|\Z)", text, re.I)
    # longer ones are not even read
    if not m or len(m[1] + m[2]) > 20:
        return None
    digits = m[2].lower()
    value = int(digits, 16 if digits[:2] == b"0x" else 8 if digits[:1] == b"0" else 10)
    return -value if m[1] else value


class Settings:
    """Those of a namespace"""

    def __init__(self, ns):
        self.ns, self.limits = ns, documented()
        with ns:
            found = subprocess.run(["find", SYS, "-type", "f"], capture_output=True, text=True, check=True).stdout
        self.names = sorted(os.path.relpath(path, SYS) for path in found.split())
        expect("numbers", sorted(set(self.names) - set(self.limits)), ["fallback", "tag_key"])
        self.accepted, self.refused = 0, 0

    def values(self, *names):
        """Of these, or all"""
        out = {}
        with self.ns:
            for name in names or self.names:
                with open(f"{SYS}/{name}", "rb") as f:
                    out[name] = f.read()
        return out

    def write(self, name, text, at=0):
        """How many bytes were taken, or an errno below 0"""
        with self.ns:
            fd = os.open(f"{SYS}/{name}", os.O_WRONLY)
        try:
            return os.pwrite(fd, text, at)
        except OSError as e:
            return -e.errno
        finally:
            os.close(fd)

    def try_one(self, rnd):
        """See above"""
        name = rnd.choice(self.names)
        # written elsewhere than at the beginning a number is ignored, a text is put together with what is there
        at = rnd.choice([0, 0, 0, 0, rnd.randrange(80)])
        text, before = rnd.text(name, self.limits.get(name)), self.values()
        took = self.write(name, text, at)
        after, what = self.values(), f"{name}: {text[:60]} at {at}: {took}"
        self.accepted += took > 0
        self.refused += took < 0
        others = {k: (before[k], after[k]) for k in after if k != name and after[k] != before[k]}
        expect(f"{what}: others", others, {})
        if took < 0:
            expect(f"{what}: unchanged", after[name], before[name])
        elif name in self.limits:
            self.is_right(what, name, text[:took] if not at else b"", before[name], after[name])
        if name in self.limits and not at:
            self.is_due(what, name, text, took)
        if name != "tag_key":
            expect(f"{what}: given back", (self.write(name, after[name]) > 0, self.values(name)[name]), (True, after[name]))

    def is_right(self, what, name, text, before, after):
        """A number that was taken reads back"""
        value = number(text) if text else int(before)
        expect(f"{what}: reads", int(after), value)

    def is_due(self, what, name, text, took):
        """Refused if, and but for what another setting says only if, it is no number or out of range"""
        least, most = self.limits[name]
        value = number(text)
        fits = value is not None and least <= value <= most
        if took >= 0:
            expect(f"{what}: taken", fits or not text, True)
        elif fits:
            expect(f"{what}: refused", name in ("hooks", "sfc") and took == -errno.EBUSY, True)


class Random(random.Random):
    def text(self, name, limits):
        """For a setting: often right, mostly nearly so"""
        if limits:
            least, most = limits
            value = self.choice([least, most, least - 1, most + 1, self.randint(least, most), self.choice([0, 1]),
                                 1 << self.randrange(70), -(1 << self.randrange(70))])
            form = self.choice(["%d", "%d", "%d", "%d\n", " %d", "%d ", "%#x", "0%d", "%d %d", "%d,", "+%d", "%dx", "%d\0"])
            text = form % ((value,) * form.count("%"))
        elif name == "tag_key":
            text = self.choice(["off", KEY, f"{KEY},{KEY[::-1]}", KEY[1:], f"{KEY},", f"{KEY}x", "g" + KEY[1:], f"{KEY} {KEY}"])
        elif name == "fallback":
            text = self.choice([*FALLBACKS, "bolt", "swift", "", "x" * self.randrange(40)])
        else:
            rows = sorted(self.choices([0, 1, 1448, 100000, 2**32 - 1, 2**32], k=self.randrange(1, 10)))
            text = self.choice(["off", "of", ",".join(f"{at}:{self.choice([0, 46, 63, 64, -1])}" for at in rows)])
        data = bytearray(text.encode())
        for _ in range(self.choice([0, 0, 0, 1, 3])):
            data.insert(self.randrange(len(data) + 1), self.choice(b"0189,: \n\0-x\xff"))
        return bytes(data) * self.choice([1] * 20 + [100, 5000])

    def request(self, family):
        """A message to the family bolt, or to generic netlink about it: (type, flags, body)"""
        kind = self.choice([family.id] * 9 + [16])
        flags = self.choice([0, DUMP, DUMP, DUMP, self.getrandbits(16)])
        cmd = self.choice([1, 1, 1, 0, 2, 255, self.randrange(256)]) if kind == family.id else self.choice([3, 10])
        body = struct.pack("=BBH", cmd, self.choice([1, 2, 0, self.randrange(256)]), self.choice([0, 0, 0, 1, 0xffff]))
        for _ in range(self.choice([0, 0, 0, 1, 2, 9])):
            body += attr(self.choice([1, 2, self.randrange(40), self.getrandbits(16)]), self.randbytes(self.choice([0, 1, 2, 4, 8, 300])))
        if self.random() < 0.1:
            body = body[:self.randrange(len(body) + 1)] + self.randbytes(self.randrange(9))
        return kind, flags, body


class Host:
    """Connections to itself: one of bolt, one of swift, one that only a BTS would concern"""

    def __init__(self):
        self.ns = Namespace("fuzz")
        # goes with the namespace
        self.device = f"fuzz{Namespace.made}"
        sh(f"ip link add name {self.device} type veth peer name eth0 netns {self.ns.name}; ip -n {self.ns.name} link set lo up")
        self.socks = []
        with self.ns:
            for n, cc in enumerate((b"bolt", b"swift", b"cubic"), 5001):
                listener, client = socket.socket(), socket.socket()
                for s in listener, client:
                    s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc)
                listener.bind(("127.0.0.2", n))
                listener.listen(1)
                client.connect(("127.0.0.2", n))
                self.socks += [listener, client, listener.accept()[0]]
            self.family = Family("bolt")

    def works(self, what):
        """All carry what is sent"""
        for client, server in zip(self.socks[1::3], self.socks[2::3]):
            client.sendall(b"x" * 100000)
            got, data = 0, b"x"
            server.settimeout(60)
            while got < 100000 and data:
                data = server.recv(65536)
                got += len(data)
            expect(what, got, 100000)

    def flows(self):
        """What a dump says that does not move by itself"""
        return sorted((x["cookie"], x["congestion"], x["cwnd"], x["window"]) for x in self.family.dump("flow-get"))

    def close(self):
        """Nothing of it stays"""
        self.family.close()
        for s in self.socks:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        self.ns.close()
        bolt_ctl.undo.remove(f"ip netns del {self.ns.name}")
        sh(f"ip netns del {self.ns.name}")
        poll(lambda: not os.path.exists(f"/sys/class/net/{self.device}"), "the namespace goes")
        poll(lambda: not subprocess.run(["rmmod", "tcp_bolt"], check=False, capture_output=True).returncode, "unloading")
        sh(f"insmod {os.environ['BOLT_MODULES']}/tcp_bolt.ko")


def rounds(one):
    for n in range(ROUNDS):
        if failures:
            return
        one(n, Random(SEED * 1000 + n))


def settings():
    """Random writes"""
    host = Host()
    all_of_it = Settings(host.ns)
    first = all_of_it.values()

    def one(n, rnd):
        for _ in range(WRITES):
            if failures:
                return
            all_of_it.try_one(rnd)
        # pauses and windows are as one likes, but for a rate of its own, or a burst, none of this keeps data back
        host.works(f"round {n}: a transfer")

    rounds(one)
    expect_that("accepted, refused", min(all_of_it.accepted, all_of_it.refused) > 10 * ROUNDS, (all_of_it.accepted, all_of_it.refused))
    for name in sorted(first, reverse=True):    # sfc is off before hooks
        if name != "tag_key":
            all_of_it.write(name, first[name])
    all_of_it.write("tag_key", b"off")
    expect("the first values again", all_of_it.values(), first)
    host.close()


def requests():
    """Random requests"""
    host = Host()
    host.works("before")
    before, flows, nl = host.ns.stats(), host.flows(), host.family
    expect("flows", len(flows), 4)
    answered = refused = 0

    def one(_, rnd):
        nonlocal answered, refused
        for _ in range(REQUESTS):
            answers, err = ask(nl, *rnd.request(nl))
            told = [nl.decode("flow", msg[20:]) for msg in answers if struct.unpack_from("=H", msg, 4)[0] == nl.id]
            answered += len(told)
            refused += err < 0
        expect("flows", host.flows(), flows)

    rounds(one)
    expect("counters", host.ns.stats(), before)
    expect_that("flows of answers, refusals", min(answered, refused) > 10 * ROUNDS, (answered, refused))
    # a dump that nobody reads on
    nl.ask(nl.id, 1, DUMP, b"")
    host.close()


def ask(nl, kind, flags, body):
    """What answers it, and its error if it has one: each request wants an acknowledgment"""
    nl.seq += 1
    nl.sock.send(struct.pack("=IHHII", 16 + len(body), kind, flags | REQUEST | ACK, nl.seq, 0) + body)
    out = []
    while True:
        for msg in nl.batch():
            kind, _, seq = struct.unpack_from("=HHI", msg, 4)
            expect("about the request", seq, nl.seq)
            if kind in (ERROR, DONE):
                return out, struct.unpack_from("=i", msg, 16)[0]
            out.append(msg)


TESTS = [settings, requests]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
