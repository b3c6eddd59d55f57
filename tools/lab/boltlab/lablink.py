# SPDX-License-Identifier: GPL-2.0
"""Reads what the link device measured: /proc/lablink and /proc/lablink_samples.

The formats are those of Documentation/lab-link.rst and tools/lab/link/lablink_uapi.h.
"""

import struct
from array import array
from dataclasses import dataclass, field

from .guest import RunError

HEADER = struct.Struct("=IHHIIQQQ")
COLUMN = struct.Struct("=II")
SAMPLE_BYTES = 16
MAGIC = 0x4B4E4C42
DEVICE, SOCKET = 1, 2


@dataclass
class Measured:
    totals: dict = field(default_factory=dict)
    faults: dict = field(default_factory=dict)      # number: packets
    ports: dict = field(default_factory=dict)       # (node, dev): {key: number}
    queues: dict = field(default_factory=dict)      # (node, dev): (times, queue bytes, tx bytes)
    socks: dict = field(default_factory=dict)       # id: (times, cwnd, acked, in flight)


def _value(text):
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text


def parse_text(text):
    """(global, [device, ...], {number of a fault: packets}) of key=value lines."""
    totals, devices, faults = {}, [], {}
    for line in text.splitlines():
        kind, *fields = line.split()
        pairs = dict(f.split("=", 1) for f in fields)
        values = {k: v if k in ("trace_hash", "name", "state", "backend") else _value(v) for k, v in pairs.items()}
        if kind == "global":
            totals = values
        elif kind == "dev":
            devices.append(values)
        elif kind == "fault":
            faults[values["id"]] = values["packets"]
    return totals, devices, faults


def parse_samples(blob, device_keys):
    """Columns of the binary file; `device_keys` maps a link id to (node, dev)."""
    queues, socks = {}, {}
    if len(blob) < HEADER.size:
        return queues, socks
    magic, version, header_bytes, ncols, row_bytes, rows, _, interval = HEADER.unpack_from(blob)
    if magic != MAGIC or version != 2 or row_bytes != ncols * SAMPLE_BYTES:
        raise RunError("the samples of the link device have a format this lab does not know (lablink_samples)")
    columns = [COLUMN.unpack_from(blob, header_bytes + i * COLUMN.size) for i in range(ncols)]
    data = memoryview(blob)[header_bytes + ncols * COLUMN.size:]
    if len(data) < rows * row_bytes:
        raise RunError("the samples of the link device are cut short: is the disk full?")
    data = data[:rows * row_bytes]
    wide, narrow = data.cast("Q"), data.cast("I")
    times = range(0, rows * interval, interval) if interval else range(0)
    for i, (kind, ident) in enumerate(columns):
        # a list would take several times the memory
        first = array("Q", wide[2 * i::2 * ncols].tobytes())
        second = array("I", narrow[4 * i + 2::4 * ncols].tobytes())
        if kind == DEVICE:
            queues[device_keys[ident]] = (times, second, first)
        else:
            third = array("I", narrow[4 * i + 3::4 * ncols].tobytes())
            socks[ident] = (times, second, first, third)
    return queues, socks


def read(raw, net):
    totals, devices, faults = parse_text((raw / "lablink.txt").read_text())
    # devices come in the order of the plan's pairs, A before B
    ends = [port for link in net.links for port in link]
    if len(ends) != len(devices):
        raise RunError(f"the link device reports {len(devices)} devices, the plan made {len(ends)}")
    if totals.get("state") != "done":
        raise RunError(f"the measured window did not end (state {totals.get('state')})")
    keys = {d["id"]: (p.node, p.dev) for p, d in zip(ends, devices)}
    result = Measured(totals, faults, {(p.node, p.dev): d for p, d in zip(ends, devices)})
    result.queues, result.socks = parse_samples((raw / "samples.bin").read_bytes(), keys)
    # delivered to a host: once a packet, however many links it crossed
    totals["delivered"] = sum(d.get("rx_data_packets", 0) for p, d in zip(ends, devices) if p.node in net.host_set)
    return result
