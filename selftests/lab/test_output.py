# SPDX-License-Identifier: GPL-2.0
"""The directory that results go to: what is not the lab's stays, what is does not stay beside a result that does not name it."""

import errno
import json
import os
import resource
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import context
from boltlab import build, runner, up
from boltlab.build import RunError
from boltlab.output import HEAD, MANIFEST, Output
from test_report import make_result


class Case(unittest.TestCase):
    def setUp(self):
        self.top = Path(tempfile.mkdtemp(prefix="lab-test-")).resolve()
        self.out = self.top / "out"

    def write(self, *paths, text="a user's"):
        for path in paths:
            (self.out / path).parent.mkdir(parents=True, exist_ok=True)
            (self.out / path).write_text(text)

    def tree(self):
        """Every file, the list aside."""
        return sorted(str(p.relative_to(self.out)) for p in self.out.rglob("*") if not p.is_dir() and p.name != MANIFEST)

    def listed(self):
        return [line.partition("\t")[0] for line in (self.out / MANIFEST).read_text().splitlines()[1:]]

    def run_writes(self, *paths, names=("result.json", "bolt/"), everything=True, **options):
        """What a command does that writes these."""
        with Output(self.out, names, **options) as place:
            place.begin(everything)
            self.write(*paths, text="the lab's")

    def refused(self, says, names=("result.json", "bolt/")):
        with self.assertRaises(RunError) as caught, Output(self.out, names):
            self.fail("not refused")
        for part in says:
            self.assertIn(part, str(caught.exception))


class New(Case):
    def test_the_first_number_that_nobody_has(self):
        os.mkdir(self.top / "mine-1")
        (self.top / "mine-2").write_text("a user's")
        for n in (3, 4):
            with Output.new(self.top / "mine", ("result.json",)) as place:
                place.begin(True)
                (place.path / "result.json").write_text("the lab's")
            self.assertEqual(place.path, self.top / f"mine-{n}")

    def test_nothing_is_left_of_what_wrote_nothing(self):
        with self.assertRaises(RunError), Output.new(self.top / "mine", ("result.json",)):
            self.assertTrue((self.top / "mine-1").exists())
            raise RunError("the kernel does not build")
        self.assertEqual(list(self.top.iterdir()), [])


class Keeps(Case):
    def test_what_a_user_has_there(self):
        for theirs in ("bolt", "bolt/notes.txt", "bolt/deep/er/notes.txt", "result.json", "result.json/x"):
            with self.subTest(theirs=theirs):
                self.setUp()
                self.write(theirs, "other.txt")
                self.refused([str(self.out / theirs), "--force"])
                self.assertEqual(self.tree(), sorted([theirs, "other.txt"]))
                self.assertFalse((self.out / MANIFEST).exists())

    def test_links_are_not_followed(self):
        self.write("../elsewhere/flow-1.csv")
        for name in ("bolt", "result.json"):
            self.setUp()
            self.out.mkdir()
            (self.out / name).symlink_to(self.top / "elsewhere")
            self.refused([str(self.out / name)])

    def test_a_link_in_place_of_a_listed_directory(self):
        self.run_writes("bolt/flow-1.csv")
        (self.out / "bolt").rename(self.top / "kept")
        (self.out / "bolt").symlink_to(self.top / "kept")
        self.refused([str(self.out / "bolt")])
        self.run_writes("bolt/flow-2.csv", force=True)
        self.assertEqual((self.top / "kept" / "flow-1.csv").read_text(), "the lab's")

    def test_a_list_that_leads_elsewhere(self):
        self.write("../precious", "../abs")
        self.write(MANIFEST, text=f"{HEAD}\n../precious\n{self.top}/abs\nbolt/../../precious\n")
        self.run_writes("bolt/flow-1.csv")
        self.assertTrue((self.top / "precious").exists() and (self.top / "abs").exists())

    def test_what_a_user_added_after_a_run_was_killed(self):
        for names in (("result.json", "bolt/"), ("result.json", "cubic/")):
            with self.subTest(names=names):
                self.setUp()
                place = Output(self.out, ("result.json", "bolt/")).__enter__()
                place.begin()
                self.write("bolt/flow-1.csv", text="the lab's")
                os.close(place.fd)
                self.write("bolt/thesis.tex", "result.json")
                self.run_writes("result.json", names=names)
                self.assertEqual(self.tree(), ["bolt~/flow-1.csv", "bolt~/thesis.tex", "result.json", "result.json~"])
                self.assertEqual((self.out / "result.json~").read_text(), "a user's")

    def test_what_a_user_put_in_place_of_a_listed_file(self):
        for theirs in ("bolt/flow-1.csv", "result.json", "queue.png"):
            with self.subTest(theirs=theirs):
                self.setUp()
                names = ("result.json", "queue.png", "bolt/")
                self.run_writes("bolt/flow-1.csv", "result.json", "queue.png", names=names)
                self.write(theirs, text="a user's.")
                os.utime(self.out / theirs, (1, 1))     # of the same size, and older
                self.refused([str(self.out / theirs), "--force"], names=names)
                self.run_writes(names=names, force=True)
                top, _, rest = theirs.partition("/")
                self.assertEqual((self.out / f"{top}~" / rest).read_text(), "a user's.")

    def test_the_same_where_the_new_run_writes_nothing(self):
        self.run_writes("cubic/flow-1.csv", "cubic/flow-2.csv", names=("result.json", "cubic/"))
        self.write("cubic/flow-1.csv")
        self.run_writes("bolt/flow-1.csv")
        self.assertEqual(self.tree(), ["bolt/flow-1.csv", "cubic/flow-1.csv"])
        self.assertEqual((self.out / "cubic/flow-1.csv").read_text(), "a user's")

    def test_what_a_user_put_there_during_a_run(self):
        for theirs in ("bolt/thesis.tex", "bolt/mine.csv", "bolt/deep/flow-1.csv", "bolt/Makefile", "bolt/commands.txt~"):
            with self.subTest(theirs=theirs):
                self.setUp()
                self.run_writes("bolt/flow-1.csv", "bolt/console.log", "bolt/program-1.out", "bolt/raw/plan", theirs)
                self.assertNotIn(theirs, self.listed())
                self.refused([str(self.out / theirs)])
                self.run_writes(names=("result.json", "cubic/"))
                self.assertEqual(self.tree(), [theirs])

    def test_a_link_that_a_user_put_there_during_a_run(self):
        self.write("../x.csv")
        with Output(self.out, ("bolt/",)) as place:
            place.begin()
            (self.out / "bolt").mkdir()
            (self.out / "bolt/flow-1.csv").symlink_to(self.top / "x.csv")
        self.refused([str(self.out / "bolt/flow-1.csv")])

    def test_a_list_of_paths_alone(self):
        self.write("bolt/flow-1.csv")
        self.write(MANIFEST, text=f"{HEAD}\nbolt/flow-1.csv\n")
        self.refused([str(self.out / "bolt/flow-1.csv")])

    def test_a_file_of_that_name_that_is_no_list(self):
        self.write(MANIFEST)
        self.refused([MANIFEST])
        self.assertEqual((self.out / MANIFEST).read_text(), "a user's")

    def test_with_force_under_another_name(self):
        self.write("bolt/notes.txt", "bolt~/older.txt", "result.json")
        self.run_writes("bolt/flow-1.csv", "result.json", force=True)
        self.assertEqual(self.tree(), ["bolt/flow-1.csv", "bolt~/older.txt", "bolt~~/notes.txt", "result.json", "result.json~"])
        self.assertEqual((self.out / "result.json~").read_text(), "a user's")
        self.assertEqual(self.listed(), ["bolt/flow-1.csv", "result.json"])


class Replaces(Case):
    def test_what_an_earlier_run_left(self):
        self.run_writes("bolt/flow-4.csv", "cubic/flow-1.csv", "result.json", names=("result.json", "bolt/", "cubic/"))
        self.write("cubic/notes.txt", "other.txt")
        self.run_writes("bolt/flow-5.csv", "result.json")
        self.assertEqual(self.tree(), ["bolt/flow-5.csv", "cubic/notes.txt", "other.txt", "result.json"])
        self.assertEqual(self.listed(), ["bolt/flow-5.csv", "result.json"])

    def test_pictures_alone(self):
        self.run_writes("bolt/flow-1.csv", "result.json", "queue.png", "rate.png", names=("result.json", "bolt/", "queue.png", "rate.png"))
        self.run_writes("queue.png", names=("queue.png", "rate.png"), everything=False)
        self.assertEqual(self.tree(), ["bolt/flow-1.csv", "queue.png", "result.json"])
        self.assertEqual(self.listed(), ["bolt/flow-1.csv", "queue.png", "result.json"])

    def test_what_a_killed_run_left(self):
        place = Output(self.out, ("result.json", "bolt/")).__enter__()
        place.begin()
        self.write("bolt/flow-1.csv", "bolt/raw/plan")
        os.close(place.fd)
        self.run_writes("bolt/flow-2.csv")
        self.assertEqual(self.tree(), ["bolt/flow-2.csv", "bolt~/flow-1.csv", "bolt~/raw/plan"])
        self.run_writes("bolt/flow-3.csv")
        self.assertEqual(self.tree(), ["bolt/flow-3.csv", "bolt~/flow-1.csv", "bolt~/raw/plan"])

    def test_a_run_that_was_refused_keeps_the_earlier_result(self):
        self.run_writes("bolt/flow-1.csv", "result.json")
        with Output(self.out, ("result.json", "cubic/")):
            pass
        self.assertEqual(self.listed(), ["bolt/flow-1.csv", "result.json"])
        self.assertEqual(self.tree(), ["bolt/flow-1.csv", "result.json"])

    def test_nothing_is_left_of_nothing(self):
        with Output(self.out / "a" / "b", ("result.json",)):
            self.assertTrue((self.out / "a" / "b").exists())
        self.assertFalse(self.out.exists())

    def test_one_at_a_time(self):
        with Output(self.out, ("result.json",)):
            self.refused(["another command"])
        self.run_writes("result.json")


class Neighbours(Case):
    def test_old_builds_of_a_cache_that_is_a_home(self):
        self.write("../run-to-the-hills/notes.txt", "../own-work/thesis.tex")
        for n in range(20):
            self.write(f"../run-6.12-{n}/complete", f"../own-6.12-{n}/.complete")
            for name in ("run", "own"):
                os.utime(self.top / f"{name}-6.12-{n}", (n + 10, n + 10))
        for theirs in ("run-to-the-hills", "own-work"):
            os.utime(self.top / theirs, (1, 1))
        with unittest.mock.patch.dict(os.environ, {"BOLT_LAB_CACHE": str(self.top)}):
            for pattern in ("run-*-*", "own-*"):
                build.forget_old(pattern, self.top / "none")
        left = sorted({p.name for p in self.top.iterdir()} - {"out"})
        self.assertEqual(left, sorted([f"{name}-6.12-{n}" for name in ("run", "own") for n in range(8, 20)] + ["own-work", "run-to-the-hills"]))

    def test_what_else_is_where_a_network_is_up(self):
        for name in ("lock", "about.json", "died", "input", "log", "console.log"):
            self.write(name)
        self.write("thesis.tex", "deep/notes.txt", "../up-0/raw/plan", "../up-0/program-12.err")
        (self.out / "guest").symlink_to(self.top / "up-0")
        up.forget(self.out)
        self.assertEqual((self.tree(), (self.top / "up-0").exists()), (["deep/notes.txt", "lock", "thesis.tex"], False))
        (self.out / "guest").symlink_to(self.out / "deep")
        up.forget(self.out)
        self.assertEqual(self.tree(), ["deep/notes.txt", "lock", "thesis.tex"])

    def test_figures(self):
        self.write("pages/index.rst", "Snakefile")
        result = subprocess.run([context.TREE / "tools/figures/make", "--out", self.out, "bolt-10"], capture_output=True, text=True,
                                env=os.environ | {"PATH": str(self.top)}, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(str(self.out), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertEqual(self.tree(), ["Snakefile", "pages/index.rst"])
        self.assertEqual((self.out / "Snakefile").read_text(), "a user's")

    def test_figures_ask_for_sphinx_before_they_run(self):
        (self.top / "snakemake").write_text(f"#!/bin/sh\n: >{self.top}/ran\nexit 1\n")
        (self.top / "snakemake").chmod(0o755)
        result = subprocess.run([context.TREE / "tools/figures/make", "--out", self.top / "new", "bolt-10"], capture_output=True, text=True,
                                env=os.environ | {"PATH": str(self.top)}, check=False)
        self.assertEqual((result.returncode, result.stderr), (1, "figures: sphinx-build is missing; install python3-sphinx and furo\n"))
        self.assertIn("/check_results --whole ", (self.top / "new/figures.json").read_text())
        self.assertFalse((self.top / "ran").exists())


class Command(Case):
    """Before anything is built: the cache of these has no kernel."""

    def lab(self, *args, **options):
        env = {"BOLT_LAB_CACHE": str(self.top / "cache")}
        if not options:
            return context.lab(*args, env=env)
        return subprocess.run([context.LAB, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ | env, **options)

    def refused_by(self, *args, says, **options):
        result = self.lab(*args, **options)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in says:
            self.assertIn(part, result.stderr)
        self.assertEqual(list((self.top / "cache").glob("kernel*")), [])

    def test_run_into_the_current_directory(self):
        self.write("bolt/thesis.tex")
        self.refused_by("run", "flow-join", "--cc", "bolt", "--out", ".", cwd=self.out, says=[str(self.out / "bolt/thesis.tex"), "--force"])
        self.assertEqual(self.tree(), ["bolt/thesis.tex"])

    def test_run_over_a_picture(self):
        self.write("queue.png")
        self.refused_by("run", "flow-join", "--out", str(self.out), says=[str(self.out / "queue.png"), "--force"])

    def test_plot_over_a_picture(self):
        self.write("queue.png")
        make_result(self.out, samples=30)
        self.refused_by("plot", str(self.out), says=[str(self.out / "queue.png"), "--force"])
        self.refused_by("plot", str(self.out), str(self.out), "--out", str(self.out), says=[str(self.out / "queue.png"), "--force"])
        self.assertEqual((self.out / "queue.png").read_text(), "a user's")
        result = self.lab("plot", str(self.out), "--force")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.out / "queue.png~").read_text(), "a user's")

    def test_plots_list_all_they_write(self):
        self.out.mkdir()
        make_result(self.out, samples=30)
        before, other = self.tree(), self.top / "other"
        for command in (("plot", str(self.out)), ("plot", str(self.out)), ("plot", str(self.out), str(self.out), "--out", str(other))):
            self.assertEqual(self.lab(*command).returncode, 0)
        self.assertEqual(self.listed(), sorted(set(self.tree()) - set(before)))
        self.assertIn("report.html", self.listed())
        self.out = other
        self.assertEqual(self.listed(), self.tree())

    def test_two_at_once(self):
        with Output(self.out, ("result.json",)):
            self.refused_by("run", "flow-join", "--out", str(self.out), says=["another command"])

    def test_a_place_that_cannot_be(self):
        self.write("file")
        for place in ("/proc/lab-test", "/dev/null/x", str(self.out / "file"), str(self.out / "file/x")):
            self.refused_by("run", "flow-join", "--out", place, says=[place])
        make_result(self.out, samples=30)
        self.refused_by("plot", str(self.out), str(self.out), "--out", str(self.out / "file"), says=[str(self.out / "file")])

    def test_a_full_disk(self):
        self.out.mkdir()
        make_result(self.out, samples=30)
        before = self.tree()
        self.assertEqual(self.lab("plot", str(self.out)).returncode, 0)     # its cache has matplotlib's fonts then

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        self.refused_by("plot", str(self.out), says=["File too large"], preexec_fn=little_room)
        self.assertEqual(self.lab("plot", str(self.out)).returncode, 0)
        self.assertLess(set(before), set(self.tree()))

    def test_a_disk_that_fills_is_a_failure_of_its_run(self):
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        why = [RunError("it panicked"), full]

        def ends(backend, built, plan, raw, *_):
            (raw / "console.log").write_text("text")
            raise why.pop(0)
        with unittest.mock.patch.object(runner.guest, "run", ends), unittest.mock.patch.object(runner.shutil, "copyfile", side_effect=full):
            runs, failures = runner.run_all(runner.load(context.write(context.BASE), ["bolt", "cubic"], (), ()), 1, "uml", None, self.out, "6.12", False, 1)
            self.assertEqual((runs, failures), ([], ["test: bolt: it panicked", f"test: cubic: {full}"]))
            why += [RunError("labguest: plan:122: samples.bin"), KeyError("state")]
            with unittest.mock.patch.object(os, "posix_fallocate", side_effect=full):
                _, failures = runner.run_all(runner.load(context.write(context.BASE), ["bolt", "cubic"], (), ()), 1, "uml", None, self.out, "6.12", False, 1)
        self.assertEqual(failures, [f"test: {cc}: {self.out}: {full.strerror}" for cc in ("bolt", "cubic")])
        self.assertEqual(self.tree(), [])

    def test_a_result_of_something_else(self):
        self.out.mkdir()
        good = make_result(self.out, samples=30)
        part = good | {"runs": [{k: v for k, v in good["runs"][0].items() if k != "links"}]}
        for text in ("", "[]", "7", '"runs"', '{"runs": 7}', '{"runs": "text"}', '{"runs": [{}]}', '{"runs": [7]}', '{"runs": {"a": 1}}',
                     json.dumps(part), json.dumps(good | {"runs": [good["runs"][0] | {"links": 7}]})):
            with self.subTest(text=text[:40]):
                (self.out / "result.json").write_text(text)
                for command in (("show",), ("plot",)):
                    self.refused_by(*command, str(self.out), says=["result.json"])
        (self.out / "result.json").write_bytes(b"\xff\xfe")
        self.refused_by("show", str(self.out), says=["result.json"])
        (self.out / "result.json").unlink()
        (self.out / "result.json").mkdir()
        self.refused_by("show", str(self.out), says=["result.json"])


if __name__ == "__main__":
    unittest.main()
