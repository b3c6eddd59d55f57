# SPDX-License-Identifier: GPL-2.0
"""Each line of selftests/mutations still breaks the code that it names in one place, and its test is there."""

import importlib.machinery
import importlib.util
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

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
                if m.script:
                    said = "".join((SELFTESTS / "net" / name).read_text(encoding="utf-8") for name in {
                        "option_table.py": ["option_table"], "offload_ipv4.sh": ["offload_matrix", m.script]}.get(m.script, [m.script]))
                    self.assertRegex(said, rf"(?m)^(test_{m.row}\(|def {m.row}\(|{m.row}:)" if m.row else ".")

    def test_noticed(self):
        """What a group says of the test "second" of a.sh, and whether that is to notice the mutation"""
        net, kunit, qemu = (mutate.Mutation(f"file | s/a/b/ | {what} second") for what in ("net | a.sh", "kunit |", "qemu | a.sh"))
        file = ["    KTAP version 1", "    1..2"]
        healthy = [*file, "    ok 1 first", "    ok 2 second", "ok 2 a.sh"]
        for m, what, said, why in (
                (net, "passes", healthy, "a.sh second passes"),
                (net, "fails", [*file, "    ok 1 first", "    not ok 2 second", "not ok 2 a.sh"], None),
                (net, "no room", ["    lab kernel: no room for 1G of guest memory", "not ok 2 a.sh"], "a.sh second did not run"),
                (net, "nothing", ["not ok 2 a.sh"], "a.sh second did not run"),
                (net, "too slow", [*file, "    lab kernel: no end after 9 s (console: x)", "not ok 2 a.sh"], "a.sh second did not run"),
                (net, "hangs", [*file, "    ok 1 first", "    lab kernel: no end after 9 s (console: x)", "not ok 2 a.sh"], None),
                (net, "dies", [*file, "    lab kernel: BUG: KASAN: null (console: x)", "not ok 2 a.sh"], None),
                (net, "killed", ["    lab kernel: Bus error - the host has no room (console: x)", "not ok 2 a.sh"], "a.sh second did not run"),
                (kunit, "hangs", ["    lab kernel: no end after 9 s (console: x)", "not ok 2 kunit"], None),
                (kunit, "ends", ["    lab kernel: ended by itself with 139: x (console: x)", "not ok 2 kunit"], None),
                (qemu, "ends", [*file, "    ok 1 first", "not ok 2 tests"], None)):
            with self.subTest(what), tempfile.TemporaryDirectory() as tmp, mock.patch.object(mutate, "TOP", f"{tmp}/top"):
                guest = Path(tmp, "top/selftests/groups/guest")
                guest.parent.mkdir(parents=True)
                guest.touch(0o755)
                Path(tmp, "top/file").write_text("a\n", encoding="utf-8")
                guest.write_text("#!/bin/sh\ncat <<.\n" + "\n".join(["ok 1 build", *said]) + "\n.\n", encoding="utf-8")
                tree = mutate.Tree(tmp)
                self.assertEqual(mutate.survives(tree, m, {"build": True, "first": True, "second": True, "a.sh": True}), why)
