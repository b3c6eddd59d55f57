#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Hosts that run bolt, and Linux routers whose ports are the qdisc sfc, for Mininet.

    h1 ---.                       .--- h3
           s1 --- bottleneck --- s2
    h2 ---'                       `--- h4

As a program it builds this network, sends from h1 to h3 and from h2 to h4 at once, and prints what sockets and ports
say; with --cli it leaves you at Mininet's prompt instead.  As a module it has BoltHost and SfcRouter:

    from subrtt_mininet import BoltHost, SfcRouter
    net.addHost("h1", cls=BoltHost, ip="10.0.1.1/24", defaultRoute="via 10.0.1.254")
    net.addHost("s1", cls=SfcRouter, ip="10.0.1.254/24")

Needs root, the packages mininet, iperf, subrtt-dkms and subrtt-tools, and tcp_bolt loaded: a module is the
machine's, hosts of Mininet share it.  Rates are those of sfc (`rate`), which shapes: a veth has none.
"""

import argparse
import re
import sys

from mininet.cli import CLI
from mininet.log import error, setLogLevel
from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import Topo


class BoltHost(Node):
    """A host whose sockets use bolt; `cc` and `base_rtt_ns` say otherwise."""

    def config(self, cc="bolt", base_rtt_ns=200000, **params):
        result = super().config(**params)
        self.must(f"sysctl -qw net.bolt.base_rtt_ns={base_rtt_ns}")
        self.must(f"sysctl -qw net.ipv4.tcp_congestion_control={cc}")
        return result

    def must(self, command):
        """The shell of a node says nothing of its own when a command fails."""
        said = self.cmd(command + " || echo FAILED").strip()
        if said.endswith("FAILED"):
            raise SystemExit(f"{self.name}: {command}: {said.removesuffix('FAILED').strip() or 'failed'}")


class SfcRouter(Node):
    """A router that is a switch of Bolt: every port is an sfc."""

    def config(self, **params):
        result = super().config(**params)
        self.cmd("sysctl -qw net.ipv4.ip_forward=1")
        return result

    def port(self, intf, words):
        BoltHost.must(self, f"tc qdisc replace dev {intf} root sfc {words}")


class TwoRouters(Topo):
    """The network above: 10.0.N.0/24 is host N's, 10.0.0.0/24 between the routers."""

    def build(self, cc="bolt"):
        # Mininet gives a node's first interface an address of its own choice, unless the node has one
        self.addNode("s1", cls=SfcRouter, ip="10.0.1.254/24")
        self.addNode("s2", cls=SfcRouter, ip="10.0.3.254/24")
        for n in (1, 2, 3, 4):
            host = self.addNode(f"h{n}", cls=BoltHost, cc=cc, ip=f"10.0.{n}.1/24", defaultRoute=f"via 10.0.{n}.254")
            router = "s1" if n < 3 else "s2"
            self.addLink(host, router, intfName2=f"{router}-h{n}", params2={"ip": f"10.0.{n}.254/24"})
        self.addLink("s1", "s2", intfName1="s1-s2", params1={"ip": "10.0.0.1/24"},
                     intfName2="s2-s1", params2={"ip": "10.0.0.2/24"})


def configure(net, rate, bottleneck):
    """Routes, and a port of sfc on every device of a router."""
    s1, s2 = net["s1"], net["s2"]
    for n in (3, 4):
        BoltHost.must(s1, f"ip route add 10.0.{n}.0/24 via 10.0.0.2")
    for n in (1, 2):
        BoltHost.must(s2, f"ip route add 10.0.{n}.0/24 via 10.0.0.1")
    for router in (s1, s2):
        for intf in router.intfNames():
            if intf != "lo":
                router.port(intf, f"rate {bottleneck if intf == 's1-s2' else rate}")


def counter(node, name):
    found = re.search(rf"^{name} (\d+)", node.cmd("cat /proc/net/bolt_stat"), re.M)
    return int(found[1]) if found else 0


def transfers(net, size):
    """Both at once, to their end."""
    pairs = (("h1", "h3"), ("h2", "h4"))
    for _, to in pairs:
        net[to].cmd("iperf -s >/dev/null 2>&1 &")
    for _, to in pairs:
        BoltHost.must(net[to], "for i in $(seq 300); do ss -Hltn 'sport = :5001' | grep -q . && break; sleep 0.1; done;"
                               "ss -Hltn 'sport = :5001' | grep -q .")
    for frm, to in pairs:
        # neighbours are resolved: a SYN that waits for them is sent again, and then goes without the option
        BoltHost.must(net[frm], f"ping -q -c 1 -W 30 {net[to].IP()} >/dev/null")
    clients = [net[frm].popen(["iperf", "-c", net[to].IP(), "-n", size]) for frm, to in pairs]
    said = [(c.communicate()[0], c.returncode) for c in clients]
    for _, to in pairs:
        net[to].cmd("kill %iperf; wait")
    return [(frm, to, text, status) for (frm, to), (text, status) in zip(pairs, said)]


def report(net, done):
    bad = False
    for frm, to, text, status in done:
        text = text.decode() if isinstance(text, bytes) else text
        last = text.strip().splitlines()[-1:] or ["iperf said nothing"]
        heard, bolt = counter(net[frm], "SrcRx"), counter(net[frm], "Negotiated")
        print(f"{frm} -> {to}: {last[0]}; connections with bolt {bolt}, SRC heard {heard}")
        if status or bolt < 1:
            bad = True
            print(text)
    print(net["s1"].cmd("tc -s qdisc show dev s1-s2").strip())
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", default="bolt", help="congestion control of the hosts (%(default)s)")
    parser.add_argument("--rate", default="100mbit", help="of all ports but the bottleneck (%(default)s)")
    parser.add_argument("--bottleneck", default="20mbit", help="of the port from s1 to s2 (%(default)s)")
    parser.add_argument("--size", default="2M", help="of each transfer, as iperf's -n (%(default)s)")
    parser.add_argument("--cli", action="store_true", help="Mininet's prompt instead of the transfers")
    args = parser.parse_args()
    setLogLevel("warning")
    net = Mininet(topo=TwoRouters(cc=args.cc), controller=None, build=False)
    bad = False
    try:
        net.build()
        net.start()
        configure(net, args.rate, args.bottleneck)
        if args.cli:
            CLI(net)
        else:
            bad = report(net, transfers(net, args.size))
    finally:
        net.stop()
    if bad:
        error("a transfer failed, or went without bolt\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
