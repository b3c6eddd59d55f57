# SPDX-License-Identifier: GPL-2.0
"""What a scenario may say, and what is said about one that may not."""

import dataclasses
import re
import tomllib
import unittest
from unittest import mock

import context
from boltlab import schema, topology
from boltlab.schema import ScenarioError


class Accepts(unittest.TestCase):
    def test_defaults(self):
        s, _, _ = context.one()
        self.assertEqual((s.topology.rate, s.topology.rtt, s.topology.mtu, s.topology.receivers), (10**11, 8000, 1500, 2))
        self.assertEqual((s.switch.qdisc, s.host.qdisc, s.host.rto_min, s.cc), ("sfc", "pfifo", None, ["bolt"]))
        self.assertIsNone(s.flow[0].bytes)

    def test_set_reaches_tables_lists_and_sysctls(self):
        s, _, _ = context.one(sets=["topology.rate=400gbit", "switch.qdisc=sfc nopru", "flow.1.start=\"900us\"",
                                    "host.sysctl.net.ipv4.tcp_sack=0", "topology.senders=3", "flow.2.from=s2", "flow.2.to=r0"])
        self.assertEqual(s.topology.rate, 400 * 10**9)
        self.assertEqual(s.switch.qdisc, "sfc nopru")
        self.assertEqual(s.flow[1].start, 900_000)
        self.assertEqual(s.host.sysctl, {"net.ipv4.tcp_sack": "0"})
        self.assertEqual((len(s.flow), s.flow[2].from_), (3, "s2"))

    def test_cc_and_seed_of_the_command_line(self):
        loaded = context.load(cc=["cubic", "dctcp"], seed=7)
        self.assertEqual([cc for cc, _ in loaded], ["cubic", "dctcp"])
        self.assertEqual([s.seed for _, s in loaded], [7, 7])

    def test_a_flow_that_counts(self):
        text = context.BASE + '[[flow]]\nfrom = "s1"\nto = "r0"\ncount = 0\napart = "5us"\nstart = "7us"\n'
        text += '[[event]]\nat = "300us"\ndo = "stop"\nflow = 1\ncount = 2\napart = "1us"\n'
        s, _, _ = context.one(text, ["topology.senders=4"])
        self.assertEqual([(f.from_, f.to, f.start) for f in s.flow[2:]], [("s1", "r0", 7000), ("s2", "r0", 12000), ("s3", "r0", 17000)])
        self.assertEqual([(e.flow, e.at) for e in s.event], [(1, 300_000), (2, 301_000)])
        s, _, _ = context.one(text, ["topology.senders=4", "flow.2.to_next=true", "flow.2.to=r1", "flow.2.count=2"])
        self.assertEqual([(f.from_, f.to) for f in s.flow[2:]], [("s1", "r1"), ("s2", "r2")])
        with self.assertRaisesRegex(schema.ScenarioError, "flow.2.count: there are 3 hosts from s1 on"):
            context.one(text, ["topology.senders=4", "flow.2.count=4"])
        with self.assertRaisesRegex(schema.ScenarioError, 'flow.2.from: "x" has no number'):
            context.one(text, ["flow.2.from=x"])

    def test_when_applies_to_its_congestion_controls_only(self):
        text = context.BASE + '[when."cubic,reno"]\nswitch.qdisc = "pfifo"\n[when.dctcp]\ntopology.mtu = 9000\n'
        by = dict(context.load(text, cc=["bolt", "cubic", "reno", "dctcp"]))
        self.assertEqual([by[c].switch.qdisc for c in ("bolt", "cubic", "reno", "dctcp")], ["sfc", "pfifo", "pfifo", "sfc"])
        self.assertEqual([by[c].topology.mtu for c in ("bolt", "dctcp")], [1500, 9000])

    def test_set_has_the_last_word_over_when(self):
        text = context.BASE + '[when.cubic]\nswitch.qdisc = "pfifo"\n'
        by = dict(context.load(text, cc=["cubic"], sets=["switch.qdisc=fq_codel"]))
        self.assertEqual(by["cubic"].switch.qdisc, "fq_codel")
        by = dict(context.load(text, cc=["cubic", "bolt"], sets=["when.cubic.switch.qdisc=codel"]))
        self.assertEqual((by["cubic"].switch.qdisc, by["bolt"].switch.qdisc), ("codel", "sfc"))

    def test_a_sysctl_is_the_same_in_any_spelling(self):
        spellings = ('"net.ipv4.tcp_ecn" = {}', "net.ipv4.tcp_ecn = {}", "net.ipv4 = {{ tcp_ecn = {} }}", '"net/ipv4/tcp_ecn" = {}')
        for base in spellings:
            for other in spellings:
                text = context.BASE + f"[host.sysctl]\n{base.format(0)}\n[when.cubic.host.sysctl]\n{other.format(1)}\n"
                by = dict(context.load(text, cc=["cubic", "bolt"]))
                self.assertEqual([by[cc].host.sysctl for cc in ("bolt", "cubic")], [{"net.ipv4.tcp_ecn": v} for v in "01"], text)
                for one in ("net.ipv4.tcp_ecn=2", "net/ipv4/tcp_ecn=2", "net.ipv4={tcp_ecn=2}"):
                    by = dict(context.load(text, cc=["cubic", "bolt"], sets=["host.sysctl.net.ipv4.tcp_ecn=3", f"host.sysctl.{one}"]))
                    self.assertEqual([by[cc].host.sysctl for cc in ("bolt", "cubic")], 2 * [{"net.ipv4.tcp_ecn": "2"}], (text, one))

    def test_a_reroute_brings_its_second_path(self):
        s, net, _ = context.one(sets=["event.0.at=1us", "event.0.do=reroute", "event.0.flow=0"])
        self.assertEqual((s.topology.paths, len(net.alternatives("s0", "r0"))), (2, 2))
        self.assertEqual(context.one()[0].topology.paths, 1)

    def test_shipped_scenarios(self):
        shipped = sorted((context.TREE / "tools/lab/scenarios").glob("*.toml"))
        self.assertGreaterEqual(len(shipped), 7)
        # whatever programs this machine has
        with mock.patch("boltlab.programs.shutil.which", return_value="/bin/true"):
            for path in shipped:
                for _, s in schema.load(path, cc=["bolt", "cubic", "dctcp"]):
                    self.assertTrue(s.about, path)


class Refuses(unittest.TestCase):
    def refused(self, key, *sets, text=context.BASE, cc=None):
        with self.assertRaises(ScenarioError) as caught:
            context.load(text, cc=cc, sets=sets)
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        self.assertIn(key, message)
        return message

    def test_unknown_keys_name_file_key_and_what_is_allowed(self):
        message = self.refused("topology.speed", "topology.speed=1gbit")
        self.assertIn("test.toml", message)
        self.assertIn("rate", message)
        self.refused("flow.0.size", "flow.0.size=1KB")
        self.refused("topolgy", "topolgy.rate=1gbit")

    def test_impossible_values(self):
        for key, value in (("topology.rate", "fast"), ("topology.rate", "1bit"), ("topology.mtu", "100"), ("topology.kind", "ring"),
                           ("topology.senders", "0"), ("topology.buffer", "0B"), ("topology.rtt", "-8us"), ("topology.ip", "5"),
                           ("duration", "0us"), ("duration", "10"), ("sample", "1ns"), ("seed", "-1"), ("bins", "[]"), ("bins", "[\"2KB\", \"1KB\"]"), ("sample_ports", "[\"a-c\"]"), ("epochs", "10"), ("epochs", "[\"0us\"]"), ("flow.0.count", "-1"), ("flow.0.to_next", "1"), ("seed", "1.5"),
                           ("cc", "[]"), ("cc", "[\"Bolt\"]"), ("cc", "[\"bolt\", \"bolt\"]"), ("flow.0.bytes", "never"), ("flow.0.dscp", "64"),
                           ("flow.0.bytes", "0B"), ("flow.0.connect", "later"), ("host.rto_min", "1.5ms"), ("memory", "lots"),
                           ("topology.ring", "true"), ("topology.ring", "0"), ("topology.ring", "4097"), ("topology.bql", "1"),
                           ("topology.coalesce", "2s"), ("topology.coalesce", "-1us"), ("topology.coalesce", "8")):
            message = self.refused(key, f"{key}={value}")
            self.assertTrue(message.startswith("test.toml: "), message)

    def test_a_sysctl_is_one_line(self):
        for side in "host", "switch":
            self.refused("net.ipv4.tcp_sack", text=context.BASE + f'[{side}.sysctl]\n"net.ipv4.tcp_sack" = "1\\nrun true"\n')

    def test_delay_of_the_hosts_links(self):
        self.refused("topology.edge_delay", "topology.edge_delay=2.1us")

    def test_mtu(self):
        self.refused("topology.mtu", "topology.mtu=65522")
        self.refused("topology.mtu", "topology.mtu=1279", "topology.ip=6")
        for sets in (["topology.mtu=65521"], ["topology.mtu=1280", "topology.ip=6"], ["topology.mtu=1279"]):
            context.one(sets=sets)

    def test_hosts_that_do_not_exist(self):
        self.assertIn("s0, s1", self.refused("flow.0.to", "flow.0.to=r9"))
        self.refused("flow.0.to", "flow.0.to=s0")
        self.refused("flow.1.from", "flow.1.from=a")

    def test_events(self):
        self.refused("event.0.flow", "event.0.at=1us", "event.0.do=stop")
        self.refused("event.0.flow", "event.0.at=1us", "event.0.do=stop", "event.0.flow=2")
        self.refused("event.0.at", "event.0.at=2ms", "event.0.do=stop", "event.0.flow=0")
        self.refused("event.0.at: is before flow 1 starts (100 us)", "event.0.at=99us", "event.0.do=stop", "event.0.flow=1")
        context.one(sets=["event.0.at=100us", "event.0.do=stop", "event.0.flow=1"])
        self.refused("event.0.flow", "event.0.at=1us", "event.0.do=set", "event.0.node=a", "event.0.command=tc x", "event.0.flow=0")
        self.assertIn("topology.paths", self.refused("event.0.do", "topology.paths=1", "event.0.at=1us",
                                                      "event.0.do=reroute", "event.0.flow=0"))
        for tool in ("tc", "ip", "sysctl", "ethtool"):
            context.one(sets=["event.0.at=1us", "event.0.do=set", "event.0.node=a", f"event.0.command={tool} x"])
            self.assertIn(tool, self.refused("event.0.command", "event.0.at=1us", "event.0.do=set", "event.0.node=a", "event.0.command=reboot"))
        self.refused("event.0.path", "topology.paths=2", "event.0.at=1us", "event.0.do=reroute", "event.0.flow=0", "event.0.path=2")
        self.refused("event.0.command", "event.0.at=1us", "event.0.do=set", "event.0.node=a")
        self.refused("event.0.node", "event.0.at=1us", "event.0.do=set", "event.0.node=x", "event.0.command=tc qdisc show")
        self.refused("event.0.command", "event.0.at=1us", "event.0.do=set", "event.0.node=a", "event.0.command=reboot")

    def test_missing_keys_and_tables(self):
        self.refused("name", text=context.BASE.replace('name = "test"\n', ""))
        self.refused("topology", text='name = "x"\nduration = "1ms"\n')
        self.refused("flow", text='name = "x"\nduration = "1ms"\n[topology]\nkind = "star"\n')
        self.refused("incast.degree", "incast.bytes=1KB", "incast.to=r0")
        self.refused("incast.to", "incast.degree=2", "incast.bytes=1KB")
        self.refused("workload.cdf", "workload.load=0.5")

    def test_missing_files(self):
        with self.assertRaises(ScenarioError) as caught:
            schema.load("/nonexistent/x.toml")
        self.assertIn("/nonexistent/x.toml", str(caught.exception))
        self.assertIn("websearch", self.refused("workload.cdf", "workload.cdf=nothere"))
        self.refused("incast.trace", "incast.trace=nothere.txt")

    def test_not_toml(self):
        self.refused("is not TOML", text="name = \n")
        self.refused("is not TOML", text="name = " + "[" * 100_000)
        self.refused("is not TOML", text="name = " + "9" * 5000)

    def test_indices_that_are_none(self):
        for index in ("\u00b2", "\u0663", "9" * 5000):
            self.refused("flow", f"flow.{index}.from=s0")
        self.refused("duration", "duration=" + "9" * 5000)

    def test_epochs_are_of_samples(self):
        self.refused("epochs.0", "sample=1ms", "epochs=[\"200us\"]")
        self.refused("epochs.1", "sample=100us", "epochs=[\"200us\", \"250us\"]")

    def test_set_itself(self):
        for bad in ("topology.rate", "=1", "flow.7.start=1us", "duration.x=1", "flow.x.start=1us"):
            self.refused(f"--set {bad}", bad)

    def test_links(self):
        self.refused("link", "topology.kind=links")
        self.refused("link", "link.0.a=x", "link.0.b=y")
        text = context.BASE.replace('"dumbbell"', '"links"')
        self.refused("link.0.b", "link.0.a=s0", "link.0.b=s0", text=text)
        self.refused("no path", "link.0.a=s0", "link.0.b=x", "link.1.a=x", "link.1.b=y", "link.2.a=p", "link.2.b=q",
                     "link.3.a=q", "link.3.b=o", text=text)

    def test_names_that_are_not_a_nodes(self):
        text = context.BASE.replace('"dumbbell"', '"links"')
        for name in schema.RESERVED:
            self.refused(f'link.0.b: "{name}" is reserved', "link.0.a=s0", f"link.0.b={name}", text=text)
        self.refused("has a NUL", text=context.BASE + '[switch]\nqdisc = "\\u0000"\n')
        self.refused("switch.qdisc: ", "switch.qdisc=\udcff")

    def test_any_value_is_taken_or_refused_in_a_line(self):
        odd = ("nan", "-inf", "-1", "1e400", "9" * 30, "true", '""', '"\\u0000"', '"\\u0663us"', '"9999999999999999999999s"', "[]", "[nan]", '[""]', "{}", "{ a.b = nan }",
               "1979-05-27", '"../../x"', '"' + 5000 * "x" + '"', '"{bdp"', '"{9**9}"', '"lo"')
        taken = refused = 0
        text = context.BASE + """
[workload]
cdf = "websearch"
load = 0.01
[switch]
qdisc = "sfc"
sysctl.net.ipv4.ip_forward = 1
[[fault]]
do = "loss"
at = "1us"
link = "a-b"
share = 1
[[program]]
node = "s0"
command = "true"
"""
        lines = text.splitlines()
        for i, line in enumerate(lines):
            key, equals, _ = line.partition("=")
            for value in odd if equals else ():
                try:
                    schema.load(context.write("\n".join([*lines[:i], f"{key}= {value}", *lines[i + 1:]])))
                    taken += 1
                except ScenarioError as e:
                    refused += 1
                    self.assertRegex(str(e), r"\A\S*test\.toml: .+\Z")
                except Exception as e:  # pylint: disable=broad-except # what a user would see as a traceback
                    self.fail(f"{key}= {value[:40]}: {e!r}")
        self.assertTrue(taken and refused > taken, (taken, refused))

    def test_qdisc_braces(self):
        self.refused("{bpd}", "switch.qdisc=red min {bpd}")
        self.refused("switch.qdisc", "switch.qdisc=red min {bdp")

    def test_when_is_checked_though_not_run(self):
        text = context.BASE + "[when.cubic]\nswitch.qdsic = \"pfifo\"\n"
        self.refused("when.cubic", text=text, cc=["bolt"])
        self.refused("when.cubic.name", text=context.BASE + "[when.cubic]\nname = \"x\"\n")

    def test_flow_beyond_the_end(self):
        self.refused("flow.1.start", "flow.1.start=1ms")


STAR = ("topology.kind=star", "flow.0.from=h0", "flow.0.to=h1", "flow.1.from=h1", "flow.1.to=h2")
FABRIC = ("topology.kind=leaf-spine", *STAR[1:])
LINKS = ("topology.kind=links", *(f"link.{i}.{k}={v}" for i, pair in enumerate((("s0", "a"), ("s1", "a"), ("a", "b"), ("b", "r0"), ("b", "r1")))
                                  for k, v in zip("ab", pair)))
RATES = (*LINKS, *(f"link.{i}.rate=1gbit" for i in range(5)))
STOP, REROUTE, SET = (("event.0.at=200us", f"event.0.do={do}", *more) for do, more in (
    ("stop", ["event.0.flow=0"]), ("reroute", ["event.0.flow=0"]), ("set", ["event.0.node=a", "event.0.command=tc x"])))
ON_LINK = ("fault.0.at=0us", "fault.0.link=a-b")
FINITE = ("flow.0.bytes=1KB",)
PROGRAM = ("program.0.node=s0", 'program.0.command="true"')
# what is refused, where the rest of the scenario is this, and where it is not
IDLE = (
    (("topology.senders=2", "topology.receivers=2", "topology.paths=2"), 'belongs to topology.kind "dumbbell", which is "', (STAR, FABRIC, LINKS), ()),
    (("topology.hosts=3",), 'belongs to topology.kind "star", which is "', ((), FABRIC, LINKS), STAR),
    (("topology.leaves=2", "topology.spines=2", "topology.hosts_per_leaf=3"), 'belongs to topology.kind "leaf-spine", which is "', ((), STAR, LINKS), FABRIC),
    (("topology.edge_delay=1us",), 'belongs to topology.kind "dumbbell" or "leaf-spine", which is "', (STAR, LINKS), FABRIC),
    (("topology.core_rate=1gbit",), 'belongs to topology.kind "dumbbell" or "leaf-spine" or "links", which is "', (STAR,), LINKS),
    (("topology.core_rate=1gbit",), "no link between switches is without a rate", (RATES, LINKS + ("link.2.rate=1gbit",)), LINKS),
    (("topology.rate=1gbit",), "every link has a rate", (RATES,), LINKS),
    (("topology.rtt=1us",), 'which is "links"', (LINKS,), FABRIC),
    (("switch.qdisc=fq", "switch.edge_qdisc=fq", "switch.sysctl={}"), "there is no switch",
     (("topology.kind=links", "link.0.a=s0", "link.0.b=r0", 'flow=[{from="s0",to="r0"}]'),), LINKS),
    (("flow.0.apart=1us", "flow.0.to_next=true"), "without flow.0.count", ((),), ("flow.0.count=1",)),
    (("event.0.flow=0",), 'belongs to event.0.do "stop" or "reroute", which is "set"', (SET,), STOP),
    (("event.0.path=1",), 'belongs to event.0.do "reroute", which is "', (STOP, SET), REROUTE),
    (("event.0.node=a", "event.0.command=tc x"), 'belongs to event.0.do "set", which is "', (STOP, REROUTE), SET),
    (("event.0.apart=1us",), "without event.0.count", (STOP,), (*STOP, "event.0.count=1")),
    (("fault.0.link=a-b",), "belongs to fault.0.do", (("fault.0.at=0us", "fault.0.do=stop", "fault.0.node=s0"),), (*ON_LINK, "fault.0.do=down")),
    (("fault.0.node=s0",), "belongs to fault.0.do", ((*ON_LINK, "fault.0.do=down"),), ("fault.0.at=0us", "fault.0.do=stop")),
    (("fault.0.share=1",), "belongs to fault.0.do", ((*ON_LINK, "fault.0.do=down"),), (*ON_LINK, "fault.0.do=loss")),
    (("fault.0.late=1us",), "belongs to fault.0.do", ((*ON_LINK, "fault.0.do=loss", "fault.0.share=1"),), (*ON_LINK, "fault.0.do=reorder", "fault.0.share=1")),
    (("workload.cdf=websearch", "workload.load=0.5", "workload.to=r0", "workload.messages=5"), "beside workload.trace", (("workload.trace=TRACE",),),
     ("workload.cdf=websearch",)),
    (("incast.degree=2", "incast.bytes=1KB", "incast.to=r0", "incast.sync=0us", "incast.load=0.5", "incast.start=0us"), "beside incast.trace", (("incast.trace=TRACE",),),
     ("incast.degree=2", "incast.bytes=1KB", "incast.to=r0")),
    (("settle=1ms",), "without epochs", ((),), ('epochs=["200us"]',)),
    (("capture_bytes=64", "capture_mb=1"), "without capture", ((), ("capture=[]",)), ('capture=["a-b"]',)),
    (("explain_mb=1",), "without explain", ((),), (*FINITE, "explain=[0]")),
    (("explain=all", "drain=1ms", 'bins=["1KB"]'), "no flow has an end", ((), PROGRAM), FINITE),
    (("sample_flows=2",), "no flow has a time series",
     (("flow=[]", "workload.cdf=websearch"), ("flow=[]", *PROGRAM), ("flow.0.connect=fresh", "flow.1.connect=fresh")), ("flow=[]", "workload.cdf=websearch", "workload.connections=1")),
    (('epochs=["200us"]',), "no two [[flow]] have a time series", (("sample_flows=1",), ("flow.1.connect=fresh",), ("flow=[]", "workload.cdf=websearch", "workload.connections=1")), ()),
    (("host.sndbuf=1MB", "host.rcvbuf=1MB"), "there is no flow", (("flow=[]", *PROGRAM),), PROGRAM),
    (("host.sysctl.net.ipv4.tcp_congestion_control=cubic",), "cc, --cc and flow.N.cc choose it", ((),), PROGRAM),
    (("host.sysctl.net.ipv4.tcp_wmem=1 2 3",), "host.sndbuf", ((),), PROGRAM),
    (("host.sysctl.net.ipv4.tcp_rmem=1 2 3",), "host.rcvbuf", ((),), PROGRAM),
    (("host.sysctl.net.ipv4.tcp_rto_min_us=5000",), "host.rto_min", (("host.rto_min=5ms",),), ()),
    (("host.sysctl.net.ipv4.tcp_no_metrics_save=0",), "host.cwnd", (("host.cwnd=9",),), ()),
    (("host.initcwnd=10",), "has no effect beyond host.cwnd, which is 9", (("host.cwnd=9",),), ("host.cwnd=10",)),
    (('cc=["bolt"]',), "every flow has a cc of its own", (("flow.0.cc=cubic", "flow.1.cc=reno"),), ("flow.0.cc=cubic", "flow.1.cc=bolt")),
)


class WithoutEffect(unittest.TestCase):
    """A key that another one leaves without effect is refused by name; beside others it is not."""

    def test_every_combination(self):
        trace = context.write("1\n0 2 3 100 5000 0\n").rename(context.KEPT.name + "/trace.txt")
        self.enterContext(mock.patch("boltlab.programs.shutil.which", return_value="/bin/true"))

        def load(*sets):
            schema.load(context.write(context.BASE), sets=[one.replace("TRACE", str(trace)) for one in sets])

        for keys, why, refused, taken in IDLE:
            for one in keys:
                path = one.partition("=")[0]
                with self.subTest(one, taken=taken):
                    load(*taken, one)
                for rest in refused:
                    with self.subTest(one, rest=rest), self.assertRaisesRegex(ScenarioError, rf"\Atest\.toml: {re.escape(path)}: .*{re.escape(why)}.*\Z"):
                        load(*rest, one)

    def test_links_are_of_their_kind(self):
        with self.assertRaisesRegex(ScenarioError, r'test\.toml: link: belongs to topology\.kind "links", which is "star" here'):
            context.load(sets=[*LINKS, *STAR])

    def test_keys_that_say_so_are_among_them(self):
        """Of each that has a `beside`."""
        names = {re.sub(r"\.\d+\.", ".", one.partition("=")[0]) for keys, *_ in IDLE for one in keys}
        for f in dataclasses.fields(schema.Scenario):
            of = f.metadata.get("table") or f.metadata.get("tables")
            for key in (f,) if not of else dataclasses.fields(of):
                if key.metadata.get("beside"):
                    self.assertIn(f"{f.name}.{key.name}" if of else key.name, names)

    def test_network_that_is_up(self):
        """Where nothing is measured."""
        schema.load(context.write(context.BASE), sets=["drain=1ms", "host.sysctl.net.ipv4.tcp_rmem=1 2 3"], idle=True)


class Slower(unittest.TestCase):
    def test_rates_and_times_but_nothing_else(self):
        s, _, _ = context.one(sets=["flow.1.start=-3us", "event.0.at=7us", "event.0.do=stop", "event.0.flow=0",
                                    "topology.core_rate=40gbit", "host.rto_min=5ms", "switch.qdisc=sfc rate 1gbit"])
        before = (s.duration, s.sample, s.drain, s.topology.rtt, s.host.rto_min)
        schema.slow_down(s, 1000, "here")
        self.assertEqual((s.duration, s.sample, s.drain, s.topology.rtt, s.host.rto_min), tuple(1000 * t for t in before))
        self.assertEqual((s.topology.rate, s.topology.core_rate), (10**8, 4 * 10**7))
        self.assertEqual((s.flow[1].start, s.event[0].at), (-3_000_000, 7_000_000))
        self.assertEqual((s.topology.mtu, s.topology.buffer, s.switch.qdisc), (1500, 16 * 10**6, "sfc rate 1gbit rtt 10000000ns"))

    def test_delays_of_links_and_of_completions(self):
        s, net, _ = context.one(context.BASE.replace('"dumbbell"', '"links"'), ["link.0.a=s0", "link.0.b=a", "link.1.a=s1", "link.1.b=a", "link.1.delay=3us",
                                "link.2.a=a", "link.2.b=r0", "link.3.a=a", "link.3.b=r1", "topology.coalesce=2us"])
        schema.slow_down(s, 1000, "here")
        slower = topology.build(s, "here")
        self.assertEqual([a.delay for a, _ in slower.links], [1000 * a.delay for a, _ in net.links])
        self.assertEqual((slower.links[0][0].delay, s.topology.coalesce), (10**6, 2 * 10**6))

    def test_refuses_what_it_cannot_slow_down(self):
        s, _, _ = context.one(sets=["topology.rate=1gbit"])
        with self.assertRaisesRegex(ScenarioError, "here: rate: 1gbit is too small"):
            schema.slow_down(s, 1001, "here")


class Documented(unittest.TestCase):
    TABLES = {"Top level": schema.Scenario, "[topology]": schema.Topology, "[[link]]": schema.Link, "[switch]": schema.Switch, "[host]": schema.Host,
              "[[flow]]": schema.Flow, "[[event]]": schema.Event, "[[fault]]": schema.Fault, "[[program]]": schema.Program,
              "[workload]": schema.Workload, "[incast]": schema.Incast}

    @staticmethod
    def table(text, heading):
        """{key: default} of the first table below the heading."""
        lines = text.split(f"\n{heading}\n{'=' * len(heading)}\n")[1].splitlines()
        borders = [i for i, line in enumerate(lines) if re.fullmatch(r"=+(  =+){2}", line)]
        columns = [m.start() for m in re.finditer("=+", lines[borders[0]])]
        return {m[1]: line[columns[1]:columns[2]].strip() for line in lines[borders[1]:borders[2]] if (m := re.match(r"``(\w+)``", line))}

    def test_every_key_is_in_the_documentation_with_its_default(self):
        text = (context.TREE / "Documentation/lab-scenarios.rst").read_text()
        for heading, cls in self.TABLES.items():
            shown = self.table(text, heading)
            keys = {schema.toml_name(f.name): f for f in dataclasses.fields(cls) if "parse" in f.metadata}
            self.assertEqual(set(shown), set(keys), heading)
            for name, f in keys.items():
                if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
                    self.assertEqual(shown[name], "required", f"{heading} {name}")
                elif f.default is not dataclasses.MISSING and f.default not in (None, ""):
                    try:
                        value = tomllib.loads(f"v = {shown[name]}")["v"]
                    except ValueError:
                        value = shown[name]
                    self.assertEqual(f.metadata["parse"](value), f.default, f"{heading} {name}")

    def test_swift_beside_bolt_has_the_simulators_target(self):
        for name in ("fct-star", "fct-fabric", "incast", "large-incast", "line-rates"):
            (_, s), = schema.load(context.TREE / f"tools/lab/scenarios/{name}.toml", cc=["swift"])
            self.assertEqual((s.switch.qdisc, s.topology.rtt + int(s.host.sysctl.get("net.bolt.swift_base_ns", 10000))), ("pfifo", 10000), name)


if __name__ == "__main__":
    unittest.main()
