# SPDX-License-Identifier: GPL-2.0
"""Processor time of programs in virtual time: what a model is, and which one a program has.

See tools/lab/kernel/patches for what the kernel makes of it.
"""

import re
from decimal import Decimal
from typing import NamedTuple

from . import units

FREE = "free"
MOST_CALL_PS = 10**9            # 1 ms
MOST_BYTE_PS = 10**6            # 1 us
MOST_CORES = 64
ALLOWED = "is not a model of processor time: a time for each system call, such as \"500ns\", \"call=500ns,byte=0.05ns,cores=2\", or \"free\""


class Cost(NamedTuple):
    call_ps: int
    byte_ps: int
    cores: int | None           # of a node; None: not said


def _picoseconds(word, key, text, most):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if not match:
        raise ValueError(f"has a {word} that is not a time, such as {key}")
    ps = Decimal(match[1]) * units.TIME_UNITS[match[2]] * 1000
    if ps != ps.to_integral_value() or not 0 <= ps <= most:
        raise ValueError(f"has a {word} that is not in whole picoseconds, at most {units.format_time(most / 1000)}")
    return int(ps)


def model(value):
    """The key's parser."""
    if value == FREE:
        return Cost(0, 0, None)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(ALLOWED)
    if "=" not in value:
        value = f"call={value}"
    parts = {}
    for part in value.split(","):
        word, _, text = part.strip().partition("=")
        if word not in ("call", "byte", "cores") or not text:
            raise ValueError(ALLOWED)
        if word in parts:
            raise ValueError(f"has {word} twice")
        parts[word] = text.strip()
    if "call" not in parts:
        raise ValueError("has no call: the time for each system call")
    cores = parts.get("cores")
    if cores is not None and (not cores.isdigit() or not 1 <= int(cores) <= MOST_CORES):
        raise ValueError(f"has cores that are not a whole number from 1 to {MOST_CORES}")
    cost = Cost(_picoseconds("call", "500ns", parts["call"], MOST_CALL_PS),
                _picoseconds("byte", "0.05ns", parts.get("byte", "0ns"), MOST_BYTE_PS), cores and int(cores))
    if not cost.call_ps:
        raise ValueError("has a call that takes no time; free is \"free\"")
    return cost


def of(s, p):
    """What the program pays; None: nothing."""
    cost = p.cpu_cost or s.host.cpu_cost
    if cost is None or not cost.call_ps:
        return None
    node = s.host.cpu_cost
    return cost._replace(cores=(node.cores if node else None) or 1)


def job(s, p):
    """A word of its job."""
    cost = of(s, p)
    return f"{cost.cores} {cost.call_ps} {cost.byte_ps}" if cost else "-"


def text(cost):
    """As the key has it."""
    if cost is None or not cost.call_ps:
        return FREE
    return f"call={cost.call_ps / 1000:g}ns,byte={cost.byte_ps / 1000:g}ns,cores={cost.cores or 1}"


def check(s, bad):
    if s.host.cpu_cost and s.host.cpu_cost.call_ps and not s.program:
        bad("host.cpu_cost", "is what programs pay, and there is no [[program]]; flows are free")
    for i, p in enumerate(s.program):
        if p.cpu_cost and p.cpu_cost.cores:
            bad(f"program.{i}.cpu_cost", "has cores, which are the node's: host.cpu_cost")
