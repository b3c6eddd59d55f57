# SPDX-License-Identifier: GPL-2.0
"""Scripts for bpftrace read tracepoints, and fields of them, that the modules have; smp_trace.sh lets bpftrace itself look."""

import re
import unittest

from context import TREE

ADDRESS = "array __u8"


def events(module):
    """{event: {field: type}} of its trace.h"""
    text = re.sub(r"\\\n", " ", (TREE / module / "trace.h").read_text())
    macros = dict(re.findall(r"#define (\w+)[ \t]+(__field.*)", text))
    made = dict(re.findall(r"#define (\w+)\(name\)\s+DEFINE_EVENT\((\w+), name", text))
    fields = {}
    for name, body in re.findall(r"^(?:TRACE_EVENT|DECLARE_EVENT_CLASS)\((\w+),.*?TP_STRUCT__entry\((.*?)\n\t\),", text, re.M | re.S):
        for macro, what in macros.items():
            body = body.replace(macro, what)
        fields[name] = {field: f"{'array ' if kind == 'array' else ''}{of}" for kind, of, field in re.findall(r"__(field|array)\(([\w *]+?),\s*(\w+)", body)}
    return {one: of for one, of in fields.items() if not one.endswith("_class")} | {one: fields[made[macro]] for macro, one in re.findall(r"^(\w+)\((\w+)\);", text, re.M) if macro in made}


class Scripts(unittest.TestCase):
    def test_tracepoints_and_fields(self):
        known, read = {"bolt": events("tcp_bolt"), "sfc": events("sch_sfc")}, 0
        for path in (TREE / "tools/bpftrace").glob("*.bt"):
            for system, event, body in re.findall(r"^tracepoint:(\w+):(\w+)\n(.*?)^}", path.read_text(), re.M | re.S):
                self.assertIn(event, known[system], path.name)
                for call, field in re.findall(r"(\w*)\(?args->(\w+)", body):
                    self.assertIn(field, known[system][event], f"{path.name}: {event}")
                    self.assertEqual(known[system][event][field] == ADDRESS, call == "ntop", f"{path.name}: {event}: {field}")
                    read += 1
        self.assertGreater(read, 20)

    def test_every_message_of_a_switch(self):
        text = (TREE / "sch_sfc/trace.h").read_text()
        of_messages = re.findall(r"^SFC_TRACE_MESSAGE\((\w+)\);", text, re.M)
        script = (TREE / "tools/bpftrace/sfc_signals.bt").read_text()
        self.assertIn("sfc_src", of_messages)
        self.assertEqual([one for one in of_messages if f"\ntracepoint:sfc:{one}\n" not in script], [])


if __name__ == "__main__":
    unittest.main()
