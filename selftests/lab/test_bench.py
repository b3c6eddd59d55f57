# SPDX-License-Identifier: GPL-2.0
"""What make bench has measured: the page is of these numbers, and CPUs that do not take turns are found."""

import copy
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


def program(path):
    sys.path.insert(0, str(path.parent))
    try:
        loader = importlib.machinery.SourceFileLoader("bench_run", str(path))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
        loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


class Cost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = program(TOP / "selftests/bench/run")
        cls.numbers = json.loads((TOP / "Documentation/benchmarks/cost.json").read_text(encoding="utf-8"))

    def test_page_is_of_the_numbers(self):
        written = (TOP / "Documentation/benchmarks/cost.rst").read_text(encoding="utf-8")
        self.assertEqual(written, self.run_.document(self.numbers["rows"], self.numbers["kernel"], self.numbers["modules"]))

    def router(self):
        return [row for row in self.numbers["rows"] if row["set"] == "router"]

    def test_turns(self):
        rows = self.router()
        self.assertEqual([row["cpus"] for row in rows if row["name"] == "noqueue"], [1, 2, 3, 4])
        self.run_.check_turns(rows)

    def test_turns_that_are_not_fair(self):
        for key, change in (("least", 0.8), ("most", 1.2), ("packets", 0.9), ("packets", 1.1)):
            rows = copy.deepcopy(self.router())
            last = [row for row in rows if row["name"] == "noqueue"][-1]
            last[key] = int(last[key] * change)
            with self.subTest(key=key, change=change), self.assertRaises(SystemExit):
                self.run_.check_turns(rows)

    def test_nothing_measured(self):
        with self.assertRaises(SystemExit):
            self.run_.check_turns([])
