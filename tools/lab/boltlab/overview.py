# SPDX-License-Identifier: GPL-2.0
"""What a report begins with: what came of it in one sentence, and a sketch of the network."""

import html
import math

from . import plots, report, stats, units

ENOUGH = 10             # messages whose 99th percentile says something
MOST_SWITCHES = 16      # of a row of the sketch
MOST_HOSTS = 8          # of a switch, one by one
WIDTH, ROW, EDGE = 760, 78, 26


# ---- the sentence ----

def medians(named):
    """[(name, {figure: median over the seeds, `unfinished` the most})] by directory and congestion control."""
    found = {}
    for directory, result, _ in named:
        for r, row in zip(result["runs"], plots.headline(result)):
            name = f"{directory}: {row['cc']}" if len(named) > 1 else row["cc"]
            found.setdefault(name, []).append(row | {"count": r["fct"]["count"]})
    return [(name, {k: middle([row[k] for row in rows]) for k in ("fct_p50", "fct_p99", "p99_kb", "utilization", "drops", "count")}
             | {"unfinished": max(row["unfinished"] for row in rows)}) for name, rows in found.items()]


def middle(values):
    found = stats.spread([math.inf if v is None else v for v in values])["median"]
    return None if found == math.inf else found


def others(rows, key, write, best):
    return ", ".join(f"{name} {write(row[key])}" for name, row in rows if name != best)


def best_of(rows, key, write, what, figure):
    """The smallest figure, and those of the others."""
    best, least = min(rows, key=lambda r: r[1][key])
    alike = [name for name, row in rows if write(row[key]) == write(least[key])]
    if len(alike) == len(rows):
        return best, f"{what[0].upper()}{what[1:]} is the same for {', '.join(alike[:-1])} and {alike[-1]}: {figure} {write(least[key])}"
    return best, f"{what[0].upper()}{what[1:]} is smallest with {' and '.join(alike)}: {figure} {write(least[key])} ({others([r for r in rows if r[0] not in alike], key, write, None)})"


def conclusion(named):
    """A sentence; the utilization beside a queue, and who did not finish beside completion times, as either explains the other."""
    rows = medians(named)
    port = plots.port_title([r for _, result, _ in named for r in result["runs"]]).removesuffix(" port")
    sent = all(row["fct_p99"] is not None and row["count"] >= ENOUGH for _, row in rows)
    messages = "the slowdown of " + ("all messages together" if max(plots.all_kinds(result) for _, result, _ in named) else "messages")
    queued = all(row["p99_kb"] is not None for _, row in rows)
    if len(rows) == 1:
        (name, row), = rows
        parts = [f"with {name}, {port} has a p99 queue of {report.kb(row['p99_kb'])} at a utilization of {report.percent(row['utilization'])}"] if queued else []
        parts += [f"{messages} is {report.times(row['fct_p50'])} (p50) and {report.times(row['fct_p99'])} (p99)"] if sent else []
    else:
        parts = []
        if sent:
            parts.append(best_of(rows, "fct_p99", report.times, messages, "p99")[1])
        if queued:
            best, text = best_of(rows, "p99_kb", report.kb, f"{port}'s queue", "p99")
            used = f", at a utilization of {report.percent(dict(rows)[best]['utilization'])} ({others(rows, 'utilization', report.percent, best)})"
            parts.append((text[0].lower() + text[1:] if parts else text) + used)
    late = [f"{name} {row['unfinished']}" for name, row in rows if row["unfinished"]]
    if late:
        parts.append(f"not finished: {', '.join(late)}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


# ---- the sketch ----

def graph(links):
    """({(node, node): [link of either direction]}, {node: [neighbour]}), both in the order of the links."""
    edges, near = {}, {}
    for link in links:
        ends = tuple(link["name"].partition(".")[0].split("-"))
        if len(ends) != 2:
            continue
        key = ends if ends in edges or ends[::-1] not in edges else ends[::-1]
        edges.setdefault(key, []).append(link)
        for one, other in (ends, ends[::-1]):
            if other not in near.setdefault(one, []):
                near[one].append(other)
    return edges, near


def rows_of(near):
    """Switches by their distance from hosts: [[those with hosts], [the next], ...]."""
    switches = [n for n, others_ in near.items() if len(others_) > 1]
    rows, seen = [[s for s in switches if any(len(near[n]) == 1 for n in near[s])]], set()
    while rows[-1]:
        seen.update(rows[-1])
        rows.append([s for s in switches if s not in seen and any(n in seen for n in near[s])])
    return rows[:-1]


def spread(n, left=0, right=WIDTH):
    """Middles of n equal parts."""
    return [left + (right - left) * (2 * i + 1) / (2 * n) for i in range(n)]


def line(a, b, text, hot, bend=0):
    (x1, y1), (x2, y2) = a, b
    path = f"M{x1:.1f} {y1:.1f}Q{(x1 + x2) / 2:.1f} {min(y1, y2) - bend:.1f} {x2:.1f} {y2:.1f}" if bend else f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    return f"<path class='{'hot' if hot else 'link'}' d='{path}'><title>{html.escape(text)}</title></path>"


def node(x, y, text, kind, title=""):
    half = max(13, 4 * len(text) + 6)
    return (f"<g class={kind}>{f'<title>{html.escape(title)}</title>' if title else ''}<rect x='{x - half:.1f}' y='{y - 11:.1f}' width='{2 * half}' height=22 rx={4 if kind == 'switch' else 11} />"
            f"<text x='{x:.1f}' y='{y + 4:.1f}'>{html.escape(text)}</text></g>")


def rate_text(named, link_names):
    """What a link is used, by each run."""
    used = [f"{r['cc']} {report.percent(p['utilization'])}" for r in named[0][1]["runs"] for p in r["links"] if p["name"] in link_names[:1]]
    return ", ".join(used[:8])


def sketch(named):
    """SVG of the network of one result: switches in rows, each one's hosts below it. Nothing where it would be no sketch."""
    if len(named) > 1:
        return ""
    result = named[0][1]
    edges, near = graph(result["runs"][0]["links"])
    rows = rows_of(near)
    if not rows or max(map(len, rows)) > MOST_SWITCHES:
        return ""
    places = {s: (x, EDGE + ROW * (len(rows) - 1 - level)) for level, row in enumerate(rows) for x, s in zip(spread(len(row)), row)}
    narrow = {plots.queue_port(r) for r in result["runs"]}
    parts, shown = [], []
    bottom = EDGE + ROW * len(rows)
    part = WIDTH / len(rows[0])
    for s in rows[0]:
        hosts = [n for n in near[s] if len(near[n]) == 1]
        fits = len(hosts) <= min(MOST_HOSTS, part // 40)
        groups = [[h] for h in hosts] if fits else [g for g in ([h for h in hosts if any(p["name"].partition(".")[0] in narrow for p in edges.get((s, h), edges.get((h, s), ())))],) if g]
        rest = [h for h in hosts if [h] not in groups and h not in (groups[0] if groups else ())] if not fits else []
        groups += [rest] if rest else []
        for x, group in zip(spread(len(groups), places[s][0] - part / 2, places[s][0] + part / 2), groups):
            both = [p for h in group for p in edges.get((s, h), edges.get((h, s), ()))]
            hot = any(p["name"] in narrow for p in both)
            text = group[0] if len(group) == 1 else f"{len(group)} hosts"
            names = [p["name"] for p in both if p["name"] in narrow] or [p["name"] for p in both]
            parts.append(line(places[s], (x, bottom), f"{names[0] if len(group) == 1 else f'{group[0]} to {group[-1]}'}: {units.format_rate(both[0]['rate_bps'])}"
                              + (f"; {rate_text(named, names)}" if len(group) == 1 else ""), hot))
            shown.append(node(x, bottom, text, "host", f"{group[0]} to {group[-1]}" if len(group) > 1 else ""))
    for (a, b), links in edges.items():
        if a in places and b in places:
            names = [p["name"] for p in links]
            beside = places[a][1] == places[b][1] and abs(places[a][0] - places[b][0]) > 1.5 * WIDTH / len(next(r for r in rows if a in r))
            first = sorted(names, key=lambda n: n not in narrow)
            parts.append(line(places[a], places[b], f"{first[0]}: {units.format_rate(links[0]['rate_bps'])}; {rate_text(named, first)}",
                              any(n in narrow for n in names), 34 if beside else 0))
    shown += [node(*places[s], s, "switch") for row in rows for s in row]
    rates = list(dict.fromkeys(units.format_rate(p["rate_bps"]) for p in result["runs"][0]["links"]))
    about = f"Links of {' and '.join(rates)}" + (f"; thick: {'' if 'shown_port' in result['runs'][0] else 'the bottleneck, '}port {', '.join(sorted(n for n in narrow if n))}" if any(narrow) else "") + "."
    return (f"<figure class=sketch><svg viewBox='0 0 {WIDTH} {bottom + EDGE}' role=img aria-label='the network'>{''.join(parts + shown)}</svg>"
            f"<figcaption class=hint>{html.escape(about)}</figcaption></figure>")
