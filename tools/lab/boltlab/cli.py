# SPDX-License-Identifier: GPL-2.0
"""tools/lab/lab: its commands and their options."""

import argparse
import json
import os
import signal
import sys
import tomllib
from pathlib import Path

from . import ask, attach, backends, build, compare, cpu, doctor, explain, new, runner, schema, show, slowdown, sweep, units, up
from .schema import ScenarioError
from .guest import RunError

FORCE = "rename files in the way that the lab did not write, by appending a ~, instead of refusing"
SCENARIOS = build.LAB / "scenarios"


class Once(argparse.Action):
    """Stores a value, and refuses a second one, which would replace it."""
    taken = False

    def __call__(self, parser, namespace, values, option_string=None):
        if self.taken and option_string:
            raise argparse.ArgumentError(self, "is given twice")
        self.taken = True
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.register("action", None, Once)

    def error(self, message):
        self.exit(2, f"lab: {message}; see `{self.prog} --help`\n")


def parser():
    p = Parser(prog=Path(build.COMMAND).name, description="Runs scenarios over the real Linux TCP stack, in virtual time unless --backend says otherwise.")
    p.add_argument("-V", "--version", action="version", version=f"{p.prog} {build.version()}")
    sub = p.add_subparsers(dest="what")
    run = sub.add_parser("run", help="run scenarios")
    run.add_argument("scenarios", metavar="scenario", nargs="+", help="a .toml file, or the name of a scenario that comes with the lab; several: one after the other")
    run.add_argument("--cc", help="congestion controls, one run for each: NAME[,NAME...]")
    run.add_argument("--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="sets",
                     help="set a key of the scenario; items of a list by index")
    run.add_argument("--capture", metavar="LINK[,LINK...]", help="capture these links, such as a-b, into CC/capture-LINK.pcapng")
    run.add_argument("--explain", metavar="NUMBER[,NUMBER...]|all", type=explained, help="record where the time of these messages goes, for `lab explain`")
    several = run.add_mutually_exclusive_group()
    several.add_argument("--seed", type=seeds, dest="seeds", metavar="N[,N...]", help="seeds; several: one run for each, and their spread")
    several.add_argument("--seeds", type=first_seeds, metavar="N", help="--seed 1,2,...,N")
    run.add_argument("--backend", choices=backends.NAMES, default="uml",
                     help="uml: the lab's kernel, in virtual time; qemu: Debian's kernel, emulated; native: this machine's kernel, as root, in real time (%(default)s)")
    run.add_argument("--cpus", type=int, metavar="N", help="CPUs of the machine that qemu emulates: 1 in virtual time, more in real time (1)")
    run.add_argument("--slow", type=int, metavar="N",
                     help="divide every rate by N and multiply every time by N (1; with qemu and native the smallest power of ten that they sustain)")
    run.add_argument("--kernel", choices=backends.KERNELS, help=f"of uml and qemu ({backends.KERNEL})")
    run.add_argument("--module", action="append", default=[], metavar="FILE.ko|DIR[:NAME=VALUE,...]", dest="own",
                     help="a congestion control or qdisc of your own: a module of the lab's kernel, or its source with a Kbuild")
    run.add_argument("--cpu-cost", metavar="MODEL", dest="cpu_cost",
                     help="let system calls of programs take virtual time: 500ns for each, or call=500ns,byte=0.05ns,cores=2 (free)")
    run.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at once, one core each (%(default)s)")
    run.add_argument("--out", metavar="DIR", help="directory for result.json, series, plots and report.html, with several scenarios for a directory of each (SCENARIO-1 here, or the next free number)")
    run.add_argument("--force", action="store_true", help=FORCE)
    run.add_argument("--keep-raw", action="store_true", help="keep the guest's plan, console and raw results")
    run.add_argument("--no-plots", action="store_true", help="write only result.json and series")
    swept = sub.add_parser("sweep", help="run a scenario for every combination of settings, congestion controls and seeds, with Snakemake",
                           epilog="Options after -- are passed to Snakemake: -- --profile DIR, -- --slurm --jobs 20, -- --dry-run")
    swept.add_argument("scenario", help="a scenario, or a .toml file with scenario, cc, seeds and [set]")
    swept.add_argument("--cc", help="congestion controls: NAME[,NAME...]")
    swept.add_argument("--set", action="append", default=[], metavar="KEY.PATH=VALUE[,VALUE...]", dest="sets",
                       help="values of a key of the scenario; with several keys: every combination")
    of_each = swept.add_mutually_exclusive_group()
    of_each.add_argument("--seed", type=seeds, dest="seeds", metavar="N[,N...]", help="seeds, one case for each (the scenario's)")
    of_each.add_argument("--seeds", type=first_seeds, metavar="N", help="--seed 1,2,...,N")
    swept.add_argument("--kernel", choices=backends.KERNELS, help=f"of the lab ({backends.KERNEL})")
    swept.add_argument("--module", action="append", default=[], metavar="FILE.ko|DIR[:NAME=VALUE,...]", dest="own", help="as of `run`")
    swept.add_argument("--jobs", type=int, metavar="N", help="cases at once (as many as there are CPUs)")
    swept.add_argument("--out", metavar="DIR", help="directory for cases and tables (NAME-sweep-1 here, or the next free number); cases in it are not run again")
    swept.add_argument("--force", action="store_true", help=FORCE)
    raised = sub.add_parser("up", help="bring up the network of a scenario, for commands on its nodes")
    raised.add_argument("scenario", help="a scenario as for `run`; nothing has to send")
    raised.add_argument("--cc", help="congestion control of its hosts (the first of the scenario)")
    raised.add_argument("--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="sets", help="as of `run`")
    raised.add_argument("--seed", type=int, metavar="N", help="seed of its load and of the kernel's randomness (that of the scenario)")
    raised.add_argument("--kernel", choices=backends.KERNELS, help=f"of the lab ({backends.KERNEL})")
    raised.add_argument("--module", action="append", default=[], metavar="FILE.ko|DIR[:NAME=VALUE,...]", dest="own", help="as of `run`")
    done = sub.add_parser("exec", help="run a command on a node of the network that is up", usage="%(prog)s [-t] [--privileged] NODE -- COMMAND [ARGUMENT...]")
    done.add_argument("-t", "--tty", action="store_true", help="give it a terminal")
    entered = sub.add_parser("shell", help="open a shell on a node of the network that is up")
    for one in (done, entered):
        one.add_argument("--privileged", action="store_true", help="run it as root of its node")
        one.add_argument("node", metavar="NODE")
    done.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER)
    sub.add_parser("down", help="end the network that is up, and all that runs in it")
    listed = sub.add_parser("list", help="list the scenarios that come with the lab, and the congestion controls of its kernel")
    listed.add_argument("--cc", action="store_true", help="list only congestion controls, one per line")
    listed.add_argument("--qdisc", action="store_true", help="list only the qdiscs of its kernel, one per line")
    made = sub.add_parser("new", help="write a commented scenario to start from")
    made.add_argument("name", metavar="NAME", help="write NAME.toml")
    demo = sub.add_parser("demo", help="run flow-join and incast with cubic, dctcp and bolt, and show the results")
    demo.add_argument("dir", nargs="?", metavar="DIR", help="directory for results")
    plot = sub.add_parser("plot", help="make a run's plots and report again, or plots of several runs")
    plot.add_argument("dirs", nargs="+", metavar="DIR")
    plot.add_argument("--out", metavar="OUT", help="directory for the plots of several runs")
    plot.add_argument("--baseline", metavar="DIR", help="another run's directory; the report shows the differences from it")
    plot.add_argument("--force", action="store_true", help=FORCE)
    shown = sub.add_parser("show", help="show the summary of runs as text")
    shown.add_argument("dirs", nargs="+", metavar="DIR")
    compared = sub.add_parser("compare", help="compare the key figures of two runs")
    compared.add_argument("dirs", nargs=2, metavar="DIR")
    told = sub.add_parser("explain", help="show where the time of a message went, in a run with --explain")
    told.add_argument("dir", metavar="DIR")
    told.add_argument("message", metavar="FLOW|MESSAGE", type=int, nargs="?", help="its number, from 0, flows first; if absent: the largest part of each message")
    told.add_argument("--cc", help="only this run: its congestion control, or its directory")
    told.add_argument("--json", action="store_true", help="print all parts and the timeline as JSON")
    slow = sub.add_parser("slowdown", help="show the slowdown by message size, as a Markdown table")
    slow.add_argument("dir", metavar="DIR")
    slow.add_argument("--p999", action="store_true", help="also show p99.9; a dash for fewer than 1000 messages")
    slow.add_argument("--svg", metavar="FILE", help="also write it as a plot")
    slow.add_argument("--csv", metavar="FILE", help="also write one row for each message, unfinished ones included")
    for one in (shown, compared, slow, plot):
        one.add_argument("--port", metavar="NAME", help="queue and utilization of this port, such as a-b (that of the bottleneck)")
    for one in (shown, compared, slow):
        one.add_argument("--from", type=time, default=0, metavar="TIME", dest="begin", help="leave out what is before it, and messages that start before it (start of the measured time)")
        one.add_argument("--until", type=time, metavar="TIME", help="leave out what is from there on, and messages that start from there on (end of the measured time)")
    prepare = sub.add_parser("build", help="build what runs need (kernel, modules, tools) and print its location")
    prepare.add_argument("--backend", choices=backends.NAMES, default="uml")
    prepare.add_argument("--kernel", choices=backends.KERNELS, help=f"of uml and qemu ({backends.KERNEL})")
    sub.add_parser("doctor", help="diagnose the setup; each problem comes with a fix")
    return p


def time(value):
    try:
        return units.time(value)
    except ValueError as e:
        raise argparse.ArgumentTypeError(f"\"{value}\" {e}") from None


def seeds(value):
    result = tuple(int(v) for v in value.split(","))
    if not all(0 <= v <= schema.LAST_SEED for v in result):
        raise argparse.ArgumentTypeError(f"{value} is not of seeds from 0 to {schema.LAST_SEED}")
    if len(set(result)) != len(result):
        raise argparse.ArgumentTypeError(f"{value} names one twice")
    return result


def first_seeds(value):
    if not 1 <= int(value) <= schema.MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"{value} is not from 1 to {schema.MOST_SEEDS}")
    return tuple(range(1, int(value) + 1))


def captures(value):
    """--capture is a short way to set the scenario's key."""
    return [f"capture={json.dumps(value.split(','))}"] if value else []


def cpu_cost(value):
    """The key that --cpu-cost sets."""
    if value is None:
        return []
    try:
        cpu.model(value)
    except ValueError as e:
        raise RunError(f"--cpu-cost \"{value}\": {e}") from None
    return [f"host.cpu_cost={value}"]


def explained(value):
    """The key that --explain sets."""
    if value != "all" and not all(v.isdigit() for v in value.split(",")):
        raise argparse.ArgumentTypeError(f"{value} is not a list of numbers of messages, or all")
    return "explain=all" if value == "all" else f"explain=[{value}]"


def congestion_controls(value):
    """The names that --cc has; None without it."""
    names = None if value is None else value.split(",")
    if names and not all(names):
        raise RunError(f"--cc \"{value}\": a name is missing; `lab list` shows the congestion controls")
    return names


def check_sets(args):
    """Refuses two ways to say the same, of which one would be ignored."""
    for name, option, key in (("cc", "--cc", "cc"), ("seed", "--seed", "seed"), ("seeds", "--seed", "seed"), ("capture", "--capture", "capture"),
                              ("explain", "--explain", "explain"), ("cpu_cost", "--cpu-cost", "host.cpu_cost")):
        for one in args.sets if getattr(args, name, None) is not None else ():
            if f"{one.partition('=')[0].strip()}.".startswith(f"{key}."):
                raise RunError(f"--set {one}: {option} sets the same")


def find_scenario(value):
    """A file, or the name of one that comes with the lab."""
    path = Path(value)
    shipped = SCENARIOS / f"{value.removesuffix('.toml')}.toml"
    return shipped if not path.is_file() and shipped.exists() else path


def list_kernel(cc, qdisc):
    """What its kernel offers; where both are asked for, a blank line is between."""
    print("\n\n".join("\n".join(names()) for wanted, names in ((cc, ask.congestion_controls), (qdisc, ask.qdiscs)) if wanted))
    return 0


def list_scenarios():
    shipped = sorted(SCENARIOS.glob("*.toml"))
    width = max(len(path.stem) for path in shipped)
    for path in shipped:
        with open(path, "rb") as f:
            print(f"{path.stem:<{width}} {tomllib.load(f).get('about', '')}")
    print(f"\nCongestion controls (--cc): {', '.join(ask.congestion_controls())}\n\nThe scenarios are in {SCENARIOS}")
    return 0


def interruptible():
    """Ends in order, however it is told to; nohup tells it not to."""
    for end in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(end) != signal.SIG_IGN:
            signal.signal(end, signal.default_int_handler)


def here():
    """The errors that its want leads to later name nothing."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise RunError("the working directory does not exist any more: cd to another") from None


def apart(argv):
    """What is the lab's, and what follows -- and is Snakemake's."""
    if argv[:1] != ["sweep"] or "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1:]


def main(argv=None):
    parse = parser()
    argv, rest = apart(sys.argv[1:] if argv is None else argv)
    args = parse.parse_args(argv)
    if not args.what:
        parse.print_help(sys.stderr)
        return 2
    try:
        here()
        if args.what == "list":
            return list_kernel(args.cc, args.qdisc) if args.cc or args.qdisc else list_scenarios()
        if args.what == "new":
            return new.main(args.name, SCENARIOS)
        if args.what == "compare":
            return compare.main([Path(d) for d in args.dirs], args.begin, args.until, args.port)
        if args.what == "demo":
            os.execv(build.LAB / "demo", ["lab demo", *([args.dir] if args.dir else [])])
        if args.what == "doctor":
            return doctor.main()
        if args.what == "plot":
            base = Path(args.baseline) if args.baseline else None
            if args.out:
                return runner.compare([Path(d) for d in args.dirs], Path(args.out), args.force, base, args.port)
            if len(args.dirs) > 1:
                raise RunError("plot: several runs in one picture want --out: where it goes")
            return runner.plot(Path(args.dirs[0]), args.force, base, args.port)
        if args.what == "show":
            return show.main([Path(d) for d in args.dirs], args.begin, args.until, args.port)
        if args.what == "explain":
            directory = Path(args.dir)
            with runner.understood(directory):
                return explain.main(runner.load_result(directory), directory, args.message, args.cc, args.json)
        if args.what == "slowdown":
            return slowdown.main(Path(args.dir), args.begin, args.until, args.port, args.p999, args.csv, args.svg)
        if args.what in ("build", "run", "sweep", "up"):
            # refused before anything is written
            cache = build.cache()
            if getattr(args, "backend", None) != "native":
                build.check_visible(cache, "use another BOLT_LAB_CACHE")
                if args.what in ("run", "sweep"):
                    build.check_visible(Path(args.out or "").absolute(), "use another --out")
        if args.what in ("run", "sweep", "up"):
            check_sets(args)
        if args.what == "build":
            backends.check(args.backend, args.kernel, None, 1, None)
            built = build.everything(args.kernel or backends.KERNEL, args.backend)
            print(f"kernel {built.kdir}\nmodules {built.modules}\ntools {built.tools}")
            return 0
        if args.what == "up":
            interruptible()
            return up.up(find_scenario(args.scenario), congestion_controls(args.cc), args.sets, args.seed, args.kernel, args.own)
        if args.what == "down":
            return up.down()
        if args.what == "exec":
            return attach.command(args.node, args.command[args.command[:1] == ["--"]:], args.tty, args.privileged)
        if args.what == "shell":
            return attach.shell(args.node, args.privileged)
        if args.what == "sweep":
            backends.check("uml", args.kernel, None, 1 if args.jobs is None else args.jobs, None, args.own)
            interruptible()
            return sweep.run(find_scenario(args.scenario), Path(args.out) if args.out else None, find_scenario, cc=congestion_controls(args.cc), sets=args.sets,
                             seeds=args.seeds or (), kernel=args.kernel, jobs=args.jobs, force=args.force, own=args.own, rest=rest)
        backends.check(args.backend, args.kernel, args.cpus, args.jobs, args.slow, args.own)
        interruptible()
        return runner.run_each([find_scenario(one) for one in args.scenarios], Path(args.out) if args.out else None, cc=congestion_controls(args.cc),
                               sets=args.sets + cpu_cost(args.cpu_cost) + captures(args.capture) + ([args.explain] if args.explain else []), seeds=args.seeds or (),
                               kernel=args.kernel, jobs=args.jobs, keep_raw=args.keep_raw, drawn=not args.no_plots, backend=args.backend,
                               slow=args.slow, cpus=args.cpus, force=args.force, own=args.own)
    except (ScenarioError, RunError, build.BuildError) as e:
        print(f"lab: {e}", file=sys.stderr)
        return attach.GONE if isinstance(e, attach.Ended) else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as e:
        print(f"lab: {f'{e.filename}: ' if e.filename else ''}{e.strerror or e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return 130
