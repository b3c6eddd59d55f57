# SPDX-License-Identifier: GPL-2.0
"""Runs a scenario once for each congestion control and writes the result directory."""

import concurrent.futures
import json
import shlex
import shutil
import sys
import time

from . import build, guest, plan, results, schema, topology, traffic
from .build import progress
from .guest import RunError

RESULT = "result.json"


# A packet costs an emulated machine some tens of microseconds from end to end; at 100 Gb/s it lasts 0.12
SLOW = {"uml": 1, "qemu": 1000}


def run(path, out, cc=None, sets=(), seed=None, kernel="6.12", jobs=1, keep_raw=False, plots=True, backend="uml",
        slow=None):
    scenarios = schema.load(path, cc, sets, seed)
    factor = SLOW[backend] if slow is None else slow
    if factor != 1:
        for _, s in scenarios:
            schema.slow_down(s, factor, s.file.name)
    name = scenarios[0][1].name
    out = out.resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise RunError(f"--out {out}: {e.strerror}") from None
    built = build.everything(kernel, backend)

    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(run_one, backend, built, one, s, out, kernel, keep_raw) for one, s in scenarios]
        failures, runs = [], []
        for (one, _), future in zip(scenarios, futures):
            try:
                runs.append(future.result())
            except RunError as e:
                failures.append(f"{name}: {one}: {e}")
    if not runs:
        (out / RESULT).unlink(missing_ok=True)      # one of an earlier run would pass for this one's
        raise RunError("; ".join(failures))
    result = {
        "scenario": name,
        "about": scenarios[0][1].about,
        "seed": scenarios[0][1].seed,
        "backend": backend,
        "slow": factor,
        "kernel": built.kernel_release,
        "versions": versions(built),
        "command": command(path, cc, sets, seed, kernel, backend, slow),
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


def run_one(backend, built, cc, s, out, kernel, keep_raw):
    began = time.monotonic()
    net = topology.build(s, s.file.name)
    load = traffic.build(s, net, s.file.name)
    p = plan.Plan(s, net, load)
    directory = out / cc
    shutil.rmtree(directory, ignore_errors=True)
    raw = directory / "raw"
    raw.mkdir(parents=True)
    progress(f"{s.name}: {cc}: {topology.describe(s, net)}; {len(load.messages)} transfers")
    try:
        wall_s = guest.run(backend, built, p, raw, s.seed, plan.memory(s, net, load), kernel)
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


def command(path, cc, sets, seed, kernel, backend, slow):
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
    if slow is not None:
        words += ["--slow", str(slow)]
    if kernel != "6.12":
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
