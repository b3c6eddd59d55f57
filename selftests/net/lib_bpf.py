# SPDX-License-Identifier: GPL-2.0
"""bpf(2), for tests that load a BPF program"""

import ctypes
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_BPF, PROG_LOAD, OBJ_PIN, PROG_ATTACH, PROG_DETACH = 321, 5, 6, 8, 9


def bpf(command, form, *words):
    """@words: the beginning of its attributes, as struct packs them"""
    attr = ctypes.create_string_buffer(struct.pack(form, *words), 128)
    fd = LIBC.syscall(SYS_BPF, command, attr, 128)
    if fd < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return fd


def load(kind, *program):
    """@program: instructions, each as (opcode, registers, offset, immediate)"""
    code = ctypes.create_string_buffer(b"".join(struct.pack("<BBhi", *insn) for insn in program))
    gpl = ctypes.create_string_buffer(b"GPL")
    return bpf(PROG_LOAD, "IIQQ", kind, len(program), ctypes.addressof(code), ctypes.addressof(gpl))
