# SPDX-License-Identifier: GPL-2.0
"""What tells the backends apart before anything runs: options, time, how much they carry.

Only with uml is time free of work. Elsewhere a packet takes what a CPU takes for it, and a scenario of 100 Gb/s
is slowed down until what its hosts receive is within reach.
"""

import math

from . import schema, topology, traffic, units
from .build import RunError

NAMES = ("uml", "qemu", "native")
KERNELS = ("6.1", "6.12", "7.3")       # of uml and qemu
KERNEL = "6.12"
SLOWEST = 10**4
LONGEST_NS = 1800 * 10**9       # of real time
# packets a second from end to end, with room: an emulated CPU needs some 10 000 instructions for one
CARRIES = {("qemu", "virtual"): 20_000, ("qemu", "real"): 2_000, ("native", "real"): 100_000}


def check(backend, kernel, cpus, jobs, slow, own=()):
    """Options that do not go together."""
    if own and backend != "uml":
        raise RunError(f"--module {own[0]}: --backend {backend} loads only the modules of this tree; use --backend uml")
    if slow is not None and not 1 <= slow <= SLOWEST:
        raise RunError(f"--slow must be from 1 to {SLOWEST}")
    if jobs < 1:
        raise RunError("--jobs must be 1 or more")
    if cpus is not None and backend != "qemu":
        raise RunError(f"--cpus belongs to --backend qemu, not {backend}")
    if cpus is not None and not 1 <= cpus <= 16:
        raise RunError("--cpus must be from 1 to 16")
    if backend == "native" and kernel is not None:
        raise RunError(f"--kernel {kernel}: --backend native runs this machine's kernel")
    if backend == "native" and jobs > 1:
        raise RunError(f"--jobs {jobs}: --backend native has one run at a time")


def clock(backend, cpus):
    return "real" if backend == "native" or (cpus or 1) > 1 else "virtual"


def packets(s):
    """A second, when all hosts that send or all that receive are at the rate of their links."""
    net = topology.build(s, s.file.name)
    pairs = traffic.build(s, net, s.file.name).pairs
    ends = ({p.src for p in pairs}, {p.dst for p in pairs})
    return min(sum(net.ports[host][0].rate for host in hosts) for hosts in ends) / (8 * s.topology.mtu)


def slow_down(scenarios, backend, cpus, slow):
    """Slows the scenarios down in place, by `slow` or as far as the backend needs; returns how far."""
    if backend == "uml":
        factor = slow or 1
    elif any(s.program for s in scenarios):
        raise RunError(f"{scenarios[0].file.name}: program: --backend {backend} runs no programs; use --backend uml")
    else:
        factor = _feasible(scenarios, backend, cpus, slow)
    if factor != 1:
        for s in scenarios:
            schema.slow_down(s, factor, s.file.name)
    if clock(backend, cpus) == "real":
        for s in scenarios:
            if s.duration > LONGEST_NS:
                raise RunError(f"{s.file.name}: duration: --backend {backend} would take {units.format_time(s.duration)} of real time, "
                               f"{units.format_time(LONGEST_NS)} is the most: --set duration={LONGEST_NS // factor // 10**6}ms")
    return factor


def _feasible(scenarios, backend, cpus, slow):
    most = CARRIES[backend, clock(backend, cpus)]
    wanted = max(packets(s) for s in scenarios)
    if slow is None:
        slow = 10 ** max(0, math.ceil(math.log10(wanted / most)))
    if slow > SLOWEST or wanted / slow > most:
        rate = scenarios[0].topology.rate * most / wanted * SLOWEST
        need = f"--slow {math.ceil(wanted / most)}" if wanted / most <= SLOWEST else f"--set topology.rate={int(rate // 10**6)}mbit"
        raise RunError(f"{scenarios[0].file.name}: {wanted / min(slow, SLOWEST):.3g} packets a second are more than --backend {backend} "
                       f"carries, {most}: {need}")
    return slow
