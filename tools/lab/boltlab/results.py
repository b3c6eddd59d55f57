# SPDX-License-Identifier: GPL-2.0
"""From the guest's raw results to one entry of result.json and its CSV series."""

import dataclasses
import functools
import json
import re
from array import array
from collections import Counter
from pathlib import Path

from . import backlog, explain, faults, ideal, lablink, pcap, plan, programs, stats
from .guest import RunError
from .traffic import segment, wire_bytes

# A control message as a qdisc counts it: Ethernet, IP, UDP, its own header, the quoted IP header and 8 bytes. Not in it
# is what no counter tells: the tag (8), the part for switches (20), quoted IP options
SRC_BYTES = {4: 14 + 20 + 8 + 20 + 28, 6: 14 + 40 + 8 + 20 + 48}
BTS_BYTES = {ip: src + 4 for ip, src in SRC_BYTES.items()}
LEVELS = ("backlog", "qlen", "buffer_used", "buffer_peak")      # of a qdisc, beside counters
OPTIONS = re.compile(r'"options":(\{[^{}]*\})')                # of tc's JSON, none of which are nested
MARK_KEYS = ("marked", "ecn_mark", "ce_mark", "ecn_marked")


def compute(cc, s, net, traffic, raw, out, wall_s, used):
    """One run's entry; series go to its directory in `out`."""
    place = s.directory
    raw, series = Path(raw), Path(out) / place
    link = lablink.read(raw, net)
    s.duration = link.totals["duration_ns"]     # programs may have ended it before its time
    qdiscs = read_qdiscs(raw, s, net)
    flows = read_flows(raw / "flows.txt", traffic)
    started = only_started(traffic, flows)
    add_bounds(flows, s, net, started)
    data = carried(net, link)
    waited = backlog.by_port(s, net, started, flows, link.queues)
    links = [port_entry(port, link, qdiscs, s, series, place, data) | {"backlogged": waited.get(port.name)} for port in interesting(net, link)]
    queues = [e["queue_bytes"] for e, p in zip(links, interesting(net, link)) if p.node not in net.host_set and data[p.node, p.dev]]
    busiest = max(links, key=lambda e: e["utilization"], default=None)
    for f in flows:
        name = f"flow-{f['id']}.csv"
        f["series"] = f"{place}/{name}" if write_series(
            series / name, ("time_ns", "cwnd_bytes", "acked_bytes", "inflight_bytes"),
            link.socks.get(f["id"])) else None
    return {
        "cc": cc,
        "seed": s.seed,
        "directory": place,
        "sim_ns": s.duration,
        "base_rtt_ns": used["base_rtt_ns"],
        "wall_s": round(wall_s, 3),
        "data_packets": link.totals["delivered"],
        "trace_hash": link.totals.get("trace_hash"),
        "max_lateness_ns": link.totals.get("max_lateness_ns"),
        "softnet_drops": max(softnet_drops(raw / "softnet.txt"), link.totals.get("softnet_drops", 0)),
        "switch_qdisc": used["switch"],
        "host_qdisc": used["host"],
        "bottleneck": busiest["name"] if busiest else None,
        "events": [{"at_ns": e.at, "do": e.do, "flow": e.flow, "command": e.command} for e in s.event],
        "faults": faults.read(s, link.faults),
        "links": links,
        "queues": {"ports": len(queues), "sampled": len(queues) - queues.count(None)},
        "flows": flows,
        "programs": programs.read(raw, s),
        "bins_bytes": s.bins,
        "fct": stats.fct(flows, s.bins) | makespan(flows, s, net) | {"rtt_ns": round_trips(flows, s)},
        "jain": stats.goodput_jain(flows, s.duration),
        "jain_epochs": [jain_epoch(flows, link.socks, s, epoch) for epoch in s.epochs],
        "control": control(raw, qdiscs, net),
        "buffers": buffers(qdiscs),
        "captures": pcap.write(raw / "capture.bin", net, s, series, place) if s.capture else [],
        "explain": explain.write(raw, Path(out), place, net, s, traffic, flows),
    }


def sums(r):
    """Of a run; of a part of its time, those of the whole, which window.cut() has kept. What programs send again is not known."""
    return r.get("of_whole_run") or {"drops": sum(p["drops"] for p in r["links"]),
                                     "retransmits": sum(f["retransmits"] for f in r["flows"]) if r["flows"] else None}


def buffers(qdiscs):
    """What the ports of a switch held together, where they share a buffer: each of them says so."""
    nodes = {node: q for (node, _), q in sorted(qdiscs.items()) if q.get("options", {}).get("buffer", "off") != "off"}
    return [{"node": node, "bytes": q["options"]["buffer"], "used": q["buffer_used"], "peak": q["buffer_peak"]}
            for node, q in nodes.items()]


def round_trips(flows, s):
    """Of messages of one packet: what is sent on an idle connection leaves at once."""
    sent = [f for f in flows if f["finite"] and f["size_bytes"] <= segment(s)]
    done = sorted(f["end_ack_ns"] - f["start_ns"] for f in sent if f["end_ack_ns"] is not None)
    ordered = done + [None] * (len(sent) - len(done))
    return {"count": len(done), "unfinished": len(sent) - len(done), "p50": stats.percentile(ordered, 0.5), "p99": stats.percentile(ordered, 0.99)}


def makespan(flows, s, net):
    """Transfers to one receiver, first start to last arrival, against all of them back to back over the link that takes longest for those that cross it."""
    finite = [f for f in flows if f["finite"]]
    done = [f for f in finite if f["end_ns"] is not None]
    if not finite or len(done) < len(finite) or len({f["to"] for f in finite}) != 1:
        return {"makespan_ns": None, "makespan_over_ideal": None}
    span = max(f["end_ns"] for f in done) - min(f["start_ns"] for f in done)
    paths = {src: ideal.path_links(net, src, done[0]["to"]) for src in {f["from"] for f in done}}
    crossing = {}
    for f in done:
        for link, rate in reversed(paths[f["from"]]):       # the receiver's first, of equals
            crossing.setdefault(link, []).append((wire_bytes(f["bytes"], s) / rate, f["ideal_ns"]))
    of = max(crossing.values(), key=lambda one: sum(serial for serial, _ in one))
    best = sum(serial for serial, _ in of) + min(alone - serial for serial, alone in of)
    return {"makespan_ns": span, "makespan_over_ideal": stats.rounded(span / best)}


def jain_epoch(flows, socks, s, epoch):
    """The least and the median of Jain's index over any so long stretch, of flows that have a time series."""
    known = [(max(0, f["start_ns"]), stats.ended(f), socks[f["id"]][0], socks[f["id"]][2])
             for f in flows if f["kind"] == "flow" and f["id"] in socks]
    others = [(f["start_ns"], stats.ended(f)) for f in flows if f["kind"] == "flow" and f["id"] not in socks]
    found = stats.jain_epochs(known, epoch, s.settle, s.duration, others)
    least = min(found, key=lambda item: item[1], default=(None, None))
    return {"epoch_ns": epoch, "settle_ns": s.settle, "count": len(found), "flows": len(known), "min": stats.rounded(least[1]), "min_at_ns": least[0],
            "p50": stats.rounded(stats.percentile(sorted(index for _, index in found), 0.5))}


def interesting(net, link):
    """Every switch port, and the host ports that sent anything."""
    for node in net.switches + net.hosts:
        for port in net.ports[node]:
            if node not in net.host_set or link.ports.get((node, port.dev), {}).get("tx_bytes"):
                yield port


def carried(net, link):
    """{(node, dev): packets of data}, as the other end has counted them."""
    return {(p.node, p.dev): link.ports.get((other.node, other.dev), {}).get("rx_data_packets", 0) for a, b in net.links for p, other in ((a, b), (b, a))}


def port_entry(port, link, qdiscs, s, series, place, data):
    key = (port.node, port.dev)
    counted = link.ports.get(key, {})
    tx = counted.get("tx_bytes", 0)
    qdisc = qdiscs.get(key, {})
    entry = {
        "name": port.name,
        "rate_bps": port.rate,
        "utilization": stats.rounded(tx * 8e9 / (port.rate * s.duration)),
        "tx_bytes": tx,
        "drops": qdisc.get("drops", counted.get("drops", 0)) + counted.get("tx_drops", 0) + counted.get("rx_drops", 0),
        "marks": sum(qdisc.get(k, 0) for k in MARK_KEYS),
        "queue_bytes": None,
        "series": None,
    }
    if counted.get("watched"):
        entry["queue_bytes"] = {k: counted[f"queue_{k}"] for k in ("max", "mean", "p50", "p99", "busy_mean", "busy_p50", "busy_p99")}
        name = f"queue-{port.name}.csv"
        # nobody looks at the queue of ACKs who has not asked for it
        wanted = port.name in s.sample_ports or data[key] and not s.sample_ports
        if wanted and tx and write_series(series / name, ("time_ns", "queue_bytes", "tx_bytes"), link.queues.get(key)):
            entry["series"] = f"{place}/{name}"
    return entry


def write_series(path, header, columns):
    if not columns or not len(columns[0]):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as f:
        f.write(",".join(header) + "\n")
        f.writelines(",".join(map(str, row)) + "\n" for row in zip(*columns))
    return True


def read_series(path):
    """{column: [numbers]} of a CSV written above."""
    return _read_series(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _read_series(path, _changed):
    """Plots and report want the same files; whoever gets the lists must not change them."""
    head, _, body = path.read_text().partition("\n")
    header = head.split(",")
    values = array("q", map(int, body.replace("\n", ",").strip(",").split(","))) if body else array("q")
    return {name: values[i::len(header)] for i, name in enumerate(header)}


def only_started(traffic, flows):
    """Programs that end the run leave messages that nobody sent."""
    there = {f["id"] for f in flows}
    return dataclasses.replace(traffic, messages=[m for m in traffic.messages if m.id in there])


def read_flows(path, traffic):
    """Of the messages that started."""
    measured = {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        ident, *rest = line.split()
        measured[int(ident)] = [None if v == "-" else int(v) for v in rest]
    flows = []
    for m in traffic.messages:
        if m.id not in measured:
            continue
        pair = traffic.pairs[m.pair]
        start, end, end_ack, stop, acked, retransmits, *_ = measured[m.id]
        whole = end is not None
        fct = end - start if whole else None
        fct_ack = end_ack - start if end_ack is not None else None
        flows.append({
            "id": m.id, "kind": m.kind, "from": pair.src, "to": pair.dst, "cc": pair.cc,
            "start_ns": start, "end_ns": end, "end_ack_ns": end_ack, "stopped_ns": stop,
            "bytes": m.bytes if whole else acked, "size_bytes": m.bytes, "finite": m.bytes is not None,
            "fct_ns": fct, "ideal_ns": m.ideal,
            "slowdown": stats.rounded(fct / m.ideal) if whole else None,
            "slowdown_ack": stats.rounded(fct_ack / m.ideal_ack) if fct_ack is not None else None,
            "retransmits": retransmits})
    return flows


def add_bounds(flows, s, net, started):
    """What each message would take under ideal sharing."""
    for f, m, bounds in zip(flows, started.messages, ideal.slowdowns(s, net, started)):
        for name, slowdown in bounds.items():
            f |= {f"ideal_{name}_ns": round(slowdown * m.ideal_ack), f"slowdown_{name}": stats.rounded(slowdown)}


def read_qdiscs(raw, s, net):
    """{(node, dev): the root qdisc's JSON}; where an event replaced it, the counters of the earlier ones are added. What they still held was dropped."""
    result, gone = {}, {}
    for node in net.nodes:
        for name in (*(f"tc-{node}-{i}.json" for i in plan.looked_at(s)), f"tc-{node}.json"):
            path = raw / name
            for q in read_json(path, node) if path.exists() else ():
                if not q.get("root"):
                    continue
                key = node, q.get("dev")
                before, sums = result.get(key, q), gone.setdefault(key, Counter())
                if (before["kind"], before["handle"]) != (q["kind"], q["handle"]):
                    sums.update({k: v for k, v in before.items() if type(v) is int and k not in LEVELS})
                    sums["drops"] += before.get("qlen", 0)
                result[key] = q
    return {key: q | {k: q.get(k, 0) + v for k, v in gone[key].items()} for key, q in result.items()}


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def read_json(path, node):
    """What tc said; options that are no JSON, as those of hfsc and of a qdisc that tc does not know, are left out."""
    text = OPTIONS.sub(lambda m: m[0] if is_json(m[1]) else '"options":{}', path.read_text() or "[]")
    try:
        return json.loads(text)
    except ValueError as e:
        raise RunError(f"tc's JSON of {node} cannot be read: {e}") from None


def softnet_drops(path):
    """Second and third column of /proc/net/softnet_stat: dropped, and budget squeezed (not a drop)."""
    return sum(int(line.split()[1], 16) for line in path.read_text().splitlines())


def counters(path):
    """{name: sum over namespaces} of "ns NAME" parts with lines "Counter value"."""
    total = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        words = line.split()
        if len(words) == 2 and words[0] != "ns" and words[1].lstrip("-").isdigit():
            total[words[0]] = total.get(words[0], 0) + int(words[1])
    return total


def control(raw, qdiscs, net):
    """Control messages sent by switches, and what hosts made of them; a host's own port delivers what it sends locally."""
    host = counters(raw / "bolt.txt")

    def switch(counter):
        return sum(q.get(counter, 0) for (node, _), q in qdiscs.items() if node not in net.host_set)

    def ports(counter):
        return sum(q.get(counter, 0) for q in qdiscs.values())

    # the host's refusals are its Ctl* counters, one for each reason; what was put off is no refusal
    rejected = {k[3:]: v for k, v in sorted(host.items()) if v and k.startswith("Ctl") and k not in ("CtlRx", "CtlDeferred")}

    return {
        "src_packets": switch("src_sent"), "src_bytes": switch("src_sent") * SRC_BYTES[net.ip],
        "bts_packets": switch("bts_sent"), "bts_bytes": switch("bts_sent") * BTS_BYTES[net.ip],
        "cached_bts": switch("bts_cached"), "suppressed": switch("bts_suppressed"),
        "cnm_packets": switch("cnm_sent"),
        "at_hosts": {f"{k}_packets": ports(f"{k}_sent") - switch(f"{k}_sent") for k in ("src", "bts", "cnm")},
        "pfc": {k: ports(f"pfc_{k}") for k in ("xoff", "refresh", "xon", "heard", "ignored", "trips")},
        "sfc_p": switch("sfcp_asked"),
        "pauses": host.get("Pauses", 0), "pause_ns": host.get("PausedNs", 0),
        "rejected": rejected,
        "host": dict(sorted(host.items())),
    }
