# SPDX-License-Identifier: GPL-2.0
"""`lab exec` and `lab shell`: a command on a node of the network that is up, with this process' stdin, stdout, stderr and terminal."""

import contextlib
import json
import os
import selectors
import shutil
import signal
import sys
import termios
import tty

from . import frames, programs, state, units
from .build import RunError

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
GONE = 125                  # exit status where the network has ended


def shell(node, privileged):
    """The user's shell; with a terminal where there is one."""
    mine = os.environ.get("SHELL", "")
    there = os.isatty(0)
    return command(node, [mine if mine and shutil.which(mine, path=programs.PATH) else "/bin/sh", *(["-i"] if there else [])], there, privileged)


def command(node, argv, terminal, privileged):
    if not argv:
        raise RunError("exec: the command is missing: lab exec NODE -- COMMAND")
    if terminal and not os.isatty(0):
        raise RunError("exec --tty: stdin is not a terminal")
    about, connection = state.connect()
    with connection:
        if about.get("frames") != frames.VERSION:
            raise RunError(f"{about['name']} was brought up by another version of the lab: `lab down`, then `lab up` again")
        if node not in about["nodes"]:
            raise RunError(f"\"{node}\" is not a node of {about['name']}; the nodes are {units.some(about['nodes'])}")
        connection.sendall(frames.pack("N", 0, json.dumps(wanted(about, node, argv, terminal, privileged)).encode()))
        status = pass_on(connection, terminal, about["name"])
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    if number == programs.STUCK:
        print(f"lab: {node}: {programs.line(argv)} was ended ({programs.STUCK.name}): it computed or polled without waiting; CPU is free, and time passes only "
              "while all wait: let it sleep or block", file=sys.stderr)
    return 128 + number


def wanted(about, node, argv, terminal, privileged):
    uid, gid = (0, 0) if privileged else (os.getuid() or programs.NOBODY, os.getgid() or programs.NOBODY)
    env = {"PATH": programs.PATH, "HOME": programs.HOME, "LANG": "C.UTF-8", "PWD": os.getcwd(), "TC_LIB_DIR": about["tools"]}
    if terminal:
        env["TERM"] = os.environ.get("TERM", "dumb")
    return {"node": node, "argv": argv, "terminal": terminal, "size": list(os.get_terminal_size(0))[::-1] if terminal else [0, 0], "user": [uid, gid],
            "cwd": os.getcwd(), "env": env}


@contextlib.contextmanager
def raw_terminal(terminal):
    """Every key goes to the command, and its terminal makes of it what it wants."""
    if not terminal:
        yield
        return
    before = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextlib.contextmanager
def signals(numbers):
    """A descriptor that gives the number of each that comes.  A terminal that belongs to others is the end of stdin, and does not stop us."""
    reads, writes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = {signal.SIGTTIN: signal.signal(signal.SIGTTIN, signal.SIG_IGN)} | {number: signal.signal(number, lambda *_: None) for number in numbers}
    signal.set_wakeup_fd(writes)
    try:
        yield reads
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reads)
        os.close(writes)


def of_others():
    """Is stdin a terminal that another job has?  What is typed there is not ours, and poll() would wait for it."""
    try:
        return os.tcgetpgrp(0) != os.getpgrp()
    except OSError:             # it is no terminal, or not that of our session
        return False


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def pass_on(connection, terminal, name):
    """Until it has ended: its status of wait().  stdin is heard while the command has taken most of what it was sent: neither signals nor the server wait behind it."""
    reader, sent, stdin = frames.Reader(), 0, not of_others()
    with signals((*PASSED_ON, signal.SIGWINCH)) as told, raw_terminal(terminal), selectors.PollSelector() as selector:
        for fd in (connection.fileno(), told, *((0,) if stdin else ())):
            selector.register(fd, selectors.EVENT_READ)
        if not stdin:
            send(connection, frames.pack("E"))
        while True:
            for key, _ in selector.select():
                if key.fd == told:
                    for number in os.read(told, 64):
                        tell_signal(connection, number, terminal)
                elif key.fd == 0:
                    data = read_input()
                    send(connection, frames.pack("I" if data else "E", 0, data))
                    sent, stdin = sent + len(data), bool(data)
                else:
                    taken, status = hear(connection, reader, name)
                    sent -= taken
                    if status is not None:
                        return status
            heard, room = 0 in selector.get_map(), stdin and sent < frames.ROOM
            if room and not heard:
                selector.register(0, selectors.EVENT_READ)
            elif heard and not room:
                selector.unregister(0)


def send(connection, data):
    """Who has hung up may have said before how the command ended."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(data)


def tell_signal(connection, number, terminal):
    if number != signal.SIGWINCH:
        send(connection, frames.pack("S", 0, frames.U32.pack(number)))
    elif terminal:
        columns, rows = os.get_terminal_size(0)
        send(connection, frames.pack("W", 0, frames.TWO_U32.pack(rows, columns)))


def read_input():
    try:
        return os.read(0, 16384)
    except OSError:
        return b""


def hear(connection, reader, name):
    """What came of the command: (bytes of stdin that it took, its status when it has ended)."""
    taken = 0
    data = connection.recv(1 << 16)
    if not data:
        raise RunError(f"{name} has ended without a word")
    for kind, _, payload in reader.feed(data):
        if kind in "OR":
            write_all(1 if kind == "O" else 2, payload)
        elif kind == "T":
            taken += frames.U32.unpack(payload)[0]
        elif kind == "X":
            return taken, frames.U32.unpack(payload)[0]
        elif kind == "D":
            raise Ended(f"{name} has ended: {payload.decode(errors='replace')}")
    return taken, None


class Ended(RunError):
    """The network, not the command."""
