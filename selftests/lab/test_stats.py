# SPDX-License-Identifier: GPL-2.0
"""Percentiles, fairness, bins, and the link device's formats."""

import json
import struct
import tempfile
import types
import unittest
from pathlib import Path

import context  # noqa: F401
from boltlab import charts, lablink, plots, results, runner, series, sizes, stats, traffic, window
from boltlab.guest import RunError


def flow(size, fct=None, start=0, slowdown=None, finite=True, stopped=None, kind="flow", slowdown_ack=None):
    return {"slowdown_ack": slowdown_ack, "kind": kind, "bytes": size, "fct_ns": fct, "start_ns": start, "end_ns": None if fct is None else start + fct,
            "stopped_ns": stopped, "finite": finite, "slowdown": slowdown}


class Percentiles(unittest.TestCase):
    def test_nearest_rank(self):
        values = list(range(1, 101))
        self.assertEqual([stats.percentile(values, p) for p in (0.5, 0.95, 0.99, 1.0)], [50, 95, 99, 100])
        self.assertEqual(stats.percentile([7], 0.99), 7)
        self.assertIsNone(stats.percentile([], 0.5))

    def test_cdf(self):
        self.assertEqual(stats.cdf([3, 3, 4, 9], 10), ([3, 4, 9], [50, 75, 100]))
        for n in (7, 25, 500):      # where k / n * n is not always k
            self.assertEqual(stats.cdf(range(1, n + 1), n), (list(range(1, n + 1)), [round(100 * k / n, 3) for k in range(1, n + 1)]))
        self.assertEqual(stats.cdf(range(1, 1001), 4), ([250, 500, 750, 1000], [25, 50, 75, 100]))

    def test_summary(self):
        self.assertEqual(stats.summary(range(1, 101)), {"mean": 50.5, "p50": 50, "p95": 95, "p99": 99, "p999": None})

    def test_of_fewer_than_1000_there_is_no_p999(self):
        self.assertEqual([stats.summary(range(1, n + 1))["p999"] for n in (999, 1000, 2000)], [None, 999, 1998])


class Fairness(unittest.TestCase):
    def test_jain(self):
        self.assertEqual(stats.jain([5, 5, 5]), 1)
        self.assertAlmostEqual(stats.jain([1, 0, 0, 0]), 0.25)
        self.assertIsNone(stats.jain([]))

    def test_rate_is_over_the_time_a_flow_was_there(self):
        flows = [flow(1000, start=0, finite=False), flow(500, start=500, finite=False), flow(250, start=0, stopped=250)]
        self.assertEqual(stats.goodput_jain(flows, 1000), 1)

    def test_starved_flows_count_and_those_that_never_started_do_not(self):
        starved, later = flow(0, finite=False), flow(0, start=1000, finite=False)
        self.assertEqual(stats.goodput_jain([flow(1000, finite=False), starved, starved, starved, later], 1000), 0.25)
        self.assertIsNone(stats.goodput_jain([starved], 1000))


class Epochs(unittest.TestCase):
    TIMES = list(range(0, 1001, 10))

    def flow(self, rate, start=0, end=None):
        return start, end, self.TIMES, [max(0, min(t, 1000 if end is None else end) - start) * rate for t in self.TIMES]

    def test_of_flows_with_equal_rates(self):
        found = stats.jain_epochs([self.flow(3), self.flow(3)], 200, 0, 1000)
        self.assertEqual((found[0], found[-1]), ((0, 1), (800, 1)))

    def test_the_share_of_each_epoch(self):
        flows = [self.flow(1), (0, None, self.TIMES, [t if t < 500 else 500 for t in self.TIMES])]
        found = dict(stats.jain_epochs(flows, 100, 0, 1000))
        self.assertEqual((found[400], found[500]), (1, 0.5))

    def test_none_in_which_a_flow_comes_or_goes_or_soon_after(self):
        found = stats.jain_epochs([self.flow(1), self.flow(1, end=800), self.flow(1, start=300)], 100, 50, 1000)
        begins = {begin for begin, _ in found}
        self.assertEqual((min(begins), 200 in begins, 210 in begins), (0, True, False))
        self.assertEqual((min(b for b in begins if b > 200), 700 in begins, 710 in begins, min(b for b in begins if b > 710)), (350, True, False, 850))
        self.assertEqual({round(index, 6) for _, index in found}, {1})

    def test_one_flow_has_nobody_to_be_fair_to(self):
        self.assertEqual(stats.jain_epochs([self.flow(1)], 100, 0, 1000), [])

    def test_one_sample_is_no_stretch_of_time(self):
        self.assertEqual(stats.jain_epochs([(0, None, [0], [0])] * 2, 100, 0, 1000), [])


class Window(unittest.TestCase):
    """100 ns a sample at 80 Gb/s: 1000 bytes when busy. Busy until 1 us with a queue that grows, then idle."""

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="lab-test-"))
        times = range(0, 2001, 100)
        sent = [min(t, 1000) * 10 for t in times]
        results.write_series(self.dir / "q.csv", ("time_ns", "queue_bytes", "tx_bytes"), (times, [t if t < 1000 else 0 for t in times], sent))
        for i, rate in enumerate((1, 3)):
            results.write_series(self.dir / f"f{i}.csv", ("time_ns", "cwnd_bytes", "acked_bytes", "inflight_bytes"),
                                 (times, [0] * 21, [t * rate for t in times], [0] * 21))
        port = {"name": "a-b", "rate_bps": 80 * 10**9, "series": "q.csv", "utilization": 0.5, "tx_bytes": 10**4, "drops": 2, "marks": 0}
        unseen = port | {"name": "s0-a", "series": None, "queue_bytes": None, "drops": 77}
        flows = [flow(10**6, finite=False) | {"id": i, "series": f"f{i}.csv", "retransmits": 500} for i in (0, 1)]
        flows += [flow(500, 50, start=start, slowdown=slow) | {"id": 2, "series": None, "retransmits": 60} for start, slow in ((100, 2.0), (1500, 9.0))]
        self.run = {"cc": "bolt", "seed": 1, "sim_ns": 2000, "bins_bytes": [600], "links": [port, unseen], "flows": flows, "bottleneck": "a-b",
                    "control": {"src_packets": 0}}

    def cut(self, begin, end):
        return window.cut({"runs": [self.run]}, self.dir, begin, end)["runs"][0]

    def test_queue_and_utilization(self):
        port = self.cut(0, 2000)["links"][0]
        self.assertEqual(port["utilization"], 0.5)
        q = port["queue_bytes"]
        self.assertEqual((q["max"], q["mean"], q["p50"], q["p99"]), (900, 225, 0, 900))
        self.assertEqual((q["busy_mean"], q["busy_p50"], q["busy_p99"]), (450, 400, 900))
        self.assertEqual(self.cut(500, 1000)["links"][0]["utilization"], 1)
        idle = self.cut(1200, 2000)["links"][0]["queue_bytes"]
        self.assertEqual((idle["p99"], idle["busy_p99"]), (0, None))

    def test_messages_that_started_in_it(self):
        self.assertEqual([self.cut(*w)["fct"]["p50"] for w in ((0, 1000), (1000, 2000))], [2.0, 9.0])

    def test_messages_left_out_are_counted(self):
        for end in (5000, 2000, None):      # which a run that is shorter has as its end
            found = window.cut({"runs": [self.run, self.run], "spread": []}, self.dir, 1000, end)
            self.assertEqual(found["part"], "1 us to the end of 2 us; messages left out: bolt 2 of 4")
        self.assertEqual(found["spread"][0]["fct"]["p50"], {"median": 9.0, "min": 9.0, "max": 9.0})
        self.assertEqual((self.cut(0, 1000)["fct"]["unfinished"], len(self.cut(0, 1000)["flows"])), (0, 1))
        self.assertEqual([b["max_bytes"] for b in self.cut(0, 2000)["fct"]["bins"]], [600])
        self.assertEqual(self.cut(100, 1500)["fct"]["p50"], 2.0)
        self.assertEqual(self.cut(101, 1501)["fct"]["p50"], 9.0)

    def test_all_of_it_is_the_result_itself(self):
        result = {"runs": [self.run], "spread": [1]}
        self.assertIs(window.cut(result, self.dir, 0, None), result)

    def test_shares(self):
        self.assertEqual(self.cut(500, 1500)["jain"], 0.8)
        self.assertEqual(plots.headline({"runs": [self.cut(500, 1500)]})[0]["jain_endless"], 0.8)
        self.run["flows"][0]["stopped_ns"] = 1000
        self.assertEqual([self.cut(500, end)["jain"] for end in (1000, 1500)], [0.8, None])

    def test_no_shares_where_one_that_was_there_has_no_series(self):
        self.run["flows"].append(flow(10**6, start=1000, finite=False) | {"id": 3, "series": None, "retransmits": 0})
        self.assertEqual([self.cut(500, end)["jain"] for end in (900, 1500)], [0.8, 0.8])     # it came later
        self.assertIsNone(self.cut(1000, 1500)["jain"])

    def test_drops_and_retransmits_are_those_of_the_whole_run(self):
        (row,) = plots.headline({"runs": [self.cut(0, 1000)]})
        self.assertEqual((row["drops"], row["retransmits"]), (79, 1120))

    def test_each_run_ends_at_its_own_end(self):
        longer = window.cut({"runs": [self.run | {"sim_ns": 1000}, self.run]}, self.dir, 500, None)
        self.assertEqual([r["sim_ns"] for r in longer["runs"]], [500, 1500])

    def test_no_time_at_all(self):
        for begin, end in ((2000, 3000), (500, 500), (1950, 2000)):
            self.assertRaisesRegex(RunError, f"--from, --until: [^\n]* {begin} ns to [^\n]*$", self.cut, begin, end)


class Control(unittest.TestCase):
    def test_what_was_put_off_is_no_refusal(self):
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (raw / "bolt.txt").write_text("ns h0\nCtlRx 9\nCtlDeferred 7\nCtlTime 2\nCtlSeq 0\n")
        self.assertEqual(results.control(raw, {}, types.SimpleNamespace(ip=4, host_set=set()))["rejected"], {"Time": 2})

    def test_what_a_host_sends_itself_is_on_no_link(self):
        sent = {("sw", "h0"): {"src_sent": 1, "bts_sent": 2, "pfc_xoff": 4}, ("h0", "eth0"): {"src_sent": 8, "bts_sent": 16, "pfc_xoff": 32}}
        found = results.control(Path(tempfile.mkdtemp(prefix="lab-test-")), sent, types.SimpleNamespace(ip=4, host_set={"h0"}))
        self.assertEqual([found[k] for k in ("src_packets", "src_bytes", "bts_packets")], [1, results.SRC_BYTES[4], 2])
        self.assertEqual((found["at_hosts"], found["pfc"]["xoff"]), ({"src_packets": 8, "bts_packets": 16, "cnm_packets": 0}, 36))


class Measured(unittest.TestCase):
    """What the guest measured, by hand."""

    def flows(self, sets=()):
        """Messages of 1000 bytes from s0 at 0 and of 3000 from s1 at 2 us, until 10 us and until 30 us; an endless one."""
        text = context.BASE.replace('"r1"', '"r0"') + '[[flow]]\nfrom = "s2"\nto = "r0"\n'
        s, net, load = context.one(text, ["topology.senders=3", "flow.0.bytes=1000", "flow.1.bytes=3000", "flow.1.start=2us", *sets])
        path = Path(tempfile.mkdtemp()) / "flows.txt"
        path.write_text("# id start_ns ...\n0 0 10000 21000 - 1000 1 0 0\n1 2000 30000 42000 - 3000 2 0 0\n2 0 - - - 777 3 0 0\n")
        return s, net, results.read_flows(path, load)

    def test_slowdowns(self):
        _, _, (short, long, endless) = self.flows()
        # 1066 bytes at three links of 100 Gb/s, and 4 us; until the ACK 8 us and once its bytes
        self.assertEqual((short["ideal_ns"], short["slowdown"], short["slowdown_ack"]), (4256, round(10000 / 4256, 6), round(21000 / 8086, 6)))
        self.assertEqual((long["slowdown_ack"], long["fct_ns"]), (round(40000 / 8256, 6), 28000))
        self.assertEqual((endless["finite"], endless["slowdown"], endless["bytes"]), (False, None, 777))

    def test_ideal_times(self):
        s, net, flows = self.flows(["flow.2.bytes=3000"])
        results.add_bounds(flows, s, net, traffic.build(s, net, "test.toml"))
        # to the last ACK: 8 us and the bytes on the wire, 1066 and 3198 of them at 0 and 3198 at 2 us, at 100 Gb/s
        self.assertEqual([(f["ideal_fair_ns"], f["ideal_srpt_ns"]) for f in flows], [(8171, 8086), (8256, 8256), (8341, 8341)])
        self.assertEqual(flows[0]["slowdown_fair"], round(8170.56 / 8086, 6))

    def test_makespan(self):
        s, net, flows = self.flows()
        serial = [8 * 1066 / 100, 8 * 3198 / 100]
        alone = sum(serial) + min(f["ideal_ns"] - one for f, one in zip(flows, serial))
        self.assertNotAlmostEqual(*(f["ideal_ns"] - one for f, one in zip(flows, serial)), delta=50)
        self.assertEqual(results.makespan(flows, s, net), {"makespan_ns": 30000, "makespan_over_ideal": round(30000 / alone, 6)})
        # both cross a core of half the rate; one of twice the rate is no limit
        for core, slower in (("50gbit", 2), ("200gbit", 1)):
            s, net, flows = self.flows([f"topology.core_rate={core}"])
            ideal = slower * sum(serial) + min(f["ideal_ns"] - slower * one for f, one in zip(flows, serial))
            self.assertEqual(results.makespan(flows, s, net)["makespan_over_ideal"], round(30000 / ideal, 6))
        none = {"makespan_ns": None, "makespan_over_ideal": None}
        self.assertEqual([results.makespan([flows[0] | other, flows[1]], s, net) for other in ({"to": "r1"}, {"end_ns": None})], [none] * 2)

    def test_round_trips_are_of_one_packet(self):
        s, _, flows = self.flows()
        short = [flows[0] | {"start_ns": 5, "end_ack_ns": 5 + n} for n in range(100, 0, -1)]
        self.assertEqual(results.round_trips(short + flows[1:], s), {"count": 100, "unfinished": 0, "p50": 50, "p99": 99})
        self.assertEqual(results.round_trips(short + [short[0] | {"end_ack_ns": None, "bytes": 0}] * 2 + [flows[1] | {"bytes": 0, "end_ack_ns": None}], s),
                         {"count": 100, "unfinished": 2, "p50": 51, "p99": None})

    def test_jain_of_epochs(self):
        s, _, _ = self.flows(["settle=0us", 'epochs=["100us"]'])
        s.duration = 400
        times = [0, 100, 200, 300, 400]
        acked = ([0, 3, 5, 8, 10], [0, 2, 4, 4, 5])     # 25/26, 1, 0.5, 0.9
        flows = [flow(1, finite=False) | {"id": i} for i in (0, 1)]
        unsampled, message = flow(1, start=250, finite=False) | {"id": 2}, flow(1, start=50, kind="workload") | {"id": 3}
        for there, least in ((flows, (4, 0.5, 200, 0.9)), ([*flows, unsampled, message], (3, 0.9, 300, 0.961538))):
            found = results.jain_epoch(there, {i: (times, [7] * 5, a, [0] * 5) for i, a in enumerate(acked)}, s, 100)
            self.assertEqual((found["flows"], tuple(found[k] for k in ("count", "min", "min_at_ns", "p50"))), (2, least))

    def test_marks_of_every_qdisc(self):
        s, net, _ = self.flows()
        port = net.ports["a"][0]
        link = types.SimpleNamespace(ports={}, queues={})
        for said, marks in (({"marked": 1, "ecn_mark": 2, "ce_mark": 4}, 7), ({"ecn_marked": 8}, 8), ({}, 0)):
            self.assertEqual(results.port_entry(port, link, {(port.node, port.dev): said}, s, None, "", {})["marks"], marks)

    def test_dctcp_that_nobody_marked(self):
        for cc, of_flows, programs, marks, told in (("dctcp", ["dctcp"], [], 0, True), ("dctcp", ["dctcp"], [], 1, False), ("bolt", ["bolt", "dctcp"], [], 0, True),
                                                    ("dctcp", [], ["x"], 0, True), ("dctcp", [], [], 0, False), ("bolt", ["bolt"], ["x"], 0, False)):
            r = {"cc": cc, "flows": [{"cc": one} for one in of_flows], "programs": programs, "links": [{"marks": 0}, {"marks": marks}]}
            self.assertEqual(runner.unmarked(r), told)

    def test_a_qdisc_that_an_event_replaced_has_counted_too(self):
        # the scenario has them in another order than that of time, by which they are numbered
        events = [f"event.{i}.{k}" for i in range(3) for k in (f"at={(6, 7, 5)[i]}00us", "do=set", "node=a", 'command="tc qdisc show"')]
        s, net, _ = context.one(sets=events)
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        first, second = ({"kind": kind, "handle": handle, "dev": "b", "root": True} for kind, handle in (("pfifo", "8001:"), ("fq_codel", "1:")))
        for name, q in (("a-0", first | {"drops": 1, "qlen": 2}), ("a-1", second | {"drops": 4, "qlen": 8, "ecn_mark": 1}),
                        ("a-2", second | {"drops": 16, "qlen": 32, "ecn_mark": 3}), ("a", first | {"drops": 64, "qlen": 128})):
            (raw / f"tc-{name}.json").write_text(json.dumps([q, {"kind": "none", "parent": "1:1", "drops": 256}]))
        (found,) = results.read_qdiscs(raw, s, net).values()
        self.assertEqual((found["kind"], found["drops"], found["ecn_mark"], found["qlen"]), ("pfifo", 1 + 2 + 16 + 32 + 64, 3, 128))
        self.assertEqual(results.read_qdiscs(raw, context.one()[0], net)["a", "b"]["drops"], 64)
        (raw / "tc-a.json").write_text('[{"kind":"hfsc"} x]')
        with self.assertRaisesRegex(RunError, "^tc's JSON of a cannot be read"):
            results.read_qdiscs(raw, s, net)

    def test_options_that_are_no_json(self):
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        s, net, _ = context.one()
        # as tc 6.1.0 writes them: hfsc's own, and those of a qdisc that it does not know
        port = '{"kind":"x","handle":"1:","dev":"%s","root":true,"options":{%s},"drops":%d}'
        (raw / "tc-a.json").write_text("[" + ",".join(port % of for of in (
            ("b", "default 0x1 ", 1), ("s0", "[Unknown qdisc, optlen=32] ", 2), ("s1", '"buffer":3,"nested":{"limit":4}', 5))) + "]")
        found = {dev: (q["drops"], q["options"]) for (_, dev), q in results.read_qdiscs(raw, s, net).items()}
        self.assertEqual(found, {"b": (1, {}), "s0": (2, {}), "s1": (5, {"buffer": 3, "nested": {"limit": 4}})})


class Fct(unittest.TestCase):
    def test_bins_and_unfinished(self):
        flows = [flow(500, 10, slowdown=1.0), flow(900, 20, slowdown=2.0), flow(5_000, 50, slowdown=4.0), flow(100), flow(100, finite=False)]
        result = stats.fct(flows)       # an earlier lab did not note the size of what did not end
        self.assertEqual((result["count"], result["unfinished"]), (3, 1))
        self.assertEqual([(b["max_bytes"], b["count"], b["p99"]) for b in result["bins"]], [(1000, 2, 2.0), (7000, 1, 4.0)])
        self.assertEqual((result["mean"], result["p50"], result["p50_ns"], result["p99"], result["p99_ns"]), (None, 2.0, 20, None, None))

    def test_what_does_not_end_takes_for_ever(self):
        def messages(lost):
            flows = [flow(10**6 + n, n, slowdown=float(n), slowdown_ack=float(n)) | {"size_bytes": 10**6 + n, "slowdown_fair": 2.0} for n in range(1, 1001)]
            for f in flows[1000 - lost:]:
                f.update(bytes=7, fct_ns=None, slowdown=None, slowdown_ack=None)
            return stats.fct(flows)
        found = messages(50)
        for of in (found, found["ack"], found["bins"][0], found["bins"][0]["ack"]):
            self.assertEqual([of[k] for k in ("count", "unfinished", "mean", "p50", "p95", "p99", "p999")], [950, 50, None, 500.0, 950.0, None, None])
        self.assertEqual((found["fair"]["p99"], found["of_fair"]["p50"], found["of_fair"]["p99"]), (2.0, 250.0, None))
        self.assertEqual([(b["above_bytes"], b["max_bytes"]) for b in found["bins"]], [(10**6, 10**6 + 1000)])
        self.assertEqual([b["count"] for b in messages(1000)["bins"]], [0])
        seeds = [{"cc": "bolt", "seed": n, "jain": None, "links": [], "bottleneck": None, "fct": messages(lost)} for n, lost in enumerate((0, 1, 50, 1000))]
        (of_three,), (of_four,) = runner.spreads(seeds[:3]), runner.spreads(seeds)
        self.assertEqual([of_three["fct"][k] for k in ("p99", "p999")], [{"median": p, "min": p, "max": None} for p in (990.0, 999.0)])
        self.assertEqual((of_four["fct"]["p99"], of_four["fct"]["bins"][0]["of_fair"]["p99"]["median"]), ({"median": None, "min": 990.0, "max": None}, None))
        self.assertIsNone(runner.spreads(seeds[3:])[0]["fct"]["p50"])
        json.dumps(of_four, allow_nan=False)

    def test_too_few_for_a_p999_are_not_infinite(self):
        seeds = [{"p999": 11.0, "count": 1005, "unfinished": 0}, *[{"p999": None, "count": 995, "unfinished": 1}] * 2]
        self.assertEqual(stats.spread(seeds)["p999"], {"median": 11.0, "min": 11.0, "max": 11.0})

    def test_sizes_on_an_edge_belong_below_it(self):
        self.assertEqual(stats.fct([flow(1000, 10, slowdown=1.0)])["bins"][0]["max_bytes"], 1000)

    def test_beyond_the_last_edge(self):
        self.assertEqual(stats.fct([flow(10**9, 10, slowdown=1.0)])["bins"][0]["max_bytes"], 10**9)

    def test_kinds_are_also_told_apart(self):
        result = stats.fct([flow(500, 10, slowdown=1.0, kind="incast"), flow(500, 30, slowdown=3.0, kind="workload")])
        self.assertEqual((result["count"], result["kinds"]["incast"]["p99"], result["kinds"]["workload"]["p99"]), (2, 1.0, 3.0))
        self.assertNotIn("kinds", stats.fct([flow(500, 10, slowdown=1.0)]))

    def test_edges_are_the_scenarios(self):
        flows = [flow(size, 10, slowdown=1.0) for size in (10, 11, 20, 21)]
        self.assertEqual([(b["above_bytes"], b["max_bytes"], b["count"]) for b in stats.fct(flows, (10, 20))["bins"]],
                         [(0, 10, 1), (10, 20, 2), (20, 21, 1)])
        kinds = stats.fct(flows + [flow(15, 10, slowdown=1.0, kind="incast")], (10, 20))["kinds"]
        self.assertEqual([[b["above_bytes"] for b in kinds[k]["bins"]] for k in ("flow", "incast")], [[0, 10, 20], [10]])

    def test_to_the_last_ack_beside_to_the_last_byte(self):
        flows = [flow(500, 10, slowdown=1.0, slowdown_ack=3.0), flow(500, 10, slowdown=2.0), flow(5_000, 10, slowdown=2.0, slowdown_ack=7.0)]
        result = stats.fct(flows)
        self.assertEqual((result["ack"]["count"], result["ack"]["p50"], result["ack"]["p99"]), (2, 7.0, None))
        self.assertEqual([(b["count"], b["ack"]["count"], b["ack"]["p50"]) for b in result["bins"]], [(2, 1, 3.0), (1, 1, 7.0)])

    def test_empty(self):
        result = stats.fct([])
        self.assertEqual((result["count"], result["p50"], result["bins"]), (0, None, []))


class Spread(unittest.TestCase):
    def test_middle_and_extremes(self):
        self.assertEqual(stats.spread([3.0, 1.0, 9.0]), {"median": 3.0, "min": 1.0, "max": 9.0})
        self.assertEqual(stats.spread([None, 2]), {"median": 2, "min": 2, "max": 2})
        self.assertIsNone(stats.spread([None, None]))
        self.assertEqual(stats.spread([{"p50": 3}, None, {"p50": 5}]), {"p50": {"median": 4, "min": 3, "max": 5}})
        self.assertEqual([repr(stats.spread(v)["median"]) for v in ([8, 1, 9, 2], [1, 2], [0, 0], [0.0, 0])], ["5", "1.5", "0", "0.0"])

    def test_of_the_port_that_each_run_shows(self):
        """Not of a host's own link that is a little busier."""
        links = [{"name": name, "utilization": used, "drops": drops, "queue_bytes": queue and {"max": queue}, "series": queue and "x.csv"}
                 for name, used, drops, queue in (("s0-a", 0.992, 0, None), ("a-b", 0.991, 7, 5000))]
        runs = [{"cc": "bolt", "seed": seed, "jain": None, "bottleneck": "s0-a", "links": links, "fct": {}} for seed in (1, 2)]
        (found,) = runner.spreads(runs)
        self.assertEqual([found[k] and found[k]["median"] for k in ("drops", "utilization")], [7, 0.991])
        self.assertEqual(found["queue_bytes"]["max"]["median"], 5000)

    def test_bins_are_matched_by_their_lower_end(self):
        runs = [stats.fct([flow(size, 10, slowdown=slow) for size, slow in flows])
                for flows in ([(500, 1.0), (2 * 10**6, 4.0)], [(500, 2.0), (5_000, 9.0), (3 * 10**6, 5.0)])]
        bins = stats.spread(runs)["bins"]
        self.assertEqual([b["above_bytes"] for b in bins], [0, 10**6])
        self.assertEqual((bins[0]["p50"]["max"], bins[1]["max_bytes"]["max"]), (2.0, 3 * 10**6))


class SizeTable(unittest.TestCase):
    def runs(self, count):
        runs = [{"cc": "bolt", "seed": seed, "jain": None, "bottleneck": "a-b", "links": [],
                 "fct": stats.fct([flow(500, 10, slowdown=1.0 + seed, slowdown_ack=2.0), flow(5_000, 30, slowdown=12.34, slowdown_ack=None)])}
                for seed in range(count)]
        return {"runs": runs} | ({"spread": runner.spreads(runs)} if count > 1 else {})

    def cells(self, result):
        return [line.split() for line in sizes.text(result).splitlines()]

    def test_one_run(self):
        lines = self.cells(self.runs(1))
        self.assertEqual(lines[3:], [["<=", "1", "KB", "1", "1.00", "1.00", "2.00", "2.00"],
                                     ["1", "KB", "-", "7", "KB", "1", "12.3", "12.3", "-", "-"],
                                     ["all", "2", "1.00", "12.3", "2.00", "-"]])

    def test_of_several_seeds_the_spread(self):
        lines = self.cells(self.runs(3))
        self.assertEqual(lines[3], ["<=", "1", "KB", "1", "2.00", "(1.00-3.00)", "2.00", "(1.00-3.00)", "2.00", "(2.00-2.00)", "2.00", "(2.00-2.00)"])

    def test_p999_where_a_size_has_1000_messages(self):
        flows = [flow(500, 10, slowdown=1.0 + i, slowdown_ack=2.0 if i < 999 else None) for i in range(1000)] + [flow(5_000, 10, slowdown=7.0)] * 10
        lines = self.cells({"runs": [{"cc": "bolt", "fct": stats.fct(flows)}]})
        self.assertEqual(lines[2:5], [["size", "messages", "p50", "p99", "p99.9", "p50", "p99", "p99.9"],
                                      ["<=", "1", "KB", "1000", "500", "990", "999", "2.00", "2.00", "2.00"],
                                      ["1", "KB", "-", "7", "KB", "10", "7.00", "7.00", "-", "-", "-", "-"]])

    def test_a_kind_of_one_size_has_a_row(self):
        runs = []
        for seed in (1, 2, 3):
            flows = [flow(size, 10, slowdown=9.0, kind="workload") for size in (500, 5_000)]
            flows += [flow(100_000, 1000 * seed * n, start=500, slowdown=1.0 * n, kind="incast") for n in (1, 2, 3)]
            runs.append({"cc": "bolt", "seed": seed, "jain": None, "bottleneck": "a-b", "links": [], "flows": flows, "fct": stats.fct(flows)})
        line = next(line for line in sizes.text({"runs": runs[:1]}).splitlines() if "100 KB" in line)
        self.assertEqual(line.split(), ["bolt", "3", "100", "KB", "2.00", "3.00", "3", "us"])
        said = sizes.text({"runs": runs, "spread": runner.spreads(runs)}).splitlines()
        self.assertIn("  incast, 3 seeds: median (min-max): slowdown to last byte", said)
        self.assertTrue(said[-1].endswith("  2.00 (2.00-2.00)  3.00 (3.00-3.00)  6 us (3 us-9 us)"), said[-1])
        runs[0]["flows"][-1]["end_ns"] = None
        self.assertTrue(sizes.text({"runs": runs[:1]}).endswith("  -"))

    def test_nothing_to_tell_apart(self):
        result = {"runs": [{"cc": "bolt", "fct": stats.fct([flow(500, 10, slowdown=1.0)])}]}
        self.assertEqual(sizes.text(result), "")


class Series(unittest.TestCase):
    def test_thinning_keeps_the_peak(self):
        values = [0] * 10_000
        values[6789] = 55
        times, thin = series.thin(list(range(10_000)), values, 100)
        self.assertLessEqual(len(thin), 110)
        self.assertEqual(times[thin.index(55)], 6789)

    def test_throughput(self):
        self.assertEqual(series.throughput([0, 100, 200], [0, 1250, 1250], 100), ([50, 150], [100.0, 0.0]))
        # the last window is left out unless it is whole; slow links keep their digits
        self.assertEqual(series.throughput([0, 40, 80, 120, 160, 200], [0, 1, 2, 3, 4, 5], 100), ([60], [0.2]))
        self.assertEqual(series.throughput([0, 10**9], [0, 5000], 1), ([5 * 10**8], [0.00004]))
        self.assertEqual(series.throughput([], [], 100), ([], []))

    def test_stretches_of_time_have_units(self):
        self.assertEqual([charts.span(ns) for ns in (100, 1600, 16 * 10**6, 2 * 10**9)], ["100 ns", "1.6 us", "16 ms", "2 s"])


class LinkDevice(unittest.TestCase):
    def blob(self, columns, rows, interval=100):
        head = lablink.HEADER.pack(lablink.MAGIC, 2, lablink.HEADER.size, len(columns), 16 * len(columns), len(rows), 5000, interval)
        body = b"".join(lablink.COLUMN.pack(kind, ident) for kind, ident in columns)
        return head + body + b"".join(struct.pack("=QII", *record) for row in rows for record in row)

    def test_columns_are_told_apart(self):
        blob = self.blob([(1, 3), (2, 40)], [[(10, 11, 1), (20, 21, 22)], [(100, 110, 2), (200, 210, 220)]])
        queues, socks = lablink.parse_samples(blob, {3: ("a", "b")})
        times, queue, tx = queues["a", "b"]
        self.assertEqual((list(times), list(queue), list(tx)), ([0, 100], [11, 110], [10, 100]))
        self.assertEqual([list(c) for c in socks[40]], [[0, 100], [21, 210], [20, 200], [22, 220]])

    def test_another_format_is_refused(self):
        with self.assertRaises(RunError):
            lablink.parse_samples(b"\0" * 64, {})

    def test_samples_that_are_cut_short_are_refused(self):
        blob = self.blob([(1, 3)], [[(1, 2, 3)], [(4, 5, 6)]])
        with self.assertRaisesRegex(RunError, "disk full"):
            lablink.parse_samples(blob[:-4], {3: ("a", "b")})

    def test_text(self):
        totals, devices, _ = lablink.parse_text("global state=done trace_hash=0012 max_lateness_ns=0 x=1.5\ndev name=10 id=0 tx_bytes=7\n")
        self.assertEqual((totals["trace_hash"], totals["max_lateness_ns"], totals["x"]), ("0012", 0, 1.5))
        self.assertEqual((devices[0]["name"], devices[0]["tx_bytes"]), ("10", 7))


if __name__ == "__main__":
    unittest.main()
