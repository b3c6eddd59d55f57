# SPDX-License-Identifier: GPL-2.0
"""One kernel carries out one plan: booted for it (uml, qemu), or this machine's (native)."""

import contextlib
import os
import re
import subprocess
import threading
from pathlib import Path

from . import build, native
from .build import RunError

WALL_LIMIT_S = 3600
SBIN = "/usr/sbin:/sbin"

_running, _stopping = set(), threading.Event()


def uml_command(raw, seed, memory, version, cpus):
    """The lab's kernel, in virtual time to the nanosecond."""
    return [str(build.KERNEL / "run"), "--flavour", "lab", "--version", version, "--mem", memory, "--seed", str(seed)]


def qemu_command(raw, seed, memory, version, cpus):
    """Debian's kernel. The time of a single CPU is the instructions it executes."""
    time = ["--icount"] if cpus == 1 else ["--cpus", str(cpus)]
    return [str(build.QEMU / "run"), "--kernel", version, "--mem", memory, *time, "--share", str(raw)]


COMMANDS = {"uml": uml_command, "qemu": qemu_command}


def stop():
    """Ends what runs, and lets nothing begin; whoever waits for it puts things in order."""
    _stopping.set()
    for child in tuple(_running):
        child.terminate()


def _carry_out(command, raw):
    env = os.environ | {"PATH": f"{os.environ.get('PATH', os.defpath)}:{SBIN}"}
    child = subprocess.Popen(command, cwd=raw, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, errors="replace", env=env)
    _running.add(child)
    try:
        if _stopping.is_set():
            child.terminate()
        out, err = child.communicate()
    finally:
        _running.discard(child)
    return child.returncode, err + out


def run(backend, built, plan, raw, seed, memory, version, cpus):
    """Leaves the guest's raw results in the directory `raw`; returns the seconds the load took."""
    raw = Path(raw)
    env = [("TC_LIB_DIR", built.tools)] if (built.tools / "q_sfc.so").exists() else []
    (raw / "plan").write_text(plan.text(env))
    for name, text in plan.batches.items():
        (raw / name).write_text(text)
    command = [str(built.tools / "labguest"), "plan"]
    if backend == "native":
        ready = native.borrowed(built.modules, plan.kernel_files)
    else:
        ready = contextlib.nullcontext()
        command = COMMANDS[backend](raw, seed, memory, version, cpus) + [
            "--modules", str(built.modules), "--log", str(raw / "console.log"), "--timeout", str(WALL_LIMIT_S), "--", *command]
    with ready:
        status, said = _carry_out(command, raw)
    if status:
        lines = [line for line in said.splitlines() if line.strip()]
        if not lines:
            lines = [f"the guest ended with status {status} and said nothing"]
        hint = _plan_hint(raw, lines[-1]) + _batch_hint(raw, lines)
        raise RunError("; ".join(dict.fromkeys(line.strip() for line in lines[-3:])) + hint)
    begin, end = (raw / f"wall.{which}" for which in ("begin", "end"))
    return (end.stat().st_mtime_ns - begin.stat().st_mtime_ns) / 1e9


def _plan_hint(raw, line):
    """A message of the guest names the line of its plan; show what stands there."""
    parts = line.split(":")
    if len(parts) > 2 and parts[0] == "labguest" and parts[2].isdigit():
        lines = (raw / "plan").read_text().splitlines()
        n = int(parts[2])
        if 0 < n <= len(lines):
            return f" [{lines[n - 1][:120]}]"
    return ""


def _batch_hint(raw, lines):
    """tc -b names a file and a line of it; show the command that stands there."""
    for line in lines:
        match = re.search(r"Command failed (tc-\S+):(\d+)", line)
        if match:
            commands = (raw / match[1]).read_text().splitlines()
            if 0 < int(match[2]) <= len(commands):
                return f" [tc {commands[int(match[2]) - 1]}]"
    return ""
