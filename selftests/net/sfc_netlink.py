#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Requests to change the qdisc "sfc" of a device that no tc would send: each must be refused.

Used by sfc_config.sh, in the namespace of the device.
"""

import errno
import socket
import struct
import sys

RTM_NEWQDISC = 36
NLM_F_REQUEST, NLM_F_ACK = 1, 4
TC_H_ROOT = 0xffffffff
TCA_KIND, TCA_OPTIONS = 1, 2
NLA_F_NESTED = 0x8000

# TCA_SFC_*
FLAGS, RATE64, LIMIT, CCTHRESH, SWITCH_ID, SRCRATE, PORT, TTL, ADDR4, ADDR6, TAGKEY, OVERHEAD = \
    range(2, 14)


def attr(kind, payload):
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + b"\0" * (-len(data) % 4)


def request(ifindex, options):
    body = struct.pack("=BxxxiIII", socket.AF_UNSPEC, ifindex, 0, TC_H_ROOT, 0)
    body += attr(TCA_KIND, b"sfc\0") + attr(TCA_OPTIONS | NLA_F_NESTED, options)
    msg = struct.pack("=IHHII", 16 + len(body), RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.bind((0, 0))
        sock.send(msg + body)
        reply = sock.recv(65536)
    return -struct.unpack_from("=i", reply, 16)[0]


def u8(value):
    return struct.pack("=B", value)


def u16(value):
    return struct.pack("=H", value)


def u32(value):
    return struct.pack("=I", value)


def u64(value):
    return struct.pack("=Q", value)


CASES = [
    ("unknown flag", attr(FLAGS, struct.pack("=II", 1 << 5, 1 << 5))),
    ("flag outside its selector", attr(FLAGS, struct.pack("=II", 1, 0))),
    ("flags of four bytes", attr(FLAGS, u32(1))),
    ("rate of four bytes", attr(RATE64, u32(1000))),
    ("rate 1", attr(RATE64, u64(1))),
    ("rate 999", attr(RATE64, u64(999))),
    ("rate beyond", attr(RATE64, u64(0xffffffff * 125 + 1))),
    ("rate of all ones", attr(RATE64, u64(2**64 - 1))),
    ("limit 0", attr(LIMIT, u32(0))),
    ("limit of two bytes", attr(LIMIT, u16(9000))),
    ("ccthresh of one byte", attr(CCTHRESH, u8(1))),
    ("ccthresh beyond limit", attr(CCTHRESH, u32(2**32 - 1))),
    ("srcrate 0", attr(SRCRATE, u32(0))),
    ("port 0", attr(PORT, u16(0))),
    ("port of one byte", attr(PORT, u8(1))),
    ("ttl 0", attr(TTL, u8(0))),
    ("ttl of no bytes", attr(TTL, b"")),
    ("addr4 of two bytes", attr(ADDR4, u16(1))),
    ("addr4 of a group", attr(ADDR4, socket.inet_aton("239.1.2.3"))),
    ("addr6 of four bytes", attr(ADDR6, b"\x20\x01\x0d\xb8")),
    ("addr6 of twenty bytes", attr(ADDR6, b"\x20" * 20)),
    ("tagkey of 15 bytes", attr(TAGKEY, b"k" * 15)),
    ("tagkey of 17 bytes", attr(TAGKEY, b"k" * 17)),
    ("tagkey of 1 byte", attr(TAGKEY, b"k")),
    ("overhead 257", attr(OVERHEAD, u32(257))),
    ("right, then wrong", attr(TTL, u8(99)) + attr(PORT, u16(0))),
    ("wrong, then right", attr(PORT, u16(0)) + attr(TTL, u8(99))),
]


def main():
    ifindex = socket.if_nametoindex(sys.argv[1])
    bad = 0
    for name, options in CASES:
        err = request(ifindex, options)
        if err not in (errno.EINVAL, errno.ERANGE):
            print(f"{name}: {errno.errorcode.get(err, 'taken')}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
