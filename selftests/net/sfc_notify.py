#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every change of a qdisc reaches listeners of rtnetlink (RTNLGRP_TC, as tc monitor does).

The kernel has one page for a notification, less what the skb needs, and in it describes the old
qdisc and the new one.  What does not fit is not sent, and tc is told that all is well.  So the
attributes of an sfc must be small, however it is configured, and its bands must be announced
separately, as classes.
"""

import mmap
import socket
import struct
import subprocess
import sys

import bolt_ctl
from bolt_ctl import Namespace, expect, failures, sh

RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC, RTM_NEWTCLASS, RTM_GETTCLASS = 36, 37, 38, 40, 42
RTMGRP_TC = 8
NLMSG_DONE, NLM_F_REQUEST, NLM_F_ECHO, NLM_F_DUMP = 3, 1, 8, 0x300
TCA_KIND, TCA_OPTIONS, TCA_XSTATS, TCA_STATS2 = 1, 2, 4, 7
TCA_STATS_APP = 4

# SKB_WITH_OVERHEAD(): 320 bytes of skb_shared_info on 64 bits
GOODSIZE = min(mmap.PAGESIZE, 8192) - 320
# Bytes that an sfc says of itself at most; cake with eight tins says 1792, and the two have to fit
MESSAGE = 1320
OPTIONS = (444, 448, 452)    # 4 of padding at most before each of 64 bits, where the kernel wants them aligned
APP = 576
BAND = 88
HOLD = 128

STAB = "stab overhead 24 linklayer ethernet "
WORST = (f"{STAB}estimator 1sec 8sec sfc bands 8 weights 1 2 3 4 5 6 7 255 default 8 "
         "dscp 0-63:8 srcprob 1 2 3 4 5 6 7 100 link 4294gbit serverrate 4294gbit limit 4095mb pause cache estimator 1s "
         f"addr 192.0.2.1 addr 2001:db8::1 tagkey {'5a' * 16} switchkey {'a5' * 16}")
KINDS = {
    "pfifo": "pfifo",
    "sfc": "sfc",
    "sfc, worst": WORST,
    # a notification says as well that the device does not know its speed
    "sfc, link unknown": WORST.replace("link 4294gbit", "link 0"),
    "sfc_hold": f"{STAB}estimator 1sec 8sec sfc_hold limit 4095mb maxpause 1s share 50 minttl 9 tagkey {'5a' * 16}",
    "fq_codel": "fq_codel",
    "cake": "cake bandwidth 1gbit diffserv8",
    "prio": "prio",
    "htb": "htb",
}


def attrs(data):
    """{type: payload}"""
    at, out = 0, {}
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        out[kind & 0x3fff] = data[at + 4:at + length]
        at += (length + 3) & ~3
    return out


def messages(data):
    """(type, attributes, bytes) of each"""
    at = 0
    while at < len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        yield kind, attrs(data[at + 36:at + length]), length
        at += (length + 3) & ~3


class Listener:
    """A device in a namespace, and who hears of its qdiscs"""

    def __init__(self):
        self.ns = Namespace("h1")
        sh(f"ip -n {self.ns.name} link add d0 numtxqueues 1 type dummy")
        self.most = 0, ""
        with self.ns:
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
            self.index = socket.if_nametoindex("d0")
        self.sock.bind((0, RTMGRP_TC))
        self.sock.setblocking(False)

    def close(self):
        self.sock.close()
        self.ns.close()

    def tc(self, words):
        done = subprocess.run(["tc", "-n", self.ns.name, *words.split()], capture_output=True, text=True, check=False)
        if done.returncode:
            failures.append(f"tc {words[:60]}: {done.stderr}")

    def heard(self, what=""):
        """What was told since: it is there when tc has its answer"""
        out = []
        while True:
            try:
                data = self.sock.recv(1 << 16)
            except BlockingIOError:
                return out
            self.most = max(self.most, (len(data), what))
            out += messages(data)

    def does(self, what, words, want):
        """(type, kind) of each message"""
        self.tc(words)
        got = self.heard(what)
        expect(what, [(t, a[TCA_KIND].rstrip(b"\0").decode()) for t, a, _ in got], want)
        return got

    def dump(self, kind, handle=0):
        """What sfc says when it is asked; of one class, if @handle names it"""
        body = struct.pack("=BxxxiIII", socket.AF_UNSPEC, self.index, handle, 0, 0)
        out, asked, flags = [], kind + 2, NLM_F_REQUEST | (NLM_F_ECHO if handle else NLM_F_DUMP)
        with self.ns, socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
            sock.send(struct.pack("=IHHII", 16 + len(body), asked, flags, 1, 0) + body)
            while not out or not handle and out[-1][0] != NLMSG_DONE:
                out += messages(sock.recv(1 << 16))
        return [(a, n) for t, a, n in out if t == kind and a[TCA_KIND] == b"sfc\0"]


def replacements(where):
    """Each kind by each, itself too: the old one goes and the new one comes, in one datagram"""
    l, kinds = Listener(), KINDS
    if where != "root":
        l.tc("qdisc add dev d0 root handle 9: prio")
        l.heard()
        # a size table is the root's only
        kinds = {name: words.removeprefix(STAB) for name, words in KINDS.items()}
    for old in kinds:
        for new in kinds:
            l.tc(f"qdisc replace dev d0 {where} handle 1: {kinds[old]}")
            l.heard()
            l.does(f"{old} to {new}", f"qdisc replace dev d0 {where} handle 2: {kinds[new]}",
                   [(RTM_DELQDISC, old.split(",")[0]), (RTM_NEWQDISC, new.split(",")[0])])
            l.tc(f"qdisc del dev d0 {where}")
            l.heard()
    print(f"    # longest notification: {l.most[0]} of {GOODSIZE} bytes, {l.most[1]}")
    l.close()


def replaced():
    replacements("root")


def replaced_below():
    replacements("parent 9:1")


def changed():
    """Added, changed, deleted: under way as well"""
    l = Listener()
    l.does("added", f"qdisc add dev d0 root handle 1: {KINDS['sfc, link unknown']}", [(RTM_NEWQDISC, "sfc")])
    for words in ("bands 1 default 1 dscp none srcprob 100", "bands 8", "limit 1mb", "rate 10gbit", "edge"):
        l.does(words, f"qdisc change dev d0 root handle 1: sfc {words}", [(RTM_NEWQDISC, "sfc")])
    l.does("deleted", "qdisc del dev d0 root", [(RTM_DELQDISC, "sfc")])
    l.close()


def size():
    """What it may be, and that nothing is said twice"""
    l = Listener()
    l.tc(f"qdisc add dev d0 root handle 1: {KINDS['sfc, link unknown']}")
    heard = l.heard()
    expect("notifications", len(heard), 1)
    _, told, length = heard[0]
    if length > MESSAGE:
        failures.append(f"a notification of {length} bytes, more than {MESSAGE}")
    (asked, _), = l.dump(RTM_NEWQDISC)
    for how, a in (("told", told), ("asked", asked)):
        expect(f"{how}: options, {len(a[TCA_OPTIONS])} bytes", len(a[TCA_OPTIONS]) in OPTIONS, True)
        expect(f"{how}: statistics", len(attrs(a[TCA_STATS2])[TCA_STATS_APP]), APP)
        expect(f"{how}: the same again", TCA_XSTATS in a, False)
    classes = l.dump(RTM_NEWTCLASS)
    expect("bands", len(classes), 8)
    for a, _ in classes:
        expect("statistics of a band", len(attrs(a[TCA_STATS2])[TCA_STATS_APP]), BAND)
    print(f"    # sfc alone: {length} bytes; {len(told[TCA_OPTIONS])} of options, {APP} of statistics")
    l.close()


def peak(a, at):
    """backlog_peak, the number @at of the statistics"""
    return struct.unpack_from("=Q", attrs(a[TCA_STATS2])[TCA_STATS_APP], 8 * at)[0]


def only_band():
    """Who asks for the only band, which is not listed as a class, hears what is the port's"""
    l = Listener()
    l.tc("qdisc add dev d0 root handle 1: sfc rate 8kbit")
    sh(f"ip -n {l.ns.name} addr add 192.0.2.1/24 dev d0; ip -n {l.ns.name} link set d0 up")
    with l.ns, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _ in range(3):
            sock.sendto(bytes(100), ("192.0.2.2", 9))
    expect("classes", l.dump(RTM_NEWTCLASS), [])
    (port, _), = l.dump(RTM_NEWQDISC)
    (band, _), = l.dump(RTM_NEWTCLASS, 0x10001)
    expect("waited", peak(port, 4) >= 284, True)
    expect("peak", peak(band, 10), peak(port, 4))
    l.close()


def size_of_hold():
    """Likewise of the port of a host"""
    l = Listener()
    l.tc(f"qdisc add dev d0 root handle 1: {KINDS['sfc_hold']}")
    (_, told, length), = l.heard()
    expect("statistics", len(attrs(told[TCA_STATS2])[TCA_STATS_APP]), HOLD)
    expect("the same again", TCA_XSTATS in told, False)
    print(f"    # sfc_hold alone: {length} bytes")
    l.close()


TESTS = [replaced, replaced_below, changed, size, only_band, size_of_hold]


if __name__ == "__main__":
    sys.exit(bolt_ctl.main(TESTS))
