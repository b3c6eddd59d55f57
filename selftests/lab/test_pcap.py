# SPDX-License-Identifier: GPL-2.0
"""Captures: from the link device's records to pcapng, the names of links, what is refused."""

import struct
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import pcap, plan
from boltlab.guest import RunError
from boltlab.schema import ScenarioError


def blob(records, lost=0, start=10**9, snaplen=256):
    body = b"".join(pcap.RECORD.pack(ns, link, what, length, len(data)) + data + bytes(-len(data) % 8)
                    for ns, link, what, length, data in records)
    return pcap.HEADER.pack(pcap.MAGIC, 1, pcap.HEADER.size, len(body), lost, start, snaplen, 0) + body


def blocks(data):
    """[(kind, body)], with both lengths of each block checked."""
    found = []
    while data:
        kind, size = struct.unpack_from("=II", data)
        assert size % 4 == 0 and struct.unpack_from("=I", data, size - 4)[0] == size
        found.append((kind, data[8:size - 4]))
        data = data[size:]
    return found


class File(unittest.TestCase):
    def written(self, records, sets=("capture=[\"a-b\"]",), **more):
        s, net, _ = context.one(sets=sets)
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (out / "raw").write_bytes(blob(records, **more))
        return pcap.write(out / "raw", net, s, out, "bolt"), out, net

    def end(self, net, name):
        return [port.name for link in net.links for port in link].index(name)

    def test_packets_are_in_the_order_of_time_with_ns(self):
        net = context.one()[1]
        ab, ba = self.end(net, "a-b"), self.end(net, "b-a")
        made, out, _ = self.written([(10**9 + 500, ab, pcap.WIRE, 1514, b"x" * 20), (10**9 - 7, ba, pcap.WIRE, 66, b"y" * 66),
                                     (10**9 + 100, ab, pcap.QDISC_DROP, 1514, b"z" * 21)])
        self.assertEqual(made, [{"link": "a-b", "file": "bolt/capture-a-b.pcapng", "packets": 2, "dropped": 1, "lost": 0}])
        found = blocks((out / "capture-a-b.pcapng").read_bytes())
        self.assertEqual([k for k, _ in found], [pcap.SECTION] + 4 * [pcap.INTERFACE] + 3 * [pcap.PACKET])
        packets = [struct.unpack_from("=IIIII", body) for k, body in found if k == pcap.PACKET]
        times = [(high << 32) + low for _, high, low, _, _ in packets]
        self.assertEqual(times, [pcap.EPOCH_NS - 7, pcap.EPOCH_NS + 100, pcap.EPOCH_NS + 500])
        self.assertEqual([(p[0], p[3], p[4]) for p in packets], [(1, 66, 66), (2, 21, 1514), (0, 20, 1514)])
        self.assertIn(b"dropped by the qdisc of port a-b", found[-2][1])
        self.assertNotIn(b"dropped", found[-1][1])

    def test_a_file_for_each_link_whichever_end_is_named(self):
        made, out, _ = self.written([], sets=("capture=[\"b-a\", \"s0-a\", \"a-s0\"]",), lost=3)
        self.assertEqual([(c["link"], c["packets"], c["lost"]) for c in made], [("s0-a", 0, 3), ("a-b", 0, 3)])
        self.assertTrue((out / "capture-s0-a.pcapng").exists())

    def test_another_format_is_refused(self):
        good = blob([(1, 0, 0, 60, b"x" * 60)])
        for bad in (b"", good[:10], b"\0" + good[1:], good[:-8]):
            with self.assertRaises(RunError):
                pcap.records(bad)


class Scenario(unittest.TestCase):
    def test_both_ends_are_captured(self):
        s, net, load = context.one(sets=("capture=[\"a-b\"]", "capture_bytes=128", "capture_mb=2"))
        lines = [line for line in plan.Plan(s, net, load).lines if "capture" in line]
        self.assertEqual(lines, ["capture a b 128 2", "capture b a 128 2", "save capture.bin /proc/lablink_capture"])

    def test_nothing_changes_without(self):
        s, net, load = context.one()
        self.assertFalse([line for line in plan.Plan(s, net, load).lines if "capture" in line])

    def test_a_capture_takes_no_memory_that_the_run_would_notice(self):
        plain, small, large = (context.one(sets=sets) for sets in ((), ("capture=[\"a-b\"]",), ("capture=[\"a-b\"]", "capture_mb=4096")))
        self.assertEqual(plan.memory(*plain), plan.memory(*small))
        self.assertNotEqual(plan.memory(*plain), plan.memory(*large))

    def test_refusals(self):
        for sets, says in ((("capture=[\"a-c\"]",), "capture.0: \"a-c\" is not a link; the links are s0-a, a-s0"),
                           (("capture=\"a-b\"",), "is not a list of links"), (("capture_bytes=13",), "64 to 65535"),
                           (("capture_mb=0",), "1 to 4096")):
            with self.assertRaises(ScenarioError) as refused:
                context.one(sets=sets)
            self.assertIn(says, str(refused.exception))


if __name__ == "__main__":
    unittest.main()
