# SPDX-License-Identifier: GPL-2.0
"""Sweeps: every combination is a case of its own, equal cases have equal names; tables hold what the cases hold."""

import copy
import csv
import json
import math
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import context
from boltlab import cli, schema, stats, sweep, tables
from boltlab.guest import RunError
from test_report import make_result

BUILT = types.SimpleNamespace(kdir=Path("kernel-6.12-lab-1"), sources="abc", own={})


def cases(described, out=Path("/out")):
    return sweep.cases_of(described, sweep.scenarios_of(described), BUILT, "6.12", (), out)


class Described(unittest.TestCase):
    def setUp(self):
        self.scenario = context.write(context.BASE)

    def file(self, text):
        path = self.scenario.with_name("sweep.toml")
        path.write_text(text)
        return sweep.described(path, None, (), (), cli.find_scenario)

    def refused(self, text, says):
        with self.assertRaises(RunError) as e:
            self.file(text)
        self.assertIn(says, str(e.exception))

    def test_values_are_parted_at_commas(self):
        for text, values in (("1,2", ["1", "2"]), ('"sfc a, b",pfifo', ['"sfc a, b"', "pfifo"]), ("[1,2],[3]", ["[1,2]", "[3]"]), ("{a=1,b=2}", ["{a=1,b=2}"])):
            self.assertEqual(sweep.split(text), values)

    def test_a_file_says_the_same_as_options(self):
        of_file = self.file('scenario = "test.toml"\ncc = ["bolt", "cubic"]\nseeds = 2\n[set]\ntopology.rate = ["100gbit", "400gbit"]\n"topology.mtu" = [1500, 9000]')
        of_options = sweep.described(self.scenario, ["bolt", "cubic"], ["topology.rate=100gbit,400gbit", "topology.mtu=1500,9000"], (1, 2), cli.find_scenario)
        self.assertEqual(cases(of_file), cases(of_options))
        self.assertEqual(len(cases(of_file)), 16)

    def test_a_directory_of_its_name_is_no_scenario(self):
        self.scenario.with_name("incast").mkdir()
        self.assertEqual(self.file('scenario = "incast"').scenario, cli.SCENARIOS / "incast.toml")

    def test_options_have_the_last_word(self):
        self.file('scenario = "test.toml"\nseeds = 2\nset.topology.mtu = 1500')
        described = sweep.described(self.scenario.with_name("sweep.toml"), ["cubic"], ["topology.mtu=9000"], (7,), cli.find_scenario)
        self.assertEqual([(c["cc"], c["seed"], c["set"]) for c in cases(described)], [("cubic", 7, {"topology.mtu": "9000"})])

    def test_seeds_and_congestion_controls_as_settings(self):
        found = cases(sweep.described(self.scenario, None, ['cc=["bolt"],["cubic"]', "seed=3,4"], (), cli.find_scenario))
        self.assertEqual([(c["cc"], c["seed"]) for c in found], [("bolt", 3), ("bolt", 4), ("cubic", 3), ("cubic", 4)])
        self.assertFalse([c for c in found if "--set" in c["command"]])      # with --cc and --seed, which it has

    def test_what_is_wrong_is_named(self):
        for text, says in (('colour = 1', "sweep.toml: colour: is unknown"), ('seeds = 0', "sweep.toml: seeds"), ('seeds = [1, 1]', "sweep.toml: seeds"),
                           ('cc = "bolt"', "sweep.toml: cc"), ('set = 1', "sweep.toml: set"), ('set.topology.mtu = []', "sweep.toml: set.topology.mtu: a value is missing"),
                           ('set.topology.mtu = [9000, 9000]', "sweep.toml: set.topology.mtu: names 9000 twice"),
                           ('cc = ["bolt"]\nset.cc = [["cubic"]]', "sweep.toml: cc and set.cc set the same"), ('seeds = 2\nset.seed = [1, 2]', "sweep.toml: seeds and set.seed set the same")):
            self.refused(f'scenario = "test.toml"\n{text}\n', says)
        for seeds in ("1000000000000", "[-1]", "[4294967296]", "[1, [2]]"):
            self.refused(f'scenario = "test.toml"\nseeds = {seeds}\n', "sweep.toml: seeds: is neither a number of seeds, from 1 to 10000, nor")
        for value in ("1979-05-27", "[07:32:00]", "[[1979-05-27]]"):
            self.refused(f'scenario = "test.toml"\nset.topology.mtu = {value}\n', "sweep.toml: set.topology.mtu: has a date or a time of day")
        with self.assertRaisesRegex(schema.ScenarioError, "test.toml: topology.mtu"):
            cases(self.file('scenario = "test.toml"\nset.topology.mtu = [1500, 0]\n'))

    def test_the_command_says_it_in_a_line(self):
        out = self.scenario.with_name("out")
        for args, says in ((("--set", "topology.mtu"), "--set topology.mtu: is not KEY"), (("--set", "topology.mtu=1,"), "--set topology.mtu: a value is missing"),
                           (("--set", "topology.mtu=1500", "--set", "topology.mtu=9000"), "--set topology.mtu: is given twice"),
                           (("--set", "topology.mtus=1500"), "test.toml: topology.mtus"), (("--seed", "1,-1"), "argument --seed: 1,-1"),
                           (("--seed", "4294967296"), "from 0 to 4294967295"), (("--seeds", "1000000000000"), "argument --seeds: 1000000000000 is not from 1 to 10000"), (("--cc", "bbq"), "--cc bbq"), (("--jobs", "0"), "--jobs")):
            result = context.lab("sweep", self.scenario, *args, "--out", out)
            self.assertEqual((bool(result.returncode), len(result.stderr.splitlines())), (True, 1), result.stderr)
            self.assertIn(says, result.stderr)
            self.assertFalse(out.exists())

    def test_a_comma_in_a_value_is_named(self):
        line = "switch.qdisc=sfc bands 2 dscp 46:1,8-15:{2}"
        described = sweep.described(self.scenario, None, [line], (), cli.find_scenario)
        with self.assertRaises(schema.ScenarioError) as e, sweep.told_of_commas(described):
            sweep.scenarios_of(described)
        self.assertTrue(str(e.exception).endswith("(commas separate the values of --set switch.qdisc; put one that has a comma in quotes: "
                                                  "--set 'switch.qdisc=\"...\"')"), e.exception)
        described = sweep.described(self.scenario, None, ["topology.mtu=1500,0"], (), cli.find_scenario)
        with self.assertRaises(schema.ScenarioError) as e, sweep.told_of_commas(described):
            sweep.scenarios_of(described)
        self.assertNotIn("comma", str(e.exception))


class Names(unittest.TestCase):
    def name(self, text=context.BASE, built=BUILT, seeds=(1,), sets=("topology.mtu=1500",)):
        described = sweep.described(context.write(text), ["bolt"], sets, seeds, cli.find_scenario)
        return sweep.cases_of(described, sweep.scenarios_of(described), built, "6.12", (), Path("/out"))[0]["name"]

    def test_equal_results_have_equal_names(self):
        self.assertEqual(self.name(), self.name())
        self.assertEqual(self.name(), self.name(context.BASE + "# a comment\n"))
        self.assertEqual(self.name(), self.name(sets=()), "1500 is the default")

    def test_all_that_matters_is_in_the_name(self):
        other = copy.copy(BUILT)
        other.sources = "def"
        own = copy.copy(BUILT)
        own.own = {"tcp_aimd": "1"}
        names = [self.name(), self.name(seeds=(2,)), self.name(sets=("topology.mtu=9000",)), self.name(built=other), self.name(built=own),
                 self.name(context.BASE.replace("100us", "200us"))]
        self.assertEqual(len(set(names)), len(names))

    def test_a_file_that_is_named_matters(self):
        path = context.write(context.BASE + '[workload]\ncdf = "mine.cdf"\nload = 0.5\nto = "r0"\n')
        described = sweep.described(path, ["bolt"], (), (1,), cli.find_scenario)
        found = set()
        for size in (1000, 2000):
            path.with_name("mine.cdf").write_text(f"1 0\n{size} 100\n")
            found.add(cases(described)[0]["name"])
        self.assertEqual(len(found), 2)


    def test_a_script_that_a_program_is_given_matters(self):
        path = context.write(context.BASE + '[[program]]\nnode = "s0"\ncommand = ["/bin/sh", "client.sh"]\n')
        described = sweep.described(path, ["bolt"], (), (1,), cli.find_scenario)
        found = set()
        for line in ("true", "false"):
            path.with_name("client.sh").write_text(line)
            found.add(cases(described)[0]["name"])
        self.assertEqual(len(found), 2)

    def test_words_that_name_no_file_of_the_guest(self):
        path = context.write(context.BASE + '[[program]]\nnode = "s0"\ncommand = ["/bin/cat", "/proc/uptime", "' + 200 * "\u00e9" + '"]\n')
        described = sweep.described(path, ["bolt"], (), (1,), cli.find_scenario)
        self.assertEqual(cases(described)[0]["name"], cases(described)[0]["name"])
        self.assertIsNone(sweep.digest_of(Path("/proc/uptime")))
        self.assertIsNone(sweep.digest_of(Path(200 * "\u00e9")))

    def test_a_scenario_is_of_its_case_whatever_its_comments(self):
        path = context.write(context.BASE)
        described = sweep.described(path, ["bolt"], ("topology.mtu=1500",), (1,), cli.find_scenario)
        (case,) = cases(described)
        for more, same in (("", True), ("# a comment\n", True), ("[host]\ncwnd = 7\n", False), ("=", False)):
            self.assertEqual(sweep.is_of(case, (context.BASE + more).encode(), described, BUILT), same, more)

    def test_the_lab_itself_matters(self):
        before = self.name()
        with mock.patch.object(sweep, "lab_itself", lambda: "another"):
            self.assertNotEqual(self.name(), before)


class Workflow(unittest.TestCase):
    def test_the_rest_is_snakemakes(self):
        self.assertEqual(cli.apart(["sweep", "x", "--", "--slurm", "--", "y"]), (["sweep", "x"], ["--slurm", "--", "y"]))
        self.assertEqual(cli.apart(["run", "x", "--", "y"]), (["run", "x", "--", "y"], []))
        self.assertEqual(sweep.command(Path("/out"), 3, ["--cores", "5"])[-2:], ["--cores", "5"])

    def test_what_failed_is_told_by_its_case(self):
        out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (out / sweep.LOGS).mkdir()
        two = [{"name": n, "cc": "bolt", "seed": s, "set": {"a.b": "1"}, "command": ""} for s, n in enumerate("xy")]
        (out / sweep.LOGS / "y.log").write_text("lab: it runs\nlab: it broke\n")
        self.assertEqual(sweep.failures(two, out, 1, 0, ()), ["bolt, a.b=1, seed 1: it broke"])
        self.assertEqual(sweep.failures(two[:1], out, 1, 0, ("--x",)), ["snakemake ended with status 1"])
        self.assertEqual(sweep.failures(two[:1], out, 0, 0, ("--dry-run",)), [])

    def test_the_rest_takes_as_long_as_what_was_run_now(self):
        self.assertEqual(sweep.left(6, 4, 10, 60), ", about 2 min left")
        self.assertEqual(sweep.left(4, 4, 10, 60), "")


class Confidence(unittest.TestCase):
    def test_students_t(self):
        for freedom, t in ((1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423), (99, 1.9842)):
            self.assertAlmostEqual(stats.student_t(0.95, freedom), t, places=4)

    def test_interval(self):
        n, mean, half = tables.interval([1, None, 2, 3])
        self.assertEqual((n, mean), (3, 2))
        self.assertAlmostEqual(half, 4.3027 / math.sqrt(3), places=4)
        self.assertEqual(tables.interval([5, None]), (1, 5, None))
        self.assertEqual(tables.interval([5, 5])[1:], (5, 0))
        self.assertEqual(tables.interval([None]), (0, None, None))


class Tables(unittest.TestCase):
    def setUp(self):
        self.out = Path(tempfile.mkdtemp(prefix="lab-test-"))
        self.cases = [{"name": f"bolt-{seed}-{rate}", "cc": "bolt", "seed": seed, "set": {"topology.rate": rate}} for rate in ("1gbit", "2gbit") for seed in (1, 2)]
        for n, case in enumerate(self.cases):
            directory = self.out / "cases" / case["name"]
            directory.mkdir(parents=True)
            result = make_result(directory)
            result["runs"] = result["runs"][1:]
            result["runs"][0]["links"][0].update(drops=n, queue_bytes={"max": 1000 * (n + 1), "mean": 1.5, "p50": 0, "p99": 9})
            (directory / "result.json").write_text(json.dumps(result))
        self.text = (directory / "scenario.toml").read_bytes()

    def write(self):
        with mock.patch("builtins.print") as said, mock.patch.object(tables, "progress"):
            tables.write(self.cases, ["topology.rate"], self.out, lambda _, text: text == self.text, "abc")
        return said.call_args[0][0]

    def rows(self, name):
        with open(self.out / name, newline="") as f:
            return list(csv.DictReader(f))

    def test_a_row_for_each_case(self):
        said = self.write()
        self.assertEqual([(r["case"], r["cc"], r["seed"], r["topology.rate"], r["drops"], r["queue_max_bytes"]) for r in self.rows(tables.CASES)],
                         [(c["name"], "bolt", str(c["seed"]), c["set"]["topology.rate"], str(n), str(1000 * (n + 1))) for n, c in enumerate(self.cases)])
        queue = [r for r in self.rows(tables.SUMMARY) if r["figure"] == "queue_max_bytes"]
        self.assertEqual([(r["topology.rate"], r["seeds"], r["mean"]) for r in queue], [("1gbit", "2", "1500"), ("2gbit", "2", "3500")])
        self.assertAlmostEqual(float(queue[0]["ci95"]), 12.7062 * 500, delta=0.1)
        self.assertAlmostEqual(float(queue[0]["low"]), 1500 - 12.7062 * 500, delta=0.1)
        self.assertAlmostEqual(float(queue[0]["high"]), 1500 + 12.7062 * 500, delta=0.1)
        self.assertIn("1.5 KB +- 6.4 KB", said)
        self.assertTrue(said.endswith("\n  Queue and utilization are those of port a-b.\n  bolt, 1gbit; bolt, 2gbit: seeds 1, 2 gave the same run: nothing in this scenario is random; "
                                      "vary `start`, or use [workload]"), said)
        self.assertEqual({(r["port"], r["queue_longest_bytes"], r["queue_longest_port"]) for r in self.rows(tables.CASES)}, {("a-b", str(1000 * n), "a-b") for n in range(1, 5)})
        self.assertNotIn("port", {r["figure"] for r in self.rows(tables.SUMMARY)})

    def test_a_mean_of_what_did_not_end_is_empty(self):
        for case in self.cases[1:]:
            path = self.out / "cases" / case["name"] / "result.json"
            result = json.loads(path.read_text())
            result["runs"][0]["fct"].update(p99=None if case is self.cases[1] else 2.0, unfinished=int(case is self.cases[1]))
            path.write_text(json.dumps(result))
        said = self.write()
        self.assertEqual([r["slowdown_p99"] for r in self.rows(tables.CASES)][1:], ["", "2", "2"])
        found = [(r["seeds"], r["mean"], r["ci95"]) for r in self.rows(tables.SUMMARY) if r["figure"] == "slowdown_p99"]
        self.assertEqual(found, [("2", "", ""), ("2", "2", "0")])
        self.assertRegex(said, r"(?m)^.* 1gbit .* -( |$)")

    def test_every_column_is_of_its_figure(self):
        result = make_result(self.out)
        run = result["runs"][1]
        result["runs"] = [run]
        done = [f for f in run["flows"] if f["fct_ns"] is not None]
        for n, f in enumerate(done):
            f.update(fct_ns=1001 + n, slowdown=2.0 + n, slowdown_ack=200.0 + n, bytes=500 + 1000 * (n % 2))
        run["flows"].append(run["flows"][3] | {"finite": False})
        run["fct"] = stats.fct(run["flows"], (1000,))
        run["programs"] = [{"start_ns": 3000, "end_ns": 10_000}, {"start_ns": 3000, "end_ns": None}]
        found = tables.measures(result)
        n = len(done)
        self.assertEqual((found["finished"], found["unfinished"], found["fct_max_ns"], found["fct_p50_ns"]), (n, 1, math.inf, 1000 + n // 2 + n % 2))
        self.assertEqual([found[f"slowdown_{k}"] for k in ("mean", "p50", "p99")], [math.inf, *(run["fct"][k] for k in ("p50", "p99"))])
        self.assertEqual([found[f"slowdown_ack_{k}"] - found[f"slowdown_{k}"] for k in ("p50", "p95", "p99")], [198] * 3)
        above = [run["fct"]["bins"][i]["p50"] for i in (0, 1)]
        self.assertEqual([found[f"slowdown_p50_above_{b}_bytes"] for b in (0, 1000)], above)
        self.assertNotEqual(*above)
        kinds = run["fct"]["kinds"]
        self.assertEqual([found[f"slowdown_p99_of_{kind}"] for kind in ("flow", "incast")], [math.inf, kinds["incast"]["p99"]])
        self.assertEqual((found["program_0_ns"], found["program_1_ns"]), (7000, None))
        run["flows"], run["fct"] = done, stats.fct(done, (1000,))
        self.assertEqual((tables.measures(result)["unfinished"], tables.measures(result)["fct_max_ns"]), (0, 1000 + n))
        run["flows"] = []
        self.assertIsNone(tables.measures(result)["fct_max_ns"])

    def test_results_of_something_else_are_refused(self):
        self.text += b"#"
        with self.assertRaisesRegex(RunError, "were edited while the sweep ran"):
            self.write()


if __name__ == "__main__":
    unittest.main()
