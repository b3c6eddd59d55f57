# SPDX-License-Identifier: GPL-2.0
"""Two results side by side, figure by figure; of several seeds the median and the range, which a difference has to leave to mean anything."""

import math

from . import plots, report, runner, sizes, stats, units, window

# what is compared: key of a row of plots.headline(), its name, how it is written
FIGURES = (
    ("port", "port", str),
    ("peak_kb", "max queue", report.kb),
    ("longest_kb", "", report.kb),
    ("p50_kb", "p50 queue", report.kb),
    ("p99_kb", "p99 queue", report.kb),
    ("utilization", "utilization", report.percent),
    ("drops", "drops", str),
    ("retransmits", "retransmits", str),
    ("jain_endless", "Jain's index", "{:.3f}".format),
    ("max_fct_us", "max FCT", report.us),
    ("unfinished", "unfinished", str),
)
SAME = ("scenario", "backend", "time", "slow", "kernel")


def slowdowns(r):
    """{(what it is of, percentile): (name, value)} of a run, by kind and message size, of each of several kinds, and of all; the last bin has no end, as largest messages differ."""
    found, of = {}, []
    kinds = r["fct"].get("kinds")
    for kind, fct in (kinds or {next((f["kind"] for f in r["flows"] if f["finite"]), ""): r["fct"]}).items():
        name = f"slowdown, {kind}" if kinds else "slowdown"
        for b in fct["bins"] if len(fct["bins"]) > 1 else ():
            low, high = b["above_bytes"], b["max_bytes"] in r["bins_bytes"] and b["max_bytes"]
            of.append((f"{name}, {sizes.bounds(low, high) if high else f'> {units.format_size(low)}'}", (kind, low, high), b))
        of += [(name, kind, fct)] if kinds else []
    for name, what, b in [*of, ("slowdown, all kinds" if kinds else "slowdown", None, r["fct"])]:
        found |= {(what, p): (f"{name}, {shown}", value) for p, shown in stats.PERCENTILES.items() if p in b and (value := stats.value(b, p)) is not None}
    return found


def figures(result):
    """{congestion control: {key: (name, how it is written, [value of each seed])}}."""
    by_cc = {}
    all_rows = plots.headline(result)
    for r, row in zip(result["runs"], all_rows):
        mine = by_cc.setdefault(r["cc"], {})
        for key, name, write in FIGURES:
            mine.setdefault(key, (name or plots.longest(all_rows), write, []))[2].append(row[key])
        for key, (name, value) in slowdowns(r).items():
            mine.setdefault(key, (name, report.times, []))[2].append(value)
    return by_cc


def pairs(a, b):
    """[(heading, of A, of B)]: the same congestion control, or the only one of each."""
    if len(a) == len(b) == 1 and a.keys() != b.keys():
        return [(f"{next(iter(a))} - {next(iter(b))}", *a.values(), *b.values())]
    return [(cc, a[cc], b[cc]) for cc in a if cc in b]


def written(write, values):
    """(text, (median, least, greatest)) of what is known of it; (text, text) of names."""
    if any(isinstance(v, str) for v in values):
        return (", ".join(dict.fromkeys(v or "-" for v in values)),) * 2
    of = stats.spread(values)
    if not of or of["median"] == math.inf:
        return "-", None
    median, least, most = of["median"], of["min"], of["max"]
    return write(median) + (f" ({write(least)} to {write(most)})" if least < most else ""), (median, least, most)


def difference(key, write, a, b):
    if a is None or b is None:
        return "-"
    if isinstance(a, str):
        return "none" if a == b else "another"
    change = b[0] - a[0]
    if not change:
        text = "none"
    elif key == "utilization":
        text = f"{100 * change:+.1f} points"
    elif a[0]:
        text = f"{100 * change / a[0]:+.1f} %"
    else:
        text = f"+{write(change)}"
    apart = a[2] < b[1] or b[2] < a[1]
    spread = a[1] != a[2] or b[1] != b[2]
    return text + (", within the spread" if change and spread and not apart else "")


def known(sides):
    """Keys of figures; the longest queue of any port only where one is not the port's own."""
    alike = all(f["longest_kb"][2] == f["peak_kb"][2] for f in sides)
    return [key for key in dict.fromkeys(k for f in sides for k in f) if key != "longest_kb" or not alike]


def rows(a, b):
    """[[figure, of A, of B, difference]] of what either has."""
    lines = []
    for key in known((a, b)):
        name, write, _ = max((side[key] for side in (a, b) if key in side), key=lambda figure: len(figure[0]))     # which says the kind
        (text_a, of_a), (text_b, of_b) = (written(write, side[key][2] if key in side else [None]) for side in (a, b))
        if (of_a, of_b) != (None, None):
            lines.append([name, text_a, text_b, difference(key, write, of_a, of_b)])
    return lines


def table(a, b):
    return units.columns([["", "A", "B", "difference"], *rows(a, b)])


def text(directories, results):
    first, second = results
    lines = [f"{letter}: {directory}: {r['command']}" + (f": {r['part']}" if "part" in r else "") for letter, directory, r in zip("AB", directories, results)]
    lines += [f"differs: {k}: {first.get(k)}, {second.get(k)}" for k in SAME if first.get(k) != second.get(k)]
    if first["versions"]["sources"] != second["versions"]["sources"]:
        lines.append("differs: the sources that were built")
    a, b = map(figures, results)
    both = pairs(a, b)
    for heading, of_a, of_b in both:
        n = [max(len(values) for _, _, values in side.values()) for side in (of_a, of_b)]
        seeds = f", {n[0]} and {n[1]} seeds: median (least to greatest)" if max(n) > 1 else ""
        lines += ["", f"{heading}{seeds}", table(of_a, of_b)]
    if not both:
        raise runner.RunError(f"compare: no congestion control is in both: {', '.join(a)}; {', '.join(b)}")
    for letter, mine, other in (("A", a, b), ("B", b, a)):
        alone = [cc for cc in mine if cc not in other]
        if alone and len(both) < len(mine):
            lines.append(f"\nonly in {letter}: {', '.join(alone)}")
    return "\n".join(lines)


def main(directories, begin=0, until=None, port=None):
    results = [runner.load_result(d) for d in directories]
    with runner.understood(*directories):
        results = [plots.at_port(window.cut(r, d, begin, until), d, port) for r, d in zip(results, directories)]
        said = text(directories, results)
    print(said)
    return 0
