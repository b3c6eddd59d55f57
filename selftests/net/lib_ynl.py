# SPDX-License-Identifier: GPL-2.0
"""Generic netlink by specification: what the kernel's YNL tools do, as far as our family needs it.

Family("bolt") reads Documentation/netlink/specs/bolt.yaml; names of operations and attributes are
the specification's.  Nothing here knows a number but generic netlink's own.
"""

import errno
import functools
import os
import socket
import struct

import yaml

SPECS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Documentation/netlink/specs")
GENL_ID_CTRL, GETFAMILY, GETPOLICY = 16, 3, 10
REQUEST, MULTI, ACK, DUMP, DUMP_INTR = 1, 2, 4, 0x300, 0x10
ERROR, DONE = 2, 3
F_NESTED, TYPE_MASK = 0x8000, 0x3fff
SOL_NETLINK, CAP_ACK, EXT_ACK = 270, 10, 11
INTEGERS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q"}


class Refused(OSError):
    """What the kernel said: errno, and in words"""

    def __init__(self, err, words, offset):
        super().__init__(err, words or os.strerror(err))
        self.words, self.offset = words, offset


def attr(kind, payload):
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + b"\0" * (-len(data) % 4)


def attrs(data):
    """(type, payload) of each"""
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if not 4 <= length <= len(data):
            raise ValueError(f"attribute {kind} of {length} bytes in {len(data)}")
        yield kind & TYPE_MASK, data[4:length]
        data = data[(length + 3) & ~3:]
    if data:
        raise ValueError(f"{len(data)} bytes behind the last attribute")


@functools.cache
def specification(name):
    with open(f"{SPECS}/{name}.yaml", encoding="utf-8") as f:
        return yaml.safe_load(f)


class Spec:
    """A specification with the values that its rules give each name"""

    def __init__(self, name):
        self.yaml = specification(name)
        self.name = self.yaml["name"]
        self.consts, self.enums, self.sets, self.ops = {}, {}, {}, {}
        for d in self.yaml.get("definitions", ()):
            if d["type"] == "const":
                self.consts[d["name"]] = d["value"]
                continue
            self.enums[d["name"]] = {e["name"]: value for value, e in enumerate(d["entries"])}
        for s in self.yaml["attribute-sets"]:
            if "subset-of" in s:
                whole = self.sets[s["subset-of"]]
                self.sets[s["name"]] = {a["name"]: whole[a["name"]] for a in s["attributes"]}
                continue
            self.sets[s["name"]] = {}
            for value, a in enumerate(s["attributes"], 1):
                self.sets[s["name"]][a["name"]] = dict(a, value=a.get("value", value))
        for value, op in enumerate(self.yaml["operations"]["list"], 1):
            self.ops[op["name"]] = dict(op, value=op.get("value", value))

    def encode(self, space, values):
        out = b""
        for name, value in values.items():
            a = self.sets[space][name]
            if a["type"] in INTEGERS:
                value = struct.pack("=" + INTEGERS[a["type"]], value)
            elif a["type"] == "string":
                value = value.encode() + b"\0"
            out += attr(a["value"], value)
        return out

    def decode(self, space, data):
        names = {a["value"]: a for a in self.sets[space].values()}
        out = {}
        for kind, payload in attrs(data):
            a = names[kind]
            if a["type"] == "pad":
                continue
            value = self.value(a, payload)
            if a.get("multi-attr"):
                out.setdefault(a["name"], []).append(value)
            elif a["name"] in out:
                raise ValueError(f"{a['name']} twice")
            else:
                out[a["name"]] = value
        return out

    def value(self, a, payload):
        if a["type"] == "nest":
            return self.decode(a["nested-attributes"], payload)
        if a["type"] in INTEGERS:
            value, = struct.unpack("=" + INTEGERS[a["type"]], payload)
            if "enum" not in a:
                return value
            names = self.enums[a["enum"]]
            return next(name for name, number in names.items() if number == value)
        if a["type"] == "string":
            if payload[-1:] != b"\0":
                raise ValueError(f"{a['name']} without an end")
            return payload[:-1].decode()
        if a["type"] == "flag":
            return True
        return socket.inet_ntop({4: socket.AF_INET, 16: socket.AF_INET6}[len(payload)], payload)


class Family(Spec):
    """A socket for a family, in the namespace of the moment"""

    def __init__(self, name):
        super().__init__(name)
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.sock.bind((0, 0))
        self.sock.setsockopt(SOL_NETLINK, EXT_ACK, 1)
        self.sock.setsockopt(SOL_NETLINK, CAP_ACK, 1)
        self.seq, self.interrupted, self.messages = 0, False, 0
        reply, = self.talk(GENL_ID_CTRL, GETFAMILY, 0, attr(2, name.encode() + b"\0"))
        about = dict(attrs(reply[20:]))
        self.id, = struct.unpack("=H", about[1])
        self.version, = struct.unpack("=I", about[3])

    def close(self):
        self.sock.close()

    def ask(self, kind, cmd, flags, body, version=1):
        self.seq += 1
        msg = struct.pack("=BBH", cmd, version, 0) + body
        self.sock.send(struct.pack("=IHHII", 16 + len(msg), kind, flags | REQUEST, self.seq, 0)
                       + msg)

    def refusal(self, msg):
        err, = struct.unpack_from("=i", msg, 16)
        words, offset = None, None
        if struct.unpack_from("=H", msg, 6)[0] & 0x200:
            for kind, payload in attrs(msg[36:]):
                if kind == 1:
                    words = payload[:-1].decode()
                elif kind == 2:
                    offset, = struct.unpack("=I", payload)
        return Refused(-err, words, offset)

    def batch(self):
        """The messages of one read"""
        data = self.sock.recv(1 << 16)
        self.messages += 1
        while data:
            length, = struct.unpack_from("=I", data)
            yield data[:length]
            data = data[(length + 3) & ~3:]

    def talk(self, kind, cmd, flags, body):
        """Ask, and collect the answers"""
        self.ask(kind, cmd, flags | (0 if flags & DUMP else ACK), body)
        out, self.interrupted = [], False
        while True:
            for msg in self.batch():
                kind, flags, seq = struct.unpack_from("=HHI", msg, 4)
                if seq != self.seq:
                    continue
                self.interrupted |= bool(flags & DUMP_INTR)
                if kind in (ERROR, DONE):
                    if struct.unpack_from("=i", msg, 16)[0]:
                        raise self.refusal(msg)
                    return out
                out.append(msg)

    def request(self, op, flags, values, raw=b""):
        op = self.ops[op]
        body = self.encode(op["attribute-set"], values) + raw
        out = []
        for msg in self.talk(self.id, op["value"], flags, body):
            if msg[16] != op["value"]:
                raise ValueError(f"command {msg[16]} answers {op['value']}")
            out.append(self.decode(op["attribute-set"], msg[20:]))
        return out

    def do(self, op, raw=b"", **values):
        reply, = self.request(op, 0, {k.replace("_", "-"): v for k, v in values.items()}, raw)
        return reply

    def dump(self, op, raw=b"", **values):
        return self.request(op, DUMP, {k.replace("_", "-"): v for k, v in values.items()}, raw)

    def policy(self):
        """{operation: {"do": {attribute: {...}}, "dump": ...}} as the kernel has them, by number"""
        ops, policies = {}, {}
        for msg in self.talk(GENL_ID_CTRL, GETPOLICY, DUMP, attr(1, struct.pack("=H", self.id))):
            for kind, payload in attrs(msg[20:]):
                if kind == 9:
                    for op, which in attrs(payload):
                        ops[op] = {k: struct.unpack("=I", v)[0] for k, v in attrs(which)}
                elif kind == 8:
                    for index, types in attrs(payload):
                        for a, rules in attrs(types):
                            policies.setdefault(index, {})[a] = dict(attrs(rules))
        return {op: {{1: "do", 2: "dump"}[k]: policies.get(index, {}) for k, index in w.items()}
                for op, w in ops.items()}


def unprivileged(function):
    """Run it as nobody: what it returns, or which error it raises, as text"""
    # nobody need not be allowed to read the tree
    specification("bolt")
    out, into = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            try:
                text = str(function())
            except OSError as e:
                text = errno.errorcode[e.errno]
            os.write(into, text.encode())
        finally:
            os._exit(0)
    os.close(into)
    os.waitpid(pid, 0)
    with os.fdopen(out, encoding="utf-8") as f:
        return f.read()
