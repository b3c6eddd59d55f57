# SPDX-License-Identifier: GPL-2.0
"""--cpu-cost: what a model may say, and who pays it."""

import tempfile
import unittest
from pathlib import Path

import context
from boltlab import cli, cpu, guest, programs, schema, show
from test_programs import TEXT, ended


class Model(unittest.TestCase):
    def test_as_people_write_it(self):
        for value, cost in (("free", (0, 0, None)), ("500ns", (500_000, 0, None)), ("call=1us, byte=0.05ns,cores=2", (10**6, 50, 2))):
            self.assertEqual(cpu.model(value), cost)
        self.assertEqual(cpu.text(cpu.model("call=1us,byte=0.05ns")), "call=1000ns,byte=0.05ns,cores=1")

    def test_refuses_by_key(self):
        for word, value in (("is not a model", "fast=1"), ("not a time", "fast"), ("has no call", "byte=1ns"), ("has call twice", "call=1ns,call=2ns"),
                            ("whole number from 1 to 64", "call=1ns,cores=65"), ("at most 1 ms", "2ms"), ("whole picoseconds", "0.0001ns"), ("takes no time", "0ns")):
            with self.subTest(value), self.assertRaises(schema.ScenarioError) as caught:
                context.one(TEXT, [f"host.cpu_cost={value}"])
            self.assertIn(f"host.cpu_cost: \"{value}\" ", str(caught.exception))
            self.assertIn(word, str(caught.exception))

    def test_who_pays(self):
        s = context.one(TEXT, ["host.cpu_cost=call=500ns,cores=4", "program.1.cpu_cost=free"])[0]
        self.assertEqual([cpu.job(s, p) for p in s.program], ["4 500000 0", "-"])
        for word, text, sets in (("host.cpu_cost: is what programs pay", context.BASE, ["host.cpu_cost=1ns"]),
                                 ("program.0.cpu_cost: has cores", TEXT, ["program.0.cpu_cost=call=1ns,cores=2"])):
            with self.assertRaises(schema.ScenarioError) as caught:
                context.one(text, sets)
            self.assertIn(word, str(caught.exception))

    def test_option_is_the_key(self):
        """And what is wrong with it is told by the option"""
        self.assertEqual(cli.cpu_cost("call=1us,cores=2"), ["host.cpu_cost=call=1us,cores=2"])
        self.assertEqual(cli.cpu_cost(None), [])
        with self.assertRaises(guest.RunError) as caught:
            cli.cpu_cost("fast")
        self.assertIn("--cpu-cost \"fast\": has a call that is not a time", str(caught.exception))


class Told(unittest.TestCase):
    def test_the_remedy(self):
        """Of a program that keeps time from passing: the option; of one that has it and makes no system calls, another"""
        free, charged = (context.one(TEXT, sets)[0] for sets in ([], ["host.cpu_cost=500ns"]))
        for s, word in ((free, "(--cpu-cost 500ns)"), (charged, "makes no system calls")):
            said = programs.failure(s, s.program[0], ended(status=None, signal="SIGILL"))
            self.assertIn(word, said)
            self.assertTrue(said.endswith("or raise patience"))

    def test_what_was_paid(self):
        raw, s = Path(tempfile.mkdtemp(prefix="lab-test-")), context.one(TEXT, ["host.cpu_cost=500ns", "program.1.cpu_cost=free"])[0]
        (raw / programs.ENDS).write_text("# head\n0 0 5000 0 - itself 0 4500\n1 0 5000 3 - itself 0 -\n")
        paid, free = programs.read(raw, s)
        self.assertEqual([(p["cpu_cost"], p["cpu_ns"]) for p in (paid, free)], [("call=500ns,byte=0ns,cores=1", 4500), ("free", None)])
        self.assertEqual([show.ended(p) for p in (paid, free)], ["0 ns to 5 us, status 0, 4.5 us of processor time", "0 ns to 5 us, status 3"])


if __name__ == "__main__":
    unittest.main()
