# SPDX-License-Identifier: GPL-2.0
"""The lab: the same twice, any congestion control and qdisc, errors in a line; what the option costs."""

import filecmp
import json
import os
import re
import subprocess
import tempfile

from lab_runs import LAB

TREE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
OPTION_BYTES = 12
GOODPUT_SLACK = 0.002               # same goodput but for the option: rounding and slow start


def option_cost(lab, j):
    """On an idle path with equal bursts, bolt differs from reno by 12 bytes a packet"""
    runs, _ = lab.run("idle-path", "--cc", "bolt,reno")
    fct = {cc: run.r["flows"][0]["fct_ns"] for cc, run in runs.items()}
    # headers without ours: 20 of IP, 20 of TCP, 12 of timestamps
    mss = 1500 - 52
    want = mss / (mss - OPTION_BYTES)
    ratio = fct["bolt"] / fct["reno"]
    j.must(abs(ratio / want - 1) <= GOODPUT_SLACK,
           f"bolt takes {ratio:.5f} of reno's time; the option alone is {want:.5f}")
    for cc, run in runs.items():
        n = run.r["flows"][0]["retransmits"]
        j.must(n == 0, f"{cc}: {n} retransmissions")


def without_wall(value):
    """result.json but for the field that may differ"""
    if isinstance(value, dict):
        return {k: without_wall(v) for k, v in value.items() if k != "wall_s"}
    if isinstance(value, list):
        return [without_wall(v) for v in value]
    return value


def same_twice(lab, j, *args, between=None):
    results = []
    for n in range(2):
        if n and between:
            between()
        _, out = lab.run(*args)
        with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
            results.append((without_wall(json.load(f)), out))
    (first, a), (second, b) = results
    texts = [json.dumps(r, indent=1) for r in (first, second)]
    j.must(texts[0] == texts[1], "result.json but for wall_s is the same")
    series = sorted(os.path.relpath(os.path.join(top, name), a)
                    for top, _, names in os.walk(a) for name in names if name.endswith(".csv"))
    _, differ, errors = filecmp.cmpfiles(a, b, series, shallow=False)
    j.must(bool(series) and not differ and not errors,
           f"{len(series)} series are the same, byte for byte {differ + errors or ''}")


def other_algorithms(lab, j):
    """Any congestion control and any qdisc of the kernel works in the lab"""
    for cc, qdisc in (("cubic", "pfifo limit 10000"), ("reno", "fq_codel"), ("bbr", "fq"),
                      ("dctcp", "red limit 1000000 min 30000 max 30001 avpkt 1500 burst 21"
                       " probability 1 ecn"), ("bolt", "pfifo limit 10000"),
                      ("cubic", "netem delay 1us 1us distribution normal limit 10000")):
        runs, _ = lab.run("flow-join", "--cc", cc, "--set", f"switch.qdisc={qdisc}")
        used = runs[cc].link("a-b").link["utilization"]
        j.must(used > 0.5, f"{cc} over {qdisc.split()[0]}: utilization {used:.1%}")


def bad_scenarios(lab, j):
    """One line on stderr that names the key and what is allowed, before anything runs"""
    cases = [
        (("flow-join", "--set", "topology.rat=1gbit"), "topology.rat"),
        (("flow-join", "--set", "topology.kind=ring"), "topology.kind"),
        (("flow-join", "--set", "topology.rate=fast"), "topology.rate"),
        (("flow-join", "--set", "topology.mtu=0"), "topology.mtu"),
        (("flow-join", "--set", "flow.0.from=nobody"), "nobody"),
        (("flow-join", "--set", "switch.qdisc=nonesuch"), "nonesuch"),
        (("flow-join", "--cc", "nonesuch"), "nonesuch"),
        (("flow-join", "--cc", "cubic,bolt", "--set", "when.bolt.switch.qdisc=sfc nonesuch"), "switch.qdisc: \"sfc nonesuch"),
        (("flow-join", "--set", "host.qdisc=fq_codel nonesuch"), "host.qdisc: \"fq_codel nonesuch"),
        (("flow-join", "--set", "host.sysctl.net.bolt.nonesuch=1"), "host.sysctl.net.bolt.nonesuch"),
        (("no-such-scenario",), "no-such-scenario"),
    ]
    for args, word in cases:
        proc = lab.run(*args, expect_failure=True)
        lines = [l for l in proc.stderr.strip().splitlines() if l]
        j.must(proc.returncode != 0 and lines and word in lines[-1] and "transfers" not in proc.stderr and
               "Traceback" not in proc.stderr, f"{' '.join(args)}: {lines[-1] if lines else '-'}")


def tutorial(_, j):
    """Every command of Documentation/tutorial.rst works, and prints the figures that the page has in bold"""
    with open(os.path.join(TREE, "Documentation", "tutorial.rst"), encoding="utf-8") as f:
        page = f.read()
    blocks = re.findall(r"(?<=::\n\n)(?:\t.*\n|\n(?=\t))+", page)
    printed = ""
    with tempfile.TemporaryDirectory() as directory:
        for block in (re.sub("^\t", "", b, flags=re.M).replace("/tmp/tutorial", directory) for b in blocks):
            if block.startswith("name = "):
                with open(os.path.join(directory, "two.toml"), "w", encoding="utf-8") as f:
                    f.write(block)
                continue
            for command in (c for c in block.splitlines() if not c.startswith("make ")):
                run = subprocess.run(command, shell=True, cwd=TREE, capture_output=True, text=True, check=False)
                printed += run.stdout
                j.must(run.returncode == 0, f"{command.replace(directory, '/tmp/tutorial')} {run.stderr[-300:] if run.returncode else ''}")
    figures = [" ".join(figure.split()) for figure in re.findall(r"\*\*(.+?)\*\*", page, re.DOTALL)]
    missing = [figure for figure in figures if figure not in printed]
    j.must(len(figures) > 10 and not missing, f"{len(figures)} figures are printed by these commands {missing or ''}")


def how_far(lab, j):
    """A run of some seconds says how far it has come; ports that carry ACKs alone leave no series"""
    out = os.path.join(lab.out, "how-far")
    proc = subprocess.run([LAB, "run", "flow-join", "--cc", "bolt", "--set", "duration=400ms", "--set", "sample=10us", "--no-plots", "--out", out],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    told = [float(t) for t in re.findall(r"^lab: flow-join: bolt: ([\d.]+) % of 400 ms, (?:about|less)", proc.stderr, re.M)]
    j.must(proc.returncode == 0 and told and told == sorted(told) and 0 < told[0] < 100, f"per cent: {told}")
    there = sorted(name for name in os.listdir(os.path.join(out, "bolt")) if name.startswith("queue-"))
    j.must(there == ["queue-a-b.csv", "queue-b-r0.csv", "queue-b-r1.csv"], f"series: {there}")
    with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
        links = {p["name"]: p for p in json.load(f)["runs"][0]["links"]}
    j.must(links["a-s0"]["queue_bytes"] is not None and links["a-s0"]["series"] is None, "what is known of the queue of ACKs is in result.json all the same")


def long_round_trip(lab, j):
    """What warms the connections up is over before the measurement begins: ten packets are one round trip's"""
    runs, _ = lab.run("idle-path", "--cc", "reno", "--set", "topology.rtt=600ms", "--set", "topology.rate=100mbit", "--set", "flow.0.bytes=14480B",
                      "--set", "duration=1s", "--set", "sample=1ms")
    slow = runs["reno"].r["flows"][0]["slowdown"]
    j.must(slow is not None and slow <= 1.001, f"600 ms: {slow} of the ideal time (at most 1.001)")


def long_message(lab, j):
    """Of more bytes than half of what 32 bits count: its last byte is acknowledged after it has arrived"""
    runs, _ = lab.run("idle-path", "--cc", "bolt", "--set", "flow.0.bytes=3GB", "--set", "topology.mtu=9000", "--set", "duration=300ms", "--set", "sample=10us")
    flow = runs["bolt"].r["flows"][0]
    j.must(None not in (flow["end_ns"], flow["end_ack_ns"]) and flow["end_ack_ns"] > flow["end_ns"], f"arrived at {flow['end_ns']}, acknowledged at {flow['end_ack_ns']} ns")


def counted_once(lab, j):
    """Of messages that wait for each other on one connection every retransmission is counted once"""
    sets = ("topology.hosts=2", "incast.degree=8", "incast.connections=1", "fault.0.link=h1-sw", "fault.0.at=0us", "fault.0.do=loss", "fault.0.share=1")
    runs, _ = lab.run("incast", "--cc", "cubic", *(arg for one in sets for arg in ("--set", one)))
    lost, resent = runs["cubic"].r["faults"][0]["packets"], [f["retransmits"] for f in runs["cubic"].r["flows"]]
    j.must(len(resent) == 8 and sum(resent) == lost > 0, f"{lost} packets are lost, retransmits of the messages: {resent}")


CHECKS = {
    "tutorial": tutorial,
    "a long round trip": long_round_trip,
    "a message of 3 GB": long_message,
    "retransmissions are counted once": counted_once,
    "what the option costs": option_cost,
    "flow-join is the same twice": lambda lab, j: same_twice(lab, j, "flow-join", "--cc", "bolt"),
    "incast is the same twice": lambda lab, j: same_twice(lab, j, "incast", "--cc", "bolt"),
    "cubic is the same twice": lambda lab, j: same_twice(lab, j, "flow-join", "--cc", "cubic"),
    "how far a run has come": how_far,
    "other algorithms and qdiscs": other_algorithms,
    "bad scenarios": bad_scenarios,
}
