# SPDX-License-Identifier: GPL-2.0
"""The summary of a result directory as text, for someone who has not met the terms."""

from . import plots, report, runner, units


def columns(rows):
    """(heading of two lines, text of one row)."""
    shown = [
        (("congestion", "control"), lambda r: r["cc"]),
        (("longest", "queue"), lambda r: report.kb(r["peak_kb"])),
        (("it takes", "to drain"), lambda r: report.us(r["peak_us"])),
        (("half the time", "queue below"), lambda r: report.kb(r["p50_kb"])),
        (("99% of time", "queue below"), lambda r: report.kb(r["p99_kb"])),
        (("link", "used"), lambda r: report.percent(r["utilization"])),
        (("packets", "dropped"), lambda r: str(r["drops"])),
        (("packets", "sent again"), lambda r: str(r["retransmits"])),
    ]
    if any(r["last_over_ideal"] is not None or r["unfinished"] for r in rows):
        shown += [
            (("slowest flow", "took"), lambda r: f"{r['unfinished']} unfinished" if r["unfinished"] else report.us(r["slowest_us"])),
            (("all done,", "over ideal"), lambda r: report.times(r["last_over_ideal"])),
        ]
    return shown


def table(result):
    rows = plots.headline(result)
    shown = columns(rows)
    lines = [[head[0] for head, _ in shown], [head[1] for head, _ in shown]]
    lines += [[cell(row) for _, cell in shown] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(shown))]
    text = []
    for n, line in enumerate(lines):
        text.append("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip())
        if n == 1:
            text.append("  " + "  ".join("-" * w for w in widths))
    return "\n".join(text)


def main(directories):
    for n, directory in enumerate(directories):
        result = runner.load_result(directory)
        if n:
            print()
        first = result["runs"][0]
        print(f"{result['scenario']}: {result.get('about') or ''} ({units.format_time(first['sim_ns'])})")
        print(table(result))
    return 0
