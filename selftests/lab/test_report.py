# SPDX-License-Identifier: GPL-2.0
"""report.html in a headless Chromium: it opens from disk without a word on the console, its charts are drawn, runs come
and go, zoom moves every chart in time, and the tables hold what result.json holds."""

import base64
import csv
import json
import os
import re
import struct
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import context
from boltlab import charts, plots, report, runner, series, stats

PROBE = Path(__file__).with_name("report_probe.js")
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
            "links": [port, idle], "flows": flows, "fct": stats.fct(flows) | {"makespan_ns": None, "makespan_over_ideal": None}, "jain": 0.5,
            "captures": [{"link": "a-b", "file": f"{cc}/capture-a-b.pcapng", "packets": 10, "dropped": factor, "lost": 0}],
            "control": {"src_packets": 7 * factor, "src_bytes": 630, "rejected": {"Old": 2}, "host": {"SrcRx": 7, "Zero": 0}}}


def make_result(out, samples=SAMPLES, name="test"):
    result = {"scenario": name, "about": "a <test>", "seed": 1, "backend": "uml", "slow": 1, "kernel": "6.12", "command": "tools/lab/lab run test.toml",
              "versions": {"lab": "0.1", "sources": "abc"}, "runs": [make_run(out, "cubic", 1, samples), make_run(out, "bolt", 2, samples)]}
    (out / "result.json").write_text(json.dumps(result))
    (out / "scenario.toml").write_text('name = "{{data}}"  # </script>\n')
    return runner.load_result(out)


def browse(page, script, window="1200,900", scheme="light"):
    """What `script` (its promise's value) says in the page; and that the console stayed empty."""
    home = tempfile.mkdtemp(prefix="lab-test-browser-")
    probe = Path(home) / "probe.html"
    probe.write_text(page.read_text().replace("</body>", f"""<pre id=verdict></pre><script>
(async () => {{ {PROBE.read_text()}; {script} }})().catch(e => ({{ error: String(e.stack || e) }})).then(v => {{
document.getElementById("verdict").textContent = "<<" + btoa(unescape(encodeURIComponent(JSON.stringify(v)))) + ">>"; }});
</script></body>"""))
    command = ["chromium", "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", f"--user-data-dir={home}/profile",
               "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND", f"--window-size={window}", "--virtual-time-budget=20000",
               f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run([*command, "--dump-dom", probe.as_uri()], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=300, env=os.environ | {"HOME": home})
    found = re.search(r"&lt;&lt;([A-Za-z0-9+/=]+)&gt;&gt;", done.stdout)
    if not found:
        raise AssertionError(f"chromium said nothing: {done.stderr[-2000:]}")
    verdict = json.loads(base64.b64decode(found[1]))
    if isinstance(verdict, dict) and "error" in verdict:
        raise AssertionError(verdict["error"])
    return verdict, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


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


class Page(unittest.TestCase):
    """One browser, one page, everything a reader does."""

    @classmethod
    def setUpClass(cls):
        cls.out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        cls.result = make_result(cls.out)
        report.write([("test", cls.result, cls.out)], cls.out)
        cls.page = cls.out / "report.html"
        cls.seen, cls.console = browse(cls.page, "return await everything();")

    def test_the_console_is_silent(self):
        self.assertEqual(self.console, [])

    def test_nothing_is_fetched(self):
        text = self.page.read_text()
        self.assertEqual(re.findall(r"(?:src|href)=|@import|url\(", text), [])
        self.assertEqual(self.seen["resources"], [])

    def test_what_a_scenario_says_is_text(self):
        self.assertIn('name = "{{data}}"  # </script>', self.seen["text"])
        self.assertIn("sfc <&>", self.seen["text"])

    def test_captures_are_named(self):
        self.assertIn("cubic/capture-a-b.pcapng", self.seen["text"])

    def test_the_licence_of_the_library_is_in_the_page(self):
        self.assertIn("Copyright (c) 2022 Leon Sorokin", self.page.read_text())

    def test_every_chart_is_drawn(self):
        self.assertEqual([c["id"] for c in self.seen["charts"]], ["queue", "link", "rate", "window", "queue_cdf", "sizes", "cdf"])
        for c in self.seen["charts"]:
            for run in ("0", "1"):
                self.assertGreater(c["pixels"][run], 80, f"{c['id']}: run {run} is not to be seen")

    def test_axes_have_units(self):
        axes = {c["id"]: c["axes"] for c in self.seen["charts"]}
        self.assertEqual(axes["queue"], ["time, us", "queue, KB", "BDP"])
        self.assertEqual(axes["queue_cdf"], ["queue, KB", "share, %", "BDP"])
        self.assertEqual(axes["rate"], ["time, us", "rate, Gb/s"])
        self.assertEqual(axes["sizes"], ["message size, bytes", "FCT slowdown"])
        self.assertEqual(axes["cdf"], ["FCT slowdown", "share, %"])

    def test_a_run_goes_and_comes_back(self):
        for before, without, after in zip(self.seen["charts"], self.seen["without"], self.seen["again"]):
            self.assertLess(without["pixels"]["0"], 10, before["id"])
            self.assertGreater(without["pixels"]["1"], 80, before["id"])
            self.assertEqual(after["pixels"], before["pixels"])
        self.assertEqual(self.seen["rows_without"], ["bolt"])

    def test_a_line_goes_by_its_name(self):
        self.assertEqual(self.seen["line"], {"before": True, "after": False, "others": [True, True, True]})

    def test_zoom_moves_every_chart_in_time(self):
        least, greatest = self.seen["zoomed"]["wanted"]
        self.assertAlmostEqual(least, 75, delta=1)
        self.assertAlmostEqual(greatest, 150, delta=1)
        for c in self.seen["zoomed"]["x"]:
            self.assertAlmostEqual(c[0], least, delta=0.5)
            self.assertAlmostEqual(c[1], greatest, delta=0.5)
        self.assertEqual(len(self.seen["zoomed"]["x"]), 4)
        # the y axis follows: nothing of run 1 but its ramp is in sight, and the spike of run 0
        self.assertAlmostEqual(float(self.seen["zoomed"]["inputs"][0]), least, delta=0.1)
        self.assertEqual(self.seen["reset"], [[0, 300]] * 4)
        self.assertEqual(self.seen["typed"], [[10, 20]] * 4)
        self.assertEqual(self.seen["wider"], [[5, 25]] * 4)

    def test_the_pointer_reads_what_was_sampled(self):
        at, *values = self.seen["hover"]
        ns = round(float(at.split()[0]) * 1000)
        queue = [plots.results.read_series(self.out / cc / "queue-a-b.csv") for cc in ("cubic", "bolt")]
        for text, data in zip(values, queue):
            self.assertEqual(float(text.split()[0]), data["queue_bytes"][data["time_ns"].index(ns)] / 1000)
            self.assertEqual(text.split()[1], "KB")

    def test_the_summary_is_the_result(self):
        rows = self.seen["summary"]
        self.assertEqual(len(rows), 2)
        for row, run in zip(rows, self.result["runs"]):
            longest = run["links"][0]["queue_bytes"]["max"]
            self.assertEqual(row[0], run["cc"])
            self.assertEqual(row[1], f"{longest / 1e3:.1f} KB" if longest < 1e6 else f"{longest / 1e6:.2f} MB")
            self.assertEqual(row[2], f"{longest * 8 / 1e5:.1f} us")
            self.assertEqual(row[5:9], ["90.0 %", str(run["links"][0]["drops"]), "10", str(sum(f["retransmits"] for f in run["flows"]))])
            self.assertEqual(row[10:12], [f"{run['fct']['p50']:.2f} x", f"{run['fct']['p99']:.2f} x"])
            self.assertEqual(row[-1], "1")

    def test_the_bins_are_the_result(self):
        wanted = []
        for run in self.result["runs"]:
            for kind in sorted(run["fct"]["kinds"]):
                bins = run["fct"]["kinds"][kind]["bins"]
                wanted.append((f"{run['cc']}, {kind}", [
                    [str(b["count"]), *(f"{b[p]:.2f} x" for p in ("p50", "p95", "p99")), *(f"{b['ack'][p]:.2f} x" for p in ("p50", "p99"))] for b in bins]))
        found = [(name.partition(":")[0], [row[1:] for row in rows[:-2]]) for name, rows in self.seen["bins"]]
        self.assertEqual(found, wanted)

    def test_the_flows_are_the_result(self):
        """All pages, sorted by time taken, the longest first; what did not end is last."""
        flows = [(run["cc"], f) for run in self.result["runs"] for f in run["flows"]]
        flows.sort(key=lambda p: (p[1]["fct_ns"] is None, -(p[1]["fct_ns"] or 0)))
        self.assertEqual(len(self.seen["flows"]), 2 * FLOWS)
        for row, (_, f) in zip(self.seen["flows"], flows):
            self.assertEqual(row[8], "–" if f["fct_ns"] is None else f"{f['fct_ns'] / 1000:.1f} us")
        key = {(cc, f["id"]): f for cc, f in flows}
        self.assertEqual({(row[0], int(row[1])) for row in self.seen["flows"]}, set(key))
        for row in self.seen["flows"]:
            f = key[row[0], int(row[1])]
            self.assertEqual(row[2:5], [f["kind"], f["from"], f["to"]])
            self.assertEqual(row[9:], ["–" if f["slowdown"] is None else f"{f['slowdown']:.2f} x", str(f["retransmits"])])
        self.assertEqual({(row[0], row[3]) for row in self.seen["found"]}, {("bolt", "s6")})
        self.assertEqual(len(self.seen["found"]), sum(f["from"] == "s6" for cc, f in flows if cc == "bolt"))

    def test_a_chart_can_be_saved(self):
        saved = self.seen["saved"]
        self.assertEqual([name for name, _, _ in saved], [f"test-{c['id']}.{kind}" for c in self.seen["charts"] for kind in ("svg", "png", "csv")])
        for name, kind, data in saved:
            data = base64.b64decode(data)
            if name.endswith("png"):
                self.assertEqual((kind, data[:8]), ("image/png", b"\x89PNG\r\n\x1a\n"), name)
                self.assertGreater(min(struct.unpack(">II", data[16:24])), 600, name)
            elif name.endswith("svg"):
                root = xml.etree.ElementTree.fromstring(data)
                lines = [e for e in root.iter("{http://www.w3.org/2000/svg}path") if e.get("stroke-width") == "1.5"]
                words = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
                axes = next(c["axes"] for c in self.seen["charts"] if name == f"test-{c['id']}.svg")
                self.assertTrue(lines and all(len(e.get("d")) > 20 and "NaN" not in e.get("d") for e in lines), name)
                self.assertLessEqual(set(axes), set(words), name)

    def test_the_table_of_a_chart_is_what_was_sampled(self):
        text = next(base64.b64decode(data).decode() for name, _, data in self.seen["saved"] if name == "test-queue.csv")
        head, *rows = csv.reader(text.splitlines())
        self.assertEqual(head, ["time (us)", "cubic, port a-b (KB)", "bolt, port a-b (KB)"])
        for i, cc in enumerate(("cubic", "bolt")):
            data = plots.results.read_series(self.out / cc / "queue-a-b.csv")
            self.assertEqual([round(float(r[0]) * 1000, 6) for r in rows], list(map(float, data["time_ns"])))
            self.assertEqual([round(float(r[i + 1]) * 1000, 6) for r in rows], list(map(float, data["queue_bytes"])))

    def test_dark_is_dark(self):
        self.assertNotEqual(self.seen["theme"]["before"], self.seen["theme"]["after"])
        self.assertEqual(self.seen["theme"]["drawn"], [True] * 7)


class Several(unittest.TestCase):
    def test_runs_of_two_directories_share_the_charts(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        named = []
        for name, samples in (("one", SAMPLES), ("two", 2001)):
            (out / name).mkdir()
            named.append((name, make_result(out / name, samples, name), out / name))
        report.write(named, out)
        seen, console = browse(out / "report.html", "return await quick();", scheme="dark")
        self.assertEqual(console, [])
        self.assertEqual([r[0] for r in seen["summary"]], ["one: cubic", "one: bolt", "two: cubic", "two: bolt"])
        for c in seen["charts"]:
            for run in map(str, range(4)):
                # the shorter lie beside the longer, line for line
                if c["id"] == "queue":
                    self.assertGreater(c["pixels"][run] if run in c["pixels"] else 0, 20, f"{c['id']} {run}")
        self.assertIn("Several runs", seen["text"])
        self.assertEqual([(r.colour, r.dash) for r in charts.runs_of(named)], [(3, 0), (0, 0), (3, 1), (0, 1)])


    def test_of_unlike_length_in_panels(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        named = []
        for name, samples in (("long", 6501), ("short", SAMPLES)):
            (out / name).mkdir()
            named.append((name, make_result(out / name, samples, name), out / name))
        report.write(named, out)
        seen, console = browse(out / "report.html", "const out = await quick(); out.x = xs(); setZoom([10, 20], 1); await settle(); out.zoomed = xs(); return out;")
        self.assertEqual(console, [])
        self.assertEqual([c["id"] for c in seen["charts"]][:8], ["queue", "link", "rate", "window", "queue-1", "link-1", "rate-1", "window-1"])
        self.assertEqual(seen["x"], [[0, 300]] * 4 + [[0, 650]] * 4)
        self.assertEqual(seen["zoomed"], [[0, 300]] * 4 + [[10, 20]] * 4)
        self.assertEqual([set(c["pixels"]) for c in seen["charts"][:8]], [{"2", "3"}] * 4 + [{"0", "1"}] * 4)
        frames = plots.panels([(name, plots.views(result, directory)[0][1:]) for name, result, directory in named])
        self.assertEqual([[name for name, _ in frame] for frame in frames], [["short"], ["long"]])


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
        make_result(out, samples=30)
        subprocess.run([context.TREE / "tools" / "lab" / "lab", "plot", out], check=True, capture_output=True)
        comments = re.findall(r"<!-- (.*?) -->", (out / "slowdown.svg").read_text())
        self.assertIn("FCT slowdown, times the transfer alone", comments)
        self.assertIn("message size, up to", comments)
        self.assertGreaterEqual(sum(c in ("1", "2", "5", "10") for c in comments), 2, comments)


class Styles(unittest.TestCase):
    def test_a_congestion_control_keeps_its_colour(self):
        self.assertEqual(plots.styles(["dctcp", "bolt"]), [(2, 0), (0, 0)])
        self.assertEqual(plots.styles(["bolt", "dctcp", "bolt"]), [(0, 0), (2, 0), (0, 1)])

    def test_others_share_a_colour(self):
        self.assertEqual(plots.styles(["vegas", "bolt", "westwood"]), [(6, 0), (0, 0), (6, 1)])

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
