# SPDX-License-Identifier: GPL-2.0
"""Work lost at a port: how much of the time in which messages waited for it was it idle?

A message waits for a port on its way from AGE_RTTS after its start to a round trip before its end, while nothing else
can hold it up: on each other link that can be a limit, all messages that are under way go through this port, too.
"""

import itertools

from . import ideal, stats

AGE_RTTS = 2


def union(spans):
    """The same (begin, end) in order, without overlap."""
    found = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            begin, last = found.pop()
            end = max(last, end)
        found.append((begin, end))
    return found


def without(span, cuts):
    """What of it is in none of `cuts`, which are in order."""
    begin, end = span
    edges = [begin, *itertools.chain.from_iterable((max(begin, a), min(end, b)) for a, b in cuts if a < end and b > begin), end]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2]) if a < b]


def by_port(s, net, traffic, flows, queues):
    """{port: {"ns" in which messages waited, share "idle" of it}} of the ports with a series that any message waited for."""
    if any(e.do == "reroute" for e in s.event):
        return {}
    pairs = [(traffic.pairs[m.pair].src, traffic.pairs[m.pair].dst) for m in traffic.messages]
    paths, rates = ideal.shared_links(net, set(pairs))
    rtts = {pair: 2 * sum(p.delay for p in net.path(*pair)) for pair in paths}
    users, there, waits = {}, [], []
    for m, (pair, f) in enumerate(zip(pairs, flows)):
        end = stats.ended(f)
        there.append((f["start_ns"], s.duration if end is None else end))
        waits.append((f["start_ns"] + AGE_RTTS * rtts[pair], s.duration if end is None else end - rtts[pair]))
        for link in paths[pair]:
            users.setdefault(link, []).append(m)
    found = {}
    for port in itertools.chain.from_iterable(net.ports.values()):
        times, _, sent = queues.get((port.node, port.dev), ((), (), ()))
        link = (port.name,)
        if len(times) < 2 or link not in users:
            continue
        others = {other for m in users[link] for other in paths[pairs[m]]} - {link}
        elsewhere = {other: union(there[m] for m in users[other] if link not in paths[pairs[m]]) for other in others}
        waited = union(span for m in users[link] for span in without(waits[m], union(
            cut for other in paths[pairs[m]] if other != link for cut in elsewhere[other])))
        ns = nbytes = 0
        for begin, end in waited:
            first, last = max(0, -(-begin // times[1])), min(end // times[1], len(times) - 1)
            if first < last:
                ns += times[last] - times[first]
                nbytes += sent[last] - sent[first]
        if ns:
            found[port.name] = {"ns": ns, "idle": stats.rounded(max(0.0, 1 - nbytes / (rates[link] * ns)))}
    return found
