# SPDX-License-Identifier: GPL-2.0
"""[[fault]]: each does what it says to its flow and nothing to the others, as often as it says, the same twice."""

import json
import os

from lab_itself import same_twice

PACKETS = 6980                      # 10 MB, full packets
SHARE = 0.01
SIGMA = (PACKETS * SHARE) ** 0.5
MS = 10**6
ALONE_MS, STILL_MS = 8.36, 2        # 10 MB at 10 Gb/s; the link that is down, the host that stands still
PACKET_MS = 1514 * 8 / 10**7


def twice(lab, j):
    """Loss, corruption, duplicates, reordering, a link down, a host that stands still, a flow each"""
    same_twice(lab, j, "faults", "--cc", "bolt,cubic", "--capture", "s0-a")
    with open(os.path.join(lab.out, f"{lab.n:02}-faults", "result.json"), encoding="utf-8") as f:
        runs = json.load(f)["runs"]
    for r in runs:
        cc, flows, faults = r["cc"], r["flows"], r["faults"]
        hit = [f["packets"] for f in faults]
        resent = [f["retransmits"] for f in flows]
        j.must([f["do"] for f in faults] == ["loss", "corrupt", "duplicate", "reorder", "down", "down", "up", "up", "stop", "go"], f"{cc}: every fault is told of")
        for i in range(4):
            j.must(abs(hit[i] - PACKETS * SHARE) < 6 * SIGMA, f"{cc}: {faults[i]['do']}: {hit[i]} packets of {PACKETS}")
        j.must(all(f["end_ns"] is not None for f in flows), f"{cc}: every transfer is complete")
        for i in (0, 1):
            j.must(resent[i] >= hit[i], f"{cc}: {faults[i]['do']}: {resent[i]} retransmits for {hit[i]} packets that never were")
        j.must(resent[4] >= hit[4] > 0 and hit[5] > 0, f"{cc}: down: {hit[4]} packets there and {hit[5]} back are lost, {resent[4]} retransmits")
        j.must(resent[2] == 0 and resent[5] == 0, f"{cc}: a duplicate and a host that stands still lose nothing ({resent[2]}, {resent[5]} retransmits)")
        j.must(hit[8] > 0 and hit[6:8] == [0, 0] and hit[9] == 0, f"{cc}: {hit[8]} packets waited for the host that stood still")
        # what waited for the host was sent in time
        still = ALONE_MS + STILL_MS
        for i, what, least in ((2, "duplicate", ALONE_MS), (4, "down", still), (5, "stop", still - hit[8] * PACKET_MS)):
            ms = flows[i]["fct_ns"] / MS
            j.must(ms >= least, f"{cc}: the flow of {what} takes {ms:.2f} ms (at least {least:.2f})")
        lost = r["captures"][0]["dropped"]
        j.must(lost == hit[0], f"{cc}: the capture has {lost} packets that were lost")


def ended(lab, j):
    """Another seed hits others; a share of 0 ends a fault; all of a link for a while"""
    after_1ms = ("--set", "fault.8.do=loss", "--set", "fault.8.link=s0-a", "--set", "fault.8.at=1ms", "--set", "fault.8.share=0")
    first, _ = lab.run("faults", "--seed", "1", *after_1ms)
    other, _ = lab.run("faults", "--seed", "2", "--set", "fault.0.share=100", *after_1ms)
    a, b = first["bolt"].r, other["bolt"].r
    j.must(0 < a["faults"][0]["packets"] < PACKETS * SHARE / 3, f"ended after 1 ms of some 9: {a['faults'][0]['packets']} packets are lost")
    j.must(a["trace_hash"] != b["trace_hash"] and a["faults"][1]["packets"] != 0 != b["faults"][1]["packets"], "another seed is another run")
    flow = b["flows"][0]
    j.must(flow["end_ns"] is not None and flow["fct_ns"] > (ALONE_MS + 1) * MS, f"with every packet lost for 1 ms it takes {flow['fct_ns'] / MS:.1f} ms")


def least_rto(lab, j):
    """A packet alone is lost: what sends it again waits for the least RTO, which is that of the route or the kernel's"""
    sets = ("fault=[]", "fault.0.link=s0-a", "fault.0.at=0us", "fault.0.do=down", "fault.1.link=s0-a", "fault.1.at=1ms", "fault.1.do=up",
            "topology.senders=1", "flow.0.count=1", "flow.0.bytes=1000B", "flow.0.start=10us")
    for more, least in (((), 200), (("host.rto_min=5ms",), 5)):
        runs, _ = lab.run("faults", "--cc", "cubic", *(arg for one in (*sets, *more) for arg in ("--set", one)))
        ms, lost = (runs["cubic"].r["flows"][0]["fct_ns"] or 0) / MS, runs["cubic"].r["faults"][0]["packets"]
        most = least * 1.07 + 3         # ticks, and timers of the kernel that are so long are late by as much as a 16th
        j.must(lost == 1 and least <= ms < most, f"{' '.join(more) or 'the kernel'}: {lost} packet is lost, and there after {ms:.2f} ms ({least} to {most:.0f})")


CHECKS = {
    "faults are the same twice": twice,
    "faults end": ended,
    "the least RTO": least_rto,
}
