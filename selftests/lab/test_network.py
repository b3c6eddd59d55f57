# SPDX-License-Identifier: GPL-2.0
"""Topologies, routes, qdisc lines, ideal times."""

import unittest

import context
from boltlab import plan, schema, topology


class Topologies(unittest.TestCase):
    def test_dumbbell_rtt_is_exact(self):
        for rtt in ("8us", "10us", "8.002us", "50us"):
            s, net, _ = context.one(sets=[f"topology.rtt={rtt}"])
            self.assertEqual(sum(p.delay for p in net.path("s0", "r1")), s.topology.rtt // 2, rtt)

    def test_hosts_links_have_a_delay_of_their_own(self):
        _, net, _ = context.one(sets=["topology.rtt=16us", "topology.edge_delay=1us"])
        self.assertEqual([p.delay for p in net.path("s0", "r1")], [1000, 6000, 1000])
        _, net, _ = context.one(sets=["topology.kind=leaf-spine", "topology.rtt=10us", "topology.edge_delay=1us", "flow.0.from=h0", "flow.0.to=h7",
                                      "flow.1.from=h1", "flow.1.to=h2"])
        self.assertEqual([p.delay for p in net.path("h0", "h7")], [1000, 1500, 1500, 1000])

    def test_star(self):
        s, net, _ = context.one(sets=["topology.kind=star", "topology.hosts=5", "topology.rtt=5us", "flow.0.from=h0", "flow.0.to=h4",
                                      "flow.1.from=h1", "flow.1.to=h4"])
        self.assertEqual([p.name for p in net.path("h0", "h4")], ["h0-sw", "sw-h4"])
        self.assertEqual(net.path("h0", "h4")[0].delay, 1250)

    def test_leaf_spine_has_a_path_over_every_spine(self):
        s, net, _ = context.one(sets=["topology.kind=leaf-spine", "topology.spines=3", "flow.0.from=h0", "flow.0.to=h7",
                                      "flow.1.from=h1", "flow.1.to=h2"])
        self.assertEqual([p.peer for p in net.alternatives("h0", "h7")], ["p0", "p1", "p2"])
        self.assertEqual([p.name for p in net.path("h0", "h7", 2)], ["h0-l0", "l0-p2", "p2-l1", "l1-h7"])
        self.assertEqual([p.name for p in net.path("h1", "h2")], ["h1-l0", "l0-h2"])

    def test_every_port_has_the_ring_and_what_completes_it(self):
        s, net, load = context.one(sets=["topology.ring=256", "topology.bql=true", "topology.coalesce=1.5us"])
        lines = plan.Plan(s, net, load).lines
        self.assertEqual({line.split()[-1] for line in lines if line.startswith("pair ")}, {"256"})
        self.assertEqual([line for line in lines if line.startswith("completions ")],
                         [f"completions {port.node} {port.dev} 1 1500" for link in net.links for port in link])
        s, net, load = context.one(sets=["topology.ring=256"])
        self.assertFalse([line for line in plan.Plan(s, net, load).lines if line.startswith("completions ")])

    def test_links_one_by_one(self):
        s, net, _ = context.one(context.BASE.replace('"dumbbell"', '"links"') + """
[[link]]
a = "s0"
b = "x"
delay = "1us"
[[link]]
a = "s1"
b = "x"
[[link]]
a = "x"
b = "y"
rate = "40gbit"
delay = "3us"
[[link]]
a = "y"
b = "r0"
[[link]]
a = "y"
b = "r1"
""")
        self.assertEqual((net.hosts, net.switches), (["s0", "s1", "r0", "r1"], ["x", "y"]))
        self.assertEqual([p.name for p in net.path("s0", "r1")], ["s0-x", "x-y", "y-r1"])
        self.assertEqual(net.path("s0", "r1")[1].rate, 40 * 10**9)

    def test_parallel_links_have_names_of_their_own(self):
        _, net, _ = context.one(sets=["topology.paths=2"])
        names = [p.name for p in net.ports["a"]]
        devs = [p.dev for p in net.ports["a"]]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual(len(set(devs)), len(devs))
        self.assertEqual([p.name for p in net.alternatives("s0", "r0")], ["a-b", "a-b.1"])

    def test_addresses_are_distinct(self):
        for ip in (4, 6):
            _, net, _ = context.one(sets=["topology.senders=300", f"topology.ip={ip}"])
            addresses = [net.address(n) for n in net.nodes]
            self.assertEqual(len(set(addresses)), len(addresses))


class Qdiscs(unittest.TestCase):
    def expand(self, line, *sets):
        s, _, _ = context.one(sets=sets)
        return topology.expand_qdisc(line, s, "test.toml", "switch.qdisc")

    LINKS = """
name = "test"
duration = "1ms"
link = [{ a = "h0", b = "x", delay = "3us" }, { a = "x", b = "y", rate = "40gbit" }, { a = "y", b = "h1", rate = "400gbit", delay = "6us" }, { a = "y", b = "h2", delay = "1ms" }]
flow = [{ from = "h0", to = "h1" }]
[topology]
kind = "links"
"""

    def test_quantities_of_links(self):
        s, net, load = context.one(self.LINKS)
        self.assertEqual(topology.expand_qdisc("x {rate} {rtt} {bdp}", s, "test.toml", "switch.qdisc"), "x 40000000000bit 20000ns 100000")
        self.assertIn("; 40gbit, base RTT 20 us, ", topology.describe(s, net))
        self.assertEqual(plan.buffers(s, load, net)[2], 2 * 100_000 + 4 * 10**6)
        schema.slow_down(s, 100, "here")
        self.assertEqual(topology.expand_qdisc("x {rate} {rtt} {bdp}", s, "test.toml", "switch.qdisc"), "x 400000000bit 2000000ns 100000")
        with self.assertRaisesRegex(schema.ScenarioError, "topology.rtt: belongs to topology.kind .*, which is .links. here"):
            context.one(self.LINKS, ["topology.rtt=8us"])

    def test_idle_connections_leave_a_lone_flow_its_send_buffer(self):
        text = (context.TREE / "tools" / "lab" / "scenarios" / "fct-fabric.toml").read_text()
        longer = "topology.rtt=50us"
        for sets, cc, size, limited in (([], "bolt", 262144, False), ([], "dctcp", 262144, True), ([longer], "dctcp", 2 * 625_000, True),
                                        ([longer], "swift", 2 * 625_000, False), ([longer, "host.sndbuf=1MB"], "dctcp", 10**6, False)):
            s, net, load = context.one(text, [*sets, f"cc=[\"{cc}\"]", "workload.messages=2000"])
            self.assertEqual(plan.buffers(s, load, net)[0], size, sets)
            self.assertEqual("host.sndbuf" in (plan.Plan(s, net, load).warning or ""), limited, (sets, cc))

    def test_quantities_scale_with_the_scenario(self):
        self.assertEqual(self.expand("x {bdp} {0.5*bdp} {bdp/4} {mtu} {pkt} {rtt} {rate}"),
                         "x 100000 50000 25000 1500 1514 8000ns 100000000000bit")
        self.assertEqual(self.expand("x {bdp}", "topology.rate=400gbit", "topology.rtt=50us"), "x 2500000")
        self.assertEqual(self.expand("x {bdp}", "topology.core_rate=10gbit"), "x 10000")

    def test_the_port_buffer_is_the_limit_where_none_is_given(self):
        self.assertEqual(self.expand("sfc"), "sfc limit 16000000")
        self.assertEqual(self.expand("pfifo"), "pfifo limit 10568")
        self.assertEqual(self.expand("bfifo limit 5000"), "bfifo limit 5000")
        self.assertEqual(self.expand("fq_codel flows 16"), "fq_codel flows 16 limit 10568")
        self.assertEqual(self.expand("tbf rate 1gbit"), "tbf rate 1gbit")

    def test_what_is_no_number_for_a_qdisc(self):
        for line in ("red min {bdp/0}", "red min {bdp/0.0}", f"red min {{{'9' * 400}*bdp}}", f"red min {{bdp*{'9' * 30}}}",
                     f"red min {{{'9' * 400}*bdp/{'9' * 400}}}"):
            with self.assertRaisesRegex(topology.ScenarioError, "test.toml: switch.qdisc: "):
                self.expand(line)


class Ideal(unittest.TestCase):
    def test_one_packet_pays_every_link(self):
        _, net, _ = context.one()
        # 100 bytes + 52 of headers + 14, three times 13.28 ns at 100 Gb/s, and 4 us
        self.assertEqual(topology.ideal_ns(100, net.path("s0", "r0"), 1500, 4), 4000 + 40)

    def test_until_the_ack_it_is_the_base_rtt_and_the_bytes_at_line_rate(self):
        s, net, load = context.one(context.BASE.replace('to = "r0"', 'to = "r0"\nbytes = "3000B"'), sets=["topology.rtt=8us", "topology.rate=100gbit"])
        # three packets of 1448 bytes at most, each with 52 bytes of headers and a frame of 14
        self.assertEqual(load.messages[0].ideal_ack, 8000 + -(-(3000 + 3 * 66) * 8 // 100))
        _, _, load = context.one(context.BASE.replace('to = "r0"', 'to = "r0"\nbytes = "3000B"'), sets=["topology.core_rate=10gbit"])
        self.assertEqual(load.messages[0].ideal_ack, 8000 + -(-(3000 + 3 * 66) * 8 // 10))

    def test_bulk_is_serialized_once(self):
        _, net, _ = context.one()
        # 1000 packets of 121.12 ns and the last one twice more
        self.assertEqual(topology.ideal_ns(1448 * 1000, net.path("s0", "r0"), 1500, 4), 4000 + 121120 + 243)

    def test_a_short_last_packet_waits_for_the_full_ones(self):
        _, net, _ = context.one()
        # the tenth of nine full packets and one of 67 bytes is behind the ninth at each of three links
        self.assertEqual(topology.ideal_ns(9 * 1448 + 1, net.path("s0", "r0"), 1500, 4), 4000 + -(-(11 * 12112 + 536) // 100))

    def test_the_slowest_link_counts(self):
        _, net, _ = context.one(sets=["topology.core_rate=10gbit"])
        self.assertEqual(topology.ideal_ns(1448 * 1000, net.path("s0", "r0"), 1500, 4), 4000 + 1211200 + 243)
        # a last packet of 67 bytes is 53.6 ns behind the ninth full one, which the last link sends in 121.12 ns
        self.assertEqual(topology.ideal_ns(9 * 1448 + 1, net.path("s0", "r0"), 1500, 4), 4000 + -(-(12112 + 9 * 121120 + 12112 + 536) // 100))


class Watched(unittest.TestCase):
    FABRIC = ('name = "fabric"\nduration = "%s"\ncc = ["reno"]\n[topology]\nkind = "leaf-spine"\nleaves = 4\nspines = 8\nhosts_per_leaf = 8\n'
              '[workload]\ncdf = "websearch"\nload = 0.4\nmessages = 5000\n')

    def names(self, duration, *sets):
        return [p.name for p in plan.watched(*context.one(self.FABRIC % duration, sets=sets))]

    def test_every_equal_cost_way_of_the_traffic(self):
        names = self.names("2ms", "sample=1us")
        self.assertEqual((len(names), len(set(names))), (96, 96))
        one = self.names("2ms", "sample=100ns", "topology.hosts_per_leaf=32", "workload.to=h127")
        self.assertEqual((one[0], set(one[1:9]), {name[3:] for name in one[9:]}), ("l3-h127", {f"p{i}-l3" for i in range(8)}, {f"p{i}" for i in range(8)}))

    def test_where_samples_are_many_those_of_receivers_first(self):
        names = self.names("100ms", "sample=500ns")
        self.assertEqual((len(names), {name[:4] for name in names[:32]}), (64, {f"l{n}-h" for n in range(4)}))
        self.assertTrue(all("p" in name for name in names[32:]))


class Plans(unittest.TestCase):
    def test_rerouted_flow_is_pinned_and_then_moved(self):
        s, net, load = context.one(sets=["topology.paths=2", "event.0.at=500us", "event.0.do=reroute", "event.0.flow=1"])
        lines = plan.Plan(s, net, load).lines
        pins = [line for line in lines if "rule add" in line and line.startswith("exec a")]
        moves = [line for line in lines if line.startswith("at a 500000 ")]
        self.assertEqual((len(pins), len(moves)), (1, 1))
        self.assertIn("lookup 1000", pins[0])
        self.assertIn("lookup 1001", moves[0])
        self.assertLess(int(moves[0].split("pref ")[1].split()[0]), int(pins[0].split("pref ")[1].split()[0]))

    def test_of_two_reroutes_the_later_counts(self):
        """In whatever order the scenario has them."""
        first, second = (["do=reroute", "flow=1", f"at={at}", f"path={path}"] for at, path in (("500us", 1), ("700us", 0)))
        for order in ((first, second), (second, first)):
            lines = plan.Plan(*context.one(sets=["topology.paths=2", *(f"event.{i}.{k}" for i, keys in enumerate(order) for k in keys)])).lines
            prefs = {line.split()[2]: int(line.split("pref ")[1].split()[0]) for line in lines if line.startswith("at a ")}
            self.assertLess(prefs["700000"], prefs["500000"], order)

    def test_qdiscs_are_read_before_an_event_may_replace_them(self):
        for node, command, looks in (("a", "tc qdisc del dev b root", 1), ("s0", "tc qdisc add dev eth0 root fq", 1), ("s0", "ip link set eth0 mtu 1400", 0),
                                     ("s0", "tc filter add dev eth0 parent 1: matchall action drop", 0)):
            lines = plan.Plan(*context.one(sets=["event.0.at=500us", "event.0.do=set", f"event.0.node={node}", f'event.0.command="{command}"'])).lines
            self.assertEqual([line for line in lines if line.startswith("at ")],
                             [f"at {node} 500000 tc-{node}-0.json tc -s -j qdisc show"] * looks + [f"at {node} 500000 - {command}"])
            self.assertEqual(lines.count(f"exec {node} tc-{node}.json tc -s -j qdisc show"), looks)

    def test_quantities_in_the_command_of_an_event(self):
        event = ["event.0.at=500us", "event.0.do=set", "event.0.node=a", 'event.0.command="tc qdisc replace dev b root sfc rate {rate/2} ecn {0.17*bdp}"']
        for slow, rate in ((1, 50 * 10**9), (1000, 50 * 10**6)):
            s, net, load = context.one(sets=event)
            schema.slow_down(s, slow, "here")
            p = plan.Plan(s, net, load)
            command = f"tc qdisc replace dev b root sfc rate {rate}bit ecn 17000 rtt {slow * 10_000}ns"
            self.assertIn(f"at a {slow * 500_000} - {command}", p.lines)
            self.assertIn(f"ip netns exec a {command}", p.commands)
        with self.assertRaisesRegex(schema.ScenarioError, "test.toml: event.0.command: .*braces hold one of rate, bdp"):
            context.one(sets=[*event[:3], 'event.0.command="tc qdisc replace dev b root sfc rate {speed]"'])
        # by its number in the file, not in the order of time
        with self.assertRaisesRegex(schema.ScenarioError, "test.toml: event.0.command: "):
            context.one(sets=[*event[:3], "event.0.command=tc {speed}", "event.1.at=1us", "event.1.do=set", "event.1.node=a", "event.1.command=tc qdisc show"])

    def test_what_is_first_has_its_time_before_the_measurement(self):
        first = ["event.0.at=-1s", "event.0.do=set", "event.0.node=a", 'event.0.command="tc qdisc show"']
        for sets, lead in (([], plan.LEAD_NS), (["event.0.at=500us", *first[1:]], plan.LEAD_NS), (first, plan.LEAD_NS + 10**9),
                           ([*first, "flow.0.start=-2s"], plan.LEAD_NS + 2 * 10**9)):
            go, = (line for line in plan.Plan(*context.one(sets=sets)).lines if line.startswith("go "))
            self.assertEqual(int(go.split()[-1]), lead, sets)

    def test_plan_is_the_same_every_time(self):
        text = context.BASE + '[workload]\ncdf = "websearch"\nload = 0.4\nmessages = 50\n'
        plans = [plan.Plan(*context.one(text, sets=["duration=100ms"])).text() for _ in range(2)]
        self.assertEqual(plans[0], plans[1])

    def test_setup_precedes_load_and_load_precedes_collection(self):
        s, net, load = context.one()
        lines = plan.Plan(s, net, load).lines
        order = [next(i for i, line in enumerate(lines) if line.startswith(w)) for w in
                 ("ns ", "pair ", "net ", "exec a - tc", "listen ", "conn ", "settle", "connect", "msg ", "go ", "flows ")]
        self.assertEqual(order, sorted(order))

    def test_the_least_rto_of_a_route_where_there_is_one(self):
        for sets, least, shown in (([], "0", ""), (["host.rto_min=5ms"], "5", " rto_min 5ms")):
            p = plan.Plan(*context.one(sets=sets))
            self.assertEqual({line.split()[3] for line in p.lines if line.startswith("route default eth0 ")}, {least})
            self.assertIn(f"ip netns exec s0 ip route add default dev eth0{shown}", p.commands)

    def test_congestion_control_of_a_single_flow(self):
        s, net, load = context.one(sets=["flow.1.cc=cubic"])
        conns = [line.split() for line in plan.Plan(s, net, load).lines if line.startswith("conn ")]
        self.assertEqual([c[5] for c in conns], ["bolt", "cubic"])


if __name__ == "__main__":
    unittest.main()
