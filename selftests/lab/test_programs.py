# SPDX-License-Identifier: GPL-2.0
"""[[program]]: what may be said of one, what the guest is told, and how an end is put into words."""

import mmap
import os
import signal
import struct
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import context
from boltlab import plan, programs, schema, serve, show, stall

TEXT = """
name = "test"
duration = "10ms"
[topology]
kind = "star"
hosts = 3
[[program]]
node = "h0"
command = "cat 'a b' c"
start = "-1ms"
[[program]]
node = "h1"
command = ["sh", "-c", "ls /tmp/some/where | cat"]
stop = "2ms"
ends_run = true
expect = 3
env = { N = 1, PATH = "/bin" }
"""


def ended(**changes):
    return {"start_ns": 0, "end_ns": 5, "status": 0, "signal": None, "ended_by": "itself", "left": 0} | changes


class Says(unittest.TestCase):
    def test_keys_and_defaults(self):
        s, _, load = context.one(TEXT)
        a, b = s.program
        self.assertEqual((a.command, a.start, a.stop, a.ends_run, a.expect, a.privileged), (["cat", "a b", "c"], -1_000_000, None, False, 0, False))
        self.assertEqual((b.command[2], b.stop, b.env["N"], b.expect), ("ls /tmp/some/where | cat", 2_000_000, "1", 3))
        self.assertEqual((s.sample, load.messages), (100, []))
        self.assertEqual(context.one(TEXT, ["duration=1s"])[0].sample, 10_000)

    def test_count(self):
        s = context.one(TEXT, ["program.0.count=3", "program.0.expect=1"])[0]
        self.assertEqual([(p.node, p.expect) for p in s.program], [("h0", 1), ("h1", 1), ("h2", 1), ("h1", 3)])
        for word, sets in (("program.1.count: there are 2 nodes from h1 on", ["program.1.count=3"]),
                           ("program.0.node: \"sw\" has no number", ["program.0.node=sw", "program.0.count=2"])):
            with self.subTest(word), self.assertRaises(schema.ScenarioError) as caught:
                context.one(TEXT, sets)
            self.assertIn(word, str(caught.exception))

    def test_refuses_by_key(self):
        for word, sets in (("program.0.node: \"h9\" is not a node", ["program.0.node=h9"]),
                           ("program.0.command: \"no-such-program\" is not installed", ["program.0.command=no-such-program -x"]),
                           ("program.0.command: \"./none\" is not there", ["program.0.command=./none"]),
                           ("program.0.command: \"/etc/passwd\" cannot be executed", ["program.0.command=/etc/passwd"]),
                           ("program.0.command: \"ls | cat\" has a |", ["program.0.command=ls | cat"]),
                           ("program.0.command: \"ls 'a\" cannot be parsed", ["program.0.command=ls 'a"]),
                           ("program.0.command: [] is not a command", ["program.0.command=[]"]),
                           ("program.0.stop: is not after its start", ["program.0.stop=-2ms"]),
                           ("program.0.start: is not before the duration ends", ["program.0.start=10ms"]),
                           ("program.0.cwd: \"/none\" is not a directory", ["program.0.cwd=/none"]),
                           ("program.0.cwd: \"/proc\"", ["program.0.cwd=/proc"]),
                           ("program.0.stdin: \"none\" is not a file", ["program.0.stdin=none"]),
                           ("program.0.env: ", ["program.0.env=1"]),
                           ("has LAB_PROGRAM, which the lab sets", ["program.1.env.LAB_PROGRAM=7"]),
                           ("program.0.expect: 256 ", ["program.0.expect=256"])):
            with self.subTest(word), self.assertRaises(schema.ScenarioError) as caught:
                context.one(TEXT, sets)
            self.assertIn(word, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    def test_the_plan_and_its_jobs(self):
        s, net, load = context.one(TEXT)
        p = plan.Plan(s, net, load)
        self.assertIn("program h1 0 2000000 1 program-1.job", p.lines)
        self.assertIn("sysctl h0 /proc/sys/net/ipv4/tcp_congestion_control bolt", p.lines)
        self.assertEqual(p.batches["program-1.job"].split("\0")[6:], ["-", "3", *s.program[1].command, "5", "PATH=/bin", "HOME=/tmp", "LANG=C.UTF-8", "N=1", "LAB_PROGRAM=1", ""])
        self.assertIn("10.0.0.2 h1\n", p.batches["hosts"])
        job = p.batches["node-h1.job"].split("\0")
        self.assertEqual(job[job.index("/tmp") + 1:][:3], ["2", *sorted(["some", s.file.relative_to("/tmp").parts[0]])])
        self.assertEqual(job[-4:], [str(s.file.parent.resolve()), "1", "*", ""])

    def test_a_directory_with_a_blank(self):
        with tempfile.TemporaryDirectory(prefix="lab test ", dir="/tmp") as where:
            s, net, load = context.one(TEXT, [f"program.1.cwd={where}"])
            job = plan.Plan(s, net, load).batches["node-h1.job"].split("\0")
        self.assertIn(Path(where).name, job[job.index("/tmp") + 1:][:3])


class Ends(unittest.TestCase):
    def setUp(self):
        self.s = context.one(TEXT)[0]

    def why(self, i=0, **changes):
        return programs.failure(self.s, self.s.program[i], ended(**changes))

    def test_as_it_should(self):
        self.assertIsNone(self.why())
        self.assertIsNone(self.why(1, status=3))
        self.assertIsNone(self.why(1, status=None, signal="SIGTERM", ended_by="stop"))
        self.assertIsNone(self.why(status=1, ended_by="run"))

    def test_one_line_each(self):
        for word, changes in (("exit status 1, not 0", {"status": 1}), ("not started", {"start_ns": None}), ("SIGSEGV", {"status": None, "signal": "SIGSEGV"}),
                              ("went into the background", {"left": 2}), ("more than 256 MB", {"status": None, "signal": "SIGXFSZ"}),
                              ("20 s of processor time", {"status": None, "signal": "SIGILL"}), ("20 s of processor time", {"ended_by": "lab"}), ("memory", {"status": None, "signal": "SIGKILL"})):
            self.assertIn(word, self.why(**changes))
        self.assertIn("had not ended", self.why(1, ended_by="run"))

    def test_what_the_lab_ended(self):
        """By number, whatever became of the program's first process"""
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (raw / programs.ENDS).write_text("# head\n0 -5 5 0 - itself 0 7\n1 - - - - run 0 -\n")
        self.assertEqual([p["ended_by"] for p in programs.read(raw, self.s)], ["itself", "run"])
        (raw / programs.ENDED).write_text("0\n0\n")
        found = programs.read(raw, self.s)
        self.assertEqual([(p["ended_by"], p["start_ns"], p["status"]) for p in found], [("lab", -5, 0), ("run", None, None)])
        self.assertEqual([show.ended(p) for p in found], ["-5 ns to 5 ns, status 0 (by the lab), 7 ns of processor time", "not started"])
        (raw / programs.ENDS).write_text("0 0 5 - 36 itself 0 -\n1 0 5 - 15 stop 0 -\n")
        self.assertEqual([p["signal"] for p in programs.read(raw, self.s)], ["SIGRTMIN+2", "SIGTERM"])

    def test_it_quotes_what_was_said_last(self):
        place = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (place / "program-0.err").write_text("first\ncat: c: No such file\n\n")
        said, = programs.failures(self.s, [ended(status=1), ended(status=3)], place)
        self.assertEqual(said, "program.0 (cat 'a b' c) on h0: exit status 1, not 0: cat: c: No such file")


class Stall(unittest.TestCase):
    def test_a_symbol_and_this_process(self):
        kdir = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (kdir / "System.map").write_text("0000000060971a68 b cpu_tasks\n0000000060971b20 b time_travel_time\n")
        self.assertEqual(stall.symbol(kdir, "time_travel_time"), 0x60971B20)
        with self.assertRaises(LookupError):
            stall.symbol(kdir, "none")

    def test_the_program_of_a_process(self):
        self.assertIsNone(stall.program_of(os.getpid()))
        with mmap.mmap(-1, 4096) as memory:
            memory[100:117] = b"\0LAB_PROGRAM=17\0\0"
            self.assertEqual(stall.program_of(os.getpid()), 17)
        self.assertIsNone(stall.program_of(0))

    def looked_on(self, *seen, own=(), end=False):
        """What is said of a run that is ended, of (virtual time, seconds of CPU) at each look."""
        raw = Path(tempfile.mkdtemp(prefix="lab-test-"))
        (raw / "System.map").write_text("0000000060971b20 b time_travel_time\n")
        (raw / "wall.begin").write_text("100000000\n")
        if end:
            (raw / "wall.end").touch()
        looks, ticks = iter(seen), os.sysconf("SC_CLK_TCK")

        def virtual_time(*_):
            for ns in looks:
                return ns
            watch.over.set()            # there is no more to see
            raise ProcessLookupError

        with mock.patch.object(stall, "LOOK_S", 0.001), mock.patch.object(stall, "kernel_of", return_value=7), mock.patch.object(os, "kill") as ended, \
                mock.patch.object(stall, "virtual_time", virtual_time), mock.patch.object(stall, "process", lambda _: (1, next(looks) * ticks, 0)):
            watch = stall.Kernel(context.one()[0], own, 11, raw, raw)
            with watch:
                watch.thread.join(60)
        self.assertEqual(ended.call_args_list, [mock.call(11, signal.SIGTERM)] if watch.why else [])
        return watch.why

    def test_a_kernel_that_never_ends(self):
        def at(ns):
            return 100_000_000 + ns
        spins = at(75_000), 1, at(75_001), 20.9, at(75_900), 21
        self.assertEqual(self.looked_on(*spins, own=["tcp_x"]),
                         "virtual time stands at 75.9 us: the kernel itself computes, and does not end, perhaps tcp_x.ko (console.log)")
        self.assertTrue(self.looked_on(at(511_000_001), 1, own=[]).startswith("it is 511 ms, and the run should have ended: the kernel itself computes"))
        for goes_on in ((at(75_000), 1, at(76_000), 100, at(76_001), 119), (at(511_000_000), 1)):
            self.assertIsNone(self.looked_on(*goes_on))
        self.assertIsNone(self.looked_on(*spins, end=True))

    def test_says_who_keeps_time_from_passing(self):
        s = context.one(TEXT)[0]
        s.directory = "cubic"
        watch = stall.Watch(s, 0, None, None)
        for virtual_ns, reason, said in (
                (1000, (1, "polls"), "cubic: 1 us of virtual time in the last 10 s; 10 ms would take 28 h, as program.1 (sh -c 'ls /tmp/some/where | cat') on h1 polls"),
                (2_000_000, (None, None), None), (0, (None, "polls"), "; time stands still, as a program polls")):
            with mock.patch.object(stall, "progress") as told:
                watch._tell(virtual_ns, 10, *reason)
            self.assertTrue(told.call_args[0][0].endswith(said) if said else not told.called, told.call_args)
        spent = {pid: 1 for pid in range(100, 1100)}
        with mock.patch.object(stall, "program_of", lambda pid: pid % 4 == 0), mock.patch.object(watch, "_busiest", lambda *_: None):
            for there, said in ((spent, (0, "has about 7")), ({1: 0}, (None, "None"))):
                with mock.patch.object(watch, "_spent", lambda _, there=there: there):
                    i, does = watch._reason(0, {})
                self.assertEqual((i, str(does)[:11]), said)
        # a process that is replaced while it is looked at does not blind it for good
        time_is = [struct.error("5 bytes"), 7, OSError("ended"), 7, *[7] * 99]
        with mock.patch.multiple(stall, LOOK_S=0, kernel_of=lambda *_: 1, symbol=lambda *_: 0, virtual_time=mock.Mock(side_effect=time_is)), \
                mock.patch.object(watch, "_snapshot", lambda *_: {}), mock.patch.object(watch, "_loaded", lambda: None), \
                mock.patch.object(watch, "patience_s", 0), mock.patch.object(watch, "_end_one", lambda *_: watch.over.set()):
            watch._look_on()
        self.assertTrue(watch.over.is_set())
        self.assertEqual([stall.lasting(v) for v in (1, 119, 120, 7200, 172800)], ["1 s", "119 s", "2 min", "2 h", "2 days"])

    def test_patience_is_of_processor_time(self):
        """A loaded machine, on which a program computes for a tenth of the time, is no reason to end it"""
        s = context.one(TEXT)[0]
        watch, looks, ended = stall.Watch(s, 0, None, None), [], []
        tick = os.sysconf("SC_CLK_TCK")
        watch.patience_s = 20
        with mock.patch.multiple(stall, LOOK_S=0, kernel_of=lambda *_: 1, symbol=lambda *_: 0, virtual_time=lambda *_: looks.append(0) or 7), \
                mock.patch.object(stall.time, "monotonic", lambda: 5 * len(looks)), \
                mock.patch.multiple(watch, _loaded=lambda: None, _tell=lambda *_: None, _reason=lambda *_: (None, None), _snapshot=lambda _: {1: len(looks) * tick // 2, 2: 0 if len(looks) < 3 else len(looks) * tick // 2},
                                    _end_one=lambda _, before: ended.append((len(looks), before[1])) or watch.over.set()):
            watch._look_on()
        # kernel and program: 0.5 s for each look, the program from the third on
        self.assertEqual(ended, [(21, tick // 2)])

    def test_a_command_is_ended_as_well(self):
        """Though its number is no program's of the scenario"""
        server, looks, snapshots = mock.Mock(asked=7), [], []
        watch = serve.Watch(server, context.one(TEXT)[0], 0, None, None)

        def virtual_time(*_):
            looks.append(7)
            if len(looks) == 5:         # a command runs: until here the guest stands and has asked
                server.asked = None
            return 7 if len(looks) < 99 else watch.over.set()

        with mock.patch.multiple(stall, LOOK_S=0, kernel_of=lambda *_: 1, symbol=lambda *_: 0, virtual_time=virtual_time,
                                 program_of=lambda _: serve.MARKED_FROM + 1), \
                mock.patch.multiple(watch, _snapshot=lambda *_: snapshots.append(len(looks)) or {}, _loaded=lambda: None, _busiest=lambda *_: 2, _end_one=lambda *_: watch.over.set(), patience_s=0):
            watch._look_on()
        self.assertEqual((len(looks), snapshots), (6, [1, 5, 6]))      # nobody looks at processes while it stands
        with mock.patch.multiple(stall, kernel_of=lambda *_: 1, program_of=lambda _: serve.MARKED_FROM + 1), mock.patch.object(watch, "_busiest", lambda *_: 2):
            self.assertEqual(watch._reason(1, {}), (None, None))


if __name__ == "__main__":
    unittest.main()
