# SPDX-License-Identifier: GPL-2.0
"""Notices that virtual time stands still because a program neither waits nor ends, and ends that program; or the run, where it is the kernel.

The guest cannot: its clock stands, so nothing in it would run. From outside, its virtual time is a variable of the kernel's
process, and the program a process of this machine that the kernel traces: the one that takes the CPU. A signal that
the kernel takes for a fault of the program ends it inside, and the others go on.

A loaded machine is slow, so what counts is the processor time that the guest has used while its virtual time stood still.
"""

import os
import re
import signal
import struct
import threading
import time
from pathlib import Path

from . import cpu, programs, units
from .build import progress

LOOK_S = 0.5
CLOCK_S = 0.02              # as exact as the start of a process is known
SHARE = 0.15                # of the CPU, of a program that does nothing but call the kernel
TELL_S = 10                 # how often progress is told
MARK = re.compile(rb"\0%s=(\d+)\0" % programs.MARK.encode())
BLIND = 10                  # looks in a row that showed nothing are worth a word
CROWD = 200                 # so many processes are worth a look
LARGEST = 2**20             # of a piece of memory that is searched
STILL_NS = 1000             # less than this is no progress: a clock that is read moves by 1 ns
LATE_NS = 10 * 10**6        # after its end, for a kernel that reads the clock instead of ending


def symbol(kdir, name):
    for line in (kdir / "System.map").read_text().splitlines():
        address, _, found = line.split()[:3]
        if found == name:
            return int(address, 16)
    raise LookupError(name)


def virtual_time(kernel, address):
    """Of the kernel's process, in ns since it was booted."""
    with open(f"/proc/{kernel}/mem", "rb") as memory:
        memory.seek(address)
        return struct.unpack("=Q", memory.read(8))[0]


def process(pid):
    """(parent, CPU time in ticks, start in seconds since boot)"""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[19]) / os.sysconf("SC_CLK_TCK")


def processes():
    """{pid: the same} of this machine."""
    result = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                result[int(entry)] = process(entry)
            except OSError:
                continue
    return result


def program_of(pid):
    """The number of the program that a process of the lab's kernel belongs to, by the mark in its memory; None where it has none."""
    try:
        shared = [line.split()[0] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if line.split()[1].endswith("s")]
        with open(f"/proc/{pid}/mem", "rb") as memory:
            for begin, end in (map(lambda v: int(v, 16), one.split("-")) for one in reversed(shared)):     # the stack first
                try:
                    memory.seek(begin)
                    found = MARK.search(memory.read(min(end - begin, LARGEST)))
                except OSError:
                    continue            # not of memory
                if found:
                    return int(found[1])
    except OSError:
        pass
    return None


def kernel_of(starter, kdir):
    """The kernel's process, below the one that was started."""
    there = processes()
    for pid, (parent, _, _) in there.items():
        try:
            if parent == starter and os.path.samefile(f"/proc/{pid}/exe", kdir / "linux"):
                return pid
        except OSError:
            continue
    return None


def lasting(s):
    """So long, as one says it."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if s >= 2 * length:
            return f"{s / length:.0f} {unit}"
    return f"{s:.0f} s"


class Onlooker:
    """A thread that looks on while in its context: `starter` runs a kernel of `kdir`, whose guest marks in the directory `raw`
    when its load begins and ends."""

    def __init__(self, starter, kdir, raw):
        self.starter, self.kdir, self.raw = starter, kdir, raw
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _look_on(self):
        looks, blind, wait_s = None, 0, LOOK_S
        while not self.over.wait(wait_s):
            try:
                looks = looks or self._looks(symbol(self.kdir, "time_travel_time"))
                wait_s, blind = next(looks), 0
            except StopIteration:
                return
            except (OSError, LookupError, ValueError, struct.error) as e:
                # a process is replaced by exec() or ends while it is looked at: begin again
                looks, blind, wait_s = None, blind + 1, LOOK_S
                if blind == BLIND and Path(f"/proc/{self.starter}").exists():
                    self._blind(e)

    def _looks(self, address):
        """Looks once, yields the seconds until the next look, and so on; `address` is that of virtual time."""
        raise NotImplementedError

    def _blind(self, why):
        """Looks fail one after the other, while the run goes on: a run can do without."""


class Kernel(Onlooker):
    """Ends a run without programs whose kernel never does: `why` says so then."""

    def __init__(self, s, own, *where):
        super().__init__(*where)
        self.s, self.own, self.why = s, own, None

    def _looks(self, address):
        begin, kernel, seen, spent = self.raw / "wall.begin", None, None, 0
        while not self.why:
            kernel = kernel or kernel_of(self.starter, self.kdir)
            start = begin.read_text() if kernel and begin.exists() else ""
            if start:
                now, cpu_s = virtual_time(kernel, address), process(kernel)[1] / os.sysconf("SC_CLK_TCK")
                if (self.raw / "wall.end").exists():
                    return
                if seen is None or now - seen >= STILL_NS:
                    seen, spent = now, cpu_s
                self.why = self._wrong(now - int(start), cpu_s - spent)
                if self.why:
                    os.kill(self.starter, signal.SIGTERM)
            yield LOOK_S

    def _wrong(self, at, cpu_s):
        if at > self.s.duration + self.s.drain + LATE_NS:
            what = f"it is {units.format_time(at)}, and the run should have ended"
        elif cpu_s >= self.s.patience / 1e9:
            what = f"virtual time stands at {units.format_time(at)}"
        else:
            return None
        suspects = f", perhaps {' or '.join(f'{name}.ko' for name in self.own)}" if self.own else ""
        return f"{what}: the kernel itself computes, and does not end{suspects} (console.log)"


class Watch(Onlooker):
    """After `patience` of processor time in a standstill one program of the scenario `s`, which has their names, is ended."""

    def __init__(self, s, *where):
        super().__init__(*where)
        self.s, self.patience_s = s, s.patience / 1e9

    def _blind(self, why):
        progress(f"cannot see whether programs keep time from passing: {why}")

    def _looks(self, address):
        seen, spent = None, {}
        told, told_at, told_spent, loaded = None, time.monotonic(), {}, False
        while True:
            kernel = kernel_of(self.starter, self.kdir)
            if kernel is None:
                yield LOOK_S
                continue
            now = virtual_time(kernel, address)
            if told is None or not loaded and self._loaded():
                told, told_at, told_spent, loaded = now, time.monotonic(), self._snapshot(kernel), self._loaded()
            if time.monotonic() - told_at >= TELL_S:
                self._tell(now - told, time.monotonic() - told_at, *self._reason(kernel, told_spent))
                told, told_at, told_spent = now, time.monotonic(), self._snapshot(kernel)
            if self._stands():
                seen = None         # patience begins when it goes on
            elif seen is None or now - seen >= STILL_NS:
                seen, spent = now, self._snapshot(kernel)
            else:
                there = self._snapshot(kernel)
                if sum(ticks - spent.get(pid, 0) for pid, ticks in there.items()) >= self.patience_s * os.sysconf("SC_CLK_TCK"):
                    if self._end_one(kernel, spent):
                        seen = None
                    else:
                        spent = there
            yield LOOK_S

    def _stands(self):
        """Is time to stand still?"""
        return False

    def _loaded(self):
        """When the load began, in seconds since boot; None before, and when it is over."""
        begin, end = self.raw / "wall.begin", self.raw / "wall.end"
        if not begin.exists() or end.exists():
            return None
        return begin.stat().st_mtime - time.time() + time.clock_gettime(time.CLOCK_BOOTTIME)

    def _spent(self, kernel):
        """{pid: CPU time} of what was started since: programs, and neither init nor labguest."""
        began = self._loaded()
        return {} if began is None else {pid: cpu for pid, (parent, cpu, start) in processes().items()
                                         if parent == kernel and start > began - CLOCK_S}

    def _snapshot(self, kernel):
        return self._spent(kernel) | {kernel: processes()[kernel][1]}

    def _busiest(self, kernel, before):
        """The process that computes; None where nobody has a share that is worth it: several came one after the other."""
        spent = {pid: cpu - before.get(pid, 0) for pid, cpu in self._spent(kernel).items()}
        busiest = max(spent, key=spent.get, default=None)
        own = processes()[kernel][1] - before.get(kernel, 0)
        return None if busiest is None or spent[busiest] < SHARE * (own + sum(spent.values())) else busiest

    def _shown(self, i):
        return "a program" if i is None else programs.shown(i, self.s.program[i])

    def _reason(self, kernel, before):
        """(the number of the program that keeps time from passing, what it does), of a process that computes or of a crowd of them; (None, None) where none does."""
        busiest = self._busiest(kernel, before)
        if busiest is not None:
            i = program_of(busiest)
            charged = i is not None and cpu.of(self.s, self.s.program[i])
            return i, "computes or polls instead of waiting: let it sleep or block" + (", or raise --cpu-cost" if charged else ", or see --cpu-cost")
        there = list(self._spent(kernel))
        if len(there) < CROWD:
            return None, None
        known = [i for i in map(program_of, there[::len(there) // CROWD]) if i is not None] or [None]
        most = max(known, key=known.count)
        return most, f"has about {len(there) * known.count(most) // len(known)} processes: let it start fewer"

    def _tell(self, virtual_ns, wall_s, i, does):
        if not does:
            return              # estimate.py says how far it has come
        whole = f"{units.format_time(self.s.duration)} would take {lasting(self.s.duration * wall_s / virtual_ns)}" if virtual_ns else "time stands still"
        progress(f"{self.s.directory}: {units.format_time(virtual_ns)} of virtual time in the last {wall_s:.0f} s; {whole}, as {self._shown(i)} {does}")

    def _end_one(self, kernel, before):
        busiest = self._busiest(kernel, before)
        if busiest is None:
            return False
        i = program_of(busiest)
        if i is not None:
            with open(self.raw / programs.ENDED, "a") as f:
                print(i, file=f)
        os.kill(busiest, programs.STUCK)
        return True
