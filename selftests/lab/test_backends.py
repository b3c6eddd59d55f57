# SPDX-License-Identifier: GPL-2.0
"""How far backends slow a scenario down, and what native refuses before it does anything."""

import unittest
from unittest import mock

import context

from boltlab import backends, native, plan
from boltlab.build import RunError
from boltlab.schema import ScenarioError


def slowed(backend, cpus=None, slow=None, sets=()):
    scenarios = [s for _, s in context.load(sets=sets)]
    return backends.slow_down(scenarios, backend, cpus, slow), scenarios[0]


class Slow(unittest.TestCase):
    def refused(self, says, *args, **kwargs):
        with self.assertRaises((RunError, ScenarioError)) as caught:
            slowed(*args, **kwargs)
        self.assertIn(says, str(caught.exception))

    def test_as_far_as_the_backend_needs(self):
        # two hosts receive at 100 Gb/s: 16.7 million packets a second
        for backend, cpus, factor in (("uml", None, 1), ("qemu", None, 1000), ("qemu", 1, 1000), ("qemu", 2, 10000), ("native", None, 1000)):
            self.assertEqual(slowed(backend, cpus)[0], factor, (backend, cpus))
        self.assertEqual(slowed("qemu", sets=["topology.rate=120mbit"])[0], 1)
        self.assertEqual(slowed("qemu", sets=["topology.rate=121mbit"])[0], 10)

    def test_one_receiver_takes_no_more_than_its_link(self):
        self.assertEqual(slowed("qemu", sets=["topology.rate=240mbit", "flow.1.to=r0"])[0], 1)

    def test_too_little_is_refused_with_what_would_do(self):
        self.refused("--slow 834", "qemu", slow=833)
        self.assertEqual(slowed("qemu", slow=834)[0], 834)
        self.refused("--set topology.rate=120000mbit", "qemu", 2, sets=["topology.rate=121gbit"])

    def test_real_time_has_an_end(self):
        for slow, most in ((1000, "1800ms"), (1300, "1384ms")):
            self.refused(f"--set duration={most}", "native", slow=slow, sets=["duration=2s", "sample=1us"])
            slowed("native", slow=slow, sets=[f"duration={most}", "sample=1us"])

    def test_settings_that_are_times(self):
        sysctl = slowed("uml", slow=1000, sets=["host.sysctl.net.bolt.swift_hop_ns=7"])[1].host.sysctl
        self.assertEqual(sysctl, {"net.bolt.max_pause_us": "1000000", "net.bolt.swift_base_ns": "10000000",
                                  "net.bolt.watchdog_interval_us": "60000000", "net.bolt.watchdog_recovery_us": "60000000",
                                  "net.bolt.swift_fs_range_ns": "100000000", "net.bolt.swift_hop_ns": "7000"})
        sysctl = slowed("uml", slow=10, sets=["host.sysctl.net.bolt.base_rtt_ns=5000", "host.sysctl.net.bolt.swift_hop_ns=0"])[1].host.sysctl
        self.assertEqual((sysctl["net.bolt.base_rtt_ns"], sysctl["net.bolt.swift_hop_ns"]), ("50000", "0"))
        self.assertEqual(slowed("uml")[1].host.sysctl, {})

    def test_times_in_lines(self):
        for line, slower in (("sfc pause rtt 10us suppress auto", "sfc pause rtt 10000us suppress auto maxpause 1000000000ns"),
                             ("sfc pause rtt 200us maxpause 10ms suppress 1ms", "sfc pause rtt 100000000ns maxpause 1000000000ns suppress 1000ms"),
                             ("sfc pfc watchdog 200ms ignore 1ms", "sfc pfc watchdog 4294967294ns ignore 1000ms rtt 10000000ns"),
                             ("sfc pause rtt {0.5*rtt} maxpause 0.5ms", "sfc pause rtt {0.5*rtt} maxpause 500.0ms"),
                             ("sfc pfc watchdog off srcc x", "sfc pfc watchdog off srcc x rtt 10000000ns ignore 4294967294ns"),
                             ("sfc limit 16mb ecn 5s1", "sfc limit 16mb ecn 5s1 rtt 10000000ns"),
                             ("sfc_hold share 5", "sfc_hold share 5 maxpause 1000000000ns"), ("sfc_hold maxpause 10us", "sfc_hold maxpause 10000us"), ("netem delay 1ms 10usec", "netem delay 1000ms 10000usec"), ("netem delay .5ms", "netem delay 500.0ms")):
            s = slowed("uml", slow=1000, sets=[f"{k}={line}" for k in ("switch.qdisc", "switch.edge_qdisc", "host.qdisc")])[1]
            self.assertEqual([s.switch.qdisc, s.switch.edge_qdisc, s.host.qdisc], [slower] * 3)
        for command, slower in (("tc qdisc change dev b root sfc pause", "tc qdisc change dev b root sfc pause"),
                                ("tc qdisc change dev b root sfc pause rtt 10us", "tc qdisc change dev b root sfc pause rtt 10000us"),
                                ("tc qdisc replace dev b root sfc", "tc qdisc replace dev b root sfc rtt 10000000ns"),
                                ("tc qdisc add dev b root sfc rtt 20us; tc qdisc replace dev c root pfifo limit 9",
                                 "tc qdisc add dev b root sfc rtt 20000us; tc qdisc replace dev c root pfifo limit 9"),
                                ("tc qdisc del dev b root && tc qdisc add dev b root sfc && echo",
                                 "tc qdisc del dev b root && tc qdisc add dev b root sfc rtt 10000000ns && echo")):
            s = slowed("uml", slow=1000, sets=["event.0.at=1us", "event.0.do=set", "event.0.node=a", f"event.0.command={command}"])[1]
            self.assertEqual(s.event[0].command, slower)


class Native(unittest.TestCase):
    def refused(self, says, uid=0, modules=True, loaded=()):
        with mock.patch.object(native.os, "geteuid", return_value=uid), mock.patch.object(native.Path, "exists", return_value=modules), \
                mock.patch.object(native, "loaded", return_value=set(loaded)), self.assertRaises(RunError) as caught:
            native.check()
        self.assertIn(says, str(caught.exception))

    def test_what_is_missing(self):
        self.refused("root is needed", uid=1000)
        self.refused("loads no modules", modules=False)
        self.refused("`rmmod tcp_bolt lablink`", loaded=["lablink", "tcp_bolt", "tcp_cubic"])

    def test_settings_of_the_kernel_itself(self):
        files = plan.Plan(*context.one()).kernel_files
        self.assertIn("/proc/sys/net/core/default_qdisc", files)
        self.assertIn("/proc/sys/net/core/netdev_budget", files)
        self.assertEqual(len(files), len(plan.KERNEL_SYSCTLS) + 1)


if __name__ == "__main__":
    unittest.main()
