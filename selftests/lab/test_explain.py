# SPDX-License-Identifier: GPL-2.0
"""Where a message's time went: what is made of the link device's records, and what is refused."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import explain, plan
from boltlab.build import RunError
from boltlab.explain import APPLICATION, DEPARTURE, DEVICE, PAUSE, RECOVERY, SENT, WAITS, WINDOW, WIRE
from boltlab.schema import ScenarioError

START = 10**9
SIZES = ("flow.0.bytes=1000", "flow.1.bytes=3000")
DELAY = {"s0-a": 1333, "a-b": 1334, "b-r0": 1333}


def blob(records, lost=0):
    body = b"".join(explain.RECORD.pack(ns + START, until + START, *rest) for ns, until, *rest in records)
    return explain.HEADER.pack(explain.MAGIC, 1, explain.HEADER.size, explain.RECORD.size, 0, len(records), lost, START) + body


class Told(unittest.TestCase):
    """One connection, s0 to r0; a packet takes 100 ns on a link."""

    def setUp(self):
        self.net = context.one(sets=SIZES)[1]
        self.ports = [port for link in self.net.links for port in link]
        self.records = []

    def sent(self, ns, first, length):
        self.records.append((ns, 0, 0, 0, first & 0xFFFFFFFF, length, 0, SENT, 0))

    def waits(self, ns, bits, until=0):
        self.records.append((ns, until, 0, 0, 0, 0, bits, WAITS, 0))

    def carried(self, first, length, begins, ip_id=0):
        """Leaves the ports of the path at these times; returns when it arrives."""
        for name, ns in zip(DELAY, begins):
            link = [p.name for p in self.ports].index(name)
            self.records.append((ns, ns + 100 + DELAY[name], 0, link, first & 0xFFFFFFFF, length, 0, WIRE, ip_id))
        return begins[-1] + 100 + DELAY[list(DELAY)[len(begins) - 1]]

    def told(self, first, size, start, end):
        path = Path(tempfile.mkdtemp(prefix="lab-test-")) / "follow.bin"
        path.write_bytes(blob(self.records))
        found, _, _ = explain.read(path)
        found[0].ready(self.ports)
        story = explain.tell(found[0], "s0", "r0", first, size, start, end)
        self.assertEqual(sum(p["ns"] for p in story.parts()), end - start)
        self.assertEqual([b for b, *_ in story.pieces], [start, *(e for _, e, *_ in story.pieces)][:-1])
        return {(p["cause"], p["where"]): p["ns"] for p in story.parts()}

    def path(self, **changed):
        return {("serialization", "s0-a"): 100, ("propagation", "s0-a"): 1333, ("serialization", "a-b"): 100, ("propagation", "a-b"): 1334,
                ("serialization", "b-r0"): 100, ("propagation", "b-r0"): 1333} | changed.get("more", {})

    def test_an_empty_path(self):
        self.sent(0, 0, 1000)
        end = self.carried(0, 1000, (0, 1433, 2867))
        self.assertEqual(self.told(0, 1000, 0, end), self.path())

    def test_a_queue_of_others(self):
        self.sent(0, 0, 1000)
        end = self.carried(0, 1000, (0, 1433 + 777, 2867 + 777))
        self.assertEqual(self.told(0, 1000, 0, end + 3), self.path(more={("queue", "a-b"): 777, ("receiver", "r0"): 3}))

    def test_behind_itself_is_no_queue(self):
        self.sent(0, 0, 2000)
        self.carried(0, 1000, (0, 1433, 2867))
        end = self.carried(1000, 1000, (100, 1533 + 50, 2967 + 50))
        self.assertEqual(self.told(0, 2000, 0, end), self.path(more={("serialization", "s0-a"): 200, ("queue", "a-b"): 50}))

    def test_of_two_waits_the_one_that_ended_last(self):
        self.waits(0, WINDOW | DEPARTURE, 600)
        self.waits(500, DEPARTURE, 600)
        self.sent(600, 0, 1000)
        end = self.carried(0, 1000, (600, 2033, 3467))
        self.assertEqual(self.told(0, 1000, 0, end), self.path(more={("departure", "s0"): 600}))

    def test_a_departure_that_has_come_keeps_nobody(self):
        self.waits(0, WINDOW | DEPARTURE, 400)
        self.sent(600, 0, 1000)
        end = self.carried(0, 1000, (600, 2033, 3467))
        self.assertEqual(self.told(0, 1000, 0, end), self.path(more={("window", "s0"): 600}))

    def test_each_state_has_its_cause(self):
        for bits, cause, where in ((PAUSE, "pause", "s0"), (APPLICATION, "unwritten", "s0"), (WINDOW | RECOVERY, "retransmission", "s0"), (RECOVERY, "retransmission", "s0"),
                                   (0, "window", "s0"), (DEVICE, "queue", "s0-a"), (DEVICE | WINDOW, "window", "s0")):
            self.records = []
            self.waits(0, bits, 600)
            self.sent(600, 0, 1000)
            end = self.carried(0, 1000, (600, 2033, 3467))
            self.assertEqual(self.told(0, 1000, 0, end), self.path(more={(cause, where): 600}), cause)

    def test_while_its_own_packet_is_on_the_line_nothing_else_is_in_the_way(self):
        self.sent(0, 0, 1000)
        self.waits(0, WINDOW)
        self.sent(600, 1000, 1000)
        self.carried(0, 1000, (0, 1433, 2867))
        end = self.carried(1000, 1000, (600, 2033, 3467))
        self.assertEqual(self.told(0, 2000, 0, end), self.path(more={("serialization", "s0-a"): 200, ("window", "s0"): 500}))

    def test_what_was_lost(self):
        self.sent(0, 0, 1000)
        self.carried(0, 1000, (0,))
        self.sent(5000, 0, 1000)
        end = self.carried(0, 1000, (5000, 6433, 7867), ip_id=1)
        self.assertEqual(self.told(0, 1000, 0, end), self.path(more={("retransmission", "s0"): 5000}))

    def test_what_arrives_twice_counts_once(self):
        self.sent(0, 0, 1000)
        end = self.carried(0, 1000, (0, 1433, 2867))
        self.sent(5000, 0, 1000)
        self.carried(0, 1000, (5000, 6433, 7867), ip_id=1)
        self.assertEqual(self.told(0, 1000, 0, end), self.path())

    def test_a_hole_is_filled_last(self):
        self.sent(0, 0, 2000)
        self.carried(1000, 1000, (100, 1533, 2967))
        self.sent(5000, 0, 1000)
        end = self.carried(0, 1000, (5000, 6433, 7867), ip_id=1)
        self.assertEqual(self.told(0, 2000, 0, end), self.path(more={("retransmission", "s0"): 5000}))

    def test_earlier_messages(self):
        self.sent(300, 0, 1000)
        self.sent(400, 1000, 1000)
        late = self.carried(0, 1000, (300, 3000, 9000))
        self.carried(1000, 1000, (400, 1833, 3267))
        told = self.told(1000, 1000, 0, late)
        self.assertEqual(told["earlier messages", "s0"], 300)
        self.assertEqual(told["earlier messages", "r0"], late - (3267 + 100 + 1333))

    def test_a_connection_of_more_than_4_gb(self):
        last = 5 * 2**32
        self.assertEqual(explain.around(last & 0xFFFFFFFF, last - 1000), last)
        self.assertEqual(explain.around((last - 1000) & 0xFFFFFFFF, last), last - 1000)

    def test_what_is_not_recorded_is_not_made_up(self):
        self.sent(0, 0, 1000)
        self.carried(0, 1000, (0, 1433))
        with self.assertRaisesRegex(explain.Unknown, "not all of its bytes"):
            self.told(0, 1000, 0, 9000)


class Files(unittest.TestCase):
    def test_another_format_is_refused(self):
        path = Path(tempfile.mkdtemp(prefix="lab-test-")) / "follow.bin"
        for data in (b"", b"x" * explain.HEADER.size, blob([])[:-1] + b"xx"):
            path.write_bytes(data[:len(data) - 3])
            with self.assertRaises(RunError):
                explain.read(path)

    def test_what_found_no_room(self):
        s, net, traffic = context.one(sets=(*SIZES, "explain=all"))
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (raw / "follow.bin").write_bytes(blob([(0, 0, 0, 0, 0, 1000, 0, SENT, 0)], lost=1))
        (raw / "flows.txt").write_text("# head\n0 0 5000 6000 - 1000 0 0 0\n")
        flows = [{"id": i, "from": "s0", "to": "r0", "bytes": 1, "start_ns": 0, "end_ns": end, "fct_ns": end} for i, end in enumerate((5000, None))]
        told = explain.of_run(raw, net, s, traffic, flows)
        self.assertEqual([m["unknown"] for m in told["messages"]], ["the record was full (explain_mb)", "it did not end"])
        self.assertEqual(told["lost"], 1)


class Scenario(unittest.TestCase):
    def test_only_the_connection_of_the_message_is_followed(self):
        s, net, traffic = context.one(sets=(*SIZES, "explain=[1]", "explain_mb=8"))
        lines = plan.Plan(s, net, traffic).lines
        self.assertEqual([line for line in lines if line.startswith("follow ")], ["follow 1 8"])
        self.assertIn("save follow.bin /proc/lablink_follow", lines)

    def test_nothing_changes_without(self):
        lines = plan.Plan(*context.one(sets=SIZES)).lines
        self.assertFalse([line for line in lines if "follow" in line])

    def test_refusals(self):
        for sets, says in ((("explain=some",), "is not \"all\" or a list"), (("explain=[2]",), "there are 2, from 0"), (("explain=[0]",), "flow 0 has no end"),
                           (("explain=[-1]",), "is not \"all\" or a list")):
            with self.assertRaisesRegex(ScenarioError, says):
                context.one(sets=sets)

    def test_a_clock_that_is_not_exact(self):
        scenarios = context.load(sets=(*SIZES, "explain=all"))
        explain.check_backend(scenarios, "uml")
        with self.assertRaisesRegex(ScenarioError, "clock of --backend qemu is not exact"):
            explain.check_backend(scenarios, "qemu")


class Command(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (self.dir / "bolt").mkdir()
        parts = [{"cause": "queue", "where": "a-b", "ns": 750}, {"cause": "propagation", "where": "s0-a", "ns": 250}]
        message = {"id": 0, "from": "s0", "to": "r0", "bytes": 9, "start_ns": 500, "end_ns": 1500, "fct_ns": 1000}
        told = {"lost": 0, "messages": [message | {"parts": parts, "timeline": []}, message | {"id": 1, "end_ns": None, "fct_ns": None, "unknown": "it did not end"}]}
        (self.dir / "bolt" / "explain.json").write_text(json.dumps(told))
        self.result = {"runs": [{"cc": "bolt", "directory": "bolt", "explain": {"file": "bolt/explain.json"}}]}

    def test_text(self):
        entry = explain.recorded(self.result, self.dir, None)[0][1]["messages"][0]
        lines = explain.text("bolt", entry).splitlines()
        self.assertEqual(lines[0], "bolt: message 0: 9 bytes from s0 to r0, 1.000 us from 0.500 us on")
        self.assertEqual(lines[2].split(), ["queue", "a-b", "0.750", "75.0%"])
        self.assertEqual(lines[-2].split(), ["sum", "1.000"])
        self.assertEqual(lines[-1], "The largest part, 75%, was the queue of port a-b.")

    def test_status_is_whether_the_message_is_explained(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual([explain.main(self.result, self.dir, number, None, False) for number in (0, 1, None)], [0, 1, 0])

    def test_every_cause_has_words(self):
        self.assertLessEqual({cause for _, cause in explain.STATES} | {"earlier messages", "serialization", "propagation", "receiver"}, set(explain.CAUSES))

    def test_refusals(self):
        cases = (({"runs": [{"cc": "bolt", "directory": "bolt", "explain": None}]}, 0, None, "run it again with --explain"),
                 (self.result, 7, None, "message 7 of bolt was not recorded"), (self.result, 0, "cubic", "--cc cubic"))
        for result, number, cc, says in cases:
            with self.assertRaisesRegex(RunError, says):
                explain.main(result, self.dir, number, cc, False)

    def test_no_answer_says_why(self):
        unknown = explain.recorded(self.result, self.dir, None)[0][1]["messages"][1]
        self.assertEqual(explain.text("bolt", unknown), "bolt: message 1: 9 bytes from s0 to r0: not explained: it did not end")
