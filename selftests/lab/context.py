# SPDX-License-Identifier: GPL-2.0
"""Makes the lab's Python importable, and a scenario out of a few lines."""

import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tools" / "lab"))

from boltlab import schema, topology, traffic  # noqa: E402

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
