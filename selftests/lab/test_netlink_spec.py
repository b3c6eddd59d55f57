# SPDX-License-Identifier: GPL-2.0
"""Documentation/netlink/specs/sfc.yaml, the tc netlink specification of sfc and sfc_hold.

Names and numbers are those of include/uapi/linux/pkt_sch_sfc.h, members of structs too, in their order and as wide; types and
checks of attributes are those of the policies in sch_sfc.
"""

import re
import unittest

import yaml

from context import TREE
from test_syzkaller import SIZES, rules, source

SETS = {"tc-sfc-attrs": "TCA_SFC", "tc-sfc-hold-attrs": "TCA_SFC_HOLD"}
STRUCTS = {"tc-sfc-xstats", "tc-sfc-band", "tc-sfc-hold-xstats"}
TYPES = {"FLAG": "pad", "REJECT": "unused"}
UNITS = {"NSEC_PER_USEC": "1000", "NSEC_PER_MSEC": "1000000"}


def upper(*words):
    return "".join(words).upper().replace("-", "_")


class Numbers(dict):
    """{name: value} of the headers' constants and enumerators, by the compiler's rules"""

    def __init__(self):
        super().__init__()
        header = source("include/uapi/linux/pkt_sch_sfc.h")
        self.enums, self.text = {}, dict(UNITS)
        for file in header, source("sch_sfc/pause.h"), source("include/bolt_pause.h"):
            self.text |= re.findall(r"^#define (\w+)[ \t]+(\S.*?)\s*$", file, re.M)
        self.constants = re.findall(r"^#define (\w+)[ \t]+\S", header, re.M)
        for name, body in re.findall(r"enum (\w*) ?\{(.*?)\}", header, re.S):
            value, members = -1, {}
            for entry in filter(None, map(str.strip, body.split(","))):
                key, _, given = (word.strip() for word in entry.partition("="))
                value = self.value(given) if given else value + 1
                members[key] = value
            self.update(members)
            self.enums[name or list(members)[-1]] = members

    def value(self, text):
        text = SIZES.get(text) or re.sub(r"\b(0x[0-9a-f]+|\d+)U?L*\b", r"\1", text)
        return eval(str(text), {"__builtins__": {}}, self)  # pylint: disable=eval-used # of this tree

    def __missing__(self, name):
        return self.value(self.text[name])


class Specification(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spec = yaml.safe_load((TREE / "Documentation/netlink/specs/sfc.yaml").read_text(encoding="ascii"))
        cls.definitions = {d["name"]: d for d in cls.spec["definitions"]}
        cls.sets = {s["name"]: s for s in cls.spec["attribute-sets"]}
        cls.numbers = Numbers()

    def entries(self, name):
        """{entry: value}, of flags the bit"""
        d, out, value = self.definitions[name], {}, self.definitions[name].get("value-start", 0) - 1
        for e in d["entries"]:
            value = e.get("value", value + 1)
            out[upper(d["name-prefix"], e["name"])] = 1 << value if d["type"] == "flags" else value
        return out

    def test_attributes(self):
        """Each of them, by its number"""
        for name, prefix in SETS.items():
            want = {m: v for m, v in self.numbers.enums[f"__{prefix}_MAX"].items() if v and m != f"__{prefix}_MAX"}
            have = {upper(self.sets[name]["name-prefix"], a["name"]): a.get("value", n)
                    for n, a in enumerate(self.sets[name]["attributes"], 1)}
            self.assertEqual(have, want)

    def test_policy(self):
        """Types, ranges and lengths"""
        have = {upper(s["name-prefix"], a["name"]): a for s in map(self.sets.get, SETS) for a in s["attributes"]}
        kernel = rules()
        self.assertEqual(kernel.keys(), have.keys())
        for name, rule in kernel.items():
            with self.subTest(name):
                a = have[name]
                self.assertEqual((a["type"], a.get("checks", {})), self.rule(rule))

    def rule(self, rule):
        """(type, checks) of a rule of the kernel's"""
        value = self.numbers.value
        if m := re.fullmatch(r"NLA_POLICY_BITFIELD32\((\w+)\)", rule):
            self.assertEqual(sum(self.entries("tc-sfc-flags").values()), value(m[1]))
            return "bitfield32", {}
        if m := re.fullmatch(r"NLA_POLICY_EXACT_LEN\((.+)\)", rule):
            return "binary", {"exact-len": value(m[1])}
        if m := re.fullmatch(r"\{ \.type = NLA_BINARY, \.len = (.+) \}", rule):
            return "binary", {"max-len": value(m[1])}
        if m := re.match(r"\{ \.type = NLA_(\w+)", rule):
            return TYPES.get(m[1], m[1].lower()), {}
        how, kind, limits = re.fullmatch(r"NLA_POLICY_(\w+)\(NLA_(U\d+), (.+)\)", rule).groups()
        if how == "FULL_RANGE":
            text = source("sch_sfc/netlink.c") + source("sch_sfc/hold.c")
            body = re.search(rf"struct netlink_range_validation {limits[1:]} = \{{(.*?)\}};", text, re.S)[1]
            checks = re.findall(r"\.(min|max) = (.+),", body)
        else:
            checks = zip({"MIN": ["min"], "MAX": ["max"], "RANGE": ["min", "max"]}[how], limits.split(", "))
        return kind.lower(), {end: value(limit) for end, limit in checks}

    def test_structs(self):
        """Members, their order and types"""
        header = source("include/uapi/linux/pkt_sch_sfc.h")
        have = {upper(name).lower(): [(m["type"], m["name"].replace("-", "_")) for m in self.definitions[name]["members"]] for name in STRUCTS}
        want = {name: re.findall(r"__(\w+)\s+(\w+);", body) for name, body in re.findall(r"struct (\w+) \{(.*?)\};", header, re.S)}
        self.assertEqual(have, want)

    def test_enumerators_and_constants(self):
        """All that the header has"""
        for name, members in self.numbers.enums.items():
            if not name.startswith("__"):
                self.assertEqual(self.entries(name.replace("_", "-")), members)
        flags = {n: self.numbers[n] for n in self.numbers.constants if n.startswith("TC_SFC_F_")}
        del flags["TC_SFC_F_ALL"], flags["TC_SFC_F_HOLD"]
        self.assertEqual(self.entries("tc-sfc-flags"), flags)
        constants = {n: self.numbers[n] for n in self.numbers.constants if not re.match("TC_SFC_F_|TCA_", n)}
        self.assertEqual({upper(n): d["value"] for n, d in self.definitions.items() if d["type"] == "const"}, constants)

    def test_papers(self):
        """Those of flags"""
        header = re.findall(r"^#define TC_SFC_F_(\w+)\s.*/\* (.*) \*/", (TREE / "include/uapi/linux/pkt_sch_sfc.h").read_text(), re.M)
        want = {flag: re.findall(r"\w+ paper", text) for flag, text in header if flag != "HOLD"}
        have = {upper(e["name"]): re.findall(r"\w+ paper", e["doc"]) for e in self.definitions["tc-sfc-flags"]["entries"]}
        self.assertEqual(have, want)

    def test_references(self):
        """What is named is there, and used"""
        messages = {m["name"]: m["formats"] for m in self.spec["sub-messages"]}
        attributes = [a for s in self.sets.values() for a in s["attributes"]]
        rows = attributes + [f for formats in messages.values() for f in formats] + self.spec["operations"]["list"]
        rows += [m for d in self.definitions.values() for m in d.get("members", ())]
        used = {key: {r[key] for r in rows if key in r} for key in
                ("enum", "struct", "fixed-header", "sub-message", "nested-attributes", "attribute-set")}
        self.assertEqual(used["struct"] | used["fixed-header"], {n for n, d in self.definitions.items() if d["type"] == "struct"})
        # a number of bytes, or one of these
        self.assertEqual(used["enum"] | {"tc-sfc-srcc"}, {n for n, d in self.definitions.items() if d["type"] in ("enum", "flags")})
        self.assertEqual(used["sub-message"], messages.keys())
        self.assertEqual(used["nested-attributes"] | used["attribute-set"], self.sets.keys())
        kinds = set(re.findall(r'^\t\.id\s+= "(\w+)",', source("sch_sfc/main.c") + source("sch_sfc/hold.c"), re.M))
        self.assertEqual({f["value"] for f in messages["tc-options-msg"]}, kinds)


if __name__ == "__main__":
    unittest.main()
