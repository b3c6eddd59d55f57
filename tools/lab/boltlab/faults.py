# SPDX-License-Identifier: GPL-2.0
"""[[fault]]: what links and hosts do wrong, when, and what came of it. The link device does it (tools/lab/link/fault.c)."""

import dataclasses
import hashlib

from . import topology, units
from .schema import OF_HOSTS, SHARED

ENDS = {"up": "down", "go": "stop"}         # what ends is of the same kind
OVERTAKEN_BY = 10                           # full packets, unless `late` says otherwise


def check(s, net, bad):
    """Refuses what cannot be, and makes one of each that names several links."""
    for i, f in enumerate(s.fault):
        check_one(s, net, f, lambda k, why, i=i: bad(f"fault.{i}.{k}", why))
    numbered = [(i, dataclasses.replace(f, link=[one])) for i, f in enumerate(s.fault) for one in f.link or [None]]
    for i, f in numbered:
        if f.do in ENDS and not any((o.do, o.link, o.node) == (ENDS[f.do], f.link, f.node) and o.at <= f.at for _, o in numbered):
            bad(f"fault.{i}.do", f"\"{f.do}\" has no effect: {f.node or f.link[0]} has no \"{ENDS[f.do]}\" before")
    s.fault = [f for _, f in numbered]
    ports = {port.name: port for link in net.links for port in link}
    for f in s.fault:
        f.port = net.ports[f.node][0] if f.node else ports[f.link[0]]
        if f.do == "reorder" and f.late is None:
            f.late = OVERTAKEN_BY * (s.topology.mtu + topology.FRAME_BYTES) * 8 * 10**9 // f.port.rate


def check_one(s, net, f, bad):
    if not 0 <= f.at < s.duration:
        bad("at", f"{units.format_time(f.at)} is not from 0 to before the duration ends ({units.format_time(s.duration)})")
    known = [port.name for link in net.links for port in link]
    if f.do in OF_HOSTS:
        if f.node not in net.host_set:
            bad("node", f"\"{f.node}\" is not a host, which do = \"{f.do}\" wants" if f.node else f"is missing for do = \"{f.do}\": which host")
    elif not f.link:
        bad("link", f"is missing for do = \"{f.do}\": which, such as {known[0]}")
    for one in f.link or ():
        if one not in known:
            bad("link", f"\"{one}\" is not a link; the links are {units.some(known)}")
    if f.do in SHARED and f.share is None:
        bad("share", f"is missing for do = \"{f.do}\": per cent of the packets, 0 ends it")


def of_random(s, f):
    """Of this direction and kind, so that one fault does not change whom another one hits."""
    return int.from_bytes(hashlib.sha256(f"{s.seed} {f.port.name} {f.do} {f.at}".encode()).digest()[:8], "big")


def directive(s, i, f):
    """What the guest tells the link device then."""
    share = round(f.share * 2**32 / 100) if f.do in SHARED else 0 if f.do in ENDS else 2**32
    return ("fault", f.port.node, f.at, f.port.dev, i, ENDS.get(f.do, f.do), share, f.late or 0, of_random(s, f))


def text(f):
    """For people, of a scenario's or of a result's."""
    where, do, share = (f["node"] or f["link"], f["do"], f["share"]) if isinstance(f, dict) else (f.node or f.link[0], f.do, f.share)
    return f"{where}: {do}" + ("" if share is None else f" {share:g} %")


def read(s, counted):
    """Entries of result.json; `counted`: packets by number."""
    return [{"link": f.port.name if f.link[0] else None, "node": f.node, "at_ns": f.at, "do": f.do, "share": f.share, "late_ns": f.late,
             "packets": counted.get(i, 0)} for i, f in enumerate(s.fault)]
