# SPDX-License-Identifier: GPL-2.0
"""Runs a scenario once for each congestion control and writes the result directory."""

import concurrent.futures
import contextlib
import itertools
import json
import math
import os
import shlex
import shutil
import struct
import sys
import tempfile
import time
import traceback

from . import ask, backends, build, explain, guest, ideal, modules, native, plan, plots, programs, results, schema, stats, topology, traffic
from .build import progress
from .guest import RunError
from .output import Output

RESULT = "result.json"
DRAWN = (*plots.PICTURES, "report.html")


def run_each(paths, out, cc=None, sets=(), seeds=(), **options):
    """Several scenarios, one after the other: a bad one is refused before the first begins, and one that fails does not keep the others from it."""
    if len(paths) == 1:
        return run(paths[0], out, cc, sets, seeds, **options)
    twice = [p for i, p in enumerate(paths) if p.stem in [q.stem for q in paths[:i]]]
    if twice:
        raise RunError(f"{twice[0]}: another scenario has the same name, and so its directory")
    for path in paths:
        load(path, cc, sets, seeds[:1])     # each has its messages drawn, and will be loaded again
    failures = []
    for path in paths:
        try:
            run(path, out and out / path.stem, cc, sets, seeds, **options)
        except RunError as e:
            failures.append(f"{path.stem}: {e}")
    if failures:
        raise RunError("\nlab: ".join(failures))
    return 0


def run(path, out, cc=None, sets=(), seeds=(), kernel=None, jobs=1, keep_raw=False, drawn=True, backend="uml",
        slow=None, cpus=None, force=False, own=()):
    modules.check(own)
    if drawn:
        plots.check()
    text = schema.read(path)        # once: it may be edited meanwhile, or lie in the very directory
    scenarios = load(path, cc, sets, seeds, text=text)
    factor = backends.slow_down([s for _, s in scenarios], backend, cpus, slow)
    explain.check_backend(scenarios, backend)
    first = scenarios[0][1]
    if backend == "native":
        native.check()
    version = kernel or backends.KERNEL
    if not own:
        ask.check_congestion_controls(scenarios, ask.congestion_controls(backend, version), cc is not None)
    names = (RESULT, "scenario.toml", *DRAWN, *(f"{s.directory}/" for _, s in scenarios))
    with (Output(out, names, force) if out else Output.new(path.stem, names)) as place:
        if not out:
            progress(f"results go to {place.path}")
        built = modules.beside(build.everything(version, backend), own)
        if backend == "uml":
            ask.check_settings(scenarios, built, version, cc is not None)
        if factor != 1:
            progress(f"{first.name}: {factor} times as slow")
        place.begin(everything=True)            # a result of an earlier run would pass for this one's
        out = place.path
        (out / "scenario.toml").write_bytes(text)
        interrupted = None
        try:
            runs, failures = run_all(scenarios, jobs, backend, built, out, version, keep_raw, cpus or 1)
        except Interrupted as e:
            runs, interrupted = e.runs, e
            if not runs:
                raise
        if not runs:
            raise RunError("\nlab: ".join(failures))
        result = {
            "scenario": first.name,
            "about": first.about,
            "seed": first.seed,
            "seeds": list(dict.fromkeys(s.seed for _, s in scenarios)),
            "backend": backend,
            "time": backends.clock(backend, cpus),
            "slow": factor,
            "kernel": built.kernel_release,
            "versions": versions(built),
            "command": command(path, cc, sets, seeds, kernel, backend, slow, cpus, own),
            "runs": [r for r, _ in runs],
        }
        ended = {r["directory"] for r, _ in runs}
        if len(ended) < len(scenarios):
            result["incomplete"] = [s.directory for _, s in scenarios if s.directory not in ended]
        if len(seeds) > 1:
            result["spread"] = spreads(result["runs"])
        for r, commands in runs:
            (out / r["directory"] / "commands.txt").write_text("\n".join(commands) + "\n")
        (out / RESULT).write_text(json.dumps(result, indent=1) + "\n")
        if interrupted:
            progress(f"{out / RESULT} has the {len(runs)} of {len(scenarios)} runs that had ended, without plots: `lab plot {out}`")
            raise interrupted
        if drawn:
            draw(*loaded([out]))
        if failures:
            raise RunError("\nlab: ".join(failures))
    return 0


class Interrupted(KeyboardInterrupt):
    """`runs`: those that had ended."""

    def __init__(self, runs):
        super().__init__()
        self.runs = runs


def run_all(scenarios, jobs, backend, built, *args):
    """([(entry of the result, commands)], [what failed])."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(run_one, backend, built, one, s, *args) for one, s in scenarios]
        failures, runs = [], []
        try:
            for (_, s), future in zip(scenarios, futures):
                try:
                    *entry, wrong = future.result()
                    runs.append(entry)
                    failures += [f"{s.name}: {s.directory}: {why}" for why in wrong]
                except (RunError, OSError) as e:
                    failures.append(f"{s.name}: {s.directory}: {e}")
        except BaseException as e:
            pool.shutdown(wait=False, cancel_futures=True)
            guest.stop()
            there = [f for f in futures if not f.cancelled()]
            concurrent.futures.wait(there)
            for future in there:
                if isinstance(future.exception(), native.LeftBehind):
                    progress(str(future.exception()))
            if isinstance(e, KeyboardInterrupt):
                raise Interrupted([f.result()[:2] for f in there if not f.exception()]) from None
            raise
    return runs, failures


def load(path, cc, sets, seeds, idle=False, text=None):
    """The scenario for each congestion control, and of each for each seed; `directory` is where that leaves what it measures."""
    by_seed = [schema.load(path, cc, sets, seed, idle, text) for seed in seeds or (None,)]
    result = [of_seed[i] for i in range(len(by_seed[0])) for of_seed in by_seed]
    for one, s in result:
        s.directory = f"{one}-{s.seed}" if len(seeds) > 1 else one
    return result


def written(value):
    """JSON has no infinity."""
    if isinstance(value, list):
        return [written(v) for v in value]
    if isinstance(value, dict):
        return None if value.get("min") == math.inf else {k: written(v) for k, v in value.items()}
    return None if value == math.inf else value


def spreads(runs):
    """Per congestion control, the least, middle and greatest of its seeds."""
    result = []
    for cc in dict.fromkeys(r["cc"] for r in runs):
        mine = [r for r in runs if r["cc"] == cc]
        ports = [next((p for p in r["links"] if p["name"] == plots.queue_port(r)), {}) for r in mine]
        result.append({"cc": cc, "seeds": [r["seed"] for r in mine]} | written(stats.spread([
            {k: r[k] for k in ("jain", "fct")} | {k: p.get(k) for k in ("utilization", "drops", "queue_bytes")}
            for r, p in zip(mine, ports)])))
    return result


def run_one(backend, built, cc, s, out, kernel, keep_raw, cpus):
    began = time.monotonic()
    net = topology.build(s, s.file.name)
    load = traffic.build(s, net, s.file.name)
    p = plan.Plan(s, net, load, exact=backend == "uml")
    directory = out / s.directory
    raw = directory / "raw"
    raw.mkdir(parents=True)
    running = f", {len(s.program)} programs" if s.program else ""
    progress(f"{s.name}: {s.directory}: {topology.describe(s, net)}; {len(load.messages)} transfers{running}")
    for k, started, wanted in load.cut:
        progress(f"{s.name}: {s.directory}: {k}: {started} of {wanted} messages start within the duration")
    overload = ideal.overload(s, net)
    if overload:
        progress(f"{s.name}: {s.directory}: {overload}")
    if p.warning:
        progress(f"{s.name}: {s.directory}: {p.warning}")
    try:
        wall_s = guest.run(backend, built, p, raw, plan.memory(s, net, load), kernel, cpus, s)
        simulated = time.monotonic()
        with readable():
            entry = results.compute(cc, s, net, load, raw, out, wall_s,
                                    {"switch": p.switch_qdisc, "host": s.host.qdisc, "base_rtt_ns": p.base_rtt})
    except Exception:
        check_room(out)         # while what has filled it is there; files that are cut short cannot be read
        raise
    finally:
        with contextlib.suppress(OSError):      # there is none, or the disk is full
            shutil.copyfile(raw / "console.log", directory / "console.log")
        if not keep_raw:
            shutil.rmtree(raw, ignore_errors=True)
    for c in entry["captures"]:
        lost = f", {c['lost']} FOUND NO ROOM (capture_mb)" if c["lost"] else ""
        progress(f"{s.name}: {s.directory}: {c['file']}: {c['packets']} packets, {c['dropped']} dropped{lost}")
    if unmarked(entry):
        progress(f"{s.name}: {s.directory}: no port's root qdisc marked a packet (what is below it is not counted), which is all that dctcp would heed but losses (switch.qdisc, [when.dctcp])")
    progress(f"{s.name}: {s.directory}: done in {simulated - began:.1f} s, of which the run itself {wall_s:.2f} s")
    return entry, p.commands, programs.failures(s, entry["programs"], directory)


@contextlib.contextmanager
def readable():
    """What a run left behind, which costs the others of the command nothing."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, struct.error) as e:
        place = traceback.extract_tb(e.__traceback__)[-1]
        raise RunError(f"its raw results cannot be read: {e!r}, {os.path.basename(place.filename)}:{place.lineno} (--keep-raw keeps them)") from e


def unmarked(r):
    """Whether dctcp ran as reno."""
    return "dctcp" in {f["cc"] for f in r["flows"]} | ({r["cc"]} if r["programs"] else set()) and not any(p["marks"] for p in r["links"])


def check_room(directory):
    """What fails for want of it names a step of the guest, or nothing."""
    try:
        with tempfile.TemporaryFile(dir=directory) as f:
            os.posix_fallocate(f.fileno(), 0, 1 << 20)
    except OSError as e:
        raise RunError(f"{directory}: {e.strerror}") from None


def versions(built):
    return {"lab": build.version(), "sources": built.sources, "kernel": built.kernel_release,
            "python": ".".join(map(str, sys.version_info[:3])), **({"modules": built.own} if built.own else {})}


def command(path, cc, sets, seeds, kernel, backend, slow, cpus, own):
    """What to type for the same again; without the output directory, which is no part of the result."""
    words = [build.COMMAND, "run", path.name]
    if cc:
        words += ["--cc", ",".join(cc)]
    for s in sets:
        words += ["--set", s]
    if seeds:
        words += ["--seed", ",".join(map(str, seeds))]
    if backend != "uml":
        words += ["--backend", backend]
    if cpus is not None:
        words += ["--cpus", str(cpus)]
    if slow is not None:
        words += ["--slow", str(slow)]
    if kernel not in (None, backends.KERNEL):
        words += ["--kernel", kernel]
    for module in own:
        words += ["--module", module]
    return shlex.join(words)


def load_result(out):
    try:
        result = json.loads((out / RESULT).read_text())
        if not result["runs"]:
            raise KeyError("runs")
        result["runs"][0]["cc"], result["scenario"]
        return result
    except (KeyError, TypeError, IndexError, AttributeError):
        raise RunError(f"{out / RESULT}: is not a result of the lab, or has no runs") from None
    except FileNotFoundError:
        raise RunError(f"{out}: there is no {RESULT} in it; `lab run ... --out {out}` makes one") from None
    except (ValueError, RecursionError) as e:
        raise RunError(f"{out / RESULT}: is not JSON: {e}") from None


@contextlib.contextmanager
def understood(*directories):
    """Around what reads results: they may be of another version of the lab, or of another program."""
    files = ", ".join(str(d / RESULT) for d in directories)
    try:
        yield
    except FileNotFoundError as e:
        raise RunError(f"{e.filename}: is missing; run the scenario again") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as e:
        raise RunError(f"{files}: was written by another version of the lab ({e!r} is not as expected)") from None


def names(directories):
    """The end of each path, as long as it takes to tell them apart."""
    paths = [d.resolve() for d in directories]
    for n in itertools.count(1):
        found = [os.path.join(*p.parts[-n:]) for p in paths]
        if len(set(found)) == len(set(paths)):
            return found


def loaded(directories, baseline=None, port=None):
    """([(name, result, directory)], the same of the baseline or None)."""
    from . import compare as compared
    found = []
    for name, d in zip(names([*directories, *([baseline] if baseline else [])]), (*directories, baseline)):
        with understood(d):
            found.append((name, plots.at_port(load_result(d), d, port, drawn=d is not baseline), d))
            if d is baseline:
                compared.figures(found[-1][1])      # which is all that is read of it
    return found[:len(directories)], found[-1] if baseline else None


def plot(out, force=False, baseline=None, port=None):
    plots.check()
    found = loaded([out], baseline, port)
    with Output(out, DRAWN, force) as place:
        place.begin()
        draw(*found)
    return 0


def draw(named, baseline=None):
    from . import report
    (_, result, out), = named
    with understood(out):
        plots.make(result, out)
        report.write(named, out, baseline)
    progress(f"report: {out / 'report.html'}")


def compare(dirs, out, force=False, baseline=None, port=None):
    """Pictures and report of several runs, named after their directories, in `out`."""
    from . import report
    plots.check()
    named, base = loaded(dirs, baseline, port)
    with Output(out, DRAWN, force) as place:
        place.begin()
        with understood(*dirs):
            plots.compare(named, out)
            report.write(named, out, base)
    progress(f"report: {out / 'report.html'}")
    return 0
