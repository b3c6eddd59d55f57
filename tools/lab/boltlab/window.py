# SPDX-License-Identifier: GPL-2.0
"""A result as if only a part of its time had been measured, from the series it left."""

from . import results, runner, stats, units
from .guest import RunError


def cut(result, directory, begin, end):
    """Queues, utilization and Jain's index from `begin` to `end`, and the messages that started in it.

    `end` None: until each run's own. Drops and retransmissions are those of the whole run, "of_whole_run": nobody noted when they were.
    "part" says in words what this is of, and how many messages are left out; absent where that is all of it.
    """
    if not begin and end is None:
        return result
    runs = [cut_run(r, directory, begin, r["sim_ns"] if end is None else min(end, r["sim_ns"])) for r in result["runs"]]
    span = f"{units.format_time(begin)} to {'the end' if end is None or end >= result['runs'][0]['sim_ns'] else units.format_time(end)} of {units.format_time(result['runs'][0]['sim_ns'])}"
    return result | {"runs": runs, "part": span + left_out(result["runs"], runs)} | ({"spread": runner.spreads(runs)} if "spread" in result else {})


def left_out(whole, part):
    """Of each congestion control, all its seeds together."""
    number = {}
    for r, kept in zip(whole, part):
        of = sum(f["finite"] for f in r["flows"])
        out, total = number.get(r["cc"], (0, 0))
        number[r["cc"]] = out + of - len(kept["flows"]), total + of
    said = ", ".join(f"{cc} {out} of {total}" for cc, (out, total) in number.items() if total)
    return f"; messages left out: {said}" if said else ""


def cut_run(r, directory, begin, end):
    if begin >= end:
        raise RunError(f"{directory}: --from, --until: nothing was measured from {begin} ns to {end} ns; the run measured {r['sim_ns']} ns")
    links = [cut_port(p, results.read_series(directory / p["series"]), begin, end) for p in r["links"] if p["series"]]
    busiest = max(links, key=lambda p: p["utilization"], default=None)
    flows = [f for f in r["flows"] if f["finite"] and begin <= f["start_ns"] < end]
    index = jain(r, directory, begin, end)
    epochs = [] if index is None else [{"epoch_ns": end - begin, "count": 1, "min": index, "min_at_ns": begin, "p50": index}]
    return r | {"sim_ns": end - begin, "links": links, "bottleneck": busiest and busiest["name"], "jain": index, "jain_epochs": epochs,
                "flows": flows, "of_whole_run": results.sums(r), "fct": stats.fct(flows, r["bins_bytes"])}


def inside(times, begin, end):
    """First and last of the samples of that time."""
    step = times[1] - times[0] if len(times) > 1 else 1
    first = -(-begin // step)
    last = min(end // step, len(times) - 1)
    if first >= last:
        raise RunError(f"--from, --until: there are fewer than two samples from {begin} ns to {end} ns")
    return first, last


def cut_port(p, series, begin, end):
    first, last = inside(series["time_ns"], begin, end)
    sent = [after - before for before, after in zip(series["tx_bytes"][first:last], series["tx_bytes"][first + 1:last + 1])]
    queue = series["queue_bytes"][first:last]
    span = series["time_ns"][last] - series["time_ns"][first]
    return p | {"utilization": stats.rounded(sum(sent) * 8e9 / (p["rate_bps"] * span)), "tx_bytes": sum(sent), "backlogged": None,
                "queue_bytes": queue_figures(queue, sent)}


def queue_figures(queue, sent):
    """Each sample stands for the time until the next; while busy, for as much of it as the line sent."""
    ordered = sorted(queue)
    busy = sorted(zip(queue, sent))
    total = sum(sent)
    figures = {"max": ordered[-1], "mean": stats.rounded(stats.mean(ordered), 3), "p50": stats.percentile(ordered, 0.5),
               "p99": stats.percentile(ordered, 0.99)}
    return figures | {"busy_mean": round(sum(q * w for q, w in busy) / total) if total else None,
                      "busy_p50": stats.weighted_percentile(busy, 0.5), "busy_p99": stats.weighted_percentile(busy, 0.99)}


def jain(r, directory, begin, end):
    """Of the flows that were there all the time; None where one of them has no series."""
    there = [f["series"] for f in r["flows"] if f["start_ns"] <= begin and (stats.ended(f) is None or stats.ended(f) >= end)]
    if len(there) < 2 or None in there:
        return None
    rates = []
    for name in there:
        series = results.read_series(directory / name)
        first, last = inside(series["time_ns"], begin, end)
        rates.append(series["acked_bytes"][last] - series["acked_bytes"][first])
    return stats.rounded(stats.jain(rates))
