# SPDX-License-Identifier: GPL-2.0
"""Frames between what `lab exec` is, the server of a network that is up, and its guest; see tools/lab/guest/serve.c for their kinds.

Between client and server N carries JSON, X the status of wait(), D why there is nothing more to come; Q takes the network down.
"""

import struct

HEAD = struct.Struct("=c3xII")
U32, TWO_U32, U64, ASKED = struct.Struct("=I"), struct.Struct("=II"), struct.Struct("=Q"), struct.Struct("=QQ")
MOST = 2**20                # of one frame
VERSION = 2                 # of what client and server say to each other
ROOM = 65536                # bytes on their way to or from a command (FIRST_CREDIT of the guest)


def pack(kind, number=0, data=b""):
    return HEAD.pack(kind.encode(), number, len(data)) + data


class Reader:
    """Takes bytes as they come, and gives frames: (kind, number, data)."""

    def __init__(self):
        self.buffer = bytearray()

    def feed(self, data):
        self.buffer += data
        while len(self.buffer) >= HEAD.size:
            kind, number, length = HEAD.unpack_from(self.buffer)
            if length > MOST:
                raise ValueError(f"a frame of {length} bytes")
            if len(self.buffer) < HEAD.size + length:
                return
            data = bytes(self.buffer[HEAD.size:HEAD.size + length])
            del self.buffer[:HEAD.size + length]
            yield kind.decode("latin-1"), number, data
