# SPDX-License-Identifier: GPL-2.0
"""Quantities as people write them: sizes, rates, times; and lists and tables.

Each parser takes what TOML gave and returns an integer in the base unit
(bytes, bits per second, nanoseconds) or raises ValueError with what is allowed.
Arithmetic is decimal, so that "0.1us" is 100 ns and not 99.
"""

import re
from decimal import Decimal

SIZE_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9,
              "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
RATE_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}

_NUMBER = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def _quantity(value, units, what, bare_unit, signed=False):
    allowed = f"{what}: a number with {', '.join(units)}"
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"is not {allowed}")
    if isinstance(value, int):
        if value == 0 or bare_unit:
            value = f"{value}{bare_unit or next(iter(units))}"
        else:
            raise ValueError(f"has no unit; allowed is {allowed}")
    match = _NUMBER.fullmatch(value)
    if not match:
        raise ValueError(f"is not {allowed}")
    number, unit = match.groups()
    if not unit and Decimal(number) == 0:
        return 0
    if unit not in units:
        lower = {u.lower(): u for u in units} if what == "a rate" else units
        if unit.lower() not in lower:
            raise ValueError(f"is not {allowed}")
        unit = lower[unit.lower()]
    result = Decimal(number) * units[unit]
    if result < 0 and not signed:
        raise ValueError(f"is negative; allowed is {allowed}")
    if result != result.to_integral_value():
        raise ValueError(f"is finer than one {next(iter(units))}")
    return int(result)


def size(value):
    """Bytes; a bare integer is bytes."""
    return _quantity(value, SIZE_UNITS, "a size", "B")


def rate(value):
    """Bits per second, as tc writes rates."""
    return _quantity(value, RATE_UNITS, "a rate", None)


def time(value):
    """Nanoseconds."""
    return _quantity(value, TIME_UNITS, "a time", None)


def signed_time(value):
    return _quantity(value, TIME_UNITS, "a time", None, signed=True)


def format_size(n):
    if n < 1000:
        return f"{n:.0f} B"
    for unit, scale in (("KB", 10**3), ("MB", 10**6), ("GB", 10**9)):
        if n < 999.5 * scale:
            return f"{n / scale:.3g} {unit}"
    return f"{n / 10**12:.3g} TB"


def format_time(ns):
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(ns) >= scale:
            return f"{ns / scale:.4g} {unit}"
    return f"{ns:.0f} ns"


def format_rate(bps):
    for unit, scale in (("tbit", 10**12), ("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3)):
        if bps >= scale:
            return f"{bps / scale:g}{unit}"
    return f"{bps:g}bit"


def some(names):
    """The first eight of them."""
    return ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")


def columns(lines, left=1, indent=2):
    """A table as text: the first `left` columns begin at their left, the others end at their right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(" " * indent + "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip() for line in lines)
