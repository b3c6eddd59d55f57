# SPDX-License-Identifier: GPL-2.0
"""What no congestion control can do better on the same messages: fair sharing, the shortest first and levels, as a fluid.

Messages are bytes on the wire that flow at the rates of the links from the instant they are sent: no packets, no queues
and no delay until a sender hears of another.  Fair sharing is max-min fair at every instant.  The shortest first lets
the message that would end soonest have all that its links give, then the next (SRPT): on one link no order has a lower
mean time, on several it is the usual reference and not a proven bound.  Levels are those of `sfc levels`, on every link:
what has sent least goes first, as far as the levels tell, and shares fairly with what is in the same level.
"""

import functools
import heapq
import itertools
import re

from .topology import FRAME_BYTES, expand_qdisc
from .traffic import link_rate, segment, senders_to, wire_bytes

USUAL_LEVELS = tuple(2048 << 2 * n for n in range(7))       # of sfc, without sizes
TC_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)b?", re.IGNORECASE)

SAME_NS = 1e-3          # messages that end within this of each other end at once


def path_links(net, src, dst):
    """[(names of the ports, bytes per ns)] of each hop; equal-cost ports are one link, as if every packet took its own way."""
    found, nodes = [], [src]
    while dst not in nodes:
        hops = {}
        for node in nodes:
            ports = net.next_hops(node, dst)
            hops |= {p.name: p for p in (ports if net.ecmp else ports[:1])}
        found.append((tuple(sorted(hops)), sum(p.rate for p in hops.values()) / 8e9))
        nodes = sorted({p.peer for p in hops.values()})
    return found


def shared_links(net, pairs):
    """({(src, dst): [link]}, {link: bytes per ns}) of the links that can be the limit: not those that take all that hosts can send or receive over them."""
    paths = {pair: path_links(net, *pair) for pair in pairs}
    rates, ends = {}, {}
    for path in paths.values():
        for name, rate in path[1:-1]:
            rates[name] = rate
            sources, sinks = ends.setdefault(name, (set(), set()))
            sources.add(path[0])
            sinks.add(path[-1])
    wide = {name for name, of in ends.items() if any(rates[name] >= sum(rate for _, rate in links) for links in of)}
    return ({pair: [name for name, _ in path if name not in wide] for pair, path in paths.items()},
            {name: rate for path in paths.values() for name, rate in path if name not in wide})


def overload(s, net):
    """A line where links between switches are offered more than their rate, of which the load of hosts' links says nothing; else None."""
    offered, rates, edges = {}, {}, {}
    for h in net.hosts:
        edges.setdefault(net.ports[h][0].peer, []).append(h)
    for g in (s.workload, s.incast):
        if g is None or g.trace is not None or g.load is None:
            continue
        for senders, receivers in itertools.permutations(edges.values(), 2):
            # each receiver is offered the load, by any of its senders alike
            to = len([h for h in receivers if g.to in (None, h)])
            of = senders_to(s, net, receivers[0])
            share = len(set(of) & set(senders)) / len(of)
            for link, rate in path_links(net, senders[0], receivers[0])[1:-1] if to and share else ():
                rates[link] = rate
                offered[link] = offered.get(link, 0) + g.load * link_rate(net, g.to) / 8e9 * to * share
    link = max(offered, key=lambda one: offered[one] / rates[one], default=None)
    if link is None or offered[link] <= rates[link]:
        return None
    return f"{' and '.join(link)}: offered {100 * offered[link] / rates[link]:.0f} % of the rate between switches: queues grow as long as messages arrive (load, core_rate)"


class FairShares:
    """Max-min fair: the link that gives the least to each of its messages is filled first."""

    def __init__(self, paths, rates):
        self.paths, self.capacity = paths, rates
        self.users = {link: {} for link in rates}       # in the order of their arrival

    def add(self, m):
        for link in self.paths[m]:
            self.users[link][m] = True

    def remove(self, m):
        for link in self.paths[m]:
            del self.users[link][m]

    def rates(self, left):
        return self.share({}, len(left))

    def share(self, spare, count):
        """The rates of so many; `spare` is what links have left, of which somebody has taken something."""
        given, paths = {}, self.paths
        waiting = {}
        heap = []
        for link, users in self.users.items():
            if users:
                spare.setdefault(link, self.capacity[link])
                waiting[link] = len(users)
                heap.append((spare[link] / waiting[link], link))
        heapq.heapify(heap)
        while len(given) < count:
            share, link = heapq.heappop(heap)
            if not waiting[link]:
                continue
            now = spare[link] / waiting[link]
            if now > share * (1 + 1e-12):       # others of its messages got less elsewhere
                heapq.heappush(heap, (now, link))
                continue
            for m in self.users[link]:
                if m not in given:
                    given[m] = share
                    for other in paths[m]:
                        spare[other] -= share
                        waiting[other] -= 1
        return given


class ShortestFirst:
    """All that the links have left, to one message after the other in the order of the time that they still need."""

    def __init__(self, paths, rates):
        self.paths, self.capacity = paths, rates
        self.slowest = {}

    def add(self, m):
        self.slowest[m] = min(self.capacity[link] for link in self.paths[m])

    def remove(self, m):
        del self.slowest[m]

    def rates(self, left):
        given, full = {}, set()
        spare = {}
        for m in sorted(left, key=lambda m: left[m] / self.slowest[m]):
            path = self.paths[m]
            if full.isdisjoint(path):
                rate = given[m] = min(spare.get(link, self.capacity[link]) for link in path)
                for link in path:
                    spare[link] = spare.get(link, self.capacity[link]) - rate
                    if spare[link] <= 1e-9 * self.capacity[link]:
                        full.add(link)
        return given


class Levels:
    """The lowest level first, max-min fair within it; what it leaves of each link is shared by the next."""

    def __init__(self, paths, rates):
        self.paths, self.capacity = paths, rates
        self.levels = []            # (FairShares, its messages)
        self.level = {}

    def add(self, m):
        """At first, and again for each level."""
        n = self.level[m] = self.level.get(m, -1) + 1
        if n == len(self.levels):
            self.levels.append((FairShares(self.paths, self.capacity), {}))
        shares, there = self.levels[n]
        shares.add(m)
        there[m] = True

    def remove(self, m):
        shares, there = self.levels[self.level[m]]
        shares.remove(m)
        del there[m]

    def rates(self, left):
        given, spare, full = {}, {}, set()
        for shares, there in self.levels:
            if any(full.isdisjoint(self.paths[m]) for m in there):
                given |= {m: rate for m, rate in shares.share(spare, len(there)).items() if rate}
                full |= {link for link, rate in spare.items() if rate <= 1e-9 * self.capacity[link]}
                spare |= dict.fromkeys(full, 0.0)
        return given


def parts(size, begins):
    """What of a message is in each level."""
    edges = [0, *(b for b in begins if b < size), size]
    return [end - begin for begin, end in itertools.pairwise(edges)]


def end_times(messages, shares, begins=()):
    """[ns] when the last byte of each (start in ns, bytes) has been sent; `shares` has the paths by their index, `begins` is where levels begin."""
    order = sorted(range(len(messages)), key=lambda m: messages[m][0])
    later = [parts(size, begins) for _, size in messages]
    ends, left, now, n = [None] * len(messages), {}, 0.0, 0
    while left or n < len(order):
        given = shares.rates(left)
        until = min((left[m] / rate for m, rate in given.items()), default=float("inf")) + now
        if n < len(order):
            until = min(until, messages[order[n]][0])
        for m, rate in given.items():
            left[m] -= rate * (until - now)
            if left[m] <= rate * SAME_NS:
                shares.remove(m)
                if later[m]:
                    left[m] = later[m].pop(0)
                    shares.add(m)
                else:
                    ends[m] = until
                    del left[m]
        now = until
        while n < len(order) and messages[order[n]][0] <= now:
            left[order[n]] = later[order[n]].pop(0)
            shares.add(order[n])
            n += 1
    return ends


DISCIPLINES = {"fair": FairShares, "srpt": ShortestFirst, "levels": Levels}


def level_begins(s):
    """The bytes on the wire from which a message is in each further level at ports towards hosts; None without levels.

    A packet goes by what of its message was sent before it, so these are whole packets.
    """
    words = expand_qdisc(s.switch.edge_qdisc or s.switch.qdisc, s, s.name, "switch.qdisc").split()
    if words[0] != "sfc" or "levels" not in words or "none" in words[words.index("levels"):][1:2]:
        return None
    given = itertools.takewhile(bool, map(TC_SIZE.fullmatch, words[words.index("levels") + 1:]))
    sizes = [int(float(size[1]) * 1024 ** " kmg".index(size[2].lower() or " ")) for size in given] or USUAL_LEVELS
    return tuple(-(-size // segment(s)) * (s.topology.mtu + FRAME_BYTES) for size in sizes)


@functools.lru_cache(maxsize=8)
def ends_of(discipline, messages, paths, rates, begins=()):
    """Every congestion control of a run meets the same arrivals, so once for all of them."""
    return end_times(messages, DISCIPLINES[discipline](paths, dict(rates)), begins)


def slowdowns(s, net, traffic):
    """[{discipline: slowdown}] of each message, to the last ACK as `slowdown_ack` is; nothing where a flow has no end, and would share for ever."""
    if any(m.bytes is None for m in traffic.messages):
        return []
    pairs = [(traffic.pairs[m.pair].src, traffic.pairs[m.pair].dst) for m in traffic.messages]
    paths, rates = shared_links(net, set(pairs))
    delays = {pair: 2 * sum(p.delay for p in net.path(*pair)) for pair in set(pairs)}
    same = tuple((m.start, wire_bytes(m.bytes, s)) for m in traffic.messages), tuple(tuple(paths[pair]) for pair in pairs), tuple(rates.items())
    begins = level_begins(s)
    ends = {"fair": ends_of("fair", *same), "srpt": ends_of("srpt", *same)} | ({"levels": ends_of("levels", *same, begins)} if begins else {})
    return [{name: max(1.0, (delays[pair] + of[i] - m.start) / m.ideal_ack) for name, of in ends.items()}
            for i, (pair, m) in enumerate(zip(pairs, traffic.messages))]
