# SPDX-License-Identifier: GPL-2.0
"""Two results side by side: each figure of the right run, differences with their spread."""

import copy
import tempfile
import unittest
from pathlib import Path

import context  # noqa: F401
from boltlab import compare, report
from boltlab.guest import RunError
from test_report import make_result


class Compare(unittest.TestCase):
    def setUp(self):
        self.a = make_result(Path(tempfile.mkdtemp(prefix="lab-test-")))
        for r in self.a["runs"]:
            for p in r["links"]:
                p.update(drops=0)
            r["links"][0].update(utilization=0.9, queue_bytes={"max": 10_000, "mean": 1, "p50": 0, "p99": 8000, "busy_p50": 0, "busy_p99": 8000})
        self.b = copy.deepcopy(self.a)

    def said(self, a=None, b=None):
        return compare.text(["one", "two"], [a or self.a, b or self.b])

    def rows(self, heading):
        """{figure: (A, B, difference)} below this heading."""
        lines = self.said().split(f"\n{heading}")[1].splitlines()[2:]
        table = lines[:lines.index("")] if "" in lines else lines
        return {cells[0]: tuple(cells[1:]) for cells in ([c.strip() for c in line.strip().split("  ") if c.strip()] for line in table)}

    def test_equal_results_have_no_difference(self):
        rows = self.rows("cubic")
        self.assertEqual(rows["max queue"], ("10.0 KB", "10.0 KB", "none"))
        self.assertEqual({difference for _, _, difference in rows.values()}, {"none"})
        self.assertNotIn("differs", self.said())

    def test_figures_and_their_differences(self):
        r = self.b["runs"][1]
        r["links"][0].update(utilization=0.95, drops=3)
        r["links"][0]["queue_bytes"].update(max=25_000, p50=500, p99=4000)
        r["flows"][0]["retransmits"] += 10
        r["fct"].update(p99=4.5)
        self.a["runs"][1]["fct"].update(p99=3.0)
        rows = self.rows("bolt")
        self.assertEqual([rows[k] for k in ("max queue", "p50 queue", "p99 queue", "utilization", "drops", "slowdown, all kinds, p99")], [
            ("10.0 KB", "25.0 KB", "+150.0 %"), ("0.0 KB", "0.5 KB", "+0.5 KB"), ("8.0 KB", "4.0 KB", "-50.0 %"), ("90.0 %", "95.0 %", "+5.0 points"),
            ("0", "3", "+3"), ("3.00 x", "4.50 x", "+50.0 %")])
        before, after, _ = rows["retransmits"]
        self.assertEqual(int(after), int(before) + 10)
        self.assertEqual(self.rows("cubic")["max queue"][2], "none")

    def test_a_report_with_a_baseline(self):
        self.b["runs"][0]["links"][0]["queue_bytes"].update(max=25_000)
        html = report.differences([("new", self.b, None)], ("old", self.a, None))
        self.assertRegex(html, "old</th><th[^>]*>new</th><th[^>]*>difference</th>")
        self.assertRegex(html, r"max queue</td><td[^>]*>10.0 KB</td><td[^>]*>25.0 KB</td><td[^>]*>\+150.0 %</td>")

    def test_the_port_and_the_longest_queue_of_any(self):
        self.assertEqual(self.rows("bolt")["port"], ("a-b", "a-b", "none"))
        self.assertNotIn("longest", self.said())
        for r in self.b["runs"]:
            queue = r["links"][0]["queue_bytes"]
            r["links"] += [r["links"][0] | {"name": "a-h0", "utilization": 0.1, "queue_bytes": queue | {"max": 50_000}}]
            r["links"][0]["name"] = "a-c"
        rows = self.rows("bolt")
        self.assertEqual((rows["port"], rows["longest queue of any port"]), (("a-b", "a-c", "another"), ("10.0 KB", "50.0 KB", "+400.0 %")))

    def test_what_does_not_end_is_above_all(self):
        for result, p99 in ((self.a, (2.0, 4.0, None)), (self.b, (3.0, None, None))):
            result["runs"] = [copy.deepcopy(result["runs"][1]) | {"seed": seed} for seed in range(3)]
            for r, value in zip(result["runs"], p99):
                r["fct"].update(p99=value, unfinished=int(value is None))
        self.assertEqual(self.rows("bolt, 3 and 3 seeds: median (least to greatest)")["slowdown, all kinds, p99"], ("4.00 x (2.00 x to inf x)", "-", "-"))

    def test_the_longest_time_is_of_all_messages(self):
        for r in self.a["runs"] + self.b["runs"]:
            r["flows"] = [f | {"fct_ns": 5000} for f in r["flows"] if f["fct_ns"] is not None]
            r["fct"]["unfinished"] = 0
        late = self.b["runs"][0]["flows"][0]
        late.update(fct_ns=None, end_ns=None, slowdown=None)
        self.b["runs"][0]["fct"]["unfinished"] = 1
        rows = self.rows("cubic")
        self.assertEqual((rows["max FCT"], rows["unfinished"]), (("5.0 us", "-", "-"), ("0", "1", "+1")))
        # an endless flow is no message
        late.update(finite=False)
        self.assertEqual(self.rows("cubic")["max FCT"], ("5.0 us", "5.0 us", "none"))

    def test_what_is_not_known_is_not_infinite(self):
        for result in (self.a, self.b):
            result["runs"] = [copy.deepcopy(result["runs"][1]) | {"seed": seed, "of_whole_run": {}, "jain": jain} for seed, jain in enumerate((0.98, 0.99, None))]
        self.assertEqual(self.rows("bolt, 3 and 3 seeds: median (least to greatest)")["Jain's index"][0], "0.985 (0.980 to 0.990)")

    def test_slowdown_by_message_size(self):
        for result, p99 in ((self.a, 2.0), (self.b, 3.0)):
            bins = [{"above_bytes": low, "max_bytes": high, "count": 5, "p50": 1.0, "p99": p99} for low, high in ((0, 1000), (1000, 7000))]
            result["runs"][0].update(bins_bytes=[1000])
            result["runs"][0]["fct"].update(bins=bins)
            del result["runs"][0]["fct"]["kinds"]
        rows = self.rows("cubic")
        self.assertEqual(rows["slowdown, <= 1 KB, p50"], ("1.00 x", "1.00 x", "none"))
        self.assertEqual(rows["slowdown, > 1 KB, p99"], ("2.00 x", "3.00 x", "+50.0 %"))
        # the largest messages of two runs, or of seeds, are of different sizes
        self.b["runs"][0]["fct"]["bins"][1]["max_bytes"] = 6000
        self.assertEqual(self.rows("cubic")["slowdown, > 1 KB, p99"], ("2.00 x", "3.00 x", "+50.0 %"))
        self.b["runs"][0]["bins_bytes"] = [2000]
        self.b["runs"][0]["fct"]["bins"][0]["max_bytes"] = 2000
        rows = self.rows("cubic")
        self.assertEqual((rows["slowdown, <= 1 KB, p50"], rows["slowdown, <= 2 KB, p50"]), (("1.00 x", "-", "-"), ("-", "1.00 x", "-")))

    def test_shares_of_endless_flows(self):
        self.assertNotIn("Jain", self.said())
        for f in self.b["runs"][1]["flows"][:2]:
            f.update(finite=False)
        self.assertEqual(self.rows("bolt")["Jain's index"], ("-", "0.902", "-"))

    def test_kinds_are_told_apart(self):
        self.a["runs"][0]["fct"]["kinds"]["incast"].update(p99=2.0)
        self.b["runs"][0]["fct"]["kinds"]["incast"].update(p99=3.0)
        rows = self.rows("cubic")
        self.assertEqual(rows["slowdown, incast, p99"], ("2.00 x", "3.00 x", "+50.0 %"))
        self.assertEqual({rows[k][2] for k in ("slowdown, all kinds, p99", "slowdown, flow, <= 1 KB, p99")}, {"none"})
        # a workload alone is compared with the one beside an incast
        self.a["runs"][0]["fct"] = self.a["runs"][0]["fct"]["kinds"]["flow"] | {"makespan_over_ideal": None}
        self.a["runs"][0]["flows"] = [f for f in self.a["runs"][0]["flows"] if f["kind"] == "flow"]
        self.assertEqual(self.rows("cubic")["slowdown, flow, <= 1 KB, p99"][2], "none")

    def test_what_programs_send_again_is_not_known(self):
        self.b["runs"][0]["flows"] = []
        self.assertEqual(self.rows("cubic")["retransmits"][1:], ("-", "-"))

    def test_p999_that_one_of_them_has_not(self):
        self.assertNotIn("slowdown, all kinds, p99.9", self.rows("cubic"))
        self.b["runs"][0]["fct"]["p999"] = 7.5
        self.assertEqual(self.rows("cubic")["slowdown, all kinds, p99.9"], ("-", "7.50 x", "-"))

    def test_seeds_have_a_spread(self):
        for result, maxima in ((self.a, (10_000, 11_000, 13_000)), (self.b, (12_000, 14_000, 15_000))):
            result["runs"] = [copy.deepcopy(result["runs"][1]) for _ in maxima]
            for seed, (r, most) in enumerate(zip(result["runs"], maxima), 1):
                r["seed"] = seed
                r["links"][0]["queue_bytes"].update(max=most, p99=most - (0 if result is self.a else 9000))
        heading = "bolt, 3 and 3 seeds: median (least to greatest)"
        rows = self.rows(heading)
        self.assertEqual(rows["max queue"], ("11.0 KB (10.0 KB to 13.0 KB)", "14.0 KB (12.0 KB to 15.0 KB)", "+27.3 %, within the spread"))
        self.assertEqual(rows["p99 queue"][2], "-54.5 %")
        self.assertEqual(rows["drops"], ("0", "0", "none"))

    def test_figures_that_no_run_has_are_left_out(self):
        for result in (self.a, self.b):
            for r in result["runs"]:
                for f in r["flows"]:
                    f.update(slowdown=None, fct_ns=None)
        self.assertNotIn("max FCT", self.said())

    def test_the_only_one_of_each_is_compared(self):
        self.a["runs"], self.b["runs"] = self.a["runs"][:1], self.b["runs"][1:]
        self.assertIn("\ncubic - bolt\n", self.said())

    def test_what_is_not_in_both_is_named(self):
        self.b["runs"].pop()
        self.assertIn("\nonly in A: bolt", self.said())
        self.a["runs"].append(copy.deepcopy(self.a["runs"][0]) | {"cc": "reno"})
        self.a["runs"].pop(0)
        with self.assertRaisesRegex(RunError, "no congestion control is in both: bolt, reno; cubic"):
            self.said()

    def test_what_else_differs(self):
        self.b.update(kernel="6.1", versions={"lab": "0.1", "sources": "other"})
        self.assertIn("differs: kernel: 6.12, 6.1\ndiffers: the sources that were built\n", self.said())


if __name__ == "__main__":
    unittest.main()
