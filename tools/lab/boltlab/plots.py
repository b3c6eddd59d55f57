# SPDX-License-Identifier: GPL-2.0
"""Plots beside result.json, one PNG per view, all congestion controls in one frame."""

import os

from . import build, results, series
from .guest import RunError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
MAX_FLOWS = 16
MAX_MARKS = 10


def bin_ns(result_run):
    """Width of the bins rates are shown in: two round trips (fewer alias with clumps), some 300 to the picture."""
    return max(1000, 2 * result_run["base_rtt_ns"], result_run["sim_ns"] // 300)


def views(result, out):
    """[(key, title, y axis, [(label, cc, times_us, values)])]: what the pictures show."""
    queue, link, rate, window = [], [], [], []
    for r in result["runs"]:
        cc = r["cc"]
        port = next((p for p in r["links"] if p["name"] == queue_port(result, r)), None)
        if port and port["series"]:
            data = results.read_series(out / port["series"])
            t = data["time_ns"]
            label = f"{cc}, port {port['name']}"
            queue.append((label, cc, *scaled(*series.thin(t, data["queue_bytes"]), 1e-3)))
            link.append((label, cc, *scaled(*series.throughput(t, data["tx_bytes"], bin_ns(r)), 1)))
        for f in [f for f in r["flows"] if f["series"]][:MAX_FLOWS]:
            data = results.read_series(out / f["series"])
            t = data["time_ns"]
            label = f"{cc}, flow {f['id']} ({f['from']} to {f['to']})"
            rate.append((label, cc, *scaled(*series.throughput(t, data["acked_bytes"], bin_ns(r)), 1)))
            window.append((label, cc, *scaled(*series.thin(t, data["cwnd_bytes"], 800), 1e-3)))
    return [v for v in (
        ("queue", "Queue of the bottleneck port", "KB", queue),
        ("link", "What the bottleneck link carries", "Gb/s", link),
        ("rate", "What each flow gets (acknowledged)", "Gb/s", rate),
        ("window", "Congestion window of each flow", "KB", window)) if any(len(s[2]) for s in v[3])]


def marks(result):
    """[(time_us, what happened)]: explicit flows that start later, and events."""
    r = result["runs"][0]
    starts = [(f["start_ns"] / 1000, f"flow {f['id']} starts") for f in r["flows"] if f["kind"] == "flow" and f["start_ns"] > 1000]
    events = [(e["at_ns"] / 1000, {"stop": f"flow {e['flow']} stops", "reroute": f"flow {e['flow']} is rerouted"}.get(e["do"], e["command"]))
              for e in r["events"]]
    return sorted(starts + events)[:MAX_MARKS]


def queue_port(result, r):
    """The bottleneck of the run, or the longest queue's port where a host's own link is as busy."""
    known = {p["name"]: p for p in r["links"]}
    best = max((p for p in r["links"] if p["queue_bytes"] and p["series"]),
               key=lambda p: (round(p["utilization"], 2), p["queue_bytes"]["max"]), default=None)
    return (best or known.get(r["bottleneck"]) or {"name": None})["name"]


def scaled(times, values, factor):
    return [t / 1000 for t in times], [v * factor for v in values]


def pictures():
    """matplotlib, set up to draw the same for the same."""
    os.environ.setdefault("MPLCONFIGDIR", str(build.cache() / "matplotlib"))
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise RunError("matplotlib is missing: install python3-matplotlib (or run with --no-plots)") from None
    return pyplot


def save(figure, path, pyplot):
    figure.tight_layout()
    # no date in the file: equal runs make equal pictures
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)


def draw(axes, title, unit, lines, marked=()):
    for i, (label, _, t, v) in enumerate(lines):
        axes.plot(t, v, label=label, color=COLOURS[i % len(COLOURS)], linewidth=1)
    for t, what in marked:
        axes.axvline(t, color="#999999", linewidth=0.8, linestyle=":")
        axes.annotate(what, (t, 1), xycoords=("data", "axes fraction"), xytext=(3, -10), textcoords="offset points",
                      fontsize=7, color="#777777")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("time, us")
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if len(lines) <= 12:
        axes.legend(fontsize=8, frameon=False)


def make(result, out):
    """Writes the PNGs."""
    shown = views(result, out)
    pyplot = pictures()
    for key, title, unit, lines in shown:
        figure, axes = pyplot.subplots(figsize=(9, 4.2), dpi=120)
        draw(axes, f"{result['scenario']}: {title}", unit, lines, marks(result))
        save(figure, out / f"{key}.png", pyplot)
    slowdowns(result, out, pyplot)


def compare(named, out):
    """Runs of several directories, [(name, result, directory)], in one picture per view: queue, link and
    slowdown in one frame, what flows get in a frame each."""
    pyplot = pictures()
    out.mkdir(parents=True, exist_ok=True)
    seen = [(name, {key: view for key, *view in views(result, directory)}) for name, result, directory in named]
    for key in ("queue", "link"):
        lines = [(f"{name}: {label}", cc, t, v) for name, by in seen for label, cc, t, v in (by[key][2] if key in by else ())]
        if lines:
            title, unit = next(by[key][:2] for _, by in seen if key in by)
            figure, axes = pyplot.subplots(figsize=(9, 4.2), dpi=120)
            draw(axes, title, unit, lines)
            save(figure, out / f"{key}.png", pyplot)
    seen = [(name, by["rate"]) for name, by in seen if "rate" in by]
    if seen:
        figure, frames = pyplot.subplots(1, len(seen), figsize=(9, 4.2), dpi=120, sharey=True, squeeze=False)
        for axes, (name, (_, unit, lines)) in zip(frames[0], seen):
            draw(axes, name, unit, lines)
        save(figure, out / "rate.png", pyplot)
    runs = [(name if len(result["runs"]) == 1 else f"{name}: {r['cc']}", size_bins(r)) for name, result, _ in named for r in result["runs"]]
    runs = [(label, bins) for label, bins in runs if len(bins) > 1]
    if runs:
        figure, axes = pyplot.subplots(figsize=(9, 4.2), dpi=120)
        draw_slowdowns(axes, "95th percentile of the slowdown by size of message", [
            (label, bins, "p95", COLOURS[i % len(COLOURS)], {}) for i, (label, bins) in enumerate(runs)])
        save(figure, out / "slowdown.png", pyplot)


def size_bins(r):
    """Of the workload, where an incast runs beside it."""
    return r["fct"].get("kinds", {}).get("workload", r["fct"])["bins"]


def draw_slowdowns(axes, title, lines):
    for label, bins, p, colour, style in lines:
        axes.plot([b["max_bytes"] for b in bins], [b[p] for b in bins], **({"marker": "o", "color": colour, "label": label} | style))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("message, bytes")
    axes.set_ylabel("time over ideal")
    axes.grid(True, which="both", color="#dddddd", linewidth=0.6)
    axes.legend(fontsize=8, frameon=False)


def slowdowns(result, out, pyplot):
    runs = [(r["cc"], size_bins(r)) for r in result["runs"]]
    runs = [(cc, bins) for cc, bins in runs if bins]
    if not runs or max(len(bins) for _, bins in runs) < 2:
        return
    figure, axes = pyplot.subplots(figsize=(9, 4.2), dpi=120)
    draw_slowdowns(axes, f"{result['scenario']}: slowdown by size of message", [
        line for i, (cc, bins) in enumerate(runs) for line in (
            (f"{cc}, p99", bins, "p99", COLOURS[i % len(COLOURS)], {}),
            (f"{cc}, p50", bins, "p50", COLOURS[i % len(COLOURS)], {"linestyle": "--", "alpha": 0.6}))])
    save(figure, out / "slowdown.png", pyplot)


def drain_us(nbytes, rate_bps):
    return nbytes * 8e6 / rate_bps


def headline(result):
    """The rows of the summary: {what: text} per run, in words for someone new to it."""
    rows = []
    for r in result["runs"]:
        name = queue_port(result, r)
        port = next((p for p in r["links"] if p["name"] == name), None)
        q = port and port["queue_bytes"]
        done = [f for f in r["flows"] if f["slowdown"] is not None]
        finite = [f for f in r["flows"] if f["finite"]]
        slowest = max(done, key=lambda f: f["end_ns"], default=None)
        rows.append({
            "cc": r["cc"],
            "port": name,
            "peak_kb": q["max"] / 1000 if q else None,
            "peak_us": drain_us(q["max"], port["rate_bps"]) if q else None,
            "p50_kb": q["p50"] / 1000 if q else None,
            "p99_kb": q["p99"] / 1000 if q else None,
            "utilization": port["utilization"] if port else None,
            "fct_p50": r["fct"]["p50"],
            "fct_p99": r["fct"]["p99"],
            "slowest_us": slowest["fct_ns"] / 1000 if slowest else None,
            "last_over_ideal": r["fct"].get("makespan_over_ideal"),
            "unfinished": len(finite) - len(done),
            "drops": sum(p["drops"] for p in r["links"]),
            "marks": sum(p["marks"] for p in r["links"]),
            "retransmits": sum(f["retransmits"] for f in r["flows"]),
            "jain": r["jain"],
            "src": r["control"]["src_packets"],
        })
    return rows


def cell(value, digits=1, none="-"):
    if value is None:
        return none
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return f"{value}"
