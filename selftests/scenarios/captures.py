# SPDX-License-Identifier: GPL-2.0
"""What the lab captures is what was on the wire: counters, sums and an independent reading agree, and
Wireshark's dissector (tools/wireshark/bolt.lua) says the same, field by field."""

import os
import socket
import struct
import subprocess
import tempfile

TREE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
TSHARK = os.path.join(TREE, "tools", "wireshark", "tshark")

HOSTS = 5               # h0 receives
LINKS = ",".join(f"sw-h{i}" for i in range(HOSTS))
INCAST = ("--set", f"topology.hosts={HOSTS}", "--set", f"incast.degree={HOSTS - 1}", "--set", "incast.bytes=200KB",
          "--set", "topology.mtu=1500", "--set", "duration=200us")
CAPTURE = ("--capture", LINKS, "--set", "capture_bytes=65535", "--keep-raw")
SFC = ("--set", "switch.qdisc=sfc nobolt pause edge rtt 5us", "--set", "host.sysctl.net.bolt.sfc=1")
TAIL_DROP = ("--set", "switch.qdisc=pfifo", "--set", "topology.buffer=60KB")
EPOCH_NS = 1000 * 10**9

BOLT = ("bolt.flags", "bolt.inc_count", "bolt.t_data_tx", "bolt.rq_delay", "bolt.level")
CONTROL = ("bolt.ctl.type", "bolt.ctl.flags", "bolt.ctl.t_data_tx", "bolt.ctl.link_rate", "bolt.bts.pause",
           "bolt.quote.src", "bolt.quote.srcport", "bolt.quote.seq")
QUEUES = ("bolt.src.queue", "bolt.bts.queue")


class Frame:
    """One packet as our own code reads it."""

    def __init__(self, interface, ns, data):
        self.interface, self.ns, self.size = interface, ns, len(data)
        ip = data[14:]
        self.src = socket.inet_ntoa(ip[12:16])
        l4 = ip[(ip[0] & 15) * 4:struct.unpack_from("!H", ip, 2)[0]]
        self.option = self.control = None
        self.sport, self.dport = struct.unpack_from("!HH", l4)
        if ip[9] == 6:
            self.payload = len(l4) - (l4[12] >> 4) * 4
            self.option = find_option(l4[20:(l4[12] >> 4) * 4])
        elif ip[9] == 17:
            self.control = l4[8:]

    def decimal(self):
        """The fields in the words of tshark, "" where there is none."""
        option = [""] * len(BOLT)
        if self.option and len(self.option) == 12:
            _, _, _, flags, inc, tx, rq = struct.unpack("!BBHBBIH", self.option)
            # data, and a FIN, which has no echo, say their level there
            level = flags & 0x80 or not tx and rq
            option = [f"0x{flags:02x}", str(inc), str(tx), *(("", str(rq)) if level else (f"0x{rq:04x}", ""))]
        control, queues = [""] * len(CONTROL), [""] * len(QUEUES)
        if self.control:
            _, kind, flags, _, tx, queue, rate, _ = struct.unpack_from("!BBBBIIII", self.control)
            pause = "" if kind == 1 else str(struct.unpack_from("!I", self.control, 20)[0])
            quote = self.control[20 if kind == 1 else 24:]
            sport, _, seq = struct.unpack_from("!HHI", quote, 20)
            control = [str(kind), f"0x{flags:02x}", str(tx), str(rate), pause, socket.inet_ntoa(quote[12:16]), str(sport), str(seq)]
            queues[kind - 1] = str(queue)
        return option + control + queues


def find_option(block):
    while block:
        if block[0] == 0:
            return None
        if block[0] == 1:
            block = block[1:]
        elif block[0] == 254 and block[2:4] == b"\xb0\x17":
            return block[:block[1]]
        else:
            block = block[block[1]:]
    return None


def read(path):
    """[Frame] of a pcapng as the lab writes it."""
    with open(path, "rb") as f:
        data = f.read()
    frames, interfaces, at = [], [], 0
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        body = data[at + 8:at + size - 4]
        if kind == 1:
            code, length = struct.unpack_from("=HH", body, 8)
            assert code == 2, "the name of the interface comes first"
            interfaces.append(body[12:12 + length].decode())
        elif kind == 6:
            number, high, low, caplen, _ = struct.unpack_from("=IIIII", body)
            frames.append(Frame(interfaces[number], (high << 32) + low, body[20:20 + caplen]))
        at += size
    return frames


def tshark(path, *names):
    args = [a for n in ("frame.interface_name", "frame.time_epoch", *names) for a in ("-e", n)]
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run([TSHARK, "-n", "-r", path, "-o", "tcp.check_checksum:TRUE",
                               "-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=|", *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, env=os.environ | {"HOME": home})
    return [line.split("|") for line in done.stdout.splitlines()]


def captured(run):
    """All frames of all links, link by link; and the dissector against our own reading of each."""
    frames, wrong, sums = [], [], {"1": 0}
    for c in run.r["captures"]:
        path = os.path.join(run.dir, c["file"])
        own = read(path)
        said = tshark(path, *BOLT, *CONTROL, *QUEUES, "tcp.checksum.status", "udp.checksum.status")
        for i, (mine, (interface, time, *values)) in enumerate(zip(own, said, strict=True), 1):
            sums.setdefault(values[-2] or values[-1], 0)
            sums[values[-2] or values[-1]] += 1
            seconds, _, ns = time.partition(".")
            theirs = [interface, str(int(seconds) * 10**9 + int(ns)), *values[:-2]]
            if theirs != [mine.interface, str(mine.ns), *mine.decimal()]:
                wrong.append(f"{c['file']} frame {i}: {theirs}")
        frames += own
    return frames, wrong, sums


def judge_fields(j, frames, wrong, sums):
    j.must(not wrong, f"{len(frames)} frames: the dissector and our own reading agree {wrong[:2] or ''}")
    j.must(sums.pop("1") > 0 and not sums, f"every checksum is right {sums or ''}")
    times = [f.ns for f in frames]
    j.must(min(times) < EPOCH_NS < max(times), "the handshakes come before 1000 s, the incast after")


def judge_same(lab, j, args, hash_with):
    runs, _ = lab.run("incast", *args)
    plain = next(iter(runs.values())).r["trace_hash"]
    j.must(plain == hash_with, f"a run without capture is the same run: {plain}, {hash_with}")


def bolt(lab, j):
    args = ("--cc", "bolt", *INCAST)
    runs, _ = lab.run("incast", *args, *CAPTURE)
    run = runs["bolt"]
    frames, wrong, sums = captured(run)
    judge_fields(j, frames, wrong, sums)
    judge_same(lab, j, args, run.r["trace_hash"])

    qdisc = next(q for q in run.qdiscs("sw") if q["dev"] == "h0")
    host = run.r["control"]["host"]
    full = [f for f in frames if f.option and len(f.option) == 12]
    dec = [f for f in full if f.interface == "sw-h0" and f.payload and f.option[4] & 0x02]
    src = [f for f in frames if f.control and f.control[1] == 1 and f.interface.startswith("sw-")]
    j.must(len(dec) == qdisc["dec_set"] > 0, f"DEC on the wire: {len(dec)}, the switch has set it {qdisc['dec_set']} times")
    j.must(len(src) == qdisc["src_sent"] == host["SrcRx"], f"SRC on the wires: {len(src)}, sent {qdisc['src_sent']}, taken {host['SrcRx']}")
    # one SRC for one packet, the very one that left with DEC
    stamps = sorted((f.src, f.sport, *struct.unpack("!I", f.option[6:10])) for f in dec)
    quoted = sorted((socket.inet_ntoa(f.control[32:36]), *struct.unpack_from("!H", f.control, 40), *struct.unpack_from("!I", f.control, 4)) for f in src)
    j.must(stamps == quoted, "each SRC quotes a packet that left with DEC, and each of those has one")
    # the queue counts the packet that came to it, the longest queue what stayed
    queues = [struct.unpack_from("!I", f.control, 8)[0] for f in src]
    longest = next(l for l in run.r["links"] if l["name"] == "sw-h0")["queue_bytes"]["max"]
    j.must(0 < max(queues) <= longest + 1514, f"the longest queue of an SRC is {max(queues)}, of the port {longest}")
    arrived = [f for f in full if f.interface.startswith("sw-")]
    # the third packet of a handshake finds no connection yet
    j.must(len(arrived) == host["OptRx"] + host["SynAckTx"],
           f"options that arrived at hosts: {len(arrived)}, taken {host['OptRx']} and {host['SynAckTx']} of handshakes")
    # the packets of a burst leave one after the other, at the rate of the line
    first = [f for f in frames if f.interface == "h1-sw" and f.ns >= EPOCH_NS and f.size == 1514][:8]
    gaps = {b.ns - a.ns for a, b in zip(first, first[1:])}
    j.must(121 in gaps and gaps <= {121, 122}, f"segments of 1514 bytes follow each other after {sorted(gaps)} ns (121.12)")


def sfc(lab, j):
    runs, _ = lab.run("incast", "--cc", "cubic", *INCAST, *SFC, *CAPTURE)
    run = runs["cubic"]
    frames, wrong, sums = captured(run)
    judge_fields(j, frames, wrong, sums)
    bts = [f for f in frames if f.control and f.control[1] == 2 and f.interface.startswith("sw-")]
    sent = run.r["control"]["bts_packets"]
    j.must(len(bts) == sent == run.r["control"]["host"]["BtsRx"] > 0, f"BTS on the wires: {len(bts)}, sent {sent}")


def drops(lab, j):
    """What the qdisc drops is in the capture, and nowhere on the wire"""
    runs, _ = lab.run("incast", "--cc", "cubic", *INCAST, *TAIL_DROP, *CAPTURE)
    run = runs["cubic"]
    counted = {c["link"]: c for c in run.r["captures"]}["h0-sw"]
    frames = [f for c in run.r["captures"] for f in read(os.path.join(run.dir, c["file"]))]
    dropped = [f for f in frames if f.interface == "sw-h0 dropped"]
    port = next(l for l in run.r["links"] if l["name"] == "sw-h0")
    j.must(len(dropped) == counted["dropped"] == port["drops"] > 0, f"{len(dropped)} dropped in the capture, {port['drops']} counted")
    j.must(all(f.payload for f in dropped), "all of them are data: an ACK is no part of this queue")
    wire = sum(1 for f in frames if f.interface == "sw-h0" and f.payload)
    sent = sum(1 for f in frames if f.interface.endswith("-sw") and f.payload)
    j.must(sent == wire + len(dropped), f"{sent} packets with data went to the switch, {wire} of them on to the receiver")
    ends = [f["end_ns"] for f in run.r["flows"]]
    j.must(None not in ends, "all have arrived")


CHECKS = {
    "captures: bolt": bolt,
    "captures: SFC": sfc,
    "captures: drops": drops,
}
