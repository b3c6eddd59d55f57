# SPDX-License-Identifier: GPL-2.0
"""When messages wait for a port, and what it could have sent then: by hand."""

import tempfile
import unittest
from pathlib import Path

import context
from boltlab import backlog, results, stats

US = 1000
STEP = 1000     # ns; at 8 Gb/s a byte takes one ns, so a busy port sends as many bytes a sample


class Spans(unittest.TestCase):
    def test_union(self):
        self.assertEqual(backlog.union([(5, 7), (0, 3), (2, 4), (4, 5), (8, 9)]), [(0, 7), (8, 9)])

    def test_without(self):
        for cuts, left in (([], [(10, 20)]), ([(0, 5)], [(10, 20)]), ([(0, 12), (15, 16)], [(12, 15), (16, 20)]), ([(18, 30)], [(10, 18)]), ([(0, 30)], [])):
            with self.subTest(cuts):
                self.assertEqual(backlog.without((10, 20), cuts), left)


class Lost(unittest.TestCase):
    """Messages (from, to, start, end in us or None) of a star of 4 us, and the us in which its ports send nothing."""

    def found(self, *messages, idle=(), port="sw-h0", sets=(), samples=201):
        text = 'name = "test"\nduration = "200us"\n[topology]\nkind = "star"\nhosts = 5\nrate = "8gbit"\nrtt = "4us"\n' + "\n".join(
            f'[[flow]]\nfrom = "{src}"\nto = "{dst}"\nstart = "{start}us"\nbytes = 1000' for src, dst, start, _ in messages)
        s, net, load = context.one(text, sets)
        flows = [{"start_ns": start * US, "end_ns": end and end * US, "stopped_ns": None} for _, _, start, end in messages]
        sent = [0]
        for us in range(samples - 1):
            sent.append(sent[-1] + (0 if any(begin <= us < end for begin, end in idle) else STEP))
        series = (range(0, samples * STEP, STEP), [0] * samples, sent)
        queues = {(p.node, p.dev): series for ports in net.ports.values() for p in ports}
        return backlog.by_port(s, net, load, flows, queues).get(port)

    def test_from_its_second_round_trip_to_the_one_before_its_end(self):
        self.assertEqual(self.found(("h1", "h0", 0, 100)), {"ns": 88 * US, "idle": 0})
        self.assertEqual(self.found(("h1", "h0", 0, 100), idle=[(0, 8), (96, 200)]), {"ns": 88 * US, "idle": 0})
        self.assertEqual(self.found(("h1", "h0", 0, 100), idle=[(50, 72)]), {"ns": 88 * US, "idle": 0.25})

    def test_what_did_not_end_waits_to_the_end(self):
        self.assertEqual(self.found(("h1", "h0", 92, None), idle=[(100, 125)]), {"ns": 100 * US, "idle": 0.25})

    def test_several_wait_once(self):
        self.assertEqual(self.found(("h1", "h0", 0, 100), ("h2", "h0", 50, 150), idle=[(50, 80), (146, 200)]), {"ns": 138 * US, "idle": round(30 / 138, 6)})

    def test_not_while_its_host_sends_elsewhere(self):
        self.assertEqual(self.found(("h1", "h0", 0, 100), ("h1", "h2", 20, 50), idle=[(20, 50)]), {"ns": 58 * US, "idle": 0})
        self.assertEqual(self.found(("h1", "h0", 0, 100), ("h3", "h2", 20, 50), idle=[(20, 42)]), {"ns": 88 * US, "idle": 0.25})

    def test_nobody_waits_who_has_not_started(self):
        s, net, load = context.one(context.BASE.replace('to = "r1"', 'to = "r1"\nbytes = 1000').replace('to = "r0"', 'to = "r0"\nbytes = 1000'))
        path = Path(tempfile.mkdtemp()) / "flows.txt"
        path.write_text("# id start_ns ...\n1 100000 - - - 500 0 0 0\n")
        flows = results.read_flows(path, load)
        self.assertEqual([(f["id"], f["from"]) for f in flows], [(1, "s1")])
        self.assertEqual(stats.fct(flows)["unfinished"], 1)
        started = results.only_started(load, flows)
        self.assertEqual([m.id for m in started.messages], [1])
        queues = {(p.node, p.dev): (range(0, 10**6, STEP), [0] * 1000, [0] * 1000) for ports in net.ports.values() for p in ports}
        found = backlog.by_port(s, net, started, flows, queues)
        self.assertEqual((found["b-r1"]["ns"], found.get("b-r0")), (883 * US, None))

    def test_nothing_is_said_of_ports_that_nobody_waits_for(self):
        self.assertIsNone(self.found(("h1", "h0", 0, 100), port="sw-h1"))
        self.assertIsNone(self.found(("h1", "h0", 0, 10)))
        self.assertIsNone(self.found(("h1", "h0", 0, 100), samples=0))

    def test_nor_where_a_flow_changes_its_way(self):
        _, net, load = context.one()
        s, _, _ = context.one(sets=["event.0.at=1us", "event.0.do=reroute", "event.0.flow=0"])
        flows = [{"start_ns": 0, "end_ns": None, "stopped_ns": None}] * 2
        queues = {(p.node, p.dev): (range(0, 10**6, STEP), [0] * 1000, range(0, 1000)) for ports in net.ports.values() for p in ports}
        plain, _, _ = context.one()
        self.assertEqual(backlog.by_port(plain, net, load, flows, queues)["a-b"]["idle"], 0.99992)
        self.assertEqual(backlog.by_port(s, net, load, flows, queues), {})


if __name__ == "__main__":
    unittest.main()
