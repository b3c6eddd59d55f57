# SPDX-License-Identifier: GPL-2.0
"""Where the network that is up is found: one for each user, in a directory that only this user can enter.

A guest has a /run of its own, where this directory often is: what the guest needs is in the cache, at the link GUEST.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import socket
import stat
from pathlib import Path

from . import build
from .build import RunError

ABOUT, DIED, LOCK, SOCKET, FIFO, LOG, GUEST = "about.json", "died", "lock", "socket", "input", "log", "guest"
RAW = f"{GUEST}/raw"


def directory():
    base = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(base, "subrtt-lab") if base else Path(f"/tmp/subrtt-lab-{os.getuid()}")
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise RunError(f"{path}: is not a directory of this user's alone")
    return path


def make_guest(path):
    """An empty one, whose name is of this directory alone: homes, and names of machines and users, may be shared."""
    forget_guest(path)
    guest = build.cache() / f"up-{hashlib.sha256(f'{platform.node()}{path}{path.stat().st_dev}.{path.stat().st_ino}'.encode()).hexdigest()[:12]}"
    shutil.rmtree(guest, ignore_errors=True)
    guest.mkdir(mode=0o700)
    (path / GUEST).symlink_to(guest)
    (path / RAW).mkdir()


def forget_guest(path):
    link = path / GUEST
    if link.is_symlink() and link.readlink().name.startswith("up-"):
        shutil.rmtree(link.readlink(), ignore_errors=True)
        link.unlink()


def locked(path):
    """The open lock, where nobody has it; else None."""
    lock = open(path / LOCK, "a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    except BlockingIOError:
        lock.close()
        return None


def about(path):
    """What is up there, as it said itself; {} before it did."""
    try:
        return json.loads((path / ABOUT).read_text())
    except (OSError, ValueError):
        return {}


def died(path):
    """Why what was up has ended; None where nothing was, or it was taken down."""
    try:
        return (path / DIED).read_text()
    except OSError:
        return None


@contextlib.contextmanager
def short(path):
    """The same directory by a name that fits into the address of a socket."""
    fd = os.open(path, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET}"
    finally:
        os.close(fd)


def connect():
    """(what is up, a connection to it)."""
    path = directory()
    lock = locked(path)
    if lock:
        lock.close()
        why = died(path)
        if why is None:
            raise RunError("no network is up; `lab up SCENARIO` starts one")
        raise RunError(f"{about(path).get('name')} has ended: {why}; `lab up` starts it again")
    connection = socket.socket(socket.AF_UNIX)
    try:
        with short(path) as address:
            connection.connect(address)
    except OSError:
        connection.close()
        raise RunError(f"{about(path).get('name', 'a network')} is on its way up or down; try again") from None
    return about(path), connection
