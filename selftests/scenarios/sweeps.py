# SPDX-License-Identifier: GPL-2.0
"""lab sweep: every combination once, the tables of all of them, and nothing twice."""

import csv
import os
import subprocess

from lab_runs import LAB, Failed

SCENARIO = """
name = "tiny"
duration = "100us"
sample = "1us"
[topology]
kind = "star"
hosts = 3
[incast]
degree = 2
bytes = "15KB"
to = "h0"
sync = "20us"
"""


def sweep(scenario, out, *args):
    argv = [LAB, "sweep", scenario, "--cc", "bolt", "--out", out, "--jobs", "1", *args]
    proc = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if proc.returncode:
        raise Failed(f"lab sweep: {(proc.stderr.strip().splitlines() or ['nothing said'])[-1]}")
    with open(os.path.join(out, "results.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    return {row["case"]: row for row in rows}


def when(out, cases):
    return {case: os.stat(os.path.join(out, "cases", case, "result.json")).st_mtime_ns for case in cases}


def nothing_twice(lab, j):
    """Two values by two seeds; one that is lost is run again, a third value is run for the first time, the others are left"""
    scenario, out = os.path.join(lab.out, "tiny.toml"), os.path.join(lab.out, "sweep")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(SCENARIO)
    first = sweep(scenario, out, "--set", "incast.bytes=15KB,60KB", "--seeds", "2")
    groups = [(row["incast.bytes"], row["seed"]) for row in first.values()]
    j.must(groups == [("15KB", "1"), ("15KB", "2"), ("60KB", "1"), ("60KB", "2")], f"cases: {groups}")
    small, large = (sum(float(r["fct_max_ns"]) for r in first.values() if r["incast.bytes"] == b) for b in ("15KB", "60KB"))
    j.must(0 < small < large, f"four times the bytes take longer: {small / 2000:.1f} us, {large / 2000:.1f} us")
    with open(os.path.join(out, "summary.csv"), encoding="utf-8", newline="") as f:
        spread = {(r["incast.bytes"], r["figure"]): r for r in csv.DictReader(f)}
    mean = float(spread["15KB", "fct_max_ns"]["mean"])
    j.must(abs(mean - small / 2) < 1 and spread["15KB", "fct_max_ns"]["seeds"] == "2", f"mean of two seeds {mean}")

    before = when(out, first)
    lost = list(first)[1]
    os.unlink(os.path.join(out, "cases", lost, "result.json"))
    again = sweep(scenario, out, "--set", "incast.bytes=15KB,60KB,30KB", "--seeds", "2")
    after = when(out, again)
    ran = {case for case in again if after[case] != before.get(case)}
    new = set(again) - set(first)
    j.must(ran == new | {lost} and len(new) == 2, f"run again: {len(ran)}, of which {len(new)} are new")
    j.must(all(again[case] == first[case] for case in first), "the same numbers of the same cases")


CHECKS = {
    "a sweep runs nothing twice": nothing_twice,
}
