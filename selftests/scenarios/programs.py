# SPDX-License-Identifier: GPL-2.0
"""[[program]]: programs of this machine run unmodified, the same twice; one that misbehaves is named, and the others go on."""

import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import time

from lab_itself import same_twice
from lab_runs import LAB

PRINTED = ("program-0.out", "program-0.err", "program-1.out", "program-1.err")
FORBIDDEN = "/etc/written-by-a-program-of-the-lab"
SPINS_S = 5


def unmodified(lab, j):
    """A web server and its client beside a flow: what they print is the same twice, whatever else is where they run"""
    where = os.path.join(lab.out, "where they run")
    os.mkdir(where)
    scenario = shutil.copy(os.path.join(os.path.dirname(LAB), "scenarios", "programs.toml"), where)

    def add_files():
        for n in range(9):
            with open(os.path.join(where, f"file {n}"), "x", encoding="utf-8"):
                pass
    same_twice(lab, j, scenario, between=add_files)
    dirs = [os.path.join(lab.out, f"{lab.n - back:02}-programs.toml") for back in (1, 0)]
    _, differ, errors = filecmp.cmpfiles(*(os.path.join(d, "bolt") for d in dirs), PRINTED, shallow=False)
    j.must(not differ and not errors, f"what programs print is the same {differ + errors or ''}")
    with open(os.path.join(dirs[0], "bolt", "program-1.out"), encoding="utf-8") as f:
        said = f.read()
    j.note(said.strip().replace("\n", "; "))
    times = [float(t) for t in re.findall(r"bytes in ([\d.]+) us", said)]
    j.must(len(times) == 3 and all(8 < t < 100 for t in times), "three files came, each in more than a round trip and less than 100 us")
    with open(os.path.join(dirs[0], "result.json"), encoding="utf-8") as f:
        run = json.load(f)["runs"][0]
    server, client = run["programs"]
    j.must((client["status"], client["ended_by"], server["ended_by"]) == (0, "itself", "run"), "the client ended by itself, the server with the run")
    j.must(abs(client["end_ns"] - run["sim_ns"]) < 100, "the measured time ended with the client")


def multigets(lab, j):
    """16 redis servers and a flow to one client: bolt's p99 of a multiget is far below dctcp's, and near what the bytes take"""
    _, out = lab.run("multiget", "--cc", "bolt,dctcp", "--set", "sample=100us")
    p99 = {}
    for cc in ("bolt", "dctcp"):
        with open(os.path.join(out, cc, "program-16.out"), encoding="utf-8") as f:
            said = f.read()
        j.note(f"{cc}: {said.strip()}")
        p99[cc] = float(re.fullmatch(r"100 multigets: p50 [\d.]+ us, p90 [\d.]+ us, p99 ([\d.]+) us, max [\d.]+ us\n", said)[1])
    # half of the link is 176 us; the bytes alone 88 us
    j.must(88 < p99["bolt"] < 200, f"bolt's p99 is {p99['bolt']} us")
    j.must(p99["dctcp"] > 2 * p99["bolt"], f"dctcp's p99 is {p99['dctcp']} us")


# command, keys, what is said of it (None: nothing)
CASES = (
    (["false"], {}, "exit status 1, not 0"),
    (["sh", "-c", "exit 3"], {"expect": 3}, None),
    (["sh", "-c", "echo the reason >&2; exit 3"], {}, "exit status 3, not 0: the reason"),
    (["sh", "-c", "sleep 1000 &"], {}, "went into the background"),
    (["sh", "-c", "cat /dev/zero >/tmp/filled"], {}, "No space left on device"),
    (["sh", "-c", "yes >&2"], {}, "more than 256 MB"),
    (["sh", "-c", "read x </dev/tty"], {}, "cannot open /dev/tty"),
    (["sh", "-c", "stty size </dev/console"], {}, "Permission denied"),
    (["python3", "-c", "input()"], {}, "EOFError: EOF when reading a line"),
    (["python3", "-c", "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(1000)"], {}, "went into the background"),
    (["sh", "-c", "exec >&-; echo x"], {}, "exit status 1, not 0"),
    (["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1; done"], {}, None),
    (["cat"], {}, None),
    (["sh", "-c", f"echo x >{FORBIDDEN}"], {}, "Read-only file system"),
    (["sh", "-c", "kill -SEGV $$"], {}, "ended by SIGSEGV"),
    (["python3", "-c", "while True: pass"], {}, "without waiting"),
    (["sh", "-c", "python3 -c 'while True: pass'; true"], {}, "without waiting"),
    (["sleep", "1000"], {}, None),
    (["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], {"stop": "1ms"}, None),
    (["sh", "-c", "test $(id -u) != 0 && test $(hostname) = h1 && grep -q h0 /etc/hosts && touch here /tmp/there /run/there && pwd | grep -q ^/"], {}, None),
    (["sleep", "1"], {"ends_run": True}, "had not ended when the run did"),
    (["yes"], {}, "more than 256 MB"),
)


def scenario(lab, cases=CASES, name="misbehave"):
    """Each case a program, on one node beside two others that share the memory."""
    lines = ['name = "misbehave"', 'duration = "20ms"', f'patience = "{SPINS_S}s"', 'switch.qdisc = "pfifo"', "[topology]", 'kind = "star"', "hosts = 4"]
    for command, keys, _ in cases:
        lines += ["[[program]]", 'node = "h1"', f"command = {json.dumps(command)}", *(f"{k} = {json.dumps(v)}" for k, v in keys.items())]
    for n in (2, 3):
        lines += ["[[program]]", f'node = "h{n}"', 'command = "sleep 0.001"']
    directory = os.path.join(lab.out, f"{name}-scenario")
    os.makedirs(directory)
    path = os.path.join(directory, f"{name}.toml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


def kernels():
    """Processes of lab kernels that lost their parent"""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                name, _, rest = f.read().partition("(")[2].rpartition(")")
            state, parent = rest.split()[:2]
            if name == "linux" and parent == "1" and state != "Z":
                found.append(int(entry))
        except OSError:
            pass
    return found


def misbehaving(lab, j):
    """One line for each program that misbehaves, none for the others; nothing is written, no process is left"""
    before = kernels()
    proc = lab.run(scenario(lab), "--cc", "cubic", expect_failure=True)
    lines = [l for l in proc.stderr.splitlines() if l.startswith("lab: misbehave: cubic: program.")]
    for i, (command, _, word) in enumerate(CASES):
        mine = [l for l in lines if f"program.{i} (" in l]
        j.must(len(mine) == (word is not None) and all(word in l for l in mine), f"{' '.join(command)[:50]!r}: {mine or 'nothing is said'}")
    j.must(proc.returncode == 1 and "Traceback" not in proc.stderr, f"exit status {proc.returncode}")
    j.must(not os.path.exists(FORBIDDEN), "nothing was written outside")
    j.must(kernels() == before, "no process is left")
    out = os.path.join(lab.out, f"{lab.n:02}-misbehave.toml", "result.json")
    j.must(os.path.exists(out), "the run was measured all the same")


def of_directory(path):
    """Processes that are at work below it"""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{entry}/cwd").startswith(path):
                found.append(int(entry))
        except OSError:
            pass
    return found


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def killed(lab, j):
    """However the lab is ended while a program computes: no process is left"""
    for how in (signal.SIGTERM, signal.SIGKILL):
        out = os.path.join(lab.out, how.name)
        with subprocess.Popen([LAB, "run", scenario(lab, [(["python3", "-c", "while True: pass"], {}, None)], how.name), "--cc", "cubic", "--no-plots",
                               "--set", "patience=600s", "--out", out], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as proc:
            begun = until(lambda: os.path.exists(os.path.join(out, "cubic", "program-0.out")))
            j.must(begun and of_directory(out), f"{how.name}: {len(of_directory(out))} processes")
            proc.send_signal(how)
        j.must(until(lambda: not of_directory(out)), f"{how.name}: {of_directory(out)} are left")


def late(lab, j):
    """The last program that ends the run ends between the window's end and the load's, 10 ns later"""
    path = scenario(lab, [(["sleep", "0.005"], {"ends_run": True}, None)], "late")
    runs, _ = lab.run(path, "--cc", "cubic")
    end = runs["cubic"].r["programs"][0]["end_ns"]
    runs, _ = lab.run(path, "--cc", "cubic", "--set", f"duration={end - 5}ns")
    r = runs["cubic"].r
    j.must((r["programs"][0]["end_ns"], r["sim_ns"]) == (end, end - 5), f"the program ended at {r['programs'][0]['end_ns']} ns, the window at {r['sim_ns']}")


def stopped_late(lab, j):
    """A `stop` behind the end does not make the drain longer, in which a flow is unfinished"""
    path = scenario(lab, [(["sleep", "9"], {"stop": "1s"}, None)], "stopped")
    sets = ("duration=1ms", "drain=2ms", "flow.0.from=h2", "flow.0.to=h3", "flow.0.bytes=1GB")
    runs, _ = lab.run(path, "--cc", "cubic", *(word for one in sets for word in ("--set", one)))
    end = runs["cubic"].r["programs"][0]["end_ns"]
    j.must(end < 4 * 10**6, f"the program ended at {end / 1e6:.1f} ms, the drain at 3 ms")


def refused(lab, j):
    """Before anything runs, in a line that names the key"""
    for args, word in ((("--set", "program.0.command=no-such-program"), "program.0.command"),
                       (("--set", "program.1.node=h9"), "program.1.node"),
                       (("--backend", "qemu"), "program: --backend qemu"),
                       (("--slow", "10"), "program: ")):
        proc = lab.run("programs", *args, expect_failure=True)
        lines = proc.stderr.strip().splitlines()
        j.must(proc.returncode == 1 and len(lines) == 1 and word in lines[0], f"{' '.join(args)}: {lines}")


CHECKS = {
    "programs are the same twice": unmodified,
    "multigets of a key-value store": multigets,
    "programs that misbehave": misbehaving,
    "programs of a lab that is killed": killed,
    "a program that ends just behind the duration": late,
    "a program that is to be stopped behind the end": stopped_late,
    "programs that cannot be run": refused,
}
