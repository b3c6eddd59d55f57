# SPDX-License-Identifier: GPL-2.0
"""lab sweep: one `lab run` for each combination of settings, congestion control and seed, as a Snakemake workflow.

What is to be run is decided here and written down; which of it runs when and where is left to Snakemake.  A case is
named after all that its result depends on, so a result that is there is the right one: the same sweep again runs what is
missing, a larger one what is new, and an edit of the scenario or of a source all that it changes.
"""

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

from . import ask, backends, build, modules, programs, schema, tables, traffic
from .build import RunError, progress
from .guest import GONE_WITH_US
from .output import Output

LAB = build.LAB / "lab"
PLAN, WORKFLOW, LOG = "sweep.json", "Snakefile", "snakemake.log"
CASES, LOGS = tables.DIRECTORIES, "logs"
KEYS = ("scenario", "cc", "seeds", "set")
LOOK_S, TELL_S = 0.5, 10    # cases are counted, and told of, so often
TOLD = 10                   # failures, one line each

SNAKEFILE = '''\
# Written by `lab sweep`, which writes it again. What each case is, and its command, is in sweep.json.
import json

with open("sweep.json") as f:
    CASES = {case["name"]: case for case in json.load(f)["cases"]}


rule all:
    input:
        expand("cases/{case}/result.json", case=CASES),


rule case:
    output:
        "cases/{case}/result.json",
    log:
        "logs/{case}.log",
    params:
        command=lambda wildcards: CASES[wildcards.case]["command"],
    shell:
        "{params.command} >{log} 2>&1"
'''


@dataclasses.dataclass
class Sweep:
    """`sets`: {key: [value, as --set has it]}."""
    scenario: Path
    cc: list
    seeds: list
    sets: dict
    where: str = "lab sweep"
    parted: tuple = ()      # keys whose values --set has separated at commas, one of which has a blank


def split(text):
    """At commas, but for those in quotes, brackets and braces."""
    parts, depth, quote = [""], 0, None
    for c in text:
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += c
    return parts


def add(sets, key, values, name):
    """`name`: how a user calls the key."""
    if not values or not all(v.strip() for v in values):
        raise RunError(f"{name}: a value is missing")
    if len(set(values)) != len(values):
        raise RunError(f"{name}: names {next(v for v in values if values.count(v) > 1)} twice")
    sets[key] = values


def of_options(options):
    sets = {}
    for option in options:
        key, equals, values = option.partition("=")
        if not equals or not key.strip():
            raise RunError(f"--set {option}: is not KEY.PATH=VALUE[,VALUE...]")
        if key in sets:
            raise RunError(f"--set {key}: is given twice; its values are joined by commas")
        add(sets, key, split(values), f"--set {key}")
    return sets


def as_set(value):
    """A value of TOML as --set takes it: a string that reads as something else in quotes."""
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        tomllib.loads(f"x = {value}")
    except ValueError:      # not TOML, or a number of more digits than Python reads
        return value
    return json.dumps(value)


def whole_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def of_file(path, data, find):
    """The sweep that a TOML file describes; None where it is a scenario."""
    if "scenario" not in data:
        return None
    where = path.name
    for key in data:
        if key not in KEYS:
            raise RunError(f"{where}: {key}: is unknown; a sweep has {', '.join(KEYS)}")
    if not isinstance(data["scenario"], str):
        raise RunError(f"{where}: scenario: is not a string")
    beside = path.parent / data["scenario"]
    scenario = beside if beside.is_file() else find(data["scenario"])
    cc = data.get("cc")
    if cc is not None and (not isinstance(cc, list) or not cc or not all(isinstance(c, str) for c in cc)):
        raise RunError(f"{where}: cc: is not a list of names, such as [\"bolt\", \"cubic\"]")
    seeds = data.get("seeds")
    if whole_number(seeds) and 0 < seeds <= schema.MOST_SEEDS:
        seeds = list(range(1, seeds + 1))
    if seeds is not None and (not isinstance(seeds, list) or not seeds or len(set(map(str, seeds))) != len(seeds) or
                              not all(whole_number(v) and 0 <= v <= schema.LAST_SEED for v in seeds)):
        raise RunError(f"{where}: seeds: is neither a number of seeds, from 1 to {schema.MOST_SEEDS}, nor a list of different seeds, from 0 to {schema.LAST_SEED}")
    table, sets = data.get("set", {}), {}
    if not isinstance(table, dict):
        raise RunError(f"{where}: set: is not a table of \"KEY.PATH\" = [values]")
    for key, values in schema.flat(table):
        try:
            words = [as_set(v) for v in (values if isinstance(values, list) else [values])]
        except TypeError:
            raise RunError(f"{where}: set.{key}: has a date or a time of day, which no key takes") from None
        add(sets, key, words, f"{where}: set.{key}")
    return Sweep(scenario, cc, seeds, sets, where)


def described(path, cc, sets, seeds, find):
    """What the command says; it has the last word over a file that describes a sweep."""
    found = None
    if path.suffix == ".toml" and path.is_file():
        found = of_file(path, schema.parse_toml(path, schema.read(path)), find)
    found = found or Sweep(path, None, None, {})
    found.cc, found.seeds = cc or found.cc, list(seeds) or found.seeds
    given = of_options(sets)
    found.sets |= given
    for key, names, there in (("cc", "cc", found.cc), ("seed", "seeds", found.seeds)):
        if there and key in found.sets:
            raise RunError(f"{found.where}: {names} and set.{key} set the same")
    found.parted = tuple(key for key, values in given.items() if len(values) > 1 and any(" " in v for v in values))
    return found


@contextlib.contextmanager
def told_of_commas(sweep):
    """Around what refuses values: one may be the half of what has a comma."""
    try:
        yield
    except schema.ScenarioError as e:
        for key in sweep.parted:
            if f" {key}: " in str(e):
                raise schema.ScenarioError(f"{e} (commas separate the values of --set {key}; put one that has a comma in quotes: --set '{key}=\"...\"')") from None
        raise


# ---- cases ----

@functools.cache
def digest(path, size, changed):
    """Of a file that has this size and was changed then."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def digest_of(path):
    """None of what is no file, cannot be read, or is another one in a guest."""
    try:
        if not path.is_file() or build.hidden(path):
            return None
        known = path.stat()
        return digest(path, known.st_size, known.st_mtime_ns)
    except (OSError, ValueError):
        return None


def contents(s):
    """Hashes of the files that a scenario names, words of a program's command among them."""
    named = [v for table in (s.workload, s.incast) if table for v in (getattr(table, "cdf", None), table.trace) if v]
    files = [programs.beside(s, v) for v in (*named, *(p.stdin for p in s.program if p.stdin))]
    files += [programs.directory(s, p) / word for p in s.program for word in p.command]
    return [found for f in files if (found := digest_of(f))]


@functools.cache
def lab_itself():
    """A hash of what generates the arrivals and computes the figures, and of the workloads that come with it."""
    here = Path(__file__).resolve().parent
    files = sorted([*here.glob("*.py"), *traffic.WORKLOADS.glob("*.cdf")])
    return hashlib.sha256(b"\0".join(f.read_bytes() for f in files)).hexdigest()


def identity(s, cc, seed, built):
    """The name of a case: equal for equal results, whatever the file is called or how a value is written."""
    what = dataclasses.asdict(s) | {"seed": seed, "cc": cc, "name": None, "about": None}
    whole = json.dumps([what, contents(s), lab_itself(), built.kdir.name, built.sources, built.own], sort_keys=True, default=str)
    return f"{cc}-{seed}-{hashlib.sha256(whole.encode()).hexdigest()[:12]}"


def combinations(sets):
    """[{key: value}], the last key fastest."""
    return [dict(zip(sets, values)) for values in itertools.product(*sets.values())]


def scenarios_of(sweep):
    """[({key: value}, cc, Scenario)]: every combination is checked before anything runs."""
    return [(chosen, cc, s) for chosen in combinations(sweep.sets)
            for cc, s in schema.load(sweep.scenario, sweep.cc, [f"{k}={v}" for k, v in chosen.items()])]


def cases_of(sweep, scenarios, built, kernel, own, out):
    result = []
    for chosen, cc, s in scenarios:
        for seed in sweep.seeds or [s.seed]:
            name = identity(s, cc, seed, built)
            words = [str(LAB), "run", str(sweep.scenario.resolve()), "--cc", cc, "--seed", str(seed)]
            words += [word for k, v in chosen.items() if k not in ("cc", "seed") for word in ("--set", f"{k}={v}")]
            words += ["--kernel", kernel] + [word for module in own for word in ("--module", module)]
            words += ["--no-plots", "--out", str(out / CASES / name)]
            result.append({"name": name, "cc": cc, "seed": seed, "set": chosen, "command": f"(cd {shlex.quote(os.getcwd())} && {shlex.join(words)})"})
    return result


def is_of(case, text, sweep, built):
    """Does a scenario's text mean what the case is called for?"""
    try:
        loaded = schema.load(sweep.scenario, [case["cc"]], [f"{k}={v}" for k, v in case["set"].items()], text=text)
    except schema.ScenarioError:
        return False
    return any(identity(s, cc, case["seed"], built) == case["name"] for cc, s in loaded)


def shown(case):
    return ", ".join([case["cc"], *(f"{k}={v}" for k, v in case["set"].items()), f"seed {case['seed']}"])


def result_of(case, out):
    return out / CASES / case["name"] / "result.json"


# ---- the workflow ----

def command(out, jobs, rest):
    """What the user has for Snakemake comes last, and so has the last word. A lock would outlive a machine that goes down; ours does not."""
    return ["snakemake", "--snakefile", str(out / WORKFLOW), "--directory", str(out), "--cores", str(jobs), "--scheduler", "greedy", "--nolock",
            "--rerun-incomplete", "--rerun-triggers", "mtime", "--keep-going", *rest]


def left(done, before, whole, elapsed_s):
    """About how long the rest takes, by those that this command has run."""
    if done <= before:
        return ""
    s = elapsed_s * (whole - done) / (done - before)
    return f", about {s / 60:.0f} min left" if s >= 90 else f", about {s:.0f} s left"


def carry_out(cases, out, jobs, rest):
    """Snakemake's exit status. Its words go to a file, unless the user has some for it."""
    with open(out / LOG, "w") as log:
        child = subprocess.Popen([*GONE_WITH_US, *command(out, jobs, rest)], stdin=subprocess.DEVNULL, stdout=None if rest else log, stderr=None if rest else log,
                                 start_new_session=True)
        began = told = time.monotonic()
        before = said = sum(result_of(c, out).exists() for c in cases)
        try:
            while child.poll() is None:
                time.sleep(LOOK_S)
                done = sum(result_of(c, out).exists() for c in cases)
                if said < done < len(cases) and time.monotonic() - told >= TELL_S:
                    progress(f"{done} of {len(cases)} cases{left(done, before, len(cases), time.monotonic() - began)}")
                    told, said = time.monotonic(), done
        except BaseException:
            os.killpg(child.pid, signal.SIGINT)     # it, and the runs it has started
            child.wait()
            raise
    return child.returncode


def last_line(path, otherwise):
    lines = [line for line in (path.read_text(errors="replace").splitlines() if path.exists() else ()) if line.strip()]
    return lines[-1].strip().removeprefix("lab: ") if lines else otherwise


def failures(cases, out, status, began, rest):
    """What to say of the cases that this command has run in vain."""
    wrong = [(c, out / LOGS / f"{c['name']}.log") for c in cases if not result_of(c, out).exists()]
    wrong = [(c, log) for c, log in wrong if log.exists() and log.stat().st_mtime >= began]
    said = [f"{shown(c)}: {last_line(log, 'ended without a word')}" for c, log in wrong[:TOLD]]
    if len(wrong) > TOLD:
        said.append(f"{len(wrong) - TOLD} more cases failed; all that they said is in {out / LOGS}")
    if status and not wrong:
        said.append(f"snakemake ended with status {status}" if rest else f"snakemake: {last_line(out / LOG, 'ended without a word')} (all of it: {out / LOG})")
    return said


def run(path, out, find, cc=None, sets=(), seeds=(), kernel=None, jobs=None, force=False, own=(), rest=()):
    sweep, version = described(path, cc, sets, seeds, find), kernel or backends.KERNEL
    modules.check(own)
    with told_of_commas(sweep):
        scenarios = scenarios_of(sweep)
    flat_scenarios = [(cc, s) for _, cc, s in scenarios]
    if not own:
        ask.check_congestion_controls(flat_scenarios, ask.congestion_controls("uml", version), cc is not None)
    if not shutil.which("snakemake"):
        raise RunError("sweep: snakemake is missing; install the package snakemake")
    names = (PLAN, WORKFLOW, LOG, *tables.FILES)
    with (Output(out, names, force) if out else Output.new(f"{path.stem}-sweep", names)) as place:
        out = place.path
        built = modules.beside(build.everything(version), own)
        with told_of_commas(sweep):
            ask.check_settings(flat_scenarios, built, version, cc is not None)
        cases = cases_of(sweep, scenarios, built, version, own, out)
        cases = list({c["name"]: c for c in cases}.values())        # values that are written unlike and mean the same
        place.begin()
        (out / WORKFLOW).write_text(SNAKEFILE)
        (out / PLAN).write_text(json.dumps({"scenario": str(sweep.scenario), "set": sweep.sets, "cases": cases}, indent=1) + "\n")
        there = sum(result_of(c, out).exists() for c in cases)
        progress(f"{path.stem}: {len(cases)} cases{f', of which {there} are there' if there else ''}; results go to {out}")
        began = time.time() - 1     # file systems' clocks are coarse
        status = carry_out(cases, out, jobs or os.cpu_count() or 1, rest)
        wrong = failures(cases, out, status, began, rest)
        done = [c for c in cases if result_of(c, out).exists()]
        if done:
            tables.write(done, list(sweep.sets), out, lambda case, text: is_of(case, text, sweep, built), built.sources)
        if wrong:
            raise RunError("\nlab: ".join(wrong))
        if len(done) < len(cases):
            progress(f"{len(done)} of {len(cases)} cases are there")
    return 0
