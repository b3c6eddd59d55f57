# SPDX-License-Identifier: GPL-2.0
"""The command: one line on stderr and an exit status for whatever is wrong before anything runs."""

import contextlib
import io
import json
import math
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import context
from boltlab import build, cli, doctor, guest, plan, plots, runner, schema
from context import LAB, lab


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
        self.refused("run", "flow-join", "--cc", "", "--out", self.out, says='--cc ""')
        self.refused("run", "flow-join", "--cc", "bolt,", "--out", self.out, says='--cc "bolt,"')
        self.refused("run", "flow-join", "--cc", "cubic,bbq", "--out", self.out, says="--cc bbq")

    def test_several_scenarios(self):
        self.refused("run", "flow-join", "nosuch", "--out", self.out, says="nosuch: no such file")
        self.refused("run", "flow-join", "incast", "--set", "topology.leaves=2", "--out", self.out, says="flow-join.toml: topology.leaves")
        self.refused("run", "flow-join", "flow-join", "--out", self.out, says="another scenario has the same name")
        self.assertEqual(os.listdir(self.out), [])
        ran = []

        def run(path, out, *_, **__):
            ran.append((path.stem, str(out)))
            if path.stem == "incast":
                raise runner.RunError("it failed")
        paths = [cli.find_scenario(name) for name in ("incast", "flow-join")]
        with mock.patch.object(runner, "run", run), self.assertRaisesRegex(runner.RunError, "^incast: it failed$"):
            runner.run_each(paths, Path("/there"))
        self.assertEqual(ran, [("incast", "/there/incast"), ("flow-join", "/there/flow-join")])

    def test_plots_without_matplotlib(self):
        with mock.patch.object(plots.importlib.util, "find_spec", return_value=None):
            for what in (("run", "nosuch"), ("plot", self.out), ("plot", self.out, "--out", self.out)):
                self.refused(*what, says=f"{sys.executable} has no matplotlib: install ")
            self.refused("run", "nosuch", "--no-plots", says="nosuch: no such file")

    def test_a_scenario_that_is_none(self):
        path = Path(self.out) / "odd.toml"
        self.refused("run", self.out, says=f"lab: {self.out}: Is a directory")
        path.write_bytes(b'name = "\xff"\n')
        self.refused("run", str(path), says=f"lab: {path}: is not text in UTF-8")

    def test_a_directory_of_its_name_is_no_scenario(self):
        Path(self.out, "flow-join").mkdir()
        with contextlib.chdir(self.out):
            self.refused("run", "flow-join", "--cc", "Bolt!", says="--cc Bolt!")

    def test_a_working_directory_that_is_gone(self):
        # a relative path in it is Python's own trouble
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        for words in (("run", "flow-join"), ("up", "flow-join"), ("exec", "h0", "--", "true"), ("new", "mine"), ("build",)):
            result = subprocess.run(["sh", "-c", 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"', f"{self.out}/gone", LAB, *words],
                                    capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env)
            self.assertEqual((result.returncode, result.stderr), (1, "lab: the working directory does not exist any more: cd to another\n"), words)

    def test_files_where_directories_are_to_be(self):
        path = Path(self.out) / "file"
        path.write_text("a user's")
        self.refused("run", "flow-join", "--out", str(path), says=f"lab: {path}: is not a directory")
        for cache in (path, path / "below"):
            with mock.patch.dict(os.environ, BOLT_LAB_CACHE=str(cache)):
                self.refused("build", says=f"lab: {path}: is not a directory")
                self.refused("run", "flow-join", "--out", f"{self.out}/new", says=f"lab: {path}: is not a directory")
                self.assertIn(f"missing  cache {path}: is not a directory", lab("doctor").stdout)
        self.assertEqual([p.name for p in Path(self.out).iterdir()], ["file"])

    def test_directories_that_a_guest_has_its_own_of(self):
        Path(self.out, "link").symlink_to("/dev/shm")
        for path in ("/run/media/user/disk", "/dev/shm/x", f"{self.out}/link/x"):
            for what in ("run", "sweep"):
                self.refused(what, "flow-join", "--out", path, says="of their own and do not see this: use another --out")
            with mock.patch.dict(os.environ, BOLT_LAB_CACHE=path):
                self.refused("up", "flow-join", says=f"lab: {path}: the lab's kernels have a /")
                self.assertIn(f"missing  cache {path}: the lab's", lab("doctor").stdout)
                # which boots no kernel of the lab
                with mock.patch.object(build, "everything", side_effect=build.BuildError("built")), contextlib.redirect_stderr(io.StringIO()) as said:
                    self.assertEqual((cli.main(["build", "--backend", "native"]), said.getvalue()), (1, "lab: built\n"))

    def test_options_of_backends(self):
        self.refused("run", "flow-join", "--backend", "xen", "--out", self.out, says="argument --backend: invalid choice: 'xen'")
        self.refused("run", "flow-join", "--kernel", "5.10", "--out", self.out, says="argument --kernel: invalid choice: '5.10' (choose from ")
        self.refused("sweep", "flow-join", "--kernel", "7.2", says="argument --kernel: invalid choice: '7.2' (choose from ")
        self.refused("build", "--kernel", "7.4", says="argument --kernel: invalid choice: '7.4'")
        self.refused("run", "flow-join", "--backend", "native", "--kernel", "6.1", "--out", self.out, says="--kernel 6.1: --backend native")
        self.refused("run", "flow-join", "--backend", "native", "--jobs", "2", "--out", self.out, says="--jobs 2")
        self.refused("run", "flow-join", "--backend", "native", "--cpus", "2", "--out", self.out, says="--cpus belongs to")
        self.refused("run", "flow-join", "--backend", "qemu", "--cpus", "0", "--out", self.out, says="--cpus must be")
        self.refused("run", "flow-join", "--slow", "0", "--out", self.out, says="--slow")
        self.refused("run", "flow-join", "--slow", "10000", "--set", "topology.rate=1gbit", "--out", self.out, says="slowed down")

    def test_an_option_twice(self):
        for what, *words in (("run", "--cc", "bolt", "--cc", "cubic"), ("run", "--seed", "1", "--seed", "2"), ("run", "--jobs", "1", "--jobs", "1"), ("run", "--capture", "a-b", "--capture", "b-r0"),
                             ("run", "--explain", "1", "--explain", "2"), ("sweep", "--out", "x", "--out", "y"), ("up", "--cc", "bolt", "--cc", "bolt")):
            self.refused(what, "flow-join", *words, says=f"argument {words[0]}: is given twice; see `lab {what} --help`")
        self.refused("show", self.out, "--port", "a-b", "--port", "b-a", says="argument --port: is given twice")

    def test_an_option_and_the_key_that_it_sets(self):
        for what, key, *words in (("run", 'cc=["bolt"]', "--cc", "cubic"), ("run", "seed=1", "--seed", "2"), ("run", "seed=1", "--seeds", "2"), ("run", 'capture=["a-b"]', "--capture", "b-r0"),
                                  ("run", "capture.0=a-b", "--capture", "b-r0"), ("run", "explain=[1]", "--explain", "all"), ("run", "host.cpu_cost=1us", "--cpu-cost", "2us"),
                                  ("sweep", "seed=1,2", "--seed", "2"), ("up", "cc=[\"bolt\"]", "--cc", "cubic"), ("up", "seed=1", "--seed", "2")):
            self.refused(what, "flow-join", "--set", key, *words, says=f"lab: --set {key}: {words[0].replace('seeds', 'seed')} sets the same")
        self.refused("run", "flow-join", "--set", "capture_mb=1", "--cc", "Bolt!", "--out", self.out, says="--cc Bolt!")

    def test_options_that_would_be_ignored(self):
        self.refused("up", "flow-join", "--cc", "bolt,cubic", says="--cc bolt,cubic: a network that is up has one congestion control")
        self.refused("build", "--backend", "native", "--kernel", "7.3", says="--kernel 7.3: --backend native runs this machine's kernel")

    def test_capture(self):
        self.refused("run", "flow-join", "--capture", "a-b,a-c", "--out", self.out, says="flow-join.toml: capture.1: \"a-c\" is not a link")

    def test_seeds(self):
        self.refused("run", "flow-join", "--seed", "1,x", "--out", self.out, says="argument --seed")
        self.refused("run", "flow-join", "--seed", "1,1", "--out", self.out, says="1,1 names one twice")
        for seeds in ("0", "10001", "1000000000000"):
            self.refused("run", "flow-join", "--seeds", seeds, "--out", self.out, says=f"argument --seeds: {seeds} is not from 1 to 10000")
        for seed in ("1,-1", "4294967296"):
            self.refused("run", "flow-join", "--seed", seed, "--out", self.out, says=f"argument --seed: {seed} is not of seeds from 0 to 4294967295")
        self.refused("run", "flow-join", "--seeds", "2", "--seed", "5", "--out", self.out, says="not allowed with")

    def test_times_of_show(self):
        for command in (("show", self.out), ("slowdown", self.out), ("compare", self.out, self.out)):
            self.refused(*command, "--from", "5", says='argument --from: "5" is not a time')
            self.refused(*command, "--until", "-1ms", says="--until")

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


class Keeps(unittest.TestCase):
    def test_what_is_run_where_the_scenario_is_edited_meanwhile(self):
        """Once it is read, whatever else is done with the file."""
        path = context.write(context.BASE)
        out, ran = path.parent / "out", []

        def read_and_edited(*args, **kwargs):
            found = load(*args, **kwargs)
            path.write_text(context.BASE.replace("1ms", "2ms"))
            return found

        def run_all(scenarios, *_):
            ran.extend(s.duration for _, s in scenarios)
            return [], ["stopped"]

        load = schema.load
        with mock.patch.object(schema, "load", read_and_edited), mock.patch.object(runner.build, "everything"), \
                mock.patch.object(runner.modules, "beside"), mock.patch.object(runner.ask, "check_settings"), \
                mock.patch.object(runner, "run_all", run_all), self.assertRaises(runner.RunError):
            runner.run(path, out, seeds=(1, 2))
        self.assertEqual(set(ran), {10**6})
        self.assertEqual((out / "scenario.toml").read_text(), context.BASE)

    def test_the_spread_of_two_seeds(self):
        for seeds in ((3,), (3, 4)):
            out = Path(tempfile.mkdtemp(prefix="lab-test-")) / "out"

            def run_all(scenarios, *_):
                for _, s in scenarios:
                    (out / s.directory).mkdir()     # pylint: disable=cell-var-from-loop
                return [({"seed": s.seed, "directory": s.directory}, []) for _, s in scenarios], []

            with mock.patch.object(runner.build, "everything"), mock.patch.object(runner.modules, "beside", lambda *_: mock.Mock(kernel_release="6.12")), \
                    mock.patch.object(runner.ask, "check_settings"), mock.patch.object(runner, "versions", lambda _: {}), \
                    mock.patch.object(runner, "spreads", len), mock.patch.object(runner, "run_all", run_all):
                runner.run(context.write(context.BASE), out, seeds=seeds, drawn=False)
            result = json.loads((out / "result.json").read_text())
            self.assertEqual((result["seeds"], result.get("spread")), (list(seeds), 2 if len(seeds) == 2 else None))

    def test_runs_that_had_ended_when_it_was_interrupted(self):
        def run_one(backend, built, cc, s, out, *_):
            if s.seed > ends:
                raise KeyboardInterrupt if s.seed == ends + 1 else runner.RunError("was stopped")
            (out / s.directory).mkdir()
            return {"cc": cc, "seed": s.seed, "directory": s.directory}, ["ip netns add s0"], []

        with mock.patch.object(runner.build, "everything"), mock.patch.object(runner.modules, "beside", lambda *_: mock.Mock(kernel_release="6.12")), \
                mock.patch.object(runner.ask, "check_settings"), mock.patch.object(runner, "versions", lambda _: {}), mock.patch.object(guest, "stop"), \
                mock.patch.object(runner, "spreads", len), mock.patch.object(runner, "run_one", run_one), mock.patch.object(runner, "draw") as drawn:
            for ends in (0, 2):
                out = Path(tempfile.mkdtemp(prefix="lab-test-")) / "out"
                result = lab("run", context.write(context.BASE), "--seeds", "4", "--out", out)
                self.assertEqual((result.returncode, result.stderr.splitlines()[-1]), (130, "lab: interrupted"))
            self.assertFalse(drawn.called)
        self.assertIn("has the 2 of 4 runs that had ended", result.stderr)
        found = json.loads((out / "result.json").read_text())
        self.assertEqual(([r["seed"] for r in found["runs"]], found["spread"], found["incomplete"]), ([1, 2], 2, ["bolt-3", "bolt-4"]))
        self.assertEqual((out / "bolt-2" / "commands.txt").read_text(), "ip netns add s0\n")
        self.assertIn("result.json", (out / ".lab-files").read_text())

    def test_the_runs_beside_one_that_cannot_be_read(self):
        def compute(cc, s, *_):
            if cc == "cubic":
                raise ValueError("not JSON")
            return {"cc": cc, "seed": s.seed, "directory": s.directory} | dict.fromkeys(("captures", "links", "flows", "programs"), [])

        out = Path(tempfile.mkdtemp(prefix="lab-test-")) / "out"
        with mock.patch.object(runner.build, "everything"), mock.patch.object(runner.modules, "beside", lambda *_: mock.Mock(kernel_release="6.12")), \
                mock.patch.object(runner.ask, "check_settings"), mock.patch.object(runner, "versions", lambda _: {}), mock.patch.object(guest, "run", return_value=1), \
                mock.patch.object(runner.results, "compute", compute):
            result = lab("run", context.write(context.BASE), "--cc", "bolt,cubic", "--no-plots", "--out", out)
        said, = (line for line in result.stderr.splitlines() if "not JSON" in line or not line.startswith("lab: "))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(said, r"^lab: test: cubic: its raw results cannot be read: ValueError\('not JSON'\), test_cli\.py:\d+ \(--keep-raw keeps them\)$")
        found = json.loads((out / "result.json").read_text())
        self.assertEqual(([r["cc"] for r in found["runs"]], found["incomplete"]), (["bolt"], ["cubic"]))


class Ends(unittest.TestCase):
    def test_what_nohup_ignores_stays_ignored(self):
        for ignored in (signal.SIGHUP, signal.SIGTERM):
            with mock.patch.object(signal, "getsignal", lambda one: signal.SIG_IGN if one == ignored else signal.SIG_DFL), \
                    mock.patch.object(signal, "signal") as handler:
                cli.interruptible()
            self.assertEqual([call.args[0] for call in handler.call_args_list], [one for one in (signal.SIGTERM, signal.SIGHUP) if one != ignored])

    def test_a_run_has_no_wall_time(self):
        s, net, load = context.one()
        commands, built = [], mock.Mock(tools=Path("/nonexistent"))
        s.directory = "bolt"
        with mock.patch.object(guest, "_carry_out", lambda command, *_: commands.append(command) or (1, "refused")):
            for backend in ("uml", "qemu"):
                with self.assertRaises(guest.RunError):
                    guest.run(backend, built, plan.Plan(s, net, load), s.file.parent, "1G", "6.12", 1, s)
        for command in commands:
            self.assertGreater(int(command[command.index("--timeout") + 1]), 86400 * 365)


class Again(unittest.TestCase):
    def test_the_command_of_a_result_says_the_same(self):
        words = shlex.split(runner.command(Path("flow-join.toml"), ["bolt", "cubic"], ["topology.mtu=9000", 'switch.qdisc=sfc "a b"'], (1, 7), "6.1", "qemu", 10, 2, ["m.ko"]))
        args = cli.parser().parse_args(words[1:])
        self.assertEqual((words[0], args.what, args.scenarios, cli.congestion_controls(args.cc), args.sets, args.seeds, args.kernel, args.backend, args.slow, args.cpus, args.own),
                         (build.COMMAND, "run", ["flow-join.toml"], ["bolt", "cubic"], ["topology.mtu=9000", 'switch.qdisc=sfc "a b"'], (1, 7), "6.1", "qemu", 10, 2, ["m.ko"]))


class Doctor(unittest.TestCase):
    def test_machines_that_the_lab_is_not_for(self):
        with mock.patch.object(platform, "machine", lambda: "aarch64"), \
                mock.patch.object(platform, "freedesktop_os_release", lambda: {"ID": "fedora", "PRETTY_NAME": "Fedora Linux 42"}):
            result = lab("doctor")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("missing  an x86_64 CPU: this one is aarch64\n"
                                                 "warning  Fedora Linux 42: the packages named here are of Debian 12 and 13\n"), result.stdout)

    def test_what_is_missing_and_the_command_for_it(self):
        fix, qemu, small = "fix with: sudo apt-get install pkg\n", "for --backend qemu: sudo apt-get install emulator\n", "warning  1.0 GB free for the cache"
        for lacking, writable, free, shm, status, says in ((False, True, 5, 3, 0, ()), (True, True, 5, 3, 1, (fix, qemu)), (False, False, 5, 3, 1, ("missing  cache ",)),
                                                           (False, True, 1, 3, 0, (small,)), (False, True, 5, 1, 0, ("warning  /dev/shm: 1.0 GB",))):
            needs = [(what, lambda: not lacking, "pkg") for what in ("one thing", "another")]
            with mock.patch.object(doctor, "NEEDS", needs), mock.patch.object(doctor, "qemu_needs", lambda _: [("QEMU", lambda: not lacking, "emulator")]), \
                    mock.patch.object(os, "access", lambda *_, **__: writable), mock.patch.object(platform, "machine", lambda: "x86_64"), \
                    mock.patch.object(shutil, "disk_usage", lambda _: mock.Mock(free=free * 10**9)), \
                    mock.patch.object(os, "statvfs", lambda _: mock.Mock(f_bavail=shm * 10**9, f_frsize=1, f_flag=0)):
                result = lab("doctor")
            self.assertEqual(result.returncode, status, result.stdout)
            self.assertEqual([s for s in (fix, qemu, small, "missing  cache ", "warning  /dev/shm: 1.0 GB") if s in result.stdout], list(says), result.stdout)

    def test_a_libc_that_nothing_is_linked_with_statically(self):
        without = subprocess.CompletedProcess([], 0, "libc.a\n")
        with mock.patch.object(subprocess, "run", lambda *_, **__: without):
            self.assertIn("missing  static libc (libc6-dev)\n", lab("doctor").stdout)

    def test_kernels_that_are_of_other_kinds(self):
        top = Path(tempfile.mkdtemp(prefix="lab-test-"))
        for release, there in (("6.12.48+deb13-rt", False), ("6.12.48+deb13-cloud", False), ("6.1.0-40", False), ("6.12.48+deb13", True)):
            (top / f"linux-headers-{release}-amd64").mkdir()
            self.assertEqual(bool(doctor.headers_of("6.12", top)), there, release)
        with mock.patch.dict(os.environ, BOLT_LAB_CACHE=str(top)):
            for name, says in (("kernel-7.3-lab-x", "later    lab kernel 6.12 will be built"), ("kernel-6.12-smp-x", "later    lab kernel 6.12 will be built"),
                               ("kernel-6.12-lab-x", "ok       lab kernel 6.12 built\n")):
                (top / name / "linux").mkdir(parents=True)
                self.assertIn(says, lab("doctor").stdout, name)

    def test_addresses_that_are_random(self):
        with mock.patch.object(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, "")):
            self.assertIn("warning  setarch -R is refused here", lab("doctor").stdout)


class Warns(unittest.TestCase):
    def test_once_for_all_runs(self):
        with mock.patch.object(guest, "_carry_out", lambda *_: (0, "lab kernel: waiting\nlab kernel: warning: odd\n")), \
                mock.patch.object(guest.build, "progress") as told:
            self.assertIsNone(guest.dry_run(mock.Mock(tools=Path("/nonexistent")), [], tempfile.mkdtemp(prefix="lab-test-"), "6.12"))
        told.assert_called_once_with("warning: odd")


class Lists(unittest.TestCase):
    def test_every_scenario_has_its_line(self):
        scenarios, _, controls = lab("list").stdout.partition("\n\n")
        lines = scenarios.splitlines()
        files = {p.stem for p in (context.TREE / "tools/lab/scenarios").glob("*.toml")}
        self.assertEqual({line.split()[0] for line in lines}, files)
        self.assertTrue(all(len(line.split()) > 3 for line in lines))
        self.assertEqual(controls, "Congestion controls (--cc): bbr, bolt, cubic, dctcp, reno, swift, vegas\n\n"
                         f"The scenarios are in {context.TREE}/tools/lab/scenarios\n")

    def test_only_what_is_asked_for(self):
        controls = "bbr\nbolt\ncubic\ndctcp\nreno\nswift\nvegas\n"
        self.assertEqual(lab("list", "--cc").stdout, controls)
        qdiscs = lab("list", "--qdisc").stdout
        self.assertLessEqual({"bfifo", "fq_codel", "netem", "pfifo", "red", "sfc", "sfc_hold", "tbf"}, set(qdiscs.splitlines()))
        self.assertFalse({"ingress", "default", "fifo", "mqprio_lib"} & set(qdiscs.splitlines()))
        self.assertEqual(lab("list", "--qdisc", "--cc").stdout, f"{controls}\n{qdiscs}")

    def test_without_a_command(self):
        result = lab()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertTrue(result.stderr.startswith("usage: lab "))
        self.assertIn("run a scenario", result.stderr)

    def test_help_of_the_demo(self):
        for command in ((LAB, "demo"), (LAB.with_name("demo"),)):
            with tempfile.TemporaryDirectory(prefix="lab-test-") as directory:
                result = subprocess.run([*command, "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=directory)
                self.assertEqual((result.returncode, result.stderr, list(Path(directory).iterdir())), (0, "", []))
                self.assertIn("usage: lab demo", result.stdout)
                result = subprocess.run([*command, "--fast"], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=directory)
                self.assertEqual((result.returncode, len(result.stderr.splitlines()), list(Path(directory).iterdir())), (2, 1, []))


class New(unittest.TestCase):
    def setUp(self):
        self.out = Path(tempfile.mkdtemp(prefix="lab-test-"))

    def test_a_scenario_to_begin_with(self):
        path = self.out / "mine.toml"
        result = lab("new", str(self.out / "mine"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{path}\n", ""))
        (_, s), *rest = schema.load(path)
        self.assertEqual((s.name, len(s.flow), [cc for cc, _ in rest]), ("mine", 2, ["cubic"]))

    def test_what_it_has_as_comments_is_right(self):
        lab("new", str(self.out / "mine.toml"))
        lines = (self.out / "mine.toml").read_text().splitlines()
        hidden = [n for n, line in enumerate(lines) if re.match(r"#\S", line)]
        self.assertGreater(len(hidden), 20)
        for n in hidden:
            lines[n] = lines[n][1:]
        (self.out / "mine.toml").write_text("\n".join(lines) + "\n")
        scenarios = schema.load(self.out / "mine.toml", cc=["bolt", "dctcp"])
        self.assertTrue(all(s.fault and s.event and s.program and s.workload and s.incast for _, s in scenarios))

    def test_nothing_is_overwritten(self):
        path = self.out / "mine.toml"
        path.write_text("a user's")
        for name, says in ((str(path), "exists already"), (str(self.out / "flow-join"), "is a scenario of the lab"), (str(self.out / 'a"b'), "is not a name"),
                           (str(self.out / "no/such"), "No such file")):
            result = lab("new", name)
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result.stderr)
            self.assertIn(says, result.stderr)
        self.assertEqual(path.read_text(), "a user's")
        self.assertEqual(list(self.out.iterdir()), [path])


class Readme(unittest.TestCase):
    """What README.md says that one can type, and its tables."""

    lines = (context.TREE / "README.md").read_text().splitlines()

    def test_commands_of_the_lab(self):
        found = [shlex.split(line, comments=True)[1:] for line in self.lines if line.startswith("    tools/lab/lab ")]
        self.assertEqual({words[0] for words in found}, {"run", "slowdown", "sweep"})
        for words in found:
            args = cli.parser().parse_args(words)
            for one in args.scenarios if args.what == "run" else [args.scenario] if args.what == "sweep" else ():
                schema.load(cli.find_scenario(one), cli.congestion_controls(args.cc), [s for s in args.sets if "," not in s])

    def test_targets_of_make(self):
        found = {word for line in self.lines for word in re.findall(r"(?:^    |`|&& |\()(?:sudo )?make ([a-z-]+)", line)}
        self.assertLessEqual({"demo", "check", "check-long", "packages", "site", "help", "install"}, found)
        targets = {word for line in (context.TREE / "Makefile").read_text().splitlines() for word in (re.match(r"([a-z][a-z -]*):", line) or ["", ""])[1].split()}
        self.assertLessEqual(found, targets)

    def test_tables_have_as_many_columns_in_each_row(self):
        def columns(line):
            return len(re.split(r"(?<!\\)\|", line)) - 2
        begins = [i for i, line in enumerate(self.lines) if re.fullmatch(r"\|[-:|]+\|", line)]
        self.assertGreater(len(begins), 2)
        for i in begins:
            row = i - 1
            while row < len(self.lines) and self.lines[row].startswith("|"):
                self.assertEqual(columns(self.lines[row]), columns(self.lines[i]), self.lines[row])
                row += 1

    def test_the_picture_is_of_the_tables_run(self):
        svg = (context.TREE / "Documentation/images/fct-star-slowdown.svg").read_text()
        tick = {int(n): float(y) - 4 for y, n in re.findall(r'y="([\d.]+)" text-anchor="end">(\d+)<', svg)}
        per = (tick[1] - tick[10]) / math.log(10)
        drawn = {name: [math.exp((tick[1] - float(p.split(",")[1])) / per) for p in points.split()]
                 for name, points in zip(re.findall(r">([a-z ]+ p\d\d)</text>", svg), re.findall(r'points="([^"]*)"', svg))}
        at = next(i for i, line in enumerate(self.lines) if line.startswith("| message size"))
        names = [name.strip() for name in self.lines[at].split("|")[3:-1]]
        for row, line in enumerate(self.lines[at + 2:at + 9]):
            for name, cell in zip(names, line.split("|")[3:-1]):
                for p, said in zip(("p50", "p99"), map(float, cell.split("/"))):
                    self.assertLess(abs(drawn[f"{name} {p}"][row] - said), 0.05 + 0.003 * said, (line, name, p))


if __name__ == "__main__":
    unittest.main()
