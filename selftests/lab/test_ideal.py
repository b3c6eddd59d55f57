# SPDX-License-Identifier: GPL-2.0
"""What fair sharing, the shortest first and levels would give: by hand, and what must hold for any messages."""

import random
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import ideal, sizes, slowdown, stats, topology, traffic
from test_report import make_result, make_run


def star(*messages, extra=()):
    """Of (from, to, start in us, bytes) on links of 8 Gb/s: a byte takes one ns."""
    text = 'name = "test"\nduration = "10ms"\n[topology]\nkind = "star"\nhosts = 5\nrate = "8gbit"\nrtt = "4us"\n' + "\n".join(
        f'[[flow]]\nfrom = "{src}"\nto = "{dst}"\nstart = "{start}us"\n' + (f"bytes = {size}\n" if size else "") for src, dst, start, size in messages)
    return context.one(text, extra)


class Overload(unittest.TestCase):
    """What is offered to links between switches."""

    def said(self, topology, load, more=""):
        s, net, _ = context.one(f'name = "test"\nduration = "100us"\n[topology]\n{topology}\n[workload]\ncdf = "websearch"\nload = {load}\n{more}', seed=4)
        return ideal.overload(s, net)

    def test_a_core_that_is_narrower_than_its_hosts(self):
        # 12 of a host's 15 others are behind another leaf, so each leaf is offered 4 * 0.8 * 12 / 15 of a host's link, and has two
        leaf_spine = 'kind = "leaf-spine"\nleaves = 4'
        self.assertEqual(self.said(leaf_spine, 0.8), "l0-p0 and l0-p1: offered 128 % of the rate between switches: queues grow as long as messages arrive (load, core_rate)")
        self.assertIsNone(self.said(leaf_spine, 0.6))
        self.assertIn("offered 192 %", self.said(leaf_spine + '\ncore_rate = "50gbit"', 0.6))

    def test_one_receiver_and_the_core(self):
        self.assertIsNone(self.said('kind = "dumbbell"\nsenders = 8', 0.9, 'to = "r0"\n'))
        self.assertEqual(self.said('kind = "dumbbell"\nsenders = 8', 0.8), "a-b: offered 640 % of the rate between switches: queues grow as long as messages arrive (load, core_rate)")
        self.assertIn("a-b: offered 120 %", self.said('kind = "dumbbell"\ncore_rate = "75gbit"', 0.9, 'to = "r0"\n'))

    def test_an_incast_beside_it_counts(self):
        incast = '[incast]\ndegree = 2\nbytes = "10KB"\nload = 0.2\n'
        self.assertIsNone(self.said('kind = "leaf-spine"', 0.8))
        self.assertIn("offered 114 %", self.said('kind = "leaf-spine"', 0.8, incast))
        self.assertIsNone(self.said('kind = "leaf-spine"', 0.8, incast.replace("load = 0.2", 'to = "h0"')))


class Ends(unittest.TestCase):
    """When the last byte has been sent, in ns of one link."""

    def ends(self, *messages, rates=None, paths=None):
        rates = rates or {"link": 1.0}
        paths = paths or [["link"]] * len(messages)
        return [[round(t, 3) for t in ideal.end_times(messages, of(paths, rates))] for of in (ideal.FairShares, ideal.ShortestFirst)]

    def test_one_alone(self):
        self.assertEqual(self.ends((5, 100)), [[105], [105]])

    def test_both_at_once(self):
        self.assertEqual(self.ends((0, 100), (0, 300)), [[200, 400], [100, 400]])

    def test_a_short_one_comes_later(self):
        # fair: 50 alone, then 50 each until the short one is through
        self.assertEqual(self.ends((0, 200), (50, 50)), [[250, 150], [250, 100]])

    def test_a_long_one_that_is_nearly_through_goes_on(self):
        self.assertEqual(self.ends((0, 200), (180, 30)), [[220, 230], [200, 230]])

    def test_an_idle_link(self):
        self.assertEqual(self.ends((0, 10), (50, 10)), [[10, 60], [10, 60]])

    def test_max_min(self):
        # the second link is shared by two of three: who is alone on the first gets what they leave
        rates = {"a": 1.0, "b": 0.5}
        fair, _ = self.ends((0, 75), (0, 25), (0, 25), rates=rates, paths=[["a"], ["a", "b"], ["b"]])
        self.assertEqual(fair, [100, 100, 100])

    def test_the_shortest_leaves_another_link_to_others(self):
        _, first = self.ends((0, 10), (0, 20), (0, 25), rates={"a": 1.0, "b": 1.0}, paths=[["a"], ["a", "b"], ["b"]])
        self.assertEqual(first, [10, 45, 25])

    def test_any_messages(self):
        rng = random.Random(1)
        for _ in range(200):
            messages = [(rng.randrange(500), rng.randrange(1, 100)) for _ in range(rng.randrange(1, 20))]
            fair, first = self.ends(*messages)
            with self.subTest(messages=messages):
                now = 0
                for start, size in sorted(messages):
                    now = max(now, start) + size
                # neither leaves the link idle, and nobody has a lower mean than the shortest first
                self.assertEqual((round(max(fair), 2), round(max(first), 2)), (now, now))
                self.assertLessEqual(sum(first), sum(fair) + 1)
                self.assertTrue(all(end >= start + size - 0.01 for ends in (fair, first) for end, (start, size) in zip(ends, messages)))


class Levels(unittest.TestCase):
    """The same, where the first bytes of each message go before the later bytes of all others."""

    def ends(self, begins, *messages, rates=None, paths=None):
        shares = ideal.Levels(paths or [["link"]] * len(messages), rates or {"link": 1.0})
        return [round(t, 3) for t in ideal.end_times(messages, shares, begins)]

    def test_the_first_bytes_go_first(self):
        # the second waits for nobody until 10 are sent, and the first for all of that; then they share
        self.assertEqual(self.ends((10,), (0, 100), (20, 10)), [110, 30])
        self.assertEqual(self.ends((10,), (0, 100), (20, 20)), [120, 50])

    def test_fair_within_a_level(self):
        # 5 alone; 5 each until 15; the second's other 5 until 20; 10 each until 40; the rest
        self.assertEqual(self.ends((10,), (0, 100), (5, 20)), [120, 40])

    def test_a_level_after_the_other(self):
        # 10 and 10; the first 20 of 30, then the second; each has had 40, and they share
        self.assertEqual(self.ends((10, 40), (0, 60), (40, 50)), [110, 90 + 10])

    def test_beyond_all_levels_is_fair(self):
        self.assertEqual(self.ends((), (0, 200), (50, 50)), [250, 150])

    def test_what_a_level_leaves_is_the_next_ones(self):
        rates = {"a": 1.0, "b": 0.5}
        self.assertEqual(self.ends((100,), (0, 200), (100, 50), rates=rates, paths=[["a"], ["a", "b"]]), [250, 200])
        self.assertEqual(self.ends((100,), (0, 200), (100, 50), rates=rates, paths=[["a"], ["a"]]), [250, 150])

    def test_any_messages(self):
        rng = random.Random(1)
        for _ in range(200):
            messages = [(rng.randrange(500), rng.randrange(1, 100)) for _ in range(rng.randrange(1, 20))]
            begins = sorted(rng.sample(range(1, 120), rng.randrange(5)))
            with self.subTest(messages=messages, begins=begins):
                now = 0
                for start, size in sorted(messages):
                    now = max(now, start) + size
                ends = self.ends(begins, *messages)
                self.assertEqual(round(max(ends), 2), now)
                self.assertTrue(all(end >= start + size - 0.01 for end, (start, size) in zip(ends, messages)))

    def test_any_links(self):
        # nobody ends before the whole of it could have passed, and each level leaves later ones what rounding does not hide
        rng = random.Random(2)
        rates = {name: rate for name, rate in zip("abcdef", (12.5, 12.5, 50.0, 12.5, 1.1, 3.3))}
        for _ in range(100):
            messages = [(rng.randrange(500), rng.randrange(1, 3000)) for _ in range(rng.randrange(1, 30))]
            paths = [rng.sample(sorted(rates), rng.randrange(1, 4)) for _ in messages]
            with self.subTest(messages=messages, paths=paths):
                ends = self.ends((7, 91, 1000), *messages, rates=rates, paths=paths)
                self.assertTrue(all(end >= start + size / min(rates[link] for link in path) - 0.01 for end, (start, size), path in zip(ends, messages, paths)))

    def begins(self, qdisc, *more):
        return ideal.level_begins(star(("h1", "h0", 0, 100), extra=(f"switch.qdisc={qdisc}", *more))[0])

    def test_the_words_of_the_qdisc(self):
        packet = 1514       # of 1448 bytes: a packet goes by what was sent before it
        for qdisc, packets in (("sfc levels", (2, 6, 23, 91, 363, 1449, 5794)), ("sfc levels 1kb 64k nopru", (1, 46)), ("sfc nopru levels 4096 1MB", (3, 725)),
                               ("sfc levels none", None), ("sfc levels none 4096", None), ("sfc", None), ("pfifo", None)):
            with self.subTest(qdisc):
                self.assertEqual(self.begins(qdisc), packets and tuple(n * packet for n in packets))
        # the links of hosts are what is shared
        self.assertEqual(self.begins("sfc", "switch.edge_qdisc=sfc levels 2kb"), (2 * packet,))
        self.assertIsNone(self.begins("sfc levels", "switch.edge_qdisc=sfc"))


class Slowdowns(unittest.TestCase):
    def of(self, *args, **kwargs):
        s, net, load = star(*args, **kwargs)
        return [tuple(round(found[name], 3) for name in ("fair", "srpt")) for found in ideal.slowdowns(s, net, load)]

    def test_alone_is_one(self):
        self.assertEqual(self.of(("h1", "h0", 0, 100), ("h1", "h0", 500, 200_000), ("h2", "h3", 500, 9_000)), [(1, 1)] * 3)

    def test_to_one_receiver(self):
        s, _, _ = star(("h1", "h0", 0, 100_000))
        wire = traffic.wire_bytes(100_000, s)
        # the base RTT is there once, whoever goes first
        twice = round((4000 + 2 * wire) / (4000 + wire), 3)
        self.assertEqual(self.of(("h1", "h0", 0, 100_000), ("h2", "h0", 0, 100_000)), [(twice, 1), (twice, twice)])
        self.assertEqual(self.of(("h1", "h0", 0, 100_000), ("h1", "h2", 0, 100_000)), [(twice, 1), (twice, twice)])
        self.assertEqual(self.of(("h1", "h0", 0, 100_000), ("h2", "h3", 0, 100_000)), [(1, 1), (1, 1)])

    def test_levels_where_the_switch_has_them(self):
        def found(*extra):
            return ideal.slowdowns(*star(("h1", "h0", 0, 100_000), ("h2", "h0", 40, 14_480), extra=extra))
        self.assertEqual([set(of) for of in found()], [{"fair", "srpt"}] * 2)
        # ten packets of the second go before the rest of the first, and no more
        long, short = (traffic.wire_bytes(size, star(("h1", "h0", 0, 1))[0]) for size in (100_000, 14_480))
        for sizes, last in (("16kb", 0), ("8kb", 4)):
            slow = [of["levels"] for of in found(f"switch.qdisc=sfc levels {sizes}")]
            self.assertAlmostEqual(slow[0], (4000 + long + short) / (4000 + long), 6)
            self.assertAlmostEqual(slow[1], (4000 + short + last * 1514) / (4000 + short), 6)

    def test_a_flow_without_an_end_has_no_bound(self):
        self.assertEqual(self.of(("h1", "h0", 0, None), ("h2", "h0", 0, 100)), [])


class Links(unittest.TestCase):
    def shared(self, *sets, pairs=(("h0", "h7"), ("h1", "h6"), ("h2", "h5"))):
        flows = [f"flow.0.{k}={v}" for k, v in (("from", "h0"), ("to", "h7"))] + [f"flow.1.{k}={v}" for k, v in (("from", "h1"), ("to", "h6"))]
        _, net, _ = context.one(sets=["topology.kind=leaf-spine", "topology.leaves=2", "topology.hosts_per_leaf=4", "topology.spines=2", *flows, *sets])
        return ideal.shared_links(net, pairs)

    def test_a_core_that_takes_what_hosts_send_is_no_limit(self):
        paths, rates = self.shared("topology.rate=100gbit", "topology.core_rate=200gbit")
        self.assertEqual(paths["h0", "h7"], [("h0-l0",), ("l1-h7",)])
        self.assertEqual(set(rates.values()), {12.5})

    def test_equal_paths_of_a_narrow_core_are_one_link(self):
        paths, rates = self.shared("topology.rate=100gbit", "topology.core_rate=100gbit")
        self.assertEqual(paths["h0", "h7"], [("h0-l0",), ("l0-p0", "l0-p1"), ("p0-l1", "p1-l1"), ("l1-h7",)])
        self.assertEqual(rates["l0-p0", "l0-p1"], 25)

    def test_a_dumbbell_has_one_core(self):
        _, net, _ = context.one()
        paths, _ = ideal.shared_links(net, [("s0", "r0"), ("s1", "r1")])
        self.assertEqual(paths["s1", "r1"], [("s1-a",), ("a-b",), ("b-r1",)])


class Shown(unittest.TestCase):
    def flows(self, *slow):
        return [{"slowdown_ack": ack, "kind": "workload", "bytes": size, "fct_ns": 10, "start_ns": 0, "slowdown": ack, "finite": True,
                 "slowdown_fair": fair, "slowdown_srpt": 1.0} for size, ack, fair in slow]

    def test_bounds_by_size(self):
        fct = stats.fct(self.flows((500, 3.0, 2.0), (5_000, 4.0, 8.0)))
        self.assertEqual([(b["fair"]["p99"], b["of_fair"]["p99"], b["srpt"]["p50"]) for b in fct["bins"]], [(2, 1.5, 1), (8, 0.5, 1)])
        self.assertEqual(fct["of_fair"], {"p50": 1.5, "p99": 0.5, "unfinished": 0})

    def test_none_where_one_message_has_none(self):
        flows = self.flows((500, 3.0, 2.0), (5_000, 4.0, 8.0))
        del flows[0]["slowdown_fair"]
        fct = stats.fct(flows)
        self.assertNotIn("fair", fct)
        self.assertIn("of_fair", fct["bins"][1])
        self.assertNotIn("fair", sizes.table(fct))

    def test_levels_where_all_have_them(self):
        flows = self.flows((500, 3.0, 2.0), (5_000, 4.0, 8.0))
        self.assertNotIn("of ideal levels", sizes.table(stats.fct(flows)))
        flows[0]["slowdown_levels"] = 1.5
        self.assertNotIn("levels", stats.fct(flows))
        flows[1]["slowdown_levels"] = 5.0
        fct = stats.fct(flows)
        self.assertEqual((fct["bins"][1]["levels"]["p99"], fct["of_levels"]), (5, {"p50": 2.0, "p99": 0.8, "unfinished": 0}))
        self.assertEqual([line.split()[-2:] for line in sizes.table(fct).splitlines()[2:]], [["2.00", "2.00"], ["0.80", "0.80"], ["2.00", "0.80"]])
        # another congestion control of the same result may have none
        result = make_result(Path(tempfile.mkdtemp(prefix="lab-test-")))
        for r, of in zip(result["runs"], (stats.fct(self.flows((500, 3.0, 2.0), (5_000, 4.0, 8.0))), fct)):
            r["fct"] |= of
        self.assertEqual(slowdown.markdown(result).splitlines()[0], "| message size | messages | cubic | bolt | fair sharing | levels | shortest first |")

    def test_beside_the_congestion_controls(self):
        fct = stats.fct(self.flows((500, 3.0, 2.0), (5_000, 4.0, 8.0)))
        result = {"runs": [make_run(Path(tempfile.mkdtemp(prefix="lab-test-")), "bolt", 1) | {"fct": fct}], "scenario": "fct"}
        self.assertEqual(slowdown.markdown(result).splitlines()[:3], [
            "| message size | messages | bolt | fair sharing | shortest first |", "|---|---|---|---|---|", "| <= 1 KB | 1 | 3.0 / 3.0 | 2.0 / 2.0 | 1.0 / 1.0 |"])
        self.assertIn(">shortest first p99<", slowdown.svg(slowdown.curves(result), "x"))
        self.assertEqual([line.split()[-2:] for line in sizes.text(result).splitlines()[3:]], [["1.50", "1.50"], ["0.50", "0.50"], ["1.50", "0.50"]])


if __name__ == "__main__":
    unittest.main()
