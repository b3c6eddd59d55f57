# SPDX-License-Identifier: GPL-2.0
"""The kernels of the lab: the same packets at the same time, whichever it is."""

import itertools

from lab_runs import host_sysctl

KERNELS = ("6.1", "6.12", "7.3")
# Without what the kernel draws at random: a window of whole packets.  Each kernel has other random numbers
WHOLE_PACKETS = host_sysctl({"net.bolt.debug.paper": 1})


def same_everywhere(lab, j):
    """An incast of 64 to the nanosecond: TCP, cubic, bolt and sfc, on each kernel"""
    traces = {}
    for kernel in KERNELS:
        runs, _ = lab.run("incast", "--kernel", kernel, "--cc", "bolt,cubic", *WHOLE_PACKETS)
        traces[kernel] = {cc: run.r["trace_hash"] for cc, run in runs.items()}
    for a, b in itertools.pairwise(KERNELS):
        for cc, trace in traces[a].items():
            j.must(trace == traces[b][cc], f"{cc}: the packets of {a} are those of {b}, each at its time")


CHECKS = {"the same on every kernel": same_everywhere}
