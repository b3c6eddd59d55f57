# SPDX-License-Identifier: GPL-2.0
"""Arrivals: CDFs, Poisson, incast, HPCC flow lists."""

import unittest
from unittest import mock

import context
from boltlab import runner, schema, topology, traffic
from boltlab.schema import MAX_BYTES, ScenarioError

STAR = """
name = "test"
duration = "{duration}"
[topology]
kind = "star"
hosts = 9
"""


class Cdfs(unittest.TestCase):
    def test_interpolates_between_points(self):
        cdf = traffic.Cdf([(0, 0), (100, 50), (300, 100)])
        self.assertEqual([cdf.sample(u) for u in (0.25, 0.5, 0.75, 0.999999)], [50, 100, 200, 300])

    def test_shipped_files_are_readable(self):
        s, _, _ = context.one()
        names = [p.stem for p in traffic.WORKLOADS.glob("*.cdf")]
        self.assertGreaterEqual(len(names), 4)
        for name in names:
            self.assertGreater(traffic.read_cdf(name, s, "test.toml", "workload.cdf").sample(0.999), 1, name)

    def test_the_rpc_mix_is_what_the_paper_says_of_it(self):
        # Bolt's Figure 1, in BDP of the scenario
        for scenario, name in (("fct-fabric", "rpc-fit"), ("fct-star", "rpc-fit-8us")):
            (_, s), = schema.load(context.TREE / f"tools/lab/scenarios/{scenario}.toml", ["bolt"], [f"workload.cdf={name}"])
            bdp = topology.quantities(s)["bdp"]
            cdf = traffic.read_cdf(s.workload.cdf, s, "test.toml", "workload.cdf")
            sizes = [cdf.sample((i + 0.5) / 10_000) for i in range(10_000)]
            for times, share in ((1, 0.62), (4, 0.80), (16, 0.89)):
                with self.subTest(name, times=times):
                    self.assertEqual(sum(size <= times * bdp for size in sizes) / len(sizes), share)

    def test_the_fits_to_srcc_are_what_its_table_says(self):
        s, _, _ = context.one()
        for name, shares, mean in (("web-server", (0.81, 1), 64e3), ("cache-follower", (0.53, 0.71), 701e3)):
            cdf = traffic.read_cdf(name, s, "test.toml", "workload.cdf")
            sizes = [cdf.sample((i + 0.5) / 10_000) for i in range(10_000)]
            with self.subTest(name):
                self.assertEqual(tuple(sum(size <= most for size in sizes) / len(sizes) for most in (10**5, 10**6)), shares)
                self.assertLess(abs(cdf.mean(lambda size: size) / mean - 1), 0.005)

    def test_the_mean_is_exact(self):
        # one in ten thousand has 90 % of the bytes
        cdf = traffic.Cdf([(1000, 0), (1000, 99.99), (10**8, 99.99), (10**8, 100)])
        self.assertAlmostEqual(cdf.mean(lambda size: size), 0.9999 * 1000 + 10**4)
        self.assertAlmostEqual(traffic.Cdf([(0, 0), (100, 50), (300, 100)]).mean(lambda size: size), 125, delta=0.5)
        self.assertAlmostEqual(traffic.Cdf([(7, 25), (7, 50), (9, 100)]).mean(lambda size: size), 7.5, delta=0.01)

    def test_what_is_offered_is_what_was_asked_for(self):
        s, _, _ = context.one()
        (s.file.parent / "tail.cdf").write_text("1000 0\n1000 99.99\n100000000 99.99\n100000000 100\n")
        for name in ("tail.cdf", *(p.stem for p in traffic.WORKLOADS.glob("*.cdf"))):
            cdf = traffic.read_cdf(name, s, "test.toml", "workload.cdf")
            exact = cdf.mean(lambda size: traffic.wire_bytes(size, s))
            self.assertLess(abs(traffic.mean_wire_bytes(cdf, s) / exact - 1), 0.0051, name)

    def read(self, data):
        s, _, _ = context.one()
        (s.file.parent / "bad.cdf").write_bytes(data)
        return traffic.read_cdf("bad.cdf", s, "test.toml", "workload.cdf")

    def test_broken_files_are_named_with_their_line(self):
        for data, what in ((b"0 0\n10 x\n", "line 2"), (b"0 0\n10 50\n5 100\n", "line 3"), (b"0 0\n10 50\n", "100 percent"),
                           (b"0 0\nnan 50\n10 100", "line 2"), (b"0 nan\n10 100", "line 1"), (b"0 0\ninf 100", "line 2"), (b"0 0\n1e300 100", "line 2"),
                           (b"-5 0\n10 100", "line 1"), (b"0 -5\n10 100", "line 1"), (b"1_0 0\n10 100", "line 1"), (b"0 0\n10 101", "line 2"),
                           (b"\xff 0\n10 100", "UTF-8")):
            with self.assertRaises(ScenarioError, msg=data) as caught:
                self.read(data)
            self.assertIn(what, str(caught.exception))

    def test_any_file_is_taken_or_refused_in_a_line(self):
        def judged(data):
            cdf = self.read(data)
            for u in (0, 0.3, 0.999999):
                self.assertTrue(1 <= cdf.sample(u) <= MAX_BYTES, data)
        context.fuzz(self, judged, "test.toml: workload.cdf: bad.cdf", b"0 0\n1000 10.5\n2e4 60\n30000 100\n")


class Poisson(unittest.TestCase):
    TEXT = 'sample = "10us"\n' + STAR.format(duration="400ms") + '[workload]\ncdf = "facebook-hadoop"\nload = {load}\n{more}'

    def offered(self, load, more="", sets=()):
        s, net, t = context.one(self.TEXT.format(load=load, more=more), sets=sets)
        wire = sum(traffic.wire_bytes(m.bytes, s) for m in t.messages)
        return s, net, t, wire * 8e9 / (s.topology.rate * s.duration)

    def test_load_is_of_the_receivers_link(self):
        s, net, t, offered = self.offered(0.3, 'to = "h0"\n', ["topology.rate=\"10gbit\""])
        self.assertAlmostEqual(offered, 0.3, delta=0.05)
        self.assertEqual({t.pairs[m.pair].dst for m in t.messages}, {"h0"})
        self.assertNotIn("h0", {t.pairs[m.pair].src for m in t.messages})

    def test_load_is_of_the_very_link(self):
        links = "".join(f'[[link]]\na = "h{i}"\nb = "sw"\nrate = "{1 if i == 0 else 10}gbit"\n' for i in range(4))
        text = 'sample = "10us"\nname = "test"\nduration = "4s"\n[topology]\nkind = "links"\n[workload]\ncdf = "facebook-hadoop"\nload = 0.5\n'
        for more in ('to = "h0"\n', ""):
            s, net, t = context.one(text + more + links)
            wire = sum(traffic.wire_bytes(m.bytes, s) for m in t.messages)
            hosts = 1 if more else len(net.hosts)
            self.assertAlmostEqual(wire * 8e9 / (10**9 * s.duration) / hosts, 0.5, delta=0.1)

    def test_a_dumbbell_whose_sides_differ(self):
        text = 'name = "test"\nduration = "1ms"\n[topology]\nkind = "dumbbell"\nsenders = 8\nreceivers = {}\n[workload]\ncdf = "facebook-hadoop"\nload = 0.8\n{}'
        with self.assertRaisesRegex(ScenarioError, "test.toml: workload.load: between 8 senders and 2 receivers, .* offered 3.20 of its link"):
            context.one(text.format(2, ""))
        context.one(text.format(2, 'to = "r0"\n'))
        context.one(text.format(8, ""))
        context.one(text.format(8, "").replace("0.8", "1.2"))

    def test_load_of_all_to_all_is_per_host(self):
        _, net, _, offered = self.offered(0.2, "", ["topology.rate=\"10gbit\"", "duration=\"100ms\""])
        self.assertAlmostEqual(offered / len(net.hosts), 0.2, delta=0.03)

    def test_seed_decides(self):
        first, again, other = (
            [(m.start, m.bytes, m.pair) for m in context.one(self.TEXT.format(load=0.3, more="messages = 40\n"), seed=seed)[2].messages]
            for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_messages_bounds_the_number(self):
        t = self.offered(0.3, "messages = 40\n")[2]
        self.assertEqual((len(t.messages), t.cut), (40, []))

    def test_messages_beyond_the_duration_are_told_of(self):
        s, _, t, _ = self.offered(0.3, "messages = 1000000\n", ["duration=1ms"])
        s.directory = "bolt"
        with mock.patch.object(runner, "progress") as said, mock.patch.object(runner.guest, "run", side_effect=runner.RunError), \
                self.assertRaises(runner.RunError):
            runner.run_one("uml", None, "bolt", s, s.file.parent, "6.12", False, 1)
        said.assert_called_with(f"test: bolt: workload.messages: {len(t.messages)} of 1000000 messages start within the duration")

    def test_same_arrivals_for_every_congestion_control(self):
        loaded = context.load(self.TEXT.format(load=0.3, more="messages = 40\n"), cc=["bolt", "cubic"])
        from boltlab import topology
        a, b = ([(m.start, m.bytes) for m in traffic.build(s, topology.build(s, ""), "").messages] for _, s in loaded)
        self.assertEqual(a, b)


class Incast(unittest.TestCase):
    def messages(self, *sets):
        return context.one(STAR.format(duration="10ms") + '[incast]\ndegree = 8\nbytes = "50KB"\nto = "h0"\n', sets=sets)

    def test_once_and_synchronized(self):
        _, _, t = self.messages()
        self.assertEqual(len(t.messages), 8)
        self.assertEqual({m.start for m in t.messages}, {0})
        self.assertEqual(len({t.pairs[m.pair].src for m in t.messages}), 8)

    def test_sync_window(self):
        _, _, t = self.messages("incast.sync=100us")
        starts = [m.start for m in t.messages]
        self.assertTrue(0 <= min(starts) and max(starts) <= 100_000 and len(set(starts)) > 1)

    def test_what_sync_puts_beyond_the_duration_is_told_of(self):
        s, _, t = self.messages("incast.sync=20ms")
        self.assertTrue(0 < len(t.messages) < 8 and all(m.start < s.duration for m in t.messages))
        self.assertEqual(t.cut, [("incast.sync", len(t.messages), 8)])

    def test_more_flows_than_hosts(self):
        _, _, t = self.messages("incast.degree=20")
        per_host = [sum(1 for m in t.messages if t.pairs[m.pair].src == f"h{i}") for i in range(1, 9)]
        self.assertEqual(sum(per_host), 20)
        self.assertEqual((min(per_host), max(per_host)), (2, 3))
        # none waits for another on its connection, unless somebody asks for that
        self.assertEqual({p.connections for p in t.pairs}, {3})
        self.assertEqual({p.connections for p in self.messages("incast.degree=20", "incast.connections=1")[2].pairs}, {1})
        self.assertEqual({p.connections for p in self.messages()[2].pairs}, {1})

    def test_load_repeats(self):
        s, _, t = self.messages("incast.load=0.3", "duration=\"50ms\"")
        offered = sum(traffic.wire_bytes(m.bytes, s) for m in t.messages) * 8e9 / (s.topology.rate * s.duration)
        self.assertAlmostEqual(offered, 0.3, delta=0.1)

    def test_too_many_are_refused_while_they_are_made(self):
        with mock.patch.object(traffic, "MAX_MESSAGES", 100):
            for incasts, key in (("degree = 64\nload = 0.5\n", "incast.load"), ("degree = 101\nto = \"h0\"\n", "incast")):
                with self.assertRaisesRegex(ScenarioError, f"^test.toml: {key}: more than 100 messages$"):
                    context.one(STAR.format(duration="10ms") + '[incast]\nbytes = "1KB"\n' + incasts)

    def test_without_a_receiver_every_incast_has_another(self):
        text = STAR.format(duration="50ms") + '[incast]\ndegree = 8\nbytes = "50KB"\nload = 0.1\n'
        s, net, t = context.one(text)
        offered = sum(traffic.wire_bytes(m.bytes, s) for m in t.messages) * 8e9 / (s.topology.rate * s.duration)
        self.assertAlmostEqual(offered, 0.1 * len(net.hosts), delta=0.1)
        self.assertEqual({t.pairs[m.pair].dst for m in t.messages}, set(net.hosts))
        self.assertTrue(all(p.src != p.dst for p in t.pairs))


class Ports(unittest.TestCase):
    def fresh(self, n, more=""):
        flow = '[[flow]]\nfrom = "h1"\nto = "h0"\nconnect = "fresh"\nbytes = 1000\n'
        return context.one(STAR.format(duration="1ms") + more + n * flow)[2]

    def test_nobody_sends_from_where_it_listens(self):
        text = '[workload]\ntrace = "flows.txt"\nconnections = 256\n'
        with mock.patch.object(traffic, "read_trace", return_value=[("h0", f"h{i}", 0, 1) for i in range(1, 9)]), \
                mock.patch.object(traffic, "FIRST_SPORT", traffic.FIRST_FRESH + 100):
            pairs = self.fresh(100, text).pairs
        listens = [p.fresh for p in pairs if p.fresh]
        self.assertEqual(len(set(listens)), 100)
        sends = {port for p in pairs if p.src == "h0" for port in range(p.sport, p.sport + p.connections)}
        self.assertEqual(len(sends), 8 * 256)
        self.assertFalse(sends & set(listens))

    def test_a_host_listens_for_so_many(self):
        with mock.patch.object(traffic, "FIRST_SPORT", traffic.FIRST_FRESH + 100), self.assertRaisesRegex(
                ScenarioError, 'test.toml: flow.100.connect: at most 100 flows to h0 can be "fresh"'):
            self.fresh(101)


class Trace(unittest.TestCase):
    def read(self, text, more=""):
        path = context.write(STAR.format(duration="10ms") + f'[workload]\ntrace = "flows.txt"\n{more}')
        (path.parent / "flows.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
        from boltlab import schema, topology
        s = schema.load(path)[0][1]
        return traffic.build(s, topology.build(s, ""), "")

    def test_hpcc_list(self):
        t = self.read("2\n1 0 3 100 4000 2.000001\n8 2 3 100 900 2.000000\n")
        self.assertEqual([(t.pairs[m.pair].src, t.pairs[m.pair].dst, m.start, m.bytes) for m in t.messages],
                         [("h8", "h2", 0, 900), ("h1", "h0", 1000, 4000)])

    def test_flows_beyond_the_duration_are_told_of(self):
        t = self.read("3\n1 0 3 100 4000 2.000001\n8 2 3 100 900 2.000000\n8 2 3 100 900 2.010000\n")
        self.assertEqual((len(t.messages), t.cut), (2, [("workload.trace", 2, 3)]))

    def test_an_incasts_connections_are_its_own(self):
        t = self.read("1\n1 0 3 100 4000 2\n", 'connections = 4\n[incast]\ntrace = "flows.txt"\n')
        self.assertEqual([(t.pairs[m.pair].connections, m.kind) for m in t.messages], [(4, "workload"), (1, "incast")])

    def test_refusals(self):
        for text, what in (("x\n", "line 1"), ("1\n1 0 3\n", "line 2"), ("1\n1 9 3 100 4000 2\n", "line 2"), ("2\n1 0 3 100 4000 2\n", "announces 2"),
                           ("1\n1 0 3 100 4000 inf\n", "line 2"), ("1\n1 0 3 100 4000 nan\n", "line 2"), ("1\n1 0 3 100 4000 -1\n", "line 2"),
                           ("1\n1 0 3 100 99999999999999 1\n", "line 2"), ("1\n1 0 3 100 4_0 1\n", "line 2"), (b"1\n1 0 \xff 100 40 1\n", "UTF-8")):
            with self.assertRaises(ScenarioError) as caught:
                self.read(text)
            self.assertIn(what, str(caught.exception))

    def test_any_file_is_taken_or_refused_in_a_line(self):
        def judged(data):
            for m in self.read(data).messages:
                self.assertTrue(0 <= m.start < 10**7 and 1 <= m.bytes <= MAX_BYTES, data)
        context.fuzz(self, judged, "test.toml: workload", b"3\n1 0 3 100 4000 2.000001\n8 2 3 100 900 2.0\n4 1 3 100 1000 2\n")


if __name__ == "__main__":
    unittest.main()
