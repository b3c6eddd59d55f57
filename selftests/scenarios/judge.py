# SPDX-License-Identifier: GPL-2.0
"""What a check has measured, held against its goals.

A goal that is missed, or so nearly that other random numbers may miss it, stands in KNOWN of its
check's module: by check, the goal and the worst value that is accepted, so that it cannot get worse
unnoticed.  Documentation/results.rst says which mechanism is responsible.
"""


# Each check notes what it measured; a miss is collected, not raised, so that all are seen.
class Judge:
    def __init__(self, known=None):
        self.missed = []
        self.met = set()
        self.asked = set()  # keys of goals
        self.excused = []   # their keys in KNOWN
        self.said = []      # (verdict, text): all of it, for --json
        self.samples = {}   # by goal: one entry a run
        self.known = known or {}

    def note(self, text, verdict=""):
        self.said.append((verdict, text))
        print(f"    # {verdict + ': ' if verdict.isupper() else ''}{text}", flush=True)

    def must(self, ok, text):
        self.note(text, "met" if ok else "MISSED")
        if not ok:
            self.missed.append(text)

    def sane(self, ok, text):
        """As must(), of what a run needs to be judged at all: no goal, and not counted as one"""
        if ok:
            self.note(text)
        else:
            self.must(False, text)

    def sample(self, key, value, limit, text, least=False):
        """One run's value of a goal; judge_medians() or judge_means() holds that of all against it."""
        self.note(text, "sample")
        self.samples.setdefault(key, []).append((value, limit, text, least))

    def judge_medians(self):
        for key, samples in self.samples.items():
            value, limit, text, least = sorted(samples)[len(samples) // 2]
            self.goal(key, value, limit, f"median of {len(samples)} runs: {text}", least)
        self.samples = {}

    def judge_means(self):
        """For what differs from seed to seed and has no outliers: the mean of n runs varies by 1 / sqrt(n) of what one does."""
        for key, samples in self.samples.items():
            values = [value for value, *_ in samples]
            mean, (_, limit, _, least) = sum(values) / len(values), samples[0]
            self.goal(key, mean, limit, f"{key}: mean of {len(values)} runs {mean:.4g} ({min(values):.4g} to {max(values):.4g};"
                      f" at {'least' if least else 'most'} {limit:.4g})", least)
        self.samples = {}

    def goal(self, key, value, limit, text, least=False):
        """As must(), for a goal that KNOWN may name: then only its bound is asserted."""
        def meets(bound):
            return value >= bound if least else value <= bound

        self.asked.add(key)
        if not meets(limit) and key in self.known and meets(self.known[key]):
            self.note(text, "KNOWN MISS")
            self.excused.append(key)
        else:
            if meets(limit):
                self.met.add(key)
            self.must(meets(limit), text)

    def end(self):
        """Of a check that has come to its end: what it could not have missed"""
        if not any(verdict for verdict, _ in self.said):
            self.must(False, "nothing was judged")
        for key in self.samples:
            self.must(False, f"samples of {key} were not judged")
        for key in sorted(self.known.keys() - self.asked):
            self.must(False, f"KNOWN has {key}, which is no goal of this")
