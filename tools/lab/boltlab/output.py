# SPDX-License-Identifier: GPL-2.0
"""A directory that results go to. One command at a time writes to it, and replaces or removes only what the lab wrote.

What that is, the file MANIFEST says: a path a line, from the directory on, with the file's size and time of modification. A
file that has others by now is its user's. While a command writes, a line is only a name that it writes, a directory's with a
"/". What has such a name when a command was killed is anybody's, so the next one renames it. The lock of the directory is that
of this file.
"""

import contextlib
import fcntl
import itertools
import os
import re
import stat
from pathlib import Path

from .build import RunError

MANIFEST = ".lab-files"
# of what is in a run's directory when it ends, what the run can have written: the rest a user has put there meanwhile
RUN_WRITES = re.compile(r"(flow|queue)-[^/]+\.csv|capture-[^/]+\.pcapng|program-\d+\.(out|err)|console\.log|commands\.txt|explain\.json|raw/.+")
HEAD = "# What the lab wrote here. It replaces and removes nothing else."


def stamp(path):
    """How a file is recognised; None for what is no regular file."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (str(found.st_size), str(found.st_mtime_ns)) if stat.S_ISREG(found.st_mode) else None


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
        except FileExistsError:
            raise RunError(f"{self.path}: is not a directory") from None
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
        self.listed = {}            # path: stamp, or () of what a command that was killed wrote
        with open(self.fd, errors="replace", closefd=False) as f:
            head, *lines = f.read().splitlines() or [HEAD]
        if head != HEAD:
            self.listed = {"": ()}  # not ours to remove
            raise RunError(f"{self.path / MANIFEST}: is not the lab's")
        for line in lines:
            name, *was = line.split("\t")
            if name and not os.path.isabs(name) and ".." not in name.split("/") and (was or "/" not in name.rstrip("/")):
                self.listed[name] = tuple(was)

    def _write(self, listed):
        """In place, as the lock is the file's; room first, or the old list would be lost for want of it."""
        text = "\n".join([HEAD, *sorted("\t".join((name, *was)) for name, was in listed.items())]).encode() + b"\n"
        os.posix_fallocate(self.fd, 0, len(text))
        os.pwrite(self.fd, text, 0)
        os.ftruncate(self.fd, len(text))
        self.listed = listed

    def _ours(self, path):
        """A file that is as a command left it."""
        return self.listed.get(str(path.relative_to(self.path))) == stamp(path) is not None

    def _foreign(self, name):
        """What is in the way of `name`, not ours, and not to be renamed anyway."""
        top = self.path / name
        if self.listed.get(self.names[name]) == () or not os.path.lexists(top):
            return None
        if top.is_symlink() or not top.is_dir():
            return None if self._ours(top) else top
        for here, directories, files in os.walk(top):
            for one in (Path(here, n) for n in files + [d for d in directories if Path(here, d).is_symlink()]):
                if not self._ours(one):
                    return one
        return None

    def _check(self):
        for name in self.names:
            there = self._foreign(name)
            if there and not self.force:
                raise RunError(f"{there}: exists and is not as the lab wrote it, by {MANIFEST}: use another --out, or --force, "
                               f"which renames {self.path / name} to {name}~")

    def begin(self, everything=False):
        """Removes what earlier commands left of what this one writes, or all that they left."""
        self._check()
        for line in sorted(self.listed, reverse=True):
            if everything or line.partition("/")[0] in self.names:
                if self.listed[line]:
                    self._remove(line)
                else:
                    self._aside(self.path / line)
                del self.listed[line]
        for name in self.names:
            self._aside(self.path / name)
        self._write(self.listed | dict.fromkeys(self.names.values(), ()))
        self.begun = True

    def _remove(self, line):
        path = self.path / line
        inside = [p for p in path.parents if self.path in p.parents]
        if any(p.is_symlink() for p in inside):
            return
        if self._ours(path):
            path.unlink()
        for directory in inside:
            try:
                directory.rmdir()
            except OSError:
                return

    def _aside(self, top):
        try:
            os.rmdir(top)           # nothing in it
        except FileNotFoundError:
            pass
        except OSError:
            other = top.with_name(top.name + "~")
            while os.path.lexists(other):
                other = other.with_name(other.name + "~")
            top.rename(other)

    def _found(self):
        """What is ours now: of earlier commands, and of this one."""
        if not self.begun:
            return self.listed
        found = {line: was for line, was in self.listed.items() if line.partition("/")[0] not in self.names}
        for name in self.names:
            top = self.path / name
            files = [Path(here, n) for here, _, files in os.walk(top) for n in files]
            for one in [top, *(f for f in files if RUN_WRITES.fullmatch(str(f.relative_to(top))))]:
                if stamp(one):
                    found[str(one.relative_to(self.path))] = stamp(one)
        return found
