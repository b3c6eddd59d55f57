# SPDX-License-Identifier: GPL-2.0
"""--module: what is one, whose kernel it is of, and what a directory's build depends on."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import context  # noqa: F401
from boltlab import build, modules
from boltlab.build import RunError

MAGIC = "6.12.117 mod_unload "


class Modules(unittest.TestCase):
    def setUp(self):
        self.top = Path(tempfile.mkdtemp(prefix="lab-test-"))
        self.built = build.Built(self.top / "kdir", "6.12.117", self.top / "load", self.top / "tools", "0123")
        self.built.modules.mkdir()
        self.module("load/lablink.ko")
        patched = mock.patch.object(build, "cache", lambda: self.top)
        patched.start()
        self.addCleanup(patched.stop)

    def module(self, name, magic=MAGIC):
        path = self.top / name
        path.write_bytes(b"\x7fELF\0name=mine\0vermagic=" + magic.encode() + b"\0rest")
        return str(path)

    def refused(self, run, *values):
        with self.assertRaises(RunError) as caught:
            run(*values)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_refuses_before_anything_is_built(self):
        (self.top / "text.ko").write_text("vermagic=6.12\0")
        (self.top / "source").mkdir()
        (self.top / "mine.bpf.c").touch()
        for name, why in (("mine.bpf.c", "the lab's kernel has no BPF struct_ops"), ("none", "there is no such file"), ("text.ko", "is not a kernel module"), ("source", "has no Kbuild")):
            self.assertIn(f"--module {self.top / name}: {why}", self.refused(modules.check, [str(self.top / name)]))
        (self.top / "source" / "Makefile").touch()
        modules.check([str(self.top / "source"), self.module("mine.ko")])

    def test_of_this_kernel_only(self):
        mine = self.module("mine.ko", "6.1.0-56-amd64 SMP ")
        self.assertIn("another kernel, 6.1.0-56-amd64, not for the lab's 6.12.117", self.refused(modules.beside, self.built, [mine]))

    def test_beside_the_labs_own(self):
        self.assertIs(modules.beside(self.built, []), self.built)
        mine = self.module("mine.ko")
        both = modules.beside(self.built, [mine])
        self.assertEqual(sorted(p.name for p in both.modules.glob("*.ko")), ["lablink.ko", "mine.ko"])
        self.assertEqual(list(both.own), ["mine"])
        self.assertEqual(modules.beside(self.built, [mine]).modules, both.modules)
        self.assertIn("given twice", self.refused(modules.beside, self.built, [mine, mine]))

    def test_parameters(self):
        mine = self.module("mine.ko", MAGIC + "\0parmtype=beta:uint\0parmtype=steps:array of int\0")
        both = modules.beside(self.built, [f"{mine}:beta=3,steps=1,2"])
        self.assertEqual((both.modules / "mine.ko.parameters").read_text(), " beta=3 steps=1,2")
        self.assertTrue(both.own["mine"].endswith(" beta=3 steps=1,2"))
        plain = modules.beside(self.built, [mine])
        self.assertEqual(sorted(p.name for p in plain.modules.iterdir()), [".complete", "lablink.ko", "mine.ko"])
        self.assertIn(f"--module {mine}: has no parameter bet", self.refused(modules.beside, self.built, [f"{mine}:bet=3"]))
        modules.check([f"{mine}:beta=3"])

    def test_one_takes_the_place_of_the_labs(self):
        mine = self.module("lablink.ko", MAGIC + "mine")
        with mock.patch.object(modules, "_taken", lambda value, built: Path(value)):
            load = modules.beside(self.built, [mine]).modules
        self.assertEqual((load / "lablink.ko").read_bytes(), Path(mine).read_bytes())

    def test_a_build_depends_on_its_sources(self):
        source = self.top / "source"
        (source / "sub").mkdir(parents=True)
        for name in ("Kbuild", "a.c", "a.o", ".a.o.cmd", "sub/b.h", "sub/b.ko", "Module.symvers"):
            (source / name).touch()
        self.assertEqual(modules._files(str(source)), ["Kbuild", "a.c", "sub/b.h"])

        def make(args, log):
            Path(log).write_text(f"{log.parent}/a.c:1:2: error: no\nmake: *** Error 2\n")
            return 2
        with mock.patch.object(build, "make", make), mock.patch.object(modules, "progress"):
            said = self.refused(modules.beside, self.built, [str(source)])
        self.assertIn(f"does not build for 6.12.117: {source}/a.c:1:2: error: no (all of it: ", said)


if __name__ == "__main__":
    unittest.main()
