# SPDX-License-Identifier: GPL-2.0
"""[[program]]: unmodified programs of this machine on nodes of the lab. What the guest needs to know of them, and how they ended.

See tools/lab/guest/program.c for what a program finds.
"""

import os
import re
import shlex
import shutil
import signal
from pathlib import Path

from . import build, cpu, units

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HOME = "/tmp"
ENDS = "programs.txt"
ENDED = "stuck.txt"             # numbers of those that the lab ended (stall.py)
MARK = "LAB_PROGRAM"            # in the environment: which program a process belongs to
NOBODY = 65534
WRITABLE_MB = 512               # of all nodes together: /tmp and the other places that can be written
UP_MB = 64                      # of a node that is up
PROGRAM_MB = 24
PRINTED_MB = 256                # FILE_LIMIT of the guest
TEMPORARY = ("/tmp", "/var/tmp")
STUCK = signal.SIGILL           # how a program that keeps time from passing is ended (stall.py)


def node_file(node):
    return f"node-{node}.job"


def job_file(i):
    return f"program-{i}.job"


def printed(i, what):
    """Beside the guest's directory."""
    return f"program-{i}.{what}"


def nodes(s):
    return list(dict.fromkeys(p.node for p in s.program))


def memory_mb(s):
    return WRITABLE_MB // 2 + PROGRAM_MB * len(s.program) if s.program else 0


def line(command, most=60):
    whole = shlex.join(command).replace("\n", "\\n")
    return whole if len(whole) <= most else whole[:most - 3] + "..."


def shown(i, p):
    """What a message calls it."""
    return f"program.{i} ({line(p.command)}) on {p.node}"


# ---- before the run ----

def beside(s, value):
    """A path of the scenario, which is relative to its file."""
    return Path(os.path.normpath(s.file.resolve().parent / value))


def directory(s, p):
    return beside(s, p.cwd or ".")


def check(s, net, bad):
    for i, p in enumerate(s.program):
        k = f"program.{i}"
        if p.node not in net.nodes:
            bad(f"{k}.node", f"\"{p.node}\" is not a node; the nodes are {units.some(net.nodes)}")
        if p.start >= s.duration:
            bad(f"{k}.start", "is not before the duration ends")
        if p.stop is not None and p.stop <= p.start:
            bad(f"{k}.stop", "is not after its start")
        cwd = directory(s, p)
        if not cwd.is_dir():
            bad(f"{k}.cwd", f"\"{cwd}\" is not a directory")
        if build.hidden(cwd):
            bad(f"{k}.cwd", f"\"{cwd}\": a node has a {build.hidden(cwd)} of its own")
        if p.stdin and not beside(s, p.stdin).is_file():
            bad(f"{k}.stdin", f"\"{p.stdin}\" is not a file")
        program = p.command[0]
        found = cwd / program if "/" in program else shutil.which(program, path=p.env.get("PATH", PATH))
        if not found:
            bad(f"{k}.command", f"\"{program}\" is not installed: it is not in {p.env.get('PATH', PATH)}")
        if not Path(found).is_file():
            bad(f"{k}.command", f"\"{program}\" is not there: {found}")
        if not os.access(found, os.X_OK):
            bad(f"{k}.command", f"\"{program}\" cannot be executed: {found}")
    cpu.check(s, bad)


def sysctls(s, node, host, up=None):
    """What a machine of one's own would allow."""
    result = [("net.ipv4.tcp_congestion_control", s.cc[0])] if host else []
    if up or node in nodes(s):
        result += [("net.ipv4.ip_unprivileged_port_start", 0), ("net.ipv4.ping_group_range", "0 2147483647")]
    return result


def mentioned(s, on, top):
    """What the programs of a node, by their arguments, environment and directories, want of a directory of temporary files."""
    texts = [t for p in on for t in (*p.command, *p.env.values())]
    below = {d.relative_to(top).parts[0] for p in on if (d := Path(directory(s, p))).is_relative_to(top) and d != Path(top)}
    return sorted(below | {name for t in texts for name in re.findall(rf"(?:^|[^\w/]){top}/([^/\s'\":;,]+)", t)})


def words(*parts):
    """A job: strings, each ended by NUL; a list with its length before it."""
    flat = []
    for part in parts:
        flat += [str(len(part)), *part] if isinstance(part, list) else [str(part)]
    return "".join(f"{word}\0" for word in flat)


def node_job(s, node, up=None):
    """`up`: commands may want anything of it that there is, and have this directory to write to."""
    on = [p for p in s.program if p.node == node]
    covers = {top: ["*"] if up else mentioned(s, on, top) for top in TEMPORARY if os.path.isdir(top)}
    if up and up not in ("/", *TEMPORARY) and not build.hidden(up):
        covers[up] = ["*"]
    covers |= {str(directory(s, p)): ["*"] for p in on if str(directory(s, p)) not in ("/", *TEMPORARY)}
    return words(UP_MB if up else max(8, WRITABLE_MB // len(nodes(s))), "hosts", "empty", *(part for cover in covers.items() for part in cover))


def program_job(s, i, p):
    env = {"PATH": PATH, "HOME": HOME, "LANG": "C.UTF-8"} | p.env | {MARK: i}
    uid, gid = (0, 0) if p.privileged else (os.getuid() or NOBODY, os.getgid() or NOBODY)
    return words(beside(s, p.stdin) if p.stdin else "/dev/null", f"../{printed(i, 'out')}", f"../{printed(i, 'err')}", directory(s, p),
                 uid, gid, cpu.job(s, p), p.command, [f"{k}={v}" for k, v in env.items()])


def files(s, net, up=None):
    """Name and contents of what the guest reads."""
    if not s.program and not up:
        return {}
    hosts = ["127.0.0.1 localhost", "::1 localhost", *(f"{net.address(node)} {node}" for node in net.nodes)]
    return ({"hosts": "\n".join(hosts) + "\n", "empty": ""} | {node_file(node): node_job(s, node, up) for node in (net.nodes if up else nodes(s))} |
            {job_file(i): program_job(s, i, p) for i, p in enumerate(s.program)})


# ---- after it ----

def signal_name(number):
    """Real-time signals have none in Python."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN{number - signal.SIGRTMIN:+d}"


def read(raw, s):
    """How each ended: "itself", by its "stop", with the "run", or by the "lab", because it kept time from passing."""
    ends = [line.split() for line in (raw / ENDS).read_text().splitlines() if not line.startswith("#")]
    stuck = (raw / ENDED).read_text().split() if (raw / ENDED).exists() else ()
    result = []
    for p, (i, *numbers, by, left, paid) in zip(s.program, ends):
        by = "lab" if i in stuck else by
        start, end, status, number, paid = (None if v == "-" else int(v) for v in (*numbers, paid))
        result.append({"node": p.node, "command": p.command, "start_ns": start, "end_ns": end, "status": status,
                       "signal": signal_name(number) if number else None, "ended_by": by, "left": int(left), "cpu_cost": cpu.text(cpu.of(s, p)), "cpu_ns": paid})
    return result


def last_words(path):
    """The last line that it printed."""
    try:
        with open(path, "rb") as f:
            f.seek(max(0, path.stat().st_size - 4096))
            lines = [line for line in f.read().decode(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    return f": {lines[-1].strip()[:160]}" if lines else ""


def failures(s, ended, place):
    """One line for each that did not end as the scenario has it; `place`: where they printed."""
    result = []
    for i, (p, e) in enumerate(zip(s.program, ended)):
        why = failure(s, p, e)
        if why:
            said = last_words(place / printed(i, "err")) if e["status"] else ""
            result.append(f"{shown(i, p)}: {why}{said}")
    return result


def remedy(s, p):
    """For what keeps time from passing."""
    if cpu.of(s, p):
        return "it makes no system calls, so that --cpu-cost charges nothing: let it sleep or block"
    return "CPU is free, and time passes only while all wait: let it sleep or block, or let its system calls take time (--cpu-cost 500ns)"


def failure(s, p, e):
    if e["start_ns"] is None:
        return "was not started: the run had ended"
    if e["ended_by"] == "lab" or e["signal"] == STUCK.name:
        return (f"was ended ({STUCK.name}): it computed or polled for {s.patience / 1e9:g} s of processor time without waiting; {remedy(s, p)}, or raise patience")
    if e["ended_by"] == "run":
        return "had not ended when the run did; a longer duration, or no ends_run" if p.ends_run else None
    if e["left"]:
        return f"went into the background: its first process ended, {e['left']} of its processes went on; run it in the foreground"
    if e["signal"] == "SIGXFSZ":
        return f"printed, or wrote to a file, more than {PRINTED_MB} MB"
    if e["signal"] and not (e["ended_by"] == "stop" and e["signal"] in ("SIGTERM", "SIGKILL")):
        return f"ended by {e['signal']}" + ("; is the lab's memory too little (memory)?" if e["signal"] == "SIGKILL" else "")
    if e["status"] is not None and e["status"] != p.expect and e["ended_by"] == "itself":
        return f"exit status {e['status']}, not {p.expect}"
    return None
