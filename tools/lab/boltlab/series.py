# SPDX-License-Identifier: GPL-2.0
"""Series for the eye: thinned without losing peaks, bytes turned into rates."""


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


def throughput(times, cumulative, width_ns):
    """Gb/s in consecutive windows, each placed at its middle."""
    t_out, v_out = [], []
    if not times:
        return t_out, v_out
    start, base = times[0], cumulative[0]
    for t, b in zip(times, cumulative):
        if t - start >= width_ns:
            t_out.append((t + start) // 2)
            v_out.append(round((b - base) * 8 / (t - start), 3))
            start, base = t, b
    return t_out, v_out
