# SPDX-License-Identifier: GPL-2.0
"""What came of a sweep: a table of its cases as CSV, and of each group of seeds the mean with its confidence."""

import csv
import math

from . import compare, plots, runner, stats, units
from .build import RunError, progress

DIRECTORIES = "cases"
CASES, SUMMARY = FILES = "results.csv", "summary.csv"
CONFIDENCE = 0.95
NAMES = ("port", "queue_longest_port")              # of measures(), which have no mean
SUMMED = ("mean", "p50", "p95", "p99", "p999")      # of stats.summary()
SHOWN = (*(key for key, *_ in compare.FIGURES if key != "port"), (None, "p50"), (None, "p99"))      # of compare.figures(), in the text


def measures(result):
    """{column: number} of a result with one run. Units are in the names; what was not measured is None, what did not end infinite."""
    r, = result["runs"]
    row, = plots.headline(result)
    port = next((p for p in r["links"] if p["name"] == row["port"]), {})
    queue, fct, ack = port.get("queue_bytes") or {}, r["fct"], r["fct"].get("ack", {})
    found = {f"queue_{k}_bytes": queue.get(k) for k in ("max", "mean", "p50", "p99", "busy_p50", "busy_p99")}
    found |= {"port": row["port"], "queue_longest_bytes": row["longest_kb"] and round(row["longest_kb"] * 1000), "queue_longest_port": row["longest_port"]}
    found |= {"utilization": row["utilization"]} | {k: row[k] for k in ("drops", "marks", "retransmits", "unfinished", "jain")}
    found |= {"finished": fct["count"], "fct_max_ns": row["max_fct_us"] if row["max_fct_us"] in (None, math.inf) else round(row["max_fct_us"] * 1000)}
    found |= {f"fct_{k}_ns": stats.value(fct, f"{k}_ns") for k in SUMMED}
    found |= {f"slowdown_{k}": stats.value(fct, k) for k in SUMMED}
    found |= {f"slowdown_ack_{k}": stats.value(ack, k) for k in SUMMED}
    found |= {k: stats.value(fct, k) for k in ("makespan_ns", "makespan_over_ideal")}
    found |= {k: r["control"].get(k) for k in ("src_packets", "bts_packets", "pauses", "pause_ns")}
    for b in fct["bins"] if len(fct["bins"]) > 1 else ():
        found |= {f"slowdown_{k}_above_{b['above_bytes']}_bytes": stats.value(b, k) for k in stats.PERCENTILES}
    for kind, of in fct.get("kinds", {}).items():
        found |= {f"slowdown_{k}_of_{kind}": stats.value(of, k) for k in stats.PERCENTILES}
    for i, p in enumerate(r.get("programs", ())):
        ended = None not in (p["start_ns"], p["end_ns"])
        found[f"program_{i}_ns"] = p["end_ns"] - p["start_ns"] if ended else None
    return found


def of_case(case, out, is_of, sources):
    """Its result, if it is of this scenario, and of these sources: both may have been edited while the sweep ran."""
    directory = out / DIRECTORIES / case["name"]
    result = runner.load_result(directory)
    with runner.understood(directory):
        if not is_of(case, (directory / "scenario.toml").read_bytes()) or result["versions"]["sources"] != sources:
            raise RunError(f"{directory}: scenario or sources were edited while the sweep ran; remove it, and run the sweep again")
        return result, measures(result)


def interval(values):
    """(number, mean or None, half of the 95 % confidence interval or None) of what is known, by Student's t."""
    known = [v for v in values if v is not None]
    if not known or math.inf in known:
        return len(known), None, None
    mean = stats.mean(known)
    if len(known) < 2:
        return 1, mean, None
    deviation = (sum((v - mean) ** 2 for v in known) / (len(known) - 1)) ** 0.5
    return len(known), mean, stats.student_t(CONFIDENCE, len(known) - 1) * deviation / len(known) ** 0.5


def groups(cases):
    """{(congestion control, *values): [index of each case]}: they differ in their seeds only."""
    found = {}
    for i, c in enumerate(cases):
        found.setdefault((c["cc"], *c["set"].values()), []).append(i)
    return found


def columns(rows):
    """Of all rows, in the order in which they first come."""
    return list(dict.fromkeys(k for row in rows for k in row))


def number(value):
    """Short, and exact enough for any figure of a result."""
    return "" if value in (None, math.inf) else f"{value:.10g}" if isinstance(value, float) else value


def write_csv(path, heads, lines):
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows([heads, *([number(v) for v in line] for line in lines)])


def summary(cases, keys, measured):
    """A line for each group and figure: number of seeds, mean, half of the interval, its ends."""
    lines = []
    for group, members in groups(cases).items():
        for name in (c for c in columns(measured) if c not in NAMES):
            n, mean, half = interval([measured[i].get(name) for i in members])
            if n:
                lines.append([*group, name, n, mean, half, *((None, None) if half is None else (mean - half, mean + half))])
    return ["cc", *keys, "figure", "seeds", "mean", "ci95", "low", "high"], lines


def written(write, values):
    _, mean, half = interval(values)
    if mean is None:
        return "-"

    def text(v):
        return f"{v:.4g}" if write is str else write(v)
    return text(mean) + (f" +- {text(half)}" if half is not None else "")


def text(cases, keys, results):
    """A line for each group, with the figures that any has."""
    figures = [compare.figures(result)[c["cc"]] for c, result in zip(cases, results)]
    having = compare.known(figures)
    shown = [key for key in SHOWN if key in having and any(v is not None for f in figures if key in f for v in f[key][2])]
    lines = [["cc", *keys, "seeds", *(next(f[key][0] for f in figures if key in f) for key in shown)]]
    for group, members in groups(cases).items():
        of = [figures[i] for i in members]
        lines.append([*group, str(len(members)), *(
            written(next((f[key][1] for f in of if key in f), str), [v for f in of if key in f for v in f[key][2]]) for key in shown)])
    where = plots.where([row for result in results for row in plots.headline(result)])
    said = [f"  {where}."] if where else []
    said += plots.alike({", ".join(group): [results[i]["runs"][0] | {"seed": cases[i]["seed"]} for i in members] for group, members in groups(cases).items()})
    return "\n".join([units.columns(lines, left=1 + len(keys)), *said])


def write(cases, keys, out, is_of, sources):
    """The tables of these cases; is_of(case, text of a scenario) and `sources` say what they have to be of."""
    both = [of_case(c, out, is_of, sources) for c in cases]
    results, measured = zip(*both)
    heads = ["case", "cc", "seed", *keys, *columns(measured)]
    lines = [[c["name"], c["cc"], c["seed"], *c["set"].values(), *(m.get(k) for k in heads[3 + len(keys):])] for c, m in zip(cases, measured)]
    write_csv(out / CASES, heads, lines)
    write_csv(out / SUMMARY, *summary(cases, keys, measured))
    print("mean +- 95 % confidence")
    print(text(cases, keys, results))
    progress(f"tables: {out / CASES}, {out / SUMMARY}")
