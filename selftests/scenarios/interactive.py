# SPDX-License-Identifier: GPL-2.0
"""`lab up`: commands on nodes of a network that stays, with their status, files and terminal; nothing of it is left when it is down."""

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from lab_runs import LAB
from programs import of_directory, until

SCENARIO = """
name = "kept"
duration = "10ms"
[topology]
kind = "star"
hosts = 3
[[program]]
node = "h0"
command = "python3 -m http.server 80"
"""
# The server may not listen yet: `lab up` waits for no program
FETCH = """
import time, urllib.request
for attempt in range(10000):
    began = time.monotonic_ns()
    try:
        urllib.request.urlopen("http://h0/").read()
        print(time.monotonic_ns() - began)
        break
    except OSError:
        time.sleep(0.001)
"""
CLOCK = "python3", "-c", "import time; print(time.monotonic_ns())"


class Kept:
    def __init__(self, out):
        # where systemd has it, if we may
        self.runtime = tempfile.mkdtemp(prefix="lab-test-", dir="/run" if os.access("/run", os.W_OK) else out)
        self.env = {**os.environ, "XDG_RUNTIME_DIR": self.runtime, "SHELL": "/bin/sh"}
        self.path = os.path.join(out, "kept.toml")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(SCENARIO)

    def lab(self, *args, **more):
        return subprocess.run([LAB, *args], capture_output=True, text=True, timeout=300, env=self.env, check=False, **{"stdin": subprocess.DEVNULL, **more})

    def on(self, node, *argv, **more):
        return self.lab("exec", node, "--", *argv, **more)

    def raised(self):
        done = self.lab("up", self.path, "--cc", "cubic")
        self.guest = os.path.realpath(os.path.join(self.runtime, "subrtt-lab", "guest"))
        return done

    def start(self, *args, **more):
        return subprocess.Popen([LAB, *args], env=self.env, **more)


@contextlib.contextmanager
def kept(lab):
    """Down at the end, whatever came of the check"""
    subprocess.run([LAB, "build"], stdout=subprocess.DEVNULL, check=True)      # which takes what it takes
    one = Kept(lab.out)
    done = one.raised()
    try:
        if done.returncode:
            raise RuntimeError(done.stderr)
        yield one
    finally:
        one.lab("down")
        shutil.rmtree(one.runtime)


def commands(lab, j):
    """Status, stdin, stdout and stderr pass through; a second network is refused by name"""
    with kept(lab) as net:
        done = net.on("h1", "sh", "-c", "cat; echo to stderr >&2; exit 7", stdin=None, input="from stdin\n")
        j.must((done.returncode, done.stdout, done.stderr) == (7, "from stdin\n", "to stderr\n"), f"{done.returncode} {done.stdout!r} {done.stderr!r}")
        for argv, status in ((["sh", "-c", "kill -9 $$"], 137), (["no-such-program"], 127), (["hostname"], 0)):
            done = net.on("h1", *argv)
            j.must(done.returncode == status, f"{argv}: {done.returncode} {done.stdout.strip()}{done.stderr.strip()}")
        done = net.on("h1", "python3", "-c", FETCH)
        j.must(done.stdout.strip().isdigit() and 8000 < int(done.stdout) < 100_000, f"a file came from h0 in {done.stdout.strip()} ns {done.stderr.strip()[-200:]}")
        size = 20_000_000
        done = net.on("h1", "wc", "-c", stdin=None, input="x" * size)
        j.must(done.stdout.strip() == str(size), f"{size} bytes of stdin: {done.stdout.strip()}")
        for argv, said in ((["head", "-n", "1"], "line\n"), (["sh", "-c", "head -c 1000000 /dev/zero; cat"], "\0" * 1_000_000 + "line\n" * 400_000)):
            done = net.on("h1", *argv, stdin=None, input="line\n" * 400_000)
            j.must((done.returncode, done.stdout) == (0, said), f"{argv[0]} with 2 MB of stdin: {done.returncode}, {len(done.stdout)} bytes {done.stderr.strip()}")
        done = net.on("h1", "head", "-c", str(size), "/dev/zero")
        j.must(len(done.stdout) == size, f"{size} bytes of stdout: {len(done.stdout)}")
        for args, word in ((("up", "incast"), "kept is up already since"), (("exec", "h9", "--", "true"), "\"h9\" is not a node of kept; the nodes are h0, h1, h2, sw")):
            done = net.lab(*args)
            lines = done.stderr.strip().splitlines()
            j.must(done.returncode == 1 and len(lines) == 1 and word in lines[0], f"{args[0]}: {lines}")
        uid = net.on("h1", "id", "-u").stdout.strip()
        root = net.lab("exec", "--privileged", "sw", "--", "sh", "-c", "id -u; tc qdisc replace dev h0 root sfc rate 10gbit && tc qdisc show dev h0")
        j.must(uid != "0" and re.match(r"0\nqdisc sfc \d+: root .* rate 10Gbit", root.stdout), f"user {uid}, or root: {root.stdout.strip()[:60]!r} {root.stderr.strip()}")
        with net.start("exec", "h1", "--", "sleep", "1000000000", stdin=subprocess.DEVNULL) as sleeper:
            j.must(net.on("h2", "true").returncode == 0, "two commands at once")
            sleeper.terminate()
            j.must(sleeper.wait(60) == 128 + signal.SIGTERM, f"SIGTERM passes through: {sleeper.returncode}")
        with open("/dev/zero", "rb") as endless, net.start("exec", "h1", "--", "sleep", "1000000000", stdin=endless) as sleeper:
            until(lambda: "sleep 1000000000" in net.on("h1", "ps", "ax", "-o", "args").stdout)
            sleeper.terminate()
            j.must(sleeper.wait(60) == 128 + signal.SIGTERM, f"and past a stdin that nobody reads: {sleeper.returncode}")


def clock(lab, j):
    """Time stands still while no command runs, and is free while one does that has no terminal"""
    with kept(lab) as net:
        first = int(net.on("h1", *CLOCK).stdout)
        time.sleep(2)
        second = int(net.on("h1", *CLOCK).stdout)
        j.must(0 < second - first < 10**9, f"{(second - first) / 1e6} ms of virtual time passed in 2 s without a command, and with one of no time")
        began = time.monotonic()
        net.on("h1", "sleep", "300")
        took = time.monotonic() - began
        third = int(net.on("h1", *CLOCK).stdout)
        j.must(300e9 < third - second < 301e9 and took < 60, f"sleep 300 took {took:.1f} s")
        left = [pid for pid in of_directory(net.guest) if cpu(pid) is not None]
        before = [cpu(pid) for pid in left]
        time.sleep(2)
        j.must(left and [cpu(pid) for pid in left] == before, f"without a command none of its {len(left)} processes computes")
        status, said, took = spin(net)
        j.must(status == 128 + signal.SIGILL and "computed or polled without waiting" in said and took < 15, f"who never waits is ended {took:.1f} s after ^C: {status} {said}")
        j.must(net.on("h1", "true").returncode == 0, "and the others go on")


def spin(net):
    """(status, what is said, seconds) of a command that never waits, from ^C on; what it prints nobody sees before it waits"""
    with net.start("exec", "h1", "--", "sh", "-c", "while :; do :; done", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as proc:
        until(lambda: any(computed(pid) > 0.3 for pid in set(of_directory(net.guest)) - {proc.pid}))
        began = time.monotonic()
        proc.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            proc.wait(60)
        proc.kill()
        return proc.wait(), proc.stderr.read(), time.monotonic() - began


def computed(pid):
    """Seconds of CPU in user space"""
    return int((cpu(pid) or [0])[0]) / os.sysconf("SC_CLK_TCK")


def cpu(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[11:13]
    except OSError:
        return None


class Terminal:
    def __init__(self, net, *args):
        self.said = b""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execve(LAB, [LAB, *args], net.env)

    def expect(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.said) and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.said += os.read(self.fd, 4096)
                except OSError:
                    break
        found = re.search(pattern, self.said)
        self.said = self.said[found.end():] if found else self.said
        return found

    def type(self, text):
        os.write(self.fd, text)


def terminal(lab, j):
    """A shell has a terminal with its size and keys; with it time is not faster than the wall's"""
    with kept(lab) as net:
        shell = Terminal(net, "shell", "h1")
        j.must(shell.expect(rb"\$ "), f"a prompt {shell.said[-200:]}")
        shell.type(b"tty; hostname\n")
        j.must(shell.expect(rb"/dev/pts/\d+\r\nh1\r\n"), f"a terminal of h1 {shell.said[-200:]}")
        # before both: the machine may be late, which only makes it more
        began = time.monotonic()
        shell.type(b"cat /proc/uptime; sleep 2; cat /proc/uptime\n")
        begin = shell.expect(rb"\n([\d.]+) ")
        end = shell.expect(rb"\n([\d.]+) ")
        took = time.monotonic() - began
        virtual = float(end[1]) - float(begin[1])
        j.must(1.9 <= virtual <= 2.2 and took >= 1.8, f"sleep 2: {virtual:.2f} s of virtual time, {took:.2f} s on the wall")
        shell.type(b"sleep 1000000\n")
        time.sleep(0.5)
        shell.type(b"\x03")
        shell.type(b"echo st$?\n")
        j.must(shell.expect(rb"st130\r\n"), f"^C {shell.said[-200:]}")
        shell.type(b"exit 5\n")
        j.must(os.waitstatus_to_exitcode(os.waitpid(shell.pid, 0)[1]) == 5, "the shell's exit status")
        os.close(shell.fd)
        done = net.lab("shell", "h2", stdin=None, input="hostname; exit 4\n")
        j.must((done.returncode, done.stdout) == (4, "h2\n"), f"a script on stdin: {done}")


def ends(lab, j):
    """However a command or the network ends: one line, and no process is left"""
    with kept(lab) as net:
        with net.start("exec", "h1", "--", "sleep", "1000000000", stdin=subprocess.DEVNULL) as sleeper:
            until(lambda: "sleep 1000000000" in net.on("h1", "ps", "ax", "-o", "args").stdout)
            sleeper.kill()
        j.must(until(lambda: "sleep 1000000000" not in net.on("h1", "ps", "ax", "-o", "args").stdout), "a command whose client is killed ends")
        with net.start("exec", "h1", "--", "sleep", "1000000000", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as sleeper:
            j.must(net.on("h1", "true").returncode == 0, "a second command")
            os.kill(next(pid for pid in of_directory(net.guest) if is_kernel(pid)), signal.SIGKILL)
            said = sleeper.communicate(timeout=60)[1].strip().splitlines()
            j.must(sleeper.returncode == 125 and len(said) == 1 and said[0].startswith("lab: kept has ended: "), f"the kernel is killed: {sleeper.returncode} {said}")
        until(lambda: not of_directory(net.guest))
        done = net.on("h1", "true")
        j.must(done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "kept has ended: " in done.stderr, f"and a command after it: {done.stderr.strip()}")
        j.must(net.raised().returncode == 0 and net.on("h1", "true").returncode == 0, "it is up again")
        net.on("h1", "sh", "-c", "sleep 1000000000 & sleep 1000000001 &")
        there = of_directory(net.guest)
        done = net.lab("down")
        j.must(done.returncode == 0 and there and not of_directory(net.guest), f"down leaves none of {len(there)} processes: {of_directory(net.guest)} {done.stderr.strip()}")
        j.must(os.listdir(os.path.join(net.runtime, "subrtt-lab")) == ["lock"], "nor a file")
        done = net.lab("down")
        j.must(done.returncode == 1 and done.stderr == "lab: no network is up\n", f"a second down: {done.stderr.strip()}")


def is_kernel(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "linux" and of_parent(pid) == "run"
    except OSError:
        return False


def of_parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        parent = f.read().rpartition(")")[2].split()[1]
    with open(f"/proc/{parent}/comm", encoding="utf-8") as f:
        return f.read().strip()


CHECKS = {
    "a network that is up takes commands": commands,
    "a network that is up stands still": clock,
    "a shell on a node": terminal,
    "a network that is up ends": ends,
}
