# SPDX-License-Identifier: GPL-2.0
"""Devices with deep transmit rings: with byte queue limits sfc sees the queue there, without it does not."""

from bolt_steps import moment
from lab_runs import PACKET, RATE_BPS, RTT_NS

RING = ("--set", "topology.ring=256")
BQL = (*RING, "--set", "topology.bql=true")
COALESCE_NS = 1000
# What a ring may add to the queue: the limit's granularity, and what the link sends unreported.  The
# incast's packets are of 5014 bytes, two of them are let through
SLACK = 5e3
INCAST_SLACK = 2 * 5014
COALESCED_SLACK = 2 * PACKET + COALESCE_NS * RATE_BPS / 8e9
HIDDEN = 2                      # without limits the queue is so many times as long, and nobody hears of it
SEEDS = (1, 2, 3)


def queue(run, name):
    return next(link["queue_bytes"] for link in run.r["links"] if link["name"] == name)


def flow_join(lab, j):
    """The peak as a flow joins, by what is below sfc"""
    for seed in SEEDS:
        def run(*args, seed=seed):
            runs, _ = lab.run("flow-join", "--cc", "bolt", "--seed", str(seed), *args,
                              "--set", f"flow.1.start={12.5 * RTT_NS + moment(seed, RTT_NS):.0f}ns")
            return runs["bolt"]

        least = queue(run(), "a-b")["max"]
        for what, args, slack in (("byte queue limits", BQL, SLACK),
                                  ("... completions within 1 us", (*BQL, "--set", f"topology.coalesce={COALESCE_NS}ns"), COALESCED_SLACK)):
            peak = queue(run(*args), "a-b")["max"]
            j.must(peak <= least + slack, f"{what}: peak {peak / 1e3:.1f} KB, with a ring of one {least / 1e3:.1f} (at most {slack / 1e3:.1f} more)")
        blind = run(*RING)
        peak, src = queue(blind, "a-b")["max"], blind.r["control"]["src_packets"]
        j.must(peak >= HIDDEN * least and not src, f"no limits: peak {peak / 1e3:.1f} KB (at least {HIDDEN} times as much), {src} SRC (none)")


def incast(lab, j):
    """What stands in front of the receiver while 64 flows send"""
    p50 = {}
    for what, args in (("one", ()), ("limits", BQL), ("none", RING)):
        runs, _ = lab.run("incast", "--cc", "bolt", *args)
        p50[what] = queue(runs["bolt"], "sw-h0")["p50"]
    said = ", ".join(f"{what}: {bytes_ / 1e3:.1f} KB" for what, bytes_ in p50.items())
    j.must(p50["limits"] <= p50["one"] + INCAST_SLACK, f"median queue by ring: {said} (with limits at most {INCAST_SLACK / 1e3:.1f} KB more than one)")
    j.must(p50["none"] >= HIDDEN * p50["one"], f"... without limits at least {HIDDEN} times as much")


CHECKS = {
    "flow-join above a ring": flow_join,
    "incast above a ring": incast,
}
