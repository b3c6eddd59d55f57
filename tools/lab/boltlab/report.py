# SPDX-License-Identifier: GPL-2.0
"""report.html: one file that opens from disk, with charts one can zoom. Of one result directory, or of several."""

import html
import json
import re
from pathlib import Path

from . import charts, plots, units

ASSETS = Path(__file__).resolve().parent / "assets"
UPLOT = ASSETS / "uplot"
MAX_FLOWS = 20_000          # of a run, in the page; result.json has all
MAX_PORTS = 64
MAX_COMMANDS = 400
# The step in which the lab's kernel moves time where a clock is read or a system call fails: an event of that very
# nanosecond comes so late, in every run of the same scenario and seed alike.  What is later is a fault of the lab
STEP_NS = 1


def write(named, out, baseline=None):
    """`named`: [(name, result, directory)]; `baseline`: one such, to compare each with."""
    from . import overview      # which writes figures as this module does
    runs = charts.runs_of(named)
    unit, div = charts.time_unit(runs)
    timed, sized = charts.time_charts(runs), charts.completion_charts(runs)
    timed += charts.queue_charts(runs)
    data = {"name": file_name(named), "runs": [{"label": r.label, "colour": r.colour, "dash": r.dash} for r in runs], "charts": timed + sized, "marks": charts.marks(named),
            "time": {"unit": unit, "div": div}, "flows": [flow_columns(r) for r in runs]}
    body = "\n".join((
        header(named), f"<p class=conclusion>{esc(overview.conclusion(named))}</p>", overview.sketch(named), bar(runs, timed, unit), summary(runs), differences(named, baseline), chart_places(timed),
        completion(runs, sized), flow_place(runs), port_tables(runs), control_tables(runs), texts(named, runs)))
    title = ", ".join(dict.fromkeys(result["scenario"] for _, result, _ in named))
    page = (ASSETS / "report.html").read_text()
    # the data last: a scenario's text may hold what looks like a place
    for place, text in (
            ("title", esc(f"{title}: {', '.join(r.label for r in runs)}")),
            ("style", (UPLOT / "uPlot.min.css").read_text() + (ASSETS / "report.css").read_text()),
            ("licence", (UPLOT / "uPlot.MIT").read_text().strip()),
            ("library", (UPLOT / "uPlot.iife.min.js").read_text()),
            ("script", (ASSETS / "report.js").read_text()),
            ("data", json.dumps(data, separators=(",", ":")).replace("</", "<\\/")),
            ("body", body)):
        page = page.replace("{{" + place + "}}", text)
    (out / "report.html").write_text(page)


def file_name(named):
    """What the charts' files are called after."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(dict.fromkeys(result["scenario"] for _, result, _ in named)))[:80]


def esc(value):
    return html.escape(str(value))


class Raw(str):
    """Markup that is markup."""


class Row(list):
    """A row of one run, which goes when its run is switched off."""

    def __init__(self, run, cells):
        super().__init__(cells)
        self.run = run


def cell(tag, c, run=None):
    mark = "" if run is None else f" data-run={run}"
    return f"<{tag}{mark}>{c if isinstance(c, Raw) else esc(c)}</{tag}>"


def table(columns, rows, caption="", column_runs=None, kind=""):
    """`column_runs`: the run of each column, where columns are of runs."""
    of = column_runs or [None] * len(columns)
    head = "".join(cell("th", c, run) for c, run in zip(columns, of))
    body = "".join(f"<tr{f' data-run={row.run}' if isinstance(row, Row) else ''}>"
                   + "".join(cell("td", c, run) for c, run in zip(row, of)) + "</tr>" for row in rows)
    return (f"<div class=scroll><table{f' class={kind}' if kind else ''}>{f'<caption>{esc(caption)}</caption>' if caption else ''}"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")


def swatch(colour, label):
    return Raw(f"<i class=swatch data-colour={colour}></i>{esc(label)}")


def seeds(result):
    of = result.get("seeds") or [result["seed"]]
    return f"{of[0]} to {of[-1]}" if len(of) > 2 and of == list(range(of[0], of[-1] + 1)) else ", ".join(map(str, of))


def header(named):
    if len(named) == 1:
        result = named[0][1]
        first, exact = result["runs"][0], result["backend"] == "uml"
        return (f"<header><h1>{esc(result['scenario'])}</h1><p class=about>{esc(result.get('about') or '')}</p>"
                f"<p class=lead>{units.format_time(first['sim_ns'])} of {'virtual ' if exact else ''}time on "
                f"Linux {esc(result['kernel'])}, seed{'s' if len(result.get('seeds', ())) > 1 else ''} {seeds(result)}{'' if exact else ', backend ' + esc(result['backend'])}. "
                f"{'The same command gives the same numbers, to the byte' if exact else 'The command'}:</p>{command_line(result)}</header>")
    rows = [[name, result["scenario"], units.format_time(result["runs"][0]["sim_ns"]), result["kernel"], seeds(result),
             Raw(f"<code>{esc(result['command'])}</code>")] for name, result, _ in named]
    return ("<header><h1>Several runs side by side</h1><p class=about>Runs are named after their directories.</p>"
            + table(["directory", "scenario", "time", "kernel", "seed", "command"], rows, kind="text") + "</header>")


def command_line(result):
    return f"<pre class=command>{esc(result['command'])} --out DIR</pre>"


def bar(runs, timed, unit):
    chips = "".join(f"<label class=chip><input type=checkbox checked data-toggle={i}>{swatch(r.colour, r.label)}</label>"
                    for i, r in enumerate(runs))
    zoom = (f"<span class=zoom><label>from <input id=zoom-from inputmode=decimal size=8></label>"
            f"<label>to <input id=zoom-to inputmode=decimal size=8> {unit}</label>"
            "<button data-zoom=in title='half as much time'>+</button><button data-zoom=out title='twice as much time'>&minus;</button>"
            "<button data-zoom=left title='earlier'>&#9664;</button><button data-zoom=right title='later'>&#9654;</button>"
            "<button data-zoom=all>all of it</button></span>" if any(c["x"] == "time" for c in timed) else "")
    return (f"<nav class=bar><span class=runs>{chips}</span>{zoom}<button id=theme title='light or dark'>&#9680;</button></nav>"
            "<noscript><p class=warn>Charts and the table of flows need JavaScript; nothing is fetched from the network.</p></noscript>")


def summary(runs):
    rows = [row for name, result in unique_results(runs) for row in plots.headline(result)]
    finite, elsewhere = any(r["fct_p50"] is not None or r["unfinished"] for r in rows), plots.elsewhere(rows)
    columns = ["run", "max queue", "max queue / link rate", "p50 queue", "p99 queue",
               "utilization", "drops", "ECN marks", "retransmits", "Jain's index"]
    if elsewhere:
        columns += [plots.longest(rows)]
    if finite:
        columns += ["FCT slowdown p50", "p99", "makespan / ideal", "unfinished"]
    body = []
    for i, (r, run) in enumerate(zip(rows, runs)):
        row = [swatch(run.colour, run.label), kb(r["peak_kb"]), us(r["peak_us"]), kb(r["p50_kb"]), kb(r["p99_kb"]), percent(r["utilization"]),
               r["drops"], r["marks"], "–" if r["retransmits"] is None else r["retransmits"], plots.cell(r["jain"], 3)]
        if elsewhere:
            row += [longest(r)]
        if finite:
            row += [times(r["fct_p50"]), times(r["fct_p99"]), times(r["last_over_ideal"]), r["unfinished"]]
        body.append(Row(i, row))
        if run.entry["max_lateness_ns"] > STEP_NS or run.entry["softnet_drops"]:
            body.append(Row(i, [Raw("<span class=warn>not exact</span>"), f"{charts.span(run.entry['max_lateness_ns'])} late",
                                f"{run.entry['softnet_drops']} lost by the lab"] + [""] * (len(row) - 3)))
    where = plots.where(rows)
    return "<h2>Summary</h2>" + table(columns, body, kind="summary") + (f"<p class=hint>{esc(where)}, over the measured time.</p>" if where else "")


def longest(row):
    return f"{kb(row['longest_kb'])} at {row['longest_port']}" if row["longest_kb"] is not None else "-"


def differences(named, baseline):
    """Of each result against the baseline, as `lab compare` has them."""
    if baseline is None:
        return ""
    from . import compare
    base, of_base, _ = baseline
    parts = [f"<h2>Compared with {esc(base)}</h2>"]
    for name, result, _ in named:
        both = compare.pairs(compare.figures(of_base), compare.figures(result))
        for heading, a, b in both:
            rows = compare.rows(a, b)
            parts.append(table(["", base, name, "difference"], rows, heading if len(named) == 1 else f"{name}: {heading}"))
        if not both:
            parts.append(f"<p class=hint>{esc(name)} and {esc(base)} have no congestion control in common.</p>")
    return "".join(parts)


def unique_results(runs):
    """Each result once, in the order of its runs."""
    return {id(r.result): (r.label, r.result) for r in runs}.values()


def chart_places(made, level=2):
    return "".join(f"<section class=plot><h{level}>{esc(c['title'])}</h{level}><div class=chart id=chart-{esc(c['id'])}></div>"
                   f"<p class=hint>{esc(c['note'])}</p></section>" for c in made) + (
        "<p class='hint howto'>Drag across a chart to zoom all of them in time, double-click for everything. Click a name to hide its line, "
        "with Ctrl to see it alone.</p>" if any(c["x"] == "time" for c in made) else "")


TO_THE_BYTE = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
COMPARED = {"of_fair": "of fair sharing", "of_levels": "of ideal levels"}


def slowdowns(f, known):
    """To the last byte at the receiver, to the last ACK at the sender, and what the latter is of that of each bound that is known."""
    return (*(times(f.get(p)) for p in TO_THE_BYTE), *(times(f["ack"][p]) for p in ("p50", "p99")),
            *(times(f[key][p]) if key in f else "" for key in known for p in ("p50", "p99")))


def completion(runs, made):
    parts = []
    for i, r in enumerate(runs):
        fct = r.entry["fct"]
        for kind, f in (fct.get("kinds") or {"": fct}).items():
            if f["bins"]:
                known = [key for key in COMPARED if any(key in b for b in f["bins"])]
                rows = [[units.format_size(b["max_bytes"]), b["count"], *slowdowns(b, known)] for b in f["bins"]]
                rows.append(["all", f["count"], *slowdowns(f, known)])
                rows.append(["all, in time", "", *(us(plots.kilo(f, f"{p}_ns")) for p in TO_THE_BYTE), *[""] * 2 * (1 + len(known))])
                parts.append(f"<div data-run={i}>" + table(
                    ["message size, up to", "count", *TO_THE_BYTE.values(), "to the last ACK: p50", "p99",
                     *(head for key in known for head in (f"{COMPARED[key]}: p50", "p99"))], rows,
                    f"{r.label}{f', {kind}' if kind else ''}: FCT slowdown", kind="bins") + "</div>")
    if not parts and not made:
        return ""
    return f"<h2>Completion times</h2>{chart_places(made, 3)}<div class=side>{''.join(parts)}</div>"


def flow_columns(run):
    """By column, and names by number: thousands of flows open quickly."""
    flows = run.entry["flows"][:MAX_FLOWS]
    hosts = list(dict.fromkeys(h for f in flows for h in (f["from"], f["to"])))
    number = {h: i for i, h in enumerate(hosts)}
    kinds = list(dict.fromkeys(f["kind"] for f in flows))
    columns = {k: [f[k] for f in flows] for k in ("id", "start_ns", "end_ns", "stopped_ns", "bytes", "fct_ns", "slowdown", "retransmits")}
    return {"hosts": hosts, "kinds": kinds, "total": len(run.entry["flows"]), "from": [number[f["from"]] for f in flows],
            "to": [number[f["to"]] for f in flows], "kind": [kinds.index(f["kind"]) for f in flows]} | columns


def flow_place(runs):
    return ("<h2>Flows</h2><div id=flows></div><p class='hint howto'>Click a heading to sort. Times are against the start of the "
            "measured duration.</p>" if any(r.entry["flows"] for r in runs) else "")


def port_tables(runs):
    parts = []
    for i, r in enumerate(runs):
        links = r.entry["links"]
        rows = []
        for p in sorted(links, key=lambda p: -p["utilization"])[:MAX_PORTS]:
            q = p["queue_bytes"] or {}
            rows.append([p["name"], units.format_rate(p["rate_bps"]), percent(p["utilization"]), percent((p.get("backlogged") or {}).get("idle")), units.format_size(p["tx_bytes"]),
                         *(kb(q[k] / 1000) if q else "-" for k in ("max", "mean", "p50", "p99")), p["drops"], p["marks"]])
        note = f", the {MAX_PORTS} most used" if len(links) > MAX_PORTS else ""
        parts.append(f"<details data-run={i}><summary>{esc(r.label)}: {len(links)} ports{note}</summary>" + table(
            ["port", "rate", "utilization", "idle while backlogged", "sent", "queue: max", "mean", "p50", "p99", "drops", "ECN marks"], rows) + "</details>")
    return "<h2>Ports</h2>" + "".join(parts)


def flat(table):
    """Of a table in it each entry on its own, such as "pfc xoff"."""
    result = {}
    for key, value in table.items():
        result |= {f"{key} {k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value}
    return result


def control_tables(runs):
    controls = [r.entry["control"] for r in runs]
    columns, of = ["", *(r.label for r in runs)], [None, *range(len(runs))]
    shown = [flat({k: v for k, v in c.items() if k not in ("rejected", "host")}) for c in controls]
    rows = [[k.replace("_", " "), *(c.get(k, "-") for c in shown)] for k in dict.fromkeys(k for c in shown for k in c)]
    rows.append(["refused", *(", ".join(f"{k} {v}" for k, v in c["rejected"].items()) or "0" for c in controls)])
    names = sorted({k for c in controls for k, v in c["host"].items() if v})
    text = "<h2>Control messages</h2>" + table(columns, rows, column_runs=of)
    if names:
        host = [[n, *(c["host"].get(n, 0) for c in controls)] for n in names]
        text += "<details><summary>Counters of the hosts (/proc/net/bolt_stat)</summary>" + table(columns, host, column_runs=of) + "</details>"
    return text


def texts(named, runs):
    parts = ["<h2>How it was run</h2>"]
    for name, result, directory in named:
        if len(named) > 1:
            parts.append(f"<h3>{esc(name)}</h3>{command_line(result)}")
        scenario = directory / "scenario.toml"
        if scenario.exists():
            parts.append(f"<details open><summary>The scenario, without --set, --cc and --seed of the command</summary><pre>{esc(scenario.read_text())}</pre></details>")
    for i, r in enumerate(runs):
        place = r.entry.get("directory", r.entry["cc"])
        commands = r.directory / place / "commands.txt"
        if commands.exists():
            lines = commands.read_text().splitlines()
            shown = "\n".join(lines[:MAX_COMMANDS]) + (f"\n# {len(lines) - MAX_COMMANDS} more in {place}/commands.txt" if len(lines) > MAX_COMMANDS else "")
            parts.append(f"<details data-run={i}><summary>{esc(r.label)}: the same network in tc and ip commands</summary><pre>{esc(shown)}</pre></details>")
    rows = [Row(i, [swatch(r.colour, r.label), r.entry["switch_qdisc"], r.entry["host_qdisc"], r.entry["data_packets"], f"{r.entry['wall_s']:.2f} s",
                    packets_per_second(r.entry), charts.span(r.entry["max_lateness_ns"]), Raw(f"<code>{esc(r.entry['trace_hash'])}</code>")]) for i, r in enumerate(runs)]
    parts.append(table(["run", "switch qdisc", "host qdisc", "data packets", "took", "packets/s", "latest event", "trace hash"], rows))
    rows = [Row(i, [swatch(r.colour, r.label), c["link"], c["file"], c["packets"], c["dropped"], c["lost"]])
            for i, r in enumerate(runs) for c in r.entry.get("captures", ())]
    if rows:
        parts.append(table(["captures", "link", "file", "packets", "dropped by the qdisc", "found no room"], rows))
    versions = [flat(result["versions"]) for _, result, _ in named]
    columns = list(dict.fromkeys(k for v in versions for k in v))
    rows = [[name, *(v.get(k, "") for k in columns)] for (name, _, _), v in zip(named, versions)]
    parts.append(table(["versions", *columns], rows))
    parts.append(f"<p class=hint>The numbers of this page are those of result.json. Charts are drawn by uPlot ({uplot_version()}, MIT).</p>")
    return "".join(parts)


def uplot_version():
    first = (UPLOT / "uPlot.iife.min.js").read_text().partition("\n")[0]
    return first[first.index("(v") + 2:first.index(")")]


def packets_per_second(r):
    return f"{r['data_packets'] / r['wall_s']:.0f}" if r["data_packets"] and r["wall_s"] else "-"


def kb(value):
    return "-" if value is None else f"{value:.1f} KB" if value < 1000 else f"{value / 1000:.2f} MB"


def us(value):
    return "-" if value is None else f"{value:.1f} us" if abs(value) < 10000 else f"{value / 1000:.2f} ms"


def percent(value):
    return "-" if value is None else f"{value * 100:.1f} %"


def times(value):
    return "-" if value is None else f"{value:.2f} x"
