# SPDX-License-Identifier: GPL-2.0
"""Statistics of a run: plain functions on plain numbers."""

import math

BIN_EDGES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)


def percentile(ordered, share):
    """Nearest rank: the least value that at least `share` of them do not exceed. None when empty."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def weighted_percentile(weights, share):
    """The same for {value: weight}: time spent at a queue length."""
    total = sum(weights.values())
    if not total:
        return None
    rank, seen = share * total, 0
    for value in sorted(weights):
        seen += weights[value]
        if seen >= rank:
            return value
    return max(weights)


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


def link_time_lost(times, tx_bytes, rate_bps, begin_ns, end_ns):
    """Nanoseconds within [begin, end] that the link could have sent and did not."""
    first = next((b for t, b in zip(times, tx_bytes) if t >= begin_ns), None)
    last = next((b for t, b in zip(reversed(times), reversed(tx_bytes)) if t <= end_ns), None)
    if first is None or last is None:
        return None
    return (end_ns - begin_ns) - (last - first) * 8e9 / rate_bps


def windows(times, tx_bytes, rate_bps, width_ns):
    """(start, utilization) of each whole window of the given width."""
    result = []
    if not times:
        return result
    start, base = times[0], tx_bytes[0]
    for t, b in zip(times, tx_bytes):
        if t - start >= width_ns:
            result.append((start, (b - base) * 8e9 / (rate_bps * (t - start))))
            start, base = t, b
    return result
