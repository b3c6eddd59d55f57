#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""BTS that are forged, stale, replayed, too long or too many pause nothing.

They come to a sending host by hand (lib_pause.py).  Each must be counted in its place and change
nothing else, and a storm of valid pauses may stop a flow for the share of the watchdog alone:
otherwise a message that anybody sends stops any connection.
"""

import sys

import bolt_ctl
from bolt_ctl import expect, failures
from lib_pause import MS, Host, until


def refusals():
    """Forged, stale, replayed and oversized: they count, each in its place, and nothing else"""
    for cc in ("cubic", "bolt"):
        h = Host(delay="20ms")
        h.transfer(cc, 300000)
        h.running(20)
        q = h.last()
        right = h.message(MS, q)
        seq = q.l4 + 4

        def moved(by):
            wrong = (q.seq + by) & 0xffffffff
            return q.quote()[:seq] + wrong.to_bytes(4) + q.quote()[seq + 4:]

        def port(by):
            return q.quote()[:q.l4] + (q.sport + by).to_bytes(2) + q.quote()[q.l4 + 2:]

        h.refused("another port", "CtlNoSocket", h.message(MS, q, head=port(1)))
        h.refused("acknowledged", "CtlSeq", h.message(MS, q, head=moved(-200000)))
        h.refused("within the packet", "CtlSeq", h.message(MS, q, head=moved(1)))
        h.refused("not sent yet", "CtlSeq", h.message(MS, q, head=moved(200000)))
        h.refused("more than a second", "BtsOversize", h.message(1000 * MS + 1, q))
        h.refused("no flow of ours in the quote", "CtlQuote",
                  h.message(MS, q, head=q.quote()[:9] + b"\x11" + q.quote()[10:]))
        stamp = q.tx or q.tsval
        for what, tx in (("no timestamp", 0), ("another timestamp", 1), ("older", stamp - 1),
                         ("newer", stamp + 1), ("in ns", h.now())):
            h.refused(what, "CtlTime", h.message(MS, q, tx=tx))
        h.h1.sysctl("bolt.sfc", 0)
        h.refused("not asked for", "BtsOff", right)
        h.h1.sysctl("bolt.sfc", 1)
        expect("pauses", h.stat("Pauses"), 0)
        h.udp.sendto(right, (h.ip[0], bolt_ctl.PORT))
        expect("right", h.stat("BtsRx"), 1)
        h.refused("again", "CtlReplay", right)
        h.udp.sendto(h.message(MS, q, flags=2), (h.ip[0], bolt_ctl.PORT))
        expect("from a cache", h.stat("BtsRx"), 2)
        h.refused("from a cache, again", "CtlReplay", h.message(MS, q, flags=2))
        h.finish()
        h.close()


def watchdog():
    """A storm of pauses stops a flow for its share of an interval, then not at all for a while"""
    h = Host(delay="40ms", window=4000000)
    start = h.storm()
    # the account is used up 10 ms after the first, whatever was asked for later
    h.paused("storm", start, 10 * MS)
    expect("paused", h.stat("PausedNs"), 10 * MS)
    expect("trips", h.stat("WatchdogTrips"), 1)
    if not 1 <= h.stat("BtsIgnored") <= 3:
        failures.append(f"BtsIgnored {h.stat('BtsIgnored')}")
    until(start + 25 * MS)
    h.bts(1 * MS)
    expect("ignored", h.stat("Pauses"), 1)
    until(start + 40 * MS)
    h.bts(1 * MS)
    expect("recovered", h.stat("Pauses"), 2)
    h.streamed()
    h.close()


def resumed():
    """A BTS of pause 0 is no pause: where the account is used up, it does not trip the watchdog"""
    h = Host(delay="40ms", window=4000000)
    for name, value in (("pct", 50), ("interval_us", 20000), ("recovery_us", 20000)):
        h.h1.sysctl(f"bolt.watchdog_{name}", value)
    h.stream("cubic")
    h.running(20)
    quotes = h.sent(0)[-4:]
    h.bts(0, quotes[0])
    expect("nothing to end", h.stat("Pauses"), 0)
    start = h.bts(10 * MS, quotes[1])
    until(start + 11 * MS)
    h.bts(0, quotes[2])
    expect("trips", h.stat("WatchdogTrips"), 0)
    until(start + 21 * MS)
    h.bts(1 * MS, quotes[3])
    expect("pauses", h.stat("Pauses"), 2)
    expect("BTS", h.stat("BtsRx"), 4)
    expect("paused", h.stat("PausedNs"), 11 * MS)
    h.streamed()
    h.close()


TESTS = [refusals, watchdog, resumed]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
