# SPDX-License-Identifier: GPL-2.0
"""What is said while a kernel compiles and while the tests run: how much is done, and about how long the rest takes."""

import importlib.machinery
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from pathlib import Path
from unittest import mock

import context
from boltlab import estimate, lablink, plan, results, schema, stall

PROGRESS = context.TREE / "tools" / "lab" / "kernel" / "progress"


def load_check():
    loader = importlib.machinery.SourceFileLoader("check", str(context.TREE / "selftests" / "check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


def until(test, true):
    end = time.monotonic() + 60
    while not true():
        test.assertLess(time.monotonic(), end)
        time.sleep(0.01)


class Kernel(unittest.TestCase):
    def setUp(self):
        self.kdir = Path(tempfile.mkdtemp(prefix="lab-test-"))

    def objects(self, n, began_s_ago):
        (self.kdir / "net").mkdir(exist_ok=True)
        for i in range(n):
            (self.kdir / "net" / f"{i}.o").touch()
        (self.kdir / ".config").touch()
        os.utime(self.kdir / ".config", (time.time() - began_s_ago,) * 2)

    def said(self):
        """Its first line."""
        with subprocess.Popen([PROGRESS, self.kdir, "200", "0.05"], stderr=subprocess.PIPE, text=True) as process:
            line = process.stderr.readline().rstrip()
            process.kill()
        return line

    def test_share_and_rest(self):
        for n, began, says in ((50, 60, "25 %, about 3 min left"), (100, 300, "50 %, about 5 min left"), (180, 90, "90 %, less than a minute left"),
                               (230, 400, "99 %, less than a minute left"), (2, 10, "1 %")):
            self.setUp()
            self.objects(n, began)
            self.assertEqual(self.said(), f"lab kernel: compiling: {says}")

    def test_it_ends_with_who_called_it(self):
        self.objects(50, 60)
        # it is over when its stderr is closed
        said = self.kdir / "said"
        shell = subprocess.run(["bash", "-c", f"'{PROGRESS}' '{self.kdir}' 200 0.05 2> >(tee '{said}' >&2) & until [ -s '{said}' ]; do sleep 0.05; done"],
                               capture_output=True, text=True, timeout=60)
        self.assertIn("25 %", shell.stderr)


class Run(unittest.TestCase):
    """Of virtual time, as it is read from outside."""

    def test_share_and_rest(self):
        for done, wall, says in ((0.25, 6, "25 % of 20 ms, about 18 s left"), (0.001, 4, "0.1 % of 20 ms"), (0.012, 5, "1.2 % of 20 ms, about 7 min left"),
                                 (0.95, 10, "95 % of 20 ms, less than a second left"), (1.2, 9, "all of 20 ms; what was sent is waited for, or read out")):
            self.assertEqual(estimate.said(done * 20_000_000, 20_000_000, wall), says)

    def test_from_the_begin_of_its_measured_time(self):
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (raw / "System.map").write_text("0000000060971b20 b time_travel_time\n")
        begin = raw / "wall.begin"
        begin.write_text("100000000\n")
        now = time.time()
        os.utime(begin, (now - 6,) * 2)
        with mock.patch.object(estimate.time, "time", return_value=now), mock.patch.object(estimate, "FIRST_S", 0.01), mock.patch.object(estimate, "NEXT_S", (0.01, 60)), mock.patch.object(estimate, "progress") as told, \
                mock.patch.object(stall, "kernel_of", return_value=7), mock.patch.object(stall, "virtual_time", side_effect=[99_999_999, 105_000_000]):
            with estimate.Progress("x: bolt", 20_000_000, 1, raw, raw):
                until(self, lambda: told.called)
        told.assert_called_once_with("x: bolt: 25 % of 20 ms, about 18 s left")

    def test_of_time_that_stands_there_is_no_estimate(self):
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (raw / "begin").write_text("0\n")
        run = estimate.Progress("x", 20_000_000, 1, raw, raw)
        with mock.patch.object(estimate, "progress") as told, mock.patch.object(stall, "kernel_of", return_value=7), \
                mock.patch.object(stall, "virtual_time", side_effect=[75_000, 75_001, 5_000_000]):
            for _ in range(3):
                run._tell(0, raw / "begin")
        self.assertEqual([call[0][0].partition(" of ")[0] for call in told.call_args_list], ["x: 0.4 %", "x: virtual time stands at 75 us", "x: 25 %"])

    def test_a_short_one_says_nothing(self):
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (raw / "System.map").write_text("0000000060971b20 b time_travel_time\n")
        with mock.patch.object(estimate, "progress") as told, estimate.Progress("x", 1, 1, raw, raw):
            (raw / "wall.begin").write_text("1\n")
        told.assert_not_called()


class Sampled(unittest.TestCase):
    def test_more_than_memory_is_refused_by_key(self):
        """What the link device would refuse after boot"""
        text = context.BASE.replace('"1ms"', '"90ms"').replace('"dumbbell"', '"star"\nhosts = 64').replace("s0", "h0").replace("r0", "h1").replace("s1", "h2").replace("r1", "h3")
        with self.assertRaises(schema.ScenarioError) as caught:
            context.one(text, ["sample_flows=0"])
        self.assertEqual(str(caught.exception), "test.toml: sample: 900001 samples of 64 ports and 0 flows take 922 MB of memory, 537 MB is the most: "
                                                'sample = "200ns", or fewer in sample_ports and sample_flows')

    def test_what_it_proposes_will_do(self):
        text = context.BASE.replace('"1ms"', '"900ms"')
        with self.assertRaises(schema.ScenarioError) as caught:
            context.one(text)
        proposed = re.search(r'sample = "(\d+ns)"', str(caught.exception))[1]
        s, net, load = context.one(text, [f"sample={proposed}"])
        self.assertLessEqual(plan.samples(s, net, load)[0], plan.SAMPLES_MOST)
        self.assertGreater(plan.samples(s, net, load)[0], plan.SAMPLES_MOST // 4)

    def test_the_limit_is_the_link_devices(self):
        source = (context.TREE / "tools" / "lab" / "link" / "measure.c").read_text()
        self.assertEqual(int(re.search(r"samples_max_mb = (\d+);", source)[1]) << 20, plan.SAMPLES_MOST)

    def test_ports_of_acks_leave_no_series(self):
        s, net, _ = context.one()
        link = lablink.Measured(ports={("a", "s0"): {}, ("s0", "eth0"): {"rx_data_packets": 0}, ("b", "r0"): {}, ("r0", "eth0"): {"rx_data_packets": 7}})
        data = results.carried(net, link)
        self.assertEqual((data["a", "s0"], data["b", "r0"]), (0, 7))


class Tests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.check = load_check()

    def ktap(self, *lines):
        ktap = self.check.Ktap()
        for line in lines:
            ktap.feed(line)
        return ktap

    def test_share_of_a_group(self):
        for share, lines in ((0, []), (0, ["1..4"]), (0.25, ["1..4", "ok 1 a"]),
                             (0.375, ["1..4", "ok 1 a", "    1..2", "    ok 1 b"]),
                             (0.5, ["1..4", "ok 1 a", "    1..2", "    ok 1 b", "    ok 2 c"]),
                             (0.5, ["1..4", "ok 1 a", "    1..2", "    ok 1 b", "    ok 2 c", "ok 2 d"]),
                             (1, ["1..1", "not ok 1 a"])):
            self.assertEqual(self.ktap(*lines).share(), share, lines)

    def test_the_rest(self):
        check = self.check.Check(types.SimpleNamespace(groups=self.check.GATE, jobs=2))
        for group in self.check.GROUPS:
            self.assertGreater(self.check.GROUPS[group].minutes, 0)
        both = sum(self.check.GROUPS[g].minutes for g in self.check.GATE) / 2
        self.assertIn(f"0 of {len(self.check.GATE)} groups have ended, about {round(both)} min left", check.progress(1000))
        # half of the kernels' group took as long as all of it should have: everything takes twice as long
        minutes = self.check.GROUPS["net"].minutes
        check.ktaps["net"], check.spans["net"] = self.ktap("1..2", "ok 1 a"), (1000, None)
        self.assertEqual(check.progress(1000 + 60 * minutes),
                         f"net 50 %; 0 of {len(self.check.GATE)} groups have ended, about {round(2 * (both - minutes / 4))} min left")
        check.spans["net"] = (1000, 1000 + 60 * minutes)
        self.assertEqual(check.progress(5000), f"; 1 of {len(self.check.GATE)} groups have ended, about {round(both - minutes / 2)} min left")

    def test_one_group_is_not_shared_by_two(self):
        check = self.check.Check(types.SimpleNamespace(groups=["debug"], jobs=2))
        self.assertIn(f"about {self.check.GROUPS['debug'].minutes} min left", check.progress(0))

    def test_no_result_is_no_pass(self):
        for lines in ((), ("1..0",)):
            ktap = self.ktap(*lines)
            ktap.finish(0)
            self.assertEqual(ktap.failures, ["no results at all"])

    def test_a_result_is_of_the_commit_that_was_tested(self):
        kept = Path(tempfile.mkdtemp(prefix="lab-test-")) / "check.json"
        with mock.patch.object(self.check, "RESULTS", str(kept)), mock.patch.object(self.check, "commit_of_tree", return_value="after"):
            self.check.keep_result("before", "debug", self.ktap("1..1", "ok 1 a"), 1)
            self.assertFalse(kept.exists())
            self.check.keep_result("after", "debug", self.ktap("1..1", "ok 1 a"), 1)
            self.assertEqual(list(self.check.read_results()), ["after"])

    def test_a_group_that_begins_at_the_end_ends(self):
        out = tempfile.mkdtemp(prefix="lab-test-")
        with mock.patch.object(self.check, "GROUPS", {"x": self.check.Group(["/bin/sleep", "600"], 1)}), \
             mock.patch.object(self.check, "RESULTS", os.path.join(out, "check.json")):
            check = self.check.Check(types.SimpleNamespace(out=out, groups=["x"]))
            check.stop()
            thread = threading.Thread(target=check.run, args=("x",), daemon=True)
            thread.start()
            thread.join(60)
            self.assertFalse(thread.is_alive())

    def test_its_groups_end_with_it(self):
        group = Path(tempfile.mkdtemp(prefix="lab-test-")) / "group"
        at = group.with_suffix(".pid")
        group.write_text("#!/bin/sh\necho $$ >$0.pid\nexec sleep 600\n")
        group.chmod(0o755)
        script = """if True:
            import sys, types
            import test_progress
            check = test_progress.load_check()
            check.GROUPS, check.GATE = {"x": check.Group([sys.argv[1]], 1)}, ["x"]
            check.RESULTS = sys.argv[1] + ".json"
            check.Check.install = lambda *args: None
            sys.argv = ["check", "--out", sys.argv[1] + ".out"]
            sys.exit(check.main())"""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with subprocess.Popen([sys.executable, "-c", script, group], stdout=subprocess.DEVNULL,
                                  env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as check:
                until(self, lambda: at.exists() and at.read_text())
                pid = at.read_text().strip()
                check.send_signal(number)
                self.assertEqual(check.wait(60), 130)
            until(self, lambda pid=pid: not Path(f"/proc/{pid}").exists())
            at.unlink()


if __name__ == "__main__":
    unittest.main()
