# SPDX-License-Identifier: GPL-2.0
"""What a kernel does not have is told before anything runs, by the scenario's key."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import context
from boltlab import ask, backends, build, guest
from boltlab.schema import ScenarioError

BUILT = mock.Mock(own={})
TWO = [*context.BASE.splitlines(), "[when.cubic.switch]", 'qdisc = "fq_codel"']


def scenarios(sets=(), cc=("bolt", "cubic")):
    return context.load("\n".join(TWO), cc=list(cc), sets=sets)


class CongestionControls(unittest.TestCase):
    def refused(self, loaded, by_option=False):
        with self.assertRaises(ScenarioError) as caught:
            ask.check_congestion_controls(loaded, ask.congestion_controls(), by_option)
        return str(caught.exception)

    def test_of_the_labs_kernel(self):
        self.assertEqual(ask.congestion_controls(), ["bbr", "bolt", "cubic", "dctcp", "reno", "swift", "vegas"])
        for version in backends.KERNELS:
            self.assertEqual(ask.congestion_controls("uml", version), ask.congestion_controls())

    def test_of_debian_13(self):
        with tempfile.TemporaryDirectory() as top:
            kdir, config = Path(top, "7.3"), Path(top, "usr/src/linux-headers-7.3.4+deb13-amd64")
            (kdir / "include/config").mkdir(parents=True)
            (kdir / "include/config/kernel.release").write_text("7.3.4+deb13-amd64\n")
            config.mkdir(parents=True)
            (config / ".config").write_text("CONFIG_TCP_CONG_HSTCP=m\n")
            with mock.patch.object(build, "stock_kernel", lambda version: kdir):
                self.assertEqual(ask.congestion_controls("qemu", "7.3"), ["bolt", "highspeed", "reno", "swift"])

    def test_one_that_there_is_not(self):
        self.assertTrue(self.refused(scenarios(cc=("cubic", "bbq")), True).startswith("--cc bbq: "))
        self.assertIn("bbr, bolt", self.refused(scenarios(cc=("bbq",)), True))
        self.assertTrue(self.refused(scenarios(["flow.1.cc=bbq"])).startswith("test.toml: flow.1.cc bbq: "))

    def test_a_table_for_one_that_there_is_not(self):
        text = context.BASE + '[when."cubic, dctpc"]\nswitch.qdisc = "pfifo"\n'
        self.assertTrue(self.refused(context.load(text)).startswith("test.toml: when.dctpc: neither the kernel nor cc has such a congestion control; the kernel has bbr, "))
        for ok in ('cc = ["bolt", "dctpc"]\n' + text, context.BASE + "[when.dctcp]\n"):
            for cc in (["bolt"], ["cubic"]):
                ask.check_congestion_controls(context.load(ok, cc=cc), ["bolt", "cubic"], True)

    def test_all_that_there_are(self):
        ask.check_congestion_controls(scenarios(cc=ask.congestion_controls()), ask.congestion_controls(), True)


class Settings(unittest.TestCase):
    def refused(self, line, *said, **kwargs):
        """What is said when the kernel refuses this line of what it was asked."""
        def dry_run(built, lines, directory, version):
            self.assertTrue(Path(directory).is_relative_to(cache))
            numbers = [i for i, text in enumerate(lines, 1) if text.endswith(line)]
            self.assertEqual(len(numbers), 1, lines)
            return numbers[0], [*said, f'labguest: plan:{numbers[0]}: failed']
        cache = tempfile.mkdtemp(prefix="lab-test-")        # TMPDIR may be where a guest sees nothing
        with mock.patch.object(guest, "dry_run", dry_run), mock.patch.dict(os.environ, BOLT_LAB_CACHE=cache), self.assertRaises(ScenarioError) as caught:
            ask.check_settings(scenarios(**kwargs), BUILT, "6.12", False)
        return str(caught.exception)

    def test_each_is_asked_once(self):
        keys = [(key, value) for key, value, _, _ in ask.questions(scenarios([
            "host.sysctl.net.bolt.sfc=1", "switch.sysctl.net/ipv4/conf/b/rp_filter=0", "switch.sysctl.net/ipv4/conf/all/rp_filter=0"]))]
        self.assertEqual(sorted(keys), [("host.qdisc", "pfifo limit 10568"), ("host.sysctl.net.bolt.sfc", "1"),
                                        ("switch.qdisc", "fq_codel limit 10568"), ("switch.qdisc", "sfc limit 16000000"),
                                        ("switch.sysctl.net.ipv4.conf.all.rp_filter", "0")])

    def test_a_qdisc_that_there_is_not(self):
        for said in (["Error: Specified qdisc kind is unknown."], ['Unknown qdisc "nosuch", hence option "limit" is unparsable']):
            self.assertEqual(self.refused("root nosuch", *said, sets=["switch.qdisc=nosuch"]),
                             'test.toml: switch.qdisc: "nosuch": there is no such qdisc')

    def test_options_of_the_users_own(self):
        with mock.patch.object(BUILT, "own", {"sch_mine": ""}):
            said = self.refused("root mine limit 3", 'Unknown qdisc "mine", hence option "limit" is unparsable', sets=['switch.qdisc="mine limit 3"'])
        self.assertTrue(said.endswith("there is no such qdisc, or tc knows no options of it: let it do without"), said)

    def test_an_option_that_there_is_not(self):
        usage = ["Usage: ... sfc [ rate RATE ]", "\t[ limit BYTES ]", "overhead  bytes a packet costs on the wire beyond what is counted"]
        for said in (['sfc: what is "x"?', *usage], [*usage, 'sfc: unknown option "x"']):
            self.assertIn(f'"sfc x limit 16000000": {said[0] if said[0] != usage[0] else said[-1]}',
                          self.refused("root sfc x limit 16000000", *said, sets=['switch.qdisc="sfc x"'], cc=("bolt",)))

    def test_what_the_kernels_start_says_is_no_reason(self):
        self.assertIn('distribution x": No distribution data for x',
                      self.refused("distribution x", "lab kernel: waiting for another build of /kernel", "No distribution data for x",
                                   sets=['switch.qdisc="netem delay 1us 1us distribution x"']))

    def test_a_sysctl(self):
        self.assertIn('host.sysctl.net.bolt.nosuch: "1": failed', self.refused("/proc/sys/net/bolt/nosuch 1", sets=["host.sysctl.net.bolt.nosuch=1"]))

    def test_a_kernel_that_does_not_boot(self):
        with mock.patch.object(guest, "dry_run", lambda *_: (0, ["lab kernel: panic"])), \
                mock.patch.object(build, "cache", tempfile.gettempdir), self.assertRaises(guest.RunError):
            ask.check_settings(scenarios(), BUILT, "6.12", False)


if __name__ == "__main__":
    unittest.main()
