#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""SRCC at a switch: which flows get a CNM, of what rate, beyond which queue.

	H1 eth0 ---- r1  R  r2 ---- eth0 H2	1 Mbit/s: congested
	                    d3			a port without congestion

H1 sends TCP data by hand, with timestamps, and hears every frame of its link.  Only a flow whose
ingress has packets to a port without congestion as well may be told to slow down, as only there a
PAUSE frame would stop others; its rate is the link's by the number of flows.  All times are of the
guest's virtual clock.
"""

import socket
import struct
import subprocess
import sys
import time

import bolt_ctl
from bolt_ctl import expect, expect_that, poll, sh
from sfc_pfc import SIZE, Router, ipv4

FAR, OTHER = "198.51.100.1", "203.0.113.1"
RATE_KBPS = 1000
CNM = 3


def tcp(dst=FAR, sport=1000, tsval=77, ttl=64, tos=96, size=SIZE):
    """Data of H1, as frame"""
    length = size - 14
    options = struct.pack("!BBBBII", 1, 1, 8, 10, tsval, 0)
    return ipv4(length, 6, tos, dst, ttl) + struct.pack("!HHIIBBHHH", sport, 2000, 1, 1, 8 << 4, 16, 1000, 0, 0) + options + bytes(length - 52)


class Switch(Router):
    """R: SRCC at r2 and d3, and PFC of priority 3, so DSCP 24, everywhere"""

    def __init__(self, srcc, xoff=1000000):
        self.known = 0
        pfc = f"pfc prio 0x08 xoff {xoff}b"
        super().__init__(pfc, f"rate 1mbit {pfc} {srcc}",
                         f"ip -n {{r}} link add d3 type dummy; ip -n {{r}} addr add 203.0.113.254/24 dev d3; ip -n {{r}} link set d3 up; "
                         f"ip -n {{r}} neigh add {OTHER} dev d3 nud permanent lladdr 02:00:00:00:00:03; "
                         f"tc -n {{r}} qdisc add dev d3 root handle 1: sfc nobolt link 10gbit {pfc} {srcc}")

    def data(self, n=1, **fields):
        for _ in range(n):
            self.one.send(self.mac["r1"], 0x800, tcp(**fields))

    def told(self):
        """(flow's port, kbit/s, t_data_tx) of each CNM that has come to H1"""
        found = []
        for _, frame in self.one.messages():
            msg = frame[42:]
            if msg[1] == CNM:
                found.append((struct.unpack_from("!H", msg, 24 + 20)[0], struct.unpack_from("!I", msg, 20)[0], struct.unpack_from("!I", msg, 4)[0]))
        return found

    def heard(self):
        """The newest CNM, which is one more than before; on 6.1 it comes later"""
        poll(lambda: self.known < len(self.told()) == self.sent()[0], "a CNM")
        self.known = len(self.told())
        return self.told()[-1] if self.known else None

    def sent(self, dev="r2"):
        """How many CNM, not sent again, not sent for want of uncongested packets"""
        have = self.stats(dev)
        return have["cnm_sent"], have["cnm_suppressed"], have["cnm_unshared"]


def shared():
    """Only a flow whose ingress has packets to an uncongested port as well, within the window"""
    r = Switch(f"srcc {2 * SIZE}b srcc_window 1ms")
    # one is on the link, three wait, and the last of them met two
    r.data(4)
    expect("at the threshold", r.sent(), (0, 0, 0))
    # they came in by r1, and were uncongested: then a flow to the same port is no victim's neighbour, but the paper has no such exception
    r.data(1)
    # 1 ms of the link are 125 bytes, and a packet is too many: a sixteenth
    expect("beyond it", (r.sent(), r.told()), ((1, 0, 0), [(1000, RATE_KBPS // 16, 77)]))
    time.sleep(.002)
    r.data(1, sport=1001)
    expect("nothing uncongested for a window", r.sent(), (1, 0, 1))
    r.data(1, dst=OTHER, sport=1002)
    r.data(1, sport=1001)
    expect("and now", r.sent(), (2, 0, 1))
    expect("the flow", r.heard()[0], 1001)
    # another priority, which is not lossless, and UDP: nobody is told, and neither makes an ingress shared
    time.sleep(.002)
    r.data(1, dst=OTHER, sport=1002, tos=0)
    r.data(1, sport=1003)
    expect("lossy neighbours", r.sent(), (2, 0, 2))
    r.data(1, dst=OTHER, sport=1002)
    r.send(1)
    r.data(1, sport=1004, tos=0)
    expect("UDP, and lossy", r.sent(), (2, 0, 2))
    time.sleep(.002)
    r.send(1)
    expect("nor is UDP for want of uncongested packets", r.sent(), (2, 0, 2))
    expect("at the other port", r.sent("d3"), (0, 0, 0))
    r.close()


def rates():
    """The link's rate by the number of flows, less what drains the excess in the window; told again when it has moved by a sixteenth"""
    window_bytes = 2 * RATE_KBPS * 125
    r = Switch(f"srcc {2 * SIZE}b srcc_window 2s limit 1mb")

    def rate(flows, waiting):
        return (RATE_KBPS // flows) * (((window_bytes - (waiting - 2) * SIZE) << 16) // window_bytes) >> 16

    r.data(4)
    for n, port in enumerate(range(1001, 1005), 2):
        r.data(1, sport=port, tsval=port)
        expect(f"{n} flows", r.heard(), (port, rate(n, n + 1), port))
    r.data(1)
    expect("the first flow, too", r.heard(), (1000, rate(5, 7), 77))
    sent = r.sent()[0]
    r.data(4)
    poll(lambda: r.sent() == (sent, 4, 0), "known")
    # not sooner than it can have heard of the first
    time.sleep(.001)
    r.data(1, sport=1001)
    expect("told of two flows", r.heard(), (1001, rate(5, 12), 77))
    r.counters("flows", "r2", srcc_flows=5)
    # they share the link with those of another priority
    r.data(1, sport=2000, tos=0)
    r.counters("of all priorities", "r2", srcc_flows=6, srcc_qth=2 * SIZE)
    sh(f"ip -n {r.r.name} link set r2 down; ip -n {r.r.name} link set r2 up")
    r.counters("reset", "r2", srcc_flows=0, srcc_qth=0)
    r.data(1, dst=OTHER)
    r.counters("another port", "d3", srcc_flows=1, srcc_qth=2 * SIZE)
    r.change("d3", "srcc off")
    r.counters("off", "d3", srcc_flows=0, srcc_qth=0)
    r.change("d3", f"srcc {2 * SIZE}b")
    r.counters("on again", "d3", srcc_flows=0, srcc_qth=0)
    r.close()


def own():
    """... and with what the router itself sends, also while nothing waits"""
    r = Switch(f"srcc {2 * SIZE}b srcc_window 2s")
    r.data(1)
    r.drained()
    with r.r, socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        raw.sendto(tcp(sport=1001), (FAR, 0))
    r.counters("and its own", "r2", srcc_flows=2)
    r.close()


def equation():
    """Q_PFC / M - N d C (m - 1), and never less than ccthresh"""
    r = Switch("srcc equation srcc_delay 1ms srcc_window 2s", xoff=100000)
    room, link = 100000, RATE_KBPS // 8
    r.data(1)
    r.counters("one flow", "r2", srcc_qth=room, srcc_flows=1)
    r.data(1, sport=1001)
    r.counters("two", "r2", srcc_qth=room - link)
    r.data(1, ttl=62)
    r.counters("of three hops", "r2", srcc_qth=room - 3 * link)
    r.data(1, ttl=250)
    r.counters("of another system", "r2", srcc_qth=room - 6 * link)
    r.data(1, dst=OTHER, sport=1002)
    time.sleep(.13)
    r.data(1)
    r.counters("two ports are in use", "r2", srcc_qth=room // 2 - link)
    r.change("r2", "srcc_delay 100ms")
    for port in range(1000, 1060):
        r.data(1, sport=port)
    r.counters("many", "r2", srcc_qth=2 * SIZE, srcc_flows=60)
    r.close()


def tc(r, words):
    """Status and what it says"""
    done = subprocess.run(f"tc -n {r.r.name} qdisc {words}", shell=True, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def options():
    """What cannot be is refused by name; what is, is shown as it can be typed"""
    r = Router("pfc prio 0x08 xoff 1mb", None)
    for words, said in (("srcc equation nopfc", "srcc needs pfc"), ("srcc 17mb", "srcc is beyond limit"), ("srcc many", "srcc"),
                        ("srcc_delay 101ms", "out of range"), ("srcc", "value missing"), ("srcc_window 0", "srcc_window")):
        status, out = tc(r, f"change dev r1 root handle 1: sfc {words}")
        expect(f"{words}: {out}", bool(status and said in out), True)
    for words, key, value in (("srcc measured", "srcc", "measured"), ("srcc equation", "srcc", "equation"), ("srcc 9000b", "srcc", 9000),
                              ("srcc_delay 700ns", "srcc_delay", 700), ("srcc_window 9us", "srcc_window", 9000), ("srcc_delay auto", "srcc_delay", "auto")):
        r.change("r1", words)
        expect(words, r.stats("r1").get(key), value)
    expect("text", " srcc 9000b srcc_window 9us " in tc(r, "show dev r1")[1], True)
    r.change("r1", "srcc off srcc_window auto")
    expect("silent when off", "srcc" in tc(r, "show dev r1")[1], False)
    r.close()


def reset():
    """What flows know is forgotten by a change, but not the flows; off, it says nothing; deleted with packets in it"""
    r = Switch(f"srcc {2 * SIZE}b srcc_window 2s")
    r.data(3)
    for port in range(1001, 1016):
        r.data(1, sport=port)
    sent = r.sent()[0]
    r.change("r2", "srcc_window 3s ttl 63")
    r.data(1, sport=1015)
    expect("and again", r.sent()[0], sent + 1)
    expect_that("C / n", r.heard()[1] <= RATE_KBPS // 16, r.told()[-1])
    r.change("r2", "srcc off")
    r.data(5)
    expect("off", r.sent()[0], sent + 1)
    r.change("r2", f"srcc {2 * SIZE}b")
    r.data(5)
    r.tc("qdisc del dev r2 root")
    r.tc("qdisc del dev d3 root")
    poll(lambda: r.stats("r1")["ingress_bytes"] == 0, "nothing is left")
    r.close()


TESTS = [shared, rates, own, equation, options, reset]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
