# SPDX-License-Identifier: GPL-2.0
"""Slowdown to the last ACK by message size, with queue, utilization, drops and retransmits, as a table in Markdown; and as a picture in SVG; and each message as CSV.

Of several seeds the medians.  All need nothing but Python, and are the same for the same result.
"""

import math
import statistics
from pathlib import Path

from . import plots, report, runner, sizes, stats, tables, window
from .guest import RunError

WIDTH, HEIGHT = 800, 380
LEFT, RIGHT, TOP, BOTTOM = 56, 160, 36, 48
LABEL = 56              # of a size on the axis, its width at most
PERCENTILES = (("p99", ""), ("p50", ' stroke-dasharray="5 4"'))
BOUNDS = {"fair sharing": ("fair", "#777777"), "levels": ("levels", "#999999"), "shortest first": ("srpt", "#bbbbbb")}    # key, colour
# a row's name, its key in plots.headline(), how it is written
FIGURES = (("max queue", "peak_kb", "{:.0f} KB".format), ("", "longest_kb", "{:.0f} KB".format), ("p50 queue while busy", "busy_p50_kb", "{:.0f} KB".format),
           ("p99 queue while busy", "busy_p99_kb", "{:.0f} KB".format), ("utilization", "utilization", report.percent),
           ("drops", "drops", "{:.0f}".format), ("retransmits", "retransmits", "{:.0f}".format))
TICKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)


def median(value):
    return value["median"] if isinstance(value, dict) else value


def most(value):
    return value["max"] if isinstance(value, dict) else value


def figures(rows):
    """[(name, {congestion control: median of its seeds})]: of one port, but drops and retransmits of all ports and flows."""
    seeds = {(cc, key): [r[key] for r in rows if r["cc"] == cc and r[key] is not None] for cc in {r["cc"] for r in rows} for _, key, _ in FIGURES}
    return [(name or plots.longest(rows), {cc: write(statistics.median(values)) for (cc, k), values in seeds.items() if k == key and values})
            for name, key, write in FIGURES if key != "longest_kb" or plots.elsewhere(rows)]


def fcts(result):
    """[(a congestion control's entry, [(name, what it says of these messages)])]: of several seeds their spread; sizes are those of the workload."""
    found, entries = [], result.get("spread") or result["runs"]
    tops = {}       # of seeds, and of an earlier lab's runs, the largest messages differ
    for b in (b for entry in entries for b in plots.size_bins(entry)):
        tops[b["above_bytes"]] = max(sizes.highest(b), tops.get(b["above_bytes"], 0))
    for entry in entries:
        kinds = entry["fct"].get("kinds", {})
        main = kinds.get("workload", entry["fct"])
        found.append((entry, [*((sizes.bounds(b["above_bytes"], tops[b["above_bytes"]]), b) for b in main["bins"]), ("all", main),
                              *((f"{kind}, all", f) for kind, f in kinds.items() if "workload" in kinds and f is not main)]))
    return found


def curve(rows, key, shown):
    return [(name, median(f.get("max_bytes")), {p: median(f[key].get(p)) for p in shown}) for name, f in rows]


def curves(result, shown=("p50", "p99")):
    """[(congestion control, [(name, largest message, {of `shown`: slowdown})], messages that did not end)].

    The last row is of all messages, those of other kinds behind it.

    Behind them what the same messages would have without any: the bounds are the same for all.
    """
    found, known = [], {}
    for entry, rows in fcts(result):
        found.append((entry["cc"], curve(rows, "ack", shown), most(entry["fct"]["unfinished"])))
        known |= {key: rows for key, _ in BOUNDS.values() if key not in known and all(key in f for _, f in rows)}
    return found + [(name, curve(known[key], key, shown), None) for name, (key, _) in BOUNDS.items() if key in known]


def cell(of):
    return " / ".join("-" if v is None else f"{v:.{1 if v < 100 else 0}f}" for v in of.values())


def markdown(result, shown=("p50", "p99")):
    """A row for each size that all of them have, all messages, and each of FIGURES.  The p99 of a hundred messages is their maximum, so say how many."""
    found, number = curves(result, shown), {name: median(f["count"]) for name, f in fcts(result)[0][1]}
    names = [name for name, _, _ in found[0][1] if all(name in (n for n, _, _ in rows) for _, rows, _ in found)]
    lines = [f"| message size{plots.of_workload(result)} | messages | " + " | ".join(cc for cc, *_ in found) + " |", "|---" * (len(found) + 2) + "|"]
    for name in names:
        lines.append(f"| {name} | {number[name]:.0f} | " + " | ".join(cell(next(of for n, _, of in rows if n == name)) for _, rows, _ in found) + " |")
    if any(unfinished for *_, unfinished in found):
        lines.append("| not finished | | " + " | ".join("-" if n is None else f"{n:.0f}" for *_, n in found) + " |")
    rows = plots.headline(result)
    lines += [f"| {name} | | " + " | ".join(of.get(cc, "-") for cc, *_ in found) + " |" for name, of in figures(rows)]
    where = plots.where(rows)
    lines += ["", f"{where}."] if where else []
    lines += ["", f"From {result['part']}."] if "part" in result else []
    return "\n".join(lines)


def scale(low, high, begin, end):
    """From a logarithmic axis to the picture."""
    span = math.log(high / low) or 1
    return lambda v: begin + (end - begin) * math.log(v / low) / span


def svg(found, title):
    title = report.esc(title)
    sized = [(cc, [(top, of) for _, top, of in rows if top and any(of.values())]) for cc, rows, _ in found]
    if not any(rows for _, rows in sized):
        raise RunError("no message ended, so there is nothing to draw")
    tops = sorted({top for _, rows in sized for top, _ in rows})
    most = max(v for _, rows in sized for _, of in rows for v in of.values() if v)
    x = scale(tops[0], max(tops[-1], 2 * tops[0]), LEFT, WIDTH - RIGHT)
    y = scale(1, max(1.2 * most, 2), HEIGHT - BOTTOM, TOP)
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img">',
            f"<title>{title}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="20" font-size="14">{title}</text>']
    for tick in (t for t in TICKS if t <= 1.2 * most):
        text.append(f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
                    f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick}</text>')
    written = None
    for top in tops:
        text.append(f'<path d="M{x(top):.1f} {HEIGHT - BOTTOM}v5" stroke="#333333"/>')
        if written is None or x(top) >= written + LABEL:
            written = x(top)
            text.append(f'<text x="{written:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{plots.size_text(top)}</text>')
    text.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 10}" text-anchor="middle">message size, up to</text>'
                f'<text transform="translate(16 {HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">slowdown, times base RTT + bytes at line rate</text>')
    for n, ((cc, rows), (number, _)) in enumerate(zip(sized, plots.styles([cc for cc, _ in sized]))):
        colour = BOUNDS[cc][1] if cc in BOUNDS else plots.COLOURS[number]
        for m, (p, dash) in enumerate(PERCENTILES):
            points = " ".join(f"{x(top):.1f},{y(max(of[p], 1)):.1f}" for top, of in rows if of[p])
            at = TOP + 18 * (len(PERCENTILES) * n + m) + 10
            text.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
                        f'<path d="M{WIDTH - RIGHT + 12} {at}h26" stroke="{colour}" stroke-width="2"{dash}/>'
                        f'<text x="{WIDTH - RIGHT + 44}" y="{at + 4}">{cc} {p}</text>')
    return "\n".join([*text, "</svg>"]) + "\n"


def messages(result):
    """(heads, a row for each message of each run); what it does not have is None.  An earlier lab did not note the size of one that did not end."""
    heads = ("run", "cc", "seed", "id", "kind", "src", "dst", "start_ns", "size_bytes", "fct_ns", "ideal_ns", "slowdown", "slowdown_ack", "retransmits", "unfinished")
    return heads, [[r["cc"], f["cc"], r["seed"], f["id"], f["kind"], f["from"], f["to"], f["start_ns"], f.get("size_bytes", None if f["fct_ns"] is None else f["bytes"]),
                    f["fct_ns"], f["ideal_ns"], f["slowdown"], f["slowdown_ack"], f["retransmits"], int(f["fct_ns"] is None)]
                   for r in result["runs"] for f in r["flows"] if f["finite"]]


def main(directory, begin, until, port, p999, rows, picture):
    result = runner.load_result(directory)
    with runner.understood(directory):
        result = plots.at_port(window.cut(result, directory, begin, until), directory, port)
        text = markdown(result, [p for p in stats.PERCENTILES if p999 or p != "p999"])
        each = messages(result) if rows else None
    print(text)
    if rows:
        tables.write_csv(rows, *each)
    if picture:
        with runner.understood(directory):
            drawn = svg(curves(result), f"{result['scenario']}: slowdown to the last ACK{plots.of_workload(result)}")
        Path(picture).write_text(drawn, encoding="utf-8")
    return 0
