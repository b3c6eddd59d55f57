# SPDX-License-Identifier: GPL-2.0
"""The summary as text: each column is of what its heading says."""

import contextlib
import csv
import io
import json
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import build, compare, plots, report, runner, show, slowdown, stats
from boltlab.guest import RunError
from test_report import make_result, make_run


def cells(result):
    """{congestion control: {heading: text}} of the table, whose columns are as wide as the line below the headings."""
    first, second, rule, *rows = show.table(result).splitlines()
    ends, pos = [], 0
    for part in rule.split("  ")[1:]:
        ends.append((pos, pos + 2 + len(part)))
        pos += 2 + len(part)

    def cut(line):
        return [line[begin:end].strip() for begin, end in ends]

    heads = [" ".join(both).strip() for both in zip(cut(first), cut(second))]
    return {cut(row)[0]: dict(zip(heads, cut(row))) for row in rows}


class Table(unittest.TestCase):
    def setUp(self):
        self.result = make_result(Path(tempfile.mkdtemp(prefix="lab-test-")))
        for r in self.result["runs"]:
            r["flows"] = [f for f in r["flows"] if f["end_ns"] is not None]
            r["fct"]["makespan_over_ideal"] = 1.25
            r["links"][0].update(utilization=0.99)

    def test_headings(self):
        self.assertEqual(list(cells(self.result)["bolt"]), [
            "congestion control", "max queue", "max queue / link rate", "p50 queue", "p99 queue", "utilization", "drops",
            "retransmits", "max FCT", "makespan / ideal"])

    def test_the_delay_is_what_the_link_takes_for_the_queue(self):
        self.assertEqual(plots.drain_us(12_500, 10**11), 1)

    def test_the_queue_while_busy_where_the_link_is_idle_for_some_time(self):
        self.result["runs"][0]["links"][0].update(utilization=0.8, queue_bytes={"max": 9000, "mean": 1, "p50": 0, "p99": 8000, "busy_p50": 2000, "busy_p99": 8500})
        row = cells(self.result)["cubic"]
        self.assertEqual((row["p50 queue"], row["p50 queue while busy"], row["p99 queue while busy"]), ("0.0 KB", "2.0 KB", "8.5 KB"))
        self.assertEqual(cells(self.result)["bolt"]["p50 queue while busy"], "-")

    def test_idle_while_messages_wait_where_the_link_is_idle_for_some_time(self):
        for r, idle in zip(self.result["runs"], (0.063, None)):
            r["links"][0].update(backlogged=idle and {"ns": 1000, "idle": idle})
        self.assertNotIn("idle while backlogged", cells(self.result)["cubic"])
        self.result["runs"][0]["links"][0].update(utilization=0.8)
        self.assertEqual({cc: row["idle while backlogged"] for cc, row in cells(self.result).items()}, {"cubic": "6.3 %", "bolt": "-"})

    def test_the_maximum_is_not_of_the_flow_that_ended_last(self):
        for r in self.result["runs"]:
            r["fct"]["unfinished"] = 0
            r["flows"][0].update(fct_ns=2_852_000, end_ns=2_852_000)
            r["flows"][1].update(start_ns=2_900_000, fct_ns=16_300, end_ns=2_916_300)
        self.assertEqual({cc: row["max FCT"] for cc, row in cells(self.result).items()}, {"cubic": "2852.0 us", "bolt": "2852.0 us"})

    def test_what_did_not_end_has_no_maximum(self):
        self.result["runs"][0]["fct"]["unfinished"] = 1
        self.assertEqual(cells(self.result)["cubic"]["max FCT"], "1 unfinished")


def fabric(out):
    """The longest queue of bolt is at a port that is hardly used."""
    result = make_result(out, samples=300)
    for r in result["runs"]:
        queue = r["links"][0]["queue_bytes"]
        queue.update(busy_p50=0, busy_p99=0)
        r["links"] += [r["links"][0] | {"name": "a-h0", "utilization": 0.1, "queue_bytes": queue | {"max": 9_000_000 if r["cc"] == "bolt" else 5}, "series": None}]
    (out / "result.json").write_text(json.dumps(result))
    return result


class Port(unittest.TestCase):
    """Queue and utilization are of one port, which is named, and so is where a queue was longer."""

    def setUp(self):
        self.out = Path(tempfile.mkdtemp(prefix="lab-test-"))

    def test_the_one_of_all_runs(self):
        self.assertEqual(show.ports(plots.headline(make_result(self.out, samples=30))), ["  Queue and utilization are those of port a-b."])

    def test_a_longer_queue_elsewhere(self):
        self.assertEqual([line.split() for line in show.ports(plots.headline(fabric(self.out)))[0].splitlines()[1:]], [
            ["port", "longest", "queue", "of", "any", "port"], ["cubic", "a-b", "654.3", "KB", "at", "a-b"], ["bolt", "a-b", "9.00", "MB", "at", "a-h0"]])
        report.write([("test", runner.load_result(self.out), self.out)], self.out)
        page = (self.out / "report.html").read_text()
        self.assertIn("<th>longest queue of any port</th>", page)
        self.assertIn("<td>9.00 MB at a-h0</td>", page)

    def test_a_longer_queue_where_not_all_ports_are_sampled(self):
        result = fabric(self.out)
        for r in result["runs"]:
            r["queues"] = {"ports": 128, "sampled": 64}
        rows = plots.headline(result)
        few = "longest queue of any sampled port (64 of 128)"
        self.assertIn(few, show.ports(rows)[0])
        self.assertIn(f"| {few} | |", slowdown.markdown(result))
        self.assertIn(few, [name for name, *_ in compare.figures(result)["bolt"].values()])

    def test_of_seeds(self):
        result = fabric(self.out)
        result["runs"] = [result["runs"][1] | {"seed": seed} for seed in (1, 2)]
        result["runs"][1]["links"] = [p | {"name": p["name"].replace("b", "c")} for p in result["runs"][1]["links"]]
        self.assertIn("\n| longest queue of any port | | 9000 KB | 9000 KB |\n", slowdown.markdown(result))
        self.assertTrue(slowdown.markdown(result).endswith("\n\nQueue and utilization are those of port a-b or a-c, the busiest of each run."), slowdown.markdown(result))

    def test_seeds_that_gave_the_same_run(self):
        result = make_result(self.out, samples=30)
        result["runs"] = [r | {"seed": seed} for r in result["runs"] for seed in (1, 2, 3)]
        said = ": seeds 1, 2, 3 gave the same run: nothing in this scenario is random; vary `start`, or use [workload]"
        self.assertEqual(show.alike(result), [f"  cubic, bolt{said}"])
        result["runs"][1]["trace_hash"] = "11"
        self.assertEqual(show.alike(result), [f"  bolt{said}"])
        result["runs"] = result["runs"][:2] + [r | {"trace_hash": None} for r in result["runs"][3:]]
        self.assertEqual(show.alike(result), [])

    def test_another_on_request(self):
        fabric(self.out)
        said = context.lab("show", self.out, "--port", "a-h0").stdout
        self.assertIn("those of port a-h0;", said)
        self.assertRegex(said, r"\n  bolt +9\.00 MB ")
        self.assertRegex(context.lab("compare", self.out, self.out, "--port", "a-h0").stdout, r"\n  port +a-h0 +a-h0 +none\n  max queue +0\.0 KB")
        self.assertIn("\n| max queue | | 0 KB | 9000 KB |\n", context.lab("slowdown", self.out, "--port", "a-h0").stdout)
        self.assertEqual(context.lab("plot", self.out, "--port", "a-b").returncode, 0)
        self.assertIn("Queue of port a-b", (self.out / "queue.svg").read_text())
        page = (self.out / "report.html").read_text()
        self.assertEqual(("; thick: port a-b." in page, "port a-b&#x27;s queue is " in page, "the bottleneck" in page), (True, True, False))
        for what, port in (("show", "a-x"), ("plot", "a-h0")):     # which has no series
            said = context.lab(what, self.out, "--port", port)
            self.assertEqual((said.returncode, said.stderr[:len(f"lab: {self.out}: --port {port}: ")]), (1, f"lab: {self.out}: --port {port}: "))
            self.assertIn("a-b", said.stderr.split(port)[1])


class Endless(unittest.TestCase):
    def setUp(self):
        self.result = make_result(Path(tempfile.mkdtemp(prefix="lab-test-")), samples=30)
        for r in self.result["runs"]:
            r["flows"] = [r["flows"][i] | {"cc": cc, "finite": False, "end_ns": None, "fct_ns": None, "slowdown": None, "start_ns": start, "bytes": 625}
                          for i, (cc, start) in enumerate(((r["cc"], 0), ("reno", r["sim_ns"] - 500)))]
            r["fct"] = stats.fct([]) | {"makespan_over_ideal": None}

    def test_what_flows_get_and_how_evenly(self):
        self.assertEqual(cells(self.result)["bolt"]["Jain's index"], "0.667")
        self.assertEqual(show.goodput(self.result)[1], "  bolt: goodput: flow 0 1.72 Gb/s; flow 1 (reno) 10.0 Gb/s")
        message = self.result["runs"][1]["flows"][0] | {"finite": True, "end_ns": 10, "bytes": 10**6}
        self.result["runs"][1]["flows"].append(message)
        self.assertEqual(cells(self.result)["bolt"]["Jain's index"], "0.667")
        self.result["runs"][0]["flows"][1].update(finite=True)
        self.assertNotIn("flow 1", show.goodput(self.result)[0])
        self.result["runs"].pop()
        self.assertNotIn("Jain's index", cells(self.result)["cubic"])

    def test_of_many_by_congestion_control(self):
        flows = self.result["runs"][1]["flows"]
        flows += [f | {"id": i, "cc": "reno", "bytes": 125} for i, f in enumerate(flows[:1] * 15, 2)]
        self.assertEqual(show.goodput(self.result)[1], "  bolt: goodput: 1 flow by bolt 1.72 Gb/s; 16 flows by reno, mean 0.95 Gb/s (0.34 to 10.0)")

    def test_one_that_started_at_the_end(self):
        self.result["runs"][1]["flows"][1]["start_ns"] = self.result["runs"][1]["sim_ns"]
        self.assertNotIn("flow 1", show.goodput(self.result)[1])


class Foreign(unittest.TestCase):
    """A result that is not, or is of another version: shown, or refused in a line."""

    def shown(self, out, data):
        (out / "result.json").write_bytes(data)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                show.main([out])
            return None
        except build.RunError as e:
            self.assertNotIn("\n", str(e))
            self.assertIn("result.json: ", str(e))
            return str(e)
        except Exception as e:  # pylint: disable=broad-except # what a user would see as a traceback
            self.fail(f"{data[:60]}: {e!r}")

    def test_what_is_no_result(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        for data in (b"", b"\xff", b"[" * 100_000, b"null", b"[]", b"1e400", b'{"runs": "x", "scenario": 1}', b'{"runs": [1]}', b'{"runs": [{"cc": 1}], "scenario": 1}'):
            self.assertIsNotNone(self.shown(out, data), data)

    def test_any_value(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        make_result(out, samples=30)
        result = json.loads((out / "result.json").read_text())
        result["runs"] = result["runs"][:1]
        run = result["runs"][0]
        run["flows"], said = run["flows"][:2], []
        for table in (result, run, run["links"][0], run["links"][0]["queue_bytes"], run["flows"][1], run["fct"]):
            for key, was in list(table.items()):
                for value in (None, "x", -1, 0, float("nan"), float("inf"), 10**400, [], {}):
                    table[key] = value
                    said.append(self.shown(out, json.dumps(result).encode()))
                table[key] = was
        self.assertTrue(0 < said.count(None) < len(said))


class Whole(unittest.TestCase):
    def test_round_trips_of_a_hundred(self):
        run = {"cc": "bolt", "fct": {"rtt_ns": {"count": 100, "p50": 8100, "p99": 9900}}}
        self.assertEqual(show.round_trips({"runs": [run, {"cc": "x", "fct": {"rtt_ns": run["fct"]["rtt_ns"] | {"count": 99}}}]}),
                         ["  bolt: round trips of messages of one packet: p50 8.1 us, p99 9.9 us"])

    def test_fairness_by_epoch(self):
        result = make_result(Path(tempfile.mkdtemp(prefix="lab-test-")))
        result["runs"][1]["jain_epochs"] = [{"epoch_ns": 200_000, "count": 30, "min": 0.95, "min_at_ns": 3_000_000, "p50": 0.99999},
                                            {"epoch_ns": 10**7, "count": 0, "min": None, "min_at_ns": None, "p50": None}]
        self.assertEqual(show.fairness(result), ["  bolt: Jain's index over any 200 us: min 0.9500 (from 3 ms on), p50 1.0000"])


def entry(cc, *bins):
    """Two percentiles a bin, each of three seeds but the last, of all messages"""
    sized = [{"above_bytes": low, "max_bytes": {"median": high, "min": high, "max": high}, "count": 5,
              "p50": 9, "p99": 9, "ack": {"p999": None} | {p: {"median": v, "min": 0, "max": 99} for p, v in zip(("p50", "p99", "p999"), of)}}
             for low, high, of in bins]
    return {"cc": cc, "seeds": [1, 2, 3],
            "fct": {"bins": sized, "count": 10, "unfinished": 0, "p50": 9, "p99": 9, "ack": {"p50": 1.26, "p99": 120.4, "p999": 150.0}}}


class Slowdown(unittest.TestCase):
    def setUp(self):
        runs = [make_run(Path(tempfile.mkdtemp(prefix="lab-test-")), cc, 1) for cc in ("bolt", "bolt", "bolt", "swift")]
        for r, kb in zip(runs, (120, 151.4, 400)):
            r["links"][0]["queue_bytes"] |= {"max": 3000 * kb, "busy_p50": 100 * kb, "busy_p99": 1000 * kb}
            r["links"][0]["utilization"] = 0.6 + kb / 1000
            r["links"][1]["drops"] = kb // 100      # of another port
        runs[1]["flows"][0]["retransmits"] = 7
        runs[2]["flows"][0]["retransmits"] = 9
        runs[3]["links"][0]["queue_bytes"] = None
        self.result = {"scenario": "fct", "runs": runs, "spread": [
            entry("bolt", (0, 1000, (1.14, 2.5)), (1000, 7000, (1.2, 3))),
            entry("swift", (0, 1000, (2, 4)))]}

    def test_markdown_has_the_medians_of_what_all_have(self):
        self.assertEqual(slowdown.markdown(self.result).splitlines(), [
            "| message size | messages | bolt | swift |", "|---|---|---|---|",
            "| <= 1 KB | 5 | 1.1 / 2.5 | 2.0 / 4.0 |", "| all | 10 | 1.3 / 120 | 1.3 / 120 |",
            "| max queue | | 454 KB | - |", "| p50 queue while busy | | 15 KB | - |", "| p99 queue while busy | | 151 KB | - |",
            "| utilization | | 75.1 % | 90.0 % |", "| drops | | 2 | 1 |", "| retransmits | | 127 | 120 |",
            "", "Queue and utilization are those of port a-b."])

    def test_the_largest_messages_have_a_row_where_the_largest_did_not_end_with_all(self):
        self.result["spread"][1] = entry("swift", (0, 1000, (2, 4)), (1000, 6000, (5, 6)))
        self.assertIn("| 1 KB - 7 KB | 5 | 1.2 / 3.0 | 5.0 / 6.0 |", slowdown.markdown(self.result).splitlines())

    def test_bounds_are_of_the_messages_that_did_not_end_as_well(self):
        done = {"kind": "workload", "finite": True, "bytes": 500, "size_bytes": 500, "fct_ns": 10, "slowdown": 2.0, "slowdown_ack": 2.0}
        lost = dict.fromkeys(("fct_ns", "slowdown", "slowdown_ack"))
        for ends in ([{}, lost], [lost, {}]):
            flows = [done | end | {"slowdown_fair": fair} for end, fair in zip(ends, (1.5, 3.0))]
            (cc, rows, _), (bound, of, _) = slowdown.curves({"runs": [self.result["runs"][0] | {"fct": stats.fct(flows)}]})
            self.assertEqual((cc, rows[0][2], bound, of[0][2]), ("bolt", {"p50": 2.0, "p99": None}, "fair sharing", {"p50": 1.5, "p99": 3.0}))
            self.assertIn("<polyline", slowdown.svg([(cc, rows, 1)], ""))

    def test_of_several_kinds_the_sizes_are_of_the_workload(self):
        for e in self.result["spread"]:
            e["fct"]["kinds"] = {"incast": entry("", (0, 1000, (7, 8)))["fct"] | {"count": 3}, "workload": e["fct"] | {"unfinished": 0}}
            e["fct"] = e["fct"] | {"unfinished": 2, "count": 99}
        said = slowdown.markdown(self.result)
        self.assertTrue(said.startswith("| message size, workload | messages | bolt | swift |\n"), said)
        self.assertIn("\n| all | 10 | 1.3 / 120 | 1.3 / 120 |\n| incast, all | 3 | 1.3 / 120 | 1.3 / 120 |\n| not finished | | 2 | 2 |\n", said)

    def test_p999_is_a_dash_where_messages_are_few(self):
        self.result["spread"][0] = entry("bolt", (0, 1000, (1.14, 2.5, 8)))
        self.assertEqual(slowdown.markdown(self.result, stats.PERCENTILES).splitlines()[2:4],
                         ["| <= 1 KB | 5 | 1.1 / 2.5 / 8.0 | 2.0 / 4.0 / - |", "| all | 10 | 1.3 / 120 / 150 | 1.3 / 120 / 150 |"])

    def test_what_did_not_end_has_a_row(self):
        self.result["spread"][0]["fct"]["unfinished"] = {"median": 0, "min": 0, "max": 3}
        self.assertIn("| not finished | | 3 | 0 |", slowdown.markdown(self.result).splitlines())

    def test_a_picture_of_nothing(self):
        for e in self.result["spread"]:
            e["fct"]["bins"] = []
        with self.assertRaisesRegex(RunError, "no message ended"):
            slowdown.svg(slowdown.curves(self.result), "slowdown")

    def test_messages_that_start_earlier_are_left_out(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        make_result(out, samples=300)
        said = context.lab("slowdown", out, "--from", "5us", "--until", "11us").stdout
        self.assertIn("\n| all | 60 |", said)
        self.assertTrue(said.endswith("\n\nFrom 5 us to 11 us of 29.9 us; messages left out: cubic 60 of 120, bolt 60 of 120.\n"), said)
        self.assertNotIn("| not finished", said)        # which started at 300 ns
        said = context.lab("compare", out, out, "--from", "5us").stdout
        self.assertIn(": 5 us to the end of 29.9 us; messages left out: cubic 50 of 120, bolt 50 of 120\n", said)
        self.assertRegex(said, r"\n  unfinished +0 +0 +none\n")

    def test_a_row_for_each_message(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out, samples=300)
        for r in result["runs"]:
            r["seed"] = 7
            r["flows"] = [f | {"size_bytes": f["bytes"] if f["finite"] else None, "bytes": f["bytes"] if f["fct_ns"] else 1} for f in r["flows"]]
            r["flows"][4].update(finite=False, fct_ns=None, slowdown=None, slowdown_ack=None)
            r["flows"][0]["cc"] = "reno"        # one of a scenario's own
        del result["runs"][1]["flows"][3]["size_bytes"], result["runs"][1]["flows"][2]["size_bytes"]
        (out / "result.json").write_text(json.dumps(result))
        self.assertEqual(context.lab("slowdown", out, "--csv", out / "all.csv").returncode, 0)
        with open(out / "all.csv", newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([(r["run"], r["id"]) for r in rows], [(cc, str(i)) for cc in ("cubic", "bolt") for i in range(120) if i != 4])
        self.assertEqual([r["cc"] for r in rows if r["id"] == "0"], ["reno", "reno"])
        self.assertEqual(rows[2], {
            "run": "cubic", "cc": "cubic", "seed": "7", "id": "2", "kind": "incast", "src": "s2", "dst": "r0", "start_ns": "200", "size_bytes": "1500", "fct_ns": "5148", "ideal_ns": "5000",
            "slowdown": "1.0296", "slowdown_ack": "1.287", "retransmits": "2", "unfinished": "0"})
        self.assertEqual([rows[3][k] for k in ("size_bytes", "fct_ns", "slowdown", "slowdown_ack", "unfinished")], ["2000", "", "", "", "1"])
        self.assertEqual([rows[i]["size_bytes"] for i in (121, 122)], ["1500", ""])       # an earlier lab's
        for r in result["runs"]:
            for f in r["flows"]:
                f.update(fct_ns=None, slowdown=None, slowdown_ack=None)
            for part in (r["fct"], *r["fct"]["bins"]):
                part["ack"] = dict.fromkeys(("mean", "p50", "p95", "p99"))
        (out / "result.json").write_text(json.dumps(result))
        said = context.lab("slowdown", out, "--p999", "--csv", out / "none.csv", "--svg", out / "none.svg")
        self.assertEqual((said.returncode, "| all |" in said.stdout, "no message ended" in said.stderr), (1, True, True))
        self.assertTrue((out / "none.csv").exists())
        said = context.lab("slowdown", out, "--csv", out / "no" / "all.csv")
        self.assertEqual((said.returncode, said.stderr), (1, f"lab: {out}/no/all.csv: No such file or directory\n"))

    def test_svg_has_a_line_for_each_percentile(self):
        text = slowdown.svg(slowdown.curves(self.result), "a <b> & c")
        self.assertEqual(text.count("a &lt;b&gt; &amp; c<"), 2)
        self.assertEqual(text.count("<polyline"), 4)
        self.assertIn(">bolt p99<", text)
        # slowdown 1 is the lower edge, and what is larger is above it
        low = slowdown.HEIGHT - slowdown.BOTTOM
        for points in (p.split('"')[0] for p in text.split('points="')[1:]):
            for point in points.split():
                self.assertLess(float(point.split(",")[1]), low)


if __name__ == "__main__":
    unittest.main()
