# SPDX-License-Identifier: GPL-2.0
"""What the benchmarks need in a guest."""

import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


def build(out, kernel):
    """Modules and programs for that kernel; the environment a guest needs."""
    fetched = subprocess.run([TOP / "tools/lab/qemu/fetch", kernel], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.strip()
    subprocess.run(["make", "-s", f"KDIR={fetched}/headers", f"O={out}", "modules", "tools"],
                   cwd=TOP, check=True, stdout=sys.stderr)
    subprocess.run(["make", "-s", "-C", "selftests", f"O={out}/selftests", "programs"],
                   cwd=TOP, check=True, stdout=sys.stderr)
    release = pathlib.Path(fetched, "release").read_text(encoding="utf-8").strip()
    return release, dict(os.environ, TC_LIB_DIR=f"{out}/tools", BOLT_PROGRAMS=f"{out}/selftests")
