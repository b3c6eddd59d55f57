# SPDX-License-Identifier: GPL-2.0
"""Where a message's time went: every nanosecond from its start to its end has one cause.

The critical path is followed backwards from the byte that arrived last: through the links to the port of its sender, from there to when
it was first sent, and through what the sender waited for since the message began.  What the link device recorded of
the connection (lablink_uapi.h) tells all of it, on one clock.  The parts are pieces of one interval, so their sum is the completion time.
"""

import bisect
import collections
import json
import struct

from . import units
from .build import RunError
from .schema import ScenarioError

HEADER = struct.Struct("=IHHIIQQQ")
RECORD = struct.Struct("=QQIIIIIHH")
MAGIC = 0x574F4C46
SENT, WIRE, WAITS = range(3)
APPLICATION, CONNECT, WINDOW, RECEIVER, DEPARTURE, PAUSE, DEVICE, RECOVERY = (1 << n for n in range(8))
# of several that end at once, the first
STATES = ((PAUSE, "pause"), (CONNECT, "handshake"), (APPLICATION, "unwritten"), (RECEIVER, "receive window"), (WINDOW, "window"),
          (DEPARTURE, "departure"), (DEVICE, "queue"), (RECOVERY, "retransmission"))

# cause: (in the table, in the sentence)
CAUSES = {
    "earlier messages": ("waiting for earlier messages", "waiting for earlier messages of its connection"),
    "handshake": ("handshake", "the handshake of its connection"),
    "unwritten": ("not written yet", "waiting for the application to write it (room in the send buffer)"),
    "window": ("waiting for window", "waiting for the congestion window"),
    "receive window": ("waiting for receive window", "waiting for the receive window"),
    "departure": ("waiting for departure", "waiting for a departure (pacing)"),
    "pause": ("paused", "being paused by a switch"),
    "retransmission": ("retransmission", "repairing a loss"),
    "queue": ("queue", "the queue of port {where}"),
    "serialization": ("serialization", "serialization at port {where}"),
    "propagation": ("propagation", "propagation over {where}"),
    "receiver": ("receiver", "the receiver, after the last byte had arrived"),
}
FILE = "explain.json"


class Unknown(Exception):
    """Why there is no answer for a message."""


def messages(s, traffic):
    """Those that are to be explained: those named, or all that end."""
    if s.explain == "all":
        return [m for m in traffic.messages if m.bytes is not None]
    return [traffic.messages[i] for i in s.explain]


def check(s, traffic, bad):
    if s.explain == "all":
        return
    for i, number in enumerate(s.explain):
        if number >= len(traffic.messages):
            bad(f"explain.{i}", f"{number} is not a message; there are {len(traffic.messages)}, from 0 (flows come first)")
        if traffic.messages[number].bytes is None:
            bad(f"explain.{i}", f"flow {number} has no end, so no time to explain; give it a size")


def check_backend(scenarios, backend):
    for _, s in scenarios:
        if s.explain and backend != "uml":
            raise ScenarioError(f"{s.file.name}: explain: the clock of --backend {backend} is not exact enough; use --backend uml")


# ---- what was recorded ----

def around(number, near):
    """The one of all that are `number` modulo 2^32 that is nearest."""
    return near + ((number - near + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


class Connection:
    """What one connection's bytes and its sender did, in time since the measurement began."""

    def __init__(self):
        self.sent = []                                  # (ns, first byte, end)
        self.wire = collections.defaultdict(list)       # link: [(ns, arrival, first byte, end, IP ID)]
        self.waits = []                                 # (ns, until, states)
        self.high = 0

    def add(self, start, ns, until, link, offset, length, waits, what, ip_id):
        if what == WAITS:
            self.waits.append((ns - start, until - start, waits))
            return
        first = around(offset, self.high)
        end = first + length
        self.high = max(self.high, end)
        if what == SENT:
            self.sent.append((ns - start, first, end))
        else:
            self.wire[link].append((ns - start, until - start, first, end, ip_id))

    def ready(self, ports):
        """Indices of what was recorded, whose links are these."""
        self.ports = ports
        self.at = collections.defaultdict(list)         # (node, packet): [(arrival, ns, link)]
        for link, packets in self.wire.items():
            packets.sort()
            for ns, arrival, *packet in packets:
                self.at[ports[link].peer, *packet].append((arrival, ns, link))
        self.first = []                                 # (first byte, end, ns): when bytes were first sent
        for ns, first, end in self.sent:
            known = self.first[-1][1] if self.first else 0
            if end > known:
                self.first.append((max(first, known), end, ns))
        self.arrived = {}

    def arrivals(self, dst):
        """[(first byte, end, arrival, packet)] in the order of bytes, and the latest arrival so far: when each byte came first."""
        if dst not in self.arrived:
            packets = sorted((arrival, ns, link, packet) for (node, *packet), seen in self.at.items() if node == dst for arrival, ns, link in seen)
            pieces, holes, high = [], [], 0
            for arrival, ns, link, packet in packets:
                first, end, _ = packet
                here = (arrival, ns, link, packet)
                left = []
                for a, b in holes:
                    x, y = max(a, first), min(b, end)
                    if x < y:
                        pieces.append((x, y, here))
                        left += [(p, q) for p, q in ((a, x), (y, b)) if p < q]
                    else:
                        left.append((a, b))
                holes = left
                if first > high:
                    holes.append((high, first))
                if end > high:
                    pieces.append((max(first, high), end, here))
                    high = end
            pieces.sort()
            latest, so_far = None, []
            for piece in pieces:
                latest = piece[2][0] if latest is None else max(latest, piece[2][0])
                so_far.append(latest)
            self.arrived[dst] = pieces, so_far
        return self.arrived[dst]

    def first_sent(self, byte):
        i = bisect.bisect_right(self.first, byte, key=lambda f: f[0]) - 1
        if i < 0 or self.first[i][1] <= byte:
            raise Unknown("the departure of its last byte is not recorded")
        return self.first[i][2]

    def busy(self, link, begin, end, first, last):
        """[(ns, ns)] in which the link serialized these bytes of the connection, in order and apart, within begin and end."""
        packets, delay, result = self.wire[link], self.ports[link].delay, []
        for ns, arrival, a, b, _ in packets[max(0, bisect.bisect_left(packets, (begin,)) - 1):]:
            if ns >= end:
                break
            x, y = max(ns, begin, result[-1][1] if result else begin), min(arrival - delay, end)
            if x < y and a < last and b > first:
                result.append((x, y))
        return result

    def states(self, begin, end):
        """[(ns, ns, cause)] of what the sender waited for: of several the one that ended last."""
        cuts = {begin, end} | {ns for ns, _, _ in self.sent if begin < ns < end}
        i = max(0, bisect.bisect_right(self.waits, begin, key=lambda w: w[0]) - 1)
        here = []
        for ns, until, waits in self.waits[i:]:
            if ns >= end:
                break
            here.append((ns, until, waits))
            cuts |= {t for t in (ns, until) if begin < t < end}
        cuts, sends = sorted(cuts), {ns for ns, _, _ in self.sent}
        result, binding = [], None
        for a, b in reversed(list(zip(cuts, cuts[1:]))):
            j = bisect.bisect_right(here, a, key=lambda w: w[0]) - 1
            _, until, waits = here[j] if j >= 0 else (0, 0, APPLICATION)     # it is not open yet
            if until <= a:
                waits &= ~(DEPARTURE | PAUSE)
            if b in sends or not binding or not waits & binding:
                binding = next((state for state, _ in STATES if waits & state), 0)
            result.append((a, b, self.cause(binding, waits)))
        return result[::-1]

    @staticmethod
    def cause(binding, waits):
        if binding == WINDOW and waits & RECOVERY:
            return "retransmission"
        # with nothing in the way, TCP saves up small openings of the window for a larger burst
        return dict(STATES).get(binding, "window")


def read(path):
    """{connection: Connection}, how many records found no room, and until when they are complete."""
    blob = path.read_bytes()
    if len(blob) < HEADER.size:
        raise RunError("the link device followed no connection (lablink_follow)")
    magic, version, size, record_bytes, _, records, lost, start = HEADER.unpack_from(blob)
    if magic != MAGIC or version != 1 or record_bytes != RECORD.size or len(blob) < size + records * record_bytes:
        raise RunError("what the link device followed has a format this lab does not know (lablink_follow)")
    found = collections.defaultdict(Connection)
    last = 0
    for ns, until, connection, *rest in RECORD.iter_unpack(memoryview(blob)[size:size + records * record_bytes]):
        found[connection].add(start, ns, until, *rest)
        last = ns - start
    return found, lost, last if lost else None


# ---- one message ----

class Story:
    """Pieces of time, one after the other: [(begin, end, cause, where)]."""

    def __init__(self, start, end):
        self.now, self.end, self.pieces = start, end, []

    def until(self, ns, cause, where):
        """From where the story is now."""
        ns = min(ns, self.end)
        if ns <= self.now:
            return
        if self.pieces and self.pieces[-1][2:] == (cause, where):
            self.pieces[-1] = (self.pieces[-1][0], ns, cause, where)
        else:
            self.pieces.append((self.now, ns, cause, where))
        self.now = ns

    def parts(self):
        total = collections.Counter()
        for begin, end, cause, where in self.pieces:
            total[cause, where] += end - begin
        return [{"cause": cause, "where": where, "ns": ns} for (cause, where), ns in total.items()]


def way(c, piece, src):
    """[(arrival at the port's node or None, begin of serialization, arrival, link)] of the packet, from its sender on."""
    arrival, ns, link, packet = piece
    hops = []
    while True:
        node = c.ports[link].node
        before = max((seen for seen in c.at.get((node, *packet), ()) if seen[0] <= ns), default=None) if node != src else None
        hops.append((before[0] if before else None, ns, arrival, link))
        if node == src:
            return hops[::-1]
        if not before or len(hops) > 64:
            raise Unknown(f"the path of its last byte to {node} is not recorded")
        arrival, ns, link = before


def tell(c, src, dst, first, size, start, end):
    """The Story of the message whose first byte is this one of its connection."""
    last = first + size
    pieces, latest = c.arrivals(dst)
    i, j = (bisect.bisect_left(pieces, byte, key=lambda p: p[0]) for byte in (first, last))
    i = max(0, i - 1)
    mine = [p for p in pieces[i:j] if p[1] > first]
    if sum(min(b, last) - max(a, first) for a, b, _ in mine) != size:
        raise Unknown("not all of its bytes are recorded")
    a, _, piece = max(mine, key=lambda p: p[2][0])
    byte = max(a, first)
    hops = way(c, piece, src)
    port = c.ports[hops[0][3]]
    sent = c.first_sent(byte)
    again = max((ns for ns, x, y in c.sent if x <= byte < y and ns <= hops[0][1]), default=sent)

    story = Story(start, end)
    if first:
        story.until(c.first_sent(first - 1), "earlier messages", src)
    wait_at_sender(story, c, hops[0][3], sent, first, last)
    story.until(again, "retransmission", src)
    for _, ns, arrival, link in hops:
        port = c.ports[link]
        wait_at_port(story, c, link, ns, first, last)
        story.until(arrival - port.delay, "serialization", port.name)
        story.until(arrival, "propagation", port.name)
    before = latest[i] if pieces[i][0] < first else None
    if before is not None:
        story.until(before, "earlier messages", dst)
    story.until(end, "receiver", dst)
    return story


def wait_at_port(story, c, link, ns, first, last, cause="queue"):
    """Until ns: behind bytes of the message itself, or of others."""
    name = c.ports[link].name
    for begin, end in c.busy(link, story.now, ns, first, last):
        story.until(begin, cause, name)
        story.until(end, "serialization", name)
    story.until(ns, cause, name)


def wait_at_sender(story, c, link, ns, first, last):
    """Until ns, when the byte is sent. While the sender's line is busy with the message nothing else is in the way."""
    port = c.ports[link]
    for begin, end, cause in c.states(story.now, ns) if story.now < ns else ():
        story.until(begin, "window", port.node)
        if cause == "queue":
            wait_at_port(story, c, link, end, first, last)
            continue
        for x, y in c.busy(link, begin, end, first, last):
            story.until(x, cause, port.node)
            story.until(y, "serialization", port.name)
        story.until(end, cause, port.node)


# ---- a run ----

def places(path):
    """{message: (connection, first byte modulo 2^32)}"""
    found = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            words = line.split()
            found[int(words[0])] = int(words[-2]), int(words[-1])
    return found


def of_run(raw, net, s, traffic, flows):
    """What explain.json of the run has."""
    known, lost, complete_until = read(raw / "follow.bin")
    ports = [port for link in net.links for port in link]
    for c in known.values():
        c.ready(ports)
    where, near, told = places(raw / "flows.txt"), collections.Counter(), []
    started = {f["id"]: f for f in flows}
    for m in messages(s, traffic):
        if m.id not in started:
            continue
        f = started[m.id]
        entry = {k: f[k] for k in ("id", "from", "to", "bytes", "start_ns", "end_ns", "fct_ns")}
        try:
            if f["end_ns"] is None:
                raise Unknown("it did not end")
            if complete_until is not None and f["end_ns"] > complete_until:
                raise Unknown("the record was full (explain_mb)")
            connection, first = where[m.id]
            first = near[connection] = around(first, near[connection])
            story = tell(known[connection], f["from"], f["to"], first, m.bytes, f["start_ns"], f["end_ns"])
            entry |= {"parts": story.parts(), "timeline": story.pieces}
        except Unknown as e:
            entry["unknown"] = str(e)
        told.append(entry)
    return {"lost": lost, "messages": told}


def write(raw, out, place, net, s, traffic, flows):
    """explain.json of the run, and what result.json says of it; None where nothing was asked for."""
    if not s.explain:
        return None
    result = of_run(raw, net, s, traffic, flows)
    (out / place / FILE).write_text(json.dumps(result) + "\n")
    return {"file": f"{place}/{FILE}", "messages": len(result["messages"]), "lost": result["lost"]}


# ---- the command ----

def label(part):
    return CAUSES[part["cause"]][0]


def sentence(entry):
    most = max(entry["parts"], key=lambda p: p["ns"], default=None)
    if not most:
        return "It took no time."
    phrase = CAUSES[most["cause"]][1].format(where=most["where"])
    return f"The largest part, {most['ns'] / entry['fct_ns']:.0%}, was {phrase}."


def table(entry):
    rows = [("", "where", "us", ""), *((label(p), p["where"], f"{p['ns'] / 1000:.3f}", f"{p['ns'] / entry['fct_ns']:.1%}") for p in entry["parts"]),
            ("sum", "", f"{sum(p['ns'] for p in entry['parts']) / 1000:.3f}", "")]
    return units.columns(rows, left=2)


def head(name, entry):
    took = "" if entry["fct_ns"] is None else f", {entry['fct_ns'] / 1000:.3f} us from {entry['start_ns'] / 1000:.3f} us on"
    return f"{name}: message {entry['id']}: {entry['bytes']} bytes from {entry['from']} to {entry['to']}{took}"


def text(name, entry):
    if "unknown" in entry:
        return f"{head(name, entry)}: not explained: {entry['unknown']}"
    return f"{head(name, entry)}\n{table(entry)}\n{sentence(entry)}"


def line(name, entry):
    return f"{head(name, entry)}. {entry['unknown'] if 'unknown' in entry else sentence(entry)}"


def recorded(result, directory, cc):
    """[(name of the run, what explain.json of it has)]"""
    runs = [r for r in result["runs"] if cc in (None, r["cc"], r["directory"])]
    if not runs:
        raise RunError(f"--cc {cc}: {directory} has {', '.join(r['directory'] for r in result['runs'])}")
    runs = [r for r in runs if r.get("explain")]
    if not runs:
        raise RunError(f"{directory}: messages were not recorded: run it again with --explain NUMBER[,NUMBER...] or --explain all")
    return [(r["directory"], json.loads((directory / r["explain"]["file"]).read_text())) for r in runs]


def main(result, directory, number, cc, as_json):
    found = []
    for name, told in recorded(result, directory, cc):
        entries = [e for e in told["messages"] if number in (None, e["id"])]
        if not entries:
            raise RunError(f"message {number} of {name} was not recorded: it did not start, or run it again with --explain {number} or --explain all")
        found += [(name, e) for e in entries]
    if as_json:
        print(json.dumps([{"run": name} | e for name, e in found], indent=1))
    elif number is None:
        print("\n".join(line(name, e) for name, e in found))
    else:
        print("\n\n".join(text(name, e) for name, e in found))
    return 1 if number is not None and any("unknown" in e for _, e in found) else 0
