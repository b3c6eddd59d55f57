# SPDX-License-Identifier: GPL-2.0
"""tools/lab/lab: run, list, plot, doctor."""

import argparse
import json
import os
import signal
import sys
import tomllib
from pathlib import Path

from . import backends, build, doctor, runner, show
from .schema import ScenarioError
from .guest import RunError

SCENARIOS = build.LAB / "scenarios"


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"lab: {message}; see `lab {self.prog.partition(' ')[2]} --help`\n".replace("lab  ", "lab "))


def parser():
    p = Parser(prog="lab", description="Runs scenarios over the real Linux TCP stack, in virtual time unless --backend says otherwise.")
    sub = p.add_subparsers(dest="what", required=True)
    run = sub.add_parser("run", help="run a scenario")
    run.add_argument("scenario", help="a .toml file, or the name of a scenario that comes with the lab")
    run.add_argument("--cc", help="congestion controls, one run each: NAME[,NAME...]")
    run.add_argument("--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="sets",
                     help="set any key of the scenario, list items by index")
    run.add_argument("--capture", metavar="LINK[,LINK...]", help="capture these links, such as a-b: CC/capture-LINK.pcapng")
    run.add_argument("--seed", type=int)
    run.add_argument("--backend", choices=backends.NAMES, default="uml",
                     help="uml: the lab's kernel, in virtual time; qemu: Debian's, emulated; native: this machine's, as root, in real time")
    run.add_argument("--cpus", type=int, metavar="N", help="of qemu's machine: 1, in virtual time, or more, in real time (1)")
    run.add_argument("--slow", type=int, metavar="N",
                     help="every rate divided by N, every time multiplied (1; with qemu and native the least power of ten they carry)")
    run.add_argument("--kernel", choices=("6.1", "6.12"), help="of uml and qemu (6.12)")
    run.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at once (one core each)")
    run.add_argument("--out", required=True, metavar="DIR", help="where result.json, series, plots and report.html go")
    run.add_argument("--keep-raw", action="store_true", help="keep the guest's plan, console and raw results")
    run.add_argument("--no-plots", action="store_true", help="result.json and series only")
    sub.add_parser("list", help="the scenarios that come with the lab")
    plot = sub.add_parser("plot", help="make plots and report of a run's directory again, or pictures of several runs")
    plot.add_argument("dirs", nargs="+", metavar="DIR")
    plot.add_argument("--out", metavar="OUT", help="of several runs: where the pictures go")
    shown = sub.add_parser("show", help="the summary of runs' directories as text")
    shown.add_argument("dirs", nargs="+", metavar="DIR")
    prepare = sub.add_parser("build", help="build what runs need (kernel, modules, tools) and print where it is")
    prepare.add_argument("--backend", choices=backends.NAMES, default="uml")
    prepare.add_argument("--kernel", choices=("6.1", "6.12"), help="of uml and qemu (6.12)")
    sub.add_parser("doctor", help="say what is missing and the command that mends it")
    return p


def captures(value):
    """--capture is a short way to set the scenario's key."""
    return [f"capture={json.dumps(value.split(','))}"] if value else []


def find_scenario(value):
    """A file, or the name of one that comes with the lab."""
    path = Path(value)
    shipped = SCENARIOS / f"{value.removesuffix('.toml')}.toml"
    return shipped if not path.exists() and shipped.exists() else path


def list_scenarios():
    for path in sorted(SCENARIOS.glob("*.toml")):
        with open(path, "rb") as f:
            print(f"{path.stem:<14} {tomllib.load(f).get('about', '')}")
    return 0


def main(argv=None):
    args = parser().parse_args(argv)
    try:
        if args.what == "list":
            return list_scenarios()
        if args.what == "doctor":
            return doctor.main()
        if args.what == "plot":
            if args.out:
                return runner.compare([Path(d) for d in args.dirs], Path(args.out))
            if len(args.dirs) > 1:
                raise RunError("plot: several runs in one picture want --out: where it goes")
            return runner.plot(Path(args.dirs[0]))
        if args.what == "show":
            return show.main([Path(d) for d in args.dirs])
        if args.what == "build":
            built = build.everything(args.kernel or "6.12", args.backend)
            print(f"kernel {built.kdir}\nmodules {built.modules}\ntools {built.tools}")
            return 0
        backends.check(args.backend, args.kernel, args.cpus, args.jobs, args.slow)
        for end in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(end, signal.default_int_handler)
        return runner.run(find_scenario(args.scenario), Path(args.out), cc=args.cc.split(",") if args.cc else None,
                          sets=args.sets + captures(args.capture), seed=args.seed, kernel=args.kernel, jobs=args.jobs,
                          keep_raw=args.keep_raw, plots=not args.no_plots, backend=args.backend,
                          slow=args.slow, cpus=args.cpus)
    except (ScenarioError, RunError, build.BuildError) as e:
        print(f"lab: {e}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return 130
