# SPDX-License-Identifier: GPL-2.0
"""The summary of a result directory as text."""

from . import faults, plots, programs, report, runner, sizes, stats, units, window


MOST_FLOWS = 16         # one by one
IDLE_BELOW = 0.97       # a link that is idle for longer has a queue of its own while it is busy


def columns(rows):
    """(heading of two lines, text of one row)."""
    shown = [
        (("congestion", "control"), lambda r: r["label"]),
        (("max", "queue"), lambda r: report.kb(r["peak_kb"])),
        (("max queue", "/ link rate"), lambda r: report.us(r["peak_us"])),
        (("p50", "queue"), lambda r: report.kb(r["p50_kb"])),
        (("p99", "queue"), lambda r: report.kb(r["p99_kb"])),
        *([(("p50 queue", "while busy"), lambda r: report.kb(r["busy_p50_kb"])),
           (("p99 queue", "while busy"), lambda r: report.kb(r["busy_p99_kb"]))] if any((r["utilization"] or 1) < IDLE_BELOW for r in rows) else ()),
        (("", "utilization"), lambda r: report.percent(r["utilization"])),
        *([(("idle while", "backlogged"), lambda r: report.percent(r["idle_backlogged"]))]
          if any((r["utilization"] or 1) < IDLE_BELOW and r["idle_backlogged"] is not None for r in rows) else ()),
        (("", "drops"), lambda r: str(r["drops"])),
        (("", "retransmits"), lambda r: plots.cell(r["retransmits"])),
    ]
    if any(r["jain_endless"] is not None for r in rows):
        shown.append((("Jain's", "index"), lambda r: plots.cell(r["jain_endless"], 3)))
    if any(r["max_fct_us"] is not None for r in rows):
        shown.append((("max", "FCT"), lambda r: f"{r['unfinished']} unfinished" if r["unfinished"] else report.us(r["max_fct_us"])))
    if any(r["last_over_ideal"] is not None for r in rows):
        shown.append((("makespan", "/ ideal"), lambda r: report.times(r["last_over_ideal"])))
    return shown


def table(result):
    rows = plots.headline(result)
    shown = columns(rows)
    lines = [[head[0] for head, _ in shown], [head[1] for head, _ in shown]]
    lines += [[cell(row) for _, cell in shown] for row in rows]
    lines.insert(2, ["-" * max(map(len, column)) for column in zip(*lines)])
    return units.columns(lines)


def ports(rows):
    """Which port the table is of; where a run's longest queue is at another, of each run both."""
    said = plots.where(rows)
    if not plots.elsewhere(rows):
        return [f"  {said}."] if said else []
    lines = [["", "port", plots.longest(rows)], *([r["label"], r["port"] or "-", report.longest(r)] for r in rows)]
    return [f"  {said if len({r['port'] for r in rows}) == 1 else 'Queue and utilization are those of the busiest port'}; elsewhere a queue was longer:\n"
            + units.columns(lines, left=3, indent=4)]


def alike(result):
    return plots.alike({cc: [r for r in result["runs"] if r["cc"] == cc] for cc in dict.fromkeys(r["cc"] for r in result["runs"])})


def rate(gbps):
    return f"{gbps:.{2 if gbps < 10 else 1}f}"


def goodput(result):
    """Of each run what its endless flows got while they were there: of each, or of many by congestion control."""
    lines = []
    for r in result["runs"]:
        found = [(f, 8 * v) for f, v in stats.rates([f for f in r["flows"] if not f["finite"]], r["sim_ns"])]
        if len(found) <= MOST_FLOWS:
            parts = [f"flow {f['id']} {'' if f['cc'] == r['cc'] else '(' + f['cc'] + ') '}{rate(v)} Gb/s" for f, v in found]
        else:
            parts = []
            for cc in dict.fromkeys(f["cc"] for f, _ in found):
                of = [v for f, v in found if f["cc"] == cc]
                parts.append(f"{len(of)} flows by {cc}, mean {rate(stats.mean(of))} Gb/s ({rate(min(of))} to {rate(max(of))})" if len(of) > 1 else f"1 flow by {cc} {rate(of[0])} Gb/s")
        if parts:
            lines.append(f"  {plots.run_name(result, r)}: goodput: {'; '.join(parts)}")
    return lines


def fairness(result):
    """Of each run the least and the median of Jain's index over its epochs."""
    return [f"  {plots.run_name(result, r)}: Jain's index over any {units.format_time(e['epoch_ns'])}: min {e['min']:.4f} "
            f"(from {units.format_time(e['min_at_ns'])} on), p50 {e['p50']:.4f}"
            for r in result["runs"] for e in r.get("jain_epochs", ()) if e["count"]]


def round_trips(result):
    """Where enough messages of one packet were sent to have a 99th percentile."""
    return [f"  {plots.run_name(result, r)}: round trips of messages of one packet: p50 {report.us(plots.kilo(t, 'p50'))}, p99 {report.us(plots.kilo(t, 'p99'))}"
            for r in result["runs"] if (t := r["fct"].get("rtt_ns")) and t["count"] >= 100]


def ended(p):
    if p["start_ns"] is None:
        return "not started"
    until = f"{units.format_time(p['start_ns'])} to {units.format_time(p['end_ns'])}"
    how = f"status {p['status']}" if p["signal"] is None else p["signal"]
    by = {"itself": "", "run": " (with the run)", "lab": " (by the lab)"}.get(p["ended_by"], " (stop)")
    paid = "" if p.get("cpu_ns") is None else f", {units.format_time(p['cpu_ns'])} of processor time"
    return f"{until}, {how}{by}{paid}"


def ran(result):
    """Of each run what ran on its nodes, and when."""
    return [f"  {plots.run_name(result, r)}: program {i} on {p['node']}: {ended(p)}: {programs.line(p['command'])}"
            for r in result["runs"] for i, p in enumerate(r.get("programs", ()))]


def went_wrong(result):
    """Of each run what its faults did."""
    return [f"  {plots.run_name(result, r)}: {faults.text(f)} from {units.format_time(f['at_ns'])} on: {f['packets']} packets"
            for r in result["runs"] for f in r.get("faults", ()) if f["do"] not in faults.ENDS]


def whole(result, measured):
    lost = [f"  missing, failed or interrupted: {', '.join(result['incomplete'])}"] if result.get("incomplete") else []
    return "\n".join([f"{result['scenario']}: {result.get('about') or ''} ({measured})", *lost, table(result), *ports(plots.headline(result)), *alike(result), *goodput(result), *fairness(result), *round_trips(result), *went_wrong(result), *ran(result), sizes.text(result)]).rstrip()


def main(directories, begin=0, until=None, port=None):
    for n, directory in enumerate(directories):
        result = runner.load_result(directory)
        with runner.understood(directory):
            result = plots.at_port(window.cut(result, directory, begin, until), directory, port)
            text = whole(result, result.get("part") or units.format_time(result["runs"][0]["sim_ns"]))
        print(f"\n{text}" if n else text)
    return 0
