# SPDX-License-Identifier: GPL-2.0
"""Nodes, links, addresses and routes of a scenario.

Every node is a network namespace; a host has one link, a switch forwards.
Neighbours need no resolution, so a route is only a device.
"""

import collections
import math
import re
from dataclasses import dataclass, field

from . import units
from .schema import ScenarioError

FRAME_BYTES = 14        # what a qdisc counts beyond the IP packet


@dataclass
class Port:
    """One direction of a link: the device at `node` through which `peer` is reached."""
    node: str
    peer: str
    dev: str
    rate: int
    delay: int
    name: str


@dataclass
class Network:
    hosts: list = field(default_factory=list)
    switches: list = field(default_factory=list)
    links: list = field(default_factory=list)           # (Port, Port), the two directions
    ports: dict = field(default_factory=lambda: collections.defaultdict(list))
    ecmp: bool = True
    ip: int = 4

    def __post_init__(self):
        self._next_hops = {}

    @property
    def nodes(self):
        return self.hosts + self.switches

    def add_link(self, a, b, rate, delay):
        parallel = sum(1 for p in self.ports[a] if p.peer == b)
        tail = f".{parallel}" if parallel else ""
        ends = []
        for node, peer in ((a, b), (b, a)):
            dev = "eth0" if node in self.host_set else peer + tail.replace(".", "_")
            ends.append(Port(node, peer, dev, rate, delay, f"{node}-{peer}{tail}"))
        self.links.append(tuple(ends))
        self.ports[a].append(ends[0])
        self.ports[b].append(ends[1])

    def name_nodes(self, hosts, switches):
        self.hosts, self.switches = list(hosts), list(switches)
        self.host_set = set(hosts)

    def address(self, node):
        """Hosts from 1 on, switches apart from them; the lab is closed, so private ranges do."""
        if node in self.host_set:
            n, net4, net6 = self.hosts.index(node) + 1, "10.0", "fd00:b017::"
        else:
            n, net4, net6 = self.switches.index(node) + 1, "10.255", "fd00:b017:ff::"
        return f"{net4}.{n >> 8}.{n & 255}" if self.ip == 4 else f"{net6}{n:x}"

    def _distances(self, switch):
        """Hops from every switch to this one."""
        dist = {switch: 0}
        queue = collections.deque([switch])
        while queue:
            node = queue.popleft()
            for port in self.ports[node]:
                if port.peer not in self.host_set and port.peer not in dist:
                    dist[port.peer] = dist[node] + 1
                    queue.append(port.peer)
        return dist

    def next_hops(self, node, host):
        """Ports of `node` on shortest paths to `host`, in the order of the links."""
        if node in self.host_set:
            return self.ports[node][:1]
        edge = self.ports[host][0].peer
        if edge == node:
            return [p for p in self.ports[node] if p.peer == host]
        cached = self._next_hops.get((node, edge))
        if cached is None:
            dist = self._distances(edge)
            near = dist.get(node, 0) - 1
            cached = [p for p in self.ports[node] if dist.get(p.peer) == near]
            self._next_hops[node, edge] = cached
        return cached

    def path(self, src, dst, choice=0):
        """The ports a packet leaves through, taking the choice-th hop where there are several."""
        ports, node = [], src
        while node != dst:
            if ports and node in self.host_set:
                return None
            hops = self.next_hops(node, dst)
            if not hops or len(ports) > 64:
                return None
            ports.append(hops[choice] if choice < len(hops) and len(hops) > 1 else hops[0])
            node = ports[-1].peer
        return ports

    def alternatives(self, src, dst):
        """The ports to choose from where the path first forks."""
        for port in self.path(src, dst)[1:]:
            hops = self.next_hops(port.node, dst)
            if len(hops) > 1:
                return hops
        return []


def spread(total, parts):
    """`total` in whole ns over `parts` links, the middle ones taking the remainder."""
    base, rest = divmod(total, parts)
    delays = [base] * parts
    order = sorted(range(parts), key=lambda i: (abs(2 * i + 1 - parts), i))
    for i in order[:rest]:
        delays[i] += 1
    return delays


def along(t, parts):
    """Delays of the links from host to host: those of the hosts as asked for, the others share the rest."""
    if t.edge_delay is None:
        return spread(t.rtt // 2, parts)
    return [t.edge_delay, *spread(t.rtt // 2 - 2 * t.edge_delay, parts - 2), t.edge_delay]


def build(s, where):
    t = s.topology
    core_rate = t.core_rate or t.rate
    net = Network(ip=t.ip)
    if t.kind == "dumbbell":
        left = [f"s{i}" for i in range(t.senders)]
        right = [f"r{i}" for i in range(t.receivers)]
        net.name_nodes(left + right, ["a", "b"])
        net.ecmp = False
        first, core, last = along(t, 3)
        for h in left:
            net.add_link(h, "a", t.rate, first)
        for _ in range(t.paths):
            net.add_link("a", "b", core_rate, core)
        for h in right:
            net.add_link("b", h, t.rate, last)
    elif t.kind == "star":
        hosts = [f"h{i}" for i in range(t.hosts)]
        net.name_nodes(hosts, ["sw"])
        delay = spread(t.rtt // 2, 2)[0]
        for h in hosts:
            net.add_link(h, "sw", t.rate, delay)
    elif t.kind == "leaf-spine":
        leaves = [f"l{i}" for i in range(t.leaves)]
        spines = [f"p{i}" for i in range(t.spines)]
        hosts = [f"h{i}" for i in range(t.leaves * t.hosts_per_leaf)]
        net.name_nodes(hosts, leaves + spines)
        edge, core, _, _ = along(t, 4)
        for i, h in enumerate(hosts):
            net.add_link(h, leaves[i // t.hosts_per_leaf], t.rate, edge)
        for leaf in leaves:
            for spine in spines:
                net.add_link(leaf, spine, core_rate, core)
    else:
        degree = collections.Counter()
        for i, link in enumerate(s.link):
            if link.a == link.b:
                raise ScenarioError(f"{where}: link.{i}.b: joins {link.a} to itself")
            degree.update((link.a, link.b))
        names = list(dict.fromkeys(n for link in s.link for n in (link.a, link.b)))
        net.name_nodes([n for n in names if degree[n] == 1], [n for n in names if degree[n] > 1])
        for link in s.link:
            both = link.a not in net.host_set and link.b not in net.host_set
            net.add_link(link.a, link.b, link.rate or (core_rate if both else t.rate), link.delay)
        if len(net.hosts) < 2:
            raise ScenarioError(f"{where}: link: there are no two hosts (a host is a node with one link)")
        for h in net.hosts[1:]:
            if net.path(net.hosts[0], h) is None:
                raise ScenarioError(f"{where}: link: no path joins {net.hosts[0]} and {h}")
    return net


# ---- qdisc lines ----

_EXPR = re.compile(r"\{\s*(?:(\d+(?:\.\d+)?)\s*\*\s*)?([a-z]+)\s*(?:([*/])\s*(\d+(?:\.\d+)?))?\s*\}")
_LIMIT_IN_BYTES = ("bfifo", "red", "sfc")
_LIMIT_IN_PACKETS = ("pfifo", "codel", "pie", "fq_codel", "fq_pie", "choke", "dualpi2")


def quantities(s):
    """What a qdisc line or a command may name in braces, so that it holds at any rate and RTT."""
    t = s.topology
    bottleneck = min([t.rate, t.core_rate or t.rate] if t.kind != "links" else [link.rate for link in s.link])
    return {"rate": bottleneck, "bdp": bottleneck * t.rtt // (8 * 10**9), "mtu": t.mtu,
            "pkt": t.mtu + FRAME_BYTES, "buffer": t.buffer, "rtt": t.rtt}


def fill_in(line, s, where, k):
    """Fills in {bdp}, {0.2*bdp}, ..."""
    known = quantities(s)

    def fill(match):
        factor, what, op, operand = match.groups()
        if what not in known:
            raise ScenarioError(f"{where}: {k}: {match.group()} is unknown; allowed are {', '.join(known)}")
        value = known[what] * float(factor or 1)
        if op == "/" and not float(operand):
            raise ScenarioError(f"{where}: {k}: {match.group()} divides by 0")
        if op:
            value = value * float(operand) if op == "*" else value / float(operand)
        if not value < 2**63:       # nor what is no number
            raise ScenarioError(f"{where}: {k}: {match.group()[:64]} is beyond what any qdisc takes")
        return str(max(1, round(value))) + ("ns" if what == "rtt" else "bit" if what == "rate" else "")

    result = _EXPR.sub(fill, line)
    if "{" in result or "}" in result:
        raise ScenarioError(f"{where}: {k}: \"{line}\": braces hold one of {', '.join(known)}, multiplied or divided by a number")
    return result


def expand_qdisc(line, s, where, k):
    """Fills in what is in braces; and the port's buffer as the limit, where none is given."""
    known, words = quantities(s), fill_in(line, s, where, k).split()
    kind = words[0]
    if "limit" not in words[1:]:
        if kind in _LIMIT_IN_BYTES:
            words += ["limit", str(known["buffer"])]
        elif kind in _LIMIT_IN_PACKETS:
            words += ["limit", str(max(1, known["buffer"] // known["pkt"]))]
    return " ".join(words)


def ideal_ns(size, path, mtu, ip):
    """The transfer alone at line rate, first byte leaving the sender to last byte at the receiver.

    Full segments with timestamps, no other option.  Each link sends a packet when it has all of it and
    the one before has left.  So the last packet, which may be the shorter one, waits for the full ones
    before it: the first of them passes all links, and the others follow at the slowest link's pace.
    """
    mss = mtu - (20 if ip == 4 else 40) - 20 - 12
    headers = mtu - mss + FRAME_BYTES
    packets = -(-size // mss)
    last = size - (packets - 1) * mss + headers
    unit = math.lcm(*(port.rate for port in path))    # all times are in 1 / unit of a nanosecond
    first = slowest = end = 0
    for port in path:
        byte = 8 * 10**9 * (unit // port.rate)
        full = (mss + headers) * byte
        first += full
        slowest = max(slowest, full)
        free = first + (packets - 2) * slowest if packets > 1 else 0
        end = max(end, free) + last * byte
    return sum(port.delay for port in path) + -(-end // unit)


def ideal_ack_ns(wire, path):
    """Until the last ACK is back, as Bolt's authors reckon: the base RTT, and the bytes on the wire at line rate."""
    return 2 * sum(p.delay for p in path) + -(-wire * 8 * 10**9 // min(p.rate for p in path))


def describe(s, net):
    t = s.topology
    shape = {"dumbbell": f"{t.senders} senders - a - b - {t.receivers} receivers",
             "star": f"{t.hosts} hosts around one switch",
             "leaf-spine": f"{t.leaves} leaves x {t.spines} spines, {t.hosts_per_leaf} hosts per leaf",
             "links": f"{len(net.links)} links one by one"}[t.kind]
    rate = t.rate if t.kind != "links" else quantities(s)["rate"]
    return (f"{t.kind}: {shape}; {units.format_rate(rate)}, base RTT {units.format_time(t.rtt)}, "
            f"MTU {t.mtu}, buffer {units.format_size(t.buffer)} per port")
