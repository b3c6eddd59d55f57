# SPDX-License-Identifier: GPL-2.0
"""Many flows in one chart: beyond what colours and dashes tell apart, the greatest, the median and the least of them."""

from . import series, stats

MOST_LINES = 8
MOST_OF_ONE = 4             # lines of one congestion control among several: as many as there are dashes
MOST_READ = 64              # flows of a run whose series are read
OF = ("median", "greatest", "least")
TITLES = {"rate": ("Rate of each flow (acknowledged)", "What the flows get (acknowledged)"),       # of each, of many
          "window": ("Congestion window of each flow", "Congestion windows of the flows")}


def too_many(runs):
    """`runs`: entries of results, whose flows would be a line each."""
    lines = [sum(1 for f in r["flows"] if f["series"]) for r in runs]
    of = {}
    for r, n in zip(runs, lines):
        of[r["cc"]] = of.get(r["cc"], 0) + n
    return sum(lines) > MOST_LINES or len(of) > 1 and max(of.values()) > MOST_OF_ONE


def sampled(r):
    return [f for f in r["flows"] if f["series"]][:MOST_READ]


def is_there(f, t):
    end = stats.ended(f)
    return f["start_ns"] <= t and (end is None or t < end)


def together(flows):
    """[(flow, times, values)]: (times, {of: values}), at each time of the flows that are there."""
    found = {}
    for f, times, values in flows:
        for t, v in zip(times, values):
            if is_there(f, t):
                found.setdefault(t, []).append(v)
    times = sorted(found)
    at = [sorted(found[t]) for t in times]
    return times, {"median": [stats.percentile(v, 0.5) for v in at], "greatest": [v[-1] for v in at], "least": [v[0] for v in at]}


def sparse(times, values, width_ns):
    """The samples that begin a window of this width."""
    step = times[1] - times[0] if len(times) > 1 else 1
    every = max(1, width_ns // max(1, step))
    return list(times[::every]), list(values[::every])


def rate(data, width_ns):
    return series.throughput(data["time_ns"], data["acked_bytes"], width_ns)


def window(data, width_ns):
    return sparse(data["time_ns"], data["cwnd_bytes"], width_ns)


def of_run(r, read, width_ns):
    """[(flow, of rate, of window)] of a run, each (times, values)."""
    result = []
    for f in sampled(r):
        data = read(f["series"])
        result.append((f, rate(data, width_ns), window(data, width_ns)))
    return result
