# SPDX-License-Identifier: GPL-2.0
"""Which kernels the lab has, and what each of them is built of, as its builder says."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import ask, backends

KERNEL = context.TREE / "tools" / "lab" / "kernel"


def said(program, *args):
    """The one line that it refuses with."""
    with tempfile.TemporaryDirectory() as cache:
        result = subprocess.run([KERNEL / program, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                env=os.environ | {"BOLT_LAB_CACHE": cache})
        assert not list(Path(cache).iterdir()), "something was built"
    lines = result.stderr.splitlines()
    return f"{result.returncode}: {lines[0]}" if len(lines) == 1 and not result.stdout else f"{result}"


class Refuses(unittest.TestCase):
    def test_kernels_that_it_has_not(self):
        self.assertEqual(said("build", "--version", "7.2"), "1: lab kernel: unknown version '7.2' (6.12, 6.1, 7.3)")
        self.assertEqual(said("build", "--flavour", "fast"), "1: lab kernel: unknown flavour 'fast' (lab, debug)")


class Has(unittest.TestCase):
    def test_those_of_the_command(self):
        for program in ("build", "run"):
            usage = re.search(r"^# usage: .*\[--version ([\d.|]+)\]", (KERNEL / program).read_text(), re.M)
            self.assertEqual(sorted(usage[1].split("|")), sorted(backends.KERNELS))
        for version in backends.KERNELS:
            self.assertTrue((KERNEL / "config" / f"lab-{version}.config").exists())

    def test_patches_of_one_kernel(self):
        """What is upstream in a later kernel is in the directory of the earlier ones."""
        common = {path.name for path in (KERNEL / "patches").glob("*.patch")}
        earlier = {path.name for path in (KERNEL / "patches" / "6").glob("*.patch")}
        self.assertTrue(common)
        self.assertEqual(earlier, {"0010-um-registers-on-hosts-with-AMX.patch"})

    def test_qdiscs(self):
        self.assertIn("dualpi2", ask.qdiscs("7.3"))
        self.assertEqual(set(ask.qdiscs("7.3")) - {"dualpi2"}, set(ask.qdiscs("6.12")))


if __name__ == "__main__":
    unittest.main()
