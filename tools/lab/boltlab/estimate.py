# SPDX-License-Identifier: GPL-2.0
"""Says how far a run has come, and about how long it still takes, where that is more than two seconds.

From outside, as stall.py looks: the guest's virtual time is a variable of its kernel, and when its measured time begins is in the
file that marks the begin of its load.
"""

import time

from . import stall, units
from .build import progress

FIRST_S = 2                 # of the load
NEXT_S = 5, 10              # then after so long, and each time after the last of these
SHARE = 0.005               # less than this is too little to tell from


def left(s):
    return "less than a second" if s < 1 else f"about {stall.lasting(s)}"


def said(done_ns, duration_ns, wall_s):
    """`done_ns` of virtual time took so long."""
    share = done_ns / duration_ns
    whole = units.format_time(duration_ns)
    if share >= 1:
        return f"all of {whole}; what was sent is waited for, or read out"
    part = f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
    return f"{part} of {whole}" + (f", {left(wall_s * (1 - share) / share)} left" if share >= SHARE else "")


class Progress(stall.Onlooker):
    """`who` is what the run is called."""

    def __init__(self, who, duration_ns, *where):
        super().__init__(*where)
        self.who, self.duration_ns, self.done = who, duration_ns, 0

    def _looks(self, address):
        begin, waits = self.raw / "wall.begin", list(NEXT_S)
        while not begin.exists():
            yield stall.LOOK_S
        yield FIRST_S
        while not (self.raw / "wall.end").exists():
            self._tell(address, begin)
            yield waits.pop(0) if len(waits) > 1 else waits[0]

    def _tell(self, address, begin):
        kernel = stall.kernel_of(self.starter, self.kdir)
        if kernel is None:
            return
        done = stall.virtual_time(kernel, address) - int(begin.read_text())
        wall = time.time() - begin.stat().st_mtime
        if done - self.done < stall.STILL_NS and self.done:
            progress(f"{self.who}: virtual time stands at {units.format_time(done)} of {units.format_time(self.duration_ns)}")
        elif done > 0:
            progress(f"{self.who}: {said(done, self.duration_ns, wall)}")
        self.done = done
