# SPDX-License-Identifier: GPL-2.0
"""Slowdown by message size as text: one table per congestion control."""

import math

from . import stats, units

PLACES = (("to last byte", lambda f: f), ("to last ACK", lambda f: f["ack"]), ("of fair share", lambda f: f.get("of_fair")),
          ("of ideal levels", lambda f: f.get("of_levels")))


def bounds(low, high):
    if not low:
        return f"<= {units.format_size(high)}"
    return f"{units.format_size(low)} - {units.format_size(high)}"


def number(value):
    """One figure, or its spread over the seeds."""
    if value is None:
        return "-"
    if isinstance(value, dict):
        return f"{number(value['median'])} ({number(value['min'])}-{number(value['max'])})"
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def count(value):
    if not isinstance(value, dict):
        return str(value)
    return str(value["min"]) if value["min"] == value["max"] else f"{value['min']}-{value['max']}"


def highest(b):
    return b["max_bytes"] if not isinstance(b["max_bytes"], dict) else b["max_bytes"]["max"]


def rows(fct):
    bins = fct["bins"]
    for b in bins:
        yield bounds(b["above_bytes"], highest(b)), b
    yield "all", fct


def table(fct):
    """Of each place its percentiles; p99.9 where any size has messages enough for it."""
    places = [(name, of) for name, of in PLACES if all(of(f) for _, f in rows(fct))]
    shown = [(name, of, p) for name, of in places for p in stats.PERCENTILES if p != "p999" or any(of(f).get(p) is not None for _, f in rows(fct))]
    lines = [["", "", *(name if p == "p50" else "" for name, _, p in shown)], ["size", "messages", *(stats.PERCENTILES[p] for *_, p in shown)]]
    for name, f in rows(fct):
        lines.append([name, count(f["count"]), *(number(of(f)[p]) for _, of, p in shown)])
    return units.columns(lines, indent=4)


def entries(result):
    """[(what it is of, fct)]: of several seeds their spread."""
    for r in result.get("spread") or result["runs"]:
        name = r["cc"] + (f", {len(r['seeds'])} seeds: median (min-max)" if "seeds" in r else "")
        for kind, fct in (r["fct"].get("kinds") or {"": r["fct"]}).items():
            yield name + (f", {kind}" if kind else ""), fct


def makespan(flows):
    return math.inf if any(f["end_ns"] is None for f in flows) else max(f["end_ns"] for f in flows) - min(f["start_ns"] for f in flows)


def in_time(found):
    """Of one run, or of several seeds."""
    least, middle, most = ("-" if found[k] == math.inf else units.format_time(found[k]) for k in ("min", "median", "max"))
    return middle if least == most else f"{middle} ({least}-{most})"


def one_size(result):
    """[a table of a kind, beside others, whose messages are of one bin: a row for each congestion control]."""
    found = {}
    for r in result.get("spread") or result["runs"]:
        seeds = f", {len(r['seeds'])} seeds: median (min-max)" if "seeds" in r else ""
        for kind, fct in (r["fct"].get("kinds") or {}).items():
            if len(fct["bins"]) > 1:
                continue
            of_runs = [[f for f in one["flows"] if f["kind"] == kind and f["finite"]] for one in result["runs"] if one is r or "seeds" in r and one["cc"] == r["cc"]]
            lines = found.setdefault(f"  {kind}{seeds}: slowdown to last byte", [["", "messages", "up to", "p50", "p99", "makespan"]])
            lines.append([r["cc"], count(fct["count"]), units.format_size(max(stats.size(f) or f["bytes"] for flows in of_runs for f in flows)), number(fct["p50"]), number(fct["p99"]),
                          in_time(stats.spread([makespan(flows) for flows in of_runs]))])
    return [f"{head}\n{units.columns(lines, indent=4)}" for head, lines in found.items()]


def text(result):
    """Nothing where no more than a few transfers end."""
    return "\n".join([*(f"  {name}: slowdown by message size\n{table(fct)}" for name, fct in entries(result) if len(fct["bins"]) > 1), *one_size(result)])
