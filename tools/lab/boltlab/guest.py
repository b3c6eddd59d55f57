# SPDX-License-Identifier: GPL-2.0
"""One boot of a guest carries out one plan: backends uml and qemu."""

import re
import subprocess
from pathlib import Path

from . import build

WALL_LIMIT_S = 3600


class RunError(Exception):
    pass


def uml_command(raw, seed, memory, version):
    """The lab's kernel, in virtual time to the nanosecond."""
    return [str(build.KERNEL / "run"), "--flavour", "lab", "--version", version, "--mem", memory, "--seed", str(seed)]


def qemu_command(raw, seed, memory, version):
    """Debian's kernel; one CPU, whose time is the instructions it executes."""
    return [str(build.QEMU / "run"), "--kernel", version, "--mem", memory, "--icount", "--share", str(raw)]


COMMANDS = {"uml": uml_command, "qemu": qemu_command}


def run(backend, built, plan, raw, seed, memory, version):
    """Leaves the guest's raw results in the directory `raw`; returns the seconds the load took."""
    raw = Path(raw)
    env = [("TC_LIB_DIR", built.tools)] if (built.tools / "q_sfc.so").exists() else []
    (raw / "plan").write_text(plan.text(env))
    for name, text in plan.batches.items():
        (raw / name).write_text(text)
    command = COMMANDS[backend](raw, seed, memory, version)
    command += ["--modules", str(built.modules), "--log", str(raw / "console.log"),
                "--timeout", str(WALL_LIMIT_S), "--", str(built.tools / "labguest"), "plan"]
    result = subprocess.run(command, cwd=raw, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace")
    if result.returncode:
        lines = [line for line in (result.stderr + result.stdout).splitlines() if line.strip()]
        if not lines:
            lines = [f"the guest ended with status {result.returncode} and said nothing"]
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
