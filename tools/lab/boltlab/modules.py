# SPDX-License-Identifier: GPL-2.0
"""--module: congestion controls and qdiscs of the user's, loaded beside the lab's own modules.

A directory with a Kbuild is built for the kernel that runs, from a copy in the cache, so that nothing is written to it.
"""

import dataclasses
import fcntl
import hashlib
import os
import re
import shutil
from pathlib import Path

from . import build
from .build import RunError, progress

VERMAGIC = re.compile(rb"vermagic=([ -~]+)\0")
MADE = shutil.ignore_patterns(".*", "*.o", "*.ko", "*.mod", "*.mod.c", "*.a", "*.symvers", "modules.order", "__pycache__")
BUILD_FILES = ("Kbuild", "Makefile")
PARAMETERS = re.compile(r"(.+?):(\w+=[^\s\0]*)")


def parted(value):
    """The path, and parameters as the kernel takes them: of `a=1,b=2,3` the second is an array."""
    found = None if Path(value).exists() else PARAMETERS.fullmatch(value)
    return (found[1], re.split(r",(?=\w+=)", found[2])) if found else (value, [])


def check(values):
    """Before anything is built."""
    for value, _ in map(parted, values):
        path = Path(value)
        if path.is_dir():
            if not any((path / name).is_file() for name in BUILD_FILES):
                raise RunError(f"--module {value}: has no Kbuild; one line is enough: obj-m := {path.resolve().name}.o")
        elif not path.is_file():
            raise RunError(f"--module {value}: there is no such file or directory")
        elif path.name.endswith((".bpf.c", ".bpf.o")):
            raise RunError(f"--module {value}: the lab's kernel has no BPF struct_ops; write it as a module, in a directory with a Kbuild")
        elif not vermagic(path):
            raise RunError(f"--module {value}: is not a kernel module; a directory with its source and a Kbuild is built for the lab's kernel")


def vermagic(path):
    """The kernel that a module was built for; None of what is none."""
    data = path.read_bytes()
    found = VERMAGIC.search(data) if data.startswith(b"\x7fELF") else None
    return found[1].decode() if found else None


def beside(built, values):
    """`built` with these modules, too; one that has the name of the lab's takes its place."""
    if not values:
        return built
    made, given = [], {}
    for value, parameters in map(parted, values):
        these = _build(value, built) if Path(value).is_dir() else [_taken(value, built)]
        made += these
        for one in parameters:
            of = [ko for ko in these if f"parmtype={one.partition('=')[0]}:".encode() in ko.read_bytes()]
            if not of:
                raise RunError(f"--module {value}: has no parameter {one.partition('=')[0]}")
            for ko in of:
                given[ko.stem] = f"{given.get(ko.stem, '')} {one}"
    own = {ko.stem: hashlib.sha256(ko.read_bytes()).hexdigest()[:16] + given.get(ko.stem, "") for ko in made}
    if len(own) < len(made):
        raise RunError(f"--module: a module is given twice: {', '.join(sorted(ko.stem for ko in made))}")

    def fill(load):
        for ko in {ko.name: ko for ko in (*built.modules.glob("*.ko"), *made)}.values():
            shutil.copy(ko, load)
        for name, text in given.items():
            (load / f"{name}.ko.parameters").write_text(text)
    return dataclasses.replace(built, modules=_kept(built, (f"{k} {v}" for k, v in own.items()), fill), own=own)


def _taken(value, built):
    wanted, found = vermagic(next(built.modules.glob("*.ko"))), vermagic(Path(value))
    if found != wanted:
        raise RunError(f"--module {value}: was built for another kernel, {found.split()[0]}, not for the lab's {wanted.split()[0]}; "
                       "give the directory of its source, or build it with make "
                       f"-C {built.kdir} ARCH=um M=...")
    return Path(value)


def _build(value, built):
    """The modules of a source directory."""
    def fill(made):
        progress(f"building {value} for {built.kernel_release}")
        shutil.copytree(value, made, ignore=MADE, ignore_dangling_symlinks=True, dirs_exist_ok=True)
        log = made / "make.log"
        args = ["-C", str(built.kdir), "ARCH=um", f"M={made}"]
        if build.make(args, log):
            raise RunError(f"--module {value}: does not build for {built.kernel_release}: "
                           f"{build.first_error(log).replace(str(made), value)} (all of it: {log})")
    made = _kept(built, ("source", *(f"{name} {hashlib.sha256(Path(value, name).read_bytes()).hexdigest()}" for name in _files(value))), fill)
    modules = sorted(made.rglob("*.ko"))
    if not modules:
        raise RunError(f"--module {value}: its Kbuild makes no module (obj-m)")
    return modules


def _files(value):
    """All that its build may read."""
    found = []
    for top, directories, files in os.walk(value, followlinks=True):
        left_out = MADE(top, directories + files)
        directories[:] = sorted(set(directories) - left_out)
        found += [os.path.relpath(os.path.join(top, name), value) for name in files if name not in left_out and os.path.isfile(os.path.join(top, name))]
    return sorted(found)


def _kept(built, words, fill):
    """A directory of the cache, which `fill` has filled from what these words stand for."""
    key = hashlib.sha256("\0".join((str(built.kdir), built.sources, *words)).encode()).hexdigest()[:16]
    path = build.cache() / f"own-{built.kernel_release}-{key}"
    with open(build.cache() / "own.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (path / ".complete").exists():
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
            fill(path)
            (path / ".complete").touch()
            build.forget_old("own-*", path)
        os.utime(path)
    return path
