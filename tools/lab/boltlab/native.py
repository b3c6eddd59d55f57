# SPDX-License-Identifier: GPL-2.0
"""Backend native: this machine's kernel, lent for one run.

The hosts and links of a run are namespaces without a name, which end with labguest. What a run needs
beyond them is modules, and settings of the kernel itself; both are afterwards as they were before,
however the run ends. Addresses, routes, qdiscs and devices of the machine are not touched.
"""

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path

from .build import RunError

OURS = {"bolt_ctl", "lablink", "sch_sfc", "tcp_bolt"}
UNLOAD_S = 60
# what the kernel loads by itself when a plan names a qdisc or a congestion control
ON_DEMAND = re.compile(r"(sch|tcp|cls|act)_\w+")


class LeftBehind(RunError):
    pass


def check():
    """Says what is missing before anything is built."""
    if os.geteuid():
        raise RunError("--backend native: root is needed to create namespaces and load modules")
    if not Path("/proc/modules").exists():
        raise RunError("--backend native: this machine's kernel loads no modules; --backend qemu boots one that does")
    there = sorted(loaded() & OURS, reverse=True)
    if there:
        raise RunError(f"--backend native: modules are loaded already, by another run or otherwise: `rmmod {' '.join(there)}`")


def loaded():
    return {line.split()[0] for line in Path("/proc/modules").read_text().splitlines()}


def _command(*words):
    """What it printed, or RunError; a Ctrl-C is for whoever waits for us."""
    result = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, start_new_session=True,
                            env=os.environ | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"})
    if result.returncode:
        raise RunError(f"{words[0]} {Path(words[-1]).name}: {(result.stderr.strip().splitlines() or ['failed'])[-1].split(': ')[-1]}")
    return result.stdout.strip()


def _load(files):
    """Module files, each behind those it needs; lablink first, which only one run can have."""
    todo = dict(sorted(files.items(), key=lambda item: item[0] != "lablink"))

    def need(name):
        if name in todo:
            path = todo.pop(name)
            for other in filter(None, _command("modinfo", "-F", "depends", path).split(",")):
                need(other)
            _command("insmod", path)
        elif name not in loaded():
            _command("modprobe", name)

    while todo:
        need(next(iter(todo)))


def _unload(ours, others):
    """`ours` must go, as soon as the namespaces have; of others what nobody uses."""
    until = time.monotonic() + UNLOAD_S
    left = loaded() & (ours | others)
    while left:
        for name in sorted(left):
            with contextlib.suppress(RunError):
                _command("rmmod", name)
        before, left = left, loaded() & left
        if left != before:
            continue
        if not left & ours:
            break
        if time.monotonic() > until:
            raise LeftBehind(f"--backend native: cannot unload {', '.join(sorted(left & ours))}: still in use")
        time.sleep(0.1)


@contextlib.contextmanager
def borrowed(modules, settings):
    """The modules of the directory loaded; they, and `settings` (files of /proc/sys), put back at the end."""
    files = {path.stem: str(path) for path in modules.glob("*.ko")}
    before, needed = loaded(), set()
    with contextlib.ExitStack() as back:
        @back.callback
        def modules_back():
            new = loaded() - before
            _unload(new & set(files), {name for name in new - set(files) if name in needed or ON_DEMAND.fullmatch(name)})
        try:
            _load(files)
        except RunError as e:
            raise RunError(f"--backend native: {e}") from None
        finally:
            needed |= loaded() - before
        for path in map(Path, settings):
            if path.exists():
                back.callback(path.write_text, path.read_text())
        yield
