# SPDX-License-Identifier: GPL-2.0
"""Where messages' time went (`lab explain`): every ns of each has one cause, and where the answer is known it is that one."""

import json
import os
import subprocess

from lab_runs import LAB

MSS = 1448                      # with timestamps, of MTU 1500
HEADERS = 66                    # of a packet, as links count it
BOLT_OPTION = 12
RATE, CORE_RATE = 100e9, 10e9
ONE_WAY_NS = 4000
ROUNDING_NS = 2                 # links count in ps
WORK_NS = 20                    # a reading of the clock and a system call that fails take 1 ns each, nothing else any
LONE = 100_000
AHEAD = 20                      # packets
LATER_NS = 10_000

DUMBBELL = f"""
name = "explained"
duration = "200us"
[topology]
kind = "dumbbell"
rtt = "{2 * ONE_WAY_NS}ns"
[host]
initcwnd = 200
[switch]
qdisc = "pfifo"
[[flow]]
from = "s0"
to = "r0"
bytes = {{}}
[[flow]]
from = "s1"
to = "r1"
bytes = {{}}
start = "{{}}ns"
"""
INCAST = ("incast", "--set", "topology.hosts=9", "--set", "incast.degree=8", "--set", "incast.bytes=200KB", "--set", "topology.mtu=1500",
          "--set", "duration=200us")
DROPS = (*INCAST, "--set", "switch.qdisc=pfifo", "--set", "topology.buffer=60KB")
PAUSES = (*INCAST, "--set", "switch.qdisc=sfc nobolt pause edge rtt 5us", "--set", "host.sysctl.net.bolt.sfc=1")
FABRIC = ("fct-fabric", "--set", "duration=60us", "--set", "workload.messages=300")


def messages(lab, *args):
    """{congestion control: [what is said of each message]} and the runs."""
    runs, out = lab.run(*args, "--explain", "all")
    said = subprocess.run([LAB, "explain", out, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    told = {cc: [] for cc in runs}
    for entry in json.loads(said):
        told[entry["run"]].append(entry)
    return told, runs


def by_cause(entry):
    total = {}
    for part in entry["parts"]:
        total[part["cause"]] = total.get(part["cause"], 0) + part["ns"]
    return total


def is_whole(entry):
    """Its parts are its time, and so is its timeline, without a gap."""
    ends = [entry["start_ns"], *(end for _, end, _, _ in entry["timeline"])]
    return (sum(p["ns"] for p in entry["parts"]) == entry["fct_ns"] and ends[-1] == entry["end_ns"]
            and all(piece[0] == before and piece[1] > before for piece, before in zip(entry["timeline"], ends)))


def judge_sums(lab, j, args, ccs, *causes):
    """Every message of the run is explained to the ns, and these causes appear; recording changes nothing. Returns all time by cause, per run."""
    totals = []
    told, runs = messages(lab, *args, "--cc", ccs)
    plain, _ = lab.run(*args, "--cc", ccs)
    for cc, entries in told.items():
        flows = runs[cc].r["flows"]
        j.must([e["id"] for e in entries] == [f["id"] for f in flows] and not any("unknown" in e for e in entries), f"{cc}: {len(entries)} messages are explained, all")
        j.must(all(e["fct_ns"] == f["fct_ns"] and is_whole(e) for e, f in zip(entries, flows)), f"{cc}: the parts of each add up to its completion time")
        found = {}
        for cause, ns in (item for e in entries for item in by_cause(e).items()):
            found[cause] = found.get(cause, 0) + ns
        totals.append((runs[cc], found))
        j.must(set(found) >= set(causes), f"{cc}: time went to {', '.join(sorted(found))} (at least {', '.join(causes)})")
        j.must(plain[cc].r["trace_hash"] == runs[cc].r["trace_hash"], f"{cc}: the run is the same without")
    return totals


def scenario(lab, *values):
    os.makedirs(lab.out, exist_ok=True)
    path = os.path.join(lab.out, "explained.toml")
    with open(path, "w", encoding="ascii") as f:
        f.write(DUMBBELL.format(*values))
    return path


def near(value, want, slack=ROUNDING_NS):
    return abs(value - want) <= slack


def lone(lab, j):
    """Nothing but serialization and propagation on an empty path"""
    told, _ = messages(lab, scenario(lab, 1, LONE, 100_000), "--cc", "cubic,bolt")
    for cc, (small, large) in told.items():
        option = BOLT_OPTION if cc == "bolt" else 0
        for entry in (small, large):
            wire = entry["bytes"] + -(-entry["bytes"] // (MSS - option)) * (HEADERS + option)
            total = by_cause(entry)
            work = total.pop("unwritten", 0) + total.pop("receiver", 0)
            j.must(set(total) == {"serialization", "propagation"} and work <= WORK_NS, f"{cc}: {entry['bytes']} bytes: {total}, {work} ns of work")
            j.must(total["propagation"] == ONE_WAY_NS, f"{cc}: ... propagation {total['propagation']} ns ({ONE_WAY_NS})")
            first = next(p["ns"] for p in entry["parts"] if p["cause"] == "serialization")
            j.must(near(first, wire * 8e9 / RATE), f"{cc}: ... at the first port {first} ns ({wire * 8e9 / RATE:.0f} for {wire} bytes)")


def behind(lab, j):
    """One packet behind a queue of known length"""
    path = scenario(lab, AHEAD * MSS, MSS, LATER_NS)
    told, _ = messages(lab, path, "--cc", "cubic", "--set", f"topology.core_rate={CORE_RATE / 1e9:.0f}gbit")
    entry = told["cubic"][1]
    # both take as long to the switch, so the first of those ahead is there LATER_NS before
    ahead = AHEAD * (MSS + HEADERS) * 8e9 / CORE_RATE - LATER_NS
    queue = {p["where"]: p["ns"] for p in entry["parts"] if p["cause"] == "queue"}
    j.must(set(queue) == {"a-b"} and near(queue["a-b"], ahead), f"in queues for {queue} ns (a-b: {ahead:.0f})")
    serial = {p["where"]: p["ns"] for p in entry["parts"] if p["cause"] == "serialization"}
    wire = (MSS + HEADERS) * 8e9
    j.must(all(near(serial[port], wire / rate) for port, rate in (("s1-a", RATE), ("a-b", CORE_RATE), ("b-r1", RATE))), f"serialization {serial} ns")
    j.must(is_whole(entry), "and nothing is left over")
    own = by_cause(told["cubic"][0])
    j.must("queue" not in own, f"a message behind its own packets only is in no queue: {own}")


def drops(lab, j):
    """Retransmissions, with two congestion controls"""
    judge_sums(lab, j, DROPS, "cubic,bolt", "retransmission", "window", "queue")


def pauses(lab, j):
    """Flows that a switch pauses"""
    for run, total in judge_sums(lab, j, PAUSES, "cubic,dctcp", "pause", "window", "queue"):
        granted = run.r["control"]["pause_ns"]
        j.must(total["pause"] <= granted, f"{run.r['cc']}: paused for {total['pause']} ns, hosts granted {granted}")


def fabric(lab, j):
    """Several switches and paths, connections shared by messages"""
    judge_sums(lab, j, FABRIC, "bolt,cubic", "queue", "serialization", "propagation")


CHECKS = {
    "explain: a lone message": lone,
    "explain: behind a queue": behind,
    "explain: drops": drops,
    "explain: pauses": pauses,
    "explain: a fabric": fabric,
}
