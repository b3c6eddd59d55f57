# SPDX-License-Identifier: GPL-2.0
"""Runs a scenario once for each congestion control and writes the result directory."""

import concurrent.futures
import json
import shlex
import shutil
import sys
import time

from . import backends, build, guest, native, plan, results, schema, topology, traffic
from .build import progress
from .guest import RunError

RESULT = "result.json"


def run(path, out, cc=None, sets=(), seed=None, kernel=None, jobs=1, keep_raw=False, plots=True, backend="uml",
        slow=None, cpus=None):
    scenarios = schema.load(path, cc, sets, seed)
    factor = backends.slow_down([s for _, s in scenarios], backend, cpus, slow)
    name = scenarios[0][1].name
    if backend == "native":
        native.check()
    built = build.everything(kernel or "6.12", backend)
    if factor != 1:
        progress(f"{name}: {factor} times as slow")
    out = out.resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise RunError(f"--out {out}: {e.strerror}") from None
    (out / RESULT).unlink(missing_ok=True)      # one of an earlier run would pass for this one's

    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(run_one, backend, built, one, s, out, kernel or "6.12", keep_raw, cpus or 1) for one, s in scenarios]
        failures, runs = [], []
        try:
            for (one, _), future in zip(scenarios, futures):
                try:
                    runs.append(future.result())
                except RunError as e:
                    failures.append(f"{name}: {one}: {e}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            guest.stop()
            for future in concurrent.futures.wait([f for f in futures if not f.cancelled()]).done:
                if isinstance(future.exception(), native.LeftBehind):
                    progress(str(future.exception()))
            raise
    if not runs:
        raise RunError("; ".join(failures))
    result = {
        "scenario": name,
        "about": scenarios[0][1].about,
        "seed": scenarios[0][1].seed,
        "backend": backend,
        "time": backends.clock(backend, cpus),
        "slow": factor,
        "kernel": built.kernel_release,
        "versions": versions(built),
        "command": command(path, cc, sets, seed, kernel, backend, slow, cpus),
        "runs": [r for r, _ in runs],
    }
    (out / RESULT).write_text(json.dumps(result, indent=1) + "\n")
    shutil.copyfile(path, out / "scenario.toml")
    for r, commands in runs:
        (out / r["cc"] / "commands.txt").write_text("\n".join(commands) + "\n")
    if plots and runs:
        plot(out)
    if failures:
        raise RunError("; ".join(failures))
    return 0


def run_one(backend, built, cc, s, out, kernel, keep_raw, cpus):
    began = time.monotonic()
    net = topology.build(s, s.file.name)
    load = traffic.build(s, net, s.file.name)
    p = plan.Plan(s, net, load, exact=backend == "uml")
    directory = out / cc
    shutil.rmtree(directory, ignore_errors=True)
    raw = directory / "raw"
    raw.mkdir(parents=True)
    progress(f"{s.name}: {cc}: {topology.describe(s, net)}; {len(load.messages)} transfers")
    try:
        wall_s = guest.run(backend, built, p, raw, s.seed, plan.memory(s, net, load), kernel, cpus)
        simulated = time.monotonic()
        entry = results.compute(cc, s, net, load, raw, out, wall_s,
                                {"switch": p.switch_qdisc, "host": s.host.qdisc, "base_rtt_ns": p.base_rtt})
    finally:
        console = raw / "console.log"
        if console.exists():
            shutil.copyfile(console, directory / "console.log")
        if not keep_raw:
            shutil.rmtree(raw, ignore_errors=True)
    for c in entry["captures"]:
        lost = f", {c['lost']} FOUND NO ROOM (capture_mb)" if c["lost"] else ""
        progress(f"{s.name}: {cc}: {c['file']}: {c['packets']} packets, {c['dropped']} dropped{lost}")
    progress(f"{s.name}: {cc}: done in {simulated - began:.1f} s, of which the run itself {wall_s:.2f} s")
    return entry, p.commands


def versions(built):
    return {"lab": build.TREE_VERSION, "sources": built.sources, "kernel": built.kernel_release,
            "python": ".".join(map(str, sys.version_info[:3]))}


def command(path, cc, sets, seed, kernel, backend, slow, cpus):
    """What to type for the same again; without the output directory, which is no part of the result."""
    words = ["tools/lab/lab", "run", path.name]
    if cc:
        words += ["--cc", ",".join(cc)]
    for s in sets:
        words += ["--set", s]
    if seed is not None:
        words += ["--seed", str(seed)]
    if backend != "uml":
        words += ["--backend", backend]
    if cpus is not None:
        words += ["--cpus", str(cpus)]
    if slow is not None:
        words += ["--slow", str(slow)]
    if kernel not in (None, "6.12"):
        words += ["--kernel", kernel]
    return shlex.join(words)


def load_result(out):
    try:
        result = json.loads((out / RESULT).read_text())
        if not result["runs"]:
            raise KeyError("runs")
        return result
    except (KeyError, TypeError):
        raise RunError(f"{out / RESULT}: is not a result of the lab, or has no runs") from None
    except FileNotFoundError:
        raise RunError(f"{out}: there is no {RESULT} in it; `lab run ... --out {out}` makes one") from None
    except ValueError as e:
        raise RunError(f"{out / RESULT}: is not JSON: {e}") from None


def plot(out):
    from . import plots, report           # matplotlib is wanted for this only
    result = load_result(out)

    def draw():
        plots.make(result, out)
        report.write([(out.name, result, out)], out)
    _draw(draw, out / RESULT)
    progress(f"report: {out / 'report.html'}")
    return 0


def compare(dirs, out):
    """Pictures and report of several runs, named after their directories, in `out`."""
    from . import plots, report
    named = [(d.resolve().name, load_result(d), d) for d in dirs]

    def draw():
        plots.compare(named, out)
        report.write(named, out)
    _draw(draw, ", ".join(str(d / RESULT) for d in dirs))
    progress(f"report: {out / 'report.html'}")
    return 0


def _draw(what, files):
    try:
        what()
    except FileNotFoundError as e:
        raise RunError(f"{e.filename}: is missing; run the scenario again") from None
    except (KeyError, TypeError) as e:
        raise RunError(f"{files}: was written by another version of the lab ({e!r} is not as expected)") from None
