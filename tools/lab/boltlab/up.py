# SPDX-License-Identifier: GPL-2.0
"""`lab up` and `lab down`: a scenario's network that stays, for commands on its nodes."""

import fcntl
import os
import select
import signal
import time

from . import ask, backends, build, frames, guest, modules, plan, runner, serve, state, topology, traffic
from .build import RunError, progress

KERNEL_MB = 1024            # for what commands do
STARTED_S = 300
DOWN_S = 20
CONSOLE = "console.log"


def up(path, cc, sets, seed, kernel, own):
    modules.check(own)
    if cc and len(cc) > 1:
        raise RunError(f"--cc {','.join(cc)}: a network that is up has one congestion control")
    where = state.directory()
    lock = state.locked(where)
    if not lock:
        known = state.about(where)
        since = f" since {known['since']}" if known else ""
        raise RunError(f"{known.get('name', 'a network')} is up already{since}: `lab down` ends it")
    s = runner.load(path, cc, sets, (seed,) if seed is not None else (), idle=True)[0][1]
    version = kernel or backends.KERNEL
    if not own:
        ask.check_congestion_controls([(s.cc[0], s)], ask.congestion_controls("uml", version), cc is not None)
    built = modules.beside(build.everything(version), own)
    ask.check_settings([(s.cc[0], s)], built, version, cc is not None)
    net = topology.build(s, s.file.name)
    load = traffic.build(s, net, s.file.name)
    for name in (state.DIED, state.ABOUT, state.SOCKET):
        (where / name).unlink(missing_ok=True)
    state.make_guest(where)
    began = time.monotonic()
    command = prepare(s, net, load, built, where, version)
    about = {"name": s.name, "scenario": str(s.file), "cc": s.cc[0], "nodes": net.nodes, "since": time.strftime("%H:%M:%S"), "kernel": built.kernel_release,
             "tools": str(built.tools), "frames": frames.VERSION}
    start(where, lock, s, about, command, built)
    printed = f"; what its programs print is in {where / state.GUEST}" if s.program else ""
    progress(f"{s.name} is up, with {s.cc[0]}: {topology.describe(s, net)}; {len(load.messages)} transfers begin with the first command"
             f" ({time.monotonic() - began:.1f} s){printed}")
    return 0


def prepare(s, net, load, built, where, version):
    """Writes what the guest reads; returns the command that boots it."""
    s.capture, s.explain, s.sample_ports = [], [], []
    for p in s.program:
        p.ends_run = False
    made = plan.Plan(s, net, load, up=os.getcwd())
    raw = where / state.RAW
    (raw / "plan").write_text(made.text([("TC_LIB_DIR", built.tools)]))
    for name, text in made.batches.items():
        (raw / name).write_text(text)
    memory = plan.memory(s, net, load)
    if not s.memory:
        memory = f"{int(memory[:-1]) + KERNEL_MB}M"
    return guest.uml_command(raw, s.seed, memory, version, 1) + [
        "--modules", str(built.modules), "--log", str(where / CONSOLE), "--timeout", str(guest.FOREVER_S), "--input", str(where / state.FIFO),
        "--", str(built.tools / "labguest"), "plan"]


def start(where, lock, s, about, command, built):
    """Leaves a process behind that keeps it up and has the lock, once it takes commands."""
    ready, told = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(ready)
        os._exit(keep(where, s, about, command, built, told))
    os.close(told)
    lock.close()                # the child has it
    try:
        there, _, _ = select.select([ready], [], [], STARTED_S)
        if not there:
            raise RunError(f"{s.name}: it did not begin within {STARTED_S} s")
        said = os.read(ready, 4096).decode()
    except BaseException:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        raise
    if said != "up":
        os.waitpid(pid, 0)
        raise RunError(f"{s.name}: {said or 'it ended at once'}")


def keep(where, s, about, command, built, told):
    """The process in the background, from its first to its last moment."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    os.chdir("/")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    server = serve.Server(where, s, about | {"pid": os.getpid()}, command, built)

    def terminated(*_):
        raise SystemExit

    def ready():
        os.write(told, b"up")
        os.close(told)
    signal.signal(signal.SIGTERM, terminated)
    server.ready = ready
    try:
        why = server.run()
    except SystemExit:
        why = "it was told to end (SIGTERM)"
    except Exception as e:      # the last word of a process that has no other place for it
        why = f"{type(e).__name__}: {e}"
    if server.to_guest is None:
        os.write(told, (why or "it ended before it was up").encode())
    elif why:
        (where / state.DIED).write_text(why)
    server.farewell(why or "it was taken down")
    (where / state.SOCKET).unlink(missing_ok=True)
    if not why:
        forget(where)
    return 0


def forget(where):
    """All that is the network's but the lock, which a next one may wait for."""
    for name in (state.ABOUT, state.DIED, state.SOCKET, state.FIFO, state.LOG, CONSOLE):
        (where / name).unlink(missing_ok=True)
    state.forget_guest(where)


def down():
    where = state.directory()
    lock = state.locked(where)
    if lock:
        why, name = state.died(where), state.about(where).get("name")
        forget(where)
        lock.close()
        if why is None:
            raise RunError("no network is up")
        progress(f"{name} had ended: {why}")
        return 0
    about, connection = state.connect()
    with connection:
        connection.sendall(frames.pack("Q"))
        connection.settimeout(DOWN_S)
        try:
            while connection.recv(4096):
                pass
        except TimeoutError:
            os.kill(about["pid"], signal.SIGKILL)
    with open(where / state.LOCK, "a") as gone:
        fcntl.flock(gone, fcntl.LOCK_EX)
        forget(where)
    progress(f"{about['name']} is down")
    return 0
