# SPDX-License-Identifier: GPL-2.0
"""Diagnose the setup of this machine, with a command that fixes it."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from . import backends, build


def static_libc():
    """The lab kernel's first process is linked with it."""
    return shutil.which("gcc") and "/" in subprocess.run(["gcc", "-print-file-name=libc.a"], capture_output=True, text=True).stdout


# what, how it is recognised, the Debian package
NEEDS = (
    ("C compiler", lambda: shutil.which("gcc"), "gcc"),
    ("make", lambda: shutil.which("make"), "make"),
    ("flex", lambda: shutil.which("flex"), "flex"),
    ("bison", lambda: shutil.which("bison"), "bison"),
    ("bc", lambda: shutil.which("bc"), "bc"),
    ("patch", lambda: shutil.which("patch"), "patch"),
    ("xz", lambda: shutil.which("xz"), "xz-utils"),
    ("tc and ip", lambda: shutil.which("tc", path="/sbin:/usr/sbin:/bin:/usr/bin"), "iproute2"),
    ("libc headers", lambda: Path("/usr/include/stdio.h").exists(), "libc6-dev"),
    ("static libc", static_libc, "libc6-dev"),
    ("libmnl headers", lambda: Path("/usr/include/libmnl/libmnl.h").exists(), "libmnl-dev"),
    ("libelf headers", lambda: Path("/usr/include/libelf.h").exists(), "libelf-dev"),
    ("matplotlib", lambda: importlib.util.find_spec("matplotlib"), "python3-matplotlib"),
    ("Linux source 6.12", lambda: list(Path("/usr/src").glob("linux-source-6.12*")), "linux-source-6.12"),
)


# what only --backend qemu wants
QEMU_NEEDS = (
    ("QEMU", lambda: shutil.which("qemu-system-x86_64"), "qemu-system-x86"),
    ("cpio", lambda: shutil.which("cpio"), "cpio"),
    ("depmod", lambda: shutil.which("depmod", path="/sbin:/usr/sbin:/bin:/usr/bin"), "kmod"),
)


def headers_of(series, top=Path("/usr/src")):
    """Those that tools/lab/qemu/fetch takes: of the plain kernel, whatever else of the series is installed."""
    return [path for path in top.glob(f"linux-headers-{series}.*-amd64") if not re.search("-(rt|cloud)-", path.name)]


def qemu_needs(debian):
    """On that release; the own kernel of Debian 13 is 6.12, and it has no 6.1."""
    headers = {"6.12": "linux-headers-amd64"} if debian == "13" else {"6.12": "linux-headers-6.12-amd64", "6.1": "linux-headers-amd64"}
    return QEMU_NEEDS + tuple((f"headers of Linux {series}", lambda series=series: headers_of(series), package)
                              for series, package in headers.items())


# what only `lab sweep` wants
SWEEP_NEEDS = (("Snakemake", lambda: shutil.which("snakemake"), "snakemake"),)


def packages(needs, otherwise, of=""):
    """Says what is there; the packages of what is not."""
    lacking = []
    for what, there, package in needs:
        found = there()
        print(f"{'ok' if found else otherwise:8} {what} ({package}){of}")
        lacking += [] if found else [package]
    return lacking


def release():
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def main():
    debian, machine = release(), platform.machine()
    if machine != "x86_64":
        print(f"missing  an x86_64 CPU: this one is {machine}")
    if (debian.get("ID"), debian.get("VERSION_ID")) not in (("debian", "12"), ("debian", "13")):
        print(f"warning  {debian.get('PRETTY_NAME', 'this distribution')}: the packages named here are of Debian 12 and 13")
    lacking = packages(NEEDS, "missing")
    try:
        cache = build.cache()
        build.check_visible(cache, "use another BOLT_LAB_CACHE")
    except build.BuildError as e:
        print(f"missing  cache {e}")
        return 1
    probe = cache
    while not probe.exists():
        probe = probe.parent
    writable = os.access(probe, os.W_OK)
    print(f"{'ok' if writable else 'missing':8} cache {cache}" + ("" if writable else " cannot be written; set BOLT_LAB_CACHE"))
    free = shutil.disk_usage(probe).free
    if free < 4 * 10**9:
        print(f"warning  {free / 10**9:.1f} GB free for the cache; the lab takes up to 4 GB")
    shm = os.statvfs("/dev/shm") if Path("/dev/shm").exists() else None
    free = shm.f_bavail * shm.f_frsize if shm else 0
    noexec = shm and shm.f_flag & os.ST_NOEXEC
    print(f"{'ok' if free > 2 * 10**9 and not noexec else 'warning':8} /dev/shm: {free / 10**9:.1f} GB free for the lab kernel's memory"
          + (", but it is mounted noexec: $TMPDIR, /tmp or /var/tmp has it" if noexec else ""))
    if not shutil.which("setarch") or subprocess.run(["setarch", "-R", "true"], check=False, capture_output=True).returncode:
        print("warning  setarch -R is refused here, as in a container: addresses are random, and results may differ from run to run")
    kernels = list(cache.glob(f"kernel-{backends.KERNEL}-lab-*/linux"))
    print(f"{'ok' if kernels else 'later':8} lab kernel {backends.KERNEL} " + ("built" if kernels else "will be built by the first run (4 minutes on two idle CPUs)"))
    lacking_qemu = packages(qemu_needs(debian.get("VERSION_ID")), "later", ": --backend qemu")
    packages(SWEEP_NEEDS, "later", ": lab sweep")
    stock = sorted(path.name for path in cache.glob("qemu-*") if (path / ".complete").exists())
    print(f"{'ok' if stock else 'later':8} stock kernels: " + (", ".join(stock) or "will be fetched by the first run with --backend qemu"))
    try:
        print(f"ok       {build.running_kernel()}: --backend native")
    except build.BuildError as e:
        print(f"later    {e}: --backend native")
    if lacking_qemu:
        print("for --backend qemu: sudo apt-get install " + " ".join(lacking_qemu))
    if lacking:
        print("fix with: sudo apt-get install " + " ".join(dict.fromkeys(lacking)))
        return 1
    return 0 if writable and machine == "x86_64" else 1
