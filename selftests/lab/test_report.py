# SPDX-License-Identifier: GPL-2.0
"""What report.html is made of; browser_report.py opens it."""

import copy
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import context
from boltlab import charts, plots, report, runner, series, stats

SAMPLE_NS = 100
SAMPLES = 3001
SPIKE = 1234            # the sample at which the queue of the first run is SPIKE_BYTES
SPIKE_BYTES = 654_321
FLOWS = 120             # more than a page of the table


def flow(i, cc, sampled):
    size = 500 * (i % 40 + 1)
    fct = 5000 + 37 * i * (2 if cc == "cubic" else 1)
    unfinished = i == 3
    return {"id": i, "kind": "flow" if i % 2 else "incast", "from": f"s{i % 7}", "to": "r0", "cc": cc, "start_ns": 100 * i,
            "end_ns": None if unfinished else 100 * i + fct, "stopped_ns": None, "bytes": size, "finite": True,
            "fct_ns": None if unfinished else fct, "ideal_ns": 5000, "slowdown": None if unfinished else round(fct / 5000, 6), "slowdown_ack": None if unfinished else round(fct / 4000, 6),
            "retransmits": i % 3, "series": f"{cc}/flow-{i}.csv" if sampled else None}


def write_csv(path, head, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))


def make_run(out, cc, factor, samples=SAMPLES):
    flows = [flow(i, cc, i < 2) for i in range(FLOWS)]
    queue = [(i * SAMPLE_NS, SPIKE_BYTES if i == SPIKE and factor == 1 else factor * 1000 * (i % 50), 1250 // factor * i) for i in range(samples)]
    write_csv(out / cc / "queue-a-b.csv", "time_ns,queue_bytes,tx_bytes", queue)
    for f in flows[:2]:
        write_csv(out / f["series"], "time_ns,cwnd_bytes,acked_bytes,inflight_bytes",
                  [(i * SAMPLE_NS, factor * 1500 * (f["id"] + 1) + i, (600 + 200 * factor + 50 * f["id"]) * i, 0) for i in range(samples)])
    port = {"name": "a-b", "rate_bps": 10**11, "utilization": 0.9, "tx_bytes": 10**6, "drops": factor, "marks": 5,
            "queue_bytes": {"max": 654321 * factor, "mean": 1.5, "p50": 24000, "p99": 49000}, "series": f"{cc}/queue-a-b.csv"}
    idle = port | {"name": "b-a", "utilization": 0.01, "queue_bytes": None, "series": None, "drops": 0}
    return {"cc": cc, "sim_ns": SAMPLE_NS * (samples - 1), "base_rtt_ns": 8000, "wall_s": 1.25, "data_packets": 1000, "trace_hash": "00ff",
            "max_lateness_ns": 0, "softnet_drops": 0, "switch_qdisc": "sfc <&>", "host_qdisc": "pfifo", "bottleneck": "a-b",
            "events": [{"at_ns": 150_000, "do": "set", "flow": None, "command": "tc </script> change"}],
            "links": [port, idle], "flows": flows, "fct": stats.fct(flows) | {"makespan_ns": None, "makespan_over_ideal": None}, "jain": 0.5, "bins_bytes": list(stats.BIN_EDGES),
            "captures": [{"link": "a-b", "file": f"{cc}/capture-a-b.pcapng", "packets": 10, "dropped": factor, "lost": 0}],
            "control": {"src_packets": 7 * factor, "src_bytes": 630, "rejected": {"Old": 2}, "host": {"SrcRx": 7, "Zero": 0}}}


def make_result(out, samples=SAMPLES, name="test"):
    result = {"scenario": name, "about": "a <test>", "seed": 1, "backend": "uml", "slow": 1, "kernel": "6.12", "command": "tools/lab/lab run test.toml",
              "versions": {"lab": "0.1", "sources": "abc"}, "runs": [make_run(out, "cubic", 1, samples), make_run(out, "bolt", 2, samples)]}
    (out / "result.json").write_text(json.dumps(result))
    (out / "scenario.toml").write_text('name = "{{data}}"  # </script>\n')
    return runner.load_result(out)


class Exact(unittest.TestCase):
    def test_a_step_of_the_clock_is_no_fault(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out, samples=30)
        for late, lost, told in ((0, 0, 0), (1, 0, 0), (2, 0, 1), (0, 1, 1)):
            result["runs"][0].update(max_lateness_ns=late, softnet_drops=lost)
            report.write([("test", result, out)], out)
            page = (out / "report.html").read_text()
            self.assertEqual(page.count("not exact"), told, (late, lost))
            self.assertTrue(f"<td>{late} ns</td>" in page, "not among the runs")


class Tables(unittest.TestCase):
    def test_what_did_not_end_is_said_where_it_is_most(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out, samples=30)
        for r in result["runs"]:
            r["flows"] = [f | {"fct_ns": None, "slowdown": None, "slowdown_ack": None} for f in r["flows"]]
            r["fct"] = stats.fct(r["flows"])
        report.write([("test", result, out)], out)
        self.assertIn("<th>unfinished</th>", (out / "report.html").read_text())

    def test_control_messages_of_an_earlier_lab_beside_todays(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        old = make_result(out, samples=30)
        new = copy.deepcopy(old)
        for run in new["runs"]:
            run["control"]["at_hosts"] = {"src_packets": 5}
        for named in ((new, old), (old, new)):
            report.write([(str(n), result, out) for n, result in enumerate(named)], out)
            self.assertRegex((out / "report.html").read_text(), "<td>at hosts src packets</td>.*>5</td>")

    def test_what_is_a_table_itself_has_rows_or_columns(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out, samples=30)
        for run in result["runs"]:
            run["control"]["pfc"] = {"xoff": 7, "xon": 0}
        own = copy.deepcopy(result)
        own["versions"]["modules"] = {"tcp_aimd": "d1"}
        report.write([("test", result, out), ("own", own, out)], out)
        page = (out / "report.html").read_text()
        for part in ("<td>pfc xoff</td><td data-run=0>7</td>", "<th>sources</th><th>modules tcp_aimd</th>", "<td>abc</td><td>d1</td>", "<td>abc</td><td></td>"):
            self.assertIn(part, page)


    def test_a_run_has_one_colour(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out, samples=30)
        report.write([("test", result, out)], out)
        swatches = re.findall(r"data-colour=(\d+)></i>(\w+)", (out / "report.html").read_text())
        self.assertEqual(dict.fromkeys(swatches), {("3", "cubic"): None, ("0", "bolt"): None})


class Many(unittest.TestCase):
    """More flows than colours and dashes tell apart: the median, the greatest and the least of them."""

    def result(self, count):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out)
        for run in result["runs"]:
            for f in run["flows"][2:count]:
                f["series"] = f"{run['cc']}/flow-{f['id']}.csv"
                write_csv(out / f["series"], "time_ns,cwnd_bytes,acked_bytes,inflight_bytes",
                          [(i * SAMPLE_NS, 1000 * f["id"], 100 * f["id"] * i, 0) for i in range(SAMPLES)])
            for f in run["flows"][:count]:
                f.update(start_ns=0, end_ns=None, stopped_ns=None)
        return result, out

    def test_each_as_long_as_they_can_be_told_apart(self):
        result, out = self.result(4)
        made = {c["id"]: c for c in charts.time_charts(charts.runs_of([("test", result, out)]))}
        self.assertEqual(sum(len(t["lines"]) for t in made["rate"]["tables"]), 8)

    def test_all_of_a_run_beyond_that(self):
        result, out = self.result(9)
        result["runs"][0]["flows"][8]["end_ns"] = 200_000
        made = {c["id"]: c for c in charts.time_charts(charts.runs_of([("test", result, out)]))}
        lines = [line for t in made["window"]["tables"] for line in t["lines"]]
        self.assertEqual([line["label"] for line in lines], [f"{cc}, {of} of 9 flows" for cc in ("cubic", "bolt") for of in ("median", "greatest", "least")])
        self.assertEqual((lines[1]["v"][0], lines[1]["v"][-1]), (8000, 7000))       # the greatest has ended
        self.assertEqual((lines[4]["v"][0], lines[4]["v"][-1]), (8000, 8880))
        self.assertIn("CC/flow-N.csv", made["rate"]["note"])
        self.assertEqual(made["window"]["title"], "Congestion windows of the flows")
        shown = {key: lines for key, _, _, lines in plots.views(result, out)}
        self.assertEqual([line[0] for line in shown["rate"]], [line["label"] for line in lines])
        for ccs in ([line[1] for line in shown["rate"]], ["bolt"] * 8):
            self.assertEqual(len(set(plots.styles(ccs))), len(ccs))


class Labelled(unittest.TestCase):
    def test_the_slowdown_axis_has_its_numbers(self):
        """Those of bolt span less than a decade, where a logarithmic axis writes none by itself"""
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        make_result(out, samples=30, name="$x^$")     # a text, and no formula
        subprocess.run([context.TREE / "tools" / "lab" / "lab", "plot", out], check=True, capture_output=True)
        comments = re.findall(r"<!-- (.*?) -->", (out / "slowdown.svg").read_text())
        self.assertIn("FCT slowdown, times the transfer alone", comments)
        self.assertIn("message size, up to", comments)
        self.assertIn("$x^$: CDF of FCT slowdown, all kinds", "".join((out / "cdf.svg").read_text().splitlines()))
        self.assertGreaterEqual(sum(c in ("1", "2", "5", "10") for c in comments), 2, comments)


class Ascii(unittest.TestCase):
    def test_a_locale_and_a_terminal_that_have_no_other_characters(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        make_result(out, samples=30, name="f\u00fcr")
        said = [subprocess.run([context.LAB, what, out], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
                for what in ("show", "plot")]
        self.assertEqual([s.returncode for s in said], [0, 0], said[0].stderr)
        self.assertIn("f\\xfcr: a <test>", said[0].stdout)
        self.assertIn("<title>f\u00fcr: ", (out / "report.html").read_text(encoding="utf-8"))


class Cdf(unittest.TestCase):
    def test_a_line_for_each_congestion_control(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out, samples=30)
        result["runs"] = [r | {"seed": seed} for r in result["runs"] for seed in (1, 2)]
        pyplot, drawn = plots.pictures(), []
        with mock.patch.object(plots, "save", lambda figure, path, _: drawn.append((figure, path.name))):
            plots.cdfs([("", result)], out, pyplot)
            plots.cdfs([("one: ", result), ("two: ", result)], out, pyplot)
            plots.cdfs([("", result | {"runs": [r | {"flows": r["flows"][:1]} for r in result["runs"][:1]]})], out, pyplot)
        self.assertEqual([name for _, name in drawn], ["cdf", "cdf"])       # one message is no distribution
        (axes,), (both,) = (figure.axes for figure, _ in drawn)
        cubic, bolt = axes.lines
        self.assertEqual((axes.get_xscale(), cubic.get_label()), ("log", "cubic: 238 messages, 2 unfinished"))
        self.assertEqual([line.get_color() for line in (cubic, bolt)], [plots.COLOURS[plots.COLOUR_OF[cc]] for cc in ("cubic", "bolt")])
        done = sorted(f["slowdown"] for f in result["runs"][0]["flows"] if f["slowdown"] is not None)
        at = dict(zip(cubic.get_xdata(), cubic.get_ydata()))
        self.assertEqual((len(at), at[done[0]], at[done[59]], at[done[-1]]), (119, round(100 / 119, 3), round(6000 / 119, 3), 100))
        self.assertEqual([line.get_label()[:10] for line in both.lines], ["one: cubic", "one: bolt:", "two: cubic", "two: bolt:"])


class Drawn(unittest.TestCase):
    """What is written in a picture lies in it, and not on other words."""

    def setUp(self):
        self.out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        self.drawn = {}
        self.pyplot = plots.pictures()

    def draw(self, make, *args):
        save = lambda figure, path, _: self.drawn.update({path.name: figure})    # noqa: E731
        with mock.patch.object(plots, "save", save):
            make(*args)

    def boxes(self, figure):
        """[(what, its box)] of legends, labels, titles and what is written beside lines, as saved."""
        figure.tight_layout()
        figure.canvas.draw()
        found = [("figure", figure.bbox)]
        for axes in figure.axes:
            texts = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
            found += [(t.get_text(), t.get_window_extent()) for t in texts if t.get_text()]
            found += [("legend", axes.get_legend().get_window_extent())] if axes.get_legend() else []
        return found

    def check(self, name):
        (_, whole), *found = self.boxes(self.drawn[name])
        for i, (what, box) in enumerate(found):
            self.assertTrue(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1, f"{what} is cut off")
            for other, its in found[:i]:
                self.assertFalse(box.overlaps(its), f"{what} is on {other}")

    def test_seeds_are_a_band(self):
        result = make_result(self.out, samples=30)
        result["runs"] = [dict(r, cc=cc, seed=seed) for cc in ("bolt", "swift", "dctcp", "cubic") for r in result["runs"][:1] for seed in (1, 2, 3)]
        for r, factor in zip(result["runs"], (1, 2, 6)):
            r["fct"] = r["fct"] | {"bins": [b | {"p99": factor * b["p99"]} for b in r["fct"]["bins"]]}
        result["seeds"] = [1, 2, 3, 4, 5]       # of which two have not run
        self.draw(plots.slowdowns, result, self.out, self.pyplot)
        axes, = self.drawn["slowdown"].axes
        self.assertEqual([line.get_label() for line in axes.lines][:3], ["bolt, p99", "bolt, p50", "swift, p99"])
        self.assertEqual(len(axes.lines), 8)
        bins = make_result(self.out, samples=30)["runs"][0]["fct"]["bins"]
        self.assertEqual(list(axes.lines[0].get_ydata()), [2 * b["p99"] for b in bins])
        (_, low), (_, high) = axes.collections[0].get_paths()[0].get_extents().get_points()
        self.assertEqual((round(low, 6), round(high, 6)), (min(b["p99"] for b in bins), round(6 * max(b["p99"] for b in bins), 6)))
        self.assertIn("median and range of 3 seeds", axes.get_title())
        self.check("slowdown")
        for r, lost in zip(result["runs"], (0, 1, 2)):      # bins from the largest on
            for b in r["fct"]["bins"][len(bins) - lost:]:
                b.update(p99=None, unfinished=1)
        self.draw(plots.slowdowns, result, self.out, self.pyplot)
        axes, = self.drawn["slowdown"].axes
        self.assertEqual([len(line.get_xdata()) for line in axes.lines], [len(bins) - 1, *[len(bins)] * 7])
        shaded = axes.collections[0].get_paths()[0].get_extents()
        self.assertEqual((shaded.x0, shaded.x1), tuple(axes.lines[0].get_xdata()[[0, -1]]))     # the last of them has a seed without an end
        self.check("slowdown")

    def test_rates_of_several_directories(self):
        named = []
        for name in ("one", "two"):
            out = self.out / name
            out.mkdir()
            named.append((name, make_result(out), out))
        self.draw(plots.compare, named, self.out)
        for name in self.drawn:
            self.check(name)

    def test_many_directories_have_a_legend(self):
        result = make_result(self.out, samples=30)
        self.draw(plots.compare, [(f"load-{i}", result, self.out) for i in range(7)], self.out)
        axes, = self.drawn["queue"].axes
        self.assertEqual(len(axes.get_legend().get_texts()), 7 * len(result["runs"]))
        self.check("queue")

    def test_what_happens_beyond_the_run_is_no_mark(self):
        result = make_result(self.out)
        result["runs"] = [r | {"events": [r["events"][0] | {"at_ns": at} for at in (-10**9, 0, r["sim_ns"], 10**9)], "flows": []} for r in result["runs"]]
        self.assertEqual([t for t, _ in plots.marks(result)], [0, result["runs"][0]["sim_ns"] / 1000])

    def test_many_flows_are_titled_as_what_is_drawn(self):
        result = make_result(self.out, samples=300)
        for r in result["runs"]:
            r["flows"] = [f | {"series": f"{r['cc']}/flow-{f['id'] % 2}.csv", "start_ns": 0} for f in r["flows"][:9]]
        self.assertEqual({key: title for key, title, *_ in plots.views(result, self.out) if key in ("rate", "window")},
                         {"rate": "What the flows get (acknowledged)", "window": "Congestion windows of the flows"})

    def test_flows_that_start_close_together(self):
        result = make_result(self.out)
        for r in result["runs"]:
            r["events"] = []
            r["flows"] = [f | {"kind": "flow", "start_ns": 20_000 * (1 + f["id"])} for f in r["flows"][:9]]
        self.draw(plots.make, result, self.out)
        for name in self.drawn:
            self.check(name)
        texts = {t.get_text() for t in self.drawn["queue"].axes[0].texts}
        self.assertLessEqual({"flow 0 starts", "flow 1 starts", "flow 7 starts"}, texts)


class Named(unittest.TestCase):
    def test_as_long_as_tells_them_apart(self):
        for paths, said in (("/x/a /x/b", ["a", "b"]), ("/x/before/join /x/after/join /x/new", ["before/join", "after/join", "x/new"]), ("/join /old/join", ["/join", "old/join"]),
                            ("/x/a /x/a", ["a", "a"]), ("/x/a", ["a"])):
            self.assertEqual(runner.names([Path(p) for p in paths.split()]), said)

    def test_in_report_and_baseline(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        old, new = out / "old" / "join", out / "new" / "join"
        for place in (old, new):
            place.mkdir(parents=True)
            make_result(place, samples=30)
        with mock.patch.multiple(plots, make=mock.DEFAULT, compare=mock.DEFAULT), mock.patch.object(report, "write") as written:
            for more in (["--baseline", old], [old, "--out", out / "both"]):
                self.assertEqual(context.lab("plot", new, *more).returncode, 0)
        (one, _, (base, *_)), (both, _, _) = (call.args for call in written.call_args_list)
        self.assertEqual(([name for name, *_ in one], base, [name for name, *_ in both]), (["new/join"], "old/join", ["new/join", "old/join"]))


class OfAnotherVersion(unittest.TestCase):
    """It is named, and not what it is shown with."""

    def setUp(self):
        self.out, self.old = (Path(tempfile.mkdtemp(prefix="lab-test-")) for _ in range(2))
        self.result = make_result(self.out, samples=30)

    def refused(self, *args):
        said = context.lab("plot", *args)
        self.assertEqual((said.returncode, len(said.stderr.splitlines())), (1, 1), said.stderr)
        self.assertTrue(said.stderr.startswith(f"lab: {self.old / 'result.json'}: was written by another version of the lab"), said.stderr)

    def test_with_a_port_and_as_a_baseline(self):
        make_result(self.old, samples=30)
        for missing in ("links", "fct"):
            runs = [{k: v for k, v in r.items() if k != missing} for r in self.result["runs"]]
            (self.old / "result.json").write_text(json.dumps(self.result | {"runs": runs}))
            self.refused(self.out, "--baseline", self.old)
            self.refused(self.out, self.out, "--baseline", self.old, "--out", self.out / "both")
            if missing == "links":
                self.refused(self.old, "--port", "a-b")
                self.refused(self.old, self.out, "--out", self.out / "both", "--port", "a-b")

    def test_the_head_has_every_seed(self):
        for seeds, said in (([1], "seed 1"), ([3, 5], "seeds 3, 5"), (list(range(1, 25)), "seeds 1 to 24")):
            result = self.result | {"seed": seeds[0], "seeds": seeds}
            self.assertIn(f" on Linux 6.12, {said}. ", report.header([("test", result, self.out)]))
            self.assertIn(f"<td>{said.split(' ', 1)[1]}</td>", report.header([("test", result, self.out)] * 2))


class Levels(unittest.TestCase):
    def setUp(self):
        self.out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        self.result = make_result(self.out, samples=30)

    def test_bdp(self):
        self.assertEqual(plots.bdp_levels(self.result), [(100, "BDP")])     # 100 Gb/s, 8 us
        self.assertEqual(charts.bdp_of(charts.runs_of([("test", self.result, self.out)])), 100_000)

    def test_lines_are_of_their_percentile(self):
        runs = charts.runs_of([("test", self.result, self.out)])
        for b in runs[0].entry["fct"]["bins"]:
            b.update(p99=99, p95=95, p50=50)
        sizes = next(c for c in charts.completion_charts(runs) if c["id"] == "sizes")
        self.assertEqual({line["label"]: line["v"][0] for t in sizes["tables"] for line in t["lines"] if line["label"].startswith("cubic")},
                         {"cubic, 99 %": 99, "cubic, 95 %": 95, "cubic, median": 50})

    def test_the_longer_queue_is_the_bottleneck_of_ports_equally_busy(self):
        run = self.result["runs"][0]
        port = run["links"][0]
        run["links"] = [port | {"name": name, "utilization": used, "queue_bytes": port["queue_bytes"] | {"max": most}}
                        for name, used, most in (("s0-a", 0.992, 1000), ("a-b", 0.991, 5000), ("b-r0", 0.97, 9000))]
        self.assertEqual(plots.queue_port(run), "a-b")


class Styles(unittest.TestCase):
    def test_a_congestion_control_keeps_its_colour(self):
        self.assertEqual(plots.styles(["dctcp", "bolt"]), [(2, 0), (0, 0)])
        self.assertEqual(plots.styles(["bolt", "dctcp", "bolt"]), [(0, 0), (2, 0), (0, 1)])

    def test_others_have_colours_of_their_own(self):
        self.assertEqual(plots.styles(["vegas", "bolt", "westwood", "vegas"]), [(6, 0), (0, 0), (7, 0), (6, 1)])
        # then those of the ones that are not there
        self.assertEqual(plots.styles(["swift", "a", "b", "c", "bolt", "d"]), [(1, 0), (6, 0), (7, 0), (2, 0), (0, 0), (3, 0)])
        self.assertEqual(len({colour for colour, _ in plots.styles(list("abcdefgh"))}), 8)
        self.assertEqual([one for one in plots.styles(list("abcdefghi"))[::8]], [(6, 0), (6, 1)])

    def test_slowdowns_of_two_others_are_told_apart(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out, samples=30)
        for r, cc in zip(result["runs"], ("mine", "other")):
            r["cc"] = cc
        drawn = []
        with mock.patch.object(plots, "save", lambda figure, *_: drawn.append(figure)):
            plots.slowdowns(result, out, plots.pictures())
        lines = drawn[0].axes[0].lines
        self.assertEqual([line.get_label() for line in lines], ["mine, p99", "mine, p50", "other, p99", "other, p50"])
        self.assertEqual(len({(line.get_color(), line.get_linestyle()) for line in lines}), 4)

    def test_of_one_congestion_control_by_run(self):
        self.assertEqual(plots.styles(["bolt"] * 8), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)])


class Thinned(unittest.TestCase):
    """A long series opens quickly and keeps its peaks; the page says what was left out."""

    def test_least_and_greatest_stay(self):
        values = [i % 1000 for i in range(100_000)]
        values[54321], values[54399] = 10**6, -5
        times = range(0, 100_000 * 10, 10)
        width = series.stretch(len(values), 1000)
        t, v = series.thin_even(times, values, width)
        self.assertLessEqual(len(v), 1000)
        self.assertEqual((max(v), min(v)), (10**6, -5))
        self.assertEqual(list(t), sorted(set(t)))
        for t_one, v_one in zip(t, v):
            first = t_one // 10 // width * width
            self.assertIn(v_one, values[first:first + width])

    def test_a_short_series_stays_as_it_is(self):
        self.assertEqual(series.stretch(1000, 1000), 1)
        self.assertEqual(series.thin_even([0, 1], [5, 6], 1), ([0, 1], [5, 6]))

    def test_the_page_says_so(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        result = make_result(out, 2 * charts.LINE_POINTS)
        made = charts.time_charts(charts.runs_of([("test", result, out)]))
        queue = next(c for c in made if c["id"] == "queue")
        self.assertIn("of each 4 samples (400 ns) the smallest and the largest", queue["note"])
        for table in queue["tables"]:
            for line in table["lines"]:
                self.assertLessEqual(len(line["v"]), charts.LINE_POINTS)
        self.assertEqual(max(queue["tables"][0]["lines"][0]["v"]), SPIKE_BYTES)
        whole = charts.time_charts(charts.runs_of([("test", make_result(out), out)]))
        self.assertEqual(next(c for c in whole if c["id"] == "queue")["note"], "All samples are shown, one every 100 ns.")

    def test_thousands_of_flows_stay_columns(self):
        run = charts.Run("x", {"links": [], "flows": [flow(i, "x", False) for i in range(5000)], "bottleneck": None}, {}, None)
        self.assertLess(len(json.dumps(report.flow_columns(run), separators=(",", ":"))), 5000 * 80)


if __name__ == "__main__":
    unittest.main()
