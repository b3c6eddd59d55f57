# SPDX-License-Identifier: GPL-2.0
"""Makes the lab's Python importable, and a scenario out of a few lines."""

import contextlib
import io
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

TREE = Path(__file__).resolve().parents[2]
LAB = TREE / "tools" / "lab" / "lab"
sys.path.insert(0, str(TREE / "tools" / "lab"))

from boltlab import cli, schema, topology, traffic  # noqa: E402

# everything that a test leaves behind goes with us
KEPT = tempfile.TemporaryDirectory(prefix="lab-test-")
tempfile.tempdir = KEPT.name

BASE = """
name = "test"
duration = "1ms"
[topology]
kind = "dumbbell"
[[flow]]
from = "s0"
to = "r0"
[[flow]]
from = "s1"
to = "r1"
start = "100us"
"""


def lab(*args, env=None):
    """The lab's command in this process, which has imported already what a new one would import."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, env or {}), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main([str(a) for a in args])
        except SystemExit as e:
            status = e.code
    return subprocess.CompletedProcess(args, status or 0, out.getvalue(), err.getvalue())


def write(text):
    directory = Path(tempfile.mkdtemp(prefix="lab-test-"))
    path = directory / "test.toml"
    path.write_text(text)
    return path


def load(text=BASE, cc=None, sets=(), seed=None):
    return schema.load(write(text), cc, sets, seed)


def one(text=BASE, sets=(), seed=None):
    """(scenario, network, traffic) of the first congestion control."""
    s = load(text, None, sets, seed)[0][1]
    net = topology.build(s, "test.toml")
    return s, net, traffic.build(s, net, "test.toml")


ODD = (b"nan", b"inf", b"-1", b"+1", b"0", b"1e400", b"1e12", b"1e-400", b"9" * 30, b"1_0", b"0x10", b".", b"", b"\xff", b"\0", b"\xd9\xa3", b"#", b"a b", b"\r", b"\n",
       b"\xe2\x80\xa8", b"true", b"[]", b"{}", b"\"")


def fuzz(test, read, begins, good, times=1500):
    """`good` is read; with one or two words of it changed it is read, or refused in a line that begins so."""
    read(good)
    rng, refused = random.Random(good), 0
    for _ in range(times):
        parts = re.split(rb"(\s+)", good)
        for _ in range(rng.randint(1, 2)):
            parts[rng.randrange(len(parts))] = rng.choice(ODD)
        data = b"".join(parts)
        try:
            read(data)
        except schema.ScenarioError as e:
            refused += 1
            test.assertTrue(str(e).startswith(begins) and "\n" not in str(e), f"{data}: {e}")
        except Exception as e:  # pylint: disable=broad-except # what a user would see as a traceback
            test.fail(f"{data}: {e!r}")
    test.assertTrue(0 < refused < times, f"{refused} of {times} refused")
