# SPDX-License-Identifier: GPL-2.0
"""Plots beside result.json: one picture per view as PNG, SVG and PDF, all congestion controls in one frame."""

import importlib.util
import itertools
import math
import os
import sys

from . import build, faults, many, results, series, stats, units
from .guest import RunError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333", "#7d5a2b")
MAX_MARKS = 10
MARK_ROWS, MARK_LENGTH = 3, 60      # of the words beside a mark
WIDTH_IN, HEIGHT_IN = 9, 4.2        # of a frame with a legend of two rows
AXES_PT = 550                       # the width that words in a frame may count on
CDF_POINTS = 1000
DASHES = ("-", "--", ":", "-.")
# These have the same colour in every picture and report; others have what is left
COLOUR_OF = {cc: i for i, cc in enumerate(("bolt", "swift", "dctcp", "cubic", "bbr", "reno"))}
FORMATS = ("png", "svg", "pdf")
PICTURES = tuple(f"{view}.{f}" for view in ("queue", "link", "rate", "window", "slowdown", "cdf") for f in FORMATS)    # all that are ever made


def run_name(result, r):
    """What tells a run from the others of its result."""
    return f"{r['cc']}, seed {r['seed']}" if len(result.get("seeds", ())) > 1 else r["cc"]


def styles(ccs):
    """[(colour, dash)], numbers, for runs by these congestion controls: by congestion control, and where that is
    the same for all, by run."""
    if len(set(ccs)) == 1:
        return [(i % len(COLOURS), i // len(COLOURS) % len(DASHES)) for i in range(len(ccs))]
    taken = {COLOUR_OF[cc] for cc in ccs if cc in COLOUR_OF}
    free = [c for c in (*range(len(COLOUR_OF), len(COLOURS)), *range(len(COLOUR_OF))) if c not in taken]
    others = (cc for cc in dict.fromkeys(ccs) if cc not in COLOUR_OF)
    colour_of = COLOUR_OF | dict(zip(others, itertools.cycle(free)))
    colours = [colour_of[cc] for cc in ccs]
    return [(c, colours[:i].count(c) % len(DASHES)) for i, c in enumerate(colours)]


def bdp_bytes(result_run, port):
    return port["rate_bps"] * result_run["base_rtt_ns"] / 8e9


def bin_ns(result_run):
    """Width of the bins rates are shown in: two round trips (fewer alias with clumps), some 300 to the picture."""
    return max(1000, 2 * result_run["base_rtt_ns"], result_run["sim_ns"] // 300)


def views(result, out):
    """[(key, title, y axis, [(label, congestion control, times_us, values)])]: what the pictures show."""
    queue, link = [], []
    port_of = port_title(result["runs"])
    rate, window = flow_lines(result, out)
    of_many = many.too_many(result["runs"])
    for r in result["runs"]:
        name, cc = run_name(result, r), r["cc"]
        port = next((p for p in r["links"] if p["name"] == queue_port(r)), None)
        if port and port["series"]:
            data = results.read_series(out / port["series"])
            t = data["time_ns"]
            label = f"{name}, port {port['name']}"
            queue.append((label, cc, *scaled(*series.thin(t, data["queue_bytes"]), 1e-3)))
            link.append((label, cc, *scaled(*series.throughput(t, data["tx_bytes"], bin_ns(r)), 1)))
    return [v for v in (
        ("queue", f"Queue of {port_of}", "KB", queue),
        ("link", f"Throughput of {port_of}", "Gb/s", link),
        ("rate", many.TITLES["rate"][of_many], "Gb/s", rate),
        ("window", many.TITLES["window"][of_many], "KB", window)) if any(len(s[2]) for s in v[3])]


def port_title(runs):
    asked = {r["shown_port"] for r in runs if "shown_port" in r}
    return f"port {asked.pop()}" if asked else "the bottleneck port"


def flow_lines(result, out):
    """(lines of rate, lines of window): of each flow, or where they are too many for that, of all of a congestion control."""
    rate, window = [], []
    if not many.too_many(result["runs"]):
        for r in result["runs"]:
            for f in many.sampled(r):
                data = results.read_series(out / f["series"])
                label = f"{run_name(result, r)}, flow {f['id']} ({f['from']} to {f['to']})"
                rate.append((label, r["cc"], *scaled(*many.rate(data, bin_ns(r)), 1)))
                window.append((label, r["cc"], *scaled(*series.thin(data["time_ns"], data["cwnd_bytes"], 800), 1e-3)))
        return rate, window
    for cc in dict.fromkeys(r["cc"] for r in result["runs"]):
        read = [one for r in result["runs"] if r["cc"] == cc for one in many.of_run(r, lambda path: results.read_series(out / path), bin_ns(r))]
        for lines, at, factor in ((rate, 1, 1), (window, 2, 1e-3)):
            times, values = many.together([(one[0], *one[at]) for one in read])
            lines += [(f"{cc}, {of} of {len(read)} flows", cc, *scaled(times, values[of], factor)) for of in many.OF]
    return rate, window


def marks(result):
    """[(time_us, what happened)] while it is measured: explicit flows that start later, and events."""
    r = result["runs"][0]
    starts = [(f["start_ns"] / 1000, f"flow {f['id']} starts") for f in r["flows"] if f["kind"] == "flow" and f["start_ns"] > 1000]
    events = [(e["at_ns"] / 1000, {"stop": f"flow {e['flow']} stops", "reroute": f"flow {e['flow']} is rerouted"}.get(e["do"], e["command"]))
              for e in r["events"]]
    wrong = [(f["at_ns"] / 1000, faults.text(f)) for f in r.get("faults", ())]
    return sorted(one for one in starts + events + wrong if 0 <= one[0] <= r["sim_ns"] / 1000)[:MAX_MARKS]


def at_port(result, directory, name, drawn=False):
    """The result with queue and utilization of this port instead of the bottleneck's; as it is where that is None."""
    if name is None:
        return result
    for r in result["runs"]:
        known = [p["name"] for p in r["links"] if (p["series"] if drawn else p["queue_bytes"])]
        if name not in known:
            raise RunError(f"{directory}: --port {name}: {run_name(result, r)} has no {'series' if drawn else 'queue'} of it; it has those of {units.some(known) or 'no port'}")
    return result | {"runs": [r | {"shown_port": name} for r in result["runs"]]}


def queue_port(r):
    """The one that was asked for; or the bottleneck of the run, or the longest queue's port where a host's own link is as busy."""
    if "shown_port" in r:
        return r["shown_port"]
    known = {p["name"]: p for p in r["links"]}
    best = max((p for p in r["links"] if p["queue_bytes"] and p["series"]),
               key=lambda p: (round(p["utilization"], 2), p["queue_bytes"]["max"]), default=None)
    return (best or known.get(r["bottleneck"]) or {"name": None})["name"]


def scaled(times, values, factor):
    return [t / 1000 for t in times], [v * factor for v in values]


def check():
    """Before anything is run, or written."""
    if not importlib.util.find_spec("matplotlib"):
        raise RunError(f"{sys.executable} has no matplotlib: install python3-matplotlib, which is that of /usr/bin/python3 (or run with --no-plots)")


def pictures():
    """matplotlib, set up to draw the same for the same."""
    os.environ.setdefault("MPLCONFIGDIR", str(build.cache() / "matplotlib"))
    try:
        import matplotlib
        matplotlib.use("Agg")
        matplotlib.rcParams.update({"svg.hashsalt": "boltlab", "text.parse_math": False})    # a name may have a $
        from matplotlib import pyplot
    except ImportError as e:
        raise RunError(f"{sys.executable} cannot load matplotlib: {e} (run with --no-plots)") from None
    return pyplot


def save(figure, path, pyplot):
    figure.tight_layout()
    # no date in the files: equal runs make equal pictures
    without = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    for f in FORMATS:
        figure.savefig(path.with_suffix(f".{f}"), metadata=without[f])
    pyplot.close(figure)


def frames(pyplot, count=1):
    """(picture, its frames), one below the other."""
    figure, axes = pyplot.subplots(count, 1, figsize=(WIDTH_IN, HEIGHT_IN * count), dpi=120, squeeze=False)
    return figure, axes[:, 0]


def legend(axes):
    """Below the frame, where no line runs behind it; each row beyond the second makes the picture higher."""
    from matplotlib.transforms import ScaledTranslation
    labels = axes.get_legend_handles_labels()[1]
    columns = max(1, min(3, AXES_PT // (4.4 * max(map(len, labels), default=0) + 36)))
    figure = axes.figure
    axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=int(columns),
                bbox_transform=axes.transAxes + ScaledTranslation(0, -0.44, figure.dpi_scale_trans))
    figure.set_figheight(figure.get_figheight() + 0.18 * max(0, len(labels) / columns - 2))


def mark(axes, marked):
    """A line at each time; words that do not fit beside others go below them, or are left out."""
    (first, last), ends = axes.get_xlim(), [0] * MARK_ROWS
    for t, what in marked:
        axes.axvline(t, color="#999999", linewidth=0.8, linestyle=":")
        what = what if len(what) <= MARK_LENGTH else what[:MARK_LENGTH - 3] + "..."
        at, width = AXES_PT * (t - first) / (last - first), 4.2 * len(what) + 6
        left = at + width > AXES_PT
        row = next((i for i, end in enumerate(ends) if at - width * left >= end), None)
        if row is not None:
            ends[row] = at + width * (not left)
            axes.annotate(what, (t, 1), xycoords=("data", "axes fraction"), xytext=(-3 if left else 3, -10 - 10 * row), textcoords="offset points",
                          ha="right" if left else "left", fontsize=7, color="#777777")


def draw(axes, title, unit, lines, marked=(), levels=()):
    """`levels`: [(value, name)], to compare with."""
    for (label, _, t, v), (colour, dash) in zip(lines, styles([line[1] for line in lines])):
        axes.plot(t, v, label=label, color=COLOURS[colour], linestyle=DASHES[dash], linewidth=1)
    for value, name in levels:
        axes.axhline(value, color="#999999", linewidth=0.8, linestyle="--")
        axes.annotate(name, (1, value), xycoords=("axes fraction", "data"), xytext=(3, -3), textcoords="offset points",
                      fontsize=7, color="#777777")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("time, us")
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    mark(axes, marked)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    legend(axes)


def make(result, out):
    """Writes the pictures."""
    shown = views(result, out)
    pyplot = pictures()
    for key, title, unit, lines in shown:
        figure, (axes,) = frames(pyplot)
        draw(axes, f"{result['scenario']}: {title}", unit, lines, marks(result), bdp_levels(result) if key in ("queue", "window") else ())
        save(figure, out / key, pyplot)
    slowdowns(result, out, pyplot)
    cdfs([("", result)], out, pyplot)


def bdp_levels(result):
    """The BDP of the bottleneck port, where one is for all runs, in KB."""
    found = {round(bdp_bytes(r, p) / 1000, 3) for r in result["runs"] for p in r["links"] if p["name"] == queue_port(r)}
    return [(kb, "BDP") for kb in found] if len(found) == 1 else []


def ends(one):
    """Of (name, view): the time at which the longest of its lines ends."""
    return max((line[2][-1] for line in one[1][2] if len(line[2])), default=0)


def panels(found, last=ends):
    """[[one of `found`]]: those that may share an axis of time; what lasts more than twice as long as the shortest has a frame of its own."""
    result = []
    for one in sorted(found, key=last):
        if not result or last(one) > 2 * last(result[-1][0]):
            result.append([])
        result[-1].append(one)
    return result


def compare(named, out):
    """Runs of several directories, [(name, result, directory)], in one picture per view: queue, link and
    slowdown in one frame (several, where lengths differ), what flows get in a frame each."""
    pyplot = pictures()
    out.mkdir(parents=True, exist_ok=True)
    seen = [(name, {key: view for key, *view in views(result, directory)}) for name, result, directory in named]
    for key in ("queue", "link"):
        found = panels([(name, by[key]) for name, by in seen if key in by])
        if found:
            figure, places = frames(pyplot, len(found))
            for axes, frame in zip(places, found):
                title, unit, _ = frame[0][1]
                draw(axes, title, unit, [(f"{name}: {label}", cc, t, v) for name, (_, _, lines) in frame for label, cc, t, v in lines])
            save(figure, out / key, pyplot)
    seen = [(name, by["rate"]) for name, by in seen if "rate" in by]
    if seen:
        figure, places = frames(pyplot, len(seen))
        for axes, (name, (_, unit, lines)) in zip(places, seen):
            draw(axes, name, unit, lines)
            axes.set_ylim(top=max(max(v, default=0) for _, (_, _, every) in seen for *_, v in every) * 1.05 or 1)
        save(figure, out / "rate", pyplot)
    found = [(name, cc, bins, len(of)) for name, result, _ in named for of in [spread_bins(result)] for cc, bins in of]
    runs = [(name if alone == 1 else f"{name}: {cc}", cc, bins) for name, cc, bins, alone in found if len(bins) > 1]
    if runs:
        figure, (axes,) = frames(pyplot)
        draw_slowdowns(axes, f"FCT slowdown by message size, p95{max(of_workload(result) for _, result, _ in named)}", [
            (label, bins, "p95", colour, {"linestyle": DASHES[dash]})
            for (label, _, bins), (colour, dash) in zip(runs, styles([cc for _, cc, _ in runs]))])
        save(figure, out / "slowdown", pyplot)
    cdfs([(f"{name}: ", result) for name, result, _ in named], out, pyplot)


def size_bins(r):
    """Of the workload, where an incast runs beside it."""
    return r["fct"].get("kinds", {}).get("workload", r["fct"])["bins"]


def spread_bins(result):
    """[(congestion control, its bins: of each figure median, least and greatest of its seeds)]."""
    return [(cc, stats.spread([size_bins(r) for r in result["runs"] if r["cc"] == cc])) for cc in dict.fromkeys(r["cc"] for r in result["runs"])]


def of_workload(result):
    """What to say of size_bins() where these are not all messages."""
    return ", workload" if any("workload" in r["fct"].get("kinds", ()) for r in result.get("spread") or result["runs"]) else ""


def all_kinds(result):
    return ", all kinds" if any("kinds" in r["fct"] for r in result["runs"]) else ""


def size_text(value):
    return f"{value / 1e6:g} MB" if value >= 1e6 else f"{value / 1e3:g} KB" if value >= 1e3 else f"{value:g} B"


def numbered(axis, write):
    """A decade is more than most of them span: powers of ten alone would leave the axis bare."""
    from matplotlib import ticker
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda v, _: write(v)))
    axis.set_minor_formatter(ticker.NullFormatter())


def draw_slowdowns(axes, title, lines):
    lines = [(label, [b for b in bins if b[p] and b[p]["median"] < math.inf], p, colour, style) for label, bins, p, colour, style in lines]
    # a range without an end goes beyond all others
    top = 2 * max((v for _, bins, p, _, _ in lines for b in bins for v in b[p].values() if v < math.inf), default=1)
    for label, bins, p, colour, style in lines:
        sizes = [b["max_bytes"]["median"] for b in bins]
        axes.plot(sizes, [b[p]["median"] for b in bins], **({"marker": "o", "color": COLOURS[colour], "label": label} | style))
        axes.fill_between(sizes, [b[p]["min"] for b in bins], [min(b[p]["max"], top) for b in bins], color=COLOURS[colour], alpha=0.12, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("message size, up to")
    axes.set_ylabel("FCT slowdown, times the transfer alone")
    numbered(axes.xaxis, size_text)
    numbered(axes.yaxis, "{:g}".format)
    axes.set_ylim(bottom=min([1, *(b[p]["min"] for _, bins, p, _, _ in lines for b in bins)]))
    axes.xaxis.set_tick_params(labelsize=8)
    axes.grid(True, which="both", color="#dddddd", linewidth=0.6)
    legend(axes)


def slowdowns(result, out, pyplot):
    runs = [(cc, bins) for cc, bins in spread_bins(result) if bins]
    if not runs or max(len(bins) for _, bins in runs) < 2:
        return
    seeds = sorted({sum(r["cc"] == cc for r in result["runs"]) for cc, _ in runs})
    figure, (axes,) = frames(pyplot)
    draw_slowdowns(axes, f"{result['scenario']}: FCT slowdown by message size{of_workload(result)}" + (f", median and range of {' or '.join(map(str, seeds))} seeds" if seeds[-1] > 1 else ""), [
        line for (cc, bins), (colour, _) in zip(runs, styles([cc for cc, _ in runs])) for line in (
            (f"{cc}, p99", bins, "p99", colour, {}),
            (f"{cc}, p50", bins, "p50", colour, {"linestyle": "--", "alpha": 0.6}))])
    save(figure, out / "slowdown", pyplot)


def cdfs(named, out, pyplot):
    """Of [(what to write before its names, result)]: how many of the finished messages had at most this slowdown, a line for each congestion control, of all its seeds."""
    found = {}
    for n, (before, result) in enumerate(named):
        for r in result["runs"]:
            found.setdefault((n, r["cc"]), (before + r["cc"], []))[1].extend(f["slowdown"] for f in r["flows"] if f["finite"])
    lines = [(label, cc, sorted(s for s in slow if s is not None), slow.count(None)) for (_, cc), (label, slow) in found.items()]
    lines = [line for line in lines if len(line[2]) > 1]
    if not lines:
        return
    figure, (axes,) = frames(pyplot)
    for (label, _, done, unfinished), (colour, dash) in zip(lines, styles([line[1] for line in lines])):
        values, shares = stats.cdf(done, CDF_POINTS)
        axes.plot([values[0], *values], [0, *shares], drawstyle="steps-post", color=COLOURS[colour], linestyle=DASHES[dash],
                  label=f"{label}: {len(done)} messages" + (f", {unfinished} unfinished" if unfinished else ""))
    axes.set_xscale("log")
    numbered(axes.xaxis, "{:g}".format)
    axes.set_xlim(min(1, *(done[0] for _, _, done, _ in lines)), 1.05 * max(2, *(done[-1] for _, _, done, _ in lines)))
    axes.set_ylim(0, 100)
    title = f"CDF of FCT slowdown{max(all_kinds(result) for _, result in named)}"
    axes.set_title(f"{named[0][1]['scenario']}: {title}" if len(named) == 1 else title, fontsize=11)
    axes.set_xlabel("FCT slowdown, times the transfer alone")
    axes.set_ylabel("share of messages, %")
    axes.grid(True, color="#dddddd", linewidth=0.6)
    legend(axes)
    save(figure, out / "cdf", pyplot)


def drain_us(nbytes, rate_bps):
    return nbytes * 8e6 / rate_bps


def kilo(figures, k):
    value = (figures or {}).get(k)
    return None if value is None else value / 1000


def elsewhere(rows):
    """Had any of these runs a longer queue at another port than the one that it is shown with?"""
    return any(r["longest_port"] != r["port"] for r in rows)


def longest(rows):
    """What the longest queue is of: of any port that sent something, or not of all of them."""
    few = next((f"sampled port ({q['sampled']} of {q['ports']})" for r in rows if (q := r["queues"]) and q["sampled"] < q["ports"]), "port")
    return f"longest queue of any {few}"


def where(rows):
    """Which port queue and utilization are of, in words; nothing where there is none."""
    of = {}
    for r in rows:
        of.setdefault(r["cc"], {})[r["port"] or "-"] = None
    ports = [" or ".join(names) for names in of.values()]
    if set(ports) <= {"-"}:
        return ""
    text = f"port {ports[0]}" if len(set(ports)) == 1 else "; ".join(f"port {one} ({cc})" for cc, one in zip(of, ports))
    return f"Queue and utilization are those of {text}" + (", the busiest of each run" if len({name for names in of.values() for name in names}) > 1 else "")


def alike(groups):
    """[a line on those whose seeds all gave the same run], of {name: its runs}."""
    found = {}
    for name, runs in groups.items():
        if len(runs) > 1 and len({r.get("trace_hash") for r in runs}) == 1 and runs[0].get("trace_hash"):
            found.setdefault(", ".join(str(r["seed"]) for r in runs), []).append(name)
    return [f"  {('; ' if any(', ' in name for name in names) else ', ').join(names)}: seeds {seeds} gave the same run: "
            "nothing in this scenario is random; vary `start`, or use [workload]" for seeds, names in found.items()]


def headline(result):
    """The rows of the summary: {what: text} per run, in words for someone new to it."""
    rows = []
    for r in result["runs"]:
        name = queue_port(r)
        port = next((p for p in r["links"] if p["name"] == name), None)
        q = port and port["queue_bytes"]
        longest = max((p for p in r["links"] if p["queue_bytes"]), key=lambda p: (p["queue_bytes"]["max"], p["name"] == name), default=None)
        finite, endless = ([f for f in r["flows"] if f["finite"] is whole] for whole in (True, False))
        rows.append({
            "cc": r["cc"],
            "label": run_name(result, r),
            "port": name,
            "peak_kb": q["max"] / 1000 if q else None,
            "peak_us": drain_us(q["max"], port["rate_bps"]) if q else None,
            "longest_kb": longest and longest["queue_bytes"]["max"] / 1000,
            "longest_port": longest["name"] if longest else name,
            "queues": r.get("queues"),
            "p50_kb": q["p50"] / 1000 if q else None,
            "p99_kb": q["p99"] / 1000 if q else None,
            "busy_p50_kb": kilo(q, "busy_p50"),
            "busy_p99_kb": kilo(q, "busy_p99"),
            "utilization": port["utilization"] if port else None,
            "idle_backlogged": ((port or {}).get("backlogged") or {}).get("idle"),
            "fct_p50": r["fct"]["p50"],
            "fct_p99": r["fct"]["p99"],
            "max_fct_us": max((math.inf if f["fct_ns"] is None else f["fct_ns"] / 1000 for f in finite), default=None),
            "last_over_ideal": r["fct"].get("makespan_over_ideal"),
            "unfinished": r["fct"]["unfinished"],
            **results.sums(r),
            "marks": sum(p["marks"] for p in r["links"]),
            "jain": r["jain"],
            # of a part of the time only what was there all the time counts, and is known
            "jain_endless": r["jain"] if "of_whole_run" in r else stats.goodput_jain(endless, r["sim_ns"]) if len(endless) > 1 else None,
            "src": r["control"]["src_packets"],
        })
    return rows


def cell(value, digits=1, none="-"):
    if value is None:
        return none
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return f"{value}"
