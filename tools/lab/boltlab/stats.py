# SPDX-License-Identifier: GPL-2.0
"""Statistics of a run: plain functions on plain numbers."""

import math
import statistics

# bytes: a packet, two jumbo frames, half a BDP (100 Gb/s, 10 us), a BDP, and what takes several
BIN_EDGES = (1_000, 7_000, 62_500, 125_000, 300_000, 1_000_000)

BOUNDS = ("fair", "levels", "srpt")     # of ideal.py
COMPARED = ("fair", "levels")           # which need not know sizes
PERCENTILES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}     # in tables: their keys and names
FEWEST_P999 = 1000                      # messages: of fewer it would be their maximum


def percentile(ordered, share):
    """Nearest rank: the least value that at least `share` of them do not exceed. None when empty."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def weighted_percentile(ordered, share):
    """The same of (value, weight) in the order of values. None without weight."""
    total, so_far = sum(weight for _, weight in ordered), 0
    for value, weight in ordered if total else ():
        so_far += weight
        if weight and so_far >= share * total:
            return value
    return None


def cdf(ordered, points):
    """(values, per cent that do not exceed each): every one of them, or so many quantiles."""
    n = min(len(ordered), points)
    steps = {ordered[-(-k * len(ordered) // n) - 1]: round(100 * k / n, 3) for k in range(1, n + 1)}
    return list(steps), list(steps.values())


def mean(values):
    return sum(values) / len(values) if values else None


def student_t(share, freedom):
    """The t that |T| stays below with this probability, T of Student's distribution with so many degrees of freedom.

    The probability is a finite sum for whole numbers of them (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    def below(t):
        angle = math.atan2(t, math.sqrt(freedom))
        odd = freedom % 2
        term = math.cos(angle) if odd else 1.0
        total = term if freedom > 1 else 0.0
        for k in range(2 + odd, freedom - 1, 2):
            term *= (k - 1) / k * math.cos(angle) ** 2
            total += term
        return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total

    low, high = 0.0, 1.0
    while below(high) < share:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return (low + high) / 2


def jain(rates):
    """(sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything."""
    square = sum(r * r for r in rates)
    return sum(rates) ** 2 / (len(rates) * square) if square else None


def rounded(value, digits=6):
    return None if value is None else round(value, digits)


def summary(values, unfinished=0):
    """`unfinished` more are infinite, and so is what is None because of them."""
    ordered = sorted(values) + [None] * unfinished
    return {"mean": None if unfinished else rounded(mean(ordered)), "p50": rounded(percentile(ordered, 0.5)),
            "p95": rounded(percentile(ordered, 0.95)), "p99": rounded(percentile(ordered, 0.99)),
            "p999": rounded(percentile(ordered, 0.999)) if len(ordered) >= FEWEST_P999 else None}


def value(of, key):
    """`key` of what counted() has made; infinite where it is None as messages did not end, None where it is not known."""
    found = of.get(key)
    few = key.startswith("p999") and of.get("count", 0) + of.get("unfinished", 0) < FEWEST_P999
    return math.inf if found is None and of.get("unfinished") and not few else found


def counted(flows, key):
    """`count` of those that have it, how many have not, as they did not end, and summary() of all."""
    done = [f[key] for f in flows if f[key] is not None]
    return {"count": len(done), "unfinished": len(flows) - len(done)} | summary(done, len(flows) - len(done))


def slowdowns(flows):
    """To the last byte at the receiver; under "ack" to the last ACK at the sender, beside each of BOUNDS that is known of all, and what "ack" is of COMPARED."""
    ack = counted(flows, "slowdown_ack")
    found = {name: summary([f[f"slowdown_{name}"] for f in flows]) for name in BOUNDS if flows and all(f"slowdown_{name}" in f for f in flows)}
    return counted(flows, "slowdown") | {"ack": ack} | found | {
        f"of_{name}": {p: ack[p] and rounded(ack[p] / found[name][p]) for p in ("p50", "p99")} | {"unfinished": ack["unfinished"]} for name in COMPARED if name in found}


def size(f):
    """An earlier lab did not note that of a message that did not end: it is in no bin."""
    return f["bytes"] if f["fct_ns"] is not None else f.get("size_bytes", 0)


def fct(flows, edges=BIN_EDGES):
    """Slowdowns of messages, overall and by size up to each of `edges`, and times in ns beside them; one that did not end takes for ever."""
    flows = [f for f in flows if f["finite"]]
    times = counted(flows, "fct_ns")
    result = slowdowns(flows) | {f"{k}_ns": v for k, v in times.items() if k not in ("count", "unfinished")}
    bins = []
    low = 0
    for edge in (*edges, None):
        inside = [f for f in flows if size(f) > low and (edge is None or size(f) <= edge)]
        if inside:
            bins.append({"above_bytes": low, "max_bytes": edge or max(map(size, inside))} | slowdowns(inside))
        if edge is not None:
            low = edge
    result["bins"] = bins
    kinds = sorted({f["kind"] for f in flows})
    if len(kinds) > 1:
        result["kinds"] = {k: fct([f for f in flows if f["kind"] == k], edges) for k in kinds}
    return result


def rates(flows, window_ns):
    """[(flow, its mean rate in bytes/ns while it was there)], within the measured duration; one that was starved counts."""
    ends = ((f, window_ns if ended(f) is None else ended(f)) for f in flows)
    return [(f, f["bytes"] / (end - f["start_ns"])) for f, end in ends if end > max(0, f["start_ns"])]


def goodput_jain(flows, window_ns):
    found = [rate for _, rate in rates(flows, window_ns)]
    return rounded(jain(found)) if found else None


EPOCH_STEPS = 10        # epochs begin so many times in one epoch


def ended(f):
    """When a flow had no more data, or None."""
    return f["end_ns"] if f["end_ns"] is not None else f["stopped_ns"]


def jain_epochs(flows, epoch, settle, duration, others=()):
    """[(begin, Jain's index over the `epoch` ns from there)] wherever nobody came or went from `settle` ns before until its end.

    `flows`: (start, end or None, times, bytes acknowledged by then), sampled at equal times; `others`, which are not sampled, come and go as well.
    """
    if len(flows) < 2 or len(flows[0][2]) < 2:
        return []
    times = flows[0][2]
    step = times[1] - times[0]
    width = max(1, epoch // step)
    changes = sorted({t for start, end, *_ in (*flows, *others) for t in (start, end) if t is not None and 0 < t < duration})
    result = []
    for i in range(0, len(times) - width, max(1, width // EPOCH_STEPS)):
        begin, until = times[i], times[i + width]
        if any(begin - settle < t < until for t in changes):
            continue
        there = [acked[i + width] - acked[i] for start, end, _, acked in flows if start <= begin and (end is None or end >= until)]
        index = jain(there) if len(there) > 1 else None
        if index is not None:
            result.append((begin, index))
    return result


def spread(values):
    """Of the same number in the runs that have it; of dicts and lists of them item by item, where all of them have the item.

    Bins of sizes are matched by their lower end: the largest message differs from seed to seed.  What is None as messages did not end is infinite.
    """
    values = [v for v in values if v is not None]
    if not values:
        return None
    if all(isinstance(v, dict) for v in values):
        return {k: spread([value(v, k) for v in values]) for k in values[0] if all(k in v for v in values)}
    if all(isinstance(v, list) for v in values):
        lists = [{item["above_bytes"]: item for item in v} for v in values]
        return [{"above_bytes": low} | {k: v for k, v in spread([one[low] for one in lists]).items() if k != "above_bytes"}
                for low in lists[0] if all(low in one for one in lists)]
    middle = statistics.median(values)
    whole = all(isinstance(v, int) for v in values) and middle == int(middle)
    return {"median": int(middle) if whole else middle, "min": min(values), "max": max(values)}
