# SPDX-License-Identifier: GPL-2.0
"""tools/wireshark/bolt.lua in tshark: each field, each thing that is wrong, and whatever else a wire may carry."""

import os
import random
import socket
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import context
from boltlab import pcap

TSHARK = context.TREE / "tools" / "wireshark" / "tshark"
UAPI = context.TREE / "include" / "uapi" / "linux" / "bolt.h"
TRUTH = {"True": "1", "False": "0"}
NOP = b"\1"
OPTION = struct.Struct("!BBHBBIH")
HEAD = struct.Struct("!BBBBIIII")
SRC, BTS, CNM = 1, 2, 3
A, B = "192.0.2.1", "198.51.100.9"
A6, B6 = "2001:db8::1", "2001:db8::9"


def option(flags=0xC4, inc=7, tx=123456, rq=0, length=12, exid=0xB017):
    return OPTION.pack(254, length, exid, flags, inc, tx, rq)[:max(length, 4)]


def ip(src, dst, proto, payload, ttl=64, dscp=0):
    if ":" in src:
        return struct.pack("!IHBB", 6 << 28 | dscp << 22, len(payload), proto, ttl) + socket.inet_pton(socket.AF_INET6, src) + \
            socket.inet_pton(socket.AF_INET6, dst) + payload
    return struct.pack("!BBHHHBBH", 0x45, dscp << 2, 20 + len(payload), 1, 0, ttl, proto, 0) + socket.inet_aton(src) + \
        socket.inet_aton(dst) + payload


def frame(packet):
    return bytes(12) + (b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00") + packet


def tcp(options, payload=b"", flags=0x10, src=A, dst=B, sport=1000, dport=2000, seq=5):
    options += NOP * (-len(options) % 4)
    head = struct.pack("!HHIIBBHHH", sport, dport, seq, 9, (20 + len(options)) // 4 << 4, flags, 1000, 0, 0)
    return frame(ip(src, dst, 6, head + options + payload))


def quoted(src=A, dst=B, proto=6, sport=1000, dport=2000, seq=77):
    return ip(src, dst, proto, struct.pack("!HHI", sport, dport, seq))


def control(kind=SRC, quote=None, version=2, flags=0, dscp=10, tx=123456, queue=30000, rate=100_000_000, number=0, switch=42,
            tag=b"", port=12311, src=B, dst=A):
    payload = HEAD.pack(version, kind, flags, dscp, tx, queue, rate, switch) + (b"" if kind == SRC else struct.pack("!I", number)) + \
        (quoted() if quote is None else quote) + tag
    return frame(ip(src, dst, 17, struct.pack("!HHHH", port, port, 8 + len(payload), 0) + payload))


def capture(frames):
    """A frame may be (bytes, how many of them the capture has)."""
    path = Path(tempfile.mkdtemp(prefix="lab-test-")) / "test.pcapng"
    with open(path, "wb") as f:
        f.write(pcap.section("a test") + pcap.interface("a-b", "a to b", 10**11, 65535))
        for i, data in enumerate(frames):
            data, snap = data if isinstance(data, tuple) else (data, len(data))
            f.write(pcap.packet(0, pcap.EPOCH_NS + 1500 * i, len(data), data[:snap]))
    return path


def tshark(path, *args):
    """Its output, and that it neither failed nor met an error of ours."""
    home = tempfile.mkdtemp(prefix="lab-test-tshark-")
    done = subprocess.run([TSHARK, "-n", "-r", path, *args], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          timeout=300, env=os.environ | {"HOME": home})
    if done.returncode or done.stderr:
        raise AssertionError(f"tshark: status {done.returncode}: {done.stderr}")
    if "Lua Error" in done.stdout or "Lua: " in done.stdout:
        raise AssertionError(next(line for line in done.stdout.splitlines() if "Lua" in line))
    return done.stdout


def fields(frames, *names):
    """[[value]], one row per frame; a field that is not there is "", and a truth 1 or 0, as before Wireshark 4.4."""
    args = ["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"] + [a for n in names for a in ("-e", n)]
    return [[TRUTH.get(value, value) for value in line.split("|")] for line in tshark(capture(frames), *args).splitlines()]


EXPERTS = "_ws.expert.message"


def complaints(frames):
    """What is said of each frame."""
    return [[part for part in text.split(",") if part.startswith(("Bolt option: ", "Bolt control message: "))]
            for text, *_ in fields(frames, EXPERTS)]


class Option(unittest.TestCase):
    def test_every_flag(self):
        names = ("data", "ack", "src", "last", "first", "inc", "dec")
        rows = fields([tcp(option(flags=1 << (7 - i)), payload=b"x") for i in range(7)], *(f"bolt.flags.{n}" for n in names))
        self.assertEqual(rows, [["1" if i == k else "0" for k in range(7)] for i in range(7)])

    def test_a_congested_packet_stands_out(self):
        """Not the ACK that echoes it."""
        frames = [tcp(option(flags), payload) for flags, payload in ((0x82, b"x"), (0x80, b"x"), (0x42, b""))]
        self.assertEqual(["answer this packet" in said for said, in fields(frames, EXPERTS)], [True, False, False])

    def test_flags_are_those_of_the_header(self):
        header = UAPI.read_text()
        for i, name in enumerate(("DATA", "ACK", "SRC", "LAST", "FIRST", "INC", "DEC")):
            self.assertIn(f"#define BOLT_F_{name}\t0x{0x80 >> i:02x}", header)

    def test_numbers_of_data_and_ack(self):
        rq = 3 << 12 | 2 << 8 | 200
        rows = fields([tcp(option(0x84, 0, 4_000_000_001, 17), b"x"), tcp(NOP + NOP + option(0x40, 255, 17, rq)),
                       tcp(option(0x40, 1, 0, 13), flags=0x11), tcp(option(0x40, 0, 0, 0))],
                      "bolt.len", "bolt.exid", "bolt.inc_count", "bolt.t_data_tx", "bolt.rq_delay.hops", "bolt.rq_delay.ns", "bolt.level", "bolt.offer")
        self.assertEqual(rows, [["12", "0xb017", "0", "4000000001", "", "", "17", "0"],
                                ["12", "0xb017", "255", "17", "3", str((200 << 2) * 16), "", "0"],
                                ["12", "0xb017", "1", "0", "", "", "13", "0"],
                                ["12", "0xb017", "0", "0", "0", "0", "", "0"]])

    def test_offer(self):
        self.assertEqual(fields([tcp(option(length=4), flags=2)], "bolt.offer", "bolt.len", "bolt.flags"), [["1", "4", ""]])

    def test_an_ack_names_its_packet(self):
        """The first on its way, in one pass as in two."""
        def ack(stamp):
            return tcp(option(0x40, 1, stamp), src=B, dst=A, sport=2000, dport=1000)
        path = capture([ack(557), tcp(option(0x84, 0, 555), b"x"), tcp(option(0x84, 0, 556), b"x"), ack(556), ack(999),
                        tcp(option(0x84, 0, 556), b"x"), ack(556), tcp(option(0x84, 0, 557), b"x")])
        for passes in ((), ("-2",)):
            said = tshark(path, *passes, "-T", "fields", "-E", "separator=|", "-e", "bolt.echo.frame", "-e", "bolt.echo.ns").splitlines()
            self.assertEqual(said, ["|", "|", "|", "3|1500", "|", "|", "3|6000", "|"])

    def test_what_is_wrong_is_said(self):
        cases = (
            (tcp(option(length=8)), "length is neither 4 nor 12"),
            (tcp(option(length=12)[:2] + b"\xb0\x17"), "ends beyond the TCP header"),
            (tcp(option(0x40), flags=2), "a SYN carries the short form"),
            (tcp(option(length=4)), "a SYN carries the short form"),
            (tcp(option(0x60, 0, 1)), "SRC is never set"),
            (tcp(option(0x84, 0, 1)), "payload do not agree"),
            (tcp(option(0x40, 0, 1), b"x"), "payload do not agree"),
            (tcp(option(0x84, 0, 0), b"x"), "data without t_data_tx"),
            (tcp(option(0x84, 0, 1, rq=33), b"x"), "a level beyond 32"),
            (tcp(option(0x84, 0, 1, rq=257), b"x"), "a level beyond 32"))
        for said, (_, says) in zip(complaints([data for data, _ in cases]), cases, strict=True):
            self.assertTrue(len(said) == 1 and says in said[0], (says, said))

    def test_what_is_right_is_not(self):
        good = [tcp(option(), b"x"), tcp(option(0x42, 9, 1)), tcp(option(length=4), flags=2), tcp(option(length=4), flags=0x12),
                tcp(option(0x84, 0, 1), b"x", src=A6, dst=B6), tcp(option(0x84, 0, 1, rq=32), b"x")]
        self.assertEqual(complaints(good), [[]] * len(good))

    def test_other_experiments_are_left_alone(self):
        rows = fields([tcp(option(exid=0xE2D4), b"x"), tcp(b"\x02\x04\x05\xb4"), tcp(b"\x05\x00" + option(), b"x"), tcp(b"\x00" + option(), b"x")], "bolt.exid")
        self.assertEqual(rows, [[""]] * 4)


class Control(unittest.TestCase):
    COMMON = ("bolt.ctl.version", "bolt.ctl.type", "bolt.ctl.flags", "bolt.ctl.dscp", "bolt.ctl.t_data_tx", "bolt.ctl.link_rate",
              "bolt.ctl.drain_ns", "bolt.ctl.switch_id", "bolt.bts.pause", "bolt.cnm.target_rate", "bolt.ctl.tag")

    def test_every_field(self):
        tag = bytes(range(8))
        rows = fields([control(), control(BTS, flags=2, number=4321, tx=0), control(CNM, number=50_000), control(flags=4, tag=tag),
                       control(BTS, flags=6, number=7, tag=tag)], *self.COMMON, "bolt.src.queue", "bolt.bts.queue", "bolt.cnm.queue")
        self.assertEqual(rows, [
            ["2", "1", "0x00", "10", "123456", "100000000", "2400", "42", "", "", "", "30000", "", ""],
            ["2", "2", "0x02", "10", "0", "100000000", "2400", "42", "4321", "", "", "", "30000", ""],
            ["2", "3", "0x00", "10", "123456", "100000000", "2400", "42", "", "50000", "", "", "", "30000"],
            ["2", "1", "0x04", "10", "123456", "100000000", "2400", "42", "", "", tag.hex(), "30000", "", ""],
            ["2", "2", "0x06", "10", "123456", "100000000", "2400", "42", "7", "", tag.hex(), "", "30000", ""]])

    def test_every_flag(self):
        names = ("cacheable", "from_cache", "tagged", "granted", "unknown")
        rows = fields([control(BTS, flags=1 << i, tag=bytes(20)) for i in range(5)], *(f"bolt.ctl.flags.{n}" for n in names))
        self.assertEqual(rows, [[*("1" if i == k else "0" for k in range(4)), "0x01" if i == 4 else ""] for i in range(5)])

    def test_for_switches(self):
        sent = struct.pack("!QI", 2**40 + 7, 0x01020304)
        rows = fields([control(BTS, flags=1, tag=sent + b"12345678"), control(BTS, flags=5, tag=sent + b"12345678abcdefgh")],
                      "bolt.ctl.sent", "bolt.ctl.clock", "bolt.ctl.switches_tag", "bolt.ctl.tag", "bolt.quote.seq")
        of = [str(2**40 + 7), "0x01020304", b"12345678".hex()]
        self.assertEqual(rows, [[*of, "", "77"], [*of, b"abcdefgh".hex(), "77"]])

    def test_quotes(self):
        names = ("bolt.quote.src", "bolt.quote.dst", "bolt.quote.src6", "bolt.quote.dst6", "bolt.quote.proto", "bolt.quote.srcport",
                 "bolt.quote.dstport", "bolt.quote.seq")
        hop_by_hop = ip(A6, B6, 0, bytes([17, 0]) + bytes(6) + struct.pack("!HHI", 7, 8, 9))
        rows = fields([control(), control(quote=quoted(A6, B6, seq=2**32 - 1)), control(quote=quoted(proto=17)), control(quote=hop_by_hop)], *names)
        self.assertEqual(rows, [[A, B, "", "", "6", "1000", "2000", "77"], ["", "", A6, B6, "6", "1000", "2000", str(2**32 - 1)],
                                [A, B, "", "", "17", "1000", "2000", ""], ["", "", A6, B6, "17", "7", "8", ""]])

    def test_a_quote_with_segments_goes_to_the_last(self):
        def routed(kind, left, entry):
            last = socket.inet_pton(socket.AF_INET6, "2001:db8::99")
            return control(quote=ip(A6, B6, 43, struct.pack("!BBBBB3x", 6, 2, kind, left, entry) + last + struct.pack("!HHI", 7, 8, 9)))
        rows = fields([routed(4, 1, 0), routed(4, 0, 0), routed(4, 2, 0), routed(4, 1, 1), routed(3, 1, 0)], "bolt.quote.dst6", "bolt.quote.dstport")
        self.assertEqual(rows, [["2001:db8::99", "8"], *[[B6, "8"]] * 4])

    def test_it_names_the_packet_that_caused_it(self):
        rows = fields([data for a, b in ((A, B), (A6, B6)) for data in (tcp(option(0x84, 0, 123456), b"x", src=a, dst=b), control(quote=quoted(a, b)))],
                      "bolt.ctl.frame", "bolt.ctl.ns")
        self.assertEqual(rows, [["", ""], ["1", "1500"], ["", ""], ["3", "1500"]])

    def test_what_is_echoed(self):
        """t_data_tx in ns, or a TSval: of a BTS or CNM only the packet that it quotes says which"""
        data = tcp(option(0x84, 0, 123456), b"x")
        cases = (([control()], "123456 ns: t_data_tx of the quoted packet"), ([control(BTS, tx=0)], "0: the quoted packet had none"),
                 ([control(BTS)], "123456: t_data_tx in ns, or TSval of TCP without the option"),
                 ([control(CNM, number=1)], "123456: t_data_tx in ns, or TSval of TCP without the option"),
                 ([data, control(BTS)], "123456 ns: t_data_tx of the quoted packet"))
        for frames, says in cases:
            lines = [line.strip() for line in tshark(capture(frames), "-V", "-Y", "bolt_ctl").splitlines() if "Echo: " in line]
            self.assertEqual(lines, [f"Echo: {says}"])

    def test_the_column(self):
        text = tshark(capture([control(BTS, number=4321)]))
        self.assertIn("BTS queue 30000 at 100 Gb/s pause 4.321 us, 192.0.2.1:1000 → 198.51.100.9:2000", text)

    def test_another_port(self):
        path = capture([control(port=4000)])
        self.assertEqual(tshark(path, "-Y", "bolt_ctl"), "")
        self.assertIn("SRC", tshark(path, "-o", "bolt_ctl.port:4000", "-Y", "bolt.src.queue == 30000"))

    def test_what_a_host_refuses_is_said(self):
        fragment = bytearray(quoted())
        fragment[7] = 1
        cases = (
            (control(version=1), "unknown version"), (control(version=3), "unknown version"), (control(9), "unknown type"),
            (control(flags=16), "unknown flags"), (control(dscp=64), "DSCP above 63"), (control(rate=0), "rate of the link is zero"),
            (control(tx=0), "SRC without t_data_tx"), (control(CNM), "CNM without a rate"),
            (control(quote=bytes(27)), "shorter than"), (control(quote=bytes(129)), "longer than"), (control(flags=4), "shorter than"),
            (control(BTS, flags=1, tag=bytes(19)), "shorter than"),
            (control(BTS, quote=bytes(27)), "shorter than"), (control(BTS, quote=bytes(129)), "longer than"),
            (control(flags=4, quote=bytes(129), tag=bytes(8)), "longer than"),
            (control(tag=bytes(8)), "not the head of a packet"), (control(quote=quoted() + b"x"), "not the head of a packet"),
            (control(quote=bytes(28)), "not the head of a packet"), (control(quote=bytes(128)), "not the head of a packet"),
            (control(quote=quoted(proto=1)), "not the head of a packet"), (control(quote=bytes(fragment)), "not the head of a packet"),
            (frame(ip(B, A, 17, struct.pack("!HHHH", 12311, 12311, 8 + 19, 0) + bytes(19))), "shorter than"),
            ((control(), 14 + 20 + 8 + 19), "cut off by the capture"), ((control(), 14 + 20 + 8 + 47), "cut off by the capture"),
            ((control(flags=4, tag=bytes(8)), 14 + 20 + 8 + 55), "cut off by the capture"))
        for said, (_, says) in zip(complaints([data for data, _ in cases]), cases, strict=True):
            self.assertTrue(any(says in one for one in said), (says, said))
            self.assertEqual(len(said), 1, said)

    def test_what_it_believes_is_not(self):
        good = [control(), control(BTS, tx=0, flags=2), control(BTS, flags=1, tag=bytes(20)), control(flags=4, tag=bytes(8)), control(CNM, number=1), control(quote=quoted(A6, B6))]
        self.assertEqual(complaints(good), [[]] * len(good))


class Garbage(unittest.TestCase):
    """Nothing on a wire makes the script fail; tshark() looks for that."""

    def good(self):
        return [tcp(option(), b"x" * 40), tcp(NOP + NOP + option(0x42, 3, 4)), tcp(option(length=4), flags=2), control(), control(BTS, number=9),
                control(BTS, flags=1, tag=bytes(20)), tcp(option(), b"y" * 40),
                control(quote=quoted(A6, B6)), control(CNM, number=1, flags=4, tag=b"12345678"), tcp(option(), b"x", src=A6, dst=B6)]

    def test_cut_off_by_the_capture(self):
        self.assertGreater(len(tshark(capture([(data, n) for data in self.good() for n in range(14, len(data))]), "-V")), 1000)

    def test_shorter_than_they_say(self):
        frames = [data[:n] for data in self.good() for n in range(20, len(data))]
        self.assertGreater(len(tshark(capture(frames), "-V")), 1000)

    def test_random_bytes(self):
        dice = random.Random(254)
        frames = []
        for _ in range(3000):
            data = bytearray(dice.choice(self.good()))
            for _ in range(dice.randrange(1, 6)):
                data[dice.randrange(34, len(data))] = dice.randrange(256)
            frames.append(bytes(data))
        frames += [tcp(bytes(dice.randrange(256) for _ in range(4 * dice.randrange(1, 10))), b"x") for _ in range(500)]
        text = tshark(capture(frames), "-V", "-O", "bolt,bolt_ctl")
        self.assertGreater(text.count("Bolt control message"), 1000)
        self.assertGreater(text.count("Bolt TCP option"), 1000)


if __name__ == "__main__":
    unittest.main()
