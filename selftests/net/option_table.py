#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The option's protocol as a table: what goes in, and what must come out.

	the kernel's socket ---- tun0 ---- this program, which is the other host

As packetdrill does, this program plays the peer of a real socket: it sends the segments of a row
and compares each segment that the kernel answers.  So one end's protocol is checked without the
other's code, which could share its mistakes.

The table is the file option_table.  A name at the beginning of a line is a test; the events behind
its colon begin each of its rows.  A row is indented, and a line that is indented twice continues
it.  Each row runs over IPv4 and over IPv6.  {a|b} makes two rows of one, "let NAME = EVENTS"
defines @NAME, and # begins a comment.  An event is one of

	<FLAGS	a segment goes in
	>FLAGS	a segment comes out, and nothing before it; PSH is not compared
	<SRC	a switch answers the segment that began with seq= and carried tx=; "granted" as in its flag, queue= its bytes
	<ICMP	a router has no route for the segment that began with seq=, or it is larger than mtu=
	!WORD	the application does so: an option of OPTIONS, or do_WORD() below; with a dot, a
		sysctl until the row ends
	=	since the last of these, these counters have moved, NAME or NAME:N, and no others
		(those of NOISE where they are named); cc=, cwnd=, ssthresh=, srtt=, flows= have
		these values; and no other segment has come out

followed by words that describe it.  *N behind it repeats it N times.  Sequence numbers count from
the first byte of data, +N and -N from the next one, and *N adds N from one time to the next.
Unless its words say otherwise, a segment that goes in is in sequence, acknowledges all and has no
options, and one that comes out is in sequence and has neither payload nor Bolt's option:

	seq ack len mss sackok ts sack cookie	as TCP has it; the cookie of Fast Open
	port			another connection, 1 to 99
	syn, full=FLAGS		the option in its short or full form; D A S L F I C R are its flags in their order
	inc tx rq, level hops	its fields; out: what rq says.  tx=NAME of a segment that comes out
				gives its value that name, for later ones that go in: NAME+N
	opt=HEX broken ttl gso win	in: any option, a false checksum, a super-packet

Times are virtual.  +5ms is 5 ms after the event before; without it, what comes out comes at once.
Timers of the kernel may be an eighth late.
"""

import fcntl
import os
import re
import select
import socket
import struct
import sys
import tempfile
import time

import bolt_ctl
from bolt_ctl import LIBC, TCP_CONGESTION, TCP_INFO, Namespace, checksum, expect_that, packed, sh
from lib_bpf import PROG_ATTACH, PROG_DETACH, bpf, load
from lib_pause import Owner
from lib_ynl import Family

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "option_table")
PORT, ISN = 5001, 2**32 - 5     # the peer's numbers wrap around
SLACK_NS, REAL_NS = 100000, 10**10 if os.environ.get("BOLT_REAL_TIME") else 0
TCP_FLAGS, FLAGS = "FSRPAUEC", "DASLFICR"
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
NOISE = ("SynTx", "SynRx", "SynAckTx", "SynAckRx", "OptTx", "OptRx", "CtlRx", "SwiftTcpRtt")
BOTH = {"seq", "ack", "len", "port", "mss", "sackok", "ts", "sack", "cookie", "syn", "full", "inc", "tx", "rq"}
KNOWN = {"<": BOTH | {"opt", "broken", "ttl", "gso", "win", "granted", "mtu", "queue"}, ">": BOTH | {"level", "hops"}}
AF = {4: socket.AF_INET, 6: socket.AF_INET6}
ADDRESS = {4: ("192.0.2.1", "192.0.2.7"), 6: ("2001:db8::1", "2001:db8::7")}
TCP, SO_SNDBUFFORCE = socket.IPPROTO_TCP, 32
OPTIONS = {"fastopen": socket.TCP_FASTOPEN, "defer": socket.TCP_DEFER_ACCEPT, "cork": socket.TCP_CORK, "nodelay": socket.TCP_NODELAY}
SYSCTLS = {"bolt.fallback": "reno", "bolt.debug.ai": 0, "ipv4.tcp_no_metrics_save": 1, "ipv4.tcp_early_retrans": 0,
           "ipv4.tcp_syncookies": 0, "ipv4.tcp_fastopen": 3, "ipv4.tcp_syn_linear_timeouts": 0}
# BPF_PROG_TYPE_SOCK_OPS: if (ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
#	bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, "cubic", 6); return 1;
SOCK_OPS, CGROUP_SOCK_OPS = 13, 3
SELECT_CUBIC = (
    (0x61, 0x12, 0, 0), (0x55, 0x02, 8, 4), (0x62, 0x0a, -8, 0x69627563), (0x62, 0x0a, -4, ord("c")), (0xb7, 0x02, 0, socket.IPPROTO_TCP),
    (0xb7, 0x03, 0, TCP_CONGESTION), (0xbf, 0xa4, 0, 0), (0x07, 0x04, 0, -8), (0xb7, 0x05, 0, 6), (0x85, 0, 0, 49), (0xb7, 0, 0, 1),
    (0x95, 0, 0, 0))


class Mismatch(Exception):
    """What happened is not what the row says"""


# --- the table ---

def number(text):
    base, _, power = text.partition("^")
    return int(base, 0) ** int(power or 1)


def time_of(text):
    n, unit = re.fullmatch(r"(\d+)([a-z]+)", text).groups()
    return int(n) * UNITS[unit]


class Event:
    def __init__(self, words):
        self.text = " ".join(words)
        self.wait = time_of(words.pop(0)[1:]) if words[0][0] == "+" else 0
        self.verb, self.word = words[0][0], words[0][1:]
        if self.verb in "<>!":
            self.word, _, repeat = self.word.partition("*")
        self.repeat = int(repeat or 1) if self.verb in "<>!" else 1
        self.words = ([self.word] if self.verb == "=" and self.word else []) + words[1:]
        self.more = dict(w.partition("=")[::2] for w in self.words)
        if not self.is_known():
            raise ValueError(f"{self.text}: what is that?")

    def is_known(self):
        if self.verb in "<>":
            return (set(self.more) <= KNOWN[self.verb] and set(self.more.get("full", "")) <= set(FLAGS) and
                    (self.word in ("SRC", "ICMP") or set(self.word) <= set(TCP_FLAGS)))
        if self.verb == "=":
            return {w.partition("=")[0] for w in self.words if "=" in w} <= {"cc", "cwnd", "ssthresh", "srtt", "flows"}
        name = self.word.partition("=")[0]
        return not self.words and ("." in name or name in OPTIONS or hasattr(Row, "do_" + name))


def alternatives(text):
    match = re.search(r"{([^{}]*)}", text)
    if not match:
        return [text]
    return [row for one in match[1].split("|") for row in alternatives(text[:match.start()] + one + text[match.end():])]


def events(text):
    words = []
    for word in text.split():
        if words and re.match(r"[<>!=]|\+\d", word) and (len(words) > 1 or words[0][0] != "+"):
            yield Event(words)
            words = []
        words.append(word)
    yield Event(words)


def read(lines):
    """{test: [(line, row, its events)]}"""
    tests, names, begin, rows = {}, {}, "", []
    for n, line in enumerate(lines, 1):
        line = re.sub(r"@(\w+)", lambda m: names[m[1]], line.partition("#")[0].rstrip())
        if line.startswith("\t\t") and rows:
            rows[-1][1] += line
        elif line.startswith("\t\t"):
            begin += line
        elif line.startswith("\t"):
            rows.append([n, begin + line])
        elif line.startswith("let "):
            name, _, names[name] = line[4:].partition(" = ")
        elif line:
            name, _, begin = line.partition(":")
            rows = tests[name] = []
    return {name: [(n, " ".join(one.split()), list(events(one))) for n, text in rows for one in alternatives(text)] for name, rows in tests.items()}


# --- segments ---

def pseudo(family, proto, length):
    return b"".join(socket.inet_pton(AF[family], a) for a in ADDRESS[family]) + struct.pack("!HH", proto, length)


def summed(family, proto, l4, at):
    """With its checksum, at that offset"""
    check = checksum(pseudo(family, proto, len(l4)) + l4 + bytes(len(l4) % 2))
    return l4[:at] + struct.pack("!H", check) + l4[at + 2:]


def header(family, proto, length, ttl=64, out=False):
    """Of IP, in front of so many bytes"""
    src, dst = (socket.inet_pton(AF[family], a) for a in ADDRESS[family][::1 if out else -1])
    if family == 6:
        return struct.pack("!IHBB16s16s", 6 << 28, length, proto, ttl, src, dst)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + length, 0, 0x4000, ttl, proto, 0, src, dst)
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]


def options(more, zero, tx):
    """Of TCP, in the order of the row"""
    out = b""
    for name, value in more.items():
        if name == "mss":
            out += struct.pack("!BBH", 2, 4, number(value))
        elif name == "sackok":
            out += b"\4\2"
        elif name == "ts":
            out += struct.pack("!BBII", 8, 10, *map(number, value.split("/")))
        elif name == "sack":
            out += struct.pack("!BBII", 5, 10, *(number(n) + zero & 0xffffffff for n in value.split("-")))
        elif name == "cookie":
            out += bytes([34, 2 + len(value) // 2]) + bytes.fromhex(value)
        elif name == "syn":
            out += b"\xfe\4\xb0\x17"
        elif name == "full":
            flags = sum(0x80 >> FLAGS.index(f) for f in value)
            out += struct.pack("!BBHBBIH", 254, 12, 0xb017, flags, number(more.get("inc", "0")), tx, number(more.get("rq", "0")))
        elif name == "opt":
            out += bytes.fromhex(value)
    return out + b"\1" * (-len(out) % 4)


def relative(n):
    return (n + 2**31) % 2**32 - 2**31


def parsed(family, data):
    """A segment that came out, by the names of the table; "seq" and "ack" as they are"""
    th = data[20 if family == 4 else 40:]
    if summed(family, 6, th, 16)[16:18] not in (b"\0\0", b"\xff\xff"):
        raise Mismatch("a false checksum")
    port, seq, ack = struct.unpack("!2xHII", th[:12])
    opts, got = th[20:4 * (th[12] >> 4)], {"form": "", "sack": "", "sackok": "no", "ts": "no"}
    got |= {"dport": port, "seq": seq, "ack": ack, "len": len(th) - 20 - len(opts),
            "flags": "".join(f for i, f in enumerate(TCP_FLAGS) if th[13] & 1 << i and f != "P")}
    while opts and opts[0]:
        size = 1 if opts[0] == 1 else opts[1]
        kind, body, opts = opts[0], opts[2:size], opts[size:]
        if kind == 2:
            got["mss"] = int.from_bytes(body, "big")
        elif kind in (4, 8):
            got[{4: "sackok", 8: "ts"}[kind]] = "yes"
        elif kind == 5:
            edges = [str(relative(n - ISN - 1)) for n in struct.unpack(f"!{len(body) // 4}I", body)]
            got["sack"] = "/".join(map("-".join, zip(edges[::2], edges[1::2])))
        elif kind == 34:
            got["cookie"] = body.hex() or "asked"
        elif kind == 254 and body[:2] == b"\xb0\x17":
            got["form"] = {2: "syn", 10: "full"}.get(len(body), "bad")
            if len(body) == 10:
                flags, got["inc"], got["tx"], got["rq"] = struct.unpack("!BBIH", body[2:])
                got |= {"full": "".join(f for i, f in enumerate(FLAGS) if flags & 0x80 >> i), "level": got["rq"], "hops": got["rq"] >> 12}
    return got


# --- the hosts ---

class Host(Namespace):
    def __init__(self, family):
        super().__init__("h")
        self.family = family
        with self:
            self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            # with a struct virtio_net_hdr before each packet, whose device says nothing of segments
            fcntl.ioctl(self.tun, 0x400454ca, struct.pack("16sH22x", b"tun0", 0x5001))
        net = "64 nodad" if family == 6 else "24"
        sh(f"ip -n {self.name} link set lo up; ip -n {self.name} link set tun0 up; ip -n {self.name} addr add {ADDRESS[family][0]}/{net} dev tun0")
        for name, value in SYSCTLS.items():
            if os.path.exists("/proc/sys/net/" + name.replace(".", "/")):
                self.sysctl(name, value)

    def send(self, proto, l4, ttl=64, gso=0, hlen=0):
        data = header(self.family, proto, len(l4), ttl) + l4
        l3 = len(data) - len(l4)
        virtio = struct.pack("=BBHHHH", 1, 1 if self.family == 4 else 4, l3 + hlen, gso, l3, 16) if gso else bytes(10)
        os.write(self.tun, virtio + data)

    def receive(self, ns):
        """The next segment of TCP, or None"""
        while select.select([self.tun], [], [], ns / 1e9)[0]:
            data = os.read(self.tun, 1 << 17)[10:]
            if data[0] >> 4 == self.family and data[6 if self.family == 6 else 9] == 6:
                return parsed(self.family, data)
        return None

    def close(self):
        os.close(self.tun)
        super().close()


class Connection:
    """Its ports, the next byte of the peer's data and of the kernel's, and the number of the latter's first"""

    def __init__(self, port, kernel_port):
        self.port, self.kernel_port = port, kernel_port
        self.mine, self.theirs, self.zero = -1, -1, 0


class Row:
    """A row of the table, as it happens"""

    rows = 0

    def __init__(self, host):
        Row.rows += 1
        self.host, self.family, self.turn = host, host.family, 0
        self.connections, self.names, self.undo = {}, {}, []
        with host:
            self.socks = [socket.socket(AF[self.family])]
        self.connects = self.listens = False
        self.option(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20)
        self.do_cc("bolt")
        self.before, self.at = host.stats(), time.monotonic_ns()

    def run(self, row):
        """What differs, or None"""
        try:
            for event in row:
                for self.turn in range(event.repeat):
                    self.happens(event)
            self.quiet()
            return None
        except (Mismatch, OSError) as why:
            return f"{event.text}: {why}"
        finally:
            self.end()

    def happens(self, event):
        if event.verb == ">":
            return self.comes_out(event)
        time.sleep(max(0, self.at + event.wait - time.monotonic_ns()) / 1e9)
        if event.verb == "<":
            self.goes_in(self.connection(event.more), event.word, event.more)
        elif event.verb == "=":
            self.state(event)
        else:
            self.does(*event.word.partition("=")[::2])
        self.at = time.monotonic_ns()
        return None

    def end(self):
        for undo in reversed(self.undo):
            undo()
        for sock in reversed(self.socks):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        while self.host.receive(0):
            pass

    def connection(self, more):
        port = number(more.get("port", "0"))
        if port not in self.connections:
            if not self.connects and not self.listens:
                self.do_listen("")
            self.connections[port] = Connection(PORT if self.connects else 10000 + 100 * (Row.rows % 500) + port, self.socks[0].getsockname()[1])
        return self.connections[port]

    def position(self, text, default):
        if not text:
            return default
        if text[0] == "*":
            return (self.turn + 1) * number(text[1:])
        return number(text.lstrip("+-")) * (-1 if text[0] == "-" else 1) + (default if text[0] in "+-" else 0)

    def tx(self, text):
        name, off = re.fullmatch(r"(\w+)([+-]\d+)?", text).groups()
        return (self.names[name] if name in self.names else number(name)) + int(off or 0) & 0xffffffff

    # --- what goes in ---

    def goes_in(self, c, flags, more):
        tx = self.tx(more.get("tx", "0"))
        if flags == "SRC":
            return self.src(c, number(more["seq"]), tx, 8 if "granted" in more else 0, number(more.get("queue", "100000000")))
        if flags == "ICMP":
            return self.icmp(c, number(more["seq"]), number(more.get("mtu", "0")))
        size, gso = number(more.get("len", "0")), number(more.get("gso", "0"))
        seq = self.position(more.get("seq"), -1 if "S" in flags else c.mine)
        ack = self.position(more.get("ack"), c.theirs) if "A" in flags else -1
        if more.get("seq", "0")[0] not in "+-" and "broken" not in more:
            c.mine = max(c.mine, seq + size + ("S" in flags) + ("F" in flags))
        opts = options(more, c.zero, tx)
        th = struct.pack("!HHIIBBHHH", c.port, c.kernel_port, seq + ISN + 1 & 0xffffffff, ack + c.zero & 0xffffffff, 5 + len(opts) // 4 << 4,
                         sum(1 << TCP_FLAGS.index(f) for f in flags), number(more.get("win", "60000")), 0, 0) + opts
        if gso:
            # of the pseudo header: the rest is for the device
            th = th[:16] + struct.pack("!H", checksum(pseudo(self.family, 6, len(th) + size)) ^ 0xffff) + th[18:]
        segment = th + bytes(size) if gso else summed(self.family, 6, th + bytes(size), 16)
        if "broken" in more:
            segment = segment[:17] + bytes([segment[17] ^ 1]) + segment[18:]
        return self.host.send(6, segment, number(more.get("ttl", "64")), gso, len(th))

    def quote(self, c, seq):
        return header(self.family, 6, 40, out=True) + struct.pack("!HHI", c.kernel_port, c.port, seq + c.zero & 0xffffffff)

    def src(self, c, seq, tx, flags, queue):
        message = packed(self.quote(c, seq), 1, tx, flags=flags, queue=queue)
        uh = struct.pack("!HHHH", bolt_ctl.PORT, bolt_ctl.PORT, 8 + len(message), 0) + message
        self.host.send(17, summed(self.family, 17, uh, 6))

    def icmp(self, c, seq, mtu):
        kind = {4: (3, 4 if mtu else 0), 6: (2 if mtu else 1, 0)}[self.family]
        message = struct.pack("!BBHI", *kind, 0, mtu) + self.quote(c, seq)
        if self.family == 6:
            return self.host.send(58, summed(6, 58, message, 2))
        return self.host.send(1, message[:2] + struct.pack("!H", checksum(message)) + message[4:])

    # --- what comes out ---

    def comes_out(self, event):
        c, more = self.connection(event.more), event.more
        got = self.host.receive(event.wait * 9 // 8 + SLACK_NS + REAL_NS)
        took = time.monotonic_ns() - self.at
        if not got:
            raise Mismatch("nothing came")
        if "S" in event.word:
            c.kernel_port, c.zero = self.socks[0].getsockname()[1], got["seq"] + 1
        got |= {"seq": relative(got["seq"] - c.zero), "ack": relative(got["ack"] - ISN - 1)}
        want = {name: value or ("yes" if name in ("sackok", "ts") else got.get(name)) for name, value in more.items() if name not in ("port", "tx")}
        want |= {"flags": event.word, "len": more.get("len", 0), "dport": c.port, "form": next((f for f in ("syn", "full") if f in more), "")}
        want["seq"] = self.position(more.get("seq"), -1 if "S" in event.word else got["seq"] if "R" in event.word else c.theirs)
        want["ack"] = self.position(more.get("ack"), c.mine) if "A" in event.word else got["ack"]
        want.pop("syn", None)
        self.name(more.get("tx"), got, want)
        wrong = [f"{name} {got.get(name)}, not {want[name]}" for name in want if str(got.get(name)) != str(want[name])]
        if not REAL_NS and event.wait and took < event.wait - UNITS["ms"]:
            wrong.append(f"after {took} ns")
        if wrong:
            raise Mismatch("; ".join(wrong))
        if "R" not in event.word:
            c.theirs = max(c.theirs, got["seq"] + got["len"] + ("S" in event.word) + ("F" in event.word))
        self.at += took

    def name(self, text, got, want):
        """A name that is new is that of what came"""
        if text and text.isidentifier() and text not in self.names:
            self.names[text] = got.get("tx", 0)
        if text:
            want["tx"] = self.tx(text)

    def quiet(self):
        got = self.host.receive(0)
        if got:
            raise Mismatch(f"comes out: {got}")

    def state(self, event):
        self.quiet()
        after = self.host.stats()
        want = {name: int(n or 1) for name, _, n in (w.partition(":") for w in event.words if "=" not in w)}
        moved = {k: after[k] - self.before[k] for k in after if after[k] != self.before[k] and (k in want or k not in NOISE)}
        self.before = after
        wrong = [f"moved {moved}"] if moved != {k: n for k, n in want.items() if n} else []
        for name, value in ((n, v) for n, v in event.more.items() if v):
            got = getattr(self, name)()
            if got != value and not (name == "srtt" and 0 <= got - time_of(value) < SLACK_NS):
                wrong.append(f"{name} {got}")
        if wrong:
            raise Mismatch("; ".join(wrong))

    def cc(self):
        return self.socks[-1].getsockopt(TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()

    def cwnd(self):
        return str(struct.unpack_from("=I", self.socks[-1].getsockopt(TCP, TCP_INFO, 104), 80)[0])

    def ssthresh(self):
        return str(struct.unpack_from("=I", self.socks[-1].getsockopt(TCP, TCP_INFO, 104), 76)[0])

    def flows(self):
        return str(self.host.now("Flows"))

    def srtt(self):
        with self.host:
            family = Family("bolt")
        flow, = family.dump("flow-get")
        family.close()
        return flow["srtt-ns"]

    # --- what the application does ---

    def does(self, name, value):
        if name in OPTIONS:
            self.option(TCP, OPTIONS[name], int(value or 1))
        elif "." in name:
            with self.host, open("/proc/sys/net/" + name.replace(".", "/"), encoding="ascii") as f:
                before = f.read()
            self.undo.append(lambda: self.host.sysctl(name, before))
            self.host.sysctl(name, value.replace(",", " "))
        else:
            getattr(self, "do_" + name)(value)

    def option(self, level, name, value):
        self.socks[-1].setsockopt(level, name, value)

    def do_cc(self, name):
        self.option(TCP, TCP_CONGESTION, name.encode())

    def do_sndbuf(self, size):
        self.option(socket.SOL_SOCKET, socket.SO_SNDBUF, int(size))

    def do_rcvbuf(self, size):
        self.option(socket.SOL_SOCKET, socket.SO_RCVBUF, int(size))

    def do_listen(self, backlog):
        """Without this word, where a segment goes in first"""
        self.listens, self.connects = True, False
        self.option(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socks[0].bind((ADDRESS[self.family][0], PORT))
        self.socks[0].listen(int(backlog or 8))
        self.socks[0].settimeout(1)

    def do_accept(self, _):
        """From here on the application's words are of this connection"""
        self.socks.append(self.socks[0].accept()[0])
        self.socks[-1].setblocking(False)

    def do_connect(self, _):
        self.connects = True
        self.connections.clear()
        self.socks[0].setblocking(False)
        self.socks[0].connect_ex((ADDRESS[self.family][1], PORT))

    def do_fast(self, size):
        """With data in the SYN"""
        self.connects = True
        self.socks[0].setblocking(False)
        try:
            self.socks[0].sendto(bytes(number(size)), socket.MSG_FASTOPEN, (ADDRESS[self.family][1], PORT))
        except BlockingIOError:
            pass    # it asks for a cookie

    def do_disconnect(self, _):
        """To AF_UNSPEC, which Python does not do"""
        if LIBC.connect(self.socks[0].fileno(), bytes(28), 28):
            raise Mismatch("connect(AF_UNSPEC)")

    def do_send(self, size, flags=0):
        if self.socks[-1].send(bytes(number(size)), flags) != number(size):
            raise Mismatch("there is no room")

    def do_more(self, size):
        self.do_send(size, socket.MSG_MORE)

    def do_fill(self, size):
        """As much of it as there is room for"""
        self.socks[-1].send(bytes(number(size)))

    def do_shut(self, _):
        self.socks[-1].shutdown(socket.SHUT_WR)

    def do_own(self, _):
        """A user owns the socket from here on: what comes in waits for him"""
        self.undo.append(Owner(self.socks[-1]).let_go)

    def do_release(self, _):
        self.undo.pop()()

    def do_any(self, _):
        """What comes out is not compared: newer kernels answer an ACK of what they have not sent"""
        while self.host.receive(0):
            pass

    def do_program(self, _):
        """One of this machine selects cubic when a connection is established, which is before init()"""
        program, where = load(SOCK_OPS, *SELECT_CUBIC), tempfile.mkdtemp()
        sh(f"mount -t cgroup2 none {where}")
        group = os.open(where, os.O_RDONLY)
        bpf(PROG_ATTACH, "IIII", group, program, CGROUP_SOCK_OPS, 0)
        self.undo.append(lambda: (bpf(PROG_DETACH, "IIII", group, program, CGROUP_SOCK_OPS, 0), os.close(group), os.close(program),
                                  sh(f"umount {where}; rmdir {where}")))


def test(name, rows):
    def run():
        for family in AF:
            host = Host(family)
            for line, text, row in rows:
                why = Row(host).run(row)
                expect_that(f"line {line}, IPv{family}, {text}", not why, why)
            host.close()
    run.__name__ = name
    return run


def main():
    LIBC.prctl(29, 1)   # PR_SET_TIMERSLACK
    with open(TABLE, encoding="ascii") as f:
        return bolt_ctl.main([test(*t) for t in read(f).items()])


if __name__ == "__main__":
    sys.exit(main())
