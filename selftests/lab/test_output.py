# SPDX-License-Identifier: GPL-2.0
"""The directory that results go to: what is not the lab's stays, what is does not stay beside a result that does not name it."""

import json
import os
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

import context
from boltlab.build import RunError
from boltlab.output import HEAD, MANIFEST, Output
from test_report import make_result

LAB = context.TREE / "tools" / "lab" / "lab"


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
        return (self.out / MANIFEST).read_text().splitlines()[1:]

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
        self.write("../elsewhere/x.csv")
        for name in ("bolt", "result.json"):
            self.setUp()
            self.out.mkdir()
            (self.out / name).symlink_to(self.top / "elsewhere")
            self.refused([str(self.out / name)])

    def test_a_link_in_place_of_a_listed_directory(self):
        self.run_writes("bolt/x.csv")
        (self.out / "bolt").rename(self.top / "kept")
        (self.out / "bolt").symlink_to(self.top / "kept")
        self.refused([str(self.out / "bolt")])
        self.run_writes("bolt/y.csv", force=True)
        self.assertEqual((self.top / "kept" / "x.csv").read_text(), "the lab's")

    def test_a_list_that_leads_elsewhere(self):
        self.write("../precious", "../abs")
        self.write(MANIFEST, text=f"{HEAD}\n../precious\n{self.top}/abs\nbolt/../../precious\n")
        self.run_writes("bolt/x.csv")
        self.assertTrue((self.top / "precious").exists() and (self.top / "abs").exists())

    def test_a_file_of_that_name_that_is_no_list(self):
        self.write(MANIFEST)
        self.refused([MANIFEST])
        self.assertEqual((self.out / MANIFEST).read_text(), "a user's")

    def test_with_force_under_another_name(self):
        self.write("bolt/notes.txt", "bolt~/older.txt", "result.json")
        self.run_writes("bolt/x.csv", "result.json", force=True)
        self.assertEqual(self.tree(), ["bolt/x.csv", "bolt~/older.txt", "bolt~~/notes.txt", "result.json", "result.json~"])
        self.assertEqual((self.out / "result.json~").read_text(), "a user's")
        self.assertEqual(self.listed(), ["bolt/x.csv", "result.json"])


class Replaces(Case):
    def test_what_an_earlier_run_left(self):
        self.run_writes("bolt/old.csv", "cubic/x.csv", "result.json", names=("result.json", "bolt/", "cubic/"))
        self.write("cubic/notes.txt", "other.txt")
        self.run_writes("bolt/new.csv", "result.json")
        self.assertEqual(self.tree(), ["bolt/new.csv", "cubic/notes.txt", "other.txt", "result.json"])
        self.assertEqual(self.listed(), ["bolt/new.csv", "result.json"])

    def test_pictures_alone(self):
        self.run_writes("bolt/x.csv", "result.json", "queue.png", "rate.png", names=("result.json", "bolt/", "queue.png", "rate.png"))
        self.run_writes("queue.png", names=("queue.png", "rate.png"), everything=False)
        self.assertEqual(self.tree(), ["bolt/x.csv", "queue.png", "result.json"])
        self.assertEqual(self.listed(), ["bolt/x.csv", "queue.png", "result.json"])

    def test_what_a_killed_run_left(self):
        place = Output(self.out, ("result.json", "bolt/")).__enter__()
        place.begin()
        self.write("bolt/x.csv", "bolt/raw/plan")
        os.close(place.fd)
        self.run_writes("bolt/y.csv")
        self.assertEqual(self.tree(), ["bolt/y.csv"])

    def test_a_run_that_was_refused_keeps_the_earlier_result(self):
        self.run_writes("bolt/x.csv", "result.json")
        with Output(self.out, ("result.json", "cubic/")):
            pass
        self.assertEqual(self.listed(), ["bolt/x.csv", "result.json"])
        self.assertEqual(self.tree(), ["bolt/x.csv", "result.json"])

    def test_nothing_is_left_of_nothing(self):
        with Output(self.out / "a" / "b", ("result.json",)):
            self.assertTrue((self.out / "a" / "b").exists())
        self.assertFalse(self.out.exists())

    def test_one_at_a_time(self):
        with Output(self.out, ("result.json",)):
            self.refused(["another command"])
        self.run_writes("result.json")


class Command(Case):
    """Before anything is built: the cache of these has no kernel."""

    def lab(self, *args, **options):
        return subprocess.run([LAB, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=os.environ | {"BOLT_LAB_CACHE": str(self.top / "cache")}, **options)

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
        self.assertEqual(self.lab("plot", str(self.out), "--force").returncode, 0)
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
