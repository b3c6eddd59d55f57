# SPDX-License-Identifier: GPL-2.0
"""Which kernels the lab has, and what each of them is built of, as its builder says."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import ask, backends

KERNEL = context.TREE / "tools" / "lab" / "kernel"


def said(program, *args):
    """The one line that it refuses with."""
    with tempfile.TemporaryDirectory() as cache:
        result = subprocess.run([KERNEL / program, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                env=os.environ | {"BOLT_LAB_CACHE": cache})
        assert not list(Path(cache).iterdir()), "something was built"
    lines = result.stderr.splitlines()
    return f"{result.returncode}: {lines[0]}" if len(lines) == 1 and not result.stdout else f"{result}"


class Refuses(unittest.TestCase):
    def test_kernels_that_it_has_not(self):
        self.assertEqual(said("build", "--version", "7.2"), "1: lab kernel: unknown version '7.2' (6.12, 6.1, 7.3)")
        self.assertEqual(said("build", "--flavour", "fast"), "1: lab kernel: unknown flavour 'fast' (lab, debug, smp, kcsan)")
        self.assertEqual(said("build", "--flavour", "smp", "--version", "6.12"), "1: lab kernel: flavour smp is for 7.3 only")
        self.assertEqual(said("build", "--flavour", "kcsan", "--version", "6.1"), "1: lab kernel: flavour kcsan is for 7.3 only")


class Splats(unittest.TestCase):
    """What of a console fails a test."""
    RACE = "BUG: KCSAN: data-race in a / b"

    def first(self, *lines):
        with tempfile.NamedTemporaryFile("w") as console:
            console.write("".join(f"{line}\r\n" for line in lines))
            console.flush()
            return subprocess.run(["bash", "-c", f". {KERNEL}/splats; first_splat {console.name}"], check=True, capture_output=True,
                                  text=True).stdout.rstrip("\n")

    def race(self, how, function):
        return self.first("ok 1", self.RACE, "", f"{how} to 0x61add480 of 4 bytes by interrupt on cpu 1:", f" {function}",
                          " outer+0x5c/0x100 [tcp_bolt]", "read to 0x61add480 of 4 bytes by task 99 on cpu 0:", " tcp_ack+0x67/0x430")

    def test_what_no_kernel_may_say(self):
        self.assertEqual(self.first("ok 1", "WARNING: CPU: 0", "BUG: KASAN: b"), "WARNING: CPU: 0")
        self.assertEqual(self.first("ok 1", self.RACE, "BUG: KASAN: b"), "BUG: KASAN: b")
        self.assertEqual(self.first("ok 1", "reboot: Power down"), "")
        full = "Bus error - the host /dev/shm or /tmp mount likely just ran out of space"
        self.assertEqual(self.first(full, "Kernel panic - not syncing: Kernel mode signal 7"), full)

    def test_races_of_a_module_by_a_plain_access(self):
        self.assertEqual(self.race("write", "bolt_x+0x5c/0x100 [tcp_bolt]"), self.RACE)
        self.assertEqual(self.race("read-write", "sfc_x.part.0+0x5c/0x100 [sch_sfc]"), self.RACE)
        self.assertEqual(self.race("read (marked)", "bolt_x+0x5c/0x100 [tcp_bolt]"), "")
        self.assertEqual(self.race("write", "tcp_x+0x5c/0x100"), "")


@contextlib.contextmanager
def standing_in():
    """A directory with `run`, a kernel that only says where its memory is, and a setarch that is refused."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        for name in ("run", "splats"):
            shutil.copy(KERNEL / name, top)
        for name, text in (("build", f"echo {top}"), ("linux", 'echo "memory in $TMPDIR; reboot: "'), ("refused/setarch", "exit 1")):
            Path(top, name).parent.mkdir(exist_ok=True)
            Path(top, name).write_text(f"#!/bin/sh\n{text}\n")
            Path(top, name).chmod(0o755)
        Path(top, "lab-init").touch()
        yield top


class Refused(unittest.TestCase):
    def test_addresses_that_are_random_are_told(self):
        with standing_in() as top:
            result = subprocess.run([f"{top}/run", "--mem", "1M", "--log", f"{top}/console", "true"], check=False, capture_output=True, text=True,
                                    stdin=subprocess.DEVNULL, env=os.environ | {"PATH": f"{top}/refused:{os.environ['PATH']}"})
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, r"^lab kernel: warning: setarch -R is refused here: .*\n$")


class Noexec(unittest.TestCase):
    """What is on a file system that nothing may be executed from."""

    def mounted(self, at, command, **env):
        unshare = ["unshare", "-m", *([] if os.getuid() == 0 else ["-r"]), "sh", "-c"]
        if subprocess.run([*unshare, f"mount -t tmpfs -o noexec tmpfs {at}"], check=False, capture_output=True).returncode:
            self.skipTest("nothing may be mounted here")
        return subprocess.run([*unshare, f"mount -t tmpfs -o noexec tmpfs {at} && {command}"], env=os.environ | env, check=False,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def test_memory_goes_elsewhere(self):
        with standing_in() as top:
            result = self.mounted("/dev/shm", f"{top}/run --mem 1M --log {top}/console true", TMPDIR="/dev/shm")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(Path(top, "console").read_text(), "^memory in (/tmp|/var/tmp); ")

    def test_of_the_cache_it_is_said(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
            for what, says in (("build", f"lab: {top}/cache: is mounted noexec"), ("doctor", f"missing  cache {top}/cache: is mounted noexec")):
                result = self.mounted(top, f"{context.TREE}/tools/lab/lab {what}", BOLT_LAB_CACHE=f"{top}/cache")
                self.assertEqual(result.returncode, 1)
                self.assertIn(says, result.stdout + result.stderr)
                self.assertNotIn("Traceback", result.stderr)

    def test_doctor_says_it_of_the_memory(self):
        self.assertRegex(self.mounted("/dev/shm", f"{context.TREE}/tools/lab/lab doctor").stdout, "warning  /dev/shm: .* noexec")


class Has(unittest.TestCase):
    def test_those_of_the_command(self):
        for program in ("build", "run"):
            usage = re.search(r"^# usage: .*\[--version ([\d.|]+)\]", (KERNEL / program).read_text(), re.M)
            self.assertEqual(sorted(usage[1].split("|")), sorted(backends.KERNELS))
        for version in backends.KERNELS:
            self.assertTrue((KERNEL / "config" / f"lab-{version}.config").exists())

    def test_patches_of_one_kernel(self):
        """What is upstream in a later kernel is in the directory of the earlier ones."""
        common = {path.name for path in (KERNEL / "patches").glob("*.patch")}
        earlier = {path.name for path in (KERNEL / "patches" / "6").glob("*.patch")}
        self.assertTrue(common)
        self.assertEqual(earlier, {"0010-um-registers-on-hosts-with-AMX.patch"})

    def test_qdiscs(self):
        self.assertIn("dualpi2", ask.qdiscs("7.3"))
        self.assertEqual(set(ask.qdiscs("7.3")) - {"dualpi2"}, set(ask.qdiscs("6.12")))


if __name__ == "__main__":
    unittest.main()
