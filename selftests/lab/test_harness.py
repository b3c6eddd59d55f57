# SPDX-License-Identifier: GPL-2.0
"""The harness of the network tests refuses a test that asserts nothing, or not what it says."""

import contextlib
import importlib.util
import io
import os
import runpy
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
NET = os.path.join(HERE, "..", "net")

# body of a test function: why it fails, or None
SHELL = {
    "expect_eq n 1 1": None,
    "expect true true": None,
    "expect true true; printf half >&2": None,
    'f() { local x; x=$(echo "$unset"); true; }; expect what f': "unset: unbound variable",
    "( : $((08)); expect_eq n 1 2 ); expect true true": "an error of the shell",
    '( : "${unset:?}"; expect_eq n 1 2 ); expect true true': "an error of the shell",
    "expect_none left ''": None,
    "expect_fail refused 'no such' bash -c 'echo no such file; exit 1'": None,
    "expect_ne n 1 2": None,
    "expect_ge n 2 1; expect_le n 1 2": None,
    "true | expect piped cat": None,
    "(expect_eq n 1 1)": None,
    ":": "nothing is asserted",
    "return; expect_eq n 1 1": "nothing is asserted",
    "expect_eq n 1 2": "n: 1, not 2",
    "(expect_eq n 1 2)": "n: 1, not 2",
    "echo x | expect piped grep y": "piped: failed: grep y",
    'x=$(expect_eq n 1 2); expect true true': "n: 1, not 2",
    "expect_qe n 1 1; expect true true": "there is no command 'expect_qe'",
    "(expect_qe n 1 1); expect true true": "there is no command 'expect_qe'",
    "expect true no_such_program": "there is no command 'no_such_program'",
    "expect_fail refused 'no such' no_such_program": "could not be run",
    "expect_fail refused '' false": "refused: said ''",
    "expect_fail refused no true": "refused: succeeded: true",
    "BUSYWAIT_MS=10 busywait no_such_condition; expect true true": "there is no command 'no_such_condition'",
    "expect_eq empty '' ''": "nothing to compare",
    "expect_eq n 1": "2 arguments, not 3",
    "expect_ne empty '' 1": "empty: none",
    "expect_ge empty '' 0": "empty: , less than 0",
    "expect_ge n 2 ''": "n: 2, less than",
    "expect_le empty '' 5": "empty: , more than 5",
    "expect_none left 1": "left: 1",
    'expect_none left "$(grep x /dev/null)"': None,
    'expect_none left "$(diff /dev/null /nonexistent)"': "left: status 2",
    'expect_none left "$(bolt_stats_diff none)"': "left: status 2",
    "expect_ne n 1 ''": "n: nothing to compare '1' with",
    'expect_ne n 1 "$(false)"': "n: nothing to compare '1' with",
    '(echo "$no_such_variable"; expect_eq n 1 2); expect true true': "no_such_variable: unbound variable",
    'x=$(echo "$no_such_variable"); expect true true': "no_such_variable: unbound variable",
    "echo unbound variable; echo said >&2; expect true true": None,
}


def shell(script):
    env = dict(os.environ, BOLT_PROGRAMS="/nonexistent")
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as f:
        f.write(f". {NET}/lib.sh\n{script}\n")
        f.flush()
        return subprocess.run(["bash", f.name], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)


class Shell(unittest.TestCase):
    def test_bodies(self):
        for body, why in SHELL.items():
            with self.subTest(body):
                done = shell(f"test_x() {{\n{body}\n}}\nrun_tests x")
                self.assertIn("\nnot ok 1 x\n" if why else "\nok 1 x\n", done.stdout)
                self.assertIn(why or "", done.stdout)
                self.assertEqual(done.returncode, 1 if why else 0)

    def test_each_by_itself(self):
        """What one asserts is not for the next."""
        done = shell("test_a() { expect_eq n 1 1; }\ntest_b() { :; }\ntest_c() { skip no such; }\nrun_tests a b c")
        self.assertIn("ok 1 a\n    # nothing is asserted\nnot ok 2 b\nok 3 c # SKIP no such\n", done.stdout)

    def test_names(self):
        done = shell("test_a() { expect_eq n 1 1; }\nrun_tests a b")
        self.assertIn("\nok 1 a\n", done.stdout)
        self.assertIn("\nnot ok 2 b\n", done.stdout)
        done = shell("test_a() { expect_eq n 1 1; }\ntest_b() { expect_eq n 1 1; }\nrun_tests a")
        self.assertIn("b is in no list", done.stdout)
        self.assertEqual(done.returncode, 1)
        done = shell("test_a() { expect_eq n 1 2; }\ntest_b() { expect_eq n 1 1; }\nBOLT_CHECK_ROWS=b\nrun_tests a also b")
        self.assertEqual((done.stdout, done.returncode), ("KTAP version 1\n1..1\nok 1 b\n", 0))

    def test_died(self):
        """A test that ends the script has said why; its result is missing."""
        done = shell('test_a() { expect_eq n 1 2; echo "$no_such_variable"; }\nrun_tests a')
        self.assertIn("n: 1, not 2", done.stdout)
        self.assertIn("no_such_variable: unbound variable", done.stdout)
        self.assertNotIn("ok 1", done.stdout)


class Nested(unittest.TestCase):
    def test_a_file_without_results_fails(self):
        for said, passed in (("", False), ("1..1", False), ("is ok 1", False), ("1..1\nok 1 x", True), ("1..1\n    ok 1 y", True)):
            done = subprocess.run(["bash", "-c", f'. {NET}/../ktap.sh; ktap_nest t printf %s "$1"', "-", said], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.splitlines()[-1], "ok 1 t" if passed else "not ok 1 t", done)


class Scenarios(unittest.TestCase):
    def test_the_same_directory_again(self):
        lab = runpy.run_path(os.path.join(HERE, "..", "scenarios", "lab_runs.py"))["Lab"]
        with tempfile.TemporaryDirectory() as out:
            for _ in range(2):
                os.mkdir(os.path.join(lab(out).out, "qdisc"))

    def test_a_check_that_could_not_miss(self):
        judge = runpy.run_path(os.path.join(HERE, "..", "scenarios", "judge.py"))["Judge"]
        for known, check, missed in (
                (None, lambda j: j.must(True, "so it is"), []),
                ({"a": 1}, lambda j: (j.sample("a", 1, 2, "1"), j.judge_means()), []),
                (None, lambda j: j.note("so it seems"), ["nothing was judged"]),
                (None, lambda j: j.sample("a", 1, 2, "1"), ["samples of a were not judged"]),
                ({"a": 1, "b": 1}, lambda j: j.goal("a", 1, 2, "1"), ["KNOWN has b, which is no goal of this"])):
            with self.subTest(missed), contextlib.redirect_stdout(io.StringIO()):
                one = judge(known)
                check(one)
                one.end()
                self.assertEqual(one.missed, missed)

    def test_a_figure_has_its_own_checks_alone(self):
        with mock.patch.object(sys, "path", [os.path.join(HERE, "..", "scenarios"), *sys.path]):
            chosen = runpy.run_path(os.path.join(HERE, "..", "scenarios", "check_results"))["chosen_by"]
        figures = runpy.run_path(os.path.join(HERE, "..", "..", "tools", "figures", "make"))["load"]()
        for name, figure in figures.items():
            self.assertCountEqual(chosen(figure["checks"], "whole"), figure["checks"], name)

    def test_a_figure_counts_goals(self):
        def load(*path):
            return runpy.run_path(os.path.join(HERE, "..", *path))

        with mock.patch.object(sys, "path", [os.path.join(HERE, "..", "scenarios"), *sys.path]):
            messages = load("scenarios", "bolt_loads.py")["judge_messages"]
        run = mock.Mock(r={"fct": {"count": 1, "ack": {"count": 1}, "unfinished": 0,
                                   "bins": [{"above_bytes": 0, "max_bytes": 1000, "count": 1, "ack": {"p99": 1.5}}]},
                           "flows": [{"id": 0, "bytes": 9, "slowdown_ack": 1.5, "slowdown_fair": 1, "slowdown_srpt": 1, "end_ns": 1, "end_ack_ns": 2}]})
        run.drops.return_value = 0
        judge = load("scenarios", "judge.py")["Judge"]({"a": 3})
        with contextlib.redirect_stdout(io.StringIO()):
            for _ in range(2):
                messages(judge, run, 1)
                judge.must(True, "nothing is sent again")
                judge.sample("a", 3, 2, "3")
            judge.judge_means()
        self.assertEqual((judge.missed, load("..", "tools", "figures", "make")["verdict"]([{"said": judge.said, "ok": True}])),
                         ([], "differs: 1 of 2 goals missed"))
        with contextlib.redirect_stdout(io.StringIO()):
            messages(judge, run, 2)
        self.assertIn("1 of 2 messages are complete, 1 acknowledged", judge.missed)


class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spec = importlib.util.spec_from_file_location("bolt_ctl", os.path.join(NET, "bolt_ctl.py"))
        cls.ctl = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.ctl)

    def outcome(self, *tests):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = self.ctl.main(tests)
        return status, out.getvalue()

    def refused(self, test, why):
        status, said = self.outcome(test)
        self.assertIn(why, said)
        self.assertIn("\nnot ok 1 ", said)
        self.assertEqual(status, 1)

    def test_expect(self):
        self.assertEqual(self.outcome(lambda: self.ctl.expect("n", 1, 1))[0], 0)
        self.assertEqual(self.outcome(lambda: self.ctl.expect_that("n", True, 1))[0], 0)
        self.refused(lambda: self.ctl.expect("n", 1, 2), "n: 1, not 2")
        self.refused(lambda: self.ctl.expect_that("n", 1 > 2, "1"), "n: 1")
        self.refused(lambda: None, "nothing is asserted")

    def test_rows(self):
        def right():
            self.ctl.expect("n", 1, 1)
        with mock.patch.dict(os.environ, BOLT_CHECK_ROWS="right"):
            self.assertEqual(self.outcome(lambda: self.ctl.expect("n", 1, 2), right), (0, "KTAP version 1\n1..1\nok 1 right\n"))

    def test_child(self):
        """What a forked process expects is not lost."""
        def in_child():
            self.ctl.expect("here", 1, 1)
            pid = os.fork()
            if not pid:
                self.ctl.expect("there", 1, 2)
                os._exit(0)
            os.waitpid(pid, 0)
        self.refused(in_child, "there: 1, not 2")


if __name__ == "__main__":
    unittest.main()
