# SPDX-License-Identifier: GPL-2.0
"""Runs of the lab, and what can be read from them."""

import csv
import json
import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
LAB = os.path.join(HERE, "..", "..", "tools", "lab", "lab")

RTT_NS = 8000                       # the case that the numbers below are for
RATE_BPS = 100e9
BDP = RATE_BPS * RTT_NS / 8e9       # 100 KB
PACKET = 1514                       # as the qdisc counts one of MTU 1500
STEADY_UTILIZATION = 0.99
LEAVE_SPAN_RTT = 400e3 / RTT_NS     # of 400 us ...
FULL = 0.99                         # a window of one RTT that counts as full

# With 64 senders and a core of 6.4 Tb/s something happens every other ns, and an event may come one late: the guest
# takes 1 ns for a system call that fails (EAGAIN).  A packet lasts 121 ns on the congested link
LATE_NS = 1


class Failed(Exception):
    """A number is missed; the text says by how much."""


class Run:
    """One congestion control's part of a result.json, with its series."""

    def __init__(self, directory, result):
        self.dir = directory
        self.r = result
        self.rtt = result["base_rtt_ns"]

    def link(self, name):
        return Port(self, next(l for l in self.r["links"] if l["name"] == name))

    def drops(self):
        return sum(l["drops"] for l in self.r["links"])

    def qdiscs(self, node):
        """What tc says of a switch; the run needs --keep-raw"""
        with open(os.path.join(self.dir, self.r["cc"], "raw", f"tc-{node}.json"),
                  encoding="utf-8") as f:
            return [q for q in json.load(f) if q.get("root")]

    def bands(self, node, dev):
        """Likewise of each band of a port: {name: value}"""
        with open(os.path.join(self.dir, self.r["cc"], "raw", f"class-{node}-{dev}.txt"),
                  encoding="utf-8") as f:
            return [{name: int(value) for name, value in re.findall(r"(\w+) (-?\d+)\b", band)}
                    for band in f.read().split("class sfc")[1:]]

    def flow_series(self, index):
        flow = self.r["flows"][index]
        return read_series(os.path.join(self.dir, flow["series"]))


def percentile(values, p):
    """By nearest rank"""
    return sorted(values)[max(0, -(-p * len(values) // 100) - 1)]


def read_series(path):
    with open(path, encoding="ascii", newline="") as f:
        rows = csv.reader(f)
        head = next(rows)
        columns = list(zip(*([float(x or 0) for x in row] for row in rows)))
    return dict(zip(head, columns))


class Port:
    """A link's queue and bytes over time."""

    def __init__(self, run, link):
        self.rate = link["rate_bps"]
        self.link = link
        series = read_series(os.path.join(run.dir, link["series"]))
        self.t = series["time_ns"]
        self.q = series["queue_bytes"]
        self.tx = series["tx_bytes"]
        self.step = self.t[1] - self.t[0]

    def index(self, t):
        return max(0, min(len(self.t) - 1, round((t - self.t[0]) / self.step)))

    def between(self, start, end):
        return range(self.index(start), self.index(end) + 1)

    def utilization(self, start, end):
        i, j = self.index(start), self.index(end)
        return (self.tx[j] - self.tx[i]) * 8e9 / self.rate / (self.t[j] - self.t[i])

    def lost_ns(self, start, end):
        return (end - start) * (1 - self.utilization(start, end))

    def windows(self, start, end, length):
        """(start, utilization) of each window of that length that lies within."""
        n = round(length / self.step)
        for i in range(self.index(start), self.index(end) - n + 1):
            yield (self.t[i],
                   (self.tx[i + n] - self.tx[i]) * 8e9 / self.rate / (self.t[i + n] - self.t[i]))

    def percentile(self, start, end, p):
        values = sorted(self.q[i] for i in self.between(start, end))
        return values[min(len(values) - 1, int(p * len(values)))]


class Lab:
    def __init__(self, out):
        os.makedirs(out, exist_ok=True)
        self.out = tempfile.mkdtemp(dir=out, prefix="")     # the same --out may have been given before
        self.n = 0
        self.judge = None
        self.runs = []      # their directories

    def run(self, scenario, *args, expect_failure=False, late_ns=LATE_NS):
        """Run a scenario; return its runs by congestion control, and the directory."""
        self.n += 1
        out = os.path.join(self.out, f"{self.n:02}-{os.path.basename(scenario)}")
        self.runs.append(out)
        argv = [LAB, "run", scenario, "--no-plots", "--out", out, *args]
        proc = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        if expect_failure:
            return proc
        if proc.returncode:
            last = (proc.stderr.strip().splitlines() or ["nothing said"])[-1]
            raise Failed(f"lab run {scenario} {' '.join(args)}: {last}")
        with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
            result = json.load(f)
        runs = {r["cc"]: Run(out, r) for r in result["runs"]}
        for cc, run in runs.items():
            # events on time and nothing lost by the machine that plays all hosts, or the
            # numbers mean nothing
            for name, most in (("max_lateness_ns", late_ns), ("softnet_drops", 0)):
                if run.r[name] > most:
                    self.judge.must(False, f"{scenario} {cc}: {name} is {run.r[name]}, not {most}")
        return runs, out


def us(ns):
    return f"{ns / 1000:.1f} us"


def last_byte(run, index):
    """When the last byte of a flow left the link a-b of a dumbbell: links share the delay, and b
    forwards a packet when all of it is there.
    """
    packet_ns = PACKET * 8e9 / run.link("b-r0").rate
    return run.r["flows"][index]["end_ns"] - run.rtt / 3 - packet_ns


def host_sysctl(values):
    return "--set", "host.sysctl={" + ",".join(f'"{k}"={v}' for k, v in values.items()) + "}"


def jain(shares):
    total = sum(shares)
    return total * total / (len(shares) * sum(x * x for x in shares)) if total else 0


def acked_from(series, start, end):
    """Bytes that were acknowledged between the samples next to these, and the ns between them"""
    t = series["time_ns"]
    a, b = (max(0, min(len(t) - 1, round((x - t[0]) / (t[1] - t[0])))) for x in (start, end))
    return series["acked_bytes"][b] - series["acked_bytes"][a], t[b] - t[a]


def acked_between(series, start, end):
    return acked_from(series, start, end)[0]


def rate(series, start, end):
    """Bits a second that were acknowledged"""
    got, ns = acked_from(series, start, end)
    return got * 8e9 / ns
