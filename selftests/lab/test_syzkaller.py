# SPDX-License-Identifier: GPL-2.0
"""selftests/syzkaller/bolt.txt, as far as it can be read without syzkaller: syntax, names, widths.

Each attribute and command of the headers, each setting and each congestion control is there, and no other; a value is as wide
as the kernel's policy, or the specification, has it; each type is known, and used.
"""

import re
import unittest

import yaml

from context import TREE

FILE = TREE / "selftests/syzkaller/bolt.txt"
# a union of attributes, the prefix of their names
SETS = {"sfc_options": "TCA_SFC", "sfc_hold_options": "TCA_SFC_HOLD", "bolt_flow": "BOLT_A_FLOW", "bolt_pause": "BOLT_A_PAUSE",
        "bolt_last_src": "BOLT_A_LAST_SRC"}
# those that sfc refuses by name have no policy
REFUSED = {"TCA_SFC_HOLDSHARE", "TCA_SFC_MINTTL"}
# the language's own; what syzkaller's files for netlink, qdiscs, sockets and addresses define, and how wide it is
LANGUAGE = {"ptr", "buffer", "const", "flags", "array", "string", "stringnoz", "fmt", "bytesize", "void", "in", "dec", "out",
            "int8", "int16", "int32", "int64"}
THEIRS = {"fd": 4, "sock_nl_route": 4, "sock_nl_generic": 4, "sock_tcp": 4, "sock_tcp6": 4, "send_flags": 4, "ipv4_addr": 4, "ipv6_addr": 16,
          "ifindex": 4, "msghdr_netlink": None, "netlink_msg": None, "netlink_msg_t": None, "genlmsghdr_t": 4, "tcmsg": None,
          "tca_kind_options_t": None, "nlattr": None, "nlnest": None}
NLA = {"NLA_FLAG": 0, "NLA_U8": 1, "NLA_U16": 2, "NLA_U32": 4, "NLA_U64": 8}
SIZES = {"sizeof(struct in6_addr)": 16, "sizeof(siphash_key_t)": 16, "sizeof(struct bolt_keys)": 32}
YNL = {"pad": 0, "flag": 0, "u8": 1, "u16": 2, "u32": 4, "u64": 8}


def parse_type(text):
    """(name, [argument...]) of "name[argument, ...]"; what is no name is a string"""
    tokens = re.findall(r'"[^"]*"|[\w$:-]+|[\[\],]|\S', text)

    def one():
        word = tokens.pop(0)
        if not re.fullmatch(r'"[^"]*"|-?[\w$]+(:\w+)?', word):
            raise ValueError(f"{word!r} in {text!r}")
        args = []
        if tokens and tokens[0] == "[":
            while tokens.pop(0) in "[,":
                args.append(one())
                if tokens[0] not in "],":
                    raise ValueError(f"{tokens[0]!r} in {text!r}")
        return (word, args) if args or not re.match(r'["\d-]', word) else word

    out = one()
    if tokens:
        raise ValueError(f"{tokens} in {text!r}")
    return out


class Description:
    """What the file defines: structs and unions, lists, resources, calls"""

    def __init__(self, text):
        self.fields, self.union, self.lists, self.resources, self.calls, self.includes = {}, set(), {}, set(), {}, []
        block = None
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            if block and line.startswith("\t"):
                name, kind = line.split(None, 1)
                self.once(name, self.fields[block])
                self.fields[block][name] = parse_type(kind)
            elif block and re.fullmatch(r"\] \[varlen\]" if block in self.union else r"\}", line):
                block = None
            elif not block and (m := re.fullmatch(r"(\w+) ([{\[])", line)):
                block = m[1]
                self.once(block, self.fields)
                self.fields[block] = {}
                if m[2] == "[":
                    self.union.add(block)
            elif not block and (m := re.fullmatch(r"(\w+) = (.+)", line)):
                self.once(m[1], self.lists)
                self.lists[m[1]] = m[2].split(", ")
            elif not block and (m := re.fullmatch(r"resource (\w+)\[(\w+)\]", line)):
                self.resources.add(m[1])
            elif not block and (m := re.fullmatch(r"include <([\w/.]+)>", line)):
                self.includes.append(m[1])
            elif not block and (m := re.fullmatch(r"(\w+\$\w+)\((.*)\)( \w+)?", line)):
                self.once(m[1], self.calls)
                args = re.split(r",\s*(?=\w+ )", m[2])
                self.calls[m[1]] = [parse_type(a.split(" ", 1)[1]) for a in args], (m[3] or "").strip()
            else:
                raise ValueError(f"what is that: {line}")
        if block:
            raise ValueError(f"{block} does not end")

    @staticmethod
    def once(name, among):
        if name in among:
            raise ValueError(f"{name} twice")

    def types(self):
        """All there are"""
        for fields in self.fields.values():
            yield from fields.values()
        for args, _ in self.calls.values():
            yield from args

    def width(self, t, numbers):
        """(least, most) bytes"""
        name, args = t
        if m := re.fullmatch(r"int(8|16|32|64)", name):
            return (int(m[1]) // 8,) * 2
        if name in ("flags", "const"):
            return self.width(args[-1], numbers)
        if name == "void":
            return 0, 0
        if name == "array" and len(args) == 2:
            low, high = self.width(args[0], numbers)
            size = args[1] if isinstance(args[1], str) else args[1][0]
            ends = [numbers.get(x) or int(x) for x in size.split(":")]
            return low * ends[0], high * ends[-1]
        if name in self.fields:
            each = [self.width(f, numbers) for f in self.fields[name].values()]
            if name in self.union:
                return min(w[0] for w in each), max(w[1] for w in each)
            return sum(w[0] for w in each), sum(w[1] for w in each)
        return (THEIRS[name],) * 2


def names(t):
    """Each name in it"""
    if isinstance(t, str):
        yield from () if t.startswith('"') else re.findall(r"[A-Za-z_]\w*", t)
    else:
        yield from re.findall(r"[A-Za-z_]\w*", t[0])
        # of another argument
        for arg in t[1] if t[0] != "bytesize" else ():
            yield from names(arg)


def source(path):
    return re.sub(r"/\*.*?\*/", "", (TREE / path).read_text(encoding="ascii"), flags=re.S)


def headers():
    """The names of the headers, {enum or first member: [its members]}, {name: number}"""
    text = source("include/uapi/linux/pkt_sch_sfc.h") + source("include/uapi/linux/bolt_netlink.h")
    defines = re.findall(r"^#define (\w+)[ \t]+(.+)$", text, re.M)
    enums = {}
    for name, body in re.findall(r"enum (\w*) ?\{(.*?)\}", text, re.S):
        members = re.findall(r"^\s*(\w+)", body, re.M)
        enums[name or members[0]] = members
    known = {name for name, _ in defines}.union(*enums.values())
    return known, enums, {name: int(value) for name, value in defines if value.strip().isdigit()}


def rules():
    """{attribute: its rule} of the qdiscs' policies"""
    out = {}
    for file, prefix in (("sch_sfc/netlink.c", "TCA_SFC_"), ("sch_sfc/hold.c", "TCA_SFC_HOLD_")):
        text = source(file).replace("\\\n", "\n")
        rows = re.findall(r"^\s*O\((\w+), [\w.]+, (.+)\)\s*$", text, re.M)
        array = re.search(r"^static const struct nla_policy .*?^};$", text, re.M | re.S)[0]
        rows += re.findall(rf"^\s*\[{prefix}(\w+)\]\s*= ([^;]*?),$(?!\n\s*\.)", array, re.M)
        out |= {prefix + name: rule for name, rule in rows}
    return out


def policy(numbers):
    """{attribute: (least, most bytes)} of the qdiscs"""
    out = {}
    for name, rule in rules().items():
        if "NLA_REJECT" in rule:
            continue
        if m := re.search(r"\bNLA_(FLAG|U\d+)\b", rule):
            width = (NLA[m[0]],) * 2
        elif "BITFIELD32" in rule:
            width = 8, 8
        else:
            size = re.search(r"(?:EXACT_LEN\(|\.len = )(sizeof\([\w ]+\)|\w+)", rule)[1]
            most = SIZES.get(size) or numbers[size]
            width = (most if "EXACT" in rule else 0), most
        out[name] = width
    return out


def specification():
    """{attribute: (least, most bytes)} of the family; None: any"""
    spec = yaml.safe_load((TREE / "Documentation/netlink/specs/bolt.yaml").read_text(encoding="ascii"))
    out = {}
    for attributes in spec["attribute-sets"]:
        for a in attributes["attributes"]:
            checks = a.get("checks", {})
            width = (YNL[a["type"]],) * 2 if a["type"] in YNL else (checks["min-len"], checks["max-len"]) if a["type"] == "binary" else None
            out[f"BOLT_A_{attributes['name']}_{a['name']}".upper().replace("-", "_")] = width
    return out, spec


class Syzkaller(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.d = Description(FILE.read_text(encoding="ascii"))
        cls.known, cls.enums, cls.numbers = headers()

    def test_attributes(self):
        """All of them, as wide as the kernel wants them"""
        widths, _ = specification()
        widths |= policy(self.numbers)
        for union, prefix in SETS.items():
            rows = self.d.fields[union]
            members = next(m for m in self.enums.values() if m[-1] in (f"__{prefix}_MAX", f"{prefix}_MAX"))
            want = [m for m in members if not m.endswith(("_UNSPEC", f"{prefix}_MAX"))]
            self.assertEqual(list(dict.fromkeys(args[0][0] for _, args in rows.values())), want)
            for field, (kind, (attr, payload)) in rows.items():
                attr = attr[0]
                self.assertTrue(field.startswith(attr), field)
                with self.subTest(field):
                    if kind == "nlnest":
                        self.assertEqual(SETS[payload[1][0][0]], attr.replace("A_FLOW", "A"))
                    elif attr in REFUSED:
                        self.assertNotIn(attr, widths)
                    elif widths[attr]:
                        self.assertEqual(kind, "nlattr")
                        low, high = self.d.width(payload, self.numbers)
                        least, most = widths[attr]
                        self.assertTrue(least <= low and high == most, (low, high, least, most))

    def test_enumerators(self):
        """Each list has all that its enum has"""
        flags = [n for n in sorted(self.known) if n.startswith("TC_SFC_F_") and n != "TC_SFC_F_ALL"]
        self.assertEqual(sorted(self.d.lists["sfc_flags"]), flags)
        for name in ("tc_sfc_bts", "tc_sfc_srcc", "bolt_src_verdict"):
            self.assertEqual(self.d.lists[name], self.enums[name])

    def test_commands(self):
        """Those of the family, by its name"""
        _, spec = specification()
        commands = [m for m in self.enums["BOLT_CMD_FLOW_GET"] if not m.endswith("_MAX")]
        self.assertEqual([c.split("$")[1] for c in self.d.calls if "$BOLT_CMD" in c], commands)
        self.assertEqual(len(spec["operations"]["list"]), len(commands))
        for c in commands:
            self.assertIn(c, list(names(self.d.calls[f"sendmsg${c}"][0][1])))
        self.assertEqual(self.d.calls["syz_genetlink_get_family_id$bolt"][0][0][1][1][1], [f'"{spec["name"]}"'])

    def test_settings(self):
        """Those of tcp_bolt/sysctl.c, and the congestion controls"""
        path, want = "/proc/sys/net/bolt/", []
        for line in source("tcp_bolt/sysctl.c").splitlines():
            if line.startswith("static const struct bolt_setting bolt_debug_settings"):
                path += "debug/"
            if m := re.match(r"\tBOLT_SET(_SWIFT)?\((\w+)", line):
                want.append(f'"{path}{"swift_" if m[1] else ""}{m[2]}"')
        self.assertEqual(self.d.lists["bolt_sysctls"], want)
        controls = re.findall(r'^\t\.name\s+= (".*"),', source("tcp_bolt/cc.c") + source("tcp_bolt/swift.c"), re.M)
        self.assertEqual(self.d.lists["bolt_congestion"], controls)

    def test_names(self):
        """Nothing unknown, nothing unused, as syzkaller's compiler has it"""
        used = {n for t in self.d.types() for n in names(t)}
        ours = {*self.d.fields, *self.d.lists, *self.d.resources}
        kernel = {n for n in used if n.isupper()} | {n for values in self.d.lists.values() for n in values if not n.startswith('"')}
        self.assertEqual(used - kernel - LANGUAGE - THEIRS.keys() - ours, set())
        self.assertEqual(ours - used, set())
        self.assertEqual({n for n in kernel if re.match(r"TCA?_SFC|BOLT_", n)} - self.known, set())
        self.assertEqual({ret for _, ret in self.d.calls.values() if ret} - ours, set())
        for include in self.d.includes:
            if "bolt" in include or "sfc" in include:
                self.assertTrue((TREE / "include" / include).exists(), include)

    def test_mistakes_are_seen(self):
        for line in ("a [", "a {\n\tb\tint32\n] [varlen]", "a [\n\tb\tint32\n\tb\tint32\n] [varlen]", "a = 1\na = 2", "a {\n\tb\tint32[\n}",
                     "a {\n\tb\tflags[x int32]\n}", "a {\n\tb\tint32]\n}", "call(x int32)", "resource a"):
            with self.subTest(line), self.assertRaises((ValueError, IndexError)):
                Description(line)


if __name__ == "__main__":
    unittest.main()
