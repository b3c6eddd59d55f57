# SPDX-License-Identifier: GPL-2.0
"""A directory that results go to. One command at a time writes to it, and replaces or removes only what the lab wrote.

What that is, the file MANIFEST says: a path a line, from the directory on. While a command writes, the line of a directory
ends in "/" and stands for all that is in it, so that a command that is killed leaves nothing that looks like somebody else's.
The lock of the directory is that of this file.
"""

import contextlib
import fcntl
import itertools
import os
import shutil
from pathlib import Path

from .build import RunError

MANIFEST = ".lab-files"
HEAD = "# What the lab wrote here. It replaces and removes nothing else."


class Output:
    """`names`: what the command writes in `path`, directories with a "/". What is in the way is refused before it does anything."""

    def __init__(self, path, names, force=False):
        self.path, self.force, self.begun = Path(path).resolve(), force, False
        self.names = {name.rstrip("/"): name for name in names}
        self.made = [p for p in (self.path, *self.path.parents) if not p.exists()]

    @classmethod
    def new(cls, stem, names):
        """STEM-1 here, or the first number that nobody has."""
        for n in itertools.count(1):
            with contextlib.suppress(FileExistsError):
                path = Path(f"{stem}-{n}").resolve()
                path.mkdir()
                place = cls(path, names)
                place.made = [path]
                return place

    def __enter__(self):
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock()
        except BlockingIOError:
            raise RunError(f"{self.path}: another command of the lab is writing to it") from None
        except OSError as e:
            self._undo()
            raise RunError(f"{self.path}: {e.strerror}") from None
        try:
            self._read()
            self._check()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind, error, trace):
        with contextlib.suppress(OSError):      # a full disk: the list as it was at the beginning is true as well
            self._write(self._found())
        self._close()
        if isinstance(error, OSError) and not error.filename:
            raise RunError(f"{self.path}: {error.strerror}") from None

    def _lock(self):
        while True:
            self.fd = os.open(self.path / MANIFEST, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(self.fd), os.stat(self.path / MANIFEST)):
                    return
            except FileNotFoundError:
                pass                # who had it wrote nothing, and took it away
            except OSError:
                os.close(self.fd)
                raise
            os.close(self.fd)

    def _close(self):
        """Without a trace where nothing was written."""
        if not self.listed:
            (self.path / MANIFEST).unlink(missing_ok=True)
            self._undo()
        os.close(self.fd)

    def _undo(self):
        for directory in self.made:
            try:
                directory.rmdir()
            except OSError:
                break

    def _read(self):
        self.listed = set()
        with open(self.fd, errors="replace", closefd=False) as f:
            head, *lines = f.read().splitlines() or [HEAD]
        if head != HEAD:
            self.listed = {""}      # not ours to remove
            raise RunError(f"{self.path / MANIFEST}: is not the lab's")
        self.listed.update(line for line in lines if line and not os.path.isabs(line) and ".." not in line.split("/"))

    def _write(self, listed):
        """In place, as the lock is the file's; room first, or the old list would be lost for want of it."""
        text = "\n".join([HEAD, *sorted(listed)]).encode() + b"\n"
        os.posix_fallocate(self.fd, 0, len(text))
        os.pwrite(self.fd, text, 0)
        os.ftruncate(self.fd, len(text))
        self.listed = listed

    def _foreign(self, name):
        """What is in the way of `name` and not ours."""
        top = self.path / name
        if name + "/" in self.listed or not os.path.lexists(top):
            return None
        if top.is_symlink() or not top.is_dir():
            return None if name in self.listed and not top.is_symlink() else top
        for here, directories, files in os.walk(top):
            for one in (Path(here, n) for n in files + [d for d in directories if Path(here, d).is_symlink()]):
                if one.is_symlink() or str(one.relative_to(self.path)) not in self.listed:
                    return one
        return None

    def _check(self):
        for name in self.names:
            there = self._foreign(name)
            if there and not self.force:
                raise RunError(f"{there}: exists and is not listed in {MANIFEST} as written by the lab: use another --out, or --force, "
                               f"which renames {self.path / name} to {name}~")

    def begin(self, everything=False):
        """Removes what earlier commands left of what this one writes, or all that they left."""
        self._check()
        for line in sorted(self.listed, reverse=True):
            if everything or line.partition("/")[0] in self.names:
                self._remove(line)
                self.listed.discard(line)
        for name in self.names:
            top = self.path / name
            if os.path.lexists(top):
                self._aside(top)
        self._write(self.listed | set(self.names.values()))
        self.begun = True

    def _remove(self, line):
        path = self.path / line
        inside = [p for p in path.parents if self.path in p.parents]
        if any(p.is_symlink() for p in (path, *inside)):
            return
        if line.endswith("/"):
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_file():
            path.unlink()
        for directory in inside:
            try:
                directory.rmdir()
            except OSError:
                return

    def _aside(self, top):
        try:
            os.rmdir(top)           # nothing in it
        except OSError:
            other = top.with_name(top.name + "~")
            while os.path.lexists(other):
                other = other.with_name(other.name + "~")
            top.rename(other)

    def _found(self):
        """What is ours now: of earlier commands, and of this one."""
        if not self.begun:
            return self.listed
        found = {line for line in self.listed if line.partition("/")[0] not in self.names}
        for name in self.names:
            top = self.path / name
            found |= {name} if top.is_file() else {os.path.relpath(os.path.join(here, n), self.path)
                                                   for here, _, files in os.walk(top) for n in files}
        return found
