# SPDX-License-Identifier: GPL-2.0
"""Each line of selftests/mutations still breaks the code that it names in one place, and its test is there."""

import importlib.machinery
import importlib.util
import subprocess
import unittest
from pathlib import Path

SELFTESTS = Path(__file__).resolve().parent.parent
LOADER = importlib.machinery.SourceFileLoader("mutate", str(SELFTESTS / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", LOADER))
LOADER.exec_module(mutate)


class Mutations(unittest.TestCase):
    def test_each_applies(self):
        found = mutate.read(SELFTESTS / "mutations", "")
        self.assertGreater(len(found), 0)
        for m in found:
            with self.subTest(m.name):
                before = (SELFTESTS.parent / m.file).read_text(encoding="utf-8")
                after = subprocess.run(["sed", m.sed], input=before, capture_output=True, text=True, check=True).stdout
                self.assertEqual(mutate.changed(before, after), 1)
                self.assertTrue(not m.script or (SELFTESTS / "net" / m.script).exists(), f"no test {m.script}")
