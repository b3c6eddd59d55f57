# SPDX-License-Identifier: GPL-2.0
"""The process that keeps a network up: between the guest, and whoever wants something of it.

The guest asks before it goes on (A), and stands still, its clock included, until it is told to (G). So time passes while
commands run, and only then; as fast as it can, but while one of them has a terminal not faster than the wall's.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import time

from . import frames, guest, programs, stall, state

HELLO = b"\nlab serves\n"
MARKED_FROM = 10**6         # + its number: a command's mark, as programs have theirs
FIRST_NS, LEAST_NS = 10**6, 10**4
MOST_NS = {True: 10**7, False: 10**8}       # with a terminal, without
BUSY_S, IDLE_S = 0.02, 0.005                # of wall time between two questions: more is too much, less is too little
HURRY_S = 1                 # how long a program may compute when somebody wants its end
INTERRUPTS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


class Pace:
    """How long the guest runs before it asks again, and when it may go on."""

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self.interval = FIRST_NS
        self.went, self.virtual, self.due = None, None, 0.0

    def asked(self, virtual_ns, terminal):
        now = self.clock()
        if self.went is not None:
            wall = now - self.went
            if wall > BUSY_S:
                self.interval //= 2
            elif wall < IDLE_S:
                self.interval *= 2
            # what is late is not caught up with
            self.due = max(self.due + (virtual_ns - self.virtual) / 1e9, now)
        self.interval = min(max(self.interval, LEAST_NS), MOST_NS[terminal])
        self.virtual = virtual_ns

    def waits(self, terminal):
        """Seconds until it may go on; 0 where time runs freely."""
        return max(0.0, self.due - self.clock()) if terminal else 0.0

    def goes(self):
        self.went = self.clock()
        return self.interval

    def begins(self):
        """After a standstill."""
        self.interval, self.went, self.due = FIRST_NS, None, self.clock()


class Watch(stall.Watch):
    """Ends a command that keeps time from passing, sooner where somebody wants its end."""

    def __init__(self, server, *args):
        super().__init__(*args)
        self.server = server

    def _reason(self, *_):
        return None, None       # nobody is there to be told

    def _stands(self):
        return self.server.asked is not None


class Client:
    """Of one command."""

    def __init__(self, connection):
        self.connection, self.reader = connection, frames.Reader()
        self.out = bytearray()
        self.number = None
        self.terminal = False
        self.owed = 0               # bytes of what it printed that are still here
        self.closing = False


class Server:
    def __init__(self, path, s, about, command, built):
        self.path, self.about = path, about
        self.selector = selectors.DefaultSelector()
        self.clients, self.commands = set(), {}     # number: client, or None where nobody is there for it any more
        self.terminals = set()
        self.next = 1
        self.reader, self.head = frames.Reader(), b""
        self.asked = None
        self.pace = Pace()
        self.queue, self.out = bytearray(), bytearray()
        self.to_guest = None
        self.ends = None            # the client that wants it down
        (path / state.FIFO).unlink(missing_ok=True)
        os.mkfifo(path / state.FIFO, 0o600)
        with open(path / state.LOG, "wb") as log:
            env = os.environ | {"PATH": f"{os.environ.get('PATH', os.defpath)}:{guest.SBIN}"}
            self.child = subprocess.Popen([*guest.GONE_WITH_US, *command], cwd=path / state.RAW, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=log, env=env)
        os.set_blocking(self.child.stdout.fileno(), False)
        self.selector.register(self.child.stdout, selectors.EVENT_READ, self.guest_says)
        self.patience_s = s.patience / 1e9
        self.watch = Watch(self, s, self.child.pid, built.kdir, path / state.RAW)

    # ---- the guest ----

    def reason(self):
        """Why it has ended, in its own words."""
        lines = guest.own_words((self.path / state.LOG).read_text(errors="replace"))
        return lines[-1].strip() if lines else f"its kernel ended with status {self.child.returncode} and said nothing"

    def guest_says(self, _):
        data = self.child.stdout.read1(1 << 16)
        if not data:
            raise EOFError
        if self.to_guest is None:
            self.head += data
            before, hello, data = self.head.partition(HELLO)
            if not hello:
                return
            self.to_guest = os.open(self.path / state.FIFO, os.O_WRONLY | os.O_NONBLOCK)
            self.listen()
        for kind, number, payload in self.reader.feed(data):
            self.frame(kind, number, payload)

    def frame(self, kind, number, payload):
        if kind == "A":
            virtual, _ = frames.ASKED.unpack(payload)
            self.asked = virtual
            self.watch.patience_s = self.patience_s
            self.pace.asked(virtual, bool(self.terminals))
            return
        client = self.commands.get(number)
        if kind == "X":
            self.commands.pop(number, None)
            self.terminals.discard(number)
            if client:
                self.tell(client, frames.pack("X", 0, payload), close=True)
        elif kind in "ORT" and client:
            client.owed += len(payload) if kind != "T" else 0
            self.tell(client, frames.pack(kind, 0, payload))

    def go_on(self):
        """Lets the guest run, where it waits for that; seconds until it may, None where nothing is to be waited for."""
        if self.asked is None or not self.commands:
            return None
        wait = 0 if self.queue else self.pace.waits(bool(self.terminals))
        if wait > 0:
            return wait
        self.asked = None
        self.send(self.queue + frames.pack("G", 0, frames.U64.pack(self.pace.goes())))
        self.queue = bytearray()
        return None

    def send(self, data):
        self.out += data
        self.flush(None)

    def flush(self, _):
        try:
            while self.out:
                del self.out[:os.write(self.to_guest, self.out[:65536])]
        except BlockingIOError:
            pass
        known = self.to_guest in self.selector.get_map()
        if self.out and not known:
            self.selector.register(self.to_guest, selectors.EVENT_WRITE, self.flush)
        elif known and not self.out:
            self.selector.unregister(self.to_guest)

    # ---- clients ----

    def listen(self):
        with state.short(self.path) as address:
            (self.path / state.SOCKET).unlink(missing_ok=True)
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(address)
        self.socket.listen()
        self.socket.setblocking(False)
        self.selector.register(self.socket, selectors.EVENT_READ, self.accept)
        (self.path / state.ABOUT).write_text(json.dumps(self.about))
        self.ready()

    def ready(self):
        """Told to who started it."""

    def accept(self, _):
        connection, _ = self.socket.accept()
        connection.setblocking(False)
        client = Client(connection)
        self.clients.add(client)
        self.heed(client)

    def heed(self, client):
        """Listens to it, and for when it takes what is here for it."""
        if client not in self.clients:
            return
        want = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.out else 0)
        change = self.selector.modify if client.connection in self.selector.get_map() else self.selector.register
        change(client.connection, want, lambda events: self.client_ready(client, events))

    def client_ready(self, client, events):
        try:
            if events & selectors.EVENT_WRITE:
                self.flush_client(client)
            if events & selectors.EVENT_READ and client in self.clients:
                data = client.connection.recv(1 << 16)
                if not data:
                    raise ConnectionError
                for frame in client.reader.feed(data):
                    self.heard(client, *frame)
                self.heed(client)
        except BlockingIOError:
            pass
        except (OSError, ValueError):
            self.lose(client)

    def heard(self, client, kind, _, payload):
        if kind == "N" and client.number is None:
            self.start(client, json.loads(payload))
        elif kind == "Q":
            self.ends = client
        elif client.number in self.commands and kind in "IESW":
            if kind == "I" and client.terminal and b"\3" in payload or kind == "S" and frames.U32.unpack(payload)[0] in INTERRUPTS:
                self.watch.patience_s = HURRY_S
            self.queue += frames.pack(kind, client.number, payload)

    def start(self, client, wanted):
        client.number, self.next = self.next, self.next + 1
        client.terminal = wanted["terminal"]
        env = wanted["env"] | {programs.MARK: MARKED_FROM + client.number}
        words = programs.words(wanted["node"], int(client.terminal), *wanted["size"], programs.node_file(wanted["node"]), *wanted["user"], wanted["cwd"],
                               wanted["argv"], [f"{k}={v}" for k, v in env.items()])
        if not self.commands:
            self.pace.begins()
        self.commands[client.number] = client
        if client.terminal:
            self.terminals.add(client.number)
        self.queue += frames.pack("N", client.number, words.encode("utf-8", "surrogateescape"))

    def tell(self, client, data, close=False):
        client.out += data
        client.closing |= close
        try:
            self.flush_client(client)
        except BlockingIOError:
            self.heed(client)
        except OSError:
            self.lose(client)

    def flush_client(self, client):
        while client.out:
            del client.out[:client.connection.send(client.out[:65536])]
        if client.owed and client.number in self.commands:
            self.queue += frames.pack("C", client.number, frames.U32.pack(client.owed))
        client.owed = 0
        if client.closing:
            self.lose(client)
        else:
            self.heed(client)

    def lose(self, client):
        """Nobody is there for its command any more."""
        if client not in self.clients:
            return
        self.clients.discard(client)
        if client.connection in self.selector.get_map():
            self.selector.unregister(client.connection)
        client.connection.close()
        if client.number in self.commands:
            self.commands[client.number] = None
            self.terminals.discard(client.number)
            self.queue += frames.pack("K", client.number)
            self.watch.patience_s = HURRY_S

    # ---- from here to its end ----

    def run(self):
        """Until somebody takes it down (None), or it ends by itself: why."""
        with self.watch:
            try:
                while self.ends is None:
                    for key, events in self.selector.select(self.go_on()):
                        key.data(events)
                return None
            except (EOFError, BrokenPipeError):
                self.child.wait()
                return self.reason()
            finally:
                self.stop()

    def stop(self):
        self.child.terminate()
        self.child.wait()

    def farewell(self, why):
        for client in tuple(self.clients):
            client.connection.setblocking(True)
            client.connection.settimeout(1)
            try:
                client.connection.sendall(client.out + (frames.pack("D", 0, why.encode()) if client is not self.ends else b""))
            except OSError:
                pass
            client.connection.close()
