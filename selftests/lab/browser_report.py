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

from boltlab import charts, plots, report
from test_report import FLOWS, SAMPLES, make_result

PROBE = Path(__file__).with_name("report_probe.js")


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
                    [str(b["count"]), *(f"{b[p]:.2f} x" for p in ("p50", "p95", "p99")), "-", *(f"{b['ack'][p]:.2f} x" for p in ("p50", "p99"))] for b in bins]))
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


if __name__ == "__main__":
    unittest.main()
