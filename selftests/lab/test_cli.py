# SPDX-License-Identifier: GPL-2.0
"""The command: one line on stderr and an exit status for whatever is wrong before anything runs."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import context

LAB = context.TREE / "tools" / "lab" / "lab"


def lab(*args):
    return subprocess.run([LAB, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL)


class Refuses(unittest.TestCase):
    def setUp(self):
        self.out = tempfile.mkdtemp(prefix="lab-test-")

    def refused(self, *args, says):
        result = lab(*args)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(says, result.stderr)

    def test_scenario(self):
        self.refused("run", "nosuch", "--out", self.out, says="nosuch: no such file")
        self.refused("run", "flow-join", "--set", "topology.speed=1gbit", "--out", self.out, says="flow-join.toml: topology.speed")
        self.refused("run", "flow-join", "--cc", "Bolt!", "--out", self.out, says="--cc Bolt!")

    def test_options_of_backends(self):
        self.refused("run", "flow-join", "--backend", "xen", "--out", self.out, says="argument --backend: invalid choice: 'xen'")
        self.refused("run", "flow-join", "--kernel", "5.10", "--out", self.out, says="argument --kernel: invalid choice: '5.10'")
        self.refused("run", "flow-join", "--backend", "native", "--kernel", "6.1", "--out", self.out, says="--kernel 6.1: --backend native")
        self.refused("run", "flow-join", "--backend", "native", "--jobs", "2", "--out", self.out, says="--jobs 2")
        self.refused("run", "flow-join", "--backend", "native", "--cpus", "2", "--out", self.out, says="--cpus belongs to")
        self.refused("run", "flow-join", "--backend", "qemu", "--cpus", "0", "--out", self.out, says="--cpus must be")
        self.refused("run", "flow-join", "--slow", "0", "--out", self.out, says="--slow")
        self.refused("run", "flow-join", "--slow", "10000", "--set", "topology.rate=1gbit", "--out", self.out, says="slowed down")

    def test_capture(self):
        self.refused("run", "flow-join", "--capture", "a-b,a-c", "--out", self.out, says="flow-join.toml: capture.1: \"a-c\" is not a link")

    def test_jobs(self):
        self.refused("run", "flow-join", "--jobs", "0", "--out", self.out, says="--jobs")

    def test_directories_without_a_result(self):
        for command in ("plot", "show"):
            self.refused(command, self.out, says="result.json")
        result = Path(self.out) / "result.json"
        for text in ("{", json.dumps({"runs": []}), "[]"):
            result.write_text(text)
            for command in ("plot", "show"):
                self.refused(command, self.out, says="result.json")

    def test_several_plots_want_a_place(self):
        self.refused("plot", self.out, self.out, says="--out")
        self.refused("plot", self.out, self.out, "--out", self.out + "/new", says="result.json")
        self.assertFalse((Path(self.out) / "new").exists())

    def test_nothing_is_left_behind(self):
        target = Path(self.out) / "new"
        self.refused("run", "flow-join", "--set", "duration=never", "--out", str(target), says="duration")
        self.assertFalse(target.exists())


class Lists(unittest.TestCase):
    def test_every_scenario_has_its_line(self):
        lines = lab("list").stdout.splitlines()
        files = {p.stem for p in (context.TREE / "tools/lab/scenarios").glob("*.toml")}
        self.assertEqual({line.split()[0] for line in lines}, files)
        self.assertTrue(all(len(line.split()) > 3 for line in lines))


if __name__ == "__main__":
    unittest.main()
