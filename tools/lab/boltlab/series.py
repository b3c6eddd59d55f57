# SPDX-License-Identifier: GPL-2.0
"""Series for the eye: thinned without losing peaks, bytes turned into rates."""

import bisect


def thin(times, values, points=1500):
    """At most about `points` samples; of each stretch the least and the greatest stay, in their order."""
    n = len(times)
    if n <= points:
        return list(times), list(values)
    width = -(-2 * n // points)
    t_out, v_out = [], []
    for i in range(0, n, width):
        stretch = range(i, min(n, i + width))
        low = min(stretch, key=values.__getitem__)
        high = max(stretch, key=values.__getitem__)
        for j in sorted({low, high}):
            t_out.append(times[j])
            v_out.append(values[j])
    return t_out, v_out


def stretch(n, points):
    """How many of n samples share two points, so that `points` are enough; 1: each has its own."""
    return 1 if n <= points else -(-2 * n // points)


def thin_even(times, values, width):
    """The least and the greatest of each `width` samples, in their order, at the stretch's start and middle.

    Series with the same times keep the same times, which thin() does not give: a chart of many lines needs one axis.
    """
    if width <= 1:
        return times, values
    t_out, v_out = [], []
    for i in range(0, len(values), width):
        part = values[i:i + width]
        low, high = min(part), max(part)
        t_out.append(times[i])
        if len(part) == 1:
            v_out.append(low)
            continue
        t_out.append(times[i + len(part) // 2])
        v_out += (low, high) if part.index(low) <= part.index(high) else (high, low)
    return t_out, v_out


def throughput(times, cumulative, width_ns):
    """Gb/s in consecutive windows, each placed at its middle."""
    t_out, v_out = [], []
    if not times:
        return t_out, v_out
    at, last = 0, len(times)
    while (after := bisect.bisect_left(times, times[at] + width_ns, at + 1)) < last:
        start, end = times[at], times[after]
        t_out.append((end + start) // 2)
        v_out.append(round((cumulative[after] - cumulative[at]) * 8 / (end - start), 6))
        at = after
    return t_out, v_out
