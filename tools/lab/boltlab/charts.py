# SPDX-License-Identifier: GPL-2.0
"""What the charts of report.html show: series of every run, with as many points as a browser draws at ease.

A chart is {"id", "title", "what", "unit", "x", "note", "tables"}; a table is the lines that share their points in time.
Where a series has more samples than LINE_POINTS it is cut into stretches of equal length, and of each stretch the least and
the greatest sample stay, in their order: no peak is lost, and the chart's note says so.
"""

from . import many, plots, results, series, stats

LINE_POINTS = 20_000
CHART_POINTS = 240_000
CDF_POINTS = 500
# One bin is no line
MIN_BINS = 2

TIME_UNITS = (("us", 1e3), ("ms", 1e6), ("s", 1e9))
BYTE_UNITS = (("KB", 1e3), ("MB", 1e6), ("GB", 1e9))
RATE_UNITS = (("Gb/s", 1.0), ("Mb/s", 1e-3), ("kb/s", 1e-6))


class Run:
    """One run of one result directory."""

    def __init__(self, label, entry, result, directory):
        self.label, self.entry, self.result, self.directory = label, entry, result, directory
        self.port = next((p for p in entry["links"] if p["name"] == plots.queue_port(entry)), None)
        self.flows = many.sampled(entry)
        self.colour = self.dash = 0         # numbers of both, as runs_of() gives them

    def read(self, path):
        return results.read_series(self.directory / path)


def runs_of(named):
    """[(name, result, directory)]: their runs, told apart by the congestion control where that is enough."""
    several = len(named) > 1
    runs = [Run(f"{name}: {plots.run_name(result, r)}" if several else plots.run_name(result, r), r, result, directory)
            for name, result, directory in named for r in result["runs"]]
    for run, style in zip(runs, plots.styles([r.entry["cc"] for r in runs])):
        run.colour, run.dash = style
    return runs


def time_unit(runs):
    """Microseconds, as the papers have them, until those have six digits."""
    longest = max(r.entry["sim_ns"] for r in runs)
    return next(((u, d) for u, d in TIME_UNITS if longest / d < 50_000), TIME_UNITS[-1])


def byte_unit(lines):
    greatest = max((max(v, default=0) for _, _, _, v in lines), default=0)
    return next(((u, d) for u, d in BYTE_UNITS if greatest / d < 10_000), BYTE_UNITS[-1])


def rate_unit(lines):
    greatest = max((max(v, default=0) for _, _, _, v in lines), default=0)
    return next(((u, d) for u, d in RATE_UNITS if greatest / d >= 1), RATE_UNITS[0])


def span(ns):
    return next((f"{ns / d:g} {u}" for u, d in reversed(TIME_UNITS) if ns >= d), f"{ns} ns")


def table_of(t, lines):
    """`t` as [first, step, number] where it is a progression, as samples are."""
    step = t[1] - t[0] if len(t) > 1 else 0
    even = all(b - a == step for a, b in zip(t, t[1:]))
    return {"t": [t[0], step, len(t)] if even else {"list": list(t)}, "lines": lines}


def tables(lines):
    """[(run, label, times, values)]: those with the same times share one table."""
    shared = {}
    for run, label, t, v in lines:
        shared.setdefault(tuple(t), []).append({"run": run, "label": label, "v": list(v)})
    return [table_of(t, ls) for t, ls in shared.items()]


def sampled(lines):
    """Within what a chart may hold; and what the reader must know about it."""
    most = max(1000, min(LINE_POINTS, CHART_POINTS // max(1, len(lines))))
    shown, widest, interval = [], 1, 0
    for run, label, t, v in lines:
        width = series.stretch(len(v), most)
        if width > widest:
            widest, interval = width, t[1] - t[0]
        shown.append((run, label, *series.thin_even(t, v, width)))
    if widest == 1:
        steps = sorted({t[1] - t[0] for _, _, t, _ in lines if len(t) > 1})
        return shown, f"All samples are shown, one every {' or '.join(span(s) for s in steps)}." if steps else ""
    return shown, (f"Thinned: of each {widest} samples ({span(widest * interval)}) the smallest and the largest "
                   f"are shown, at the start and the middle of that time. The CSV files have all samples.")


def chart(key, title, what, unit, note, lines, **more):
    return {"id": key, "title": title, "what": what, "unit": unit[0], "div": unit[1], "note": note, "tables": tables(lines)} | more


def time_charts(runs):
    found = plots.panels(enumerate(runs), lambda one: one[1].entry["sim_ns"])
    return [c for n, panel in enumerate(found) for c in panel_charts(sorted(panel), n, len(found) > 1)]


def flow_lines(runs):
    """(lines of rate, lines of window, what the reader must know): a line for each flow, or where they are too many for that, for all of a run."""
    rate, window = [], []
    if not many.too_many([r.entry for _, r in runs]):
        for i, r in runs:
            for f in r.flows:
                data = r.read(f["series"])
                label = f"{r.label}, flow {f['id']} ({f['from']} to {f['to']})"
                rate.append((i, label, *series.throughput(data["time_ns"], data["acked_bytes"], plots.bin_ns(r.entry))))
                window.append((i, label, data["time_ns"], data["cwnd_bytes"]))
        return rate, window, ""
    ccs = [r.entry["cc"] for _, r in runs]
    for i, r in runs:
        of = many.OF[:1] if ccs.count(r.entry["cc"]) > 1 else many.OF
        read = many.of_run(r.entry, r.read, plots.bin_ns(r.entry))
        for lines, at in ((rate, 1), (window, 2)):
            times, values = many.together([(one[0], *one[at]) for one in read])
            lines += [(i, f"{r.label}, {o} of {len(read)} flows", times, values[o]) for o in of]
    return rate, window, "Of the flows that are there at each time; CC/flow-N.csv has each. "


def panel_charts(runs, n, several):
    queue, link = [], []
    port_of = plots.port_title([r.entry for _, r in runs])
    rate, window, of_many = flow_lines(runs)
    widths = sorted({plots.bin_ns(r.entry) for _, r in runs})
    for i, r in runs:
        if r.port and r.port["series"]:
            data = r.read(r.port["series"])
            label = f"{r.label}, port {r.port['name']}"
            queue.append((i, label, data["time_ns"], data["queue_bytes"]))
            link.append((i, label, *series.throughput(data["time_ns"], data["tx_bytes"], plots.bin_ns(r.entry))))
    averaged = f"Averaged over windows of {' or '.join(span(w) for w in widths)}, each at its middle."
    made = []
    for key, title, what, unit, lines in (
            ("queue", f"Queue of {port_of}", "queue", byte_unit, queue),
            ("link", f"Throughput of {port_of}", "rate", rate_unit, link),
            ("rate", many.TITLES["rate"][bool(of_many)], "rate", rate_unit, rate),
            ("window", many.TITLES["window"][bool(of_many)], "window", byte_unit, window)):
        lines = [line for line in lines if line[2]]
        if not lines:
            continue
        if unit is byte_unit:
            u = unit(lines)
            lines, note = sampled(lines)
        else:
            u, note = unit(lines), averaged
        if of_many and key in ("rate", "window"):
            note = of_many + (note if key == "rate" else f"A sample each {' or '.join(span(w) for w in widths)}.")
        if several:
            title += f": {', '.join(r.label for _, r in runs)}"
        made.append(chart(key if not n else f"{key}-{n}", title, what, u, note, lines, x="time", panel=n,
                          bdp=bdp_of([r for _, r in runs]) if unit is byte_unit else None))
    return made


def bdp_of(runs):
    """The BDP of the bottleneck port in bytes, where it is one for all runs."""
    found = {plots.bdp_bytes(r.entry, r.port) for r in runs if r.port}
    return found.pop() if len(found) == 1 else None


def queue_charts(runs):
    """The share of time that the queue was no longer than: quantiles of the samples, which are equally far apart."""
    lines = []
    for i, r in enumerate(runs):
        values = sorted(r.read(r.port["series"])["queue_bytes"]) if r.port and r.port["series"] else ()
        if len(values) > 1:
            lines.append((i, f"{r.label}, port {r.port['name']}", *stats.cdf(values, CDF_POINTS)))
    if not lines:
        return []
    unit, div = byte_unit([(i, label, v, t) for i, label, t, v in lines])
    return [chart("queue_cdf", "CDF of the queue over time", "share", ("%", 1), f"From the samples of {plots.port_title([r.entry for r in runs])}.", lines,
                  x="queue", x_unit=unit, x_div=div, bdp=bdp_of(runs))]


def completion_charts(runs):
    made = []
    sizes, share = [], []
    for i, r in enumerate(runs):
        bins = plots.size_bins(r.entry)
        if len(bins) >= MIN_BINS:
            t = [b["max_bytes"] for b in bins]
            sizes += [(i, f"{r.label}, {name}", t, [b[p] for b in bins])
                      for p, name in (("p99", "99 %"), ("p95", "95 %"), ("p50", "median"))]
        done = sorted(f["slowdown"] for f in r.entry["flows"] if f["slowdown"] is not None)
        if len(done) > 1:
            share.append((i, r.label, *stats.cdf(done, CDF_POINTS)))
    if sizes:
        made.append(chart("sizes", f"FCT slowdown by message size{max(plots.of_workload(r.result) for r in runs)}", "FCT slowdown", ("x", 1),
                          "Each point is at the largest size of its bin; 1 is the transfer alone at line rate.", sizes, x="size"))
    if share:
        most = max(r.entry["fct"]["count"] for r in runs)
        note = "Every finished transfer is a step." if most <= CDF_POINTS else f"{CDF_POINTS} quantiles (nearest rank)."
        made.append(chart("cdf", f"CDF of slowdown{max(plots.all_kinds(r.result) for r in runs)}", "share", ("%", 1), note, share, x="slowdown"))
    return made


def marks(named):
    """What happened when, where all results agree on it."""
    first, *others = [plots.marks(result) for _, result, _ in named]
    return first if all(o == first for o in others) else []
