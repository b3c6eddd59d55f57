# SPDX-License-Identifier: GPL-2.0
"""Who sends what to whom when: explicit flows, Poisson workloads, incasts, HPCC flow lists.

All is generated before the run from the seed (open loop), so that every
congestion control meets exactly the same arrivals.
"""

import bisect
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from . import topology, units
from .schema import MAX_BYTES, ScenarioError

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"
FIRST_FRESH, FIRST_SPORT = 5100, 10000      # below them: what every host listens on
MAX_MESSAGES = 10**7
MAX_SECONDS = 10**6


@dataclass
class Pair:
    """Connections opened from one host to another; a message takes an idle one."""
    src: str
    dst: str
    cc: str
    sport: int
    connections: int = 1
    fresh: int = 0          # the port that waits for it; 0: connected beforehand
    sample_id: int = -1
    dscp: int = 0


@dataclass
class Message:
    id: int
    pair: int
    start: int
    bytes: int              # None: forever
    kind: str               # flow, workload or incast
    ideal: int = None
    ideal_ack: int = None


@dataclass
class Traffic:
    pairs: list = field(default_factory=list)
    messages: list = field(default_factory=list)
    cut: list = field(default_factory=list)         # (key, how many start within the duration, how many were asked for)


class Cdf:
    """Sizes with linear interpolation between the points, as the HPCC simulator reads these files."""

    def __init__(self, points):
        self.sizes = [p[0] for p in points]
        self.percents = [p[1] for p in points]

    def sample(self, uniform):
        percent = uniform * 100
        i = bisect.bisect_left(self.percents, percent)
        if i == 0:
            return max(1, round(self.sizes[0]))
        low, high = self.percents[i - 1], self.percents[i]
        part = (percent - low) / (high - low)
        return max(1, round(self.sizes[i - 1] + part * (self.sizes[i] - self.sizes[i - 1])))

    def mean(self, of, points=64):
        """Of a function of the size, segment by segment: a tail that one message in a million has may be most of the bytes."""
        total = self.percents[0] * of(max(1, round(self.sizes[0])))
        for low, high, begin, end in zip(self.percents, self.percents[1:], self.sizes, self.sizes[1:]):
            if high > low:
                inside = (of(max(1, round(begin + (i + 0.5) / points * (end - begin)))) for i in range(points))
                total += (high - low) * sum(inside) / points
        return total / 100


def read_lines(path, what):
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ScenarioError(f"{what}: is not text in UTF-8") from None


def number(word, high, parse=float):
    """int() and float() also take signs, nan, inf and underscores."""
    if not re.fullmatch(r"[0-9.]+(?:[eE][+-]?[0-9]+)?", word):
        raise ValueError
    value = parse(word)
    if not value <= high:
        raise ValueError
    return value


def read_cdf(value, s, where, k):
    shipped = sorted(p.stem for p in WORKLOADS.glob("*.cdf"))
    if value in shipped:
        path = WORKLOADS / f"{value}.cdf"
    else:
        path = Path(value)
        if not path.is_absolute():
            path = s.file.parent / path
    what = f"{where}: {k}: {value}"
    try:
        lines = read_lines(path, what)
    except OSError:
        raise ScenarioError(f"{where}: {k}: \"{value}\" is neither a file nor one of {', '.join(shipped)}") from None
    points = []
    for n, line in enumerate(lines, 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        try:
            size, percent = line.split()
            size, percent = number(size, MAX_BYTES), number(percent, 100)
        except ValueError:
            raise ScenarioError(f"{what} line {n}: is not SIZE PERCENT, up to {units.format_size(MAX_BYTES)} and 100") from None
        if points and (size < points[-1][0] or percent < points[-1][1]):
            raise ScenarioError(f"{what} line {n}: decreases")
        points.append((size, percent))
    if len(points) < 2 or points[-1][1] != 100:
        raise ScenarioError(f"{what}: must end at 100 percent")
    return Cdf(points)


def segment(s):
    """Most bytes of a message in a packet, without Bolt's option."""
    return s.topology.mtu - (40 if s.topology.ip == 4 else 60) - 12


def wire_bytes(payload, s):
    """With headers, as links count it."""
    mss = segment(s)
    return payload + -(-payload // mss) * (s.topology.mtu - mss + topology.FRAME_BYTES)


def build(s, net, where):
    cc = s.cc[0]
    traffic = Traffic()
    next_sport, next_fresh = {}, {}
    shared = {}

    def open_pair(src, dst, flow_cc, connections=1, fresh=0, sample_id=-1, dscp=0):
        sport = next_sport.get(src, FIRST_SPORT)
        next_sport[src] = sport + connections
        if sport + connections >= 60000:
            raise ScenarioError(f"{where}: workload: {src} would open more than 50000 connections; "
                                "lower connections or the number of hosts")
        traffic.pairs.append(Pair(src, dst, flow_cc, sport, connections, fresh, sample_id, dscp))
        return len(traffic.pairs) - 1

    def shared_pair(kind, src, dst, connections):
        """Those of a workload and of an incast are apart: neither must queue behind the other on one connection."""
        if (kind, src, dst) not in shared:
            sampled = len(traffic.messages) < s.sample_flows and connections == 1
            shared[kind, src, dst] = open_pair(src, dst, cc, connections,
                                               sample_id=len(traffic.messages) if sampled else -1)
        return shared[kind, src, dst]

    def asked_for(k, started, wanted):
        if started < wanted:
            traffic.cut.append((k, started, wanted))

    def send(pair, start, size, kind):
        if len(traffic.messages) >= MAX_MESSAGES:
            raise ScenarioError(f"{where}: {kind}: more than {MAX_MESSAGES} messages")
        p = traffic.pairs[pair]
        ideal = ideal_ack = None
        if size is not None:
            key = (p.src, p.dst, size)
            if key not in ideals:
                path = net.path(p.src, p.dst)
                ideals[key] = (topology.ideal_ns(size, path, s.topology.mtu, s.topology.ip),
                               topology.ideal_ack_ns(wire_bytes(size, s), path))
            ideal, ideal_ack = ideals[key]
        traffic.messages.append(Message(len(traffic.messages), pair, start, size, kind, ideal, ideal_ack))

    ideals = {}
    for i, f in enumerate(s.flow):
        port = 0
        if f.connect == "fresh":
            port = next_fresh.get(f.to, FIRST_FRESH)
            next_fresh[f.to] = port + 1
            if port == FIRST_SPORT:
                raise ScenarioError(f"{where}: flow.{i}.connect: at most {FIRST_SPORT - FIRST_FRESH} flows to {f.to} can be \"fresh\"")
        pair = open_pair(f.from_, f.to, f.cc or cc, fresh=port,
                         sample_id=i if i < s.sample_flows else -1, dscp=f.dscp)
        send(pair, f.start, f.bytes, "flow")

    for k, g in (("workload", s.workload), ("incast", s.incast)):
        if g is not None and g.trace is not None:
            found = read_trace(g.trace, s, net, where, f"{k}.trace")
            within = [one for one in found if one[2] < s.duration]
            for src, dst, start, size in within:
                send(shared_pair(k, src, dst, g.connections or 1), start, size, k)
            asked_for(f"{k}.trace", len(within), len(found))
    if s.workload and s.workload.trace is None:
        before = len(traffic.messages)
        for src, dst, start, size in poisson(s, net, where):
            send(shared_pair("workload", src, dst, s.workload.connections), start, size, "workload")
        asked_for("workload.messages", len(traffic.messages) - before, s.workload.messages or 0)
    if s.incast and s.incast.trace is None:
        found = incasts(s, net, where)
        connections = s.incast.connections or -(-s.incast.degree // min(len(senders_to(s, net, to)) for _, to, _ in found))
        within = [one for one in found if one[2] < s.duration]
        for src, dst, start in within:
            send(shared_pair("incast", src, dst, connections), start, s.incast.bytes, "incast")
        asked_for("incast.sync", len(within), len(found))
    if not traffic.messages and not s.program and (s.workload or s.incast):
        raise ScenarioError(f"{where}: workload: nothing would be sent within the duration")
    return traffic


PROBE = 4096            # messages, equally apart in the distribution
PROBE_ERROR = 0.005     # of the mean of these, at most


def mean_wire_bytes(cdf, s):
    """Of a message: headers make small ones dear.

    As a rule the mean of PROBE messages, and so the arrivals for a seed are what they always were. They do not see
    what only one message in ten thousand has.
    """
    def of(size):
        return wire_bytes(size, s)

    mean, probed = cdf.mean(of), sum(of(cdf.sample((i + 0.5) / PROBE)) for i in range(PROBE)) / PROBE
    return probed if abs(probed - mean) <= PROBE_ERROR * mean else mean


def link_rate(net, host):
    """Of the receiver's link; without one, of the slowest host's."""
    return min(net.ports[h][0].rate for h in ([host] if host else net.hosts))


def check_sides(s, net, where):
    """Both sides of a dumbbell send as much as they receive: those of the smaller side more than their share."""
    sides = [sum(h[0] == side for h in net.hosts) for side in "sr"]
    if s.topology.kind == "dumbbell" and not s.workload.to and sides[0] != sides[1] and s.workload.load * max(sides) > min(sides):
        raise ScenarioError(f"{where}: workload.load: between {sides[0]} senders and {sides[1]} receivers, each of the fewer ones would be offered "
                            f"{s.workload.load * max(sides) / min(sides):.2f} of its link; give workload.to, or as many receivers as senders")


def poisson(s, net, where):
    """Open-loop arrivals at the load asked for, uniform over senders (and receivers)."""
    w = s.workload
    check_sides(s, net, where)
    cdf = read_cdf(w.cdf, s, where, "workload.cdf")
    rng = random.Random(f"workload {s.seed}")
    per_link = w.load * link_rate(net, w.to) / (8 * mean_wire_bytes(cdf, s) * 10**9)     # arrivals per ns
    arrivals = per_link * (1 if w.to else len(net.hosts))
    now, n = 0.0, 0
    while w.messages is None or n < w.messages:
        now += rng.expovariate(arrivals)
        if now >= s.duration:
            return
        size = cdf.sample(rng.random())
        dst = w.to or rng.choice(net.hosts)
        src = rng.choice(net.hosts)
        while src == dst or (s.topology.kind == "dumbbell" and src[0] == dst[0]):
            src = rng.choice(net.hosts)
        yield src, dst, round(now), size
        n += 1


def senders_to(s, net, to):
    return [h for h in net.hosts if h != to and (s.topology.kind != "dumbbell" or h[0] != to[0])]


def incasts(s, net, where):
    g = s.incast
    rng = random.Random(f"incast {s.seed}")
    start = float(g.start)
    gap = None
    if g.load is not None:
        gap = g.degree * wire_bytes(g.bytes, s) * 8 * 10**9 / (g.load * link_rate(net, g.to))
        gap /= 1 if g.to else len(net.hosts)
    result = []
    while start < s.duration:
        to = g.to or rng.choice(net.hosts)
        others = senders_to(s, net, to)
        # every sender once before any twice
        senders = others * (g.degree // len(others)) + rng.sample(others, g.degree % len(others))
        for src in senders:
            result.append((src, to, round(start + rng.uniform(0, g.sync))))
        if gap is None:
            break
        if len(result) > MAX_MESSAGES:
            raise ScenarioError(f"{where}: incast.load: more than {MAX_MESSAGES} messages")
        start += rng.expovariate(1 / gap)
    result.sort(key=lambda item: item[2])
    return result


def read_trace(value, s, net, where, k):
    """HPCC's flow list: the count, then SRC DST PRIORITY DPORT BYTES START_SECONDS; time from the first start."""
    path = Path(value)
    if not path.is_absolute():
        path = s.file.parent / path
    what = f"{where}: {k}: {value}"
    try:
        lines = read_lines(path, what)
    except OSError as e:
        raise ScenarioError(f"{what}: {e.strerror}") from None
    flows = []
    for n, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            src, dst, _, _, size, start = line.split()[:6]
            src, dst, size = (number(word, MAX_BYTES, int) for word in (src, dst, size))
            start = round(number(start, MAX_SECONDS) * 10**9)
        except ValueError:
            raise ScenarioError(f"{what} line {n}: is not SRC DST PRIORITY DPORT BYTES START_SECONDS, "
                                f"up to {units.format_size(MAX_BYTES)} and {MAX_SECONDS} s") from None
        if not (src < len(net.hosts) and dst < len(net.hosts)) or src == dst or size < 1:
            raise ScenarioError(f"{what} line {n}: host {src} to {dst}, {size} bytes; there are "
                                f"hosts 0 to {len(net.hosts) - 1}")
        flows.append((start, src, dst, size))
    try:
        announced = int(lines[0].split()[0])
    except (IndexError, ValueError):
        raise ScenarioError(f"{what} line 1: is not the number of flows") from None
    if announced != len(flows):
        raise ScenarioError(f"{what}: announces {announced} flows and has {len(flows)}")
    flows.sort()
    first = flows[0][0] if flows else 0
    return [(net.hosts[src], net.hosts[dst], start - first, size) for start, src, dst, size in flows]
