# SPDX-License-Identifier: GPL-2.0
"""Where things are built, and which tree they are built from: paths that make or a shell would take for others."""

import os
import re
import runpy
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import doctor

MAKEFILES = {".": "O", "tools": "O", "selftests": "O", "selftests/fuzz": "O", "tools/subrtt": "OUT", "tools/lab/guest": "OUT"}
# with what each of them does nothing
SCRIPTS = {
    "selftests/groups/build": (), "selftests/groups/demo": (), "selftests/groups/fuzz": (), "selftests/groups/guest": ("lab",),
    "selftests/groups/net": (), "selftests/groups/clean": (), "selftests/groups/packages": (), "selftests/groups/qemu": (),
    "selftests/groups/qemu_long": (), "selftests/qemu/machine": (), "tools/packages": (), "tools/lab/debian13": (),
    "tools/lab/demo": ("--help",), "tools/lab/install-deps": ("--help",), "tools/lab/kernel/build": ("--help",), "tools/lab/kernel/run": ("--help",),
    "tools/lab/qemu/fetch": ("--help",), "tools/lab/qemu/minbase": (), "tools/lab/qemu/rootfs": ("--help",), "tools/lab/qemu/run": ("--help",),
}


class Case(unittest.TestCase):
    def setUp(self):
        self.top = Path(tempfile.mkdtemp(prefix="lab-test-")).resolve()
        self.addCleanup(shutil.rmtree, self.top)
        self.precious = []

    def copy(self, where="tree"):
        tree = self.top / where
        shutil.copytree(context.TREE, tree, symlinks=True, ignore=lambda here, _: {"__pycache__"} | (
            {".git", "build"} if Path(here) == context.TREE else set()))
        return tree

    def keep(self, path):
        """A file of a user's that has to stay."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a user's")
        self.precious.append(path)
        return path

    def command(self, *words, cwd=None, **env):
        env = {k: v for k, v in os.environ.items() if k not in ("O", "OUT", "MAKEFLAGS", "MAKELEVEL") and not k.startswith(("BOLT_CHECK_", "BOLT_FUZZ_", "BOLT_SOAK_", "BOLT_TOGGLES", "FUZZ_"))} | env
        return subprocess.run([str(w) for w in words], cwd=cwd or self.top, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def refused(self, *words, says="", **options):
        """In one line, and nothing has gone."""
        result = self.command(*words, **options)
        self.assertNotEqual(result.returncode, 0, result)
        lines = [line for line in (result.stdout + result.stderr).splitlines() if not re.match(r"make.*(ing directory|Error \d)", line)]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(says, lines[0])
        for path in self.precious:
            self.assertTrue(path.exists(), f"{words}: removed {path}")

    def git(self, *words):
        result = self.command("git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words)
        self.assertEqual(result.returncode, 0, result.stderr)


class Make(Case):
    def test_a_tree_that_is_not_one_word(self):
        self.keep(self.top / "a" / "thesis.tex")
        for name in ("a b", "a;b", "a'b", "a$b", "a(b", "a#b", "a:b"):
            tree = self.copy(f"{name}/tree")
            for where in MAKEFILES:
                with self.subTest(tree=tree, where=where):
                    for goals in (("clean",), ("farm",), ("-n",)):
                        self.refused("make", *goals, cwd=tree / where, says=str(tree))

    def test_an_output_that_is_not_one_word_or_holds_the_sources(self):
        tree = self.copy()
        for name in ("x", "y", "above.txt"):
            self.keep(self.top / name)
        self.precious.append(tree / "Makefile")
        (self.top / "link").symlink_to(self.top)
        for where, name in MAKEFILES.items():
            for value in ("", " ", "x y", f"{self.top}/x {self.top}/y", "x;y", "x'y", "x$$y", "x#y", "x*", "x?", "a(b)", "a&b", "a|b", ".", "./", "..",
                          "../", f"{tree / where}", f"{tree / where}/.", "/", f"{self.top}/link/tree", "no/../.."):
                with self.subTest(where=where, value=value):
                    for goals in (("clean",), ("-n",)):
                        self.refused("make", *goals, f"{name}={value}", cwd=tree / where, says="O=")

    def test_output_of_the_environment_is_nobodys(self):
        tree = self.copy()
        kernels = self.keep(self.top / "kernel-build" / "vmlinux").parent
        (tree / "build").mkdir()
        for goals in (("clean",), ("farm", "KDIR=/none")):
            result = self.command("make", *goals, cwd=tree, O=str(kernels))
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(kernels), ["vmlinux"])
        for where, name in MAKEFILES.items():
            self.assertNotIn(str(kernels), self.command("make", "-n", cwd=tree / where, **{name: str(kernels)}).stdout)

    def test_clean_removes_what_was_made_here(self):
        tree = self.copy()
        theirs = self.keep(self.top / "theirs" / "thesis.tex").parent
        self.refused("make", "clean", f"O={theirs}", cwd=tree, says=str(theirs))
        # what is built in a directory with files does not make them ours
        self.assertEqual(self.command("make", "farm", f"O={theirs}", cwd=tree).returncode, 0)
        self.refused("make", "clean", f"O={theirs}", cwd=tree, says=str(theirs))
        self.keep(theirs / "site" / "index.html")
        self.refused("make", "site", f"O={theirs}", cwd=tree, says=str(theirs / "site"))
        for output in ("../new", "out", "build", ""):
            words = (f"O={output}",) if output else ()
            self.assertEqual(self.command("make", "farm", *words, cwd=tree).returncode, 0)
            made = tree / (output or "build")
            self.assertTrue((made / "modules/Kbuild").exists())
            self.assertEqual(self.command("make", "clean", *words, cwd=tree).returncode, 0)
            self.assertFalse(made.exists())
        self.assertEqual(self.command("make", "clean", "O=never", cwd=tree).returncode, 0)

    def test_site_replaces_its_own(self):
        tree = self.copy()
        theirs = self.keep(self.top / "theirs" / "thesis.tex").parent
        stubs = self.top / "stubs"
        for name, text in (("sphinx-build", 'for d; do :; done; mkdir -p "$d"; echo >"$d/index.html"'), ("mandoc", "exit 0")):
            stub = self.keep(stubs / name)
            stub.write_text(f"#!/bin/sh\n{text}\n")
            stub.chmod(0o755)
        for _ in range(2):
            result = self.command("make", "site", f"O={theirs}", cwd=tree, PATH=f"{stubs}:{os.environ['PATH']}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertFalse((theirs / "site" / "gone.html").exists())
            (theirs / "site" / "gone.html").touch()
        self.refused("make", "clean", f"O={theirs}", cwd=tree, says=str(theirs))

    def test_farm_removes_none_but_its_links(self):
        tree = self.copy()
        theirs = self.top / "theirs" / "modules"
        theirs.mkdir(parents=True)
        (theirs / "later").symlink_to("/nobody/has/this")
        for _ in range(2):
            self.assertEqual(self.command("make", "farm", f"O={theirs.parent}", cwd=tree).returncode, 0)
            gone = theirs / "tcp_bolt/main.c"
            self.assertTrue((theirs / "later").is_symlink())
            self.assertTrue(gone.is_symlink() or not (tree / "tcp_bolt/main.c").exists())
            (tree / "tcp_bolt/main.c").unlink(missing_ok=True)
        self.assertFalse(gone.is_symlink())

    def test_a_relative_output_is_of_this_tree(self):
        tree = self.copy()
        for words in (("tools", "O=out"), ("-C", "tools", "O=../out/tools"), ("-C", "tools/subrtt", "OUT=../../out"), ("-C", "selftests", "O=../out/s"),
                      ("-C", "tools/lab/guest", "OUT=../../../out")):
            self.builds_in(tree / "out", "-C", tree, *words)

    def test_without_one_it_is_build(self):
        tree = self.copy()
        for directory in MAKEFILES:
            with self.subTest(directory=directory):
                self.builds_in(tree / "build", "-C", tree / directory, *(["tools"] if directory == "." else []))

    def builds_in(self, out, *words):
        said = self.command("make", "-n", *words).stdout
        outputs = re.findall(r" -o (\S+)", said)
        self.assertTrue(outputs, said)
        for output in outputs:
            self.assertTrue(output.startswith(f"{out}/"), f"{words}: {output}")


class Scripts(Case):
    """A script works on the tree that it is in, however it is called."""

    def setUp(self):
        super().setUp()
        self.tree = self.copy()

    def decoy(self):
        """A directory for CDPATH that has whatever may be asked for."""
        for directory in [p.relative_to(self.tree) for p in self.tree.rglob("*") if p.is_dir()]:
            for above in ("", "selftests/groups/..", "selftests/groups/../.."):
                (self.top / "decoy" / above / directory).mkdir(parents=True, exist_ok=True)
        return str(self.top / "decoy")

    def trace(self, name, args, **options):
        result = self.command("bash", "-x", name, *args, **options)
        return result.returncode, result.stderr

    def test_with_CDPATH(self):
        decoy = self.decoy()
        for name, args in SCRIPTS.items():
            with self.subTest(name=name):
                plain, _ = self.trace(name, args, cwd=self.tree)
                status, said = self.trace(name, args, cwd=self.tree, CDPATH=decoy)
                self.assertEqual(status, plain)
                self.assertNotIn("decoy", said)

    def test_through_a_link(self):
        for n, (name, args) in enumerate(SCRIPTS.items()):
            with self.subTest(name=name):
                plain, _ = self.trace(self.tree / name, args)
                link = self.top / f"links-{n}" / Path(name).name
                link.parent.mkdir()
                link.symlink_to(self.tree / name)
                status, said = self.trace(link, args, cwd=link.parent)
                self.assertEqual(status, plain, said)
                self.assertNotIn("No such file", said)
                for line in re.findall(r"^\+ ((?:cd|here=|top=).*)", said, re.M):
                    self.assertIn(str(self.tree), line)

    def test_the_test_runner_through_a_link(self):
        for name, what in (("check", "HERE"), ("mutate", "TOP")):
            link = self.top / name
            link.symlink_to(self.tree / "selftests" / name)
            self.assertTrue(runpy.run_path(str(link))[what].startswith(str(self.tree)))


class History(Case):
    """A tree has the files and the commit of a repository that is its own, and of no other."""

    def setUp(self):
        super().setUp()
        self.tree = self.copy("outer/tree")
        # what would take long, or change this machine
        self.program("selftests/deps", "exit 0")
        self.program("selftests/check", "ls README.md tcp_bolt/main.c")
        self.program("stubs/dpkg-buildpackage", "cp tcp_bolt/main.c ../main.deb")
        self.program("stubs/dpkg-parsechangelog", "echo 0")
        self.program("stubs/apt-get", "exit 0")
        self.env = {"PATH": f"{self.tree}/stubs:{os.environ['PATH']}", "TMPDIR": str(self.top), "GIT_CONFIG_GLOBAL": "/dev/null"}

    def program(self, name, text):
        path = self.tree / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def repository(self, where, *ignored):
        if ignored:
            (where / ".git-ignored").write_text("\n".join(ignored) + "\n")
        self.git("init", "-q", where)
        self.git("-C", where, "-c", f"core.excludesFile={where}/.git-ignored", "add", ".")
        self.git("-C", where, "commit", "-q", "--allow-empty", "-m", "x")
        if ignored:
            self.git("-C", where, "config", "core.excludesFile", f"{where}/.git-ignored")

    def works(self, **env):
        env = self.env | env
        static = self.command("bash", "-c", """eval "$(sed -n '/^files()/,/^}/p' selftests/groups/static)"; files '*.c'""", cwd=self.tree, **env)
        self.assertIn("tcp_bolt/main.c", static.stdout.splitlines())
        built = self.command(self.tree / "tools/packages", self.top / "out", **env)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertEqual((self.top / "out/packages/main.deb").read_text(), (self.tree / "tcp_bolt/main.c").read_text())
        clean = self.command(self.tree / ".ci/run", **env)
        self.assertEqual((clean.returncode, clean.stdout), (0, "README.md\ntcp_bolt/main.c\n"), clean.stderr)

    def commit(self, **env):
        shutil.copy(context.TREE / "selftests/check", self.tree / "selftests/check")
        code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['commit_of_tree']())"
        return self.command("python3", "-c", code, self.tree / "selftests/check", **self.env, **env).stdout.strip()

    def test_none(self):
        self.works()
        self.assertEqual(self.commit(), "None")

    def test_of_another_that_ignores_it(self):
        self.repository(self.top / "outer", "tree/")
        self.works()
        self.assertEqual(self.commit(), "None")

    def test_of_another_that_tracks_it(self):
        shutil.copy(context.TREE / "selftests/check", self.tree / "selftests/check")
        self.repository(self.top / "outer")
        self.assertEqual(self.commit(), "None")
        self.program("selftests/check", "ls README.md tcp_bolt/main.c")
        self.works()

    def test_its_own(self):
        self.repository(self.tree)
        self.works()
        self.git("init", "-q", self.top / "other")
        self.works(GIT_DIR=str(self.top / "other/.git"), GIT_WORK_TREE=str(self.top / "other"), GIT_INDEX_FILE="/nonexistent")
        shutil.copy(context.TREE / "selftests/check", self.tree / "selftests/check")
        self.git("-C", self.tree, "commit", "-q", "-a", "-m", "y")
        self.assertRegex(self.commit(GIT_DIR=str(self.top / "other/.git")), "^[0-9a-f]{40}$")

    def test_no_file_to_check_is_no_success(self):
        self.git("init", "-q", self.tree)
        for directory in ("selftests/lab", "Documentation"):
            shutil.rmtree(self.tree / directory)
        result = self.command(self.tree / "selftests/groups/static", **self.env)
        self.assertNotEqual(result.returncode, 0)
        self.assertNotIn("ok", result.stdout.split())


class Packages(Case):
    def test_what_is_not_theirs_stays(self):
        self.keep(self.top / "out/packages/thesis.tex")
        self.refused(context.TREE / "tools/packages", self.top / "out", says=str(self.top / "out/packages"))


class Check(Case):
    """What `make check` says, with groups that take no time."""

    def setUp(self):
        super().setUp()
        self.tree = self.copy()
        for group in (*(self.tree / "selftests/groups").iterdir(), self.tree / "selftests/scenarios/check_results"):
            self.program(group, 'echo "KTAP version 1"; echo 1..1; echo "ok 1 x"')

    def program(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def test_packages_are_installed_once(self):
        self.program(self.tree / "tools/lab/install-deps", f'echo "$*" >>{self.top}/asked')
        result = self.command("make", "check", cwd=self.tree, TMPDIR=str(self.top))
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual((self.top / "asked").read_text(), "--for check\n")

    def test_the_end_names_the_packages_that_are_missing(self):
        says = ("install-deps: missing Debian packages: mandoc", "E: Unable to locate package mandoc", "install-deps: no archive of this machine has mandoc")
        self.program(self.tree / "tools/lab/install-deps", "\n".join(f"echo '{line}' >&2" for line in says) + "\nexit 1")
        self.program(self.tree / "selftests/groups/static", 'echo "KTAP version 1"; echo 1..1; echo "# mandoc: not found"; echo "not ok 1 page"')
        result = self.command("make", "check", cwd=self.tree, TMPDIR=str(self.top))
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout.splitlines()[-4:], [*says, "6 passed, 1 failed, 0 skipped"])
        self.assertIn("    # mandoc: not found", result.stdout.splitlines())

    def test_a_run_that_was_killed_goes_on_where_it_was(self):
        ok = 'echo "KTAP version 1"; echo 1..1; echo "ok 1 x"'
        self.program(self.tree / "tools/lab/install-deps", "exit 0")
        self.program(self.tree / "selftests/groups/fuzz", f"echo fuzz >>{self.top}/ran; {ok}")
        self.program(self.tree / "selftests/groups/demo", f"[ -e {self.top}/killed ] || {{ touch {self.top}/killed; kill -9 $PPID; }}; {ok}")
        for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=x", "-c", "user.email=x@example.net", "commit", "-q", "-m", "x")):
            self.command("git", *words, cwd=self.tree)
        check = (self.tree / "selftests/check", "--jobs", "1", "--long", "fuzz", "demo")
        self.assertEqual(self.command(*check, TMPDIR=str(self.top)).returncode, -9)
        result = self.command(*check, TMPDIR=str(self.top))
        self.assertEqual(result.stdout.splitlines()[-1], "2 passed, 0 failed, 0 skipped")
        self.assertEqual((self.top / "ran").read_text(), "fuzz\n")

    def test_groups_have_the_locale_that_they_look_at_output_in(self):
        self.program(self.tree / "tools/lab/install-deps", "exit 0")
        self.program(self.tree / "selftests/groups/fuzz", 'echo "KTAP version 1"; echo 1..1; echo "ok 1 $LC_ALL${LANGUAGE-}"')
        env = {"TMPDIR": str(self.top), "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"}
        result = self.command(self.tree / "selftests/check", "--out", self.top / "out", "fuzz", **env)
        self.assertIn("ok 1 C.UTF-8\n", (self.top / "out/fuzz.log").read_text(), result)
        result = self.command("bash", "-c", f'. {self.tree}/selftests/ktap.sh; echo "$LC_ALL${{LANGUAGE-}}"', **env)
        self.assertEqual(result.stdout, "C.UTF-8\n")

    def test_part_of_a_group_is_not_the_group(self):
        self.program(self.tree / "tools/lab/install-deps", "exit 0")
        for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=x", "-c", "user.email=x@example.net", "commit", "-q", "-m", "x")):
            self.command("git", *words, cwd=self.tree)
        kept = self.tree / "build/check.json"
        for name, value in (("BOLT_CHECK_TESTS", "sfc_queue.sh"), ("BOLT_CHECK_KERNEL", "6.1"), ("FUZZ_SECONDS", "1"), ("BOLT_SOAK_MS", "1")):
            result = self.command(self.tree / "selftests/check", "fuzz", TMPDIR=str(self.top), **{name: value})
            self.assertEqual((result.returncode, kept.exists()), (0, False), name)
        self.command(self.tree / "selftests/check", "fuzz", TMPDIR=str(self.top))
        self.assertTrue(kept.exists())

    def test_a_group_without_the_test_that_is_named_bails_out(self):
        for name, *words in (("smp_key.sh", "lab", "kunit", "net"), ("sfc_queue.sh", "smp", "smp"), ("nonesuch.sh", "debug", "net"), ("readme.sh", "lab", "net"),
                             ("", "lab", "net"), ("readme.sh", "qemu", "net", "smp")):
            result = self.command(context.TREE / "selftests/groups/guest", *words, BOLT_CHECK_OUT=str(self.top), BOLT_CHECK_TESTS=name)
            self.assertEqual((result.returncode, result.stdout[:9], len(result.stdout.splitlines())), (1, "Bail out!", 1), (name, result))
        result = self.command(context.TREE / "selftests/groups/qemu", BOLT_CHECK_OUT=str(self.top), BOLT_CHECK_TESTS="backends smp_ky.sh")
        self.assertEqual((result.returncode, result.stdout[:9]), (1, "Bail out!"), result)

    def test_a_name_that_nothing_has_is_an_error(self):
        for name in ("scenarios/check_results", "mutate"):
            result = self.command(context.TREE / "selftests" / name, "nonesuch")
            self.assertNotEqual(result.returncode, 0, name)
            self.assertIn("nonesuch", result.stderr)

    def test_the_end_of_the_unit_tests_names_each_failure(self):
        lab = self.top / "selftests/lab"
        lab.mkdir(parents=True)
        (lab / "test_x.py").write_text("""import unittest
class X(unittest.TestCase):
    def test_a(self):
        raise KeyError("this one")
    def test_b(self):
        self.assertEqual(1, 2, "\\n".join(["long"] * 200))
""")
        unit = context.TREE / "selftests/groups/unit"
        result = self.command("bash", "-c", f"""eval "$(sed -n '/^python_unit()/,/^}}/p' {unit})"; python_unit 2>&1""")
        self.assertNotEqual(result.returncode, 0)
        last = "\n".join(result.stdout.splitlines()[-6:])
        for part in ("ERROR: test_a", "KeyError: 'this one'", "FAIL: test_b", "AssertionError: 1 != 2"):
            self.assertIn(part, last)
        (lab / "test_x.py").write_text("""import unittest
class X(unittest.TestCase):
    def test_a(self):
        self.skipTest("not here")
""")
        result = self.command("bash", "-c", f"""eval "$(sed -n '/^python_unit()/,/^}}/p' {unit})"; python_unit""")
        self.assertEqual(result.stdout, "skipped 'not here' skipped=1) ", result)
        # another pattern: Python 3.11 calls none at all a success
        result = self.command("bash", "-c", f"""eval "$(sed -n '/^python_unit()/,/^}}/p' {unit})"; python_unit 'none*.py' 2>&1""")
        self.assertNotEqual(result.returncode, 0, result.stdout)


class Minimal(Case):
    """A minimal Debian comes by its packages as this machine's apt does."""

    def test_behind_a_proxy(self):
        stubs = self.top / "stubs"
        stubs.mkdir()
        for name, text in (("apt-get", "echo 'deb http://deb.example.org/debian bookworm main|Debian'"),
                           ("apt-config", """echo 'Acquire::http::Proxy "http://192.0.2.1:3128/";'; echo 'Acquire::https::Proxy "";'"""),
                           ("unshare", 'shift; exec "$@"'), ("mmdebstrap", f"""echo "$*" >>{self.top}/said; cat >>{self.top}/said; exit 1""")):
            (stubs / name).write_text(f"#!/bin/sh\n{text}\n")
            (stubs / name).chmod(0o755)
        self.command(context.TREE / "selftests/groups/clean", PATH=f"{stubs}:{os.environ['PATH']}", BOLT_CHECK_OUT=str(self.top))
        said = (self.top / "said").read_text().splitlines()
        self.assertEqual(len(said), 8, said)
        for debian, words, source in zip(("bookworm", "bookworm", "trixie", "trixie"), said[::2], said[1::2]):
            self.assertIn(' --aptopt=Acquire::http::Proxy "http://192.0.2.1:3128/"; ', words)
            self.assertNotIn("https", words)
            self.assertIn(f" {debian} {self.top}/{debian}-", words)
            self.assertEqual(source, f"deb http://deb.example.org/debian {debian} main")


class Debian13(Case):
    def test_the_doctor_names_what_its_release_has(self):
        rows = [line.split() for line in (context.TREE / "tools/lab/packages.list").read_text().splitlines() if not line.startswith("#")]
        for debian in ("12", "13"):
            listed = {row[0] for row in rows if row and row[2:] in ([], [debian])}
            self.assertLessEqual({package for _, _, package in doctor.qemu_needs(debian)}, listed)

    def test_the_mirror_is_that_of_either_release(self):
        stub = self.top / "stubs/apt-get"
        stub.parent.mkdir()
        for codename in ("bookworm", "trixie"):
            stub.write_text(f"""#!/bin/sh
case "$*" in
*CODENAME*) echo "Debian {codename} http://deb.example.org/debian" ;;
*RELEASE*) echo "Debian stable http://deb.example.org/debian" ;;
*) cat "$BOLT_LAB_CACHE"/debian13-*/apt/sources.list >&3; exit 1 ;;
esac
""")
            stub.chmod(0o755)
            result = self.command("sh", "-c", 'exec "$0" release 7.3 3>&1', context.TREE / "tools/lab/debian13",
                                  BOLT_LAB_CACHE=str(self.top / "cache"), PATH=f"{stub.parent}:{os.environ['PATH']}")
            self.assertIn(" http://deb.example.org/debian trixie main\n", result.stdout, result)


class Cache(Case):
    """The lab's cache goes to make as O=."""

    def test_not_one_word(self):
        lab = context.TREE / "tools/lab"
        for name in ("a b", "a'b", "a;b", "a$b"):
            cache = self.top / name
            for words in ((lab / "lab", "build"), (lab / "lab", "run", "flow-join"), (lab / "kernel/build",), (lab / "qemu/fetch", "6.12"),
                          (lab / "debian13", "release", "7.3")):
                with self.subTest(words=words, name=name):
                    self.refused(*words, BOLT_LAB_CACHE=str(cache), says=str(cache))
            doctor = self.command(lab / "lab", "doctor", BOLT_LAB_CACHE=str(cache))
            self.assertIn(f"missing  cache {cache}", doctor.stdout)
            self.assertEqual(doctor.returncode, 1)
        self.assertEqual(list(self.top.iterdir()), [])

    def test_of_a_tree_that_is_not_one_word(self):
        lab = self.copy("a b/tree") / "tools/lab"
        for words in ((lab / "lab", "build"), (lab / "kernel/build",)):
            self.refused(*words, BOLT_LAB_CACHE=str(self.top / "cache"), says=str(lab.parents[1]))
        self.assertFalse((self.top / "cache").exists())

    def test_relative(self):
        self.assertTrue(Path(self.command("python3", "-c", "from boltlab import build; print(build.cache())", BOLT_LAB_CACHE="c",
                                          PYTHONPATH=str(context.TREE / "tools/lab")).stdout.strip()).is_absolute())


if __name__ == "__main__":
    unittest.main()
