# SPDX-License-Identifier: GPL-2.0
"""One kernel carries out one plan: booted for it (uml, qemu), or this machine's (native)."""

import contextlib
import os
import re
import subprocess
import threading
from pathlib import Path

from . import build, estimate, native, stall
from .build import RunError

FOREVER_S = 10 * 365 * 86400
SBIN = "/usr/sbin:/sbin"
GONE_WITH_US = ("setpriv", "--pdeathsig", "TERM")       # also where somebody kills the lab
SHELLS_OWN = re.compile(r"^\S+/run: line \d+: .*\n", re.M)     # of a kernel that a signal ended; what it said itself is the reason
WARNINGS = re.compile(r"^lab kernel: (warning: .*)", re.M)      # of a dry run, and so once for all runs of a command

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


def _carry_out(command, raw, watch=lambda pid: ()):
    """`watch`: contexts to be in while the process of this number runs."""
    env = os.environ | {"PATH": f"{os.environ.get('PATH', os.defpath)}:{SBIN}"}
    child = subprocess.Popen([*GONE_WITH_US, *command], cwd=raw, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, errors="replace", env=env)
    _running.add(child)
    try:
        if _stopping.is_set():
            child.terminate()
        with contextlib.ExitStack() as stack:
            for one in watch(child.pid):
                stack.enter_context(one)
            out, err = child.communicate()
    finally:
        _running.discard(child)
    return child.returncode, err + out


def own_words(said):
    """The lines of it that are neither the shell's nor a warning."""
    return [line for line in WARNINGS.sub("", SHELLS_OWN.sub("", said)).splitlines() if line.strip()]


def _env(built):
    return [("TC_LIB_DIR", built.tools)] if (built.tools / "q_sfc.so").exists() else []


def dry_run(built, lines, directory, version):
    """Carries out these lines of a plan in the lab's kernel; (number of the one that failed, what was said), or None."""
    env = [f"env {k} {v}" for k, v in _env(built)]
    Path(directory, "plan").write_text("\n".join(env + lines) + "\n")
    command = uml_command(None, 1, "256M", version, 1) + ["--modules", str(built.modules), "--log", "console.log", "--timeout", "60", "--",
                                                          str(built.tools / "labguest"), "plan"]
    status, said = _carry_out(command, directory)
    if not status:
        for warning in WARNINGS.findall(said):
            build.progress(warning)
        return None
    said = own_words(said) or [f"the guest ended with status {status} and said nothing"]
    at = re.match(r"labguest: plan:(\d+): ", said[-1])
    return int(at[1]) - len(env) if at else 0, said


def run(backend, built, plan, raw, memory, version, cpus, s):
    """Leaves the guest's raw results in the directory `raw`; returns the seconds the load took.

    No program of `s`, and no kernel, may keep virtual time from passing for longer than its patience.
    """
    raw = Path(raw)
    (raw / "plan").write_text(plan.text(_env(built)))
    for name, text in plan.batches.items():
        (raw / name).write_text(text)
    command = [str(built.tools / "labguest"), "plan"]
    if backend == "native":
        ready = native.borrowed(built.modules, plan.kernel_files)
    else:
        ready = contextlib.nullcontext()
        command = COMMANDS[backend](raw, s.seed, memory, version, cpus) + [
            "--modules", str(built.modules), "--log", str(raw / "console.log"), "--timeout", str(FOREVER_S), "--", *command]

    endless = []

    def watch(pid):
        if backend == "uml":
            yield estimate.Progress(f"{s.name}: {s.directory}", s.duration, pid, built.kdir, raw)
            if s.program:
                yield stall.Watch(s, pid, built.kdir, raw)
            else:
                endless.append(stall.Kernel(s, built.own, pid, built.kdir, raw))
                yield endless[0]
    with ready:
        status, said = _carry_out(command, raw, watch)
    if status:
        if endless and endless[0].why:
            raise RunError(endless[0].why)
        lines = own_words(said) or [f"the guest ended with status {status} and said nothing"]
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
