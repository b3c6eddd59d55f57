# SPDX-License-Identifier: GPL-2.0
"""Faults: what a scenario may say of them, what the link device is told, what comes back."""

import unittest

import context
from boltlab import faults, lablink, plan, schema

LOSS = ["fault.0.do=loss", "fault.0.link=a-b", "fault.0.at=10us", "fault.0.share=0.5"]


class Refuses(unittest.TestCase):
    def refused(self, key, *sets, says=""):
        with self.assertRaises(schema.ScenarioError) as caught:
            context.one(sets=sets)
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        self.assertTrue(message.startswith(f"test.toml: fault.0.{key}: "), message)
        self.assertIn(says, message)

    def test_one_key_at_a_time(self):
        self.refused("do", "fault.0.do=jitter", *LOSS[1:], says="loss, corrupt, duplicate, reorder, down, up, stop, go")
        self.refused("at", *LOSS[:2], "fault.0.share=1")
        for at in ("1ms", "2ms", "-1us"):
            self.refused("at", *LOSS, f"fault.0.at={at}", says="before the duration ends (1 ms)")
        self.refused("link", *LOSS, "fault.0.link=a-c", says="\"a-c\" is not a link; the links are s0-a")
        self.refused("link", *LOSS, "fault.0.link=[\"a-b\", \"a\"]", says="\"a\"")
        self.refused("link", *LOSS, "fault.0.link=[]", says="is missing")
        self.refused("link", "fault.0.do=down", "fault.0.at=0us", says="is missing")
        for share in ("100.1", "-1", "\"half\""):
            self.refused("share", *LOSS, f"fault.0.share={share}", says="from 0 to 100")
        self.refused("share", *LOSS[:3], says="is missing")
        self.refused("share", *LOSS, "fault.0.do=down", says="belongs to fault.0.do")
        self.refused("late", *LOSS, "fault.0.late=1us", says="belongs to fault.0.do \"reorder\", which is \"loss\" here")
        self.refused("node", *LOSS, "fault.0.node=s0", says="belongs to fault.0.do")
        self.refused("node", "fault.0.do=stop", "fault.0.at=0us", says="is missing")
        self.refused("node", "fault.0.do=stop", "fault.0.at=0us", "fault.0.node=a", says="\"a\" is not a host")
        self.refused("link", "fault.0.do=go", "fault.0.at=0us", "fault.0.node=s0", "fault.0.link=a-b", says="belongs to fault.0.do")

    def test_an_end_of_nothing(self):
        for end, begin, *where in (("up", "down", "link=a-b"), ("go", "stop", "node=s0")):
            sets = [f"fault.0.{k}" for k in (f"do={end}", "at=10us", *where)]
            says = f"\"{end}\" has no effect: {where[0].partition('=')[2]} has no \"{begin}\" before"
            self.refused("do", *sets, says=says)
            for at, elsewhere in (("11us", where[0]), ("0us", {"up": "link=b-a", "go": "node=s1"}[end])):
                self.refused("do", *sets, f"fault.1.do={begin}", f"fault.1.at={at}", f"fault.1.{elsewhere}", says=says)
            context.one(sets=[*sets, f"fault.1.do={begin}", "fault.1.at=10us", f"fault.1.{where[0]}"])


class Plans(unittest.TestCase):
    def told(self, *sets, seed=None):
        s, net, load = context.one(sets=sets, seed=seed)
        return [line.split() for line in plan.Plan(s, net, load).lines if line.startswith("fault ")], s

    def test_shares_and_what_ends(self):
        (line,), _ = self.told(*LOSS)
        self.assertEqual(line[:8], ["fault", "a", "10000", "b", "0", "loss", str(round(2**32 / 200)), "0"])
        self.assertEqual(self.told(*LOSS, "fault.0.share=100")[0][0][6], str(2**32))
        self.assertEqual(self.told(*LOSS, "fault.0.share=0")[0][0][6], "0")
        lines, _ = self.told("fault.0.do=down", "fault.0.at=0us", "fault.0.link=[\"a-b\", \"b-a\"]", "fault.1.do=up", "fault.1.at=1us", "fault.1.link=a-b",
                             "fault.2.do=stop", "fault.2.at=0us", "fault.2.node=r1", "fault.3.do=go", "fault.3.at=1us", "fault.3.node=r1")
        self.assertEqual([[line[1], *line[3:7]] for line in lines], [
            ["a", "b", "0", "down", str(2**32)], ["b", "a", "1", "down", str(2**32)], ["a", "b", "2", "down", "0"],
            ["r1", "eth0", "3", "stop", str(2**32)], ["r1", "eth0", "4", "stop", "0"]])

    def test_a_reordered_packet_is_overtaken_by_ten(self):
        (line,), _ = self.told("fault.0.do=reorder", "fault.0.link=a-b", "fault.0.at=0us", "fault.0.share=1", "topology.core_rate=10gbit")
        self.assertEqual(line[7], str(10 * 1514 * 8 // 10))
        (line,), _ = self.told("fault.0.do=reorder", "fault.0.link=a-b", "fault.0.at=0us", "fault.0.share=1", "fault.0.late=3us")
        self.assertEqual(line[7], "3000")

    def test_the_seed_decides_and_other_faults_do_not(self):
        before = ["fault.1.do=corrupt", "fault.1.link=s0-a", "fault.1.at=0us", "fault.1.share=1"]
        (one,), _ = self.told(*LOSS)
        self.assertEqual(one, self.told(*LOSS, *before)[0][0])
        self.assertEqual(one, self.told(*LOSS)[0][0])
        self.assertNotEqual(one[8], self.told(*LOSS, seed=2)[0][0][8])
        self.assertNotEqual(one[8], self.told(*LOSS, "fault.0.link=b-a")[0][0][8])

    def test_slowed_down_with_all_the_rest(self):
        s, _, _ = context.one(sets=LOSS)
        schema.slow_down(s, 10, "test.toml")
        self.assertEqual(s.fault[0].at, 100_000)

    def test_none_without(self):
        self.assertEqual(self.told()[0], [])


class Results(unittest.TestCase):
    def test_packets_by_number(self):
        s, _, _ = context.one(sets=[*LOSS, "fault.1.do=stop", "fault.1.node=r0", "fault.1.at=1us"])
        _, _, counted = lablink.parse_text("global state=done\ndev name=a id=3\nfault dev=3 id=0 kind=loss packets=7\ndev name=b id=4\n")
        first, second = faults.read(s, counted)
        self.assertEqual(first, {"link": "a-b", "node": None, "at_ns": 10_000, "do": "loss", "share": 0.5, "late_ns": None, "packets": 7})
        self.assertEqual((second["link"], second["node"], second["packets"]), (None, "r0", 0))
        self.assertEqual([faults.text(first), faults.text(s.fault[1])], ["a-b: loss 0.5 %", "r0: stop"])


if __name__ == "__main__":
    unittest.main()
