# SPDX-License-Identifier: GPL-2.0
"""The plan the guest program carries out, and the same in words a network engineer reads.

See tools/lab/guest/main.c for the directives.
"""

import itertools

from . import explain, faults, ideal, programs, topology, units
from .lablink import SAMPLE_BYTES

MEMORY_FOR_SOCKETS = 512 * 10**6
SMALL_WINDOWS = ("bolt", "swift")       # never fill a port's buffer
BASE_RTT = "net.bolt.base_rtt_ns"
LEAD_NS = 5 * 10**6
FOREVER_NS = 10 * 365 * 86400 * 10**9
SLOW_LEAD_NS = 10**9        # where work takes time everybody has to be there by then
PINNED_TABLE = 1000         # + event index: tables that hold one default route
CAPTURE_IN_MEMORY_MB = 256
FEWEST_WATCHED = 64         # in a large network: so many, or what WATCHED_BYTES of samples allow
WATCHED_BYTES = 32 * 10**6
SAMPLES_MOST = 512 * 2**20  # samples_max_mb of lablink.ko
SAMPLES_USUAL_MB = 128      # as of captures
TXQLEN = 30000              # the kernel refuses more than 32767

# One kernel plays every host, and its limits are set for one.
KERNEL_SYSCTLS = (
    ("/proc/sys/net/ipv4/tcp_mem", "4000000 8000000 16000000"),
    ("/proc/sys/net/core/netdev_max_backlog", "1000000"),
    ("?/proc/sys/net/core/netdev_budget", "1000000"),
    ("?/proc/sys/net/core/netdev_budget_usecs", "1000000"),
    ("/proc/sys/net/core/somaxconn", "65535"),
    ("/proc/sys/net/core/rmem_max", "1073741824"),
    ("/proc/sys/net/core/wmem_max", "1073741824"),
    ("?/proc/sys/net/ipv4/neigh/default/gc_thresh3", "65536"),
    ("?/proc/sys/net/ipv6/neigh/default/gc_thresh3", "65536"),
)
HOST_SYSCTLS = (
    ("net.ipv4.tcp_no_metrics_save", "1"),      # no run's window leaks into the next connection
    ("net.ipv4.ip_local_port_range", "60000 65535"),
)
SWITCH_SYSCTLS = (
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv4.fib_multipath_hash_policy", "1"),
    ("net.ipv6.fib_multipath_hash_policy", "1"),
)


LOOK = "tc -s -j qdisc show"


def looked_at(s):
    """Events that may replace a qdisc, whose counters go with it: the guest reads them just before."""
    return [i for i, e in enumerate(s.event) if e.do == "set" and e.command.split()[0] == "tc" and not {"filter", "class"} & set(e.command.split())]


def sysctl_path(name):
    return "/proc/sys/" + (name if "/" in name else name.replace(".", "/"))


def largest_message(traffic):
    return max((float("inf") if m.bytes is None else m.bytes for m in traffic.messages), default=0)


def buffers(s, traffic, net):
    """Send and receive buffer, and the window a path needs, in bytes."""
    bdp = s.topology.rate * max(s.topology.rtt, 1000) // (8 * 10**9)
    if s.topology.kind == "links":
        bdp = max(min(port.rate for port in path) * max(round_trip(path), 1000) for path in paths(s, net, traffic)) // (8 * 10**9)
    connections = sum(p.connections for p in traffic.pairs)
    # of many connections most are idle, and one that is alone must be able to fill its path
    share = max(2 * bdp, MEMORY_FOR_SOCKETS // max(1, connections))
    useful = min(max(2 * bdp, 8 * 2**20), 2 * largest_message(traffic) + 65536)
    # the queue at the switch adds to what is in flight
    need = 2 * bdp + min(s.topology.buffer, 4 * 10**6)
    snd = s.host.sndbuf or max(262144, min(useful, share))
    rcv = s.host.rcvbuf or max(4 * need, 8 * 2**20)
    return snd, rcv, min(need, rcv // 4)


def short_buffers(s, traffic, snd, window):
    """What to say where the share of the send buffer, and not the congestion control, may be the limit; or None."""
    ccs = ", ".join(dict.fromkeys(p.cc for p in traffic.pairs if p.cc not in SMALL_WINDOWS))
    if s.host.cwnd:
        window = min(window, s.host.cwnd * s.topology.mtu)
    if s.host.sndbuf or not ccs or not snd < min(window, largest_message(traffic)):
        return None
    return (f"{sum(p.connections for p in traffic.pairs)} connections leave {units.format_size(snd)} of send buffer to each, which may limit {ccs}: "
            f"a path and the buffer of its port take {units.format_size(window)} (host.sndbuf)")


def memory(s, net, traffic):
    """UML takes it from the machine page by page, so a generous bound costs nothing until used."""
    if s.memory:
        return s.memory
    megabytes = 1024 + len(net.nodes) + MEMORY_FOR_SOCKETS // 10**6
    megabytes += min(2048, 3 * s.topology.buffer * max(1, len(net.switches)) // 10**6)
    # what the kernel makes of its memory shows in the run, so a capture of usual size lives in what is there
    megabytes += programs.memory_mb(s)
    megabytes += max(0, samples(s, net, traffic)[0] // 10**6 - SAMPLES_USUAL_MB)
    megabytes += max(0, s.capture_mb - CAPTURE_IN_MEMORY_MB) if s.capture else 0
    return f"{-(-megabytes // 256) * 256}M"


def samples(s, net, traffic):
    """(bytes, rows, ports, flows) of what is sampled."""
    ports, (rows, flows) = len(watched(s, net, traffic)), sampled(s, traffic)
    return SAMPLE_BYTES * rows * (ports + flows), rows, ports, flows


def sampled(s, traffic):
    """(rows, flows) of the samples."""
    return s.duration // s.sample + 1, sum(p.connections for p in traffic.pairs if p.sample_id >= 0)


def check_samples(s, net, traffic, bad):
    """Before anything is booted: the link device would refuse them then."""
    whole, rows, ports, flows = samples(s, net, traffic)
    if whole > SAMPLES_MOST:
        least = -(-s.duration * SAMPLE_BYTES * (ports + flows) // SAMPLES_MOST)
        bad("sample", f"{rows} samples of {ports} ports and {flows} flows take {units.format_size(whole)} of memory, {units.format_size(SAMPLES_MOST)} is the most: "
            f"sample = \"{-(-least // 100) * 100}ns\", or fewer in sample_ports and sample_flows")


def watched(s, net, traffic):
    """Those asked for, or every switch port; in a large network those on any way of the traffic, as many as are cheap, the receivers' first."""
    if s.sample_ports:
        return [p for link in net.links for p in link if p.name in s.sample_ports]
    ports = [p for sw in net.switches for p in net.ports[sw]]
    rows, flows = sampled(s, traffic)
    most = max(FEWEST_WATCHED, WATCHED_BYTES // (SAMPLE_BYTES * rows) - flows)
    if len(ports) <= most:
        return ports
    ways = [[names for names, _ in ideal.path_links(net, *pair)[:0:-1]] for pair in dict.fromkeys(talking(s, net, traffic))]
    used = dict.fromkeys(name for hops in itertools.zip_longest(*ways, fillvalue=()) for names in hops for name in names)
    named = {p.name: p for p in ports}
    return [named[name] for name in used][:most]


def talking(s, net, traffic):
    """(host, host) of flows and of programs; where that is nobody, the first host with each other."""
    running = [h for h in dict.fromkeys(p.node for p in s.program) if h in net.host_set]
    pairs = [(p.src, p.dst) for p in traffic.pairs] + list(itertools.permutations(running, 2))
    return pairs or [(net.hosts[0], h) for h in net.hosts[1:]]


def paths(s, net, traffic):
    return [net.path(*pair) for pair in dict.fromkeys(talking(s, net, traffic))]


def round_trip(path):
    """Without serialization."""
    return 2 * sum(port.delay for port in path)


def base_rtt(s, net, traffic):
    """The longest of those that send to each other."""
    return max(map(round_trip, paths(s, net, traffic)))


def captured(s, net):
    """Both directions of each link that is named by one of them."""
    return [port for link in net.links if any(port.name in s.capture for port in link) for port in link]


class Plan:
    """Lines for the guest, and `commands`: what one would type for the same."""

    def __init__(self, s, net, traffic, exact=True, up=None):
        self.exact = exact          # work takes no time
        self.up = up                # takes commands instead of measuring; the directory they may write to
        self.lines, self.commands = [], []
        self.s, self.net, self.traffic = s, net, traffic
        self.default = "default" if net.ip == 4 else "default6"
        self.ip_cmd = "ip" if net.ip == 4 else "ip -6"
        self.batches = {}           # file name -> contents
        self.base_rtt = base_rtt(s, net, traffic)
        self._write()

    def add(self, *words):
        self.lines.append(" ".join(str(w) for w in words))

    @property
    def kernel_files(self):
        """The settings of the kernel itself that the plan changes."""
        return [line.split()[2].removeprefix("?") for line in self.lines if line.startswith("sysctl - ")]

    def show(self, node, command):
        self.commands.append(f"ip netns exec {node} {command}" if node else command)

    def run(self, node, command):
        self.add("exec", node, "-", command)
        self.show(node, command)

    def _write(self):
        self._kernel()
        for node in self.net.nodes:
            self.add("ns", node)
            self.show(None, f"ip netns add {node}")
        self._links()
        for node in self.net.nodes:
            self._node(node)
        self._qdiscs()
        self._pins()
        self._programs()
        self._load()
        self._collect()

    def _kernel(self):
        for path, value in KERNEL_SYSCTLS:
            self.add("sysctl", "-", path, value)
        kind = self.s.host.qdisc.split()
        self.plain_host_qdisc = kind == ["pfifo"]
        if self.s.program or self.up:
            self.add("allow")
        if self.plain_host_qdisc:
            self.add("sysctl", "-", "/proc/sys/net/core/default_qdisc", "pfifo")
            self.show(None, "sysctl -w net.core.default_qdisc=pfifo")

    def _links(self):
        t = self.s.topology
        for a, b in self.net.links:
            self.add("pair", a.node, a.dev, b.node, b.dev, a.rate, a.delay, t.mtu, t.ring)
            self.commands.append(f"# link {a.node}:{a.dev} - {b.node}:{b.dev} {a.rate} bit/s {a.delay} ns "
                                 f"mtu {t.mtu} ring {t.ring} bql {int(t.bql)} coalesce {t.coalesce} ns (lablink)")
        if t.bql or t.coalesce:
            for port in (end for link in self.net.links for end in link):
                self.add("completions", port.node, port.dev, int(t.bql), t.coalesce)
        for port in captured(self.s, self.net):
            self.add("capture", port.node, port.dev, self.s.capture_bytes, self.s.capture_mb)

    def _sysctl(self, node, name, value, optional=False):
        self.add("sysctl", node, ("?" if optional else "") + sysctl_path(name), value)
        self.show(node, f"sysctl -w {name}='{value}'")

    def _node(self, node):
        s, net = self.s, self.net
        host = node in net.host_set
        defaults = HOST_SYSCTLS if host else SWITCH_SYSCTLS
        if net.ip == 4:
            self._sysctl(node, "net.ipv6.conf.all.disable_ipv6", 1, optional=True)
            self._sysctl(node, "net.ipv6.conf.default.disable_ipv6", 1, optional=True)
        else:
            for name in ("net.ipv6.conf.default.addr_gen_mode", "net.ipv6.conf.all.addr_gen_mode"):
                self._sysctl(node, name, 1, optional=True)
            for port in net.ports[node]:
                self._sysctl(node, f"net/ipv6/conf/{port.dev}/addr_gen_mode", 1, optional=True)
        for name, value in defaults:
            self._sysctl(node, name, value, optional="ipv6" in name)
        if s.program or self.up:
            for name, value in programs.sysctls(s, node, host, self.up):
                self._sysctl(node, name, value)
        given = (s.host if host else s.switch).sysctl
        if host and BASE_RTT not in given:
            # an operator knows the round trip of his network and tells bolt; absent without the module
            self._sysctl(node, BASE_RTT, self.base_rtt, optional=True)
        for name, value in given.items():
            self._sysctl(node, name, value)
        self.add("net", node)
        self.add("dev", "lo", 0, 0)
        for port in net.ports[node]:
            # a host never drops its own packets: what TCP hands over it keeps
            self.add("dev", port.dev, TXQLEN if host else 0, s.host.gso_segs if host else 0)
            self.show(node, f"ip link set {port.dev} up arp off" +
                      (f" txqueuelen {TXQLEN}" if host else "") +
                      (f" gso_max_segs {s.host.gso_segs}" if host and s.host.gso_segs else ""))
        length = 32 if net.ip == 4 else 128
        dev = "eth0" if host else "lo"
        self.add("addr", dev, f"{net.address(node)}/{length}")
        self.show(node, f"{self.ip_cmd} addr add {net.address(node)}/{length} dev {dev}")
        if host:
            h = s.host
            initcwnd = h.initcwnd or h.cwnd
            rto_min_ms = (h.rto_min or 0) // 10**6
            self.add("route", self.default, "eth0", rto_min_ms, initcwnd, h.cwnd)
            self.show(node, f"{self.ip_cmd} route add default dev eth0" + (f" rto_min {rto_min_ms}ms" if rto_min_ms else "") +
                      (f" initcwnd {initcwnd}" if initcwnd else "") +
                      (f" cwnd lock {h.cwnd}" if h.cwnd else ""))
        else:
            for dst in net.hosts:
                hops = net.next_hops(node, dst)
                if not net.ecmp:
                    hops = hops[:1]
                self.add("route", f"{net.address(dst)}/{length}", ",".join(p.dev for p in hops), 0, 0, 0)
                self.show(node, f"{self.ip_cmd} route add {net.address(dst)} " +
                          (f"dev {hops[0].dev}" if len(hops) == 1 else
                           " ".join(f"nexthop dev {p.dev}" for p in hops)))
        self.add("endnet")

    def _qdiscs(self):
        s, net = self.s, self.net
        line = edge = topology.expand_qdisc(s.switch.qdisc, s, "", "switch.qdisc")
        self.switch_qdisc = line
        if s.switch.edge_qdisc:
            edge = topology.expand_qdisc(s.switch.edge_qdisc, s, "", "switch.edge_qdisc")
            self.switch_qdisc = f"{line}; towards hosts: {edge}"
        for sw in net.switches:
            batch = [f"qdisc replace dev {p.dev} root {edge if p.peer in net.host_set else line}"
                     for p in net.ports[sw]]
            self.batches[f"tc-{sw}"] = "\n".join(batch) + "\n"
            self.add("exec", sw, "-", f"tc -b tc-{sw}")
            for command in batch:
                self.show(sw, f"tc {command}")
        if not self.plain_host_qdisc:
            line = topology.expand_qdisc(s.host.qdisc, s, "", "host.qdisc")
            for h in net.hosts:
                self.run(h, f"tc qdisc replace dev eth0 root {line}")

    def _rule(self, pair, table, pref):
        net = self.net
        # TCP by its number: minimal systems have no /etc/protocols
        return (f"{self.ip_cmd} rule add pref {pref} from {net.address(pair.src)} to {net.address(pair.dst)} "
                f"ipproto 6 sport {pair.sport} lookup {table}")

    def _pins(self):
        """A flow that is rerouted later is held on its first path until then."""
        net = self.net
        for i, e in enumerate(self.s.event):
            if e.do != "reroute":
                continue
            pair = self.traffic.pairs[e.flow]
            choices = net.alternatives(pair.src, pair.dst)
            node = choices[0].node
            table = PINNED_TABLE + 2 * i
            for t, choice in ((table, choices[0]), (table + 1, choices[e.path])):
                self.run(node, f"{self.ip_cmd} route add default dev {choice.dev} table {t}")
            self.run(node, self._rule(pair, table, 30000))

    def _programs(self):
        """Each node with its mounts, then what runs on it; the guest starts it at its time."""
        self.batches |= programs.files(self.s, self.net, self.up)
        for node in dict.fromkeys(p.node for p in self.s.program):
            self.add("node", node, programs.node_file(node))
        for i, p in enumerate(self.s.program):
            self.add("program", p.node, p.start, "-" if p.stop is None else p.stop, int(p.ends_run), programs.job_file(i))
            self.commands.append(f"# at {p.start} ns:")
            self.show(p.node, programs.line(p.command, 10**6))

    def _load(self):
        s, net, traffic = self.s, self.net, self.traffic
        for port in watched(s, net, traffic):
            self.add("watch", port.node, port.dev)
        self.snd, self.rcv, need = buffers(s, traffic, net)
        self.add("buffers", self.snd, self.rcv, need)
        self.warning = short_buffers(s, traffic, self.snd, need)
        listeners = dict.fromkeys((p.dst, p.cc) for p in traffic.pairs if not p.fresh)
        for dst, cc in listeners:
            self.add("listen", dst, net.ip, cc)
        for p in traffic.pairs:
            self.add("conn", p.src, p.dst, net.address(p.dst), p.connections, p.cc, p.sport, p.fresh,
                     p.sample_id, p.dscp)
        for pair in dict.fromkeys(m.pair for m in explain.messages(s, traffic)):
            self.add("follow", pair, s.explain_mb)
        self.add("settle")
        if s.host.cwnd:
            # a locked window binds where metrics exist, so let one connection leave some
            for h in net.hosts:
                self._sysctl(h, "net.ipv4.tcp_no_metrics_save", 0)
            self.add("prime")
            for h in net.hosts:
                self._sysctl(h, "net.ipv4.tcp_no_metrics_save", 1)
        self.add("connect")
        for m in traffic.messages:
            self.add("msg", m.id, m.pair, m.start, -1 if m.bytes is None else m.bytes)
        looked = looked_at(s)
        for i, e in enumerate(s.event):
            if e.do == "stop":
                self.add("stop", e.flow, e.at)
                continue
            if e.do == "reroute":
                pair = traffic.pairs[e.flow]
                node = net.alternatives(pair.src, pair.dst)[0].node
                command = self._rule(pair, PINNED_TABLE + 2 * i + 1, 20000 - i)
            else:
                node, command = e.node, topology.fill_in(e.command, s, "", f"event.{i}.command")
                if i in looked:
                    self.add("at", node, e.at, f"tc-{node}-{i}.json", LOOK)
            self.add("at", node, e.at, "-", command)
            self.commands.append(f"# at {e.at} ns:")
            self.show(node, command)
        for i, f in enumerate(s.fault):
            self.add(*faults.directive(s, i, f))
            self.commands.append(f"# at {f.at} ns: {faults.text(f)} (lablink)")
        lead = LEAD_NS if self.exact else SLOW_LEAD_NS
        lead -= min((0, *(one.start for one in (*traffic.messages, *s.program)), *(e.at for e in s.event)))
        if not self.exact:
            for program in sorted({e.command.split()[0] for e in s.event if e.do == "set"} | ({"ip"} if any(e.do == "reroute" for e in s.event) else set())):
                self.add("exec", "-", "/dev/null", f"{program} -V")     # it is in memory then
            self.add("lock")
        if self.up:
            self.add("serve")
            self.add("go", FOREVER_NS, 0, 0, lead)
            return
        drain = s.drain if any(m.bytes is not None for m in traffic.messages) else 0
        self.add("go", s.duration, s.sample, drain, lead)

    def _collect(self):
        self.add("flows", "flows.txt")
        self.add("programs", programs.ENDS)
        self.add("save", "lablink.txt", "/proc/lablink")
        self.add("save", "samples.bin", "/proc/lablink_samples")
        if self.s.capture:
            self.add("save", "capture.bin", "/proc/lablink_capture")
        if self.s.explain:
            self.add("save", "follow.bin", "/proc/lablink_follow")
        self.add("save", "softnet.txt", "/proc/net/softnet_stat")
        self.add("collect", "bolt.txt", "/proc/net/bolt_stat")
        changed = {self.s.event[i].node for i in looked_at(self.s)}
        nodes = self.net.switches + [h for h in self.net.hosts if h in changed or not self.plain_host_qdisc]
        for node in nodes:
            self.add("exec", node, f"tc-{node}.json", LOOK)
            self.show(node, "tc -s qdisc show")
        if " bands " in self.switch_qdisc:
            for dev, sw in ((p.dev, sw) for sw in self.net.switches for p in self.net.ports[sw]):
                self.add("exec", sw, f"class-{sw}-{dev}.txt", f"tc -s class show dev {dev}")
                self.show(sw, f"tc -s class show dev {dev}")

    def text(self, env=()):
        head = [f"env {k} {v}" for k, v in env]
        return "\n".join(head + self.lines) + "\n"
