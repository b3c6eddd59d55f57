# SPDX-License-Identifier: GPL-2.0
"""The first sentence of a report says what the numbers say; the sketch has every switch, and marks the bottleneck."""

import re
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import overview
from test_report import make_result


class Sentence(unittest.TestCase):
    def setUp(self):
        self.out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        self.result = make_result(self.out, samples=30)
        for r, p99, used, slow in zip(self.result["runs"], (300_000, 25_000), (0.99, 0.85), (8.25, 2.5)):
            r["links"][0].update(utilization=used)
            r["links"][0]["queue_bytes"] = r["links"][0]["queue_bytes"] | {"p99": p99}
            r["fct"].update(p99=slow, unfinished=0)
            for f in r["flows"]:
                f["finite"] = f["slowdown"] is not None

    def said(self, result=None):
        return overview.conclusion([("test", result or self.result, self.out)])

    def test_the_least_first_and_what_it_costs(self):
        self.assertEqual(self.said(), "The slowdown of all messages together is smallest with bolt: p99 2.50 x (cubic 8.25 x); "
                         "the bottleneck's queue is smallest with bolt: p99 25.0 KB (cubic 300.0 KB), at a utilization of 85.0 % (cubic 99.0 %).")

    def test_few_messages_have_no_percentile(self):
        for r in self.result["runs"]:
            r["fct"]["count"] = 2
        self.assertTrue(self.said().startswith("The bottleneck's queue is smallest with bolt"))

    def test_who_did_not_finish_is_named(self):
        self.result["runs"][0]["fct"]["unfinished"] = 1
        self.assertTrue(self.said().endswith("; not finished: cubic 1."), self.said())

    def test_one_run(self):
        self.result["runs"].pop()
        self.assertEqual(self.said(), "With cubic, the bottleneck has a p99 queue of 300.0 KB at a utilization of 99.0 %; "
                         f"the slowdown of all messages together is {self.result['runs'][0]['fct']['p50']:.2f} x (p50) and 8.25 x (p99).")

    def test_of_one_kind(self):
        for r in self.result["runs"]:
            del r["fct"]["kinds"]
        self.assertTrue(self.said().startswith("The slowdown of messages is smallest with bolt: "), self.said())

    def test_of_seeds_the_median(self):
        run = self.result["runs"][1]
        self.result["runs"] = [run | {"seed": n, "links": [run["links"][0] | {"queue_bytes": run["links"][0]["queue_bytes"] | {"p99": n * 1000}}]} for n in (1, 2, 30)]
        self.assertIn("a p99 queue of 2.0 KB", self.said())

    def test_of_seeds_that_did_not_all_end(self):
        run = self.result["runs"][1]
        self.result["runs"] = [run | {"seed": n, "fct": run["fct"] | {"p99": p99, "unfinished": int(p99 is None)}} for n, p99 in enumerate((2.0, 3.0, None))]
        self.assertIn("and 3.00 x (p99)", self.said())
        self.assertTrue(self.said().endswith("; not finished: bolt 1."), self.said())


class Sketch(unittest.TestCase):
    def sketch(self, text, bottleneck):
        _, net, _ = context.one(text)
        links = [{"name": p.name, "rate_bps": p.rate, "utilization": 0.5, "queue_bytes": None, "series": None} for both in net.links for p in both if p.node not in net.host_set]
        return net, overview.sketch([("test", {"runs": [{"cc": "bolt", "links": links, "bottleneck": bottleneck}]}, None)])

    def nodes(self, svg):
        return [re.sub("<.*?>", "", text) for text in re.findall(r"<text.*?</text>", svg)]

    def test_a_dumbbell(self):
        net, svg = self.sketch(context.BASE, "a-b")
        self.assertEqual(sorted(self.nodes(svg)), sorted(net.nodes))
        self.assertEqual(re.findall(r"class='hot'.*?<title>(.*?)</title>", svg), ["a-b: 100gbit; bolt 50.0 %"])

    def test_many_hosts_are_one_but_for_the_bottlenecks(self):
        _, svg = self.sketch('''name = "t"
duration = "1ms"
[topology]
kind = "star"
hosts = 64
[[flow]]
from = "h1"
to = "h0"
''', "sw-h0")
        self.assertEqual(sorted(self.nodes(svg)), ["63 hosts", "h0", "sw"])
        self.assertEqual(svg.count("class='hot'"), 1)

    def test_a_fabric_in_rows(self):
        net, svg = self.sketch('''name = "t"
duration = "1ms"
[topology]
kind = "leaf-spine"
[[flow]]
from = "h1"
to = "h0"
''', "l0-p0")
        heights = {name: {float(y) for y, text in re.findall(r"<text x='[^']*' y='([^']*)'>(.*?)</text>", svg) if text.startswith(name)} for name in "hlp"}
        self.assertEqual([len(heights[k]) for k in "hlp"], [1, 1, 1])
        self.assertTrue(max(heights["p"]) < max(heights["l"]) < max(heights["h"]), heights)
        self.assertEqual(sum(1 for _ in re.finditer("class='(?:link|hot)'", svg)), len(net.links))


if __name__ == "__main__":
    unittest.main()
