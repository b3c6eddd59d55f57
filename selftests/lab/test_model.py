# SPDX-License-Identifier: GPL-2.0
"""The model of the sender's law (tools/model): it builds, and is where the lab is."""

import subprocess
import tempfile
import unittest

from context import TREE

HADOOP = (TREE / "tools/lab/workloads/facebook-hadoop.cdf").read_text()


class Model(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory(prefix="bolt-model-")  # pylint: disable=consider-using-with
        subprocess.run(["make", "-s", "-C", TREE / "tools", f"O={cls.dir.name}", "model"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def words(self, *args):
        return subprocess.run([f"{self.dir.name}/bolt_model", *args], input=HADOOP, text=True, check=True,
                              stdout=subprocess.PIPE).stdout.split()

    def numbers(self, *args):
        words = self.words(*args)
        return dict(zip(words[::2], map(float, words[1::2])))

    def within(self, value, least, most):
        self.assertTrue(least <= value <= most, f"{value} is not within {least} and {most}")

    def test_join(self):
        """The lab: 0.61 BDP, one packet again after 1.75 RTT, no RTT below 95.1 %, four packets"""
        got = self.numbers("join")
        self.within(got["peak"], 0.58, 0.63)
        self.within(got["drained"], 1.70, 1.85)
        self.within(got["window"], 0.92, 1)
        self.within(got["p99"], 3, 4)

    def test_windows_become_equal(self):
        for flows, mtu in ((5, 5000), (16, 5000), (32, 1500)):
            got = self.numbers("long", f"flows={flows}", f"mtu={mtu}", "links=2", "us=4000")
            self.within(got["jain"], 0.95, 1)
            self.within(got["used"], 0.989, 1)
            self.within(got["queue"], 10e3, 31e3)

    def test_messages(self):
        """The lab, 24 seeds: 1.25/5.36 over all, and 154 KB"""
        words = self.words("mix", "mtu=5000", "links=2", "messages=5000")
        p50, p99 = map(float, words[words.index("all") + 1].split("/"))
        self.within(p50, 1.1, 1.3)
        self.within(p99, 3, 6)
        self.within(float(words[words.index("queue") + 1]), 120e3, 180e3)

    def test_a_distribution_that_is_cut_is_refused(self):
        for text, status in ((HADOOP, 0), (HADOOP.rsplit("\n", 2)[0], 2), ("", 2), (f"0 0\n{'1 50' + chr(10)}" * 600 + "9 100\n", 2)):
            done = subprocess.run([f"{self.dir.name}/bolt_model", "mix", "messages=10"], input=text, text=True, check=False, capture_output=True)
            self.assertEqual(done.returncode, status, text[-40:])

    def test_same_arguments_same_numbers(self):
        self.assertEqual(self.words("mix", "messages=500"), self.words("mix", "messages=500"))
        self.assertNotEqual(self.words("mix", "messages=500"), self.words("mix", "messages=500", "seed=2"))

    def test_unknown_argument(self):
        for bad in ("flow=2", "flows"):
            proc = subprocess.run([f"{self.dir.name}/bolt_model", "join", bad], stderr=subprocess.PIPE, check=False)
            self.assertEqual((proc.returncode, proc.stderr), (2, f"bolt_model: no such argument: {bad}\n".encode()))
        for bad in ("", "2x", "-1"):
            proc = subprocess.run([f"{self.dir.name}/bolt_model", "join", f"flows={bad}"], stderr=subprocess.PIPE, check=False)
            self.assertEqual((proc.returncode, proc.stderr), (2, f"bolt_model: no number: flows={bad}\n".encode()))
        self.assertEqual(subprocess.run([f"{self.dir.name}/bolt_model", "joins"], stderr=subprocess.PIPE, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
