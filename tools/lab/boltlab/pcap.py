# SPDX-License-Identifier: GPL-2.0
"""What the link device captured, as pcapng files that Wireshark and tshark read.

The device's format is that of tools/lab/link/lablink_uapi.h; pcapng is draft-ietf-opsawg-pcapng. One file per link, with an
interface for each direction, and one more for what each direction's qdisc dropped: what was dropped was never on the wire.
"""

import struct

from .guest import RunError
from .plan import captured

HEADER = struct.Struct("=IHHQQQII")
RECORD = struct.Struct("=QIIII")
MAGIC = 0x50414342
WIRE, QDISC_DROP, TX_DROP, RX_DROP, LOST = range(5)
WHY = {QDISC_DROP: "dropped by the qdisc of port {}", TX_DROP: "dropped by the device of port {}: no memory",
       RX_DROP: "dropped at the end of {}: the device there is down",
       LOST: "lost on {}: a [[fault]] of the scenario"}

# A capture's times are whole seconds and the time of the report: what is measured begins at this one
EPOCH_NS = 1000 * 10**9

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
ETHERNET = 1
OPT_COMMENT, SHB_USERAPPL, IF_NAME, IF_DESCRIPTION, IF_SPEED, IF_TSRESOL = 1, 4, 2, 3, 8, 9
NANOSECONDS = b"\x09"


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def options(*given):
    return b"".join(struct.pack("=HH", code, len(data)) + padded(data) for code, data in given) + bytes(4)


def block(kind, body):
    size = len(body) + 12
    return struct.pack("=II", kind, size) + body + struct.pack("=I", size)


def section(about):
    return block(SECTION, struct.pack("=IHHq", 0x1A2B3C4D, 1, 0, -1) + options(
        (SHB_USERAPPL, b"bolt lab"), (OPT_COMMENT, about.encode())))


def interface(name, about, rate, snaplen):
    return block(INTERFACE, struct.pack("=HHI", ETHERNET, 0, snaplen) + options(
        (IF_NAME, name.encode()), (IF_DESCRIPTION, about.encode()), (IF_SPEED, struct.pack("=Q", rate)), (IF_TSRESOL, NANOSECONDS)))


def packet(number, ns, length, data, comment=None):
    body = struct.pack("=IIIII", number, ns >> 32, ns & 0xFFFFFFFF, len(data), length) + padded(data)
    if comment:
        body += options((OPT_COMMENT, comment.encode()))
    return block(PACKET, body)


def records(blob):
    """(header's fields by name, [(ns, link, what, length, bytes)] in the order of time)."""
    if len(blob) < HEADER.size:
        raise RunError("the capture of the link device is empty (lablink_capture)")
    magic, version, size, nbytes, lost, start, snaplen, _ = HEADER.unpack_from(blob)
    if magic != MAGIC or version != 1 or len(blob) < size + nbytes:
        raise RunError("the capture of the link device has a format this lab does not know (lablink_capture)")
    view, at, end, found = memoryview(blob), size, size + nbytes, []
    while at < end:
        ns, link, what, length, caplen = RECORD.unpack_from(blob, at)
        at += RECORD.size
        found.append((ns, link, what, length, view[at:at + caplen]))
        at += caplen + -caplen % 8
    # of one ns, in the order it happened: sorting is stable
    found.sort(key=lambda r: r[0])
    return {"lost": lost, "start_ns": start, "snaplen": snaplen}, found


def write(path, net, s, directory, cc):
    """A file for each captured link; what result.json says of them."""
    head, found = records(path.read_bytes())
    # the device numbers the ends in the order of the plan's pairs
    ends = [port for link in net.links for port in link]
    wanted = {port.name for port in captured(s, net)}
    by_link = {}
    for r in found:
        by_link.setdefault(r[1] // 2, []).append(r)
    made = []
    for i, link in enumerate(net.links):
        if link[0].name not in wanted:
            continue
        name = f"capture-{link[0].name}.pcapng"
        here = by_link.get(i, [])
        directory.mkdir(parents=True, exist_ok=True)
        with open(directory / name, "wb") as f:
            f.write(section(f"{s.name}, {cc}: the link {link[0].name}, {head['snaplen']} bytes of each packet. Virtual time; the measured "
                            f"duration begins at {EPOCH_NS // 10**9} s."))
            for port in link:
                f.write(interface(port.name, f"{port.node} to {port.peer}", port.rate, head["snaplen"]))
            for port in link:
                f.write(interface(f"{port.name} dropped", f"what never left {port.node}, or never entered {port.peer}", port.rate, head["snaplen"]))
            for ns, ident, what, length, data in here:
                side = ident % 2
                f.write(packet(side + (2 if what else 0), ns - head["start_ns"] + EPOCH_NS, length, bytes(data),
                               WHY[what].format(ends[ident].name) if what else None))
        dropped = sum(1 for r in here if r[2] != WIRE)
        made.append({"link": link[0].name, "file": f"{cc}/{name}", "packets": len(here) - dropped, "dropped": dropped, "lost": head["lost"]})
    return made
