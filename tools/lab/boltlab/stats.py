# SPDX-License-Identifier: GPL-2.0
"""Statistics of a run: plain functions on plain numbers."""

import math

BIN_EDGES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)


def percentile(ordered, share):
    """Nearest rank: the least value that at least `share` of them do not exceed. None when empty."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def mean(values):
    return sum(values) / len(values) if values else None


def jain(rates):
    """(sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything."""
    square = sum(r * r for r in rates)
    return sum(rates) ** 2 / (len(rates) * square) if square else None


def rounded(value, digits=6):
    return None if value is None else round(value, digits)


def summary(values):
    ordered = sorted(values)
    return {"mean": rounded(mean(ordered)), "p50": rounded(percentile(ordered, 0.5)),
            "p95": rounded(percentile(ordered, 0.95)), "p99": rounded(percentile(ordered, 0.99))}


def fct(flows):
    """Slowdowns of complete transfers, overall and by size, and times in ns beside them."""
    done = [f for f in flows if f["fct_ns"] is not None]
    result = {"count": len(done), "unfinished": sum(1 for f in flows if f["fct_ns"] is None and f["finite"])}
    result |= summary([f["slowdown"] for f in done])
    result |= {f"{k}_ns": v for k, v in summary([f["fct_ns"] for f in done]).items()}
    bins = []
    low = 0
    for edge in (*BIN_EDGES, None):
        inside = [f["slowdown"] for f in done if f["bytes"] > low and (edge is None or f["bytes"] <= edge)]
        if inside:
            entry = {"max_bytes": edge or max(f["bytes"] for f in done), "count": len(inside)}
            s = summary(inside)
            bins.append(entry | {k: s[k] for k in ("p50", "p95", "p99")})
        if edge is not None:
            low = edge
    result["bins"] = bins
    kinds = sorted({f["kind"] for f in done})
    if len(kinds) > 1:
        result["kinds"] = {k: fct([f for f in flows if f["kind"] == k]) for k in kinds}
    return result


def goodput_jain(flows, window_ns):
    """Over the mean rate of every flow while it was there, within the measured duration."""
    rates = []
    for f in flows:
        begin = max(0, f["start_ns"])
        end = f["end_ns"] if f["end_ns"] is not None else f["stopped_ns"]
        end = window_ns if end is None else end
        if end > begin and f["bytes"]:
            rates.append(f["bytes"] / (end - f["start_ns"]))
    return rounded(jain(rates)) if rates else None
