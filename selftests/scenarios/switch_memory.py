# SPDX-License-Identifier: GPL-2.0
"""The memory of a switch: PFC and its head-of-line blocking, SFC-P, a shared buffer (SFC, sections 4 and 5.2)."""

import itertools

from lab_runs import PACKET, RATE_BPS, percentile, rate
from sfc_paper import CACHE, SFC_FULL, SFC_TRANSPORT, VICTIM_FROM_NS, VICTIM_INCAST_NS, VICTIM_KEEPS, VICTIMS

PFC = "pfc prio 0x01 xoff 2mb"
HOL_SENDERS = 16
HOL_FROM_NS = 250e3                 # all have begun
HOL_LOSES = 0.9                     # of their rate, without SFC, at least
DEADLOCK_FROM_NS = 1e6              # all five have stopped each other
DEADLOCK_USED = 0.001               # of a link by then: only PAUSE frames are left
STORM_FROM_NS = 2e6
STORM_SLACK = 0.01                  # of the watchdog's share
STORM_DEAD = 0.01                   # of what they had, without the watchdog, at most
SRCC_DELAYS = {"": "srcc_delay 2us rtt 10us", " default": "rtt 10us"}     # 2 us: of the scenario's links, on average; the default: an eighth of rtt
SRCC_PAUSES = 0.2                   # of those without it, at most
SRCC_SEEDS = (1, 2, 3)
SRCC_DYNAMIC, SRCC_CONSTANT = ("equation", "measured"), ("275kb", "412kb")     # 40 and 60 % of xoff, as in its Figure 8
SRCC_WINDOWS = {"2 RTT": "16us", "4 RTT": "32us"}     # T, in place of 3 RTT; its Figure 8(b)
SRCC_CACHE = ("--set", "workload.cdf=cache-follower", "--set", "workload.messages=730")
# 64 hosts of two levels, 4 us a link
SRCC_LARGE = [word for key in ("topology.leaves=4", "topology.spines=8", "topology.hosts_per_leaf=16", "topology.core_rate=100gbit", "topology.rtt=32us",
                               "duration=2ms", "workload.messages=100000", "workload.load=0.7") for word in ("--set", key)]
# the messages alone, as in its Figures 5 and 6: of the incasts a dozen messages of 1 KB are left, in the last microsecond
SRCC_ALONE = [word for key in ("workload.load=0.8", "workload.messages=100000", "incast.start=3999us", "incast.degree=1", "incast.bytes=1KB") for word in ("--set", key)]
SRCC_BYSTANDERS = range(24, 32)
SRCC_HOL_FROM_NS = 1e6
SRCC_INCAST = {20: "2500KB", 160: "312500B"}     # servers: what each sends, 50 MB in all
SRCC_SPINES = 16
SRCC_GOODPUT = 0.95                 # of what the client's link can carry
SRCC_FCT = 1.05                     # mean FCT, of that without, at most
SRCC_USED = 0.95                    # of the congested link, at least
SFC_P_FEEDBACK_NS = 6000            # T_F of the scenario: to b and back
SFC_P_NEAR_NS = 2000                # likewise to a, whose cache knows it
SFC_P_LATE = 3                      # packets of each that a pause comes too late for
SFC_P_SENDERS = (8, 24, 40)
SFC_P_SYNC_US = 10                  # of 40
SFC_P_ALONE = "pfc prio 0x01 xoff 8mb"
SFC_P_TIMES = 4                     # PFC alone: of the peak with SFC-P, at least
BUFFER = 4 << 20
SHARED_ALPHAS = {"1/2": True, "8": False}   # does something not fit, without SFC
SHARED_SEEDS = (1, 2, 3, 4)
SHARED_TIMES = 2.5                  # where all fits: the buffer's peak with SFC, lower by a factor of, at least
BUFFER_ERROR = 1 / 64               # of it: how well the ports know what all hold

# SFC's Figures 2 and 7 to 10: four ToRs of eight hosts and eight uplinks; dctcp and cubic, windows of at most a BDP, for its HPCC and DCQCN+W
TOR_CC = {"cubic": "", "dctcp": " ecn {bdp}"}
TOR_SEEDS = (1, 2)
TOR_ALL = "buffer 64mb alpha 8"     # Figure 2: all of it fits
TOR_16 = "buffer 16mb alpha 1"      # the others: a lone port may have half
# what, memory, settings; with SFC at most: what a ToR holds, in MB, and the p99 of the slowdown of messages, of that without.  5 to 8 % above what was measured
TOR_FIGURES = {
    "Figure 2": (("16 to one", TOR_ALL, ("incast.degree=16", "incast.sync=50us", "incast.connections=1"), {"dctcp": (1.3, 0.44)}),
                 ("31 to one", TOR_ALL, ("incast.degree=31", "incast.sync=50us"), {"dctcp": (1.4, 0.39)}),
                 ("62 to one", TOR_ALL, ("incast.degree=62", "incast.sync=50us"), {"cubic": (3.4, 0.27), "dctcp": (2.8, 0.35)})),
    "Figure 7": (("Hadoop 50 %, one and two incasts", TOR_16, (), {"cubic": (4.5, 0.57), "dctcp": (4.3, 0.55)}),),
    "Figure 8": (("RPC 30 %, one incast in 200 us", TOR_16, ("workload.cdf=google-rpc2008", "workload.load=0.3", "duration=200us"), {"cubic": (4.6, 0.42), "dctcp": (4.1, 0.52)}),),
    "Figure 9": (("Hadoop 80 %", TOR_16, ("workload.load=0.8", "incast.start=999us", "incast.degree=1"), {"cubic": (1.02, 0.86), "dctcp": (0.74, 1.03)}),),
    "Figure 10": (("Hadoop 50 %, one incast", TOR_16, ("incast.load=0.05",), {"cubic": (4.5, 0.58), "dctcp": (4.3, 0.6)}),),
}


def pfc_hol(lab, j):
    """Flows beside an incast: PFC pauses their link as well; with SFC no link is paused"""
    for sfc, more in (("without SFC", ("", "")), ("with SFC", (f" pause edge {CACHE} rtt 10us", f" pause {CACHE} rtt 10us"))):
        runs, _ = lab.run("pfc-hol", "--cc", "reno", "--set", f"switch.edge_qdisc=sfc nobolt {PFC}{more[0]}",
                          "--set", f"switch.qdisc=sfc nobolt {PFC}{more[1]}")
        run = runs["reno"]
        told = run.r["control"]["pfc"]
        drops = run.drops()
        j.must(drops == 0 and told["trips"] == 0, f"{sfc}: {drops} dropped, the watchdog tripped {told['trips']} times")
        j.must(bool(told["xoff"]) != bool(more[0]) and told["heard"] == sum(told[k] for k in ("xoff", "refresh", "xon")),
               f"{sfc}: {told['xoff']} pauses by PFC, {told['heard']} frames heard")
        for i, who in VICTIMS.items():
            series = run.flow_series(i)
            before, after = (rate(series, *span) for span in ((VICTIM_FROM_NS, VICTIM_INCAST_NS),
                                                              (HOL_FROM_NS, run.r["sim_ns"])))
            text = f"{sfc}: {who}: {after / 1e9:.1f} Gb/s of {before / 1e9:.1f}"
            if more[0]:
                j.must(after >= VICTIM_KEEPS * before, f"{text} (at least {VICTIM_KEEPS:.0%})")
            else:
                j.must(after <= (1 - HOL_LOSES) * before, f"{text} (at most {1 - HOL_LOSES:.0%})")


def pfc_deadlock(lab, j):
    """Five switches in a ring stop each other for ever; the watchdog ends that, and with SFC or SRCC it does not begin"""
    for what, more in (("no watchdog", "watchdog off"), ("watchdog", "watchdog 1ms ignore 1ms"), ("SFC", f"watchdog off pause edge {CACHE} rtt 8us"),
                       *((f"SRCC {t}", f"watchdog off srcc {t} srcc_delay 1us rtt 8us") for t in SRCC_DYNAMIC)):
        run = lab.run("pfc-deadlock", "--set", f"switch.qdisc=sfc nobolt pfc prio 0x01 xoff 200kb {more}")[0]["reno"]
        pfc, fct = run.r["control"]["pfc"], run.r["fct"]
        drops = run.drops()
        if what == "no watchdog":
            used = max(run.link(f"s{i}-s{(i + 1) % 5}").utilization(DEADLOCK_FROM_NS, run.r["sim_ns"]) for i in range(5))
            j.must(fct["unfinished"] == 5 and used < DEADLOCK_USED and not drops,
                   f"{what}: {fct['unfinished']} of 5 flows never end, links are used to {used:.3%}, {pfc['refresh']} PAUSE frames sent again")
            continue
        j.must(not fct["unfinished"] and not drops and bool(pfc["trips"]) == (what == "watchdog"),
               f"{what}: {fct['unfinished']} unfinished, the last ends after {max(f['end_ns'] or 0 for f in run.r['flows']) / 1e6:.2f} ms; {pfc['xoff']} pauses by PFC, {pfc['trips']} trips")


def pfc_storm(lab, j):
    """A host pauses its port without end: what shares a link with its flow keeps the share of the time that the watchdog leaves"""
    for stuck, ignore in ((1, 1), (1, 3), (1, 0)):
        watchdog = f"watchdog {stuck}ms ignore {ignore}ms" if ignore else "watchdog off"
        run = lab.run("pfc-storm", "--set", f"switch.qdisc=sfc nobolt pfc prio 0x01 xoff 200kb {watchdog}")[0]["reno"]
        pfc, drops = run.r["control"]["pfc"], run.drops()
        queue = run.link("b-r0").link["queue_bytes"]
        j.must(queue["busy_mean"] < queue["mean"], f"{watchdog}: mean queue {queue['mean'] / 1e3:.0f} KB, while busy {queue['busy_mean'] / 1e3:.0f} KB: what waits for a paused line is not part of that")
        period = (stuck + ignore) * 1e6
        end = STORM_FROM_NS + period * ((run.r["sim_ns"] - STORM_FROM_NS) // period)
        for i in (1, 2):
            series = run.flow_series(i)
            before, after = rate(series, STORM_FROM_NS / 2, STORM_FROM_NS), rate(series, STORM_FROM_NS if ignore else STORM_FROM_NS + period, end)
            share = ignore / (stuck + ignore)
            ok = after >= (share - STORM_SLACK) * before if ignore else after <= STORM_DEAD * before
            j.must(ok and not drops and bool(pfc["trips"]) == bool(ignore),
                   f"{watchdog}: flow {i}: {after / 1e9:.1f} Gb/s of {before / 1e9:.1f} ({'at least' if ignore else 'at most'} {share - STORM_SLACK if ignore else STORM_DEAD:.0%}); {pfc['trips']} trips, {drops} dropped")


def srcc(lab, j):
    """Flows beside an incast, with SRCC: what makes PFC pause their link is told to slow down (SRCC, section II-B)"""
    pauses = {}
    for cc in ("reno", "dctcp", "swift"):
        for threshold, delay in ((None, ""), *itertools.product(SRCC_DYNAMIC, SRCC_DELAYS)):
            more = (f" srcc {threshold} {SRCC_DELAYS[delay]}" if threshold else "") + (" ecn 65kb" if cc == "dctcp" else "")
            runs, _ = lab.run("pfc-hol", "--cc", cc, "--set", f"switch.edge_qdisc=sfc nobolt {PFC}{more}",
                              "--set", f"switch.qdisc=sfc nobolt {PFC}{more}")
            run = runs[cc]
            control = run.r["control"]
            drops = run.drops()
            what = f"{cc}, SRCC {threshold or 'off'}{delay}"
            pauses[threshold] = control["pfc"]["xoff"]
            j.must(drops == 0, f"{what}: {drops} dropped")
            if not threshold:
                continue
            believed(j, control)
            j.must(pauses[threshold] <= SRCC_PAUSES * pauses[None], f"{what}: {pauses[threshold]} pauses by PFC, {pauses[None]} without (at most {SRCC_PAUSES:.0%})")
            used = run.link("b-r0").utilization(HOL_FROM_NS, run.r["sim_ns"])
            j.goal(f"used, {cc} {threshold}{delay}", used, SRCC_USED, f"{what}: the congested link is used to {used:.1%} (at least {SRCC_USED:.0%}); {control['cnm_packets']} CNM", least=True)
            for i, who in VICTIMS.items():
                series = run.flow_series(i)
                before, after = (rate(series, *span) for span in ((VICTIM_FROM_NS, VICTIM_INCAST_NS), (HOL_FROM_NS, run.r["sim_ns"])))
                # the host of the second one sends its share of the incast as well
                before -= i * before / HOL_SENDERS
                j.goal(f"victim {i}, {cc} {threshold}{delay}", after / before, VICTIM_KEEPS, f"{what}: {who}: {after / 1e9:.1f} Gb/s of {before / 1e9:.1f} (at least {VICTIM_KEEPS:.0%})", least=True)


def believed(j, control):
    """Hosts have taken every CNM: none for the replay of another switch's"""
    j.must(not control["rejected"], f"... {control['cnm_packets']} CNM, refused: {control['rejected'] or 'none'}")


def never_paused(lab, j, scenario, *args):
    """Over dctcp, which starts with ten packets, there is no pause that SRCC could avoid"""
    r = lab.run(scenario, "--cc", "dctcp", *args)[0]["dctcp"].r
    j.must(not r["control"]["pfc"]["xoff"], f"dctcp, SRCC off: {r['control']['pfc']['xoff']} pauses by PFC")


def srcc_means(lab, j, scenario, threshold, rtt, *args):
    """Of swift, three seeds: runs, PAUSE frames, dropped packets, mean FCT of all in us"""
    qdisc = "sfc nobolt pfc prio 0x01 xoff 687kb" + (f" srcc {threshold} rtt {rtt}" if threshold else "")
    runs = [lab.run(scenario, "--cc", "swift", "--seed", str(seed), "--set", f"switch.qdisc={qdisc}", *args)[0]["swift"] for seed in SRCC_SEEDS]
    for r in runs if threshold else ():
        believed(j, r.r["control"])
    return (runs, sum(r.r["control"]["pfc"]["xoff"] for r in runs), sum(r.drops() for r in runs),
            sum(r.r["fct"]["mean_ns"] for r in runs) / len(runs) / 1e3)


def srcc_bursts(lab, j):
    """Bursts to one host beside a mixed load, three seeds: fewer pauses, and messages that end no later (SRCC, section V-B.2)"""
    pauses, fct = {}, {}
    for threshold in (None, *SRCC_DYNAMIC, *SRCC_CONSTANT):
        _, pauses[threshold], drops, fct[threshold] = srcc_means(lab, j, "srcc-burst", threshold, "8us")
        what = f"swift, SRCC {threshold or 'off'}: {pauses[threshold]} pauses by PFC, mean FCT {fct[threshold]:.1f} us"
        j.must(drops == 0 and pauses[None], f"{what}, {drops} dropped")
        if threshold in SRCC_DYNAMIC:
            less = pauses[threshold] / pauses[None]
            j.goal(f"pauses, {threshold}", less, SRCC_PAUSES, f"{what}: {less:.2f} of the pauses without (at most {SRCC_PAUSES})")
            j.must(fct[threshold] <= SRCC_FCT * fct[None], f"{what} (at most {SRCC_FCT} of that without)")
        elif threshold:
            j.must(max(pauses[t] for t in SRCC_DYNAMIC) < pauses[threshold], f"{what}: more than with a computed threshold")
    never_paused(lab, j, "srcc-burst")


def p99s(runs):
    return ", ".join(f"{r.r['fct']['p99_ns'] / 1e3:.0f}" for r in runs)


def srcc_web(lab, j):
    """Bursts beside a web server's messages at 80 % in all, three seeds: the threshold, and T (SRCC's Figures 5 and 8 have no bursts)"""
    pauses, fct = {}, {}
    options = {t: t for t in (None, *SRCC_DYNAMIC, *SRCC_CONSTANT)} | {n: f"measured srcc_window {t}" for n, t in SRCC_WINDOWS.items()}
    for name, threshold in options.items():
        runs, pauses[name], drops, fct[name] = srcc_means(lab, j, "srcc-threshold", threshold, "8us")
        j.must(not drops, f"swift, SRCC {threshold or 'off'}: {pauses[name]} pauses by PFC, mean FCT {fct[name]:.1f} us, p99 {p99s(runs)} us, "
               f"{sum(r.r['control']['cnm_packets'] for r in runs)} CNM, {drops} dropped")
    for name in SRCC_DYNAMIC:
        less = pauses[name] / pauses[None]
        j.goal(f"pauses, {name}", less, SRCC_PAUSES, f"swift, {name}: {less:.2f} of the pauses without (at most {SRCC_PAUSES})")
        for other in SRCC_CONSTANT:
            j.must(pauses[name] < pauses[other], f"swift, {name}: fewer pauses than with {other}")
    for name in SRCC_DYNAMIC:
        for other in (None, *SRCC_CONSTANT):
            times = fct[name] / fct[other]
            j.goal(f"FCT, {name}, {other}", times, 1, f"swift, {name}: mean FCT {times:.3f} of that with {other or 'none'} (at most 1)")
    for other in SRCC_WINDOWS:
        times = fct["measured"] / fct[other]
        j.goal(f"FCT, {other}", times, 1, f"swift, measured, T of 3 RTT: mean FCT {times:.3f} of that with {other} (at most 1)")
    never_paused(lab, j, "srcc-threshold")


def srcc_cache(lab, j):
    """Bursts beside a cache follower's messages at 80 % in all, three seeds (SRCC's Figure 6 has no bursts)"""
    pauses, fct = {}, {}
    for threshold in (None, "measured"):
        runs, pauses[threshold], drops, fct[threshold] = srcc_means(lab, j, "srcc-threshold", threshold, "8us", *SRCC_CACHE)
        j.must(not drops, f"swift, SRCC {threshold or 'off'}: {pauses[threshold]} pauses by PFC, mean FCT {fct[threshold]:.1f} us, p99 {p99s(runs)} us, {drops} dropped")
    less = pauses["measured"] / pauses[None]
    j.goal("pauses", less, SRCC_PAUSES, f"swift, measured: {less:.2f} of the pauses without (at most {SRCC_PAUSES})")
    j.must(fct["measured"] <= SRCC_FCT * fct[None], f"swift, measured: mean FCT {fct['measured'] / fct[None]:.3f} of that without (at most {SRCC_FCT})")
    never_paused(lab, j, "srcc-threshold", *SRCC_CACHE)


def srcc_large(lab, j):
    """Web search and Hadoop among 64 hosts, bursts beside them, 80 % in all, three seeds (SRCC's Figures 9 and 10 have no bursts)"""
    for cdf in ("websearch", "facebook-hadoop"):
        pauses, fct, p99 = {}, {}, {}
        for threshold in (None, "measured"):
            runs, pauses[threshold], drops, fct[threshold] = srcc_means(lab, j, "srcc-burst", threshold, "32us", *SRCC_LARGE, "--set", f"workload.cdf={cdf}")
            p99[threshold] = sum(r.r["fct"]["p99_ns"] for r in runs)
            queues = ", ".join(f"{max(l['queue_bytes']['max'] for l in r.r['links'] if l['queue_bytes']) / 1e3:.0f}" for r in runs)
            j.must(not drops and pauses[None], f"{cdf}, swift, SRCC {threshold or 'off'}: {pauses[threshold]} pauses by PFC, mean FCT {fct[threshold]:.1f} us, p99 {p99s(runs)} us, "
                   f"longest queue {queues} KB, {drops} dropped")
        less, times = pauses["measured"] / pauses[None], fct["measured"] / fct[None]
        j.goal(f"pauses, {cdf}", less, SRCC_PAUSES, f"{cdf}, swift, measured: {less:.2f} of the pauses without (at most {SRCC_PAUSES})")
        tail = p99["measured"] / p99[None]
        j.goal(f"p99, {cdf}", tail, 1, f"{cdf}, swift, measured: p99 FCT {tail:.2f} of that without (at most 1)")
        j.must(times <= SRCC_FCT, f"{cdf}, swift, measured: mean FCT {times:.3f} of that without (at most {SRCC_FCT})")
        never_paused(lab, j, "srcc-burst", *SRCC_LARGE, "--set", f"workload.cdf={cdf}")


def srcc_alone(lab, j):
    """A web server's and a cache follower's messages alone at 80 %, three seeds (SRCC, Figures 5 and 6)"""
    for cdf in ("web-server", "cache-follower"):
        pauses, fct = {}, {}
        for threshold in (None, "measured"):
            runs, pauses[threshold], drops, fct[threshold] = srcc_means(lab, j, "srcc-burst", threshold, "8us", *SRCC_ALONE, "--set", f"workload.cdf={cdf}")
            j.must(not drops and pauses[None], f"{cdf}, swift, SRCC {threshold or 'off'}: {pauses[threshold]} pauses by PFC, mean FCT {fct[threshold]:.1f} us, p99 {p99s(runs)} us, {drops} dropped")
        less, times = pauses["measured"] / pauses[None], fct["measured"] / fct[None]
        j.goal(f"pauses, {cdf}", less, SRCC_PAUSES, f"{cdf}, swift, measured: {less:.2f} of the pauses without (at most {SRCC_PAUSES})")
        j.goal(f"FCT, {cdf}", times, 1, f"{cdf}, swift, measured: mean FCT {times:.3f} of that without (at most 1)")
        never_paused(lab, j, "srcc-burst", *SRCC_ALONE, "--set", f"workload.cdf={cdf}")


def srcc_hol(lab, j):
    """Bursts of 2.4 MB into long flows, three seeds: pauses, and what bystanders get (SRCC, Figure 2); the sooner a CNM comes, the more it saves"""
    for rtt, thresholds in (("32us", SRCC_DYNAMIC), ("16us", ("measured",)), ("8us", ("measured",))):
        before = None
        for threshold in (None, *thresholds):
            runs, pauses, drops, fct = srcc_means(lab, j, "srcc-hol", threshold, rtt, "--set", f"topology.rtt={rtt}")
            others = sum(rate(r.flow_series(i), SRCC_HOL_FROM_NS, r.r["sim_ns"]) for r in runs for i in SRCC_BYSTANDERS) / len(runs) / 1e9
            what = f"{rtt}, swift, SRCC {threshold or 'off'}: {pauses} pauses by PFC, bursts' mean FCT {fct:.0f} us, bystanders get {others:.0f} Gb/s together"
            j.must(not drops, f"{what}, {drops} dropped")
            if not threshold:
                before = pauses, others
                continue
            less = pauses / before[0]
            j.goal(f"pauses, {rtt} {threshold}", less, SRCC_PAUSES, f"{what}: {less:.2f} of the pauses without (at most {SRCC_PAUSES})")
            j.goal(f"bystanders, {rtt} {threshold}", others / before[1], 1, f"{what}: {others / before[1]:.3f} of that without (at least 1)", least=True)
    never_paused(lab, j, "srcc-hol")


def srcc_incast(lab, j):
    """50 MB from 20 and from 160 servers at once over lossless links: the client's link stays full with SRCC (SRCC, Figure 11)"""
    for servers, size in SRCC_INCAST.items():
        for cc in ("swift", "dctcp"):
            pauses = {}
            for threshold in (None, *SRCC_DYNAMIC):
                qdisc = "sfc nobolt pfc prio 0x01 xoff 687kb" + (f" srcc {threshold} rtt 32us" if threshold else "") + (" ecn 65kb" if cc == "dctcp" else "")
                r = lab.run("srcc-incast", "--cc", cc, "--set", f"incast.degree={servers}", "--set", f"incast.bytes={size}",
                            "--set", f"switch.qdisc={qdisc}")[0][cc].r
                drops, pauses[threshold] = sum(l["drops"] for l in r["links"]), r["control"]["pfc"]["xoff"]
                goodput = 1 / r["fct"]["makespan_over_ideal"]
                what = f"{servers} servers, {cc}, SRCC {threshold or 'off'}: goodput {goodput:.3f} of the link, {pauses[threshold]} pauses by PFC"
                j.must(drops == 0 and not r["fct"]["unfinished"], f"{what}, {drops} dropped, {r['fct']['unfinished']} unfinished")
                if servers == 160:
                    used = {l["name"].split("-")[0] for l in r["links"] if l["name"].startswith("p") and l["tx_bytes"]}
                    j.must(len(used) == SRCC_SPINES, f"... by {len(used)} of {SRCC_SPINES} spines")
                if not threshold:
                    continue
                believed(j, r["control"])
                j.goal(f"goodput, {servers} {cc} {threshold}", goodput, SRCC_GOODPUT, f"{what} (at least {SRCC_GOODPUT})", least=True)
                if pauses[None]:
                    less = pauses[threshold] / pauses[None]
                    j.goal(f"pauses, {servers} {cc} {threshold}", less, SRCC_PAUSES, f"{what}: {less:.2f} of those without (at most {SRCC_PAUSES})")


def sfc_p_peak(starts, qth):
    """The queue when all are paused: T_F from when it is Qth, but none before the NIC of who has just begun can hear of it"""
    first = min(starts)
    told = next(t for t in itertools.count(first) if (sum(max(t - s, 0) for s in starts) - (t - first)) * RATE_BPS / 8e9 >= qth)
    ends = [max(told + SFC_P_FEEDBACK_NS, s + SFC_P_NEAR_NS) for s in starts]
    return (sum(ends) - sum(starts) - (max(ends) - first)) * RATE_BPS / 8e9 + SFC_P_LATE * len(starts) * PACKET


def sfc_p(lab, j):
    """SFC-P: hosts without SFC, paused by PFC at their switch; its Figure 5"""
    qth = 2 * SFC_P_FEEDBACK_NS * RATE_BPS / 8e9
    for senders in SFC_P_SENDERS:
        args = ("--set", f"incast.degree={senders}", "--set", f"incast.sync={SFC_P_SYNC_US * senders / 40}us")
        runs, _ = lab.run("sfc-p-incast", "--cc", "reno", *args)
        run = runs["reno"]
        port, control = run.link("b-r0"), run.r["control"]
        # section 5.2 has "exactly" this, of a stable queue; a peak may be Qth above it, as the first BTS waits for that
        paper = SFC_P_FEEDBACK_NS * senders * RATE_BPS / 8e9
        most = min(paper + qth, sfc_p_peak([f["start_ns"] for f in run.r["flows"]], qth))
        peak = port.link["queue_bytes"]["max"]
        j.must(peak <= most, f"{senders}: peak {peak / 1e6:.2f} MB (at most {most / 1e6:.2f} MB; T_F N R is {paper / 1e6:.2f} MB, Qth {qth / 1e6:.2f} MB)")
        start = min(f["start_ns"] for f in run.r["flows"]) + 2 * run.rtt
        used = port.utilization(start, max(f["end_ns"] for f in run.r["flows"]) - run.rtt)
        j.must(used >= SFC_FULL, f"{senders}: link {used:.2%} used (at least {SFC_FULL:.1%})")
        j.must(not control["pauses"] and not control["rejected"] and not any(l["drops"] for l in run.r["links"]),
               f"{senders}: no host was paused by BTS, nothing was dropped")
        j.must(control["sfc_p"] > 0 and control["pfc"]["heard"] > 0,
               f"{senders}: {control['sfc_p']} pauses asked for became {control['pfc']['heard']} PAUSE frames")

        # PFC alone, at what dynamic thresholds let a lone queue have of 16 MB
        runs, _ = lab.run("sfc-p-incast", "--cc", "reno", *args, "--set", f"switch.edge_qdisc=sfc nobolt {SFC_P_ALONE}",
                          "--set", f"switch.qdisc=sfc nobolt {SFC_P_ALONE}")
        alone = runs["reno"].link("b-r0").link["queue_bytes"]["max"]
        drops = runs["reno"].drops()
        j.must(alone >= SFC_P_TIMES * peak and not drops, f"{senders}: {alone / 1e6:.2f} MB with PFC alone (at least {SFC_P_TIMES} times that), {drops} dropped")


def shared_buffer(lab, j):
    """Dynamic thresholds: the only congested port takes half of the buffer, at alpha 1, and all of it is accounted for"""
    for alpha, part in (("1", 1 / 2), ("1/4", 1 / 5)):
        runs, _ = lab.run("pfc-hol", "--cc", "reno", "--set", f"switch.edge_qdisc=sfc nobolt buffer {BUFFER}b alpha {alpha}",
                          "--set", f"switch.qdisc=sfc nobolt buffer {BUFFER}b alpha {alpha}", "--set", "host.qdisc=pfifo")
        run = runs["reno"]
        peak = run.link("b-r0").link["queue_bytes"]["max"]
        off = BUFFER * BUFFER_ERROR + 2 * PACKET
        j.must(abs(peak - part * BUFFER) <= off, f"alpha {alpha}: the port's peak is {peak / BUFFER:.3f} of the buffer ({part:.2f})")
        (b,) = [n for n in run.r["buffers"] if n["node"] == "b"]
        j.must(0 <= b["peak"] - peak + off <= 4 * off, f"alpha {alpha}: the switch's peak is {b['peak'] / BUFFER:.3f}")


def shared_buffer_sfc(lab, j):
    """16 MB that all ports of a switch share, under an incast of 16 MB: SFC keeps it far from full (SFC, section 5.3)"""
    for seed, (cc, ecn), alpha in itertools.product(SHARED_SEEDS, SFC_TRANSPORT.items(), SHARED_ALPHAS):
        peaks = []
        for name, edge, core in (("without SFC", "", ""), ("with SFC", f" pause edge {CACHE} rtt 10us", f" pause {CACHE} rtt 10us")):
            memory = f"buffer 16mb alpha {alpha}"
            run = lab.run("sfc-transport", "--cc", cc, "--seed", str(seed), "--set", f"switch.edge_qdisc=sfc nobolt{ecn}{edge} {memory}",
                          "--set", f"switch.qdisc=sfc nobolt{ecn}{core} {memory}")[0][cc]
            drops = run.drops()
            (b,) = [n for n in run.r["buffers"] if n["node"] == "b"]
            peaks.append(b["peak"])
            j.must(bool(drops) == (SHARED_ALPHAS[alpha] and not edge),
                   f"{cc}, alpha {alpha}, {name}: {drops} dropped, the buffer's peak is {b['peak'] / 1e6:.2f} MB")
        if not SHARED_ALPHAS[alpha]:
            times = peaks[0] / peaks[1]
            j.sample(f"less, {cc}", times, SHARED_TIMES, f"{cc}, alpha {alpha}: {times:.2f} times less with SFC (at least {SHARED_TIMES})", least=True)
    j.judge_means()


def sfc_figure(lab, j, figure):
    """ToRs whose 16 ports share a buffer, messages among 32 hosts, incasts: what one holds with SFC and without, and how long messages take"""
    def span(values):
        return f"{sum(values) / len(values):.2f} ({min(values):.2f} to {max(values):.2f})"

    for what, memory, sets, bars in TOR_FIGURES[figure]:
        for cc, (most, part) in bars.items():
            peak, p99 = {}, {}
            for name, pause in (("without SFC", ("", "")), ("with SFC", (f" pause edge {CACHE} rtt {{rtt}}", f" pause {CACHE} rtt {{rtt}}"))):
                edge, core = (f"qdisc=sfc nobolt{TOR_CC[cc]}{signals} {memory}" for signals in pause)
                args = [word for key in (*sets, f"switch.edge_{edge}", f"switch.{core}") for word in ("--set", key)]
                runs = [lab.run("shared-buffer", "--cc", cc, "--seed", str(seed), *args)[0][cc] for seed in TOR_SEEDS]
                slow = [[f["slowdown"] or float("inf") for f in run.r["flows"] if f["kind"] == "workload"] for run in runs]
                peaks, tails = [max(n["peak"] for n in run.r["buffers"]) / 1e6 for run in runs], [percentile(s, 99) for s in slow]
                peak[name], p99[name], drops = sum(peaks), sum(tails), sum(run.drops() for run in runs)
                j.must(bool(drops) == (memory == TOR_16 and figure != "Figure 9" and name == "without SFC"),
                       f"{cc}, {what}, {name}: peak {span(peaks)} MB, {drops} dropped;"
                       f" slowdown p95 {span([percentile(s, 95) for s in slow])}, p99 {span(tails)}")
            mean, times = peak["with SFC"] / len(TOR_SEEDS), peak["without SFC"] / peak["with SFC"]
            j.must(mean <= most, f"... {mean:.2f} MB with SFC (at most {most})")
            if figure != "Figure 9":
                j.goal(f"less, {cc}", times, SHARED_TIMES, f"... {times:.2f} times less (at least {SHARED_TIMES})", least=True)
            of = p99["with SFC"] / p99["without SFC"]
            j.must(of <= part, f"... p99 {of:.2f} of that without (at most {part})")


KNOWN = {
    # marks and CNM of the same queue: both take their part
    # the default delay is shorter than the links', and "equation" at its floor takes the link between the switches for congested
    "SRCC: head-of-line blocking": {"used, dctcp equation": 0.93, "victim 0, reno equation default": 0.88, "victim 1, reno equation default": 0.93,
                                    "victim 0, swift equation default": 0.935},
    # a burst of 640 KB is on its way before the first CNM is heard, and two together exceed xoff
    "SRCC: bursts beside a mixed load": {"pauses, measured": 0.28},
    # likewise; the floor of "equation" slows flows down that no pause would have stopped
    "SRCC: web server": {"pauses, measured": 0.3, **{f"FCT, equation, {t}": 1.16 for t in (None, *SRCC_CONSTANT)}},
    "SRCC: cache follower": {"pauses": 0.23},
    # there are few pauses, and flows are slowed down that none would have stopped: 1.042, 1.036
    "SRCC: messages alone": {"FCT, web-server": 1.08, "FCT, cache-follower": 1.08},
    # what a flow was told holds for T, also when others have ended
    "SRCC: web search and Hadoop": {"p99, facebook-hadoop": 1.34},
    # 100 KB have left in 8 us, and a CNM takes up to three quarters of a round trip; "equation" takes the spines' links for congested as well
    "SRCC: bursts into long flows": {"pauses, 32us equation": 0.57, "pauses, 32us measured": 0.63, "pauses, 16us measured": 0.7, "pauses, 8us measured": 0.45,
                                     "bystanders, 32us equation": 0.81, "bystanders, 16us measured": 0.94, "bystanders, 8us measured": 0.97},
    # 20 windows that both marks and CNM have cut do not fill the link
    # the first windows of swift have left before the first CNM is heard
    "SRCC: incast": {"goodput, 20 dctcp equation": 0.79, "pauses, 20 swift equation": 0.95, "pauses, 20 swift measured": 0.55,
                     "pauses, 160 swift equation": 0.96, "pauses, 160 swift measured": 0.98},
    # 64 first windows are 8 MB, and marks keep the queue shorter without SFC as well: 2.49, 0.076; 2.39, 0.057 (five seeds)
    "shared buffer: SFC over cubic and dctcp": {"less, cubic": 2.37, "less, dctcp": 2.3},
    # alpha 1 drops what a lone port would hold beyond half of the buffer
    **{f"shared buffer: SFC, Figure {n}": {"less, cubic": 1.89, "less, dctcp": 1.95} for n in (7, 8, 10)},
}

# minutes each: only when named, or by --long
ON_DEMAND = ("SRCC: bursts beside a mixed load", "SRCC: web server", "SRCC: cache follower", "SRCC: web search and Hadoop",
             "SRCC: messages alone", "SRCC: bursts into long flows", "SRCC: incast", *(f"shared buffer: SFC, {figure}" for figure in TOR_FIGURES))

CHECKS = {
    "PFC: head-of-line blocking (SFC, 5.2)": pfc_hol,
    "PFC: deadlock": pfc_deadlock,
    "PFC: storm": pfc_storm,
    "SRCC: head-of-line blocking": srcc,
    "SRCC: bursts beside a mixed load": srcc_bursts,
    "SRCC: web server": srcc_web,
    "SRCC: cache follower": srcc_cache,
    "SRCC: web search and Hadoop": srcc_large,
    "SRCC: messages alone": srcc_alone,
    "SRCC: bursts into long flows": srcc_hol,
    "SRCC: incast": srcc_incast,
    "SFC-P (SFC, Figure 5)": sfc_p,
    "shared buffer": shared_buffer,
    "shared buffer: SFC over cubic and dctcp": shared_buffer_sfc,
    **{f"shared buffer: SFC, {figure}": lambda lab, j, figure=figure: sfc_figure(lab, j, figure) for figure in TOR_FIGURES},
}
