# SPDX-License-Identifier: GPL-2.0
"""report.html: one file that opens from disk, with charts one can zoom."""

import html
import json
from pathlib import Path

from . import plots, units

ASSETS = Path(__file__).resolve().parent / "assets"
MAX_FLOW_ROWS = 64


def write(result, out, views):
    charts = [{"id": key, "title": title, "unit": unit,
               "lines": [{"label": label, "t": [round(x, 4) for x in t], "v": [round(x, 4) for x in v]}
                         for label, _, t, v in lines]}
              for key, title, unit, lines in views]
    body = "\n".join((
        header(result), summary(result), chart_places(charts), slowdown_tables(result), flow_tables(result),
        port_tables(result), control_tables(result), texts(result, out)))
    page = (ASSETS / "report.html").read_text()
    page = page.replace("{{title}}", esc(f"{result['scenario']}: {', '.join(r['cc'] for r in result['runs'])}"))
    page = page.replace("{{style}}", (ASSETS / "report.css").read_text())
    page = page.replace("{{body}}", body)
    page = page.replace("{{data}}", json.dumps(charts).replace("</", "<\\/"))
    page = page.replace("{{marks}}", json.dumps(plots.marks(result)).replace("</", "<\\/"))
    page = page.replace("{{script}}", (ASSETS / "report.js").read_text())
    (out / "report.html").write_text(page)


def esc(value):
    return html.escape(str(value))


def table(columns, rows, caption=""):
    head = "".join(f"<th>{esc(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{c if isinstance(c, Raw) else esc(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<div class=scroll><table>{f'<caption>{esc(caption)}</caption>' if caption else ''}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


class Raw(str):
    """Markup that is markup."""


def header(result):
    first = result["runs"][0]
    return (f"<h1>{esc(result['scenario'])}</h1>"
            f"<p class=lead>{units.format_time(first['sim_ns'])} of virtual time on Linux {esc(result['kernel'])}, "
            f"seed {result['seed']}. The same command gives the same numbers, to the byte:</p>"
            f"<pre class=command>{esc(result['command'])} --out DIR</pre>")


def summary(result):
    rows = plots.headline(result)
    finite = any(r["fct_p50"] is not None for r in rows)
    columns = ["congestion control", "longest queue", "which takes to drain", "queue, half of the time below", "99 % of the time below",
               "link used", "dropped", "marked (ECN)", "sent again", "fairness (1 is equal)"]
    if finite:
        columns += ["time over ideal, median", "99 %", "all done, over ideal", "unfinished"]
    body = []
    for r, run in zip(rows, result["runs"]):
        row = [Raw(f"<b>{esc(r['cc'])}</b>"), kb(r["peak_kb"]), us(r["peak_us"]), kb(r["p50_kb"]), kb(r["p99_kb"]), percent(r["utilization"]),
               r["drops"], r["marks"], r["retransmits"], plots.cell(r["jain"], 3)]
        if finite:
            row += [times(r["fct_p50"]), times(r["fct_p99"]), times(r["last_over_ideal"]), r["unfinished"]]
        body.append(row)
        if run["max_lateness_ns"] or run["softnet_drops"]:
            body.append([Raw("<span class=warn>not exact</span>"), f"{run['max_lateness_ns']} ns late",
                         f"{run['softnet_drops']} lost by the lab"] + [""] * (len(row) - 3))
    ports = sorted({r["port"] for r in rows if r["port"]})
    return f"<h2>Summary</h2><p>Queue and link are those of port {esc(', '.join(ports))}, the bottleneck, over the measured time.</p>" + table(columns, body)


def chart_places(charts):
    return "".join(f"<section><h2>{esc(c['title'])}</h2><div class=chart id=chart-{esc(c['id'])}></div></section>" for c in charts) + (
        "<p class=hint>Drag across a chart to zoom all of them, double-click for everything; click a name to hide its line.</p>" if charts else "")


def slowdown_tables(result):
    parts = []
    for r in result["runs"]:
        if r["fct"]["bins"]:
            parts.append(table(["messages up to", "number", "median", "95 %", "99 %"],
                               [[units.format_size(b["max_bytes"]), b["count"], times(b["p50"]), times(b["p95"]), times(b["p99"])]
                                for b in r["fct"]["bins"]], f"{r['cc']}: completion time over ideal"))
    return f"<h2>Completion times</h2><div class=side>{''.join(parts)}</div>" if parts else ""


def flow_tables(result):
    parts = []
    for r in result["runs"]:
        rows = [[f["id"], f"{f['from']} to {f['to']}", us(f["start_ns"] / 1000),
                 "stopped" if f["stopped_ns"] is not None else us(f["end_ns"] / 1000) if f["end_ns"] is not None else "-",
                 units.format_size(f["bytes"]), us(f["fct_ns"] / 1000) if f["fct_ns"] else "-", times(f["slowdown"]),
                 f["retransmits"]] for f in r["flows"][:MAX_FLOW_ROWS]]
        note = f" (first {MAX_FLOW_ROWS} of {len(r['flows'])}; all in result.json)" if len(r["flows"]) > MAX_FLOW_ROWS else ""
        parts.append(f"<details><summary>{esc(r['cc'])}: {len(r['flows'])} flows{esc(note)}</summary>" + table(
            ["flow", "from, to", "start", "end", "delivered", "took", "over ideal", "sent again"], rows) + "</details>")
    return "<h2>Flows</h2>" + "".join(parts)


def port_tables(result):
    parts = []
    for r in result["runs"]:
        rows = []
        for p in sorted(r["links"], key=lambda p: -p["utilization"])[:MAX_FLOW_ROWS]:
            q = p["queue_bytes"] or {}
            rows.append([p["name"], units.format_rate(p["rate_bps"]), percent(p["utilization"]), units.format_size(p["tx_bytes"]),
                         *(kb(q[k] / 1000) if q else "-" for k in ("max", "mean", "p50", "p99")), p["drops"], p["marks"]])
        parts.append(f"<details><summary>{esc(r['cc'])}: {len(r['links'])} ports</summary>" + table(
            ["port", "rate", "used", "sent", "queue: longest", "mean", "median", "99 %", "dropped", "marked"], rows) + "</details>")
    return "<h2>Ports</h2>" + "".join(parts)


def control_tables(result):
    keys = [k for k in result["runs"][0]["control"] if k not in ("rejected", "host")]
    rows = [[k.replace("_", " "), *(r["control"][k] for r in result["runs"])] for k in keys]
    rows.append(["refused", *(", ".join(f"{k} {v}" for k, v in r["control"]["rejected"].items()) or "0" for r in result["runs"])])
    names = sorted({k for r in result["runs"] for k, v in r["control"]["host"].items() if v})
    text = "<h2>Control messages</h2>" + table(["", *(r["cc"] for r in result["runs"])], rows)
    if names:
        host = [[n, *(r["control"]["host"].get(n, 0) for r in result["runs"])] for n in names]
        text += "<details><summary>counters of the hosts (/proc/net/bolt_stat)</summary>" + table(
            ["counter", *(r["cc"] for r in result["runs"])], host) + "</details>"
    return text


def texts(result, out):
    parts = ["<h2>How it was run</h2>"]
    scenario = out / "scenario.toml"
    if scenario.exists():
        parts.append(f"<details><summary>scenario</summary><pre>{esc(scenario.read_text())}</pre></details>")
    for r in result["runs"]:
        commands = out / r["cc"] / "commands.txt"
        if commands.exists():
            lines = commands.read_text().splitlines()
            shown = "\n".join(lines[:400]) + ("\n..." if len(lines) > 400 else "")
            parts.append(f"<details><summary>{esc(r['cc'])}: the same network in tc and ip commands</summary><pre>{esc(shown)}</pre></details>")
    rows = [[r["cc"], r["switch_qdisc"], r["host_qdisc"], r["data_packets"], f"{r['wall_s']:.2f} s",
             packets_per_second(r), r["trace_hash"]] for r in result["runs"]]
    parts.append(table(["", "switch qdisc", "host qdisc", "data packets", "took", "packets/s", "trace hash"], rows))
    versions = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    parts.append(f"<p class=hint>{esc(versions)}</p>")
    return "".join(parts)


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
