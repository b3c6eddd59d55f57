# SPDX-License-Identifier: GPL-2.0
"""Source Flow Control: sections 2, 3 and 5 of its paper, Figures 1, 12 and 15, Appendix C."""

from lab_runs import LATE_NS, PACKET, RATE_BPS, Failed, jain, percentile, rate, us

CACHE = "cache switchkey f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"

# SFC without congestion control (its Figure 1): the queue's peak, each lower than the one before
SFC_SIGNALS = {
    "none": ("sfc nobolt", "sfc nobolt"),
    "egress": ("sfc nobolt pause edge bts egress rtt 10us", "sfc nobolt"),
    "ingress": ("sfc nobolt pause edge rtt 10us", "sfc nobolt"),
    "ingress and cache": (f"sfc nobolt pause edge {CACHE} rtt 10us", f"sfc nobolt pause {CACHE} rtt 10us"),
}
SFC_CACHE_OF_EGRESS = 0.5           # the last, of egress BTS
SFC_STABLE_NS = 1e6                 # from here on ...
SFC_STABLE = 0.1                    # ... the queue stays within so much of its mean
SFC_SUPPRESSED = 0.75               # of the messages, at least ...
SFC_SUPPRESSED_PEAK = 0.03          # ... for so much of the peak without, at most: 0.020, 0.006 a seed
SFC_SUPPRESSED_SEEDS = (1, 2, 3, 4)
SFC_FULL = 0.999                    # the link, once the queue has formed
SFC_HANDED_DOWN = 6                 # packets that a pause does not reach: two below TCP, one past the
                                    # pacing check, one in the ring, one on the wire, the cause itself
SFC_TICK = 1 / 32                   # of tau, the estimator's clock at its coarsest
SFC_SERVERRATE = f"sfc nobolt pause {CACHE} rtt 10us estimator 10us serverrate 100gbit"

# SFC above a congestion control: 64 to 1, 250 KB, over 100 us, messages beside it
SFC_TRANSPORT = {
    "cubic": "",
    "dctcp": " ecn {0.5*bdp}",
}
SFC_TRANSPORT_PEAK = 2              # the peak is lower by a factor of, at least
SFC_TRANSPORT_USED = 0.98           # of the receiver's link, while data remains

# Beside an incast (its sections 2.2 and 5.2), and late (its Appendix C.3)
VICTIM_KEEPS = 0.95                 # of what it had before
VICTIM_FROM_NS, VICTIM_INCAST_NS = 50e3, 200e3      # steady, and the incast begins
VICTIMS = {0: "a flow that shares a link", 1: "a flow of a host that sends in it"}
VICTIM_LATE = (2, 3, 4, 5)          # flows that come late

# The packet that crosses Qth is the last one under way (its section 3.3): the congested link, Qtg of 1 BDP
UNDERRUN_CWND = 173                 # at 32 times the rate: 171 packets of them wait, Qth is 165
UNDERRUN_PACKETS = 3                # from T_F - Qtg / R: the packet itself, one that is being sent, the pipe

# Groups join and leave (its Figure 15): with SFC as without
GROUPS, GROUP, GROUP_NS = 4, 4, 10e6
SFC_FAIR = 0.98                     # Jain's index of each of seven periods
SFC_FAIR_SAME = 0.003               # their mean with SFC, from that without
SFC_FAIR_JOIN_NS = 2e6              # in the first of a group's time ...
SFC_FAIR_JOIN = 0.1                 # ... what it gets of its fair share, mean of the joins, from without
SFC_FAIR_USED = 0.002               # the link, likewise
SFC_FAIR_PAUSES = 0.99              # without congestion control: SFC alone shares the link

# A longer RTT (its Figure 12): slowdown of the workload's messages
LONGER = {10: (), 16: ("--set", "topology.rtt=16us", "--set", "host.cwnd=133", "--set", "host.initcwnd=133")}
LONGER_SEEDS = range(1, 5)          # percentiles are of the messages of all: one seed has two to seven incasts
LONGER_SAME = 1.15                  # P99 with SFC at 16 us, of 10 us, at most; the paper, of P95: "virtually unchanged"
LONGER_QUEUE, LONGER_NONE = 1.3, 1.5    # the longest queue with SFC, at most, and without, at least; the RTT is 1.6 of it
LONGER_OF_NONE = 0.5                # P99 with SFC, of without, at most


def sfc_run(lab, edge, core, *args):
    runs, _ = lab.run("sfc-incast", "--cc", "reno", "--set", f"switch.edge_qdisc={edge}",
                      "--set", f"switch.qdisc={core}", *args, late_ns=LATE_NS)
    run = runs["reno"]
    return run, run.link("b-r0")


def sfc_signals(lab, j):
    """63 to 1 over 50 us, a fixed window: the SFC paper's Figure 1"""
    peaks = {}
    for name, (edge, core) in SFC_SIGNALS.items():
        run, port = sfc_run(lab, edge, core)
        peaks[name] = port.link["queue_bytes"]["max"]
        j.must(port.link["drops"] == 0, f"{name}: peak {peaks[name] / 1e6:.2f} MB, no drop")
        used = port.utilization(100e3, run.r["sim_ns"])
        j.must(used >= SFC_FULL, f"{name}: link {used:.2%} used (at least {SFC_FULL:.1%})")
        if not name.startswith("ingress"):
            continue
        later = [port.q[i] for i in port.between(SFC_STABLE_NS, run.r["sim_ns"])]
        mean = sum(later) / len(later)
        off = max(max(later) - mean, mean - min(later)) / mean
        j.must(off <= SFC_STABLE, f"{name}: from {us(SFC_STABLE_NS)} on {mean / 1e6:.2f} MB within {off:.1%}"
               f" (at most {SFC_STABLE:.0%})")
    order = list(peaks.values())
    j.must(all(a > b for a, b in zip(order, order[1:])), f"peaks fall: {' > '.join(peaks)}")
    of = peaks["ingress and cache"] / peaks["egress"]
    j.must(of <= SFC_CACHE_OF_EGRESS, f"with cache {of:.2f} of egress BTS (at most {SFC_CACHE_OF_EGRESS})")


def sfc_suppressed(lab, j):
    """Suppression takes most of the messages and costs nothing"""
    edge, core = SFC_SIGNALS["ingress"]
    for name, *args in (*(("over 50 us", "--seed", str(seed)) for seed in SFC_SUPPRESSED_SEEDS),
                        ("64 to 1 at once", "--set", "topology.senders=64",
                         "--set", "incast.degree=64", "--set", "incast.sync=0us",
                         "--set", "duration=800us")):
        run, port = sfc_run(lab, edge, core, *args)
        _, without = sfc_run(lab, edge + " suppress off", core, *args)
        control = run.r["control"]
        all_ = control["suppressed"] + control["bts_packets"]
        part = control["suppressed"] / all_
        j.must(part >= SFC_SUPPRESSED, f"{name}: {part:.1%} of {all_} messages suppressed"
               f" (at least {SFC_SUPPRESSED:.0%})")
        peak = port.link["queue_bytes"]["max"]
        more = peak / without.link["queue_bytes"]["max"] - 1
        j.sample(f"more, {name}", more, SFC_SUPPRESSED_PEAK, f"{name}: peak {peak / 1e6:.2f} MB, {more:+.1%} against none"
                 f" suppressed (at most {SFC_SUPPRESSED_PEAK:+.0%})")
    j.judge_means()


def sfc_synchronized(lab, j):
    """All at the same instant: the SFC paper's Appendix C, equation 3, N * R * T_F, for more senders than Qth is
    packets (N > k).  Here they are fewer, so that Qth comes on top; and of each sender SFC_HANDED_DOWN packets,
    where T_F has one.  With the estimator (section 3.4) T_F is to the senders' own switch and back, equation 8.
    """
    for n in (16, 64, 128):
        edge, core = SFC_SIGNALS["ingress and cache"]
        args = ("--set", f"topology.senders={n}", "--set", f"incast.degree={n}",
                "--set", "incast.sync=0us", "--set", "duration=500us",
                "--set", "topology.core_rate=8000gbit")
        run, port = sfc_run(lab, edge, core, *args)
        byte_ns = 8e9 / port.rate
        # to the congested port and back: two of the path's three links, each way
        handed_ns = SFC_HANDED_DOWN * PACKET * byte_ns
        qth = 2 * run.rtt / byte_ns
        bound = n * (run.rtt * 2 / 3 + handed_ns) / byte_ns + qth
        peak = port.link["queue_bytes"]["max"]
        equation = n * (run.rtt * 2 / 3 / byte_ns + PACKET)
        j.must(peak <= bound, f"{n} to 1: peak {peak / 1e6:.2f} MB, {peak / equation:.2f} of N * R * T_F (at most {bound / 1e6:.2f} MB:"
               f" with Qth, and {SFC_HANDED_DOWN} packets of each sender)")
        run, port = sfc_run(lab, edge, SFC_SERVERRATE, *args)
        # what it takes for an estimate: tau of the receiver's rate, Qtg, a tick, a packet of each sender
        notice = (2 + SFC_TICK) * run.rtt / byte_ns + n * PACKET
        near = n * (run.rtt / 3 + handed_ns) / byte_ns + notice + qth
        lower = port.link["queue_bytes"]["max"]
        j.must(lower < peak and lower <= near, f"{n} to 1, estimator: peak {lower / 1e6:.2f} MB,"
               f" {1 - lower / peak:.0%} less; with T_F of one hop {near / 1e6:.2f} MB")
        used = port.utilization(100e3, run.r["sim_ns"])
        j.must(used >= SFC_FULL, f"{n} to 1, estimator: link {used:.2%} used (at least {SFC_FULL:.1%})")


def incast_used(run, port):
    """The receiver's link, from the first incast packet's arrival to the last byte"""
    incast_ = [f for f in run.r["flows"] if f["kind"] == "incast"]
    if None in (f["end_ns"] for f in incast_):
        raise Failed("not all of the incast has arrived")
    return port.utilization(min(f["start_ns"] for f in incast_) + run.rtt,
                            max(f["end_ns"] for f in incast_) - run.rtt)


def sfc_transport(lab, j):
    """Above cubic and dctcp: the SFC paper's section 5.3"""
    for cc, ecn in SFC_TRANSPORT.items():
        got = {}
        for name, edge, core in (("without", "", ""),
                                 ("with SFC", f" pause edge {CACHE} rtt 10us", f" pause {CACHE} rtt 10us")):
            runs, _ = lab.run("sfc-transport", "--cc", cc,
                              "--set", f"switch.edge_qdisc=sfc nobolt{ecn}{edge}",
                              "--set", f"switch.qdisc=sfc nobolt{ecn}{core}", late_ns=LATE_NS)
            run = runs[cc]
            port = run.link("b-r0")
            drops = run.drops()
            background = run.r["fct"]["kinds"]["workload"]
            got[name] = (port.link["queue_bytes"]["max"], background["p99_ns"])
            j.must(drops == 0 or not edge, f"{cc}, {name}: peak {got[name][0] / 1e6:.2f} MB,"
                   f" {drops} dropped")
            used = incast_used(run, port)
            j.must(used >= SFC_TRANSPORT_USED, f"{cc}, {name}: link {used:.2%} used while data remains"
                   f" (at least {SFC_TRANSPORT_USED:.0%})")
            j.sane(run.r["fct"]["unfinished"] == 0 and background["count"] >= 1000,
                   f"{cc}, {name}: p99 of {background['count']} messages {us(got[name][1])}")
        times = got["without"][0] / got["with SFC"][0]
        j.must(times >= SFC_TRANSPORT_PEAK, f"{cc}: peak {times:.2f} times lower with SFC"
               f" (at least {SFC_TRANSPORT_PEAK})")
        j.must(got["with SFC"][1] < got["without"][1], f"{cc}: p99 of messages {us(got['with SFC'][1])}"
               f" with SFC, {us(got['without'][1])} without")


def sfc_victim(lab, j):
    """Flows beside an incast go on; a later sender is paused by the near switch"""
    runs, _ = lab.run("sfc-victim", "--cc", "reno")
    run = runs["reno"]
    for i, who in VICTIMS.items():
        series = run.flow_series(i)
        before, after = (rate(series, *span) for span in ((VICTIM_FROM_NS, VICTIM_INCAST_NS),
                                                          (VICTIM_INCAST_NS, run.r["sim_ns"])))
        j.goal("keeps", after / before, VICTIM_KEEPS, f"{who}: {after / 1e9:.1f} Gb/s of {before / 1e9:.1f}"
               f" (at least {VICTIM_KEEPS:.0%})", least=True)

    runs, _ = lab.run("sfc-victim", "--cc", "reno", "--set", f"switch.edge_qdisc={SFC_SIGNALS['ingress'][0]}",
                      "--set", "switch.qdisc=sfc nobolt pause rtt 10us")
    # links of 1 us to the hosts, the rest of the path between the switches; the first packet has to be sent
    packet_ns = PACKET * 8e9 / RATE_BPS
    hop, path = 2 * 1000 + packet_ns, 2 * (run.rtt / 2 - 1000) + packet_ns
    for i in VICTIM_LATE:
        near, far = (until_paused(r.flow_series(i)) for r in (run, runs["reno"]))
        j.must(near <= hop, f"sender {i - VICTIM_LATE[0] + 1} that comes late sends for {us(near)} (at most {us(hop)},"
               " its hop's round trip)")
        j.must(path - 2 * packet_ns <= far, f"... and {us(far)} without the cache (the path's round trip: {us(path)})")


def until_paused(series):
    """From the first packet until no more follow, for at least a microsecond"""
    t, flight = series["time_ns"], series["inflight_bytes"]
    first = next(i for i, x in enumerate(flight) if x)
    last = first
    for i in range(first + 1, len(t)):
        if flight[i] > flight[i - 1]:
            last = i
        elif t[i] - t[last] > 1000:
            break
    return t[last] - t[first]


def sfc_underrun(lab, j):
    """SFC, section 3.3: the link idles for T_F - Qtg / R, so never with Qtg of 1 BDP"""
    bdp = RATE_BPS * 10e-6 / 8
    # T_F of 8 us, and of 9 where the receiver is nearer to its switch
    for core, last in ((3000, 1000), (3500, 500)):
        feedback = 2 * (1000 + core)
        for qtg in (bdp, feedback * RATE_BPS / 8e9, bdp / 2, 1):
            edge = f"sfc nobolt pause edge {CACHE} rtt 10us qth {2 * bdp:.0f} qtg {qtg:.0f}"
            # what the port decides by itself is what is recommended
            default = qtg == bdp
            runs, _ = lab.run("sfc-underrun", "--cc", "reno", "--set", f"host.cwnd={UNDERRUN_CWND}",
                              "--set", f"host.initcwnd={UNDERRUN_CWND}", "--set", f"link.1.delay={core}ns",
                              "--set", f"link.2.delay={last}ns",
                              *(() if default else ("--set", f"switch.edge_qdisc={edge}")))
            run = runs["reno"]
            port, control = run.link("b-r0"), run.r["control"]
            what = f"T_F {us(feedback)}, Qtg {qtg / 1e3:.1f} KB"
            j.must((control["bts_packets"], control["suppressed"], control["pauses"]) == (1, 0, 1),
                   f"{what}: {control['bts_packets']} BTS, {control['pauses']} pause of {us(control['pause_ns'])}")
            begin = next(t for t, x in zip(port.t, port.tx) if x)
            idle = port.lost_ns(begin, run.r["sim_ns"])
            if default:
                j.must(idle < port.step, f"{what}: the link idles for {us(idle)} (not at all)")
                continue
            want = max(0, feedback - qtg * 8e9 / RATE_BPS)
            j.must(abs(idle - want) <= UNDERRUN_PACKETS * PACKET * 8e9 / RATE_BPS,
                   f"{what}: the link idles for {us(idle)}; T_F - Qtg / R is {us(want)}")


def sfc_fairness(lab, j):
    """SFC, Figure 15: it leaves the shares as congestion control makes them"""
    got = {}
    for name, args in (("without", ("--set", "switch.edge_qdisc=sfc nobolt ecn {bdp}", "--set", "switch.qdisc=sfc nobolt")),
                       ("with SFC", ())):
        runs, _ = lab.run("sfc-fairness", "--cc", "dctcp", *args)
        run = got[name] = runs["dctcp"]
        run.shares = [run.flow_series(i) for i in range(GROUPS * GROUP)]
    indices = {name: [] for name in got}
    for n in range(2 * GROUPS - 1):
        span = (n * GROUP_NS, min((n + 1) * GROUP_NS, got["with SFC"].r["sim_ns"]))
        active = [i for i in range(GROUPS * GROUP) if i // GROUP <= n < i // GROUP + GROUPS]
        index = {name: jain([rate(run.shares[i], *span) for i in active]) for name, run in got.items()}
        text = f"{len(active)} flows, {n * GROUP_NS / 1e6:.0f} ms: Jain {index['with SFC']:.4f}, {index['without']:.4f} without"
        j.goal("fair", index["with SFC"], SFC_FAIR, f"{text} (at least {SFC_FAIR})", least=True)
        for name, value in index.items():
            indices[name].append(value)
        used = {name: run.link("b-r0").utilization(*span) for name, run in got.items()}
        j.goal("used", used["without"] - used["with SFC"], SFC_FAIR_USED,
               f"link {used['with SFC']:.2%} used, {used['without']:.2%} without (at most {SFC_FAIR_USED:.1%} less)")
    mean = {name: sum(values) / len(values) for name, values in indices.items()}
    j.goal("same", mean["without"] - mean["with SFC"], SFC_FAIR_SAME, f"Jain, mean of the periods: {mean['with SFC']:.4f},"
           f" {mean['without']:.4f} without (at most {SFC_FAIR_SAME} less)")
    join = {name: sum(joined(run, n) for n in range(1, GROUPS)) / (GROUPS - 1) for name, run in got.items()}
    j.goal("join", abs(join["without"] - join["with SFC"]), SFC_FAIR_JOIN, f"groups that join get {join['with SFC']:.2f} of their share"
           f" in {us(SFC_FAIR_JOIN_NS)}, {join['without']:.2f} without (at most {SFC_FAIR_JOIN} apart)")
    pauses = got["with SFC"].r["control"]["pauses"]
    j.sane(pauses >= GROUPS * GROUP, f"{pauses} pauses: every group that joins makes some")

    run, port = sfc_run(lab, *SFC_SIGNALS["ingress and cache"], "--set", "incast.bytes=100MB", "--set", "drain=0us")
    j.goal("pauses", run.r["jain"], SFC_FAIR_PAUSES, f"63 senders without congestion control: Jain {run.r['jain']:.4f}"
           f" (at least {SFC_FAIR_PAUSES})", least=True)


def joined(run, n):
    """What group n gets of its fair share at first"""
    rates = [rate(s, n * GROUP_NS, n * GROUP_NS + SFC_FAIR_JOIN_NS) for s in run.shares[:(n + 1) * GROUP]]
    return sum(rates[n * GROUP:]) / sum(rates) * (n + 1)


def sfc_longer_rtt(lab, j):
    """SFC, Figure 12: with it a longer RTT does not show in the slowdown, without it does"""
    none = ("--set", "switch.edge_qdisc=sfc nobolt ecn {bdp}", "--set", "switch.qdisc=sfc nobolt ecn {bdp}")
    fct, peak = {}, {}
    for rtt, args in LONGER.items():
        for name, signals in (("with SFC", ()), ("without", none)):
            runs = [lab.run("sfc-longer-rtt", "--cc", "dctcp", "--seed", str(seed), *args, *signals)[0]["dctcp"]
                    for seed in LONGER_SEEDS]
            slow = [f["slowdown"] or float("inf") for run in runs for f in run.r["flows"] if f["kind"] == "workload"]
            p95, fct[name, rtt] = percentile(slow, 95), percentile(slow, 99)
            peak[name, rtt] = max(l["queue_bytes"]["max"] for run in runs for l in run.r["links"] if l["queue_bytes"])
            drops = sum(run.drops() for run in runs)
            j.must(drops == 0, f"{rtt} us, {name}: {len(slow)} messages, P95 {p95:.1f}, P99 {fct[name, rtt]:.1f},"
                   f" longest queue {peak[name, rtt] / 1e6:.2f} MB, {drops} dropped")
    def longer(what, name):
        return what[name, 16] / what[name, 10]

    more = longer(fct, "with SFC")
    j.goal("p99", more, LONGER_SAME, f"with SFC P99 at 16 us is {more:.2f} of that at 10 us (at most {LONGER_SAME})")
    more = longer(peak, "with SFC")
    j.goal("queue", more, LONGER_QUEUE, f"... the longest queue {more:.2f} (at most {LONGER_QUEUE})")
    more = longer(peak, "without")
    j.goal("none", more, LONGER_NONE, f"... without {more:.2f} (at least {LONGER_NONE}), P99 {longer(fct, 'without'):.2f}", least=True)
    for rtt in LONGER:
        of = fct["with SFC", rtt] / fct["without", rtt]
        j.goal("of none", of, LONGER_OF_NONE, f"{rtt} us: P99 with SFC is {of:.2f} of that without (at most {LONGER_OF_NONE})")


CHECKS = {
    "SFC: signals (its Figure 1)": sfc_signals,
    "SFC: suppression": sfc_suppressed,
    "SFC: synchronized (its Appendix C)": sfc_synchronized,
    "SFC: victims, later senders (its C.3)": sfc_victim,
    "SFC: under-run (its section 3.3)": sfc_underrun,
    "SFC: fairness (its Figure 15)": sfc_fairness,
    "SFC: longer RTT (its Figure 12)": sfc_longer_rtt,
    "SFC: above cubic and dctcp": sfc_transport,
}
