# SPDX-License-Identifier: GPL-2.0
"""A network that is up: frames, how fast time passes, what the guest is told, and where the one that is up is found."""

import contextlib
import os
import signal
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import context
from boltlab import attach, build, cli, frames, plan, schema, serve, state, up

IDLE = """
name = "idle"
duration = "1ms"
[topology]
kind = "star"
hosts = 3
"""


class Frames(unittest.TestCase):
    def test_in_pieces(self):
        whole = frames.pack("O", 7, b"abc") + frames.pack("E", 1) + frames.pack("X", 2, b"12345")
        for size in (1, 5, len(whole)):
            reader = frames.Reader()
            found = [f for i in range(0, len(whole), size) for f in reader.feed(whole[i:i + size])]
            self.assertEqual(found, [("O", 7, b"abc"), ("E", 1, b""), ("X", 2, b"12345")])

    def test_too_long(self):
        with self.assertRaises(ValueError):
            list(frames.Reader().feed(frames.HEAD.pack(b"O", 1, frames.MOST + 1)))


class Pace(unittest.TestCase):
    def setUp(self):
        self.now = 100.0
        self.pace = serve.Pace(lambda: self.now)
        self.pace.begins()

    def step(self, virtual_ns, wall_s, terminal):
        self.pace.goes()
        self.now += wall_s
        self.pace.asked(virtual_ns, terminal)
        return self.pace.waits(terminal)

    def test_free_without_a_terminal(self):
        self.pace.asked(0, False)
        self.assertEqual([self.step(i * 10**8, 0.001, False) for i in range(1, 20)], [0.0] * 19)
        self.assertEqual(self.pace.interval, serve.MOST_NS[False])

    def test_not_faster_than_the_wall_with_one(self):
        self.pace.asked(0, True)
        self.assertAlmostEqual(self.step(10**7, 0.001, True), 0.009)
        self.now += 0.009
        self.assertEqual(self.pace.waits(True), 0)

    def test_what_was_late_is_not_caught_up_with(self):
        self.pace.asked(0, True)
        self.assertEqual(self.step(10**7, 5.0, True), 0)
        self.assertAlmostEqual(self.step(2 * 10**7, 0.0, True), 0.01)

    def test_asks_oftener_where_a_question_takes_long(self):
        self.pace.asked(0, False)
        self.step(10**6, 1.0, False)
        self.assertEqual(self.pace.interval, serve.FIRST_NS // 2)
        for i in range(2, 40):
            self.step(i * 10**6, 1.0, False)
        self.assertEqual(self.pace.interval, serve.LEAST_NS)

    def test_a_standstill_is_no_time(self):
        self.pace.asked(0, True)
        self.step(10**7, 0.0, True)
        self.now += 1000
        self.pace.begins()
        self.assertEqual(self.pace.interval, serve.FIRST_NS)
        self.assertAlmostEqual(self.step(2 * 10**7, 0.001, True), 0.009)


class Told(unittest.TestCase):
    def test_nothing_has_to_send(self):
        path = context.write(IDLE)
        with self.assertRaises(schema.ScenarioError):
            schema.load(path)
        self.assertEqual(schema.load(path, idle=True)[0][1].flow, [])

    def test_the_plan(self):
        s, net, load = context.one()
        lines = plan.Plan(s, net, load, up="/srv/x").lines
        self.assertLess(lines.index("serve"), next(i for i, line in enumerate(lines) if line.startswith("go ")))
        self.assertIn("allow", lines)
        self.assertIn("sysctl s0 /proc/sys/net/ipv4/tcp_congestion_control bolt", lines)
        self.assertNotIn("serve", plan.Plan(s, net, load).lines)

    def test_a_job_for_each_node(self):
        s, net, load = context.one()
        batches = plan.Plan(s, net, load, up="/srv/x").batches
        for node in net.nodes:
            self.assertEqual(batches[f"node-{node}.job"].split("\0")[-4:], ["/srv/x", "1", "*", ""])
        self.assertEqual(plan.Plan(s, net, load, up="/proc/1").batches["node-a.job"].count("/proc"), 0)

    def test_who_runs_a_command(self):
        about = {"tools": "/t", "nodes": ["h0"], "name": "x"}
        self.assertNotEqual(attach.wanted(about, "h0", ["id"], False, False)["user"], [0, 0])
        self.assertEqual(attach.wanted(about, "h0", ["id"], False, True)["user"], [0, 0])

    def test_arguments(self):
        for words in (["exec", "h0", "--", "ls", "-l"], ["exec", "h0", "ls", "-l"]):
            with mock.patch.object(attach, "command", return_value=3) as done:
                self.assertEqual(cli.main(words), 3)
            done.assert_called_once_with("h0", ["ls", "-l"], False, False)
        with mock.patch.object(attach, "command", return_value=0) as done:
            cli.main(["exec", "-t", "--privileged", "h0", "--", "sh", "-c", "a -- b"])
        done.assert_called_once_with("h0", ["sh", "-c", "a -- b"], True, True)


class Older(unittest.TestCase):
    def test_a_network_of_another_version_is_refused(self):
        with mock.patch.object(attach.state, "connect", return_value=({"name": "x", "nodes": ["h0"]}, mock.MagicMock())), \
                self.assertRaisesRegex(attach.RunError, "^x was brought up by another version of the lab: [^\n]*$"):
            attach.command("h0", ["true"], False, False)


class PassedOn(unittest.TestCase):
    """A command that reads nothing of an endless stdin"""

    def passed_on(self, size, begin):
        """(status, bytes printed); `begin` begins what the server does."""
        ours, server = socket.socketpair()
        server.settimeout(60)
        printed, stdin = bytearray(), os.dup(0)

        def serves():
            with server:
                server.sendall(b"".join(frames.pack("O", 0, bytes(50_000)) for _ in range(size // 50_000)) + frames.pack("X", 0, frames.U32.pack(7)))

        with ours, open("/dev/zero", "rb") as endless, mock.patch.object(attach, "write_all", lambda _, data: printed.extend(data)):
            ours.sendall(frames.pack("N"))
            os.dup2(endless.fileno(), 0)
            try:
                begin(serves)
                return attach.pass_on(ours, False, "x"), len(printed)
            finally:
                os.dup2(stdin, 0)
                os.close(stdin)

    def test_what_it_said_and_its_status(self):
        for size, begin in ((100_000, lambda serves: serves()), (2_000_000, lambda serves: threading.Thread(target=serves).start())):
            self.assertEqual(self.passed_on(size, begin), (7, size))

    def test_a_terminal_of_others_is_empty(self):
        """At once, and not when somebody types"""
        ours, server = socket.socketpair()
        with ours, server, mock.patch.object(os, "tcgetpgrp", return_value=os.getpgrp() + 1), mock.patch.object(attach, "read_input", self.fail):
            server.sendall(frames.pack("X", 0, frames.U32.pack(7)))
            self.assertEqual(attach.pass_on(ours, False, "x"), 7)
            self.assertEqual(server.recv(64), frames.pack("E"))

    def test_a_terminal_of_others_has_no_input(self):
        with attach.signals([]):
            self.assertEqual(signal.getsignal(signal.SIGTTIN), signal.SIG_IGN)


class Started(unittest.TestCase):
    def test_one_that_does_not_begin_is_ended(self):
        done = mock.Mock()
        with mock.patch.multiple(os, fork=lambda: 7, kill=done.kill, waitpid=done.waitpid), mock.patch.object(up.select, "select", return_value=([], [], [])), \
                self.assertRaisesRegex(up.RunError, "^test: it did not begin within 300 s$"):
            up.start(None, mock.Mock(), context.one()[0], None, None, None)
        self.assertEqual(done.mock_calls, [mock.call.kill(7, signal.SIGTERM), mock.call.waitpid(7, 0)])


class State(unittest.TestCase):
    def setUp(self):
        self.base = Path(tempfile.mkdtemp(prefix="lab-test-"))
        env = {"XDG_RUNTIME_DIR": str(self.base), "BOLT_LAB_CACHE": tempfile.mkdtemp(prefix="lab-test-")}
        for patch in (mock.patch.dict(os.environ, env), mock.patch("builtins.print")):
            patch.start()
            self.addCleanup(patch.stop)

    def test_its_directory_is_ours_alone(self):
        path = state.directory()
        self.assertEqual(path, self.base / "subrtt-lab")
        path.chmod(0o755)
        with self.assertRaisesRegex(state.RunError, "alone"):
            state.directory()

    def test_a_guest_sees_its_files(self):
        """And not the lock's directory, which is below /run with systemd."""
        path = state.directory()
        state.make_guest(path)
        (path / state.RAW / "plan").touch()
        guest = (path / state.GUEST).resolve()
        self.assertTrue(guest.is_relative_to(build.cache()))
        state.make_guest(path)
        self.assertEqual((guest, list((guest / "raw").iterdir())), ((path / state.GUEST).resolve(), []))
        up.forget(path)
        self.assertEqual([*path.iterdir(), *build.cache().iterdir()], [])

    def test_nothing_is_up(self):
        for what in (state.connect, up.down):
            with self.assertRaisesRegex(state.RunError, "no network is up"):
                what()

    def test_a_second_one_is_refused_by_name(self):
        path = state.directory()
        with contextlib.closing(state.locked(path)):
            (path / state.ABOUT).write_text('{"name": "first", "since": "12:00:00"}')
            with self.assertRaisesRegex(state.RunError, "first is up already since 12:00:00: `lab down` ends it"):
                up.up(context.write(IDLE), None, [], None, None, [])

    def test_why_it_ended_is_said_until_it_is_forgotten(self):
        path = state.directory()
        (path / state.ABOUT).write_text('{"name": "first"}')
        (path / state.DIED).write_text("Kernel panic")
        with self.assertRaisesRegex(state.RunError, "first has ended: Kernel panic; `lab up` starts it again"):
            state.connect()
        with mock.patch.object(up, "progress") as told:
            self.assertEqual(up.down(), 0)
        told.assert_called_once_with("first had ended: Kernel panic")
        with self.assertRaisesRegex(state.RunError, "no network is up"):
            up.down()


if __name__ == "__main__":
    unittest.main()
