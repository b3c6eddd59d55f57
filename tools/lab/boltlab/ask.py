# SPDX-License-Identifier: GPL-2.0
"""Whether the kernel has what a scenario wants of it, found out before the first run: congestion controls, qdiscs with
their options, sysctls. What is wrong is told by the scenario's key, not by a command of a plan."""

import re
import tempfile
from pathlib import Path

from . import build, guest, plan, topology
from .schema import ScenarioError

TCP_CONG = re.compile(r"^CONFIG_TCP_CONG_(\w+)=[ym]$", re.M)
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
OF_A_DEVICE = re.compile(r"/(conf|neigh)/(?!(all|default)/)")
NET_SCH = re.compile(r"^CONFIG_NET_SCH_(\w+)=[ym]$", re.M)
NO_ROOT = {"ingress", "mqprio_lib", "default", "fifo"}      # of these options no qdisc comes that can be a port's root
ALWAYS = {"bfifo", "mq", "noqueue", "pfifo", "pfifo_fast", "sfc", "sfc_hold"}
OTHERWISE_NAMED = {"hstcp": "highspeed"}
NO_SUCH_QDISC = re.compile(r"Specified qdisc kind is unknown|Unknown qdisc ")


def congestion_controls(backend="uml", version="6.12"):
    """Those of the kernel's configuration, and this tree's. Of the lab's kernel they are known before it is built."""
    if backend == "uml":
        files = [build.KERNEL / "config" / f"{name}.config" for name in ("lab", f"lab-{version}")]
    else:
        files = [build.configuration(build.stock_kernel(version) if backend == "qemu" else build.running_kernel())]
    found = {name.lower() for path in files if path.exists() for name in TCP_CONG.findall(path.read_text())} - {"advanced"}
    return sorted({"reno", "bolt", "swift"} | {OTHERWISE_NAMED.get(name, name) for name in found})


def qdiscs(version="6.12"):
    """What can follow `root` on a port in the lab's kernel."""
    files = [build.KERNEL / "config" / f"{name}.config" for name in ("lab", f"lab-{version}")]
    found = {name.lower() for path in files if path.exists() for name in NET_SCH.findall(path.read_text())}
    return sorted(found - NO_ROOT | ALWAYS)


def check_congestion_controls(scenarios, known, by_option):
    wanted = [("--cc" if by_option else "cc", one) for one, _ in scenarios]
    wanted += [(f"flow.{i}.cc", f.cc) for _, s in scenarios for i, f in enumerate(s.flow) if f.cc]
    for key, one in wanted:
        if one not in known:
            where = "" if key == "--cc" else f"{scenarios[0][1].file.name}: "
            raise ScenarioError(f"{where}{key} {one}: the kernel has no such congestion control; it has {', '.join(known)}")
    first = scenarios[0][1]
    for one in first.when:
        if one not in known and one not in congestion_controls():       # a backend may have fewer than the scenario is for
            raise ScenarioError(f"{first.file.name}: when.{one}: neither the kernel nor cc has such a congestion control; the kernel has {', '.join(known)}")


def questions(scenarios):
    """[(key, as written, namespace, directive)], each once: what the scenarios set in hosts and switches."""
    asked = {}
    for _, s in scenarios:
        hosts, switches = (f"{kind}{s.cc[0]}" for kind in "hs")
        for node, part, table in ((hosts, "host", s.host), (switches, "switch", s.switch)):
            for name, value in table.sysctl.items():
                path = plan.sysctl_path(name)
                if OF_A_DEVICE.search(path):
                    continue            # whose name is another here
                asked.setdefault((f"{part}.sysctl.{name}", value), (node, f"sysctl {node} {path} {value}"))
            for k in ("qdisc", "edge_qdisc"):
                line = getattr(table, k, None)
                if line:
                    expanded = topology.expand_qdisc(line, s, "", f"{part}.{k}")
                    asked.setdefault((f"{part}.{k}", expanded), (node, f"exec {node} - tc qdisc replace dev eth0 root {expanded}"))
    return [(*key, *how) for key, how in asked.items()]


def check_settings(scenarios, built, version, by_option):
    """Boots the lab's kernel once, with a host and a switch for each scenario, and sets what each is to have.

    The congestion controls of the user's modules are known to nobody but the kernel that has loaded them.
    """
    asked, s = questions(scenarios), scenarios[0][1]
    nodes = list(dict.fromkeys(node for _, _, node, _ in asked))
    lines = [*(f"ns {node}" for node in ("peer", *nodes)), f"save {AVAILABLE.name} {AVAILABLE}"]
    lines += [f"pair {node} eth0 peer {node} {s.topology.rate} 1000 {s.topology.mtu} {s.topology.ring}" for node in nodes]
    first = len(lines) + 1
    with tempfile.TemporaryDirectory(prefix="ask-", dir=build.cache()) as directory:
        failed = guest.dry_run(built, lines + [directive for *_, directive in asked], directory, version)
        available = Path(directory, AVAILABLE.name)
        if built.own and available.exists():
            check_congestion_controls(scenarios, sorted(available.read_text().split()), by_option)
    if failed:
        line, said = failed
        if not first <= line < first + len(asked):
            raise guest.RunError("; ".join([*(f"--module: {name}" for name in built.own), *said]))
        key, value, _, _ = asked[line - first]
        raise ScenarioError(f"{s.file.name}: {key}: \"{value}\": {reason(said, built.own)}")


def reason(said, own=()):
    """The line that says what is wrong: before the usage, or the last one."""
    told = [line.removeprefix("Error: ").rstrip(".") for line in said if not line.startswith(("labguest:", "lab kernel:"))]
    before = told[:next((i for i, line in enumerate(told) if line.startswith("Usage")), len(told))]
    if any(NO_SUCH_QDISC.match(line) for line in before):
        unknown = any("unparsable" in line for line in before)
        return "there is no such qdisc" + (", or tc knows no options of it: let it do without" if own and unknown else "")
    if told:
        return before[0] if before else told[-1]
    return re.sub(r"^labguest: [^:]*:\d+: ", "", said[-1])
